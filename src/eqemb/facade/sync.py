"""Keep a library in step with the files that it was made from: `update_library`.

Everything that was added, changed or removed on disk becomes one new generation, so that the
library has either all of it or nothing. What the library was read from is in `sources.json`.
"""

import contextlib
import dataclasses
import itertools
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eqemb.arxiv.selection import Selection, Selector
from eqemb.errors import UsageError
from eqemb.facade.build import (
    finish_generation,
    ignore_progress,
    paper_progress,
    segment_progress,
    switch_generation,
)
from eqemb.facade.merging import merge_small
from eqemb.facade.model import Watch
from eqemb.facade.update import Change, keep_model, without
from eqemb.index.build import indexer_of
from eqemb.library.comparison import DAMAGED, TRANSIENT, Comparison, SourcePlace, StoredSource
from eqemb.library.engines import LOCAL, EngineChoice
from eqemb.library.executor import Reading, WorkerLimits
from eqemb.library.generations import OpenLibrary, remove_leftovers, require_library
from eqemb.library.ingest import (
    Ingest,
    Paths,
    begin_generation,
    ingest_step,
    path_list,
    worker_count,
    write_lock,
    write_run,
)
from eqemb.library.manifest import Manifest, Segment
from eqemb.library.papers import keep_left_out, recorded_selection
from eqemb.library.report import counted
from eqemb.library.segments import SegmentWriter, open_segments, update_near_pairs
from eqemb.library.source_record import SourceRecord
from eqemb.sources import Found, Limits, discover, resolve_root
from eqemb.sources.files import (
    exists,
    is_empty,
    is_file,
    is_folder,
    joined_path,
    paper_folders,
    shown_path,
)
from eqemb.sources.looks import files_of
from eqemb.sources.names import encodable
from eqemb.sources.roots import path_below
from eqemb.storage.removal import remove_folder


@dataclass
class Update:
    """The result of `update_library`: names of articles, unless said otherwise."""

    added: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    """Those whose files are gone."""
    unreadable: list[str] = field(default_factory=list)
    """Removed because their files are no longer papers, with the cause: "a: empty"."""
    skipped: list[str] = field(default_factory=list)
    """New or changed sources that are not articles, with the cause: "a.pdf: pdf only"."""
    kept: list[str] = field(default_factory=list)
    """Left as they are, because their files cannot be opened at the moment."""
    damaged: list[str] = field(default_factory=list)
    """Left as they are, because their archives are damaged at the moment."""
    pending: list[str] = field(default_factory=list)
    """Paths of sources left as they are, because they are being written at the moment."""
    unchanged: int = 0
    """Number of sources that have not changed."""
    compared: int = 0
    """Number of sources that were read because the library did not record their content."""
    forgotten: int = 0
    """Number of sources that were no articles and are gone."""
    left_out: dict[str, int] = field(default_factory=dict)
    """Number of papers that are new and were left out, by cause."""
    root: str = ""
    """The new root of the library, if it has changed."""
    lacks: dict[str, int] | None = None
    """Words and units of the new papers that the model does not have; None without a model."""

    @property
    def is_empty(self) -> bool:
        """Whether the library stays as it is."""
        return not (
            self.added or self.replaced or self.removed or self.unreadable or self.skipped
        ) and not (self.root or self.forgotten)


