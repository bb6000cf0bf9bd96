"""The server as one application: API, pages, guard, and failures in the form that was asked for."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from eqemb import __version__
from eqemb.errors import EqembError
from eqemb.server import api, site
from eqemb.server.cache import Kept
from eqemb.server.map_worker import MapMaker
from eqemb.server.middleware import HEADERS, LOOPBACK, Guard
from eqemb.server.responses import ShownError, sentence_of, status_of
from eqemb.server.service import encoded
from eqemb.server.views import pages
from eqemb.server.workers import Counter

_log = logging.getLogger("eqemb.server")


def make_app(
    folder: Path,
    *,
    snippets: str = "full",
    token: str | None = None,
    hosts: frozenset[str] = LOOPBACK,
    threads: int = 4,
    seconds: float = 10.0,
    draws: bool = False,
) -> FastAPI:
    """A library as an application; without a token only `hosts` are answered.

    `draws`: a map is made where there is none.
    """
    counter = Counter(folder, snippets=snippets, threads=threads, seconds=seconds)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        maker = app.state.maker = MapMaker(counter.folder) if draws else None
        yield
        counter.close()
        if maker is not None:
            maker.close()

    app = FastAPI(
        title="eqemb",
        description="Ask a library of equations.",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,  # ours has a tag
        lifespan=life,
    )
    app.state.counter = counter
    app.state.kept = Kept[bytes](32_000_000)
    app.state.maker = None
    app.state.files = site.files()
    app.include_router(api.router)
    app.include_router(site.router)
    for kind in (EqembError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, _failed)
    app.add_middleware(Guard, token=token, hosts=hosts, refuse=failure)
    return app


async def _failed(request: Request, error: Exception) -> Response:
    """A failure as a sentence, for programs or for people."""
    counter: Counter = request.app.state.counter
    status = status_of(error)
    if isinstance(error, ShownError):
        return Response(error.page, status, {"Cache-Control": "no-store"}, site.HTML)
    if status == 500:
        _log.error("%s failed", request.url.path, exc_info=error)
    return failure(request.url.path, status, sentence_of(error, counter))


def failure(address: str, status: int, sentence: str) -> Response:
    """A sentence with a status, as JSON under /v1/ and as a page elsewhere."""
    # with the guard's headers: an answer that broke does not pass it
    headers = {**HEADERS, "Cache-Control": "no-store"}
    if status == 413:
        headers["Connection"] = "close"  # what was sent along is not read
    if status == 503:
        headers["Retry-After"] = "1"
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if address.startswith("/v1/"):
        body, kind = encoded({"error": sentence}), "application/json"
    else:
        body, kind = pages.failure(status, sentence, address), site.HTML
    return Response(body, status, headers, kind)
