"""Vector index: of the words around equations, and of the equations themselves.

    words.npy, words.*    the model's word vectors, normalised, and their rows by key
    weights.npy           the weight of each word: its idf in the library when the model was chosen
    units.npy, units.*    what each unit of the model adds to an equation's vector
    kinds.npy, kinds.*    the same for each kind of unit, for units that the model never saw
    means.npy             the mean vector of contexts, and of types
    SEGMENT/contexts.npy  for each equation the mean vector of the words around it, normalised
    SEGMENT/types.npy     for each equation type its vector, normalised
    SEGMENT/equations.npy for each type its row among the model's equations, -1 where it has none
    ann/                  in large libraries, approximate indexes of contexts and of types

Any model with word vectors gives contexts. A model with unit vectors (EqEmb-U, EqEmb-H) gives
types as the sums of their units. A model with equation vectors alone (EqEmb) gives types, with
zeros for equations that it never saw.

Nothing here is trained, and weights and means stay until another model is chosen, so that papers
are added to a library without touching the vectors of others. In a context a word at distance d
weighs its weight / sqrt(d). Queries need NumPy only.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.errors import UsageError
from eqemb.formula import Layout
from eqemb.formula.shapes import key
from eqemb.formula.tree import unit_type
from eqemb.index.approximate import Coverage, open_vectors
from eqemb.index.postings import Array, Keys, create_array, hash_texts, load_array
from eqemb.index.segments import IndexSegment, IndexSegments
from eqemb.index.stemming import stem
from eqemb.index.text_index import TextIndex
from eqemb.index.text_segment import TextSegment
from eqemb.index.vector_index import Mask, VectorIndex, normalise
from eqemb.library.database import Records
from eqemb.library.integrity import APPROXIMATE
from eqemb.models.embeddings import Embeddings
from eqemb.models.pooling import UnitVectors
from eqemb.storage.array_file import open_npy, release

#: Words on each side of an equation whose vectors are its context.
VECTOR_REACH = 64
_ROWS_AT_ONCE = 2_000
_MAX_KNOWN_WORDS = 1 << 15  # words whose rows are kept in memory
_MEAN_SCALE = float(1 << 36)  # vectors are summed as integers, whose sum has no order

Floats = NDArray[np.float32]


# ------------------------------------------------------------ writing


def write_space(folder: Path, model: Embeddings, text: TextIndex) -> None:
    """Write what a model gives to all segments; `text` is that of the library."""
    side = word_side(model)
    words = model.view("words", side).index_to_key
    np.save(folder / "words.npy", normalise(np.asarray(model.arrays[f"{side}_words"])))
    Keys.write(folder, "words", hash_texts(words))
    np.save(folder / "weights.npy", text.idfs(hash_texts(map(stem, words))).astype(np.float32))
    if "alpha_units" not in model.arrays:
        return
    units = UnitVectors(model)
    means = units.type_means.astype(np.float32)
    names = model.view("units").index_to_key
    kinds = [units.types[unit_type(name)] for name in names]
    np.save(folder / "units.npy", units.type_vectors[kinds] + units.own)
    Keys.write(folder, "units", hash_texts(names))
    # the last: kinds that the model never saw
    np.save(folder / "kinds.npy", means + units.type_vectors)
    Keys.write(folder, "kinds", hash_texts(units.types))


class KnownVectors(NamedTuple):
    """Vectors of a segment that those which it was merged from have."""

    contexts: Sequence[tuple[range, Path, Array]] = ()
    """Equations, and the file and the rows of their contexts."""
    types: Sequence[tuple[range, Path, Array]] = ()
    """Types, and the file and the rows of their vectors, where these are sums of units."""


def write_segment(
    space: Path,
    place: Path,
    segment: IndexSegment,
    text: TextSegment,
    model: Embeddings,
    known: KnownVectors = KnownVectors(),  # noqa: B008 - it cannot be changed
) -> None:
    """Write the vectors of a segment into `place`; `space` is what `write_space` wrote.

    Those that are known are copied. They are the same vectors, since each depends on its equation
    and the words around it alone.
    """
    words = _WordVectors(space)
    rows = words.find(text.word_keys)

    def contexts(part: range) -> Floats:
        return words.contexts(text, rows, part)

    _write(place / "contexts.npy", contexts, len(segment), words.dim, known.contexts)
    if "alpha_equations" in model.arrays:
        np.save(place / "equations.npy", _equation_rows(segment.records, model))
    if "alpha_units" in model.arrays:
        _write_types_by_units(place, segment.records, _UnitVectors(space), known.types)
    elif "alpha_equations" in model.arrays:
        _write_types_by_equations(place, model)


def mean_vectors(folder: Path, segments: IndexSegments) -> Floats:
    """Return the mean over all equations of their contexts, and of the vectors of their types."""
    dim = load_array(folder, "words").shape[1]
    total = np.zeros((2, dim), np.int64)
    for segment in segments:
        weights = np.ones(len(segment), np.int64) if segment.live is None else segment.live
        for row, (name, often) in enumerate(
            (("contexts", weights), ("types", segment.equations_per_type))
        ):
            path = folder / segment.name / f"{name}.npy"
            if path.exists():
                total[row] += _exact_sum(open_npy(path), often)
    means: Floats = (total / _MEAN_SCALE / max(1, segments.live_count)).astype(np.float32)
    return means


def _exact_sum(vectors: Array, often: Array) -> Array:
    """Return the weighted sum of vectors, which is the same in any order, as integers."""
    total = np.zeros(vectors.shape[1], np.int64)
    for at in range(0, len(vectors), _ROWS_AT_ONCE):
        part = slice(at, at + _ROWS_AT_ONCE)
        whole = np.rint(vectors[part].astype(np.float64) * _MEAN_SCALE).astype(np.int64)
        total += (whole * often[part, None]).sum(axis=0)
    return total


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
    if len(learned):
        found[~learned[found]] = -1
    return found


def _write_types_by_units(
    place: Path,
    records: Records,
    units: "_UnitVectors",
    known: Sequence[tuple[range, Path, Array]] = (),
) -> None:
    """Write the vector of each type as the sum of its units."""
    rows = units.find_all(records.unit_names())

    def vectors(part: range) -> Floats:
        blobs = records.type_units(part)
        bags = (np.frombuffer(blobs[kind], np.int32) for kind in part)
        return normalise(np.stack([units.sum(rows[bag]) for bag in bags]))

    _write(place / "types.npy", vectors, records.type_count(), units.dim, known)


def _write_types_by_equations(place: Path, model: Embeddings) -> None:
    """Write the model's own vector of each type, zeros where it has none."""
    alpha, rows = model.arrays["alpha_equations"], load_array(place, "equations")

    def vectors(part: range) -> Floats:
        own = rows[part.start : part.stop]
        return normalise(np.where(own[:, None] < 0, 0, np.asarray(alpha[np.maximum(own, 0)])))

    _write(place / "types.npy", vectors, len(rows), alpha.shape[1])


