"""Iterate over the members of tar and zip archives, trusting no header.

These readers are our own and small. `tarfile` follows negative sizes backwards (forever, on
Python 3.11.7) and reads extended headers of any length. `zipfile` builds the whole directory
before its entries can be counted, and decompresses bzip2 members without a limit.

`loading` and `discovery` decide which members to read.
"""

import os
import re
import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from eqemb.errors import SourceError
from eqemb.sources.names import decode_name
from eqemb.sources.streams import ByteStream, Meter, inflate, stream_from, take_bytes


class Member(NamedTuple):
    """One entry of an archive; read its stream before asking for the next entry."""

    name: str
    kind: str
    """'file', 'folder', 'link' or 'device'."""
    size: int
    stream: ByteStream
    trouble: str = ""
    """Why its content cannot be read, or ''."""


_TAR_KINDS = {b"0": "file", b"\0": "file", b"7": "file", b"5": "folder", b"1": "link", b"2": "link"}
_EXTENDED_BYTES = 1 << 20
_PAX_LENGTH = re.compile(rb"(\d{1,7}) ")


def _tar_number(raw: bytes) -> int:
    """Parse a number of a tar header: octal, or binary if its first bit is set."""
    if raw[0] == 0x80:
        return int.from_bytes(raw[1:], "big")
    return int(raw.split(b"\0")[0].strip() or b"0", 8)


def tar_header(block: bytes) -> tuple[str, int, bytes] | None:
    """The name, size and type flag of a tar header; None if its checksum is wrong."""
    if len(block) < 512:
        return None
    try:
        stated, size = _tar_number(block[148:156]), _tar_number(block[124:136])
    except ValueError:
        return None
    total = sum(block) - sum(block[148:156]) + 8 * 32
    high = sum(byte > 127 for byte in block) if total != stated else 0
    if size < 0 or stated <= 0 or stated not in {total, total - 256 * high}:
        return None
    name = block[:100].split(b"\0")[0]
    prefix = block[345:500].split(b"\0")[0] if block[257:263] == b"ustar\0" else b""
    return decode_name(prefix + b"/" + name if prefix else name), size, block[156:157]


def _pax(data: bytes) -> dict[str, str]:
    """Parse the records `LENGTH KEY=VALUE` of an extended tar header."""
    records, at = {}, 0
    while match := _PAX_LENGTH.match(data, at):
        end = max(match.end(), at + int(match[1]))
        key, _, value = data[match.end() : end].partition(b"=")
        if key in {b"path", b"size"}:
            records[key.decode()] = decode_name(value.removesuffix(b"\n"))
        at = end
    return records


def _tar_extension(stream: ByteStream, size: int, flag: bytes) -> dict[str, str]:
    """Parse an extension header, which describes the next entry."""
    padded = size + -size % 512
    data = stream.read(min(padded, _EXTENDED_BYTES))[:size]
    for _ in take_bytes(stream, padded - _EXTENDED_BYTES):
        pass
    if flag == b"L":
        return {"path": decode_name(data.split(b"\0")[0])}
    return _pax(data) if flag == b"x" else {}


def tar_members(stream: ByteStream) -> Iterator[Member]:
    """Iterate over the entries of a tar; damage ends it and is noted in the stream's `fault`."""
    more: dict[str, str] = {}
    try:
        while (block := stream.read(512)).strip(b"\0"):
            if not (header := tar_header(block)):
                raise EOFError("the tar header is damaged")  # noqa: TRY301 - as damage found below
            name, size, flag = header
            if flag in b"xgXLKN":
                more |= _tar_extension(stream, size, flag)
                continue
            is_continued = flag == b"S" and block[482] == 1
            while is_continued:  # skip the map of a sparse file
                is_continued = stream.read(512)[504:505] == b"\1"
            size = 0 if flag in b"123456" else max(0, int(more.get("size", size)))
            yield from _tar_member(stream, more.get("path", name), size, flag)
            more = {}
    except (EOFError, ValueError) as error:
        stream.fault = stream.fault or str(error)


def _tar_member(stream: ByteStream, name: str, size: int, flag: bytes) -> Iterator[Member]:
    """Yield one entry, then skip what was not read of it."""
    kind = _TAR_KINDS.get(flag, "device")
    if kind == "file" and name.endswith("/"):
        kind = "folder"
    pieces = take_bytes(stream, size)
    member = Member(name, kind, size, ByteStream(pieces))
    yield member
    for _ in pieces:
        pass
    if member.stream.fault:
        raise EOFError(member.stream.fault)
    stream.read(-size % 512)


