"""Ingest: read papers into the records of a library.

The parent process finds sources and writes segments; an `Executor` reads the papers. Records are
written in the order in which sources were found, so that any number of workers gives the same
segments. An interrupted ingest can be resumed.
"""

import contextlib
import hashlib
import itertools
import json
import logging
import os
import platform
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from eqemb import __version__
from eqemb.article import Article
from eqemb.arxiv.ids import is_bibliography
from eqemb.arxiv.selection import Selection
from eqemb.checks import check_integer
from eqemb.errors import EqembError, SourceError, UsageError
from eqemb.library import segments
from eqemb.library.database import RECORDS_FORMAT
from eqemb.library.engines import EngineChoice, make_engine
from eqemb.library.executor import Reading
from eqemb.library.generations import (
    OpenLibrary,
    finish_switch,
    next_generation,
    read_state,
    remove_leftovers,
    switch,
)
from eqemb.library.integrity import check_records
from eqemb.library.links import refuse_links
from eqemb.library.lookahead import Lookahead
from eqemb.library.manifest import Segment, segment_folder
from eqemb.library.papers import keep_left_out, left_out
from eqemb.library.progress import Progress, ProgressMeter
from eqemb.library.report import explain_no_articles, merge_summaries, render_report
from eqemb.library.segments import SegmentWriter, open_segments
from eqemb.library.summary import summarise
from eqemb.library.worker import read_found
from eqemb.sources import Found, Limits, discover
from eqemb.sources.files import joined_path, real_path
from eqemb.sources.inventory import describe_files
from eqemb.storage.atomic import (
    link_file,
    load_json,
    make_folders,
    to_json,
    write_atomically,
)
from eqemb.storage.locks import locked
from eqemb.storage.removal import remove_folder
from eqemb.storage.syncing import sync_folder

_log = logging.getLogger("eqemb")
_COMMIT_AFTER = 200  # records that are copied

#: One path, or several.
Paths = str | Path | Iterable[str | Path]


def path_list(paths: Paths) -> list[str | Path]:
    """Return a list of paths, given one path or several; refuse lists of references."""
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    for path in given:
        if is_bibliography(Path(path)):
            raise UsageError(
                f"{path} lists papers and is none: download those that arXiv has with"
                f" `eqemb fetch --bib {path} -o PAPERS`, then give PAPERS"
            )
    return given


def read_articles(
    *paths: Paths,
    root: str | Path | None = None,
    limits: Limits | None = None,
    on_skip: Callable[[Found, SourceError], None] | None = None,
) -> Iterator[Article]:
    """Read papers one at a time, in this process.

    Args:
        paths: Files and folders. An argument may also be a list of them.
        root: The folder below which articles are named by path; by default the given folder, or
            the folder that all paths share.
        limits: Size limits of a paper.
        on_skip: Called for each source that is not an article. By default a warning is logged.

    Returns:
        The articles, in the order in which they are found.
    """
    limits = limits or Limits()
    given = [path for group in paths for path in path_list(group)]
    for found in discover(given, limits, root=root):
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

    reading: Reading
    engine: EngineChoice
    progress: Callable[[Progress], None] | None = None

    def run(self, tasks: Iterator[Found], writer: SegmentWriter, folder: Path) -> list[int]:
        """Read the sources that have no record yet into segments.

        Returns:
            The places, in `tasks`, of the sources that had a record.
        """
        with _clear_errors(folder), contextlib.closing(writer):
            engine = make_engine(self.engine, self.reading)
            with contextlib.closing(engine):
                engine.begin(writer)
                remaining = _Remaining(tasks, writer, folder)
                counts = writer.counts()
                with contextlib.closing(Lookahead(iter(remaining))) as ahead:
                    engine.read(ahead, writer, ProgressMeter(counts, ahead, self.progress))
                writer.finish()
        return remaining.done


class _Remaining:
    """The sources that have no record, after a check that the others are those of the records."""

    def __init__(self, tasks: Iterator[Found], writer: SegmentWriter, folder: Path) -> None:
        self._tasks, self._folder = tasks, folder
        self._written = writer.written()
        self._full = {number for number in self._written if writer.is_full(number)}
        self.done: list[int] = []
        """The places of the sources that have a record."""

    def __iter__(self) -> Iterator[Found]:
        place = 0
        for number in itertools.count():
            before = self._written.pop(number, [])
            for origin in before:
                self._check(origin)
                self.done.append(place)
                place += 1
            if number in self._full:
                continue
            room = segments.SEGMENT_DOCUMENTS - len(before)
            for _ in range(room):
                if (found := next(self._tasks, None)) is None:
                    for origins in self._written.values():
                        raise self._changed(f"{origins[0]} is missing")
                    return
                yield found
                place += 1

    def _check(self, origin: str) -> None:
        found = next(self._tasks, None)
        if found is None or found.origin != origin:
            if found is not None and any(task.origin == origin for task in self._tasks):
                raise self._changed(f"{found.origin} is new")
            raise self._changed(f"{origin} is missing")

    def _changed(self, change: str) -> UsageError:
        return UsageError(
            f"cannot resume {self._folder}: the papers have changed since the interruption "
            f"({change}); start again without --resume"
        )


