"""Formulas as people type them: LaTeX with slips, Unicode, ASCII and MathML become LaTeX.

`read_typed` says what it repaired. LaTeX without a slip stays as it is, to the letter. Time is
linear in the length, and nothing raises.
"""

import re
import unicodedata
from functools import cache
from typing import NamedTuple

from eqemb.formula import MATHEMATICS
from eqemb.formula.greek_sums import read_greek_sums
from eqemb.formula.read_unicode import decomposed, read_unicode
from eqemb.formula.unicode_signs import COMBINING_ACCENTS, LOWERED, RAISED, ROOT_SIGNS, SPELT_NAMES

#: Commands that a misspelt one may have meant.
_COMMON = frozenset(SPELT_NAMES.values()) | frozenset(
    "frac dfrac sqrt binom text mathbf mathbb mathcal mathrm boldsymbol operatorname left right"
    " approx equiv propto hat widehat bar overline tilde widetilde vec begin end quad qquad label"
    " langle rangle lfloor rfloor lceil rceil ldots cdots subset subseteq forall exists in notin"
    " rightarrow leftarrow Rightarrow mapsto circ oplus otimes odot cup cap setminus emptyset mid"
    " parallel perp top prime ell hbar underbrace overbrace displaystyle limits".split()
)
#: Commands that take an argument, so that `frac{a}{b}` lacks a backslash.
_WITH_ARGUMENT = "frac dfrac tfrac sqrt text mathbf mathbb mathcal mathrm hat bar tilde vec binom"
_LATEX = re.compile(r"\\[a-zA-Z|,;!]|[_^]\s*\{|\\\\")
_LACKS_BACKSLASH = re.compile(rf"(?<![\\a-zA-Z])({_WITH_ARGUMENT.replace(' ', '|')})(?=\s*\{{)")
_SPELT_NAME = re.compile(
    rf"(?<![\\a-zA-Z{{])({'|'.join(sorted(SPELT_NAMES, key=len, reverse=True))})(?![a-zA-Z}}])"
)
#: A command, with its argument if that is text.
_KEPT = re.compile(
    r"(\\(?:operatorname|text\w*|math\w*|mbox|begin|end|label|tag)\*?\s*\{[^{}]*\}|\\(?:[a-zA-Z]+|.))",
    re.DOTALL,
)
#: A word before a parenthesis: in LaTeX a product of letters, but nobody types one of four letters.
_FUNCTION_NAME = re.compile(r"(?<![\\a-zA-Z{])([A-Z]?[a-z]{4,})(?=\s*(?:\\left\s*)?\()")
_TYPED_COMMAND = re.compile(r"\\([a-zA-Z]+)")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_SIDED = re.compile(r"\\(left|right)(?![a-zA-Z])\s*(\.)?")
_EDITABLE = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LOWERED = "".join(map(re.escape, LOWERED))
_UNICODE_PART = re.compile(
    rf"""
      (?P<raised>[{"".join(map(re.escape, RAISED))}]+)
    | (?P<power>\^\s*[A-SU-Za-zα-ωϕϵ](?=[{_LOWERED}]))(?P<index>[{_LOWERED}]+)
    | (?P<lowered>[{_LOWERED}]+)
    | (?P<accent>\w[\u0300-\u036f\u20d7])
    | (?P<root>[√∛∜]\s*(?:\{{[^{{}}]*\}}|\([^()]*\)|[A-Za-z0-9]|\\[a-zA-Z]+))
    """,
    re.VERBOSE,
)


class TypedFormula(NamedTuple):
    """A formula that was typed, as LaTeX."""

    latex: str
    repairs: tuple[str, ...] = ()
    """What was changed: `\\frac instead of \\fraq`."""
    unknown: tuple[str, ...] = ()
    """Commands that are not known, and not like a known one."""


