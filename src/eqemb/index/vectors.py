"""Vector index: of the words around equations, and of the equations themselves.

    vectors.words.npy     the model's word vectors, normalised
    vectors.rows.npy      for each word of the library its row there, -1 where it has none
    vectors.contexts.npy  for each equation the mean vector of the words around it, normalised
    vectors.units.npy     for each unit of the library what it adds to its equation's vector
    vectors.kinds.*       the same for each kind of unit, for units that the model never saw
    vectors.types.npy     for each equation type its vector, normalised
    vectors.equations.npy for each type its row among the model's equations, -1 where it has none

Any model with word vectors gives contexts. A model with unit vectors (EqEmb-U, EqEmb-H) gives
units, and types as the sums of their units. A model with equation vectors alone (EqEmb) gives
types, with zeros for equations that it never saw.

Nothing here is trained, so that papers can be added to a library without training again. In a
context a word at distance d weighs its idf / sqrt(d). Queries need NumPy only.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqemb.errors import UsageError
from eqemb.formula import Layout
from eqemb.formula.tree import unit_type
from eqemb.index.postings import create_array, load_array
from eqemb.index.text import TextIndex
from eqemb.index.vector_index import VectorIndex, normalise
from eqemb.library.database import Records
from eqemb.models.embeddings import Embeddings
from eqemb.models.pooling import UnitVectors

#: Words on each side of an equation whose vectors are its context.
VECTOR_REACH = 64
_ROWS_AT_ONCE = 2_000

Array = NDArray[Any]
Floats = NDArray[np.float32]


# ------------------------------------------------------------ writing


def index_vectors(records: Records, folder: Path, model: Embeddings) -> None:
    """Index the vectors of every equation and type; the text is indexed before."""
    side = word_side(model)
    text = TextIndex(folder)
    rows = model.view("words", side).key_to_index
    np.save(folder / "vectors.rows.npy", np.array([rows.get(w, -1) for w in text.words], np.int32))
    np.save(folder / "vectors.words.npy", normalise(np.asarray(model.arrays[f"{side}_words"])))
    space = VectorSpace(records, folder, text)
    _write(folder / "vectors.contexts.npy", space.context_vectors, len(text.places), space.dim)
    if "alpha_equations" in model.arrays:
        np.save(folder / "vectors.equations.npy", _equation_rows(records, model))
    if "alpha_units" in model.arrays:
        _index_units(records, folder, model)
        _index_types_by_units(records, folder)
    elif "alpha_equations" in model.arrays:
        _index_types_by_equations(folder, model)


def remove_vectors(folder: Path) -> None:
    """Remove the vectors of an index."""
    for path in folder.glob("vectors.*"):
        path.unlink()


def word_side(model: Embeddings) -> str:
    """Return which word vectors of a model the index takes: rho, or alpha where it has no rho."""
    for side in ("rho", "alpha"):
        if f"{side}_words" in model.arrays:
            return side
    raise UsageError(f"{model!r} has no word vectors: a library's own model needs them")


def _equation_rows(records: Records, model: Embeddings) -> NDArray[np.int64]:
    """Return for each type its row among the model's equations, -1 where it was not learned."""
    known = model.view("equations").key_to_index
    found = np.array([known.get(canonical, -1) for _, canonical, _ in records.types()], np.int64)
    learned = np.asarray(model.arrays["alpha_equations"].any(axis=1))
    found[~learned[found]] = -1
    return found


def _index_types_by_units(records: Records, folder: Path) -> None:
    """Write the vector of each type as the sum of its units."""
    units, types = load_array(folder, "vectors.units"), records.types()

    def vectors(part: range) -> Floats:
        bags = (np.frombuffer(next(types)[2], np.int32) for _ in part)
        return normalise(np.stack([units[bag].sum(axis=0) for bag in bags]))

    _write(folder / "vectors.types.npy", vectors, records.type_count(), units.shape[1])


def _index_types_by_equations(folder: Path, model: Embeddings) -> None:
    """Write the model's own vector of each type, zeros where it has none."""
    alpha, rows = model.arrays["alpha_equations"], load_array(folder, "vectors.equations")

    def vectors(part: range) -> Floats:
        own = rows[part.start : part.stop]
        return normalise(np.where(own[:, None] < 0, 0, np.asarray(alpha[np.maximum(own, 0)])))

    _write(folder / "vectors.types.npy", vectors, len(rows), alpha.shape[1])


def _index_units(records: Records, folder: Path, model: Embeddings) -> None:
    """Write what each unit adds: its own vector, or the mean of its kind, and its kind's vector."""
    units = UnitVectors(model)
    kinds, shared = units.type_means.astype(np.float32), units.type_vectors
    (folder / "vectors.kinds.txt").write_text("\n".join(units.types), "utf-8")
    np.save(folder / "vectors.kinds.npy", kinds + shared)
    names = records.unit_names()

    def vectors(part: range) -> Floats:
        made = np.empty((len(part), units.own.shape[1]), np.float32)
        for at, unit in zip(range(len(part)), names, strict=False):
            row, kind = units.find(unit)
            kind = -1 if kind is None else kind  # the last: kinds that the model never saw
            made[at] = shared[kind] + (kinds[kind] if row is None else units.own[row])
        return made

    _write(folder / "vectors.units.npy", vectors, records.unit_count(), units.own.shape[1])


