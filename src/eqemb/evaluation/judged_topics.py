"""Judged topics: queries with graded answers, and the scores of rankers on them.

Settings, such as the weights of a combination, are chosen on development topics, whose number is
odd. Topics with even numbers are used for reporting only.
"""

import math
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.corpus.corpus import Corpus
from eqemb.errors import UsageError
from eqemb.evaluation import metrics
from eqemb.evaluation.metrics import Grades, Run
from eqemb.evaluation.rankers import (
    BASELINE_RANKERS,
    EQUATION_QUERY,
    SEARCH,
    SEARCH_PARTS,
    WITH_ENCODER,
    WORD_QUERY,
    Combination,
    Query,
    Ranker,
    Scores,
    equation_query,
    word_query,
    z_scores,
)

CUTOFF = 10
"""Number of results that nDCG, precision and the share of unjudged results look at."""
EQUAL_WEIGHTS = {
    WORD_QUERY: ("BM25", "context means", "sentence encoder", "EqEmb", "EqEmb-U", "EqEmb-H"),
    EQUATION_QUERY: (
        "unit overlap",
        "sentence encoder, LaTeX",
        "EqEmb-U",
        "EqEmb-H (other pairing)",
    ),
}
WEIGHTS = (0.25, 0.5, 1.0, 2.0)
#: Rankers with a setting that was chosen on development topics.
CHOSEN = ("combination", "BM25F", SEARCH, WITH_ENCODER, SEARCH_PARTS["words"])
HALVES = ("development", "test", "all")


class Topic(NamedTuple):
    """A query, and the instructions for its graders."""

    id: str
    query: Query
    want: str = ""
    grades: str = ""
    group: str = ""
    """Test topics of a group are reported separately, and together with the other test topics."""

    @property
    def is_development(self) -> bool:
        """Whether settings may be chosen on it: its number is odd."""
        return int(re.sub(r"\D", "", self.id) or 0) % 2 == 1


def read_topics(path: Path) -> list[Topic]:
    """Read `[[topic]]` tables with id, kind ("words" or "equation") and query from a TOML file."""
    try:
        listed = tomllib.loads(path.read_text("utf-8"))["topic"]
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError) as error:
        raise UsageError(f"{path} has no [[topic]] tables: {error}") from None
    if not isinstance(listed, list) or not listed:
        raise UsageError(f"{path} has no topics: each must start with [[topic]]")
    parse: dict[str, Callable[[str], Query]] = {
        WORD_QUERY: word_query,
        EQUATION_QUERY: equation_query,
    }
    found = []
    for entry in listed:
        given = (
            [entry.get(key) for key in ("id", "kind", "query")] if isinstance(entry, dict) else []
        )
        if not given or not all(isinstance(value, str) for value in given) or given[1] not in parse:
            raise UsageError(
                f"{path}: a topic needs id, kind (words or equation) and query, in quotes"
            )
        query = parse[entry["kind"]](entry["query"])
        rest = (str(entry.get(key, "")) for key in ("want", "grades", "group"))
        found.append(Topic(entry["id"], query, *rest))
    if len({topic.id for topic in found}) < len(found):
        raise UsageError(f"{path}: two topics have the same id")
    return found


# ------------------------------------------------------------ runs


def top(corpus: Corpus, scores: Scores, depth: int, besides: int | None = None) -> dict[str, float]:
    """Return the best equations by name, one of each type; ties are ordered from Z to A."""
    least = np.partition(scores, -min(len(scores), 50 * depth))[-min(len(scores), 50 * depth)]
    best = np.flatnonzero(scores >= least).tolist()
    best.sort(key=lambda at: (scores[at], corpus.equation_names[at].encode()), reverse=True)
    found: dict[str, float] = {}
    seen: set[int] = set()
    for at in best:
        kind = int(corpus.equation_types[at])
        if kind not in seen and at != besides and len(found) < depth:
            seen.add(kind)
            found[corpus.equation_names[at]] = float(scores[at])
    return found


