"""The API: one URL for each kind of query, all of them GET, so that every answer has a link."""

import asyncio
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.dependencies.models import Dependant

from eqemb.errors import UsageError, quoted
from eqemb.library.database import ALL
from eqemb.search.match_kinds import MATCH_KINDS
from eqemb.server import schemas
from eqemb.server.exports import EXPORT_TYPES, MAX_EXPORTED, export_equations, export_results
from eqemb.server.health import HealthCheck
from eqemb.server.queries import MAX_QUERY_LENGTH
from eqemb.server.ray_parts import RayParts
from eqemb.server.responses import reply
from eqemb.server.service import MAX_FRAGMENTS, MAX_HITS, Json, Page, Service, encode_json

_ERRORS = {
    400: "The query is invalid, or a parameter is unknown.",
    401: "The server requires a token.",
    404: "Nothing has this name.",
    413: "The request has a body; put the whole query into the URL.",
    414: "The URL is too long.",
    421: "The server does not answer requests for this host.",
    422: "A parameter is missing or invalid.",
    429: "You have too many requests waiting, or sent too many wrong tokens; try again later.",
    503: "The server is busy; try again.",
    504: "The answer took longer than the time limit.",
}


async def known_parameters(request: Request) -> None:
    """Refuse a parameter that the address does not have: a misspelt filter would be no filter."""
    known = dict.fromkeys(_parameters(request.scope["route"].dependant))
    given = request.query_params.keys() - {*known, "token"}  # the middleware checks tokens
    if unknown := min(given, default=None):
        takes = ", ".join(known) or "none"
        raise UsageError(f"unknown parameter {quoted(unknown)}; the parameters are: {takes}")


def _parameters(dependant: Dependant) -> Iterator[str]:
    """The names of the query parameters of a route, and of what it depends on."""
    yield from (field.alias for field in dependant.query_params)
    for part in dependant.dependencies:
        yield from _parameters(part)


router = APIRouter(
    prefix="/v1",
    dependencies=[Depends(known_parameters)],
    responses={
        status: {"model": schemas.ErrorSchema, "description": text}
        for status, text in _ERRORS.items()
    },
)
#: Most characters of a LaTeX fragment in `has`.
_MAX_FRAGMENT_LENGTH = 200
#: Most articles that a search leaves out.
_MAX_WITHOUT = 50

By = Annotated[
    Literal["all", "words", "meaning", "structure", "paper"],
    Query(
        description="Rank by the whole score, by one part of it, or by the method of the EqEmb"
        " paper (paper)."
    ),
]
Count = Annotated[int, Query(ge=1, le=50, description="Number of results.")]
Name = Annotated[
    str,
    Query(
        max_length=MAX_QUERY_LENGTH,
        description="A formula, or a name: ARTICLE#4, ARTICLE(2.3), ARTICLE:label.",
        examples=[r"F = \frac{2PR}{P+R}"],
    ),
]


async def page(  # async, as is `limits`: others run in a thread, which costs more than they do
    page: Annotated[int, Query(ge=1, le=MAX_HITS, description="Page number, from 1.")] = 1,
    size: Annotated[int, Query(ge=1, le=50, description="Results on a page.")] = 10,
) -> Page:
    """The requested page."""
    return Page(page, size)


async def limits(
    collection: Annotated[
        str, Query(max_length=200, description="Search only this collection.")
    ] = "",
    article: Annotated[str, Query(max_length=500, description="Search only this article.")] = "",
    year: Annotated[
        str,
        Query(
            max_length=9,
            description="2015, 2015-2018, 2015- or -2018; the year comes from the arXiv id.",
        ),
    ] = "",
    section: Annotated[
        str, Query(max_length=200, description="Words in the title of the section.")
    ] = "",
    has: Annotated[
        list[str] | None,
        Query(description="LaTeX that the equation must contain; can be repeated."),
    ] = None,
    numbered: Annotated[bool, Query(description="Only numbered equations.")] = False,  # noqa: FBT002
    without: Annotated[
        list[str] | None, Query(description="Leave out this article; can be repeated.")
    ] = None,
    kind: Annotated[
        str, Query(max_length=40, description=f"Only one kind of match: {', '.join(MATCH_KINDS)}.")
    ] = "",
) -> Json:
    """The filters of a search; empty parameters are ignored."""
    fragments = [latex for latex in has or () if latex.strip()]
    if len(fragments) > MAX_FRAGMENTS or any(
        len(latex) > _MAX_FRAGMENT_LENGTH for latex in fragments
    ):
        raise UsageError(
            f"has: at most {MAX_FRAGMENTS} fragments of {_MAX_FRAGMENT_LENGTH} characters each"
            " are allowed"
        )
    articles = [name.strip() for name in without or () if name.strip()]
    if len(articles) > _MAX_WITHOUT:
        raise UsageError(f"without: at most {_MAX_WITHOUT} articles are allowed")
    given = {"collection": collection, "article": article, "year": year, "section": section}
    return {name: value.strip() or None for name, value in given.items()} | {
        "has": fragments,
        "numbered": numbered,
        "without": articles,
        "kind": kind.strip() or None,
    }


