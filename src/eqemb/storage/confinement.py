"""Take from this process what it does not need: the network, other processes and other files.

`confine` applies what the system offers and says what it applied:

    network namespace   Linux: a network in which there is nothing
    Landlock            Linux 5.13 or later: the kernel refuses other files; from 6.7, TCP; from
                        6.12, signals to other processes and abstract Unix sockets
    audit hook          everywhere: Python refuses sockets, new processes, signals and other files

A hook cannot be removed, but binds only Python code; the other two bind the whole process. None of
them is required: where one is not permitted, as in some containers, the others remain.

Even with all three, some things are possible with the rights of the user:

    in any code      learn whether a file exists, its size and its times (`stat`)
    in native code   connect to Unix sockets that have a path, if their servers let the user; enter
                     other folders; change modes, owners, times and attributes of files; fork,
                     which gives a process that is as confined; before Linux 6.12, send signals

So bytes can leave through a server on this machine that listens at a path and passes them on.
"""

import ctypes
import errno
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

_NEW_USERS, _NEW_NETWORK = 0x10000000, 0x40000000  # of unshare(2)
_NO_NEW_PRIVILEGES = 38  # of prctl(2)
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # system calls on all architectures
_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3
#: The accesses to files that Landlock can refuse, by its version.
_ACCESSES = ((1, (1 << 13) - 1), (2, 1 << 13), (3, 1 << 14))
_TCP_VERSION, _TCP = 4, 0b11  # bind and connect
#: Abstract Unix sockets and signals, both of processes outside.
_SCOPES_VERSION, _REFUSED_SCOPES = 6, 0b11
#: What the interpreter, its extension modules and the C library may still open.
_SYSTEM_PLACES = ("/lib", "/lib64", "/usr/lib", "/usr/share/zoneinfo", "/dev/null", "/dev/urandom")
_REFUSED_EVENTS = (
    *("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system"),
    *("os.startfile", "os.putenv", "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link"),
    *("os.symlink", "os.truncate", "os.chmod", "os.chown", "shutil.", "pty.", "webbrowser."),
    *("os.kill", "signal.pthread_kill", "os.chdir", "os.utime", "os.chflags", "sqlite3."),
    *("os.getxattr", "os.listxattr", "os.setxattr", "os.removexattr"),
)
_LISTING_EVENTS = frozenset(("os.listdir", "os.scandir", "os.walk"))
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def confine(folders: Sequence[str] | None) -> list[str]:
    """Give up the network, other processes, writing files, and reading outside some folders.

    The documentation of this module says what remains.

    Call it before the process has a second thread. If `folders` is None, any file may be read.

    Returns:
        The names of the protections that are active.
    """
    places = None if folders is None else sorted({*map(os.path.realpath, folders), *_own_places()})
    active = ["network namespace"] if _leave_network() else []
    if _restrict_files(["/"] if places is None else places):
        active.append("Landlock")
    sys.dont_write_bytecode = True
    sys.addaudithook(_make_hook(places))
    return [*active, "audit hook"]


def _own_places() -> set[str]:
    """The folders of the interpreter, and those that it has imported modules from.

    Other folders of the search path are left out: the first may be the home of the user.
    """
    places = {sys.prefix, sys.base_prefix, sys.exec_prefix, *_SYSTEM_PLACES}
    entries = sorted({_below(place) for place in sys.path if place}, key=len, reverse=True)
    for file in {getattr(module, "__file__", None) or "" for module in list(sys.modules.values())}:
        places.add(next((entry for entry in entries if file.startswith(entry)), sys.prefix))
    return {os.path.realpath(place) for place in places if Path(place).exists()}


# ---------------------------------------------------------------- Linux


def _call(name: str, *arguments: Any) -> int:
    """Call a function of the C library; -1 if it fails or does not exist."""
    if not sys.platform.startswith("linux"):
        return -1
    try:
        return int(getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments))
    except (OSError, AttributeError):
        return -1


def _leave_network() -> bool:
    """Move to a network namespace of its own.

    A user who is not root needs a user namespace for that. Root would lose the right to read files
    of others in one, and has no need of it.
    """
    if _call("unshare", _NEW_NETWORK) == 0:
        return True
    is_root = not hasattr(os, "geteuid") or os.geteuid() == 0
    return not is_root and _call("unshare", _NEW_USERS | _NEW_NETWORK) == 0


class _Ruleset(ctypes.Structure):
    _fields_ = (
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scopes", ctypes.c_uint64),
    )


class _Rule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("accesses", ctypes.c_uint64), ("folder", ctypes.c_int32))


def _restrict_files(places: Iterable[str]) -> bool:
    """Let the kernel refuse all files but those below some places, which can only be read."""
    version = _call("syscall", _CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return False
    handled = sum(accesses for since, accesses in _ACCESSES if version >= since)
    has_network, has_scopes = version >= _TCP_VERSION, version >= _SCOPES_VERSION
    rules = _Ruleset(handled, _TCP * has_network, _REFUSED_SCOPES * has_scopes)
    size = ctypes.c_size_t(8 * (1 + has_network + has_scopes))  # older kernels know fewer fields
    ruleset = _call("syscall", _CREATE_RULESET, ctypes.byref(rules), size, 0)
    if ruleset < 0:
        return False
    try:
        return (
            all(_allow(ruleset, place) for place in places)
            and _call("prctl", _NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0
            and _call("syscall", _RESTRICT_SELF, ruleset, 0) == 0
        )
    finally:
        os.close(ruleset)


def _allow(ruleset: int, place: str) -> bool:
    """Allow reading below a place; one that does not exist needs no rule."""
    try:
        handle = os.open(place, getattr(os, "O_PATH", 0) | os.O_CLOEXEC)
    except OSError as error:
        return error.errno in {errno.ENOENT, errno.ENOTDIR, errno.EACCES}
    try:
        accesses = _READ_FILE | (_READ_FOLDER if Path(place).is_dir() else 0)
        rule = _Rule(accesses, handle)
        return _call("syscall", _ADD_RULE, ruleset, 1, ctypes.byref(rule), 0) == 0
    finally:
        os.close(handle)


# ---------------------------------------------------------------- all systems


def _make_hook(places: Sequence[str] | None) -> Callable[[str, tuple[Any, ...]], None]:
    """Return an audit hook that refuses what `confine` gives up."""

    def check(event: str, path: Any) -> None:
        if places is not None and isinstance(path, str | bytes | os.PathLike):
            real = os.path.realpath(os.fsdecode(path))
            if not any(real == place or real.startswith(_below(place)) for place in places):
                raise PermissionError(
                    errno.EACCES, f"not allowed here ({event})", os.fsdecode(path)
                )

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & _WRITING and not isinstance(path, int):
                raise PermissionError(errno.EACCES, "not allowed to write here", str(path))
            check(event, path)
        elif event in _LISTING_EVENTS:
            check(event, arguments[0])
        elif event.startswith(_REFUSED_EVENTS):
            raise PermissionError(errno.EACCES, f"not allowed here ({event})")

    return hook


def _below(place: str) -> str:
    return place if place.endswith(os.sep) else place + os.sep
