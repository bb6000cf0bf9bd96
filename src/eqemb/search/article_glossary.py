"""The glossary of an article: every symbol that it defines, with all that it says of each.

Definitions of one symbol with the same words are one meaning, at the place of the surest one. What
is known only from a formula (`x ∈ X`) is left out where words say more. Symbols are in alphabetical
order, whatever their style: x, **x**, x̂, then Greek ones.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from html import escape
from unicodedata import normalize

from eqemb.article import Article
from eqemb.formula import layout
from eqemb.formula.running_text import plain_text
from eqemb.index.definitions import text_stems
from eqemb.index.stemming import STOP_STEMS
from eqemb.search.notation import sentence_text
from eqemb.search.results import TEXT_WIDTH, Json, cut, rows
from eqemb.symbols import SURE_FROM, Definition, Glossary, Symbol, probability

#: Most symbols of a glossary, and most meanings of a symbol.
MAX_ENTRIES, MAX_MEANINGS = 500, 5


@dataclass(frozen=True, slots=True)
class GlossaryEntry:
    """A symbol, and what the article says that it means."""

    symbol: Symbol
    meanings: list[Definition]
    """In the order of the text."""


@dataclass(frozen=True)
class ArticleGlossary:
    """The symbols that an article defines, in alphabetical order."""

    article: Article
    entries: list[GlossaryEntry]
    total: int
    """How many symbols it defines; a long glossary is cut."""

    def __iter__(self) -> Iterator[GlossaryEntry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def section(self, definition: Definition) -> str:
        """The title of the section of a definition, as plain text; '' before the first one."""
        return self._titles[definition.section] if definition.section >= 0 else ""

    @cached_property
    def _titles(self) -> list[str]:
        return [plain_text(title) for title in self.article.sections]

    def to_json(self) -> Json:
        """Return `article`, `title`, `total` and `entries`.

        An entry has `symbol` (LaTeX), `text` (Unicode) and `meanings`: each with `definition`,
        `type`, `sentence`, `scope`, `section`, `equation` (the name of the nearest one, or None)
        and `confidence`.
        """
        return {
            "article": self.article.name,
            "title": self.article.title,
            "total": self.total,
            "entries": [
                {
                    "symbol": entry.symbol.latex,
                    "text": layout(entry.symbol.latex).to_text(),
                    "meanings": [self._meaning_json(one) for one in entry.meanings],
                }
                for entry in self.entries
            ],
        }

    def _meaning_json(self, one: Definition) -> Json:
        return {
            "definition": one.text,
            "type": one.type or None,
            "sentence": sentence_text(one.sentence),
            "scope": one.scope,
            "section": self.section(one),
            "equation": f"{self.article.name}#{one.equation}" if one.equation else None,
            "confidence": probability(one.confidence),
        }

    def to_text(self, width: int = TEXT_WIDTH) -> str:
        """Return a line for each meaning, with its section and the nearest equation."""
        lines = [cut(self.article.title or self.article.name, width), ""]
        names = [layout(entry.symbol.latex).to_text() for entry in self.entries]
        room = min(max(map(len, names), default=0), 16)
        for name, entry in zip(names, self.entries, strict=True):
            for number, one in enumerate(entry.meanings):
                where = [self.section(one), f"#{one.equation}" if one.equation else ""]
                place = " · ".join(filter(None, where))
                what = _doubted(one)
                lead = f"  {'' if number else name:{room}}  "
                lines.append(cut(lead + what + (f"  ({place})" if place else ""), width))
        if not self.entries:
            lines.append("  no definition found")
        if self.total > len(self.entries):
            lines.append(f"  and {self.total - len(self.entries):,} more")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        cells = (
            (
                layout(entry.symbol.latex).to_mathml(),
                escape(_doubted(one)),
                escape(self.section(one)),
            )
            for entry in self.entries
            for one in entry.meanings
        )
        return rows(("symbol", "meaning", "section"), cells)


def article_glossary(glossary: Glossary) -> ArticleGlossary:
    """Return the symbols that an article defines."""
    found: dict[str, list[Definition]] = {}
    for definition in glossary.definitions:
        found.setdefault(definition.symbol.key, []).append(definition)
    keys = sorted(found, key=lambda key: _alphabetical(found[key][0].symbol))
    entries = [
        GlossaryEntry(found[key][0].symbol, _distinct(found[key])) for key in keys[:MAX_ENTRIES]
    ]
    return ArticleGlossary(glossary.article, entries, len(keys))


def _doubted(one: Definition) -> str:
    """Return what a definition says, after a word of doubt where it is not sure."""
    doubt = "" if probability(one.confidence) >= SURE_FROM else "perhaps "
    return doubt + plain_text(one.text)


def _alphabetical(symbol: Symbol) -> tuple[str, str, str]:
    letter = normalize("NFKC", symbol.base)
    return letter.casefold(), letter, symbol.key


def _distinct(definitions: Iterable[Definition]) -> list[Definition]:
    """Return the surest definition of each meaning, in the order of the text."""
    best: dict[frozenset[str], Definition] = {}
    for one in definitions:
        words = frozenset(text_stems(one.text)) - STOP_STEMS
        key = frozenset() if one.kind == "type" else words or frozenset([one.text])
        if key not in best or best[key].confidence < one.confidence:
            best[key] = one
    if len(best) > 1:
        best.pop(frozenset(), None)  # a type says less than words
    kept = sorted(best.values(), key=lambda one: -one.confidence)[:MAX_MEANINGS]
    return sorted(kept, key=lambda one: one.position)
