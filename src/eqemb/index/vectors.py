"""The meaning of equations: vectors of the words around them, and of the units they are made of.

    meaning.contexts.npy  for each equation the mean vector of the words around it, of length one
    meaning.words.npy     the model's vectors of words, of length one; `rows` says of each word of
                          the library which is its own, -1 where the model has none
    meaning.units.npy     for each unit of the library what it adds to its equation's vector
    meaning.kinds.*       the same for each kind of unit, for units that the model never met
    meaning.types.npy     for each type the mean of its units, of length one
    meaning.equations.npy for each type its row among the model's equations, -1 where it has none

All of it is computed from a model's vectors and trains nothing, so that papers can be added to a
library without training anew. In a context a word at distance d weighs its idf / sqrt(d). NumPy
only when it is asked.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqemb.formula.tree import unit_type
from eqemb.index.postings import load, new_array
from eqemb.index.text import Wording
from eqemb.library.database import Records
from eqemb.models.embeddings import Embeddings
from eqemb.models.pooling import UnitVectors

#: Words on each side of an equation whose vectors are its context.
REACH = 64
_SLICE = 2_000  # equations at a time

Array = NDArray[Any]
Floats = NDArray[np.float32]


# ------------------------------------------------------------ making it


def index_meaning(records: Records, folder: Path, model: Embeddings) -> None:
    """Index the vectors of every equation and type; the words are indexed before."""
    words = Wording(folder)
    rows = model.view("words").key_to_index
    np.save(folder / "meaning.rows.npy", np.array([rows.get(w, -1) for w in words.words], np.int32))
    np.save(folder / "meaning.words.npy", lengthened(np.asarray(model.arrays["rho_words"])))
    asked = Meaning(records, folder, words)
    _write(folder / "meaning.contexts.npy", asked.of_contexts, len(words.places), asked.dim)
    if "alpha_equations" in model.arrays:
        known = model.view("equations").key_to_index
        listed = records.rows("SELECT canonical FROM types ORDER BY id")
        found = np.array([known.get(canonical, -1) for (canonical,) in listed], np.int64)
        learned = np.asarray(model.arrays["alpha_equations"].any(axis=1))
        found[~learned[found]] = -1
        np.save(folder / "meaning.equations.npy", found)
    if "alpha_units" in model.arrays:
        _index_units(records, folder, model)
        blobs = (blob for (blob,) in records.rows("SELECT units FROM types ORDER BY id"))
        units = load(folder, "meaning.units")

        def shapes(part: range) -> Floats:
            bags = (np.frombuffer(next(blobs), np.int32) for _ in part)
            return lengthened(np.stack([units[bag].sum(axis=0) for bag in bags]))

        count = next(records.rows("SELECT COUNT(*) FROM types"))[0]
        _write(folder / "meaning.types.npy", shapes, count, units.shape[1])


def _index_units(records: Records, folder: Path, model: Embeddings) -> None:
    """What each unit adds: its own vector, or the mean of its kind, and its kind's vector."""
    units = UnitVectors(model)
    types, shared = units.type_means.astype(np.float32), units.type_vectors
    (folder / "meaning.kinds.txt").write_text("\n".join(units.types), "utf-8")
    np.save(folder / "meaning.kinds.npy", types + shared)
    listed = records.rows("SELECT unit FROM units ORDER BY id")

    def vectors(part: range) -> Floats:
        made = np.empty((len(part), units.own.shape[1]), np.float32)
        for at, (unit,) in zip(range(len(part)), listed, strict=False):
            row, kind = units.find(unit)
            kind = -1 if kind is None else kind  # the last: types that the model never met
            made[at] = shared[kind] + (types[kind] if row is None else units.own[row])
        return made

    count = next(records.rows("SELECT COUNT(*) FROM units"))[0]
    _write(folder / "meaning.units.npy", vectors, count, units.own.shape[1])


