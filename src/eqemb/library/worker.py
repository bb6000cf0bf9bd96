"""A process that reads papers: tasks in on stdin, records out on stdout, until stdin ends.

Run as `python -m eqemb.worker` by reading.py. One paper at a time, so that a paper that
exhausts memory or hangs costs its own process and no other. Messages are pickles between
processes of ours, each behind its length.
"""

import contextlib
import os
import pickle
import select
import struct
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, BinaryIO

from eqemb.article import Article, Equation, Problem
from eqemb.library.near_duplicates import sketch
from eqemb.errors import SourceError
from eqemb.formula import layout
from eqemb.library.database import Form, Record, from_article, skipped
from eqemb.sources import Found, Limits, load
from eqemb.readers.registry import read_source

try:
    import resource
except ImportError:  # Windows: the wall clock alone stands behind the budgets
    resource = None  # type: ignore[assignment]

_LENGTH = struct.Struct("<Q")


@contextlib.contextmanager
def _one_paper() -> Iterator[None]:
    """Say whatever goes wrong with a paper as a `SourceError`: it never stops the run."""
    try:
        yield
    except SourceError:
        raise
    except MemoryError:
        raise SourceError("out of memory") from None
    except Exception as error:
        raise SourceError("internal error", f"{type(error).__name__}: {error}"[:300]) from error


@_one_paper()
def read_found(found: Found, limits: Limits) -> Article:
    """Open and read one source; a `SourceError` says why it is no article."""
    return read_source(load(found, limits))


@_one_paper()
def _read_record(found: Found, limits: Limits) -> Record:
    article = read_found(found, limits)
    forms = [_form(article, equation) for equation in article.equations]
    words = article.words()
    return from_article(article, len(words), sketch(words).tobytes(), forms)


def _form(article: Article, equation: Equation) -> Form:
    """An equation's canonical form and units; what is not understood goes to the article."""
    shape = layout(equation.expanded)
    article.problems += [
        Problem(f"equation: {problem.cause}", equation.file, equation.line, problem.command)
        for problem in shape.problems
    ]
    return shape.canonical(), tuple("\t".join(unit) for unit in shape.units())


def make_record(found: Found, limits: Limits) -> Record:
    """Read one source into a record, whatever it holds."""
    started = time.perf_counter()
    try:
        record = _read_record(found, limits)
    except SourceError as error:
        record = skip(found, error.cause, error.detail)
    record.seconds = time.perf_counter() - started
    return record


def skip(found: Found, cause: str, detail: str = "") -> Record:
    """The record of a source that is no article."""
    return skipped(found.name, found.origin, found.collection, cause, detail)


def send(stream: BinaryIO, message: Any) -> None:
    """Write one message."""
    data = pickle.dumps(message, protocol=5)
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """Read one message; `EOFError` where the other side is gone, even in the middle of one."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (size,) = _LENGTH.unpack(head)
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return pickle.loads(data)  # noqa: S301 - our own process on the other side


def _limit_memory(most: int) -> None:
    """Let a paper that asks for too much memory fail alone, where the system can."""
    if resource is None:
        return
    with contextlib.suppress(ValueError, OSError):
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        ceiling = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(resource.RLIMIT_AS, (ceiling, hard))


def _end_with_parent() -> None:
    """Go when the other side of stdin goes, if need be in the middle of a paper."""
    watch = select.poll()
    watch.register(sys.stdin.fileno(), 0)  # the end is told unasked
    watch.poll()
    os._exit(1)


def main() -> None:
    """Serve tasks until there are no more: limits in, a sign of life out, then papers."""
    tasks, results = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # nothing may be printed among the messages
    if hasattr(select, "poll"):  # not on Windows
        threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(EOFError, KeyboardInterrupt, BrokenPipeError):
        limits, memory = receive(tasks)
        _limit_memory(memory)
        send(results, "ready")
        while True:
            send(results, make_record(receive(tasks), limits))


if __name__ == "__main__":
    main()
