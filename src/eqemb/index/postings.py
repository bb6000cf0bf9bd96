"""Inverted index on disk: for each row, the owners that have it and their weights.

    NAME.pointers.npy    the owners of row w are at pointers[w] up to pointers[w + 1]
    NAME.owners.npy      ascending within a row
    NAME.weights.npy     one for each owner

Writers spill batches to disk and sort them there, so that memory stays bounded. Readers map the
files into memory. `ArrayWriter` grows one array on disk in the same way. `Keys` finds the row of a
text without loading the other texts; `KeyedPostings` are postings looked up by text. NumPy only.
"""

import mmap
from array import array
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from eqemb.errors import name_path
from eqemb.formula.shapes import key
from eqemb.storage.array_file import allocate, open_npy
from eqemb.storage.mapped import ScatteredFolder, read_scattered, will_read, will_read_all

_MAX_KNOWN = 1 << 15  # texts of a list that are kept in memory
BATCH = 2_000_000  # postings sorted at a time
#: Keys of a block, which fill a page, and the blocks from which an index is searched by blocks.
BLOCK_KEYS, _LEAST_BLOCKS = 512, 1024
#: Up to so many keys are looked up one by one.
_FEW_KEYS = 8

Array = NDArray[Any]

_PARTS = ("owners", "weights")
_TYPES: dict[str, type[np.generic]] = {"rows": np.int32, "owners": np.int32, "weights": np.float32}


def load_array(folder: Path, name: str) -> Array:
    """Return an array of an index, memory-mapped; of a `ScatteredFolder`, page by page."""
    # as a plain array: slicing a NumPy memmap costs ten times as much
    found = np.asarray(open_npy(folder / f"{name}.npy"))
    if isinstance(folder, ScatteredFolder):
        read_scattered(found)
    return found


def create_array(path: Path, dtype: Any, shape: tuple[int, ...]) -> "np.memmap[Any, Any]":
    """Create an array on disk to be filled; a full disk fails here instead of crashing later."""
    made: np.memmap[Any, Any] = np.lib.format.open_memmap(path, "w+", dtype=dtype, shape=shape)
    with path.open("r+b") as file:
        allocate(file, made.offset, path.stat().st_size)
    return made


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


