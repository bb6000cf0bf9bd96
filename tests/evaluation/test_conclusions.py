"""The sentence at the end of an evaluation: winners, ties, losses, chance, and too little data."""

import json
from pathlib import Path
from typing import Any

import pytest

from eqemb.evaluation import conclusions
from eqemb.evaluation.grid import POOL

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
INTERVALS = {"better": (0.01, 0.03), "tie": (-0.01, 0.03), "worse": (-0.03, -0.01)}


def evaluated(mean: float, error: float | None) -> dict[str, Any]:
    """Results of `eqemb evaluate`; chance has an accuracy of 0.5 or 0.6."""
    return {
        "model": "EqEmb",
        "accuracy": {"test": {"mean": mean, "se": error}},
        "chance": {"zero": {"accuracy": 0.5}, "unigram": {"accuracy": 0.6}},
    }


@pytest.mark.parametrize(
    ("mean", "error", "said"),
    [
        (0.7, 0.01, ("EqEmb beats chance (unigram, 0.600): its accuracy on test words is 0.100"
         " higher, 0.700 (95 % interval +0.080 to +0.120).")),
        (0.61, 0.01, ("EqEmb ties with chance (unigram, 0.600): its accuracy on test words is"
         " 0.610, a difference of +0.010 (95 % interval -0.010 to +0.030).")),
        (0.5, 0.01, ("EqEmb is worse than chance (unigram, 0.600): its accuracy on test words is"
         " 0.100 lower, 0.500 (95 % interval -0.120 to -0.080).")),
        (0.7, None, ("EqEmb has an accuracy of 0.700 on test words, next to 0.600 by chance, but"
         " one article is too few to tell them apart.")),
    ],
)  # fmt: skip
def test_a_model_next_to_chance(mean: float, error: float | None, said: str) -> None:
    """By the interval of its standard error."""
    assert conclusions.of_model(evaluated(mean, error)) == said


def compared(
    verdict: str, *, model: float = 0.8, control: float = 0.7, swap: bool = False
) -> dict[str, Any]:
    """Results of `eqemb compare` of a model and a control."""
    entries = [
        {
            "model": name,
            "control": name == "words only",
            "n": 10,
            "softmax": {"accuracy": {"test": {"mean": mean, "se": 0.01}}},
            "chance": {"zero": {"accuracy": 0.5}, "unigram": {"accuracy": 0.6}},
        }
        for name, mean in (("words only", control), ("EqEmb", model))
    ]
    low, high = INTERVALS.get(verdict, (-1.0, 1.0))
    names = ("words only", "EqEmb") if swap else ("EqEmb", "words only")
    gain = {"mean": (low + high) / 2, "low": low, "high": high, "verdict": verdict}
    what = {"reading": "softmax", "measure": "accuracy", "collection": POOL}
    differences = [what | {"model": names[0], "against": names[1]} | gain]
    others = [entry | {"measure": "tempered", "mean": 9.0} for entry in differences]
    return {
        "plan": {"readings": ["softmax"]},
        "results": entries,
        "differences": others + differences + [differences[0] | {"collection": "ir", "mean": 9.0}],
    }


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        ("better", ("EqEmb won with an accuracy of 0.800 on test words, 0.020 above the control"
         " words only (95 % interval +0.010 to +0.030).")),
        ("tie", ("EqEmb and the control words only are tied: EqEmb has an accuracy of 0.800 on test"
         " words, a difference of +0.010 (95 % interval -0.010 to +0.030).")),
        ("worse", ("The control words only won: EqEmb has an accuracy of 0.800 on test words, 0.020"
         " below it (95 % interval -0.030 to -0.010).")),
        ("too few", ("There is too little data to tell EqEmb from the control words only: EqEmb has"
         " an accuracy of 0.800 on test words, a difference of +0.000 (95 % interval -1.000 to"
         " +1.000).")),
    ],
)  # fmt: skip
def test_models_next_to_each_other(verdict: str, said: str) -> None:
    """By the verdict of the pooled difference, not those of other measures or collections."""
    assert conclusions.of_comparison(compared(verdict)) == said


