"""Search a library: equations for words, and equations similar to an equation.

Parts score every equation, each from 0 to 1: *words*, BM25 over the words of an equation
(`index.text`); *meaning*, the cosine of vectors of the library's own model (`index.vectors`);
*base*, that of the model that comes with eqemb (`index.base_vectors`); *structure*, the likeness of
two equations symbol by symbol and the units that both have (`index.structure`); *definitions*, what
the symbols of an equation mean (`defined`). The ranking is a weighted sum of them, to which the
answers to words add what they agree on (`voting`); `by` selects a single part. An equation given as
a query has few words of its own, so the words that the most similar equations have in common are
used instead. NumPy only, so that a cold start is fast.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqemb.article import Equation
from eqemb.errors import UsageError
from eqemb.formula import Layout, layout
from eqemb.formula.pattern import is_pattern, read_pattern
from eqemb.formula.shapes import key
from eqemb.index.base_vectors import BaseVectors
from eqemb.index.definitions import DefinitionIndex
from eqemb.index.encoder import EncoderIndex
from eqemb.index.segments import IndexSegments
from eqemb.index.stemming import stem
from eqemb.index.structure import EQUAL_SCORE, StructureIndex, StructureMatches
from eqemb.index.text_index import Term, TextIndex
from eqemb.index.vectors import VectorSpace
from eqemb.library.database import LibraryRecords
from eqemb.models.embeddings import Embeddings
from eqemb.search.combination import (
    EQUATION_PARTS,
    WORD_PARTS,
    apply_weights,
    check_words,
    equation_weights,
    is_telling,
    lower_worked_numbers,
    wanted_parts,
    word_weights,
)
from eqemb.search.defined import defined_part, shared_meanings
from eqemb.search.filtering import allowed_equations, filter_notes, matching_equations
from eqemb.search.hits import HitReader
from eqemb.search.match_kinds import SAME_EQUATION, equation_kinds, with_row, word_kinds
from eqemb.search.names import find_equation, looks_like_name
from eqemb.search.paper import NO_MODEL, NO_VECTOR, PaperRanking
from eqemb.search.query import Filters, WordQuery, parse_query
from eqemb.search.results import Answer, Hit
from eqemb.search.spelling import repair_spelling
from eqemb.search.strength import (
    equation_evidence,
    strength_of_equation,
    strength_of_mixture,
    word_evidence,
)
from eqemb.search.typed_equation import EquationQuery, read_typed_equation, typed_notes
from eqemb.search.voting import WEIGHT, agreement

#: The topic of an equation: the words that this many similar types have in common, how many words,
#: and the power of its score by which each type is trusted.
TOPIC_TYPES, TOPIC_WORDS, TOPIC_TRUST = 20, 10, 4
#: The note on an answer to `similar` that was asked for words.
AS_WORDS = "not one equation alone: answered as a search for words"
#: The note on an answer to a formula that is a single symbol.
ONE_SYMBOL = "a single symbol tells little: add to it, or require it in a search (`has`)"
#: Types that the structure index returns.
MAX_TYPES = 200

Scores = NDArray[np.float32]
Mask = NDArray[np.bool_]


class Search:
    """The index of a library, opened for queries."""

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

    @cached_property
    def vectors(self) -> VectorSpace | None:
        """The vectors of the index; None where the library has no model."""
        return None if self._vectors is None else VectorSpace(self.segments, self._vectors)

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
    def articles(self) -> NDArray[Any]:
        """The id of each equation's article."""
        return self.segments.articles

    @property
    def types(self) -> NDArray[Any]:
        """The type of each equation."""
        return self.segments.types

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
        allowed = self._allowed(filters)
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
            hits = self.hits.nearest(self.vectors.contexts, vector, k, allowed)
            return Answer(hits, unknown, near, notes, question.words, question)
        parts = self.parts_for_words(question, allowed, wanted, notes, terms)
        if encoder is not None and question.words and by in ("all", "encoder"):
            parts["encoder"] = encoder.scores(" ".join(question.words))
        if by == "paper":
            notes += self.paper.notes(self.types[allowed], question.words)
        weighted = self.weigh_words(question, parts, matching) if by == "all" else parts
        strengths = None
        if by in ("all", "words", "structure"):
            strengths = self.word_strengths(question, parts, weighted, terms, len(unknown))
        kinds = word_kinds(self.text.coverage(terms), parts.get("structure"), bool(question.words))
        hits, matches = self.hits.matching(weighted, k, allowed, strengths, kinds, filters)
        return Answer(hits, unknown, near, notes, question.words, question, matches)

    def weigh_words(
        self, question: WordQuery, parts: Mapping[str, Scores], matching: Mask
    ) -> dict[str, Scores]:
        """Return what each part adds to the scores for words; agreement adds to their sum."""
        count, names_symbol = self.segments.live_count, bool(question.formulas)
        weighted = apply_weights(parts, word_weights(count, names_symbol=names_symbol))
        if not question.formulas:
            weighted = lower_worked_numbers(weighted, self.segments.states_numbers)
        if weighted and not question.formulas:
            total = np.where(matching, sum(weighted.values()), np.float32(0))
            found = agreement(total, self.segments, self.structure, self.records)
            weighted["agreement"] = found
        return weighted

    def word_strengths(
        self,
        question: WordQuery,
        parts: Mapping[str, Scores],
        weighted: Mapping[str, Scores],
        terms: Sequence[Term],
        unknown: int,
    ) -> Scores | None:
        """Return the strength of every equation for words; with formulas, the mean of both."""
        evidence = None
        if question.words and ("words" in parts or "structure" in parts):
            nothing = np.zeros(self.segments.equation_count, np.float32)
            known = self.text.known_share(terms, unknown)
            covered = self.text.coverage(terms)
            evidence = word_evidence(parts.get("words", nothing), covered, known)
        symbols = sum(len(read_pattern(latex).nodes()) for latex in question.formulas)
        return strength_of_mixture(evidence, parts, weighted, symbols, WEIGHT)

    def equation_strengths(
        self, query: EquationQuery, parts: Mapping[str, Scores]
    ) -> Scores | None:
        """Return the strength of every equation for an equation; None without structure."""
        if "structure" not in parts:
            return None
        symbols = len(query.layout.nodes())
        evidence = equation_evidence(parts["structure"], parts.get("words"), symbols)
        return strength_of_equation(evidence)

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
        return replace(found, hits=hits, matches=with_row(found.matches, self.row(named)))

    def find_named(self, query: str) -> Equation | None:
        """Return the equation that a query names; None if it is words or a formula."""
        try:
            return find_equation(self.records, query)
        except UsageError:
            if looks_like_name(query):
                raise
            return None  # words that start like an article's name

    def parts_for_words(
        self,
        question: WordQuery,
        allowed: Mask,
        wanted: Container[str],
        notes: list[str] | None = None,
        terms: list[Term] | None = None,
    ) -> dict[str, Scores]:
        """Return the scores of every equation by each wanted part, from 0 to 1.

        What was not searched is added to `notes`. `terms` are those of the query, if they were
        looked up already.
        """
        parts: dict[str, Scores] = {}
        if "words" in wanted and (terms := terms or self.text.terms(question.words)):
            parts["words"] = self.text.score_words(question.words, terms)
        if self.vectors is not None and "meaning" in wanted:
            vector = self.vectors.words_vector(question.words)
            if vector.any():
                parts["meaning"] = self.vectors.contexts.scores(vector)
        if "base" in wanted and ("words" not in wanted or "words" in parts):
            # it ranks what the words find, and finds nothing without them
            by_words = parts.get("words", self.segments.live) > 0
            if (likely := self.base.rank(question.words, self.types, by_words)) is not None:
                parts["base"] = likely
        if "definitions" in wanted and question.words:
            parts |= defined_part(self.definitions, self.text, question)
        if question.formulas and "structure" in wanted:
            shapes = {latex: read_pattern(latex) for latex in question.formulas}  # each once
            found = {latex: self.similar_types(each, allowed) for latex, each in shapes.items()}
            scores = {latex: self._by_equation(one) for latex, one in found.items()}
            parts["structure"] = np.mean([scores[each] for each in question.formulas], axis=0)
            if notes is not None:
                notes += [one.note for one in found.values() if one.note]
                notes += [note for each in shapes.values() for note in typed_notes(each, None)]
        if "paper" in wanted:
            parts["paper"] = self.paper.equations_for(question.words)[self.types]
        return parts

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
        allowed = self._allowed(filters)
        wanted = wanted_parts(by, EQUATION_PARTS, has_model=self.vectors is not None)
        # with structure alone, no other part can fill a long answer
        is_long = 4 * k > MAX_TYPES and (by == "structure" or is_pattern(query.layout))
        count = len(self.structure) if is_long else MAX_TYPES
        if is_pattern(query.layout):
            found = self.similar_types(query.layout, allowed, count)
            hits = self.hits.best({"structure": self._by_equation(found)}, k, allowed)
            notes = [found.note] if found.note else []
            notes += [*filter_notes(allowed), *typed_notes(query.layout, query.reading)]
            return Answer(hits, notes=notes, reading=query.reading)
        if (
            by == "meaning"
            and self.vectors is not None
            and not self.vectors.equation_vector(query.layout).any()
        ):
            raise UsageError(NO_VECTOR)
        parts = self.parts_for_equation(query, allowed, wanted, count)
        if query.equation is not None:
            allowed[self.row(query.equation)] = False
        notes = self.paper.notes(self.types[allowed]) if by == "paper" else []
        notes += filter_notes(allowed)
        if by == "all" and query.equation is None and not parts["structure"].any():
            parts = {}  # other parts alone would find equations that share no symbol with it
        if query.equation is None:
            notes += typed_notes(query.layout, query.reading)
        strengths = self.equation_strengths(query, parts)
        weighted = apply_weights(parts, self.equation_weights)
        same, equal = self.same_equations(query.layout), self.structure.rewritten(query.layout)
        kinds = equation_kinds(same, equal, len(allowed))
        hits, matches = self.hits.matching(weighted, k, allowed, strengths, kinds, filters)
        if hits and len(query.layout.nodes()) == 1 and query.equation is None:
            notes.append(ONE_SYMBOL)
        return Answer(hits, notes=notes, reading=query.reading, matches=matches)

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
        parts: dict[str, Scores] = {}
        found = None
        if "structure" in wanted:
            found = self.similar_types(query.layout, allowed, count)
            parts["structure"] = self._by_equation(found)
        # the topic of an equation does not depend on the filters
        unfiltered = found if self._is_all(allowed) else None
        if "words" in wanted and (topic := self.topic(query, unfiltered)):
            parts["words"] = self.text.score_stems(topic)
        if self.vectors is not None and self.vectors.types is not None and "meaning" in wanted:
            vector = self.vectors.equation_vector(query.layout)
            if vector.any() or self.vectors.has_units:
                parts["meaning"] = self.vectors.types.scores(vector).take(self.types)
        if query.encoder is not None and "encoder" in wanted:
            parts["encoder"] = query.encoder.formula_scores(query.layout.latex)
        if "base" in wanted:
            parts["base"] = self.base.like_equation(query.layout).take(self.types)
        if query.meanings and "definitions" in wanted:
            parts["definitions"] = shared_meanings(self.definitions, query.meanings)
        same = self.same_equations(query.layout)
        if "paper" in wanted:
            units = ["\t".join(unit) for unit in query.layout.units()]
            kind = int(self.types[same[0]]) if len(same) else None
            vector = self.paper.alpha(kind, units)
            parts["paper"] = self.paper.equations_like(vector)[self.types]
        equal = self.structure.rewritten(query.layout)
        for scores in parts.values():  # equal equations score 1, whatever words are around them
            scores[equal] = EQUAL_SCORE
            scores[same] = 1.0
        return parts

    def same_equations(self, shape: Layout) -> NDArray[Any]:
        """Return the rows of the equations that are equal to an equation, in order."""
        return self.segments.equations_of_key(key(shape.canonical()))

    def read_equation(self, query: str, encoder: EncoderIndex | None = None) -> EquationQuery:
        """Parse a query that is the name of an equation, or a formula."""
        named = find_equation(self.records, query)
        if named is not None:
            return EquationQuery(layout(named.expanded), named, encoder=encoder)
        shape, question = read_typed_equation(query)
        return EquationQuery(shape, None, question, encoder)

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

    def _is_all(self, allowed: Mask) -> bool:
        """Whether a mask has every equation of the library."""
        return int(allowed.sum()) == self.segments.live_count

    def similar_types(
        self, shape: Layout, allowed: Mask, count: int = MAX_TYPES
    ) -> StructureMatches:
        """Return the types most similar to an equation, of those with an allowed equation."""
        types = None
        if not self._is_all(allowed):
            types = np.zeros(len(self.structure), bool)
            types[self.types[allowed]] = True
        return self.structure.find(shape, types, count)

    def _by_equation(self, found: StructureMatches) -> Scores:
        """Convert scores of types to scores of equations, 0 for types that are not listed."""
        scores = np.zeros(len(self.structure), np.float32)
        types, places = self.segments.copies(self.segments.type_keys[found.types])
        scores[types] = found.scores[places]
        return scores.take(self.types)

    def _allowed(self, filters: Filters | None) -> Mask:
        """Return a mask of the equations that pass the filters."""
        return allowed_equations(self.records, self.segments, self.structure, filters)

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
        allowed = self._allowed(filters)
        allowed[list(excluded)] = False
        return self.hits.best({part: scores}, k, allowed)

    def equation(self, row: int) -> tuple[Equation, str]:
        """Return the equation of a row, with its article's title."""
        return self.hits.equation(row)

    def name(self, row: int) -> str:
        """Return the name of the equation of a row."""
        return self.hits.name(row)
