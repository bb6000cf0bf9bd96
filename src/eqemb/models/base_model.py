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
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eqemb.formula import Layout
from eqemb.formula.features import equation_features
from eqemb.formula.shapes import Shape, key
from eqemb.storage.array_file import open_npy

DATA_FOLDER = Path(__file__).with_name("base_data")
_CACHED = 1 << 16  # rows of features that are remembered
_UNKNOWN = -2  # a row that is not remembered

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
        self._known: dict[str, int] = {}

    @property
    def dim(self) -> int:
        """The dimension of the vectors."""
        return int(self._rows.shape[1])

    def direction(self, weights: Mapping[str, float]) -> Floats:
        """Return the normalised sum of weighted rows, in the order of their keys."""
        at, given = self.find(weights), np.fromiter(weights.values(), np.float64, len(weights))
        order = np.lexsort((given, at))
        order = order[at[order] >= 0]
        at = at[order]
        given = given[order].astype(np.float32) * self._scales[at]
        # row by row, so that the sum does not depend on a BLAS
        total = (self._rows[at] * given[:, None]).sum(axis=0, dtype=np.float32)
        length = math.sqrt(float((total.astype(np.float64) ** 2).sum()))
        made: Floats = total / np.float32(length) if length else total
        return made

    def find(self, names: Iterable[str]) -> NDArray[np.int64]:
        """Return the rows of names, -1 for those that have none.

        The names that are not remembered are looked up together: a search for each costs more
        than all the rest.
        """
        names, known = list(names), self._known
        rows = [known.get(name, _UNKNOWN) for name in names]
        if new := [place for place, row in enumerate(rows) if row == _UNKNOWN]:
            keys = np.array([key(names[place]) for place in new], np.uint64)
            at = np.minimum(self._keys.searchsorted(keys), len(self._keys) - 1)
            found = np.where(self._keys[at] == keys, at, -1).tolist()
            if len(known) + len(new) > _CACHED:
                known.clear()
            for place, row in zip(new, found, strict=True):
                rows[place] = known[names[place]] = row
        return np.array(rows, np.int64)
