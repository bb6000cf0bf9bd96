"""Python runs this file at startup if it is on the path: it makes the reader misbehave.

The end of a paper's name, after its last dash, says how: reading `3-hang.tex` never ends,
`4-kill.tex` kills the process. All other papers are read normally.
"""

import contextlib
import os
import pickle
import resource
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from eqemb.article import Article
from eqemb.readers.registry import READERS, FormatReader

honest = READERS["tex"].read
hoard: list[object] = []


mark = os.environ.get("EQEMB_TEST_HANGS")
#: Opened now: a worker cannot create files.
marked = Path(mark).open("a") if mark else sys.stderr  # noqa: SIM115


pipe = os.fstat(1).st_ino


def results() -> int:
    """Find where a worker sends its results, as code that took it over could."""
    for number in range(3, 100):
        with contextlib.suppress(OSError):
            if os.fstat(number).st_ino == pipe:
                return number
    raise LookupError


def hang() -> None:
    """Never return; first write to the file that EQEMB_TEST_HANGS names."""
    marked.write("hangs")
    marked.flush()
    while True:
        pass


def half() -> None:
    """Die in the middle of sending a result."""
    os.write(results(), struct.pack("<Q", 1 << 20) + b"half an answer")
    os._exit(0)


def exhaust() -> None:
    """Allocate memory until there is none left."""
    taken = []
    while True:
        taken.append(np.empty(1 << 26, np.uint8))  # not touched: address space is what is limited


def recurse() -> None:
    """Recurse until Python raises."""
    recurse()


def fail() -> None:
    """Fail as a bug of ours would."""
    raise ZeroDivisionError("of no use to anyone. " * 100)


class Code:
    """Runs code where it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("import os; os.environ['EQEMB_TEST_TRACE'] = 'run'",)


def send(message: object) -> Callable[[], object]:
    """Return what sends a message instead of a record."""
    data = pickle.dumps(message)
    return lambda: os.write(results(), struct.pack("<Q", len(data)) + data)


def talk() -> None:
    """Print to stdout, which carries the results, as a library might."""
    print("noise" * 100)  # noqa: T201
    sys.stdout.flush()


DEEDS: dict[str, Callable[[], object]] = {
    "hang": hang,
    "half": half,
    "exhaust": exhaust,
    "recurse": recurse,
    "fail": fail,
    "talk": talk,
    "code": send(Code()),
    "text": send("text"),
    "row": send((*[""] * 6, b"", 0.0, None, ((1, ["a"]),), *[()] * 3, None, ())),
    "noise": lambda: os.write(results(), struct.pack("<Q", 5) + b"noise"),
    "flood": lambda: os.write(results(), struct.pack("<Q", 1 << 62)),
    "exit": lambda: os._exit(7),
    "kill": lambda: signal.raise_signal(signal.SIGKILL),
    "crash": lambda: signal.raise_signal(signal.SIGSEGV),
    "phone": socket.socket,
    "spy": lambda: os.listdir("/"),  # noqa: PTH208
    "slow": lambda: time.sleep(0.6),
    # without countermeasures, these harm only the paper after them
    "mine": threading.Timer(0.3, os._exit, (9,)).start,
    "hoard": lambda: hoard.append(np.empty(500_000_000, np.uint8)),
    "needy": lambda: np.empty(500_000_000, np.uint8),
}


def read(source: Any) -> Article:
    """Do what the paper's name says, then read it."""
    DEEDS.get(source.name.rpartition("-")[2], bool)()
    return honest(source)


resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
READERS["tex"] = FormatReader(read)
