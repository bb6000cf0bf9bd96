"""Where questions wait their turn: threads, each with the library opened for itself.

SQLite and the index are not shared between threads. A question that waits or works too long gives
up with `BusyError`, and so does one more than may wait: the others go on. A library that was
changed on disk is opened anew.
"""

import asyncio
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
from eqemb.server.service import Desk

_log = logging.getLogger("eqemb.server")
T = TypeVar("T")
#: Questions that may wait for each thread.
WAITING = 16
#: Advice to type a command, at the end of a sentence or of a part of it. It begins where a part
#: does: looked for from every letter on, long sentences would take long.
_COMMANDS = re.compile(r"(?:^|[;:,] ?|(?<=`))[^;:,`]*`eqemb [^`]*`[^;:]*")


class BusyError(EqembError):
    """There is no time for this question now."""


class Counter:
    """Threads that answer questions about a library."""

    def __init__(
        self, folder: Path, *, snippets: str = "full", threads: int = 4, seconds: float = 10.0
    ) -> None:
        # absolute, so that sentences can be rid of it; a link stays one, and may be turned
        self.folder, self.snippets, self.seconds = folder.absolute(), snippets, seconds
        self._own, self._said = threading.local(), ""
        self._threads = ThreadPoolExecutor(threads, "eqemb-answer")
        self._places = threading.Semaphore(threads * (1 + WAITING))
        with Library.open(self.folder) as library:
            Desk(library, snippets)
            library.engine  # noqa: B018 - a library without an index is refused here

    # ------------------------------------------------------------ asking

    async def ask(self, question: Callable[[Desk], T]) -> T:
        """Answer a question in a thread."""
        if not self._places.acquire(blocking=False):
            raise BusyError("too many questions at once: ask again in a moment")
        work = self._threads.submit(self._answer, question)
        work.add_done_callback(lambda _work: self._places.release())
        try:
            return await asyncio.wait_for(asyncio.wrap_future(work), self.seconds)
        except TimeoutError:
            work.cancel()  # it does nothing where the thread is at it already
            raise BusyError(f"no answer within {self.seconds:g} seconds: ask for less") from None

    def _answer(self, question: Callable[[Desk], T]) -> T:
        desk = self._desk()
        try:
            return question(desk)
        except (OSError, sqlite3.Error):
            if self._mark() == self._own.mark:
                raise
            # it was changed while we read it
            return question(self._desk())

    def _desk(self) -> Desk:
        """This thread's own, of the library as it is now."""
        own, mark = self._own, self._mark()
        desk: Desk | None = getattr(own, "desk", None)
        if desk is None or own.mark != mark:
            own.desk = None  # whatever happens: one that is closed answers nothing
            if desk is not None:
                desk.library.close()
            try:
                library = Library.open(self.folder)
            except EqembError as error:
                if str(error) != self._said:  # once, not for every question
                    self._said = str(error)
                    _log.warning("the library cannot be opened: %s", error)
                raise BusyError("the library cannot be read now: ask again in a moment") from None
            own.mark, own.desk, self._said = mark, Desk(library, self.snippets), ""
        return cast(Desk, own.desk)

    # ------------------------------------------------------------ which library it is

    @property
    def edition(self) -> str:
        """Stands for all that answers depend on, but for the question."""
        try:
            state = read_state(self.folder)
        except EqembError:
            state = None  # who opens it says so
        place = map_place(self.folder / "generations" / str(state and state["generation"]))
        return f"{__version__} {self.snippets} {self._mark()} {_mark(place)}"

    def _mark(self) -> tuple[int, ...] | None:
        """Stands for the library as it lies there: every change writes library.json anew."""
        return _mark(self.folder / "library.json")

    def for_strangers(self, sentence: str) -> str:
        """A sentence that tells neither where the library lies nor what to type on its machine."""
        sentence = _COMMANDS.sub("", sentence)
        for path in (self.folder, self.folder.resolve()):
            if len(str(path)) > 1:
                sentence = sentence.replace(str(path), "this library")
        return sentence

    def close(self) -> None:
        """Let go; what is being answered is answered."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _mark(path: Path) -> tuple[int, ...] | None:
    """Tells a file from one that is put in its place; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
