"""What an equation is about: the words that say it best, each with a sentence that bears it out.

An equation says little in words, and one that is pasted says nothing. So the equations most like
it speak for it, its *kin*: a word counts by what it says of them (as in a search for words), by how
much they are trusted, and by how near its vector is to the vectors of their contexts and of the
equation's own units. In a library without a model the last is left out.

Here too: the neighbours of a word, and equations near a sum of words, equations and units. NumPy
only, so that an answer comes at once from a cold start.
"""

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.article import EQUATION_MARK, Equation, read_tokens
from eqemb.errors import UnknownKeyError, UsageError
from eqemb.formula import Layout
from eqemb.formula.pattern import is_pattern
from eqemb.index.vectors import lengthened
from eqemb.search.engine import Asked, Search
from eqemb.search.paper import NO_MODEL
from eqemb.search.query import Where
from eqemb.search.results import (
    WIDTH,
    Answer,
    cut,
    data_frame,
    paragraphs,
    place,
    readable,
    rows,
    where_said,
)

#: Types that may be kin, those that are taken, and how many equations of each.
MAY_BE, KIN, EACH = 64, 20, 8
#: Kin are trusted by a power of how alike they are, of which so much is the units they share as
#: they stand: two equations with other letters are often about other things.
TRUST, AS_WRITTEN = 2, 0.3
#: Less of its units in common with any kin, and an equation is like nothing.
LEAST = 0.15
#: Kin whose contexts have a lower mean cosine, less that of chance, are about different things.
#: That says little where one of them is nearly the equation: a softmax is used for all sorts.
AGREE, NEAR = 0.1, 0.65
#: Words that may be said of an equation, and words around it in which they are counted.
CANDIDATES, REACH = 60, 64
#: Sentences on each side of an equation in which words are looked for.
NEARBY = 8
_FAR = 20_000  # letters in which they are
#: A heading says less than a sentence.
_SENTENCE = 5
_BESIDE = 40  # letters of a sentence that go beside the name of its article
_UNIT = re.compile(r"\(([^\s,]+), ([^\s,]+), (\w+)\)")

Floats = NDArray[np.float32]


class Said(NamedTuple):
    """A word that says what an equation is about."""

    word: str
    score: float
    sentence: str | None
    """Where it is said, with `[equation]` for the equation; None where it is said nowhere near."""
    article: str | None
    """The article of the sentence."""

    def to_text(self, rank: int, width: int = WIDTH) -> str:
        """The word and its sentence as people read them; a long name has a line of its own."""
        lead = f"{rank:3}  {self.score:6.3f}  "
        lines, room = [self.word], width - len(lead)
        if self.sentence is not None and self.article is not None:
            beside = room - len(self.article) - 3
            fits = beside >= _BESIDE
            line = where_said(self.word, readable(self.sentence), beside if fits else room)
            lines += [f"{line} · {self.article}"] if fits else [line, self.article]
        return lead + ("\n" + " " * len(lead)).join(lines)


