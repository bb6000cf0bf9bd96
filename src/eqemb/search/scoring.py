"""Scores of equations for a query, by each part of the index.

Parts score the equations of a `Scope`, each from 0 to 1: *words*, BM25 over the words of an
equation (`index.text`); *meaning*, the cosine of vectors of the library's own model
(`index.vectors`); *base*, that of the model that comes with eqemb (`index.base_vectors`);
*structure*, the likeness of two equations symbol by symbol and the units that both have
(`index.structure`); *definitions*, what the symbols of an equation mean (`defined`). An equation
given as a query has few words of its own, so the words that the most similar equations have in
common are used instead.

The scope is every equation, and scores are exact. In a large library it is a `selection`.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.article import Equation
from eqemb.errors import UsageError
from eqemb.formula import Layout
from eqemb.formula.pattern import read_pattern
from eqemb.formula.shapes import key
from eqemb.index.base_vectors import BaseVectors
from eqemb.index.definitions import DefinitionIndex, best_fits
from eqemb.index.scope import Scope
from eqemb.index.segments import IndexSegments
from eqemb.index.structure import EQUAL_SCORE, StructureIndex, StructureMatches
from eqemb.index.terms import Term
from eqemb.index.text_index import TextIndex
from eqemb.index.vector_index import VectorIndex
from eqemb.index.vectors import VectorSpace
from eqemb.library.database import LibraryRecords
from eqemb.models.embeddings import Embeddings
from eqemb.search.combination import (
    apply_weights,
    equation_weights,
    lower_worked_numbers,
    word_weights,
)
from eqemb.search.defined import DefinedEquations, defined_equations, shared_meanings
from eqemb.search.filtering import allowed_equations
from eqemb.search.hits import HitReader
from eqemb.search.match_kinds import equation_kinds, of_kind, word_kinds
from eqemb.search.paper import NO_MODEL, PaperRanking
from eqemb.search.query import Filters, WordQuery
from eqemb.search.selection import CandidateSelection, Unread, promising
from eqemb.search.strength import (
    equation_evidence,
    most_similar,
    strength_of_equation,
    strength_of_mixture,
    word_evidence,
)
from eqemb.search.typed_equation import EquationQuery, typed_notes
from eqemb.search.vector_parts import VectorParts
from eqemb.search.voting import WEIGHT, agreement

#: The topic of an equation: the words that this many similar types have in common, how many words,
#: and the power of its score by which each type is trusted.
TOPIC_TYPES, TOPIC_WORDS, TOPIC_TRUST = 20, 10, 4
#: Types that the structure index returns.
MAX_TYPES = 200
#: The order in which parts are added up.
_WORDS_ORDER = ("words", "meaning", "base", "definitions", "structure", "paper")
_EQUATION_ORDER = (
    "structure", "words", "meaning", "encoder", "base", "definitions", "paper",
)  # fmt: skip
#: The words of the topic of an equation that find candidates: those that weigh most.
TOPIC_CANDIDATES = 5

Scores = NDArray[np.float32]
Mask = NDArray[np.bool_]
Rows = NDArray[Any]


class Scored(NamedTuple):
    """The scores of the equations of a scope, by part."""

    scope: Scope
    parts: dict[str, Scores]
    late: "tuple[Unread, Callable[[], Scored]] | None" = None
    """What was not scored by vectors, and what does that; None where all were."""


class Scoring:
    """The index of a library, opened to score equations."""

    def __init__(
        self,
        records: LibraryRecords,
        segments: IndexSegments,
        vectors: Path | None = None,
        model: Callable[[], Embeddings | None] = lambda: None,
    ) -> None:
        """`vectors` is their folder, None where the library has no model.

        `model` opens the library's own model, for rankings that need more than the index.
        """
        self.records, self.segments = records, segments
        self._vectors, self._open_model = vectors, model
        self.text = TextIndex(segments)
        self.structure = StructureIndex(segments)
        self.base = BaseVectors(segments)
        self.definitions = DefinitionIndex(segments)
        self.hits = HitReader(segments, self.structure, records, self.definitions)
        self._selection = CandidateSelection(segments, self.text)

    @cached_property
    def vectors(self) -> VectorSpace | None:
        """The vectors of the index; None where the library has no model."""
        return None if self._vectors is None else VectorSpace(self.segments, self._vectors)

    @cached_property
    def _vector_parts(self) -> VectorParts:
        return VectorParts(self.segments, self.base, self.vectors)

    @cached_property
    def model(self) -> Embeddings | None:
        """The library's own model; None where it has none."""
        return self._open_model()

    @cached_property
    def paper(self) -> PaperRanking:
        """The ranking of the paper by the library's model."""
        if self.model is None or self.vectors is None:
            raise UsageError(NO_MODEL)
        return PaperRanking(self.vectors, self.model)

    @property
    def articles(self) -> Rows:
        """The id of each equation's article."""
        return self.segments.articles

    @property
    def types(self) -> Rows:
        """The type of each equation."""
        return self.segments.types

    @property
    def every(self) -> Scope:
        """All equations."""
        return Scope(self.segments.equation_count)

    # ------------------------------------------------------------ words

    def parts_for_words(
        self,
        question: WordQuery,
        allowed: Mask,
        wanted: Container[str],
        notes: list[str] | None = None,
        terms: list[Term] | None = None,
    ) -> dict[str, Scores]:
        """Return the scores of every equation by each wanted part, from 0 to 1."""
        return self.score_words(question, allowed, wanted, notes, terms, self.every).parts

    def score_words(  # noqa: PLR0913
        self,
        question: WordQuery,
        allowed: Mask,
        wanted: Container[str],
        notes: list[str] | None = None,
        terms: list[Term] | None = None,
        scope: Scope | None = None,
        *,
        also: Sequence[int] = (),
        depth: int | None = None,
        kind: str | None = None,
    ) -> Scored:
        """Score equations by each wanted part.

        Args:
            question: The query.
            allowed: Which equations may be found by a formula of the query.
            wanted: The parts.
            notes: What was not searched is added to them.
            terms: Those of the query, if they were looked up already.
            scope: The equations; by default all, and in a large library the candidates.
            also: Rows that are among the candidates in any case.
            depth: How many of the best candidates have scores by vectors, too; by default all.
            kind: The kind of match that candidates are of, by default any.
        """
        terms = terms if terms is not None else self.text.terms(question.words)
        defined = None
        if "definitions" in wanted and question.words:
            defined = defined_equations(self.definitions, self.text, question)
        alike: dict[str, StructureMatches] = {}
        if question.formulas and "structure" in wanted:
            shapes = {latex: read_pattern(latex) for latex in question.formulas}  # each once
            alike = {latex: self.similar_types(each, allowed) for latex, each in shapes.items()}
            if notes is not None:
                notes += [one.note for one in alike.values() if one.note]
                notes += [note for each in shapes.values() for note in typed_notes(each, None)]
        if scope is None:
            if kind is not None and self.segments.is_large:
                covered, structure = self.text.coverage(terms), None
                if alike:
                    structure = self._formula_scores(question, alike, self.every)
                kinds = word_kinds(covered, structure, bool(question.words))
                allowed = of_kind(allowed, kinds, kind)
            only = self._only(allowed)
            rows = self._selection.rows(terms, alike.values(), defined, only)
            if self.vectors is not None and "meaning" in wanted:
                vector = self.vectors.words_vector(question.words)
                rows = chain(rows, self._selection.near(self.vectors.contexts, vector, only))
            scope = self._selection.scope(wanted, chain(rows, [np.array(also, np.int64)]))
        parts = self._word_parts(question, wanted, scope, terms, defined, alike)
        weights = word_weights(self.segments.live_count, names_symbol=bool(question.formulas))
        sure = parts if question.formulas else self._lowered(parts, scope)
        read = self._promise(sure, weights, scope, allowed, also, depth)

        def with_vectors(read: Rows | None) -> Scored:
            vectors = self._vector_parts
            found = parts | vectors.for_words(question, wanted, scope, parts.get("words"), read)
            ordered = {name: found[name] for name in _WORDS_ORDER if name in found}
            unread = Unread.of(read, len(scope), weights)
            return Scored(scope, ordered, unread and (unread, lambda: with_vectors(None)))

        return with_vectors(read)

    def _word_parts(
        self,
        question: WordQuery,
        wanted: Container[str],
        scope: Scope,
        terms: Sequence[Term],
        defined: DefinedEquations | None,
        alike: Mapping[str, StructureMatches],
    ) -> dict[str, Scores]:
        """Return the scores by parts for which no vectors are read."""
        parts: dict[str, Scores] = {}
        if "words" in wanted and terms:
            parts["words"] = self.text.score_words(question.words, terms, scope)
        if defined is not None:
            parts["definitions"] = best_fits(*defined, scope)
        if alike:
            parts["structure"] = self._formula_scores(question, alike, scope)
        if "paper" in wanted:
            parts["paper"] = self.paper.equations_for(question.words)[scope.take(self.types)]
        return parts

    def _formula_scores(
        self, question: WordQuery, alike: Mapping[str, StructureMatches], scope: Scope
    ) -> Scores:
        """Return the likeness to the formulas of a query."""
        scores = {latex: self.by_equation(one, scope) for latex, one in alike.items()}
        mean: Scores = np.mean([scores[each] for each in question.formulas], axis=0)
        return mean

    def _lowered(self, parts: Mapping[str, Scores], scope: Scope) -> Mapping[str, Scores]:
        return lower_worked_numbers(parts, scope.take(self.segments.states_numbers))

    def _promise(
        self,
        parts: Mapping[str, Scores],
        weights: Mapping[str, float],
        scope: Scope,
        allowed: Mask,
        also: Sequence[int],
        depth: int | None,
    ) -> Rows | None:
        """Return the places of a selection that can be among the best `depth`, and those of `also`.

        They alone are scored by vectors, given the other `parts`; None is for all.
        """
        if scope.rows is None or depth is None or not parts:
            return None
        weighted = (np.float32(weights.get(name, 1)) * each for name, each in parts.items())
        sure = sum(weighted, np.zeros(len(scope), np.float32))
        masks = [None] if self._is_all(allowed) else [None, scope.take(allowed)]
        found = promising(sure, weights["meaning"] + weights["base"], masks, depth)
        return np.union1d(found, scope.places_of(np.array(also, np.int64)))

    def weigh_words(
        self,
        question: WordQuery,
        parts: Mapping[str, Scores],
        matching: Mask,
        scope: Scope | None = None,
    ) -> dict[str, Scores]:
        """Return what each part adds to the scores for words; agreement adds to their sum."""
        scope = scope or self.every
        count, names_symbol = self.segments.live_count, bool(question.formulas)
        weighted = apply_weights(parts, word_weights(count, names_symbol=names_symbol))
        if not question.formulas:
            weighted = lower_worked_numbers(weighted, scope.take(self.segments.states_numbers))
        if weighted and not question.formulas:
            total = np.where(matching, sum(weighted.values()), np.float32(0))
            found = agreement(total, scope, self.structure, self.records)
            weighted["agreement"] = found
        return weighted

    def word_strengths(
        self,
        question: WordQuery,
        scored: Scored,
        weighted: Mapping[str, Scores],
        terms: Sequence[Term],
        unknown: int,
    ) -> Scores | None:
        """Return the strength of every equation for words; with formulas, the mean of both."""
        scope, parts, _ = scored
        evidence = None
        if question.words and ("words" in parts or "structure" in parts):
            nothing = np.zeros(len(scope), np.float32)
            known = self.text.known_share(terms, unknown)
            covered = self.text.coverage(terms, scope)
            evidence = word_evidence(parts.get("words", nothing), covered, known)
        symbols = sum(len(read_pattern(latex).nodes()) for latex in question.formulas)
        return strength_of_mixture(evidence, parts, weighted, symbols, WEIGHT)

    # ------------------------------------------------------------ equations

    @property
    def equation_weights(self) -> dict[str, float]:
        """What each part weighs for an equation."""
        return equation_weights(self.segments.live_count)

    def weigh_equation(
        self, query: EquationQuery, allowed: Mask, weights: Mapping[str, float]
    ) -> dict[str, Scores]:
        """Return what each part adds to the scores for an equation."""
        return apply_weights(self.parts_for_equation(query, allowed, weights), weights)

    def parts_for_equation(
        self, query: EquationQuery, allowed: Mask, wanted: Container[str], count: int = MAX_TYPES
    ) -> dict[str, Scores]:
        """Return the scores of every equation by each wanted part, from 0 to 1."""
        return self.score_equation(query, allowed, wanted, count, self.every).parts

    def score_equation(
        self,
        query: EquationQuery,
        allowed: Mask,
        wanted: Container[str],
        count: int = MAX_TYPES,
        scope: Scope | None = None,
        *,
        also: Sequence[int] = (),
        depth: int | None = None,
        kind: str | None = None,
    ) -> Scored:
        """Score equations by each wanted part, as `score_words` does."""
        found = None
        if "structure" in wanted:
            found = self.similar_types(query.layout, allowed, count)
        # the topic of an equation does not depend on the filters
        unfiltered = found if self._is_all(allowed) else None
        topic = self.topic(query, unfiltered) if "words" in wanted else {}
        terms = self.text.stem_terms(topic)
        vector = self._equation_vector(query.layout) if "meaning" in wanted else None
        same, equal = self.same_equations(query.layout), self.structure.rewritten(query.layout)
        if scope is None:
            most = sorted(terms, key=lambda term: -term.weight)[:TOPIC_CANDIDATES]
            alike = [] if found is None else [found]
            if kind is not None and self.segments.is_large:
                allowed = of_kind(allowed, equation_kinds(same, equal, len(allowed)), kind)
            only = self._only(allowed)
            rows = self._selection.rows(most, alike, None, only)
            if vector is not None and (types := self._type_vectors) is not None:
                rows = chain(rows, self._selection.near_types(types, vector, only))
            others = [same, equal, np.array(also, np.int64)]
            scope = self._selection.scope(wanted, chain(rows, others))
        parts: dict[str, Scores] = {}
        if found is not None:
            parts["structure"] = self.by_equation(found, scope)
        if terms:
            parts["words"] = self.text.score_terms(terms, scope)
        parts |= self._other_parts(query, wanted, scope, same)
        places = scope.places_of(equal), scope.places_of(same)
        _raise_equal(parts, *places)
        read = self._promise(parts, self.equation_weights, scope, allowed, also, depth)

        def with_vectors(read: Rows | None) -> Scored:
            late = self._vector_parts.for_equation(query.layout, vector, wanted, scope, read)
            _raise_equal(late, *places)
            found = parts | late
            ordered = {name: found[name] for name in _EQUATION_ORDER if name in found}
            unread = Unread.of(read, len(scope), self.equation_weights)
            return Scored(scope, ordered, unread and (unread, lambda: with_vectors(None)))

        return with_vectors(read)

    @property
    def _type_vectors(self) -> VectorIndex | None:
        return None if self.vectors is None else self.vectors.types

    def _equation_vector(self, shape: Layout) -> Scores | None:
        """Return the vector of an equation by the library's model; None where it has none."""
        if self.vectors is None or self.vectors.types is None:
            return None
        vector = self.vectors.equation_vector(shape)
        return vector if vector.any() or self.vectors.has_units else None

    def _other_parts(
        self, query: EquationQuery, wanted: Container[str], scope: Scope, same: Rows
    ) -> dict[str, Scores]:
        """Return the scores by parts that find no candidates, without those of vectors."""
        parts: dict[str, Scores] = {}
        if query.encoder is not None and "encoder" in wanted:
            parts["encoder"] = scope.take(query.encoder.formula_scores(query.layout.latex))
        if query.meanings and "definitions" in wanted:
            parts["definitions"] = shared_meanings(self.definitions, query.meanings, scope)
        if "paper" in wanted:
            units = ["\t".join(unit) for unit in query.layout.units()]
            kind = int(self.types[same[0]]) if len(same) else None
            vector = self.paper.alpha(kind, units)
            parts["paper"] = self.paper.equations_like(vector)[scope.take(self.types)]
        return parts

    def equation_strengths(
        self, query: EquationQuery, parts: Mapping[str, Scores], others: Mask
    ) -> Scores | None:
        """Return the strength of every equation for an equation; None without structure.

        `others` are the equations of the library that are not equal to it.
        """
        if "structure" not in parts:
            return None
        symbols = len(query.layout.nodes())
        most = most_similar(parts["structure"], others)
        evidence = equation_evidence(parts["structure"], parts.get("words"), symbols, most)
        return strength_of_equation(evidence)

    def same_equations(self, shape: Layout) -> Rows:
        """Return the rows of the equations that are equal to an equation, in order."""
        return self.segments.equations_of_key(key(shape.canonical()))

    def topic(
        self,
        query: EquationQuery,
        found: StructureMatches | None = None,
        count: int = TOPIC_WORDS,
    ) -> dict[str, float]:
        """Return the weighted stems that describe an equation and its most similar ones best."""
        found = found or self.structure.find(query.layout, count=TOPIC_TYPES)
        own = [] if query.equation is None else [self.row(query.equation)]
        scores = found.scores[:TOPIC_TYPES]
        trust = [1.0] * len(own) + [float(score) ** TOPIC_TRUST for score in scores]
        similar = [self.equations_of_type(kind)[0] for kind in found.types[:TOPIC_TYPES].tolist()]
        return self.text.topic([*own, *similar], trust, count)

    def equations_of_type(self, kind: int) -> list[int]:
        """Return the rows of the equations of a type in all segments, in order."""
        number = int(self.segments.type_keys[kind])
        found: list[int] = self.segments.equations_of_key(number).tolist()
        return found

    def row(self, equation: Equation) -> int:
        """Return the row of an equation in the index."""
        return self.hits.row(equation)

    def similar_types(
        self, shape: Layout, allowed: Mask, count: int = MAX_TYPES
    ) -> StructureMatches:
        """Return the types most similar to an equation, of those with an allowed equation."""
        types = None
        if not self._is_all(allowed):
            types = np.zeros(len(self.structure), bool)
            types[self.types[allowed]] = True
        return self.structure.find(shape, types, count)

    def by_equation(self, found: StructureMatches, scope: Scope | None = None) -> Scores:
        """Convert scores of types to scores of equations, 0 for types that are not listed."""
        types, places = self._selection.copies(found)
        wanted = (scope or self.every).take(self.types)
        if scope is None or scope.rows is None:
            scores = np.zeros(len(self.structure), np.float32)
            scores[types] = found.scores[places]
            return scores.take(wanted)
        order = np.argsort(types, kind="stable")
        types, values = types[order], found.scores[places][order].astype(np.float32)
        if not len(types):
            return np.zeros(len(scope), np.float32)
        at = np.minimum(np.searchsorted(types, wanted), len(types) - 1)
        return np.where(types[at] == wanted, values[at], np.float32(0))

    def _is_all(self, allowed: Mask) -> bool:
        """Whether a mask has every equation of the library."""
        return int(np.count_nonzero(allowed)) == self.segments.live_count

    def _only(self, allowed: Mask) -> Mask | None:
        """Return a mask, or None if it has every equation of the library."""
        return None if self._is_all(allowed) else allowed

    def allowed(self, filters: Filters | None) -> Mask:
        """Return a mask of the equations that pass the filters."""
        return allowed_equations(self.records, self.segments, self.structure, filters)


def _raise_equal(parts: Mapping[str, Scores], equal: Rows, same: Rows) -> None:
    """Give equal equations the score 1 by every part, whatever words are around them."""
    for scores in parts.values():
        scores[equal] = EQUAL_SCORE
        scores[same] = 1.0
