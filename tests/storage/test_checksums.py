"""Checksums of a folder: what they cover, what opening checks, and what reading finds."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from eqemb.errors import DamageError, UsageError
from eqemb.storage import checksums
from eqemb.storage.checksums import (
    CHECKSUMS,
    OpenedFiles,
    check_file,
    check_folder,
    find_damage,
    listed_files,
    read_checksums,
    seal,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file, a folder with another, and one with checksums of its own."""
    for name, text in {"a": "small", "deep/b": "larger file", "sealed/c": "x"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    (tmp_path / ".hidden").write_text("no part of it", "utf-8")
    seal(tmp_path / "sealed")
    seal(tmp_path)
    return tmp_path


def damaged(folder: Path) -> list[str]:
    """Return the damage of a folder as text."""
    found = find_damage(folder)
    return [f"{one.path.relative_to(folder).as_posix()} {one.what}" for one in found]


def test_a_sealed_folder_counts_as_its_checksums(folder: Path) -> None:
    """And every other file below as itself; hidden ones do not."""
    assert list(read_checksums(folder).files) == ["a", "deep/b", f"sealed/{CHECKSUMS}"]
    names = [Path(file.path).relative_to(folder).as_posix() for file in listed_files(folder)]
    assert names == ["a", "deep/b", f"sealed/{CHECKSUMS}", "sealed/c"]
    assert damaged(folder) == []


def test_the_same_files_have_the_same_checksums(folder: Path) -> None:
    """Byte by byte; times and permissions have no part in them."""
    before = (folder / CHECKSUMS).read_bytes()
    os.utime(folder / "a", (1, 1))
    seal(folder)
    assert (folder / CHECKSUMS).read_bytes() == before


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("a", b"smell", "a was changed"),
        ("a", b"sm", "a has 2 bytes instead of 5"),
        ("deep/b", None, "deep/b is missing"),
        ("sealed/c", b"y", "sealed/c was changed"),
        ("deep/d", b"", "deep/d does not belong here"),
        ("sealed/d", b"", "sealed/d does not belong here"),
        (f"sealed/{CHECKSUMS}", None, f"sealed/{CHECKSUMS} is missing"),
    ],
)
def test_damage_is_found_by_reading(
    folder: Path, name: str, content: bytes | None, what: str
) -> None:
    """Each file is named, with what is wrong with it."""
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    (found,) = damaged(folder)
    assert found.startswith(what)


def test_any_change_of_the_checksums_is_found(folder: Path) -> None:
    """Every bit of them."""
    path = folder / CHECKSUMS
    whole = path.read_bytes()
    for at in range(len(whole)):
        for bit in (1, 32):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :])
            assert damaged(folder), at
            with pytest.raises((DamageError, UsageError)):
                check_folder(folder)


def test_sizes_and_small_files_are_checked_at_opening(folder: Path) -> None:
    """A larger file is read if that is allowed."""
    OpenedFiles(listed_files(folder))
    (folder / "deep" / "b").write_text("LARGER file", "utf-8")
    opened = OpenedFiles(listed_files(folder), most=6)
    with pytest.raises(DamageError, match=r"b was changed: restore it from a copy"):
        opened.check_all()
    with pytest.raises(DamageError, match=r"b was changed"):
        check_folder(folder)
    (folder / "a").write_text("smell", "utf-8")
    with pytest.raises(DamageError, match=r"a was changed"):
        check_folder(folder, most=6)
    (folder / "a").write_text("longer", "utf-8")
    with pytest.raises(DamageError, match=r"a has 6 bytes instead of 5"):
        check_folder(folder, most=0)


def test_a_folder_of_a_small_library_is_read_completely(tmp_path: Path) -> None:
    """Also its largest file: 40 MB are the records and the model of about 60 papers."""
    path = tmp_path / "records.sqlite"
    path.write_bytes(bytes(40_000_000))
    seal(tmp_path)
    with path.open("r+b") as file:
        file.seek(20_000_000)
        file.write(b"x")
    with pytest.raises(DamageError, match=r"records\.sqlite was changed"):
        check_folder(tmp_path)


