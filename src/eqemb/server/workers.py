"""A pool of threads that answer requests, each with its own open library.

SQLite connections and the index are not shared between threads. A request that waits or runs too
long, or that finds the queue full, fails with `BusyError`; other requests continue. A library that
changed on disk is reopened.

A worker process (`worker_process`) uses a pool without threads: it has one request at a time, and
the front process (`processes`) limits its time.
"""

import asyncio
import contextlib
import logging
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar, cast

from eqemb import __version__
from eqemb.errors import DamageError, EqembError, UsageError
from eqemb.facade.equation_map import map_place
from eqemb.facade.library import Library
from eqemb.library.generations import read_state
from eqemb.server.service import Service

_log = logging.getLogger("eqemb.server")
T = TypeVar("T")
#: Seconds that an answer may take by default.
TIME_LIMIT = 5.0
#: Requests that may wait for each thread.
QUEUE_PER_THREAD = 16
#: Characters of an error message; of a longer one, the middle is left out.
_MAX_MESSAGE = 600
#: Advice to run a command, at the end of a message or of one of its clauses. The pattern starts at
#: the start of a clause: tried at every character, it would be slow on long messages.
_COMMAND_ADVICE = re.compile(r"(?:^|[;:,] ?|(?<=`))[^;:,`]*`eqemb [^`]*`[^;:]*")


class BusyError(EqembError):
    """The server cannot answer this request now."""


class TooManyRequestsError(BusyError):
    """This client has too many requests."""


class UnreadableLibraryError(BusyError):
    """The library is damaged or missing: nothing is answered until it is whole."""

    def __init__(self) -> None:
        super().__init__("the library cannot be read at the moment: try again later")


