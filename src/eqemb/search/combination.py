"""How the parts of a score are combined: their weights, and which parts a ranking needs."""

from collections.abc import Container, Mapping

import numpy as np
from numpy.typing import NDArray

from eqemb.corpus.vocabulary import STOP_WORDS
from eqemb.errors import UsageError
from eqemb.search.query import EMPTY_QUERY, WordQuery, check_ranking

#: The weight of each part, for a query in words and for one that is an equation.
WORD_PARTS = {
    "words": 1.0,
    "meaning": 0.1,
    "base": 0.3,
    "structure": 1.0,
    "definitions": 0.1,
    "encoder": 0.5,
}
EQUATION_PARTS = {
    "structure": 1.0,
    "words": 1.0,
    "meaning": 0.05,
    "base": 0.5,
    "definitions": 0.25,
    "encoder": 0.5,
}
#: With so many equations the base model counts half: then the library itself says more.
BASE_HALF = 5_000
#: How much more definitions count if the query names a symbol: "β the inverse temperature".
NAMED_SYMBOL = 20
#: What an equation that states numbers keeps of its score for words.
WORKED_NUMBERS = 0.6

Scores = NDArray[np.float32]


def wanted_parts(by: str, weights: Mapping[str, float], *, has_model: bool) -> Container[str]:
    """Return the parts that a ranking needs."""
    check_ranking(by)
    if by == "meaning" and not has_model:
        return ("base",)  # which every library has
    return weights if by == "all" else (by,)


def check_words(question: WordQuery, by: str) -> None:
    """Refuse a query that asks for nothing, or that the ranking cannot use."""
    if not question.words and not question.formulas:
        raise UsageError(
            "the query only excludes words: add words to search for"
            if question.excluded
            else EMPTY_QUERY
        )
    if by == "structure" and not question.formulas:
        raise UsageError("ranking by structure needs LaTeX: put it between dollars")
    if by not in ("all", "structure") and question.formulas and not question.words:
        raise UsageError(f"ranking by {by} needs words in addition to the LaTeX")


def is_telling(word: str) -> bool:
    """Whether a word of a query can tell equations apart: no stop word, number or letter."""
    return word not in STOP_WORDS and len(word) > 1 and any(map(str.isalpha, word))


def word_weights(equations: int, *, names_symbol: bool = False) -> dict[str, float]:
    """Return the weights for a query in words to a library of so many equations.

    Args:
        equations: The number of equations.
        names_symbol: Whether definitions, if any, are those of a symbol that the query names.

    """
    definitions = WORD_PARTS["definitions"] * (NAMED_SYMBOL if names_symbol else 1)
    return _sized(WORD_PARTS, equations) | {"definitions": definitions}


def equation_weights(equations: int) -> dict[str, float]:
    """Return the weights for an equation as the query to a library of so many equations."""
    return _sized(EQUATION_PARTS, equations)


def _sized(weights: Mapping[str, float], equations: int) -> dict[str, float]:
    return {**weights, "base": weights["base"] / (1 + equations / BASE_HALF)}


def apply_weights(parts: Mapping[str, Scores], weights: Mapping[str, float]) -> dict[str, Scores]:
    """Return what each part adds to the score; the weights of the given parts sum to 1."""
    own = {part: weights.get(part, 1.0) for part in parts}
    total = sum(own.values())
    return {part: np.float32(own[part] / total) * scores for part, scores in parts.items()}


def lower_worked_numbers(
    weighted: Mapping[str, Scores], states_numbers: NDArray[np.bool_]
) -> dict[str, Scores]:
    """Return the parts, with less for equations that state numbers, as worked examples do."""
    kept = np.where(states_numbers, np.float32(WORKED_NUMBERS), np.float32(1))
    return {part: scores * kept for part, scores in weighted.items()}
