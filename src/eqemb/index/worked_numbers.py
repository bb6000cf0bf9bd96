"""Equations that state numbers, such as a step of a worked example: they answer words less well.

    types.worked.npy    for each type whether it states numbers

`p(a, b) = 0.18` stands beside the words of its example, but does not say what they mean.
"""

import re
from array import array
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eqemb.formula import Layout

#: A number that was computed or measured: with decimals, or of three digits and more.
_MEASURED = re.compile(r"N!(?:\d*\.\d+|\d{3,})")
#: The share of such numbers among the symbols of an equation that states numbers.
MIN_MEASURED = 0.08


def states_numbers(made: Layout) -> bool:
    r"""Whether an equation has many measured numbers among its symbols.

    >>> from eqemb.formula import layout
    >>> states_numbers(layout("p(a, b) = 0.18")), states_numbers(layout("E = m c^2"))
    (True, False)
    """
    tags = [node.tag for node in made.nodes()]
    measured = sum(_MEASURED.fullmatch(tag) is not None for tag in tags)
    return measured > 0 and measured >= MIN_MEASURED * len(tags)


class WorkedNumbersWriter:
    """Writes whether the types of a segment state numbers, one after the other."""

    def __init__(self, folder: Path) -> None:
        self._path, self._found = folder / "types.worked.npy", array("B")

    def add(self, made: Layout) -> None:
        """Add a type."""
        self._found.append(states_numbers(made))

    def close(self) -> None:
        """Write the file."""
        found: NDArray[np.bool_] = np.frombuffer(self._found, np.uint8).astype(bool)
        np.save(self._path, found)
