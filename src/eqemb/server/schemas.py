"""What answers look like, for the API's description; a test holds them to it."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Form(BaseModel):
    """A dictionary with these keys and no others."""

    model_config = ConfigDict(extra="forbid")


class Problem(Form):
    """Why there is no answer."""

    error: str = Field(description="One sentence.")


class Piece(Form):
    """A piece of text."""

    kind: Literal["text", "mark", "word", "math", "equation"] = Field(
        description="mark: a word of the query; equation: where the equation itself stands;"
        " word: one that is near equations of the article."
    )
    text: str
    mathml: str | None = None
    near: list[int] | None = Field(None, description="Ordinals of the equations near a word.")


class Formula(Form):
    """LaTeX of a query, set."""

    latex: str
    mathml: str
    problems: list[str] = Field(description="What could not be read of it.")


class Asked(Form):
    """LaTeX that was asked for."""

    latex: str
    text: str = Field(description="In Unicode.")
    mathml: str


class Equation(Asked):
    """An equation of the library."""

    id: str = Field(description="ARTICLE#ordinal; `#` is %23 in an address.")
    ordinal: int
    number: str | None = Field(description="As printed.")
    label: str | None
    article: str
    title: str
    section: str
    url: str | None = Field(description="Where arXiv has the paper.")
    reference: str = Field(description="In the manner of BibTeX.")


class Hit(Equation):
    """An equation that answers."""

    score: float
    parts: dict[str, float] = Field(description="What words, meaning and structure add.")
    context: list[Piece]
    family: list[str] = Field(description="The same equation elsewhere, or nearly the same.")
    papers: int = Field(description="In how many papers it is.")


class Hits(Form):
    """Hits, best first, a page at a time."""

    kind: Literal["words", "equation"]
    page: int
    size: int
    more: bool = Field(description="Whether there is a next page.")
    hits: list[Hit]
    unknown: list[str] = Field(description="Words that stand near no equation.")
    near: dict[str, list[str]] = Field(description="Words that are spelt nearly so.")
    notes: list[str]
    query: str | None = None
    words: list[str] | None = Field(None, description="The words of the query.")
    formulas: list[Formula] | None = None
    asked: Equation | Asked | None = None


class Said(Form):
    """A word that says what an equation is about."""

    word: str
    score: float
    sentence: list[Piece] = Field(description="Where it is said.")
    article: str | None


class Description(Form):
    """What an equation is about."""

    asked: Equation | Asked
    words: list[Said]
    kin: list[str] = Field(description="The equations most like it, which speak for it.")
    notes: list[str]


class Scored(Form):
    """A word with a score."""

    word: str
    score: float


class Neighbours(Form):
    """The words nearest to a word."""

    word: str
    words: list[Scored]


class Suggestions(Form):
    """Words that begin so."""

    words: list[str]


class ReadWord(Form):
    """A word of a query."""

    word: str
    known: bool


class Rendered(Form):
    """A query taken apart."""

    words: list[ReadWord]
    formulas: list[Formula]
    open: bool = Field(description="Whether a dollar is not closed.")


class Side(Form):
    """One of two that are compared."""

    query: str
    id: str | None
    text: str | None
    mathml: str | None = Field(description="What meets its like has the class `eqemb-mark`.")
    marked: list[str]


class Why(Form):
    """Why an equation answers."""

    score: float
    parts: dict[str, float]
    likeness: float
    letters: dict[str, str] = Field(description="Which letter stands for which.")
    words: list[Scored]
    query: Side
    other: Side


class OneEquation(Equation):
    """An equation with all that is known of it."""

    context: list[Piece]
    references: list[list[Piece]] = Field(description="Sentences that refer to it.")
    words: list[str] = Field(description="Its window: the words it was learned from.")
    family: list[str]
    papers: int
    of: int = Field(description="How many equations the article has.")


class Listed(Form):
    """An article in a list."""

    name: str
    collection: str
    title: str
    equations: int


class Articles(Form):
    """Articles, a page at a time."""

    page: int
    size: int
    more: bool
    total: int
    articles: list[Listed]


class Block(Form):
    """A heading, a paragraph or an equation."""

    kind: Literal["heading", "paragraph", "equation"]
    pieces: list[Piece] | None = None
    equation: Equation | None = None
    words: list[str] | None = None


class Article(Form):
    """An article as it is read; a long one comes in parts."""

    name: str
    title: str
    collection: str
    url: str | None
    part: int
    parts: int
    equations: int
    window: int = Field(description="How many words an equation is learned from.")
    blocks: list[Block]


class Stats(Form):
    """What there is."""

    version: str
    content: str = Field(description="The digest of all that was read.")
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


class Label(Form):
    """Words for a region of the map."""

    words: list[str]
    x: int
    y: int
    level: int
    points: int


class Map(Form):
    """All kinds of equations in two dimensions."""

    format: int
    method: str
    points: int
    side: int
    x: str
    y: str
    equation: str
    collection: str
    collections: list[str]
    articles: list[tuple[str, int]]
    labels: list[Label]


class Lit(Form):
    """Points of the map that answer a query."""

    query: str
    points: list[int]
    scores: list[float]


class Health(Form):
    """That the server answers."""

    status: Literal["ok"]
