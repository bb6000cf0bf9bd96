"""Vectors of the base model for a segment: written with its index, read by search.

    base.types.npy    for each equation type its vector, normalised, as float32

They depend on the base model and on the equation alone, so they never change. Queries multiply all
of them; a vector of words is compared with the same vectors, since both are in one space.
"""

from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqemb.formula import Layout
from eqemb.formula.layout import read_canonical
from eqemb.formula.shapes import Shape
from eqemb.index.postings import ArrayWriter, load_array
from eqemb.index.segments import IndexSegments
from eqemb.index.stemming import stem
from eqemb.index.vector_index import VectorIndex
from eqemb.models.base_model import BaseModel

Floats = NDArray[np.float32]


class BaseVectorWriter:
    """Writes the vectors of the types of a segment, one after the other."""

    def __init__(self, folder: Path) -> None:
        self._path, self._model = folder / "base.types.npy", BaseModel()
        self._out = ArrayWriter(self._path, np.float32)

    def add(self, made: Layout, known: Counter[Shape]) -> None:
        """Add a type; `known` are its shapes."""
        self._out.add(self._model.equation_vector(made, known))

    def close(self) -> None:
        """Finish the file."""
        self._out.close()


class BaseVectors:
    """The base model's vectors of a library, opened for reading."""

    def __init__(self, segments: IndexSegments) -> None:
        self._segments = segments

    @cached_property
    def _model(self) -> BaseModel:
        return BaseModel()

    @cached_property
    def _types(self) -> VectorIndex:
        return VectorIndex(
            [
                load_array(part.folder, "base.types").reshape(-1, self._model.dim)
                for part in self._segments
            ]
        )

    def like_equation(self, made: Layout, types: NDArray[Any] | None = None) -> Floats:
        """Return the cosine of every type, or of some, with an equation; negative ones as 0."""
        vector = self._model.equation_vector(read_canonical(made.canonical()))
        return self._types.scores(vector) if types is None else self._types.scores_of(types, vector)

    def like_words(self, words: Iterable[str]) -> Floats | None:
        """Return the cosine of every type with words; None where the model knows none."""
        vector = self._words_vector(words)
        return self._types.scores(vector) if vector.any() else None

    def rank(
        self, words: Iterable[str], types: NDArray[Any], wanted: NDArray[np.bool_]
    ) -> Floats | None:
        """Return the cosine of wanted equations with words, 0 for others; None as `like_words`.

        `types` are the types of the equations.
        """
        vector = self._words_vector(words)
        if not vector.any():
            return None
        found, rows = np.zeros(len(types), np.float32), np.flatnonzero(wanted)
        found[rows] = self._types.scores_of(types[rows], vector)
        return found

    def _words_vector(self, words: Iterable[str]) -> Floats:
        return self._model.stems_vector(dict.fromkeys(map(stem, words), 1.0))
