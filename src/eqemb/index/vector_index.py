"""Nearest vectors: the interface that search calls, and an exact implementation of it.

`VectorIndex` holds normalised vectors as rows of matrices, one for each segment, usually
memory-mapped. It multiplies them with a query, so that results are exact. `approximate` replaces
`nearest` for large libraries.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqemb.index.postings import top_k
from eqemb.storage.mapped import will_read, will_read_all

#: Rows that are multiplied at a time; the next ones are read meanwhile.
_SCANNED_ROWS = 1 << 15

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]


def normalise(vectors: NDArray[Any]) -> Floats:
    """Scale vectors to length one; zeros stay zeros."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    made: Floats = (vectors / np.maximum(norms, 1e-12)).astype(np.float32)
    return made


class VectorIndex:
    """Exact cosine search over normalised vectors."""

    def __init__(
        self,
        parts: Sequence[NDArray[Any]],
        live: Callable[[], Mask | None] = lambda: None,
        note: str = "",
    ) -> None:
        """Each matrix has a vector of length one, or of zeros, in each row; rows count on.

        `live` says which rows are in the library, None if all are. `note` says why a large library
        is searched exactly.
        """
        self.parts = [*parts] or [np.empty((0, 0), np.float32)]
        self.note = note
        self._live = live
        self._starts = np.cumsum([0, *map(len, self.parts)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    @property
    def dim(self) -> int:
        """The dimension of the vectors."""
        return int(self.parts[0].shape[1])

    def rows(self, numbers: Sequence[int] | NDArray[Any]) -> Floats:
        """Return the vectors of some rows."""
        wanted = np.asarray(numbers, np.int64)
        found = np.empty((len(wanted), self.dim), np.float32)
        order = np.argsort(wanted, kind="stable")
        ends = np.searchsorted(wanted[order], self._starts)
        for place in np.flatnonzero(np.diff(ends)).tolist():
            here = order[ends[place] : ends[place + 1]]
            will_read(self.parts[place], wanted[here] - self._starts[place])
        for place in np.flatnonzero(np.diff(ends)).tolist():
            here = order[ends[place] : ends[place + 1]]
            found[here] = self.parts[place][wanted[here] - self._starts[place]]
        return found

    def dot(self, vector: NDArray[Any], start: int = 0) -> Floats:
        """Return the dot product of every row, or of those from `start` on, with a vector.

        The result for a row does not depend on the rows around it, as it does with `@`: BLAS sums
        the last rows of a matrix in another order.
        """
        parts = zip(self._starts.tolist(), self.parts, strict=False)
        rest = [part[max(0, start - first) :] for first, part in parts]
        blocks = [
            part[at : at + _SCANNED_ROWS]
            for part in rest
            for at in range(0, len(part) or 1, _SCANNED_ROWS)
        ]
        found = []
        for block, after in zip(blocks, [*blocks[1:], blocks[0][:0]], strict=True):
            will_read_all(after)
            found.append(np.einsum("ij,j->i", block, vector))
        return np.concatenate(found)

    def scores_of(self, rows: NDArray[Any], vector: NDArray[Any]) -> Floats:
        """Return the cosines of some rows with a vector, as `scores` has them."""
        if 2 * len(rows) > len(self):
            return self.scores(vector).take(rows)
        found: Floats = np.einsum("ij,j->i", self.rows(rows), vector)
        return np.maximum(found, 0, out=found)

    def scores(self, vector: NDArray[Any]) -> Floats:
        """Return the cosine of every row with a normalised vector; negative ones as 0."""
        cosines = self.dot(vector)
        return np.maximum(cosines, 0, out=cosines)

    def top(
        self, vector: NDArray[Any], k: int, mask: Mask | None = None
    ) -> tuple[NDArray[np.int64], Floats]:
        """Return the rows with the k largest positive cosines, best first, and the cosines.

        `mask` says which rows may be returned; ties come in order.
        """
        scores = self.scores(vector)
        if mask is not None:
            scores = np.where(mask, scores, np.float32(0))
        best = top_k(scores, k)
        return best.astype(np.int64), scores[best]

    def nearest(
        self, vector: NDArray[Any], count: int, mask: Mask | None = None
    ) -> tuple[NDArray[np.int64], Floats]:
        """Return the rows with the largest positive cosines, best first, and the cosines.

        As `top`, without rows that were removed from the library. In a large library this is
        approximate.
        """
        return self.top(vector, count, self._allowed(mask))

    def _allowed(self, mask: Mask | None) -> Mask | None:
        """Return which rows of a mask are in the library; None if all are."""
        live = self._live()
        if mask is None or live is None:
            return live if mask is None else mask
        found: Mask = mask & live
        return found


class CentredIndex:
    """The same vectors with their mean subtracted: the mean carries no information."""

    def __init__(self, index: VectorIndex, mean: Floats) -> None:
        self._index, self._mean = index, mean

    def rows(self, numbers: Sequence[int]) -> Floats:
        """Return the directions of some rows."""
        return self.direction(self._index.rows(numbers))

    def direction(self, vectors: NDArray[Any]) -> Floats:
        """Subtract the mean from vectors and normalise them; zeros stay zeros."""
        known = vectors.any(axis=-1, keepdims=True)
        return normalise(np.where(known, vectors - self._mean, 0))

    def scores(self, direction: Floats) -> Floats:
        """Return the cosine of every row with a direction, without a copy of the matrix."""
        along = self._index.dot(direction) - self._mean @ direction
        squares = 1 - 2 * self._along_mean + self._mean @ self._mean  # rows have length one
        made: Floats = np.asarray(along / np.sqrt(np.maximum(squares, 1e-6)), np.float32)
        made[self._along_mean == 0] = 0
        return made

    @cached_property
    def _along_mean(self) -> Floats:
        return self._index.dot(self._mean)
