"""What the copies of a small index are, for `tiling`: their rows, letters and names of rare rows.

A row of the base (a stem, a unit, a shape) is a row of the part in each copy: the same one in all
copies, or one of several for a rare row. NumPy only.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqemb.facade.library import Library
from eqemb.formula.layout import read_canonical
from eqemb.formula.likeness import is_letter
from eqemb.index.normal_view import read_normal
from eqemb.index.postings import Keys, TextList, hash_texts, load_array
from eqemb.library.database import Records
from eqemb.library.manifest import segment_folder

Array = NDArray[Any]

#: Rows with at most this many owners in the base are rare.
RARE = 2
#: Names that a rare row takes in the copies of a part; from `OWN_FROM` on, they are the part's own.
#: The power makes the first names frequent and the last ones rare.
VARIANTS, OWN_FROM, VARIANT_POWER = 12, 6, 3
#: Letters of similar frequency that may replace each other in a copy.
ALIKE = 4

_LETTER = re.compile(r"V![^\[\],\t]+")
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class Base:
    """The one segment of a small library, of which copies are made."""

    def __init__(self, folder: Path) -> None:
        with Library.open(folder) as library:
            manifest, home = library.manifest, library.home
        if len(manifest.segments) != 1 or not manifest.vectors:
            raise SystemExit(f"{folder} needs one segment and a model: see `eqemb compact`")
        self.name = manifest.segments[0].name
        self.folder = segment_folder(home, self.name)
        self.records = Records(self.folder / "records.sqlite")
        self.space = home / "vectors" / manifest.vectors
        self.equations = self.load("equations")
        self.types = len(self.load("types.ids"))
        self.sections = int(self.equations[:, 3].max()) + 1

    def load(self, name: str) -> Array:
        """Return an array of the index."""
        return load_array(self.folder / "index", name)

    def keys(self, name: str) -> Array:
        """Return the key of each row."""
        return Keys(self.folder / "index", name).by_row()

    def texts(self, name: str) -> list[str]:
        """Return a list of texts."""
        return TextList(self.folder / "index", name).lines().split("\n")[:-1]

    def tags(self, name: str) -> list[str]:
        """Return the symbols of an alignment."""
        path = self.folder / "index" / f"{name}.tags.json"
        found: list[str] = json.loads(path.read_text("ascii"))
        return found

    @cached_property
    def normal_units(self) -> list[str]:
        """The units of normal forms, by row: the index has only their keys."""
        rows: dict[str, int] = {}
        for _, canonical, _ in self.records.types():
            for unit in read_normal(read_canonical(canonical)).units:
                rows.setdefault(unit, len(rows))
        if not np.array_equal(hash_texts(rows), self.keys("normal")):
            raise SystemExit(f"{self.folder} has other normal forms than this version of eqemb")
        return list(rows)


def rename(text: str, names: dict[str, str]) -> str:
    """Return a canonical form, or a unit, with other letters."""
    return _LETTER.sub(lambda match: names.get(match[0], match[0]), text)


def mixed(keys: Array, numbers: Array) -> Array:
    """Return other keys for numbers above 0, the same keys for 0."""
    salt = numbers.astype(np.uint64) * _MULTIPLIER
    found: Array = keys ^ (salt ^ (salt >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return found


def suffix(number: int) -> str:
    """Write a number in letters, as a suffix that makes a new word; nothing for 0."""
    return "" if not number else suffix((number - 1) // 26) + chr(97 + (number - 1) % 26)


# ------------------------------------------------------------ what the copies of a part are


class RowMap:
    """The row in a part of each row of the base, in each copy."""

    def __init__(self, names: Array, variants: Array) -> None:
        """Both have a line for each copy: a number of each row's name, and its variant."""
        codes = mixed(names, variants) if names.dtype == np.uint64 else names * VARIANTS + variants
        _, first, rows = np.unique(codes.ravel(), return_index=True, return_inverse=True)
        # rows in order of first occurrence, as an index has them
        order = np.argsort(first)
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order))
        self.rows = rank[rows].reshape(names.shape)
        first = first[order]
        self.count = len(first)
        self.base_row = first % names.shape[1]
        self.names, self.variants = names.ravel()[first], variants.ravel()[first]

    def keys(self, part: int) -> Array:
        """Return the key of each row of a part."""
        own = np.where(self.variants >= OWN_FROM, part * VARIANTS, 0)
        return mixed(self.names, self.variants + own)

    def texts(self, base: list[str], part: int) -> list[str]:
        """Return the text of each row of a part, given those of the base."""
        own = np.where(self.variants >= OWN_FROM, part * VARIANTS, 0)
        endings = [suffix(number) for number in range((part + 1) * VARIANTS)]
        pairs = zip(self.base_row.tolist(), (self.variants + own).tolist(), strict=True)
        return [base[row] + endings[number] for row, number in pairs]

    def total(self, values: Array) -> Array:
        """Return the sum over copies of a value of each row of the base."""
        sums = np.bincount(self.rows.ravel(), np.tile(values, len(self.rows)), self.count)
        return sums.astype(np.int64)


