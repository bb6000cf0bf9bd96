"""Folders of arrays on disk: safetensors files mapped into memory, and hashes of content.

A folder is written beside its place and moved there by rename, so that after a kill at any moment
it is the old one or the new one. What a hash covers is given by the caller: arrays and settings,
never times, paths or threads.
"""

import contextlib
import ctypes
import functools
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqemb.errors import EqembError, UsageError

try:
    import fcntl
except ImportError:  # Windows: the scraps of kills are not told from folders being written
    fcntl = None  # type: ignore[assignment]

Arrays = Mapping[str, NDArray[Any]]

_DTYPES = {
    "F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8", "U64": "<u8", "U8": "u1",
}  # fmt: skip
_NAMES = {np.dtype(name): code for code, name in _DTYPES.items()}


def content_hash(settings: Mapping[str, Any], arrays: Arrays) -> str:
    """The sha256 of settings (as sorted JSON) and arrays (by name: type, shape, bytes)."""
    digest = hashlib.sha256(canonical_json(settings))
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(canonical_json([name, _NAMES[array.dtype], array.shape]))
        digest.update(_bytes(array))
    return digest.hexdigest()


def _bytes(array: NDArray[Any]) -> memoryview:
    """The array's own memory: a mapped one is not copied."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def canonical_json(value: Any) -> bytes:
    """JSON with one spelling: sorted keys, no spaces, UTF-8."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def write_arrays(path: Path, arrays: Arrays, metadata: Any = None) -> None:
    """Write a safetensors file: a JSON header, then the arrays, wide types first.

    In that order, and after a header of whole 64 bytes, every array is aligned to its type.
    """
    header: dict[str, Any] = {}
    if metadata is not None:  # safetensors allows strings only
        header["__metadata__"] = {"json": json.dumps(metadata, ensure_ascii=False)}
    at = 0
    order = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    for name in order:
        array = arrays[name]
        header[name] = {
            "dtype": _NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [at, at + array.nbytes],
        }
        at += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-(len(text) + 8) % 64)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in order:
            file.write(_bytes(arrays[name]))
        file.flush()
        os.fsync(file.fileno())


def _header(path: Path) -> tuple[NDArray[np.uint8], int, dict[str, Any]]:
    try:
        data = np.memmap(path, np.uint8, mode="r")
        size = int.from_bytes(data[:8].tobytes(), "little")
        return data, size, json.loads(data[8 : 8 + size].tobytes())
    except (OSError, ValueError) as error:
        raise EqembError(f"{path} is not a file of arrays ({error}); make it anew") from None


def read_metadata(path: Path) -> dict[str, Any]:
    """What was written beside the arrays of a file."""
    found: dict[str, Any] = json.loads(_header(path)[2].get("__metadata__", {}).get("json", "{}"))
    return found


def map_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a safetensors file, mapped into memory and not to be changed."""
    data, size, header = _header(path)
    found = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        first, last = entry["data_offsets"]
        if 8 + size + last > len(data):
            raise EqembError(f"{path} ends before its array {name!r}; make it anew")
        piece = data[8 + size + first : 8 + size + last]
        found[name] = piece.view(_DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return found


@contextmanager
def new_folder(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """A temporary folder that takes its place at the end; an old one goes only then."""
    path = path.resolve()  # a link stays, and what it points to is replaced
    if whole(path) != path:
        whole(path).rename(path)
    shutil.rmtree(_aside(path), ignore_errors=True)
    if path.exists() and not replace:
        raise UsageError(f"{path} exists already; name another place or remove it")
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path} is a file, and a folder is to be written; name another place")
    with _beside(path) as made:
        made.chmod(0o755)
        yield made
        _sync(made)
        _take_place(made, path)
        sync_folder(path.parent)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A temporary file that takes its place at the end, whether there was one before or not."""
    path = path.resolve()
    if path.is_dir():
        raise UsageError(f"{path} is a folder, and a file is to be written; name another place")
    with _beside(path) as folder:
        yield folder / path.name
        _sync(folder)
        (folder / path.name).replace(path)
        sync_folder(path.parent)


