"""The start page: the search box and example questions from the library."""

from collections.abc import Sequence

from eqemb.server.service import Json
from eqemb.server.views.layout import link, page
from eqemb.server.views.markup import Html, h
from eqemb.server.views.query_box import search_form


def home(stats: Json, examples: Sequence[Json], limits: Json) -> bytes:
    """The home page; filters may be set before a query is entered."""
    return page(
        "",
        h("h1", "Find equations by the words around them", class_="welcome"),
        search_form(stats, limits=limits, first=True),
        h(
            "section",
            h("h2", "Try"),
            h("ul", map(_example, examples), class_="examples"),
            aria_label="Example questions",
        )
        if examples
        else None,
        stats=stats,
    )


def _example(example: Json) -> Html:
    """A question as it is typed, with its formula if it has one."""
    asked = example["q"]
    shown = h("code", asked) if "mathml" in example else asked
    return h(
        "li",
        h("a", shown, href=link("/", q=asked)),
        h("span", Html(example["mathml"]), class_="sheet") if "mathml" in example else None,
    )
