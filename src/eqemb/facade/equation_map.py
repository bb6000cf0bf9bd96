"""The map of a library: its equation types in two dimensions, with labels for regions.

    generations/N/map/map.json    the response of `/v1/map`

The vector of a type is that of its units, joined with the mean of its contexts; without a model, it
is computed from the words around it. UMAP (the extra `map`) lays out the types, or PCA if UMAP is
not installed. The same index gives the same map. Points are stored as base64 of little-endian
arrays: 20,000 points take 250 kB.
"""

import base64
import json
import math
import warnings
from collections import defaultdict
from collections.abc import Container, Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from eqemb.errors import EqembError, UsageError
from eqemb.facade.library import Library
from eqemb.index.postings import first_occurrences
from eqemb.index.text import TextIndex
from eqemb.index.vector_index import normalise
from eqemb.library.generations import read_state
from eqemb.search.engine import Search
from eqemb.storage import atomic

#: Version of the file. Increased whenever its content or the computation changes.
MAP_FORMAT = 1
#: Number of labelled regions at each zoom level, from far to near.
LEVELS = (14, 56, 180)
#: Fewest points per labelled region, on average.
_LEAST_POINTS = 12
#: Largest coordinate; the smallest is 0.
SIDE = 65_535
_AXES = 50  # principal components that UMAP receives
_DRAWN = 100  # dimensions of the projection of words, without a model
_FEW = 30  # points; with fewer, neighbours mean little and PCA is used
_TOPIC_STEMS, _LABEL_WORDS = 60, 2  # stems that describe a region, and words of its label
_RARE = 20  # fewest occurrences of a label's word in the text
#: Collections with an index of their own; the others share one.
_COLLECTIONS = 255

Array = NDArray[Any]
Floats = NDArray[np.float64]
Json = dict[str, Any]


class EquationMap(NamedTuple):
    """A map: points, and labels of regions."""

    method: str
    """"umap" or "pca"."""
    x: Array
    y: Array
    equation: Array
    """For each point: the first equation of its type, by its position in the library."""
    collection: Array
    """For each point: the index of its collection."""
    collections: list[str]
    articles: list[tuple[str, int]]
    """Every article with equations, and the position of its first equation."""
    labels: list[Json]
    """Words, x, y, zoom level (0 is farthest) and number of points of each label."""

    def to_json(self) -> bytes:
        """Return the file that is stored and served."""
        fields = self._asdict() | {"format": MAP_FORMAT, "points": len(self.x), "side": SIDE}
        for name, kind in _POINT_DTYPES.items():
            fields[name] = base64.b64encode(fields[name].astype(kind).tobytes()).decode()
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode(
            "utf-8", "backslashreplace"
        )

    @classmethod
    def from_json(cls, data: bytes) -> Self:
        """Read a stored map."""
        fields = json.loads(data)
        if fields["format"] != MAP_FORMAT:
            raise ValueError(f"format {fields['format']}")
        for name, kind in _POINT_DTYPES.items():
            fields[name] = np.frombuffer(base64.b64decode(fields[name]), kind)
        fields["articles"] = [(name, first) for name, first in fields["articles"]]
        return cls(**{name: fields[name] for name in cls._fields})


_POINT_DTYPES = {"x": "<u2", "y": "<u2", "equation": "<u4", "collection": "u1"}


# ------------------------------------------------------------ storage


def map_of(library: Library, *, recompute: bool = False) -> EquationMap:
    """Return the map of a library; the first call computes and stores it."""
    place = map_place(library.generation)
    if not recompute:
        stored = stored_map(library)
        if stored is not None and stored.method == method(len(stored.x)):
            return stored
    made = compute(library.engine)
    state = read_state(library.folder)
    if state is None or str(state["generation"]) != library.generation.name:
        raise EqembError(f"{library.folder} was changed while its map was computed: try again")
    with atomic.new_folder(place.parent, replace=True) as folder:
        (folder / place.name).write_bytes(made.to_json())
    return made


def map_place(generation: Path) -> Path:
    """Return the path of a generation's map, which may not exist."""
    return generation / "map" / "map.json"


def stored_map(library: Library) -> EquationMap | None:
    """Return the stored map of a library, or None if there is none that this version can read."""
    return _read(map_place(library.generation))


def has_map(generation: Path) -> bool:
    """Return whether a generation has a map that this version can read."""
    place = map_place(generation)
    try:
        found = place.stat()
    except OSError:
        return False
    return _is_readable(place, found.st_ino, found.st_mtime_ns)


@lru_cache(maxsize=4)
def _is_readable(place: Path, _file: int, _changed: int) -> bool:
    """Return whether a map can be read; the result is cached until the file changes."""
    return _read(place) is not None


def _read(place: Path) -> EquationMap | None:
    try:
        return EquationMap.from_json(place.read_bytes())
    except (OSError, ValueError, KeyError, TypeError):
        return None


def method(points: int) -> str:
    """Return the layout method for a number of points: "umap" or "pca"."""
    return "umap" if points >= _FEW and find_spec("umap") is not None else "pca"


# ------------------------------------------------------------ layout


