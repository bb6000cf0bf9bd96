"""Recognise a file by its first bytes, below any compression: TeX, an archive, or neither.

`loading` and `discovery` open what is recognised here.
"""

import io
import itertools
import json
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from eqemb.errors import SourceError
from eqemb.sources.archives import Member, tar_header, tar_members, zip_members
from eqemb.sources.files import open_file
from eqemb.sources.found import NO_DOCUMENT, OTHER_FORMS, OWN_EXPORT
from eqemb.sources.streams import (
    CHUNK_BYTES,
    ENGINES,
    ZSTD_MAGIC,
    ByteStream,
    Meter,
    inflate,
    stream_from,
)
from eqemb.storage.marks import is_own_export

_MAGIC = (
    *((magic, form) for form, (magic, _) in ENGINES.items() if magic),
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
    (ZSTD_MAGIC, "unsupported archive"),  # unless there is an engine
)
_TEX_COMMAND = re.compile(
    rb"\\(?:document(?:class|style)|begin\s*\{|input|include|usepackage|(?:re)?newcommand|def\s*\\"
    rb"|(?:sub)*section|chapter|magnification|bye|title|item|label|cite|centerline|noindent)"
)
_HEAD = re.compile(
    rb"\\(?:document(?:class|style)(?!\s*+(?:\[[^]]{0,500}\]\s*+)?\{standalone\})\b|begin\s*\{document\}"
    rb"|magnification\b|bye\b)"
)
_PAPER_ID = re.compile(rb'\s*\{\s*"paper_id"\s*:\s*"([0-9A-Za-z./-]+)"\s*,')
_INLINE_CODE = re.compile(rb"(?<!`)`[^`\n]+`(?!`)")
_DISPLAY_SIGN = re.compile(
    rb"\$\$|\\\[|\\begin\{(?:equation|eqnarray|(?:fl)?align|gather|multline|displaymath)"
    rb"|^```\{?math|^\.\. math::",
    re.MULTILINE,
)
_DISPLAY_BYTES = 1 << 20
_MOST_MATCHES = 5_000
_COMMENT_SIGN = re.compile(rb"(?<!\\)(?:\\\\)*%")
#: Roots of XML documents; any other file in XML holds settings or data.
_XML_ROOTS = frozenset((b"article", b"pmc-articleset", b"tei", b"tei.2", b"html"))
_XML_ROOT = re.compile(rb"<(?:[\w.-]+:)?([\w.-]+)")
_XML_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
#: Bytes by which a document of a format is confirmed.
HEAD_BYTES = 4096
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1a\x1b"))


