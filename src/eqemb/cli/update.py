"""Commands that change a library or export it: add, update, remove, compact, retrain, and more."""

import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eqemb.cli.app import app
from eqemb.cli.console import first_names, print_json, print_message
from eqemb.cli.options import (
    SELECTION,
    Engine,
    Jobs,
    Json,
    LibraryPath,
    Option,
    Papers,
    Resume,
    path_argument,
    selection_of,
    with_options,
)
from eqemb.cli.progress import StageProgress, spinner
from eqemb.errors import ThresholdError, UsageError

if TYPE_CHECKING:
    from eqemb.facade.sync import Update

_NAMED_ARTICLES = 10  # in a line
_FINISHED = "this was already done, there is nothing to resume"


@app.command()
@with_options(SELECTION)
def add(
    library: LibraryPath,
    paths: Papers,
    root: Annotated[
        Path | None,
        Option(
            "--root",
            metavar="FOLDER",
            help="Name the papers by their paths below this folder; default: the library's root.",
        ),
    ] = None,
    replace: Annotated[
        bool, Option("--replace", help="Read papers again whose names are in the library.")
    ] = False,
    jobs: Jobs = None,
    engine: Engine = "local",
    resume: Resume = False,
    as_json: Json = False,
    **options: Any,
) -> None:
    """Add papers to a library without retraining its model."""
    from eqemb.facade.update import add_papers
    from eqemb.library.report import cause_counts, counted

    with StageProgress() as progress:
        change = add_papers(
            library,
            paths,
            root=root,
            replace=replace,
            jobs=jobs,
            engine=engine,
            resume=resume,
            watch=progress.update,
            selection=selection_of(options),
        )
    if as_json:
        print_json(vars(change))
    else:
        skipped = counted(change.skipped, "source")
        print(f"{counted(change.articles, 'article')} added to {library}, {skipped} skipped")
    for names, what in (
        (change.causes, "skipped"),
        (change.known, "already in the library (--replace reads them again)"),
        (change.replaced, "replaced"),
        (change.kept, "not replaced, because the new version cannot be read"),
    ):
        if names:
            print_message(f"{len(names):,} {what}: {first_names(names, _NAMED_ARTICLES)}")
    if change.left_out:
        print_message(
            f"{sum(change.left_out.values()):,} left out: {cause_counts(change.left_out)}"
        )
    if change.root:
        print_message(f"the root of {library} is now {change.root}, since the old one is gone")
    if change.finished:
        print_message(f"{_FINISHED}; to read the papers again, leave out --resume")
    _print_missing(change.lacks, library)


@app.command()
def update(
    library: LibraryPath,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            parser=path_argument,
            metavar="[PATHS]",
            help="Look only at these files and folders; default: all that the library is made of.",
        ),
    ] = None,
    root: Annotated[
        Path | None,
        Option("--root", metavar="FOLDER", help="The folder that the papers were moved to."),
    ] = None,
    watch: Annotated[
        bool, Option("--watch", help="Follow the files and update after every change.")
    ] = False,
    poll: Annotated[
        float | None,
        Option("--poll", metavar="SECONDS", min=0.1, help="With --watch: look this often."),
    ] = None,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Say what has changed, and change nothing.")
    ] = False,
    allow_empty: Annotated[
        bool,
        Option("--allow-empty", help="Also remove the articles of a folder that is missing."),
    ] = False,
    jobs: Jobs = None,
    engine: Engine = "local",
    as_json: Json = False,
) -> None:
    """Bring a library in step with its files.

    New papers are added, papers whose content has changed are replaced, and those that are gone
    are removed. The library's model is not trained again.
    """
    from eqemb.facade.sync import update_library

    if poll is not None and not watch:
        raise UsageError("--poll says how often --watch looks: add --watch")
    if dry_run and watch:
        raise UsageError("--dry-run looks once: leave out --watch")
    given: Any = {"paths": paths or (), "root": root, "allow_empty": allow_empty}
    given |= {"jobs": jobs, "engine": engine}
    if watch:
        _watch(library, poll, given, as_json=as_json)
        return
    with StageProgress() as progress:
        done = update_library(library, **given, dry_run=dry_run, watch=progress.update)
    if as_json:
        print_json(vars(done))
    else:
        _print_update(done, library, dry_run=dry_run)


def _watch(library: Path, poll: float | None, given: Any, *, as_json: bool) -> None:
    """Update a library until Ctrl-C or SIGTERM; an update that is not finished is given up."""
    from eqemb.facade.watching import watch_library

    def report(done: "Update") -> None:
        if as_json:
            print_json(vars(done))
        else:
            print(time.strftime("%H:%M:%S"))
            _print_update(done, library)
        sys.stdout.flush()

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    print_message(f"following the papers of {library}; Ctrl-C ends this")
    try:
        watch_library(library, poll=poll, report=report, complain=print_message, **given)
    except KeyboardInterrupt:
        print_message("ended")


