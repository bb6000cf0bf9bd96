"""Exact vector search: scores, the best rows within a mask, and vectors less their mean."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqemb.index.vector_index import CentredIndex, VectorIndex, normalise


def random_vectors(seed: int, count: int = 40, dim: int = 5) -> VectorIndex:
    """Return normalised vectors, some of them zeros."""
    made = np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)
    made[::7] = 0
    return VectorIndex(normalise(made))


def test_vectors_are_scaled_to_length_one() -> None:
    """Zeros stay zeros."""
    made = normalise(np.array([[3.0, 4.0], [0.0, 0.0]]))
    assert made.dtype == np.float32
    assert made.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)], [0, 0]]


def test_scores_are_cosines_without_negative_ones() -> None:
    """One for each row."""
    index = VectorIndex(np.eye(3, dtype=np.float32))
    assert index.scores(np.array([0.6, -0.8, 0], np.float32)).tolist() == [
        *(pytest.approx(0.6), 0, 0),
    ]
    assert (len(index), index.dim) == (3, 3)


@given(seed=st.integers(0, 1000), k=st.integers(1, 50), share=st.sampled_from([None, 0.0, 0.5]))
@settings(max_examples=40, deadline=None)
def test_the_top_rows_are_those_of_a_full_sort(seed: int, k: int, share: float | None) -> None:
    """Best first, ties in order, only positive ones, only within the mask."""
    index = random_vectors(seed)
    vector = normalise(np.random.default_rng(seed + 1).standard_normal(5))
    mask = None if share is None else np.random.default_rng(seed + 2).random(len(index)) < share
    scores = index.scores(vector)
    inside = [row for row in range(len(index)) if scores[row] > 0 and (mask is None or mask[row])]
    expected = sorted(inside, key=lambda row: (-scores[row], row))[:k]
    rows, values = index.top(vector, k, mask)
    assert rows.tolist() == expected
    assert values.tolist() == scores[expected].tolist()


def test_centred_scores_are_cosines_of_centred_vectors() -> None:
    """Computed without a copy of the matrix; rows of zeros score 0."""
    index = random_vectors(3)
    centred = CentredIndex(index)
    direction = centred.direction(normalise(np.array([1.0, 2, 3, 4, 5])))
    expected = centred.rows(range(len(index))) @ direction
    assert centred.scores(direction) == pytest.approx(expected, abs=1e-5)
    assert centred.scores(direction)[0] == 0
