"""The symbols of equations, read on demand, and the list under an equation that says "where ...".

A list is short: one line for each symbol that the article defines, a word of doubt where the
definition is not sure, other definitions after it, and one line for the symbols without one.
"""

from collections.abc import Callable

from eqemb.article import Article, Equation
from eqemb.errors import UsageError, quoted
from eqemb.formula import layout
from eqemb.formula.running_text import plain_text
from eqemb.search.notation import EquationSymbols, equation_symbols, is_sure
from eqemb.search.results import TEXT_WIDTH, cut
from eqemb.symbols import Definition, Glossary, Meaning

#: Most lines of a list, most other definitions in a line, and most letters of each of these.
MAX_WHERE, MAX_OTHERS, _MAX_OTHER = 12, 2, 40
#: Articles whose definitions are kept: an answer asks for the same ones several times.
_MAX_GLOSSARIES = 8


class SymbolReader:
    """Finds what the symbols of equations mean; keeps the definitions of the articles read last.

    What the index of the library has is read from there.
    """

    def __init__(
        self,
        read_article: Callable[[str], Article | None],
        stored_meanings: Callable[[Equation], list[Meaning] | None] = lambda _equation: None,
        stored_definitions: Callable[[str], list[Definition] | None] = lambda _article: None,
    ) -> None:
        """`stored_meanings` and `stored_definitions` return what an index has, or None."""
        self._read_article, self._stored_meanings = read_article, stored_meanings
        self._stored_definitions = stored_definitions
        self._glossaries: dict[str, Glossary] = {}  # the latest last

    def of(self, equation: Equation) -> EquationSymbols:
        """Return the symbols of an equation, in reading order."""
        found = self._stored_meanings(equation)
        if found is None:
            found = self.glossary(equation.article).meanings(equation.ordinal)
        return equation_symbols(equation, found)

    def glossary(self, article: str) -> Glossary:
        """Return the definitions of an article."""
        found = self._glossaries.pop(article, None)
        if found is None:
            read = self._read_article(article)
            if read is None:
                raise UsageError(f"article {quoted(article)} is not in the library any more")
            found = Glossary(read, self._stored_definitions(article))
            if len(self._glossaries) >= _MAX_GLOSSARIES:
                del self._glossaries[next(iter(self._glossaries))]
        self._glossaries[article] = found
        return found


def where_lines(symbols: EquationSymbols, width: int = TEXT_WIDTH) -> list[str]:
    """Return the lines of a "where" list for a terminal; none if the article defines no symbol."""
    defined = [meaning for meaning in symbols if meaning.definition is not None]
    if not defined:
        return []
    shown = defined[:MAX_WHERE]
    names = [_unicode(meaning) for meaning in shown]
    room = min(max(map(len, names)), 16)
    lines: list[str] = []
    for name, meaning in zip(names, shown, strict=True):
        lead = f"{'      ' if lines else 'where '} {name:{room}}  "
        lines.append(cut(lead + told(meaning), width))
    if len(defined) > len(shown):
        lines.append(f"       and {len(defined) - len(shown)} more")
    if symbols.undefined:
        names = [layout(symbol.latex).to_text() for symbol in symbols.undefined]
        lines.append(cut(f"       no definition found: {', '.join(names)}", width))
    return lines


def told(meaning: Meaning) -> str:
    """Return what a symbol means in one line, with doubt and with what is said elsewhere."""
    if meaning.definition is None:
        return "no definition found"
    others = [cut(plain_text(other.text), _MAX_OTHER) for other in meaning.conflicts[:MAX_OTHERS]]
    doubt = "" if is_sure(meaning) else "perhaps "
    elsewhere = f" (elsewhere: {'; '.join(others)})" if others else ""
    return f"{doubt}{plain_text(meaning.definition.text)}{elsewhere}"


def _unicode(meaning: Meaning) -> str:
    return layout(meaning.symbol.latex).to_text()
