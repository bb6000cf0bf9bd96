"""Search a library whose parts are in other processes: ask every part, merge what answers.

`MergedSearch` is the search of a whole library. The work that grows with the library, ranking, is
done by the parts (`parts`); what is left is small and done here: reading the query, weighing and
ordering the candidates of all parts, agreement, families, and reading the hits. A part that does
not answer is left out, and the answer says so.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from eqemb.errors import UsageError, quoted
from eqemb.formula import Layout
from eqemb.formula.pattern import is_pattern, read_pattern
from eqemb.index.encoder import EncoderIndex
from eqemb.index.postings import Array
from eqemb.index.segments import IndexSegments
from eqemb.index.stemming import stem
from eqemb.index.structure import MAX_ALIGNED, StructureIndex, StructureMatches
from eqemb.index.text_index import TextIndex
from eqemb.library.database import LibraryRecords
from eqemb.library.report import counted
from eqemb.models.embeddings import Embeddings
from eqemb.search.combination import (
    check_words,
    is_telling,
)
from eqemb.search.engine import ONE_SYMBOL, Search
from eqemb.search.facets import Facets, add_counts
from eqemb.search.filtering import filter_notes
from eqemb.search.match_kinds import SAME_EQUATION, CountedMatches, Matches, word_kinds
from eqemb.search.merged_candidates import (
    EquationMerge,
    MergedCandidates,
    WeighedCandidates,
    WordMerge,
    joined,
)
from eqemb.search.paper import NO_VECTOR
from eqemb.search.parts import (
    EquationQuestion,
    PartAnswer,
    PartCandidates,
    PartQuestion,
    PartRefusal,
    PartTypes,
    SimilarKeys,
    TypesQuestion,
    WordsQuestion,
)
from eqemb.search.query import Filters, WordQuery, check_ranking
from eqemb.search.results import Answer, Hit
from eqemb.search.scoring import MAX_TYPES
from eqemb.search.typed_equation import EquationQuery, typed_notes
from eqemb.search.vector_notes import vector_notes

#: Rankings that the parts cannot compute: the front end does.
_OWN_RANKINGS = ("paper", "encoder")

Scores = NDArray[np.float32]
Mask = NDArray[np.bool_]
Found = TypeVar("Found", PartCandidates, PartTypes)


class Parts(Protocol):
    """The parts of a library, wherever they are."""

    def __len__(self) -> int: ...

    def ask(self, question: PartQuestion) -> list[PartAnswer | None]:
        """Return the answer of every part in order; None for one that does not answer."""


class PartsAsker:
    """Asks the parts of a library, and remembers how many answered since `reset`."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.reset()

    def reset(self) -> None:
        """Forget about earlier questions."""
        self._missing: set[int] = set()

    @property
    def notes(self) -> list[str]:
        """A note if some parts did not answer; empty if the answers are those of all."""
        if not self._missing:
            return []
        every = len(self._parts)
        return [f"{every - len(self._missing)} of {counted(every, 'part')} answered"]

    def ask(self, question: PartQuestion, kind: type[Found]) -> list[Found]:
        """Return the answers of the parts that answer.

        A part refuses a question if, for example, none of its papers passes the filters. If all
        refuse, so does this.
        """
        found: list[Found] = []
        refused = ""
        for number, answer in enumerate(self._parts.ask(question)):
            if answer is None:
                self._missing.add(number)
            elif isinstance(answer, PartRefusal):
                refused = refused or answer.message
            elif isinstance(answer, kind):
                found.append(answer)
        if refused and not found:
            raise UsageError(refused)
        return found


class MergedStructure(StructureIndex):
    """The structure index of a library whose parts look for similar types."""

    def __init__(self, segments: IndexSegments, asker: PartsAsker) -> None:
        super().__init__(segments)
        self._asker = asker

    def find(
        self, query: str | Layout, allowed: Array | None = None, count: int = 10
    ) -> StructureMatches:
        """Return the types most similar to an equation; with a mask, without asking the parts."""
        if allowed is not None:
            return super().find(query, allowed, count)
        made = read_pattern(query) if isinstance(query, str) else query
        if made.root is None:
            raise UsageError(f"{quoted(made.latex)} contains no symbol to search for: give LaTeX")
        return self.find_in_parts(TypesQuestion(made, count))

    def find_in_parts(self, asked: TypesQuestion) -> StructureMatches:
        """Return the types most similar to an equation, of those that the parts propose."""
        answers = self._asker.ask(asked, PartTypes)
        keys = joined([each.keys for each in answers], np.uint64)
        estimates = joined([each.estimates for each in answers], np.float32)
        order = np.lexsort((keys, -estimates))
        _, first = np.unique(keys[order], return_index=True)  # several parts have the same types
        order = order[np.sort(first)]
        if is_pattern(asked.layout):
            types = self.trial_order(self._types_of(keys[order]), estimates[order])
            candidates = sum(each.count for each in answers)
            return self.match_pattern(asked.layout, types, candidates, asked.count)
        order = order[: max(asked.count, MAX_ALIGNED)]
        return self.align(asked.layout, self._types_of(keys[order]), estimates[order], asked.count)

    def _types_of(self, keys: Array) -> Array:
        """Return the first type of the library that has each key."""
        types, places = self.segments.copies(keys)
        _, first = np.unique(places, return_index=True)
        found: Array = types[first]
        return found


