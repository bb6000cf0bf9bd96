"""Find sources ahead of reading them, so that their number is known early."""

import threading
from collections import deque
from collections.abc import Iterator
from typing import Self

from eqemb.sources import Found

#: What may be found and not read yet: number of sources, and bytes of archive members.
_MOST_SOURCES, _MOST_BYTES = 100_000, 64 << 20


class Lookahead:
    """An iterator over sources that are found by a thread of its own, in the same order."""

    def __init__(self, tasks: Iterator[Found]) -> None:
        self.found = 0
        """Number of sources found so far."""
        self.is_complete = False
        """Whether there are no more."""
        self._tasks = tasks
        self._error: BaseException | None = None
        self._waiting: deque[Found] = deque()
        self._bytes = 0
        self._closed = False
        self._state = threading.Condition()
        self._thread = threading.Thread(target=self._find, daemon=True)
        self._thread.start()

    def _find(self) -> None:
        last: Found | None = None  # handed out once it is known whether there are more
        try:
            for found in self._tasks:
                with self._state:
                    self.found += 1
                    self._add(last)
                    last = found
                    while not self._closed and self._is_full():
                        self._state.wait()
                    if self._closed:
                        return
        except BaseException as error:  # noqa: BLE001 - raised again by `__next__`
            self._error = error
        with self._state:
            self._add(last)
            self.is_complete = True
            self._state.notify_all()

    def _add(self, found: Found | None) -> None:
        if found is not None:
            self._bytes += len(found.data or b"")
            self._waiting.append(found)
            self._state.notify_all()

    def _is_full(self) -> bool:
        return len(self._waiting) >= _MOST_SOURCES or self._bytes >= _MOST_BYTES

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Found:
        with self._state:
            while not self._waiting:
                if self.is_complete:
                    raise self._error or StopIteration
                self._state.wait(0.5)  # Windows cannot interrupt a wait without a timeout
            found = self._waiting.popleft()
            self._bytes -= len(found.data or b"")
            self._state.notify_all()
            return found

    def close(self) -> None:
        """Find no more; a file that is being opened is finished."""
        with self._state:
            self._closed = True
            self._state.notify_all()
        self._thread.join()
