"""Which equations match a query, and how: all words or some, words or formula, equal or similar."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from eqemb.errors import UsageError, quoted
from eqemb.index.scope import Scope
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
    """For each kind of match which of the rows are of it."""
    is_complete: bool = True
    """Whether these are all; in a large library they are those of the candidates."""

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class CountedMatches:
    """How many equations match a query, counted where they are: in the parts of a library."""

    equations: int
    counts: Mapping[str, Mapping[str, int]]
    """How many of the equations have each value of each facet; see `Facets.count_all`."""
    is_complete: bool = True
    """Whether these are all; see `Matches`."""

    def __len__(self) -> int:
        return self.equations


def check_kind(kind: str | None) -> str | None:
    """Return a kind of match, checked."""
    if kind is None or kind in MATCH_KINDS:
        return kind
    raise UsageError(f"no kind of match {quoted(kind)}: choose one of {', '.join(MATCH_KINDS)}")


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


def of_kind(allowed: Mask, kinds: Kinds, kind: str) -> Mask:
    """Return a mask with only one kind of matches."""
    made = allowed.copy()
    limit_kind(made, kinds, kind)
    return made


def with_row(found: Matches, row: int) -> Matches:
    """Return matches with one more equation, which is equal to the query."""
    if row in found.rows:
        return found
    at = int(np.searchsorted(found.rows, row))
    kinds = {kind: np.insert(mask, at, kind == SAME_EQUATION) for kind, mask in found.kinds.items()}
    return replace(found, rows=np.insert(found.rows, at, row), kinds=kinds)


def matching_rows(
    parts: Mapping[str, Scores],
    allowed: Mask,
    strengths: Scores | None,
    kinds: Kinds,
    scope: Scope,
) -> Matches | None:
    """Return what matches; None if strengths are not known, so that there is no least match."""
    if not parts or strengths is None:
        return None
    total = sum(parts.values(), np.zeros(len(allowed), np.float32))
    passing = allowed & (total > 0) & (strengths >= np.float32(weak_below()))
    places = np.flatnonzero(passing)
    found = {kind: mask[places] for kind, mask in kinds.items()}
    return Matches(scope.rows_at(places), found, scope.rows is None)
