"""Rank the equations of a part of a library, for a front end that merges the answers of all parts.

A part is a few neighbouring segments, opened with the statistics of the whole library
(`index.statistics`), so that its scores are those of the whole. It answers with rows and scores,
not with hits: `merging` weighs and orders the candidates of all parts, and reads the best. What
depends on the candidates of several parts is left to it: agreement, families, the topic of an
equation. A part that is large for itself scores a `selection` of its equations.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.errors import UsageError
from eqemb.formula import Layout
from eqemb.formula.pattern import is_pattern
from eqemb.formula.shapes import key
from eqemb.index.postings import Array, top_k
from eqemb.index.scope import Scope
from eqemb.index.segments import IndexSegments
from eqemb.index.structure import MAX_TRIED, StructureMatches
from eqemb.index.terms import Term, WordForms
from eqemb.index.text_index import TextIndex
from eqemb.library.database import LibraryRecords
from eqemb.search.combination import (
    EQUATION_PARTS,
    WORD_PARTS,
    apply_weights,
    lower_worked_numbers,
    wanted_parts,
    word_weights,
)
from eqemb.search.engine import Search
from eqemb.search.facets import Facets
from eqemb.search.filtering import matching_equations
from eqemb.search.match_kinds import (
    CountedMatches,
    Kinds,
    equation_kinds,
    limit_kind,
    matching_rows,
    raise_equal,
    word_kinds,
)
from eqemb.search.query import Filters, WordQuery
from eqemb.search.scoring import MAX_TYPES, Scored
from eqemb.search.selection import MOST_READ, CandidateSelection
from eqemb.search.strength import (
    equation_evidence,
    most_similar,
    strength_of_equation,
    strength_of_mixture,
    word_evidence,
)
from eqemb.search.typed_equation import EquationQuery
from eqemb.search.voting import POOL_SIZE, WEIGHT

#: Section titles of matches whose counts a part sends: the most frequent.
MAX_TITLES = 10_000

Scores = NDArray[np.float32]
Mask = NDArray[np.bool_]


# ------------------------------------------------------------ questions


class SimilarKeys(NamedTuple):
    """The keys of types that are similar to an equation, and their scores, best first."""

    keys: Array
    scores: Array


@dataclass(frozen=True, slots=True)
class WordsQuestion:
    """Words, with or without formulas, that the front end has read."""

    question: WordQuery
    symbols: int
    """The number of symbols of the formulas."""
    by: str
    filters: Filters | None
    count: int
    """The number of candidates."""
    forms: Mapping[str, WordForms]
    """How the library writes each word that it has."""
    owners: Mapping[str, int]
    """How many equations of the library have each word."""
    similar: "Mapping[str, SimilarKeys]"
    """The most similar types of each formula, by its canonical form."""
    known: float
    """The share of the words that the library has."""
    agreed: bool = True
    """Whether the best equations of the library agree; see `voting`."""


@dataclass(frozen=True, slots=True)
class TypesQuestion:
    """An equation whose most similar types are wanted, of those with an equation that passes."""

    layout: Layout
    count: int
    filters: Filters | None = None
    words: WordQuery | None = None
    """A query with phrases and excluded words that the equations must match."""


@dataclass(frozen=True, slots=True)
class EquationQuestion:
    """An equation that the front end has read, with its topic."""

    layout: Layout
    own_row: int | None
    """The row in the library of an equation that was named; it is left out."""
    topic: Mapping[str, float]
    similar: "SimilarKeys | None"
    """The most similar types of the library; None where the parts look for them."""
    by: str
    filters: Filters | None
    count: int


PartQuestion = WordsQuestion | TypesQuestion | EquationQuestion


# ------------------------------------------------------------ answers


@dataclass(frozen=True, slots=True)
class PartCandidates:
    """The best equations of a part, in no particular order."""

    rows: Array
    """In the library."""
    scores: Mapping[str, Scores]
    """By each part of the score, not weighted."""
    allowed: Mask
    """Whether each passes the filters; those that do not may still vote (`voting`)."""
    states_numbers: Mask
    covered: Scores | None = None
    """The share of the words of the query that each has near it."""
    kinds: Kinds = field(default_factory=dict)
    matches: CountedMatches | None = None
    most_similar: float = 0.0
    """The largest similarity of any equation of the part."""
    most_similar_other: float = 0.0
    """The largest similarity of an equation of the part that is not equal to the query."""
    is_cut: bool = False
    """Whether the part has more candidates."""
    has_allowed: bool = True
    """Whether any equation passes the filters."""
    refusal: str = ""
    """The error if none of the articles passes the filters."""
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class PartTypes:
    """The types of a part that may be most similar to an equation, best first.

    The front end compares them with the equation.
    """

    keys: Array
    estimates: Array
    count: int
    """The number of such types, of which those that are estimated best are listed."""


@dataclass(frozen=True, slots=True)
class PartRefusal:
    """Why a part cannot answer a question: it asks for nothing, for example."""

    message: str


PartAnswer = PartCandidates | PartTypes | PartRefusal


# ------------------------------------------------------------ ranking


class PartText(TextIndex):
    """The text of a part; what is known of the words of a question comes with the question."""

    given: Mapping[str, WordForms] = {}
    owners: Mapping[str, int] = {}

    def word_forms(self, words: Sequence[str]) -> dict[str, WordForms]:
        """Return how the library writes the words of the question."""
        del words
        return dict(self.given)

    def terms(self, words: Sequence[str]) -> list[Term]:
        """Return the words that the part has, with their weights in the whole library."""
        idfs = {word: float(self._idf(count)) for word, count in self.owners.items()}
        total = sum(idfs.values())
        return [
            replace(term, weight=idfs[term.word] / total)
            for term in super().terms(words)
            if term.word in idfs
        ]


class PartSearch(Search):
    """The index of a part of a library; rows of answers are those of the whole library."""

    def __init__(
        self,
        records: LibraryRecords,
        segments: IndexSegments,
        vectors: Path | None = None,
        first_row: int = 0,
    ) -> None:
        """`first_row` is the row in the library of the first equation of the part."""
        super().__init__(records, segments, vectors)
        self.part_text = PartText(segments)
        self.text = self.part_text
        self._selection = CandidateSelection(segments, self.text)
        self._first_row = first_row
        self._topic: Mapping[str, float] = {}
        self._similar: Mapping[str, SimilarKeys] = {}
        self._refusal = ""

    @cached_property
    def _facets(self) -> Facets:
        return Facets(self.records, self.segments)

    def answer(self, question: PartQuestion) -> PartAnswer:
        """Return the answer of this part."""
        handlers: dict[type, Callable[..., PartAnswer]] = {
            WordsQuestion: self.rank_words,
            TypesQuestion: self.rank_types,
            EquationQuestion: self.rank_equation,
        }
        try:
            return handlers[type(question)](question)
        except UsageError as error:
            return PartRefusal(str(error))

    # ------------------------------------------------------------ words

    def rank_words(self, asked: WordsQuestion) -> PartCandidates:
        """Return the best equations for words."""
        question, by = asked.question, asked.by
        self.part_text.given, self.part_text.owners = asked.forms, asked.owners
        self._similar = asked.similar
        allowed = self.allowed(asked.filters)
        matching = matching_equations(self.text, self.segments.live, question)
        allowed &= matching
        wanted = wanted_parts(by, WORD_PARTS, has_model=self.vectors is not None)
        if by == "meaning" and self.vectors is not None:
            vector = self.vectors.words_vector(question.words)
            rows, cosines = self.vectors.contexts.top(vector, asked.count, allowed)
            return self._nearest(rows, cosines, asked.count)
        notes: list[str] = []
        terms = self.text.terms(question.words)
        depth = max(asked.count, MOST_READ)
        kind = None if asked.filters is None else asked.filters.kind
        scored = self.score_words(question, allowed, wanted, notes, terms, depth=depth, kind=kind)
        has_allowed = bool(allowed.any())
        scope, parts, _ = scored
        allowed = scope.take(allowed)
        weighted, pool = dict(parts), np.empty(0, np.int64)
        if by == "all":
            names_symbol = bool(question.formulas)
            weights = word_weights(self.segments.live_count, names_symbol=names_symbol)
            weighted = apply_weights(parts, weights)
            if not question.formulas:
                weighted = lower_worked_numbers(weighted, scope.take(self.segments.states_numbers))
                total = np.where(scope.take(matching), _total(weighted, scope), np.float32(0))
                pool = top_k(total, POOL_SIZE)
        covered = self.text.coverage(terms, scope)
        kinds = word_kinds(covered, parts.get("structure"), bool(question.words))
        if asked.filters is not None:
            limit_kind(allowed, kinds, asked.filters.kind)
        strengths = None
        if by in ("all", "words", "structure"):
            strengths = self._word_strengths(asked, scored, weighted, covered, pool)
        places, found = self._candidates(scored, weighted, allowed, asked.count, pool)
        return replace(
            found,
            covered=covered[places],
            matches=self._count_matches(weighted, allowed, strengths, kinds, scope),
            has_allowed=has_allowed,
            notes=notes,
        )

    def _word_strengths(
        self,
        asked: WordsQuestion,
        scored: Scored,
        weighted: Mapping[str, Scores],
        covered: Scores,
        pool: Array,
    ) -> Scores | None:
        """Return strengths by which matches are counted.

        Whether answers agree is known to the front end alone. Most equations gain nothing; those
        that gain are counted there.
        """
        scope, parts, _ = scored
        evidence = None
        if asked.question.words and ("words" in parts or "structure" in parts):
            nothing = np.zeros(len(scope), np.float32)
            evidence = word_evidence(parts.get("words", nothing), covered, asked.known)
        if asked.agreed and len(pool):
            least = np.finfo(np.float32).tiny
            agreement = np.full(len(scope), least, np.float32)
            weighted = {**weighted, "agreement": agreement}
        return strength_of_mixture(evidence, parts, weighted, asked.symbols, WEIGHT)

    def _nearest(self, rows: Array, cosines: Scores, count: int) -> PartCandidates:
        allowed = np.ones(len(rows), bool)
        return PartCandidates(
            rows + self._first_row,
            {"meaning": cosines},
            allowed,
            ~allowed,
            is_cut=len(rows) == count,
        )

    # ------------------------------------------------------------ equations

    def rank_types(self, asked: TypesQuestion) -> PartTypes:
        """Return the types that may be most similar to an equation."""
        allowed = self.allowed(asked.filters)
        if asked.words is not None:
            allowed &= matching_equations(self.text, self.segments.live, asked.words)
        types = np.zeros(len(self.structure), bool)
        types[self.types[allowed]] = True
        if is_pattern(asked.layout):
            best, estimates = self.structure.pattern_candidates(asked.layout, types)
            keys = self.segments.type_keys[best[:MAX_TRIED]]
            return PartTypes(keys, estimates[:MAX_TRIED], len(best))
        best, estimates = self.structure.candidates(asked.layout, types, asked.count)
        return PartTypes(self.segments.type_keys[best], estimates, len(best))

    def rank_equation(self, asked: EquationQuestion) -> PartCandidates:
        """Return the equations that are most similar to an equation."""
        allowed, shape, by = self.allowed(asked.filters), asked.layout, asked.by
        self._topic = asked.topic
        self._similar = {} if asked.similar is None else {shape.canonical(): asked.similar}
        if is_pattern(shape):
            parts = {"structure": self.by_equation(self.similar_types(shape, allowed))}
            found = self._candidates(Scored(self.every, parts), parts, allowed, asked.count)[1]
            return replace(found, has_allowed=bool(allowed.any()))
        wanted = wanted_parts(by, EQUATION_PARTS, has_model=self.vectors is not None)
        depth = max(asked.count, MOST_READ)
        kind = None if asked.filters is None else asked.filters.kind
        query = EquationQuery(shape, None)
        scored = self.score_equation(query, allowed, wanted, depth=depth, kind=kind)
        scope, parts, _ = scored
        own = -1 if asked.own_row is None else asked.own_row - self._first_row
        if 0 <= own < len(allowed):
            allowed[own] = False
        has_allowed, allowed = bool(allowed.any()), scope.take(allowed)
        same, equal = self.same_equations(shape), self.structure.rewritten(shape)
        kinds = equation_kinds(scope.places_of(same), scope.places_of(equal), len(scope))
        if asked.filters is not None:
            limit_kind(allowed, kinds, asked.filters.kind)
        weighted = apply_weights(parts, self.equation_weights)
        strengths, most, others = None, 0.0, 0.0
        if "structure" in parts:
            structure, words = parts["structure"], parts.get("words")
            most = float(structure.max(initial=0))
            others = most_similar(structure, scope.without(self.segments.live, same))
            of_library = max(others, _most_similar(asked.similar, shape))
            evidence = equation_evidence(structure, words, _size(shape), of_library)
            strengths = strength_of_equation(evidence)
            raise_equal(strengths, kinds)
        places, found = self._candidates(scored, weighted, allowed, asked.count)
        return replace(
            found,
            kinds={name: mask[places] for name, mask in kinds.items()},
            matches=self._count_matches(weighted, allowed, strengths, kinds, scope),
            most_similar=most,
            most_similar_other=others,
            has_allowed=has_allowed,
        )

    def topic(
        self, query: EquationQuery, found: StructureMatches | None = None, count: int = 0
    ) -> dict[str, float]:
        """Return the topic that came with the question: that of the whole library."""
        del query, found, count
        return dict(self._topic)

    def similar_types(
        self, shape: Layout, allowed: Mask, count: int = MAX_TYPES
    ) -> StructureMatches:
        """Return the types of this part among the most similar ones that came with the question."""
        known = self._similar.get(shape.canonical())
        if known is None:
            return super().similar_types(shape, allowed, count)
        types, places = self.segments.copies(known.keys)
        scores = known.scores[places]
        return StructureMatches(types, scores, scores)

    # ------------------------------------------------------------ candidates

    def allowed(self, filters: Filters | None) -> Mask:
        """Return a mask of the equations that pass; none where no article of the part does."""
        self._refusal = ""
        try:
            return super().allowed(filters)
        except UsageError as error:
            if filters is None:
                raise
            # none of the articles of this part passes, unless another filter is wrong
            super().allowed(replace(filters, collection=None, article=None, year=None))
            self._refusal = str(error)
            return np.zeros(self.segments.equation_count, bool)

    def _is_all(self, allowed: Mask) -> bool:
        """Whether a mask has every equation of the part."""
        return bool(np.array_equal(allowed, self.segments.live))

    def _candidates(
        self,
        scored: Scored,
        weighted: Mapping[str, Scores],
        allowed: Mask,
        count: int,
        pool: Array | None = None,
    ) -> tuple[Array, PartCandidates]:
        """Return the best equations that pass the filters and those that may vote, with scores.

        Masks, `pool` and the first of the results are places of the scope.
        """
        scope, parts, _ = scored
        total = np.where(allowed, _total(weighted, scope), np.float32(0))
        places = top_k(total, count)
        if pool is not None:
            places = np.union1d(places, pool)
        rows = scope.rows_at(places)
        return places, PartCandidates(
            rows + self._first_row,
            {name: scores[places] for name, scores in parts.items()},
            allowed[places],
            self.segments.states_numbers[rows],
            is_cut=int(np.count_nonzero(total > 0)) > count,
            refusal=self._refusal,
        )

    def _count_matches(
        self,
        weighted: Mapping[str, Scores],
        allowed: Mask,
        strengths: Scores | None,
        kinds: Kinds,
        scope: Scope,
    ) -> CountedMatches | None:
        found = matching_rows(weighted, allowed, strengths, kinds, scope)
        if found is None:
            return None
        counts = dict(self._facets.count_all(found))
        counts["section"] = dict(Counter(counts["section"]).most_common(MAX_TITLES))
        return CountedMatches(len(found), counts, found.is_complete)


def _total(weighted: Mapping[str, Scores], scope: Scope) -> Scores:
    total: Scores = sum(weighted.values(), np.zeros(len(scope), np.float32))
    return total


def _most_similar(similar: SimilarKeys | None, shape: Layout) -> float:
    """Return the largest score of a type that is not that of the equation."""
    if similar is None:
        return 0.0
    return most_similar(similar.scores, similar.keys != key(shape.canonical()))


def _size(shape: Layout) -> int:
    return len(shape.nodes())
