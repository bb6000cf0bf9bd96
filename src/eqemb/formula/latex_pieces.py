r"""Put pieces of LaTeX together: what stood between them, such as a label, has been cut out."""

import re
from collections.abc import Iterable

_LAST_COMMAND = re.compile(r"\\[A-Za-z@]+\Z")
_COMMENT_TO_LINE_END = re.compile(r"\\.|(%[^\n]*\n?)", re.DOTALL)
_FIRST_LETTER = re.compile(r"[A-Za-z@]")


def join_latex(pieces: Iterable[str]) -> str:
    r"""Join pieces, with a blank where a command would become one word with what follows.

    >>> join_latex([r"\alpha", "", "b", "c"])
    '\\alpha bc'
    """
    made = list[str]()
    for piece in filter(None, pieces):
        if made and _FIRST_LETTER.match(piece) and _LAST_COMMAND.search(made[-1]):
            made.append(" ")
        made.append(piece)
    return "".join(made)


def without_comments(latex: str) -> str:
    """Remove comments with the line breaks that end them, as TeX does."""
    pieces, at = list[str](), 0
    for comment in _COMMENT_TO_LINE_END.finditer(latex) if "%" in latex else ():
        if comment[1]:
            pieces.append(latex[at : comment.start()])
            at = comment.end()
    return join_latex([*pieces, latex[at:]])


def one_line(latex: str) -> str:
    r"""Return LaTeX with one blank for any white space, and none around it.

    The blank of a control space (`\ `) at the end stays: without it, the backslash would act on
    what follows.
    """
    line = " ".join(latex.split())
    backslashes = len(line) - len(line.rstrip("\\"))
    return f"{line} " if backslashes % 2 and latex[-1:].isspace() else line
