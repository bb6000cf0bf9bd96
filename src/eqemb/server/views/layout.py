"""What all pages share: the frame, the search box, and how equations and hits are shown."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from eqemb.formula.html import equation_html, math_frame
from eqemb.search.snippets import Piece
from eqemb.server.service import MAX_FRAGMENTS, Json
from eqemb.server.views.markup import Html, h, join, text

#: The links at the top of every page: path and name.
_NAVIGATION = (
    ("/articles", "Articles"),
    ("/map", "Map"),
    ("/report", "Report"),
    ("/model", "Model"),
    ("/docs", "API"),
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
        h("meta", name="viewport", content="width=device-width, initial-scale=1"),
        h("meta", name="color-scheme", content="light dark"),
        h("title", f"{title} · eqemb" if title else "eqemb"),
        h("link", rel="stylesheet", href="/static/style.css"),
        h("link", rel="icon", href="/static/icon.svg", type="image/svg+xml"),
        h("script", src="/static/page.js", defer=True),
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


# ------------------------------------------------------------ parts of pages


def link(path: str, **values: Any) -> str:
    """A URL on this server; empty values are left out of the query string."""
    given = {name: value for name, value in values.items() if value not in (None, "", (), False)}
    return path + (f"?{urlencode(given, doseq=True)}" if given else "")


def article_link(name: str, ordinal: int | None = None) -> str:
    """The URL of an article, or of one of its equations."""
    url = link(f"/articles/{quote(name)}", equation=ordinal)
    return url if ordinal is None else f"{url}#e{ordinal}"


def prose(pieces: Iterable[Piece]) -> Html:
    """Pieces of text as HTML."""
    return join(*map(one_piece, pieces))


def one_piece(piece: Piece) -> Html:
    """One piece of text as HTML."""
    kind = piece["kind"]
    if kind == "mark":
        return h("mark", piece["text"])
    if kind == "math":
        return Html(piece["mathml"])
    if kind == "equation":
        return h("span", "equation", class_="here")
    if kind == "word":
        return h("span", piece["text"], class_="w", data_near=" ".join(map(str, piece["near"])))
    return text(piece["text"])


def formula(equation: Json, *, large: bool = False) -> Html:
    """An equation with its number."""
    return Html(equation_html(equation["mathml"], **_names(equation), large=large))


def sheet(equation: Json) -> Html:
    """An equation without its number; the script makes a frame that overflows focusable."""
    return Html(math_frame(equation["mathml"], **_names(equation)))


def _names(equation: Json) -> Json:
    return {name: equation.get(name) for name in ("number", "ordinal")}


def source_line(equation: Json) -> Html:
    """The article and section of an equation."""
    section = equation["section"]
    return h(
        "p",
        h(
            "a",
            equation["title"] or equation["article"],
            href=article_link(equation["article"], equation["ordinal"]),
        ),
        h("span", section, class_="section") if section else None,
        _strength(equation),
        class_="source",
    )


def _strength(equation: Json) -> Html | None:
    """How strong a hit is; none for an equation that is not a hit."""
    strength = equation.get("strength")
    if strength is None:
        return None
    percent = f"{100 * strength:.0f}"
    return h("span", f"{equation['level']} {percent}%", class_=f"strength {equation['level']}",
             title=f"About {percent} of 100 such answers are good")  # fmt: skip


def actions(equation: Json, query: str | None = None) -> Html:
    """Links to the panels of an equation."""
    own = link("/equation", name=equation["id"])
    panels = [
        ("similar", "Similar", f"{own}#similar"),
        ("describe", "Describe", f"{own}#describe"),
        *([("why", "Why", link("/why", query=query, equation=equation["id"]))] if query else []),
        ("source", "LaTeX", f"{own}#source"),
    ]
    papers = equation.get("papers", 1)
    family = h("a", f"in {papers} papers", href=f"{own}#family", class_="papers")
    return h(
        "div",
        [h("a", name, href=url, data_panel=panel) for panel, name, url in panels],
        family if papers > 1 else None,
        class_="actions",
    )


def card(hit: Json, rank: int, query: str | None) -> Html:
    """A hit in a list of results."""
    return h(
        "li",
        h("span", str(rank), class_="rank", aria_hidden="true"),
        formula(hit),
        source_line(hit),
        h("p", prose(hit["context"]), class_="context") if hit["context"] else None,
        actions(hit, query),
        class_="card",
        tabindex="-1",
        data_id=hit["id"],
        data_query=query,
    )


def small_card(hit: Json) -> Html:
    """A hit on the page of another equation: without rank and context."""
    return h("li", formula(hit), source_line(hit), actions(hit), class_="card", data_id=hit["id"])


# ------------------------------------------------------------ the search box


def search_form(
    stats: Json, query: str = "", limits: Mapping[str, Any] | None = None, *, first: bool = False
) -> Html:
    """The search box with its filters; `first` puts the cursor into it."""
    box = h(
        "div",
        h("label", "Words and formulas", for_="q", class_="hidden"),
        h(
            "input",
            id="q",
            name="q",
            type="search",
            value=query,
            maxlength="2000",
            autocomplete="off",
            autocapitalize="off",
            spellcheck="false",
            placeholder="cosine similarity, or $\\frac{a \\cdot b}{\\|a\\| \\|b\\|}$",
            autofocus=first,
        ),
        h("button", "Search", type="submit"),
        class_="box",
    )
    suggestions = h(
        "ul",
        id="suggestions",
        role="listbox",
        aria_label="Suggestions",
        hidden=True,
    )
    preview = h("output", id="preview", for_="q", hidden=True)
    return h(
        "form",
        box,
        suggestions,
        preview,
        _filters(stats, limits or {}),
        role="search",
        action="/",
        method="get",
        class_="ask",
    )


def _filters(stats: Json, limits: Mapping[str, Any]) -> Html:
    """The filters of a search; expanded if one of them is in use."""
    names = [name for name in stats["collections"] if name]
    chosen = limits.get("collection")
    options = [h("option", "All collections", value="")] + [
        h("option", name, value=name, selected=name == chosen) for name in names
    ]
    fragments = list(limits.get("has") or ())

    def field(name: str, label: str, value: Any, hint: str) -> Html:
        return h(
            "label", h("span", label), h("input", name=name, value=value or "", placeholder=hint)
        )

    fields = [
        h("label", h("span", "Collection"), h("select", options, name="collection"))
        if len(names) > 1
        else None,
        field("article", "Article", limits.get("article"), "name"),
        field("year", "Year", limits.get("year"), "2015-2018"),
        field("section", "Section", limits.get("section"), "words in its title"),
        # a field for each fragment, and an empty one if another is allowed
        [field("has", "And contains" if at else "Contains", latex, "another" if at else r"\sum")
         for at, latex in enumerate([*fragments, ""][:MAX_FRAGMENTS])],
        h(
            "label",
            h("input", type="checkbox", name="numbered", value="true",
              checked=bool(limits.get("numbered"))),
            h("span", "Numbered only"),
            class_="check",
        ),
    ]  # fmt: skip
    is_used = any(value for value in limits.values())
    return h(
        "details",
        h("summary", "Filters"),
        h("div", fields, class_="fields"),
        class_="limits",
        open=is_used,
    )
