"""The API: one address for each question, all of them GET, so that every answer has a link."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from eqemb.errors import UsageError
from eqemb.library.database import ALL
from eqemb.server import schemas
from eqemb.server.responses import reply
from eqemb.server.service import FURTHEST, LONGEST, MOST_PIECES, Json, Page

_PROBLEMS = {
    400: "It cannot be asked so.",
    401: "The server asks for a token.",
    404: "There is nothing by this name.",
    413: "Something was sent along; a question is its address.",
    414: "The address is too long.",
    421: "The server is asked by a name that is not its own.",
    422: "A value is not what it should be.",
    503: "The server is busy; ask again.",
}
router = APIRouter(
    prefix="/v1",
    responses={
        code: {"model": schemas.Problem, "description": said} for code, said in _PROBLEMS.items()
    },
)

By = Annotated[
    Literal["all", "words", "meaning", "structure", "paper"],
    Query(description="Which part of the score ranks; paper: as in the paper."),
]
Count = Annotated[int, Query(ge=1, le=50, description="How many.")]
Name = Annotated[
    str,
    Query(
        max_length=LONGEST,
        description="LaTeX, or a name: ARTICLE#4, ARTICLE(2.3), ARTICLE:label.",
        examples=[r"F = \frac{2PR}{P+R}"],
    ),
]


def page(
    page: Annotated[int, Query(ge=1, le=FURTHEST, description="From 1.")] = 1,
    size: Annotated[int, Query(ge=1, le=50, description="Hits on a page.")] = 10,
) -> Page:
    """Which part of an answer is wanted."""
    return Page(page, size)


def limits(
    collection: Annotated[str, Query(max_length=200, description="Only of this collection.")] = "",
    article: Annotated[str, Query(max_length=500, description="Only of this article.")] = "",
    year: Annotated[
        str, Query(max_length=9, description="2015, 2015-2018, 2015- or -2018; by arXiv id.")
    ] = "",
    section: Annotated[
        str, Query(max_length=200, description="Words of the section's title.")
    ] = "",
    has: Annotated[
        list[str] | None, Query(description="LaTeX that the equation has; may be given often.")
    ] = None,
    numbered: Annotated[bool, Query(description="Only numbered equations.")] = False,  # noqa: FBT002
) -> Json:
    """What an answer is limited to; what is empty limits nothing."""
    pieces = [latex for latex in has or () if latex.strip()]
    if len(pieces) > MOST_PIECES or any(len(latex) > 200 for latex in pieces):
        raise UsageError(f"has: {MOST_PIECES} pieces of 200 letters are the most")
    given = {"collection": collection, "article": article, "year": year, "section": section}
    return {name: value.strip() or None for name, value in given.items()} | {
        "has": pieces,
        "numbered": numbered,
    }


Paged = Annotated[Page, Depends(page)]
Limits = Annotated[dict[str, Any], Depends(limits)]


@router.get("/search", summary="Equations for words and $LaTeX$", response_model=schemas.Hits)
async def search(
    request: Request,
    page: Paged,
    limits: Limits,
    q: Annotated[
        str,
        Query(
            max_length=LONGEST,
            description='Words, "phrases", -words and $LaTeX$; LaTeX alone is answered as by'
            " `similar`.",
            examples=["cosine similarity"],
        ),
    ],
    by: By = "all",
) -> Response:
    """Find equations by the words around them."""
    return await reply(request, lambda desk: desk.search(q, page, by=by, **limits))


@router.get("/similar", summary="Equations like an equation", response_model=schemas.Hits)
async def similar(
    request: Request, page: Paged, limits: Limits, equation: Name, by: By = "all"
) -> Response:
    """Find equations like one that is named or given; in LaTeX, ?x stands for anything."""
    return await reply(request, lambda desk: desk.similar(equation, page, by=by, **limits))


@router.get("/describe", summary="An equation in words", response_model=schemas.Description)
async def describe(request: Request, equation: Name, count: Count = 10) -> Response:
    """Say what an equation is about, each word with a sentence that bears it out."""
    return await reply(request, lambda desk: desk.describe(equation, count))


@router.get("/words", summary="Neighbours of a word", response_model=schemas.Neighbours)
async def words(
    request: Request,
    word: Annotated[str, Query(max_length=200, examples=["cosine"])],
    count: Count = 10,
) -> Response:
    """List the words nearest to a word, by the library's model."""
    return await reply(request, lambda desk: desk.words(word, count))


