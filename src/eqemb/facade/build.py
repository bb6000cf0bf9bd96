"""Build a library: read papers into segments, train the model, compute vectors.

Every change of a library makes a new generation, which becomes current by an atomic write of
library.json. After a kill at any moment the library is the old one or the new one, and `resume`
continues the work.

    settings.json   the steps that made the library, ending with this change
    papers.jsonl    authors and dates of papers from arXiv, if known
    left_out.json   how many papers were left out by the choice of categories and the like
    sources.json    the files that the papers were read from, and their digests
    manifest.json   the segments of the library
    model/          the library's own model: EqEmb-H with default settings, trained on all papers
    training/       corpus, split and checkpoint, while the model is trained
    read/, merged/  the segment that is being written
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from eqemb.arxiv.selection import Selection, Selector
from eqemb.errors import UsageError
from eqemb.facade.map_update import carry_map
from eqemb.facade.merging import forget_origins, merge_new, merged_parts
from eqemb.facade.model import INDEXING, READING, ModelPlan, Watch
from eqemb.index.approximate_build import update_approximate
from eqemb.index.build import INDEXER, build_vectors
from eqemb.index.segments import has_index, open_index
from eqemb.index.vectors import VectorSpace
from eqemb.library.engines import LOCAL, EngineChoice
from eqemb.library.executor import Reading, WorkerLimits
from eqemb.library.generations import OpenLibrary, make_folder, read_state, switch
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
from eqemb.library.manifest import Manifest
from eqemb.library.papers import keep_left_out, write_papers
from eqemb.library.progress import Progress
from eqemb.library.segments import Indexer, SegmentWriter, remove_unlisted, update_near_pairs
from eqemb.library.source_record import SourceRecord, keep_source_record
from eqemb.models.embeddings import own_model
from eqemb.sources import Found, Limits, common_root, discover, resolve_root
from eqemb.sources.files import paper_folders
from eqemb.storage.removal import hide_and_remove


def read_library(  # noqa: PLR0913
    paths: Paths,
    folder: str | Path,
    *,
    root: str | Path | None = None,
    jobs: int | None = None,
    engine: str = LOCAL,
    resume: bool = False,
    limits: Limits | None = None,
    worker_limits: WorkerLimits | None = None,
    progress: Callable[[Progress], None] | None = None,
    index: bool = False,
    selection: Selection | None = None,
) -> None:
    """Read papers into the library at `folder`; with `index`, also compute an index.

    Names of articles are relative to `root`, by default the folder that the paths share. `resume`
    continues an interrupted run on the same papers. Papers that `selection` does not choose are
    left out.
    """
    started, folder, given = time.time(), Path(folder), path_list(paths)
    chosen = EngineChoice(engine, jobs)
    limits, jobs = limits or Limits(), worker_count(jobs)
    top = common_root(given) if root is None else resolve_root(root)
    record = SourceRecord()
    selector = Selector(selection, top)
    found = selector.only(discover(given, limits, root=top, looks=record.looks))
    with write_lock(folder, is_new=make_folder(folder)):
        step = ingest_step("read", given, limits, top, selection) | {"index": index}
        if resume and is_complete(folder, [step], _sources(given, limits, top, selection)):
            return
        generation = begin_generation(folder, [step], resume=resume)
        reading = Reading(limits, worker_limits or WorkerLimits(), jobs, paper_folders(given))
        ingest = Ingest(reading, chosen, progress)
        writer = SegmentWriter(generation, INDEXER if index else None)
        done = ingest.run(record.note(found), writer, folder)
        keep_left_out(generation, None, selector.to_json())
        record.forget(done)
        record.save(generation)
        save_manifest(generation, writer, top, INDEXER if index else None, ignore_progress)
        require_articles(write_report(generation, limits), folder, generation)
        write_run(generation, started, jobs, paths=resolve_paths(step), resumed_after=len(done))
        switch_generation(folder, generation)


def build_library(  # noqa: PLR0913
    paths: Paths,
    folder: str | Path,
    *,
    model: bool | Mapping[str, Any] = True,
    base: str | Path | None = None,
    root: str | Path | None = None,
    jobs: int | None = None,
    engine: str = LOCAL,
    resume: bool = False,
    limits: Limits | None = None,
    watch: Watch | None = None,
    selection: Selection | None = None,
) -> None:
    """Read papers into the library at `folder`, train its model and compute its index.

    Names of articles are relative to `root`, by default the folder that the paths share. `model`
    may hold settings of `EqEmbH`; if it is False, only words and structure are searched. `base` is
    a library or a model folder, whose word vectors are used unchanged. `resume` continues an
    interrupted build at any stage; finished stages are not repeated. Papers that `selection` does
    not choose are left out.
    """
    started, folder, given = time.time(), Path(folder), path_list(paths)
    chosen = EngineChoice(engine, jobs)
    limits, jobs = limits or Limits(), worker_count(jobs)
    if base is not None and model is False:
        raise UsageError("a base provides word vectors for a model: leave out base or model=False")
    plan = None if model is False else ModelPlan.checked(model, base)
    top = common_root(given) if root is None else resolve_root(root)
    record = SourceRecord()
    selector = Selector(selection, top)
    found = selector.only(discover(given, limits, root=top, looks=record.looks))
    with write_lock(folder, is_new=make_folder(folder)):
        step = ingest_step("build", given, limits, top, selection)
        step["model"] = plan.to_json() if plan else None
        if resume and is_complete(folder, [step], _sources(given, limits, top, selection)):
            return
        generation = begin_generation(folder, [step], resume=resume)
        reading = Reading(limits, WorkerLimits(), jobs, paper_folders(given))
        ingest = Ingest(reading, chosen, paper_progress(watch))
        writer = SegmentWriter(generation, INDEXER, announce=segment_progress(watch))
        done = ingest.run(record.note(found), writer, folder)
        keep_left_out(generation, None, selector.to_json())
        record.forget(done)
        record.save(generation)
        save_manifest(generation, writer, top, INDEXER, watch or ignore_progress)
        with OpenLibrary(folder, generation) as library:
            is_empty = not library.records.names()
        if is_empty:
            require_articles(write_report(generation, limits), folder, generation)
        summary = None
        if plan is not None:
            summary = plan.train(generation, jobs, watch or ignore_progress)
        finish_generation(generation, limits, summary, watch or ignore_progress)
        write_run(generation, started, jobs, paths=resolve_paths(step), resumed_after=len(done))
        switch_generation(folder, generation)


def _sources(
    given: list[str | Path], limits: Limits, top: Path, selection: Selection | None
) -> Iterator[Found]:
    """Yield the sources that are to be read, without noting them."""
    yield from Selector(selection, top).only(discover(given, limits, root=top))


def save_manifest(
    generation: Path, writer: SegmentWriter, root: Path, indexer: Indexer | None, watch: Watch
) -> None:
    """Write the manifest of a new library: the segments just written, merged if they are many."""
    manifest = Manifest(tuple(writer.segments), str(root))
    manifest = merge_new(generation, manifest, indexer, watch)
    near = update_near_pairs(writer.home, (), manifest.segments, 0, {})
    replace(manifest, near=near).save(generation)


def ignore_progress(_stage: str, _state: str) -> None:
    """Do nothing: the callback where none is given."""


def paper_progress(watch: Watch | None) -> Callable[[Progress], None] | None:
    """Return an ingest callback that passes progress on to the callback of the whole build."""
    if watch is None:
        return None

    def report(state: Progress) -> None:
        watch(READING, f"{state.text} · {state.name}")

    return report


def segment_progress(watch: Watch | None) -> Callable[[int], None]:
    """Return a callback for segments that passes progress on to the callback of the whole build."""

    def report(number: int) -> None:
        if watch is not None:
            watch(INDEXING, f"segment {number:,}")

    return report


def finish_generation(
    generation: Path,
    limits: Limits,
    model: dict[str, Any] | None,
    watch: Watch,
    before: Path | None = None,
) -> None:
    """Compute the vectors and the report of a generation; `model` is the model's entry in it.

    `before` is the generation before, whose map is updated if it has one. Its record of sources
    is kept if the generation has none.
    """
    watch(INDEXING, "")
    index_vectors(generation, watch)
    if before is not None:
        carry_map(generation, before)
        keep_source_record(before, generation)
    more = {} if model is None else {"model": model}
    write_report(generation, limits, before, **more)


def index_vectors(generation: Path, watch: Watch) -> None:
    """Compute the vectors that a generation's model gives to the segments that have none yet."""
    model = own_model(generation)
    with OpenLibrary(generation.parents[1], generation) as library:
        manifest = library.manifest
        if model is None or not has_index(library):
            name = ""
        else:
            name = manifest.vectors or f"{model.sha256[:12]}-{generation.name}"
            place = library.home / "vectors" / name

            def report(done: int, of: int) -> None:
                watch(INDEXING, f"vectors of segment {done + 1:,} of {of:,}")

            segments = open_index(library)
            build_vectors(place, model, segments, report, merged_parts(generation))
            update_approximate(VectorSpace(segments, place), watch)
    replace(manifest, vectors=name).save(generation)


def switch_generation(folder: Path, generation: Path) -> None:
    """Make a generation current, after removing its intermediate files."""
    remove_unlisted(generation)
    forget_origins(generation)
    hide_and_remove(generation / "training")
    state = read_state(folder)
    before = None if state is None else folder / "generations" / str(state["generation"])
    with OpenLibrary(folder, generation) as library:
        write_papers(generation, Path(library.manifest.root), library.records.origins(), before)
    switch(folder, generation)
