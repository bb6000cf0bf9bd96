"""Inverted index on disk: for each row, the owners that have it and their weights.

    NAME.pointers.npy    the owners of row w are at pointers[w] up to pointers[w + 1]
    NAME.owners.npy      ascending within a row
    NAME.weights.npy     one for each owner

Writers spill batches to disk and sort them there, so that memory stays bounded. Readers map the
files into memory. `ArrayWriter` grows one array on disk in the same way. `Keys` finds the row of a
text without loading the other texts; `KeyedPostings` are postings looked up by text. NumPy only.
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


def load_array(folder: Path, name: str) -> Array:
    """Return an array of an index, memory-mapped."""
    # as a plain array: slicing a NumPy memmap costs ten times as much
    return np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r"))


def create_array(path: Path, dtype: Any, shape: tuple[int, ...]) -> "np.memmap[Any, Any]":
    """Create an array on disk to be filled; a full disk fails here instead of crashing later."""
    made: np.memmap[Any, Any] = np.lib.format.open_memmap(path, "w+", dtype=dtype, shape=shape)
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    return made


def first_occurrences(numbers: Array) -> Array:
    """Return the first position of each number; 0 for numbers that do not occur."""
    found = np.zeros(int(numbers.max(initial=-1)) + 1, np.int32)
    found[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)  # the last write wins
    return found


def top_k(scores: Array, count: int) -> Array:
    """Return the positions of the best positive scores, best first, ties in order."""
    # At least `count` scores reach the smallest maximum of the `count` best blocks of 256.
    blocks = np.maximum.reduceat(scores, np.arange(0, len(scores), 256)) if len(scores) else scores
    least = np.partition(blocks, len(blocks) - count)[-count] if len(blocks) > count else 0.0
    some = np.flatnonzero(scores >= least) if least > 0 else np.flatnonzero(scores > 0)
    if len(some) > count:
        least = np.partition(scores[some], len(some) - count)[len(some) - count]
        some = some[scores[some] >= least]
    order: Array = some[np.lexsort((some, -scores[some]))][:count]
    return order


def in_every(owners: Iterable[Array], count: int) -> Array:
    """Return a mask of the `count` owners that are in every one of the given lists."""
    have, wanted = np.zeros(count, np.int32), 0
    for some in owners:  # a list has an owner once
        have[some] += 1
        wanted += 1
    found: Array = have == wanted
    return found


# ------------------------------------------------------------ reading


class Keys:
    """Lookup of a text's row by a 64-bit hash of the text."""

    def __init__(self, folder: Path, name: str) -> None:
        self._keys = load_array(folder, f"{name}.keys")
        self._rows = load_array(folder, f"{name}.rows")

    @staticmethod
    def write(folder: Path, name: str, texts: Iterable[str]) -> None:
        """Store the row of each text, which is its position among them."""
        keys = np.array([key(text) for text in texts], np.uint64)
        order = np.argsort(keys, kind="stable")
        np.save(folder / f"{name}.keys.npy", keys[order])
        np.save(folder / f"{name}.rows.npy", order.astype(np.int32))

    def find(self, text: str) -> int | None:
        """Return the row of a text; None where it has none."""
        number = np.uint64(key(text))
        place = int(np.searchsorted(self._keys, number))
        found = place < len(self._keys) and self._keys[place] == number
        return int(self._rows[place]) if found else None


class Postings:
    """Postings opened for reading."""

    def __init__(self, folder: Path, name: str) -> None:
        self.pointers = load_array(folder, f"{name}.pointers")
        self.owners = load_array(folder, f"{name}.owners")
        self.weights = load_array(folder, f"{name}.weights")

    def counts(self, rows: Array) -> Array:
        """Return the number of owners of each row."""
        found: Array = self.pointers[rows + 1] - self.pointers[rows]
        return found

    def count(self, row: int) -> int:
        """Return the number of owners of a row."""
        return int(self.pointers[row + 1] - self.pointers[row])

    def of(self, row: int) -> tuple[Array, Array]:
        """Return the owners of a row and their weights."""
        part = slice(self.pointers[row], self.pointers[row + 1])
        return self.owners[part], self.weights[part]

    def weight(self, row: int, owner: int) -> float:
        """Return the weight of a row for one owner; 0 where the owner does not have it."""
        owners, weights = self.of(row)
        at = int(np.searchsorted(owners, owner))
        return float(weights[at]) if at < len(owners) and owners[at] == owner else 0.0


class KeyedPostings:
    """Postings of texts, opened for reading."""

    def __init__(self, folder: Path, name: str) -> None:
        self._keys, self._postings = Keys(folder, name), Postings(folder, name)

    def owners(self, text: str) -> Array:
        """Return the owners of a text; an empty array for an unknown text."""
        row = self._keys.find(text)
        return np.empty(0, np.int32) if row is None else self._postings.of(row)[0]


