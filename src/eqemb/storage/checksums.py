"""Checksums of the files of a folder: written when it is finished, checked when it is opened.

    checksums.json    the size and the SHA-256 of each file below the folder, and a hash of these

A folder within that has checksums of its own counts as one file, its checksums.json. So one hash
stands for a whole tree, and a part that never changes is read once, when it is written. `parts` has
the hashes of folders elsewhere that the folder belongs together with.

Sizes are checked whenever a folder is opened, and the content of its smallest files, up to
`READ_AT_OPENING` bytes: that is all of a small folder, and what decides how the rest is read of a
large one. `find_damage` reads everything.
"""

import hashlib
import json
import math
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from eqemb.errors import DamageError, UsageError
from eqemb.storage.array_file import CREATE_AGAIN, canonical_json, file_hash
from eqemb.storage.atomic import new_file

CHECKSUMS = "checksums.json"
CHECKSUMS_VERSION = 1
#: Bytes that are read at opening, which takes hundredths of a second: libraries of 42 papers and
#: theses have 28 MB.
READ_AT_OPENING = 64_000_000
#: What to do about damage, unless the owner of the folder knows better.
RESTORE = CREATE_AGAIN
#: What is wrong with a file that has no checksum.
NOT_LISTED = "does not belong here"
#: Stands for the size of a file that is replaced without new checksums.
_CHANGING = -1
#: Distinguishes a file from one that replaces it, and from what it was before a change in place.
Stamp = tuple[int, int, int]


class ListedFile(NamedTuple):
    """A file as its checksums describe it."""

    path: str
    size: int
    sha256: str


class Damage(NamedTuple):
    """A file that differs from its checksums."""

    path: Path
    what: str

    def error(self, remedy: str = RESTORE) -> DamageError:
        """Return the error that reports it."""
        return DamageError(f"{self.path} {self.what}: {remedy}")


class Checksums(NamedTuple):
    """The content of a checksums.json."""

    files: dict[str, list[Any]]
    """By path below the folder: size and SHA-256."""
    parts: dict[str, str]
    """The SHA-256 of the checksums of folders elsewhere."""


# ---------------------------------------------------------------- writing


def seal(
    folder: Path,
    apart: Collection[str] = (),
    parts: Mapping[str, str] | None = None,
    changing: Collection[str] = (),
) -> None:
    """Write the checksums of the files below a folder, without the folders `apart` in it.

    Files that are `changing` are only listed: they are replaced later, and check themselves.
    """
    files: dict[str, list[Any]] = {
        name: [_CHANGING, ""] if name in changing else _measure(folder / name)
        for name in file_names(folder, apart)
    }
    with new_file(folder / CHECKSUMS) as path:
        path.write_bytes(_to_bytes(files, parts or {}))


def _measure(path: Path) -> list[Any]:
    return [path.stat().st_size, file_hash(path)]


def file_names(folder: Path, apart: Collection[str] = ()) -> Iterator[str]:
    """Yield the paths of the files below a folder, but of hidden ones and of its checksums.

    A folder within that has checksums is represented by these.
    """
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name in (CHECKSUMS, *apart):
            continue
        if not path.is_dir():
            yield path.name
        elif is_sealed(path):
            yield f"{path.name}/{CHECKSUMS}"
        else:
            yield from (f"{path.name}/{name}" for name in file_names(path))


def _to_bytes(files: Mapping[str, Any], parts: Mapping[str, str]) -> bytes:
    content: dict[str, Any] = {"files": files, "parts": parts}
    head = {"format": "eqemb checksums", "version": CHECKSUMS_VERSION}
    head["sha256"] = hashlib.sha256(canonical_json(content)).hexdigest()
    return canonical_json(head | content) + b"\n"


# ---------------------------------------------------------------- reading


def is_sealed(folder: Path) -> bool:
    """Whether a folder has checksums."""
    return (folder / CHECKSUMS).is_file()


def read_checksums(folder: Path, sha256: str | None = None, remedy: str = RESTORE) -> Checksums:
    """Return the checksums of a folder; raise an error if they are missing or damaged.

    `sha256` is what their file must have, if that is known.
    """
    path = folder / CHECKSUMS
    try:
        data = path.read_bytes()
    except OSError as error:
        what = "is missing" if isinstance(error, FileNotFoundError) else f"({error.strerror})"
        raise Damage(path, what).error(remedy) from None
    try:
        found = json.loads(data)
        version = found["version"]
        made = Checksums(found["files"], found["parts"])
        is_intact = data == _to_bytes(*made) and _is_well_formed(made)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Damage(path, "is damaged").error(remedy) from None
    if version != CHECKSUMS_VERSION:
        raise UsageError(
            f"{path} has version {version}, but this eqemb reads version {CHECKSUMS_VERSION}: use"
            f" the eqemb version that made it, or {remedy}"
        )
    if not is_intact or sha256 not in (None, hashlib.sha256(data).hexdigest()):
        raise Damage(path, "is damaged").error(remedy)
    return made


def _is_well_formed(found: Checksums) -> bool:
    """Whether checksums that somebody else may have written have the types that we write."""
    return (
        all(map(_is_inside, (*found.files, *found.parts)))
        and all(type(pair) is list and len(pair) == 2 for pair in found.files.values())
        and all(type(size) is int and type(sha256) is str for size, sha256 in found.files.values())
        and all(type(sha256) is str for sha256 in found.parts.values())
    )


def _is_inside(name: str) -> bool:
    """Whether a path stays below its folder on this system: `a:b` and `a..b` are names on Linux."""
    path = PurePath(name)
    return bool(path.parts) and not path.anchor and ".." not in path.parts and "\0" not in name


