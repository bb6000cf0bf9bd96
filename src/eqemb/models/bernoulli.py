"""Bernoulli embeddings, and what every model shares: settings, `fit`, scores.

After each iteration the validation words of the split are scored; training stops when the score
no longer improves and keeps the best iteration. Without a split every iteration is made and the
last is kept. The models of equations, `models`, build on this one.
"""

import ctypes
import functools
import importlib
import math
import platform
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, fields, replace
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from eqemb.corpus.checks import (
    check_choice,
    check_even,
    check_flag,
    check_integer,
    check_number,
)
from eqemb.corpus.corpus import Corpus, Ids
from eqemb.corpus.split import VALIDATION, Split, TrainingStream, contexts, training_stream
from eqemb.errors import EqembError, UsageError
from eqemb.kernels import draws
from eqemb.kernels.arrays import Floats, Rule, Text, Vectors
from eqemb.models import features, likelihood
from eqemb.models.checkpoint import Callback, EarlyStopping, TrainingRun
from eqemb.models.embeddings import Embeddings
from eqemb.storage import array_file

#: What `preset="paper"` sets: the paper's letter, and its authors' code where it is silent.
PAPER: dict[str, Any] = {
    "block": 1,  # every position draws its own zeros
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
WORD_PASS, EQUATION_PASS, UNIT_PASS = 1, 2, 3  # passes, in the draws
_MOST = {"dim": 10_000, "negatives": 1000, "window": 1000}
_STOPPING = {"softmax": likelihood.predictive, "logistic": likelihood.logistic}
_LARGE = 2_000_000  # words
_BATCHES = {"cuda": 262_144}  # the largest of their own accord; elsewhere 16,384
_TEST_DEVICES = ("torch", "reference")  # slow, and the same arithmetic as the others
MACHINE = ("device", "deterministic", "memory")  # settings that say where, and not what
PROGRAM = 200_000_000  # bytes of Python, NumPy, SciPy and numba before any data


class TrainingEstimate(NamedTuple):
    """What training will need, said beforehand."""

    words: int
    """Positions of one iteration of the first pass."""
    parameters: int
    memory: int
    """Bytes at the peak."""
    seconds: float | None
    """At most, where nothing stops training early; None where it was not timed."""
    device: str = "cpu"


@dataclass
class TrainingJob:
    """Everything one call of `fit` carries about."""

    corpus: Corpus
    split: Split | None
    seed: int
    threads: int
    callback: Callback | None
    stream: TrainingStream
    kernels: Any
    """A module of steps, or an object with the same ones."""
    attempt: TrainingRun

    def key(self, pass_: int, iteration: int) -> int:
        """The draws of an iteration."""
        return draws.key(self.seed, pass_, iteration)


@dataclass(kw_only=True)
class Model:
    """What every model shares: settings that are checked, `fit`, and what is left of it."""

    name: ClassVar[str]
    judged: ClassVar[str]
    """The watch whose score is the model's."""
    automatic: ClassVar[tuple[str, ...]] = ()
    """Rates that may be "auto"."""

    dim: int = 100
    window: int = 4
    iterations: int = 20
    """At most, in each pass."""
    patience: int = 2
    """Iterations without a better validation score after which training stops."""
    rate: float | str = 0.05
    reading: str = "softmax"
    """The reading of the validation score that training stops by, "softmax" or "logistic"."""
    equations: str = "ignored"

    def __post_init__(self) -> None:
        self._check()

    @property
    def title(self) -> str:
        """Its name on the command line."""
        return self.name

    def _check(self) -> None:
        for name in ("dim", "negatives", "iterations", "patience", "batch", "block"):
            if hasattr(self, name):
                auto = name in ("batch", "block")
                check_integer(name, getattr(self, name), 1, _MOST.get(name), auto=auto)
        for name in ("window", "equation_window", "unit_window"):
            if hasattr(self, name):
                check_even(name, getattr(self, name), _MOST["window"])
        for name in ("rate", "equation_rate", "rho_rate"):
            if hasattr(self, name) and not (
                name in self.automatic and getattr(self, name) == "auto"
            ):
                check_number(name, getattr(self, name), above=True)
        check_choice("reading", self.reading, tuple(_STOPPING))
        check_choice("equations", self.equations, ("ignored", "tokens"))

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002
        """The settings, as scikit-learn asks for them."""
        del deep
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}

    def set_params(self, **settings: Any) -> Self:
        """Change settings, checked together."""
        checked = replace(self, **settings)
        for entry in fields(self):
            setattr(self, entry.name, getattr(checked, entry.name))
        return self

    def fit(
        self,
        corpus: Corpus,
        split: Split | None = None,
        *,
        seed: int = 0,
        threads: int = 1,
        callback: Callback | None = None,
        checkpoint: Path | None = None,
        resume: bool = False,
        device: str | None = None,
    ) -> Self:
        """Train; the same bytes for any number of threads, and after kills with `resume`.

        `callback(iteration, seconds, loss, validation)` is called after each iteration. `device`
        stands in for the model's own.
        """
        check_integer("seed", seed, 0)
        check_integer("threads", threads)
        self.check(corpus)
        with self._on(device), np.errstate(all="ignore"):
            config = self._config(corpus, split, seed)
            job = TrainingJob(
                corpus,
                split,
                seed,
                threads,
                callback,
                training_stream(corpus, split),
                self._kernels(device),
                TrainingRun.start(config["identity"], checkpoint, resume=resume),
            )
            self.history_ = job.attempt.history  # grows while training
            self.embeddings_ = self._embeddings(job, config, self._learn(job))
        self.embeddings_.check()
        return self

    def check_data(self, corpus: Corpus, split: Split) -> None:
        """Refuse to score on a corpus that this model was not trained on."""
        split.check(corpus)
        if self._fitted().config["corpus"] != corpus.sha256:
            raise UsageError("this model was trained on another corpus: score it on its own")

    def check(self, corpus: Corpus) -> None:
        """Refuse a corpus that this model cannot learn from."""
        if not len(corpus.tokens):
            raise UsageError(
                "the corpus has no words: lower min_count and top, or read more articles"
            )

    def _on(self, device: str | None) -> AbstractContextManager[None]:
        """For a while the same settings on another device, where that is one of them."""
        del device
        return nullcontext()

    def _kernels(self, device: str | None = None) -> Any:
        """The steps of a device."""
        try:
            return importlib.import_module(f"eqemb.kernels.{device or 'cpu'}")
        except ModuleNotFoundError as error:
            if error.name != "numba":
                raise
            raise UsageError("processors train by numba: pip install numba") from None

    def _config(self, corpus: Corpus, split: Split | None, seed: int) -> dict[str, Any]:
        made = {
            "model": self.title,
            "settings": self.described(),
            "seed": seed,
            "corpus": corpus.sha256,
            "split": split.sha256 if split else None,
        }
        return made | {"identity": array_file.content_hash(made, {})}

    def identity(self, corpus: Corpus, split: Split | None, seed: int) -> str:
        """The hash of all that decides what `fit` will make."""
        return str(self._config(corpus, split, seed)["identity"])

    def described(self) -> dict[str, Any]:
        """The settings as they are saved."""
        return self.get_params()

    def _embeddings(
        self, job: TrainingJob, config: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> Embeddings:
        keys = {"words": job.corpus.words, "equations": job.corpus.forms, "units": job.corpus.units}
        have = {name.rsplit("_", 1)[1] for name in arrays}
        best = {
            name: watch.iteration
            for name, watch in job.attempt.watches.items()
            if not name.startswith("done ")
        }
        score = job.attempt.watches[self.judged].best
        validation = score if job.split is not None and math.isfinite(score) else None
        return Embeddings(
            config | {"best": best, "validation": validation},
            arrays,
            {kind: names for kind, names in keys.items() if kind in have},
            job.attempt.history,
            {
                "threads": job.threads,
                "machine": platform.machine(),
                "numpy": np.__version__,
                "device": getattr(job.kernels, "name", "cpu"),
            },
        )

    def estimate(self, corpus: Corpus, *, threads: int = 1, probe: bool = True) -> TrainingEstimate:
        """What training on a corpus will need; `probe` times a little of it."""
        raise NotImplementedError

    def score(
        self, corpus: Corpus, split: Split, part: int, *, words: int | None = None
    ) -> likelihood.HeldOutScores:
        """Scores of held-out words: W - 1 words and the equation, or `words` words alone."""
        raise NotImplementedError

    def _learn(self, job: TrainingJob) -> dict[str, NDArray[Any]]:
        """Train; the arrays of the trained thing."""
        raise NotImplementedError

    def _mean(self, scored: likelihood.HeldOutScores) -> float:
        """The validation score in the reading that training stops by."""
        return float(_STOPPING[self.reading](scored).mean())

    def _fitted(self) -> Embeddings:
        if not hasattr(self, "embeddings_"):
            raise UsageError(f"this {self.name} has not been trained: call fit first")
        return self.embeddings_


@dataclass(kw_only=True)
class BernoulliEmbeddings(Model):
    """b-emb: words given the words around them, b_w = sigma(rho . sum of alpha).

    `equations="tokens"` makes every equation a word of the stream, as the paper's baseline.
    `preset="paper"` sets what `PAPER` lists, except for settings that are passed as well: an
    explicit argument wins over the preset.
    """

    name: ClassVar[str] = "b-emb"
    judged: ClassVar[str] = "words"
    automatic: ClassVar[tuple[str, ...]] = ("rate",)

    rate: float | str = "auto"
    """Of Adagrad's steps; "auto" = 0.1 / sqrt(window), since wider contexts have larger sums."""
    negatives: int = 20
    zero_weight: float | str = 0.15
    """The weight of a drawn zero: "sum" = 1, "mean" = 1 / negatives, or a number."""
    batch: int | str = "auto"
    """Words that see the same parameters; "auto" = a 256th of the text, from 1,024 to 16,384, on
    a GPU to 262,144."""
    block: int | str = "auto"
    """Words that share zeros; "auto" = 64, in texts of under two million words 256 / window."""
    init: float = 1.0
    """Vectors start at init * N(0, 1) / dim."""
    preset: str = ""
    device: str = "auto"
    """What trains: "cpu", "cuda", or "auto", a GPU where there is one."""
    deterministic: bool = False
    """Whether a GPU shall give the same bytes each time, as a CPU does; it is slower then."""
    memory: int | None = None
    """Bytes of a GPU's memory that texts and contexts may take; else half of what is free."""

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

    def described(self) -> dict[str, Any]:
        """The settings as they are saved; where it was trained only if that changed the result."""
        made = {name: value for name, value in self.get_params().items() if name not in MACHINE}
        if self.place in ("cuda", "torch"):
            made |= {"device": self.place, "deterministic": self.deterministic}
        return made

    @property
    def place(self) -> str:
        """The device that "auto" comes to."""
        if self.device == "auto":
            return "cuda" if _no_gpu() is None else "cpu"
        return self.device

    def settled(self) -> str:
        """The device that trains, which is there: what is missing is said in a sentence."""
        if self.device != "cpu":
            self._kernels()
        return self.place

    @contextmanager
    def _on(self, device: str | None) -> Iterator[None]:
        before = self.device
        self.set_params(device=device or before)
        try:
            yield
        finally:
            self.device = before

    def _kernels(self, device: str | None = None) -> Any:
        place = device or self.place
        if place not in ("cuda", "torch"):
            if self.device == "auto" and _no_gpu():
                warnings.warn(f"{_no_gpu()}; the CPU trains instead", RuntimeWarning, stacklevel=3)
            return super()._kernels(place)
        where = "cuda" if place == "cuda" else "cpu"
        return _gpu_kernels()(where, deterministic=self.deterministic, memory=self.memory)

    @property
    def title(self) -> str:
        """Without equations it is a model of words alone."""
        return "words" if self.name == "b-emb" and self.equations == "ignored" else self.name

    @property
    def weight(self) -> float:
        """The weight of a zero as a number."""
        if isinstance(self.zero_weight, str):
            return {"sum": 1.0, "mean": 1.0 / self.negatives}[self.zero_weight]
        return float(self.zero_weight)

    def estimate(self, corpus: Corpus, *, threads: int = 1, probe: bool = True) -> TrainingEstimate:
        """What training on a corpus will need; `probe` times a few batches of the first pass."""
        first, second = self._rows(corpus)
        words, K = len(corpus.tokens), self.dim
        # vectors, their sums and the best iteration's; a pass lets go of the sums of the one before
        vectors = 4 * K * max(6 * first, 4 * first + 6 * second)
        texts = 2 * corpus.tokens.nbytes + sum(map(len, corpus.words))
        scratch = 4 * K * self._batch(words) * 4 * 2
        entries, work = self._second_pass(corpus)
        near = 60 * entries  # an entry's bag and position, and their sorting
        seconds = None
        if probe:
            seconds = self.iterations * self._probe(corpus, threads) * (words + work)
        memory = PROGRAM + vectors + texts + scratch + near
        place = self.place
        device = self._kernels().name if place in ("cuda", "torch") else place
        return TrainingEstimate(words, 2 * K * (first + second), memory, seconds, device)

    def _rows(self, corpus: Corpus) -> tuple[int, int]:
        """Rows of the matrices learned in the first pass and in the second."""
        tokens = len(corpus.forms) if self.equations == "tokens" else 0
        return len(corpus.words) + tokens, 0

    def _second_pass(self, corpus: Corpus) -> tuple[int, float]:
        """Entries of contexts in the second pass; an iteration's work, in words of the first."""
        del corpus
        return 0, 0.0

    def _probe(self, corpus: Corpus, threads: int) -> float:
        """Seconds per word of the first pass, on vectors that are thrown away."""
        kernels, size = self._kernels(), len(corpus.words)
        rho, alpha = (features.initial(0, which, size, self.dim, self.init) for which in (0, 1))
        vectors = Vectors(rho, alpha, np.zeros_like(rho), np.zeros_like(rho))
        text = Text(corpus.tokens, corpus.starts, draws.noise_table(corpus.counts))
        rule = self.rule(0, self.step, len(corpus.tokens))
        end = min(len(corpus.tokens), 16 * rule.batch)
        kernels.words_update(vectors, text, rule, (0, min(end, rule.batch)), threads)  # compile
        start = perf_counter()
        kernels.words_update(vectors, text, rule, (0, end), threads)
        return (perf_counter() - start) / end

    @property
    def step(self) -> float:
        """The rate as a number."""
        return 0.1 / math.sqrt(self.window) if isinstance(self.rate, str) else self.rate

    def _rule(
        self, job: TrainingJob, pass_: int, iteration: int, rate: float | None = None
    ) -> Rule:
        key = job.key(pass_, iteration)
        return self.rule(key, self.step if rate is None else rate, len(job.stream.tokens))

    def rule(self, key: int, rate: float, size: int) -> Rule:
        """How a step over a text of so many words is made."""
        shape = self.window, self.negatives, self._block(size), self._batch(size)
        return Rule(*shape, self.weight, rate, key)

    def _block(self, size: int) -> int:
        """Sharing zeros is fast, and costs small texts with wide windows much of their score."""
        if isinstance(self.block, str):
            return 64 if size > _LARGE else min(64, max(8, 256 // self.window))
        return self.block

    def _batch(self, size: int) -> int:
        """Whole blocks; small texts need many steps, large ones fewer visits to each row."""
        batch = self.batch
        if isinstance(batch, str):
            batch = min(_BATCHES.get(self.place, 16_384), max(1024, size // 256))
        block = self._block(size)
        return max(block, batch // block * block)

    def _learn(self, job: TrainingJob) -> dict[str, NDArray[Any]]:
        """Both passes; the arrays of the trained thing."""
        words = self._learn_words(job)
        size = len(job.corpus.words)
        arrays = {"rho_words": words.rho[:size], "alpha_words": words.alpha[:size]}
        if self.equations == "tokens":
            arrays |= {"rho_equations": words.rho[size:], "alpha_equations": words.alpha[size:]}
        return {name: np.ascontiguousarray(array) for name, array in arrays.items()}

    def _learn_words(self, job: TrainingJob, alpha: Floats | None = None) -> Vectors:
        """The first pass; where alpha is given it stays as it is, and rho alone is learned."""
        attempt, stream, size = job.attempt, job.stream, len(job.corpus.words)
        if self.equations == "tokens":
            stream = features.with_tokens(stream, size, len(job.corpus.forms))
            size += len(job.corpus.forms)
        if not attempt.done("words"):
            made = self._first_vectors(job.seed, size)
            if alpha is not None:
                made["alpha"] = alpha
            watch = EarlyStopping(["rho", "alpha"] if alpha is None else ["rho"], self.patience)
            attempt.enter("words", made, {"words": watch})
            vectors, text = (
                Vectors(*(attempt.arrays[name] for name in Vectors._fields)),
                stream.text,
            )

            def step(iteration: int) -> dict[str, float]:
                rule = self._rule(job, WORD_PASS, iteration)._replace(learn_alpha=alpha is None)
                return {"b_w": job.kernels.words_update(vectors, text, rule, None, job.threads)}

            judges = {"words": self._judge_words(job)}
            attempt.iterate(self.iterations, step, judges, job.callback, len(text.tokens))
        return fixed(attempt.arrays["rho"], attempt.arrays["alpha"])

    def _first_vectors(self, seed: int, size: int) -> dict[str, NDArray[Any]]:
        """Where the first pass starts: `Vectors` by name."""
        made: dict[str, NDArray[Any]] = {
            side: features.initial(seed, which, size, self.dim, self.init)
            for which, side in enumerate(("rho", "alpha"))
        }
        sums = {f"{side}_sum": np.zeros((size, self.dim), np.float32) for side in made}
        return made | sums

    def _judge_words(self, job: TrainingJob) -> Callable[[], float | None]:
        """The validation score of the words now in the attempt."""
        if job.split is None or not job.split.of(VALIDATION).any():
            return lambda: None
        split, part = job.split, job.split.of(VALIDATION)
        found = contexts(job.corpus, split, self.window - 1)[part]
        types = split.types[part] + len(job.corpus.words)

        def judge() -> float:
            rho, alpha = job.attempt.arrays["rho"], job.attempt.arrays["alpha"]
            context = context_sum(alpha, found)
            if self.equations == "tokens":
                context += alpha[types]
            scored = likelihood.score(rho, split.words[part], split.negatives[part], context)
            return self._mean(scored)

        return judge

    def score(
        self, corpus: Corpus, split: Split, part: int, *, words: int | None = None
    ) -> likelihood.HeldOutScores:
        """Scores of held-out words: W - 1 words and the equation, or `words` words alone."""
        self.check_data(corpus, split)
        arrays, chosen = self._fitted().arrays, split.of(part)
        count = self.window - 1 if words is None else words
        context = context_sum(arrays["alpha_words"], contexts(corpus, split, count)[chosen])
        if words is None:
            context += self._near_vectors(corpus, split)[chosen]
        rho = arrays["rho_words"]
        return likelihood.score(rho, split.words[chosen], split.negatives[chosen], context)

    def _near_vectors(self, corpus: Corpus, split: Split) -> Floats:
        """What the sampled equation adds to each held-out word's context; [H, K]."""
        del corpus
        if self.equations == "tokens":
            found: Floats = self._fitted().arrays["alpha_equations"][split.types]
            return found
        return np.zeros((len(split.types), self.dim), np.float32)


@functools.cache
def _no_gpu() -> str | None:
    """Why no GPU trains here: "" where there is none, None where one does.

    A small step decides. Where there is no driver, torch is not even imported.
    """
    if not any(map(_loads, ("libcuda.so.1", "nvcuda.dll"))) or find_spec("torch") is None:
        return ""
    try:
        kernels = _gpu_kernels()
        if not importlib.import_module("torch").cuda.is_available():
            return ""
        kernels("cuda")
    except EqembError as error:  # it says what else to say, and we say that
        return str(error).partition(": train with")[0]
    return None


def _loads(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def _gpu_kernels() -> Any:
    """The GPU's back end; torch that is missing or broken is said in a sentence."""
    if find_spec("torch") is None:
        raise UsageError("device='cuda' needs torch: pip install 'eqemb[gpu]'")
    try:
        return importlib.import_module("eqemb.kernels.gpu").Kernels
    except (ImportError, OSError, RuntimeError) as error:  # of a library that torch loads
        said = (str(error).splitlines() or [""])[0]
        raise UsageError(f"torch cannot be imported ({said}): train with device='cpu'") from None


def fixed(rho: Floats, alpha: Floats) -> Vectors:
    """Vectors that no step will change: they need no sums."""
    none = np.empty((0, rho.shape[1]), np.float32)
    return Vectors(rho, alpha, none, none)


def context_sum(alpha: Floats, ids: Ids) -> NDArray[np.float64]:
    """The summed alpha of each row's words, -1 being none; [H, K]."""
    total = np.zeros((len(ids), alpha.shape[1]))
    for column in ids.T:
        total += np.where(column[:, None] >= 0, alpha[column], 0.0)
    return total
