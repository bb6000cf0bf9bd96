r"""Fit the strength of answers on development topics, and check it on test topics.

    python benchmarks/calibration.py LIBRARY [--fit]

LIBRARY is the one of the four collections, whose answers are judged (judged/qrels.tsv). An answer
is good if its mean grade is RELEVANT or more. Used are the judged answers among the first DEPTH for
each topic, and the first TOP for each query of absent.toml, which the library cannot answer: none
of them is good. --fit fits a logistic function for every kind of query on the development half and
writes src/eqemb/search/strength.json. Without it, the numbers of that file are checked. Printed
are, for both halves, how many answers of every strength there are and how many of them are good,
and the expected calibration error; docs/pictures/strength.svg shows the test half.
"""

import argparse
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from judged import QRELS, TOPICS
from numpy.typing import NDArray

from eqemb.evaluation import judged_topics
from eqemb.evaluation.metrics import RELEVANT
from eqemb.evaluation.rankers import EQUATION_QUERY, WORD_QUERY
from eqemb.facade.library import Library
from eqemb.index.stemming import stem
from eqemb.search import strength
from eqemb.search.combination import EQUATION_PARTS, WORD_PARTS, apply_weights
from eqemb.search.engine import Search
from eqemb.search.voting import WEIGHT
from eqemb.storage.atomic import write_atomically

HERE = Path(__file__).parent
NUMBERS = HERE.parent / "src" / "eqemb" / "search" / strength.NUMBERS_FILE
PICTURE = HERE.parent / "docs" / "pictures" / "strength.svg"
ABSENT = HERE / "absent.toml"
#: Ranks whose judged answers are used; ranks that people see.
DEPTH, TOP = 20, 10
#: The terms of each function that is fitted, by the kind of query that it is for.
KINDS = {
    "words": (WORD_QUERY, ("words", "covered")),
    "words and agreement": (WORD_QUERY, ("words", "covered", "agreement")),
    "structure": (EQUATION_QUERY, ("structure", "size")),
    "equation": (EQUATION_QUERY, ("structure", "size", "topic")),
}
#: The kinds that `search` and `similar` use, and reports are on.
REPORTED = ("words and agreement", "equation")
#: Weak answers are chosen so that at least this share of the good ones among the first TOP is not.
KEPT = 0.9
#: A little regularisation: the terms of a few hundred answers are correlated.
RIDGE = 0.01
BINS = 10

Floats = NDArray[np.float64]


class Judged(NamedTuple):
    """A judged answer: its topic, rank and terms, and whether it is good."""

    topic: str
    kind: str
    is_development: bool
    rank: int
    is_good: bool
    terms: dict[str, float]

    @property
    def is_absent(self) -> bool:
        """Whether the library has no good answer to the query."""
        return self.topic.startswith("absent")


# ------------------------------------------------------------ answers


def word_terms(search: Search, query: str) -> tuple[strength.Evidence, Any]:
    """Return the evidence of every equation for words, and its score."""
    question = search.read_query(query)
    terms = search.text.terms(question.words)
    found = {stem(term.word) for term in terms}
    unknown = sum(stem(word) not in found for word in dict.fromkeys(question.words))
    live = search.segments.live
    parts = search.parts_for_words(question, live, WORD_PARTS, None, terms)
    weighted = search.weigh_words(question, parts, live)
    own = sum(part for name, part in weighted.items() if name != "agreement")
    evidence = strength.word_evidence(
        parts["words"], search.text.coverage(terms), search.text.known_share(terms, unknown)
    )
    evidence |= strength.agreement_evidence(weighted["agreement"], own, WEIGHT)
    return evidence, sum(weighted.values())


def equation_terms(search: Search, latex: str) -> tuple[strength.Evidence, Any]:
    """Return the evidence of every equation for an equation, and its score."""
    query = search.read_equation(f"${latex}$")
    parts = search.parts_for_equation(query, search.segments.live.copy(), EQUATION_PARTS)
    structure, symbols = parts["structure"], len(query.layout.nodes())
    same = search.same_equations(query.layout)
    others = search.every.without(search.segments.live, same)
    most = strength.most_similar(structure, others)
    evidence = strength.equation_evidence(
        structure, parts.get("words", np.zeros_like(structure)), symbols, most
    )
    return evidence, sum(apply_weights(parts, search.equation_weights).values())


TERMS = {WORD_QUERY: word_terms, EQUATION_QUERY: equation_terms}


