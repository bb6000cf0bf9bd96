"""Postings on disk: gathered in batches, sorted by row, the same as in memory."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqemb import postings
from eqemb.postings import Column, Gatherer, Postings, Profiles, load


@settings(max_examples=30, deadline=None)
@given(
    triples=st.lists(st.tuples(st.integers(0, 6), st.integers(1, 9)), max_size=60),
    batch=st.integers(1, 20),
)
def test_postings_are_sorted_by_row(
    tmp_path_factory: pytest.TempPathFactory, triples: list[tuple[int, int]], batch: int
) -> None:
    """However they are gathered and however small the batches, rows come out whole and in order."""
    folder = tmp_path_factory.mktemp("postings")
    rows = np.array([row for row, _ in triples], np.int64)
    weights = np.array([weight for _, weight in triples], np.float64)
    owners = np.arange(len(triples))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postings, "BATCH", batch)
        gatherer = Gatherer(folder, "x")
        gatherer.add(rows[: len(rows) // 2], owners[: len(rows) // 2], weights[: len(rows) // 2])
        gatherer.add(rows[len(rows) // 2 :], owners[len(rows) // 2 :], weights[len(rows) // 2 :])
        gatherer.write(7, owners=len(triples))
    pointers, order = np.load(folder / "x.pointers.npy"), np.argsort(rows, kind="stable")
    assert pointers.tolist() == [int((rows < row).sum()) for row in range(8)]
    assert np.load(folder / "x.owners.npy").tolist() == owners[order].tolist()
    assert np.load(folder / "x.weights.npy").tolist() == weights[order].tolist()
    assert not list(folder.glob("*.part"))
    opened, profiles = Postings(folder, "x"), Profiles(folder, "x")
    for owner, (row, weight) in enumerate(triples):
        assert opened.weight(row, owner) == weight
        assert [part.tolist() for part in profiles.of(owner)] == [[row], [weight]]
    assert opened.weight(0, len(triples)) == 0


def test_columns_grow(tmp_path: Path) -> None:
    """An array written in parts is read as one."""
    column = Column(tmp_path / "numbers.npy", np.int32)
    for start in range(0, 3000, 1000):
        column.add(np.arange(start, start + 1000))
    column.close()
    assert np.array_equal(load(tmp_path, "numbers"), np.arange(3000))
