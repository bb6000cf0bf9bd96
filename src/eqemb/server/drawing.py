"""A map for a library that has none: made by a process of its own, while the server answers.

Laying out takes a minute and packages that a server has no other use for. A library that is changed
while it is served gets its new map too.
"""

import logging
import subprocess
import sys
import threading
from pathlib import Path

from eqemb.library import read_state
from eqemb.mapping import map_place

_log = logging.getLogger("eqemb.server")
#: Seconds between two looks.
PAUSE = 5.0


class MapMaker:
    """Watches a library until it is closed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._end = threading.Event()
        self._process: subprocess.Popen[str] | None = None
        self._thread = threading.Thread(target=self._watch, name="eqemb-map", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        tried = None  # a map that cannot be made is tried once
        while not self._end.is_set():
            state = read_state(self._folder)
            if state is not None and state["generation"] != tried:
                tried = state["generation"]
                generation = self._folder / "generations" / str(tried)
                if not map_place(generation).exists():
                    self._make()
            self._end.wait(PAUSE)

    def _make(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-m", "eqemb", "map", str(self._folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
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
