"""The first pass on a GPU in fused kernels: as `torch_steps`, with less memory traffic.

A program processes positions that share negatives. It sums their windows by gathering rows
(neighbours share them, so most come from the cache), and goes over the negatives one by one with
the contexts in registers: with ten negatives this is far from the limit of single precision, and no
product is rounded to fewer bits. Gradients of rho are added to one sheet for all words, and
gradients of contexts are written to memory. A second kernel sums those over windows and adds them
to the sheet of alpha. A third one steps the rows that were touched, and clears them.

Many programs add to a sheet in no fixed order. The sheets are float32 or, for the same bytes each
time, 64-bit integers in units of 2**-40, whose sum does not depend on the order.
"""

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl

from eqemb.kernels.arrays import EPSILON, Rule, Vectors
from eqemb.kernels.torch_steps import LARGEST_ADDEND, SCALE, Gradient, Part, Resident

LARGEST_DIM = 1024  # beyond it a row of a context takes too many registers
# of a program: `benchmarks/gpu.py` tries others
_PROGRAM_ROWS, _WARPS, _SPREAD_ROWS, _SPREAD_WARPS = 8, 2, 32, 4
# otherwise a kernel is compiled again for every number that is a multiple of 16
_NOT_SPECIALIZED = ["key", "block", "columns", "total", "low", "count", "size"]


class Shape(NamedTuple):
    """How a step is divided: positions of a program, and its warps."""

    rows: int = _PROGRAM_ROWS
    warps: int = _WARPS
    spread_rows: int = _SPREAD_ROWS
    spread_warps: int = _SPREAD_WARPS


