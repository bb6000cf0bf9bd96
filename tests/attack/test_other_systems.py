"""Run without the calls that some systems lack: Windows, macOS, network file systems."""

import ctypes
import errno
import json
import os
import re
import select
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from eqemb.errors import EqembError
from eqemb.facade import build, model, update
from eqemb.library import worker
from eqemb.planning import usage
from eqemb.storage import array_file, atomic, locks, memory, process, syncing
from library_changes import make_change, state
from synthetic import read_inline, start

#: What Windows, or macOS, does not have.
LACKING: dict[str, tuple[str, ...]] = {
    "os": (
        *("posix_fallocate", "posix_fadvise", "sched_getaffinity", "killpg", "setpriority"),
        *("getpgid", "setsid", "geteuid", "getuid", "fork", "sysconf", "sendfile", "getppid"),
        *("SEEK_DATA", "SEEK_HOLE", "O_DIRECTORY", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC"),
        *("O_PATH", "copy_file_range", "memfd_create", "pidfd_open", "unshare"),
    ),
    "select": ("poll", "epoll"),
    "signal": ("SIGKILL", "SIGHUP", "SIGUSR1", "SIGALRM", "setitimer", "pthread_kill"),
    "mmap": ("MADV_DONTNEED", "MADV_RANDOM", "MADV_SEQUENTIAL", "MADV_WILLNEED"),
    "time": ("clock_gettime", "CLOCK_MONOTONIC"),
}
#: What Python itself and filelock need in this process, which is on Linux.
KEPT = frozenset(
    ("sendfile", "fork", "clock_gettime", "CLOCK_MONOTONIC", "poll", "O_NONBLOCK", "O_CLOEXEC")
)
MODULES = ("fcntl", "resource", "pwd", "grp", "termios", "tty", "syslog")

#: Imports every module after the packages that the base install needs. A package that is not
#: installed is no failure, and no other module may miss what this system lacks.
IMPORTS = """
import importlib, json, pkgutil, sys
import asyncio, ctypes, multiprocessing.connection, multiprocessing.spawn, subprocess, tempfile
for name in (
    "numpy", "typer", "rich.console", "uvicorn", "fastapi", "numba", "filelock", "ray",
    "starlette.testclient", "matplotlib.pyplot", "scipy.sparse", "sklearn", "asyncio.unix_events",
    "mcp.server.mcpserver", "mcp.server.transport_security",
):
    try:
        importlib.import_module(name)
    except ImportError:
        pass
lacking, modules = json.loads(sys.argv[1])
for owner, names in lacking.items():
    for name in names:
        if hasattr(sys.modules[owner], name):
            delattr(sys.modules[owner], name)
for name in modules:
    sys.modules[name] = None
import eqemb
failed, count = {}, 0
for found in pkgutil.walk_packages(eqemb.__path__, "eqemb."):
    if found.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(found.name)
        count += 1
    except ModuleNotFoundError as error:
        if error.name in modules or str(error.name).startswith("eqemb"):
            failed[found.name] = repr(error)
    except BaseException as error:
        failed[found.name] = repr(error)
print(json.dumps([count, failed]))
"""


def test_every_module_is_imported_without_calls_of_other_systems(
    record_property: Callable[[str, object], None],
) -> None:
    """No module needs them before it is used."""
    with start("-c", IMPORTS, json.dumps([LACKING, MODULES])) as child:
        out, err = child.communicate(timeout=300)
    assert child.returncode == 0, err
    count, failed = json.loads(out)
    record_property("cases", count)
    assert not failed
    assert count > 250, "nearly all modules were imported"


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process is on a system without the calls."""
    assert tmp_path.exists()  # pytest asks for the name of the user first
    for owner, names in LACKING.items():
        for name in names:
            if name not in KEPT:
                monkeypatch.delattr(sys.modules[owner], name, raising=False)
    # Python's own modules use this flag once it was found
    monkeypatch.setattr(shutil, "_use_fd_functions", False)
    monkeypatch.setattr(locks, "fcntl", None)
    monkeypatch.setattr(usage, "resource", None)
    monkeypatch.setattr(worker, "resource", None)
    monkeypatch.setattr(atomic, "_renameat2", lambda: None)
    monkeypatch.setattr(os, "link", refuse(errno.EPERM))
    read_inline(monkeypatch)
    monkeypatch.setattr(model, "LEAST_WORDS", 100)


def refuse(code: int) -> Callable[..., None]:
    """Return a function that fails with an error of the system."""

    def call(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    return call


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("name", ["build", "remove", "use"])
def test_changes_of_a_library_are_made_elsewhere(name: str, tmp_path: Path) -> None:
    """Without locks, links, exchanged folders and reserved space."""
    change = make_change(tmp_path, name)
    before = state(change.old)
    change.run(change.old, False)  # noqa: FBT003
    assert state(change.old) not in {before, ""}
    update.remove_articles(change.old, "set3/paper003")
    left = re.compile(r"\.[\w.-]+\.[a-z0-9_]{8}$|\.gone$|\.old$")
    assert not [path for path in change.old.rglob("*") if left.search(path.name)]
    assert len(list((change.old / "generations").iterdir())) == 1


@pytest.mark.usefixtures("elsewhere")
def test_machines_are_measured_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not known is left out."""
    assert usage.cpu_seconds() > 0
    assert usage.child_peak_bytes() == 0
    worker._limit_memory(1)
    for name in ("_MEMORY_INFO", "_GROUPS", "_OWN_GROUPS"):
        monkeypatch.setattr(memory, name, Path("nowhere"))
    assert memory.available_memory() is None


# ---------------------------------------------------------------- one call each


@pytest.mark.parametrize("how", ["missing", "refused", "there"])
def test_space_is_allocated_where_it_cannot_be_reserved(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MacOS has no such call, and some file systems refuse it: zeros are written."""
    if how == "missing":
        monkeypatch.delattr(os, "posix_fallocate", raising=False)
    elif how == "refused":
        monkeypatch.setattr(os, "posix_fallocate", refuse(errno.EOPNOTSUPP), raising=False)
    kinds: Any = {
        "a": (np.dtype("f4"), (3, 5)),
        "b": (np.dtype("i8"), (300_000,)),
        "c": (np.dtype("u1"), (0,)),
    }
    made = array_file.create_arrays(tmp_path / "a", kinds)
    made["b"][-1] = 7
    found = array_file.map_arrays(tmp_path / "a")
    assert {name: array.shape for name, array in found.items()} == {
        name: shape for name, (_, shape) in kinds.items()
    }
    assert found["b"].sum() == 7
    assert not found["a"].any()
    if hasattr(os.stat_result, "st_blocks"):
        assert (tmp_path / "a").stat().st_blocks * 512 >= 2_400_000


def test_a_full_disk_is_an_error_where_space_cannot_be_reserved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the file is mapped."""
    resource = pytest.importorskip("resource")
    monkeypatch.delattr(os, "posix_fallocate", raising=False)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            array_file.create_arrays(tmp_path / "a", {"b": (np.dtype("i8"), (30_000,))})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOTSUP, errno.EBADF])
