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
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar, cast

from eqemb import __version__
from eqemb.errors import EqembError
from eqemb.facade.equation_map import map_place
from eqemb.facade.library import Library
from eqemb.library.generations import read_state
from eqemb.server.service import Service

_log = logging.getLogger("eqemb.server")
T = TypeVar("T")
#: Requests that may wait for each thread.
QUEUE_PER_THREAD = 16
#: Advice to run a command, at the end of a message or of one of its clauses. The pattern starts at
#: the start of a clause: tried at every character, it would be slow on long messages.
_COMMAND_ADVICE = re.compile(r"(?:^|[;:,] ?|(?<=`))[^;:,`]*`eqemb [^`]*`[^;:]*")


class BusyError(EqembError):
    """The server cannot answer this request now."""


class WorkerPool:
    """Threads that run functions of a `Service`; with 0 threads, the calling thread does."""

    def __init__(
        self,
        folder: Path,
        *,
        snippets: str = "full",
        threads: int = 4,
        seconds: float = 10.0,
        open_library: Callable[[Path], Library] = Library.open,
    ) -> None:
        """`open_library` opens the library for a thread."""
        self._open_library = open_library
        # absolute, so that `public_message` can remove it; not resolved, as a link may change
        self.folder, self.snippets, self.seconds = folder.absolute(), snippets, seconds
        self._local, self._logged = threading.local(), ""
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
            raise BusyError(
                f"the query took longer than {self.seconds:g} seconds: try a simpler one"
            ) from None

    def _answer(self, request: Callable[[Service], T]) -> T:
        service = self._service()
        service.library.begin_request()
        try:
            return request(service)
        except (OSError, sqlite3.Error):
            if self._stamp() == self._local.stamp:
                raise
            # the library changed while it was read
            return request(self._service())

    def _service(self) -> Service:
        """This thread's service, for the library as it is now."""
        local, stamp = self._local, self._stamp()
        service: Service | None = getattr(local, "service", None)
        if service is None or local.stamp != stamp:
            local.service = None  # never keep one whose library is closed
            if service is not None:
                service.library.close()
            try:
                library = self._open_library(self.folder)
            except EqembError as error:
                if str(error) != self._logged:  # log it once, not for every request
                    self._logged = str(error)
                    _log.warning("cannot open the library: %s", error)
                raise BusyError(
                    "the library cannot be read at the moment: try again later"
                ) from None
            local.stamp, local.service, self._logged = stamp, Service(library, self.snippets), ""
        return cast(Service, local.service)

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
        """An error message without the library's path and without commands to run."""
        message = _COMMAND_ADVICE.sub("", message)
        for path in (self.folder, self.folder.resolve()):
            if len(str(path)) > 1:
                message = message.replace(str(path), "this library")
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
