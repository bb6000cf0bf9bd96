"""The page of the map: a place to draw, and the same as lists."""

from collections.abc import Sequence

from eqemb.server.service import Json
from eqemb.server.views.layout import link, small_card
from eqemb.server.views.layout import page as framed
from eqemb.server.views.markup import Html, h

_KEYS = (
    "Drag it, and scroll or pinch to zoom. By keys: arrows move, plus and minus zoom, 0 shows all;"
    " the equation in the middle is shown, and Enter opens it."
)


def page(
    stats: Json,
    regions: Sequence[Json],
    query: str = "",
    hits: Sequence[Json] = (),
    sentence: str | None = None,
) -> bytes:
    """The map; with a query its points are lit, and its first hits listed."""
    return framed(
        "Map",
        h("h1", "Map", class_="hidden"),
        _ask(query),
        h("p", sentence, class_="note", role="alert") if sentence else None,
        _sheet(query if sentence is None else ""),
        _hits(query, hits) if hits else None,
        _regions(regions),
        h("script", src="/static/map.js", defer=True),
        stats=stats,
        here="/map",
    )


def _ask(query: str) -> Html:
    box = h(
        "div",
        h("label", "Words, or LaTeX between dollars", for_="q", class_="hidden"),
        h("input", id="q", name="q", type="search", value=query, maxlength="2000",
          autocomplete="off", spellcheck="false", placeholder="light up what answers"),
        h("button", "Show", type="submit"),
        class_="box",
    )  # fmt: skip
    return h("form", box, role="search", action="/map", method="get", class_="ask")


def _sheet(query: str) -> Html:
    """Where the script draws."""

    def button(key: str, name: str, sign: str) -> Html:
        return h("button", sign, type="button", data_key=key, aria_label=name, title=name)

    return h(
        "figure",
        h("canvas", tabindex="0", role="application", aria_label="Map of the equations",
          aria_describedby="map-keys"),
        h("div", button("+", "Nearer", "+"), button("-", "Farther", "−"),
          button("0", "Show all", "○"), class_="zoom", role="group", aria_label="Zoom"),
        h("div", class_="shown", aria_live="polite", hidden=True),
        h("noscript", h("p", "The map is drawn by a script; below it is a list.", class_="note")),
        h("figcaption", h("ul", class_="legend", aria_label="Collections"),
          h("p", _KEYS, id="map-keys", class_="note")),
        id="map",
        data_query=query or None,
    )  # fmt: skip


def _hits(query: str, hits: Sequence[Json]) -> Html:
    return h(
        "section",
        h("h2", "What answers"),
        h("ol", map(small_card, hits), class_="hits"),
        h("p", h("a", "All of it →", href=link("/", q=query)), class_="turn"),
        aria_label="What answers",
    )


def _regions(regions: Sequence[Json]) -> Html:
    """The regions in words, nearest level first seen from afar."""
    listed = [
        h("li", h("a", ", ".join(region["words"]), href=link("/", q=" ".join(region["words"]))),
          h("span", f"{region['points']:,}", class_="count"))
        for region in regions
        if region["level"] < 2
    ]  # fmt: skip
    return h(
        "details",
        h("summary", "The regions as a list"),
        h("ul", listed, class_="regions"),
        class_="limits",
    )


def being_drawn(stats: Json) -> bytes:
    """The page in the place of a map that is not there yet; it is asked for again by itself."""
    return framed(
        "Map",
        h("h1", "The map is being drawn"),
        h("p", "This takes a minute or two for 20,000 equations, and is done once. The page looks"
          " again every five seconds; the search does not wait for it.", class_="lead",
          role="status"),
        h("p", h("a", "Back to the search", href="/")),
        stats=stats,
        here="/map",
    )  # fmt: skip
