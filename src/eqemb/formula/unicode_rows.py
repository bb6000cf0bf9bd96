"""Rows of Unicode mathematics: the pieces that were read, and the LaTeX of them together."""

import re
from typing import NamedTuple

_ENDS_IN_COMMAND = re.compile(r"\\[a-zA-Z]+\Z")
_PHRASED = re.compile(r"\\(?:text|mathrm)\{[^{}]*\}\Z")


class RowPiece(NamedTuple):
    """A piece of a row."""

    latex: str
    kind: str
    """"atom", "word", "infix", "comma", "row" (the end of one), "sign" or "blank"."""
    inside: str | None = None
    """What is between its brackets."""

    @property
    def operand(self) -> str:
        """The piece without its brackets."""
        return self.latex if self.inside is None else self.inside


BLANK = RowPiece("", "blank")


def matrix_of(opener: str, closer: str, inner: list[RowPiece]) -> str | None:
    """The LaTeX of a table; None if its rows are not equally long, as in `p(x, y; z)`."""
    rows: list[list[list[RowPiece]]] = [[[]]]
    for item in inner:
        if item.kind == "row":
            rows.append([[]])
        elif item.kind == "comma":
            rows[-1].append([])
        else:
            rows[-1][-1].append(item)
    if len({len(row) for row in rows}) > 1:
        return None
    names = {"()": "pmatrix", "[]": "bmatrix", "{}": "Bmatrix", "{]": "cases"}
    name = names.get(opener + closer)
    if name is None:
        return None
    body = r" \\ ".join(" & ".join(joined(cell) for cell in row) for row in rows)
    return f"\\begin{{{name}}}{body}\\end{{{name}}}"


def joined(items: list[RowPiece]) -> str:
    """The LaTeX of a row."""
    items = _merge_texts(_without_brackets(items))
    out: list[str] = []
    for at, item in enumerate(items):
        latex = item.latex
        if item is BLANK:
            latex = " " if out and not out[-1].endswith(" ") and at < len(items) - 1 else ""
        elif item.kind == "row":
            latex = " "
        elif out and latex[:1].isalpha() and _ENDS_IN_COMMAND.search(out[-1]):
            latex = " " + latex
        if latex:
            out.append(latex)
    return "".join(out).strip()


def _without_brackets(items: list[RowPiece]) -> list[RowPiece]:
    """Drop the brackets that `to_text` prints around a fraction beside other symbols."""
    out: list[RowPiece] = []
    for at, item in enumerate(items):
        if item.kind == "fraction" and item.inside is not None:
            before = items[at - 1] if at else BLANK
            if before.kind != "word" or before.latex in (r"\log", r"\ln"):
                out.append(RowPiece(item.inside, "atom"))
                continue
        out.append(item)
    return out


def _merge_texts(items: list[RowPiece]) -> list[RowPiece]:
    """Join consecutive words of a sentence into one text."""
    out: list[RowPiece] = []
    for item in items:
        is_next = len(out) > 1 and out[-1] is BLANK and _PHRASED.match(out[-2].latex)
        if is_next and _PHRASED.match(item.latex):
            before = out[-2].latex.partition("{")[2]
            out[-2:] = [RowPiece(f"\\text{{{before[:-1]} {item.latex.partition('{')[2]}", "word")]
        else:
            out.append(item)
    return out
