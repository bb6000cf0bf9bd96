"""The outlines of all equation types, and many of them laid beside one query at once.

    outlines.tags.json       the symbols that occur, by id
    outlines.symbols.npy     the symbols of every type, row after row
    outlines.rows.npy        each row's edge, the symbol of its type that it hangs on, its length
    outlines.pointers.npy    for each type where its symbols and rows start, and how many symbols
                             it has in all

`formula.likeness` is the definition. Here one symbol of the query is laid beside every symbol of
every candidate in one step of NumPy, and the way back is read for each candidate alone: the same
scores, in a tenth of the time.
"""

import json
from collections import Counter
from functools import cached_property
from pathlib import Path

import numpy as np

from eqemb.formula.likeness import (
    KIND,
    MAX_SYMBOLS,
    NEIGHBOURS,
    QUERY,
    RENAMED,
    SAME,
    UNLIKE,
    Outline,
    OutlineRow,
    is_letter,
    match_letters,
)
from eqemb.index.postings import Array, Column, load

_BLOCK = 20_000  # types looked through at a time
_IMPOSSIBLE = -(10**6)
#: More than the rows of an equation can be worth, so that rows stay apart in one running maximum.
_APART = 2 * MAX_SYMBOLS * SAME
# What was best where a symbol of the query ended: to pass over the other's symbol, to pass over
# its own, or that both meet; and, added to that, that they join the pair before them.
_LEFT, _UP, _MEET, _JOINS = 0, 1, 2, 4
_Pairs = list[tuple[int, int, bool]]


