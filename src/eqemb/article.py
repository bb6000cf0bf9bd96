"""The data model: an article as text and equations in reading order.

The readers produce an `Article`, and everything later consumes it. Its `text` is the running text
with one sentence a line and a blank line between paragraphs. Inline mathematics appears in it as
`$...$` (shown to people, not counted as words), and every equation as one placeholder character,
in order. `tokenize` is the only place that knows what a word is.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeVar

from eqemb.errors import UsageError

#: The placeholder of an equation in an article's text (U+FFFC, object replacement character).
EQUATION_MARK = "\ufffc"

#: Stands for a dollar sign in an article's text (U+FF04): there, `$` delimits mathematics.
#: `eqemb.formula.running_text` turns texts into what people read.
DOLLAR = "\uff04"

# A word: letters (with combining accents, too) and digits, with inner hyphens, apostrophes and dots
# ("f-measure", "e.g").
_WORD_PART = r"[^\W_]++(?:[\u0300-\u036f]++[^\W_]*+)*+"
_WHOLE_WORD = re.compile(rf"{_WORD_PART}(?:[-'\u2019\u2010\u2011.]{_WORD_PART})*+")
_INLINE_MATH = re.compile(r"\$[^$]*\$")
#: Inline mathematics; an equation (group 1); a word (group 2).
_TEXT_TOKEN = re.compile(rf"{_INLINE_MATH.pattern}|({EQUATION_MARK})|({_WHOLE_WORD.pattern})")
#: The same without words.
_MATH_OR_EQUATION = re.compile(rf"\$[^$]*\$|({EQUATION_MARK})")
#: The kind of a token by its group.
_KINDS = {None: "math", 1: "equation", 2: "word"}
_E = TypeVar("_E")


class Token(NamedTuple):
    """A word, an equation's placeholder or inline mathematics, with its position in the text."""

    kind: Literal["word", "equation", "math"]
    text: str
    """As written; inline mathematics with its dollars."""
    start: int
    end: int


def tokenize(text: str, initials: Collection[str] | None = None) -> Iterator[Token]:
    """Yield words, equations and inline mathematics of a text, in order.

    Given `initials`, only words that start with one of these letters.

    >>> [token.text for token in tokenize("The norm $|x|$ of a vector")]
    ['The', 'norm', '$|x|$', 'of', 'a', 'vector']
    """
    new = tuple.__new__  # half the time of `Token(...)`; pages tokenise whole articles
    # words have neither a dollar sign nor a placeholder
    pattern = _TEXT_TOKEN if initials is None or initials else _MATH_OR_EQUATION
    for match in pattern.finditer(text):
        if initials is not None and match.lastindex == 2 and text[match.start()] not in initials:
            continue
        yield new(Token, (_KINDS[match.lastindex], match[0], *match.span()))


def read_tokens(text: str) -> tuple[list[str], list[int]]:
    """Return the words of a text, and for each equation the number of words before it.

    A faster `tokenize` for callers that need no positions.
    """
    if "$" in text:
        text = _INLINE_MATH.sub("$", text)
    first, *rest = text.split(EQUATION_MARK)
    words = _WHOLE_WORD.findall(first)
    places: list[int] = []
    for part in rest:
        places.append(len(words))
        words += _WHOLE_WORD.findall(part)
    return words, places


def equation_positions(text: str) -> list[int]:
    """Return the position of every equation's placeholder in a text."""
    found: list[int] = []
    at = text.find(EQUATION_MARK)
    while at >= 0:
        found.append(at)
        at = text.find(EQUATION_MARK, at + 1)
    return found


def interleave(text: str, equations: Iterable[_E]) -> Iterator[str | _E]:
    """Yield the words of a text, and each of the given equations in the place of its mark."""
    words, places = read_tokens(text)
    at = 0
    for place, equation in zip(places, equations, strict=True):
        yield from words[at:place]
        yield equation
        at = place
    yield from words[at:]


def _shortened(text: str, most: int = 60) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that was not read, or may be wrong: one of a fixed set of causes, and its place."""

    cause: str
    file: str = ""
    line: int = 0
    detail: str = ""


class NotationRow(NamedTuple):
    """A row of a table of notation, whose words are not running text."""

    symbol: str
    """LaTeX."""
    meaning: str
    """Text, formulas in it as `$...$`."""
    section: int
    """Index in the article's `sections`; -1 before the first one."""


