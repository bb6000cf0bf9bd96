"""The labels of regions of a map: words by which the equations of a region differ from others.

Regions are found by k-means. A label stands at the point in the middle of its region; afterwards a
point belongs to the nearest label of each level, so that points can come and go.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqemb.index.text_index import TextIndex
from eqemb.search.engine import Search

#: Number of labelled regions at each zoom level, from far to near.
LEVELS = (14, 56, 180)
#: Fewest points per labelled region, on average.
_LEAST_POINTS = 12
_TOPIC_STEMS, _LABEL_WORDS = 60, 2  # stems that describe a region, and words of its label
_RARE = 20  # fewest occurrences of a label's word in the text

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
    spelt = _spellings(questions.text, questions.segments.live_count)
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


def _said(text: TextIndex, equations: Array, spelt: Container[str]) -> dict[str, float]:
    """Return the weights of the stems that best describe the equations of a region."""
    topic = text.topic(equations.tolist(), [1.0] * len(equations), _TOPIC_STEMS)
    return {stem: weight for stem, weight in topic.items() if stem in spelt}


def _distinctive_stems(said: list[dict[str, float]]) -> Iterator[list[str]]:
    """Yield for each region the stems by which it differs most from all regions together."""
    mean: dict[str, float] = defaultdict(float)
    for stems in said:
        for stem, weight in stems.items():
            mean[stem] += weight / len(said)
    for stems in said:
        # contribution to the KL divergence from the mean; with a single region, the weight
        worth = {stem: (w * math.log(w / mean[stem]), w) for stem, w in stems.items()}
        ranked = sorted(worth, key=lambda stem: (-worth[stem][0], -worth[stem][1], stem))
        yield ranked[:_LABEL_WORDS]


def _spellings(text: TextIndex, equations: int) -> dict[str, str]:
    """Return the most frequent word of each stem; rare stems are left out."""
    counts: Counter[tuple[str, str]] = Counter()
    for part in text.parts:
        often = np.bincount(part.tokens, minlength=len(part.stem_of)).tolist()
        for row, count in enumerate(often):
            if count:
                counts[part.stems[int(part.stem_of[row])], part.words[row]] += count
    totals: Counter[str] = Counter()
    best: dict[str, tuple[int, str]] = {}
    for (stem, word), count in counts.items():
        totals[stem] += count
        best[stem] = min(best.get(stem, (0, "")), (-count, word))
    least = min(_RARE, equations // 50)  # fewer in a small library
    return {stem: word for stem, (_, word) in best.items() if totals[stem] >= least}
