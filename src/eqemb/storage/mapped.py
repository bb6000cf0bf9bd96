"""Reading mapped arrays here and there: only the pages that are asked for, and those at once.

A page fault waits for the disk, one after the other, and the system reads up to megabytes around
each. Queries to a large library read thousands of places that have nothing to do with those around
them. So the arrays of a `ScatteredFolder` are read page by page, and `will_read` starts to read all
places that are needed next, so that the disk works on them together. Where the system has no such
advice, as on Windows, arrays are read as ever.
"""

import ctypes
import mmap
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

if TYPE_CHECKING:
    _Base = Path
else:
    _Base = type(Path())  # the Path of this system

#: Smaller arrays are read with what is around: they are in memory soon.
_LEAST_BYTES = 1 << 22
#: Bytes between two places, up to which what is between them is read, too.
_MOST_BETWEEN = 2 * mmap.PAGESIZE
#: Bytes of a request: Linux reads no more than it reads ahead, which is so much by default.
_MOST_AT_ONCE = 128 << 10
#: The system call process_madvise, which has this number on all kinds of machines, and the ranges
#: that it takes.
_PROCESS_MADVISE, _MOST_RANGES = 440, 1024

#: Where the mappings begin that are read page by page.
_scattered: "WeakKeyDictionary[mmap.mmap, int]" = WeakKeyDictionary()


class ScatteredFolder(_Base):
    """A folder whose arrays are read at places that have nothing to do with each other."""


def read_scattered(array: Array) -> None:
    """Tell the system to read no pages around those that are asked for."""
    mapping = _mapping(array)
    if mapping is not None and array.nbytes >= _LEAST_BYTES and hasattr(mmap, "MADV_RANDOM"):
        mapping.madvise(mmap.MADV_RANDOM)
        begin = np.frombuffer(mapping, np.uint8).__array_interface__["data"][0]
        _scattered[mapping] = begin


def will_read(array: Array, rows: Array, stops: Array | None = None) -> None:
    """Start to read rows of an array, or the ranges from rows to `stops`, without waiting.

    Nothing is done for arrays that are not read scattered: the system reads ahead there.
    """
    mapping = _mapping(array)
    if mapping is None or mapping not in _scattered or not len(rows):
        return
    size, begin = array.strides[0], array.__array_interface__["data"][0]
    first = begin + np.asarray(rows, np.int64) * size
    last = first + size if stops is None else begin + np.asarray(stops, np.int64) * size
    is_filled = last > first
    first, last = first[is_filled], last[is_filled]
    if len(first) > 1:
        order = np.argsort(first)
        first, last = first[order], np.maximum.accumulate(last[order])
    first, last = first & -mmap.PAGESIZE, last + (mmap.PAGESIZE - 1) & -mmap.PAGESIZE
    is_apart = first[1:] > last[:-1] + _MOST_BETWEEN
    ends = np.flatnonzero(is_apart)
    _read_ranges(mapping, np.append(first[:1], first[ends + 1]), np.append(last[ends], last[-1:]))


def will_read_all(*arrays: Array) -> None:
    """Start to read whole arrays."""
    ranges: list[tuple[mmap.mmap, int, int]] = []
    for array in arrays:
        mapping = _mapping(array)
        if mapping is not None and mapping in _scattered and array.size:
            begin = array.__array_interface__["data"][0]
            end = begin + array.nbytes if array.flags.contiguous else begin + _extent(array)
            starts = range(begin & -mmap.PAGESIZE, end, _MOST_AT_ONCE)
            stop = _whole_pages(end)
            ranges += [(mapping, at, min(_MOST_AT_ONCE, stop - at)) for at in starts]
    if ranges and not _advised(np.array([part[1:] for part in ranges])):
        for mapping, at, size in ranges:
            mapping.madvise(mmap.MADV_WILLNEED, at - _scattered[mapping], size)


def _extent(array: Array) -> int:
    """Return the bytes from the first row to the end of the last one."""
    return (len(array) - 1) * array.strides[0] + array.itemsize


def _whole_pages(size: int) -> int:
    return size + (mmap.PAGESIZE - 1) & -mmap.PAGESIZE


def _read_ranges(mapping: mmap.mmap, first: Array, last: Array) -> None:
    """Start to read ranges of addresses, cut into pieces that the system reads as a whole."""
    counts = np.maximum(-(-(last - first) // _MOST_AT_ONCE), 0)
    if counts.max(initial=0) > 1:
        number = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        first = np.repeat(first, counts) + number * _MOST_AT_ONCE
        last = np.minimum(first + _MOST_AT_ONCE, np.repeat(last, counts))
    ranges = np.stack([first, last - first], axis=1)[last > first]
    if not _advised(ranges):
        begin = _scattered[mapping]
        for at, size in ranges.tolist():
            mapping.madvise(mmap.MADV_WILLNEED, at - begin, size)


def _advised(ranges: Array) -> bool:
    """Start to read addresses and sizes by one call; return False where the system refuses."""
    advise = _advise_many(os.getpid())
    return advise is not None and advise(ranges)


@cache
def _advise_many(process: int) -> Callable[[Array], bool] | None:
    """Return what starts to read many ranges by one call; None where the system has none.

    Later calls may still be refused, which is what False means.
    """
    try:
        own, call = os.pidfd_open(process), ctypes.CDLL(None, use_errno=True).syscall
    except (AttributeError, OSError):
        return None

    def advise(ranges: Array) -> bool:
        for at in range(0, len(ranges), _MOST_RANGES):
            some = np.ascontiguousarray(ranges[at : at + _MOST_RANGES], np.uint64)
            place = ctypes.c_void_p(some.ctypes.data)
            count = ctypes.c_size_t(len(some))
            if call(_PROCESS_MADVISE, own, place, count, mmap.MADV_WILLNEED, 0) < 0:
                return False
        return True

    return advise


def _mapping(array: Array) -> mmap.mmap | None:
    """Return the mapping that an array is in; None if it has none."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return owner if isinstance(owner, mmap.mmap) and hasattr(owner, "madvise") else None
