"""Rankers by a sentence encoder: the text around equations, or their LaTeX, against a query."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from eqemb.evaluation.rankers import EQUATION_QUERY, WORD_QUERY, Query, Scores, UnitMatrix
from eqemb.index.encoder import EncoderIndex
from eqemb.index.encoder_models import Encode


class SentenceEncoder:
    """Any text encoder: the cosine of a query in words with a text for each equation."""

    name = "sentence encoder"
    answers = frozenset({WORD_QUERY})

    def __init__(self, encode: Encode, texts: list[str]) -> None:
        self._encode, self._texts = encode, texts

    @cached_property
    def _vectors(self) -> UnitMatrix:
        different = list(dict.fromkeys(self._texts))  # rows of one display have the same text
        place = {text: at for at, text in enumerate(different)}
        return UnitMatrix(self._encode(different)[[place[text] for text in self._texts]])

    def scores(self, query: Query) -> Scores:
        """Return the cosines with the encoded query."""
        return self._vectors.cosines(self._encode([query.text])[0])


class LibraryEncoder:
    """The vectors of an encoder that a library stores: of the text around equations, or of LaTeX.

    Words are compared with either; the LaTeX of an equation only with LaTeX.
    """

    def __init__(self, encoder: EncoderIndex, rows: NDArray[np.int64], *, latex: bool) -> None:
        """`rows` are those of the corpus's equations in the library's index."""
        self.name = SentenceEncoder.name + (", LaTeX" if latex else "")
        self.answers = frozenset({WORD_QUERY, EQUATION_QUERY} if latex else {WORD_QUERY})
        self._score = encoder.formula_scores if latex else encoder.scores
        self._rows = rows

    def scores(self, query: Query) -> Scores:
        """Return the cosines with the encoded query; negative ones as 0."""
        return self._score(query.text)[self._rows].astype(np.float64)