def update_library(  # noqa: PLR0913
    folder: str | Path,
    paths: Paths = (),
    *,
    root: str | Path | None = None,
    jobs: int | None = None,
    engine: str = LOCAL,
    dry_run: bool = False,
    allow_empty: bool = False,
    settle: float = 0.0,
    watch: Watch | None = None,
) -> Update:
    """Look at the sources of a library again: add new ones, replace changed ones, remove the rest.

    A source has changed if its content has. The library's model stays unchanged.

    Args:
        folder: The library.
        paths: Look only at these files and folders, which may be new; by default at all that were
            given to build the library, or added to it.
        root: The folder that the papers are in now, if the library's root was moved.
        jobs: Number of worker processes; by default one per processor.
        engine: Where papers are read: "local", "ray" or "ray://HOST:PORT".
        dry_run: Say what has changed, but read nothing and leave the library as it is.
        allow_empty: Also remove the articles of a folder that is missing or empty. By default this
            is refused: its disk may not be connected.
        settle: Leave papers as they are whose files were changed in the last seconds.
        watch: Called with the stage and its state, for progress displays.

    Returns:
        What was added, replaced, removed and skipped.
    """
    folder, given = Path(folder), path_list(paths)
    chosen, watch = EngineChoice(engine, jobs), watch or ignore_progress
    require_library(folder)
    lock = contextlib.nullcontext() if dry_run else write_lock(folder)
    with lock, OpenLibrary.open(folder) as old:
        top = _top(old, root)
        places = places_of(old, given, top)
        if not allow_empty:
            _check_present(old, places)
        record, limits = SourceRecord.load(old.generation), Limits(**old.report["limits"])
        found = Comparison(old.records, record, places, settle)
        watch("looking", "for changes")
        left: list[Selector] = []
        tasks = found.changed(_discover(places, limits, found, record, left))
        if not allow_empty:
            tasks = _refusing(tasks, found, folder)
        if dry_run:
            update = _preview(tasks, found)
        else:
            step = ingest_step("update", given, limits, top)
            update = _apply(old, step, found, tasks, record, left, chosen, watch)
    update.unchanged, update.left_out = found.count_unchanged(), _left_out(left)["causes"]
    update.compared = found.compared
    update.pending = sorted(found.pending)
    update.damaged = sorted({*update.damaged, *found.in_damaged()})
    return update


def _preview(tasks: Iterator[Found], found: Comparison) -> Update:
    """Return what an update would do, as far as that is known without reading."""
    update = Update()
    for task in tasks:
        if task.cause:
            update.skipped.append(f"{task.origin}: {task.cause}")
        elif not found.articles_from(task.origin) and task.name not in found.by_name:
            update.added.append(task.name)
        elif found.is_recorded(task.origin):
            update.replaced.append(task.name)
    gone = [source.name for source in found.gone() if source.is_article]
    update.removed = [name for name in gone if name not in update.replaced]
    return update


def _apply(
    old: OpenLibrary,
    step: dict[str, Any],
    found: Comparison,
    tasks: Iterator[Found],
    record: SourceRecord,
    left: list[Selector],
    engine: EngineChoice,
    watch: Watch,
) -> Update:
    """Read what has changed, and make the next generation of the library if it differs."""
    started, jobs = time.time(), worker_count(engine.jobs)
    limits = Limits(**step["limits"])
    moved = step["root"] if step["root"] != old.manifest.root else ""
    first = next(tasks, None)
    if first is None and not moved and not any(found.gone()):
        record.save(old.generation)
        keep_left_out(old.generation, old.generation, _left_out(left))
        return Update()
    if moved:
        step["moved"] = old.manifest.root
    # a library that is watched has one step for all its updates
    steps = old.steps if old.steps[-1:] == [step] else [*old.steps, step]
    generation = begin_generation(old.folder, steps, resume=False)
    indexer = indexer_of(old)
    writer = SegmentWriter(generation, indexer, announce=segment_progress(watch))
    reading = Reading(limits, WorkerLimits(), jobs, paper_folders(found.paths))
    ingest = Ingest(reading, engine, paper_progress(watch))
    try:
        ingest.run(itertools.chain([first] if first else [], tasks), writer, old.folder)
    except UsageError:
        _discard(generation, old.folder)
        raise
    change = _Merge(old, found, tuple(writer.segments))
    update = change.run()
    update.root = moved
    if update.is_empty or change.live == 0:
        _discard(generation, old.folder)
    if change.live == 0:
        raise UsageError(
            f"this would remove every article of {old.folder}: delete the folder instead"
        )
    found.note(change.gone, change.kept)
    if update.is_empty:
        record.save(old.generation)
        keep_left_out(old.generation, old.generation, _left_out(left))
        return update
    record.save(generation)
    keep_left_out(generation, old.generation, _left_out(left))
    manifest = dataclasses.replace(change.manifest(), root=step["root"])
    merge_small(generation, manifest, indexer, watch).save(generation)
    lacking = Change()
    about = keep_model(old, generation, change.new, lacking if change.new else None)
    update.lacks = lacking.lacks
    finish_generation(generation, limits, about, watch, old.generation)
    write_run(generation, started, jobs)
    old.close()  # an open library holds its generation
    switch_generation(old.folder, generation)
    return update


def _left_out(selectors: list[Selector]) -> dict[str, Any]:
    """Return which new papers were left out, once the sources were looked at."""
    causes = sum((one.causes for one in selectors), Counter[str]())
    papers = [paper for one in selectors for paper in one.papers]
    return {"causes": dict(sorted(causes.items())), "papers": papers}


