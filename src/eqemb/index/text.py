"""The words of equations: those around each one, and those of its sentence, section and label.

    words.txt, stems.npy    the words of the library in lower case, and the stem of each
    words.*.npy, stems.*    the numbers of both, by their keys
    wording.*.npy           the postings of stems: equations, and what a stem says of them
    tokens.npy, places.npy  all text as words; for each equation its article's bounds and its place
    positions.*.npy         for each stem where it stands in the text

BM25 over several fields: a stem's frequency is the sum over the fields of how often it stands
there, times the field's weight; around the equation a word at distance d counts 1 / sqrt(d). It is
saturated once, and all but the idf is kept in the postings. NumPy only.
"""

import difflib
import json
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.article import read_tokens
from eqemb.corpus.vocabulary import STOP_WORDS
from eqemb.index.postings import Column, Gatherer, Keys, Postings, Profiles, first_places, load
from eqemb.index.stemming import stem
from eqemb.library.database import Records

#: Words on each side of an equation that are its context, weighted by 1 / sqrt(distance).
REACH = 128
#: What a word counts in each field beside 1 / sqrt(distance) around the equation.
FIELDS = {"sentence": 0.15, "section": 1.0, "title": 0.15, "label": 3.0, "references": 1.0}
#: BM25's saturation. Lengths do not count: all contexts are as long as their reach.
K1 = 0.6
_SLICE = 2_000  # equations whose contexts are gathered at a time
_JOINED = 6  # words of a phrase that are joined in every way
_NEAR = 0.75  # how alike words have to be that may have been meant
#: Words of a label: `eq:crossEntropy` has cross and entropy.
_LABEL = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PREFIXES = frozenset(("eq", "eqn", "equation", "eqs", "fig", "sec", "app", "def", "thm", "lem"))

Array = NDArray[Any]
Scores = NDArray[np.float32]
#: Stems that stand one after the other.
Phrase = tuple[int, ...]


# ------------------------------------------------------------ making it


def index_words(records: Records, folder: Path, fields: Iterable[str] = FIELDS) -> None:
    """Index the words of every equation; an evaluation may leave fields out."""
    vocabulary, gatherer = _Vocabulary(), Gatherer(folder, "wording")
    positions = Gatherer(folder, "positions", weighted=False)
    weights = {name: FIELDS[name] for name in fields}
    text, places = Column(folder / "tokens.npy", np.int32), [np.empty((0, 3), np.int64)]
    first = start = 0
    for title, prose, equations in articles(records):
        words, marks = read_tokens(prose)
        tokens, at = vocabulary.numbers(words), np.array(marks, np.int64)
        text.add(tokens)
        end = start + len(tokens)
        bounds = [np.full_like(at, start), at + start, np.full_like(at, end)]
        places.append(np.stack(bounds, axis=1))
        by_field = [
            {name: vocabulary.numbers(told) for name, told in said(title, row).items()}
            for row in equations
        ]
        stems = vocabulary.stems(tokens)
        positions.add(stems, np.arange(start, end))
        for low in range(0, len(at), _SLICE):
            part = slice(low, low + _SLICE)
            rows, owners, values = around(stems, at[part])
            for owner, told in enumerate(by_field[part]):
                for name, weight in weights.items():
                    rows.append(vocabulary.stems(told[name]))
                    owners.append(np.full(len(told[name]), owner))
                    values.append(np.full(len(told[name]), weight))
            row, owner_of, impact = _impacts(rows, owners, values)
            gatherer.add(row, owner_of + first + low, impact)
        first, start = first + len(at), end
    text.close()
    np.save(folder / "places.npy", np.concatenate(places))
    vocabulary.write(folder)
    gatherer.write(vocabulary.roots, owners=first)
    positions.write(vocabulary.roots)


class _Vocabulary:
    """Words and their stems, numbered as they come."""

    def __init__(self) -> None:
        self._words: dict[str, int] = {}
        self._stems: dict[str, int] = {}
        self._stem_of = array("i")

    def numbers(self, words: Iterable[str]) -> Array:
        """Words as numbers; new ones are taken in."""
        found = []
        for word in map(str.lower, words):
            row = self._words.setdefault(word, len(self._words))
            if row == len(self._stem_of):
                self._stem_of.append(self._stems.setdefault(stem(word), len(self._stems)))
            found.append(row)
        return np.array(found, np.int32)

    def stems(self, numbers: Array) -> Array:
        """The stems of words."""
        return np.frombuffer(self._stem_of, np.int32)[numbers] if len(numbers) else numbers

    @property
    def roots(self) -> int:
        """How many stems there are."""
        return len(self._stems)

    def write(self, folder: Path) -> None:
        """Keep it."""
        (folder / "words.txt").write_text("\n".join(self._words), "utf-8")
        np.save(folder / "stems.npy", np.array(self._stem_of, np.int32))
        Keys.write(folder, "words", self._words)
        Keys.write(folder, "stems", self._stems)


