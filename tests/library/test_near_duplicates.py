"""Documents are near-duplicates if they share a fifth of their text, and only then."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqemb.library import near_duplicates
from eqemb.library.near_duplicates import Hashes, clusters, sketch
from synthetic import text


def words(count: int, seed: int | str) -> list[str]:
    """Return a number of words."""
    return text(count, seed).split()


def found(documents: list[list[str]]) -> list[list[int]]:
    """Return the clusters of these documents."""
    sketches = [sketch(document) for document in documents]
    return clusters([len(one) for one in sketches], lambda: iter(sketches))


def sharing(share: float, seed: int = 0, count: int = 2000) -> list[list[str]]:
    """Return two documents of equal length that share one stretch of text."""
    common = words(round(share * count), f"common {seed}")
    rest = count - len(common)
    return [[*words(rest, f"{seed} a"), *common], [*common, *words(rest, f"{seed} b")]]


# -- what is near


def test_identical_documents_are_near() -> None:
    """Other documents are not in their cluster."""
    documents = [words(500, seed) for seed in range(5)]
    assert found([*documents, documents[3], documents[1]]) == [[1, 6], [3, 5]]


@pytest.mark.parametrize("seed", range(5))
def test_half_shared_is_near(seed: int) -> None:
    """Wherever the shared half is."""
    assert found(sharing(0.5, seed)) == [[0, 1]]


@pytest.mark.parametrize("seed", range(5))
def test_a_tenth_shared_is_not_near(seed: int) -> None:
    """It may be a quotation, or the usual sentences of a research group."""
    assert found(sharing(0.1, seed)) == []


@pytest.mark.parametrize(("share", "is_near"), [(0.16, False), (0.25, True)])
def test_threshold_is_a_fifth(share: float, *, is_near: bool) -> None:
    """In documents that are long enough for a sample."""
    assert bool(found(sharing(share, count=20_000))) is is_near


def test_chapter_is_near_its_book() -> None:
    """The shorter document decides."""
    book = words(50_000, "book")
    assert found([book, words(2000, "other"), book[30_000:31_000]]) == [[0, 2]]


def test_clusters_are_transitive() -> None:
    """Two chapters of a book are in one cluster, though they share nothing else."""
    book = words(6000, "book")
    assert found([book[:2000], book[4000:], book]) == [[0, 1, 2]]


def test_text_of_three_counts_for_every_pair() -> None:
    """The first and the last are near by what all share and what only they share."""
    all_have, two_have = words(300, "all"), words(300, "two")
    first, last = ([*all_have, *two_have, *words(1400, seed)] for seed in "ac")
    assert found([first, [*all_have, *words(1700, "b")], last]) == [[0, 2]]


def test_case_is_ignored() -> None:
    """A title in capitals is the same title."""
    document = words(500, 1)
    assert found([document, [word.upper() for word in document]]) == [[0, 1]]


def test_order_of_words_matters() -> None:
    """Shuffled words are another text."""
    document = words(500, 1)
    assert found([document, sorted(document)]) == []


def test_boilerplate_in_many_documents_makes_no_cluster() -> None:
    """A licence is a tenth of each text, in more documents than are compared pair by pair."""
    licence = words(60, "licence")
    assert found([[*licence, *words(540, seed)] for seed in range(100)]) == []


def test_copies_are_found_among_boilerplate() -> None:
    """Text that all documents share hides no copies."""
    licence = words(60, "licence")
    documents = [[*licence, *words(540, seed)] for seed in range(100)]
    assert found([*documents, documents[7]]) == [[7, 100]]


@pytest.mark.parametrize("copies", [2, 63, 64, 65, 66, 200])
def test_any_number_of_copies_is_one_cluster(copies: int) -> None:
    """Many versions of one document are near-duplicates, not boilerplate."""
    document = words(300, "copied")
    assert found([words(300, "other"), *[document] * copies]) == [list(range(1, copies + 1))]


# -- what cannot be judged


@pytest.mark.parametrize("count", [0, 1, 7, 8, 20])
def test_short_documents_are_not_compared(count: int) -> None:
    """A few equal words are not evidence."""
    assert found([words(count, 1), words(count, 1)]) == []


def test_no_documents_have_no_clusters() -> None:
    """Neither does a single document."""
    assert found([]) == []
    assert found([words(500, 1)]) == []


def test_repeated_run_counts_once() -> None:
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
    monkeypatch.setattr(near_duplicates, "_words", dict.fromkeys(map(str, range(300_001)), 1))
    assert (sketch(document) == expected).all()


def test_sketch_is_stable() -> None:
    """Sketches are stored in libraries, so that a change would require a new format."""
    made = sketch([f"word{number}" for number in range(20)])
    assert [hex(value) for value in made.tolist()] == ["0x23eee60581d7211c", "0x28c8424a18375fb8"]


# -- parts


def random_corpus(seed: int) -> list[list[str]]:
    """Return documents that share stretches of all lengths."""
    dice = np.random.default_rng(seed)
    stretches = [words(int(dice.integers(5, 200)), f"{seed} {number}") for number in range(30)]
    return [
        [word for at in dice.integers(0, 30, dice.integers(1, 8)) for word in stretches[at]]
        for _ in range(80)
    ]


@pytest.mark.parametrize("part", [29, 1000, 10_000])
def test_chunk_size_does_not_change_clusters(monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    """However few hashes are sorted at a time."""
    documents = random_corpus(part)
    expected = found(documents)
    assert expected
    monkeypatch.setattr(near_duplicates, "_CHUNK_SIZE", part)
    assert found(documents) == expected


def test_many_documents_are_compared_by_fewer_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clear near-duplicates are still found."""
    documents = [words(4000, seed) for seed in range(10)]
    documents += [documents[2], *sharing(0.5, 1, 4000)]
    monkeypatch.setattr(near_duplicates, "_MOST_HASHES", 3000)
    assert found(documents) == [[2, 10], [11, 12]]


def reference_clusters(sketches: list[Hashes]) -> list[tuple[int, ...]]:
    """Compute clusters by definition: compare every pair, join near ones."""
    groups = [{number} for number in range(len(sketches))]
    for second in range(len(sketches)):
        for first in range(second):
            fewest = min(len(sketches[first]), len(sketches[second]))
            shared = len(np.intersect1d(sketches[first], sketches[second]))
            if (
                fewest >= near_duplicates._FEWEST
                and shared > near_duplicates.DUPLICATE_SHARE * fewest
            ):
                joined = groups[first] | groups[second]
                for member in joined:
                    groups[member] = joined
    return sorted({tuple(sorted(group)) for group in groups if len(group) > 1})


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([50, 1000, 1_000_000]))
def test_clusters_agree_with_the_reference(seed: int, part: int) -> None:
    """The reference compares every document with every other."""
    sketches = [sketch(document) for document in random_corpus(seed)[:40]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near_duplicates, "_CHUNK_SIZE", part)
        made = clusters([len(one) for one in sketches], lambda: iter(sketches))
    assert [tuple(group) for group in made] == reference_clusters(sketches)


def test_sketches_are_read_once_per_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are read from the library, not kept in memory."""
    sketches = [sketch(words(1000, seed)) for seed in range(8)]
    sizes, calls = [len(one) for one in sketches], []

    def again() -> Iterator[Hashes]:
        calls.append(1)
        return iter(sketches)

    monkeypatch.setattr(near_duplicates, "_CHUNK_SIZE", 500)
    clusters(sizes, again)
    assert len(calls) == -(-sum(sizes) // 500)
