"""The words around equations."""

import numpy as np
import pytest

from eqemb import index
from eqemb.index import contexts


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
