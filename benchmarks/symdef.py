"""Measure how well definitions of symbols are found in single sentences (SymDef).

    EQEMB_BENCH=FOLDER python benchmarks/symdef.py [--half tune|test] [--bins] [--json]
    EQEMB_BENCH=FOLDER python benchmarks/symdef.py --half tune --errors --kinds

The data are sentences of machine-learning papers, each with one of its formulas marked, and the
phrase that defines that formula, if there is one. The papers are divided in two halves by a hash
of their numbers. Patterns, confidences and `--threshold` were chosen on `tune`; `test` is for
figures, and `--errors` refuses to list it. The extraction is that of the package: `eqemb.symbols`
gets the tokens of the data instead of its own, and the LaTeX of each formula.

*exact*: a span counts if it is the marked one. *overlap*: tokens that are in both spans, of those
in spans that were found (precision) and in marked ones (recall), over all items. *found*: a span
counts if it shares a token with the marked one. *published*: the mean of F1 over tokens of the
classes TERM and DEF, in percent. *bins*: of all answers, whatever their confidence, the share that
shares a token with the marked one, by confidence. Intervals are 95 % of 10,000 bootstrap samples of
the papers; those of bins are Wilson's.
"""

import argparse
import csv
import gzip
import hashlib
import json
import math
import os
import sys
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.symbols.mentions import Mention
from eqemb.symbols.patterns import find_mentions
from eqemb.symbols.phrases import Sentence
from eqemb.symbols.sentence import SentenceTokens

MARK, FORMULA = "</s>", "SYMBOL"
#: Chosen on the tuning half.
THRESHOLD = 0.6
SAMPLES, SEED = 10_000, 1
EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 1.01)


class Item(NamedTuple):
    """A sentence in which one formula is marked, or none."""

    paper: str
    words: list[str]
    tokens: SentenceTokens
    asked: int | None
    """The marked formula, as a token."""
    definition: frozenset[int]
    """The tokens of its definition."""
    has_term: bool


class Outcome(NamedTuple):
    """Counts of one item; sums of them make every measure."""

    found: int
    marked: int
    exact: int
    touching: int
    found_tokens: int
    marked_tokens: int
    shared_tokens: int
    found_terms: int
    marked_terms: int
    shared_terms: int


def half_of(paper: str) -> str:
    """The half that a paper belongs to."""
    return ("tune", "test")[hashlib.sha256(paper.encode()).digest()[0] % 2]


def read_item(line: dict[str, Any]) -> Item:
    """An item from a line of the data, with positions counted without the marks."""
    tokens = SentenceTokens()
    kept: list[str] = []
    asked: int | None = None
    definition: set[int] = set()
    has_term = False
    words: list[str] = line["tokens"]
    formulas = iter(line["symbols"])
    for at, (word, label) in enumerate(zip(words, line["labels"], strict=True)):
        if word == MARK:
            continue
        place = len(kept)
        if label.endswith("DEF"):
            definition.add(place)
        has_term = has_term or label.endswith("TERM")
        latex = None
        if word == FORMULA:
            latex = next(formulas, "x").removeprefix("[[").removesuffix("]]").strip()
            if at and words[at - 1] == MARK:
                asked = place
        following = next((other for other in words[at + 1 : at + 3] if other != MARK), "")
        glued = latex is not None and following[:1] == "-" and following[1:2].isalpha()
        tokens.add(word, latex, place, place + 1, glued=glued)
        kept.append(word)
    return Item(line["arxiv_id"], kept, tokens, asked, frozenset(definition), has_term)


