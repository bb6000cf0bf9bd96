"""What reading makes: an article as text and equations in reading order.

An `Article` is what `latex` and the other front ends produce and everything later consumes.
Its `text` is the running text with one sentence a line and a blank line between paragraphs;
inline mathematics stands in it as `$...$` (shown to people, not counted as words) and every
equation as one placeholder character, in order. `stream` reads it as words and equations.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

#: Stands in an article's text where an equation stands (U+FFFC, object replacement character).
EQUATION_MARK = "\ufffc"

# A word: letters (with accents as characters of their own, too) and digits, with inner hyphens,
# apostrophes and dots kept ("f-measure", "e.g").
_PART = r"[^\W_]+(?:[\u0300-\u036f]+[^\W_]*)*"
#: Inline mathematics; an equation (group 1); a word (group 2).
TOKEN = re.compile(rf"\$[^$]*\$|({EQUATION_MARK})|({_PART}(?:[-'\u2019\u2010\u2011.]{_PART})*)")


class Token(NamedTuple):
    """A word, an equation's placeholder or inline mathematics, with its position in the text."""

    kind: Literal["word", "equation", "math"]
    text: str
    """As written; inline mathematics with its dollars."""
    start: int
    end: int


def tokenize(text: str) -> Iterator[Token]:
    """Yield words, equations and inline mathematics of a text, in order.

    >>> [token.text for token in tokenize("The norm $|x|$ of a vector")]
    ['The', 'norm', '$|x|$', 'of', 'a', 'vector']
    """
    for match in TOKEN.finditer(text):
        kind: Literal["word", "equation", "math"] = (
            "word" if match[2] else "equation" if match[1] else "math"
        )
        yield Token(kind, match[0], match.start(), match.end())


def read_tokens(text: str) -> tuple[list[str], list[int]]:
    """The words of a text, and for each equation in it how many words stand before it."""
    words: list[str] = []
    places: list[int] = []
    for mark, word in TOKEN.findall(text):
        if word:
            words.append(word)
        elif mark:
            places.append(len(words))
    return words, places


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that was not read, or not surely read: a fixed cause, and where it stands."""

    cause: str
    file: str = ""
    line: int = 0
    detail: str = ""


@dataclass(slots=True)
class Equation:
    """One display equation: a numbered row, or a whole unnumbered display."""

    article: str
    ordinal: int
    """1-based among all equations of the article; its name is `ARTICLE#ordinal`."""
    numbered: bool | None
    """None where the source format does not say (unarXive)."""
    number: str | None
    """The printed number, as LaTeX counts ("2.3a"), without parentheses."""
    labels: list[str]
    environment: str
    """The environment that holds it: "align", "equation*", "\\[", "$$", ..."""
    display: int
    """1-based index of the display it is a row of: rows of one align share it."""
    latex: str
    """As written by the author, where the source is one piece of one file."""
    expanded: str
    """With the author's macros expanded; labels, tags and number marks taken out."""
    file: str
    line: int
    end_line: int
    section: str = ""
    context: str = ""
    """The sentences around it."""
    references: list[str] = field(default_factory=list)
    """Every sentence elsewhere that refers to one of its labels."""

    @property
    def id(self) -> str:
        """The name by which people ask for it: `ARTICLE#ordinal`."""
        return f"{self.article}#{self.ordinal}"

    @property
    def label(self) -> str | None:
        """The first label, the one people quote."""
        return self.labels[0] if self.labels else None

    def _repr_latex_(self) -> str:
        """For notebooks; what has rows stands as rows."""
        latex = self.expanded
        if "&" in latex or r"\\" in latex:
            latex = rf"\begin{{aligned}}{latex}\end{{aligned}}"
        return rf"$\displaystyle {latex}$"


@dataclass(slots=True)
class Article:
    """One paper as read."""

    name: str
    origin: str
    """Where it was found, for people: a path, and the member within an archive after `!`."""
    collection: str = ""
    title: str = ""
    main_file: str = ""
    text: str = ""
    sections: list[str] = field(default_factory=list)
    """Section titles in order."""
    equations: list[Equation] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    unknown_macros: dict[str, int] = field(default_factory=dict)
    displays_opened: int = 0
    """Displays counted by the independent scan of the expanded source."""
    displays_lost: int = 0
    source_bytes: int = 0
    """Bytes of the source files that were joined into this article."""

    def stream(self) -> Iterator[str | Equation]:
        """Words (as written) and equations, in reading order."""
        equations = iter(self.equations)
        for match in TOKEN.finditer(self.text):
            if match[2]:
                yield match[2]
            elif match[1]:
                yield next(equations)

    def words(self) -> list[str]:
        """The words alone, as written, in reading order."""
        return read_tokens(self.text)[0]
