"""Ask a library: equations for words, and equations like an equation.

Three parts score every equation, each from 0 to 1: *words*, BM25 over the words of an equation
(`wording`); *meaning*, the cosine of vectors (`meaning`); *structure*, how alike two equations are
symbol by symbol (`structure`). The ranking is a weighted sum of them; `by` takes one part alone. An
equation that is asked for says little in words, so the words that its nearest kin have in common
stand for it. NumPy only, so that an answer comes at once from a cold start.
"""

import json
import re
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
from eqemb.index.encoder import Encoding
from eqemb.index.postings import Keyed, best_of, first_places, in_all, load
from eqemb.index.stemming import stem
from eqemb.index.structure import Found, Structure
from eqemb.index.text import Term, Wording
from eqemb.index.vectors import Meaning
from eqemb.library.database import Records
from eqemb.models.embeddings import Embeddings
from eqemb.search.paper import NO_MODEL, Paper
from eqemb.search.query import Question, Where, read_question
from eqemb.search.results import Answer, Hit
from eqemb.sources.names import arxiv_id

#: ARTICLE#4, ARTICLE(2.3) and ARTICLE:eq:loss; an article's name holds none of these marks. As
#: answers print them: ARTICLE (2.3), ARTICLE#4 (2.3).
_NAME = re.compile(
    r"(?P<article>[^#():]+?)(?P<blank>\s*)"
    r"(?:#(?P<ordinal>\d{1,9})(?:\s*\((?P<beside>[^()]+)\))?|\((?P<number>[^()]+)\)|:(?P<label>.+))"
)
#: What names do not hold and formulas do.
_FORMULA = re.compile(r"[\\^_{}=+<>|&$,\s]")
_SIGNS = re.compile(r"[\\^_{}=+<>|&$]")
#: What each part weighs, for a query in words and for one that is an equation.
WORD_PARTS = {"words": 1.0, "meaning": 0.1, "structure": 1.0, "encoder": 0.5}
EQUATION_PARTS = {"structure": 1.0, "words": 1.5, "meaning": 0.05}
BY = ("all", "words", "meaning", "structure", "encoder", "paper")
#: An equation's topic: the words that so many of its kin have in common, each trusted by a power
#: of its likeness.
KIN, TOPIC, TRUST = 20, 10, 8
CANDIDATES = 200
"""Types that structure finds."""

Scores = NDArray[np.float32]
Mask = NDArray[np.bool_]


def looks_like_name(query: str) -> str:
    """The article that a query names, or names misspelt; '' where it reads as a formula.

    Names of the library may look like formulas and words: `Search.named` knows those.
    """
    match = _NAME.fullmatch(query.strip())
    if match is None:
        return ""
    article, number = match["article"], match["number"] or ""
    if match["ordinal"] is None and (
        _FORMULA.search(article + number + (match["label"] or ""))
        or len(article) < 3
        or (match["blank"] and not re.search(r"\d", number))  # recall (balanced) is words
    ):
        return ""
    return article


def find(records: Records, name: str) -> Equation | None:
    """The equation that a name means; None where the text is no name but LaTeX."""
    name = name.strip()
    match = _NAME.fullmatch(name)
    article = records.key(match["article"]) if match else None
    if match is None or article is None:
        return None
    number = match["number"] or match["beside"]
    query = "SELECT ordinal, number, labels FROM equations WHERE article = ? ORDER BY ordinal"
    for ordinal, printed, labels in records.rows(query, article):
        if (
            (match["ordinal"] is None or ordinal == int(match["ordinal"]))
            and (number is None or printed == number)
            and (match["label"] is None or match["label"] in json.loads(labels))
        ):
            return records.equation(article, ordinal)[0]
    rest = name[len(match["article"]) :].strip()
    raise UsageError(f"{match['article']} has no equation {rest}: `eqemb show` lists its equations")


def check_no_article(records: Records, text: str) -> None:
    """Refuse what is meant as a name, and names an article but no equation: it is no LaTeX."""
    head = re.match(r"[^#():,]*[^#():,\s]", text.strip())
    if head is None or len(head[0]) < 3 or records.key(head[0]) is None:
        return
    rest = text.strip()[len(head[0]) :]
    if not _SIGNS.search(rest):
        raise UsageError(
            f"{text.strip()!r} names no equation, but {head[0]} is an article: write {head[0]}#4"
            " for its fourth equation; LaTeX that reads so goes between dollars"
        )


