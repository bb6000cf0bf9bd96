"""The map of a library: its equation types in two dimensions, with labels for regions.

    generations/N/map/map.json     the response of `/v1/map`
    generations/N/map/types.npy    for each point the key of its type, and whether it was placed

The vector of a type is that of its units, joined with the mean of its contexts; without a model, it
is computed from the words around it. UMAP (the extra `map`) lays out the types, or PCA if UMAP is
not installed. The same index gives the same layout. A change of the library keeps the layout and
places new types in it (`map_update`), until `map_of` computes the layout again. Points are stored
as base64 of little-endian arrays: 20,000 points take 250 kB.
"""

import base64
import json
import logging
import warnings
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from eqemb.errors import EqembError, UsageError
from eqemb.facade.map_labels import Array, Floats, Json, label_regions
from eqemb.index.vector_index import normalise
from eqemb.library.generations import read_state
from eqemb.library.links import refuse_links
from eqemb.search.engine import Search
from eqemb.storage import atomic
from eqemb.storage.array_file import open_npy
from eqemb.storage.checksums import check_folder, seal
from eqemb.storage.numba_settings import import_numba

#: Version of the files. Increased whenever their content or the computation changes.
MAP_FORMAT = 4
#: Largest coordinate; the smallest is 0.
SIDE = 65_535
#: Largest share of placed points; the layout is computed again if it is exceeded.
PLACED_SHARE = 0.2
_log = logging.getLogger("eqemb")
_AXES = 50  # principal components that UMAP receives
_DRAWN = 100  # dimensions of the projection of words, without a model
_FEW = 30  # points; with fewer, neighbours mean little and PCA is used
#: Collections with an index of their own; the others share one.
_COLLECTIONS = 255


class MapSummary(NamedTuple):
    """What a map consists of, without its points."""

    method: str
    points: int
    placed: int
    """Number of points that were placed near similar ones since the layout was computed."""
    layout: Json
    """The generation for which the layout was computed, and the number of its points."""
    labels: list[Json]

    @property
    def outdated(self) -> str:
        """Why the layout should be computed again; "" if it need not."""
        if self.method == "pca" and method(self.points) == "umap":
            return "the method was pca"
        if self.placed > PLACED_SHARE * self.points:
            return f"{self.placed:,} of {self.points:,} points were placed approximately"
        return ""


class EquationMap(NamedTuple):
    """A map: points, and labels of regions."""

    method: str
    """"umap" or "pca"."""
    layout: Json
    """The generation for which the layout was computed, and the number of its points."""
    x: Array
    y: Array
    key: Array
    """For each point: the key of its equation type."""
    placed: Array
    """For each point: whether it was placed near similar ones since the layout was computed."""
    equation: Array
    """For each point: the first equation of its type, by its position in the library."""
    collection: Array
    """For each point: the index of its collection."""
    collections: list[str]
    articles: list[tuple[str, int]]
    """Every article with equations, and the position of its first equation."""
    labels: list[Json]
    """Words, x, y, zoom level (0 is farthest) and number of points of each label.

    A point belongs to the nearest label of each level.
    """

    @property
    def summary(self) -> MapSummary:
        """The map without its points."""
        placed = int(self.placed.sum())
        return MapSummary(self.method, len(self.x), placed, self.layout, self.labels)

    def to_json(self) -> bytes:
        """Return what is served: all but the types of the points."""
        fields = self._asdict() | {"format": MAP_FORMAT, "side": SIDE} | self.summary._asdict()
        del fields["key"]
        for name, kind in _POINT_DTYPES.items():
            fields[name] = base64.b64encode(fields[name].astype(kind).tobytes()).decode()
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode(
            "utf-8", "backslashreplace"
        )

    def save(self, generation: Path) -> None:
        """Store the map of a generation."""
        place = map_place(generation)
        types = np.empty(len(self.key), _TYPE_DTYPE)
        types["key"], types["placed"] = self.key, self.placed
        with atomic.new_folder(place.parent, replace=True) as folder:
            (folder / place.name).write_bytes(self.to_json())
            np.save(folder / _TYPE_FILE, types)
            seal(folder)

    @classmethod
    def load(cls, generation: Path) -> Self | None:
        """Read the map of a generation; None if there is none that this version can read."""
        place = map_place(generation)
        try:
            fields = _read_fields(place)
            types = np.array(open_npy(place.with_name(_TYPE_FILE)))
            if types.dtype != _TYPE_DTYPE or len(types) != fields["points"]:
                return None
            for name, kind in _POINT_DTYPES.items():
                fields[name] = np.frombuffer(base64.b64decode(fields[name]), kind)
            fields |= {"key": types["key"], "placed": types["placed"]}
            fields["articles"] = [(name, first) for name, first in fields["articles"]]
            return cls(**{name: fields[name] for name in cls._fields})
        except _UNREADABLE:
            return None


_POINT_DTYPES = {"x": "<u2", "y": "<u2", "equation": "<u4", "collection": "u1"}
_TYPE_FILE, _TYPE_DTYPE = "types.npy", np.dtype([("key", "<u8"), ("placed", "?")])
_UNREADABLE = (EqembError, OSError, EOFError, ValueError, KeyError, TypeError)


