"""Frequent pairs of words, joined into one word: "neural_network".

A pair is two adjacent words of an article without an equation between them. It is joined if it
occurs more often than by chance,

    (count(ab) - min_count) * N / (count(a) * count(b)) > threshold        N: words of the text

greedily, from left to right, as in word2phrase. The caller decides which words may be part of one.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]
Pointers = NDArray[np.int64]
Mask = NDArray[np.bool_]
#: A function that yields articles: word ids, and the positions of equations among them.
Texts = Callable[[], Iterable[tuple[Ids, Pointers]]]

_BUCKETS = 22  # bits: 32 MB of counters for any number of pairs


class PhrasePairs(NamedTuple):
    """The pairs to be joined."""

    keys: Pointers  # first * len(parts) + second, ascending
    parts: Mask  # words that may be part of a pair

    @property
    def words(self) -> list[tuple[int, int]]:
        """The two words of each pair."""
        return [divmod(key, len(self.parts)) for key in self.keys.tolist()]


def find(
    texts: Texts, counts: Pointers, parts: Mask, min_count: int, threshold: float
) -> PhrasePairs:
    """The pairs of a text that score above the threshold; `counts` are those of its words.

    Most pairs are rare. They are first counted by hash in a table of fixed size, and only pairs
    whose bucket has enough are counted exactly, so that memory does not grow with the text.
    """
    parts = parts & (counts > min_count)  # a pair is not more frequent than its words
    buckets = np.zeros(1 << _BUCKETS, np.int64)
    for ids, breaks in texts():
        keys = _keys(ids, breaks, parts)
        np.add.at(buckets, _bucket(keys[keys >= 0]), 1)
    often: dict[int, int] = {}
    for ids, breaks in texts():
        keys = _keys(ids, breaks, parts)
        keys = keys[keys >= 0]
        for key in keys[buckets[_bucket(keys)] > min_count].tolist():
            often[key] = often.get(key, 0) + 1
    found = np.array(sorted(often), np.int64)
    together = np.array([often[key] for key in found.tolist()], np.float64)
    first, second = (counts[part].astype(np.float64) for part in divmod(found, max(1, len(parts))))
    score = (together - min_count) * float(counts.sum()) / (first * second)
    return PhrasePairs(found[score > threshold], parts)


def joined(ids: Ids, breaks: Pointers, pairs: PhrasePairs) -> tuple[Pointers, Pointers]:
    """The position of each joined pair of an article, and which pair it is."""
    keys = _keys(ids, breaks, pairs.parts)
    at = np.searchsorted(pairs.keys, keys)
    known = np.zeros(len(keys), bool)
    inside = at < len(pairs.keys)
    known[inside] = pairs.keys[at[inside]] == keys[inside]
    # in a run of overlapping pairs the first, third, ... are joined
    step = np.arange(len(keys))
    begun = np.maximum.accumulate(np.where(known & ~np.r_[False, known][:-1], step, 0))
    first = np.flatnonzero(known & ((step - begun) % 2 == 0))
    return first, at[first]


def _keys(ids: Ids, breaks: Pointers, parts: Mask) -> Pointers:
    """The pair that starts at each word except the last, -1 if there is none."""
    both = parts[ids[:-1]] & parts[ids[1:]]
    both[breaks[(breaks > 0) & (breaks < len(ids))] - 1] = False
    return np.where(both, ids[:-1].astype(np.int64) * len(parts) + ids[1:], -1)


def _bucket(keys: Pointers) -> Pointers:
    mixed = keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed >> np.uint64(64 - _BUCKETS)).astype(np.int64)
