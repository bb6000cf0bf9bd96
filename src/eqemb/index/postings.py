"""Postings: which owners a row has, and with what weight, as flat arrays with pointers.

    NAME.pointers.npy    the owners of row w stand at pointers[w] up to pointers[w + 1]
    NAME.owners.npy      ascending within a row
    NAME.weights.npy     one for each owner

They are gathered on disk batch by batch and sorted there, so that memory stays bounded, and they
are read memory-mapped. A `Column` is one array that grows on disk in the same way. `Keys` tell the
row of a text without reading the others; postings of texts are `Keyed`. NumPy only.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from eqemb.formula.shapes import key

BATCH = 2_000_000  # postings sorted at a time

Array = NDArray[Any]

_PARTS = ("owners", "weights")
_TYPES: dict[str, type[np.generic]] = {"rows": np.int32, "owners": np.int32, "weights": np.float32}


def load(folder: Path, name: str) -> Array:
    """An array of an index, memory-mapped."""
    # as a plain array: slices of NumPy's memmap cost ten times as much
    return np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r"))


def new_array(path: Path, dtype: Any, shape: tuple[int, ...]) -> "np.memmap[Any, Any]":
    """An array on disk, to be filled; a full disk is an error now, and not a crash later."""
    made: np.memmap[Any, Any] = np.lib.format.open_memmap(path, "w+", dtype=dtype, shape=shape)
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    return made


def first_places(numbers: Array) -> Array:
    """Where each number stands first; 0 for those that do not occur."""
    found = np.zeros(int(numbers.max(initial=-1)) + 1, np.int32)
    found[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)  # the last one written stays
    return found


def best_of(scores: Array, count: int) -> Array:
    """Where the best of those above 0 stand, best first, ties in order."""
    # the best of each block: as many are at least as good as the last of the best blocks
    blocks = np.maximum.reduceat(scores, np.arange(0, len(scores), 256)) if len(scores) else scores
    least = np.partition(blocks, len(blocks) - count)[-count] if len(blocks) > count else 0.0
    some = np.flatnonzero(scores >= least) if least > 0 else np.flatnonzero(scores > 0)
    if len(some) > count:
        least = np.partition(scores[some], len(some) - count)[len(some) - count]
        some = some[scores[some] >= least]
    order: Array = some[np.lexsort((some, -scores[some]))][:count]
    return order


class Keys:
    """The rows of texts, by a number of 64 bits that stands for each."""

    def __init__(self, folder: Path, name: str) -> None:
        self._keys, self._rows = load(folder, f"{name}.keys"), load(folder, f"{name}.rows")

    @staticmethod
    def write(folder: Path, name: str, texts: Iterable[str]) -> None:
        """Keep the row of each text: its place among them."""
        keys = np.array([key(text) for text in texts], np.uint64)
        order = np.argsort(keys, kind="stable")
        np.save(folder / f"{name}.keys.npy", keys[order])
        np.save(folder / f"{name}.rows.npy", order.astype(np.int32))

    def find(self, text: str) -> int | None:
        """The row of a text; None where it has none."""
        number = np.uint64(key(text))
        place = int(np.searchsorted(self._keys, number))
        is_there = place < len(self._keys) and self._keys[place] == number
        return int(self._rows[place]) if is_there else None


class Postings:
    """Postings, opened for questions."""

    def __init__(self, folder: Path, name: str) -> None:
        self.pointers = load(folder, f"{name}.pointers")
        self.owners = load(folder, f"{name}.owners")
        self.weights = load(folder, f"{name}.weights")

    def counts(self, rows: Array) -> Array:
        """How many owners each of the rows has."""
        found: Array = self.pointers[rows + 1] - self.pointers[rows]
        return found

    def count(self, row: int) -> int:
        """How many owners a row has."""
        return int(self.pointers[row + 1] - self.pointers[row])

    def of(self, row: int) -> tuple[Array, Array]:
        """The owners of a row and their weights."""
        part = slice(self.pointers[row], self.pointers[row + 1])
        return self.owners[part], self.weights[part]

    def weight(self, row: int, owner: int) -> float:
        """What a row weighs to one owner; 0 where it does not have it."""
        owners, weights = self.of(row)
        at = int(np.searchsorted(owners, owner))
        return float(weights[at]) if at < len(owners) and owners[at] == owner else 0.0


class Profiles:
    """The same the other way round: the rows of each owner, with their weights."""

    def __init__(self, folder: Path, name: str) -> None:
        self._pointers, self._rows, self._weights = (
            load(folder, f"{name}.profiles{part}") for part in ("", ".rows", ".weights")
        )

    def of(self, owner: int) -> tuple[Array, Array]:
        """The rows of an owner and their weights."""
        part = slice(self._pointers[owner], self._pointers[owner + 1])
        return self._rows[part], self._weights[part]


class Column:
    """An array of one dimension on its way to a file."""

    def __init__(self, path: Path, dtype: type[np.generic]) -> None:
        self._file, self._dtype, self._length = path.open("wb"), np.dtype(dtype), 0
        self._head()

    def _head(self) -> None:
        # NumPy leaves room in the header for a length that grows
        shape = {"descr": self._dtype.str, "fortran_order": False, "shape": (self._length,)}
        np.lib.format.write_array_header_1_0(self._file, shape)

    def add(self, values: Array) -> None:
        """Append a batch."""
        self._file.write(np.ascontiguousarray(values, self._dtype).tobytes())
        self._length += len(values)

    def close(self) -> None:
        """Write how long it has become."""
        self._file.seek(0)
        self._head()
        self._file.close()


class Gatherer:
    """Triples (row, owner, weight) on their way to postings sorted by row, then owner."""

    def __init__(self, folder: Path, name: str, *, weighted: bool = True) -> None:
        self._folder, self._name = folder, name
        self._parts = _PARTS if weighted else _PARTS[:1]
        self._files: dict[str, BinaryIO] = {
            part: (folder / f"{name}.{part}.part").open("wb") for part in ("rows", *self._parts)
        }

    def add(self, rows: Array, owners: Array, *weights: Array) -> None:
        """Add a batch, with weights where there are some; owners ascend from batch to batch."""
        for part, values in zip(("rows", *self._parts), (rows, owners, *weights), strict=True):
            self._files[part].write(values.astype(_TYPES[part]).tobytes())

    def write(self, count: int, owners: int | None = None) -> None:
        """Write the postings of `count` rows; with `owners` also the profiles of so many."""
        for file in self._files.values():
            file.close()
        paths = {part: Path(file.name) for part, file in self._files.items()}
        rows = mapped(paths["rows"], np.int32)
        sizes = np.zeros(count, np.int64)
        for at in range(0, len(rows), BATCH):
            sizes += np.bincount(rows[at : at + BATCH], minlength=count)
        pointers = np.zeros(count + 1, np.int64)
        np.cumsum(sizes, out=pointers[1:])
        np.save(self._folder / f"{self._name}.pointers.npy", pointers)
        for part in self._parts:
            self._scatter(part, rows, mapped(paths[part], _TYPES[part]), pointers)
        if owners is not None:
            self._write_profiles(paths, owners)
        for path in paths.values():
            path.unlink()

    def _write_profiles(self, paths: dict[str, Path], owners: int) -> None:
        """What came is in the order of owners already."""
        of = mapped(paths["owners"], np.int32)
        pointers = np.searchsorted(of, np.arange(owners + 1))
        np.save(self._folder / f"{self._name}.profiles.npy", pointers.astype(np.int64))
        for part in ("rows", "weights"):
            values = mapped(paths[part], _TYPES[part])
            np.save(self._folder / f"{self._name}.profiles.{part}.npy", values)

    def _scatter(self, part: str, rows: Array, values: Array, pointers: Array) -> None:
        """Put every value where its row's postings stand, in the order in which they came."""
        path = self._folder / f"{self._name}.{part}.npy"
        if len(values) == 0:
            np.save(path, values)
            return
        out = new_array(path, values.dtype, values.shape)
        free = pointers[:-1].copy()
        for at in range(0, len(rows), BATCH):
            batch = rows[at : at + BATCH]
            order = np.argsort(batch, kind="stable")
            sorted_rows = batch[order]
            starts = np.flatnonzero(np.r_[True, sorted_rows[1:] != sorted_rows[:-1]])
            lengths = np.diff(np.r_[starts, len(sorted_rows)])
            within = np.arange(len(sorted_rows)) - np.repeat(starts, lengths)
            out[free[sorted_rows] + within] = values[at : at + BATCH][order]
            free[sorted_rows[starts]] += lengths
        out.flush()


