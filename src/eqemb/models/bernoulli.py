"""Bernoulli embeddings: words given the words around them. The models of equations extend it."""

import inspect
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from eqemb.checks import check_choice, check_flag, check_integer, check_number
from eqemb.corpus.corpus import Corpus
from eqemb.corpus.split import VALIDATION, Split, contexts
from eqemb.kernels import draws
from eqemb.kernels.arrays import Floats, Rule, TextArrays, Vectors
from eqemb.models import features, likelihood
from eqemb.models.base import (
    PROGRAM_MEMORY,
    Model,
    TrainingEstimate,
    TrainingJob,
    context_sum,
)
from eqemb.models.checkpoint import EarlyStopping
from eqemb.models.devices import gpu_kernels, gpu_problem

#: What `preset="paper"` sets: what the paper says, and what its authors' code does where the paper
#: says nothing.
PAPER: dict[str, Any] = {
    "block": 1,  # every position draws its own negatives
    "zero_weight": "sum",
    "negatives": 20,
    "batch": 5000,
    "iterations": 20,
    "patience": 1,
    "init": 1.0,
    "unit_pooling": "sum",
    "unit_alpha": "joint",
    "unit_window": 4,
    "passes": "two",
}
#: Numbers of the passes in the random draws.
WORD_PASS, EQUATION_PASS, UNIT_PASS = 1, 2, 3
#: Settings that say where a model is trained, not what.
_MACHINE = ("device", "deterministic", "memory")
_LARGE = 2_000_000  # words
_LARGEST_BATCH = {"cuda": 262_144}  # of "auto"; on other devices 16,384
_TEST_DEVICES = ("torch", "reference")  # slow, and the same arithmetic as the others


class _InitSignature:
    """The signature of `__init__` as that of its class, for `inspect.signature` and `help`.

    Without it they would show that of `__new__`, which takes any settings.
    """

    def __get__(self, _instance: object, owner: type) -> inspect.Signature:
        made = inspect.signature(owner.__init__)  # type: ignore[misc]
        return made.replace(parameters=list(made.parameters.values())[1:])


