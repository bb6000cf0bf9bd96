"""What people type: words, "phrases", -words that must not be there, and $LaTeX$ among them.

And what they limit an answer to: `Where`.
"""

import re
from dataclasses import dataclass

from eqemb.article import read_tokens
from eqemb.errors import UsageError
from eqemb.library.database import ALL

_FORMULA = re.compile(r"\$([^$]*)\$")
_PHRASE = re.compile(r'(?<!\S)(-?)["\u201c\u201d]([^"\u201c\u201d]*)["\u201c\u201d]')
_WITHOUT = re.compile(r"(?<!\S)-(?=[^\W_])(\S+)")
_SIGNS = re.compile(r"[\\^_{}=+<>|&$]")
_YEARS = re.compile(r"(\d{4})?(?:(-)(\d{4})?)?")


@dataclass(frozen=True, slots=True)
class Question:
    """A query in words, taken apart."""

    words: tuple[str, ...] = ()
    """In lower case, in order, those of phrases too."""
    phrases: tuple[tuple[str, ...], ...] = ()
    without: tuple[tuple[str, ...], ...] = ()
    """Words and phrases that must not be there."""
    formulas: tuple[str, ...] = ()


def read_question(text: str) -> Question:
    """Take a query apart."""
    formulas = tuple(found.strip() for found in _FORMULA.findall(text) if found.strip())
    text = _FORMULA.sub(" ", text)
    phrases: list[tuple[str, ...]] = []
    without: list[tuple[str, ...]] = []
    for sign, phrase in _PHRASE.findall(text):
        if words := _words(phrase):
            (without if sign else phrases).append(words)
    text = _PHRASE.sub(lambda match: " " if match[1] else f" {match[2]} ", text)
    without += [words for found in _WITHOUT.findall(text) if (words := _words(found))]
    text = _WITHOUT.sub(" ", text)
    return Question(_words(text), tuple(phrases), tuple(without), formulas)


def reads_as_words(text: str) -> bool:
    """Whether a query is one in words rather than LaTeX: beside $LaTeX$ there is a word."""
    rest = _FORMULA.sub(" ", text)
    return not _SIGNS.search(rest) and any(len(word) > 1 for word in _words(rest))


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in read_tokens(text)[0])


@dataclass(frozen=True, slots=True)
class Where:
    """What an answer is limited to; nothing is ranked that is not within it."""

    collection: str | None = None
    article: str | None = None
    year: str | int | None = None
    """2015, 2015-2018, 2015- or -2018: of papers whose name is an arXiv id."""
    section: str | None = None
    """Words that the title of its section has."""
    has: tuple[str, ...] = ()
    """LaTeX of symbols, or of small pieces, that the equation has."""
    numbered: bool = False

    def __post_init__(self) -> None:
        """Refuse what is no text."""
        for name in ("collection", "article", "section"):
            value = getattr(self, name)
            if not isinstance(value, str | None):
                raise UsageError(f"an answer cannot be limited to the {name} {value!r}: give text")
        if self.collection == ALL:  # as in every other command: no limit
            object.__setattr__(self, "collection", None)
        for latex in self.has:
            if not isinstance(latex, str):
                raise UsageError(f"{latex!r} is no symbol that an equation may have: give LaTeX")

    @property
    def years(self) -> range:
        """The years that are meant."""
        found = _YEARS.fullmatch(str(self.year or "").strip())
        if found is None or not (found[1] or found[3]):
            raise UsageError(f"no year {self.year!r}: write 2015, 2015-2018, 2015- or -2018")
        first = int(found[1] or 1)  # a paper without a date is of no year
        last = int(found[3]) if found[3] else (9999 if found[2] else first)
        if last < first:
            raise UsageError(f"the years {self.year} run backwards: write {last}-{first}")
        return range(first, last + 1)