class MergedSearch(Search):
    """The search of a library that asks its parts."""

    def __init__(
        self,
        records: LibraryRecords,
        segments: IndexSegments,
        vectors: Path | None,
        model: Callable[[], Embeddings | None],
        asker: PartsAsker,
    ) -> None:
        super().__init__(records, segments, vectors, model)
        self.asker = asker
        self.structure: MergedStructure = MergedStructure(segments, asker)
        self.hits.structure = self.structure

    # ------------------------------------------------------------ words

    def search_words(
        self,
        query: str,
        k: int = 10,
        *,
        by: str = "all",
        filters: Filters | None = None,
        encoder: EncoderIndex | None = None,
    ) -> Answer:
        """Find equations for words, phrases and formulas, as `Search` does."""
        with self._filters_first(filters):
            return self._search_words(query, k, by, filters, encoder)

    def _search_words(
        self,
        query: str,
        k: int,
        by: str,
        filters: Filters | None,
        encoder: EncoderIndex | None,
    ) -> Answer:
        if encoder is not None or by in _OWN_RANKINGS or self.find_named(query):
            return super().search_words(query, k, by=by, filters=filters, encoder=encoder)
        question = self.read_query(query)
        if question.formula is not None and by in ("all", "structure"):
            return self.search_equation(self.read_equation(query), k, by=by, filters=filters)
        check_words(question, by)
        forms = self.text.word_forms(question.words)
        owners = self.text.owner_counts(forms)
        stems = {stem(word) for word in owners}
        unknown = [word for word in dict.fromkeys(question.words) if stem(word) not in stems]
        near = {word: some for word in unknown if (some := self.text.suggest_spellings(word))}
        notes = [*question.notes]
        words = [word for word in question.words if word not in unknown]
        if words and not question.formulas and not any(map(is_telling, words)):
            notes += filter_notes(self.allowed(filters))
            notes.append(f"too common to tell equations apart: {', '.join(words)}")
            return Answer([], unknown, near, notes, question.words, question)
        check_ranking(by)
        known = _known_share(self.text, owners, len(unknown))
        merge = WordMerge(self, question, by, known)
        similar, more = self._similar_to_formulas(question, by, filters)
        hits, matches, found = self._rank(
            lambda count: WordsQuestion(
                question,
                merge.symbols,
                by,
                filters,
                count,
                forms,
                owners,
                similar,
                known,
                merge.agreed,
            ),
            k,
            merge.weigh,
        )
        notes += [*more, *found]
        if by == "meaning":
            notes += vector_notes(question.words, unknown, self.vectors, self.model)
        notes += self.asker.notes
        return Answer(hits, unknown, near, notes, question.words, question, matches)

    def _similar_to_formulas(
        self, question: WordQuery, by: str, filters: Filters | None
    ) -> tuple[dict[str, SimilarKeys], list[str]]:
        """Return the types most similar to each formula of a query, and notes."""
        shapes = [read_pattern(latex) for latex in dict.fromkeys(question.formulas)]
        if by not in ("all", "structure") or any(shape.root is None for shape in shapes):
            return {}, []  # the parts refuse what has no symbol
        found = {
            shape.canonical(): self.structure.find_in_parts(
                TypesQuestion(shape, MAX_TYPES, filters, question)
            )
            for shape in shapes
        }
        similar = {canonical: self._keys(each) for canonical, each in found.items()}
        return similar, [each.note for each in found.values() if each.note]

    def _keys(self, found: StructureMatches) -> SimilarKeys:
        return SimilarKeys(self.segments.type_keys[found.types], found.scores)

    # ------------------------------------------------------------ equations

    def search_equation(
        self,
        query: EquationQuery,
        k: int = 10,
        *,
        by: str = "all",
        filters: Filters | None = None,
    ) -> Answer:
        """Find equations similar to a parsed equation, as `Search` does."""
        with self._filters_first(filters):
            return self._search_equation(query, k, by, filters)

    def _search_equation(
        self, query: EquationQuery, k: int, by: str, filters: Filters | None
    ) -> Answer:
        check_ranking(by)
        if query.encoder is not None or query.meanings or by in _OWN_RANKINGS:
            return super().search_equation(query, k, by=by, filters=filters)
        shape, has_pattern = query.layout, is_pattern(query.layout)
        if by == "meaning" and not has_pattern and not self._has_vector(shape):
            raise UsageError(NO_VECTOR)
        found, topic = None, dict[str, float]()
        if has_pattern or by in ("all", "structure"):
            # with structure alone, no other part can fill a long answer
            is_long = 4 * k > MAX_TYPES and (by == "structure" or has_pattern)
            count = len(self.structure) if is_long else MAX_TYPES
            found = self.structure.find_in_parts(TypesQuestion(shape, count, filters))
        if not has_pattern and by in ("all", "words"):
            topic = self.topic(query, found if _allows_all(filters) else None)
        similar = None if found is None else self._keys(found)
        own = None if query.equation is None else self.row(query.equation)
        merge = EquationMerge(self, query, by)
        hits, matches, more = self._rank(
            lambda count: EquationQuestion(shape, own, topic, similar, by, filters, count),
            k,
            merge.weigh,
        )
        notes = [found.note] if has_pattern and found is not None and found.note else []
        notes += more
        if query.equation is None:
            notes += typed_notes(shape, query.reading)
            if hits and not has_pattern and len(shape.nodes()) == 1:
                notes.append(ONE_SYMBOL)
        notes += self.asker.notes
        return Answer(hits, notes=notes, reading=query.reading, matches=matches)

    def _has_vector(self, shape: Layout) -> bool:
        return self.vectors is None or bool(self.vectors.equation_vector(shape).any())

    @contextmanager
    def _filters_first(self, filters: Filters | None) -> Iterator[None]:
        """Refuse wrong filters before anything else that is wrong, as `Search` does.

        The parts check the filters of a question that is asked.
        """
        try:
            yield
        except UsageError:
            self.allowed(filters)
            raise

    # ------------------------------------------------------------ merging

    def _rank(
        self,
        question: Callable[[int], PartQuestion],
        k: int,
        weigh: "Callable[[MergedCandidates], WeighedCandidates]",
    ) -> tuple[list[Hit], CountedMatches | None, list[str]]:
        """Return the best equations of all parts, how many match, and notes."""
        count = 4 * k + 20
        while True:
            answers = self.asker.ask(question(count), PartCandidates)
            merged = MergedCandidates(answers)
            if answers and not self.asker.notes and all(each.refusal for each in answers):
                raise UsageError(answers[0].refusal)
            weighed = weigh(merged)
            if weighed.ask_again:
                continue
            total = np.where(merged.allowed, weighed.total, np.float32(0))
            order = np.lexsort((merged.rows, -total))
            order = order[total[order] > 0]
            ranked = merged.rows[order]
            chosen = self.hits.one_per_family(partial(_first, ranked), k)
            if len(chosen) >= k or not any(answer.is_cut for answer in answers):
                break
            count *= 8
        place = dict(zip(merged.rows.tolist(), range(len(merged.rows)), strict=True))
        hits = [weighed.hit(self, row, place[row]) for row in chosen]
        notes = _merged_notes([answer.notes for answer in answers])
        if not merged.has_allowed:
            notes.append("no equation passes these filters")
        if weighed.strengths is None:  # no least strength of a match is known
            return hits, None, notes
        matches = merged.matches(self._count(merged, weighed.more_matches))
        if matches is not None and self.asker.notes:  # those of the other parts are missing
            matches = replace(matches, is_complete=False)
        return hits, matches, notes

    def _count(self, merged: MergedCandidates, more: Mask | None) -> CountedMatches | None:
        """Return the counts of candidates for words."""
        if more is None or not more.any():
            return None
        kinds = {
            kind: int(mask[more].sum()) for kind, mask in word_kinds(merged.covered, None).items()
        }
        counts = self._facets.count_rows(np.sort(merged.rows[more]), kinds)
        return CountedMatches(int(more.sum()), counts)

    def _with_row(
        self, found: Matches | CountedMatches | None, row: int
    ) -> Matches | CountedMatches | None:
        """Return matches with one more equation, which the parts left out."""
        if not isinstance(found, CountedMatches):
            return super()._with_row(found, row)
        counts = self._facets.count_rows(np.array([row]), {SAME_EQUATION: 1})
        merged = add_counts([found.counts, counts])
        return replace(found, equations=found.equations + 1, counts=merged)

    @cached_property
    def _facets(self) -> Facets:
        return Facets(self.records, self.segments)


def _allows_all(filters: Filters | None) -> bool:
    """Whether no filter leaves out an equation before it is compared with the query."""
    return filters is None or replace(filters, kind=None) == Filters()


def _known_share(text: TextIndex, owners: Mapping[str, int], unknown: int) -> float:
    """Return the share of a query's words that the library has, as `TextIndex.known_share`."""
    known = sum(text.idf_of(count) for count in owners.values())
    return known / (known + unknown * text.idf_of(0)) if owners else 0.0


def _merged_notes(notes: Sequence[Sequence[str]]) -> list[str]:
    """Return the notes of all parts, and one of those that only some parts have."""
    every = list(dict.fromkeys(note for some in notes for note in some))
    shared = [note for note in every if all(note in some for some in notes)]
    others = [note for note in every if note not in shared]
    return shared + [f"in one part of the library: {note}" for note in others[:1]]


def _first(rows: Array, count: int) -> Array:
    return rows[:count]
