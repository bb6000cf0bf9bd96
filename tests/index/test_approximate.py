"""Approximate search: exact cosines, filters, additions, damage, and the same bytes."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from eqemb.index import approximate, approximate_build
from eqemb.index.approximate import ApproximateIndex, Coverage, Header, covered_rows, open_vectors
from eqemb.index.approximate_build import build_approximate, list_count
from eqemb.index.vector_index import Floats, VectorIndex, normalise
from eqemb.storage.array_file import file_hash

pytest.importorskip("faiss", reason="needs faiss, the extra `ann`")

COUNT, DIM = 6_000, 20


def clustered(count: int = COUNT, dim: int = DIM, seed: int = 1) -> Floats:
    """Return vectors near forty centres; some are zeros, and some are equal."""
    random = np.random.default_rng(seed)
    centres = 2 * random.standard_normal((40, dim))
    made = centres[random.integers(40, size=count)] + random.standard_normal((count, dim))
    made[::50] = 0
    made[1::60] = made[1]
    return normalise(made)


VECTORS = clustered()
SEGMENTS = [Coverage("a", 2_500), Coverage("b", COUNT - 2_500)]
PARTS = np.split(VECTORS, [2_500])
EXACT = VectorIndex(PARTS)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of all vectors."""
    folder = tmp_path_factory.mktemp("vectors") / "ann"
    build_approximate(folder, EXACT, SEGMENTS, clustered(500, seed=2))
    return folder


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small libraries be large ones, and the filters use lists."""
    monkeypatch.setattr(approximate, "LEAST_ROWS", 100)
    monkeypatch.setattr(approximate, "FEW_ROWS", 10)


def files(folder: Path) -> dict[str, str]:
    """Return the hashes of the files of an index."""
    return {path.name: file_hash(path) for path in sorted(folder.iterdir())}


def queries(count: int = 50) -> Floats:
    """Return vectors to search with."""
    made = clustered(count, seed=3)
    return made[made.any(axis=1)]


def test_nearest_has_exact_cosines_in_order(built: Path) -> None:
    """Best first, ties in order, each the cosine of the exact index."""
    index = ApproximateIndex(PARTS, built, COUNT)
    for vector in queries():
        rows, cosines = index.nearest(vector, 30)
        assert cosines.tolist() == EXACT.scores(vector)[rows].tolist()
        order = list(zip((-cosines).tolist(), rows.tolist(), strict=True))
        assert order == sorted(order)


def test_most_of_the_nearest_are_found(built: Path) -> None:
    """As the header says, measured again here with other queries."""
    index = ApproximateIndex(PARTS, built, COUNT)
    shares = []
    for vector in queries(200):
        least = EXACT.nearest(vector, 10)[1][-1]
        shares.append(np.mean(index.nearest(vector, 10)[1] >= least))
    assert index.header.recall.keys() == index.header.queries.keys() == {"rows", "words"}
    assert min(index.header.recall.values()) > 0.9
    assert np.mean(shares) == pytest.approx(index.header.recall["words"], abs=0.05)


def test_equal_vectors_come_in_order_and_zeros_never(built: Path) -> None:
    """The vector of row 1 has a hundred copies; every fiftieth row is zeros."""
    index = ApproximateIndex(PARTS, built, COUNT)
    rows, cosines = index.nearest(VECTORS[1], 20)
    copies = [row for row in range(1, COUNT, 60) if row % 50]
    assert rows.tolist() == copies[:20]
    assert cosines == pytest.approx(np.ones(20))
    assert all(VECTORS[index.nearest(vector, 50)[0]].any(axis=1).all() for vector in queries())
    assert len(index.nearest(np.zeros(DIM, np.float32), 10)[0]) == 0


def test_the_same_vectors_give_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one thread or three, and however they are split into segments."""
    monkeypatch.setattr(approximate_build, "_BLOCK", 700)  # several for each thread
    made = []
    for threads in (1, 3):
        parts = np.split(VECTORS, [100 * threads, 5_000])
        folder = tmp_path / str(threads)
        build_approximate(folder, VectorIndex(parts), SEGMENTS, clustered(500, seed=2), threads)
        made.append(files(folder))
    assert made[0] == made[1]


