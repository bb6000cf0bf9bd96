"""Requests that wait for a worker, in an order that is fair to clients.

A first-come, first-served queue gives a client that sends sixteen long queries at a time sixteen
turns for each turn of the others. Here the next turn goes to the client that has used the fewest
seconds of workers. A client that comes back after a pause starts with the count of the one that was
served last, so that it cannot save up time.

An answer is not interrupted for another client. So while there are several clients, each may use
half of the workers at once: one with long queries then always leaves the other half. A client that
is alone may use all.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from eqemb.server.workers import BusyError, TooManyRequestsError

W = TypeVar("W")
#: Requests that may wait: in all, and of one client.
MAX_WAITING, MAX_WAITING_PER_CLIENT = 128, 32
#: Seconds after its last request for which a client counts as one.
CLIENT_SECONDS = 60.0
FULL_MESSAGE = "the server has too many requests: try again in a moment"


class _Client(Generic[W]):
    """What one client waits for, has running, and has used."""

    def __init__(self, used: float) -> None:
        self.waiting: deque[asyncio.Future[W]] = deque()
        self.running = 0
        self.used = used
        self.seen = 0.0

    @property
    def is_active(self) -> bool:
        return bool(self.waiting) or self.running > 0


class FairQueue(Generic[W]):
    """Futures by client; each becomes a worker when it is its turn. Used from one event loop."""

    def __init__(self, workers: int, now: Callable[[], float] = time.monotonic) -> None:
        self._workers, self._now = workers, now
        # by the time of their last request, the oldest first; and those of them that wait
        self._clients: dict[str, _Client[W]] = {}
        self._waiting: dict[str, _Client[W]] = {}
        self._clock = 0.0  # seconds that the client had used that was served last
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, name: str) -> "asyncio.Future[W]":
        """Put a request at the end of a client's queue; raise `BusyError` if there is no room.

        If the whole queue is full, the client with the most waiting requests loses its newest one.
        """
        client = self._seen(name)
        if len(client.waiting) >= MAX_WAITING_PER_CLIENT:
            raise TooManyRequestsError(
                f"{MAX_WAITING_PER_CLIENT} requests from your address are waiting: try again in a"
                " moment"
            )
        if self._count >= MAX_WAITING:
            self._drop_one(len(client.waiting) + 1)
        made: asyncio.Future[W] = asyncio.get_running_loop().create_future()
        client.waiting.append(made)
        self._waiting[name] = client
        self._count += 1
        return made

    def _drop_one(self, least: int) -> None:
        """Refuse the newest request of the client with the most, if those are more than `least`."""
        counts = {name: len(client.waiting) for name, client in self._waiting.items()}
        longest = max(counts, key=lambda name: counts[name], default=None)
        if longest is None or counts[longest] <= least:
            raise BusyError(FULL_MESSAGE)
        newest = self._waiting[longest].waiting[-1]
        self.remove(longest, newest)
        newest.set_exception(BusyError(FULL_MESSAGE))

    def _seen(self, name: str) -> _Client[W]:
        """The client of a request that comes in now."""
        now = self._now()
        client = self._clients.pop(name, None) or _Client(self._clock)
        if not client.is_active:
            client.used = max(client.used, self._clock)
        client.seen = now
        self._clients[name] = client
        while (oldest := next(iter(self._clients.values()))).seen < now - CLIENT_SECONDS:
            if oldest.is_active:  # it goes when it is idle
                break
            del self._clients[next(iter(self._clients))]
        return client

    def remove(self, name: str, turn: "asyncio.Future[W]") -> None:
        """Take back a request that waits."""
        client = self._waiting.get(name)
        if client is not None and turn in client.waiting:
            client.waiting.remove(turn)
            self._shorter(name)

    def refuse_all(self, message: str) -> None:
        """Refuse all requests that wait."""
        waiting, self._waiting, self._count = self._waiting, {}, 0
        for client in waiting.values():
            while client.waiting:
                client.waiting.popleft().set_exception(BusyError(message))

    def _shorter(self, name: str) -> None:
        """Note that a client waits for one request less."""
        self._count -= 1
        if not self._waiting[name].waiting:
            del self._waiting[name]

    def start(self, worker: W) -> bool:
        """Give a worker to the client whose turn it is; False if none may have it."""
        most = self._workers if len(self._clients) == 1 else max(1, self._workers // 2)
        able = [
            (each.used, each.running, name)
            for name, each in self._waiting.items()
            if each.running < most
        ]
        if not able:
            return False
        used, _, name = min(able)
        client = self._waiting[name]
        self._clock = max(self._clock, used)
        client.running += 1
        client.waiting.popleft().set_result(worker)
        self._shorter(name)
        return True

    def finish(self, name: str, seconds: float) -> None:
        """Note that a worker of a client is free after so many seconds."""
        client = self._clients[name]
        client.running -= 1
        client.used += seconds
