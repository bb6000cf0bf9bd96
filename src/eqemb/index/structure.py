"""Structure index: which equations look alike, contain a piece, or match a pattern.

    units.*        postings of units: types and counts; `sizes`: equations that have each unit
    symbols.*      postings of symbols
    shapes.*       postings of shapes, in which letters may have any name; `sizes` as of units
    forms.*        the types by their forms: those of one form are renamings of each other
    alignment.*    the symbols of every type, row by row
    families.*     see `families`
    normal*        see `normal_view`

A query reads the postings of its own units and shapes, the rarest first, as long as all of them
together are in at most `MAX_EQUATIONS` equations. The best candidates are then aligned with the
query, symbol by symbol. A score is a mean of that likeness, in which letters may be renamed, and
of the overlap of units, in which letters and names count by how rare they are (`overlap`): each
finds what the other misses. Both are means of two views: equations as they are written, and in
normal form (`normal_view`). How rare a unit is, is a sum over the segments, and ties are broken by
the keys of types, so that segments do not affect answers. NumPy only.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np

from eqemb.errors import UsageError
from eqemb.formula import Layout
from eqemb.formula.layout import read_canonical
from eqemb.formula.likeness import (
    MAX_SYMBOLS,
    QUERY,
    Likeness,
    Outline,
    bare_tag,
    is_letter,
    likeness,
    outline,
)
from eqemb.formula.pattern import OutOfStepsError, Pattern, is_pattern, is_wildcard, read_pattern
from eqemb.formula.shapes import form, key, shapes
from eqemb.index import families
from eqemb.index.alignment import AlignmentIndex
from eqemb.index.normal_view import NormalQuery, open_normal_view, read_query
from eqemb.index.overlap import Features, rarity, total_sizes, unit_overlap, units_of_types
from eqemb.index.postings import Array, KeyedPostings, Keys, hash_texts, in_every
from eqemb.index.segments import IndexSegment, IndexSegments
from eqemb.index.shared_pairs import shared_pairs
from eqemb.storage.mapped import will_read_all

#: Equations whose units and shapes a query may read: units that nearly all have tell little.
MAX_EQUATIONS = 2_000_000
#: Candidates that are aligned with the query, and a limit of their symbols times the query's.
MAX_ALIGNED, MAX_CELLS = 64, 200_000
#: Candidates that are aligned with the query in normal form, too.
MAX_ALIGNED_NORMAL = 24
#: Equations that a pattern is tried on, and the matching steps this may take.
MAX_TRIED, MAX_MATCH_STEPS = 500, 25_000
#: The share of the overlap of units in a score; the rest is the likeness.
OVERLAP = 0.5
#: The score of an equation that is equal in normal form, but written differently.
EQUAL_SCORE = 0.98
#: The weight of a unit in normal form relative to a unit, when candidates are selected.
NORMAL_WEIGHT = 0.5
#: The weight of a shape relative to a unit, when candidates are selected.
SHAPE_WEIGHT = 0.5


class StructureMatches(NamedTuple):
    """Types that match a query, best first, with scores from 0 to 1."""

    types: Array
    scores: Array
    likeness: Array
    """The likeness of each type alone, which is part of its score; for a pattern the score."""
    note: str = ""
    """What was not searched; empty if everything was."""


# ------------------------------------------------------------ reading


class _Lookup(NamedTuple):
    """Postings to read for a query. They are read in this order: the rarest first."""

    size: int
    """The number of equations."""
    name: str
    """"units" or "shapes"."""
    text: str
    wanted: int
    """How often the query has it."""
    weight: float
    rows: list[int]
    """The row in each segment, -1 where it is missing."""


class StructureIndex:
    """The structure index of a library, opened for reading; types are numbered as in it."""

    def __init__(self, segments: IndexSegments) -> None:
        self.segments = segments
        self._features = {
            name: [Features(part, name) for part in segments] for name in ("units", "shapes")
        }
        self._symbols = [KeyedPostings(part.folder, "symbols") for part in segments]
        self._alignment = AlignmentIndex(segments)
        #: None if a segment has none, since an older version of eqemb indexed it
        self.normal = open_normal_view(segments)
        if self.normal is not None:
            self._features["normal"] = self.normal.features

    def __len__(self) -> int:
        return self.segments.type_count

    @cached_property
    def families(self) -> families.FamilyIndex:
        """Which types are of one family."""
        return families.FamilyIndex(self.segments, self._alignment)

    def rewritten(self, made: Layout) -> Array:
        """Return the rows of the equations that are equal to an equation in normal form."""
        if self.normal is None:
            return np.empty(0, np.int64)
        types = self.normal.equal(read_query(made.canonical()).key).tolist()
        return self.segments.equations_of(types)

    def shared_pairs(self, types: Sequence[int]) -> Array:
        """Return how many joined symbols each two of the types share, from 0 to 1."""
        return shared_pairs(self._alignment, types)

    @cached_property
    def _forms(self) -> list[Keys]:
        return [Keys(part.folder, "forms") for part in self.segments]

    def _of_segment(self, types: Array, segment: IndexSegment) -> Array:
        """Return the part of an array of types that belongs to a segment."""
        first = segment.first_type
        part: Array = types[first : first + len(segment.type_keys)]
        return part

    def containing(self, piece: Layout) -> Array:
        """Return a mask of the types that contain a symbol, or a piece with its symbols joined."""
        # a bare fraction lacks its numerator and denominator
        tags = [bare_tag(node.tag) for node in piece.nodes() if node.tag != "E!missing"]
        if not tags:
            raise UsageError(f"{piece.latex!r} contains no symbol to search for: give LaTeX")
        # a fence with more in it has other units but the same symbol
        plain = (unit for unit in piece.units() if not any(tag[:2] == "M!" for tag in unit))
        units = hash_texts({"\t".join(unit): None for unit in plain} if len(tags) > 1 else ())
        found = np.zeros(len(self), bool)
        for segment in self.segments:
            number, mask = segment.number, self._of_segment(found, segment)
            owners = [self._symbols[number].owners(tag) for tag in set(tags)]
            part = self._features["units"][number]
            owners += [
                part.of(row)[0] if row >= 0 else np.empty(0, np.int32)
                for row in part.find_all(units).tolist()
            ]
            mask[:] = in_every(owners, len(mask))
            if len(tags) > 1 and mask.any():
                part_of = self._alignment.parts[number]
                types = part_of.containing(outline(piece), np.flatnonzero(mask))
                mask[:] = False
                mask[types] = True
        return found

    def layout(self, kind: int) -> Layout:
        """Return the layout of a type."""
        segment, own = self.segments.of_type(int(kind))
        return read_canonical(segment.records.canonical(own))

    def shared_units(self, types: Sequence[int], units: Counter[str]) -> list[tuple[int, int]]:
        """Return how many of the given units each type has, and how many units in all."""
        keys, counts = hash_texts(units), list(units.values())
        rows: dict[int, dict[int, int]] = {}
        found = []
        for segment, ids in units_of_types(self.segments, types):
            if segment.number not in rows:
                known = self._features["units"][segment.number].find_all(keys).tolist()
                rows[segment.number] = dict(zip(known, counts, strict=True))
            have = Counter(ids.tolist())
            wanted = rows[segment.number]
            shared = sum(min(wanted[row], have[row]) for row in wanted.keys() & have.keys())
            found.append((shared, have.total()))
        return found

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
            types = self.pattern_candidates(made, allowed)[0]
            return self.match_pattern(made, types, len(types), count)
        return self.align(made, *self.candidates(made, allowed, count), count)

    def candidates(self, made: Layout, allowed: Array | None, count: int) -> tuple[Array, Array]:
        """Return the types that may be most similar to an equation, with estimates, best first."""
        normal = None if self.normal is None else read_query(made.canonical())
        return self._select(made, normal, allowed, max(count, MAX_ALIGNED))

    def align(self, made: Layout, best: Array, estimate: Array, count: int) -> StructureMatches:
        """Return those of the candidates that are most similar to an equation."""
        if not len(best):
            return StructureMatches(np.empty(0, np.int64), np.empty(0), np.empty(0))
        normal = None if self.normal is None else read_query(made.canonical())
        rows = outline(made)
        sizes = np.minimum(self._alignment.sizes[best], MAX_SYMBOLS)
        cells = np.cumsum(sizes) * min(rows.size, MAX_SYMBOLS)
        aligned = best[: max(16, min(MAX_ALIGNED, int(np.searchsorted(cells, MAX_CELLS))))]
        alike, scores = self._scores(made, rows, normal, aligned)
        keys = self.segments.type_keys[aligned]
        # the equation itself before others with the same score
        same = keys == np.uint64(key(made.canonical()))
        own, rest = np.split(estimate, [len(aligned)])
        order = np.lexsort((keys, -own, ~same, -scores))
        ranked = [
            np.r_[of[order], np.minimum(rest, of.min(initial=1.0))][:count]
            for of in (scores, alike)
        ]
        return StructureMatches(np.r_[aligned[order], best[len(aligned) :]][:count], *ranked)

    def _scores(
        self, made: Layout, rows: Outline, normal: NormalQuery | None, types: Array
    ) -> tuple[Array, Array]:
        """Return the likeness of a query and each type, and its score: means of both views.

        The likeness is computed in normal form only for the types that are best without it.
        """
        alike = self._alignment.likeness(rows, types, inside=True)
        units = Counter("\t".join(unit) for unit in made.units())
        own = units_of_types(self.segments, types.tolist())
        shared = unit_overlap(self.segments, self._features["units"], units, own)
        if self.normal is None or normal is None:
            return alike, (1 - OVERLAP) * alike + OVERLAP * shared
        shared = (shared + self.normal.overlap(normal, types)) / 2
        equal = np.isin(types, self.normal.equal(normal.key))
        promising = (1 - OVERLAP) * alike + OVERLAP * shared + equal
        best = np.lexsort((self.segments.type_keys[types], -promising))[:MAX_ALIGNED_NORMAL]
        alike[best] = (alike[best] + self.normal.likeness(normal, types[best])) / 2
        scores = (1 - OVERLAP) * alike + OVERLAP * shared
        scores[equal] = np.maximum(scores[equal], EQUAL_SCORE)
        return alike, scores

    def _select(
        self, made: Layout, normal: NormalQuery | None, allowed: Array | None, count: int
    ) -> tuple[Array, Array]:
        """Return the types with the largest estimates, best first, and the estimates."""
        if self.segments.is_large and len(made.nodes()) > 1:
            some, values = self._estimate_some(made, normal, allowed, count)
        else:
            estimate = self._estimate(made, normal)
            if allowed is not None:
                estimate[~allowed] = 0.0
            some = np.flatnonzero(estimate > 0)
            values = estimate[some]
        best = self._best(some, values, count)
        return some[best], values[best]

    def _best(self, some: Array, values: Array, count: int) -> Array:
        """Return the places of the types with the largest values, each key once, ties by key."""
        places, taken = np.arange(len(some)), count
        while len(places) > taken:
            least = np.partition(values, len(values) - taken)[len(values) - taken]
            top = np.flatnonzero(values >= least)  # with all ties of the last one
            if len(np.unique(self.segments.type_keys[some[top]])) >= count:
                places = top
                break
            taken *= 2  # several segments have the same types
        keys, first = np.unique(self.segments.type_keys[some[places]], return_index=True)
        places = places[first]
        found: Array = places[np.lexsort((keys, -values[places]))][:count]
        return found

    def _wanted(self, made: Layout, normal: NormalQuery | None) -> list[_Lookup]:
        """Return the units and shapes of a query that are looked up."""
        units = Counter("\t".join(unit) for unit in made.units() if not _has_wildcard(unit))
        lookups = [*self._lookups("units", units, 1.0), *self._shapes_of(made, SHAPE_WEIGHT)]
        if normal is not None:
            others = Counter({unit: n for unit, n in normal.units.items() if unit not in units})
            lookups += self._lookups("normal", others, NORMAL_WEIGHT)
        return list(_within_limit(lookups))

    def _estimate_some(
        self, made: Layout, normal: NormalQuery | None, allowed: Array | None, count: int
    ) -> tuple[Array, Array]:
        """Return the types with the largest estimates, a few times `count`, as `_estimate` does.

        Segments that have the same types have as many copies of the best, so that more are taken
        until there are `count` different ones.
        """
        from eqemb.index.candidates import Best, WantedFeature, best_types

        lookups = sorted(self._wanted(made, normal), key=lambda lookup: -lookup.weight)
        total = sum(lookup.weight * lookup.wanted for lookup in lookups) or 1.0
        nodes = len(made.nodes())
        penalty = np.float32(QUERY * total), np.float32((1 - QUERY) * total / nodes)
        renamed = [forms.rows(key(form(made))) for forms in self._forms]
        again = np.empty(0, np.int64)
        if self.normal is not None and normal is not None:
            again = np.sort(self.normal.renamed(normal.form))
        features: list[list[WantedFeature]] = [[] for _ in self.segments]
        read = (part.of(row) for each in lookups for _, row, part in self._rows(each))
        will_read_all(*chain.from_iterable(read))
        for lookup in lookups:
            for segment, row, part in self._rows(lookup):
                feature = (*part.of(row), lookup.wanted, np.float32(lookup.weight))
                features[segment.number].append(WantedFeature(*feature))
        bonus: list[Array] = []
        for segment, own in zip(self.segments, renamed, strict=True):
            first = segment.first_type
            low, high = np.searchsorted(again, [first, first + len(segment.type_keys)])
            bonus.append(segment.only_live(np.r_[own.astype(np.int64), again[low:high] - first]))
        taken = 4 * count
        while True:
            best = Best(taken, allowed)
            for segment, some, raised in zip(self.segments, features, bonus, strict=True):
                sizes = self._alignment.parts[segment.number].sizes
                best_types(some, sizes, penalty, raised, segment.first_type, best)
            live = [self.segments.is_live_type(number) for number in best.rows.tolist()]
            rows, scores = best.rows[live], best.scores[live]
            is_all = len(best.rows) < taken
            if is_all or len(np.unique(self.segments.type_keys[rows])) >= count:
                return rows, scores
            taken *= 4

    def _estimate(self, made: Layout, normal: NormalQuery | None = None) -> Array:
        """Return the share of the query's units and shapes that each type has, from 0 to 1."""
        scores = np.zeros(len(self), np.float32)
        total = 0.0
        for lookup in self._wanted(made, normal):
            for segment, row, part in self._rows(lookup):
                owners, counts = part.of(row)
                # each owner occurs once; `at` takes a third of the time of += with an index
                shared = 1 if lookup.wanted == 1 else np.minimum(counts, lookup.wanted)
                np.add.at(
                    self._of_segment(scores, segment), owners, shared * np.float32(lookup.weight)
                )
            total += lookup.weight * lookup.wanted
        if total:
            # a small penalty for symbols that the query does not have, as in `likeness`
            nodes = len(made.nodes())
            size = self._alignment.sizes * np.float32((1 - QUERY) / nodes) + np.float32(QUERY)
            scores /= size * np.float32(total)
        if len(made.nodes()) == 1:  # a single symbol has no unit that another equation has
            scores[self.containing(made)] += np.float32(0.5)
        own = key(form(made))
        for segment, forms in zip(self.segments, self._forms, strict=True):
            scores[forms.rows(own) + segment.first_type] += 1.0  # renamings come first
            if segment.live is not None:
                self._of_segment(scores, segment)[segment.equations_per_type == 0] = 0.0
        if self.normal is not None and normal is not None:
            scores[self.normal.renamed(normal.form)] += 1.0
        return scores

    def pattern_candidates(self, made: Layout, allowed: Array | None = None) -> tuple[Array, Array]:
        """Return the types that may match a pattern, in the order of trial, with estimates."""
        types = self._with_shapes(made)
        if allowed is not None:
            types = types[allowed[types]]
        _, first = np.unique(self.segments.type_keys[types], return_index=True)
        estimate = self._estimate(made)
        types = self.trial_order(types[first], estimate[types[first]])
        return types, estimate[types]

    def trial_order(self, types: Array, estimate: Array) -> Array:
        """Return types in the order in which a pattern is tried on them."""
        keys = self.segments.type_keys[types]
        found: Array = types[np.lexsort((keys, self._alignment.sizes[types], -estimate))]
        return found

    def match_pattern(self, made: Layout, types: Array, among: int, count: int) -> StructureMatches:
        """Return those of the types that match a pattern; they are among so many that may."""
        pattern = _compile(made)
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
        scores = np.array([score for score, _ in best])
        return StructureMatches(
            np.array([kind for _, kind in best], np.int64),
            scores,
            scores,
            "" if whole >= count else _not_searched(among, tried, given_up),
        )

    def _with_shapes(self, made: Layout) -> Array:
        """Return the types with all shapes of a pattern or, if it has none, all its symbols."""
        tags = set(_compile(made).symbols)
        lookups = list(self._shapes_of(made, 1.0))
        if any(not lookup.size for lookup in lookups):
            return np.empty(0, np.int64)
        have = np.zeros(len(self), np.int32)
        read = 0
        for lookup in _within_limit(lookups):  # the most common shapes are left to the matching
            for segment, row, part in self._rows(lookup):
                owners, counts = part.of(row)
                self._of_segment(have, segment)[owners[counts >= lookup.wanted]] += 1
            read += 1
        if read:
            found = have == read
        else:
            # any letter matches a letter, unless the pattern has nothing else
            others = {tag for tag in tags if not is_letter(tag)} or tags
            found = np.zeros(len(self), bool)
            for segment, symbols in zip(self.segments, self._symbols, strict=True):
                mask = self._of_segment(found, segment)
                mask[:] = in_every((symbols.owners(tag) for tag in others), len(mask))
        for segment in self.segments:
            if segment.live is not None:
                self._of_segment(found, segment)[segment.equations_per_type == 0] = False
        return np.flatnonzero(found)

    def _shapes_of(self, made: Layout, weight: float) -> Iterator[_Lookup]:
        """Return the lookups of the shapes of a query, without wildcards."""
        found = shapes(made).items()
        wanted = Counter({"\t".join(part): n for part, n in found if not _has_wildcard(part)})
        return self._lookups("shapes", wanted, weight)

    def _lookups(self, name: str, wanted: Counter[str], weight: float) -> Iterator[_Lookup]:
        keys = hash_texts(wanted)
        rows = [part.find_all(keys) for part in self._features[name]]
        sizes = total_sizes(self.segments, self._features[name], keys)
        weights = (weight * rarity(sizes, self.segments.live_count)).tolist()
        for at, (text, size) in enumerate(zip(wanted, sizes.tolist(), strict=True)):
            places = [int(found[at]) for found in rows]
            yield _Lookup(size, name, text, wanted[text], weights[at], places)

    def _rows(self, lookup: _Lookup) -> Iterator[tuple[IndexSegment, int, Features]]:
        """Yield each segment that has what is looked up, with its row there."""
        parts = self._features[lookup.name]
        for segment, row, part in zip(self.segments, lookup.rows, parts, strict=True):
            if row >= 0:
                yield segment, row, part


def _within_limit(lookups: Iterable[_Lookup]) -> Iterator[_Lookup]:
    """Yield lookups that find something, the rarest first, up to `MAX_EQUATIONS` in all."""
    left, is_first = MAX_EQUATIONS, True
    for lookup in sorted(lookup for lookup in lookups if lookup.size):
        left -= lookup.size
        if left < 0 and not is_first:
            return
        is_first = False
        yield lookup


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


def _compile(made: Layout) -> Pattern:
    """Return a pattern to match; raise an error if it cannot be one."""
    try:
        return Pattern(made)
    except ValueError as error:
        raise UsageError(str(error)) from None
