"""The errors people meet: one sentence that says what, where and what to do.

Anything raised on purpose towards a user is an `EqembError`; the command line prints its
sentence and exits with its code. Nothing here imports anything of ours.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_WAYS_OUT = {
    errno.EACCES: "make it readable and writable for you, or name another place",
    errno.EPERM: "make it readable and writable for you, or name another place",
    errno.EROFS: "nothing can be written there, name another place",
    errno.ENOSPC: "make room there, or name another place, and run the command again",
    errno.EDQUOT: "make room there, or name another place, and run the command again",
    errno.EFBIG: "raise the limit of file sizes (ulimit -f), or name another place",
    errno.ENAMETOOLONG: "give a shorter name",
    errno.ENOENT: "name one that exists, or make the folder first",
    errno.EISDIR: "name a file",
    errno.ENOTDIR: "one part of it is a file, name a folder",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.EIO: "the disk may be failing, name another place",
}


def system_sentence(error: OSError) -> str:
    """What the system refused, where, and what to do about it."""
    said = error.strerror or str(error)
    if error.filename is not None:
        place = Path(str(error.filename))
        if place.name.startswith("."):  # scraps of ours, which tell nobody anything
            place = place.parent
        said = f"{place}: {said}"
    way_out = _WAYS_OUT.get(error.errno or 0)
    return f"{said}; {way_out}" if way_out else said


class EqembError(Exception):
    """A failure that a person can act on; `str(error)` is the whole message."""

    exit_code = 1


class UsageError(EqembError):
    """The request itself cannot be carried out (a wrong path, an impossible setting)."""

    exit_code = 2


class UnknownKeyError(UsageError, KeyError):
    """There is no vector by this name; a KeyError too, as readers of gensim's code expect."""

    __str__ = Exception.__str__  # KeyError's would put the sentence in quotes


class ThresholdError(EqembError):
    """The work was done, but a threshold that was asked for was missed."""

    exit_code = 3


class SourceError(EqembError):
    """A source that cannot be read as a paper.

    `cause` is one of the fixed words the report counts by; `detail` says more.
    """

    def __init__(self, cause: str, detail: str = "") -> None:
        super().__init__(f"{cause}: {detail}" if detail else cause)
        self.cause = cause
        self.detail = detail


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """Say where a write failed: of a full disk the system names no file."""
    try:
        yield
    except OSError as error:
        if error.filename is None and not isinstance(error, ConnectionError):
            error.filename = str(place)  # not a pipe that broke
        raise
