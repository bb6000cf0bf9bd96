"""The labels of regions of a map: words by which the equations of a region differ from others.

Regions are found by k-means. A label stands at the point in the middle of its region; afterwards a
point belongs to the nearest label of each level, so that points can come and go.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqemb.facade.label_words import LabelWords
from eqemb.search.engine import Search

#: Number of labelled regions at each zoom level, from far to near.
LEVELS = (14, 56, 180)
#: Fewest points per labelled region, on average.
_LEAST_POINTS = 12
#: Words of a label, and the number of regions on one level for each further use of a word.
_LABEL_WORDS, _REGIONS_PER_USE = 2, 60
#: A pair of words is preferred to a word that suits a region a little better: it says more.
_PAIR_WORTH = 1.5

Array = NDArray[Any]
Floats = NDArray[np.float64]
Json = dict[str, Any]


def label_regions(questions: Search, places: Array, equations: Array) -> list[Json]:
    """Return the labels of every zoom level: words, x, y, level and number of points."""
    labels = list(_labels(questions, places.astype(np.float64), equations))
    counts = count_points(labels, places)
    # two labels at one place are one
    return [label | {"points": n} for label, n in zip(labels, counts, strict=True) if n]


def update_labels(labels: list[Json], gone: Array, new: Array) -> list[Json]:
    """Return the labels that still have points, given the places of points gone and of new ones."""
    less, more = count_points(labels, gone), count_points(labels, new)
    counts = [label["points"] - a + b for label, a, b in zip(labels, less, more, strict=True)]
    return [label | {"points": n} for label, n in zip(labels, counts, strict=True) if n]


def count_points(labels: Sequence[Json], places: Array) -> list[int]:
    """Return how many of some points belong to each label: to the nearest one of its level."""
    counts = np.zeros(len(labels), np.int64)
    for level in {label["level"] for label in labels} if len(places) else ():
        own = np.array([at for at, label in enumerate(labels) if label["level"] == level])
        centres = np.array([(labels[at]["x"], labels[at]["y"]) for at in own], np.float64)
        counts[own] = np.bincount(_closest(places.astype(np.float64), centres), minlength=len(own))
    return counts.tolist()


def _labels(questions: Search, places: Floats, equations: Array) -> Iterator[Json]:
    """Yield the labels of every zoom level."""
    words_of = LabelWords(questions, equations)
    for level, most in enumerate(LEVELS):
        count = min(most, len(places) // _LEAST_POINTS)
        if level and count <= LEVELS[level - 1]:
            return
        regions = [np.flatnonzero(part) for part in _regions(places, max(count, 1))]
        region_of = np.zeros(len(places), np.int64)
        for number, points in enumerate(regions):
            region_of[points] = number
        chosen = _distinctive_stems(words_of.weights(region_of))
        for points, words in zip(regions, chosen, strict=True):
            if not words:
                continue
            middle = np.median(places[points], axis=0)
            near = points[((places[points] - middle) ** 2).sum(axis=1).argmin()]
            yield {
                "words": [words_of.spelling[word] for word in words],
                "x": int(places[near, 0]),
                "y": int(places[near, 1]),
                "level": level,
            }


def _worth(stem: str) -> float:
    return _PAIR_WORTH if " " in stem else 1.0


def _repeats(stem: str, chosen: Sequence[str]) -> bool:
    """Return whether a stem, or a part of a pair, is among those of a label."""
    return not {part for each in chosen for part in each.split()}.isdisjoint(stem.split())


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


def _distinctive_stems(said: list[dict[str, float]]) -> list[list[str]]:
    """Return for each region the stems by which it differs most from all regions together.

    A stem labels one region only, or a few where there are many, those that it suits best: labels
    that say the same do not tell regions apart. Every region gets a first stem before any gets a
    second.
    """
    mean: dict[str, float] = defaultdict(float)
    for stems in said:
        for stem, weight in stems.items():
            mean[stem] += weight / len(said)
    # contribution to the KL divergence from the mean; with a single region, the weight
    pairs = sorted(
        (-weight * math.log(weight / mean[stem]) * _worth(stem), -weight, stem, region)
        for region, stems in enumerate(said)
        for stem, weight in stems.items()
    )
    chosen: list[list[str]] = [[] for _ in said]
    free: dict[str, int] = defaultdict(lambda: 1 + len(said) // _REGIONS_PER_USE)
    for count in range(1, _LABEL_WORDS + 1):
        for _, _, stem, region in pairs:
            if free[stem] and len(chosen[region]) < count and not _repeats(stem, chosen[region]):
                chosen[region].append(stem)
                free[stem] -= 1
    return chosen
