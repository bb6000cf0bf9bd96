"""Atomic writes: a file or folder appears whole or not at all.

A folder is written beside its place and moved there by rename, so that after a kill at any moment
it is the old one or the new one.
"""

import ctypes
import functools
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from eqemb.errors import EqembError, UsageError, writing
from eqemb.storage.locks import lock_folder


def write_atomically(path: Path, text: str) -> None:
    """Write a file whole or not at all: another name, fsync, rename.

    The other name is always the same, so that kills leave no litter: hold the library's lock.
    """
    new = path.with_name(f".{path.name}.new")
    with writing(path):
        _replace(path, new, text)
        sync_folder(path.parent)


def _replace(path: Path, new: Path, text: str) -> None:
    try:
        # half a character of a foreign file name becomes an escape, which JSON reads back
        with new.open("w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def to_json(value: Any) -> str:
    """JSON as we write it to files: stable and readable."""
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


@contextmanager
def new_folder(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """A temporary folder that takes its place at the end; an old one goes only then."""
    path = path.resolve()  # a link stays, and what it points to is replaced
    if whole(path) != path:
        whole(path).rename(path)
    shutil.rmtree(_aside(path), ignore_errors=True)
    if path.exists() and not replace:
        raise UsageError(f"{path} exists already; name another place or remove it")
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path} is a file, and a folder is to be written; name another place")
    with _beside(path) as made:
        made.chmod(0o755)
        yield made
        _sync(made)
        _take_place(made, path)
        sync_folder(path.parent)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A temporary file that takes its place at the end, whether there was one before or not."""
    path = path.resolve()
    if path.is_dir():
        raise UsageError(f"{path} is a folder, and a file is to be written; name another place")
    with _beside(path) as folder:
        yield folder / path.name
        _sync(folder)
        (folder / path.name).replace(path)
        sync_folder(path.parent)


def whole(path: Path) -> Path:
    """Where a folder is: at its place or, after a kill between two renames, still beside it."""
    aside = _aside(path)
    return aside if aside.exists() and not path.exists() else path


def _aside(path: Path) -> Path:
    return path.with_name(f".{path.name}.old")


def _take_place(made: Path, path: Path) -> None:
    """Move a folder to its place; what was there is beside it then, to be removed."""
    if not path.exists():
        made.rename(path)
    elif not _exchange(made, path):
        aside = _aside(path)
        path.rename(aside)
        try:
            made.rename(path)
        except BaseException:
            aside.rename(path)
            raise
        shutil.rmtree(aside, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Give each of two folders the other's name in one step, where the system can (Linux)."""
    call, here, exchange = _renameat2(), -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    names = os.fsencode(one), os.fsencode(other)
    return call is not None and call(here, names[0], here, names[1], exchange) == 0


@functools.cache
def _renameat2() -> Any:
    try:
        return ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):
        return None


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A folder of our own next to a place, locked while we live; those of the dead are removed."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        _clear(path)
        while True:
            made = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
            lock = lock_folder(made, wait=True)
            if made.exists():  # else another writer took it for a scrap before it was locked
                break
        try:
            yield made
        finally:
            shutil.rmtree(made, ignore_errors=True)
            if lock is not None:
                os.close(lock)


def _clear(path: Path) -> None:
    """Remove what writes to this place left when they were killed."""
    scrap = re.compile(rf"\.{re.escape(path.name)}\.[a-z0-9_]{{8}}")
    for found in [entry for entry in path.parent.iterdir() if scrap.fullmatch(entry.name)]:
        lock = lock_folder(found, wait=False)
        if lock is not None:
            shutil.rmtree(found, ignore_errors=True)
            os.close(lock)


def _sync(folder: Path) -> None:
    """Make everything in a folder durable: a rename must not reach the disk before it."""
    for found in folder.rglob("*"):
        if found.is_dir():
            sync_folder(found)
        else:
            with found.open("r+b") as file:
                os.fsync(file.fileno())
    sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable, where the system can."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_json(path: Path, value: Any) -> None:
    """JSON for programs and people: indented, UTF-8."""
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def read_part(path: Path) -> Any:
    """JSON that belongs to a folder of ours; a file that is not there or broken is said so."""
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise EqembError(f"{path} cannot be read ({error}): make its folder anew") from None


def read_json(path: Path, kind: str, version: int) -> dict[str, Any]:
    """A folder's own file; refuses another format or version, and says what to do."""
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is damaged"
        raise UsageError(f"{path} is no {kind} ({why}): name another, or make it anew") from None
    if not isinstance(value, dict) or value.get("format") != f"eqemb {kind}":
        raise UsageError(f"{path} is no {kind} of eqemb's: name another, or make it anew")
    if value.get("version") != version:
        raise UsageError(
            f"{path} is a {kind} of version {value.get('version')}, this eqemb reads {version}:"
            f" make it anew, or use the eqemb that made it"
        )
    return value
