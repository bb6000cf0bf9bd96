"""The command that serves: a page and an API."""

from typing import Annotated

import typer

from eqemb.cli.shell import LibraryPath, app, say
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
) -> None:
    """Serve a library as a page and an API."""
    try:
        from eqemb.server.running import serve as run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("fastapi", "uvicorn", "starlette"):
            raise
        raise UsageError("serving needs FastAPI and uvicorn: pip install 'eqemb[serve]'") from None
    run(library, host=host, port=port, snippets=snippets, token=token, browse=browse, say=say)