class TimeLimitError(BusyError):
    """An answer took longer than the time limit."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"the answer took longer than the time limit of {seconds:g} seconds: try a simpler"
            " query or fewer filters"
        )


class WorkerPool:
    """Threads that run functions of a `Service`; with 0 threads, the calling thread does."""

    def __init__(
        self,
        folder: Path,
        *,
        snippets: str = "full",
        threads: int = 4,
        seconds: float = TIME_LIMIT,
        open_library: Callable[[Path], Library] = Library.open,
    ) -> None:
        """`open_library` opens the library for a thread."""
        self._open_library = open_library
        # absolute, so that `public_message` can remove it; not resolved, as a link may change
        self.folder, self.snippets, self.seconds = folder.absolute(), snippets, seconds
        self._local, self._logged = threading.local(), ""
        self._damaged: tuple[tuple[int, ...] | None, Library] | None = None
        """A library with damage: nothing is answered until one of its files is replaced."""
        self._threads = ThreadPoolExecutor(threads, "eqemb-worker") if threads else None
        self._slots = threading.Semaphore(threads * (1 + QUEUE_PER_THREAD))

    def check(self) -> None:
        """Fail now if the library cannot be searched, or if a setting is wrong."""
        with Library.open(self.folder) as library:
            Service(library, self.snippets)
            library.engine  # noqa: B018 - raises if there is no index

    def warm_up(self) -> None:
        """Open the library in this thread, if that is possible."""
        with contextlib.suppress(EqembError):
            self._service().library.engine  # noqa: B018 - opened when it is first used

    @property
    def has_threads(self) -> bool:
        """Whether other threads answer, and not the calling one."""
        return self._threads is not None

    # ------------------------------------------------------------ running

    async def run(self, request: Callable[[Service], T]) -> T:
        """The result of a function of the service, computed in a thread."""
        if self._threads is None:
            return self._answer(request)
        if not self._slots.acquire(blocking=False):
            raise BusyError("the server has too many requests: try again in a moment")
        work = self._threads.submit(self._answer, request)
        work.add_done_callback(lambda _work: self._slots.release())
        try:
            return await asyncio.wait_for(asyncio.wrap_future(work), self.seconds)
        except TimeoutError:
            work.cancel()  # has no effect if the thread has started on it
            raise TimeLimitError(self.seconds) from None

    def _answer(self, request: Callable[[Service], T]) -> T:
        """The result of a function of the service; never one of files that changed meanwhile."""
        for _ in range(2):
            service = self._service()
            service.library.begin_request()
            try:
                found = request(service)
            except Exception as error:
                if not self._is_outdated(error):
                    self._refuse_damage(service.library, error)
                    raise
            else:
                if service.library.changed_file(or_removed=True) is None:
                    return found
            self._drop()
        raise BusyError("the library is being changed: try again in a moment")

    def _is_outdated(self, error: Exception) -> bool:
        """Whether an error may be due to files that changed since the library was opened."""
        library: Library = self._local.service.library
        is_replaced = self._stamp() != self._local.stamp
        is_ours = isinstance(error, UsageError | BusyError)  # of a complete state, old or new
        is_changed = library.changed_file(or_removed=True) is not None
        return is_changed or (is_replaced and not is_ours)

    def _refuse_damage(self, library: Library, error: Exception) -> None:
        """Raise `UnreadableLibraryError` if a damaged file may have caused an error."""
        if isinstance(error, UsageError | BusyError):
            return
        if error.__class__ is not DamageError:
            try:
                library.check_damage(error)
            except DamageError as found:
                error = found
            else:
                return
        self._log_once(error)
        self._damaged = self._local.stamp, library
        self._drop()
        raise UnreadableLibraryError from None

    def _log_once(self, error: Exception) -> None:
        """Log why the library cannot be read, once and not for every request."""
        if str(error) != self._logged:
            self._logged = str(error)
            _log.warning("cannot read the library: %s", error)

    def _drop(self) -> None:
        """Close this thread's library."""
        service: Service | None = getattr(self._local, "service", None)
        self._local.service = None  # never keep one whose library is closed
        if service is not None:
            service.library.close()

    def _service(self) -> Service:
        """This thread's service, for the library as it is now."""
        local, stamp = self._local, self._stamp()
        damaged = self._damaged  # another thread may reset it
        if damaged is not None:
            before, library = damaged
            if before == stamp and library.has_checksums and library.changed_file() is None:
                raise UnreadableLibraryError
            self._damaged = None
        service: Service | None = getattr(local, "service", None)
        if service is None or local.stamp != stamp or self._may_crash(service):
            self._drop()
            try:
                library = self._open_library(self.folder)
            except EqembError as error:
                self._log_once(error)
                raise UnreadableLibraryError from None
            local.stamp, self._logged = stamp, ""
            local.service = Service(library, self.snippets)
        return cast(Service, local.service)

    def _may_crash(self, service: Service) -> bool:
        """Whether this process, which nobody replaces, may read a mapped file that was cut."""
        return self._threads is not None and service.library.changed_file() is not None

    # ------------------------------------------------------------ identity of the library

    @property
    def version(self) -> str:
        """Changes whenever the answer to the same request may change."""
        try:
            state = read_state(self.folder)
        except EqembError:
            state = None  # opening the library reports the error
        place = map_place(self.folder / "generations" / str(state and state["generation"]))
        return f"{__version__} {self.snippets} {self._stamp()} {_file_stamp(place)}"

    def _stamp(self) -> tuple[int, ...] | None:
        """Identifies the state of the library: every change rewrites library.json."""
        return _file_stamp(self.folder / "library.json")

    def public_message(self, message: str) -> str:
        """An error message without the library's path and commands to run, and not too long."""
        message = _COMMAND_ADVICE.sub("", message)
        for path in (self.folder, self.folder.resolve()):
            if len(str(path)) > 1:
                message = message.replace(str(path), "this library")
        if len(message) > _MAX_MESSAGE:  # it quotes a long query
            message = f"{message[: _MAX_MESSAGE // 2]} … {message[-_MAX_MESSAGE // 2 :]}"
        return message

    def close(self) -> None:
        """Accept no more requests; those that run are finished."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)


def _file_stamp(path: Path) -> tuple[int, ...] | None:
    """Distinguishes a file from one that replaces it; None if there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
