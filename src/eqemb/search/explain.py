"""Why an equation answers: the symbols that two equations share, and the words that they share.

The symbols are those that meet when the two are laid side by side, letters renamed. The words are
those by which a search would find the second from the first, each with what it adds to the score.
Of a pattern it is told what its wildcards stand for; words do not count then.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, NamedTuple, TypeVar

import numpy as np

from eqemb.article import Equation
from eqemb.errors import UsageError
from eqemb.formula import Layout
from eqemb.formula.commands import unescape
from eqemb.formula.likeness import Outline, outline
from eqemb.formula.pattern import OutOfStepsError, Pattern, Run, is_pattern, read_pattern
from eqemb.formula.tree import Node
from eqemb.index.structure import Structure
from eqemb.index.text import REACH
from eqemb.search.engine import EQUATION_PARTS, WORD_PARTS, Asked, Search, weighed
from eqemb.search.query import read_question, reads_as_words
from eqemb.search.results import paragraphs, place, rows

_Key = TypeVar("_Key", int, str)


class Side(NamedTuple):
    """One of the two that are compared."""

    text: str
    """As it was asked for."""
    shape: Layout | None
    """None where it is words alone."""
    equation: Equation | None
    """Where it stands in the library, if it was named."""
    marked: list[int]
    """The symbols that the other one has too, as places in `shape.nodes()`."""

    def to_dict(self) -> dict[str, Any]:
        """As `--json` prints it."""
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
        """What it is called and what it looks like."""
        name = place(self.equation) if self.equation is not None else ""
        shown = "" if self.shape is None else self.shape.to_mathml(mark=self.marked)
        return name, shown or escape(self.text)


@dataclass(frozen=True, slots=True)
class Why:
    """Why the second answers the first."""

    query: Side
    other: Side
    likeness: float
    """How alike their symbols are, from 0 to 1."""
    letters: dict[str, str]
    """Which letter of the other each renamed letter of the query stands for; what each wildcard."""
    words: dict[str, float]
    """Words that both have, and what each adds to the score."""
    parts: dict[str, float] = field(default_factory=dict)
    """What words, meaning and structure add to the score of a search; of equations of a library."""

    @property
    def score(self) -> float:
        """That of a search, where the second is in the library; how alike they are otherwise."""
        return sum(self.parts.values()) if self.parts else self.likeness

    def to_dict(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "score": round(self.score, 6),
            "parts": {part: round(value, 6) for part, value in self.parts.items()},
            "likeness": round(self.likeness, 6),
            "letters": self.letters,
            "words": [
                {"word": word, "score": round(score, 6)} for word, score in self.words.items()
            ],
            "query": self.query.to_dict(),
            "other": self.other.to_dict(),
        }

    def lines(self) -> list[str]:
        """All but the equations, in sentences."""
        said = [f"score {self.score:.3f}" + _sum(self.parts)]
        if self.query.shape is not None and self.other.shape is not None:
            met, size = len(self.query.marked), len(self.query.shape.nodes())
            said.append(f"alike {self.likeness:.3f}: {met} of {size} symbols")
        if self.letters:
            pairs = (f"{one} → {two}" for one, two in self.letters.items())
            said.append(f"letters: {', '.join(pairs)}")
        if self.words or list(self.parts) != ["structure"]:
            words = (f"{word} {score:.3f}" for word, score in self.words.items())
            said.append(f"words: {', '.join(words) or 'none in common'}")
        return said

    def __str__(self) -> str:
        return "\n".join([str(self.query), str(self.other), "", *self.lines()])

    def _repr_html_(self) -> str:
        table = rows(("", "equation"), (side.html() for side in (self.query, self.other)))
        return table + paragraphs(*self.lines())


def _sum(parts: dict[str, float]) -> str:
    said = [f"{part} {value:.3f}" for part, value in parts.items()]
    return f" = {' + '.join(said)}" if said else ""


def explain(search: Search, query: str, other: str) -> Why:
    """Why `other`, an equation, answers `query`: an equation, or words with $LaTeX$ among them."""
    answer = search.asked(other)
    if search.named(query) is None and reads_as_words(query):
        return _by_words(search, query, other, answer)
    asked = search.asked(query)
    if is_pattern(asked.layout):
        found = _laid(Side(query, asked.layout, None, []), other, answer, {}, {})
        return replace(found, parts={"structure": found.likeness} if answer.equation else {})
    parts: dict[str, float] = {}
    topic = search.topic(asked)
    if answer.equation is not None:
        number = search.number(answer.equation)
        every = np.ones(len(search.types), bool)
        scores = search.parts_for_equation(asked, every, EQUATION_PARTS)
        parts = {part: float(s[number]) for part, s in weighed(scores, EQUATION_PARTS).items()}
        worth = {row: weight * search.wording.share(row, number) for row, weight in topic.items()}
    else:  # not in the library: what is said of its kin
        said = search.topic(answer)
        worth = {row: min(weight, said.get(row, 0.0)) for row, weight in topic.items()}
    usual = _usual(search, answer)
    scaled = _scaled(worth, parts.get("words"))
    words = {usual.get(row, search.wording.name(row)): score for row, score in scaled.items()}
    return _laid(Side(query, asked.layout, asked.equation, []), other, answer, words, parts)


def _by_words(search: Search, query: str, other: str, answer: Asked) -> Why:
    """Why an equation answers words."""
    question = read_question(query)
    terms = search.wording.terms(question.words)
    parts: dict[str, float] = {}
    if answer.equation is not None:
        number = search.number(answer.equation)
        every = np.ones(len(search.types), bool)
        scores = search.parts_for_words(question, every, WORD_PARTS, terms=terms)
        parts = {part: float(s[number]) for part, s in weighed(scores, WORD_PARTS).items()}
        worth = {term.word: term.weight * term.share(number) for term in terms}
    else:
        said = search.topic(answer)
        rows = {term.word: search.wording.find(term.word) for term in terms}
        worth = {
            term.word: min(term.weight, said.get(row, 0.0))
            for term in terms
            if (row := rows[term.word]) is not None
        }
    words = _scaled(worth, parts.get("words"))
    shape = read_pattern(question.formulas[0]) if question.formulas else None
    return _laid(Side(query, shape, None, []), other, answer, words, parts)


def _scaled(worth: dict[_Key, float], total: float | None) -> dict[_Key, float]:
    """Stems, or words, that say something, the most first; together `total` where that is known."""
    whole = sum(worth.values())
    scale = total / whole if total is not None and whole else 1.0
    ranked = sorted((row for row in worth if worth[row] > 0), key=lambda row: (-worth[row], row))
    return {row: scale * worth[row] for row in ranked}


def _usual(search: Search, answer: Asked) -> dict[int, str]:
    """For each stem near an equation the word that stands for it most often."""
    if answer.equation is None:
        return {}
    near = search.wording.around(search.number(answer.equation), REACH)[0].tolist()
    often = Counter(near).most_common()[::-1]  # the commonest last, so that it stays
    return {int(search.wording.stem_of[word]): search.wording.words[word] for word, _ in often}


def _laid(
    query: Side, other: str, answer: Asked, words: dict[str, float], parts: dict[str, float]
) -> Why:
    """The two laid side by side, where both are equations."""
    there = Side(other, answer.layout, answer.equation, [])
    if query.shape is None or query.shape.root is None:
        return Why(query, there, 0.0, {}, words, parts)
    if is_pattern(query.shape):
        return _matched(query, query.shape, there, answer.layout, words, parts)
    found = Structure.alike(query.shape, answer.layout)
    letters = {_letter(one): _letter(two) for one, two in found.names.items() if one != two}
    mine, theirs = ([pair[side] for pair in found.pairs] for side in (0, 1))
    query, there = query._replace(marked=mine), there._replace(marked=theirs)
    return Why(query, there, found.score, letters, words, parts)


def _matched(
    query: Side,
    pattern: Layout,
    there: Side,
    answer: Layout,
    words: dict[str, float],
    parts: dict[str, float],
) -> Why:
    """A pattern laid upon what it matches."""
    rows = outline(answer)
    try:
        found = Pattern(pattern).match(rows)
    except ValueError as error:
        raise UsageError(str(error)) from None
    except OutOfStepsError:
        raise UsageError(
            f"there are too many ways to match {pattern.to_text()!r} with this equation"
        ) from None
    if found is None:
        return Why(query, there, 0.0, {}, words, parts)
    letters = {_letter(one): _letter(two) for one, two in found.names.items() if one != two}
    bound = {name: _text_of(answer.nodes(), rows, run) for name, run in sorted(found.bound.items())}
    query = query._replace(marked=list(range(len(pattern.nodes()))))
    there = there._replace(marked=found.places)
    return Why(query, there, found.score, letters | bound, words, parts)


def _text_of(nodes: list[Node], rows: Outline, run: Run) -> str:
    """What a wildcard stands for, in Unicode."""
    first = last = Node("")
    for at in rows.rows[run.row].places[run.start : run.stop]:
        last.n = Node(nodes[at].tag, nodes[at].look)
        last = last.n
        # the next element of a fence stands in the same row
        last.kids = {edge: kid for edge, kid in (nodes[at].kids or {}).items() if edge != "e"}
    last.kids = {edge: kid for edge, kid in (last.kids or {}).items() if edge not in run.but}
    return Layout(first.n).to_text()


def _letter(tag: str) -> str:
    return unescape(tag[2:])