def _discard(generation: Path, folder: Path) -> None:
    """Remove a generation that the library does not need."""
    remove_folder(generation)
    remove_leftovers(folder)


# ---------------------------------------------------------------- where the sources are


def _top(library: OpenLibrary, root: str | Path | None) -> Path:
    """Return the root of a library, which may be moved."""
    recorded = Path(library.manifest.root)
    if root is not None:
        return resolve_root(root)
    if not is_folder(recorded):
        raise UsageError(
            f"the root of {library.folder}, {shown_path(recorded)}, is missing:"
            " connect its disk, or name the folder that its papers are in now (--root)"
        )
    return recorded


def places_of(
    library: OpenLibrary, given: list[str | Path], top: Path | None = None
) -> list[SourcePlace]:
    """Return the files and folders to look at: those given, or all that the library was made of.

    `top` is the library's root, if it was moved.
    """
    top = top or _top(library, None)
    if given:
        for path in map(Path, given):
            if not exists(path) and not is_folder(path.parent):
                raise UsageError(
                    f"nothing to read at {shown_path(path)}: there is no such file or folder"
                )
        places = [_place(top, joined_path(Path.cwd(), path)) for path in given]
        known = _recorded_places(library, top)
        return [place._replace(selection=_selection_of(place, known)) for place in places]
    return _recorded_places(library, top)


def _recorded_places(library: OpenLibrary, top: Path) -> list[SourcePlace]:
    """Return the files and folders that the library was made of."""
    steps = [step for step in library.steps if step.get("paths")]
    if not steps:
        raise UsageError(
            f"{library.folder} does not record which papers it was made of: name their folders"
            " (eqemb update LIBRARY PATHS)"
        )
    moved = {step["moved"] for step in library.steps if "moved" in step} | {library.manifest.root}
    found: dict[SourcePlace, None] = {}
    for step in steps:
        root = Path(step["root"])
        is_moved = (step["root"] in moved and root != top) or not is_folder(root)
        for path in step["paths"]:
            place = joined_path(step["from"], path)
            if is_moved:
                place = top / _written_below(place, root)
            chosen = recorded_selection(step)
            found[_place(top if is_moved else root, place)._replace(selection=chosen)] = None
    return list(found)


def _selection_of(place: SourcePlace, known: list[SourcePlace]) -> Selection:
    """Return which papers of a place are read: as those of the last place that contains it."""
    around = [one for one in known if one.root == place.root and one.contains(place.below)]
    return around[-1].selection if around else Selection()


def _written_below(path: Path, root: Path) -> Path:
    """Return a path below a root; the path itself if it is elsewhere."""
    for form in (Path(os.path.normpath(path)), path.resolve()):
        if form.is_relative_to(root):
            return form.relative_to(root)
    return path


def _place(root: Path, path: Path) -> SourcePlace:
    if exists(path):
        return SourcePlace(root, path, encodable(path_below(path, root)))
    return SourcePlace(
        root, path, encodable(_written_below(path, root).as_posix().removeprefix("."))
    )


def _check_present(library: OpenLibrary, places: list[SourcePlace]) -> None:
    """Refuse a folder that is missing or empty before anything is read.

    A single file that is missing is taken as removed if its folder exists.
    """
    for place in places:
        if is_file(place.path) or (is_folder(place.path) and not is_empty(place.path)):
            continue
        inside = [origin for _, origin in library.records.origins() if place.contains(origin)]
        was_file = place.below in {origin.partition("!")[0] for origin in inside}
        if inside and not (was_file and is_folder(place.path.parent)):
            raise _emptied(place, len(inside), library.folder)


def _refusing(tasks: Iterator[Found], found: Comparison, folder: Path) -> Iterator[Found]:
    """Yield sources; at the end, refuse a place without any, such as an empty mount point."""
    yield from tasks
    for place, had in found.emptied():
        raise _emptied(place, had, folder)


def _emptied(place: SourcePlace, had: int, folder: Path) -> UsageError:
    return UsageError(
        f"{shown_path(place.path)} is missing or empty, so that {counted(had, 'source')} of"
        f" {folder} would be removed: connect its disk, or allow this with --allow-empty"
    )


