"""Change a library: add papers and remove articles."""

import contextlib
import difflib
import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eqemb.errors import UsageError
from eqemb.facade.build import (
    INDEXING,
    TOGETHER,
    Watch,
    finish,
    lacking,
    report_papers,
    several,
    silent,
    switch_generation,
)
from eqemb.library.database import Record, Records
from eqemb.library.generations import OpenLibrary
from eqemb.library.ingest import (
    Backstops,
    Reader,
    begin,
    being_written,
    check_articles,
    checked_jobs,
    find_clusters,
    is_done,
    reading_step,
    records_written,
    resolved,
    write_run,
)
from eqemb.models import workspace
from eqemb.models.embeddings import own_model
from eqemb.sources import Found, Limits, discover
from eqemb.storage import atomic


@dataclass
class Change:
    """What adding or removing papers did."""

    articles: int = 0
    """Articles that came, or went."""
    skipped: int = 0
    """New sources that are no articles."""
    known: list[str] = field(default_factory=list)
    """Not read, since articles of these names are there."""
    replaced: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    """To be replaced, but what should replace them could not be read."""
    lacks: dict[str, int] | None = None
    """What the model does not have of the new papers, where there is a model."""
    finished: bool = False
    """It was done before: there was nothing to go on with."""


def add_papers(
    folder: str | Path,
    paths: str | Path | Iterable[str | Path],
    *,
    replace: bool = False,
    jobs: int | None = None,
    resume: bool = False,
    limits: Limits | None = None,
    watch: Watch | None = None,
) -> Change:
    """Read papers into a library that is there, after those it has; its model stays as it is.

    A paper whose name is there already is passed over or, with `replace`, takes the other's place.
    """
    started, folder, given = time.time(), Path(folder), several(paths)
    limits, jobs, watch = limits or Limits(), checked_jobs(jobs), watch or silent
    OpenLibrary.open(folder).close()
    tasks, change = discover(given, limits), Change()
    with being_written(folder), OpenLibrary.open(folder) as old:
        step = reading_step("add", given, limits) | {"replace": replace}
        if resume and replace and is_done(folder, [*old.steps[:-1], step]):
            return Change(finished=True)  # without `replace` all papers are known by now
        generation = begin(folder, [*old.steps, step], resume=resume)
        there = set() if replace else set(old.records.names())
        with records_written(generation / "read.sqlite") as records:
            reader = Reader(limits, Backstops(), jobs, report_papers(watch))
            done = reader.read(_unknown(tasks, there, change.known), records, folder)
        with contextlib.closing(Records(generation / "read.sqlite")) as new:
            if not new.names():
                change.skipped = new.count()
                if not change.known:
                    check_articles(_why_nothing(new), folder, generation)
                shutil.rmtree(generation, ignore_errors=True)
                return change
            merged = _Merged(old.records, new, change)
            _take(old, generation, merged, limits, watch, change=change)
        write_run(generation, started, jobs, paths=resolved(step), resumed_after=done)
        old.close()  # who has it open holds it
        switch_generation(folder, generation)
    return change


def remove_articles(
    folder: str | Path,
    names: Iterable[str],
    *,
    resume: bool = False,
    watch: Watch | None = None,
) -> Change:
    """Take articles out of a library; its model stays as it is."""
    started, folder, wanted = time.time(), Path(folder), list(dict.fromkeys(names))
    OpenLibrary.open(folder).close()
    with being_written(folder), OpenLibrary.open(folder) as old:
        step = {"step": "remove", "articles": wanted}
        if resume and is_done(folder, [*old.steps[:-1], step]):
            return Change(finished=True)
        _check_names(old, wanted)
        generation = begin(folder, [*old.steps, step], resume=resume)
        gone, left = set(wanted), old.records.names()
        change = Change(len([name for name in left if name in gone]))
        kept = (record for record in old.records.sources() if record.name not in gone)
        limits = Limits(**old.report["limits"])
        _take(old, generation, kept, limits, watch or silent)
        write_run(generation, started, 1)
        old.close()
        switch_generation(folder, generation)
    return change


def _unknown(tasks: Iterator[Found], there: set[str], known: list[str]) -> Iterator[Found]:
    """Sources that are not there yet; the names of others are noted."""
    for found in tasks:
        if found.name in there:
            known.append(found.name)
        else:
            yield found


def _check_names(library: OpenLibrary, wanted: list[str]) -> None:
    """Refuse names that are not there, and to leave nothing."""
    query = "SELECT name FROM sources ORDER BY id"
    every = list(dict.fromkeys(name for (name,) in library.records.rows(query)))
    for name in wanted:
        if name not in every:
            within = [other for other in every if name in other][:3]
            near = within or difflib.get_close_matches(name, every, n=3, cutoff=0.5)
            hint = f"did you mean {', '.join(near)}?" if near else "`eqemb show LIBRARY` lists them"
            raise UsageError(f"no article {name!r} in {library.folder}: {hint}")
    if not set(library.records.names()) - set(wanted):
        raise UsageError(
            f"that would leave no article in {library.folder}: delete the folder instead"
        )


def _why_nothing(records: Records) -> dict[str, Any]:
    """Of records without articles, what a report says of them."""
    query = "SELECT cause, COUNT(*) FROM sources GROUP BY cause ORDER BY COUNT(*) DESC, cause"
    return {"articles": 0, "skipped": {"causes": dict(records.rows(query))}}


class _Merged:
    """Old records, then new ones; of two with one name the new one, if it could be read."""

    def __init__(self, old: Records, new: Records, change: Change) -> None:
        self._old, self._new, self._change = old, new, change
        self._there = set(old.names())
        self._read = set(new.names())
        self._seen = set(new.rows("SELECT name, origin FROM sources"))

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


def _take(
    old: OpenLibrary,
    generation: Path,
    records: Iterable[Record],
    limits: Limits,
    watch: Watch,
    change: Change | None = None,
) -> None:
    """Fill a generation with these records, the model of the old one, and an index of both."""
    path = generation / "records.sqlite"
    for scrap in generation.glob("records.sqlite*"):  # of a try that was interrupted
        scrap.unlink()
    names = []
    with records_written(path) as written:
        for count, record in enumerate(records, 1):
            written.add(record)
            names.append(record.name)
            if count % TOGETHER == 0:
                written.commit()
                watch(INDEXING, f"{count:,} sources taken over")
        written.commit()
        find_clusters(written)
    about = old.report.get("model")
    model = own_model(old.generation)
    if model is not None and about is not None:
        copy_model(old.generation / "model", generation)
        with OpenLibrary(generation / "training", generation) as unfinished:
            corpus = workspace.corpus(unfinished)
        about = about | {"lacks": lacking(model, corpus)}
        if change is not None:
            new = frozenset(names) - (frozenset(old.records.names()) - frozenset(change.replaced))
            change.lacks = lacking(model, corpus, new)
    finish(generation, limits, about, watch)


def copy_model(model: Path, generation: Path) -> None:
    """Make the model at a place the model of a generation."""
    with atomic.new_folder(generation / "model", replace=True) as place:
        for file in model.iterdir():
            link(file, place / file.name)


def link(file: Path, place: Path) -> None:
    """Hard-link a file that is written once and never changed, or copy it."""
    try:
        place.hardlink_to(file)
    except OSError:
        shutil.copyfile(file, place)
