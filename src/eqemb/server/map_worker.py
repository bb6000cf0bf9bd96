"""Create the map of a library that has none, in a separate process while the server answers.

The layout takes a minute and needs packages that the server does not use otherwise. An outdated
layout is computed again; meanwhile the old one is served.
"""

import contextlib
import logging
import os
import subprocess
import threading
from pathlib import Path

from eqemb.errors import EqembError
from eqemb.facade.equation_map import map_summary
from eqemb.library.generations import read_state
from eqemb.storage.process import python_command, python_environment

_log = logging.getLogger("eqemb.server")
#: Seconds between two checks for a missing map.
CHECK_INTERVAL = 5.0


class MapWorker:
    """Watches a library in a thread and computes its map if it is missing or outdated."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._closed = threading.Event()
        self._process: subprocess.Popen[str] | None = None
        self._failed: Path | None = None  # a map that cannot be created is tried only once
        self._thread = threading.Thread(target=self._watch, name="eqemb-map", daemon=True)
        self._thread.start()

    @property
    def is_pending(self) -> bool:
        """Whether the map is missing and will be created."""
        generation = self._generation_to_map()
        return generation is not None and map_summary(generation) is None

    def _generation_to_map(self) -> Path | None:
        """The generation whose map has to be computed."""
        try:
            state = read_state(self._folder)
            generation = self._folder / "generations" / str(state and state["generation"])
        except (EqembError, OSError):
            return None  # the library may become readable again
        found = map_summary(generation)
        is_done = found is not None and not found.outdated
        return None if state is None or is_done or generation == self._failed else generation

    def _watch(self) -> None:
        while not self._closed.is_set():
            generation = self._generation_to_map()
            if generation is not None:
                try:
                    self._create_map()
                except OSError as error:  # no process, memory or file handle: keep watching
                    _log.warning("cannot create the map: %s", error)
                if self._generation_to_map() == generation:
                    self._failed = generation
            self._closed.wait(CHECK_INTERVAL)

    def _create_map(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            python_command("eqemb", "map", str(self._folder)),
            env=python_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        # Requests take precedence. Windows has no setpriority; the process may have ended already.
        with contextlib.suppress(AttributeError, ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, self._process.pid, 19)
        if self._closed.is_set():  # closed while the process started
            self._process.terminate()
        errors = self._process.communicate()[1]
        status = self._process.returncode
        if status and not self._closed.is_set():
            why = errors.strip().rpartition("\n")[2] or f"its process ended with status {status}"
            _log.warning("cannot create the map: %s", why)

    def close(self) -> None:
        """Stop watching and end the process; it leaves no partial map."""
        self._closed.set()
        if self._process is not None:
            self._process.terminate()
        self._thread.join(CHECK_INTERVAL)
