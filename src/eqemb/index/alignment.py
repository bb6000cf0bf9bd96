"""Align a query symbol by symbol with many equation types at once.

    alignment.tags.json       the symbols that occur, by id
    alignment.symbols.npy     the symbols of every type, row after row
    alignment.rows.npy        each row's edge, the symbol that it is attached to, its length
    alignment.pointers.npy    for each type where its symbols and rows start, and how many symbols
                             it has in all

`formula.likeness` defines the score; `row_alignment` aligns all types at once.
"""

import json
from collections.abc import Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from threading import Lock

import numpy as np

from eqemb.formula.likeness import (
    QUERY,
    RENAMED,
    Outline,
    OutlineRow,
    is_letter,
)
from eqemb.index.postings import Array, ArrayWriter, load_array
from eqemb.index.row_alignment import AlignedPairs, Candidates, align, tag_kind
from eqemb.index.segments import IndexSegments
from eqemb.storage.mapped import will_read, will_read_all

_TYPES_AT_ONCE = 20_000


class AlignmentWriter:
    """Writes the outlines of types one after the other."""

    def __init__(self, folder: Path, name: str = "alignment") -> None:
        """`name` is that of the view: equations as they are written, or in normal form."""
        self._file = folder / f"{name}.tags.json"
        self._tags: dict[str, int] = {}
        self._symbols = ArrayWriter(folder / f"{name}.symbols.npy", np.int32)
        self._rows = ArrayWriter(folder / f"{name}.rows.npy", np.uint16)
        self._pointers = ArrayWriter(folder / f"{name}.pointers.npy", np.int64)
        self._at = [0, 0]

    def add(self, outline: Outline) -> None:
        """Append the outline of the next type."""
        rows = outline.rows
        tags = [self._tags.setdefault(tag, len(self._tags)) for row in rows for tag in row.tags]
        table = [[ord(row.edge) if row.edge else 0, 0, len(row.tags)] for row in rows]
        at = 0
        for row in rows:
            for symbol, hanging in enumerate(row.hanging, at):
                for below in hanging.values():
                    table[below][1] = symbol
            at += len(row.tags)
        self._symbols.add(np.array(tags, np.int32))
        self._rows.add(np.array(table, np.uint16).ravel())
        self._pointers.add(np.array([*self._at, outline.size]))
        self._at = [self._at[0] + len(tags), self._at[1] + len(rows)]

    def close(self) -> None:
        """Write the rest and close the files."""
        self._pointers.add(np.array([*self._at, 0]))
        for writer in (self._symbols, self._rows, self._pointers):
            writer.close()
        text = json.dumps(list(self._tags), ensure_ascii=True)
        self._file.write_text(text, "ascii")


