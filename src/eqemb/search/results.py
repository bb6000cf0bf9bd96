"""Results of a search: hits and answers, as text, JSON, HTML and data frames.

The JSON of a hit is defined here once. The command line (`--json`), the server's API and Python
(`Hit.to_json`) all use it.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from html import escape
from typing import Any, Literal

from eqemb.article import Equation
from eqemb.arxiv.papers import PaperMetadata
from eqemb.errors import UsageError, quoted
from eqemb.formula import layout
from eqemb.formula.clean_latex import clean_latex
from eqemb.formula.running_text import plain_text, printed_text
from eqemb.search.citations import Citation, equation_bibtex
from eqemb.search.match_kinds import CountedMatches, Matches
from eqemb.search.query import WordQuery
from eqemb.search.snippets import DEFAULT_RENDERER, Renderer, WordMatcher, around_equation, pieces
from eqemb.search.strength import StrengthLevel, level, weak_below
from eqemb.sources.names import arxiv_id

#: The default width of an answer as text.
TEXT_WIDTH = 113
#: Titles are shown from this many letters on, the words around an equation up to this many.
_MIN_TITLE, _MAX_SNIPPET = 12, 86
#: What stands before weak hits: after others, and alone.
WEAK_MATCHES, NO_GOOD_MATCH = "Weak matches:", "No good match. Weak matches:"
_PLACEHOLDER = re.compile(r"\[(?:equation|…)\]")

Json = dict[str, Any]


# ------------------------------------------------------------ JSON of equations


def equation_json(
    equation: Equation,
    title: str,
    renderer: Renderer = DEFAULT_RENDERER,
    paper: PaperMetadata | None = None,
) -> Json:
    """Return an equation of the library as JSON; `paper` is what is known about its paper.

    Keys: `id` (ARTICLE#ordinal), `ordinal`, `number` (as printed), `label` (the first), `labels`,
    `latex` (as written), `clean_latex` (to copy: macros expanded, no labels and sizes), `text`
    (Unicode), `mathml`, `article`, `title`, `section` (plain text), `file`, `line`, `url` (at
    arXiv), `authors`, `year`, `arxiv` (the id), `citation` (one line), `reference` (BibTeX).
    """
    cited = Citation.of(equation.article, title, paper)
    return {
        "id": equation.id,
        "ordinal": equation.ordinal,
        "number": equation.number,
        "label": equation.label,
        "labels": equation.labels,
        "latex": equation.latex,
        "clean_latex": clean_latex(equation.expanded),
        "text": renderer.text(equation.expanded),
        "mathml": renderer.mathml(equation.expanded, display=True),
        "article": equation.article,
        "title": cited.title,
        "section": _plain_title(equation.section),
        "file": equation.file,
        "line": equation.line,
        "url": arxiv_url(equation.article),
        **cited.to_json(),
        "reference": equation_bibtex(equation, cited),
    }


#: Sections have many equations.
_plain_title = lru_cache(maxsize=1 << 12)(plain_text)


def arxiv_url(article: str) -> str | None:
    """Return the address of a paper at arXiv, if its name is an arXiv id."""
    found, version = arxiv_id(article)
    return f"https://arxiv.org/abs/{found}{version}" if found else None


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
    strength: float | None = None
    """The estimated share of such answers that are good, from 0 to 1; None if it is not known."""
    paper: PaperMetadata | None = None
    """What is known about its paper from elsewhere."""

    @property
    def citation(self) -> Citation:
        """The paper: title, authors, year and arXiv id, as far as they are known."""
        return Citation.of(self.article, self.title, self.paper)

    @property
    def level(self) -> StrengthLevel | None:
        """The strength in one word: strong, good, fair or weak; None if it is not known."""
        return None if self.strength is None else level(self.strength)

    @property
    def is_weak(self) -> bool:
        """Whether it probably does not answer the query."""
        return self.strength is not None and self.strength < weak_below()

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
            `score`, `strength`, `level`, `parts`, all keys of `equation_json`, `context` (a list of
            pieces, see `snippets`), `context_text` (formulas between dollars), `family` and
            `papers`.

        """
        context = around_equation(self.equation.context, reach)
        return {
            "score": round(self.score, 6),
            "strength": None if self.strength is None else round(self.strength, 4),
            "level": self.level,
            "parts": {part: round(value, 6) for part, value in self.parts.items()},
            **equation_json(self.equation, self.title, renderer, self.paper),
            "context": pieces(context, WordMatcher(words), renderer),
            "context_text": printed_text(context),
            "family": self.family,
            "papers": self.papers,
        }

    def to_text(self, width: int = TEXT_WIDTH, rank: int | None = None) -> str:
        """Return lines for people: the equation, its place, and the words around it."""
        lead = ("" if rank is None else f"{rank:3}  ") + f"{self.mark:>6}  "
        room = width - len(lead)
        lines = [cut(self.text, room), *self._place(room), self._snippet(min(_MAX_SNIPPET, room))]
        return lead + ("\n" + " " * len(lead)).join(filter(None, lines))

    @property
    def mark(self) -> str:
        """The strength in percent or, if it is not known, the score."""
        return f"{self.score:.3f}" if self.strength is None else f"{100 * self.strength:.0f}%"

    def _place(self, room: int) -> list[str]:
        """Return name, title, authors, year and place, in two lines if they need them."""
        equation = self.equation
        number = f" ({equation.number})" if equation.number is not None else ""
        same = f", in {self.papers} papers" if self.papers > 1 else ""
        named, stands = f"{equation.id}{number}{same}", place_in_file(equation)
        byline = cut(self.citation.byline, max(0, room - len(stands) - 3))
        stands = f"{byline} · {stands}" if len(byline) > 1 else stands
        needed = min(60, len(self.title)) + 3 if byline else 0
        on_one_line = len(named) + len(stands) + needed + 3 <= room
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

    def __repr__(self) -> str:
        return f"<Hit {self.score:.3f} {self.equation!r}>"

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
    matches: Matches | CountedMatches | None = None
    """All equations that match, best or not; None if the ranking has no least match."""

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, rank: int) -> Hit:
        return self.hits[rank]

    @property
    def match(self) -> Literal["good", "weak", "none"]:
        """Whether the query has a good answer, only weak ones, or none at all."""
        if all(hit.is_weak for hit in self.hits):
            return "weak" if self.hits else "none"
        return "good"

    def without_weak(self) -> "Answer":
        """Return the answer without its weak hits."""
        return replace(self, hits=[hit for hit in self.hits if not hit.is_weak])

    def to_json(self, *, reach: int | None = None, renderer: Renderer = DEFAULT_RENDERER) -> Json:
        """Return the answer as JSON: `hits`, `match`, `unknown`, `near`, `notes` and `reading`.

        `reading` says how the query was read: None for plain words and for names.

        The words of the query are marked in the context of every hit; see `Hit.to_json`.
        """
        return {
            "hits": [
                hit.to_json(words=self.words, reach=reach, renderer=renderer) for hit in self.hits
            ],
            "match": self.match,
            "unknown": self.unknown,
            "near": self.near,
            "notes": self.notes,
            "reading": reading_json(self.reading),
        }

    def to_text(self, width: int = TEXT_WIDTH) -> str:
        """Return the hits as a terminal shows them; a line stands before the weak ones."""
        ranked = list(enumerate(self.hits, 1))
        lines = [hit.to_text(width, rank) for rank, hit in ranked if not hit.is_weak]
        weak = [hit.to_text(width, rank) for rank, hit in ranked if hit.is_weak]
        if weak:
            lines.append(WEAK_MATCHES if lines else NO_GOOD_MATCH)
        return "\n\n".join(lines + weak)

    def __str__(self) -> str:
        return "\n".join(filter(None, (*self._messages(), self.to_text()))) or "No matches."

    def __repr__(self) -> str:
        best = f", best {self.hits[0].equation.id} ({self.hits[0].score:.3f})" if self.hits else ""
        more = [f"{len(self.unknown)} unknown words"] if self.unknown else []
        more += self.notes[:1]
        return f"<Answer: {', '.join([f'{len(self.hits)} hits{best}', *more])}>"

    def _messages(self) -> list[str]:
        unknown = [f"not known: {', '.join(self.unknown)}"] if self.unknown else []
        return reading_lines(self.reading) + unknown + self.notes

    def to_frame(self, kind: str | None = None) -> Any:
        """Return a data frame with a row for each hit, best first.

        Args:
            kind: "pandas" or "polars"; None for the one that is installed, pandas if both are.

        Returns:
            A frame whose columns are the keys of `Hit.to_json`, with `context` as text.

        Examples:
            >>> frame = library.search("cosine similarity", k=2).to_frame()
            >>> list(frame["id"])
            ['ir/cosine#1', 'ir/item-neighbours#1']

        """
        rows = [hit.to_json() for hit in self.hits]
        for row in rows:
            row["context"] = row.pop("context_text")
        return data_frame(rows, kind)

    def to_pandas(self) -> Any:
        """Return a pandas data frame with a row for each hit, as `to_frame` does."""
        return self.to_frame("pandas")

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
        ("strength", "equation", "paper"),
        (
            (
                f"{hit.mark} (weak)" if hit.is_weak else hit.mark,
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


def data_frame(records: Iterable[Json], kind: str | None = "pandas") -> Any:
    """Return a data frame of pandas or polars; with None, of the first that is installed."""
    if kind not in (None, "pandas", "polars"):
        raise UsageError(f"a data frame is of 'pandas' or 'polars', not {quoted(kind)}")
    if kind != "polars":
        try:
            import pandas as pd  # type: ignore[import-untyped]

            return pd.DataFrame(list(records))
        except ImportError:
            if kind == "pandas":
                raise UsageError("a data frame needs pandas: `pip install pandas`") from None
    try:
        import polars as pl
    except ImportError:
        needed = kind or "pandas or polars"
        wanted = kind or "pandas"
        raise UsageError(f"a data frame needs {needed}: `pip install {wanted}`") from None
    return pl.DataFrame(list(records), infer_schema_length=None)