def expand_ranges(starts: Array, sizes: Array) -> Array:
    """Return the numbers of all ranges, given where each starts and its size, one by one."""
    begins = np.cumsum(sizes) - sizes
    found: Array = np.repeat(starts - begins, sizes) + np.arange(int(sizes.sum()))
    return found


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
    """Lookup of rows by 64-bit keys, such as hashes of texts; several rows may have one key."""

    def __init__(self, folder: Path, name: str) -> None:
        self._keys = load_array(folder, f"{name}.keys")
        self._rows = load_array(folder, f"{name}.rows")
        self._is_scattered = isinstance(folder, ScatteredFolder)

    @staticmethod
    def write(folder: Path, name: str, keys: Array, rows: Array | None = None) -> None:
        """Store the row of each key; by default its position among them."""
        order = np.argsort(keys, kind="stable")
        np.save(folder / f"{name}.keys.npy", keys[order])
        np.save(
            folder / f"{name}.rows.npy", (order if rows is None else rows[order]).astype(np.int32)
        )

    def find(self, text: str) -> int | None:
        """Return the row of a text; None where it has none."""
        row = self.find_key(key(text))
        return None if row < 0 else row

    def find_key(self, number: int) -> int:
        """Return the first row of a key, -1 where it has none."""
        wanted = np.uint64(number)
        at = self._place(wanted)
        return int(self._rows[at]) if at < len(self._keys) and self._keys[at] == wanted else -1

    def find_all(self, keys: Array) -> Array:
        """Return the first row of each key, -1 where it has none."""
        if not len(self._keys):
            return np.full(len(keys), -1, np.int64)
        places = np.minimum(self._places(keys), len(self._keys) - 1)
        have = self._keys[places] == keys
        if len(keys) > _FEW_KEYS:
            will_read(self._rows, places[have])
        found = np.full(len(keys), -1, np.int64)
        found[have] = self._rows[places[have]]
        return found

    def by_row(self) -> Array:
        """Return the key of each row, where the rows are the positions of the keys."""
        will_read_all(self._keys, self._rows)
        found = np.empty_like(self._keys)
        found[self._rows] = self._keys
        return found

    def rows(self, number: int) -> Array:
        """Return all rows of a key."""
        wanted = np.uint64(number)
        start = stop = self._place(wanted)
        more = BLOCK_KEYS
        while more == BLOCK_KEYS:  # not from all the rest, which would read from the whole index
            more = int(self._keys[stop : stop + BLOCK_KEYS].searchsorted(wanted, "right"))
            stop += more
        found: Array = self._rows[start:stop]
        return found

    # ------------------------------------------------------------ where a key is

    @cached_property
    def _tops(self) -> Array | None:
        """The first key of each block of a large index, so that a search reads one block."""
        if not self._is_scattered or len(self._keys) < _LEAST_BLOCKS * BLOCK_KEYS:
            return None
        will_read_all(self._keys)
        return self._keys[::BLOCK_KEYS].copy()

    def _place(self, key: "np.uint64") -> int:
        """Return the place of a key, or where it would be."""
        if self._tops is None:
            return int(self._keys.searchsorted(key))
        first = int(_block(self._tops, key))
        return first + int(self._keys[first : first + BLOCK_KEYS].searchsorted(key))

    def _places(self, keys: Array) -> Array:
        """Return the place of each key, or where it would be."""
        if self._tops is None:
            found: Array = self._keys.searchsorted(keys)
            return found
        if len(keys) <= _FEW_KEYS:
            return np.array([self._place(each) for each in keys], np.int64)
        low: Array = _block(self._tops, keys)
        high = np.minimum(low + BLOCK_KEYS, len(self._keys))
        will_read(self._keys, low, high)
        while (low < high).any():
            middle = np.minimum((low + high) // 2, len(self._keys) - 1)
            is_less = (self._keys[middle] < keys) & (low < high)
            low = np.where(is_less, middle + 1, low)
            high = np.where(is_less, high, np.minimum(middle, high))
        return low

    def will_find(self, keys: Array) -> None:
        """Start to read what a lookup of keys needs."""
        if self._tops is not None:
            low = _block(self._tops, keys)
            will_read(self._keys, low, np.minimum(low + BLOCK_KEYS, len(self._keys)))

    def rows_of_any(self, keys: Array) -> list[int]:
        """Return all rows of several keys, those of one key after those of another."""
        # a method of the array, and lists: these are a few keys with a row or two each
        if self._tops is not None:
            return [row for number in keys.tolist() for row in self.rows(number).tolist()]
        starts = self._keys.searchsorted(keys).tolist()
        stops = self._keys.searchsorted(keys, "right").tolist()
        found: list[int] = []
        for start, stop in zip(starts, stops, strict=True):
            if start < stop:
                found += self._rows[start:stop].tolist()
        return found


def _block(tops: Array, key: Any) -> Any:
    """Return where the block begins that ends with the place of a key, or of each key."""
    return np.maximum(tops.searchsorted(key) - 1, 0) * BLOCK_KEYS


def hash_texts(texts: Iterable[str]) -> Array:
    """Return the key of each text."""
    return np.fromiter((key(text) for text in texts), np.uint64)


class TextList(Sequence[str]):
    """A list of texts on disk, of which only those that are read are loaded.

    NAME.txt holds them one after the other, NAME.starts.npy where each begins.
    """

    def __init__(self, folder: Path, name: str, kept: int = _MAX_KNOWN) -> None:
        """`kept` is how many texts that were read lately stay in memory."""
        self._path, self._starts = folder / f"{name}.txt", load_array(folder, f"{name}.starts")
        self._known: dict[int, str] = {}  # texts that were read lately
        self._kept = kept

    @staticmethod
    def write(folder: Path, name: str, texts: Iterable[str]) -> None:
        """Store texts, which have no line breaks."""
        lines = [f"{text}\n".encode() for text in texts]
        (folder / f"{name}.txt").write_bytes(b"".join(lines))
        starts = np.cumsum([0, *map(len, lines)], dtype=np.int64)
        np.save(folder / f"{name}.starts.npy", starts)

    @cached_property
    def _bytes(self) -> "mmap.mmap | bytes":
        if len(self._starts) < 2:  # an empty file cannot be mapped
            return b""
        with name_path(self._path), self._path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, row: Any) -> Any:
        found = self._known.get(row) if type(row) is int else None
        if found is not None:
            return found
        if isinstance(row, slice):
            return [self[at] for at in range(*row.indices(len(self)))]
        at = range(len(self))[row]  # as a list, with rows from the end
        found = self._bytes[self._starts[at] : self._starts[at + 1] - 1].decode()
        if len(self._known) >= self._kept:
            self._known.clear()
        if self._kept:
            self._known[at] = found
        return found

    def lines(self) -> str:
        """Return all texts, each followed by a line break."""
        return bytes(self._bytes).decode()


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

    def will_read(self, rows: Array, *, weights: bool = True) -> None:
        """Start to read the owners of rows and, if wanted, their weights."""
        starts, stops = self.pointers[rows], self.pointers[rows + 1]
        will_read(self.owners, starts, stops)
        if weights:
            will_read(self.weights, starts, stops)

    def weight(self, row: int, owner: int) -> float:
        """Return the weight of a row for one owner; 0 where the owner does not have it."""
        owners, weights = self.of(row)
        at = int(np.searchsorted(owners, owner))
        return float(weights[at]) if at < len(owners) and owners[at] == owner else 0.0


