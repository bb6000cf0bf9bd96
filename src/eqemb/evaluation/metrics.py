"""Ranking metrics, significance tests, and TREC files of runs and judgements.

A run maps names to scores for each topic; judgements map names to grades from 0 to 3. Names are
ordered by score, ties by name from Z to A, as in `trec_eval`. The gain in nDCG is the grade itself,
not 2 to the power of the grade. This module does not depend on equations.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.errors import UsageError
from eqemb.storage import atomic

Grades = dict[str, dict[str, float]]
"""Topic -> name -> grade."""
Run = dict[str, dict[str, float]]
"""Topic -> name -> score."""
Floats = NDArray[np.float64]
MIN_CLUSTERS = 5
"""Minimum number of topics or articles for a comparison; a bootstrap over fewer is meaningless."""
ALPHA = 0.05
"""Differences with a p-value below it are significant."""
RELEVANT = 2.0
"""Minimum grade of a relevant result, in metrics with binary relevance."""


def order(scores: Mapping[str, float]) -> list[str]:
    """Return the names, best first."""
    ranked = sorted(scores.items(), key=lambda item: (item[1], item[0].encode()), reverse=True)
    return [name for name, _ in ranked]


# ------------------------------------------------------------ metrics of one ranking


def ndcg(ranked: Sequence[str], grades: Mapping[str, float], depth: int | None = None) -> float:
    """Return the discounted cumulative gain relative to the ideal order; 0 if all grades are 0."""
    best = sorted(grades.values(), reverse=True)[:depth]
    ideal = sum(grade / math.log2(at + 2) for at, grade in enumerate(best))
    found = (grades.get(name, 0.0) / math.log2(at + 2) for at, name in enumerate(ranked[:depth]))
    return sum(found) / ideal if ideal else 0.0


def precision(
    ranked: Sequence[str], grades: Mapping[str, float], depth: int = 10, least: float = RELEVANT
) -> float:
    """Return the share of the first `depth` results that are relevant."""
    return sum(grades.get(name, 0.0) >= least for name in ranked[:depth]) / depth


def average_precision(
    ranked: Sequence[str], grades: Mapping[str, float], least: float = RELEVANT
) -> float:
    """Return the mean precision at the ranks of all relevant results; 0 for those not ranked."""
    answers = {name for name, grade in grades.items() if grade >= least}
    hits = [at for at, name in enumerate(ranked, 1) if name in answers]
    return sum(nth / at for nth, at in enumerate(hits, 1)) / len(answers) if answers else 0.0


def judged_only(ranked: Iterable[str], grades: Mapping[str, float]) -> list[str]:
    """Return the ranking without unjudged names; metrics of it are written with a prime."""
    return [name for name in ranked if name in grades]


def unjudged(ranked: Sequence[str], grades: Mapping[str, float], depth: int = 10) -> float:
    """Return the share of the first `depth` results that have no judgement."""
    return sum(name not in grades for name in ranked[:depth]) / depth


class FirstHit(NamedTuple):
    """Rank of the best target; for ties, the mean over all orders of the tied items."""

    rank: float
    reciprocal: float
    within: float
    """Probability that it is among the first `depth`."""


def first_hit(scores: Floats, targets: NDArray[np.bool_], depth: int = 10) -> FirstHit:
    """Return the rank of the best target among all items."""
    best = scores[targets].max()
    tied = scores == best
    above, ties, hits = int((scores > best).sum()), int(tied.sum()), int((tied & targets).sum())
    place = np.arange(1, ties - hits + 2)
    # probability that the first target is at this place among the ties, given the place before it
    step = (ties - place[:-1] - hits + 1) / (ties - place[:-1])
    chance = hits / ties * np.r_[1.0, np.cumprod(step)]
    ranks = above + place
    return FirstHit(
        float(chance @ ranks), float(chance @ (1 / ranks)), float(chance[ranks <= depth].sum())
    )


# ------------------------------------------------------------ significance


def mean_and_error(
    values: Floats | list[float], clusters: NDArray[np.int64] | None = None
) -> dict[str, float | None]:
    """Return the mean and its standard error, clustered (by article) if clusters are given.

    The error of a single value or cluster is None.
    """
    values = np.asarray(values, np.float64)
    if clusters is None:
        clusters = np.arange(len(values))
    off = np.bincount(clusters, values - values.mean())
    groups = len(np.unique(clusters))
    error = math.sqrt((off**2).sum() * groups / (groups - 1)) / len(values) if groups > 1 else None
    return {"mean": float(values.mean()), "se": error}


class Gain(NamedTuple):
    """Difference between two rankers on the same topics."""

    mean: float
    low: float
    high: float
    """95 % interval of a bootstrap over topics."""
    p: float
    """Two-sided p-value of a randomisation test (random signs)."""
    verdict: str
    """One of "better", "worse", "tie" (not significant) and "too few" (topics)."""


def gain(one: Floats, other: Floats, *, draws: int = 10_000, seed: int = 0) -> Gain:
    """Compare two rankers: a paired randomisation test and a paired bootstrap over topics."""
    difference = one - other
    random = np.random.default_rng(seed)
    mean = float(difference.mean())
    signs = random.choice([-1.0, 1.0], (draws, len(difference)))
    by_chance = np.abs(signs @ difference) / len(difference)
    p = (1 + int((by_chance >= abs(mean) - 1e-12).sum())) / (1 + draws)
    drawn = random.integers(0, len(difference), (draws, len(difference)))
    low, high = np.quantile(difference[drawn].mean(axis=1), [0.025, 0.975])
    verdict = "tie" if p >= ALPHA else "better" if mean > 0 else "worse"
    return Gain(
        mean, float(low), float(high), p, verdict if len(one) >= MIN_CLUSTERS else "too few"
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm's adjusted p-values: valid together for all comparisons of a family."""
    adjusted, least = [0.0] * len(p_values), 0.0
    for rank, at in enumerate(sorted(range(len(p_values)), key=lambda at: p_values[at])):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[at]))
        adjusted[at] = least
    return adjusted


