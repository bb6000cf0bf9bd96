"""What the equation is worth: models beside chance and controls, on one cell.

    python benchmarks/controls.py LIBRARY nlp ir ai ml

The paper's vocabulary (its thresholds of 10 and 25), numbered equations, near-duplicates left
out; K=50, W=4, E=16, softmax reading, test words; mean and standard error over five seeds, raw
and with one temperature fitted on validation words; accuracy of the held-out word against its
negatives; gains over words alone and of EqEmb-U over the article vector by a paired bootstrap
clustered by article. Needs the extra `paper`.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from eqemb import workshop
from eqemb.evaluation import Cell, Result, chance, compare, difference, tested_articles
from eqemb.library import Library
from eqemb.vocabulary import Rules

PAIRS = (
    ("EqEmb", "words only, W"),
    ("EqEmb", "one vector"),
    ("EqEmb-U", "words only, W"),
    ("EqEmb-U", "shuffled units"),
    ("EqEmb-U", "article vector"),
    ("EqEmb-H", "article vector"),
    ("EqEmb-H", "EqEmb-U"),
)


def line(result: Result) -> str:
    """A line of the table."""
    found = result.summary()["test"]
    shown = [f"{found[name]['mean']:7.3f} ± {found[name]['se']:.3f}" for name in found]
    return f"{result.row:18}" + "   ".join(shown)


def main() -> None:
    """Train, score and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("collections", nargs="+")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--reading", default="softmax", choices=("softmax", "logistic"))
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    report: dict[str, Any] = {}
    cell = Cell(50, 4, 16)
    for name in given.collections:
        choice = workshop.Choice(name, Rules("paper", 10, 25), "numbered")
        with Library.open(given.library) as library:
            corpus = workshop.corpus(library, choice)
            split = workshop.split(library, name, corpus)

        def progress(what: str, name: str = name) -> None:
            if sys.stderr.isatty():
                print(f"\r{name}: {what:40}", end="", file=sys.stderr)

        results = list(chance(corpus, split, given.reading))
        results += compare(
            corpus, split, cell, given.reading, seeds=range(given.seeds),
            threads=given.threads, progress=progress,
        )  # fmt: skip
        by_row = {result.row: result for result in results}
        articles = tested_articles(corpus, split)
        gains = {
            f"{one} - {other}": difference(
                [(by_row[one].test["tempered"], by_row[other].test["tempered"], articles)]
            )
            for one, other in PAIRS
        }
        report[name] = {
            "rows": [result.summary() for result in results],
            "gains": {pair: gain._asdict() for pair, gain in gains.items()},
        }
        if given.json:
            continue
        n = len(articles)
        print(
            f"\n{name}: {len(corpus.articles)} articles ({corpus.left_out} near-duplicates left"
            f" out), {n:,} test words, {split.settings.negatives} negatives,"
            f" split {split.sha256[:12]}"
        )
        print(f"{'':20}raw                with temperature   accuracy")
        for result in results:
            print(line(result))
        for pair, gain in gains.items():
            print(f"{pair:34}{gain.mean:+.3f}  [{gain.low:+.3f}, {gain.high:+.3f}]  {gain.verdict}")
    if given.json:
        print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
