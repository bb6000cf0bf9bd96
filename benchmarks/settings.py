"""Tune settings one at a time on validation words: the data behind the defaults.

    python benchmarks/settings.py LIBRARY nlp ir ai ml [--reading logistic] [--wide]

The paper's vocabulary (thresholds 10 and 25), numbered equations, without near-duplicates; K=50,
W=4, E=16, or K=100, W=16 with --wide. Every figure is the mean over collections and seeds, with the
standard error over seeds. Test words are never used. Prints the tables that docs/training.md links
to. In the logistic reading, negatives are averaged (the first table shows why), and learning rates
are tuned again.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from eqemb.corpus.corpus import Corpus
from eqemb.corpus.split import VALIDATION, Split
from eqemb.corpus.vocabulary import Rules
from eqemb.facade.library import Library
from eqemb.models import EqEmb, EqEmbH, EqEmbU, likelihood, workspace
from eqemb.models.bernoulli import BernoulliEmbeddings

SHAPE: dict[str, Any] = {"dim": 50, "window": 4}
WIDE: dict[str, Any] = {"dim": 100, "window": 16}
WORDS: list[dict[str, Any]] = [
    {},
    {"rate": 0.0125},
    {"rate": 0.025},
    {"rate": 0.05},
    {"rate": 0.1},
    {"rate": 0.2},
    {"zero_weight": "mean"},
    {"zero_weight": 0.5},
    {"zero_weight": "sum"},
    {"negatives": 10, "zero_weight": 0.3},
    {"batch": 4096},
    {"batch": 16384},
    {"block": 1},
    {"block": 8},
    {"block": 32},
    {"block": 64},
    {"init": 0.1},
    {"patience": 1},
    {"preset": "paper"},
]
EQUATIONS: list[tuple[type[EqEmb], dict[str, Any]]] = [
    *((EqEmb, {"control": "one", "equation_rate": rate}) for rate in (0.1, 0.2, 0.4)),
    *((EqEmb, {"control": "article", "equation_rate": rate}) for rate in (0.1, 0.2, 0.4)),
    *((EqEmb, {"equation_rate": rate}) for rate in (0.05, 0.1, 0.2, 0.4)),
    (EqEmb, {"passes": "joint"}),
    *((EqEmbU, {"equation_rate": rate}) for rate in (0.1, 0.2, 0.3, 0.5)),
    *((EqEmbU, {"unit_pooling": "root", "equation_rate": rate}) for rate in (0.05, 0.1)),
    *((EqEmbU, {"unit_pooling": "sum", "equation_rate": rate}) for rate in (0.005, 0.02)),
    (EqEmbU, {"unit_alpha": "apart"}),
    (EqEmbU, {"unit_alpha": "joint"}),
    (EqEmbU, {"passes": "joint"}),
    (EqEmbU, {"control": "shuffled"}),
    *((EqEmbH, {"equation_rate": rate}) for rate in (0.1, 0.2, 0.3)),
    (EqEmbH, {"passes": "two"}),
    (EqEmbH, {"own_weight": 0.5}),
    (EqEmbH, {"type_weight": 0.0}),
    (EqEmbH, {"article_weight": 0.0}),
    (EqEmbH, {"unit_weight": 0.0, "type_weight": 0.0, "own_weight": 0.0}),
]
#: Settings tuned again in the logistic reading, with averaged negatives and a lower rate.
LOGISTIC: dict[str, Any] = {"reading": "logistic", "zero_weight": "mean", "rate": 0.025}
LOGISTIC_WORDS: list[dict[str, Any]] = [
    {},
    {"rate": 0.0125},
    {"rate": 0.05},
    {"rate": 0.1},
    {"zero_weight": 0.025},
    {"zero_weight": 0.1},
    {"patience": 1},
]
LOGISTIC_EQUATIONS: list[tuple[type[EqEmb], dict[str, Any]]] = [
    *((EqEmb, {"control": "one", "equation_rate": rate}) for rate in (0.1, 0.2, 0.4)),
    *((EqEmb, {"control": "article", "equation_rate": rate}) for rate in (0.2, 0.4, 0.8)),
    *((EqEmb, {"equation_rate": rate}) for rate in (0.05, 0.1, 0.2, 0.4)),
    *((EqEmbU, {"equation_rate": rate}) for rate in (0.1, 0.3, 0.5)),
    *((EqEmbH, {"equation_rate": rate}) for rate in (0.05, 0.1, 0.2)),
    (EqEmbH, {"rate": 0.05, "equation_rate": 0.1}),
]
Data = tuple[Corpus, Split]


def opened(folder: Path, collections: list[str]) -> list[Data]:
    """Return corpora and splits, with the paper's vocabulary and numbered equations."""
    made = []
    for name in collections:
        with Library.open(folder) as library:
            choice = workspace.CorpusChoice(name, Rules("paper", 10, 25), "numbered")
            corpus = workspace.corpus(library, choice)
            made.append((corpus, workspace.split(library, name, corpus)))
    return made


