"""Schemas that describe the API's answers in OpenAPI; tests validate the answers with them.

The JSON itself is made in `search/results.py` (hits) and `server/service.py`.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Schema(BaseModel):
    """An object with exactly these keys."""

    model_config = ConfigDict(extra="forbid")


class ErrorSchema(Schema):
    """Why a request failed."""

    error: str = Field(description="What went wrong, in one sentence.")


class PieceSchema(Schema):
    """A piece of text."""

    kind: Literal["text", "mark", "word", "math", "equation"] = Field(
        description="mark: a word of the query; equation: the position of the equation itself;"
        " word: a word near equations of the article."
    )
    text: str
    mathml: str | None = None
    near: list[int] | None = Field(None, description="Ordinals of the equations near a word.")


class FormulaSchema(Schema):
    """A formula of a query, rendered."""

    latex: str
    mathml: str
    problems: list[str] = Field(description="Parts that could not be read.")


class QueryEquationSchema(Schema):
    """An equation given as LaTeX in a query."""

    latex: str
    text: str = Field(description="As Unicode text.")
    mathml: str


class EquationSchema(QueryEquationSchema):
    """An equation of the library."""

    id: str = Field(description="ARTICLE#ordinal; in a URL, write `#` as %23.")
    ordinal: int = Field(description="Position among the equations of the article, from 1.")
    number: str | None = Field(description="The number printed in the paper.")
    label: str | None = Field(description="The first label in the LaTeX source.")
    labels: list[str]
    article: str
    title: str
    section: str
    file: str = Field(description="The file within the paper's source.")
    line: int
    url: str | None = Field(description="The paper on arXiv.")
    reference: str = Field(description="A BibTeX entry.")


class HitSchema(EquationSchema):
    """An equation that matches a query."""

    score: float
    strength: float | None = Field(
        description="Estimated share of such answers that are good, from 0 to 1; null if unknown."
    )
    level: Literal["strong", "good", "fair", "weak"] | None = Field(
        description="The strength in one word."
    )
    parts: dict[str, float] = Field(
        description="Contributions of words, meaning, base, structure and agreement to the score."
    )
    context: list[PieceSchema]
    context_text: str = Field(description="The context as plain text, formulas as LaTeX.")
    family: list[str] = Field(description="Other equations that are equal or nearly equal.")
    papers: int = Field(description="Number of papers with this equation.")


class ReadingSchema(Schema):
    """How a query was read."""

    line: str = Field(description="For people: `formula: x^{2}; words: learning rate`.")
    words: list[str]
    phrases: list[list[str]]
    excluded: list[list[str]]
    formulas: list[str] = Field(description="In LaTeX.")
    repairs: list[str] = Field(description="What was changed, such as a misspelt word.")
    unclear: list[str] = Field(description="What could not be read for certain.")


class SearchSchema(Schema):
    """One page of hits, best first."""

    kind: Literal["words", "equation"]
    page: int
    size: int
    more: bool = Field(description="Whether there is another page.")
    hits: list[HitSchema]
    match: Literal["good", "weak", "none"] = Field(
        description="Whether the query has a good answer, only weak ones, or none."
    )
    unknown: list[str] = Field(description="Words that do not appear near any equation.")
    near: dict[str, list[str]] = Field(description="For unknown words, known words spelt alike.")
    notes: list[str]
    reading: ReadingSchema | None = Field(
        description="How the query was read; null for plain words and for names."
    )
    query: str | None = None
    words: list[str] | None = Field(None, description="The words of the query.")
    formulas: list[FormulaSchema] | None = None
    asked: EquationSchema | QueryEquationSchema | None = Field(
        None, description="The equation of the query."
    )


class DescribingWordSchema(Schema):
    """A word that describes an equation."""

    word: str
    score: float
    sentence: list[PieceSchema] = Field(description="A sentence with the word, as evidence.")
    article: str | None = Field(description="The article with this sentence.")


class PhraseSchema(Schema):
    """A noun phrase that names an equation."""

    text: str
    score: float = Field(description="Its share of the votes for all phrases.")
    article: str = Field(description="The article that says it of the most similar equation.")


class DescriptionSchema(Schema):
    """An equation described in words."""

    asked: EquationSchema | QueryEquationSchema
    phrase: PhraseSchema | None = Field(description="A name; null if none is sure enough.")
    words: list[DescribingWordSchema]
    kin: list[str] = Field(description="The most similar equations, whose text was used.")
    notes: list[str]
    reading: ReadingSchema | None = Field(description="How the query was read; null for a name.")


class ScoredWordSchema(Schema):
    """A word with a score."""

    word: str
    score: float


class NeighboursSchema(Schema):
    """The words nearest to a word."""

    word: str
    words: list[ScoredWordSchema]


class SuggestionsSchema(Schema):
    """Words that start with a prefix."""

    words: list[str]


class QueryWordSchema(Schema):
    """A word of a query."""

    word: str
    known: bool


class RenderedQuerySchema(Schema):
    """A query split into words and formulas."""

    words: list[QueryWordSchema]
    formulas: list[FormulaSchema]
    open: bool = Field(description="Whether a dollar sign is not closed.")


class ComparedSchema(Schema):
    """One of the two sides of a comparison."""

    query: str
    id: str | None
    text: str | None
    mathml: str | None = Field(description="Shared symbols have the class `eqemb-mark`.")
    marked: list[str] = Field(description="The shared symbols.")


class ExplanationSchema(Schema):
    """Why an equation matches a query."""

    score: float
    parts: dict[str, float]
    likeness: float = Field(description="Structural similarity, from 0 to 1.")
    letters: dict[str, str] = Field(description="Letters of the query and their counterparts.")
    words: list[ScoredWordSchema]
    query: ComparedSchema
    other: ComparedSchema


class EquationDetailsSchema(EquationSchema):
    """An equation with everything that is known about it."""

    context: list[PieceSchema]
    references: list[list[PieceSchema]] = Field(description="Sentences that refer to it.")
    words: list[str] = Field(description="Its window: the words it was learned from.")
    family: list[str]
    papers: int
    of: int = Field(description="Number of equations in the article.")


class ArticleSummarySchema(Schema):
    """An article in a list."""

    name: str
    collection: str
    title: str
    equations: int


class ArticleListSchema(Schema):
    """One page of articles."""

    page: int
    size: int
    more: bool
    total: int
    articles: list[ArticleSummarySchema]


class BlockSchema(Schema):
    """A heading, a paragraph or an equation."""

    kind: Literal["heading", "paragraph", "equation"]
    pieces: list[PieceSchema] | None = None
    equation: EquationSchema | None = None
    words: list[str] | None = None


class ArticleSchema(Schema):
    """The text of an article; a long one is split into parts."""

    name: str
    title: str
    collection: str
    url: str | None
    part: int
    parts: int
    equations: int
    window: int = Field(description="Number of words an equation is learned from.")
    blocks: list[BlockSchema]


class StatsSchema(Schema):
    """Counts of the library."""

    version: str
    content: str = Field(description="SHA-256 of everything that was read.")
    articles: int
    partial: int
    skipped: int
    equations: int
    words: int
    collections: dict[str, dict[str, int]]
    coverage: float
    model: dict[str, float | None] | None
    snippets: str
    map: bool


class MapLabelSchema(Schema):
    """Words that label a region of the map."""

    words: list[str]
    x: int
    y: int
    level: int
    points: int


class MapLayoutSchema(Schema):
    """When the layout of the map was computed."""

    generation: int = Field(description="The generation of the library then.")
    points: int


class MapSchema(Schema):
    """All distinct equations in two dimensions."""

    format: int
    method: str
    layout: MapLayoutSchema
    points: int
    placed: int = Field(description="Points placed near similar ones since the layout.")
    side: int
    x: str
    y: str
    equation: str
    collection: str
    collections: list[str]
    articles: list[tuple[str, int]]
    labels: list[MapLabelSchema]


class MapHitsSchema(Schema):
    """Points of the map that match a query."""

    query: str
    points: list[int]
    scores: list[float]


class HealthSchema(Schema):
    """The server is running."""

    status: Literal["ok"]
