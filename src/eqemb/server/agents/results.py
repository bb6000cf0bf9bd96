"""What the tools return: small typed results, whose schemas tell an agent what to expect.

Everything in them is quoted from papers, or a count. A key without a value is left out, so that an
answer costs few tokens. Every text has a longest length.
"""

from typing import Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from eqemb.search.strength import StrengthLevel
from eqemb.server.schemas import Schema

ID = "ARTICLE#ordinal: pass it to the other tools."


class AgentSchema(Schema):
    """A result, or a part of one; optional keys without a value are left out."""

    @model_serializer(mode="wrap")
    def _without_empty_keys(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        return {
            name: value
            for name, value in serialize(self).items()
            if fields[name].is_required()
            or isinstance(value, float)
            or value not in (None, "", [], 0)
        }


class EquationEntry(AgentSchema):
    """An equation in a list."""

    id: str = Field(description=ID)
    latex: str = Field(description="With the author's macros expanded; … where it is cut.")
    number: str = Field("", description="As printed in the paper, without parentheses.")
    section: str = Field("", description="The title of its section.")


class EquationHit(EquationEntry):
    """An equation that answers a question."""

    title: str = Field("", description="The title of its paper.")
    context: str = Field("", description="Words around [equation]; formulas as $LaTeX$.")
    score: float = Field(description="Comparable within one answer; 1 is the highest.")
    strength: float | None = Field(
        None, description="Estimated share of such answers that are good, from 0 to 1."
    )
    level: StrengthLevel | None = Field(
        None, description="The strength in one word; a weak hit is probably no answer."
    )
    papers: int = Field(1, description="How many papers have it, or a nearly equal one.")


class Hits(AgentSchema):
    """Equations, best first."""

    hits: list[EquationHit]
    unknown: list[str] = Field([], description="Words of the query that no paper has.")
    notes: list[str] = Field([], description="How the query was read, and what was not found.")


class EvidenceWord(AgentSchema):
    """A word that describes an equation."""

    word: str
    score: float
    sentence: str = Field("", description="A sentence of a paper that uses it.")
    article: str = Field("", description="The paper of the sentence.")


class WordsOfEquation(AgentSchema):
    """An equation described in words."""

    latex: str = Field(description="The equation, as it was read.")
    id: str = Field("", description=ID)
    words: list[EvidenceWord] = Field(description="Best first; empty if nothing is similar.")
    similar: list[str] = Field([], description="Ids of the equations whose text was used.")
    notes: list[str] = Field([])


class SymbolEntry(AgentSchema):
    """A symbol of an equation, and what its paper says that it means."""

    symbol: str = Field(description="In LaTeX.")
    meaning: str = Field("", description="A phrase of the paper; left out if it defines none.")
    unsure: bool = Field(default=False, description="Whether the definition is doubtful.")
    elsewhere: list[str] = Field([], description="What the paper says elsewhere, if that differs.")


class WholeEquation(EquationEntry):
    """An equation with what is known about it."""

    label: str = Field("", description="Its first label in the source.")
    source: str = Field("", description="As the author wrote it, if that differs from latex.")
    article: str
    title: str = ""
    collection: str = ""
    url: str = Field("", description="The paper at arXiv.")
    context: str = Field("", description="Sentences around [equation]; formulas as $LaTeX$.")
    mentions: list[str] = Field([], description="Other sentences of the paper that refer to it.")
    symbols: list[SymbolEntry] = Field([], description="Its symbols, in reading order.")
    citation: str = Field(description="BibTeX.")
    same: list[str] = Field([], description="Ids of equal and nearly equal equations.")
    papers: int = Field(1, description="How many papers have it, or a nearly equal one.")
    place: str = Field("", description="File and line in the paper's source.")
    previous: str = Field("", description="Id of the equation before it.")
    next: str = Field("", description="Id of the equation after it.")


class EquationsOfArticle(AgentSchema):
    """The equations of a paper, in order."""

    article: str
    title: str = ""
    collection: str = ""
    url: str = ""
    total: int = Field(description="How many equations the paper has.")
    equations: list[EquationEntry]
    next_start: int | None = Field(None, description="The `start` of the rest, if there is more.")


class Origin(EquationEntry):
    """A paper that has an equation."""

    article: str
    title: str = ""
    year: int | None = Field(None, description="Of the paper, by its arXiv id.")
    match: Literal["same", "nearly the same", "similar"]
    likeness: float = Field(description="Of the symbols and their places, from 0 to 1.")


class Origins(AgentSchema):
    """The papers that have an equation: the same first, then nearly the same, then similar."""

    answer: str = Field(description="The answer in one sentence.")
    latex: str = Field(description="The equation, as it was read.")
    papers: list[Origin]
    notes: list[str] = Field([])


class CollectionEntry(AgentSchema):
    """A collection of the library."""

    name: str
    articles: int
    equations: int


class LibraryInfo(AgentSchema):
    """What a library contains."""

    articles: int
    equations: int
    words: int
    collections: list[CollectionEntry] = Field([], description="The largest first.")
    more_collections: int = Field(0, description="How many are not listed.")
    has_model: bool = Field(description="Whether vectors take part in the ranking.")
    quoted: Literal["full", "short", "none"] = Field(
        description="How much text of the papers results may quote."
    )
    example: str = Field("", description="The id of an equation, to see what ids look like.")
    version: str = Field(description="Of eqemb.")
    content: str = Field(description="Changes when the papers change.")
