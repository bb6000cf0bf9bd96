"""Where papers come from: finding them under the paths given, and opening one at a time.

`discover` lists the papers in a fixed order and looks only at the first bytes of each file;
`load` opens one of them in memory. What a file is, its content decides, not its name. Nothing
is written to disk, and every decompression is bounded while it happens. The fixed causes of
what is skipped or left out stand in `CAUSES` and `PROBLEMS`.

The tar and zip readers are our own, and small: `tarfile` follows negative sizes backwards (for
ever, on Python 3.11.7) and reads extended headers of any length; `zipfile` builds the whole
directory before one can count it and takes a bzip2 member apart without a bound.

Left to others: which file of an archive is the main one, decoding to text, and joining the
files (`latex`); reading unarXive's JSON.
"""

import bz2
import io
import itertools
import json
import lzma
import os
import posixpath
import re
import struct
import sys
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from eqemb.article import Problem
from eqemb.errors import SourceError, UsageError

_OTHER_FORMS = ("pdf only", "postscript only", "dvi only", "word processor file")
_NO_PAPER = ("html only", "no TeX", "empty")
#: Why a source is no article: the causes of `Found.cause` and of the `SourceError`s of `load`.
CAUSES = (
    *_OTHER_FORMS,
    *_NO_PAPER,
    *("withdrawn", "unreadable", "broken archive", "broken record", "unsupported archive"),
    *("encrypted", "archive bomb", "too large"),
)
#: What an article may lack: the causes of `Source.problems`.
PROBLEMS = (
    *("unsafe member", "file too large", "truncated archive", "encrypted member", "not text"),
    *("unsupported compression", "unreadable file"),
)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one paper may cost; generous for any real one."""

    members: int = 20_000
    file_bytes: int = 32 << 20
    """Of one text file, or one line of JSON."""
    paper_bytes: int = 256 << 20
    """Decompressed, with everything that has to be passed over."""
    ratio: int = 200
    """Decompressed to compressed, looked at once past 10 MB."""
    depth: int = 3
    """Archives in archives."""

    def __post_init__(self) -> None:
        for limit in fields(self):
            if (value := getattr(self, limit.name)) < 1:
                raise UsageError(f"limit {limit.name} is {value}: it has to be at least 1")


DEFAULTS = Limits()


@dataclass(frozen=True, slots=True)
class Found:
    """One paper as found, not opened yet; cheap to send to another process."""

    name: str
    """The article's identifier, unique among those of the run that are not skipped."""
    origin: str
    """For people: the path relative to what was given; the member of an archive after `!`."""
    collection: str
    """The first folder below the given one, or ''."""
    kind: str
    """'file': open `path`; 'folder': `root` and `files` below `path`; 'data': carried in `data`."""
    path: str
    root: str = ""
    files: tuple[str, ...] = ()
    data: bytes | None = field(default=None, repr=False)
    form: str = "tex"
    """'tex' or 'unarxive'."""
    cause: str = ""
    """Why it is skipped; '' where it is to be loaded."""
    detail: str = ""


@dataclass(slots=True)
class Source:
    """One paper opened: its TeX files by path, as bytes."""

    name: str
    origin: str
    collection: str
    form: str
    files: dict[str, bytes] = field(default_factory=dict)
    """By posix path relative to the main file's folder or the archive's top ('../a.tex' occurs)."""
    main: str | None = None
    """The main file, where the form fixes it."""
    problems: list[Problem] = field(default_factory=list)


def discover(paths: Iterable[str | Path], limits: Limits = DEFAULTS) -> Iterator[Found]:
    """List the papers under `paths`: in their order, and sorted by path within each.

    A path that does not exist is a `UsageError` at once, before anything is listed.
    """
    given: dict[str, Path] = {}
    for path in map(Path, paths):
        try:
            is_there = path.is_dir() or path.is_file()
        except OSError:  # within a folder that may not be entered
            is_there = False
        if not is_there:
            raise UsageError(f"nothing to read at {path}: give a file or a folder that exists")
        given.setdefault(os.path.realpath(path), path)
    finder = _Finder(limits)
    return (found for path in given.values() for found in finder.given(path))


def load(found: Found, limits: Limits = DEFAULTS) -> Source:
    """Open one paper; a `SourceError` says why it cannot be had."""
    if found.cause:
        raise SourceError(found.cause, found.detail)
    source = Source(found.name, found.origin, found.collection, found.form)
    try:
        if found.kind == "folder":
            _load_folder(source, found, limits)
        elif found.form == "unarxive":
            source.main = f"{posixpath.basename(found.name)}.json"
            source.files[source.main] = found.data or b""
        elif found.data is not None:
            _load_file(source, io.BytesIO(found.data), limits)
        else:
            with _open(found.path) as file:
                _load_file(source, file, limits)
    except OSError as error:
        raise SourceError("unreadable", error.strerror or str(error)) from error
    return source


# -- names: of files, and of articles

_PAPER_SUFFIXES = (".tex", ".ltx", ".latex")
_TEX_SUFFIXES = frozenset(
    (*_PAPER_SUFFIXES, ".sty", ".cls", ".def", ".clo", ".bbl", ".tikz", ".inp")
)
_ARCHIVE_SUFFIXES = (
    *(".gz", ".tgz", ".tar", ".zip", ".bz2", ".tbz", ".tbz2", ".xz", ".txz"),
    ".jsonl",
)
_OTHER_PAPER_SUFFIXES = (".pdf", ".ps", ".dvi", ".doc", ".docx", ".rtf")
#: Never opened, neither as a paper nor as a part of one: figures, data, programs, what TeX writes.
_NEVER_TEXT = (
    ".eps .epsi .epsf .png .jpg .jpeg .gif .svg .svgz .tif .tiff .bmp .ico .webp .fig .pdf_tex"
    " .pstex .pstex_t .mp .mps .asy .gnuplot .plt .agr .opj .vsd .drawio .odg .psd .ai .xcf .bib"
    " .bst .bbx .cbx .fd .ist .tfm .pfb .afm .ttf .otf .pk .mf .enc .map .aux .log .toc .out .blg"
    " .lof .lot .idx .ind .ilg .fls .fdb_latexmk .synctex .nav .snm .vrb .xdv .brf .dat .csv .tsv"
    " .npy .npz .mat .h5 .hdf5 .pkl .parquet .db .sqlite .xls .xlsx .ppt .pptx .odt .ods .epub"
    " .xml .xsl .html .htm .css .md .rst .yml .yaml .toml .ini .py .pyc .ipynb .r .m .nb .c .h .cc"
    " .cpp .hpp .java .class .jar .js .ts .rs .go .f .f90 .pl .sh .bat .rb .jl .sage .exe .dll .so"
    " .o .a .whl .mp3 .mp4 .avi .mov .mpg .wav .webm"
)
_NEVER = frozenset(_NEVER_TEXT.split())

