"""Connect to a Ray cluster, or start one on this machine.

Ray itself tries for minutes to reach a cluster that is gone, in code that does not notice signals.
So an address is tried first, and a signal ends the process while Ray waits. A cluster that is
started here can be reached from this machine alone.
"""

import contextlib
import importlib
import logging
import os
import re
import signal
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from eqemb.errors import EqembError
from eqemb.storage.process import empty_current_folder

#: Seconds until a cluster must accept a connection: one that somebody named, one of this machine.
_REACH_SECONDS, _RECORDED_SECONDS = 10.0, 3.0
#: Seconds that Ray may take to notice a signal, before the process ends without it.
_GRACE_SECONDS = 2.0
_INTERRUPTED = 130  # the exit code of shells
_STDERR = 2
#: What Ray logs if a cluster refuses the token.
_WRONG_TOKEN = re.compile(r"InvalidAuthToken: (.+)")
_WITHOUT_LOGS = {"logging_level": logging.ERROR, "log_to_driver": False}
#: With 0, Ray uses the address 127.0.0.1 instead of that of the network, as on macOS and Windows.
_USES_NETWORK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
_START_ONE = "start one with `ray start --head`, or check the address"
_SET_TOKEN = "set RAY_AUTH_MODE and RAY_AUTH_TOKEN as on its machines"
_REFUSED = f"{_SET_TOKEN}, and use the same version of Ray"
_JOIN = "run `ray start --address {}` on this machine if it is not part of the cluster, "
_FORGET = f"{_REFUSED}; if it does not run any more, `ray stop` removes its record"


def connect(ray: Any, address: str | None, **settings: Any) -> bool:
    """Connect to a cluster, and return whether it was started here.

    Without an address, it is the one that RAY_ADDRESS names or that runs on this machine; if there
    is none, one is started with `settings`.
    """
    named = address or os.environ.get("RAY_ADDRESS", "")
    if named == "local" or (named in ("", "auto") and not _has_running_cluster()):
        _start(ray, settings)
        return True
    where, refused = "of this machine", _FORGET
    if named not in ("", "auto"):
        where = f"at {named}"
        refused = _REFUSED if "://" in named else _JOIN.format(named) + _REFUSED
        try:
            _check_reachable(named, _REACH_SECONDS)
        except OSError as error:
            raise _no_cluster(where, reason(error), _START_ONE) from None
    with _hidden_stderr() as hidden, _interruptible(), _quiet():
        try:
            with empty_current_folder():
                # given an address, Ray would not look for a token in the home folder
                ray.init(address=address, namespace=settings.get("namespace"), **_WITHOUT_LOGS)
        except (OSError, RuntimeError, ValueError, ImportError, ray.exceptions.RayError) as error:
            found = _WRONG_TOKEN.search(hidden())
            if found:
                raise _no_cluster(where, found[1], _SET_TOKEN) from None
            raise _no_cluster(where, reason(error), refused) from None
    return False


