r"""Read the displays of LaTeXML: tables of rows, each with its cells, number and id.

A display is written back as LaTeX with `\tag` and `\label` in its rows, so that it is read as any
other display: one equation for each numbered row, with the unnumbered rows that lead to it.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from eqemb.readers.html.formulas import Formula, number_of, recognise
from eqemb.readers.html.tree import MATH, Element, Text, text_content

_EQUATION_CLASSES = frozenset({"ltx_eqn_table", "ltx_equationgroup", "ltx_equation"})
_ENVIRONMENT = re.compile(r"ltx_eqn_(align|eqnarray|gather|multline)$")
_ID_AS_LABEL = re.compile(r"[\w.:-]+")
_UNSAFE = re.compile(r"[{}\\%$&#]")


@dataclass(slots=True)
class DisplayTableRow:
    """One row of a display."""

    start: int
    ids: list[str] = field(default_factory=list)
    cells: list[list[str]] = field(default_factory=list)
    number: str = ""
    words: list[str] = field(default_factory=list)
    lost: str = ""

    @property
    def tex(self) -> str:
        """Its formula."""
        return " & ".join("".join(cell) for cell in self.cells if cell)


@dataclass(slots=True)
class Display:
    """The rows of one display, up to words between its rows."""

    environment: str
    rows: list[DisplayTableRow] = field(default_factory=list)

    def latex(self, is_label: Callable[[str], bool]) -> tuple[str, str]:
        r"""The display as LaTeX, with and without `\tag` and `\label`."""
        marked = [_marked(row, is_label) for row in self.rows]
        plain = [row.tex for row in self.rows]
        if len(self.rows) == 1:
            return marked[0], plain[0]
        begin, end = f"\\begin{{{self.environment}}}", f"\\end{{{self.environment}}}"
        return begin + r" \\ ".join(marked) + end, begin + r" \\ ".join(plain) + end


def is_display(element: Element) -> bool:
    """Whether an element is a display of LaTeXML."""
    return not element.classes.isdisjoint(_EQUATION_CLASSES)


def displays_in(element: Element, source: str) -> Iterator[Display | str]:
    """The displays in an element of LaTeXML, and the words between them."""
    environment = _environment(element)
    display = Display(environment)
    for row in _rows(element, source):
        if row.cells or row.lost or row.number:
            display.rows.append(row)
        elif words := " ".join("".join(row.words).split()):
            if display.rows:
                yield display
            yield words
            display = Display(environment)
    if display.rows:
        yield display


def _environment(element: Element) -> str:
    for name in element.classes:
        if match := _ENVIRONMENT.match(name):
            return match[1]
    return "align" if "ltx_equationgroup" in element.classes else "equation"


def _rows(element: Element, source: str) -> list[DisplayTableRow]:
    rows: list[DisplayTableRow] = []
    ids: list[str] = []
    stack: list[Element | Text] = [element]
    while stack:
        node = stack.pop()
        if isinstance(node, Text):
            if rows:
                rows[-1].words.append(node.data)
            continue
        if node.get("id") and node.name not in MATH:
            ids.append(node.get("id"))
        if node is element or "ltx_eqn_row" in node.classes or node.name == "tr":
            rows.append(DisplayTableRow(node.start))
        row = rows[-1]
        if "ltx_tag" in node.classes:
            row.number = number_of(_tag_text(node, source))
        elif (formula := recognise(node, source)) is not None:
            row.ids, ids = row.ids + ids, []
            _add_formula(row, formula)
        else:
            if node.name == "td" or "ltx_eqn_cell" in node.classes:
                row.cells += [[]] if row.cells and row.cells[-1] else []
            stack += reversed(node.children)
    return rows


def _add_formula(row: DisplayTableRow, formula: Formula) -> None:
    row.lost = row.lost or formula.lost
    if not row.cells:
        row.cells.append([])
    row.cells[-1].append(formula.tex)


def _tag_text(tag: Element, source: str) -> str:
    """The number that a tag prints; formulas in it as TeX without commands."""
    pieces = [text_content(tag)]
    stack: list[Element | Text] = [tag]
    while stack:
        node = stack.pop()
        if isinstance(node, Element):
            if node.name in MATH and (formula := recognise(node, source)):
                pieces.append(formula.tex)
            stack += node.children
    return _UNSAFE.sub("", "".join(pieces))


def _marked(row: DisplayTableRow, is_label: Callable[[str], bool]) -> str:
    labels = [name for name in row.ids if _ID_AS_LABEL.fullmatch(name)]
    last = labels[-1:] if row.number else []
    labels = last + [name for name in labels if is_label(name) and name not in last]
    marks = "".join(f"\\label{{{label}}}" for label in labels)
    return row.tex + marks + (f"\\tag{{{row.number}}}" if row.number else "")
