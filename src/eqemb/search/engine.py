"""Search a library: equations for words, and equations similar to an equation.

The ranking is a weighted sum of what `scoring` says of each equation, to which the answers to words
add what they agree on (`voting`); `by` selects a single part. NumPy only, so that a cold start is
fast.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from eqemb.article import Equation
from eqemb.errors import UsageError
from eqemb.formula import layout
from eqemb.formula.pattern import is_pattern
from eqemb.index.encoder import EncoderIndex
from eqemb.index.stemming import stem
from eqemb.index.text_index import TextIndex
from eqemb.search.combination import (
    EQUATION_PARTS,
    WORD_PARTS,
    apply_weights,
    check_words,
    is_telling,
    wanted_parts,
)
from eqemb.search.filtering import filter_notes, matching_equations
from eqemb.search.match_kinds import (
    SAME_EQUATION,
    CountedMatches,
    Kinds,
    Matches,
    equation_kinds,
    with_row,
    word_kinds,
)
from eqemb.search.names import find_equation, looks_like_name
from eqemb.search.paper import NO_VECTOR
from eqemb.search.query import Filters, WordQuery, parse_query
from eqemb.search.results import Answer, Hit
from eqemb.search.scoring import MAX_TYPES, Mask, Scored, Scores, Scoring
from eqemb.search.selection import MOST_READ, is_deep_enough
from eqemb.search.spelling import repair_spelling
from eqemb.search.typed_equation import EquationQuery, read_typed_equation, typed_notes
from eqemb.search.vector_notes import vector_notes

#: The note on an answer to `similar` that was asked for words.
AS_WORDS = "not one equation alone: answered as a search for words"
#: The note on an answer to a formula that is a single symbol.
ONE_SYMBOL = "a single symbol tells little: add to it, or require it in a search (`has`)"


class _Weighed(NamedTuple):
    """What each part adds to the scores of a scope, strengths, and kinds of matches."""

    weighted: Mapping[str, Scores]
    strengths: Scores | None
    kinds: Kinds


class Search(Scoring):
    """The index of a library, opened for queries."""

    def rows(self) -> dict[str, int]:
        """Return the row of every equation, by name."""
        rows = np.flatnonzero(self.segments.live).tolist()
        return dict(zip(self.records.equation_names(), rows, strict=True))

    def with_text(self, text: TextIndex) -> "Search":
        """Return the same search over another text index, for evaluations."""
        other = Search(self.records, self.segments)
        other.text = text
        return other

    # ------------------------------------------------------------ words -> equations

    def search_words(
        self,
        query: str,
        k: int = 10,
        *,
        by: str = "all",
        filters: Filters | None = None,
        encoder: EncoderIndex | None = None,
    ) -> Answer:
        """Find equations for words, phrases and formulas.

        The name of an equation finds that equation and similar ones.
        """
        allowed = self.allowed(filters)
        if named := self.find_named(query):
            return self._search_name(query, named, k, by, filters, allowed, encoder)
        question = self.read_query(query)
        if question.formula is not None and by in ("all", "structure", "encoder"):
            equation = self.read_equation(query, encoder)
            return self.search_equation(equation, k, by=by, filters=filters)
        check_words(question, by)
        matching = matching_equations(self.text, self.segments.live, question)
        allowed &= matching
        terms = self.text.terms(question.words)
        found = {stem(term.word) for term in terms}
        unknown = [word for word in dict.fromkeys(question.words) if stem(word) not in found]
        near = {word: some for word in unknown if (some := self.text.suggest_spellings(word))}
        notes = [*question.notes, *filter_notes(allowed)]
        known = [word for word in question.words if word not in unknown]
        if known and not question.formulas and not any(map(is_telling, known)):
            notes.append(f"too common to tell equations apart: {', '.join(known)}")
            return Answer([], unknown, near, notes, question.words, question)
        wanted = wanted_parts(by, WORD_PARTS, has_model=self.vectors is not None)
        if by == "meaning" and self.vectors is not None:
            vector = self.vectors.words_vector(question.words)
            index = self.vectors.contexts
            hits = self.hits.nearest(index, vector, k, self._only(allowed))
            notes += [index.note] if index.note else []
            notes += vector_notes(question.words, unknown, self.vectors, self.model)
            return Answer(hits, unknown, near, notes, question.words, question)
        depth = MOST_READ if encoder is None else None  # its part of the score comes later
        kind = None if filters is None else filters.kind
        scored = self.score_words(question, allowed, wanted, notes, terms, depth=depth, kind=kind)
        if by == "paper":
            notes += self.paper.notes(self.types[allowed], question.words)
        covered = self.text.coverage(terms, scored.scope)

        def weigh(scored: Scored) -> _Weighed:
            scope, parts, _ = scored
            if encoder is not None and question.words and by in ("all", "encoder"):
                parts["encoder"] = scope.take(encoder.scores(" ".join(question.words)))
            weighted: Mapping[str, Scores] = parts
            if by == "all":
                weighted = self.weigh_words(question, parts, scope.take(matching), scope)
            strengths = None
            if by in ("all", "words", "structure"):
                strengths = self.word_strengths(question, scored, weighted, terms, len(unknown))
            return _Weighed(
                weighted,
                strengths,
                word_kinds(covered, parts.get("structure"), bool(question.words)),
            )

        hits, matches = self._best(scored, weigh, k, allowed, filters)
        return Answer(hits, unknown, near, notes, question.words, question, matches)

    def _best(
        self,
        scored: Scored,
        weigh: Callable[[Scored], "_Weighed"],
        k: int,
        allowed: Mask,
        filters: Filters | None,
    ) -> tuple[list[Hit], Matches | None]:
        """Return the best equations and all that match; what was scored is changed."""
        scope = scored.scope
        while True:
            weighted, strengths, kinds = weigh(scored)
            passing = scope.take(allowed)
            found = self.hits.matching(weighted, k, passing, strengths, kinds, filters, scope)
            scores = [hit.score for hit in found[0]]
            if scored.late is None:
                return found
            unread, score = scored.late
            if is_deep_enough(weighted.values(), passing, scores, k, unread):
                return found
            scored = score()

    def read_query(self, query: str) -> WordQuery:
        """Parse a query, and repair its misspelt words."""
        return repair_spelling(parse_query(query), self.text)

    def _search_name(
        self,
        query: str,
        named: Equation,
        k: int,
        by: str,
        filters: Filters | None,
        allowed: Mask,
        encoder: EncoderIndex | None,
    ) -> Answer:
        """Find a named equation, if the filters allow it, and similar ones."""
        found = self.search_similar(query, k, by=by, filters=filters, encoder=encoder)
        if not allowed[self.row(named)] or (filters and filters.kind not in (None, SAME_EQUATION)):
            return found
        itself = self.hits.hit(self.row(named), {"structure": 1.0}, 1.0)
        hits = [itself, *(hit for hit in found if named.id not in hit.family)][:k]
        return replace(found, hits=hits, matches=self._with_row(found.matches, self.row(named)))

    def _with_row(
        self, found: Matches | CountedMatches | None, row: int
    ) -> Matches | CountedMatches | None:
        """Return matches with one more equation, which is equal to the query."""
        return with_row(found, row) if isinstance(found, Matches) else found

    def find_named(self, query: str) -> Equation | None:
        """Return the equation that a query names; None if it is words or a formula."""
        try:
            return find_equation(self.records, query)
        except UsageError:
            if looks_like_name(query):
                raise
            return None  # words that start like an article's name

    # ------------------------------------------------------------ equation -> equations

    def search_similar(
        self,
        query: str,
        k: int = 10,
        *,
        by: str = "all",
        filters: Filters | None = None,
        encoder: EncoderIndex | None = None,
    ) -> Answer:
        """Find equations similar to a name or a formula; with wildcards, those that match it.

        Words, or words with formulas, are searched as `search_words` does.
        """
        if find_equation(self.records, query) is None:
            question = parse_query(query)
            if question.formula is None and (question.words or question.formulas):
                found = self.search_words(query, k, by=by, filters=filters, encoder=encoder)
                return replace(found, notes=[AS_WORDS, *found.notes]) if found.hits else found
        return self.search_equation(self.read_equation(query, encoder), k, by=by, filters=filters)

    def search_equation(
        self,
        query: EquationQuery,
        k: int = 10,
        *,
        by: str = "all",
        filters: Filters | None = None,
    ) -> Answer:
        """Find equations similar to a parsed equation."""
        allowed = self.allowed(filters)
        wanted = wanted_parts(by, EQUATION_PARTS, has_model=self.vectors is not None)
        # with structure alone, no other part can fill a long answer
        is_long = 4 * k > MAX_TYPES and (by == "structure" or is_pattern(query.layout))
        count = len(self.structure) if is_long else MAX_TYPES
        if is_pattern(query.layout):
            found = self.similar_types(query.layout, allowed, count)
            hits = self.hits.best({"structure": self.by_equation(found)}, k, allowed)
            notes = [found.note] if found.note else []
            notes += [*filter_notes(allowed), *typed_notes(query.layout, query.reading)]
            return Answer(hits, notes=notes, reading=query.reading)
        if (
            by == "meaning"
            and self.vectors is not None
            and not self.vectors.equation_vector(query.layout).any()
        ):
            raise UsageError(NO_VECTOR)
        kind = None if filters is None else filters.kind
        scored = self.score_equation(query, allowed, wanted, count, depth=MOST_READ, kind=kind)
        scope = scored.scope
        if query.equation is not None:
            allowed[self.row(query.equation)] = False
        notes = self.paper.notes(self.types[allowed]) if by == "paper" else []
        notes += filter_notes(allowed)
        if query.equation is None:
            notes += typed_notes(query.layout, query.reading)
        same, equal = self.same_equations(query.layout), self.structure.rewritten(query.layout)
        kinds = equation_kinds(scope.places_of(same), scope.places_of(equal), len(scope))

        def weigh(scored: Scored) -> _Weighed:
            parts = scored.parts
            if by == "all" and query.equation is None and not parts["structure"].any():
                parts = {}  # other parts alone would find equations that share no symbol with it
            strengths = self.equation_strengths(
                query, parts, scope.without(self.segments.live, same)
            )
            return _Weighed(apply_weights(parts, self.equation_weights), strengths, kinds)

        hits, matches = self._best(scored, weigh, k, allowed, filters)
        if hits and len(query.layout.nodes()) == 1 and query.equation is None:
            notes.append(ONE_SYMBOL)
        return Answer(hits, notes=notes, reading=query.reading, matches=matches)

    def read_equation(self, query: str, encoder: EncoderIndex | None = None) -> EquationQuery:
        """Parse a query that is the name of an equation, or a formula."""
        named = find_equation(self.records, query)
        if named is not None:
            return EquationQuery(layout(named.expanded), named, encoder=encoder)
        shape, question = read_typed_equation(query)
        return EquationQuery(shape, None, question, encoder)

    def rank_scores(
        self,
        scores: Scores,
        k: int,
        filters: Filters | None = None,
        *,
        part: str = "meaning",
        excluded: Sequence[int] = (),
    ) -> list[Hit]:
        """Return the best equations by given scores, without the excluded rows."""
        allowed = self.allowed(filters)
        allowed[list(excluded)] = False
        return self.hits.best({part: scores}, k, allowed)

    def equation(self, row: int) -> tuple[Equation, str]:
        """Return the equation of a row, with its article's title."""
        return self.hits.equation(row)

    def name(self, row: int) -> str:
        """Return the name of the equation of a row."""
        return self.hits.name(row)
