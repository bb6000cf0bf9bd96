"""Where data is during training on a GPU: on the device, streamed to it, or on the host.

What is only read is cached on the device up to a share of its memory (`device_cache`). A text
beyond that is streamed in chunks, the next one copied while one is processed, and the second pass
gathers what a part needs on the host.
"""

import warnings
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext
from typing import Any

import numpy as np
import torch

from eqemb.errors import EqembError
from eqemb.kernels.arrays import Noise, Positions, TextArrays, Vectors
from eqemb.kernels.device_cache import DeviceCache, free_memory
from eqemb.kernels.torch_steps import MARGIN, Gradient, Resident

Span = tuple[int, int]
Tensor = Any
Chunks = Generator[tuple[Resident, Span], None, None]
GPU_PART = 262_144  # positions processed at a time: `benchmarks/gpu.py` tries others
LEAST_PART = 1024
STREAM_CHUNK = 1 << 26  # positions of a streamed chunk: two of 268 MB are pinned on the host
_BYTES_PER_POSITION = 8  # on the device: its word and its article
_LONGEST_RESIDENT = 2**31 - 2**20  # positions of a text that is held in one piece


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether memory ran out: torch, cuBLAS and Triton report it in different ways."""
    message = str(error)
    return (
        isinstance(error, torch.OutOfMemoryError)
        or "out of memory" in message
        or "ALLOC_FAILED" in message
    )


class DeviceMemory:
    """The memory of one device."""

    def __init__(self, device: str, *, deterministic: bool, memory: int | None) -> None:
        """`memory` is the bytes that read-only data may take; None is half of what is free."""
        self.device = torch.device(device)
        self.deterministic, self.part = deterministic, GPU_PART
        self._cache = DeviceCache(self.device, memory)

    @contextmanager
    def holding(self, *changed: Any) -> Iterator[list[Any]]:
        """Named tuples of arrays moved to the device, and copied back at the end."""
        there: dict[int, tuple[Any, Tensor]] = {}

        def sent(array: Any) -> Tensor:
            if isinstance(array, torch.Tensor):
                return array
            if id(array) not in there:
                there[id(array)] = array, self._send(array)
            return there[id(array)][1]

        with self.explaining_memory():
            held = [type(arrays)(*map(sent, arrays)) for arrays in changed]
        yield held
        for array, tensor in there.values():
            if self.device.type != "cpu":  # there both are the same memory
                torch.from_numpy(array).copy_(tensor)

    def _host(self, array: Any) -> Tensor:
        with warnings.catch_warnings():  # arrays may be read-only, and are only read
            warnings.filterwarnings("ignore", "The given NumPy array is not writable")
            return torch.from_numpy(np.ascontiguousarray(array))

    def _send(self, array: Any) -> Tensor:
        return self._host(array).to(self.device)

    def _read(self, *arrays: Any) -> list[Tensor]:
        """Arrays that are only read: all on the device if they fit, else all on the host."""
        size = sum(array.nbytes for array in arrays)
        known = self._cache.get(arrays) is not None
        if self.device.type == "cpu" or not (known or size <= self._cache.available()):
            return list(map(self._host, arrays))
        return self._cache.get_or_make(lambda: list(map(self._send, arrays)), arrays)

    def _needed(self, array: Any) -> Tensor:
        """A small array that is only read and must be on the device; sent once."""
        if isinstance(array, torch.Tensor):
            return array
        if self.device.type == "cpu":
            return self._host(array)
        return self._cache.get_or_make(lambda: self._send(array), (array,), size=0)

    def _words(self, words: Vectors) -> Vectors:
        """The words of the second pass; without sums they are fixed, and stay on the device."""
        send = self._send if len(words.rho_sum) else self._needed
        return Vectors(*(x if isinstance(x, torch.Tensor) else send(x) for x in words))

    @contextmanager
    def explaining_memory(self) -> Iterator[None]:
        """Turn an out-of-memory error into one sentence that says what to do."""
        try:
            yield
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            fixed = " without deterministic, which forbids smaller parts," * self.deterministic
            raise EqembError(
                f"{self.memory_left()}, too little for these vectors, their gradients and parts of"
                f" {self.part:,} positions: train with a smaller dim or vocabulary,{fixed} or with"
                " device='cpu'"
            ) from None

    def memory_left(self) -> str:
        """A phrase that says how much memory is left."""
        if self.device.type != "cuda":
            return "memory is used up"
        total = torch.cuda.mem_get_info(self.device)[1]
        return f"the GPU has {free_memory(self.device) / 1e9:.1f} of {total / 1e9:.0f} GB free"

    def _part(self, block: int, weight: int = 1) -> int:
        """Positions of a part, in whole blocks; `weight` is the memory of one, in words."""
        return max(1, self.part // weight // block) * block

    def _in_parts(
        self,
        span: Span,
        block: int,
        work: Callable[[int, int], None],
        losses: Tensor | None,
        *gradients: Gradient,
        weight: int = 1,
    ) -> None:
        """Process a batch in parts; if memory runs out, start again with smaller parts.

        Until its step a batch changes nothing but losses and gradients. `losses` are given if
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
                if not is_out_of_memory(error) or self.deterministic or weight * part // 2 < least:
                    raise
            else:
                return
            # outside the handler, so that what the frames of the error held is free
            self.part = weight * part // 2
            self._cache.clear()
            if self.device.type == "cuda":
                torch.cuda.empty_cache()
            for gradient in gradients:
                gradient.clear()
            if losses is not None and before is not None:
                losses.copy_(before)

    def _noise(self, noise: Noise) -> tuple[Tensor, Tensor]:
        return self._needed(noise.threshold).view(torch.int64), self._needed(noise.alias)

    def number_articles(self, starts: Positions, first: int, last: int, out: Tensor) -> None:
        """Changes `out` to the number of each position's article, -1 in the margins."""
        low, high = max(first - MARGIN, int(starts[0])), min(last + MARGIN, int(starts[-1]))
        left, right = np.searchsorted(starts, [low, high], side="left")
        out.zero_()
        at = self._send(np.ascontiguousarray(starts[left:right] - (first - MARGIN)))
        out.index_add_(0, at, torch.ones(len(at), dtype=torch.int32, device=self.device))
        out.cumsum_(0)
        out[: low - (first - MARGIN)] = -1
        out[high - (first - MARGIN) :] = -1

    def _chunks(self, text: TextArrays, span: Span, batch: int) -> Chunks:
        """The text on the device: in one piece, or in chunks of whole batches."""
        noise, size, key = self._noise(text.noise), len(text.tokens), (text.tokens, text.starts)
        whole, room = self._cache.get(key), 0
        if whole is None:
            room = self._cache.available()
            if size < _LONGEST_RESIDENT and _BYTES_PER_POSITION * (size + 2 * MARGIN) <= room:
                whole = self._cache.get_or_make(lambda: self._resident(text), key)
        if whole is not None:
            tokens, articles = whole
            yield Resident(tokens, articles, *noise, 0), span
            return
        most = min(room // (2 * _BYTES_PER_POSITION), STREAM_CHUNK, span[1] - span[0] + batch - 1)
        length = max(1, most // batch) * batch
        spans = [(low, min(low + length, span[1])) for low in range(*span, length)]
        with closing(TextStreamer(self, text, noise, length).chunks(spans)) as chunks:
            yield from chunks

    def _resident(self, text: TextArrays) -> tuple[Tensor, Tensor]:
        tokens, articles = self.buffers(len(text.tokens))
        tokens[MARGIN : MARGIN + len(text.tokens)].copy_(self._host(text.tokens))
        self.number_articles(text.starts, 0, len(text.tokens), articles)
        return tokens, articles

    def buffers(self, length: int) -> tuple[Tensor, Tensor]:
        """Room for the tokens and articles of a text of some length, with margins."""
        shape = (length + 2 * MARGIN,)
        tokens = torch.zeros(shape, dtype=torch.int32, device=self.device)
        return tokens, torch.zeros_like(tokens)


class TextStreamer:
    """Streams a text that does not fit in its share of memory, two chunks at a time."""

    def __init__(
        self, memory: DeviceMemory, text: TextArrays, noise: tuple[Tensor, Tensor], length: int
    ) -> None:
        self.memory, self.text, self.noise = memory, text, noise
        self.on_gpu = memory.device.type == "cuda"
        self.pinned = [_pinned(length + 2 * MARGIN, pin=self.on_gpu) for _ in range(2)]
        self.buffers = [memory.buffers(length) for _ in range(2)]
        self.copies = torch.cuda.Stream(memory.device) if self.on_gpu else None
        if self.copies is not None:
            self.copies.wait_stream(torch.cuda.current_stream())  # which makes the buffers
        self.free: list[Any] = [None, None]  # events that mark the end of the work on a buffer

    def chunks(self, spans: list[Span]) -> Chunks:
        """Yields each chunk once it is copied; the next is read and copied meanwhile."""
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
        """Wait for pending copies: a consumer that stops early frees their destination."""
        if self.copies is not None:
            self.copies.synchronize()

    def _load(self, at: int, span: Span) -> Any:
        """Copy a chunk to its buffer; the event that marks the end of the copy."""
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
            self.memory.number_articles(self.text.starts, first, last, articles[:end])
            return self.copies.record_event() if self.copies else None


def _pinned(length: int, *, pin: bool) -> Tensor:
    """Pinned host memory, from which copies overlap with work; plain memory if none is left."""
    try:
        return torch.zeros(length, dtype=torch.int32, pin_memory=pin)
    except RuntimeError:
        if not pin:
            raise
        return torch.zeros(length, dtype=torch.int32)
