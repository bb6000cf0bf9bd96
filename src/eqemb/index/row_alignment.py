"""Align the rows of a query with the rows of many equations at once.

`formula.likeness` defines the alignment. Here one NumPy step aligns one symbol of the query with
every symbol of every candidate, and one more traces the best alignments of all candidates back by
one symbol of the query: the same pairs in a small part of the time. Rows are aligned only with rows
on the same edge.
"""

from typing import NamedTuple

import numpy as np

from eqemb.formula.likeness import KIND, MAX_SYMBOLS, NEIGHBOURS, SAME, UNLIKE, Outline
from eqemb.index.postings import Array

_NO_MATCH = -(10**9)
#: More than the rows of an equation can be worth, so that one running maximum keeps rows apart.
_ROW_OFFSET = 2 * MAX_SYMBOLS * SAME


class AlignedPairs(NamedTuple):
    """Aligned pairs of symbols."""

    candidates: int
    """How many there are."""
    owners: Array
    """The candidate of each pair."""
    mine: Array
    """The query's symbol."""
    others: Array
    """The symbol of the candidate, among those of all."""
    joins: Array
    """Whether it continues the pair before it."""


def tag_kind(tag: str) -> int:
    """Return 1 for letters and names, 2 for numbers, 0 for the rest."""
    return {"V!": 1, "N!": 2}.get(tag[:2], 0)


class Candidates:
    """Candidates side by side, their rows one after the other."""

    def __init__(self, symbols: Array, table: Array, sizes: Array, counts: Array) -> None:
        """`sizes` and `counts` are the numbers of symbols and of rows of each candidate."""
        self.symbols, self.counts = symbols, counts
        self.first = np.r_[0, np.cumsum(counts)]  # the first row of each candidate
        self.edges, self.lengths = table[:, 0], table[:, 2].astype(np.int64)
        self.starts = np.cumsum(self.lengths) - self.lengths  # the first symbol of each row
        # the symbol that each row is attached to
        self.owners = np.repeat(np.cumsum(sizes) - sizes, counts) + table[:, 1]

    def rows_on(self, edge: str) -> Array:
        """Return the rows on an edge."""
        return np.flatnonzero(self.edges == ord(edge))


class _Field:
    """Rows of the candidates side by side: a row has one place more than it has symbols."""

    def __init__(self, candidates: Candidates, rows: Array) -> None:
        lengths = candidates.lengths[rows]
        starts = np.cumsum(lengths + 1) - lengths - 1
        self.size = int(len(rows) + lengths.sum())
        self.rows, self.starts, self.ends = rows, starts, starts + lengths
        self.offsets = np.repeat(np.arange(len(rows), dtype=np.int32) * _ROW_OFFSET, lengths + 1)
        #: the symbol at each place; at the start of a row, where there is none, any
        shift = np.repeat(candidates.starts[rows] - starts - 1, lengths + 1)
        self.symbols = np.arange(self.size) + shift
        #: the start of each row; and what to add to a place of it for its symbol
        self.place_of = np.full(len(candidates.lengths), -1)
        self.place_of[rows] = starts
        self.shift_of = candidates.starts - self.place_of - 1


class _Alignment:
    """A query aligned with every candidate."""

    def __init__(self, query: Outline, candidates: Candidates, *, inside: bool) -> None:
        self._query, self._candidates, self._inside = query, candidates, inside
        self.count = len(candidates.lengths)
        first = np.arange(self.count) if inside else candidates.first[:-1][candidates.counts > 0]
        #: rows are aligned with rows on the same edge, the first one with those that it may be in
        self.fields = {"": _Field(candidates, first)}
        #: for each edge the row that is attached to each symbol
        self.children: dict[str, Array] = {}
        for edge in {edge for row in query.rows for below in row.hanging for edge in below}:
            rows = candidates.rows_on(edge)
            self.fields[edge] = _Field(candidates, rows)
            self.children[edge] = np.full(len(candidates.symbols), self.count)
            self.children[edge][candidates.owners[rows]] = rows
        self._child_at: dict[tuple[str, str], Array] = {}
        #: for each row of the query the best steps, one after the other for its symbols
        self.steps: list[list[_Steps]] = [[] for _ in query.rows]
        #: and its worth beside each row of the candidates; 0 beside no row
        self.worth = np.zeros((len(query.rows), self.count + 1), np.int32)

    def field(self, number: int) -> _Field:
        """Return what a row of the query is aligned with."""
        return self.fields[self._query.rows[number].edge if number else ""]

    def child_at(self, edge: str, below: str) -> Array:
        """Return the row on the edge `below` of the symbol at each place of the field of an edge.

        The number of rows, where nothing is attached.
        """
        found = self._child_at.get((edge, below))
        if found is None:
            field = self.fields[edge]
            found = self._child_at[edge, below] = self.children[below][field.symbols]
            found[field.starts] = self.count
        return found

    def pairs(self) -> AlignedPairs:
        """Trace back the pairs of all candidates at once, one symbol of the query after another."""
        candidates, query = self._candidates, self._query
        of_row = np.repeat(np.arange(len(candidates.counts)), candidates.counts)
        firsts = candidates.first[:-1]
        if self._inside:
            firsts = firsts + [
                int(self.worth[0, first : first + count].argmax()) if count else 0
                for first, count in zip(firsts.tolist(), candidates.counts.tolist(), strict=True)
            ]
        beside = {0: firsts[candidates.counts > 0]}  # for each row of the query rows of candidates
        none = np.empty(0, np.int64)
        found = [(none, none, none, np.empty(0, bool))]
        first = 0  # the number of the first symbol of the row
        for mine, row in enumerate(query.rows):  # a row comes before those attached to it
            others, field = beside.get(mine, none), self.field(mine)
            if not len(others):
                first += len(row.tags)
                continue
            starts, shifts = field.place_of[others], field.shift_of[others]
            at = starts + candidates.lengths[others]
            joins = np.zeros(len(others), bool)
            for symbol in range(len(row.tags) - 1, -1, -1):
                line = self.steps[mine][symbol]
                at = np.where(joins, at, line.stops[at])
                # the pair that another one joins is a match, even if another step was as good
                is_match = (at > starts) & (joins | line.is_match[at])
                joins = is_match & line.joins[at]
                matched = np.flatnonzero(is_match)
                if not len(matched):
                    continue
                places = at[matched] + shifts[matched]
                owners = of_row[others[matched]]
                found.append(
                    (owners, np.full(len(matched), first + symbol), places, joins[matched])
                )
                for edge, below in row.hanging[symbol].items():
                    under = self.children[edge][places]
                    beside[below] = under[under < self.count]
                at = at - is_match
            first += len(row.tags)
        owners, own, places, joined = (np.concatenate(part) for part in zip(*found, strict=True))
        return AlignedPairs(len(candidates.counts), owners, own, places, joined)


