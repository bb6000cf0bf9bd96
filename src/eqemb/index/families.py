"""Families: equations that are equal except for their letters, or nearly equal.

A type joins the family of an earlier type if both are equal except for the alphabets of letters; if
they are long enough, also if they are equal except for a one-to-one renaming of letters; if they
are longer still, also if nearly all symbols of both align. Candidates for the last rule are pairs
that share one of their rarest shapes (prefix filtering), so that types with nothing in common are
never compared. Each type is compared with the first of a family only, so that a family does not
drift from member to member.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from eqemb.formula import Layout, tree
from eqemb.formula.shapes import form, key
from eqemb.index.alignment import AlignmentIndex
from eqemb.index.postings import Array, Postings

# Both limits were chosen by reading pairs of four collections. Shorter renamings are often
# coincidences (y = f(z) and x = g(h), R = I / T and P = I / S), longer ones are not. At .96
# precision was merged with recall, and strong convexity with smoothness.
#: Symbols from which equations that are renamings of each other are a family.
RENAMED_FROM = 9
#: Symbols from which nearly equal ones are, and the likeness they need, letters renamed.
NEAR_FROM, NEAR_LIKENESS = 24, 0.97
#: The share of shapes that two nearly equal types must have in common to be compared at all.
SHARED = 0.9
#: At most this many types that share a shape are compared with each other.
CROWD = 8
_PAIRS_AT_ONCE = 20_000
_POSTINGS_AT_ONCE = 4_000_000


def family_keys(made: Layout) -> tuple[int, int]:
    """Return two hashes; types that share either one are of one family."""
    plain = key(made.canonical(tree.plain_tag))
    # two, since x and a bold x are one letter for the first and two letters for the second
    return plain, key(form(made)) if len(made.nodes()) >= RENAMED_FROM else plain


def write_families(folder: Path, keys: Array) -> None:
    """Write families.npy from the family keys of every type and the index in a folder."""
    alignment = AlignmentIndex(folder)
    families = _join(keys)
    heads = (families == np.arange(len(families))) & (alignment.sizes >= NEAR_FROM)
    for later, earlier in sorted(_near_pairs(folder, alignment, heads)):
        # only the first of a family takes in others
        if families[earlier] == earlier and families[later] == later:
            families[later] = earlier
    np.save(folder / "families.npy", families[families])


def _join(keys: Array) -> Array:
    """Return for each type the least type that it is connected to by shared keys."""
    groups = [np.unique(column, return_inverse=True)[1] for column in keys.T]
    families, before = np.arange(len(keys), dtype=np.int32), None
    while before is None or (families != before).any():
        before = families
        for group_of in groups:
            least = np.full(int(group_of.max(initial=-1)) + 1, len(families), np.int32)
            np.minimum.at(least, group_of, families)
            families = least[group_of]
    return families


def _near_pairs(folder: Path, alignment: AlignmentIndex, heads: Array) -> list[tuple[int, int]]:
    """Return pairs of types, the later one first, that are nearly equal."""
    found: list[tuple[int, int]] = []
    later, earlier = _candidate_pairs(Postings(folder, "shapes"), heads)
    for at in range(0, len(later), _PAIRS_AT_ONCE):
        one, two = later[at : at + _PAIRS_AT_ONCE], earlier[at : at + _PAIRS_AT_ONCE]
        likely = alignment.upper_bound(one, two) >= NEAR_LIKENESS
        one, two = one[likely], two[likely]
        kinds, starts = np.unique(one, return_index=True)
        for kind, others in zip(kinds.tolist(), np.split(two, starts[1:]), strict=False):
            scores = alignment.likeness(alignment.outline(kind), others, renamed=1.0, share=0.5)
            found += [(kind, int(other)) for other in others[scores >= NEAR_LIKENESS]]
    return found


def _candidate_pairs(shapes: Postings, heads: Array) -> tuple[Array, Array]:
    """Return types that share one of their rarest shapes, the later ones ascending."""
    rows, owners, sizes = _rarest(shapes, heads)
    # of those that share a shape, types of similar size are compared
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
    """Return the rarest shapes of every head (shapes, types), and the shape counts of all types.

    Two sets with the share `SHARED` in common have one of the rarest `prefix` members of either in
    common.
    """
    sizes = np.zeros(len(heads), np.int64)
    for at in range(0, len(shapes.owners), _POSTINGS_AT_ONCE):
        sizes += np.bincount(shapes.owners[at : at + _POSTINGS_AT_ONCE], minlength=len(heads))
    prefix = sizes - np.ceil(sizes * SHARED / (2 - SHARED)).astype(np.int64) + 1
    prefix[~heads] = 0
    taken = np.zeros(len(heads), np.int64)
    counts = np.diff(shapes.pointers)
    kept: list[tuple[Array, Array]] = [(np.empty(0, np.int64), np.empty(0, np.int32))]
    for part in _batches(np.argsort(counts, kind="stable"), counts):
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


def _batches(rows: Array, counts: Array) -> Iterator[Array]:
    """Yield rows in order, in batches whose postings fit into memory."""
    ends = np.cumsum(counts[rows])
    start = 0
    while start < len(rows):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + _POSTINGS_AT_ONCE, "right")))
        yield rows[start:stop]
        start = stop
