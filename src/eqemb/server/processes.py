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
* A worker that is over the time limit is killed and replaced. Its request fails with `BusyError`
  and is not repeated, as it would take as long again.

Workers are started with `subprocess`, not forked, and talk through pipes that the event loop
watches: the same on Linux, macOS and Windows. One whose parent ends, however it ends, reads the end
of its stdin and ends itself.
"""

import asyncio
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from eqemb.server.workers import BusyError
from eqemb.storage.messages import MESSAGE_LENGTH, pack_message, unpack_message
from eqemb.storage.process import python_command, python_environment

_log = logging.getLogger("eqemb.server")
#: Most worker processes by default.
MAX_DEFAULT_WORKERS = 8
#: Requests that may wait for a worker.
MAX_WAITING = 128
#: Seconds until a new worker must be ready; seconds between attempts to start one, at first and at
#: most.
START_TIMEOUT, FIRST_PAUSE, MAX_PAUSE = 60.0, 0.5, 30.0
_NEW_PROCESS_GROUP = 0x200  # a flag of Windows, which `subprocess` defines only there
#: Bytes that the front process reads ahead from a worker.
_BUFFER_BYTES = 1 << 20


def default_workers() -> int:
    """Return the number of workers for this machine: one for each core that we may use."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return min(cores, MAX_DEFAULT_WORKERS)


class WorkerRequest(NamedTuple):
    """What a worker is asked: a GET request, without headers."""

    path: str
    query: bytes


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
    def is_alive(self) -> bool:
        """Whether the process has not ended, as far as is known."""
        return self._process.returncode is None

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

    def kill(self) -> None:
        """End the process at once."""
        if self.is_alive:
            self._process.kill()

    async def wait(self) -> int:
        """Wait until the process has ended; return its exit status."""
        return await self._process.wait()

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
        self, folder: Path, *, snippets: str = "full", workers: int = 2, seconds: float = 10.0
    ) -> None:
        """`seconds` is the time limit for an answer, and for waiting until a worker is idle."""
        self._folder, self._snippets, self.seconds = folder, snippets, seconds
        self._count, self._waiting, self._closing = workers, 0, False
        # the worker that was used last is used first: its caches are warm
        self._idle: asyncio.LifoQueue[WorkerProcess] = asyncio.LifoQueue()
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
            except (WorkerDiedError, TimeoutError, OSError) as error:
                _log.warning("cannot start a worker process (%r): trying again", error)
                await asyncio.sleep(pause)
                pause = min(2 * pause, MAX_PAUSE)
                continue
            pause = FIRST_PAUSE
            self._alive.add(worker)
            self._idle.put_nowait(worker)
            try:
                status = await worker.wait()
            finally:
                self._alive.discard(worker)
                await worker.end()
            _log.warning("worker process %d ended with status %d: replaced", worker.pid, status)

    async def submit(self, request: WorkerRequest) -> WorkerResponse:
        """Return the response of a worker; raise `BusyError` if there is none in time."""
        if self._closing or self._waiting >= MAX_WAITING:
            raise BusyError("the server has too many requests: try again in a moment")
        for _ in range(2):
            worker = await self._take()
            try:
                async with asyncio.timeout(self.seconds):
                    found = await worker.ask(request)
            except WorkerDiedError:
                worker.kill()  # it may have closed its pipes only
                continue
            except TimeoutError:
                worker.kill()
                raise BusyError(
                    f"the query took longer than {self.seconds:g} seconds: try a simpler one"
                ) from None
            except BaseException:  # cancelled: its answer would be taken for that of the next one
                worker.kill()
                raise
            self._idle.put_nowait(worker)
            return found
        raise BusyError("the worker processes ended while they answered this query: try another")

    async def _take(self) -> WorkerProcess:
        """Return an idle worker, which nobody else uses until it is put back."""
        self._waiting += 1
        try:
            async with asyncio.timeout(self.seconds):
                while True:
                    worker = await self._idle.get()
                    if worker.is_alive:
                        return worker
        except TimeoutError:
            raise BusyError("the server has too many requests: try again in a moment") from None
        finally:
            self._waiting -= 1

    async def close(self) -> None:
        """End all workers."""
        self._closing = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
