"""A library folder: atomic switches, opening, refusals and error messages."""

import json
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from eqemb.errors import DamageError, EqembError, UsageError
from eqemb.facade.library import Library
from eqemb.library import generations
from eqemb.library.database import RECORDS_FORMAT
from eqemb.library.generations import make_folder, next_generation, switch
from eqemb.library.manifest import Manifest
from eqemb.library.rows import from_article, skipped
from eqemb.library.segments import SegmentWriter
from eqemb.storage.atomic import to_json, write_atomically
from eqemb.storage.locks import locked, remove_unheld
from synthetic import article, equation, forget_checksums

HALF = os.fsdecode(b"caf\xe9")


class Killed(BaseException):
    """Simulates a kill: nothing catches it."""


def add_generation(folder: Path, *names: str) -> Path:
    """Write a finished generation without switching to it."""
    generation = next_generation(folder)
    generation.mkdir(parents=True)
    writer = SegmentWriter(generation, None)
    for name in names:
        writer.add(from_article(article(name, equation(name=name)), 0, b""))
    writer.add(skipped("p", "p.pdf", "", "pdf only", ""))
    writer.finish()
    Manifest(tuple(writer.segments), str(folder)).save(generation)
    for name in ("report.json", "report.html"):
        (generation / name).write_text(to_json({"articles": len(names)}), "utf-8")
    return generation


def make_library(folder: Path, *names: str) -> Path:
    """Make a library of these articles."""
    switch(folder, add_generation(folder, *names))
    return folder


def names(folder: Path) -> list[str]:
    """Return the names of a library's articles."""
    with Library.open(folder) as opened:
        return [found.name for found in opened.articles()]


# -- atomic writes


def test_a_file_is_written(tmp_path: Path) -> None:
    """Under its name, without temporary files."""
    write_atomically(tmp_path / "f.json", "é\n")
    assert {p.name: p.read_text("utf-8") for p in tmp_path.iterdir()} == {"f.json": "é\n"}


