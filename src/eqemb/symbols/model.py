"""The data model: a symbol of an equation, a definition in the text, and both together."""

from dataclasses import dataclass, field
from typing import Literal

Role = Literal["variable", "function", "index", "bound"]
Scope = Literal["sentence", "section", "article"]
Kind = Literal[
    "verb", "let", "denote", "apposition", "parenthesis", "count", "list", "equation", "type",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Symbol:
    r"""An identifier with its decorations: `x`, `x_i`, `\mathbf{W}_{hh}`, `\hat\theta`.

    Two symbols are the same if their keys are. `general` is the key with letters and numbers of
    indices left out, so that `x_i` and `x_j` share it; `base` is the key without scripts and
    accents.
    """

    key: str
    latex: str
    general: str
    base: str
    role: Role = "variable"
    """"index": occurs only in scripts of others; "bound": of a sum, product, integral, limit."""
    places: tuple[int, ...] = ()
    """Its occurrences, as indices in `Layout.nodes()`."""


@dataclass(frozen=True, slots=True)
class Definition:
    """What a text says that a symbol means."""

    symbol: Symbol
    text: str
    """A noun phrase without its article; formulas in it are `$...$`."""
    type: str
    r"""LaTeX of what it is a member of, or of a function's type (`X \to Y`); often empty."""
    sentence: str
    """The whole sentence, as it stands in the article's text."""
    start: int
    end: int
    """Where the phrase stands in the article's text; both are the symbol's for a bare type.

    Rows of tables that are not in the text stand at the start of their section, with no length.
    """
    position: int
    """Where the formula with the symbol stands in the article's text."""
    paragraph: int
    section: int
    """Index in the article's `sections`; -1 before the first one."""
    equation: int
    """Ordinal of the equation that is nearest in the same paragraph; 0 if there is none."""
    scope: Scope
    kind: Kind
    confidence: float
    """From 0 to 1: the strength of the pattern, which orders definitions and is no probability."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """A symbol of an equation, its best definition, and others that say something else."""

    symbol: Symbol
    definition: Definition | None = None
    confidence: float = 0.0
    """The share of meanings with such a score that are right."""
    conflicts: list[Definition] = field(default_factory=list)
    """Definitions with other words, the best first."""
    score: float = 0.0
    """The definition's strength, less where it stands far away or defines a related symbol."""
