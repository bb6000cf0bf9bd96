"""The same steps as `reference` on a GPU, by torch: larger batches, vectors that stay there.

The first pass runs in fused kernels (`triton_steps`) where there is Triton, else, and on torch's
own CPU device, by plain operations (`torch_steps`); the second pass by plain operations
everywhere. Zeros are drawn on the device by the same whole-number arithmetic, so they are the same.

A batch is worked on in parts, whose gradients add up before its one step: how large a part is
depends on memory and cache, and the result does not depend on it. Texts are kept on the device
where its share of memory allows, and else come in chunks, the next one copied while one is worked
on. With `deterministic` the same device gives the same bytes (`torch_steps.Gradient`).
"""

import functools
import warnings
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar

import numpy as np
import torch

from eqemb.errors import EqembError, UsageError
from eqemb.kernels import torch_steps
from eqemb.kernels.arrays import Contexts, Near, Noise, Positions, Rows, Rule, Text, Vectors
from eqemb.kernels.torch_steps import MARGIN, Gradient, Part, Resident

Span = tuple[int, int]
Tensor = Any
F = TypeVar("F", bound=Callable[..., Any])
PART = 262_144  # positions worked on at a time: `benchmarks/gpu.py` tries others
LEAST_PART = 1024
_TOKEN = 8  # bytes of a position on the device: its word and its article
_WHOLE = 2**31 - 2**20  # positions of a text that is kept in one piece


def _clearly(function: F) -> F:
    """Say in one sentence that memory is not enough."""

    @functools.wraps(function)
    def call(self: "Kernels", *arguments: Any, **named: Any) -> Any:
        try:
            with torch.no_grad():
                return function(self, *arguments, **named)
        except torch.OutOfMemoryError:
            raise EqembError(
                f"{self.room()}, too little for these vectors and their gradients: train with a"
                " smaller dim or vocabulary, or with device='cpu'"
            ) from None

    return call  # type: ignore[return-value]