def read_answers(library: Library) -> Iterator[Judged]:
    """Yield the judged answers to all topics, and the answers to absent queries."""
    search = library.engine
    rows = search.rows()
    grades = judged_topics.mean_grades(judged_topics.read_judgements(QRELS))
    for topic in judged_topics.read_topics(TOPICS):
        evidence, scores = TERMS[topic.query.kind](search, topic.query.text)
        rank = _ranks(scores)
        for name, grade in grades.get(topic.id, {}).items():
            row = rows.get(name)
            if row is not None and rank[row] <= DEPTH:
                terms = {key: float(values[row]) for key, values in evidence.items()}
                yield Judged(
                    topic.id,
                    topic.query.kind,
                    topic.is_development,
                    int(rank[row]),
                    grade >= RELEVANT,
                    terms,
                )
    absent = tomllib.loads(ABSENT.read_text("utf-8"))
    for kind, key in ((WORD_QUERY, "words"), (EQUATION_QUERY, "equations")):
        for at, query in enumerate(absent[key]):
            evidence, scores = TERMS[kind](search, query)
            rank = _ranks(scores)
            for row in np.flatnonzero((rank <= TOP) & (scores > 0)).tolist():
                terms = {name: float(values[row]) for name, values in evidence.items()}
                topic_id = f"absent {kind} {at + 1}"
                is_development = at % 2 == 0
                yield Judged(
                    topic_id, kind, is_development, int(rank[row]), is_good=False, terms=terms
                )


def _ranks(scores: Any) -> NDArray[np.int64]:
    """Return the rank of every equation, from 1."""
    ranks = np.empty(len(scores), np.int64)
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return ranks


# ------------------------------------------------------------ fit


def fit(answers: list[Judged], names: tuple[str, ...]) -> dict[str, Any]:
    """Fit a logistic function; a term whose weight is not positive is left out."""
    terms = np.array([[1.0, *(each.terms[name] for name in names)] for each in answers])
    good = np.array([each.is_good for each in answers], float)
    ridge = RIDGE * np.diag([0.0] + [1.0] * len(names))
    weights = np.zeros(terms.shape[1])
    for _ in range(50):  # Newton's method
        share = 1 / (1 + np.exp(-terms @ weights))
        curve = (terms * (share * (1 - share))[:, None]).T @ terms + ridge
        weights += np.linalg.solve(curve, terms.T @ (good - share) - ridge @ weights)
    if weights[1:].min() <= 0:
        kept = tuple(name for name, weight in zip(names, weights[1:], strict=True) if weight > 0)
        return fit(answers, kept)
    shown = [round(float(weight), 3) for weight in weights]
    return {"constant": shown[0], "weights": dict(zip(names, shown[1:], strict=True))}


def predict(fitted: dict[str, Any], answers: list[Judged]) -> Floats:
    """Return the strengths of answers."""
    evidence = {
        name: np.array([each.terms[name] for each in answers], np.float32)
        for name in fitted["weights"]
    }
    found = strength.logistic(fitted["constant"], fitted["weights"], evidence)
    return np.asarray(found, float)


def weak_below(kinds: dict[str, Any], development: list[Judged]) -> float:
    """Return the largest multiple of .05 that leaves KEPT of the good answers above it."""
    values = []
    for name in REPORTED:
        own = [each for each in development if each.kind == KINDS[name][0]]
        good = [each for each in own if each.is_good and each.rank <= TOP]
        values.append(predict(kinds[name], good))
    least = float(np.quantile(np.concatenate(values), 1 - KEPT))
    return round(int(least / 0.05) * 0.05, 2)


# ------------------------------------------------------------ report


class Bin(NamedTuple):
    """Answers of about one strength."""

    expected: float
    good: float
    count: int


def bins(values: Floats, good: Floats) -> list[Bin]:
    """Group answers by strength into BINS equal intervals."""
    which = np.minimum((values * BINS).astype(int), BINS - 1)
    return [
        Bin(float(values[which == at].mean()), float(good[which == at].mean()), int(count))
        for at, count in enumerate(np.bincount(which, minlength=BINS).tolist())
        if count
    ]


def calibration_error(found: list[Bin]) -> float:
    """Return the mean distance of expected and good share, weighted by the number of answers."""
    total = sum(each.count for each in found)
    return sum(each.count * abs(each.expected - each.good) for each in found) / total


def first_strengths(values: Floats, answers: list[Judged]) -> dict[bool, dict[str, float]]:
    """Return the largest strength of each query: for absent ones, and for the others."""
    best: dict[str, float] = {}
    for value, each in zip(values.tolist(), answers, strict=True):
        best[each.topic] = max(best.get(each.topic, 0.0), value)
    absent = {each.topic for each in answers if each.is_absent}
    return {
        is_absent: {topic: value for topic, value in best.items() if (topic in absent) == is_absent}
        for is_absent in (True, False)
    }


