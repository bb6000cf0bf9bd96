"""What a step changes and what it reads, as named tuples of arrays.

Vectors are float32, ids int32, pointers and positions int64. Ragged things are flat ids and
pointers: the members of thing i are `ids[start[i]:start[i + 1]]`.
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
    """Changed by GloVe: vectors and biases of words and of context words, and their squares."""

    rho: Floats  # [V, K], w
    alpha: Floats  # [V, K], w~
    rho_bias: Floats  # [V], b
    alpha_bias: Floats  # [V], b~
    rho_sum: Floats  # [V, K], Adagrad's squares, from 1 on
    alpha_sum: Floats
    rho_bias_sum: Floats
    alpha_bias_sum: Floats


class Counts(NamedTuple):
    """How often words stand together, each time counting 1 / distance; row by row."""

    starts: Positions  # [V + 1], into the others
    columns: Ids  # ascending within a row
    counts: NDArray[np.float64]


class Pairs(NamedTuple):
    """Read by GloVe: counted pairs in the order in which they are learned.

    They stand in cells. Of every GRID cells, from a multiple of GRID on, no two share a row or a
    column: they may be learned side by side.
    """

    rows: Ids  # [N]
    columns: Ids  # [N]
    logs: Floats  # [N], log x
    weights: Floats  # [N], min(1, x / x_max) ** power
    starts: Positions  # [cells + 1], into the others


class PairRule(NamedTuple):
    """How pairs weigh and in which order they come."""

    x_max: float
    power: float
    key: int


class Noise(NamedTuple):
    """Read: an alias table from which zeros are drawn."""

    threshold: NDArray[np.uint64]  # [V], of 2**32
    alias: Ids  # [V]


class Offsets(NamedTuple):
    """Read by b_w when words are learned together with equations: what these add to contexts."""

    positions: Positions  # [N], ascending
    sums: Floats  # [N, K]


NO_OFFSETS = Offsets(np.empty(0, np.int64), np.empty((0, 0), np.float32))


class Text(NamedTuple):
    """Read: a stream of ids in articles (or of units in equations), and its noise."""

    tokens: Ids  # [P]
    starts: Positions  # [articles + 1], into tokens
    noise: Noise
    offsets: Offsets = NO_OFFSETS


class Near(NamedTuple):
    """Read by b_w in the second pass: words that have equations in their context.

    Every equation is a bag of rows: its own single row (EqEmb) or its units (EqEmb-U).
    """

    positions: Positions  # [N], into the text, ascending
    starts: Positions  # [N + 1], into types
    types: Ids  # the equations near each position, once for every time they occur there
    bag_starts: Positions  # [types + 1], into bags
    bags: Ids  # rows of the matrix that is learned
    scale: Floats  # [types], 1 for a sum, 1/size for a mean, 1/sqrt(size) for a root


class Contexts(NamedTuple):
    """Read by b_e: the summed context of every occurrence, and the zeros kept for it."""

    sums: Floats  # [O, K]
    starts: Positions  # [types + 1], into occurrences
    occurrences: Positions  # [O], sorted by type
    zeros: Positions  # [O, n], occurrences of other types


class Rule(NamedTuple):
    """How a step is made; `key` names the iteration's draws."""

    window: int  # W: half before, half after
    negatives: int  # n, zeros for each block
    block: int  # positions that share zeros
    batch: int  # positions that see the same parameters: a multiple of `block`
    zero_weight: float
    rate: float
    key: int
    learn_alpha: bool = True  # words_update: False holds alpha fixed and steps rho alone


EPSILON = 1e-8  # in Adagrad's step: rate * g / (sqrt(sum of g^2) + EPSILON)
GRID = 16  # GloVe's strata of words: a chunk of pairs is a grid of cells, rows by columns
CHUNK = 1 << 20  # pairs, about, of a chunk: a diagonal is then milliseconds of work
