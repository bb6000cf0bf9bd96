r"""Parse queries: words, "phrases", -excluded words and formulas among them; and filters.

Formulas may be LaTeX, with or without delimiters, Unicode, ASCII or MathML; see `query_formulas`.
Every door (command line, pages, API, Python) reads queries with `parse_query`.
"""

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from eqemb.article import read_tokens
from eqemb.checks import year_range
from eqemb.corpus.vocabulary import STOP_WORDS
from eqemb.errors import UsageError, quoted
from eqemb.formula.typed import read_typed
from eqemb.search.match_kinds import check_kind
from eqemb.search.query_formulas import split_query
from eqemb.search.query_markup import clean_markup

#: The rankings of `search` and `similar`; `encoder` needs a sentence encoder.
Ranking = Literal["all", "words", "meaning", "structure", "encoder", "paper"]
RANKINGS: tuple[Ranking, ...] = ("all", "words", "meaning", "structure", "encoder", "paper")
#: A collection of this name means every collection.
EVERY_COLLECTION = "all"

#: Words that say only that a formula follows.
_LEADING_WORDS = frozenset(
    "equation equations formula formulas expression latex math find show search similar like below"
    " question query please written defined means mean meaning explain".split()
)
#: For a query that has nothing to search for.
EMPTY_QUERY = "the query is empty: give words, or LaTeX between dollar signs"
#: What makes no formula by itself.
_NO_SYMBOL = " \t\n,.;:!?'\"$()[]{}\\"
_MATH_SIGN = re.compile(r"[\\^_{}=+<>|&$]")
#: A query has at most so many different formulas: each is a search by structure.
MAX_FORMULAS = 16
_MAX_PARSED = 256  # queries that are remembered: an answer parses its query several times


def check_ranking(by: str) -> Ranking:
    """Return the name of a ranking, checked."""
    for name in RANKINGS:
        if by == name:
            return name
    raise UsageError(f"no ranking by {quoted(by)}: choose one of {', '.join(RANKINGS)}")


@dataclass(frozen=True, slots=True)
class WordQuery:
    """A query, parsed: words, formulas or both, and how it was read."""

    words: tuple[str, ...] = ()
    """In lower case, in order; includes the words of phrases."""
    phrases: tuple[tuple[str, ...], ...] = ()
    excluded: tuple[tuple[str, ...], ...] = ()
    """Words and phrases that must not be near the equation."""
    formulas: tuple[str, ...] = ()
    """In LaTeX."""
    repairs: tuple[str, ...] = ()
    """What was changed: `\\frac instead of \\fraq`."""
    unclear: tuple[str, ...] = ()
    """What could be read in more than one way, or not at all."""
    left_out: int = 0
    """How many other formulas are not searched for: the shortest ones of too many."""
    is_verbatim: bool = False
    """Whether the query is one formula, in LaTeX that was read as it is."""

    @property
    def formula(self) -> str | None:
        """The formula of a query that has nothing else."""
        is_alone = len(self.formulas) == 1 and not (self.words or self.excluded)
        return self.formulas[0] if is_alone else None

    @property
    def reading(self) -> str:
        """How the query was read, in one line: `formula: x^{2}; words: learning rate`."""
        parts = [f"formula: {latex}" for latex in self.formulas]
        if self.words:
            parts.append(f"words: {' '.join(self.words)}")
        if self.phrases:
            parts.append(f"together: {', '.join(' '.join(words) for words in self.phrases)}")
        if self.excluded:
            parts.append(f"without: {', '.join(' '.join(words) for words in self.excluded)}")
        return "; ".join(parts)

    @property
    def is_plain(self) -> bool:
        """Whether the query is words, or LaTeX, as typed, so that nobody needs its reading."""
        return self.is_verbatim or not (self.formulas or self.repairs or self.unclear)

    @property
    def notes(self) -> list[str]:
        """What people should know about the reading."""
        notes = [f"{each}: read as a name" for each in self.unclear]
        if self.left_out:
            notes.append(
                f"only the {MAX_FORMULAS} longest formulas of the query are searched for,"
                f" {self.left_out:,} others are not"
            )
        if self.repairs:
            notes.insert(0, f"showing results for {self.reading} ({', '.join(self.repairs)})")
        return notes

    def with_repair(self, word: str, better: tuple[str, ...]) -> "WordQuery":
        """Return the query with a word replaced."""
        words = [new for old in self.words for new in (better if old == word else (old,))]
        phrases = tuple(
            tuple(new for old in phrase for new in (better if old == word else (old,)))
            for phrase in self.phrases
        )
        repair = f"{' '.join(better)} instead of {word}"
        return replace(self, words=tuple(words), phrases=phrases, repairs=(*self.repairs, repair))

    def to_json(self) -> dict[str, Any]:
        """Return the query as JSON, with the `line` for people."""
        return {
            "line": self.reading,
            "words": list(self.words),
            "phrases": [list(words) for words in self.phrases],
            "excluded": [list(words) for words in self.excluded],
            "formulas": list(self.formulas),
            "repairs": list(self.repairs),
            "unclear": list(self.unclear),
            "left_out": self.left_out,
        }


