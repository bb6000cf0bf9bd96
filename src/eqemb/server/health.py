"""The health check: whether requests are refused because the library cannot be read.

Anybody may ask, without a token. So whoever answers requests is asked at most once a second, one
request at a time, and nobody waits long for it: workers that are busy answer, so they are healthy.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from http import HTTPStatus

from eqemb.server.processes import ProcessPool, WorkerRequest
from eqemb.server.workers import BusyError, UnreadableLibraryError, WorkerPool

_log = logging.getLogger("eqemb.server")
HEALTH_PATH = "/v1/healthz"
#: Seconds between two probes, and seconds that a client waits for one.
_HEALTH_PAUSE, _HEALTH_PATIENCE = 1.0, 0.5
#: Who waits for a worker, as far as the queue is concerned.
_CLIENT = "health check"


class HealthCheck:
    """Remembers whether the library could be read lately."""

    def __init__(self, probe: Callable[[], Awaitable[bool]], pause: float = _HEALTH_PAUSE) -> None:
        """`probe` finds out whether the library is readable, at most once in `pause` seconds."""
        self._probe, self._pause = probe, pause
        self._running: asyncio.Task[None] | None = None
        self._is_readable, self._next = True, 0.0

    async def is_readable(self) -> bool:
        """Whether the library can be read; what was found last if that takes long."""
        running = self._running
        if running is not None and running.get_loop() is not asyncio.get_running_loop():
            running = None  # of a server that was closed
        if running is None and time.monotonic() >= self._next:
            running = self._running = asyncio.create_task(self._run())
        if running is not None:
            await asyncio.wait([running], timeout=_HEALTH_PATIENCE)
        return self._is_readable

    async def _run(self) -> None:
        try:
            self._is_readable = await self._probe()
        except Exception:  # noqa: BLE001 - logged; the last result stands
            _log.exception("the health check failed")
        finally:
            self._next = time.monotonic() + self._pause
            self._running = None


def health_of_threads(pool: WorkerPool) -> HealthCheck:
    """The health of a server whose threads answer, or of a worker process, which asks each time."""

    async def probe() -> bool:
        try:
            await pool.run(lambda _service: None)
        except UnreadableLibraryError:
            return False
        except BusyError:
            return True
        return True

    return HealthCheck(probe, _HEALTH_PAUSE if pool.has_threads else 0.0)


def health_of_processes(pool: ProcessPool) -> HealthCheck:
    """The health of a server whose worker processes answer."""

    async def probe() -> bool:
        try:
            found = await pool.submit(WorkerRequest(HEALTH_PATH, b""), _CLIENT)
        except BusyError:
            return True
        return found.status != HTTPStatus.SERVICE_UNAVAILABLE

    return HealthCheck(probe)
