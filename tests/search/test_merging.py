"""A library in parts: the answers of one process, and what is said if parts are missing."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqemb.errors import UsageError
from eqemb.facade.library import Library
from eqemb.facade.parts import LocalParts, PartsLibrary
from eqemb.search.facets import Facets, shown_facets
from eqemb.search.match_kinds import CountedMatches, Matches
from eqemb.search.merged_candidates import MergedCandidates, joined
from eqemb.search.parts import PartAnswer, PartQuestion
from eqemb.search.results import Answer
from parts_library import make_segmented

WORDS: list[dict[str, Any]] = [
    {"words": "cosine similarity of two vectors"},
    {"words": "cross entropy loss"},
    {"words": "harmonic mean of precision and recall", "by": "words"},
    {"words": "gradient descent", "numbered": True},
    {"words": '"hidden state" -gate'},
    {"words": r"precision $\frac{P}{P + R}$"},
    {"words": r"probability $\frac{?a}{?b}$"},
    {"words": "similarity", "collection": "nlp"},
    {"words": "cosin similarty zzzz"},
    {"words": "the of"},
    {"words": "cosine", "by": "meaning"},
    {"words": "loss", "kind": "all words", "k": 40},
    {"words": "ir/cosine#1"},
]
EQUATIONS: list[dict[str, Any]] = [
    {"equation": r"p_i = \frac{e^{x_i}}{\sum_j e^{x_j}}"},
    {"equation": r"F = \frac{2 P R}{P + R}", "k": 30},
    {"equation": "ir/cosine#1"},
    {"equation": "x"},
    {"equation": r"\frac{?a}{?b}"},
    {"equation": "x = y", "by": "structure", "k": 60},
    {"equation": r"\sum_i x_i^2", "has": "x"},
    {"equation": r"\aleph \beth"},
    {"equation": "7.*"},
    {"equation": "cosine similarity"},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library in several segments."""
    return make_segmented(tmp_path_factory.mktemp("merging"))


@pytest.fixture(scope="module")
def one(folder: Path) -> Iterator[Library]:
    """The library, searched by this process."""
    with Library.open(folder) as library:
        yield library


@pytest.fixture(scope="module")
def local(one: Library) -> Iterator[LocalParts]:
    """Its parts."""
    parts = LocalParts(one, 3)
    yield parts
    parts.close()


@pytest.fixture(scope="module")
def many(folder: Path, local: LocalParts) -> Iterator[PartsLibrary]:
    """The library, searched by its parts."""
    with PartsLibrary.open_with(folder, local) as library:
        yield library


class SomeParts:
    """Parts of which some do not answer."""

    def __init__(self, parts: LocalParts, missing: set[int]) -> None:
        self._parts, self.missing = parts, missing

    def __len__(self) -> int:
        return len(self._parts)

    def ask(self, question: PartQuestion) -> list[PartAnswer | None]:
        """Return the answers of those that answer."""
        answers = self._parts.ask(question)
        return [None if at in self.missing else each for at, each in enumerate(answers)]


def shown(answer: Answer) -> Any:
    """What of an answer must be the same; scores to six digits."""
    hits = [
        (hit.equation.id, round(hit.score, 6), round(hit.strength or 0, 6), hit.family)
        for hit in answer
    ]
    count = None if answer.matches is None else len(answer.matches)
    return hits, answer.unknown, answer.near, count, answer.words, answer.match


def outcome(question: Callable[..., Answer], asked: dict[str, Any]) -> Any:
    """What a question gives: an answer, or an error."""
    try:
        return shown(question(**asked))
    except UsageError as error:
        return str(error)


@pytest.mark.parametrize("asked", WORDS, ids=str)
def test_words_find_what_one_process_finds(
    one: Library, many: PartsLibrary, asked: dict[str, Any]
) -> None:
    """The same hits, scores, strengths, unknown words and counts."""
    assert outcome(many.search, asked) == outcome(one.search, asked)


@pytest.mark.parametrize("asked", EQUATIONS, ids=str)
def test_equations_find_what_one_process_finds(
    one: Library, many: PartsLibrary, asked: dict[str, Any]
) -> None:
    """The same hits, scores, strengths and counts."""
    assert outcome(many.similar, asked) == outcome(one.similar, asked)


def test_notes_are_those_of_one_process(one: Library, many: PartsLibrary) -> None:
    """Notes on the reading of a query."""
    for query in ("the of", "cosin similarty", "x", "cosine similarity"):
        assert many.similar(query).notes == one.similar(query).notes


@pytest.mark.parametrize("asked", ["ir/cosine#1", r"F = \frac{2 P R}{P + R}", r"\frac{?a}{?b}"])
def test_descriptions_are_those_of_one_process(
    one: Library, many: PartsLibrary, asked: str
) -> None:
    """The same words, sentences and names."""
    assert many.describe(asked).to_json() == one.describe(asked).to_json()


def test_an_error_is_that_of_one_process(one: Library, many: PartsLibrary) -> None:
    """Also where each part refuses for itself, and where no part is asked."""
    wrong: list[dict[str, Any]] = [
        {"words": "-loss"},
        {"words": "loss", "year": 1905},
        {"words": "x", "has": "{}"},
        {"words": "the of", "year": 1990},
        {"words": "-loss", "year": 1990},
        {"words": "ir/cosine#99", "section": "..."},
        {"words": "x = y", "by": "colour", "year": 1990},
        {"words": "$x$", "by": "colour"},
    ]
    for asked in wrong:
        found = outcome(many.search, asked)
        assert isinstance(found, str)
        assert found == outcome(one.search, asked)


