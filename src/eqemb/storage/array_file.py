"""Folders of arrays on disk: safetensors files mapped into memory, and hashes of content.

A folder is written beside its place and moved there by rename, so that after a kill at any moment
it is the old one or the new one. What a hash covers is given by the caller: arrays and settings,
never times, paths or threads.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqemb.errors import EqembError

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
