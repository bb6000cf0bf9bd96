"""Align a query symbol by symbol with many equation types at once.

    alignment.tags.json       the symbols that occur, by id
    alignment.symbols.npy     the symbols of every type, row after row
    alignment.rows.npy        each row's edge, the symbol that it is attached to, its length
    alignment.pointers.npy    for each type where its symbols and rows start, and how many symbols
                             it has in all

`formula.likeness` defines the score. Here one NumPy step aligns one symbol of the query with every
symbol of every candidate, and the traceback is done for each candidate alone: the same scores in a
tenth of the time.
"""

import json
from collections import Counter
from functools import cached_property
from itertools import islice
from pathlib import Path
from threading import Lock

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
from eqemb.index.postings import Array, ArrayWriter, load_array
from eqemb.index.segments import IndexSegments

_TYPES_AT_ONCE = 20_000
_NO_MATCH = -(10**6)
#: More than the rows of an equation can be worth, so that one running maximum keeps rows apart.
_ROW_OFFSET = 2 * MAX_SYMBOLS * SAME
# The best step at each place of the alignment: skip the other's symbol, skip the query's symbol, or
# match both; added to that, whether the match continues the match before it.
_SKIP_OTHER, _SKIP_QUERY, _MATCH, _JOINS = 0, 1, 2, 4
_Pairs = list[tuple[int, int, bool]]


class AlignmentWriter:
    """Writes the outlines of types one after the other."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tags: dict[str, int] = {}
        self._symbols = ArrayWriter(folder / "alignment.symbols.npy", np.int32)
        self._rows = ArrayWriter(folder / "alignment.rows.npy", np.uint16)
        self._pointers = ArrayWriter(folder / "alignment.pointers.npy", np.int64)
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
        """Write the rest and close the files."""
        self._pointers.add(np.array([*self._at, 0]))
        for writer in (self._symbols, self._rows, self._pointers):
            writer.close()
        text = json.dumps(list(self._tags), ensure_ascii=True)
        (self._folder / "alignment.tags.json").write_text(text, "ascii")


class AlignmentSegment:
    """The outlines of the types of one segment, opened for reading."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._symbols = load_array(folder, "alignment.symbols")
        self._rows = load_array(folder, "alignment.rows").reshape(-1, 3)
        self._pointers = load_array(folder, "alignment.pointers").reshape(-1, 3)

    def tags(self) -> list[str]:
        """Return the symbols that occur in the segment, by id."""
        tags: list[str] = json.loads((self._folder / "alignment.tags.json").read_text("ascii"))
        return tags

    @cached_property
    def sizes(self) -> Array:
        """The number of symbols of each type."""
        return self._pointers[:-1, 2].astype(np.float32)

    def symbols(self, kind: int) -> Array:
        """Return the symbols of a type, row after row."""
        found: Array = self._symbols[self._pointers[kind, 0] : self._pointers[kind + 1, 0]]
        return found

    def rows(self, kind: int) -> Array:
        """Return the rows of a type: edge, the symbol that it is attached to, length."""
        found: Array = self._rows[self._pointers[kind, 1] : self._pointers[kind + 1, 1]]
        return found

    def containing(self, piece: Outline, types: Array) -> Array:
        """Return those of the types that contain a piece: its symbols, joined as in the piece.

        More symbols may follow in each row and be attached to each symbol. Letters are not renamed.
        """
        ids = {tag: number for number, tag in enumerate(self.tags())}
        blocks = [types[at : at + _TYPES_AT_ONCE] for at in range(0, len(types), _TYPES_AT_ONCE)]
        found = [block[self._contain(piece, block, ids)] for block in blocks]
        return np.concatenate([np.empty(0, np.int64), *found])

    def _contain(self, piece: Outline, types: Array, ids: dict[str, int]) -> Array:
        """Return a mask of the types that contain a piece."""
        of, at = _spans(self._pointers[types, 0], self._pointers[types + 1, 0])
        of_row, rows = _spans(self._pointers[types, 1], self._pointers[types + 1, 1])
        tags, table = self._symbols[at], self._rows[rows].astype(np.int64)
        edges, lengths = table[:, 0], table[:, 2]
        starts = np.cumsum(lengths) - lengths  # start of each row
        owners = table[:, 1] + np.searchsorted(of, of_row)  # where each row is attached
        row = np.repeat(np.arange(len(lengths)), lengths)
        goes_on = np.r_[row[1:] == row[:-1], np.zeros(min(1, len(row)), bool)]
        fits: dict[int, Array] = {}  # by row of the piece: where it may start
        for number in range(len(piece.rows) - 1, -1, -1):  # rows that are attached to others first
            mine, after = piece.rows[number], None
            for tag, hanging in zip(mine.tags[::-1], mine.hanging[::-1], strict=True):
                here = tags == ids.get(tag, -1)
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


