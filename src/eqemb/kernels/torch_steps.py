"""The steps of `reference` in torch, on any device: plain operations on whole tensors.

A GPU without Triton runs these, and so can every test of the GPU back end. `triton_steps` has a
faster first pass. Ids are int32, positions within a chunk int64. Products are in single precision
(`gpu` turns TF32 off), so that all back ends give the same numbers.
"""

from typing import Any, NamedTuple

import torch
from torch.nn.functional import logsigmoid, pad

from eqemb.kernels.arrays import EPSILON, Near, Rule, Vectors

Tensor = Any  # torch.Tensor: torch is optional, and so are its types
SCALE = 2.0**40  # of exact sums: up to 8 million in steps of 1e-12
LARGEST_ADDEND = 2.0**20  # the largest addend of an exact sum, and the largest sum that is accepted
MARGIN = 1024  # empty positions around a chunk: gradients reach two half windows of 500
_M1, _M2 = 0xBF58476D1CE4E5B9 - 2**64, 0x94D049BB133111EB - 2**64
_SIGNED_STEP = 0x9E3779B97F4A7C15 - 2**64


class Resident(NamedTuple):
    """A text, or a chunk of it, on the device, with `MARGIN` positions more at each end."""

    tokens: Tensor  # [P + 2 MARGIN], int32
    articles: Tensor  # [P + 2 MARGIN], int32: equal within an article, -1 beyond the text
    threshold: Tensor  # [V], int64
    alias: Tensor  # [V], int32
    first: int  # the position of tokens[MARGIN] in the whole text


class Part(NamedTuple):
    """Positions of a batch that are processed at a time."""

    low: int  # into the chunk's arrays
    size: int
    block: int  # number of the first block
    key: int  # of the draws, as a signed integer


class Gradient:
    """A sum of gradients, row by row.

    A GPU adds floats in no fixed order. Exact sums are integers, so that any order gives the same
    bytes.
    """

    def __init__(self, rows: int, K: int, device: Any, *, exact: bool) -> None:
        kind = torch.int64 if exact else torch.float32
        self.is_exact = exact
        self.total = torch.zeros((rows, K), dtype=kind, device=device)
        self.touched = torch.zeros(rows, dtype=torch.int8, device=device)
        self.too_large = torch.zeros(1, dtype=torch.int32, device=device)

    def summed(self, size: int, rows: Tensor, values: Tensor) -> Tensor:
        """Sum values by row in another gradient of this kind; overflow is recorded in this one."""
        other = Gradient(size, values.shape[1], values.device, exact=self.is_exact)
        other.too_large = self.too_large
        other.add(rows, values)
        return other.taken()

    def add(self, rows: Tensor, values: Tensor) -> None:
        """Add values to rows, which may repeat."""
        if self.is_exact:
            values = (values.clamp(-LARGEST_ADDEND, LARGEST_ADDEND) * SCALE).round().to(torch.int64)
        self.total.index_add_(0, rows, values)

    def taken(self) -> Tensor:
        """The sums as floats."""
        if not self.is_exact or not self.total.numel():
            return self.total.to(torch.float32)
        self.too_large |= self.total.abs().amax() >= int(LARGEST_ADDEND * SCALE)
        return (self.total.to(torch.float64) / SCALE).to(torch.float32)

    def clear(self) -> None:
        """Set all sums to zero."""
        self.total.zero_()
        self.touched.zero_()


def step(vectors: Tensor, sums: Tensor, gradient: Gradient, rate: float) -> None:
    """One step of Adagrad on all rows; the gradient is cleared."""
    g = gradient.taken()
    sums.addcmul_(g, g)
    vectors.addcdiv_(g, sums.sqrt().add_(EPSILON), value=rate)
    gradient.clear()


