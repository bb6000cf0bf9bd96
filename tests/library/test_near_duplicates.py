"""Documents are near-duplicates if they share a fifth of their text, and only then."""

import random
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from eqemb.library import near_duplicates
from eqemb.library.near_duplicates import (
    Documents,
    Hashes,
    Sketches,
    followers,
    groups,
    merge_sketches,
    near_pairs,
    sketch,
    write_sketches,
)
from synthetic import text

Found = Callable[[list[list[str]]], list[list[int]]]


def words(count: int, seed: int | str) -> list[str]:
    """Return a number of words."""
    return text(count, seed).split()


@pytest.fixture
def found(tmp_path: Path) -> Found:
    """Return a function that finds the groups of near-duplicates among documents.

    They are the same in one segment and in several.
    """

    def find(documents: list[list[str]]) -> list[list[int]]:
        sketches = [sketch(document) for document in documents]
        made = []
        for size in (len(documents) + 1, 3):
            library = Library(tmp_path / f"of {size}")
            for start in range(0, len(sketches), size):
                library.add(sketches[start : start + size])
            made.append(library.groups())
        assert made[0] == made[1]
        return made[0]

    return find


class Library:
    """Segments of documents, and the pairs of near-duplicates among them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.live: list[Documents] = []
        self.pairs: set[tuple[tuple[int, int], tuple[int, int]]] = set()

    def segments(self) -> list[Sketches]:
        """Open all segments."""
        return [Sketches(self.folder / str(at), live) for at, live in enumerate(self.live)]

    def add(self, sketches: list[Hashes]) -> None:
        """Write a segment and add its pairs."""
        path = self.folder / str(len(self.live))
        path.mkdir(parents=True, exist_ok=True)
        write_sketches(path, sketches)
        self.live.append(np.ones(len(sketches), np.bool_))
        *earlier, new = self.segments()
        self._add_pairs(near_pairs(new, earlier), len(earlier))

    def remove(self, numbers: Iterable[int]) -> None:
        """Remove live documents by number, and find the pairs of their followers again."""
        places = self.places()
        removed = [np.zeros_like(live) for live in self.live]
        for segment, document in {places[number] for number in numbers}:
            removed[segment][document] = True
            self.live[segment][document] = False
        segments = self.segments()
        again = followers(segments, removed)
        places = self.places()
        self.pairs = {
            (first, (segment, second))
            for first, (segment, second) in self.pairs
            if first in places and (segment, second) in places and not again[segment][second]
        }
        for number, only in enumerate(again):
            pairs = near_pairs(segments[number], segments[:number], only)
            assert all(only[second] for _, _, second in pairs)
            self._add_pairs(pairs, number)

    def _add_pairs(self, pairs: list[tuple[int, int, int]], number: int) -> None:
        self.pairs |= {((segment, first), (number, second)) for segment, first, second in pairs}

    def places(self) -> list[tuple[int, int]]:
        """Return segment and document of the live documents, in order."""
        return [
            (segment, document)
            for segment, live in enumerate(self.live)
            for document in np.flatnonzero(live).tolist()
        ]

    def numbers(self) -> list[tuple[int, int]]:
        """Return the pairs of live documents, by number, in order."""
        number = {place: number for number, place in enumerate(self.places())}
        return sorted((number[first], number[second]) for first, second in self.pairs)

    def groups(self) -> list[list[int]]:
        """Return the groups of live documents, by number."""
        pairs = [(str(first), str(second)) for first, second in self.numbers()]
        made = groups(pairs, map(str, range(len(self.places()))))
        return [[int(name) for name in group] for group in made]


def sharing(share: float, seed: int = 0, count: int = 2000) -> list[list[str]]:
    """Return two documents of equal length that share one stretch of text."""
    common = words(round(share * count), f"common {seed}")
    rest = count - len(common)
    return [[*words(rest, f"{seed} a"), *common], [*common, *words(rest, f"{seed} b")]]


# -- what is near


def test_identical_documents_are_near(found: Found) -> None:
    """Other documents are not in their group."""
    documents = [words(500, seed) for seed in range(5)]
    assert found([*documents, documents[3], documents[1]]) == [[1, 6], [3, 5]]


@pytest.mark.parametrize("seed", range(5))
def test_half_shared_is_near(found: Found, seed: int) -> None:
    """Wherever the shared half is."""
    assert found(sharing(0.5, seed)) == [[0, 1]]


@pytest.mark.parametrize("seed", range(5))
def test_a_tenth_shared_is_not_near(found: Found, seed: int) -> None:
    """It may be a quotation, or the usual sentences of a research group."""
    assert found(sharing(0.1, seed)) == []


@pytest.mark.parametrize(("share", "is_near"), [(0.16, False), (0.25, True)])
def test_threshold_is_a_fifth(found: Found, share: float, *, is_near: bool) -> None:
    """In documents that are long enough for a sample."""
    assert bool(found(sharing(share, count=20_000))) is is_near


def test_chapter_is_near_its_book(found: Found) -> None:
    """The shorter document decides."""
    book = words(50_000, "book")
    assert found([book, words(2000, "other"), book[30_000:31_000]]) == [[0, 2]]


def test_groups_are_transitive(found: Found) -> None:
    """Two chapters of a book are in one group, though they share nothing else."""
    book = words(6000, "book")
    assert found([book[:2000], book[4000:], book]) == [[0, 1, 2]]


def test_text_of_three_counts_for_every_pair(found: Found) -> None:
    """The first and the last are near by what all share and what only they share."""
    all_have, two_have = words(300, "all"), words(300, "two")
    first, last = ([*all_have, *two_have, *words(1400, seed)] for seed in "ac")
    assert found([first, [*all_have, *words(1700, "b")], last]) == [[0, 2]]


def test_case_is_ignored(found: Found) -> None:
    """A title in capitals is the same title."""
    document = words(500, 1)
    assert found([document, [word.upper() for word in document]]) == [[0, 1]]


def test_order_of_words_matters(found: Found) -> None:
    """Shuffled words are another text."""
    document = words(500, 1)
    assert found([document, sorted(document)]) == []


def test_boilerplate_in_many_documents_makes_no_group(found: Found) -> None:
    """A licence is a tenth of each text, in more documents than are compared pair by pair."""
    licence = words(60, "licence")
    assert found([[*licence, *words(540, seed)] for seed in range(100)]) == []


def test_copies_are_found_among_boilerplate(found: Found) -> None:
    """Text that all documents share hides no copies."""
    licence = words(60, "licence")
    documents = [[*licence, *words(540, seed)] for seed in range(100)]
    assert found([*documents, documents[7]]) == [[7, 100]]


@pytest.mark.parametrize("copies", [2, 16, 17, 18, 100])
def test_any_number_of_copies_is_one_group(found: Found, copies: int) -> None:
    """Many versions of one document are near-duplicates, not boilerplate."""
    document = words(300, "copied")
    assert found([words(300, "other"), *[document] * copies]) == [list(range(1, copies + 1))]


# -- what cannot be judged


@pytest.mark.parametrize("count", [0, 1, 7, 8, 20])
def test_short_documents_are_not_compared(found: Found, count: int) -> None:
    """A few equal words are not evidence."""
    assert found([words(count, 1), words(count, 1)]) == []


def test_no_documents_have_no_groups(found: Found) -> None:
    """Neither does a single document."""
    assert found([]) == []
    assert found([words(500, 1)]) == []


def test_repeated_run_counts_once(found: Found) -> None:
    """Repetition does not make a document longer."""
    chorus = words(8, "chorus")
    assert len(sketch(chorus * 1000)) <= 8
    assert found([chorus * 1000, [*chorus * 1000, *words(1000, 1)]]) == []


# -- sketches


def test_sketch_is_sorted_and_unique() -> None:
    """Merging documents requires it."""
    made = sketch(words(2000, 1) * 2)
    assert (np.diff(made.astype(object)) > 0).all()


def test_sketch_samples_a_quarter_of_the_runs() -> None:
    """The hashes themselves decide which."""
    assert 0.22 < len(sketch(words(40_000, 1))) / 40_000 < 0.28


def test_sketch_of_a_part_is_part_of_the_sketch() -> None:
    """A shared run is in both samples or in neither."""
    document = words(3000, 1)
    assert set(sketch(document[1000:2000]).tolist()) <= set(sketch(document).tolist())


def test_sketch_does_not_depend_on_earlier_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every process computes the same sketch, whatever its cache contains."""
    document = words(1000, 1)
    expected = sketch(document)
    full = near_duplicates._WordHashes(dict.fromkeys(map(str, range(300_001)), 1))
    monkeypatch.setattr(near_duplicates, "_word_hashes", full)
    assert (sketch(document) == expected).all()


