"""The records of a library: every article, equation and loss, in one SQLite file.

A `Record` is an article as rows, made by the process that read it and only inserted by the one
that writes. Rows stand in the order in which the sources were found. Each record carries a
digest of its content, and the digest of a library is the digest of those in order: seconds and
paths of the machine do not enter it.
"""

import hashlib
import json
import os
import sqlite3
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from urllib.parse import quote

from eqemb.article import Article, Equation, Problem
from eqemb.errors import EqembError

#: Raised whenever what is stored, or what decides that two equations are the same, changes; an
#: index, which is made of records, has a version of its own.
FORMAT = 2

_SCHEMA = """
CREATE TABLE sources (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, origin TEXT NOT NULL, collection TEXT NOT NULL,
    status TEXT NOT NULL, cause TEXT NOT NULL, detail TEXT NOT NULL, digest BLOB NOT NULL,
    seconds REAL NOT NULL, cluster INTEGER);
CREATE INDEX sources_name ON sources (name);
CREATE TABLE articles (
    id INTEGER PRIMARY KEY, title TEXT, main_file TEXT, text TEXT, sections TEXT, words INTEGER,
    displays INTEGER, opened INTEGER, lost INTEGER, bytes INTEGER, sketch BLOB);
CREATE TABLE equations (
    article INTEGER NOT NULL, ordinal INTEGER NOT NULL, numbered INTEGER, number TEXT,
    labels TEXT, environment TEXT, display INTEGER, latex TEXT, expanded TEXT, file TEXT,
    line INTEGER, end_line INTEGER, section TEXT, context TEXT, "references" TEXT,
    type INTEGER NOT NULL, PRIMARY KEY (article, ordinal)) WITHOUT ROWID;
CREATE INDEX equations_type ON equations (type);
CREATE TABLE types (
    id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, canonical TEXT NOT NULL,
    units BLOB NOT NULL);
CREATE TABLE units (id INTEGER PRIMARY KEY, unit TEXT NOT NULL UNIQUE);
CREATE TABLE problems (
    article INTEGER NOT NULL, cause TEXT, file TEXT, line INTEGER, detail TEXT);
CREATE INDEX problems_article ON problems (article);
CREATE TABLE unknown_macros (article INTEGER NOT NULL, macro TEXT, count INTEGER);
CREATE INDEX unknown_macros_article ON unknown_macros (article);
"""
_EQUATION = [field.name for field in fields(Equation) if field.name != "article"]
_JSON = frozenset(("labels", "references"))
#: A paper with one of these was read in part: something of it is not in the library.
PARTIAL = frozenset((
    "missing input", "recursive input", "input budget", "expansion budget", "output budget",
    "macro recursion", "unclosed conditional", "unclosed environment", "truncated archive",
    "file too large", "unsafe member", "encrypted member", "unsupported compression",
    "unreadable file", "not text", "formula missing", "scan budget", "runaway argument",
    "unclosed inline mathematics", "link outside folder",
))  # fmt: skip


#: What an equation is: its canonical form, and its units in order ("symbol\\tsymbol\\tpath").
Form = tuple[str, tuple[str, ...]]


@dataclass(slots=True)
class Record:
    """One source as rows: an article read wholly or in part, or a source that was skipped."""

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
    """For each equation."""
    problems: tuple[tuple[Any, ...], ...] = ()
    unknown: tuple[tuple[Any, ...], ...] = ()

    def seal(self) -> "Record":
        """Compute the digest of the content."""
        content = (
            self.name, self.origin, self.collection, self.status, self.cause, self.detail,
            None if self.article is None else self.article[:-1],
            self.equations, self.forms, self.problems, self.unknown,
        )  # fmt: skip
        text = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
        self.digest = hashlib.sha256(text.encode()).digest()
        return self


def skipped(name: str, origin: str, collection: str, cause: str, detail: str) -> Record:
    """The record of a source that is no article."""
    return Record(*_storable(name, origin, collection, "skipped", cause, detail)).seal()


def from_article(
    article: Article, words: int, sketch: bytes, forms: list[Form] | None = None
) -> Record:
    """An article as rows; `forms` are those of its equations, their LaTeX where none are given."""
    if forms is None:
        forms = [(equation.expanded, ()) for equation in article.equations]
    lost = [p for p in article.problems if p.cause.startswith("lost:") or p.cause in PARTIAL]
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
        "partial" if lost else "read",
        article=_storable(*row),
        equations=tuple(
            _storable(*(_column(equation, name) for name in _EQUATION))
            for equation in article.equations
        ),
        forms=tuple((_storable(canonical)[0], _storable(*units)) for canonical, units in forms),
        problems=tuple(_storable(p.cause, p.file, p.line, p.detail) for p in article.problems),
        unknown=tuple(_storable(*pair) for pair in sorted(article.unknown_macros.items())),
    ).seal()


