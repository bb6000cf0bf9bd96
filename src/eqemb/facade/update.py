"""Add papers to a library, and remove articles. The model stays; the index is computed again."""

import contextlib
import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from eqemb.checks import did_you_mean
from eqemb.errors import UsageError
from eqemb.facade.build import (
    finish_generation,
    ignore_progress,
    paper_progress,
    switch_generation,
)
from eqemb.facade.model import INDEXING, Watch, count_unknown
from eqemb.library.database import Records
from eqemb.library.executor import WorkerLimits
from eqemb.library.generations import OpenLibrary
from eqemb.library.ingest import (
    Ingest,
    Paths,
    begin_generation,
    ingest_step,
    is_complete,
    mark_near_duplicates,
    open_for_writing,
    path_list,
    require_articles,
    resolve_paths,
    worker_count,
    write_lock,
    write_run,
)
from eqemb.library.report import make_report
from eqemb.library.rows import Record
from eqemb.models import workspace
from eqemb.models.embeddings import own_model
from eqemb.sources import Found, Limits, discover
from eqemb.storage import atomic

_COMMIT_AFTER = 500  # records


@dataclass
class Change:
    """The result of adding or removing papers."""

    articles: int = 0
    """Number of articles added, or removed."""
    skipped: int = 0
    """Number of new sources that are not articles."""
    known: list[str] = field(default_factory=list)
    """Names that were not read because the library has articles of these names."""
    replaced: list[str] = field(default_factory=list)
    """Names of articles that were replaced."""
    kept: list[str] = field(default_factory=list)
    """Names of articles that were not replaced, because the new source could not be read."""
    lacks: dict[str, int] | None = None
    """Words and units of the new papers that the model does not have; None without a model."""
    finished: bool = False
    """The same change had been completed before, so that there was nothing to resume."""


def add_papers(
    folder: str | Path,
    paths: Paths,
    *,
    replace: bool = False,
    jobs: int | None = None,
    resume: bool = False,
    limits: Limits | None = None,
    watch: Watch | None = None,
) -> Change:
    """Add papers to an existing library; its model stays unchanged.

    Args:
        folder: The library.
        paths: One file or folder, or several.
        replace: Replace articles of the same names. By default, such papers are not read.
        jobs: Number of worker processes; by default one per processor.
        resume: Continue an interrupted `add_papers` with the same arguments.
        limits: Size limits of a paper.
        watch: Called with the stage and its state, for progress displays.

    Returns:
        What was added, replaced and skipped.
    """
    started, folder, given = time.time(), Path(folder), path_list(paths)
    limits, jobs, watch = limits or Limits(), worker_count(jobs), watch or ignore_progress
    OpenLibrary.open(folder).close()
    tasks, change = discover(given, limits), Change()
    with write_lock(folder), OpenLibrary.open(folder) as old:
        step = ingest_step("add", given, limits) | {"replace": replace}
        if resume and replace and is_complete(folder, [*old.steps[:-1], step]):
            return Change(finished=True)  # without `replace`, all papers are known by now
        generation = begin_generation(folder, [*old.steps, step], resume=resume)
        there = set() if replace else set(old.records.names())
        with open_for_writing(generation / "read.sqlite") as records:
            ingest = Ingest(limits, WorkerLimits(), jobs, paper_progress(watch))
            done = ingest.run(_skip_known(tasks, there, change.known), records, folder)
        with contextlib.closing(Records(generation / "read.sqlite")) as new:
            if not new.names():
                change.skipped = new.count()
                if not change.known:
                    require_articles(make_report(new, {}), folder, generation)
                shutil.rmtree(generation, ignore_errors=True)
                return change
            merged = _MergedRecords(old.records, new, change)
            _fill(old, generation, merged, limits, watch, change=change)
        write_run(generation, started, jobs, paths=resolve_paths(step), resumed_after=done)
        old.close()  # an open library holds its generation
        switch_generation(folder, generation)
    return change


