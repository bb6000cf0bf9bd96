"""The search box with its filters."""

from collections.abc import Mapping
from typing import Any

from eqemb.server.service import MAX_FRAGMENTS, Json
from eqemb.server.views.markup import Html, h


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
            placeholder="words or $\\frac{a}{b}$",
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
        h("div", _palette(), _filters(stats, limits or {}), class_="options"),
        role="search",
        action="/",
        method="get",
        class_="ask",
    )


def _palette() -> Html:
    """A palette of formulas; the script fills and shows it."""
    return h("details", h("summary", "Symbols"), id="palette", class_="folded", hidden=True)


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
    kept = [h("input", type="hidden", name="without", value=name)
            for name in limits.get("without") or ()]  # fmt: skip
    is_used = any(value for name, value in limits.items() if name not in ("without", "kind"))
    return h(
        "details",
        h("summary", "Filters"),
        h("div", fields, class_="fields"),
        kept,
        class_="limits",
        open=is_used,
    )
