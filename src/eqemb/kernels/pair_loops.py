"""Compiled loops of GloVe: pairs are counted, ordered and learned.

As in `loops`, docstrings name what a function changes.
"""

import math

import numpy as np
from numpy.typing import NDArray

from eqemb.kernels.arrays import GRID, Biased, Counts, Floats, Ids, Pairs, Positions
from eqemb.kernels.compiling import kernel
from eqemb.kernels.draws import S32, STEP
from eqemb.kernels.loops import AHEAD, article_of, dot, mix, prefetch

Doubles = NDArray[np.float64]


@kernel
def places(tokens: Ids, first: Positions, where: Positions) -> None:
    """Changes `where` to positions grouped by word; `first` is where those of a word begin."""
    free = first.copy()
    for position in range(len(tokens)):
        word = tokens[position]
        where[free[word]] = position
        free[word] += 1


@kernel
def count_rows(
    tokens: Ids, starts: Positions, first: Positions, where: Positions, span: tuple[int, int],
    shares: Doubles, out: Counts, fill: bool,
) -> None:  # fmt: skip
    """Changes `out`: the pairs of a span of rows or, without `fill`, only how many there are.

    A row sums all its neighbours in one array, so that only its columns are sorted.
    """
    half = len(shares) - 1
    total, seen = np.zeros(len(first) - 1), np.empty(len(first) - 1, np.int32)
    for row in range(span[0], span[1]):
        size = 0
        for at in range(first[row], first[row + 1]):
            position = where[at]
            article = article_of(starts, position)
            left = max(starts[article], position - half)
            right = min(starts[article + 1], position + half + 1)
            for other in range(left, right):
                if other != position:
                    column = tokens[other]
                    if total[column] == 0.0:
                        seen[size] = column
                        size += 1
                    total[column] += shares[abs(other - position)]
        if fill:
            seen[:size].sort()
            at = out.starts[row]
            for s in range(size):
                out.columns[at + s] = seen[s]
                out.counts[at + s] = total[seen[s]] / shares[0]
        else:
            out.starts[row + 1] = size
        for s in range(size):
            total[seen[s]] = 0.0


@kernel
def _cell(strata: Ids, row: int, column: int, chunk: np.int64) -> int:
    """Cells of a chunk are ordered by diagonals: row strata 0, 1, ... with columns d, d + 1, ..."""
    diagonal = (strata[column] - strata[row]) % GRID
    return int((chunk * GRID + diagonal) * GRID + strata[row])


@kernel
def _below(key: np.uint64, index: int, bound: int) -> np.int64:
    """An integer in [0, bound): `draws.below` of the first slot of `draws.bits`."""
    bits = mix(mix(np.uint64(index) * STEP + key) + STEP)
    return np.int64(((bits >> S32) * np.uint64(bound)) >> S32)


@kernel
def cell_sizes(counts: Counts, strata: Ids, key: np.uint64, chunks: int, sizes: Positions) -> None:
    """Changes `sizes`, initially zeros: counts the pairs of each cell."""
    for row in range(len(counts.starts) - 1):
        for at in range(counts.starts[row], counts.starts[row + 1]):
            chunk = _below(key, at, chunks)
            sizes[_cell(strata, row, counts.columns[at], chunk)] += 1


@kernel
def deal(
    counts: Counts, strata: Ids, key: np.uint64, x_max: float, power: float, pairs: Pairs
) -> None:
    """Changes `pairs`: puts every pair into its cell, row by row."""
    free = pairs.starts.copy()
    chunks = (len(pairs.starts) - 1) // (GRID * GRID)
    for row in range(len(counts.starts) - 1):
        for at in range(counts.starts[row], counts.starts[row + 1]):
            column, x = counts.columns[at], counts.counts[at]
            cell = _cell(strata, row, column, _below(key, at, chunks))
            to = free[cell]
            free[cell] += 1
            pairs.rows[to] = row
            pairs.columns[to] = column
            pairs.logs[to] = math.log(x)
            pairs.weights[to] = min(1.0, x / x_max) ** power


@kernel
def shuffle_cells(pairs: Pairs, span: tuple[int, int], key: np.uint64) -> None:
    """Changes the order of the pairs within each cell of a span."""
    for cell in range(span[0], span[1]):
        low = pairs.starts[cell]
        for at in range(pairs.starts[cell + 1] - 1, low, -1):
            to = low + _below(key, at, at - low + 1)
            pairs.rows[at], pairs.rows[to] = pairs.rows[to], pairs.rows[at]
            pairs.columns[at], pairs.columns[to] = pairs.columns[to], pairs.columns[at]
            pairs.logs[at], pairs.logs[to] = pairs.logs[to], pairs.logs[at]
            pairs.weights[at], pairs.weights[to] = pairs.weights[to], pairs.weights[at]


@kernel
def _step(vector: Floats, sums: Floats, other: Floats, other_sums: Floats, g: np.float32) -> None:
    """Changes both vectors of a pair and their sums; `g` is the rate times f(x) d."""
    for k in range(len(vector)):
        one, two = g * other[k], g * vector[k]
        vector[k] -= one / np.sqrt(sums[k])
        other[k] -= two / np.sqrt(other_sums[k])
        sums[k] += one * one
        other_sums[k] += two * two


@kernel
def learn_pairs(
    v: Biased, pairs: Pairs, span: tuple[int, int], rate: np.float32, losses: Doubles, learn: bool
) -> None:
    """Changes `losses` of a span of cells and, if `learn`, vectors and biases of their pairs."""
    last = pairs.starts[span[1]]
    for cell in range(span[0], span[1]):
        losses[cell] = 0.0
        for at in range(pairs.starts[cell], pairs.starts[cell + 1]):
            if at + AHEAD < last:
                prefetch(v.rho, pairs.rows[at + AHEAD])
                prefetch(v.alpha, pairs.columns[at + AHEAD])
                prefetch(v.rho_sum, pairs.rows[at + AHEAD])
                prefetch(v.alpha_sum, pairs.columns[at + AHEAD])
            row, column = pairs.rows[at], pairs.columns[at]
            rho, alpha = v.rho[row], v.alpha[column]
            bias = v.rho_bias[row] + v.alpha_bias[column]
            difference = dot(rho, alpha) + (bias - pairs.logs[at])
            g = pairs.weights[at] * difference
            losses[cell] += 0.5 * g * difference
            if learn:
                _step(rho, v.rho_sum[row], alpha, v.alpha_sum[column], rate * g)
                v.rho_bias[row] -= g / np.sqrt(v.rho_bias_sum[row])
                v.alpha_bias[column] -= g / np.sqrt(v.alpha_bias_sum[column])
                v.rho_bias_sum[row] += g * g
                v.alpha_bias_sum[column] += g * g
