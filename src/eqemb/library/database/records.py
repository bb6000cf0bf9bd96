"""The SQLite file of a library: append records, read articles and equations."""

import hashlib
import os
import sqlite3
import weakref
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from eqemb.article import Article, Equation, NotationRow, Problem
from eqemb.errors import EqembError
from eqemb.library.database.connection import damage_of, is_damage
from eqemb.library.database.index_queries import IndexQueries
from eqemb.library.database.report_queries import ReportQueries
from eqemb.library.database.schema import RECORDS_FORMAT, SCHEMA
from eqemb.library.rows import EQUATION_COLUMNS, JSON_COLUMNS, Record

#: Tables with rows of sources, and the column that names the source.
_TABLES_OF_SOURCES = {
    "sources": "id",
    "articles": "id",
    "equations": "article",
    "problems": "article",
    "unknown_macros": "article",
    "notation": "article",
}

_MAX_NAMES = 1 << 14  # of sources, and their authors, that are kept in memory
_COLUMNS = ", ".join(f'"{column}"' for column in EQUATION_COLUMNS)
_ONE_EQUATION = (
    "SELECT s.name, a.title, "
    + ", ".join(f'e."{column}"' for column in EQUATION_COLUMNS)
    + " FROM equations e JOIN sources s ON s.id = e.article JOIN articles a ON a.id = e.article"
    " WHERE e.article = ? AND e.ordinal = ?"
)
#: Where the columns with lists are, and the one that says whether an equation is numbered.
_LISTS_AT = [at for at, column in enumerate(EQUATION_COLUMNS) if column in JSON_COLUMNS]
_NUMBERED_AT = EQUATION_COLUMNS.index("numbered")


def _digest(canonical: str) -> bytes:
    return hashlib.sha256(canonical.encode()).digest()[:16]


def digest_of(digests: Iterable[bytes]) -> str:
    """Return the digest of records, given the digest of each, in order."""
    total = hashlib.sha256(f"eqemb records {RECORDS_FORMAT}\n".encode())
    for digest in digests:
        total.update(digest)
    return total.hexdigest()