def align(
    query: Outline, candidates: Candidates, ids: dict[str, int], kinds: Array, *, inside: bool
) -> _Alignment:
    """Align the rows of a query, the last first, with rows of the candidates."""
    made = _Alignment(query, candidates, inside=inside)
    of_kind = kinds[candidates.symbols]
    values: dict[tuple[str, str], Array] = {}
    known: dict[tuple[str, ...], int] = {}  # rows to which nothing is attached: x_i + y_i has one
    for number in range(len(query.rows) - 1, -1, -1):
        row, field = query.rows[number], made.field(number)
        if not field.size:
            continue
        name = (row.edge if number else "", *row.tags)
        is_alone = not any(row.hanging)
        if is_alone and name in known:
            made.steps[number] = made.steps[known[name]]
            made.worth[number] = made.worth[known[name]]
            continue
        sweep = _Sweep(field)
        for tag, hanging in zip(row.tags, row.hanging, strict=True):
            value = values.get((name[0], tag))
            if value is None:
                value = np.full(len(candidates.symbols), UNLIKE, np.int32)
                if tag_kind(tag):
                    value[of_kind == tag_kind(tag)] = KIND
                value[candidates.symbols == ids.get(tag, -2)] = SAME
                value = values[name[0], tag] = value[field.symbols]
                value[field.starts] = _NO_MATCH
            for edge, below in hanging.items():
                value = value + made.worth[below][made.child_at(name[0], edge)]
            made.steps[number].append(sweep.step(value))
        made.worth[number, field.rows] = sweep.worth()
        if is_alone:
            known[name] = number
    return made


class _Steps(NamedTuple):
    """The best step at each place of a field, for one symbol of the query."""

    stops: Array
    """The last place up to here whose symbol is not skipped; the start of the row if all are."""
    is_match: Array
    """Whether both symbols match; if not, the query's symbol is skipped."""
    joins: Array
    """Whether a match continues the one before it.

    At every place, since a pair may be followed by one that joins it.
    """


class _Sweep:
    """The alignment of one row of a query with the rows of a field, symbol by symbol.

    `best` and `met` are those of `formula.likeness`, at every place of every row. The values of a
    row are offset by more than all rows before it can be worth, so that one running maximum keeps
    rows apart. Each array has a place before its first, so that a shift by one is a view of it.
    """

    def __init__(self, field: _Field) -> None:
        self._field = field
        self._best, self._now, self._met = (np.zeros(field.size + 1, np.int32) for _ in range(3))
        self._best[1:] = field.offsets
        self._met[1:] = _NO_MATCH
        self._met[1:][field.starts] = field.offsets[field.starts]
        self._joined, self._other = np.empty((2, field.size), np.int32)
        self._places = np.arange(field.size, dtype=np.int32)

    def step(self, value: Array) -> _Steps:
        """Align one more symbol, given what it is worth at each place."""
        starts = self._field.starts
        best, before, now = self._best[1:], self._best[:-1], self._now[1:]
        joined, other = self._joined, self._other
        np.add(self._met[:-1], NEIGHBOURS, out=joined)
        joins = joined > before
        meeting = np.add(np.maximum(joined, before, out=joined), value, out=self._met[1:])
        np.maximum.accumulate(np.maximum(best, meeting, out=now), out=now)
        left = self._now[:-1]
        is_match = meeting > np.maximum(left, best, out=other)
        stops = self._places * ((left < best) | is_match)
        stops[starts] = starts
        np.maximum.accumulate(stops, out=stops)
        self._best, self._now = self._now, self._best
        return _Steps(stops, is_match, joins)

    def worth(self) -> Array:
        """Return what the whole row is worth beside each row of the field."""
        found: Array = (self._best[1:] - self._field.offsets)[self._field.ends]
        return found
