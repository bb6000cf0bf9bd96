r"""What the symbols of an equation mean: the best definition of each, and those that conflict.

A definition of the very symbol comes before one of a related symbol (`x_j` for `x_i`, `x` for
`x_i`, `x_i` for `x`), a near one before a far one, and one before the equation before one after
it. The score is the product of these and of the definition's own confidence.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import exp
from typing import NamedTuple

from eqemb.article import Article
from eqemb.formula import layout
from eqemb.formula.tree import plain_tag
from eqemb.symbols.definitions import find_definitions
from eqemb.symbols.identifiers import symbols_of
from eqemb.symbols.model import Definition, Meaning, Symbol
from eqemb.symbols.places import ArticlePlaces, TextPlace

#: How much a definition counts for a symbol that has the same letter but is not the same.
SAME_UP_TO_INDEX, OF_BASE, FROM_INDEXED, OF_ONE_NUMBER, OTHER_STYLE = 0.95, 0.8, 0.65, 0.55, 0.4
_NUMBERED = re.compile(r"_\{\d+\}")
#: A meaning with a lower score is no meaning.
MIN_SCORE = 0.15
#: A meaning with a lower confidence, which is a probability, is shown with doubt.
SURE_FROM = 0.6
#: Conflicts that are kept for a symbol.
MAX_CONFLICTS = 5

#: Definitions of a letter that are looked at on either side of an equation, if it has very many.
LOOKED_AT = 50

_SAME_LINE, _NEXT_LINES, _SAME_PARAGRAPH = 1.0, 0.97, 0.93
_EARLIER_HERE, _LATER_HERE, _EARLIER_SECTION, _LATER_SECTION = 0.88, 0.72, 0.75, 0.5
_OUT_OF_SCOPE = 0.5
#: Log odds of being right: for a score of 0, and by how much they grow up to a score of 1.
_AT_ZERO, _SLOPE = -1.64, 3.86


class Glossary:
    """The definitions of an article, ready to be asked."""

    def __init__(self, article: Article, definitions: Iterable[Definition] | None = None) -> None:
        """`definitions` are those of the article, if they are known already."""
        self.article = article
        self.places = ArticlePlaces(article.text, article.sections)
        if definitions is None:
            definitions = find_definitions(article, self.places)
        self.definitions = list(definitions)
        self._by_letter: dict[str, _Definitions] = defaultdict(_Definitions)
        for definition in self.definitions:
            place = self.places.at(definition.position)
            self._by_letter[_plain(definition.symbol.base)].add(definition, place)

    def meanings(self, ordinal: int, symbols: Sequence[Symbol] | None = None) -> list[Meaning]:
        """The symbols of an equation of the article (1-based), each with its best definition.

        `symbols` are those of the equation, if they are known already.
        """
        if symbols is None:
            symbols = symbols_of(layout(self.article.equations[ordinal - 1].expanded))
        place = self.places.at(self.places.marks[ordinal - 1])
        return [self.meaning(symbol, place) for symbol in symbols]

    def meaning(self, symbol: Symbol, place: TextPlace) -> Meaning:
        """What a symbol means at a place of the text."""
        scored: list[tuple[float, int, Definition]] = []
        known = self._by_letter.get(_plain(symbol.base))
        for definition, there in known.likely(symbol.key, place.position) if known else ():
            score = likeness(symbol, definition.symbol)
            if score:
                score *= _nearness(definition, there, place) * definition.confidence
                if score >= MIN_SCORE and _may_tell(symbol, score, there, place):
                    scored.append((-score, abs(definition.position - place.position), definition))
        if not scored:
            return Meaning(symbol)
        scored.sort(key=lambda one: one[:2])
        best, score = scored[0][2], round(-scored[0][0], 3)
        return Meaning(symbol, best, probability(score), _conflicts(best, scored), score)


class _Definitions:
    """The definitions of one letter, each with its place.

    Only some of very many are looked at for a symbol, so that the time for a paper grows with its
    size and not with its square.
    """

    def __init__(self) -> None:
        self._all: list[tuple[Definition, TextPlace]] = []
        self._ordered: _Ordered | None = None

    def add(self, definition: Definition, place: TextPlace) -> None:
        """Add a definition."""
        self._all.append((definition, place))

    def likely(self, key: str, position: int) -> list[tuple[Definition, TextPlace]]:
        """Return all definitions, or those that may be the best ones for a symbol at a position.

        These are the nearest ones, the nearest of the very symbol, and the nearest of those that
        hold in the whole article.
        """
        if len(self._all) <= 2 * LOOKED_AT:
            return self._all
        if self._ordered is None:
            self._ordered = _ordered(self._all)
        numbers: set[int] = set()
        for places in (*self._ordered[:2], self._ordered.by_symbol.get(key, [])):
            at = bisect_left(places, (position, 0))
            numbers.update(number for _, number in places[max(0, at - LOOKED_AT) : at + LOOKED_AT])
        return [self._all[number] for number in sorted(numbers)]


class _Ordered(NamedTuple):
    """The positions of definitions with their numbers, ascending."""

    every: list[tuple[int, int]]
    in_article: list[tuple[int, int]]
    by_symbol: dict[str, list[tuple[int, int]]]


def _ordered(definitions: Iterable[tuple[Definition, TextPlace]]) -> _Ordered:
    """Order definitions by where they stand: all, those for the article, those of each symbol."""
    found = _Ordered([], [], defaultdict(list))
    for number, (definition, place) in enumerate(definitions):
        entry = (place.position, number)
        found.every.append(entry)
        found.by_symbol[definition.symbol.key].append(entry)
        if definition.scope == "article":
            found.in_article.append(entry)
    for places in (found.every, found.in_article, *found.by_symbol.values()):
        places.sort()
    return found


def _may_tell(symbol: Symbol, score: float, there: TextPlace, place: TextPlace) -> bool:
    """Whether a definition may be what a symbol means at a place.

    A letter that is only an index of others (`k` in `d_k`) is often part of their names, so what is
    said of it far away counts only if it is sure.
    """
    if symbol.role != "index" or there.paragraph == place.paragraph:
        return True
    return abs(there.line - place.line) <= 1 or probability(round(score, 3)) >= SURE_FROM


def probability(score: float) -> float:
    """How often meanings with such a score are right: a logistic fit on marked examples.

    `benchmarks/symdef.py --fit` makes the two numbers.
    """
    return round(1 / (1 + exp(-(_AT_ZERO + _SLOPE * score))), 3)


def _nearness(definition: Definition, there: TextPlace, place: TextPlace) -> float:
    """How much a definition counts where it stands, seen from a place."""
    before = there.position < place.position
    steps = abs(there.line - place.line)
    if steps == 0:
        near = _SAME_LINE
    elif there.paragraph == place.paragraph:
        near = _NEXT_LINES if steps <= 2 else _SAME_PARAGRAPH
    elif steps == 1:
        near = _NEXT_LINES
    elif there.section == place.section:
        near = _EARLIER_HERE if before else _LATER_HERE
    elif definition.scope == "article":
        near = _EARLIER_HERE
    else:
        near = _EARLIER_SECTION if before else _LATER_SECTION
    # Of two definitions that are alike otherwise, the nearer one counts.
    near *= 1 - 0.05 * min(steps, 400) / 400
    if definition.scope == "sentence" and there.paragraph != place.paragraph:
        near *= _OUT_OF_SCOPE
    return near


def equation_meanings(article: Article, ordinal: int) -> list[Meaning]:
    """The symbols of one equation of an article; for several, make one `Glossary`."""
    return Glossary(article).meanings(ordinal)


def likeness(symbol: Symbol, other: Symbol) -> float:
    """How much a definition of another symbol counts for a symbol: 1 for the same one, 0 for none.

    >>> from eqemb.symbols.terms import read_term
    >>> x_i, x_j = read_term("x_i").symbols[0], read_term("x_j").symbols[0]
    >>> likeness(x_i, x_i), likeness(x_i, x_j)
    (1.0, 0.95)
    """
    if symbol.key == other.key:
        return 1.0
    style, mine, its = 1.0, symbol, other
    if symbol.base != other.base:
        if _plain(symbol.base) != _plain(other.base):
            return 0.0
        style, mine, its = OTHER_STYLE, _unstyled(symbol), _unstyled(other)
        if mine.key == its.key:
            return style
    if mine.general == its.general:
        one_of_many = _NUMBERED.search(its.key) and not _NUMBERED.search(mine.key)
        return (OF_ONE_NUMBER if one_of_many else SAME_UP_TO_INDEX) * style
    if its.key == its.base:
        return OF_BASE * style
    if mine.key == mine.base and "·" in its.general:
        return FROM_INDEXED * style
    return 0.0


@lru_cache(maxsize=4096)
def _plain(base: str) -> str:
    """A letter without its alphabet."""
    return base if base.isascii() else plain_tag("V!" + base)[2:]


def _unstyled(symbol: Symbol) -> Symbol:
    size, plain = len(symbol.base), _plain(symbol.base)
    return Symbol(plain + symbol.key[size:], "", plain + symbol.general[size:], plain)


def _conflicts(best: Definition, scored: list[tuple[float, int, Definition]]) -> list[Definition]:
    """Definitions that say something else than the best one, each text once."""
    said = [_content(best.text)]
    found: list[Definition] = []
    for _, _, definition in scored[1:]:
        words = _content(definition.text)
        if definition.kind == "type" or any(_agree(words, other) for other in said):
            continue
        said.append(words)
        found.append(definition)
        if len(found) == MAX_CONFLICTS:
            break
    return found


_IGNORED = frozenset(
    "the a an of our its this that each every any all some given number set".split()
)


@lru_cache(maxsize=16384)
def _content(text: str) -> frozenset[str]:
    words = (word.strip(".,;:()'\"").lower() for word in text.split())
    return frozenset(
        word.removesuffix("s")
        for word in words
        if word and word not in _IGNORED and "$" not in word
    )


def _agree(words: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two definitions share half of the words of the shorter one."""
    smaller = min(len(words), len(other))
    return smaller == 0 or 2 * len(words & other) >= smaller
