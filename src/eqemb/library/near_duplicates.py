"""Near-duplicate documents: those that share more than a fifth of their 8-word runs.

Every run of 8 words is hashed to 64 bits; one hash in four is kept, chosen by the hash itself,
so that what two documents share is in both samples or in neither. Sorting the sampled hashes
finds what is shared in near-linear time; they are sorted range by range, and sampled more
thinly in a very large library, so that time and memory stay bounded.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
Integers = NDArray[np.int64]

RUN = 8
SHARE = 0.2
_SAMPLE = np.uint64(3)  # kept where the two lowest bits are zero: one in four
_FEWEST = 16  # sampled runs below which a document is too short to judge
#: In a run of more documents than this (a licence, or many copies) only neighbours are paired:
#: what all of them share then counts for a chain of pairs, and costs no more than it is long.
_MANY = 64
_PART = 1_000_000  # hashes sorted, and pairs counted, at a time
_TOTAL = 32_000_000  # hashes compared at most: beyond, one in 8, 16, ... is looked at
_MULTIPLIER = 0x9E3779B97F4A7C15
#: _MULTIPLIER ** k mod 2**64: the weight of the k-th word of a run.
_WEIGHTS = [pow(_MULTIPLIER, k + 1, 1 << 64) for k in range(RUN)]

_words: dict[str, int] = {}


def sketch(words: list[str]) -> Hashes:
    """The sampled hashes of a document's 8-word runs, sorted, each once."""
    if len(words) < RUN:
        return np.empty(0, np.uint64)
    hashed = np.fromiter((_word(word) for word in words), np.uint64, len(words))
    runs = len(words) - RUN + 1
    total = np.zeros(runs, np.uint64)
    for k, weight in enumerate(_WEIGHTS):
        total += hashed[k : k + runs] * np.uint64(weight)
    total ^= total >> np.uint64(31)
    total *= np.uint64(0xBF58476D1CE4E5B9)
    total ^= total >> np.uint64(29)
    return np.unique(total[(total & _SAMPLE) == 0])


def _word(word: str) -> int:
    """A hash of a word, the same in every process (unlike `hash`)."""
    value = _words.get(word)
    if value is None:
        if len(_words) > 300_000:
            _words.clear()
        value = _words[word] = zlib.crc32(word.lower().encode()) + 1
    return value


def clusters(sizes: list[int], sketches: Callable[[], Iterable[Hashes]]) -> list[list[int]]:
    """Groups of documents, by index, each linked by shared runs to another of its group.

    `sizes` are the lengths of the sketches; `sketches()` yields them in order and is called
    once for each part of the hash range.
    """
    if not sizes:
        return []
    mask = int(_SAMPLE)
    while sum(sizes) > _TOTAL:
        mask = 2 * mask + 1
        sizes = [int(np.count_nonzero((found & np.uint64(mask)) == 0)) for found in sketches()]
    codes, shared = _shared_runs(sizes, sketches, np.uint64(mask))
    first, second = np.divmod(codes, len(sizes))
    lengths = np.array(sizes)
    near = shared > SHARE * np.minimum(lengths[first], lengths[second])
    linked: dict[int, int] = {}
    for pair in zip(first[near].tolist(), second[near].tolist(), strict=True):
        _join(linked, *pair)
    groups: dict[int, list[int]] = {}
    for document in sorted(linked):
        groups.setdefault(_root(linked, document), []).append(document)
    return sorted(groups.values())


def _shared_runs(
    sizes: list[int], sketches: Callable[[], Iterable[Hashes]], mask: np.uint64
) -> tuple[Integers, Integers]:
    """Pairs of documents, as `first * documents + second`, and how many sampled runs they share."""
    parts = max(1, -(-sum(sizes) // _PART))
    edges = [(part << 64) // parts for part in range(parts + 1)]
    codes = counts = np.empty(0, np.int64)
    waiting: list[Integers] = []
    for low, high in pairwise(edges):
        hashes, owners = _part_of(sizes, sketches(), mask, (low, high - 1))
        for more in _pairs(hashes, owners, len(sizes)):
            waiting.append(more)
            # as many as there are, and not each time a few: all merges then cost as much as one
            if sum(map(len, waiting)) >= max(_PART, len(codes)):
                codes, counts = _merge(codes, counts, waiting)
                waiting = []
    return _merge(codes, counts, waiting)


def _merge(codes: Integers, counts: Integers, more: list[Integers]) -> tuple[Integers, Integers]:
    """Sorted codes and their counts, with those of more codes added."""
    new, times = np.unique(np.concatenate([codes[:0], *more]), return_counts=True)
    at = np.searchsorted(codes, new)
    known = np.append(codes, -1)[at] == new
    counts[at[known]] += times[known]
    places, new, times = at[~known], new[~known], times[~known]
    return np.insert(codes, places, new), np.insert(counts, places, times)


def _part_of(
    sizes: list[int], sketches: Iterable[Hashes], mask: np.uint64, bounds: tuple[int, int]
) -> tuple[Hashes, NDArray[np.int32]]:
    """The hashes between two bounds with the documents they are of."""
    hashes, owners = [np.empty(0, np.uint64)], [np.empty(0, np.int32)]
    for document, (size, found) in enumerate(zip(sizes, sketches, strict=True)):
        if size >= _FEWEST:
            start = int(np.searchsorted(found, np.uint64(bounds[0]), side="left"))
            stop = int(np.searchsorted(found, np.uint64(bounds[1]), side="right"))
            kept = found[start:stop][(found[start:stop] & mask) == 0]
            hashes.append(kept)
            owners.append(np.full(len(kept), document, np.int32))
    return np.concatenate(hashes), np.concatenate(owners)


def _pairs(hashes: Hashes, owners: NDArray[np.int32], documents: int) -> Iterator[Integers]:
    """The pairs of documents that share each run, all of them or, of a run in many, neighbours."""
    order = np.argsort(hashes, kind="stable")
    hashes, owners = hashes[order], owners[order]
    starts = np.flatnonzero(np.diff(hashes, prepend=~hashes[:1]))
    lengths = np.diff(starts, append=len(hashes))
    for length in np.unique(lengths[lengths > 1]).tolist():
        if length <= _MANY:
            left, right = np.triu_indices(length, 1)
        else:
            left, right = np.arange(length - 1), np.arange(1, length)
        first = starts[lengths == length]
        step = max(1, _PART // len(left))
        for at in range(0, len(first), step):
            group = owners[first[at : at + step, None] + np.arange(length)].astype(np.int64)
            yield (group[:, left] * documents + group[:, right]).ravel()


def _root(linked: dict[int, int], document: int) -> int:
    while linked.setdefault(document, document) != document:
        document = linked[document]
    return document


def _join(linked: dict[int, int], first: int, second: int) -> None:
    low, high = sorted((_root(linked, first), _root(linked, second)))
    linked[high] = low
