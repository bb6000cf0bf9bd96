"""The definitions of symbols in a library, by their words and by their symbols.

    definitions.txt       one definition a line, as JSON, in the order of the articles
    definitions.places.npy   for each: its article and the ordinal of the nearest equation
    defined_words.*       postings of stems: the definitions that have them
    defined_symbols.*     postings of symbols: the definitions of each

A symbol is found by its key and by the key that leaves out letters of indices, so that `x_i` finds
definitions of `x_j`.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from eqemb.article import read_tokens
from eqemb.index.postings import (
    Array,
    KeyedPostings,
    KeyedPostingsWriter,
    TextList,
    in_every,
    load_array,
)
from eqemb.index.segments import IndexSegment, IndexSegments
from eqemb.index.stemming import stem
from eqemb.library.database import Records
from eqemb.symbols import Definition, find_definitions

#: Definitions that are less sure are not indexed.
MIN_INDEXED = 0.3


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
    words = KeyedPostingsWriter(folder, "defined_words")
    symbols = KeyedPostingsWriter(folder, "defined_symbols")
    for number, name, _ in records.article_ids():
        article = records.article(name)
        for definition in () if article is None else find_definitions(article):
            if definition.confidence >= MIN_INDEXED and definition.text:
                words.add(len(lines), Counter(text_stems(definition.text)))
                symbols.add(len(lines), dict.fromkeys(_keys(definition), 1))
                places.append((number, definition.equation))
                lines.append(_line(definition))
    words.write()
    symbols.write()
    TextList.write(folder, "definitions", lines)
    np.save(folder / "definitions.places.npy", np.array(places, np.int32).reshape(-1, 2))


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
