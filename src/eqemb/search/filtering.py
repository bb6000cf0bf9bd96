"""Which equations of a library pass the filters of a query."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from eqemb.article import read_tokens
from eqemb.errors import UsageError, quoted
from eqemb.formula import layout
from eqemb.index.postings import KeyedPostings, in_every
from eqemb.index.segments import IndexSegment, IndexSegments
from eqemb.index.stemming import stem
from eqemb.index.structure import StructureIndex
from eqemb.index.text_index import TextIndex
from eqemb.library.database import LibraryRecords
from eqemb.search.query import Filters, WordQuery
from eqemb.sources.names import arxiv_year

Mask = NDArray[np.bool_]


def allowed_equations(
    records: LibraryRecords,
    segments: IndexSegments,
    structure: StructureIndex,
    filters: Filters | None,
) -> Mask:
    """Return a mask of the equations that pass the filters."""
    allowed = segments.live.copy()
    if filters is None:
        return allowed
    articles = _filter_articles(records, filters)
    if articles is not None:
        allowed &= np.isin(segments.articles, articles)
    for name in filters.without:
        allowed &= segments.articles != records.key(name)
    if filters.numbered:
        allowed &= _joined(part.equations[:, 4] == 1 for part in segments)
    if filters.section is not None:
        wanted = {stem(word) for word in read_tokens(filters.section)[0]}
        if not wanted:
            raise UsageError(f"the section filter {quoted(filters.section)} contains no word")
        allowed &= _joined(_in_section(part, wanted) for part in segments)
    for latex in filters.has:
        allowed &= structure.containing(layout(latex))[segments.types]
    return allowed


def filter_notes(allowed: Mask) -> list[str]:
    """Return a note if the filters leave no equation."""
    return [] if allowed.any() else ["no equation passes these filters"]


def matching_equations(text: TextIndex, live: Mask, question: WordQuery) -> Mask:
    """Return a mask of the equations with the phrases of a query, without excluded ones."""
    found = live.copy()
    for phrase in question.excluded:
        found &= ~text.has_phrase(phrase)
    for phrase in question.phrases:
        found &= text.has_phrase(phrase)
    return found


def _joined(masks: Iterable[Mask]) -> Mask:
    """Return the masks of all segments as one."""
    return np.concatenate([np.empty(0, bool), *masks])


def _in_section(segment: IndexSegment, words: Iterable[str]) -> Mask:
    """Return a mask of the equations in sections with all these stems in the title."""
    titles, section = KeyedPostings(segment.folder, "sections"), segment.equations[:, 3]
    owners = (titles.owners(word) for word in words)
    found: Mask = in_every(owners, int(section.max(initial=-1)) + 1)[section]
    return found


def _filter_articles(records: LibraryRecords, filters: Filters) -> list[int] | None:
    """Return the ids of the articles that pass the filters; None for all."""
    if filters.collection is None and filters.article is None and filters.year is None:
        return None
    years = filters.years if filters.year is not None else None
    found = [
        key
        for key, name, group in records.article_ids()
        if (filters.collection is None or group == filters.collection)
        and (filters.article is None or name == filters.article)
        and (years is None or arxiv_year(name) in years)
    ]
    if not found:
        if filters.year is not None:
            raise UsageError(f"no paper of the library has an arXiv id of {filters.year}")
        wanted = filters.collection or filters.article
        raise UsageError(f"no paper of the library is in {quoted(wanted)}: `eqemb info` lists them")
    return found
