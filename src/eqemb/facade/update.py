"""Change a library: add papers, remove articles, compact it.

An addition writes new segments; a removal lists documents as removed; neither touches the other
segments. The model stays until `retrain`.
"""

import dataclasses
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from eqemb.arxiv.selection import Selection, Selector
from eqemb.checks import did_you_mean
from eqemb.corpus.vocabulary import Rules
from eqemb.errors import UsageError, quoted
from eqemb.facade.build import (
    finish_generation,
    ignore_progress,
    paper_progress,
    segment_progress,
    switch_generation,
)
from eqemb.facade.merging import SegmentMerger, merge_small
from eqemb.facade.model import Watch, count_unknown
from eqemb.index.approximate_build import approximate_needed
from eqemb.index.build import INDEXER, indexer_of, segments_to_index
from eqemb.index.segments import has_index, open_index
from eqemb.index.stemming import stem
from eqemb.index.text_index import TextIndex
from eqemb.index.vectors import VectorSpace
from eqemb.library.article_names import resolve_article
from eqemb.library.database import LibraryRecords
from eqemb.library.engines import LOCAL, EngineChoice
from eqemb.library.executor import Reading, WorkerLimits
from eqemb.library.generations import OpenLibrary, remove_leftovers, require_library
from eqemb.library.ingest import (
    Ingest,
    Paths,
    begin_generation,
    ingest_step,
    is_complete,
    path_list,
    require_articles,
    resolve_paths,
    worker_count,
    write_lock,
    write_report,
    write_run,
)
from eqemb.library.manifest import Manifest, Segment
from eqemb.library.merge_rules import segments_to_compact
from eqemb.library.papers import keep_left_out
from eqemb.library.segments import SegmentWriter, open_segments, update_near_pairs
from eqemb.library.source_record import SourceRecord
from eqemb.models import workspace
from eqemb.models.embeddings import Embeddings, own_model
from eqemb.sources import Found, Limits, discover, is_better_form, resolve_root
from eqemb.sources.files import is_folder, paper_folders
from eqemb.storage import atomic
from eqemb.storage.removal import remove_folder


@dataclass
class Change:
    """The result of adding or removing papers."""

    articles: int = 0
    """Number of articles added, or removed."""
    names: list[str] = field(default_factory=list)
    """Their names."""
    skipped: int = 0
    """Number of new sources that are not articles."""
    causes: list[str] = field(default_factory=list)
    """Which they are, and why: "a.tex: empty"."""
    known: list[str] = field(default_factory=list)
    """Names that were not read because the library has articles of these names."""
    replaced: list[str] = field(default_factory=list)
    """Names of articles that were replaced."""
    left_out: dict[str, int] = field(default_factory=dict)
    """Number of papers that were left out, by cause."""
    kept: list[str] = field(default_factory=list)
    """Names of articles that were not replaced, because the new source could not be read."""
    lacks: dict[str, int] | None = None
    """Words and units of the new papers that the model does not have; None without a model."""
    root: str = ""
    """The new root of the library, if its old one no longer exists."""
    finished: bool = False
    """The same change had been completed before, so that there was nothing to resume."""


# ---------------------------------------------------------------- add


