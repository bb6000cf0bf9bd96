"""ARQMath-1 formula retrieval: rank by unit overlap, the baseline of every model.

    EQEMB_BENCH=... python benchmarks/arqmath.py --baseline dice [--end-of-baseline none]

Data and reference scorer are in the folder that EQEMB_BENCH names (see its README). There are two
settings: (a) rank all judged formulas of a topic; (b) rerank only those in Tangent-S's run.
"""

import argparse
import gzip
import importlib.util
import json
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

from eqemb.formula import Layout, layout

Units = Counter[tuple[str, str, str]]
Judgements = dict[str, dict[str, int]]


def dice(a: Units, b: Units) -> float:
    """Return the Dice coefficient of two multisets of units."""
    total = a.total() + b.total()
    return 2 * (a & b).total() / total if total else 0.0


BASELINES: dict[str, Callable[[Units, Units], float]] = {"dice": dice}


def lines(path: Path) -> Iterable[str]:
    """Read the lines of a file, which may be compressed."""
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt", encoding="utf8") as file:
        yield from file


def reference_scorer(bench: Path) -> ModuleType:
    """Load the benchmark's own scorer, so that figures are comparable with published ones."""
    spec = importlib.util.spec_from_file_location("score", bench / "score.py")
    if spec is None or spec.loader is None:
        raise SystemExit(f"no score.py in {bench}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read_units(slt: str, window: int, ends: str) -> Units | None:
    """Return the units of a bracket string; None if it is malformed."""
    try:
        made = Layout.from_slt(slt)
    except ValueError:
        return None
    return Counter(made.units(window, ends))  # type: ignore[arg-type]


def collection(folder: Path, window: int, ends: str) -> tuple[dict[str, Units], int]:
    """Return the units of every formula, and the number of malformed strings."""
    found: dict[str, Units] = {}
    malformed = 0
    for line in lines(folder / "formulas.jsonl.gz"):
        record = json.loads(line)
        units = read_units(record["slt"], window, ends)
        malformed += units is None
        found[record["visual_id"]] = units if units is not None else Counter()
    return found, malformed


def queries(folder: Path, window: int, ends: str, source: str) -> dict[str, Units]:
    """Return the units of every topic, from its bracket string or parsed from its LaTeX."""
    found: dict[str, Units] = {}
    for line in lines(folder / "topics.jsonl"):
        record = json.loads(line)
        if source == "latex":
            made = layout(record["latex"], tangent_exact=True)
            # The collection was made by an older LaTeXML, which wrote minus as a hyphen.
            units = Counter(
                ("-" if s == "−" else s, "-" if t == "−" else t, path)
                for s, t, path in made.units(window, ends)  # type: ignore[arg-type]
            )
        else:
            units = read_units(record["slt"], window, ends) or Counter()
        found[record["id"]] = units
    return found


def rank(
    topics: dict[str, Units],
    formulas: dict[str, Units],
    judged: Judgements,
    similarity: Callable[[Units, Units], float],
) -> dict[str, dict[str, float]]:
    """Return the scores of the judged formulas of every topic."""
    return {
        topic: {
            name: similarity(topics[topic], formulas[name]) for name in names if name in formulas
        }
        for topic, names in judged.items()
    }


def tangent_pool(folder: Path, judged: Judgements) -> Judgements:
    """Return the judged formulas in Tangent-S's run."""
    run: dict[str, set[str]] = defaultdict(set)
    for line in lines(folder / "tangent_s_run_2020.tsv.gz"):
        topic, name, *_ = line.split()
        run[topic].add(name)
    return {t: {n: g for n, g in names.items() if n in run[t]} for t, names in judged.items()}


def main() -> None:
    """Rank the formulas, score the ranking and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--baseline", choices=sorted(BASELINES), default="dice")
    parser.add_argument("--window", type=int, default=1)
    parser.add_argument("--end-of-baseline", choices=("all", "none", "needed"), default="all")
    parser.add_argument("--queries", choices=("slt", "latex"), default="slt")
    options = parser.parse_args()
    if "EQEMB_BENCH" not in os.environ:
        sys.exit("set EQEMB_BENCH to the folder with the benchmark data")
    bench = Path(os.environ["EQEMB_BENCH"])
    folder = bench / "arqmath1"
    scorer = reference_scorer(bench)
    judged: Judgements = scorer.read_qrels(str(folder / "qrels_official45_v2.tsv"))
    start = time.perf_counter()
    formulas, malformed = collection(folder, options.window, options.end_of_baseline)
    topics = queries(folder, options.window, options.end_of_baseline, options.queries)
    read = time.perf_counter() - start
    print(f"{len(formulas)} formulas read in {read:.1f} s, {malformed} strings malformed")
    similarity = BASELINES[options.baseline]
    for name, pool in (("a, pool", judged), ("b, re-rank", tangent_pool(folder, judged))):
        run = rank(topics, formulas, pool, similarity)
        scores = scorer.evaluate_prime(judged, run)
        print(f"({name})  " + "  ".join(f"{key} {value:.4f}" for key, value in scores.items()))


if __name__ == "__main__":
    main()
