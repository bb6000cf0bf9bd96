"""Make what was written to a file durable."""

import contextlib
import os

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


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