class OutlinesWriter:
    """Outlines on their way to disk, type by type."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tags: dict[str, int] = {}
        self._symbols = Column(folder / "outlines.symbols.npy", np.int32)
        self._rows = Column(folder / "outlines.rows.npy", np.uint16)
        self._pointers = Column(folder / "outlines.pointers.npy", np.int64)
        self._at = [0, 0]

    def add(self, outline: Outline) -> None:
        """Append the outline of the next type."""
        rows = outline.rows
        tags = [self._tags.setdefault(tag, len(self._tags)) for row in rows for tag in row.tags]
        table = np.zeros((len(rows), 3), np.uint16)
        at = 0
        for number, row in enumerate(rows):
            table[number, 0] = ord(row.edge) if row.edge else 0
            table[number, 2] = len(row.tags)
            for symbol, hanging in enumerate(row.hanging, at):
                for below in hanging.values():
                    table[below, 1] = symbol
            at += len(row.tags)
        self._symbols.add(np.array(tags, np.int32))
        self._rows.add(table.ravel())
        self._pointers.add(np.array([*self._at, outline.size]))
        self._at = [self._at[0] + len(tags), self._at[1] + len(rows)]

    def close(self) -> None:
        """Write what is left."""
        self._pointers.add(np.array([*self._at, 0]))
        for column in (self._symbols, self._rows, self._pointers):
            column.close()
        text = json.dumps(list(self._tags), ensure_ascii=True)
        (self._folder / "outlines.tags.json").write_text(text, "ascii")


class Outlines:
    """The outlines of all types, opened for questions."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._symbols = load(folder, "outlines.symbols")
        self._rows = load(folder, "outlines.rows").reshape(-1, 3)
        self._pointers = load(folder, "outlines.pointers").reshape(-1, 3)

    @cached_property
    def _tags(self) -> list[str]:
        tags: list[str] = json.loads((self._folder / "outlines.tags.json").read_text("ascii"))
        return tags

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {tag: number for number, tag in enumerate(self._tags)}

    @cached_property
    def _kinds(self) -> Array:
        return np.array([_kind(tag) for tag in self._tags], np.uint8)

    @cached_property
    def sizes(self) -> Array:
        """How many symbols each type has."""
        return self._pointers[:-1, 2].astype(np.float32)

    def outline(self, kind: int) -> Outline:
        """The outline of a type, its symbols placed in order of rows."""
        (start, first, size), (_, last, _) = self._pointers[kind], self._pointers[kind + 1]
        rows: list[OutlineRow] = []
        owners: list[tuple[OutlineRow, int]] = []
        for edge, owner, length in self._rows[first:last].tolist():
            tags = [self._tags[tag] for tag in self._symbols[start : start + length].tolist()]
            row = OutlineRow(chr(edge) if edge else "", tags, [], [{} for _ in tags])
            row.places.extend(range(len(owners), len(owners) + length))
            owners += [(row, place) for place in range(length)]
            start += length
            if edge:
                above, place = owners[owner]
                above.hanging[place][row.edge] = len(rows)
            rows.append(row)
        return Outline(rows, int(size))

    def likeness(
        self,
        query: Outline,
        types: Array,
        *,
        renamed: float = RENAMED,
        share: float = QUERY,
        inside: bool = False,
    ) -> Array:
        """How alike the query and each of the types are, as `formula.likeness` says."""
        found = np.zeros(len(types))
        if not query.rows or not len(types):
            return found
        shelf = _Shelf(
            [self._symbols[self._pointers[t, 0] : self._pointers[t + 1, 0]] for t in types],
            [self._rows[self._pointers[t, 1] : self._pointers[t + 1, 1]] for t in types],
        )
        laid = _lay(query, shelf, self._ids, self._kinds)
        pairs = [laid.pairs(number, inside=inside) for number in range(len(types))]
        sizes = share * query.size + (1 - share) * self.sizes[types]
        return self._worth(query, shelf.symbols, pairs, renamed) / (2 * sizes)

    def holding(self, piece: Outline, types: Array) -> Array:
        """Those of the types that have a piece in one place: its symbols, joined as they are in it.

        More may follow in each row, and more may hang on each symbol. Letters keep their names.
        """
        blocks = [types[at : at + _BLOCK] for at in range(0, len(types), _BLOCK)]
        found = [block[self._hold(piece, block)] for block in blocks]
        return np.concatenate([np.empty(0, np.int64), *found])

    def _hold(self, piece: Outline, types: Array) -> Array:
        """For each type whether it has a piece."""
        of, at = _spans(self._pointers[types, 0], self._pointers[types + 1, 0])
        of_row, rows = _spans(self._pointers[types, 1], self._pointers[types + 1, 1])
        tags, table = self._symbols[at], self._rows[rows].astype(np.int64)
        edges, lengths = table[:, 0], table[:, 2]
        starts = np.cumsum(lengths) - lengths  # where each row begins
        owners = table[:, 1] + np.searchsorted(of, of_row)  # the symbol that each row hangs on
        row = np.repeat(np.arange(len(lengths)), lengths)
        goes_on = np.r_[row[1:] == row[:-1], np.zeros(min(1, len(row)), bool)]
        fits: dict[int, Array] = {}  # by row of the piece: where it may begin
        for number in range(len(piece.rows) - 1, -1, -1):  # what hangs on others comes first
            mine, after = piece.rows[number], None
            for tag, hanging in zip(mine.tags[::-1], mine.hanging[::-1], strict=True):
                here = tags == self._ids.get(tag, -1)
                for edge, below in hanging.items():
                    carries = np.zeros(len(tags), bool)
                    on_edge = (edges == ord(edge)) & (lengths > 0)
                    carries[owners[on_edge]] = fits[below][starts[on_edge]]
                    here &= carries
                if after is not None:
                    here[:-1] &= after[1:]
                    here &= goes_on
                after = here
            fits[number] = np.ones(len(tags), bool) if after is None else after
        have = np.zeros(len(types), bool)
        have[of[fits[0]]] = True
        return have

    def most(self, ones: Array, others: Array) -> Array:
        """For each pair of types more than they can be alike, whatever their letters.

        No more symbols can meet than both have, and a letter may meet any letter.
        """
        both = [self._bags(types) for types in (ones, others)]
        _, one, two = np.intersect1d(both[0][0], both[1][0], return_indices=True)
        shared = np.minimum(both[0][1][one], both[1][1][two])
        pairs = both[0][0][one] // len(self._tags)
        total = 2 * np.bincount(pairs, shared, minlength=len(ones))
        most: Array = total / (self.sizes[ones] + self.sizes[others])
        return most

    def _bags(self, types: Array) -> tuple[Array, Array]:
        """Codes of (place among the types, symbol), and how often each occurs."""
        places, at = _spans(self._pointers[types, 0], self._pointers[types + 1, 0])
        symbols = self._classes[self._symbols[at]]
        return np.unique(places * len(self._tags) + symbols, return_counts=True)

    @cached_property
    def _classes(self) -> Array:
        """The symbols, all letters being one."""
        letter = next((self._ids[tag] for tag in self._tags if is_letter(tag)), 0)
        return np.array([letter if is_letter(t) else n for n, t in enumerate(self._tags)], np.int64)

    def _worth(self, query: Outline, symbols: Array, pairs: list[_Pairs], renamed: float) -> Array:
        """What the pairs of symbols of each candidate are worth once letters are settled."""
        mine = sorted({tag for row in query.rows for tag in row.tags})
        number = {tag: place for place, tag in enumerate(mine)}
        own = np.array([number[tag] for row in query.rows for tag in row.tags])
        flat = np.array([pair for found in pairs for pair in found], np.int64).reshape(-1, 3)
        owner = np.repeat(np.arange(len(pairs)), [len(found) for found in pairs])
        # pairs of the same two symbols count together
        codes = (owner * len(mine) + own[flat[:, 0]]) * len(self._tags) + symbols[flat[:, 1]]
        codes, where, met = np.unique(codes, return_inverse=True, return_counts=True)
        worth = np.bincount(where, 1 + flat[:, 2], minlength=len(codes))
        total = np.zeros(len(pairs))
        letters: list[Counter[tuple[str, str]]] = [Counter() for _ in pairs]
        others: list[tuple[int, tuple[str, str], float]] = []
        for code, count, value in zip(codes.tolist(), met.tolist(), worth.tolist(), strict=True):
            rest, other = divmod(code, len(self._tags))
            candidate, one = divmod(rest, len(mine))
            pair = mine[one], self._tags[other]
            if pair[0] == pair[1]:
                total[candidate] += value
            if is_letter(pair[0]) and is_letter(pair[1]):
                letters[candidate][pair] = count
                if pair[0] != pair[1]:
                    others.append((candidate, pair, value))
        names = [match_letters(found) for found in letters]
        for candidate, (one, two), value in others:
            if names[candidate].get(one) == two:
                total[candidate] += renamed * value
        return total


