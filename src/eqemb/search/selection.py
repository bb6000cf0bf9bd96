"""Selection: which equations of a large library are scored for a query.

Those that are best by words, by structure, by the definitions of their symbols and by their
vectors, each found without a look at all equations. What is left out is not among the best by any
of these, and is hardly ever among the best by their sum: `benchmarks/ten_million.py` measures how
often. In a library of ordinary size every equation is scored.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from eqemb.index.approximate import ApproximateIndex
from eqemb.index.scope import Scope
from eqemb.index.segments import IndexSegments
from eqemb.index.structure import StructureMatches
from eqemb.index.terms import Term
from eqemb.index.text_index import TextIndex
from eqemb.index.vector_index import VectorIndex
from eqemb.search.defined import DefinedEquations
from eqemb.search.voting import POOL_SIZE

if TYPE_CHECKING:
    from eqemb.index.candidates import WordCandidates

#: Candidates: the best by words, by definitions and by vectors, and the equations of each type that
#: is found by its structure.
WORD_CANDIDATES, DEFINED_CANDIDATES, NEAR_CANDIDATES, EQUATIONS_OF_TYPE = 2_000, 200, 200, 20
#: Where no more equations than this pass the filters, all of these are candidates.
FEW_ALLOWED = 2_000
#: Those that may vote whatever the filters are (`voting`).
VOTING_CANDIDATES = 10 * POOL_SIZE
#: Parts that find candidates. A ranking by another part alone scores every equation.
FINDING_PARTS = frozenset({"words", "structure"})

#: Candidates whose vectors are read: more of the best than an answer mostly looks at, and with them
#: all that vectors could raise among these. `is_deep_enough` tells whether others could be hits.
MOST_READ = 100

Rows = NDArray[Any]
Mask = NDArray[np.bool_]
Scores = NDArray[np.float32]


class CandidateSelection:
    """Finds candidates in an index. Iterators are not used up where every equation is scored."""

    def __init__(self, segments: IndexSegments, text: TextIndex) -> None:
        self._segments, self._text = segments, text
        self._last_copies: tuple[StructureMatches, tuple[Rows, Rows]] | None = None

    def scope(self, wanted: Container[str], rows: Iterable[Rows]) -> Scope:
        """Return what is scored for a query: in a large library the given rows."""
        count = self._segments.equation_count
        if not self._segments.is_large or not any(part in wanted for part in FINDING_PARTS):
            return Scope(count)
        return Scope(count, np.unique(np.concatenate([np.empty(0, np.int64), *rows])))

    @cached_property
    def _words(self) -> "WordCandidates":
        from eqemb.index.candidates import WordCandidates

        return WordCandidates(self._segments, self._text)

    def rows(
        self,
        terms: Sequence[Term],
        alike: Iterable[StructureMatches],
        defined: DefinedEquations | None,
        only: Mask | None,
    ) -> Iterator[Rows]:
        """Yield the candidates by words, by structure and by definitions.

        With `only`, they are in this mask, but for the best of all by words, which vote on each
        other. Where the mask has few equations, these are all of them.
        """
        if only is not None:
            if terms:
                yield self._words.best(terms, VOTING_CANDIDATES)
            if np.count_nonzero(only) <= FEW_ALLOWED:
                yield np.flatnonzero(only)
                return
        if terms:
            yield self._words.best(terms, WORD_CANDIDATES, only)
        for found in alike:
            yield self._rows_of_types(self.copies(found)[0], only)
        if defined is not None:
            rows, fits = defined
            if only is not None:
                rows, fits = rows[only[rows]], fits[only[rows]]
            cut = max(len(rows) - DEFINED_CANDIDATES, 0)
            yield rows[np.argpartition(fits, cut)[cut:]] if cut else rows

    def near(self, index: VectorIndex, vector: Scores, only: Mask | None) -> Iterator[Rows]:
        """Yield the rows with the nearest vectors, if there is an approximate index.

        A look at all vectors of a large library would take longer than all the rest.
        """
        if isinstance(index, ApproximateIndex) and vector.any():
            yield index.candidates(vector, NEAR_CANDIDATES, only)

    def near_types(self, index: VectorIndex, vector: Scores, only: Mask | None) -> Iterator[Rows]:
        """Yield the equations of the types with the nearest vectors, as `near` does."""
        allowed = None
        if only is not None:
            allowed = np.zeros(len(index), bool)
            allowed[self._segments.types[only]] = True
        for types in self.near(index, vector, allowed):
            yield self._rows_of_types(types, only)

    def _rows_of_types(self, types: Rows, only: Mask | None) -> Rows:
        """Return the first equations of each of some types; of those in a mask."""
        some = [np.empty(0, np.int64)]
        self._segments.will_read_equations(types)
        for kind in types.tolist():
            rows = self._segments.equations_of([kind])
            some.append((rows if only is None else rows[only[rows]])[:EQUATIONS_OF_TYPE])
        return np.concatenate(some)

    def copies(self, found: StructureMatches) -> tuple[Rows, Rows]:
        """Return the types of all segments that were found, and the place of each among them."""
        last = self._last_copies
        if last is None or last[0] is not found:  # a query asks twice
            copies = self._segments.copies(self._segments.type_keys[found.types])
            last = self._last_copies = found, copies
        return last[1]


def promising(scores: Scores, most: float, masks: Iterable[Mask | None], depth: int) -> Rows:
    """Return the places of the scores that can be among the best `depth`, in order.

    Args:
        scores: The scores without some of their parts.
        most: What the missing parts can add at most.
        masks: The best of each of these are wanted; None has all.
        depth: How many.
    """
    found = np.zeros(len(scores), bool)
    for mask in masks:
        own = scores if mask is None else scores[mask]
        cut = max(len(own) - depth, 0)
        least = np.partition(own, cut)[cut] - np.float32(most) if cut else -np.inf
        found |= (scores >= least) if mask is None else mask & (scores >= least)
    return np.flatnonzero(found)


class Unread(NamedTuple):
    """Candidates whose vectors were not read."""

    places: Mask
    most: float
    """What vectors could add to a score."""

    @classmethod
    def of(cls, read: Rows | None, count: int, weights: Mapping[str, float]) -> Self | None:
        """Return those of so many candidates that are not at these places; None if all are."""
        if read is None:
            return None
        places = np.ones(count, bool)
        places[read] = False
        return cls(places, weights["meaning"] + weights["base"])


def is_deep_enough(
    scores: Iterable[Scores], allowed: Mask, hits: Sequence[float], k: int, unread: Unread
) -> bool:
    """Whether no candidate could be among the `k` hits if its vectors were read.

    Equations of the families of hits are passed over, so that an answer may look at any number.
    """
    total = sum(scores, np.float32(0)) + np.zeros(len(allowed), np.float32)
    left = total[unread.places & allowed]
    least = min(hits) if hits and len(hits) >= k else 0.0
    return not len(left) or float(left.max()) + unread.most <= least
