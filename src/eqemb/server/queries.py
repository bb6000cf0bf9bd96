"""Validate queries before searching, and distinguish formulas from words.

Nothing here depends on a library or on HTTP.
"""

from functools import lru_cache

from eqemb.errors import UsageError
from eqemb.formula import layout
from eqemb.formula.tree import Node, children
from eqemb.search.names import looks_like_name
from eqemb.search.query import EMPTY_QUERY, parse_query

#: Longest query in characters, and deepest nesting of brackets or of LaTeX.
MAX_QUERY_LENGTH, MAX_QUERY_DEPTH = 2_000, 40

_MAX_CHECKED = 256  # queries that are remembered: an answer checks its query several times
_OPEN_BRACKETS, _CLOSE_BRACKETS = frozenset("{(["), frozenset("})]")


class MissingError(UsageError):
    """Nothing has this name."""


@lru_cache(maxsize=_MAX_CHECKED)
def check_query(query: str) -> str:
    """The query itself; raises `UsageError` if it is empty, too long or nested too deeply."""
    if not query.strip():
        raise UsageError(EMPTY_QUERY)
    if len(query) > MAX_QUERY_LENGTH:
        raise UsageError(
            f"the query has {len(query):,} characters, but at most {MAX_QUERY_LENGTH:,} are allowed"
        )
    depth = deepest = 0
    for char in query:
        depth = max(0, depth + (char in _OPEN_BRACKETS) - (char in _CLOSE_BRACKETS))
        deepest = max(deepest, depth)
    if deepest > MAX_QUERY_DEPTH:
        raise UsageError(
            f"brackets are nested {deepest} deep, but at most {MAX_QUERY_DEPTH} levels are allowed"
        )
    # Roots, \left and \over nest without brackets. A % can hide a formula from the whole query, so
    # that each formula is checked by itself, too.
    for latex in (query, *parse_query(query).formulas):
        shape = layout(latex)
        is_cut = any(problem.cause == "nested too deep" for problem in shape.problems)
        if is_cut or _depth(shape.root) > MAX_QUERY_DEPTH:
            raise UsageError(
                f"the LaTeX is nested too deep: at most {MAX_QUERY_DEPTH} levels are allowed"
            )
    return query


def _depth(root: Node | None) -> int:
    """The depth of a layout tree; neighbours and table cells do not nest."""
    deepest, pending = 0, [(root, 0)] if root is not None else []
    while pending:
        node, depth = pending.pop()
        deepest = max(deepest, depth)
        pending += [(child, depth + (edge not in "ne")) for edge, child in children(node)]
    return deepest


def single_formula(query: str) -> str | None:
    """The LaTeX of a query that is one formula without words, in whatever way it is typed."""
    return None if looks_like_name(query.strip()) else parse_query(query).formula