Paged = Annotated[Page, Depends(page)]
Limits = Annotated[dict[str, Any], Depends(limits)]


@router.get("/search", summary="Search by words and LaTeX", response_model=schemas.SearchSchema)
async def search(
    request: Request,
    page: Paged,
    limits: Limits,
    q: Annotated[
        str,
        Query(
            max_length=MAX_QUERY_LENGTH,
            description='Words, "phrases", -excluded words and formulas (LaTeX, Unicode, MathML). A'
            " single formula is answered like `similar`.",
            examples=["cosine similarity"],
        ),
    ],
    by: By = "all",
) -> Response:
    """Find equations by the words around them."""
    return await reply(request, lambda service: service.search(q, page, by=by, **limits))


@router.get("/similar", summary="Similar equations", response_model=schemas.SearchSchema)
async def similar(
    request: Request, page: Paged, limits: Limits, equation: Name, by: By = "all"
) -> Response:
    """Find equations similar to a given one. In LaTeX, ?x matches anything."""
    return await reply(request, lambda service: service.similar(equation, page, by=by, **limits))


@router.get("/export.{ending}", summary="Download results", response_class=Response)
async def export(
    request: Request,
    limits: Limits,
    ending: Annotated[
        Literal["csv", "json", "bib", "tex"],
        Path(description="The format: CSV, JSON, BibTeX of the papers, LaTeX of the equations."),
    ],
    q: Annotated[
        str,
        Query(
            max_length=MAX_QUERY_LENGTH,
            description="A query, as for `search`.",
            examples=["cosine similarity"],
        ),
    ] = "",
    by: By = "all",
    count: Annotated[int, Query(ge=1, le=MAX_EXPORTED, description="Most hits.")] = MAX_EXPORTED,
    id: Annotated[  # noqa: A002
        list[str] | None,
        Query(description="Names of equations instead of a query; can be repeated."),
    ] = None,
) -> Response:
    """Get the hits of a query as a file, without weak ones if there are others.

    In CSV, a text that a spreadsheet would run as a formula has an apostrophe before it.
    """

    def answer(service: Service) -> bytes:
        if id:
            return export_equations(service, ending, id)
        return export_results(service, ending, q, count=count, by=by, **limits)

    return await reply(request, answer, EXPORT_TYPES[ending])


@router.get("/describe", summary="Describe an equation", response_model=schemas.DescriptionSchema)
async def describe(request: Request, equation: Name, count: Count = 10) -> Response:
    """List words that describe an equation, each with a sentence as evidence."""
    return await reply(request, lambda service: service.describe(equation, count))


@router.get("/symbols", summary="Symbols of an equation", response_model=schemas.SymbolsSchema)
async def symbols(
    request: Request,
    equation: Annotated[
        str,
        Query(max_length=MAX_QUERY_LENGTH, description="ARTICLE#4, ARTICLE(2.3) or ARTICLE:label."),
    ],
) -> Response:
    """List the symbols of an equation with what its article says that they mean."""
    return await reply(request, lambda service: service.symbols.equation(equation))


@router.get("/glossary", summary="Symbols of an article", response_model=schemas.GlossarySchema)
async def glossary(
    request: Request,
    article: Annotated[str, Query(max_length=500, description="The name of the article.")],
) -> Response:
    """List the symbols that an article defines, in alphabetical order."""
    return await reply(request, lambda service: service.symbols.glossary(article))


@router.get("/notation", summary="Notation of the library", response_model=schemas.NotationSchema)
async def notation(
    request: Request,
    q: Annotated[
        str,
        Query(
            max_length=MAX_QUERY_LENGTH,
            description="Words, or one symbol as LaTeX.",
            examples=["learning rate"],
        ),
    ],
    count: Count = 10,
) -> Response:
    """List the symbols that articles use for a thing, or what they mean by a symbol."""
    return await reply(request, lambda service: service.symbols.notation(q, count))


@router.get("/words", summary="Nearest words", response_model=schemas.NeighboursSchema)
async def words(
    request: Request,
    word: Annotated[
        str, Query(max_length=200, description="A word of the library.", examples=["cosine"])
    ],
    count: Count = 10,
) -> Response:
    """List the words nearest to a word in the library's model."""
    return await reply(request, lambda service: service.words(word, count))


@router.get("/why", summary="Explain a match", response_model=schemas.ExplanationSchema)
async def why(
    request: Request,
    query: Annotated[
        str,
        Query(
            max_length=MAX_QUERY_LENGTH,
            description="Words, LaTeX or the name of an equation.",
            examples=["cosine similarity"],
        ),
    ],
    equation: Name,
) -> Response:
    """Show the symbols and words that an equation shares with a query."""
    return await reply(request, lambda service: service.why(query, equation))


