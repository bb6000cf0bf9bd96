"""Scope: the equations that a query scores, all of a library or a selection of them.

Scores are arrays with one value for each equation of the scope, in the order of the library. In a
library of ordinary size the scope is every equation, and a place in it is a row of the index. In a
large one `candidates` selects some thousand rows first, and only these are scored.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.storage.mapped import will_read

Array = NDArray[Any]


class SegmentMatches(NamedTuple):
    """The equations of one segment that have a word, and its impact on each."""

    first: int
    """The row of the segment's first equation."""
    owners: Array
    """Equations as numbered in the segment, ascending."""
    impacts: Array
    row: int = -1
    """The row of the postings that these are, whole and unchanged; else -1."""


class Scope:
    """Rows of an index in order; `rows` is None for all."""

    def __init__(self, count: int, rows: Array | None = None) -> None:
        """`count` is the number of all rows."""
        self.rows = rows
        self._count = count if rows is None else len(rows)

    def __len__(self) -> int:
        return self._count

    def take(self, values: Array) -> Array:
        """Return the values of the scope, given those of all rows."""
        return values if self.rows is None else values[self.rows]

    def without(self, live: Array, rows: Array) -> Array:
        """Return which equations of the scope a library still has, but for those of some rows."""
        found: Array = self.take(live).copy()
        found[self.places_of(rows)] = False
        return found

    def rows_at(self, places: Array) -> Array:
        """Return the rows at places of the scope."""
        found: Array = places if self.rows is None else self.rows[places]
        return found

    def places_of(self, rows: Array) -> Array:
        """Return the places of those rows that are in the scope."""
        return self.places_among(rows)[0]

    def places_among(self, rows: Array) -> tuple[Array, Array]:
        """Return the places of those rows that are in the scope, and where they are in `rows`."""
        if self.rows is None or not len(self.rows):
            there = np.arange(len(rows) if self.rows is None else 0)
            return rows[there], there
        at = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        there = np.flatnonzero(self.rows[at] == rows)
        return at[there], there

    def find(self, matches: SegmentMatches) -> tuple[Array, Array]:
        """Return the places of the matches that are in the scope, and the impacts on them."""
        first, owners, impacts, _ = matches
        if self.rows is None:
            return owners + first, impacts
        if not len(owners):
            return np.empty(0, np.int64), impacts
        low, high = np.searchsorted(
            self.rows, [first + int(owners[0]), first + int(owners[-1]) + 1]
        )
        own = self.rows[low:high] - first
        at = owners.searchsorted(own.astype(owners.dtype))
        there = np.flatnonzero(owners[at] == own)
        will_read(impacts, at[there])
        return there + low, impacts[at[there]]
