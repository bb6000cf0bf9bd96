"""The definition: one training step in NumPy, slow and plain, computed in float64.

Three conditionals, each with `*_update`, which changes vectors and returns the mean loss, and
`*_loss`, which changes nothing: words (b_w in the first pass, b_u over units), bags (b_w in the
second pass: alpha of equations or of their units, words fixed) and contexts (b_e: rho of
equations). Every back end equals this one, number by number, at the same batch size.
The loss is minus the objective: -log b for ones, -zero_weight log(1 - b) for drawn zeros.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.kernels import draws
from eqemb.kernels.arrays import EPSILON, Contexts, Near, Rows, Rule, Text, Vectors

Doubles = NDArray[np.float64]
Span = tuple[int, int]


class Scored(NamedTuple):
    """What a batch of words says: the summed loss and its gradients."""

    loss: float
    target: Doubles  # [M], 1 - b of the observed word
    zero: Doubles  # [M, n], - weight * b of each zero
    context: Doubles  # [M, K], of the context vector


def softplus(x: Doubles) -> Doubles:
    """-log sigma(-x) without overflow."""
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


def sigmoid(x: Doubles) -> Doubles:
    """The logistic function, sigma."""
    return np.exp(-softplus(-x))


def neighbours(text: Text, positions: NDArray[np.int64], window: int) -> NDArray[np.int64]:
    """c_i: positions of the window's words around each, -1 beyond the article; [M, W]."""
    half = window // 2
    offsets = np.r_[np.arange(-half, 0), np.arange(1, half + 1)]
    article = np.searchsorted(text.starts, positions, side="right")
    found = positions[:, None] + offsets[None, :]
    inside = (found >= text.starts[article - 1][:, None]) & (found < text.starts[article][:, None])
    return np.where(inside, found, -1)


def window_sums(
    alpha: NDArray[np.floating], text: Text, positions: NDArray[np.int64], window: int
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
) -> Scored:
    """Score b = sigma(rho . context) of the observed words and of their zeros [M, n]."""
    rho_one, rho_zero = rho[words].astype(np.float64), rho[zeros].astype(np.float64)
    one = (rho_one * context).sum(1)
    zero = np.einsum("mnk,mk->mn", rho_zero, context)
    weight = zero_weight * (zeros != words[:, None])  # a zero equal to the word has weight 0
    # L = sum_i log b_i + zero_weight sum_z log(1 - b_z)
    loss = softplus(-one).sum() + (weight * softplus(zero)).sum()
    # dL/ds = 1 - b for ones, -zero_weight b for zeros, where s = rho . context
    by_one, by_zero = 1.0 - sigmoid(one), -weight * sigmoid(zero)
    by_context = by_one[:, None] * rho_one + np.einsum("mn,mnk->mk", by_zero, rho_zero)
    return Scored(float(loss), by_one, by_zero, by_context)


def adagrad(
    vectors: NDArray[np.floating], sums: NDArray[np.floating], gradient: Doubles, rate: float
) -> None:
    """Make the step: sum += g^2; vector += rate g / (sqrt(sum) + EPSILON)."""
    total = sums.astype(np.float64) + gradient**2
    step = rate * gradient / (np.sqrt(total) + EPSILON)
    sums[...] = total
    vectors[...] = vectors.astype(np.float64) + step


def words_gradient(
    vectors: Vectors, text: Text, rule: Rule, span: Span
) -> tuple[float, Doubles, Doubles]:
    """Loss, d/d rho and d/d alpha of the objective over one batch."""
    positions = np.arange(*span)
    words = text.tokens[positions]
    # b_w = sigma( rho_{w_i} . sum_{j in c_i} alpha_{w_j} )
    context = window_sums(vectors.alpha, text, positions, rule.window)
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
    vectors: Vectors, text: Text, rule: Rule, span: Span | None = None, threads: int = 1
) -> float:
    """Synchronous minibatches over the text (or a span of positions); the mean loss."""
    del threads
    first, last = span or (0, len(text.tokens))
    total = 0.0
    for low in range(first, last, rule.batch):
        high = min(low + rule.batch, last)
        loss, rho, alpha = words_gradient(vectors, text, rule, (low, high))
        adagrad(vectors.rho, vectors.rho_sum, rho, rule.rate)
        if rule.learn_alpha:
            adagrad(vectors.alpha, vectors.alpha_sum, alpha, rule.rate)
        total += loss
    return total / max(1, last - first)


def words_loss(
    vectors: Vectors, text: Text, rule: Rule, span: Span | None = None, threads: int = 1
) -> float:
    """The mean loss over the text, or over a span of positions."""
    del threads
    first, last = span or (0, len(text.tokens))
    total = 0.0
    for low in range(first, last, rule.batch):
        total += words_gradient(vectors, text, rule, (low, min(low + rule.batch, last)))[0]
    return total / max(1, last - first)


def pool(rows: NDArray[np.floating], near: Near) -> Doubles:
    """alpha_e = scale * sum of its rows' alpha, for every type; [types, K]."""
    pooled = np.zeros((len(near.scale), rows.shape[1]))
    owner = np.repeat(np.arange(len(near.scale)), np.diff(near.bag_starts))
    np.add.at(pooled, owner, rows[near.bags].astype(np.float64))
    return pooled * near.scale[:, None]


def bags_gradient(
    rows: Rows, words: Vectors, text: Text, near: Near, rule: Rule, span: Span
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
    text: Text,
    near: Near,
    rule: Rule,
    span: Span | None = None,
    *,
    whole: bool = False,
    threads: int = 1,
) -> float:
    """Minibatches over near positions; `whole` makes one step of the span's whole gradient."""
    del threads
    first, last = span or (0, len(near.positions))
    total, kept = 0.0, np.zeros(rows.vectors.shape)
    for low in range(first, last, rule.batch):
        high = min(low + rule.batch, last)
        loss, gradient = bags_gradient(rows, words, text, near, rule, (low, high))
        total += loss
        kept += gradient
        if not whole:
            adagrad(rows.vectors, rows.sums, gradient, rule.rate)
    if whole:
        adagrad(rows.vectors, rows.sums, kept, rule.rate)
    return total / max(1, last - first)


def bags_loss(
    rows: Rows,
    words: Vectors,
    text: Text,
    near: Near,
    rule: Rule,
    span: Span | None = None,
    *,
    threads: int = 1,
) -> float:
    """The mean loss over near positions."""
    del threads
    first, last = span or (0, len(near.positions))
    total = 0.0
    for low in range(first, last, rule.batch):
        high = min(low + rule.batch, last)
        total += bags_gradient(rows, words, text, near, rule, (low, high))[0]
    return total / max(1, last - first)


def contexts_gradient(rows: Rows, contexts: Contexts, rule: Rule) -> tuple[float, Doubles]:
    """Loss and d/d rho of every equation type over its occurrences and their kept zeros."""
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
