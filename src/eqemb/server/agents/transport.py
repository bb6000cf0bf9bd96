"""The MCP server over stdio, for one client that starts it, and as an endpoint of the HTTP server.

Over HTTP every request is answered by itself: there are no sessions and no open streams, so that
clients that leave cost nothing. `AccessMiddleware` guards it as it guards the API.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import NamedTuple

import anyio
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from eqemb.server.agents.protocol import make_server
from eqemb.server.middleware import MAX_MCP_BYTES
from eqemb.server.workers import WorkerPool


class Endpoint(NamedTuple):
    """An ASGI application, which answers while the context of `run` is open."""

    app: ASGIApp
    run: Callable[[], AbstractAsyncContextManager[None]]


def make_endpoint(pool: WorkerPool) -> Endpoint:
    """Return the MCP server of a pool's library for HTTP."""
    server = make_server(pool)
    server.streamable_http_app(
        stateless_http=True,
        json_response=True,
        max_request_body_size=MAX_MCP_BYTES,
        # our own middleware checks host, origin and token
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return Endpoint(server.session_manager.asgi_app, server.session_manager.run)


def serve_stdio(folder: Path, *, snippets: str = "full") -> None:
    """Answer one client on stdin and stdout until it closes them."""
    pool = WorkerPool(folder, snippets=snippets, threads=2)
    pool.check()
    try:
        anyio.run(make_server(pool).run_stdio_async)
    finally:
        pool.close()
