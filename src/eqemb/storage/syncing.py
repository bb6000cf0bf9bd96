"""Make what was written to a file, and the names in a folder, durable."""

import contextlib
import errno
import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

#: What file systems say that cannot sync folders.
_NO_SYNC = frozenset((errno.EINVAL, errno.ENOTSUP, errno.EBADF))


def sync_handle(handle: int) -> None:
    """Write a file, or the names in a folder, to the disk.

    On macOS, `fsync` leaves them in the cache of the disk, which a power loss empties. Another call
    empties the cache onto the disk; some file systems there do not have it.
    """
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        with contextlib.suppress(OSError):
            fcntl.fcntl(handle, full)
            return
    os.fsync(handle)


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable, where the system supports it."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows
        return
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:  # files can be made in a folder that cannot be listed
        return
    try:
        sync_handle(handle)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise
    finally:
        os.close(handle)
