"""File locks: one writer at a time, and folders that readers keep from being removed."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from eqemb.errors import EqembError, writing

try:
    import fcntl
except ImportError:  # Windows: two writers of one library are not kept apart
    fcntl = None  # type: ignore[assignment]


@contextlib.contextmanager
def locked(place: Path, what: str) -> Iterator[None]:
    """Hold a file's lock; a second one is told what is going on."""
    with place.open("w", encoding="utf-8") as file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise EqembError(f"{what} by another eqemb; wait for it") from None
        with writing(place.parent):
            yield


def hold(folder: Path) -> int | None:
    """Keep `remove_unheld` from a folder until what is returned is closed; None without locks."""
    return lock_folder(folder, wait=False, shared=True)


def remove_unheld(folder: Path) -> None:
    """Remove a folder, but not while somebody holds it."""
    if not _is_held(folder):
        shutil.rmtree(folder, ignore_errors=True)


def _is_held(folder: Path) -> bool:
    if fcntl is None:
        return False
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return isinstance(error, BlockingIOError)  # else the file system has no locks
    finally:
        os.close(handle)
    return False


def lock_folder(folder: Path, *, wait: bool, shared: bool = False) -> int | None:
    """A lock on a folder, held until it is closed; None where it cannot be had."""
    if fcntl is None:
        return None
    how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    with contextlib.suppress(OSError):  # gone, or on a file system that has no locks
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(handle, how | (0 if wait else fcntl.LOCK_NB))
        except OSError:
            os.close(handle)
            raise
        return handle
    return None
