"""The definition of a training step: NumPy, simple and slow, computed in float64.

There are three conditionals: words (b_w in the first pass, b_u over units), bags (b_w in the second
pass: alpha of equations or of their units, words fixed) and contexts (b_e: rho of equations). Each
has an `*_update`, which changes vectors and returns the mean loss, and a `*_loss`, which changes
nothing. At the same batch size every back end gives the same numbers as this one.
The pairs of GloVe are counted, ordered and learned one by one.
The loss is minus the objective: -log b for ones, -zero_weight log(1 - b) for negatives (zeros).
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.kernels import draws
from eqemb.kernels.arrays import (
    EPSILON,
    GRID,
    PAIRS_PER_CHUNK,
    Biased,
    Contexts,
    Counts,
    Ids,
    Near,
    PairRule,
    Pairs,
    Positions,
    Rows,
    Rule,
    TextArrays,
    Vectors,
)

Doubles = NDArray[np.float64]
Span = tuple[int, int]
CHUNKS, ORDER = 1, 2  # draws for the order of pairs


class ScoredBatch(NamedTuple):
    """The summed loss of a batch of words, and its gradients."""

    loss: float
    target: Doubles  # [M], 1 - b of the observed word
    zero: Doubles  # [M, n], - weight * b of each negative
    context: Doubles  # [M, K], of the context vector


@contextmanager
def holding(*changed: Any) -> Iterator[tuple[Any, ...]]:
    """The arrays where steps change them: on a CPU they need not be moved."""
    yield changed


def softplus(x: Doubles) -> Doubles:
    """-log sigma(-x) without overflow."""
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


def sigmoid(x: Doubles) -> Doubles:
    """The logistic function, sigma."""
    return np.exp(-softplus(-x))


def neighbours(text: TextArrays, positions: NDArray[np.int64], window: int) -> NDArray[np.int64]:
    """c_i: the positions of the window around each position, -1 beyond the article; [M, W]."""
    half = window // 2
    offsets = np.r_[np.arange(-half, 0), np.arange(1, half + 1)]
    article = np.searchsorted(text.starts, positions, side="right")
    found = positions[:, None] + offsets[None, :]
    inside = (found >= text.starts[article - 1][:, None]) & (found < text.starts[article][:, None])
    return np.where(inside, found, -1)


def window_sums(
    alpha: NDArray[np.floating], text: TextArrays, positions: NDArray[np.int64], window: int
) -> Doubles:
    """Sum over j in c_i of alpha_{w_j}; [M, K]."""
    total = np.zeros((len(positions), alpha.shape[1]))
    for found in neighbours(text, positions, window).T:
        total += np.where(found[:, None] >= 0, alpha[text.tokens[found]], 0.0)
    return total


def score(
    rho: NDArray[np.floating],
    words: NDArray[np.int32],
    zeros: NDArray[np.int32],
    context: Doubles,
    zero_weight: float,
) -> ScoredBatch:
    """Score b = sigma(rho . context) of the observed words and of their negatives [M, n]."""
    rho_one, rho_zero = rho[words].astype(np.float64), rho[zeros].astype(np.float64)
    one = (rho_one * context).sum(1)
    zero = np.einsum("mnk,mk->mn", rho_zero, context)
    weight = zero_weight * (zeros != words[:, None])  # a negative equal to the word has weight 0
    # L = sum_i log b_i + zero_weight sum_z log(1 - b_z)
    loss = softplus(-one).sum() + (weight * softplus(zero)).sum()
    # dL/ds = 1 - b for ones, -zero_weight b for zeros, where s = rho . context
    by_one, by_zero = 1.0 - sigmoid(one), -weight * sigmoid(zero)
    by_context = by_one[:, None] * rho_one + np.einsum("mn,mnk->mk", by_zero, rho_zero)
    return ScoredBatch(float(loss), by_one, by_zero, by_context)


def adagrad(
    vectors: NDArray[np.floating], sums: NDArray[np.floating], gradient: Doubles, rate: float
) -> None:
    """Take a step: sum += g^2; vector += rate g / (sqrt(sum) + EPSILON)."""
    total = sums.astype(np.float64) + gradient**2
    step = rate * gradient / (np.sqrt(total) + EPSILON)
    sums[...] = total
    vectors[...] = vectors.astype(np.float64) + step


def batches(span: Span | None, size: int, rule: Rule) -> list[Span]:
    """The batches of a span of positions, or of all of them."""
    first, last = span or (0, size)
    return [(low, min(low + rule.batch, last)) for low in range(first, last, rule.batch)]


def count_positions(spans: list[Span]) -> int:
    """How many positions batches have, at least one."""
    return max(1, sum(last - first for first, last in spans))


def words_gradient(
    vectors: Vectors, text: TextArrays, rule: Rule, span: Span
) -> tuple[float, Doubles, Doubles]:
    """Loss, d/d rho and d/d alpha of the objective over one batch."""
    positions = np.arange(*span)
    words = text.tokens[positions]
    # b_w = sigma( rho_{w_i} . sum_{j in c_i} alpha_{w_j} )
    context = window_sums(vectors.alpha, text, positions, rule.window)
    first, last = np.searchsorted(text.offsets.positions, span)
    if first < last:
        context[text.offsets.positions[first:last] - span[0]] += text.offsets.sums[first:last]
    zeros = draws.zeros(rule.key, positions // rule.block, rule.negatives, text.noise)
    scored = score(vectors.rho, words, zeros, context, rule.zero_weight)
    rho, alpha = np.zeros(vectors.rho.shape), np.zeros(vectors.alpha.shape)
    np.add.at(rho, words, scored.target[:, None] * context)
    np.add.at(rho, zeros, scored.zero[:, :, None] * context[:, None, :])
    for found in neighbours(text, positions, rule.window).T:
        inside = found >= 0
        np.add.at(alpha, text.tokens[found[inside]], scored.context[inside])
    return scored.loss, rho, alpha


def words_update(
    vectors: Vectors, text: TextArrays, rule: Rule, span: Span | None = None, threads: int = 1
) -> float:
    """Synchronous minibatches over the text (or a span of positions); the mean loss."""
    del threads
    total, spans = 0.0, batches(span, len(text.tokens), rule)
    for batch in spans:
        loss, rho, alpha = words_gradient(vectors, text, rule, batch)
        adagrad(vectors.rho, vectors.rho_sum, rho, rule.rate)
        if rule.learn_alpha:
            adagrad(vectors.alpha, vectors.alpha_sum, alpha, rule.rate)
        total += loss
    return total / count_positions(spans)


def words_loss(
    vectors: Vectors, text: TextArrays, rule: Rule, span: Span | None = None, threads: int = 1
) -> float:
    """The mean loss over the text, or over a span of positions."""
    del threads
    spans = batches(span, len(text.tokens), rule)
    return sum(words_gradient(vectors, text, rule, batch)[0] for batch in spans) / count_positions(
        spans
    )


def pool(rows: NDArray[np.floating], near: Near) -> Doubles:
    """alpha_e = scale * sum of its rows' alpha, for every type; [types, K]."""
    pooled = np.zeros((len(near.scale), rows.shape[1]))
    owner = np.repeat(np.arange(len(near.scale)), np.diff(near.bag_starts))
    np.add.at(pooled, owner, rows[near.bags].astype(np.float64))
    return pooled * near.scale[:, None]