class ForwardIndex:
    """The inverse of postings: the rows of each owner, with their weights."""

    def __init__(self, folder: Path, name: str) -> None:
        self._pointers, self._rows, self._weights = (
            load_array(folder, f"{name}.profiles{part}") for part in ("", ".rows", ".weights")
        )

    def of(self, owner: int) -> tuple[Array, Array]:
        """Return the rows of an owner and their weights."""
        part = slice(self._pointers[owner], self._pointers[owner + 1])
        return self._rows[part], self._weights[part]


# ------------------------------------------------------------ writing


class ArrayWriter:
    """Writes a one-dimensional array whose length is not known in advance."""

    def __init__(self, path: Path, dtype: type[np.generic]) -> None:
        self._file, self._dtype, self._length = path.open("wb"), np.dtype(dtype), 0
        self._write_header()

    def _write_header(self) -> None:
        # NumPy leaves room in the header for a length that grows
        shape = {"descr": self._dtype.str, "fortran_order": False, "shape": (self._length,)}
        np.lib.format.write_array_header_1_0(self._file, shape)

    def add(self, values: Array) -> None:
        """Append a batch."""
        self._file.write(np.ascontiguousarray(values, self._dtype).tobytes())
        self._length += len(values)

    def close(self) -> None:
        """Write the final length into the header and close the file."""
        self._file.seek(0)
        self._write_header()
        self._file.close()


class PostingsWriter:
    """Collects triples (row, owner, weight) and writes postings sorted by row, then owner."""

    def __init__(self, folder: Path, name: str, *, weighted: bool = True) -> None:
        self._folder, self._name = folder, name
        self._parts = _PARTS if weighted else _PARTS[:1]
        self._files: dict[str, BinaryIO] = {
            part: (folder / f"{name}.{part}.part").open("wb") for part in ("rows", *self._parts)
        }

    def add(self, rows: Array, owners: Array, *weights: Array) -> None:
        """Add a batch; owners ascend from batch to batch, weights only if `weighted`."""
        for part, values in zip(("rows", *self._parts), (rows, owners, *weights), strict=True):
            self._files[part].write(values.astype(_TYPES[part]).tobytes())

    def write(self, count: int, owners: int | None = None) -> None:
        """Write the postings of `count` rows; given `owners`, also a forward index of as many."""
        for file in self._files.values():
            file.close()
        paths = {part: Path(file.name) for part, file in self._files.items()}
        rows = _map_values(paths["rows"], np.int32)
        sizes = np.zeros(count, np.int64)
        for at in range(0, len(rows), BATCH):
            sizes += np.bincount(rows[at : at + BATCH], minlength=count)
        pointers = np.zeros(count + 1, np.int64)
        np.cumsum(sizes, out=pointers[1:])
        np.save(self._folder / f"{self._name}.pointers.npy", pointers)
        for part in self._parts:
            self._scatter(part, rows, _map_values(paths[part], _TYPES[part]), pointers)
        if owners is not None:
            self._write_forward_index(paths, owners)
        for path in paths.values():
            path.unlink()

    def _write_forward_index(self, paths: dict[str, Path], owners: int) -> None:
        """Write the triples as they came: they are ordered by owner already."""
        of = _map_values(paths["owners"], np.int32)
        pointers = np.searchsorted(of, np.arange(owners + 1))
        np.save(self._folder / f"{self._name}.profiles.npy", pointers.astype(np.int64))
        for part in ("rows", "weights"):
            values = _map_values(paths[part], _TYPES[part])
            np.save(self._folder / f"{self._name}.profiles.{part}.npy", values)

    def _scatter(self, part: str, rows: Array, values: Array, pointers: Array) -> None:
        """Move each value to the postings of its row, keeping the order in which they came."""
        path = self._folder / f"{self._name}.{part}.npy"
        if len(values) == 0:
            np.save(path, values)
            return
        out = create_array(path, values.dtype, values.shape)
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


class KeyedPostingsWriter:
    """Collects postings of texts; stores hashes of the texts, not the texts themselves."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self._postings = PostingsWriter(folder, name)
        self._rows: dict[str, int] = {}

    def add(self, owner: int, counts: Mapping[str, int]) -> None:
        """Add the texts of an owner with their counts; owners ascend."""
        rows = [self._rows.setdefault(text, len(self._rows)) for text in counts]
        weights = np.fromiter(counts.values(), np.int32, len(counts))
        self._postings.add(np.array(rows, np.int32), np.full(len(rows), owner), weights)

    def write(self) -> None:
        """Write postings and keys."""
        self._postings.write(len(self._rows))
        Keys.write(self._folder, self._name, self._rows)


def _map_values(path: Path, dtype: type[np.generic]) -> Array:
    """Map a file of raw values into memory."""
    if path.stat().st_size == 0:
        return np.empty(0, dtype)
    return np.memmap(path, dtype, "r")
