"""The URLs of the web pages and of the files they load."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from starlette.exceptions import HTTPException

from eqemb.errors import UsageError
from eqemb.search.query import EVERY_COLLECTION
from eqemb.server.api import Limits
from eqemb.server.map_worker import MapWorker
from eqemb.server.queries import MAX_QUERY_LENGTH
from eqemb.server.responses import WEB, PageError, message_of, pool_of, reply, static_response
from eqemb.server.service import Page, Service, encode_json
from eqemb.server.views import map_page, pages, report_page
from eqemb.server.views.manual import manual

router = APIRouter(include_in_schema=False)
HTML = "text/html; charset=utf-8"
_MEDIA_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

Text = Annotated[str, Query(max_length=MAX_QUERY_LENGTH)]
Number = Annotated[int, Query(ge=1, le=1000)]


@router.get("/")
async def search(request: Request, limits: Limits, q: Text = "", page: Number = 1) -> Response:
    """The home page, and the results of a search."""

    def render(service: Service) -> bytes:
        if not q.strip():
            return pages.home(service.stats, service.examples(), limits)
        try:
            answer = service.search(q, Page(page), for_page=True, **limits)
        except UsageError as error:
            message = message_of(error, pool_of(request))
            shown = pages.invalid_query(service.stats, q, limits, message)
            raise PageError(message, shown) from None
        return pages.results(service.stats, answer, limits)

    return await reply(request, render, HTML)


@router.get("/equation")
async def equation(request: Request, name: Text = "", latex: Text = "") -> Response:
    """An equation of the library, or one given as LaTeX."""

    def render(service: Service) -> bytes:
        given = name or latex
        described, similar = (
            service.describe(given, 8),
            service.similar(given, Page(1, 5), for_page=True),
        )
        about = service.equation(name) if name else similar["asked"]
        return pages.equation(service.stats, about, described, similar)

    return await reply(request, render, HTML)


@router.get("/why")
async def why(request: Request, query: Text, equation: Text) -> Response:
    """Why an equation matches a query."""
    return await reply(
        request,
        lambda service: pages.why(service.stats, service.why(query, equation)),
        HTML,
    )


@router.get("/words")
async def words(request: Request, word: Text) -> Response:
    """The words nearest to a word."""
    return await reply(
        request, lambda service: pages.words(service.stats, service.words(word, 20)), HTML
    )


@router.get("/articles")
async def articles(
    request: Request, words: Text = "", collection: Text = "", page: Number = 1
) -> Response:
    """The list of articles."""

    def render(service: Service) -> bytes:
        only = None if collection in ("", EVERY_COLLECTION) else collection
        found = service.articles(Page(page, 50), words=words, collection=only)
        return pages.articles(service.stats, found, words, collection)

    return await reply(request, render, HTML)


@router.get("/articles/{name:path}")
async def article(
    request: Request, name: str, part: Number | None = None, equation: int | None = None
) -> Response:
    """An article."""

    def render(service: Service) -> bytes:
        return pages.article(service.stats, service.article(name, part, equation), equation)

    return await reply(request, render, HTML)


@router.get("/report")
async def report(request: Request) -> Response:
    """The reading report."""
    return await reply(request, report_page.report, HTML)


@router.get("/model")
async def model(request: Request) -> Response:
    """The model card."""

    def render(service: Service) -> bytes:
        found = report_page.model(service)
        if found is None:
            raise HTTPException(404)
        return found

    return await reply(request, render, HTML)


@router.get("/map")
async def map_(request: Request, q: Text = "") -> Response:
    """The map; its script draws it from `/v1/map`."""
    worker: MapWorker | None = request.app.state.map_worker
    if worker is not None and worker.is_pending:
        page = await pool_of(request).run(lambda service: map_page.pending(service.stats))
        return Response(page, 202, {"Refresh": "5", "Cache-Control": "no-store"}, HTML)

    def render(service: Service) -> bytes:
        about = service.map_summary()
        if not q.strip():
            return map_page.page(service.stats, about)
        try:
            hits = service.search(q, Page(), for_page=True)["hits"]
            return map_page.page(service.stats, about, q, hits)
        except UsageError as error:
            message = message_of(error, pool_of(request))
            page = map_page.page(service.stats, about, q, message=message)
            raise PageError(message, page) from None

    return await reply(request, render, HTML)


@router.get("/docs")
async def docs(request: Request) -> Response:
    """The documentation of the API."""
    described: dict[str, Any] = request.app.openapi()

    def render(service: Service) -> bytes:
        listed = service.library.contents()
        first = next((name for name, count, _ in listed if count), "article")
        return manual(service.stats, described, f"{first}#1")

    return await reply(request, render, HTML)


@router.get("/static/{name}")
async def static(request: Request, name: str) -> Response:
    """A style sheet, script or icon."""
    files: dict[str, bytes] = request.app.state.files
    if name not in files:
        raise HTTPException(404)
    return static_response(request, files[name], _MEDIA_TYPES[name[name.rindex(".") :]])


@router.get("/openapi.json")
async def openapi(request: Request) -> Response:
    """The OpenAPI description of the API."""
    return static_response(request, encode_json(request.app.openapi()), "application/json")


def files() -> dict[str, bytes]:
    """The files in `web/` that browsers load, by name."""
    return {path.name: path.read_bytes() for path in WEB.glob("*") if path.suffix in _MEDIA_TYPES}
