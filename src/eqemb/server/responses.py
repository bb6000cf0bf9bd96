"""How answers travel: whole, with a tag by which they are not sent twice; failures as sentences."""

import hashlib
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from eqemb.errors import EqembError, UsageError
from eqemb.server.cache import Kept
from eqemb.server.service import Desk, Json, MissingError, encoded
from eqemb.server.workers import BusyError, Counter

WEB = Path(__file__).parent / "web"


def _made_by() -> str:
    """Stands for the code and files that make answers of a library."""
    files = [*Path(__file__).parent.glob("*.py"), *WEB.glob("*")]
    digest = hashlib.sha256()
    for path in sorted(path for path in files if path.is_file()):
        digest.update(path.read_bytes())
    return digest.hexdigest()


MADE_BY = _made_by()


def counter_of(request: Request) -> Counter:
    """Where this server's questions are answered."""
    found: Counter = request.app.state.counter
    return found


def tagged(request: Request, body: bytes, media_type: str) -> Response:
    """Something that is the same for everybody, with its own digest for a tag."""
    tag = f'"{hashlib.sha256(body).hexdigest()[:24]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=media_type, headers=headers)


async def reply(
    request: Request,
    question: Callable[[Desk], Json | bytes],
    media_type: str = "application/json",
) -> Response:
    """The answer to a question; nothing is asked where the other side has it already."""
    counter = counter_of(request)
    said = f"{counter.edition} {MADE_BY} {request.url.path}?{request.url.query}"
    tag = f'"{hashlib.sha256(said.encode()).hexdigest()[:24]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    kept: Kept[bytes] = request.app.state.kept
    body = kept.get(tag)
    if body is None:
        body = await counter.ask(lambda desk: encoded(question(desk)))
        kept.put(tag, body)
    return Response(body, media_type=media_type, headers=headers)


def status_of(error: Exception) -> int:
    """What a failure is called in HTTP."""
    if isinstance(error, HTTPException):
        return error.status_code
    kinds = {RequestValidationError: 422, MissingError: 404, BusyError: 503, UsageError: 400}
    return next((code for kind, code in kinds.items() if isinstance(error, kind)), 500)


def sentence_of(error: Exception, counter: Counter) -> str:
    """What a failure is called in words, with no path of ours in it."""
    if isinstance(error, RequestValidationError):
        return "; ".join(_complaint(problem) for problem in error.errors()[:3])
    if isinstance(error, HTTPException):
        if error.status_code == HTTPStatus.NOT_FOUND:
            return "there is nothing at this address"
        return str(error.detail)
    if isinstance(error, EqembError) and status_of(error) != HTTPStatus.INTERNAL_SERVER_ERROR:
        return counter.for_strangers(str(error))
    return "the server failed to answer; its log says why"


class ShownError(UsageError):
    """A question that cannot be asked so, with the page that says so."""

    def __init__(self, sentence: str, page: bytes) -> None:
        super().__init__(sentence)
        self.page = page


def _complaint(problem: Any) -> str:
    where = ".".join(str(part) for part in problem["loc"][1:]) or "the request"
    return f"{where}: {str(problem['msg']).lower()}"