def _print_update(done: "Update", library: Path, *, dry_run: bool = False) -> None:
    """Print a line for each kind of change."""
    from eqemb.library.report import cause_counts, counted

    would, readable = ("would be ", ", if it can be read") if dry_run else ("", "")
    for names, thing, what in (
        (done.added, "article", f"{would}added{readable}"),
        (done.replaced, "article", f"{would}replaced{readable}"),
        (done.removed, "article", f"{would}removed"),
        (done.unreadable, "article", "removed, because its file is not read any more"),
        (done.skipped, "source", f"{would}skipped"),
        (done.kept, "article", "kept, because the new version cannot be opened now"),
        (done.damaged, "article", "kept, because the new version is damaged"),
        (done.pending, "source", "left for the next update, being written at the moment"),
    ):
        if names:
            listed = first_names(names, _NAMED_ARTICLES)
            print(f"{counted(len(names), thing)} {what}: {listed}")
    if done.forgotten:
        print(f"{counted(done.forgotten, 'skipped source')} gone")
    if done.left_out:
        papers = counted(sum(done.left_out.values()), "new paper")
        print(f"{papers} left out: {cause_counts(done.left_out)}")
    if done.is_empty:
        print(f"{library} is up to date: {counted(done.unchanged, 'source')} unchanged")
    if done.compared:
        read = f"{would}read again" if dry_run else "read again"
        print_message(
            f"{counted(done.compared, 'source')} {read}, because {library} did not record their"
            " content"
        )
    if done.root:
        print_message(f"the root of {library} is now {done.root}")
    _print_missing(done.lacks, library)


def _print_missing(lacks: dict[str, int] | None, library: Path) -> None:
    """Say what the model does not know of new papers."""
    if lacks is None or not any(lacks.get(kind) for kind in ("words", "units")):
        return
    for kind in ("words", "units"):
        if kind not in lacks:  # the model has no vectors of this kind
            continue
        share = f"{lacks[f'{kind}_occurrences']:,} of {lacks[f'all_{kind}_occurrences']:,}"
        print_message(f"{share} occurrences of {kind} in the new papers are not in the model")
    print_message(f"to train on the new papers too, run `eqemb retrain {library}`")


@app.command()
def remove(
    library: LibraryPath,
    articles: Annotated[
        list[str], typer.Argument(metavar="ARTICLES", help="Names, as `eqemb show` lists them.")
    ],
    resume: Resume = False,
    as_json: Json = False,
) -> None:
    """Remove articles from a library without retraining its model."""
    from eqemb.facade.update import remove_articles
    from eqemb.library.report import counted

    with StageProgress() as progress:
        change = remove_articles(library, articles, resume=resume, watch=progress.update)
    if as_json:
        print_json({"articles": change.articles, "names": change.names})
    else:
        print(f"{counted(change.articles, 'article')} removed from {library}")
        if change.names:
            print(f"removed: {first_names(change.names, _NAMED_ARTICLES)}")
    if change.finished:
        print_message(_FINISHED)


@app.command()
def compact(library: LibraryPath, resume: Resume = False, as_json: Json = False) -> None:
    """Merge segments and free the space of removed articles.

    Answers stay the same. Segments of another version of the index are indexed again.
    """
    from eqemb.facade.update import compact_library
    from eqemb.library.report import counted

    with StageProgress() as progress:
        done = compact_library(library, resume=resume, watch=progress.update)
    if as_json:
        print_json(done._asdict())
    elif done.before == done.after and not done.removed:
        print(f"{library} has {counted(done.after, 'segment')}, there was nothing to merge")
    else:
        print(f"{library} has {counted(done.after, 'segment')}, it had {done.before:,}")
        if done.removed:
            print(f"{counted(done.removed, 'removed document')} freed from the disk")


@app.command()
def retrain(
    library: LibraryPath, jobs: Jobs = None, resume: Resume = False, as_json: Json = False
) -> None:
    """Train a library's model again on all its papers.

    The library can be used meanwhile; it has the new model when the training is finished.
    """
    from eqemb.facade.retrain import retrain_model

    with StageProgress() as progress:
        about = retrain_model(library, jobs=jobs, resume=resume, watch=progress.update)
    if as_json:
        print_json(about)
    elif about["sha256"] is None:
        print(f"{library} has no model: {about['why']}")
    else:
        sizes = ", ".join(f"{about[kind]:,} {kind}" for kind in ("words", "equations", "units"))
        print(f"{library} has a new model: {sizes}")


@app.command()
def export(
    library: LibraryPath,
    output: Annotated[
        Path,
        Option(
            "-o", "--output", metavar="FILE", help="The file to write: .parquet, .csv or .jsonl."
        ),
    ],
    replace: Annotated[bool, Option("--replace", help="Overwrite an existing file.")] = False,
    as_json: Json = False,
) -> None:
    """Write every equation, with its vector, to a table.

    To export the vectors of words, units or equation types, use `Embeddings.export` in Python.
    """
    from eqemb.facade.export import export_equations
    from eqemb.facade.library import Library

    with Library.open(library) as opened, spinner("writing"):
        done = export_equations(opened, output, replace=replace)
    if as_json:
        print_json({"path": str(done.path), "rows": done.rows, "without_vector": done.without})
        return
    print(f"wrote {done.rows:,} equations to {done.path}")
    if done.without:
        print_message(
            f"{done.without:,} have no vector, because the model knows none of their units"
        )


@app.command()
def repro(library: LibraryPath, jobs: Jobs = None, as_json: Json = False) -> None:
    """Rebuild a library elsewhere and compare the bytes.

    The steps are those that `eqemb info` lists. Exits with 3 if something differs.
    """
    from eqemb.facade.reproduce import rebuild

    with StageProgress() as progress:
        found = rebuild(library, jobs=jobs, watch=progress.update)
    if as_json:
        print_json({"agrees": found.agrees} | vars(found))
    else:
        for name, same in found.parts.items():
            print(f"{'same' if same else 'differs':8} {name}")
        for what in ("changed", "vanished", "appeared"):
            for name in getattr(found, what):
                print(f"{what:8} {name}")
    if not found.agrees:
        raise ThresholdError(f"the rebuilt library differs from {library}")
