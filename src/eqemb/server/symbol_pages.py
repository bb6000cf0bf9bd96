"""The URLs of pages about symbols: glossaries, notation, and what the script loads."""

from fastapi import APIRouter, Request, Response

from eqemb.errors import UsageError
from eqemb.server.queries import MissingError
from eqemb.server.responses import PageError, message_of, pool_of, reply
from eqemb.server.service import Service
from eqemb.server.site import HTML, Text
from eqemb.server.views import symbols_view

router = APIRouter(include_in_schema=False)


@router.get("/symbols")
async def symbols(
    request: Request, equation: Text = "", article: Text = "", paragraph: int | None = None
) -> Response:
    """The marked formulas of an equation, or of a paragraph of an article, and their symbols."""

    def render(service: Service) -> bytes:
        if equation:
            return symbols_view.fragment(service.symbols.where_named(equation))
        if not article or paragraph is None:
            raise MissingError("give an equation, or an article and a paragraph")
        return symbols_view.fragment(service.symbols.where_paragraph(article, paragraph))

    return await reply(request, render, HTML)


@router.get("/glossary")
async def glossary(request: Request, article: Text) -> Response:
    """All symbols that an article defines."""
    return await reply(
        request,
        lambda service: symbols_view.glossary(
            service.stats, service.symbols.glossary(article, for_page=True)
        ),
        HTML,
    )


@router.get("/notation")
async def notation(request: Request, q: Text = "") -> Response:
    """How articles denote a thing, or what they mean by a symbol."""

    def render(service: Service) -> bytes:
        if not q.strip():
            return symbols_view.notation(service.stats, "", None)
        try:
            found = service.symbols.notation(q, 20, for_page=True)
        except UsageError as error:
            message = message_of(error, pool_of(request))
            shown = symbols_view.notation(service.stats, q, None, message)
            raise PageError(message, shown) from None
        return symbols_view.notation(service.stats, q, found)

    return await reply(request, render, HTML)