class AlignmentIndex:
    """The outlines of the types of all segments, numbered as in the library."""

    def __init__(self, segments: IndexSegments) -> None:
        self._segments = segments
        self.parts = [AlignmentSegment(part.folder) for part in segments]
        self._ids: dict[str, int] = {}
        self._tags: list[str] = []
        self._kinds = np.empty(0, np.uint8)
        self._id_maps: dict[int, Array] = {}
        self._reading = Lock()

    def _id_map(self, number: int) -> Array:
        """Return for each symbol of a segment its id among the symbols read so far."""
        if number not in self._id_maps:
            with self._reading:  # a server reads from several threads
                tags = self.parts[number].tags()
                ids = [self._ids.setdefault(tag, len(self._ids)) for tag in tags]
                new = list(islice(self._ids, len(self._tags), None))
                self._tags += new
                kinds = np.array([_kind(tag) for tag in new], np.uint8)
                self._kinds = np.append(self._kinds, kinds)
                self._id_maps[number] = np.array(ids, np.int32)
        return self._id_maps[number]

    def read(self, kind: int) -> tuple[Array, Array]:
        """Return symbols and rows of a type."""
        segment, own = self._segments.of_type(kind)
        part = self.parts[segment.number]
        return self._id_map(segment.number)[part.symbols(own)], part.rows(own)

    def tag_names(self, ids: list[int]) -> list[str]:
        """Return the names of symbols that were read."""
        return [self._tags[number] for number in ids]

    @cached_property
    def sizes(self) -> Array:
        """The number of symbols of each type."""
        found: Array = np.concatenate([np.empty(0, np.float32), *(p.sizes for p in self.parts)])
        return found

    def outline(self, kind: int) -> Outline:
        """Return the outline of a type, its symbols placed in order of rows."""
        symbols, table = self.read(kind)
        start = 0
        rows: list[OutlineRow] = []
        owners: list[tuple[OutlineRow, int]] = []
        for edge, owner, length in table.tolist():
            tags = [self._tags[tag] for tag in symbols[start : start + length].tolist()]
            row = OutlineRow(chr(edge) if edge else "", tags, [], [{} for _ in tags])
            row.places.extend(range(len(owners), len(owners) + length))
            owners += [(row, place) for place in range(length)]
            start += length
            if edge:
                above, place = owners[owner]
                above.hanging[place][row.edge] = len(rows)
            rows.append(row)
        return Outline(rows, int(self.sizes[kind]))

    def likeness(
        self,
        query: Outline,
        types: Array,
        *,
        renamed: float = RENAMED,
        share: float = QUERY,
        inside: bool = False,
    ) -> Array:
        """Return the likeness of the query and each type, as `formula.likeness` defines it."""
        found = np.zeros(len(types))
        if not query.rows or not len(types):
            return found
        read = [self.read(kind) for kind in types.tolist()]
        candidates = _Candidates([symbols for symbols, _ in read], [rows for _, rows in read])
        alignment = _align(query, candidates, self._ids, self._kinds)
        pairs = [alignment.pairs(number, inside=inside) for number in range(len(types))]
        sizes = share * query.size + (1 - share) * self.sizes[types]
        return self._worth(query, candidates.symbols, pairs, renamed) / (2 * sizes)

    def upper_bound(self, one: int, others: Array) -> Array:
        """Return an upper bound of the likeness of a type and others, letters renamed.

        It counts the symbols that both have, where any letter matches any other.
        """
        read = [self._classes_of(kind) for kind in (one, *others.tolist())]
        most = int(max((found.max(initial=0) for found in read), default=0)) + 1
        bags = np.stack([np.bincount(found, minlength=most) for found in read])
        shared = np.minimum(bags[0], bags[1:]).sum(axis=1)
        bound: Array = 2 * shared / (self.sizes[one] + self.sizes[others])
        return bound

    def _classes_of(self, kind: int) -> Array:
        """Return the symbols of a type, with all letters as the symbol 0."""
        symbols = self.read(kind)[0]
        is_letters = np.array([is_letter(self._tags[tag]) for tag in symbols.tolist()], bool)
        return np.where(is_letters, 0, symbols + 1)

    def _worth(self, query: Outline, symbols: Array, pairs: list[_Pairs], renamed: float) -> Array:
        """Return the worth of each candidate's pairs once the renaming of letters is decided."""
        size = len(self._tags)
        mine = sorted({tag for row in query.rows for tag in row.tags})
        number = {tag: place for place, tag in enumerate(mine)}
        own = np.array([number[tag] for row in query.rows for tag in row.tags])
        flat = np.array([pair for found in pairs for pair in found], np.int64).reshape(-1, 3)
        owner = np.repeat(np.arange(len(pairs)), [len(found) for found in pairs])
        # pairs of the same two symbols count together
        codes = (owner * len(mine) + own[flat[:, 0]]) * size + symbols[flat[:, 1]]
        codes, where, met = np.unique(codes, return_inverse=True, return_counts=True)
        worth = np.bincount(where, 1 + flat[:, 2], minlength=len(codes))
        total, total_renamed = np.zeros(len(pairs)), np.zeros(len(pairs))
        letters: list[Counter[tuple[str, str]]] = [Counter() for _ in pairs]
        others: list[tuple[int, tuple[str, str], float]] = []
        for code, count, value in zip(codes.tolist(), met.tolist(), worth.tolist(), strict=True):
            rest, other = divmod(code, size)
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
                total_renamed[candidate] += value
        # sums of integers: the order of symbols, which differs among segments, has no effect
        made: Array = total + renamed * total_renamed
        return made


