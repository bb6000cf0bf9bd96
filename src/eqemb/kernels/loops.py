"""Compiled loops that the conditionals of the CPU back end share.

They are serial, release the GIL, and are cached. Arrays come in, some of them are changed, and
nothing else happens; every docstring names what is changed.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from eqemb.kernels import draws
from eqemb.kernels.arrays import EPSILON, Floats, Ids, Noise, Positions, Rule
from eqemb.kernels.compiling import exact, kernel, summing
from eqemb.storage.numba_settings import import_numba

import_numba()  # first, so that it does not read the settings of the current folder

from numba import types  # noqa: E402
from numba.extending import intrinsic  # noqa: E402

AHEAD = 8  # rows to prefetch
_EPSILON = np.float32(EPSILON)
_LOW, _S32, _STEP = draws.LOW, draws.S32, draws.STEP
mix: Callable[..., Any] = exact(draws.mix)  # of one number, too


class LoopSettings(NamedTuple):
    """A `Rule` as compiled loops read it."""

    half: int
    negatives: int
    block: int
    zero_weight: np.float32
    key: np.uint64
    learn_alpha: bool


class Groups(NamedTuple):
    """A counting sort: entries grouped by row, without visiting all rows."""

    tally: Positions  # [R], all zero between batches
    rows: Positions  # touched rows, in order of their first entry
    starts: Positions  # into entries
    entries: Positions
    touched: Positions  # [1], how many rows are touched


def settings(rule: Rule) -> LoopSettings:
    """Convert a rule for the loops."""
    return LoopSettings(
        rule.window // 2,
        rule.negatives,
        rule.block,
        np.float32(rule.zero_weight),
        np.uint64(rule.key),
        rule.learn_alpha,
    )


@intrinsic
def _prefetch(typing: Any, array: Any, index: Any) -> Any:
    """Prefetch the cache line of an element of a contiguous array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        call = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        builder.call(call, [pointer, word(0), word(3), word(1)])
        return context.get_dummy_value()

    del typing
    return types.void(array, index), generate


@kernel
def prefetch(rows: Floats, row: int) -> None:
    """Prefetch a row. Waiting for rows, which are far apart in memory, took half of the time."""
    K = rows.shape[1]
    for k in range(row * K, (row + 1) * K, 16):
        _prefetch(rows, k)  # type: ignore[call-arg]


@kernel
def draw(key: np.uint64, first: int, noise: Noise, out: Ids) -> None:
    """Changes `out` [blocks, n] to the rows drawn as negatives, as `draws.zeros` does."""
    columns = np.uint64(len(noise.alias))
    for block in range(out.shape[0]):
        row = mix(np.uint64(first + block) * _STEP + key)
        for slot in range(out.shape[1]):
            bits = mix(row + np.uint64(slot + 1) * _STEP)
            column = np.int64(((bits >> _S32) * columns) >> _S32)
            keep = (bits & _LOW) < noise.threshold[column]
            out[block, slot] = column if keep else noise.alias[column]


@kernel
def logistic(x: Floats, p: Floats, e: Floats, power: NDArray[np.int32]) -> None:
    """Changes `p` to sigma(x) and `e` to exp(-|x|), elementwise; `power` is scratch.

    Single precision after Cody and Waite: |x| = k ln 2 + r, a polynomial in r, and 2^k built from
    its bits. LLVM vectorises both loops, which it cannot do with a call of exp.
    """
    for j in range(len(x)):
        a = max(-abs(x[j]), np.float32(-87.0))
        k = np.floor(a * np.float32(1.44269504) + np.float32(0.5))
        r = a - k * np.float32(0.693359375)
        r = r - k * np.float32(-2.12194440e-4)
        y = np.float32(1.9875691500e-4)
        y = y * r + np.float32(1.3981999507e-3)
        y = y * r + np.float32(8.3334519073e-3)
        y = y * r + np.float32(4.1665795894e-2)
        y = y * r + np.float32(1.6666665459e-1)
        y = y * r + np.float32(5.0000001201e-1)
        e[j] = y * r * r + r + np.float32(1.0)
        power[j] = (np.int32(k) + np.int32(127)) << np.int32(23)
    two = power.view(np.float32)
    for j in range(len(x)):
        t = e[j] * two[j]
        q = np.float32(1.0) / (np.float32(1.0) + t)
        e[j] = t
        p[j] = q if x[j] >= np.float32(0.0) else t * q


@summing
def dot(a: Floats, b: Floats) -> np.float32:
    """The scalar product of two rows."""
    total = np.float32(0.0)
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


@kernel
def article_of(starts: Positions, position: int) -> int:
    """The article that holds a position."""
    return int(np.searchsorted(starts, position, side="right")) - 1


