"""Index the text of a segment: words around each equation, in it, of its section and label.

    words.txt, words.*      the words of the segment in lower case, and their rows by key
    stems.txt, stems.*      their stems; stems.npy has the stem of each word
    terms.*                 postings of stems: equations and the impact of the stem on each
    tokens.npy, places.npy  all text as word ids; for each equation its article's bounds and its
                            position
    fields.*                for each article the words of its fields that its text does not have
    positions.*             for each stem its positions in the text

The score is BM25 over several fields: the frequency of a stem is the sum over the fields of its
count times the field's weight; around the equation a word at distance d counts 1 / sqrt(d). The
frequency is saturated once, sooner where little text is around the equation, as on a short page.
Everything but the idf, which depends on the other segments, is stored in the postings. `text_index`
reads all this. NumPy only.
"""

import re
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqemb.article import read_tokens
from eqemb.formula.layout import read_canonical
from eqemb.formula.words import words_of
from eqemb.index.postings import ArrayWriter, Keys, PostingsWriter, TextList, hash_texts
from eqemb.index.stemming import stem
from eqemb.library.database import Records

#: Words on each side of an equation that are its context, weighted by 1 / sqrt(distance).
CONTEXT_REACH = 128
#: The weight of a word in each field, relative to 1 / sqrt(distance) around the equation.
FIELDS = {
    "sentence": 0.15,
    "section": 1.0,
    "title": 0.15,
    "label": 3.0,
    "references": 1.0,
    "formula": 0.5,
}
#: BM25's saturation, and how much of it depends on the length of the context. The length of a full
#: context is a constant, not a mean over the library, so that segments do not depend on others.
BM25_K1, BM25_B = 0.6, 0.75
FULL_CONTEXT = float(2 * (np.arange(1, CONTEXT_REACH + 1) ** -0.5).sum())
_EQUATIONS_AT_ONCE = 2_000  # equations whose contexts are collected at a time
#: Words of a label: `eq:crossEntropy` has cross and entropy.
_LABEL_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PREFIXES = frozenset(("eq", "eqn", "equation", "eqs", "fig", "sec", "app", "def", "thm", "lem"))

Array = NDArray[Any]
#: Labels, section, context, references and canonical form of an equation.
EquationText = tuple[list[str], str, str, list[str], str]


def index_text(records: Records, folder: Path, fields: Iterable[str] = FIELDS) -> None:
    """Index the words of every equation; an evaluation may leave out fields."""
    vocabulary, postings = _Vocabulary(), PostingsWriter(folder, "terms")
    positions = PostingsWriter(folder, "positions", weighted=False)
    extra = PostingsWriter(folder, "fields", weighted=False)
    weights = {name: FIELDS[name] for name in fields}
    of_field = np.array(list(weights.values()), np.float64)
    text, places = ArrayWriter(folder / "tokens.npy", np.int32), [np.empty((0, 3), np.int64)]
    first = start = articles = 0
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
        of_fields = [ids for found in by_field for ids in found.values()]
        others = np.setdiff1d(np.concatenate(of_fields), tokens)
        extra.add(np.full(len(others), articles), others)
        articles += 1
        stems = vocabulary.stems(tokens)
        positions.add(stems, np.arange(start, end))
        for low in range(0, len(at), _EQUATIONS_AT_ONCE):
            part = slice(low, low + _EQUATIONS_AT_ONCE)
            rows, owners, values = context_stems(stems, at[part])
            lengths = np.bincount(owners[0], values[0], minlength=len(at[part]))
            some = [found[name] for found in by_field[part] for name in weights]
            sizes = np.array([len(ids) for ids in some], np.int64)
            sizes = sizes.reshape(len(by_field[part]), len(weights))
            rows.append(vocabulary.stems(np.concatenate([np.empty(0, np.int32), *some])))
            owners.append(np.repeat(np.arange(len(sizes)), sizes.sum(axis=1)))
            values.append(np.repeat(np.tile(of_field, len(sizes)), sizes.ravel()))
            row, owner_of, impact = _impacts(rows, owners, values, lengths)
            postings.add(row, owner_of + first + low, impact)
        first, start = first + len(at), end
    text.close()
    np.save(folder / "places.npy", np.concatenate(places))
    vocabulary.write(folder)
    postings.write(vocabulary.stem_count, owners=first)
    positions.write(vocabulary.stem_count)
    extra.write(articles)


class _Vocabulary(dict[str, int]):
    """Words and their stems, with ids in order of first occurrence; a key is a word as written."""

    def __init__(self) -> None:
        self._words: dict[str, int] = {}
        self._stems: dict[str, int] = {}
        self._stem_of = array("i")

    def ids(self, words: Iterable[str]) -> Array:
        """Return the ids of words, adding new ones."""
        return np.array(list(map(self.__getitem__, words)), np.int32)

    def __missing__(self, written: str) -> int:
        word = written.lower()
        row = self[written] = self._words.setdefault(word, len(self._words))
        if row == len(self._stem_of):
            self._stem_of.append(self._stems.setdefault(stem(word), len(self._stems)))
        return row

    def stems(self, ids: Array) -> Array:
        """Return the stem ids of word ids."""
        return np.frombuffer(self._stem_of, np.int32)[ids] if len(ids) else ids

    @property
    def stem_count(self) -> int:
        """The number of stems."""
        return len(self._stems)

    def write(self, folder: Path) -> None:
        """Write words, stems and their keys."""
        for name, texts in (("words", self._words), ("stems", self._stems)):
            keys = hash_texts(texts)
            TextList.write(folder, name, texts)
            Keys.write(folder, name, keys)
            np.save(folder / f"{name}.ids.npy", keys)
        np.save(folder / "stems.npy", np.array(self._stem_of, np.int32))


def articles_with_equations(records: Records) -> Iterator[tuple[str, str, list[EquationText]]]:
    """Yield title, text and equations of every article that has equations, in order."""
    for key, title, text in records.article_texts():
        equations = list(records.equation_words(key))
        if equations:
            yield title, text, equations


def field_words(title: str, equation: EquationText) -> dict[str, list[str]]:
    """Return the words of an equation by field, without those around it."""
    labels, section, context, references, form = equation
    parts = [part for label in labels for part in _LABEL_WORD.findall(label)]
    return {
        "title": read_tokens(title)[0],
        "section": read_tokens(section)[0],
        "sentence": read_tokens(context.replace("[equation]", " "))[0],
        "label": [part for part in parts if part.lower() not in _PREFIXES and len(part) > 2],
        "references": read_tokens(" ".join(references).replace("[equation]", " "))[0],
        "formula": words_of(read_canonical(form)),
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
    rows: list[Array], owners: list[Array], values: list[Array], lengths: Array
) -> tuple[Array, Array, Array]:
    """Return each stem of each equation once, with its saturated frequency.

    `lengths` are those of the context of each equation.
    """
    row, owner, value = (np.concatenate(part) for part in (rows, owners, values))
    row, owner, total = sum_duplicates(row, owner, value)
    half = BM25_K1 * (1 - BM25_B + BM25_B * lengths / FULL_CONTEXT)
    return row, owner, total * (BM25_K1 + 1) / (total + half[owner])


def sum_duplicates(rows: Array, owners: Array, values: Array) -> tuple[Array, Array, Array]:
    """Return each (row, owner) pair once, ordered by owner, with the sum of its values."""
    base = int(rows.max(initial=0)) + 1
    pairs, where = np.unique(owners.astype(np.int64) * base + rows, return_inverse=True)
    return pairs % base, pairs // base, np.bincount(where, values, minlength=len(pairs))