class Asked(NamedTuple):
    """An equation that is asked for."""

    layout: Layout
    equation: Equation | None
    """Where it stands in the library, if it was named."""


class Search:
    """The index of a library, opened for questions."""

    def __init__(
        self,
        records: Records,
        folder: Path,
        model: Callable[[], Embeddings | None] = lambda: None,
    ) -> None:
        """`model` opens the library's own model, for the rankings that need more than the index."""
        self.records, self._folder, self._open_model = records, folder, model
        self._equations = load(folder, "equations")  # article, ordinal, type, section, numbered
        self.wording = Wording(folder)
        self.structure = Structure(records, folder)

    @cached_property
    def meaning(self) -> Meaning | None:
        """Vectors; None where the library has no model."""
        is_there = (self._folder / "meaning.contexts.npy").exists()
        return Meaning(self.records, self._folder, self.wording) if is_there else None

    @cached_property
    def model(self) -> Embeddings | None:
        """The library's own model; None where it has none."""
        return self._open_model()

    @cached_property
    def paper(self) -> Paper:
        """The model, asked as in the paper."""
        if self.model is None:
            raise UsageError(NO_MODEL)
        return Paper(self._folder, self.model)

    @property
    def articles(self) -> NDArray[Any]:
        """The id of each equation's article."""
        column: NDArray[Any] = self._equations[:, 0]
        return column

    @cached_property
    def types(self) -> NDArray[Any]:
        """The type of each equation."""
        return np.ascontiguousarray(self._equations[:, 2])

    def reworded(self, wording: Wording) -> "Search":
        """The same search over other words: for an evaluation that leaves fields out."""
        other = Search(self.records, self._folder)
        other.wording = wording
        return other

    def names(self) -> list[str]:
        """The names of all equations, in order."""
        query = (
            "SELECT name, ordinal FROM equations e JOIN sources s ON s.id = e.article"
            " ORDER BY e.article, ordinal"
        )
        return [f"{name}#{ordinal}" for name, ordinal in self.records.rows(query)]

    # ------------------------------------------------------------ words -> equations

    def words(
        self,
        query: str,
        k: int = 10,
        *,
        by: str = "all",
        where: Where | None = None,
        encoding: Encoding | None = None,
    ) -> Answer:
        """Equations for words, phrases and formulas; for a name, that equation and its like."""
        allowed = self._allowed(where)
        if named := self.named(query):
            found = self.like(query, k, by=by, where=where)
            if not allowed[self.number(named)]:
                return found
            itself = self._hit(self.number(named), {"structure": 1.0})
            others = (hit for hit in found if named.id not in hit.family)
            return replace(found, hits=[itself, *others][:k])
        question = read_question(query)
        _check_question(question, by)
        for phrase in question.without:
            allowed &= ~self.wording.having(phrase)
        for phrase in question.phrases:
            allowed &= self.wording.having(phrase)
        terms = self.wording.terms(question.words)
        there = {stem(term.word) for term in terms}
        unknown = [word for word in dict.fromkeys(question.words) if stem(word) not in there]
        near = {word: some for word in unknown if (some := self.wording.near(word))}
        notes = _within(allowed)
        known = [word for word in question.words if word not in unknown]
        if known and all(word in STOP_WORDS for word in known) and not question.formulas:
            notes.append(f"every equation has such words near it: {', '.join(known)}")
        wanted = _wanted(by, WORD_PARTS, has_model=self.meaning is not None)
        parts = self.parts_for_words(question, allowed, wanted, notes, terms)
        if encoding is not None and question.words and by in ("all", "encoder"):
            parts["encoder"] = encoding.scores(" ".join(question.words))
        if by == "paper":
            notes += self.paper.notes(self.types[allowed], question.words)
        return Answer(self._best(weighed(parts, WORD_PARTS), k, allowed), unknown, near, notes)

    def named(self, query: str) -> Equation | None:
        """The equation that is named where words may stand: a label may look like a formula."""
        try:
            return find(self.records, query)
        except UsageError:
            if looks_like_name(query):
                raise
            return None  # words that begin like an article's name

    def parts_for_words(
        self,
        question: Question,
        allowed: Mask,
        wanted: Container[str],
        notes: list[str] | None = None,
        terms: list[Term] | None = None,
    ) -> dict[str, Scores]:
        """What each part that is wanted says of every equation, from 0 to 1.

        What was not looked at is added to the notes; `terms` are those of the question, where they
        were looked up already.
        """
        parts: dict[str, Scores] = {}
        if "words" in wanted and (said := terms or self.wording.terms(question.words)):
            parts["words"] = self.wording.scores_of(said)
        if self.meaning is not None and "meaning" in wanted:
            vector = self.meaning.of_words(question.words)
            if vector.any():
                cosines = self.meaning.contexts @ vector
                parts["meaning"] = np.maximum(cosines, 0, out=cosines)
        if question.formulas and "structure" in wanted:
            shapes = [read_pattern(latex) for latex in question.formulas]
            found = [self.kin(shape, allowed) for shape in shapes]
            parts["structure"] = np.mean([self._spread(one) for one in found], axis=0)
            if notes is not None:
                notes += [one.note for one in found if one.note]
                notes += [note for shape in shapes for note in _not_read(shape)]
        if "paper" in wanted:
            parts["paper"] = self.paper.equations_for(question.words)[self.types]
        return parts

    # ------------------------------------------------------------ equation -> equations

    def like(
        self, query: str, k: int = 10, *, by: str = "all", where: Where | None = None
    ) -> Answer:
        """Equations like the one named or the LaTeX given; those that match it, with wildcards."""
        return self.answer(self.asked(query), k, by=by, where=where)

    def answer(
        self, asked: Asked, k: int = 10, *, by: str = "all", where: Where | None = None
    ) -> Answer:
        """The same for an equation that was read."""
        allowed = self._allowed(where)
        wanted = _wanted(by, EQUATION_PARTS, has_model=self.meaning is not None)
        # by structure alone there is nothing else that could fill a long answer
        is_long = 4 * k > CANDIDATES and (by == "structure" or is_pattern(asked.layout))
        count = len(self.structure) if is_long else CANDIDATES
        if is_pattern(asked.layout):
            found = self.kin(asked.layout, allowed, count)
            hits = self._best({"structure": self._spread(found)}, k, allowed)
            notes = [found.note] if found.note else []
            return Answer(hits, notes=[*notes, *_within(allowed), *_not_read(asked.layout)])
        parts = self.parts_for_equation(asked, allowed, wanted, count)
        if asked.equation is not None:
            allowed[self.number(asked.equation)] = False
        notes = self.paper.notes(self.types[allowed]) if by == "paper" else []
        notes += _within(allowed)
        if asked.equation is None:
            notes += _not_read(asked.layout)
        return Answer(self._best(weighed(parts, EQUATION_PARTS), k, allowed), notes=notes)

    def parts_for_equation(
        self, asked: Asked, allowed: Mask, wanted: Container[str], count: int = CANDIDATES
    ) -> dict[str, Scores]:
        """What each part that is wanted says of every equation, from 0 to 1."""
        parts: dict[str, Scores] = {}
        found = None
        if "structure" in wanted:
            found = self.kin(asked.layout, allowed, count)
            parts["structure"] = self._spread(found)
        # what an equation is about does not depend on where others are looked for
        whole = found if allowed.all() else None
        if "words" in wanted and (topic := self.topic(asked, whole)):
            parts["words"] = self.wording.scores(topic)
        if self.meaning is not None and self.meaning.shapes is not None and "meaning" in wanted:
            units = ["\t".join(unit) for unit in asked.layout.units()]
            cosines = self.meaning.shapes @ self.meaning.of_units(units)
            parts["meaning"] = np.maximum(cosines, 0, out=cosines).take(self.types)
        if "paper" in wanted:
            kind = self.records.type_of(asked.layout.canonical())
            units = ["\t".join(unit) for unit in asked.layout.units()]
            vector = self.paper.alpha(kind, units, self.meaning)
            parts["paper"] = self.paper.equations_like(vector)[self.types]
        same = self.records.type_of(asked.layout.canonical())
        if same is not None:  # what is the same is as like as can be, whatever words it stands in
            equal = np.flatnonzero(self.types == same)
            for scores in parts.values():
                scores[equal] = 1.0
        return parts

    def asked(self, query: str) -> Asked:
        """The equation that a name or LaTeX means."""
        named = find(self.records, query)
        shape = layout(named.expanded) if named else read_pattern(query)
        if shape.root is None:
            raise UsageError(f"there is no symbol to look for in {query!r}: give LaTeX")
        return Asked(shape, named)

    def topic(
        self, asked: Asked, found: Found | None = None, count: int = TOPIC
    ) -> dict[int, float]:
        """The stems that say best what an equation and its nearest kin are about."""
        found = found or self.structure.find(asked.layout, count=KIN)
        own = [] if asked.equation is None else [self.number(asked.equation)]
        trust = [1.0] * len(own) + [float(score) ** TRUST for score in found.scores[:KIN]]
        kin = [int(self._first[kind]) for kind in found.types[:KIN]]
        return self.wording.topic([*own, *kin], trust, count)

    @cached_property
    def _first(self) -> NDArray[Any]:
        """The first equation of each type."""
        return first_places(self.types)

    def number(self, equation: Equation) -> int:
        """Return the row of an equation in the index.

        A skipped source may share the name of an article, so only articles are looked up.
        """
        key = self.records.key(equation.article)
        if key is None:
            raise UsageError(f"no article {equation.article!r} in this library")
        first = int(np.searchsorted(self._equations[:, 0], key))
        return first + equation.ordinal - 1

    def kin(self, shape: Layout, allowed: Mask, count: int = CANDIDATES) -> Found:
        """The types most like an equation, of those that are allowed."""
        types = None
        if not allowed.all():
            types = np.zeros(len(self.structure), bool)
            types[self.types[allowed]] = True
        return self.structure.find(shape, types, count)

    def _spread(self, found: Found) -> Scores:
        """Likenesses of types as scores of equations, 0 where it is not among the best."""
        scores = np.zeros(len(self.structure), np.float32)
        scores[found.types] = found.scores
        return scores.take(self.types)

    # ------------------------------------------------------------ limits

    def _allowed(self, where: Where | None) -> Mask:
        """Which equations an answer may have."""
        allowed = np.ones(len(self._equations), bool)
        if where is None:
            return allowed
        articles = self._articles(where)
        if articles is not None:
            allowed &= np.isin(self._equations[:, 0], articles)
        if where.numbered:
            allowed &= self._equations[:, 4] == 1
        if where.section is not None:
            wanted = {stem(word) for word in read_tokens(where.section)[0]}
            if not wanted:
                raise UsageError(f"there is no word in the section {where.section!r}")
            titles, section = Keyed(self._folder, "sections"), self._equations[:, 3]
            owners = (titles.owners(word) for word in wanted)
            allowed &= in_all(owners, int(section.max(initial=-1)) + 1)[section]
        for latex in where.has:
            allowed &= self.structure.having(layout(latex))[self.types]
        return allowed

    def _articles(self, where: Where) -> list[int] | None:
        """The ids of the articles that are meant; None for all."""
        if where.collection is None and where.article is None and where.year is None:
            return None
        rows = self.records.rows(
            "SELECT id, name, collection FROM sources WHERE status != 'skipped'"
        )
        years = where.years if where.year is not None else None
        listed = [(key, name, group) for key, name, group in rows]
        found = [
            key
            for key, name, group in listed
            if (where.collection is None or group == where.collection)
            and (where.article is None or name == where.article)
            and (years is None or _year(name) in years)
        ]
        if not found:
            if where.year is not None:
                raise UsageError(f"no paper of the library has an arXiv id of {where.year}")
            wanted = where.collection or where.article
            raise UsageError(f"no paper of the library is of {wanted!r}: `eqemb info` counts them")
        return found

    # ------------------------------------------------------------ hits

    def _best(self, parts: Mapping[str, Scores], k: int, allowed: Mask) -> list[Hit]:
        """The best equations, one of each family, ties in the order of the library."""
        if not parts:
            return []
        total = np.where(allowed, sum(parts.values()), np.float32(0))
        families = self.structure.families
        chosen: dict[int, int] = {}
        take = 4 * k + 20
        while True:
            order = best_of(total, take)
            for index in order.tolist():
                chosen.setdefault(int(families[self.types[index]]), index)
            if len(chosen) >= k or len(order) < take:
                break
            take *= 8
        return [
            self._hit(index, {part: float(scores[index]) for part, scores in parts.items()})
            for index in list(chosen.values())[:k]
        ]

    def ranked(
        self,
        scores: Scores,
        k: int,
        where: Where | None = None,
        *,
        part: str = "meaning",
        besides: Sequence[int] = (),
    ) -> list[Hit]:
        """The best equations by scores from elsewhere, but for those named by their numbers."""
        allowed = self._allowed(where)
        allowed[list(besides)] = False
        return self._best({part: scores}, k, allowed)

    def equation(self, number: int) -> tuple[Equation, str]:
        """An equation by its number among all, with its article's title."""
        article, ordinal = self._equations[number, :2].tolist()
        return self.records.equation(article, ordinal)

    def _hit(self, index: int, parts: dict[str, float]) -> Hit:
        kind = int(self._equations[index, 2])
        equation, title = self.equation(index)
        others = self.family(int(self.structure.families[kind]), besides=equation.id)
        return Hit(sum(parts.values()), equation, title, others, parts)

    def family(self, number: int, besides: str = "") -> list[str]:
        """The names of all equations of a family, in order."""
        query = (
            "SELECT name, ordinal FROM equations e JOIN sources s ON s.id = e.article"
            " WHERE type = ? ORDER BY e.article, ordinal"
        )
        kinds = np.flatnonzero(self.structure.families == number).tolist()
        rows = [row for kind in kinds for row in self.records.rows(query, kind)]
        names = (f"{name}#{ordinal}" for name, ordinal in rows)
        return [name for name in names if name != besides]


