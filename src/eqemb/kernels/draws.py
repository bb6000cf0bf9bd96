"""Random numbers as a function of where they are used, not of threads or time.

A negative (zero) is drawn by (seed, pass, iteration, block, slot). The five numbers are mixed into
64 bits: the upper half chooses a column of an alias table, the lower half one of the two rows of
that column. This is integer arithmetic, so NumPy, numba and a GPU draw the same rows.
"""

import numpy as np
from numpy.typing import NDArray

from eqemb.kernels.arrays import Noise

_MASK = (1 << 64) - 1
M1 = np.uint64(0xBF58476D1CE4E5B9)
M2 = np.uint64(0x94D049BB133111EB)
STEP = np.uint64(0x9E3779B97F4A7C15)
S27, S30, S31, S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)


def mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64: every bit of `x` affects every bit of the result.

    NumPy runs it on arrays; `loops` compiles this function for single numbers.
    """
    x = (x ^ (x >> S30)) * M1
    x = (x ^ (x >> S27)) * M2
    return x ^ (x >> S31)


def key(seed: int, pass_: int, iteration: int) -> int:
    """64 bits that identify one iteration of one pass of one run."""
    state = 0
    for part in (seed, pass_, iteration):
        state = (state + part + int(STEP)) & _MASK
        state = ((state ^ (state >> 30)) * int(M1)) & _MASK
        state = ((state ^ (state >> 27)) * int(M2)) & _MASK
        state ^= state >> 31
    return state


def bits(key: int, blocks: NDArray[np.int64], slots: int) -> NDArray[np.uint64]:
    """The 64 random bits of each slot of each block; [len(blocks), slots]."""
    rows = mix(blocks.astype(np.uint64) * STEP + np.uint64(key))
    columns = (np.arange(slots, dtype=np.uint64) + np.uint64(1)) * STEP
    return mix(rows[:, None] + columns[None, :])


def below(drawn: NDArray[np.uint64], bound: NDArray[np.int64]) -> NDArray[np.int64]:
    """Integers in [0, bound), for bounds below 2**32."""
    return (((drawn >> S32) * bound.astype(np.uint64)) >> S32).astype(np.int64)


def zeros(key: int, blocks: NDArray[np.int64], slots: int, noise: Noise) -> NDArray[np.int32]:
    """The rows drawn as negatives of each block; [len(blocks), slots]."""
    drawn = bits(key, blocks, slots)
    column = below(drawn, np.array(len(noise.alias), np.int64))
    keep = (drawn & LOW) < noise.threshold[column]
    return np.where(keep, column, noise.alias[column]).astype(np.int32)


def noise_table(counts: NDArray[np.int64], power: float = 0.75) -> Noise:
    """The alias table (Vose) of counts ** power; rows with a count of 0 are never drawn."""
    weights = np.where(counts > 0, np.maximum(counts, 1).astype(np.float64) ** power, 0.0)
    size = len(weights)
    share = (weights * (size / weights.sum())).tolist()
    alias = list(range(size))
    small = [row for row in range(size) if share[row] < 1.0]
    large = [row for row in range(size) if share[row] >= 1.0]
    while small and large:
        low, high = small.pop(), large[-1]
        alias[low] = high
        share[high] -= 1.0 - share[low]
        if share[high] < 1.0:
            small.append(large.pop())
    for row in small:  # left over by rounding: a full column, unless its count is 0
        if weights[row] > 0.0:
            share[row] = 1.0
        else:
            alias[row] = int(np.argmax(weights))
    for row in large:
        share[row] = 1.0
    threshold = np.round(np.array(share) * 2.0**32).astype(np.uint64)
    return Noise(threshold, np.array(alias, np.int32))
