"""Text index: the words around each equation, and those of its sentence, section and label.

    words.txt, stems.npy    the words of the library in lower case, and the stem of each
    words.*.npy, stems.*    the ids of both, by their keys
    terms.*.npy           postings of stems: equations and the impact of the stem on each
    tokens.npy, places.npy  all text as word ids; for each equation its article's bounds and its
                            position
    positions.*.npy         for each stem its positions in the text

The score is BM25 over several fields: the frequency of a stem is the sum over the fields of its
count times the field's weight; around the equation a word at distance d counts 1 / sqrt(d). The
frequency is saturated once, and everything but the idf is stored in the postings. NumPy only.
"""

import difflib
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
from eqemb.index.postings import (
    ArrayWriter,
    ForwardIndex,
    Keys,
    Postings,
    PostingsWriter,
    first_occurrences,
    load_array,
)
from eqemb.index.stemming import stem
from eqemb.library.database import Records

#: Words on each side of an equation that are its context, weighted by 1 / sqrt(distance).
CONTEXT_REACH = 128
#: The weight of a word in each field, relative to 1 / sqrt(distance) around the equation.
FIELDS = {"sentence": 0.15, "section": 1.0, "title": 0.15, "label": 3.0, "references": 1.0}
#: BM25's saturation. There is no length normalisation, since all contexts are equally long.
BM25_K1 = 0.6
_EQUATIONS_AT_ONCE = 2_000  # equations whose contexts are collected at a time
_MAX_JOINED = 6  # words of a phrase that are joined into compounds in every way
_MIN_SPELLING_RATIO = 0.75  # similarity of words that are suggested for a misspelling
#: Words of a label: `eq:crossEntropy` has cross and entropy.
_LABEL_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PREFIXES = frozenset(("eq", "eqn", "equation", "eqs", "fig", "sec", "app", "def", "thm", "lem"))

Array = NDArray[Any]
Scores = NDArray[np.float32]
#: Ids of consecutive stems.
Phrase = tuple[int, ...]
#: Labels, section, context and references of an equation.
EquationText = tuple[list[str], str, str, list[str]]


# ------------------------------------------------------------ writing


def index_text(records: Records, folder: Path, fields: Iterable[str] = FIELDS) -> None:
    """Index the words of every equation; an evaluation may leave out fields."""
    vocabulary, postings = _Vocabulary(), PostingsWriter(folder, "terms")
    positions = PostingsWriter(folder, "positions", weighted=False)
    weights = {name: FIELDS[name] for name in fields}
    text, places = ArrayWriter(folder / "tokens.npy", np.int32), [np.empty((0, 3), np.int64)]
    first = start = 0
    for title, prose, equations in articles_with_equations(records):
        words, marks = read_tokens(prose)
        tokens, at = vocabulary.ids(words), np.array(marks, np.int64)
        text.add(tokens)
        end = start + len(tokens)
        bounds = [np.full_like(at, start), at + start, np.full_like(at, end)]
        places.append(np.stack(bounds, axis=1))
        by_field = [
            {name: vocabulary.ids(found) for name, found in field_words(title, row).items()}
            for row in equations
        ]
        stems = vocabulary.stems(tokens)
        positions.add(stems, np.arange(start, end))
        for low in range(0, len(at), _EQUATIONS_AT_ONCE):
            part = slice(low, low + _EQUATIONS_AT_ONCE)
            rows, owners, values = context_stems(stems, at[part])
            for owner, found in enumerate(by_field[part]):
                for name, weight in weights.items():
                    rows.append(vocabulary.stems(found[name]))
                    owners.append(np.full(len(found[name]), owner))
                    values.append(np.full(len(found[name]), weight))
            row, owner_of, impact = _impacts(rows, owners, values)
            postings.add(row, owner_of + first + low, impact)
        first, start = first + len(at), end
    text.close()
    np.save(folder / "places.npy", np.concatenate(places))
    vocabulary.write(folder)
    postings.write(vocabulary.stem_count, owners=first)
    positions.write(vocabulary.stem_count)