def _write(path: Path, make: Callable[[range], Floats], count: int, dim: int) -> None:
    """Write rows of vectors in batches."""
    out = create_array(path, np.float32, (count, dim))
    for at in range(0, count, _ROWS_AT_ONCE):
        part = range(at, min(count, at + _ROWS_AT_ONCE))
        out[part.start : part.stop] = make(part)
    out.flush()


# ------------------------------------------------------------ reading


class VectorSpace:
    """The vectors of a library, opened for reading: words, units, contexts and types."""

    def __init__(self, records: Records, folder: Path, text: TextIndex) -> None:
        self._records, self._folder, self._text = records, folder, text

    @staticmethod
    def exists(folder: Path) -> bool:
        """Whether an index has vectors."""
        return (folder / "vectors.contexts.npy").exists()

    @cached_property
    def _rows(self) -> Array:
        return load_array(self._folder, "vectors.rows")

    @cached_property
    def _words(self) -> Array:
        return load_array(self._folder, "vectors.words")

    @cached_property
    def contexts(self) -> VectorIndex:
        """For each equation the words around it."""
        return VectorIndex(load_array(self._folder, "vectors.contexts"))

    @cached_property
    def types(self) -> VectorIndex | None:
        """For each equation type its own vector; None where the model has none."""
        has_types = (self._folder / "vectors.types.npy").exists()
        return VectorIndex(load_array(self._folder, "vectors.types")) if has_types else None

    @cached_property
    def has_units(self) -> bool:
        """Whether the model has unit vectors, so that every equation has a vector."""
        return (self._folder / "vectors.units.npy").exists()

    @property
    def dim(self) -> int:
        """The dimension of the vectors."""
        return int(self._words.shape[1])

    def has_word(self, word: str) -> bool:
        """Whether the model has a vector for a word."""
        row = self._text.word_id(word)
        return row is not None and bool(self._rows[row] >= 0)

    def words_vector(self, words: Iterable[str]) -> Floats:
        """Return the mean direction of words, weighted by idf; zeros where none is known.

        A compound without a vector has those of its parts.
        """
        total = np.zeros(self.dim, np.float32)
        for word in words:
            for part in [word] if self.has_word(word) else word.split("-"):
                row = self._text.word_id(part)
                if row is not None and self._rows[row] >= 0:
                    idf = self._text.idf(int(self._text.stem_of[row]))
                    total += np.float32(idf) * self._words[self._rows[row]]
        return normalise(total)

    def context_vectors(self, equations: range) -> Floats:
        """Compute the mean directions of the words around equations."""
        reach = np.arange(1, VECTOR_REACH + 1)
        low, place, high = self._text.places[equations.start : equations.stop].T
        at = place[:, None] + np.r_[-reach, reach - 1]
        inside = (at >= low[:, None]) & (at < high[:, None])
        made = np.zeros((len(equations), self.dim), np.float32)
        weights = 1 / np.sqrt(np.r_[reach, reach])
        for index in range(len(equations)):
            words = self._text.tokens[at[index, inside[index]]]
            rows = self._rows[words]
            weight = weights[inside[index]] * self._text.idfs[self._text.stem_of[words]]
            known = rows >= 0
            made[index] = weight[known].astype(np.float32) @ self._words[rows[known]]
        return normalise(made)

    def equation_vector(self, shape: Layout) -> Floats:
        """Return the direction of an equation: of its units, or the model's own vector of it.

        Zeros where the model has neither.
        """
        if self.has_units:
            return self.units_vector(["\t".join(unit) for unit in shape.units()])
        kind = self._records.type_of(shape.canonical())
        if self.types is None or kind is None:
            return np.zeros(self.dim, np.float32)
        return np.array(self.types.rows([kind])[0])

    def units_vector(self, units: Sequence[str]) -> Floats:
        """Return the direction of an equation that is given by its units."""
        return normalise(self.sum_units(units)[0])

    def sum_units(self, units: Sequence[str]) -> tuple[Floats, int]:
        """Return the sum of units, and how many of them, or of their kinds, are known."""
        total, count = np.zeros(self.dim, np.float32), 0
        for unit in units:
            found = self._records.unit_id(unit)
            if found is not None:
                total += self._units[found]
            elif (kind := self._kinds.get(unit_type(unit))) is not None:
                total += self._kind_vectors[kind]
            else:
                continue
            count += 1
        return total, count

    @cached_property
    def _units(self) -> Array:
        return load_array(self._folder, "vectors.units")

    @cached_property
    def _kind_vectors(self) -> Array:
        return load_array(self._folder, "vectors.kinds")

    @cached_property
    def _kinds(self) -> dict[str, int]:
        names = (self._folder / "vectors.kinds.txt").read_text("utf-8").split("\n")
        return {name: row for row, name in enumerate(names)}