def _shifted(x: Tensor, bits: int) -> Tensor:
    """A logical shift to the right."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)


def _mix(x: Tensor) -> Tensor:
    """The finaliser of splitmix64: signed products wrap around as unsigned ones do."""
    x = (x ^ _shifted(x, 30)) * _M1
    x = (x ^ _shifted(x, 27)) * _M2
    return x ^ _shifted(x, 31)


def zeros(
    key: int, block: int, blocks: int, slots: int, threshold: Tensor, alias: Tensor
) -> Tensor:
    """The negatives of consecutive blocks, as `draws.zeros`; [blocks, slots]."""
    device = alias.device
    rows = _mix(torch.arange(block, block + blocks, device=device) * _SIGNED_STEP + key)
    columns = torch.arange(1, slots + 1, device=device) * _SIGNED_STEP
    bits = _mix(rows[:, None] + columns[None, :])
    column = (_shifted(bits, 32) * len(alias)) >> 32
    keep = (bits & 0xFFFFFFFF) < threshold[column]
    return torch.where(keep, column.to(torch.int32), alias[column])


class ScoredPart(NamedTuple):
    """The loss of a part and its gradients."""

    loss: Tensor
    target: Tensor  # [M], 1 - b of the observed words
    zero: Tensor  # [blocks, n, K], gradients of the rho of negatives
    context: Tensor  # [M, K]


def score(rho: Tensor, words: Tensor, drawn: Tensor, context: Tensor, rule: Rule) -> ScoredPart:
    """Score words and the negatives [blocks, n] of their blocks: three small products each."""
    count, K = context.shape
    blocks, n = drawn.shape
    short = blocks * rule.block - count
    blocked = pad(context, (0, 0, 0, short)).view(blocks, rule.block, K)
    own = pad(words, (0, short), value=-1).view(blocks, rule.block, 1)
    mine, noise = rho[words], rho[drawn.view(-1)].view(blocks, n, K)
    one = (context * mine).sum(1)
    zero = torch.bmm(blocked, noise.transpose(1, 2))
    weight = rule.zero_weight * ((own != drawn[:, None, :]) & (own >= 0))
    # the loss is a double, because it is summed over many parts
    loss = -logsigmoid(one).sum(dtype=torch.float64)
    loss -= (weight * logsigmoid(-zero)).sum(dtype=torch.float64)
    by_one, by_zero = torch.sigmoid(-one), -weight * torch.sigmoid(zero)
    by_context = torch.bmm(by_zero, noise).view(-1, K)[:count] + by_one[:, None] * mine
    return ScoredPart(loss, by_one, torch.bmm(by_zero.transpose(1, 2), blocked), by_context)


def around(rows: Tensor, articles: Tensor, half: int) -> Tensor:
    """The sum of the `half` rows before and after each inner row, within its article."""
    count = len(rows) - 2 * half
    own = articles[half : half + count]
    total = torch.zeros((count, rows.shape[1]), dtype=rows.dtype, device=rows.device)
    for shift in range(2 * half + 1):
        if shift != half:
            near = articles[shift : shift + count] == own
            total.addcmul_(rows[shift : shift + count], near[:, None].to(rows.dtype))
    return total


class PlainWordSteps:
    """The first pass by plain operations."""

    def __init__(self, vectors: Vectors, rule: Rule) -> None:
        self.vectors, self.rule = vectors, rule
        self.losses = torch.zeros((), dtype=torch.float64, device=vectors.rho.device)

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
        rule, half = self.rule, self.rule.window // 2
        low, high = part.low, part.low + part.size
        words = text.tokens[low:high]
        rows = self.vectors.alpha[text.tokens[low - half : high + half]]
        context = around(rows, text.articles[low - half : high + half], half)
        if offsets is not None:
            context += offsets[: part.size]
        blocks, noise = -(-part.size // rule.block), (text.threshold, text.alias)
        drawn = zeros(part.key, part.block, blocks, rule.negatives, *noise)
        scored = score(self.vectors.rho, words, drawn, context, rule)
        self.losses += scored.loss
        if not learn:
            return
        rho.add(words, scored.target[:, None] * context)
        rho.add(drawn.view(-1), scored.zero.view(-1, context.shape[1]))
        if rule.learn_alpha:
            by = pad(scored.context, (0, 0, 2 * half, 2 * half))
            low, high = low - 2 * half, high + 2 * half
            by_word = around(by, text.articles[low:high], half)
            alpha.add(text.tokens[low + half : high - half], by_word)

    def loss(self) -> float:
        """The summed loss of all parts so far."""
        return float(self.losses)


def word_steps(vectors: Vectors, rule: Rule, part: int, shape: Any = None) -> PlainWordSteps:
    """The first pass; the same call as in `triton_steps`."""
    del part, shape
    return PlainWordSteps(vectors, rule)


class Plan(NamedTuple):
    """Near positions of a part, the types near them and the rows of those types."""

    targets: Tensor  # [N], words of the positions
    owners: Tensor  # the position of each entry
    local: Tensor  # the type of each entry, among those of the part
    scale: Tensor  # [types, 1]
    bag: Tensor  # the type of each row
    rows: Tensor  # the row

    def context(self, vectors: Tensor, around: Tensor, sheet: Gradient) -> Tensor:
        """The sum of the words around each position and of the pooled equations near it."""
        pooled = sheet.summed(len(self.scale), self.bag, vectors[self.rows]) * self.scale
        return around + sheet.summed(len(around), self.owners, pooled[self.local])

    def spread(self, by_context: Tensor, gradient: Gradient) -> None:
        """Adds the gradients of contexts to those of rows."""
        by_type = gradient.summed(len(self.scale), self.local, by_context[self.owners])
        gradient.add(self.rows, (by_type * self.scale)[self.bag])


def plan(near: Near, tokens: Tensor, span: tuple[int, int], types: tuple[int, int]) -> Plan:
    """The plan of a span of near positions and its span of types, on the device of its arrays."""
    (first, last), (low, high), device = span, types, tokens.device
    counts = torch.diff(near.starts[first : last + 1])
    owners = torch.repeat_interleave(torch.arange(last - first, device=device), counts)
    found, local = torch.unique(near.types[low:high], return_inverse=True)
    found = found.long()
    starts = near.bag_starts[found]
    sizes = near.bag_starts[found + 1] - starts
    bag = torch.repeat_interleave(torch.arange(len(found), device=device), sizes)
    within = torch.arange(len(bag), device=device) - (sizes.cumsum(0) - sizes)[bag]
    targets = tokens[near.positions[first:last]]
    rows = near.bags[starts[bag] + within]
    return Plan(targets, owners, local, near.scale[found][:, None], bag, rows)


def windows(alpha: Tensor, tokens: Tensor, starts: Tensor, positions: Tensor, half: int) -> Tensor:
    """The summed alpha of the words around each position; the text may be on the host."""
    device = alpha.device
    article = torch.searchsorted(starts, positions, right=True)
    low, high = starts[article - 1], starts[article]
    total = torch.zeros((len(positions), alpha.shape[1]), dtype=alpha.dtype, device=device)
    for shift in (*range(-half, 0), *range(1, half + 1)):
        at = positions + shift
        inside = (at >= low) & (at < high)
        words = tokens[torch.where(inside, at, 0)].to(device)
        total.addcmul_(alpha[words], inside.to(device)[:, None].to(alpha.dtype))
    return total


def score_contexts(
    rho: Tensor, seen: Tensor, others: Tensor, zero_weight: float
) -> tuple[Tensor, Tensor]:
    """b_e of occurrences: the loss, and the gradient of the rho [O, K] of each one's type."""
    one = (rho * seen).sum(1)
    zero = torch.bmm(others, rho[:, :, None])[:, :, 0]  # others: [O, n, K]
    loss = -logsigmoid(one).sum(dtype=torch.float64)
    loss -= zero_weight * logsigmoid(-zero).sum(dtype=torch.float64)
    by_zero = -zero_weight * torch.sigmoid(zero)
    by = torch.sigmoid(-one)[:, None] * seen + torch.bmm(by_zero[:, None, :], others)[:, 0]
    return loss, by