@contextlib.contextmanager
def _clear_errors(folder: Path) -> Iterator[None]:
    """Turn errors of the database into a sentence with a remedy."""
    try:
        yield
    except sqlite3.Error as error:
        remedy = "start again without --resume"
        if isinstance(error, sqlite3.OperationalError):
            remedy = "free space if the disk is full, then continue with --resume"
        raise EqembError(f"cannot write {folder}: {error}; {remedy}") from None


def rewrite_segments(
    parts: Iterable[Segment], writer: SegmentWriter, watch: Callable[[int], object]
) -> list[Segment]:
    """Write the live documents of segments into new ones; `watch` is given their number so far.

    Damaged records are not copied: an error names the file.
    """
    old = tuple(parts)
    for part in old:
        check_records(writer.home, part)
    before = len(writer.segments)
    with _clear_errors(writer.home), contextlib.closing(writer):
        with contextlib.closing(open_segments(writer.home, old)) as records:
            for count, record in enumerate(records.sources(), 1):
                writer.add(record)
                if count % _COMMIT_AFTER == 0:
                    writer.commit()
                    watch(count)
        writer.finish(old if len(writer.segments) == before else ())
    return writer.segments[before:]


# ---------------------------------------------------------------- making a generation


@contextlib.contextmanager
def write_lock(folder: Path, *, is_new: bool = False) -> Iterator[None]:
    """Lock a library against other writers, and finish what a killed one left undone.

    A library that contains links is refused: what they lead to would be changed.
    With `is_new`, the folder is removed after a failure if there is only the lock in it.
    """
    refuse_links(folder)
    is_locked = False
    try:
        with locked(folder / ".lock", f"{folder} is being written"):
            is_locked = True
            if is_new:  # the lock shows what the folder is, and is there before all else
                sync_folder(folder)
            finish_switch(folder)
            yield
    except BaseException:
        if is_new and is_locked and [path.name for path in folder.iterdir()] == [".lock"]:
            with contextlib.suppress(OSError):
                (folder / ".lock").unlink()
                folder.rmdir()
        raise


def ingest_step(
    name: str,
    paths: Iterable[str | Path],
    limits: Limits,
    root: Path,
    selection: Selection | None = None,
) -> dict[str, Any]:
    """Return the description of a step that reads papers: paths as given, and relative to where.

    `root` is the folder below which the papers are named.
    """
    given, here = [str(path) for path in paths], str(Path.cwd())
    step = {"step": name, "paths": given, "from": here, "root": str(root), "limits": asdict(limits)}
    chosen = selection.to_json() if selection is not None else {}
    return step | ({"selection": chosen} if chosen else {})


def resolve_paths(step: dict[str, Any]) -> list[str]:
    """Return the absolute paths of the papers of a step."""
    return [real_path(joined_path(step["from"], path)) for path in step["paths"]]


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
    remove_folder(generation)
    make_folders(generation)
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
        there = [origin for _, origin in library.records.origins()]
        if sources is not None and [one.origin for one in sources] != there:
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
        step = load_json(generation / "settings.json")["steps"][-1]
        files = describe_files(resolve_paths(step))
        remove_folder(generation)
        remove_leftovers(folder)
        for empty in (generation.parent, folder / "segments"):
            with contextlib.suppress(OSError):  # it is not empty, or does not exist
                empty.rmdir()
        result = (
            f"{folder} is unchanged." if read_state(folder) else f"No library was made at {folder}."
        )
        raise EqembError(f"{explain_no_articles(report, files)} {result}")


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


def write_report(
    generation: Path, limits: Limits, before: Path | None = None, **more: Any
) -> dict[str, Any]:
    """Write report.json and report.html of a generation; `more` is added to the report.

    `before` is the generation before, whose summaries of changed segments are taken over.
    """
    with OpenLibrary(generation.parents[1], generation) as library:
        summaries = _summaries(library, before)
        settings = {"format": RECORDS_FORMAT, "version": __version__, "limits": asdict(limits)}
        settings |= {"sha256": library.records.sha256()} | more
        if left := left_out(generation) or (left_out(before) if before is not None else {}):
            keep_left_out(generation, None, left)
            settings["left_out"] = left
        report = merge_summaries(summaries, settings, library.records.groups)
        slowest = library.records.slowest(10)
    write_atomically(generation / "report.json", to_json(report))
    write_atomically(generation / "report.html", render_report(report, slowest))
    return report


def _summaries(library: OpenLibrary, before: Path | None) -> Iterator[dict[str, Any]]:
    """Yield the summary of each segment; one without removed documents has it already.

    The others are computed once and kept in the generation, by segment and removed documents.
    """
    for part, records in zip(library.manifest.segments, library.records.parts, strict=True):
        path = segment_folder(library.home, part.name) / "summary.json"
        if part.removed:
            removed = hashlib.sha256(repr(part.removed).encode()).hexdigest()[:12]
            path = library.generation / "summaries" / f"{part.name}-{removed}.json"
            path.parent.mkdir(exist_ok=True)
            old = None if before is None else before / "summaries" / path.name
            if old is not None and old.exists() and not path.exists():
                link_file(old, path)
            if not path.exists():
                write_atomically(path, json.dumps(summarise(records)))
        summary = load_json(path)
        yield summary if "formats" in summary else summarise(records)  # written before formats
