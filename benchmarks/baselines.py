"""Tune CBOW, PV-DM and GloVe on validation words: six settings per reading.

    python benchmarks/baselines.py LIBRARY nlp ir ai ml [--wide]

Continues the table of `settings.py`: the paper's vocabulary, numbered equations, K=50, W=4, E=16,
or K=100, W=16 with --wide. Gensim has no readings: ten negatives or more are tried for the softmax
reading, one or two for the logistic reading, which averages negatives. GloVe has no negatives, so
its six settings are for both. Needs the extras `paper` and `baselines`.
"""

import argparse
from pathlib import Path
from typing import Any

from settings import SHAPE, WIDE, judged, line, opened

from eqemb.corpus.split import VALIDATION
from eqemb.models.base import Model
from eqemb.models.baselines import Cbow, ParagraphVectors
from eqemb.models.glove import GloVe

TOKENS: dict[str, Any] = {"equations": "tokens", "iterations": 50}
GRID: dict[type[Model], list[dict[str, Any]]] = {
    Cbow: [
        {"rate": 0.025, "iterations": 20, "negatives": 10},
        {"rate": 0.05, "iterations": 20, "negatives": 10},
        {"rate": 0.1, "iterations": 20, "negatives": 10},
        {"rate": 0.025, "iterations": 40, "negatives": 10},
        {"rate": 0.025, "iterations": 20, "negatives": 20},
        {"rate": 0.025, "iterations": 20, "negatives": 10, "mean": False},
        {"rate": 0.025, "iterations": 20, "negatives": 1},
        {"rate": 0.05, "iterations": 20, "negatives": 1},
        {"rate": 0.1, "iterations": 20, "negatives": 1},
        {"rate": 0.025, "iterations": 40, "negatives": 1},
        {"rate": 0.05, "iterations": 20, "negatives": 2},
        {"rate": 0.05, "iterations": 20, "negatives": 1, "mean": False},
    ],
    ParagraphVectors: [
        {"rate": 0.025, "iterations": 20, "negatives": 10},
        {"rate": 0.05, "iterations": 20, "negatives": 10},
        {"rate": 0.1, "iterations": 20, "negatives": 10},
        {"rate": 0.025, "iterations": 40, "negatives": 10},
        {"rate": 0.05, "iterations": 20, "negatives": 20},
        {"rate": 0.05, "iterations": 20, "negatives": 10, "mean": False},
        {"rate": 0.025, "iterations": 20, "negatives": 1},
        {"rate": 0.05, "iterations": 20, "negatives": 1},
        {"rate": 0.1, "iterations": 20, "negatives": 1},
        {"rate": 0.025, "iterations": 40, "negatives": 1},
        {"rate": 0.05, "iterations": 20, "negatives": 2},
        {"rate": 0.05, "iterations": 20, "negatives": 1, "mean": False},
    ],
    GloVe: [
        TOKENS,
        TOKENS | {"x_max": 100.0},
        TOKENS | {"x_max": 3.0},
        TOKENS | {"rate": 0.025},
        TOKENS | {"rate": 0.1},
        TOKENS | {"bias": True},
    ],
}


def main() -> None:
    """Train, score and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("collections", nargs="+")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--wide", action="store_true")
    parser.add_argument("--models", nargs="+", default=[kind.name for kind in GRID])
    given = parser.parse_args()
    shape = WIDE if given.wide else SHAPE
    data = opened(given.library, given.collections)
    n = sum(int(split.of(VALIDATION).sum()) for _, split in data)
    print(f"{', '.join(given.collections)}: {n:,} validation words, {given.seeds} seeds\n")
    print("| model | set | softmax | with temperature | logistic | with temperature | accuracy |")
    print("|---|---|---|---|---|---|---|")
    for kind, settings in ((kind, GRID[kind]) for kind in GRID if kind.name in given.models):
        for one in settings:
            rows = [
                [judged(kind(**shape, **one).fit(*at, seed=seed), at, None) for at in data]
                for seed in range(given.seeds)
            ]
            print(line(kind.name, one, rows), flush=True)


if __name__ == "__main__":
    main()
