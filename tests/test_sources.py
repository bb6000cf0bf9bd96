"""Papers are found in every form they come in, opened within limits, and never trusted."""

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import pickle
import struct
import tarfile
import tracemalloc
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eqemb import sources
from eqemb.errors import SourceError, UsageError
from eqemb.sources import CAUSES, PROBLEMS, Found, Limits, Source, discover, load

PAPER = b"\\documentclass{article}\n\\begin{document}\nWords.\n\\end{document}\n"
PART = b"\\section{More}\nWords of a part.\n"
PDF = b"%PDF-1.5\n%\xd0\xd4\xc5\xd8\n1 0 obj\n"
POSTSCRIPT = b"%!PS-Adobe-2.0 EPSF-2.0\n%%BoundingBox: 0 0 1 1\n"
RECORD = {"paper_id": "2212.11867", "metadata": {}, "body_text": [{"text": "Words."}]}


# -- makers


def tar(members: dict[str, bytes], form: int = tarfile.USTAR_FORMAT) -> bytes:
    """A tar of these files."""
    infos = []
    for name, data in members.items():
        info = tarfile.TarInfo(name)
        info.size = len(data)
        infos.append((info, data))
    return tar_of(infos, form)


def tar_of(infos: Iterable[tuple[tarfile.TarInfo, bytes]], form: int = tarfile.GNU_FORMAT) -> bytes:
    """A tar of these entries."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for info, data in infos:
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def special(name: str, kind: bytes, target: str = "") -> tuple[tarfile.TarInfo, bytes]:
    """An entry of a tar that is no file."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info, b""


def header(name: bytes, size: bytes, flag: bytes = b"0") -> bytes:
    """A tar header by hand, with a right checksum and whatever size."""
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
    """A gzip file, with a file name in its header where one is given."""
    buffer = io.BytesIO()
    with gzip.GzipFile(title, "wb", fileobj=buffer, mtime=0) as file:
        file.write(data)
    return buffer.getvalue()


def lines(*records: object) -> bytes:
    """JSON, one record a line."""
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def put(folder: Path, files: dict[str, bytes]) -> Path:
    """Write files below a folder."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def names(*paths: str | Path) -> list[str]:
    """The names of the papers under these paths that are to be loaded."""
    return [found.name for found in discover(paths) if not found.cause]


def skipped(*paths: str | Path) -> dict[str, str]:
    """The cause for each origin that is skipped."""
    return {found.origin: found.cause for found in discover(paths) if found.cause}


def only(*paths: str | Path) -> Found:
    """The one paper under these paths."""
    (found,) = discover(paths)
    return found


def opened(data: bytes, limits: Limits = sources.DEFAULTS) -> Source:
    """A paper opened from bytes."""
    return load(Found("paper", "paper.gz", "", "data", "", data=data), limits)


def refused(data: bytes, limits: Limits = sources.DEFAULTS) -> str:
    """The cause for which bytes are refused."""
    with pytest.raises(SourceError) as error:
        opened(data, limits)
    assert error.value.cause in CAUSES
    return error.value.cause


def problems(source: Source) -> list[tuple[str, str]]:
    """What a source lacks, as cause and file."""
    assert {problem.cause for problem in source.problems} <= set(PROBLEMS)
    return [(problem.cause, problem.file) for problem in source.problems]


# -- forms, recognised by content

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


@pytest.mark.parametrize("form", FORMS)
def test_archive_of_every_form_opens_whatever_its_name(tmp_path: Path, form: str) -> None:
    """A paper packed in any way is read under a name that says nothing."""
    files = {"main.tex": PAPER, "sec/a.tex": PART, "my.sty": b"\\def\\x{1}", "fig.eps": POSTSCRIPT}
    put(tmp_path, {"download": FORMS[form](files)})
    found = only(tmp_path)
    source = load(found)
    assert found.kind == "file"
    assert found.name == "download"
    assert source.files == {name: files[name] for name in ("main.tex", "sec/a.tex", "my.sty")}
    assert source.main is None
    assert source.problems == []


@pytest.mark.parametrize("name", ["hep-th9901001.gz", "0704.0001", "paper", "paper.tex.gz"])
def test_gzip_of_one_text_is_a_paper(tmp_path: Path, name: str) -> None:
    """One-file papers of arXiv come as gzip with or without a suffix."""
    put(tmp_path, {name: gz(PAPER)})
    source = load(only(tmp_path))
    assert list(source.files.values()) == [PAPER]
    assert source.main in source.files
    assert source.main.endswith(".tex")


def test_gzip_header_gives_the_file_its_name() -> None:
    """The name in a gzip header is kept for the people who read the report."""
    assert opened(gz(PAPER, "ms.tex")).main == "ms.tex"
    assert opened(gz(PAPER, "old_paper")).main == "old_paper.tex"
    assert opened(gz(PAPER)).main == "paper.tex"


def test_gzip_in_several_members_is_read_as_one() -> None:
    """Concatenated gzip files are one text, and zeros after the end do no harm."""
    half = len(PAPER) // 2
    data = gz(PAPER[:half]) + gz(PAPER[half:]) + b"\0" * 100
    assert list(opened(data).files.values()) == [PAPER]


@pytest.mark.parametrize("pack", [bytes, gz], ids=["plain", "gzip"])
def test_jsonl_of_unarxive_gives_a_paper_a_line(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    """Records of unarXive are papers named by their identifier, their line carried along."""
    old = {"body_text": [], "paper_id": "hep-th/9901001"}
    put(tmp_path, {"2212/part.jsonl": pack(lines(RECORD, old))})
    first, second = discover([tmp_path])
    assert [first.name, second.name] == ["2212.11867", "hep-th/9901001"]
    assert [first.form, first.collection] == ["unarxive", "2212"]
    assert first.origin == "2212/part.jsonl!1"
    source = load(first)
    assert source.main == "2212.11867.json"
    assert json.loads(source.files[source.main]) == RECORD
    assert load(second).main == "9901001.json"


def test_lines_that_are_no_records_are_counted(tmp_path: Path) -> None:
    """A damaged line is skipped with its number, and the lines after it are read."""
    data = lines(RECORD) + b'{"paper_id": "1", "body_text": [\n\n' + b"[1]\n" + lines(RECORD)
    put(tmp_path, {"a.jsonl": data})
    assert names(tmp_path) == ["2212.11867", "2212.11867~2"]
    assert skipped(tmp_path) == {"a.jsonl!2": "broken record", "a.jsonl!4": "broken record"}


def test_line_over_the_limit_is_left_out(tmp_path: Path) -> None:
    """A line longer than a text may be is skipped without being held."""
    long = {"paper_id": "1", "body_text": "x" * 3000}
    put(tmp_path, {"a.jsonl": lines(RECORD, long, RECORD)})
    found = list(discover([tmp_path], Limits(file_bytes=1000)))
    assert [item.cause for item in found] == ["", "too large", ""]


def test_other_json_is_no_paper(tmp_path: Path) -> None:
    """JSON without a body is not unarXive's, though it has identifiers."""
    put(tmp_path, {"meta.json": lines({"paper_id": "1", "title": "T"}), "a.jsonl": lines({"a": 1})})
    assert skipped(tmp_path) == {"a.jsonl": "no TeX"}


