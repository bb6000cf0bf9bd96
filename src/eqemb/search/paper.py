"""A library's model asked as the paper asks: which vectors are compared, and how.

    equation -> words       cosine of rho of the equation and alpha of words
    equation -> equations   Euclidean distance of their alpha
    words -> equations      cosine of the mean of alpha of the words and rho of the equation

EqEmb-U has alpha of equations and rho of words instead: those were trained together. Equations
that came after the model was trained have no vector of their own. NumPy only.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqemb.errors import UsageError
from eqemb.index.postings import load
from eqemb.index.vectors import Meaning, lengthened
from eqemb.models.embeddings import Embeddings
from eqemb.models.pooling import equation_pooling, pooling_scale
from eqemb.models.registry import sides

NO_MODEL = (
    "the library has no model: make it with `eqemb build`, without --no-model, from enough papers"
)

Scores = NDArray[np.float32]


class Paper:
    """A model, and which of its rows each type of the library has."""

    def __init__(self, folder: Path, model: Embeddings) -> None:
        """`folder` is the index that was made with the model."""
        self.model, self._folder = model, folder
        if "alpha_equations" not in model.arrays:
            raise UsageError(f"{model!r} has no vectors of equations: the paper compares those")
        self._word, self._equation = sides(model.config["model"])
        if f"{self._equation}_equations" not in model.arrays:
            self._word = self._equation = "alpha"

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """For each type its row, -1 where the model has none."""
        return load(self._folder, "meaning.equations")

    def notes(self, types: NDArray[Any], words: Iterable[str] = ()) -> list[str]:
        """What of the library and of a query the model does not know."""
        known = self.model.view("words").key_to_index
        lacking = [word for word in dict.fromkeys(words) if word not in known]
        missing = int((self.rows[types] < 0).sum())
        said = [f"the model has no vector for {', '.join(lacking)}"] if lacking else []
        if missing:
            said.append(f"not ranked, for the model has no vector for them: {missing} equations")
        return said

    def equations_for(self, words: Iterable[str]) -> Scores:
        """For each type the cosine with words, 0 where it is negative or not known."""
        view = self.model.view("words", self._word)
        mean = np.zeros(view.vector_size, np.float32)
        for word in words:
            if word in view.key_to_index:
                mean += view.vectors[view.key_to_index[word]]
        return self._spread(lengthened(self._array(self._equation, "equations")) @ lengthened(mean))

    def equations_like(self, vector: NDArray[Any]) -> Scores:
        """For each type how near it is: 1 where the distance is 0, 1/2 where it is 1."""
        away = np.linalg.norm(self._array("alpha", "equations") - vector, axis=1)
        return self._spread(1 / (1 + away))

    def words_for(self, kind: int) -> Scores:
        """For each word of the model the cosine with a type."""
        vector = self._array(self._equation, "equations")[self.rows[kind]]
        cosines: Scores = lengthened(self._array(self._word, "words")) @ lengthened(vector)
        return cosines

    def alpha(self, kind: int | None, units: Sequence[str], meaning: Meaning | None) -> Scores:
        """The vector of a type, or of an equation that has none: folded in by its units."""
        if kind is not None and self.rows[kind] >= 0:
            found: Scores = self._array("alpha", "equations")[self.rows[kind]]
            return found
        if meaning is None or meaning.shapes is None:
            raise UsageError("the model has no vector for this equation, nor for units to make one")
        total, count = meaning.sum_of_units(units)
        scale = pooling_scale(count, equation_pooling(self.model.config))
        return total / np.float32(1 / scale)

    def _spread(self, scores: NDArray[Any]) -> Scores:
        """Scores of the model's rows as scores of types."""
        made: Scores = np.where(self.rows < 0, 0, np.maximum(scores, 0)[self.rows])
        return made.astype(np.float32)

    def _array(self, side: str, kind: str) -> NDArray[Any]:
        return np.asarray(self.model.arrays[f"{side}_{kind}"])
