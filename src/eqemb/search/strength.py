"""Strength of an answer: the estimated share of such answers that are good, from 0 to 1.

A score orders the answers to one query; a strength also compares queries, and is low for every
answer to a query that the library cannot answer. It is a logistic function of what is known of an
answer at query time, fitted on judged answers to development topics by `benchmarks/calibration.py`,
which writes strength.json. No term is relative to the other answers, so that it holds in a library
of any size. Every weight is positive: more evidence never makes an answer weaker.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

#: The file with the fitted numbers, beside this module.
NUMBERS_FILE = "strength.json"
#: The symbols of a formula that make a difference: a longer one is not more telling.
MOST_SYMBOLS = 40
#: Levels for people.
StrengthLevel = Literal["strong", "good", "fair", "weak"]
#: The least strength of the upper levels.
STRENGTH_LEVELS: dict[StrengthLevel, float] = {"strong": 0.75, "good": 0.5}

Scores = NDArray[np.float32]
#: A named value of every equation.
Evidence = dict[str, Scores]


@cache
def _numbers() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(files("eqemb.search").joinpath(NUMBERS_FILE).read_text())
    return found


def weak_below() -> float:
    """Return the strength below which an answer is weak."""
    return float(_numbers()["weak_below"])


def level(strength: float) -> StrengthLevel:
    """Return a strength in one word: strong, good, fair or weak."""
    for name, least in STRENGTH_LEVELS.items():
        if strength >= least:
            return name
    return "weak" if strength < weak_below() else "fair"


def logistic(constant: float, weights: Mapping[str, float], evidence: Evidence) -> Scores:
    """Return the logistic function of weighted evidence."""
    total = sum((np.float32(weights[name]) * evidence[name] for name in weights), np.float32(0))
    found: Scores = 1 / (1 + np.exp(-np.clip(total + np.float32(constant), -30, 30)))
    return found.astype(np.float32)


def estimate(kind: str, evidence: Evidence) -> Scores:
    """Return the strength of every equation by one of the fitted functions."""
    fitted = _numbers()["kinds"][kind]
    return logistic(fitted["constant"], fitted["weights"], evidence)


# ------------------------------------------------------------ evidence


def word_evidence(words: Scores, covered: Scores, known: float) -> Evidence:
    """Return the evidence of words.

    Args:
        words: The score by words.
        covered: The share of the query's words, weighted by idf, that each equation has near it.
        known: The share of the query's words, weighted by idf, that the library has.

    """
    return {"words": words * np.float32(known), "covered": covered * np.float32(known)}


def agreement_evidence(gained: Scores, scores: Scores, most: float) -> Evidence:
    """Return how much the answers agree, given what each score gained of at most a share `most`."""
    return {"agreement": gained / np.maximum(np.float32(most) * scores, np.float32(1e-6))}


def structure_evidence(structure: Scores, symbols: int) -> Evidence:
    """Return the evidence of the structure of a formula with so many symbols."""
    size = np.log(min(symbols, MOST_SYMBOLS)) / np.log(MOST_SYMBOLS)
    return {"structure": structure, "size": np.full_like(structure, size)}


def equation_evidence(
    structure: Scores, words: Scores | None, symbols: int, most_similar: float
) -> Evidence:
    """Return the evidence of structure, and of the words that the most similar equations share.

    These words tell nothing if no other equation is similar to the query: then they are those
    around the query itself, which the equations of its page have as well, whatever they look like.
    `most_similar` is the largest similarity of an equation that is not equal to the query.
    """
    if words is None:
        return structure_evidence(structure, symbols)
    topic = words * np.float32(most_similar)
    return {**structure_evidence(structure, symbols), "topic": topic}


def most_similar(structure: Scores, others: NDArray[np.bool_]) -> float:
    """Return the largest similarity of an equation; a mask has those that are not the query."""
    return float(structure[others].max(initial=0))


# ------------------------------------------------------------ kinds of queries


def strength_of_words(evidence: Evidence, agreement: Evidence | None) -> Scores:
    """Return the strength of answers to words; without agreement where too few could agree."""
    if agreement is None:
        return estimate("words", evidence)
    return estimate("words and agreement", {**evidence, **agreement})


def strength_of_equation(evidence: Evidence) -> Scores:
    """Return the strength of answers to an equation."""
    return estimate("equation" if "topic" in evidence else "structure", evidence)


def strength_of_mixture(
    words: Evidence | None,
    parts: Mapping[str, Scores],
    weighted: Mapping[str, Scores],
    symbols: int,
    most: float,
) -> Scores | None:
    """Return the strength of answers to words, to formulas among them, or to both: then the mean.

    A query that names a symbol and says what it means is answered by its definitions.

    Args:
        words: The evidence of the words; None for a query without words.
        parts: The scores by each part.
        weighted: What each part adds to the score, and `agreement`.
        symbols: The symbols of the formulas.
        most: The share of its score that an equation can gain by agreement.

    """
    found: list[Scores] = []
    if words is not None:
        agreed = None
        gained = weighted.get("agreement")
        if gained is not None and gained.any():
            own = [part for name, part in weighted.items() if name != "agreement"]
            agreed = agreement_evidence(gained, np.sum(own, axis=0), most)
        found.append(strength_of_words(words, agreed))
    if "structure" in parts:
        found.append(strength_of_equation(structure_evidence(parts["structure"], symbols)))
    if not found:
        return None
    strength: Scores = np.mean(found, axis=0)
    if "definitions" in parts and symbols:
        strength = np.maximum(strength, parts["definitions"])
    return strength
