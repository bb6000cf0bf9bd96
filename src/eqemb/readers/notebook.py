"""Read Jupyter notebooks (nbformat 3 and 4): their text, without code and outputs.

The line of a file in JSON says nothing to people. So the *line* of an equation or a problem is the
number of its cell, counted from 1 over cells of every kind, and problems say "cell N".
"""

import json
from collections.abc import Iterator
from typing import Any

from eqemb.article import Article
from eqemb.errors import SourceError
from eqemb.readers.draft import Draft, decode
from eqemb.readers.markdown.blocks import Blocks
from eqemb.readers.markdown.count import count_displays
from eqemb.readers.markdown.dialect import Dialect, read_front_matter
from eqemb.readers.markdown.embedded import with_latex
from eqemb.sources import Source

_TEXT_CELLS = ("markdown", "raw", "heading")


def read_notebook(source: Source) -> Article:
    """Read a Jupyter notebook."""
    draft = Draft(source)
    notebook = _parse(source.files[draft.article.main_file])
    dialect = Dialect()
    opened = 0
    for number, cell in enumerate(_cells(notebook), 1):
        kind = cell.get("cell_type")
        if kind not in _TEXT_CELLS:
            continue
        text = _source(cell)
        if kind == "heading":
            text = f"{'#' * _level(cell)} {' '.join(text.split())}"
        opened += count_displays(text)
        lines = with_latex(text).split("\n")
        blocks = Blocks(draft, dialect, lines, cell=number)
        if kind == "raw" and (front := read_front_matter(lines)).lines:
            blocks.title(front.title)
            draft.authors(front.authors, front.date)
            blocks.first = front.lines
        blocks.read()
    metadata = notebook.get("metadata")
    if isinstance(metadata, dict) and isinstance(name := metadata.get("title"), str):
        draft.title(name)
    if isinstance(metadata, dict) and isinstance(people := metadata.get("authors"), list):
        draft.authors(str(each.get("name") if isinstance(each, dict) else each) for each in people)
    return draft.finish(opened)


def _parse(data: bytes) -> dict[str, Any]:
    try:
        notebook = json.loads(decode(data))
    except (ValueError, RecursionError) as error:
        raise SourceError("broken record", f"not a notebook: {error}") from None
    if not isinstance(notebook, dict) or not ("cells" in notebook or "worksheets" in notebook):
        raise SourceError("broken record", "not a notebook: no cells")
    return notebook


def _cells(notebook: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The cells of a notebook, which format 3 keeps in worksheets."""
    sheets = [notebook, *_list(notebook.get("worksheets"))]
    for sheet in sheets:
        if isinstance(sheet, dict):
            yield from (cell for cell in _list(sheet.get("cells")) if isinstance(cell, dict))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _source(cell: dict[str, Any]) -> str:
    value = cell.get("source", "")
    text = "".join(line for line in _list(value) if isinstance(line, str)) or value
    return decode(text.encode("utf-8", "replace")) if isinstance(text, str) else ""


def _level(cell: dict[str, Any]) -> int:
    level = cell.get("level")
    return level if isinstance(level, int) and 1 <= level <= 6 else 1