_ARCHIVES_TEXT = (
    "acc-phys adap-org alg-geom ao-sci astro-ph atom-ph bayes-an chao-dyn chem-ph cmp-lg comp-gas"
    " cond-mat cs dg-ga funct-an gr-qc hep-ex hep-lat hep-ph hep-th math math-ph mtrl-th nlin"
    " nucl-ex nucl-th patt-sol physics plasm-ph q-alg q-bio quant-ph solv-int supr-con"
)
_ARCHIVES = _ARCHIVES_TEXT.split()
_MONTH = r"(?:0[1-9]|1[0-2])"
_START = r"(?:(?<![0-9A-Za-z.])|(?<=arXiv)|(?<=arxiv))"
_NEW_ID = re.compile(rf"{_START}(\d\d{_MONTH}\.\d{{4,5}})(v\d+)?(?![0-9A-Za-z]|\.\d)")
_OLD_DIGITS = rf"((?:9[1-9]|0[0-7]){_MONTH}\d{{3}})(v\d+)?"
_OLD_ID = re.compile(
    rf"{_START}({'|'.join(_ARCHIVES)})(?:\.[A-Z]{{2}})?[/_-]?{_OLD_DIGITS}(?![0-9A-Za-z])"
)
_OLD_NUMBER = re.compile(_OLD_DIGITS)
#: `ARTICLE#n`, `ARTICLE(2.3)` and `ARTICLE:label` name equations: these may not be in ARTICLE.
_FORBIDDEN = re.compile(r"[#():\x00-\x1f\x7f]")


def _suffix(name: str) -> str:
    return posixpath.splitext(name)[1].lower()


def _bare(name: str) -> str:
    """A file name without the suffixes we know (`0704.0001` has none)."""
    known = (*_ARCHIVE_SUFFIXES, *_PAPER_SUFFIXES, *_OTHER_PAPER_SUFFIXES)
    while len(stem := posixpath.splitext(name)[0]) < len(name) and _suffix(name) in known:
        name = stem
    return name


def _is_paper(path: str) -> bool:
    return _suffix(path) in _PAPER_SUFFIXES


def _is_archive_name(name: str) -> bool:
    """Whether the name is that of a packed paper, as against a packed figure (`a.eps.gz`)."""
    stem, suffix = posixpath.splitext(name)
    is_figure = _suffix(stem) in _NEVER or _suffix(stem) in {*_OTHER_PAPER_SUFFIXES, ".txt"}
    return suffix.lower() in _ARCHIVE_SUFFIXES and not is_figure


def _is_meant(name: str) -> bool:
    """Whether someone meant the file as a paper, so that not reading it is worth a word."""
    is_other = _suffix(name) in _OTHER_PAPER_SUFFIXES
    return _is_archive_name(name) or _is_paper(name) or is_other


def _is_hidden(path: str) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in path.split("/"))


def _is_wanted(path: str) -> bool | None:
    """Whether a file belongs to a paper's text, by its name; None: its content says."""
    suffix = _suffix(path)
    if suffix in _TEX_SUFFIXES or posixpath.basename(path).startswith("00README"):
        return True
    never = suffix in _NEVER or suffix in _OTHER_PAPER_SUFFIXES or suffix in _ARCHIVE_SUFFIXES
    return False if never else None


def _shown(path: str) -> str:
    """A path as text that UTF-8 can carry."""
    return path.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _arxiv_id(parts: tuple[str, ...]) -> tuple[str, str]:
    """The arXiv identifier that a path ends with, and its version; empty where there is none."""
    last = _bare(parts[-1])
    if match := _NEW_ID.search(last):
        return match[1], match[2] or ""
    if match := _OLD_ID.search(last):
        return f"{match[1]}/{match[2]}", match[3] or ""
    if match := _OLD_NUMBER.fullmatch(last):
        for part in reversed(parts[:-1]):
            if part in _ARCHIVES:
                return f"{part}/{match[1]}", match[2] or ""
    return "", ""


