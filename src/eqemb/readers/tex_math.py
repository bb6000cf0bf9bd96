r"""LaTeX mathematics inside other formats: macros, labels, tags and rows of one display.

Markdown, notebooks, web pages and articles in XML contain LaTeX between their own delimiters, as
MathJax and KaTeX typeset it: an environment does not number its rows, only `\tag` prints a number,
and definitions hold from where they stand to the end of the document.
"""

import re
from dataclasses import dataclass, field
from itertools import pairwise

from eqemb.formula.latex_pieces import join_latex, without_comments
from eqemb.readers.latex.budget import Budget, Work
from eqemb.readers.latex.commands import DISPLAY_ARGUMENTS, DISPLAYS, ROW_DISPLAYS
from eqemb.readers.latex.displays import (
    ENDS_SENTENCE,
    DisplayRow,
    group_end,
    is_drawing,
    joined,
    read_row,
    split_rows,
)
from eqemb.readers.latex.expand import expand
from eqemb.readers.latex.files import Files

_MACRO_DEFINITION = re.compile(
    r"\\(?:(?:(?:re)?new|provide)command\*?|[gex]?def|let|DeclareMathOperator\*?|DeclarePairedDelimiter)"
    r"(?![A-Za-z])\s*"
)
_COPIES = re.compile(r"\\(?:let|[ex]def)(?![A-Za-z])")
_CONTROL_SEQUENCE = re.compile(r"\\([A-Za-z]+|.)", re.DOTALL)
_DEFINED = re.compile(r"\{?\s*\\([A-Za-z]+|.)\s*\}?")
_DEFINITION_PART = re.compile(r"\s*(?:\[[^\]]{0,200}\]|#\d)*\s*")
_EMPTY_LINE = re.compile(r"\n[ \t]*\n")
_DISPLAY_OPENING = re.compile(r"\\begin\{([A-Za-z]+\*?)\}|(?<!\\)\\\[")
_INFIX = (
    r"(?:[=<>+]|\\(?:leq?|geq?|approx|sim|simeq|cong|equiv|propto|cdot|times|to|pm|implies|iff"
    r"|(?:Long|long)?(?:left)?rightarrow|Rightarrow)(?![A-Za-z]))"
)
_CONTINUES = re.compile(rf"[\s&]*{_INFIX}")
_UNFINISHED = re.compile(rf"(?:{_INFIX}|-)[\s&]*$")
_WHOLE = re.compile(r"\s*\\begin\s*\{([A-Za-z]+\*?)\}")
_BODY = "\\begin{document}"
#: For the macros of one formula; a real one needs a few dozen expansions.
_BUDGET = Budget(expansions=2_000, output=200_000, pushed=400_000, wasted=200_000)
#: Characters of definitions that all formulas of one document use, and more for each character of
#: a formula; a real document needs a tenth.
_MAX_DEFINITIONS, _DEFINITIONS_PER_CHARACTER = 2_000_000, 50
#: What the macros of all formulas of one document may cost together: for a small document, and for
#: each character of a formula that uses one. Each counts as in `Budget`.
_MAX_EXPANSIONS, _EXPANSIONS_PER_CHARACTER = 50_000, 1
_MAX_OUTPUT, _OUTPUT_PER_CHARACTER = 1_000_000, 10
_MAX_PUSHED, _PUSHED_PER_CHARACTER = 1_000_000, 40


@dataclass(slots=True)
class MathRow:
    """One equation of a display."""

    latex: str
    labels: list[str] = field(default_factory=list)
    tag: str | None = None
    r"""What its `\tag` prints, without parentheses."""

    @property
    def ends_sentence(self) -> bool:
        """Whether it ends with a full stop."""
        return ENDS_SENTENCE.search(self.latex) is not None


@dataclass(slots=True)
class MathDisplay:
    """What was read between the delimiters of one display."""

    environment: str = ""
    """The environment around everything, or ''."""
    rows: list[MathRow] = field(default_factory=list)
    """Empty if there is no formula in it."""
    is_drawing: bool = False


