"""The base class of all models: settings, `fit`, the trained embeddings, scores.

After each iteration the validation words of the split are scored. Training stops when the score no
longer improves, and keeps the best iteration. Without a split all iterations are run and the last
one is kept.
"""

import importlib
import math
import platform
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from eqemb.checks import check_choice, check_even, check_integer, check_number
from eqemb.corpus.corpus import Corpus, Ids
from eqemb.corpus.split import Split, TrainingStream, training_stream
from eqemb.errors import UsageError
from eqemb.kernels import draws
from eqemb.kernels.arrays import Floats
from eqemb.models import likelihood
from eqemb.models.checkpoint import Callback, TrainingRun
from eqemb.models.embeddings import Embeddings
from eqemb.storage import array_file

#: Bytes of Python, NumPy, SciPy and numba before any data.
PROGRAM_MEMORY = 200_000_000
_MOST = {"dim": 10_000, "negatives": 1000, "window": 1000}
#: What early stopping maximises, by the setting `reading`.
_VALIDATION_SCORES = {"softmax": likelihood.predictive, "logistic": likelihood.logistic}


class TrainingEstimate(NamedTuple):
    """What training will need, estimated before it starts."""

    words: int
    """Positions of one iteration of the first pass."""
    parameters: int
    memory: int
    """Bytes at the peak."""
    seconds: float | None
    """At most, if nothing stops training early; None if it was not timed."""
    device: str = "cpu"


@dataclass
class TrainingJob:
    """Everything that one call of `fit` passes around."""

    corpus: Corpus
    split: Split | None
    seed: int
    threads: int
    callback: Callback | None
    stream: TrainingStream
    kernels: Any
    """A module of kernels, or an object with the same functions."""
    run: TrainingRun

    def key(self, pass_: int, iteration: int) -> int:
        """The key of the random draws of an iteration."""
        return draws.key(self.seed, pass_, iteration)


