"""Commands for the browser: serve, map."""

from pathlib import Path
from typing import Annotated

from eqemb.cli.app import app
from eqemb.cli.console import print_json, print_message
from eqemb.cli.options import Json, LibraryPath, Map, Option
from eqemb.cli.progress import spinner
from eqemb.errors import UsageError


@app.command()
def serve(
    library: LibraryPath,
    host: Annotated[str, Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="0 takes any free port.")] = 8000,
    browse: Annotated[bool, Option("--open", help="Open the page in a browser.")] = False,
    snippets: Annotated[
        str, Option(help="How much text of the papers to show: full, short or none.")
    ] = "full",
    token: Annotated[
        str | None,
        Option(
            envvar="EQEMB_TOKEN",
            help="Clients must send this token; required unless the host is local.",
        ),
    ] = None,
    draws: Map = True,
) -> None:
    """Serve a library as a web page and an HTTP API."""
    try:
        from eqemb.server.run import serve as run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("fastapi", "uvicorn", "starlette", "h11"):
            raise
        raise UsageError(
            "`eqemb serve` needs FastAPI and uvicorn: pip install 'eqemb[serve]'"
        ) from None
    run(
        library,
        host=host,
        port=port,
        snippets=snippets,
        token=token,
        browse=browse,
        draws=draws,
        say=print_message,
    )


@app.command("map")
def map_(
    library: LibraryPath,
    png: Annotated[
        Path | None,
        Option("--png", metavar="FILE", help="Also draw it to this .png, .svg or .pdf file."),
    ] = None,
    rebuild: Annotated[bool, Option("--rebuild", help="Compute it again if it exists.")] = False,
    as_json: Json = False,
) -> None:
    """Compute the two-dimensional map that the page shows."""
    from eqemb.facade.equation_map import map_of
    from eqemb.facade.library import Library

    if png is not None:
        from eqemb.evaluation.plots import check, draw_map

        check(png)
    with Library.open(library) as opened, spinner("computing the map"):
        made = map_of(opened, recompute=rebuild)
        if png is not None:
            draw_map(made, png)
    if as_json:
        print_json({"points": len(made.x), "method": made.method, "labels": len(made.labels)})
    else:
        print(f"map of {library}: {len(made.x):,} distinct equations, method {made.method}")
    if made.method == "pca":
        print_message("UMAP keeps neighbours together better: pip install 'eqemb[map]'")
