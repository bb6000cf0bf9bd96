"""Words of a query in an index: how a library writes them, and which equations have them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from eqemb.index.postings import Array
from eqemb.index.scope import Scope, SegmentMatches
from eqemb.index.text import BM25_K1
from eqemb.storage.mapped import will_read_all

#: Consecutive stems.
Phrase = tuple[str, ...]


@dataclass(frozen=True)
class Term:
    """A word of a query in all its spellings: the equations that have it, and its impacts."""

    word: str
    weight: float
    ways: Sequence[Sequence[SegmentMatches]]
    """For each spelling the matches of each segment, in order."""

    @cached_property
    def parts(self) -> list[SegmentMatches]:
        """The matches of each segment by any spelling, with the largest impact on each equation."""
        return [_largest(of_part) for of_part in zip(*self.ways, strict=True)]

    def __len__(self) -> int:
        return self._size

    @cached_property
    def _size(self) -> int:
        if "parts" in self.__dict__ or len(self.ways) == 1:
            return sum(len(part.owners) for part in self.parts)
        return sum(_count_owners(of_part) for of_part in zip(*self.ways, strict=True))

    def find(self, scope: Scope) -> Iterable[tuple[Array, Array]]:
        """Return the equations that have the word as places of a scope, and the impacts."""
        if scope.rows is None:
            return map(scope.find, self.parts)
        if self._found[0] is not scope:  # a query asks several times
            best = np.zeros(len(scope), np.float32)
            for part in chain(*self.ways):
                places, impacts = scope.find(part)
                best[places] = np.maximum(best[places], impacts)
            places = np.flatnonzero(best)
            self._found[:] = scope, (places, best[places])
        return [self._found[1]]

    @cached_property
    def _found(self) -> list[Any]:
        return [None, ()]

    def score(self, equation: int) -> float:
        """Return the unweighted score of one equation, from 0 to 1."""
        scope = Scope(1, np.array([equation]))
        impacts = [float(impact) for _, found in self.find(scope) for impact in found]
        return max(impacts, default=0.0) / (BM25_K1 + 1)


class WordForms(NamedTuple):
    """How a library may write a word of a query."""

    phrases: tuple[Phrase, ...]
    """Its spellings, joined with its neighbours or not, and what it stands for."""
    acronym: str | None = None
    """The stem of the acronym of a phrase that the word is in."""


def _largest(parts: Sequence[SegmentMatches]) -> SegmentMatches:
    """Return the equations of all matches of one segment in order, with the largest impacts."""
    if len(parts) == 1:
        return parts[0]
    owners, where = np.unique(np.concatenate([part.owners for part in parts]), return_inverse=True)
    impacts = np.zeros(len(owners), np.float32)
    np.maximum.at(impacts, where, np.concatenate([part.impacts for part in parts]))
    return SegmentMatches(parts[0].first, owners, impacts)


def _count_owners(parts: Sequence[SegmentMatches]) -> int:
    """Return the number of equations that matches of one segment have, without a sorted union."""
    largest, *others = sorted((part.owners for part in parts), key=len, reverse=True)
    rest = np.unique(np.concatenate([np.empty(0, np.int32), *others]))
    if not len(largest):
        return len(rest)
    rest = rest.astype(largest.dtype)  # else the largest would be converted
    will_read_all(largest)
    at = np.minimum(np.searchsorted(largest, rest), len(largest) - 1)
    return len(largest) + int(np.count_nonzero(largest[at] != rest))