def listed_files(
    folder: Path,
    sha256: str | None = None,
    remedy: str = RESTORE,
    apart: Collection[str] = (),
) -> Iterator[ListedFile]:
    """Yield the files of a folder and of folders within, with the checksums of these, as listed.

    Folders within that are named in `apart` are left out. An error is raised if there is another
    file or folder: what exists may decide how a folder is read.
    """
    known = read_checksums(folder, sha256, remedy).files
    _refuse_others(folder, {name.partition("/")[0] for name in known}.union(apart), remedy)
    for name, (size, wanted) in known.items():
        inner, _, last = name.rpartition("/")
        if inner in apart:
            continue
        yield ListedFile(f"{folder}{os.sep}{name}", size, wanted)
        if inner and last == CHECKSUMS:
            yield from listed_files(folder / inner, wanted, remedy)


def _refuse_others(folder: Path, known: Collection[str], remedy: str) -> None:
    """Raise an error if a folder has another entry, unless it is hidden."""
    for name in sorted(os.listdir(folder)):  # noqa: PTH208 - of every folder that is opened
        if name not in known and name != CHECKSUMS and not name.startswith("."):
            raise Damage(folder / name, NOT_LISTED).error(remedy)


def stamp_of(path: str) -> Stamp | None:
    """Return the stamp of a file; None if there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - of a hundred files for each request: no Path
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


class OpenedFiles:
    """Files that were checked when they were opened, and can be checked again."""

    def __init__(
        self, files: Iterable[ListedFile], remedy: str = RESTORE, most: int | None = None
    ) -> None:
        """Check sizes, and read the smallest files, up to `most` bytes (`READ_AT_OPENING`).

        Raise an error that names a file with damage.
        """
        self._files = sorted(files, key=lambda file: (file.size, file.path))
        self._remedy = remedy
        self._stamps: dict[str, Stamp] = {}
        self._check(READ_AT_OPENING if most is None else most, self._stamps)

    def __len__(self) -> int:
        return len(self._files)

    def _check(self, most: float, stamps: dict[str, Stamp]) -> None:
        left = most
        for file in self._files:
            stamp = stamp_of(file.path)
            left -= file.size
            damage = _compare(file, stamp, read=left >= 0)
            if damage is not None:
                raise damage.error(self._remedy)
            if stamp is not None and file.size != _CHANGING:
                stamps[file.path] = stamp

    def check_all(self) -> None:
        """Read all files; raise an error that names one with damage."""
        self._check(math.inf, {})

    def changed(self, *, or_removed: bool = False) -> str | None:
        """Return a file that was changed or replaced since it was opened; None if none was.

        Files that were removed count only with `or_removed`: what is mapped of them can still be
        read, but what was not opened yet is missing in answers.
        """
        for path, stamp in self._stamps.items():
            found = stamp_of(path)
            if found != stamp and (or_removed or found is not None):
                return path
        return None


def check_folder(folder: Path, remedy: str = RESTORE, most: int | None = None) -> None:
    """Check a folder as `OpenedFiles` does; older versions wrote no checksums."""
    if is_sealed(folder):
        OpenedFiles(listed_files(folder, remedy=remedy), remedy, most)


def check_file(path: Path, remedy: str = RESTORE) -> None:
    """Read a file and compare it with the checksums of its folder, if they have it."""
    if is_sealed(path.parent):
        known = read_checksums(path.parent, remedy=remedy).files.get(path.name)
        if known is not None:
            OpenedFiles([ListedFile(str(path), *known)], remedy, known[0])


def _compare(file: ListedFile, stamp: Stamp | None, *, read: bool) -> Damage | None:
    """Return how a file differs from its checksums; its content is compared if it is `read`."""
    path = Path(file.path)
    if stamp is None:
        return Damage(path, "is missing")
    if file.size == _CHANGING:
        return None
    if stamp[1] != file.size:
        return Damage(path, f"has {stamp[1]:,} bytes instead of {file.size:,}")
    if not read:
        return None
    try:
        return None if file_hash(path) == file.sha256 else Damage(path, "was changed")
    except OSError as error:
        return Damage(path, f"cannot be read ({error.strerror})")


def find_damage(
    folder: Path,
    sha256: str | None = None,
    apart: Collection[str] = (),
    watch: Callable[[int], object] = lambda _size: None,
) -> Iterator[Damage]:
    """Read all files of a folder and yield those that are missing, changed, or not listed.

    Args:
        folder: A folder with checksums.
        sha256: The hash of its checksums.json, if it is known.
        apart: Folders in it that are no part of it.
        watch: Called with the size of each file that was read.
    """
    try:
        known = read_checksums(folder, sha256)
    except (DamageError, UsageError) as error:
        yield Damage(folder / CHECKSUMS, str(error).removeprefix(f"{folder / CHECKSUMS} "))
        return
    for name, (size, wanted) in known.files.items():
        inner, _, last = name.rpartition("/")
        if inner and last == CHECKSUMS:
            yield from find_damage(folder / inner, wanted, watch=watch)
            continue
        file = ListedFile(f"{folder}{os.sep}{name}", size, wanted)
        damage = _compare(file, stamp_of(file.path), read=True)
        watch(size)
        if damage is not None:
            yield damage
    sealed = {name.rpartition("/")[0] for name in known.files if name.endswith(f"/{CHECKSUMS}")}
    for name in file_names(folder, {*apart, *sealed}):
        if name not in known.files:
            yield Damage(folder / name, NOT_LISTED)
