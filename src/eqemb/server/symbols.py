"""What a library says about symbols, as JSON-ready dictionaries: for the API and for pages.

A formula is marked when it is asked for, not when it is indexed: a page of an article has hundreds
of formulas, and readers look at few of them. An element of marked MathML that is a symbol has the
attribute `data-symbol`, the position of its meaning in `symbols`.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from eqemb.article import Equation, read_tokens, tokenize
from eqemb.errors import UsageError, quoted
from eqemb.facade.library import Library
from eqemb.formula import layout
from eqemb.formula.html import page_mathml
from eqemb.index.renderings import MAX_INLINE
from eqemb.search.notation import EquationSymbols, is_sure, meaning_json, type_sign
from eqemb.search.snippets import Piece, Renderer, around_word, pieces
from eqemb.server.queries import MissingError, check_query
from eqemb.symbols import Glossary, Meaning, Symbol, symbols_of

#: Other meanings of a symbol that a page lists.
_MAX_OTHERS = 3
#: Formulas of a paragraph that are marked.
_MAX_FORMULAS = 200

Json = dict[str, Any]


class SymbolService:
    """Answers questions about the symbols of one open library."""

    def __init__(self, library: Library, renderer: Renderer, reach: int, *, is_full: bool) -> None:
        """`reach` is how many words of a sentence may be shown; with 0, definitions are not."""
        self._library, self._renderer = library, renderer
        self._reach, self._is_full = reach, is_full

    # ------------------------------------------------------------ the API

    def of(self, equation: Equation) -> list[Json]:
        """The symbols of an equation, in reading order; none if no text may be shown."""
        return self.listed(self._symbols(equation))

    def listed(self, symbols: Iterable[Meaning]) -> list[Json]:
        """The symbols of an equation; none if no text may be shown."""
        return [self._meaning(meaning) for meaning in symbols] if self._reach else []

    def equation(self, name: str) -> Json:
        """The symbols of an equation, given by name, and the equation with its symbols marked."""
        equation = self._named(name)
        found = list(self._symbols(equation))
        return {
            "equation": equation.id,
            "mathml": _marked(equation.expanded, found, display=True),
            "symbols": [self._meaning(meaning) for meaning in found],
        }

    def glossary(self, article: str, *, for_page: bool = False) -> Json:
        """The symbols that an article defines; `for_page` adds texts as pieces."""
        found = self._library.glossary(self._article_name(article)).to_json()
        if not self._reach:
            return found | {"total": 0, "entries": []}
        for entry in found["entries"]:
            entry["mathml"] = self._renderer.mathml(entry["symbol"])
            for meaning in entry["meanings"]:
                self._finish(meaning, "definition", for_page=for_page)
        return found

    def notation(self, query: str, count: int = 10, *, for_page: bool = False) -> Json:
        """How articles denote a thing, or what they mean by a symbol; `for_page` as above."""
        found = self._library.notation(check_query(query), count).to_json()
        if not self._reach:
            return found | {"lines": []}
        for line in found["lines"]:
            line["mathml"] = self._renderer.mathml(line["symbol"])
            if for_page:
                line["meaning_pieces"] = self._pieces(line["meaning"])
            for example in line["examples"]:
                self._finish(example, "definition", for_page=for_page)
        return found

    def _finish(self, said: Json, key: str, *, for_page: bool) -> None:
        """Withhold a sentence that may not be shown; for a page, add both texts as pieces."""
        said["sentence"] = self._sentence(said["sentence"])
        if for_page:
            said["pieces"] = self._pieces(said[key])
            said["sentence_pieces"] = self._evidence(said["sentence"] or "", said[key])

    def _meaning(self, meaning: Meaning) -> Json:
        made = meaning_json(meaning, self._renderer)
        made["mathml"] = self._renderer.mathml(meaning.symbol.latex)
        made["sentence"] = self._sentence(made["sentence"])
        for other in made["conflicts"]:
            other["sentence"] = self._sentence(other["sentence"])
        return made

    def _sentence(self, sentence: str | None) -> str | None:
        return sentence if self._is_full else None

    # ------------------------------------------------------------ pages

    def where(self, equation: Equation) -> Json:
        """An equation for a page, its symbols marked, and what they mean."""
        found = self._symbols(equation)
        return {
            "name": equation.id,
            "article": equation.article,
            "formulas": [_marked(equation.expanded, found, display=True)],
            "symbols": self._shown(found),
            "undefined": [
                self._renderer.mathml(meaning.symbol.latex)
                for meaning in found
                if meaning.definition is None
            ],
        }

    def where_named(self, name: str) -> Json:
        """An equation for a page, given by name."""
        return self.where(self._named(name))

    def where_paragraph(self, article: str, paragraph: int) -> Json:
        """The formulas of a paragraph for a page, their symbols marked, and what they mean.

        Paragraphs are numbered from 0, as the text of the article has them.
        """
        name = self._article_name(article)
        glossary = self._library.symbol_reader.glossary(name)
        texts = glossary.article.text.split("\n\n")
        if not 0 <= paragraph < len(texts):
            raise MissingError(f"article {name} has {len(texts)} paragraphs, not {paragraph}")
        start = sum(len(text) + 2 for text in texts[:paragraph])
        found: dict[tuple[str, int], Meaning] = {}
        formulas = []
        for latex, position in _formulas(texts[paragraph], start):
            meanings = self._meanings_at(glossary, latex, position)
            numbers = dict[int, int]()
            for meaning in meanings:
                found.setdefault(_identity(meaning), meaning)
                number = list(found).index(_identity(meaning))
                numbers |= dict.fromkeys(meaning.symbol.places, number)
            formulas.append(page_mathml(layout(latex).to_mathml(display=False, symbols=numbers)))
        return {
            "name": "",
            "article": name,
            "formulas": formulas,
            "symbols": self._shown(found.values()),
            "undefined": [],
        }

    def _meanings_at(self, glossary: Glossary, latex: str, position: int) -> list[Meaning]:
        """The meanings of the symbols of a formula in the text, those that are defined."""
        if not self._reach:
            return []
        place = glossary.places.at(position)
        every = (glossary.meaning(symbol, place) for symbol in symbols_of(layout(latex)))
        return [meaning for meaning in every if meaning.definition is not None]

    def _shown(self, meanings: Iterable[Meaning]) -> list[Json]:
        """The symbols that are defined, each with its position among all, for a page."""
        return [
            {
                "number": number,
                "latex": meaning.symbol.latex,
                "mathml": self._renderer.mathml(meaning.symbol.latex),
                "text": self._renderer.text(meaning.symbol.latex),
                "sure": is_sure(meaning),
                "definition": self._pieces(definition.text),
                "sign": type_sign(definition.type),
                "type": self._renderer.mathml(definition.type)
                if definition.type and definition.kind != "type"
                else None,
                "sentence": self._evidence(definition.sentence, definition.text),
                "others": [self._pieces(other.text) for other in meaning.conflicts[:_MAX_OTHERS]],
            }
            for number, meaning in enumerate(meanings)
            if (definition := meaning.definition) is not None
        ]

    def _evidence(self, sentence: str, definition: str) -> list[Piece]:
        """The sentence of a definition for a page: the words around what it says."""
        if not self._is_full or not sentence:
            return []
        words = read_tokens(definition)[0]
        near = around_word(sentence, words[0] if words else "", self._reach // 2)
        return self._pieces(near)

    def _pieces(self, text: str) -> list[Piece]:
        return pieces(text, renderer=self._renderer)

    # ------------------------------------------------------------ names

    def _symbols(self, equation: Equation) -> EquationSymbols:
        if not self._reach:
            return EquationSymbols(equation, [])
        return self._library.symbols(equation)

    def _named(self, name: str) -> Equation:
        try:
            found = self._library.equation(check_query(name))
        except UsageError as error:
            raise MissingError(str(error)) from None
        if found is None:
            raise MissingError(f"{quoted(name)} is not the name of an equation: write ARTICLE#4")
        return found

    def _article_name(self, name: str) -> str:
        try:
            return self._library.article_name(check_query(name))
        except UsageError as error:
            raise MissingError(str(error)) from None


def _formulas(text: str, start: int) -> Iterator[tuple[str, int]]:
    """The LaTeX and the position of the formulas of a paragraph that pages show as formulas."""
    count = 0
    for kind, source, at, _ in tokenize(text):
        latex = source.strip("$")
        if kind == "math" and len(latex) <= MAX_INLINE and count < _MAX_FORMULAS:
            count += 1
            yield latex, start + at


def _marked(latex: str, meanings: Iterable[Meaning], *, display: bool) -> str:
    numbers = {
        place: number
        for number, meaning in enumerate(meanings)
        if meaning.definition is not None
        for place in meaning.symbol.places
    }
    return page_mathml(layout(latex).to_mathml(display=display, symbols=numbers))


def _identity(meaning: Meaning) -> tuple[str, int]:
    """What makes two symbols of a paragraph the same: the key and the definition."""
    symbol: Symbol = meaning.symbol
    return symbol.key, -1 if meaning.definition is None else meaning.definition.position