def _spans(starts: Array, stops: Array) -> tuple[Array, Array]:
    """Concatenate spans of an array: the span of each member, and its position."""
    lengths = stops - starts
    span = np.repeat(np.arange(len(starts)), lengths)
    return span, np.arange(len(span)) + np.repeat(starts - np.cumsum(lengths) + lengths, lengths)


def _kind(tag: str) -> int:
    """Return 1 for letters and names, 2 for numbers, 0 for the rest."""
    return {"V!": 1, "N!": 2}.get(tag[:2], 0)


class _Candidates:
    """Candidates side by side: flat rows, each with one place more than it has symbols."""

    def __init__(self, symbols: list[Array], rows: list[Array]) -> None:
        table = np.concatenate(rows).astype(np.int32)
        self.counts = np.array([len(part) for part in rows])
        self.first = np.r_[0, np.cumsum(self.counts)]  # the first row of each candidate
        self.symbols = np.concatenate(symbols)
        lengths = table[:, 2]
        self.starts = np.r_[0, np.cumsum(lengths + 1)]  # start of each row
        self.ends = self.starts[1:] - 1
        self.size = int(self.starts[-1])
        row = np.arange(len(table))
        place = np.arange(len(self.symbols)) + np.repeat(row, lengths) + 1
        self.places = place  # of each symbol
        self.offsets = np.repeat(row * _ROW_OFFSET, lengths + 1).astype(np.int32)
        # the place of the symbol that each row is attached to
        before = np.r_[0, np.cumsum([len(part) for part in symbols])][:-1]
        self.edges = table[:, 0]
        self.owners = place[
            np.minimum(np.repeat(before, self.counts) + table[:, 1], len(place) - 1)
        ]

    def children(self, edge: str) -> Array:
        """Return for each place the row attached to an edge there, else the number of rows."""
        found = np.full(self.size, len(self.ends))
        rows = np.flatnonzero(self.edges == ord(edge))
        found[self.owners[rows]] = rows
        return found


