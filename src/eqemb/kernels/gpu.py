"""The same steps as `reference` on a GPU, by torch: larger batches, vectors that stay there.

The first pass runs in fused kernels (`triton_steps`) where Triton works, else, and on torch's
own CPU device, by plain operations (`torch_steps`); the second pass by plain operations
everywhere. Zeros are drawn on the device by the same whole-number arithmetic, so they are the same.

A batch is worked on in parts, whose gradients add up before its one step. Where memory runs out it
is worked on again in smaller parts; but for rounding the result does not depend on them. What is
only read is kept on the device as far as its share of memory goes (`shelf`). Beyond it a text comes
in chunks, the next one copied while one is worked on, and the second pass gathers on the host what
a part needs. With `deterministic` the same device gives the same bytes (`torch_steps.Gradient`),
hence parts keep their size, and too little memory is refused.
"""

import functools
import warnings
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar

import numpy as np
import torch

from eqemb.errors import EqembError, UsageError
from eqemb.kernels import draws, torch_steps
from eqemb.kernels.arrays import Contexts, Near, Noise, Positions, Rows, Rule, Text, Vectors
from eqemb.kernels.shelf import Shelf, free
from eqemb.kernels.torch_steps import MARGIN, Gradient, Part, Plan, Resident

Span = tuple[int, int]
Tensor = Any
Chunks = Generator[tuple[Resident, Span], None, None]
F = TypeVar("F", bound=Callable[..., Any])
PART = 262_144  # positions worked on at a time: `benchmarks/gpu.py` tries others
LEAST_PART = 1024
CHUNK = 1 << 26  # positions of a streamed chunk at most: two of 268 MB are pinned on the host
_TOKEN = 8  # bytes of a position on the device: its word and its article
_WHOLE = 2**31 - 2**20  # positions of a text that is kept in one piece


def _clearly(function: F) -> F:
    """Steps in full precision that say in one sentence that memory is not enough."""

    @functools.wraps(function)
    def call(self: "Kernels", *arguments: Any, **named: Any) -> Any:
        with torch.no_grad(), _full_precision(), self.saying():
            return function(self, *arguments, **named)

    return call  # type: ignore[return-value]


def _precision() -> tuple[str, Any]:
    """Torch's setting of TF32, by its name: another one since torch 2.9."""
    matmul = torch.backends.cuda.matmul
    name = "fp32_precision" if hasattr(matmul, "fp32_precision") else "allow_tf32"
    return name, getattr(matmul, name)


@contextmanager
def _full_precision() -> Iterator[None]:
    """No TF32, whatever the program around us has allowed."""
    name, before = _precision()
    setattr(torch.backends.cuda.matmul, name, "ieee" if name == "fp32_precision" else False)
    try:
        yield
    finally:
        setattr(torch.backends.cuda.matmul, name, before)


def _is_full(error: RuntimeError) -> bool:
    """Whether it says that memory ran out: torch, cuBLAS and Triton have their own ways to."""
    said = str(error)
    return (
        isinstance(error, torch.OutOfMemoryError)
        or "out of memory" in said
        or "ALLOC_FAILED" in said
    )


