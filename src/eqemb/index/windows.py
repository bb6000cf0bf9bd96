"""Windows of postings: where the owners of each range begin, and the largest weight among them.

    NAME.levels.npy           each weight as a level from 1 to 255
    NAME.windows.rows.npy     the rows that have windows: those with many postings, ascending
    NAME.windows.starts.npy   for each of them where each window of owners begins
    NAME.windows.most.npy     and its largest level

A window is a range of `1 << BITS` owners. `candidates` adds up the levels of some rows window by
window, those with the largest sums of `most` first, and stops where the rest cannot be among the
best. A large segment has these files; the windows of other postings are found when they are asked
for. NumPy only.
"""

from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from eqemb.index.postings import BATCH, Array, Postings, create_array, load_array

#: The number of owners of a window, as a power of two. In smaller windows `most` is nearer to what
#: one owner has, and there are more of them.
BITS = 10
#: The largest level.
MOST_LEVEL = 255
#: The postings of a row that has windows on disk, for each window.
_LEAST_PER_WINDOW = 1


class WindowedPostings(NamedTuple):
    """The postings of a row, with their windows."""

    owners: Array
    levels: Array
    starts: Array
    most: Array


def to_levels(weights: Array, largest: float) -> Array:
    """Return weights, of which the largest possible one is given, as levels from 1."""
    scaled = np.rint(np.asarray(weights, np.float32) * np.float32(MOST_LEVEL / largest))
    found: Array = np.clip(scaled, 1, MOST_LEVEL).astype(np.uint8)
    return found


def window_count(owners: int) -> int:
    """Return the number of windows of so many owners."""
    return -(-owners >> BITS)


def write_windows(folder: Path, name: str, owners: int, largest: float) -> None:
    """Write the windows of the postings `name`, of which so many owners may have one."""
    postings, windows = Postings(folder, name), window_count(owners)
    levels = create_array(folder / f"{name}.levels.npy", np.uint8, postings.owners.shape)
    for at in range(0, len(levels), BATCH):
        levels[at : at + BATCH] = to_levels(postings.weights[at : at + BATCH], largest)
    levels.flush()
    rows = np.flatnonzero(np.diff(postings.pointers) >= _LEAST_PER_WINDOW * windows)
    shape = len(rows), windows
    starts = create_array(folder / f"{name}.windows.starts.npy", np.int32, (shape[0], windows + 1))
    most = create_array(folder / f"{name}.windows.most.npy", np.uint8, shape)
    for place, row in enumerate(rows.tolist()):
        part = slice(postings.pointers[row], postings.pointers[row + 1])
        made = _find(postings.owners[part], np.asarray(levels[part]), windows)
        starts[place], most[place] = made.starts, made.most
    starts.flush()
    most.flush()
    np.save(folder / f"{name}.windows.rows.npy", rows.astype(np.int32))


def _find(owners: Array, levels: Array, windows: int) -> WindowedPostings:
    """Return postings with their windows."""
    starts = np.searchsorted(owners, np.arange(windows + 1) << BITS)
    most = np.zeros(windows, np.uint8)
    filled = np.flatnonzero(np.diff(starts))
    if len(filled):
        most[filled] = np.maximum.reduceat(levels, starts[filled])
    return WindowedPostings(owners, levels, starts, most)


class PostingWindows:
    """The windows of the postings of one segment, opened for reading."""

    def __init__(self, folder: Path, name: str, owners: int, largest: float) -> None:
        self._folder, self._name, self._largest = folder, name, largest
        self.count = window_count(owners)
        self._has_files = (folder / f"{name}.windows.rows.npy").exists()

    @cached_property
    def _rows(self) -> Array:
        return load_array(self._folder, f"{self._name}.windows.rows")

    @cached_property
    def _files(self) -> tuple[Array, Array, Array, Array]:
        names = "pointers", "levels", "windows.starts", "windows.most"
        pointers, levels, starts, most = (
            load_array(self._folder, f"{self._name}.{part}") for part in names
        )
        return pointers, levels, starts, most

    def arrays(self, owners: Array, weights: Array, row: int = -1) -> list[Array]:
        """Return what `of` reads."""
        if row < 0 or not self._has_files:
            return [owners, weights]
        pointers, levels, starts, most = self._files
        place = int(self._rows.searchsorted(np.int32(row)))
        own = slice(place, place + 1)
        return [owners, levels[pointers[row] : pointers[row + 1]], starts[own], most[own]]

    def of(self, owners: Array, weights: Array, row: int = -1) -> WindowedPostings:
        """Return postings with their windows; `row` is their row, -1 if they are no whole row."""
        if row < 0 or not self._has_files:
            owners = np.ascontiguousarray(owners, np.int32)
            return _find(owners, to_levels(weights, self._largest), self.count)
        pointers, levels, starts, most = self._files
        own = levels[pointers[row] : pointers[row + 1]]
        place = int(self._rows.searchsorted(np.int32(row)))
        if place < len(self._rows) and self._rows[place] == row:
            return WindowedPostings(owners, own, starts[place].astype(np.int64), most[place])
        return _find(owners, own, self.count)