def report(numbers: dict[str, Any], answers: list[Judged]) -> dict[str, list[Bin]]:
    """Print how well strengths are calibrated; return the bins of the test half by kind."""
    shown = {}
    for name in REPORTED:
        for half, is_development in (("development", True), ("test", False)):
            own = [
                each
                for each in answers
                if each.kind == KINDS[name][0]
                and each.is_development == is_development
                and each.rank <= TOP
            ]
            values = predict(numbers["kinds"][name], own)
            found = bins(values, np.array([each.is_good for each in own], float))
            best = first_strengths(values, own)
            print(
                f"{KINDS[name][0]}, {half}: {len(own)} answers to {len(best[False])} topics and"
                f" {len(best[True])} absent queries; expected calibration error"
                f" {calibration_error(found):.3f}"
            )
            for each in found:
                print(f"  strength {each.expected:.2f}  good {each.good:.2f}  n {each.count}")
            weak = numbers["weak_below"]
            for is_absent, label in ((True, "absent queries"), (False, "topics")):
                refused = {topic for topic, value in best[is_absent].items() if value < weak}
                lost = sum(each.is_good for each in own if each.topic in refused)
                print(
                    f"  no good match: {len(refused)} of {len(best[is_absent])} {label}"
                    f" ({lost} good answers)"
                )
            is_weak = values < weak
            good = np.array([each.is_good for each in own])
            print(
                f"  weak: {is_weak.sum()} of {len(own)} answers, {(is_weak & good).sum()} of the"
                f" {good.sum()} good ones"
            )
        shown[KINDS[name][0]] = found
    return shown


def draw(shown: dict[str, list[Bin]]) -> str:
    """Draw expected against good share, a circle for each bin; its area is the count."""
    colours = {WORD_QUERY: "#1f6feb", EQUATION_QUERY: "#d1622b"}
    size, edge = 300, 46
    whole, far = size + 2 * edge, edge + size
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole} {whole}"'
        ' font-family="sans-serif" font-size="12">'
        f'<rect width="{whole}" height="{whole}" fill="#fff"/>'
        f'<path d="M{edge} {edge}V{far}H{far}M{edge} {far}L{far} {edge}" fill="none"'
        ' stroke="#999"/>'
    )
    parts = [head]
    for tick in range(0, 11, 2):
        x, y = edge + size * tick / 10, edge + size * (1 - tick / 10)
        parts.append(f'<text x="{x:g}" y="{edge + size + 16}" text-anchor="middle">.{tick}</text>')
        parts.append(f'<text x="{edge - 8}" y="{y + 4:g}" text-anchor="end">.{tick}</text>')
    parts = [part.replace(">.10<", ">1<").replace(">.0<", ">0<") for part in parts]
    middle = edge + size / 2
    parts.append(
        f'<text x="{middle:g}" y="{size + 2 * edge - 8}" text-anchor="middle">strength</text>'
        f'<text x="14" y="{middle:g}" text-anchor="middle" transform="rotate(-90 14 {middle:g})">'
        "share of good answers (test topics)</text>"
    )
    for at, (kind, found) in enumerate(shown.items()):
        for each in found:
            x, y = edge + size * each.expected, edge + size * (1 - each.good)
            radius = max(2.0, each.count**0.5)
            parts.append(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{colours[kind]}"'
                f' fill-opacity=".45" stroke="{colours[kind]}"/>'
            )
        total = sum(each.count for each in found)
        parts.append(
            f'<text x="{edge + 12}" y="{edge + 6 + 18 * at}" fill="{colours[kind]}">'
            f"{kind}: error {calibration_error(found):.3f}, {total} answers</text>"
        )
    return "\n".join([*parts, "</svg>\n"])


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("--fit", action="store_true", help="fit, and write strength.json")
    options = parser.parse_args()
    with Library.open(options.library) as library:
        answers = list(read_answers(library))
    development = [each for each in answers if each.is_development]
    if options.fit:
        kinds = {
            name: fit([each for each in development if each.kind == kind], names)
            for name, (kind, names) in KINDS.items()
        }
        numbers = {"weak_below": weak_below(kinds, development), "kinds": kinds}
        write_atomically(NUMBERS, json.dumps(numbers, indent=2) + "\n")
        print(f"wrote {NUMBERS.name}")
    else:
        numbers = json.loads(NUMBERS.read_text())
    print(f"weak: below {numbers['weak_below']}")
    write_atomically(PICTURE, draw(report(numbers, answers)))


if __name__ == "__main__":
    main()
