"""Greek capitals that people type for big operators: `Σᵢ xᵢ` is a sum, `Πᵢ pᵢ` a product.

The letters have other meanings, such as a covariance matrix (`Σₖ⁻¹`). They are operators if an
index is below them and a term follows. Time is linear in the length, and nothing raises.
"""

import re

from eqemb.formula import commands
from eqemb.formula.read_unicode import SENTENCE_WORDS
from eqemb.formula.unicode_signs import GREEK_NAMES, LOWERED, RAISED, SPELT_NAMES

_OPERATOR_OF = {"Σ": "∑", "Π": "∏"}
_LOWERED_SIGNS = "".join(map(re.escape, LOWERED))
_RAISED_SIGNS = "".join(map(re.escape, RAISED))
_SCRIPT_ARGUMENT = (
    r"\{[^{}]{0,80}\}|\([^()]{0,80}\)|-?[A-Za-z]{1,3}(?![A-Za-z])|-?\d+|\w|\\[a-zA-Z]+|[*∗†⊤]"
)
_BELOW = rf"[{_LOWERED_SIGNS}]+|_\s*(?:{_SCRIPT_ARGUMENT})"
_ABOVE = rf"[{_RAISED_SIGNS}]+|\^\s*(?:{_SCRIPT_ARGUMENT})|['′*]"
_GREEK_SIGN = re.compile(rf"([ΣΠ])((?:{_ABOVE})?)((?:{_BELOW})?)((?:{_ABOVE})?)")
_SUM_TERM = re.compile(
    r"(?P<gap>\s*)(?:\\(?P<command>[a-zA-Z]+)|(?P<word>[A-Za-z]+)(?P<argument>\s*[(_^])?"
    r"|(?P<bar>[|‖]\S)|(?P<open>[(\[])|(?P<other>[\w√∛∜∑∏∫∂∇]))"
)
#: Scripts that matrices have: an inverse, a transpose, a root.
_OF_MATRIX = re.compile(r"[-−].*|T|H|top|⊤|intercal|dagger|†|\*|∗|'|′|\d*/\d+")
_PLAIN_SCRIPTS = str.maketrans(LOWERED | RAISED)
_RANGE_SIGNS = re.compile(r"[=∈≤≥<>≠]|\\(?:in|le|ge|leq|geq|neq|ne)(?![a-zA-Z])")
#: Commands that begin a term, besides symbols.
_TERM_COMMANDS = (
    commands.FRACTIONS.keys() | commands.FONTS.keys() | commands.ACCENTS.keys()
    | commands.PAIRED.keys() | {rf"\{name}" for name in commands.TEXT}
    | {r"\sqrt", r"\left", r"\operatorname", r"\partial", r"\nabla", r"\lvert", r"\lVert"}
)  # fmt: skip


def read_greek_sums(text: str) -> str:
    """Return a typed formula with `∑` and `∏` for the Greek letters that are meant so.

    >>> read_greek_sums("Σᵢ xᵢ"), read_greek_sums("xᵀ Σₖ⁻¹ x")
    ('∑ᵢ xᵢ', 'xᵀ Σₖ⁻¹ x')
    """
    if not any(letter in text for letter in _OPERATOR_OF):
        return text
    made, done = list[str](), len(text)
    # from the last: in `Σᵢ Σⱼ aᵢⱼ`, a sum is the term
    is_operator = False
    end = -1
    for found in reversed(list(_GREEK_SIGN.finditer(text))):
        between = text[found.end() : end].strip() if end >= 0 else "?"
        is_operator = _is_index(found) and (
            is_operator if not between else _precedes_term(text, found)
        )
        end = found.start()
        sign = _OPERATOR_OF[found[1]] if is_operator else found[1]
        made.append(sign + text[found.start() + 1 : done])
        done = end
    return text[:done] + "".join(reversed(made))


def _is_index(found: re.Match[str]) -> bool:
    """Whether the scripts of a Greek letter are limits."""
    below, above = _plain(found[3]), _plain(found[2] or found[4])
    if not below or (found[2] and found[4]) or _OF_MATRIX.fullmatch(above):
        return False
    if _RANGE_SIGNS.search(below):
        return True
    is_pair = len(below) == 2 and below[0] == below[1]  # Σ_xx, a covariance
    return not (above.isdigit() or below.isdigit() or below.isupper() or is_pair)


def _plain(script: str) -> str:
    """A script without its sign and brackets."""
    return script.translate(_PLAIN_SCRIPTS).lstrip("_^ ").strip("{()}\\ ")


def _precedes_term(text: str, found: re.Match[str]) -> bool:
    """Whether what a sum is over follows."""
    term = _SUM_TERM.match(text, found.end())
    if term is None:
        return False
    if name := term["command"]:
        tag = commands.SYMBOLS.get(f"\\{name}", "")
        is_symbol = tag.startswith("V!") or tag in commands.LIMITS
        return is_symbol or f"\\{name}" in _TERM_COMMANDS
    if word := term["word"]:
        is_known = word in SPELT_NAMES or term["argument"] is not None
        return is_known or (word not in SENTENCE_WORDS and len(word) < 4)
    if term["bar"]:  # in |Σₖ|, the bar closes
        return bool(term["gap"])
    is_call = bool(term["open"]) and not term["gap"]  # Σ_θ(x, t), a function
    return not (is_call and (_plain(found[3]) in GREEK_NAMES or "α" <= _plain(found[3])[:1] <= "ω"))