_ZIP_ENTRY = struct.Struct("<4s6H3L5H2L")
_ZIP_LOCAL_BYTES = 30
_ZIP_METHODS = {0: "", 8: "deflate", 12: "bzip2"}
_ZIP_ENCRYPTED = 1
_ZIP_FULL = 0xFFFFFFFF
_ZIP_LINK = 0xA000  # the file type bits of a symbolic link


def _zip_directory(file: BinaryIO) -> tuple[int, int, int]:
    """The start and end of a zip's directory, and the shift of its offsets."""
    length = file.seek(0, os.SEEK_END)
    start = file.seek(max(0, length - 66_000))
    tail = file.read(66_000)
    at = tail.rfind(b"PK\5\6")
    if at < 0 or len(tail) < at + 22:
        raise SourceError("broken archive", "the zip has no directory at its end")
    size, offset = struct.unpack_from("<2L", tail, at + 12)
    end = start + at
    if at >= 76 and tail[at - 76 : at - 72] == b"PK\6\6":  # the 64-bit record precedes it
        size, offset = struct.unpack_from("<2Q", tail, at - 36)
        end -= 76
    if size > end:
        raise SourceError("broken archive", "the directory of the zip is larger than the file")
    return end - size, end, end - size - offset


def _zip64(extra: bytes, values: list[int]) -> list[int]:
    """The sizes and the offset of an entry, from its 64-bit fields if they exceed 32 bits."""
    at = 0
    while at + 4 <= len(extra):
        tag, length = struct.unpack_from("<2H", extra, at)
        if tag == 1:
            count = min(length, len(extra) - at - 4) // 8
            wide = iter(struct.unpack_from(f"<{count}Q", extra, at + 4))
            return [next(wide, value) if value == _ZIP_FULL else value for value in values]
        at += 4 + length
    return values


def zip_members(file: BinaryIO, meter: Meter) -> Iterator[Member]:
    """Iterate over the entries of a zip, as its directory lists them.

    Entries that overlap are refused: together they claim more bytes than precede the directory.
    """
    at, end, shift = _zip_directory(file)
    free = at
    while at + _ZIP_ENTRY.size <= end:
        file.seek(at)
        entry = file.read(_ZIP_ENTRY.size)
        if len(entry) < _ZIP_ENTRY.size or entry[:4] != b"PK\1\2":
            raise SourceError("broken archive", "the directory of the zip is damaged")
        (_, _, _, flags, method, _, _, _, packed, size, *lengths, _, _, bits, offset) = (
            _ZIP_ENTRY.unpack(entry)
        )
        name, extra = decode_name(file.read(lengths[0])), file.read(lengths[1])
        at += _ZIP_ENTRY.size + sum(lengths)
        size, packed, offset = _zip64(extra, [size, packed, offset])
        free -= _ZIP_LOCAL_BYTES + lengths[0] + packed
        if free < 0:
            raise SourceError("archive bomb", "entries of the zip overlap")
        trouble = "" if method in _ZIP_METHODS else "unsupported compression"
        trouble = "encrypted member" if flags & _ZIP_ENCRYPTED else trouble
        pieces = _zip_data(file, offset + shift, packed, _ZIP_METHODS.get(method, ""), meter)
        kind = "folder" if name.endswith(("/", "\\")) else "file"
        kind = "link" if (bits >> 16) & 0xF000 == _ZIP_LINK else kind
        yield Member(name, kind, size, ByteStream(pieces), trouble)


def _zip_data(file: BinaryIO, at: int, packed: int, form: str, meter: Meter) -> Iterator[bytes]:
    """The content of one entry, found by its local header."""
    file.seek(at)
    local = file.read(_ZIP_LOCAL_BYTES)
    if len(local) < _ZIP_LOCAL_BYTES or local[:4] != b"PK\3\4":
        raise EOFError("the entry is not where the directory says")
    file.seek(at + _ZIP_LOCAL_BYTES + sum(struct.unpack_from("<2H", local, 26)))
    pieces = take_bytes(stream_from(file), packed)
    if form:
        yield from inflate(ByteStream(pieces), form, meter)
        return
    for piece in pieces:
        meter.count("bytes decompressed", len(piece))
        yield piece
