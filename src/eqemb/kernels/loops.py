"""The compiled loops of the CPU back end: arrays in, arrays changed, nothing else.

Serial, without the GIL, cached. What a function changes is named in its docstring.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from eqemb.kernels import draws
from eqemb.kernels.arrays import (
    EPSILON,
    Floats,
    Ids,
    Noise,
    Offsets,
    Positions,
    Rows,
    Rule,
    Text,
    Vectors,
)

F = TypeVar("F", bound=Callable[..., Any])

AHEAD = 8  # rows asked for before they are needed
_EPSILON = np.float32(EPSILON)
_LOW, _S32, _STEP = draws.LOW, draws.S32, draws.STEP
# Python's own check for division by zero would keep loops from becoming vector code.
_FLAGS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy"}
mix = njit(**_FLAGS)(draws.mix)


def kernel(function: F) -> F:
    """Compile as written: sums in the order of the source, multiply-adds joined."""
    return cast("F", njit(**_FLAGS, fastmath={"contract"})(function))


def summing(function: F) -> F:
    """Compile with sums taken in vector lanes: the same bytes on the same type of CPU."""
    flags = {"contract", "reassoc", "nsz"}
    return cast("F", njit(**_FLAGS, fastmath=flags)(function))


class Settings(NamedTuple):
    """A `Rule` as kernels read it."""

    half: int
    negatives: int
    block: int
    zero_weight: np.float32


class Sheet(NamedTuple):
    """Where a batch of words leaves its gradients."""

    context: Floats  # [M, K], summed contexts; times `target`, the gradient of rho_{w_i}
    target: Floats  # [M], 1 - b of the observed word
    by_zero: Floats  # [blocks * n, K], gradients of the zeros' rho
    by_context: Floats  # [parts * (part + W), K], gradients of the context words' alpha


class Groups(NamedTuple):
    """A counting sort: entries by the row they belong to, without a walk over all rows."""

    tally: Positions  # [R], all zero between batches
    rows: Positions  # touched rows, in order of their first entry
    starts: Positions  # into entries
    entries: Positions


def settings(rule: Rule) -> Settings:
    """What loops need of a rule."""
    return Settings(rule.window // 2, rule.negatives, rule.block, np.float32(rule.zero_weight))


@intrinsic
def _prefetch(typing: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line of a number of a contiguous array before it is needed."""

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
    """Ask for a whole row. Rows are far apart in memory, and waiting for them was half of all."""
    K = rows.shape[1]
    for k in range(row * K, (row + 1) * K, 16):
        _prefetch(rows, k)  # type: ignore[call-arg]


@kernel
def draw(key: np.uint64, first: int, noise: Noise, out: Ids) -> None:
    """Changes `out` [blocks, n]: the rows drawn as zeros, as `draws.zeros` has them."""
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

    Single precision after Cody and Waite: |x| = k ln 2 + r, a polynomial in r, and 2^k made of
    its bits. LLVM turns both loops into vector code, which it cannot do with a call of exp.
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


@kernel
def add_windows(rows: Floats, size: int, half: int, scratch: Floats, width: int) -> Floats:
    """Sums of `half` rows from each row on; changes `rows` and `scratch` and returns one.

    By doubling where `half` is a power of two: s_2m[j] = s_m[j] + s_m[j + m]. What is given may
    have its first doubling behind it: `width` is how many rows each sum already holds.
    """
    if half & (half - 1):
        return _add_windows_plainly(rows, size, half, scratch)
    K = rows.shape[1]
    held, other = rows, scratch
    while width < half:
        # Slices, not offsets: an index that may be negative keeps a loop from vector code.
        have, later, into = held.reshape(-1), held[width:].reshape(-1), other.reshape(-1)
        for j in range((size - 2 * width + 1) * K):
            into[j] = have[j] + later[j]
        held, other = other, held
        width *= 2
    return held


@kernel
def _add_windows_plainly(rows: Floats, size: int, half: int, scratch: Floats) -> Floats:
    K = rows.shape[1]
    flat, total = rows.reshape(-1), scratch.reshape(-1)
    count = (size - half + 1) * K
    for j in range(count):
        total[j] = flat[j]
    for offset in range(1, half):
        later = rows[offset:].reshape(-1)
        for j in range(count):
            total[j] += later[j]
    return scratch


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


