"""Archives of every format are read, and their headers are not trusted."""

import os
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqemb.errors import SourceError
from eqemb.sources import CAUSES, PROBLEMS, discover, load
from eqemb.sources.archives import _zip64
from packing import (
    FORMS,
    PAPER,
    PART,
    PDF,
    POSTSCRIPT,
    RECORD,
    entry,
    gz,
    header,
    lines,
    only,
    opened,
    problems,
    put,
    refused,
    tar,
    tar_of,
    zipped,
)


@pytest.mark.parametrize("form", FORMS)
def test_archive_of_every_form_opens_whatever_its_name(tmp_path: Path, form: str) -> None:
    """A paper packed in any format is read, even if its name has no suffix."""
    files = {"main.tex": PAPER, "sec/a.tex": PART, "my.sty": b"\\def\\x{1}", "fig.eps": POSTSCRIPT}
    put(tmp_path, {"download": FORMS[form](files)})
    found = only(tmp_path)
    source = load(found)
    assert found.kind == "file"
    assert found.name == "download"
    assert source.files == {name: files[name] for name in ("main.tex", "sec/a.tex", "my.sty")}
    assert source.main is None
    assert source.problems == []


def test_long_and_foreign_names_survive() -> None:
    """Names of any length, in any tar dialect, and names that are not UTF-8."""
    long = "/".join(["folder" * 5] * 6) + "/é.tex"
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        assert list(opened(tar({long: PAPER}, form)).files) == [long]
    assert list(opened(tar({"p" * 90 + "/" + "n" * 80 + ".tex": PAPER})).files)
    latin = tar({"x.tex": PAPER}).replace(b"x.tex", b"\xe9.tex", 1)
    fixed = header(b"\xe9.tex", b"%011o" % len(PAPER)) + latin[512:]
    assert list(opened(fixed).files) == ["é.tex"]


def test_links_and_devices_are_refused_and_noted() -> None:
    """Only regular files are read; any other member that may be TeX is reported."""
    kinds = {
        "link.tex": tarfile.SYMTYPE,
        "hard.sty": tarfile.LNKTYPE,
        "null.tex": tarfile.CHRTYPE,
        "pipe.tex": tarfile.FIFOTYPE,
    }
    others = {"fig.eps": tarfile.SYMTYPE, "figures": tarfile.SYMTYPE, "f.tex": tarfile.DIRTYPE}
    entries = [entry(name, kind, target="/etc/passwd") for name, kind in (kinds | others).items()]
    source = opened(tar_of([*entries, entry("a.tex", data=PAPER)]))
    assert list(source.files) == ["a.tex"]
    assert problems(source) == [("unsafe member", name) for name in kinds]


def test_link_in_a_zip_is_refused() -> None:
    """A zip stores links as Unix modes."""
    data = bytearray(zipped({"link.tex": b"/etc/passwd", "a.tex": PAPER}))
    struct.pack_into("<L", data, data.index(b"PK\1\2") + 38, 0o120777 << 16)
    assert problems(opened(bytes(data))) == [("unsafe member", "link.tex")]


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


def test_zip_with_overlapping_entries_is_a_bomb() -> None:
    """Directory entries cannot share their content."""
    one = zipped({"a.tex": PAPER + os.urandom(50_000).hex().encode()})
    assert refused(repeated(one, 2)) == "archive bomb"


def repeated(data: bytes, times: int) -> bytes:
    """A zip of one entry that is listed many times."""
    start, end = data.index(b"PK\1\2"), data.index(b"PK\5\6")
    size = struct.pack("<L", (end - start) * times)
    last = data[end : end + 12] + size + data[end + 16 :]
    return data[:start] + data[start:end] * times + last


def test_too_many_members_are_a_bomb() -> None:
    """A hundred thousand empty members exceed the limit."""
    assert refused(header(b"a.x", b"0" * 11) * 100_000) == "archive bomb"
    assert refused(repeated(zipped({"a.x": b""}), 100_000)) == "archive bomb"


