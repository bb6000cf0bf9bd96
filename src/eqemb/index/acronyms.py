"""Acronyms that the papers define: *generative adversarial network (GAN)*.

Text is indexed without brackets, so a definition is a word whose letters are the initials of the
words before it. It is looked for when a query has such a word, or words whose initials are one.
Definitions are counted by article, so that segments do not affect answers. NumPy only.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from eqemb.corpus.vocabulary import STOP_WORDS
from eqemb.formula.shapes import key
from eqemb.index.postings import Array
from eqemb.index.stemming import stem

#: Letters of an acronym; those of two letters are too often chance.
MIN_ACRONYM, MAX_LETTERS = 3, 6
#: Articles that must define an acronym, and the share of the most frequent definition that others
#: need: MAP has two.
MIN_ARTICLES, MIN_SHARE = 2, 0.5
#: Stop words without a letter of their own that a definition may have: area under *the* curve.
_MAX_SKIPPED = 2

#: Stands for the initials of a compound, which has several.
COMPOUND = -1

Mask = NDArray[np.bool_]
#: Consecutive stems.
Phrase = tuple[str, ...]


class DefinedAcronym(NamedTuple):
    """What an article says that an acronym stands for."""

    article: int
    phrase: Phrase


class DefiningText(Protocol):
    """The text of a segment, as far as definitions need it."""

    tokens: Array

    @property
    def words(self) -> Sequence[str]: ...  # noqa: D102

    @property
    def stems(self) -> Sequence[str]: ...  # noqa: D102

    @property
    def article_bounds(self) -> Array: ...  # noqa: D102

    @property
    def initials(self) -> Array: ...  # noqa: D102

    @property
    def is_stop_word(self) -> Mask: ...  # noqa: D102

    def find_stems(self, keys: Array) -> Array: ...  # noqa: D102

    def positions(self, row: int) -> Array: ...  # noqa: D102

    def acronym_counts(self, row: int) -> Mapping[Phrase, int] | None: ...  # noqa: D102


def initials(word: str) -> str:
    """Return the first letter of a word; of a compound, those of its parts."""
    return "".join(part[:1] for part in word.split("-"))


def definitions(parts: Sequence[DefiningText], word: str, most: int | None = None) -> list[Phrase]:
    """Return what a word stands for: the phrases, as stems, that several articles define it by.

    With `most`, at most about so many places of the word are looked at in a segment without a table
    of acronyms.
    """
    letters = stem(word)
    if not may_be_acronym(letters) or word in STOP_WORDS:
        return []
    counts: Counter[Phrase] = Counter()
    wanted = np.array([key(letters)], np.uint64)
    for part in parts:
        row = int(part.find_stems(wanted)[0])
        if row < 0:
            continue
        if (known := part.acronym_counts(row)) is None:
            positions = part.positions(row)
            if most is not None:
                positions = positions[:: -(-len(positions) // most) or 1]
            known = Counter(phrase for _, phrase in defined_at(part, positions, letters))
        counts.update(known)
    most = max(counts.values(), default=0)
    least = max(MIN_ARTICLES, MIN_SHARE * most)
    return sorted(phrase for phrase, count in counts.items() if count >= least)


def may_be_acronym(letters: str) -> bool:
    """Whether a stem can be an acronym, by its letters."""
    return MIN_ACRONYM <= len(letters) <= MAX_LETTERS and letters.isalpha()


def defined_at(part: DefiningText, positions: Array, letters: str) -> list[DefinedAcronym]:
    """Return what the words before some occurrences of an acronym say, once for each article."""
    found: dict[DefinedAcronym, None] = {}
    for article, before in _words_before(part, positions, letters):
        if (phrase := _defining(before, letters)) is not None:
            found[DefinedAcronym(article, phrase)] = None
    return list(found)


def _words_before(
    part: DefiningText, positions: Array, letters: str
) -> list[tuple[int, list[str]]]:
    """Return the words before each occurrence of a stem that may define it, with the article."""
    count = len(letters) + _MAX_SKIPPED
    if not len(part.article_bounds):
        return []
    lows, highs = part.article_bounds.T
    article = np.maximum(np.searchsorted(lows, positions, "right") - 1, 0)
    inside = (positions > lows[article]) & (positions < highs[article])
    positions, article = positions[inside], article[inside]
    likely = _may_define(part, positions, letters)
    found = []
    for at, of in zip(positions[likely].tolist(), article[likely].tolist(), strict=True):
        first = max(int(lows[of]), at - count)
        found.append((of, [part.words[each] for each in part.tokens[first:at]]))
    return found


def _may_define(part: DefiningText, positions: Array, letters: str) -> Mask:
    """Whether the words before each position may define it: a quick look at their initials."""
    left = np.full(len(positions), len(letters))
    skipped = np.zeros(len(positions), np.int64)
    codes = np.array([0, *map(ord, letters)])
    active, maybe = np.ones(len(positions), bool), np.zeros(len(positions), bool)
    for back in range(1, len(letters) + _MAX_SKIPPED + 1):
        word = part.tokens[np.maximum(positions - back, 0)]
        initial = part.initials[word]
        maybe |= active & (initial == COMPOUND)
        active &= initial != COMPOUND
        is_next = initial == codes[left]
        left = np.where(active & is_next, left - 1, left)
        skips = active & ~is_next & part.is_stop_word[word] & (back > 1)
        skipped += skips
        active &= (is_next | skips) & (skipped <= _MAX_SKIPPED)
        maybe |= active & (left == 0)
        active &= left > 0
    return maybe


def _defining(before: list[str], letters: str) -> Phrase | None:
    """Return the last of some words whose initials are the letters."""
    left, skipped = letters, 0
    if before[-1] in STOP_WORDS:
        return None
    for at in range(len(before) - 1, -1, -1):
        own = initials(before[at])
        if own and left.endswith(own):
            left = left[: -len(own)]
        elif before[at] in STOP_WORDS and skipped < _MAX_SKIPPED:
            skipped += 1
        else:
            return None
        if not left:
            return tuple(map(stem, before[at:]))
    return None
