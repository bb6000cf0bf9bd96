"""ARQMath-1 formula retrieval: compare similarity measures, tuned on other topics.

    EQEMB_BENCH=FOLDER python benchmarks/arqmath_measures.py              the tables
    EQEMB_BENCH=FOLDER python benchmarks/arqmath_measures.py --choose     only the tuning
    EQEMB_BENCH=FOLDER python benchmarks/arqmath_measures.py -o results   write arqmath.md, .json

All settings are chosen on the 29 topics that are not official, by MAP' in the pool; then each row
is scored once on the 45 official topics. Measures: the overlap of units, the cosine of formulas as
means of unit vectors (trained on the formulas of the benchmark, topics included, without any
judgement), row alignment (`eqemb.formula.likeness`), and sums of these. The trees are those of the
benchmark. Rows named `operator trees` also use its operator trees, which eqemb cannot make from
LaTeX, so they are not part of the product.
"""

import argparse
import json
import math
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from itertools import groupby, product, starmap
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from arqmath import Judgements, lines, reference_scorer, tangent_pool
from numpy.typing import NDArray
from unit_vectors import DIM, Learner, UnitVectors

from eqemb.evaluation.metrics import mean_and_error
from eqemb.formula import Layout, likeness
from eqemb.formula.normal_form import normal_form
from eqemb.formula.tree import Node, Unit
from eqemb.index.structure import OVERLAP
from eqemb.storage.atomic import to_json, write_atomically

Floats = NDArray[np.float64]
Run = dict[str, dict[str, float]]
Measure = Callable[[str, str], float]
"""Score of a formula for a topic, both given by name."""

SEEDS = range(5)
TRIALS = 10_000
WEIGHTS = (0.0, 0.1, 0.2, 0.4, 0.8)
KINDS: dict[str, dict[str, Any]] = {
    "units": {},
    "types": {"mode": "type"},
    "letters renamed": {"rename": True},
    "units and ends": {"end_of_baseline": "all"},
}
LEARNERS = {
    "b_u, 4 around": Learner("b_u", 4, 10, 0.05),
    "b_u, 16 around": Learner("b_u", 16, 10, 0.05),
    "GloVe, 8 around": Learner("GloVe", 8, 20, 0.05),
}
SUMS = [
    ("overlap", "vectors"),
    ("row alignment", "overlap", "vectors"),
    ("row alignment", "overlap", "vectors", "operator trees"),
]
PUBLISHED = """\
Published or computed elsewhere, MAP' / P'@10 in (b): Tangent-S's run .446 / .453,
Tangent-CFT .508 / .467, tree edit distance of layout trees .528 / .527, learning to rank over all
of them .525 / .542. Random order is the mean of 100."""


class Data(NamedTuple):
    """The formulas of the benchmark and of its topics, by name."""

    trees: dict[str, Layout]
    operators: dict[str, Layout]
    chosen_on: Judgements
    shown_on: Judgements
    malformed: int
    kept: dict[tuple[int, str], dict[str, Counter[Unit]]]

    def bags(self, window: int, kind: str) -> dict[str, Counter[Unit]]:
        """Return the units of every formula; the last result is cached."""
        if (window, kind) not in self.kept:
            self.kept.clear()
            self.kept[window, kind] = {
                name: Counter(tree.units(window, **KINDS[kind]))
                for name, tree in self.trees.items()
            }
        return self.kept[window, kind]


def read(folder: Path, scorer: ModuleType) -> Data:
    """Read all formulas; malformed strings become empty trees."""
    trees: dict[str, Layout] = {}
    operators: dict[str, Layout] = {}
    malformed = 0
    for file, name in (("formulas.jsonl.gz", "visual_id"), ("topics.jsonl", "id")):
        for line in lines(folder / file):
            record = json.loads(line)
            try:
                trees[record[name]] = Layout.from_slt(record["slt"])
            except ValueError:
                trees[record[name]] = Layout(None)
                malformed += 1
            operators[record[name]] = operator_tree(record["opt"])
    official: Judgements = scorer.read_qrels(str(folder / "qrels_official45_v2.tsv"))
    every: Judgements = scorer.read_qrels(str(folder / "qrels_all74.tsv"))
    others = {topic: judged for topic, judged in every.items() if topic not in official}
    return Data(trees, operators, others, official, malformed, {})


