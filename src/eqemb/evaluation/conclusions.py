"""One plain sentence at the end of an evaluation: who won and by how much, or that nobody did.

Nothing is computed here but the order of means: differences, intervals and verdicts are those of
the results. A winner whose interval contains 0 is called a tie.
"""

from typing import Any

from eqemb.evaluation.grid import POOL
from eqemb.evaluation.retrieval_tables import MAX_UNJUDGED

Results = dict[str, Any]
#: Standard errors on each side of a 95 % interval.
_NORMAL_95 = 1.96
_QUERY_KINDS = {"words": "words", "equation": "equations"}
_TASKS = {
    "labels": "words of labels",
    "references": "sentences that refer to equations",
    "own_context": "held-out words",
}
_NOT_RANKED = ("chance", "article oracle")


def of_model(found: Results) -> str:
    """Say whether a model predicts held-out words better than chance (`eqemb evaluate`)."""
    chance = {name: float(lines["accuracy"]) for name, lines in found["chance"].items()}
    best = max(chance, key=lambda name: chance[name])
    test = found["accuracy"]["test"]
    mean, error = float(test["mean"]), test["se"]
    gain = mean - chance[best]
    against = f"chance ({'zero vectors' if best == 'zero' else best}, {chance[best]:.3f})"
    name = found["model"]
    if error is None:
        return (
            f"{name} has an accuracy of {mean:.3f} on test words, next to {chance[best]:.3f} by"
            " chance, but one article is too few to tell them apart."
        )
    low, high = gain - _NORMAL_95 * error, gain + _NORMAL_95 * error
    interval = f"(95 % interval {low:+.3f} to {high:+.3f})"
    if low > 0:
        return (
            f"{name} beats {against}: its accuracy on test words is {gain:.3f} higher, {mean:.3f}"
            f" {interval}."
        )
    if high < 0:
        return (
            f"{name} is worse than {against}: its accuracy on test words is {-gain:.3f} lower,"
            f" {mean:.3f} {interval}."
        )
    return (
        f"{name} ties with {against}: its accuracy on test words is {mean:.3f}, a difference of"
        f" {gain:+.3f} {interval}."
    )


def of_comparison(found: Results) -> str:
    """Say which model of a grid won, by accuracy pooled over everything (`eqemb compare`)."""
    entries = found["results"]
    controls = {entry["model"] for entry in entries if entry["control"]}
    reading = next(iter(found["plan"]["readings"]))
    gains = {
        (entry["model"], entry["against"]): entry
        for entry in found["differences"]
        if (entry["reading"], entry["measure"], entry["collection"]) == (reading, "accuracy", POOL)
    }
    means = {name: _pooled(found, name, reading) for name in {entry["model"] for entry in entries}}
    models = [name for name in means if name not in controls]
    if not models:
        return "Only controls were compared, so that no model won."
    first = max(models, key=lambda name: (means[name], name))
    rivals = [name for name in means if name != first]
    if not rivals:
        return f"Only {first} was trained, so that there is nothing to compare it with."
    rival = max(rivals, key=lambda name: (means[name], name))
    shown = f"the control {rival}" if rival in controls else rival
    value = f"an accuracy of {means[first]:.3f} on test words"
    if (first, rival) in gains:
        verdict = _verdict(first, shown, gains[first, rival], value)
    elif (rival, first) in gains:
        verdict = _verdict(first, shown, _reversed(gains[rival, first]), value)
    else:
        verdict = (
            f"{first} has {value}, next to {means[rival]:.3f} of {shown}; their difference was not"
            " tested"
        )
    chance = max(_pooled_chance(found, line) for line in ("zero", "unigram"))
    if max(means[first], means[rival]) <= chance:
        return f"No model is better than chance ({chance:.3f}): {verdict}."
    return _sentence(verdict)


def of_retrieval(found: Results) -> str:
    """Say which ranker won for each kind of question (`eqemb retrieval`)."""
    judged = found.get("judged", {})
    clauses = [
        _judged_clause(judged[kind], name) for kind, name in _QUERY_KINDS.items() if kind in judged
    ]
    if not clauses:
        clauses = [
            _task_clause(found[task], name)
            for task, name in _TASKS.items()
            if task in found and found[task]["rankers"]
        ]
    return _sentence("; ".join(clauses) or "nothing could be compared")


