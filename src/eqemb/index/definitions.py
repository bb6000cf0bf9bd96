"""The definitions of symbols in a library, by their words and by their symbols.

    definitions.txt       one definition a line, as JSON, in the order of the articles
    definitions.places.npy   for each: its article and the ordinal of the nearest equation
    definitions.sizes.npy    for each: the number of its words that are no stop words
    defined_words.*       postings of stems: the definitions that have them
    defined_symbols.*     postings of symbols: the definitions of each
    defined_equations.*   postings of definitions: the equations with a symbol that each defines,
                          and how sure that is

A symbol is found by its key and by the key that leaves out letters of indices, so that `x_i` finds
definitions of `x_j`. An equation belongs to the one definition of each symbol that is in force
where it stands.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.article import read_tokens
from eqemb.corpus.vocabulary import STOP_WORDS
from eqemb.index.postings import (
    Array,
    KeyedPostings,
    KeyedPostingsWriter,
    Postings,
    PostingsWriter,
    TextList,
    in_every,
    load_array,
)
from eqemb.index.segments import IndexSegment, IndexSegments
from eqemb.index.stemming import stem
from eqemb.library.database import Records
from eqemb.symbols import Definition, Glossary, Meaning

#: Definitions that are less sure are not indexed.
MIN_INDEXED = 0.3
#: Stems that say nothing of a symbol.
STOP_STEMS = frozenset(map(stem, STOP_WORDS))


class IndexedDefinition(NamedTuple):
    """A definition as the index has it."""

    article: str
    equation: int
    """Ordinal of the nearest equation; 0 if there is none."""
    key: str
    general: str
    latex: str
    text: str
    sentence: str
    confidence: float


def index_definitions(records: Records, folder: Path) -> None:
    """Find and index the definitions of every article of a segment."""
    lines: list[str] = []
    places: list[tuple[int, int]] = []
    sizes: list[int] = []
    words = KeyedPostingsWriter(folder, "defined_words")
    symbols = KeyedPostingsWriter(folder, "defined_symbols")
    equations = PostingsWriter(folder, "defined_equations")
    first = 0
    for number, name, _ in records.article_ids():
        article = records.article(name)
        if article is None:
            continue
        glossary = Glossary(article)
        rows: dict[int, int] = {}
        for definition in glossary.definitions:
            if definition.confidence >= MIN_INDEXED and definition.text:
                rows[id(definition)] = len(lines)
                stems = text_stems(definition.text)
                words.add(len(lines), Counter(stems))
                sizes.append(max(1, len(set(stems) - STOP_STEMS)))
                symbols.add(len(lines), dict.fromkeys(_keys(definition), 1))
                places.append((number, definition.equation))
                lines.append(_line(definition))
        for row, equation in enumerate(article.equations, first):
            _add_meanings(equations, row, glossary.meanings(equation.ordinal), rows)
        first += len(article.equations)
    words.write()
    symbols.write()
    equations.write(len(lines))
    TextList.write(folder, "definitions", lines)
    np.save(folder / "definitions.places.npy", np.array(places, np.int32).reshape(-1, 2))
    np.save(folder / "definitions.sizes.npy", np.array(sizes, np.float32))


def _add_meanings(
    writer: PostingsWriter, equation: int, meanings: Iterable[Meaning], rows: dict[int, int]
) -> None:
    """Add the indexed definitions that are in force for an equation."""
    found: dict[int, float] = {}
    for meaning in meanings:
        row = rows.get(id(meaning.definition))
        if row is not None:
            found[row] = max(found.get(row, 0.0), meaning.score)
    owners = np.full(len(found), equation)
    writer.add(np.array(list(found), np.int32), owners, np.array(list(found.values()), np.float32))


def text_stems(text: str) -> list[str]:
    """Return the stems of the words of a phrase, without formulas."""
    return [stem(word.lower()) for word in read_tokens(text)[0]]


def _keys(definition: Definition) -> Iterator[str]:
    yield definition.symbol.key
    yield definition.symbol.general


def _line(definition: Definition) -> str:
    symbol = definition.symbol
    kept = (symbol.key, symbol.general, symbol.latex, definition.text, definition.sentence)
    texts = [" ".join(text.split()) for text in kept]
    return json.dumps([*texts, round(definition.confidence, 3)], ensure_ascii=False)


class DefinitionIndex:
    """The definitions of all segments, opened for reading."""

    def __init__(self, segments: IndexSegments) -> None:
        self._parts = [SegmentDefinitions(segment) for segment in segments]

    def with_words(self, stems: Iterable[str]) -> list[IndexedDefinition]:
        """Return the definitions that have all these stems, in the order of the library."""
        wanted = list(dict.fromkeys(stems))
        return [found for part in self._parts for found in part.with_words(wanted)]

    def of_symbol(self, key: str) -> list[IndexedDefinition]:
        """Return the definitions of a symbol, in the order of the library."""
        return [found for part in self._parts for found in part.of_symbol(key)]

    def equations_with(
        self, weights: Mapping[str, float], symbols: Iterable[str] = ()
    ) -> NDArray[np.float32]:
        """Return for every equation how well the definition of one of its symbols fits words.

        Args:
            weights: The stems of the words, and how much each counts.
            symbols: Keys of symbols; given some, only definitions of these count.

        The share of the words that the definition has, squared (so that one word of two is little),
        times the root of the share of its own words that are asked for, times how sure it is.
        """
        parts = [part.equations_with(weights, list(symbols)) for part in self._parts]
        return np.concatenate([np.empty(0, np.float32), *parts])


class SegmentDefinitions:
    """The definitions of one segment."""

    def __init__(self, segment: IndexSegment) -> None:
        self._segment = segment

    @cached_property
    def _words(self) -> KeyedPostings:
        return KeyedPostings(self._segment.folder, "defined_words")

    @cached_property
    def _symbols(self) -> KeyedPostings:
        return KeyedPostings(self._segment.folder, "defined_symbols")

    @cached_property
    def _lines(self) -> TextList:
        return TextList(self._segment.folder, "definitions")

    @cached_property
    def _places(self) -> Array:
        return load_array(self._segment.folder, "definitions.places")

    def with_words(self, stems: list[str]) -> Iterator[IndexedDefinition]:
        """Yield the definitions that have all these stems."""
        if stems:
            owners = [self._words.owners(text) for text in stems]
            yield from self._read(np.flatnonzero(in_every(owners, len(self._places))))

    def of_symbol(self, key: str) -> Iterator[IndexedDefinition]:
        """Yield the definitions of a symbol."""
        yield from self._read(self._symbols.owners(key))

    def equations_with(self, weights: Mapping[str, float], symbols: list[str]) -> Array:
        """Return for every equation of the segment how well a definition fits words."""
        found = np.zeros(len(self._segment), np.float32)
        covered = np.zeros(len(self._places), np.float32)
        matched = np.zeros(len(self._places), np.float32)
        for text, weight in weights.items():
            owners = self._words.owners(text)
            covered[owners] += np.float32(weight)
            matched[owners] += 1
        if symbols:
            named = np.zeros(len(covered), bool)
            for key in symbols:
                named[self._symbols.owners(key)] = True
            covered[~named] = 0
        rows = np.flatnonzero(covered)
        total = np.float32(sum(weights.values()))
        fits = (covered[rows] / total) ** 2 * np.sqrt(matched[rows] / self._sizes[rows])
        for row, fit in zip(rows.tolist(), fits.tolist(), strict=True):
            equations, sure = self._equations.of(row)
            found[equations] = np.maximum(found[equations], np.float32(fit) * sure)
        if self._segment.live is not None:  # else the part would count though nothing has it
            found[~self._segment.live] = 0
        return found

    @cached_property
    def _equations(self) -> Postings:
        return Postings(self._segment.folder, "defined_equations")

    @cached_property
    def _sizes(self) -> Array:
        return load_array(self._segment.folder, "definitions.sizes")

    def _read(self, rows: Array) -> Iterator[IndexedDefinition]:
        names: dict[int, str] = {}
        for row in rows.tolist():
            article, equation = self._places[row].tolist()
            if self._segment.is_removed(article):
                continue
            if article not in names:
                names[article] = self._segment.records.name(article)
            values = json.loads(self._lines[row])
            yield IndexedDefinition(names[article], equation, *values)