def _discover(
    places: list[SourcePlace],
    limits: Limits,
    known: Comparison,
    record: SourceRecord,
    left: list[Selector],
) -> Iterator[Iterator[Found]]:
    """Yield the sources below each root, of each selection of papers; `left` gets the selectors."""

    def is_new(found: Found) -> bool:
        return any(map(record.looks.is_new, files_of(found)))

    for root, selection in dict.fromkeys((place.root, place.selection) for place in places):
        own = [place for place in places if (place.root, place.selection) == (root, selection)]
        paths = [place.path for place in own if exists(place.path)]
        found = discover(paths, limits, root=root, known=known, looks=record.looks)
        left.append(Selector(selection, root, is_new))
        yield left[-1].only(found)


# ---------------------------------------------------------------- what the library becomes


class _Merge:
    """What becomes of a library when sources were read again."""

    def __init__(self, old: OpenLibrary, found: Comparison, read: tuple[Segment, ...]) -> None:
        self._old, self._found, self._read = old, found, read
        self._first = len(old.manifest.segments)
        self._gone: dict[int, set[int]] = {}
        self._left = {origin: list(sources) for origin, sources in found.by_origin.items()}
        self.gone = list(found.gone())
        """Sources whose files are gone."""
        self.kept: list[str] = []
        """Origins that were read and not replaced."""
        self.live = 0
        """Number of articles that the library has afterwards."""

    def run(self) -> Update:
        """Decide about every source that was read, and say what has changed."""
        update, names = Update(), set[str]()
        replaced: list[str] = []
        records = open_segments(self._old.home, self._read)
        cut = {name for cause, name, *_ in records.problems() if cause == "truncated archive"}
        try:
            for number, part in enumerate(records.parts, self._first):
                rows = zip(part.statuses(), part.digests(), strict=True)
                for (key, name, origin, status, cause), (_, digest) in rows:
                    source = StoredSource(number, key, name, origin, status != "skipped", digest)
                    if not self._is_kept(source, DAMAGED if name in cut else cause, update):
                        replaced.append(origin)
                        self._add(source, cause, update)
                        names.add(name)
        finally:
            records.close()
        for origin in dict.fromkeys(replaced):
            if origin not in self._found.unchanged:
                self._drop(self._left.get(origin, ()))
        self._drop(self.gone)
        update.removed = [
            source.name for source in self.gone if source.is_article and source.name not in names
        ]
        update.forgotten = sum(not source.is_article for source in self.gone)
        self._count()
        return update

    def _is_kept(self, new: StoredSource, cause: str, update: Update) -> bool:
        """Keep what the library has, if the new record is the same or of a passing state."""
        left = self._left.get(new.origin, [])
        same = next((source for source in left if source.digest == new.digest), None)
        if same is not None:
            left.remove(same)
        elif self._found.is_damaged(new.origin) or self._found.changed_meanwhile(new.origin):
            self.kept.append(new.origin)
        elif cause == DAMAGED and self._found.articles_from(new.origin):
            self.kept.append(new.origin)
            update.damaged += self._found.articles_from(new.origin)
        elif cause in TRANSIENT and self._found.articles_from(new.origin):
            self.kept.append(new.origin)
            update.kept += self._found.articles_from(new.origin)
        else:
            return False
        self._drop([new])
        return True

    def _add(self, new: StoredSource, cause: str, update: Update) -> None:
        had = self._found.articles_from(new.origin)
        same_name = self._found.by_name.get(new.name)
        if new.is_article:
            (update.replaced if had or same_name else update.added).append(new.name)
            self._drop([same_name] if same_name else [])
        elif had:
            update.unreadable += [f"{name}: {cause}" for name in had]
        else:
            update.skipped.append(f"{new.origin}: {cause}")

    def _drop(self, sources: Iterable[StoredSource]) -> None:
        for source in sources:
            self._gone.setdefault(source.segment, set()).add(source.key)

    def _count(self) -> None:
        every = itertools.chain.from_iterable(self._found.by_origin.values())
        self.live = sum(
            source.is_article and source.key not in self._gone.get(source.segment, ())
            for source in every
        )
        records = open_segments(self._old.home, self.new)
        self.live += len(records.names())
        records.close()

    @property
    def _every(self) -> tuple[Segment, ...]:
        return without((*self._old.manifest.segments, *self._read), self._gone)

    @property
    def new(self) -> tuple[Segment, ...]:
        """The new segments, without the documents that were not needed."""
        return tuple(part for part in self._every[self._first :] if part.live)

    def manifest(self) -> Manifest:
        """Return the manifest of the library afterwards."""
        old, every = self._old.manifest, self._every
        near = update_near_pairs(self._old.home, old.near, every, self._first, self._gone)
        return dataclasses.replace(old.with_segments(every), near=near)
