"""What was made lately, kept for who asks next: so many bytes of it, not so many things."""

import threading
from sys import getsizeof
from typing import Generic, TypeVar

T = TypeVar("T", str, bytes)


class Kept(Generic[T]):
    """Texts by their names; threads may share it."""

    def __init__(self, most: int) -> None:
        self._most, self._size = most, 0
        self._things: dict[str, T] = {}
        self._lock = threading.Lock()

    def get(self, name: str) -> T | None:
        """A thing, which is the last to go then."""
        with self._lock:
            thing = self._things.pop(name, None)
            if thing is not None:
                self._things[name] = thing
            return thing

    def put(self, name: str, thing: T) -> None:
        """Keep a thing, in the place of the oldest; a very large one is not worth it."""
        size = _size(name, thing)
        with self._lock:
            if name in self._things or size > self._most // 16:
                return
            self._things[name] = thing
            self._size += size
            while self._size > self._most:
                oldest = next(iter(self._things))
                self._size -= _size(oldest, self._things.pop(oldest))


def _size(name: str, thing: str | bytes) -> int:
    """Bytes in memory: one letter beyond the basic plane makes a text four times as large."""
    return getsizeof(name) + getsizeof(thing)
