"""Atomic writes: a file or folder appears complete or not at all.

    write_atomically(path, text)   write a text file
    new_file(path)                 write any file: yields a temporary path
    new_folder(path)               write a folder: yields a temporary folder

All three write into a temporary folder next to the path, sync it to disk, and rename. After a kill
at any moment, the path holds the old content or the new. The next write to the same path removes
what a killed one left. `write_json` is not atomic by itself: it is for files inside `new_folder`.
"""

import ctypes
import functools
import itertools
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from eqemb.errors import EqembError, UsageError, name_path
from eqemb.storage.locks import has_locks, lock_folder
from eqemb.storage.removal import remove_folder
from eqemb.storage.syncing import sync_folder, sync_handle

#: How often Windows is asked to replace a file.
_ATTEMPTS = 15 if os.name == "nt" else 1
#: Seconds until a temporary folder counts as left by a kill where folders cannot be locked.
_OLD = 86_400.0


def write_atomically(path: Path, text: str) -> None:
    """Write a text file atomically, in UTF-8."""
    with new_file(path) as made:
        # a lone surrogate, from a foreign file name, becomes an escape that JSON can read
        made.write_text(text, encoding="utf-8", errors="backslashreplace")


@contextmanager
def new_file(path: Path, *, follow_links: bool = False) -> Iterator[Path]:
    """Yield the path of a temporary file; on success, it replaces the file at `path`.

    A link at `path` is replaced, too, as somebody else may have made it. With `follow_links`, its
    target is: for files that users name.
    """
    path = path.resolve() if follow_links else path.parent.resolve() / path.name
    if path.is_dir():
        raise UsageError(f"{path} is a folder, not a file; choose another path")
    with _temporary_folder(path) as folder:
        yield folder / path.name
        _sync_file(folder / path.name)
        _replace(folder / path.name, path)
        sync_folder(path.parent)


def _replace(made: Path, path: Path) -> None:
    """Rename a file over another; Windows refuses for the moment in which somebody reads that."""
    for attempt in range(1, _ATTEMPTS):
        try:
            made.replace(path)
        except PermissionError:
            time.sleep(0.01 * attempt)
        else:
            return
    made.replace(path)


@contextmanager
def new_folder(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """Yield a temporary folder; on success, it becomes, or replaces, the folder at `path`."""
    path = path.resolve()  # a link is kept, and its target replaced
    if find_folder(path) != path:
        find_folder(path).rename(path)
    remove_folder(_aside(path))
    if path.exists() and not replace:
        raise UsageError(f"{path} already exists; choose another path or remove it")
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path} is a file, not a folder; choose another path")
    with _temporary_folder(path) as made:
        made.chmod(0o755)
        yield made
        sync_tree(made)
        _move_into_place(made, path)
        sync_folder(path.parent)


def find_folder(path: Path) -> Path:
    """Return the path of the complete folder, which a kill between two renames leaves beside it."""
    aside = _aside(path)
    return aside if aside.exists() and not path.exists() else path


def _aside(path: Path) -> Path:
    return path.with_name(f".{path.name}.old")


def _move_into_place(made: Path, path: Path) -> None:
    """Rename a folder to `path`; an existing one takes its name, or is removed."""
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
        remove_folder(aside)


def _exchange(one: Path, other: Path) -> bool:
    """Swap the names of two folders in one step, where the system supports it (Linux)."""
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
def _temporary_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder next to `path`, locked while in use, and remove it at the end."""
    with name_path(path):
        make_folders(path.parent)
        _remove_leftovers(path)
        while True:
            made = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
            lock = lock_folder(made, wait=True)
            if made.exists():
                break
            if lock is not None:  # another writer removed the folder before it was locked
                os.close(lock)
        try:
            yield made
        finally:
            remove_folder(made)
            if lock is not None:
                os.close(lock)


def remove_file(path: Path) -> None:
    """Remove a file that `new_file` wrote, if it exists, and what killed writes of it left."""
    path.unlink(missing_ok=True)
    _remove_leftovers(path)


def _remove_leftovers(path: Path) -> None:
    """Remove temporary folders that killed writes to this path left."""
    leftover = re.compile(rf"\.{re.escape(path.name)}\.[a-z0-9_]{{8}}")
    for found in [entry for entry in path.parent.iterdir() if leftover.fullmatch(entry.name)]:
        lock = lock_folder(found, wait=False)
        if lock is not None or (not has_locks(path.parent) and _is_old(found)):
            remove_folder(found)
        if lock is not None:
            os.close(lock)


def _is_old(folder: Path) -> bool:
    """Whether nothing in a folder was written for a day."""
    with suppress(OSError):  # it was removed
        times = [path.stat().st_mtime for path in (folder, *folder.rglob("*"))]
        return max(times) < time.time() - _OLD
    return False


def sync_tree(folder: Path) -> None:
    """Make everything in a folder durable, which must happen before the rename."""
    for found in folder.rglob("*"):
        if found.is_dir():
            sync_folder(found)
        else:
            _sync_file(found)
    sync_folder(folder)


def _sync_file(path: Path) -> None:
    with path.open("r+b") as file:
        sync_handle(file.fileno())


def make_folders(folder: Path) -> None:
    """Create a folder, and those above it, unless they exist; their names are durable."""
    new = list(itertools.takewhile(lambda path: not path.exists(), (folder, *folder.parents)))
    folder.mkdir(parents=True, exist_ok=True)
    for path in new:
        sync_folder(path.parent)


# ---------------------------------------------------------------- JSON


def to_json(value: Any) -> str:
    """Return JSON as it is written to files: indented, not ASCII only."""
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file inside a folder that is being made."""
    path.write_text(to_json(value), encoding="utf-8")


def load_json(path: Path) -> Any:
    """Read a JSON file that belongs to a folder; raise an error if it is missing or damaged."""
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise EqembError(f"cannot read {path} ({error}): create its folder again") from None


def read_json(path: Path, kind: str, version: int) -> dict[str, Any]:
    """Read the JSON file that identifies a folder; raise an error for another kind or version."""
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is damaged"
        raise UsageError(
            f"{path} is not a {kind} ({why}): choose another path, or create it again"
        ) from None
    if not isinstance(value, dict) or value.get("format") != f"eqemb {kind}":
        raise UsageError(f"{path} is not a {kind} of eqemb: choose another path")
    if value.get("version") != version:
        raise UsageError(
            f"{path} is a {kind} of version {value.get('version')}, but this eqemb reads version"
            f" {version}: create it again, or use the eqemb version that made it"
        )
    return value


def link_file(file: Path, place: Path) -> None:
    """Hard-link a file that is never changed in place, or copy it where links are impossible."""
    try:
        place.hardlink_to(file)
    except OSError:
        with new_file(place) as made:
            shutil.copyfile(file, made)


def link_files(folder: Path, place: Path) -> None:
    """Make a folder with hard links to the files of another, or with copies of them."""
    place.mkdir(exist_ok=True)
    for file in folder.iterdir():
        link_file(file, place / file.name)