@pytest.mark.parametrize(("owner", "name"), [(os, "fsync"), (Path, "replace")])
def test_a_file_that_cannot_be_written_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: object, name: str
) -> None:
    """A full disk at any step loses only the new content."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "f.json"
    write_atomically(path, "old")
    monkeypatch.setattr(owner, name, full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, "new")
    assert {p.name: p.read_text("utf-8") for p in tmp_path.iterdir()} == {"f.json": "old"}


def test_what_a_kill_left_is_no_hindrance(tmp_path: Path) -> None:
    """The temporary folder of a killed write is removed."""
    (tmp_path / ".f.json.abcd1234").mkdir()
    (tmp_path / ".f.json.abcd1234" / "f.json").write_text("half of a long content", "utf-8")
    write_atomically(tmp_path / "f.json", "new")
    assert {p.name: p.read_text("utf-8") for p in tmp_path.iterdir()} == {"f.json": "new"}


@pytest.mark.skipif(os.name != "posix", reason="permissions as POSIX has them")
def test_files_respect_the_umask(tmp_path: Path) -> None:
    """It decides who may read them."""
    before = os.umask(0o077)
    try:
        write_atomically(tmp_path / "f", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o600


def test_undecodable_paths_are_kept(tmp_path: Path) -> None:
    """JSON with such a file name reads back unchanged."""
    write_atomically(tmp_path / "f.json", to_json({"path": HALF}))
    assert json.loads((tmp_path / "f.json").read_text("utf-8")) == {"path": HALF}


# -- opening


def test_a_library_gives_its_articles_in_order(tmp_path: Path) -> None:
    """Without skipped sources."""
    assert names(make_library(tmp_path, "b", "a")) == ["b", "a"]


def test_a_library_opens_by_path_or_text(tmp_path: Path) -> None:
    """A string works like a Path."""
    make_library(tmp_path, "a")
    with Library.open(str(tmp_path)) as opened:
        assert opened.article("a").equations[0].id == "a#1"
        assert opened.report == {"articles": 1}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ({"format": RECORDS_FORMAT + 1, "generation": 1}, "made by a newer version"),
        ({"format": "x", "generation": 1}, "made by another version"),
        ({"format": RECORDS_FORMAT}, "does not describe a library"),
        ({"format": RECORDS_FORMAT, "generation": "x"}, "does not describe a library"),
        ({"books": []}, "does not describe a library"),
        ([], "does not describe a library"),
        ("", "does not describe a library"),
    ],
)
def test_a_foreign_library_json_is_refused(tmp_path: Path, content: object, sentence: str) -> None:
    """Of another version, damaged, or of another program."""
    (tmp_path / "library.json").write_text(json.dumps(content), "utf-8")
    with pytest.raises(EqembError, match=sentence):
        Library.open(tmp_path)
    with pytest.raises(EqembError, match=sentence):
        make_folder(tmp_path)


def test_a_binary_library_json_is_refused(tmp_path: Path) -> None:
    """Neither JSON nor UTF-8."""
    (tmp_path / "library.json").write_bytes(b"\xff\xfe{")
    with pytest.raises(EqembError, match="does not describe a library"):
        Library.open(tmp_path)


def test_a_missing_library_error_says_how_to_make_one(tmp_path: Path) -> None:
    """For an empty folder and a missing one."""
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(UsageError, match=r"no library at .*: create one with `eqemb build"):
            Library.open(folder)


def test_an_unfinished_library_is_refused(tmp_path: Path) -> None:
    """The error says how to finish it."""
    add_generation(tmp_path, "a")
    with pytest.raises(UsageError, match=r"not finished: .*--resume"):
        Library.open(tmp_path)


def test_a_file_is_refused_as_library(tmp_path: Path) -> None:
    """A folder is expected."""
    (tmp_path / "f").write_text("x", "utf-8")
    with pytest.raises(UsageError, match="is a file, not a library folder"):
        Library.open(tmp_path / "f")


@pytest.mark.parametrize(
    ("removed", "sentence"),
    [
        ("generations", r"has no readable manifest .*: rebuild the library"),
        ("segments", r"cannot read .*; rebuild the library"),
    ],
)
def test_a_library_without_records_is_refused(tmp_path: Path, removed: str, sentence: str) -> None:
    """The generation or the segments were removed; also if an older version made the library."""
    make_library(tmp_path, "a")
    shutil.rmtree(tmp_path / removed)
    with pytest.raises(DamageError, match=r"checksums\.json is missing: .* rebuild the library"):
        Library.open(tmp_path)
    forget_checksums(tmp_path)
    with pytest.raises(EqembError, match=sentence):
        Library.open(tmp_path)


def test_a_library_without_report_is_readable(tmp_path: Path) -> None:
    """Only the report is refused, in a library without checksums."""
    forget_checksums(make_library(tmp_path, "a"))
    (tmp_path / "generations/1/report.json").unlink()
    with Library.open(tmp_path) as opened:
        assert opened.article("a").name == "a"
        with pytest.raises(EqembError, match="has no readable report"):
            _ = opened.report


def test_damaged_records_are_reported(tmp_path: Path) -> None:
    """Damage in the middle of the file is noticed when it is read, if not before."""
    many = [f"{number:04}" for number in range(500)]
    (path,) = forget_checksums(make_library(tmp_path, *many)).glob("segments/*/records.sqlite")
    data = bytearray(path.read_bytes())
    data[len(data) // 4 : -4096] = b"\xff" * (len(data) - 4096 - len(data) // 4)
    path.write_bytes(data)
    with (
        pytest.raises(EqembError, match=r"(is damaged|cannot read) .*: "),
        Library.open(tmp_path) as opened,
    ):
        list(opened.articles())


# -- articles by name


def test_similar_names_are_suggested_for_a_misspelt_article(tmp_path: Path) -> None:
    """Up to three."""
    make_library(tmp_path, "bm25", "cosine", "lstm")
    with (
        Library.open(tmp_path) as opened,
        pytest.raises(UsageError, match=r"no article 'cosinus' in .*: did you mean cosine\?"),
    ):
        opened.article("cosinus")


def test_last_parts_of_a_name_are_enough_where_they_are_unique(tmp_path: Path) -> None:
    """The whole name comes first; several articles that end alike are listed."""
    make_library(tmp_path, "a/b/x", "a/c/x", "y", "a/y", "b/ab")
    with Library.open(tmp_path) as opened:
        for given, name in {"b/x": "a/b/x", "a/b/x": "a/b/x", "y": "y", "ab": "b/ab"}.items():
            assert opened.article(given).name == name
        with pytest.raises(UsageError, match=r"'x' is .* 2 articles \(a/b/x, a/c/x\); write the "):
            opened.article("x")
        for unknown in ("", "b", "/x", "X"):
            with pytest.raises(UsageError, match=f"no article '{unknown}'"):
                opened.article(unknown)


def test_at_most_five_articles_are_listed(tmp_path: Path) -> None:
    """If many names end alike."""
    make_library(tmp_path, *(f"{folder}/x" for folder in "abcdefg"))
    with (
        Library.open(tmp_path) as opened,
        pytest.raises(UsageError, match=r"7 articles \(a/x, b/x, c/x, d/x, e/x, \.\.\.\)"),
    ):
        opened.article("x")


def test_without_suggestion_the_error_says_what_to_do(tmp_path: Path) -> None:
    """No suggestion is better than a wrong one."""
    make_library(tmp_path, "bm25")
    with Library.open(tmp_path) as opened, pytest.raises(UsageError, match="`eqemb show LIBRARY`"):
        opened.article("zzzzzz")


# -- folders


@pytest.mark.parametrize(
    "content",
    [
        ["thesis.tex"],
        [".git/config"],
        [".lock", "notes.txt"],
        ["generations/1/precious.txt"],
        ["generations/1/precious.txt", "notes.txt"],
        ["report.html"],
    ],
    ids=" ".join,
)
def test_a_foreign_folder_is_refused(tmp_path: Path, content: list[str]) -> None:
    """Even if parts look like a library; nothing is changed."""
    for name in content:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("precious", "utf-8")
    with pytest.raises(UsageError, match="contains other files: choose a new or empty folder"):
        make_folder(tmp_path)
    assert all((tmp_path / name).read_text("utf-8") == "precious" for name in content)


def test_our_own_folders_are_accepted(tmp_path: Path) -> None:
    """New, empty, unfinished, finished, and with additional files."""
    folder = tmp_path / "new" / "library"
    make_folder(folder)
    make_folder(folder)
    with locked(folder / ".lock", "it is being written"):
        add_generation(folder, "a")
        make_folder(folder)
        switch(folder, folder / "generations/1")
    (folder / "notes.txt").write_text("x", "utf-8")
    make_folder(folder)


def test_a_file_is_refused_as_folder(tmp_path: Path) -> None:
    """As the folder, or as one of its parents."""
    (tmp_path / "f").write_text("x", "utf-8")
    with pytest.raises(UsageError, match="f is a file: choose a folder"):
        make_folder(tmp_path / "f")
    with pytest.raises(EqembError, match=r"cannot create the folder .*Not a directory"):
        make_folder(tmp_path / "f" / "library")


# -- one writer


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    """Until the first is done."""
    pytest.importorskip("fcntl")
    with (
        locked(tmp_path / ".lock", "it is being written"),
        pytest.raises(EqembError, match="is being written by another eqemb process"),
        locked(tmp_path / ".lock", "it is being written"),
    ):
        pass
    with locked(tmp_path / ".lock", "it is being written"):
        pass


# -- the switch


def test_generations_follow_each_other(tmp_path: Path) -> None:
    """A new reading gets the next number; only the current generation stays."""
    for number in (1, 2, 3):
        assert next_generation(tmp_path).name == str(number)
        make_library(tmp_path, f"a{number}")
        assert names(tmp_path) == [f"a{number}"]
        assert [path.name for path in (tmp_path / "generations").iterdir()] == [str(number)]


def test_the_report_is_that_of_the_current_generation(tmp_path: Path) -> None:
    """Copied to the library's folder."""
    make_library(tmp_path, "a")
    make_library(tmp_path, "a", "b")
    for name in ("report.json", "report.html"):
        assert json.loads((tmp_path / name).read_text("utf-8")) == {"articles": 2}