class Records(ReportQueries, IndexQueries):
    """The SQLite file of a library: records are appended in order and read in any order."""

    def __init__(
        self,
        path: Path,
        *,
        write: bool = False,
        resumable: bool = True,
        removed: Sequence[int] = (),
    ) -> None:
        """Open the file read-only; with `write`, create it if it is missing.

        A file that is not `resumable` is useless until `finish` was called. Its journal is in
        memory: SQLite's write-ahead log does not work on network file systems. The sources with
        the ids `removed` are hidden from every query.
        """
        self.path = path
        self._open = False
        self._units: dict[str, int] | None = None
        self._names: dict[int, str] = {}
        self._keys: dict[str, int] = {}
        self._publications: dict[int, tuple[list[str], str]] = {}
        self._types: int | None = None
        self._has_notation: bool | None = None
        self._writes = write
        if write:
            self._db = sqlite3.connect(path, isolation_level=None)
        else:
            address = f"file:{quote(bytes(path.resolve()))}?mode=ro&immutable=1"
            # a thread that hands out papers looks up known names
            self._db = sqlite3.connect(address, uri=True, check_same_thread=False)
            weakref.finalize(self, self._db.close)  # of a library that a thread left open
        try:
            if write:
                self._make_tables("WAL" if resumable else "MEMORY")
            self.documents = self._count_documents()
            self._has_publications = self._has_table("publications")
            if removed:
                self._hide(removed)
        except sqlite3.Error:
            self._db.close()
            raise

    def _make_tables(self, journal: str) -> None:
        self._db.execute(f"PRAGMA journal_mode={journal}")
        self._db.execute("PRAGMA synchronous=NORMAL")
        if self._db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None:
            self._db.executescript(f"BEGIN; {SCHEMA} COMMIT;")

    def _count_documents(self) -> int:
        """Return the number of sources, including hidden ones."""
        query = "SELECT COALESCE(MAX(id) + 1, 0) FROM sources"
        return int(self._db.execute(query).fetchone()[0])

    def _has_table(self, name: str) -> bool:
        query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
        return self._db.execute(query, (name,)).fetchone() is not None

    def _hide(self, removed: Iterable[int]) -> None:
        """Hide sources: temporary views with the names of the tables come before the tables."""
        self._db.execute("CREATE TEMP TABLE removed (id INTEGER PRIMARY KEY)")
        self._db.executemany("INSERT INTO removed VALUES (?)", ((int(key),) for key in removed))
        for table, key in _TABLES_OF_SOURCES.items():
            row = "" if key == "id" or table == "equations" else "rowid, "
            self._db.execute(
                f"CREATE TEMP VIEW {table} AS SELECT {row}* FROM main.{table}"
                f" WHERE {key} NOT IN (SELECT id FROM removed)"
            )

    # ------------------------------------------------------------ writing

    def add(self, record: Record) -> None:
        """Append one record. It is durable after the next `commit`."""
        if not self._open:
            self._db.execute("BEGIN")
            self._open = True
        key = self.documents
        self._db.execute(
            "INSERT INTO sources VALUES (?,?,?,?,?,?,?,?,?)",
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
        if record.publication is not None:
            self._db.execute("INSERT INTO publications VALUES (?,?,?)", (key, *record.publication))
        if record.notation:
            self._db.executemany(
                "INSERT INTO notation VALUES (?,?,?,?)", ((key, *row) for row in record.notation)
            )
        self.documents += 1

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

    def find_damage(self) -> str:
        """Return what SQLite finds wrong with the whole file; empty if it is sound."""
        try:
            found = [str(row[0]) for row in self._db.execute("PRAGMA main.integrity_check(3)")]
        except sqlite3.Error as error:
            return str(error)
        return "" if found == ["ok"] else "; ".join(" ".join(text.split()) for text in found)

    def count(self) -> int:
        """Return the number of sources, articles and skipped ones."""
        return int(self.row("SELECT COUNT(*) FROM sources")[0])

    def type_of(self, canonical: str) -> int | None:
        """Return the id of the equation type with a canonical form, or None."""
        query = "SELECT id FROM types WHERE digest = ?"
        return next((int(key) for (key,) in self.rows(query, _digest(canonical))), None)

    def sha256(self) -> str:
        """Return the digest of all records."""
        return digest_of(digest for _, digest in self.digests())

    def names(self) -> list[str]:
        """Return the names of the articles, in order."""
        query = "SELECT name FROM sources WHERE status != 'skipped' ORDER BY id"
        return [row[0] for row in self.rows(query)]

    # ------------------------------------------------------------ reading, for ingest and facade

    def origins(self) -> Iterator[tuple[str, str]]:
        """Yield name and origin of every source, in order."""
        return self.rows("SELECT name, origin FROM sources ORDER BY id")

    def digests(self) -> Iterator[tuple[str, bytes]]:
        """Yield name and digest of every source, in order."""
        return self.rows("SELECT name, digest FROM sources ORDER BY id")

    def contents(self) -> Iterator[tuple[str, int, str]]:
        """Yield name, number of equations and title of every article, in order."""
        query = (
            "SELECT name, (SELECT COUNT(*) FROM equations e WHERE e.article = s.id), title"
            " FROM sources s JOIN articles a ON a.id = s.id ORDER BY s.id"
        )
        return self.rows(query)

    def name(self, key: int) -> str:
        """Return the name of a source; those read lately are kept."""
        found = self._names.get(key)
        if found is None:
            found = str(self.row("SELECT name FROM sources WHERE id = ?", key)[0])
            if len(self._names) >= _MAX_NAMES:
                self._names.clear()
            self._names[key] = found
        return found

    def article_ids(self) -> Iterator[tuple[int, str, str]]:
        """Yield id, name and collection of every article, in order."""
        query = "SELECT id, name, collection FROM sources WHERE status != 'skipped' ORDER BY id"
        return ((int(key), name, group) for key, name, group in self.rows(query))

    def unit_names(self) -> Iterator[str]:
        """Yield every unit, ordered by id."""
        return (unit for (unit,) in self.rows("SELECT unit FROM units ORDER BY id"))

    def first_equation(self, type_: int) -> str:
        """Return the name (`ARTICLE#4`) of the first equation of a type."""
        query = (
            "SELECT name, ordinal FROM equations e JOIN sources s ON s.id = e.article"
            " WHERE type = ? ORDER BY e.article, ordinal LIMIT 1"
        )
        name, ordinal = self.row(query, type_)
        return f"{name}#{ordinal}"

    def sketches(self) -> Iterator[bytes]:
        """Yield the sampled hashes of every source, in order; none for a skipped source."""
        query = "SELECT sketch FROM sources s LEFT JOIN articles a ON a.id = s.id ORDER BY s.id"
        return (data or b"" for (data,) in self.rows(query))

    def statuses(self) -> Iterator[tuple[int, str, str, str, str]]:
        """Yield id, name, origin, status and cause of every source, in order."""
        return self.rows("SELECT id, name, origin, status, cause FROM sources ORDER BY id")

    def sources_named(self, name: str) -> Iterator[tuple[int, str]]:
        """Yield id and status of the sources with a name."""
        return self.rows("SELECT id, status FROM sources WHERE name = ?", name)

    def sources_from(self, origin: str) -> Iterator[tuple[int, str, str]]:
        """Yield id, name and status of the sources with an origin, in order."""
        query = "SELECT id, name, status FROM sources WHERE origin = ? ORDER BY id"
        return self.rows(query, origin)

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
            if self._has_publications:
                query = "SELECT authors, date FROM publications WHERE article = ?"
                record.publication = next(self.rows(query, key), None)
            record.notation = tuple(self._notation(key))
            yield record

    def key(self, name: str) -> int | None:
        """Return the id of the article with this name, or None; those found lately are kept."""
        found = self._keys.get(name)
        if found is None:
            query = "SELECT s.id FROM sources s JOIN articles a ON a.id = s.id WHERE s.name = ?"
            found = next((int(key) for (key,) in self.rows(query, name)), None)
            if found is not None:
                if len(self._keys) >= _MAX_NAMES:
                    self._keys.clear()
                self._keys[name] = found
        return found

    def origin_of(self, name: str) -> str:
        """Return the origin of the article with this name, or ''."""
        query = "SELECT origin FROM sources WHERE name = ? AND status != 'skipped'"
        return next((origin for (origin,) in self.rows(query, name)), "")

    def names_ending(self, part: str) -> list[str]:
        """Return the names of the articles that end with `/` and this part, in order."""
        if not part:
            return []
        query = (
            "SELECT name FROM sources WHERE substr(name, ?1) = ?2 AND status != 'skipped'"
            " ORDER BY id"
        )
        return [name for (name,) in self.rows(query, -len(part) - 1, f"/{part}")]

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
            sections=self.stored_list(row[7]), displays_opened=row[8], displays_lost=row[9],
            source_bytes=row[10],
        )  # fmt: skip
        found.equations = list(self._equations(key, name))
        query = "SELECT cause, file, line, detail FROM problems WHERE article = ?"
        found.problems = [Problem(*problem) for problem in self.rows(query, key)]
        query = "SELECT macro, count FROM unknown_macros WHERE article = ?"
        found.unknown_macros = dict(self.rows(query, key))
        found.notation = [NotationRow(*row) for row in self._notation(key)]
        found.authors, found.date = self.publication(key)
        return found

    def publication(self, key: int) -> tuple[list[str], str]:
        """Return what an article says about its authors and its date."""
        found = self._publications.get(key)
        if found is None:
            query = "SELECT authors, date FROM publications WHERE article = ?"
            row = next(self.rows(query, key), None) if self._has_publications else None
            found = ([], "") if row is None else (self.stored_list(row[0]), row[1])
            if len(self._publications) >= _MAX_NAMES:
                self._publications.clear()
            self._publications[key] = found
        return found

    def _notation(self, key: int) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of tables of notation of an article; older files have no such table."""
        if self._has_notation is None:
            query = "SELECT 1 FROM main.sqlite_master WHERE name = 'notation'"
            self._has_notation = next(self.rows(query), None) is not None
        if self._has_notation:
            query = "SELECT symbol, meaning, section FROM notation WHERE article = ? ORDER BY rowid"
            yield from self.rows(query, key)

    def equation(self, key: int, ordinal: int) -> tuple[Equation, str]:
        """Return an equation by its article's id and its ordinal, and the article's title."""
        found = self.find_equation(key, ordinal)
        if found is None:
            raise LookupError(f"{self.path} has no equation {ordinal} of the article {key}")
        return found

    def find_equation(self, key: int, ordinal: int) -> tuple[Equation, str] | None:
        """Return the same; None if the article has no equation with this ordinal."""
        row = next(self.rows(_ONE_EQUATION, key, ordinal), None)
        return None if row is None else (self._equation(row[0], row[2:]), row[1])

    def _equations(self, key: int, name: str) -> Iterator[Equation]:
        query = f"SELECT {_COLUMNS} FROM equations WHERE article = ? ORDER BY ordinal"
        return (self._equation(name, row) for row in self.rows(query, key))

    def _equation(self, name: str, row: Sequence[Any]) -> Equation:
        """Return an equation, given its article's name and its columns in order."""
        values = list(row)
        for at in _LISTS_AT:
            values[at] = self.stored_list(values[at])
        if values[_NUMBERED_AT] is not None:
            values[_NUMBERED_AT] = bool(values[_NUMBERED_AT])
        return Equation(name, *values)


def open_records(path: Path, removed: Sequence[int] = ()) -> Records:
    """Open the records of an existing segment, without the removed sources."""
    try:
        return Records(path, removed=removed)
    except sqlite3.Error as error:
        is_readable = os.access(path, os.R_OK)
        if is_readable and is_damage(error):
            raise damage_of(path, error) from None
        remedy = "rebuild the library in another folder"
        if path.exists() and not is_readable:
            remedy = "make the file readable"
        raise EqembError(f"cannot read {path}: {error}; {remedy}") from None
