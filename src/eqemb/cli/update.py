"""Commands that change a library or hand it on: add, remove, export, repro."""

from pathlib import Path
from typing import Annotated

import typer

from eqemb.cli.build import Jobs, Papers, Resume
from eqemb.cli.console import Json, LibraryPath, Stages, app, busy, print_json, say
from eqemb.errors import ThresholdError

_SHOWN = 10  # names in a line
_FINISHED = "this was done before, and there is nothing to go on with"


@app.command()
def add(
    library: LibraryPath,
    paths: Papers,
    replace: Annotated[
        bool, typer.Option("--replace", help="Read papers anew whose names are there already.")
    ] = False,
    jobs: Jobs = None,
    resume: Resume = False,
    as_json: Json = False,
) -> None:
    """Read more papers into a library; its model stays as it is."""
    from eqemb.facade.update import add_papers
    from eqemb.library.report import counted

    with Stages() as stages:
        change = add_papers(
            library, paths, replace=replace, jobs=jobs, resume=resume, watch=stages.watch
        )
    if as_json:
        print_json(vars(change))
    else:
        skipped = counted(change.skipped, "source")
        print(f"{counted(change.articles, 'article')} added to {library}, {skipped} skipped")
    for names, what in (
        (change.known, "there already (--replace reads them anew)"),
        (change.replaced, "replaced"),
        (change.kept, "not replaced, since the new ones cannot be read"),
    ):
        if names:
            more = ", ..." if len(names) > _SHOWN else ""
            say(f"{len(names):,} {what}: {', '.join(names[:_SHOWN])}{more}")
    if change.finished:
        say(f"{_FINISHED}; to read the papers anew leave --resume out")
    _say_lacking(change.lacks)


def _say_lacking(lacks: dict[str, int] | None) -> None:
    """What the model does not know of new papers."""
    if lacks is None:
        return
    for kind in ("words", "units"):
        said = f"{lacks[f'{kind}_occurrences']:,} of {lacks[f'all_{kind}_occurrences']:,}"
        say(f"{said} occurrences of {kind} in the new papers are not in the model")
    say("to learn from them too, build the library anew: eqemb build")


@app.command()
def remove(
    library: LibraryPath,
    articles: Annotated[
        list[str], typer.Argument(metavar="ARTICLE...", help="Names, as `eqemb show` lists them.")
    ],
    resume: Resume = False,
    as_json: Json = False,
) -> None:
    """Take articles out of a library; its model stays as it is."""
    from eqemb.facade.update import remove_articles
    from eqemb.library.report import counted

    with Stages() as stages:
        change = remove_articles(library, articles, resume=resume, watch=stages.watch)
    if as_json:
        print_json({"articles": change.articles})
    else:
        print(f"{counted(change.articles, 'article')} removed from {library}")
    if change.finished:
        say(_FINISHED)


@app.command()
def export(
    library: LibraryPath,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="FILE", help="Ends in .parquet, .csv or .jsonl."),
    ],
    replace: Annotated[bool, typer.Option("--replace", help="In place of a file there.")] = False,
    as_json: Json = False,
) -> None:
    """Write every equation as a row, with its vector, for data frames and other stores.

    Vectors of a model alone, by words, units or equation types, are written in Python by
    `Embeddings.export`.
    """
    from eqemb.facade.export import export_equations
    from eqemb.facade.library import Library

    with Library.open(library) as opened, busy("writing"):
        done = export_equations(opened, output, replace=replace)
    if as_json:
        print_json({"path": str(done.path), "rows": done.rows, "without_vector": done.without})
        return
    print(f"{done.rows:,} equations in {done.path}")
    if done.without:
        say(f"{done.without:,} have no vector: none of their units is in the model")


@app.command()
def repro(library: LibraryPath, jobs: Jobs = None, as_json: Json = False) -> None:
    """Make a library again by its recorded steps, elsewhere, and say whether the bytes agree."""
    from eqemb.facade.reproduce import rebuild

    with Stages() as stages:
        found = rebuild(library, jobs=jobs, watch=stages.watch)
    if as_json:
        print_json({"agrees": found.agrees} | vars(found))
    else:
        for name, same in found.parts.items():
            print(f"{'same' if same else 'differs':8} {name}")
        for what in ("changed", "vanished", "appeared"):
            for name in getattr(found, what):
                print(f"{what:8} {name}")
    if not found.agrees:
        raise ThresholdError(f"{library} made again is not the same")
