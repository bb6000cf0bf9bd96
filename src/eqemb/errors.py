"""Errors for users: each message says what happened, where, and what to do.

Every error that is raised for a user is an `EqembError`. The command line prints its message and
exits with its code. This module imports no other module of eqemb.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_REMEDIES = {
    errno.EACCES: "change its permissions, or choose another path",
    errno.EPERM: "change its permissions, or choose another path",
    errno.EROFS: "the file system is read-only, choose another path",
    errno.ENOSPC: "free space, or choose another path, and run the command again",
    errno.EDQUOT: "free space, or choose another path, and run the command again",
    errno.EFBIG: "raise the limit on file sizes (ulimit -f), or choose another path",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ENOENT: "choose an existing path, or create the folder first",
    errno.EISDIR: "choose a file",
    errno.ENOTDIR: "part of the path is a file, choose a folder",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.EIO: "the disk may be failing, choose another path",
}


_MOST_QUOTED = 80  # characters


def quoted(value: object) -> str:
    """Return a value as a message shows it: in quotes, as it was typed, in one line, not long."""
    text = value[: _MOST_QUOTED + 1] if isinstance(value, str) else repr(value)
    if len(text) > _MOST_QUOTED:
        text = f"{text[: _MOST_QUOTED - 1]}…"
    text = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
    if not isinstance(value, str):
        return text
    mark = '"' if "'" in text and '"' not in text else "'"
    return f"{mark}{text}{mark}"


def describe_os_error(error: OSError) -> str:
    """Return a message: the path, what the system refused, and what to do."""
    message = error.strerror or str(error)
    if error.filename is not None:
        path = Path(str(error.filename))
        if path.name.startswith("."):  # a temporary file of ours, which users do not know
            path = path.parent
        message = f"{path}: {message}"
    remedy = _REMEDIES.get(error.errno or 0)
    return f"{message}; {remedy}" if remedy else message


class EqembError(Exception):
    """A failure that the user can act on; `str(error)` is the complete message."""

    exit_code = 1


class UsageError(EqembError):
    """The request itself is wrong (for example a missing path or an invalid setting)."""

    exit_code = 2


class UnknownKeyError(UsageError, KeyError):
    """There is no vector with this key. Also a KeyError, as in gensim."""

    __str__ = Exception.__str__  # KeyError would put the message in quotes


class ThresholdError(EqembError):
    """The work was done, but the result missed a requested threshold."""

    exit_code = 3


class DamageError(EqembError):
    """A file of a library or a model is missing, or differs from what was written."""


class SourceError(EqembError):
    """A source that cannot be read as a paper.

    `cause` is one of the fixed causes that the report counts; `detail` says more.
    """

    def __init__(self, cause: str, detail: str = "") -> None:
        super().__init__(f"{cause}: {detail}" if detail else cause)
        self.cause = cause
        self.detail = detail


@contextmanager
def name_path(path: Path) -> Iterator[None]:
    """Add a path to system errors that have none, as when the disk is full."""
    try:
        yield
    except OSError as error:
        # a broken pipe is not about the path
        if error.filename is None and not isinstance(error, ConnectionError):
            error.filename = str(path)
        raise