def test_member_that_claims_a_huge_size_ends_with_the_file() -> None:
    """No memory is allocated for the size that a tar header claims."""
    lying = header(b"b.tex", b"\x80" + (1 << 60).to_bytes(11, "big")) + PART
    source = opened(tar({"a.tex": PAPER})[:1024] + lying)
    assert source.files == {"a.tex": PAPER, "b.tex": PART}
    assert problems(source) == [("truncated archive", "b.tex")]
    assert refused(lying[:512]) == "broken archive"


@pytest.mark.parametrize(
    "size", [b"\xff" * 10 + b"\xfe\0", b"-0000000777", b"99999999999", b"\x80\xff"]
)
def test_impossible_sizes_do_not_hang(size: bytes) -> None:
    """Negative and absurd sizes end the archive."""
    data = tar({"a.tex": PAPER})[:1024] + header(b"b.tex", size) + PART
    assert opened(data).files["a.tex"] == PAPER


@pytest.mark.parametrize("value", ["-5", "x", "1" * 5000, "9" * 30])
def test_extended_headers_are_not_trusted(value: str) -> None:
    """A pax record may claim any size."""
    record = f" size={value}\n"
    length = len(record) + len(str(len(record) + 4))
    body = f"{length}{record}".encode()
    body += b"\0" * (-len(body) % 512)
    data = tar({"a.tex": PAPER})[:1024] + header(b"x", b"%011o" % len(body), b"x") + body
    source = opened(data + header(b"b.tex", b"%011o" % len(PART)) + PART.ljust(512, b"\0"))
    assert source.files["a.tex"] == PAPER


def test_huge_extended_header_is_passed_over() -> None:
    """A name of ten megabytes is not kept in memory."""
    name = header(b"x", b"%011o" % 10_485_760, b"L") + os.urandom(1 << 20) * 10
    data = tar({"a.tex": PAPER})[:1024] + name + tar({"b.tex": PART})
    assert set(opened(data).files.values()) >= {PAPER}


def test_sparse_member_does_not_derail_a_tar() -> None:
    """The map of a sparse file is skipped, and the next member is found."""
    block = bytearray(header(b"s.dat", b"%011o" % 512, b"S"))
    block[482] = 1
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    data = bytes(block) + b"\0" * 512 + b"d" * 512 + tar({"a.tex": PAPER})
    assert opened(data).files == {"a.tex": PAPER}


def test_encrypted_members_are_noted() -> None:
    """An encrypted text is a problem; if all are encrypted, the source is skipped."""
    data = bytearray(zipped({"b.tex": PART, "a.tex": PAPER}))
    data[data.index(b"PK\1\2") + 8] |= 1
    assert problems(opened(bytes(data))) == [("encrypted member", "b.tex")]
    alone = bytearray(zipped({"b.tex": PART}))
    alone[alone.index(b"PK\1\2") + 8] |= 1
    assert refused(bytes(alone)) == "encrypted"


def test_unknown_zip_method_is_noted() -> None:
    """A member with an unsupported compression method is reported."""
    data = bytearray(zipped({"b.tex": PART, "a.tex": PAPER}))
    data[data.index(b"PK\1\2") + 10] = 14
    assert problems(opened(bytes(data))) == [("unsupported compression", "b.tex")]
    assert refused(zipped({"b.tex": PART}, zipfile.ZIP_LZMA)) == "unsupported archive"


def test_zip_behind_other_bytes_and_in_64_bits_is_read(tmp_path: Path) -> None:
    """Offsets may be shifted by a prefix, and sizes may be in the 64-bit fields."""
    full = 0xFFFFFFFF
    assert _zip64(struct.pack("<2HQQ", 1, 16, 7, 8), [full, full, 9]) == [7, 8, 9]
    assert _zip64(b"\1\0\xff\xff", [full, 1, 2]) == [full, 1, 2]
    path = tmp_path / "a.zip"
    path.write_bytes(b"PK\3\4 a stub" + zipped({"a.tex": PAPER}))
    assert load(only(path)).files == {"a.tex": PAPER}


