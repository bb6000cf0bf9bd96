"""Compiled loops over postings: sums of weighted lists, window by window of owners.

As in `loops`, docstrings name what a function changes. `index.windows` says what the arrays hold.
"""

import numpy as np
from numpy.typing import NDArray

from eqemb.kernels.arrays import Floats, Ids, Positions
from eqemb.kernels.compiling import kernel

Levels = NDArray[np.uint8]
Starts = NDArray[np.int64]


@kernel
def add_windows(
    owners: Ids, levels: Levels, starts: Starts, weight: np.float32, bits: int,
    windows: Positions, totals: Floats,
) -> None:  # fmt: skip
    """Changes `totals`, one for each owner of the given windows, in their order."""
    for place in range(len(windows)):
        window = windows[place]
        first = (window - place) << bits
        for at in range(starts[window], starts[window + 1]):
            totals[owners[at] - first] += weight * levels[at]


@kernel
def take_above(totals: Floats, least: np.float32, places: Positions, scores: Floats) -> int:
    """Changes `places` and `scores` to the totals above `least`, and `totals` to zeros.

    Returns how many there are.
    """
    size = 0
    for place in range(len(totals)):
        if totals[place] > least:
            places[size] = place
            scores[size] = totals[place]
            size += 1
        totals[place] = 0
    return size


@kernel
def add_counts(
    owners: Ids, counts: Floats, wanted: int, weight: np.float32, totals: Floats
) -> None:
    """Changes `totals` of the owners: what they have of a feature that is wanted so often."""
    for at in range(len(owners)):
        totals[owners[at]] += weight * min(counts[at], np.float32(wanted))


@kernel
def take_owners(
    owners: Ids, sizes: Floats, slope: np.float32, constant: np.float32, least: np.float32,
    totals: Floats, places: Positions, scores: Floats,
) -> int:  # fmt: skip
    """Changes `places` and `scores` to the owners whose share is above `least`, each once.

    A share is a total divided by a linear function of the owner's size. Changes `totals` of the
    owners to zeros. Returns how many there are.
    """
    size = 0
    for at in range(len(owners)):
        owner = owners[at]
        if totals[owner] > 0:
            share = totals[owner] / (constant + slope * sizes[owner])
            if share > least:
                places[size] = owner
                scores[size] = share
                size += 1
            totals[owner] = 0
    return size
