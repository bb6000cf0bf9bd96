"""Make a trained model the library's own, so that search, similar and describe use its vectors.

The change is a new generation: the same segments, the chosen model as `model/`, its vectors, and a
report that describes it. Text and structure of the index are not computed again. The change is
recorded as a step, which `eqemb repro` repeats with the model at the recorded place.
"""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from eqemb.errors import UsageError
from eqemb.facade.build import finish_generation, ignore_progress, switch_generation
from eqemb.facade.merging import SegmentMerger
from eqemb.facade.model import INDEXING, Watch, describe_model
from eqemb.facade.update import copy_model
from eqemb.index.build import INDEXER, segments_to_index
from eqemb.library.generations import OpenLibrary, require_library
from eqemb.library.ingest import begin_generation, is_complete, write_lock, write_run
from eqemb.models import workspace
from eqemb.models.embeddings import Embeddings
from eqemb.sources import Limits


def use_model(
    folder: str | Path,
    model: str | Path,
    *,
    resume: bool = False,
    watch: Watch | None = None,
) -> dict[str, Any]:
    """Make a trained model the library's own, and return what the report says about it.

    Args:
        folder: The library.
        model: The name of a model in LIBRARY/models, or the path of a model's folder.
        resume: Continue after an interruption; if the change was finished, do nothing.
        watch: Called with the stage and its progress.

    Example:
        use_model("library", "eqemb-u")

    """
    started, folder, watch = time.time(), Path(folder), watch or ignore_progress
    require_library(folder)
    with write_lock(folder), OpenLibrary.open(folder) as old:
        place = _find(old, model)
        chosen = Embeddings.verified(place)
        chosen.view("words", "rho")  # refused here if it has no vectors of words
        step = use_step(folder, place, chosen)
        if resume and is_complete(folder, [*old.steps[:-1], step]):
            return dict(old.report["model"])
        generation = begin_generation(folder, [*old.steps, step], resume=resume)
        watch(INDEXING, "")
        merger = SegmentMerger(generation, INDEXER, watch)
        manifest = merger.rewrite(segments_to_index(old), old.manifest)
        replace(manifest, vectors="").save(generation)
        copy_model(place, generation)
        with OpenLibrary(generation / "training", generation) as unfinished:
            about = describe_model(chosen, workspace.corpus(unfinished))
        about["chosen"] = step["model"]
        limits = Limits(**old.report["limits"])
        finish_generation(generation, limits, about, watch, old.generation)
        write_run(generation, started, 1)
        old.close()
        switch_generation(folder, generation)
    return about


def use_step(folder: Path, place: Path, chosen: Embeddings) -> dict[str, Any]:
    """The recorded step; a model within the library is recorded relative to it."""
    path, home = place.resolve(), folder.resolve()
    shown = path.relative_to(home).as_posix() if path.is_relative_to(home) else str(path)
    return {"step": "use", "model": shown, "sha256": chosen.sha256}


def _find(library: OpenLibrary, model: str | Path) -> Path:
    """The folder of a model, given by its name in the library or by its path."""
    path = Path(model)
    if str(model) not in library.models() and (path / "config.json").is_file():
        return path
    if isinstance(model, Path):
        raise UsageError(f"no model at {model}: give the folder of a trained model")
    return workspace.find_model(library, model)