@router.get("/suggest", summary="Complete a word", response_model=schemas.SuggestionsSchema)
async def suggest(
    request: Request,
    start: Annotated[
        str,
        Query(min_length=1, max_length=100, description="The start of a word.", examples=["cos"]),
    ],
    count: Count = 8,
) -> Response:
    """List words of the library with a prefix, those near most equations first."""
    return await reply(request, lambda service: service.suggest(start, count))


@router.get("/render", summary="Render a query", response_model=schemas.RenderedQuerySchema)
async def render(
    request: Request,
    q: Annotated[
        str,
        Query(
            max_length=MAX_QUERY_LENGTH,
            description="A query, as for `search`.",
            examples=[r"loss $\sum_i x_i^2$"],
        ),
    ],
) -> Response:
    """Split a query into words and formulas, with the formulas as MathML."""
    return await reply(request, lambda service: service.render(q))


@router.get(
    "/equations/{name:path}",
    summary="Get an equation",
    response_model=schemas.EquationDetailsSchema,
)
async def equation(
    request: Request,
    name: Annotated[str, Path(description="ARTICLE%234, ARTICLE(2.3) or ARTICLE:label.")],
) -> Response:
    """Get an equation with its context, the sentences that refer to it and its duplicates."""
    return await reply(request, lambda service: service.equation(name))


@router.get("/articles", summary="List articles", response_model=schemas.ArticleListSchema)
async def articles(
    request: Request,
    page: Paged,
    words: Annotated[
        str, Query(max_length=200, description="Words in the title or the name.")
    ] = "",
    collection: Annotated[
        str, Query(max_length=200, description="List only this collection.")
    ] = "",
) -> Response:
    """List the articles of the library in order."""
    only = None if collection in ("", ALL) else collection
    return await reply(
        request, lambda service: service.articles(page, words=words, collection=only)
    )


@router.get("/articles/{name:path}", summary="Get an article", response_model=schemas.ArticleSchema)
async def article(
    request: Request,
    name: Annotated[str, Path(description="The name of the article.")],
    part: Annotated[
        int | None, Query(ge=1, description="The part of a long article, from 1.")
    ] = None,
    equation: Annotated[
        int | None, Query(ge=1, description="Get the part with this equation (its ordinal).")
    ] = None,
) -> Response:
    """Get the text of an article: headings, paragraphs and equations."""
    return await reply(request, lambda service: service.article(name, part, equation))


@router.get("/map", summary="Get the map", response_model=schemas.MapSchema)
async def map_(request: Request) -> Response:
    """Get all distinct equations in two dimensions, if the library has a map.

    `x` and `y` (16 bits, up to `side`), `equation` (32 bits) and `collection` (8 bits) are base64
    of little-endian numbers, one for each point. A point is a distinct equation; `equation` is the
    position of its first occurrence in the library. `articles` lists each article with the position
    of its first equation.
    """
    return await reply(request, lambda service: service.map())


@router.get("/map/hits", summary="Search the map", response_model=schemas.MapHitsSchema)
async def map_hits(
    request: Request,
    q: Annotated[
        str,
        Query(
            max_length=MAX_QUERY_LENGTH,
            description="A query, as for `search`.",
            examples=["cosine similarity"],
        ),
    ],
) -> Response:
    """List the points of the map that match a query, best first. The best one scores 1."""
    return await reply(request, lambda service: service.map_hits(q))


@router.get("/stats", summary="Library statistics", response_model=schemas.StatsSchema)
async def stats(request: Request) -> Response:
    """Count the library's articles, equations and words."""
    return await reply(request, lambda service: service.stats)


@router.get(
    "/healthz",
    summary="Health check",
    response_model=schemas.HealthSchema,
    responses={503: {"model": schemas.HealthSchema, "description": "The library is damaged."}},
)
async def healthz(request: Request) -> Response:
    """Say whether the library can be read; of a library in parts, also how each is doing.

    As long as requests are refused because the library is damaged or missing, the status is 503.
    """
    health: HealthCheck = request.app.state.health
    parts: RayParts | None = request.app.state.parts
    answer: Json = {"status": "ok"}
    if parts is not None:
        found = await asyncio.to_thread(parts.status)
        is_whole = all(part.answers for part in found)
        answer = {"status": "ok" if is_whole else "partial"}
        answer["parts"] = [part._asdict() for part in found]
    headers = {"Cache-Control": "no-store"}
    if await health.is_readable():
        return Response(encode_json(answer), 200, headers, "application/json")
    damaged = encode_json(answer | {"status": "damaged"})
    return Response(damaged, 503, headers | {"Retry-After": "1"}, "application/json")
