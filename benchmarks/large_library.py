"""Make a large library out of copies of a real one, for `search.py`.

    python benchmarks/large_library.py LIBRARY FOLDER 1000000

We have no library with a million equations, and indexing one takes hours, so segments are copied
and changed. The following is synthetic:

- Every copy has all articles again, under other names. Its letters are renamed by a random
  permutation among letters of similar frequency, which gives other types and other units.
- Stems that occur in at most one equation of a segment get a new name in each copy, so that the
  vocabulary grows as in real text. Other words, and all shapes, become more frequent in proportion.
- Vectors and the impacts of words are perturbed, so that copies do not tie.
- The types of a copy are not in the families of the originals, and do not share a form with them.

Everything else is that of the real library: lengths, contexts, frequencies of words and symbols.
"""

import argparse
import json
import re
import shutil
import sqlite3
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqemb.facade.library import Library
from eqemb.formula.layout import read_canonical
from eqemb.formula.likeness import is_letter
from eqemb.index.build import write_version
from eqemb.index.normal_view import NormalWriter
from eqemb.index.postings import Keys, TextList, hash_texts, load_array
from eqemb.library.database import RECORDS_FORMAT
from eqemb.library.manifest import Manifest, Segment, segment_folder

Array = NDArray[Any]
_LETTER = re.compile(r"V![^\[\],\t]+")
_ALIKE = 32  # letters of similar frequency that may replace each other
_MOST_IMPACT = 1.6


class SegmentCopy:
    """A copy of a segment, which is then changed."""

    def __init__(self, real: Path, folder: Path, copy: int) -> None:
        shutil.copytree(real, folder)
        self._folder, self._index, self._copy = folder, folder / "index", copy
        self._random = np.random.default_rng(copy)

    def change(self) -> None:
        """Change names of papers, letters, rare words and impacts."""
        names = self._permuted()
        self._change_records(names)
        self._change_structure(names)
        self._change_words()
        write_version(self._index)

    def _permuted(self) -> dict[str, str]:
        """Return a name for each letter: that of a letter of similar frequency."""
        tags = json.loads((self._index / "alignment.tags.json").read_text("ascii"))
        common = np.bincount(load_array(self._index, "alignment.symbols"), minlength=len(tags))
        letters = sorted(
            (n for n, tag in enumerate(tags) if is_letter(tag)), key=lambda n: -common[n]
        )
        found: dict[str, str] = {}
        for at in range(0, len(letters), _ALIKE):
            some = [tags[number] for number in letters[at : at + _ALIKE]]
            found |= dict(zip(some, self._random.permutation(some).tolist(), strict=True))
        return found

    def _change_records(self, names: dict[str, str]) -> None:
        """Rename articles, types and units; types and units keep their numbers."""
        db = sqlite3.connect(self._folder / "records.sqlite", isolation_level=None)
        db.execute("PRAGMA synchronous=OFF")
        db.execute("BEGIN")
        db.execute("UPDATE sources SET name = name || ?", (f"-{self._copy}",))
        units = [
            (number, _rename(unit, names))
            for number, unit in db.execute("SELECT id, unit FROM units ORDER BY id")
        ]
        types = [
            (number, _rename(canonical, names), blob)
            for number, canonical, blob in db.execute(
                "SELECT id, canonical, units FROM types ORDER BY id"
            )
        ]
        db.execute("DELETE FROM units")
        db.executemany("INSERT INTO units VALUES (?, ?)", units)
        db.execute("DELETE FROM types")
        db.executemany(
            "INSERT INTO types VALUES (?, ?, ?, ?)",
            ((n, sha256(form.encode()).digest()[:16], form, blob) for n, form, blob in types),
        )
        db.execute("COMMIT")
        db.close()
        Keys.write(self._index, "units", hash_texts(unit for _, unit in units))
        keys = hash_texts(form for _, form, _ in types)
        np.save(self._index / "types.ids.npy", keys)
        Keys.write(self._index, "types", keys)
        self._write_normal_forms([form for _, form, _ in types])

    def _write_normal_forms(self, canonical: list[str]) -> None:
        """Write the normal view anew: the order in a sum depends on the names of letters."""
        kinds = load_array(self._index, "equations")[:, 2]
        normal = NormalWriter(self._index)
        for form in canonical:
            normal.add(read_canonical(form))
        normal.close(np.bincount(kinds, minlength=len(canonical)))

    def _change_structure(self, names: dict[str, str]) -> None:
        """Rename symbols, and give types other forms and families."""
        path = self._index / "alignment.tags.json"
        tags = json.loads(path.read_text("ascii"))
        path.write_text(json.dumps([names.get(tag, tag) for tag in tags]), "ascii")
        renamed = dict(zip(hash_texts(names).tolist(), hash_texts(names.values()), strict=True))
        keys, rows = (load_array(self._index, f"symbols.{part}") for part in ("keys", "rows"))
        other = np.array([renamed.get(number, number) for number in keys.tolist()], np.uint64)
        Keys.write(self._index, "symbols", other, np.array(rows))
        mask = self._random.integers(1, 1 << 62, dtype=np.uint64)
        keys, rows = (load_array(self._index, f"forms.{part}") for part in ("keys", "rows"))
        Keys.write(self._index, "forms", keys ^ mask, np.array(rows))
        for name in ("families", "near"):
            flat = load_array(self._index, f"{name}.ids") ^ mask
            sizes = np.diff(load_array(self._index, f"{name}.pointers"))
            _replace(self._index / f"{name}.ids.npy", flat)
            Keys.write(self._index, name, flat, np.repeat(np.arange(len(sizes)), sizes))

    def _change_words(self) -> None:
        """Rename rare words, and change the impact of the words of each equation."""
        sizes = np.diff(load_array(self._index, "terms.pointers"))
        of_word = sizes[load_array(self._index, "stems")]
        for name, counts in (("words", of_word), ("stems", sizes)):
            texts = zip(TextList(self._index, name), counts.tolist(), strict=True)
            made = [f"{text}{_letters(self._copy)}" if few <= 1 else text for text, few in texts]
            TextList.write(self._index, name, made)
            keys = hash_texts(made)
            _replace(self._index / f"{name}.ids.npy", keys)
            Keys.write(self._index, name, keys)
        profiles = load_array(self._index, "terms.profiles")
        shaken = self._random.uniform(0.8, 1.2, len(profiles) - 1).astype(np.float32)
        owners = {
            "terms": load_array(self._index, "terms.owners"),
            "terms.profiles": np.repeat(np.arange(len(shaken)), np.diff(profiles)),
        }
        for name, owner in owners.items():
            made = load_array(self._index, f"{name}.weights") * shaken[owner]
            _replace(self._index / f"{name}.weights.npy", np.minimum(made, _MOST_IMPACT))


