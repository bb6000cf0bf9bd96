"""File locks: one writer at a time, and folders that readers keep from being removed.

Locks use `flock` where the system has it (Linux, macOS) and end with the process. On Windows,
`filelock` keeps writers apart, and a reader holds a folder by keeping a file of it open, which
Windows does not remove meanwhile.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from eqemb.errors import EqembError, name_path
from eqemb.storage.removal import remove_folder

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_HELD = ".held"


@contextlib.contextmanager
def locked(path: Path, what: str) -> Iterator[None]:
    """Hold an exclusive lock on a file.

    If another process holds it, raise an error: "`what` by another eqemb process".
    """
    with _exclusive(path, what), name_path(path.parent):
        yield


@contextlib.contextmanager
def _exclusive(path: Path, what: str) -> Iterator[None]:
    if fcntl is None:
        with _filelock(path, what):
            yield
        return
    handle = _open_lock(path)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _busy(what) from None
        except OSError as error:  # as on a network file system
            raise EqembError(
                f"cannot lock {path} ({error.strerror}): choose a folder on another file system"
            ) from None
        yield
    finally:
        os.close(handle)


def _open_lock(path: Path) -> int:
    """Open a lock file without changing it, and not through a link: a stranger may have made it."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
    except OSError:
        _refuse_link(path)
        raise


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        raise EqembError(f"{path} is a link, not a lock file: remove it")


@contextlib.contextmanager
def _filelock(path: Path, what: str) -> Iterator[None]:
    import filelock  # only here: it takes 0.1 s to import

    _refuse_link(path)
    lock = filelock.FileLock(path)
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        raise _busy(what) from None
    try:
        yield
    finally:
        lock.release()


def _busy(what: str) -> EqembError:
    return EqembError(f"{what} by another eqemb process; wait until it has finished")


def hold(folder: Path) -> int | None:
    """Keep `remove_unheld` from removing a folder until the returned descriptor is closed.

    Return None where folders cannot be locked.
    """
    if fcntl is None:
        with contextlib.suppress(OSError):  # a folder that cannot be written is not removed either
            return os.open(folder / _HELD, os.O_RDONLY | os.O_CREAT)
        return None
    return lock_folder(folder, wait=False, shared=True)


def remove_unheld(folder: Path) -> None:
    """Remove a folder, unless a process holds it."""
    if not _is_held(folder):
        remove_folder(folder)


def _is_held(folder: Path) -> bool:
    if fcntl is None:
        try:
            (folder / _HELD).unlink(missing_ok=True)
        except OSError:
            return True
        return False
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return isinstance(error, BlockingIOError)  # other errors: the file system has no locks
    finally:
        os.close(handle)
    return False


def has_locks(folder: Path) -> bool:
    """Whether folders like this one can be locked."""
    if fcntl is None:
        return False
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return isinstance(error, BlockingIOError)
    finally:
        os.close(handle)
    return True


def lock_folder(folder: Path, *, wait: bool, shared: bool = False) -> int | None:
    """Lock a folder until the returned descriptor is closed; return None if it cannot be locked."""
    if fcntl is None:
        return None
    how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    with contextlib.suppress(OSError):  # it was removed, or the file system has no locks
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(handle, how | (0 if wait else fcntl.LOCK_NB))
        except OSError:
            os.close(handle)
            raise
        return handle
    return None