@kernel
def _gather(
    alpha: Floats, tokens: Ids, span: tuple[int, int], article: tuple[int, int], width: int,
    rows: Floats,
) -> None:  # fmt: skip
    """Changes `rows`: alpha of a span of positions, zero beyond the article.

    With a width of 2 each row is already the sum with the next one: a pass over memory less.
    """
    K = alpha.shape[1]
    for row in range(span[1]):
        position = span[0] + row
        if article[0] <= position + AHEAD < article[1]:
            prefetch(alpha, tokens[position + AHEAD])
        here = article[0] <= position < article[1]
        then = width == 2 and article[0] <= position + 1 < article[1]
        if here and then:
            word, later = tokens[position], tokens[position + 1]
            for k in range(K):
                rows[row, k] = alpha[word, k] + alpha[later, k]
        elif here or then:
            word = tokens[position] if here else tokens[position + 1]
            for k in range(K):
                rows[row, k] = alpha[word, k]
        else:
            for k in range(K):
                rows[row, k] = 0.0


@kernel
def _contexts(
    alpha: Floats, text: Text, half: int, span: tuple[int, int], out: Floats, rows: Floats,
    scratch: Floats,
) -> None:  # fmt: skip
    """Changes `out`: the summed windows of a span of positions; the others are scratch."""
    low, high = span
    article = article_of(text.starts, low)
    while low < high:
        first, last = text.starts[article], text.starts[article + 1]
        end = min(high, last)
        if end > low:
            size = end - low + 2 * half
            width = 1 if half & (half - 1) or half == 1 else 2
            _gather(alpha, text.tokens, (low - half, size), (first, last), width, rows)
            sums = add_windows(rows, size, half, scratch, width)
            before, after = sums.reshape(-1), sums[half + 1 :].reshape(-1)
            into = out[low - span[0] : end - span[0]].reshape(-1)
            for j in range(len(into)):
                into[j] = before[j] + after[j]
            low = end
        article += 1


@kernel
def _spread(
    by_context: Floats, text: Text, half: int, span: tuple[int, int], out: Floats, rows: Floats,
    scratch: Floats,
) -> None:  # fmt: skip
    """Changes `out`, which starts `half` positions early: gradients of the context words.

    A word's gradient is the sum over the window around it, as far as the span reaches.
    `by_context` has room for W rows before and after the span's own, and is used up.
    """
    low, high = span
    article = article_of(text.starts, low)
    while low < high:
        first, last = text.starts[article], text.starts[article + 1]
        end = min(high, last)
        if end > low:
            size = end - low + 4 * half
            padded = by_context
            if end - low < high - span[0]:  # more than one article: a copy with room around it
                padded = rows
                given = by_context[2 * half + low - span[0] : 2 * half + end - span[0]].reshape(-1)
                inner = rows[2 * half :].reshape(-1)
                for j in range(len(given)):
                    inner[j] = given[j]
            padded[: 2 * half] = 0.0
            padded[size - 2 * half : size] = 0.0
            sums = add_windows(padded, size, half, scratch, 1)
            start, stop = max(first, low - half), min(last, end + half)
            into = out[start - span[0] + half : stop - span[0] + half].reshape(-1)
            skip = start - (low - half)
            before, after = sums[skip:].reshape(-1), sums[skip + half + 1 :].reshape(-1)
            for j in range(len(into)):
                into[j] = before[j] + after[j]
            low = end
        article += 1


@kernel
def block_loss(
    one: Floats, zero: Floats, e_one: Floats, e_zero: Floats, zero_weight: np.float32
) -> float:
    """Summed softplus of -one and of zero, by products: log once for many factors.

    An excluded zero comes with e = 0 and a negative score, which adds nothing.
    """
    total, product = 0.0, 1.0
    for i in range(len(one)):
        total += max(-one[i], np.float32(0.0))
        product *= 1.0 + e_one[i]
        if product > 1e200:
            total += math.log(product)
            product = 1.0
    total += math.log(product)
    rest, product = 0.0, 1.0
    for j in range(len(zero)):
        rest += max(zero[j], np.float32(0.0))
        product *= 1.0 + e_zero[j]
        if product > 1e200:
            rest += math.log(product)
            product = 1.0
    return total + float(zero_weight) * (rest + math.log(product))


