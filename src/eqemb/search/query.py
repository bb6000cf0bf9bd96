"""Parse queries: words, "phrases", -excluded words, and $LaTeX$ among them; and filters."""

import re
from dataclasses import dataclass
from typing import Any, Literal

from eqemb.article import read_tokens
from eqemb.errors import UsageError

#: The rankings of `search` and `similar`; `encoder` ranks for words only.
Ranking = Literal["all", "words", "meaning", "structure", "encoder", "paper"]
RANKINGS: tuple[Ranking, ...] = ("all", "words", "meaning", "structure", "encoder", "paper")
#: A collection of this name means every collection.
EVERY_COLLECTION = "all"

_INLINE_FORMULA = re.compile(r"\$([^$]*)\$")
_PHRASE = re.compile(r'(?<!\S)(-?)["\u201c\u201d]([^"\u201c\u201d]*)["\u201c\u201d]')
_EXCLUDED = re.compile(r"(?<!\S)-(?=[^\W_])(\S+)")
_MATH_SIGN = re.compile(r"[\\^_{}=+<>|&$]")
_YEARS = re.compile(r"(\d{4})?(?:(-)(\d{4})?)?")


def check_ranking(by: str) -> Ranking:
    """Return the name of a ranking, checked."""
    for name in RANKINGS:
        if by == name:
            return name
    raise UsageError(f"no ranking by {by!r}: choose one of {', '.join(RANKINGS)}")


@dataclass(frozen=True, slots=True)
class WordQuery:
    """A query in words, parsed."""

    words: tuple[str, ...] = ()
    """In lower case, in order; includes the words of phrases."""
    phrases: tuple[tuple[str, ...], ...] = ()
    excluded: tuple[tuple[str, ...], ...] = ()
    """Words and phrases that must not be near the equation."""
    formulas: tuple[str, ...] = ()


def parse_query(text: str) -> WordQuery:
    """Parse a query in words.

    >>> parse_query('"cross entropy" loss -hinge $p_i$')
    WordQuery(words=('cross', 'entropy', 'loss'), phrases=(('cross', 'entropy'),), \
excluded=(('hinge',),), formulas=('p_i',))
    """
    formulas = tuple(found.strip() for found in _INLINE_FORMULA.findall(text) if found.strip())
    text = _INLINE_FORMULA.sub(" ", text)
    phrases: list[tuple[str, ...]] = []
    excluded: list[tuple[str, ...]] = []
    for sign, phrase in _PHRASE.findall(text):
        if words := _words(phrase):
            (excluded if sign else phrases).append(words)
    text = _PHRASE.sub(lambda match: " " if match[1] else f" {match[2]} ", text)
    excluded += [words for found in _EXCLUDED.findall(text) if (words := _words(found))]
    text = _EXCLUDED.sub(" ", text)
    return WordQuery(_words(text), tuple(phrases), tuple(excluded), formulas)


def reads_as_words(text: str) -> bool:
    """Whether a query is in words rather than LaTeX: it has a word outside of $LaTeX$."""
    rest = _INLINE_FORMULA.sub(" ", text)
    return not has_math_sign(rest) and any(len(word) > 1 for word in _words(rest))


def has_math_sign(text: str) -> bool:
    """Whether a text has a character that occurs in formulas but not in names."""
    return _MATH_SIGN.search(text) is not None


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in read_tokens(text)[0])


@dataclass(frozen=True, slots=True)
class Filters:
    """Which equations a search may return."""

    collection: str | None = None
    """"all" means every collection, like None."""
    article: str | None = None
    year: str | int | None = None
    """2015, 2015-2018, 2015- or -2018: for papers whose name is an arXiv id."""
    section: str | None = None
    """Words in the title of the section."""
    has: tuple[str, ...] = ()
    """LaTeX of symbols, or of small pieces, that the equation contains."""
    numbered: bool = False

    def __post_init__(self) -> None:
        """Check the types of all fields."""
        for name in ("collection", "article", "section"):
            _check(name, getattr(self, name), str | None, "a string")
        _check("year", self.year, str | int | None, "a year such as 2015, or 2015-2018")
        _check("numbered", self.numbered, bool, "True or False")
        for latex in self.has:
            _check("has", latex, str, "LaTeX strings")
        if self.collection == EVERY_COLLECTION:
            object.__setattr__(self, "collection", None)

    @property
    def years(self) -> range:
        """The years of the filter."""
        found = _YEARS.fullmatch(str(self.year or "").strip())
        if found is None or not (found[1] or found[3]):
            raise UsageError(f"invalid year {self.year!r}: write 2015, 2015-2018, 2015- or -2018")
        first = int(found[1] or 1)  # a paper without a date has year 0
        last = int(found[3]) if found[3] else (9999 if found[2] else first)
        if last < first:
            raise UsageError(f"invalid years {self.year}: write {last}-{first}")
        return range(first, last + 1)


def _check(name: str, value: Any, kind: Any, expected: str) -> None:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise UsageError(f"{name} must be {expected}, not {value!r}")
