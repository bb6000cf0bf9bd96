"""Watch what Python asks of the file system below a folder: opens, writes, syncs, renames, maps.

    with watched(folder, watcher): work()

`Watcher.before` is called before each call, and may raise the error that the call then fails with.
The other methods report what was done. Calls that Python code does not make are not seen, which are
those of SQLite (its statements are calls, of the kind "sql") and stores to memory maps.
"""

import builtins
import contextlib
import io
import mmap
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from eqemb.storage import atomic

#: Functions of `os` that change folders by path, which Path and shutil call, and the kind of call.
_BY_PATH = {
    "mkdir": "mkdir",
    "unlink": "remove",
    "remove": "remove",
    "rmdir": "remove",
    "rename": "rename",
    "replace": "rename",
    "link": "link",
    "chmod": "chmod",
}
_BY_HANDLE = {"fsync": "sync", "posix_fallocate": "write", "sendfile": "write"}
#: Statements at which SQLite opens, writes or syncs its files.
_SQL = ("BEGIN", "COMMIT", "PRAGMA", "INSERT INTO sources")


class Watcher:
    """What is called for each call below the folder; does nothing."""

    def before(self, kind: str, path: Path) -> None:
        """A call is about to be made."""

    def created(self, path: Path) -> None:
        """A file or folder was created."""

    def synced(self, path: Path) -> None:
        """A file or folder was synced to the disk."""


class _File(io.FileIO):
    """A file whose writes are watched."""

    def __init__(self, name: str, mode: str, opener: Any, watch: Callable[[], None]) -> None:
        super().__init__(name, mode, opener=opener)
        self._watch = watch

    def write(self, data: Any) -> int:
        self._watch()
        return super().write(data)

    def truncate(self, size: int | None = None) -> int:
        self._watch()
        return super().truncate(size)


def _path_of(handle: int) -> str:
    return os.readlink(f"/proc/self/fd/{handle}")  # noqa: PTH115 - a file may be removed