def test_a_difference_the_other_way_round() -> None:
    """The row that was compared may be the second."""
    found = conclusions.of_comparison(compared("worse", swap=True))
    assert found.startswith("EqEmb won with an accuracy of 0.800 on test words, 0.020 above")
    assert "+0.010 to +0.030" in found


def test_models_that_are_not_better_than_chance() -> None:
    """A winner among losers is no winner."""
    found = conclusions.of_comparison(compared("better", model=0.55, control=0.52))
    assert found.startswith("No model is better than chance (0.600): EqEmb won")


def test_what_was_not_compared() -> None:
    """One model alone, controls alone, and a difference that was not tested."""
    alone = compared("better")
    alone["results"] = alone["results"][1:]
    assert "nothing to compare it with" in conclusions.of_comparison(alone)
    alone["results"] = compared("better")["results"][:1]
    assert "Only controls" in conclusions.of_comparison(alone)
    untested = compared("better") | {"differences": []}
    assert conclusions.of_comparison(untested).endswith("their difference was not tested.")


def ranked(verdict: str, search: float = 0.6, unjudged: float = 0.0) -> dict[str, Any]:
    """Results of `eqemb retrieval` of a search and two baselines, on 40 judged topics."""
    low, high = INTERVALS.get(verdict, (-1.0, 1.0))

    def line(mean: float) -> dict[str, Any]:
        return {"test": {"ndcg": {"mean": mean}, "unjudged": {"mean": unjudged}}}

    gain = {"topics": "test", "ranker": "search", "against": "BM25", "mean": (low + high) / 2}
    gain |= {"low": low, "high": high, "verdict": verdict}
    return {
        "judged": {
            "words": {
                "topics": {"development": 20, "test": 40, "all": 60},
                "rankers": {"chance": line(0.1), "BM25": line(0.5), "search": line(search)},
                "gains": [gain, gain | {"against": "a part of it", "mean": 9.0}],
            }
        }
    }


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (ranked("better"), ("For words, on 40 judged topics (test), search won with nDCG@10 0.600,"
         " 0.020 above the baseline BM25 (95 % interval +0.010 to +0.030).")),
        (ranked("tie"), ("For words, on 40 judged topics (test), search and the baseline BM25"
         " are tied: search has nDCG@10 0.600, a difference of +0.010 (95 % interval -0.010 to"
         " +0.030).")),
        (ranked("worse", search=0.3), ("For words, on 40 judged topics (test), nothing beats the"
         " baseline BM25 with nDCG@10 0.500.")),
        (ranked("better", unjudged=0.5), ("For words, on 40 judged topics (test), too many results"
         " of every ranker are unjudged to say who won.")),
        ({}, "Nothing could be compared."),
    ],
)  # fmt: skip
def test_rankers(found: dict[str, Any], said: str) -> None:
    """Against the best baseline, on topics that nothing was chosen on."""
    assert conclusions.of_retrieval(found) == said


def test_rankers_that_are_not_better_than_chance() -> None:
    """They did not win, whatever their order."""
    found = ranked("tie")
    for line in found["judged"]["words"]["rankers"].values():
        line["test"]["ndcg"]["mean"] = 0.1
    assert conclusions.of_retrieval(found).endswith(
        "no ranker is better than chance (nDCG@10 0.100)."
    )


def test_sentences_of_the_stored_results() -> None:
    """They agree with the tables of the documentation."""
    grid = json.loads((RESULTS / "grid.json").read_text("utf-8"))
    assert conclusions.of_comparison(grid).startswith("EqEmb-H won with an accuracy of 0.")
    found = json.loads((RESULTS / "retrieval.json").read_text("utf-8"))
    judged = conclusions.of_retrieval(found)
    assert judged.startswith("For words, on 45 judged topics (test and later), eqemb search")
    assert judged.count("won with nDCG@10") == 2
    del found["judged"]
    assert "nothing beats the baseline BM25 with MRR" in conclusions.of_retrieval(found)
