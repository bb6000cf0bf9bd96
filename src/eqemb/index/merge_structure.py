"""Merge the structure of several segments; `structure` and `normal_view` describe the files.

Types, shapes, symbols and tags are numbered by first occurrence. A type that several parts have is
taken from the first of them, so what is new in a part occurs only in types that are new in it.
Where documents were removed, the order within a type is read from the type again.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from eqemb.formula import Layout
from eqemb.formula.layout import read_canonical
from eqemb.formula.likeness import bare_tag
from eqemb.formula.shapes import shapes
from eqemb.index.families import write_type_keys
from eqemb.index.merge_arrays import (
    MergedRows,
    PartLists,
    PartPostings,
    batches,
    first_rows,
    keys_of_rows,
    merge_lists,
    merge_postings,
    merge_rows,
    open_array,
    spans,
)
from eqemb.index.merge_parts import MergedPart
from eqemb.index.normal_view import ALIGNMENT, NAME
from eqemb.index.overlap import count_equations
from eqemb.index.postings import Array, ArrayWriter, Keys, Postings, hash_texts
from eqemb.index.segments import write_types
from eqemb.library.database import Records
from eqemb.storage.array_file import release

_TYPES_AT_ONCE = 20_000


def merge_structure(
    parts: Sequence[MergedPart], merged: Array, records: Records, folder: Path
) -> None:
    """Write the structure of the merged segment; `merged` are its equations."""
    ids = _of_types([open_array(part.folder, "types.ids") for part in parts], parts)
    write_types(folder, ids, merged[:, 2])
    for name in ("forms", "normal_keys", "normal_forms"):
        keys = _of_types([Keys(part.folder, name).by_row() for part in parts], parts)
        Keys.write(folder, name, keys)
    worked = _of_types([open_array(part.folder, "types.worked") for part in parts], parts)
    np.save(folder / "types.worked.npy", worked)
    _merge_base_vectors(parts, folder)
    for name in ("families", "near"):
        _merge_type_keys(parts, folder, name)
    for name in ("alignment", ALIGNMENT):
        _merge_alignment(parts, folder, name)
    _merge_units(parts, records, folder)
    _merge_keyed(parts, folder, "shapes", _reader(records, _shape_texts))
    _merge_keyed(parts, folder, "symbols", _reader(records, _symbol_texts))
    rows = _merge_keyed(parts, folder, NAME, None)
    lists = [
        PartLists(part.folder, part.new_types, of_part)
        for part, of_part in zip(parts, rows.of_part, strict=True)
    ]
    names = (f"{NAME}.profiles", f"{NAME}.profiles.rows", f"{NAME}.profiles.weights")
    merge_lists(lists, folder, names, is_sorted=False)
    count = int(merged[:, 2].max(initial=-1)) + 1
    per_type = np.bincount(merged[:, 2], minlength=count)
    for name in ("units", "shapes", NAME):
        np.save(folder / f"{name}.sizes.npy", count_equations(Postings(folder, name), per_type))


def _of_types(values: Sequence[Array], parts: Sequence[MergedPart]) -> Array:
    """Return the values of the merged types, given those of all types of each part."""
    new = (part.new_types for part in parts)
    return np.concatenate([of_part[rows] for of_part, rows in zip(values, new, strict=True)])


def _merge_base_vectors(parts: Sequence[MergedPart], folder: Path) -> None:
    out = ArrayWriter(folder / "base.types.npy", np.float32)
    for part in parts:
        if not len(part.types):
            continue
        vectors = open_array(part.folder, "base.types")
        table = vectors.reshape(len(part.types), -1)
        for at in range(0, len(part.new_types), _TYPES_AT_ONCE):
            out.add(table[part.new_types[at : at + _TYPES_AT_ONCE]].ravel())
            release(vectors)
    out.close()


def _merge_type_keys(parts: Sequence[MergedPart], folder: Path, name: str) -> None:
    """Merge the keys of families: some for each type."""
    keys, sizes = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    for part in parts:
        pointers, ids = (open_array(part.folder, f"{name}.{kind}") for kind in ("pointers", "ids"))
        starts, stops = pointers[part.new_types], pointers[part.new_types + 1]
        keys.append(ids[spans(starts, stops)])
        sizes.append(stops - starts)
    write_type_keys(folder, name, np.concatenate(keys), np.concatenate(sizes))


# ------------------------------------------------------------ alignment


def _merge_alignment(parts: Sequence[MergedPart], folder: Path, name: str) -> None:
    """Merge the outlines of types."""
    names: dict[str, int] = {}
    symbols = ArrayWriter(folder / f"{name}.symbols.npy", np.int32)
    rows = ArrayWriter(folder / f"{name}.rows.npy", np.uint16)
    places = ArrayWriter(folder / f"{name}.pointers.npy", np.int64)
    before = np.zeros(2, np.int64)
    for part in parts:
        tags: list[str] = json.loads((part.folder / f"{name}.tags.json").read_text("ascii"))
        pointers = np.array(open_array(part.folder, f"{name}.pointers")).reshape(-1, 3)
        values = open_array(part.folder, f"{name}.symbols")
        table = open_array(part.folder, f"{name}.rows")
        order = _tag_order(part, pointers, values, len(tags))
        new = np.full(len(tags), -1, np.int64)
        for tag in order.tolist():
            new[tag] = names.setdefault(tags[tag], len(names))
        starts, stops = pointers[part.new_types], pointers[part.new_types + 1]
        sizes = (stops - starts)[:, :2]
        ends = np.cumsum(sizes, axis=0)
        places.add(np.column_stack((before + ends - sizes, starts[:, 2])).ravel())
        for low, high in batches(np.r_[0, ends[:, 0]]):
            symbols.add(new[values[spans(starts[low:high, 0], stops[low:high, 0])]])
            at = spans(starts[low:high, 1], stops[low:high, 1])
            rows.add(table.reshape(-1, 3)[at].ravel())
            release(values, table)
        before += sizes.sum(axis=0)
    places.add(np.array([*before, 0]))
    for writer in (symbols, rows, places):
        writer.close()
    text = json.dumps(list(names), ensure_ascii=True)
    (folder / f"{name}.tags.json").write_text(text, "ascii")


def _tag_order(part: MergedPart, pointers: Array, symbols: Array, count: int) -> Array:
    """Return the tags of a part that are left, in order of first occurrence."""
    if not part.has_removed:
        return np.arange(count)
    seen = np.zeros(count, bool)
    order = [np.empty(0, np.int64)]
    starts, stops = pointers[part.new_types, 0], pointers[part.new_types + 1, 0]
    for low, high in batches(np.r_[0, np.cumsum(stops - starts)]):
        found, first = np.unique(
            symbols[spans(starts[low:high], stops[low:high])], return_index=True
        )
        new = ~seen[found]
        order.append(found[new][np.argsort(first[new])])
        seen[found] = True
    return np.concatenate(order)


# ------------------------------------------------------------ postings


def _merge_units(parts: Sequence[MergedPart], records: Records, folder: Path) -> None:
    """Merge the postings of units, which are numbered as in the records."""
    Keys.write(folder, "units", hash_texts(records.unit_names()))
    known = Keys(folder, "units")
    rows = [known.find_all(keys_of_rows(part.folder, "units")) for part in parts]
    postings = [_of_part(part, of_part) for part, of_part in zip(parts, rows, strict=True)]
    merge_postings(postings, folder, "units", records.unit_count())


def _merge_keyed(
    parts: Sequence[MergedPart], folder: Path, name: str, texts: Callable[[int], Array] | None
) -> MergedRows:
    """Merge keyed postings whose owners are types; return the rows.

    `texts` returns the keys of a type in order; without it, a part has lists of them.
    """
    found: list[tuple[Array, Array | None]] = []
    for part in parts:
        keys, order = keys_of_rows(part.folder, name), None
        if part.has_removed:
            read = texts or _list_reader(part, name, keys)
            order = first_rows(part.folder, name, part.types, keys, read)
        found.append((keys, order))
    rows = merge_rows(found)
    postings = [_of_part(part, of_part) for part, of_part in zip(parts, rows.of_part, strict=True)]
    merge_postings(postings, folder, name, len(rows.keys))
    Keys.write(folder, name, rows.keys)
    return rows


def _of_part(part: MergedPart, rows: Array) -> PartPostings:
    return PartPostings(part.folder, rows, lambda old: part.types[old], part.has_all_types)


def _reader(records: Records, texts: Callable[[Layout], Iterable[str]]) -> Callable[[int], Array]:
    """Return a function that returns the keys of a merged type in order."""
    return lambda kind: hash_texts(texts(read_canonical(records.canonical(kind))))


def _shape_texts(made: Layout) -> Iterable[str]:
    return ("\t".join(shape) for shape in shapes(made))


def _symbol_texts(made: Layout) -> Iterable[str]:
    return Counter(bare_tag(node.tag) for node in made.nodes())


def _list_reader(part: MergedPart, name: str, keys: Array) -> Callable[[int], Array]:
    """Return a function that returns the keys of a merged type as the part lists them."""
    pointers, rows = (open_array(part.folder, f"{name}.{k}") for k in ("profiles", "profiles.rows"))
    first = int(part.types[part.new_types[0]]) if len(part.new_types) else 0

    def read(kind: int) -> Array:
        own = part.new_types[kind - first]
        found: Array = keys[rows[pointers[own] : pointers[own + 1]]]
        return found

    return read
