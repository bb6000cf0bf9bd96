"""ASGI middleware that lets worker processes answer the requests for a library.

The front process answers from its cache, or says that the client's copy is still valid (304);
everything else that needs the library goes to a worker, whose response is passed on as it is.
"""

from collections.abc import Callable, Iterable
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from eqemb.server.cache import LRUCache
from eqemb.server.processes import ProcessPool, WorkerRequest, WorkerResponse
from eqemb.server.responses import entity_tag
from eqemb.server.workers import BusyError

#: The first parts of paths that need no library, and a path that answers without one.
_OWN_PARTS, _OWN_PATHS = frozenset(("static", "openapi.json")), frozenset(("/v1/healthz",))


def forwarded_parts(routes: Iterable[BaseRoute]) -> frozenset[str]:
    """Return the first parts of the paths of routes that need the library."""
    return frozenset(_part(route.path) for route in routes if isinstance(route, Route)) - _OWN_PARTS


def _part(path: str) -> str:
    return path.split("/", 2)[1] if path.startswith("/") else path


class ForwardingMiddleware:
    """Passes requests for the library to worker processes."""

    def __init__(
        self,
        app: ASGIApp,
        pool: ProcessPool,
        cache: LRUCache[bytes],
        parts: frozenset[str],
        version: Callable[[], str],
        is_own: Callable[[str], bool],
        refuse: Callable[[str, int, str], Response],
    ) -> None:
        """`parts` are the first parts of paths that are forwarded, unless `is_own` is true.

        `version` changes with the library; `refuse(path, status, message)` makes an error response.
        """
        self._app, self._pool, self._cache, self._parts = app, pool, cache, parts
        self._version, self._is_own, self._refuse = version, is_own, refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http" or scope["method"] != "GET" or not self._is_for(scope["path"]):
            await self._app(scope, receive, send)
            return
        response = await self._respond(scope["path"], scope["query_string"], Headers(scope=scope))
        await response(scope, receive, send)

    def _is_for(self, path: str) -> bool:
        return _part(path) in self._parts and path not in _OWN_PATHS and not self._is_own(path)

    async def _respond(self, path: str, query: bytes, headers: Headers) -> Response:
        tag = entity_tag(self._version(), path, query)
        if tag in headers.get("if-none-match", ""):
            return Response(
                status_code=304, headers={"ETag": tag, "Cache-Control": "private, no-cache"}
            )
        cached = self._cache.get(f"response {tag}")
        if cached is not None:
            kind, _, body = cached.partition(b"\n")
            tagged = [(b"etag", tag.encode()), (b"cache-control", b"private, no-cache")]
            return _response(WorkerResponse(200, [*tagged, (b"content-type", kind)], body))
        try:
            found = await self._pool.submit(WorkerRequest(path, query))
        except BusyError as error:
            return self._refuse(path, HTTPStatus.SERVICE_UNAVAILABLE, str(error))
        made = dict(found.headers)
        if found.status == HTTPStatus.OK and made.get(b"etag") == tag.encode():
            self._cache.put(f"response {tag}", made[b"content-type"] + b"\n" + found.body)
        return _response(found)


def _response(found: WorkerResponse) -> Response:
    """Return the response of a worker as one of this process."""
    made = Response(found.body, found.status)
    length = (b"content-length", str(len(found.body)).encode())
    made.raw_headers = [length, *(pair for pair in found.headers if pair[0] != b"content-length")]
    return made
