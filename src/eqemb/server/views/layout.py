"""What all pages have: the frame, the query box, and how an equation is shown."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from eqemb.server.service import MOST_PIECES, Json
from eqemb.server.views.markup import Html, h, join, text
from eqemb.server.views.snippets import Piece

#: What people meet at the top of every page: address and name.
_PLACES = (
    ("/articles", "Articles"),
    ("/map", "Map"),
    ("/report", "What was read"),
    ("/model", "Model"),
    ("/docs", "API"),
)


def page(title: str, *body: Any, stats: Json | None = None, here: str = "") -> bytes:
    """A whole page."""
    known = stats or {}
    places = [
        h("a", name, href=address, aria_current="page" if address == here else None)
        for address, name in _PLACES
        if (address != "/map" or known.get("map"))
        and (address != "/model" or known.get("model"))
        and (stats is not None or address == "/docs")
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
        h("nav", *places, aria_label="Pages"),
        class_="top",
    )
    body_ = h(
        "body",
        h("a", "To the content", class_="skip", href="#main"),
        top,
        h("main", *body, id="main"),
        _footer(stats),
    )
    whole = f"<!doctype html>\n{h('html', head, body_, lang='en')}\n"
    return whole.encode("utf-8", "backslashreplace")


def _footer(stats: Json | None) -> Html:
    if stats is None:
        return h("footer", "eqemb")
    counts = (
        f"{stats['equations']:,} equations of {stats['articles']:,} articles",
        f"eqemb {stats['version']}",
    )
    keys = h("button", "Keys", type="button", id="keys", class_="plain", hidden=True)
    return h("footer", h("span", " · ".join(counts)), keys)


# ------------------------------------------------------------ pieces of pages


def link(path: str, **values: Any) -> str:
    """An address of ours."""
    given = {name: value for name, value in values.items() if value not in (None, "", (), False)}
    return path + (f"?{urlencode(given, doseq=True)}" if given else "")


def article_link(name: str, ordinal: int | None = None) -> str:
    """Where an article is read, at one of its equations."""
    found = link(f"/articles/{quote(name)}", equation=ordinal)
    return found if ordinal is None else f"{found}#e{ordinal}"


def prose(pieces: Iterable[Piece]) -> Html:
    """Text with its marks and mathematics."""
    return join(*map(one_piece, pieces))


def one_piece(piece: Piece) -> Html:
    """A piece of text."""
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
    """An equation set, with its number."""
    number = h("span", f"({equation['number']})", class_="number") if equation.get("number") else ""
    return h("div", sheet(equation), number, class_="formula large" if large else "formula")


def sheet(equation: Json) -> Html:
    """An equation in a frame of its own; the script lets keys into one that is too wide for it."""
    if equation.get("number"):
        name = f"Equation ({equation['number']})"
    elif "ordinal" in equation:
        name = f"Equation no. {equation['ordinal']}"
    else:
        name = "Equation"
    return h("div", Html(equation["mathml"]), class_="sheet", role="group", aria_label=name)


def source_line(equation: Json) -> Html:
    """Where an equation stands."""
    section = equation["section"]
    return h(
        "p",
        h(
            "a",
            equation["title"] or equation["article"],
            href=article_link(equation["article"], equation["ordinal"]),
        ),
        h("span", section, class_="section") if section else None,
        class_="source",
    )


def actions(equation: Json, query: str | None = None) -> Html:
    """What can be asked about an equation."""
    own = link("/equation", name=equation["id"])
    asked = [
        ("similar", "Similar", f"{own}#similar"),
        ("describe", "In words", f"{own}#describe"),
        *([("why", "Why", link("/why", query=query, equation=equation["id"]))] if query else []),
        ("source", "LaTeX", f"{own}#source"),
    ]
    papers = equation.get("papers", 1)
    family = h("a", f"in {papers} papers", href=f"{own}#family", class_="papers")
    return h(
        "div",
        [h("a", name, href=address, data_panel=panel) for panel, name, address in asked],
        family if papers > 1 else None,
        class_="actions",
    )


def card(hit: Json, rank: int, query: str | None) -> Html:
    """A hit."""
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
    """A hit among what belongs to another equation."""
    return h("li", formula(hit), source_line(hit), actions(hit), class_="card", data_id=hit["id"])


# ------------------------------------------------------------ the query box


def ask(
    stats: Json, query: str = "", limits: Mapping[str, Any] | None = None, *, first: bool = False
) -> Html:
    """The box in which people ask, and what they limit an answer to; `first` has the cursor."""
    box = h(
        "div",
        h("label", "Words, or LaTeX between dollars", for_="q", class_="hidden"),
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
    known = h(
        "ul",
        id="suggestions",
        role="listbox",
        aria_label="Known words",
        hidden=True,
    )
    preview = h("output", id="preview", for_="q", hidden=True)
    return h(
        "form",
        box,
        known,
        preview,
        _limits(stats, limits or {}),
        role="search",
        action="/",
        method="get",
        class_="ask",
    )


def _limits(stats: Json, limits: Mapping[str, Any]) -> Html:
    """Fields that narrow an answer down; open where one of them does."""
    names = [name for name in stats["collections"] if name]
    chosen = limits.get("collection")
    options = [h("option", "all collections", value="")] + [
        h("option", name, value=name, selected=name == chosen) for name in names
    ]
    pieces = list(limits.get("has") or ())

    def field(name: str, label: str, value: Any, hint: str) -> Html:
        return h(
            "label", h("span", label), h("input", name=name, value=value or "", placeholder=hint)
        )

    fields = [
        h("label", h("span", "Collection"), h("select", options, name="collection"))
        if len(names) > 1
        else None,
        field("article", "Article", limits.get("article"), "its name"),
        field("year", "Year", limits.get("year"), "2015-2018"),
        field("section", "Section", limits.get("section"), "words of its title"),
        # a field for each piece, and an empty one where one more may be asked for
        [field("has", "And has" if at else "Has", latex, "one more" if at else r"\sum")
         for at, latex in enumerate([*pieces, ""][:MOST_PIECES])],
        h(
            "label",
            h("input", type="checkbox", name="numbered", value="true",
              checked=bool(limits.get("numbered"))),
            h("span", "numbered only"),
            class_="check",
        ),
    ]  # fmt: skip
    is_used = any(value for value in limits.values())
    return h(
        "details",
        h("summary", "Narrow down"),
        h("div", fields, class_="fields"),
        class_="limits",
        open=is_used,
    )
