"""Files and folders by path, on a disk of this machine or at a URL (`remote`).

Everything in this package looks at files through these functions, so that a folder in an object
store is read like one on disk.
"""

import errno
import os
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from eqemb.sources import remote
from eqemb.sources.remote import is_remote
from eqemb.storage.regular_file import is_special, open_regular


def open_file(path: str | Path, top: str = "") -> BinaryIO:
    """Open a file for reading; raise `OSError` for a pipe, a device or a similar file.

    With `top`, the path must not lead out of that folder through links.
    """
    if is_remote(path):
        return remote.open_remote(path)
    file = open_regular(path)
    if top and _leads_outside(_opened_path(path, file), top):
        file.close()
        raise OSError(errno.EACCES, "a link that leads out of the folder", str(path))
    return file


def _opened_path(path: str | Path, file: BinaryIO) -> str:
    """The real path of an open file: the system knows it, or else links are followed again."""
    try:
        return os.readlink(f"/proc/self/fd/{file.fileno()}")  # noqa: PTH115
    except OSError:
        return real_path(path)


def leads_outside(path: str | Path, top: str | Path) -> bool:
    """Whether a path resolves, through symbolic links, to something outside the folder `top`."""
    return _leads_outside(real_path(path), top)


def _leads_outside(place: str, top: str | Path) -> bool:
    return not Path(place).is_relative_to(real_path(top))


def is_folder(path: str | Path) -> bool:
    """Whether there is a folder."""
    return remote.kind_of(path) == "folder" if is_remote(path) else Path(path).is_dir()


def is_file(path: str | Path) -> bool:
    """Whether there is a file."""
    return remote.kind_of(path) == "file" if is_remote(path) else Path(path).is_file()


def is_special_file(path: str | Path) -> bool:
    """Whether a path leads to a pipe, a socket, a device or a file of the kernel."""
    try:
        return not is_remote(path) and is_special(Path(path).stat())
    except OSError:
        return False


def exists(path: str | Path) -> bool:
    """Whether there is a file or a folder."""
    return bool(remote.kind_of(path)) if is_remote(path) else Path(path).exists()


def is_empty(path: str | Path) -> bool:
    """Whether there is nothing in a folder."""
    if is_remote(path):
        return not remote.list_folder(path)
    return not any(Path(path).iterdir())


def file_size(path: str | Path) -> int:
    """Return the number of bytes of a file."""
    return remote.file_version(path)[0] if is_remote(path) else Path(path).stat().st_size


def real_path(path: str | Path) -> str:
    """Return an absolute path without links; a remote path has none."""
    if is_remote(path):
        return _remote_path(path)
    return os.path.realpath(path)


def absolute_path(path: str | Path) -> str:
    """Return an absolute path, in which links are kept."""
    if is_remote(path):
        return _remote_path(path)
    return os.path.abspath(path)  # noqa: PTH100 - links are kept


def paper_folders(paths: Iterable[str | Path]) -> tuple[str, ...]:
    """Return the folders on disk that hold the given papers, and the given files, without links."""
    local = [path for path in map(Path, paths) if not is_remote(path)]
    homes = [path if path.is_dir() else path.parent for path in local]
    return tuple(sorted({real_path(path) for path in (*local, *homes)}))


def joined_path(folder: str | Path, path: str | Path) -> Path:
    """Return a path that was given in a folder."""
    return Path(path) if is_remote(path) else Path(folder, path)


def shown_path(path: str | Path) -> str:
    """Return a path as the user wrote it, for messages."""
    return remote.url_of(path) if is_remote(path) else str(path)


def _remote_path(path: str | Path) -> str:
    return str(Path(remote.url_of(path)))
