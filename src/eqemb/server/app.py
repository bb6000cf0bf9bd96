"""The application: API, pages, middleware, and errors in the format of the request."""

import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Route

from eqemb import __version__
from eqemb.errors import EqembError
from eqemb.facade.library import Library
from eqemb.server import api, site, symbol_pages
from eqemb.server.cache import LRUCache
from eqemb.server.forwarding import ForwardingMiddleware
from eqemb.server.health import health_of_processes, health_of_threads
from eqemb.server.map_worker import MapWorker
from eqemb.server.middleware import (
    LOOPBACK,
    MCP_PATH,
    PUBLIC_PATHS,
    SECURITY_HEADERS,
    AccessMiddleware,
)
from eqemb.server.processes import ProcessPool
from eqemb.server.ray_parts import RayParts
from eqemb.server.responses import PageError, message_of, status_of
from eqemb.server.service import Json, encode_json
from eqemb.server.views import error_page
from eqemb.server.workers import TIME_LIMIT, WorkerPool

_log = logging.getLogger("eqemb.server")
#: Bytes of responses that are cached.
_CACHE_BYTES = 32_000_000
#: The URLs of the API and of pages.
_ROUTERS = (api.router, site.router, symbol_pages.router)


def make_app(  # noqa: PLR0913
    folder: Path,
    *,
    snippets: str = "full",
    token: str | None = None,
    hosts: frozenset[str] = LOOPBACK,
    workers: int = 0,
    threads: int = 4,
    seconds: float = TIME_LIMIT,
    draws: bool = False,
    only_agents: bool = False,
    parts: RayParts | None = None,
) -> FastAPI:
    """The application that serves a library.

    Without a `token`, only requests for `hosts` are answered. `workers` is the number of processes
    that answer; with 0, `threads` of this process do. `seconds` is the time limit of an answer.
    `draws` creates a missing map in the background. `only_agents` leaves out API and pages. The MCP
    server is part of the application if its SDK is installed. `parts` search the library, if they
    are deployed; then there are no other processes.
    """
    pool = WorkerPool(
        folder,
        snippets=snippets,
        threads=threads,
        seconds=seconds,
        open_library=Library.open if parts is None else parts.open_library,
    )
    pool.check()
    serves_agents = only_agents or find_spec("mcp") is not None
    processes: ProcessPool | None = None
    if workers and parts is None:
        processes = ProcessPool(pool.folder, snippets=snippets, workers=workers, seconds=seconds)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        worker = app.state.map_worker = None
        async with AsyncExitStack() as stack:
            if processes is not None:
                processes.start()
                stack.push_async_callback(processes.close)
            elif serves_agents:
                await stack.enter_async_context(add_agents(app, pool))
            if draws:
                worker = app.state.map_worker = MapWorker(pool.folder)
            yield
        pool.close()
        if worker is not None:
            worker.close()

    app = make_answering_app(pool, lifespan=lifespan, only_agents=only_agents)
    app.state.processes, app.state.parts = processes, parts
    if processes is not None:
        app.state.health = health_of_processes(processes)

        def is_own(path: str) -> bool:
            if path == MCP_PATH:
                return not serves_agents
            worker: MapWorker | None = app.state.map_worker
            return only_agents or (path == "/map" and worker is not None and worker.is_pending)

        app.add_middleware(
            ForwardingMiddleware,
            pool=processes,
            cache=app.state.cache,
            version=lambda: pool.version,
            is_own=is_own,
            refuse=error_response,
        )
    app.add_middleware(AccessMiddleware, token=token, hosts=hosts, refuse=error_response)
    return app


def add_agents(app: FastAPI, pool: WorkerPool) -> AbstractAsyncContextManager[None]:
    """Add the MCP server to an application; it answers while the context is open."""
    from eqemb.server.agents.transport import make_endpoint

    endpoint = make_endpoint(pool)
    # POST alone: without sessions, there is no stream to GET
    app.router.routes.append(Route(MCP_PATH, endpoint.app, methods=["POST"]))
    return endpoint.run()


def make_answering_app(
    pool: WorkerPool,
    *,
    cache_bytes: int = _CACHE_BYTES,
    lifespan: Callable[[FastAPI], AbstractAsyncContextManager[None]] | None = None,
    only_agents: bool = False,
) -> FastAPI:
    """The application without access control, as worker processes use it."""
    app = FastAPI(
        title="eqemb",
        description="Search a library of equations.",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,  # `site` serves it, with an ETag
        redirect_slashes=False,  # to a whole URL, of which a worker knows neither host nor port
        lifespan=lifespan,
    )
    app.state.pool, app.state.health = pool, health_of_threads(pool)
    app.state.cache = LRUCache[bytes](cache_bytes)
    app.state.map_worker = app.state.parts = None
    app.state.files = site.files()
    if not only_agents:
        for router in _ROUTERS:
            app.include_router(router)
    for kind in (EqembError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, _handle_error)
    return app


async def _handle_error(request: Request, error: Exception) -> Response:
    """The response to a request that failed."""
    pool: WorkerPool = request.app.state.pool
    status = status_of(error)
    if isinstance(error, PageError):
        return Response(error.page, status, {"Cache-Control": "no-store"}, site.HTML)
    if status == 500:
        _log.error("request for %s failed", request.url.path, exc_info=error)
    url = request.url.path
    stats = None
    # the stats are of the library, and whoever asks for a public path may have no token
    if status < 500 and not _is_for_programs(url) and not url.startswith(PUBLIC_PATHS):
        with contextlib.suppress(EqembError):  # too busy: a page without navigation will do
            stats = await pool.run(lambda service: service.stats)
    return error_response(url, status, message_of(error, pool), stats)


def _is_for_programs(url: str) -> bool:
    return url.startswith("/v1/") or url == MCP_PATH


def error_response(url: str, status: int, message: str, stats: Json | None = None) -> Response:
    """An error as JSON for programs (/v1/, /mcp) and as a page elsewhere.

    The page has a navigation if the `stats` of the library are given.
    """
    # a response to an unhandled exception does not pass through the middleware
    headers = {**SECURITY_HEADERS, "Cache-Control": "no-store"}
    if status == 413:
        headers["Connection"] = "close"  # the body is not read
    if status in (429, 503, 504):
        headers["Retry-After"] = "1"
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if _is_for_programs(url):
        body, kind = encode_json({"error": message}), "application/json"
    else:
        body, kind = error_page.error(status, message, url, stats), site.HTML
    return Response(body, status, headers, kind)
