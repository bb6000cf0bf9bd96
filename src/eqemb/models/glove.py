"""GloVe: vectors whose products approximate the logarithms of co-occurrences.

    J = sum over pairs of f(x_ij) (w_i . w~_j + b_i + b~_j - log x_ij)^2 / 2

w is stored as rho and w~ as alpha. The bytes do not depend on the number of threads.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eqemb.checks import check_flag, check_number
from eqemb.corpus.corpus import Corpus, Ids
from eqemb.corpus.split import VALIDATION, Split, TrainingStream, contexts, training_stream
from eqemb.kernels import draws
from eqemb.kernels.arrays import GRID, Biased, Floats, PairRule
from eqemb.models import features, likelihood
from eqemb.models.base import PROGRAM_MEMORY, Model, TrainingEstimate, TrainingJob, context_sum
from eqemb.models.checkpoint import EarlyStopping

LEARNED = ["rho", "alpha", "rho_bias", "alpha_bias"]
PAIR_PASS = 4  # its number in the random draws, after those of the other models


@dataclass(kw_only=True)
class GloVe(Model):
    """GloVe, with the steps of its authors' program, whose x_max is 100 (10 in its demo).

    With `equations="tokens"` every equation is a word of the text, as in the paper's baseline; one
    that occurs once stays near its initial vector. A word is scored by the mean of w . w~_j over
    its context.

    Args:
        x_max: A pair that is counted so often, or more, has weight 1.
        power: Any other pair has weight (x / x_max) ** power.
        bias: Whether a score includes the bias of the word, also in early stopping.

    Example:
        GloVe(dim=50, x_max=100, equations="tokens").fit(corpus, split)

    """

    name: ClassVar[str] = "glove"
    monitored: ClassVar[str] = "pairs"

    iterations: int = 25
    rate: float = 0.05
    x_max: float = 10.0
    power: float = 0.75
    bias: bool = False

    def _check(self) -> None:
        super()._check()
        check_number("x_max", self.x_max, above=True)
        check_number("power", self.power)
        check_flag("bias", self.bias)

    def estimate(self, corpus: Corpus, *, threads: int = 1, probe: bool = True) -> TrainingEstimate:
        """What training will need; `probe` counts pairs and times a chunk of them."""
        stream, size = self._stream(corpus, training_stream(corpus))
        number, seconds = min(size**2, self.window * len(stream.tokens)), None
        if probe:
            kernels = importlib.import_module("eqemb.kernels.cpu")
            counts = kernels.pairs_count(stream.tokens, stream.starts, size, self.window, threads)
            pairs = kernels.pairs_order(counts, self._rule(0), threads)
            number, chunk = len(pairs.rows), pairs._replace(starts=pairs.starts[: GRID * GRID + 1])
            vectors = initial(0, size, self.dim)
            kernels.pairs_loss(vectors, chunk, threads)  # compile
            start = perf_counter()
            kernels.pairs_update(vectors, chunk, self.rate, threads)
            each = (perf_counter() - start) / max(1, chunk.starts[-1])
            seconds = self.iterations * each * number
        texts = 4 * stream.tokens.nbytes + sum(map(len, corpus.words))
        memory = PROGRAM_MEMORY + texts + 28 * number  # counted, and ordered
        memory += 6 * 4 * (self.dim + 1) * size  # vectors, their sums, those of the best iteration
        return TrainingEstimate(len(stream.tokens), 2 * (self.dim + 1) * size, memory, seconds)

    def _train(self, job: TrainingJob) -> dict[str, NDArray[Any]]:
        run, size = job.run, len(job.corpus.words)
        if not run.done("pairs"):
            self._learn_pairs(job)
        kinds = {"words": slice(size)}
        if self.equations == "tokens":
            kinds["equations"] = slice(size, None)
        return {
            f"{name}_{kind}": np.ascontiguousarray(run.arrays[name][rows])
            for kind, rows in kinds.items()
            for name in LEARNED
        }

    def _stream(self, corpus: Corpus, stream: TrainingStream) -> tuple[TrainingStream, int]:
        """The stream whose pairs are counted, and its number of different words."""
        words, types = len(corpus.words), len(corpus.forms)
        if self.equations == "tokens":
            return features.with_tokens(stream, words, types), words + types
        return stream, words

    def _learn_pairs(self, job: TrainingJob) -> None:
        run, (stream, size) = job.run, self._stream(job.corpus, job.stream)
        kernels, threads = job.kernels, job.threads
        counts = kernels.pairs_count(stream.tokens, stream.starts, size, self.window, threads)
        pairs = kernels.pairs_order(counts, self._rule(job.seed), threads)
        del counts
        first = initial(job.seed, size, self.dim)._asdict()
        run.enter("pairs", first, {"pairs": EarlyStopping(LEARNED, self.patience)})
        vectors = Biased(**{name: run.arrays[name] for name in Biased._fields})

        def step(_: int) -> dict[str, float]:
            return {"cost": kernels.pairs_update(vectors, pairs, self.rate, threads)}

        validate = {"pairs": self._validate(job)}
        run.iterate(self.iterations, step, validate, job.callback, len(stream.tokens))

    def _rule(self, seed: int) -> PairRule:
        return PairRule(self.x_max, self.power, draws.key(seed, PAIR_PASS, 0))

    def _validate(self, job: TrainingJob) -> Callable[[], float | None]:
        """A function that returns the validation score of the present vectors."""
        if job.split is None or not job.split.of(VALIDATION).any():
            return lambda: None
        split, part = job.split, job.split.of(VALIDATION)
        found = contexts(job.corpus, split, self.window - 1)[part]
        if self.equations == "tokens":
            found = np.c_[found, len(job.corpus.words) + split.types[part]]

        def validate() -> float:
            now = job.run.arrays
            context = context_mean(now["alpha"], found)
            bias = now["rho_bias"] if self.bias else None
            scored = _score(now["rho"], bias, split, part, context)
            return self._mean(scored)

        return validate

    def score(
        self,
        corpus: Corpus,
        split: Split,
        part: int,
        *,
        words: int | None = None,
        bias: bool | None = None,
    ) -> likelihood.HeldOutScores:
        """Score held-out words, given W - 1 words and the equation, or `words` words alone.

        `bias` replaces the setting.
        """
        self.check_data(corpus, split)
        arrays, chosen = self._fitted().arrays, split.of(part)
        alpha = arrays["alpha_words"]
        found = contexts(corpus, split, self.window - 1 if words is None else words)[chosen]
        if words is None and self.equations == "tokens":
            found = np.c_[found, len(alpha) + split.types[chosen]]
            alpha = np.r_[alpha, arrays["alpha_equations"]]
        own = arrays["rho_bias_words"] if (self.bias if bias is None else bias) else None
        return _score(arrays["rho_words"], own, split, chosen, context_mean(alpha, found))


def initial(seed: int, size: int, dim: int) -> Biased:
    """Uniform numbers between -1/2 and 1/2, divided by K, and sums of 1; depends on the seed."""
    random = np.random.default_rng([seed % 2**63, PAIR_PASS])
    shapes = [(size, dim), (size, dim), (size,), (size,)]
    made = [((random.random(shape) - 0.5) / dim).astype(np.float32) for shape in shapes]
    return Biased(*made, *(np.ones_like(array) for array in made))


def context_mean(alpha: Floats, ids: Ids) -> NDArray[np.float64]:
    """The mean of alpha over the words of each row, -1 meaning no word; [H, K]."""
    size = np.maximum((ids >= 0).sum(axis=1, keepdims=True), 1)
    mean: NDArray[np.float64] = context_sum(alpha, ids) / size
    return mean


def _score(
    rho: Floats,
    bias: Floats | None,
    split: Split,
    part: NDArray[np.bool_],
    context: NDArray[np.float64],
) -> likelihood.HeldOutScores:
    words, negatives = split.words[part], split.negatives[part]
    found = likelihood.score(rho, words, negatives, context)
    if bias is None:
        return found
    return likelihood.HeldOutScores(found.word + bias[words], found.negatives + bias[negatives])