class TexMath:
    """Reads the formulas of one document, with the macros that it defines."""

    def __init__(self) -> None:
        self._definitions: dict[str, list[tuple[int, str]]] = {}
        """By name, each with its place in the document; several only of a name that was copied."""
        self._count = 0
        self._copied: set[str] = set()
        r"""The names in `\let` and `\edef`, which need the definition of that moment."""
        self._definitions_left = _MAX_DEFINITIONS
        self._expansions_left = _MAX_EXPANSIONS
        self._output_left = _MAX_OUTPUT
        self._pushed_left = _MAX_PUSHED
        self._is_exhausted = False
        self.leaves_macros = False
        """Whether macros of some formulas were not expanded, because that cost too much."""

    def define(self, latex: str) -> str:
        r"""Keep the definitions (`\newcommand` and similar) in a formula; return the rest."""
        rest, at = [], 0
        for match in _MACRO_DEFINITION.finditer(latex):
            if match.start() < at or (name := _DEFINED.match(latex, match.end())) is None:
                continue
            end = _definition_end(latex, name.end(), is_let="let" in match[0])
            rest.append(latex[at : match.start()])
            self._keep(name[1], match[0], latex[match.start() : end])
            at = end
        return join_latex([*rest, latex[at:]])

    def _keep(self, name: str, command: str, definition: str) -> None:
        """Keep a definition; that of a copied name is added to those before it."""
        if "provide" in command and name in self._definitions:
            return
        before = self._definitions.get(name, []) if name in self._copied else []
        if not before or before[-1][1] != definition:
            self._count += 1
            before.append((self._count, definition))
            self._definitions[name] = before
        if _COPIES.match(command):
            self._copied.update(set(_CONTROL_SEQUENCE.findall(definition)) - {name})

    def inline(self, latex: str) -> str:
        """A formula within a line: on one line, macros expanded, without dollars."""
        return " ".join(self._expanded(self.define(latex)).replace("$", " ").split())

    def display(self, latex: str, *, parts: bool = False) -> MathDisplay:
        """Read what stands between the delimiters of one display.

        With `parts`, blank lines separate equations, each of which has its own row.
        """
        latex = without_comments(latex)
        found = MathDisplay()
        for part in _parts(latex) if parts else [latex]:
            self._add_part(found, self._expanded(self.define(part)))
        return found

    def _add_part(self, found: MathDisplay, text: str) -> None:
        name, start, end = _environment(text)
        found.environment = found.environment or name
        spans = split_rows(text, start, end) if name.rstrip("*") in ROW_DISPLAYS else []
        rows = [read_row(text, *span) for span in spans] or [read_row(text, start, end)]
        tagged = [index + 1 for index, row in enumerate(rows) if row.tag is not None or row.labels]
        for first, last in pairwise([0, *tagged[:-1], len(rows)]):
            _add_row(found, rows[first:last])

    def _expanded(self, latex: str) -> str:
        """A formula with the document's macros expanded, if it uses any.

        It is left as it is if that costs too much.
        """
        if self._is_exhausted or not self._definitions or not (used := self._used(latex)):
            return latex
        needed = sorted(one for name in used for one in self._definitions[name])
        self._definitions_left += _DEFINITIONS_PER_CHARACTER * len(latex)
        self._definitions_left -= sum(len(text) for _, text in needed)
        if self._definitions_left < 0:
            self._is_exhausted = self.leaves_macros = True
            return latex
        document = "\n".join([*(text for _, text in needed), f"{_BODY}{latex}\\end{{document}}"])
        files = Files({"formula.tex": document.encode("utf-8", "replace")})
        work = Work(_BUDGET)
        expanded = expand(files, "formula.tex", work)
        text = expanded.text[expanded.body_start :].replace("\\end{document}", "")
        is_allowed = self._allows(work, len(latex), len(text))  # also what was in vain counts
        if expanded.exhausted or not is_allowed:
            self.leaves_macros = True
            return latex
        return text

    def _allows(self, work: Work, before: int, after: int) -> bool:
        """Count the work for a formula, and its length before and after it.

        Returns:
            Whether the formulas of the document have not cost too much so far.
        """
        self._expansions_left += _EXPANSIONS_PER_CHARACTER * before - work.expansions
        self._output_left += _OUTPUT_PER_CHARACTER * before - after
        self._pushed_left += _PUSHED_PER_CHARACTER * before - work.pushed
        self._is_exhausted = min(self._expansions_left, self._output_left, self._pushed_left) < 0
        return not self._is_exhausted

    def _used(self, latex: str) -> set[str]:
        """The defined macros that a formula uses, directly or through others."""
        used: set[str] = set()
        texts = [latex]
        while texts:
            new = {
                name for name in _CONTROL_SEQUENCE.findall(texts.pop()) if name in self._definitions
            }
            texts += (text for name in new - used for _, text in self._definitions[name])
            used |= new
        return used


