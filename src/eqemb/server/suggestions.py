"""Words of a library that complete what is typed."""

import re
from bisect import bisect_left
from collections import Counter
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from eqemb.corpus.vocabulary import STOP_WORDS
from eqemb.facade.library import Library
from eqemb.index.text_index import TextIndex

#: Completions that are rarer than this share of the most frequent one are misspelt or of no use.
_LEAST_SHARE = 0.002
#: Inflected forms; a word is offered in its most frequent form only.
_INFLECTION = re.compile(r"(?:'s|ies|es|s|ied|ed|ing|y|e)$")


class WordList:
    """The words near equations in alphabetical order, with how often each occurs."""

    def __init__(self, text: TextIndex) -> None:
        often: Counter[str] = Counter()
        for word, _, count in text.word_counts():
            often[word] += count
        rows = sorted(
            (word, often[word])
            for word, _, near in text.vocabulary()
            if near and len(word) > 2 and word[0].isalpha() and word not in STOP_WORDS
        )
        self._words = [word for word, _ in rows]
        self._counts: NDArray[np.int64] = np.array([count for _, count in rows], np.int64)

    def complete(self, prefix: str, count: int) -> list[str]:
        """Words with a prefix, the most frequent first; one for each group of inflected forms."""
        low, high = (bisect_left(self._words, end) for end in (prefix, prefix + "\U0010ffff"))
        order = low + np.argsort(-self._counts[low:high], kind="stable")
        chosen: dict[str, str] = {}
        for row in order.tolist():
            if self._counts[row] < _LEAST_SHARE * self._counts[order[0]] or len(chosen) == count:
                break
            chosen.setdefault(_INFLECTION.sub("", self._words[row]), self._words[row])
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
