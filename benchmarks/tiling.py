"""Make an index of millions of equations out of copies of a small one: parts of many copies each.

`ten_million.py` calls this and says what is synthetic. A part is one segment of today's format: the
posting list of a stem is that of the base for the first copy, then for the second, and so on. All
parts have the same numbers of rows and owners, so what a part does not change is made once. The
names of rare rows, keys of types, impacts and vectors are made for each part. NumPy only.
"""

import json
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqemb.facade.library import Library
from eqemb.formula.layout import read_canonical
from eqemb.formula.likeness import is_letter
from eqemb.index.build import INDEX_VERSION
from eqemb.index.normal_view import read_normal
from eqemb.index.postings import Keys, TextList, hash_texts, load_array
from eqemb.index.segments import write_types
from eqemb.library.database import Records
from eqemb.library.segments import segment_folder
from eqemb.storage.atomic import write_json

Array = NDArray[Any]

#: Rows with at most this many owners in the base are rare.
RARE = 2
#: Names that a rare row takes in the copies of a part; from `OWN_FROM` on, they are the part's own.
#: The power makes the first names frequent and the last ones rare.
VARIANTS, OWN_FROM, VARIANT_POWER = 12, 6, 3
#: Letters of similar frequency that may replace each other in a copy.
ALIKE = 4
#: Impacts are multiplied by a factor of the equation and by one of the stem, up to a limit.
SHAKEN, MOST_IMPACT = (0.8, 1.2), 1.6
#: A vector is mixed with that of another row, at most by this weight, and with noise of a length.
MIXED, NOISE = 0.4, 0.3
#: Files that all parts share: they would be the same in each.
SHARED = (
    "tokens", "positions", "places", "fields", "equations", "terms.profiles", "terms.profiles.rows",
    "normal.profiles", "alignment", "normal_alignment", "units.copies", "letters",
)  # fmt: skip
#: What stays free on the disk.
LEAST_FREE = 12 << 30

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


def mixed(keys: Array, numbers: Array | int) -> Array:
    """Return other keys for numbers above 0, the same keys for 0."""
    salt = np.asarray(numbers, np.uint64) * _MULTIPLIER
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


# ------------------------------------------------------------ files that are the same in all parts


