"""Make a large library out of copies of a real one, for `search.py`.

    python benchmarks/large_library.py LIBRARY FOLDER 1000000

We have no library with a million equations, and indexing one takes hours, so the index is written
directly. The following is synthetic:

- Every copy has all articles again, under other names. Its letters are renamed by a random
  permutation among letters of similar frequency, which gives other types and other units.
- Stems that occur in at most one equation get a new name in each copy, so that the vocabulary grows
  as in real text. Other words, and all shapes, become more frequent in proportion.
- Vectors and word profiles are perturbed, so that copies do not tie.
- The types of a copy are not in the families of the originals, and do not share a form with them.

Everything else is that of the real library: lengths, contexts, frequencies of words and symbols.
"""

import argparse
import json
import re
import sqlite3
from array import array
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqemb.facade.library import Library
from eqemb.formula.likeness import is_letter
from eqemb.index.build import write_version
from eqemb.index.postings import (
    ArrayWriter,
    Keys,
    PostingsWriter,
    first_occurrences,
    load_array,
)
from eqemb.index.stemming import stem
from eqemb.library.database import RECORDS_FORMAT, Records

Array = NDArray[Any]
_LETTER = re.compile(r"V![^\[\],\t]+")
_ALIKE = 32  # letters of similar frequency that may replace each other


