"""The command for language-model agents: mcp."""

from typing import Annotated

from eqemb.cli.app import app
from eqemb.cli.console import print_message
from eqemb.cli.options import LibraryPath, Option
from eqemb.errors import UsageError, quoted

_PACKAGES = ("mcp", "mcp_types", "fastapi", "uvicorn", "starlette", "h11", "pydantic", "anyio")


@app.command()
def mcp(
    library: LibraryPath,
    http: Annotated[
        str | None,
        Option(
            "--http",
            metavar="HOST:PORT",
            help="Serve over HTTP at /mcp instead of stdio; port 0 takes any free port.",
        ),
    ] = None,
    snippets: Annotated[
        str, Option(help="How much text of the papers to quote: full, short or none.")
    ] = "full",
    token: Annotated[
        str | None,
        Option(
            envvar="EQEMB_TOKEN",
            help="With --http, clients must send this token; required unless the host is local.",
        ),
    ] = None,
) -> None:
    """Serve a library to language-model agents (MCP).

    MCP is the Model Context Protocol. Without --http it talks to the one client that started it,
    over stdin and stdout. `eqemb serve` also serves it, at /mcp.
    """
    address = None if http is None else _address(http)
    try:
        from eqemb.server.agents.transport import serve_stdio
        from eqemb.server.run import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _PACKAGES:
            raise
        raise UsageError("`eqemb mcp` needs the MCP SDK: pip install 'eqemb[mcp]'") from None
    if address is None:
        serve_stdio(library, snippets=snippets)
        return
    serve(
        library,
        host=address[0],
        port=address[1],
        snippets=snippets,
        token=token,
        draws=False,
        only_agents=True,
        say=print_message,
    )


def _address(text: str) -> tuple[str, int]:
    """Return host and port of HOST:PORT, [HOST]:PORT or PORT."""
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) <= 65_535):
        raise UsageError(f"--http must be HOST:PORT, such as 127.0.0.1:8001, not {quoted(text)}")
    return host.strip("[]") or "127.0.0.1", int(port)