def operator_tree(text: str) -> Layout:
    """Convert an operator tree to rows: the arguments of an operator form a row inside it."""
    root: Node | None = None
    open_nodes: list[Node] = []
    last: list[Node | None] = []
    for match in re.finditer(r"\[([^\[\],]*)|\]", text):
        if match[0] == "]":
            if not open_nodes:
                return Layout(None)
            open_nodes.pop()
            last.pop()
            continue
        node = Node(match[1])
        if not open_nodes:
            if root is not None:
                return Layout(None)
            root = node
        else:
            before = last[-1]
            if before is None:
                open_nodes[-1].put("w", node)
            else:
                before.n = node
            last[-1] = node
        open_nodes.append(node)
        last.append(None)
    return Layout(None if open_nodes else root)


# ------------------------------------------------------------ measures


def overlap(bags: dict[str, Counter[Unit]], share: float, *, weighted: bool) -> Measure:
    """Return shared units over all units; `share` is the weight of the query, 1/2 in Dice."""
    found = Counter(unit for bag in bags.values() for unit in bag)

    def size(bag: Counter[Unit]) -> float:
        if not weighted:
            return bag.total()
        every = len(bags) + 1
        return sum(count * math.log(every / (found[unit] + 0.5)) for unit, count in bag.items())

    sizes = {name: size(bag) for name, bag in bags.items()}

    def measure(topic: str, name: str) -> float:
        total = share * sizes[topic] + (1 - share) * sizes[name]
        return size(bags[topic] & bags[name]) / total if total else 0.0

    return measure


def cosine(names: dict[str, int], vectors: Floats) -> Measure:
    """Return the cosine of two formulas, given unit vectors."""
    return lambda topic, name: float(vectors[names[topic]] @ vectors[names[name]])


def row_alignment(outlines: dict[str, likeness.Outline], **how: Any) -> Measure:
    """Return the likeness of aligned rows."""
    return lambda topic, name: likeness.likeness(outlines[topic], outlines[name], **how).score


def outlines(trees: dict[str, Layout]) -> dict[str, likeness.Outline]:
    """Convert trees to rows."""
    return {name: likeness.outline(tree) for name, tree in trees.items()}


def search_structure(trees: dict[str, Layout]) -> Measure:
    """Return what the structure of two formulas is worth in the search: likeness and overlap."""
    alike = row_alignment(outlines(trees), inside=True)
    shared = overlap({name: Counter(t.units()) for name, t in trees.items()}, 0.5, weighted=True)
    return lambda topic, name: (1 - OVERLAP) * alike(topic, name) + OVERLAP * shared(topic, name)


def both_views(trees: dict[str, Layout]) -> Measure:
    """Return the mean of that and of the same in normal form."""
    views = search_structure(trees), search_structure({n: normal_form(t) for n, t in trees.items()})
    return lambda topic, name: (views[0](topic, name) + views[1](topic, name)) / 2


def tangent_s(folder: Path) -> Measure:
    """Combine Tangent-S's three scores of layout trees lexicographically."""
    found: dict[tuple[str, str], tuple[float, ...]] = {}
    for line in lines(folder / "tangent_s_scores.jsonl.gz"):
        topic, name, scores, _ = json.loads(line)
        found[topic, name] = tuple(scores)
    ranks = {scores: float(rank) for rank, scores in enumerate(sorted(set(found.values())))}
    return lambda topic, name: ranks[found[topic, name]] if (topic, name) in found else -1.0


# ------------------------------------------------------------ scores


class Bench(NamedTuple):
    """The benchmark's own scorer and the topics to score."""

    scorer: ModuleType
    known: Container[str]

    def run(self, measure: Measure, judged: Judgements) -> Run:
        """Return the score of every known judged formula."""
        return {
            topic: {name: measure(topic, name) for name in grades if name in self.known}
            for topic, grades in judged.items()
        }

    def average_precision(self, runs: list[Run], judged: Judgements) -> Floats:
        """Return AP' of each topic, averaged over seeds; [topics]."""
        order, ap = self.scorer.order, self.scorer.ap
        every = [[ap(order(run[topic]), judged[topic], 2) for topic in judged] for run in runs]
        return np.mean(every, axis=0)  # type: ignore[no-any-return]

    def scores(self, runs: list[Run], judged: Judgements) -> "Scores":
        """Return all three figures of each topic, averaged over runs."""
        every = []
        for run, (topic, grades) in product(runs, judged.items()):
            found = self.scorer.evaluate_prime({topic: grades}, {topic: run[topic]})
            every.append([found["nDCG'"], found["MAP'"], found["P'@10"]])
        return Scores(*np.array(every).reshape(len(runs), len(judged), 3).mean(axis=0).T)


class Scores(NamedTuple):
    """Return the values of all topics, in order; [topics]."""

    ndcg: Floats
    ap: Floats
    p10: Floats


