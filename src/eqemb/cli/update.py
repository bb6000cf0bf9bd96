"""Commands that change a library or export it: add, remove, compact, retrain, export, repro."""

from pathlib import Path
from typing import Annotated

import typer

from eqemb.cli.app import app
from eqemb.cli.console import first_names, print_json, print_message
from eqemb.cli.options import Jobs, Json, LibraryPath, Option, Papers, Resume
from eqemb.cli.progress import StageProgress, spinner
from eqemb.errors import ThresholdError

_NAMED_ARTICLES = 10  # in a line
_FINISHED = "this was already done, there is nothing to resume"


@app.command()
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
    resume: Resume = False,
    as_json: Json = False,
) -> None:
    """Add papers to a library without retraining its model."""
    from eqemb.facade.update import add_papers
    from eqemb.library.report import counted

    with StageProgress() as progress:
        change = add_papers(
            library,
            paths,
            root=root,
            replace=replace,
            jobs=jobs,
            resume=resume,
            watch=progress.update,
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
    if change.root:
        print_message(f"the root of {library} is now {change.root}, since the old one is gone")
    if change.finished:
        print_message(f"{_FINISHED}; to read the papers again, leave out --resume")
    _print_missing(change.lacks, library)


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
