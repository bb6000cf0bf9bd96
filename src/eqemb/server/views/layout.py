"""What all pages share: the frame, navigation, and URLs."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from eqemb.server.service import Json
from eqemb.server.views.markup import Html, h

#: The links at the top of every page: path and name.
_NAVIGATION = (
    ("/articles", "Articles"),
    ("/notation", "Notation"),
    ("/saved", "Saved"),
    ("/map", "Map"),
    ("/report", "Report"),
    ("/model", "Model"),
    ("/docs", "API"),
)
#: The files that every page loads, in this order: scripts use names of earlier ones.
STYLES = (
    "style.css",
    "search.css",
    "hits.css",
    "results.css",
    "article.css",
    "symbols.css",
    "map.css",
    "report.css",
)
SCRIPTS = (
    "page.js",
    "hits.js",
    "saved.js",
    "latex_completion.js",
    "query_box.js",
    "palette.js",
    "article.js",
    "symbols.js",
    "keys.js",
)


def page(title: str, *body: Any, stats: Json | None = None, here: str = "") -> bytes:
    """A complete HTML page; `here` is the path that the navigation marks as current."""
    known = stats or {}
    links = [
        h("a", name, href=path, aria_current="page" if path == here else None)
        for path, name in _NAVIGATION
        if (path != "/map" or known.get("map"))
        and (path != "/model" or known.get("model"))
        and (stats is not None or path == "/docs")
    ]
    head = h(
        "head",
        h("meta", charset="utf-8"),
        h("meta", name="generator", content="eqemb"),
        h("meta", name="viewport", content="width=device-width, initial-scale=1"),
        h("meta", name="color-scheme", content="light dark"),
        h("title", f"{title} · eqemb" if title else "eqemb"),
        [h("link", rel="stylesheet", href=f"/static/{name}") for name in STYLES],
        h("link", rel="icon", href="/static/icon.svg", type="image/svg+xml"),
        [h("script", src=f"/static/{name}", defer=True) for name in SCRIPTS],
    )
    top = h(
        "header",
        h("a", "eqemb", class_="name", href="/", aria_label="eqemb: search"),
        h("nav", *links, aria_label="Pages"),
        class_="top",
    )
    body_ = h(
        "body",
        h("a", "Skip to content", class_="skip", href="#main"),
        top,
        h("main", *body, id="main"),
        _footer(stats),
    )
    document = f"<!doctype html>\n{h('html', head, body_, lang='en')}\n"
    return document.encode("utf-8", "backslashreplace")


def _footer(stats: Json | None) -> Html:
    if stats is None:
        return h("footer", "eqemb")
    counts = (
        f"{stats['equations']:,} equations from {stats['articles']:,} articles",
        f"eqemb {stats['version']}",
    )
    keys = h("button", "Keyboard shortcuts", type="button", id="keys", class_="plain", hidden=True)
    return h("footer", h("span", " · ".join(counts)), keys)


def link(path: str, **values: Any) -> str:
    """A URL on this server; empty values are left out of the query string."""
    given = {name: value for name, value in values.items() if value not in (None, "", (), False)}
    return path + (f"?{urlencode(given, doseq=True)}" if given else "")


def article_link(name: str, ordinal: int | None = None, part: int | None = None) -> str:
    """The URL of an article, of one of its equations, or of one of its parts."""
    url = link(f"/articles/{quote(name)}", equation=ordinal, part=part)
    return url if ordinal is None else f"{url}#e{ordinal}"


def page_turn(answer: Json, path: str, values: Mapping[str, Any]) -> Html | None:
    """Links to the previous and the next page."""
    number = answer["page"]
    steps = []
    if number > 1:
        before = number - 1 if number > 2 else None
        steps.append(h("a", "← Previous", href=link(path, **values, page=before), rel="prev"))
    if answer["more"]:
        steps.append(h("a", "Next →", href=link(path, **values, page=number + 1), rel="next"))
    return h("nav", steps, class_="turn", aria_label="Pages of results") if steps else None


def sentence(message: str) -> str:
    """A message with a capital and a full stop."""
    return f"{message[:1].upper()}{message[1:]}{'' if message.endswith(('.', '?')) else '.'}"
