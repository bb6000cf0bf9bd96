"""The connection that all queries share."""

import sqlite3
from collections.abc import Iterator
from typing import Any


class Connection:
    """An open SQLite file; subclasses add queries."""

    _db: sqlite3.Connection

    def rows(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Run a query and return its rows."""
        return iter(self._db.execute(query, values))