def test_file_systems_that_cannot_sync_folders(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are written all the same; a failing disk is still an error."""
    monkeypatch.setattr(os, "fsync", refuse(code))
    syncing.sync_folder(tmp_path)
    monkeypatch.setattr(os, "fsync", refuse(errno.EIO))
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        syncing.sync_folder(tmp_path)


@pytest.mark.parametrize("is_refused", [False, True])
def test_the_cache_of_the_disk_is_flushed(
    is_refused: bool,  # noqa: FBT001
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On macOS, where `fsync` does not; file systems that refuse get the usual call."""
    fcntl, calls = pytest.importorskip("fcntl"), list[str]()

    def control(handle: int, command: int) -> None:
        os.fstat(handle)
        calls.append(f"control {command}")
        if is_refused:
            raise OSError(errno.ENOTTY, "not supported")

    mac = SimpleNamespace(**vars(fcntl) | {"F_FULLFSYNC": 51, "fcntl": control})
    monkeypatch.setattr(syncing, "fcntl", mac)
    monkeypatch.setattr(os, "fsync", lambda _: calls.append("fsync"))
    atomic.write_atomically(tmp_path / "a", "text")
    once = ["control 51", "fsync"] if is_refused else ["control 51"]
    assert calls == once * 2  # the file and its folder
    calls.clear()
    array_file.write_arrays(tmp_path / "b", {"a": np.zeros(3)})
    assert calls == once


def test_a_file_that_is_open_is_replaced_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows refuses to replace a file while another process reads it."""
    replace, left = os.replace, [3]

    def busy(*paths: Any) -> None:
        left[0] -= 1
        if left[0] >= 0:
            raise PermissionError(errno.EACCES, "used by another process")
        replace(*paths)

    monkeypatch.setattr(os, "replace", busy)
    monkeypatch.setattr(atomic, "_ATTEMPTS", 5)
    atomic.write_atomically(tmp_path / "a", "text")
    assert (tmp_path / "a").read_text("utf-8") == "text"
    left[0] = 5
    with pytest.raises(PermissionError, match="used by another process"):
        atomic.write_atomically(tmp_path / "a", "other")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_text("utf-8") == "text"


def test_leftovers_are_removed_without_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a day; until then, another process may be writing."""
    monkeypatch.setattr(locks, "fcntl", None)
    old, new = tmp_path / ".a.abcdefgh", tmp_path / ".a.hgfedcba"
    for folder in (old, new):
        folder.mkdir()
        (folder / "a").write_text("half", "utf-8")
    for path in (old / "a", old):
        os.utime(path, (time.time() - 100_000,) * 2)
    os.utime(new, (time.time() - 100_000,) * 2)  # its file is still written
    atomic.write_atomically(tmp_path / "a", "text")
    assert sorted(path.name for path in tmp_path.iterdir()) == [new.name, "a"]


def test_a_file_system_without_locks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not taken for another process."""
    fcntl = pytest.importorskip("fcntl")
    lacking = SimpleNamespace(**vars(fcntl) | {"flock": refuse(errno.ENOLCK)})
    monkeypatch.setattr(locks, "fcntl", lacking)
    with (
        pytest.raises(EqembError, match=r"^cannot lock .*\.lock \(No locks .*: choose a folder"),
        locks.locked(tmp_path / ".lock", "it"),
    ):
        pytest.fail("it was locked")
    assert not locks.has_locks(tmp_path)


def test_segments_that_are_open_are_removed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows does not rename a folder in which a file is open: the change is made all the same."""
    read_inline(monkeypatch)
    change = make_change(tmp_path, "remove")
    replace = os.replace

    def busy(source: Any, target: Any) -> None:
        if str(target).endswith(".gone"):
            raise PermissionError(errno.EACCES, "used by another process", str(source))
        replace(source, target)

    before = len(list((change.old / "segments").iterdir()))
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", busy)
        build.build_library(tmp_path / "two", change.old, model=False, jobs=1)
    assert len(list((change.old / "segments").iterdir())) == before + 1
    update.add_papers(change.old, tmp_path / "one", root=tmp_path / "one", jobs=1)
    assert not list((change.old / "segments").glob(".*"))


def test_orphans_end_without_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    """On Windows, a process asks now and then whether its pipe is closed."""
    ended: list[int] = []
    answers = iter((False, False, True))
    monkeypatch.delattr(select, "poll", raising=False)
    monkeypatch.setattr(process, "_is_closed_pipe", lambda _handle: next(answers))
    monkeypatch.setattr(process, "_POLL_SECONDS", 0.0)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(fileno=lambda: 0))
    monkeypatch.setattr(os, "_exit", ended.append)
    process._wait_for_parent()
    assert ended == [1]
    assert next(answers, None) is None


@pytest.mark.parametrize(
    ("is_open", "error", "expected"), [(1, 0, False), (0, 109, True), (0, 6, False)]
)
def test_only_a_broken_pipe_is_closed(
    is_open: int,
    error: int,
    expected: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Any other answer of Windows keeps the process running."""
    kernel = SimpleNamespace(PeekNamedPipe=lambda *_: is_open)
    monkeypatch.setattr(ctypes, "WinDLL", lambda *_, **__: kernel, raising=False)
    monkeypatch.setattr(ctypes, "get_last_error", lambda: error, raising=False)
    console = SimpleNamespace(get_osfhandle=lambda handle: handle)
    monkeypatch.setattr(process, "msvcrt", console)
    assert process._is_closed_pipe(0) is expected
