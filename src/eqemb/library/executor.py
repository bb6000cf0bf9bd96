"""Executors: turn an iterator of found sources into records, in order.

Ingest knows only the `Executor` protocol. `LocalProcesses` runs a pool of worker processes on this
machine. A worker reads one paper at a time. A paper that crashes its worker, or exceeds the time
or memory limit, is recorded as skipped, and the worker is replaced. So is one whose worker sends
anything but a record: a paper may have taken it over, and nothing that it sends is run.
"""

import contextlib
import logging
import subprocess
import tempfile
import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from eqemb.checks import check_integer, check_number
from eqemb.errors import EqembError, SourceError
from eqemb.library.rows import Record
from eqemb.library.worker import skip
from eqemb.sources import Found, Limits
from eqemb.sources.fetching import fetched
from eqemb.sources.remote import is_remote
from eqemb.storage.memory import available_memory
from eqemb.storage.messages import MessageError, receive_values, send
from eqemb.storage.process import python_command, python_environment


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """Limits for papers that the reader's own limits, which count work, did not stop.

    Only these depend on the machine, so they are generous: a library should not.
    """

    seconds: float = 600.0
    memory: int = 6 << 30
    """Bytes of a worker process, at most: it may take its share of the machine's free memory."""

    def __post_init__(self) -> None:
        check_number("seconds", self.seconds, above=True)
        check_integer("memory", self.memory)


@dataclass(frozen=True, slots=True)
class Reading:
    """How papers are read: limits of a paper, and the number of processes."""

    limits: Limits
    worker_limits: WorkerLimits
    jobs: int
    folders: tuple[str, ...] | None = None
    """What worker processes may read, besides Python itself; None for any file."""


class Executor(Protocol):
    """Reads sources into records."""

    def map(self, tasks: Iterator[Found]) -> Generator[Record, None, None]:
        """Yield one record for each task, in the order of the tasks.

        Closing the generator stops the work.
        """


@dataclass(frozen=True, slots=True)
class LocalProcesses:
    """Worker processes on this machine."""

    limits: Limits
    worker_limits: WorkerLimits
    jobs: int
    folders: tuple[str, ...] | None = None

    def map(self, tasks: Iterator[Found]) -> Generator[Record, None, None]:
        """Yield one record for each task, in the order of the tasks."""
        with _Pool(tasks, self) as pool:
            yield from pool


#: Creates the executor that ingest uses. Tests replace it by one that reads in their process.
make_executor = LocalProcesses

_log = logging.getLogger("eqemb")
#: Of the memory that is free, for all workers; and bytes that every worker may take: a large paper
#: needs some hundred MB, and Python's own libraries as much address space.
_MEMORY_PART, _LEAST_MEMORY = 0.9, 1 << 30
#: Causes after which a paper is tried once more by a new process, in case earlier papers are to
#: blame (memory that was not released, for example).
_RETRIED = frozenset(("reader died", "out of memory"))
_EXIT_CAUSES = {-9: "killed, likely for memory", -11: "crashed"}  # by exit status