@pytest.mark.parametrize("share", [0.5, 0.05, 0.0])
def test_filters_are_exact(built: Path, share: float) -> None:
    """Only rows of the mask are returned, and as many as there are."""
    index = ApproximateIndex(PARTS, built, COUNT)
    mask = np.random.default_rng(4).random(COUNT) < share
    found = total = 0
    for vector in queries():
        rows, cosines = index.nearest(vector, 10, mask)
        expected = EXACT.nearest(vector, 10, mask)[1]
        assert mask[rows].all()
        assert len(rows) == len(expected)
        found += int((cosines >= (expected[-1] if len(expected) else 0)).sum())
        total += len(expected)
    assert found >= 0.9 * total


def test_a_filter_far_from_the_query_is_filled(built: Path) -> None:
    """Lists are read until there are as many rows as are wanted."""
    index = ApproximateIndex(PARTS, built, COUNT)
    vector = queries()[0]
    scores = EXACT.scores(vector)
    far = (scores > 0) & (scores < np.quantile(scores[scores > 0], 0.1))
    rows, _ = index.nearest(vector, 20, far, probes=1)
    assert len(rows) == 20
    assert far[rows].all()


def test_a_filter_of_few_rows_is_searched_exactly(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result is that of the exact index."""
    monkeypatch.setattr(approximate, "FEW_ROWS", 1_000)
    index = ApproximateIndex(PARTS, built, COUNT)
    mask = np.arange(COUNT) % 7 == 3
    for vector in queries():
        rows, cosines = index.nearest(vector, 40, mask, probes=1)
        expected = EXACT.nearest(vector, 40, mask)
        assert rows.tolist() == expected[0].tolist()
        assert cosines.tolist() == expected[1].tolist()


def test_removed_rows_are_left_out(built: Path) -> None:
    """With a mask and without."""
    vector = queries()[0]
    first = EXACT.nearest(vector, 5)[0]
    live = np.ones(COUNT, bool)
    live[first[:3]] = False
    for index in (
        ApproximateIndex(PARTS, built, COUNT, lambda: live),
        VectorIndex(PARTS, lambda: live),
    ):
        for mask in (None, np.ones(COUNT, bool)):
            assert not set(index.nearest(vector, 20, mask)[0]) & set(first[:3].tolist())


def test_rows_added_since_are_searched_exactly(built: Path) -> None:
    """And rows of segments that were merged since are not taken from the index."""
    vector = queries()[0]
    new = normalise(np.concatenate([[vector], VECTORS[:100]]))
    more = open_vectors([*PARTS, new], [*SEGMENTS, Coverage("c", 101)], built)
    assert isinstance(more, ApproximateIndex)
    assert (more.covered, more.note) == (COUNT, "")
    assert more.nearest(vector, 1)[0].tolist() == [COUNT]
    mask = np.arange(COUNT + 101) != COUNT
    assert COUNT not in more.nearest(vector, 20, mask)[0]
    other = open_vectors([PARTS[0], new], [SEGMENTS[0], Coverage("merged", 101)], built)
    assert isinstance(other, ApproximateIndex)
    assert other.covered == 2_500
    rows, cosines = other.nearest(vector, 200)
    assert rows.max() < 2_601
    assert cosines.tolist() == VectorIndex([PARTS[0], new]).scores(vector)[rows].tolist()


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def _change(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9] + bytes([path.read_bytes()[-9] ^ 1, *bytes(8)]))


DAMAGES: list[tuple[str, Callable[[Path], object]]] = [
    *((name, _cut) for name in ("header.json", "quantiser.faiss", "lists.npy", "lists.bin")),
    *((name, Path.unlink) for name in ("header.json", "quantiser.faiss", "lists.npy", "lists.bin")),
    *((name, _change) for name in ("quantiser.faiss", "lists.npy")),
    ("header.json", lambda path: path.write_text("[]")),
    (
        "header.json",
        lambda path: path.write_text(json.dumps({"format": approximate.ANN_FORMAT})),
    ),
    (
        "header.json",
        lambda path: path.write_text(json.dumps({"format": approximate.ANN_FORMAT, "version": 1})),
    ),
]


@pytest.mark.parametrize(("name", "damage"), DAMAGES)
def test_a_damaged_index_is_not_used(
    built: Path, tmp_path: Path, name: str, damage: Callable[[Path], object]
) -> None:
    """The search is exact, a note says why, and the index is due to be built again."""
    for path in built.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    damage(tmp_path / name)
    index = open_vectors(PARTS, SEGMENTS, tmp_path)
    assert type(index) is VectorIndex
    assert "`eqemb compact`" in index.note
    assert index.nearest(VECTORS[3], 5)[0].tolist() == EXACT.nearest(VECTORS[3], 5)[0].tolist()
    assert approximate.needs_index(tmp_path, SEGMENTS)


def test_an_index_of_other_segments_is_not_used(built: Path) -> None:
    """Nor is one that is not there."""
    index = open_vectors(PARTS, [Coverage("x", 2_500), SEGMENTS[1]], built)
    assert type(index) is VectorIndex
    assert "other segments" in index.note
    assert "there is none" in open_vectors(PARTS, SEGMENTS, built / "absent").note


def test_without_faiss_the_search_is_exact(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A note says what to install."""
    monkeypatch.setitem(sys.modules, "faiss", None)
    index = open_vectors(PARTS, SEGMENTS, built)
    assert type(index) is VectorIndex
    assert "faiss is not installed" in index.note
    assert not approximate.needs_index(built / "absent", SEGMENTS)


def test_a_small_library_is_searched_exactly(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a note, and even if there is an index."""
    monkeypatch.setattr(approximate, "LEAST_ROWS", COUNT + 1)
    index = open_vectors(PARTS, SEGMENTS, built)
    assert type(index) is VectorIndex
    assert index.note == ""
    assert not approximate.needs_index(built / "absent", SEGMENTS)


def test_an_index_is_due_when_many_rows_are_not_covered(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few are searched exactly."""
    more = [*SEGMENTS, Coverage("c", 50)]
    assert not approximate.needs_index(built, more)
    monkeypatch.setattr(approximate, "MOST_UNCOVERED", 49)
    assert approximate.needs_index(built, more)
    assert covered_rows(Header.load(built), more) == COUNT


@pytest.mark.parametrize(("count", "dim"), [(101, 5), (40, 3), (9, 1)])
def test_odd_and_tiny_indexes_can_be_built(tmp_path: Path, count: int, dim: int) -> None:
    """Any dimension, and fewer vectors than a codebook has entries."""
    vectors = clustered(count, dim)
    build_approximate(tmp_path / "ann", VectorIndex([vectors]), [Coverage("a", count)])
    index = ApproximateIndex([vectors], tmp_path / "ann", count)
    rows, cosines = index.nearest(vectors[2], 3)
    expected = VectorIndex([vectors]).nearest(vectors[2], 3)
    assert rows.tolist() == expected[0].tolist()
    assert cosines.tolist() == expected[1].tolist()


def test_the_number_of_lists_grows_with_the_root() -> None:
    """A power of two."""
    assert [list_count(rows) for rows in (1, 400_000, 1_000_000, 10_000_000)] == [
        *(2, 1_024, 2_048, 4_096),
    ]


def test_fewer_lists_are_read_where_they_are_enough(built: Path, tmp_path: Path) -> None:
    """The number is chosen by the recall that is wanted."""
    before = approximate_build.TARGET_RECALL
    try:
        approximate_build.TARGET_RECALL = 0.3
        low = build_approximate(tmp_path / "low", EXACT, SEGMENTS)
    finally:
        approximate_build.TARGET_RECALL = before
    assert low.probes < Header.load(built).probes
    assert low.queries == {"rows": Header.load(built).queries["rows"]}


def test_lists_that_gain_nothing_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all lists together miss the target, those are read that find nearly as much."""
    monkeypatch.setattr(approximate_build, "TARGET_RECALL", 1.1)
    header = build_approximate(tmp_path / "ann", EXACT, SEGMENTS)
    assert header.probes < header.lists
    assert header.recall["rows"] > 0.95