def add_papers(  # noqa: PLR0913
    folder: str | Path,
    paths: Paths,
    *,
    root: str | Path | None = None,
    replace: bool = False,
    jobs: int | None = None,
    engine: str = LOCAL,
    resume: bool = False,
    limits: Limits | None = None,
    watch: Watch | None = None,
    selection: Selection | None = None,
) -> Change:
    """Add papers to an existing library; its model stays unchanged.

    Args:
        folder: The library.
        paths: One file or folder, or several.
        root: The folder below which these papers are named, if it is not the library's root. It
            becomes the library's root if that no longer exists.
        replace: Replace articles of the same names. By default, such papers are not read.
        jobs: Number of worker processes; by default one per processor.
        engine: Where papers are read: "local", "ray" or "ray://HOST:PORT".
        resume: Continue an interrupted `add_papers` with the same arguments.
        limits: Size limits of a paper.
        watch: Called with the stage and its state, for progress displays.
        selection: Which of the papers to read, by what arXiv says about them.

    Returns:
        What was added, replaced and skipped.
    """
    started, folder, given = time.time(), Path(folder), path_list(paths)
    chosen = EngineChoice(engine, jobs)
    limits, jobs, watch = limits or Limits(), worker_count(jobs), watch or ignore_progress
    change = Change()
    require_library(folder)
    with write_lock(folder), OpenLibrary.open(folder) as old:
        recorded = Path(old.manifest.root)
        if root is None and not is_folder(recorded):
            raise UsageError(
                f"the root of {folder}, {recorded}, no longer exists: name the folder that its"
                " papers are in now (--root)"
            )
        top = recorded if root is None else resolve_root(root)
        selector = Selector(selection, top)
        tasks = selector.only(discover(given, limits, root=top, known=old.records))
        step = ingest_step("add", given, limits, top, selection) | {"replace": replace}
        if resume and replace and is_complete(folder, [*old.steps[:-1], step]):
            return Change(finished=True)  # without `replace`, all papers are known by now
        generation = begin_generation(folder, [*old.steps, step], resume=resume)
        if not replace:
            tasks = _skip_known(tasks, old.records, change.known)
        record = SourceRecord.load(old.generation)
        indexer = indexer_of(old)
        writer = SegmentWriter(generation, indexer, announce=segment_progress(watch))
        reading = Reading(limits, WorkerLimits(), jobs, paper_folders(given))
        ingest = Ingest(reading, chosen, paper_progress(watch))
        done = ingest.run(record.note(tasks), writer, folder)
        keep_left_out(generation, None, selector.to_json())
        change.left_out = dict(selector.causes)
        new = tuple(writer.segments)
        if not _has_articles(generation, new):
            _give_up(generation, limits, new, change)
            return change
        keep_left_out(generation, old.generation, selector.to_json())
        manifest = _with_added(old, new, change)
        if not is_folder(recorded):  # the papers have moved
            change.root = str(top)
            manifest = dataclasses.replace(manifest, root=change.root)
        manifest = merge_small(generation, manifest, indexer, watch)
        manifest.save(generation)
        record.forget(done)
        record.save(generation)
        about = keep_model(old, generation, new, change)
        finish_generation(generation, limits, about, watch, old.generation)
        write_run(generation, started, jobs, paths=resolve_paths(step), resumed_after=len(done))
        old.close()  # an open library holds its generation
        switch_generation(folder, generation)
    return change


def _skip_known(
    tasks: Iterator[Found], records: LibraryRecords, known: list[str]
) -> Iterator[Found]:
    """Yield the sources whose names are new; append the names of others to `known`.

    A better form of a document has the name of the one that the library has, and replaces it.
    """
    for found in tasks:
        has_name = records.has_article(found.name)
        if has_name and not is_better_form(found.origin, records.origin_of(found.name)):
            known.append(found.name)
        else:
            yield found


def _has_articles(generation: Path, new: tuple[Segment, ...]) -> bool:
    records = open_segments(generation.parents[1], new)
    try:
        return bool(records.names())
    finally:
        records.close()


def _give_up(generation: Path, limits: Limits, new: tuple[Segment, ...], change: Change) -> None:
    """Leave the library unchanged: nothing new was read."""
    change.skipped = sum(part.documents for part in new)
    if not change.known:
        Manifest(new, "").save(generation)
        require_articles(write_report(generation, limits), generation.parents[1], generation)
    remove_folder(generation)
    remove_leftovers(generation.parents[1])


