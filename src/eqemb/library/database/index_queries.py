"""Queries for the index, search, training and pages: texts, equations, types and units."""

from array import array
from collections.abc import Iterator, Sequence
from typing import Any

from eqemb.library.database.connection import Connection
from eqemb.library.database.schema import ALL

_TYPES_PER_QUERY = 64
_UNITS_OF_TYPES = f"SELECT id, units FROM types WHERE id IN ({','.join('?' * _TYPES_PER_QUERY)})"


class IndexQueries(Connection):
    """Articles, equations, types and units in order."""

    def article_texts(self) -> Iterator[tuple[int, str, str]]:
        """Yield id, title and text of every article, in order."""
        query = "SELECT id, title, text FROM articles ORDER BY id"
        return ((int(key), title or "", text or "") for key, title, text in self.rows(query))

    def article_text(self, key: int) -> str:
        """Return the text of an article."""
        return str(self.row("SELECT text FROM articles WHERE id = ?", key)[0])

    def collection_names(self) -> list[str]:
        """Return the collections that have articles, sorted."""
        query = "SELECT DISTINCT collection FROM sources WHERE status != 'skipped'"
        return sorted(str(name) for (name,) in self.rows(query))

    def equation_index(self) -> Iterator[tuple[int, int, int, str, int | None]]:
        """Yield article, ordinal, type, section and `numbered` of every equation, in order."""
        columns = "article, ordinal, type, section, numbered"
        query = f"SELECT {columns} FROM equations ORDER BY article, ordinal"
        for article, ordinal, kind, section, numbered in self.rows(query):
            yield article, ordinal, kind, section or "", numbered

    def section(self, key: int, ordinal: int) -> str:
        """Return the title of the section of an equation."""
        query = "SELECT section FROM equations WHERE article = ? AND ordinal = ?"
        return next((str(title or "") for (title,) in self.rows(query, key, ordinal)), "")

    def equation_labels(self, key: int) -> Iterator[tuple[int, str | None, list[str]]]:
        """Yield ordinal, printed number and labels of every equation of an article, in order."""
        query = "SELECT ordinal, number, labels FROM equations WHERE article = ? ORDER BY ordinal"
        for ordinal, number, labels in self.rows(query, key):
            yield ordinal, number, self.stored_list(labels)

    def equation_words(self, key: int) -> Iterator[tuple[list[str], str, str, list[str], str]]:
        """Yield labels, section, context, references and form of every equation of an article."""
        columns = 'labels, section, context, "references", canonical'
        query = f"SELECT {columns} FROM equations e JOIN types t ON t.id = e.type"
        query += " WHERE article = ? ORDER BY ordinal"
        for labels, section, context, references, form in self.rows(query, key):
            yield (
                self.stored_list(labels),
                section or "",
                context,
                self.stored_list(references),
                form,
            )

    def equation_names(self, kind: int | None = None) -> list[str]:
        """Return the names (`ARTICLE#4`) of all equations, or of those of one type, in order."""
        query = "SELECT name, ordinal FROM equations e JOIN sources s ON s.id = e.article"
        query += (" WHERE type = ?" if kind is not None else "") + " ORDER BY e.article, ordinal"
        values = () if kind is None else (kind,)
        return [f"{name}#{ordinal}" for name, ordinal in self.rows(query, *values)]

    def types(self) -> Iterator[tuple[int, str, bytes]]:
        """Yield id, canonical form and unit ids (as int32) of every equation type, in order."""
        return self.rows("SELECT id, canonical, units FROM types ORDER BY id")

    def type_count(self) -> int:
        """Return the number of equation types."""
        return int(self.row("SELECT COUNT(*) FROM types")[0])

    def canonical(self, kind: int) -> str:
        """Return the canonical form of an equation type."""
        return str(self.row("SELECT canonical FROM types WHERE id = ?", kind)[0])

    def type_units(self, kinds: Sequence[int]) -> dict[int, bytes]:
        """Return the unit ids (as int32) of equation types."""
        found: dict[int, bytes] = {}
        for first in range(0, len(kinds), _TYPES_PER_QUERY):
            some = kinds[first : first + _TYPES_PER_QUERY]
            # always as many marks, so that the statement is prepared once
            padded = [*some, *[some[-1]] * (_TYPES_PER_QUERY - len(some))]
            found.update(self.rows(_UNITS_OF_TYPES, *padded))
        return found

    def unit_count(self) -> int:
        """Return the number of units."""
        return int(self.row("SELECT COUNT(*) FROM units")[0])

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

    def expanded_latex(self) -> Iterator[str]:
        """Yield the LaTeX of all equations with macros expanded, in order."""
        query = "SELECT expanded FROM equations ORDER BY article, ordinal"
        return (latex for (latex,) in self.rows(query))

    def titles(self) -> list[str]:
        """The titles of all articles."""
        return [title or "" for (title,) in self.rows("SELECT title FROM articles")]

    def section_titles(self) -> Iterator[list[str]]:
        """The titles of the sections of each article."""
        for (titles,) in self.rows("SELECT sections FROM articles"):
            yield self.stored_list(titles)

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