class KeyedPostings:
    """Postings of texts, opened for reading."""

    def __init__(self, folder: Path, name: str) -> None:
        self.keys, self.postings = Keys(folder, name), Postings(folder, name)

    def owners(self, text: str) -> Array:
        """Return the owners of a text; an empty array for an unknown text."""
        row = self.keys.find(text)
        return np.empty(0, np.int32) if row is None else self.postings.of(row)[0]


class ForwardIndex:
    """The inverse of postings: the rows of each owner, with their weights."""

    def __init__(self, folder: Path, name: str) -> None:
        self._pointers, self._rows, self._weights = (
            load_array(folder, f"{name}.profiles{part}") for part in ("", ".rows", ".weights")
        )

    def will_read(self, owners: Array) -> None:
        """Start to read what `of` returns of several owners."""
        will_read(self._pointers, owners, owners + 2)
        starts, stops = self._pointers[owners], self._pointers[owners + 1]
        will_read(self._rows, starts, stops)
        will_read(self._weights, starts, stops)

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

    def add_owner(self, rows: Sequence[int], owner: int, weights: Iterable[float]) -> None:
        """Add a batch of one owner: a third of the time of `add` for a few rows."""
        values = (rows, [owner] * len(rows), weights)
        for part, code, some in zip(("rows", *self._parts), "iif", values, strict=True):
            self._files[part].write(array(code, some).tobytes())

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
        known = self._rows
        rows = [known.setdefault(text, len(known)) for text in counts]
        self._postings.add_owner(rows, owner, counts.values())

    def write(self, owners: int | None = None) -> None:
        """Write postings and keys; given `owners`, also a forward index of as many."""
        self._postings.write(len(self._rows), owners)
        Keys.write(self._folder, self._name, hash_texts(self._rows))


def _map_values(path: Path, dtype: type[np.generic]) -> Array:
    """Map a file of raw values into memory."""
    if path.stat().st_size == 0:
        return np.empty(0, dtype)
    return np.memmap(path, dtype, "r")