def judged(model: BernoulliEmbeddings, data: Data, words: int | None) -> list[float]:
    """Return validation scores: both readings, raw and with temperature, and accuracy."""
    return readings(model.score(*data, VALIDATION, words=words))


def readings(found: likelihood.HeldOutScores) -> list[float]:
    """Return the five figures of a row."""
    raw = likelihood.means(found)
    tempered = [
        reading(found.scaled(likelihood.fit_temperature(found, reading))).mean()
        for reading in (likelihood.softmax, likelihood.logistic)
    ]
    return [raw.softmax, float(tempered[0]), raw.logistic, float(tempered[1]), raw.accuracy]


def line(name: str, settings: dict[str, Any], values: list[list[list[float]]]) -> str:
    """Format a row of the table from values by seed and collection."""
    by_seed = np.array(values).mean(axis=1)
    mean = by_seed.mean(axis=0)
    error = (
        by_seed.std(axis=0, ddof=1) / np.sqrt(len(by_seed))
        if len(by_seed) > 1
        else np.zeros_like(mean)
    )
    text = ", ".join(f"{key} {value}".strip() for key, value in settings.items()) or "defaults"
    cells = [f"{m:.3f} ± {e:.3f}" for m, e in zip(mean, error, strict=True)]
    return f"| {name} | {text} | " + " | ".join(cells) + " |"


def tried(
    data: list[Data], seeds: range, threads: int, models: list[str], shape: dict[str, Any]
) -> Iterator[str]:
    """Yield the rows as they are computed."""
    of_words, of_equations = WORDS, EQUATIONS
    if shape.get("reading") == "logistic":
        of_words, of_equations = LOGISTIC_WORDS, LOGISTIC_EQUATIONS

    def fit(model: Any, one: Data, seed: int) -> Any:
        return model.fit(*one, seed=seed, threads=threads)

    words = shape["window"]
    for settings in of_words if "words" in models else []:
        yield line(
            "words",
            settings,
            [
                [
                    judged(fit(BernoulliEmbeddings(**shape | settings), one, seed), one, words)
                    for one in data
                ]
                for seed in seeds
            ],
        )
    first = {
        (seed, index): fit(BernoulliEmbeddings(**shape), one, seed).embeddings_
        for seed in seeds
        for index, one in enumerate(data)
    }
    for kind, settings in of_equations:
        if kind.name not in models:
            continue
        rows = []
        for seed in seeds:
            rows.append([])
            for index, one in enumerate(data):
                model = kind(**shape | settings)
                if model.passes == "two":
                    model.set_params(words=first[seed, index])
                rows[-1].append(judged(fit(model, one, seed), one, None))
        yield line(kind.name, settings, rows)


def main() -> None:
    """Train, score and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("collections", nargs="+")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--reading", choices=["softmax", "logistic"], default="softmax")
    parser.add_argument("--wide", action="store_true")
    parser.add_argument("--models", nargs="+", default=["words", "eqemb", "eqemb-u", "eqemb-h"])
    given = parser.parse_args()
    data = opened(given.library, given.collections)
    n = sum(int(split.of(VALIDATION).sum()) for _, split in data)
    print(f"{', '.join(given.collections)}: {n:,} validation words, {given.seeds} seeds\n")
    print("| model | changed | softmax | tempered | logistic | tempered | accuracy |")
    print("|---|---|---|---|---|---|---|")
    zero = [
        readings(likelihood.zero(int(split.of(VALIDATION).sum()), split.settings.negatives))
        for _, split in data
    ]
    print(line("zero vectors", {"": "chance"}, [zero]), flush=True)
    shape = WIDE if given.wide else SHAPE
    if given.reading == "logistic":
        shape = shape | LOGISTIC
    for row in tried(data, range(given.seeds), given.threads, given.models, shape):
        print(row, flush=True)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
