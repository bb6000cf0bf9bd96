"""The index of a library: which words stand around each equation, and which units are in it.

    equations.npy            for each equation, in order: article, ordinal, type
    words.txt, words.*.npy   the words, as they came, and their postings: equations and weights
    units.*.npy              the postings of units, by their ids in the records: types and counts
    types.npy                for each type: how many units it has, and its first equation

Postings are flat arrays with pointers: the equations of word w stand at `pointers[w]` up to
`pointers[w + 1]`. They are gathered on disk batch by batch and sorted there, so that memory stays
bounded, and they are read memory-mapped. NumPy only.
"""

import os
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from eqemb.article import read_tokens
from eqemb.embeddings import Embeddings
from eqemb.records import Records

#: Words on each side of an equation that are its context, weighted by 1 / sqrt(distance).
REACH = 128
#: BM25's saturation and length norm; the length of a context is the sum of its weights.
K1, B = 1.2, 0.75
_BATCH = 2_000_000  # postings sorted at a time
_SLICE = 2_000  # equations whose contexts are gathered at a time

Array = NDArray[Any]


class _Gatherer:
    """Triples (row, owner, weight) on their way to postings sorted by row, then owner."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self._files: dict[str, BinaryIO] = {
            part: (folder / f"{name}.{part}.part").open("wb") for part in ("rows", *_PARTS)
        }

    def add(self, rows: Array, owners: Array, weights: Array) -> None:
        """Add a batch; owners ascend from batch to batch."""
        for part, values in zip(("rows", *_PARTS), (rows, owners, weights), strict=True):
            self._files[part].write(values.astype(_TYPES[part]).tobytes())

    def write(self, count: int) -> None:
        """Write the postings of `count` rows."""
        for file in self._files.values():
            file.close()
        paths = {part: Path(file.name) for part, file in self._files.items()}
        rows = _mapped(paths["rows"], np.int32)
        sizes = np.zeros(count, np.int64)
        for at in range(0, len(rows), _BATCH):
            sizes += np.bincount(rows[at : at + _BATCH], minlength=count)
        pointers = np.zeros(count + 1, np.int64)
        np.cumsum(sizes, out=pointers[1:])
        np.save(self._folder / f"{self._name}.pointers.npy", pointers)
        for part in _PARTS:
            self._scatter(part, rows, _mapped(paths[part], _TYPES[part]), pointers)
        for path in paths.values():
            path.unlink()

    def _scatter(self, part: str, rows: Array, values: Array, pointers: Array) -> None:
        """Put every value where its row's postings stand, in the order in which they came."""
        path = self._folder / f"{self._name}.{part}.npy"
        if len(values) == 0:
            np.save(path, values)
            return
        out = np.lib.format.open_memmap(path, "w+", dtype=values.dtype, shape=values.shape)
        free = pointers[:-1].copy()
        for at in range(0, len(rows), _BATCH):
            batch = rows[at : at + _BATCH]
            order = np.argsort(batch, kind="stable")
            sorted_rows = batch[order]
            starts = np.flatnonzero(np.r_[True, sorted_rows[1:] != sorted_rows[:-1]])
            lengths = np.diff(np.r_[starts, len(sorted_rows)])
            within = np.arange(len(sorted_rows)) - np.repeat(starts, lengths)
            out[free[sorted_rows] + within] = values[at : at + _BATCH][order]
            free[sorted_rows[starts]] += lengths
        out.flush()


_PARTS = ("owners", "weights")
_TYPES: dict[str, type[np.generic]] = {"rows": np.int32, "owners": np.int32, "weights": np.float32}


def _mapped(path: Path, dtype: type[np.generic]) -> Array:
    if path.stat().st_size == 0:
        return np.empty(0, dtype)
    return np.memmap(path, dtype, "r")


def build_index(records: Records, folder: Path, model: Embeddings | None = None) -> None:
    """Index every equation of the records into `folder`."""
    del model
    folder.mkdir(exist_ok=True)
    keys = _index_equations(records, folder)
    _index_words(records, folder, keys)
    _index_units(records, folder)
    for path in folder.iterdir():  # durable before the library is switched to it
        with path.open("rb") as file:
            os.fsync(file.fileno())


