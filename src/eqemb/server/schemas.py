"""Schemas that describe the API's answers in OpenAPI; tests validate the answers with them.

The JSON itself is made in `search/results.py` (hits) and `server/service.py`.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from eqemb.search.strength import StrengthLevel


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
    clean_latex: str = Field(description="To copy: macros expanded, without labels and sizes.")
    authors: list[str] = Field(description="Empty if they are not known.")
    year: int | None = Field(description="Of the first version; null if it is not known.")
    arxiv: str | None = Field(description="The arXiv id.")
    citation: str = Field(description="The paper in one line.")
    reference: str = Field(description="A BibTeX entry.")


class HitSchema(EquationSchema):
    """An equation that matches a query."""

    score: float
    strength: float | None = Field(
        description="Estimated share of such answers that are good, from 0 to 1; null if unknown."
    )
    level: StrengthLevel | None = Field(description="The strength in one word.")
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
    left_out: int = Field(description="Number of other formulas, which are not searched for.")


class FacetValueSchema(Schema):
    """A value that a filter of this name can have."""

    value: str
    equations: int = Field(description="How many matching equations have it.")


class MatchesSchema(Schema):
    """All equations that match: those that are not weak, every occurrence counted."""

    equations: int
    complete: bool = Field(
        description="False in a large library: these are the matches among the candidates."
    )
    facets: dict[Literal["collection", "year", "section", "kind"], list[FacetValueSchema]] = Field(
        description="The most frequent values of each filter."
    )


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
    matches: MatchesSchema | None = Field(
        description="How many equations match; null if the ranking has no least match."
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


class ConflictSchema(Schema):
    """What the article says of a symbol elsewhere."""

    definition: str
    sentence: str | None


class MeaningSchema(Schema):
    """A symbol of an equation, and what its article says that it means."""

    symbol: str = Field(description="In LaTeX.")
    text: str = Field(description="As Unicode text.")
    mathml: str
    role: Literal["variable", "function", "index", "bound"]
    definition: str | None = Field(description="Formulas as $LaTeX$; null if none was found.")
    type: str | None = Field(description="LaTeX of the set it is a member of, or of its type.")
    sentence: str | None = Field(description="The sentence that says so.")
    kind: str | None = Field(description="How it says so, such as `verb` or `apposition`.")
    scope: Literal["sentence", "section", "article"] | None
    confidence: float
    sure: bool = Field(description="Whether the definition needs no word of doubt.")
    conflicts: list[ConflictSchema]


class SymbolsSchema(Schema):
    """The symbols of an equation, in reading order."""

    equation: str = Field(description="Its name.")
    mathml: str = Field(description="`data-symbol` is the position of a symbol in `symbols`.")
    symbols: list[MeaningSchema]


class GlossaryMeaningSchema(Schema):
    """What an article says of a symbol."""

    definition: str
    type: str | None
    sentence: str | None
    scope: Literal["sentence", "section", "article"]
    section: str
    equation: str | None = Field(description="The name of the nearest equation.")
    confidence: float


class GlossaryEntrySchema(Schema):
    """A symbol that an article defines."""

    symbol: str
    text: str
    mathml: str
    meanings: list[GlossaryMeaningSchema]


class GlossarySchema(Schema):
    """The symbols that an article defines, in alphabetical order."""

    article: str
    title: str
    total: int = Field(description="How many symbols it defines; at most 500 are listed.")
    entries: list[GlossaryEntrySchema]


class NotationExampleSchema(Schema):
    """An article that defines a symbol."""

    article: str
    equation: str | None = Field(description="The name of the equation nearest to the definition.")
    definition: str
    sentence: str | None


class NotationLineSchema(Schema):
    """A symbol that denotes a thing, or a thing that a symbol denotes."""

    symbol: str
    text: str
    mathml: str
    meaning: str
    articles: int
    share: float = Field(description="Of the articles that define what was asked for.")
    examples: list[NotationExampleSchema]


class NotationSchema(Schema):
    """How articles denote a thing, or what they mean by a symbol."""

    query: str
    is_symbol: bool
    articles: int
    lines: list[NotationLineSchema]
    notes: list[str] = Field(description="What people should know, such as a repaired word.")


class DescriptionSchema(Schema):
    """An equation described in words."""

    asked: EquationSchema | QueryEquationSchema
    phrase: PhraseSchema | None = Field(description="A name; null if none is sure enough.")
    words: list[DescribingWordSchema]
    symbols: list[MeaningSchema] = Field(
        description="What its symbols mean; empty for an equation given as LaTeX."
    )
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
    symbols: list[MeaningSchema] = Field(description="What its symbols mean, in reading order.")
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
    paragraph: int | None = Field(
        None, description="Of a paragraph: its position in the article's text, from 0."
    )
    equation: EquationSchema | None = None
    words: list[str] | None = None


class ListedEquationSchema(Schema):
    """An equation in the contents of an article."""

    ordinal: int
    number: str | None
    text: str = Field(description="One line of Unicode.")


class SectionSchema(Schema):
    """A section of an article."""

    title: list[PieceSchema] = Field(description="Empty before the first heading.")
    part: int = Field(description="The part of the article in which it starts.")
    equations: list[ListedEquationSchema]


class ArticleSchema(Schema):
    """The text of an article; a long one is split into parts."""

    name: str
    title: str
    collection: str
    authors: list[str] = Field(description="Empty if they are not known.")
    year: int | None
    url: str | None
    part: int
    parts: int
    equations: int
    window: int = Field(description="Number of words an equation is learned from.")
    contents: list[SectionSchema] = Field(description="All sections, of every part.")
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


class PartSchema(Schema):
    """A part of a library that other processes search."""

    part: int
    segments: int
    replicas: int = Field(description="Replicas that run.")
    wanted: int = Field(description="Replicas that should run.")
    answers: bool = Field(description="Whether its equations are in the answers.")


class HealthSchema(Schema):
    """Whether the library can be read, and in parts, whether all answer."""

    status: Literal["ok", "partial", "damaged"]
    parts: list[PartSchema] | None = None