@triton.jit
def _mix(x):
    """The finaliser of splitmix64, as `draws.mix`."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB
    return x ^ (x >> 31)


@triton.jit(do_not_specialize=_NOT_SPECIALIZED)
def _draw(
    threshold, alias, zeros, touched, key: tl.int64, block: tl.int64, columns: tl.int64,
    total: tl.int64,    N: tl.constexpr, SIZE: tl.constexpr,
):  # fmt: skip
    """Changes `zeros` [blocks, N] to what `draws.zeros` draws, and marks their rows."""
    at = tl.program_id(0).to(tl.int64) * SIZE + tl.arange(0, SIZE)
    inside = at < total
    row = _mix((block + at // N).to(tl.uint64) * 0x9E3779B97F4A7C15 + key.to(tl.uint64))
    bits = _mix(row + (at % N + 1).to(tl.uint64) * 0x9E3779B97F4A7C15)
    column = (((bits >> 32) * columns.to(tl.uint64)) >> 32).to(tl.int64)
    keep = (bits & 0xFFFFFFFF).to(tl.int64) < tl.load(threshold + column, mask=inside, other=0)
    other = tl.load(alias + column, mask=inside, other=0)
    zero = tl.where(keep, column.to(tl.int32), other)
    tl.store(zeros + at, zero, mask=inside)
    tl.store(touched + zero, tl.full(zero.shape, 1, tl.int8), mask=inside)


@triton.jit
def _softplus(x):
    return tl.maximum(x, 0.0) + tl.log(1.0 + tl.exp(-tl.abs(x)))


@triton.jit
def _add(sheet, at, values, mask, SCALE: tl.constexpr, LARGEST: tl.constexpr):
    """Changes `sheet`: adds values atomically, in no fixed order."""
    if SCALE == 0:
        tl.atomic_add(sheet + at, values, mask=mask, sem="relaxed")
    else:
        values = tl.minimum(tl.maximum(values, -LARGEST), LARGEST)
        whole = tl.floor(values * SCALE + 0.5).to(tl.int64)
        tl.atomic_add(sheet + at, whole, mask=mask, sem="relaxed")


@triton.jit(do_not_specialize=_NOT_SPECIALIZED)
def _forward(
    rho, alpha, tokens, articles, zeros, offsets, by_context, sheet, touched, losses,
    low: tl.int64, count: tl.int64, zero_weight: tl.float32,
    K: tl.constexpr, WIDE: tl.constexpr, HALF: tl.constexpr, N: tl.constexpr, BLOCK: tl.constexpr,
    ROWS: tl.constexpr, PARTS: tl.constexpr, OFFSETS: tl.constexpr, LEARN: tl.constexpr,
    ALPHA: tl.constexpr, SCALE: tl.constexpr, LARGEST: tl.constexpr,
    UNROLL: tl.constexpr,
):  # fmt: skip
    """Changes `losses` and, to learn, the sheet of rho and `by_context` of a part."""
    program = tl.program_id(0)
    block = program // PARTS
    within = (program % PARTS) * ROWS + tl.arange(0, ROWS)
    row = block.to(tl.int64) * BLOCK + within
    inside = (within < BLOCK) & (row < count)
    k = tl.arange(0, WIDE)
    wide = k < K
    both = inside[:, None] & wide[None, :]
    at = low + row
    article = tl.load(articles + at, mask=inside, other=-2)
    word = tl.load(tokens + at, mask=inside, other=0).to(tl.int64)
    # b_w = sigma( rho_{w_i} . sum_{j in c_i} alpha_{w_j} )
    context = tl.zeros((ROWS, WIDE), tl.float32)
    for d in tl.range(1, HALF + 1, loop_unroll_factor=UNROLL):
        near = inside & (tl.load(articles + at - d, mask=inside, other=-3) == article)
        other = tl.load(tokens + at - d, mask=near, other=0).to(tl.int64)
        context += tl.load(
            alpha + other[:, None] * K + k[None, :], mask=near[:, None] & wide[None, :], other=0.0
        )
        near = inside & (tl.load(articles + at + d, mask=inside, other=-3) == article)
        other = tl.load(tokens + at + d, mask=near, other=0).to(tl.int64)
        context += tl.load(
            alpha + other[:, None] * K + k[None, :], mask=near[:, None] & wide[None, :], other=0.0
        )
    if OFFSETS:
        context += tl.load(offsets + row[:, None] * K + k[None, :], mask=both, other=0.0)
    mine = tl.load(rho + word[:, None] * K + k[None, :], mask=both, other=0.0)
    one = tl.sum(context * mine, axis=1)
    loss = _softplus(-one)
    weight = 1.0 / (1.0 + tl.exp(one))  # 1 - b
    by = weight[:, None] * mine
    if LEARN:
        _add(sheet, word[:, None] * K + k[None, :], weight[:, None] * context, both, SCALE, LARGEST)
        tl.store(touched + word, tl.full(word.shape, 1, tl.int8), mask=inside)
    first = zeros + block * N
    ahead = tl.load(first, mask=N > 0, other=0)
    coming = tl.load(rho + ahead.to(tl.int64) * K + k, mask=wide, other=0.0)
    for z in range(N):
        zero, noise = ahead, coming  # prefetch the next one
        ahead = tl.load(first + tl.minimum(z + 1, N - 1))
        coming = tl.load(rho + ahead.to(tl.int64) * K + k, mask=wide, other=0.0)
        score = tl.sum(context * noise[None, :], axis=1)
        other = inside & (word != zero)  # a negative equal to the word has weight 0
        loss += tl.where(other, zero_weight * _softplus(score), 0.0)
        g = tl.where(other, -zero_weight / (1.0 + tl.exp(-score)), 0.0)
        if LEARN:
            by_zero = tl.sum(g[:, None] * context, axis=0)
            _add(sheet, zero.to(tl.int64) * K + k, by_zero, wide, SCALE, LARGEST)
            if ALPHA:
                by += g[:, None] * noise[None, :]
    if LEARN and ALPHA:
        tl.store(by_context + row[:, None] * K + k[None, :], by, mask=both)
    total = tl.sum(tl.where(inside, loss, 0.0).to(tl.float64), axis=0)
    tl.store(losses + program, tl.load(losses + program) + total)


@triton.jit(do_not_specialize=_NOT_SPECIALIZED)
def _spread(
    tokens, articles, by_context, sheet, touched, low: tl.int64, count: tl.int64,
    K: tl.constexpr, WIDE: tl.constexpr, HALF: tl.constexpr, ROWS: tl.constexpr,
    SCALE: tl.constexpr, LARGEST: tl.constexpr,
    UNROLL: tl.constexpr,
):  # fmt: skip
    """Changes the sheet of alpha: the gradient of a word is the sum over the window around it."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS) - HALF
    k = tl.arange(0, WIDE)
    wide = k < K
    at = low + row
    article = tl.load(articles + at, mask=row < count + HALF, other=-1)
    inside = (row < count + HALF) & (article >= 0)
    word = tl.load(tokens + at, mask=inside, other=0).to(tl.int64)
    total = tl.zeros((ROWS, WIDE), tl.float32)
    for d in tl.range(1, HALF + 1, loop_unroll_factor=UNROLL):
        here = inside & (row - d >= 0) & (row - d < count)
        near = here & (tl.load(articles + at - d, mask=here, other=-3) == article)
        total += tl.load(
            by_context + (row - d)[:, None] * K + k[None, :],
            mask=near[:, None] & wide[None, :], other=0.0,
        )  # fmt: skip
        here = inside & (row + d >= 0) & (row + d < count)
        near = here & (tl.load(articles + at + d, mask=here, other=-3) == article)
        total += tl.load(
            by_context + (row + d)[:, None] * K + k[None, :],
            mask=near[:, None] & wide[None, :], other=0.0,
        )  # fmt: skip
    _add(
        sheet,
        word[:, None] * K + k[None, :],
        total,
        inside[:, None] & wide[None, :],
        SCALE,
        LARGEST,
    )
    tl.store(touched + word, tl.full(word.shape, 1, tl.int8), mask=inside)


