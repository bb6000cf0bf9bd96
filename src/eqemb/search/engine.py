"""Search a library: equations for words, and equations similar to an equation.

Three parts score every equation, each from 0 to 1: *words*, BM25 over the words of an equation
(`index.text`); *meaning*, the cosine of vectors (`index.vectors`); *structure*, the likeness of two
equations symbol by symbol (`index.structure`). The ranking is a weighted sum of them; `by` selects
a single part. An equation given as a query has few words of its own, so the words that the most
similar equations have in common are used instead. NumPy only, so that a cold start is fast.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.article import Equation, read_tokens
from eqemb.corpus.vocabulary import STOP_WORDS
from eqemb.errors import UsageError
from eqemb.formula import Layout, layout
from eqemb.formula.pattern import is_pattern, read_pattern
from eqemb.index.encoder import EncoderIndex
from eqemb.index.postings import KeyedPostings, first_occurrences, in_every, load_array, top_k
from eqemb.index.stemming import stem
from eqemb.index.structure import StructureIndex, StructureMatches
from eqemb.index.text import Term, TextIndex
from eqemb.index.vector_index import VectorIndex
from eqemb.index.vectors import VectorSpace
from eqemb.library.database import Records
from eqemb.models.embeddings import Embeddings
from eqemb.search.names import find_equation, looks_like_name
from eqemb.search.paper import NO_MODEL, NO_VECTOR, PaperRanking
from eqemb.search.query import Filters, WordQuery, check_ranking, parse_query
from eqemb.search.results import Answer, Hit
from eqemb.sources.names import arxiv_id

#: The weight of each part, for a query in words and for one that is an equation.
WORD_PARTS = {"words": 1.0, "meaning": 0.1, "structure": 1.0, "encoder": 0.5}
EQUATION_PARTS = {"structure": 1.0, "words": 1.5, "meaning": 0.05}
#: The topic of an equation: the words that this many similar types have in common, how many words,
#: and the power of its likeness by which each type is trusted.
TOPIC_TYPES, TOPIC_WORDS, TOPIC_TRUST = 20, 10, 8
#: Types that the structure index returns.
MAX_TYPES = 200

Scores = NDArray[np.float32]
Mask = NDArray[np.bool_]


class EquationQuery(NamedTuple):
    """A query that is an equation."""

    layout: Layout
    equation: Equation | None
    """The equation of the library, if the query named one."""


class Search:
    """The index of a library, opened for queries."""

    def __init__(
        self,
        records: Records,
        folder: Path,
        model: Callable[[], Embeddings | None] = lambda: None,
    ) -> None:
        """`model` opens the library's own model, for rankings that need more than the index."""
        self.records, self._folder, self._open_model = records, folder, model
        # article, ordinal, type, section, numbered
        self._equations = load_array(folder, "equations")
        self.text = TextIndex(folder)
        self.structure = StructureIndex(records, folder)

    @cached_property
    def vectors(self) -> VectorSpace | None:
        """The vectors of the index; None where the library has no model."""
        if not VectorSpace.exists(self._folder):
            return None
        return VectorSpace(self.records, self._folder, self.text)

    @cached_property
    def model(self) -> Embeddings | None:
        """The library's own model; None where it has none."""
        return self._open_model()

    @cached_property
    def paper(self) -> PaperRanking:
        """The ranking of the paper by the library's model."""
        if self.model is None:
            raise UsageError(NO_MODEL)
        return PaperRanking(self._folder, self.model)

    @property
    def articles(self) -> NDArray[Any]:
        """The id of each equation's article."""
        column: NDArray[Any] = self._equations[:, 0]
        return column

    @cached_property
    def types(self) -> NDArray[Any]:
        """The type of each equation."""
        return np.ascontiguousarray(self._equations[:, 2])

    def with_text(self, text: TextIndex) -> "Search":
        """Return the same search over another text index, for evaluations that leave out fields."""
        other = Search(self.records, self._folder)
        other.text = text
        return other

    def names(self) -> list[str]:
        """Return the names of all equations, in order."""
        return self.records.equation_names()

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
            return self._search_name(query, named, k, by, filters, allowed)
        question = parse_query(query)
        _check_query(question, by)
        for phrase in question.excluded:
            allowed &= ~self.text.has_phrase(phrase)
        for phrase in question.phrases:
            allowed &= self.text.has_phrase(phrase)
        terms = self.text.terms(question.words)
        found = {stem(term.word) for term in terms}
        unknown = [word for word in dict.fromkeys(question.words) if stem(word) not in found]
        near = {word: some for word in unknown if (some := self.text.suggest_spellings(word))}
        notes = _filter_notes(allowed)
        known = [word for word in question.words if word not in unknown]
        if known and all(word in STOP_WORDS for word in known) and not question.formulas:
            notes.append(f"too common to tell equations apart: {', '.join(known)}")
        wanted = _wanted(by, WORD_PARTS, has_model=self.vectors is not None)
        if by == "meaning" and self.vectors is not None:
            vector = self.vectors.words_vector(question.words)
            hits = self._nearest_hits(self.vectors.contexts, vector, k, allowed)
            return Answer(hits, unknown, near, notes, question.words)
        parts = self.parts_for_words(question, allowed, wanted, notes, terms)
        if encoder is not None and question.words and by in ("all", "encoder"):
            parts["encoder"] = encoder.scores(" ".join(question.words))
        if by == "paper":
            notes += self.paper.notes(self.types[allowed], question.words)
        hits = self._top_hits(apply_weights(parts, WORD_PARTS), k, allowed)
        return Answer(hits, unknown, near, notes, question.words)

    def _search_name(
        self,
        query: str,
        named: Equation,
        k: int,
        by: str,
        filters: Filters | None,
        allowed: Mask,
    ) -> Answer:
        """Find a named equation, if the filters allow it, and similar ones."""
        found = self.search_similar(query, k, by=by, filters=filters)
        if not allowed[self.row(named)]:
            return found
        itself = self._hit(self.row(named), {"structure": 1.0})
        others = (hit for hit in found if named.id not in hit.family)
        return replace(found, hits=[itself, *others][:k])

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
            parts["words"] = self.text.score_terms(terms)
        if self.vectors is not None and "meaning" in wanted:
            vector = self.vectors.words_vector(question.words)
            if vector.any():
                parts["meaning"] = self.vectors.contexts.scores(vector)
        if question.formulas and "structure" in wanted:
            shapes = [read_pattern(latex) for latex in question.formulas]
            found = [self.similar_types(shape, allowed) for shape in shapes]
            parts["structure"] = np.mean([self._by_equation(one) for one in found], axis=0)
            if notes is not None:
                notes += [one.note for one in found if one.note]
                notes += [note for shape in shapes for note in _parse_notes(shape)]
        if "paper" in wanted:
            parts["paper"] = self.paper.equations_for(question.words)[self.types]
        return parts

    # ------------------------------------------------------------ equation -> equations

    def search_similar(
        self, query: str, k: int = 10, *, by: str = "all", filters: Filters | None = None
    ) -> Answer:
        """Find equations similar to a name or LaTeX; with wildcards, those that match it."""
        return self.search_equation(self.read_equation(query), k, by=by, filters=filters)

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
        wanted = _wanted(by, EQUATION_PARTS, has_model=self.vectors is not None)
        # with structure alone, no other part can fill a long answer
        is_long = 4 * k > MAX_TYPES and (by == "structure" or is_pattern(query.layout))
        count = len(self.structure) if is_long else MAX_TYPES
        if is_pattern(query.layout):
            found = self.similar_types(query.layout, allowed, count)
            hits = self._top_hits({"structure": self._by_equation(found)}, k, allowed)
            notes = [found.note] if found.note else []
            return Answer(
                hits, notes=[*notes, *_filter_notes(allowed), *_parse_notes(query.layout)]
            )
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
        notes += _filter_notes(allowed)
        if query.equation is None:
            notes += _parse_notes(query.layout)
        return Answer(self._top_hits(apply_weights(parts, EQUATION_PARTS), k, allowed), notes=notes)

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
        unfiltered = found if allowed.all() else None
        if "words" in wanted and (topic := self.topic(query, unfiltered)):
            parts["words"] = self.text.score_stems(topic)
        if self.vectors is not None and self.vectors.types is not None and "meaning" in wanted:
            vector = self.vectors.equation_vector(query.layout)
            if vector.any() or self.vectors.has_units:
                parts["meaning"] = self.vectors.types.scores(vector).take(self.types)
        same = self.records.type_of(query.layout.canonical())
        if "paper" in wanted:
            units = ["\t".join(unit) for unit in query.layout.units()]
            vector = self.paper.alpha(same, units, self.vectors)
            parts["paper"] = self.paper.equations_like(vector)[self.types]
        if same is not None:  # equal equations score 1, whatever words are around them
            equal = np.flatnonzero(self.types == same)
            for scores in parts.values():
                scores[equal] = 1.0
        return parts

    def read_equation(self, query: str) -> EquationQuery:
        """Parse a query that is the name of an equation, or LaTeX."""
        named = find_equation(self.records, query)
        shape = layout(named.expanded) if named else read_pattern(query)
        if shape.root is None:
            raise UsageError(f"{query!r} contains no symbol to search for: give LaTeX")
        return EquationQuery(shape, named)

    def topic(
        self,
        query: EquationQuery,
        found: StructureMatches | None = None,
        count: int = TOPIC_WORDS,
    ) -> dict[int, float]:
        """Return the weighted stems that describe an equation and its most similar ones best."""
        found = found or self.structure.find(query.layout, count=TOPIC_TYPES)
        own = [] if query.equation is None else [self.row(query.equation)]
        scores = found.scores[:TOPIC_TYPES]
        trust = [1.0] * len(own) + [float(score) ** TOPIC_TRUST for score in scores]
        similar = [int(self._first_of_type[kind]) for kind in found.types[:TOPIC_TYPES]]
        return self.text.topic([*own, *similar], trust, count)

    @cached_property
    def _first_of_type(self) -> NDArray[Any]:
        return first_occurrences(self.types)

    def row(self, equation: Equation) -> int:
        """Return the row of an equation in the index.

        A skipped source may share the name of an article, so only articles are looked up.
        """
        key = self.records.key(equation.article)
        if key is None:
            raise UsageError(f"no article {equation.article!r} in this library")
        first = int(np.searchsorted(self._equations[:, 0], key))
        return first + equation.ordinal - 1

    def similar_types(
        self, shape: Layout, allowed: Mask, count: int = MAX_TYPES
    ) -> StructureMatches:
        """Return the types most similar to an equation, of those with an allowed equation."""
        types = None
        if not allowed.all():
            types = np.zeros(len(self.structure), bool)
            types[self.types[allowed]] = True
        return self.structure.find(shape, types, count)

    def _by_equation(self, found: StructureMatches) -> Scores:
        """Convert scores of types to scores of equations, 0 for types that are not listed."""
        scores = np.zeros(len(self.structure), np.float32)
        scores[found.types] = found.scores
        return scores.take(self.types)

    # ------------------------------------------------------------ filters

    def _allowed(self, filters: Filters | None) -> Mask:
        """Return a mask of the equations that pass the filters."""
        allowed = np.ones(len(self._equations), bool)
        if filters is None:
            return allowed
        articles = self._filter_articles(filters)
        if articles is not None:
            allowed &= np.isin(self._equations[:, 0], articles)
        if filters.numbered:
            allowed &= self._equations[:, 4] == 1
        if filters.section is not None:
            wanted = {stem(word) for word in read_tokens(filters.section)[0]}
            if not wanted:
                raise UsageError(f"the section filter {filters.section!r} contains no word")
            titles, section = KeyedPostings(self._folder, "sections"), self._equations[:, 3]
            owners = (titles.owners(word) for word in wanted)
            allowed &= in_every(owners, int(section.max(initial=-1)) + 1)[section]
        for latex in filters.has:
            allowed &= self.structure.containing(layout(latex))[self.types]
        return allowed

    def _filter_articles(self, filters: Filters) -> list[int] | None:
        """Return the ids of the articles that pass the filters; None for all."""
        if filters.collection is None and filters.article is None and filters.year is None:
            return None
        years = filters.years if filters.year is not None else None
        found = [
            key
            for key, name, group in self.records.article_ids()
            if (filters.collection is None or group == filters.collection)
            and (filters.article is None or name == filters.article)
            and (years is None or _year(name) in years)
        ]
        if not found:
            if filters.year is not None:
                raise UsageError(f"no paper of the library has an arXiv id of {filters.year}")
            wanted = filters.collection or filters.article
            raise UsageError(f"no paper of the library is in {wanted!r}: `eqemb info` lists them")
        return found

    # ------------------------------------------------------------ hits

    def _top_hits(self, parts: Mapping[str, Scores], k: int, allowed: Mask) -> list[Hit]:
        """Return the best equations, one of each family, ties in the order of the library."""
        if not parts:
            return []
        total = np.where(allowed, sum(parts.values()), np.float32(0))
        return [
            self._hit(row, {part: float(scores[row]) for part, scores in parts.items()})
            for row in self._one_per_family(lambda count: top_k(total, count), k)
        ]

    def _nearest_hits(self, index: VectorIndex, vector: Scores, k: int, allowed: Mask) -> list[Hit]:
        """Return the equations with the nearest vectors, one of each family."""
        scores: dict[int, float] = {}

        def top(count: int) -> NDArray[Any]:
            rows, cosines = index.top(vector, count, allowed)
            scores.update(zip(rows.tolist(), cosines.tolist(), strict=True))
            return rows

        return [self._hit(row, {"meaning": scores[row]}) for row in self._one_per_family(top, k)]

    def _one_per_family(self, top: Callable[[int], NDArray[Any]], k: int) -> list[int]:
        """Return the best k rows of different families; `top` gives the best rows."""
        families = self.structure.families
        chosen: dict[int, int] = {}
        count = 4 * k + 20
        while True:
            order = top(count)
            for row in order.tolist():
                chosen.setdefault(int(families[self.types[row]]), row)
            if len(chosen) >= k or len(order) < count:
                return list(chosen.values())[:k]
            count *= 8

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
        return self._top_hits({part: scores}, k, allowed)

    def equation(self, row: int) -> tuple[Equation, str]:
        """Return the equation of a row, with its article's title."""
        article, ordinal = self._equations[row, :2].tolist()
        return self.records.equation(article, ordinal)

    def _hit(self, row: int, parts: dict[str, float]) -> Hit:
        kind = int(self._equations[row, 2])
        equation, title = self.equation(row)
        others = self.family(int(self.structure.families[kind]), excluded=equation.id)
        return Hit(sum(parts.values()), equation, title, others, parts)

    def family(self, number: int, excluded: str = "") -> list[str]:
        """Return the names of all equations of a family, in order."""
        kinds = np.flatnonzero(self.structure.families == number).tolist()
        names = (name for kind in kinds for name in self.records.equation_names(kind))
        return [name for name in names if name != excluded]


