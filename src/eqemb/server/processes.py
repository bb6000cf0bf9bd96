"""A pool of worker processes that answer requests for the front process.

The front process accepts connections, checks them, and caches responses; it hands each other
request to an idle worker and passes on the bytes that come back. The workers map the same files of
the library into memory, so that they share its pages.

The alternative is that every worker accepts connections from a shared socket. It saves the way
through the pipe, which takes about a tenth of a millisecond. But then nobody knows which request a
worker is busy with, so that none can be stopped after a time limit or asked again; killing a worker
cuts all its connections; and each worker needs a cache of responses of its own. Here a worker has
one request at a time, and can be killed whenever that is over its limit:

* A worker that dies is replaced. The request that it had is asked once more, of another worker, and
  fails with `BusyError` if that one dies, too: it may be what kills them.
* A worker that is over the time limit is killed and replaced. Its request fails with
  `TimeLimitError` and is not repeated, as it would take as long again.

Which request is next is the matter of `fair_queue`.

Workers are started with `subprocess`, not forked, and talk through pipes that the event loop
watches: the same on Linux, macOS and Windows. One whose parent ends, however it ends, reads the end
of its stdin and ends itself.
"""

import asyncio
import logging
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from eqemb.server.fair_queue import FULL_MESSAGE, FairQueue
from eqemb.server.workers import TIME_LIMIT, BusyError, TimeLimitError
from eqemb.storage.messages import MESSAGE_LENGTH, pack_message, unpack_message
from eqemb.storage.process import python_command, python_environment

_log = logging.getLogger("eqemb.server")
#: Most worker processes by default.
MAX_DEFAULT_WORKERS = 8
#: Seconds that a request may wait for a worker.
MAX_WAIT = 10.0
#: Seconds until a new worker must be ready; seconds between attempts to start one, at first and at
#: most.
START_TIMEOUT, FIRST_PAUSE, MAX_PAUSE = 60.0, 0.5, 30.0
CLOSING_MESSAGE = "the server is shutting down: try again in a moment"
_NEW_PROCESS_GROUP = 0x200  # a flag of Windows, which `subprocess` defines only there
#: Bytes that the front process reads ahead from a worker.
_BUFFER_BYTES = 1 << 20
#: The message that makes a worker import the MCP server, which most never need.
PREPARE_AGENTS = "prepare agents"


def default_workers() -> int:
    """Return the number of workers for this machine: one for each core that we may use.

    But at least two, as a long answer would hold up everybody else.
    """
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return max(2, min(cores, MAX_DEFAULT_WORKERS))


class WorkerRequest(NamedTuple):
    """What a worker is asked: a GET request without headers, or a POST request for agents."""

    path: str
    query: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes | None = None

    @property
    def is_for_agents(self) -> bool:
        """Whether the MCP server answers it."""
        return self.body is not None


