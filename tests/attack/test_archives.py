"""Archives that unfold to more than their size deserves are refused, over all levels."""

import gzip
import io
import random
import struct
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path

import pytest

from campaigns import FULL
from eqemb.errors import SourceError
from eqemb.sources import CAUSES, PROBLEMS, Found, Limits, discover, load
from packing import FORMS, PAPER, PART, entry, gz, lines, put, skipped, tar, tar_of, zipped

Record = Callable[[str, object], None]
#: Small limits, so that small bombs exceed them.
SMALL = Limits(members=200, paper_bytes=200_000)


def overlapping(inner: bytes, names: list[str]) -> bytes:
    """A zip whose directory lists one entry under many names."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed, crc = packer.compress(inner) + packer.flush(), zlib.crc32(inner)
    sizes = (crc, len(packed), len(inner))
    first = names[0].encode()
    body = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 8, 0, 0, *sizes, len(first), 0)
    body += first + packed
    entries = b"".join(
        struct.pack(
            "<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 8, 0, 0, *sizes, len(name), 0, 0, 0, 0, 0, 0
        )
        + name.encode()
        for name in names
    )
    count = min(len(names), 0xFFFF)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, len(entries), len(body), 0)
    return body + entries + end


def quoted(count: int) -> bytes:
    """A zip of entries with one kernel: each quotes the local header of the next."""
    kernel = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = kernel.compress(b"a" * 100_000) + kernel.flush()
    header, body, entries, size = b"", data, [], 100_000
    for number in reversed(range(count)):
        name = b"p%05d.gz" % number
        if header:  # a stored block that holds the next local header
            quote = len(header)
            body = struct.pack("<BHH", 0, quote, quote ^ 0xFFFF) + body
            size += quote
        header = struct.pack(
            "<4s5H3L2H", b"PK\3\4", 20, 0, 8, 0, 0, 0, len(body), size, len(name), 0
        )
        header += name
        body = header + body
        entries.append((name, len(body) - len(header), size, len(body)))
    listed = b"".join(
        struct.pack(
            "<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 8, 0, 0, 0, packed, whole, len(name),
            0, 0, 0, 0, 0, len(body) - length,
        ) + name
        for name, packed, whole, length in entries
    )  # fmt: skip
    return body + listed + struct.pack(
        "<4s4H2LH", b"PK\5\6", 0, 0, count, count, len(listed), len(body), 0
    )  # fmt: skip


def found_in(folder: Path, limits: Limits = SMALL, most: int = 100_000) -> "Counter[str]":
    """How often each cause is found; '' for a paper. Fail if there is no end."""
    causes = Counter(one.cause for one in islice(discover([folder], limits), most + 1))
    assert causes.total() <= most
    assert set(causes) <= {"", *CAUSES}
    return causes


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_overlapping_entries_are_refused(depth: int, tmp_path: Path) -> None:
    """At the first look: three levels of 19,000 entries would be 7e12 papers."""
    count = 19_000 if FULL else 1_900
    data = gz(PAPER)
    for level in range(depth):
        data = overlapping(
            data, [f"{level}-{at:05}.{'zip' if level else 'gz'}" for at in range(count)]
        )
    put(tmp_path, {"a.tex": PAPER, "bomb.zip": data})
    assert found_in(tmp_path, Limits()) == {"": 1, "archive bomb": 1}


def test_quoted_entries_are_refused(tmp_path: Path) -> None:
    """Each entry overlaps all that follow it; together they are larger than the file."""
    data = quoted(300)
    assert len(zipfile.ZipFile(io.BytesIO(data)).namelist()) == 300
    put(tmp_path, {"a.tex": PAPER, "bomb.zip": data})
    assert found_in(tmp_path, Limits()) == {"": 1, "archive bomb": 1}


def test_overlapping_entries_of_one_paper_are_refused() -> None:
    """Also by the process that reads it."""
    data = overlapping(PAPER, [f"{at}.tex" for at in range(100)])
    with pytest.raises(SourceError, match="archive bomb: entries of the zip overlap"):
        load(Found("p", "p.zip", "", "data", "", data=data))


NESTS: dict[str, Callable[[dict[str, bytes]], bytes]] = {
    "tar.gz": lambda files: gz(tar(files)),
    "zip": zipped,
    "tar.xz": FORMS["tar.xz"],
    "tar.bz2": FORMS["tar.bz2"],
    "zip in gzip": FORMS["zip in gzip"],
}


@pytest.mark.parametrize("form", NESTS)
def test_members_are_counted_over_all_levels(form: str, tmp_path: Path) -> None:
    """Each archive has few, and all together have more than the limit."""
    end = {"zip in gzip": "zip.gz"}.get(form, form)
    inner = NESTS[form]({f"{at}.gz": gz(PAPER) for at in range(60)})
    middle = NESTS[form]({f"{at}.{end}": inner for at in range(20)})
    data = NESTS[form]({f"{at}.{end}": middle for at in range(20)})
    put(tmp_path, {"a.tex": PAPER, f"bomb.{end}": data})
    causes = found_in(tmp_path)
    assert causes["archive bomb"] == 1
    assert causes[""] <= SMALL.members + len(data) // 64
    assert set(causes) == {"", "archive bomb"}


@pytest.mark.parametrize("form", NESTS)
def test_bytes_are_counted_over_all_levels(form: str, tmp_path: Path) -> None:
    """Each level alone is far from the ratio that is a bomb."""
    end = {"zip in gzip": "zip.gz"}.get(form, form)
    noise = random.Random(0).randbytes(2_000)
    inner = NESTS[form]({f"{at}.gz": gz(PAPER + noise) for at in range(30)})
    data = NESTS[form]({f"{at}.{end}": inner for at in range(150)})
    put(tmp_path, {"a.tex": PAPER, f"bomb.{end}": data})
    limits = Limits(members=100_000, paper_bytes=200_000, ratio=2)
    assert found_in(tmp_path, limits)["archive bomb"] == 1


def test_streams_after_each_other_are_counted(tmp_path: Path) -> None:
    """Gzip allows any number of them in a file."""
    count = 100_000 if FULL else 10_000
    put(tmp_path, {"a.tex": PAPER, "b.gz": gzip.compress(b"", mtime=0) * count})
    assert found_in(tmp_path, Limits(members=100)) == {"": 1, "archive bomb": 1}


def test_records_are_counted(tmp_path: Path) -> None:
    """Lines of unarXive compress to almost nothing."""
    records = lines({"paper_id": "2301.00001", "body_text": [{"text": "w"}]}) * 5_000
    put(tmp_path, {"a.tex": PAPER, "b.jsonl.gz": gz(records)})
    causes = found_in(tmp_path)
    assert causes["archive bomb"] == 1
    assert causes[""] < 1_000


def test_ordinary_containers_are_read_whole(tmp_path: Path) -> None:
    """A month of papers, in a container of containers."""
    months = {
        f"{month}.tar": tar({f"{month}/{month}.{at:05}.gz": gz(PAPER) for at in range(50)})
        for month in (2301, 2302)
    }
    put(tmp_path, {"a.zip": zipped(months)})
    assert found_in(tmp_path, Limits()) == {"": 100}


UNSAFE = {
    "../2301.00002.gz": b"0",
    "/abs/2301.00003.gz": b"0",
    "x/../../2301.00004.gz": b"0",
    "2301.00005.gz": b"2",
    "2301.00006.gz": b"1",
    "2301.00007.gz": b"6",
    "2301.00008.gz": b"3",
}


def test_unsafe_members_of_a_container_are_reported(
    tmp_path: Path, record_property: Record
) -> None:
    """Links, devices, and paths that leave it."""
    members = [
        entry(name, kind, gz(PAPER) if kind == b"0" else b"", "/etc/passwd")
        for name, kind in UNSAFE.items()
    ]
    put(tmp_path, {"month.tar": tar_of([entry("2301.00001.gz", data=gz(PAPER)), *members])})
    assert skipped(tmp_path) == {f"month.tar!{name}": "unsafe member" for name in UNSAFE}
    assert [one.name for one in discover([tmp_path]) if not one.cause] == ["2301.00001"]
    record_property("cases", len(UNSAFE))


@pytest.mark.parametrize("make", [zipped, partial(tar, form=tarfile.PAX_FORMAT)])
def test_members_with_very_long_paths_are_reported(
    make: Callable[[dict[str, bytes]], bytes], tmp_path: Path
) -> None:
    """A path of a million folders fits into two kilobytes, and took gigabytes to look at."""
    long = {
        f"{'a/' * 30_000}m.md": b"$$x$$",
        f"{'b/' * 101}m.md": b"$$x$$",
        "c" * 4_094 + ".md": b"$$x$$",
    }
    put(tmp_path, {"notes.zip": make({"m.md": b"$$x$$"} | long)})
    assert skipped(tmp_path) == {f"notes.zip!{name}": "unsafe member" for name in long}
    assert [one.name for one in discover([tmp_path]) if not one.cause] == ["notes/m"]


def mutate(data: bytes, dice: random.Random) -> bytes:
    """Change some bytes, or cut, repeat or exchange some pieces."""
    made = bytearray(data)
    for _ in range(dice.randint(1, 6)):
        start = dice.randrange(len(made))
        end = min(len(made), start + dice.choice((1, 1, 2, 4, 30, 512)))
        change = dice.randrange(4)
        if change == 0:
            made[start:end] = dice.randbytes(end - start)
        elif change == 1:
            made[start:end] = dice.choice((b"\xff", b"\0", b"7")) * (end - start)
        elif change == 2:
            made[start:start] = made[start:end] * dice.randint(1, 50)
        elif len(made) > 600:
            del made[start:end]
    return bytes(made)


def test_mutated_archives_end_with_a_cause(tmp_path: Path, record_property: Record) -> None:
    """Every one is read, in part or whole, or refused for a known cause."""
    dice = random.Random(7)
    inside = {
        "main.tex": PAPER,
        "b.tex": PART,
        "c.gz": gz(PAPER),
        "d.zip": zipped({"e.tex": PAPER}),
    }
    month = {"2301.00001.gz": gz(tar(inside)), "2301.00002.zip": zipped(inside)}
    seeds = [pack(files) for pack in FORMS.values() for files in (inside, month)]
    count = 3_000 if FULL else 60
    for number in range(count):
        data = mutate(seeds[number % len(seeds)], dice)
        folder = put(tmp_path / str(number), {"p.tar.gz": data})
        for found in islice(discover([folder], SMALL), 10_000):
            try:
                causes = {problem.cause for problem in load(found, SMALL).problems}
                assert causes <= set(PROBLEMS)
            except SourceError as error:
                assert error.cause in CAUSES, (number, error)  # noqa: PT017
    record_property("cases", count)