def articles(records: Records) -> Iterator[tuple[str, str, list[tuple[Any, ...]]]]:
    """Title, text and equations of every article that has equations, in order."""
    query = (
        'SELECT labels, section, context, "references" FROM equations'
        " WHERE article = ? ORDER BY ordinal"
    )
    for key, title, text in records.rows("SELECT id, title, text FROM articles ORDER BY id"):
        equations = list(records.rows(query, key))
        if equations:
            yield title, text, equations


def said(title: str, equation: tuple[Any, ...]) -> dict[str, list[str]]:
    """The words of an equation by field, but for those around it."""
    labels, section, context, references = equation
    parts = [part for label in json.loads(labels) for part in _LABEL.findall(label)]
    return {
        "title": read_tokens(title or "")[0],
        "section": read_tokens(section or "")[0],
        "sentence": read_tokens(context.replace("[equation]", " "))[0],
        "label": [part for part in parts if part.lower() not in _PREFIXES and len(part) > 2],
        "references": read_tokens(" ".join(json.loads(references)).replace("[equation]", " "))[0],
    }


def around(stems: Array, places: Array) -> tuple[list[Array], list[Array], list[Array]]:
    """The words around each equation of a slice: stems, equations and 1 / sqrt(distance)."""
    reach = np.arange(1, REACH + 1)
    at = places[:, None] + np.r_[-reach, reach - 1]  # the word before is at place - 1
    inside = (at >= 0) & (at < len(stems))
    owners = np.broadcast_to(np.arange(len(places))[:, None], at.shape)
    weights = np.broadcast_to(1 / np.sqrt(np.r_[reach, reach]), at.shape)
    return [stems[at[inside]]], [owners[inside]], [weights[inside]]


def _impacts(
    rows: list[Array], owners: list[Array], values: list[Array]
) -> tuple[Array, Array, Array]:
    """Each stem of each equation once, its frequency saturated."""
    row, owner, value = (np.concatenate(part) for part in (rows, owners, values))
    row, owner, total = summed(row, owner, value)
    return row, owner, total * (K1 + 1) / (total + K1)


def summed(rows: Array, owners: Array, values: Array) -> tuple[Array, Array, Array]:
    """Each row of each owner once, ordered by owner, with the sum of its values."""
    base = int(rows.max(initial=0)) + 1
    pairs, where = np.unique(owners.astype(np.int64) * base + rows, return_inverse=True)
    return pairs % base, pairs // base, np.bincount(where, values, minlength=len(pairs))


# ------------------------------------------------------------ asking it


class Term(NamedTuple):
    """A word that is asked for, in every spelling: the equations that have it, and how much."""

    word: str
    weight: float
    owners: Array
    impacts: Array

    def share(self, equation: int) -> float:
        """How well one equation is said by it."""
        at = int(np.searchsorted(self.owners, equation))
        found = at < len(self.owners) and self.owners[at] == equation
        return float(self.impacts[at]) / (K1 + 1) if found else 0.0


