"""The URLs of the web pages and of the files they load."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from starlette.exceptions import HTTPException

from eqemb.errors import UsageError
from eqemb.search.query import EVERY_COLLECTION
from eqemb.server.api import By, Limits
from eqemb.server.exports import named_equations
from eqemb.server.map_worker import MapWorker
from eqemb.server.queries import MAX_QUERY_LENGTH
from eqemb.server.responses import WEB, PageError, message_of, pool_of, reply, static_response
from eqemb.server.service import Page, Service, encode_json
from eqemb.server.views import (
    article_list,
    article_page,
    equation_page,
    home,
    map_page,
    report_page,
    results,
    saved_page,
    why_page,
    words_page,
)
from eqemb.server.views.layout import article_link
from eqemb.server.views.manual import manual
from eqemb.server.views.panels import ASKED, names_of, open_panels, show_panel

router = APIRouter(include_in_schema=False)
HTML = "text/html; charset=utf-8"
_MEDIA_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

Text = Annotated[str, Query(max_length=MAX_QUERY_LENGTH)]
Number = Annotated[int, Query(ge=1, le=1000)]
#: Open panels, each as `PANEL:EQUATION`.
Opened = Annotated[list[str] | None, Query(alias="open")]


@router.get("/")
async def search(
    request: Request,
    limits: Limits,
    q: Text = "",
    page: Number = 1,
    opened: Opened = None,
    by: By = "all",
) -> Response:
    """The home page, and the results of a search."""

    def render(service: Service) -> bytes:
        if not q.strip():
            return home.home(service.stats, service.examples(), limits)
        try:
            answer = service.search(q, Page(page), by=by, for_page=True, **limits)
        except UsageError as error:
            message = message_of(error, pool_of(request))
            shown = results.invalid_query(service.stats, q, limits, message, by)
            raise PageError(message, shown) from None
        names = names_of(answer["hits"])
        if answer["kind"] == "equation":
            names[ASKED] = answer["asked"]["latex"]
        values = {"q": q, "by": None if by == "all" else by, **limits}
        values["page"] = page if page > 1 else None
        at = open_panels(service, opened or (), "/", values, names, q)
        return results.results(service.stats, answer, limits, at)

    return await reply(request, render, HTML)


@router.get("/equation")
async def equation(request: Request, name: Text = "", latex: Text = "") -> Response:
    """An equation of the library, or one given as LaTeX; a name given as LaTeX is a name, too."""

    def render(service: Service) -> bytes:
        given = name or latex
        found = service.equation(name) if name else service.asked(latex)
        if not name and "id" in found:
            found = service.equation(latex)
        return equation_page.equation(service, given, found)

    return await reply(request, render, HTML)


@router.get("/v1/panel")
async def panel(
    request: Request, kind: Text, equation: Text, query: Text | None = None
) -> Response:
    """A panel of an equation, as HTML for the script."""
    return await reply(
        request, lambda service: {"html": show_panel(service, kind, equation, query)}
    )


@router.get("/saved")
async def saved(
    request: Request,
    names: Annotated[list[str] | None, Query(alias="id")] = None,
    opened: Opened = None,
) -> Response:
    """A list of equations; the script keeps that of the user in the browser."""

    def render(service: Service) -> bytes:
        listed = list(dict.fromkeys(names or ()))
        found = named_equations(service, listed)
        shown = names_of(filter(None, found.values()))
        at = open_panels(service, opened or (), "/saved", {"id": listed}, shown)
        return saved_page.saved(service.stats, found, at)

    return await reply(request, render, HTML)


@router.get("/why")
async def why(request: Request, query: Text, equation: Text) -> Response:
    """Why an equation matches a query."""
    return await reply(
        request,
        lambda service: why_page.why(service.stats, service.why(query, equation)),
        HTML,
    )


@router.get("/words")
async def words(request: Request, word: Text) -> Response:
    """The words nearest to a word."""
    return await reply(
        request, lambda service: words_page.words(service.stats, service.words(word, 20)), HTML
    )


@router.get("/articles")
async def articles(
    request: Request, words: Text = "", collection: Text = "", page: Number = 1
) -> Response:
    """The list of articles."""

    def render(service: Service) -> bytes:
        only = None if collection in ("", EVERY_COLLECTION) else collection
        found = service.articles(Page(page, 50), words=words, collection=only)
        return article_list.articles(service.stats, found, words, collection)

    return await reply(request, render, HTML)


@router.get("/articles/{name:path}")
async def article(
    request: Request,
    name: str,
    part: Number | None = None,
    equation: int | None = None,
    opened: Opened = None,
) -> Response:
    """An article."""

    def render(service: Service) -> bytes:
        found = service.article(name, part, equation)
        shown = [block["equation"] for block in found["blocks"] if block["kind"] == "equation"]
        path, values = article_link(found["name"]), {"part": part, "equation": equation}
        at = open_panels(service, opened or (), path, values, names_of(shown))
        return article_page.article(service.stats, found, equation, at)

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
