"""The parts of a merge: how equations, articles and types of each are numbered after it."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from eqemb.index.merge_arrays import CannotMergeError, open_array
from eqemb.index.postings import Array
from eqemb.library.segments import SegmentIndex


class MergedPart:
    """A part, and where its documents, equations and types are in the merged segment."""

    def __init__(self, part: SegmentIndex, documents: int, merged: Array, equations: int) -> None:
        """`merged` are all equations after merging; before the part are so many of both."""
        self.folder, self.has_removed = part.folder, bool(part.removed)
        is_left = np.ones(part.documents, bool)
        is_left[list(part.removed)] = False
        self.documents = np.where(is_left, documents + np.cumsum(is_left) - 1, -1)
        """The merged number of each document, -1 for removed ones."""
        self._table = open_array(part.folder, "equations")
        if (self._table[:, 0] >= part.documents).any():
            raise CannotMergeError(f"{part.folder} has more than {part.documents} documents")
        self.live = np.flatnonzero(is_left[self._table[:, 0]])
        """The equations that are left."""
        own = merged[equations : equations + len(self.live)]
        found = np.column_stack((self.documents[self._table[:, 0]], self._table[:, 1]))
        if not np.array_equal(found[self.live], own[:, :2]):
            raise CannotMergeError(f"{part.folder} has other equations than the records")
        self.equations = np.full(len(self._table), -1, np.int64)
        """The merged number of each equation, -1 for removed ones."""
        self.equations[self.live] = np.arange(equations, equations + len(self.live))
        self._own = own
        before = merged[:equations, 2].max(initial=-1)
        of_types = len(open_array(part.folder, "types.ids"))
        self.types = np.full(of_types, -1, np.int64)
        """The merged number of each type that no part before it has; -1 for others."""
        self.types[self._table[self.live, 2]] = own[:, 2]
        self.types[self.types <= before] = -1
        new = np.flatnonzero(self.types >= 0)
        self.new_types = new[np.argsort(self.types[new])]
        """The types that no part before it has, in their new order."""

    @property
    def has_all_types(self) -> bool:
        """Whether all types are kept, in the same order."""
        return len(self.new_types) == len(self.types) and not self.has_removed

    @cached_property
    def articles(self) -> Array:
        """The first equation of each article that has equations."""
        articles = self._table[:, 0]
        found: Array = np.flatnonzero(np.r_[True, np.diff(articles) != 0][: len(articles)])
        return found

    @cached_property
    def article_of_equation(self) -> Array:
        """For each equation the number of its article among those that have equations."""
        return np.repeat(np.arange(len(self.articles)), np.diff(self.bounds))

    @cached_property
    def bounds(self) -> Array:
        """The bounds of the articles with equations among the equations."""
        found: Array = np.r_[self.articles, len(self._table)]
        return found

    @cached_property
    def live_articles(self) -> Array:
        """Which of the articles with equations are left."""
        found: Array = self.equations[self.articles] >= 0
        return found


def number_parts(parts: Sequence[SegmentIndex], merged: Array) -> list[MergedPart]:
    """Number the documents, equations and types of parts, given the merged equations."""
    found: list[MergedPart] = []
    documents = equations = 0
    for part in parts:
        one = MergedPart(part, documents, merged, equations)
        documents += part.documents - len(part.removed)
        equations += len(one.live)
        found.append(one)
    if equations != len(merged):
        raise CannotMergeError(f"the parts have {equations:,} equations, not {len(merged):,}")
    return found