def remove_articles(
    folder: str | Path,
    names: str | Iterable[str],
    *,
    resume: bool = False,
    watch: Watch | None = None,
) -> Change:
    """Remove articles from a library; its model stays unchanged.

    Args:
        folder: The library.
        names: One article name, or several.
        resume: Continue an interrupted `remove_articles` with the same names.
        watch: Called with the stage and its state, for progress displays.

    Returns:
        The number of removed articles, as `articles`.
    """
    started, folder = time.time(), Path(folder)
    wanted = [names] if isinstance(names, str) else list(dict.fromkeys(names))
    OpenLibrary.open(folder).close()
    with write_lock(folder), OpenLibrary.open(folder) as old:
        step = {"step": "remove", "articles": wanted}
        if resume and is_complete(folder, [*old.steps[:-1], step]):
            return Change(finished=True)
        _check_names(old, wanted)
        generation = begin_generation(folder, [*old.steps, step], resume=resume)
        gone, left = set(wanted), old.records.names()
        change = Change(len([name for name in left if name in gone]))
        kept = (record for record in old.records.sources() if record.name not in gone)
        limits = Limits(**old.report["limits"])
        _fill(old, generation, kept, limits, watch or ignore_progress)
        write_run(generation, started, 1)
        old.close()
        switch_generation(folder, generation)
    return change


def _skip_known(tasks: Iterator[Found], there: set[str], known: list[str]) -> Iterator[Found]:
    """Yield the sources whose names are new; append the names of others to `known`."""
    for found in tasks:
        if found.name in there:
            known.append(found.name)
        else:
            yield found


def _check_names(library: OpenLibrary, wanted: list[str]) -> None:
    """Raise an error for unknown names, and if no article would be left."""
    every = list(dict.fromkeys(name for name, _ in library.records.origins()))
    for name in wanted:
        if name not in every:
            within = [other for other in every if name in other]
            others = [] if within else every
            hint = did_you_mean(name, others, "`eqemb show LIBRARY` lists them", first=within)
            raise UsageError(f"no article {name!r} in {library.folder}: {hint}")
    if not set(library.records.names()) - set(wanted):
        raise UsageError(
            f"this would remove every article of {library.folder}: delete the folder instead"
        )


class _MergedRecords:
    """Old records, then new ones. A new article replaces an old one of the same name."""

    def __init__(self, old: Records, new: Records, change: Change) -> None:
        self._old, self._new, self._change = old, new, change
        self._there = set(old.names())
        self._read = set(new.names())
        self._seen = set(new.origins())

    def __iter__(self) -> Iterator[Record]:
        for record in self._old.sources():
            if record.name in self._read and record.status != "skipped":
                self._change.replaced.append(record.name)
            elif record.status != "skipped" or (
                record.name not in self._read and (record.name, record.origin) not in self._seen
            ):
                yield record
        for record in self._new.sources():
            if record.status != "skipped":
                self._change.articles += 1
            elif record.name in self._there:
                self._change.kept.append(record.name)
                continue
            else:
                self._change.skipped += 1
            yield record


def _fill(
    old: OpenLibrary,
    generation: Path,
    records: Iterable[Record],
    limits: Limits,
    watch: Watch,
    change: Change | None = None,
) -> None:
    """Fill a generation with records, the model of the old generation, and an index of both."""
    path = generation / "records.sqlite"
    for leftover in generation.glob("records.sqlite*"):  # of an interrupted attempt
        leftover.unlink()
    names = []
    with open_for_writing(path) as written:
        for count, record in enumerate(records, 1):
            written.add(record)
            names.append(record.name)
            if count % _COMMIT_AFTER == 0:
                written.commit()
                watch(INDEXING, f"{count:,} sources copied")
        written.commit()
        mark_near_duplicates(written)
    about = old.report.get("model")
    model = own_model(old.generation)
    if model is not None and about is not None:
        copy_model(old.generation / "model", generation)
        with OpenLibrary(generation / "training", generation) as unfinished:
            corpus = workspace.corpus(unfinished)
        about = about | {"lacks": count_unknown(model, corpus)}
        if change is not None:
            new = frozenset(names) - (frozenset(old.records.names()) - frozenset(change.replaced))
            change.lacks = count_unknown(model, corpus, new)
    finish_generation(generation, limits, about, watch)


def copy_model(model: Path, generation: Path) -> None:
    """Make the model in a folder the model of a generation."""
    with atomic.new_folder(generation / "model", replace=True) as place:
        atomic.link_files(model, place)
