"""The result of the walk over an expanded source: text, equations, references."""

from dataclasses import dataclass, field
from typing import NamedTuple

from eqemb.article import Problem


@dataclass(slots=True)
class FoundEquation:
    """An equation with its rows joined and its number decided."""

    start: int
    end: int
    latex: str
    environment: str
    display: int
    labels: list[str]
    numbered: bool
    number: str | None
    group: int
    section: str
    refers: list[str] = field(default_factory=list)
    """Labels that it refers to itself: "by (3)" above an equals sign."""


class FoundNotation(NamedTuple):
    """A row of a table of notation."""

    symbol: str
    meaning: str
    """Clean text, perhaps with reference marks."""
    section: int
    """Index in `WalkResult.sections`; -1 before the first one."""


@dataclass(slots=True)
class WalkResult:
    """Everything that the walk found."""

    title: str = ""
    paragraphs: list[str] = field(default_factory=list)
    """Clean text with equation and reference marks (see prose.py)."""
    sections: list[str] = field(default_factory=list)
    equations: list[FoundEquation] = field(default_factory=list)
    """In source order: the n-th belongs to the n-th equation mark."""
    references: list[str] = field(default_factory=list)
    """The label of the n-th reference mark."""
    group_labels: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Labels of subequations: group and printed number."""
    numbers: dict[str, str] = field(default_factory=dict)
    """Labels of equations: printed number."""
    notation: list[FoundNotation] = field(default_factory=list)
    """Rows of tables of notation, in source order; their words are not in the text."""
    problems: list[Problem] = field(default_factory=list)
    opened: int = 0
    """Displays opened, without those that hold only drawings."""
    lost: int = 0
    nested: int = 0
    """Displays within others, and empty ones."""
    unnamed: int = 0
    """Displays in environments that are defined nowhere."""
    drawings: int = 0
    """Displays that hold only drawings."""
    empty_formulas: int = 0
    """Pairs of dollars with nothing between them, in cells of tables."""
