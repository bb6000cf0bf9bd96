"""Benchmarks of formula retrieval, on our own formulas and on those of ARQMath."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from arqmath import Judgements, reference_scorer
from arqmath_measures import (
    Bench,
    Choice,
    Run,
    against,
    operator_tree,
    outlines,
    overlap,
    read,
    row_alignment,
    summed,
    within,
)
from ml_categories import nearest, read_formulas
from unit_vectors import Bag, Learner, UnitVectors

from eqemb.formula import layout
from eqemb.formula.likeness import QUERY, RENAMED

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"


def test_arguments_of_an_operator_form_a_row() -> None:
    """Rows of an operator tree can be aligned like those of a layout tree."""
    made = operator_tree("[U!eq,0[O!minus,0[V!x],1[N!1]],1[V!y]]")
    assert made.to_slt() == "[U!eq,w[O!minus[V!y],w[V!x[N!1]]]]"


@pytest.mark.parametrize("text", ["", "[V!x", "[V!x]]", "[V!x][V!y]"])
def test_a_malformed_operator_tree_is_empty(text: str) -> None:
    """It is treated like a malformed layout tree."""
    assert operator_tree(text).root is None


def test_leave_one_out_excludes_the_topic_itself() -> None:
    """Each of two measures is best on one topic, so the other measure is chosen for it."""
    choice = Choice("", {"one": np.array([1.0, 0.0]), "two": np.array([0.2, 0.9])})
    assert choice.best == "two"
    assert choice.left_out() == pytest.approx((0.2 + 0.0) / 2)


def test_sums_are_made_for_each_seed() -> None:
    """Parts of weight 0 are left out, with their seeds."""
    made: dict[str, list[Run]] = {
        "first": [{"t": {"a": 1.0}}],
        "seeds": [{"t": {"a": 1.0}}, {"t": {"a": 3.0}}],
    }
    assert summed(made, "first", ["seeds"], (0.5,)) == [{"t": {"a": 1.5}}, {"t": {"a": 2.5}}]
    assert summed(made, "first", ["seeds"], (0.0,)) == made["first"]
    assert within(made["first"][0], {"t": {}}) == {"t": {}}


def test_differences_are_paired_by_topic() -> None:
    """A small gain on all topics is significant, a large one on a single topic is not."""
    zeros = np.zeros(20)
    gain, low, high, p = against(zeros + 0.01, zeros)
    assert gain == pytest.approx(low) == pytest.approx(high) == pytest.approx(0.01)
    assert p < 0.001
    assert against(np.r_[1.0, zeros[1:]], zeros)[3] > 0.5


def test_equally_near_formulas_share_the_answer() -> None:
    """The first has one neighbour of its class and one of another, at the same distance."""
    similarity = np.array([[9.0, 1.0, 1.0], [0.2, 9.0, 0.1], [0.1, 0.2, 9.0]])
    assert nearest(similarity, ["k", "k", "g"]).tolist() == [0.5, 1.0, 0.0]


def test_units_in_similar_contexts_have_similar_vectors() -> None:
    """Formulas a = b and c = d with either letter; the same seed gives the same numbers."""
    texts = [f"{x}={y}+{n}" for x in "ab" for y in "yz" for n in "123456789"]
    texts += [rf"\frac{{{p}}}{{{q}}}" for p in "pq" for q in "rs"] * 9
    bags: list[Bag] = [layout(text).units() for text in texts]
    how = Learner("b_u", 4, 30, 0.1)
    made = UnitVectors.learned(bags, how, 0)
    assert np.array_equal(UnitVectors.learned(bags, how, 0).rho, made.rho)
    like, unlike = (layout(text).units() for text in ("b=z+9", r"\frac{q}{s}"))
    one, two, three = made.pooled([bags[0], like, unlike], "rho", weighted=False)
    assert one @ two > one @ three
    assert not made.pooled([[("V!never", "V!met", "n")]], "rho", weighted=True).any()


# the benchmark's own scorer leaves its files open
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_row_alignment_ranks_better_than_dice(bench: Path) -> None:
    """MAP' on the tuning topics is higher by 0.1."""
    scorer = reference_scorer(bench)
    data = read(bench / "arqmath1", scorer)
    judge, judged = Bench(scorer, data.trees), data.chosen_on
    rows = outlines({name: data.trees[name] for name in wanted(judged) & data.trees.keys()})
    dice = overlap(data.bags(1, "units and ends"), 0.5, weighted=False)
    found = {
        name: judge.average_precision([judge.run(measure, judged)], judged).mean()
        for name, measure in (("dice", dice), ("rows", row_alignment(rows)))
    }
    assert len(judged) == 29
    assert found["dice"] == pytest.approx(0.450, abs=0.003)
    assert found["rows"] == pytest.approx(0.553, abs=0.003)


def wanted(judged: Judgements) -> set[str]:
    """Topics and their formulas."""
    return {name for topic, grades in judged.items() for name in (topic, *grades)}


def test_the_product_uses_the_chosen_settings() -> None:
    """The constants of `likeness` are those of the stored results."""
    kept = json.loads((BENCHMARKS / "results" / "arqmath.json").read_text("utf-8"))
    chosen = kept["settings"]["likeness"]
    assert (chosen["renamed"], chosen["share"]) == (RENAMED, QUERY)


def test_every_formula_with_a_class_is_read(bench: Path) -> None:
    """There are 94, all with symbols."""
    found = read_formulas(bench / "ml_categories" / "formulas.tsv")
    assert len(found.classes) == 94
    assert all(tree.units() for tree in found.trees.values())


@pytest.mark.parametrize("script", ["arqmath_measures.py", "ml_categories.py"])
def test_missing_data_is_reported(script: str) -> None:
    """The message names the environment variable."""
    env = {key: value for key, value in os.environ.items() if key != "EQEMB_BENCH"}
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / script)],
        capture_output=True, text=True, check=False, env=env,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "set EQEMB_BENCH to the folder with the benchmark data\n"
