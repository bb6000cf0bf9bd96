"""Complete segments in processes of their own, while the next segments are read.

`python -m eqemb.library.completion` receives a folder and an indexer on stdin, completes the
segment in that folder, and sends it on stdout. If the process dies or fails, the segment is
completed by the caller, which then meets the error itself.
"""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from eqemb.library.manifest import Segment
from eqemb.library.segments import Indexer, complete_segment
from eqemb.storage.messages import receive, send
from eqemb.storage.process import exit_with_parent, python_command, python_environment


class _Running(NamedTuple):
    number: int
    folder: Path
    process: subprocess.Popen[bytes]


class ProcessCompleter:
    """Completes segments in child processes, a few at a time."""

    def __init__(self, indexer: Indexer | None, processes: int) -> None:
        self._indexer, self._processes = indexer, processes
        self._running: list[_Running] = []
        self._done: list[tuple[int, Path, Segment]] = []

    def start(self, number: int, folder: Path) -> None:
        """Begin to complete the segment in a folder; wait if enough others are running."""
        while len(self._running) >= self._processes:
            self._take(self._running.pop(0))
        try:
            process = subprocess.Popen(  # noqa: S603 - our own program
                python_command("eqemb.library.completion"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=python_environment(),
                start_new_session=True,  # Ctrl-C is handled by the parent
            )
        except OSError:  # too many processes, or too little memory
            self._done.append((number, folder, complete_segment(folder, self._indexer)))
            return
        self._running.append(_Running(number, folder, process))
        with contextlib.suppress(OSError):  # it died: `_take` notices
            send(_pipe(process.stdin), (folder, self._indexer))

    def completed(self, *, wait: bool) -> Iterator[tuple[int, Path, Segment]]:
        """Yield the segments that are complete; with `wait`, all that were begun."""
        for one in list(self._running):
            if wait or one.process.poll() is not None:
                self._running.remove(one)
                self._take(one)
        while self._done:
            yield self._done.pop(0)

    def _take(self, one: _Running) -> None:
        """Wait for a process and note its segment."""
        try:
            segment: Segment = receive(_pipe(one.process.stdout))
        except (EOFError, OSError):
            segment = complete_segment(one.folder, self._indexer)
        finally:
            _end(one.process)
        self._done.append((one.number, one.folder, segment))

    def close(self) -> None:
        """Stop the processes; their segments stay incomplete."""
        while self._running:
            _end(self._running.pop().process)


def _pipe(stream: Any) -> Any:
    """Return a stream that `Popen` was asked for."""
    return stream


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for stream in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            _pipe(stream).close()
    process.wait()


def main() -> None:
    """Complete one segment; after any error, exit without a word: the parent tries again."""
    tasks, results = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # nothing else may be printed between the messages
    try:
        folder, indexer = receive(tasks)
        exit_with_parent()
        send(results, complete_segment(folder, indexer))
    except (Exception, KeyboardInterrupt):  # noqa: BLE001
        sys.exit(1)


if __name__ == "__main__":
    main()
