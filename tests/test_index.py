"""Postings on disk: gathered in batches, sorted by row, the same as in memory."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqemb import index
from eqemb.index import _Gatherer, contexts


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
        patch.setattr(index, "_BATCH", batch)
        gatherer = _Gatherer(folder, "x")
        gatherer.add(rows[: len(rows) // 2], owners[: len(rows) // 2], weights[: len(rows) // 2])
        gatherer.add(rows[len(rows) // 2 :], owners[len(rows) // 2 :], weights[len(rows) // 2 :])
        gatherer.write(7)
    pointers, order = np.load(folder / "x.pointers.npy"), np.argsort(rows, kind="stable")
    assert pointers.tolist() == [int((rows < row).sum()) for row in range(8)]
    assert np.load(folder / "x.owners.npy").tolist() == owners[order].tolist()
    assert np.load(folder / "x.weights.npy").tolist() == weights[order].tolist()
    assert not list(folder.glob("*.part"))


def test_contexts_weigh_words_by_distance() -> None:
    """The word before and the word after an equation are one away; repeated words add up."""
    words = np.array([0, 1, 2, 1])
    rows, owners, weights, lengths = contexts(words, [1])
    found = dict(zip(rows.tolist(), weights.tolist(), strict=True))
    assert found == pytest.approx({0: 1.0, 1: 1.0 + 3**-0.5, 2: 2**-0.5})
    assert owners.tolist() == [0, 0, 0]
    assert lengths.tolist() == pytest.approx([sum(found.values())])


def test_contexts_end_at_the_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words further away than the reach are no context."""
    monkeypatch.setattr(index, "REACH", 1)
    rows, _, _, _ = contexts(np.arange(6), [3])
    assert rows.tolist() == [2, 3]


def test_an_equation_alone_has_no_context() -> None:
    """No words, no postings."""
    rows, owners, _, lengths = contexts(np.empty(0, np.int64), [0, 0])
    assert len(rows) == len(owners) == 0
    assert lengths.tolist() == [0, 0]
