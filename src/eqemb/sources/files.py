"""Files and folders by path, on a disk of this machine or at a URL (`remote`).

Everything in this package looks at files through these functions, so that a folder in an object
store is read like one on disk.
"""

import os
from pathlib import Path
from typing import BinaryIO

from eqemb.sources import remote
from eqemb.sources.remote import is_remote


def open_file(path: str | Path) -> BinaryIO:
    """Open a file for reading."""
    return remote.open_remote(path) if is_remote(path) else Path(path).open("rb")


def is_folder(path: str | Path) -> bool:
    """Whether there is a folder."""
    return remote.kind_of(path) == "folder" if is_remote(path) else Path(path).is_dir()


def is_file(path: str | Path) -> bool:
    """Whether there is a file."""
    return remote.kind_of(path) == "file" if is_remote(path) else Path(path).is_file()


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


def joined_path(folder: str | Path, path: str | Path) -> Path:
    """Return a path that was given in a folder."""
    return Path(path) if is_remote(path) else Path(folder, path)


def shown_path(path: str | Path) -> str:
    """Return a path as the user wrote it, for messages."""
    return remote.url_of(path) if is_remote(path) else str(path)


def _remote_path(path: str | Path) -> str:
    return str(Path(remote.url_of(path)))