def _with_added(old: OpenLibrary, new: tuple[Segment, ...], change: Change) -> Manifest:
    """Return the manifest with new segments.

    A new article replaces an old one of the same name, and a source of the same origin that was no
    article. A new source that is no article replaces no article.
    """
    gone: dict[int, set[int]] = {}
    first = len(old.manifest.segments)
    records = open_segments(old.home, new)
    try:
        for number, part in enumerate(records.parts, first):
            for key, name, origin, status, cause in part.statuses():
                there = list(old.records.sources_from(origin))
                articles = [found[2] for found in there if found[3] != "skipped"]
                replaced = [found[:2] for found in there if found[3] == "skipped"]
                if status == "skipped" and articles:
                    change.kept += articles
                    replaced = [(number, key)]
                elif status == "skipped":
                    change.skipped += 1
                    change.causes.append(f"{origin}: {cause}")
                else:
                    change.articles += 1
                    change.names.append(name)
                    same = [found[:2] for found in old.records.sources_named(name)]
                    change.replaced += [name] * bool(same)
                    replaced += same
                for segment, source in replaced:
                    gone.setdefault(segment, set()).add(source)
    finally:
        records.close()
    every = without((*old.manifest.segments, *new), gone)
    near = update_near_pairs(old.home, old.manifest.near, every, first, gone)
    return dataclasses.replace(old.manifest.with_segments(every), near=near)


def without(segments: tuple[Segment, ...], gone: dict[int, set[int]]) -> tuple[Segment, ...]:
    """Return segments with more documents removed; `gone` has them by the place of the segment."""
    return tuple(
        dataclasses.replace(part, removed=tuple(sorted({*part.removed, *gone.get(place, ())})))
        for place, part in enumerate(segments)
    )


def keep_model(
    old: OpenLibrary, generation: Path, new: tuple[Segment, ...] = (), change: Change | None = None
) -> dict[str, Any] | None:
    """Keep the model of the old generation; return its entry in the report.

    What it lacks of new papers is counted for each addition.
    """
    about: dict[str, Any] | None = old.report.get("model")
    model = own_model(old.generation)
    if model is None or about is None:
        return about
    copy_model(old.generation / "model", generation)
    if change is not None:
        change.lacks = _count_lacks(model, old, generation, new)
        lacks = {key: about["lacks"].get(key, 0) + n for key, n in change.lacks.items()}
        about = about | {"lacks": lacks}
    return about


def _count_lacks(
    model: Embeddings, old: OpenLibrary, generation: Path, new: tuple[Segment, ...]
) -> dict[str, int]:
    """Count the words and units of new papers that the model does not have.

    Words that a model leaves out because they are too frequent are not counted. They are told by
    the library before: a twentieth of its equations have them nearby.
    """
    added = Manifest(new, old.manifest.root)
    choice = workspace.CorpusChoice(rules=Rules(min_count=2, top=0))
    with OpenLibrary(generation / "training", generation, manifest=added) as part:
        corpus = workspace.corpus(part, choice)
    segments = open_index(old)
    text, most = TextIndex(segments), segments.live_count / 20
    known = set(model.keys["words"])
    unknown = (word for word in corpus.words if word not in known)
    frequent = {word for word in unknown if text.count(stem(word)) > most}
    return count_unknown(model, corpus, frequent)


def copy_model(model: Path, generation: Path) -> None:
    """Make the model in a folder the model of a generation."""
    with atomic.new_folder(generation / "model", replace=True) as place:
        atomic.link_files(model, place)


