"""The base model: vectors for equations and words that come with the package.

    base_data/features.keys.npy, features.npy, features.scales.npy    a row for each feature
    base_data/stems.keys.npy, stems.npy, stems.scales.npy             a row for each stem
    base_data/SOURCES.tsv                                             what it was trained on

An equation is the sum of the vectors of its features (`formula.features`), a text the sum of the
vectors of its stems. Both are in one space. A row is stored as 8-bit integers times a scale, in the
order of its key; features and stems that training did not meet have no row and add nothing. The
model knows nothing of a library, so it is the same for the first paper and the thousandth.
NumPy only; `benchmarks/base_model.py` trains it.
"""

import math
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eqemb.formula import Layout
from eqemb.formula.features import equation_features
from eqemb.formula.shapes import Shape, key
from eqemb.storage.array_file import open_npy

DATA_FOLDER = Path(__file__).with_name("base_data")
_CACHED = 1 << 16  # rows of features that are remembered

Floats = NDArray[np.float32]


class BaseModel:
    """The vectors of features and stems, mapped into memory."""

    def __init__(self, folder: Path = DATA_FOLDER) -> None:
        self._features = _Rows(folder, "features")
        self._stems = _Rows(folder, "stems")

    @property
    def dim(self) -> int:
        """The dimension of the vectors."""
        return self._features.dim

    def equation_vector(self, made: Layout, known: Counter[Shape] | None = None) -> Floats:
        """Return the direction of an equation; zeros where nothing of it is known.

        `known` are its shapes, if the caller has them. A feature that occurs n times weighs
        1 + log n.
        """
        counts = equation_features(made, known)
        return self._features.direction(
            {name: 1.0 if n == 1 else 1 + math.log(n) for name, n in counts.items()}
        )

    def stems_vector(self, weights: Mapping[str, float]) -> Floats:
        """Return the direction of weighted stems; those of a compound's parts are its own."""
        parts: dict[str, float] = {}
        for root, weight in weights.items():
            for part in root.split("-"):
                parts[part] = parts.get(part, 0.0) + weight
        return self._stems.direction(parts)


class _Rows:
    """Vectors by key."""

    def __init__(self, folder: Path, name: str) -> None:
        self._keys, self._rows, self._scales = (
            np.asarray(open_npy(folder / f"{name}{part}.npy"))  # still mapped
            for part in (".keys", "", ".scales")
        )
        self.find = lru_cache(maxsize=_CACHED)(self._find)

    @property
    def dim(self) -> int:
        """The dimension of the vectors."""
        return int(self._rows.shape[1])

    def direction(self, weights: Mapping[str, float]) -> Floats:
        """Return the normalised sum of weighted rows, in the order of their keys."""
        found = sorted((self.find(name), weight) for name, weight in weights.items())
        known = [pair for pair in found if pair[0] >= 0]
        at = np.array([row for row, _ in known], np.int64)
        given = np.array([weight for _, weight in known], np.float32)
        given *= self._scales[at]
        # row by row, so that the sum does not depend on a BLAS
        total = (self._rows[at] * given[:, None]).sum(axis=0, dtype=np.float32)
        length = math.sqrt(float((total.astype(np.float64) ** 2).sum()))
        made: Floats = total / np.float32(length) if length else total
        return made

    def _find(self, name: str) -> int:
        """Return the row of a name, -1 where it has none."""
        number = np.uint64(key(name))
        at = int(self._keys.searchsorted(number))
        return at if at < len(self._keys) and self._keys[at] == number else -1