class _Alignment:
    """A query aligned with every candidate."""

    def __init__(self, query: Outline, candidates: _Candidates) -> None:
        self._query, self._candidates, self._rows = query, candidates, len(candidates.ends)
        #: for each row of the query the best step at each place, one line for each symbol
        self.steps: list[list[bytes]] = [[] for _ in query.rows]
        #: and its worth beside each row of the candidates; 0 beside no row
        self.worth = np.zeros((len(query.rows), len(candidates.ends) + 1), np.int32)
        #: for each edge the row that is attached to each place
        self.children = {edge: candidates.children(edge) for edge in _edges(query)}
        self._starts = candidates.starts.tolist()
        self._first = [0]  # the number of the first symbol of each row of the query
        for row in query.rows:
            self._first.append(self._first[-1] + len(row.tags))

    def pairs(self, number: int, *, inside: bool) -> _Pairs:
        """Trace back the pairs of a candidate: query symbol, other symbol, whether they join."""
        first, count = int(self._candidates.first[number]), int(self._candidates.counts[number])
        found: _Pairs = []
        if not count:
            return found
        row = first + int(self.worth[0, first : first + count].argmax()) if inside else first
        waiting = [(0, row)]
        for mine, other in waiting:  # grows during the loop
            steps, hanging = self.steps[mine], self._query.rows[mine].hanging
            start, at, symbol = self._starts[other], self._starts[other + 1] - 1, len(steps)
            first, joins = self._first[mine], False
            while symbol and at > start:
                step = steps[symbol - 1][at]
                # the pair that another one joins is a match, even if another step was as good
                if joins or step & _MATCH:
                    symbol, joins = symbol - 1, step & _JOINS > 0
                    found.append((first + symbol, at - other - 1, joins))
                    for edge, below in hanging[symbol].items():
                        under = int(self.children[edge][at])
                        if under < self._rows:
                            waiting.append((below, under))
                    at -= 1
                elif step & _SKIP_QUERY:
                    symbol -= 1
                else:
                    at -= 1
        return found


def _edges(query: Outline) -> set[str]:
    return {edge for row in query.rows for below in row.hanging for edge in below}


def _align(
    query: Outline, candidates: _Candidates, ids: dict[str, int], kinds: Array
) -> _Alignment:
    """Align the rows of a query, the last first, with all rows of the candidates."""
    made = _Alignment(query, candidates)
    tags, of_kind = np.full(candidates.size, -1, np.int32), np.zeros(candidates.size, np.uint8)
    tags[candidates.places] = candidates.symbols
    of_kind[candidates.places] = kinds[candidates.symbols]
    values: dict[str, Array] = {}
    for tag in {tag for row in query.rows for tag in row.tags}:
        value = np.full(candidates.size, UNLIKE, np.int32)
        if _kind(tag):
            value[of_kind == _kind(tag)] = KIND
        value[tags == ids.get(tag, -2)] = SAME
        values[tag] = value
    for number in range(len(query.rows) - 1, -1, -1):
        row = query.rows[number]
        best = np.zeros(candidates.size, np.int32)
        met = np.full(candidates.size, _NO_MATCH, np.int32)
        met[candidates.starts[:-1]] = 0
        for tag, hanging in zip(row.tags, row.hanging, strict=True):
            value = values[tag]
            for edge, below in hanging.items():
                value = value + made.worth[below][made.children[edge]]
            best, met, steps = _step(value, best, met, candidates)
            made.steps[number].append(steps.tobytes())
        made.worth[number, :-1] = best[candidates.ends]
    return made


def _step(
    value: Array, best: Array, met: Array, candidates: _Candidates
) -> tuple[Array, Array, Array]:
    """Align one more symbol of a row with every symbol of the candidates.

    `best` and `met` are those of `formula.likeness`, at every place of every row.
    """
    joined = _shifted(met) + NEIGHBOURS
    before = _shifted(best)
    joins = joined > before
    meeting = value + np.maximum(joined, before)
    meeting[candidates.starts[:-1]] = _NO_MATCH
    # the best so far in each row: offsets keep rows apart in one running maximum
    now = np.maximum.accumulate(np.maximum(best, meeting) + candidates.offsets) - candidates.offsets
    left = _shifted(now)
    left[candidates.starts[:-1]] = 0
    steps = (left < best).astype(np.uint8)  # _SKIP_QUERY or _SKIP_OTHER
    steps[meeting > np.maximum(left, best)] = _MATCH
    # recorded at every place, since a pair may be followed by one that joins it
    steps |= np.where(joins, np.uint8(_JOINS), np.uint8(0))
    return now, meeting, steps


def _shifted(values: Array) -> Array:
    out = np.empty_like(values)
    out[0] = 0
    out[1:] = values[:-1]
    return out