@dataclass(kw_only=True)
class BernoulliEmbeddings(Model):
    """b-emb: words given the words around them, b_w = sigma(rho . sum of alpha).

    With `equations="tokens"` every equation is a word of the text: the paper's baseline.

    Args:
        rate: The learning rate of Adagrad; "auto" = 0.1 / sqrt(window), since wider contexts have
            larger sums.
        negatives: Words drawn as negatives (zeros) for each block of positions.
        zero_weight: The weight of a negative: "sum" = 1, "mean" = 1 / negatives, or a number.
        batch: Words that see the same parameters; "auto" = a 256th of the text, from 1,024 to
            16,384, on a GPU up to 262,144.
        block: Words that share negatives; "auto" = 64, in texts under two million words
            256 / window.
        init: Vectors start at init * N(0, 1) / dim.
        preset: "paper" sets what `PAPER` lists, except for settings that are passed as well: an
            explicit argument wins over the preset.
        device: "cpu", "cuda" or "auto", a GPU if there is one that works.
        deterministic: Whether a GPU gives the same bytes each time, as a CPU does; slower.
        memory: Bytes of a GPU's memory that texts and contexts may take; else half of what is
            free.

    Example:
        BernoulliEmbeddings(dim=50, window=8).fit(corpus, split)

    """

    name: ClassVar[str] = "b-emb"
    monitored: ClassVar[str] = "words"
    automatic: ClassVar[tuple[str, ...]] = ("rate",)

    rate: float | str = "auto"
    negatives: int = 20
    zero_weight: float | str = 0.15
    batch: int | str = "auto"
    block: int | str = "auto"
    init: float = 1.0
    preset: str = ""
    device: str = "auto"
    deterministic: bool = False
    memory: int | None = None

    __signature__ = _InitSignature()

    def __new__(cls, **settings: object) -> Self:
        """Remember which settings were passed: a preset does not change those."""
        made = super().__new__(cls)
        made.__dict__["_passed"] = frozenset(settings)
        return made

    def __post_init__(self) -> None:
        check_choice("preset", self.preset, ("paper", ""))
        if self.preset:
            for entry in fields(self):
                if entry.name in PAPER and entry.name not in self.__dict__["_passed"]:
                    setattr(self, entry.name, PAPER[entry.name])
        super().__post_init__()

    def set_params(self, **settings: Any) -> Self:
        """Change settings; a new preset sets those that were never passed."""
        passed: frozenset[str] = self.__dict__["_passed"]
        if "preset" in settings:
            kept = {name: value for name, value in self.get_params().items() if name in passed}
            for name, value in type(self)(**(kept | settings)).get_params().items():
                setattr(self, name, value)
        else:
            super().set_params(**settings)
        self.__dict__["_passed"] = passed | frozenset(settings)
        return self

    def _check(self) -> None:
        super()._check()
        if isinstance(self.zero_weight, str):
            check_choice("zero_weight", self.zero_weight, ("sum", "mean"), "a number")
        else:
            check_number("zero_weight", self.zero_weight)
        check_number("init", self.init)
        if self.device not in _TEST_DEVICES:
            check_choice("device", self.device, ("auto", "cpu", "cuda"))
        check_flag("deterministic", self.deterministic)
        if self.memory is not None:
            check_integer("memory", self.memory)

    def saved_settings(self) -> dict[str, Any]:
        """The settings as config.json has them; the device only if it changed the result."""
        made = {name: value for name, value in self.get_params().items() if name not in _MACHINE}
        if self.resolved_device in ("cuda", "torch"):
            made |= {"device": self.resolved_device, "deterministic": self.deterministic}
        return made

    @property
    def resolved_device(self) -> str:
        """The device, with "auto" resolved."""
        if self.device == "auto":
            return "cuda" if gpu_problem() is None else "cpu"
        return self.device

    def check_device(self) -> str:
        """The device that will train; one that does not work is refused."""
        if self.device != "cpu":
            self._kernels()
        return self.resolved_device

    @contextmanager
    def _on(self, device: str | None) -> Iterator[None]:
        before = self.device
        self.set_params(device=device or before)
        try:
            yield
        finally:
            self.device = before

    def _kernels(self, device: str | None = None) -> Any:
        place = device or self.resolved_device
        if place not in ("cuda", "torch"):
            if self.device == "auto" and (problem := gpu_problem()):
                warnings.warn(f"{problem}; training on the CPU", RuntimeWarning, stacklevel=3)
            return super()._kernels(place)
        where = "cuda" if place == "cuda" else "cpu"
        return gpu_kernels()(where, deterministic=self.deterministic, memory=self.memory)

    @property
    def registry_name(self) -> str:
        """Without equations it is a model of words alone."""
        return "words" if self.name == "b-emb" and self.equations == "ignored" else self.name

    @property
    def negative_weight(self) -> float:
        """The weight of a negative as a number."""
        if isinstance(self.zero_weight, str):
            return {"sum": 1.0, "mean": 1.0 / self.negatives}[self.zero_weight]
        return float(self.zero_weight)

    @property
    def learning_rate(self) -> float:
        """The rate as a number."""
        return 0.1 / math.sqrt(self.window) if isinstance(self.rate, str) else self.rate

    def estimate(self, corpus: Corpus, *, threads: int = 1, probe: bool = True) -> TrainingEstimate:
        """What training on a corpus will need; `probe` times a few batches of the first pass."""
        first, second = self._rows(corpus)
        words, K = len(corpus.tokens), self.dim
        # vectors, their sums and those of the best iteration; a pass frees the sums of the last
        vectors = 4 * K * max(6 * first, 4 * first + 6 * second)
        texts = 2 * corpus.tokens.nbytes + sum(map(len, corpus.words))
        scratch = 4 * K * self._batch(words) * 4 * 2
        entries, work = self._second_pass(corpus)
        near = 60 * entries  # the bag and position of an entry, and sorting them
        seconds = None
        if probe:
            seconds = self.iterations * self._probe(corpus, threads) * (words + work)
        memory = PROGRAM_MEMORY + vectors + texts + scratch + near
        place = self.resolved_device
        device = self._kernels().name if place in ("cuda", "torch") else place
        return TrainingEstimate(words, 2 * K * (first + second), memory, seconds, device)

    def _rows(self, corpus: Corpus) -> tuple[int, int]:
        """Rows of the matrices that the first and the second pass learn."""
        tokens = len(corpus.forms) if self.equations == "tokens" else 0
        return len(corpus.words) + tokens, 0

    def _second_pass(self, corpus: Corpus) -> tuple[int, float]:
        """Entries of contexts in the second pass, and the work of an iteration in words."""
        del corpus
        return 0, 0.0

    def _probe(self, corpus: Corpus, threads: int) -> float:
        """Seconds per word of the first pass, measured on vectors that are discarded."""
        kernels, size = self._kernels(), len(corpus.words)
        rho, alpha = (features.initial(0, which, size, self.dim, self.init) for which in (0, 1))
        vectors = Vectors(rho, alpha, np.zeros_like(rho), np.zeros_like(rho))
        text = TextArrays(corpus.tokens, corpus.starts, draws.noise_table(corpus.counts))
        rule = self.rule(0, self.learning_rate, len(corpus.tokens))
        end = min(len(corpus.tokens), 16 * rule.batch)
        kernels.words_update(vectors, text, rule, (0, min(end, rule.batch)), threads)  # compile
        start = perf_counter()
        kernels.words_update(vectors, text, rule, (0, end), threads)
        return (perf_counter() - start) / end

    def _rule(
        self, job: TrainingJob, pass_: int, iteration: int, rate: float | None = None
    ) -> Rule:
        key = job.key(pass_, iteration)
        return self.rule(key, self.learning_rate if rate is None else rate, len(job.stream.tokens))

    def rule(self, key: int, rate: float, size: int) -> Rule:
        """The parameters of a training step over a text of `size` words."""
        shape = self.window, self.negatives, self._block(size), self._batch(size)
        return Rule(*shape, self.negative_weight, rate, key)

    def _block(self, size: int) -> int:
        """Shared negatives are fast, but lower the scores of small texts with wide windows."""
        if isinstance(self.block, str):
            return 64 if size > _LARGE else min(64, max(8, 256 // self.window))
        return self.block

    def _batch(self, size: int) -> int:
        """Whole blocks; small texts need many steps, large ones fewer visits to each row."""
        batch = self.batch
        if isinstance(batch, str):
            batch = min(_LARGEST_BATCH.get(self.resolved_device, 16_384), max(1024, size // 256))
        block = self._block(size)
        return max(block, batch // block * block)

    def _train(self, job: TrainingJob) -> dict[str, NDArray[Any]]:
        words = self._train_words(job)
        size = len(job.corpus.words)
        arrays = {"rho_words": words.rho[:size], "alpha_words": words.alpha[:size]}
        if self.equations == "tokens":
            arrays |= {"rho_equations": words.rho[size:], "alpha_equations": words.alpha[size:]}
        return {name: np.ascontiguousarray(array) for name, array in arrays.items()}

    def _train_words(self, job: TrainingJob, alpha: Floats | None = None) -> Vectors:
        """Run the first pass; an alpha that is given stays fixed, and only rho is learned."""
        run, stream, size = job.run, job.stream, len(job.corpus.words)
        if self.equations == "tokens":
            stream = features.with_tokens(stream, size, len(job.corpus.forms))
            size += len(job.corpus.forms)
        if not run.done("words"):
            made = self._first_vectors(job.seed, size)
            if alpha is not None:
                made["alpha"] = alpha
            names = ["rho", "alpha"] if alpha is None else ["rho"]
            run.enter("words", made, {"words": EarlyStopping(names, self.patience)})
            vectors = Vectors(*(run.arrays[name] for name in Vectors._fields))
            text = stream.text

            def step(iteration: int) -> dict[str, float]:
                rule = self._rule(job, WORD_PASS, iteration)._replace(learn_alpha=alpha is None)
                return {"b_w": job.kernels.words_update(vectors, text, rule, None, job.threads)}

            validate = {"words": self._validate_words(job)}
            run.iterate(self.iterations, step, validate, job.callback, len(text.tokens))
        return fixed(run.arrays["rho"], run.arrays["alpha"])

    def _first_vectors(self, seed: int, size: int) -> dict[str, NDArray[Any]]:
        """The initial `Vectors` of the first pass, by name."""
        made: dict[str, NDArray[Any]] = {
            side: features.initial(seed, which, size, self.dim, self.init)
            for which, side in enumerate(("rho", "alpha"))
        }
        sums = {f"{side}_sum": np.zeros((size, self.dim), np.float32) for side in made}
        return made | sums

    def _validate_words(self, job: TrainingJob) -> Callable[[], float | None]:
        """A function that returns the validation score of the present vectors of words."""
        if job.split is None or not job.split.of(VALIDATION).any():
            return lambda: None
        split, part = job.split, job.split.of(VALIDATION)
        found = contexts(job.corpus, split, self.window - 1)[part]
        types = split.types[part] + len(job.corpus.words)

        def validate() -> float:
            rho, alpha = job.run.arrays["rho"], job.run.arrays["alpha"]
            context = context_sum(alpha, found)
            if self.equations == "tokens":
                context += alpha[types]
            scored = likelihood.score(rho, split.words[part], split.negatives[part], context)
            return self._mean(scored)

        return validate

    def score(
        self, corpus: Corpus, split: Split, part: int, *, words: int | None = None
    ) -> likelihood.HeldOutScores:
        """Score held-out words, given W - 1 words and the equation, or `words` words alone."""
        self.check_data(corpus, split)
        arrays, chosen = self._fitted().arrays, split.of(part)
        count = self.window - 1 if words is None else words
        context = context_sum(arrays["alpha_words"], contexts(corpus, split, count)[chosen])
        if words is None:
            context += self._near_vectors(corpus, split)[chosen]
        rho = arrays["rho_words"]
        return likelihood.score(rho, split.words[chosen], split.negatives[chosen], context)

    def _near_vectors(self, corpus: Corpus, split: Split) -> Floats:
        """What the sampled equation adds to the context of each held-out word; [H, K]."""
        del corpus
        if self.equations == "tokens":
            found: Floats = self._fitted().arrays["alpha_equations"][split.types]
            return found
        return np.zeros((len(split.types), self.dim), np.float32)


def fixed(rho: Floats, alpha: Floats) -> Vectors:
    """Vectors that no step changes: they need no sums."""
    none = np.empty((0, rho.shape[1]), np.float32)
    return Vectors(rho, alpha, none, none)