def test_zip64_directory_is_read() -> None:
    """The 64-bit end record takes precedence over the 32-bit one."""
    data = zipped({"a.tex": PAPER})
    end = data.index(b"PK\5\6")
    start = data.index(b"PK\1\2")
    wide = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, end - start, start)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, end, 1)
    last = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    assert opened(data[:end] + wide + locator + last).files == {"a.tex": PAPER}


def test_truncated_tar_keeps_the_files_before_the_cut() -> None:
    """Members before the cut are complete; the member at the cut is partial and reported."""
    files = {"a.tex": PAPER, "b.tex": PART + os.urandom(60_000).hex().encode()}
    source = opened(gz(tar(files))[:-30_000])
    assert source.files["a.tex"] == PAPER
    assert files["b.tex"].startswith(source.files["b.tex"])
    assert problems(source) == [("truncated archive", "b.tex")]


def test_damage_before_any_text_is_a_broken_archive() -> None:
    """Without any text, the source is skipped."""
    assert refused(gz(tar({"a.tex": PAPER}))[:15]) == "broken archive"
    assert refused(zipped({"a.tex": PAPER})[:-30]) == "broken archive"
    assert (
        refused(gz(tar({"a.dat": os.urandom(50_000), "a.tex": PAPER}))[:-5000]) == "broken archive"
    )
    data = bytearray(zipped({"a.tex": PAPER}))
    data[40:60] = b"\xff" * 20
    assert refused(bytes(data)) == "broken archive"


SEEDS = [
    *(pack({"main.tex": PAPER, "b/c.tex": PART, "d.eps": b"%!PS"}) for pack in FORMS.values()),
    gz(PAPER),
    lines(RECORD, RECORD),
    gz(lines(RECORD)),
    tar({"0704/0704.0001.gz": gz(PAPER), "0704/0704.0002.pdf": PDF}),
    zipped({"a.tar.gz": gz(tar({"a.tex": PAPER}))}),
]
MAGIC = [b"PK\3\4", b"PK\5\6", b"\x1f\x8b\x08", b"BZh9", b"\xfd7zXZ\0", b"\xff" * 8, b"\0" * 12]


def survives(data: bytes, path: Path) -> None:
    """Discover and load papers from bytes; every failure has one of the fixed causes."""
    path.write_bytes(data)
    causes = set()
    for found in discover([path]):
        try:
            source = load(found)
        except SourceError as error:
            causes.add(error.cause)
        else:
            assert source.files
            causes.update(problem.cause for problem in source.problems)
    assert causes <= {*CAUSES, *PROBLEMS}


@given(data=st.binary(max_size=2000))
def test_any_bytes_open_or_are_refused(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    """Random bytes raise nothing but a SourceError with a fixed cause."""
    survives(data, tmp_path_factory.getbasetemp() / "bytes")


@given(
    data=st.sampled_from(SEEDS),
    edits=st.lists(
        st.tuples(st.floats(0, 1), st.binary(max_size=6) | st.sampled_from(MAGIC)), max_size=6
    ),
    cut=st.floats(0, 1),
)
def test_any_mutated_archive_opens_or_is_refused(
    tmp_path_factory: pytest.TempPathFactory,
    data: bytes,
    edits: list[tuple[float, bytes]],
    cut: float,
) -> None:
    """Archives with changed bytes and cut ends raise nothing but a SourceError."""
    raw = bytearray(data)
    for place, change in edits:
        at = int(place * len(raw))
        raw[at : at + len(change)] = change
    path = tmp_path_factory.getbasetemp() / "mutated"
    survives(bytes(raw), path)
    survives(bytes(raw[: int(cut * len(raw))]), path)
