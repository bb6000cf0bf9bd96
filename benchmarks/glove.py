"""Compare our GloVe with a run of its authors' program: the same pairs, and the cost by iteration.

    EQEMB_BENCH=FOLDER python benchmarks/glove.py             the comparison, 1 and 2 threads
    EQEMB_BENCH=FOLDER python benchmarks/glove.py --json      the raw numbers

FOLDER/glove holds the text (`tokens.txt.gz`, one article per line) and the output of the program,
with its settings (`README.md`). Both programs start at random and shuffle, so later costs agree to
about a percent. Speed is the number of pairs trained per second, by wall-clock time and by CPU time
of all threads (which is less sensitive to other work on the machine); counting is not included.
"""

import argparse
import gzip
import json
import os
import platform
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from eqemb.kernels import cpu, draws
from eqemb.kernels.arrays import Counts, Ids, PairRule, Positions
from eqemb.models.glove import initial


class Words(NamedTuple):
    """A text as token ids."""

    names: list[str]
    tokens: Ids
    starts: Positions


@dataclass
class Expected:
    """Output and settings of the authors' program."""

    settings: dict[str, float]
    vocabulary: int
    pairs: int
    total: float
    largest: dict[str, float]
    costs: list[float]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Parse the README of the run."""
        text = path.read_text("utf-8")

        def number(pattern: str) -> float:
            found = re.search(pattern + r"\s+([\d.,]*\d)", text)
            if found is None:
                raise SystemExit(f"{path} does not say {pattern!r}")
            return float(found[1].replace(",", ""))

        names = {"window": "window", "dim": "vector size", "x_max": "x_max", "power": "alpha",
                 "rate": "eta"}  # fmt: skip
        largest = re.search(r"largest counts: (.*)", text)
        costs = re.search(r"cost after each iteration[^:]*: (.*)", text)
        return cls(
            {name: number(pattern) for name, pattern in names.items()},
            int(number("vocabulary")),
            int(number("non-zero pairs")),
            number("sum of counts"),
            {pair: float(x) for pair, x in re.findall(r"(\S+-\S+) ([\d.]+)", largest[1])}
            if largest
            else {},
            [float(cost) for cost in re.findall(r"\d\.\d+", costs[1])] if costs else [],
        )


def read_text(path: Path) -> Words:
    """Read a text: articles are lines, words are separated by blanks, ids are by frequency."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        articles = [line.split() for line in lines]
    names, tokens = np.unique(
        [word for article in articles for word in article], return_inverse=True
    )
    order = np.argsort(-np.bincount(tokens), kind="stable")
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order))
    starts = np.cumsum([0, *map(len, articles)])
    return Words(names[order].tolist(), rank[tokens], starts.astype(np.int64))


def count(text: Words, expected: Expected, threads: int) -> Counts:
    """Return our model with the program's settings; its window is per side, ours is total."""
    window = 2 * int(expected.settings["window"])
    return cpu.pairs_count(text.tokens, text.starts, len(text.names), window, threads)


def differences(text: Words, counts: Counts, expected: Expected) -> list[str]:
    """Return the differences from the program's counts."""
    ids = {name: index for index, name in enumerate(text.names)}
    pairs: list[tuple[str, float, float]] = [
        ("vocabulary", len(text.names), expected.vocabulary),
        ("pairs", len(counts.columns), expected.pairs),
        ("sum of counts", round(float(counts.counts.sum()), 3), expected.total),
    ]
    for pair, x in expected.largest.items():
        row, column = (ids[word] for word in pair.split("-"))
        low, high = counts.starts[row], counts.starts[row + 1]
        at = low + int(np.searchsorted(counts.columns[low:high], column))
        pairs.append((pair, round(float(counts.counts[at]), 3), x))
    return [f"{what}: {ours:,} and not {x:,}" for what, ours, x in pairs if ours != x]


def learn(
    text: Words, counts: Counts, expected: Expected, threads: int, seed: int = 0
) -> tuple[list[float], NDArray[np.float64]]:
    """Return the cost of every iteration, and the best wall-clock and CPU time."""
    settings = expected.settings
    rule = PairRule(settings["x_max"], settings["power"], draws.key(seed, 0, 0))
    pairs = cpu.pairs_order(counts, rule, threads)
    vectors = initial(seed, len(text.names), int(settings["dim"]))
    cpu.pairs_loss(vectors, pairs)  # compile
    costs, seconds = [], []
    for _ in expected.costs:
        start = np.array([time.perf_counter(), time.process_time()])
        costs.append(cpu.pairs_update(vectors, pairs, settings["rate"], threads))
        seconds.append(np.array([time.perf_counter(), time.process_time()]) - start)
    return costs, np.min(seconds, axis=0)


def main() -> None:
    """Compare the two programs and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if not os.environ.get("EQEMB_BENCH"):
        raise SystemExit("set EQEMB_BENCH to the folder that holds glove/README.md")
    folder = Path(os.environ["EQEMB_BENCH"]) / "glove"
    expected, text = Expected.read(folder / "README.md"), read_text(folder / "tokens.txt.gz")
    counts = count(text, expected, max(given.threads))
    wrong = differences(text, counts, expected)
    report: dict[str, Any] = {"machine": platform.processor() or platform.machine()}
    report |= {"pairs": len(counts.columns), "wrong": wrong, "reference": expected.costs}
    speeds, curves = {}, []
    for threads in given.threads:
        curve, seconds = learn(text, counts, expected, threads, given.seed)
        curves.append(curve)
        by_clock, by_cpu = len(counts.columns) / seconds
        speeds[threads] = {"pairs_per_second": by_clock, "pairs_per_cpu_second": by_cpu}
    same = all(curve == curves[0] for curve in curves)
    report |= {"eqemb": curves[0], "same_for_all_threads": same, "threads": speeds}
    if given.json:
        print(json.dumps(report, indent=1))
        return
    print(f"{len(text.names):,} words, {len(counts.columns):,} pairs:", end=" ")
    print("; ".join(wrong) or "the counts are the same as the program's")
    print("\niteration  program    eqemb  difference")
    for at, (theirs, ours) in enumerate(zip(expected.costs, curves[0], strict=True), 1):
        print(f"{at:9}  {theirs:.5f}  {ours:.5f}  {100 * (ours / theirs - 1):+9.2f}%")
    print(f"\nthe same costs for every number of threads: {'yes' if same else 'NO'}")
    print("threads  M pairs/s  M pairs/CPU s")
    for threads, speed in speeds.items():
        by_clock, by_cpu = (value / 1e6 for value in speed.values())
        print(f"{threads:7}  {by_clock:9.1f}  {by_cpu:13.1f}")


if __name__ == "__main__":
    main()