# ------------------------------------------------------------ storage


class Mapped(Protocol):
    """What the map needs of a `Library`, which this module cannot import: it builds libraries."""

    @property
    def folder(self) -> Path: ...  # noqa: D102

    @property
    def generation(self) -> Path: ...  # noqa: D102

    @property
    def engine(self) -> Search: ...  # noqa: D102


def map_of(library: Mapped, *, recompute: bool = False) -> EquationMap:
    """Return the stored map of a library; compute and store it if there is none.

    It is also computed if asked, or if the stored one is `outdated`.
    """
    if not recompute:
        stored = stored_map(library)
        if stored is not None and not stored.summary.outdated:
            return stored
    refuse_links(library.folder)
    made = compute(library.engine, int(library.generation.name))
    state = read_state(library.folder)
    if state is None or str(state["generation"]) != library.generation.name:
        raise EqembError(f"{library.folder} was changed while its map was computed: try again")
    made.save(library.generation)
    return made


def map_place(generation: Path) -> Path:
    """Return the path of a generation's map, which may not exist."""
    return generation / "map" / "map.json"


def stored_map(library: Mapped) -> EquationMap | None:
    """Return the stored map of a library, or None if there is none that this version can read."""
    return EquationMap.load(library.generation)


def map_summary(generation: Path) -> MapSummary | None:
    """Return the summary of a generation's map; None if there is no map that can be read.

    The file is read once: the result is cached until it changes.
    """
    place = map_place(generation)
    try:
        found = place.stat()
    except OSError:
        return None
    return _summary(place, found.st_ino, found.st_mtime_ns)


@lru_cache(maxsize=4)
def _summary(place: Path, _file: int, _changed: int) -> MapSummary | None:
    try:
        fields = _read_fields(place)
        return MapSummary(**{name: fields[name] for name in MapSummary._fields})
    except _UNREADABLE:
        return None


def _read_fields(place: Path) -> Json:
    """Return the content of a map's file; a damaged map is computed again."""
    try:
        check_folder(place.parent)
    except EqembError as error:
        _log.warning("the map cannot be used: %s", error)
        raise
    fields: Json = json.loads(place.read_bytes())
    if fields["format"] != MAP_FORMAT:
        raise ValueError(f"format {fields['format']}")
    return fields


def method(points: int) -> str:
    """Return the layout method for a number of points: "umap" or "pca"."""
    return "umap" if points >= _FEW and _has_umap() else "pca"


def _has_umap() -> bool:
    """Whether UMAP is installed; a folder of caches that an uninstallation left has no origin."""
    found = find_spec("umap")
    return found is not None and found.origin is not None


# ------------------------------------------------------------ layout


def compute(questions: Search, generation: int = 1) -> EquationMap:
    """Lay out the equation types of a library, and label the regions."""
    equations, point_of = points(questions)
    vectors = vectors_of(questions, point_of, np.arange(len(equations)))
    how = method(len(vectors))
    places = _scaled(_umap(vectors) if how == "umap" else main_axes(vectors, 2))
    return EquationMap(
        method=how,
        layout={"generation": generation, "points": len(places)},
        x=places[:, 0],
        y=places[:, 1],
        placed=np.zeros(len(places), bool),
        labels=label_regions(questions, places, equations),
        **equation_fields(questions, equations),
    )


def equation_fields(questions: Search, equations: Array) -> Json:
    """Return the fields of a map that say what its points are, given the equation of each."""
    names = {key: (name, collection) for key, name, collection in questions.records.article_ids()}
    live = np.flatnonzero(questions.segments.live)
    keys, firsts = np.unique(questions.articles[live], return_index=True)
    groups = [names[key][1] for key in questions.articles[equations].tolist()]
    collections, rows = _by_size(groups)
    return {
        "key": type_keys(questions, equations),
        "equation": equations,
        "collection": rows,
        "collections": collections,
        "articles": [
            (names[key][0], first)
            for key, first in zip(keys.tolist(), live[firsts].tolist(), strict=True)
        ],
    }


def type_keys(questions: Search, equations: Array) -> Array:
    """Return the keys of the types of equations."""
    keys: Array = questions.segments.type_keys[questions.types[equations]]
    return keys


def points(questions: Search) -> tuple[Array, Array]:
    """Return the first equation of each type, in order, and the point of each equation, or -1."""
    rows = np.flatnonzero(questions.segments.live)
    _, firsts, type_of = np.unique(
        type_keys(questions, rows), return_index=True, return_inverse=True
    )
    order = np.argsort(firsts)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    point_of = np.full(len(questions.types), -1)
    point_of[rows] = rank[type_of]
    return rows[firsts[order]], point_of