@triton.jit(do_not_specialize=_NOT_SPECIALIZED)
def _step(
    vectors, sums, sheet, touched, too_large, size: tl.int64, rate: tl.float32,
    K: tl.constexpr, WIDE: tl.constexpr, ROWS: tl.constexpr, SCALE: tl.constexpr,
    LARGEST: tl.constexpr, EPSILON: tl.constexpr,
):  # fmt: skip
    """Changes touched rows by one step of Adagrad, and clears their sheet and marks.

    Rows that were not touched, most of a large vocabulary, are not read.
    """
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    k = tl.arange(0, WIDE)
    seen = tl.load(touched + row, mask=row < size, other=0) != 0
    mask = seen[:, None] & (k < K)[None, :]
    at = row[:, None] * K + k[None, :]
    # A number may be cleared by another thread than the one that reads it: all read first.
    if SCALE == 0:
        g = tl.load(sheet + at, mask=mask, other=0.0)
        tl.debug_barrier()
        tl.store(sheet + at, tl.zeros((ROWS, WIDE), tl.float32), mask=mask)
    else:
        whole = tl.load(sheet + at, mask=mask, other=0)
        tl.debug_barrier()
        tl.store(sheet + at, tl.zeros((ROWS, WIDE), tl.int64), mask=mask)
        most = tl.max(tl.max(tl.abs(whole), axis=1), axis=0).to(tl.float64)
        tl.store(too_large, 1, mask=most >= LARGEST * SCALE)
        g = (whole.to(tl.float64) * (1.0 / SCALE)).to(tl.float32)
    total = tl.load(sums + at, mask=mask, other=0.0) + g * g
    moved = tl.load(vectors + at, mask=mask, other=0.0) + rate * g / (tl.sqrt(total) + EPSILON)
    tl.store(sums + at, total, mask=mask)
    tl.store(vectors + at, moved, mask=mask)
    tl.store(touched + row, tl.zeros((ROWS,), tl.int8), mask=seen)


def _wide(K: int) -> int:
    return max(16, int(triton.next_power_of_2(K)))