def _write(
    path: Path,
    make: Callable[[range], Floats],
    count: int,
    dim: int,
    known: Sequence[tuple[range, Path, Array]] = (),
) -> None:
    """Write rows of vectors in batches; those that are known, in order, are copied."""
    if not count:
        np.save(path, np.empty((0, dim), np.float32))
        return
    out = create_array(path, np.float32, (count, dim))
    done = 0
    for copied, source, rows in known:
        _make(out, make, range(done, copied.start))
        vectors = open_npy(source)
        for part in _batches(copied):
            first, last = part.start - copied.start, part.stop - copied.start
            out[part.start : part.stop] = vectors[rows[first:last]]
            release(out, vectors)
        done = copied.stop
    _make(out, make, range(done, count))
    out.flush()


def _make(out: Array, make: Callable[[range], Floats], rows: range) -> None:
    for part in _batches(rows):
        out[part.start : part.stop] = make(part)


def _batches(rows: range) -> Iterator[range]:
    """Cut a range into pieces of at most `_ROWS_AT_ONCE`."""
    for at in range(rows.start, rows.stop, _ROWS_AT_ONCE):
        yield range(at, min(rows.stop, at + _ROWS_AT_ONCE))


# ------------------------------------------------------------ reading


class _WordVectors:
    """The word vectors of a model, and their weights."""

    def __init__(self, folder: Path) -> None:
        self.vectors, self.weights = (load_array(folder, name) for name in ("words", "weights"))
        self._keys = Keys(folder, "words")
        self._known: dict[str, int] = {}  # rows of words that were looked up

    @property
    def dim(self) -> int:
        """The dimension of the vectors."""
        return int(self.vectors.shape[1])

    def find(self, keys: Array) -> Array:
        """Return the rows of words, given by their keys; -1 for words without a vector."""
        return self._keys.find_all(keys)

    def find_word(self, word: str) -> int:
        """Return the row of a word, -1 where it has none."""
        found = self._known.get(word)
        if found is None:
            if len(self._known) >= _MAX_KNOWN_WORDS:
                self._known.clear()
            found = self._known[word] = int(self.find(hash_texts([word.lower()]))[0])
        return found

    def contexts(self, text: TextSegment, rows: Array, equations: range) -> Floats:
        """Return the mean directions of the words around equations of a segment.

        `rows` are the rows of the words of the segment.
        """
        reach = np.arange(1, VECTOR_REACH + 1)
        low, place, high = text.places[equations.start : equations.stop].T
        at = place[:, None] + np.r_[-reach, reach - 1]
        inside = (at >= low[:, None]) & (at < high[:, None])
        made = np.zeros((len(equations), self.dim), np.float32)
        weights = 1 / np.sqrt(np.r_[reach, reach])
        for index in range(len(equations)):
            found = rows[text.tokens[at[index, inside[index]]]]
            known = found >= 0
            weight = weights[inside[index]][known] * self.weights[found[known]]
            made[index] = weight.astype(np.float32) @ self.vectors[found[known]]
        return normalise(made)


