"""Words of a library for completion and for the examples on the home page."""

import re
from bisect import bisect_left
from collections.abc import Mapping
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from eqemb.corpus.vocabulary import STOP_WORDS
from eqemb.facade.library import Library
from eqemb.index.text_index import TextIndex

_EXAMPLE_WORD = re.compile("[a-z]{6,}")


class WordList:
    """The words of an index in alphabetical order, with the number of equations near each."""

    def __init__(self, text: TextIndex) -> None:
        rows = sorted(
            (word, count, stem)
            for word, stem, count in text.vocabulary()
            if count and len(word) > 2 and word[0].isalpha() and word not in STOP_WORDS
        )
        self._words = [word for word, _, _ in rows]
        self._counts: NDArray[np.int64] = np.array([count for _, count, _ in rows], np.int64)
        self._stems = [stem for _, _, stem in rows]

    def complete(self, prefix: str, count: int) -> list[str]:
        """Words with a prefix, those near most equations first, one for each stem."""
        low, high = (bisect_left(self._words, end) for end in (prefix, prefix + "\U0010ffff"))
        order = low + np.argsort(-self._counts[low:high], kind="stable")
        return self._one_per_stem(order.tolist(), count)

    def examples(self, titles: Mapping[str, int], count: int) -> list[str]:
        """Words of titles, ranked by (number of titles with the word) x (equations near it)."""
        scores = [
            titles.get(word, 0) * float(near) if _EXAMPLE_WORD.fullmatch(word) else 0.0
            for word, near in zip(self._words, self._counts, strict=True)
        ]
        order = np.argsort(-np.array(scores), kind="stable")
        return self._one_per_stem([row for row in order.tolist() if scores[row]], count)

    def _one_per_stem(self, order: list[int], count: int) -> list[str]:
        chosen: dict[str, str] = {}
        for row in order:
            chosen.setdefault(self._stems[row], self._words[row])
            if len(chosen) == count:
                break
        return list(chosen.values())


def word_list(library: Library) -> WordList:
    """The words of a library, read once for all threads, which open the library themselves."""
    found = (library.generation / "manifest.json").stat()
    key = library.generation, found.st_ino, found.st_mtime_ns
    with _reading:
        if key not in _lists:
            while len(_lists) > 1:
                del _lists[next(iter(_lists))]
            _lists[key] = WordList(library.engine.text)
        return _lists[key]


_lists: dict[tuple[Path, int, int], WordList] = {}
_reading = Lock()
