"""What the symbols of an equation mean, and how a library denotes things.

`equation_symbols` lists the symbols of an equation of the library with their definitions in its
article. `find_notation` counts, for words, the symbols that articles use for them, and for a
symbol, what articles mean by it. Counts are of articles, so that a long one has one vote.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from html import escape

from eqemb.article import EQUATION_MARK, Equation
from eqemb.corpus.vocabulary import STOP_WORDS
from eqemb.errors import UsageError, quoted
from eqemb.formula import layout
from eqemb.formula.running_text import plain_text
from eqemb.index.definitions import DefinitionIndex, IndexedDefinition, text_stems
from eqemb.index.stemming import stem
from eqemb.search.query import WordQuery
from eqemb.search.results import TEXT_WIDTH, Json, cut, rows
from eqemb.search.snippets import DEFAULT_RENDERER, Renderer
from eqemb.symbols import SURE_FROM, Meaning, Symbol, symbols_of

#: Examples of a line of notation.
MAX_EXAMPLES = 3
_NAMED_SYMBOLS = 5  # in a message
#: Bound variables and indices are shown only where the text defines them.
_MINOR_ROLES = frozenset(["index", "bound"])


# ------------------------------------------------------------ symbols of an equation


@dataclass(frozen=True, slots=True)
class EquationSymbols:
    """The symbols of an equation, with what its article says that they mean."""

    equation: Equation
    meanings: list[Meaning]

    def __iter__(self) -> Iterator[Meaning]:
        return iter(self.meanings)

    def __len__(self) -> int:
        return len(self.meanings)

    @property
    def undefined(self) -> list[Symbol]:
        """The symbols for which no definition was found."""
        return [meaning.symbol for meaning in self.meanings if meaning.definition is None]

    def to_json(self) -> Json:
        """Return `equation` (its name) and `symbols`, see `meaning_json`."""
        return {
            "equation": self.equation.id,
            "symbols": [meaning_json(meaning) for meaning in self.meanings],
        }

    def to_text(self, width: int = TEXT_WIDTH) -> str:
        """Return a line for each symbol, with the sentence that defines it."""
        lines = [cut(layout(self.equation.expanded).to_text(), width), ""]
        names = [_shown(meaning.symbol.latex) for meaning in self.meanings]
        room = min(max(map(len, names), default=0), 20)
        for name, meaning in zip(names, self.meanings, strict=True):
            lead = f"  {name:{room}}  "
            if meaning.definition is None:
                lines.append(f"{lead}(no definition found)")
                continue
            what = _doubted(meaning)
            if meaning.definition.type and meaning.definition.kind != "type":
                what += type_sign(meaning.definition.type) + _shown(meaning.definition.type)
            lines.append(lead + cut(f"{what}  ({meaning.confidence:.0%} sure)", width - len(lead)))
            indent = " " * len(lead)
            told = plain_text(sentence_text(meaning.definition.sentence))
            lines.append(indent + cut(told, width - len(indent)))
            lines += [
                cut(f"{indent}elsewhere in this article: {plain_text(other.text)}", width)
                for other in meaning.conflicts
            ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        cells = (
            (
                layout(meaning.symbol.latex).to_mathml(),
                escape(_doubted(meaning) or "-"),
                f"{meaning.confidence:.2f}",
            )
            for meaning in self.meanings
        )
        return rows(("symbol", "definition", "confidence"), cells)


def is_sure(meaning: Meaning) -> bool:
    """Whether a meaning needs no word of doubt."""
    return meaning.definition is not None and meaning.confidence >= SURE_FROM


def _doubted(meaning: Meaning) -> str:
    """Return what a symbol means, after a word of doubt where it is not sure; '' for nothing."""
    if meaning.definition is None:
        return ""
    return ("" if is_sure(meaning) else "perhaps ") + plain_text(meaning.definition.text)


def meaning_json(meaning: Meaning, renderer: Renderer = DEFAULT_RENDERER) -> Json:
    """Return a symbol and its meaning as JSON.

    Keys: `symbol` (LaTeX), `text` (Unicode), `role`, `definition` (None if none was found),
    `type`, `sentence`, `kind`, `scope`, `confidence`, `sure`, and `conflicts`, definitions that
    say something else.
    """
    found = meaning.definition
    return {
        "symbol": meaning.symbol.latex,
        "text": renderer.text(meaning.symbol.latex),
        "role": meaning.symbol.role,
        "definition": None if found is None else found.text,
        "type": None if found is None or not found.type else found.type,
        "sentence": None if found is None else sentence_text(found.sentence),
        "kind": None if found is None else found.kind,
        "scope": None if found is None else found.scope,
        "confidence": meaning.confidence,
        "sure": is_sure(meaning),
        "conflicts": [
            {"definition": other.text, "sentence": sentence_text(other.sentence)}
            for other in meaning.conflicts
        ],
    }


def equation_symbols(equation: Equation, meanings: Iterable[Meaning]) -> EquationSymbols:
    """Return the symbols of an equation that are shown, given all, in reading order."""
    return EquationSymbols(
        equation,
        [
            meaning
            for meaning in meanings
            if meaning.definition is not None or meaning.symbol.role not in _MINOR_ROLES
        ],
    )


def type_sign(latex: str) -> str:
    """Return the sign between a symbol and its type: a colon for the type of a function."""
    is_function = any(arrow in latex for arrow in ("\\to", "\\mapsto", "arrow", "→", "↦"))
    return ": " if is_function else " ∈ "


def sentence_text(sentence: str) -> str:
    """Return a sentence of an article for people: `[equation]` stands for an equation."""
    return sentence.replace(EQUATION_MARK, "[equation]")


def _shown(latex: str) -> str:
    return layout(latex).to_text()


# ------------------------------------------------------------ notation of a library


@dataclass(frozen=True, slots=True)
class NotationLine:
    """A symbol that denotes a thing, or a thing that a symbol denotes."""

    symbol: str
    """LaTeX."""
    meaning: str
    articles: int
    share: float
    """Of the articles that define what was asked for."""
    examples: list[IndexedDefinition] = field(default_factory=list)

    def to_json(self) -> Json:
        """Return all fields; examples have `article`, `equation`, `definition` and `sentence`."""
        return {
            "symbol": self.symbol,
            "text": _shown(self.symbol),
            "meaning": self.meaning,
            "articles": self.articles,
            "share": round(self.share, 6),
            "examples": [
                {
                    "article": one.article,
                    "equation": f"{one.article}#{one.equation}" if one.equation else None,
                    "definition": one.text,
                    "sentence": sentence_text(one.sentence),
                }
                for one in self.examples
            ],
        }


@dataclass(frozen=True, slots=True)
class Notation:
    """How articles denote a thing, or what they mean by a symbol; the most frequent first."""

    query: str
    is_symbol: bool
    articles: int
    """The articles with a definition that answers the query."""
    lines: list[NotationLine]
    repairs: tuple[str, ...] = ()
    """Notes on misspelt words that were read as others."""

    def __iter__(self) -> Iterator[NotationLine]:
        return iter(self.lines)

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def notes(self) -> list[str]:
        """What people should know: repaired words, and why shares add up to more than 100 %."""
        notes = list(self.repairs)
        if sum(line.articles for line in self.lines) > self.articles:
            several = (
                "mean several things by it" if self.is_symbol else "use several symbols for it"
            )
            notes.append(f"shares add up to more than 100 %, because an article may {several}")
        return notes

    def to_json(self) -> Json:
        """Return `query`, `is_symbol`, `articles`, `lines` and `notes`."""
        return {
            "query": self.query,
            "is_symbol": self.is_symbol,
            "articles": self.articles,
            "lines": [line.to_json() for line in self.lines],
            "notes": self.notes,
        }

    def to_text(self, width: int = TEXT_WIDTH) -> str:
        """Return a line for each symbol or meaning, with an example."""
        of = f"of {self.articles} articles"
        if self.articles == 1:
            of = "of one article"
        lines = []
        for line in self.lines:
            what = plain_text(line.meaning) if self.is_symbol else _shown(line.symbol)
            lines.append(f"{line.share:5.0%}  {cut(what, width - 7)}")
            example = line.examples[0]
            told = plain_text(sentence_text(example.sentence))
            lines.append("       " + cut(f"{example.article}: {told}", width - 7))
        return "\n".join([of, *self.notes, "", *lines])

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        cells = (
            (
                layout(line.symbol).to_mathml(),
                escape(plain_text(line.meaning)),
                f"{line.share:.0%}",
                str(line.articles),
            )
            for line in self.lines
        )
        return rows(("symbol", "meaning", "share", "articles"), cells)


def find_notation(index: DefinitionIndex, query: str, question: WordQuery, k: int = 10) -> Notation:
    """Return how the articles of a library denote what words say, or what a symbol means.

    `question` is the query as it was read.
    """
    if question.formula is not None:
        symbols = symbols_of(layout(question.formula))
        if len(symbols) != 1:
            found = ", ".join(_shown(symbol.latex) for symbol in symbols[:_NAMED_SYMBOLS]) or "none"
            found += ", ..." if len(symbols) > _NAMED_SYMBOLS else ""
            raise UsageError(f"notation takes words or one symbol, but {quoted(query)} has {found}")
        return _meanings_of(index, query, symbols[0], k)
    stems = [one for word in question.words if word not in STOP_WORDS for one in text_stems(word)]
    if not query.strip():
        raise UsageError("the query is empty: give words, or one symbol in LaTeX")
    if not stems:
        raise UsageError(f"notation takes words or one symbol, not {quoted(query)}")
    answer = _symbols_for(index, query, stems, k)
    return replace(answer, repairs=tuple(question.notes)) if question.repairs else answer


def _meanings_of(index: DefinitionIndex, query: str, symbol: Symbol, k: int) -> Notation:
    found = index.of_symbol(symbol.key) or index.of_symbol(symbol.general)
    return _counted(query, found, _words_key, k, is_symbol=True)


def _symbols_for(index: DefinitionIndex, query: str, stems: list[str], k: int) -> Notation:
    # a longer phrase with these words is another thing: "learning rate decay"
    wanted = set(stems)
    found = [
        one
        for one in index.with_words(stems)
        if wanted.issuperset(_head(one.text)) or _is_kind_of(one.text, stems)
    ]
    return _counted(query, found, lambda one: one.general, k, is_symbol=False)


def _words_key(definition: IndexedDefinition) -> str:
    return " ".join(sorted(set(_head(definition.text))))


def _is_kind_of(text: str, stems: list[str]) -> bool:
    """Whether a definition is a phrase with a few words before it, or several of them.

    "Previous hidden state" and "sequence of hidden states" are hidden states. A single word with
    another before it is something else: a learning rate is not any rate.
    """
    container, link, inside = (*text.split(maxsplit=2), "", "", "")[:3]
    if link == "of" and stem(container.lower()) in _SEVERAL:
        text = inside
    head, size = _head(text), len(stems)
    modifiers = len(head) - size
    return head[-size:] == stems and modifiers <= (_MAX_MODIFIERS if size > 1 else 0)


def _head(text: str) -> list[str]:
    """Return the stems of a phrase up to its first "of", "for" and the like, less stop words."""
    words: list[str] = []
    for word in text.split():
        if word.lower() in _ENDS_HEAD and words:
            break
        words.append(word)
    kept = [word for word in " ".join(words).split() if word.lower() not in STOP_WORDS]
    return text_stems(" ".join(kept))


#: Words that may stand before a phrase that names a thing: "initial learning rate".
_MAX_MODIFIERS = 2
#: What several things of a kind are: "sequence of hidden states"; a number of them is a number.
_SEVERAL = frozenset(
    map(stem, "sequence series set list collection vector matrix array stack batch pair".split())
)
_ENDS_HEAD = frozenset("of for in at to from with by on that which where when between".split())


def _counted(
    query: str,
    found: Iterable[IndexedDefinition],
    key: Callable[[IndexedDefinition], str],
    k: int,
    *,
    is_symbol: bool,
) -> Notation:
    """Group definitions, and count the articles of each group."""
    groups: dict[str, list[IndexedDefinition]] = defaultdict(list)
    for definition in found:
        if name := key(definition):
            groups[name].append(definition)
    articles = {name: {one.article for one in group} for name, group in groups.items()}
    every: set[str] = set().union(*articles.values()) if articles else set()
    ranked = sorted(groups, key=lambda name: (-len(articles[name]), name))[:k]
    lines = []
    for name in ranked:
        group = groups[name]
        best: dict[str, IndexedDefinition] = {}
        for example in _surest_first(group):
            best.setdefault(example.article, example)
        lines.append(
            NotationLine(
                _most_common(example.latex for example in group),
                _most_common(example.text for example in group),
                len(articles[name]),
                len(articles[name]) / len(every),
                list(best.values())[:MAX_EXAMPLES],
            )
        )
    return Notation(query, is_symbol, len(every), lines)


def _surest_first(group: list[IndexedDefinition]) -> list[IndexedDefinition]:
    return sorted(group, key=lambda one: (-one.confidence, one.article, one.sentence))


def _most_common(texts: Iterable[str]) -> str:
    counts = Counter(texts)
    return min(counts, key=lambda text: (-counts[text], len(text), text))
