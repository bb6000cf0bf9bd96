"""Seconds to a validation score, next to gensim, and the cost of shared negatives.

Part of `train.py --corpus`. The score is the predictive log-likelihood (softmax) of the validation
words of `Split.make(corpus)`, each given the W - 1 nearest words of the training stream and no
equation. Gensim is scored with its own matrices, context = sum of syn0, rho = syn1neg. It gets a
grid of rates and epochs (its rate falls linearly to the last); its best is the best epoch of any of
these runs, at the time of that run up to this epoch. Eqemb gets one setting, our defaults at the
same n; its time is that of the first quarter of an iteration with at least this score. Only
training is timed, by wall-clock, with the same number of threads.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from train_cbow import HAVE_GENSIM, Cbow, clocked

from eqemb.corpus.corpus import Corpus
from eqemb.corpus.split import VALIDATION, Split, contexts, training_stream
from eqemb.kernels import cpu, draws
from eqemb.kernels.arrays import Floats, Vectors
from eqemb.models import features, likelihood
from eqemb.models.base import context_sum
from eqemb.models.bernoulli import WORD_PASS, BernoulliEmbeddings

Report = dict[str, Any]
RATES, EPOCHS = (0.025, 0.05, 0.1), (5, 10, 20)
QUICK_RATES, QUICK_EPOCHS = (0.05,), (5,)


class Judge:
    """A corpus without its held-out words, and a score on its validation words."""

    def __init__(self, corpus: Corpus, window: int) -> None:
        self.corpus, self.window, self.split = corpus, window, Split.make(corpus)
        self.text = training_stream(corpus, self.split).text
        self.part = self.split.of(VALIDATION)
        if not self.part.any():
            raise SystemExit("no words can be held out: the corpus has no equations")
        self.near = contexts(corpus, self.split, window - 1)[self.part]

    def score(self, rho: Floats, alpha: Floats) -> float:
        """Return the mean predictive log-likelihood."""
        words, negatives = self.split.words[self.part], self.split.negatives[self.part]
        scored = likelihood.score(rho, words, negatives, context_sum(alpha, self.near))
        return float(likelihood.predictive(scored).mean())


def ours(judge: Judge, model: BernoulliEmbeddings, threads: int) -> Iterator[tuple[float, Any]]:
    """Yield the score and the training time after every quarter of an iteration."""
    text, size = judge.text, len(judge.corpus.words)
    rho, alpha = (features.initial(0, which, size, model.dim, model.init) for which in (0, 1))
    vectors = Vectors(rho, alpha, np.zeros_like(rho), np.zeros_like(rho))
    rule = model.rule(0, model.learning_rate, len(text.tokens))
    quarter = -(-len(text.tokens) // (4 * rule.batch)) * rule.batch
    spent = np.zeros(2)
    for iteration in range(1, model.iterations + 1):
        rule = rule._replace(key=draws.key(0, WORD_PASS, iteration))
        for low in range(0, len(text.tokens), quarter):
            span = (low, min(low + quarter, len(text.tokens)))
            spent += clocked(lambda: cpu.words_update(vectors, text, rule, span, threads))  # noqa: B023
            yield judge.score(rho, alpha), spent.copy()


def race(
    judge: Judge, model: BernoulliEmbeddings, threads: int, folder: Path, *, quick: bool
) -> Report:
    """Measure the seconds of gensim to its best score, and of eqemb to the same score."""
    text, rule = Cbow(judge.text.tokens, folder / "race.txt"), model.rule(0, model.learning_rate, 1)
    runs = []
    for rate in QUICK_RATES if quick else RATES:
        for epochs in QUICK_EPOCHS if quick else EPOCHS:
            made = text.model(rule, model.dim, threads, rate)
            found = list(text.epochs(made, epochs, judge.score, len(judge.corpus.words)))
            at = int(np.argmax([score for score, _ in found]))
            score, spent = found[at]
            runs.append(
                {"rate": rate, "epochs": epochs, "best_epoch": at + 1, "score": score}
                | {"seconds": spent[0], "cpu_seconds": spent[1]}
            )
    theirs = max(runs, key=lambda run: run["score"])
    reached, best = None, -math.inf
    for score, spent in ours(judge, model, threads):
        best = max(best, score)
        if reached is None and score >= theirs["score"]:
            reached = spent
        if score < best - 0.05:  # it is overfitting
            break
    row: Report = {"window": model.window, "threads": threads, "gensim": theirs, "grid": runs}
    row |= {"eqemb_best_score": best, "eqemb_seconds": None, "eqemb_cpu_seconds": None}
    if reached is not None:
        row |= {"eqemb_seconds": reached[0], "eqemb_cpu_seconds": reached[1]}
    return row


def shared_zeros(judge: Judge, model: BernoulliEmbeddings, threads: int, seeds: int) -> Report:
    """Return the best validation scores with negatives shared by 64 words, and without sharing."""
    row: Report = {"window": model.window, "seeds": seeds}
    for block in (64, 1):
        made = BernoulliEmbeddings(**{**model.get_params(), "block": block})
        found = []
        for seed in range(seeds):
            made.fit(judge.corpus, judge.split, seed=seed, threads=threads)
            found.append(made.embeddings_.config["validation"])
        error = float(np.std(found, ddof=1) / math.sqrt(seeds)) if seeds > 1 else None
        row[f"block_{block}"] = {"scores": found, "mean": float(np.mean(found)), "error": error}
    return row


def measure(
    corpus: Corpus, model: BernoulliEmbeddings, threads: int, folder: Path, *, quick: bool
) -> Report:
    """Run both measurements on one corpus."""
    judge = Judge(corpus, model.window)
    negatives = judge.split.settings.negatives
    report: Report = {"chance_score": -math.log(1 + negatives), "words": len(judge.text.tokens)}
    report["held_out"] = int(judge.part.sum())
    if HAVE_GENSIM:
        report["race"] = race(judge, model, threads, folder, quick=quick)
    return report | {"zeros": shared_zeros(judge, model, threads, 1 if quick else 3)}


def show(report: Report) -> None:
    """Print both results."""
    print(
        f"\nvalidation score of {report['held_out']:,} words, W - 1 words and no equation;"
        f" chance {report['chance_score']:.3f}"
    )
    if "race" in report:
        show_race(report["race"])
    zeros = report["zeros"]
    told = []
    for key in ("block_64", "block_1"):
        error = zeros[key]["error"]
        told.append(f"{zeros[key]['mean']:.4f}" + (f" +- {error:.4f}" if error else ""))
    print(
        f"negatives shared by 64 words {told[0]}, own negatives {told[1]} ({zeros['seeds']} seeds)"
    )


def show_race(row: Report) -> None:
    """Print the times to the same score."""
    theirs = row["gensim"]
    print(
        f"gensim's best, W={row['window']}, {row['threads']} threads: {theirs['score']:.3f} after"
        f" {theirs['seconds']:.1f} s, {theirs['cpu_seconds']:.1f} of CPU (rate {theirs['rate']},"
        f" epoch {theirs['best_epoch']} of {theirs['epochs']}; best of {len(row['grid'])} runs)"
    )
    if row["eqemb_seconds"] is None:
        print(f"eqemb does not reach it: {row['eqemb_best_score']:.3f} at best")
        return
    ratios = [theirs[unit] / row[f"eqemb_{unit}"] for unit in ("seconds", "cpu_seconds")]
    print(
        f"eqemb reaches it after {row['eqemb_seconds']:.1f} s,"
        f" {row['eqemb_cpu_seconds']:.1f} of CPU:"
        f" {ratios[0]:.1f} and {ratios[1]:.1f} times faster; its best is"
        f" {row['eqemb_best_score']:.3f}"
    )
