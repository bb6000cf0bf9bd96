"""Python loads this file first, where it is on the path: here every reader of papers goes mad.

What the reader does to a paper, the paper's name says after its last dash: `3-hang.tex` is never
done with, `4-kill.tex` takes the process with it. All other papers are read as ever.
"""

import os
import resource
import signal
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


def hang() -> None:
    """Never come back; say so in the file that EQEMB_TEST_HANGS names."""
    if mark := os.environ.get("EQEMB_TEST_HANGS"):
        Path(mark).touch()
    while True:
        pass


def half() -> None:
    """Die in the middle of an answer."""
    os.write(1, struct.pack("<Q", 1 << 20) + b"half an answer")
    os._exit(0)


def exhaust() -> None:
    """Take memory until there is none."""
    taken = []
    while True:
        taken.append(np.empty(1 << 26, np.uint8))  # not touched: it is the claim that counts


def recurse() -> None:
    """Call until Python has enough."""
    recurse()


def fail() -> None:
    """Find a defect of ours."""
    raise ZeroDivisionError("of no use to anyone. " * 100)


def talk() -> None:
    """Print where the answers go, as a package of others might."""
    print("noise" * 100)  # noqa: T201
    sys.stdout.flush()


DEEDS: dict[str, Callable[[], object]] = {
    "hang": hang,
    "half": half,
    "exhaust": exhaust,
    "recurse": recurse,
    "fail": fail,
    "talk": talk,
    "exit": lambda: os._exit(7),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "crash": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "slow": lambda: time.sleep(0.6),
    # these harm only the paper after them, where nothing is done about it
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
