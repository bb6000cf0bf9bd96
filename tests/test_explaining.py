"""Why an equation answers: symbols that met, letters renamed, and words with their part."""

from collections.abc import Iterator

import pytest

from axes import make_library
from eqemb.library import Library

RENAMED = r"\cos(u, v) = \frac{u \cdot v}{\|u\| \|v\|}"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A library with a model made by hand."""
    with make_library(tmp_path_factory.mktemp("why")) as made:
        yield made


def test_symbols_that_meet_are_marked_on_both(library: Library) -> None:
    """All of them where letters alone differ."""
    found = library.why(RENAMED, "angles#1")
    for side in (found.query, found.other):
        assert side.shape is not None
        assert side.marked == list(range(len(side.shape.nodes())))
        assert side.shape.to_mathml(mark=side.marked).count("eqemb-mark") > 5
    assert found.letters == {"u": "x", "v": "y"}


def test_the_score_is_that_of_the_search(library: Library) -> None:
    """So are its parts, for words and for equations; an answer's hit may be given as it is."""
    for query, answer in (
        ("cosine documents", library.search("cosine documents")),
        (RENAMED, library.similar(RENAMED)),
        ("angles#1", library.similar("angles#1")),
    ):
        hit = answer[0]
        found = library.why(query, hit)
        assert found.score == pytest.approx(hit.score)
        assert found.parts == pytest.approx(hit.parts)
        assert sum(found.words.values()) == pytest.approx(hit.parts["words"])


def test_words_of_a_query_are_shown_as_they_were_typed(library: Library) -> None:
    """Those that the equation has; the others gave nothing."""
    found = library.why("cosines recall", "angles#1")
    assert list(found.words) == ["cosines"]
    assert found.query.shape is None


def test_words_of_equations_are_those_they_share(library: Library) -> None:
    """In the form that stands near the second."""
    words = library.why("angles#1", "documents#1").words
    assert {"cosine", "vectors", "documents"} <= set(words)
    assert "recall" not in words


def test_an_equation_that_is_nowhere_is_compared_by_its_symbols(library: Library) -> None:
    """Its score is how alike the two are."""
    found = library.why("angles#1", RENAMED)
    assert found.parts == {}
    assert found.score == found.likeness > 0.7
    assert "cosine" in found.words


def test_a_formula_among_words_is_marked_too(library: Library) -> None:
    """Beside the words that count."""
    found = library.why(r"cosine $\|z\|$", "angles#1")
    assert found.query.marked == [0, 1]
    assert list(found.words) == ["cosine"]


def test_reasons_for_programs(library: Library) -> None:
    """With these keys."""
    found = library.why("angles#1", "documents#1").to_dict()
    assert list(found) == [
        *("score", "parts", "likeness", "letters", "words", "query", "other"),
    ]
    assert list(found["other"]) == ["query", "id", "text", "mathml", "marked"]
    assert found["other"]["id"] == "documents#1"