def run(corpus: Corpus, ranker: Ranker, topics: Iterable[Topic], depth: int = CUTOFF) -> Run:
    """Return the results of a ranker for the topics of a kind that it supports."""
    return {
        topic.id: top(corpus, ranker.scores(topic.query), depth, topic.query.occurrence)
        for topic in topics
        if topic.query.kind in ranker.answers
    }


# ------------------------------------------------------------ grades


Judgements = dict[str, dict[str, tuple[float, ...]]]
"""Topic -> name -> the grade of each grader."""
_GRADES = frozenset("0123")


def read_judgements(path: Path, graders: int = 2) -> Judgements:
    """Read a tab-separated file with a header: topic, name, and a column for each grader.

    A file of fewer than `graders` is refused.
    """
    found: Judgements = {}
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text: {error.reason}") from None
    head, *lines = [line.split("\t") for line in text.splitlines()] or [[""]]
    if head[:2] != ["topic", "name"] or len(head) < 2 + graders:
        needed = {1: "a grader", 2: "two graders"}[graders]
        raise UsageError(
            f"{path}: the first line must be topic, name and {needed}, separated by tabs"
        )
    if not lines:
        raise UsageError(f"{path} has no grades: add a line for each graded equation")
    for number, fields in enumerate(lines, 2):
        if len(fields) != len(head) or not all(grade in _GRADES for grade in fields[2:]):
            raise UsageError(
                f"{path}, line {number}: expected a topic, a name and a grade from 0 to 3 by each"
                " grader"
            )
        if fields[1] in found.setdefault(fields[0], {}):
            raise UsageError(f"{path}, line {number}: {fields[1]} is graded twice for {fields[0]}")
        found[fields[0]][fields[1]] = tuple(map(float, fields[2:]))
    return found


def mean_grades(judgements: Judgements) -> Grades:
    """Return the mean over all graders; a mean of 2 or more counts as relevant."""
    return {
        topic: {name: float(np.mean(grades)) for name, grades in names.items()}
        for topic, names in judgements.items()
    }


def grades_of(judgements: Judgements, grader: int) -> Grades:
    """Return the grades of one grader."""
    return {
        topic: {name: grades[grader] for name, grades in names.items()}
        for topic, names in judgements.items()
    }


def paired(one: Judgements, other: Judgements) -> Judgements:
    """Pair the mean grades of two independent files, for the equations that both judge."""
    first, second = mean_grades(one), mean_grades(other)
    found: Judgements = {}
    for topic in first.keys() & second.keys():
        both = first[topic].keys() & second[topic].keys()
        if both:
            found[topic] = {n: (first[topic][n], second[topic][n]) for n in sorted(both)}
    if not found:
        raise UsageError("the two files judge no equation in common: give files of the same pool")
    return dict(sorted(found.items()))


def agreement(judgements: Judgements, *, draws: int = 1000, seed: int = 0) -> dict[str, Any]:
    """Measure the agreement of the first two graders; the interval is a bootstrap over topics."""
    by_topic = [np.array(list(names.values()), np.float64) for names in judgements.values()]
    pairs = np.concatenate(by_topic)
    one, other = pairs[:, 0], pairs[:, 1]
    random = np.random.default_rng(seed)
    kappas = []
    for _ in range(draws if len(by_topic) >= metrics.MIN_CLUSTERS else 0):
        drawn = random.integers(0, len(by_topic), len(by_topic))
        sample = np.concatenate([by_topic[at] for at in drawn.tolist()])
        kappas.append(metrics.weighted_kappa(sample[:, 0], sample[:, 1]))
    return {
        "n": len(pairs),
        "topics": len(judgements),
        "kappa": metrics.weighted_kappa(one, other),
        "kappa_interval": np.quantile(kappas, [0.025, 0.975]).tolist() if kappas else None,
        "exact": float((one == other).mean()),
        "within_one": float((np.abs(one - other) <= 1).mean()),
        "means": [float(one.mean()), float(other.mean())],
        "answers": [float((one >= 2).mean()), float((other >= 2).mean())],
        "both_answers": float(((one >= 2) & (other >= 2)).mean()),
    }


