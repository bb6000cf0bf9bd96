"""Compiled loops of the first pass and of b_u: windows, blocks, gradient sheets, Adagrad.

As in `loops`, docstrings name what a function changes.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.kernels.arrays import Floats, Ids, Offsets, TextArrays, Vectors
from eqemb.kernels.barrier import Meeting, meet
from eqemb.kernels.compiling import kernel
from eqemb.kernels.loops import (
    AHEAD,
    BlockScratch,
    Groups,
    LoopSettings,
    adagrad,
    article_of,
    block_scratch,
    draw,
    group,
    prefetch,
    score_block,
)


class Sheet(NamedTuple):
    """The gradients of the shares of a batch: one row for each word of a share."""

    words: Ids  # [shares, R], the word of each row; -1 if it is free
    near: NDArray[np.bool_]  # [shares, R], whether the word is in the text, not only a negative
    rho: Floats  # [shares, R, K]
    alpha: Floats  # [shares, R, K], only if near


@kernel
def _around(rows: Floats, half: int, width: int, scratch: Floats, out: Floats) -> None:
    """Changes `out` [N - 2 half, K]: sums of the `half` rows before and after each inner row.

    By doubling if `half` is a power of two: s_2m[j] = s_m[j] + s_m[j + m]. `rows` may already hold
    sums of `width` rows. `rows` and `scratch` are overwritten.
    """
    K, into = rows.shape[1], out.reshape(-1)
    # Slices, not offsets: an index that may be negative prevents vectorisation.
    if half & (half - 1):
        into[:] = 0.0
        for offset in range(2 * half + 1):
            if offset != half:
                later = rows[offset:].reshape(-1)
                for j in range(len(into)):
                    into[j] += later[j]
        return
    held, other = rows, scratch
    while 2 * width < half:
        one, two, sums = held.reshape(-1), held[width:].reshape(-1), other.reshape(-1)
        for j in range(len(one) - width * K):
            sums[j] = one[j] + two[j]
        held, other = other[: len(held) - width], held
        width *= 2
    one, three = held.reshape(-1), held[half + 1 :].reshape(-1)
    if width == half:
        for j in range(len(into)):
            into[j] = one[j] + three[j]
    else:
        two, four = held[width:].reshape(-1), held[half + 1 + width :].reshape(-1)
        for j in range(len(into)):
            into[j] = (one[j] + two[j]) + (three[j] + four[j])


@kernel
def _gather(
    alpha: Floats, tokens: Ids, span: tuple[int, int], article: tuple[int, int], width: int,
    rows: Floats,
) -> None:  # fmt: skip
    """Changes `rows` to alpha of a span of positions, zero beyond the article.

    With a width of 2 each row is the sum with the next one, which saves a pass over memory.
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


class PartScratch(NamedTuple):
    """Scratch memory for a part of a share."""

    context: Floats  # summed windows, [part + W, K]
    by_context: Floats  # their gradients, after W empty rows, [part + 2W, K]
    rows: Floats  # [part + 2W, K]
    sums: Floats  # [part + 2W, K]
    by_zero: Floats  # [n, K]


@kernel
def _part_scratch(part: int, half: int, n: int, K: int) -> PartScratch:
    """Allocate scratch for a part."""
    return PartScratch(
        np.empty((part + 2 * half, K), np.float32),
        np.empty((part + 4 * half, K), np.float32),
        np.empty((part + 4 * half, K), np.float32),
        np.empty((part + 4 * half, K), np.float32),
        np.empty((n, K), np.float32),
    )


@kernel
def _contexts(
    alpha: Floats, text: TextArrays, half: int, span: tuple[int, int], scratch: PartScratch
) -> None:
    """Changes `scratch.context` to the summed windows of a span of positions."""
    low, high = span
    article = article_of(text.starts, low)
    while low < high:
        first, last = text.starts[article], text.starts[article + 1]
        end = min(high, last)
        if end > low:
            size = end - low + 2 * half
            width = 1 if half & (half - 1) or half == 1 else 2
            _gather(alpha, text.tokens, (low - half, size), (first, last), width, scratch.rows)
            out = scratch.context[low - span[0] : end - span[0]]
            _around(scratch.rows[:size], half, width, scratch.sums, out)
            low = end
        article += 1


@kernel
def _add_offsets(offsets: Offsets, first: int, last: int, out: Floats) -> None:
    """Changes `out`, contexts of a span of positions: adds what equations add to them."""
    at = np.searchsorted(offsets.positions, first)
    while at < len(offsets.positions) and offsets.positions[at] < last:
        row = offsets.positions[at] - first
        for k in range(out.shape[1]):
            out[row, k] += offsets.sums[at, k]
        at += 1


