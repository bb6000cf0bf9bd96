"""Remember what was learned from files, for as long as their content stays the same.

A look at a file whose size and modification time are known costs one system call. If they differ,
the file is hashed; if its content is the same (it was touched), what was learned still holds.
"""

import hashlib
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from eqemb.sources.found import Found

#: A file that was changed so recently may be changed again within the same tick of the file
#: system's clock: two seconds on FAT.
_CLOCK_TICK_NS = 2_000_000_000
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


class Looks:
    """The files that were looked at, now and before, by absolute path."""

    def __init__(self, before: dict[str, SeenFile] | None = None) -> None:
        self._before = before or {}
        self._now: dict[str, SeenFile] = {}
        self.hashed = 0
        """The number of files that were hashed."""

    def at(self, path: str) -> SeenFile:
        """Look at a file; raise `OSError` if that is impossible."""
        key = os.path.abspath(path)  # noqa: PTH100 - links are kept
        if key not in self._now:
            self._now[key] = self._look(path, self._before.get(key))
        return self._now[key]

    def _look(self, path: str, before: SeenFile | None) -> SeenFile:
        state = Path(path).stat()
        if before and (before.size, before.mtime_ns) == (state.st_size, state.st_mtime_ns):
            return before
        self.hashed += 1
        with Path(path).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        look = before if before and before.digest == digest else SeenFile(0, 0, digest)
        look.size, look.mtime_ns = state.st_size, state.st_mtime_ns
        look.is_recent = time.time_ns() - look.mtime_ns < _CLOCK_TICK_NS
        return look

    def newest(self, paths: list[str]) -> int:
        """Return when the last of some files was changed, in nanoseconds; 0 if none was seen."""
        keys = map(os.path.abspath, paths)
        return max((self._now[key].mtime_ns for key in keys if key in self._now), default=0)

    def has_changed(self, path: str) -> bool:
        """Return whether a file has changed since it was looked at, if it was."""
        look = self._now.get(os.path.abspath(path))  # noqa: PTH100
        if look is None:  # a link that is not followed, or a folder that cannot be listed
            return False
        try:
            state = Path(path).stat()
        except OSError:
            return True
        return (look.size, look.mtime_ns) != (state.st_size, state.st_mtime_ns)

    def to_json(self) -> dict[str, list[Any]]:
        """Return all looks at files that still exist."""
        looks = self._now | {
            path: look
            for path, look in self._before.items()
            if path not in self._now and Path(path).exists()
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
