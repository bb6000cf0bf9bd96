"""How many equations of a whole library have each stem, unit and shape.

Scores depend on how rare words and units are. A process that has only a part of the library counts
them with these tables, so that its scores are those of the whole library. They are computed from
all segments and hold two arrays for each kind; processes of one machine can share them. NumPy only.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from eqemb.index.normal_view import NAME
from eqemb.index.overlap import Features
from eqemb.index.postings import Array
from eqemb.index.segments import IndexSegments
from eqemb.index.text_segment import TextSegment

#: The name of the table of stems; the other tables have the names of features.
STEMS = "stems"
FEATURES = ("units", "shapes", NAME)


@dataclass(frozen=True, slots=True)
class LibraryStatistics:
    """Counts of a whole library, by the keys of what is counted."""

    equations: int
    """The number of equations."""
    tables: Mapping[str, tuple[Array, Array]]
    """For each kind the keys, ascending, and the number of equations that have each."""

    def sizes(self, kind: str, keys: Array) -> Array:
        """Return the number of equations that have each of the given keys."""
        known, counts = self.tables[kind]
        if not len(known):
            return np.zeros(len(keys), np.int64)
        places = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        found: Array = np.where(known[places] == keys, counts[places], 0)
        return found


def library_statistics(segments: IndexSegments) -> LibraryStatistics:
    """Count the stems, units and shapes of all segments."""
    stems = [_stem_counts(TextSegment(part, part.folder)) for part in segments]
    tables = {STEMS: _summed(stems)}
    has_normal = all((part.folder / f"{NAME}.pointers.npy").exists() for part in segments)
    for kind in FEATURES if has_normal else FEATURES[:-1]:
        tables[kind] = _summed([Features(part, kind).all_sizes() for part in segments])
    return LibraryStatistics(segments.live_count, tables)


def _stem_counts(part: TextSegment) -> tuple[Array, Array]:
    keys = part.stem_keys
    return keys, part.counts(np.arange(len(keys)))


def _summed(parts: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return the keys of all parts in order, each once, and the sum of its counts."""
    keys, places = np.unique(
        np.concatenate([np.empty(0, np.uint64), *(part[0] for part in parts)]), return_inverse=True
    )
    counts = np.concatenate([np.empty(0, np.int64), *(part[1] for part in parts)])
    return keys, np.bincount(places, counts, len(keys)).astype(np.int64)
