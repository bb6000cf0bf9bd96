"""Words that complete what is typed, and example questions of the start page."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from eqemb.facade.library import Library
from eqemb.server.examples import example_equation, example_words
from eqemb.server.service import Page, Service
from eqemb.server.suggestions import WordList
from synthetic import papers

BODIES = {
    "one": r"""\section{Cosine Similarity} The cosine similarity of similar vectors is the
        similarity \[ c = \frac{a \cdot b}{\|a\| \|b\|}, \] and similarities are bounded.
        \section{Related Work} Related work is similar \[ & r + s \].""",
    "two": r"""\section{Cosine similarity} A cosine similarity is a similarity with entropies
        \[ c = \frac{x \cdot y}{\|x\| \|y\|} \] of a similarity.
        \section{Shannon entropy} The Shannon entropy is the entropy \[ -\sum_i p_i \log p_i. \]""",
    "three": r"""\section{Shannon entropy of $x$} Once more \[ c = \frac{u \cdot v}{\|u\| \|v\|} \]
        \section{A title of four words} This is the Shannon entropy \[ h(x) = \log x \].""",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A library of three papers."""
    place = tmp_path_factory.mktemp("examples")
    folder = papers(place / "papers", **BODIES)
    with Library.read([folder], place / "library", jobs=1, index=True) as made:
        yield made


def test_completions_are_words_as_they_are_written(library: Library) -> None:
    """The most frequent first, and one of the inflected forms."""
    words = WordList(library.engine.text)
    assert words.complete("simil", 8) == ["similarity", "similar"]
    assert words.complete("simil", 1) == ["similarity"]
    assert words.complete("entr", 8) == ["entropy"]
    assert words.complete("zz", 8) == []


def test_examples_are_titles_with_good_answers(library: Library) -> None:
    """Titles about the paper itself, with mathematics or of many words are left out."""
    found = example_words(library, 5)
    assert sorted(found) == ["cosine similarity", "shannon entropy"]
    assert example_words(library, 1) == found[:1]
    for words in found:
        assert library.search(words, 3).match == "good"


def test_the_example_equation_is_common_and_one_line(library: Library) -> None:
    """Three papers have it; its punctuation is not part of the question."""
    found = example_equation(library)
    assert found is not None
    assert found.latex.startswith(r"c = \frac{")
    service = Service(library)
    *_, asked = service.examples()
    assert asked["q"].startswith("$c = ")
    assert asked["q"].endswith("}$")
    assert service.search(asked["q"], Page())["hits"]


def test_a_library_without_titles_has_no_example_words(tmp_path: Path) -> None:
    """The start page still works."""
    folder = papers(tmp_path / "papers", alone=r"A word \[ x \].")
    with Library.read([folder], tmp_path / "library", jobs=1, index=True) as made:
        assert Service(made).examples() == []