def _wanted(by: str, weights: Mapping[str, float], *, has_model: bool) -> Container[str]:
    """Return the parts that a ranking needs."""
    check_ranking(by)
    if by == "meaning" and not has_model:
        raise UsageError(NO_MODEL)
    if by == "encoder" and by not in weights:
        raise UsageError("an encoder ranks equations for words, not for an equation")
    return weights if by == "all" else (by,)


def _check_query(question: WordQuery, by: str) -> None:
    """Refuse a query that asks for nothing, or that the ranking cannot use."""
    if not question.words and not question.formulas:
        raise UsageError(
            "the query only excludes words: add words to search for"
            if question.excluded
            else "the query is empty: give words, or LaTeX between dollars"
        )
    if by == "structure" and not question.formulas:
        raise UsageError("ranking by structure needs LaTeX: put it between dollars")
    if by not in ("all", "structure") and question.formulas and not question.words:
        raise UsageError(f"ranking by {by} needs words in addition to the LaTeX")


def _filter_notes(allowed: Mask) -> list[str]:
    """Return a note if the filters leave no equation."""
    return [] if allowed.any() else ["no equation passes these filters"]


def _parse_notes(shape: Layout) -> list[str]:
    """Return notes on what of a typed formula could not be parsed."""
    return [f"not understood: {' '.join(filter(None, problem))}" for problem in shape.problems]


def apply_weights(parts: Mapping[str, Scores], weights: Mapping[str, float]) -> dict[str, Scores]:
    """Return what each part adds to the score; the weights of the given parts sum to 1."""
    own = {part: weights.get(part, 1.0) for part in parts}
    total = sum(own.values())
    return {part: np.float32(own[part] / total) * scores for part, scores in parts.items()}


def _year(name: str) -> int:
    """Return the year of an arXiv id; 0 for other names."""
    number = arxiv_id(name)[0].rpartition("/")[2]
    if not number:
        return 0
    return (1900 if number[:2] > "90" else 2000) + int(number[:2])
