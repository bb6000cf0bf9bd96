"""Which equations match a query, and how: all words or some, words or formula, equal or similar."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from eqemb.errors import UsageError
from eqemb.search.strength import weak_below

SAME_EQUATION, WRITTEN_DIFFERENTLY = "same equation", "written differently"
#: The kinds of matches: for words, for words with formulas, and for an equation.
MATCH_KINDS = (
    "all words",
    "some words",
    "words and formula",
    "words only",
    "formula only",
    SAME_EQUATION,
    WRITTEN_DIFFERENTLY,
    "similar equation",
)
#: The least strength of an equation that is equal to the query, by kind of match.
_EQUAL = {SAME_EQUATION: 1.0, WRITTEN_DIFFERENTLY: 0.95}
#: A share of words that is all of them, but for rounding.
_ALL = 0.999

Scores = NDArray[np.float32]
Mask = NDArray[np.bool_]
Kinds = Mapping[str, Mask]


@dataclass(frozen=True, slots=True)
class Matches:
    """The equations that match a query: those that are not weak, with every occurrence."""

    rows: NDArray[np.int64]
    kinds: Kinds = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class CountedMatches:
    """How many equations match a query, counted where they are: in the parts of a library."""

    equations: int
    facets: Mapping[str, Sequence[tuple[str, int]]]
    """The values of each facet, and how many of the equations have each."""

    def __len__(self) -> int:
        return self.equations


def check_kind(kind: str | None) -> str | None:
    """Return a kind of match, checked."""
    if kind is None or kind in MATCH_KINDS:
        return kind
    raise UsageError(f"no kind of match {kind!r}: choose one of {', '.join(MATCH_KINDS)}")


def word_kinds(
    covered: Scores,
    structure: Scores | None,
    has_words: bool = True,  # noqa: FBT001, FBT002
) -> dict[str, Mask]:
    """Return the kinds of matches for words, given the share of the words that each has.

    `structure` is the likeness to the formulas of the query, if it has any.
    """
    if structure is None:
        whole = covered >= _ALL
        return {"all words": whole, "some words": ~whole}
    if not has_words:
        return {"similar equation": structure > 0}
    has, like = covered > 0, structure > 0
    return {"words and formula": has & like, "words only": has & ~like, "formula only": ~has & like}


def equation_kinds(
    same: NDArray[np.int64], rewritten: NDArray[np.int64], count: int
) -> dict[str, Mask]:
    """Return the kinds of matches for an equation.

    Args:
        same: The rows that are equal to it.
        rewritten: Those that are equal in normal form; they may include `same`.
        count: The number of all rows.

    """
    equal, other = np.zeros((2, count), bool)
    equal[same] = True
    other[rewritten] = True
    return {
        SAME_EQUATION: equal,
        WRITTEN_DIFFERENTLY: other & ~equal,
        "similar equation": ~(equal | other),
    }


def raise_equal(strengths: Scores, kinds: Kinds) -> None:
    """Raise the strengths of what is equal to the query."""
    for kind, least in _EQUAL.items():
        if kind in kinds:
            np.maximum(strengths, np.float32(least), out=strengths, where=kinds[kind])


def limit_kind(allowed: Mask, kinds: Kinds, kind: str | None) -> None:
    """Leave only one kind of matches in a mask."""
    if kind is not None:
        allowed &= kinds.get(kind, np.zeros_like(allowed))


def with_row(found: Matches | CountedMatches | None, row: int) -> Matches | CountedMatches | None:
    """Return matches with one more equation."""
    if isinstance(found, CountedMatches):
        return replace(found, equations=found.equations + 1)
    return None if found is None else replace(found, rows=np.union1d(found.rows, [row]))


def matching_rows(
    parts: Mapping[str, Scores], allowed: Mask, strengths: Scores | None, kinds: Kinds
) -> Matches | None:
    """Return what matches; None if strengths are not known, so that there is no least match."""
    if not parts or strengths is None:
        return None
    total = sum(parts.values(), np.zeros(len(allowed), np.float32))
    passing = allowed & (total > 0) & (strengths >= np.float32(weak_below()))
    return Matches(np.flatnonzero(passing), kinds)