def vectors_of(questions: Search, point_of: Array, chosen: Array) -> Floats:
    """Return the vectors of some points: the directions of their units, and of their contexts.

    Only the vectors of their equations are read. Without a model, the words of the contexts alone
    are used.
    """
    if not len(chosen):
        raise UsageError("cannot compute a map: the library has no equations")
    number = np.full(max(int(point_of.max(initial=-1)), int(chosen.max())) + 2, -1)
    number[chosen] = np.arange(len(chosen))
    place_of = number[point_of]  # the last of `number` is that of equations without a point
    rows = np.flatnonzero(place_of >= 0)
    space = questions.vectors
    said = _word_vectors(questions, rows) if space is None else space.contexts.rows(rows.tolist())
    contexts = np.zeros((len(chosen), said.shape[1]), np.float64)
    np.add.at(contexts, place_of[rows], said)
    parts = [normalise(contexts)]
    if space is not None and space.types is not None:
        firsts = np.zeros(len(chosen), np.int64)
        firsts[place_of[rows][::-1]] = rows[::-1]  # the last write wins: the first equation
        parts.append(space.types.rows(questions.types[firsts].tolist()))
    return np.concatenate(parts, axis=1).astype(np.float64)


def _word_vectors(questions: Search, rows: Array) -> Array:
    """Return directions of equations by their words alone, for libraries without a model.

    Each stem adds its idf along a random direction, so that equations with the same words get
    similar vectors. The direction follows from the stem's key, and stems are added in the order of
    their keys, so that the numbering of stems in a segment has no effect.
    """
    stems, weights = list[Array](), list[Array]()
    for row in rows.tolist():
        segment, own = questions.segments.of_equation(row)
        part = questions.text.parts[segment.number]
        of, weight = part.forward.of(own)
        keys = part.stem_keys[of]
        order = np.argsort(keys)
        stems.append(keys[order])
        weights.append(np.asarray(weight)[order])
    every, which = np.unique(np.concatenate(stems), return_inverse=True)
    drawn = _random_signs(every, _DRAWN)
    drawn *= questions.text.idfs(every)[:, None].astype(np.float32)
    ends = np.cumsum([len(keys) for keys in stems])[:-1]
    made = [weight @ drawn[of] for weight, of in zip(weights, np.split(which, ends), strict=True)]
    return normalise(np.stack(made))


def _random_signs(keys: Array, dim: int) -> NDArray[np.float32]:
    """Return a row of +1 and -1 for each key, by SplitMix64."""
    steps = np.arange(1, -(-dim // 64) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    bits = keys[:, None] + steps
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    shifts = np.arange(64, dtype=np.uint64)
    signs = ((bits[:, :, None] >> shifts) & np.uint64(1)).reshape(len(keys), 64 * len(steps))
    signs = signs[:, :dim]
    found: NDArray[np.float32] = signs.astype(np.float32) * 2 - 1
    return found


def main_axes(vectors: Floats, count: int) -> Floats:
    """Project vectors on their principal components, with a fixed sign for each component."""
    centred = vectors - vectors.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    axes = axes[:, ::-1][:, :count]
    largest = np.abs(axes).argmax(axis=0)
    axes = axes * np.where(axes[largest, np.arange(axes.shape[1])] < 0, -1.0, 1.0)
    found: Floats = np.zeros((len(vectors), count))
    found[:, : axes.shape[1]] = centred @ axes
    return found


def _umap(vectors: Floats) -> Floats:
    """Lay out vectors by UMAP, with one thread and a fixed seed, so that the result is fixed."""
    import_numba()  # without the settings of the current folder
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ImportWarning
        )  # UMAP warns that TensorFlow is missing, which it needs only for another method
        from umap import UMAP

    rough = main_axes(vectors, min(_AXES, vectors.shape[1]))
    start = 10 * rough[:, :2] / np.maximum(np.abs(rough[:, :2]).max(axis=0), 1e-12)
    made = UMAP(
        n_neighbors=min(15, len(vectors) - 1),
        min_dist=0.15,
        init=start.astype(np.float32),
        random_state=0,
        n_jobs=1,
    )
    return np.asarray(made.fit_transform(rough.astype(np.float32)), np.float64)


def _scaled(places: Floats) -> Array:
    """Scale coordinates to integers up to `SIDE`, both axes by the same factor, centred.

    So that a few outliers do not squeeze all other points, coordinates outside the middle 98 % of
    an axis are compressed into a margin of a tenth of that range.
    """
    low, high = np.quantile(places, (0.01, 0.99), axis=0)
    edge = np.maximum((high - low) / 10, 1e-12)
    inside = np.clip(places, low, high)
    out = places - inside
    places = inside + out * edge / (np.abs(out) + edge)
    low, high = places.min(axis=0), places.max(axis=0)
    scale = SIDE / max(float((high - low).max()), 1e-12)
    margin = (SIDE - (high - low) * scale) / 2
    found: Array = np.clip(np.rint((places - low) * scale + margin), 0, SIDE).astype(np.uint16)
    return found


def _by_size(groups: list[str]) -> tuple[list[str], Array]:
    """Return the collections, largest first, and the index of each point's collection."""
    names, where, counts = np.unique(np.array(groups), return_inverse=True, return_counts=True)
    order = np.lexsort((names, -counts))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    kept = [str(names[at]) for at in order[:_COLLECTIONS]]
    if len(order) > _COLLECTIONS:
        kept.append("others")
    return kept, np.minimum(rank[where], _COLLECTIONS).astype(np.uint8)