def test_truncated_jsonl_keeps_what_it_had(tmp_path: Path) -> None:
    """The whole lines of a truncated file are papers; its end is reported."""
    records = [RECORD | {"paper_id": str(i), "noise": os.urandom(500).hex()} for i in range(200)]
    put(tmp_path, {"a.jsonl.gz": gz(lines(*records))[:-50_000]})
    found = list(discover([tmp_path]))
    assert [item.name for item in found[:100]] == [str(i) for i in range(100)]
    assert [item.cause for item in found[-2:]] == ["broken record", "broken archive"]


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (PDF, "pdf only"),
        (POSTSCRIPT, "postscript only"),
        (b"\xf7\x02\x01\x83\x92", "dvi only"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "word processor file"),
        (b"{\\rtf1\\ansi", "word processor file"),
        (
            zipped({"[Content_Types].xml": b"<x/>", "word/document.xml": b"x"}),
            "word processor file",
        ),
        (b"<!DOCTYPE html><html>Rate exceeded", "html only"),
        (b"%auto-ignore\nThis paper has been withdrawn by the author.\n", "withdrawn"),
        (b"Only words, no TeX.\n", "no TeX"),
        (b"\x1f\x9d\x90\x00", "unsupported archive"),
        (b"Rar!\x1a\x07\x00", "unsupported archive"),
        (b"", "empty"),
    ],
)
def test_content_that_is_no_tex_has_its_cause(tmp_path: Path, data: bytes, cause: str) -> None:
    """What is not TeX is named for what it is, plain or in gzip, when found and when opened."""
    put(tmp_path, {"a/plain.gz": data, "b/packed.gz": gz(data)})
    assert skipped(tmp_path) == {"a/plain.gz": cause, "b/packed.gz": cause}
    assert refused(gz(data)) == cause


def test_magic_comment_is_not_postscript() -> None:
    """A text that starts with `%!TEX` is TeX."""
    assert opened(gz(b"%!TEX root = main.tex\n" + PAPER)).files


def test_archive_without_tex_is_refused() -> None:
    """Figures and a style alone make no paper."""
    assert refused(gz(tar({"a.pdf": PDF, "x.sty": b"\\def\\x{}", "data": b"1 2 3"}))) == "no TeX"
    assert refused(zipped({"a.png": b"\x89PNG"})) == "no TeX"


def test_texts_with_odd_names_are_known_by_their_content() -> None:
    """A member without suffix is kept where it looks like TeX, and READMEs of arXiv always."""
    files = {"paper": PAPER, "sec.1": PART, "notes.txt": b"to do", "Makefile": b"all:\n\tmake\n"}
    readme = {"00README.XXX": b"nohypertex", "data.bin": bytes(range(256))}
    assert set(opened(gz(tar(files | readme))).files) == {"paper", "sec.1", "00README.XXX"}


def test_binary_content_under_a_tex_name_is_noted() -> None:
    """A `.tex` that is no text is left out and named."""
    source = opened(gz(tar({"a.tex": PAPER, "b.tex": bytes(range(32)) * 10})))
    assert problems(source) == [("not text", "b.tex")]
    assert list(source.files) == ["a.tex"]


def test_latin1_utf16_and_bom_pass_as_bytes() -> None:
    """Decoding is left to the reader: bytes come out as they went in."""
    files = {"a.tex": PAPER + b"\xe9\xe8", "b.tex": PAPER.decode().encode("utf-16"), "c.tex": b""}
    assert opened(gz(tar(files))).files == files


def test_long_and_foreign_names_survive() -> None:
    """Names of any length, in any tar dialect, and names that are not UTF-8."""
    long = "/".join(["folder" * 5] * 6) + "/é.tex"
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        assert list(opened(tar({long: PAPER}, form)).files) == [long]
    assert list(opened(tar({"p" * 90 + "/" + "n" * 80 + ".tex": PAPER})).files)
    latin = tar({"x.tex": PAPER}).replace(b"x.tex", b"\xe9.tex", 1)
    fixed = header(b"\xe9.tex", b"%011o" % len(PAPER)) + latin[512:]
    assert list(opened(fixed).files) == ["é.tex"]


def test_hidden_members_are_passed_over() -> None:
    """What macOS and git leave in archives is not the author's."""
    files = {"./a.tex": PAPER, "__MACOSX/._a.tex": b"\0\5\26", "._a.tex": b"\0", ".git/b.tex": PART}
    source = opened(gz(tar(files)))
    assert list(source.files) == ["a.tex"]
    assert source.problems == []


# -- safety


def test_links_and_devices_are_refused_and_noted() -> None:
    """No member that is not a plain file is read, and each is named."""
    data = tar_of(
        [
            special("link.tex", tarfile.SYMTYPE, "/etc/passwd"),
            special("hard.tex", tarfile.LNKTYPE, "a.tex"),
            special("null.tex", tarfile.CHRTYPE),
            special("pipe.tex", tarfile.FIFOTYPE),
            special("folder.tex", tarfile.DIRTYPE),
            *[(info(name, PAPER), PAPER) for name in ("a.tex",)],
        ]
    )
    source = opened(data)
    assert list(source.files) == ["a.tex"]
    refused_files = ["link.tex", "hard.tex", "null.tex", "pipe.tex"]
    assert problems(source) == [("unsafe member", name) for name in refused_files]


def info(name: str, data: bytes) -> tarfile.TarInfo:
    """A plain entry of a tar."""
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    return entry


@pytest.mark.parametrize(
    "name", ["/etc/x.tex", "../x.tex", "a/../../x.tex", "C:\\x.tex", "\\x.tex"]
)
@pytest.mark.parametrize("pack", [tar, zipped])
def test_paths_that_leave_the_archive_are_refused(
    name: str, pack: Callable[[dict[str, bytes]], bytes]
) -> None:
    """Absolute paths, drives and '..' are refused and noted."""
    source = opened(pack({"a.tex": PAPER, name: PAPER}))
    assert list(source.files) == ["a.tex"]
    assert problems(source) == [("unsafe member", name)]