class Wording:
    """The words of a library's equations, opened for questions."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._postings = Postings(folder, "wording")
        self.stem_of, self.tokens, self.places = (
            load(folder, name) for name in ("stems", "tokens", "places")
        )

    @cached_property
    def _text(self) -> str:
        return (self._folder / "words.txt").read_bytes().decode()

    @cached_property
    def words(self) -> list[str]:
        """Every word of the library, in lower case."""
        return self._text.split("\n") if self._text else []

    @cached_property
    def _keys(self) -> tuple[Keys, Keys]:
        """Of words and of stems."""
        return Keys(self._folder, "words"), Keys(self._folder, "stems")

    def number(self, word: str) -> int | None:
        """The number of a word; None where the library does not have it."""
        return self._keys[0].find(word.lower())

    def find(self, word: str) -> int | None:
        """The stem of a word that stands near some equation; None where it does not."""
        row = self.number(word)
        found = int(self.stem_of[row]) if row is not None else self._keys[1].find(stem(word))
        return found if found is not None and self._postings.count(found) else None

    def idf(self, row: int) -> float:
        """How much it says that an equation has this stem."""
        return float(self._idf(self._postings.count(row)))

    @cached_property
    def idfs(self) -> NDArray[np.float64]:
        """Of every stem."""
        found: NDArray[np.float64] = self._idf(np.diff(self._postings.pointers))
        return found

    def _idf(self, counts: Any) -> Any:
        return np.log1p((len(self.places) - counts + 0.5) / (counts + 0.5))

    def terms(self, words: Sequence[str]) -> list[Term]:
        """The words of a question that the library has, weighted by their idf, together 1.

        A compound is its parts, one after the other: *kullback-leibler* is in text that has it with
        a dash, which are two words, and *cross* and *entropy*, asked for in this order, are both
        in *cross-entropy*.
        """
        ways: dict[str, dict[Phrase, None]] = {}  # of each stem that is asked for
        typed: dict[str, str] = {}
        for at, word in enumerate(words):
            found = self.spellings((word,))
            for pair in words[max(at - 1, 0) : at + 1], words[at : at + 2]:
                if len(pair) == 2 and (row := self.find("-".join(pair))) is not None:
                    found.append((row,))
            if found:
                ways.setdefault(stem(word), {}).update(dict.fromkeys(found))
                typed.setdefault(stem(word), word)
        said = {typed[root]: self._said(found) for root, found in ways.items()}
        said = {word: owners for word, owners in said.items() if len(owners[0])}
        idfs = {word: float(self._idf(len(owners))) for word, (owners, _) in said.items()}
        total = sum(idfs.values())
        return [Term(word, idfs[word] / total, *said[word]) for word in said]

    def spellings(self, phrase: Sequence[str]) -> list[Phrase]:
        """A phrase, or a word, with neighbours joined into compounds in every way.

        Those whose words the library has, as stems, the phrase as it is given first. A long phrase
        is joined as a whole or not at all.
        """
        parts = [part for word in phrase for part in word.split("-")]
        ways = {tuple(phrase): None, tuple(parts): None, ("-".join(parts),): None}
        if len(parts) <= _JOINED:
            for marks in product(" -", repeat=len(parts) - 1):
                text = "".join(chain(*zip(parts, [*marks, ""], strict=True)))
                ways[tuple(text.split())] = None
        rows = ([self.find(word) for word in way] for way in ways)
        known = (tuple(row for row in way if row is not None) for way in rows if None not in way)
        return list(dict.fromkeys(known))

    def _said(self, ways: Iterable[Phrase]) -> tuple[Array, Array]:
        """The equations that have a word in one of its spellings, and what it says of them."""
        parts = [
            self._postings.of(way[0]) if len(way) == 1 else self._together(way) for way in ways
        ]
        if len(parts) == 1:
            return parts[0]
        owners, where = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
        impacts = np.zeros(len(owners), np.float32)
        np.maximum.at(impacts, where, np.concatenate([part[1] for part in parts]))
        return owners, impacts

    def _together(self, phrase: Phrase) -> tuple[Array, Array]:
        """The equations that have a phrase near them; it says what the least of its words says."""
        least = np.where(self.having_phrase(phrase), np.float32(np.inf), np.float32(0))
        for row in phrase:
            impacts = np.zeros(len(least), np.float32)
            owners, weights = self._postings.of(row)
            impacts[owners] = weights
            np.minimum(least, impacts, out=least)
        owners = np.flatnonzero(least)
        return owners, least[owners]

    def scores_of(self, terms: Iterable[Term]) -> Scores:
        """How well each equation is said by weighted words: 1 where it has all many times."""
        total = np.zeros(len(self.places), np.float32)
        for term in terms:
            np.add.at(total, term.owners, np.float32(term.weight / (K1 + 1)) * term.impacts)
        return total

    def scores(self, weights: Mapping[int, float]) -> Scores:
        """The same by weighted stems."""
        return self.scores_of(
            Term("", weight, *self._postings.of(row)) for row, weight in weights.items()
        )

    def share(self, row: int, equation: int) -> float:
        """How well one equation is said by one stem."""
        return self._postings.weight(row, equation) / (K1 + 1)

    def topic(
        self,
        equations: Sequence[int],
        trust: Sequence[float],
        count: int,
        homes: Sequence[int] | None = None,
    ) -> dict[int, float]:
        """The stems that say best what equations have in common, and their weights, together 1.

        Each article counts once for a stem, by its best equation; where there are two articles or
        more, a stem that only one of them has is the habit of its author. `homes` may say which
        equations are of one author though not of one article.
        """
        if not equations:
            return {}
        if homes is None:
            homes = self.places[list(equations), 0].tolist()
        every, home_of = np.unique(homes, return_inverse=True)
        profiles = [self._profiles.of(equation) for equation in equations]
        sizes = [len(rows) for rows, _ in profiles]
        rows, weights = (np.concatenate(part) for part in zip(*profiles, strict=True))
        # what each article says of a stem, and then all of them together
        codes = rows.astype(np.int64) * len(every) + np.repeat(home_of, sizes)
        codes, where = np.unique(codes, return_inverse=True)
        by_home = np.zeros(len(codes))
        np.maximum.at(by_home, where, np.repeat(trust, sizes) * weights)
        stems, where, spread = np.unique(
            codes // len(every), return_inverse=True, return_counts=True
        )
        totals = np.bincount(where, by_home) * self._idf(self._postings.counts(stems))
        totals[spread < min(2, len(every))] = 0
        ranked = (int(at) for at in np.lexsort((stems, -totals)) if totals[at] > 0)
        chosen = list(islice((at for at in ranked if self._tells(int(stems[at]))), count))
        total = totals[chosen].sum()
        return {int(stems[at]): float(totals[at] / total) for at in chosen}

    def spread(self, equations: range, dim: int) -> Scores:
        """Directions of equations by their words alone: each stem adds its idf along a drawn one.

        For libraries without a model: equations with the same words point the same way.
        """
        drawn = np.random.default_rng(0).standard_normal((len(self.idfs), dim), np.float32)
        drawn *= self.idfs[:, None].astype(np.float32)
        made = np.zeros((len(equations), dim), np.float32)
        for at, equation in enumerate(equations):
            rows, weights = self._profiles.of(equation)
            made[at] = weights @ drawn[rows]
        return made

    @cached_property
    def _profiles(self) -> Profiles:
        return Profiles(self._folder, "wording")

    def _tells(self, row: int) -> bool:
        """Whether a stem is one of a word with a meaning."""
        word = self.name(row)
        return len(word) > 2 and word not in STOP_WORDS and any(map(str.isalpha, word))

    def name(self, row: int) -> str:
        """The first word that a stem came with."""
        return self.words[int(self._first[row])]

    @cached_property
    def _first(self) -> Array:
        return first_places(self.stem_of)

    def having(self, phrase: Sequence[str]) -> NDArray[np.bool_]:
        """Which equations have a phrase, or a word, near them in one of its spellings."""
        found = np.zeros(len(self.places), bool)
        if ways := self.spellings(phrase):
            found[self._said(ways)[0]] = True
        return found

    def having_phrase(self, phrase: Phrase) -> NDArray[np.bool_]:
        """Which equations have stems one after the other within their reach."""
        pointers, positions = (load(self._folder, f"positions.{p}") for p in ("pointers", "owners"))
        rarest = min(phrase, key=lambda row: int(pointers[row + 1] - pointers[row]))
        at = positions[pointers[rarest] : pointers[rarest + 1]] - phrase.index(rarest)
        at = at[(at >= 0) & (at + len(phrase) <= len(self.tokens))]
        for step, row in enumerate(phrase):
            at = at[self.stem_of[self.tokens[at + step]] == row]
        low, place, high = self.places.T
        # the equations of its article that have all of it within their reach, the first and the
        # one after the last; both ascend as places do
        last = at + len(phrase) - 1
        first = np.maximum(
            np.searchsorted(place, last - REACH, "right"), np.searchsorted(high, last, "right")
        )
        after = np.minimum(
            np.searchsorted(place, at + REACH, "right"), np.searchsorted(low, at, "right")
        )
        inside = first < after
        begins = np.bincount(first[inside], minlength=len(place) + 1)
        ends = np.bincount(after[inside], minlength=len(place) + 1)
        found: NDArray[np.bool_] = np.cumsum(begins - ends)[:-1] > 0
        return found

    def near(self, word: str, count: int = 3) -> list[str]:
        """Words of the library that are spelt nearly so."""
        word = word.lower()
        least, most = max(len(word) - 3, 0), len(word) + 1  # letters after the first
        first = re.escape(f"\n{word[:1]}")  # which is the same
        alike = re.findall(rf"{first}(.{{{least},{most}}})(?=\n)", f"\n{self._text}\n")
        if not alike:
            return []
        longest = len(word) + 2
        words = np.array([f"{word[:1]}{rest}" for rest in alike], f"U{longest}")
        # no more letters than both have can meet, which is soon said of all words
        letters = words.view(np.uint32).reshape(len(words), longest)
        met = sum(
            np.minimum((letters == ord(letter)).sum(axis=1), word.count(letter))
            for letter in set(word)
        )
        likely = 2 * met >= _NEAR * (len(word) + (letters > 0).sum(axis=1))
        found = difflib.get_close_matches(word, words[likely].tolist(), count, _NEAR)
        return [each for each in found if self.find(each) is not None]

    def around(self, equation: int, reach: int) -> tuple[Array, Array]:
        """The words within reach of an equation, in order, and how far away each stands."""
        low, place, high = self.places[equation].tolist()
        start, end = max(low, place - reach), min(high, place + reach)
        at = np.arange(start, end)
        return self.tokens[start:end], np.where(at < place, place - at, at - place + 1)