class _Names:
    """Gives every article of a run a name of its own."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()

    @staticmethod
    def plain(parts: tuple[str, ...]) -> tuple[str, str]:
        """The name a path asks for, and the version that may be added to it."""
        name, version = _arxiv_id(parts)
        name = name or "/".join(_bare(part) for part in parts)
        return _FORBIDDEN.sub("_", _shown(name)) or "_", version

    def claim(self, parts: tuple[str, ...]) -> str:
        """The name for a path: as it asks, else with its version, else with `~2`, `~3`."""
        name, version = self.plain(parts)
        if name in self._count and version:
            name += version
        unique = name
        while unique in self._count:
            self._count[name] += 1
            unique = f"{name}~{self._count[name]}"
        self._count[unique] = 1
        return unique


# -- streams: bytes one after the other, never more at once than asked for

_CHUNK = 1 << 16
_SIP = 1 << 14  # compressed bytes at a time: small, so that a ratio is seen early
_RATIO_FROM = 10_000_000
_DAMAGE = (zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, OverflowError)


class _Stream:
    """Pieces of bytes read as one file with a look ahead; damage ends it and stays in `fault`."""

    __slots__ = ("_at", "_buffer", "_pieces", "fault")

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._buffer = b""
        self._at = 0
        self.fault = ""

    def _more(self) -> bytes:
        """The next piece with anything in it; b"" at the end."""
        try:
            return next((piece for piece in self._pieces if piece), b"")
        except _DAMAGE as error:
            self.fault = str(error) or type(error).__name__
            return b""

    def peek(self, size: int) -> bytes:
        """The next `size` bytes (fewer at the end), left where they are."""
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
        """Put back what was read too much."""
        self._buffer = data + self._buffer[self._at :]
        self._at = 0

    def line(self, most: int) -> bytes:
        """The next line, b"" at the end; of one longer than `most`, its first `most` + 1 bytes."""
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


class _Meter:
    """Counts what one paper costs, and stops it where a limit is passed.

    A container of papers is streamed and may be of any size: only its ratio counts.
    """

    def __init__(self, limits: Limits, *, is_container: bool = False) -> None:
        self.limits = limits
        self._is_container = is_container
        self._bytes = 0
        self._kept = 0
        self._members = 0

    def spend(self, size: int) -> None:
        """Bytes decompressed."""
        self._bytes += size
        if self._bytes > self.limits.paper_bytes and not self._is_container:
            detail = f"more than {self.limits.paper_bytes:,} bytes when decompressed"
            raise SourceError("too large", detail)

    def keep(self, size: int) -> None:
        """Bytes held in memory; they may come from disk as they are."""
        self._kept += size
        if self._kept > self.limits.paper_bytes:
            raise SourceError("too large", f"more than {self.limits.paper_bytes:,} bytes of TeX")

    def member(self) -> None:
        self._members += 1
        if self._members > self.limits.members and not self._is_container:
            raise SourceError("archive bomb", f"more than {self.limits.members:,} members")

    def ratio(self, given: int, taken: int) -> None:
        if given > _RATIO_FROM and given > taken * self.limits.ratio:
            detail = f"decompresses to more than {self.limits.ratio} times its size"
            raise SourceError("archive bomb", detail)


def _open(path: str) -> BinaryIO:
    return Path(path).open("rb")


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read(_CHUNK):
        yield piece


def _window(file: BinaryIO, at: int, size: int) -> Iterator[bytes]:
    """The bytes of a file from `at` on, wherever others move its position in between."""
    while size > 0:
        file.seek(at)
        piece = file.read(min(size, _CHUNK))
        if not piece:
            raise EOFError("the file ends too early")
        at += len(piece)
        size -= len(piece)
        yield piece


def _part(stream: _Stream, size: int) -> Iterator[bytes]:
    """The next `size` bytes of a stream, as a stream of its own."""
    while size > 0:
        piece = stream.read(min(size, _CHUNK))
        if not piece:
            raise EOFError(stream.fault or "the archive ends too early")
        size -= len(piece)
        yield piece


_ENGINES: dict[str, tuple[bytes, Callable[[], Any]]] = {
    "gzip": (b"\x1f\x8b", lambda: zlib.decompressobj(31)),
    "bzip2": (b"BZh", bz2.BZ2Decompressor),
    "xz": (b"\xfd7zXZ\0", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=128 << 20)),
    "deflate": (b"", lambda: zlib.decompressobj(-15)),
}


def _decompress(engine: Any, data: bytes) -> Iterator[bytes]:
    """All that `data` decompresses to, a chunk at a time (zlib hands back what it did not use)."""
    if hasattr(engine, "unconsumed_tail"):
        while data and not engine.eof:
            yield engine.decompress(data, _CHUNK)
            data = engine.unconsumed_tail
        return
    yield engine.decompress(data, _CHUNK)
    while not (engine.needs_input or engine.eof):
        yield engine.decompress(b"", _CHUNK)


def _inflate(source: _Stream, form: str, meter: _Meter) -> Iterator[bytes]:
    """A compressed stream opened, with those that follow it in the same file (gzip allows it)."""
    magic, make = _ENGINES[form]
    engine, taken, given = make(), 0, 0
    while data := source.read(_SIP):
        taken += len(data)
        for piece in _decompress(engine, data):
            given += len(piece)
            meter.spend(len(piece))
            meter.ratio(given, taken)
            yield piece
        if engine.eof:
            source.unread(engine.unused_data)
            taken -= len(engine.unused_data)
            if not magic or source.peek(len(magic)) != magic:
                return
            meter.member()
            engine = make()
    raise EOFError(source.fault or "the compressed data end too early")


# -- what a content is

_MAGIC = (
    *((magic, form) for form, (magic, _) in _ENGINES.items() if magic),
    (b"PK\3\4", "zip"),
    (b"PK\5\6", "zip"),
    (b"%PDF-", "pdf only"),
    (b"%!PS", "postscript only"),
    (b"\x04%!PS", "postscript only"),
    (b"\xc5\xd0\xd3\xc6", "postscript only"),
    (b"\xf7\x02", "dvi only"),
    (b"\xd0\xcf\x11\xe0", "word processor file"),
    (b"{\\rtf", "word processor file"),
    (b"\x1f\x9d", "unsupported archive"),
    (b"Rar!", "unsupported archive"),
    (b"7z\xbc\xaf\x27\x1c", "unsupported archive"),
    (b"\x28\xb5\x2f\xfd", "unsupported archive"),
)
_TEX = re.compile(
    rb"\\(?:document(?:class|style)|begin\s*\{|input|include|usepackage|(?:re)?newcommand|def\s*\\"
    rb"|(?:sub)*section|chapter|magnification|bye|title|item|label|cite|centerline|noindent)"
)
_HEAD = re.compile(
    rb"\\(?:document(?:class|style)(?!\s*(?:\[[^]]{0,500}\])?\s*\{standalone\})\b|begin\s*\{document\}"
    rb"|magnification\b|bye\b)"
)
_MOST_MATCHES = 5_000
_COMMENT = re.compile(rb"(?<!\\)(?:\\\\)*%")
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1a\x1b"))


@dataclass(slots=True)
class _Content:
    """What a file is, under its compression: a form, or the cause why it is no paper."""

    what: str
    stream: _Stream
    file: BinaryIO
    """The same with random access, which a zip needs."""
    title: str = ""
    """The file name in the gzip header."""


def _is_text(head: bytes) -> bool:
    """No control characters to speak of; UTF-16 is text where it says so."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    controls = len(head) - len(head.translate(None, _CONTROLS))
    return controls * 200 <= len(head)


def _is_live(text: bytes, at: int) -> bool:
    """Whether what stands at `at` is outside a comment."""
    line = re.split(rb"[\r\n]", text[max(0, at - 2000) : at])[-1]
    return not _COMMENT.search(line)


def _has_head(text: bytes) -> bool:
    r"""Whether a document begins here: an uncommented `\documentclass` or its like."""
    matches = itertools.islice(_HEAD.finditer(text), _MOST_MATCHES)
    return any(_is_live(text, match.start()) for match in matches)