def test_link_in_a_zip_is_refused() -> None:
    """A zip carries links as Unix modes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.tex", PAPER)
        entry = zipfile.ZipInfo("link.tex")
        entry.external_attr = 0o120777 << 16
        archive.writestr(entry, "/etc/passwd")
    assert problems(opened(buffer.getvalue())) == [("unsafe member", "link.tex")]


@pytest.mark.parametrize("pack", [gz, bz2.compress, lzma.compress], ids=["gzip", "bzip2", "xz"])
def test_bomb_stops_early_in_memory_and_time(pack: Callable[[bytes], bytes]) -> None:
    """A file that explodes is refused after some 10 MB, whatever compressed it."""
    text = pack(PAPER + b" " * 60_000_000)
    archive = pack(tar({"a.dat": b"\0" * 60_000_000, "a.tex": PAPER}))
    tracemalloc.start()
    assert refused(text) == "archive bomb"
    assert refused(archive) == "archive bomb"
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40_000_000


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_zip_bomb_is_refused(method: int) -> None:
    """A zip whose member explodes is refused by its ratio."""
    bomb = zipped({"a.tex": b"x" * 25_000_000}, method)
    assert refused(bomb) == "archive bomb"


def test_zip_with_overlapping_entries_hits_the_total() -> None:
    """Many directory entries for one content count each time."""
    one = zipped({"a.tex": PAPER + os.urandom(50_000).hex().encode()})
    assert refused(repeated(one, 100), Limits(paper_bytes=2_000_000)) == "too large"


def repeated(data: bytes, times: int) -> bytes:
    """A zip of one entry with that entry listed many times."""
    start, end = data.index(b"PK\1\2"), data.index(b"PK\5\6")
    size = struct.pack("<L", (end - start) * times)
    last = data[end : end + 12] + size + data[end + 16 :]
    return data[:start] + data[start:end] * times + last


def test_member_that_claims_a_huge_size_ends_with_the_file() -> None:
    """A tar header may lie: nothing is set aside for what it promises."""
    lying = header(b"b.tex", b"\x80" + (1 << 60).to_bytes(11, "big")) + PART
    source = opened(tar({"a.tex": PAPER})[:1024] + lying)
    assert source.files == {"a.tex": PAPER, "b.tex": PART}
    assert problems(source) == [("truncated archive", "b.tex")]
    assert refused(lying[:512]) == "broken archive"


@pytest.mark.parametrize(
    "size", [b"\xff" * 10 + b"\xfe\0", b"-0000000777", b"99999999999", b"\x80\xff"]
)
def test_impossible_sizes_do_not_hang(size: bytes) -> None:
    """Negative and senseless sizes end the archive."""
    data = tar({"a.tex": PAPER})[:1024] + header(b"b.tex", size) + PART
    assert opened(data).files["a.tex"] == PAPER


@pytest.mark.parametrize("value", ["-5", "x", "1" * 5000, "9" * 30])
def test_extended_headers_are_not_trusted(value: str) -> None:
    """A pax record may say anything of a size."""
    record = f" size={value}\n"
    length = len(record) + len(str(len(record) + 4))
    body = f"{length}{record}".encode()
    body += b"\0" * (-len(body) % 512)
    data = tar({"a.tex": PAPER})[:1024] + header(b"x", b"%011o" % len(body), b"x") + body
    source = opened(data + header(b"b.tex", b"%011o" % len(PART)) + PART.ljust(512, b"\0"))
    assert source.files["a.tex"] == PAPER


def test_huge_extended_header_is_passed_over() -> None:
    """A long name of ten megabytes is not kept."""
    name = header(b"x", b"%011o" % 10_485_760, b"L") + os.urandom(1 << 20) * 10
    data = tar({"a.tex": PAPER})[:1024] + name + tar({"b.tex": PART})
    assert set(opened(data).files.values()) >= {PAPER}


def test_sparse_member_does_not_derail_a_tar() -> None:
    """A sparse file's map is passed over and the next member found."""
    block = bytearray(header(b"s.dat", b"%011o" % 512, b"S"))
    block[482] = 1
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    data = bytes(block) + b"\0" * 512 + b"d" * 512 + tar({"a.tex": PAPER})
    assert opened(data).files == {"a.tex": PAPER}


def test_too_many_members_are_a_bomb() -> None:
    """A hundred thousand empty members are refused after the limit."""
    assert refused(header(b"a.x", b"0" * 11) * 100_000) == "archive bomb"
    assert refused(repeated(zipped({"a.x": b""}), 100_000)) == "archive bomb"


def test_many_empty_gzip_members_are_a_bomb() -> None:
    """Gzip files one after the other count as members too."""
    assert refused(gz(b"") * 30_000) == "archive bomb"


def test_archive_over_the_total_is_too_large() -> None:
    """Everything that has to be decompressed counts, also what is passed over."""
    data = gz(tar({"fig.eps": os.urandom(3_000_000), "a.tex": PAPER}))
    assert refused(data, Limits(paper_bytes=2_000_000)) == "too large"
    assert opened(data).files == {"a.tex": PAPER}


def test_kept_text_over_the_total_is_too_large() -> None:
    """A tar that is not compressed cannot bring more text than is allowed."""
    data = tar({f"{n}.tex": PAPER + b"x" * 900 for n in range(5)})
    assert refused(data, Limits(paper_bytes=3000)) == "too large"


@pytest.mark.parametrize("pack", [tar, zipped])
def test_file_over_its_limit_is_left_out(pack: Callable[[dict[str, bytes]], bytes]) -> None:
    """One text that is too large is named, the rest is read."""
    source = opened(pack({"big.tex": b"x" * 5000, "a.tex": PAPER}), Limits(file_bytes=1000))
    assert problems(source) == [("file too large", "big.tex")]
    assert list(source.files) == ["a.tex"]
    assert refused(pack({"big.tex": b"x" * 5000}), Limits(file_bytes=1000)) == "too large"
    assert refused(gz(PAPER), Limits(file_bytes=10)) == "too large"


def test_encrypted_members_are_noted() -> None:
    """An encrypted text is a problem; where all are, the cause."""
    data = bytearray(zipped({"b.tex": PART, "a.tex": PAPER}))
    data[data.index(b"PK\1\2") + 8] |= 1
    assert problems(opened(bytes(data))) == [("encrypted member", "b.tex")]
    alone = bytearray(zipped({"b.tex": PART}))
    alone[alone.index(b"PK\1\2") + 8] |= 1
    assert refused(bytes(alone)) == "encrypted"


def test_unknown_zip_method_is_noted() -> None:
    """A member compressed in a way we do not read is named."""
    data = zipped({"b.tex": PART, "a.tex": PAPER})
    raw = bytearray(data)
    raw[raw.index(b"PK\1\2") + 10] = 14
    assert problems(opened(bytes(raw))) == [("unsupported compression", "b.tex")]


def test_zip_behind_other_bytes_and_in_64_bits_is_read(tmp_path: Path) -> None:
    """Offsets shifted by a stub, and entries whose sizes stand in the 64-bit fields."""
    assert sources._zip64(struct.pack("<2HQQ", 1, 16, 7, 8), [0xFFFFFFFF, 0xFFFFFFFF, 9]) == [
        7,
        8,
        9,
    ]
    assert sources._zip64(b"\1\0\xff\xff", [0xFFFFFFFF, 1, 2]) == [0xFFFFFFFF, 1, 2]
    path = tmp_path / "a.zip"
    path.write_bytes(b"PK\3\4 a stub" + zipped({"a.tex": PAPER}))
    assert load(only(path)).files == {"a.tex": PAPER}


def test_zip64_directory_is_read() -> None:
    """The 64-bit end record wins over the 32-bit one."""
    data = zipped({"a.tex": PAPER})
    end = data.index(b"PK\5\6")
    start = data.index(b"PK\1\2")
    wide = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, end - start, start)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, end, 1)
    last = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    assert opened(data[:end] + wide + locator + last).files == {"a.tex": PAPER}