# ------------------------------------------------------------ agreement


def weighted_kappa(one: Floats, other: Floats) -> float:
    """Return Cohen's kappa of two graders, with quadratic weights.

    1 is full agreement; 0 is the agreement expected by chance.
    """
    seen = ((one - other) ** 2).mean()
    # the mean over all pairs of a grade of one and a grade of the other
    by_chance = one.var() + other.var() + (one.mean() - other.mean()) ** 2
    return float(1 - seen / by_chance) if by_chance else 1.0


def kendall(one: Sequence[float], other: Sequence[float]) -> float:
    """Return Kendall's tau-b, the rank correlation of two lists of scores."""
    first, second = (np.sign(np.subtract.outer(values, values)) for values in (one, other))
    same, untied = (first * second).sum(), np.sqrt((first**2).sum() * (second**2).sum())
    return float(same / untied) if untied else math.nan


# ------------------------------------------------------------ files


def write_run(path: Path, run: Run, tag: str) -> None:
    """Write a run in TREC's format: topic, Q0, name, rank, score, tag."""
    lines = [
        f"{topic} Q0 {name} {rank} {run[topic][name]:.9g} {tag}\n"
        for topic in sorted(run)
        for rank, name in enumerate(order(run[topic]), 1)
    ]
    with atomic.new_file(path, follow_links=True) as new:
        new.write_text("".join(lines), encoding="utf-8")


def read_run(path: Path) -> Run:
    """Read a run in TREC's format."""
    found: Run = {}
    for fields in _fields(path, 6):
        found.setdefault(fields[0], {})[fields[2]] = _number(path, fields[4])
    return found


def write_qrels(path: Path, grades: Grades) -> None:
    """Write judgements in TREC's format: topic, 0, name, grade."""
    lines = [
        f"{topic} 0 {name} {grades[topic][name]:g}\n"
        for topic in sorted(grades)
        for name in sorted(grades[topic])
    ]
    with atomic.new_file(path, follow_links=True) as new:
        new.write_text("".join(lines), encoding="utf-8")


def read_qrels(path: Path) -> Grades:
    """Read judgements in TREC's format."""
    found: Grades = {}
    for fields in _fields(path, 4):
        found.setdefault(fields[0], {})[fields[2]] = _number(path, fields[3])
    return found


def _fields(path: Path, count: int) -> Iterable[list[str]]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text: {error.reason}") from None
    for number, line in enumerate(lines, 1):
        fields = line.split()
        if len(fields) == count:
            yield fields
        elif fields:
            raise UsageError(f"{path}, line {number}: expected {count} fields, not {len(fields)}")


def _number(path: Path, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{path}: {text!r} is not a number") from None
