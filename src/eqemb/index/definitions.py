"""The definitions of symbols in a library, by their words and by their symbols.

    definitions.txt       one definition a line, as JSON, in the order of the articles; those that
                          are not sure enough to be found are there, but have no postings
    definitions.places.npy   for each: its article and the ordinal of the nearest equation
    definitions.sizes.npy    for each: the number of its words that are no stop words
    meanings.txt          one equation a line, as JSON: its symbols, with the definition of each
    defined_words.*       postings of stems: the definitions that have them
    defined_symbols.*     postings of symbols: the definitions of each
    defined_equations.*   postings of definitions: the equations with a symbol that each defines,
                          and how sure that is

A symbol is found by its key and by the key that leaves out letters of indices, so that `x_i` finds
definitions of `x_j`. An equation belongs to the one definition of each symbol that is in force
where it stands.

What an equation's symbols mean is found once, when a segment is indexed. An index of an earlier
version has no `meanings.txt`: then callers read the article again, which gives the same answer.
"""

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.article import read_tokens
from eqemb.index.postings import (
    Array,
    KeyedPostings,
    KeyedPostingsWriter,
    Postings,
    PostingsWriter,
    TextList,
    expand_ranges,
    in_every,
    load_array,
)
from eqemb.index.scope import Scope
from eqemb.index.segments import IndexSegment, IndexSegments
from eqemb.index.stemming import STOP_STEMS, stem
from eqemb.library.database import Records
from eqemb.storage.mapped import will_read, will_read_all
from eqemb.storage.memory import rare_collections
from eqemb.symbols import Definition, Glossary, Meaning, Symbol, probability

#: Definitions that are less sure are not indexed.
MIN_INDEXED = 0.3
#: In a large library the best definitions of each segment count, and a word that this many times
#: more definitions have finds none of them alone.
_MOST_DEFINITIONS, _COMMON_FACTOR = 500, 10


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


@rare_collections()
def index_definitions(records: Records, folder: Path) -> None:
    """Find and index the definitions of every article of a segment."""
    lines: list[str] = []
    places: list[tuple[int, int]] = []
    sizes: list[int] = []
    meanings: list[str] = []
    words = KeyedPostingsWriter(folder, "defined_words")
    symbols = KeyedPostingsWriter(folder, "defined_symbols")
    equations = PostingsWriter(folder, "defined_equations")
    for number, name, _ in records.article_ids():
        article = records.article(name)
        if article is None:
            continue
        glossary = Glossary(article)
        rows: dict[int, int] = {}
        for definition in glossary.definitions:
            row = rows[id(definition)] = len(lines)
            stems = text_stems(definition.text)
            if _is_indexed(definition):
                words.add(row, Counter(stems))
                symbols.add(row, dict.fromkeys(_keys(definition), 1))
            sizes.append(max(1, len(set(stems) - STOP_STEMS)))
            places.append((number, definition.equation))
            lines.append(_definition_line(definition))
        for equation in article.equations:
            found = glossary.meanings(equation.ordinal)
            _add_meanings(equations, len(meanings), found, rows)
            meanings.append(_meanings_line(found, rows))
    words.write()
    symbols.write()
    equations.write(len(lines))
    TextList.write(folder, "definitions", lines)
    TextList.write(folder, "meanings", meanings)
    np.save(folder / "definitions.places.npy", np.array(places, np.int32).reshape(-1, 2))
    np.save(folder / "definitions.sizes.npy", np.array(sizes, np.float32))


def _is_indexed(definition: Definition) -> bool:
    """Whether searches find a definition."""
    return definition.confidence >= MIN_INDEXED and bool(definition.text)


def _add_meanings(
    writer: PostingsWriter, equation: int, meanings: Iterable[Meaning], rows: Mapping[int, int]
) -> None:
    """Add the indexed definitions that are in force for an equation."""
    found: dict[int, float] = {}
    for meaning in meanings:
        if meaning.definition is not None and _is_indexed(meaning.definition):
            row = rows[id(meaning.definition)]
            found[row] = max(found.get(row, 0.0), meaning.score)
    writer.add_owner(list(found), equation, found.values())


def text_stems(text: str) -> list[str]:
    """Return the stems of the words of a phrase, without formulas."""
    return [stem(word.lower()) for word in read_tokens(text)[0]]


def _keys(definition: Definition) -> Iterator[str]:
    yield definition.symbol.key
    yield definition.symbol.general


# ------------------------------------------------------------ lines


def _definition_line(made: Definition) -> str:
    symbol = made.symbol
    found = (symbol.key, symbol.general, symbol.latex, made.text, made.sentence, made.confidence)
    rest = (made.type, made.start, made.end, made.position, made.paragraph, made.section)
    own = (symbol.base, symbol.role, symbol.places)
    return json.dumps([*found, *rest, made.scope, made.kind, *own], ensure_ascii=False)