def _index_equations(records: Records, folder: Path) -> dict[int, int]:
    """Number the equations; for each article the number of its first."""
    query = "SELECT article, ordinal, type FROM equations ORDER BY article, ordinal"
    table = np.fromiter((value for row in records.rows(query) for value in row), np.int32).reshape(
        -1, 3
    )
    np.save(folder / "equations.npy", table)
    articles, first = np.unique(table[:, 0], return_index=True)
    types, seen = np.unique(table[:, 2], return_index=True)
    sizes = np.zeros(len(types), np.int32)
    for key, size in records.rows("SELECT id, LENGTH(units) / 4 FROM types ORDER BY id"):
        sizes[key] = size
    np.save(folder / "types.npy", np.stack([sizes, seen.astype(np.int32)], axis=1))
    return dict(zip(articles.tolist(), first.tolist(), strict=True))


def _index_words(records: Records, folder: Path, keys: dict[int, int]) -> None:
    """Postings of words over equations; each weight an impact, BM25 without its idf."""
    vocabulary: dict[str, int] = {}
    gatherer = _Gatherer(folder, "words")
    lengths: list[Array] = [np.empty(0)]
    for key, text in records.rows("SELECT id, text FROM articles ORDER BY id"):
        if key in keys:
            words, places = read_tokens(text)
            ids = (vocabulary.setdefault(word.lower(), len(vocabulary)) for word in words)
            numbers = np.fromiter(ids, np.int64)
            for at in range(0, len(places), _SLICE):
                rows, owners, weights, length = contexts(numbers, places[at : at + _SLICE])
                gatherer.add(rows, owners + keys[key] + at, weights)
                lengths.append(length)
    (folder / "words.txt").write_text("\n".join(vocabulary), "utf-8")
    gatherer.write(len(vocabulary))
    _weigh(folder, np.concatenate(lengths))


def _weigh(folder: Path, lengths: Array) -> None:
    """Turn summed weights into BM25's impacts, in place."""
    if len(lengths) == 0:
        return
    norm = K1 * (1 - B + B * lengths / lengths.mean())
    owners = np.load(folder / "words.owners.npy", mmap_mode="r")
    weights = np.load(folder / "words.weights.npy", mmap_mode="r+")
    for at in range(0, len(weights), _BATCH):
        part = weights[at : at + _BATCH]
        part[:] = part * (K1 + 1) / (part + norm[owners[at : at + _BATCH]])


def _index_units(records: Records, folder: Path) -> None:
    """Postings of units over equation types, with how often each stands there."""
    gatherer = _Gatherer(folder, "units")
    for key, blob in records.rows("SELECT id, units FROM types ORDER BY id"):
        units, counts = np.unique(np.frombuffer(blob, np.int32), return_counts=True)
        gatherer.add(units, np.full(len(units), key), counts)
    gatherer.write(next(records.rows("SELECT COUNT(*) FROM units"))[0])


def contexts(ids: Array, places: list[int]) -> tuple[Array, Array, Array, Array]:
    """Words around each equation of an article, with the sum of 1 / sqrt(distance) of each."""
    reach = np.arange(1, REACH + 1)
    offsets = np.r_[-reach, reach - 1]  # the word before is at place - 1, the one after at place
    weights = np.r_[1 / np.sqrt(reach), 1 / np.sqrt(reach)]
    at = np.array(places)[:, None] + offsets
    inside = (at >= 0) & (at < len(ids))
    owners = np.broadcast_to(np.arange(len(places))[:, None], at.shape)[inside]
    values = np.broadcast_to(weights, at.shape)[inside]
    codes = owners * (int(ids.max(initial=0)) + 1) + ids[at[inside]]
    pairs, where = np.unique(codes, return_inverse=True)
    total = np.bincount(where, values, minlength=len(pairs))
    base = int(ids.max(initial=0)) + 1
    length = np.bincount(owners, values, minlength=len(places))
    return pairs % base, pairs // base, total, length