class Kernels:
    """The steps on one device."""

    def __init__(
        self,
        device: str = "cuda",
        *,
        deterministic: bool = False,
        memory: int | None = None,
        fused: bool | None = None,
    ) -> None:
        """`memory` is the bytes that a text may take; `fused` asks for Triton, or for none."""
        self.device = torch.device(device)
        if self.device.type == "cuda" and not torch.cuda.is_available():
            raise UsageError("torch sees no GPU here: train with device='cpu'")
        self.deterministic = deterministic
        self.name = self.device.type
        if self.device.type == "cuda":
            self.name = (
                f"cuda ({torch.cuda.get_device_name(self.device)}), torch {torch.__version__}"
            )
        self.memory, self.part = memory, PART
        if fused is None:
            fused = self.device.type == "cuda" and find_spec("triton") is not None
        self._fused = import_module("eqemb.kernels.triton_steps") if fused else None
        self.shape = self._fused.Shape() if self._fused else None
        self._kept: dict[Any, tuple[Any, Any, Any]] = {}

    # What is where

    @contextmanager
    def holding(self, *changed: Any) -> Iterator[list[Any]]:
        """Named tuples of arrays as they are on the device; they are brought back at the end."""
        there: dict[int, tuple[Any, Tensor]] = {}

        def sent(array: Any) -> Tensor:
            if isinstance(array, torch.Tensor):
                return array
            if id(array) not in there:
                there[id(array)] = array, self._send(array)
            return there[id(array)][1]

        yield [type(arrays)(*map(sent, arrays)) for arrays in changed]
        for array, tensor in there.values():
            if self.device.type != "cpu":  # there both are the same memory
                torch.from_numpy(array).copy_(tensor)

    def _send(self, array: Any) -> Tensor:
        with warnings.catch_warnings():  # arrays that are only read may be read-only
            warnings.filterwarnings("ignore", "The given NumPy array is not writable")
            return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    def _once(self, array: Any, make: Callable[[], Any], *more: Any) -> Any:
        """What is made of an array that is only read, and of more, as long as it is there."""
        key = _key(array, *more)
        if key not in self._kept:
            kept = self._kept
            self._kept[key] = make(), weakref.ref(array, lambda _: kept.pop(key, None)), more
        return self._kept[key][0]

    def _read(self, array: Any) -> Tensor:
        """A read-only array on the device, sent once."""
        if isinstance(array, torch.Tensor):
            return array
        if self.device.type == "cpu":  # it is there already
            return self._send(array)
        return self._once(array, lambda: self._send(array))

    def _words(self, words: Vectors) -> Vectors:
        """Words of the second pass; those without sums are fixed, and stay on the device."""
        send = self._send if len(words.rho_sum) else self._read
        return Vectors(*(x if isinstance(x, torch.Tensor) else send(x) for x in words))

    def room(self) -> str:
        """How much memory is left, in words."""
        if self.device.type != "cuda":
            return "memory is used up"
        free, total = torch.cuda.mem_get_info(self.device)
        return f"the GPU has {free / 1e9:.1f} of {total / 1e9:.0f} GB free"

    def _share(self) -> int:
        """Bytes that a text may take: half of what is free, unless it was said."""
        if self.memory is not None:
            return self.memory
        if self.device.type != "cuda":
            return 1 << 62
        return int(torch.cuda.mem_get_info(self.device)[0]) // 2

    def _part(self, each: int, block: int) -> int:
        """Positions of a part, fewer where their scratch does not fit."""
        part = max(self.part, block)
        while self.device.type == "cuda":
            try:
                torch.empty(part * each, dtype=torch.uint8, device=self.device)
                break
            except torch.OutOfMemoryError:
                if part // 2 < max(LEAST_PART, block):
                    raise
                part //= 2
        return part // block * block

    # Texts

    def _noise(self, noise: Noise) -> tuple[Tensor, Tensor]:
        return self._read(noise.threshold).view(torch.int64), self._read(noise.alias)

    def _articles(self, starts: Positions, first: int, last: int, out: Tensor) -> None:
        """Changes `out`: a number for each article that reaches into a chunk, -1 in margins."""
        low, high = max(first - MARGIN, int(starts[0])), min(last + MARGIN, int(starts[-1]))
        left, right = np.searchsorted(starts, [low, high], side="left")
        out.zero_()
        at = self._send(np.ascontiguousarray(starts[left:right] - (first - MARGIN)))
        out.index_add_(0, at, torch.ones(len(at), dtype=torch.int32, device=self.device))
        out.cumsum_(0)
        out[: low - (first - MARGIN)] = -1
        out[high - (first - MARGIN) :] = -1

    def _chunks(self, text: Text, span: Span, batch: int) -> Iterator[tuple[Resident, Span]]:
        """The text on the device, whole or a chunk of whole batches after the other."""
        noise, size = self._noise(text.noise), len(text.tokens)
        known = _key(text.tokens, text.starts) in self._kept
        if known or (size < _WHOLE and _TOKEN * (size + 2 * MARGIN) <= self._share()):
            whole = self._once(text.tokens, lambda: self._resident(text), text.starts)
            tokens, articles = whole
            yield Resident(tokens, articles, *noise, 0), span
            return
        length = max(1, self._share() // (2 * _TOKEN) // batch) * batch
        spans = [(low, min(low + length, span[1])) for low in range(*span, length)]
        yield from _Stream(self, text, noise, length).chunks(spans)

    def _resident(self, text: Text) -> tuple[Tensor, Tensor]:
        tokens, articles = self._buffers(len(text.tokens))
        tokens[MARGIN : MARGIN + len(text.tokens)] = self._send(text.tokens)
        self._articles(text.starts, 0, len(text.tokens), articles)
        return tokens, articles

    def _buffers(self, length: int) -> tuple[Tensor, Tensor]:
        shape = (length + 2 * MARGIN,)
        tokens = torch.zeros(shape, dtype=torch.int32, device=self.device)
        return tokens, torch.zeros_like(tokens)

    # Words

    @_clearly
    def words_update(
        self, vectors: Vectors, text: Text, rule: Rule, span: Span | None = None, threads: int = 1
    ) -> float:
        """Synchronous minibatches over the text (or a span of positions); the mean loss."""
        del threads
        with self.holding(vectors) as (held,):
            return self._pass(held, text, rule, span, learn=True)

    @_clearly
    def words_loss(
        self, vectors: Vectors, text: Text, rule: Rule, span: Span | None = None, threads: int = 1
    ) -> float:
        """The mean loss over the text, or over a span of positions."""
        del threads
        with self.holding(vectors) as (held,):
            return self._pass(held, text, rule, span, learn=False)

    def _pass(
        self, vectors: Vectors, text: Text, rule: Rule, span: Span | None, *, learn: bool
    ) -> float:
        first, last = span or (0, len(text.tokens))
        if first >= last:
            return 0.0
        size, K = vectors.rho.shape
        steps = self._fused if self._fused and K <= self._fused.WIDEST else torch_steps
        part = min(self._part(steps.Words.bytes(K), rule.block), _blocks(rule, last - first))
        rho = self._gradient(size, K)
        alpha = self._gradient(size if rule.learn_alpha else 0, K)
        words = steps.Words(vectors, rule, part, self.shape)
        for chunk, (low, high) in self._chunks(text, (first, last), rule.batch):
            for left in range(low, high, rule.batch):
                right = min(left + rule.batch, high)
                for at in range(left, right, part):
                    piece = _piece(chunk, rule, at, min(at + part, right))
                    offsets = self._offsets(text, at, piece.size)
                    words.forward(chunk, piece, offsets, rho, alpha, learn=learn)
                if learn:
                    steps.step(vectors.rho, vectors.rho_sum, rho, rule.rate)
                    if rule.learn_alpha:
                        steps.step(vectors.alpha, vectors.alpha_sum, alpha, rule.rate)
        _check(rho, alpha)
        return float(words.loss()) / (last - first)

    def _gradient(self, rows: int, K: int) -> Gradient:
        return Gradient(rows, K, self.device, exact=self.deterministic)

    def _offsets(self, text: Text, low: int, count: int) -> Tensor | None:
        """What equations add to the contexts of some positions, or nothing; [count, K]."""
        first, last = np.searchsorted(text.offsets.positions, (low, low + count))
        if first == last:
            return None
        sums = self._send(text.offsets.sums[first:last])
        at = self._send(text.offsets.positions[first:last] - low)
        out = torch.zeros((count, sums.shape[1]), dtype=torch.float32, device=self.device)
        return out.index_copy_(0, at, sums)

    # Equations as bags of rows

    @_clearly
    def bags_update(
        self,
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
        with self.holding(rows) as (held,):
            return self._bags(held, self._words(words), text, near, rule, span, whole=whole)

    @_clearly
    def bags_loss(
        self,
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
        with self.holding(rows) as (held,):
            return self._bags(held, self._words(words), text, near, rule, span, learn=False)

    def _bags(
        self,
        rows: Rows,
        words: Vectors,
        text: Text,
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
        part = self._part(torch_steps.Words.bytes(K), rule.block)
        batch = part if whole or not learn else rule.batch  # of a whole all parts are alike
        gradient = self._gradient(size, K)
        loss = torch.zeros((), dtype=torch.float64, device=self.device)
        for left in range(first, last, batch):
            right = min(left + batch, last)
            for low in range(left, right, part):
                plan = self._plan(text, near, (low, min(low + part, right)))
                around = self._around(words, plan, rule.window)
                scored = self._score_bags(rows, words, plan, around, rule)
                loss += scored.loss
                if learn:
                    plan.spread(scored.context, gradient)
            if learn and not whole:
                torch_steps.step(rows.vectors, rows.sums, gradient, rule.rate)
        if whole:
            torch_steps.step(rows.vectors, rows.sums, gradient, rule.rate)
        _check(gradient)
        return float(loss) / (last - first)

    def _plan(self, text: Text, near: Near, span: Span) -> "_Plan":
        """What a span of near positions reads: found once, for all iterations."""
        plans = self._once(near.types, dict, text.tokens, near.positions)
        if span not in plans:
            if "near" not in plans:
                plans["near"] = Near(*map(self._send, near))
                plans["text"] = self._whole(text)
            plans[span] = _Plan(self, plans["text"], plans["near"], near, span)
        return plans[span]  # type: ignore[no-any-return]

    def _whole(self, text: Text) -> Resident:
        """A text on the device, whatever its size: the second pass reads it anywhere."""
        tokens, articles = self._once(text.tokens, lambda: self._resident(text), text.starts)
        return Resident(tokens, articles, *self._noise(text.noise), 0)

    def _around(self, words: Vectors, plan: "_Plan", window: int) -> Tensor:
        """The summed windows of a plan's positions; kept where words are fixed."""
        if plan.window == window and plan.alpha is words.alpha:
            return plan.around
        total = plan.windows(words.alpha, window // 2)
        if not len(words.rho_sum):
            plan.around, plan.alpha, plan.window = total, words.alpha, window
        return total

    def _score_bags(
        self, rows: Rows, words: Vectors, plan: "_Plan", around: Tensor, rule: Rule
    ) -> torch_steps.Scored:
        context = plan.context(rows.vectors, around)
        first, last = plan.span
        blocks = -(-(last - first) // rule.block)
        key, block = _signed(rule.key), first // rule.block
        drawn = torch_steps.zeros(key, block, blocks, rule.negatives, plan.text)
        return torch_steps.score(words.rho, plan.targets, drawn, context, rule)

    # Contexts of equations

    @_clearly
    def contexts_update(
        self, rows: Rows, contexts: Contexts, rule: Rule, threads: int = 1
    ) -> float:
        """One Adagrad step of every type's rho on all its occurrences; the mean loss."""
        del threads
        with self.holding(rows) as (held,):
            return self._contexts(held, contexts, rule, learn=True)

    @_clearly
    def contexts_loss(self, rows: Rows, contexts: Contexts, rule: Rule, threads: int = 1) -> float:
        """The mean loss of b_e over all occurrences."""
        del threads
        with self.holding(rows) as (held,):
            return self._contexts(held, contexts, rule, learn=False)

    def _contexts(self, rows: Rows, contexts: Contexts, rule: Rule, *, learn: bool) -> float:
        (types, K), total = rows.vectors.shape, len(contexts.occurrences)
        sums, zeros, occurrences = map(
            self._read, (contexts.sums, contexts.zeros, contexts.occurrences)
        )
        sizes = torch.diff(self._read(contexts.starts))
        owners = torch.repeat_interleave(torch.arange(types, device=self.device), sizes)
        part = max(1, self._part(4 * K * (3 * zeros.shape[1] + 8), 1) // 4)
        gradient = self._gradient(types, K)
        loss = torch.zeros((), dtype=torch.float64, device=self.device)
        for low in range(0, total, part):
            own, type_ = occurrences[low : low + part], owners[low : low + part]
            others = sums[zeros[own].view(-1)].view(len(own), -1, K)
            one, by = torch_steps.score_contexts(
                rows.vectors[type_], sums[own], others, rule.zero_weight
            )
            loss += one
            if learn:
                gradient.add(type_, by)
        if learn:
            torch_steps.step(rows.vectors, rows.sums, gradient, rule.rate)
        _check(gradient)
        return float(loss) / max(1, total)


class _Plan:
    """Near positions of a part, the types near them and the rows of those, on the device."""

    def __init__(self, kernels: Kernels, text: Resident, near: Any, host: Near, span: Span) -> None:
        first, last = span
        low, high = (int(host.starts[at]) for at in span)
        device = kernels.device
        self.kernels, self.text, self.span = kernels, text, span
        self.positions = near.positions[first:last]
        self.targets = text.tokens[self.positions + MARGIN]
        counts = torch.diff(near.starts[first : last + 1])
        self.owners = torch.repeat_interleave(torch.arange(last - first, device=device), counts)
        types, self.local = torch.unique(near.types[low:high], return_inverse=True)
        types = types.long()
        starts, sizes = near.bag_starts[types], torch.diff(near.bag_starts)[types]
        self.scale = near.scale[types][:, None]
        self.bag = torch.repeat_interleave(torch.arange(len(types), device=device), sizes)
        within = torch.arange(len(self.bag), device=device) - (sizes.cumsum(0) - sizes)[self.bag]
        self.rows = near.bags[starts[self.bag] + within]
        self.around: Tensor = None  # summed windows of fixed words, and which they are
        self.alpha: Tensor = None
        self.window = 0

    def windows(self, alpha: Tensor, half: int) -> Tensor:
        """The summed alpha of the words around each position."""
        at = self.positions + MARGIN
        own = self.text.articles[at]
        total = torch.zeros((len(at), alpha.shape[1]), dtype=alpha.dtype, device=alpha.device)
        for shift in (*range(-half, 0), *range(1, half + 1)):
            near = (self.text.articles[at + shift] == own)[:, None].to(alpha.dtype)
            total.addcmul_(alpha[self.text.tokens[at + shift]], near)
        return total

    def context(self, vectors: Tensor, around: Tensor) -> Tensor:
        """Those sums, and the pooled rows of every equation near a position."""
        pooled = self._summed(len(self.scale), self.bag, vectors[self.rows]) * self.scale
        return around + self._summed(len(around), self.owners, pooled[self.local])

    def spread(self, by_context: Tensor, gradient: Gradient) -> None:
        """Changes the gradient of rows by those of contexts."""
        by_type = self._summed(len(self.scale), self.local, by_context[self.owners]) * self.scale
        gradient.add(self.rows, by_type[self.bag])

    def _summed(self, size: int, rows: Tensor, values: Tensor) -> Tensor:
        sums = self.kernels._gradient(size, values.shape[1])  # noqa: SLF001
        sums.add(rows, values)
        return sums.taken()


def _key(*arrays: Any) -> tuple[int, ...]:
    return tuple(map(id, arrays))


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


class _Stream:
    """Chunks of a text that is larger than its share, two at a time on the device."""

    def __init__(
        self, kernels: Kernels, text: Text, noise: tuple[Tensor, Tensor], length: int
    ) -> None:
        self.kernels, self.text, self.noise = kernels, text, noise
        self.on_gpu = kernels.device.type == "cuda"
        shape = length + 2 * MARGIN
        self.pinned = [
            torch.zeros(shape, dtype=torch.int32, pin_memory=self.on_gpu) for _ in range(2)
        ]
        self.buffers = [kernels._buffers(length) for _ in range(2)]  # noqa: SLF001
        self.copies = torch.cuda.Stream(kernels.device) if self.on_gpu else None
        if self.copies is not None:
            self.copies.wait_stream(torch.cuda.current_stream())  # which makes the buffers
        self.free: list[Any] = [None, None]  # events: the work on a buffer is done

    def chunks(self, spans: list[Span]) -> Iterator[tuple[Resident, Span]]:
        """Each chunk when it is there; the next is read and copied meanwhile."""
        with ThreadPoolExecutor(1) as pool:
            coming = pool.submit(self._load, 0, spans[0])
            for at, span in enumerate(spans):
                ready = coming.result()
                if self.on_gpu:
                    torch.cuda.current_stream().wait_event(ready)
                if at + 1 < len(spans):
                    coming = pool.submit(self._load, at + 1, spans[at + 1])
                yield Resident(*self.buffers[at % 2], *self.noise, span[0]), span
                if self.on_gpu:
                    self.free[at % 2] = torch.cuda.current_stream().record_event()

    def _load(self, at: int, span: Span) -> Any:
        """Bring a chunk to its buffer; the event after which it is there."""
        which, (first, last) = at % 2, span
        if self.free[which] is not None:
            self.free[which].synchronize()
        low, high = max(0, first - MARGIN), min(len(self.text.tokens), last + MARGIN)
        into = slice(low - (first - MARGIN), high - (first - MARGIN))
        pinned, (tokens, articles) = self.pinned[which], self.buffers[which]
        pinned.numpy()[into] = self.text.tokens[low:high]
        end = last - first + 2 * MARGIN
        with torch.cuda.stream(self.copies) if self.on_gpu else nullcontext():
            tokens[into].copy_(pinned[into], non_blocking=True)
            self.kernels._articles(self.text.starts, first, last, articles[:end])  # noqa: SLF001
            return self.copies.record_event() if self.copies else None
