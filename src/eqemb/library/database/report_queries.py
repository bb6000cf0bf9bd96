"""Queries for the report of a library: counts, losses and problems."""

from collections.abc import Iterator
from typing import NamedTuple

from eqemb.library.database.connection import Connection


class ArticleTotals(NamedTuple):
    """Sums over all articles."""

    words: int
    source_bytes: int
    displays_opened: int
    displays_found: int
    displays_lost: int
    displays_unaccounted: int
    """Opened, but neither found nor known to be lost."""


class ReportQueries(Connection):
    """What the report of a library counts and lists."""

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