def test_truncated_gzip_keeps_what_was_read() -> None:
    """A text cut in the middle is kept with a problem."""
    noise = PAPER + os.urandom(60_000).hex().encode()
    source = opened(gz(noise)[:-20_000])
    (data,) = source.files.values()
    assert noise.startswith(data)
    assert len(data) > 10_000
    assert problems(source) == [("truncated archive", "")]


def test_truncated_tar_keeps_the_files_before_the_cut() -> None:
    """Members before the cut are whole, the one at the cut is there in part and named."""
    files = {"a.tex": PAPER, "b.tex": PART + os.urandom(60_000).hex().encode()}
    source = opened(gz(tar(files))[:-30_000])
    assert source.files["a.tex"] == PAPER
    assert files["b.tex"].startswith(source.files["b.tex"])
    assert problems(source) == [("truncated archive", "b.tex")]


def test_damage_before_any_text_is_a_broken_archive() -> None:
    """Nothing read, nothing kept."""
    assert refused(gz(tar({"a.tex": PAPER}))[:15]) == "broken archive"
    assert refused(zipped({"a.tex": PAPER})[:-30]) == "broken archive"
    assert (
        refused(gz(tar({"a.dat": os.urandom(50_000), "a.tex": PAPER}))[:-5000]) == "broken archive"
    )
    data = bytearray(zipped({"a.tex": PAPER}))
    data[40:60] = b"\xff" * 20
    assert refused(bytes(data)) == "broken archive"


def test_compression_over_and_over_is_a_bomb(tmp_path: Path) -> None:
    """Gzip in gzip is opened as deep as the limit and no deeper."""
    data = PAPER
    for _ in range(3):
        data = gz(data)
    assert opened(data).files
    assert refused(gz(data)) == "archive bomb"
    put(tmp_path, {"a.gz": gz(data)})
    assert skipped(tmp_path) == {"a.gz": "archive bomb"}


def test_archives_nested_too_deep_are_a_bomb(tmp_path: Path) -> None:
    """Containers in containers end at the limit."""
    data = gz(tar({"a.tex": PAPER}))
    for level in range(5):
        data = zipped({f"{level}a.tar.gz": data})
    put(tmp_path, {"nest.zip": data})
    assert list(skipped(tmp_path).values()) == ["archive bomb"]


@given(st.binary(max_size=2000))
@settings(max_examples=300, deadline=None)
def test_any_bytes_open_or_are_refused(data: bytes) -> None:
    """Random content raises nothing but a SourceError of a fixed cause."""
    _survives(data)


SEEDS = [pack({"main.tex": PAPER, "b/c.tex": PART, "d.eps": b"%!PS"}) for pack in FORMS.values()]
SEEDS += [
    gz(PAPER),
    lines(RECORD, RECORD),
    gz(lines(RECORD)),
    tar({"0704/0704.0001.gz": gz(PAPER), "0704/0704.0002.pdf": PDF}),
    zipped({"a.tar.gz": gz(tar({"a.tex": PAPER}))}),
]
MAGIC = [b"PK\3\4", b"PK\5\6", b"\x1f\x8b\x08", b"BZh9", b"\xfd7zXZ\0", b"\xff" * 8, b"\0" * 12]


@given(
    st.sampled_from(SEEDS),
    st.lists(
        st.tuples(st.floats(0, 1), st.binary(max_size=6) | st.sampled_from(MAGIC)), max_size=6
    ),
    st.floats(0, 1),
)
@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_mutated_archive_opens_or_is_refused(
    data: bytes, edits: list[tuple[float, bytes]], cut: float
) -> None:
    """Archives with bytes changed and ends cut raise nothing but a SourceError."""
    raw = bytearray(data)
    for place, change in edits:
        at = int(place * len(raw))
        raw[at : at + len(change)] = change
    _survives(bytes(raw))
    _survives(bytes(raw[: int(cut * len(raw))]))


def _survives(data: bytes) -> None:
    """Find and open papers in bytes; every failure has one of the fixed causes."""
    finder, causes = sources._Finder(sources.DEFAULTS), set()
    for found in finder._in_file(sources._Place("", "x", ("x",), data=data)):
        try:
            source = load(found)
        except SourceError as error:
            causes.add(error.cause)
        else:
            assert source.files
            causes.update(problem.cause for problem in source.problems)
    assert causes <= {*CAUSES, *PROBLEMS}


# -- containers of papers


def month() -> dict[str, bytes]:
    """A month of arXiv in small."""
    return {
        "9901/hep-th9901001.gz": gz(PAPER),
        "9901/hep-th9901002.gz": gz(tar({"main.tex": PAPER, "a.tex": PART})),
        "9901/cs9901003.pdf": PDF,
        "9901/math9901004.gz": gz(POSTSCRIPT),
    }


@pytest.mark.parametrize("pack", [tar, lambda files: gz(tar(files)), zipped])
def test_month_of_arxiv_gives_its_papers(
    tmp_path: Path, pack: Callable[[dict[str, bytes]], bytes]
) -> None:
    """Each member is a paper named by its id; PDFs are counted, not read."""
    put(tmp_path, {"src/arXiv_src_9901_001.tar": pack(month())})
    found = list(discover([tmp_path]))
    assert [item.name for item in found] == [
        *("hep-th/9901001", "hep-th/9901002", "cs/9901003", "math/9901004")
    ]
    assert [item.cause for item in found] == ["", "", "pdf only", "postscript only"]
    assert {item.collection for item in found} == {"src"}
    assert found[1].origin == "src/arXiv_src_9901_001.tar!9901/hep-th9901002.gz"
    assert set(load(found[1]).files) == {"main.tex", "a.tex"}


def test_month_that_starts_with_a_pdf_is_still_one(tmp_path: Path) -> None:
    """The first member alone does not decide."""
    pdfs = {f"0704/0704.{n:04}.pdf": PDF + os.urandom(70_000) for n in range(2)}
    papers = {"0704/0704.0009.gz": gz(PAPER)}
    put(tmp_path, {"a.tar": tar(pdfs | papers)})
    assert names(tmp_path) == ["0704.0009"]
    assert set(skipped(tmp_path).values()) == {"pdf only"}


def test_paper_that_holds_archives_is_one_paper(tmp_path: Path) -> None:
    """Packed figures, even first and large, do not make a container of a paper."""
    figures = {"figures.tar.gz": gz(tar({"a.eps": os.urandom(90_000)})), "a.eps.gz": gz(POSTSCRIPT)}
    put(
        tmp_path,
        {
            "p.tar.gz": gz(tar(figures | {"main.tex": PAPER})),
            "q.zip": zipped(figures | {"main.tex": PAPER}),
        },
    )
    assert [set(load(found).files) for found in discover([tmp_path])] == [{"main.tex"}] * 2


