"""How many equations match, how they are distributed, and filters by what is counted."""

from collections.abc import Iterator

import numpy as np
import pytest

from eqemb.errors import UsageError
from eqemb.facade.library import Library
from eqemb.search.facets import MAX_VALUES, Facets
from eqemb.search.match_kinds import MATCH_KINDS, Matches, word_kinds
from synthetic import read_inline

SECTIONS = ("Experiments", "Experiment", "Our Experiments", "Results and their discussion here")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """Articles of two collections and two years, each with four sections."""
    place = tmp_path_factory.mktemp("facets")
    for number, name in enumerate(("ir/1501.00001", "ir/1601.00002", "ml/1601.00003", "ml/essay")):
        file = place / "papers" / f"{name}.tex"
        file.parent.mkdir(parents=True, exist_ok=True)
        body = "".join(
            rf"\section{{{title}}} The gentle slope of a curve is \begin{{equation}}"
            rf" s_{{{number}}} = \frac{{a_{{{at}}}}}{{b + {number}}} \end{{equation}} today."
            for at, title in enumerate(SECTIONS)
        )
        file.write_text(rf"\documentclass{{article}}\begin{{document}}{body}\end{{document}}")
    other = r"The slope of a roof is \begin{equation} r = \sqrt{h} \end{equation} there."
    (place / "papers" / "ml" / "roof.tex").write_text(
        rf"\documentclass{{article}}\begin{{document}}{other}\end{{document}}"
    )
    with pytest.MonkeyPatch.context() as patch:
        read_inline(patch)
        made = Library.read([place / "papers"], place / "library", jobs=1, index=True)
    with made:
        yield made


def facets(library: Library, query: str, **filters: str) -> dict[str, dict[str, int]]:
    """The facets of a query."""
    found = library.search(query, **filters).matches  # type: ignore[arg-type]
    assert isinstance(found, Matches)
    counter = Facets(library.records, library.engine.segments)
    return {name: dict(values) for name, values in counter.count(found).items()}


def count(library: Library, query: str, **filters: str) -> int:
    """How many equations match with a filter."""
    found = library.search(query, **filters).matches  # type: ignore[arg-type]
    assert found is not None
    return len(found)


def test_matches_are_counted_by_collection_and_year(library: Library) -> None:
    """Papers without an arXiv id have no year; the latest year comes first."""
    found = facets(library, "gentle slope")
    assert found["collection"] == {"ir": 8, "ml": 8}
    assert list(found["year"].items()) == [("2016", 8), ("2015", 4)]


def test_a_count_is_what_the_filter_leaves(library: Library) -> None:
    """For every value of every facet."""
    found = facets(library, "gentle slope")
    assert {"collection", "year", "section", "kind"} == set(found)
    for name, values in found.items():
        assert values or name == "kind"
        for value, number in values.items():
            assert count(library, "gentle slope", **{name: value}) == number, (name, value)


def test_sections_of_the_same_words_are_one(library: Library) -> None:
    """Experiment and Experiments have one stem; a long title is no value."""
    sections = facets(library, "gentle slope")["section"]
    assert [name for name in sections if name.startswith("experiment")] == ["experiment"]
    assert sections["experiment"] == 12
    assert not [name for name in sections if "discussion" in name]
    assert all(len(values) <= MAX_VALUES for values in facets(library, "slope").values())


def test_kinds_of_matches_are_those_of_the_query(library: Library) -> None:
    """All words or some; words or formula; the same equation or a similar one."""
    latex = library["1501.00001#1"].latex
    for query, kinds in (
        ("gentle slope", {"all words", "some words"}),
        (f"slope ${latex}$", {"words and formula", "words only", "formula only"}),
        (f"${latex}$", {"same equation", "similar equation"}),
        ("1501.00001#1", {"same equation", "similar equation"}),
    ):
        found = facets(library, query)["kind"]
        assert found
        assert set(found) <= kinds <= set(MATCH_KINDS)
    assert facets(library, "1501.00001#1")["kind"]["same equation"] == 1
    assert count(library, "1501.00001#1", kind="same equation") == 1
    (only,) = library.search("1501.00001#1", kind="same equation")
    assert only.equation.id == "1501.00001#1"


def test_a_kind_needs_all_words() -> None:
    """Coverage 1 is all of them; formulas are matched or not."""
    covered = np.array([1, 0.5, 0], np.float32)
    alike = np.array([0, 0.5, 0.5], np.float32)
    assert {kind: mask.tolist() for kind, mask in word_kinds(covered, None).items()} == {
        "all words": [True, False, False],
        "some words": [False, True, True],
    }
    assert {kind: mask.tolist() for kind, mask in word_kinds(covered, alike).items()} == {
        "words and formula": [False, True, False],
        "words only": [True, False, False],
        "formula only": [False, False, True],
    }


def test_an_article_can_be_left_out(library: Library) -> None:
    """Or several; a name that does not exist is an error."""
    names = {hit.article for hit in library.search("slope", 30, without="1501.00001")}
    assert names
    assert "1501.00001" not in names
    left = library.search("slope", 30, without=["1501.00001", "1601.00002"]).hits
    assert {hit.article for hit in left} & {"1501.00001", "1601.00002"} == set()
    with pytest.raises(UsageError, match="no article 'none'"):
        library.search("slope", without="none")
    with pytest.raises(UsageError, match="without must be"):
        library.search("slope", without=3)  # type: ignore[arg-type]


def test_an_unknown_kind_is_an_error(library: Library) -> None:
    """With the list of kinds; one of another query matches nothing."""
    with pytest.raises(UsageError, match="choose one of all words"):
        library.search("slope", kind="good")
    assert not library.search("slope", kind="same equation").hits


def test_rankings_without_strength_have_no_count(library: Library) -> None:
    """There is no least match."""
    assert library.search("slope", by="meaning").matches is None


def test_every_occurrence_is_counted(library: Library) -> None:
    """Hits show equal equations once."""
    answer = library.search("gentle slope", 100)
    assert answer.matches is not None
    listed = sum(1 + len(hit.family) for hit in answer if not hit.is_weak)
    assert len(answer.matches) >= len(answer.without_weak().hits)
    assert listed >= len(answer.matches)
