"""Jupyter notebooks: the text of their cells in order, without code and outputs."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqemb.article import EQUATION_MARK, Article
from eqemb.errors import SourceError
from eqemb.readers.notebook import read_notebook
from eqemb.sources import Source


def cell(source: str | list[str], kind: str = "markdown", **fields: Any) -> dict[str, Any]:
    """A cell of a notebook."""
    return {"cell_type": kind, "metadata": {}, "source": source} | fields


def read(notebook: Any) -> Article:
    """Read a notebook, given as its cells, its JSON or its bytes."""
    if isinstance(notebook, list):
        notebook = {"nbformat": 4, "cells": notebook}
    data = notebook if isinstance(notebook, bytes) else json.dumps(notebook).encode()
    return read_notebook(Source("a", "a.ipynb", "", "notebook", {"a.ipynb": data}, "a.ipynb"))


CELLS = [
    cell(["# Title\n", "\n", "Let $a$ be\n", "\n", "$$\n", "a = 1\n", "$$\n"]),
    cell("print('$$hidden$$')", "code", outputs=[{"text": ["$$hidden$$"]}], execution_count=1),
    cell("## Part\n\n\\begin{align}\nb &= 2\n\\end{align}\nas in $$c$$ here."),
    cell("Raw $d$.", "raw"),
]


def test_text_and_equations_in_order() -> None:
    """Code and outputs are left out; the line of an equation is the number of its cell."""
    article = read(CELLS)
    assert [one.expanded for one in article.equations] == ["a = 1", "b &= 2", "c"]
    assert [(one.line, one.end_line) for one in article.equations] == [(1, 1), (3, 3), (3, 3)]
    assert [one.section for one in article.equations] == ["", "Part", "Part"]
    assert article.title == "Title"
    assert article.words() == "Title Let be Part as in here Raw".split()
    assert article.displays_opened == 3


def test_format_3() -> None:
    """Old notebooks have worksheets, and cells that are headings."""
    heading = cell(["Old part"], "heading", level=2)
    code = {"cell_type": "code", "input": "x", "outputs": []}
    sheets = [{"cells": [heading, code]}, {"cells": [cell("$$x = 1$$")]}]
    article = read({"nbformat": 3, "metadata": {"name": ""}, "worksheets": sheets})
    assert article.sections == ["Old part"]
    assert [(one.expanded, one.line) for one in article.equations] == [("x = 1", 3)]


def test_cells_do_not_run_into_each_other() -> None:
    """A display that is not closed ends with its cell, which the problem names."""
    article = read([cell("Code"), cell("Let $a$\n\n$$\nx = 1\n"), cell("$$\ny = 1\n$$")])
    assert [one.expanded for one in article.equations] == ["y = 1"]
    (problem,) = article.problems
    assert (problem.cause, problem.line) == ("lost: display not closed", 2)
    assert problem.detail == "cell 2: $$"


def test_an_open_fence_names_its_cell() -> None:
    """So does this problem."""
    article = read([cell("$$x$$"), cell("```python\n1 + 1\n")])
    (problem,) = article.problems
    assert (problem.cause, problem.line, problem.detail) == (
        "fence not closed", 2, "cell 2: ```python",
    )  # fmt: skip


def test_references_between_cells() -> None:
    """A label in one cell is referred to in another."""
    article = read([cell("$$x = 1 \\label{a}$$"), cell("See \\eqref{a}.")])
    assert article.equations[0].references == ["See …."]


def test_macros_hold_for_later_cells() -> None:
    """As in Jupyter."""
    article = read([cell("$\\newcommand{\\R}{\\mathbb{R}}$"), cell("$$x \\in \\R$$")])
    assert article.equations[0].expanded == r"x \in \mathbb{R}"


def test_titles() -> None:
    """From a raw cell with front matter, as Quarto has it, or from the metadata."""
    raw = cell("---\ntitle: From Quarto\n---\n", "raw")
    assert read([raw, cell("$$x$$")]).title == "From Quarto"
    notebook = {"cells": [cell("$$x$$")], "metadata": {"title": "From metadata"}}
    assert read(notebook).title == "From metadata"


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'"x"', b"[" * 100_000, b"\xff\xfe\x00"])
def test_what_is_no_notebook(data: bytes) -> None:
    """It is skipped with a cause."""
    with pytest.raises(SourceError) as error:
        read(data)
    assert error.value.cause == "broken record"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["cells", "worksheets", "cell_type", "source", "metadata", "level"]),
        inner | st.sampled_from(["markdown", "heading", "raw", "$$x$$", "$$\ny"]),
        max_size=4,
    ),
    max_leaves=20,
)  # fmt: skip


@given(JSON)
def test_any_json(notebook: Any) -> None:
    """JSON of any shape raises nothing but `SourceError`."""
    with contextlib.suppress(SourceError):
        article = read(json.dumps(notebook).encode())
        assert article.text.count(EQUATION_MARK) == len(article.equations)


@given(st.binary(max_size=100))
def test_any_bytes(data: bytes) -> None:
    """So do any bytes."""
    with contextlib.suppress(SourceError):
        read(data)


def test_mathml_in_a_cell() -> None:
    """It is read as other displays."""
    article = read(
        [cell('Here <math display="block"><mi>x</mi><mo>=</mo><mn>1</mn></math> holds.')]
    )
    assert [found.expanded.replace(" ", "") for found in article.equations] == ["x=1"]
    assert (article.displays_opened, article.displays_lost) == (1, 0)
