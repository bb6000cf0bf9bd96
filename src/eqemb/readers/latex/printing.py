r"""What the printed form of a counter prints: \theequation, \arabic, conditionals on counters.

Expansion leaves in a form only what depends on counters; the rest is formatting.
"""

import re
from collections.abc import Callable, Mapping

_NUMBER = (
    r"(?:\\(?:number|the)\s*+)?"
    r"(\\value\s*+\{[^{}]*+\}|\\c@[A-Za-z@]++|-?\d++|\\[A-Za-z@]++)"
)
#: The innermost conditional that compares counters.
_CONDITIONAL = re.compile(
    rf"\\if(?:num\s*+{_NUMBER}\s*+([<>=])\s*+{_NUMBER}|odd\s*+{_NUMBER})"
    r"(?:\\relax(?![A-Za-z@]))?\s?((?:(?!\\if|\\fi(?![A-Za-z@])).)*+)\\fi(?![A-Za-z@])\s*",
    re.DOTALL,
)
_ELSE = re.compile(r"\\else(?![A-Za-z@])\s*")
_STYLED = re.compile(
    r"\\@?(arabic|roman|Roman|alph|Alph|fnsymbol|number|the)\s*"
    r"(?:\\c@([A-Za-z@]+)|\{([^{}]*)\}|\\value\s*\{([^{}]*)\})"
)
_COUNTER = re.compile(r"\\value\s*\{([^{}]*)\}|\\c@([A-Za-z@]+)")
_TERM = re.compile(r"(?:([-+])\s*+)?(\\value\s*+\{[^{}]*\}|\\c@[A-Za-z@]+|\d+|\\[A-Za-z@]+)")
_WORD = re.compile(r"\\([A-Za-z@]+)")
_LEFT_OVER = re.compile(r"\\[A-Za-z@]+\*?|[{}$~^]")
_SYMBOLS = {
    r"\ast": "*", r"\star": "⋆", r"\dagger": "†", r"\ddagger": "‡", r"\prime": "'", r"\S": "§",
    r"\P": "¶", r"\spadesuit": "♠", r"\clubsuit": "♣", r"\heartsuit": "♡", r"\diamondsuit": "♢",
    r"\textasteriskcentered": "*", r"\sharp": "♯", r"\flat": "♭", r"\circ": "∘",
}  # fmt: skip
#: Integers that TeX and LaTeX have names for.
NAMED_INTEGERS = {r"\z@": 0, r"\@ne": 1, r"\tw@": 2, r"\thr@@": 3, r"\m@ne": -1}
_FOOTNOTE_SYMBOLS = ("", "*", "†", "‡", "§", "¶", "‖", "**", "††", "‡‡")

#: Longer numbers are cut off: forms and tags that repeat others grow exponentially.
LONGEST_NUMBER = 500
_LONGEST_FORM = 4_000
_MOST_FORMS = 100  # forms used by one number, directly or through others
_DEEPEST_FORM = 40

#: The value of a counter.
Value = Callable[[str], int]


def printed(form: str, forms: Mapping[str, str], value: Value, inside: tuple[str, ...] = ()) -> str:
    r"""What a form prints; `forms` has the forms of other commands (theequation, ...)."""
    return _printed(form, forms, value, inside, [_MOST_FORMS])[:LONGEST_NUMBER]


def _printed(
    form: str, forms: Mapping[str, str], value: Value, inside: tuple[str, ...], left: list[int]
) -> str:
    """What a form prints, where so many forms are `left` to be used."""
    form = _decide(form[:_LONGEST_FORM], value)
    form = _STYLED.sub(
        lambda match: "{}" + styled(match[1], value(match[2] or match[3] or match[4])), form
    )
    budget = 4  # forms that refer to each other many times would exhaust the memory

    def of_command(match: re.Match[str]) -> str:
        nonlocal budget
        name = match[1]
        if name not in forms:
            return match[0]
        if name in inside or budget <= 0 or left[0] <= 0 or len(inside) >= _DEEPEST_FORM:
            return ""
        budget -= 1
        left[0] -= 1
        return _printed(forms[name], forms, value, (*inside, name), left)

    return plain(_WORD.sub(of_command, form))


def _decide(form: str, value: Value) -> str:
    """Decide the conditionals of a form, innermost first."""
    for _ in range(20):
        match = _CONDITIONAL.search(form)
        if match is None:
            break
        first, sign, second, odd, body = match.groups()
        if odd:
            truth = _term(odd, value) % 2 == 1
        else:
            left, right = _term(first, value), _term(second, value)
            truth = {"<": left < right, ">": left > right, "=": left == right}[sign]
        branches = [*_ELSE.split(body, maxsplit=1), ""]
        form = form[: match.start()] + branches[0 if truth else 1] + form[match.end() :]
    return form


def _term(text: str, value: Value) -> int:
    if counter := _COUNTER.match(text):
        return value(counter[1] or counter[2])
    return NAMED_INTEGERS.get(text, 0) if text.startswith("\\") else int(text[:9])


def evaluate(expression: str, value: Value) -> int:
    r"""The value of a sum of numbers and counters: "\value{equation}+1"."""
    return sum(
        (-1 if match[1] == "-" else 1) * _term(match[2], value)
        for match in _TERM.finditer(expression)
    )


def plain(text: str) -> str:
    """A form or a tag approximately as printed: without commands, braces and dollar signs."""
    text = _LEFT_OVER.sub(
        lambda match: " " if match[0] == "~" else _SYMBOLS.get(match[0], ""), text
    )
    return " ".join(text.split())


def styled(style: str, value: int) -> str:
    """A number in a style of LaTeX (arabic, Roman, alph, ...)."""
    if style in ("roman", "Roman"):
        text = _roman(value)
        return text if style == "Roman" else text.lower()
    if style in ("alph", "Alph"):
        if not 0 < value <= 26:
            return "" if value == 0 else str(value)
        return chr((64 if style == "Alph" else 96) + value)
    if style == "fnsymbol":
        return _FOOTNOTE_SYMBOLS[value] if 0 <= value < len(_FOOTNOTE_SYMBOLS) else str(value)
    return str(value)


def _roman(value: int) -> str:
    if not 0 < value < 4000:
        return "" if value == 0 else str(value)
    text = ""
    for number, letters in (
        (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
        (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
    ):  # fmt: skip
        while value >= number:
            text += letters
            value -= number
    return text