@dataclass(frozen=True, slots=True)
class Description:
    """What an equation is about."""

    words: list[Said]
    shape: Layout
    equation: Equation | None
    """Where it stands in the library, if it was named."""
    kin: list[str]
    """The names of the equations most like it, which speak for it."""
    notes: list[str] = field(default_factory=list)
    """What else people should know of the answer."""

    def __iter__(self) -> Iterator[Said]:
        return iter(self.words)

    def __len__(self) -> int:
        return len(self.words)

    def to_dict(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "words": [said._asdict() | {"score": round(said.score, 6)} for said in self.words],
            "equation": self._equation(),
            "kin": self.kin,
            "notes": self.notes,
        }

    def _equation(self) -> dict[str, Any] | None:
        if self.equation is None:
            return None
        names = ("id", "article", "number", "label", "latex", "file", "line")
        known = {name: getattr(self.equation, name) for name in names}
        return known | {"text": self.shape.to_text(), "mathml": self.shape.to_mathml()}

    def to_text(self, width: int = WIDTH) -> str:
        """The equation, and each word with its sentence, as a terminal shows them."""
        said = [said.to_text(rank, width) for rank, said in enumerate(self.words, 1)]
        return "\n\n".join([cut(self.shape.to_text(), width), *said])

    def __str__(self) -> str:
        return "\n".join([*self.notes, self.to_text()])

    def to_pandas(self) -> Any:
        """A data frame, a row for each word; needs pandas."""
        return data_frame(said._asdict() for said in self.words)

    def _repr_html_(self) -> str:
        name = f"<p>{place(self.equation)}</p>" if self.equation is not None else ""
        cells = (
            (
                escape(said.word),
                f"{said.score:.3f}",
                escape(said.sentence or ""),
                f"<code>{escape(said.article or '')}</code>",
            )
            for said in self.words
        )
        table = rows(("word", "score", "sentence", "article"), cells)
        return self.shape.to_mathml() + name + paragraphs(*self.notes) + table


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The words nearest to a word."""

    word: str
    words: list[tuple[str, float]]

    def __iter__(self) -> Iterator[tuple[str, float]]:
        return iter(self.words)

    def __len__(self) -> int:
        return len(self.words)

    def to_dict(self) -> dict[str, Any]:
        """As `--json` prints it."""
        near = [{"word": word, "score": round(score, 6)} for word, score in self.words]
        return {"word": self.word, "words": near}

    def __str__(self) -> str:
        ranked = enumerate(self.words, 1)
        return "\n".join(f"{rank:3}  {score:6.3f}  {word}" for rank, (word, score) in ranked)

    def _repr_html_(self) -> str:
        return rows(("word", "score"), ((escape(word), f"{s:.3f}") for word, s in self.words))


class Kin(NamedTuple):
    """Equations that speak for one, the most trusted first."""

    numbers: list[int]
    """Of the equations; its own first, where it has one."""
    trust: list[float]
    shared: float
    """The largest part of the equation's units that one of them has."""


