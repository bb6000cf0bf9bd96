"""Ranking metrics: computed by hand, compared with ARQMath's scorer, and significance."""

import importlib.util
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqemb.errors import UsageError
from eqemb.evaluation import metrics
from eqemb.evaluation.metrics import Grades, Run

GRADES = {"a": 3.0, "b": 0.0, "c": 2.0, "d": 1.0}


def test_names_are_ordered_by_score_then_from_z_to_a() -> None:
    """The order is that of trec_eval."""
    assert metrics.order({"a": 1.0, "b": 2.0, "c": 1.0}) == ["b", "c", "a"]


def test_ndcg_by_hand() -> None:
    """Gains are grades; unjudged names have gain 0; the ideal has the same cutoff."""
    found = 2 / 1 + 0 / math.log2(3) + 3 / 2
    ideal = 3 / 1 + 2 / math.log2(3) + 1 / 2
    assert metrics.ndcg(["c", "x", "a"], GRADES, 10) == pytest.approx(found / ideal)
    assert metrics.ndcg(["c", "x", "a"], GRADES, 1) == pytest.approx(2 / 3)
    assert metrics.ndcg(["a", "c", "d"], GRADES) == pytest.approx(1.0)
    assert metrics.ndcg(["a"], {"a": 0.0}) == 0.0


def test_precision_by_hand() -> None:
    """Missing results count as not relevant; grades of 2 and above are relevant."""
    assert metrics.precision(["a", "d", "c", "x"], GRADES, 10) == pytest.approx(0.2)
    assert metrics.precision(["a", "d", "c", "x"], GRADES, 2) == pytest.approx(0.5)
    assert metrics.precision(["c"], {"c": 1.5}, 1) == 0.0


def test_average_precision_by_hand() -> None:
    """A relevant result that is not ranked contributes 0."""
    assert metrics.average_precision(["d", "a", "x", "c"], GRADES) == pytest.approx(
        (1 / 2 + 2 / 4) / 2
    )
    assert metrics.average_precision(["a"], GRADES) == pytest.approx(1 / 2)


def test_unjudged_results_are_counted() -> None:
    """The share is of the first ten, or of another depth."""
    assert metrics.unjudged(["a", "x", "y"], GRADES, 10) == pytest.approx(0.2)
    assert metrics.judged_only(["a", "x", "c"], GRADES) == ["a", "c"]


def drawn(seed: int) -> tuple[Grades, Run]:
    """Make topics, judgements and a run with ties and unjudged names."""
    random = np.random.default_rng(seed)
    names = [f"n{number}" for number in range(40)]
    grades = {
        f"t{topic}": {
            str(name): int(random.integers(4)) * 1.0 for name in random.permutation(names)[:20]
        }
        for topic in range(5)
    }
    run = {
        f"t{topic}": {
            str(name): int(random.integers(6)) / 4 for name in random.permutation(names)[:30]
        }
        for topic in range(4)  # one topic has no results
    }
    return grades, run


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # it leaves its files open
def test_metrics_match_the_benchmarks_scorer(bench: Path, tmp_path: Path) -> None:
    """nDCG', MAP' and P'@10 are equal, also through our files."""
    spec = importlib.util.spec_from_file_location("score", bench / "score.py")
    assert spec is not None
    assert spec.loader is not None
    scorer: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scorer)
    for seed in range(5):
        grades, run = drawn(seed)
        metrics.write_qrels(tmp_path / "qrels", grades)
        metrics.write_run(tmp_path / "run", run, "test")
        assert metrics.read_qrels(tmp_path / "qrels") == grades
        assert metrics.read_run(tmp_path / "run") == run
        theirs = scorer.evaluate_prime(
            scorer.read_qrels(str(tmp_path / "qrels")), scorer.read_run(str(tmp_path / "run"))
        )
        ranked = {
            topic: metrics.judged_only(metrics.order(run.get(topic, {})), grades[topic])
            for topic in grades
        }
        ours = {
            "nDCG'": [metrics.ndcg(ranked[topic], grades[topic]) for topic in grades],
            "MAP'": [metrics.average_precision(ranked[topic], grades[topic]) for topic in grades],
            "P'@10": [metrics.precision(ranked[topic], grades[topic]) for topic in grades],
        }
        for measure, values in ours.items():
            assert np.mean(values) == pytest.approx(theirs[measure], abs=1e-12)


def test_a_run_is_written_in_order(tmp_path: Path) -> None:
    """Lines have six fields; ties are ordered from Z to A."""
    metrics.write_run(tmp_path / "run", {"t": {"a": 0.5, "b": 0.5, "c": 2.0}}, "mine")
    lines = (tmp_path / "run").read_text().splitlines()
    assert lines == ["t Q0 c 1 2 mine", "t Q0 b 2 0.5 mine", "t Q0 a 3 0.5 mine"]


