"""The parts of a score that vectors give, for all equations of a scope or for some of them.

A vector is a page to read, so in a large library only the candidates that vectors can raise among
the best have these parts (`selection.promising`); for the others they are 0.
"""

from collections.abc import Container
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqemb.formula import Layout
from eqemb.index.base_vectors import BaseVectors
from eqemb.index.scope import Scope
from eqemb.index.segments import IndexSegments
from eqemb.index.vector_index import VectorIndex
from eqemb.index.vectors import VectorSpace
from eqemb.search.query import WordQuery

Scores = NDArray[np.float32]
Rows = NDArray[Any]


class VectorParts:
    """The vectors of an index, opened to score equations."""

    def __init__(
        self, segments: IndexSegments, base: BaseVectors, vectors: VectorSpace | None
    ) -> None:
        self._segments, self._base, self._vectors = segments, base, vectors

    def for_words(
        self,
        question: WordQuery,
        wanted: Container[str],
        scope: Scope,
        words: Scores | None,
        read: Rows | None,
    ) -> dict[str, Scores]:
        """Return the scores for words at the places to `read` of a selection; None reads all.

        `words` are the scores by words.
        """
        parts: dict[str, Scores] = {}
        if self._vectors is not None and "meaning" in wanted:
            vector = self._vectors.words_vector(question.words)
            if vector.any():
                parts["meaning"] = _cosines(self._vectors.contexts, vector, scope, read)
        if "base" in wanted and ("words" not in wanted or words is not None):
            # it ranks what the words find, and finds nothing without them
            by_words = scope.take(self._segments.live) if words is None else words > 0
            if read is not None:
                by_words = by_words & _mask(read, len(scope))
            types = scope.take(self._segments.types)
            if (likely := self._base.rank(question.words, types, by_words)) is not None:
                parts["base"] = likely
        return parts

    def for_equation(
        self,
        made: Layout,
        vector: Scores | None,
        wanted: Container[str],
        scope: Scope,
        read: Rows | None,
    ) -> dict[str, Scores]:
        """Return the scores for an equation, as `for_words` does; `vector` is the model's."""
        parts: dict[str, Scores] = {}
        types = None if self._vectors is None else self._vectors.types
        if vector is not None and types is not None:
            parts["meaning"] = _cosines(types, vector, scope, read, self._segments.types)
        if "base" in wanted:
            parts["base"] = self._like_equation(made, scope, read)
        return parts

    def _like_equation(self, made: Layout, scope: Scope, read: Rows | None) -> Scores:
        """Return the likeness by the base model."""
        if scope.rows is None:
            return self._base.like_equation(made).take(self._segments.types)
        types = scope.take(self._segments.types)
        if read is None:
            return self._base.like_equation(made, types)
        found = np.zeros(len(scope), np.float32)
        found[read] = self._base.like_equation(made, types[read])
        return found


def _mask(places: Rows, count: int) -> NDArray[np.bool_]:
    found = np.zeros(count, bool)
    found[places] = True
    return found


def _cosines(
    index: VectorIndex,
    vector: Scores,
    scope: Scope,
    read: Rows | None,
    types: Rows | None = None,
) -> Scores:
    """Return the cosine of each equation of a scope; of a selection only at the places to `read`.

    `types`, if given, are the rows of `index`.
    """
    if scope.rows is None:
        scores = index.scores(vector)
        return scores if types is None else scores.take(types)
    read = np.arange(len(scope)) if read is None else read
    rows = scope.rows[read]
    found = np.zeros(len(scope), np.float32)
    found[read] = index.scores_of(rows if types is None else types[rows], vector)
    return found
