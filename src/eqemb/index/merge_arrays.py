"""Merge arrays, texts and postings of several segments into those of one segment.

Part files are read memory-mapped and in batches; pages that were read or written are given back,
so that memory grows with the rows (words, shapes, equations) and not with the postings.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eqemb.index.postings import BATCH, Array, ArrayWriter, Keys, create_array
from eqemb.storage.array_file import open_npy, release

_RELEASE_AFTER = 8  # batches


class CannotMergeError(Exception):
    """The files of the parts do not have what is needed: index the records again."""


def open_array(folder: Path, name: str) -> "np.memmap[Any, Any]":
    """Return an array of a part, memory-mapped; `release` gives its pages back."""
    return open_npy(folder / f"{name}.npy")


def spans(starts: Array, stops: Array) -> Array:
    """Return the positions of several spans of an array, one after the other."""
    lengths = stops - starts
    before = np.cumsum(lengths) - lengths
    found: Array = np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)
    return found


def batches(pointers: Array, most: int = BATCH) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows that have about `most` values together, and at least one row each."""
    start, rows = 0, len(pointers) - 1
    while start < rows:
        stop = int(np.searchsorted(pointers, pointers[start] + most, "right")) - 1
        stop = min(max(stop, start + 1), rows)
        yield start, stop
        start = stop


# ------------------------------------------------------------ keys


def keys_of_rows(folder: Path, name: str) -> Array:
    """Return the key of each row of a part; two rows never have one key."""
    keys = Keys(folder, name).by_row()
    if len(np.unique(keys)) < len(keys):
        raise CannotMergeError(f"two rows of {folder / name} have the same key")
    return keys


