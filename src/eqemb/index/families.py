"""Equations that are the same but for their letters, or nearly: one family.

A type is of the family of one that came before it when both are the same but for alphabets; where
they are long enough, also when they are but for the names of letters, one for one; and where they
are longer still, when nearly all symbols of both meet. Pairs that may be near are those that share
one of their rarest shapes (prefix filtering), so that no two types are compared that have nothing
in common. Each type is compared with the first of a family only: a family does not drift from
member to member.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from eqemb.formula import Layout, tree
from eqemb.formula.shapes import form, key
from eqemb.index.alignment import Outlines
from eqemb.index.postings import Array, Postings

# Both limits were chosen by reading pairs of four collections. Renamings with fewer symbols are so
# by chance as often as not (y = f(z) and x = g(h), R = I / T and P = I / S), later ones are not.
# At .96 precision was taken for recall, and strong convexity for smoothness.
#: Symbols from which equations that are renamings of each other are a family.
RENAMED_FROM = 9
#: Symbols from which nearly equal ones are, and how alike they have to be, letters renamed.
NEAR_FROM, NEAR = 24, 0.97
#: The share of shapes that two near types must have in common to be compared at all.
SHARED = 0.9
#: At most so many types that share a shape are compared with one another.
CROWD = 8
_PAIRS = 20_000  # compared at a time
_TOUCHED = 4_000_000  # postings read at a time


def kinship(made: Layout) -> tuple[int, int]:
    """What a type shares, either of it, with those that are of its family at first sight."""
    plain = key(made.canonical(tree.plain_tag))
    # two numbers, since x and a bold x are one letter for the first and two for the second
    return plain, key(form(made)) if len(made.nodes()) >= RENAMED_FROM else plain


def group(folder: Path, kinships: Array) -> None:
    """Write families.npy from the kinships of every type and what is indexed in a folder."""
    outlines = Outlines(folder)
    families = _joined(kinships)
    heads = (families == np.arange(len(families))) & (outlines.sizes >= NEAR_FROM)
    for later, earlier in sorted(_near(folder, outlines, heads)):
        # only the first of a family takes others in
        if families[earlier] == earlier and families[later] == later:
            families[later] = earlier
    np.save(folder / "families.npy", families[families])


def _joined(kinships: Array) -> Array:
    """For each type the least one that it shares a number with, or that such a one does."""
    groups = [np.unique(column, return_inverse=True)[1] for column in kinships.T]
    families, before = np.arange(len(kinships), dtype=np.int32), None
    while before is None or (families != before).any():
        before = families
        for group_of in groups:
            least = np.full(int(group_of.max(initial=-1)) + 1, len(families), np.int32)
            np.minimum.at(least, group_of, families)
            families = least[group_of]
    return families


def _near(folder: Path, outlines: Outlines, heads: Array) -> list[tuple[int, int]]:
    """Pairs of types, the later one first, that are nearly equal."""
    found: list[tuple[int, int]] = []
    later, earlier = _pairs(Postings(folder, "shapes"), heads)
    for at in range(0, len(later), _PAIRS):
        one, two = later[at : at + _PAIRS], earlier[at : at + _PAIRS]
        likely = outlines.most(one, two) >= NEAR
        one, two = one[likely], two[likely]
        kinds, starts = np.unique(one, return_index=True)
        for kind, others in zip(kinds.tolist(), np.split(two, starts[1:]), strict=False):
            alike = outlines.likeness(outlines.outline(kind), others, renamed=1.0, share=0.5)
            found += [(kind, int(other)) for other in others[alike >= NEAR]]
    return found


def _pairs(shapes: Postings, heads: Array) -> tuple[Array, Array]:
    """Types that share one of their rarest shapes, the later ones ascending."""
    rows, owners, sizes = _rarest(shapes, heads)
    # among those that share a shape, neighbours in size are compared
    order = np.lexsort((owners, sizes[owners], rows))
    rows, owners = rows[order], owners[order].astype(np.int64)
    codes = [np.empty(0, np.int64)]
    for step in range(1, CROWD + 1):
        one, two = owners[step:], owners[:-step]
        small, large = np.minimum(sizes[one], sizes[two]), np.maximum(sizes[one], sizes[two])
        pair = (rows[step:] == rows[:-step]) & (small * (2 - SHARED) >= large * SHARED)
        one, two = one[pair], two[pair]
        codes.append(np.unique(np.maximum(one, two) * len(heads) + np.minimum(one, two)))
    later, earlier = np.divmod(np.unique(np.concatenate(codes)), max(len(heads), 1))
    return later, earlier


def _rarest(shapes: Postings, heads: Array) -> tuple[Array, Array, Array]:
    """The rarest shapes of every type that is a head: shapes, types; and how many all have.

    Two sets that share so many of their members share one of the rarest `prefix` of either.
    """
    sizes = np.zeros(len(heads), np.int64)
    for at in range(0, len(shapes.owners), _TOUCHED):
        sizes += np.bincount(shapes.owners[at : at + _TOUCHED], minlength=len(heads))
    prefix = sizes - np.ceil(sizes * SHARED / (2 - SHARED)).astype(np.int64) + 1
    prefix[~heads] = 0
    taken = np.zeros(len(heads), np.int64)
    counts = np.diff(shapes.pointers)
    kept: list[tuple[Array, Array]] = [(np.empty(0, np.int64), np.empty(0, np.int32))]
    for part in _in_parts(np.argsort(counts, kind="stable"), counts):
        rows = np.repeat(part, counts[part])
        places = np.arange(len(rows)) - np.repeat(
            np.cumsum(counts[part]) - counts[part], counts[part]
        )
        owners = shapes.owners[shapes.pointers[rows] + places]
        order = np.argsort(owners, kind="stable")
        ranked = owners[order]
        starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])
        lengths = np.diff(np.r_[starts, len(ranked)])
        rank = np.empty(len(ranked), np.int64)
        rank[order] = np.arange(len(ranked)) - np.repeat(starts, lengths) + taken[ranked]
        taken[ranked[starts]] += lengths
        mine = rank < prefix[owners]
        kept.append((rows[mine], owners[mine]))
        if not (taken < prefix).any():
            break
    return np.concatenate([rows for rows, _ in kept]), np.concatenate([o for _, o in kept]), sizes


def _in_parts(rows: Array, counts: Array) -> Iterator[Array]:
    """Rows in turn, so many at a time that their postings fit into memory."""
    ends = np.cumsum(counts[rows])
    start = 0
    while start < len(rows):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + _TOUCHED, "right")))
        yield rows[start:stop]
        start = stop