class SymbolOwner:
    """Something with symbols, which are read when they are asked for.

    What they mean stands in the article's text, which an equation does not have: the library that
    gives an equation sets `read_symbols`. It is no field of the data model: it is neither stored,
    compared nor copied.
    """

    __slots__ = ("read_symbols",)
    read_symbols: "Callable[[Any], Any]"

    @property
    def symbols(self) -> Any:
        """The symbols and what the article says that they mean, as `Library.symbols` returns them.

        Only equations that a library gives have them.
        """
        read = getattr(self, "read_symbols", None)
        if read is None:
            raise UsageError(
                "the symbols of this equation are not known: take it from a library, as in"
                ' library["ARTICLE#4"]'
            )
        return read(self)

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        slots: dict[str, Any] = object.__getstate__(self)[1]  # type: ignore[index]
        return None, {name: value for name, value in slots.items() if name != "read_symbols"}


@dataclass(slots=True)
class Equation(SymbolOwner):
    """One display equation: a numbered row, or a whole unnumbered display."""

    article: str
    ordinal: int
    """1-based position among all equations of the article, as in its name `ARTICLE#ordinal`."""
    numbered: bool | None
    """None if the source format does not record it (unarXive)."""
    number: str | None
    """The printed number, as LaTeX counts ("2.3a"), without parentheses."""
    labels: list[str]
    environment: str
    """The environment around it: "align", "equation*", "\\[", "$$", ..."""
    display: int
    """1-based index of its display; the rows of one align share it."""
    latex: str
    """As the author wrote it, if the source is one piece of one file."""
    expanded: str
    """With the author's macros expanded, and without labels, tags and commands for numbers."""
    file: str
    line: int
    end_line: int
    section: str = ""
    context: str = ""
    """The sentences around it."""
    references: list[str] = field(default_factory=list)
    """Every other sentence that refers to one of its labels."""

    @property
    def id(self) -> str:
        """The name of the equation: `ARTICLE#ordinal`."""
        return f"{self.article}#{self.ordinal}"

    @property
    def label(self) -> str | None:
        """The first label, or None."""
        return self.labels[0] if self.labels else None

    def __repr__(self) -> str:
        number = f" ({self.number})" if self.number else ""
        return f"<Equation {self.id}{number}: {_shortened(self.expanded)}>"

    def _repr_latex_(self) -> str:
        """LaTeX for notebooks; several rows are aligned."""
        latex = self.expanded
        if "&" in latex or r"\\" in latex:
            latex = rf"\begin{{aligned}}{latex}\end{{aligned}}"
        return rf"$\displaystyle {latex}$"


@dataclass(slots=True)
class Article:
    """One paper, as it was read."""

    name: str
    origin: str
    """Where it was found: a path, followed by `!` and the member for an archive."""
    collection: str = ""
    title: str = ""
    """Plain text, formulas in it as Unicode."""
    main_file: str = ""
    text: str = ""
    sections: list[str] = field(default_factory=list)
    """Section titles in order."""
    equations: list[Equation] = field(default_factory=list)
    notation: list[NotationRow] = field(default_factory=list)
    """Rows of tables of notation that are not in the text, in order."""
    problems: list[Problem] = field(default_factory=list)
    unknown_macros: dict[str, int] = field(default_factory=dict)
    displays_opened: int = 0
    """Number of displays that an independent scan of the expanded source counts.

    Displays that hold only drawings are left out.
    """
    displays_lost: int = 0
    source_bytes: int = 0
    """Size of the source files that this article was read from."""
    authors: list[str] = field(default_factory=list)
    """Plain names in order; empty if they are not known for sure."""
    date: str = ""
    """When it was published, if the document says so: 2015, 2015-01 or 2015-01-31."""

    def __repr__(self) -> str:
        title = f" {_shortened(self.title)!r}," if self.title else ""
        words = f"{len(self.words()):,} words"
        return f"<Article {self.name}:{title} {len(self.equations):,} equations, {words}>"

    def stream(self) -> Iterator[str | Equation]:
        """Yield words (as written) and equations, in reading order."""
        return interleave(self.text, self.equations)

    def words(self) -> list[str]:
        """Return the words alone, as written, in reading order."""
        return read_tokens(self.text)[0]