class _Vocabulary:
    """Words and their stems, with ids in order of first occurrence."""

    def __init__(self) -> None:
        self._words: dict[str, int] = {}
        self._stems: dict[str, int] = {}
        self._stem_of = array("i")

    def ids(self, words: Iterable[str]) -> Array:
        """Return the ids of words, adding new ones."""
        found = []
        for word in map(str.lower, words):
            row = self._words.setdefault(word, len(self._words))
            if row == len(self._stem_of):
                self._stem_of.append(self._stems.setdefault(stem(word), len(self._stems)))
            found.append(row)
        return np.array(found, np.int32)

    def stems(self, ids: Array) -> Array:
        """Return the stem ids of word ids."""
        return np.frombuffer(self._stem_of, np.int32)[ids] if len(ids) else ids

    @property
    def stem_count(self) -> int:
        """The number of stems."""
        return len(self._stems)

    def write(self, folder: Path) -> None:
        """Write words, stems and their keys."""
        (folder / "words.txt").write_text("\n".join(self._words), "utf-8")
        np.save(folder / "stems.npy", np.array(self._stem_of, np.int32))
        Keys.write(folder, "words", self._words)
        Keys.write(folder, "stems", self._stems)


def articles_with_equations(records: Records) -> Iterator[tuple[str, str, list[EquationText]]]:
    """Yield title, text and equations of every article that has equations, in order."""
    for key, title, text in records.article_texts():
        equations = list(records.equation_words(key))
        if equations:
            yield title, text, equations


def field_words(title: str, equation: EquationText) -> dict[str, list[str]]:
    """Return the words of an equation by field, without those around it."""
    labels, section, context, references = equation
    parts = [part for label in labels for part in _LABEL_WORD.findall(label)]
    return {
        "title": read_tokens(title)[0],
        "section": read_tokens(section)[0],
        "sentence": read_tokens(context.replace("[equation]", " "))[0],
        "label": [part for part in parts if part.lower() not in _PREFIXES and len(part) > 2],
        "references": read_tokens(" ".join(references).replace("[equation]", " "))[0],
    }


def context_stems(stems: Array, places: Array) -> tuple[list[Array], list[Array], list[Array]]:
    """Return the words around each equation: stems, equations and 1 / sqrt(distance)."""
    reach = np.arange(1, CONTEXT_REACH + 1)
    at = places[:, None] + np.r_[-reach, reach - 1]  # the word before is at place - 1
    inside = (at >= 0) & (at < len(stems))
    owners = np.broadcast_to(np.arange(len(places))[:, None], at.shape)
    weights = np.broadcast_to(1 / np.sqrt(np.r_[reach, reach]), at.shape)
    return [stems[at[inside]]], [owners[inside]], [weights[inside]]


def _impacts(
    rows: list[Array], owners: list[Array], values: list[Array]
) -> tuple[Array, Array, Array]:
    """Return each stem of each equation once, with its saturated frequency."""
    row, owner, value = (np.concatenate(part) for part in (rows, owners, values))
    row, owner, total = sum_duplicates(row, owner, value)
    return row, owner, total * (BM25_K1 + 1) / (total + BM25_K1)


def sum_duplicates(rows: Array, owners: Array, values: Array) -> tuple[Array, Array, Array]:
    """Return each (row, owner) pair once, ordered by owner, with the sum of its values."""
    base = int(rows.max(initial=0)) + 1
    pairs, where = np.unique(owners.astype(np.int64) * base + rows, return_inverse=True)
    return pairs % base, pairs // base, np.bincount(where, values, minlength=len(pairs))


# ------------------------------------------------------------ reading


