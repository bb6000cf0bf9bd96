"""Find near-duplicate documents: those that share more than a fifth of their 8-word shingles.

Every run of 8 words is hashed to 64 bits. One hash in four is sampled, chosen by its own bits, so
that a shared run is in both samples or in neither. Sorting the sampled hashes finds shared runs in
near-linear time. Hashes are sorted range by range, and sampled more thinly in a very large library,
so that time and memory stay bounded.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
Integers = NDArray[np.int64]

RUN = 8
DUPLICATE_SHARE = 0.2
_SAMPLE = np.uint64(3)  # sampled if the two lowest bits are zero: one in four
_FEWEST = 16  # sampled runs; documents with fewer are too short to compare
#: If more documents than this share a run (a licence text, or many copies), only neighbours are
#: paired. The documents then form a chain of pairs, whose cost is linear in their number.
_MANY = 64
_CHUNK_SIZE = 1_000_000  # hashes sorted, and pairs counted, at a time
_MOST_HASHES = 32_000_000  # most hashes compared; above, only one in 8, 16, ... is used
_MULTIPLIER = 0x9E3779B97F4A7C15
#: _MULTIPLIER ** k mod 2**64: the weight of the k-th word of a run.
_WORD_WEIGHTS = [pow(_MULTIPLIER, k + 1, 1 << 64) for k in range(RUN)]

_words: dict[str, int] = {}


def sketch(words: list[str]) -> Hashes:
    """Return the sampled hashes of a document's 8-word runs, sorted and unique."""
    if len(words) < RUN:
        return np.empty(0, np.uint64)
    hashed = np.fromiter((_word(word) for word in words), np.uint64, len(words))
    runs = len(words) - RUN + 1
    total = np.zeros(runs, np.uint64)
    for k, weight in enumerate(_WORD_WEIGHTS):
        total += hashed[k : k + runs] * np.uint64(weight)
    total ^= total >> np.uint64(31)
    total *= np.uint64(0xBF58476D1CE4E5B9)
    total ^= total >> np.uint64(29)
    return np.unique(total[(total & _SAMPLE) == 0])


def _word(word: str) -> int:
    """Hash a word; unlike `hash`, with the same result in every process."""
    value = _words.get(word)
    if value is None:
        if len(_words) > 300_000:
            _words.clear()
        value = _words[word] = zlib.crc32(word.lower().encode()) + 1
    return value


def clusters(sizes: list[int], sketches: Callable[[], Iterable[Hashes]]) -> list[list[int]]:
    """Return groups of near-duplicate documents, by index.

    A document is in a group if it shares enough runs with any other document of the group.
    `sizes` are the lengths of the sketches. `sketches()` yields them in order and is called once
    for each part of the hash range.
    """
    if not sizes:
        return []
    mask = int(_SAMPLE)
    while sum(sizes) > _MOST_HASHES:
        mask = 2 * mask + 1
        sizes = [int(np.count_nonzero((found & np.uint64(mask)) == 0)) for found in sketches()]
    codes, shared = _shared_runs(sizes, sketches, np.uint64(mask))
    first, second = np.divmod(codes, len(sizes))
    lengths = np.array(sizes)
    near = shared > DUPLICATE_SHARE * np.minimum(lengths[first], lengths[second])
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
    """Return pairs of documents, as `first * documents + second`, and how many runs they share."""
    parts = max(1, -(-sum(sizes) // _CHUNK_SIZE))
    edges = [(part << 64) // parts for part in range(parts + 1)]
    codes = counts = np.empty(0, np.int64)
    waiting: list[Integers] = []
    for low, high in pairwise(edges):
        hashes, owners = _part_of(sizes, sketches(), mask, (low, high - 1))
        for more in _pairs(hashes, owners, len(sizes)):
            waiting.append(more)
            # merge only when this doubles the result, so that all merges cost as much as one
            if sum(map(len, waiting)) >= max(_CHUNK_SIZE, len(codes)):
                codes, counts = _merge(codes, counts, waiting)
                waiting = []
    return _merge(codes, counts, waiting)


def _merge(codes: Integers, counts: Integers, more: list[Integers]) -> tuple[Integers, Integers]:
    """Add codes to sorted codes and their counts."""
    new, times = np.unique(np.concatenate([codes[:0], *more]), return_counts=True)
    at = np.searchsorted(codes, new)
    known = np.append(codes, -1)[at] == new
    counts[at[known]] += times[known]
    places, new, times = at[~known], new[~known], times[~known]
    return np.insert(codes, places, new), np.insert(counts, places, times)


def _part_of(
    sizes: list[int], sketches: Iterable[Hashes], mask: np.uint64, bounds: tuple[int, int]
) -> tuple[Hashes, NDArray[np.int32]]:
    """Return the hashes between two bounds, and the document of each."""
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
    """Yield the pairs of documents that share a run; only neighbours if many share it."""
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
        step = max(1, _CHUNK_SIZE // len(left))
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