def test_archive_of_one_archive_is_one_paper(tmp_path: Path) -> None:
    """A zip around a tar.gz is the paper inside, under the outer name."""
    inner = gz(tar({"main.tex": PAPER}))
    put(tmp_path, {"thesis.zip": zipped({"upload/v3.tar.gz": inner, "upload/readme.md": b"x"})})
    found = only(tmp_path)
    assert found.name == "thesis"
    assert found.origin == "thesis.zip!upload/v3.tar.gz"
    assert list(load(found).files) == ["main.tex"]


def test_archive_of_papers_without_ids_names_them_by_path(tmp_path: Path) -> None:
    """Members are named by the container's name and their own path."""
    inner = gz(tar({"main.tex": PAPER}))
    members = {"README.md": b"x", "nlp/a.tar.gz": inner, "ml/b.zip": zipped({"b.tex": PAPER})}
    put(tmp_path, {"all.tar.gz": gz(tar(members))})
    assert names(tmp_path) == ["all/nlp/a", "all/ml/b"]
    assert names(tmp_path / "all.tar.gz") == ["all/nlp/a", "all/ml/b"]


def test_container_of_records_is_read(tmp_path: Path) -> None:
    """The files of unarXive are handed out as a tar of JSONL files."""
    put(
        tmp_path,
        {
            "u.tar.xz": lzma.compress(
                tar({"22/a.jsonl": lines(RECORD), "22/b.jsonl": lines(RECORD)})
            )
        },
    )
    assert names(tmp_path) == ["2212.11867", "2212.11867~2"]


def test_truncated_container_gives_the_papers_before_the_cut(tmp_path: Path) -> None:
    """What came before the damage is found; the damage is reported once."""
    members = {
        f"0704/0704.{n:04}.gz": gz(PAPER + os.urandom(20_000).hex().encode()) for n in range(9)
    }
    put(tmp_path, {"m.tar": tar(members)[:100_000]})
    found = list(discover([tmp_path]))
    assert [item.name for item in found[:4]] == [f"0704.{n:04}" for n in range(4)]
    assert found[-1].cause == "broken archive"
    assert found[-1].origin == "m.tar"


def test_container_of_encrypted_papers_says_so(tmp_path: Path) -> None:
    """An encrypted member is a paper that is skipped with its cause."""
    data = bytearray(zipped({"a.tar.gz": gz(tar({"a.tex": PAPER})), "b.tex.gz": gz(PAPER)}))
    data[data.index(b"PK\1\2") + 8] |= 1
    put(tmp_path, {"m.zip": bytes(data)})
    assert skipped(tmp_path) == {"m.zip!a.tar.gz": "encrypted"}
    assert names(tmp_path) == ["m/b"]


def test_member_too_large_to_carry_is_skipped(tmp_path: Path) -> None:
    """A paper larger than the limit is not taken into memory."""
    members = {"0704/0704.0001.gz": os.urandom(5000), "0704/0704.0002.gz": gz(PAPER)}
    put(tmp_path, {"m.tar": tar(members)})
    found = list(discover([tmp_path], Limits(paper_bytes=2000)))
    assert [item.cause for item in found] == ["too large", ""]


def test_containers_are_streamed(tmp_path: Path) -> None:
    """The papers of a month come one at a time: memory does not grow with their number."""
    papers = {f"0704/0704.{n:04}.gz": gz(PAPER + os.urandom(200_000)) for n in range(60)}
    put(tmp_path, {"m.tar": tar(papers)})
    papers.clear()
    tracemalloc.start()
    assert sum(1 for _ in discover([tmp_path])) == 60
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_500_000


# -- folders


def test_empty_folder_gives_nothing(tmp_path: Path) -> None:
    """No file, no paper, no complaint."""
    assert list(discover([tmp_path])) == []


def test_papers_come_in_the_order_of_their_paths(tmp_path: Path) -> None:
    """Sorted by the parts of the path, whatever the disk says."""
    files = ["b/a.gz", "a-b/c.gz", "a/z.gz", "a/b/c.gz", "c.gz", "a.gz", "B.gz"]
    put(tmp_path, dict.fromkeys(files, gz(PAPER)))
    expected = ["B.gz", "a/b/c.gz", "a/z.gz", "a-b/c.gz", "a.gz", "b/a.gz", "c.gz"]
    assert [found.origin for found in discover([tmp_path])] == expected


def test_collection_is_the_first_folder(tmp_path: Path) -> None:
    """The folder below the given one names the collection."""
    put(tmp_path, dict.fromkeys(["nlp/x/a.gz", "ir/b.gz", "c.gz"], gz(PAPER)))
    collections = {found.name: found.collection for found in discover([tmp_path])}
    assert collections == {"nlp/x/a": "nlp", "ir/b": "ir", "c": ""}
    assert only(tmp_path / "ir" / "b.gz").collection == ""


def test_folder_that_is_one_paper_has_its_name(tmp_path: Path) -> None:
    """A folder with one main file is one article; pictures and parts are no sources."""
    put(
        tmp_path / "thesis",
        {
            "main.tex": PAPER + b"\\input{ch/one}",
            "ch/one.tex": PART,
            "ch/two.tex": PART,
            "main.pdf": PDF,
            "fig/plot.pdf": PDF,
            "fig/old.eps.gz": gz(POSTSCRIPT),
            "my.sty": b"\\def\\x{}",
            "refs.bib": b"@a{}",
            "notes.md": b"x",
            "Makefile": b"all:",
        },
    )
    found = only(tmp_path / "thesis")
    assert (found.name, found.root, found.collection) == ("thesis", "main.tex", "")
    source = load(found)
    assert source.main == "main.tex"
    assert set(source.files) == {"main.tex", "ch/one.tex", "ch/two.tex", "my.sty"}


def test_folder_named_dot_has_the_name_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`eqemb read .` in a paper's folder names the paper by the folder."""
    put(tmp_path / "mine", {"src/main.tex": PAPER})
    monkeypatch.chdir(tmp_path / "mine")
    found = only(".")
    assert (found.name, found.collection) == ("mine", "")
    assert list(load(found).files) == ["main.tex"]


def test_two_main_files_in_one_folder_are_two_papers(tmp_path: Path) -> None:
    """Both share the parts, neither has the other."""
    put(tmp_path, {"a.tex": PAPER, "b.tex": PAPER, "part.tex": PART, "x.sty": b""})
    first, second = discover([tmp_path])
    assert [first.name, second.name] == ["a", "b"]
    assert set(load(first).files) == {"a.tex", "part.tex", "x.sty"}
    assert set(load(second).files) == {"b.tex", "part.tex", "x.sty"}


def test_folders_of_papers_are_papers_each(tmp_path: Path) -> None:
    """Unpacked papers side by side: named by path, own folders are no collections."""
    put(tmp_path, {"a/main.tex": PAPER, "a/s.tex": PART, "b/main.tex": PAPER, "nlp/c/d.tex": PAPER})
    found = list(discover([tmp_path]))
    assert [item.name for item in found] == ["a/main", "b/main", "nlp/c/d"]
    assert [item.collection for item in found] == ["", "", "nlp"]
    assert set(load(found[0]).files) == {"main.tex", "s.tex"}
    assert set(load(found[1]).files) == {"main.tex"}