class Copies:
    """A real library, and the folder of the copies."""

    def __init__(self, library: Library, folder: Path, count: int) -> None:
        self.real, self.count = library.generation / "index", count
        self.records = library.records
        self.generation = folder / "generations" / "1"
        self.index = self.generation / "index"
        self.index.mkdir(parents=True)
        self.equations = load_array(self.real, "equations")
        self.types = len(load_array(self.real, "families"))
        self.articles = next(self.records.rows("SELECT MAX(id) + 1 FROM sources"))[0]
        self.random = np.random.default_rng(0)

    def make(self) -> None:
        """Write all files."""
        self.write_words()
        self.write_structure()
        self.write_vectors()
        shift = np.array([self.articles, 0, self.types, 0, 0])
        self.write("equations", lambda copy: self.equations + copy * shift)
        for part in ("keys", "rows", "pointers", "owners", "weights"):
            np.save(self.index / f"sections.{part}.npy", load_array(self.real, f"sections.{part}"))
        write_version(self.index)
        state = json.dumps({"format": RECORDS_FORMAT, "generation": 1})
        (self.generation.parents[1] / "library.json").write_text(state, "ascii")

    def write(self, name: str, make: Callable[[int], Array]) -> None:
        """Concatenate arrays in a file."""
        first = make(0)
        shape = (len(first) * self.count, *first.shape[1:])
        dtype = load_array(self.real, name).dtype
        out = np.lib.format.open_memmap(self.index / f"{name}.npy", "w+", dtype, shape)
        for copy in range(self.count):
            out[copy * len(first) : (copy + 1) * len(first)] = make(copy)
        out.flush()

    # ------------------------------------------------------------ words

    def write_words(self) -> None:
        """Write text, vocabulary and postings of words."""
        words = (self.real / "words.txt").read_text("utf-8").split("\n")
        stems, rows = load_array(self.real, "stems"), load_array(self.real, "vectors.rows")
        sizes = np.diff(load_array(self.real, "terms.pointers"))
        rare = np.flatnonzero(sizes <= 1)
        rare_words = np.flatnonzero(sizes[stems] <= 1)
        stem_of = [np.asarray(stems)]
        names, known = [words], [np.asarray(rows)]
        for copy in range(1, self.count):
            names.append([f"{words[word]}{_letters(copy)}" for word in rare_words.tolist()])
            stem_of.append(self._renamed(len(sizes), rare, copy)[stems[rare_words]])
            known.append(np.full(len(rare_words), -1, np.int32))
        every = [word for part in names for word in part]
        (self.index / "words.txt").write_text("\n".join(every), "utf-8")
        roots = [stem(words[word]) for word in first_occurrences(stems).tolist()]
        new = (f"{roots[row]}{_letters(copy)}" for copy in range(1, self.count) for row in rare)
        Keys.write(self.index, "words", every)
        Keys.write(self.index, "stems", (*roots, *new))
        every_stem = np.concatenate(stem_of).astype(np.int32)
        np.save(self.index / "stems.npy", every_stem)
        np.save(self.index / "vectors.rows.npy", np.concatenate(known))
        tokens, places = load_array(self.real, "tokens"), load_array(self.real, "places")
        self.write("tokens", lambda copy: self._renamed(len(words), rare_words, copy)[tokens])
        self.write("places", lambda copy: places + copy * len(tokens))
        gatherer = PostingsWriter(self.index, "terms")
        profile = load_array(self.real, "terms.profiles")
        of, weights = (
            load_array(self.real, f"terms.profiles.{part}") for part in ("rows", "weights")
        )
        owners = np.repeat(np.arange(len(places)), np.diff(profile))
        for copy in range(self.count):
            shaken = weights if copy == 0 else np.minimum(weights * self._shake(len(weights)), 1.6)
            renamed = self._renamed(len(sizes), rare, copy)
            gatherer.add(renamed[of], owners + copy * len(places), shaken)
        count = len(sizes) + (self.count - 1) * len(rare)
        gatherer.write(count, owners=len(places) * self.count)
        positions, at = (
            PostingsWriter(self.index, "positions", weighted=False),
            np.arange(len(tokens)),
        )
        for copy in range(self.count):
            numbers = self._renamed(len(words), rare_words, copy)[tokens]
            positions.add(every_stem[numbers], at + copy * len(tokens))
        positions.write(count)

    @staticmethod
    def _renamed(count: int, rare: Array, copy: int) -> Array:
        """Return the ids of a copy, in which rare items are new."""
        numbers = np.arange(count)
        if copy:
            numbers[rare] = count + (copy - 1) * len(rare) + np.arange(len(rare))
        return numbers

    def _shake(self, count: int) -> Array:
        return self.random.uniform(0.8, 1.2, count).astype(np.float32)

    # ------------------------------------------------------------ structure

    def write_structure(self) -> None:
        """Write records, units, symbols, shapes, forms, outlines and families."""
        tags = json.loads((self.real / "alignment.tags.json").read_text("ascii"))
        (self.index / "alignment.tags.json").write_text(json.dumps(tags), "ascii")
        symbols = load_array(self.real, "alignment.symbols")
        names = [self._permuted(tags, symbols, copy) for copy in range(self.count)]
        numbers = {tag: number for number, tag in enumerate(tags)}
        self.write(
            "alignment.symbols",
            lambda copy: np.array([numbers[names[copy].get(tag, tag)] for tag in tags])[symbols],
        )
        rows = load_array(self.real, "alignment.rows")
        self.write("alignment.rows", lambda _: rows)
        pointers = load_array(self.real, "alignment.pointers").reshape(-1, 3)
        ends = np.array([pointers[-1, 0], pointers[-1, 1], 0])
        column = ArrayWriter(self.index / "alignment.pointers.npy", np.int64)
        for copy in range(self.count):
            column.add((pointers[:-1] + copy * ends).ravel())
        column.add(ends * self.count)
        column.close()
        self._write_units(names)
        self._write_symbols(tags, numbers, names)
        self._write_postings(
            "shapes", lambda _: np.arange(len(load_array(self.real, "shapes.keys")))
        )
        for name in ("shapes.keys", "shapes.rows"):
            np.save(self.index / f"{name}.npy", load_array(self.real, name))
        families = load_array(self.real, "families")
        self.write("families", lambda copy: families + copy * self.types)
        self._write_forms()

    def _write_symbols(
        self, tags: list[str], numbers: dict[str, int], names: list[dict[str, str]]
    ) -> None:
        """Return the symbols of outlines, and those that occur only late in one."""
        keys = Keys(self.real, "symbols")
        place = {row: number for number, tag in enumerate(tags)
                 if (row := keys.find(tag)) is not None}  # fmt: skip
        count = len(load_array(self.real, "symbols.keys"))
        row_of = [place.get(row, len(tags) + row) for row in range(count)]

        def rows(copy: int) -> Array:
            other = [numbers[names[copy].get(tag, tag)] for tag in tags]
            every: Array = np.r_[other, np.arange(len(tags), len(tags) + count)]
            return every[row_of]

        self._write_postings("symbols", rows)
        Keys.write(self.index, "symbols", tags)

    @staticmethod
    def _permuted(tags: list[str], symbols: Array, copy: int) -> dict[str, str]:
        """Return a name for each letter of a copy: that of a letter of similar frequency."""
        if copy == 0:
            return {}
        common = np.bincount(symbols, minlength=len(tags))
        letters = sorted(
            (n for n, tag in enumerate(tags) if is_letter(tag)), key=lambda n: -common[n]
        )
        random = np.random.default_rng(copy)
        found: dict[str, str] = {}
        for at in range(0, len(letters), _ALIKE):
            some = [tags[number] for number in letters[at : at + _ALIKE]]
            found |= dict(zip(some, random.permutation(some).tolist(), strict=True))
        return found

    def _write_forms(self) -> None:
        keys, types = load_array(self.real, "forms.keys"), load_array(self.real, "forms.types")
        other = [np.uint64(self.random.integers(1, 1 << 62)) for _ in range(self.count - 1)]
        every = np.concatenate([keys, *(keys ^ number for number in other)])
        kinds = np.concatenate([types + copy * self.types for copy in range(self.count)])
        order = np.argsort(every, kind="stable")
        np.save(self.index / "forms.keys.npy", every[order])
        np.save(self.index / "forms.types.npy", kinds[order].astype(np.int32))

    def _write_postings(self, name: str, rows_of: Callable[[int], Array]) -> None:
        """Write the postings of every copy, by its rows."""
        pointers, owners, weights = (
            load_array(self.real, f"{name}.{part}") for part in ("pointers", "owners", "weights")
        )
        rows = np.repeat(np.arange(len(pointers) - 1), np.diff(pointers))
        order = np.argsort(owners, kind="stable")
        gatherer, most = PostingsWriter(self.index, name), 0
        for copy in range(self.count):
            number = rows_of(copy)
            most = max(most, int(number.max()) + 1)
            gatherer.add(number[rows[order]], owners[order] + copy * self.types, weights[order])
        gatherer.write(most)

    def _write_units(self, names: list[dict[str, str]]) -> None:
        """Write the units of every copy, and its records."""
        units = [unit for (unit,) in self.records.rows("SELECT unit FROM units ORDER BY id")]
        known = {unit: number for number, unit in enumerate(units)}
        vectors = load_array(self.real, "vectors.units")
        source = array("i", range(len(units)))  # source of each vector
        rows = []
        for name in names:
            found = []
            for number, unit in enumerate(units):
                row = known.setdefault(_rename(unit, name), len(known))
                if row == len(source):
                    source.append(number)
                found.append(row)
            rows.append(np.array(found, np.int32))
        self._write_postings("units", lambda copy: rows[copy])
        np.save(self.index / "vectors.units.npy", vectors[np.array(source)])
        self._write_records(list(known), rows, names)

    def _write_records(
        self, units: list[str], rows: list[Array], names: list[dict[str, str]]
    ) -> None:
        path = self.generation / "records.sqlite"
        Records(path, write=True).finish()
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("PRAGMA synchronous=OFF")
        db.execute("ATTACH ? AS real", (str(self.records.path),))
        db.execute("BEGIN")
        db.executemany("INSERT INTO units VALUES (?, ?)", enumerate(units))
        types = list(self.records.rows("SELECT canonical, units FROM types ORDER BY id"))
        shifted = {"article": "article + ?1", "type": "type + ?2"}
        listed = [row[1] for row in db.execute("PRAGMA table_info(equations)")]
        columns = ", ".join(shifted.get(column, f'"{column}"') for column in listed)
        equations = f"INSERT INTO equations SELECT {columns} FROM real.equations"  # noqa: S608
        for copy, name in enumerate(names):
            articles, first = copy * self.articles, copy * self.types
            db.execute(
                "INSERT INTO sources SELECT id + ?1, name || ?2, origin, collection, status, cause,"
                " detail, digest, seconds, NULL FROM real.sources",
                (articles, f"-{copy}" if copy else ""),
            )
            db.execute(
                "INSERT INTO articles SELECT id + ?1, title, main_file, text, sections, words,"
                " displays, opened, lost, bytes, NULL FROM real.articles",
                (articles,),
            )
            db.execute(equations, (articles, first))
            made = ((_rename(canonical, name), blob) for canonical, blob in types)
            db.executemany(
                "INSERT OR IGNORE INTO types VALUES (?, ?, ?, ?)",
                (
                    (
                        first + number,
                        sha256(canonical.encode()).digest()[:16],
                        canonical,
                        rows[copy][np.frombuffer(blob, np.int32)].tobytes(),
                    )
                    for number, (canonical, blob) in enumerate(made)
                ),
            )
        db.execute("COMMIT")
        db.close()

    # ------------------------------------------------------------ vectors

    def write_vectors(self) -> None:
        """Write vectors: those of words are unchanged, those of equations are perturbed."""
        for name in ("vectors.words", "vectors.kinds"):
            np.save(self.index / f"{name}.npy", load_array(self.real, name))
        text = (self.real / "vectors.kinds.txt").read_text("utf-8")
        (self.index / "vectors.kinds.txt").write_text(text, "utf-8")
        for name in ("vectors.contexts", "vectors.types"):
            vectors = load_array(self.real, name)
            self.write(name, partial(self._shaken, vectors))

    def _shaken(self, vectors: Array, copy: int) -> Array:
        if copy == 0:
            return vectors
        noise = self.random.standard_normal(vectors.shape, np.float32) / vectors.shape[1] ** 0.5
        made: Array = vectors + np.float32(0.3) * noise
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        return made


def _letters(number: int) -> str:
    """Write a number in letters, as a suffix that makes a new word."""
    return chr(97 + number % 26) + ("" if number < 26 else _letters(number // 26))


def _rename(text: str, names: dict[str, str]) -> str:
    return _LETTER.sub(lambda match: names.get(match[0], match[0]), text) if names else text


def make_large(real: Path, folder: Path, size: int) -> None:
    """Make a library of at least `size` equations in a new folder."""
    with Library.open(real) as library:
        count = next(library.records.rows("SELECT COUNT(*) FROM equations"))[0]
        Copies(library, folder, -(-size // count)).make()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("size", type=int)
    asked = parser.parse_args()
    make_large(asked.library, asked.folder, asked.size)
