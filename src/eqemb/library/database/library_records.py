"""The records of a whole library: those of its segments, one after the other.

A segment numbers its articles and equation types from 0. Here an article's id is its id in the
segment plus the number of sources of the segments before it, and likewise for types. So ids hold
for one generation of the library; names hold for ever. A type that several segments have is
several types here: `eqemb.index` compares types by their content.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from heapq import nlargest
from itertools import chain
from typing import Any

from eqemb.article import Article, Equation
from eqemb.arxiv.papers import PaperMetadata
from eqemb.library.database.records import Records, digest_of
from eqemb.library.database.schema import ALL
from eqemb.library.near_duplicates import groups
from eqemb.library.papers import PaperRecords
from eqemb.library.rows import Record


class LibraryRecords:
    """The records of all segments in order, without removed sources."""

    near_pairs: Sequence[tuple[str, str]] = ()
    """The names of articles that are near-duplicates, pair by pair."""
    papers: PaperRecords | None = None
    """What is known about the papers from elsewhere."""

    def __init__(self, parts: Sequence[Records]) -> None:
        self.parts = tuple(parts)
        self.firsts = [0]
        """For each segment the number of sources before it, and the number of all."""
        for part in self.parts:
            self.firsts.append(self.firsts[-1] + part.documents)

    def close(self) -> None:
        """Close the files."""
        for part in self.parts:
            part.close()

    def _locate(self, key: int) -> tuple[Records, int]:
        """Return the segment of an article, and the article's id there."""
        number = bisect_right(self.firsts, key) - 1
        return self.parts[number], key - self.firsts[number]

    def _with_ids(self) -> Iterator[tuple[int, Records]]:
        return zip(self.firsts, self.parts, strict=False)

    def rows(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Run a query on each segment and return all rows; ids are those of the segments."""
        return chain.from_iterable(part.rows(query, *values) for part in self.parts)

    # ------------------------------------------------------------ articles

    def count(self) -> int:
        """Return the number of sources, articles and skipped ones."""
        return sum(part.count() for part in self.parts)

    def sha256(self) -> str:
        """Return the digest of all records."""
        return digest_of(digest for _, digest in self.digests())

    def digests(self) -> Iterator[tuple[str, bytes]]:
        """Yield name and digest of every source, in order."""
        return chain.from_iterable(part.digests() for part in self.parts)

    def sources_named(self, name: str) -> Iterator[tuple[int, int, str]]:
        """Yield segment, id there and status of the sources with a name."""
        for number, part in enumerate(self.parts):
            for key, status in part.sources_named(name):
                yield number, key, status

    def sources_from(self, origin: str) -> Iterator[tuple[int, int, str, str]]:
        """Yield segment, id there, name and status of the sources with an origin."""
        for number, part in enumerate(self.parts):
            for key, name, status in part.sources_from(origin):
                yield number, key, name, status

    def names_ending(self, part: str) -> list[str]:
        """Return the names of the articles that end with `/` and this part, in order."""
        return [name for records in self.parts for name in records.names_ending(part)]

    def has_article(self, name: str) -> bool:
        """Return whether there is an article with this name."""
        return self.key(name) is not None

    def origin_of(self, name: str) -> str:
        """Return the origin of the article with this name, or ''."""
        return next(filter(None, (part.origin_of(name) for part in self.parts)), "")

    def articles_from(self, origin: str) -> list[str]:
        """Return the names of the articles with an origin, in order."""
        return [name for *_, name, status in self.sources_from(origin) if status != "skipped"]

    def names(self) -> list[str]:
        """Return the names of the articles, in order."""
        return [name for part in self.parts for name in part.names()]

    def origins(self) -> Iterator[tuple[str, str]]:
        """Yield name and origin of every source, in order."""
        return chain.from_iterable(part.origins() for part in self.parts)

    def sources(self) -> Iterator[Record]:
        """Yield every record, in order."""
        return chain.from_iterable(part.sources() for part in self.parts)

    def contents(self) -> Iterator[tuple[str, int, str]]:
        """Yield name, number of equations and title of every article, in order."""
        return chain.from_iterable(part.contents() for part in self.parts)

    def list_articles(self) -> Iterator[tuple[str, str, str, int]]:
        """Yield name, collection, title and number of equations of every article, in order."""
        return chain.from_iterable(part.list_articles() for part in self.parts)

    def titles(self) -> list[str]:
        """Return the titles of all articles."""
        return [title for part in self.parts for title in part.titles()]

    def section_titles(self) -> Iterator[list[str]]:
        """Yield the titles of the sections of each article."""
        for part in self.parts:
            yield from part.section_titles()

    def article_ids(self) -> Iterator[tuple[int, str, str]]:
        """Yield id, name and collection of every article, in order."""
        for first, part in self._with_ids():
            for key, name, collection in part.article_ids():
                yield first + key, name, collection

    def key(self, name: str) -> int | None:
        """Return the id of the article with this name, or None."""
        for first, part in self._with_ids():
            if (key := part.key(name)) is not None:
                return first + key
        return None

    def name(self, key: int) -> str:
        """Return the name of a source."""
        part, own = self._locate(key)
        return part.name(own)

    def article(self, name: str) -> Article | None:
        """Return the article with this name, or None."""
        found = (part.article(name) for part in self.parts)
        return next((article for article in found if article is not None), None)

    def paper(self, name: str) -> PaperMetadata | None:
        """Return the metadata of the article with this name, if there is any.

        That of `papers` counts more than what the document says of itself.
        """
        found = None if self.papers is None else self.papers.get(name)
        if (found is not None and found.authors) or (key := self.key(name)) is None:
            return found
        part, own = self._locate(key)
        authors, date = part.publication(own)
        if not (authors or date):
            return found
        known = found or PaperMetadata()
        return replace(known, authors=tuple(authors), date=known.date or date)

    def article_text(self, key: int) -> str:
        """Return the text of an article."""
        part, own = self._locate(key)
        return part.article_text(own)

    def collections(self) -> dict[str, int]:
        """Return the articles of each collection, by name; the collection '' is not listed."""
        counts: Counter[str] = Counter()
        for part in self.parts:
            counts.update(part.collections())
        return dict(sorted(counts.items()))

    def collection_names(self) -> list[str]:
        """Return the collections that have articles, sorted."""
        return sorted({name for part in self.parts for name in part.collection_names()})

    def texts(self, collection: str = ALL) -> Iterator[tuple[int, str, str, str]]:
        """Yield id, name, collection and text of the articles of a collection, in order."""
        for first, part in self._with_ids():
            for key, name, group, text in part.texts(collection):
                yield first + key, name, group, text

    @cached_property
    def groups(self) -> list[list[str]]:
        """The names of near-duplicate articles, group by group, in order."""
        keys = {name: self.key(name) for pair in self.near_pairs for name in pair}
        order = sorted((key, name) for name, key in keys.items() if key is not None)
        return groups(self.near_pairs, [name for _, name in order])

    @cached_property
    def group_of(self) -> dict[str, int]:
        """The group of each article that has near-duplicates, by name; groups count from 1."""
        return {name: number for number, group in enumerate(self.groups, 1) for name in group}

    def near_duplicates(self, collection: str = ALL) -> Iterator[tuple[str, int]]:
        """Yield name and group of the articles that have near-duplicates, in order."""
        wanted = (
            self.group_of
            if collection == ALL
            else {name for _, name, of in self.article_ids() if of == collection}
        )
        return ((name, self.group_of[name]) for name in self.group_of if name in wanted)

    # ------------------------------------------------------------ equations

    def equation(self, key: int, ordinal: int) -> tuple[Equation, str]:
        """Return an equation by its article's id and its ordinal, and the article's title."""
        part, own = self._locate(key)
        return part.equation(own, ordinal)

    def find_equation(self, key: int, ordinal: int) -> tuple[Equation, str] | None:
        """Return the same; None if the article has no equation with this ordinal."""
        part, own = self._locate(key)
        return part.find_equation(own, ordinal)

    def equation_labels(self, key: int) -> Iterator[tuple[int, str | None, list[str]]]:
        """Yield ordinal, printed number and labels of every equation of an article, in order."""
        part, own = self._locate(key)
        return part.equation_labels(own)

    def article_types(self, key: int) -> Iterator[tuple[int, bool | None, str, list[str]]]:
        """Yield ordinal, whether numbered, canonical form and units of an article's equations."""
        part, own = self._locate(key)
        units = self._units(part)
        for ordinal, numbered, canonical, ids in part.article_types(own):
            yield ordinal, numbered, canonical, [units[unit] for unit in ids]

    def _units(self, part: Records) -> list[str]:
        """Return the units of a segment; those of the last one asked for are kept."""
        if self._unit_cache is None or self._unit_cache[0] is not part:
            self._unit_cache = part, list(part.unit_names())
        return self._unit_cache[1]

    _unit_cache: tuple[Records, list[str]] | None = None

    def equation_names(self) -> list[str]:
        """Return the names (`ARTICLE#4`) of all equations, in order."""
        return [name for part in self.parts for name in part.equation_names()]

    def equation_latex(self) -> dict[str, str]:
        """Return the LaTeX of every equation, macros expanded, by name (ARTICLE#4)."""
        return {name: latex for part in self.parts for name, latex in part.equation_latex().items()}

    def equation_displays(self) -> dict[str, int]:
        """Return the number within its article of each equation's display, by name."""
        return {name: n for part in self.parts for name, n in part.equation_displays().items()}

    def expanded_latex(self) -> list[str]:
        """Return the LaTeX of all equations with macros expanded, in order."""
        return [latex for part in self.parts for latex in part.expanded_latex()]

    # ------------------------------------------------------------ the report

    def skipped_sources(self) -> Iterator[tuple[str, str, str]]:
        """Yield origin, cause and detail of every skipped source."""
        return chain.from_iterable(part.skipped_sources() for part in self.parts)

    def problems(self) -> Iterator[tuple[str, str, str, int, str]]:
        """Yield cause, article, file, line and detail of every problem, in order."""
        return chain.from_iterable(part.problems() for part in self.parts)

    def unknown_macros(self) -> Iterator[tuple[str, str, int]]:
        """Yield article, macro and occurrences for every unknown macro of every article."""
        return chain.from_iterable(part.unknown_macros() for part in self.parts)

    def slowest(self, most: int) -> list[tuple[str, float]]:
        """Return the sources that took longest to read, with seconds."""
        found = chain.from_iterable(part.slowest(most) for part in self.parts)
        return nlargest(most, found, key=lambda row: row[1])
