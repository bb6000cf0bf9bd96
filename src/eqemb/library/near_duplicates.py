"""Find near-duplicate documents: those that share more than a fifth of their 8-word runs.

    sketch(words)                       the sampled hashes of a document's runs
    write_sketches(folder, sketches)    the sketches of a segment, sorted for lookup
    merge_sketches(folder, parts)       the sketches of several segments as those of one
    Sketches(folder, live)              opens them, memory-mapped, without removed documents
    near_pairs(new, earlier)            the pairs that a new segment adds
    followers(segments, removed)        the documents whose pairs change by a removal
    groups(pairs, names)                the near-duplicates that these pairs connect

Every run of 8 words is hashed to 64 bits. One hash in four is sampled, chosen by its own bits, so
that a shared run is in both samples or in neither. A document is compared with the `WINDOW` nearest
documents before it that hold the same run. So the pairs follow from the order of the documents, and
not from how they are divided into segments; and a run that all documents hold (a licence text) or a
document with many copies costs no more than `WINDOW` comparisons for each hash. Many copies are
connected by a chain of pairs.
"""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqemb.storage.array_file import create_arrays, map_arrays, release, write_arrays

Hashes = NDArray[np.uint64]
Integers = NDArray[np.int64]
#: A mask of a segment's documents.
Documents = NDArray[np.bool_]

RUN = 8
DUPLICATE_SHARE = 0.2
#: A document is compared with at most this many documents before it that hold the same run.
WINDOW = 16
_SAMPLE = np.uint64(3)  # sampled if the two lowest bits are zero: one in four
_FEWEST = 16  # sampled runs; documents with fewer are too short to compare
_CHUNK_SIZE = 1_000_000  # hashes looked up, and pairs counted, at a time
_MULTIPLIER = 0x9E3779B97F4A7C15
#: _MULTIPLIER ** k mod 2**64: the weight of the k-th word of a run.
_WORD_WEIGHTS = [pow(_MULTIPLIER, k + 1, 1 << 64) for k in range(RUN)]
_FILE = "sketches.safetensors"
_MOST_WORDS = 50_000  # whose hashes are kept in memory


class _WordHashes(dict[str, int]):
    """Hashes of words as written; unlike `hash`, with the same result in every process."""

    def __missing__(self, word: str) -> int:
        if len(self) >= _MOST_WORDS:
            self.clear()
        value = self[word] = zlib.crc32(word.lower().encode()) + 1
        return value


_word_hashes = _WordHashes()


def sketch(words: list[str]) -> Hashes:
    """Return the sampled hashes of a document's 8-word runs, sorted and unique."""
    if len(words) < RUN:
        return np.empty(0, np.uint64)
    hashed = np.fromiter(map(_word_hashes.__getitem__, words), np.uint64, len(words))
    runs = len(words) - RUN + 1
    total = np.zeros(runs, np.uint64)
    for k, weight in enumerate(_WORD_WEIGHTS):
        total += hashed[k : k + runs] * np.uint64(weight)
    total ^= total >> np.uint64(31)
    total *= np.uint64(0xBF58476D1CE4E5B9)
    total ^= total >> np.uint64(29)
    return np.unique(total[(total & _SAMPLE) == 0])


# ------------------------------------------------------------ the sketches of a segment


def write_sketches(folder: Path, sketches: Iterable[Hashes]) -> None:
    """Write the sketches of a segment's documents, in order; that of a skipped source is empty."""
    sizes, hashes, documents = [], [np.empty(0, np.uint64)], [np.empty(0, np.int32)]
    for document, found in enumerate(sketches):
        sizes.append(len(found))
        if len(found) >= _FEWEST:
            hashes.append(found)
            documents.append(np.full(len(found), document, np.int32))
    joined = np.concatenate(hashes)
    order = np.argsort(joined, kind="stable")
    arrays: dict[str, NDArray[Any]] = {
        "hashes": joined[order],
        "documents": np.concatenate(documents)[order],
        "sizes": np.array(sizes, np.int32),
    }
    write_arrays(folder / _FILE, arrays)


