"""Summaries of records, from which the report of a library is made.

The summary of a segment holds what the report needs of its documents. The summaries of all segments
are combined into one, so that the report of a library that grows costs no second reading of its
records. `combine_summaries` gives the same summary however documents are split into segments, if
their order is the same.
"""

import bisect
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any

from eqemb.library.database import ArticleCounts, Records
from eqemb.library.rows import CUT_OFF, DOUBTS, is_loss
from eqemb.sources import form_of
from eqemb.sources.found import BROKEN_MANIFEST, CHECKSUM_DIFFERS, OTHER_FORMS, TARS_MISSING

#: Examples of one kind of problem, and of one kind of lost displays.
EXAMPLES, LOST_EXAMPLES = 5, 100
#: Papers in a list of the report.
MOST_LISTED = 200
#: Causes of entries that are no documents of a format.
_OF_NO_FORMAT = frozenset((*OTHER_FORMS, BROKEN_MANIFEST, TARS_MISSING, CHECKSUM_DIFFERS))


def summarise(records: Records) -> dict[str, Any]:
    """Return the summary of these records as JSON values; it contains no times and no ids.

    Its parts, in document order or sorted by key:

    - `totals`: counts over all articles, by name.
    - `collections`: counts over the articles of each collection.
    - `formats`: counts over the articles of each format, and of skipped sources that have it.
    - `skips`: number of skipped sources, by cause.
    - `skipped`: origin, cause and detail of the first skipped sources.
    - `worst`: name, displays and missing displays of the least complete articles.
    - `partial`: cause, article, file, line and detail of the first loss of the first partially
      read articles.
    - `doubtful`: name and doubts of the first articles that TeX may read differently.
    - `problems`: for each cause, its count, its articles and examples; an example is its rank among
      the problems with this cause in its article (1 is the first), article, file, line, detail.
    - `unknown`: for each unknown macro, its count, its articles, the article that uses it most and
      how often.
    """
    return combine_summaries(_parts(records))


def combine_summaries(summaries: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the summary of the documents of all summaries, which are given in order."""
    counts: dict[str, Counter[str]] = {"totals": Counter(), "skips": Counter()}
    groups: dict[str, defaultdict[str, Counter[str]]] = {
        "collections": defaultdict(Counter),
        "formats": defaultdict(Counter),
    }
    first: dict[str, list[Any]] = {"skipped": [], "partial": [], "doubtful": []}
    worst: list[Any] = []
    problems: dict[str, list[Any]] = {}
    unknown: dict[str, list[Any]] = {}
    for summary in summaries:
        for part, total in counts.items():
            total.update(summary.get(part, {}))
        for part, rows in first.items():
            rows.extend(summary.get(part, [])[: MOST_LISTED - len(rows)])
        for part, group in groups.items():
            for name, numbers in summary.get(part, {}).items():
                group[name].update(numbers)
        for row in summary.get("worst", ()):
            _insert(worst, row, _completeness, MOST_LISTED)
        for cause, found in summary.get("problems", {}).items():
            _add_problems(problems.setdefault(cause, [0, 0, []]), cause, *found)
        for macro, found in summary.get("unknown", {}).items():
            _add_unknown(unknown.setdefault(macro, [0, 0, "", 0]), *found)
    return {
        **{part: _sorted(total) for part, total in counts.items()},
        **first,
        **{
            part: {name: _sorted(group[name]) for name in sorted(group)}
            for part, group in groups.items()
        },
        "worst": worst,
        "problems": _sorted(problems),
        "unknown": _sorted(unknown),
    }


def _parts(records: Records) -> Iterator[dict[str, Any]]:
    """Yield a summary of every skipped source, article, problem and unknown macro."""
    for origin, cause, detail in records.skipped_sources():
        found = {"skips": {cause: 1}, "skipped": [[origin, cause, detail]]}
        is_read = cause not in _OF_NO_FORMAT
        yield found | ({"formats": {form_of(origin): {"skipped": 1}}} if is_read else {})
    for article in records.article_counts():
        yield _of_article(article)
    for name, problems in groupby(records.problems(), itemgetter(1)):
        yield from _of_problems(name, problems)
    for name, macro, count in records.unknown_macros():
        yield {"unknown": {macro: [count, 1, name, count]}}


def _of_article(article: ArticleCounts) -> dict[str, Any]:
    missing = article.opened - article.displays
    collection = {
        "articles": 1,
        "words": article.words,
        "equations": article.equations,
        "numbered": article.numbered,
    }
    return {
        "totals": {
            article.status: 1,
            "words": article.words,
            "source_bytes": article.source_bytes,
            "displays_opened": article.opened,
            # the surplus of one article does not compensate the loss of another
            "displays_found": min(article.displays, article.opened),
            "displays_lost": article.lost,
            "displays_unaccounted": max(missing - article.lost, 0),
            "numbered": article.numbered,
            "unnumbered": article.unnumbered,
            "numbering_unknown": article.equations - article.numbered - article.unnumbered,
        },
        "collections": {article.collection: collection},
        "formats": {
            form_of(article.origin): {
                "articles": 1,
                "equations": article.equations,
                "displays": article.opened,
                "lost": article.lost,
            }
        },
        "worst": [[article.name, article.opened, missing]] if missing > 0 else [],
    }


def _of_problems(name: str, problems: Iterable[tuple[Any, ...]]) -> Iterator[dict[str, Any]]:
    """Yield a summary of every problem of one article, of its first loss, and of all doubts."""
    ranks: Counter[str] = Counter()
    partial = False
    for cause, _, *where in problems:
        ranks[cause] += 1
        rank = ranks[cause]
        yield {"problems": {cause: [1, int(rank == 1), [[rank, name, *where]]]}}
        if not partial and is_loss(cause):
            partial = True
            yield {"partial": [[cause, name, *where]]}
    doubts = [
        f"{count:,} {plural}" if (count := ranks[cause]) > 1 else cause
        for cause, plural in DOUBTS.items()
        if ranks[cause]
    ]
    if not CUT_OFF.isdisjoint(ranks):
        yield {"totals": {"cut_off": 1}}
    if doubts:
        yield {"totals": {"doubtful": 1}, "doubtful": [[name, ", ".join(doubts)]]}


def _add_problems(
    total: list[Any], cause: str, count: int, articles: int, examples: list[Any]
) -> None:
    """Add problems with one cause; the first example of each article comes first."""
    total[0] += count
    total[1] += articles
    most = LOST_EXAMPLES if cause.startswith("lost:") else EXAMPLES
    for example in examples:
        _insert(total[2], example, itemgetter(0), most)


def _add_unknown(total: list[Any], count: int, articles: int, name: str, most: int) -> None:
    """Add occurrences of a macro; of equal articles, the first remains the example."""
    total[0] += count
    total[1] += articles
    if most > total[3]:
        total[2:] = name, most


def _insert(rows: list[Any], row: Any, key: Callable[[Any], Any], most: int) -> None:
    """Insert a row into sorted rows, after its equals, and keep the first rows."""
    bisect.insort(rows, row, key=key)
    del rows[most:]


def _completeness(row: list[Any]) -> tuple[float, int]:
    _, opened, missing = row
    return -missing / opened, -missing


def _sorted(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: values[key] for key in sorted(values)}