class FusedWordSteps:
    """Scratch memory for the parts of a text, and the launches."""

    def __init__(self, vectors: Vectors, rule: Rule, part: int, shape: Shape) -> None:
        K = vectors.rho.shape[1]
        self.vectors, self.rule, self.shape = vectors, rule, shape
        self.K, self.wide = K, _wide(K)
        most = max(1, 8192 // self.wide)  # elements of a program, in registers
        block = triton.next_power_of_2(rule.block)
        self.rows = min(block, shape.rows, most)
        self.parts = -(-rule.block // self.rows)
        self.spread_rows = min(shape.spread_rows, most)
        device, blocks = vectors.rho.device, -(-part // rule.block)
        self.losses = torch.zeros(blocks * self.parts, dtype=torch.float64, device=device)
        self.none = torch.empty(0, dtype=torch.float32, device=device)
        self.zeros = self.by_context = self.none

    def _make_room(self, size: int, blocks: int) -> None:
        """Allocate scratch for the first part, which is the largest."""
        if len(self.by_context) < size:
            shape, device = (size, self.K), self.none.device
            zeros = max(1, blocks * self.rule.negatives)
            self.zeros = torch.empty(zeros, dtype=torch.int32, device=device)
            self.by_context = torch.empty(shape, dtype=torch.float32, device=device)

    def forward(
        self,
        text: Resident,
        part: Part,
        offsets: Any,
        rho: Gradient,
        alpha: Gradient,
        *,
        learn: bool,
    ) -> None:
        """Adds to losses and, if `learn`, to both gradients those of a part."""
        rule, K, blocks = self.rule, self.K, -(-part.size // self.rule.block)
        self._make_room(part.size, blocks)
        scale = float(SCALE) if rho.is_exact else 0
        total = blocks * rule.negatives
        if total:
            _draw[(triton.cdiv(total, 256),)](
                text.threshold, text.alias, self.zeros, rho.touched, part.key, part.block,
                len(text.alias), total, N=rule.negatives, SIZE=256,
            )  # fmt: skip
        _forward[(blocks * self.parts,)](
            self.vectors.rho, self.vectors.alpha, text.tokens, text.articles, self.zeros,
            self.none if offsets is None else offsets, self.by_context, rho.total, rho.touched,
            self.losses, part.low, part.size, rule.zero_weight,
            K=K, WIDE=self.wide, HALF=rule.window // 2, N=rule.negatives, BLOCK=rule.block,
            ROWS=self.rows, PARTS=self.parts, OFFSETS=offsets is not None, LEARN=learn,
            ALPHA=rule.learn_alpha, SCALE=scale, LARGEST=LARGEST_ADDEND,
            UNROLL=min(4, rule.window // 2), num_warps=self.shape.warps,
        )  # fmt: skip
        if learn and rule.learn_alpha:
            _spread[(triton.cdiv(part.size + rule.window, self.spread_rows),)](
                text.tokens, text.articles, self.by_context, alpha.total, alpha.touched,
                part.low, part.size, K=K, WIDE=self.wide, HALF=rule.window // 2,
                ROWS=self.spread_rows, SCALE=scale, LARGEST=LARGEST_ADDEND,
                UNROLL=min(4, rule.window // 2), num_warps=self.shape.spread_warps,
            )  # fmt: skip

    def loss(self) -> float:
        """The summed loss of all parts so far."""
        return float(self.losses.sum())


def word_steps(vectors: Vectors, rule: Rule, part: int, shape: Shape) -> FusedWordSteps:
    """The first pass; the same call as in `torch_steps`."""
    return FusedWordSteps(vectors, rule, part, shape)


def step(vectors: Any, sums: Any, gradient: Gradient, rate: float) -> None:
    """One step of Adagrad on the rows that were touched; the gradient is cleared."""
    (size, K), rows = vectors.shape, 8
    _step[(triton.cdiv(size, rows),)](
        vectors, sums, gradient.total, gradient.touched, gradient.too_large, size, rate,
        K=K, WIDE=_wide(K), ROWS=rows, SCALE=float(SCALE) if gradient.is_exact else 0,
        LARGEST=LARGEST_ADDEND, EPSILON=EPSILON, num_warps=4,
    )  # fmt: skip
