"""A map for a library that has none: made by a process of its own, while the server answers.

Laying out takes a minute and packages that a server has no other use for. A library that is changed
while it is served gets its new map too.
"""

import contextlib
import logging
import os
import subprocess
import threading
from pathlib import Path

from eqemb.errors import EqembError
from eqemb.facade.equation_map import has_map
from eqemb.library.generations import read_state
from eqemb.storage.process import python_command, python_environment

_log = logging.getLogger("eqemb.server")
#: Seconds between two looks.
PAUSE = 5.0


class MapMaker:
    """Watches a library until it is closed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._end = threading.Event()
        self._process: subprocess.Popen[str] | None = None
        self._failed: Path | None = None  # a map that cannot be made is tried once
        self._thread = threading.Thread(target=self._watch, name="eqemb-map", daemon=True)
        self._thread.start()

    @property
    def is_due(self) -> bool:
        """Whether there is no map, and will be one."""
        return self._lacking() is not None

    def _lacking(self) -> Path | None:
        """The generation that a map is to be made for."""
        try:
            state = read_state(self._folder)
            generation = self._folder / "generations" / str(state and state["generation"])
            is_done = state is None or generation == self._failed or has_map(generation)
        except (EqembError, OSError):
            return None  # it may be readable again
        return None if is_done else generation

    def _watch(self) -> None:
        while not self._end.is_set():
            generation = self._lacking()
            if generation is not None:
                try:
                    self._make()
                except OSError as error:  # no process, no memory, no files: we watch on
                    _log.warning("there is no map: %s", error)
                if self._lacking() == generation:
                    self._failed = generation
            self._end.wait(PAUSE)

    def _make(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            python_command("eqemb", "map", str(self._folder)),
            env=python_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        # who asks goes first; Windows has no such thing, and it may have ended already
        with contextlib.suppress(AttributeError, ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, self._process.pid, 19)
        if self._end.is_set():  # closed while it was started
            self._process.terminate()
        said = self._process.communicate()[1]
        if self._process.returncode and not self._end.is_set():
            _log.warning("there is no map: %s", said.strip().rpartition("\n")[2])

    def close(self) -> None:
        """Stop, with what is under way: nothing half made is left."""
        self._end.set()
        if self._process is not None:
            self._process.terminate()
        self._thread.join(PAUSE)