def _spans(starts: Array, stops: Array) -> tuple[Array, Array]:
    """Spans of an array one after the other: which span each member is of, and where it stands."""
    lengths = stops - starts
    span = np.repeat(np.arange(len(starts)), lengths)
    return span, np.arange(len(span)) + np.repeat(starts - np.cumsum(lengths) + lengths, lengths)


def _kind(tag: str) -> int:
    """1 for letters and names, 2 for numbers: each of a kind with its like."""
    return {"V!": 1, "N!": 2}.get(tag[:2], 0)


class _Shelf:
    """Candidates side by side: flat rows, each with one place more than it has symbols."""

    def __init__(self, symbols: list[Array], rows: list[Array]) -> None:
        table = np.concatenate(rows).astype(np.int32)
        self.counts = np.array([len(part) for part in rows])
        self.first = np.r_[0, np.cumsum(self.counts)]  # the first row of each candidate
        self.symbols = np.concatenate(symbols)
        lengths = table[:, 2]
        self.starts = np.r_[0, np.cumsum(lengths + 1)]  # where each row begins
        self.ends = self.starts[1:] - 1
        self.size = int(self.starts[-1])
        row = np.arange(len(table))
        place = np.arange(len(self.symbols)) + np.repeat(row, lengths) + 1
        self.places = place  # of each symbol
        self.apart = np.repeat(row * _APART, lengths + 1).astype(np.int32)
        # the place of the symbol that each row hangs on
        before = np.r_[0, np.cumsum([len(part) for part in symbols])][:-1]
        self.edges = table[:, 0]
        self.owners = place[
            np.minimum(np.repeat(before, self.counts) + table[:, 1], len(place) - 1)
        ]

    def children(self, edge: str) -> Array:
        """For each place the row that hangs there on an edge; one past the last where none does."""
        found = np.full(self.size, len(self.ends))
        rows = np.flatnonzero(self.edges == ord(edge))
        found[self.owners[rows]] = rows
        return found


