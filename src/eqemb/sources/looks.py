"""Remember what was learned from files, for as long as their content stays the same.

A look at a file whose size and modification time are known costs one system call. If they differ,
the file is hashed; if its content is the same (it was touched), what was learned still holds.
"""

import hashlib
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from eqemb.errors import UsageError
from eqemb.sources.files import absolute_path, exists, open_file
from eqemb.sources.found import Found
from eqemb.sources.remote import file_version, is_remote

#: A file that was changed so recently may be changed again within the same tick of the file
#: system's clock: two seconds on FAT.
_CLOCK_TICK_NS = 2_000_000_000
_UNKNOWN = -2
#: `Found.kind` of a container, or a file of records, that is as it was: it was not opened.
UNCHANGED = "unchanged"


@dataclass(slots=True)
class SeenFile:
    """One file as it was seen."""

    size: int
    mtime_ns: int
    """-1 if the file must be hashed at the next look."""
    digest: str
    text: Any = None
    """What `folders.read_text` learned; None before, False if the file is not plain TeX."""
    found: dict[str, str] | None = None
    """Fields of the only paper or skipped source in it; empty for a container; None if unknown."""
    is_recent: bool = field(default=False, compare=False)
    """Whether it was changed just before the look."""


class _FileState(NamedTuple):
    """What tells that a file has changed, without reading it."""

    size: int
    mtime_ns: int
    """Of a remote file, a hash of its version; -2 if the store gives none: it is hashed."""
    version: str = ""
    """What the store says of a remote file, which then need not be hashed."""


def _state(path: str) -> _FileState:
    if not is_remote(path):
        state = Path(path).stat()
        return _FileState(state.st_size, state.st_mtime_ns)
    size, version = file_version(path)
    if not version:
        return _FileState(size, _UNKNOWN)
    told = hashlib.sha256(version.encode()).hexdigest()
    return _FileState(size, int(told[:12], 16), f"remote {size} {told[:32]}")


def _is_there(path: str) -> bool:
    try:
        return exists(path)
    except (OSError, UsageError):  # a store without access: what was learned is kept
        return True


class Looks:
    """The files that were looked at, now and before, by absolute path."""

    def __init__(self, before: dict[str, SeenFile] | None = None) -> None:
        self._before = before or {}
        self._now: dict[str, SeenFile] = {}
        self.hashed = 0
        """The number of files that were hashed."""

    def at(self, path: str, stated: str = "") -> SeenFile:
        """Look at a file; raise `OSError` if that is impossible.

        A file is not hashed if a digest is `stated`, which is checked when the file is read.
        """
        key = absolute_path(path)
        if key not in self._now:
            self._now[key] = self._look(path, self._before.get(key), stated)
        return self._now[key]

    def _look(self, path: str, before: SeenFile | None, stated: str) -> SeenFile:
        state = _state(path)
        is_known = state.mtime_ns != _UNKNOWN
        if before and is_known and (before.size, before.mtime_ns) == state[:2]:
            return before
        digest = stated or state.version
        if not digest:
            self.hashed += 1
            with open_file(path) as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
        is_same = before is not None and before.digest == digest and not stated
        look = before if before and is_same else SeenFile(0, 0, digest)
        look.size, look.mtime_ns = state[:2]
        look.is_recent = time.time_ns() - look.mtime_ns < _CLOCK_TICK_NS and not state.version
        return look

    def is_new(self, path: str) -> bool:
        """Return whether a file is new, or has changed since the look of an earlier run."""
        key = absolute_path(path)
        return key not in self._before or self._now.get(key) is not self._before[key]

    def newest(self, paths: list[str]) -> int:
        """Return when the last of some files was changed, in nanoseconds; 0 if none was seen."""
        keys = map(absolute_path, paths)
        return max((self._now[key].mtime_ns for key in keys if key in self._now), default=0)

    def has_changed(self, path: str) -> bool:
        """Return whether a file has changed since it was looked at, if it was."""
        look = self._now.get(absolute_path(path))
        if look is None:  # a link that is not followed, or a folder that cannot be listed
            return False
        try:
            return (look.size, look.mtime_ns) != _state(path)[:2]
        except OSError:
            return True

    def to_json(self) -> dict[str, list[Any]]:
        """Return all looks at files that still exist."""
        looks = self._now | {
            path: look
            for path, look in self._before.items()
            if path not in self._now and _is_there(path)
        }
        return {path: list(_fields(looks[path])) for path in sorted(looks)}

    @classmethod
    def from_json(cls, stored: dict[str, list[Any]]) -> "Looks":
        """Return the looks of an earlier run."""
        return cls({path: SeenFile(*fields) for path, fields in stored.items()})


def _fields(look: SeenFile) -> Iterator[Any]:
    values = asdict(look)
    if values.pop("is_recent"):
        values["mtime_ns"] = -1
    return iter(values.values())


def files_of(found: Found) -> list[str]:
    """Return the files on disk that a paper is read from."""
    if found.kind == "folder":
        return [f"{found.path}/{path}" for path in found.files]
    return [found.path]


def digest(found: Found, looks: Looks) -> str:
    """Return the digest of everything that is read of a paper, and of how it is read."""
    total = hashlib.sha256(f"{found.form}\0{found.cause}\0{found.detail}\0".encode())
    if found.cause:  # its content has been judged
        return total.hexdigest()
    if found.data is not None:
        total.update(found.data)
        return total.hexdigest()
    for path, name in zip(files_of(found), found.files or [""], strict=True):
        try:
            content = looks.at(path).digest
        except OSError as error:
            content = str(error.strerror)
        total.update(
            f"{name}\0{name == found.root}\0{content}\0".encode("utf-8", "backslashreplace")
        )
    return total.hexdigest()
