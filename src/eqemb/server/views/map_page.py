"""The map page: a canvas for the script, and the regions as a list."""

from collections.abc import Sequence

from eqemb.facade.equation_map import MapSummary
from eqemb.server.service import Json
from eqemb.server.views.hits import small_card
from eqemb.server.views.layout import link
from eqemb.server.views.layout import page as framed
from eqemb.server.views.markup import Html, h

_KEYS = (
    "Drag to move; scroll or pinch to zoom. With the keyboard: arrow keys move, + and − zoom, 0"
    " shows everything. The equation nearest to the centre is shown; Enter opens it."
)


def page(
    stats: Json,
    about: MapSummary,
    query: str = "",
    hits: Sequence[Json] = (),
    message: str | None = None,
) -> bytes:
    """The map; a query highlights its points and lists the first hits."""
    return framed(
        "Map",
        h("h1", "Map", class_="hidden"),
        _search_form(query),
        h("p", message, class_="note", role="alert") if message else None,
        _figure(query if message is None else "", about),
        _hits(query, hits) if hits else None,
        _regions(about.labels),
        h("script", src="/static/map.js", defer=True),
        stats=stats,
        here="/map",
    )


def _search_form(query: str) -> Html:
    box = h(
        "div",
        h("label", "Words and formulas", for_="q", class_="hidden"),
        h("input", id="q", name="q", type="search", value=query, maxlength="2000",
          autocomplete="off", spellcheck="false", placeholder="Highlight matching equations"),
        h("button", "Search", type="submit"),
        class_="box",
    )  # fmt: skip
    return h("form", box, role="search", action="/map", method="get", class_="ask")


def _figure(query: str, about: MapSummary) -> Html:
    """The figure that the script draws into."""

    def button(key: str, name: str, sign: str) -> Html:
        return h("button", sign, type="button", data_key=key, aria_label=name, title=name)

    return h(
        "figure",
        h("canvas", tabindex="0", role="application", aria_label="Map of equations",
          aria_describedby="map-keys"),
        h("div", button("+", "Zoom in", "+"), button("-", "Zoom out", "−"),
          button("0", "Show all", "○"), class_="zoom", role="group", aria_label="Zoom"),
        h("div", class_="shown", aria_live="polite", hidden=True),
        h("noscript", h("p", "The map needs JavaScript. The list below names its regions.",
                        class_="note")),
        h("figcaption", h("ul", class_="legend", aria_label="Collections"),
          h("p", _KEYS, id="map-keys", class_="note"), _placed(about)),
        id="map",
        data_query=query or None,
    )  # fmt: skip


def _placed(about: MapSummary) -> Html | None:
    """How many points have an approximate place."""
    if not about.placed:
        return None
    return h(
        "p",
        f"{about.placed:,} of {about.points:,} equations are new since the layout was computed;"
        " each is placed near similar ones.",
        class_="note",
    )


def _hits(query: str, hits: Sequence[Json]) -> Html:
    return h(
        "section",
        h("h2", "Matching equations"),
        h("ol", map(small_card, hits), class_="hits"),
        h("p", h("a", "All results →", href=link("/", q=query)), class_="turn"),
        aria_label="Matching equations",
    )


def _regions(regions: Sequence[Json]) -> Html:
    """The words of the regions, the largest regions first."""
    listed = [
        h("li", h("a", ", ".join(region["words"]), href=link("/", q=" ".join(region["words"]))),
          h("span", f"{region['points']:,}", class_="count"))
        for region in regions
        if region["level"] < 2
    ]  # fmt: skip
    return h(
        "details",
        h("summary", "Regions as a list"),
        h("ul", listed, class_="regions"),
        class_="limits",
    )


def pending(stats: Json) -> bytes:
    """The page shown until the map exists; it reloads by itself."""
    return framed(
        "Map",
        h("h1", "The map is being created"),
        h("p", "This takes one or two minutes for 20,000 equations and happens only once. The page"
          " reloads every five seconds. Search works in the meantime.", class_="lead",
          role="status"),
        h("p", h("a", "Back to search", href="/")),
        stats=stats,
        here="/map",
    )  # fmt: skip
