"""EqEmb and EqEmb-U: words first, then equations with the words held fixed.

model = EqEmbU(dim=100, window=4, equation_window=16).fit(corpus, split, seed=0, threads=2)
model.embeddings_.save(Path("model"))
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eqemb import scores, training
from eqemb.bernoulli import (
    EQUATIONS,
    PAPER,
    UNITS,
    BernoulliEmbeddings,
    Job,
    context_sum,
    fixed,
)
from eqemb.corpus import Corpus, Ids
from eqemb.embeddings import Embeddings, load_words
from eqemb.errors import UsageError
from eqemb.kernels.arrays import Floats, Rows, Rule, Vectors
from eqemb.split import VALIDATION, Split, contexts
from eqemb.training import Bags, Watch

__all__ = ["PAPER", "BernoulliEmbeddings", "EqEmb", "EqEmbU"]


@dataclass(kw_only=True)
class EqEmb(BernoulliEmbeddings):
    """EqEmb: every equation type has a rho and an alpha, learned with the words fixed.

    `control` replaces what an equation is: "one" vector for all, or one for each "article".
    `words` come from elsewhere: embeddings, or the path of a model's folder, stand in for the first
    pass. The path of a file of vectors (word2vec's text, GloVe's, fastText's) gives one vector to
    a word: it is held fixed as alpha, and the first pass learns rho. A word that is not among
    them has an alpha of zeros; `words_missing` counts those.
    """

    name: ClassVar[str] = "eqemb"
    judged: ClassVar[str] = "alpha_e"

    equation_window: int = 16
    equation_rate: float = 0.2
    control: str = ""
    words: Embeddings | Path | str | None = None

    controls: ClassVar[tuple[str, ...]] = ("", "one", "article")

    def __post_init__(self) -> None:
        if isinstance(self.words, str | Path):
            self.words = load_words(Path(self.words))
        super().__post_init__()

    @property
    def _given(self) -> Embeddings | None:
        return self.words if isinstance(self.words, Embeddings) else None

    def _check(self) -> None:
        super()._check()
        size = self._given.words.vector_size if self._given else self.dim
        if size != self.dim:
            raise UsageError(f"given words have {size} numbers: say dim={size}, not {self.dim}")
        if self.control not in self.controls:
            raise UsageError(f"control={self.control!r}: say one of {', '.join(self.controls)}")
        if self.equation_rate <= 0:
            raise UsageError(f"equation_rate={self.equation_rate}: must be above 0")
        if self.equations != "ignored":
            raise UsageError("equations as tokens are for b-emb: EqEmb has its own second pass")

    def check(self, corpus: Corpus) -> None:
        """Refuse a corpus without equations."""
        super().check(corpus)
        if not len(corpus.forms):
            raise UsageError("the corpus has no equations: train words, or read other articles")

    def _described(self) -> dict[str, Any]:
        return self.get_params() | {"words": self._given.sha256 if self._given else None}

    def words_missing(self, corpus: Corpus) -> dict[str, int]:
        """Words of a corpus that the given ones lack: how many, and how often they occur."""
        have = self._given.words.key_to_index if self._given else corpus.words
        lacking = np.array([word not in have for word in corpus.words], bool)
        return {"words": int(lacking.sum()), "occurrences": int(corpus.counts[lacking].sum())}

    def _embeddings(
        self, job: Job, config: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> Embeddings:
        made = super()._embeddings(job, config, arrays)
        if self._given:
            made.run["words_missing"] = self.words_missing(job.corpus)
        return made

    def _learn_words(self, job: Job, alpha: Floats | None = None) -> Vectors:
        if self._given is None:
            return super()._learn_words(job, alpha)
        given, arrays = self._given.words.key_to_index, self._given.arrays
        rows = np.array([given.get(word, -1) for word in job.corpus.words])
        made = {
            side: np.where(rows[:, None] >= 0, arrays[f"{side}_words"][rows], np.float32(0.0))
            for side in ("rho", "alpha")
            if f"{side}_words" in arrays
        }
        if "rho" not in made:
            return super()._learn_words(job, made["alpha"])
        return fixed(made["rho"], made["alpha"])

    def _ids(self, corpus: Corpus) -> tuple[Ids, int]:
        """What each occurrence counts as, and how many of those there are."""
        if self.control == "one":
            return np.zeros(len(corpus.equation_types), np.int32), 1
        if self.control == "article":
            return corpus.equation_articles.astype(np.int32), len(corpus.articles)
        return corpus.equation_types, len(corpus.forms)

    def _rows(self, corpus: Corpus) -> tuple[int, int]:
        return len(corpus.words), self._ids(corpus)[1]

    def _bags(self, corpus: Corpus, seed: int) -> Bags:
        del seed
        return training.single(self._ids(corpus)[1])

    def _learn(self, job: Job) -> dict[str, NDArray[Any]]:
        words = self._learn_words(job)
        arrays: dict[str, NDArray[Any]] = {"rho_words": words.rho, "alpha_words": words.alpha}
        return arrays | self._learn_equations(job, words)

    def _learn_equations(self, job: Job, words: Vectors) -> dict[str, NDArray[Any]]:
        """The second pass: alpha_e as part of words' contexts, rho_e given its own context."""
        attempt = job.attempt
        ids, size = self._ids(job.corpus)
        bags = self._bags(job.corpus, job.seed)
        text = job.stream.text
        near = training.near(job.stream, ids, bags, self.equation_window)
        sums = training.context_sums(words.alpha, job.stream, self.equation_window)
        zeros = training.context_zeros(ids, self.negatives, job.seed)
        read = training.contexts(sums, ids, size, zeros)
        blank = ("alpha_e", "alpha_e_sum", "rho_e", "rho_e_sum")
        made = {name: np.zeros((size, self.dim), np.float32) for name in blank}
        if not attempt.done("equations"):
            attempt.enter("equations", made, self._watches("alpha_e", "rho_e"))
            now = attempt.arrays
            alpha, rho = (
                Rows(now["alpha_e"], now["alpha_e_sum"]),
                Rows(now["rho_e"], now["rho_e_sum"]),
            )

            def step(iteration: int) -> dict[str, float]:
                rule = self._rule(job, EQUATIONS, iteration, self.equation_rate)
                loss = {}
                if not attempt.watches["alpha_e"].stopped:
                    loss["b_w"] = job.kernels.bags_update(
                        alpha, words, text, near, rule, whole=True, threads=job.threads
                    )
                if not attempt.watches["rho_e"].stopped:
                    loss["b_e"] = job.kernels.contexts_update(rho, read, rule, job.threads)
                return loss

            judges = {
                "alpha_e": self._judge_near(job, words, bags, "alpha_e"),
                "rho_e": self._judge_rho(job, words),
            }
            attempt.iterate(self.iterations, step, judges, job.callback, len(near.positions))
        found = attempt.arrays
        kept = {"alpha": found["alpha_e"], "rho": found["rho_e"], "zeros": zeros.astype(np.int32)}
        return {f"{name}_{self.control or 'equations'}": array for name, array in kept.items()}

    def _watches(self, *names: str) -> dict[str, Watch]:
        """Each of these arrays keeps its own best iteration."""
        return {name: Watch([name], self.patience) for name in names}

    def _judge_near(
        self, job: Job, words: Vectors, bags: Bags, name: str
    ) -> Callable[[], float | None]:
        """The validation score of words with their equation in the context."""
        if job.split is None or not job.split.of(VALIDATION).any():
            return lambda: None
        split, part = job.split, job.split.of(VALIDATION)
        base = context_sum(words.alpha, contexts(job.corpus, split, self.window - 1)[part])
        ids = self._ids(job.corpus)[0][split.occurrences[part]]

        def judge() -> float:
            context = base + training.pool(job.attempt.arrays[name], bags)[ids]
            scored = scores.score(words.rho, split.words[part], split.negatives[part], context)
            return self._mean(scored)

        return judge

    def _judge_rho(self, job: Job, words: Vectors) -> Callable[[], float | None]:
        """The log-likelihood of b_e on validation words: each type's own against others'."""
        if job.split is None or not job.split.of(VALIDATION).any():
            return lambda: None
        split, part = job.split, job.split.of(VALIDATION)
        ids = self._ids(job.corpus)[0][split.occurrences[part]]
        zeros = training.context_zeros(ids, 20, job.seed + 1)
        if not zeros.shape[1]:  # one vector for all has no others
            return lambda: None
        context = words.alpha[split.words[part]].astype(np.float64)

        def judge() -> float:
            rho = job.attempt.arrays["rho_e"][ids].astype(np.float64)
            own = np.einsum("hk,hk->h", rho, context)
            others = np.empty(zeros.shape)
            for slot, column in enumerate(zeros.T):
                others[:, slot] = np.einsum("hk,hk->h", rho, context[column])
            return float(scores.logistic(scores.Scored(own, others)).mean())

        return judge

    def _near_vectors(self, corpus: Corpus, split: Split) -> Floats:
        ids = self._ids(corpus)[0][split.occurrences]
        found: Floats = self._fitted().arrays[f"alpha_{self.control or 'equations'}"][ids]
        return found


@dataclass(kw_only=True)
class EqEmbU(EqEmb):
    """EqEmb-U: an equation is its units; units are learned from words and from each other.

    `unit_alpha` says what teaches the units' alpha: "words" (b_w alone; b_u then learns rho given
    alpha), "joint" (b_w and b_u with one Adagrad sum, the paper's letter) or "apart" (both, each
    with a sum of its own). With one sum b_u's gradients, which no pooling divides, leave those of
    b_w next to no step. `control="shuffled"` gives every equation the units of another.
    """

    name: ClassVar[str] = "eqemb-u"
    judged: ClassVar[str] = "alpha_u"

    equation_rate: float = 0.3
    unit_window: int = 4
    unit_pooling: str = "mean"
    unit_alpha: str = "words"

    controls: ClassVar[tuple[str, ...]] = ("", "shuffled")

    def _check(self) -> None:
        super()._check()
        if self.unit_pooling not in ("sum", "mean", "root"):
            raise UsageError(f"unit_pooling={self.unit_pooling!r}: say 'sum', 'mean' or 'root'")
        if self.unit_alpha not in ("words", "joint", "apart"):
            raise UsageError(f"unit_alpha={self.unit_alpha!r}: say 'words', 'joint' or 'apart'")

    def check(self, corpus: Corpus) -> None:
        """Refuse a corpus without units."""
        super().check(corpus)
        if not corpus.units:
            raise UsageError("the corpus has no units: build it with the units of each equation")

    def _rows(self, corpus: Corpus) -> tuple[int, int]:
        return len(corpus.words), len(corpus.units)

    def _bags(self, corpus: Corpus, seed: int, pooling: str | None = None) -> Bags:
        starts, ids = corpus.unit_starts, corpus.unit_ids
        if self.control == "shuffled":
            starts, ids = training.shuffled(starts, ids, seed)
        return training.pooled(starts, ids, len(corpus.units), pooling or self.unit_pooling)

    def _learn_equations(self, job: Job, words: Vectors) -> dict[str, NDArray[Any]]:
        """The second pass: b_w over words near equations and b_u over units, interleaved."""
        attempt, corpus = job.attempt, job.corpus
        bags = self._bags(corpus, job.seed)
        if not attempt.done("units"):
            size = (bags.rows, self.dim)
            made = {
                "rho_u": training.initial(job.seed, 3, *size, self.init),
                "alpha_u": training.initial(job.seed, 4, *size, self.init),
                "rho_u_sum": np.zeros(size, np.float32),
                "alpha_u_sum": np.zeros(size, np.float32),
            }
            if self.unit_alpha == "apart":
                made["alpha_u_own_sum"] = np.zeros(size, np.float32)
            attempt.enter("units", made, self._watches("alpha_u", "rho_u"))
            self._iterate_units(job, words, bags)
        means = self._bags(corpus, job.seed, "mean")
        found = {"alpha": attempt.arrays["alpha_u"], "rho": attempt.arrays["rho_u"]}
        return {f"{side}_units": array for side, array in found.items()} | {
            f"{side}_equations": training.pool(array, means) for side, array in found.items()
        }

    def _iterate_units(self, job: Job, words: Vectors, bags: Bags) -> None:
        now, text = job.attempt.arrays, job.stream.text
        near = training.near(job.stream, job.corpus.equation_types, bags, self.equation_window)
        units = Vectors(now["rho_u"], now["alpha_u"], now["rho_u_sum"], now["alpha_u_sum"])
        rows = Rows(units.alpha, now.get("alpha_u_own_sum", units.alpha_sum))
        hold_out = job.split is not None
        learned, held = training.unit_texts(job.stream, bags, job.seed, hold_out=hold_out)
        kernels, threads = job.kernels, job.threads

        def step(iteration: int) -> dict[str, float]:
            rule = self._rule(job, EQUATIONS, iteration, self.equation_rate)
            other = self._unit_rule(job, iteration)
            by_words = partial(kernels.bags_update, rows, words, text, near, rule, threads=threads)
            by_units = partial(kernels.words_update, units, learned, other, threads=threads)
            loss = {"b_w": 0.0, "b_u": 0.0}
            for first, second in interleaved(len(near.positions), len(learned.tokens), rule.batch):
                if first[0] < first[1]:
                    loss["b_w"] += by_words(first) * (first[1] - first[0])
                if second[0] < second[1]:
                    loss["b_u"] += by_units(second) * (second[1] - second[0])
            sizes = len(near.positions), len(learned.tokens)
            return {name: loss[name] / max(1, size) for name, size in zip(loss, sizes, strict=True)}

        def judge_rho() -> float | None:
            if not len(held.tokens):
                return None
            return -float(kernels.words_loss(units, held, self._unit_rule(job, 0), None, threads))

        judges = {"alpha_u": self._judge_near(job, words, bags, "alpha_u"), "rho_u": judge_rho}
        size = len(near.positions) + len(learned.tokens)
        job.attempt.iterate(self.iterations, step, judges, job.callback, size)

    def _unit_rule(self, job: Job, iteration: int) -> Rule:
        rule = self._rule(job, UNITS, iteration, self.equation_rate)
        return rule._replace(window=self.unit_window, learn_alpha=self.unit_alpha != "words")

    def _near_vectors(self, corpus: Corpus, split: Split) -> Floats:
        bags = self._bags(corpus, self._fitted().config["seed"])
        return training.pool(self._fitted().arrays["alpha_units"], bags)[split.types]


def interleaved(
    words: int, units: int, batch: int
) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Spans of both texts, batch by batch, so that they end together."""
    turns = max(1, -(-max(words, units) // batch))
    edges = [
        [min(size, -(-size // batch) * turn // turns * batch) for turn in range(turns + 1)]
        for size in (words, units)
    ]
    return [
        ((edges[0][turn], edges[0][turn + 1]), (edges[1][turn], edges[1][turn + 1]))
        for turn in range(turns)
    ]
