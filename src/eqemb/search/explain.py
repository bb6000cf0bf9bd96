"""Explain why an equation answers a query: the symbols and the words that both share.

The symbols are those that align when letters are renamed. The words are those by which a search
finds the second equation from the first, each with what it adds to the score. For a pattern, the
explanation says what its wildcards stand for; words do not count then.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from html import escape
from typing import NamedTuple, TypeVar

import numpy as np

from eqemb.article import Equation
from eqemb.errors import UsageError, quoted
from eqemb.formula import Layout
from eqemb.formula.commands import unescape
from eqemb.formula.likeness import Outline, outline
from eqemb.formula.pattern import OutOfStepsError, Pattern, Run, is_pattern, read_pattern
from eqemb.formula.tree import Node
from eqemb.index.structure import StructureIndex
from eqemb.index.text import CONTEXT_REACH
from eqemb.search.combination import EQUATION_PARTS, WORD_PARTS, apply_weights
from eqemb.search.engine import Search
from eqemb.search.filtering import matching_equations
from eqemb.search.query import WordQuery
from eqemb.search.results import Json, paragraphs, place, rows
from eqemb.search.typed_equation import EquationQuery

_StemOrWord = TypeVar("_StemOrWord", int, str)


class ComparedSide(NamedTuple):
    """The query, or the equation that answers it."""

    text: str
    """As given."""
    shape: Layout | None
    """None for words alone."""
    equation: Equation | None
    """The equation of the library, if `text` names one."""
    marked: list[int]
    """The symbols that the other side has too, as positions in `shape.nodes()`."""

    def to_json(self) -> Json:
        """Return `query`, `id`, `text`, `mathml` (with matches marked) and `marked` (symbols)."""
        shape = self.shape
        return {
            "query": self.text,
            "id": self.equation.id if self.equation is not None else None,
            "text": shape.to_text() if shape is not None else None,
            "mathml": shape.to_mathml(mark=self.marked) if shape is not None else None,
            "marked": [shape.nodes()[at].tag for at in self.marked] if shape is not None else [],
        }

    def __str__(self) -> str:
        name = f"{self.equation.id}  " if self.equation is not None else ""
        return name + (self.text if self.shape is None else self.shape.to_text(mark=self.marked))

    def html(self) -> tuple[str, str]:
        """Return name and formula as HTML."""
        name = place(self.equation) if self.equation is not None else ""
        shown = "" if self.shape is None else self.shape.to_mathml(mark=self.marked)
        return name, shown or escape(self.text)


@dataclass(frozen=True, slots=True)
class Why:
    """Why the other equation answers the query."""

    query: ComparedSide
    other: ComparedSide
    likeness: float
    """The likeness of their symbols, from 0 to 1."""
    letters: dict[str, str]
    """For each renamed letter of the query the letter of the other; for each wildcard its match."""
    words: dict[str, float]
    """Words that both have, and what each adds to the score."""
    parts: dict[str, float] = field(default_factory=dict)
    """What each part adds to the score of a search; only for equations of the library."""

    @property
    def score(self) -> float:
        """The score of a search if the other is in the library, else the likeness."""
        return sum(self.parts.values()) if self.parts else self.likeness

    def to_json(self) -> Json:
        """Return the explanation as JSON, the same for the command line, the API and Python.

        Keys: `score`, `parts`, `likeness`, `letters`, `words` (with `word` and `score`), `query`
        and `other` (see `ComparedSide.to_json`).
        """
        return {
            "score": round(self.score, 6),
            "parts": {part: round(value, 6) for part, value in self.parts.items()},
            "likeness": round(self.likeness, 6),
            "letters": self.letters,
            "words": [
                {"word": word, "score": round(score, 6)} for word, score in self.words.items()
            ],
            "query": self.query.to_json(),
            "other": self.other.to_json(),
        }

    def lines(self) -> list[str]:
        """Return all but the equations as lines of text."""
        made = [f"score {self.score:.3f}" + _sum(self.parts)]
        if self.query.shape is not None and self.other.shape is not None:
            met, size = len(self.query.marked), len(self.query.shape.nodes())
            made.append(f"likeness {self.likeness:.3f}: {met} of {size} symbols")
        if self.letters:
            pairs = (f"{one} → {two}" for one, two in self.letters.items())
            made.append(f"letters: {', '.join(pairs)}")
        if self.words or list(self.parts) != ["structure"]:
            words = (f"{word} {score:.3f}" for word, score in self.words.items())
            made.append(f"words: {', '.join(words) or 'none in common'}")
        return made

    def __str__(self) -> str:
        return "\n".join([str(self.query), str(self.other), "", *self.lines()])

    def _repr_html_(self) -> str:
        table = rows(("", "equation"), (side.html() for side in (self.query, self.other)))
        return table + paragraphs(*self.lines())


def _sum(parts: dict[str, float]) -> str:
    terms = [f"{part} {value:.3f}" for part, value in parts.items()]
    return f" = {' + '.join(terms)}" if terms else ""


def explain(search: Search, query: str, other: str) -> Why:
    """Explain why the equation `other` answers `query`: an equation, or words with $LaTeX$."""
    answer = search.read_equation(other)
    if search.find_named(query) is None:
        question = search.read_query(query)
        if question.words or len(question.formulas) > 1:
            return _explain_words(search, query, question, other, answer)
    parsed = search.read_equation(query)
    if is_pattern(parsed.layout):
        found = _compare(ComparedSide(query, parsed.layout, None, []), other, answer, {}, {})
        return replace(found, parts={"structure": found.likeness} if answer.equation else {})
    parts: dict[str, float] = {}
    topic = search.topic(parsed)
    if answer.equation is not None:
        row = search.row(answer.equation)
        every = search.segments.live
        scope, scores, _ = search.score_equation(parsed, every, EQUATION_PARTS, also=[row])
        weighted = apply_weights(scores, search.equation_weights)
        (place,) = scope.places_of(np.array([row]))
        parts = {part: float(values[place]) for part, values in weighted.items()}
        worth = {stem: weight * search.text.stem_score(stem, row) for stem, weight in topic.items()}
    else:  # not in the library: the words of similar equations
        others = search.topic(answer)
        worth = {stem: min(weight, others.get(stem, 0.0)) for stem, weight in topic.items()}
    usual = _usual_forms(search, answer)
    scaled = _scaled(worth, parts.get("words"))
    words = {
        usual.get(stem, search.text.shortest_word(stem)): score for stem, score in scaled.items()
    }
    side = ComparedSide(query, parsed.layout, parsed.equation, [])
    return _compare(side, other, answer, words, parts)


def _explain_words(
    search: Search, query: str, question: WordQuery, other: str, answer: EquationQuery
) -> Why:
    """Explain why an equation answers words."""
    terms = search.text.terms(question.words)
    parts: dict[str, float] = {}
    if answer.equation is not None:
        row = search.row(answer.equation)
        every = search.segments.live
        scope, scores, _ = search.score_words(question, every, WORD_PARTS, terms=terms, also=[row])
        matching = scope.take(matching_equations(search.text, every, question))
        weighted = search.weigh_words(question, scores, matching, scope)
        (place,) = scope.places_of(np.array([row]))
        parts = {part: float(values[place]) for part, values in weighted.items()}
        worth = {term.word: term.weight * term.score(row) for term in terms}
        if (phrase := search.text.phrase_term(question.words)) is not None:
            worth[f'"{phrase.word}"'] = phrase.weight * phrase.score(row)
    else:
        topic = search.topic(answer)
        stems = {term.word: search.text.find_stem(term.word) for term in terms}
        worth = {
            term.word: min(term.weight, topic.get(stem, 0.0))
            for term in terms
            if (stem := stems[term.word]) is not None
        }
    words = _scaled(worth, parts.get("words"))
    shape = read_pattern(question.formulas[0]) if question.formulas else None
    return _compare(ComparedSide(query, shape, None, []), other, answer, words, parts)


def _scaled(worth: dict[_StemOrWord, float], total: float | None) -> dict[_StemOrWord, float]:
    """Return positive values, the largest first, scaled to sum to `total` if that is given."""
    whole = sum(worth.values())
    scale = total / whole if total is not None and whole else 1.0
    ranked = sorted((row for row in worth if worth[row] > 0), key=lambda row: (-worth[row], row))
    return {row: scale * worth[row] for row in ranked}


def _usual_forms(search: Search, answer: EquationQuery) -> dict[str, str]:
    """Return for each stem near an equation its most common form there."""
    if answer.equation is None:
        return {}
    near = search.text.words_around(search.row(answer.equation), CONTEXT_REACH)
    often = Counter((stem, word) for word, stem, _ in near).most_common()[::-1]
    return dict(pair for pair, _ in often)  # the most common last, so that it wins


def _compare(
    query: ComparedSide,
    other: str,
    answer: EquationQuery,
    words: dict[str, float],
    parts: dict[str, float],
) -> Why:
    """Align the two sides, if both are equations."""
    there = ComparedSide(other, answer.layout, answer.equation, [])
    if query.shape is None or query.shape.root is None:
        return Why(query, there, 0.0, {}, words, parts)
    if is_pattern(query.shape):
        return _match(query, query.shape, there, answer.layout, words, parts)
    found = StructureIndex.compare(query.shape, answer.layout)
    letters = {_letter(one): _letter(two) for one, two in found.names.items() if one != two}
    mine, theirs = ([pair[side] for pair in found.pairs] for side in (0, 1))
    query, there = query._replace(marked=mine), there._replace(marked=theirs)
    return Why(query, there, found.score, letters, words, parts)


def _match(
    query: ComparedSide,
    pattern: Layout,
    there: ComparedSide,
    answer: Layout,
    words: dict[str, float],
    parts: dict[str, float],
) -> Why:
    """Match a pattern with an equation."""
    rows = outline(answer)
    try:
        found = Pattern(pattern).match(rows)
    except ValueError as error:
        raise UsageError(str(error)) from None
    except OutOfStepsError:
        raise UsageError(
            f"there are too many ways to match {quoted(pattern.to_text())} with this equation"
        ) from None
    if found is None:
        return Why(query, there, 0.0, {}, words, parts)
    letters = {_letter(one): _letter(two) for one, two in found.names.items() if one != two}
    bound = {name: _text_of(answer.nodes(), rows, run) for name, run in sorted(found.bound.items())}
    query = query._replace(marked=list(range(len(pattern.nodes()))))
    there = there._replace(marked=found.places)
    return Why(query, there, found.score, letters | bound, words, parts)


def _text_of(nodes: list[Node], rows: Outline, run: Run) -> str:
    """Return what a wildcard stands for, in Unicode."""
    first = last = Node("")
    for at in rows.rows[run.row].places[run.start : run.stop]:
        last.n = Node(nodes[at].tag, nodes[at].look)
        last = last.n
        # the next element of a fence is in the same row
        last.kids = {edge: kid for edge, kid in (nodes[at].kids or {}).items() if edge != "e"}
    last.kids = {edge: kid for edge, kid in (last.kids or {}).items() if edge not in run.but}
    return Layout(first.n).to_text()


def _letter(tag: str) -> str:
    return unescape(tag[2:])