def is_text(head: bytes) -> bool:
    """Whether there are almost no control characters; UTF-16 with a byte order mark is text."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    controls = len(head) - len(head.translate(None, _CONTROLS))
    return controls * 200 <= len(head)


def uncommented_matches(pattern: re.Pattern[bytes], text: bytes) -> Iterator[re.Match[bytes]]:
    """Matches of a pattern outside comments; only the first few thousand are examined."""
    for match in itertools.islice(pattern.finditer(text), _MOST_MATCHES):
        before = text[max(0, match.start() - 2000) : match.start()]
        if not _COMMENT_SIGN.search(re.split(rb"[\r\n]", before)[-1]):
            yield match


def has_document_head(text: bytes) -> bool:
    r"""Whether a document begins here: an uncommented `\documentclass` or similar."""
    return any(uncommented_matches(_HEAD, text))


def holds_display(path: str) -> bool:
    """Whether a file on disk has a display, by the signs of several formats."""
    try:
        with open_file(path) as file:
            text = _INLINE_CODE.sub(b"", file.read(_DISPLAY_BYTES))
            return _DISPLAY_SIGN.search(text) is not None
    except OSError:
        return False


def identify(head: bytes) -> str:
    """Recognise a file by its first bytes: a format, or the cause why it is not a paper."""
    if not head:
        return "empty"
    if is_own_export(head):
        return OWN_EXPORT
    if head.startswith(b"PK") and head[30:].startswith((b"[Content_Types].xml", b"mimetype")):
        return "epub only" if b"application/epub" in head[30:100] else "word processor file"
    for magic, what in _MAGIC:
        if head.startswith(magic):
            return what
    if tar_header(head[:512]):
        return "tar"
    start = head[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "html only"
    if start.startswith(b"%auto-ignore") and not has_document_head(head):
        return "withdrawn"
    if start.startswith(b"{") and b'"paper_id"' in head:
        return "unarxive"
    return "tex" if is_text(head) and _TEX_COMMAND.search(head) else NO_DOCUMENT


def check_document(path: str, head: bytes) -> str | None:
    """Confirm a document by its first bytes: '' if its suffix may be right, else why it is not.

    None stands for XML that is no document: it is ignored, as data are.
    """
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        head = head.decode("utf-16", "ignore").encode("utf-8", "ignore")
    if path.lower().endswith(".xml") and not _is_xml_document(head):
        return None
    if not head.strip():
        return "empty"
    if (what := identify(head)) in {*OTHER_FORMS, OWN_EXPORT}:
        return what
    return "" if is_text(head) else NO_DOCUMENT


def _is_xml_document(head: bytes) -> bool:
    root = _XML_ROOT.search(_XML_COMMENT.sub(b"", head))
    return root is not None and root[1].lower() in _XML_ROOTS and b"docbook" not in head.lower()


@dataclass(slots=True)
class Content:
    """A recognised file; its stream starts at the first byte below any compression."""

    what: str
    stream: ByteStream
    file: BinaryIO
    """The same file with random access, which zip archives need."""
    meter: Meter
    title: str = ""
    """The file name in the gzip header."""

    @property
    def is_archive(self) -> bool:
        """Whether it has members."""
        return self.what in {"tar", "zip"}

    def members(self) -> Iterator[Member]:
        """The entries of an archive, in the archive's order."""
        is_tar = self.what == "tar"
        for member in tar_members(self.stream) if is_tar else zip_members(self.file, self.meter):
            self.meter.count("members")
            yield member


def open_content(file: BinaryIO, meter: Meter) -> Content:
    """Recognise a file; only its first bytes are read."""
    file.seek(0)
    content = Content("", stream_from(file), file, meter)
    for layer in range(meter.limits.depth + 1):
        head = content.stream.peek(CHUNK_BYTES)
        content.what = identify(head)
        if not head and content.stream.fault:
            content.what = "broken archive"
        elif content.what == "gzip":
            content.title = _gzip_title(head)
        elif content.what == "zip" and layer:
            data = content.stream.read(meter.limits.paper_bytes + 1)
            meter.count("bytes kept", len(data))
            content.file = io.BytesIO(data)
        elif content.what == "unarxive" and not _has_body(content.stream, meter.limits.file_bytes):
            content.what = NO_DOCUMENT
        if content.what == "unsupported archive" and head.startswith(ZSTD_MAGIC):
            content.stream.fault = "zstd is read with Python 3.14 or later: unpack it (unzstd)"
        if content.what not in ENGINES:
            return content
        content.stream = ByteStream(inflate(content.stream, content.what, meter))
    raise SourceError("archive bomb", f"compressed more than {meter.limits.depth} times over")


def _gzip_title(head: bytes) -> str:
    """The file name in a gzip header, or ''."""
    if len(head) < 10 or not head[3] & 8 or head[3] & 4:
        return ""
    name = head[10:266].split(b"\0")[0].decode("latin-1")
    return posixpath.basename(name.replace("\\", "/"))


def _has_body(stream: ByteStream, most: int) -> bool:
    """Whether the first line of JSON holds a paper."""
    size = CHUNK_BYTES
    while len(head := stream.peek(size)) == size < most and b"\n" not in head:
        size *= 4
    line = head.split(b"\n", 1)[0]
    return b'"body_text"' in line or b'"sections"' in line


def is_record_file(path: str, stream: ByteStream, most: int) -> bool:
    """Whether a member of an archive has records of unarXive, a paper in each line."""
    if not path.lower().endswith(".jsonl") or identify(stream.peek(CHUNK_BYTES)) != "unarxive":
        return False
    return _has_body(stream, most)


def paper_id(line: bytes) -> str:
    """The identifier in a line of unarXive; '' if the record is incomplete."""
    if match := _PAPER_ID.match(line):
        return match[1].decode() if line.rstrip().endswith(b"}") else ""
    try:
        name = json.loads(line)["paper_id"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
    return name if isinstance(name, str) else ""