class AlignmentSegment:
    """The outlines of the types of one segment, opened for reading."""

    def __init__(self, folder: Path, name: str = "alignment") -> None:
        self._file = folder / f"{name}.tags.json"
        self._symbols = load_array(folder, f"{name}.symbols")
        self._rows = load_array(folder, f"{name}.rows").reshape(-1, 3)
        self._pointers = load_array(folder, f"{name}.pointers").reshape(-1, 3)

    def tags(self) -> list[str]:
        """Return the symbols that occur in the segment, by id."""
        tags: list[str] = json.loads(self._file.read_text("ascii"))
        return tags

    @cached_property
    def sizes(self) -> Array:
        """The number of symbols of each type."""
        will_read_all(self._pointers)
        return self._pointers[:-1, 2].astype(np.float32)

    def symbols(self, kind: int) -> Array:
        """Return the symbols of a type, row after row."""
        found: Array = self._symbols[self._pointers[kind, 0] : self._pointers[kind + 1, 0]]
        return found

    def rows(self, kind: int) -> Array:
        """Return the rows of a type: edge, the symbol that it is attached to, length."""
        found: Array = self._rows[self._pointers[kind, 1] : self._pointers[kind + 1, 1]]
        return found

    def will_read(self, types: Array) -> None:
        """Start to read the outlines of types."""
        will_read(self._pointers, types, types + 2)
        starts, stops = self._pointers[types], self._pointers[types + 1]
        will_read(self._symbols, starts[:, 0], stops[:, 0])
        will_read(self._rows, starts[:, 1], stops[:, 1])

    def read_all(self, types: Array) -> tuple[Array, Array, Array, Array]:
        """Return symbols and rows of types, and how many of both each type has."""
        self.will_read(types)
        starts, stops = self._pointers[types], self._pointers[types + 1]
        places = (_spans(starts[:, at], stops[:, at])[1] for at in (0, 1))
        symbols, rows = (of[at] for of, at in zip((self._symbols, self._rows), places, strict=True))
        return symbols, rows, stops[:, 0] - starts[:, 0], stops[:, 1] - starts[:, 1]

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

    def __init__(self, segments: IndexSegments, name: str = "alignment") -> None:
        self._segments = segments
        self.parts = [AlignmentSegment(part.folder, name) for part in segments]
        self._ids: dict[str, int] = {}
        self._tags: list[str] = []
        self._kinds, self._letters = np.empty(0, np.uint8), np.empty(0, bool)
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
                kinds = np.array([tag_kind(tag) for tag in new], np.uint8)
                self._kinds = np.append(self._kinds, kinds)
                letters = np.array([is_letter(tag) for tag in new], bool)
                self._letters = np.append(self._letters, letters)
                self._id_maps[number] = np.array(ids, np.int32)
        return self._id_maps[number]

    def read(self, kind: int) -> tuple[Array, Array]:
        """Return symbols and rows of a type."""
        segment, own = self._segments.of_type(kind)
        part = self.parts[segment.number]
        return self._id_map(segment.number)[part.symbols(own)], part.rows(own)

    def read_all(self, types: Sequence[int]) -> tuple[Array, Array, Array, Array]:
        """Return symbols and rows of types, and how many of both each type has."""
        if len(self.parts) == 1:
            part, kinds = self.parts[0], np.asarray(types, np.int64)
            symbols, table, sizes, counts = part.read_all(kinds)
            return self._id_map(0)[symbols], table, sizes, counts
        for segment, own in self._segments.of_each(np.asarray(types, np.int64)):
            self.parts[segment.number].will_read(own)
        read = [self.read(kind) for kind in types]
        return (
            np.concatenate([symbols for symbols, _ in read]),
            np.concatenate([rows for _, rows in read]),
            np.array([len(symbols) for symbols, _ in read]),
            np.array([len(rows) for _, rows in read]),
        )

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
        candidates = Candidates(*self.read_all(types.tolist()))
        alignment = align(query, candidates, self._ids, self._kinds, inside=inside)
        sizes = share * query.size + (1 - share) * self.sizes[types]
        return self._worth(query, candidates.symbols, alignment.pairs(), renamed) / (2 * sizes)

    def upper_bound(self, one: int, others: Array) -> Array:
        """Return an upper bound of the likeness of a type and others, letters renamed.

        It counts the symbols that both have, where any letter matches any other.
        """
        symbols, _, sizes, _ = self.read_all([one, *others.tolist()])
        classes = np.where(self._letters[symbols], 0, symbols + 1)  # all letters as the symbol 0
        most, count = int(classes.max(initial=0)) + 1, len(sizes)
        owners = np.repeat(np.arange(count) * most, sizes)
        bags = np.bincount(owners + classes, minlength=count * most).reshape(count, most)
        shared = np.minimum(bags[0], bags[1:]).sum(axis=1)
        bound: Array = 2 * shared / (self.sizes[one] + self.sizes[others])
        return bound

    def _worth(self, query: Outline, symbols: Array, pairs: AlignedPairs, renamed: float) -> Array:
        """Return the worth of each candidate's pairs once the renaming of letters is decided."""
        size = len(self._tags)
        mine = sorted({tag for row in query.rows for tag in row.tags})
        number = {tag: place for place, tag in enumerate(mine)}
        own = np.array([number[tag] for row in query.rows for tag in row.tags])
        # pairs of the same two symbols count together
        codes = (pairs.owners * len(mine) + own[pairs.mine]) * size + symbols[pairs.others]
        codes, where, met = np.unique(codes, return_inverse=True, return_counts=True)
        worth = np.bincount(where, 1 + pairs.joins, len(codes))
        rest, other = np.divmod(codes, size)
        candidate, one = np.divmod(rest, len(mine))
        same = np.array([self._ids.get(tag, -1) for tag in mine])[one] == other
        total = np.bincount(candidate, worth * same, pairs.candidates)
        letters = np.array([is_letter(tag) for tag in mine])[one] & self._letters[other]
        between = np.flatnonzero(letters)
        # letters are matched one to one, in the order of `formula.likeness.match_letters`
        known, place = np.unique(other[between], return_inverse=True)
        names = np.argsort(np.argsort([self._tags[tag] for tag in known.tolist()]))[place]
        by = (names, one[between], ~same[between], -met[between], candidate[between])
        order = between[np.lexsort(by)]
        matched: list[int] = []
        taken: set[tuple[int, int]] = set()
        ranked = (
            order.tolist(),
            candidate[order].tolist(),
            one[order].tolist(),
            other[order].tolist(),
        )
        for at, of, letter, name in zip(*ranked, strict=True):
            if (of, letter) not in taken and (of, -1 - name) not in taken:
                taken.add((of, letter))
                taken.add((of, -1 - name))
                matched.append(at)
        chosen = np.array(matched, np.int64)
        chosen = chosen[~same[chosen]]
        total_renamed = np.bincount(candidate[chosen], worth[chosen], pairs.candidates)
        # sums of integers: the order of symbols, which differs among segments, has no effect
        made: Array = total + renamed * total_renamed
        return made


def _spans(starts: Array, stops: Array) -> tuple[Array, Array]:
    """Concatenate spans of an array: the span of each member, and its position."""
    lengths = stops - starts
    span = np.repeat(np.arange(len(starts)), lengths)
    return span, np.arange(len(span)) + np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
