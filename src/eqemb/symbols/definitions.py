r"""Definitions of symbols in the text of an article.

`find_definitions` reads the sentences that have formulas, in order, and returns what they say
about symbols. It is deterministic, needs no model and takes time linear in the text.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from eqemb.article import EQUATION_MARK, Article
from eqemb.symbols import lexicon
from eqemb.symbols.cells import cell_phrase, pair_cells
from eqemb.symbols.mentions import Mention
from eqemb.symbols.model import Definition, Kind, Scope
from eqemb.symbols.patterns import find_mentions
from eqemb.symbols.phrases import Sentence
from eqemb.symbols.places import ArticleLine, ArticlePlaces
from eqemb.symbols.sentence import read_sentence
from eqemb.symbols.terms import FormulaTerm, read_term

#: A mention that is less sure is not a definition.
MIN_CONFIDENCE = 0.3
_TYPE_CONFIDENCE, _CELL_CONFIDENCE, _TABLE_CONFIDENCE = 0.35, 0.7, 0.85
#: How much less sure it is that a phrase means the members of a tuple.
_TUPLE_DOUBT = 0.25
#: Formulas longer than this are not read for a type alone.
_MAX_TYPE_LETTERS = 120
#: A line with more letters is data, not a sentence.
_MAX_LINE_LETTERS = 20_000

#: Words that give a definition the whole article as scope.
_EVERYWHERE = (
    "hroughout", "ereafter", "enceforth", "n this paper", "n this work", "n this article",
    "n this thesis", "n this chapter",
)  # fmt: skip
_NOTATION = re.compile(r"\b(?:notations?|nomenclature|symbols|conventions)\b", re.IGNORECASE)
_TYPED = ("\\in", "\\to", "\\rightarrow", "∈", "→")
#: One of these stands before every type.
_TYPING = ("\\in", "\\subset", ":", "colon", "∈", "⊂", "⊆", "∶")
_BINDS = re.compile(r"\\(?:sum|prod|int|forall|exists|bigcup|bigcap)(?![a-zA-Z])")
_EQUATION_SIGNS = frozenset("=≡≜≝≐∼∝≈") | {":="}


def find_definitions(article: Article, places: ArticlePlaces | None = None) -> list[Definition]:
    """The definitions of an article, in the order of its text."""
    places = places or ArticlePlaces(article.text, article.sections)
    notation = {number for number, title in enumerate(article.sections) if _NOTATION.search(title)}
    found: list[Definition] = []
    ordinal = 0
    cells = {cell.start: beside for cell, beside in pair_cells(places.lines)}
    for line in places.lines:
        count = line.text.count(EQUATION_MARK)
        if line.start in cells:
            reader = _LineReader(article, places, line, ordinal)
            found.extend(reader.cell(cells[line.start], everywhere=line.section in notation))
            continue
        if (count or "$" in line.text) and len(line.text) <= _MAX_LINE_LETTERS:
            reader = _LineReader(article, places, line, ordinal)
            found.extend(reader.definitions(everywhere=line.section in notation))
        ordinal += count
    if article.notation:
        found.extend(_of_tables(article, places))
        found.sort(key=lambda definition: definition.position)
    return found


def _of_tables(article: Article, places: ArticlePlaces) -> Iterator[Definition]:
    """What tables of notation say; a symbol with several meanings in a section has none."""
    texts: dict[tuple[str, int], set[str]] = defaultdict(set)
    rows = list(_of_rows(article, places))
    for one in rows:
        texts[one.symbol.key, one.section].add(one.text)
    return (one for one in rows if len(texts[one.symbol.key, one.section]) == 1)


def _of_rows(article: Article, places: ArticlePlaces) -> Iterator[Definition]:
    """What each row of a table says; it stands at the start of its section."""
    for row in article.notation:
        sentence = Sentence(read_sentence(row.meaning))
        phrase = cell_phrase(sentence)
        if phrase is None:
            continue
        tokens, term = sentence.tokens, read_term(row.symbol)
        text = row.meaning[tokens.span(phrase.start)[0] : tokens.span(phrase.end - 1)[1]]
        if phrase.start == 0 and text[1:2].islower():
            text = text[0].lower() + text[1:]
        position = places.section_start(row.section)
        for symbol in term.symbols:
            yield Definition(
                symbol=symbol, text=" ".join(text.split()), type=term.type,
                sentence=f"${row.symbol}$: {row.meaning}", start=position, end=position,
                position=position, paragraph=places.at(position).paragraph, section=row.section,
                equation=0, scope="article", kind="list", confidence=_TABLE_CONFIDENCE,
            )  # fmt: skip


class _LineReader:
    """The definitions of one line."""

    def __init__(
        self, article: Article, places: ArticlePlaces, line: ArticleLine, ordinal: int
    ) -> None:
        self.article, self.places, self.line = article, places, line
        self.sentence = Sentence(read_sentence(line.text, line.start))
        self.ordinal = ordinal

    def definitions(self, *, everywhere: bool) -> Iterator[Definition]:
        kinds, latex = self.sentence.kinds, self.sentence.latex
        mentions = find_mentions(self.sentence)
        untyped = [
            at
            for at in self.sentence.tokens.formulas
            if kinds[at] == lexicon.FORMULA and _may_have_type(latex[at])
        ]
        if not mentions and not untyped:
            return
        wide = everywhere or any(phrase in self.line.text for phrase in _EVERYWHERE)
        defined: set[int] = set()
        for mention in mentions:
            if mention.confidence < MIN_CONFIDENCE:
                continue
            term = self.term(mention.term)
            if term.symbols:
                defined.add(mention.term)
                yield from self.made(mention, term, wide=wide)
        for at in untyped:
            if at not in defined:
                yield from self.typed(at, wide=wide)

    def cell(self, beside: ArticleLine, *, everywhere: bool) -> Iterator[Definition]:
        """What the cell beside this line says that its formula is."""
        other = _LineReader(self.article, self.places, beside, 0)
        phrase = cell_phrase(other.sentence)
        if phrase is None or self.sentence.kinds[0] != lexicon.FORMULA:
            yield from self.definitions(everywhere=everywhere)
            return
        start, end, text = other.text_of(Mention(0, phrase, "list", _CELL_CONFIDENCE))
        for made in self.definition(
            self.term(0), 0, text, (start, end), scope="article" if everywhere else "section",
            kind="list", confidence=_CELL_CONFIDENCE,
        ):  # fmt: skip
            yield replace(made, sentence=beside.text.strip())

    def term(self, at: int) -> FormulaTerm:
        """What the formula or the equation at a token is about."""
        if self.sentence.kinds[at] != lexicon.EQUATION:
            return read_term(self.sentence.latex[at])
        start, _ = self.span(at)
        number = self.ordinal + self.line.text.count(EQUATION_MARK, 0, start - self.line.start)
        if number >= len(self.article.equations):
            return FormulaTerm(())
        term = read_term(self.article.equations[number].expanded)
        return (
            term if term.relation in _EQUATION_SIGNS and len(term.symbols) == 1 else FormulaTerm(())
        )

    def made(self, mention: Mention, term: FormulaTerm, *, wide: bool) -> Iterator[Definition]:
        start, end, text = self.text_of(mention)
        doubt = 0.0
        if term.is_tuple and len(term.symbols) > 1:
            doubt = _TUPLE_DOUBT
            first, last = self.span(mention.term)
            text = f"part of {text} {self.article.text[first:last]}"
        scope: Scope = "section"
        if wide:
            scope = "article"
        elif mention.phrase.determiner in lexicon.QUANTIFIERS:
            scope = "sentence"
        yield from self.definition(
            term, mention.term, text, (start, end), scope=scope, kind=mention.kind,
            confidence=mention.confidence - doubt,
        )  # fmt: skip

    def text_of(self, mention: Mention) -> tuple[int, int, str]:
        """Where a phrase stands, and its text for people."""
        start, end = self.span(*mention.phrase[:2])
        text = self.article.text[start:end]
        if mention.tail is not None:
            first, last = self.span(*mention.tail[:2])
            text += " " + self.article.text[first:last]
        if mention.phrase.start == 0 and text[1:2].islower():
            text = text[0].lower() + text[1:]
        if mention.counts:
            text = f"number of {text}"
        return start, end, " ".join(text.split())

    def span(self, start: int, end: int | None = None) -> tuple[int, int]:
        """Where tokens stand in the article's text."""
        tokens = self.sentence.tokens
        first, last = tokens.span(start)
        return first, (last if end is None else tokens.span(end - 1)[1])

    def typed(self, at: int, *, wide: bool) -> Iterator[Definition]:
        r"""What a formula such as `x \in X` says without words."""
        term = read_term(self.sentence.latex[at])
        if not any(map(str.isalpha, term.type)):
            return
        text = f"function ${term.type}$" if term.relation == ":" else f"element of ${term.type}$"
        yield from self.definition(
            term, at, text, self.span(at), scope="article" if wide else "section",
            kind="type", confidence=_TYPE_CONFIDENCE,
        )  # fmt: skip

    def definition(
        self, term: FormulaTerm, at: int, text: str, span: tuple[int, int], *,
        scope: Scope, kind: Kind, confidence: float,
    ) -> Iterator[Definition]:  # fmt: skip
        if not term.symbols:
            return
        line, position = self.line, self.span(at)[0]
        equation = self.places.nearest_equation(position, line.paragraph)
        sentence, confidence = line.text.strip(), round(confidence, 2)
        for symbol in term.symbols:
            yield Definition(
                symbol=symbol, text=text, type=term.type, sentence=sentence,
                start=span[0], end=span[1], position=position, paragraph=line.paragraph,
                section=line.section, equation=equation, scope=scope, kind=kind,
                confidence=confidence,
            )  # fmt: skip


@lru_cache(maxsize=16384)
def _may_have_type(latex: str) -> bool:
    return (
        len(latex) <= _MAX_TYPE_LETTERS
        and any(sign in latex for sign in _TYPED)
        and any(sign in latex for sign in _TYPING)
        and _BINDS.search(latex) is None
    )