# ---------------------------------------------------------------- remove


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
        names: One article name, or several; the last parts of a name are enough where they are
            unique.
        resume: Continue an interrupted `remove_articles` with the same names.
        watch: Called with the stage and its state, for progress displays.

    Returns:
        The number of removed articles, as `articles`.
    """
    started, folder = time.time(), Path(folder)
    given = [names] if isinstance(names, str) else list(names)
    if not given:
        raise UsageError("no articles to remove: give their names")
    require_library(folder)
    with write_lock(folder), OpenLibrary.open(folder) as old:
        if resume and _was_removed(old, given) and is_complete(folder, old.steps):
            return Change(finished=True)
        wanted = list(dict.fromkeys(resolve_article(old.records, name) or name for name in given))
        step = {"step": "remove", "articles": wanted}
        sources = _find_names(old, wanted)
        generation = begin_generation(folder, [*old.steps, step], resume=resume)
        gone: dict[int, set[int]] = {}
        for segment, key, _ in sources:
            gone.setdefault(segment, set()).add(key)
        every = without(old.manifest.segments, gone)
        near = update_near_pairs(old.home, old.manifest.near, every, len(every), gone)
        dataclasses.replace(old.manifest.with_segments(every), near=near).save(generation)
        about = keep_model(old, generation)
        limits = Limits(**old.report["limits"])
        finish_generation(generation, limits, about, watch or ignore_progress, old.generation)
        write_run(generation, started, 1)
        old.close()
        switch_generation(folder, generation)
    return Change(sum(status != "skipped" for _, _, status in sources), wanted)


def _was_removed(library: OpenLibrary, given: list[str]) -> bool:
    """Return whether the last change removed these articles, given by whole or by bare names."""
    step = library.steps[-1]
    removed = [f"/{name}" for name in step.get("articles", ())]
    return step["step"] == "remove" and all(
        any(name.endswith(f"/{end}") for name in removed) for end in given
    )


def _find_names(library: OpenLibrary, wanted: list[str]) -> list[tuple[int, int, str]]:
    """Return segment, id and status of sources; refuse unknown names, and to remove everything."""
    found: list[tuple[int, int, str]] = []
    for name in wanted:
        named = list(library.records.sources_named(name))
        if not named:
            every = list(dict.fromkeys(name for name, _ in library.records.origins()))
            within = [other for other in every if name in other]
            others = [] if within else every
            hint = did_you_mean(name, others, "`eqemb show LIBRARY` lists them", first=within)
            raise UsageError(f"no article {quoted(name)} in {library.folder}: {hint}")
        found += named
    articles = sum(status != "skipped" for _, _, status in found)
    if articles == library.report["articles"]:
        raise UsageError(
            f"this would remove every article of {library.folder}: delete the folder instead"
        )
    return found


# ---------------------------------------------------------------- compact


class Compaction(NamedTuple):
    """The result of compacting a library."""

    before: int
    """The number of segments before."""
    after: int
    removed: int
    """The number of removed documents that are no longer on disk."""


def compact_library(
    folder: str | Path, *, resume: bool = False, watch: Watch | None = None
) -> Compaction:
    """Merge small segments, and drop removed documents from the disk; answers stay the same.

    Segments that another version of eqemb indexed are indexed again. A library that an older
    version made gets checksums.

    Args:
        folder: The library.
        resume: Continue an interrupted `compact_library`.
        watch: Called with the stage and its state, for progress displays.

    Returns:
        What was done.
    """
    started, folder, watch = time.time(), Path(folder), watch or ignore_progress
    require_library(folder)
    with write_lock(folder), OpenLibrary.open(folder) as old:
        before = old.manifest.segments
        indexer = INDEXER if has_index(old) else None
        stale = [] if indexer is None else segments_to_index(old)
        is_compact = not stale and not list(segments_to_compact(before))
        if is_compact and old.has_checksums and not _lacks_approximate(old):
            return Compaction(len(before), len(before), 0)
        generation = begin_generation(folder, [*old.steps, {"step": "compact"}], resume=resume)
        merger = SegmentMerger(generation, indexer, watch)
        manifest = merger.rewrite(stale, old.manifest)
        manifest = merger.compact(manifest)
        manifest.save(generation)
        about = keep_model(old, generation)
        limits = Limits(**old.report["limits"])
        finish_generation(generation, limits, about, watch, old.generation)
        write_run(generation, started, 1)
        old.close()
        switch_generation(folder, generation)
    removed = sum(len(part.removed) for part in before)
    return Compaction(len(before), len(manifest.segments), removed)


def _lacks_approximate(library: OpenLibrary) -> bool:
    """Whether a large library lacks an approximate index that can be built here."""
    name = library.manifest.vectors
    if not name or not has_index(library):
        return False
    space = VectorSpace(open_index(library), library.home / "vectors" / name)
    return bool(approximate_needed(space))