@summing
def _softplus_sum(x: Floats, sign: np.float32, e: Floats) -> float:
    """The sum of log(1 + exp(sign * x)), given e = exp(-|x|): one logarithm of many factors."""
    total = 0.0
    for low in range(0, len(x), 512):
        some, part = x[low : low + 512], e[low : low + 512]
        whole, product = np.float32(0.0), 1.0  # at most 2^512
        for j in range(len(some)):
            whole += max(sign * some[j], np.float32(0.0))
        for j in range(len(some)):
            product *= 1.0 + np.float64(part[j])
        total += float(whole) + math.log(product)
    return total


@kernel
def block_loss(
    one: Floats, zero: Floats, e_one: Floats, e_zero: Floats, zero_weight: np.float32
) -> float:
    """The sum of softplus of -one and of zero, given e of both.

    An excluded negative has e = 0 and a negative score, which adds nothing.
    """
    ones = _softplus_sum(one, np.float32(-1.0), e_one)
    return ones + float(zero_weight) * _softplus_sum(zero, np.float32(1.0), e_zero)


class BlockScratch(NamedTuple):
    """Scratch memory for one block of positions that share negatives."""

    noise: Floats  # [n, K], rho of the negatives
    scores: Floats  # [B, n]
    chance: Floats  # [B, n], sigma of the scores, then the gradient
    e: Floats
    power: NDArray[np.int32]
    one: Floats  # [B]
    target: Floats  # [B]
    e_one: Floats
    power_one: NDArray[np.int32]


@kernel
def block_scratch(size: int, n: int, K: int) -> BlockScratch:
    """Allocate scratch for a block."""
    return BlockScratch(
        np.empty((n, K), np.float32),
        np.empty((size, n), np.float32),
        np.empty((size, n), np.float32),
        np.empty(size * n, np.float32),
        np.empty(size * n, np.int32),
        np.empty(size, np.float32),
        np.empty(size, np.float32),
        np.empty(size, np.float32),
        np.empty(size, np.int32),
    )


@kernel
def _exclude(words: Ids, zero: int, score: Floats, gradient: Floats, e: Floats) -> None:
    """Changes the last three so that a negative equal to the observed word has no effect."""
    equal = np.int32(0)
    for i in range(len(words)):
        equal |= np.int32(words[i] == zero)
    if equal:
        for i in range(len(words)):
            if words[i] == zero:
                score[i], gradient[i], e[i] = -1.0, 0.0, 0.0


@kernel
def score_block(
    rho: Floats, words: Ids, zeros: Ids, context: Floats, zero_weight: np.float32, b: BlockScratch
) -> float:
    """The loss of a block. Changes `b.target` to 1 - b_w, `b.chance` to negatives' gradients."""
    size, n = len(words), len(zeros)
    for z in range(n):
        b.noise[z] = rho[zeros[z]]
    scores, chance = b.scores[:size], b.chance[:size]
    for i in range(size):
        prefetch(rho, words[i])
    np.dot(context, b.noise.T, scores)
    for i in range(size):
        b.one[i] = dot(context[i], rho[words[i]])
    one, e_one = b.one[:size], b.e_one[:size]
    logistic(one, b.target, e_one, b.power_one)
    e = b.e[: size * n]
    flat = scores.reshape(-1)
    logistic(flat, chance.reshape(-1), e, b.power)
    gradient = chance.reshape(-1)
    for j in range(len(gradient)):
        gradient[j] *= -zero_weight
    for i in range(size):
        b.target[i] = np.float32(1.0) - b.target[i]
    for z in range(n):
        _exclude(words, zeros[z], scores[:, z], chance[:, z], e.reshape(size, n)[:, z])
    return block_loss(one, flat, e_one, e, zero_weight)


@kernel
def group(ids: Ids, groups: Groups) -> int:
    """Changes `groups`: entries by row, in order; -1 is no row. Returns the number of rows."""
    touched = 0
    for row in ids:
        if row >= 0:
            if groups.tally[row] == 0:
                groups.rows[touched] = row
                touched += 1
            groups.tally[row] += 1
    at = 0
    for t in range(touched):
        groups.starts[t] = at
        row = groups.rows[t]
        at += groups.tally[row]
        groups.tally[row] = groups.starts[t]
    groups.starts[touched] = at
    for entry in range(len(ids)):
        row = ids[entry]
        if row >= 0:
            groups.entries[groups.tally[row]] = entry
            groups.tally[row] += 1
    for t in range(touched):
        groups.tally[groups.rows[t]] = 0
    groups.touched[0] = touched
    return touched


@kernel
def adagrad(vector: Floats, sums: Floats, g: Floats, rate: np.float32) -> None:
    """Changes a row and its sums by one step of Adagrad."""
    for k in range(len(g)):
        s = sums[k] + g[k] * g[k]
        sums[k] = s
        vector[k] += rate * g[k] / (np.sqrt(s) + _EPSILON)
