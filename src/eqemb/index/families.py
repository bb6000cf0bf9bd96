"""Families: equations that are equal except for their letters, or nearly equal.

Two types are of one family if they are equal except for the alphabets of letters; if they are long
enough, also if they are equal except for a one-to-one renaming of letters; if they are longer
still, also if nearly all symbols of both align. Whether two types are of one family depends on
these two alone, not on the rest of the library, and the family of an equation is found when it is
shown: everything of one family *with it*.

    families.*    keys of types: types that share one are of one family
    near.*        keys of long types: types that share one may be nearly equal

Keys of the second kind are MinHash bands over shapes: two types that have nine of ten shapes in
common share one of the bands with a probability of 99 %, unlike types hardly ever.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from eqemb.formula import Layout, tree
from eqemb.formula.shapes import Shape, key
from eqemb.index.alignment import AlignmentIndex
from eqemb.index.postings import Array, Keys, load_array
from eqemb.index.segments import IndexSegments

# Both limits were chosen by reading pairs of four collections. Shorter renamings are often
# coincidences (y = f(z) and x = g(h), R = I / T and P = I / S), longer ones are not. At .96
# precision was merged with recall, and strong convexity with smoothness.
#: Symbols from which equations that are renamings of each other are a family.
RENAMED_FROM = 9
#: Symbols from which nearly equal ones are, and the likeness they need, letters renamed.
NEAR_FROM, NEAR_LIKENESS = 24, 0.97
#: Bands of MinHash, and the hashes of each.
BANDS, BAND_HASHES = 5, 3
#: At most this many types that share a band are compared with an equation.
MAX_COMPARED = 64
_MAX_FAMILIES = 10_000  # families that are kept in memory
_MULTIPLIERS = np.array(
    [pow(0x9E3779B97F4A7C15, 2 * n + 1, 1 << 64) | 1 for n in range(BANDS * BAND_HASHES)], np.uint64
)


def family_keys(made: Layout, renamed: int) -> tuple[int, ...]:
    """Return keys of a type, given that of its form; types that share one are of one family."""
    plain = key(made.canonical(tree.plain_tag))
    if len(made.nodes()) < RENAMED_FROM:
        return (plain,)
    # two, since x and a bold x are one letter for the first and two letters for the second
    return plain, renamed


def near_keys(made: Layout, found: Iterable[Shape]) -> list[int]:
    """Return the bands of a long type, given its shapes; none for a short one."""
    if len(made.nodes()) < NEAR_FROM:
        return []
    hashes = np.array([_shape_key(shape) for shape in found], np.uint64)
    mixed = hashes[:, None] * _MULTIPLIERS
    mixed ^= mixed >> np.uint64(29)
    least = (mixed * np.uint64(0xBF58476D1CE4E5B9)).min(axis=0).reshape(BANDS, BAND_HASHES)
    weights = np.arange(1, BAND_HASHES + 1, dtype=np.uint64) * np.uint64(0x94D049BB133111EB)
    bands = (least * weights).sum(axis=1, dtype=np.uint64) + np.arange(BANDS, dtype=np.uint64)
    return [int(band) for band in bands]


@lru_cache(maxsize=1 << 15)  # most shapes occur in many types
def _shape_key(shape: Shape) -> int:
    return key("\t".join(shape))


class FamilyIndex:
    """The families of a library's types, numbered as in the library."""

    def __init__(self, segments: IndexSegments, alignment: AlignmentIndex) -> None:
        self._segments, self._alignment = segments, alignment
        self._keys = [_TypeKeys(part.folder, "families") for part in segments]
        self._near = [_TypeKeys(part.folder, "near") for part in segments]
        self._members: dict[int, list[int]] = {}

    def members(self, kind: int) -> list[int]:
        """Return the types of one family with a type, including it, in order."""
        found = self._members.get(kind)
        if found is None:
            if len(self._members) >= _MAX_FAMILIES:
                self._members.clear()
            found = self._members[kind] = self._find_members(kind)
        return found

    def _find_members(self, kind: int) -> list[int]:
        own = self._sharing(self._keys, kind)
        near = self._sharing(self._near, kind) - own
        if near:
            own.update(self._nearly_equal(kind, np.array(sorted(near))).tolist())
        return sorted(own)

    def _sharing(self, parts: "list[_TypeKeys]", kind: int) -> set[int]:
        """Return the types of all segments that share a key with a type, without removed ones."""
        segment, own = self._segments.of_type(kind)
        keys = parts[segment.number].of(own)
        for part in parts:
            part.will_find(keys)
        found: set[int] = set()
        for part, other in zip(parts, self._segments, strict=True):
            types = part.types(keys)
            if other.live is not None:
                types = other.only_live(np.array(types, np.int64)).tolist()
            found.update(one + other.first_type for one in types)
        return found

    def _nearly_equal(self, kind: int, others: Array) -> Array:
        """Return those of the other types that are nearly equal to a type."""
        sizes = self._alignment.sizes
        small = np.minimum(sizes[others], sizes[kind])
        others = others[2 * small >= NEAR_LIKENESS * (sizes[others] + sizes[kind])]
        if not len(others):
            return others
        # by key, so that the choice among very many does not depend on segments
        _, first = np.unique(self._segments.type_keys[others], return_index=True)
        chosen = others[first]
        likely = chosen[self._alignment.upper_bound(kind, chosen) >= NEAR_LIKENESS][:MAX_COMPARED]
        if not len(likely):
            return likely
        scores = self._alignment.likeness(
            self._alignment.outline(kind), likely, renamed=1.0, share=0.5
        )
        near = self._segments.type_keys[likely[scores >= NEAR_LIKENESS]]
        return others[np.isin(self._segments.type_keys[others], near)]


class _TypeKeys:
    """The keys of each type of a segment, and the types of each key."""

    def __init__(self, folder: Path, name: str) -> None:
        self._lookup = Keys(folder, name)
        self._pointers, self._ids = (load_array(folder, f"{name}.{p}") for p in ("pointers", "ids"))

    def of(self, kind: int) -> Array:
        """Return the keys of a type."""
        found: Array = self._ids[self._pointers[kind] : self._pointers[kind + 1]]
        return found

    def will_find(self, keys: Array) -> None:
        """Start to read what `types` needs."""
        self._lookup.will_find(keys)

    def types(self, keys: Array) -> list[int]:
        """Return the types that have one of the keys; one that has several, several times."""
        return self._lookup.rows_of_any(keys)


def write_families(
    folder: Path, keys: Sequence[Sequence[int]], near: Sequence[Sequence[int]]
) -> None:
    """Write the keys of the types of a segment, in order."""
    for name, found in (("families", keys), ("near", near)):
        sizes = np.array([len(of_type) for of_type in found], np.int64)
        flat = np.array([number for of_type in found for number in of_type], np.uint64)
        write_type_keys(folder, name, flat, sizes)


def write_type_keys(folder: Path, name: str, keys: Array, sizes: Array) -> None:
    """Write the keys of types one after the other; `sizes` is how many each type has."""
    np.save(folder / f"{name}.ids.npy", keys)
    np.save(folder / f"{name}.pointers.npy", np.r_[0, np.cumsum(sizes)].astype(np.int64))
    Keys.write(folder, name, keys, np.repeat(np.arange(len(sizes)), sizes))