def test_folder_named_by_an_arxiv_id_names_its_paper(tmp_path: Path) -> None:
    """An unpacked download keeps its identifier, unless the folder holds two papers."""
    put(
        tmp_path,
        {"1803.09123v2/ms.tex": PAPER, "1706.03762/a.tex": PAPER, "1706.03762/b.tex": PAPER},
    )
    assert names(tmp_path) == ["1706.03762/a", "1706.03762/b", "1803.09123"]


@pytest.mark.parametrize(
    "use",
    [
        *(rb"\input{part}", rb"\input part ", rb"\include{part}", rb"\subfile{part.tex}"),
        *(rb"\import{./}{part}", rb'\input{"part.tex"}', rb"\InputIfFileExists{part}{}{}"),
    ],
)
def test_text_that_another_includes_is_no_paper(tmp_path: Path, use: bytes) -> None:
    r"""Even with a `\documentclass` of its own, a part is a part."""
    put(tmp_path, {"x/main.tex": PAPER + use, "x/part.tex": PAPER, "y/z.tex": PAPER})
    assert names(tmp_path) == ["x/main", "y/z"]
    assert set(load(next(discover([tmp_path]))).files) == {"main.tex", "part.tex"}


def test_commented_commands_do_not_count(tmp_path: Path) -> None:
    r"""A `%` before `\documentclass` or `\input` takes it back, an escaped one does not."""
    put(
        tmp_path,
        {
            "a.tex": PAPER + b"% \\input{b}\n",
            "b.tex": PAPER,
            "c.tex": b"% \\documentclass{article}\nwords",
            "d.tex": PAPER + b"5\\% \\input{e}\n",
            "e.tex": PAPER,
        },
    )
    assert names(tmp_path) == ["a", "b", "d"]


def test_pictures_of_the_class_standalone_are_no_papers(tmp_path: Path) -> None:
    """A tikz picture compiled by itself is a figure."""
    picture = b"\\documentclass[tikz]{standalone}\n\\draw;"
    put(tmp_path, {"main.tex": PAPER, "fig/a.tex": picture})
    assert names(tmp_path) == [tmp_path.name]


def test_texts_without_documentclass_are_papers_where_there_is_no_other(tmp_path: Path) -> None:
    """A folder without a main file gives the files that no other includes."""
    put(
        tmp_path,
        {"x/a.tex": PART + b"\\input{b}", "x/b.tex": PART, "y/main.tex": PAPER, "y/n.tex": PART},
    )
    found = list(discover([tmp_path]))
    assert [item.name for item in found] == ["x/a", "y/main"]
    assert set(load(found[0]).files) == {"a.tex", "b.tex"}


def test_texts_that_include_each_other_give_one_paper(tmp_path: Path) -> None:
    """Of a ring the first is the paper."""
    put(tmp_path, {"a.tex": PAPER + b"\\input{b}", "b.tex": PAPER + b"\\input{a}", "c.tex": PAPER})
    assert names(tmp_path) == ["a", "c"]


def test_inputs_from_the_parent_folder_come_along(tmp_path: Path) -> None:
    """Shared macros beside the paper's folder, named outright, by macro, or by the folder above."""
    put(
        tmp_path,
        {
            "paper/main.tex": PAPER + b"\\input{../common/macros}\\usepackage{../sty/my}",
            "paper/sec/a.tex": b"\\input{\\shared/notation}",
            "common/macros.tex": b"\\input{common/deep}",
            "common/deep.tex": PART,
            "sty/my.sty": b"",
            "shared/notation.tex": PART,
            "other/main.tex": PAPER,
            "other/x.tex": PART,
        },
    )
    other, paper = discover([tmp_path])
    assert [other.name, paper.name] == ["other/main", "paper/main"]
    assert set(load(paper).files) == {
        *("main.tex", "sec/a.tex", "../common/macros.tex", "../common/deep.tex"),
        *("../sty/my.sty", "../shared/notation.tex"),
    }
    assert set(load(other).files) == {"main.tex", "x.tex"}


def test_inputs_never_leave_the_given_folder(tmp_path: Path) -> None:
    """What a text asks for outside of what was given is not opened."""
    put(
        tmp_path,
        {"secret.tex": PART, "in/main.tex": PAPER + b"\\input{../secret}\\input{/etc/passwd}"},
    )
    assert only(tmp_path / "in").files == ("main.tex",)


def test_paper_below_a_paper_keeps_to_itself(tmp_path: Path) -> None:
    """A supplement with its own main file and parts is a paper apart."""
    put(tmp_path, {"main.tex": PAPER, "a.tex": PART, "supp/supp.tex": PAPER, "supp/b.tex": PART})
    main, supplement = discover([tmp_path])
    assert set(load(main).files) == {"main.tex", "a.tex"}
    assert set(load(supplement).files) == {"supp.tex", "b.tex"}


def test_tex_file_given_by_itself_brings_what_it_includes(tmp_path: Path) -> None:
    """Given one file, its folder is searched for its parts, and the one above where it asks."""
    put(
        tmp_path,
        {
            "p/main.tex": PAPER + b"\\input{ch/a}",
            "p/ch/a.tex": PART,
            "p/other.tex": PAPER,
            "q/main.tex": PAPER + b"\\input{../common}",
            "common.tex": PART,
            ".hidden.tex": PAPER,
        },
    )
    first, second, third = discover(
        [tmp_path / name for name in ("p/main.tex", "q/main.tex", ".hidden.tex")]
    )
    assert (first.name, first.origin) == ("main", (tmp_path / "p/main.tex").as_posix())
    assert set(load(first).files) == {"main.tex", "ch/a.tex"}
    assert second.name == "main~2"
    assert set(load(second).files) == {"main.tex", "../common.tex"}
    assert load(third).main == ".hidden.tex"


def test_part_given_by_itself_is_a_paper(tmp_path: Path) -> None:
    """Who names a file means it, whoever includes it."""
    put(tmp_path, {"main.tex": PAPER + b"\\input{a}", "a.tex": PART})
    assert names(tmp_path / "a.tex") == ["a"]


def test_plain_texts_without_suffix_are_papers_where_a_document_begins(tmp_path: Path) -> None:
    """Old papers lie about without a suffix; notes and Makefiles do too."""
    put(
        tmp_path,
        {"hep-th9901001": PAPER, "0704.0001": PAPER, "README": b"use \\input", "n.txt": PAPER},
    )
    assert names(tmp_path) == ["0704.0001", "hep-th/9901001"]


def test_archives_with_wrong_names_are_known_by_content(tmp_path: Path) -> None:
    """A `.tex` that is a gzip file is opened as one."""
    put(tmp_path, {"a.tex": gz(tar({"m.tex": PAPER})), "b.gz": PAPER, "c.pdf": gz(PAPER)})
    assert [set(load(found).files) for found in discover([tmp_path])] == [
        {"m.tex"},
        {"b.tex"},
        {"c.tex"},
    ]