def _column(equation: Equation, name: str) -> Any:
    value = getattr(equation, name)
    return json.dumps(value, ensure_ascii=False) if name in _JSON else value


def _storable(*values: Any) -> tuple[Any, ...]:
    """Values that SQLite can hold: a lone surrogate cannot be encoded."""
    return tuple(
        value.encode("utf-8", "replace").decode()
        if isinstance(value, str) and not value.isascii()
        else value
        for value in values
    )


def _digest(canonical: str) -> bytes:
    return hashlib.sha256(canonical.encode()).digest()[:16]


class Records:
    """The SQLite file: written in order, read at random."""

    def __init__(self, path: Path, *, write: bool = False) -> None:
        self.path = path
        self._open = False
        self._units: dict[str, int] | None = None
        if write:
            self._db = sqlite3.connect(path, isolation_level=None)
        else:
            address = f"file:{quote(bytes(path.resolve()))}?mode=ro&immutable=1"
            self._db = sqlite3.connect(address, uri=True)
        try:
            if write:
                self._make_tables()
            self._written = self.count()
        except sqlite3.Error:
            self._db.close()
            raise

    def _make_tables(self) -> None:
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        if self._db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None:
            self._db.executescript(f"BEGIN; {_SCHEMA} COMMIT;")

    # ------------------------------------------------------------ writing

    def add(self, record: Record) -> None:
        """Write one record; durable after the next `commit`."""
        if not self._open:
            self._db.execute("BEGIN")
            self._open = True
        key = self._written
        self._db.execute(
            "INSERT INTO sources VALUES (?,?,?,?,?,?,?,?,?,NULL)",
            (
                key, record.name, record.origin, record.collection, record.status,
                record.cause, record.detail, record.digest, record.seconds,
            ),
        )  # fmt: skip
        if record.article is not None:
            marks = ",".join("?" * (len(record.article) + 1))
            self._db.execute(f"INSERT INTO articles VALUES ({marks})", (key, *record.article))
        marks = ",".join("?" * (len(_EQUATION) + 2))
        self._db.executemany(
            f"INSERT INTO equations VALUES ({marks})",
            (
                (key, *row, self._type(*form))
                for row, form in zip(record.equations, record.forms, strict=True)
            ),
        )
        self._db.executemany(
            "INSERT INTO problems VALUES (?,?,?,?,?)", ((key, *row) for row in record.problems)
        )
        self._db.executemany(
            "INSERT INTO unknown_macros VALUES (?,?,?)", ((key, *row) for row in record.unknown)
        )
        self._written += 1

    def _type(self, canonical: str, units: tuple[str, ...]) -> int:
        """The id of an equation type; types and units are numbered as they come."""
        known = self.type_of(canonical)
        if known is not None:
            return known
        ids = array("i", (self._unit(unit) for unit in units)).tobytes()
        new = self._db.execute(
            "INSERT INTO types VALUES ((SELECT COUNT(*) FROM types), ?, ?, ?)",
            (_digest(canonical), canonical, ids),
        )
        return int(new.lastrowid or 0)

    def _unit(self, unit: str) -> int:
        if self._units is None:
            self._units = {name: key for key, name in self.rows("SELECT id, unit FROM units")}
        key = self._units.setdefault(unit, len(self._units))
        if key == len(self._units) - 1:
            self._db.execute("INSERT OR IGNORE INTO units VALUES (?, ?)", (key, unit))
        return key

    def commit(self) -> None:
        """Make all that was added durable."""
        if self._open:
            self._db.execute("COMMIT")
            self._open = False

    def set_clusters(self, clusters: Iterable[list[int]]) -> None:
        """Note which sources are near-duplicates of one another."""
        self._db.execute("BEGIN")
        self._db.execute("UPDATE sources SET cluster = NULL")
        for number, members in enumerate(clusters, 1):
            self._db.executemany(
                "UPDATE sources SET cluster = ? WHERE id = ?", ((number, key) for key in members)
            )
        self._db.execute("COMMIT")

    def finish(self) -> None:
        """Close the file as one that can be read in place."""
        self.commit()
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._db.execute("PRAGMA journal_mode=DELETE")
        self._db.close()

    def close(self) -> None:
        """Let go of the file; what was added since the last `commit` is forgotten."""
        self._db.close()

    # ------------------------------------------------------------ reading

    def count(self) -> int:
        """Sources written so far."""
        return int(self._db.execute("SELECT COUNT(*) FROM sources").fetchone()[0])

    def rows(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """The rows of a query of our own."""
        return iter(self._db.execute(query, values))

    def type_of(self, canonical: str) -> int | None:
        """The id of the equation type of a canonical form, None where it does not occur."""
        query = "SELECT id FROM types WHERE digest = ?"
        return next((int(key) for (key,) in self.rows(query, _digest(canonical))), None)

    def sha256(self) -> str:
        """The digest of the content, in order."""
        total = hashlib.sha256(f"eqemb records {FORMAT}\n".encode())
        for digest, cluster in self.rows("SELECT digest, cluster FROM sources ORDER BY id"):
            total.update(digest + str(cluster).encode())
        return total.hexdigest()

    def names(self) -> list[str]:
        """The names of the articles, in order."""
        query = "SELECT name FROM sources WHERE status != 'skipped' ORDER BY id"
        return [row[0] for row in self.rows(query)]

    def sources(self) -> Iterator[Record]:
        """Every source as it was written, in order: `add` of these gives the same records."""
        units = [unit for (unit,) in self.rows("SELECT unit FROM units ORDER BY id")]
        equations = ", ".join(f'"{column}"' for column in _EQUATION)
        for key, *row in self.rows(
            "SELECT id, name, origin, collection, status, cause, detail, digest, seconds"
            " FROM sources ORDER BY id"
        ):
            record = Record(*row)
            found = next(self.rows("SELECT * FROM articles WHERE id = ?", key), None)
            record.article = None if found is None else found[1:]
            rows = list(
                self.rows(
                    f"SELECT {equations}, canonical, units FROM equations e JOIN types t"
                    " ON t.id = e.type WHERE article = ? ORDER BY ordinal",
                    key,
                )
            )
            record.equations = tuple(row[:-2] for row in rows)
            record.forms = tuple(
                (canonical, tuple(units[unit] for unit in array("i", ids)))
                for *_, canonical, ids in rows
            )
            of = "WHERE article = ? ORDER BY rowid"
            problems = f"SELECT cause, file, line, detail FROM problems {of}"
            record.problems = tuple(self.rows(problems, key))
            unknown = f"SELECT macro, count FROM unknown_macros {of}"
            record.unknown = tuple(self.rows(unknown, key))
            yield record

    def key(self, name: str) -> int | None:
        """The id of the article of a name, None where there is none."""
        query = "SELECT s.id FROM sources s JOIN articles a ON a.id = s.id WHERE s.name = ?"
        return next((int(key) for (key,) in self.rows(query, name)), None)

    def article(self, name: str) -> Article | None:
        """One article as it was read, None where there is none of that name."""
        query = (
            "SELECT s.id, s.name, origin, collection, title, main_file, text, sections, opened,"
            " lost, bytes FROM sources s JOIN articles a ON a.id = s.id WHERE s.name = ?"
        )
        row = next(self.rows(query, name), None)
        if row is None:
            return None
        key = row[0]
        found = Article(
            row[1], row[2], row[3], title=row[4], main_file=row[5], text=row[6],
            sections=json.loads(row[7]), displays_opened=row[8], displays_lost=row[9],
            source_bytes=row[10],
        )  # fmt: skip
        found.equations = list(self._equations(key, name))
        query = "SELECT cause, file, line, detail FROM problems WHERE article = ?"
        found.problems = [Problem(*problem) for problem in self.rows(query, key)]
        query = "SELECT macro, count FROM unknown_macros WHERE article = ?"
        found.unknown_macros = dict(self.rows(query, key))
        return found

    def equation(self, key: int, ordinal: int) -> tuple[Equation, str]:
        """An equation by its article's id and its ordinal, with the article's title."""
        query = "SELECT name, title FROM sources s JOIN articles a ON a.id = s.id WHERE s.id = ?"
        name, title = next(self.rows(query, key))
        return next(self._equations(key, name, ordinal)), title

    def _equations(self, key: int, name: str, ordinal: int | None = None) -> Iterator[Equation]:
        columns = ", ".join(f'"{column}"' for column in _EQUATION)
        query = f"SELECT {columns} FROM equations WHERE article = ?1"
        query += " ORDER BY ordinal" if ordinal is None else " AND ordinal = ?2"
        for row in self.rows(query, key, *(() if ordinal is None else (ordinal,))):
            values = dict(zip(_EQUATION, row, strict=True))
            values |= {column: json.loads(values[column]) for column in _JSON}
            if values["numbered"] is not None:
                values["numbered"] = bool(values["numbered"])
            yield Equation(name, **values)


def open_records(path: Path) -> Records:
    """The records of a library that is already there."""
    try:
        return Records(path)
    except sqlite3.Error as error:
        way_out = "build the library anew"
        if path.exists() and not os.access(path, os.R_OK):
            way_out = "make it readable for you"
        raise EqembError(f"cannot read {path}: {error}; {way_out}") from None
