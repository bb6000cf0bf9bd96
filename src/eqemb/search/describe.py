"""Describe an equation: the words that fit it best, each with a sentence that uses it.

An equation has few words of its own, and one that is pasted has none. Therefore the words of the
most similar equations of the library are used. A word counts by its BM25 impact on them (as in a
search for words), by the trust in each of them, and by the cosine of its vector with their contexts
and with the equation's own vector. A library without a model leaves out the last factor. NumPy
only.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.article import Equation
from eqemb.arxiv.papers import PaperMetadata
from eqemb.errors import UsageError, quoted
from eqemb.formula import Layout
from eqemb.formula.pattern import is_pattern
from eqemb.index.vector_index import CentredIndex, normalise
from eqemb.search.engine import Search
from eqemb.search.notation import EquationSymbols, meaning_json
from eqemb.search.phrases import EquationName, name_equation
from eqemb.search.query import WordQuery
from eqemb.search.results import (
    TEXT_WIDTH,
    Json,
    cut,
    data_frame,
    equation_json,
    excerpt,
    paragraphs,
    place,
    readable,
    reading_json,
    reading_lines,
    rows,
)
from eqemb.search.sentences import SentenceFinder
from eqemb.search.snippets import DEFAULT_RENDERER, Renderer, WordMatcher, around_word, pieces
from eqemb.search.typed_equation import EquationQuery
from eqemb.search.where import where_lines

#: Similar types that are considered and taken, and how many equations of each.
CONSIDERED_TYPES, SIMILAR_TYPES, EQUATIONS_PER_TYPE = 64, 20, 8
#: Similar equations are trusted by a power of their similarity. This share of the similarity is the
#: Dice coefficient of units: equations with other letters often have other topics.
TRUST_POWER, EXACT_UNITS = 3, 0.7
#: If no similar equation has this share of its units, an equation has no description.
MIN_SHARED_UNITS = 0.15
#: Similar equations whose contexts have a lower mean cosine, less that of chance, disagree. That
#: says little if one of them is nearly the equation: a softmax is used for many purposes.
MIN_AGREEMENT, NEARLY_EQUAL = 0.1, 0.6
#: Words that are considered, and words around an equation in which their forms are counted.
CONSIDERED_WORDS, FORM_REACH = 60, 64
_MIN_BESIDE = 40  # letters of a sentence that fit beside the name of its article

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]


class DescriptionWord(NamedTuple):
    """A word that describes an equation."""

    word: str
    score: float
    sentence: str | None
    """A sentence that uses it, with `[equation]` for the equation; None if none is near."""
    article: str | None
    """The article of the sentence."""

    def to_json(self, *, reach: int | None = None, renderer: Renderer = DEFAULT_RENDERER) -> Json:
        """Return `word`, `score`, `sentence` (pieces), `sentence_text` and `article`."""
        text = around_word(self.sentence or "", self.word, reach)
        return {
            "word": self.word,
            "score": round(self.score, 6),
            "sentence": pieces(text, WordMatcher([self.word]), renderer),
            "sentence_text": None if self.sentence is None else text,
            "article": self.article,
        }

    def to_text(self, rank: int, width: int = TEXT_WIDTH) -> str:
        """Return lines for people; a long article name gets a line of its own."""
        lead = f"{rank:3}  {self.score:6.3f}  "
        lines, room = [self.word], width - len(lead)
        if self.sentence is not None and self.article is not None:
            beside = room - len(self.article) - 3
            fits = beside >= _MIN_BESIDE
            line = excerpt(self.word, readable(self.sentence), beside if fits else room)
            lines += [f"{line} · {self.article}"] if fits else [line, self.article]
        return lead + ("\n" + " " * len(lead)).join(lines)


@dataclass(frozen=True, slots=True)
class Description:
    """The words that describe an equation."""

    words: list[DescriptionWord]
    shape: Layout
    equation: Equation | None
    """The equation of the library, if the query named one."""
    similar: list[str]
    """The names of the most similar equations, whose words are used."""
    notes: list[str] = field(default_factory=list)
    """What else people should know about the answer."""
    query: str = ""
    title: str = ""
    """The title of the named equation's article."""
    reading: WordQuery | None = None
    """How the query was read; None if it was the name of an equation."""
    phrase: EquationName | None = None
    """What the equation is called; None if the text has no name that is sure enough."""
    symbols: EquationSymbols | None = None
    """What the symbols of the named equation mean; None if LaTeX was given."""
    paper: PaperMetadata | None = None
    """What is known about the named equation's paper from elsewhere."""

    def __iter__(self) -> Iterator[DescriptionWord]:
        return iter(self.words)

    def __len__(self) -> int:
        return len(self.words)

    def to_json(self, *, reach: int | None = None, renderer: Renderer = DEFAULT_RENDERER) -> Json:
        """Return the description as JSON, the same for the command line, the API and Python.

        Keys: `asked` (as `equation_json` for a named equation; `latex`, `text` and `mathml` for
        LaTeX), `phrase` (`text`, `score`, `article`; None without a name), `words` (see
        `DescriptionWord.to_json`), `symbols` (see `meaning_json`; empty for LaTeX), `kin` (the most
        similar equations), `notes` and `reading` (how the query was read, None for a name). `reach`
        limits sentences to this many words on each side of the word.
        """
        if self.equation is not None:
            asked = equation_json(self.equation, self.title, renderer, self.paper)
        else:
            shape = self.shape
            latex = self.query if self.reading is None else "".join(self.reading.formulas)
            asked = {"latex": latex, "text": shape.to_text(), "mathml": shape.to_mathml()}
        return {
            "asked": asked,
            "phrase": None if self.phrase is None else self.phrase.to_json(),
            "words": [word.to_json(reach=reach, renderer=renderer) for word in self.words],
            "symbols": [meaning_json(meaning) for meaning in self.symbols or ()],
            "kin": self.similar,
            "notes": self.notes,
            "reading": reading_json(self.reading),
        }

    def to_text(self, width: int = TEXT_WIDTH) -> str:
        """Return the equation, its name, its symbols and the words, as a terminal shows them.

        A sentence is shown once.
        """
        head = [cut(self.shape.to_text(), width)]
        if self.phrase is not None:
            head.append(cut(f"about: {self.phrase.text} · {self.phrase.article}", width))
        if self.symbols is not None:
            head += where_lines(self.symbols, width)
        words = [word.to_text(rank, width) for rank, word in enumerate(self.shown(), 1)]
        return "\n\n".join(["\n".join(head), *words])

    def shown(self) -> Iterator[DescriptionWord]:
        """Yield the words, the later ones of a sentence without it."""
        shown: set[str | None] = set()
        for word in self.words:
            yield word._replace(sentence=None, article=None) if word.sentence in shown else word
            shown.add(word.sentence)

    def __str__(self) -> str:
        return "\n".join([*reading_lines(self.reading), *self.notes, self.to_text()])

    def to_pandas(self) -> Any:
        """Return a data frame with a row for each word; needs pandas."""
        return data_frame(word._asdict() for word in self.words)

    def _repr_html_(self) -> str:
        name = f"<p>{place(self.equation)}</p>" if self.equation is not None else ""
        cells = (
            (
                escape(word.word),
                f"{word.score:.3f}",
                escape(word.sentence or ""),
                f"<code>{escape(word.article or '')}</code>",
            )
            for word in self.shown()
        )
        table = rows(("word", "score", "sentence", "article"), cells)
        if self.phrase is not None:
            name += f"<p><strong>{escape(self.phrase.text)}</strong></p>"
        if self.symbols is not None:
            name += paragraphs(*where_lines(self.symbols))
        return self.shape.to_mathml() + name + paragraphs(*self.notes) + table