def read_items(folder: Path, half: str) -> list[Item]:
    """The items of one half, or of "all"."""
    with gzip.open(folder / "symdef" / "dev.jsonl.gz", "rt", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    return [read_item(line) for line in lines if half in ("all", half_of(line["arxiv_id"]))]


def answer(item: Item, threshold: float) -> Mention | None:
    """The definition of the marked formula."""
    if item.asked is None:
        return None
    for mention in find_mentions(Sentence(item.tokens)):
        if mention.term == item.asked and mention.confidence >= threshold:
            return mention
    return None


def outcome(item: Item, mention: Mention | None) -> Outcome:
    """Compare an answer with what is marked."""
    found = frozenset(range(*mention.phrase[:2])) if mention else frozenset()
    marked = item.definition
    shared = len(found & marked)
    return Outcome(
        found=bool(found), marked=bool(marked), exact=bool(found) and found == marked,
        touching=shared > 0, found_tokens=len(found), marked_tokens=len(marked),
        shared_tokens=shared, found_terms=mention is not None, marked_terms=item.has_term,
        shared_terms=mention is not None and item.has_term,
    )  # fmt: skip


def f1(precision: float, recall: float) -> float:
    """The harmonic mean."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def measures(counts: Iterable[float]) -> dict[str, float]:
    """Every measure from summed outcomes."""
    sums = Outcome(*(int(count) for count in counts))

    def share(part: int, whole: int) -> float:
        return part / whole if whole else 0.0

    table: dict[str, float] = {}
    for name, part, found, marked in (
        ("exact", sums.exact, sums.found, sums.marked),
        ("overlap", sums.shared_tokens, sums.found_tokens, sums.marked_tokens),
        ("found", sums.touching, sums.found, sums.marked),
        ("term", sums.shared_terms, sums.found_terms, sums.marked_terms),
    ):
        precision, recall = share(part, found), share(part, marked)
        table[f"{name} P"], table[f"{name} R"] = precision, recall
        table[f"{name} F1"] = f1(precision, recall)
    table["published"] = 50 * (table["term F1"] + table["overlap F1"])
    return table


def intervals(papers: NDArray[np.int64]) -> dict[str, tuple[float, float]]:
    """Percentiles of every measure over bootstrap samples of the papers (papers, counts)."""
    rng = np.random.default_rng(SEED)
    drawn = rng.integers(len(papers), size=(SAMPLES, len(papers)))
    tables = [measures(papers[sample].sum(axis=0)) for sample in drawn]
    return {
        name: tuple(np.percentile([table[name] for table in tables], [2.5, 97.5]))
        for name in tables[0]
    }


def report(items: list[Item], threshold: float) -> dict[str, Any]:
    """The measures of a half, with intervals."""
    by_paper: dict[str, list[int]] = defaultdict(lambda: [0] * len(Outcome._fields))
    for item in items:
        for place, count in enumerate(outcome(item, answer(item, threshold))):
            by_paper[item.paper][place] += int(count)
    papers = np.array([by_paper[paper] for paper in sorted(by_paper)], np.int64)
    values, ranges = measures(papers.sum(axis=0)), intervals(papers)
    return {
        "items": len(items),
        "papers": len(papers),
        "definitions": int(papers.sum(axis=0)[Outcome._fields.index("marked")]),
        "threshold": threshold,
        **{name: {"value": values[name], "interval": ranges[name]} for name in values},
    }


def print_errors(items: list[Item], threshold: float) -> None:
    """List items of the tuning half whose answer differs: [marked], found_."""
    for item in items:
        mention = answer(item, threshold)
        found = set(range(*mention.phrase[:2])) if mention else set()
        if found == item.definition:
            continue
        words = [
            (f"[{word}]" if at in item.definition else word) + "_" * (at in found)
            for at, word in enumerate(item.words)
        ]
        if item.asked is not None:
            words[item.asked] = f"<{words[item.asked]}>"
        print(mention.kind if mention else "none", *words)


def print_kinds(items: list[Item], threshold: float) -> None:
    """Answers and right ones (that share a token) by kind and confidence."""
    counts: dict[tuple[str, float], list[int]] = defaultdict(lambda: [0, 0])
    for item in items:
        mention = answer(item, threshold)
        if mention:
            count = counts[mention.kind, round(mention.confidence, 2)]
            count[0] += 1
            count[1] += outcome(item, mention).touching
    for (kind, confidence), (found, right) in sorted(counts.items()):
        print(f"{kind:12} {confidence:.2f}  {right:3} of {found}")


def bins(items: list[Item]) -> list[dict[str, Any]]:
    """How often answers of like confidence are right."""
    answers = [(mention, item) for item in items if (mention := answer(item, 0.0))]
    table = []
    for low, high in pairwise(EDGES):
        inside = [one for one in answers if low <= one[0].confidence < high]
        right = sum(outcome(item, mention).touching for mention, item in inside)
        if inside:
            mean = sum(mention.confidence for mention, _ in inside) / len(inside)
            table.append({
                "from": low, "to": high, "answers": len(inside), "right": right,
                "mean confidence": mean, "share": right / len(inside),
                "interval": wilson(right, len(inside)),
            })  # fmt: skip
    return table


def wilson(right: int, count: int) -> tuple[float, float]:
    """The 95 % interval of a share."""
    z = 1.96
    centre, scale = right + z * z / 2, count + z * z
    half = z * math.sqrt(right * (count - right) / count + z * z / 4)
    return (centre - half) / scale, (centre + half) / scale


def calibration_error(table: list[dict[str, Any]]) -> float:
    """The mean distance of confidence and share right, weighted by answers."""
    total = sum(row["answers"] for row in table)
    gaps = (row["answers"] * abs(row["mean confidence"] - row["share"]) for row in table)
    return sum(gaps) / total if total else 0.0


def fit(items: list[Item], marks: Path) -> tuple[float, float, int]:
    """Log odds of being right as a line in the score: its start, its slope, and the examples.

    Examples are the answers of a half and the lines of a table with `score` and `right`.
    """
    answers = [(mention, item) for item in items if (mention := answer(item, 0.0))]
    pairs = [(mention.confidence, outcome(item, mention).touching) for mention, item in answers]
    with marks.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        pairs += [(float(row["score"]), row["right"] == "1") for row in rows]
    inputs = np.array([(1.0, score) for score, _ in pairs])
    right = np.array([bool(mark) for _, mark in pairs], float)
    line = np.zeros(2)
    for _ in range(50):  # Newton's method
        shares = 1 / (1 + np.exp(-inputs @ line))
        weights = shares * (1 - shares)
        line += np.linalg.solve((inputs.T * weights) @ inputs, inputs.T @ (right - shares))
    return float(line[0]), float(line[1]), len(pairs)


def print_bins(table: list[dict[str, Any]]) -> None:
    """The table of `bins` for people."""
    for row in table:
        low, high = row["interval"]
        print(
            f"confidence {row['mean confidence']:.2f}: {row['right']:3} of {row['answers']:3} right"
            f", {row['share']:.2f} [{low:.2f}, {high:.2f}]"
        )
    print(f"expected calibration error {calibration_error(table):.3f}")


def main(arguments: list[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=("tune", "test"), default="test")
    parser.add_argument("--threshold", type=float, default=THRESHOLD)
    parser.add_argument("--errors", action="store_true", help="list wrong answers (only tune)")
    parser.add_argument("--kinds", action="store_true", help="count right answers by kind")
    parser.add_argument("--bins", action="store_true", help="share right by confidence")
    parser.add_argument("--fit", type=Path, metavar="MARKS", help="fit confidences (only tune)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    folder = os.environ.get("EQEMB_BENCH")
    if not folder:
        sys.exit("set EQEMB_BENCH to the folder of benchmark data")
    if options.errors and options.half != "tune":
        sys.exit("--errors lists only the tuning half: add --half tune")
    if options.fit and options.half != "tune":
        sys.exit("--fit uses only the tuning half: add --half tune")
    items = read_items(Path(folder), options.half)
    if options.fit:
        start, slope, examples = fit(items, options.fit)
        print(f"log odds {start:.2f} + {slope:.2f} score, from {examples} examples")
        return
    if options.errors:
        print_errors(items, options.threshold)
    if options.kinds:
        print_kinds(items, options.threshold)
    table = report(items, options.threshold)
    if options.bins:
        table["bins"] = bins(items)
    if options.json:
        print(json.dumps(table))
        return
    print("half {}: {items} items of {papers} papers, {definitions} definitions".format(
        options.half, **table))  # fmt: skip
    for name, entry in table.items():
        if isinstance(entry, dict):
            low, high = entry["interval"]
            print(f"{name:12} {entry['value']:6.3f}  [{low:.3f}, {high:.3f}]")
    if options.bins:
        print_bins(table["bins"])


if __name__ == "__main__":
    main()
