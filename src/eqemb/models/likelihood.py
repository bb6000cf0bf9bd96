"""Scores of held-out words as likelihoods, two baselines without a model, and a temperature.

The paper's formula can be read in two ways, which the setting `reading` chooses:

    softmax     p(w) = exp(s_w) / sum over the held-out word and its negatives of exp(s)
    logistic    p(w) = sigma(s_w)
    pseudo-LL   log p(w_h) + mean over negatives of log(1 - p(w_ns))
    predictive  log p(w_h) of the softmax: what early stopping maximises

where s = rho . context. Accuracy, the share of negatives with a lower score than the held-out word,
does not depend on the scale of scores.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.corpus.corpus import Corpus
from eqemb.corpus.split import TEST, VALIDATION, Split, training_counts

Doubles = NDArray[np.float64]


class HeldOutScores(NamedTuple):
    """Scores of held-out words and of their negatives."""

    word: Doubles  # [H]
    negatives: Doubles  # [H, n]

    def scaled(self, factor: float, constant: float = 0.0) -> "HeldOutScores":
        """All scores times a factor (one over the temperature) plus a constant."""
        return HeldOutScores(self.word * factor + constant, self.negatives * factor + constant)


class Means(NamedTuple):
    """Means over held-out words: one line of a table."""

    predictive: float
    softmax: float
    logistic: float
    accuracy: float


def score(
    rho: NDArray[np.floating],
    words: NDArray[np.int32],
    negatives: NDArray[np.int32],
    context: NDArray[np.floating],
) -> HeldOutScores:
    """The scores of words and negatives in their contexts [H, K]."""
    context = context.astype(np.float64)
    word = np.einsum("hk,hk->h", rho[words].astype(np.float64), context)
    others = np.empty(negatives.shape)
    for slot in range(negatives.shape[1]):  # one slot at a time: [H, n, K] would be large
        others[:, slot] = np.einsum("hk,hk->h", rho[negatives[:, slot]], context)
    return HeldOutScores(word, others)


def unigram(
    counts: NDArray[np.int64], words: NDArray[np.int32], negatives: NDArray[np.int32]
) -> HeldOutScores:
    """The best score without a context: a quarter of the log frequency (noise: unigram^0.75)."""
    value = 0.25 * np.log(np.maximum(counts, 1))
    return HeldOutScores(value[words], value[negatives])


def zero(size: int, negatives: int) -> HeldOutScores:
    """The scores of zero vectors."""
    return HeldOutScores(np.zeros(size), np.zeros((size, negatives)))


def _log_softmax(scored: HeldOutScores) -> tuple[Doubles, Doubles]:
    """The log p of words and log(1 - p) of negatives."""
    every = np.concatenate([scored.word[:, None], scored.negatives], axis=1)
    first = every.argmax(axis=1)[:, None]
    top = np.take_along_axis(every, first, axis=1)
    raised = np.exp(every - top)
    total = raised.sum(axis=1, keepdims=True)
    # the log of the sum of all others; it loses digits only for the largest itself
    rest = np.log(np.maximum(total - raised, np.finfo(float).tiny))
    others = every.copy()
    np.put_along_axis(others, first, -np.inf, axis=1)
    second = others.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):  # without negatives the rest is empty
        alone = second - top + np.log(np.exp(others - second).sum(axis=1, keepdims=True))
    np.put_along_axis(rest, first, alone, axis=1)
    return every[:, 0] - top[:, 0] - np.log(total[:, 0]), (rest - np.log(total))[:, 1:]


def predictive(scored: HeldOutScores) -> Doubles:
    """The log p(w_h) by softmax over the word and its negatives; [H]."""
    return _log_softmax(scored)[0]


def softmax(scored: HeldOutScores) -> Doubles:
    """The pseudo-log-likelihood by softmax: log p of the word + mean log(1 - p) of negatives."""
    word, others = _log_softmax(scored)
    result: Doubles = word + others.mean(axis=1)
    return result


def logistic(scored: HeldOutScores) -> Doubles:
    """The pseudo-log-likelihood by the logistic function of each score; [H]."""
    word = -np.logaddexp(0.0, -scored.word)
    result: Doubles = word - np.logaddexp(0.0, scored.negatives).mean(axis=1)
    return result


def accuracy(scored: HeldOutScores) -> Doubles:
    """The share of negatives that score below the word, ties counting half; [H]."""
    below = (scored.negatives < scored.word[:, None]).mean(axis=1)
    equal = (scored.negatives == scored.word[:, None]).mean(axis=1)
    result: Doubles = below + 0.5 * equal
    return result


def means(scored: HeldOutScores) -> Means:
    """All measures, averaged over held-out words."""
    readings = (predictive, softmax, logistic, accuracy)
    return Means(*(float(reading(scored).mean()) for reading in readings))


def fit_temperature(
    scored: HeldOutScores, reading: Callable[[HeldOutScores], Doubles] = softmax
) -> float:
    """The factor, one over the temperature, that gives the best likelihood."""
    return float(
        np.exp(_best(lambda log: float(reading(scored.scaled(np.exp(log))).mean()), -6.0, 4.0))
    )


def fit_constant(scored: HeldOutScores) -> float:
    """The constant, added to scores, that maximises the logistic likelihood."""
    return _best(lambda constant: float(logistic(scored.scaled(1.0, constant)).mean()), -20.0, 20.0)


def _best(value: Callable[[float], float], low: float, high: float) -> float:
    """The maximiser of a function of one number: a grid, then finer grids around the best."""
    for _ in range(6):
        grid = np.linspace(low, high, 41)
        best = int(np.argmax([value(point) for point in grid]))
        low, high = float(grid[max(0, best - 1)]), float(grid[min(40, best + 1)])
    return 0.5 * (low + high)


#: How scores become a likelihood, by the setting `reading`.
LIKELIHOODS: dict[str, Callable[[HeldOutScores], Doubles]] = {
    "softmax": softmax,
    "logistic": logistic,
}


def chance(corpus: Corpus, split: Split, part: int = TEST) -> dict[str, dict[str, float]]:
    """The scores of two baselines without a model: zero vectors and word frequencies.

    For the logistic likelihood the unigram baseline has one constant, fitted on validation words.
    """
    counts = training_counts(corpus, split)

    def lines(part: int) -> dict[str, HeldOutScores]:
        words, negatives = split.words[split.of(part)], split.negatives[split.of(part)]
        return {
            "zero": zero(len(words), split.settings.negatives),
            "unigram": unigram(counts, words, negatives),
        }

    constant = {"zero": 0.0, "unigram": fit_constant(lines(VALIDATION)["unigram"])}
    return {
        name: {
            "softmax": float(softmax(scored).mean()),
            "predictive": float(predictive(scored).mean()),
            "logistic": float(logistic(scored.scaled(1.0, constant[name])).mean()),
            "accuracy": float(accuracy(scored).mean()),
        }
        for name, scored in lines(part).items()
    }
