"""Ingest: read papers into the records of a library.

The parent process finds sources and writes records; an `Executor` reads the papers. Records are
written in the order in which sources were found, so that any number of workers gives the same
library. An interrupted ingest can be resumed.
"""

import contextlib
import json
import logging
import os
import platform
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eqemb import __version__
from eqemb.article import Article
from eqemb.checks import check_integer
from eqemb.errors import EqembError, SourceError, UsageError
from eqemb.library import executor
from eqemb.library.database import RECORDS_FORMAT, Records
from eqemb.library.executor import WorkerLimits
from eqemb.library.generations import OpenLibrary, next_generation, read_state, switch
from eqemb.library.near_duplicates import Hashes, clusters
from eqemb.library.report import explain_no_articles, make_report, render_report
from eqemb.library.rows import Record
from eqemb.library.worker import read_found
from eqemb.sources import Found, Limits, discover
from eqemb.storage.atomic import to_json, write_atomically
from eqemb.storage.locks import locked

_log = logging.getLogger("eqemb")
_COMMIT_EVERY = 1.0  # seconds of work that a kill may cost

#: One path, or several.
Paths = str | Path | Iterable[str | Path]


@dataclass(frozen=True, slots=True)
class Progress:
    """Passed to the progress callback after each source."""

    done: int
    equations: int
    skipped: int
    name: str


def path_list(paths: Paths) -> list[str | Path]:
    """Return a list of paths, given one path or several."""
    return [paths] if isinstance(paths, str | Path) else list(paths)


def read_articles(
    *paths: Paths,
    limits: Limits | None = None,
    on_skip: Callable[[Found, SourceError], None] | None = None,
) -> Iterator[Article]:
    """Read papers one at a time, in this process.

    Args:
        paths: Files and folders. An argument may also be a list of them.
        limits: Size limits of a paper.
        on_skip: Called for each source that is not an article. By default a warning is logged.

    Returns:
        The articles, in the order in which they are found.
    """
    limits = limits or Limits()
    given = [path for group in paths for path in path_list(group)]
    for found in discover(given, limits):
        try:
            yield read_found(found, limits)
        except SourceError as error:
            if on_skip is not None:
                on_skip(found, error)
            else:
                _log.warning("skipped %s: %s", found.origin, error)


# ---------------------------------------------------------------- reading papers into records


@dataclass(frozen=True, slots=True)
class Ingest:
    """Settings for reading papers."""

    limits: Limits
    worker_limits: WorkerLimits
    jobs: int
    progress: Callable[[Progress], None] | None = None

    def run(self, tasks: Iterator[Found], records: Records, folder: Path) -> int:
        """Read the sources that have no record yet; return how many had one."""
        done = _skip_done(tasks, records, folder)
        workers = executor.make_executor(self.limits, self.worker_limits, self.jobs)
        with contextlib.closing(workers.map(tasks)) as results:
            self._write(records, results)
        return done

    def _write(self, records: Records, results: Iterable[Record]) -> None:
        """Write records as they arrive, and commit about once a second."""
        done, skips = records.count(), records.status_counts().get("skipped", 0)
        equations = sum(records.numbering_counts().values())
        committed = time.monotonic()
        for record in results:
            records.add(record)
            done, skips = done + 1, skips + (record.status == "skipped")
            equations += len(record.equations)
            if time.monotonic() - committed > _COMMIT_EVERY:
                records.commit()
                committed = time.monotonic()
            if self.progress is not None:
                self.progress(Progress(done, equations, skips, record.name))
        records.commit()


def _skip_done(tasks: Iterator[Found], records: Records, folder: Path) -> int:
    """Skip the sources that have a record, after checking that they are the same sources."""
    for name, origin in records.origins():
        found = next(tasks, None)
        if found is None or (found.name, found.origin) != (name, origin):
            raise UsageError(
                f"cannot resume {folder}: the papers have changed since the interruption "
                f"(at {origin}); start again without --resume"
            )
    return records.count()


@contextlib.contextmanager
def open_for_writing(path: Path) -> Iterator[Records]:
    """Open records for writing; finish the file unless an error occurs."""
    try:
        with contextlib.closing(Records(path, write=True)) as records:
            yield records
            records.finish()
    except sqlite3.Error as error:
        remedy = "start again without --resume"
        if isinstance(error, sqlite3.OperationalError):
            remedy = "free space if the disk is full, then continue with --resume"
        raise EqembError(f"cannot write {path.parent}: {error}; {remedy}") from None