def _wanted(by: str, weights: Mapping[str, float], *, has_model: bool) -> Container[str]:
    """The parts that a ranking needs."""
    if by not in BY:
        raise UsageError(f"no ranking by {by!r}: there are {', '.join(BY)}")
    if by == "meaning" and not has_model:
        raise UsageError(NO_MODEL)
    if by == "encoder" and by not in weights:
        raise UsageError("an encoder ranks equations for words, not for an equation")
    return weights if by == "all" else (by,)


def _check_question(question: Question, by: str) -> None:
    """Refuse a query that asks for nothing, or a ranking by what it does not have."""
    if not question.words and not question.formulas:
        raise UsageError(
            "only what must not be there is given: say what to look for, too"
            if question.without
            else "nothing is asked for: give words, or LaTeX between dollars"
        )
    if by == "structure" and not question.formulas:
        raise UsageError("a ranking by structure needs LaTeX: write it between dollars")
    if by not in ("all", "structure") and question.formulas and not question.words:
        raise UsageError(f"a ranking by {by} needs words beside the LaTeX")


def _within(allowed: Mask) -> list[str]:
    """A note where limits leave nothing."""
    return [] if allowed.any() else ["no equation of the library is within these limits"]


def _not_read(shape: Layout) -> list[str]:
    """Notes on what of a typed formula could not be read."""
    return [f"not read: {' '.join(filter(None, problem))}" for problem in shape.problems]


def weighed(parts: Mapping[str, Scores], weights: Mapping[str, float]) -> dict[str, Scores]:
    """What each part adds to the score; the parts that are there weigh 1 together."""
    own = {part: weights.get(part, 1.0) for part in parts}
    total = sum(own.values())
    return {part: np.float32(own[part] / total) * scores for part, scores in parts.items()}


def _year(name: str) -> int:
    """The year that an arXiv id tells; 0 where the name is none."""
    number = arxiv_id(name)[0].rpartition("/")[2]
    if not number:
        return 0
    return (1900 if number[:2] > "90" else 2000) + int(number[:2])