class SimilarEquations(NamedTuple):
    """Equations that speak for one, the most trusted first."""

    rows: list[int]
    """In the index; its own first, if it is in the library."""
    trust: list[float]
    shared: float
    """The largest share of the equation's units that one of them has."""


class Describer:
    """Describes equations in words."""

    def __init__(self, search: Search) -> None:
        self._search = search

    def describe(self, query: str, k: int = 10, *, by: str = "all") -> Description:
        """Return the words that describe an equation best."""
        if by not in ("all", "paper"):
            raise UsageError(f"no description by {quoted(by)}: choose all or paper")
        return self.describe_equation(self._search.read_equation(query), k, query=query, by=by)

    def describe_equation(
        self,
        parsed: EquationQuery,
        k: int = 10,
        *,
        query: str = "",
        by: str = "all",
        allowed: Mask | None = None,
    ) -> Description:
        """Describe a parsed equation; `allowed` masks the equations that may speak for it."""
        similar = self.similar_equations(parsed, allowed)
        named = parsed.equation
        if named is None and (not similar.rows or similar.shared < MIN_SHARED_UNITS):
            notes = [] if parsed.reading is None else parsed.reading.notes
            return Description(
                [], parsed.layout, None, [], notes, query=query, reading=parsed.reading
            )
        phrase = None
        if by == "paper":
            words, notes = self._words_as_in_the_paper(parsed, similar, k)
        else:
            words, phrase = self._words(parsed, similar, k)
            notes = self._doubts(parsed, similar)
            phrase = None if notes else phrase
        names = [self._search.equation(row)[0].id for row in similar.rows]
        own = named.id if named is not None else ""
        others = [name for name in names if name != own]
        title = self._search.equation(similar.rows[0])[1] if named is not None else ""
        if parsed.reading is not None:
            notes = [*parsed.reading.notes, *notes]
        paper = None if named is None else self._search.records.paper(named.article)
        made = (words, parsed.layout, named, others, notes, query, title, parsed.reading, phrase)
        return Description(*made, paper=paper)

    def similar_equations(
        self, query: EquationQuery, allowed: Mask | None = None
    ) -> SimilarEquations:
        """Return the equations most similar by symbols, with letters renamed and as they are."""
        search = self._search
        if allowed is None:
            found = search.structure.find(query.layout, count=CONSIDERED_TYPES)
        else:
            found = search.similar_types(query.layout, allowed, CONSIDERED_TYPES)
        units = Counter("\t".join(unit) for unit in query.layout.units())
        have = self._search.structure.shared_units(found.types.tolist(), units)
        size = max(1, sum(units.values()))
        ranked: list[tuple[float, int]] = []
        # a single symbol has no units, and whatever matches a pattern is similar to it
        is_certain = len(query.layout.nodes()) == 1 or is_pattern(query.layout)
        most = 1.0 if is_certain and len(found.types) else 0.0
        every = zip(found.types.tolist(), found.likeness.tolist(), have, strict=True)
        for kind, alike, (count, total) in every:
            most = max(most, count / size)
            dice = 2 * count / max(1, size + total)
            ranked.append(((1 - EXACT_UNITS) * alike + EXACT_UNITS * dice, kind))
        ranked.sort(key=lambda item: -item[0])  # stable: ties in the order of the structure index
        numbers, trust = [], []
        if query.equation is not None:
            numbers, trust = [self._search.row(query.equation)], [1.0]
        for worth, kind in ranked[:SIMILAR_TYPES]:
            every_equation = search.equations_of_type(kind)
            if allowed is not None:
                every_equation = [row for row in every_equation if allowed[row]]
            for number in every_equation[:EQUATIONS_PER_TYPE]:
                if number not in numbers[:1]:
                    numbers.append(number)
                    trust.append(worth**TRUST_POWER)
        return SimilarEquations(numbers, trust, most)

    def _words(
        self, query: EquationQuery, similar: SimilarEquations, k: int
    ) -> tuple[list[DescriptionWord], EquationName | None]:
        """Return words of similar equations, weighted by vectors if there are some, and a name."""
        groups = [self._group(row) for row in similar.rows]
        topic = self._search.text.topic(
            similar.rows, similar.trust, CONSIDERED_WORDS, groups, keep_lone=True
        )
        forms = self._forms(similar, topic)
        weights = self._weigh(topic, forms, query, similar)
        total = sum(weights.values())
        ranked = sorted(weights, key=lambda row: (-weights[row], row))
        sentences = SentenceFinder(self._search, similar.rows, own=query.equation is not None)
        words: list[DescriptionWord] = []
        for row in ranked:
            found = sentences.find(row, forms.get(row))
            if found is not None:
                score = weights[row] / total
                words.append(DescriptionWord(found.word, score, found.sentence, found.article))
            if len(words) == k:
                break
        phrase = name_equation(self._search, similar.rows, similar.trust, groups, weights)
        return words, phrase

    def _weigh(
        self,
        topic: dict[str, float],
        forms: dict[str, str],
        query: EquationQuery,
        similar: SimilarEquations,
    ) -> dict[str, float]:
        """Multiply the weights of stems by the cosine of their usual form.

        Forms without a vector get the mean cosine of the others.
        """
        space = self._search.vectors
        if space is None:
            return topic
        directions = [normalise(self.mean_context(similar))]
        if self.types is not None:
            directions.append(self.equation_direction(query.layout))
        wanted = normalise(np.sum(directions, axis=0))
        cosines = {
            row: max(0.01, float(space.words_vector([word]) @ wanted))
            for row in topic
            if (word := forms.get(row)) is not None and space.has_word(word)
        }
        usual = float(np.mean(list(cosines.values())[:10])) if cosines else 1.0
        return {row: weight * cosines.get(row, usual) for row, weight in topic.items()}

    def _forms(self, similar: SimilarEquations, topic: Iterable[str]) -> dict[str, str]:
        """Return for stems the word that most articles use near similar equations, if any does."""
        found: dict[str, dict[str, dict[int, float]]] = {}
        near = self._search.text.words_near(similar.rows, FORM_REACH, topic)
        for row, trust, words in zip(similar.rows, similar.trust, near, strict=True):
            article = int(self._search.articles[row])
            for word, stem in words:
                used = found.setdefault(stem, {}).setdefault(word, {})
                used[article] = max(used.get(article, 0.0), trust)
        return {
            stem: min(words, key=lambda word: (-sum(words[word].values()), word))
            for stem, words in found.items()
        }

    def _group(self, row: int) -> int:
        """Return the group of near-duplicates of an equation's article, or the article itself."""
        article = int(self._search.articles[row])
        group = self._search.records.group_of.get(self._search.records.name(article))
        return article if group is None else -group

    def _doubts(self, query: EquationQuery, similar: SimilarEquations) -> list[str]:
        """Return a note if the similar equations are not very similar and have different topics."""
        if (
            self.contexts is None
            or query.equation is not None
            or max(similar.trust) >= NEARLY_EQUAL**TRUST_POWER
        ):
            return []
        best: dict[int, int] = {}
        for at, row in enumerate(similar.rows):
            best.setdefault(self._group(row), at)
        chosen = list(best.values())
        directions = self.contexts.rows([similar.rows[at] for at in chosen])
        trust = np.array([similar.trust[at] for at in chosen]) ** 2  # the nearest matter most
        pairs = np.outer(trust, trust)
        np.fill_diagonal(pairs, 0)
        agreement = float((pairs * (directions @ directions.T)).sum() / max(pairs.sum(), 1e-12))
        if len(chosen) > 1 and agreement < MIN_AGREEMENT:
            doubt = "no equation is very similar, and the nearest ones have different topics"
            return [f"{doubt}: these words are uncertain"]
        return []

    def _words_as_in_the_paper(
        self, query: EquationQuery, similar: SimilarEquations, k: int
    ) -> tuple[list[DescriptionWord], list[str]]:
        """Return words by the paper's pairing of vectors, and notes."""
        paper, notes = self._search.paper, list[str]()
        same = self._search.same_equations(query.layout)
        kind = int(self._search.types[same[0]]) if len(same) else None
        if kind is None or paper.rows[kind] < 0:
            others = [row for row in similar.rows if paper.rows[self._search.types[row]] >= 0]
            if not others:
                return [], ["the model has no vector for this equation, nor for a similar one"]
            kind = int(self._search.types[others[0]])
            name = self._search.equation(others[0])[0].id
            notes.append(f"the model has no vector for this equation: {name} is used instead")
        cosines = paper.words_for(kind)
        sentences = SentenceFinder(self._search, similar.rows, own=query.equation is not None)
        words = []
        for row in np.argsort(-cosines, kind="stable")[:k].tolist():
            word, score = paper.model.keys["words"][row], float(cosines[row])
            stem = self._search.text.find_stem(word)
            found = None if stem is None else sentences.find(stem, word, exact=True)
            sentence, article = (found.sentence, found.article) if found else (None, None)
            words.append(DescriptionWord(word, score, sentence, article))
        return words, notes

    # ------------------------------------------------------------ vectors

    @cached_property
    def contexts(self) -> CentredIndex | None:
        """The context vectors of all equations; None where the library has no model."""
        space = self._search.vectors
        return None if space is None else CentredIndex(space.contexts, space.means[0])

    @cached_property
    def types(self) -> CentredIndex | None:
        """The vectors of all equation types; None where the model has none."""
        space = self._search.vectors
        if space is None or space.types is None:
            return None
        return CentredIndex(space.types, space.means[1])

    def mean_context(self, similar: SimilarEquations) -> Floats:
        """Return the mean context vector of similar equations, weighted by trust."""
        space = self._search.vectors
        if self.contexts is None or space is None or not similar.rows:
            return np.zeros(0 if space is None else space.dim, np.float32)
        made: Floats = np.array(similar.trust, np.float32) @ self.contexts.rows(similar.rows)
        return made

    def equation_direction(self, shape: Layout) -> Floats:
        """Return the direction of an equation's own vector among the types."""
        space = self._search.vectors
        if space is None or self.types is None:
            return np.zeros(0, np.float32)
        return self.types.direction(space.equation_vector(shape))
