"""Bytes are decompressed piece by piece, within the limits."""

import bz2
import lzma
import os
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable

import pytest

from eqemb.sources import Limits
from eqemb.sources.streams import CHUNK_BYTES, ByteStream, Meter, inflate
from packing import DEFAULTS, PAPER, gz, opened, problems, refused, tar, zipped


def test_stream_reads_peeks_and_puts_back() -> None:
    """A stream reads as one file, however it is split into pieces."""
    stream = ByteStream(iter([b"ab", b"", b"cde", b"f\ng"]))
    assert stream.peek(4) == b"abcd"
    assert stream.read(3) == b"abc"
    stream.unread(b"C")
    assert stream.read(2) == b"Cd"
    assert stream.line(10) == b"ef\n"
    assert stream.line(10) == b"g"
    assert stream.line(10) == stream.read(5) == stream.peek(1) == b""


def test_stream_cuts_lines_that_are_too_long() -> None:
    """A long line is cut, and the next line follows it."""
    stream = ByteStream(iter([b"12345", b"6789\nnext\n"]))
    assert stream.line(3) == b"1234"
    assert stream.line(5) == b"next\n"


def test_stream_keeps_the_damage_that_ended_it() -> None:
    """Data before the damage are delivered, and the reason is kept."""
    packed = zlib.compress(os.urandom(200_000), wbits=31)
    stream = ByteStream(inflate(ByteStream(iter([packed[:-9]])), "gzip", Meter(DEFAULTS)))
    assert len(stream.read(1 << 20)) > 100_000
    assert stream.fault == "the compressed data end prematurely"


ENGINES: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: zlib.compress(data, wbits=31),
    "deflate": lambda data: zlib.compress(data, wbits=-15),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}


@pytest.mark.parametrize("size", [CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES])
@pytest.mark.parametrize("form", ENGINES)
def test_data_that_end_with_a_chunk_come_whole(form: str, size: int) -> None:
    """Data that a decompressor holds back at the end of a chunk are read."""
    packed = ByteStream(iter([ENGINES[form](b"a" * size)]))
    stream = ByteStream(inflate(packed, form, Meter(DEFAULTS)))
    assert stream.read(4 * CHUNK_BYTES) == b"a" * size
    assert not stream.fault


def test_gzip_in_several_members_is_read_as_one() -> None:
    """Concatenated gzip files are one text; zeros after the end are ignored."""
    half = len(PAPER) // 2
    data = gz(PAPER[:half]) + gz(PAPER[half:]) + b"\0" * 100
    assert list(opened(data).files.values()) == [PAPER]


BOMBS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gz,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "tar": lambda data: gz(tar({"a.dat": data, "a.tex": PAPER})),
    "zip": lambda data: zipped({"a.tex": data}),
    "bzip2 zip": lambda data: zipped({"a.tex": data}, zipfile.ZIP_BZIP2),
}


@pytest.mark.parametrize("form", BOMBS)
def test_bomb_stops_early_in_memory_and_time(form: str) -> None:
    """A decompression bomb is refused after about 10 MB, whatever its compression."""
    bomb = BOMBS[form](PAPER + b" " * 60_000_000)
    tracemalloc.start()
    assert refused(bomb) == "archive bomb"
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40_000_000


def test_nested_compression_is_a_bomb() -> None:
    """Nested gzip is opened up to the limit."""
    data = PAPER
    for _ in range(3):
        data = gz(data)
    assert opened(data).files
    assert refused(gz(data)) == "archive bomb"


def test_many_empty_gzip_members_are_a_bomb() -> None:
    """Concatenated gzip files count as members."""
    assert refused(gz(b"") * 30_000) == "archive bomb"


def test_archive_over_the_total_is_too_large() -> None:
    """All decompressed bytes count, also those that are skipped."""
    data = gz(tar({"fig.eps": os.urandom(3_000_000), "a.tex": PAPER}))
    assert refused(data, Limits(paper_bytes=2_000_000)) == "too large"
    assert opened(data).files == {"a.tex": PAPER}


def test_truncated_gzip_keeps_what_was_read() -> None:
    """A text that is cut in the middle is kept, with a problem."""
    noise = PAPER + os.urandom(60_000).hex().encode()
    source = opened(gz(noise)[:-20_000])
    (data,) = source.files.values()
    assert noise.startswith(data)
    assert len(data) > 10_000
    assert problems(source) == [("truncated archive", "paper.tex")]
