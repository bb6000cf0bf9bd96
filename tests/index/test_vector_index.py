"""Exact vector search: scores, the best rows within a mask, and vectors less their mean."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqemb.index.vector_index import CentredIndex, VectorIndex, normalise


def random_vectors(seed: int, count: int = 40, dim: int = 5) -> VectorIndex:
    """Return normalised vectors in two parts, some of them zeros."""
    made = np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)
    made[::7] = 0
    return VectorIndex(np.split(normalise(made), [count // 3]))


def test_vectors_are_scaled_to_length_one() -> None:
    """Zeros stay zeros."""
    made = normalise(np.array([[3.0, 4.0], [0.0, 0.0]]))
    assert made.dtype == np.float32
    assert made.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)], [0, 0]]


def test_scores_are_cosines_without_negative_ones() -> None:
    """One for each row."""
    index = VectorIndex([np.eye(3, dtype=np.float32)])
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
    centred = CentredIndex(index, index.rows(range(len(index))).mean(axis=0))
    direction = centred.direction(normalise(np.array([1.0, 2, 3, 4, 5])))
    expected = centred.rows(range(len(index))) @ direction
    assert centred.scores(direction) == pytest.approx(expected, abs=1e-5)
    assert centred.scores(direction)[0] == 0


@given(seed=st.integers(0, 1000), dim=st.integers(1, 70), cuts=st.lists(st.integers(0, 40)))
def test_the_product_of_a_row_does_not_depend_on_other_rows(
    seed: int, dim: int, cuts: list[int]
) -> None:
    """To the last bit, however the rows are split into matrices."""
    whole, vector = (
        np.random.default_rng(seed + more).standard_normal(shape).astype(np.float32)
        for more, shape in enumerate([(40, dim), (dim,)])
    )
    parts = VectorIndex(np.split(whole, sorted(cuts)))
    assert parts.dot(vector).tolist() == VectorIndex([whole]).dot(vector).tolist()
    assert parts.rows([0, 39, 20]).tolist() == whole[[0, 39, 20]].tolist()
    every = parts.scores(vector)
    for some in ([], [0, 39, 20, 20], list(range(39))):
        rows = np.array(some, np.int64)
        for index in (parts, VectorIndex([whole])):
            assert index.scores_of(rows, vector).tolist() == every[rows].tolist()
