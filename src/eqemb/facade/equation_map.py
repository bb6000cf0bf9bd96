"""The map of a library: its kinds of equations in two dimensions, and words for their regions.

    generations/N/map/map.json    what `/v1/map` serves, as it is

A kind of equation is a type; its vector is that of its units joined with the mean of its contexts,
or is made of the words around it where there is no model.
UMAP (the extra `map`) lays them out, or where it is missing the two main axes. The same index gives
the same map. Numbers of points travel as base64 of little-endian arrays: 20,000 points are 250 kB.
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

#: Raised whenever the file, or what is computed, changes.
FORMAT = 1
#: How many regions have names: seen from afar, nearer, and near.
LEVELS = (14, 56, 180)
#: Points that a region of the nearest level has at least, on average.
_LEAST = 12
#: The coordinates go from 0 to this.
SIDE = 65_535
_AXES = 50  # of the vectors that are laid out
_DRAWN = 100  # and of words, where there is no model
_FEW = 30  # points for which neighbours mean little
_SAID, _WORDS = 60, 2  # stems that speak for a region, and words of its label
_RARE = 20  # times that a word stands in the text at least: names of labels are no words
#: Collections with a number of their own; the rest are one.
_COLLECTIONS = 255

Array = NDArray[Any]
Floats = NDArray[np.float64]
Json = dict[str, Any]


class Map(NamedTuple):
    """A map, as it is drawn."""

    method: str
    """"umap" or "pca"."""
    x: Array
    y: Array
    equation: Array
    """Of each point: the first equation of its type, by its place in the library."""
    collection: Array
    """Of each point: the row of its collection."""
    collections: list[str]
    articles: list[tuple[str, int]]
    """Every article with equations, and the place of its first."""
    labels: list[Json]
    """Words, x, y, the level (0 is seen from afar) and how many points they speak for."""

    def to_json(self) -> bytes:
        """What is kept and served."""
        told = self._asdict() | {"format": FORMAT, "points": len(self.x), "side": SIDE}
        for name, kind in _KINDS.items():
            told[name] = base64.b64encode(told[name].astype(kind).tobytes()).decode()
        return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode(
            "utf-8", "backslashreplace"
        )

    @classmethod
    def from_json(cls, data: bytes) -> Self:
        """The map that was kept."""
        told = json.loads(data)
        if told["format"] != FORMAT:
            raise ValueError(f"format {told['format']}")
        for name, kind in _KINDS.items():
            told[name] = np.frombuffer(base64.b64decode(told[name]), kind)
        told["articles"] = [(name, first) for name, first in told["articles"]]
        return cls(**{name: told[name] for name in cls._fields})


_KINDS = {"x": "<u2", "y": "<u2", "equation": "<u4", "collection": "u1"}


# ------------------------------------------------------------ keeping it


def map_of(library: Library, *, anew: bool = False) -> Map:
    """The map of a library; computed when it is first asked for, and kept with its generation."""
    place = map_place(library.generation)
    if not anew:
        kept = kept_map(library)
        if kept is not None and kept.method == method(len(kept.x)):
            return kept
    made = compute(library.engine)
    state = read_state(library.folder)
    if state is None or str(state["generation"]) != library.generation.name:
        raise EqembError(f"{library.folder} was changed while its map was made: ask again")
    with atomic.new_folder(place.parent, replace=True) as folder:
        (folder / place.name).write_bytes(made.to_json())
    return made


def map_place(generation: Path) -> Path:
    """Where the map of a generation lies, if it was made."""
    return generation / "map" / "map.json"


def kept_map(library: Library) -> Map | None:
    """The map that a library has; None where it has none, or one that this version cannot read."""
    return _read(map_place(library.generation))


def has_map(generation: Path) -> bool:
    """Whether a generation has a map that this version can read."""
    place = map_place(generation)
    try:
        found = place.stat()
    except OSError:
        return False
    return _is_readable(place, found.st_ino, found.st_mtime_ns)


@lru_cache(maxsize=4)
def _is_readable(place: Path, _file: int, _changed: int) -> bool:
    """Read once, until it is another file."""
    return _read(place) is not None


def _read(place: Path) -> Map | None:
    try:
        return Map.from_json(place.read_bytes())
    except (OSError, ValueError, KeyError, TypeError):
        return None


def method(points: int) -> str:
    """How so many points are laid out here."""
    return "umap" if points >= _FEW and find_spec("umap") is not None else "pca"


# ------------------------------------------------------------ computing it


def compute(questions: Search) -> Map:
    """Lay out the types of a library and name the regions."""
    vectors = vectors_of(questions)
    how = method(len(vectors))
    places = _scaled(_umap(vectors) if how == "umap" else main_axes(vectors, 2))
    equations = first_occurrences(questions.types)
    names: dict[int, tuple[str, str]] = {
        key: (name, collection)
        for key, name, collection in questions.records.rows(
            "SELECT id, name, collection FROM sources"
        )
    }
    keys, firsts = np.unique(questions.articles, return_index=True)
    groups = [names[key][1] for key in questions.articles[equations].tolist()]
    collections, rows = _by_size(groups)
    return Map(
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
    """Of each type: the direction of its units, and the mean direction of its contexts.

    A library without a model has the words of its contexts alone.
    """
    meaning, types = questions.vectors, questions.types
    if not len(types):
        raise UsageError("there is nothing to map: this library has no equations")
    said = (
        normalise(questions.text.random_projection(range(len(types)), _DRAWN))
        if meaning is None
        else meaning.contexts.matrix
    )
    contexts = np.zeros((int(types.max()) + 1, said.shape[1]), np.float64)
    np.add.at(contexts, types, said)
    parts = [normalise(contexts)]
    if meaning is not None and meaning.types is not None:
        parts.append(normalise(meaning.types.matrix))
    return np.concatenate(parts, axis=1).astype(np.float64)


def main_axes(vectors: Floats, count: int) -> Floats:
    """Vectors along the axes on which they differ most; each axis points one way always."""
    centred = vectors - vectors.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    axes = axes[:, ::-1][:, :count]
    largest = np.abs(axes).argmax(axis=0)
    axes = axes * np.where(axes[largest, np.arange(axes.shape[1])] < 0, -1.0, 1.0)
    found: Floats = np.zeros((len(vectors), count))
    found[:, : axes.shape[1]] = centred @ axes
    return found


def _umap(vectors: Floats) -> Floats:
    """Neighbours near each other; one thread and one seed, so that it is the same every time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImportWarning)  # it would like TensorFlow for another use
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
    """Places as whole numbers up to `SIDE`, both axes by one measure, in the middle.

    A few points far off would make all others small: what lies outside the middle 98 % of an axis
    is drawn in, the farther the more, within a tenth of that.
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
    """The collections, those with most points first, and the row of each point."""
    names, where, counts = np.unique(np.array(groups), return_inverse=True, return_counts=True)
    order = np.lexsort((names, -counts))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    kept = [str(names[at]) for at in order[:_COLLECTIONS]]
    if len(order) > _COLLECTIONS:
        kept.append("others")
    return kept, np.minimum(rank[where], _COLLECTIONS).astype(np.uint8)


# ------------------------------------------------------------ naming its regions


def _labels(questions: Search, places: Floats, equations: Array) -> Iterator[Json]:
    """Words for the regions of every level."""
    spelt = _spellings(questions.text)
    for level, most in enumerate(LEVELS):
        count = min(most, len(places) // _LEAST)
        if level and count <= LEVELS[level - 1]:
            return
        regions = [np.flatnonzero(part) for part in _regions(places, max(count, 1))]
        said = [_said(questions.text, equations[points], spelt) for points in regions]
        for points, words in zip(regions, _telling(said), strict=True):
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
    """Which points each region has: k-means, from points that lie far from each other."""
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
    """The centre nearest to each place, slice by slice."""
    parts = [
        ((places[at : at + 4096, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        for at in range(0, len(places), 4096)
    ]
    return np.concatenate(parts)


def _said(wording: TextIndex, equations: Array, spelt: Container[int]) -> dict[int, float]:
    """The stems that say best what the equations of a region have in common."""
    topic = wording.topic(equations.tolist(), [1.0] * len(equations), _SAID)
    return {stem: weight for stem, weight in topic.items() if stem in spelt}


def _telling(said: list[dict[int, float]]) -> Iterator[list[int]]:
    """For each region the stems by which it differs most from all of them together."""
    mean: dict[int, float] = defaultdict(float)
    for stems in said:
        for stem, weight in stems.items():
            mean[stem] += weight / len(said)
    for stems in said:
        # what a stem adds to the divergence of the region; where there is one region, its weight
        worth = {stem: (w * math.log(w / mean[stem]), w) for stem, w in stems.items()}
        yield sorted(worth, key=lambda stem: (worth[stem], -stem), reverse=True)[:_WORDS]


def _spellings(wording: TextIndex) -> dict[int, str]:
    """The word that each stem is mostly met as; rare ones are left out."""
    counts = np.bincount(wording.tokens, minlength=len(wording.stem_of))
    totals = np.bincount(wording.stem_of, counts)
    least = min(_RARE, len(wording.places) // 50)  # a small library has few of anything
    order = np.lexsort((-np.arange(len(counts)), counts))  # the last one written is the commonest
    return {
        int(wording.stem_of[row]): wording.words[row]
        for row in order.tolist()
        if totals[wording.stem_of[row]] >= least
    }