@kernel
def _spread(
    text: TextArrays,
    half: int,
    span: tuple[int, int],
    scratch: PartScratch,
    slots: Ids,
    alpha: Floats,
) -> None:
    """Changes `alpha`, gradients in the slots of words: adds those of the contexts of a span.

    The gradient of a word is the sum over the window around it, within the span. The contexts in
    scratch and their gradients are overwritten.
    """
    low, high = span
    K = alpha.shape[1]
    article = article_of(text.starts, low)
    while low < high:
        first, last = text.starts[article], text.starts[article + 1]
        end = min(high, last)
        if end > low:
            size = end - low + 4 * half
            padded = scratch.by_context
            if end - low < high - span[0]:  # more than one article: copy, with room around it
                padded = scratch.rows
                given = scratch.by_context[2 * half + low - span[0] : 2 * half + end - span[0]]
                padded[2 * half : size - 2 * half] = given
            padded[: 2 * half] = 0.0
            padded[size - 2 * half : size] = 0.0
            out = scratch.context[: size - 2 * half]
            _around(padded[:size], half, 1, scratch.sums, out)
            for position in range(max(first, low - half), min(last, end + half)):
                total, found = alpha[slots[text.tokens[position]]], out[position - (low - half)]
                for k in range(K):
                    total[k] += found[k]
            low = end
        article += 1


@kernel
def _take_slots(words: Ids, slots: Ids, taken: Ids, count: int) -> int:
    """Changes `slots` and `taken`: a slot for each new word. Returns how many are taken."""
    for word in words:
        if slots[word] < 0:
            slots[word] = count
            taken[count] = word
            count += 1
    return count


@kernel
def _open_share(
    text: TextArrays,
    half: int,
    span: tuple[int, int],
    zeros: Ids,
    slots: Ids,
    sheet: Sheet,
    at: int,
) -> int:
    """Changes `slots` and the rows of a share in `sheet`: empty rows for its words. How many."""
    around = text.tokens[max(0, span[0] - half) : min(span[1] + half, len(text.tokens))]
    taken = sheet.words[at]
    near = _take_slots(around, slots, taken, 0)
    count = _take_slots(zeros.reshape(-1), slots, taken, near)
    taken[count:] = -1
    sheet.near[at, :near] = True
    sheet.near[at, near:] = False
    sheet.rho[at, :count] = 0.0
    sheet.alpha[at, :near] = 0.0
    return count


@kernel
def _block_gradients(
    rho: Floats, words: Ids, zeros: Ids, context: Floats, b: BlockScratch, slots: Ids,
    total: Floats, by_context: Floats, by_zero: Floats,
) -> None:  # fmt: skip
    """Changes `total`, gradients of rho in the slots of words, and `by_context`."""
    K, chance = rho.shape[1], b.chance[: len(words)]
    np.dot(chance.T, context, by_zero)
    for z in range(len(zeros)):
        into = total[slots[zeros[z]]]
        for k in range(K):
            into[k] += by_zero[z, k]
    np.dot(chance, b.noise, by_context)
    for i in range(len(words)):
        word, weight = words[i], b.target[i]
        into = total[slots[word]]
        for k in range(K):
            into[k] += weight * context[i, k]
        for k in range(K):
            by_context[i, k] += weight * rho[word, k]


