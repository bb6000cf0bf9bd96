"""Results of a search: hits and answers, as text, JSON, HTML and data frames.

The JSON of a hit is defined here once. The command line (`--json`), the server's API and Python
(`Hit.to_json`) all use it.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Any

from eqemb.article import Equation
from eqemb.errors import UsageError
from eqemb.formula import layout
from eqemb.formula.running_text import plain_text, printed_text
from eqemb.search.query import WordQuery
from eqemb.search.snippets import DEFAULT_RENDERER, Renderer, around_equation, pieces, word_matcher
from eqemb.sources.names import arxiv_id

#: The default width of an answer as text.
TEXT_WIDTH = 113
#: Titles are shown from this many letters on, the words around an equation up to this many.
_MIN_TITLE, _MAX_SNIPPET = 12, 86
_PLACEHOLDER = re.compile(r"\[(?:equation|…)\]")

Json = dict[str, Any]


# ------------------------------------------------------------ JSON of equations


def equation_json(equation: Equation, title: str, renderer: Renderer = DEFAULT_RENDERER) -> Json:
    """Return an equation of the library as JSON.

    Keys: `id` (ARTICLE#ordinal), `ordinal`, `number` (as printed), `label` (the first), `labels`,
    `latex` (as written), `text` (Unicode), `mathml`, `article`, `title`, `section` (plain text),
    `file`, `line`, `url` (at arXiv), `reference` (BibTeX).
    """
    return {
        "id": equation.id,
        "ordinal": equation.ordinal,
        "number": equation.number,
        "label": equation.label,
        "labels": equation.labels,
        "latex": equation.latex,
        "text": renderer.text(equation.expanded),
        "mathml": renderer.mathml(equation.expanded, display=True),
        "article": equation.article,
        "title": title,
        "section": plain_text(equation.section),
        "file": equation.file,
        "line": equation.line,
        "url": arxiv_url(equation.article),
        "reference": bibtex(equation, title),
    }


def arxiv_url(article: str) -> str | None:
    """Return the address of a paper at arXiv, if its name is an arXiv id."""
    found, version = arxiv_id(article)
    return f"https://arxiv.org/abs/{found}{version}" if found else None


def bibtex(equation: Equation, title: str) -> str:
    """Return a BibTeX entry for an equation."""
    found, version = arxiv_id(equation.article)
    which = f"({equation.number})" if equation.number else f"no. {equation.ordinal}"
    lines = {
        "title": re.sub(r"[{}\\]", "", title) or equation.article,
        "note": f"Equation {which}",
        **({"eprint": found + version, "archivePrefix": "arXiv"} if found else {}),
    }
    body = ",\n".join(f"  {name} = {{{value}}}" for name, value in lines.items())
    key = re.sub(r"[^\w.:/-]", "-", f"{equation.article}-{equation.ordinal}")
    return f"@misc{{{key},\n{body}\n}}"


# ------------------------------------------------------------ hits and answers


@dataclass(frozen=True, slots=True)
class Hit:
    """An equation that a search found, with its score."""

    score: float
    equation: Equation
    title: str
    family: list[str] = field(default_factory=list)
    """The names of its other occurrences, and of nearly equal equations."""
    parts: dict[str, float] = field(default_factory=dict)
    """What words, meaning, base, structure and agreement add to the score."""

    @property
    def latex(self) -> str:
        """The equation as its author wrote it."""
        return self.equation.latex

    @property
    def article(self) -> str:
        """The name of its article."""
        return self.equation.article

    @property
    def papers(self) -> int:
        """The number of papers that have this equation or a nearly equal one."""
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
        """The address of the paper at arXiv, if its name is an arXiv id."""
        return arxiv_url(self.article)

    def to_json(
        self,
        *,
        words: Iterable[str] = (),
        reach: int | None = None,
        renderer: Renderer = DEFAULT_RENDERER,
    ) -> Json:
        """Return the hit as JSON, the same for the command line, the API and Python.

        One thing differs: the API replaces inline styles in `mathml` by classes, because its pages
        forbid inline styles.

        Args:
            words: Words to mark in the context; `Answer.to_json` gives those of the query.
            reach: How many words of the context to give on each side of the equation; None for all.
            renderer: How formulas are rendered.

        Returns:
            `score`, `parts`, all keys of `equation_json`, `context` (a list of pieces, see
            `snippets`), `context_text` (formulas between dollars), `family` and `papers`.

        """
        context = around_equation(self.equation.context, reach)
        return {
            "score": round(self.score, 6),
            "parts": {part: round(value, 6) for part, value in self.parts.items()},
            **equation_json(self.equation, self.title, renderer),
            "context": pieces(context, word_matcher(words), renderer),
            "context_text": printed_text(context),
            "family": self.family,
            "papers": self.papers,
        }

    def to_text(self, width: int = TEXT_WIDTH, rank: int | None = None) -> str:
        """Return lines for people: the equation, its place, and the words around it."""
        lead = ("" if rank is None else f"{rank:3}  ") + f"{self.score:6.3f}  "
        room = width - len(lead)
        lines = [cut(self.text, room), *self._place(room), self._snippet(min(_MAX_SNIPPET, room))]
        return lead + ("\n" + " " * len(lead)).join(filter(None, lines))

    def _place(self, room: int) -> list[str]:
        """Return name, title and place; the place gets its own line if it has to."""
        equation = self.equation
        number = f" ({equation.number})" if equation.number is not None else ""
        same = f", in {self.papers} papers" if self.papers > 1 else ""
        named, stands = f"{equation.id}{number}{same}", place_in_file(equation)
        on_one_line = len(named) + len(stands) + 3 <= room
        left = room - len(named) - (len(stands) + 6 if on_one_line else 3)
        title = cut(self.title, min(60, left)) if left >= _MIN_TITLE else ""
        if on_one_line:
            return [" · ".join(filter(None, (named, title, stands)))]
        return [" · ".join(filter(None, (named, title))), stands]

    def _snippet(self, width: int) -> str:
        """Return the words around it or, if there are none, a sentence that refers to it."""
        context = readable(self.equation.context)
        if re.search(r"[^\W\d_]{2}", _PLACEHOLDER.sub("", context)):
            return _centre(context, width)
        return cut(readable(self.equation.references[0]), width) if self.equation.references else ""

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return table([self])

    def _repr_latex_(self) -> str:
        return self.equation._repr_latex_()


@dataclass(frozen=True, slots=True)
class Answer:
    """The hits of a query, best first, and notes on it."""

    hits: list[Hit]
    unknown: list[str] = field(default_factory=list)
    """Words of the query that do not occur near any equation."""
    near: dict[str, list[str]] = field(default_factory=dict)
    """For unknown words, words of the library with a similar spelling."""
    notes: list[str] = field(default_factory=list)
    """What else people should know about the answer."""
    words: tuple[str, ...] = ()
    """Words of the query, which `to_json` marks; none if the query was an equation."""
    reading: WordQuery | None = None
    """How the query was read; None if it was the name of an equation."""

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, rank: int) -> Hit:
        return self.hits[rank]

    def to_json(self, *, reach: int | None = None, renderer: Renderer = DEFAULT_RENDERER) -> Json:
        """Return the answer as JSON: `hits`, `unknown`, `near`, `notes` and `reading`.

        `reading` says how the query was read: None for plain words and for names.

        The words of the query are marked in the context of every hit; see `Hit.to_json`.
        """
        return {
            "hits": [
                hit.to_json(words=self.words, reach=reach, renderer=renderer) for hit in self.hits
            ],
            "unknown": self.unknown,
            "near": self.near,
            "notes": self.notes,
            "reading": reading_json(self.reading),
        }

    def to_text(self, width: int = TEXT_WIDTH) -> str:
        """Return the hits as a terminal shows them."""
        return "\n\n".join(hit.to_text(width, rank) for rank, hit in enumerate(self.hits, 1))

    def __str__(self) -> str:
        return "\n".join(filter(None, (*self._messages(), self.to_text()))) or "No matches."

    def _messages(self) -> list[str]:
        unknown = [f"not known: {', '.join(self.unknown)}"] if self.unknown else []
        return reading_lines(self.reading) + unknown + self.notes

    def to_pandas(self) -> Any:
        """Return a data frame with a row for each hit; needs pandas."""
        rows = [hit.to_json() for hit in self.hits]
        for row in rows:
            row["context"] = row.pop("context_text")
        return data_frame(rows)

    def _repr_html_(self) -> str:
        return paragraphs(*self._messages()) + table(self.hits)


def reading_json(reading: WordQuery | None) -> Json | None:
    """Return how a query was read, unless that needs no words."""
    return None if reading is None or reading.is_plain else reading.to_json()


def reading_lines(reading: WordQuery | None) -> list[str]:
    """Return the line that says how a query was read, if one is needed.

    A repaired query has a note that says the same.
    """
    if reading is None or reading.is_plain or reading.repairs:
        return []
    return [f"read as {reading.reading}"]


# ------------------------------------------------------------ for terminals


def cut(text: str, width: int) -> str:
    """Shorten a text to a width: between words, unless one is very long."""
    if len(text) <= width:
        return text
    end = text.rfind(" ", width // 2, width)
    return text[: width - 1 if end < 0 else end].rstrip() + "…"


def readable(sentence: str) -> str:
    """Return a sentence with its formulas in Unicode, and references to equations as printed."""
    text = re.sub(r"\[…\](?:\s*\[…\])+", "[…]", plain_text(sentence))
    text = re.sub(r"(?<=[^\s(])(?=\[(?:equation|…)\])", " ", text)
    return re.sub(r"(\[(?:equation|…)\])(?=[\w(\[])", r"\1 ", text).strip()


def excerpt(word: str, sentence: str, width: int) -> str:
    """Shorten a sentence to a width so that a word stays in it."""
    at = sentence.lower().find(word)
    if at + len(word) < width:
        return cut(sentence, width)
    return "…" + cut(sentence[max(0, at - width // 2) :].partition(" ")[2], width - 1)


def _centre(context: str, width: int) -> str:
    """Shorten a context so that the words on both sides of the equation stay in it."""
    before, mark, after = context.partition("[equation]")
    if not mark:
        return cut(context, width)
    left = before if len(before) <= width // 2 else "…" + before[-width // 2 :].partition(" ")[2]
    return cut(left + mark + after, width)


# ------------------------------------------------------------ for notebooks


def table(hits: Iterable[Hit]) -> str:
    """Return hits as HTML with MathML, without scripts."""
    return rows(
        ("score", "equation", "paper"),
        (
            (
                f"{hit.score:.3f}",
                hit.mathml,
                f"{escape(hit.title)}<br/>{place(hit.equation)}"
                + (f", in {hit.papers} papers" if hit.papers > 1 else ""),
            )
            for hit in hits
        ),
    )


def place_in_file(equation: Equation) -> str:
    """Return the file and the line of an equation; of a notebook, its cell."""
    unit = " cell " if equation.file.endswith(".ipynb") else ":"
    return f"{equation.file}{unit}{equation.line}"


def place(equation: Equation) -> str:
    """Return an equation's name and number as HTML."""
    number = f" ({escape(equation.number)})" if equation.number else ""
    return f"<code>{escape(equation.id)}</code>{number}"


def rows(head: Iterable[str], cells: Iterable[Iterable[str]]) -> str:
    """Return an HTML table; the cells are HTML already."""
    top = "".join(f"<th>{name}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in cells)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{_valid(body)}</tbody></table>"


def paragraphs(*lines: str) -> str:
    """Return lines of text as HTML."""
    return _valid("".join(f"<p>{escape(line)}</p>" for line in lines))


def _valid(html: str) -> str:
    """Replace the characters that XML does not allow."""
    return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", " ", html)


def data_frame(records: Iterable[Json]) -> Any:
    """Return a pandas data frame."""
    try:
        import pandas as pd  # type: ignore[import-untyped]
    except ImportError:
        raise UsageError("a data frame needs pandas: `pip install pandas`") from None
    return pd.DataFrame(list(records))
