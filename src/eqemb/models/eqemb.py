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

from eqemb.corpus.checks import check_choice, check_number
from eqemb.corpus.corpus import Corpus, Ids
from eqemb.corpus.split import VALIDATION, Split, contexts
from eqemb.errors import UsageError
from eqemb.kernels.arrays import Floats, Rows, Rule, Vectors
from eqemb.models import features, likelihood
from eqemb.models.bernoulli import (
    EQUATION_PASS,
    PAPER,
    UNIT_PASS,
    WORD_PASS,
    BernoulliEmbeddings,
    TrainingJob,
    context_sum,
    fixed,
)
from eqemb.models.checkpoint import EarlyStopping
from eqemb.models.embeddings import Embeddings, load_words
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

__all__ = ["PAPER", "BernoulliEmbeddings", "EqEmb", "EqEmbH", "EqEmbU"]


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
    rho_rate: float = 0.2
    """Of the rho of equations or units, which no word's score depends on."""
    control: str = ""
    passes: str = "two"
    """"two": words, then equations; "joint": words with equations in their contexts, then those."""
    words: Embeddings | Path | str | None = None

    controls: ClassVar[tuple[str, ...]] = ("", "one", "article")
    whole: ClassVar[bool] = True
    """Whether an iteration is one step on all words near equations, or goes by batches."""

    def __post_init__(self) -> None:
        if isinstance(self.words, str | Path):
            self.words = load_words(Path(self.words))
        super().__post_init__()

    @property
    def _given(self) -> Embeddings | None:
        return self.words if isinstance(self.words, Embeddings) else None

    def _check(self) -> None:
        super()._check()
        if self.words is not None and not isinstance(self.words, Embeddings):
            kind = type(self.words).__name__
            raise UsageError(f"words is of type {kind}: give embeddings, or the path of some")
        size = self._given.words.vector_size if self._given else self.dim
        if size != self.dim:
            raise UsageError(f"given words have {size} numbers: say dim={size}, not {self.dim}")
        if self.control and self.controls == ("",):
            raise UsageError(f"{self.name} has no control: leave control={self.control!r} out")
        check_choice("control", self.control, self.controls)
        check_choice("passes", self.passes, ("two", "joint"))
        if self.passes == "joint" and self._given:
            raise UsageError("passes='joint' learns words anew: say 'two' where words are given")
        if self.equations != "ignored":
            raise UsageError("equations as tokens are for b-emb: EqEmb has its own second pass")

    def check(self, corpus: Corpus) -> None:
        """Refuse a corpus without equations."""
        super().check(corpus)
        if not len(corpus.forms):
            raise UsageError("the corpus has no equations: train words, or read other articles")
        if self._given and self.words_missing(corpus)["words"] == len(corpus.words):
            raise UsageError("none of the corpus's words has a given vector: give other ones")

    def described(self) -> dict[str, Any]:
        """The settings as they are saved: words from elsewhere by their hash."""
        return super().described() | {"words": self._given.sha256 if self._given else None}

    def words_missing(self, corpus: Corpus) -> dict[str, int]:
        """Words of a corpus that the given ones lack: how many, and how often they occur."""
        have = self._given.words.key_to_index if self._given else corpus.words
        lacking = np.array([word not in have for word in corpus.words], bool)
        return {"words": int(lacking.sum()), "occurrences": int(corpus.counts[lacking].sum())}

    def _embeddings(
        self, job: TrainingJob, config: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> Embeddings:
        made = super()._embeddings(job, config, arrays)
        if self._given:
            made.run["words_missing"] = self.words_missing(job.corpus)
        return made

    def _learn_words(self, job: TrainingJob, alpha: Floats | None = None) -> Vectors:
        if self.passes == "joint":
            return self._learn_jointly(job)
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

    def _learn_jointly(self, job: TrainingJob) -> Vectors:
        """The first pass with equations in the words' contexts.

        In each iteration all words take their steps, equations as they stood at its start, and
        then the equations take theirs.
        """
        attempt, text = job.attempt, job.stream.text
        members = self._members(job.corpus, job.seed)
        if not attempt.done("joint"):
            made = self._first_vectors(job.seed, len(job.corpus.words))
            size = (members.bags.rows, self.dim)
            more = {name: np.zeros(size, np.float32) for name in ("alpha_j", "alpha_j_sum")}
            watch = EarlyStopping(["rho", "alpha", "alpha_j"], self.patience)
            attempt.enter("joint", made | more, {"joint": watch})
            now, kernels = attempt.arrays, job.kernels
            words = Vectors(*(now[name] for name in Vectors._fields))
            rows = Rows(now["alpha_j"], now["alpha_j_sum"])
            near = features.near(job.stream, members, self.equation_window)

            def step(iteration: int) -> dict[str, float]:
                vectors, loss = pool_bags(rows.vectors, members.bags), 0.0
                rule = self._rule(job, WORD_PASS, iteration)
                with kernels.holding(words, rows) as (held, own):
                    for low in range(0, len(text.tokens), 16 * rule.batch):  # offsets are large
                        span = (low, min(low + 16 * rule.batch, len(text.tokens)))
                        part = text._replace(offsets=features.offsets(vectors, near, span))
                        mean = kernels.words_update(held, part, rule, span, job.threads)
                        loss += mean * (span[1] - low) / len(text.tokens)
                    rule = self._rule(job, EQUATION_PASS, iteration, self.equation_rate)
                    kernels.bags_update(
                        own, held, text, near, rule, whole=self.whole, threads=job.threads
                    )
                return {"b_w": loss}

            judges = {"joint": self._judge_near(job, words, members, "alpha_j")}
            attempt.iterate(self.iterations, step, judges, job.callback, len(text.tokens))
            del attempt.arrays["alpha_j"]
        return fixed(attempt.arrays["rho"], attempt.arrays["alpha"])

    def _ids(self, corpus: Corpus) -> tuple[Ids, int]:
        """What each occurrence counts as, and how many of those there are."""
        if self.control == "one":
            return np.zeros(len(corpus.equation_types), np.int32), 1
        if self.control == "article":
            return corpus.equation_articles.astype(np.int32), len(corpus.articles)
        return corpus.equation_types, len(corpus.forms)

    def _rows(self, corpus: Corpus) -> tuple[int, int]:
        return len(corpus.words), self._ids(corpus)[1]

    def _second_pass(self, corpus: Corpus) -> tuple[int, float]:
        entries = len(corpus.equation_types) * self.equation_window
        joint = self.passes == "joint"
        return entries, _BAG * entries * (1 + joint)

    def _members(self, corpus: Corpus, seed: int) -> Members:
        """The rows that are learned, and which of them each occurrence has."""
        del seed
        ids, size = self._ids(corpus)
        return Members(singleton_bags(size), ids[:, None])

    def _learn(self, job: TrainingJob) -> dict[str, NDArray[Any]]:
        words = self._learn_words(job)
        arrays: dict[str, NDArray[Any]] = {"rho_words": words.rho, "alpha_words": words.alpha}
        return arrays | self._learn_equations(job, words)

    def _learn_equations(self, job: TrainingJob, words: Vectors) -> dict[str, NDArray[Any]]:
        """The second pass: alpha_e as part of words' contexts, rho_e given its own context."""
        attempt = job.attempt
        ids, size = self._ids(job.corpus)
        members = self._members(job.corpus, job.seed)
        text = job.stream.text
        near = features.near(job.stream, members, self.equation_window)
        sums = features.context_sums(words.alpha, job.stream, self.equation_window)
        zeros = features.context_zeros(ids, self.negatives, job.seed)
        read = features.contexts(sums, ids, size, zeros)
        made = {
            f"{name}{more}": np.zeros((rows, self.dim), np.float32)
            for name, rows in (("alpha_e", members.bags.rows), ("rho_e", size))
            for more in ("", "_sum")
        }
        if not attempt.done("equations"):
            attempt.enter("equations", made, self._watches("alpha_e", "rho_e"))
            now = attempt.arrays
            alpha, rho = (
                Rows(now["alpha_e"], now["alpha_e_sum"]),
                Rows(now["rho_e"], now["rho_e_sum"]),
            )

            def step(iteration: int) -> dict[str, float]:
                rule = self._rule(job, EQUATION_PASS, iteration, self.equation_rate)
                loss = {}
                if not attempt.watches["alpha_e"].stopped:
                    loss["b_w"] = job.kernels.bags_update(
                        alpha, words, text, near, rule, whole=self.whole, threads=job.threads
                    )
                if not attempt.watches["rho_e"].stopped:
                    own = rule._replace(rate=self.rho_rate)
                    loss["b_e"] = job.kernels.contexts_update(rho, read, own, job.threads)
                return loss

            judges = {
                "alpha_e": self._judge_near(job, words, members, "alpha_e"),
                "rho_e": self._judge_rho(job, words),
            }
            attempt.iterate(self.iterations, step, judges, job.callback, len(near.positions))
        found = attempt.arrays
        kept = {"alpha": found["alpha_e"], "rho": found["rho_e"], "zeros": zeros.astype(np.int32)}
        return self._kept(job.corpus, kept)

    def _kept(self, corpus: Corpus, found: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """What was learned, by the names under which it is saved."""
        del corpus
        return {f"{name}_{self.control or 'equations'}": array for name, array in found.items()}

    def _rows_learned(self) -> Floats:
        """The rows of `_members`, from what was saved."""
        found: Floats = self._fitted().arrays[f"alpha_{self.control or 'equations'}"]
        return found

    def _watches(self, *names: str) -> dict[str, EarlyStopping]:
        """Each of these arrays keeps its own best iteration."""
        return {name: EarlyStopping([name], self.patience) for name in names}

    def _judge_near(
        self, job: TrainingJob, words: Vectors, members: Members, name: str
    ) -> Callable[[], float | None]:
        """The validation score of words with their equation in the context."""
        if job.split is None or not job.split.of(VALIDATION).any():
            return lambda: None
        split, part = job.split, job.split.of(VALIDATION)
        around = contexts(job.corpus, split, self.window - 1)[part]
        occurrences = split.occurrences[part]

        def judge() -> float:
            context = context_sum(words.alpha, around)
            context += features.added(job.attempt.arrays[name], members, occurrences)
            scored = likelihood.score(words.rho, split.words[part], split.negatives[part], context)
            return self._mean(scored)

        return judge

    def _judge_rho(self, job: TrainingJob, words: Vectors) -> Callable[[], float | None]:
        """The log-likelihood of b_e on validation words: each type's own against others'."""
        if job.split is None or not job.split.of(VALIDATION).any():
            return lambda: None
        split, part = job.split, job.split.of(VALIDATION)
        ids = self._ids(job.corpus)[0][split.occurrences[part]]
        zeros = features.context_zeros(ids, 20, job.seed + 1)
        if not zeros.shape[1]:  # one vector for all has no others
            return lambda: None
        context = words.alpha[split.words[part]].astype(np.float64)

        def judge() -> float:
            rho = job.attempt.arrays["rho_e"][ids].astype(np.float64)
            own = np.einsum("hk,hk->h", rho, context)
            others = np.empty(zeros.shape)
            for slot, column in enumerate(zeros.T):
                others[:, slot] = np.einsum("hk,hk->h", rho, context[column])
            return float(likelihood.logistic(likelihood.HeldOutScores(own, others)).mean())

        return judge

    def _near_vectors(self, corpus: Corpus, split: Split) -> Floats:
        members = self._members(corpus, self._fitted().config["seed"])
        return features.added(self._rows_learned(), members, split.occurrences)


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

    def _learn_equations(self, job: TrainingJob, words: Vectors) -> dict[str, NDArray[Any]]:
        """The second pass: b_w over words near equations and b_u over units, interleaved."""
        attempt, corpus = job.attempt, job.corpus
        if not attempt.done("units"):
            size = (len(corpus.units), self.dim)
            made = {
                "rho_u": features.initial(job.seed, 3, *size, self.init),
                "alpha_u": features.initial(job.seed, 4, *size, self.init),
                "rho_u_sum": np.zeros(size, np.float32),
                "alpha_u_sum": np.zeros(size, np.float32),
            }
            if self.unit_alpha == "apart":
                made["alpha_u_own_sum"] = np.zeros(size, np.float32)
            attempt.enter("units", made, self._watches("alpha_u", "rho_u"))
            self._iterate_units(job, words, self._members(corpus, job.seed))
        means = self._bags(corpus, job.seed, "mean")
        found = {"alpha": attempt.arrays["alpha_u"], "rho": attempt.arrays["rho_u"]}
        return {f"{side}_units": array for side, array in found.items()} | {
            f"{side}_equations": pool_bags(array, means) for side, array in found.items()
        }

    def _iterate_units(self, job: TrainingJob, words: Vectors, members: Members) -> None:
        now, text = job.attempt.arrays, job.stream.text
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

        def judge_rho() -> float | None:
            if not len(held.tokens):
                return None
            return -float(kernels.words_loss(units, held, self._unit_rule(job, 0), None, threads))

        judges = {"alpha_u": self._judge_near(job, words, members, "alpha_u"), "rho_u": judge_rho}
        size = len(near.positions) + len(learned.tokens)
        job.attempt.iterate(self.iterations, step, judges, job.callback, size)

    def _unit_rule(self, job: TrainingJob, iteration: int) -> Rule:
        shared = self.unit_alpha != "words"  # then b_u teaches alpha too, at alpha's rate
        rule = self._rule(
            job, UNIT_PASS, iteration, self.equation_rate if shared else self.rho_rate
        )
        return rule._replace(window=self.unit_window, learn_alpha=shared)

    def _rows_learned(self) -> Floats:
        found: Floats = self._fitted().arrays["alpha_units"]
        return found


_BAG = 3.0  # what an entry of a bag costs, beside a word of the first pass
_WEIGHTS = ("unit_weight", "type_weight", "own_weight", "article_weight")


@dataclass(kw_only=True)
class EqEmbH(EqEmb):
    """EqEmb-H, ours: an equation is its units and their types, beside the article of its words.

    alpha_e = unit_weight * mean of its units' alpha + type_weight * mean of their types' alpha
              + own_weight * a vector of its own

    and every word has article_weight * the vector of its article in its context, whether it is near
    an equation or not. A part enters contexts, and so its gradients, times its weight: a weight
    below one shrinks it, a weight of 0 leaves it out. Units share strength between equations, types
    between units; the article keeps what it says about all its words out of both. Words are learned
    with all of this in their contexts (`passes="joint"`). A vector of its own beside them made
    scores of held-out words worse, and is left out unless asked for.
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

    controls: ClassVar[tuple[str, ...]] = ("",)

    def _check(self) -> None:
        super()._check()
        check_choice("unit_pooling", self.unit_pooling, tuple(POOLING))
        weights = {name: value for name, value in vars(self).items() if name in _WEIGHTS}
        for name, value in weights.items():
            check_number(name, value)
        if not any(weights.values()):
            raise UsageError(f"all of {', '.join(_WEIGHTS)} are 0: nothing is left of the equation")

    def check(self, corpus: Corpus) -> None:
        """Refuse a corpus without units."""
        super().check(corpus)
        if not corpus.units:
            raise UsageError("the corpus has no units: build it with the units of each equation")

    def _second_pass(self, corpus: Corpus) -> tuple[int, float]:
        entries, work = super()._second_pass(corpus)
        words = len(corpus.tokens) if self.article_weight else 0
        return 3 * entries + words, work + _BAG * words * (1 + (self.passes == "joint"))

    def _parts(self, corpus: Corpus) -> dict[str, Bags]:
        """The rows of each part; all but articles have a bag for each type."""
        starts, ids, types = corpus.unit_starts, corpus.unit_ids, len(corpus.forms)
        kinds, kind = unit_types(corpus.units)
        units = unit_bags(starts, ids, len(corpus.units), self.unit_pooling)
        typed = units._replace(ids=kind[ids], rows=len(kinds))
        parts = {
            "units": _weighted(units, self.unit_weight),
            "types": _weighted(typed, self.type_weight),
            "own": _weighted(singleton_bags(types), self.own_weight),
            "articles": _weighted(singleton_bags(len(corpus.articles)), self.article_weight),
        }
        return {name: part for name, part in parts.items() if part.scale.any()}

    def _rows(self, corpus: Corpus) -> tuple[int, int]:
        return len(corpus.words), sum(part.rows for part in self._parts(corpus).values())

    def _members(self, corpus: Corpus, seed: int) -> Members:
        del seed
        parts = self._parts(corpus)
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

    def _kept(self, corpus: Corpus, found: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        kept = {"rho_equations": found["rho"], "zeros_equations": found["zeros"]}
        at, total = 0, np.zeros((len(corpus.forms), self.dim), np.float32)
        for name, part in self._parts(corpus).items():
            kept[f"alpha_{name}"] = np.ascontiguousarray(found["alpha"][at : at + part.rows])
            at += part.rows
            if name != "articles":
                total += pool_bags(kept[f"alpha_{name}"], part)
        return kept | {"alpha_equations": total}

    def _rows_learned(self) -> Floats:
        arrays = self._fitted().arrays
        names = [
            name for name in ("units", "types", "own", "articles") if f"alpha_{name}" in arrays
        ]
        return np.concatenate([arrays[f"alpha_{name}"] for name in names])


def _weighted(bags: Bags, weight: float) -> Bags:
    return bags._replace(scale=bags.scale * np.float32(weight))


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
