"""Open files that others have made: regular files only, without waiting.

A folder of papers may contain a pipe, a socket or a device. Opening a pipe waits for a writer,
reading a device may never end, and what the kernel shows below /proc is not a file at all. A sparse
file is refused if its size says nothing about its data.
"""

import errno
import functools
import os
import stat
from pathlib import Path
from typing import BinaryIO

_WITHOUT_WAITING = sum(
    {getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY")}
)
#: File systems of Linux whose files are made up by the kernel.
_KERNEL_FILES = frozenset(
    "binfmt_misc bpf cgroup cgroup2 configfs debugfs devpts efivarfs fusectl mqueue nsfs"
    " proc pstore rpc_pipefs securityfs selinuxfs sysfs tracefs".split()
)
NOT_REGULAR = "not a regular file"
_SPARSE_FROM = 10_000_000  # bytes of a file from which its data are compared with its size
_MOST_SPARSE = 200  # the size of a file divided by that of its data


def open_regular(path: str | Path) -> BinaryIO:
    """Open a regular file for reading; raise `OSError` for anything else."""
    return open(path, "rb", opener=_open)


def is_special(state: os.stat_result) -> bool:
    """Whether this is a pipe, a socket, a device, or a file or folder that the kernel makes up."""
    is_ordinary = stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode)
    return not is_ordinary or state.st_dev in _kernel_devices()


def _open(path: str, flags: int) -> int:
    _check(Path(path).stat(), path)  # opening a device may already have an effect
    handle = os.open(path, flags | _WITHOUT_WAITING)
    try:
        state = os.fstat(handle)  # it may have been replaced meanwhile
        _check(state, path)
        if _is_sparse(handle, state):
            raise OSError(errno.EFBIG, f"a sparse file of {state.st_size:,} bytes", path)  # noqa: TRY301
    except BaseException:
        os.close(handle)
        raise
    return handle


def _check(state: os.stat_result, path: str) -> None:
    if is_special(state):
        raise OSError(errno.EINVAL, NOT_REGULAR, path)


@functools.cache
def _kernel_devices() -> frozenset[int]:
    """The device numbers of file systems that the kernel makes up; none on other systems."""
    try:
        lines = Path("/proc/self/mountinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return frozenset()
    found = set()
    for fields in map(str.split, lines):
        if fields[fields.index("-") + 1] in _KERNEL_FILES:
            major, minor = map(int, fields[2].split(":"))
            found.add(os.makedev(major, minor))
    return frozenset(found)


def _blocks(state: os.stat_result) -> int | None:
    """The number of blocks of a file; None on Windows."""
    return getattr(state, "st_blocks", None)


def _is_sparse(handle: int, state: os.stat_result) -> bool:
    """Whether a large file has almost no data: few blocks and, as these may lag, large holes."""
    size, blocks = state.st_size, _blocks(state)
    if blocks is None or size < _SPARSE_FROM or blocks * 512 * _MOST_SPARSE >= size:
        return False
    if not hasattr(os, "SEEK_DATA"):
        return blocks > 0  # a file system that counts blocks
    data = at = 0
    try:
        while at < size and data * _MOST_SPARSE < size:
            start = os.lseek(handle, at, os.SEEK_DATA)
            at = os.lseek(handle, start, os.SEEK_HOLE)
            data += at - start
    except OSError as error:  # no more data, or a file system that cannot tell
        return error.errno == errno.ENXIO
    finally:
        os.lseek(handle, 0, os.SEEK_SET)
    return data * _MOST_SPARSE < size