# ------------------------------------------------------------ scores


class JudgedTopics:
    """Topics with grades, and the measures of a ranking of a corpus's equations for each."""

    def __init__(self, corpus: Corpus, topics: Iterable[Topic], grades: Grades) -> None:
        self.corpus, self.grades = corpus, grades
        topics = list(topics)
        self.topics = [topic for topic in topics if topic.id in grades]
        if not self.topics:
            raise UsageError(
                "no topic has grades: the topics are named"
                f" {', '.join(t.id for t in topics[:3])}..., the grades are for"
                f" {', '.join(list(grades)[:3])}..."
            )
        self._index = {name: at for at, name in enumerate(corpus.equation_names)}
        for topic in self.topics:
            lost = [name for name in grades[topic.id] if name not in self._index]
            if lost:
                raise UsageError(
                    f"topic {topic.id}: {lost[0]} is judged but not in the library: use the"
                    " library that the pool was made from"
                )

    def of_kind(self, kind: str) -> list[Topic]:
        """Return the judged topics of a kind."""
        return [topic for topic in self.topics if topic.query.kind == kind]

    def has_halves(self, kind: str) -> bool:
        """Whether there are both development and test topics of a kind."""
        return len({topic.is_development for topic in self.of_kind(kind)}) == 2

    def measured(self, topic: Topic, scores: Scores) -> dict[str, float]:
        """Return all measures of one ranking; unjudged equations count as grade 0."""
        grades = self.grades[topic.id]
        ranked = list(top(self.corpus, scores, CUTOFF, topic.query.occurrence))
        judged = {name: float(scores[self._index[name]]) for name in grades}
        return {
            "ndcg": metrics.ndcg(ranked, grades, CUTOFF),
            "precision": metrics.precision(ranked, grades, CUTOFF),
            "map": metrics.average_precision(metrics.order(judged), grades),
            "unjudged": metrics.unjudged(ranked, grades, CUTOFF),
        }

    def values(self, ranker: Ranker, topics: Iterable[Topic]) -> dict[str, NDArray[np.float64]]:
        """Return measure -> one value per topic."""
        found = [self.measured(topic, ranker.scores(topic.query)) for topic in topics]
        return {name: np.array([each[name] for each in found]) for name in found[0]}

    def chance(self, topics: list[Topic]) -> dict[str, NDArray[np.float64]]:
        """Return the expected measures of a random order."""
        size = len(set(self.corpus.equation_types.tolist()))
        discount = sum(1 / math.log2(at + 2) for at in range(CUTOFF))
        ndcg, precision = [], []
        for topic in topics:
            grades = sorted(self.grades[topic.id].values(), reverse=True)
            ideal = sum(grade / math.log2(at + 2) for at, grade in enumerate(grades[:CUTOFF]))
            ndcg.append(sum(grades) / size * discount / ideal if ideal else 0.0)
            precision.append(sum(grade >= metrics.RELEVANT for grade in grades) / size)
        return {"ndcg": np.array(ndcg), "precision": np.array(precision)}