@lru_cache(maxsize=_MAX_PARSED)
def parse_query(text: str) -> WordQuery:
    r"""Parse a query.

    >>> parse_query('"cross entropy" loss -hinge $p_i$').reading
    'formula: p_i; words: cross entropy loss; together: cross entropy; without: hinge'
    >>> parse_query("learning rate ∂L/∂w").formulas
    ('\\frac{\\partial L}{\\partial w}',)
    """
    words: list[str] = []
    phrases, excluded = list[tuple[str, ...]](), list[tuple[str, ...]]()
    formulas, repairs, unclear = list[str](), list[str](), list[str]()
    for piece in split_query(clean_markup(text)):
        if piece.kind == "formula":
            typed = read_typed(piece.text.strip())
            if typed.latex.strip(_NO_SYMBOL):
                formulas.append(typed.latex.strip())
                repairs += [*filter(None, (piece.repair,)), *typed.repairs]
                unclear += [f"unknown command {name}" for name in typed.unknown]
            continue
        found = _words(piece.text)
        if piece.kind == "excluded":
            excluded += [found] if found else []
            continue
        words += found
        if piece.kind == "phrase" and found:
            phrases.append(found)
    if formulas and all(word in STOP_WORDS or word in _LEADING_WORDS for word in words):
        words = [word for phrase in phrases for word in phrase]  # "here is the equation"
    different = dict.fromkeys(formulas)
    searched = set(sorted(different, key=len, reverse=True)[:MAX_FORMULAS])
    formulas = [latex for latex in formulas if latex in searched]
    is_verbatim = formulas == [text.strip().strip("$").strip()] and not (repairs or unclear)
    return WordQuery(
        tuple(words),
        tuple(phrases),
        tuple(excluded),
        tuple(formulas),
        tuple(dict.fromkeys(repairs)),
        tuple(dict.fromkeys(unclear)),
        len(different) - len(searched),
        is_verbatim,
    )


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
    without: tuple[str, ...] = ()
    """Articles whose equations are left out."""
    kind: str | None = None
    """One of `match_kinds.MATCH_KINDS`."""

    def __post_init__(self) -> None:
        """Check the types of all fields."""
        for name in ("collection", "article", "section"):
            _check(name, getattr(self, name), str | None, "a string")
        _check("year", self.year, str | int | None, "a year such as 2015, or 2015-2018")
        _check("numbered", self.numbered, bool, "True or False")
        for latex in self.has:
            _check("has", latex, str, "LaTeX strings")
        for name in self.without:
            _check("without", name, str, "names of articles")
        _check("kind", self.kind, str | None, "a string")
        check_kind(self.kind)
        if self.collection == EVERY_COLLECTION:
            object.__setattr__(self, "collection", None)

    @property
    def years(self) -> range:
        """The years of the filter."""
        return year_range(self.year)


def _check(name: str, value: Any, kind: Any, expected: str) -> None:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise UsageError(f"{name} must be {expected}, not {quoted(value)}")
