"""One source as database rows.

The process that reads a paper makes its `Record`; the process that writes the library only inserts
it. Each record carries a digest of its content. Times and absolute paths are not part of it.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from eqemb.article import Article, Equation

#: Columns of the table of equations after the article, in order.
EQUATION_COLUMNS = [field.name for field in fields(Equation) if field.name != "article"]
#: Columns that hold lists, as JSON.
JSON_COLUMNS = frozenset(("labels", "references"))
#: Problems, besides lost displays, that mean that part of a paper is missing from the library.
PARTIAL = frozenset((
    "missing input", "recursive input", "input budget", "expansion budget", "output budget",
    "macro recursion", "unclosed conditional", "unclosed environment", "truncated archive",
    "file too large", "unsafe member", "encrypted member", "unsupported compression",
    "unreadable file", "not text", "formula missing", "scan budget", "runaway argument",
    "unclosed inline mathematics", "link outside folder", "input outside folder",
    "reference budget", "context budget", "table budget",
))  # fmt: skip
#: Problems that mean that a limit cut off a paper, so that nobody knows how much of it is missing.
CUT_OFF = frozenset((
    "input budget", "expansion budget", "output budget", "scan budget", "truncated archive",
    "file too large",
))  # fmt: skip

#: Problems that leave it open whether a paper was read as TeX reads it, and their plural.
DOUBTS = {
    "class unknown": "classes unknown",
    "missing input": "inputs missing",
    "undecided conditional": "conditionals undecided",
    "unknown environment": "environments unknown",
    "catcode change": "catcodes changed",
    "too many counters": "counters too many",
    "expl3 code": "blocks of expl3 code",
}

#: The canonical form of an equation, and its units in order ("symbol\\tsymbol\\tpath").
Form = tuple[str, tuple[str, ...]]


class ReadCounts(NamedTuple):
    """Numbers of documents, equations and skipped sources."""

    documents: int = 0
    equations: int = 0
    skipped: int = 0

    def plus(self, other: "ReadCounts") -> "ReadCounts":
        """Return the sums."""
        return ReadCounts(*(one + more for one, more in zip(self, other, strict=True)))


@dataclass(slots=True)
class Record:
    """The rows of one source: an article, complete or partial, or a skipped source."""

    name: str
    origin: str
    collection: str
    status: str
    """"read", "partial" or "skipped"."""
    cause: str = ""
    detail: str = ""
    digest: bytes = b""
    seconds: float = 0.0
    article: tuple[Any, ...] | None = None
    equations: tuple[tuple[Any, ...], ...] = ()
    forms: tuple[Form, ...] = ()
    """One for each equation."""
    problems: tuple[tuple[Any, ...], ...] = ()
    unknown: tuple[tuple[Any, ...], ...] = ()
    publication: tuple[str, str] | None = None
    """Authors, as JSON, and date; None if neither is known."""
    notation: tuple[tuple[Any, ...], ...] = ()

    def to_values(self) -> tuple[Any, ...]:
        """Return it as tuples, text, numbers and bytes."""
        return tuple(getattr(self, name) for name in _RECORD_FIELDS)

    @classmethod
    def from_values(cls, values: Any) -> "Record":
        """Return the record that `to_values` gave; raise `ValueError` for anything else."""
        if type(values) is not tuple or len(values) != len(_RECORD_FIELDS):
            raise ValueError("it has other fields")
        for (name, is_valid), value in zip(_RECORD_FIELDS.items(), values, strict=True):
            if not is_valid(value):
                raise ValueError(f"{name} has another type")
        return cls(*values)

    @property
    def counts(self) -> ReadCounts:
        """What it adds to the counts of a reading."""
        return ReadCounts(1, len(self.equations), int(self.status == "skipped"))

    def seal(self) -> "Record":
        """Compute the digest of the content."""
        content: tuple[Any, ...] = (
            self.name, self.origin, self.collection, self.status, self.cause, self.detail,
            None if self.article is None else self.article[:-1],
            self.equations, self.forms, self.problems, self.unknown,
            *([self.notation] if self.notation else ()),
        )  # fmt: skip
        if self.publication is not None:
            content = (*content, self.publication)
        text = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
        self.digest = hashlib.sha256(text.encode()).digest()
        return self


def _is_row(value: Any) -> bool:
    return type(value) is tuple and _VALUES.issuperset(map(type, value))


def _is_rows(value: Any) -> bool:
    return type(value) is tuple and all(map(_is_row, value))


def _is_optional_row(value: Any) -> bool:
    return value is None or _is_row(value)


def _is_forms(value: Any) -> bool:
    return type(value) is tuple and all(
        type(form) is tuple
        and list(map(type, form)) == [str, tuple]
        and _TEXT_ONLY.issuperset(map(type, form[1]))
        for form in value
    )


def _is_text(value: Any) -> bool:
    return type(value) is str


#: The types of what a database stores.
_VALUES: frozenset[type] = frozenset((str, int, float, bytes, bool, type(None)))
_TEXT_ONLY: frozenset[type] = frozenset((str,))
#: The fields of a record, and whether a value may be that of a field.
_RECORD_FIELDS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("name", "origin", "collection", "status", "cause", "detail"), _is_text),
    "digest": lambda value: type(value) is bytes,
    "seconds": lambda value: type(value) is float,
    "article": _is_optional_row,
    "equations": _is_rows,
    "forms": _is_forms,
    "problems": _is_rows,
    "unknown": _is_rows,
    "publication": _is_optional_row,
    "notation": _is_rows,
}


def skipped(name: str, origin: str, collection: str, cause: str, detail: str) -> Record:
    """Return the record of a source that is not an article."""
    return Record(*_storable(name, origin, collection, "skipped", cause, detail)).seal()


def is_loss(cause: str) -> bool:
    """Return whether a problem with this cause means that part of a paper is missing."""
    return cause.startswith("lost:") or cause in PARTIAL


def from_article(
    article: Article, words: int, sketch: bytes, forms: list[Form] | None = None
) -> Record:
    """Return the record of an article.

    `forms` holds the canonical form and units of each equation; by default, an equation's LaTeX
    is its form.
    """
    if forms is None:
        forms = [(equation.expanded, ()) for equation in article.equations]
    is_partial = any(is_loss(problem.cause) for problem in article.problems)
    row = (
        article.title, article.main_file, article.text,
        json.dumps(article.sections, ensure_ascii=False), words,
        len({equation.display for equation in article.equations}), article.displays_opened,
        article.displays_lost, article.source_bytes, sketch,
    )  # fmt: skip
    name, origin, collection = _storable(article.name, article.origin, article.collection)
    return Record(
        name,
        origin,
        collection,
        "partial" if is_partial else "read",
        article=_storable(*row),
        equations=tuple(
            _storable(*(_column(equation, name) for name in EQUATION_COLUMNS))
            for equation in article.equations
        ),
        forms=tuple((_storable(canonical)[0], _storable(*units)) for canonical, units in forms),
        problems=tuple(_storable(p.cause, p.file, p.line, p.detail) for p in article.problems),
        unknown=tuple(_storable(*pair) for pair in sorted(article.unknown_macros.items())),
        publication=_publication(article),
        notation=tuple(_storable(*row) for row in article.notation),
    ).seal()


def _publication(article: Article) -> tuple[str, str] | None:
    if not (article.authors or article.date):
        return None
    authors, date = _storable(json.dumps(article.authors, ensure_ascii=False), article.date)
    return authors, date


def _column(equation: Equation, name: str) -> Any:
    value = getattr(equation, name)
    return json.dumps(value, ensure_ascii=False) if name in JSON_COLUMNS else value


def _storable(*values: Any) -> tuple[Any, ...]:
    """Replace lone surrogates, which SQLite cannot encode."""
    return tuple(
        value.encode("utf-8", "replace").decode()
        if isinstance(value, str) and not value.isascii()
        else value
        for value in values
    )