class _UnitVectors:
    """What each unit adds to the vector of an equation, for units of the model and others."""

    def __init__(self, folder: Path) -> None:
        self._units, self._kinds = (load_array(folder, name) for name in ("units", "kinds"))
        self._unit_keys, self._kind_keys = Keys(folder, "units"), Keys(folder, "kinds")

    @property
    def dim(self) -> int:
        """The dimension of the vectors."""
        return int(self._units.shape[1])

    def find_all(self, units: Iterable[str]) -> Array:
        """Return the rows of units: of their own, or of their kinds after all units."""
        names = list(units)
        own = self._unit_keys.find_all(hash_texts(names))
        kinds = self._kind_keys.find_all(hash_texts(map(unit_type, names)))
        kinds = np.where(kinds < 0, len(self._kinds) - 1, kinds)
        found: Array = np.where(own >= 0, own, len(self._units) + kinds)
        return found

    def is_known(self, rows: Array) -> Array:
        """Return which rows are of a unit, or of a kind of unit, that the model has."""
        found: Array = rows < len(self._units) + len(self._kinds) - 1
        return found

    def sum(self, rows: Array) -> Floats:
        """Return the sum of the vectors of rows."""
        own = rows < len(self._units)
        total: Floats = self._units[rows[own]].sum(axis=0) + self._kinds[
            rows[~own] - len(self._units)
        ].sum(axis=0)
        return total


