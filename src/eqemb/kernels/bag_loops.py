"""Compiled loops of the second pass: equations as bags of rows, and b_e.

A bag is the single row of an equation (EqEmb), or the rows of its units (EqEmb-U).
As in `loops`, docstrings name what a function changes.
"""

import numpy as np
from numpy.typing import NDArray

from eqemb.kernels.arrays import Contexts, Floats, Ids, Near, Positions, Rows, TextArrays, Vectors
from eqemb.kernels.compiling import kernel
from eqemb.kernels.loops import (
    Groups,
    LoopSettings,
    adagrad,
    article_of,
    block_loss,
    block_scratch,
    dot,
    logistic,
    score_block,
)


@kernel
def bag_pool(
    vectors: Floats, near: Near, groups: Groups, span: tuple[int, int], local: Positions,
    pooled: Floats,
) -> None:  # fmt: skip
    """Changes `pooled` and `local` of touched types: alpha_e = scale * sum of its rows."""
    K = vectors.shape[1]
    for t in range(span[0], span[1]):
        type_ = groups.rows[t]
        local[type_] = t
        pooled[t] = 0.0
        for at in range(near.bag_starts[type_], near.bag_starts[type_ + 1]):
            row = near.bags[at]
            for k in range(K):
                pooled[t, k] += vectors[row, k]
        for k in range(K):
            pooled[t, k] *= near.scale[type_]


@kernel
def bag_owners(near: Near, low: int, high: int, owners: Positions) -> None:
    """Changes `owners` to the position of every entry of the batch."""
    at = 0
    for place in range(low, high):
        for _ in range(near.starts[place], near.starts[place + 1]):
            owners[at] = place - low
            at += 1


@kernel
def _bag_contexts(
    alpha: Floats, text: TextArrays, near: Near, half: int, span: tuple[int, int],
    local: Positions, pooled: Floats, target: Ids, context: Floats,
) -> None:  # fmt: skip
    """Changes `target` and `context` of a span of near positions.

    A context is the sum of the words around a position and of the equations near it.
    """
    K, article = context.shape[1], -1
    for place in range(span[0], span[1]):
        position, out = near.positions[place], context[place - span[0]]
        if article < 0 or not text.starts[article] <= position < text.starts[article + 1]:
            article = article_of(text.starts, position)  # positions ascend: hardly ever
        target[place - span[0]] = text.tokens[position]
        left = max(text.starts[article], position - half)
        right = min(text.starts[article + 1], position + half + 1)
        out[:] = 0.0
        for other in range(left, right):
            if other != position:
                word = text.tokens[other]
                for k in range(K):
                    out[k] += alpha[word, k]
        for at in range(near.starts[place], near.starts[place + 1]):
            t = local[near.types[at]]
            for k in range(K):
                out[k] += pooled[t, k]


@kernel
def bags_forward(
    words: Vectors, text: TextArrays, near: Near, rule: LoopSettings, zeros: Ids,
    bounds: tuple[int, int, int], local: Positions, pooled: Floats, by_context: Floats,
    losses: NDArray[np.float64],
) -> None:  # fmt: skip
    """Changes `losses` and `by_context` of the blocks within bounds."""
    start, low, high = bounds
    K, size = words.rho.shape[1], rule.block
    b = block_scratch(size, rule.negatives, K)
    context = np.empty((size, K), np.float32)
    target = np.empty(size, np.int32)
    for left in range(low, high, size):
        right = min(left + size, high)
        block = (left - start) // size
        _bag_contexts(
            words.alpha, text, near, rule.half, (left, right), local, pooled, target, context
        )
        inner = context[: right - left]
        losses[block] = score_block(
            words.rho, target[: right - left], zeros[block], inner, rule.zero_weight, b
        )
        outer = by_context[left - start : right - start]
        np.dot(b.chance[: right - left], b.noise, outer)
        for i in range(right - left):
            for k in range(K):
                outer[i, k] += b.target[i] * words.rho[target[i], k]


@kernel
def bag_gradients(
    near: Near, groups: Groups, span: tuple[int, int], owners: Positions, by_context: Floats,
    by_type: Floats,
) -> None:  # fmt: skip
    """Changes `by_type` of touched types to scale * the summed gradients of their contexts."""
    K = by_context.shape[1]
    for t in range(span[0], span[1]):
        by_type[t] = 0.0
        for at in range(groups.starts[t], groups.starts[t + 1]):
            place = owners[groups.entries[at]]
            for k in range(K):
                by_type[t, k] += by_context[place, k]
        for k in range(K):
            by_type[t, k] *= near.scale[groups.rows[t]]


@kernel
def bag_entries(near: Near, groups: Groups, touched: int, ids: Ids, sources: Positions) -> None:
    """Changes `ids` and `sources`: every row of every touched type, and its type."""
    at = 0
    for t in range(touched):
        type_ = groups.rows[t]
        for place in range(near.bag_starts[type_], near.bag_starts[type_ + 1]):
            ids[at] = near.bags[place]
            sources[at] = t
            at += 1


@kernel
def apply_bags(
    rows: Rows, groups: Groups, span: tuple[int, int], sources: Positions, by_type: Floats,
    kept: Floats, rate: np.float32, whole: bool,
) -> None:  # fmt: skip
    """Changes touched rows or, if `whole`, only adds to their `kept` gradients."""
    K = rows.vectors.shape[1]
    g = np.empty(K, np.float32)
    for t in range(span[0], span[1]):
        row = groups.rows[t]
        g[:] = 0.0
        for at in range(groups.starts[t], groups.starts[t + 1]):
            source = sources[groups.entries[at]]
            for k in range(K):
                g[k] += by_type[source, k]
        if whole:
            for k in range(K):
                kept[row, k] += g[k]
        else:
            adagrad(rows.vectors[row], rows.sums[row], g, rate)


@kernel
def apply_all(rows: Rows, span: tuple[int, int], kept: Floats, rate: np.float32) -> None:
    """Changes a range of rows by one step on their `kept` gradients."""
    for row in range(span[0], span[1]):
        adagrad(rows.vectors[row], rows.sums[row], kept[row], rate)


@kernel
def contexts_step(
    rows: Rows, contexts: Contexts, span: tuple[int, int], zero_weight: np.float32,
    rate: np.float32, losses: NDArray[np.float64], learn: bool,
) -> None:  # fmt: skip
    """Changes `losses` of a range of types and, if `learn`, their rho."""
    K, n = rows.vectors.shape[1], contexts.zeros.shape[1]
    g = np.empty(K, np.float32)
    x, p = np.empty(n + 1, np.float32), np.empty(n + 1, np.float32)
    e, power = np.empty(n + 1, np.float32), np.empty(n + 1, np.int32)
    for type_ in range(span[0], span[1]):
        rho = rows.vectors[type_]
        g[:] = 0.0
        losses[type_] = 0.0
        for at in range(contexts.starts[type_], contexts.starts[type_ + 1]):
            own = contexts.occurrences[at]
            for z in range(n):
                x[z] = dot(rho, contexts.sums[contexts.zeros[own, z]])
            x[n] = dot(rho, contexts.sums[own])
            logistic(x, p, e, power)
            losses[type_] += block_loss(x[n:], x[:n], e[n:], e[:n], zero_weight)
            for z in range(n + 1):
                other = own if z == n else contexts.zeros[own, z]
                weight = np.float32(1.0) - p[z] if z == n else -zero_weight * p[z]
                for k in range(K):
                    g[k] += weight * contexts.sums[other, k]
        if learn:
            adagrad(rho, rows.sums[type_], g, rate)
