r"""LaTeX to copy: without labels, commands for numbers, and commands for the size of the type.

These belong to the paper that an equation stands in. `\label` would clash with labels of the
paper that it is copied to, and sizes would not fit there.
"""

import re

_TYPE_SIZES = "tiny scriptsize footnotesize small normalsize large Large LARGE huge Huge selectfont"
_NUMBER_COMMANDS = "nonumber notag"
#: Commands that are removed with so many arguments.
_DROPPED_COMMANDS = {
    **dict.fromkeys((*_TYPE_SIZES.split(), *_NUMBER_COMMANDS.split()), 0),
    **dict.fromkeys(("label", "tag", "vspace"), 1),
    "fontsize": 2,
}
#: Commands that are replaced by their last argument, with their number of arguments.
_SCALED_BOXES = {"scalebox": 2, "resizebox": 3}
_ONE_COMMAND = re.compile(r"\\(?:([a-zA-Z]+)\*?|.)", re.DOTALL)
_MOST_NESTED_BOXES = 20  # boxes in boxes beyond this are left as they are


def clean_latex(latex: str) -> str:
    r"""Return LaTeX without labels and size commands, in which the rest is unchanged.

    >>> clean_latex(r"\small \label{eq:f} F = \frac{2PR}{P+R} \nonumber")
    'F = \\frac{2PR}{P+R}'
    >>> clean_latex(r"\scalebox{0.8}{$x \leq y$}")
    'x \\leq y'
    """
    return " ".join(_cleaned(latex, 0).split())


def _cleaned(latex: str, depth: int) -> str:
    made, at = list[str](), 0
    for command in _ONE_COMMAND.finditer(latex):
        if command.start() < at:
            continue  # in an argument of a command before
        name = command[1] or ""
        count = _DROPPED_COMMANDS.get(name, _SCALED_BOXES.get(name))
        if count is None or depth > _MOST_NESTED_BOXES:
            continue
        arguments, end = _arguments(latex, command.end(), count)
        if len(arguments) < count:
            continue
        made.append(latex[at : command.start()])
        if name in _SCALED_BOXES:
            inner = arguments[-1].strip()
            is_math = len(inner) > 1 and inner[0] == inner[-1] == "$"
            made.append(_cleaned(inner.strip("$") if is_math else inner, depth + 1))
        at = end
    return "".join([*made, latex[at:]])


def _arguments(latex: str, at: int, count: int) -> tuple[list[str], int]:
    """Read so many arguments in braces; return those that are there, and where they end."""
    found = list[str]()
    while len(found) < count:
        start = re.compile(r"\s*\{").match(latex, at)
        if start is None:
            break
        depth, place = 1, start.end()
        while depth and place < len(latex):
            step = 2 if latex[place] == "\\" else 1
            depth += {"{": 1, "}": -1}.get(latex[place], 0)
            place += step
        if depth:
            break
        found.append(latex[start.end() : place - 1])
        at = place
    return found, at
