"""ASGI middleware that lets worker processes answer the requests for a library.

The front process answers from its cache, or says that the client's copy is still valid (304);
everything else that needs the library goes to a worker, whose response is passed on as it is.
"""

import asyncio
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from eqemb.server.cache import LRUCache
from eqemb.server.clients import client_of
from eqemb.server.health import HEALTH_PATH
from eqemb.server.middleware import MAX_MCP_BYTES, MCP_PATH
from eqemb.server.processes import ProcessPool, WorkerRequest, WorkerResponse
from eqemb.server.responses import entity_tag, status_of
from eqemb.server.workers import BusyError

#: The first parts of paths that need no library, and one that this process answers.
_OWN_PARTS, _OWN_PATHS = frozenset(("static", "openapi.json")), frozenset((HEALTH_PATH,))
#: Headers that the MCP server reads, and the start of the names of others.
_MCP_HEADERS, _MCP_PREFIX = frozenset((b"accept", b"content-type")), b"mcp-"


def _part(path: str) -> str:
    return path.split("/", 2)[1] if path.startswith("/") else path


class ForwardingMiddleware:
    """Passes requests to worker processes, unless this process needs no library to answer them."""

    def __init__(
        self,
        app: ASGIApp,
        pool: ProcessPool,
        cache: LRUCache[bytes],
        version: Callable[[], str],
        is_own: Callable[[str], bool],
        refuse: Callable[[str, int, str], Response],
    ) -> None:
        """Paths for which `is_own` is true are not forwarded.

        `version` changes with the library; `refuse(path, status, message)` makes an error response.
        """
        self._app, self._pool, self._cache = app, pool, cache
        self._version, self._is_own, self._refuse = version, is_own, refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http" or not self._is_for(scope["path"]):
            await self._app(scope, receive, send)
            return
        path, is_mcp = scope["path"], scope["path"] == MCP_PATH
        response = None if is_mcp else self._known(scope)
        if response is None:
            body = await _body(receive) if is_mcp else None
            if body is not None and len(body) > MAX_MCP_BYTES:
                message = f"the request is too long: at most {MAX_MCP_BYTES:,} bytes are allowed"
                response = self._refuse(path, 413, message)
            else:
                response = await self._ask(scope, _request(scope, body), receive)
        await response(scope, receive, send)

    def _is_for(self, path: str) -> bool:
        return _part(path) not in _OWN_PARTS and path not in _OWN_PATHS and not self._is_own(path)

    def _known(self, scope: Scope) -> Response | None:
        """The response if the client or our cache has it."""
        tag = self._tag(scope)
        if tag in Headers(scope=scope).get("if-none-match", ""):
            return Response(
                status_code=304, headers={"ETag": tag, "Cache-Control": "private, no-cache"}
            )
        cached = self._cache.get(f"response {tag}")
        if cached is None:
            return None
        kind, _, body = cached.partition(b"\n")
        tagged = [(b"etag", tag.encode()), (b"cache-control", b"private, no-cache")]
        return _response(WorkerResponse(200, [*tagged, (b"content-type", kind)], body))

    def _tag(self, scope: Scope) -> str:
        return entity_tag(self._version(), scope["path"], scope["query_string"])

    async def _ask(self, scope: Scope, request: WorkerRequest, receive: Receive) -> Response:
        """The response of a worker."""
        tag, gone = self._tag(scope), asyncio.ensure_future(_disconnected(receive))
        try:
            found = await self._pool.submit(request, client_of(scope), gone)
        except BusyError as error:
            return self._refuse(request.path, status_of(error), str(error))
        finally:
            gone.cancel()
        made = dict(found.headers)
        if found.status == 200 and made.get(b"etag") == tag.encode():
            self._cache.put(f"response {tag}", made[b"content-type"] + b"\n" + found.body)
        return _response(found)


def _request(scope: Scope, body: bytes | None) -> WorkerRequest:
    """What a worker is asked for a request."""
    if body is None:
        return WorkerRequest(scope["path"], scope["query_string"])
    headers = tuple(
        (name, value)
        for name, value in scope["headers"]
        if name in _MCP_HEADERS or name.startswith(_MCP_PREFIX)
    )
    return WorkerRequest(scope["path"], scope["query_string"], headers, body)


async def _body(receive: Receive) -> bytes:
    """The body of a request to the MCP server, or the start of one that is too long."""
    body, more = b"", True
    while more and len(body) <= MAX_MCP_BYTES:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body


async def _disconnected(receive: Receive) -> None:
    """Wait until the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _response(found: WorkerResponse) -> Response:
    """Return the response of a worker as one of this process."""
    made = Response(found.body, found.status)
    length = (b"content-length", str(len(found.body)).encode())
    made.raw_headers = [length, *(pair for pair in found.headers if pair[0] != b"content-length")]
    return made