@router.get("/why", summary="Why an equation answers", response_model=schemas.Why)
async def why(
    request: Request,
    query: Annotated[str, Query(max_length=LONGEST, examples=["cosine similarity"])],
    equation: Name,
) -> Response:
    """Show the symbols and words by which an equation answers words or an equation."""
    return await reply(request, lambda desk: desk.why(query, equation))


@router.get("/suggest", summary="Words that begin so", response_model=schemas.Suggestions)
async def suggest(
    request: Request,
    start: Annotated[str, Query(min_length=1, max_length=100, examples=["cos"])],
    count: Count = 8,
) -> Response:
    """List words of the library, those near most equations first."""
    return await reply(request, lambda desk: desk.suggest(start, count))


@router.get("/render", summary="A query, set", response_model=schemas.Rendered)
async def render(
    request: Request,
    q: Annotated[str, Query(max_length=LONGEST, examples=[r"loss $\sum_i x_i^2$"])],
) -> Response:
    """Take a query apart and set its formulas as MathML."""
    return await reply(request, lambda desk: desk.render(q))


@router.get("/equations/{name:path}", summary="One equation", response_model=schemas.OneEquation)
async def equation(
    request: Request,
    name: Annotated[str, Path(description="ARTICLE%234, ARTICLE(2.3) or ARTICLE:label.")],
) -> Response:
    """Tell all that is known of an equation."""
    return await reply(request, lambda desk: desk.equation(name))


@router.get("/articles", summary="The articles", response_model=schemas.Articles)
async def articles(
    request: Request,
    page: Paged,
    words: Annotated[str, Query(max_length=200, description="Of the title or name.")] = "",
    collection: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """List articles in the order of the library."""
    only = None if collection in ("", ALL) else collection
    return await reply(request, lambda desk: desk.articles(page, words=words, collection=only))


@router.get("/articles/{name:path}", summary="One article", response_model=schemas.Article)
async def article(
    request: Request,
    name: Annotated[str, Path(description="Its name.")],
    part: Annotated[int | None, Query(ge=1, description="Of a long article.")] = None,
    equation: Annotated[
        int | None, Query(ge=1, description="The part with this equation, by its ordinal.")
    ] = None,
) -> Response:
    """Give an article as it was read: headings, paragraphs and equations."""
    return await reply(request, lambda desk: desk.article(name, part, equation))


@router.get("/map", summary="All equations in two dimensions", response_model=schemas.Map)
async def map_(request: Request) -> Response:
    """Give the map, where the library has one.

    `x` and `y` (16 bits, up to `side`), `equation` (32 bits) and `collection` (8 bits) are base64
    of little-endian numbers, one for each point. A point is a kind of equation; `equation` is its
    first one in the library, counted through `articles`, which have each the count of those before.
    """
    return await reply(request, lambda desk: desk.map())


@router.get("/map/hits", summary="Points that answer", response_model=schemas.Lit)
async def map_hits(
    request: Request,
    q: Annotated[str, Query(max_length=LONGEST, examples=["cosine similarity"])],
) -> Response:
    """Find the points of the map that answer a query, best first; the best scores 1."""
    return await reply(request, lambda desk: desk.on_map(q))


@router.get("/stats", summary="What there is", response_model=schemas.Stats)
async def stats(request: Request) -> Response:
    """Count."""
    return await reply(request, lambda desk: desk.stats)


@router.get("/healthz", summary="Whether the server answers", response_model=schemas.Health)
async def healthz() -> Response:
    """Answer without asking the library."""
    return Response(b'{"status":"ok"}', media_type="application/json")
