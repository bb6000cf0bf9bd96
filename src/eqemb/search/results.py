"""Answers: equations with all that people and programs want to know of them."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Any

from eqemb.article import Equation
from eqemb.errors import UsageError
from eqemb.formula import layout
from eqemb.search.snippets import PLAIN, Renderer, around_equation, pieces, word_matcher
from eqemb.sources.names import arxiv_id

#: How wide an answer is as text, where nobody says.
WIDTH = 113
#: A title is shown from so many letters on, and words around an equation up to so many.
_TITLE, _SNIPPET = 12, 86
#: `$2.73$` may be a reference or a value: it is a reference in parentheses, after *Eq.* or *see*,
#: and where a sentence begins with *In*.
_NUMBER = r"\$((?:[1-9]\d*|[A-Z]\.\d+)(?:\.\d+[a-z]?)*)\$"
_BEFORE = r"((?:^|(?<=[.:;] ))(?:In|From|By|Using) |\b(?:[Ee]q(?:ns?|s|uations?)?|[Ss]ee)\.?[ ~]?)"
_REFERENCE = re.compile(rf"\({_NUMBER}\)|{_BEFORE}{_NUMBER}")
_PLACE = re.compile(r"\[(?:equation|…)\]")

Json = dict[str, Any]


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
        return arxiv_url(self.article)

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

    def to_json(
        self, *, words: Iterable[str] = (), reach: int | None = None, renderer: Renderer = PLAIN
    ) -> Json:
        """Return the hit as JSON, the same for the command line, the API and Python.

        Parameters
        ----------
        words
            Words of the query, to be marked in the context.
        reach
            How many words of the context to give on each side of the equation; None for all.
        renderer
            How formulas are rendered.

        Returns
        -------
        dict
            `score`, `parts`, all keys of `equation_json`, `context` (a list of pieces, see
            `snippets`), `context_text`, `family` and `papers`.

        """
        context = around_equation(self.equation.context, reach)
        return {
            "score": round(self.score, 6),
            "parts": {part: round(value, 6) for part, value in self.parts.items()},
            **equation_json(self.equation, self.title, renderer),
            "context": pieces(context, word_matcher(words), renderer),
            "context_text": context,
            "family": self.family,
            "papers": self.papers,
        }

    def to_text(self, width: int = WIDTH, rank: int | None = None) -> str:
        """Lines for people: the equation, where it stands, and the words around it."""
        lead = ("" if rank is None else f"{rank:3}  ") + f"{self.score:6.3f}  "
        room = width - len(lead)
        lines = [cut(self.text, room), *self._place(room), self._snippet(min(_SNIPPET, room))]
        return lead + ("\n" + " " * len(lead)).join(filter(None, lines))

    def _place(self, room: int) -> list[str]:
        """Name, title and place: the title is cut, and the place has its own line if it must."""
        equation = self.equation
        number = f" ({equation.number})" if equation.number is not None else ""
        same = f", in {self.papers} papers" if self.papers > 1 else ""
        named, stands = f"{equation.id}{number}{same}", f"{equation.file}:{equation.line}"
        on_one_line = len(named) + len(stands) + 3 <= room
        left = room - len(named) - (len(stands) + 6 if on_one_line else 3)
        title = cut(self.title, min(60, left)) if left >= _TITLE else ""
        if on_one_line:
            return [" · ".join(filter(None, (named, title, stands)))]
        return [" · ".join(filter(None, (named, title))), stands]

    def _snippet(self, width: int) -> str:
        """The words around it; where there are none, a sentence that refers to it."""
        context = readable(self.equation.context)
        if re.search(r"[^\W\d_]{2}", _PLACE.sub("", context)):
            return _around(context, width)
        return cut(readable(self.equation.references[0]), width) if self.equation.references else ""

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return table([self])

    def _repr_latex_(self) -> str:
        return self.equation._repr_latex_()


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

    def to_text(self, width: int = WIDTH) -> str:
        """The hits as a terminal shows them."""
        return "\n\n".join(hit.to_text(width, rank) for rank, hit in enumerate(self.hits, 1))

    def __str__(self) -> str:
        return "\n".join(filter(None, (*self._said(), self.to_text()))) or "nothing found"

    def _said(self) -> list[str]:
        unknown = [f"not known: {', '.join(self.unknown)}"] if self.unknown else []
        return unknown + self.notes

    def to_pandas(self) -> Any:
        """A data frame, a row for each hit; needs pandas."""
        return data_frame(hit.to_dict() for hit in self.hits)

    def _repr_html_(self) -> str:
        return paragraphs(*self._said()) + table(self.hits)


# ------------------------------------------------------------ for terminals


def cut(text: str, width: int) -> str:
    """The text, cut to a width: between words, unless one is very long."""
    if len(text) <= width:
        return text
    end = text.rfind(" ", width // 2, width)
    return text[: width - 1 if end < 0 else end].rstrip() + "…"


def readable(sentence: str) -> str:
    """A sentence with its formulas in Unicode, and references to equations as printed."""
    text = _REFERENCE.sub(
        lambda found: f"({found[1]})" if found[1] else f"{found[2]}({found[3]})", sentence
    )
    text = re.sub(r"\$([^$]*)\$", lambda found: layout(found[1]).to_text(), text)
    text = re.sub(r"\[…\](?:\s*\[…\])+", "[…]", text)
    text = re.sub(r"(?<=[^\s(])(?=\[(?:equation|…)\])", " ", text)
    return re.sub(r"(\[(?:equation|…)\])(?=[\w(\[])", r"\1 ", text).strip()


def where_said(word: str, sentence: str, width: int) -> str:
    """A sentence in which a word is said, cut so that the word is in it."""
    at = sentence.lower().find(word)
    if at + len(word) < width:
        return cut(sentence, width)
    return "…" + cut(sentence[max(0, at - width // 2) :].partition(" ")[2], width - 1)


def _around(context: str, width: int) -> str:
    """The words on both sides of the equation."""
    before, mark, after = context.partition("[equation]")
    if not mark:
        return cut(context, width)
    left = before if len(before) <= width // 2 else "…" + before[-width // 2 :].partition(" ")[2]
    return cut(left + mark + after, width)


# ------------------------------------------------------------ for notebooks


def table(hits: Iterable[Hit]) -> str:
    """Hits as HTML with MathML, without a script."""
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


def place(equation: Equation) -> str:
    """An equation's name and number as HTML."""
    number = f" ({escape(equation.number)})" if equation.number else ""
    return f"<code>{escape(equation.id)}</code>{number}"


