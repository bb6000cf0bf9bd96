"""Make an index of millions of equations out of copies of a small one: parts of many copies each.

`ten_million.py` calls this and says what is synthetic. A part is one segment of today's format: the
posting list of a stem is that of the base for the first copy, then for the second, and so on. All
parts have the same numbers of rows and owners, so what a part does not change is made once. The
names of rare rows, keys of types, impacts and vectors are made for each part. NumPy only.
"""

import json
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from tiled_copies import Array, Base, Copies, RowMap, Scatter

from eqemb.index.build import INDEX_VERSION
from eqemb.index.postings import Keys, TextList, hash_texts, load_array
from eqemb.index.segments import write_types
from eqemb.storage.atomic import write_json

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
