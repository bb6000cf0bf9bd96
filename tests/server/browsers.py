"""Helpers for tests in a browser; the fixtures are in conftest.py. Needs Debian's chromium."""

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eqemb.server.app import make_app
from eqemb.server.run import bind

CHROMIUM = os.environ.get("EQEMB_CHROMIUM") or shutil.which("chromium")
#: The marks of a module of tests in a browser.
IN_BROWSER = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
]

DEMO = Path(__file__).parents[2] / "src" / "eqemb" / "demo" / "ir"
Open = Callable[..., Any]


class RunningServer:
    """A server in a thread."""

    def __init__(self, folder: Path) -> None:
        uvicorn = pytest.importorskip("uvicorn")
        self._listener = bind("127.0.0.1", 0)
        self.base = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        config = uvicorn.Config(make_app(folder), log_level="error", ws="none")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._listener],))
        self._thread.start()
        while not self._server.started:
            time.sleep(0.02)

    def stop(self) -> None:
        """Stop the server."""
        self._server.should_exit = True
        self._thread.join()
        self._listener.close()


def served(folder: Path) -> Iterator[str]:
    """Serve a library, and yield its URL."""
    running = RunningServer(folder)
    yield running.base
    running.stop()


def cards(page: Any) -> Any:
    """The hits on a page."""
    return page.locator("main > ol.hits > .card")
