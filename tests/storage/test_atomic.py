"""Atomic writes of folders and files, with kills at every step."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eqemb.errors import UsageError
from eqemb.storage import atomic, locks

#: Replaces a folder several times; each time, the process dies at the next call of a function that
#: renames, syncs or removes. Prints what was found after each death.
PROGRAM = """
import json, os, shutil, sys
from pathlib import Path
from eqemb.storage import atomic, locks

place, exchange = Path(sys.argv[1]), sys.argv[2] == "exchange"
if not exchange:
    atomic._renameat2 = lambda: None

def fatal(function, calls, last):
    def count(*arguments, **options):
        calls.append(function.__name__)
        if len(calls) == last:
            os._exit(77)
        return function(*arguments, **options)
    return count

def write(text, last=0):
    calls = []
    if last:
        os.rename = fatal(os.rename, calls, last)
        os.fsync = fatal(os.fsync, calls, last)
        shutil.rmtree = fatal(shutil.rmtree, calls, last)
        atomic._exchange = fatal(atomic._exchange, calls, last)
    with atomic.new_folder(place, replace=True) as folder:
        (folder / "a.txt").write_text(text)
        (folder / "deep").mkdir()
        (folder / "deep" / "b.txt").write_text(text)

def texts():
    return [path.read_text() for path in sorted(atomic.find_folder(place).rglob("*.txt"))]

def in_child(work):
    child = os.fork()
    if not child:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

rows = []
for last in range(1, 100):
    write("old")
    clean = [path.name for path in place.parent.iterdir()] == [place.name]
    status = in_child(lambda: write("new", last))
    rows.append({"status": status, "found": texts(), "clean": clean, "there": place.exists()})
    if status == 0:
        break
print(json.dumps(rows))
"""


def deaths(place: Path, how: str) -> list[dict[str, Any]]:
    """Run `PROGRAM` and return its rows."""
    command = [sys.executable, "-c", PROGRAM, str(place), how]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("how", ["exchange", "renames"])
def test_kill_at_any_step_leaves_the_old_or_the_new_folder(tmp_path: Path, how: str) -> None:
    """Files are never mixed, and the next write removes leftovers."""
    rows = deaths(tmp_path / "x" / "model", how)
    assert [row["status"] for row in rows[:-1]] == [77] * (len(rows) - 1)
    assert rows[-1]["status"] == 0
    assert len(rows) > 8, "the steps of a write were met"
    assert all(row["found"] in (["old", "old"], ["new", "new"]) for row in rows)
    assert rows[0]["found"] == ["old", "old"]
    assert rows[-1]["found"] == ["new", "new"]
    assert all(row["clean"] for row in rows), "the write after a death removes its scraps"


@pytest.mark.skipif(atomic._renameat2() is None, reason="no renameat2 here")
def test_folders_are_exchanged_in_one_step(tmp_path: Path) -> None:
    """Where the system supports it, the path always exists."""
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "text").write_text(name)
    if not atomic._exchange(tmp_path / "one", tmp_path / "other"):
        pytest.skip("this file system cannot exchange")
    assert (tmp_path / "one" / "text").read_text() == "other"
    assert (tmp_path / "other" / "text").read_text() == "one"
    assert all(row["there"] for row in deaths(tmp_path / "x" / "model", "exchange"))


def write(place: Path, text: str) -> None:
    """Write a folder with one file."""
    with atomic.new_folder(place, replace=True) as folder:
        (folder / "a.txt").write_text(text)


@pytest.mark.parametrize("call", [1, 2])
def test_failed_rename_leaves_the_old_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    """After an error, unlike after a kill, temporary files are removed at once."""
    monkeypatch.setattr(atomic, "_renameat2", lambda: None)
    write(tmp_path / "m", "old")
    monkeypatch.setattr(os, "rename", failing(os.rename, call))
    with pytest.raises(OSError, match="disk full"):
        write(tmp_path / "m", "new")
    assert (tmp_path / "m" / "a.txt").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def failing(function: Callable[..., None], call: int) -> Callable[..., None]:
    """Return the function with an n-th call that fails."""
    calls = iter(range(1, 100))

    def count(*arguments: Any) -> None:
        if next(calls) == call:
            raise OSError(errno.ENOSPC, "disk full")
        function(*arguments)

    return count


def test_everything_is_synced_before_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file and folder is synced, then renamed, then the parent is synced."""
    seen: list[str] = []
    fsync, rename = os.fsync, os.rename

    def synced(handle: int) -> None:
        seen.append(Path(f"/proc/self/fd/{handle}").readlink().name)
        fsync(handle)

    def renamed(one: Path, other: Path) -> None:
        seen.append("rename")
        rename(one, other)

    if not Path("/proc/self/fd").exists():
        pytest.skip("no /proc here")
    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "rename", renamed)
    write(tmp_path / "m", "text")
    assert [seen[0], *seen[2:]] == ["a.txt", "rename", tmp_path.name]
    assert seen[1].startswith(".m."), "the folder itself"


