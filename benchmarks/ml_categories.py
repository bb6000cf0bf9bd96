"""Nearest-neighbour classification of 94 machine-learning formulas in 13 classes.

    EQEMB_BENCH=FOLDER python benchmarks/ml_categories.py [--model FOLDER ...] [-o results]

Prints the leave-one-out accuracy. No setting is chosen here: measures, weights and vectors are
those that `arqmath_measures.py` chose, read from `results/arqmath.json`; its unit vectors are
trained on the ARQMath formulas. `--model` adds models of a library, EqEmb-U and EqEmb-H, whose
equation vectors are computed from units alone. The formulas were copied from arXiv papers by their
collectors, some from the same paper, and may also be in the library.
"""

import argparse
import json
import math
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from arqmath import reference_scorer
from arqmath_measures import (
    KINDS,
    LEARNERS,
    SEEDS,
    Floats,
    against,
    cosine,
    outlines,
    overlap,
    read,
    row_alignment,
)
from unit_vectors import UnitVectors, lengths_one

from eqemb.formula import Layout, layout
from eqemb.formula.tree import walk
from eqemb.models.embeddings import Embeddings
from eqemb.models.fold_in import bare
from eqemb.storage.atomic import to_json, write_atomically

RESULTS = Path(__file__).parent / "results"
#: Accuracy reported with the benchmark: cosine of LaTeX tokens and token pairs.
TOKENS = 0.819


class Formulas(NamedTuple):
    """Formulas by number, and their classes."""

    trees: dict[str, Layout]
    classes: list[str]


def read_formulas(path: Path) -> Formulas:
    """Read lines of class and LaTeX; minus is written as in ARQMath's trees."""
    classes: list[str] = []
    trees: dict[str, Layout] = {}
    for line in path.read_text("utf-8").splitlines():
        name, _, latex = line.partition("\t")
        made = layout(latex, tangent_exact=True)
        for node in walk(made.root):
            node.tag = "-" if node.tag == "−" else node.tag
        trees[f"formula {len(classes)}"] = made
        classes.append(name)
    return Formulas(trees, classes)


def nearest(similarity: Floats, classes: list[str]) -> Floats:
    """Return the share of nearest neighbours of the same class, for each formula."""
    similarity = np.round(similarity, 9)
    np.fill_diagonal(similarity, -math.inf)
    best = similarity == similarity.max(axis=1, keepdims=True)
    names = np.array(classes)
    right: Floats = (best & (names[:, None] == names)).sum(axis=1) / best.sum(axis=1)
    return right


def matrix(measure: Any, names: list[str]) -> Floats:
    """Return the scores of every formula for every other."""
    return np.array([[measure(one, other) for other in names] for one in names])


def similarities(
    bench: Path, found: Formulas, settings: dict[str, Any]
) -> tuple[dict[str, list[Floats]], str]:
    """Return the matrix of each measure (one per seed for vectors), and the known units."""
    names = list(found.trees)
    data = read(bench / "arqmath1", reference_scorer(bench))
    every = {**data.trees, **found.trees}  # to compute idf over a large collection

    def shared(how: dict[str, Any]) -> Floats:
        bags = {n: Counter(t.units(how["window"], **KINDS[how["kind"]])) for n, t in every.items()}
        return matrix(overlap(bags, how["share"], weighted=how["weighted"]), names)

    dice = {"window": 1, "kind": "units and ends", "share": 0.5, "weighted": False}
    how = settings["vectors"]
    learned_from = [tree.units(how["window"]) for tree in data.trees.values()]
    bags = [tree.units(how["window"]) for tree in found.trees.values()]
    vectors = []
    for seed in SEEDS:
        learned = UnitVectors.learned(learned_from, LEARNERS[how["learner"]], seed)
        pooled = learned.pooled(bags, how["side"], weighted=how["weighted"])
        vectors.append(matrix(cosine({name: row for row, name in enumerate(names)}, pooled), names))
    units = [unit for bag in bags for unit in bag]
    known = sum(unit in learned.rows for unit in units)
    shape = {key: settings["likeness"][key] for key in ("renamed", "share")}
    made = {
        "Dice, window 1": [shared(dice)],
        "overlap of units": [shared(settings["overlap"])],
        "vectors of units, ARQMath": vectors,
        "row alignment": [matrix(row_alignment(outlines(found.trees), **shape), names)],
    }
    a, b = settings["weights"]["row alignment + overlap + vectors"]
    (c,) = settings["weights"]["overlap + vectors"]
    (shared_units,), (rows,) = made["overlap of units"], made["row alignment"]
    made["overlap + vectors"] = [shared_units + c * part for part in vectors]
    made["row alignment + overlap + vectors"] = [rows + a * shared_units + b * v for v in vectors]
    return made, f"ARQMath {known:,} of {len(units):,} (window {how['window']})"