def rows(head: Iterable[str], cells: Iterable[Iterable[str]]) -> str:
    """A table of HTML; the cells are HTML already."""
    top = "".join(f"<th>{name}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in cells)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{_whole(body)}</tbody></table>"


def paragraphs(*lines: str) -> str:
    """Lines of text as HTML."""
    return _whole("".join(f"<p>{escape(line)}</p>" for line in lines))


def _whole(html: str) -> str:
    """HTML without the characters that no document may have."""
    return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", " ", html)


def data_frame(records: Iterable[dict[str, Any]]) -> Any:
    """Records as pandas has them."""
    try:
        import pandas as pd  # type: ignore[import-untyped]
    except ImportError:
        raise UsageError("a data frame needs pandas: `pip install pandas`") from None
    return pd.DataFrame(list(records))


# ------------------------------------------------------------ as JSON


def equation_json(equation: Equation, title: str, renderer: Renderer = PLAIN) -> Json:
    """Return an equation of the library as JSON.

    Keys: `id` (ARTICLE#ordinal), `ordinal`, `number` (as printed), `label` (the first), `labels`,
    `latex` (as written), `text` (Unicode), `mathml`, `article`, `title`, `section`, `file`, `line`,
    `url` (at arXiv), `reference` (BibTeX).
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
        "section": equation.section,
        "file": equation.file,
        "line": equation.line,
        "url": arxiv_url(equation.article),
        "reference": bibtex(equation, title),
    }


def arxiv_url(article: str) -> str | None:
    """The page of an article on arXiv, if its name is an arXiv id."""
    found, version = arxiv_id(article)
    return f"https://arxiv.org/abs/{found}{version}" if found else None


def bibtex(equation: Equation, title: str) -> str:
    """A BibTeX entry that cites an equation."""
    found, version = arxiv_id(equation.article)
    which = f"({equation.number})" if equation.number else f"no. {equation.ordinal}"
    fields = {
        "title": re.sub(r"[{}\\]", "", title) or equation.article,
        "note": f"Equation {which}",
        **({"eprint": found + version, "archivePrefix": "arXiv"} if found else {}),
    }
    body = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
    key = re.sub(r"[^\w.:/-]", "-", f"{equation.article}-{equation.ordinal}")
    return f"@misc{{{key},\n{body}\n}}"
