"""Write the measurements that `eqemb plan` uses where the user has none.

    python benchmarks/plan_measurements.py GROWTH.json --date 2026-11-18
        [--training GROWTH.json]

GROWTH.json is what `growth.py --parts stages` keeps in its folder. If it was measured where
numba is not installed, `--training` names one of another machine that has training and vectors.
The GPU's figures are computed from `results/gpu.json` as in `results/gpu.md`. What merging,
approximate indexes and answers of large libraries cost is copied from `results/large_figures.json`,
which is written by hand: each row names the script that printed it. Near-duplicates of whole
segments are measured here where GROWTH.json lacks them (4 GB of memory and 2 GB of disk).
Writes src/eqemb/planning/measurements.json and results/growth_stages.json, which `growth_plot.py`
draws.
"""

import argparse
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpu_report import ITERATIONS, ten_billion

from eqemb.library.segments import LARGE_SEGMENT_DOCUMENTS, SEGMENT_DOCUMENTS
from eqemb.planning.measure import measure_pairs
from eqemb.planning.measurements import SOURCED, Measurements, Size

HERE = Path(__file__).parent
OUTPUT = HERE.parent / "src" / "eqemb" / "planning" / "measurements.json"
GPU = HERE / "results" / "gpu.json"
LARGE = HERE / "results" / "large_figures.json"
STAGES = HERE / "results" / "growth_stages.json"
#: Papers of the segments in which near-duplicates are looked for.
PAIR_PAPERS = (SEGMENT_DOCUMENTS, 8 * SEGMENT_DOCUMENTS, LARGE_SEGMENT_DOCUMENTS)
TEN_BILLION = 10_000_000_000
Row = dict[str, Any]


def sizes_of(growth: Row) -> list[Row]:
    """Return the stages of each size."""
    rows = []
    for _, row in sorted(growth["sizes"].items(), key=lambda item: int(item[0])):
        if "stages" not in row:  # not measured yet
            continue
        size = dict(row["stages"])
        size.pop("seconds", None)
        rows.append(size)
    return rows


def gpu_figures() -> Row:
    """Return what a GPU needs for a word and for an equation, host included."""
    report = json.loads(GPU.read_text("utf-8"))
    seconds = ten_billion(report)
    second = {name: value for name, value in seconds.items() if name.startswith("second pass")}
    equations = TEN_BILLION * report["scores"]["equations"] / report["scores"]["words"]
    return {
        "name": report["machine"]["gpu"],
        "source": "benchmarks/results/gpu.md",
        "iterations": ITERATIONS,
        "words": report["stream"]["words"],
        "seconds_a_word": (sum(seconds.values()) - sum(second.values())) / TEN_BILLION,
        "seconds_an_equation": sum(second.values()) / equations,
    }


def large_figures() -> Row:
    """Return what only large libraries show, with the source of each row."""
    found = json.loads(LARGE.read_text("utf-8"))
    return {name: tuple(found[name]) for name in SOURCED}


def measurements(growth: Row, date: str) -> Measurements:
    """Return what a file of `growth.py` has measured."""
    sizes = tuple(Size(**row) for row in sizes_of(growth))
    pairs = tuple(growth.get("pairs") or ())
    versions = growth.get("versions") or {}
    return Measurements(date, growth["machine"], versions, "benchmarks/growth.py", sizes, pairs)


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("growth", type=Path)
    parser.add_argument("--date", required=True, help="when growth.py was run")
    parser.add_argument("--training", type=Path, help="growth.json with training and vectors")
    given = parser.parse_args()
    growth = json.loads(given.growth.read_text("utf-8"))
    rows = sizes_of(growth)
    sizes = measurements(growth, given.date).sizes
    made = replace(measurements(growth, given.date), gpu=gpu_figures(), **large_figures())
    if given.training:
        other = measurements(json.loads(given.training.read_text("utf-8")), given.date)
        made = replace(made, others=(other,))
    if not made.pairs:
        with tempfile.TemporaryDirectory() as work:
            made = replace(made, pairs=measure_pairs(Path(work), sizes[-1], PAIR_PAPERS))
    made.save(OUTPUT)
    STAGES.write_text(
        json.dumps({"machine": growth["machine"], "made": given.date, "sizes": rows}, indent=1)
        + "\n",
        "utf-8",
    )
    print(f"{OUTPUT} and {STAGES}: {', '.join(f'{size.papers:,}' for size in sizes)} papers")


if __name__ == "__main__":
    main()