def test_concurrent_writers_do_not_disturb_each_other(tmp_path: Path) -> None:
    """Neither removes the folder of the other; the last one wins."""
    with atomic.new_folder(tmp_path / "m", replace=True) as first:
        (first / "a.txt").write_text("first")
        write(tmp_path / "m", "second")
        assert (tmp_path / "m" / "a.txt").read_text() == "second"
    assert (tmp_path / "m" / "a.txt").read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_only_leftovers_of_the_same_path_are_removed(tmp_path: Path) -> None:
    """Similar names, such as those of m.big for m, are kept."""
    others = [".m.big.abcd1234", ".m.notes", ".n.abcd1234", "m.abcd1234"]
    for name in [*others, ".m.abcd1234"]:
        (tmp_path / name).mkdir()
    write(tmp_path / "m", "text")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*others, "m"])


def test_folder_is_found_after_a_kill_between_renames(tmp_path: Path) -> None:
    """The old folder is read from beside its path."""
    write(tmp_path / "m", "old")
    (tmp_path / "m").rename(tmp_path / ".m.old")
    assert atomic.find_folder(tmp_path / "m") == tmp_path / ".m.old"
    with (
        pytest.raises(UsageError, match="already exists"),
        atomic.new_folder(tmp_path / "m"),
    ):
        pass
    assert (tmp_path / "m" / "a.txt").read_text() == "old"


def test_link_is_kept(tmp_path: Path) -> None:
    """The target of the link is replaced."""
    write(tmp_path / "real", "old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "a.txt").read_text() == "new"


def test_file_is_written_atomically(tmp_path: Path) -> None:
    """The old text stays until the new one is complete, and no temporary file is left."""
    place = tmp_path / "a.txt"
    for text in ("old", "new"):
        with atomic.new_file(place) as made:
            made.write_text(text[:1])
            assert not place.exists() or place.read_text() == "old"
            made.write_text(text)
    with pytest.raises(FileNotFoundError), atomic.new_file(place):
        pass  # nothing was written
    assert place.read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_files_and_folders_do_not_replace_each_other(tmp_path: Path) -> None:
    """A file is not replaced by a folder, nor a folder by a file."""
    (tmp_path / "file").write_text("text")
    with (
        pytest.raises(UsageError, match="is a file"),
        atomic.new_folder(tmp_path / "file", replace=True),
    ):
        pass
    with pytest.raises(UsageError, match="is a folder"), atomic.new_file(tmp_path):
        pass


@pytest.mark.skipif(os.name == "nt", reason="folders are not locked on Windows")
def test_a_lock_is_released_if_its_folder_was_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another writer may take a new temporary folder for one that a kill left."""
    lock_folder, handles = locks.lock_folder, list[int | None]()

    def lock(folder: Path, *, wait: bool) -> int | None:
        handles.append(lock_folder(folder, wait=wait))
        if len(handles) == 1:
            folder.rmdir()
        return handles[-1]

    monkeypatch.setattr(atomic, "lock_folder", lock)
    atomic.write_atomically(tmp_path / "a", "text")
    assert (tmp_path / "a").read_text("utf-8") == "text"
    assert len(handles) == 2
    for handle in handles:
        if handle is not None:
            with pytest.raises(OSError, match="Bad file descriptor"):
                os.fstat(handle)


@pytest.mark.parametrize("follow", [False, True])
def test_link_to_a_file(tmp_path: Path, follow: bool) -> None:  # noqa: FBT001
    """It is replaced itself, or its target is where users name the file."""
    victim, link = tmp_path / "victim.txt", tmp_path / "link.txt"
    victim.write_text("precious")
    link.symlink_to(victim)
    with atomic.new_file(link, follow_links=follow) as made:
        made.write_text("new")
    assert link.read_text() == "new"
    assert link.is_symlink() == follow
    assert victim.read_text() == ("new" if follow else "precious")
    assert len(list(tmp_path.iterdir())) == 2
