"""Find single lines of a large text file by a key, without holding the file in memory.

One scan notes a 64-bit hash of the key and the offset of each line: 16 bytes a line. The arrays can
be kept in a file and mapped, so that a file of millions of lines is scanned once.
"""

import hashlib
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from eqemb.errors import EqembError
from eqemb.storage.array_file import map_arrays, read_metadata, write_arrays
from eqemb.storage.atomic import new_file
from eqemb.storage.regular_file import open_regular

_HASH_BYTES = 8
_MAX_LINE_BYTES = 8 << 20


class BadLines(NamedTuple):
    """Lines without a key."""

    number: int = 0
    first: int = 0
    """The number of the first one, from 1; 0 if there is none."""


def _hash(key: str) -> int:
    return int.from_bytes(
        hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest()
    )


class LineIndex:
    """The lines of a file by key."""

    def __init__(
        self, path: Path, hashes: NDArray[Any], offsets: NDArray[Any], bad: BadLines
    ) -> None:
        """`hashes` are sorted; of equal ones, the line that comes later in the file is last."""
        self.path, self.bad = path, bad
        self._hashes, self._offsets = hashes, offsets

    def __len__(self) -> int:
        return len(self._hashes)

    @classmethod
    def scan(cls, path: Path, key_of: Callable[[bytes], str], most: int = _MAX_LINE_BYTES) -> Self:
        """Index a file; `key_of` returns '' for a line without a key.

        Blank lines are ignored, and a line of more than `most` bytes is bad.
        """
        hashes, offsets = array("Q"), array("Q")
        at = number = bad = first = 0
        with open_regular(path) as file:
            while line := file.readline(most + 1):
                number += 1
                start, at = at, at + len(line)
                is_long = len(line) > most
                while is_long and not line.endswith(b"\n") and (line := file.readline(most)):
                    at += len(line)
                if key := "" if is_long else key_of(line):
                    hashes.append(_hash(key))
                    offsets.append(start)
                elif is_long or line.strip():
                    bad += 1
                    first = first or number
        found = np.frombuffer(hashes, "<u8") if hashes else np.empty(0, "<u8")
        order = np.argsort(found, kind="stable")
        places = np.frombuffer(offsets, "<u8") if offsets else np.empty(0, "<u8")
        return cls(path, found[order], places[order], BadLines(bad, first))

    def lines(self, key: str, most: int = _MAX_LINE_BYTES) -> Iterator[bytes]:
        """Yield the lines that may have a key, the last of the file first.

        The caller checks the key: hashes of two keys may be equal, and the file may have changed.
        """
        wanted = np.uint64(_hash(key))
        low, high = (int(np.searchsorted(self._hashes, wanted, side)) for side in ("left", "right"))
        if low < high:
            with open_regular(self.path) as file:
                for place in range(high - 1, low - 1, -1):
                    file.seek(int(self._offsets[place]))
                    yield file.readline(most)

    def save(self, place: Path) -> None:
        """Keep the index in a file."""
        arrays = {"hashes": self._hashes, "offsets": self._offsets}
        with new_file(place) as made:
            write_arrays(made, arrays, self._state() | {"bad": list(self.bad)})

    @classmethod
    def load(cls, path: Path, place: Path) -> Self | None:
        """Return the index that was kept of a file; None if there is none, or the file changed."""
        try:
            about, arrays = read_metadata(place), map_arrays(place)
            found = cls(path, arrays["hashes"], arrays["offsets"], BadLines(*about.pop("bad")))
            return found if about == found._state() else None
        except (EqembError, OSError, ValueError, KeyError, TypeError):
            return None

    def _state(self) -> dict[str, Any]:
        state = self.path.stat()
        return {"size": state.st_size, "mtime_ns": state.st_mtime_ns}