def merge_keys(parts: Sequence[Array]) -> tuple[Array, list[Array]]:
    """Return the keys of all parts in order of first occurrence, and the rows of each part's."""
    every = np.concatenate([np.empty(0, np.uint64), *parts])
    _, first, where = np.unique(every, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    bounds = np.cumsum([0, *map(len, parts)])
    rows = rank[where]
    maps = [rows[low:high] for low, high in pairwise(bounds)]
    return every[np.sort(first)], maps


class MergedRows(NamedTuple):
    """The rows of keyed postings after merging."""

    keys: Array
    """The key of each row."""
    of_part: list[Array]
    """For each part the merged row of each of its rows, -1 for those that are gone."""


def merge_rows(parts: Sequence[tuple[Array, Array | None]]) -> MergedRows:
    """Number the rows of all parts by first occurrence.

    For each part: the keys of its rows, and the rows that are left in order of first occurrence;
    None if that is their own order.
    """
    ordered = [keys if order is None else keys[order] for keys, order in parts]
    merged, maps = merge_keys(ordered)
    found: list[Array] = []
    for (keys, order), new in zip(parts, maps, strict=True):
        rows = new
        if order is not None:
            rows = np.full(len(keys), -1, np.int64)
            rows[order] = new
        found.append(rows)
    return MergedRows(merged, found)


# ------------------------------------------------------------ postings


class PartPostings(NamedTuple):
    """Postings of a part, and how its rows and owners are numbered after merging."""

    folder: Path
    rows: Array
    """The merged row of each row; -1 for one without an owner that is left."""
    owners: Callable[[Array], Array]
    """Returns merged owners, -1 for those that are left out."""
    keeps_all: bool
    """Whether every owner is kept, in the same order."""


def merge_postings(
    parts: Sequence[PartPostings], folder: Path, name: str, count: int, *, weighted: bool = True
) -> None:
    """Write the postings of `count` rows: for each, the owners of the first part, then the next."""
    sizes = np.zeros(count, np.int64)
    of_parts = []
    for part in parts:
        kept = _kept_counts(part, name)
        some = np.flatnonzero(kept)
        if (part.rows[some] < 0).any():
            raise CannotMergeError(f"{part.folder / name} has rows that the records do not have")
        sizes[part.rows[some]] += kept[some]
        of_parts.append(kept)
    pointers = np.zeros(count + 1, np.int64)
    np.cumsum(sizes, out=pointers[1:])
    np.save(folder / f"{name}.pointers.npy", pointers)
    kinds: dict[str, type[np.generic]] = {"owners": np.int32}
    if weighted:
        kinds["weights"] = np.float32
    if not pointers[-1]:
        for kind, dtype in kinds.items():
            np.save(folder / f"{name}.{kind}.npy", np.empty(0, dtype))
        return
    outs = [
        create_array(folder / f"{name}.{kind}.npy", dtype, (int(pointers[-1]),))
        for kind, dtype in kinds.items()
    ]
    free = pointers[:-1]
    for part, kept in zip(parts, of_parts, strict=True):
        _scatter(part, name, kept, free, outs)
        some = np.flatnonzero(kept)
        free[part.rows[some]] += kept[some]
    for out in outs:
        out.flush()


def _kept_counts(part: PartPostings, name: str) -> Array:
    """Return how many owners of each row are kept."""
    pointers = np.array(open_array(part.folder, f"{name}.pointers"))
    if part.keeps_all:
        return np.diff(pointers)
    owners = open_array(part.folder, f"{name}.owners")
    kept = np.zeros(len(pointers) - 1, np.int64)
    for start, stop in batches(pointers):
        is_kept = part.owners(np.array(owners[pointers[start] : pointers[stop]])) >= 0
        total = np.r_[0, np.cumsum(is_kept)]
        bounds = total[pointers[start : stop + 1] - pointers[start]]
        kept[start:stop] = np.diff(bounds)
        release(owners)
    return kept


def _scatter(
    part: PartPostings, name: str, kept: Array, free: Array, outs: "list[np.memmap[Any, Any]]"
) -> None:
    """Copy the postings of a part to where those of each row are written next."""
    pointers = np.array(open_array(part.folder, f"{name}.pointers"))
    kinds = ("owners", "weights")[: len(outs)]
    values = [open_array(part.folder, f"{name}.{kind}") for kind in kinds]
    for number, (start, stop) in enumerate(batches(pointers), 1):
        low, high = pointers[start], pointers[stop]
        owners = part.owners(np.array(values[0][low:high]))
        chosen: Array | slice = slice(None)
        if not part.keeps_all:
            rows = np.repeat(np.arange(stop - start), np.diff(pointers[start : stop + 1]))
            chosen = np.flatnonzero(owners >= 0)
            of, by = rows[chosen], owners[chosen]
            if ((of[1:] == of[:-1]) & (by[1:] < by[:-1])).any():  # types have another order
                chosen = chosen[np.lexsort((by, of))]
        counts = kept[start:stop]
        first = free[part.rows[start:stop]]
        at = spans(first, first + counts)
        outs[0][at] = owners[chosen]
        if len(outs) > 1:
            outs[1][at] = np.array(values[1][low:high])[chosen]
        if number % _RELEASE_AFTER == 0:
            release(*values, *outs)
    release(*values, *outs)


class PartLists(NamedTuple):
    """Lists of a part, one for each owner: which are left, in order, and the new numbers."""

    folder: Path
    owners: Array
    """The owners that are left, in the order in which they are written."""
    rows: Array
    """The merged row of each row."""


def merge_lists(
    parts: Sequence[PartLists], folder: Path, names: tuple[str, ...], *, is_sorted: bool
) -> None:
    """Write lists of rows one after the other: those of the first part, then of the next.

    `names` are those of the pointers, the rows and, if there are any, the weights. With
    `is_sorted`, the rows of each list ascend.
    """
    kinds: list[type[np.generic]] = [np.int32, np.float32]
    outs = [
        ArrayWriter(folder / f"{name}.npy", kind)
        for name, kind in zip(names[1:], kinds, strict=False)
    ]
    sizes = [np.zeros(1, np.int64)]
    for part in parts:
        pointers = np.array(open_array(part.folder, names[0]))
        values = [open_array(part.folder, name) for name in names[1:]]
        starts, stops = pointers[part.owners], pointers[part.owners + 1]
        sizes.append(stops - starts)
        for low, high in batches(np.r_[0, np.cumsum(stops - starts)]):
            at = spans(starts[low:high], stops[low:high])
            rows = part.rows[values[0][at]]
            order: Array | slice = slice(None)
            if is_sorted:
                of = np.repeat(np.arange(high - low), (stops - starts)[low:high])
                codes = of * (int(part.rows.max(initial=0)) + 1) + rows
                if (codes[1:] < codes[:-1]).any():
                    order = np.argsort(codes)
            outs[0].add(rows[order])
            for out, more in zip(outs[1:], values[1:], strict=True):
                out.add(more[at][order])
            release(*values)
    for out in outs:
        out.close()
    np.save(folder / f"{names[0]}.npy", np.cumsum(np.concatenate(sizes)))


# ------------------------------------------------------------ order of first occurrence


def first_rows(
    folder: Path, name: str, owners: Array, keys: Array, texts: Callable[[int], Array]
) -> Array:
    """Return the rows of a part that are left, in order of first occurrence.

    The rows of a part are in that order among all its documents. Without the removed ones, a row
    may occur first in another owner: then `texts` gives the keys of that owner in order.

    Args:
        folder: The part.
        name: The postings.
        owners: The merged number of each owner, -1 for those that are left out.
        keys: The key of each row.
        texts: Returns the keys of a merged owner, in the order in which they occur in it.
    """
    pointers = np.array(open_array(folder, f"{name}.pointers"))
    values = open_array(folder, f"{name}.owners")
    none = np.iinfo(np.int64).max
    first = np.full(len(pointers) - 1, none)
    before = np.full(len(pointers) - 1, -1)
    for start, stop in batches(pointers):
        new = owners[values[pointers[start] : pointers[stop]]]
        begins = pointers[start:stop] - pointers[start]
        filled = np.flatnonzero(np.diff(pointers[start : stop + 1])) + start
        at = begins[filled - start]
        before[filled] = new[at]
        if len(at):
            first[filled] = np.minimum.reduceat(np.where(new < 0, none, new), at)
        release(values)
    left = np.flatnonzero(first < none)
    left = left[np.argsort(first[left], kind="stable")]
    of = first[left]
    for owner in np.unique(of[before[left] != of]).tolist():
        low, high = np.searchsorted(of, [owner, owner + 1])
        left[low:high] = in_key_order(left[low:high], keys, texts(owner))
    return left


def in_key_order(rows: Array, keys: Array, wanted: Array) -> Array:
    """Return rows in the order in which their keys first occur in `wanted`."""
    left = {int(keys[row]): row for row in rows.tolist()}
    found = [row for key in wanted.tolist() if (row := left.pop(key, None)) is not None]
    if left:
        raise CannotMergeError(f"the records do not have {len(left):,} texts of the index")
    return np.array(found, np.int64)


# ------------------------------------------------------------ texts


def copy_lines(lines: Iterable[bytes], folder: Path, name: str) -> None:
    """Write a list of texts, each given with its line break."""
    sizes = [0]
    with (folder / f"{name}.txt").open("wb") as file:
        for line in lines:
            file.write(line)
            sizes.append(len(line))
    np.save(folder / f"{name}.starts.npy", np.cumsum(sizes, dtype=np.int64))


def read_lines(folder: Path, name: str, rows: Array) -> Iterator[bytes]:
    """Yield texts of a part, each with its line break."""
    starts = open_array(folder, f"{name}.starts")
    with (folder / f"{name}.txt").open("rb") as file:
        at = 0
        for row, low, high in zip(
            rows.tolist(), starts[rows].tolist(), starts[rows + 1].tolist(), strict=True
        ):
            if low != at:
                file.seek(low)
            line = file.read(high - low)
            if not line.endswith(b"\n"):
                raise CannotMergeError(f"line {row} of {folder / name}.txt is cut off")
            at = high
            yield line