def test_other_entries_are_refused_at_opening(folder: Path) -> None:
    """What exists may decide how a folder is read."""
    (folder / "model").mkdir()
    with pytest.raises(DamageError, match="model does not belong here"):
        check_folder(folder)


def test_a_change_of_an_opened_file_is_noticed(folder: Path) -> None:
    """In place or by another file; a file that is gone can still be read where it is mapped."""
    opened = OpenedFiles(listed_files(folder))
    (folder / "a").unlink()
    assert opened.changed() is None
    assert opened.changed(or_removed=True) == str(folder / "a")
    (folder / "a").write_text("small", "utf-8")
    assert opened.changed() == str(folder / "a")


def test_one_file_is_compared_with_the_checksums_of_its_folder(folder: Path) -> None:
    """One that they do not have is not checked."""
    check_file(folder / "a")
    check_file(folder / "other")
    (folder / "a").write_text("smell", "utf-8")
    with pytest.raises(DamageError, match=r"a was changed: paint it"):
        check_file(folder / "a", "paint it")


@pytest.mark.parametrize("version", [0, 2])
def test_checksums_of_another_version_are_refused(folder: Path, version: int) -> None:
    """The message says which version is read."""
    path = folder / CHECKSUMS
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {"version": version}), "utf-8")
    with pytest.raises(UsageError, match=rf"version {version}, but this eqemb reads version 1"):
        check_folder(folder)
    assert "reads version 1" in damaged(folder)[0]


@pytest.mark.parametrize("name", ["../a", "/etc/passwd", "c:/a"])
def test_checksums_name_nothing_outside_of_their_folder(folder: Path, name: str) -> None:
    """Those of a stranger may try."""
    path = folder / CHECKSUMS
    path.write_bytes(path.read_bytes().replace(b'"a"', json.dumps(name).encode()))
    (found,) = damaged(folder)
    assert found.startswith(f"{CHECKSUMS} is damaged: restore it")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
@pytest.mark.parametrize(
    "name", ["a:b", "v1..2", "back\\slash", "two\nlines", os.fsdecode(b"\xff"), "C:", "a b\u00e9"]
)
def test_any_file_name_can_be_sealed(tmp_path: Path, name: str) -> None:
    """What is written can be read again; bytes that are no UTF-8 are kept."""
    try:
        (tmp_path / name).write_text("x", "utf-8")
    except OSError:  # macOS refuses names that are no UTF-8
        pytest.skip("the file system refuses this name")
    seal(tmp_path)
    assert list(read_checksums(tmp_path).files) == [name]
    assert damaged(tmp_path) == []
    (tmp_path / name).write_text("y", "utf-8")
    with pytest.raises(DamageError, match="was changed"):
        check_folder(tmp_path)


@pytest.mark.parametrize(
    ("files", "parts"),
    [
        ({"a": ["1", "x"]}, {}),
        ({"a": [1]}, {}),
        ({"a": [1, None]}, {}),
        ({"a": 1}, {}),
        ({"a\0b": [1, "x"]}, {}),
        ({"../a": [1, "x"]}, {}),
        ({"/a": [1, "x"]}, {}),
        ({"": [1, "x"]}, {}),
        ({}, {"../other": "x"}),
        ({}, {"part": None}),
        ([], {}),
    ],
)
def test_checksums_of_another_program_are_refused(tmp_path: Path, files: Any, parts: Any) -> None:
    """Their hash is right, but not what they say: one sentence, and no file elsewhere is read."""
    (tmp_path / CHECKSUMS).write_bytes(checksums._to_bytes(files, parts))
    with pytest.raises(DamageError, match=r"checksums\.json is damaged"):
        check_folder(tmp_path)
    assert damaged(tmp_path) == ["checksums.json is damaged: " + checksums.RESTORE]
