"""Changes of a small library, for tests that disturb them by failing calls and power loss."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from eqemb.errors import EqembError, UsageError
from eqemb.facade import build, equation_map, retrain, sync, update, use
from eqemb.facade.library import Library
from eqemb.index.segments import has_index
from eqemb.library.database import ALL
from eqemb.models import workspace
from eqemb.models.embeddings import Embeddings
from eqemb.models.eqemb_h import EqEmbH
from kills import SMALL, digest
from synthetic import topical

#: Words and an equation of the papers: libraries are compared by their answers.
_QUERY = "rozo vepimata $x_1 = a + 0$"


class Change(NamedTuple):
    """A change that can be made to a library."""

    old: Path
    """The library before; there may be none."""
    run: Callable[[Path, bool], object]
    """Makes the change to the library at a path, or resumes it."""


def _train(library: Path, *, resume: bool) -> None:
    with Library.open(library) as opened:
        corpus = workspace.corpus(opened)
        held = workspace.split(opened, ALL, corpus)
        model = EqEmbH(dim=8, iterations=2, batch=256)
        workspace.Training(model, corpus, held, library, "own").run(resume=resume)


def _compute_map(library: Path) -> None:
    with Library.open(library) as opened:
        equation_map.map_of(opened)


def make_change(folder: Path, name: str) -> Change:
    """Return a change by its name; papers and the old library are written to a folder."""
    one, two = topical(folder / "one", 6), topical(folder / "two", 2, first=6)
    first, every = one / "set1/paper001.tex", [one, two]
    old = folder / "old" / "library"
    if name not in {"build", "read"}:
        build.build_library(one, old, model=SMALL, jobs=1)
    if name in {"compact", "retrain"}:
        update.add_papers(old, two, root=two, jobs=1)
    if name == "use":
        _train(old, resume=False)
    if name == "update":
        topical(one, 2, first=6)
        first.unlink()
    runs: dict[str, Callable[[Path, bool], object]] = {
        "build": lambda at, more: build.build_library(every, at, model=SMALL, jobs=1, resume=more),
        "read": lambda at, more: build.read_library(one, at, jobs=1, resume=more),
        "build again": lambda at, more: build.build_library(
            every, at, model=SMALL, jobs=1, resume=more
        ),
        "add": lambda at, more: update.add_papers(at, two, root=two, jobs=1, resume=more),
        "update": lambda at, _: sync.update_library(at, jobs=1),
        "remove": lambda at, more: update.remove_articles(
            at, ["set1/paper001", "set2/paper002"], resume=more
        ),
        "compact": lambda at, more: update.compact_library(at, resume=more),
        "retrain": lambda at, more: retrain.retrain_model(at, jobs=1, resume=more),
        "train": lambda at, more: _train(at, resume=more),
        "map": lambda at, _: _compute_map(at),
        "use": lambda at, more: use.use_model(at, "own", resume=more),
    }
    return Change(old, runs[name])


#: The names of all changes.
CHANGES = (
    *("build", "read", "build again", "add", "update", "remove", "compact", "retrain", "train"),
    *("use", "map"),
)


def copy_library(change: Change, to: Path) -> None:
    """Put the library before a change, if there is one, at a place where something else may be."""
    shutil.rmtree(to.parent, ignore_errors=True)
    to.parent.mkdir(parents=True)
    if change.old.exists():
        shutil.copytree(change.old, to)


def state(library: Path) -> str:
    """Return a digest of what a library contains, and what it answers; '' if there is none."""
    try:
        with Library.open(library) as opened:
            answers: list[Any] = [
                (hit.article, hit.equation.ordinal, round(hit.score, 4))
                for hit in (opened.search(_QUERY) if has_index(opened) else ())
            ]
            answers.append(equation_map.map_summary(opened.generation))
    except UsageError:
        return ""
    except EqembError as error:
        return f"damaged: {error}"
    models = sorted(
        (path.name, Embeddings.verified(path).sha256)
        for path in (library / "models").glob("[!.]*")
        if path.is_dir()
    )
    return f"{digest(library)} {answers} {models}"
