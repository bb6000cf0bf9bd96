"""The glossary of an article: its symbols, their meanings, and where each stands."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from eqemb.errors import UsageError
from eqemb.facade.library import Library
from eqemb.search import article_glossary as module
from symbol_papers import make_symbol_library
from synthetic import read_inline


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """The papers that define their symbols."""
    with pytest.MonkeyPatch.context() as patch:
        read_inline(patch)
        with make_symbol_library(tmp_path_factory.mktemp("glossary")) as made:
            yield made


def read(folder: Path, text: str) -> Library:
    """A library of one paper with a text."""
    (folder / "one.tex").write_text(
        rf"\documentclass{{article}}\begin{{document}}{text}\end{{document}}", "utf-8"
    )
    return Library.read([folder / "one.tex"], folder / "library", jobs=1, index=True)


def test_a_glossary_lists_symbols_in_alphabetical_order(library: Library) -> None:
    """With every meaning, its section and the nearest equation."""
    found = library.glossary("descent")
    assert [entry.symbol.latex for entry in found] == ["L", "x", "y", r"\eta"]
    assert found.to_text().split("\n") == [
        "Walking downhill",
        "",
        "  L  loss function  (Method · #1)",
        "  x  clean input  (Noise · #2)",
        "  y  signal  (Noise · #2)",
        "  η  learning rate  (Method · #1)",
        "     noise level of a measurement  (Noise · #2)",
    ]
    assert str(found) == found.to_text()
    assert len(found) == found.total == 4


def test_a_glossary_as_json(library: Library) -> None:
    """With evidence, scope and place."""
    found = library.glossary("descent").to_json()
    assert (found["article"], found["title"]) == ("descent", "Walking downhill")
    entry = found["entries"][1]
    assert (entry["symbol"], entry["text"]) == ("x", "x")
    (only,) = entry["meanings"]
    assert only["definition"] == "clean input"
    assert only["type"] == r"\mathbb{R}^d"
    assert only["scope"] == "section"
    assert only["section"] == "Noise"
    assert only["equation"] == "descent#2"
    assert "[equation]" in only["sentence"]


def test_a_glossary_in_a_notebook(library: Library) -> None:
    """A table with MathML."""
    html = library.glossary("descent")._repr_html_()
    assert html.count("<tr>") == 6
    assert "<mi>η</mi>" in html


def test_an_article_without_definitions(library: Library) -> None:
    """Says so."""
    assert library.glossary("plain").to_text() == "Plain\n\n  no definition found"


def test_an_unknown_article(library: Library) -> None:
    """A similar name is suggested."""
    with pytest.raises(UsageError, match="did you mean descent"):
        library.glossary("descents")


def test_styles_of_a_letter_stand_together(tmp_path: Path) -> None:
    """Capitals before small letters, Greek after Latin."""
    text = r"""where $\alpha$ is the rate, $\mathbf{b}$ is the bias vector, $b$ is the bias, $B$ is
    the basis and $c$ is the cost."""
    with read(tmp_path, text) as library:
        letters = [entry.symbol.base for entry in library.glossary("one")]
    assert letters == ["B", "b", "𝐛", "c", "α"]


def test_one_meaning_is_listed_once(tmp_path: Path) -> None:
    """What differs in articles or plurals only is one meaning; a type is none beside words."""
    text = r"""Let $n$ be the number of words. Here $n$ is the number of the words, $n \in N$.
    Later $n$ denotes the noise."""
    with read(tmp_path, text) as library:
        (entry,) = [one for one in library.glossary("one") if one.symbol.latex == "n"]
    assert [one.text for one in entry.meanings] == ["number of words", "noise"]


def test_common_words_do_not_make_another_meaning(tmp_path: Path) -> None:
    """Also those whose stems are not words: *thi*, *variou*."""
    text = r"""Let $n$ be the number of words. Here $n$ is the number of various words."""
    with read(tmp_path, text) as library:
        (entry,) = [one for one in library.glossary("one") if one.symbol.latex == "n"]
    assert len(entry.meanings) == 1


def test_a_long_glossary_is_cut(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """And says how much it leaves out."""
    monkeypatch.setattr(module, "MAX_ENTRIES", 3)
    found = library.glossary("descent")
    assert (len(found), found.total) == (3, 4)
    assert found.to_text().endswith("  and 1 more")