def _write(path: Path, make: Callable[[range], Floats], count: int, dim: int) -> None:
    """Rows of vectors, slice by slice."""
    out = new_array(path, np.float32, (count, dim))
    for at in range(0, count, _SLICE):
        part = range(at, min(count, at + _SLICE))
        out[part.start : part.stop] = make(part)
    out.flush()


def lengthened(vectors: Array) -> Floats:
    """Vectors at length one; zeros stay zeros."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    made: Floats = (vectors / np.maximum(norms, 1e-12)).astype(np.float32)
    return made


# ------------------------------------------------------------ asking it


class Meaning:
    """The vectors of a library, opened for questions."""

    def __init__(self, records: Records, folder: Path, words: Wording) -> None:
        self._records, self._folder, self._words = records, folder, words

    @cached_property
    def _rows(self) -> Array:
        return load(self._folder, "meaning.rows")

    @cached_property
    def _vectors(self) -> Array:
        return load(self._folder, "meaning.words")

    @cached_property
    def contexts(self) -> Array:
        """Of each equation: the words around it."""
        return load(self._folder, "meaning.contexts")

    @cached_property
    def shapes(self) -> Array | None:
        """Of each type: its units; None where the model has none."""
        return (
            load(self._folder, "meaning.types")
            if (self._folder / "meaning.types.npy").exists()
            else None
        )

    @property
    def dim(self) -> int:
        """K."""
        return int(self._vectors.shape[1])

    def knows(self, word: str) -> bool:
        """Whether the model has a vector for a word."""
        row = self._words.number(word)
        return row is not None and bool(self._rows[row] >= 0)

    def of_words(self, words: Iterable[str]) -> Floats:
        """The mean direction of words, by their idf; zeros where none is known.

        A compound without a vector has those of its parts.
        """
        total = np.zeros(self.dim, np.float32)
        for word in words:
            for part in [word] if self.knows(word) else word.split("-"):
                row = self._words.number(part)
                if row is not None and self._rows[row] >= 0:
                    idf = self._words.idf(int(self._words.stem_of[row]))
                    total += np.float32(idf) * self._vectors[self._rows[row]]
        return lengthened(total)

    def of_contexts(self, equations: range) -> Floats:
        """The mean directions of the words around equations."""
        reach = np.arange(1, REACH + 1)
        low, place, high = self._words.places[equations.start : equations.stop].T
        at = place[:, None] + np.r_[-reach, reach - 1]
        inside = (at >= low[:, None]) & (at < high[:, None])
        made = np.zeros((len(equations), self.dim), np.float32)
        weights = 1 / np.sqrt(np.r_[reach, reach])
        for index in range(len(equations)):
            words = self._words.tokens[at[index, inside[index]]]
            rows = self._rows[words]
            weight = weights[inside[index]] * self._words.idfs[self._words.stem_of[words]]
            known = rows >= 0
            made[index] = weight[known].astype(np.float32) @ self._vectors[rows[known]]
        return lengthened(made)

    def of_units(self, units: Sequence[str]) -> Floats:
        """The direction of an equation that is given by its units."""
        return lengthened(self.sum_of_units(units)[0])

    def sum_of_units(self, units: Sequence[str]) -> tuple[Floats, int]:
        """What units add up to, and how many of them, or of their kinds, are known."""
        total, count = np.zeros(self.dim, np.float32), 0
        for unit in units:
            found = next(self._records.rows("SELECT id FROM units WHERE unit = ?", unit), None)
            if found is not None:
                total += self._units[found[0]]
            elif (kind := self._kinds.get(unit_type(unit))) is not None:
                total += self._kind_vectors[kind]
            else:
                continue
            count += 1
        return total, count

    @cached_property
    def _units(self) -> Array:
        return load(self._folder, "meaning.units")

    @cached_property
    def _kind_vectors(self) -> Array:
        return load(self._folder, "meaning.kinds")

    @cached_property
    def _kinds(self) -> dict[str, int]:
        names = (self._folder / "meaning.kinds.txt").read_text("utf-8").split("\n")
        return {name: row for row, name in enumerate(names)}
