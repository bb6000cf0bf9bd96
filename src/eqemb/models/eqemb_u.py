"""EqEmb-U: an equation is its units.

model = EqEmbU(dim=100, window=4, equation_window=16).fit(corpus, split, seed=0, threads=2)
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eqemb.checks import check_choice
from eqemb.corpus.corpus import Corpus
from eqemb.errors import UsageError
from eqemb.kernels.arrays import Floats, Rows, Rule, Vectors
from eqemb.models import features
from eqemb.models.base import TrainingJob
from eqemb.models.bernoulli import EQUATION_PASS, UNIT_PASS
from eqemb.models.eqemb import EqEmb
from eqemb.models.features import Members
from eqemb.models.pooling import POOLING, Bags, pool_bags, unit_bags


@dataclass(kw_only=True)
class EqEmbU(EqEmb):
    """EqEmb-U: an equation is its units, which are learned from words and from each other.

    Args:
        unit_window: The number of context units of a unit.
        unit_pooling: How the vectors of units make that of their equation: "mean", "sum", or
            "root", the sum divided by the square root of their number.
        unit_alpha: What the alpha of units is learned from: "words" (b_w alone; b_u then learns
            rho given alpha), "joint" (b_w and b_u with one Adagrad sum, as in the paper) or
            "apart" (both, each with a sum of its own). With one sum the gradients of b_u, which
            no pooling divides, leave almost no step to those of b_w.
        control: "shuffled" gives every equation the units of another one.

    The other settings are those of `EqEmb`.

    Example:
        EqEmbU(dim=50, unit_pooling="sum").fit(corpus, split)

    """

    name: ClassVar[str] = "eqemb-u"
    monitored: ClassVar[str] = "alpha_u"

    equation_rate: float = 0.3
    rho_rate: float = 0.03
    unit_window: int = 4
    unit_pooling: str = "mean"
    unit_alpha: str = "words"

    controls: ClassVar[tuple[str, ...]] = ("", "shuffled")

    def _check(self) -> None:
        super()._check()
        check_choice("unit_pooling", self.unit_pooling, tuple(POOLING))
        check_choice("unit_alpha", self.unit_alpha, ("words", "joint", "apart"))

    def check(self, corpus: Corpus) -> None:
        """Refuse a corpus without units."""
        super().check(corpus)
        if not corpus.units:
            raise UsageError("the corpus has no units: build it with the units of each equation")

    def _rows(self, corpus: Corpus) -> tuple[int, int]:
        return len(corpus.words), len(corpus.units)

    def _second_pass(self, corpus: Corpus) -> tuple[int, float]:
        entries, work = super()._second_pass(corpus)
        often = np.bincount(corpus.equation_types, minlength=len(corpus.forms))
        return entries, work + float((often * np.diff(corpus.unit_starts)).sum())

    def _members(self, corpus: Corpus, seed: int) -> Members:
        return Members(self._bags(corpus, seed, self.unit_pooling), corpus.equation_types[:, None])

    def _bags(self, corpus: Corpus, seed: int, pooling: str) -> Bags:
        starts, ids = corpus.unit_starts, corpus.unit_ids
        if self.control == "shuffled":
            starts, ids = features.shuffled(starts, ids, seed)
        return unit_bags(starts, ids, len(corpus.units), pooling)

    def _train_equations(self, job: TrainingJob, words: Vectors) -> dict[str, NDArray[Any]]:
        """Run the second pass: b_w over words near equations and b_u over units, interleaved."""
        run, corpus = job.run, job.corpus
        if not run.done("units"):
            size = (len(corpus.units), self.dim)
            made = {
                "rho_u": features.initial(job.seed, 3, *size, self.init),
                "alpha_u": features.initial(job.seed, 4, *size, self.init),
                "rho_u_sum": np.zeros(size, np.float32),
                "alpha_u_sum": np.zeros(size, np.float32),
            }
            if self.unit_alpha == "apart":
                made["alpha_u_own_sum"] = np.zeros(size, np.float32)
            run.enter("units", made, self._early_stopping("alpha_u", "rho_u"))
            self._iterate_units(job, words, self._members(corpus, job.seed))
        means = self._bags(corpus, job.seed, "mean")
        found = {"alpha": run.arrays["alpha_u"], "rho": run.arrays["rho_u"]}
        return {f"{side}_units": array for side, array in found.items()} | {
            f"{side}_equations": pool_bags(array, means) for side, array in found.items()
        }

    def _iterate_units(self, job: TrainingJob, words: Vectors, members: Members) -> None:
        now, text = job.run.arrays, job.stream.text
        near = features.near(job.stream, members, self.equation_window)
        units = Vectors(now["rho_u"], now["alpha_u"], now["rho_u_sum"], now["alpha_u_sum"])
        rows = Rows(units.alpha, now.get("alpha_u_own_sum", units.alpha_sum))
        hold_out = job.split is not None
        learned, held = features.unit_texts(job.stream, members.bags, job.seed, hold_out=hold_out)
        kernels, threads = job.kernels, job.threads

        def step(iteration: int) -> dict[str, float]:
            rule = self._rule(job, EQUATION_PASS, iteration, self.equation_rate)
            other = self._unit_rule(job, iteration)
            loss, sizes = {"b_w": 0.0, "b_u": 0.0}, (len(near.positions), len(learned.tokens))
            with kernels.holding(rows, units) as (own, held):
                by_words = partial(
                    kernels.bags_update, own, words, text, near, rule, threads=threads
                )
                by_units = partial(kernels.words_update, held, learned, other, threads=threads)
                for first, second in interleaved(*sizes, rule.batch):
                    if first[0] < first[1]:
                        loss["b_w"] += by_words(first) * (first[1] - first[0])
                    if second[0] < second[1]:
                        loss["b_u"] += by_units(second) * (second[1] - second[0])
            return {name: loss[name] / max(1, size) for name, size in zip(loss, sizes, strict=True)}

        def validate_rho() -> float | None:
            if not len(held.tokens):
                return None
            return -float(kernels.words_loss(units, held, self._unit_rule(job, 0), None, threads))

        validate = {
            "alpha_u": self._validate_near(job, words, members, "alpha_u"),
            "rho_u": validate_rho,
        }
        size = len(near.positions) + len(learned.tokens)
        job.run.iterate(self.iterations, step, validate, job.callback, size)

    def _unit_rule(self, job: TrainingJob, iteration: int) -> Rule:
        shared = self.unit_alpha != "words"  # then b_u learns alpha too, at the rate of alpha
        rule = self._rule(
            job, UNIT_PASS, iteration, self.equation_rate if shared else self.rho_rate
        )
        return rule._replace(window=self.unit_window, learn_alpha=shared)

    def _rows_learned(self) -> Floats:
        found: Floats = self._fitted().arrays["alpha_units"]
        return found


def interleaved(
    words: int, units: int, batch: int
) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Spans of two texts, one batch at a time, such that both end together."""
    turns = max(1, -(-max(words, units) // batch))
    edges = [
        [min(size, -(-size // batch) * turn // turns * batch) for turn in range(turns + 1)]
        for size in (words, units)
    ]
    return [
        ((edges[0][turn], edges[0][turn + 1]), (edges[1][turn], edges[1][turn + 1]))
        for turn in range(turns)
    ]
