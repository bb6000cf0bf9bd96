"""Vectors of units trained on formulas alone, and formulas as means of them.

A formula is a text of units, as in b_u: each unit is predicted from those around it, and both rho
and alpha are learned. Used by `arqmath_measures.py` and `ml_categories.py`, whose formulas have no
surrounding text.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from eqemb.formula.tree import Unit
from eqemb.kernels import cpu, draws
from eqemb.kernels.arrays import Floats, PairRule, Rule, TextArrays, Vectors
from eqemb.models import features, glove
from eqemb.models.bernoulli import UNIT_PASS
from eqemb.models.glove import PAIR_PASS

DIM = 100
Bag = Sequence[Unit]


class Learner(NamedTuple):
    """Settings of the training of units."""

    method: str
    """"b_u", or "GloVe"."""
    window: int
    iterations: int
    rate: float

    def learn(self, text: TextArrays, size: int, seed: int) -> tuple[Floats, Floats]:
        """Return rho and alpha of all units."""
        if self.method == "GloVe":
            rule = PairRule(10.0, 0.75, draws.key(seed, PAIR_PASS, 0))
            counts = cpu.pairs_count(text.tokens, text.starts, size, self.window)
            pairs = cpu.pairs_order(counts, rule)
            biased = glove.initial(seed, size, DIM)
            for _ in range(self.iterations):
                cpu.pairs_update(biased, pairs, self.rate)
            return biased.rho, biased.alpha
        rho, alpha = (features.initial(seed, side, size, DIM, 1.0) for side in (0, 1))
        vectors = Vectors(rho, alpha, np.zeros_like(rho), np.zeros_like(alpha))
        for iteration in range(1, self.iterations + 1):
            key = draws.key(seed, UNIT_PASS, iteration)
            cpu.words_update(vectors, text, Rule(self.window, 20, 64, 1024, 0.15, self.rate, key))
        return rho, alpha


class UnitVectors(NamedTuple):
    """Units of formulas, with their vectors."""

    rows: dict[Unit, int]
    rho: Floats
    alpha: Floats
    idf: NDArray[np.float64]

    @classmethod
    def learned(cls, bags: Sequence[Bag], how: Learner, seed: int) -> Self:
        """Train on the formulas themselves, one text of units each."""
        rows: dict[Unit, int] = {}
        tokens = np.array([rows.setdefault(u, len(rows)) for bag in bags for u in bag], np.int32)
        starts = np.cumsum([0, *map(len, bags)])
        text = TextArrays(tokens, starts, draws.noise_table(np.bincount(tokens)))
        found = np.bincount([rows[unit] for bag in bags for unit in set(bag)])
        idf = np.log((len(bags) + 1) / (found + 0.5))
        return cls(rows, *how.learn(text, len(rows), seed), idf)

    def pooled(self, bags: Sequence[Bag], side: str, *, weighted: bool) -> NDArray[np.float64]:
        """Return each formula as the normalised mean of its units; 0 if no unit is known."""
        units: NDArray[Any] = np.asarray(getattr(self, side), np.float64)
        units = lengths_one(units) * (self.idf[:, None] if weighted else 1.0)
        made = np.zeros((len(bags), units.shape[1]))
        for index, bag in enumerate(bags):
            known = [self.rows[unit] for unit in bag if unit in self.rows]
            if known:
                made[index] = units[known].sum(axis=0)
        return lengths_one(made)


def lengths_one(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Normalise rows; rows of zeros are unchanged."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: NDArray[np.float64] = rows / np.where(length > 0, length, 1.0)
    return scaled