@dataclass(kw_only=True)
class Model:
    """What all models share: validated settings, `fit`, and access to the result.

    Settings are keyword arguments, checked on construction. They can be read and changed with
    `get_params` and `set_params`, as in scikit-learn. `fit` leaves two attributes: `embeddings_`,
    the trained vectors, and `history_`, one entry for each iteration.

    Args:
        dim: K, the dimension of the vectors.
        window: W, the number of context words of a word: half before it, half after it.
        iterations: The most iterations of each pass.
        patience: Iterations without a better validation score after which training stops.
        rate: The learning rate of Adagrad.
        reading: How scores become a likelihood when early stopping compares iterations:
            "softmax" over the word and its negatives, or "logistic", each by itself.
        equations: "ignored", or "tokens": every equation is a word of the text.

    Example:
        model = EqEmbU(dim=50).fit(corpus, split, seed=0, threads=2)
        model.embeddings_.words.most_similar("entropy")

    """

    name: ClassVar[str]
    monitored: ClassVar[str]
    """The early stopping whose best score is the validation score of the model."""
    automatic: ClassVar[tuple[str, ...]] = ()
    """Rates that may be "auto"."""

    dim: int = 100
    window: int = 4
    iterations: int = 20
    patience: int = 2
    rate: float | str = 0.05
    reading: str = "softmax"
    equations: str = "ignored"

    def __post_init__(self) -> None:
        self._check()

    @property
    def registry_name(self) -> str:
        """The model's name in the registry."""
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
            if hasattr(self, name):
                value = getattr(self, name)
                if not (name in self.automatic and isinstance(value, str) and value == "auto"):
                    check_number(name, value, above=True)
        check_choice("reading", self.reading, tuple(_VALIDATION_SCORES))
        check_choice("equations", self.equations, ("ignored", "tokens"))

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002
        """The settings by name, as scikit-learn expects them."""
        del deep
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}

    def set_params(self, **settings: Any) -> Self:
        """Change settings; they are checked together."""
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
        """Train the model.

        The result does not depend on the number of threads, nor on interruptions: a run that was
        killed and resumed ends with the same bytes.

        Args:
            corpus: The text to learn from.
            split: Words held out of it, by which training stops early; without it all
                iterations are run.
            seed: Of all random numbers.
            threads: How many threads to use.
            callback: Called after each iteration with (iteration, seconds, loss, validation).
            checkpoint: A file to save the state to after each iteration.
            resume: Continue from the checkpoint, if it exists.
            device: Used instead of the model's own setting.

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
            self.history_ = job.run.history  # grows during training
            self.embeddings_ = self._embeddings(job, config, self._train(job))
        self.embeddings_.check()
        return self

    def check_data(self, corpus: Corpus, split: Split) -> None:
        """Refuse to score on a corpus that this model was not trained on."""
        split.check(corpus)
        if self._fitted().config["corpus"] != corpus.sha256:
            raise UsageError(
                "this model was trained on another corpus: score it on the corpus it was trained on"
            )

    def check(self, corpus: Corpus) -> None:
        """Refuse a corpus that this model cannot learn from."""
        if not len(corpus.tokens):
            raise UsageError(
                "the corpus has no words: lower min_count and top, or read more articles"
            )

    def _on(self, device: str | None) -> AbstractContextManager[None]:
        """The same settings on another device for a while, if the model has a device."""
        del device
        return nullcontext()

    def _kernels(self, device: str | None = None) -> Any:
        """The kernels of a device."""
        try:
            return importlib.import_module(f"eqemb.kernels.{device or 'cpu'}")
        except ModuleNotFoundError as error:
            if error.name != "numba":
                raise
            raise UsageError("training on a CPU needs numba: pip install numba") from None

    def _config(self, corpus: Corpus, split: Split | None, seed: int) -> dict[str, Any]:
        made = {
            "model": self.registry_name,
            "settings": self.saved_settings(),
            "seed": seed,
            "corpus": corpus.sha256,
            "split": split.sha256 if split else None,
        }
        return made | {"identity": array_file.content_hash(made, {})}

    def identity(self, corpus: Corpus, split: Split | None, seed: int) -> str:
        """The hash of everything that decides the result of `fit`."""
        return str(self._config(corpus, split, seed)["identity"])

    def saved_settings(self) -> dict[str, Any]:
        """The settings as config.json has them."""
        return self.get_params()

    def _embeddings(
        self, job: TrainingJob, config: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> Embeddings:
        keys = {"words": job.corpus.words, "equations": job.corpus.forms, "units": job.corpus.units}
        have = {name.rsplit("_", 1)[1] for name in arrays}
        best = {
            name: watch.iteration
            for name, watch in job.run.watches.items()
            if not name.startswith("done ")
        }
        score = job.run.watches[self.monitored].best
        validation = score if job.split is not None and math.isfinite(score) else None
        return Embeddings(
            config | {"best": best, "validation": validation},
            arrays,
            {kind: names for kind, names in keys.items() if kind in have},
            job.run.history,
            {
                "threads": job.threads,
                "machine": platform.machine(),
                "numpy": np.__version__,
                "device": getattr(job.kernels, "name", "cpu"),
            },
        )

    def estimate(self, corpus: Corpus, *, threads: int = 1, probe: bool = True) -> TrainingEstimate:
        """What training on a corpus will need; `probe` times a small part of it."""
        raise NotImplementedError

    def score(
        self, corpus: Corpus, split: Split, part: int, *, words: int | None = None
    ) -> likelihood.HeldOutScores:
        """Score held-out words, given W - 1 words and the equation, or `words` words alone."""
        raise NotImplementedError

    def _train(self, job: TrainingJob) -> dict[str, NDArray[Any]]:
        """Train, and return the arrays of the embeddings."""
        raise NotImplementedError

    def _mean(self, scored: likelihood.HeldOutScores) -> float:
        """The validation score that early stopping maximises."""
        return float(_VALIDATION_SCORES[self.reading](scored).mean())

    def _fitted(self) -> Embeddings:
        if not hasattr(self, "embeddings_"):
            raise UsageError(f"this {self.name} has not been trained: call fit first")
        return self.embeddings_


def context_sum(alpha: Floats, ids: Ids) -> NDArray[np.float64]:
    """The sum of alpha over the words of each row, -1 meaning no word; [H, K]."""
    total = np.zeros((len(ids), alpha.shape[1]))
    for column in ids.T:
        total += np.where(column[:, None] >= 0, alpha[column], 0.0)
    return total
