"""The same steps as `reference` on a GPU, by torch: larger batches, and vectors that stay there.

The first pass runs in fused kernels (`triton_steps`) if Triton works; otherwise, and on torch's CPU
device, it runs in plain operations (`torch_steps`). The second pass always uses plain operations.
Negatives are drawn on the device by the same integer arithmetic, so they are the same.

A batch is processed in parts, whose gradients are summed before its one step. If memory runs out
it is processed again in smaller parts; apart from rounding the result does not depend on them.
`gpu_memory` decides what stays on the device. With `deterministic` the same device gives the same
bytes (`torch_steps.Gradient`), so parts keep their size, and too little memory is refused.
"""

import functools
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar

import numpy as np
import torch

from eqemb.errors import EqembError, UsageError
from eqemb.kernels import draws, torch_steps
from eqemb.kernels.arrays import Contexts, Near, Rows, Rule, TextArrays, Vectors
from eqemb.kernels.gpu_memory import DeviceMemory, Span, Tensor
from eqemb.kernels.torch_steps import MARGIN, Gradient, Part, Plan, Resident

F = TypeVar("F", bound=Callable[..., Any])


def _explained(function: F) -> F:
    """Decorate a step: full precision, and one sentence if memory runs out."""

    @functools.wraps(function)
    def call(self: "Kernels", *arguments: Any, **named: Any) -> Any:
        with torch.no_grad(), _full_precision(), self.explaining_memory():
            return function(self, *arguments, **named)

    return call  # type: ignore[return-value]


def _precision() -> tuple[str, Any]:
    """Torch's setting of TF32 and its value; torch 2.9 renamed it."""
    matmul = torch.backends.cuda.matmul
    name = "fp32_precision" if hasattr(matmul, "fp32_precision") else "allow_tf32"
    return name, getattr(matmul, name)


@contextmanager
def _full_precision() -> Iterator[None]:
    """Turn TF32 off, whatever the calling program has set."""
    name, before = _precision()
    setattr(torch.backends.cuda.matmul, name, "ieee" if name == "fp32_precision" else False)
    try:
        yield
    finally:
        setattr(torch.backends.cuda.matmul, name, before)


@functools.cache
def _failure(device: str, *, fused: bool) -> str:
    """Why a device cannot run a small training step; empty if it can."""
    rho, alpha, *sums = (np.full((8, 16), value, np.float32) for value in (0.1, 0.1, 0, 0))
    noise = draws.noise_table(np.ones(8, np.int64))
    text = TextArrays(np.arange(64, dtype=np.int32) % 8, np.array([0, 64]), noise)
    rule = Rule(4, 2, 8, 32, 1.0, 0.1, 1)
    try:
        Kernels(device, fused=fused).words_update(Vectors(rho, alpha, *sums), text, rule)
    except EqembError:  # out of memory, which may pass
        raise
    except Exception as error:  # noqa: BLE001  (drivers, compilers and builds have their own)
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return lines[0][:200]
    return ""


def _fusing(device: Any) -> tuple[bool, str]:
    """Whether Triton works, and why not; a GPU on which nothing works is refused."""
    if device.type != "cuda":
        return False, ""
    why = ""
    if find_spec("triton") is not None:
        why = _failure(str(device), fused=True)
        if not why:
            return True, ""
    if broken := _failure(str(device), fused=False):
        raise UsageError(f"the GPU cannot be used ({broken}): train with device='cpu'")
    if why:
        warnings.warn(
            f"Triton cannot be used ({why}): training with plain torch, which is slower",
            RuntimeWarning,
            stacklevel=3,
        )
    return False, why