def judged_scores(
    table: JudgedTopics, kind: str, rankers: Iterable[Ranker], chosen: Collection[str] = ()
) -> dict[str, Any]:
    """Means and errors over the topics of a kind, by half, and gains over the best baseline.

    Rankers in `chosen` were tuned on development topics, so they get no figure over all topics.
    """
    topics = table.of_kind(kind)
    development = np.array([topic.is_development for topic in topics])
    group = np.array([topic.group for topic in topics])
    test = ~development & (group == "")
    halves = dict(zip(HALVES, (development, test, development | test), strict=True))
    for name in sorted(set(group.tolist()) - {""}):
        halves[name] = ~development & (group == name)
        halves[f"test and {name}"] = test | halves[name]
    lines = {"chance": table.chance(topics)}
    lines |= {
        ranker.name: table.values(ranker, topics) for ranker in rankers if kind in ranker.answers
    }
    return {
        "topics": {half: int(part.sum()) for half, part in halves.items()},
        "rankers": {
            name: {
                half: {key: metrics.mean_and_error(values[part]) for key, values in line.items()}
                for half, part in halves.items()
                if half != "all" or name not in chosen
            }
            for name, line in lines.items()
        },
        "gains": [
            entry
            for half in list(halves)[1:]
            for entry in _gains(lines, halves[half], half)
            if half != "all" or entry["ranker"] not in chosen
        ],
        "per_topic": {
            name: dict(zip([topic.id for topic in topics], line["ndcg"].tolist(), strict=True))
            for name, line in lines.items()
        },
    }


def _gains(
    lines: dict[str, dict[str, NDArray[np.float64]]], chosen: NDArray[np.bool_], half: str
) -> Iterator[dict[str, Any]]:
    """Compare every ranker with the best baseline on the same topics, the product with all."""
    rivals = [name for name in BASELINE_RANKERS if name in lines]
    best = max(rivals, key=lambda name: float(lines[name]["ndcg"][chosen].mean()))
    pairs = [(name, best) for name in lines if name != best]
    # the product's search is also compared with the other baselines and with each of its parts
    others = [*(name for name in rivals if name != best), *SEARCH_PARTS.values()]
    pairs += [(SEARCH, other) for other in others if SEARCH in lines and other in lines]
    if WITH_ENCODER in lines:
        pairs.append((WITH_ENCODER, SEARCH))
    for name, other in pairs:
        gain = metrics.gain(lines[name]["ndcg"][chosen], lines[other]["ndcg"][chosen])
        yield {"topics": half, "ranker": name, "against": other} | gain._asdict()


# ------------------------------------------------------------ combinations


def equal_weights(rankers: Iterable[Ranker], kind: str) -> Combination:
    """Return the sum of z-scores of rankers that were named before anything was judged."""
    return Combination(
        {ranker: 1.0 for ranker in rankers if ranker.name in EQUAL_WEIGHTS[kind]}, "equal weights"
    )


def combine(
    table: JudgedTopics, kind: str, candidates: Iterable[Ranker], *, least: float = 0.005
) -> tuple[Combination, dict[str, float]]:
    """Choose a combination of rankers on development topics; return it with its weights.

    Greedy forward selection: start with the best ranker, then add the ranker and weight that raise
    nDCG@10 most, for as long as the gain is `least` or more.
    """
    topics = [topic for topic in table.of_kind(kind) if topic.is_development]
    found = {ranker: ranker for ranker in candidates if kind in ranker.answers}
    scores = {
        ranker: [z_scores(ranker.scores(topic.query)) for topic in topics] for ranker in found
    }

    def score(parts: list[Scores]) -> float:
        each = zip(topics, parts, strict=True)
        return float(np.mean([table.measured(topic, part)["ndcg"] for topic, part in each]))

    weights: dict[Ranker, float] = {}
    now, best = [np.zeros(len(table.corpus.equation_types)) for _ in topics], -1.0
    while len(weights) < len(found):
        tried = [
            (
                score([a + weight * b for a, b in zip(now, scores[ranker], strict=True)]),
                ranker,
                weight,
            )
            for ranker in found
            if ranker not in weights
            for weight in (WEIGHTS if weights else (1.0,))
        ]
        value, ranker, weight = max(tried, key=lambda each: each[0])
        if value < best + least:
            break
        best, weights[ranker] = value, weight
        now = [a + weight * b for a, b in zip(now, scores[ranker], strict=True)]
    named = {ranker.name: weight for ranker, weight in weights.items()}
    return Combination(weights, "combination"), named