def memory_share(most: int, jobs: int) -> int:
    """Return the bytes that each of some worker processes may take, at most as many as given."""
    available = available_memory()
    if available is None:
        return most
    return min(most, max(_LEAST_MEMORY, int(available * _MEMORY_PART) // jobs))


class _Worker(threading.Thread):
    """A thread that drives one worker process and replaces it when it dies."""

    def __init__(self, pool: "_Pool") -> None:
        super().__init__(daemon=True)
        self._pool = pool
        self._process: subprocess.Popen[bytes] | None = None

    def run(self) -> None:
        """Process tasks until there are no more."""
        try:
            while (task := self._pool.take()) is not None:
                number, found = task
                self._pool.put(number, self._read(found))
        except BaseException as error:  # noqa: BLE001 - raised again by the consuming thread
            self._pool.end(error)
        finally:
            self._end_process()

    def _read(self, found: Found) -> Record:
        if found.cause:
            return skip(found, found.cause, found.detail)
        if found.data is not None or not is_remote(found.path):
            return self._send(found)
        try:
            with fetched(found, self._pool.folder, self._pool.settings.limits) as copy:
                return self._send(copy)
        except SourceError as error:
            return skip(found, error.cause, error.detail)

    def _send(self, found: Found) -> Record:
        is_new = self._process is None
        record = self._request(found)
        if record.cause in _RETRIED:
            self._end_process()
            if not is_new and not self._pool.closing:
                return self._send(found)
        return record

    def _request(self, found: Found) -> Record:
        """Send a paper to the process; if the process dies, the paper is skipped."""
        process = self._process or self._start()
        seconds, started = self._pool.settings.worker_limits.seconds, time.monotonic()
        timer = threading.Timer(seconds, process.kill)
        timer.daemon = True
        timer.start()
        try:
            send(process.stdin, found)  # type: ignore[arg-type]
            values = receive_values(process.stdout, self._pool.memory)  # type: ignore[arg-type]
            record = Record.from_values(values)
        except (MessageError, ValueError) as error:
            self._end_process()
            return skip(found, "reader died", f"it sent an invalid record ({error})")
        except (EOFError, OSError):
            timed_out = time.monotonic() - started >= seconds
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)  # it is exiting: report its own exit status, not that of our kill
            code = self._end_process()
            if timed_out:
                return skip(found, "time limit", f"stopped by the clock after {seconds:g} s")
            return skip(found, "reader died", _EXIT_CAUSES.get(code, f"exit status {code}"))
        finally:
            timer.cancel()
        return record

    def _start(self) -> subprocess.Popen[bytes]:
        settings = self._pool.settings
        try:
            process = self._process = subprocess.Popen(  # noqa: S603 - our own program
                python_command("eqemb.library.worker"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # NumPy's threads would use up the address space that is limited
                env=python_environment(OPENBLAS_NUM_THREADS="1"),
                start_new_session=True,  # Ctrl-C is handled by the parent
            )
            send(process.stdin, (settings.limits, self._pool.memory, self._pool.folders))  # type: ignore[arg-type]
            active = receive_values(process.stdout, self._pool.memory)  # type: ignore[arg-type]
            _log.debug("protections of worker %d: %s", process.pid, ", ".join(active))
        except (MessageError, EOFError, OSError) as error:
            why = getattr(error, "strerror", None) or "it ended at once"
            raise EqembError(
                f"cannot start a worker process ({why}): free memory or use fewer --jobs, and run"
                " the command again"
            ) from None
        return process

    def kill(self) -> None:
        """Kill the process from another thread; this thread then notices that it died."""
        if (process := self._process) is not None:
            process.kill()

    def _end_process(self) -> int:
        """Kill the process if it is still running, and return its exit status."""
        process, self._process = self._process, None
        if process is None:
            return 0
        process.kill()
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                stream.close()  # type: ignore[union-attr]
        return process.wait()


class _Pool:
    """Workers on a stream of tasks. Results are returned in the order of the tasks."""

    def __init__(self, tasks: Iterator[Found], settings: LocalProcesses) -> None:
        self.settings = settings
        self.memory = memory_share(settings.worker_limits.memory, settings.jobs)
        self._copies = tempfile.TemporaryDirectory(prefix="eqemb-", ignore_cleanup_errors=True)
        self.folder = Path(self._copies.name)
        folders = settings.folders
        self.folders = None if folders is None else (*folders, self._copies.name)
        self.closing = False
        self._tasks = tasks
        self._ahead = 8 * settings.jobs
        self._state = threading.Condition()
        self._feeding = threading.Lock()
        self._results: dict[int, Record] = {}
        self._next_task = self._next_result = 0
        self._error: BaseException | None = None
        self._ended = False
        self._workers = [_Worker(self) for _ in range(settings.jobs)]

    def take(self) -> tuple[int, Found] | None:
        """Return the next task, after waiting until it is near enough to the last result taken."""
        with self._state:
            while not self._ended and self._next_task >= self._next_result + self._ahead:
                self._state.wait()
        with self._feeding:
            found = None if self._ended else next(self._tasks, None)
            if found is None:
                self.end()
                return None
            self._next_task += 1
            return self._next_task - 1, found

    def put(self, number: int, record: Record) -> None:
        """Store the result of a task."""
        with self._state:
            self._results[number] = record
            self._state.notify_all()

    def end(self, error: BaseException | None = None) -> None:
        """Hand out no more tasks; the consuming thread raises the error."""
        with self._state:
            self._ended, self._error = True, self._error or error
            self._state.notify_all()

    def __enter__(self) -> Self:
        for worker in self._workers:
            worker.start()
        return self

    def __iter__(self) -> Iterator[Record]:
        while (record := self._next()) is not None:
            yield record

    def _next(self) -> Record | None:
        with self._state:
            while self._next_result not in self._results:
                if self._error is not None:
                    raise self._error
                if self._ended and self._next_result >= self._next_task:
                    return None
                # with a timeout: Windows cannot interrupt a wait without one
                self._state.wait(0.5)
            self._next_result += 1
            self._state.notify_all()
            return self._results.pop(self._next_result - 1)

    def __exit__(self, *_: object) -> None:
        self.closing = True
        self.end()
        for worker in self._workers:
            while worker.is_alive():
                worker.kill()
                worker.join(0.1)
        self._copies.cleanup()
