"""LRU cache bounded by bytes."""

import threading
from sys import getsizeof
from typing import Generic, TypeVar

T = TypeVar("T", str, bytes)


class LRUCache(Generic[T]):
    """Maps string keys to text or bytes and evicts the least recently used entry; thread-safe.

    The limit counts bytes, not entries: a short formula may become MathML of a hundred times its
    length.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes, self._size = max_bytes, 0
        self._entries: dict[str, T] = {}
        self._lock = threading.Lock()

    def get(self, key: str) -> T | None:
        """The value of a key, which becomes the most recently used; None if it is not cached."""
        with self._lock:
            value = self._entries.pop(key, None)
            if value is not None:
                self._entries[key] = value
            return value

    def put(self, key: str, value: T) -> None:
        """Add an entry; one larger than a sixteenth of the cache is not stored."""
        size = _size(key, value)
        with self._lock:
            if key in self._entries or size > self._max_bytes // 16:
                return
            self._entries[key] = value
            self._size += size
            while self._size > self._max_bytes:
                oldest = next(iter(self._entries))
                self._size -= _size(oldest, self._entries.pop(oldest))


def _size(key: str, value: str | bytes) -> int:
    """Bytes in memory: one character beyond the basic plane makes a str four times as large."""
    return getsizeof(key) + getsizeof(value)
