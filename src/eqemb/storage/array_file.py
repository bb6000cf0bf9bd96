"""Arrays on disk: safetensors files, mapped into memory, and hashes of their content.

The caller decides what a hash covers: arrays and settings, never times, paths or threads.
"""

import errno
import hashlib
import json
import math
import mmap
import os
import sys
import threading
import tokenize
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from eqemb.errors import DamageError, name_path
from eqemb.storage.syncing import sync_handle

Arrays = Mapping[str, NDArray[Any]]

_DTYPES = {
    "F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8", "U64": "<u8", "U8": "u1",
}  # fmt: skip
_ZEROS = bytes(1 << 20)
#: What file systems say that cannot reserve space.
_CANNOT_RESERVE = frozenset((errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS))
_opening = threading.Lock()
#: What NumPy raises for a damaged header.
_HEADER_ERRORS = (ValueError, TypeError, EOFError, SyntaxError, OverflowError, tokenize.TokenError)
#: What to do about a damaged file.
CREATE_AGAIN = "restore it from a copy, or create its folder again"
_DTYPE_CODES = {np.dtype(name): code for code, name in _DTYPES.items()}


def content_hash(settings: Mapping[str, Any], arrays: Arrays) -> str:
    """Return the sha256 of settings (as sorted JSON) and arrays (by name: type, shape, bytes)."""
    digest = hashlib.sha256(canonical_json(settings))
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(canonical_json([name, _DTYPE_CODES[array.dtype], array.shape]))
        digest.update(_bytes(array))
    return digest.hexdigest()


def _bytes(array: NDArray[Any]) -> memoryview:
    """Return the array's memory, without a copy if it is contiguous."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def file_hash(path: Path) -> str:
    """Return the sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def canonical_json(value: Any) -> bytes:
    """Return canonical JSON: sorted keys, no spaces, UTF-8.

    File names may have lone surrogates, which `json.loads` accepts as they are written here.
    """
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def write_arrays(path: Path, arrays: Arrays, metadata: Any = None) -> None:
    """Write a safetensors file: a JSON header, then the arrays, wide types first.

    This order, and a header padded to a multiple of 64 bytes, align every array to its type.
    """
    kinds = {name: (array.dtype, array.shape) for name, array in arrays.items()}
    text, order = _make_header(kinds, metadata)
    with path.open("wb") as file:
        file.write(text)
        for name in order:
            file.write(_bytes(arrays[name]))
        file.flush()
        sync_handle(file.fileno())


def create_arrays(
    path: Path, kinds: "Mapping[str, tuple[np.dtype[Any], tuple[int, ...]]]"
) -> dict[str, NDArray[Any]]:
    """Create the file that `write_arrays` writes, with arrays of zeros that the caller fills."""
    text, order = _make_header(kinds)
    sizes = [kinds[name][0].itemsize * math.prod(kinds[name][1]) for name in order]
    ends = np.cumsum([len(text), *sizes]).tolist()
    with path.open("wb") as file:
        file.write(text)
        allocate(file, len(text), ends[-1])
    data = np.memmap(path, np.uint8, mode="r+")
    return {
        name: data[first:last].view(kinds[name][0]).reshape(kinds[name][1])
        for name, first, last in zip(order, ends[:-1], ends[1:], strict=True)
    }


def allocate(file: BinaryIO, start: int, end: int) -> None:
    """Extend a file by zeros, so that a full disk is an error here, and no crash when it is mapped.

    The system reserves the space, or the zeros are written where it cannot, as on macOS.
    """
    file.flush()
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(file.fileno(), start, max(1, end - start))
            file.truncate(end)
        except OSError as error:
            if error.errno not in _CANNOT_RESERVE:
                raise
        else:
            return
    file.seek(start)
    file.writelines(_ZEROS[: end - at] for at in range(start, end, len(_ZEROS)))
    file.truncate(end)


def release(*arrays: NDArray[Any]) -> None:
    """Give the pages of mapped arrays back to the system; what was written stays in the file."""
    for array in arrays:
        owner: Any = array
        while isinstance(owner, np.ndarray):
            owner = owner.base
        if isinstance(owner, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            owner.madvise(mmap.MADV_DONTNEED)


def _make_header(
    kinds: "Mapping[str, tuple[np.dtype[Any], tuple[int, ...]]]", metadata: Any = None
) -> tuple[bytes, list[str]]:
    """Return the start of a safetensors file, and the names of its arrays in order."""
    header: dict[str, Any] = {}
    if metadata is not None:  # safetensors allows strings only
        header["__metadata__"] = {"json": json.dumps(metadata, ensure_ascii=False)}
    at = 0
    order = sorted(kinds, key=lambda name: (-kinds[name][0].itemsize, name))
    for name in order:
        dtype, shape = kinds[name]
        size = dtype.itemsize * math.prod(shape)
        header[name] = {
            "dtype": _DTYPE_CODES[dtype],
            "shape": list(shape),
            "data_offsets": [at, at + size],
        }
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-(len(text) + 8) % 64)
    return len(text).to_bytes(8, "little") + text, order


def _header(path: Path) -> tuple[NDArray[np.uint8], int, dict[str, Any]]:
    try:
        data = np.memmap(path, np.uint8, mode="r")
        size = int.from_bytes(data[:8].tobytes(), "little")
        return data, size, json.loads(data[8 : 8 + size].tobytes())
    except (OSError, ValueError) as error:
        raise DamageError(f"{path} is not an array file ({error}): {CREATE_AGAIN}") from None


def open_npy(path: Path) -> "np.memmap[Any, Any]":
    """Return the array of an .npy file, mapped into memory, read-only.

    One thread at a time: NumPy reads the header with `ast.literal_eval`, which fails in CPython
    before 3.11.8 and 3.12.2 if other threads run it (AST constructor recursion depth mismatch).
    """
    try:
        with _opening, name_path(path):
            found: np.memmap[Any, Any] = np.load(path, mmap_mode="r")
    except _HEADER_ERRORS as error:
        raise DamageError(f"{path} is damaged ({error}): {CREATE_AGAIN}") from None
    is_native = found.dtype.byteorder in "=|" if sys.byteorder == "little" else True
    if not is_native or found.offset + found.nbytes != path.stat().st_size:
        raise DamageError(f"{path} is damaged (its size or its header): {CREATE_AGAIN}")
    return found


def read_metadata(path: Path) -> dict[str, Any]:
    """Return the metadata of a file."""
    found: dict[str, Any] = json.loads(_header(path)[2].get("__metadata__", {}).get("json", "{}"))
    return found


def map_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a safetensors file, mapped into memory, read-only."""
    data, size, header = _header(path)
    found, end = {}, 0
    try:
        header.pop("__metadata__", None)
        for name, entry in header.items():
            first, last = entry["data_offsets"]
            if first != end or last < first:
                raise ValueError(f"the place of {name!r}")  # noqa: TRY301 - as other damage
            piece = data[8 + size + first : 8 + size + last]
            found[name] = piece.view(_DTYPES[entry["dtype"]]).reshape(entry["shape"])
            end = last
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamageError(f"{path} has a damaged header ({error}): {CREATE_AGAIN}") from None
    if 8 + size + end != len(data):
        raise DamageError(
            f"{path} has {len(data):,} bytes instead of {8 + size + end:,}: {CREATE_AGAIN}"
        )
    return found
