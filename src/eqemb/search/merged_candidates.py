"""The candidates of all parts of a library: joined, weighed, and how strong they are.

The parts of a library (`parts`) return their best equations with scores that are not weighted, as
weights depend on what all parts found. What is computed here is what `Search` computes for all
equations of a library, for the candidates alone.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from eqemb.formula.pattern import is_pattern, read_pattern
from eqemb.index.postings import Array, top_k
from eqemb.search.combination import apply_weights, lower_worked_numbers, word_weights
from eqemb.search.engine import Search
from eqemb.search.facets import add_counts
from eqemb.search.match_kinds import CountedMatches, raise_equal
from eqemb.search.parts import PartCandidates
from eqemb.search.query import WordQuery
from eqemb.search.results import Hit
from eqemb.search.strength import (
    equation_evidence,
    strength_of_equation,
    strength_of_mixture,
    weak_below,
    word_evidence,
)
from eqemb.search.typed_equation import EquationQuery
from eqemb.search.voting import POOL_SIZE, WEIGHT, gains

#: The parts of a score in the order in which they are added.
_ORDER = ("structure", "words", "meaning", "base", "definitions")
_WORD_ORDER = ("words", "meaning", "base", "definitions", "structure")

Scores = NDArray[np.float32]
Mask = NDArray[np.bool_]


class MergedCandidates:
    """The candidates of all parts, in the order of the library within each part."""

    def __init__(self, answers: Sequence[PartCandidates]) -> None:
        self.answers = answers
        self.rows = joined([each.rows for each in answers], np.int64)
        self.allowed = joined([each.allowed for each in answers], np.bool_)
        self.states_numbers = joined([each.states_numbers for each in answers], np.bool_)
        self.most_similar = max((each.most_similar for each in answers), default=0.0)
        self.most_similar_other = max((each.most_similar_other for each in answers), default=0.0)
        self.has_allowed = any(each.has_allowed for each in answers) or not answers

    def scores(self, order: Iterable[str]) -> dict[str, Scores]:
        """Return the scores by each part that some candidates have, 0 for the others."""
        names = [name for name in order if any(name in each.scores for each in self.answers)]
        return {name: self._column(partial(_score, name)) for name in names}

    @property
    def covered(self) -> Scores:
        """The share of the words of the query that each candidate has near it."""
        return self._column(lambda each: each.covered)

    def _column(self, of: Callable[[PartCandidates], Scores | None]) -> Scores:
        found = []
        for each in self.answers:
            values = of(each)
            found.append(np.zeros(len(each.rows), np.float32) if values is None else values)
        return joined(found, np.float32)

    def kinds(self) -> dict[str, Mask]:
        """Return which candidates are matches of each kind."""
        names = dict.fromkeys(name for each in self.answers for name in each.kinds)
        return {
            name: joined(
                [each.kinds.get(name, np.zeros(len(each.rows), np.bool_)) for each in self.answers],
                np.bool_,
            )
            for name in names
        }

    def matches(self, more: CountedMatches | None) -> CountedMatches | None:
        """Return how many equations of all parts match, with `more` that they did not count."""
        counted = [each.matches for each in self.answers if each.matches is not None]
        if not counted:
            return None
        counted += [] if more is None else [more]
        return CountedMatches(
            sum(map(len, counted)),
            add_counts(each.counts for each in counted),
            all(each.is_complete for each in counted),
        )


class WeighedCandidates:
    """What each part adds to the scores of candidates, and their strengths."""

    def __init__(
        self,
        weighted: Mapping[str, Scores],
        strengths: Scores | None,
        rows: int,
        more: Mask | None = None,
        *,
        ask_again: bool = False,
    ) -> None:
        """`more` are matches that the parts did not count; `ask_again` if they must count again."""
        self.weighted, self.strengths, self.more_matches = weighted, strengths, more
        self.ask_again = ask_again
        self.total: Scores = sum(weighted.values(), np.zeros(rows, np.float32))

    def hit(self, search: Search, row: int, at: int) -> Hit:
        """Return a candidate as a hit."""
        parts = {part: float(scores[at]) for part, scores in self.weighted.items()}
        strength = None if self.strengths is None else float(self.strengths[at])
        return search.hits.hit(row, parts, strength)


class WordMerge:
    """Weighs the candidates for words, as `Search.search_words` does."""

    def __init__(self, search: Search, question: WordQuery, by: str, known: float) -> None:
        self._search, self._question, self._by, self._known = search, question, by, known
        self.agreed = True  # until it is known
        self.symbols = sum(len(read_pattern(latex).nodes()) for latex in question.formulas)

    def weigh(self, merged: MergedCandidates) -> WeighedCandidates:
        """Return the weighted scores of candidates, with what they agree on."""
        parts = merged.scores(_WORD_ORDER)
        if self._by != "all":
            strengths = None if self._by == "meaning" else self._strengths(merged, parts, parts)
            return WeighedCandidates(parts, strengths, len(merged.rows))
        search, formulas = self._search, bool(self._question.formulas)
        weights = word_weights(search.segments.live_count, names_symbol=formulas)
        weighted = apply_weights(parts, weights)
        if formulas or not weighted:
            return WeighedCandidates(
                weighted, self._strengths(merged, parts, weighted), len(merged.rows)
            )
        weighted = lower_worked_numbers(weighted, merged.states_numbers)
        total = WeighedCandidates(weighted, None, len(merged.rows)).total
        order = np.argsort(merged.rows)  # ties are broken by the order of the library
        pool = order[top_k(total[order], POOL_SIZE)]
        gained = np.zeros_like(total)
        gained[pool] = gains(merged.rows[pool], total[pool], search.structure, search.records)
        nothing = {**weighted, "agreement": np.where(gained > 0, np.float32(1e-30), gained)}
        before = self._strengths(merged, parts, nothing)
        weighted["agreement"] = gained
        after = self._strengths(merged, parts, weighted)
        more = None
        if before is not None and after is not None:
            least = np.float32(weak_below())
            more = merged.allowed & (total > 0) & (before < least) & (after >= least)
        is_known = self.agreed == bool(gained.any())
        self.agreed = bool(gained.any())
        return WeighedCandidates(weighted, after, len(merged.rows), more, ask_again=not is_known)

    def _strengths(
        self, merged: MergedCandidates, parts: Mapping[str, Scores], weighted: Mapping[str, Scores]
    ) -> Scores | None:
        evidence = None
        if self._question.words and ("words" in parts or "structure" in parts):
            nothing = np.zeros(len(merged.rows), np.float32)
            evidence = word_evidence(parts.get("words", nothing), merged.covered, self._known)
        return strength_of_mixture(evidence, parts, weighted, self.symbols, WEIGHT)


class EquationMerge:
    """Weighs the candidates for an equation, as `Search.search_equation` does."""

    def __init__(self, search: Search, query: EquationQuery, by: str) -> None:
        self._search, self._query, self._by = search, query, by

    def weigh(self, merged: MergedCandidates) -> WeighedCandidates:
        """Return the weighted scores of candidates."""
        parts, rows = merged.scores(_ORDER), len(merged.rows)
        if is_pattern(self._query.layout):
            return WeighedCandidates(parts, None, rows)
        if self._by == "all" and self._query.equation is None and not merged.most_similar:
            parts = {}  # other parts alone would find equations that share no symbol with it
        strengths = None
        if "structure" in parts:
            size = len(self._query.layout.nodes())
            most = merged.most_similar_other
            evidence = equation_evidence(parts["structure"], parts.get("words"), size, most)
            strengths = strength_of_equation(evidence)
            raise_equal(strengths, merged.kinds())
        return WeighedCandidates(
            apply_weights(parts, self._search.equation_weights), strengths, rows
        )


def _score(name: str, found: PartCandidates) -> Scores | None:
    return found.scores.get(name)


def joined(parts: Sequence[Array], dtype: type[np.generic]) -> Array:
    """Return arrays of one type as one, also if there are none."""
    found: Array = np.concatenate([np.empty(0, dtype), *parts])
    return found