def summed(
    made: dict[str, list[Run]], first: str, others: list[str], weights: tuple[float, ...]
) -> list[Run]:
    """Add weighted runs to a run: one sum per seed, without runs of weight 0."""
    used = [(weight, made[name]) for weight, name in zip(weights, others, strict=True) if weight]
    seeds = max([1, *(len(runs) for _, runs in used)])

    def one(seed: int) -> Run:
        parts = [(weight, runs[seed % len(runs)]) for weight, runs in used]
        return {
            topic: {
                name: score + sum(weight * run[topic][name] for weight, run in parts)
                for name, score in scores.items()
            }
            for topic, scores in made[first][0].items()
        }

    return [one(seed) for seed in range(seeds)]


def against(ap: Floats, other: Floats) -> tuple[float, float, float, float]:
    """Return the mean difference, its 95 % bootstrap interval and p (sign flips), by topic."""
    random = np.random.default_rng(0)
    gain = ap - other
    drawn = gain[random.integers(len(gain), size=(TRIALS, len(gain)))].mean(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    flipped = (random.choice([-1.0, 1.0], size=(TRIALS, len(gain))) * gain).mean(axis=1)
    p = (1 + np.count_nonzero(np.abs(flipped) >= abs(gain.mean()) - 1e-12)) / (1 + TRIALS)
    return float(gain.mean()), float(low), float(high), float(p)


# ------------------------------------------------------------ choosing


class Choice(NamedTuple):
    """Settings that were compared on the tuning topics, and the best of them."""

    title: str
    tried: dict[str, Floats]
    """Setting -> AP' of every topic."""

    @property
    def best(self) -> str:
        """Return the setting with the best mean; the first of equals."""
        return max(self.tried, key=lambda name: round(float(self.tried[name].mean()), 9))

    def left_out(self) -> float:
        """Return the leave-one-out MAP': each topic uses the setting that is best on all others."""
        every = np.array(list(self.tried.values()))
        total = every.sum(axis=1, keepdims=True)
        picked = np.argmax(np.round(total - every, 9), axis=0)
        return float(every[picked, np.arange(every.shape[1])].mean())


class Chosen(NamedTuple):
    """The measures chosen on the tuning topics; one set of vectors per seed."""

    overlap: Measure
    vectors: list[Measure]
    likeness: Measure
    operators: Measure
    weights: list[tuple[float, ...]]
    """Weights of `SUMS`, in order."""
    choices: list[Choice]
    settings: dict[str, Any]


def choose(data: Data, bench: Bench) -> Chosen:
    """Choose all settings on the tuning topics."""
    judged = data.chosen_on
    choices: list[Choice] = []

    def pick(title: str, candidates: Iterable[tuple[str, list[Run]]]) -> str:
        tried = {name: bench.average_precision(runs, judged) for name, runs in candidates}
        choices.append(Choice(title, tried))
        return choices[-1].best

    def runs(measures: list[Measure]) -> list[Run]:
        return [bench.run(measure, judged) for measure in measures]

    overlaps = dict(overlap_grid())
    name = pick(
        "overlap of units",
        ((name, runs([overlap_of(data, how)])) for name, how in overlaps.items()),
    )
    settings: dict[str, Any] = {"overlap": {"name": name, **overlaps[name]._asdict()}}
    units = overlap_of(data, overlaps[name])

    grid = dict(vector_grid())
    found = ((name, runs(measures)) for name, measures in learned(data, grid, [SEEDS[0]]))
    name = pick(f"vectors of units, seed {SEEDS[0]}", found)
    settings["vectors"] = {"name": name, **grid[name]._asdict()}
    vectors = dict(learned(data, {name: grid[name]}, list(SEEDS)))[name]

    rows, shapes = outlines(data.trees), dict(likeness_grid())
    name = pick(
        "row alignment",
        ((name, runs([row_alignment(rows, **how)])) for name, how in shapes.items()),
    )
    settings["likeness"] = {"name": name, **shapes[name]}
    shape = row_alignment(rows, **shapes[name])
    operators = row_alignment(outlines(data.operators), **shapes[name])

    made = {
        "overlap": runs([units]),
        "vectors": runs(vectors),
        "row alignment": runs([shape]),
        "operator trees": runs([operators]),
    }
    weights = []
    for first, *others in SUMS:
        combinations = product(WEIGHTS, repeat=len(others))
        found = (
            (" ".join(map(str, some)), summed(made, first, others, some)) for some in combinations
        )
        name = pick(" + ".join([first, *others]), found)
        weights.append(tuple(map(float, name.split())))
        settings.setdefault("weights", {})[choices[-1].title] = list(weights[-1])
    return Chosen(units, vectors, shape, operators, weights, choices, settings)


class OverlapSettings(NamedTuple):
    """Settings of unit overlap."""

    window: int
    kind: str
    share: float
    weighted: bool


def overlap_grid() -> Iterator[tuple[str, OverlapSettings]]:
    """Yield settings: size and kind of units, share of the query, with and without idf."""
    for how in starmap(OverlapSettings, product((1, 2, 4), KINDS, (0.5, 0.7), (False, True))):
        idf = ", idf" if how.weighted else ""
        yield f"window {how.window}, {how.kind}, query {how.share}{idf}", how


def overlap_of(data: Data, how: OverlapSettings) -> Measure:
    """Return the measure of a setting."""
    return overlap(data.bags(how.window, how.kind), how.share, weighted=how.weighted)


class VectorSettings(NamedTuple):
    """Settings of formula vectors."""

    window: int
    learner: str
    side: str
    weighted: bool


def vector_grid() -> Iterator[tuple[str, VectorSettings]]:
    """Yield settings: unit size, b_u or GloVe, rho or alpha, with and without idf."""
    every = product((1, 2), LEARNERS, ("rho", "alpha"), (False, True))
    for how in starmap(VectorSettings, every):
        idf = ", idf" if how.weighted else ""
        yield f"window {how.window}, {how.learner}, {how.side}{idf}", how


def learned(
    data: Data, grid: dict[str, VectorSettings], seeds: list[int]
) -> Iterator[tuple[str, list[Measure]]]:
    """Return the measures of all settings, one per seed; shared vectors are trained once."""
    names = {name: row for row, name in enumerate(data.trees)}

    def alike(item: tuple[str, VectorSettings]) -> tuple[int, str]:
        return item[1].window, item[1].learner

    for (window, learner), group in groupby(grid.items(), alike):
        bags = [tree.units(window) for tree in data.trees.values()]
        made = [UnitVectors.learned(bags, LEARNERS[learner], seed) for seed in seeds]
        for title, how in group:
            pooled = [some.pooled(bags, how.side, weighted=how.weighted) for some in made]
            yield title, [cosine(names, vectors) for vectors in pooled]


def likeness_grid() -> Iterator[tuple[str, dict[str, float]]]:
    """Yield settings: weight of a renamed letter, and share of the query in the size."""
    for renamed, share in product((0.0, 0.4, 0.6, 0.8, 1.0), (0.5, 0.65, 0.8, 0.95)):
        yield f"renamed {renamed}, query {share}", {"renamed": renamed, "share": share}


# ------------------------------------------------------------ showing


def official_runs(data: Data, bench: Bench, chosen: Chosen, folder: Path) -> dict[str, list[Run]]:
    """Score every row on the official topics; they are not used anywhere else."""
    random = np.random.default_rng(0)

    def runs(measures: list[Measure]) -> list[Run]:
        return [bench.run(measure, data.shown_on) for measure in measures]

    dice = overlap(data.bags(1, "units and ends"), 0.5, weighted=False)
    made = {
        "overlap": runs([chosen.overlap]),
        "vectors": runs(chosen.vectors),
        "row alignment": runs([chosen.likeness]),
        "operator trees": runs([chosen.operators]),
    }
    sums = [
        summed(made, first, others, weights)
        for (first, *others), weights in zip(SUMS, chosen.weights, strict=True)
    ]
    return {
        "random order": runs([lambda _topic, _name: float(random.random())] * 100),
        "Dice, window 1": runs([dice]),
        "Tangent-S, layout trees": runs([tangent_s(folder)]),
        "overlap of units": made["overlap"],
        "vectors of units": made["vectors"],
        "overlap + vectors": sums[0],
        "row alignment": made["row alignment"],
        "row alignment + overlap + vectors": sums[1],
        "row alignment + overlap + vectors + operator trees": sums[2],
        "structure in the search, as written": runs([search_structure(data.trees)]),
        "structure in the search, both views": runs([both_views(data.trees)]),
    }


def choice_text(data: Data, choices: list[Choice], shown: int = 6) -> Iterator[str]:
    """Yield the table of the best settings on the tuning topics."""
    pairs = sum(map(len, data.chosen_on.values()))
    empty = sum(max(grades.values()) < 2 for grades in data.chosen_on.values())
    yield (
        f"**Chosen on the {len(data.chosen_on)} topics that are not official** ({pairs:,} pairs;"
        f" {empty} topics have no relevant formula and score 0): MAP' in the pool, ± the standard"
        " error over topics. *Leave-one-out*: each topic uses the setting that is best on all"
        " others."
    )
    yield "\n| measure | tried | best | MAP' | leave-one-out | next best |"
    yield "|---|---|---|---|---|---|"
    for title, tried in choices:
        choice = Choice(title, tried)
        ranked = sorted(tried, key=lambda name: (-tried[name].mean(), name))
        others = [name for name in ranked if name != choice.best][: shown - 1]
        following = "; ".join(f"{name} {tried[name].mean():.3f}" for name in others)
        best = tried[choice.best]
        yield (
            f"| {title} | {len(tried)} | {choice.best} | {best.mean():.3f} ±"
            f" {mean_and_error(best)['se']:.3f} | {choice.left_out():.3f} | {following} |"
        )


def result_text(title: str, results: dict[str, Scores]) -> Iterator[str]:
    """Yield the table of one setting, with differences from Dice and Tangent-S."""
    yield f"\n**{title}**\n"
    yield "| measure | nDCG' | MAP' | P'@10 | MAP' - Dice | p | MAP' - Tangent-S | p |"
    yield "|---|---|---|---|---|---|---|---|"
    rivals = [results["Dice, window 1"].ap, results["Tangent-S, layout trees"].ap]
    for name, (ndcg, ap, p10) in results.items():
        cells = [name, f"{ndcg.mean():.3f}", f"{ap.mean():.3f} ± {mean_and_error(ap)['se']:.3f}"]
        cells.append(f"{p10.mean():.3f}")
        for rival in rivals:
            gain, low, high, p = against(ap, rival)
            same = ap is rival
            cells += ["", ""] if same else [f"{gain:+.3f} ({low:+.3f} to {high:+.3f})", f"{p:.4f}"]
        yield f"| {' | '.join(cells)} |"


def main() -> None:
    """Choose settings, then score the official topics."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--choose", action="store_true", help="do not score the official topics")
    parser.add_argument("-o", "--output", type=Path, help="a folder for arqmath.md and .json")
    options = parser.parse_args()
    if "EQEMB_BENCH" not in os.environ:
        sys.exit("set EQEMB_BENCH to the folder with the benchmark data")
    folder = Path(os.environ["EQEMB_BENCH"]) / "arqmath1"
    scorer = reference_scorer(folder.parent)
    data = read(folder, scorer)
    bench = Bench(scorer, data.trees)
    command = "python benchmarks/arqmath_measures.py -o benchmarks/results"
    read_from = f"{len(data.trees):,} trees, {data.malformed} malformed strings taken as empty"
    text = [f"`{command}`: {read_from}; vectors K={DIM}, mean of seeds {SEEDS[0]}-{SEEDS[-1]}.\n"]
    chosen = choose(data, bench)
    text += choice_text(data, chosen.choices)
    print("\n".join(text), flush=True)
    if options.choose:
        return
    kept: dict[str, Any] = {"settings": chosen.settings, "topics": list(data.shown_on)}
    kept["chosen"] = {title: means(tried) for title, tried in chosen.choices}
    runs = official_runs(data, bench, chosen, folder)
    for title, pool in (
        (f"(a) All judged formulas of the {len(data.shown_on)} official topics", data.shown_on),
        ("(b) Only formulas in Tangent-S's own list", tangent_pool(folder, data.shown_on)),
    ):
        found = {
            name: bench.scores([within(run, pool) for run in some], data.shown_on)
            for name, some in runs.items()
        }
        shown = list(result_text(f"{title}, {sum(map(len, pool.values())):,} pairs", found))
        print("\n".join(shown), flush=True)
        text += shown
        kept[title[:3]] = {
            name: {**means(scores._asdict()), "ap of topics": scores.ap.round(4).tolist()}
            for name, scores in found.items()
        }
    text += ["", PUBLISHED, ""]
    print(f"\n{PUBLISHED}")
    if options.output:
        write_atomically(options.output / "arqmath.md", "\n".join(text))
        write_atomically(options.output / "arqmath.json", to_json(kept))


def within(run: Run, pool: Judgements) -> Run:
    """Return the part of a run that is in a pool."""
    return {
        topic: {name: score for name, score in scores.items() if name in pool[topic]}
        for topic, scores in run.items()
    }


def means(figures: dict[str, Floats]) -> dict[str, float]:
    """Return the values of each row, averaged over topics."""
    return {name: round(float(values.mean()), 4) for name, values in figures.items()}


if __name__ == "__main__":
    main()
