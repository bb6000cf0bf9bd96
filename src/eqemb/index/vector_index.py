"""Nearest vectors: the interface that search calls, and an exact implementation of it.

`VectorIndex` holds normalised vectors as rows of a matrix, usually memory-mapped. It multiplies the
whole matrix with a query, so that results are exact. An approximate index can replace it by
offering the same methods.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqemb.index.postings import top_k

Floats = NDArray[np.float32]


def normalise(vectors: NDArray[Any]) -> Floats:
    """Scale vectors to length one; zeros stay zeros."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    made: Floats = (vectors / np.maximum(norms, 1e-12)).astype(np.float32)
    return made


class VectorIndex:
    """Exact cosine search over normalised vectors."""

    def __init__(self, matrix: NDArray[Any]) -> None:
        """`matrix` has a vector of length one, or of zeros, in each row."""
        self.matrix = matrix

    def __len__(self) -> int:
        return len(self.matrix)

    @property
    def dim(self) -> int:
        """The dimension of the vectors."""
        return int(self.matrix.shape[1])

    def rows(self, numbers: Sequence[int]) -> Floats:
        """Return the vectors of some rows."""
        found: Floats = self.matrix[list(numbers)]
        return found

    def scores(self, vector: NDArray[Any]) -> Floats:
        """Return the cosine of every row with a normalised vector; negative ones as 0."""
        cosines: Floats = self.matrix @ vector
        return np.maximum(cosines, 0, out=cosines)

    def top(
        self, vector: NDArray[Any], k: int, mask: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.int64], Floats]:
        """Return the rows with the k largest positive cosines, best first, and the cosines.

        `mask` says which rows may be returned; ties come in order.
        """
        scores = self.scores(vector)
        if mask is not None:
            scores = np.where(mask, scores, np.float32(0))
        best = top_k(scores, k)
        return best.astype(np.int64), scores[best]


class CentredIndex:
    """The same vectors with their mean subtracted: the mean carries no information."""

    def __init__(self, index: VectorIndex) -> None:
        self._matrix = index.matrix
        some = self._matrix[:: max(1, len(self._matrix) // 20_000)]  # enough for a mean
        self._mean: Floats = np.asarray(some.sum(axis=0) / max(1, len(some)), np.float32)

    def rows(self, numbers: Sequence[int]) -> Floats:
        """Return the directions of some rows."""
        return self.direction(self._matrix[list(numbers)])

    def direction(self, vectors: NDArray[Any]) -> Floats:
        """Subtract the mean from vectors and normalise them; zeros stay zeros."""
        known = vectors.any(axis=-1, keepdims=True)
        return normalise(np.where(known, vectors - self._mean, 0))

    def scores(self, direction: Floats) -> Floats:
        """Return the cosine of every row with a direction, without a copy of the matrix."""
        along = self._matrix @ direction - self._mean @ direction
        squares = 1 - 2 * self._along_mean + self._mean @ self._mean  # rows have length one
        made: Floats = np.asarray(along / np.sqrt(np.maximum(squares, 1e-6)), np.float32)
        made[self._along_mean == 0] = 0
        return made

    @cached_property
    def _along_mean(self) -> Floats:
        found: Floats = self._matrix @ self._mean
        return found