def _judged_clause(found: Results, kind: str) -> str:
    half = list(found["topics"])[-1]
    half = "test" if half == "all" else half
    means = {
        name: halves[half]["ndcg"]["mean"]
        for name, halves in found["rankers"].items()
        if half in halves
        and name not in _NOT_RANKED
        and halves[half].get("unjudged", {"mean": 1.0})["mean"] <= MAX_UNJUDGED
    }
    gains = {  # of several for one ranker, the first is that over the best baseline
        entry["ranker"]: entry for entry in reversed(found["gains"]) if entry["topics"] == half
    }
    chance = found["rankers"]["chance"][half]["ndcg"]["mean"]
    where = f"for {kind}, on {found['topics'][half]} judged topics ({half})"
    return _clause(where, means, gains, chance, "nDCG@10")


def _task_clause(found: Results, name: str) -> str:
    rankers = found["rankers"]
    means = {
        ranker: line["mrr"]["mean"] for ranker, line in rankers.items() if ranker not in _NOT_RANKED
    }
    chance = rankers["chance"]["mrr"]["mean"] if "chance" in rankers else 0.0
    gains = {entry["ranker"]: entry for entry in found["gains"]}
    return _clause(f"for {name} (n = {found['n']:,})", means, gains, chance, "MRR")


def _clause(
    where: str, means: dict[str, float], gains: dict[str, Results], chance: float, measure: str
) -> str:
    if not means:
        return f"{where}, too many results of every ranker are unjudged to say who won"
    first = max(means, key=lambda name: (means[name], name))
    if means[first] <= chance:
        return f"{where}, no ranker is better than chance ({measure} {chance:.3f})"
    if first not in gains:  # it is the baseline that the others are compared with
        return f"{where}, nothing beats the baseline {first} with {measure} {means[first]:.3f}"
    entry = gains[first]
    against = f"the baseline {entry['against']}"
    return f"{where}, {_verdict(first, against, entry, f'{measure} {means[first]:.3f}')}"


def _verdict(first: str, rival: str, entry: Results, value: str) -> str:
    """Return a clause on the difference between the first and its rival."""
    interval = f"(95 % interval {entry['low']:+.3f} to {entry['high']:+.3f})"
    if entry["verdict"] == "better":
        return f"{first} won with {value}, {entry['mean']:.3f} above {rival} {interval}"
    if entry["verdict"] == "worse":
        return f"{rival} won: {first} has {value}, {-entry['mean']:.3f} below it {interval}"
    difference = f"{first} has {value}, a difference of {entry['mean']:+.3f} {interval}"
    if entry["verdict"] == "tie":
        return f"{first} and {rival} are tied: {difference}"
    return f"there is too little data to tell {first} from {rival}: {difference}"


def _reversed(entry: Results) -> Results:
    """Return a difference as seen from the other side."""
    verdict = {"better": "worse", "worse": "better"}.get(entry["verdict"], entry["verdict"])
    turned = {"mean": -entry["mean"], "low": -entry["high"], "high": -entry["low"]}
    return entry | turned | {"verdict": verdict}


def _sentence(text: str) -> str:
    """Return a sentence; names of models keep their letters."""
    start = text[0].upper() if text.startswith(("for ", "the ", "there ", "nothing ")) else text[0]
    return f"{start}{text[1:]}."


def _pooled(found: Results, model: str, reading: str) -> float:
    """Return the mean accuracy of a model over all its test words."""
    entries = [entry for entry in found["results"] if entry["model"] == model]
    total = sum(entry[reading]["accuracy"]["test"]["mean"] * entry["n"] for entry in entries)
    return float(total / sum(entry["n"] for entry in entries))


def _pooled_chance(found: Results, line: str) -> float:
    entries = found["results"]
    total = sum(entry["chance"][line]["accuracy"] * entry["n"] for entry in entries)
    return float(total / sum(entry["n"] for entry in entries))