def merge_sketches(folder: Path, parts: "Sequence[Sketches]") -> None:
    """Write the sketches of the live documents of several segments, in order.

    The file is that of `write_sketches`. Hashes are merged a range of values at a time, so that
    memory does not grow with the segments.
    """
    lives = [part.live for part in parts]
    sizes = np.concatenate([part.sizes[live] for part, live in zip(parts, lives, strict=True)])
    count = int(sizes[sizes >= _FEWEST].sum(dtype=np.int64))
    kinds = {"hashes": (np.uint64, count), "documents": (np.int32, count)}
    kinds["sizes"] = (np.int32, len(sizes))
    out = create_arrays(
        folder / _FILE, {name: (np.dtype(kind), (size,)) for name, (kind, size) in kinds.items()}
    )
    out["sizes"][:] = sizes
    numbers = np.cumsum(np.concatenate([np.zeros(0, bool), *lives])) - 1
    firsts = np.cumsum([0, *map(len, lives)])
    at = 0
    for low, high in pairwise(_hash_ranges(count)):
        hashes, documents = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
        for part, live, first in zip(parts, lives, firsts.tolist(), strict=False):
            found, of = part.between(low, high)
            is_live = live[of]
            hashes.append(found[is_live])
            documents.append(numbers[first:][of[is_live]])
        joined = np.concatenate(hashes)
        order = np.argsort(joined, kind="stable")
        out["hashes"][at : at + len(order)] = joined[order]
        out["documents"][at : at + len(order)] = np.concatenate(documents)[order]
        at += len(order)
        release(*out.values(), *(part.hashes for part in parts))