def compute(questions: Search) -> EquationMap:
    """Lay out the equation types of a library, and label the regions."""
    vectors = vectors_of(questions)
    how = method(len(vectors))
    places = _scaled(_umap(vectors) if how == "umap" else main_axes(vectors, 2))
    equations = first_occurrences(questions.types)
    names = {key: (name, collection) for key, name, collection in questions.records.article_ids()}
    keys, firsts = np.unique(questions.articles, return_index=True)
    groups = [names[key][1] for key in questions.articles[equations].tolist()]
    collections, rows = _by_size(groups)
    return EquationMap(
        method=how,
        x=places[:, 0],
        y=places[:, 1],
        equation=equations,
        collection=rows,
        collections=collections,
        articles=[
            (names[key][0], first)
            for key, first in zip(keys.tolist(), firsts.tolist(), strict=True)
        ],
        labels=list(_labels(questions, places.astype(np.float64), equations)),
    )


def vectors_of(questions: Search) -> Floats:
    """Return a vector for each type: the direction of its units, and the mean of its contexts.

    Without a model, only the words of the contexts are used.
    """
    space, types = questions.vectors, questions.types
    if not len(types):
        raise UsageError("cannot compute a map: the library has no equations")
    said = (
        normalise(questions.text.random_projection(range(len(types)), _DRAWN))
        if space is None
        else space.contexts.matrix
    )
    contexts = np.zeros((int(types.max()) + 1, said.shape[1]), np.float64)
    np.add.at(contexts, types, said)
    parts = [normalise(contexts)]
    if space is not None and space.types is not None:
        parts.append(normalise(space.types.matrix))
    return np.concatenate(parts, axis=1).astype(np.float64)


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


# ------------------------------------------------------------ labels


def _labels(questions: Search, places: Floats, equations: Array) -> Iterator[Json]:
    """Yield the labels of every zoom level."""
    spelt = _spellings(questions.text)
    for level, most in enumerate(LEVELS):
        count = min(most, len(places) // _LEAST_POINTS)
        if level and count <= LEVELS[level - 1]:
            return
        regions = [np.flatnonzero(part) for part in _regions(places, max(count, 1))]
        said = [_said(questions.text, equations[points], spelt) for points in regions]
        for points, words in zip(regions, _distinctive_stems(said), strict=True):
            if not words:
                continue
            middle = np.median(places[points], axis=0)
            near = points[((places[points] - middle) ** 2).sum(axis=1).argmin()]
            yield {
                "words": [spelt[word] for word in words],
                "x": int(places[near, 0]),
                "y": int(places[near, 1]),
                "level": level,
                "points": len(points),
            }


def _regions(places: Floats, count: int, rounds: int = 25) -> Iterator[Array]:
    """Yield a mask of points for each region, by k-means with k-means++ seeding."""
    draw = np.random.default_rng(0)
    centres = places[[int(draw.integers(len(places)))]]
    nearest = ((places - centres[0]) ** 2).sum(axis=1)
    while len(centres) < count and nearest.max() > 0:
        chosen = places[int(draw.choice(len(places), p=nearest / nearest.sum()))]
        centres = np.vstack((centres, chosen))
        nearest = np.minimum(nearest, ((places - chosen) ** 2).sum(axis=1))
    for _ in range(rounds):
        of = _closest(places, centres)
        counts = np.bincount(of, minlength=len(centres))
        sums = np.stack([np.bincount(of, axis, len(centres)) for axis in places.T], axis=1)
        centres = np.where(counts[:, None], sums / np.maximum(counts, 1)[:, None], centres)
    of = _closest(places, centres)
    for region in np.unique(of):
        yield of == region


def _closest(places: Floats, centres: Floats) -> Array:
    """Return the nearest centre of each point, computed in slices."""
    parts = [
        ((places[at : at + 4096, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        for at in range(0, len(places), 4096)
    ]
    return np.concatenate(parts)


def _said(text: TextIndex, equations: Array, spelt: Container[int]) -> dict[int, float]:
    """Return the weights of the stems that best describe the equations of a region."""
    topic = text.topic(equations.tolist(), [1.0] * len(equations), _TOPIC_STEMS)
    return {stem: weight for stem, weight in topic.items() if stem in spelt}


def _distinctive_stems(said: list[dict[int, float]]) -> Iterator[list[int]]:
    """Yield for each region the stems by which it differs most from all regions together."""
    mean: dict[int, float] = defaultdict(float)
    for stems in said:
        for stem, weight in stems.items():
            mean[stem] += weight / len(said)
    for stems in said:
        # contribution to the KL divergence from the mean; with a single region, the weight
        worth = {stem: (w * math.log(w / mean[stem]), w) for stem, w in stems.items()}
        yield sorted(worth, key=lambda stem: (worth[stem], -stem), reverse=True)[:_LABEL_WORDS]


def _spellings(text: TextIndex) -> dict[int, str]:
    """Return the most frequent word of each stem; rare stems are left out."""
    counts = np.bincount(text.tokens, minlength=len(text.stem_of))
    totals = np.bincount(text.stem_of, counts)
    least = min(_RARE, len(text.places) // 50)  # fewer in a small library
    order = np.lexsort(
        (-np.arange(len(counts)), counts)
    )  # the most frequent word comes last, and stays
    return {
        int(text.stem_of[row]): text.words[row]
        for row in order.tolist()
        if totals[text.stem_of[row]] >= least
    }