def test_words_that_are_too_common_are_no_error(one: Library, many: PartsLibrary) -> None:
    """Even if no equation passes the filters: a note says so."""
    asked: dict[str, Any] = {"words": "the of", "article": "ir/cosine", "section": "zebra"}
    assert len(one.search(**asked).notes) == 2
    assert many.search(**asked).notes == one.search(**asked).notes


@pytest.mark.parametrize(
    "asked",
    ["nlp/seq2seq-beam#2", "cosine similarity", "cross entropy loss", "probability", "error"],
)
def test_facets_are_those_of_one_process(one: Library, many: PartsLibrary, asked: str) -> None:
    """Also sections whose titles are rare in each part; a named equation is counted."""
    found, expected = many.search(asked).matches, one.search(asked).matches
    assert isinstance(found, CountedMatches)
    assert isinstance(expected, Matches)
    facets = Facets(one.records, one.engine.segments).count(expected)
    assert len(facets["section"]) > 1
    assert shown_facets(found.counts) == facets
    assert found.is_complete


def test_a_part_counts_its_most_frequent_titles(
    many: PartsLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No more than that, so that its answer stays small."""
    every = many.search("probability").matches
    monkeypatch.setattr("eqemb.search.parts.MAX_TITLES", 1)
    some = many.search("probability").matches
    assert isinstance(every, CountedMatches)
    assert isinstance(some, CountedMatches)
    assert 0 < len(some.counts["section"]) <= 3 < len(every.counts["section"])


def test_no_match_of_a_kind_is_no_filter_that_none_passes(one: Library, many: PartsLibrary) -> None:
    """The note is about filters."""
    asked: dict[str, Any] = {"words": "similarity", "kind": "formula only"}
    assert not many.search(**asked).hits
    assert many.search(**asked).notes == one.search(**asked).notes == []


@pytest.mark.parametrize("asked", [*WORDS, *EQUATIONS], ids=str)
def test_large_parts_find_the_same_by_their_candidates(
    one: Library,
    many: PartsLibrary,
    local: LocalParts,
    asked: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As one process does that scores a selection of the equations."""
    for segments in (one.engine.segments, *(part.part_engine.segments for part in local.parts)):
        monkeypatch.setattr(segments, "is_large", True)
    question = "search" if "words" in asked else "similar"
    expected = outcome(getattr(one, question), asked)
    found = outcome(getattr(many, question), asked)
    if isinstance(expected, str):
        assert found == expected
    else:
        assert found[:3] == expected[:3]


def test_large_parts_do_not_count_all_matches(
    many: PartsLibrary, local: LocalParts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One part whose matches are not complete is enough."""
    monkeypatch.setattr(local.parts[-1].part_engine.segments, "is_large", True)
    found = many.search("similarity").matches
    assert found is not None
    assert not found.is_complete


# ------------------------------------------------------------ missing parts


@pytest.fixture
def some(folder: Path, local: LocalParts) -> Iterator[PartsLibrary]:
    """The library without the answers of its first part."""
    with PartsLibrary.open_with(folder, SomeParts(local, {0})) as library:
        yield library


def test_a_missing_part_is_mentioned(some: PartsLibrary, one: Library, local: LocalParts) -> None:
    """The hits are those of the other parts."""
    found, whole = some.search("similarity", 50), one.search("similarity", 50)
    assert found.notes[-1] == some.parts_note == "2 of 3 parts answered"
    lost = set(local.parts[0].records.names())
    assert lost & {hit.article for hit in whole}
    assert found.hits
    assert isinstance(found.matches, CountedMatches)
    assert isinstance(whole.matches, Matches)
    assert 0 < len(found.matches) < len(whole.matches)
    assert not found.matches.is_complete
    assert not lost & {hit.article for hit in found}
    assert some.similar("x = y").notes[-1] == "2 of 3 parts answered"
    assert some.describe(r"F = \frac{2 P R}{P + R}").notes[-1] == "2 of 3 parts answered"


def test_nothing_is_missing_once_all_parts_answer(folder: Path, local: LocalParts) -> None:
    """A new request does not remember what was missing in the one before."""
    parts = SomeParts(local, {1})
    with PartsLibrary.open_with(folder, parts) as library:
        assert library.search("similarity").notes
        parts.missing = set()
        library.begin_request()
        assert not library.search("similarity").notes
        assert library.parts_note == ""


def test_an_answer_without_any_part_is_empty(folder: Path, local: LocalParts) -> None:
    """It says so, and is no error."""
    with PartsLibrary.open_with(folder, SomeParts(local, {0, 1, 2})) as library:
        for found in (library.search("similarity"), library.similar("x = y")):
            assert not found.hits
            assert found.notes == ["0 of 3 parts answered"]


def test_an_article_of_a_missing_part_is_no_error(some: PartsLibrary, one: Library) -> None:
    """It may well be in the library."""
    name = one.records.names()[0]
    assert some.search("similarity", article=name).notes[-1] == "2 of 3 parts answered"


def test_candidates_of_no_part_are_empty() -> None:
    """All arrays have their type."""
    merged = MergedCandidates([])
    assert merged.scores(["words"]) == {}
    assert merged.matches(None) is None
    assert len(merged.rows) == len(joined([], np.bool_)) == 0
    assert len(CountedMatches(3, {})) == 3