def bags_gradient(
    rows: Rows, words: Vectors, text: TextArrays, near: Near, rule: Rule, span: Span
) -> tuple[float, Doubles]:
    """Loss and d/d alpha of the rows over one batch of near positions; words are fixed."""
    places = np.arange(*span)
    positions = near.positions[places]
    # b_w = sigma( rho_{w_i} . ( sum_j alpha_{w_j} + sum_k alpha_{e_k} ) ), where EqEmb-U has
    #                                                 sum_k sum_l alpha_{u_kl} in the second place
    context = window_sums(words.alpha, text, positions, rule.window)
    owner = np.repeat(places, np.diff(near.starts)[places]) - span[0]
    types = near.types[near.starts[span[0]] : near.starts[span[1]]]
    np.add.at(context, owner, pool(rows.vectors, near)[types])
    zeros = draws.zeros(rule.key, places // rule.block, rule.negatives, text.noise)
    scored = score(words.rho, text.tokens[positions], zeros, context, rule.zero_weight)
    by_type = np.zeros((len(near.scale), rows.vectors.shape[1]))
    np.add.at(by_type, types, scored.context[owner])
    gradient = np.zeros(rows.vectors.shape)
    sizes = np.diff(near.bag_starts)
    np.add.at(gradient, near.bags, np.repeat(by_type * near.scale[:, None], sizes, axis=0))
    return scored.loss, gradient


def bags_update(
    rows: Rows,
    words: Vectors,
    text: TextArrays,
    near: Near,
    rule: Rule,
    span: Span | None = None,
    *,
    whole: bool = False,
    threads: int = 1,
) -> float:
    """Minibatches over near positions; `whole` takes one step on the gradient of the span."""
    del threads
    total, kept = 0.0, np.zeros(rows.vectors.shape)
    spans = batches(span, len(near.positions), rule)
    for batch in spans:
        loss, gradient = bags_gradient(rows, words, text, near, rule, batch)
        total += loss
        kept += gradient
        if not whole:
            adagrad(rows.vectors, rows.sums, gradient, rule.rate)
    if whole:
        adagrad(rows.vectors, rows.sums, kept, rule.rate)
    return total / count_positions(spans)


def bags_loss(
    rows: Rows,
    words: Vectors,
    text: TextArrays,
    near: Near,
    rule: Rule,
    span: Span | None = None,
    *,
    threads: int = 1,
) -> float:
    """The mean loss over near positions."""
    del threads
    spans = batches(span, len(near.positions), rule)
    total = sum(bags_gradient(rows, words, text, near, rule, batch)[0] for batch in spans)
    return total / count_positions(spans)


def contexts_gradient(rows: Rows, contexts: Contexts, rule: Rule) -> tuple[float, Doubles]:
    """Loss and d/d rho of every equation type over its occurrences and their negatives."""
    occurrences = contexts.occurrences
    types = np.repeat(np.arange(len(rows.vectors)), np.diff(contexts.starts))
    rho = rows.vectors[types].astype(np.float64)
    # b_e = sigma( rho_{e_m} . sum_{l in c_m} alpha_{w_l} )
    seen = contexts.sums[occurrences].astype(np.float64)
    others = contexts.sums[contexts.zeros[occurrences]].astype(np.float64)
    one, zero = (rho * seen).sum(1), np.einsum("ok,onk->on", rho, others)
    loss = softplus(-one).sum() + rule.zero_weight * softplus(zero).sum()
    by_zero = -rule.zero_weight * sigmoid(zero)
    gradient = np.zeros(rows.vectors.shape)
    np.add.at(gradient, types, (1.0 - sigmoid(one))[:, None] * seen)
    np.add.at(gradient, types, np.einsum("on,onk->ok", by_zero, others))
    return float(loss), gradient


def contexts_update(rows: Rows, contexts: Contexts, rule: Rule, threads: int = 1) -> float:
    """One Adagrad step of every type's rho on all its occurrences; the mean loss."""
    del threads
    loss, gradient = contexts_gradient(rows, contexts, rule)
    adagrad(rows.vectors, rows.sums, gradient, rule.rate)
    return loss / max(1, len(contexts.occurrences))


def contexts_loss(rows: Rows, contexts: Contexts, rule: Rule, threads: int = 1) -> float:
    """The mean loss of b_e over all occurrences."""
    del threads
    return contexts_gradient(rows, contexts, rule)[0] / max(1, len(contexts.occurrences))


def distance_shares(window: int) -> Doubles:
    """What a pair counts at distances 1, 2, ...: 1 / d, in units given by the first entry.

    In units of 1 / lcm the counts are integers, so that their sums are exact in any order. That
    holds as long as a double can represent them, for windows up to about forty.
    """
    half = window // 2
    unit = math.lcm(*range(1, half + 1)) if half <= 40 else 1
    return np.array([unit, *(unit / d for d in range(1, half + 1))], np.float64)


def pairs_count(tokens: Ids, starts: Positions, size: int, window: int, threads: int = 1) -> Counts:
    """Co-occurrences of `size` words within windows; articles begin at `starts`."""
    del threads
    shares = distance_shares(window)
    table = np.zeros((size, size))
    for low, high in pairwise(starts):
        for d in range(1, min(len(shares), int(high - low))):
            near, far = tokens[low : high - d], tokens[low + d : high]
            np.add.at(table, (near, far), shares[d])
            np.add.at(table, (far, near), shares[d])
    rows, columns = np.nonzero(table)
    starts = np.searchsorted(rows, np.arange(size + 1))
    return Counts(starts, columns.astype(np.int32), table[rows, columns] / shares[0])


def strata(counts: Counts) -> Ids:
    """The stratum of each word, assigned so that all strata have about as many pairs."""
    order = np.argsort(-np.diff(counts.starts), kind="stable")
    turn = np.arange(len(order)) % (2 * GRID)
    found = np.empty(len(order), np.int32)
    found[order] = np.minimum(turn, 2 * GRID - 1 - turn)
    return found


def chunk_number(counts: Counts) -> int:
    """The number of chunks; within a chunk, words meet the other words one stratum at a time."""
    return max(1, round(len(counts.columns) / PAIRS_PER_CHUNK))


def pairs_order(counts: Counts, rule: PairRule, threads: int = 1) -> Pairs:
    """Assign pairs to chunks and cells at random, and shuffle each cell."""
    del threads
    rows = np.repeat(np.arange(len(counts.starts) - 1), np.diff(counts.starts))
    every, groups, chunks = np.arange(len(rows)), strata(counts), chunk_number(counts)
    drawn = draws.bits(draws.key(rule.key, CHUNKS, 0), every, 1)[:, 0]
    chunk = draws.below(drawn, np.full(len(rows), chunks))
    diagonal = (groups[counts.columns] - groups[rows]) % GRID
    cell = (chunk * GRID + diagonal) * GRID + groups[rows]
    order = np.argsort(cell, kind="stable")
    starts = np.searchsorted(cell[order], np.arange(chunks * GRID * GRID + 1))
    drawn = draws.bits(draws.key(rule.key, ORDER, 0), every, 1)[:, 0]
    low = starts[cell[order]]
    for at in every[::-1]:  # Fisher and Yates, within each cell
        to = low[at] + draws.below(drawn[at], at - low[at] + 1)
        order[at], order[to] = order[to], order[at]
    x = counts.counts[order]
    return Pairs(
        rows[order].astype(np.int32),
        counts.columns[order],
        np.log(x).astype(np.float32),
        (np.minimum(1.0, x / rule.x_max) ** rule.power).astype(np.float32),
        starts.astype(np.int64),
    )


def pair_gradient(vectors: Biased, pairs: Pairs, at: int) -> tuple[float, Doubles, Doubles, float]:
    """Loss of one pair, and its gradient by w, by w~ and by either bias."""
    rho = vectors.rho[pairs.rows[at]].astype(np.float64)
    alpha = vectors.alpha[pairs.columns[at]].astype(np.float64)
    bias = float(vectors.rho_bias[pairs.rows[at]]) + float(vectors.alpha_bias[pairs.columns[at]])
    # J = f(x) d^2 / 2, d = w . w~ + b + b~ - log x
    difference = float(rho @ alpha) + bias - float(pairs.logs[at])
    g = float(pairs.weights[at]) * difference
    return 0.5 * g * difference, g * alpha, g * rho, g


def pairs_update(vectors: Biased, pairs: Pairs, rate: float, threads: int = 1) -> float:
    """Learn every pair once, in order; the mean loss, each taken before its step.

    The sums are of (rate * g)^2, start at 1 and take effect from the next step on. Biases are
    stepped without the rate.
    """
    del threads
    total = 0.0
    for at in range(len(pairs.rows)):
        row, column = pairs.rows[at], pairs.columns[at]
        loss, by_rho, by_alpha, by_bias = pair_gradient(vectors, pairs, at)
        for matrix, squares, index, step in (
            (vectors.rho, vectors.rho_sum, row, rate * by_rho),
            (vectors.alpha, vectors.alpha_sum, column, rate * by_alpha),
            (vectors.rho_bias, vectors.rho_bias_sum, row, np.array(by_bias)),
            (vectors.alpha_bias, vectors.alpha_bias_sum, column, np.array(by_bias)),
        ):
            matrix[index] -= step / np.sqrt(squares[index])
            squares[index] += step**2
        total += loss
    return total / max(1, len(pairs.rows))


def pairs_loss(vectors: Biased, pairs: Pairs, threads: int = 1) -> float:
    """The mean loss of all pairs."""
    del threads
    losses = [pair_gradient(vectors, pairs, at)[0] for at in range(len(pairs.rows))]
    return sum(losses) / max(1, len(losses))
