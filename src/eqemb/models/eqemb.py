"""EqEmb: words first, then equations with the words held fixed.

model = EqEmb(dim=100, window=4, equation_window=16).fit(corpus, split, seed=0, threads=2)
model.embeddings_.save(Path("model"))
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eqemb.checks import check_choice
from eqemb.corpus.corpus import Corpus, Ids
from eqemb.corpus.split import VALIDATION, Split, contexts
from eqemb.errors import UsageError
from eqemb.kernels.arrays import Floats, Rows, Vectors
from eqemb.models import features, likelihood
from eqemb.models.base import TrainingJob, context_sum
from eqemb.models.bernoulli import EQUATION_PASS, WORD_PASS, BernoulliEmbeddings, fixed
from eqemb.models.checkpoint import EarlyStopping
from eqemb.models.embeddings import Embeddings, load_words
from eqemb.models.features import Members
from eqemb.models.pooling import pool_bags, singleton_bags

#: The cost of an entry of a bag, in words of the first pass.
BAG_COST = 3.0


@dataclass(kw_only=True)
class EqEmb(BernoulliEmbeddings):
    """EqEmb: every equation type has a rho and an alpha, learned with the words held fixed.

    Args:
        equation_window: E, the number of context words of an equation.
        equation_rate: The learning rate of the second pass.
        rho_rate: The learning rate of the rho of equations or units, which no score of a word
            depends on.
        control: Replaces the equations by a control: "one" vector for all of them, or one for
            each "article".
        passes: "two": words, then equations; "joint": words with equations in their contexts,
            then equations.
        words: Word vectors from elsewhere. Embeddings, or the path of a model's folder, replace
            the first pass. The path of a file of vectors (text of word2vec, GloVe or fastText)
            gives one vector to a word: it is held fixed as alpha, and the first pass learns rho.
            A word without a vector has an alpha of zeros; `words_missing` counts those.

    The other settings are those of `BernoulliEmbeddings`.

    Example:
        EqEmb(equation_window=32, words="library/models/words").fit(corpus, split)

    """

    name: ClassVar[str] = "eqemb"
    monitored: ClassVar[str] = "alpha_e"

    equation_window: int = 16
    equation_rate: float = 0.2
    rho_rate: float = 0.2
    control: str = ""
    passes: str = "two"
    words: Embeddings | Path | str | None = None

    controls: ClassVar[tuple[str, ...]] = ("", "one", "article")
    whole: ClassVar[bool] = True
    """Whether an iteration is one step on all words near equations, or one for each batch."""

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
            raise UsageError(f"words must be embeddings or the path of some, not {kind}")
        size = self._given.words.vector_size if self._given else self.dim
        if size != self.dim:
            raise UsageError(
                f"the given words have {size} dimensions, not {self.dim}: pass dim={size}"
            )
        check_choice("control", self.control, self.controls)
        check_choice("passes", self.passes, ("two", "joint"))
        if self.passes == "joint" and self._given:
            raise UsageError("passes='joint' learns the words: pass passes='two' with given words")
        if self.equations != "ignored":
            raise UsageError(f"equations='tokens' is for b-emb: leave it out for {self.name}")

    def check(self, corpus: Corpus) -> None:
        """Refuse a corpus without equations, or without a given word."""
        super().check(corpus)
        if not len(corpus.forms):
            raise UsageError("the corpus has no equations: train words, or read other articles")
        if self._given and self.words_missing(corpus)["words"] == len(corpus.words):
            raise UsageError("no word of the corpus has a given vector: give other word vectors")

    def saved_settings(self) -> dict[str, Any]:
        """The settings as config.json has them; given words by their hash."""
        return super().saved_settings() | {"words": self._given.sha256 if self._given else None}

    def words_missing(self, corpus: Corpus) -> dict[str, int]:
        """How many words of a corpus have no given vector, and how often they occur."""
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

    def _train_words(self, job: TrainingJob, alpha: Floats | None = None) -> Vectors:
        if self.passes == "joint":
            return self._train_jointly(job)
        if self._given is None:
            return super()._train_words(job, alpha)
        given, arrays = self._given.words.key_to_index, self._given.arrays
        rows = np.array([given.get(word, -1) for word in job.corpus.words])
        made = {
            side: np.where(rows[:, None] >= 0, arrays[f"{side}_words"][rows], np.float32(0.0))
            for side in ("rho", "alpha")
            if f"{side}_words" in arrays
        }
        if "rho" not in made:
            return super()._train_words(job, made["alpha"])
        return fixed(made["rho"], made["alpha"])

    def _train_jointly(self, job: TrainingJob) -> Vectors:
        """Run the first pass with equations in the contexts of words.

        In each iteration all words are stepped, given the equations as they were at its start, and
        then the equations are.
        """
        run, text = job.run, job.stream.text
        members = self._members(job.corpus, job.seed)
        if not run.done("joint"):
            made = self._first_vectors(job.seed, len(job.corpus.words))
            size = (members.bags.rows, self.dim)
            more = {name: np.zeros(size, np.float32) for name in ("alpha_j", "alpha_j_sum")}
            watch = EarlyStopping(["rho", "alpha", "alpha_j"], self.patience)
            run.enter("joint", made | more, {"joint": watch})
            now, kernels = run.arrays, job.kernels
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

            validate = {"joint": self._validate_near(job, words, members, "alpha_j")}
            run.iterate(self.iterations, step, validate, job.callback, len(text.tokens))
            del run.arrays["alpha_j"]
        return fixed(run.arrays["rho"], run.arrays["alpha"])

    def _ids(self, corpus: Corpus) -> tuple[Ids, int]:
        """The id of each occurrence, and the number of ids."""
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
        return entries, BAG_COST * entries * (1 + joint)

    def _members(self, corpus: Corpus, seed: int) -> Members:
        """The rows that are learned, and those that each occurrence is made of."""
        del seed
        ids, size = self._ids(corpus)
        return Members(singleton_bags(size), ids[:, None])

    def _train(self, job: TrainingJob) -> dict[str, NDArray[Any]]:
        words = self._train_words(job)
        arrays: dict[str, NDArray[Any]] = {"rho_words": words.rho, "alpha_words": words.alpha}
        return arrays | self._train_equations(job, words)

    def _train_equations(self, job: TrainingJob, words: Vectors) -> dict[str, NDArray[Any]]:
        """Run the second pass: alpha_e in the contexts of words, rho_e given its own context."""
        run = job.run
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
        if not run.done("equations"):
            run.enter("equations", made, self._early_stopping("alpha_e", "rho_e"))
            now = run.arrays
            alpha, rho = (
                Rows(now["alpha_e"], now["alpha_e_sum"]),
                Rows(now["rho_e"], now["rho_e_sum"]),
            )

            def step(iteration: int) -> dict[str, float]:
                rule = self._rule(job, EQUATION_PASS, iteration, self.equation_rate)
                loss = {}
                if not run.watches["alpha_e"].stopped:
                    loss["b_w"] = job.kernels.bags_update(
                        alpha, words, text, near, rule, whole=self.whole, threads=job.threads
                    )
                if not run.watches["rho_e"].stopped:
                    own = rule._replace(rate=self.rho_rate)
                    loss["b_e"] = job.kernels.contexts_update(rho, read, own, job.threads)
                return loss

            validate = {
                "alpha_e": self._validate_near(job, words, members, "alpha_e"),
                "rho_e": self._validate_rho(job, words),
            }
            run.iterate(self.iterations, step, validate, job.callback, len(near.positions))
        found = run.arrays
        kept = {"alpha": found["alpha_e"], "rho": found["rho_e"], "zeros": zeros.astype(np.int32)}
        return self._kept(job, kept)

    def _kept(self, job: TrainingJob, found: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """The learned arrays by the names under which they are saved."""
        del job
        return {f"{name}_{self.control or 'equations'}": array for name, array in found.items()}

    def _rows_learned(self) -> Floats:
        """The rows of `_members`, from the saved arrays."""
        found: Floats = self._fitted().arrays[f"alpha_{self.control or 'equations'}"]
        return found

    def _early_stopping(self, *names: str) -> dict[str, EarlyStopping]:
        """An early stopping for each of these arrays."""
        return {name: EarlyStopping([name], self.patience) for name in names}

    def _validate_near(
        self, job: TrainingJob, words: Vectors, members: Members, name: str
    ) -> Callable[[], float | None]:
        """A function that returns the validation score of words given their equations."""
        if job.split is None or not job.split.of(VALIDATION).any():
            return lambda: None
        split, part = job.split, job.split.of(VALIDATION)
        around = contexts(job.corpus, split, self.window - 1)[part]
        added = features.Added(members, split.occurrences[part])

        def validate() -> float:
            context = context_sum(words.alpha, around)
            context += added.of(job.run.arrays[name])
            scored = likelihood.score(words.rho, split.words[part], split.negatives[part], context)
            return self._mean(scored)

        return validate

    def _validate_rho(self, job: TrainingJob, words: Vectors) -> Callable[[], float | None]:
        """A function that returns the log-likelihood of b_e on validation words.

        A type is scored on its own validation words against those of other types.
        """
        if job.split is None or not job.split.of(VALIDATION).any():
            return lambda: None
        split, part = job.split, job.split.of(VALIDATION)
        ids = self._ids(job.corpus)[0][split.occurrences[part]]
        zeros = features.context_zeros(ids, 20, job.seed + 1)
        if not zeros.shape[1]:  # with one vector for all there are no others
            return lambda: None
        context = words.alpha[split.words[part]].astype(np.float64)

        def validate() -> float:
            rho = job.run.arrays["rho_e"][ids].astype(np.float64)
            own = np.einsum("hk,hk->h", rho, context)
            others = np.empty(zeros.shape)
            for slot, column in enumerate(zeros.T):
                others[:, slot] = np.einsum("hk,hk->h", rho, context[column])
            return float(likelihood.logistic(likelihood.HeldOutScores(own, others)).mean())

        return validate

    def _near_vectors(self, corpus: Corpus, split: Split) -> Floats:
        members = self._members(corpus, self._fitted().config["seed"])
        return features.Added(members, split.occurrences).of(self._rows_learned())
