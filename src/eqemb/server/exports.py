"""Results and lists of equations as files: CSV, JSON, BibTeX and LaTeX."""

from typing import Any

from eqemb.errors import UsageError
from eqemb.search.exports import EXPORT_FORMATS
from eqemb.search.query import Ranking
from eqemb.server.queries import MissingError, check_query, single_formula
from eqemb.server.service import Json, Service
from eqemb.server.snippets import WORDS_SHOWN

#: Most hits in a file, and most equations of a list that is given by names.
MAX_EXPORTED, MAX_LISTED = 500, 200
EXPORT_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "bib": "application/x-bibtex; charset=utf-8",
    "tex": "application/x-tex; charset=utf-8",
}


def export_results(
    service: Service,
    ending: str,
    query: str,
    *,
    count: int = MAX_EXPORTED,
    by: Ranking = "all",
    **limits: Any,
) -> bytes:
    """The hits of a query as a file; weak ones only if there are no others."""
    for latex in (query, *limits.get("has", ())):
        check_query(latex)
    library = service.library
    ask = library.search if single_formula(query) is None else library.similar
    answer = ask(query, count, by=by, **limits)
    if answer.match == "good":
        answer = answer.without_weak()
    reach = None if service.snippets == "full" else WORDS_SHOWN[service.snippets]
    return _encoded(ending, answer.to_json(reach=reach, renderer=service.text_renderer)["hits"])


def export_equations(service: Service, ending: str, names: list[str]) -> bytes:
    """Equations as a file, in the order of their names."""
    return _encoded(ending, [found for found in named_equations(service, names).values() if found])


def named_equations(service: Service, names: list[str]) -> dict[str, Json | None]:
    """The equations of a list by name, None for those that the library does not have."""
    if len(names) > MAX_LISTED:
        raise UsageError(f"the list has {len(names):,} equations, but at most {MAX_LISTED} may be")
    found: dict[str, Json | None] = {}
    for name in names:
        try:
            found[name] = service.brief(name)
        except MissingError:
            found[name] = None
    return found


def _encoded(ending: str, hits: list[Json]) -> bytes:
    return EXPORT_FORMATS[ending](hits).encode("utf-8", "backslashreplace")