def read_typed(text: str) -> TypedFormula:
    r"""Return a formula as LaTeX.

    >>> read_typed(r"\fraq{a}{b")
    TypedFormula(latex='\\frac{a}{b}', repairs=('\\frac instead of \\fraq', 'closed {'), unknown=())
    """
    text = read_greek_sums(_LACKS_BACKSLASH.sub(r"\\\1", text))
    if not is_latex(text):
        return TypedFormula(read_unicode(text))
    latex = _complete(text)
    names = dict.fromkeys(_FUNCTION_NAME.findall(_KEPT.sub(" ", latex)))
    latex = _FUNCTION_NAME.sub(r"\\mathrm{\1}", latex)
    repairs = [f"\\mathrm{{{name}}} instead of {name}" for name in names]
    unknown: list[str] = []
    for name in dict.fromkeys(_TYPED_COMMAND.findall(latex)):
        if name in MATHEMATICS or name in ("begin", "end"):
            continue
        better = nearest_command(name)
        if better is None:
            unknown.append(f"\\{name}")
        else:
            latex = re.sub(rf"\\{name}(?![a-zA-Z])", rf"\\{better}", latex)
            repairs.append(f"\\{better} instead of \\{name}")
    for repair in (_close_sides, _close_braces):
        latex, done = repair(latex)
        repairs += done
    return TypedFormula(latex, tuple(repairs), tuple(unknown))


def is_latex(text: str) -> bool:
    """Whether a formula is written in LaTeX: it has a command, or braces around a script."""
    return _LATEX.search(text) is not None or 0 <= text.find(r"\{") < text.rfind(r"\}")


# ------------------------------------------------------------ Unicode in LaTeX


def _complete(latex: str) -> str:
    """Replace Unicode scripts, accents and roots in LaTeX, and write `log` as a command."""
    if not latex.isascii():
        latex = _UNICODE_PART.sub(_unicode_part, decomposed(latex))
        latex = unicodedata.normalize("NFC", latex)
    parts = _KEPT.split(latex)
    parts[::2] = [_SPELT_NAME.sub(_as_command, part) for part in parts[::2]]
    return "".join(parts)


def _as_command(found: re.Match[str]) -> str:
    return f"\\{SPELT_NAMES[found[0]]} "


def _unicode_part(found: re.Match[str]) -> str:
    text = found[0]
    if found["raised"]:
        return f"^{{{''.join(RAISED[char] for char in text)}}}"
    if found["power"]:
        index = "".join(LOWERED[char] for char in found["index"])
        return f"^{{{found['power'][1:].strip()}_{{{index}}}}}"
    if found["lowered"]:
        return f"_{{{''.join(LOWERED[char] for char in text)}}}"
    if found["accent"]:
        name = COMBINING_ACCENTS.get(text[1])
        return f"\\{name}{{{text[0]}}}" if name else text
    inside = text[1:].strip()
    if inside[0] in "({":
        inside = inside[1:-1]
    return f"\\sqrt{ROOT_SIGNS[text[0]]}{{{inside}}}"


# ------------------------------------------------------------ slips


@cache
def nearest_command(name: str) -> str | None:
    """Return the command that differs from a name in one letter, if one is clearly meant."""
    if not 4 <= len(name) <= 30:
        return None
    cuts = [(name[:at], name[at:]) for at in range(len(name) + 1)]
    edits = {one + two[1:] for one, two in cuts if two}
    edits |= {one + two[1] + two[0] + two[2:] for one, two in cuts if len(two) > 1}
    edits |= {one + char + two[1:] for one, two in cuts if two for char in _EDITABLE}
    edits |= {one + char + two for one, two in cuts for char in _EDITABLE}
    likely = {edit for edit in edits if edit[:1] == name[0] and edit in _COMMON}
    return likely.pop() if len(likely) == 1 else None


def _close_braces(latex: str) -> tuple[str, list[str]]:
    """Close the braces that are open at the end, and drop those that close nothing."""
    depth, out, done, repairs = 0, list[str](), 0, list[str]()
    for found in _BRACE.finditer(latex):
        if found[0] == "{":
            depth += 1
        elif found[0] == "}" and depth:
            depth -= 1
        elif found[0] == "}":
            out.append(latex[done : found.start()])
            done = found.end()
            repairs = ["dropped }"]
    out.append(latex[done:])
    if depth:
        out.append("}" * depth)
        repairs.append("closed {")
    return "".join(out), repairs


def _close_sides(latex: str) -> tuple[str, list[str]]:
    r"""Drop `\left` and `\right` where they are not pairs; brackets pair without them."""
    sides = [found[1] for found in _SIDED.finditer(latex)]
    depth = 0
    for side in sides:
        depth += 1 if side == "left" else -1
        if depth < 0:
            break
    if depth == 0:
        return latex, []
    latex = _SIDED.sub(" ", latex)
    opened: list[str] = []
    for char in latex:
        if char in "([":
            opened.append(")" if char == "(" else "]")
        elif char in ")]" and opened:
            opened.pop()
    return latex + "".join(reversed(opened)), [r"closed \left"]
