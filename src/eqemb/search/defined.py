"""Definitions as a part of the score: equations whose symbols mean what a query says.

"Cross entropy" finds an equation with a symbol that its article defines as the cross entropy, also
where these words are far from it. A query that names one symbol, as "equations in which β is the
inverse temperature" does, asks for definitions of that symbol alone. For an equation of the library
as the query, the meanings of its symbols can take part, whatever their letters: an option, since it
gains nothing on judged topics (`benchmarks/meanings.py`).
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.corpus.vocabulary import STOP_WORDS
from eqemb.formula import layout
from eqemb.index.definitions import DefinitionIndex, text_stems
from eqemb.index.scope import Scope
from eqemb.index.stemming import STOP_STEMS, stem
from eqemb.index.text_index import TextIndex
from eqemb.search.query import WordQuery
from eqemb.symbols import Meaning, Symbol, symbols_of

#: Words of a query that speak of equations and symbols, not of what they mean.
_ABOUT_SYMBOLS = frozenset(
    "equation equations formula formulas expression symbol symbols letter denotes denote denoted "
    "defined definition means meaning stands represents".split()
)

#: A meaning that is less sure does not take part in a comparison of equations.
MIN_COMPARED = 0.5

Scores = NDArray[np.float32]


def named_symbol(question: WordQuery) -> Symbol | None:
    """Return the one symbol that a query with words names; None if it has another formula."""
    if len(question.formulas) != 1 or not question.words:
        return None
    symbols = symbols_of(layout(question.formulas[0]))
    return symbols[0] if len(symbols) == 1 and _is_all(symbols[0], question.formulas[0]) else None


def _is_all(symbol: Symbol, latex: str) -> bool:
    """Whether a formula is a symbol and nothing else."""
    return layout(latex).canonical() == layout(symbol.latex).canonical()


class DefinedEquations(NamedTuple):
    """Equations with a symbol whose definition fits a query, and how well; some several times."""

    rows: NDArray[Any]
    fits: Scores


def defined_equations(
    index: DefinitionIndex, text: TextIndex, question: WordQuery
) -> DefinedEquations | None:
    """Return the equations with a symbol that means what a query says; None if there are none."""
    words = [word for word in question.words if word not in STOP_WORDS]
    telling = [word for word in words if word not in _ABOUT_SYMBOLS] or words
    weights = {root: text.idf(root) for root in dict.fromkeys(map(stem, telling))}
    if not any(weights.values()):
        return None
    symbol = named_symbol(question)
    if symbol is None and question.formulas:
        return None  # the formula says what to find
    keys = [] if symbol is None else [symbol.key, symbol.general]
    found = DefinedEquations(*index.fitting_equations(weights, keys))
    return found if found.fits.any() else None


# ------------------------------------------------------------ equations that mean the same


def meaning_weights(meanings: Iterable[Meaning], text: TextIndex) -> tuple[dict[str, float], ...]:
    """Return for each symbol that is surely defined the stems of its definition, by idf."""
    found = []
    for meaning in meanings:
        if meaning.definition is not None and meaning.score >= MIN_COMPARED:
            stems = dict.fromkeys(text_stems(meaning.definition.text))
            weights = {root: text.idf(root) for root in stems if root not in STOP_STEMS}
            if any(weights.values()):
                found.append(weights)
    return tuple(found)


def shared_meanings(
    index: DefinitionIndex, meanings: Iterable[Mapping[str, float]], scope: Scope | None = None
) -> Scores:
    """Return for every equation the mean over meanings of how well one of its symbols has it."""
    parts = [index.equations_with(weights, (), scope) for weights in meanings]
    found: Scores = np.mean(parts, axis=0)
    return found