def _parts(latex: str) -> list[str]:
    """The equations between blank lines; `= c` after `a = b` is no equation by itself."""
    found: list[list[str]] = []
    depth = 0
    for part in _EMPTY_LINE.split(latex):
        if depth > 0:  # a blank line within braces or an environment
            found[-1] += " ", part
        elif found and (_CONTINUES.match(part) or _UNFINISHED.search(found[-1][-1][-40:])):
            found[-1] += " \\\\ ", part
        elif part.strip():
            found.append([part])
        depth += part.count("{") - part.count("}")
        depth += part.count("\\begin") - part.count("\\end")
    return ["".join(pieces) for pieces in found] or [latex]


def split_displays(latex: str) -> list[tuple[str, str]]:
    r"""The displays of a piece of LaTeX, `\[` and environments, each with its environment."""
    found: list[tuple[str, str]] = []
    missing: set[str] = set()
    at = 0
    for opening in _DISPLAY_OPENING.finditer(latex):
        closing = f"\\end{{{opening[1]}}}" if opening[1] else "\\]"
        if opening.start() < at or closing in missing:
            continue
        if opening[1] and opening[1] not in DISPLAYS:
            continue
        if (end := latex.find(closing, opening.end())) < 0:
            missing.add(closing)
            continue
        at = end + len(closing)
        if opening[1]:
            found.append((latex[opening.start() : at], opening[1]))
        else:
            found.append((latex[opening.end() : end], "\\["))
    return found


def _definition_end(latex: str, start: int, *, is_let: bool) -> int:
    """Where a definition ends whose name has been read."""
    if is_let:
        target = re.compile(r"\s*+(?:=\s*+)?(?:\\(?:[A-Za-z]+|.)|\S)").match(latex, start)
        return target.end() if target else len(latex)
    at = _DEFINITION_PART.match(latex, start).end()  # type: ignore[union-attr]
    while latex.startswith("{", at):  # a paired delimiter has two parts
        at = min(group_end(latex, at + 1, len(latex)) + 1, len(latex))
    return at


def _environment(text: str) -> tuple[str, int, int]:
    """The display environment around a whole formula, and where its content is."""
    match = _WHOLE.match(text)
    if match is None or match[1] not in DISPLAYS:
        return "", 0, len(text)
    closing = f"\\end{{{match[1]}}}"
    end = text.find(closing, match.end())
    if end < 0 or text[end + len(closing) :].strip(" \t\n.,;"):
        return "", 0, len(text)
    start = match.end()
    if DISPLAY_ARGUMENTS.get(match[1]) and text.startswith("{", start):
        start = min(group_end(text, start + 1, end) + 1, end)
    return match[1], start, end


def _add_row(found: MathDisplay, rows: list[DisplayRow]) -> None:
    latex = joined(rows)
    if latex and is_drawing(latex):
        found.is_drawing = True
    elif latex:
        labels = [label for row in rows for label in row.labels]
        tag = next((row.tag for row in reversed(rows) if row.tag is not None), None)
        tag = tag.strip().strip("$").strip("()") if tag is not None else None
        found.rows.append(MathRow(latex, labels, tag or None))
