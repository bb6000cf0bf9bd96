"""How the answers to a query are distributed: by collection, year, section and kind of match.

Counts are exact over all equations that match (`Matches`), with every occurrence of an equation
counted; in a large library those are the matches among the candidates. For words, each is the
number that remains if its value is added to the filters; for an equation, filters change which
equations it is compared with, and so the number a little.

The parts of a library count all values, and each section title by itself (`count_all`). Which
values are shown is decided once their counts are added up (`add_counts`, `shown_facets`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.article import read_tokens
from eqemb.index.segments import IndexSegments
from eqemb.index.stemming import stem
from eqemb.library.database import LibraryRecords
from eqemb.search.match_kinds import Matches
from eqemb.sources.names import arxiv_year

#: Most values of a facet, and section titles that may be among them.
MAX_VALUES, _MAX_TITLES = 8, 10
#: The facets, in the order of answers.
FACETS = ("collection", "year", "section", "kind")
#: A longer title is not a value: it is that of one paper.
_MAX_TITLE_WORDS = 4
#: Titles whose stems are remembered.
_MAX_STEMMED = 1 << 16

Numbers = NDArray[np.int64]
Counts = Mapping[str, Mapping[str, int]]


class FacetValue(NamedTuple):
    """A value of a facet, and how many matching equations have it."""

    value: str
    equations: int


class Facets:
    """Counts matches of an index; what it reads of the records is read once."""

    def __init__(self, records: LibraryRecords, segments: IndexSegments) -> None:
        self._records, self._segments = records, segments
        self._titles: dict[str, int] = {}  # those that were asked for

    def count(self, found: Matches) -> dict[str, list[FacetValue]]:
        """Return the values of each facet, the most frequent first; years, the latest first."""
        return shown_facets(self.count_all(found))

    def count_all(self, found: Matches) -> Counts:
        """Return the counts of all values of each facet, and of each section title by itself."""
        kinds = {kind: int(mask.sum()) for kind, mask in found.kinds.items()}
        return self.count_rows(found.rows, kinds)

    def count_rows(self, rows: Numbers, kinds: Mapping[str, int]) -> Counts:
        """Return all counts of equations, given how many are matches of each kind."""
        articles = self._segments.articles[rows]
        return {
            "collection": self._by_article(articles, self._collections),
            "year": self._by_article(articles, self._years),
            "section": self._by_title(rows),
            "kind": kinds,
        }

    def _by_article(self, articles: Numbers, of: dict[int, str]) -> Counter[str]:
        counts: Counter[str] = Counter()
        keys, numbers = np.unique(articles, return_counts=True)
        for key, number in zip(keys.tolist(), numbers.tolist(), strict=True):
            if value := of.get(key, ""):
                counts[value] += number
        return counts

    @cached_property
    def _collections(self) -> dict[int, str]:
        return {key: group for key, _, group in self._records.article_ids()}

    @cached_property
    def _years(self) -> dict[int, str]:
        """The year of each article whose name is an arXiv id: the one that filters compare."""
        years = ((key, arxiv_year(name)) for key, name, _ in self._records.article_ids())
        return {key: str(year) for key, year in years if year}

    # ------------------------------------------------------------ sections

    @cached_property
    def _section_of(self) -> Numbers:
        """The section of each equation, numbered over all segments."""
        parts, first = [np.empty(0, np.int64)], 0
        for part in self._segments:
            ids = np.asarray(part.equations[:, 3], np.int64)
            parts.append(ids + first)
            first += int(ids.max(initial=-1)) + 1
        return np.concatenate(parts)

    @cached_property
    def _title_of(self) -> Numbers:
        """The place in `_titles` of each section; -1 until it was asked for."""
        return np.full(int(self._section_of.max(initial=-1)) + 1, -1)

    def _read_titles(self, sections: Numbers, rows: Numbers) -> None:
        """Read titles of sections that were not asked for before; each row is in a section."""
        for section, row in zip(sections.tolist(), rows.tolist(), strict=True):
            segment, own = self._segments.of_equation(row)
            article, ordinal = segment.equations[own, :2].tolist()
            words = read_tokens(segment.records.section(article, ordinal))[0]  # as in the index
            title = " ".join(words).lower()
            self._title_of[section] = self._titles.setdefault(title, len(self._titles))

    def _by_title(self, rows: Numbers) -> dict[str, int]:
        """Count equations by the title of their section."""
        of_rows = self._section_of[rows]
        sections, first = np.unique(of_rows, return_index=True)
        is_new = self._title_of[sections] < 0
        self._read_titles(sections[is_new], rows[first[is_new]])
        numbers = np.bincount(self._title_of[of_rows], minlength=len(self._titles))
        titles = list(self._titles)
        return {titles[at]: int(numbers[at]) for at in np.flatnonzero(numbers).tolist()}


def add_counts(parts: Iterable[Counts]) -> Counts:
    """Return the counts of several parts of a library as one."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in FACETS}
    for part in parts:
        for name, values in part.items():
            counts[name].update(values)
    return counts


def shown_facets(counts: Counts) -> dict[str, list[FacetValue]]:
    """Return the values of each facet, the most frequent first; years, the latest first."""
    shown = {**counts, "section": _sections(counts["section"])}
    made = {
        name: [FacetValue(value, n) for value, n in _ordered(values.items()) if n]
        for name, values in shown.items()
    }
    made["year"].sort(key=lambda each: each.value, reverse=True)
    return {name: values[:MAX_VALUES] for name, values in made.items()}


def _sections(titles: Mapping[str, int]) -> dict[str, int]:
    """Count sections as the filter does: those whose title has all words of a title."""
    found = [(title, _stems(title), number) for title, number in titles.items()]
    usable = [each for each in found if 0 < len(each[1]) <= _MAX_TITLE_WORDS]
    chosen: dict[frozenset[str], str] = {}  # "experiments", not "experiment" as well
    for title, stems, _ in sorted(usable, key=lambda item: (-item[2], item[0])):
        if len(chosen) == _MAX_TITLES:
            break
        chosen.setdefault(stems, title)
    return {
        title: sum(number for _, other, number in found if stems <= other)
        for stems, title in chosen.items()
    }


@lru_cache(maxsize=_MAX_STEMMED)
def _stems(title: str) -> frozenset[str]:
    return frozenset(map(stem, title.split()))


def _ordered(counts: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    return sorted(counts, key=lambda item: (-item[1], item[0]))
