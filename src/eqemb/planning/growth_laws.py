"""Laws of growth: how a figure that was measured at several sizes continues beyond them.

A power law is fitted by least squares in logarithms; a line by least squares of relative errors.
Each law knows at which sizes it was fitted, so that a plan can say how far it extrapolates.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class PowerLaw:
    """`value * (size / largest) ** exponent`, through the value at the largest size."""

    exponent: float
    largest: float
    value: float
    """At the largest size."""
    fitted: float
    """The exponent of the fit; another one than `exponent` where growth is known by design."""

    @classmethod
    def fit(
        cls, sizes: Sequence[float], values: Sequence[float], exponent: float | None = None
    ) -> "PowerLaw":
        """Fit the exponent, or use a given one."""
        points = [(size, value) for size, value in zip(sizes, values, strict=True) if value > 0]
        if not points:
            return cls(exponent or 1.0, float(max(sizes)), 0.0, exponent or 1.0)
        largest, value = max(points)
        fitted = exponent or 1.0
        if len({size for size, _ in points}) > 1:
            logs = np.log(np.array(points, float))
            fitted = float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])
        used = fitted if exponent is None else exponent
        return cls(used, float(largest), float(value), fitted)

    def at(self, size: float) -> float:
        """The value at a size."""
        return self.value * math.pow(size / self.largest, self.exponent)

    def if_fitted(self, size: float) -> float:
        """The value at a size if the fitted exponent continued."""
        return self.value * math.pow(size / self.largest, self.fitted)


@dataclass(frozen=True)
class StraightLine:
    """`start + slope * size`, both at least 0."""

    start: float
    slope: float
    largest: float

    @classmethod
    def fit(cls, sizes: Sequence[float], values: Sequence[float]) -> "StraightLine":
        """Fit a line; relative errors count, so that small sizes do."""
        x, y = np.array(sizes, float), np.array(values, float)
        known = y > 0
        x, y = x[known], y[known]
        if len(x) == 0:
            return cls(0.0, 0.0, float(max(sizes)))
        if len(set(x.tolist())) == 1:
            return cls(0.0, float((y / x).mean()), float(x.max()))
        slope, start = (float(part) for part in np.polyfit(x, y, 1, w=1 / y))
        if slope < 0:
            start, slope = float(y.max()), 0.0
        elif start < 0:
            start, slope = 0.0, float((y / x).mean())
        return cls(start, slope, float(x.max()))

    def at(self, size: float) -> float:
        """The value at a size."""
        return self.start + self.slope * size


def interpolate(sizes: Sequence[float], values: Sequence[float], size: float) -> float:
    """The value between measured sizes, which ascend: a power law between two neighbours."""
    return float(np.exp(np.interp(np.log(size), np.log(sizes), np.log(values))))