class KeyedGatherer:
    """Postings of texts on their way; the texts themselves are not kept, only their keys."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self._gatherer = Gatherer(folder, name)
        self._rows: dict[str, int] = {}

    def add(self, owner: int, counts: Mapping[str, int]) -> None:
        """Add the texts of an owner, and how often it has each; owners ascend."""
        rows = [self._rows.setdefault(text, len(self._rows)) for text in counts]
        weights = np.fromiter(counts.values(), np.int32, len(counts))
        self._gatherer.add(np.array(rows, np.int32), np.full(len(rows), owner), weights)

    def write(self) -> None:
        """Write postings and keys."""
        self._gatherer.write(len(self._rows))
        Keys.write(self._folder, self._name, self._rows)


class Keyed:
    """Postings of texts, opened for questions."""

    def __init__(self, folder: Path, name: str) -> None:
        self._keys, self._postings = Keys(folder, name), Postings(folder, name)

    def owners(self, text: str) -> Array:
        """The owners of a text; none where it has no postings."""
        row = self._keys.find(text)
        return np.empty(0, np.int32) if row is None else self._postings.of(row)[0]


def in_all(owners: Iterable[Array], count: int) -> Array:
    """Which of so many owners are among all of these."""
    have, wanted = np.zeros(count, np.int32), 0
    for some in owners:  # each has an owner once
        have[some] += 1
        wanted += 1
    found: Array = have == wanted
    return found


def mapped(path: Path, dtype: type[np.generic]) -> Array:
    """A file of bare values, memory-mapped."""
    if path.stat().st_size == 0:
        return np.empty(0, dtype)
    return np.memmap(path, dtype, "r")
