"""Queries for the report of a library: counts, losses and problems."""

from collections.abc import Iterator
from typing import NamedTuple

from eqemb.library.database.connection import Connection


class ArticleCounts(NamedTuple):
    """What the report counts in one article."""

    name: str
    origin: str
    collection: str
    status: str
    words: int
    source_bytes: int
    displays: int
    opened: int
    """Displays that an independent scan of the source found."""
    lost: int
    """Displays that are known to be lost."""
    equations: int
    numbered: int
    unnumbered: int
    """The numbering of the remaining equations is unknown."""


class ReportQueries(Connection):
    """What the report of a library counts and lists.

    Views that hide rows may stand for the tables. A view of `problems` needs the column `rowid`,
    by which they are ordered.
    """

    def status_counts(self) -> dict[str, int]:
        """Return how many sources were read, partially read and skipped."""
        return dict(self.rows("SELECT status, COUNT(*) FROM sources GROUP BY status"))

    def numbering_counts(self) -> dict[int | None, int]:
        """Return how many equations are numbered (1), not numbered (0) and unknown (None)."""
        return dict(self.rows("SELECT numbered, COUNT(*) FROM equations GROUP BY numbered"))

    def article_counts(self) -> Iterator[ArticleCounts]:
        """Yield the counts of every article, in order."""
        # equations are counted first: a join of their rows would read each article's text again
        query = (
            "SELECT name, origin, collection, status, words, bytes, displays, opened, lost,"
            " COALESCE(equations, 0), COALESCE(numbered, 0), COALESCE(unnumbered, 0)"
            " FROM sources s JOIN articles a ON a.id = s.id LEFT JOIN (SELECT article,"
            " COUNT(*) AS equations, SUM(numbered = 1) AS numbered, SUM(numbered = 0) AS unnumbered"
            " FROM equations GROUP BY article) e ON e.article = s.id ORDER BY s.id"
        )
        return map(ArticleCounts._make, self.rows(query))

    def skipped_sources(self) -> Iterator[tuple[str, str, str]]:
        """Yield origin, cause and detail of every skipped source, in order."""
        query = "SELECT origin, cause, detail FROM sources WHERE status = 'skipped' ORDER BY id"
        return self.rows(query)

    def problems(self) -> Iterator[tuple[str, str, str, int, str]]:
        """Yield cause, article, file, line and detail of every problem, in order."""
        query = (
            "SELECT p.cause, name, file, line, p.detail FROM problems p JOIN sources s"
            " ON s.id = p.article ORDER BY p.rowid"
        )
        return self.rows(query)

    def unknown_macros(self) -> Iterator[tuple[str, str, int]]:
        """Yield article, macro and occurrences for every unknown macro of every article."""
        query = (
            "SELECT name, macro, count FROM unknown_macros JOIN sources s ON s.id = article"
            " ORDER BY s.id, macro"
        )
        return self.rows(query)

    def slowest(self, most: int) -> list[tuple[str, float]]:
        """Return the sources that took longest to read, with seconds."""
        query = "SELECT name, seconds FROM sources ORDER BY seconds DESC, id LIMIT ?"
        return list(self.rows(query, most))
