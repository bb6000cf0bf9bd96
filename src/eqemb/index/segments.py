"""The segments of an index, opened together: where each begins, and what of it was removed.

A segment numbers its equations and types from 0. In a library the number of an equation is its
number in the segment plus the number of equations of the segments before it, and likewise for
types. So an equation has one number, in the order of the library; a type that several segments have
has several, and `keys` tell that they are one.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from eqemb.index.postings import Array, Keys, load_array
from eqemb.library.database import Records
from eqemb.library.generations import OpenLibrary
from eqemb.library.manifest import Segment, segment_folder
from eqemb.storage.mapped import ScatteredFolder, read_scattered, will_read, will_read_all

#: Equations from which a library is large: a query then scores a selection of them (`candidates`).
#: At 1,000,740 equations an answer takes 188 ms of CPU time for words and 80 for a formula if all
#: are scored, 42 and 25 with candidates (medians, `benchmarks/results/ten_million.md`). Below this
#: size an answer that is exact takes about a tenth of a second.
LARGE_FROM = 500_000

Mask = NDArray[np.bool_]


class Statistics(Protocol):
    """Counts of a whole library, for an index that has only a part of it."""

    @property
    def equations(self) -> int: ...  # noqa: D102

    def sizes(self, kind: str, keys: Array) -> Array: ...  # noqa: D102


class SegmentSource(NamedTuple):
    """What a segment of an index is opened from."""

    name: str
    folder: Path
    """The index."""
    records: Records
    removed: Sequence[int] = ()
    """Ids of the removed articles."""


class IndexSegment:
    """One segment of an index, opened for reading."""

    def __init__(
        self,
        source: SegmentSource,
        number: int,
        *,
        first_article: int,
        first_equation: int,
        first_type: int,
    ) -> None:
        self.name, self.number = source.name, number
        self.folder, self.records = source.folder, source.records
        self.first_article, self.first_equation = first_article, first_equation
        self.first_type = first_type
        # article, ordinal, type, section, numbered
        self.equations = load_array(source.folder, "equations")
        self.type_keys = load_array(source.folder, "types.ids")
        self._removed = source.removed

    def __len__(self) -> int:
        return len(self.equations)

    @property
    def types(self) -> Array:
        """The type of each equation, as numbered in the segment."""
        column: Array = self.equations[:, 2]
        return column

    def is_removed(self, article: int) -> bool:
        """Whether an article of the segment was removed from the library."""
        return article in self._removed

    @cached_property
    def live(self) -> Mask | None:
        """Which equations are in the library; None if all are."""
        if not len(self._removed):
            return None
        return np.isin(self.equations[:, 0], self._removed, invert=True)

    @cached_property
    def equations_per_type(self) -> Array:
        """How many equations of the library each type has in the segment."""
        types = self.types if self.live is None else self.types[self.live]
        return np.bincount(types, minlength=len(self.type_keys)).astype(np.int32)

    def is_live(self, kind: int) -> bool:
        """Whether a type has equations in the library."""
        return self.live is None or bool(self.equations_per_type[kind])

    def only_live(self, types: Array) -> Array:
        """Return those of the types that have equations in the library."""
        if self.live is None:
            return types
        found: Array = types[self.equations_per_type[types] > 0]
        return found

    @cached_property
    def _type_lookup(self) -> Keys:
        return Keys(self.folder, "types")

    def find_types(self, keys: Array) -> Array:
        """Return the types with these keys, -1 where the segment has none."""
        return self._type_lookup.find_all(keys)

    def find_type(self, number: int) -> int:
        """Return the type with a key, -1 where the segment has none."""
        return self._type_lookup.find_key(number)

    def equations_of(self, kind: int) -> Array:
        """Return the equations of a type in order, without removed ones, as in the library."""
        start, stop = self._type_pointers[kind], self._type_pointers[kind + 1]
        found: Array = self._type_equations[start:stop]
        if self.live is not None:
            found = found[self.live[found]]
        return found + self.first_equation

    def will_read_equations(self, types: Array) -> None:
        """Start to read the equations of types."""
        will_read(self._type_pointers, types, types + 2)
        will_read(self._type_equations, self._type_pointers[types], self._type_pointers[types + 1])

    @cached_property
    def _type_pointers(self) -> Array:
        return load_array(self.folder, "types.pointers")

    @cached_property
    def _type_equations(self) -> Array:
        return load_array(self.folder, "types.equations")


def write_types(folder: Path, keys: Array, types: Array) -> None:
    """Write the keys of the types of a segment, and the equations of each type."""
    np.save(folder / "types.ids.npy", keys)
    Keys.write(folder, "types", keys)
    pointers = np.zeros(len(keys) + 1, np.int64)
    np.cumsum(np.bincount(types, minlength=len(keys)), out=pointers[1:])
    np.save(folder / "types.pointers.npy", pointers)
    np.save(folder / "types.equations.npy", np.argsort(types, kind="stable").astype(np.int32))


def has_index(library: OpenLibrary) -> bool:
    """Whether the segments of a library have an index."""
    return all(_index_folder(library, part).is_dir() for part in library.manifest.segments)


def open_index(library: OpenLibrary, statistics: Statistics | None = None) -> "IndexSegments":
    """Open the index of a library; of a part of one, with the statistics of the whole."""
    parts = zip(library.manifest.segments, library.records.parts, strict=True)
    return IndexSegments(
        [
            SegmentSource(part.name, _index_folder(library, part), records, part.removed)
            for part, records in parts
        ],
        statistics,
    )


def _index_folder(library: OpenLibrary, part: Segment) -> Path:
    return segment_folder(library.home, part.name) / "index"


class IndexSegments(Sequence[IndexSegment]):
    """All segments of an index, in the order of the library."""

    def __init__(
        self, sources: Sequence[SegmentSource], statistics: Statistics | None = None
    ) -> None:
        """`statistics` are those of the whole library where these segments are a part of it."""
        self.statistics = statistics
        self._parts: list[IndexSegment] = []
        articles = equations = types = 0
        for number, source in enumerate(sources):
            part = IndexSegment(
                source,
                number,
                first_article=articles,
                first_equation=equations,
                first_type=types,
            )
            self._parts.append(part)
            articles += source.records.documents
            equations += len(part)
            types += len(part.type_keys)
        self.equation_count, self.type_count = equations, types
        self.is_large = equations >= LARGE_FROM
        """Whether a query scores a selection of the equations instead of all."""
        if self.is_large:
            for part in self._parts:
                part.folder = self.queried(part.folder)
                read_scattered(part.equations)
                read_scattered(part.type_keys)
        self._equation_starts = [part.first_equation for part in self._parts]
        self._type_starts = [part.first_type for part in self._parts]

    def queried(self, folder: Path) -> Path:
        """Return a folder of arrays, to be read as queries to a library of this size read them."""
        return ScatteredFolder(folder) if self.is_large else folder

    def __len__(self) -> int:
        return len(self._parts)

    def __getitem__(self, number: Any) -> Any:
        return self._parts[number]

    def of_equation(self, number: int) -> tuple[IndexSegment, int]:
        """Return the segment of an equation, and its number there."""
        part = self._parts[bisect_right(self._equation_starts, number) - 1]
        return part, number - part.first_equation

    def of_type(self, number: int) -> tuple[IndexSegment, int]:
        """Return the segment of a type, and its number there."""
        part = self._parts[bisect_right(self._type_starts, number) - 1]
        return part, number - part.first_type

    def is_live_type(self, number: int) -> bool:
        """Whether a type has equations in the library."""
        part, own = self.of_type(number)
        return part.is_live(own)

    # ------------------------------------------------------------ equations

    @cached_property
    def live(self) -> Mask:
        """Which equations are in the library, that is, not removed."""
        found = np.ones(self.equation_count, bool)
        for part in self._parts:
            if part.live is not None:
                found[part.first_equation : part.first_equation + len(part)] = part.live
        return found

    @cached_property
    def live_count(self) -> int:
        """The number of equations of the library that are not removed."""
        if self.statistics is not None:
            return self.statistics.equations
        return sum(len(p) if p.live is None else int(p.live.sum()) for p in self._parts)

    @cached_property
    def articles(self) -> Array:
        """The id of each equation's article."""
        return self._joined(lambda part: part.equations[:, 0] + part.first_article)

    def article_size(self, equation: int) -> int:
        """Return the number of equations of an equation's article."""
        bounds = self.articles.searchsorted(self.articles[equation] + np.array([0, 1]))
        return int(bounds[1] - bounds[0])

    @cached_property
    def types(self) -> Array:
        """The type of each equation."""
        return self._joined(lambda part: part.types + part.first_type)

    def _joined(self, column: Callable[[IndexSegment], Array]) -> Array:
        """Return a column of the tables of all segments."""
        will_read_all(*(part.equations for part in self._parts))
        found: Array = np.concatenate([np.empty(0, np.int32), *map(column, self._parts)])
        return found

    @cached_property
    def states_numbers(self) -> Mask:
        """Whether each equation states numbers, as a step of a worked example does."""
        found = [load_array(part.folder, "types.worked")[part.types] for part in self._parts]
        return np.concatenate([np.empty(0, bool), *found])

    # ------------------------------------------------------------ types

    @cached_property
    def type_keys(self) -> Array:
        """The key of each type: equal for a type that several segments have."""
        parts = [part.type_keys for part in self._parts]
        will_read_all(*parts)
        found: Array = np.concatenate([np.empty(0, np.uint64), *parts])
        return found

    @cached_property
    def distinct_types(self) -> Array:
        """The types that have equations in the library, in order, each key once."""
        every = [part.only_live(np.arange(len(part.type_keys))) for part in self._parts]
        parts = zip(every, self._parts, strict=True)
        live = np.concatenate([np.empty(0, np.int64), *(some + p.first_type for some, p in parts)])
        _, first = np.unique(self.type_keys[live], return_index=True)
        found: Array = live[np.sort(first)]
        return found

    def copies(self, keys: Array) -> tuple[Array, Array]:
        """Return all types with one of these keys, and the position of the key of each."""
        found = [part.find_types(keys) for part in self._parts]
        places = [np.flatnonzero(rows >= 0) for rows in found]
        types = [
            rows[at] + part.first_type
            for part, rows, at in zip(self._parts, found, places, strict=True)
        ]
        empty = np.empty(0, np.int64)
        return np.concatenate([empty, *types]), np.concatenate([empty, *places])

    def equations_of_key(self, number: int) -> Array:
        """Return the equations of the types with a key, in order."""
        found = [(part, part.find_type(number)) for part in self._parts]
        parts = [part.equations_of(kind) for part, kind in found if kind >= 0]
        return parts[0] if len(parts) == 1 else self._sorted(parts)

    def of_each(self, types: Array) -> Iterator[tuple[IndexSegment, Array]]:
        """Yield each segment with those of the types that it has, as numbered there."""
        for part in self._parts:
            own = types - part.first_type
            yield part, own[(own >= 0) & (own < len(part.type_keys))]

    def will_read_equations(self, types: Array) -> None:
        """Start to read the equations of types."""
        if self.is_large:
            for part, own in self.of_each(types):
                part.will_read_equations(own)

    def equations_of(self, types: Sequence[int]) -> Array:
        """Return the equations of types, in order."""
        found = [part.equations_of(kind) for part, kind in map(self.of_type, types)]
        return found[0] if len(found) == 1 else self._sorted(found)

    @staticmethod
    def _sorted(parts: list[Array]) -> Array:
        return np.sort(np.concatenate([np.empty(0, np.int64), *parts]))