def folded(path: Path, found: Formulas) -> tuple[dict[str, list[Floats]], str]:
    """Return the vectors that a model computes from units alone, as in a library."""
    model = Embeddings.load(path)
    vectors = bare(model, [layout(tree.latex).units() for tree in found.trees.values()])
    made = {}
    for side in ("alpha", "rho"):
        rows = lengths_one(np.asarray(getattr(vectors, side), np.float64))
        if rows.any():
            made[f"{model.config['model']}, {side}"] = [rows @ rows.T]
    total = vectors.known + vectors.backed_off + vectors.unknown
    by_type = f"{vectors.backed_off:,} more by type"
    return made, f"{model.config['model']} {vectors.known:,} of {total:,}, {by_type}"


def main() -> None:
    """Print a row for each measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, action="append", default=[], metavar="FOLDER")
    parser.add_argument("-o", "--output", type=Path, help="for ml_categories.md and .json")
    options = parser.parse_args()
    if "EQEMB_BENCH" not in os.environ:
        sys.exit("set EQEMB_BENCH to the folder with the benchmark data")
    bench = Path(os.environ["EQEMB_BENCH"])
    found = read_formulas(bench / "ml_categories" / "formulas.tsv")
    settings = json.loads((RESULTS / "arqmath.json").read_text("utf-8"))["settings"]
    made, known = similarities(bench, found, settings)
    units = [known]
    a, b = settings["weights"]["row alignment + overlap + vectors"]
    for path in options.model:
        more, known = folded(path, found)
        units.append(known)
        parts = made["row alignment"][0] + a * made["overlap of units"][0]
        made |= more | {f"row alignment + overlap + {n}": [parts + b * more[n][0]] for n in more}
    right = {
        name: np.mean([nearest(some, found.classes) for some in seeds], axis=0)
        for name, seeds in made.items()
    }
    count = len(found.classes)
    largest = max(Counter(found.classes).values()) / count
    models = "".join(f" --model {path.name}" for path in options.model)
    command = f"python benchmarks/ml_categories.py{models} -o benchmarks/results"
    text = [
        f"`{command}`: {count} formulas, {len(set(found.classes))} classes; accuracy ± its",
        "binomial standard error; differences from Dice: 95 % by bootstrap, p by sign flips.",
        f"Vectors of ARQMath: mean of seeds {SEEDS[0]}-{SEEDS[-1]}.",
        f"Units known: {'; '.join(units)}.",
        "\n| measure | accuracy | - Dice | p |\n|---|---|---|---|",
        f"| largest class | {largest:.3f} | | |",
        f"| tf-idf of LaTeX tokens | {TOKENS:.3f} ± {error(TOKENS, count):.3f} | | |",
    ]
    for name, hits in right.items():
        accuracy = float(hits.mean())
        row = f"| {name} | {accuracy:.3f} ± {error(accuracy, count):.3f} |"
        if name == "Dice, window 1":
            text.append(f"{row} | |")
            continue
        gain, low, high, p = against(hits, right["Dice, window 1"])
        text.append(f"{row} {gain:+.3f} ({low:+.3f} to {high:+.3f}) | {p:.4f} |")
    print("\n".join(text))
    if options.output:
        kept = {
            "n": count,
            "settings": settings,
            "accuracy": {name: round(float(hits.mean()), 4) for name, hits in right.items()},
        }
        write_atomically(options.output / "ml_categories.md", "\n".join([*text, ""]))
        write_atomically(options.output / "ml_categories.json", to_json(kept))


def error(share: float, count: int) -> float:
    """Return the standard error of a share."""
    return math.sqrt(share * (1 - share) / count)


if __name__ == "__main__":
    main()
