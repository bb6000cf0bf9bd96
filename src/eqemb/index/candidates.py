"""Candidates: the rows of a large library that are scored, instead of all.

The sum of the weighted impacts of a query's words is what most of a score is made of. So the rows
with the largest sums are found first, without a look at all of them: windows of rows are taken in
the order of the largest sum that one of their rows can have, until the rest cannot be among the
best (`windows`). The sums are those of impacts rounded to 255 levels; the rows that are found are
then scored exactly. `best_types` does the same for the structure of equations, where the postings
of a query are few enough to be added up without windows. Numba is loaded here, so that small
libraries, which do not need this module, open fast.
"""

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from eqemb.index.postings import Array
from eqemb.index.segments import IndexSegment, IndexSegments
from eqemb.index.terms import Term
from eqemb.index.text import BM25_K1
from eqemb.index.text_index import TextIndex
from eqemb.index.windows import BITS, PostingWindows, WindowedPostings
from eqemb.kernels.posting_loops import add_counts, add_windows, take_above, take_owners
from eqemb.storage.mapped import will_read_all

#: Windows of a segment that are added up at once: few at first, to find out what the best are.
FIRST_WINDOWS, MAX_WINDOWS = 8, 128


class _QueryPart(NamedTuple):
    """The postings of a query in one segment."""

    segment: IndexSegment
    lists: list[tuple[WindowedPostings, np.float32]]
    """With the weight of each."""
    bounds: Array
    """The largest sum that a row of each window can have."""
    order: Array
    """The windows, those with the largest bounds first."""


class Best:
    """The best rows so far, in no order."""

    def __init__(self, count: int, allowed: Array | None) -> None:
        self.rows, self.scores = np.empty(0, np.int64), np.empty(0, np.float32)
        self.least = np.float32(0)
        self._count, self._allowed = count, allowed

    def add(self, rows: Array, scores: Array) -> None:
        """Add rows; the best of all are kept, and `least` is the least score among them."""
        if self._allowed is not None:
            passing = self._allowed[rows]
            rows, scores = rows[passing], scores[passing]
        self.rows = np.concatenate([self.rows, rows])
        self.scores = np.concatenate([self.scores, scores])
        if len(self.rows) > self._count:
            cut = len(self.rows) - self._count
            kept = np.argpartition(self.scores, cut)[cut:]
            self.rows, self.scores = self.rows[kept], self.scores[kept]
            self.least = self.scores.min()


class WordCandidates:
    """Finds the equations with the largest sums of impacts."""

    def __init__(self, segments: IndexSegments, text: TextIndex) -> None:
        self._segments = segments
        self._windows = [
            PostingWindows(part.folder, "terms", len(part.segment), BM25_K1 + 1)
            for part in text.parts
        ]

    def best(self, terms: Sequence[Term], count: int, allowed: Array | None = None) -> Array:
        """Return the allowed rows with the largest sums, in order; None allows all."""
        found, buffers = Best(count, allowed), _Buffers.make()
        ways = [way for term in terms for way in term.ways]
        read = (
            windows.arrays(*way[number][1:])
            for number, windows in enumerate(self._windows)
            for way in ways
        )
        will_read_all(*chain.from_iterable(read))
        parts = [self._read(terms, segment) for segment in self._segments]
        for part in parts:
            _add_up(part, part.order[:FIRST_WINDOWS], found, buffers)
        for part in parts:
            for at in range(FIRST_WINDOWS, len(part.order), MAX_WINDOWS):
                windows = part.order[at : at + MAX_WINDOWS]
                windows = windows[part.bounds[windows] > found.least]
                if not len(windows):
                    break
                _add_up(part, windows, found, buffers)
        return np.sort(found.rows)

    def _read(self, terms: Sequence[Term], segment: IndexSegment) -> _QueryPart:
        windows = self._windows[segment.number]
        lists, bounds = [], np.zeros(windows.count, np.float32)
        for term in terms:
            for way in term.ways:  # two spellings of one word are added up, which is near enough
                _, owners, impacts, row = way[segment.number]
                if len(owners):
                    weight = np.float32(term.weight)
                    lists.append((windows.of(owners, impacts, row), weight))
                    bounds += weight * lists[-1][0].most
        order = np.argsort(-bounds, kind="stable")
        return _QueryPart(segment, lists, bounds, order[: np.count_nonzero(bounds)])


class _Buffers(NamedTuple):
    """Arrays that the windows of a query share: new ones for each would cost more than the sums."""

    totals: Array
    """All zero between windows."""
    places: Array
    scores: Array

    @classmethod
    def make(cls) -> "_Buffers":
        size = MAX_WINDOWS << BITS
        return cls(np.zeros(size, np.float32), np.empty(size, np.int64), np.empty(size, np.float32))


def _add_up(part: _QueryPart, windows: Array, found: Best, buffers: _Buffers) -> None:
    """Add the rows of some windows that are better than the least of the best so far."""
    windows = np.sort(windows)  # in the order in which they are stored
    totals = buffers.totals[: len(windows) << BITS]
    for (owners, levels, starts, _), weight in part.lists:
        add_windows(owners, levels, starts, weight, BITS, windows, totals)
    size = take_above(totals, found.least, buffers.places, buffers.scores)
    places = buffers.places[:size]
    rows = (windows[places >> BITS] << BITS) + (places & ((1 << BITS) - 1))
    found.add(rows + part.segment.first_equation, buffers.scores[:size])


# ------------------------------------------------------------ types


class WantedFeature(NamedTuple):
    """The types of one segment that have a feature of a query."""

    owners: Array
    counts: Array
    wanted: int
    """How often the query has it."""
    weight: np.float32


def best_types(
    features: Sequence[WantedFeature],
    sizes: Array,
    penalty: tuple[np.float32, np.float32],
    bonus: Array,
    first: int,
    best: Best,
) -> None:
    """Add the types of a segment with the largest shares of a query's features.

    Args:
        features: The features of the query that the segment has, those that weigh most first.
        sizes: The size of each type of the segment.
        penalty: What a total is divided by: a constant, and a factor of the size.
        bonus: Types that gain 1, as often as they are listed; they are added in any case.
        first: The number of the first type of the segment.
        best: Changed.
    """
    totals = np.zeros(len(sizes), np.float32)
    for owners, counts, wanted, weight in features:
        add_counts(owners, counts, wanted, weight, totals)
    constant, slope = penalty
    raised, gains = np.unique(bonus, return_counts=True)
    best.add(
        raised + first,
        (totals[raised] / (constant + slope * sizes[raised]) + gains).astype(np.float32),
    )
    totals[raised] = 0
    # Those that the first feature has come first. What begins with a later one has less and less.
    left = np.cumsum([wanted * weight for _, _, wanted, weight in features][::-1])[::-1]
    smallest = constant + slope
    most = max((len(feature.owners) for feature in features), default=0)
    places, scores = np.empty(most, np.int64), np.empty(most, np.float32)
    for (owners, *_), share in zip(features, (left / smallest).tolist(), strict=True):
        if share <= best.least:
            break
        size = take_owners(owners, sizes, slope, constant, best.least, totals, places, scores)
        best.add(places[:size] + first, scores[:size])
