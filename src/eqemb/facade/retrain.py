"""Train the model of a library again, on all its papers.

The change is a new generation with the same segments. It becomes current when the training is
finished; until then the library answers with its old model.
"""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from eqemb.errors import UsageError
from eqemb.facade.build import finish_generation, ignore_progress, switch_generation
from eqemb.facade.model import ModelPlan, Watch
from eqemb.index.build import indexer_of
from eqemb.library.generations import OpenLibrary, require_library
from eqemb.library.ingest import (
    begin_generation,
    is_complete,
    worker_count,
    write_lock,
    write_run,
)
from eqemb.sources import Limits


def retrain_model(
    folder: str | Path,
    *,
    jobs: int | None = None,
    resume: bool = False,
    watch: Watch | None = None,
) -> dict[str, Any]:
    """Train the library's model again on all its papers, with the settings of its last training.

    Args:
        folder: The library.
        jobs: Number of threads; by default one per processor.
        resume: Continue an interrupted `retrain_model`.
        watch: Called with the stage and its state, for progress displays.

    Returns:
        What the report says about the new model.
    """
    started, folder, watch = time.time(), Path(folder), watch or ignore_progress
    jobs = worker_count(jobs)
    require_library(folder)
    with write_lock(folder), OpenLibrary.open(folder) as old:
        if indexer_of(old) is None:
            raise UsageError(f"{folder} has no index: build the library with `eqemb build`")
        plan = _last_plan(old)
        step = {"step": "retrain", "model": plan.to_json()}
        if resume and is_complete(folder, [*old.steps[:-1], step]):
            return dict(old.report["model"])
        generation = begin_generation(folder, [*old.steps, step], resume=resume)
        replace(old.manifest, vectors="").save(generation)
        about = plan.train(generation, jobs, watch)
        limits = Limits(**old.report["limits"])
        finish_generation(generation, limits, about, watch, old.generation)
        write_run(generation, started, jobs)
        old.close()
        switch_generation(folder, generation)
    return about


def _last_plan(library: OpenLibrary) -> ModelPlan:
    """Return the plan by which the model was last trained; defaults where it never was."""
    trained = [step["model"] for step in library.steps if step["step"] in ("build", "retrain")]
    for plan in reversed(trained):
        if plan:
            base = plan["base"]["path"] if plan["base"] else None
            return ModelPlan.checked(plan["settings"], base)
    return ModelPlan.checked(model=True, base=None)
