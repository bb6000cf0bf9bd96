"""Byte streams, decompressed piece by piece within limits.

`archives` and `content` interpret the bytes.
"""

import bz2
import lzma
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any, BinaryIO

from eqemb.errors import SourceError
from eqemb.sources.found import Limits

CHUNK_BYTES = 1 << 16
#: Compressed bytes read at a time: few, so that a high ratio is noticed early.
COMPRESSED_BYTES = 1 << 14
_RATIO_FROM = 10_000_000  # decompressed bytes from which the ratio is checked
_MEMBER_BYTES = 64  # of a file on disk, for each member of the archives in it beyond a limit
_DECODE_ERRORS: tuple[type[Exception], ...] = (
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    ValueError,
    OverflowError,
)

#: The first bytes of each compression format, and its decompressor.
ENGINES: dict[str, tuple[bytes, Callable[[], Any]]] = {
    "gzip": (b"\x1f\x8b", lambda: zlib.decompressobj(31)),
    "bzip2": (b"BZh", bz2.BZ2Decompressor),
    "xz": (b"\xfd7zXZ\0", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=128 << 20)),
    "deflate": (b"", lambda: zlib.decompressobj(-15)),
}
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def _zstd_module() -> Any:
    """The module that reads zstd: of Python 3.14, or its copy for older versions; else None."""
    for name in ("compression.zstd", "backports.zstd"):
        with suppress(ImportError):
            return import_module(name)
    return None


if (_zstd := _zstd_module()) is not None:
    ENGINES["zstd"] = (ZSTD_MAGIC, _zstd.ZstdDecompressor)
    _DECODE_ERRORS = (*_DECODE_ERRORS, _zstd.ZstdError)


class ByteStream:
    """Pieces of bytes read as one file, with lookahead; damage ends it and is noted in `fault`."""

    __slots__ = ("_at", "_buffer", "_pieces", "fault")

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._buffer = b""
        self._at = 0
        self.fault = ""

    def _more(self) -> bytes:
        """The next non-empty piece; b"" at the end."""
        try:
            return next(filter(None, self._pieces), b"")
        except _DECODE_ERRORS as error:
            self.fault = str(error) or type(error).__name__
            return b""

    def peek(self, size: int) -> bytes:
        """The next `size` bytes (fewer at the end), without consuming them."""
        if len(self._buffer) - self._at < size:
            self.unread(self.read(size))
        return self._buffer[self._at : self._at + size]

    def read(self, size: int) -> bytes:
        """The next `size` bytes, fewer only at the end."""
        have = self._buffer[self._at : self._at + size]
        self._at += len(have)
        parts, need = [have], size - len(have)
        while need > 0 and (piece := self._more()):
            parts.append(piece[:need])
            self._buffer, self._at = piece, min(need, len(piece))
            need -= len(piece)
        return b"".join(parts)

    def unread(self, data: bytes) -> None:
        """Put back bytes that were read."""
        self._buffer = data + self._buffer[self._at :]
        self._at = 0

    def line(self, most: int) -> bytes:
        """The next line, b"" at the end; a longer line than `most` is cut to `most` + 1 bytes."""
        parts, size = [], 0
        while True:
            end = self._buffer.find(b"\n", self._at) + 1
            part = self._buffer[self._at : end or None]
            parts.append(part[: max(0, most + 1 - size)])
            size += len(part)
            self._at += len(part)
            if end or not (piece := self._more()):
                return b"".join(parts)
            self._buffer, self._at = piece, 0


class UnfoldError(SourceError):
    """A file on disk unfolds to more than its size deserves: none of its archives is read on."""


class UnfoldBudget:
    """What one file on disk may unfold to, over all levels of archives in it."""

    def __init__(self, limits: Limits, size: int) -> None:
        self._most = {
            "members": limits.members + size // _MEMBER_BYTES,
            "bytes decompressed": max(limits.paper_bytes, size * limits.ratio),
        }
        self._counts: Counter[str] = Counter()

    def count(self, what: str, size: int) -> None:
        """Count members or bytes; raise `UnfoldError` if there are too many."""
        self._counts[what] += size
        most = self._most.get(what)
        if most is not None and self._counts[what] > most:
            detail = f"with the archives in it, more than {most:,} {what} for its size"
            raise UnfoldError("archive bomb", detail)


class Meter:
    """Counts what one paper costs, and raises `SourceError` when a limit is exceeded.

    A container of papers may be of any size, since it is streamed: for it, the bytes kept in memory
    and the compression ratio are limited here, and everything else by the budget of its file.
    """

    def __init__(self, limits: Limits, budget: UnfoldBudget | None = None) -> None:
        self.limits, self.budget = limits, budget
        self._counts: Counter[str] = Counter()

    def count(self, what: str, size: int = 1) -> None:
        """Count "members", "bytes decompressed" or "bytes kept" in memory."""
        if self.budget is not None and what != "bytes kept":
            self.budget.count(what, size)
            return
        self._counts[what] += size
        cause, most = "too large", self.limits.paper_bytes
        if what == "members":
            cause, most = "archive bomb", self.limits.members
        if self._counts[what] > most:
            raise SourceError(cause, f"more than {most:,} {what}")

    def ratio(self, given: int, taken: int) -> None:
        """Check the ratio of decompressed (`given`) to compressed (`taken`) bytes."""
        if given > _RATIO_FROM and given > taken * self.limits.ratio:
            detail = f"decompresses to more than {self.limits.ratio} times its size"
            raise SourceError("archive bomb", detail)


def stream_from(file: BinaryIO) -> ByteStream:
    """A stream of a file, from its current position to its end."""
    return ByteStream(iter(lambda: file.read(CHUNK_BYTES), b""))


def take_bytes(stream: ByteStream, size: int) -> Iterator[bytes]:
    """The next `size` bytes of a stream, in pieces."""
    while size > 0:
        piece = stream.read(min(size, CHUNK_BYTES))
        if not piece:
            raise EOFError(stream.fault or "the archive ends prematurely")
        size -= len(piece)
        yield piece


def _decompress(engine: Any, data: bytes) -> Iterator[bytes]:
    """Everything that `data` decompresses to, in chunks (zlib returns input it has not used)."""
    is_full = True
    while is_full and not engine.eof:
        piece = engine.decompress(data, CHUNK_BYTES)
        yield piece
        is_full = len(piece) == CHUNK_BYTES
        data = getattr(engine, "unconsumed_tail", b"")


def inflate(source: ByteStream, form: str, meter: Meter) -> Iterator[bytes]:
    """Decompress a stream, and those that follow it in the same file, which gzip allows."""
    magic, make = ENGINES[form]
    engine, taken, given = make(), 0, 0
    while data := source.read(COMPRESSED_BYTES):
        taken += len(data)
        for piece in _decompress(engine, data):
            given += len(piece)
            meter.count("bytes decompressed", len(piece))
            meter.ratio(given, taken)
            yield piece
        if engine.eof:
            source.unread(engine.unused_data)
            taken -= len(engine.unused_data)
            if not magic or source.peek(len(magic)) != magic:
                return
            meter.count("members")
            engine = make()
    raise EOFError(source.fault or "the compressed data end prematurely")
