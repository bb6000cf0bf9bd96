"""The acronyms that the articles of a large segment define, found when it is indexed.

    acronyms.txt, .starts.npy   the phrases that acronyms stand for, as stems
    acronyms.rows.npy           for each definition the stem of the acronym, ascending
    acronyms.articles.npy       the article, counted among those with equations
    acronyms.phrases.npy        the phrase

A query would look for definitions at thousands of places of the text, each on another page.
`acronyms` says what a definition is, and finds those of smaller segments. NumPy only.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from eqemb.index.acronyms import (
    COMPOUND,
    DefiningText,
    Phrase,
    defined_at,
    may_be_acronym,
)
from eqemb.index.postings import BATCH, Array, TextList, load_array

ACRONYMS = "acronyms"


class SegmentText(DefiningText, Protocol):
    """The text of a segment whose acronyms are looked for."""

    stem_of: Array


def write_acronyms(folder: Path, text: SegmentText) -> None:
    """Write the acronyms of a segment, of which no article is removed."""
    stems = text.stems[:]
    phrases: dict[str, int] = {}
    found: list[tuple[int, int, int]] = []
    for row, positions in _likely(text, stems):
        for article, phrase in sorted(defined_at(text, positions, stems[row])):
            number = phrases.setdefault(" ".join(phrase), len(phrases))
            found.append((row, article, number))
    columns = np.array(found, np.int32).reshape(-1, 3).T
    for name, column in zip(("rows", "articles", "phrases"), columns, strict=True):
        np.save(folder / f"{ACRONYMS}.{name}.npy", column)
    TextList.write(folder, ACRONYMS, phrases)


def _likely(text: SegmentText, stems: Sequence[str]) -> Iterator[tuple[int, Array]]:
    """Yield the stems that may be acronyms, in order, with the positions where they may be defined.

    There the word before begins with the last letter, or is a compound.
    """
    last = np.array([ord(one[-1]) if may_be_acronym(one) else 0 for one in stems], np.int64)
    rows, positions = [np.empty(0, np.int32)], [np.empty(0, np.int64)]
    for start in range(0, len(text.tokens), BATCH):
        words = text.tokens[max(start - 1, 0) : start + BATCH]
        own, before = text.stem_of[words[1:]], text.initials[words[:-1]]
        letter = last[own]
        here = np.flatnonzero((letter > 0) & ((before == letter) | (before == COMPOUND)))
        rows.append(own[here])
        positions.append(here + max(start, 1))
    every, where = np.concatenate(rows), np.concatenate(positions)
    order = np.argsort(every, kind="stable")
    known, first = np.unique(every[order], return_index=True)
    yield from zip(known.tolist(), np.split(where[order], first[1:]), strict=True)


class AcronymTable:
    """The acronyms of a segment, opened for reading."""

    def __init__(self, folder: Path) -> None:
        self._rows, self._articles, self._phrases = (
            load_array(folder, f"{ACRONYMS}.{part}") for part in ("rows", "articles", "phrases")
        )
        self._texts = TextList(folder, ACRONYMS)

    @staticmethod
    def exists(folder: Path) -> bool:
        """Whether a segment has a table."""
        return (folder / f"{ACRONYMS}.rows.npy").exists()

    def counts(self, row: int, live: Array | None = None) -> dict[Phrase, int]:
        """Return for each phrase that a stem stands for how many articles say so.

        Only articles that are `live` count; None has all.
        """
        start, stop = self._rows.searchsorted(np.array([row, row + 1], np.int32)).tolist()
        found = self._phrases[start:stop]
        if live is not None:
            found = found[live[self._articles[start:stop]]]
        numbers, counts = np.unique(found, return_counts=True)
        pairs = zip(numbers.tolist(), counts.tolist(), strict=True)
        return {tuple(self._texts[number].split(" ")): count for number, count in pairs}