class _Laid:
    """A query laid beside every candidate on a shelf."""

    def __init__(self, query: Outline, shelf: _Shelf) -> None:
        self._query, self._shelf, self._rows = query, shelf, len(shelf.ends)
        #: for each row of the query: what was best at each place, one line for each symbol
        self.steps: list[list[bytes]] = [[] for _ in query.rows]
        #: and what it is worth beside each row of the candidates; nothing beside no row
        self.worth = np.zeros((len(query.rows), len(shelf.ends) + 1), np.int32)
        #: for each edge the row that hangs on each place
        self.children = {edge: shelf.children(edge) for edge in _edges(query)}
        self._starts = shelf.starts.tolist()
        self._first = [0]  # the number of the first symbol of each row of the query
        for row in query.rows:
            self._first.append(self._first[-1] + len(row.tags))

    def pairs(self, number: int, *, inside: bool) -> _Pairs:
        """The pairs of a candidate: a symbol of the query, one on the shelf, whether it joins."""
        first, count = int(self._shelf.first[number]), int(self._shelf.counts[number])
        found: _Pairs = []
        if not count:
            return found
        row = first + int(self.worth[0, first : first + count].argmax()) if inside else first
        waiting = [(0, row)]
        for mine, other in waiting:  # grows while it is read
            steps, hanging = self.steps[mine], self._query.rows[mine].hanging
            start, at, symbol = self._starts[other], self._starts[other + 1] - 1, len(steps)
            first, joins = self._first[mine], False
            while symbol and at > start:
                step = steps[symbol - 1][at]
                # what a pair joins met there, whatever else was as good
                if joins or step & _MEET:
                    symbol, joins = symbol - 1, step & _JOINS > 0
                    found.append((first + symbol, at - other - 1, joins))
                    for edge, below in hanging[symbol].items():
                        under = int(self.children[edge][at])
                        if under < self._rows:
                            waiting.append((below, under))
                    at -= 1
                elif step & _UP:
                    symbol -= 1
                else:
                    at -= 1
        return found


def _edges(query: Outline) -> set[str]:
    return {edge for row in query.rows for below in row.hanging for edge in below}


def _lay(query: Outline, shelf: _Shelf, ids: dict[str, int], kinds: Array) -> _Laid:
    """Lay the rows of a query, the last first, beside all rows on the shelf."""
    laid = _Laid(query, shelf)
    tags, of_kind = np.full(shelf.size, -1, np.int32), np.zeros(shelf.size, np.uint8)
    tags[shelf.places] = shelf.symbols
    of_kind[shelf.places] = kinds[shelf.symbols]
    values: dict[str, Array] = {}
    for tag in {tag for row in query.rows for tag in row.tags}:
        value = np.full(shelf.size, UNLIKE, np.int32)
        if _kind(tag):
            value[of_kind == _kind(tag)] = KIND
        value[tags == ids.get(tag, -2)] = SAME
        values[tag] = value
    for number in range(len(query.rows) - 1, -1, -1):
        row = query.rows[number]
        best = np.zeros(shelf.size, np.int32)
        met = np.full(shelf.size, _IMPOSSIBLE, np.int32)
        met[shelf.starts[:-1]] = 0
        for tag, hanging in zip(row.tags, row.hanging, strict=True):
            value = values[tag]
            for edge, below in hanging.items():
                value = value + laid.worth[below][laid.children[edge]]
            best, met, steps = _step(value, best, met, shelf)
            laid.steps[number].append(steps.tobytes())
        laid.worth[number, :-1] = best[shelf.ends]
    return laid


def _step(value: Array, best: Array, met: Array, shelf: _Shelf) -> tuple[Array, Array, Array]:
    """One more symbol of a row, beside every symbol on the shelf.

    `best` and `met` are those of `formula.likeness` at every place of every row.
    """
    joined = _shifted(met) + NEIGHBOURS
    before = _shifted(best)
    joins = joined > before
    meeting = value + np.maximum(joined, before)
    meeting[shelf.starts[:-1]] = _IMPOSSIBLE
    # the best so far in each row: rows are lifted apart for one running maximum
    now = np.maximum.accumulate(np.maximum(best, meeting) + shelf.apart) - shelf.apart
    left = _shifted(now)
    left[shelf.starts[:-1]] = 0
    steps = (left < best).astype(np.uint8)  # _UP or _LEFT
    steps[meeting > np.maximum(left, best)] = _MEET
    # whether a pair joins is asked of every place: a pair may be met by one that joins it
    steps |= np.where(joins, np.uint8(_JOINS), np.uint8(0))
    return now, meeting, steps


def _shifted(values: Array) -> Array:
    out = np.empty_like(values)
    out[0] = 0
    out[1:] = values[:-1]
    return out
