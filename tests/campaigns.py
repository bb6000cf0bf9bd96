"""How much of a long test to run: a sample in `make test`, everything in `make check`."""

import os
import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

#: Whether campaigns run at full size.
FULL = os.environ.get("EQEMB_FULL") == "1"


def sample(items: Sequence[T], count: int) -> list[T]:
    """`count` of the items, always the same ones and in order; all of them in a full run."""
    if FULL or len(items) <= count:
        return list(items)
    chosen = sorted(random.Random(len(items)).sample(range(len(items)), count))
    return [items[number] for number in chosen]
