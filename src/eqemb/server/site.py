"""The pages at their addresses, and the files they need."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from starlette.exceptions import HTTPException

from eqemb.errors import UsageError
from eqemb.server.api import Limits
from eqemb.server.map_worker import MapMaker
from eqemb.server.responses import WEB, ShownError, counter_of, reply, sentence_of, tagged
from eqemb.server.service import LONGEST, Desk, Page, encoded
from eqemb.server.views import map_page, pages, report_page
from eqemb.server.views.manual import manual

router = APIRouter(include_in_schema=False)
HTML = "text/html; charset=utf-8"
_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

Text = Annotated[str, Query(max_length=LONGEST)]
Number = Annotated[int, Query(ge=1, le=1000)]


@router.get("/")
async def search(request: Request, limits: Limits, q: Text = "", page: Number = 1) -> Response:
    """The first page, and answers."""

    def made(desk: Desk) -> bytes:
        if not q.strip():
            return pages.home(desk.stats, desk.examples(), limits)
        try:
            answer = desk.search(q, Page(page), **limits)
        except UsageError as error:
            sentence = sentence_of(error, counter_of(request))
            raise ShownError(sentence, pages.refused(desk.stats, q, limits, sentence)) from None
        return pages.results(desk.stats, answer, limits)

    return await reply(request, made, HTML)


@router.get("/equation")
async def equation(request: Request, name: Text = "", latex: Text = "") -> Response:
    """An equation of the library, or one that is given."""

    def made(desk: Desk) -> bytes:
        asked = name or latex
        described, similar = desk.describe(asked, 8), desk.similar(asked, Page(1, 5))
        about = desk.equation(name) if name else similar["asked"]
        return pages.equation(desk.stats, about, described, similar)

    return await reply(request, made, HTML)


@router.get("/why")
async def why(request: Request, query: Text, equation: Text) -> Response:
    """Why an equation answers."""
    return await reply(request, lambda desk: pages.why(desk.stats, desk.why(query, equation)), HTML)


@router.get("/words")
async def words(request: Request, word: Text) -> Response:
    """Neighbours of a word."""
    return await reply(request, lambda desk: pages.words(desk.stats, desk.words(word, 20)), HTML)


@router.get("/articles")
async def articles(
    request: Request, words: Text = "", collection: Text = "", page: Number = 1
) -> Response:
    """The articles."""

    def made(desk: Desk) -> bytes:
        found = desk.articles(Page(page, 50), words=words, collection=collection or None)
        return pages.articles(desk.stats, found, words, collection)

    return await reply(request, made, HTML)


@router.get("/articles/{name:path}")
async def article(
    request: Request, name: str, part: Number | None = None, equation: int | None = None
) -> Response:
    """An article."""

    def made(desk: Desk) -> bytes:
        return pages.article(desk.stats, desk.article(name, part, equation), equation)

    return await reply(request, made, HTML)


@router.get("/report")
async def report(request: Request) -> Response:
    """What was read."""
    return await reply(request, report_page.report, HTML)


@router.get("/model")
async def model(request: Request) -> Response:
    """The model."""

    def made(desk: Desk) -> bytes:
        found = report_page.model(desk)
        if found is None:
            raise HTTPException(404)
        return found

    return await reply(request, made, HTML)


@router.get("/map")
async def map_(request: Request, q: Text = "") -> Response:
    """The map, which its script draws from `/v1/map`."""
    maker: MapMaker | None = request.app.state.maker
    if maker is not None and maker.is_due:
        page = await counter_of(request).ask(lambda desk: map_page.being_drawn(desk.stats))
        return Response(page, 202, {"Refresh": "5", "Cache-Control": "no-store"}, HTML)

    def made(desk: Desk) -> bytes:
        regions = json.loads(desk.map())["labels"]
        if not q.strip():
            return map_page.page(desk.stats, regions)
        try:
            return map_page.page(desk.stats, regions, q, desk.search(q, Page())["hits"])
        except UsageError as error:
            sentence = sentence_of(error, counter_of(request))
            page = map_page.page(desk.stats, regions, q, sentence=sentence)
            raise ShownError(sentence, page) from None

    return await reply(request, made, HTML)


@router.get("/docs")
async def docs(request: Request) -> Response:
    """The API for people."""
    described: dict[str, Any] = request.app.openapi()

    def made(desk: Desk) -> bytes:
        listed = desk.library.contents()
        first = next((name for name, count, _ in listed if count), "article")
        return manual(desk.stats, described, f"{first}#1")

    return await reply(request, made, HTML)


@router.get("/static/{name}")
async def static(request: Request, name: str) -> Response:
    """A file of the page."""
    files: dict[str, bytes] = request.app.state.files
    if name not in files:
        raise HTTPException(404)
    return tagged(request, files[name], _KINDS[name[name.rindex(".") :]])


@router.get("/openapi.json")
async def openapi(request: Request) -> Response:
    """The API for programs."""
    return tagged(request, encoded(request.app.openapi()), "application/json")


def files() -> dict[str, bytes]:
    """What `web/` has for browsers, by name."""
    return {path.name: path.read_bytes() for path in WEB.glob("*") if path.suffix in _KINDS}
