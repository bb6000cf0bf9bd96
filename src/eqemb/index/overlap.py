"""Overlap of units: how much of the units of a query and of a type, by rarity, both have.

The weighted Dice coefficient: twice the weight of the shared units over the weight of the units of
both. A unit weighs more the fewer equations of the library have it, so that letters with a meaning
of their own count and brackets do not; `formula.likeness`, where letters may be renamed, knows
nothing of that. Weights are whole numbers, whose sums do not depend on the order of units, which
differs among segments.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from eqemb.index.postings import BATCH, Array, KeyedPostings, Postings, hash_texts, load_array
from eqemb.index.segments import IndexSegment, IndexSegments

_WEIGHT_SCALE = 1 << 16


class Features:
    """The units or the shapes of the types of one segment."""

    def __init__(self, segment: IndexSegment, name: str) -> None:
        self._segment, self.name = segment, name
        self._lookup = KeyedPostings(segment.folder, name)

    def find_all(self, keys: Array) -> Array:
        """Return the rows of keys, -1 where the segment has none."""
        return self._lookup.keys.find_all(keys)

    def keys_of(self, rows: Array) -> Array:
        """Return the keys of rows."""
        found: Array = self._keys[rows]
        return found

    @cached_property
    def _keys(self) -> Array:
        return self._lookup.keys.by_row()

    def of(self, row: int) -> tuple[Array, Array]:
        """Return the types that have a row, and how often."""
        return self._lookup.postings.of(row)

    def all_sizes(self) -> tuple[Array, Array]:
        """Return all keys, and the number of equations that have each."""
        return self._keys, np.asarray(self._sizes)

    def sizes(self, rows: Array) -> Array:
        """Return the number of equations that have each row; 0 for the row -1."""
        if not len(self._sizes):
            return np.zeros(len(rows), np.int64)
        return np.where(rows < 0, 0, self._sizes[rows])

    @cached_property
    def _sizes(self) -> Array:
        if self._segment.live is None:
            return load_array(self._segment.folder, f"{self.name}.sizes")
        return count_equations(self._lookup.postings, self._segment.equations_per_type)


def count_equations(postings: Postings, equations_per_type: Array) -> Array:
    """Return for each row the number of equations whose types have it."""
    pointers = postings.pointers
    total = np.zeros(len(pointers), np.int64)  # of the rows before each
    at = before = 0
    for first in range(0, len(postings.owners), BATCH):
        sums = np.cumsum(equations_per_type[postings.owners[first : first + BATCH]])
        end = int(np.searchsorted(pointers, first + len(sums), "right"))
        total[at:end] = before + np.r_[0, sums][pointers[at:end] - first]
        at, before = end, before + int(sums[-1])
    total[at:] = before
    return np.diff(total)


def rarity(sizes: Array, count: int) -> Array:
    """Return the weight of features that so many of `count` equations have."""
    found: Array = np.log1p((count - sizes + 0.5) / (sizes + 0.5))
    return found


def total_sizes(segments: IndexSegments, parts: Sequence[Features], keys: Array) -> Array:
    """Return the number of equations of the library that have each feature, given by its key."""
    if segments.statistics is not None and parts:
        return segments.statistics.sizes(parts[0].name, keys)
    sizes = np.zeros(len(keys), np.int64)
    for part in parts:
        sizes += part.sizes(part.find_all(keys))
    return sizes


def units_of_types(
    segments: IndexSegments, types: Sequence[int]
) -> Iterator[tuple[IndexSegment, Array]]:
    """Yield the segment of each type, and the ids there of its units."""
    places = [segments.of_type(number) for number in types]
    blobs: dict[int, dict[int, bytes]] = {}
    for segment, own in places:
        if segment.number not in blobs:
            wanted = [kind for part, kind in places if part is segment]
            blobs[segment.number] = segment.records.type_units(wanted)
        yield segment, np.frombuffer(blobs[segment.number][own], np.int32)


def unit_overlap(
    segments: IndexSegments,
    parts: Sequence[Features],
    units: Mapping[str, int],
    types: Iterable[tuple[IndexSegment, Array]],
) -> Array:
    """Return the weighted Dice coefficient of the units of a query and of each type.

    Args:
        segments: The segments of the library.
        parts: The units of each segment.
        units: The units of the query, and how often it has each.
        types: The segment of each type, and the rows there of its units.
    """
    every = [np.repeat(hash_texts(units), list(units.values()))]  # the query is the owner 0
    for segment, rows in types:
        every.append(parts[segment.number].keys_of(rows))
    owners = np.repeat(np.arange(len(every)), [len(keys) for keys in every])
    keys, places = np.unique(np.concatenate(every), return_inverse=True)
    codes, counts = np.unique(owners * len(keys) + places, return_counts=True)
    owners, places = np.divmod(codes, max(1, len(keys)))
    sizes = total_sizes(segments, parts, keys)
    weights = np.rint(_WEIGHT_SCALE * rarity(sizes, segments.live_count))
    wanted = np.zeros(len(keys), np.int64)
    wanted[places[owners == 0]] = counts[owners == 0]
    totals = np.bincount(owners, weights[places] * counts, len(every))
    shared = np.bincount(owners, weights[places] * np.minimum(counts, wanted[places]), len(every))
    found: Array = 2 * shared[1:] / np.maximum(totals[0] + totals[1:], 1)
    return found