class Scatter:
    """Where the postings of each copy go, among the postings of a part."""

    def __init__(self, pointers: Array, row_map: RowMap) -> None:
        self._sizes = np.diff(pointers)
        self._within = np.arange(pointers[-1]) - np.repeat(pointers[:-1], self._sizes)
        self._rows = row_map.rows
        self.pointers = np.r_[0, np.cumsum(row_map.total(self._sizes))]

    def places(self) -> Iterator[tuple[int, Array]]:
        """Yield each copy, and the place of each posting of the base in it."""
        free = self.pointers[:-1].copy()
        for copy, rows in enumerate(self._rows):
            yield copy, np.repeat(free[rows], self._sizes) + self._within
            free[rows] += self._sizes

    def spread(self, dtype: Any, make: Callable[[int], Array]) -> Array:
        """Return the values of all postings, given those of each copy in the order of the base."""
        out = np.empty(self.pointers[-1], dtype)
        for copy, places in self.places():
            out[places] = make(copy)
        return out


class Copies:
    """What is drawn for the copies of a part: the same in each part."""

    def __init__(self, base: Base, count: int, seed: int = 0) -> None:
        self.base, self.count = base, count
        self._random = np.random.default_rng(seed)
        self.letters = self._letters()
        self.stem_of = base.load("stems")
        sizes = np.diff(base.load("terms.pointers"))
        drawn = self._variants(sizes)
        self.stems = RowMap(np.tile(np.arange(len(sizes)), (count, 1)), drawn)
        words = np.tile(np.arange(len(self.stem_of)), (count, 1))
        self.words = RowMap(words, drawn[:, self.stem_of])
        self.terms = Scatter(base.load("terms.pointers"), self.stems)

    def _letters(self) -> list[dict[str, str]]:
        """Return the letters that change in each copy: half of the groups of similar frequency."""
        tags = self.base.tags("alignment")
        often = np.bincount(self.base.load("alignment.symbols"), minlength=len(tags))
        ranked = sorted(
            (n for n, tag in enumerate(tags) if is_letter(tag)), key=lambda n: -often[n]
        )
        found: list[dict[str, str]] = [{}]
        for _ in range(1, self.count):
            names: dict[str, str] = {}
            for at in range(0, len(ranked), ALIKE):
                some = [tags[number] for number in ranked[at : at + ALIKE]]
                if self._random.random() < 0.5:
                    names |= dict(zip(some, self._random.permutation(some).tolist(), strict=True))
            found.append(names)
        return found

    def _variants(self, sizes: Array) -> Array:
        """Draw a variant of each row in each copy: 0 for rows that are not rare."""
        drawn = self._random.random((self.count, len(sizes))) ** VARIANT_POWER * VARIANTS
        drawn[:, sizes > RARE] = 0
        drawn[0] = 0  # the first copy is the base itself
        return drawn.astype(np.int64)

    def map_keys(self, name: str, texts: Iterable[str] = ()) -> RowMap:
        """Return the rows of keyed postings; given their texts, with other letters in each copy."""
        keys = np.tile(self.base.keys(name), (self.count, 1))
        if known := list(texts):
            for copy, names in enumerate(self.letters[1:], 1):
                keys[copy] = hash_texts(rename(text, names) for text in known)
        elif name == "symbols":
            for copy, names in enumerate(self.letters[1:], 1):
                old, new = hash_texts(names), hash_texts(names.values())
                order = np.argsort(old)
                at = np.minimum(np.searchsorted(old[order], keys[copy]), max(len(old) - 1, 0))
                is_letter_key = old[order][at] == keys[copy]
                keys[copy] = np.where(is_letter_key, new[order][at], keys[copy])
        return RowMap(keys, self._variants(np.diff(self.base.load(f"{name}.pointers"))))

    def tiled(self, values: Array, step: int = 0) -> Array:
        """Repeat values for each copy, adding so much in each."""
        offsets = np.arange(self.count) * step
        made: Array = (values[None] + offsets.reshape(-1, *[1] * values.ndim)).astype(values.dtype)
        return made.reshape(-1, *values.shape[1:])

    def tiled_pointers(self, pointers: Array) -> Array:
        """Repeat pointers for each copy."""
        made = self.tiled(pointers[:-1], int(pointers[-1]))
        return np.append(made, self.count * pointers[-1])
