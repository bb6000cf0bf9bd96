"""Above the results: how many match, the ranking, facets, filters in use, and downloads.

All of it is links, so that every choice has an address and works without JavaScript.
"""

from typing import Any

from eqemb.server.service import Json
from eqemb.server.views.hits import OpenPanels
from eqemb.server.views.layout import link
from eqemb.server.views.markup import Html, h, join

#: The rankings of the switch, with what each goes by.
RANKING_LINKS = {
    "all": ("Everything", "Words, meaning and structure together"),
    "words": ("Words", "The words around an equation"),
    "structure": ("Structure", "The symbols of the formula and their places"),
    "meaning": ("Meaning", "Vectors: words that occur in similar places"),
}
#: The facets, with their headings; they have the names of filters.
FACET_TITLES = {
    "collection": "Collection", "year": "Year", "section": "Section", "kind": "Match",
}  # fmt: skip
#: The filters that can be removed, with what is said before their values.
_FILTER_TITLES = {
    "collection": "collection", "article": "article", "year": "year", "section": "section",
    "has": "contains", "without": "not from", "kind": "match",
}  # fmt: skip
DOWNLOADS = {"csv": "CSV", "json": "JSON", "bib": "BibTeX", "tex": "LaTeX"}


def without_state(at: OpenPanels) -> dict[str, Any]:
    """The parameters of a page without its number and its open panels."""
    return {name: value for name, value in at.values.items() if name != "page"}


def results_bar(answer: Json, at: OpenPanels) -> Html:
    """What is above the hits."""
    return h(
        "div",
        h("div", h("p", _count(answer), class_="total", role="status"),
          downloads(without_state(at)) if answer["hits"] else None, class_="head"),
        _filters_in_use(at),
        ranking_switch(at, has_formula=answer["kind"] == "equation" or bool(answer["formulas"])),
        _facets(answer, at),
        class_="bar",
    )  # fmt: skip


def _count(answer: Json) -> str:
    """How many equations match."""
    found, shown = answer["matches"], len(answer["hits"])
    if not shown:
        return "No equation matches"
    if found is None:
        return "The nearest equations, best first"
    number = found["equations"]
    if not number:
        return "No equation matches well"
    text = "1 equation matches" if number == 1 else f"{number:,} equations match"
    if not found["complete"]:
        text = f"At least {text}"
    return f"{text}; equal ones are shown as one" if number > shown > 1 else text


def _filters_in_use(at: OpenPanels) -> Html | None:
    """The filters of the page, each with a link that removes it."""
    values = without_state(at)
    chips = []
    for name, title in _FILTER_TITLES.items():
        given = values.get(name)
        for value in given if isinstance(given, list) else [given] if given else []:
            rest = [other for other in given if other != value] if isinstance(given, list) else None
            url = link(at.path, **values | {name: rest or None})
            chips.append(_chip(f"{title} {value}", url))
    if values.get("numbered"):
        chips.append(_chip("numbered only", link(at.path, **values | {"numbered": None})))
    return h("ul", chips, class_="chips", aria_label="Filters in use") if chips else None


def _chip(text: str, url: str) -> Html:
    remove = h("a", "×", href=url, aria_label=f"Remove the filter: {text}")
    return h("li", h("span", text), " ", remove)


def ranking_switch(at: OpenPanels, *, has_formula: bool = True) -> Html:
    """Links to the same query with another ranking; one by structure needs a formula."""
    values, now = without_state(at), at.values.get("by") or "all"
    links = [
        h("span", name, class_="off", title="Add a formula to the query")
        if by == "structure" and not has_formula
        else h("a", name, title=about, aria_current="true" if by == now else None,
               href=link(at.path, **values | {"by": None if by == "all" else by, "kind": None}))
        for by, (name, about) in RANKING_LINKS.items()
    ]  # fmt: skip
    return h("nav", h("span", "Rank by"), links, class_="switch", aria_label="Ranking")


def _facets(answer: Json, at: OpenPanels) -> Html | None:
    """The values of each facet with their counts; a facet needs two values to be of use."""
    if answer["matches"] is None:
        return None
    values = without_state(at)
    groups = []
    for name, title in FACET_TITLES.items():
        found = answer["matches"]["facets"][name]
        if len(found) < 2 or values.get(name):
            continue
        items = [
            h("li", h("a", each["value"], href=link(at.path, **values | {name: each["value"]})),
              " ", h("span", f"{each['equations']:,}", class_="count"))
            for each in found
        ]  # fmt: skip
        groups.append(h("div", h("h2", title), h("ul", items), class_=f"facet by-{name}"))
    if not groups:
        return None
    return h(
        "details",
        h("summary", "Narrow down"),
        h("div", groups, class_="facets"),
        class_="narrow",
    )


def downloads(values: dict[str, Any], name: str = "equations") -> Html:
    """Links to the same equations as files."""
    links = [
        join(", " if at else "", h("a", text, href=link(f"/v1/export.{ending}", **values),
                                   download=f"{name}.{ending}"))
        for at, (ending, text) in enumerate(DOWNLOADS.items())
    ]  # fmt: skip
    return h("p", "Download as ", links, class_="note downloads")
