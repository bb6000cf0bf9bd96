"""What equations look like: an index of their structure, and questions to it.

    units.*.npy      postings of units, by their ids in the records: types and counts
    symbols.*.npy    postings of symbols; `keys` are theirs
    shapes.*.npy     postings of shapes, in which letters may have any name; `keys` are theirs
    forms.*.npy      the types by their forms: those of one form are renamings of each other
    outlines.*       the symbols of every type, row by row
    families.npy     for each type the least type of its family

A query touches the postings of its own units and shapes, the rarest first and not more than
`TOUCHED`. The best of what they find is laid beside the query, symbol by symbol. NumPy only.
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
from eqemb.index.alignment import Outlines, OutlinesWriter
from eqemb.index.postings import (
    Array,
    Gatherer,
    Keyed,
    KeyedGatherer,
    Keys,
    Postings,
    best_of,
    in_all,
    load,
)
from eqemb.library.database import Records

#: Postings that a query may touch; units that nearly all equations have say nothing.
TOUCHED = 2_000_000
#: Candidates that are laid beside the query, and symbols of them times those of the query.
LAID, CELLS = 64, 200_000
#: Equations that a pattern is tried on, and steps that this may cost.
TRIED, STEPS = 500, 25_000
#: What a shape counts beside a unit, where candidates are found.
SHAPES = 0.5

T = TypeVar("T")


class Found(NamedTuple):
    """Types that answer, best first, and how well, from 0 to 1."""

    types: Array
    scores: Array
    note: str = ""
    """What was not looked at, '' where everything was."""


# ------------------------------------------------------------ making


def index_structure(records: Records, folder: Path) -> None:
    """Index the structure of every type of the records into `folder`."""
    outlines, units = OutlinesWriter(folder), Gatherer(folder, "units")
    keys, symbols = KeyedGatherer(folder, "shapes"), KeyedGatherer(folder, "symbols")
    forms, kinships = array("Q"), array("Q")
    for number, canonical, blob in records.rows(
        "SELECT id, canonical, units FROM types ORDER BY id"
    ):
        made = _read(canonical)
        found, counts = np.unique(np.frombuffer(blob, np.int32), return_counts=True)
        units.add(found, np.full(len(found), number), counts)
        keys.add(number, {"\t".join(shape): n for shape, n in shapes(made).items()})
        symbols.add(number, Counter(bare_tag(node.tag) for node in made.nodes()))
        outlines.add(outline(made))
        forms.append(key(form(made)))
        kinships.extend(families.kinship(made))
    units.write(next(records.rows("SELECT COUNT(*) FROM units"))[0])
    keys.write()
    symbols.write()
    outlines.close()
    ids = np.frombuffer(forms, np.uint64)
    order = np.argsort(ids, kind="stable")
    np.save(folder / "forms.keys.npy", ids[order])
    np.save(folder / "forms.types.npy", order.astype(np.int32))
    families.group(folder, np.frombuffer(kinships, np.uint64).reshape(-1, 2))


def _read(canonical: str) -> Layout:
    """The tree of a canonical form; that of nothing where an equation has no symbol."""
    try:
        return Layout.from_slt(canonical)
    except ValueError:
        return Layout(None)


# ------------------------------------------------------------ asking


class _Touch(NamedTuple):
    """Postings that a query asks for: how many, which, how often it has them, what they weigh."""

    size: int
    row: int
    wanted: int
    weight: float
    postings: Postings


class Structure:
    """The structure of a library's equations, opened for questions."""

    def __init__(self, records: Records, folder: Path) -> None:
        self._records, self._folder = records, folder
        self._units, self._shapes = Postings(folder, "units"), Postings(folder, "shapes")
        self._shape_keys, self._symbols = Keys(folder, "shapes"), Keyed(folder, "symbols")
        self._form_keys, self._form_types = load(folder, "forms.keys"), load(folder, "forms.types")
        self._outlines = Outlines(folder)

    def __len__(self) -> int:
        return len(self._form_types)

    @cached_property
    def families(self) -> Array:
        """For each type the least type of its family."""
        return load(self._folder, "families")

    def having(self, piece: Layout) -> Array:
        """Which types have a symbol, or the symbols of a small piece joined as they are in it."""
        # a fraction that is asked for alone lacks what is over and under it
        tags = [bare_tag(node.tag) for node in piece.nodes() if node.tag != "E!missing"]
        if not tags:
            raise UsageError(f"there is no symbol to look for in {piece.latex!r}: give LaTeX")
        owners = [self._symbols.owners(tag) for tag in set(tags)]
        if len(tags) > 1:
            # a fence has other units when it has more in it, and the same symbol
            plain = (unit for unit in piece.units() if not any(tag[:2] == "M!" for tag in unit))
            units = Counter(map("\t".join, plain))
            rows = self.unit_rows(units)
            owners += [self._units.of(row)[0] for row in rows.values()]
            owners += [np.empty(0, np.int32)] * (len(units) - len(rows))
        found = in_all(owners, len(self))
        if len(tags) > 1:
            types = self._outlines.holding(outline(piece), np.flatnonzero(found))
            found[:] = False
            found[types] = True
        return found

    def layout(self, kind: int) -> Layout:
        """The tree of a type."""
        query = "SELECT canonical FROM types WHERE id = ?"
        return _read(next(self._records.rows(query, int(kind)))[0])

    @staticmethod
    def alike(query: Layout, other: Layout) -> Likeness:
        """How alike two equations are, and what of them met."""
        return likeness(outline(query), outline(other), inside=True)

    def find(self, query: str | Layout, allowed: Array | None = None, count: int = 10) -> Found:
        """The types most like an equation, or that hold it; only those `allowed`.

        In a query with wildcards (`?x`) they are those that match it.
        """
        made = read_pattern(query) if isinstance(query, str) else query
        if made.root is None:
            raise UsageError(f"there is no symbol to look for in {made.latex!r}: give LaTeX")
        if is_pattern(made):
            return self._matching(made, allowed, count)
        estimate = self._estimate(made)
        if allowed is not None:
            estimate[~allowed] = 0.0
        if not len(estimate):
            return Found(np.empty(0, np.int32), np.empty(0))
        best = best_of(estimate, max(count, LAID))
        rows = outline(made)
        sizes = np.minimum(self._outlines.sizes[best], MAX_SYMBOLS)
        room = np.cumsum(sizes) * min(rows.size, MAX_SYMBOLS)
        laid = best[: max(16, min(LAID, int(np.searchsorted(room, CELLS))))]
        scores = self._outlines.likeness(rows, laid, inside=True)
        # the equation itself before what only looks the same
        same = laid == self._records.type_of(made.canonical())
        order = np.lexsort((laid, -estimate[laid], ~same, -scores))
        rest = best[len(laid) :]
        least = float(scores.min(initial=1.0))
        types = np.r_[laid[order], rest][:count]
        scores = np.r_[scores[order], np.minimum(estimate[rest], least)][:count]
        return Found(types, scores)

    def _estimate(self, made: Layout) -> Array:
        """How much of the query's units and shapes each type has, from 0 to 1."""
        touches: list[_Touch] = []
        units = Counter("\t".join(unit) for unit in made.units() if not _wild(unit))
        rows = self.unit_rows(units)
        touches += self._touches(self._units, rows, units, 1.0)
        parts = Counter({part: n for part, n in shapes(made).items() if not _wild(part)})
        touches += self._touches(self._shapes, self._known_shapes(parts), parts, SHAPES)
        scores = np.zeros(len(self), np.float32)
        total, left = 0.0, TOUCHED
        for touch in sorted(touches):
            left -= touch.size
            if left < 0 and total:
                break
            owners, counts = touch.postings.of(touch.row)
            # every owner has it once; `at` takes a third of the time of += with an index
            shared = 1 if touch.wanted == 1 else np.minimum(counts, touch.wanted)
            np.add.at(scores, owners, shared * np.float32(touch.weight))
            total += touch.weight * touch.wanted
        if total:
            # as likeness is: a little off for what the query does not have
            nodes = len(made.nodes())
            size = self._outlines.sizes * np.float32((1 - QUERY) / nodes) + np.float32(QUERY)
            scores /= size * np.float32(total)
        if len(made.nodes()) == 1:  # it has no unit that another equation has
            scores[self.having(made)] += np.float32(0.5)
        own = np.uint64(key(form(made)))
        start, stop = (np.searchsorted(self._form_keys, own, side) for side in ("left", "right"))
        scores[self._form_types[start:stop]] += 1.0  # renamings come first
        return scores

    def _matching(self, made: Layout, allowed: Array | None, count: int) -> Found:
        """The types that match a pattern."""
        try:
            pattern = Pattern(made)
        except ValueError as error:
            raise UsageError(str(error)) from None
        types = self._holding(made, pattern)
        if allowed is not None:
            types = types[allowed[types]]
        estimate = self._estimate(made)
        types = types[np.lexsort((self._outlines.sizes[types], -estimate[types]))]
        found: list[tuple[float, int]] = []
        tried, given_up, whole = 0, 0, 0
        for kind in types[:TRIED].tolist():
            if pattern.spent >= STEPS or whole >= count:
                break
            tried += 1
            try:
                match = pattern.match(self._outlines.outline(kind))
            except OutOfStepsError:
                given_up += 1
                continue
            if match is not None:
                found.append((match.score, kind))
                whole += match.score > 1 - 1e-9
        best = sorted(found, key=lambda item: -item[0])[:count]  # ties as they were tried
        return Found(
            np.array([kind for _, kind in best], np.int64),
            np.array([score for score, _ in best]),
            "" if whole >= count else _left_out(len(types), tried, given_up),
        )

    def _holding(self, made: Layout, pattern: Pattern) -> Array:
        """The types that have all shapes of a pattern or, where it has none, all its symbols."""
        needed = Counter({part: n for part, n in shapes(made).items() if not _wild(part)})
        known = self._known_shapes(needed)
        if len(known) < len(needed):
            return np.empty(0, np.int64)
        have = np.zeros(len(self), np.int32)
        touched, left = 0, TOUCHED
        for touch in sorted(self._touches(self._shapes, known, needed, 1.0)):
            left -= touch.size
            if left < 0 and touched:
                break  # the commonest are not asked for: matching will tell
            owners, counts = touch.postings.of(touch.row)
            have[owners[counts >= touch.wanted]] += 1
            touched += 1
        if touched:
            return np.flatnonzero(have == touched)
        # other letters will do for letters, unless there is nothing else
        others = {tag for tag in pattern.symbols if not is_letter(tag)}
        having = (self._symbols.owners(tag) for tag in others or set(pattern.symbols))
        return np.flatnonzero(in_all(having, len(self)))

    def _touches(
        self, postings: Postings, rows: dict[T, int], wanted: Counter[T], weight: float
    ) -> Iterator[_Touch]:
        for thing, row in rows.items():
            size = int(postings.pointers[row + 1] - postings.pointers[row])
            rarity = np.log1p((len(self) - size + 0.5) / (size + 0.5))
            yield _Touch(size, row, wanted[thing], weight * float(rarity), postings)

    def unit_rows(self, units: Iterable[str]) -> dict[str, int]:
        """The numbers of units that the library has."""
        query = "SELECT id FROM units WHERE unit = ?"
        return {unit: row for unit in units for (row,) in self._records.rows(query, unit)}

    def _known_shapes(self, parts: Counter[Shape]) -> dict[Shape, int]:
        found = ((part, self._shape_keys.find("\t".join(part))) for part in parts)
        return {part: row for part, row in found if row is not None}


def _wild(parts: tuple[str, ...]) -> bool:
    """Whether a unit or a shape has a wildcard in it."""
    return any(map(is_wildcard, parts))


def _left_out(holding: int, tried: int, given_up: int) -> str:
    """What a search for a pattern did not look at, in a sentence."""
    said = []
    if holding > tried:
        said.append(f"{tried} of {holding} equations with its symbols were tried")
    if given_up:
        said.append(f"{given_up} were given up: there are too many ways to match them")
    return "; ".join(said)