def _hash_ranges(count: int) -> list[int]:
    """Return the bounds of ranges that have about `_CHUNK_SIZE` of so many hashes each."""
    ranges = count // _CHUNK_SIZE + 1
    return [number * (1 << 64) // ranges for number in range(ranges + 1)]


class Sketches:
    """The sketches of a segment, memory-mapped.

    `live` marks the documents that were not removed; the others are ignored. None stands for all.
    """

    def __init__(self, folder: Path, live: Documents | None = None) -> None:
        # as plain arrays: slicing a NumPy memmap costs ten times as much
        found = {name: np.asarray(part) for name, part in map_arrays(folder / _FILE).items()}
        #: The hashes of all documents that are long enough to compare, sorted.
        self.hashes: Hashes = found["hashes"]
        #: The document of each hash, ascending for equal hashes.
        self.documents: NDArray[np.int32] = found["documents"]
        #: The number of sampled hashes of each document.
        self.sizes: NDArray[np.int32] = found["sizes"]
        self._live = live

    def __len__(self) -> int:
        """Return the number of documents, live and removed."""
        return len(self.sizes)

    @property
    def live(self) -> Documents:
        """Which documents are not removed."""
        return np.ones(len(self), bool) if self._live is None else self._live

    def between(self, low: int, high: int) -> tuple[Hashes, NDArray[np.int32]]:
        """Return the hashes from `low` up to `high`, sorted, and the document of each."""
        start, stop = (
            len(self.hashes)
            if bound >= 1 << 64
            else int(self.hashes.searchsorted(np.uint64(bound)))
            for bound in (low, high)
        )
        return self.hashes[start:stop], self.documents[start:stop]

    def chunks(self) -> Iterator[tuple[Hashes, NDArray[np.int32]]]:
        """Yield the hashes of live documents in order, and the document of each.

        Equal hashes are in one chunk.
        """
        start = 0
        while start < len(self.hashes):
            last = self.hashes[min(start + _CHUNK_SIZE, len(self.hashes)) - 1]
            part = slice(start, int(np.searchsorted(self.hashes, last, side="right")))
            live = self._are_live(self.documents[part])
            yield self.hashes[part][live], self.documents[part][live]
            start = part.stop

    def holders(self, hashes: Hashes) -> tuple[Integers, NDArray[np.int32]]:
        """Return the live documents that hold each of some hashes, and the index of that hash.

        `hashes` are sorted and unique. They are looked up; the other hashes are not read.
        """
        if not len(self.hashes):
            return np.empty(0, np.int64), self.documents
        start = np.searchsorted(self.hashes, hashes)
        held = np.flatnonzero(self.hashes.take(start, mode="clip") == hashes)
        start = start[held]
        count = np.searchsorted(self.hashes, hashes[held], side="right") - start
        shift = np.repeat(start + count - np.cumsum(count), count)
        at, documents = np.repeat(held, count), self.documents[shift + np.arange(len(shift))]
        live = self._are_live(documents)
        return at[live], documents[live]

    def _are_live(self, documents: NDArray[np.int32]) -> Documents | slice:
        return slice(None) if self._live is None else self._live[documents]


# ------------------------------------------------------------ pairs


def near_pairs(
    new: Sketches, earlier: Sequence[Sketches], only: Documents | None = None
) -> list[tuple[int, int, int]]:
    """Return the pairs of near-duplicates whose later document is in the segment `new`.

    A pair is the number of the earlier document's segment (`len(earlier)` stands for `new`), the
    document there, and the document of `new`. Pairs are in the order of the later document, then of
    the earlier one.

    Args:
        new: The segment.
        earlier: The segments before it, in order.
        only: Return only the pairs of these documents of `new`.
    """
    segments = [*earlier, new]
    bases = np.cumsum([0, *map(len, segments)], dtype=np.int64)
    sizes = np.concatenate([segment.sizes for segment in segments])
    codes, shared = _count(_comparisons(new, earlier, bases, only))
    second, first = np.divmod(codes, len(sizes))
    near = shared > DUPLICATE_SHARE * np.minimum(sizes[first], sizes[second])
    first, second = first[near], second[near] - bases[-2]
    number = np.searchsorted(bases, first, side="right") - 1
    first -= bases[number]
    return list(zip(number.tolist(), first.tolist(), second.tolist(), strict=True))


def followers(segments: Sequence[Sketches], removed: Sequence[Documents | None]) -> list[Documents]:
    """Return the documents of each segment whose pairs may change because others were removed.

    They hold a run of a removed document, and follow it so closely that it was in their window.
    Without it, they are compared with documents that were beyond. Find their pairs again, with
    `only`, and keep those of all other documents.

    Args:
        segments: All segments, in order, opened without the removed documents.
        removed: The documents of each segment that were removed since their pairs were found.
    """
    found = [np.zeros(len(segment), np.bool_) for segment in segments]
    for number, (segment, gone) in enumerate(zip(segments, removed, strict=True)):
        if gone is None:
            continue
        hashes = np.unique(segment.hashes[gone[segment.documents]])
        missing = np.full(len(hashes), WINDOW)
        for later in range(number, len(segments)):
            at, documents = segments[later].holders(hashes)
            found[later][documents] = True
            if later > number:  # in the segment itself, holders may precede the removed document
                missing -= np.bincount(at, minlength=len(hashes))
                hashes, missing = hashes[missing > 0], missing[missing > 0]
    return found


def _comparisons(
    new: Sketches, earlier: Sequence[Sketches], bases: Integers, only: Documents | None
) -> Iterator[Integers]:
    """Yield a code (`second * documents + first`) for every run for which two are compared.

    The documents of all segments are numbered in order; the numbers of a segment start at its base.
    """
    for hashes, documents in new.chunks():
        compared = np.ones(len(hashes), np.bool_) if only is None else only[documents]
        held, holders = _earlier_holders(hashes[compared], earlier, bases)
        runs = np.concatenate([held, hashes])
        holders = np.concatenate([holders, documents + bases[-2]])
        compared = np.concatenate([np.zeros(len(held), np.bool_), compared])
        order = np.argsort(runs, kind="stable")  # keeps the holders of a run in order
        runs, holders = runs[order], holders[order]
        at = np.flatnonzero(compared[order])
        for back in range(1, WINDOW + 1):
            at = at[at >= back]
            at = at[runs[at] == runs[at - back]]
            yield holders[at] * bases[-1] + holders[at - back]


def _earlier_holders(
    hashes: Hashes, earlier: Sequence[Sketches], bases: Integers
) -> tuple[Hashes, Integers]:
    """Return the last `WINDOW` live documents that hold each hash, in order, and the hashes."""
    hashes = hashes[np.diff(hashes, prepend=~hashes[:1]) != 0]
    missing = np.full(len(hashes), WINDOW)
    found = [(hashes[:0], bases[:0])]
    for segment, base in reversed(list(zip(earlier, bases[:-2], strict=True))):
        searched = np.flatnonzero(missing)
        at, documents = segment.holders(hashes[searched])
        at = searched[at]
        after = np.searchsorted(at, at, side="right") - 1 - np.arange(len(at))
        last = after < missing[at]
        at, documents = at[last], documents[last]
        missing -= np.bincount(at, minlength=len(missing))
        found.append((hashes[at], documents + base))
    runs, holders = zip(*reversed(found), strict=True)
    return np.concatenate(runs), np.concatenate(holders)


def _count(parts: Iterable[Integers]) -> tuple[Integers, Integers]:
    """Return the codes in order, and how often each occurs."""
    codes = counts = np.empty(0, np.int64)
    waiting: list[Integers] = []
    for more in parts:
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


# ------------------------------------------------------------ groups


def groups(pairs: Iterable[tuple[str, str]], names: Iterable[str]) -> list[list[str]]:
    """Return the documents that pairs connect, as groups in the order of their first document.

    `names` are the documents in order, and the order within a group. Pairs with another document,
    which was removed, are ignored.
    """
    parents = {name: name for name in names}
    for first, second in pairs:
        if first in parents and second in parents:
            parents[_find(parents, first)] = _find(parents, second)
    found: dict[str, list[str]] = {}
    for name in parents:
        found.setdefault(_find(parents, name), []).append(name)
    return [members for members in found.values() if len(members) > 1]


def _find(parents: dict[str, str], name: str) -> str:
    """Return the name that stands for a group, and shorten the way to it."""
    while parents[name] != name:
        parents[name] = name = parents[parents[name]]
    return name
