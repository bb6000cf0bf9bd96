"""Normal view of the types: their units in normal form, so that ways of writing do not matter.

    normal.*            postings of the units of normal forms, and the units of each type
    normal_alignment.*  the symbols of normal forms row by row, as `alignment` stores them
    normal_keys.*       the types by the keys of their normal forms
    normal_forms.*      the same with letters numbered: renamings of each other in normal form

`formula.normal_form` defines the normal form. The view comes in addition to that of the equations
as they are written, which an equal equation or a part of one is found by as before.
"""

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from eqemb.formula import Layout
from eqemb.formula.likeness import Outline, outline
from eqemb.formula.normal_form import normal_form
from eqemb.formula.shapes import form, key
from eqemb.index.alignment import AlignmentIndex, AlignmentWriter
from eqemb.index.overlap import Features, count_equations, unit_overlap
from eqemb.index.postings import (
    Array,
    ForwardIndex,
    KeyedPostingsWriter,
    Keys,
    Postings,
)
from eqemb.index.segments import IndexSegment, IndexSegments

NAME, ALIGNMENT = "normal", "normal_alignment"


class NormalQuery(NamedTuple):
    """The normal form of a query: its units, its key and that of its renamings."""

    rows: Outline
    units: Counter[str]
    key: int
    form: int


@lru_cache(maxsize=64)
def read_query(canonical: str) -> NormalQuery:
    """Return what is compared of the normal form of a query; a search asks for it twice."""
    return read_normal(Layout.from_slt(canonical))


def read_normal(made: Layout) -> NormalQuery:
    """Return what is compared of the normal form of an equation."""
    normal = normal_form(made)
    units = Counter("\t".join(unit) for unit in normal.units())
    return NormalQuery(outline(normal), units, key(normal.canonical()), key(form(normal)))


class NormalWriter:
    """Writes the normal view of types one after the other."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._units = folder, KeyedPostingsWriter(folder, NAME)
        self._alignment = AlignmentWriter(folder, ALIGNMENT)
        self._keys, self._forms = array("Q"), array("Q")

    def add(self, made: Layout) -> None:
        """Append the next type."""
        normal = read_normal(made)
        self._units.add(len(self._keys), normal.units)
        self._alignment.add(normal.rows)
        self._keys.append(normal.key)
        self._forms.append(normal.form)

    def close(self, equations_per_type: Array) -> None:
        """Write the rest."""
        self._units.write(len(self._keys))
        self._alignment.close()
        for name, keys in (("normal_keys", self._keys), ("normal_forms", self._forms)):
            Keys.write(self._folder, name, np.frombuffer(keys, np.uint64))
        sizes = count_equations(Postings(self._folder, NAME), equations_per_type)
        np.save(self._folder / f"{NAME}.sizes.npy", sizes)


def open_normal_view(segments: IndexSegments) -> "NormalView | None":
    """Open the normal view of a library; None if a segment has none."""
    files = [part.folder / f"{NAME}.pointers.npy" for part in segments]
    return NormalView(segments) if all(map(Path.exists, files)) else None


class NormalView:
    """The normal view of a library, opened for reading; types are numbered as in it."""

    def __init__(self, segments: IndexSegments) -> None:
        self._segments = segments
        self.features = [Features(part, NAME) for part in segments]

    @cached_property
    def _alignment(self) -> AlignmentIndex:
        return AlignmentIndex(self._segments, ALIGNMENT)

    def likeness(self, query: NormalQuery, types: Array) -> Array:
        """Return the likeness of the query and each type, in normal form."""
        return self._alignment.likeness(query.rows, types, inside=True)

    @cached_property
    def _units(self) -> list[ForwardIndex]:
        return [ForwardIndex(part.folder, NAME) for part in self._segments]

    @cached_property
    def _keys(self) -> list[Keys]:
        return [Keys(part.folder, "normal_keys") for part in self._segments]

    @cached_property
    def _forms(self) -> list[Keys]:
        return [Keys(part.folder, "normal_forms") for part in self._segments]

    def equal(self, wanted: int) -> Array:
        """Return the types whose normal form has a key."""
        return self._types(self._keys, wanted)

    def renamed(self, wanted: int) -> Array:
        """Return the types whose normal form has a key once its letters are numbered."""
        return self._types(self._forms, wanted)

    def _types(self, parts: Sequence[Keys], wanted: int) -> Array:
        found = [
            segment.only_live(part.rows(wanted).astype(np.int64)) + segment.first_type
            for segment, part in zip(self._segments, parts, strict=True)
        ]
        return np.concatenate([np.empty(0, np.int64), *found])

    def overlap(self, query: NormalQuery, types: Array) -> Array:
        """Return the overlap of the units of the query and of each type, in normal form."""
        return unit_overlap(self._segments, self.features, query.units, self._rows(types))

    def _rows(self, types: Array) -> Iterator[tuple[IndexSegment, Array]]:
        for segment, some in self._segments.of_each(types):
            self._units[segment.number].will_read(some)
        for number in types.tolist():
            segment, own = self._segments.of_type(number)
            rows, counts = self._units[segment.number].of(own)
            yield segment, np.repeat(rows, counts.astype(np.int64))