def test_a_malformed_file_is_reported(tmp_path: Path) -> None:
    """The error names the line."""
    (tmp_path / "qrels").write_text("t 0 a 1\nt 0 a\n")
    with pytest.raises(UsageError, match="line 2: expected 4 fields, not 3"):
        metrics.read_qrels(tmp_path / "qrels")
    (tmp_path / "qrels").write_text("t 0 a high\n")
    with pytest.raises(UsageError, match="'high' is not a number"):
        metrics.read_qrels(tmp_path / "qrels")


@pytest.mark.parametrize(
    ("scores", "targets", "found"),
    [
        ([3, 2, 1], [1], (2.0, 1 / 2, 1.0)),
        ([1, 1, 1], [1], (2.0, (1 + 1 / 2 + 1 / 3) / 3, 2 / 3)),  # anywhere of three
        ([1, 1, 1, 0], [0, 1], (4 / 3, 2 / 3 + 1 / 6, 1.0)),  # the first of two among three
        ([5, 1, 1], [1, 2], (2.0, 1 / 2, 1.0)),
        ([1], [0], (1.0, 1.0, 1.0)),
    ],
)
def test_the_first_hit_by_hand(
    scores: list[float], targets: list[int], found: tuple[float, float, float]
) -> None:
    """Check rank, reciprocal rank and probability of the first two, over all orders of ties."""
    chosen = np.isin(np.arange(len(scores)), targets)
    assert metrics.first_hit(np.array(scores, float), chosen, 2) == pytest.approx(found)


def test_the_first_hit_by_simulation() -> None:
    """Break ties at random thousands of times."""
    random = np.random.default_rng(0)
    scores = random.integers(0, 3, 12).astype(float)
    targets = np.isin(np.arange(12), [2, 5, 7])
    dealt = []
    for _ in range(4000):
        broken = scores + random.random(12) / 2
        dealt.append(1 + int((broken > broken[targets].max()).sum()))
    ranks = np.array(dealt)
    wanted = ranks.mean(), (1 / ranks).mean(), (ranks <= 3).mean()
    assert metrics.first_hit(scores, targets, 3) == pytest.approx(wanted, abs=0.05)


def test_errors_are_clustered() -> None:
    """Repeated values of an article add no information."""
    values = np.array([0.0, 1.0, 0.0, 1.0, 1.0])
    alone = metrics.mean_and_error(values)
    assert alone["mean"] == pytest.approx(0.6)
    assert alone["se"] == pytest.approx(np.std(values, ddof=1) / math.sqrt(5))
    again = metrics.mean_and_error(np.repeat(values, 4), np.repeat(np.arange(5), 4))
    assert again["se"] == pytest.approx(alone["se"])


def test_gains_are_tested_for_significance() -> None:
    """A consistent gain is "better", its negative "worse", and noise a "tie"."""
    random = np.random.default_rng(1)
    base = random.random(30)
    steady = base + 0.1 + 0.05 * random.standard_normal(30)
    assert metrics.gain(steady, base).verdict == "better"
    assert metrics.gain(base, steady).verdict == "worse"
    assert metrics.gain(base + 0.1 * random.standard_normal(30), base).verdict == "tie"
    assert metrics.gain(steady[:4], base[:4]).verdict == "too few"
    assert metrics.gain(base, base).p == 1.0
    found = metrics.gain(steady, base)
    assert found.low < found.mean < found.high


def test_holm_by_hand() -> None:
    """The smallest is multiplied by the number of tests, the next by one less; never decreasing."""
    assert metrics.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert metrics.holm([0.9, 0.02]) == pytest.approx([0.9, 0.04])
    assert metrics.holm([0.6, 0.7]) == [1.0, 1.0]
    assert metrics.holm([]) == []


def test_kappa_by_hand() -> None:
    """Full agreement is 1, chance agreement is 0, and weights are quadratic."""
    one = np.array([0.0, 1.0, 2.0, 3.0])
    assert metrics.weighted_kappa(one, one) == 1.0
    assert metrics.weighted_kappa(one, one[::-1]) == pytest.approx(-1.0)
    # seen: (0 + 1 + 0 + 1) / 4; by chance over all 16 pairs: 34 / 16
    assert metrics.weighted_kappa(one, np.array([0.0, 0.0, 2.0, 2.0])) == pytest.approx(
        1 - (2 / 4) / ((0 + 0 + 4 + 4 + 1 + 1 + 1 + 1 + 4 + 4 + 0 + 0 + 9 + 9 + 1 + 1) / 16)
    )


def test_kendall_by_hand() -> None:
    """The same order gives 1, the reverse -1, and one swap of three pairs a third."""
    assert metrics.kendall([1, 2, 3], [2, 4, 9]) == pytest.approx(1.0)
    assert metrics.kendall([1, 2, 3], [3, 2, 1]) == pytest.approx(-1.0)
    assert metrics.kendall([1, 2, 3], [2, 1, 3]) == pytest.approx(1 / 3)
