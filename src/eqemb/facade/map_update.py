"""Update the map of a library for a change of the library, without a new layout.

Types that stay keep their places; types that are gone are dropped. A new type is placed near the
most similar ones of a sample of the layout, so that vectors are compared in proportion to the new
types. Only the list of points, which is read and written as a whole, grows with the library.
"""

from pathlib import Path

import numpy as np

from eqemb.facade.equation_map import (
    SIDE,
    EquationMap,
    equation_fields,
    points,
    type_keys,
    vectors_of,
)
from eqemb.facade.map_labels import Array, Floats, update_labels
from eqemb.index.segments import open_index
from eqemb.library.generations import OpenLibrary
from eqemb.library.manifest import Manifest
from eqemb.search.engine import Search

#: Points of the layout that a new type is compared with.
SAMPLE = 4_000
#: The most similar ones, by which a new type is placed.
_NEAREST = 3
_COMPARED_AT_ONCE = 1_000
#: Largest distance of a new point from the place that its neighbours give, so that points of
#: similar types can be told apart.
_SPREAD = SIDE / 250


def carry_map(generation: Path, before: Path) -> None:
    """Give a generation the map of the one before, updated; nothing if that had none.

    A layout by the vectors of another model is not kept.
    """
    old = EquationMap.load(before)
    manifest = Manifest.load(generation)
    if old is None or manifest.vectors != Manifest.load(before).vectors:
        return
    with OpenLibrary(generation.parents[1], generation, manifest=manifest) as library:
        vectors = library.home / "vectors" / manifest.vectors if manifest.vectors else None
        made = update(old, Search(library.records, open_index(library), vectors))
    if made is not None:
        made.save(generation)


def update(old: EquationMap, questions: Search) -> EquationMap | None:
    """Return a map updated for the types of a library; None if no point of its layout is left."""
    equations, point_of = points(questions)
    keys = type_keys(questions, equations)
    before = _find(old.key, keys)
    is_new = before < 0
    placed = is_new | old.placed[before]
    layout = np.flatnonzero(~placed)
    if not len(layout):
        return None
    places = np.stack((old.x, old.y), axis=1)[before]
    new = np.flatnonzero(is_new)
    if len(new):
        # keys are hashes: the smallest ones are a random sample, and remain it
        some = layout[np.argsort(keys[layout], kind="stable")[:SAMPLE]]
        vectors = vectors_of(questions, point_of, np.concatenate((new, some)))
        places[new] = place(
            vectors[: len(new)], keys[new], vectors[len(new) :], places[some].astype(np.float64)
        )
    gone = np.ones(len(old.key), bool)
    gone[before[~is_new]] = False
    return old._replace(
        x=places[:, 0],
        y=places[:, 1],
        placed=placed,
        labels=update_labels(old.labels, np.stack((old.x[gone], old.y[gone]), axis=1), places[new]),
        **equation_fields(questions, equations),
    )


def _find(keys: Array, wanted: Array) -> Array:
    """Return the places of wanted keys among keys, -1 for those that are not there."""
    order = np.argsort(keys)
    at = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)]
    found: Array = np.where(keys[at] == wanted, at, -1)
    return found


def place(vectors: Floats, keys: Array, known: Floats, places: Floats) -> Array:
    """Return places for new vectors, given vectors of the layout and their places.

    Args:
        vectors: The new vectors.
        keys: For each new vector a number, from which its small offset follows.
        known: Vectors of the layout.
        places: Their places.
    """
    count = min(_NEAREST, len(known))
    made = np.empty((len(vectors), 2))
    for start in range(0, len(vectors), _COMPARED_AT_ONCE):
        some = slice(start, start + _COMPARED_AT_ONCE)
        apart = squared_distances(vectors[some], known)
        nearest = np.argpartition(apart, count - 1)[:, :count]
        made[some] = np.median(places[nearest], axis=1)
    angle = (keys % np.uint64(65_536)).astype(np.float64) * (2 * np.pi / 65_536)
    radius = (keys // np.uint64(65_536) % np.uint64(65_536)).astype(np.float64) / 65_536
    offset = np.sqrt(radius)[:, None] * np.stack((np.cos(angle), np.sin(angle)), axis=1)
    found: Array = np.clip(np.rint(made + _SPREAD * offset), 0, SIDE).astype(np.uint16)
    return found


def squared_distances(vectors: Floats, known: Floats) -> Floats:
    """Return the squared distance of each vector from each known one."""
    lengths = (vectors**2).sum(axis=1)[:, None] + (known**2).sum(axis=1)
    made: Floats = lengths - 2 * vectors @ known.T
    return made