def test_what_was_meant_as_a_paper_is_counted(tmp_path: Path) -> None:
    """PDFs, failed downloads and empty files have a cause each; the rest is silent."""
    put(
        tmp_path,
        {
            "a.pdf": PDF,
            "b.ps": POSTSCRIPT,
            "c.tar.gz": b"<html>Rate exceeded</html>",
            "d.tex": b"",
            "e.gz": b"",
            "f.zip": b"no zip at all",
            "g.png": b"\x89PNG",
            "h.csv.gz": gz(b"1,2"),
            "i.tex": b"<html>not found</html>",
            "j.dat": b"1",
            "k": b"words",
            "l.docx": zipped({"[Content_Types].xml": b""}),
        },
    )
    assert skipped(tmp_path) == {
        "a.pdf": "pdf only",
        "b.ps": "postscript only",
        "c.tar.gz": "html only",
        "d.tex": "empty",
        "e.gz": "empty",
        "f.zip": "no TeX",
        "i.tex": "html only",
        "l.docx": "word processor file",
    }


def test_empty_part_of_a_paper_is_not_counted(tmp_path: Path) -> None:
    """An empty file in the folder of one paper is a part; among papers it was meant as one."""
    put(tmp_path, {"a/m.tex": PAPER, "a/s.tex": b"", "b/m.tex": PAPER, "b/n.tex": PAPER})
    put(tmp_path, {"b/o.tex": b"\n"})
    assert skipped(tmp_path) == {"b/o.tex": "empty"}


def test_pdf_beside_tex_is_not_counted(tmp_path: Path) -> None:
    """Beside or below TeX a PDF is a figure or the output; elsewhere it is a paper."""
    put(tmp_path, {"a/m.tex": PAPER, "a/m.pdf": PDF, "a/fig/f.pdf": PDF, "b/p.pdf": PDF})
    assert skipped(tmp_path) == {"b/p.pdf": "pdf only"}


def test_hidden_files_and_linked_folders_are_passed_over(tmp_path: Path) -> None:
    """Links to folders may loop; links to files are followed, links to themselves are nothing."""
    put(
        tmp_path,
        {
            "a/p.gz": gz(PAPER),
            ".git/q.gz": gz(PAPER),
            "__MACOSX/r.gz": gz(PAPER),
            ".s.gz": gz(PAPER),
        },
    )
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "link.gz").symlink_to(tmp_path / "a" / "p.gz")
    (tmp_path / "self.gz").symlink_to("self.gz")
    (tmp_path / "gone.gz").symlink_to("nothing.gz")
    assert names(tmp_path) == ["a/p", "link"]


def test_pipes_are_not_opened(tmp_path: Path) -> None:
    """A named pipe in a folder would wait for ever."""
    os.mkfifo(tmp_path / "pipe.gz")
    assert list(discover([tmp_path])) == []
    with pytest.raises(UsageError, match=r"pipe\.gz"):
        discover([tmp_path / "pipe.gz"])


def _locked(monkeypatch: pytest.MonkeyPatch, *locked: str) -> None:
    """Let files of these names be unreadable, also to root."""
    free = sources._open

    def open_unless_locked(path: str) -> BinaryIO:
        if Path(path).name in locked:
            raise PermissionError(13, "Permission denied", path)
        return free(path)

    monkeypatch.setattr(sources, "_open", open_unless_locked)


def test_unreadable_files_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without permission is skipped with its cause, alone and in a folder."""
    put(tmp_path, {"a.gz": gz(PAPER), "b.tex": PAPER, "c.gz": gz(PAPER), "d.tex": PAPER})
    _locked(monkeypatch, "a.gz", "b.tex")
    assert skipped(tmp_path) == {"a.gz": "unreadable", "b.tex": "unreadable"}
    assert names(tmp_path) == ["c", "d"]
    assert list(skipped(tmp_path / "b.tex").values()) == ["unreadable"]


def test_file_that_becomes_unreadable_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between finding and opening anything may happen to a file."""
    put(tmp_path, {"a.gz": gz(PAPER), "p/m.tex": PAPER, "p/s.tex": PART})
    archive, paper = discover([tmp_path])
    _locked(monkeypatch, "s.tex")
    assert problems(load(paper)) == [("unreadable file", "s.tex")]
    _locked(monkeypatch, "a.gz", "m.tex")
    for found in (archive, paper):
        with pytest.raises(SourceError, match="unreadable: Permission denied"):
            load(found)


