"""Merge the rendered formulas of several segments; `renderings` describes the files.

Renderings are in order of first occurrence: all displays first, then all inline mathematics. The
records give that order; the renderings are copied.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path

import numpy as np

from eqemb.index.merge_arrays import CannotMergeError, keys_of_rows, open_array
from eqemb.index.merge_parts import MergedPart
from eqemb.index.postings import Array, Keys
from eqemb.index.renderings import rendering_keys, write_rendering_code
from eqemb.library.database import Records

_KEYS_AT_ONCE = 1_000_000


def merge_renderings(parts: Sequence[MergedPart], records: Records, folder: Path) -> None:
    """Write the renderings of the formulas of the merged segment."""
    keys = [keys_of_rows(part.folder, "renderings") for part in parts]
    starts = [np.array(open_array(part.folder, "renderings.starts")) for part in parts]
    every, first = np.unique(np.concatenate([np.empty(0, np.uint64), *keys]), return_index=True)
    chosen = first[_in_order(every, rendering_keys(records))]
    bounds = np.cumsum([0, *map(len, keys)])
    of_part = np.searchsorted(bounds, chosen, "right") - 1
    rows = chosen - bounds[of_part]
    sizes = np.concatenate([np.empty(0, np.int64), *map(np.diff, starts)])[chosen]
    breaks = np.flatnonzero(np.diff(chosen) != 1) + 1
    breaks = np.union1d(breaks, np.flatnonzero(np.diff(of_part)) + 1)
    with (folder / "renderings.bin").open("wb") as file:
        data = [(part.folder / "renderings.bin").open("rb") for part in parts]
        try:
            for low, high in _runs(breaks, len(chosen)):
                part = int(of_part[low])
                begin, end = (int(starts[part][at]) for at in (rows[low], rows[high - 1] + 1))
                data[part].seek(begin)
                file.write(data[part].read(end - begin))
        finally:
            for each in data:
                each.close()
    merged = np.concatenate([np.empty(0, np.uint64), *keys])[chosen]
    Keys.write(folder, "renderings", merged)
    np.save(folder / "renderings.starts.npy", np.r_[0, np.cumsum(sizes)].astype(np.int64))
    write_rendering_code(folder)


def _in_order(every: Array, wanted: Iterable[int]) -> Array:
    """Return the positions among sorted keys of the wanted ones, in order of first occurrence."""
    seen = np.zeros(len(every), bool)
    order = [np.empty(0, np.int64)]
    numbers = iter(wanted)
    while some := array("Q", islice(numbers, _KEYS_AT_ONCE)):
        keys, first = np.unique(np.frombuffer(some, np.uint64), return_index=True)
        at = np.minimum(np.searchsorted(every, keys), max(0, len(every) - 1))
        if not len(every) or (every[at] != keys).any():
            raise CannotMergeError("the records have formulas that no part has rendered")
        is_new = ~seen[at]
        order.append(at[is_new][np.argsort(first[is_new])])
        seen[at] = True
    return np.concatenate(order)


def _runs(breaks: Array, count: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of neighbours that are copied at once."""
    bounds = [0, *breaks.tolist(), count] if count else []
    return pairwise(bounds)