class Term(NamedTuple):
    """A word of a query in all its spellings: the equations that have it, and its impacts."""

    word: str
    weight: float
    owners: Array
    impacts: Array

    def score(self, equation: int) -> float:
        """Return the unweighted score of one equation, from 0 to 1."""
        at = int(np.searchsorted(self.owners, equation))
        found = at < len(self.owners) and self.owners[at] == equation
        return float(self.impacts[at]) / (BM25_K1 + 1) if found else 0.0


class TextIndex:
    """The text index of a library, opened for reading."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._postings = Postings(folder, "terms")
        self.stem_of, self.tokens, self.places = (
            load_array(folder, name) for name in ("stems", "tokens", "places")
        )

    @cached_property
    def _words_text(self) -> str:
        return (self._folder / "words.txt").read_bytes().decode()

    @cached_property
    def words(self) -> list[str]:
        """Every word of the library, in lower case."""
        return self._words_text.split("\n") if self._words_text else []

    @cached_property
    def _keys(self) -> tuple[Keys, Keys]:
        """The keys of words and of stems."""
        return Keys(self._folder, "words"), Keys(self._folder, "stems")

    def word_id(self, word: str) -> int | None:
        """Return the id of a word; None where the library does not have it."""
        return self._keys[0].find(word.lower())

    def stem_id(self, word: str) -> int | None:
        """Return the id of a word's stem; None where it does not occur near any equation."""
        row = self.word_id(word)
        found = int(self.stem_of[row]) if row is not None else self._keys[1].find(stem(word))
        return found if found is not None and self._postings.count(found) else None

    def idf(self, row: int) -> float:
        """Return the inverse document frequency of a stem, where documents are equations."""
        return float(self._idf(self._postings.count(row)))

    @cached_property
    def idfs(self) -> NDArray[np.float64]:
        """The inverse document frequency of every stem."""
        found: NDArray[np.float64] = self._idf(np.diff(self._postings.pointers))
        return found

    def _idf(self, counts: Any) -> Any:
        return np.log1p((len(self.places) - counts + 0.5) / (counts + 0.5))

    def terms(self, words: Sequence[str]) -> list[Term]:
        """Return the words of a query that the library has, weighted by idf; weights sum to 1.

        A compound matches its parts in order: *kullback-leibler* matches text that writes it with a
        dash, which are two words. Likewise *cross* and *entropy*, consecutive in the query, both
        match *cross-entropy*.
        """
        ways: dict[str, dict[Phrase, None]] = {}  # the spellings of each stem of the query
        typed: dict[str, str] = {}
        for at, word in enumerate(words):
            found = self.spellings((word,))
            for pair in words[max(at - 1, 0) : at + 1], words[at : at + 2]:
                if len(pair) == 2 and (row := self.stem_id("-".join(pair))) is not None:
                    found.append((row,))
            if found:
                ways.setdefault(stem(word), {}).update(dict.fromkeys(found))
                typed.setdefault(stem(word), word)
        matches = {typed[root]: self._match_any(found) for root, found in ways.items()}
        matches = {word: found for word, found in matches.items() if len(found[0])}
        idfs = {word: float(self._idf(len(owners))) for word, (owners, _) in matches.items()}
        total = sum(idfs.values())
        return [Term(word, idfs[word] / total, *matches[word]) for word in matches]

    def spellings(self, phrase: Sequence[str]) -> list[Phrase]:
        """Return the ways to spell a phrase, or a word, with neighbours joined into compounds.

        Only spellings whose words the library has, as stem ids; the phrase as given comes first. A
        long phrase is joined as a whole or not at all.
        """
        parts = [part for word in phrase for part in word.split("-")]
        ways = {tuple(phrase): None, tuple(parts): None, ("-".join(parts),): None}
        if len(parts) <= _MAX_JOINED:
            for marks in product(" -", repeat=len(parts) - 1):
                text = "".join(chain(*zip(parts, [*marks, ""], strict=True)))
                ways[tuple(text.split())] = None
        rows = ([self.stem_id(word) for word in way] for way in ways)
        known = (tuple(row for row in way if row is not None) for way in rows if None not in way)
        return list(dict.fromkeys(known))

    def _match_any(self, ways: Iterable[Phrase]) -> tuple[Array, Array]:
        """Return the equations that have one of the spellings, and the largest impact on each."""
        parts = [
            self._postings.of(way[0]) if len(way) == 1 else self._match_phrase(way) for way in ways
        ]
        if len(parts) == 1:
            return parts[0]
        owners, where = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
        impacts = np.zeros(len(owners), np.float32)
        np.maximum.at(impacts, where, np.concatenate([part[1] for part in parts]))
        return owners, impacts

    def _match_phrase(self, phrase: Phrase) -> tuple[Array, Array]:
        """Return the equations with a phrase near them; its impact is the least of its words'."""
        least = np.where(self._has_stems(phrase), np.float32(np.inf), np.float32(0))
        for row in phrase:
            impacts = np.zeros(len(least), np.float32)
            owners, weights = self._postings.of(row)
            impacts[owners] = weights
            np.minimum(least, impacts, out=least)
        owners = np.flatnonzero(least)
        return owners, least[owners]

    def score_terms(self, terms: Iterable[Term]) -> Scores:
        """Return the score of every equation for weighted terms; 1 is the limit."""
        total = np.zeros(len(self.places), np.float32)
        for term in terms:
            np.add.at(total, term.owners, np.float32(term.weight / (BM25_K1 + 1)) * term.impacts)
        return total

    def score_stems(self, weights: Mapping[int, float]) -> Scores:
        """Return the score of every equation for weighted stems."""
        return self.score_terms(
            Term("", weight, *self._postings.of(row)) for row, weight in weights.items()
        )

    def stem_score(self, row: int, equation: int) -> float:
        """Return the score of one equation for one stem."""
        return self._postings.weight(row, equation) / (BM25_K1 + 1)

    def topic(
        self,
        equations: Sequence[int],
        trust: Sequence[float],
        count: int,
        groups: Sequence[int] | None = None,
    ) -> dict[int, float]:
        """Return the stems that describe several equations best; weights sum to 1.

        A stem counts once for each article, by the article's best equation. Given two or more
        articles, a stem that only one of them has is ignored: it is a habit of the author. `groups`
        names the group of each equation where that is not its article (near-duplicates).
        """
        if not equations:
            return {}
        if groups is None:
            groups = self.places[list(equations), 0].tolist()
        every, group_of = np.unique(groups, return_inverse=True)
        profiles = [self._forward.of(equation) for equation in equations]
        sizes = [len(rows) for rows, _ in profiles]
        rows, weights = (np.concatenate(part) for part in zip(*profiles, strict=True))
        # the best of each article for a stem, then the sum over articles
        codes = rows.astype(np.int64) * len(every) + np.repeat(group_of, sizes)
        codes, where = np.unique(codes, return_inverse=True)
        by_group = np.zeros(len(codes))
        np.maximum.at(by_group, where, np.repeat(trust, sizes) * weights)
        stems, where, spread = np.unique(
            codes // len(every), return_inverse=True, return_counts=True
        )
        totals = np.bincount(where, by_group) * self._idf(self._postings.counts(stems))
        totals[spread < min(2, len(every))] = 0
        ranked = (int(at) for at in np.lexsort((stems, -totals)) if totals[at] > 0)
        chosen = list(islice((at for at in ranked if self._is_telling(int(stems[at]))), count))
        total = totals[chosen].sum()
        return {int(stems[at]): float(totals[at] / total) for at in chosen}

    def random_projection(self, equations: range, dim: int) -> Scores:
        """Return vectors of equations made of their words alone, for libraries without a model.

        Each stem adds its idf along a random direction, so that equations with the same words get
        similar vectors.
        """
        drawn = np.random.default_rng(0).standard_normal((len(self.idfs), dim), np.float32)
        drawn *= self.idfs[:, None].astype(np.float32)
        made = np.zeros((len(equations), dim), np.float32)
        for at, equation in enumerate(equations):
            rows, weights = self._forward.of(equation)
            made[at] = weights @ drawn[rows]
        return made

    @cached_property
    def _forward(self) -> ForwardIndex:
        return ForwardIndex(self._folder, "terms")

    def _is_telling(self, row: int) -> bool:
        """Whether a stem is worth showing: no stop word, no number, longer than two letters."""
        word = self.stem_word(row)
        return len(word) > 2 and word not in STOP_WORDS and any(map(str.isalpha, word))

    def stem_word(self, row: int) -> str:
        """Return the first word of the library that has a stem."""
        return self.words[int(self._first_words[row])]

    @cached_property
    def _first_words(self) -> Array:
        return first_occurrences(self.stem_of)

    def has_phrase(self, phrase: Sequence[str]) -> NDArray[np.bool_]:
        """Return a mask of the equations with a phrase, or a word, near them in any spelling."""
        found = np.zeros(len(self.places), bool)
        if ways := self.spellings(phrase):
            found[self._match_any(ways)[0]] = True
        return found

    def _has_stems(self, phrase: Phrase) -> NDArray[np.bool_]:
        """Return a mask of the equations with consecutive stems in their context."""
        pointers, positions = (
            load_array(self._folder, f"positions.{part}") for part in ("pointers", "owners")
        )
        rarest = min(phrase, key=lambda row: int(pointers[row + 1] - pointers[row]))
        at = positions[pointers[rarest] : pointers[rarest + 1]] - phrase.index(rarest)
        at = at[(at >= 0) & (at + len(phrase) <= len(self.tokens))]
        for step, row in enumerate(phrase):
            at = at[self.stem_of[self.tokens[at + step]] == row]
        low, place, high = self.places.T
        # The equations of its article with the whole phrase in reach: the first, and the one after
        # the last. Both ascend as `places` do.
        last = at + len(phrase) - 1
        first = np.maximum(
            np.searchsorted(place, last - CONTEXT_REACH, "right"),
            np.searchsorted(high, last, "right"),
        )
        after = np.minimum(
            np.searchsorted(place, at + CONTEXT_REACH, "right"), np.searchsorted(low, at, "right")
        )
        inside = first < after
        begins = np.bincount(first[inside], minlength=len(place) + 1)
        ends = np.bincount(after[inside], minlength=len(place) + 1)
        found: NDArray[np.bool_] = np.cumsum(begins - ends)[:-1] > 0
        return found

    def suggest_spellings(self, word: str, count: int = 3) -> list[str]:
        """Return words of the library with a similar spelling and the same first letter."""
        word = word.lower()
        least, most = max(len(word) - 3, 0), len(word) + 1  # letters after the first
        first = re.escape(f"\n{word[:1]}")
        candidates = re.findall(rf"{first}(.{{{least},{most}}})(?=\n)", f"\n{self._words_text}\n")
        if not candidates:
            return []
        longest = len(word) + 2
        words = np.array([f"{word[:1]}{rest}" for rest in candidates], f"U{longest}")
        # A cheap upper bound of the ratio for all words at once: the letters that both have.
        letters = words.view(np.uint32).reshape(len(words), longest)
        shared = sum(
            np.minimum((letters == ord(letter)).sum(axis=1), word.count(letter))
            for letter in set(word)
        )
        likely = 2 * shared >= _MIN_SPELLING_RATIO * (len(word) + (letters > 0).sum(axis=1))
        found = difflib.get_close_matches(word, words[likely].tolist(), count, _MIN_SPELLING_RATIO)
        return [each for each in found if self.stem_id(each) is not None]

    def words_around(self, equation: int, reach: int) -> tuple[Array, Array]:
        """Return the ids of the words within reach of an equation, in order, and the distances."""
        low, place, high = self.places[equation].tolist()
        start, end = max(low, place - reach), min(high, place + reach)
        at = np.arange(start, end)
        return self.tokens[start:end], np.where(at < place, place - at, at - place + 1)