class Kernels(DeviceMemory):
    """The training steps on one device."""

    def __init__(
        self,
        device: str = "cuda",
        *,
        deterministic: bool = False,
        memory: int | None = None,
        fused: bool | None = None,
    ) -> None:
        """`memory` is the bytes that read-only data may take; `fused` chooses Triton or not."""
        super().__init__(device, deterministic=deterministic, memory=memory)
        if self.device.type == "cuda" and not torch.cuda.is_available():
            raise UsageError("torch sees no GPU here: train with device='cpu'")
        why = ""
        if fused is None:
            fused, why = _fusing(self.device)
        self._fused = import_module("eqemb.kernels.triton_steps") if fused else None
        self.shape = self._fused.Shape() if self._fused else None
        self.name = self.device.type
        if self.device.type == "cuda":
            self.name = (
                f"cuda ({torch.cuda.get_device_name(self.device)}), torch {torch.__version__}"
                + ", without Triton" * bool(why)
            )

    # Words

    @_explained
    def words_update(
        self,
        vectors: Vectors,
        text: TextArrays,
        rule: Rule,
        span: Span | None = None,
        threads: int = 1,
    ) -> float:
        """Synchronous minibatches over the text (or a span of positions); the mean loss."""
        del threads
        with self.holding(vectors) as (held,):
            return self._pass(held, text, rule, span, learn=True)

    @_explained
    def words_loss(
        self,
        vectors: Vectors,
        text: TextArrays,
        rule: Rule,
        span: Span | None = None,
        threads: int = 1,
    ) -> float:
        """The mean loss over the text, or over a span of positions."""
        del threads
        with self.holding(vectors) as (held,):
            return self._pass(held, text, rule, span, learn=False)

    def _pass(
        self, vectors: Vectors, text: TextArrays, rule: Rule, span: Span | None, *, learn: bool
    ) -> float:
        first, last = span or (0, len(text.tokens))
        if first >= last:
            return 0.0
        size, K = vectors.rho.shape
        steps = self._fused if self._fused and K <= self._fused.LARGEST_DIM else torch_steps
        rho = self._gradient(size, K)
        alpha = self._gradient(size if rule.learn_alpha else 0, K)
        part = min(self._part(rule.block), _blocks(rule, last - first))
        words = steps.word_steps(vectors, rule, part, self.shape)
        # fused kernels allocate everything in their first batch, unless there are offsets
        is_sure = steps is not torch_steps and not len(text.offsets.positions)
        with closing(self._chunks(text, (first, last), rule.batch)) as chunks:
            for chunk, (low, high) in chunks:

                def work(left: int, right: int, chunk: Resident = chunk) -> None:
                    piece = _piece(chunk, rule, left, right)
                    offsets = self._offsets(text, left, piece.size)
                    words.forward(chunk, piece, offsets, rho, alpha, learn=learn)

                for left in range(low, high, rule.batch):
                    batch = left, min(left + rule.batch, high)
                    losses = None if is_sure and left > first else words.losses
                    self._in_parts(batch, rule.block, work, losses, rho, alpha)
                    if learn:
                        steps.step(vectors.rho, vectors.rho_sum, rho, rule.rate)
                        if rule.learn_alpha:
                            steps.step(vectors.alpha, vectors.alpha_sum, alpha, rule.rate)
        _check(rho, alpha)
        return float(words.loss()) / (last - first)

    def _gradient(self, rows: int, K: int) -> Gradient:
        return Gradient(rows, K, self.device, exact=self.deterministic)

    def _offsets(self, text: TextArrays, low: int, count: int) -> Tensor | None:
        """What equations add to the contexts of some positions, or None; [count, K]."""
        first, last = np.searchsorted(text.offsets.positions, (low, low + count))
        if first == last:
            return None
        sums = self._send(text.offsets.sums[first:last])
        at = self._send(text.offsets.positions[first:last] - low)
        out = torch.zeros((count, sums.shape[1]), dtype=torch.float32, device=self.device)
        return out.index_copy_(0, at, sums)

    # Equations as bags of rows

    @_explained
    def bags_update(
        self,
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
        with self.holding(rows) as (held,):
            return self._bags(held, words, text, near, rule, span, whole=whole)

    @_explained
    def bags_loss(
        self,
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
        with self.holding(rows) as (held,):
            return self._bags(held, words, text, near, rule, span, learn=False)

    def _bags(
        self,
        rows: Rows,
        words: Vectors,
        text: TextArrays,
        near: Near,
        rule: Rule,
        span: Span | None,
        *,
        whole: bool = False,
        learn: bool = True,
    ) -> float:
        first, last = span or (0, len(near.positions))
        if first >= last:
            return 0.0
        size, K = rows.vectors.shape
        batch = last - first if whole or not learn else rule.batch
        gradient = self._gradient(size, K)
        loss = torch.zeros((), dtype=torch.float64, device=self.device)
        rho, alpha, *_ = self._words(words)
        noise = self._noise(text.noise)

        def work(left: int, right: int) -> None:
            plan = self._plan(text, near, (left, right))
            around = self._around(words, alpha, text, near, (left, right), rule.window)
            context = plan.context(rows.vectors, around, gradient)
            blocks = -(-(right - left) // rule.block)
            key, block = _signed(rule.key), left // rule.block
            drawn = torch_steps.zeros(key, block, blocks, rule.negatives, *noise)
            scored = torch_steps.score(rho, plan.targets, drawn, context, rule)
            loss.add_(scored.loss)
            if learn:
                plan.spread(scored.context, gradient)

        for left in range(first, last, batch):
            span = left, min(left + batch, last)
            self._in_parts(span, rule.block, work, loss, gradient)
            if learn:
                torch_steps.step(rows.vectors, rows.sums, gradient, rule.rate)
        _check(gradient)
        return float(loss) / (last - first)

    def _plan(self, text: TextArrays, near: Near, span: Span) -> Plan:
        """What a span of near positions reads; cached if there is room."""
        types = int(near.starts[span[0]]), int(near.starts[span[1]])

        def make() -> Plan:
            tokens, _, there = self._second(text, near)
            made = torch_steps.plan(there, tokens, span, types)
            return Plan(*(array.to(self.device) for array in made))

        return self._cache.get_or_make(make, (near.types, near.positions, text.tokens), span)

    def _around(
        self, words: Vectors, alpha: Tensor, text: TextArrays, near: Near, span: Span, window: int
    ) -> Tensor:
        """The summed windows of a span of near positions; cached if words are fixed."""

        def make() -> Tensor:
            tokens, starts, there = self._second(text, near)
            at = there.positions[span[0] : span[1]]
            return torch_steps.windows(alpha, tokens, starts, at, window // 2)

        if len(words.rho_sum):
            return make()
        return self._cache.get_or_make(
            make, (words.alpha, near.positions, text.tokens), span, window
        )

    def _second(self, text: TextArrays, near: Near) -> tuple[Tensor, Tensor, Near]:
        """The text and its near positions: all on the device if they fit, else on the host."""
        cached = self._cache.get((text.tokens, text.starts))  # from the first pass
        starts, *found = self._read(text.starts, *near, *([] if cached else [text.tokens]))
        there = Near(*found[: len(near)])
        if not cached:
            return found[-1], starts, there
        if starts.device.type != self.device.type:
            return self._host(text.tokens), starts, there
        return cached[0][MARGIN : MARGIN + len(text.tokens)], starts, there

    # Contexts of equations

    @_explained
    def contexts_update(
        self, rows: Rows, contexts: Contexts, rule: Rule, threads: int = 1
    ) -> float:
        """One Adagrad step of every type's rho on all its occurrences; the mean loss."""
        del threads
        with self.holding(rows) as (held,):
            return self._contexts(held, contexts, rule, learn=True)

    @_explained
    def contexts_loss(self, rows: Rows, contexts: Contexts, rule: Rule, threads: int = 1) -> float:
        """The mean loss of b_e over all occurrences."""
        del threads
        with self.holding(rows) as (held,):
            return self._contexts(held, contexts, rule, learn=False)

    def _contexts(self, rows: Rows, contexts: Contexts, rule: Rule, *, learn: bool) -> float:
        (types, K), total = rows.vectors.shape, len(contexts.occurrences)
        sums, starts, occurrences, zeros = self._read(*contexts)
        gradient = self._gradient(types, K)
        loss = torch.zeros((), dtype=torch.float64, device=self.device)

        def work(left: int, right: int) -> None:
            own = occurrences[left:right]
            at = torch.arange(left, right, device=starts.device)
            type_ = (torch.searchsorted(starts, at, right=True) - 1).to(self.device)
            others = sums[zeros[own].view(-1)].to(self.device).view(len(own), -1, K)
            seen = sums[own].to(self.device)
            one, by = torch_steps.score_contexts(
                rows.vectors[type_], seen, others, rule.zero_weight
            )
            loss.add_(one)
            if learn:
                gradient.add(type_, by)

        self._in_parts((0, total), 1, work, loss, gradient, weight=4)
        if learn:
            torch_steps.step(rows.vectors, rows.sums, gradient, rule.rate)
        _check(gradient)
        return float(loss) / max(1, total)


def _blocks(rule: Rule, size: int) -> int:
    """Positions of a batch, in whole blocks."""
    return -(-min(rule.batch, size) // rule.block) * rule.block


def _signed(key: int) -> int:
    return key - 2**64 if key >= 2**63 else key


def _piece(chunk: Resident, rule: Rule, low: int, high: int) -> Part:
    return Part(low - chunk.first + MARGIN, high - low, low // rule.block, _signed(rule.key))


def _check(*gradients: Gradient) -> None:
    """Refuse sums that left the range of exact ones."""
    for gradient in gradients:
        if gradient.is_exact and int(gradient.too_large):
            raise EqembError(
                "gradients are too large to be summed exactly: train with a smaller rate or batch,"
                " or without deterministic"
            )
