"""The connection that all queries share; damage that a query finds becomes a `DamageError`."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eqemb.errors import DamageError

#: What SQLite reports if the content of the file is not at fault: it cannot be opened, there is no
#: memory or no space, or the query was stopped.
_NOT_DAMAGE = {
    *(sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_FULL, sqlite3.SQLITE_INTERRUPT)
}
#: What to do about a damaged file of a library.
RESTORE_LIBRARY = (
    "restore it from a copy, or rebuild the library in another folder"
    " (`eqemb verify` lists all damage)"
)


class Connection:
    """An open SQLite file; subclasses add queries."""

    path: Path
    _db: sqlite3.Connection
    _writes = False
    """Whether the file is being written: then the caller reports errors of SQLite."""

    def rows(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Run a query and return its rows."""
        try:
            found = self._db.execute(query, values)
        except sqlite3.Error as error:
            raise self.named(error) from None
        return found if self._writes else self._checked(found)

    def _checked(self, found: sqlite3.Cursor) -> Iterator[tuple[Any, ...]]:
        try:
            yield from found
        except sqlite3.Error as error:
            raise self.named(error) from None

    def row(self, query: str, *values: Any) -> tuple[Any, ...]:
        """Return the first row of a query; raise a `LookupError` if there is none."""
        for found in self.rows(query, *values):
            return found
        raise LookupError(f"{self.path} has no row for {values}: {query}")

    def stored_list(self, stored: Any) -> list[Any]:
        """Return a list that is stored as JSON."""
        if stored == "[]":
            return []
        try:
            found = json.loads(stored)
        except (ValueError, TypeError) as error:
            raise damage_of(self.path, error) from None
        if not isinstance(found, list):
            raise damage_of(self.path, f"not a list: {str(stored)[:40]!r}")
        return found

    def named(self, error: sqlite3.Error) -> Exception:
        """Return a `DamageError` for an error of SQLite if the file may be damaged, or itself."""
        return error if self._writes or not is_damage(error) else damage_of(self.path, error)


def is_damage(error: sqlite3.Error) -> bool:
    """Whether an error of SQLite may be due to a damaged file."""
    is_use = isinstance(error, sqlite3.ProgrammingError | sqlite3.InterfaceError)  # it was closed
    return not is_use and getattr(error, "sqlite_errorcode", None) not in _NOT_DAMAGE


def damage_of(path: Path, what: object) -> DamageError:
    """Return the error that reports damaged records."""
    return DamageError(f"{path} is damaged ({' '.join(str(what).split())}): {RESTORE_LIBRARY}")