def whole(path: Path) -> Path:
    """Where a folder is: at its place or, after a kill between two renames, still beside it."""
    aside = _aside(path)
    return aside if aside.exists() and not path.exists() else path


def _aside(path: Path) -> Path:
    return path.with_name(f".{path.name}.old")


def _take_place(made: Path, path: Path) -> None:
    """Move a folder to its place; what was there is beside it then, to be removed."""
    if not path.exists():
        made.rename(path)
    elif not _exchange(made, path):
        aside = _aside(path)
        path.rename(aside)
        try:
            made.rename(path)
        except BaseException:
            aside.rename(path)
            raise
        shutil.rmtree(aside, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Give each of two folders the other's name in one step, where the system can (Linux)."""
    call, here, exchange = _renameat2(), -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    names = os.fsencode(one), os.fsencode(other)
    return call is not None and call(here, names[0], here, names[1], exchange) == 0


@functools.cache
def _renameat2() -> Any:
    try:
        return ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):
        return None


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """Say where a write failed: of a full disk the system names no file."""
    try:
        yield
    except OSError as error:
        if error.filename is None and not isinstance(error, ConnectionError):
            error.filename = str(place)  # not a pipe that broke
        raise


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A folder of our own next to a place, locked while we live; those of the dead are removed."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        _clear(path)
        while True:
            made = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
            lock = _locked(made, wait=True)
            if made.exists():  # else another writer took it for a scrap before it was locked
                break
        try:
            yield made
        finally:
            shutil.rmtree(made, ignore_errors=True)
            if lock is not None:
                os.close(lock)


def _clear(path: Path) -> None:
    """Remove what writes to this place left when they were killed."""
    scrap = re.compile(rf"\.{re.escape(path.name)}\.[a-z0-9_]{{8}}")
    for found in [entry for entry in path.parent.iterdir() if scrap.fullmatch(entry.name)]:
        lock = _locked(found, wait=False)
        if lock is not None:
            shutil.rmtree(found, ignore_errors=True)
            os.close(lock)


def hold(folder: Path) -> int | None:
    """Keep `remove_unheld` from a folder until what is returned is closed; None without locks."""
    return _locked(folder, wait=False, shared=True)


def remove_unheld(folder: Path) -> None:
    """Remove a folder, but not while somebody holds it."""
    if not _is_held(folder):
        shutil.rmtree(folder, ignore_errors=True)


def _is_held(folder: Path) -> bool:
    if fcntl is None:
        return False
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return isinstance(error, BlockingIOError)  # else the file system has no locks
    finally:
        os.close(handle)
    return False


def _locked(folder: Path, *, wait: bool, shared: bool = False) -> int | None:
    """A lock on a folder, held until it is closed; None where it cannot be had."""
    if fcntl is None:
        return None
    how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    with contextlib.suppress(OSError):  # gone, or on a file system that has no locks
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(handle, how | (0 if wait else fcntl.LOCK_NB))
        except OSError:
            os.close(handle)
            raise
        return handle
    return None


def _sync(folder: Path) -> None:
    """Make everything in a folder durable: a rename must not reach the disk before it."""
    for found in folder.rglob("*"):
        if found.is_dir():
            sync_folder(found)
        else:
            with found.open("r+b") as file:
                os.fsync(file.fileno())
    sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable, where the system can."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_json(path: Path, value: Any) -> None:
    """JSON for programs and people: indented, UTF-8."""
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def read_part(path: Path) -> Any:
    """JSON that belongs to a folder of ours; a file that is not there or broken is said so."""
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise EqembError(f"{path} cannot be read ({error}): make its folder anew") from None


def read_json(path: Path, kind: str, version: int) -> dict[str, Any]:
    """A folder's own file; refuses another format or version, and says what to do."""
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is damaged"
        raise UsageError(f"{path} is no {kind} ({why}): name another, or make it anew") from None
    if not isinstance(value, dict) or value.get("format") != f"eqemb {kind}":
        raise UsageError(f"{path} is no {kind} of eqemb's: name another, or make it anew")
    if value.get("version") != version:
        raise UsageError(
            f"{path} is a {kind} of version {value.get('version')}, this eqemb reads {version}:"
            f" make it anew, or use the eqemb that made it"
        )
    return value
