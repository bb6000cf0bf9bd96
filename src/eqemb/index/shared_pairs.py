"""How many joined symbols equations share, for every pair of a few dozen equation types.

Two bags of features are compared by Dice, and the mean of both counts: pairs of joined symbols as
they are, and pairs and triples in which letters may have any name (as `formula.shapes` has them).
Everything is read from the alignment files, for all types at once. NumPy only.
"""

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np

from eqemb.formula.likeness import is_letter
from eqemb.formula.tree import plain_tag
from eqemb.index.alignment import AlignmentIndex
from eqemb.index.postings import Array

_NEXT = ord("n")  # the edge to the next symbol of a row


class _Symbols(NamedTuple):
    """The symbols of several types, one after the other."""

    owners: Array
    """The type of each symbol, by position among the given types."""
    tags: Array
    above: Array
    """The position of the symbol that it is joined to; -1 for the first of a type."""
    edges: Array


def shared_pairs(alignment: AlignmentIndex, types: Sequence[int]) -> Array:
    """Return what each two of the types share, from 0 to 1, as a square matrix."""
    if not len(types):
        return np.zeros((0, 0))
    read = _read(alignment, types)
    known, tags = np.unique(read.tags, return_inverse=True)
    names = alignment.tag_names(known.tolist())
    is_name = np.array([is_letter(name) for name in names])
    numbers: dict[str, int] = {}
    plain = ("" if is_letter(name) else plain_tag(name) for name in names)
    classes = np.array([numbers.setdefault(name, len(numbers)) for name in plain])[tags]
    read = read._replace(tags=tags)
    joined = np.flatnonzero(read.above >= 0)
    above = read.above[joined]
    chained = joined[read.above[above] >= 0]
    units = _code([tags[joined], read.edges[joined], tags[above]])
    pairs = _shape(read, classes, is_name[tags], [joined, above])
    second = read.above[chained]
    triples = _shape(read, classes, is_name[tags], [chained, second, read.above[second]])
    owners = np.concatenate([read.owners[joined], read.owners[chained]])
    shapes = np.concatenate([2 * pairs, 2 * triples + 1])
    count = len(types)
    return (_dice(read.owners[joined], units, count) + _dice(owners, shapes, count)) / 2


def _read(alignment: AlignmentIndex, types: Sequence[int]) -> _Symbols:
    """Read the symbols of types, and how they are joined."""
    tags, rows, sizes, counts = alignment.read_all(types)
    table = rows.astype(np.int64)
    first = np.repeat(np.cumsum(sizes) - sizes, counts)
    filled = table[:, 2] > 0
    starts = (np.cumsum(table[:, 2]) - table[:, 2])[filled]
    above, edges = np.arange(-1, len(tags) - 1), np.full(len(tags), _NEXT)
    edges[starts] = table[filled, 0]
    # a row without an edge is the first of its type
    above[starts] = np.where(edges[starts] > 0, (table[:, 1] + first)[filled], -1)
    return _Symbols(np.repeat(np.arange(len(types)), sizes), tags, above, edges)


def _shape(read: _Symbols, classes: Array, letters: Array, line: list[Array]) -> Array:
    """Number lines of joined symbols; letters count by which of them are the same."""
    columns = [classes[line[0]]]
    for below, above in pairwise(line):
        columns += [read.edges[below], classes[above]]
    for one, two in combinations(line, 2):
        columns.append((read.tags[one] == read.tags[two]) & letters[one])
    return _code(columns)


def _code(columns: list[Array]) -> Array:
    """Return numbers that are equal where all columns are.

    They fit: at most 18,000 symbols are compared, and edges are ASCII.
    """
    code = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        code = code * (int(column.max(initial=0)) + 1) + column
    return code


def _dice(owners: Array, features: Array, count: int) -> Array:
    """Return the Dice coefficient of the bags of each two owners; 0 for empty bags."""
    known, features = np.unique(features, return_inverse=True)
    codes = np.sort(owners * len(known) + features)
    # the second copy of a feature is another feature, so that bags are sets
    at = np.arange(len(codes))
    is_new = np.r_[True, codes[1:] != codes[:-1]][: len(codes)]
    copies = at - np.maximum.accumulate(np.where(is_new, at, 0))
    owners, features = np.divmod(codes, max(1, len(known)))
    most = np.zeros(len(known), np.int64)
    np.maximum.at(most, features, copies + 1)
    have = np.zeros((count, -(-int(most.sum()) // 64) * 64), bool)
    have[owners, (np.cumsum(most) - most)[features] + copies] = True
    bits = np.packbits(have, axis=1).view(np.uint64)  # matrix products would wait for threads
    shared = np.bitwise_count(bits[:, None] & bits).sum(axis=2, dtype=np.int64)
    sizes = np.bincount(owners, minlength=count)
    total = sizes[:, None] + sizes
    found: Array = 2 * shared / np.maximum(total, 1)
    return found
