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
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from eqemb import __version__
from eqemb.article import Article
from eqemb.errors import EqembError, SourceError, UsageError
from eqemb.library.database import RECORDS_FORMAT, Records
from eqemb.library.generations import OpenLibrary, next_generation, read_state, switch
from eqemb.library.near_duplicates import Hashes, clusters
from eqemb.library.report import make_report, render_report, why_none
from eqemb.library.rows import Record
from eqemb.library.worker import read_found, receive, send, skip
from eqemb.sources import Found, Limits, discover
from eqemb.storage.atomic import to_json, write_atomically
from eqemb.storage.locks import locked
from eqemb.storage.process import python_command, python_environment

_log = logging.getLogger("eqemb")
_COMMIT_EVERY = 1.0  # seconds: what a kill may cost


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

#: A paper that ends so is read once more by a new process: it does not pay for those before it.
_TRIED_AGAIN = frozenset(("reader died", "out of memory"))
_DEATHS = {-9: "killed, likely for memory", -11: "crashed"}  # by exit status


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
        except BaseException as error:  # noqa: BLE001 - handed to the reading thread
            self._pool.end(error)
        finally:
            self._end_process()

    def _read(self, found: Found) -> Record:
        if found.cause:
            return skip(found, found.cause, found.detail)
        is_new = self._process is None
        record = self._ask(found)
        if record.cause in _TRIED_AGAIN:
            self._end_process()
            if not is_new and not self._pool.closing:
                return self._read(found)
        return record

    def _ask(self, found: Found) -> Record:
        """Have the process read a paper; what stops it is the paper's fault."""
        process = self._process or self._start()
        seconds, started = self._pool.backstops.seconds, time.monotonic()
        timer = threading.Timer(seconds, process.kill)
        timer.daemon = True
        timer.start()
        try:
            send(process.stdin, found)  # type: ignore[arg-type]
            record: Record = receive(process.stdout)  # type: ignore[arg-type]
        except (EOFError, OSError):
            timed_out = time.monotonic() - started >= seconds
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)  # it is on its way out: the status is to be its own
            code = self._end_process()
            if timed_out:
                return skip(found, "time limit", f"stopped after {seconds:g} s")
            return skip(found, "reader died", _DEATHS.get(code, f"exit status {code}"))
        finally:
            timer.cancel()
        return record

    def _start(self) -> subprocess.Popen[bytes]:
        try:
            process = self._process = subprocess.Popen(  # noqa: S603 - our own program
                python_command("eqemb.library.worker"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # threads of numpy take address space
                env=python_environment(OPENBLAS_NUM_THREADS="1"),
                start_new_session=True,  # Ctrl-C is the parent's to handle
            )
            send(process.stdin, (self._pool.limits, self._pool.backstops.memory))  # type: ignore[arg-type]
            receive(process.stdout)  # type: ignore[arg-type]
        except (EOFError, OSError) as error:
            raise EqembError(f"cannot start a process that reads papers ({error!r})") from None
        return process

    def kill(self) -> None:
        """End the process from another thread; this one then finds it dead."""
        if (process := self._process) is not None:
            process.kill()

    def _end_process(self) -> int:
        """End the process, if it did not end itself: its exit status."""
        process, self._process = self._process, None
        if process is None:
            return 0
        process.kill()
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                stream.close()  # type: ignore[union-attr]
        return process.wait()


class _Pool:
    """Workers over a stream of tasks; results come out in the order of the tasks."""

    def __init__(self, tasks: Iterator[Found], jobs: int, limits: Limits, stops: Backstops) -> None:
        self.limits, self.backstops = limits, stops
        self.closing = False
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
            found = None if self._ended else next(self._tasks, None)
            if found is None:
                self.end()
                return None
            self._next_task += 1
            return self._next_task - 1, found

    def put(self, number: int, record: Record) -> None:
        """Hand in the record of a task."""
        with self._state:
            self._results[number] = record
            self._state.notify_all()

    def end(self, error: BaseException | None = None) -> None:
        """Take no more tasks; an error is raised where results are awaited."""
        with self._state:
            self._ended, self._error = True, self._error or error
            self._state.notify_all()

    def __enter__(self) -> Self:
        for worker in self._workers:
            worker.start()
        return self

    def __iter__(self) -> Iterator[Record]:
        while (record := self._next()) is not None:
            yield record

    def _next(self) -> Record | None:
        with self._state:
            while self._next_result not in self._results:
                if self._error is not None:
                    raise self._error
                if self._ended and self._next_result >= self._next_task:
                    return None
                # a bounded wait: an unbounded one cannot be interrupted on Windows
                self._state.wait(0.5)
            self._next_result += 1
            self._state.notify_all()
            return self._results.pop(self._next_result - 1)

    def __exit__(self, *_: object) -> None:
        self.closing = True
        self.end()
        for worker in self._workers:
            while worker.is_alive():
                worker.kill()
                worker.join(0.1)


# ---------------------------------------------------------------- a library


# ---------------------------------------------------------------- what every change is made of


def being_written(folder: Path) -> contextlib.AbstractContextManager[None]:
    """Keep other writers out of a library."""
    return locked(folder / ".lock", f"{folder} is being written")


def reading_step(name: str, paths: Iterable[str | Path], limits: Limits) -> dict[str, Any]:
    """A step of a library's making: its papers as they were named, and from where."""
    given = [str(path) for path in paths]
    return {"step": name, "paths": given, "from": str(Path.cwd()), "limits": asdict(limits)}


def resolved(step: dict[str, Any]) -> list[str]:
    """Where the papers of a step are."""
    return [str((Path(step["from"]) / path).resolve()) for path in step["paths"]]


def checked_jobs(jobs: int | None) -> int:
    """How many processes read."""
    if jobs is not None and jobs < 1:
        raise UsageError(f"jobs is {jobs}: at least one process has to read")
    return jobs or os.cpu_count() or 1


def begin(folder: Path, steps: list[dict[str, Any]], *, resume: bool) -> Path:
    """Make the folder of the next generation, or leave that of an interrupted one as it is.

    `steps` is all that was done to make the library, this change the last of them.
    """
    generation = next_generation(folder)
    if resume and (generation / "settings.json").exists():
        if not _same_steps(generation, steps):
            raise UsageError(
                "cannot resume: what was interrupted had other papers, limits or another version "
                "or model; start again without --resume"
            )
        return generation
    shutil.rmtree(generation, ignore_errors=True)
    generation.mkdir(parents=True)
    write_atomically(generation / "settings.json", to_json(_settings(steps)))
    return generation


def is_done(
    folder: Path, steps: list[dict[str, Any]], sources: Iterable[Found] | None = None
) -> bool:
    """Whether the library is made by these steps, and no other change was begun.

    A kill after the switch leaves it so; what else belongs to the switch is done here. Where
    `sources` are given they have to be those that were read.
    """
    if read_state(folder) is None or (next_generation(folder) / "settings.json").exists():
        return False
    with OpenLibrary.open(folder) as library:
        generation = library.generation
        if not _same_steps(generation, steps):
            return False
        there = library.records.origins()
        if sources is not None and [(one.name, one.origin) for one in sources] != list(there):
            return False
    switch(folder, generation)
    return True


def _settings(steps: list[dict[str, Any]]) -> dict[str, Any]:
    return {"format": RECORDS_FORMAT, "version": __version__, "steps": steps}


def _same_steps(generation: Path, steps: list[dict[str, Any]]) -> bool:
    """Whether a generation is made, or being made, by these steps and this version."""
    try:
        found = json.loads((generation / "settings.json").read_text("utf-8"))
        return _compared(found) == _compared(_settings(steps))
    except (ValueError, KeyError, TypeError, AttributeError):  # it is damaged
        return False


def _compared(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings by where papers are, whatever they are called from."""
    steps = [
        step | {"paths": resolved(step), "from": ""} if "paths" in step else step
        for step in settings.get("steps", ())
    ]
    return settings | {"steps": steps}


@contextlib.contextmanager
def records_written(path: Path) -> Iterator[Records]:
    """Records to be written, and finished where nothing goes wrong."""
    try:
        with contextlib.closing(Records(path, write=True)) as records:
            yield records
            records.finish()
    except sqlite3.Error as error:
        way_out = "begin again without --resume"
        if isinstance(error, sqlite3.OperationalError):
            way_out = "make room if the disk is full, and go on with --resume"
        raise EqembError(f"cannot write {path.parent}: {error}; {way_out}") from None


@dataclass(frozen=True, slots=True)
class Reader:
    """How papers are read."""

    limits: Limits
    backstops: Backstops
    jobs: int
    progress: Callable[[Progress], None] | None = None

    def read(self, tasks: Iterator[Found], records: Records, folder: Path) -> int:
        """Read what is not among the records yet; how much was there."""
        done = _skip_done(tasks, records, folder)
        with _Pool(tasks, self.jobs, self.limits, self.backstops) as pool:
            _write(records, pool, self.progress)
        return done


def check_articles(report: dict[str, Any], folder: Path, generation: Path) -> None:
    """Refuse to make a library of nothing, or to put it in the place of one."""
    if report["articles"] == 0:
        shutil.rmtree(generation, ignore_errors=True)
        with contextlib.suppress(OSError):  # others are in it; else nothing was begun
            generation.parent.rmdir()
        kept = (
            f"{folder} stays as it was" if read_state(folder) else f"no library is made at {folder}"
        )
        raise EqembError(f"no article could be read: {why_none(report)}; {kept}")


def write_run(generation: Path, started: float, jobs: int, **more: Any) -> None:
    """What no digest covers: times, paths and the machine."""
    run = {
        "started": started,
        "seconds": time.time() - started,
        "jobs": jobs,
        "python": platform.python_version(),
        "machine": platform.platform(),
    }
    write_atomically(generation / "run.json", to_json(more | run))


def _skip_done(tasks: Iterator[Found], records: Records, folder: Path) -> int:
    """Pass over the sources that are already written, making sure that they are the same."""
    for name, origin in records.origins():
        found = next(tasks, None)
        if found is None or (found.name, found.origin) != (name, origin):
            raise UsageError(
                f"cannot resume {folder}: the papers have changed since it was interrupted "
                f"(at {origin}); start again without --resume"
            )
    return records.count()


def _write(
    records: Records, pool: Iterable[Record], progress: Callable[[Progress], None] | None
) -> None:
    """Write records as they come, durable about once a second."""
    done, skips = records.count(), records.status_counts().get("skipped", 0)
    equations = sum(records.numbering_counts().values())
    committed = time.monotonic()
    for record in pool:
        records.add(record)
        done, skips = done + 1, skips + (record.status == "skipped")
        equations += len(record.equations)
        if time.monotonic() - committed > _COMMIT_EVERY:
            records.commit()
            committed = time.monotonic()
        if progress is not None:
            progress(Progress(done, equations, skips, record.name))
    records.commit()


def find_clusters(records: Records) -> None:
    """Find near-duplicates among all articles."""
    rows = records.sketch_sizes()
    keys, sizes = [key for key, _ in rows], [size for _, size in rows]

    def sketches() -> Iterator[Hashes]:
        return (np.frombuffer(data, np.uint64) for data in records.sketches())

    groups = clusters(sizes, sketches)
    records.set_clusters([keys[index] for index in group] for group in groups)


def write_report(generation: Path, limits: Limits, **more: Any) -> dict[str, Any]:
    """Write the account of a generation's records, with whatever else there is to say."""
    with contextlib.closing(Records(generation / "records.sqlite")) as records:
        settings = {"format": RECORDS_FORMAT, "version": __version__, "limits": asdict(limits)}
        report = make_report(records, settings | {"sha256": records.sha256()} | more)
        slowest = records.slowest(10)
    write_atomically(generation / "report.json", to_json(report))
    write_atomically(generation / "report.html", render_report(report, slowest))
    return report
