"""What a step changes and what it reads, as named tuples of arrays.

Vectors are float32, ids int32, pointers and positions int64. Ragged data is flat ids and pointers:
the members of item i are `ids[starts[i]:starts[i + 1]]`. V is the number of words, K the dimension.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ids = NDArray[np.int32]
Positions = NDArray[np.int64]


class Vectors(NamedTuple):
    """Changed by b_w and b_u: interaction and feature vectors with their Adagrad sums."""

    rho: Floats  # [V, K]
    alpha: Floats  # [V, K]
    rho_sum: Floats  # [V, K], sums of squared gradients
    alpha_sum: Floats  # [V, K]


class Rows(NamedTuple):
    """Changed in the second pass: one matrix, rho or alpha, with its Adagrad sums."""

    vectors: Floats  # [R, K]
    sums: Floats  # [R, K]


class Biased(NamedTuple):
    """Changed by GloVe: vectors and biases of words and of context words, and their sums."""

    rho: Floats  # [V, K], w
    alpha: Floats  # [V, K], w~
    rho_bias: Floats  # [V], b
    alpha_bias: Floats  # [V], b~
    rho_sum: Floats  # [V, K], sums of squared gradients, starting at 1
    alpha_sum: Floats
    rho_bias_sum: Floats
    alpha_bias_sum: Floats


class Counts(NamedTuple):
    """Co-occurrences of words, each counted as 1 / distance; row by row."""

    starts: Positions  # [V + 1], into the others
    columns: Ids  # ascending within a row
    counts: NDArray[np.float64]


class Pairs(NamedTuple):
    """Read by GloVe: counted pairs in the order in which they are learned.

    They are grouped in cells. Of every GRID cells that start at a multiple of GRID, no two share a
    row or a column, so they can be learned in parallel.
    """

    rows: Ids  # [N]
    columns: Ids  # [N]
    logs: Floats  # [N], log x
    weights: Floats  # [N], min(1, x / x_max) ** power
    starts: Positions  # [cells + 1], into the others


class PairRule(NamedTuple):
    """How pairs are weighted, and the key of their order."""

    x_max: float
    power: float
    key: int


class Noise(NamedTuple):
    """Read: an alias table from which negatives (zeros) are drawn."""

    threshold: NDArray[np.uint64]  # [V], of 2**32
    alias: Ids  # [V]


class Offsets(NamedTuple):
    """Read by b_w in joint training: what equations add to the contexts of words."""

    positions: Positions  # [N], ascending
    sums: Floats  # [N, K]


NO_OFFSETS = Offsets(np.empty(0, np.int64), np.empty((0, 0), np.float32))


class TextArrays(NamedTuple):
    """Read: a stream of ids in articles (or of units in equations), and its noise."""

    tokens: Ids  # [P]
    starts: Positions  # [articles + 1], into tokens
    noise: Noise
    offsets: Offsets = NO_OFFSETS


class Near(NamedTuple):
    """Read by b_w in the second pass: positions that have equations in their context.

    Every equation is a bag of rows: a row of its own (EqEmb) or its units (EqEmb-U).
    """

    positions: Positions  # [N], into the text, ascending
    starts: Positions  # [N + 1], into types
    types: Ids  # the equations near each position, once for each occurrence
    bag_starts: Positions  # [types + 1], into bags
    bags: Ids  # rows of the matrix that is learned
    scale: Floats  # [types], 1 for a sum, 1/size for a mean, 1/sqrt(size) for a root


class Contexts(NamedTuple):
    """Read by b_e: the summed context of every occurrence, and its fixed negatives."""

    sums: Floats  # [O, K]
    starts: Positions  # [types + 1], into occurrences
    occurrences: Positions  # [O], sorted by type
    zeros: Positions  # [O, n], occurrences of other types


class Rule(NamedTuple):
    """The parameters of a step; `key` identifies the random draws of the iteration."""

    window: int  # W: half before, half after
    negatives: int  # n, negatives of each block
    block: int  # positions that share negatives
    batch: int  # positions that see the same parameters: a multiple of `block`
    zero_weight: float
    rate: float
    key: int
    learn_alpha: bool = True  # words_update: False holds alpha fixed and steps only rho


EPSILON = 1e-8  # in Adagrad's step: rate * g / (sqrt(sum of g^2) + EPSILON)
GRID = 16  # strata of words in GloVe: a chunk of pairs is a grid of GRID x GRID cells
PAIRS_PER_CHUNK = 1 << 20  # approximately: a diagonal of cells is then milliseconds of work
