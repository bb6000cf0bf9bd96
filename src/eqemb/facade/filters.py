"""Check the filters and the count of a question to a library."""

from collections.abc import Iterable
from dataclasses import replace

from eqemb.errors import UsageError, quoted
from eqemb.facade.indexed import IndexedLibrary
from eqemb.search.names import check_collection
from eqemb.search.query import Filters


def make_filters(  # noqa: PLR0913
    library: IndexedLibrary,
    collection: str | None,
    article: str | None,
    year: str | int | None,
    section: str | None,
    has: str | Iterable[str],
    *,
    numbered: bool,
    without: str | Iterable[str] = (),
    kind: str | None = None,
) -> Filters:
    """Check filters; for a misspelt article or collection the error suggests similar names."""
    pieces = (has,) if isinstance(has, str) else has
    if not isinstance(pieces, Iterable):
        raise UsageError(f"has must be LaTeX strings, not {quoted(has)}")
    names = (without,) if isinstance(without, str) else without
    if not isinstance(names, Iterable):
        raise UsageError(f"without must be names of articles, not {quoted(without)}")
    left = tuple(library.article_name(name) for name in names)
    filters = Filters(collection, article, year, section, tuple(pieces), numbered, left, kind)
    if filters.article is not None:
        filters = replace(filters, article=library.article_name(filters.article))
    if filters.collection is not None:
        check_collection(library.records, library.folder, filters.collection)
    return filters


def check_count(k: object) -> int:
    """Return k, checked."""
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        raise UsageError(f"k must be a positive integer, not {quoted(k)}")
    return k