def _replace(path: Path, values: Array) -> None:
    """Replace an array that may be mapped into memory."""
    path.unlink()
    np.save(path, values)


def copy_vectors(real: Path, folder: Path, copy: int) -> None:
    """Copy the vectors of a segment, perturbed."""
    shutil.copytree(real, folder)
    random = np.random.default_rng(copy)
    for name in ("contexts", "types"):
        path = folder / f"{name}.npy"
        if path.exists():
            vectors = load_array(folder, name)
            noise = random.standard_normal(vectors.shape, np.float32) / vectors.shape[1] ** 0.5
            made = vectors + np.float32(0.3) * noise
            made /= np.linalg.norm(made, axis=1, keepdims=True)
            _replace(path, made)
    write_version(folder)


def _letters(number: int) -> str:
    """Write a number in letters, as a suffix that makes a new word."""
    return chr(97 + number % 26) + ("" if number < 26 else _letters(number // 26))


def _rename(text: str, names: dict[str, str]) -> str:
    return _LETTER.sub(lambda match: names.get(match[0], match[0]), text)


def make_large(real: Path, folder: Path, size: int) -> None:
    """Make a library of at least `size` equations in a new folder."""
    with Library.open(real) as library:
        manifest, home = library.manifest, library.home
        count = -(-size // library.engine.segments.live_count)
    vectors = f"vectors/{manifest.vectors}"
    if manifest.vectors:
        shutil.copytree(home / vectors, folder / vectors)
    listed = []
    for copy in range(count):
        for part in manifest.segments:
            name = sha256(f"{part.name} {copy}".encode()).hexdigest()[:16] if copy else part.name
            listed.append(Segment(name, part.documents, part.removed))
            old, new = segment_folder(home, part.name), segment_folder(folder, name)
            if not copy:
                shutil.copytree(old, new)
                continue
            SegmentCopy(old, new, copy).change()
            if manifest.vectors:
                copy_vectors(home / vectors / part.name, folder / vectors / name, copy)
    generation = folder / "generations" / "1"
    generation.mkdir(parents=True)
    Manifest(tuple(listed), manifest.root, manifest.vectors).save(generation)
    state = json.dumps({"format": RECORDS_FORMAT, "generation": 1})
    (folder / "library.json").write_text(state, "ascii")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("size", type=int)
    asked = parser.parse_args()
    make_large(asked.library, asked.folder, asked.size)
