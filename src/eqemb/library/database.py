"""The records of a library: every article, equation and problem, in one SQLite file.

This module is the only one that contains SQL. Rows are stored in the order in which the sources
were found. The digest of a library is the digest of its records' digests, in order.
"""

import hashlib
import json
import os
import sqlite3
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from eqemb.article import Article, Equation, Problem
from eqemb.errors import EqembError
from eqemb.library.rows import EQUATION_COLUMNS, JSON_COLUMNS, Record

#: Version of the stored records. Increased whenever their content changes, or the rule by which two
#: equations are of one type. The index, which is computed from records, has its own version.
RECORDS_FORMAT = 2
#: The name that stands for every article, whatever its collection.
ALL = "all"

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


class ArticleTotals(NamedTuple):
    """Sums over all articles."""

    words: int
    source_bytes: int
    displays_opened: int
    displays_found: int
    displays_lost: int
    displays_unaccounted: int
    """Opened, but neither found nor known to be lost."""


def _digest(canonical: str) -> bytes:
    return hashlib.sha256(canonical.encode()).digest()[:16]


class Records:
    """The SQLite file of a library: records are appended in order and read in any order."""

    def __init__(self, path: Path, *, write: bool = False) -> None:
        """Open the file read-only; with `write`, create it if it is missing."""
        self.path = path
        self._open = False
        self._units: dict[str, int] | None = None
        self._types: int | None = None
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
        """Append one record. It is durable after the next `commit`."""
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
        marks = ",".join("?" * (len(EQUATION_COLUMNS) + 2))
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
        """Return the id of an equation type; new types and units are numbered in order."""
        known = self.type_of(canonical)
        if known is not None:
            return known
        ids = array("i", (self._unit(unit) for unit in units)).tobytes()
        if self._types is None:  # counted once: SQLite walks the table to count it
            self._types = int(self._db.execute("SELECT COUNT(*) FROM types").fetchone()[0])
        new = self._types
        row = (new, _digest(canonical), canonical, ids)
        self._db.execute("INSERT INTO types VALUES (?, ?, ?, ?)", row)
        self._types += 1
        return new

    def _unit(self, unit: str) -> int:
        if self._units is None:
            self._units = {name: key for key, name in self.rows("SELECT id, unit FROM units")}
        key = self._units.setdefault(unit, len(self._units))
        if key == len(self._units) - 1:
            self._db.execute("INSERT OR IGNORE INTO units VALUES (?, ?)", (key, unit))
        return key

    def commit(self) -> None:
        """Make added records durable."""
        if self._open:
            self._db.execute("COMMIT")
            self._open = False

    def set_clusters(self, clusters: Iterable[list[int]]) -> None:
        """Store which sources are near-duplicates; replaces earlier clusters."""
        self._db.execute("BEGIN")
        self._db.execute("UPDATE sources SET cluster = NULL")
        for number, members in enumerate(clusters, 1):
            self._db.executemany(
                "UPDATE sources SET cluster = ? WHERE id = ?", ((number, key) for key in members)
            )
        self._db.execute("COMMIT")

    def finish(self) -> None:
        """Commit, and close the file as a single file without a write-ahead log."""
        self.commit()
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._db.execute("PRAGMA journal_mode=DELETE")
        self._db.close()

    def close(self) -> None:
        """Close the file; records added since the last `commit` are dropped."""
        self._db.close()

    # ------------------------------------------------------------ reading

    def count(self) -> int:
        """Return the number of sources, articles and skipped ones."""
        return int(self._db.execute("SELECT COUNT(*) FROM sources").fetchone()[0])

    def rows(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Run a query and return its rows."""
        return iter(self._db.execute(query, values))

    def type_of(self, canonical: str) -> int | None:
        """Return the id of the equation type with a canonical form, or None."""
        query = "SELECT id FROM types WHERE digest = ?"
        return next((int(key) for (key,) in self.rows(query, _digest(canonical))), None)

    def sha256(self) -> str:
        """Return the digest of all records and clusters."""
        total = hashlib.sha256(f"eqemb records {RECORDS_FORMAT}\n".encode())
        for digest, cluster in self.rows("SELECT digest, cluster FROM sources ORDER BY id"):
            total.update(digest + str(cluster).encode())
        return total.hexdigest()

    def names(self) -> list[str]:
        """Return the names of the articles, in order."""
        query = "SELECT name FROM sources WHERE status != 'skipped' ORDER BY id"
        return [row[0] for row in self.rows(query)]

    # ------------------------------------------------------------ reading, for ingest and facade

    def origins(self) -> Iterator[tuple[str, str]]:
        """Yield name and origin of every source, in order."""
        return iter(self._db.execute("SELECT name, origin FROM sources ORDER BY id"))

    def digests(self) -> Iterator[tuple[str, bytes]]:
        """Yield name and digest of every source, in order."""
        return iter(self._db.execute("SELECT name, digest FROM sources ORDER BY id"))

    def contents(self) -> Iterator[tuple[str, int, str]]:
        """Yield name, number of equations and title of every article, in order."""
        query = (
            "SELECT name, (SELECT COUNT(*) FROM equations e WHERE e.article = s.id), title"
            " FROM sources s JOIN articles a ON a.id = s.id ORDER BY s.id"
        )
        return iter(self._db.execute(query))

    def article_ids(self) -> Iterator[tuple[int, str, str]]:
        """Yield id, name and collection of every article, in order."""
        query = "SELECT id, name, collection FROM sources WHERE status != 'skipped' ORDER BY id"
        return ((int(key), name, group) for key, name, group in self.rows(query))

    def unit_names(self) -> Iterator[str]:
        """Yield every unit, ordered by id."""
        return (unit for (unit,) in self.rows("SELECT unit FROM units ORDER BY id"))

    def equation_units(self, key: int) -> Iterator[tuple[int, list[int]]]:
        """Yield type and unit ids of every equation of an article, in order."""
        query = (
            "SELECT type, units FROM equations e JOIN types t ON t.id = e.type"
            " WHERE article = ? ORDER BY ordinal"
        )
        return ((int(type_), array("i", ids).tolist()) for type_, ids in self.rows(query, key))

    def first_equation(self, type_: int) -> str:
        """Return the name (`ARTICLE#4`) of the first equation of a type."""
        query = (
            "SELECT name, ordinal FROM equations e JOIN sources s ON s.id = e.article"
            " WHERE type = ? ORDER BY e.article, ordinal LIMIT 1"
        )
        name, ordinal = next(self.rows(query, type_))
        return f"{name}#{ordinal}"

    def sketch_sizes(self) -> list[tuple[int, int]]:
        """Return id and number of sampled hashes of every article, in order."""
        query = "SELECT id, LENGTH(sketch) / 8 FROM articles ORDER BY id"
        return self._db.execute(query).fetchall()

    def sketches(self) -> Iterator[bytes]:
        """Yield the sampled hashes of every article, in order."""
        return (data for (data,) in self.rows("SELECT sketch FROM articles ORDER BY id"))

    # ------------------------------------------------------------ reading, for the report

    def status_counts(self) -> dict[str, int]:
        """Return how many sources were read, partially read and skipped."""
        return dict(self._db.execute("SELECT status, COUNT(*) FROM sources GROUP BY status"))

    def skip_counts(self) -> dict[str, int]:
        """Return how many sources were skipped for each cause, most frequent first."""
        query = (
            "SELECT cause, COUNT(*) FROM sources WHERE status = 'skipped'"
            " GROUP BY cause ORDER BY COUNT(*) DESC, cause"
        )
        return dict(self._db.execute(query))

    def numbering_counts(self) -> dict[int | None, int]:
        """Return how many equations are numbered (1), not numbered (0) and unknown (None)."""
        return dict(self._db.execute("SELECT numbered, COUNT(*) FROM equations GROUP BY numbered"))

    def totals(self) -> ArticleTotals:
        """Return sums over all articles."""
        query = (
            "SELECT COALESCE(SUM(words), 0), COALESCE(SUM(bytes), 0), COALESCE(SUM(opened), 0),"
            " COALESCE(SUM(MIN(displays, opened)), 0), COALESCE(SUM(lost), 0),"
            " COALESCE(SUM(MAX(opened - displays - lost, 0)), 0) FROM articles"
        )
        return ArticleTotals(*next(self.rows(query)))

    def skipped_sources(self, most: int = -1) -> Iterator[tuple[str, str, str]]:
        """Yield origin, cause and detail of the first skipped sources, by default of all."""
        query = (
            "SELECT origin, cause, detail FROM sources WHERE status = 'skipped' ORDER BY id LIMIT ?"
        )
        return iter(self._db.execute(query, (most,)))

    def least_covered(self, most: int) -> Iterator[tuple[str, int, int]]:
        """Yield name, displays opened and displays missing of the least complete articles."""
        # "missing", since "lost" is the column of displays that are known to be lost
        query = (
            "SELECT name, opened, opened - displays AS missing FROM sources s JOIN articles a"
            " ON a.id = s.id WHERE missing > 0"
            " ORDER BY 1.0 * missing / opened DESC, missing DESC, s.id LIMIT ?"
        )
        return iter(self._db.execute(query, (most,)))

    def problems(self, *, partial: bool = False) -> Iterator[tuple[str, str, str, int, str]]:
        """Yield cause, article, file, line and detail of every problem, in order.

        With `partial`, only those of partially read articles.
        """
        query = (
            "SELECT p.cause, name, file, line, p.detail FROM problems p JOIN sources s"
            " ON s.id = p.article"
        )
        query += (
            " WHERE status = 'partial' ORDER BY s.id, p.rowid" if partial else " ORDER BY p.rowid"
        )
        return iter(self._db.execute(query))

    def problem_counts(self) -> list[tuple[str, int, int]]:
        """Return cause, occurrences and articles of every kind of problem, most frequent first."""
        query = (
            "SELECT cause, COUNT(*), COUNT(DISTINCT article) FROM problems"
            " GROUP BY cause ORDER BY COUNT(*) DESC, cause"
        )
        return self._db.execute(query).fetchall()

    def problem_examples(self, cause: str, most: int) -> Iterator[tuple[str, str, int, str]]:
        """Yield article, file, line and detail of problems: the first of each article first."""
        query = (
            "SELECT name, file, line, p.detail FROM problems p JOIN sources s ON s.id = p.article"
            " WHERE p.cause = ?"
            " ORDER BY ROW_NUMBER() OVER (PARTITION BY article ORDER BY p.rowid), p.rowid LIMIT ?"
        )
        return iter(self._db.execute(query, (cause, most)))

    def unknown_macros(self) -> Iterator[tuple[str, str, int]]:
        """Yield article, macro and occurrences for every unknown macro of every article."""
        query = (
            "SELECT name, macro, count FROM unknown_macros JOIN sources s ON s.id = article"
            " ORDER BY s.id, macro"
        )
        return iter(self._db.execute(query))

    def unknown_macro_counts(self, most: int) -> Iterator[tuple[str, int, int, str]]:
        """Yield the most frequent unknown macros: macro, occurrences, articles and an example.

        The example is the article with most occurrences, the first of equals.
        """
        query = (
            "SELECT macro, SUM(count), COUNT(*), name, MAX(count * 1000000000 - article)"
            " FROM unknown_macros JOIN sources s ON s.id = article"
            " GROUP BY macro ORDER BY SUM(count) DESC, macro LIMIT ?"
        )
        for macro, count, articles, name, _ in self.rows(query, most):
            yield macro, count, articles, name

    def cluster_members(self) -> list[list[str]]:
        """Return the names of near-duplicate articles, cluster by cluster."""
        query = "SELECT cluster, name FROM sources WHERE cluster IS NOT NULL ORDER BY cluster, id"
        found: dict[int, list[str]] = {}
        for cluster, name in self.rows(query):
            found.setdefault(cluster, []).append(name)
        return list(found.values())

    def collection_totals(self) -> Iterator[tuple[str, int, int, int, int]]:
        """Yield name, articles, words, equations and numbered equations of every collection."""
        query = (
            "SELECT collection, COUNT(*), SUM(words), SUM((SELECT COUNT(*) FROM equations e WHERE"
            " e.article = s.id)), SUM((SELECT COUNT(*) FROM equations e WHERE e.article = s.id AND"
            " numbered)) FROM sources s JOIN articles a ON a.id = s.id GROUP BY collection"
            " ORDER BY collection"
        )
        return iter(self._db.execute(query))

    def slowest(self, most: int) -> list[tuple[str, float]]:
        """Return the sources that took longest to read, with seconds."""
        query = "SELECT name, seconds FROM sources ORDER BY seconds DESC, id LIMIT ?"
        return self._db.execute(query, (most,)).fetchall()

    # ------------------------------------------------------------ reading, articles and equations

    def sources(self) -> Iterator[Record]:
        """Yield every record in order; adding them to an empty file gives the same records."""
        units = list(self.unit_names())
        equations = ", ".join(f'"{column}"' for column in EQUATION_COLUMNS)
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
        """Return the id of the article with this name, or None.

        A skipped source may have the same name as an article; it is never returned.
        """
        query = "SELECT s.id FROM sources s JOIN articles a ON a.id = s.id WHERE s.name = ?"
        return next((int(key) for (key,) in self.rows(query, name)), None)

    def article(self, name: str) -> Article | None:
        """Return the article with this name, or None."""
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
        """Return an equation by its article's id and its ordinal, and the article's title."""
        query = "SELECT name, title FROM sources s JOIN articles a ON a.id = s.id WHERE s.id = ?"
        name, title = next(self.rows(query, key))
        return next(self._equations(key, name, ordinal)), title

    def equation_latex(self) -> dict[str, str]:
        """LaTeX of every equation, macros expanded, by name (ARTICLE#4)."""
        return dict(self._of_equations("expanded"))

    def equation_displays(self) -> dict[str, int]:
        """Number within its article of the display that holds each equation, by name."""
        return dict(self._of_equations("display"))

    def _of_equations(self, column: str) -> Iterator[tuple[str, Any]]:
        query = (
            f"SELECT name, ordinal, {column} FROM equations e JOIN sources s ON s.id = e.article"
        )
        return ((f"{name}#{ordinal}", value) for name, ordinal, value in self.rows(query))

    def list_articles(self) -> Iterator[tuple[str, str, str, int]]:
        """Name, collection, title and number of equations of every article, in order."""
        query = (
            "SELECT name, collection, title,"
            " (SELECT COUNT(*) FROM equations e WHERE e.article = s.id)"
            " FROM sources s JOIN articles a ON a.id = s.id ORDER BY s.id"
        )
        return ((name, group, title, count) for name, group, title, count in self.rows(query))

    def expanded_latex(self) -> list[str]:
        """The LaTeX of all equations with macros expanded, in order."""
        query = "SELECT expanded FROM equations ORDER BY article, ordinal"
        return [latex for (latex,) in self.rows(query)]

    def titles(self) -> list[str]:
        """The titles of all articles."""
        return [title or "" for (title,) in self.rows("SELECT title FROM articles")]

    def _equations(self, key: int, name: str, ordinal: int | None = None) -> Iterator[Equation]:
        columns = ", ".join(f'"{column}"' for column in EQUATION_COLUMNS)
        query = f"SELECT {columns} FROM equations WHERE article = ?1"
        query += " ORDER BY ordinal" if ordinal is None else " AND ordinal = ?2"
        for row in self.rows(query, key, *(() if ordinal is None else (ordinal,))):
            values = dict(zip(EQUATION_COLUMNS, row, strict=True))
            values |= {column: json.loads(values[column]) for column in JSON_COLUMNS}
            if values["numbered"] is not None:
                values["numbered"] = bool(values["numbered"])
            yield Equation(name, **values)

    # ------------------------------------------------------------ reading, for index and search

    def article_texts(self) -> Iterator[tuple[int, str, str]]:
        """Yield id, title and text of every article, in order."""
        query = "SELECT id, title, text FROM articles ORDER BY id"
        return ((int(key), title or "", text or "") for key, title, text in self.rows(query))

    def article_text(self, key: int) -> str:
        """Return the text of an article."""
        return str(next(self.rows("SELECT text FROM articles WHERE id = ?", key))[0])

    def collection_names(self) -> list[str]:
        """Return the collections that have articles, sorted."""
        query = "SELECT DISTINCT collection FROM sources WHERE status != 'skipped'"
        return sorted(str(name) for (name,) in self.rows(query))

    def clusters(self) -> dict[int, int | None]:
        """Return the near-duplicate cluster of every source by id; None for one that is unique."""
        return dict(self.rows("SELECT id, cluster FROM sources"))

    def equation_index(self) -> Iterator[tuple[int, int, int, str, int | None]]:
        """Yield article, ordinal, type, section and `numbered` of every equation, in order."""
        columns = "article, ordinal, type, section, numbered"
        query = f"SELECT {columns} FROM equations ORDER BY article, ordinal"
        for article, ordinal, kind, section, numbered in self.rows(query):
            yield article, ordinal, kind, section or "", numbered

    def equation_labels(self, key: int) -> Iterator[tuple[int, str | None, list[str]]]:
        """Yield ordinal, printed number and labels of every equation of an article, in order."""
        query = "SELECT ordinal, number, labels FROM equations WHERE article = ? ORDER BY ordinal"
        for ordinal, number, labels in self.rows(query, key):
            yield ordinal, number, json.loads(labels)

    def equation_words(self, key: int) -> Iterator[tuple[list[str], str, str, list[str]]]:
        """Yield labels, section, context and references of every equation of an article."""
        columns = 'labels, section, context, "references"'
        query = f"SELECT {columns} FROM equations WHERE article = ? ORDER BY ordinal"
        for labels, section, context, references in self.rows(query, key):
            yield json.loads(labels), section or "", context, json.loads(references)

    def equation_names(self, kind: int | None = None) -> list[str]:
        """Return the names (`ARTICLE#4`) of all equations, or of those of one type, in order."""
        query = "SELECT name, ordinal FROM equations e JOIN sources s ON s.id = e.article"
        query += (" WHERE type = ?" if kind is not None else "") + " ORDER BY e.article, ordinal"
        values = () if kind is None else (kind,)
        return [f"{name}#{ordinal}" for name, ordinal in self.rows(query, *values)]

    def types(self) -> Iterator[tuple[int, str, bytes]]:
        """Yield id, canonical form and unit ids (as int32) of every equation type, in order."""
        return iter(self._db.execute("SELECT id, canonical, units FROM types ORDER BY id"))

    def type_count(self) -> int:
        """Return the number of equation types."""
        return int(next(self.rows("SELECT COUNT(*) FROM types"))[0])

    def canonical(self, kind: int) -> str:
        """Return the canonical form of an equation type."""
        return str(next(self.rows("SELECT canonical FROM types WHERE id = ?", kind))[0])

    def type_units(self, kind: int) -> list[int]:
        """Return the unit ids of an equation type."""
        blob = next(self.rows("SELECT units FROM types WHERE id = ?", kind))[0]
        return array("i", blob).tolist()

    def unit_count(self) -> int:
        """Return the number of units."""
        return int(next(self.rows("SELECT COUNT(*) FROM units"))[0])

    def unit_id(self, unit: str) -> int | None:
        """Return the id of a unit; None where the library does not have it."""
        query = "SELECT id FROM units WHERE unit = ?"
        return next((int(key) for (key,) in self.rows(query, unit)), None)

    # ------------------------------------------------------------ training data

    def collections(self) -> dict[str, int]:
        """Articles of each collection, by name; those without a collection are not listed."""
        query = (
            "SELECT collection, COUNT(*) FROM sources WHERE status != 'skipped'"
            " GROUP BY collection ORDER BY collection"
        )
        return {name: int(count) for name, count in self.rows(query) if name}

    def texts(self, collection: str = ALL) -> Iterator[tuple[int, str, str, str]]:
        """Id, name, collection and text of the articles of a collection, in order."""
        query = (
            "SELECT s.id, s.name, collection, text FROM sources s JOIN articles a ON a.id = s.id"
            " WHERE (?1 = 'all' OR s.collection = ?1) ORDER BY s.id"
        )
        return ((int(key), *row) for key, *row in self.rows(query, collection))

    def article_types(self, key: int) -> Iterator[tuple[int, bool | None, str, list[int]]]:
        """Ordinal, whether numbered, canonical form and unit ids of an article's equations."""
        query = (
            "SELECT ordinal, numbered, canonical, units FROM equations e JOIN types t"
            " ON t.id = e.type WHERE article = ? ORDER BY ordinal"
        )
        for ordinal, numbered, canonical, units in self.rows(query, key):
            is_numbered = None if numbered is None else bool(numbered)
            yield ordinal, is_numbered, canonical, array("i", units).tolist()

    def near_duplicates(self, collection: str = ALL) -> Iterator[tuple[str, int]]:
        """Name and cluster of sources that are near-duplicates of others, in order."""
        query = (
            "SELECT name, cluster FROM sources s WHERE cluster IS NOT NULL"
            " AND (?1 = 'all' OR s.collection = ?1) ORDER BY id"
        )
        return ((name, int(cluster)) for name, cluster in self.rows(query, collection))


def open_records(path: Path) -> Records:
    """Open the records of an existing library."""
    try:
        return Records(path)
    except sqlite3.Error as error:
        remedy = "rebuild the library"
        if path.exists() and not os.access(path, os.R_OK):
            remedy = "make the file readable"
        raise EqembError(f"cannot read {path}: {error}; {remedy}") from None