class Block(NamedTuple):
    """Scratch for one block of positions that share zeros."""

    noise: Floats  # [n, K], the zeros' rho
    scores: Floats  # [B, n]
    chance: Floats  # [B, n], sigma of the scores, then the gradient
    e: Floats
    power: NDArray[np.int32]
    one: Floats  # [B]
    target: Floats  # [B]
    e_one: Floats
    power_one: NDArray[np.int32]


@kernel
def block_scratch(size: int, n: int, K: int) -> Block:
    """Room for a block."""
    return Block(
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
    """Changes the last three, where a zero is the observed word, to say nothing."""
    equal = 0
    for i in range(len(words)):
        equal += words[i] == zero
    if equal:
        for i in range(len(words)):
            if words[i] == zero:
                score[i], gradient[i], e[i] = -1.0, 0.0, 0.0


@kernel
def score_block(
    rho: Floats, words: Ids, zeros: Ids, context: Floats, zero_weight: np.float32, b: Block
) -> float:
    """The loss of a block; changes `b.target` to 1 - b_w, `b.chance` to the zeros' gradient."""
    size, n = len(words), len(zeros)
    for z in range(n):
        b.noise[z] = rho[zeros[z]]
    scores, chance = b.scores[:size], b.chance[:size]
    np.dot(context, b.noise.T, scores)
    for i in range(min(size, AHEAD)):
        prefetch(rho, words[i])
    for i in range(size):
        if i + AHEAD < size:
            prefetch(rho, words[i + AHEAD])
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
def add_offsets(offsets: Offsets, first: int, last: int, out: Floats) -> None:
    """Changes `out`, contexts of a span of positions, by what equations add to them."""
    at = np.searchsorted(offsets.positions, first)
    while at < len(offsets.positions) and offsets.positions[at] < last:
        row = offsets.positions[at] - first
        for k in range(out.shape[1]):
            out[row, k] += offsets.sums[at, k]
        at += 1


@kernel
def words_forward(
    vectors: Vectors, text: Text, rule: Settings, sheet: Sheet, zeros: Ids,
    bounds: tuple[int, int, int, int], losses: NDArray[np.float64], learn: bool,
) -> None:  # fmt: skip
    """Changes `losses` of the parts between two bounds and, to learn, their rows of `sheet`."""
    start, low, high, part = bounds  # of the batch; of this call; positions in a part
    K, half, n, size = vectors.rho.shape[1], rule.half, rule.negatives, rule.block
    rows = np.empty((part + 4 * half, K), np.float32)
    scratch = np.empty((part + 4 * half, K), np.float32)
    by_context = np.empty((part + 4 * half, K), np.float32)
    b = block_scratch(size, n, K)
    for first in range(low, high, part):
        last = min(first + part, high)
        context = sheet.context[first - start : last - start]
        _contexts(vectors.alpha, text, half, (first, last), context, rows, scratch)
        add_offsets(text.offsets, first, last, context)
        for left in range(first, last, size):
            right = min(left + size, last)
            block = (left - start) // size
            if block + 1 < len(zeros):
                for zero in zeros[block + 1]:
                    prefetch(vectors.rho, zero)
            inner = context[left - first : right - first]
            words = text.tokens[left:right]
            losses[block] = score_block(
                vectors.rho, words, zeros[block], inner, rule.zero_weight, b
            )
            if learn:
                chance = b.chance[: right - left]
                outer = by_context[2 * half + left - first : 2 * half + right - first]
                np.dot(chance.T, inner, sheet.by_zero[block * n : block * n + n])
                np.dot(chance, b.noise, outer)
                for i in range(right - left):
                    word, weight = words[i], b.target[i]
                    sheet.target[left - start + i] = weight
                    for k in range(K):
                        outer[i, k] += weight * vectors.rho[word, k]
        if learn:
            room = (first - start) // part * (part + 2 * half)
            out = sheet.by_context[room : room + last - first + 2 * half]
            _spread(by_context, text, half, (first, last), out, rows, scratch)


@kernel
def group(ids: Ids, groups: Groups) -> int:
    """Changes `groups`: entries by row, in order of entry; -1 is no row. How many rows.

    Where there are not many more rows than entries, touched rows come in order of row, not of
    first entry: the steps that follow then walk through memory in one direction.
    """
    touched = 0
    walk = len(groups.tally) <= 16 * len(ids)
    for row in ids:
        if row >= 0:
            if groups.tally[row] == 0 and not walk:
                groups.rows[touched] = row
                touched += 1
            groups.tally[row] += 1
    if walk:
        for row in range(len(groups.tally)):
            if groups.tally[row]:
                groups.rows[touched] = row
                touched += 1
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
    return touched


@kernel
def context_ids(text: Text, half: int, bounds: tuple[int, int, int], ids: Ids) -> int:
    """Changes `ids`: the word of every row of `by_context`, -1 beyond the article. How many."""
    low, high, part = bounds
    at = 0
    for first in range(low, high, part):
        last = min(first + part, high)
        left = text.starts[article_of(text.starts, first)]
        right = text.starts[article_of(text.starts, last - 1) + 1]
        for position in range(first - half, last + half):
            ids[at] = text.tokens[position] if left <= position < right else -1
            at += 1
    return at


@kernel
def adagrad(vector: Floats, sums: Floats, g: Floats, rate: np.float32) -> None:
    """Changes a row and its sums by one step."""
    for k in range(len(g)):
        s = sums[k] + g[k] * g[k]
        sums[k] = s
        vector[k] += rate * g[k] / (np.sqrt(s) + _EPSILON)


@kernel
def _prefetch_next(rows: Rows, groups: Groups, t: int, end: int) -> None:
    """Ask for the row that is stepped two rows on."""
    if t + 2 < end:
        prefetch(rows.vectors, groups.rows[t + 2])
        prefetch(rows.sums, groups.rows[t + 2])


@kernel
def apply_targets(
    rows: Rows, groups: Groups, span: tuple[int, int], sheet: Sheet, size: int, rate: np.float32
) -> None:
    """Changes touched rows of rho: entries are the batch's words, then its zeros."""
    K = rows.vectors.shape[1]
    g = np.empty(K, np.float32)
    last = groups.starts[span[1]]
    for t in range(span[0], span[1]):
        _prefetch_next(rows, groups, t, span[1])
        g[:] = 0.0
        for at in range(groups.starts[t], groups.starts[t + 1]):
            entry = groups.entries[at]
            if at + AHEAD < last:
                later = groups.entries[at + AHEAD]
                if later < size:
                    prefetch(sheet.context, later)
                else:
                    prefetch(sheet.by_zero, later - size)
            if entry < size:
                weight = sheet.target[entry]
                for k in range(K):
                    g[k] += weight * sheet.context[entry, k]
            else:
                for k in range(K):
                    g[k] += sheet.by_zero[entry - size, k]
        row = groups.rows[t]
        adagrad(rows.vectors[row], rows.sums[row], g, rate)


@kernel
def apply_rows(
    rows: Rows, groups: Groups, span: tuple[int, int], gradients: Floats, rate: np.float32
) -> None:
    """Changes touched rows: each entry is a row of `gradients`."""
    K = rows.vectors.shape[1]
    g = np.empty(K, np.float32)
    last = groups.starts[span[1]]
    for t in range(span[0], span[1]):
        _prefetch_next(rows, groups, t, span[1])
        g[:] = 0.0
        for at in range(groups.starts[t], groups.starts[t + 1]):
            if at + AHEAD < last:
                prefetch(gradients, groups.entries[at + AHEAD])
            entry = groups.entries[at]
            for k in range(K):
                g[k] += gradients[entry, k]
        row = groups.rows[t]
        adagrad(rows.vectors[row], rows.sums[row], g, rate)
