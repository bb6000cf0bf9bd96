"""From scores to hits: the best equations, one of each family, read from the records.

An equation that stands in several papers, or nearly so, is one answer; the others are its family.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqemb.article import Equation
from eqemb.errors import UsageError, quoted
from eqemb.index.definitions import DefinitionIndex
from eqemb.index.postings import top_k
from eqemb.index.scope import Scope
from eqemb.index.segments import IndexSegments
from eqemb.index.structure import StructureIndex
from eqemb.index.vector_index import VectorIndex
from eqemb.library.database import LibraryRecords
from eqemb.search.match_kinds import Kinds, Matches, limit_kind, matching_rows, raise_equal
from eqemb.search.query import Filters
from eqemb.search.results import Hit
from eqemb.search.where import SymbolReader

#: Equations that are kept in memory: an answer asks for the same ones several times.
_MAX_READ = 1_024

Scores = NDArray[np.float32]
Mask = NDArray[np.bool_]


class HitReader:
    """Reads the equations of an index as hits."""

    def __init__(
        self,
        segments: IndexSegments,
        structure: StructureIndex,
        records: LibraryRecords,
        definitions: DefinitionIndex,
    ) -> None:
        self.segments, self.structure, self.records = segments, structure, records
        self._read: dict[int, tuple[Equation, str]] = {}  # read lately, the latest last
        self.symbols = SymbolReader(
            records.article,
            lambda equation: definitions.meanings(self.row(equation)),
            lambda article: definitions.of_article(self._key(article)),
        )

    def best(
        self,
        parts: Mapping[str, Scores],
        k: int,
        allowed: Mask,
        strengths: Scores | None = None,
        scope: Scope | None = None,
    ) -> list[Hit]:
        """Return the best equations, one of each family, ties in the order of the library.

        Scores are those of the equations of the scope, by default all.
        """
        if not parts:
            return []
        scope = scope or Scope(len(allowed))
        total = np.where(allowed, sum(parts.values()), np.float32(0))
        best = self.one_per_family(lambda count: scope.rows_at(top_k(total, count)), k)
        places = scope.places_of(np.array(best, np.int64)).tolist()
        return [
            self.hit(
                row,
                {part: float(scores[place]) for part, scores in parts.items()},
                None if strengths is None else float(strengths[place]),
            )
            for row, place in zip(best, places, strict=True)
        ]

    def matching(
        self,
        parts: Mapping[str, Scores],
        k: int,
        allowed: Mask,
        strengths: Scores | None,
        kinds: Kinds,
        filters: Filters | None,
        scope: Scope,
    ) -> tuple[list[Hit], Matches | None]:
        """Return the best equations, and all that match; the filters may name one of the kinds."""
        if filters is not None:
            limit_kind(allowed, kinds, filters.kind)
        if strengths is not None:
            raise_equal(strengths, kinds)
        hits = self.best(parts, k, allowed, strengths, scope)
        return hits, matching_rows(parts, allowed, strengths, kinds, scope)

    def nearest(
        self, index: VectorIndex, vector: Scores, k: int, allowed: Mask | None
    ) -> list[Hit]:
        """Return the equations with the nearest vectors, one of each family; None allows all."""
        scores: dict[int, float] = {}

        def top(count: int) -> NDArray[Any]:
            rows, cosines = index.nearest(vector, count, allowed)
            scores.update(zip(rows.tolist(), cosines.tolist(), strict=True))
            return rows

        return [self.hit(row, {"meaning": scores[row]}) for row in self.one_per_family(top, k)]

    def one_per_family(self, top: Callable[[int], NDArray[Any]], k: int) -> list[int]:
        """Return the best k rows of different families; `top` gives the best rows."""
        chosen: dict[int, None] = {}
        members: set[int] = set()  # types of the families of the chosen rows
        count = 4 * k + 20
        while True:
            order = top(count)
            for row in order.tolist():
                kind = int(self.segments.types[row])
                if len(chosen) < k and kind not in members:
                    chosen[row] = None
                    members.update(self.structure.families.members(kind))
            if len(chosen) >= k or len(order) < count:
                return list(chosen)
            count *= 8

    def equation(self, row: int) -> tuple[Equation, str]:
        """Return the equation of a row, with its article's title."""
        found = self._read.pop(row, None)
        if found is None:
            segment, own = self.segments.of_equation(row)
            article, ordinal = segment.equations[own, :2].tolist()
            found = segment.records.equation(article, ordinal)
            found[0].read_symbols = self.symbols.of
            if len(self._read) >= _MAX_READ:
                del self._read[next(iter(self._read))]
        self._read[row] = found
        return found

    def row(self, equation: Equation) -> int:
        """Return the row of an equation in the index."""
        first = int(np.searchsorted(self.segments.articles, self._key(equation.article)))
        return first + equation.ordinal - 1

    def _key(self, name: str) -> int:
        """Return the id of an article."""
        found = self.records.key(name)
        if found is None:
            raise UsageError(f"no article {quoted(name)} in this library")
        return found

    def hit(self, row: int, parts: dict[str, float], strength: float | None = None) -> Hit:
        """Return the equation of a row as a hit; its score is the sum of its parts."""
        equation, title = self.equation(row)
        paper = self.records.paper(equation.article)
        title = title or (paper.title if paper else "")
        return Hit(sum(parts.values()), equation, title, self.family(row), parts, strength, paper)

    def family(self, row: int) -> list[str]:
        """Return the names of the other equations of an equation's family, in order."""
        members = self.structure.families.members(int(self.segments.types[row]))
        rows = self.segments.equations_of(members).tolist()
        return [self.name(other) for other in rows if other != row]

    def name(self, row: int) -> str:
        """Return the name of the equation of a row."""
        segment, own = self.segments.of_equation(row)
        article, ordinal = segment.equations[own, :2].tolist()
        return f"{segment.records.name(article)}#{ordinal}"
