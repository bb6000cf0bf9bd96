"""Queries that are equations, and how a typed one is read: one formula, and words around it."""

from collections.abc import Mapping
from typing import NamedTuple

from eqemb.article import Equation
from eqemb.errors import UsageError, quoted
from eqemb.formula import Layout
from eqemb.formula.pattern import read_pattern
from eqemb.index.encoder import EncoderIndex
from eqemb.search.query import WordQuery, parse_query


class EquationQuery(NamedTuple):
    """A query that is an equation."""

    layout: Layout
    equation: Equation | None
    """The equation of the library, if the query named one."""
    reading: WordQuery | None = None
    """How the query was read, if it was typed."""
    encoder: EncoderIndex | None = None
    """The sentence encoder that takes part in the ranking."""
    meanings: tuple[Mapping[str, float], ...] = ()
    """For each symbol whose meaning takes part in the ranking, its weighted stems."""


def read_typed_equation(query: str) -> tuple[Layout, WordQuery]:
    """Return the layout of the formula of a query; raises UsageError if it has none, or several."""
    question = parse_query(query)
    if not query.strip():
        raise UsageError("the query is empty: give LaTeX, or the name of an equation")
    if question.excluded and not (question.words or question.formulas):
        question = parse_query(f"${query}$")  # -xy is a product here
    if question.words and not question.formulas:
        raise UsageError(
            f"{quoted(query.strip())} reads as words, not as an equation: search for it, or put"
            " LaTeX between dollars"
        )
    if len(question.formulas) > 1:
        raise UsageError(f"the query has {len(question.formulas)} formulas: give one")
    shape = read_pattern("".join(question.formulas))
    if shape.root is None:
        raise UsageError(f"{quoted(query)} contains no symbol to search for: give LaTeX")
    return shape, question


def typed_notes(shape: Layout, question: WordQuery | None) -> list[str]:
    """Return notes on how a formula was read, and on what of it could not be read."""
    notes = [] if question is None else question.notes
    return notes + [f"not understood: {' '.join(filter(None, each))}" for each in shape.problems]