def _read_definition(line: str, equation: int) -> Definition:
    """Return the definition of a line; `equation` is the ordinal of the nearest one."""
    key, general, latex, text, sentence, confidence, *rest = json.loads(line)
    type_, start, end, position, paragraph, section, scope, kind, *own = rest
    symbol = _read_symbol((key, latex, general, *own))
    where = (start, end, position, paragraph, section, equation)
    return Definition(symbol, text, type_, sentence, *where, scope, kind, confidence)


def _meanings_line(meanings: Iterable[Meaning], rows: Mapping[int, int]) -> str:
    """Return the line of an equation; `rows` has the rows of definitions."""
    made: list[list[Any]] = []
    for meaning in meanings:
        symbol, found = meaning.symbol, meaning.definition
        own = [symbol.key, symbol.latex, symbol.general, symbol.base, symbol.role, symbol.places]
        conflicts = [rows[id(other)] for other in meaning.conflicts]
        row = -1 if found is None else rows[id(found)]
        made.append([own, row, meaning.score, conflicts])
    return json.dumps(made)


def _read_symbol(values: Sequence[Any]) -> Symbol:
    key, latex, general, base, role, places = values
    return Symbol(key, latex, general, base, role, tuple(places))


# ------------------------------------------------------------ reading


class DefinitionIndex:
    """The definitions of all segments, opened for reading."""

    def __init__(self, segments: IndexSegments) -> None:
        self._segments = segments
        self._parts = [SegmentDefinitions(segment) for segment in segments]

    def of_article(self, article: int) -> list[Definition] | None:
        """Return the definitions of an article in order; None if the index does not have them."""
        number = bisect_right([part.first_article for part in self._segments], article) - 1
        return self._parts[number].of_article(article - self._segments[number].first_article)

    def meanings(self, row: int) -> list[Meaning] | None:
        """Return the symbols of an equation; None if the index does not have them."""
        segment, own = self._segments.of_equation(row)
        return self._parts[segment.number].meanings(own)

    def with_words(self, stems: Iterable[str]) -> list[IndexedDefinition]:
        """Return the definitions that have all these stems, in the order of the library."""
        wanted = list(dict.fromkeys(stems))
        return [found for part in self._parts for found in part.with_words(wanted)]

    def of_symbol(self, key: str) -> list[IndexedDefinition]:
        """Return the definitions of a symbol, in the order of the library."""
        return [found for part in self._parts for found in part.of_symbol(key)]

    def fitting_equations(
        self, weights: Mapping[str, float], symbols: Iterable[str] = ()
    ) -> tuple[Array, Array]:
        """Return equations with a symbol whose definition fits words, and how well it does.

        An equation may be there several times.

        Args:
            weights: The stems of the words, and how much each counts.
            symbols: Keys of symbols; given some, only definitions of these count.

        The share of the words that the definition has, squared (so that one word of two is little),
        times the root of the share of its own words that are asked for, times how sure it is. In a
        large library, definitions that have only the most common of the words are left out.
        """
        most, keys = _MOST_DEFINITIONS if self._segments.is_large else None, list(symbols)
        for part in self._parts:
            part.will_read(weights)
        fitting = [part.fitting(weights, keys, most) for part in self._parts]
        for part, (definitions, _) in zip(self._parts, fitting, strict=True):
            part.will_read_equations(definitions)
        rows, fits = [np.empty(0, np.int64)], [np.empty(0, np.float32)]
        for segment, part, found in zip(self._segments, self._parts, fitting, strict=True):
            own, fit = part.equations(*found)
            rows.append(own + segment.first_equation)
            fits.append(fit)
        return np.concatenate(rows), np.concatenate(fits)

    def equations_with(
        self,
        weights: Mapping[str, float],
        symbols: Iterable[str] = (),
        scope: Scope | None = None,
    ) -> NDArray[np.float32]:
        """Return for every equation of a scope how well the definition of a symbol fits words."""
        scope = scope or Scope(self._segments.equation_count)
        return best_fits(*self.fitting_equations(weights, symbols), scope)