def mark_near_duplicates(records: Records) -> None:
    """Find near-duplicates among all articles, and store them."""
    rows = records.sketch_sizes()
    keys, sizes = [key for key, _ in rows], [size for _, size in rows]

    def sketches() -> Iterator[Hashes]:
        return (np.frombuffer(data, np.uint64) for data in records.sketches())

    groups = clusters(sizes, sketches)
    records.set_clusters([keys[index] for index in group] for group in groups)


# ---------------------------------------------------------------- making a generation


def write_lock(folder: Path) -> contextlib.AbstractContextManager[None]:
    """Lock a library against other writers."""
    return locked(folder / ".lock", f"{folder} is being written")


def ingest_step(name: str, paths: Iterable[str | Path], limits: Limits) -> dict[str, Any]:
    """Return the description of a step that reads papers: paths as given, and relative to where."""
    given = [str(path) for path in paths]
    return {"step": name, "paths": given, "from": str(Path.cwd()), "limits": asdict(limits)}


def resolve_paths(step: dict[str, Any]) -> list[str]:
    """Return the absolute paths of the papers of a step."""
    return [str((Path(step["from"]) / path).resolve()) for path in step["paths"]]


def worker_count(jobs: int | None) -> int:
    """Return the number of worker processes: as given, or one per processor."""
    if jobs is None:
        return os.cpu_count() or 1
    check_integer("jobs", jobs)
    return jobs


def begin_generation(folder: Path, steps: list[dict[str, Any]], *, resume: bool) -> Path:
    """Create the folder of the next generation; with `resume`, return that of an interrupted one.

    `steps` describes everything that was done to make the library, ending with this change.
    """
    generation = next_generation(folder)
    if resume and (generation / "settings.json").exists():
        if not _same_steps(generation, steps):
            raise UsageError(
                "cannot resume: the interrupted command had other papers, limits or model, or "
                "another version of eqemb; start again without --resume"
            )
        return generation
    shutil.rmtree(generation, ignore_errors=True)
    generation.mkdir(parents=True)
    write_atomically(generation / "settings.json", to_json(_settings(steps)))
    return generation


def is_complete(
    folder: Path, steps: list[dict[str, Any]], sources: Iterable[Found] | None = None
) -> bool:
    """Return whether the library was made by these steps, and no other change was begun.

    This is the state after a kill that follows the switch; the rest of the switch is done here.
    `sources`, if given, must be those that were read.
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
    """Return whether a generation is made by these steps and this version."""
    try:
        found = json.loads((generation / "settings.json").read_text("utf-8"))
        return _comparable(found) == _comparable(_settings(steps))
    except (ValueError, KeyError, TypeError, AttributeError):  # the file is damaged
        return False


def _comparable(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings with absolute paths, whichever folder they were given from."""
    steps = [
        step | {"paths": resolve_paths(step), "from": ""} if "paths" in step else step
        for step in settings.get("steps", ())
    ]
    return settings | {"steps": steps}


def require_articles(report: dict[str, Any], folder: Path, generation: Path) -> None:
    """Raise an error if nothing was read; an existing library is left unchanged."""
    if report["articles"] == 0:
        shutil.rmtree(generation, ignore_errors=True)
        with contextlib.suppress(OSError):  # there are other generations
            generation.parent.rmdir()
        result = (
            f"{folder} is unchanged." if read_state(folder) else f"No library was made at {folder}."
        )
        raise EqembError(f"{explain_no_articles(report)} {result}")


def write_run(generation: Path, started: float, jobs: int, **more: Any) -> None:
    """Write run.json: times, paths and the machine, which no digest covers."""
    run = {
        "started": started,
        "seconds": time.time() - started,
        "jobs": jobs,
        "python": platform.python_version(),
        "machine": platform.platform(),
    }
    write_atomically(generation / "run.json", to_json(more | run))


def write_report(generation: Path, limits: Limits, **more: Any) -> dict[str, Any]:
    """Write report.json and report.html of a generation; `more` is added to the report."""
    with contextlib.closing(Records(generation / "records.sqlite")) as records:
        settings = {"format": RECORDS_FORMAT, "version": __version__, "limits": asdict(limits)}
        report = make_report(records, settings | {"sha256": records.sha256()} | more)
        slowest = records.slowest(10)
    write_atomically(generation / "report.json", to_json(report))
    write_atomically(generation / "report.html", render_report(report, slowest))
    return report
