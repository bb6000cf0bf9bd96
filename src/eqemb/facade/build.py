"""Build a library: read papers, train the model, compute the index.

Every change of a library makes a new generation, which becomes current by an atomic write of
library.json. After a kill at any moment the library is the old one or the new one, and `resume`
continues the work.

    settings.json   the steps that made the library, ending with this change
    records.sqlite  the records; read.sqlite holds added papers until they are merged
    model/          the library's own model: EqEmb-H with default settings, trained on all papers
    training/       corpus, split and checkpoint, while the model is trained
    index/          the index, computed from records and model
"""

import contextlib
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from eqemb.errors import UsageError
from eqemb.facade.model import INDEXING, READING, ModelPlan, Watch
from eqemb.index.build import INDEX_VERSION, build_index, index_version, rebuild_vectors
from eqemb.library.database import Records
from eqemb.library.executor import WorkerLimits
from eqemb.library.generations import make_folder, switch
from eqemb.library.ingest import (
    Ingest,
    Paths,
    Progress,
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
    write_report,
    write_run,
)
from eqemb.models.embeddings import own_model
from eqemb.sources import Limits, discover
from eqemb.storage.atomic import link_files


def read_library(
    paths: Paths,
    folder: str | Path,
    *,
    jobs: int | None = None,
    resume: bool = False,
    limits: Limits | None = None,
    worker_limits: WorkerLimits | None = None,
    progress: Callable[[Progress], None] | None = None,
    index: bool = False,
) -> None:
    """Read papers into the library at `folder`; with `index`, also compute an index.

    `resume` continues an interrupted run on the same papers.
    """
    started, folder, given = time.time(), Path(folder), path_list(paths)
    limits, jobs = limits or Limits(), worker_count(jobs)
    tasks = discover(given, limits)
    make_folder(folder)
    with write_lock(folder):
        step = ingest_step("read", given, limits) | {"index": index}
        if resume and is_complete(folder, [step], discover(given, limits)):
            return
        generation = begin_generation(folder, [step], resume=resume)
        with open_for_writing(generation / "records.sqlite") as records:
            ingest = Ingest(limits, worker_limits or WorkerLimits(), jobs, progress)
            done = ingest.run(tasks, records, folder)
            mark_near_duplicates(records)
        require_articles(write_report(generation, limits), folder, generation)
        if index:
            with contextlib.closing(Records(generation / "records.sqlite")) as records:
                build_index(records, generation / "index")
        write_run(generation, started, jobs, paths=resolve_paths(step), resumed_after=done)
        switch(folder, generation)


def build_library(
    paths: Paths,
    folder: str | Path,
    *,
    model: bool | Mapping[str, Any] = True,
    base: str | Path | None = None,
    jobs: int | None = None,
    resume: bool = False,
    limits: Limits | None = None,
    watch: Watch | None = None,
) -> None:
    """Read papers into the library at `folder`, train its model and compute its index.

    `model` may hold settings of `EqEmbH`. If it is False, only words and structure are searched.
    `base` is a library or a model folder, whose word vectors are used unchanged. `resume` continues
    an interrupted build at any stage; finished stages are not repeated.
    """
    started, folder, given = time.time(), Path(folder), path_list(paths)
    limits, jobs = limits or Limits(), worker_count(jobs)
    if base is not None and model is False:
        raise UsageError("a base provides word vectors for a model: leave out base or model=False")
    plan = None if model is False else ModelPlan.checked(model, base)
    tasks = discover(given, limits)
    make_folder(folder)
    with write_lock(folder):
        step = ingest_step("build", given, limits)
        step["model"] = plan.to_json() if plan else None
        if resume and is_complete(folder, [step], discover(given, limits)):
            return
        generation = begin_generation(folder, [step], resume=resume)
        with open_for_writing(generation / "records.sqlite") as records:
            ingest = Ingest(limits, WorkerLimits(), jobs, paper_progress(watch))
            done = ingest.run(tasks, records, folder)
            mark_near_duplicates(records)
            is_empty = not records.names()
        if is_empty:
            require_articles(write_report(generation, limits), folder, generation)
        summary = None
        if plan is not None:
            summary = plan.train(generation, jobs, watch or ignore_progress)
        finish_generation(generation, limits, summary, watch or ignore_progress)
        write_run(generation, started, jobs, paths=resolve_paths(step), resumed_after=done)
        switch_generation(folder, generation)


def ignore_progress(_stage: str, _state: str) -> None:
    """Do nothing: the callback where none is given."""


def paper_progress(watch: Watch | None) -> Callable[[Progress], None] | None:
    """Return an ingest callback that passes progress on to the callback of the whole build."""
    if watch is None:
        return None

    def report(state: Progress) -> None:
        watch(
            READING,
            f"{state.done:,} papers, {state.equations:,} equations, {state.skipped:,} skipped"
            f" · {state.name}",
        )

    return report


def finish_generation(
    generation: Path,
    limits: Limits,
    model: dict[str, Any] | None,
    watch: Watch,
    same_records: Path | None = None,
) -> None:
    """Compute the index and the report of a generation; `model` is the model's entry in it.

    `same_records` is an index of the same records: its text and structure are taken over.
    """
    watch(INDEXING, "")
    index = generation / "index"
    shutil.rmtree(index, ignore_errors=True)
    with contextlib.closing(Records(generation / "records.sqlite")) as records:
        if same_records is not None and index_version(same_records) == INDEX_VERSION:
            link_files(same_records, index)
            rebuild_vectors(records, index, own_model(generation))
        else:
            build_index(records, index, own_model(generation))
    write_report(generation, limits, **({} if model is None else {"model": model}))


def switch_generation(folder: Path, generation: Path) -> None:
    """Make a generation current, after removing its intermediate files."""
    (generation / "read.sqlite").unlink(missing_ok=True)
    shutil.rmtree(generation / "training", ignore_errors=True)
    switch(folder, generation)