def test_unreadable_folder_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that may not be listed is reported, its neighbours are read."""
    put(tmp_path, {"a/p.gz": gz(PAPER), "b/q.gz": gz(PAPER)})
    scandir = os.scandir

    def refuse(path: str) -> object:
        if path.endswith("/a"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert names(tmp_path) == ["b/q"]
    assert skipped(tmp_path) == {"a": "unreadable"}


def test_folder_paper_keeps_to_the_limits(tmp_path: Path) -> None:
    """Loose files count like the members of an archive."""
    put(tmp_path, {"m.tex": PAPER, "a.tex": b"x" * 900, "b.tex": b"x" * 900})
    found = only(tmp_path)
    with pytest.raises(SourceError, match="too large"):
        load(found, Limits(members=2))
    with pytest.raises(SourceError, match="too large"):
        load(found, Limits(paper_bytes=1000))
    assert problems(load(found, Limits(file_bytes=500))) == [
        *(("file too large", "a.tex"), ("file too large", "b.tex"))
    ]
    with pytest.raises(SourceError, match="too large"):
        load(found, Limits(file_bytes=10))


# -- names


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("1803.09123v2.tar.gz", "1803.09123"),
        ("arXiv-1803.09123v2.tar.gz", "1803.09123"),
        ("0704.0001", "0704.0001"),
        ("ml/1803.09123_attention.zip", "1803.09123"),
        ("hep-th9901001.gz", "hep-th/9901001"),
        ("arXiv-hep-th9901001v1.tar.gz", "hep-th/9901001"),
        ("cs0112017", "cs/0112017"),
        ("math.AG_0112017.gz", "math/0112017"),
        ("hep-th/9901001.gz", "hep-th/9901001"),
        ("hep-th/9901/9901001v3.gz", "hep-th/9901001"),
        ("math-ph0112017.gz", "math-ph/0112017"),
        ("nlp/foo.tar.gz", "nlp/foo"),
        ("nlp/foo.v2.tex.gz", "nlp/foo.v2"),
        ("1913.09123.gz", "1913.09123"),  # no thirteenth month: a plain name
        ("a#1(b):c.gz", "a_1_b__c"),
    ],
)
def test_name_is_the_arxiv_id_or_the_path(tmp_path: Path, path: str, name: str) -> None:
    """The identifier where the file name carries one, else the path without suffixes."""
    put(tmp_path, {path: gz(PAPER)})
    assert names(tmp_path) == [name]


def test_file_given_directly_is_named_by_its_stem(tmp_path: Path) -> None:
    """No folder was given, none is in the name."""
    put(tmp_path, {"deep/down/foo.tar.gz": gz(tar({"a.tex": PAPER}))})
    assert names(tmp_path / "deep/down/foo.tar.gz") == ["foo"]


def test_equal_names_are_told_apart(tmp_path: Path) -> None:
    """A second version keeps its number, other namesakes are counted."""
    put(
        tmp_path,
        dict.fromkeys(["1803.09123v1.gz", "1803.09123v3.gz", "a.gz", "a.tar", "a.zip"], gz(PAPER)),
    )
    assert names(tmp_path) == ["1803.09123", "1803.09123v3", "a", "a~2", "a~3"]
    assert names(tmp_path / "a.gz", tmp_path) == [
        *("a", "1803.09123", "1803.09123v3", "a~2", "a~3", "a~4")
    ]


def test_skipped_source_takes_no_name_away(tmp_path: Path) -> None:
    """The PDF of a paper that lies before it does not push it to `~2`."""
    put(tmp_path, {"foo.pdf": PDF, "foo.tar.gz": gz(tar({"a.tex": PAPER}))})
    assert [(found.name, found.cause) for found in discover([tmp_path])] == [
        *(("foo", "pdf only"), ("foo", ""))
    ]


def test_same_path_given_twice_is_read_once(tmp_path: Path) -> None:
    """However it is spelled."""
    put(tmp_path, {"x/a.gz": gz(PAPER)})
    assert names(tmp_path, f"{tmp_path}/", tmp_path / "x" / "..") == ["x/a"]


def test_names_are_text_that_can_be_stored(tmp_path: Path) -> None:
    """File names that are not UTF-8, and identifiers with broken Unicode, become plain text."""
    path = os.fsencode(tmp_path) + b"/caf\xe9.gz"
    with open(path, "wb") as file:  # noqa: PTH123 - a path of bytes
        file.write(gz(PAPER))
    put(tmp_path, {"r.jsonl": lines(RECORD | {"paper_id": "a\ud800\nb"})})
    for found in discover([tmp_path]):
        assert (found.name + found.origin).encode()
        assert "\n" not in found.name
        assert load(found).files


# -- the interface


def test_missing_path_is_named_before_anything_is_found(tmp_path: Path) -> None:
    """The call itself fails, not the first step of the loop."""
    put(tmp_path, {"a.gz": gz(PAPER)})
    with pytest.raises(UsageError, match=r"nothing to read at .*nowhere"):
        discover([tmp_path, tmp_path / "nowhere"])


def test_file_given_directly_always_gets_an_answer(tmp_path: Path) -> None:
    """What was named by hand is never passed over in silence."""
    put(tmp_path, {"a.png": b"\x89PNG\r\n", "b.tex": b"", "c.md": b"words", "d.tex": b"words"})
    given = [tmp_path / name for name in ("a.png", "b.tex", "c.md", "d.tex")]
    assert [found.cause for found in discover(given)] == ["no TeX", "empty", "no TeX", ""]


def test_limits_are_checked_when_given() -> None:
    """A limit below one is a mistake of the caller."""
    with pytest.raises(UsageError, match="limit ratio is 0"):
        Limits(ratio=0)


def test_finds_travel_between_processes(tmp_path: Path) -> None:
    """A find is the same after pickling and opens the same."""
    put(
        tmp_path,
        {"a/m.tex": PAPER, "b.gz": gz(PAPER), "c.tar": tar(month()), "d.jsonl": lines(RECORD)},
    )
    for found in discover([tmp_path]):
        again = pickle.loads(pickle.dumps(found))  # noqa: S301 - our own bytes
        assert again == found
        if not found.cause:
            assert load(again) == load(found)


def test_skipped_find_cannot_be_opened(tmp_path: Path) -> None:
    """Opening it gives its cause again."""
    put(tmp_path, {"a.pdf": PDF})
    with pytest.raises(SourceError, match="pdf only"):
        load(only(tmp_path))


def test_finding_reads_only_the_first_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a large archive no more is decompressed than its first members' headers."""
    put(tmp_path, {"a.tar.gz": gz(tar({"a.tex": PAPER, "b.eps": os.urandom(5_000_000)}))})
    spent = Counter[str]()
    monkeypatch.setattr(sources._Meter, "spend", lambda _, size: spent.update(bytes=size))
    assert names(tmp_path) == ["a"]
    assert spent["bytes"] < 300_000


def test_nothing_is_written_to_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Archives are opened in memory, also those in archives."""
    put(tmp_path, {"a.zip": zipped({"b.tar.gz": gz(tar({"c.tex": PAPER}))})})
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setattr("tempfile.mkstemp", pytest.fail)
    load(only(tmp_path))
    assert sorted(tmp_path.rglob("*")) == before


def test_limits_of_a_find_hold_when_it_is_opened(tmp_path: Path) -> None:
    """The same find opens or not, as the limits say."""
    put(tmp_path, {"a.gz": gz(PAPER)})
    found = only(tmp_path)
    assert load(found).files
    with pytest.raises(SourceError):
        load(found, replace(sources.DEFAULTS, file_bytes=5))


# -- pieces


def test_stream_reads_peeks_and_puts_back() -> None:
    """A stream is one file, however its pieces were cut."""
    stream = sources._Stream(iter([b"ab", b"", b"cde", b"f\ng"]))
    assert stream.peek(4) == b"abcd"
    assert stream.read(3) == b"abc"
    stream.unread(b"C")
    assert stream.read(2) == b"Cd"
    assert stream.line(10) == b"ef\n"
    assert stream.line(10) == b"g"
    assert stream.line(10) == stream.read(5) == stream.peek(1) == b""


def test_stream_cuts_lines_that_are_too_long() -> None:
    """Of a long line the first bytes come, and the next line after it."""
    stream = sources._Stream(iter([b"12345", b"6789\nnext\n"]))
    assert stream.line(3) == b"1234"
    assert stream.line(5) == b"next\n"


def test_stream_keeps_the_damage_that_ended_it() -> None:
    """Data before the damage are delivered, the reason stays."""
    packed = zlib.compress(os.urandom(200_000), wbits=31)
    meter = sources._Meter(sources.DEFAULTS)
    stream = sources._Stream(sources._inflate(sources._Stream(iter([packed[:-9]])), "gzip", meter))
    assert len(stream.read(1 << 20)) > 100_000
    assert stream.fault == "the compressed data end too early"


# -- real papers

CORPORA = os.environ.get("EQEMB_CORPORA", "")


@pytest.mark.skipif(not CORPORA, reason="EQEMB_CORPORA does not name a folder of real papers")
def test_every_paper_of_the_corpora_opens() -> None:
    """All documents of the manifest are found in their collections and hold their main file."""
    manifest = Path(CORPORA, "MANIFEST.tsv").read_text(encoding="utf-8").splitlines()
    rows = list(csv.DictReader(manifest, delimiter="\t", quoting=csv.QUOTE_NONE))
    found = {(item.collection, Path(item.origin).name): item for item in discover([CORPORA])}
    assert len(rows) == len(found)
    for row in rows:
        source = load(found[row["collection"], row["file"]])
        assert row["main"] in source.files
        assert source.problems == []
