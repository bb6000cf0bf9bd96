"""Papers packed in every format, and short helpers around `discover` and `load`."""

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from eqemb.errors import SourceError
from eqemb.sources import CAUSES, PROBLEMS, Found, Limits, Source, discover, load
from eqemb.storage import regular_file

PAPER = b"\\documentclass{article}\n\\begin{document}\nWords.\n\\end{document}\n"
PART = b"\\section{More}\nWords of a part.\n"
PDF = b"%PDF-1.5\n%\xd0\xd4\xc5\xd8\n1 0 obj\n"
POSTSCRIPT = b"%!PS-Adobe-2.0 EPSF-2.0\n%%BoundingBox: 0 0 1 1\n"
RECORD = {"paper_id": "2212.11867", "metadata": {}, "body_text": [{"text": "Words."}]}
DEFAULTS = Limits()


def tar(members: dict[str, bytes], form: int = tarfile.USTAR_FORMAT) -> bytes:
    """A tar of these files."""
    return tar_of([entry(name, data=data) for name, data in members.items()], form)


def tar_of(infos: Iterable[tuple[tarfile.TarInfo, bytes]], form: int = tarfile.GNU_FORMAT) -> bytes:
    """A tar of these entries."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for info, data in infos:
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def entry(
    name: str, kind: bytes = tarfile.REGTYPE, data: bytes = b"", target: str = ""
) -> tuple[tarfile.TarInfo, bytes]:
    """An entry of a tar: a file, or a link or device."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, target, len(data)
    return info, data


def header(name: bytes, size: bytes, flag: bytes = b"0") -> bytes:
    """A tar header with a correct checksum and any size."""
    block = bytearray(512)
    block[: len(name)] = name
    block[124:136] = size.ljust(12, b"\0")
    block[156:157] = flag
    block[257:265] = b"ustar\x0000"
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of these files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def gz(data: bytes, title: str = "") -> bytes:
    """A gzip file, with a file name in its header if given."""
    buffer = io.BytesIO()
    with gzip.GzipFile(title, "wb", fileobj=buffer, mtime=0) as file:
        file.write(data)
    return buffer.getvalue()


def lines(*records: object) -> bytes:
    """JSON, one record per line."""
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def put(folder: Path, files: dict[str, bytes]) -> Path:
    """Write files below a folder."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def month() -> dict[str, bytes]:
    """A small version of a month of arXiv."""
    return {
        "9901/hep-th9901001.gz": gz(PAPER),
        "9901/hep-th9901002.gz": gz(tar({"main.tex": PAPER, "a.tex": PART})),
        "9901/cs9901003.pdf": PDF,
        "9901/math9901004.gz": gz(POSTSCRIPT),
    }


FORMS: dict[str, Callable[[dict[str, bytes]], bytes]] = {
    "tar": tar,
    "tar.gz": lambda files: gz(tar(files)),
    "tar.bz2": lambda files: bz2.compress(tar(files)),
    "tar.xz": lambda files: lzma.compress(tar(files)),
    "zip": zipped,
    "stored zip": lambda files: zipped(files, zipfile.ZIP_STORED),
    "bzip2 zip": lambda files: zipped(files, zipfile.ZIP_BZIP2),
    "zip in gzip": lambda files: gz(zipped(files)),
    "gnu tar": lambda files: tar(files, tarfile.GNU_FORMAT),
    "pax tar": lambda files: tar(files, tarfile.PAX_FORMAT),
}


def names(*paths: str | Path) -> list[str]:
    """The names of the papers under these paths that can be loaded."""
    return [found.name for found in discover(paths) if not found.cause]


def skipped(*paths: str | Path) -> dict[str, str]:
    """Origin -> cause of the skipped sources."""
    return {found.origin: found.cause for found in discover(paths) if found.cause}


def only(*paths: str | Path) -> Found:
    """The one paper under these paths."""
    (found,) = discover(paths)
    return found


def opened(data: bytes, limits: Limits = DEFAULTS) -> Source:
    """A paper opened from bytes."""
    return load(Found("paper", "paper.gz", "", "data", "", data=data), limits)


def refused(data: bytes, limits: Limits = DEFAULTS) -> str:
    """The cause for which bytes are refused."""
    with pytest.raises(SourceError) as error:
        opened(data, limits)
    assert error.value.cause in CAUSES
    return error.value.cause


def problems(source: Source) -> list[tuple[str, str]]:
    """The problems of a source, as cause and file."""
    assert {problem.cause for problem in source.problems} <= set(PROBLEMS)
    return [(problem.cause, problem.file) for problem in source.problems]


def lock(monkeypatch: pytest.MonkeyPatch, *locked: str) -> None:
    """Make files of these names unreadable, even for root."""
    free = regular_file._open

    def open_unless_locked(path: str, flags: int) -> int:
        if Path(path).name in locked:
            raise PermissionError(13, "Permission denied", str(path))
        return free(path, flags)

    monkeypatch.setattr(regular_file, "_open", open_unless_locked)
