"""Commands for people who look: a page and an API, and the map."""

from pathlib import Path
from typing import Annotated

import typer

from eqemb.cli.console import Json, LibraryPath, app, busy, print_json, say
from eqemb.errors import UsageError


@app.command()
def serve(
    library: LibraryPath,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8000,
    browse: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    snippets: Annotated[
        str,
        typer.Option(help="How much text of papers is shown: full, short or none."),
    ] = "full",
    token: Annotated[
        str | None,
        typer.Option(envvar="EQEMB_TOKEN", help="Ask for this; needed beyond this machine."),
    ] = None,
    draws: Annotated[
        bool, typer.Option("--map/--no-map", help="Make a map where there is none.")
    ] = True,
) -> None:
    """Serve a library as a page and an API."""
    try:
        from eqemb.server.run import serve as run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("fastapi", "uvicorn", "starlette", "h11"):
            raise
        raise UsageError("serving needs FastAPI and uvicorn: pip install 'eqemb[serve]'") from None
    run(
        library,
        host=host,
        port=port,
        snippets=snippets,
        token=token,
        browse=browse,
        draws=draws,
        say=say,
    )


@app.command("map")
def map_(
    library: LibraryPath,
    png: Annotated[
        Path | None,
        typer.Option("--png", metavar="FILE", help="Draw it too; .svg and .pdf do as well."),
    ] = None,
    anew: Annotated[bool, typer.Option("--anew", help="Even where there is one.")] = False,
    as_json: Json = False,
) -> None:
    """Lay out all equations in two dimensions, for the page; it is done once."""
    from eqemb.facade.equation_map import map_of
    from eqemb.facade.library import Library

    if png is not None:
        from eqemb.evaluation.plots import check, draw_map

        check(png)
    with Library.open(library) as opened, busy("laying out the equations"):
        made = map_of(opened, recompute=anew)
        if png is not None:
            draw_map(made, png)
    if as_json:
        print_json({"points": len(made.x), "method": made.method, "labels": len(made.labels)})
    else:
        print(f"{len(made.x):,} kinds of equations on the map of {library}, by {made.method}")
    if made.method == "pca":
        say("neighbours are kept better by UMAP: pip install 'eqemb[map]'")
