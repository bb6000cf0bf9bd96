"""Why an equation answers: symbols that met, letters renamed, and words with their part."""

from collections.abc import Iterator

import pytest

from axes import make_library
from eqemb.errors import UsageError
from eqemb.facade.library import Library

RENAMED = r"\cos(u, v) = \frac{u \cdot v}{\|u\| \|v\|}"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A library with a model made by hand."""
    with make_library(tmp_path_factory.mktemp("why")) as made:
        yield made


def test_aligned_symbols_are_marked_on_both_sides(library: Library) -> None:
    """All of them if only letters differ."""
    found = library.why(RENAMED, "angles#1")
    for side in (found.query, found.other):
        assert side.shape is not None
        assert side.marked == list(range(len(side.shape.nodes())))
        assert side.shape.to_mathml(mark=side.marked).count("eqemb-mark") > 5
    assert found.letters == {"u": "x", "v": "y"}


def test_the_score_is_that_of_the_search(library: Library) -> None:
    """So are its parts, for words and for equations; a hit may be passed as it is."""
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
    """Only those that the equation has."""
    found = library.why("cosines recall", "angles#1")
    assert list(found.words) == ["cosines"]
    assert found.query.shape is None


def test_words_of_equations_are_those_they_share(library: Library) -> None:
    """In the form that is used near the second."""
    words = library.why("angles#1", "documents#1").words
    assert {"cosine", "vectors", "documents"} <= set(words)
    assert "recall" not in words


def test_latex_is_compared_by_its_symbols(library: Library) -> None:
    """The score is the likeness."""
    found = library.why("angles#1", RENAMED)
    assert found.parts == {}
    assert found.score == found.likeness > 0.7
    assert "cosine" in found.words


def test_a_formula_among_words_is_marked_too(library: Library) -> None:
    """Together with the words."""
    found = library.why(r"cosine $\|z\|$", "angles#1")
    assert found.query.marked == [0, 1]
    assert list(found.words) == ["cosine"]


def test_a_pattern_is_explained_by_its_wildcards(library: Library) -> None:
    """The score is that of the search; everything that matched is marked."""
    query = r"\frac{?a}{?b + Q}"
    (hit,) = library.similar(query, article="harmonic")
    found = library.why(query, hit)
    assert found.score == pytest.approx(hit.score)
    assert found.parts == pytest.approx(hit.parts)
    assert found.letters == {"?a": "2PR", "?b": "P", "Q": "R"}
    assert found.other.shape is not None
    assert found.other.shape.to_text(mark=found.other.marked) == "F = (⟦2PR⟧)⟦/⟧(⟦P + R⟧)"
    assert not any(line.startswith("words") for line in found.lines())
    among = library.why(r"harmonic $\frac{?a}{?b + Q}$", hit)
    assert among.letters == found.letters
    assert library.why(query, "angles#1").score == 0
    assert library.why(r"\|?x\|", r"\|x_1 y\|").letters == {"?x": "x₁y"}


@pytest.mark.parametrize("query", ["?x", "?a?b?c?d?e?f?g?h=?h?g"])
def test_a_pattern_that_cannot_be_matched_is_refused(library: Library, query: str) -> None:
    """It has no symbol, or too many ways to match."""
    with pytest.raises(UsageError, match=r"at least one symbol|too many ways"):
        library.why(query, "x" * 150 + "=y")


def test_a_label_may_look_like_words(library: Library) -> None:
    """It is still a name; words that start like a name are words."""
    found = library.why("again:eq:f_1, again", "harmonic#1")
    assert found.query.equation is not None
    assert found.query.equation.id == "again#1"
    words = library.why("angles: the cosine", "angles#1").words
    assert list(words) == ["angles", "cosine", '"angles the cosine"', "the"]


def test_the_json_of_an_explanation(library: Library) -> None:
    """It has these keys."""
    found = library.why("angles#1", "documents#1").to_json()
    assert list(found) == [
        *("score", "parts", "likeness", "letters", "words", "query", "other"),
    ]
    assert list(found["other"]) == ["query", "id", "text", "mathml", "marked"]
    assert found["other"]["id"] == "documents#1"