class VectorSpace:
    """The vectors of an index, opened for reading: words, units, contexts and types."""

    def __init__(self, segments: IndexSegments, folder: Path) -> None:
        self._segments, self._folder = segments, segments.queried(folder)
        self._words = _WordVectors(folder)

    @cached_property
    def contexts(self) -> VectorIndex:
        """For each equation the words around it."""
        return self._open("contexts", lambda: self._segments.live)

    @cached_property
    def types(self) -> VectorIndex | None:
        """For each equation type its own vector; None where the model has none."""
        return self._open("types", lambda: self._live_types) if self.has_types else None

    @property
    def has_types(self) -> bool:
        """Whether the model gives vectors to equation types."""
        first = self._segments[0].name if len(self._segments) else ""
        return (self._folder / first / "types.npy").exists()

    def parts(self, name: str) -> list[tuple[Coverage, Array]]:
        """Return the vectors of each segment: `name` is contexts, or types."""
        loaded = ((part.name, self._load(part, name)) for part in self._segments)
        return [(Coverage(segment, len(vectors)), vectors) for segment, vectors in loaded]

    def approximate_folder(self, name: str) -> Path:
        """Return the folder of the approximate index of contexts, or of types."""
        return self._folder / APPROXIMATE / name

    def _open(self, name: str, live: Callable[[], Mask]) -> VectorIndex:
        parts = self.parts(name)
        vectors = [vectors for _, vectors in parts]
        has_removed = any(part.live is not None for part in self._segments)
        given = live if has_removed else lambda: None
        if self._segments.statistics is not None:
            return VectorIndex(vectors, given)  # the approximate index is of the whole library
        covered = [segment for segment, _ in parts]
        return open_vectors(vectors, covered, self.approximate_folder(name), given)

    @cached_property
    def _live_types(self) -> Mask:
        """Which types have equations in the library."""
        parts = [part.equations_per_type > 0 for part in self._segments]
        return np.concatenate([np.empty(0, bool), *parts])

    @cached_property
    def equation_rows(self) -> NDArray[np.int64]:
        """For each equation type its row among the model's equations, -1 where it has none."""
        parts = [self._load(part, "equations") for part in self._segments]
        return np.concatenate([np.empty(0, np.int64), *parts])

    def _load(self, part: IndexSegment, name: str) -> Array:
        return load_array(self._folder / part.name, name)

    @cached_property
    def means(self) -> tuple[Floats, Floats]:
        """The mean vectors of contexts and of types."""
        contexts, types = load_array(self._folder, "means")
        return contexts, types

    @cached_property
    def has_units(self) -> bool:
        """Whether the model has unit vectors, so that every equation has a vector."""
        return (self._folder / "units.npy").exists()

    @property
    def dim(self) -> int:
        """The dimension of the vectors."""
        return self._words.dim

    @property
    def word_vectors(self) -> Floats:
        """The vectors of the model's words."""
        return self._words.vectors

    def has_word(self, word: str) -> bool:
        """Whether the model has a vector for a word."""
        return self._words.find_word(word) >= 0

    def words_vector(self, words: Iterable[str]) -> Floats:
        """Return the weighted mean direction of words; zeros where none is known.

        A compound without a vector has those of its parts.
        """
        total = np.zeros(self.dim, np.float32)
        for word in words:
            for part in [word] if self.has_word(word) else word.split("-"):
                row = self._words.find_word(part)
                if row >= 0:
                    total += self._words.weights[row] * self._words.vectors[row]
        return normalise(total)

    def equation_vector(self, shape: Layout) -> Floats:
        """Return the direction of an equation: of its units, or the model's own vector of it.

        Zeros where the model has neither.
        """
        if self.has_units:
            return self.units_vector(["\t".join(unit) for unit in shape.units()])
        equations = self._segments.equations_of_key(key(shape.canonical()))
        if self.types is None or not len(equations):
            return np.zeros(self.dim, np.float32)
        return np.array(self.types.rows([int(self._segments.types[equations[0]])])[0])

    def units_vector(self, units: Sequence[str]) -> Floats:
        """Return the direction of an equation that is given by its units."""
        return normalise(self.sum_units(units)[0])

    def sum_units(self, units: Sequence[str]) -> tuple[Floats, int]:
        """Return the sum of units, and how many of them, or of their kinds, are known."""
        rows = self._units.find_all(units)
        known = self._units.is_known(rows)
        return self._units.sum(rows[known]), int(known.sum())

    @cached_property
    def _units(self) -> _UnitVectors:
        return _UnitVectors(self._folder)
