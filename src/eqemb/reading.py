"""Read papers into a library: many processes, one order, nothing lost when interrupted.

The parent finds the sources and writes the records; workers open and read them, a paper at a
time. Records are written in the order in which sources were found, so that any number of
workers gives the same library. A wall clock and a memory cap stand behind the step budgets of
the reader: a paper that they stop is recorded as skipped, with that cause.
"""

import contextlib
import json
import logging
import os
import platform
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eqemb import __version__
from eqemb.article import Article
from eqemb.duplicates import Hashes, clusters
from eqemb.errors import EqembError, SourceError, UsageError
from eqemb.library import Library, locked, next_generation, switch, to_json, write_atomically
from eqemb.records import FORMAT, Record, Records, skipped
from eqemb.report import make_report, render_report
from eqemb.sources import Found, Limits, discover
from eqemb.worker import read_found, receive, send

_log = logging.getLogger("eqemb")


@dataclass(frozen=True, slots=True)
class Backstops:
    """What stops a paper that no step budget stopped."""

    seconds: float = 180.0
    memory: int = 6 << 30


@dataclass(frozen=True, slots=True)
class Progress:
    """What a watcher is told after each source."""

    done: int
    equations: int
    skipped: int
    name: str


def read_articles(
    *paths: str | Path,
    limits: Limits | None = None,
    on_skip: Callable[[Found, SourceError], None] | None = None,
) -> Iterator[Article]:
    """Read papers one at a time, in this process.

    Sources that are no articles are handed to `on_skip`, or logged as warnings.
    """
    limits = limits or Limits()
    for found in discover(paths, limits):
        try:
            yield read_found(found, limits)
        except SourceError as error:
            if on_skip is not None:
                on_skip(found, error)
            else:
                _log.warning("skipped %s: %s", found.origin, error)


# ---------------------------------------------------------------- workers