def _identify(head: bytes) -> str:
    """What a file is, by its first bytes: a form, or a cause."""
    if not head:
        return "empty"
    if head.startswith(b"PK") and head[30:].startswith((b"[Content_Types].xml", b"mimetype")):
        return "word processor file"
    for magic, what in _MAGIC:
        if head.startswith(magic):
            return what
    if _tar_header(head[:512]):
        return "tar"
    start = head[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "html only"
    if start.startswith(b"%auto-ignore") and not _has_head(head):
        return "withdrawn"
    if start.startswith(b"{") and b'"paper_id"' in head:
        return "unarxive"
    return "tex" if _is_text(head) and _TEX.search(head) else "no TeX"


def _gzip_title(head: bytes) -> str:
    """The file name that a gzip header carries, if any."""
    if len(head) < 10 or not head[3] & 8 or head[3] & 4:
        return ""
    name = head[10:266].split(b"\0")[0].decode("latin-1")
    return posixpath.basename(name.replace("\\", "/"))


def _look(file: BinaryIO, meter: _Meter) -> _Content:
    """What a file is; its stream stands at the first byte of the content."""
    file.seek(0)
    content = _Content("", _Stream(_pieces(file)), file)
    for layer in range(meter.limits.depth + 1):
        head = content.stream.peek(_CHUNK)
        content.what = _identify(head)
        if not head and content.stream.fault:
            content.what = "broken archive"
        if content.what == "gzip":
            content.title = _gzip_title(head)
        elif content.what == "zip" and layer:
            content.file = io.BytesIO(content.stream.read(meter.limits.paper_bytes))
        elif content.what == "unarxive" and not _has_body(content.stream, meter.limits):
            content.what = "no TeX"
        if content.what not in _ENGINES:
            return content
        content.stream = _Stream(_inflate(content.stream, content.what, meter))
    raise SourceError("archive bomb", f"compressed more than {meter.limits.depth} times over")


def _has_body(stream: _Stream, limits: Limits) -> bool:
    """Whether the first line of JSON is a paper."""
    size = _CHUNK
    while len(head := stream.peek(size)) == size < limits.file_bytes and b"\n" not in head:
        size *= 4
    return b'"body_text"' in head.split(b"\n", 1)[0]


# -- archives


class _Member(NamedTuple):
    """One entry of an archive; its stream is to be read before the next entry is asked for."""

    name: str
    kind: str
    """'file', 'folder', or what it is instead ('link', 'device')."""
    size: int
    stream: _Stream
    trouble: str = ""
    """Why its content cannot be read."""


def _members(content: _Content, meter: _Meter) -> Iterator[_Member]:
    """The entries of an archive, in its own order."""
    is_tar = content.what == "tar"
    for member in _tar_members(content.stream) if is_tar else _zip_members(content.file, meter):
        meter.member()
        yield member


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _safe_path(name: str) -> str | None:
    """A member's path in plain form, '' for the top itself; None where it leads elsewhere."""
    name = name.replace("\\", "/")
    parts = [part for part in name.split("/") if part not in {"", "."}]
    if name.startswith("/") or ".." in parts or re.match("[A-Za-z]:", name):
        return None
    return "/".join(parts)


class _TarHeader(NamedTuple):
    name: str
    size: int
    flag: bytes


_TAR_KINDS = {b"0": "file", b"\0": "file", b"7": "file", b"5": "folder", b"1": "link", b"2": "link"}
_EXTENDED_BYTES = 1 << 20
_PAX_LENGTH = re.compile(rb"(\d{1,7}) ")


def _tar_number(raw: bytes) -> int:
    """A number of a tar header: octal, or binary where its first bit is set."""
    if raw[0] == 0x80:
        return int.from_bytes(raw[1:], "big")
    return int(raw.split(b"\0")[0].strip() or b"0", 8)


def _tar_header(block: bytes) -> _TarHeader | None:
    """A tar header read, None where it is none (its checksum decides)."""
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
    name = prefix + b"/" + name if prefix else name
    return _TarHeader(_text(name), size, block[156:157])


def _pax(data: bytes) -> dict[str, str]:
    """The records `LENGTH KEY=VALUE` of an extended tar header."""
    records, at = {}, 0
    while match := _PAX_LENGTH.match(data, at):
        end = max(match.end(), at + int(match[1]))
        key, _, value = data[match.end() : end].partition(b"=")
        if key in {b"path", b"size"}:
            records[_text(key)] = _text(value.removesuffix(b"\n"))
        at = end
    return records


def _tar_extension(stream: _Stream, header: _TarHeader) -> dict[str, str]:
    """What a header without a file says about the next one."""
    size = header.size + -header.size % 512
    data = stream.read(min(size, _EXTENDED_BYTES))[: header.size]
    for _ in _part(stream, size - _EXTENDED_BYTES):
        pass
    if header.flag == b"L":
        return {"path": _text(data.split(b"\0")[0])}
    return _pax(data) if header.flag == b"x" else {}


def _tar_members(stream: _Stream) -> Iterator[_Member]:
    """The entries of a tar; damage ends it and is noted in the stream's `fault`."""
    more: dict[str, str] = {}
    try:
        while (block := stream.read(512)).strip(b"\0"):
            if not (header := _tar_header(block)):
                raise EOFError("a damaged tar header")
            if header.flag in b"xgXLKN":
                more |= _tar_extension(stream, header)
                continue
            is_continued = header.flag == b"S" and block[482] == 1
            while is_continued:  # the map of a sparse file
                is_continued = stream.read(512)[504:505] == b"\1"
            yield from _tar_member(stream, header, more)
            more = {}
    except _DAMAGE as error:
        stream.fault = stream.fault or str(error)


def _tar_member(stream: _Stream, header: _TarHeader, more: dict[str, str]) -> Iterator[_Member]:
    """One entry, and then what is left of it passed over."""
    name = more.get("path", header.name)
    kind = _TAR_KINDS.get(header.flag, "device")
    if kind == "file" and name.endswith("/"):
        kind = "folder"
    size = 0 if header.flag in b"123456" else max(0, int(more.get("size", header.size)))
    pieces = _part(stream, size)
    part = _Stream(pieces)
    yield _Member(name, kind, size, part)
    for _ in pieces:
        pass
    if part.fault:
        raise EOFError(part.fault)
    stream.read(-size % 512)


_ZIP_ENTRY = struct.Struct("<4s6H3L5H2L")
_ZIP_METHODS = {0: "", 8: "deflate", 12: "bzip2"}
_ZIP_ENCRYPTED = 1
_ZIP_FULL = 0xFFFFFFFF


def _zip_directory(file: BinaryIO) -> tuple[int, int, int]:
    """Where the directory of a zip starts and ends, and by how much its offsets are shifted."""
    length = file.seek(0, os.SEEK_END)
    start = file.seek(max(0, length - 66_000))
    tail = file.read(66_000)
    at = tail.rfind(b"PK\5\6")
    if at < 0 or len(tail) < at + 22:
        raise SourceError("broken archive", "the zip has no directory at its end")
    size, offset = struct.unpack_from("<2L", tail, at + 12)
    end = start + at
    if at >= 76 and tail[at - 76 : at - 72] == b"PK\6\6":  # the 64-bit form stands before it
        size, offset = struct.unpack_from("<2Q", tail, at - 36)
        end -= 76
    if size > end:
        raise SourceError("broken archive", "the directory of the zip is larger than the file")
    return end - size, end, end - size - offset


def _zip64(extra: bytes, values: list[int]) -> list[int]:
    """The sizes and the offset of an entry, where they did not fit their 32 bits."""
    at = 0
    while at + 4 <= len(extra):
        tag, length = struct.unpack_from("<2H", extra, at)
        if tag == 1:
            count = min(length, len(extra) - at - 4) // 8
            wide = iter(struct.unpack_from(f"<{count}Q", extra, at + 4))
            return [next(wide, value) if value == _ZIP_FULL else value for value in values]
        at += 4 + length
    return values


def _zip_members(file: BinaryIO, meter: _Meter) -> Iterator[_Member]:
    """The entries of a zip, as its directory lists them."""
    at, end, shift = _zip_directory(file)
    while at + _ZIP_ENTRY.size <= end:
        file.seek(at)
        entry = file.read(_ZIP_ENTRY.size)
        if len(entry) < _ZIP_ENTRY.size or entry[:4] != b"PK\1\2":
            raise SourceError("broken archive", "the directory of the zip is damaged")
        (_, _, _, flags, method, _, _, _, packed, size, *lengths, _, _, bits, offset) = (
            _ZIP_ENTRY.unpack(entry)
        )
        name, extra = _text(file.read(lengths[0])), file.read(lengths[1])
        at += _ZIP_ENTRY.size + sum(lengths)
        size, packed, offset = _zip64(extra, [size, packed, offset])
        trouble = "" if method in _ZIP_METHODS else "unsupported compression"
        trouble = "encrypted member" if flags & _ZIP_ENCRYPTED else trouble
        pieces = _zip_data(file, offset + shift, packed, _ZIP_METHODS.get(method, ""), meter)
        yield _Member(name, _zip_kind(name, bits), size, _Stream(pieces), trouble)


def _zip_kind(name: str, bits: int) -> str:
    """What an entry is, by its name and by the Unix mode in the upper half of its attributes."""
    if (bits >> 16) & 0xF000 == 0xA000:
        return "link"
    return "folder" if name.endswith(("/", "\\")) else "file"


def _zip_data(file: BinaryIO, at: int, packed: int, form: str, meter: _Meter) -> Iterator[bytes]:
    """The content of one entry, from its own header on."""
    file.seek(at)
    local = file.read(30)
    if len(local) < 30 or local[:4] != b"PK\3\4":
        raise EOFError("the entry is not where the directory says")
    at += 30 + sum(struct.unpack_from("<2H", local, 26))
    pieces = _window(file, at, packed)
    if form:
        yield from _inflate(_Stream(pieces), form, meter)
        return
    for piece in pieces:
        meter.spend(len(piece))
        yield piece


# -- opening one paper


def _load_file(source: Source, file: BinaryIO, limits: Limits) -> None:
    """Fill a source from one file: an archive, or a single text."""
    meter = _Meter(limits)
    content = _look(file, meter)
    if content.what == "tex":
        _keep_single(source, content, limits.file_bytes)
    elif content.what in {"tar", "zip"}:
        for member in _members(content, meter):
            _take(source, member, meter)
    else:
        raise SourceError(content.what, content.stream.fault)
    fault = content.stream.fault
    if not any(_is_wanted(path) is None or _is_paper(path) for path in source.files):
        _give_up(source, fault)
    if fault and not any(problem.cause == "truncated archive" for problem in source.problems):
        source.problems.append(Problem("truncated archive", detail=fault))


def _give_up(source: Source, fault: str) -> None:
    """Say why there is no text in an archive."""
    causes = {problem.cause: problem for problem in source.problems}
    if fault or "truncated archive" in causes:
        raise SourceError("broken archive", fault or causes["truncated archive"].detail)
    if "encrypted member" in causes:
        raise SourceError("encrypted", causes["encrypted member"].file)
    if "file too large" in causes:
        raise SourceError("too large", causes["file too large"].file)
    raise SourceError("no TeX", "no file in it looks like TeX")


def _keep_single(source: Source, content: _Content, most: int) -> None:
    """Keep the one text of a one-file paper, under the name it had if that is known."""
    name = content.title or posixpath.basename(source.origin.rpartition("!")[2])
    name = name if _is_paper(name) else f"{_bare(name)}.tex"
    data = content.stream.read(most + 1)
    if len(data) > most:
        raise SourceError("too large", f"a text of more than {most:,} bytes")
    source.main = name
    source.files[name] = data


def _take(source: Source, member: _Member, meter: _Meter) -> None:
    """Keep a member of an archive where it is TeX; note what is refused."""
    path = _safe_path(member.name)
    if path is None or member.kind not in {"file", "folder"}:
        detail = "its path leaves the archive" if path is None else f"a {member.kind}, not a file"
        source.problems.append(Problem("unsafe member", member.name, detail=detail))
    elif member.kind == "file" and path and not _is_hidden(path):
        wanted = _is_wanted(path)
        if wanted is not False and member.trouble:
            source.problems.append(Problem(member.trouble, path))
        elif wanted or (wanted is None and _identify(member.stream.peek(_SIP)) == "tex"):
            _keep(source, path, member.stream, meter)


def _keep(source: Source, path: str, stream: _Stream, meter: _Meter) -> None:
    """Keep one text, or note why not; it is read only as far as the limit."""
    if not _is_text(stream.peek(_SIP)):
        source.problems.append(Problem("not text", path))
        return
    data = stream.read(meter.limits.file_bytes + 1)
    if len(data) > meter.limits.file_bytes:
        source.problems.append(Problem("file too large", path))
        return
    if stream.fault:
        source.problems.append(Problem("truncated archive", path, detail=stream.fault))
    if data or not stream.fault:
        meter.keep(len(data))
        source.files[path] = data


def _load_folder(source: Source, found: Found, limits: Limits) -> None:
    """Fill a source from loose files; all but the main one may fail."""
    if len(found.files) > limits.members:
        raise SourceError("too large", f"more than {limits.members:,} files")
    meter = _Meter(limits)
    home = posixpath.dirname(found.root)
    source.main = posixpath.basename(found.root)
    for path in found.files:
        name = posixpath.relpath(path, home or ".")
        try:
            with _open(f"{found.path}/{path}") as file:
                _keep(source, name, _Stream(_pieces(file)), meter)
        except OSError as error:
            if path == found.root:
                raise
            source.problems.append(Problem("unreadable file", name, detail=str(error.strerror)))
    if source.main not in source.files:
        _give_up(source, "")


# -- finding papers


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a file stands: on disk, or within an archive with its bytes carried along."""

    path: str
    origin: str
    parts: tuple[str, ...]
    """What the article's name is made of."""
    collection: str = ""
    data: bytes | None = None
    depth: int = 0
    cause: str = ""
    """Why its bytes could not be had."""


_NEARBY = 5_000  # files looked at around a TeX file that is given by itself
_CONTAINER_CAUSES = {
    "encrypted member": "encrypted",
    "unsupported compression": "unsupported archive",
}


class _Finder:
    """One run of `discover`."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._names = _Names()
        self._folders: dict[str, _Folder] = {}

    def given(self, path: Path) -> Iterator[Found]:
        """The papers under one path of the user's."""
        if path.is_dir():
            yield from self._in_folder(_Folder(str(path), self._limits), path.resolve().name)
        elif _is_paper(path.name) and (text := _read_text(str(path), self._limits)):
            yield self._given_text(path, text)
        else:
            yield from self._in_file(_Place(str(path), _shown(path.as_posix()), (path.name,)))

    def _given_text(self, path: Path, text: "_Text") -> Found:
        """A TeX file given by itself: a paper, with what it includes."""
        place = _Place(str(path), _shown(path.as_posix()), (path.name,))
        if text.cause:
            return self._skipped(place, text.cause)
        top, root = str(path.parent), path.name
        if any(use.startswith("../") for use in text.uses):
            top, root = f"{top}/..", f"{path.parent.resolve().name}/{root}"
        if top not in self._folders:
            self._folders[top] = _Folder(top, self._limits, most=_NEARBY)
        folder = self._folders[top]
        folder.add_root(root)
        return self._loose(folder, root, replace(place, path=top))

    def _in_folder(self, folder: "_Folder", name: str) -> Iterator[Found]:
        """The papers of a folder in the order of their paths."""
        is_one = len(folder.roots) == 1 and not any(map(_is_archive_name, folder.files))
        for path in folder.files:
            if path in folder.roots:
                place = _Place(folder.top, _shown(path), (name,))
                if not is_one:
                    parts, collection = folder.parts(path), _shown(folder.collection(path))
                    place = replace(place, parts=parts, collection=collection)
                yield self._loose(folder, path, place)
            elif path in folder.bad:
                yield self._skipped(self._place(folder, path), folder.bad[path])
            elif path not in folder.texts and _suffix(path) not in _NEVER:
                is_beside = folder.has_text_above(path)
                for found in self._in_file(self._place(folder, path)):
                    if _is_worth(found, path, is_beside=is_beside):
                        yield found
        for path, reason in folder.failed:
            yield self._skipped(self._place(folder, path or "."), "unreadable", reason)

    def _place(self, folder: "_Folder", path: str) -> _Place:
        parts = tuple(path.split("/"))
        collection = _shown(parts[0]) if len(parts) > 1 else ""
        return _Place(f"{folder.top}/{path}", _shown(path), parts, collection)

    def _loose(self, folder: "_Folder", root: str, place: _Place) -> Found:
        """A paper of loose files."""
        return replace(self._found(place, "folder"), root=root, files=folder.files_of(root))

    def _in_file(self, place: _Place) -> Iterator[Found]:
        """The papers in one file: one, many in a container, or the reason why there is none."""
        if place.cause:
            yield self._skipped(place, place.cause)
            return
        try:
            with io.BytesIO(place.data) if place.data is not None else _open(place.path) as file:
                yield from self._in_content(file, place)
        except SourceError as error:
            yield self._skipped(place, error.cause, error.detail)
        except OSError as error:
            yield self._skipped(place, "unreadable", error.strerror or str(error))

    def _in_content(self, file: BinaryIO, place: _Place) -> Iterator[Found]:
        content = _look(file, _Meter(self._limits))
        if content.what in {"tar", "zip"} and self._is_container(content, file):
            yield from self._in_container(file, place)
        elif content.what == "unarxive":
            content = _look(file, _Meter(self._limits, is_container=True))
            yield from self._records(content.stream, place)
        elif content.what in {"tar", "zip", "tex"}:
            yield self._found(place, "file" if place.data is None else "data")
        else:
            yield self._skipped(place, content.what, content.stream.fault)

    def _is_container(self, content: _Content, file: BinaryIO) -> bool:
        """Whether an archive holds papers; its first bytes say so, or all its names must."""
        meter = _Meter(self._limits, is_container=True)
        if content.what == "zip":
            return _holds_papers(_members(content, meter), self._limits)
        ahead = _Stream(iter([content.stream.peek(_CHUNK)]))
        paths = list(_file_paths(_tar_members(ahead)))
        if any(map(_is_wanted, paths)) or not any(map(_is_packed, paths)):
            return False
        if any(_is_archive_name(path) and any(_arxiv_id((path,))) for path in paths):
            return True
        return _holds_papers(_members(_look(file, meter), meter), self._limits)

    def _in_container(self, file: BinaryIO, place: _Place) -> Iterator[Found]:
        """The papers of a container; where it holds one file only, that has the outer name."""
        if place.depth >= self._limits.depth:
            raise SourceError("archive bomb", f"archives nested over {self._limits.depth} deep")
        content = _look(file, _Meter(self._limits, is_container=True))
        held, count, failure = None, 0, None
        try:
            for child in self._children(content, place):
                if held:
                    yield from self._in_file(held)
                held, count = child, count + 1
        except SourceError as error:
            failure = error
        if held:
            is_one = count == 1 and not failure
            yield from self._in_file(replace(held, parts=place.parts) if is_one else held)
        if failure:
            raise failure

    def _children(self, content: _Content, place: _Place) -> Iterator[_Place]:
        """The files of a container that may be papers, each with its bytes."""
        stem = (*place.parts[:-1], _bare(place.parts[-1]))
        most = self._limits.paper_bytes
        for member in _members(content, _Meter(self._limits, is_container=True)):
            path = _safe_path(member.name)
            if member.kind != "file" or not path or _is_hidden(path):
                continue
            if not _is_meant(path) and _identify(member.stream.peek(512)) not in _CARRIERS:
                continue
            origin, parts = f"{place.origin}!{_shown(path)}", (*stem, *path.split("/"))
            cause = _CONTAINER_CAUSES.get(member.trouble, "")
            data = b"" if cause or member.size > most else member.stream.read(most + 1)
            if not cause and max(member.size, len(data)) > most:
                cause = "too large"
            yield replace(
                place, origin=origin, parts=parts, data=data, depth=place.depth + 1, cause=cause
            )
        if content.stream.fault:
            raise SourceError("broken archive", content.stream.fault)

    def _records(self, stream: _Stream, place: _Place) -> Iterator[Found]:
        """The papers of unarXive's format, one a line."""
        number, most = 0, self._limits.file_bytes
        while line := stream.line(most):
            number += 1
            here = replace(place, origin=f"{place.origin}!{number}", data=line)
            if len(line) > most:
                yield self._skipped(here, "too large", f"a line of more than {most:,} bytes")
            elif name := _paper_id(line):
                yield replace(self._found(replace(here, parts=(name,)), "data"), form="unarxive")
            elif line.strip():
                yield self._skipped(here, "broken record", f"line {number} is no paper")
        if stream.fault:
            raise SourceError("broken archive", stream.fault)

    def _found(self, place: _Place, kind: str) -> Found:
        name = self._names.claim(place.parts)
        return Found(name, place.origin, place.collection, kind, place.path, data=place.data)

    def _skipped(self, place: _Place, cause: str, detail: str = "") -> Found:
        """A source that is no article; it takes no name away from one that is."""
        name, _ = self._names.plain(place.parts)
        kind = "file" if place.data is None else "data"
        return Found(
            name, place.origin, place.collection, kind, place.path, cause=cause, detail=detail
        )


_PDF_ID = re.compile(rf"(?:.*/)?(?:{_NEW_ID.pattern}|{_OLD_ID.pattern})\.pdf")
_NOTE = re.compile(r"(?i)readme|licen[cs]e|copying|.*\.(?:md|rst|txt|html|json|csv|tsv|xml)$")
_CARRIERS = frozenset((*_ENGINES, "tar", "zip", *_OTHER_FORMS))
_PAPER_ID = re.compile(rb'\s*\{\s*"paper_id"\s*:\s*"([0-9A-Za-z./-]+)"\s*,')


def _is_packed(path: str) -> bool:
    """Whether a member's name is that of a paper on its own, packed or as arXiv's PDF."""
    return _is_archive_name(path) or bool(_PDF_ID.fullmatch(path))


def _file_paths(members: Iterable[_Member]) -> Iterator[str]:
    for member in members:
        path = _safe_path(member.name)
        if member.kind == "file" and path and not _is_hidden(path):
            yield path


def _holds_papers(members: Iterable[_Member], limits: Limits) -> bool:
    """Whether an archive is a container of papers: packed ones outnumber the rest, no TeX."""
    packed = others = 0
    for path in _file_paths(itertools.islice(members, limits.members)):
        if _is_wanted(path):
            return False
        packed += _is_packed(path)
        others += not (_is_meant(path) or _NOTE.match(posixpath.basename(path)))
        if packed > 50 + others:
            break
    return packed > others


def _is_worth(found: Found, path: str, *, is_beside: bool) -> bool:
    """Whether a find in a folder is worth a word.

    A file of unknown content is no paper unless its name says so; a PDF, and whatever else has
    no TeX in it, is the figure or the output of the TeX it lies beside.
    """
    if not found.cause or _is_archive_name(path) or _is_paper(path):
        return True
    if found.cause in _NO_PAPER:
        return _is_meant(path) and not is_beside
    return not (is_beside and found.cause in _OTHER_FORMS)


def _paper_id(line: bytes) -> str:
    """The identifier in a line of unarXive, '' where it is no whole record."""
    if match := _PAPER_ID.match(line):
        return match[1].decode() if line.rstrip().endswith(b"}") else ""
    try:
        name = json.loads(line)["paper_id"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
    return name if isinstance(name, str) else ""


# -- loose files: which of a folder's TeX files are papers, and which are parts

_USE = re.compile(
    rb"\\(input|include|subfile|subfileinclude|includestandalone|InputIfFileExists|usepackage"
    rb"|RequirePackage|documentclass|LoadClass|(?:sub)?(?:import|inputfrom|includefrom))\b\s*"
    rb"(?:\[[^]]{0,500}\]\s*)?(?:\{([^{}]{0,300})\}(?:\s*\{([^{}]{0,300})\})?|([^][\s{}\\%]{1,300}))"
)
_MACRO = re.compile(r"\\[A-Za-z@]+|#\d|[{}]")
_USE_SUFFIXES = {
    **dict.fromkeys((b"usepackage", b"RequirePackage"), ".sty"),
    **dict.fromkeys((b"documentclass", b"LoadClass"), ".cls"),
}
_PLAIN = frozenset(("no TeX", "empty", "withdrawn"))


class _Text(NamedTuple):
    """What one loose file says."""

    has_head: bool
    """Whether a document begins in it."""
    uses: tuple[str, ...]
    """The files it asks for, as written."""
    cause: str = ""
    """Why it cannot be a paper."""


def _uses(text: bytes) -> Iterator[str]:
    r"""The files that `\input` and its like ask for, where they are not commented out."""
    for match in itertools.islice(_USE.finditer(text), _MOST_MATCHES):
        if _is_live(text, match.start()):
            name = _text(match[2] or match[4] or b"")
            if match[3] and match[1].endswith((b"import", b"from")):
                name = f"{name}/{_text(match[3])}"
            suffix = _USE_SUFFIXES.get(match[1], "")
            yield from (part.strip('" \t\r\n') + suffix for part in name.split(","))


def _read_text(path: str, limits: Limits) -> _Text | None:
    """What a file says, None where it is no TeX as it stands."""
    try:
        with _open(path) as file:
            head = file.read(_CHUNK)
            what = _identify(head)
            is_named = _is_wanted(path) and what in _PLAIN and _is_text(head)
            if what != "tex" and not is_named:
                return None
            data = head + file.read(limits.file_bytes - len(head))
    except OSError:
        return _Text(has_head=False, uses=(), cause="unreadable") if _is_paper(path) else None
    is_main = _is_paper(path) or not _suffix(path) or any(_arxiv_id((posixpath.basename(path),)))
    cause = "" if data.strip() else "empty"
    return _Text(is_main and _has_head(data), tuple(dict.fromkeys(_uses(data))), cause)


def _entry_kind(entry: "os.DirEntry[str]") -> str:
    """'file' (also through a link), 'folder', or '' for what is passed over."""
    try:
        if _is_hidden(entry.name):
            return ""
        if entry.is_dir(follow_symlinks=False):
            return "folder"
        return "file" if entry.is_file() else ""
    except OSError:  # a link that leads to itself
        return ""


def _walk(top: str, most: int) -> tuple[list[str], list[tuple[str, str]]]:
    """All files below a folder sorted by path, and the folders that could not be listed.

    Links to folders are not followed. Nearer folders come first, where `most` cuts it short.
    """
    files: list[str] = []
    failed: list[tuple[str, str]] = []
    queue = deque([""])
    while queue and len(files) < most:
        here = queue.popleft()
        try:
            with os.scandir(f"{top}/{here}") as entries:
                listed = sorted((entry.name, _entry_kind(entry)) for entry in entries)
        except OSError as error:
            failed.append((here, error.strerror or str(error)))
            continue
        for name, kind in listed:
            path = f"{here}/{name}" if here else name
            if kind == "folder":
                queue.append(path)
            elif kind == "file":
                files.append(path)
    return sorted(files, key=lambda path: path.split("/")), failed


def _group(folder: str) -> str:
    """The folder of the top in which a folder lies."""
    return folder.split("/", 1)[0]


def _upward(folder: str) -> list[str]:
    """A folder and those above it, the nearest first; the top is ''."""
    parts = folder.split("/") if folder else []
    return ["/".join(parts[:end]) for end in range(len(parts), -1, -1)]


class _Folder:
    """The loose TeX of a folder: who includes whom, and hence which files are papers."""

    def __init__(self, top: str, limits: Limits, most: int = sys.maxsize) -> None:
        self.top = top
        self._limits = limits
        self.files, self.failed = _walk(top, most)
        self.texts: dict[str, _Text] = {}
        self._known: set[str] = set()
        self._by_name: dict[tuple[str | None, str], list[str]] = {}
        for path in self.files:
            self._add(path)
        self.bad: dict[str, str] = {}
        self.roots = self._tops([path for path, text in self.texts.items() if text.has_head])
        self._settle()
        self._find_more_roots()
        self._settle()

    def _add(self, path: str) -> None:
        """Read what a file says, where it may be TeX."""
        if _is_wanted(path) is not False:
            self._known.add(path)
            folder, name = posixpath.split(path)
            for group in (_group(folder), None):
                self._by_name.setdefault((group, name), []).append(path)
            if text := _read_text(f"{self.top}/{path}", self._limits):
                self.texts[path] = text

    def add_root(self, path: str) -> None:
        """Take a file as a paper because someone said so."""
        if path not in self.roots:
            if path not in self.texts:
                self._add(path)
            self.roots.add(path)
            self._settle()

    def _find_more_roots(self) -> None:
        """Of texts that are no part of a paper: which are papers, and which cannot be judged.

        Where no document begins in a folder of the top, nor at the top itself, those of its
        files are papers that are no part of another.
        """
        asked_for = set().union(*(self._reach([root]) for root in self.roots))
        parts = set().union(*map(self.files_of, self.roots))
        homes = {_group(posixpath.dirname(root)) for root in self.roots}
        groups: dict[str, list[str]] = {}
        for path in self.texts:
            group = _group(posixpath.dirname(path))
            if not _is_paper(path) or path in asked_for:
                continue
            if cause := self.texts[path].cause:
                is_among_papers = path not in parts or self._here[posixpath.dirname(path)] > 1
                if cause != "empty" or is_among_papers:  # else an empty part that is not used
                    self.bad[path] = cause
            elif path not in parts and not homes & {"", group}:
                groups.setdefault(group, []).append(path)
        self.roots = self.roots.union(*map(self._tops, groups.values()))

    def _tops(self, paths: list[str]) -> set[str]:
        """Those that no other of `paths` leads to; of a ring, the first."""
        reached = {path: self._reach([path]) for path in paths}
        parts = set().union(*(reached[path] - {path} for path in paths))
        tops = set(paths) - parts
        covered = set().union(*(reached[path] for path in tops))
        for path in paths:
            if path not in covered:
                tops.add(path)
                covered |= reached[path]
        return tops

    def _reach(self, starts: list[str]) -> set[str]:
        """The files that the first of `starts` as the main file, and the others, lead to."""
        home = posixpath.dirname(starts[0])
        reached, queue = set(starts), list(starts)
        while queue:
            path = queue.pop()
            folders = [home, *_upward(posixpath.dirname(path))]
            for use in self.texts[path].uses if path in self.texts else ():
                targets = set(self._targets(use, folders)) - reached
                reached |= targets
                queue.extend(targets)
        return reached

    def _targets(self, use: str, folders: list[str]) -> Iterator[str]:
        """The file meant by a name; where macros hide its folder, all that it may be."""
        tail = _MACRO.split(use)[-1].lstrip("/ ")
        for suffix in (".tex", "", ".ltx") if tail else ():
            if tail != use:
                yield from self._alike(tail + suffix, folders[1])
                continue
            for folder in folders:
                path = posixpath.normpath(posixpath.join(folder, use)) + suffix
                if path in self._known:
                    yield path
                    return

    def _alike(self, tail: str, folder: str) -> list[str]:
        """The parts whose path ends so: in the same folder of the top, else anywhere; a few."""
        for group in (_group(folder), None):
            paths = self._by_name.get((group, posixpath.basename(tail)), ())[:1000]
            paths = [path for path in paths if f"/{path}".endswith(f"/{tail}")]
            if alike := [path for path in paths if not self._has_head(path)]:
                return alike[:20]
        return []

    def _has_head(self, path: str) -> bool:
        return path in self.texts and self.texts[path].has_head

    def _settle(self) -> None:
        """Count the main files of each folder, and give every part to the nearest above it."""
        homes = [posixpath.dirname(root) for root in self.roots]
        self._here = Counter(homes)
        self._beneath = Counter(folder for home in homes for folder in _upward(home))
        self._text_folders = {
            posixpath.dirname(path)
            for path, text in self.texts.items()
            if _is_paper(path) and not text.cause
        }
        self._own: dict[str, list[str]] = {}
        for path in self.files:
            if path not in self.roots and (_is_wanted(path) or path in self.texts):
                above = _upward(posixpath.dirname(path))
                owner = next((folder for folder in above if folder in self._here), None)
                if owner is not None:
                    self._own.setdefault(owner, []).append(path)

    def files_of(self, root: str) -> tuple[str, ...]:
        """A paper's files: those of its folder and below, and whatever they lead to."""
        reached = self._reach([root, *self._own.get(posixpath.dirname(root), [])])
        return tuple(sorted(reached, key=lambda path: path.split("/")))

    def parts(self, root: str) -> tuple[str, ...]:
        """What a paper is named by: its path, or the folder that is named by an arXiv id."""
        for folder in _upward(posixpath.dirname(root))[:-1]:
            parts = tuple(folder.split("/"))
            if self._beneath[folder] == 1 and any(_arxiv_id(parts)):
                return parts
        return tuple(root.split("/"))

    def collection(self, root: str) -> str:
        """The first folder on the way; a folder with one main file is that paper's own."""
        folder = posixpath.dirname(root)
        if self._here[folder] == 1:
            folder = posixpath.dirname(folder)
        return _group(folder)

    def has_text_above(self, path: str) -> bool:
        """Whether TeX lies beside a file or in a folder above it."""
        return any(folder in self._text_folders for folder in _upward(posixpath.dirname(path)))
