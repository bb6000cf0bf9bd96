"""Where questions wait their turn: threads, each with the library opened for itself.

SQLite and the index are not shared between threads. A question that waits or works too long gives
up with `BusyError`, and so does one more than may wait: the others go on. A library that was
changed on disk is opened anew.
"""

import asyncio
import hashlib
import re
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from eqemb import __version__
from eqemb.errors import EqembError
from eqemb.library import Library, read_state
from eqemb.mapping import map_place
from eqemb.server.answers import Desk

T = TypeVar("T")
#: Questions that may wait for each thread.
WAITING = 16
#: Advice to type a command, at the end of a sentence or of a part of it.
_COMMANDS = re.compile(r"(?:; |: |, )?[^;:,`]*`eqemb [^`]*`[^;:]*")


class BusyError(EqembError):
    """There is no time for this question now."""


class Counter:
    """Threads that answer questions about a library."""

    def __init__(
        self, folder: Path, *, snippets: str = "full", threads: int = 4, seconds: float = 10.0
    ) -> None:
        self.folder, self.snippets, self.seconds = folder, snippets, seconds
        self._own = threading.local()
        self._threads = ThreadPoolExecutor(threads, "eqemb-answer")
        self._places = threading.Semaphore(threads * (1 + WAITING))
        self._editions: dict[int, str] = {}
        with Library.open(folder) as library:
            Desk(library, snippets)
            library.questions  # noqa: B018 - a library without an index is refused here
            self._note(library)

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
            if self._generation() == self._number(desk.library):
                raise
            # it was changed while we read it
            return question(self._desk())

    def _desk(self) -> Desk:
        """This thread's own, of the library as it is now."""
        desk: Desk | None = getattr(self._own, "desk", None)
        if desk is None or self._number(desk.library) != self._generation():
            if desk is not None:
                desk.library.close()
            library = Library.open(self.folder)
            self._note(library)
            desk = self._own.desk = Desk(library, self.snippets)
        return desk

    # ------------------------------------------------------------ which library it is

    @property
    def edition(self) -> str:
        """Stands for all that answers depend on, but for the question."""
        number = self._generation()
        is_mapped = map_place(self.folder / "generations" / str(number)).exists()
        known = self._editions.get(number, f"generation {number}")
        return f"{known} with a map" if is_mapped else known

    def _note(self, library: Library) -> None:
        report = library.report
        model = (report.get("model") or {}).get("sha256")
        said = f"{__version__} {library.generation.name} {report['sha256']} {model} {self.snippets}"
        self._editions[self._number(library)] = hashlib.sha256(said.encode()).hexdigest()[:16]

    def _generation(self) -> int:
        state = read_state(self.folder)
        return state["generation"] if state else 0

    @staticmethod
    def _number(library: Library) -> int:
        return int(library.generation.name)

    def for_strangers(self, sentence: str) -> str:
        """A sentence that tells neither where the library lies nor what to type on its machine."""
        sentence = _COMMANDS.sub("", sentence)
        for path in (self.folder.resolve(), self.folder):
            if len(str(path)) > 1:
                sentence = sentence.replace(str(path), "this library")
        return sentence

    def close(self) -> None:
        """Let go; what is being answered is answered."""
        self._threads.shutdown(wait=False, cancel_futures=True)
