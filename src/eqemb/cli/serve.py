"""Commands for the browser: serve, map."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from eqemb.cli.app import app
from eqemb.cli.console import print_json, print_message
from eqemb.cli.options import Json, LibraryPath, Map, Option
from eqemb.cli.progress import spinner
from eqemb.cli.verify import require_intact
from eqemb.errors import UsageError

#: Reverse proxies.
Proxies = Annotated[
    list[str] | None,
    Option(
        "--proxy",
        metavar="ADDRESS",
        help="Your reverse proxy (or its network), whose X-Forwarded-For tells clients apart;"
        " repeatable.",
    ),
]


@app.command()
def serve(
    context: typer.Context,
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
    workers: Annotated[
        int | None,
        Option(
            min=0,
            max=64,
            help="Processes that answer requests; one for each core by default, 0 for threads.",
        ),
    ] = None,
    seconds: Annotated[
        float,
        Option("--time-limit", min=0.1, max=600, help="Seconds that an answer may take."),
    ] = 5,
    proxies: Proxies = None,
    engine: Annotated[
        str,
        Option(
            help="local, ray (Ray Serve searches parts of the library; extra `ray-serve`) or ray://HOST"
            " (a cluster)."
        ),
    ] = "local",
    parts: Annotated[
        int | None,
        Option(min=1, max=1000, help="With Ray: parts of the library; one for each core."),
    ] = None,
    replicas: Annotated[
        int, Option(min=1, max=100, help="With Ray: processes that have each part.")
    ] = 1,
    verified: Annotated[
        bool,
        Option("--verify", help="Read every file of the library first, as `eqemb verify` does."),
    ] = False,
) -> None:
    """Serve a library as a web page and an HTTP API.

    With --engine ray, processes of Ray Serve search parts of the library, on one machine or many.
    """
    run = _server()
    if verified:
        require_intact(library)
    run(
        library,
        host=host,
        port=port,
        snippets=snippets,
        token=token,
        browse=browse,
        draws=draws,
        workers=workers,
        seconds=seconds,
        proxies=proxies or (),
        engine=engine,
        parts=parts,
        replicas=replicas,
        # what the environment has is secret: output may be kept, such as in a journal
        shows_token=_source_of(context, "token") != "ENVIRONMENT",
        say=print_message,
    )


def _source_of(context: typer.Context, name: str) -> str:
    """Return where the value of an option is from: COMMANDLINE, ENVIRONMENT or DEFAULT."""
    source = context.get_parameter_source(name)
    return "" if source is None else source.name


def _server() -> Callable[..., None]:
    """Return the function that serves a library, if its packages are installed."""
    try:
        from eqemb.server.run import serve as run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("fastapi", "uvicorn", "starlette", "h11"):
            raise
        raise UsageError(
            "`eqemb serve` needs FastAPI and uvicorn: pip install 'eqemb[serve]'"
        ) from None
    return run


@app.command("map")
def map_(
    library: LibraryPath,
    png: Annotated[
        Path | None,
        Option("--png", metavar="FILE", help="Also draw it to this .png, .svg or .pdf file."),
    ] = None,
    rebuild: Annotated[bool, Option("--rebuild", help="Compute the whole layout again.")] = False,
    as_json: Json = False,
) -> None:
    """Compute the two-dimensional map that the page shows.

    Adding papers keeps the layout and places new equations near similar ones. If more than a fifth
    of them were placed so, the whole layout is computed again.
    """
    from eqemb.facade.equation_map import map_of, map_summary
    from eqemb.facade.library import Library

    if png is not None:
        from eqemb.evaluation.plots import check, draw_map

        check(png)
    with Library.open(library) as opened, spinner("computing the map"):
        before = map_summary(opened.generation)
        made = map_of(opened, recompute=rebuild)
        if png is not None:
            draw_map(made, png)
    about = made.summary
    if as_json:
        print_json(about._asdict() | {"labels": len(about.labels)})
    else:
        print(f"map of {library}: {about.points:,} distinct equations, method {about.method}")
    if before is not None and before.outdated:
        print_message(f"the layout was computed again: {before.outdated}")
    elif about.placed:
        print_message(
            f"{about.placed:,} were placed near similar ones since the layout of"
            f" {about.layout['points']:,}; --rebuild computes it again"
        )
    if made.method == "pca":
        print_message("UMAP keeps neighbours together better: pip install 'eqemb[map]'")
