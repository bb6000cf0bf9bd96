"""Answers: equations with all that people and programs want to know of them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Any

from eqemb.article import Equation
from eqemb.formula import layout
from eqemb.sources.names import arxiv_id


@dataclass(frozen=True, slots=True)
class Hit:
    """An equation that answers, with its score."""

    score: float
    equation: Equation
    title: str
    family: list[str] = field(default_factory=list)
    """The names of its other occurrences, and of equations that are nearly the same."""
    parts: dict[str, float] = field(default_factory=dict)
    """What words, meaning and structure add to the score."""

    @property
    def latex(self) -> str:
        """The equation as its author wrote it."""
        return self.equation.latex

    @property
    def article(self) -> str:
        """The article that it stands in."""
        return self.equation.article

    @property
    def papers(self) -> int:
        """In how many papers it, or one nearly the same, stands."""
        return len({self.article, *(name.rpartition("#")[0] for name in self.family)})

    @property
    def text(self) -> str:
        """The equation in Unicode, for terminals."""
        return layout(self.equation.expanded).to_text()

    @property
    def mathml(self) -> str:
        """The equation in MathML, for browsers."""
        return layout(self.equation.expanded).to_mathml()

    @property
    def url(self) -> str | None:
        """Where arXiv has the paper, if its name is an arXiv id."""
        found, version = arxiv_id(self.article)
        return f"https://arxiv.org/abs/{found}{version}" if found else None

    def to_dict(self) -> dict[str, Any]:
        """As `--json` prints it."""
        equation = self.equation
        return {
            "id": equation.id,
            "score": round(self.score, 6),
            "parts": {part: round(value, 6) for part, value in self.parts.items()},
            "latex": equation.latex,
            "text": self.text,
            "mathml": self.mathml,
            "article": equation.article,
            "title": self.title,
            "section": equation.section,
            "number": equation.number,
            "label": equation.label,
            "file": equation.file,
            "line": equation.line,
            "url": self.url,
            "context": equation.context,
            "family": self.family,
        }

    def _repr_html_(self) -> str:
        return table([self])

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.equation.expanded}$"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query found, best first, and what of it the library does not know."""

    hits: list[Hit]
    unknown: list[str] = field(default_factory=list)
    near: dict[str, list[str]] = field(default_factory=dict)
    """For unknown words, words of the library that are spelt nearly so."""
    notes: list[str] = field(default_factory=list)
    """What else people should know of the answer."""

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, rank: int) -> Hit:
        return self.hits[rank]

    def to_dict(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "hits": [hit.to_dict() for hit in self.hits],
            "unknown": self.unknown,
            "near": self.near,
            "notes": self.notes,
        }

    def to_pandas(self) -> Any:
        """A data frame, a row for each hit; needs pandas."""
        import pandas as pd  # type: ignore[import-untyped]

        return pd.DataFrame([hit.to_dict() for hit in self.hits])

    def _repr_html_(self) -> str:
        said = [f"not known: {', '.join(self.unknown)}"] if self.unknown else []
        lines = "".join(f"<p>{escape(line)}</p>" for line in (*said, *self.notes))
        return lines + table(self.hits)


def table(hits: list[Hit]) -> str:
    """Hits as HTML with MathML, without a script."""
    rows = "".join(
        f"<tr><td>{hit.score:.3f}</td><td>{hit.mathml}</td>"
        f"<td>{escape(hit.title)}<br><code>{escape(hit.equation.id)}</code>"
        f"{f' ({escape(hit.equation.number)})' if hit.equation.number else ''}"
        f"{f', in {hit.papers} papers' if hit.papers > 1 else ''}</td></tr>"
        for hit in hits
    )
    head = "<tr><th>score</th><th>equation</th><th>paper</th></tr>"
    return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"