@pytest.mark.parametrize("step", range(5))
def test_a_kill_during_the_switch_leaves_a_whole_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """The old one before the first rename, the new one afterwards."""
    make_library(tmp_path, "old")
    generation = add_generation(tmp_path, "new", "newer")
    done: list[str] = []

    def fragile(name: str, function: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **options: object) -> object:
            if len(done) == step:
                raise Killed
            done.append(name)
            return function(*arguments, **options)

        return call

    monkeypatch.setattr(Path, "replace", fragile("rename", Path.replace))
    remove = fragile("remove", remove_unheld)
    monkeypatch.setattr(generations, "remove_unheld", remove)
    with pytest.raises(Killed):
        switch(tmp_path, generation)
    monkeypatch.undo()
    assert done == [*(["rename"] * 4), "remove"][:step]
    assert names(tmp_path) == (["new", "newer"] if step > 1 else ["old"])
    shutil.rmtree(next_generation(tmp_path), ignore_errors=True)
    assert names(make_library(tmp_path, "newest")) == ["newest"]


def test_an_open_library_survives_the_switch(tmp_path: Path) -> None:
    """A reader continues with the old generation."""
    make_library(tmp_path, "a", "b", "c")
    with Library.open(tmp_path) as opened:
        articles = opened.articles()
        assert next(articles).name == "a"
        make_library(tmp_path, "new")
        assert [found.name for found in articles] == ["b", "c"]
    assert names(tmp_path) == ["new"]


def test_a_half_removed_segment_is_not_taken_for_a_whole_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill in the middle of removing it; the same papers are added again later."""
    make_library(tmp_path, "old")
    second = add_generation(tmp_path, "new")
    remove = shutil.rmtree

    def die(path: Path, **options: object) -> None:
        if "segments" in Path(path).parts:
            next(Path(path).glob("records.sqlite")).unlink()
            raise Killed
        remove(path, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", die)
        with pytest.raises(Killed):
            switch(tmp_path, second)
    make_library(tmp_path, "old")
    assert names(tmp_path) == ["old"]
    assert len(list((tmp_path / "segments").iterdir())) == 1