class WorkerResponse(NamedTuple):
    """What a worker answers: ready to be sent."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


class WorkerDiedError(Exception):
    """A worker ended before it answered."""


class WorkerProcess:
    """One worker process, as the front process sees it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._has_agents = self._is_killed = False
        self._why_killed = ""

    @classmethod
    async def start(cls, folder: Path, snippets: str) -> "WorkerProcess":
        """Start a worker and wait until it is ready."""
        apart: dict[str, Any] = (  # Ctrl-C is handled by the front process
            {"creationflags": _NEW_PROCESS_GROUP}
            if sys.platform == "win32"
            else {"start_new_session": True}
        )
        worker = cls(
            await asyncio.create_subprocess_exec(
                *python_command("eqemb.server.worker_process"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # one thread for each worker: those of BLAS would compete with other workers
                env=python_environment(OPENBLAS_NUM_THREADS="1"),
                limit=_BUFFER_BYTES,
                **apart,
            )
        )
        try:
            async with asyncio.timeout(START_TIMEOUT):
                await worker._exchange((str(folder), snippets))
        except BaseException:
            await worker.end()
            raise
        return worker

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def is_usable(self) -> bool:
        """Whether the process was not killed and has not ended, as far as is known."""
        return not self._is_killed and self._process.returncode is None

    async def prepare(self, request: WorkerRequest) -> None:
        """Let the worker load what it needs for a request, which does not count as its time."""
        if request.is_for_agents and not self._has_agents:
            async with asyncio.timeout(START_TIMEOUT):
                await self._exchange(PREPARE_AGENTS)
            self._has_agents = True

    async def ask(self, request: WorkerRequest) -> WorkerResponse:
        """Return the response to a request; raise `WorkerDiedError` if the worker ends."""
        found: WorkerResponse = await self._exchange(request)
        return found

    async def _exchange(self, message: Any) -> Any:
        writer, reader = self._process.stdin, self._process.stdout
        assert writer is not None  # noqa: S101
        assert reader is not None  # noqa: S101
        try:
            writer.write(pack_message(message))
            await writer.drain()
            (size,) = MESSAGE_LENGTH.unpack(await reader.readexactly(MESSAGE_LENGTH.size))
            return unpack_message(await reader.readexactly(size))
        except (OSError, asyncio.IncompleteReadError):
            raise WorkerDiedError from None

    def kill(self, why: str = "") -> None:
        """End the process at once; the log says why."""
        self._is_killed = True
        self._why_killed = self._why_killed or why
        if self._process.returncode is None:
            self._process.kill()

    async def wait(self) -> str:
        """Wait until the process has ended; return why."""
        status = await self._process.wait()
        return self._why_killed or f"it ended with status {status}"

    async def end(self) -> None:
        """End the process, and let the event loop release its pipes."""
        self.kill()
        if self._process.stdin is not None:
            self._process.stdin.close()
        await self._process.wait()
        for _ in range(3):  # the callbacks of a closed pipe run in the next rounds of the loop
            await asyncio.sleep(0)


class ProcessPool:
    """Worker processes for a library, used from one event loop."""

    def __init__(
        self, folder: Path, *, snippets: str = "full", workers: int = 2, seconds: float = TIME_LIMIT
    ) -> None:
        """`seconds` is the time limit for an answer."""
        self._folder, self._snippets, self.seconds = folder, snippets, seconds
        self._count, self._closing = workers, False
        # the worker that was used last is used first: its caches are warm
        self._idle: list[WorkerProcess] = []
        self._queue: FairQueue[WorkerProcess] = FairQueue(workers)
        self._tasks: list[asyncio.Task[None]] = []
        self._alive: set[WorkerProcess] = set()

    @property
    def pids(self) -> list[int]:
        """The ids of the processes that are ready."""
        return sorted(worker.pid for worker in self._alive)

    def start(self) -> None:
        """Start the workers in the background; requests wait until one is ready."""
        self._tasks = [asyncio.create_task(self._keep_one()) for _ in range(self._count)]

    async def _keep_one(self) -> None:
        """Run a worker and replace it whenever it ends."""
        pause = FIRST_PAUSE
        while True:
            try:
                worker = await WorkerProcess.start(self._folder, self._snippets)
            except Exception as error:  # noqa: BLE001 - a pool without workers answers nothing
                _log.warning("cannot start a worker process (%r): trying again", error)
                await asyncio.sleep(pause)
                pause = min(2 * pause, MAX_PAUSE)
                continue
            pause = FIRST_PAUSE
            self._alive.add(worker)
            self._put(worker)
            try:
                why = await worker.wait()
            finally:
                self._alive.discard(worker)
                await worker.end()
            _log.warning("worker process %d was replaced: %s", worker.pid, why)

    async def submit(
        self, request: WorkerRequest, client: str = "", gone: "asyncio.Future[Any] | None" = None
    ) -> WorkerResponse:
        """Return the response of a worker; raise `BusyError` if there is none in time.

        A request that still waits when `gone` is done, because its client left, is not answered.
        """
        if self._closing:
            raise BusyError(CLOSING_MESSAGE)
        for _ in range(2):
            worker = await self._take(client, gone)
            start = time.monotonic()
            try:
                return await self._answer(worker, request)
            except WorkerDiedError:
                worker.kill()  # it may have closed its pipes only
            except TimeLimitError:
                worker.kill(f"an answer took longer than the limit of {self.seconds:g} s")
                raise
            except BaseException:  # cancelled: its answer would be taken for that of the next one
                worker.kill("the request that it answered was cancelled")
                raise
            finally:
                self._queue.finish(client, time.monotonic() - start)
                self._put(worker)
        raise BusyError("the worker processes ended while they answered this query: try another")

    async def _answer(self, worker: WorkerProcess, request: WorkerRequest) -> WorkerResponse:
        try:
            await worker.prepare(request)
            async with asyncio.timeout(self.seconds):
                return await worker.ask(request)
        except TimeoutError:
            raise TimeLimitError(self.seconds) from None

    async def _take(self, client: str, gone: "asyncio.Future[Any] | None") -> WorkerProcess:
        """Return an idle worker, which nobody else uses until it is put back."""
        turn = self._queue.add(client)
        self._start_waiting()
        waited: list[asyncio.Future[Any]] = [turn] if gone is None else [turn, gone]
        try:
            await asyncio.wait(waited, timeout=MAX_WAIT, return_when=asyncio.FIRST_COMPLETED)
            if turn.done():
                return turn.result()
        except asyncio.CancelledError:
            if turn.done() and turn.exception() is None:
                self._queue.finish(client, 0.0)
                self._put(turn.result())
            raise
        finally:
            self._queue.remove(client, turn)
        raise BusyError(FULL_MESSAGE)

    def _put(self, worker: WorkerProcess) -> None:
        """Let others use a worker, unless it was killed."""
        if worker.is_usable:
            self._idle.append(worker)
        self._start_waiting()

    def _start_waiting(self) -> None:
        """Give idle workers to requests that wait."""
        while self._idle:
            worker = self._idle.pop()
            if worker.is_usable and not self._queue.start(worker):
                self._idle.append(worker)
                return

    async def close(self) -> None:
        """End all workers, and refuse the requests that wait for one."""
        self._closing = True
        self._queue.refuse_all(CLOSING_MESSAGE)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