@kernel
def words_forward(
    vectors: Vectors, text: TextArrays, rule: LoopSettings, sheet: Sheet,
    bounds: tuple[int, int, int, int, int], slots: Ids, losses: NDArray[np.float64], learn: bool,
) -> None:  # fmt: skip
    """Changes `losses` of the shares within bounds and, if `learn`, their rows of `sheet`.

    `slots` [V] is the row of each word in the sheet of a share, and -1 between calls.
    """
    start, low, high, share, part = bounds  # of the batch; of this call; positions in each
    K, half, n, size = vectors.rho.shape[1], rule.half, rule.negatives, rule.block
    scratch, b = _part_scratch(part, half, n, K), block_scratch(size, n, K)
    zeros = np.empty((share // size, n), np.int32)
    for begin in range(low, high, share):
        end, at = min(begin + share, high), (begin - start) // share
        zero = zeros[: (end - begin + size - 1) // size]
        draw(rule.key, begin // size, text.noise, zero)
        count = 0
        if learn:
            count = _open_share(text, half, (begin, end), zero, slots, sheet, at)
        for first in range(begin, end, part):
            last = min(first + part, end)
            _contexts(vectors.alpha, text, half, (first, last), scratch)
            _add_offsets(text.offsets, first, last, scratch.context)
            for left in range(first, last, size):
                right, block = min(left + size, last), (left - begin) // size
                if block + 1 < len(zero):
                    for row in zero[block + 1]:
                        prefetch(vectors.rho, row)
                words, context = (
                    text.tokens[left:right],
                    scratch.context[left - first : right - first],
                )
                losses[(left - start) // size] = score_block(
                    vectors.rho, words, zero[block], context, rule.zero_weight, b
                )
                if learn:
                    out = scratch.by_context[2 * half + left - first : 2 * half + right - first]
                    _block_gradients(
                        vectors.rho, words, zero[block], context, b, slots, sheet.rho[at], out,
                        scratch.by_zero,
                    )  # fmt: skip
            if learn and rule.learn_alpha:
                _spread(text, half, (first, last), scratch, slots, sheet.alpha[at])
        for slot in range(count):
            slots[sheet.words[at, slot]] = -1


@kernel
def apply_words(
    vectors: Vectors, groups: Groups, span: tuple[int, int], sheet: Sheet, rate: np.float32,
    learn_alpha: bool,
) -> None:  # fmt: skip
    """Changes touched rows, and `sheet`, in which the gradients of each are summed."""
    K = vectors.rho.shape[1]
    rho, alpha, near = sheet.rho.reshape(-1, K), sheet.alpha.reshape(-1, K), sheet.near.reshape(-1)
    last = groups.starts[span[1]]
    for t in range(span[0], span[1]):
        if t + 2 < span[1]:
            for matrix in vectors:
                prefetch(matrix, groups.rows[t + 2])
        row, first, seen = groups.rows[t], groups.entries[groups.starts[t]], -1
        for at in range(groups.starts[t], groups.starts[t + 1]):
            if at + AHEAD < last:
                prefetch(rho, groups.entries[at + AHEAD])
                prefetch(alpha, groups.entries[at + AHEAD])
            entry = groups.entries[at]
            if entry != first:
                for k in range(K):
                    rho[first, k] += rho[entry, k]
            if seen >= 0 and near[entry]:
                for k in range(K):
                    alpha[seen, k] += alpha[entry, k]
            elif near[entry]:
                seen = entry
        adagrad(vectors.rho[row], vectors.rho_sum[row], rho[first], rate)
        if seen >= 0 and learn_alpha:
            adagrad(vectors.alpha[row], vectors.alpha_sum[row], alpha[seen], rate)


@kernel
def _even_part(groups: Groups, member: int, members: int) -> tuple[int, int]:
    """The touched rows of one of the members: about the same cost for each."""
    touched = groups.touched[0]
    total = groups.starts[touched] + 4 * touched
    at, low = 0, 0
    for edge in range(member, member + 2):
        low, aim = at, total * edge // members
        high = touched
        while at < high:
            middle = (at + high) // 2
            if groups.starts[middle] + 4 * middle < aim:
                at = middle + 1
            else:
                high = middle
    return low, at


@kernel
def words_batches(
    vectors: Vectors, text: TextArrays, rule: LoopSettings, sheet: Sheet, groups: Groups,
    bounds: tuple[int, int, int, int, int], slots: Ids, losses: NDArray[np.float64],
    rate: np.float32, learn: bool, member: tuple[int, int], meeting: Meeting,
) -> None:  # fmt: skip
    """Changes `losses` [batches, blocks] and, if `learn`, the vectors, batch by batch.

    Every thread runs this; each is one member of so many, does its part and meets the others.
    """
    low, high, batch, share, part = bounds  # of this call; positions in each
    for start in range(low, high, batch):
        end = min(start + batch, high)
        shares = (end - start + share - 1) // share
        first = start + shares * member[0] // member[1] * share
        last = min(start + shares * (member[0] + 1) // member[1] * share, end)
        if first < last:
            words_forward(
                vectors, text, rule, sheet, (start, first, last, share, part), slots,
                losses[(start - low) // batch], learn,
            )  # fmt: skip
        if learn:
            if not meet(meeting, member[1]):
                return
            if member[0] == 0:
                group(sheet.words[:shares].reshape(-1), groups)
            if not meet(meeting, member[1]):
                return
            rows = _even_part(groups, member[0], member[1])
            apply_words(vectors, groups, rows, sheet, rate, rule.learn_alpha)
            if not meet(meeting, member[1]):
                return
