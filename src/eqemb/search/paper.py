"""Rank by a library's model as the paper does: which vectors are compared, and how.

    equation -> words       cosine of rho of the equation and alpha of words
    equation -> equations   Euclidean distance of their alpha
    words -> equations      cosine of the mean of alpha of the words and rho of the equation

EqEmb-U compares alpha of equations with rho of words instead: those were trained together.
Equations that were added after training have no vector of their own. NumPy only.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqemb.errors import UsageError
from eqemb.index.vector_index import VectorIndex, normalise
from eqemb.index.vectors import VectorSpace
from eqemb.models.embeddings import Embeddings
from eqemb.models.pooling import equation_pooling, pooling_scale
from eqemb.models.registry import sides

NO_MODEL = (
    "the library has no model: build it with `eqemb build`, without --no-model, from enough papers"
)
NO_VECTOR = "the model has no vector for this equation: rank by structure or words instead"

Scores = NDArray[np.float32]


class PaperRanking:
    """A model, and the row that each type of the library has in it."""

    def __init__(self, space: VectorSpace, model: Embeddings) -> None:
        """`space` holds the vectors of the library by this model."""
        self.model, self._space = model, space
        if "alpha_equations" not in model.arrays:
            kind = model.config["model"]
            raise UsageError(
                f"the model ({kind}) has no equation vectors, which this ranking compares"
            )
        self._word, self._equation = sides(model.config["model"])
        if f"{self._equation}_equations" not in model.arrays:
            self._word = self._equation = "alpha"

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """For each type its row, -1 where the model has none."""
        return self._space.equation_rows

    def notes(self, types: NDArray[Any], words: Iterable[str] = ()) -> list[str]:
        """Return notes on words and equations that the model has no vector for."""
        known = self.model.view("words").key_to_index
        lacking = [word for word in dict.fromkeys(words) if word not in known]
        missing = int((self.rows[types] < 0).sum())
        notes = [f"the model has no vector for {', '.join(lacking)}"] if lacking else []
        if missing:
            notes.append(f"equations not ranked, for lack of a vector in the model: {missing}")
        return notes

    def equations_for(self, words: Iterable[str]) -> Scores:
        """Return for each type the cosine with words, 0 where it is negative or unknown."""
        view = self.model.view("words", self._word)
        mean = np.zeros(view.vector_size, np.float32)
        for word in words:
            if word in view.key_to_index:
                mean += view.vectors[view.key_to_index[word]]
        equations = VectorIndex([normalise(self._array(self._equation, "equations"))])
        return self._by_type(equations.scores(normalise(mean)))

    def equations_like(self, vector: NDArray[Any]) -> Scores:
        """Return the closeness of each type: 1 / (1 + distance)."""
        distances = np.linalg.norm(self._array("alpha", "equations") - vector, axis=1)
        return self._by_type(1 / (1 + distances))

    def words_for(self, kind: int) -> Scores:
        """Return for each word of the model the cosine with a type."""
        vector = self._array(self._equation, "equations")[self.rows[kind]]
        cosines: Scores = normalise(self._array(self._word, "words")) @ normalise(vector)
        return cosines

    def alpha(self, kind: int | None, units: Sequence[str]) -> Scores:
        """Return the vector of a type; one without a vector is folded in by its units."""
        if kind is not None and self.rows[kind] >= 0:
            found: Scores = self._array("alpha", "equations")[self.rows[kind]]
            return found
        if not self._space.has_units:
            raise UsageError("the model has no vector for this equation, nor unit vectors to sum")
        total, count = self._space.sum_units(units)
        scale = pooling_scale(count, equation_pooling(self.model.config))
        return total / np.float32(1 / scale)

    def _by_type(self, scores: NDArray[Any]) -> Scores:
        """Convert scores of the model's rows to scores of types."""
        made, known = np.zeros(len(self.rows), np.float32), self.rows >= 0
        made[known] = np.maximum(scores, 0)[self.rows[known]]
        return made

    def _array(self, side: str, kind: str) -> NDArray[Any]:
        return np.asarray(self.model.arrays[f"{side}_{kind}"])
