"""Rebuild a library from its recorded steps, and compare the result with it."""

import contextlib
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eqemb.errors import UsageError
from eqemb.facade.build import build_library, paper_progress, read_library
from eqemb.facade.model import Watch, load_base
from eqemb.facade.retrain import retrain_model
from eqemb.facade.sync import update_library
from eqemb.facade.update import add_papers, compact_library, remove_articles
from eqemb.facade.use import use_model
from eqemb.library.generations import OpenLibrary
from eqemb.library.ingest import resolve_paths
from eqemb.library.integrity import APPROXIMATE
from eqemb.library.manifest import segment_folder
from eqemb.library.papers import recorded_selection
from eqemb.models.embeddings import Embeddings, own_model
from eqemb.sources import Limits
from eqemb.sources.files import exists
from eqemb.storage.array_file import file_hash


@dataclass
class Rebuilt:
    """The comparison of a library with its rebuild."""

    parts: dict[str, bool] = field(default_factory=dict)
    """For records, model and every file of the index: whether the bytes are equal."""
    changed: list[str] = field(default_factory=list)
    """Papers that now give other records."""
    vanished: list[str] = field(default_factory=list)
    """Papers, or paths of papers, that no longer exist."""
    appeared: list[str] = field(default_factory=list)
    """Papers that the library does not have."""

    @property
    def agrees(self) -> bool:
        """Whether the rebuild is identical."""
        return all(self.parts.values()) and not (self.changed or self.vanished or self.appeared)


def rebuild(folder: str | Path, *, jobs: int | None = None, watch: Watch | None = None) -> Rebuilt:
    """Repeat the steps that made a library, in a temporary folder, and compare the results."""
    folder = Path(folder).resolve()
    with OpenLibrary.open(folder) as library:
        done = library.steps
        if not done:
            raise UsageError(f"{folder} does not record how it was made: build it again")
        found = Rebuilt(vanished=_missing_paths(folder, done))
        if found.vanished:
            return found
        with tempfile.TemporaryDirectory() as scratch:
            again = Path(scratch).resolve() / "library"
            for step in done:
                # a model of the library is named by its path relative to the library
                with contextlib.chdir(step.get("from", folder)):
                    _repeat(step, again, jobs, watch)
            with OpenLibrary.open(again) as other:
                _compare(library, other, found)
        for base in _bases(done):
            if load_base(Path(base["path"])).sha256 != base["sha256"]:
                found.changed.append(base["path"])
        for place, wanted in _used(folder, done).items():
            if Embeddings.load(place).sha256 != wanted:
                found.changed.append(place)
    return found


def _missing_paths(folder: Path, done: list[dict[str, Any]]) -> list[str]:
    """Return the paths that the steps of a library need and that no longer exist."""
    places = [place for step in done if "paths" in step for place in resolve_paths(step)]
    places += [step["from"] for step in done if "from" in step]
    places += [base["path"] for base in _bases(done)]
    places += _used(folder, done)
    return [place for place in dict.fromkeys(places) if not exists(place)]


def _bases(done: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Return the models whose word vectors were used."""
    trained = [step for step in done if step["step"] in ("build", "retrain")]
    plans = [step["model"] for step in trained if step["model"]]
    return [plan["base"] for plan in plans if plan["base"]]


def _used(folder: Path, done: list[dict[str, Any]]) -> dict[str, str]:
    """Return the models that were made the library's own, by path, and their hashes."""
    return {str(folder / step["model"]): step["sha256"] for step in done if step["step"] == "use"}


def _repeat(step: dict[str, Any], folder: Path, jobs: int | None, watch: Watch | None) -> None:
    """Repeat a step."""
    if step["step"] == "use":
        use_model(folder, Path(step["model"]), watch=watch)
        return
    if step["step"] == "compact":
        compact_library(folder, watch=watch)
        return
    if step["step"] == "retrain":
        retrain_model(folder, jobs=jobs, watch=watch)
        return
    if step["step"] == "remove":
        with OpenLibrary.open(folder) as library:  # a paper may no longer exist
            there = {name for name, _ in library.records.origins()}
        if wanted := [name for name in step["articles"] if name in there]:
            remove_articles(folder, wanted, watch=watch)
        return
    if step["step"] == "update":
        update_library(folder, step["paths"], root=step["root"], jobs=jobs, watch=watch)
        return
    limits, selection = Limits(**step["limits"]), recorded_selection(step)
    if step["step"] == "add":
        options: dict[str, Any] = {"replace": step["replace"], "root": step["root"]}
        options |= {"jobs": jobs, "limits": limits, "selection": selection}
        add_papers(folder, step["paths"], **options, watch=watch)
    elif step["step"] == "read":
        options = {"jobs": jobs, "limits": limits, "index": step["index"], "root": step["root"]}
        options["selection"] = selection
        read_library(step["paths"], folder, **options, progress=paper_progress(watch))
    else:
        plan = step["model"]
        base = plan["base"]["path"] if plan and plan["base"] else None
        model = plan["settings"] if plan else False
        options = {"model": model, "base": base, "root": step["root"], "jobs": jobs}
        options |= {"limits": limits, "selection": selection}
        build_library(step["paths"], folder, **options, watch=watch)


def _compare(library: OpenLibrary, other: OpenLibrary, found: Rebuilt) -> None:
    before, after = _digests(library), _digests(other)
    is_updated = any(step["step"] == "update" for step in library.steps)
    found.parts["records"] = (
        before == after
        if is_updated  # then papers are in the order in which they changed, which is not recorded
        else library.records.sha256() == other.records.sha256()
    )
    found.changed = [name for name in before if after.get(name, before[name]) != before[name]]
    found.vanished = [name for name in before if name not in after]
    found.appeared = [name for name in after if name not in before]
    models = (own_model(each.generation) for each in (library, other))
    one, two = (model.sha256 if model else "" for model in models)
    if one or two:
        found.parts["model"] = one == two
    if is_updated:  # the index depends on the order
        return
    ours, theirs = _index_files(library), _index_files(other)
    for name in sorted(ours | theirs):
        hashes = {file_hash(files[name]) if name in files else "" for files in (ours, theirs)}
        found.parts[name] = len(hashes) == 1


def _digests(library: OpenLibrary) -> dict[str, list[bytes]]:
    """Return the digests of sources by name."""
    found: dict[str, list[bytes]] = {}
    for name, digest in library.records.digests():
        found.setdefault(name, []).append(digest)
    return found


def _index_files(library: OpenLibrary) -> dict[str, Path]:
    """Return the files of the index and of vectors.

    Approximate indexes are left out: whether there are any depends on what is installed.
    """
    places = {
        f"segments/{part.name}": segment_folder(library.home, part.name) / "index"
        for part in library.manifest.segments
    }
    if library.manifest.vectors:  # a folder whose name counts the changes of the library
        places["vectors"] = library.home / "vectors" / library.manifest.vectors
    return {
        f"{name}/{path.relative_to(place).as_posix()}": path
        for name, place in places.items()
        for path in place.rglob("*")
        if path.is_file() and path.relative_to(place).parts[0] != APPROXIMATE
    }
