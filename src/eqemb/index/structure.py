"""Structure index: which equations look alike, contain a piece, or match a pattern.

    units.*.npy      postings of units, by their ids in the records: types and counts
    symbols.*.npy    postings of symbols; `keys` are theirs
    shapes.*.npy     postings of shapes, in which letters may have any name; `keys` are theirs
    forms.*.npy      the types by their forms: those of one form are renamings of each other
    alignment.*       the symbols of every type, row by row
    families.npy     for each type the least type of its family

A query reads the postings of its own units and shapes, the rarest first and at most `MAX_POSTINGS`
in all. The best candidates are then aligned with the query, symbol by symbol. NumPy only.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from eqemb.errors import UsageError
from eqemb.formula import Layout
from eqemb.formula.likeness import (
    MAX_SYMBOLS,
    QUERY,
    Likeness,
    bare_tag,
    is_letter,
    likeness,
    outline,
)
from eqemb.formula.pattern import OutOfStepsError, Pattern, is_pattern, is_wildcard, read_pattern
from eqemb.formula.shapes import Shape, form, key, shapes
from eqemb.index import families
from eqemb.index.alignment import AlignmentIndex, AlignmentWriter
from eqemb.index.postings import (
    Array,
    KeyedPostings,
    KeyedPostingsWriter,
    Keys,
    Postings,
    PostingsWriter,
    in_every,
    load_array,
    top_k,
)
from eqemb.library.database import Records

#: Postings that a query may read: units that nearly all equations have tell little.
MAX_POSTINGS = 2_000_000
#: Candidates that are aligned with the query, and a limit of their symbols times the query's.
MAX_ALIGNED, MAX_CELLS = 64, 200_000
#: Equations that a pattern is tried on, and the matching steps this may take.
MAX_TRIED, MAX_MATCH_STEPS = 500, 25_000
#: The weight of a shape relative to a unit, when candidates are selected.
SHAPE_WEIGHT = 0.5

_Key = TypeVar("_Key")


class StructureMatches(NamedTuple):
    """Types that match a query, best first, with scores from 0 to 1."""

    types: Array
    scores: Array
    note: str = ""
    """What was not searched; empty if everything was."""


# ------------------------------------------------------------ writing


def index_structure(records: Records, folder: Path) -> None:
    """Index the structure of every type of the records into `folder`."""
    alignment, units = AlignmentWriter(folder), PostingsWriter(folder, "units")
    keys = KeyedPostingsWriter(folder, "shapes")
    symbols = KeyedPostingsWriter(folder, "symbols")
    forms, family_keys = array("Q"), array("Q")
    for number, canonical, blob in records.types():
        made = _read(canonical)
        found, counts = np.unique(np.frombuffer(blob, np.int32), return_counts=True)
        units.add(found, np.full(len(found), number), counts)
        keys.add(number, {"\t".join(shape): n for shape, n in shapes(made).items()})
        symbols.add(number, Counter(bare_tag(node.tag) for node in made.nodes()))
        alignment.add(outline(made))
        forms.append(key(form(made)))
        family_keys.extend(families.family_keys(made))
    units.write(records.unit_count())
    keys.write()
    symbols.write()
    alignment.close()
    ids = np.frombuffer(forms, np.uint64)
    order = np.argsort(ids, kind="stable")
    np.save(folder / "forms.keys.npy", ids[order])
    np.save(folder / "forms.types.npy", order.astype(np.int32))
    families.write_families(folder, np.frombuffer(family_keys, np.uint64).reshape(-1, 2))


def _read(canonical: str) -> Layout:
    """Parse a canonical form; an equation without symbols gives an empty layout."""
    try:
        return Layout.from_slt(canonical)
    except ValueError:
        return Layout(None)


# ------------------------------------------------------------ reading


class _Lookup(NamedTuple):
    """Postings to read for a query: their number, row, count in the query, and weight."""

    size: int
    row: int
    wanted: int
    weight: float
    postings: Postings


class StructureIndex:
    """The structure index of a library, opened for reading."""

    def __init__(self, records: Records, folder: Path) -> None:
        self._records, self._folder = records, folder
        self._units, self._shapes = Postings(folder, "units"), Postings(folder, "shapes")
        self._shape_keys, self._symbols = Keys(folder, "shapes"), KeyedPostings(folder, "symbols")
        self._form_keys, self._form_types = (
            load_array(folder, f"forms.{part}") for part in ("keys", "types")
        )
        self._alignment = AlignmentIndex(folder)

    def __len__(self) -> int:
        return len(self._form_types)

    @cached_property
    def families(self) -> Array:
        """For each type the least type of its family."""
        return load_array(self._folder, "families")

    def containing(self, piece: Layout) -> Array:
        """Return a mask of the types that contain a symbol, or a piece with its symbols joined."""
        # a bare fraction lacks its numerator and denominator
        tags = [bare_tag(node.tag) for node in piece.nodes() if node.tag != "E!missing"]
        if not tags:
            raise UsageError(f"{piece.latex!r} contains no symbol to search for: give LaTeX")
        owners = [self._symbols.owners(tag) for tag in set(tags)]
        if len(tags) > 1:
            # a fence with more in it has other units but the same symbol
            plain = (unit for unit in piece.units() if not any(tag[:2] == "M!" for tag in unit))
            units = Counter(map("\t".join, plain))
            rows = self.unit_rows(units)
            owners += [self._units.of(row)[0] for row in rows.values()]
            owners += [np.empty(0, np.int32)] * (len(units) - len(rows))
        found = in_every(owners, len(self))
        if len(tags) > 1:
            types = self._alignment.containing(outline(piece), np.flatnonzero(found))
            found[:] = False
            found[types] = True
        return found

    def layout(self, kind: int) -> Layout:
        """Return the layout of a type."""
        return _read(self._records.canonical(int(kind)))

    @staticmethod
    def compare(query: Layout, other: Layout) -> Likeness:
        """Return the likeness of two equations, and the symbols that align."""
        return likeness(outline(query), outline(other), inside=True)

    def find(
        self, query: str | Layout, allowed: Array | None = None, count: int = 10
    ) -> StructureMatches:
        """Return the types most similar to an equation, or containing it; only those `allowed`.

        For a query with wildcards (`?x`), return the types that match it.
        """
        made = read_pattern(query) if isinstance(query, str) else query
        if made.root is None:
            raise UsageError(f"{made.latex!r} contains no symbol to search for: give LaTeX")
        if is_pattern(made):
            return self._match_pattern(made, allowed, count)
        estimate = self._estimate(made)
        if allowed is not None:
            estimate[~allowed] = 0.0
        if not len(estimate):
            return StructureMatches(np.empty(0, np.int32), np.empty(0))
        best = top_k(estimate, max(count, MAX_ALIGNED))
        rows = outline(made)
        cells = np.cumsum(np.minimum(self._alignment.sizes[best], MAX_SYMBOLS)) * min(
            rows.size, MAX_SYMBOLS
        )
        aligned = best[: max(16, min(MAX_ALIGNED, int(np.searchsorted(cells, MAX_CELLS))))]
        scores = self._alignment.likeness(rows, aligned, inside=True)
        # the equation itself before others with the same score
        same = aligned == self._records.type_of(made.canonical())
        order = np.lexsort((aligned, -estimate[aligned], ~same, -scores))
        rest = best[len(aligned) :]
        least = float(scores.min(initial=1.0))
        types = np.r_[aligned[order], rest][:count]
        scores = np.r_[scores[order], np.minimum(estimate[rest], least)][:count]
        return StructureMatches(types, scores)

    def _estimate(self, made: Layout) -> Array:
        """Return the share of the query's units and shapes that each type has, from 0 to 1."""
        lookups: list[_Lookup] = []
        units = Counter("\t".join(unit) for unit in made.units() if not _has_wildcard(unit))
        rows = self.unit_rows(units)
        lookups += self._lookups(self._units, rows, units, 1.0)
        parts = Counter({part: n for part, n in shapes(made).items() if not _has_wildcard(part)})
        lookups += self._lookups(self._shapes, self._shape_rows(parts), parts, SHAPE_WEIGHT)
        scores = np.zeros(len(self), np.float32)
        total, left = 0.0, MAX_POSTINGS
        for lookup in sorted(lookups):
            left -= lookup.size
            if left < 0 and total:
                break
            owners, counts = lookup.postings.of(lookup.row)
            # each owner occurs once; `at` takes a third of the time of += with an index
            shared = 1 if lookup.wanted == 1 else np.minimum(counts, lookup.wanted)
            np.add.at(scores, owners, shared * np.float32(lookup.weight))
            total += lookup.weight * lookup.wanted
        if total:
            # a small penalty for symbols that the query does not have, as in `likeness`
            nodes = len(made.nodes())
            size = self._alignment.sizes * np.float32((1 - QUERY) / nodes) + np.float32(QUERY)
            scores /= size * np.float32(total)
        if len(made.nodes()) == 1:  # a single symbol has no unit that another equation has
            scores[self.containing(made)] += np.float32(0.5)
        own = np.uint64(key(form(made)))
        start, stop = (np.searchsorted(self._form_keys, own, side) for side in ("left", "right"))
        scores[self._form_types[start:stop]] += 1.0  # renamings come first
        return scores

    def _match_pattern(self, made: Layout, allowed: Array | None, count: int) -> StructureMatches:
        """Return the types that match a pattern."""
        try:
            pattern = Pattern(made)
        except ValueError as error:
            raise UsageError(str(error)) from None
        types = self._pattern_candidates(made, pattern)
        if allowed is not None:
            types = types[allowed[types]]
        estimate = self._estimate(made)
        types = types[np.lexsort((self._alignment.sizes[types], -estimate[types]))]
        found: list[tuple[float, int]] = []
        tried, given_up, whole = 0, 0, 0
        for kind in types[:MAX_TRIED].tolist():
            if pattern.spent >= MAX_MATCH_STEPS or whole >= count:
                break
            tried += 1
            try:
                match = pattern.match(self._alignment.outline(kind))
            except OutOfStepsError:
                given_up += 1
                continue
            if match is not None:
                found.append((match.score, kind))
                whole += match.score > 1 - 1e-9
        best = sorted(found, key=lambda item: -item[0])[:count]  # ties in the order of trial
        return StructureMatches(
            np.array([kind for _, kind in best], np.int64),
            np.array([score for score, _ in best]),
            "" if whole >= count else _not_searched(len(types), tried, given_up),
        )

    def _pattern_candidates(self, made: Layout, pattern: Pattern) -> Array:
        """Return the types with all shapes of a pattern or, if it has none, all its symbols."""
        needed = Counter({part: n for part, n in shapes(made).items() if not _has_wildcard(part)})
        known = self._shape_rows(needed)
        if len(known) < len(needed):
            return np.empty(0, np.int64)
        have = np.zeros(len(self), np.int32)
        read, left = 0, MAX_POSTINGS
        for lookup in sorted(self._lookups(self._shapes, known, needed, 1.0)):
            left -= lookup.size
            if left < 0 and read:
                break  # the most common shapes are left to the matching
            owners, counts = lookup.postings.of(lookup.row)
            have[owners[counts >= lookup.wanted]] += 1
            read += 1
        if read:
            return np.flatnonzero(have == read)
        # any letter matches a letter, unless the pattern has nothing else
        others = {tag for tag in pattern.symbols if not is_letter(tag)}
        having = (self._symbols.owners(tag) for tag in others or set(pattern.symbols))
        return np.flatnonzero(in_every(having, len(self)))

    def _lookups(
        self, postings: Postings, rows: dict[_Key, int], wanted: Counter[_Key], weight: float
    ) -> Iterator[_Lookup]:
        for thing, row in rows.items():
            size = int(postings.pointers[row + 1] - postings.pointers[row])
            rarity = np.log1p((len(self) - size + 0.5) / (size + 0.5))
            yield _Lookup(size, row, wanted[thing], weight * float(rarity), postings)

    def unit_rows(self, units: Iterable[str]) -> dict[str, int]:
        """Return the ids of the units that the library has."""
        found = ((unit, self._records.unit_id(unit)) for unit in units)
        return {unit: row for unit, row in found if row is not None}

    def _shape_rows(self, parts: Counter[Shape]) -> dict[Shape, int]:
        found = ((part, self._shape_keys.find("\t".join(part))) for part in parts)
        return {part: row for part, row in found if row is not None}


def _has_wildcard(parts: tuple[str, ...]) -> bool:
    """Whether a unit or a shape contains a wildcard."""
    return any(map(is_wildcard, parts))


def _not_searched(candidates: int, tried: int, given_up: int) -> str:
    """Return a note on what a pattern search did not cover, or an empty string."""
    notes = []
    if candidates > tried:
        notes.append(f"only {tried} of {candidates} equations with these symbols were tried")
    if given_up:
        notes.append(f"{given_up} equations were skipped: too many ways to match them")
    return "; ".join(notes)
