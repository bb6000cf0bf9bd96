"""A process that reads papers: tasks in on stdin, records out on stdout, until stdin ends.

Run as `python -m eqemb.worker` by reading.py. One paper at a time, so that a paper that
exhausts memory or hangs costs its own process and no other. Messages are pickles between
processes of ours, each behind its length.
"""

import contextlib
import pickle
import struct
import sys
import time
from typing import Any, BinaryIO

from eqemb.article import Article
from eqemb.duplicates import sketch
from eqemb.errors import SourceError
from eqemb.latex import read_latex
from eqemb.records import Record, from_article, skipped
from eqemb.sources import Found, Limits, load
from eqemb.unarxive import read_unarxive

try:
    import resource
except ImportError:  # Windows: the wall clock alone stands behind the budgets
    resource = None  # type: ignore[assignment]

_LENGTH = struct.Struct("<Q")


def read_found(found: Found, limits: Limits) -> Article:
    """Open and read one source; a `SourceError` says why it is no article."""
    source = load(found, limits)
    if source.form == "unarxive":
        line = next(iter(source.files.values()))
        return read_unarxive(source.name, source.origin, source.collection, line)
    return read_latex(source)


def make_record(found: Found, limits: Limits) -> Record:
    """Read one source into a record, whatever it holds."""
    started = time.perf_counter()
    try:
        article = read_found(found, limits)
        words = article.words()
        record = from_article(article, len(words), sketch(words).tobytes())
    except SourceError as error:
        record = skipped(found.name, found.origin, found.collection, error.cause, error.detail)
    except MemoryError:
        record = skipped(found.name, found.origin, found.collection, "out of memory", "")
    except Exception as error:  # noqa: BLE001 - one bad paper never stops the run
        detail = f"{type(error).__name__}: {error}"[:300]
        record = skipped(found.name, found.origin, found.collection, "internal error", detail)
    record.seconds = time.perf_counter() - started
    return record


def send(stream: BinaryIO, message: Any) -> None:
    """Write one message."""
    data = pickle.dumps(message, protocol=5)
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """Read one message; `EOFError` where the other side is gone."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    data = stream.read(_LENGTH.unpack(head)[0])
    return pickle.loads(data)  # noqa: S301 - our own process on the other side


def _limit_memory(most: int) -> None:
    """Let a paper that asks for too much memory fail alone, where the system can."""
    if resource is None:
        return
    with contextlib.suppress(ValueError, OSError):
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        ceiling = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(resource.RLIMIT_AS, (ceiling, hard))


def main() -> None:
    """Serve tasks until there are no more."""
    tasks, results = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # nothing may be printed among the messages
    with contextlib.suppress(EOFError, KeyboardInterrupt, BrokenPipeError):
        limits, memory = receive(tasks)
        _limit_memory(memory)
        while True:
            send(results, make_record(receive(tasks), limits))


if __name__ == "__main__":
    main()