class _Worker(threading.Thread):
    """A thread that keeps one worker process busy and replaces it when it dies."""

    def __init__(self, pool: "_Pool") -> None:
        super().__init__(daemon=True)
        self._pool = pool
        self._process: subprocess.Popen[bytes] | None = None

    def run(self) -> None:
        """Take tasks until there are none."""
        try:
            while (task := self._pool.take()) is not None:
                number, found = task
                self._pool.put(number, self._read(found))
        finally:
            self.stop()

    def _read(self, found: Found) -> Record:
        if found.cause:
            return skipped(found.name, found.origin, found.collection, found.cause, found.detail)
        process = self._process or self._start()
        seconds = self._pool.backstops.seconds
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        try:
            send(process.stdin, found)  # type: ignore[arg-type]
            record: Record = receive(process.stdout)  # type: ignore[arg-type]
        except (EOFError, OSError):
            timed_out = not timer.is_alive()
            self.stop()
            cause = "time limit" if timed_out else "reader died"
            detail = f"stopped after {seconds:g} s" if timed_out else "likely out of memory"
            return skipped(found.name, found.origin, found.collection, cause, detail)
        finally:
            timer.cancel()
        return record

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "eqemb.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
            start_new_session=True,  # Ctrl-C is the parent's to handle
        )
        send(process.stdin, (self._pool.limits, self._pool.backstops.memory))  # type: ignore[arg-type]
        self._process = process
        return process

    def stop(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            for stream in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    stream.close()  # type: ignore[union-attr]
            process.kill()
            process.wait()


class _Pool:
    """Workers over a stream of tasks; results come out in the order of the tasks."""

    def __init__(self, tasks: Iterator[Found], jobs: int, limits: Limits, stops: Backstops) -> None:
        self.limits, self.backstops = limits, stops
        self._tasks = tasks
        self._ahead = 8 * jobs
        self._state = threading.Condition()
        self._feeding = threading.Lock()
        self._results: dict[int, Record] = {}
        self._next_task = self._next_result = 0
        self._error: BaseException | None = None
        self._ended = False
        self._workers = [_Worker(self) for _ in range(jobs)]

    def take(self) -> tuple[int, Found] | None:
        """The next task, once it is not too far ahead of what has been written."""
        with self._state:
            while not self._ended and self._next_task >= self._next_result + self._ahead:
                self._state.wait()
        with self._feeding:
            if self._ended:
                return None
            try:
                found = next(self._tasks, None)
            except BaseException as error:  # noqa: BLE001 - handed to the reading thread
                self._end(error)
                return None
            if found is None:
                self._end()
                return None
            number = self._next_task
            self._next_task += 1
            return number, found

    def _end(self, error: BaseException | None = None) -> None:
        with self._state:
            self._ended, self._error = True, error
            self._state.notify_all()

    def put(self, number: int, record: Record) -> None:
        """Hand in the record of a task."""
        with self._state:
            self._results[number] = record
            self._state.notify_all()

    def __iter__(self) -> Iterator[Record]:
        for worker in self._workers:
            worker.start()
        try:
            while True:
                with self._state:
                    while self._next_result not in self._results:
                        if self._ended and self._next_result >= self._next_task:
                            break
                        # a bounded wait: an unbounded one cannot be interrupted on Windows
                        self._state.wait(0.5)
                    record = self._results.pop(self._next_result, None)
                    self._next_result += record is not None
                    self._state.notify_all()
                if record is None:
                    break
                yield record
            if self._error is not None:
                raise self._error
        finally:
            self._end(self._error)
            for worker in self._workers:
                worker.stop()
            for worker in self._workers:
                worker.join()


# ---------------------------------------------------------------- a library


def read_library(
    paths: Iterable[str | Path],
    folder: str | Path,
    *,
    jobs: int | None = None,
    resume: bool = False,
    limits: Limits | None = None,
    backstops: Backstops | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Library:
    """Read papers into the library at `folder` and open it.

    `resume` goes on with a reading of the same papers that was interrupted.
    """
    folder, given = Path(folder), [str(path) for path in paths]
    limits, stops = limits or Limits(), backstops or Backstops()
    started = time.time()
    tasks = discover(given, limits)
    _make_folder(folder)
    with locked(folder):
        generation = next_generation(folder)
        settings = {"format": FORMAT, "version": __version__, "limits": asdict(limits)}
        _prepare(generation, settings | {"paths": given}, resume=resume)
        records = Records(generation / "records.sqlite", write=True)
        done = records.count()
        try:
            tasks = _skip_done(tasks, records, folder)
            pool = _Pool(tasks, jobs or os.cpu_count() or 1, limits, stops)
            _write(records, pool, progress)
            _find_clusters(records)
            sha256 = records.sha256()
        except sqlite3.Error as error:
            raise EqembError(f"cannot write {generation}: {error}; is the disk full?") from None
        finally:
            records.commit()
            records.finish()
        _write_report(generation, settings | {"sha256": sha256})
        run = {
            "paths": [str(Path(path).resolve()) for path in given],
            "started": started,
            "seconds": time.time() - started,
            "resumed_after": done,
            "jobs": jobs or os.cpu_count() or 1,
            "python": platform.python_version(),
            "machine": platform.platform(),
        }
        write_atomically(generation / "run.json", to_json(run))
        switch(folder, generation)
    return Library.open(folder)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise UsageError(f"{folder} is a file: give a folder for the library") from None
    except OSError as error:
        raise EqembError(f"cannot make the folder {folder}: {error.strerror}") from None
    names = {path.name for path in folder.iterdir()}
    if names - {".lock"} and not names & {"library.json", "generations"}:
        raise UsageError(f"{folder} holds other files: give a new or empty folder for the library")


def _prepare(generation: Path, settings: dict[str, Any], *, resume: bool) -> None:
    """Make the folder of a reading, or leave that of an interrupted one as it is."""
    path = generation / "settings.json"
    if generation.exists() and resume and path.exists():
        before = json.loads(path.read_text("utf-8"))
        if before != json.loads(json.dumps(settings)):
            raise UsageError(
                "cannot resume: the interrupted reading had other papers, limits or another "
                "version; start again without --resume"
            )
        return
    shutil.rmtree(generation, ignore_errors=True)
    generation.mkdir(parents=True)
    write_atomically(path, to_json(settings))


def _skip_done(tasks: Iterator[Found], records: Records, folder: Path) -> Iterator[Found]:
    """Pass over the sources that are already written, making sure that they are the same."""
    for name, origin in records.rows("SELECT name, origin FROM sources ORDER BY id"):
        found = next(tasks, None)
        if found is None or (found.name, found.origin) != (name, origin):
            raise UsageError(
                f"cannot resume {folder}: the papers have changed since it was interrupted "
                f"(at {origin}); start again without --resume"
            )
    return tasks


def _write(
    records: Records, pool: Iterable[Record], progress: Callable[[Progress], None] | None
) -> None:
    """Write records as they come, durable about once a second."""
    query = "SELECT COUNT(*), COALESCE(SUM(status = 'skipped'), 0) FROM sources"
    done, skips = next(records.rows(query))
    equations = next(records.rows("SELECT COUNT(*) FROM equations"))[0]
    committed = time.monotonic()
    for record in pool:
        records.add(record)
        done, skips = done + 1, skips + (record.status == "skipped")
        equations += len(record.equations)
        if time.monotonic() - committed > 1.0:
            records.commit()
            committed = time.monotonic()
        if progress is not None:
            progress(Progress(done, equations, skips, record.name))
    records.commit()


def _find_clusters(records: Records) -> None:
    """Find near-duplicates among all articles."""
    rows = list(records.rows("SELECT id, LENGTH(sketch) / 8 FROM articles ORDER BY id"))
    keys, sizes = [row[0] for row in rows], [row[1] for row in rows]

    def sketches() -> Iterator[Hashes]:
        for (blob,) in records.rows("SELECT sketch FROM articles ORDER BY id"):
            yield np.frombuffer(blob, np.uint64)

    groups = clusters(sizes, sketches)
    records.set_clusters([keys[index] for index in group] for group in groups)


def _write_report(generation: Path, settings: dict[str, Any]) -> None:
    records = Records(generation / "records.sqlite")
    report = make_report(records, settings)
    slowest = list(
        records.rows("SELECT name, seconds FROM sources ORDER BY seconds DESC, id LIMIT 10")
    )
    records.close()
    write_atomically(generation / "report.json", to_json(report))
    write_atomically(generation / "report.html", render_report(report, slowest))