def _has_running_cluster() -> bool:
    """Whether the cluster that was started last on this machine answers.

    Ray keeps its address in a file, also after a crash.
    """
    try:
        address = (_temporary_folder() / "ray" / "ray_current_cluster").read_text("utf-8").strip()
    except (OSError, ValueError):
        return False
    try:
        _check_reachable(address, _RECORDED_SECONDS)
    except OSError as error:
        warnings.warn(
            f"the Ray cluster of this machine, at {address}, does not answer ({reason(error)}):"
            " starting another one for this command",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return bool(address)


def _temporary_folder() -> Path:
    """Return the folder in which Ray has its folder `ray`."""
    if "RAY_TMPDIR" in os.environ:
        return Path(os.environ["RAY_TMPDIR"])
    if sys.platform == "darwin":
        return Path("/tmp")  # noqa: S108 - there, Ray does not use TMPDIR
    return Path(tempfile.gettempdir())


def _start(ray: Any, settings: dict[str, Any]) -> None:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        with _interruptible(), _quiet(), _on_this_machine_alone(), empty_current_folder():
            ray.init(
                address="local",
                include_dashboard=False,
                _node_ip_address="127.0.0.1",
                **settings,
                **_WITHOUT_LOGS,
            )
    except Exception as error:  # noqa: BLE001 - Ray raises the class itself if its processes are too slow
        raise EqembError(
            f"Ray does not start on this machine ({reason(error)}): try again when the machine is"
            " less busy, or use --engine local"
        ) from None


@contextlib.contextmanager
def _on_this_machine_alone() -> Iterator[None]:
    """Let Ray start processes that listen on 127.0.0.1, not on all interfaces."""
    constants: Any = importlib.import_module("ray._private.ray_constants")
    uses_network = constants.ENABLE_RAY_CLUSTER  # read from the environment by `import ray`
    before = os.environ.get(_USES_NETWORK)
    os.environ[_USES_NETWORK], constants.ENABLE_RAY_CLUSTER = "0", False
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = uses_network
        if before is None:
            del os.environ[_USES_NETWORK]
        else:
            os.environ[_USES_NETWORK] = before


def _check_reachable(address: str, seconds: float) -> None:
    """Raise an `OSError` if nothing listens at an address."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), seconds).close()


def _no_cluster(where: str, reason: str, remedy: str) -> EqembError:
    return EqembError(f"cannot connect to the Ray cluster {where} ({reason}): {remedy}")


def reason(error: BaseException) -> str:
    """Return the first sentence of an error, and its last line if the first only introduces it."""
    text = (error.strerror if isinstance(error, OSError) else None) or str(error).strip()
    lines = (text or type(error).__name__).splitlines()
    said = f"{lines[0]} {lines[-1]}" if lines[0].endswith(":") and lines[1:] else lines[0]
    return re.split(r"\. (?=[A-Z])", said)[0].strip().rstrip(".")


# ------------------------------------------------------------ what Ray logs, and signals


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Hide what Ray logs about itself while it starts."""
    logger = logging.getLogger("ray")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextlib.contextmanager
def _hidden_stderr() -> Iterator[Callable[[], str]]:
    """Hide what is written to stderr; the function that is given returns it.

    Ray has parts that are not in Python. They log each attempt to connect, whatever the settings.
    """
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(tempfile.TemporaryFile())
        try:
            before = os.dup(_STDERR)
        except OSError:  # there is none
            yield str
            return
        stack.callback(os.close, before)
        os.dup2(file.fileno(), _STDERR)
        stack.callback(os.dup2, before, _STDERR)

        def written() -> str:
            file.seek(0)
            return file.read().decode("utf-8", "replace")

        yield written


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """End the process on Ctrl-C and SIGTERM, also while Ray waits.

    Python handles signals between its own instructions, not while code of Ray waits. So another
    thread waits for them, and ends the process if Ray has not returned soon after. An interactive
    session is not ended. Ray replaces the handler of SIGTERM; it is restored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGTERM)
    reader, writer = socket.socketpair()
    writer.settimeout(0)
    watcher = threading.Thread(target=_end_on_signal, args=(reader,), daemon=True)
    watcher.start()
    before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        if handler is not None:  # None: it was not set in Python
            signal.signal(signal.SIGTERM, handler)
        writer.close()  # ends the thread
        watcher.join()
        reader.close()


def _end_on_signal(reader: socket.socket) -> None:
    """End the process if a signal arrives, and the other end is not closed soon after."""
    while received := reader.recv(1):  # the number of a signal
        if received[0] in (signal.SIGINT, signal.SIGTERM) and not hasattr(sys, "ps1"):
            break
    else:
        return
    reader.settimeout(_GRACE_SECONDS)
    with contextlib.suppress(TimeoutError):
        if not reader.recv(1):  # a second signal ends the process at once
            return
    os._exit(_INTERRUPTED)
