"""EqEmb-H: an equation is its units and their types, together with a vector for its article.

model = EqEmbH(dim=100, window=4, equation_window=16).fit(corpus, split, seed=0, threads=2)
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eqemb.checks import check_choice, check_number
from eqemb.corpus.corpus import Corpus
from eqemb.errors import UsageError
from eqemb.kernels.arrays import Floats
from eqemb.models import features
from eqemb.models.base import TrainingJob
from eqemb.models.eqemb import BAG_COST, EqEmb
from eqemb.models.features import Members
from eqemb.models.pooling import (
    POOLING,
    Bags,
    concatenate_bags,
    pool_bags,
    singleton_bags,
    unit_bags,
    unit_types,
)

_PART_NAMES = ("one", "units", "types", "own", "articles")
_PART_WEIGHTS = ("unit_weight", "type_weight", "own_weight", "article_weight")


@dataclass(kw_only=True)
class EqEmbH(EqEmb):
    """EqEmb-H, the library's default: units, their types, and the article.

    alpha_e = unit_weight * mean of the alpha of its units
              + type_weight * mean of the alpha of their types
              + own_weight * a vector of its own

    Every word also has article_weight * the vector of its article in its context, whether it is
    near an equation or not. Units share what they learn between equations, and types between
    units; the article keeps what is common to all its words out of both. Words are learned with
    all of this in their contexts (`passes="joint"`).

    Args:
        unit_pooling: "mean", "sum" or "root", as in `EqEmbU`.
        unit_weight: The weight of the units. A part enters contexts, and so its gradients, times
            its weight: less than one shrinks it, 0 leaves it out.
        type_weight: The weight of the types of units.
        article_weight: The weight of the article.
        own_weight: The weight of an equation's own vector; it is 0 because such a vector made the
            scores of held-out words worse.
        control: Keeps the article and replaces the equation: "one" vector for all equations, or
            "shuffled", the units of another one.

    The other settings are those of `EqEmb`.

    Example:
        EqEmbH(window=32, equation_window=32).fit(corpus, split)

    """

    name: ClassVar[str] = "eqemb-h"
    whole: ClassVar[bool] = False

    equation_rate: float = 0.2
    passes: str = "joint"
    unit_pooling: str = "mean"
    unit_weight: float = 1.0
    type_weight: float = 1.0
    article_weight: float = 1.0
    own_weight: float = 0.0

    controls: ClassVar[tuple[str, ...]] = ("", "one", "shuffled")

    def _check(self) -> None:
        super()._check()
        check_choice("unit_pooling", self.unit_pooling, tuple(POOLING))
        weights = {name: value for name, value in vars(self).items() if name in _PART_WEIGHTS}
        for name, value in weights.items():
            check_number(name, value)
        if not any(weights.values()):
            raise UsageError(f"one of {', '.join(_PART_WEIGHTS)} must be above 0")

    def check(self, corpus: Corpus) -> None:
        """Refuse a corpus without units."""
        super().check(corpus)
        if not corpus.units:
            raise UsageError("the corpus has no units: build it with the units of each equation")

    def _second_pass(self, corpus: Corpus) -> tuple[int, float]:
        entries, work = super()._second_pass(corpus)
        words = len(corpus.tokens) if self.article_weight else 0
        return 3 * entries + words, work + BAG_COST * words * (1 + (self.passes == "joint"))

    def _parts(self, corpus: Corpus, seed: int = 0) -> dict[str, Bags]:
        """The bags of each part: one for each equation type, or for each article.

        The number of rows does not depend on the seed.
        """
        starts, ids, types = corpus.unit_starts, corpus.unit_ids, len(corpus.forms)
        articles = _weighted(singleton_bags(len(corpus.articles)), self.article_weight)
        if self.control == "one":
            shared = singleton_bags(types)._replace(ids=np.zeros(types, np.int32), rows=1)
            return {"one": shared} | ({"articles": articles} if self.article_weight else {})
        if self.control == "shuffled":
            starts, ids = features.shuffled(starts, ids, seed)
        kinds, kind = unit_types(corpus.units)
        units = unit_bags(starts, ids, len(corpus.units), self.unit_pooling)
        typed = units._replace(ids=kind[ids], rows=len(kinds))
        parts = {
            "units": _weighted(units, self.unit_weight),
            "types": _weighted(typed, self.type_weight),
            "own": _weighted(singleton_bags(types), self.own_weight),
            "articles": articles,
        }
        return {name: part for name, part in parts.items() if part.scale.any()}

    def _rows(self, corpus: Corpus) -> tuple[int, int]:
        return len(corpus.words), sum(part.rows for part in self._parts(corpus).values())

    def _members(self, corpus: Corpus, seed: int) -> Members:
        parts = self._parts(corpus, seed)
        size = len(corpus.forms)
        columns = len(parts) - ("articles" in parts)
        ids = corpus.equation_types[:, None] + size * np.arange(columns)
        articles = None
        if "articles" in parts:
            articles = (size * columns + np.arange(len(corpus.articles))).astype(np.int32)
        return Members(
            concatenate_bags(list(parts.values())),
            ids.astype(np.int32),
            articles,
            corpus.equation_articles,
        )

    def _kept(self, job: TrainingJob, found: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        kept = {"rho_equations": found["rho"], "zeros_equations": found["zeros"]}
        at, total = 0, np.zeros((len(job.corpus.forms), self.dim), np.float32)
        for name, part in self._parts(job.corpus, job.seed).items():
            kept[f"alpha_{name}"] = np.ascontiguousarray(found["alpha"][at : at + part.rows])
            at += part.rows
            if name != "articles":
                total += pool_bags(kept[f"alpha_{name}"], part)
        return kept | {"alpha_equations": total}

    def _rows_learned(self) -> Floats:
        arrays = self._fitted().arrays
        names = [name for name in _PART_NAMES if f"alpha_{name}" in arrays]
        return np.concatenate([arrays[f"alpha_{name}"] for name in names])


def _weighted(bags: Bags, weight: float) -> Bags:
    return bags._replace(scale=bags.scale * np.float32(weight))