def test_sketch_is_stable() -> None:
    """Sketches are stored in libraries, so that a change would require a new format."""
    made = sketch([f"word{number}" for number in range(20)])
    assert [hex(value) for value in made.tolist()] == ["0x23eee60581d7211c", "0x28c8424a18375fb8"]


# -- segments

#: A sketch of few hashes, so that documents share many of them.
SMALL_SKETCH = st.sets(st.integers(0, 25), max_size=8).map(
    lambda values: np.array(sorted(values), np.uint64)
)
SMALL_SKETCHES = st.lists(SMALL_SKETCH, max_size=12)


@contextmanager
def small_limits() -> Iterator[None]:
    """Make the limits so small that a few documents reach them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near_duplicates, "WINDOW", 2)
        patch.setattr(near_duplicates, "_FEWEST", 3)
        patch.setattr(near_duplicates, "_CHUNK_SIZE", 7)
        yield


def reference_pairs(sketches: list[Hashes]) -> list[tuple[int, int]]:
    """Compute pairs by definition, from the whole list."""
    runs = [set(made.tolist()) for made in sketches]
    shared: Counter[tuple[int, int]] = Counter()
    for second, compared in enumerate(runs):
        earlier = [at for at in range(second) if len(runs[at]) >= near_duplicates._FEWEST]
        for run in compared if len(compared) >= near_duplicates._FEWEST else ():
            holders = [at for at in earlier if run in runs[at]]
            shared.update((first, second) for first in holders[-near_duplicates.WINDOW :])
    return sorted(
        (first, second)
        for (first, second), count in shared.items()
        if count > near_duplicates.DUPLICATE_SHARE * min(len(runs[first]), len(runs[second]))
    )


@small_limits()
@given(st.lists(SMALL_SKETCHES, max_size=5))
def test_pairs_do_not_depend_on_the_segments(
    tmp_path_factory: pytest.TempPathFactory, segments: list[list[Hashes]]
) -> None:
    """They are those of the whole list, by definition."""
    library = Library(tmp_path_factory.mktemp("library"))
    for sketches in segments:
        library.add(sketches)
    assert library.numbers() == reference_pairs([made for part in segments for made in part])


@small_limits()
@given(st.lists(st.tuples(SMALL_SKETCHES, st.sets(st.integers(0, 30), max_size=5)), max_size=4))
def test_pairs_do_not_depend_on_removed_documents(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[list[Hashes], set[int]]]
) -> None:
    """Adding and removing documents gives the pairs of those that remain."""
    library, live = Library(tmp_path_factory.mktemp("library")), list[Hashes]()
    for added, removed in steps:
        library.add(added)
        live += added
        library.remove(number for number in removed if number < len(live))
        live = [made for number, made in enumerate(live) if number not in removed]
        assert library.numbers() == reference_pairs(live)


def test_copies_stay_one_group_when_most_are_removed(tmp_path: Path) -> None:
    """Those that remain were too far apart to be compared before."""
    library = Library(tmp_path)
    for _ in range(6):
        library.add([sketch(words(300, "copied"))] * 10)
    library.remove(range(10, 50))
    assert library.groups() == [list(range(20))]


@small_limits()
def test_removal_concerns_the_farthest_document_of_a_window(tmp_path: Path) -> None:
    """The last of four copies was not compared with the first, and is when the second is gone."""
    library = Library(tmp_path)
    for _ in range(4):
        library.add([np.arange(5, dtype=np.uint64)])
    assert library.numbers() == [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]
    library.remove([1])
    assert library.numbers() == [(0, 1), (0, 2), (1, 2)]


def test_removal_concerns_only_documents_that_share_a_run(tmp_path: Path) -> None:
    """The pairs of all others are kept."""
    library = Library(tmp_path)
    documents = [words(300, seed) for seed in range(6)]
    library.add([sketch(documents[at]) for at in (0, 1, 2)])
    library.add([sketch(documents[at]) for at in (3, 0, 5)])
    library.live[0][0] = False
    again = followers(library.segments(), [np.array([True, False, False]), None])
    assert [mask.tolist() for mask in again] == [[False] * 3, [False, True, False]]


def test_common_run_costs_a_bounded_number_of_comparisons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """20,000 documents share a licence text, and nothing else."""
    compared, count = list[int](), near_duplicates._count

    def counted(parts: Iterable[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        made = list(parts)
        compared.extend(map(len, made))
        return count(made)

    monkeypatch.setattr(near_duplicates, "_count", counted)
    documents = np.arange(20_000 * 20, dtype=np.uint64).reshape(20_000, 20)
    documents[:, :4] = [0, 1, 2, 3]
    library = Library(tmp_path)
    for part in np.split(documents, 2):
        library.add(list(part))
    assert not library.pairs
    # the documents at the start have fewer before them
    assert 0.99 < sum(compared) / (20_000 * 4 * near_duplicates.WINDOW) < 1


def test_memory_follows_from_the_new_documents(tmp_path: Path) -> None:
    """The hashes of earlier documents stay on disk."""
    dice = np.random.default_rng(1)
    documents = [np.unique(dice.integers(0, 2**63, 1000, np.uint64)) for _ in range(500)]
    library = Library(tmp_path)
    library.add(documents)
    assert Path(tmp_path / "0" / "sketches.safetensors").stat().st_size > 5_000_000
    tracemalloc.start()
    library.add([documents[7]])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert library.groups() == [[7, 500]]
    assert peak < 500_000


# -- files


def test_file_depends_only_on_the_sketches(tmp_path: Path) -> None:
    """The same sketches give the same bytes."""
    sketches = [sketch(words(count, count)) for count in (300, 0, 50, 1000)]
    for name in "ab":
        (tmp_path / name).mkdir()
        write_sketches(tmp_path / name, iter(sketches))
    one, other = (tmp_path / name / "sketches.safetensors" for name in "ab")
    assert one.read_bytes() == other.read_bytes()


def test_file_holds_hashes_in_order_and_all_sizes(tmp_path: Path) -> None:
    """Skipped sources count as documents; short documents have a size only."""
    sketches = [sketch(words(count, "same")) for count in (500, 0, 30, 1000)]
    write_sketches(tmp_path, sketches)
    made = Sketches(tmp_path)
    assert made.sizes.tolist() == [len(one) for one in sketches]
    held = sorted((value, at) for at in (0, 3) for value in sketches[at].tolist())
    assert list(zip(made.hashes.tolist(), made.documents.tolist(), strict=True)) == held


# -- groups


def test_groups_follow_the_order_of_the_names() -> None:
    """Groups by their first document, and the documents within a group."""
    pairs = [("d", "a"), ("b", "e"), ("e", "c")]
    assert groups(pairs, "abcdef") == [["a", "d"], ["b", "c", "e"]]
    assert groups(pairs, "fedcba") == [["e", "c", "b"], ["d", "a"]]


def test_removed_document_connects_nothing() -> None:
    """Two chapters of a removed book are not near-duplicates."""
    assert groups([("one", "book"), ("book", "two")], ["one", "two"]) == []


@given(st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), max_size=20), st.randoms())
def test_groups_connect_exactly_the_paired_documents(
    numbers: list[tuple[int, int]], dice: random.Random
) -> None:
    """In whatever order the pairs are given."""
    names = [f"{number:02}" for number in range(16)]
    expected = {name: {name} for name in names}
    pairs = [(names[first], names[second]) for first, second in numbers]
    for first, second in pairs:
        joined = expected[first] | expected[second]
        expected.update(dict.fromkeys(joined, joined))
    made = groups(
        [dice.choice([pair, pair[::-1]]) for pair in dice.sample(pairs, len(pairs))], names
    )
    assert list(map(tuple, made)) == sorted(
        {tuple(sorted(group)) for group in expected.values() if len(group) > 1}
    )


@pytest.mark.parametrize("chunk", [2, 1000])
def test_merged_sketches_are_those_of_the_live_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    """The same bytes, in however many ranges of hashes they are merged."""
    monkeypatch.setattr(near_duplicates, "_CHUNK_SIZE", chunk)
    shared = words(120, "shared")
    texts = [shared, words(200, 1), words(3, 2), shared + words(90, 3), [], words(150, 4), shared]
    sketches = [sketch(each) for each in texts]
    parts = []
    for number, (some, live) in enumerate(
        ((sketches[:3], None), (sketches[3:6], np.array([False, True, True])), (sketches[6:], None))
    ):
        (tmp_path / str(number)).mkdir()
        write_sketches(tmp_path / str(number), some)
        parts.append(Sketches(tmp_path / str(number), live))
    for name in ("merged", "written"):
        (tmp_path / name).mkdir()
    merge_sketches(tmp_path / "merged", parts)
    write_sketches(tmp_path / "written", [*sketches[:3], *sketches[4:]])
    (merged,), (written,) = ((tmp_path / name).iterdir() for name in ("merged", "written"))
    assert merged.read_bytes() == written.read_bytes()