def write_chunks(path: Path, shape: tuple[int, ...], chunks: Iterable[Array]) -> None:
    """Write an array one chunk after the other."""
    with path.open("wb") as file:
        for number, chunk in enumerate(chunks):
            if not number:
                descr = np.lib.format.dtype_to_descr(chunk.dtype)
                header = {"descr": descr, "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(file, header)
            np.ascontiguousarray(chunk).tofile(file)


class FixedFiles:
    """Writes what does not depend on the part: postings, texts, structure, definitions."""

    def __init__(self, copies: Copies, folder: Path) -> None:
        self._copies, self._base, self._folder = copies, copies.base, folder
        self._maps: dict[str, RowMap] = {}

    def write(self, stage: Callable[[str], Any]) -> dict[str, RowMap]:
        """Write all files; return the rows of keyed postings."""
        folder, copies = self._folder, self._copies
        with stage("text"):
            self._write_text()
        with stage("structure"):
            self._write_structure()
        with stage("definitions"):
            self._write_definitions()
        write_json(folder / "letters.json", copies.letters)
        return self._maps

    def _save(self, name: str, values: Array) -> None:
        np.save(self._folder / f"{name}.npy", values)

    def _write_text(self) -> None:
        copies, base = self._copies, self._base
        table = copies.tiled(base.equations)
        for column, step in ((0, base.records.documents), (2, base.types), (3, base.sections)):
            table[:, column] += np.repeat(np.arange(copies.count) * step, len(base.equations))
        self._save("equations", table)
        tokens = base.load("tokens")
        size = len(tokens)
        self._save("places", copies.tiled(base.load("places"), size))
        chunks = (words[tokens] for words in copies.words.rows)
        write_chunks(self._folder / "tokens.npy", (copies.count * size,), chunks)
        positions = Scatter(base.load("positions.pointers"), copies.stems)
        owners = base.load("positions.owners")
        self._save("positions.pointers", positions.pointers)
        self._save("positions.owners", positions.spread(np.int32, lambda c: owners + c * size))
        self._save("fields.pointers", copies.tiled_pointers(base.load("fields.pointers")))
        extra = base.load("fields.owners")
        self._save("fields.owners", copies.words.rows[:, extra].ravel())
        owners = base.load("terms.owners")
        count = len(base.equations)
        self._save("terms.pointers", copies.terms.pointers)
        self._save("terms.owners", copies.terms.spread(np.int32, lambda c: owners + c * count))
        self._save("terms.profiles", copies.tiled_pointers(base.load("terms.profiles")))
        rows = base.load("terms.profiles.rows")
        chunks = (stems[rows] for stems in copies.stems.rows)
        write_chunks(self._folder / "terms.profiles.rows.npy", (copies.count * len(rows),), chunks)
        self._save("stems", self._stem_of_words())
        self._write_postings("sections", base.sections)

    def _stem_of_words(self) -> Array:
        """Return the stem of each word of a part."""
        copies = self._copies
        found = np.empty(copies.words.count, np.int32)
        for words, stems in zip(copies.words.rows, copies.stems.rows, strict=True):
            found[words] = stems[copies.stem_of]
        return found

    def _write_postings(self, name: str, owners: int, texts: Iterable[str] = ()) -> RowMap:
        """Write postings whose owners are counted on from copy to copy; `owners` in each."""
        base = self._base
        rows = self._maps[name] = self._copies.map_keys(name, texts)
        scatter = Scatter(base.load(f"{name}.pointers"), rows)
        self._save(f"{name}.pointers", scatter.pointers)
        have, often = base.load(f"{name}.owners"), base.load(f"{name}.weights").astype(np.uint16)
        self._save(f"{name}.owners", scatter.spread(np.int32, lambda copy: have + copy * owners))
        self._save(f"{name}.weights", scatter.spread(np.uint16, lambda _: often))
        return rows

    def _write_structure(self) -> None:
        copies, base = self._copies, self._base
        texts = {"units": base.records.unit_names(), "normal": base.normal_units}
        for name in ("units", "shapes", "normal", "symbols"):
            rows = self._write_postings(name, base.types, texts.get(name, ()))
            if name != "symbols":
                self._save(f"{name}.sizes", rows.total(base.load(f"{name}.sizes")))
        self._save("units.copies", self._maps["units"].rows)
        self._save("normal.profiles", copies.tiled_pointers(base.load("normal.profiles")))
        own = base.load("normal.profiles.rows")
        self._save("normal.profiles.rows", self._maps["normal"].rows[:, own].ravel())
        often = base.load("normal.profiles.weights").astype(np.uint16)
        self._save("normal.profiles.weights", np.tile(often, copies.count))
        self._save("types.worked", np.tile(base.load("types.worked"), copies.count))
        for name in ("families", "near"):
            self._save(f"{name}.pointers", copies.tiled_pointers(base.load(f"{name}.pointers")))
        for name in ("alignment", "normal_alignment"):
            self._write_alignment(name)

    def _write_alignment(self, name: str) -> None:
        """Write the symbols of types, with other letters in each copy."""
        copies, base = self._copies, self._base
        ids = {tag: number for number, tag in enumerate(base.tags(name))}
        known = list(ids)
        symbols = base.load(f"{name}.symbols")
        made = []
        for names in copies.letters:
            renamed = [ids.setdefault(names.get(tag, tag), len(ids)) for tag in known]
            made.append(np.array(renamed, np.uint16)[symbols])
        if len(ids) > np.iinfo(np.uint16).max:
            raise SystemExit(f"{len(ids)} symbols do not fit into 16 bits")
        self._save(f"{name}.symbols", np.concatenate(made))
        (self._folder / f"{name}.tags.json").write_text(json.dumps(list(ids)), "ascii")
        self._save(f"{name}.rows", np.tile(base.load(f"{name}.rows"), copies.count))
        pointers = base.load(f"{name}.pointers").reshape(-1, 3)
        steps = np.arange(copies.count)[:, None, None] * (pointers[-1] * [1, 1, 0])
        table = (pointers[None, :-1] + steps).reshape(-1, 3)
        end = pointers[-1] * [copies.count, copies.count, 0]
        self._save(f"{name}.pointers", np.r_[table, end[None]].ravel())

    def _write_definitions(self) -> None:
        copies, base = self._copies, self._base
        places = base.load("definitions.places")
        table = copies.tiled(places)
        table[:, 0] += np.repeat(np.arange(copies.count) * base.records.documents, len(places))
        self._save("definitions.places", table.astype(np.int32))
        self._save("definitions.sizes", np.tile(base.load("definitions.sizes"), copies.count))
        for name in ("defined_words", "defined_symbols"):
            self._write_postings(name, len(places))
        name = "defined_equations"
        self._save(f"{name}.pointers", copies.tiled_pointers(base.load(f"{name}.pointers")))
        self._save(f"{name}.owners", copies.tiled(base.load(f"{name}.owners"), len(base.equations)))
        sure = base.load(f"{name}.weights").astype(np.float16)
        self._save(f"{name}.weights", np.tile(sure, copies.count))


# ------------------------------------------------------------ files of one part


class PartFiles:
    """Writes what is made for each part: names, keys, impacts and vectors."""

    def __init__(self, copies: Copies, maps: dict[str, RowMap], part: int, folder: Path) -> None:
        self._copies, self._base, self._maps = copies, copies.base, maps
        self._part, self._folder = part, folder
        self._random = np.random.default_rng((1, part))

    def write(self, vectors: Path, stage: Callable[[str], Any]) -> None:
        """Write all files of the part; the vectors of its equations into another folder."""
        with stage("names and keys"):
            self._write_names()
            self._write_keys()
        with stage("impacts"):
            self._write_impacts()
        with stage("vectors"):
            space = self._base.space / self._base.name
            for name in ("contexts", "types"):
                self._write_vectors(vectors / f"{name}.npy", load_array(space, name))
            own = self._base.load("base.types").reshape(self._base.types, -1)
            self._write_vectors(self._folder / "base.types.npy", own)
        write_json(self._folder / "index.json", header())

    def _write_names(self) -> None:
        rows = {"words": self._copies.words, "stems": self._copies.stems}
        for name, row_map in rows.items():
            texts = row_map.texts(self._base.texts(name), self._part)
            keys = hash_texts(texts)
            TextList.write(self._folder, name, texts)
            Keys.write(self._folder, name, keys)
            np.save(self._folder / f"{name}.ids.npy", keys)
        for name, row_map in self._maps.items():
            Keys.write(self._folder, name, row_map.keys(self._part))

    def _write_keys(self) -> None:
        """Write keys of types, forms and families: those of a copy are in no other one."""
        base, folder, count = self._base, self._folder, self._copies.count
        masks = self._random.integers(1, 1 << 62, count, dtype=np.uint64)
        if self._part == 0:
            masks[0] = 0  # the base itself
        types = load_array(folder, "equations")[:, 2]
        write_types(folder, (base.load("types.ids")[None] ^ masks[:, None]).ravel(), types)
        for name in ("forms", "normal_forms", "normal_keys"):
            Keys.write(folder, name, (base.keys(name)[None] ^ masks[:, None]).ravel())
        for name in ("families", "near"):
            flat = (base.load(f"{name}.ids")[None] ^ masks[:, None]).ravel()
            sizes = np.diff(load_array(folder, f"{name}.pointers"))
            np.save(folder / f"{name}.ids.npy", flat)
            Keys.write(folder, name, flat, np.repeat(np.arange(len(sizes)), sizes))

    def _write_impacts(self) -> None:
        """Write the impacts of stems, multiplied by a factor of the equation and of the stem."""
        base, copies = self._base, self._copies
        pointers, profiles = base.load("terms.pointers"), base.load("terms.profiles")
        owners, impacts = base.load("terms.owners"), base.load("terms.weights")
        stems = np.repeat(np.arange(len(pointers) - 1), np.diff(pointers))
        shape = (copies.count, len(base.equations)), (copies.count, len(pointers) - 1)
        by_equation, by_stem = (self._random.uniform(*SHAKEN, s).astype(np.float32) for s in shape)
        if self._part == 0:
            by_equation[0] = by_stem[0] = 1  # the base itself

        def shaken(values: Array, copy: int, stem: Array, owner: Array) -> Array:
            made = values * by_equation[copy].take(owner) * by_stem[copy].take(stem)
            limited: Array = np.minimum(made, np.float32(MOST_IMPACT)).astype(np.float16)
            return limited

        made = copies.terms.spread(np.float16, lambda copy: shaken(impacts, copy, stems, owners))
        np.save(self._folder / "terms.weights.npy", made)
        rows, values = (base.load(f"terms.profiles.{part}") for part in ("rows", "weights"))
        of = np.repeat(np.arange(len(base.equations)), np.diff(profiles))
        chunks = (shaken(values, copy, rows, of) for copy in range(copies.count))
        path = self._folder / "terms.profiles.weights.npy"
        write_chunks(path, (copies.count * len(rows),), chunks)

    def _write_vectors(self, path: Path, vectors: Array) -> None:
        """Write vectors, each mixed with another one and with noise; zeros stay zeros."""
        count, dim = vectors.shape
        known = vectors.any(axis=1, keepdims=True)

        def varied(copy: int) -> Array:
            if self._part == 0 and copy == 0:
                return vectors
            made = self._random.standard_normal(vectors.shape, np.float32)
            made *= np.float32(NOISE / dim**0.5)
            other = vectors[self._random.integers(0, count, count)]
            other *= self._random.random((count, 1), np.float32) * np.float32(MIXED)
            made += other
            made += vectors
            made *= known / np.maximum(np.sqrt(np.einsum("ij,ij->i", made, made)), 1e-12)[:, None]
            return made

        chunks = (varied(copy).astype(np.float32, copy=False) for copy in range(self._copies.count))
        write_chunks(path, (self._copies.count * count, dim), chunks)


def header() -> dict[str, Any]:
    """Return the content of index.json; hashes of the files are left out."""
    return {"format": "eqemb index", "version": INDEX_VERSION, "files": {}}


# ------------------------------------------------------------ all parts


def is_shared(name: str) -> bool:
    """Whether all parts share a file."""
    stem = name.removesuffix(".npy")
    return any(stem == some or (stem.startswith(f"{some}.") and some != "terms.profiles")
               for some in SHARED)  # fmt: skip


def make_tiled(real: Path, folder: Path, parts: int, copies: int) -> dict[str, float]:
    """Make `parts` segments of so many copies of a library in a new folder; return CPU seconds."""
    base = Base(real)
    folder.mkdir(parents=True)
    seconds: dict[str, float] = {}

    @contextmanager
    def stage(name: str) -> Iterator[None]:
        start = time.process_time()
        yield
        seconds[name] = seconds.get(name, 0.0) + time.process_time() - start

    with stage("copies drawn"):
        drawn = Copies(base, copies)
    space = folder / "vectors"
    space.mkdir()
    for path in base.space.iterdir():
        if path.is_file():
            shutil.copyfile(path, space / path.name)
    first, fixed, maps = folder / "parts" / "0", [], dict[str, RowMap]()
    for part in range(parts):
        own = folder / "parts" / str(part)
        own.mkdir(parents=True)
        if part == 0:
            maps = FixedFiles(drawn, own).write(stage)
            fixed = sorted(path.name for path in own.iterdir())
        else:
            with stage("files copied"):
                _repeat(first, own, fixed)
        (space / str(part)).mkdir()
        PartFiles(drawn, maps, part, own).write(space / str(part), stage)
        _check_space(folder, part + 1, parts)
        print(f"part {part + 1} of {parts}: {sum(seconds.values()):.0f} CPU seconds", flush=True)
    made = {"base": str(real.resolve()), "parts": parts, "copies": copies, "seconds": seconds}
    write_json(folder / "made.json", made)
    return seconds


def _repeat(first: Path, folder: Path, names: Iterable[str]) -> None:
    """Give a part the files that do not depend on it: links to shared ones, copies of others."""
    for name in names:
        if is_shared(name):
            (folder / name).hardlink_to(first / name)
        else:
            shutil.copyfile(first / name, folder / name)


def _check_space(folder: Path, done: int, parts: int) -> None:
    """Stop before the disk is full."""
    size = sum(path.stat().st_size for path in (folder / "parts" / str(done - 1)).iterdir())
    if done < parts and shutil.disk_usage(folder).free < LEAST_FREE + 1.2 * size:
        free = shutil.disk_usage(folder).free >> 30
        raise SystemExit(f"only {free} GB are free: stopped after {done} of {parts} parts")
