"""Answers in notebooks: HTML that is whole and says nothing but what it shows, LaTeX, frames."""

import sys
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import pytest

from axes import make_library
from eqemb.errors import UsageError
from eqemb.hits import paragraphs, rows
from eqemb.library import Library

QUESTIONS = {
    "search": lambda library: library.search("cosine unheard-of angles"),
    "hit": lambda library: library.search("cosine")[0],
    "describe": lambda library: library.describe("angles#1"),
    "words": lambda library: library.words("cosine"),
    "query": lambda library: library.query(["cosine"]),
    "why": lambda library: library.why("angles#1", "documents#1"),
    "why words": lambda library: library.why("cosine <b>", "angles#1"),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A library with a hostile title."""
    with make_library(tmp_path_factory.mktemp("hits")) as made:
        yield made


@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_are_whole_html(library: Library, question: str) -> None:
    """An XML parser reads them, and there is no script in them."""
    answer: Any = QUESTIONS[question](library)
    tree = ElementTree.fromstring(f"<div>{answer._repr_html_()}</div>")
    tags = {node.tag.rpartition("}")[2] for node in tree.iter()}
    assert "table" in tags
    assert not tags & {"script", "b"}


def test_titles_are_shown_as_they_are(library: Library) -> None:
    """Text that looks like a tag is text."""
    shown = library.search("cosine", article="angles")._repr_html_()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    text = "".join(ElementTree.fromstring(f"<div>{shown}</div>").itertext())
    assert "<script>alert(1)</script> & angles" in text


def test_characters_that_no_document_has_are_left_out() -> None:
    """A paper may have any byte."""
    shown = paragraphs("a\x00b\x1b[31m") + rows(["x"], [["\x08"]])
    assert "".join(ElementTree.fromstring(f"<div>{shown}</div>").itertext()) == "a b [31mx "


def test_equations_are_shown_as_latex(library: Library) -> None:
    """Rows and alignment stand in an environment that knows them."""
    hit = library.search("cosine", article="angles")[0]
    assert hit._repr_latex_().startswith(r"$\displaystyle \cos(x, y)")
    hit.equation.expanded = r"a &= b \\ &= c"
    assert hit._repr_latex_() == r"$\displaystyle \begin{aligned}a &= b \\ &= c\end{aligned}$"


def test_a_frame_has_a_row_for_each_hit(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where pandas is missing, one sentence says so."""
    pandas = pytest.importorskip("pandas")
    frame = library.search("cosine").to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["id"][:1]) == [library.search("cosine")[0].equation.id]
    assert list(library.describe("angles#1").to_pandas().columns) == [
        *("word", "score", "sentence", "article"),
    ]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match="pip install pandas"):
        library.search("cosine").to_pandas()
