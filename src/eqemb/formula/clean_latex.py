r"""LaTeX to copy: without labels, commands for numbers, and commands for the size of the type.

These belong to the paper that an equation stands in. `\label` would clash with labels of the
paper that it is copied to, and sizes would not fit there.
"""

import re

from eqemb.formula.latex_pieces import join_latex, one_line, without_comments

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
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_PLAIN_DOLLAR = re.compile(r"\\.|(\$)", re.DOTALL)
_BEFORE_ARGUMENT = re.compile(r"\s*")
_MOST_NESTED_BOXES = 20  # boxes in boxes beyond this are left as they are


def clean_latex(latex: str) -> str:
    r"""Return LaTeX on one line without labels, size commands and comments; the rest is unchanged.

    A box that makes its content smaller is removed, unless it has text with formulas.

    >>> clean_latex(r"\small \label{eq:f} F = \frac{2PR}{P+R} \nonumber")
    'F = \\frac{2PR}{P+R}'
    >>> clean_latex(r"\scalebox{0.8}{$x \leq y$}")
    'x \\leq y'
    """
    lines, end, last = latex.rpartition("\n")  # a comment on the last line hides nothing
    return one_line(_cleaned(join_latex([without_comments(lines + end), last]), 0))


def _cleaned(latex: str, depth: int) -> str:
    made, at, closing = list[str](), 0, _closing_braces(latex)
    for command in _ONE_COMMAND.finditer(latex):
        if command.start() < at:
            continue  # in an argument of a command before
        name = command[1] or ""
        count = _DROPPED_COMMANDS.get(name, _SCALED_BOXES.get(name))
        if count is None or depth > _MOST_NESTED_BOXES:
            continue
        arguments = _arguments(latex, command.end(), count, closing)
        if len(arguments) < count:
            continue
        made.append(latex[at : command.start()])
        at = arguments[-1][1] + 1 if arguments else command.end()
        if name in _SCALED_BOXES:
            start, end = arguments[-1]
            made.append(_unboxed(latex[command.start() : start], latex[start:end], depth + 1))
    return join_latex([*made, latex[at:]])


def _unboxed(box: str, content: str, depth: int) -> str:
    """Return the content of a box as mathematics, or the box if it has text with formulas."""
    inner = one_line(_cleaned(content, depth))
    dollars = [found.start() for found in _PLAIN_DOLLAR.finditer(inner) if found[1]]
    if not dollars:
        return inner
    is_math = dollars == [0, len(inner) - 1]
    return inner[1:-1] if is_math else f"{box}{inner}}}"


def _closing_braces(latex: str) -> dict[int, int]:
    """Return the position of the closing brace of each opening one that is closed."""
    found, opened = dict[int, int](), list[int]()
    for brace in _BRACE.finditer(latex):
        if brace[0] == "{":
            opened.append(brace.start())
        elif brace[0] == "}" and opened:
            found[opened.pop()] = brace.start()
    return found


def _arguments(latex: str, at: int, count: int, closing: dict[int, int]) -> list[tuple[int, int]]:
    """Return where so many arguments in braces start and end; fewer if they are not there."""
    found = list[tuple[int, int]]()
    while len(found) < count:
        start = _BEFORE_ARGUMENT.match(latex, at).end()  # type: ignore[union-attr]
        if start not in closing:
            break
        found.append((start + 1, closing[start]))
        at = closing[start] + 1
    return found