@functools.cache
def _failure(device: str, *, fused: bool) -> str:
    """Why a device cannot make a small step, or nothing."""
    rho, alpha, *sums = (np.full((8, 16), value, np.float32) for value in (0.1, 0.1, 0, 0))
    noise = draws.noise_table(np.ones(8, np.int64))
    text = Text(np.arange(64, dtype=np.int32) % 8, np.array([0, 64]), noise)
    rule = Rule(4, 2, 8, 32, 1.0, 0.1, 1)
    try:
        Kernels(device, fused=fused).words_update(Vectors(rho, alpha, *sums), text, rule)
    except EqembError:  # memory, which may be free at another time
        raise
    except Exception as error:  # noqa: BLE001  (a driver, a compiler, a build: each has its own)
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
            f"Triton cannot be used ({why}): the GPU trains by plain torch, more slowly",
            RuntimeWarning,
            stacklevel=3,
        )
    return False, why


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
        """`memory` is the bytes that what is only read may take; `fused` asks for Triton or not."""
        self.device = torch.device(device)
        if self.device.type == "cuda" and not torch.cuda.is_available():
            raise UsageError("torch sees no GPU here: train with device='cpu'")
        self.deterministic, self.part = deterministic, PART
        self._shelf = Shelf(self.device, memory)
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

        with self.saying():
            held = [type(arrays)(*map(sent, arrays)) for arrays in changed]
        yield held
        for array, tensor in there.values():
            if self.device.type != "cpu":  # there both are the same memory
                torch.from_numpy(array).copy_(tensor)

    def _host(self, array: Any) -> Tensor:
        with warnings.catch_warnings():  # arrays that are only read may be read-only
            warnings.filterwarnings("ignore", "The given NumPy array is not writable")
            return torch.from_numpy(np.ascontiguousarray(array))

    def _send(self, array: Any) -> Tensor:
        return self._host(array).to(self.device)

    def _read(self, *arrays: Any) -> list[Tensor]:
        """Arrays that are only read: all on the device where they fit, else all where they are."""
        size = sum(array.nbytes for array in arrays)
        known = self._shelf.get(arrays) is not None
        if self.device.type == "cpu" or not (known or size <= self._shelf.left()):
            return list(map(self._host, arrays))
        return self._shelf.once(lambda: list(map(self._send, arrays)), arrays)

    def _needed(self, array: Any) -> Tensor:
        """A small array that is only read and has to be on the device, sent once."""
        if isinstance(array, torch.Tensor):
            return array
        if self.device.type == "cpu":  # it is there already
            return self._host(array)
        return self._shelf.once(lambda: self._send(array), (array,), size=0)

    def _words(self, words: Vectors) -> Vectors:
        """Words of the second pass; those without sums are fixed, and stay on the device."""
        send = self._send if len(words.rho_sum) else self._needed
        return Vectors(*(x if isinstance(x, torch.Tensor) else send(x) for x in words))

    # Where memory runs out

    @contextmanager
    def saying(self) -> Iterator[None]:
        """Say in one sentence that memory is not enough."""
        try:
            yield
        except RuntimeError as error:
            if not _is_full(error):
                raise
            fixed = " without deterministic, which forbids smaller parts," * self.deterministic
            raise EqembError(
                f"{self.room()}, too little for these vectors, their gradients and parts of"
                f" {self.part:,} positions: train with a smaller dim or vocabulary,{fixed} or with"
                " device='cpu'"
            ) from None

    def room(self) -> str:
        """How much memory is left, in words."""
        if self.device.type != "cuda":
            return "memory is used up"
        total = torch.cuda.mem_get_info(self.device)[1]
        return f"the GPU has {free(self.device) / 1e9:.1f} of {total / 1e9:.0f} GB free"

    def _part(self, block: int, weight: int = 1) -> int:
        """Positions of a part, in whole blocks; `weight` is what one needs beside a word."""
        return max(1, self.part // weight // block) * block

    def _in_parts(
        self,
        span: Span,
        block: int,
        work: Callable[[int, int], None],
        losses: Tensor | None,
        *sheets: Gradient,
        weight: int = 1,
    ) -> None:
        """Work on a batch part by part; without memory for it once more, in smaller parts.

        Until its step a batch changes nothing but losses and sheets. Losses are given where
        memory may run out after they were changed.
        """
        before = None if losses is None else losses.clone()
        while True:
            part = min(self._part(block, weight), span[1] - span[0])
            try:
                for low in range(*span, part):
                    work(low, min(low + part, span[1]))
            except RuntimeError as error:
                least = max(LEAST_PART, weight * block)
                if not _is_full(error) or self.deterministic or weight * part // 2 < least:
                    raise
            else:
                return
            # here the error is gone, and what its frames held is free
            self.part = weight * part // 2
            self._shelf.clear()
            if self.device.type == "cuda":
                torch.cuda.empty_cache()
            for sheet in sheets:
                sheet.clear()
            if losses is not None and before is not None:
                losses.copy_(before)

    # Texts

    def _noise(self, noise: Noise) -> tuple[Tensor, Tensor]:
        return self._needed(noise.threshold).view(torch.int64), self._needed(noise.alias)

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

    def _chunks(self, text: Text, span: Span, batch: int) -> Chunks:
        """The text on the device, whole or a chunk of whole batches after the other."""
        noise, size, key = self._noise(text.noise), len(text.tokens), (text.tokens, text.starts)
        whole, room = self._shelf.get(key), 0
        if whole is None:
            room = self._shelf.left()
            if size < _WHOLE and _TOKEN * (size + 2 * MARGIN) <= room:
                whole = self._shelf.once(lambda: self._resident(text), key)
        if whole is not None:
            tokens, articles = whole
            yield Resident(tokens, articles, *noise, 0), span
            return
        most = min(room // (2 * _TOKEN), CHUNK, span[1] - span[0] + batch - 1)
        length = max(1, most // batch) * batch
        spans = [(low, min(low + length, span[1])) for low in range(*span, length)]
        with closing(_Stream(self, text, noise, length).chunks(spans)) as chunks:
            yield from chunks

    def _resident(self, text: Text) -> tuple[Tensor, Tensor]:
        tokens, articles = self._buffers(len(text.tokens))
        tokens[MARGIN : MARGIN + len(text.tokens)].copy_(self._host(text.tokens))
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
        rho = self._gradient(size, K)
        alpha = self._gradient(size if rule.learn_alpha else 0, K)
        part = min(self._part(rule.block), _blocks(rule, last - first))
        words = steps.Words(vectors, rule, part, self.shape)
        # fused kernels take all they need in their first batch, unless there are offsets
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
            return self._bags(held, words, text, near, rule, span, whole=whole)

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
            return self._bags(held, words, text, near, rule, span, learn=False)

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

    def _plan(self, text: Text, near: Near, span: Span) -> Plan:
        """What a span of near positions reads: found once, where there is room to keep it."""
        types = int(near.starts[span[0]]), int(near.starts[span[1]])

        def make() -> Plan:
            tokens, _, there = self._second(text, near)
            made = torch_steps.plan(there, tokens, span, types)
            return Plan(*(array.to(self.device) for array in made))

        return self._shelf.once(make, (near.types, near.positions, text.tokens), span)

    def _around(
        self, words: Vectors, alpha: Tensor, text: Text, near: Near, span: Span, window: int
    ) -> Tensor:
        """The summed windows of a span of near positions; kept where words are fixed."""

        def make() -> Tensor:
            tokens, starts, there = self._second(text, near)
            at = there.positions[span[0] : span[1]]
            return torch_steps.windows(alpha, tokens, starts, at, window // 2)

        if len(words.rho_sum):
            return make()
        return self._shelf.once(make, (words.alpha, near.positions, text.tokens), span, window)

    def _second(self, text: Text, near: Near) -> tuple[Tensor, Tensor, Near]:
        """The text and what is near in it: all on the device where it fits, else on the host."""
        kept = self._shelf.get((text.tokens, text.starts))  # by the first pass
        starts, *found = self._read(text.starts, *near, *([] if kept else [text.tokens]))
        there = Near(*found[: len(near)])
        if not kept:
            return found[-1], starts, there
        if starts.device.type != self.device.type:
            return self._host(text.tokens), starts, there
        return kept[0][MARGIN : MARGIN + len(text.tokens)], starts, there

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


class _Stream:
    """Chunks of a text that is larger than its share, two at a time on the device."""

    def __init__(
        self, kernels: Kernels, text: Text, noise: tuple[Tensor, Tensor], length: int
    ) -> None:
        self.kernels, self.text, self.noise = kernels, text, noise
        self.on_gpu = kernels.device.type == "cuda"
        self.pinned = [_pinned(length + 2 * MARGIN, pin=self.on_gpu) for _ in range(2)]
        self.buffers = [kernels._buffers(length) for _ in range(2)]  # noqa: SLF001
        self.copies = torch.cuda.Stream(kernels.device) if self.on_gpu else None
        if self.copies is not None:
            self.copies.wait_stream(torch.cuda.current_stream())  # which makes the buffers
        self.free: list[Any] = [None, None]  # events: the work on a buffer is done

    def chunks(self, spans: list[Span]) -> Chunks:
        """Each chunk when it is there; the next is read and copied meanwhile."""
        try:
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
        finally:
            self._settle()

    def _settle(self) -> None:
        """Wait for copies under way: whoever stops early lets go of what they are copied into."""
        if self.copies is not None:
            self.copies.synchronize()

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


def _pinned(length: int, *, pin: bool) -> Tensor:
    """Host memory from which copies overlap with work; plain memory where there is none to pin."""
    try:
        return torch.zeros(length, dtype=torch.int32, pin_memory=pin)
    except RuntimeError:
        if not pin:
            raise
        return torch.zeros(length, dtype=torch.int32)