def best_fits(rows: Array, fits: Array, scope: Scope) -> NDArray[np.float32]:
    """Return for every equation of a scope the best of its fits."""
    found = np.zeros(len(scope), np.float32)
    places, there = scope.places_among(rows)
    np.maximum.at(found, places, fits[there])
    return found


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
        return TextList(self._segment.folder, "definitions", kept=0)

    @cached_property
    def _meanings(self) -> TextList | None:
        """The meanings of every equation; None in an index of an earlier version."""
        has_meanings = (self._segment.folder / "meanings.txt").exists()
        return TextList(self._segment.folder, "meanings", kept=0) if has_meanings else None

    @cached_property
    def _places(self) -> Array:
        return load_array(self._segment.folder, "definitions.places")

    def of_article(self, article: int) -> list[Definition] | None:
        """Return the definitions of an article in order; None if they are not all there."""
        if self._meanings is None:
            return None
        first, end = np.searchsorted(self._places[:, 0], [article, article + 1]).tolist()
        return list(map(self._definition, range(first, end)))

    def meanings(self, equation: int) -> list[Meaning] | None:
        """Return the symbols of an equation; None if they are not there."""
        if self._meanings is None:
            return None
        return [
            Meaning(
                _read_symbol(symbol),
                self._definition(row) if row >= 0 else None,
                probability(score) if row >= 0 else 0.0,
                list(map(self._definition, conflicts)),
                score,
            )
            for symbol, row, score, conflicts in json.loads(self._meanings[equation])
        ]

    def _definition(self, row: int) -> Definition:
        return _read_definition(self._lines[row], int(self._places[row, 1]))

    def with_words(self, stems: list[str]) -> Iterator[IndexedDefinition]:
        """Yield the definitions that have all these stems."""
        if stems:
            owners = [self._words.owners(text) for text in stems]
            yield from self._read(np.flatnonzero(in_every(owners, len(self._places))))

    def of_symbol(self, key: str) -> Iterator[IndexedDefinition]:
        """Yield the definitions of a symbol."""
        yield from self._read(self._symbols.owners(key))

    def will_read(self, words: Iterable[str]) -> None:
        """Start to read which definitions have words."""
        rows = [row for word in words if (row := self._words.keys.find(word)) is not None]
        self._words.postings.will_read(np.array(rows, np.int64), weights=False)

    def fitting(
        self, weights: Mapping[str, float], symbols: list[str], most: int | None
    ) -> tuple[Array, Array]:
        """Return definitions and how well they fit; at most so many, the best."""
        rows, covered, matched = self._with_any(weights, most)
        if symbols:
            named = np.unique(np.concatenate([self._symbols.owners(key) for key in symbols]))
            is_named = np.isin(rows, named)
            rows, covered, matched = rows[is_named], covered[is_named], matched[is_named]
        total = np.float32(sum(weights.values()))
        fits = (covered / total) ** 2 * np.sqrt(matched / self._sizes[rows])
        if most is not None and len(rows) > most:
            best = np.argpartition(fits, len(rows) - most)[len(rows) - most :]
            rows, fits = rows[best], fits[best]
        will_read(self._equations.pointers, rows, rows + 2)
        return rows, fits

    def will_read_equations(self, rows: Array) -> None:
        """Start to read the equations for which definitions are in force."""
        self._equations.will_read(rows)

    def equations(self, rows: Array, fits: Array) -> tuple[Array, Array]:
        """Return the equations for which definitions are in force, and how well these fit.

        Some are there several times.
        """
        starts = self._equations.pointers[rows]
        counts = self._equations.pointers[rows + 1] - starts
        at = expand_ranges(starts, counts)
        equations = self._equations.owners[at]
        found = np.repeat(fits, counts) * self._equations.weights[at]
        if self._segment.live is not None:  # else the part would count though nothing has it
            live = self._segment.live[equations]
            equations, found = equations[live], found[live]
        return equations, found

    def _with_any(
        self, weights: Mapping[str, float], most: int | None
    ) -> tuple[Array, Array, Array]:
        """Return the definitions with some of the stems: their weight there, and how many.

        With `most`, those that have none but stems of many more definitions are left out.
        """
        lists = [self._words.owners(text) for text in weights]
        least = min(map(len, filter(len, lists)), default=0)
        rare = [
            some for some in lists if most is None or len(some) <= max(_COMMON_FACTOR * most, least)
        ]
        rows = np.unique(np.concatenate([np.empty(0, np.int32), *rare]))
        covered, matched = np.zeros((2, len(rows)), np.float32)
        for some, weight in zip(lists, weights.values(), strict=True):
            if len(some):
                at = np.minimum(np.searchsorted(some, rows), len(some) - 1)
                has = some[at] == rows
                covered[has] += np.float32(weight)
                matched[has] += 1
        return rows, covered, matched

    @cached_property
    def _equations(self) -> Postings:
        return Postings(self._segment.folder, "defined_equations")

    @cached_property
    def _sizes(self) -> Array:
        """How many words each definition has, in as few bytes as they need."""
        sizes = load_array(self._segment.folder, "definitions.sizes")
        will_read_all(sizes)
        small = np.min_scalar_type(int(sizes.max(initial=0)))
        return sizes.astype(small) if small.itemsize < 4 else sizes

    def _read(self, rows: Array) -> Iterator[IndexedDefinition]:
        names: dict[int, str] = {}
        for row in rows.tolist():
            article, equation = self._places[row].tolist()
            if self._segment.is_removed(article):
                continue
            if article not in names:
                names[article] = self._segment.records.name(article)
            *texts, confidence = json.loads(self._lines[row])[:6]
            key, general, latex, text, sentence = (" ".join(each.split()) for each in texts)
            yield IndexedDefinition(
                names[article], equation, key, general, latex, text, sentence, confidence
            )
