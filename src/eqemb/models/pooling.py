"""Unit pooling: how the vectors of an equation's units make the vector of the equation.

    alpha_e = n ** POOLING[pooling] * (sum of the alpha of its n units)

This is the only definition. Training pools with `pool_bags`, whose `Bags` the kernels read too;
an equation that was not in the training data is pooled by `UnitVectors`, which backs off to the
unit's type where the model does not have the unit. The index stores the backed-off vector of each
unit of a library and sums them without the factor, since it normalises the sums.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.corpus.corpus import Ids, Pointers
from eqemb.errors import UsageError
from eqemb.formula.tree import unit_type
from eqemb.kernels.arrays import Floats
from eqemb.models.embeddings import Embeddings

#: Pooling -> the power of the number of units that their sum is multiplied with.
POOLING = {"sum": 0.0, "mean": -1.0, "root": -0.5}


class Bags(NamedTuple):
    """Which rows each equation id is made of, and the factor of their sum."""

    starts: Pointers  # [ids + 1], into ids
    ids: Ids  # rows of the matrix that is pooled
    scale: Floats  # [ids]
    rows: int  # of the matrix

    def take(self, wanted: Ids) -> "tuple[Bags, Ids]":
        """Some of the bags, over a matrix of the rows that they need; and which rows these are."""
        sizes = np.diff(self.starts)[wanted]
        starts = np.cumsum(np.r_[0, sizes]).astype(np.int64)
        entries = np.arange(starts[-1]) + np.repeat(self.starts[wanted] - starts[:-1], sizes)
        rows, ids = np.unique(self.ids[entries], return_inverse=True)
        return Bags(starts, ids.astype(np.int32), self.scale[wanted], len(rows)), rows


def unit_bags(starts: Pointers, ids: Ids, rows: int, pooling: str) -> Bags:
    """Equations as bags of units."""
    scale = pooling_scale(np.diff(starts), pooling)
    return Bags(starts, ids, scale.astype(np.float32), rows)


def singleton_bags(size: int) -> Bags:
    """Every equation id has one row of its own."""
    ids = np.arange(size, dtype=np.int32)
    return Bags(np.arange(size + 1), ids, np.ones(size, np.float32), size)


def concatenate_bags(parts: list[Bags]) -> Bags:
    """Several kinds of bags as one: the rows and bags of each follow those before it."""
    starts, ids, at, rows = [np.zeros(1, np.int64)], [], 0, 0
    for part in parts:
        starts.append(part.starts[1:] + at)
        ids.append(part.ids + np.int32(rows))
        at, rows = at + int(part.starts[-1]), rows + part.rows
    scale = np.concatenate([part.scale for part in parts])
    return Bags(np.concatenate(starts), np.concatenate(ids), scale, rows)


def pool_bags(rows: Floats, bags: Bags) -> Floats:
    """The vector of every equation id, as it enters a word's context; [ids, K]."""
    from scipy.sparse import csr_array  # search, which only folds in, does without SciPy

    shape = (len(bags.scale), len(rows))
    which = csr_array((np.ones(len(bags.ids)), bags.ids, bags.starts), shape=shape)
    total: NDArray[np.float64] = which @ rows.astype(np.float64)
    return (total * bags.scale[:, None]).astype(np.float32)


def pooling_scale(counts: Any, pooling: str) -> NDArray[np.float64]:
    """The factor of the sum of so many units; an equation without units counts as one."""
    size: NDArray[np.float64] = np.maximum(counts, 1).astype(np.float64)
    return size ** POOLING[pooling]


def equation_pooling(config: dict[str, Any]) -> str:
    """The pooling of a model's own vectors of equations, by its config.

    EqEmb-U stores means, whatever pooling it was trained with; EqEmb-H stores what words saw.
    """
    return str(config["settings"]["unit_pooling"]) if config["model"] == "eqemb-h" else "mean"


def unit_types(units: list[str]) -> tuple[list[str], Ids]:
    """The types of units, in order of their first unit, and the type of each unit."""
    found: dict[str, int] = {}
    ids = [found.setdefault(unit_type(unit), len(found)) for unit in units]
    return list(found), np.array(ids, np.int32)


class UnitVectors:
    """What each unit adds to the vector of its equation, in a trained model.

    A unit adds its own vector or, if the model does not have it, the mean of the units of its
    type; in EqEmb-H it adds the vector of its type as well.
    """

    def __init__(self, model: Embeddings, side: str = "alpha") -> None:
        """`side` is "alpha" or "rho"; a model without rho of units has zeros there."""
        if "alpha_units" not in model.arrays:
            raise UsageError("this model has no units: fold in with its words, or train eqemb-u")
        settings = model.config["settings"]
        alpha = np.asarray(model.arrays["alpha_units"])
        self.own: Floats = np.float32(settings.get("unit_weight", 1.0)) * alpha
        """Of each unit, times its weight; [U, K]."""
        if side == "rho":
            self.own = np.asarray(model.arrays.get("rho_units", np.zeros_like(alpha)))
        self.rows = model.view("units").key_to_index
        names, kinds = unit_types(model.view("units").index_to_key)
        self.types = {name: row for row, name in enumerate(names)}
        sums = np.zeros((len(names) + 1, alpha.shape[1]), np.float64)
        np.add.at(sums, kinds, self.own)
        counts = np.bincount(kinds, minlength=len(names) + 1)
        self.type_means: NDArray[np.float64] = sums / np.maximum(counts, 1)[:, None]
        """Of each type the mean of its units, and zeros last for types not met; [T + 1, K]."""
        self.type_vectors: Floats = np.zeros(sums.shape, np.float32)
        """Of each type its own vector, times its weight, and zeros last; [T + 1, K]."""
        if side == "alpha" and "alpha_types" in model.arrays:
            weight = np.float32(settings["type_weight"])
            self.type_vectors[:-1] = weight * np.asarray(model.arrays["alpha_types"])

    def find(self, unit: str) -> tuple[int | None, int | None]:
        """The row of a unit and of its type, None where the model has none."""
        return self.rows.get(unit), self.types.get(unit_type(unit))
