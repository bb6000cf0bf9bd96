"""HTTP responses: answers with ETags and a cache, errors with a status and one sentence."""

import hashlib
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from eqemb.errors import EqembError, UsageError
from eqemb.server.cache import LRUCache
from eqemb.server.queries import MissingError
from eqemb.server.service import Json, Service, encode_json
from eqemb.server.workers import BusyError, TimeLimitError, TooManyRequestsError, WorkerPool

WEB = Path(__file__).parent / "web"


def code_files() -> list[Path]:
    """The code and files that turn a library's answers into responses, in order."""
    return sorted([*Path(__file__).parent.rglob("*.py"), *filter(Path.is_file, WEB.glob("*"))])


def _code_digest() -> str:
    digest = hashlib.sha256()
    for path in code_files():
        digest.update(path.read_bytes())
    return digest.hexdigest()


CODE_DIGEST = _code_digest()


def pool_of(request: Request) -> WorkerPool:
    """The worker pool of the server."""
    found: WorkerPool = request.app.state.pool
    return found


def static_response(request: Request, body: bytes, media_type: str) -> Response:
    """Content that is the same for every library, with its digest as ETag."""
    tag = f'"{hashlib.sha256(body).hexdigest()[:24]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=media_type, headers=headers)


def entity_tag(version: str, path: str, query: bytes) -> str:
    """The ETag of the response to a request; `version` is that of the library."""
    identity = f"{version} {CODE_DIGEST} {path}?".encode("utf-8", "surrogateescape") + query
    return f'"{hashlib.sha256(identity).hexdigest()[:24]}"'


async def reply(
    request: Request,
    answer: Callable[[Service], Json | bytes],
    media_type: str = "application/json",
) -> Response:
    """The response to a request; `answer` is not called if the client or our cache has it."""
    pool = pool_of(request)
    tag = entity_tag(pool.version, request.scope["path"], request.scope["query_string"])
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    cache: LRUCache[bytes] = request.app.state.cache
    body = cache.get(tag)
    if body is None:
        made, missing = await pool.run(
            lambda service: (encode_json(answer(service)), service.library.parts_note)
        )
        body = made
        if missing:  # the next answer may be complete
            headers = {"Cache-Control": "no-store", "X-Eqemb-Parts": missing}
        else:
            cache.put(tag, made)
    return Response(body, media_type=media_type, headers=headers)


def status_of(error: Exception) -> int:
    """The HTTP status of an error."""
    if isinstance(error, HTTPException):
        return error.status_code
    kinds = {
        RequestValidationError: 422, MissingError: 404, UsageError: 400,
        TooManyRequestsError: 429, TimeLimitError: 504, BusyError: 503,
    }  # fmt: skip
    return next((code for kind, code in kinds.items() if isinstance(error, kind)), 500)


def message_of(error: Exception, pool: WorkerPool) -> str:
    """The message of an error for clients: without paths of this machine."""
    if isinstance(error, RequestValidationError):
        return "; ".join(_validation_message(problem) for problem in error.errors()[:3])
    if isinstance(error, HTTPException):
        if error.status_code == HTTPStatus.NOT_FOUND:
            return "there is no page at this address"
        return str(error.detail)
    if isinstance(error, EqembError) and status_of(error) != HTTPStatus.INTERNAL_SERVER_ERROR:
        return pool.public_message(str(error))
    return "an internal error occurred; the server's log has the details"


class PageError(UsageError):
    """An invalid query, with the page that reports it."""

    def __init__(self, message: str, page: bytes) -> None:
        super().__init__(message)
        self.page = page


def _validation_message(problem: Any) -> str:
    where = ".".join(str(part) for part in problem["loc"][1:]) or "the request"
    return f"{where}: {str(problem['msg']).lower()}"