class _Space:
    """Vectors with their mean taken off: what all of them share says nothing of one."""

    def __init__(self, vectors: NDArray[Any]) -> None:
        self._vectors = vectors
        some = vectors[:: max(1, len(vectors) // 20_000)]  # enough for a mean
        self._mean: Floats = np.asarray(some.sum(axis=0) / max(1, len(some)), np.float32)

    def of(self, numbers: Sequence[int]) -> Floats:
        """Directions of rows."""
        return self.direction(self._vectors[list(numbers)])

    def direction(self, vectors: NDArray[Any]) -> Floats:
        """Directions of vectors; what has none has none here."""
        known = vectors.any(axis=-1, keepdims=True)
        return lengthened(np.where(known, vectors - self._mean, 0))

    def cosines(self, direction: Floats) -> Floats:
        """Of all rows, without a copy of them."""
        along = self._vectors @ direction - self._mean @ direction
        squares = 1 - 2 * self._along_mean + self._mean @ self._mean  # rows are of length one
        made: Floats = np.asarray(along / np.sqrt(np.maximum(squares, 1e-6)), np.float32)
        made[self._along_mean == 0] = 0
        return made

    @cached_property
    def _along_mean(self) -> Floats:
        found: Floats = self._vectors @ self._mean
        return found


class Describer:
    """Answers in words, and to sums of words, equations and units."""

    def __init__(self, search: Search) -> None:
        self._search = search

    # ------------------------------------------------------------ equation -> words

    def describe(self, query: str, k: int = 10, *, by: str = "all") -> Description:
        """The words that say best what an equation is about."""
        if by not in ("all", "paper"):
            raise UsageError(f"no description by {by!r}: there are all, paper")
        asked = self._search.asked(query)
        kin = self.kin(asked)
        if asked.equation is None and (not kin.numbers or kin.shared < LEAST):
            return Description([], asked.layout, None, [])
        if by == "paper":
            words, notes = self._as_in_the_paper(asked, kin, k)
        else:
            words, notes = self._words(asked, kin, k), self._doubts(asked, kin)
        names = [self._search.equation(number)[0].id for number in kin.numbers]
        own = asked.equation.id if asked.equation is not None else ""
        others = [name for name in names if name != own]
        return Description(words, asked.layout, asked.equation, others, notes)

    def kin(self, asked: Asked) -> Kin:
        """The equations most like one, by their symbols with letters renamed and as they stand."""
        found = self._search.structure.find(asked.layout, count=MAY_BE)
        units = Counter("\t".join(unit) for unit in asked.layout.units())
        rows_of = self._search.structure.unit_rows(units)
        known = {row: units[unit] for unit, row in rows_of.items()}
        size = max(1, sum(units.values()))
        ranked: list[tuple[float, int]] = []
        # a single symbol has no units to share, and what matches a pattern is like it
        is_sure = len(asked.layout.nodes()) == 1 or is_pattern(asked.layout)
        most = 1.0 if is_sure and len(found.types) else 0.0
        for kind, alike in zip(found.types.tolist(), found.scores.tolist(), strict=True):
            bag = next(self._search.records.rows("SELECT units FROM types WHERE id = ?", kind))[0]
            have = Counter(np.frombuffer(bag, np.int32).tolist())
            shared = sum(min(count, have[row]) for row, count in known.items()) / size
            most = max(most, shared)
            ranked.append(((1 - AS_WRITTEN) * alike + AS_WRITTEN * shared, kind))
        ranked.sort(key=lambda item: (-item[0], item[1]))
        numbers, trust = [], []
        if asked.equation is not None:
            numbers, trust = [self._search.number(asked.equation)], [1.0]
        for worth, kind in ranked[:KIN]:
            for number in np.flatnonzero(self._search.types == kind)[:EACH].tolist():
                if number not in numbers[:1]:
                    numbers.append(number)
                    trust.append(worth**TRUST)
        return Kin(numbers, trust, most)

    def _words(self, asked: Asked, kin: Kin, k: int) -> list[Said]:
        """Words of kin, weighed by the vectors where there are some."""
        homes = [self._homes[int(self._search.articles[number])] for number in kin.numbers]
        topic = self._search.wording.topic(kin.numbers, kin.trust, CANDIDATES, homes)
        forms = self.forms(kin)
        weighed = self._weighed(topic, forms, asked, kin)
        total = sum(weighed.values())
        ranked = sorted(weighed, key=lambda row: (-weighed[row], row))
        support = _Sentences(self._search, kin, own=asked.equation is not None)
        said: list[Said] = []
        for row in ranked:
            found = support.of(row, forms.get(row))
            if found is not None:
                said.append(found._replace(score=weighed[row] / total))
            if len(said) == k:
                break
        return said

    def _weighed(
        self, topic: dict[int, float], forms: dict[int, str], asked: Asked, kin: Kin
    ) -> dict[int, float]:
        """Stems by their weight times the cosine of their usual form; unknown forms as the rest."""
        meaning = self._search.meaning
        if meaning is None:
            return topic
        directions = [lengthened(self._mean_context(kin))]
        if self._shapes is not None:
            directions.append(self._shape(asked.layout))
        wanted = lengthened(np.sum(directions, axis=0))
        cosines = {
            row: max(0.01, float(meaning.of_words([word]) @ wanted))
            for row in topic
            if (word := forms.get(row)) is not None and meaning.knows(word)
        }
        usual = float(np.mean(list(cosines.values())[:10])) if cosines else 1.0
        return {row: weight * cosines.get(row, usual) for row, weight in topic.items()}

    def forms(self, kin: Kin) -> dict[int, str]:
        """For each stem near kin the word that stands for it in most of their articles."""
        wording = self._search.wording
        found: dict[int, dict[int, dict[int, float]]] = {}
        for number, trust in zip(kin.numbers, kin.trust, strict=True):
            home = int(self._search.articles[number])
            for word in wording.around(number, REACH)[0].tolist():
                said = found.setdefault(int(wording.stem_of[word]), {}).setdefault(word, {})
                said[home] = max(said.get(home, 0.0), trust)
        return {
            row: wording.words[max(words, key=lambda word: (sum(words[word].values()), -word))]
            for row, words in found.items()
        }

    @cached_property
    def _homes(self) -> dict[int, int]:
        """For each article the group of near-duplicates that it is of, or itself."""
        listed = self._search.records.rows("SELECT id, cluster FROM sources")
        return {key: key if group is None else -group for key, group in listed}

    def _doubts(self, asked: Asked, kin: Kin) -> list[str]:
        """What speaks against a description: kin far from it that do not agree with each other."""
        if self._contexts is None or asked.equation is not None or max(kin.trust) >= NEAR**TRUST:
            return []
        best: dict[int, int] = {}
        for at, number in enumerate(kin.numbers):
            best.setdefault(self._homes[int(self._search.articles[number])], at)
        chosen = list(best.values())
        directions = self._contexts.of([kin.numbers[at] for at in chosen])
        trust = np.array([kin.trust[at] for at in chosen]) ** 2  # the nearest matter most
        pairs = np.outer(trust, trust)
        np.fill_diagonal(pairs, 0)
        agreement = float((pairs * (directions @ directions.T)).sum() / max(pairs.sum(), 1e-12))
        if len(chosen) > 1 and agreement < AGREE:
            far = "no equation is very like it, and the nearest are about different things"
            return [f"{far}: trust these words less"]
        return []

    def _as_in_the_paper(self, asked: Asked, kin: Kin, k: int) -> tuple[list[Said], list[str]]:
        """Words by the paper's pairing of vectors."""
        paper, notes = self._search.paper, list[str]()
        kind = self._search.records.type_of(asked.layout.canonical())
        if kind is None or paper.rows[kind] < 0:
            others = [n for n in kin.numbers if paper.rows[self._search.types[n]] >= 0]
            if not others:
                return [], ["the model has no vector for this equation, nor for any like it"]
            kind = int(self._search.types[others[0]])
            name = self._search.equation(others[0])[0].id
            notes.append(f"the model has no vector for this equation: {name} stands for it")
        cosines = paper.words_for(kind)
        support = _Sentences(self._search, kin, own=asked.equation is not None)
        said = []
        for row in np.argsort(-cosines, kind="stable")[:k].tolist():
            word = paper.model.keys["words"][row]
            stem = self._search.wording.find(word)
            found = None if stem is None else support.of(stem, word, exact=True)
            plain = Said(word, float(cosines[row]), None, None)
            said.append(found._replace(score=plain.score) if found else plain)
        return said, notes

    # ------------------------------------------------------------ words -> words

    def neighbours(self, word: str, k: int = 10) -> Neighbours:
        """The words nearest to a word: by the cosine of the sum of rho and alpha.

        By rho alone, or alpha, words are near that stand in each other's place (cosine: jaccard);
        by one against the other, words that stand together (cosine: similarity). The cosine of the
        sums has both, and reads best.
        """
        model = self._search.model
        if model is None or "alpha_words" not in model.arrays:
            raise UsageError(NO_MODEL)
        view = model.view("words")
        row = view.key_to_index.get(word.lower())
        if row is None:
            near = difflib.get_close_matches(word.lower(), view.index_to_key, 3, 0.75)
            hint = (
                f"did you mean {', '.join(near)}?"
                if near
                else "rare and short words have none, try another"
            )
            raise UnknownKeyError(f"the model has no vector for {word!r}: {hint}")
        vectors = lengthened(np.asarray(model.arrays["alpha_words"]))
        if "rho_words" in model.arrays:
            vectors = lengthened(vectors + lengthened(np.asarray(model.arrays["rho_words"])))
        cosines = vectors @ vectors[row]
        order = [at for at in np.argsort(-cosines, kind="stable")[: k + 1].tolist() if at != row]
        found = [(view.index_to_key[at], float(cosines[at])) for at in order[:k]]
        return Neighbours(view.index_to_key[row], found)

    # ------------------------------------------------------------ sums -> equations

    def query(
        self,
        positive: Sequence[Any] = (),
        negative: Sequence[Any] = (),
        k: int = 10,
        where: Where | None = None,
    ) -> Answer:
        """Equations near a sum of words, equations (names, or $LaTeX$) and units (tuples).

        An equation has two vectors, of the words around it and of its units, each with the mean of
        all taken off, and so has each member of the sum. A word has its own vector in both: words
        predict words, and units predict words, so that its cosine with either says something (with
        both, `recall` finds the F-measure, which it does with neither alone). So has a unit. The
        score is the mean of the two cosines.
        """
        if self._contexts is None:
            raise UsageError(NO_MODEL)
        if not positive and not negative:
            raise UsageError("query needs at least one word, equation or unit")
        answer = Answer([])
        total = np.zeros((2, self._search.meaning.dim if self._search.meaning else 0), np.float32)
        besides: list[int] = []
        for sign, members in ((1, positive), (-1, negative)):
            for member in members:
                total += sign * self._member(member, answer, besides)
        if not total.any():
            return answer
        scores = self._contexts.cosines(lengthened(total[0]))
        if self._shapes is not None:
            shapes = self._shapes.cosines(lengthened(total[1]))
            scores = (scores + shapes[self._search.types]) / 2
        answer.hits.extend(self._search.ranked(np.maximum(scores, 0), k, where, besides=besides))
        return answer

    def _member(self, member: Any, answer: Answer, besides: list[int]) -> Floats:
        """A member of a sum: its direction among contexts, and among shapes."""
        meaning = self._search.meaning
        if meaning is None:
            raise UsageError(NO_MODEL)
        unit = _unit(member)
        if unit is not None:
            if self._shapes is None:
                raise UsageError("the library's model knows no units: leave them out")
            vector = meaning.of_units(["\t".join(unit)])
            if not vector.any():
                answer.notes.append(f"the model knows no unit like {unit}")
            return np.stack([vector, vector])
        if not isinstance(member, str):
            raise UsageError(
                f"{member!r} is no word, equation or unit: give text, or three symbols"
            )
        text = member.strip()
        if text.startswith("$") or self._search.named(text) is not None:
            return self._equation(text, answer, besides)
        words = [word.lower() for word in read_tokens(text)[0]]
        for word in words:
            if not meaning.knows(word):
                answer.unknown.append(word)
                if near := [w for w in self._search.wording.near(word) if meaning.knows(w)]:
                    answer.near[word] = near
        vector = meaning.of_words(words)
        return np.stack([vector, vector])

    def _equation(self, text: str, answer: Answer, besides: list[int]) -> Floats:
        asked = self._search.asked(text)
        if asked.equation is not None and self._contexts is not None:
            number = self._search.number(asked.equation)
            besides.append(number)
            context = self._contexts.of([number])[0]
        else:
            kin = self.kin(asked)
            if not kin.numbers:
                answer.notes.append(f"no equation of the library is like {text}")
            context = lengthened(self._mean_context(kin))
        shape = self._shape(asked.layout) if self._shapes is not None else np.zeros_like(context)
        return np.stack([context, shape])

    # ------------------------------------------------------------ vectors

    @cached_property
    def _contexts(self) -> _Space | None:
        meaning = self._search.meaning
        return None if meaning is None else _Space(meaning.contexts)

    @cached_property
    def _shapes(self) -> _Space | None:
        meaning = self._search.meaning
        return None if meaning is None or meaning.shapes is None else _Space(meaning.shapes)

    def _mean_context(self, kin: Kin) -> Floats:
        """Where the contexts of kin point to together."""
        meaning = self._search.meaning
        if self._contexts is None or meaning is None or not kin.numbers:
            return np.zeros(0 if meaning is None else meaning.dim, np.float32)
        made: Floats = np.array(kin.trust, np.float32) @ self._contexts.of(kin.numbers)
        return made

    def _shape(self, shape: Layout) -> Floats:
        """Where the units of an equation point to."""
        meaning = self._search.meaning
        if meaning is None or self._shapes is None:
            return np.zeros(0, np.float32)
        return self._shapes.direction(meaning.of_units(["\t".join(u) for u in shape.units()]))


def _unit(member: Any) -> tuple[str, str, str] | None:
    """A unit, given as three symbols or as `eqemb units` prints it."""
    if isinstance(member, str):
        found = _UNIT.fullmatch(member.strip())
        return (found[1], found[2], found[3]) if found else None
    if isinstance(member, tuple | list) and len(member) == 3 and all(map(_is_text, member)):
        return (member[0], member[1], member[2])
    return None


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


# ------------------------------------------------------------ sentences


class _Place(NamedTuple):
    """A sentence, and the stems in it with the form of each."""

    sentence: str
    article: str
    stems: dict[int, set[str]]
    is_whole: bool
    """Whether it is a sentence rather than a heading."""


class _Sentences:
    """Where words are said of an equation and its kin.

    First of the equation itself, then of its kin; of each what stands around it and what refers to
    it before the sentences nearby.
    """

    def __init__(self, search: Search, kin: Kin, *, own: bool) -> None:
        """`own` says that the first of the kin is the equation itself."""
        self._search, self._kin, self._own = search, kin, own
        self._texts: dict[str, tuple[str, list[int]]] = {}

    def of(self, row: int, form: str | None, *, exact: bool = False) -> Said | None:
        """The first sentence with a stem: with this form of it, if there is one."""
        fallback: Said | None = None
        for places in self._places:
            holding = [place for place in places if row in place.stems]
            holding.sort(key=lambda place: not place.is_whole)  # stable: the order of trust stays
            for spot in holding:
                if form in spot.stems[row]:
                    return Said(form or "", 0.0, spot.sentence, spot.article)
            if holding and fallback is None:
                spot = holding[0]
                fallback = Said(min(spot.stems[row]), 0.0, spot.sentence, spot.article)
        return None if exact else fallback

    @cached_property
    def _places(self) -> list[list[_Place]]:
        """The sentences in the order of trust, in groups of equal trust."""
        groups: list[list[_Place]] = [[], [], [], []]
        for at, number in enumerate(self._kin.numbers):
            equation = self._search.equation(number)[0]
            around, nearby = self._lines(equation)
            first = 0 if at == 0 and self._own else 2
            for group, texts in ((first, [*around, *equation.references]), (first + 1, nearby)):
                groups[group] += [self._place(text, equation.article) for text in texts]
        return groups

    def _lines(self, equation: Equation) -> tuple[list[str], list[str]]:
        """The sentences around an equation, the nearest first, and those nearby."""
        text, marks = self._text(equation.article)
        at, end = marks[equation.ordinal - 1], marks[equation.ordinal - 1] + len(EQUATION_MARK)
        left, here_left = _cut(text[max(0, at - _FAR) : at].split("\n"), last=True)
        right, here_right = _cut(text[end : end + _FAR].split("\n"), last=False)
        here = [f"{here_left}[equation]{here_right}"] if here_left + here_right else []
        around = here + left[-1:] + right[:1]
        steps = range(1, NEARBY)
        nearby = [side[at] for at in steps for side in (left[::-1], right) if at < len(side)]
        return [line.replace(EQUATION_MARK, "[…]") for line in around], [
            line.replace(EQUATION_MARK, "[…]") for line in nearby
        ]

    def _text(self, article: str) -> tuple[str, list[int]]:
        """The text of an article and where its equations stand; kin are often of one article."""
        if article not in self._texts:
            query = "SELECT text FROM articles a JOIN sources s ON s.id = a.id WHERE name = ?"
            text = next(self._search.records.rows(query, article))[0]
            marks = [found.start() for found in re.finditer(re.escape(EQUATION_MARK), text)]
            self._texts[article] = text, marks
        return self._texts[article]

    def _place(self, sentence: str, article: str) -> _Place:
        wording = self._search.wording
        stems: dict[int, set[str]] = {}
        words = read_tokens(sentence.replace("[equation]", " "))[0]
        for word in map(str.lower, words):
            row = wording.number(word)
            if row is not None:
                stems.setdefault(int(wording.stem_of[row]), set()).add(word)
        return _Place(sentence, article, stems, len(words) >= _SENTENCE)


def _cut(lines: Iterable[str], *, last: bool) -> tuple[list[str], str]:
    """Sentences, and the one that the equation stands in, as far as it is on this side."""
    kept = list(lines)
    own = kept.pop(-1 if last else 0) if kept else ""
    return [line.strip() for line in kept if line.strip()], own