class _Calls:
    """Watched versions of the functions."""

    def __init__(self, folder: Path, watcher: Watcher) -> None:
        self._top, self._watcher, self._is_told = str(folder), watcher, False
        self._open_file, self._open, self._connect = io.open, os.open, sqlite3.connect

    def _below(self, path: Any, dir_fd: int | None = None) -> Path | None:
        """The whole path of a call, if it is below the folder and not made by the watcher."""
        if self._is_told:
            return None
        if isinstance(path, int):
            path = _path_of(path) if path >= 0 else ""
        elif dir_fd is not None:
            path = Path(_path_of(dir_fd), os.fsdecode(path))
        whole = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 - links are not followed
        return Path(whole) if f"{whole}/".startswith(f"{self._top}/") else None

    def _tell(self, method: str, *what: Any) -> None:
        self._is_told = True
        try:
            getattr(self._watcher, method)(*what)
        finally:
            self._is_told = False

    def by_path(self, function: Callable[..., Any], kind: str) -> Callable[..., Any]:
        """Watch a function of which the last path is the one that it makes or removes."""

        def call(*paths: Any, **options: Any) -> Any:
            last = paths[1] if kind in {"rename", "link"} else paths[0]
            path = self._below(last, options.get("dir_fd"))
            if path is not None:
                self._tell("before", kind, path)
            made = function(*paths, **options)
            if path is not None and kind == "mkdir":
                self._tell("created", path)
            return made

        return call

    def by_handle(self, function: Callable[..., Any], kind: str) -> Callable[..., Any]:
        """Watch a function of an open file."""

        def call(handle: int, *more: Any) -> Any:
            path = self._below(handle)
            if path is not None:
                self._tell("before", kind, path)
            made = function(handle, *more)
            if path is not None and kind == "sync":
                self._tell("synced", path)
            return made

        return call

    def open(self, path: Any, flags: int, *more: Any, dir_fd: int | None = None) -> int:
        """Watch os.open."""
        found = self._below(path, dir_fd)
        is_new = found is not None and bool(flags & os.O_CREAT) and not found.exists()
        if found is not None:
            self._tell("before", "open" if flags & (os.O_CREAT | os.O_TRUNC) else "read", found)
        handle = self._open(path, flags, *more, dir_fd=dir_fd)
        if is_new and found is not None:
            self._tell("created", found)
        return handle

    def open_file(
        self,
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,  # noqa: FBT001, FBT002
        opener: Any = None,
    ) -> Any:
        """Watch open, and the writes to the file.

        A new file can be read as well: NumPy then writes it by Python's functions, not by C's.
        """
        path = None if isinstance(file, int) else self._below(file)
        if path is not None:
            self._tell("before", "open" if set(mode) & set("wax+") else "read", path)
        if path is None or not set(mode) & set("wax+"):
            return self._open_file(
                file, mode, buffering, encoding, errors, newline, closefd, opener
            )
        is_new, bare = not path.exists(), mode.replace("b", "").replace("t", "").replace("+", "")
        raw = _File(file, f"{bare}+", opener, lambda: self._tell("before", "write", path))
        if is_new:
            self._tell("created", path)
        buffered = io.BufferedRandom(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline)

    def connect(self, database: Any, **options: Any) -> sqlite3.Connection:
        """Watch the statements of a connection to SQLite."""
        path = self._below(os.fsdecode(database).removeprefix("file:").partition("?")[0])
        made: sqlite3.Connection
        if path is None:
            made = self._connect(database, **options)
            return made
        self._tell("before", "sql", path)
        made = self._connect(database, factory=self._connection(path), **options)
        return made

    def _connection(self, path: Path) -> type[sqlite3.Connection]:
        tell = self._tell

        class Connection(sqlite3.Connection):
            def execute(self, statement: str, *more: Any) -> sqlite3.Cursor:
                if statement.startswith(_SQL):
                    tell("before", "sql", path)
                return super().execute(statement, *more)

            def executescript(self, script: str) -> sqlite3.Cursor:
                tell("before", "sql", path)
                return super().executescript(script)

        return Connection

    def map(self) -> type[mmap.mmap]:
        """Watch memory maps."""
        below, tell = self._below, self._tell

        class Map(mmap.mmap):
            def __new__(cls, handle: int, *more: Any, **options: Any) -> Any:
                path = below(handle)
                if path is not None:
                    tell("before", "mmap", path)
                return super().__new__(cls, handle, *more, **options)

        return Map

    def exchange(self, function: Any) -> Callable[[], Any]:
        """Watch renameat2, which swaps two folders."""

        def call(here: int, one: bytes, also: int, other: bytes, flags: int) -> int:
            path = self._below(other)
            if path is not None:
                self._tell("before", "rename", path)
            return int(function(here, one, also, other, flags))

        return lambda: None if function is None else call


@contextlib.contextmanager
def watched(folder: Path, watcher: Watcher) -> Iterator[None]:
    """Tell a watcher of every call below a folder."""
    calls = _Calls(folder, watcher)
    with contextlib.ExitStack() as stack:
        for name, kind in _BY_PATH.items():
            stack.enter_context(patch.object(os, name, calls.by_path(getattr(os, name), kind)))
        for name, kind in _BY_HANDLE.items():
            if hasattr(os, name):
                made = calls.by_handle(getattr(os, name), kind)
                stack.enter_context(patch.object(os, name, made))
        for owner in (builtins, io):
            stack.enter_context(patch.object(owner, "open", calls.open_file))
        stack.enter_context(patch.object(os, "open", calls.open))
        stack.enter_context(patch.object(sqlite3, "connect", calls.connect))
        stack.enter_context(patch.object(mmap, "mmap", calls.map()))
        stack.enter_context(patch.object(atomic, "_renameat2", calls.exchange(atomic._renameat2())))
        yield
