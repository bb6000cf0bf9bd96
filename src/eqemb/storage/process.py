"""Start Python child processes that do not import modules from the current folder.

`python -m MODULE` puts the current folder at the front of the module search path. A folder of
downloaded papers may contain a `numpy.py` or a `pickle.py`, which such a child would run.
"""

import ctypes
import os
import select
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

try:
    import msvcrt
except ImportError:  # not Windows
    msvcrt = None  # type: ignore[assignment]

_POLL_SECONDS = 1.0
_BROKEN_PIPE = 109  # an error of Windows
_PACKAGE_ROOT = Path(__file__).resolve().parents[2]


def python_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module with this interpreter, without the current folder."""
    return [sys.executable, "-P", "-m", module, *arguments]


def python_environment(**more: str) -> dict[str, str]:
    """Return the environment for a child that imports what this process can import.

    The current folder is left out of the search path, unless eqemb itself is imported from it.
    """
    return os.environ | {"PYTHONPATH": os.pathsep.join(_safe_search_path()), **more}


def _safe_search_path() -> list[str]:
    try:
        here = Path.cwd().resolve()
    except OSError:  # the current folder was removed: relative entries mean nothing
        return [folder for folder in sys.path if Path(folder).is_absolute()]
    folders = [Path(folder).absolute() for folder in sys.path if folder]
    return [str(folder) for folder in folders if here == _PACKAGE_ROOT or folder.resolve() != here]


@contextmanager
def safe_spawn() -> Iterator[None]:
    """Keep the current folder off the path of processes that `multiprocessing` spawns meanwhile."""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


@contextmanager
def empty_current_folder() -> Iterator[None]:
    """Be in the root folder meanwhile, and spawn safely.

    Ray puts the current folder at the front of the search paths of its workers.
    """
    here = Path.cwd()
    os.chdir(here.anchor)
    try:
        with safe_spawn():
            yield
    finally:
        os.chdir(here)


def exit_with_parent() -> None:
    """Let this process exit when its parent closes stdin, whatever it is doing then."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    handle = sys.stdin.fileno()
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(handle, 0)  # hang-up is reported even if no event is requested
        poll.poll()
    else:
        while not _is_closed_pipe(handle):
            time.sleep(_POLL_SECONDS)
    os._exit(1)


def _is_closed_pipe(handle: int) -> bool:
    """Whether nobody can write to a pipe any more, as Windows says.

    While this process waits for the pipe, Windows does not answer; the wait then ends by itself.
    """
    kernel: Any = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined]
    system_handle = msvcrt.get_osfhandle(handle)  # type: ignore[attr-defined]
    is_open = kernel.PeekNamedPipe(ctypes.c_void_p(system_handle), None, 0, None, None, None)
    return not is_open and ctypes.get_last_error() == _BROKEN_PIPE  # type: ignore[attr-defined]
