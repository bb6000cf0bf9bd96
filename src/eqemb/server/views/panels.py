"""Panels of an equation: what opens below a hit, and the sections of an equation's page.

`PANELS` is the one list of them. Which panels of a page are open is part of its address: each is
a value `PANEL:EQUATION` of the parameter `open`. So a panel has the same address with and without
JavaScript; the script asks for its HTML at `/v1/panel`.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from eqemb.errors import UsageError, quoted
from eqemb.server.service import Json, Page, Service
from eqemb.server.views.hits import OpenPanels, prose, small_card
from eqemb.server.views.layout import article_link, link, sentence
from eqemb.server.views.markup import Html, h, join
from eqemb.server.views.symbols_view import where_list
from eqemb.server.views.why_page import reasons

#: Most open panels that an address may have.
MAX_PANELS = 10
#: Stands for the equation of the query in an address.
ASKED = "query"


class EquationPanel(NamedTuple):
    """A kind of panel."""

    title: str
    """The heading of the section of an equation's page."""
    show: Callable[[Service, str, str | None], Html]
    """Its content for an equation, given by name or as LaTeX, and the query of the page."""
    on_page: bool = True
    """Whether the page of an equation has it; it has no query."""
    lead: Callable[[Service, str], Html | None] = lambda _service, _equation: None
    """What comes first in a panel; the page of an equation has it elsewhere."""


def similar(service: Service, equation: str, _query: str | None = None, size: int = 4) -> Html:
    """The most similar equations, with a link to all of them."""
    found = service.similar(equation, Page(1, size), for_page=True)
    if not found["hits"]:
        return h("p", "No similar equations.", class_="note")
    asked = found.get("asked") or {}
    query = equation if "id" in asked else f"${asked.get('latex', equation)}$"
    more = h("a", "More similar equations →", href=link("/", q=query))
    cards = h("ol", map(small_card, found["hits"]), class_="hits small")
    return join(cards, h("p", more, class_="turn"))


def describe(service: Service, equation: str, _query: str | None = None) -> Html:
    """The name of an equation, and words that describe it; a sentence is shown once."""
    described = service.describe(equation, 8)
    if not described["words"]:
        return h(
            "p", "The library has no similar equation that could describe this one.", class_="note"
        )
    most = described["words"][0]["score"] or 1
    shown: list[Json] = []
    for each in described["words"]:
        is_new = each["sentence"] not in [other["sentence"] for other in shown]
        shown.append(each if is_new else each | {"sentence": []})
    rows = [
        h("li",
          h("a", each["word"], href=link("/", q=each["word"]), class_="word"),
          h("meter", value=f"{each['score'] / most:.3f}", min="0", max="1", aria_hidden="true"),
          h("p", prose(each["sentence"]),
            h("cite", h("a", each["article"], href=article_link(each["article"])))
            if each["article"] else None)
          if each["sentence"] else None)
        for each in shown
    ]  # fmt: skip
    notes = [h("p", sentence(note), class_="note") for note in described["notes"]]
    return join(_phrase(described["phrase"]), notes, h("ol", rows, class_="said"))


def _phrase(phrase: Json | None) -> Html | None:
    """A line with the name of an equation, which is a link to a search for it."""
    if phrase is None:
        return None
    name = h("a", phrase["text"], href=link("/", q=phrase["text"]), class_="word")
    cite = h("cite", h("a", phrase["article"], href=article_link(phrase["article"])))
    return h("p", name, " ", cite, class_="phrase")


def symbols(service: Service, equation: str) -> Html | None:
    """What the symbols of an equation of the library mean."""
    named = service.library.equation(equation)
    return None if named is None else where_list(service.symbols.where(named))


def why(service: Service, equation: str, query: str | None = None) -> Html:
    """Why an equation matches the query."""
    if not query:
        raise UsageError("without a query there is no reason for a match")
    return reasons(service.why(query, equation))


def source(service: Service, equation: str, _query: str | None = None) -> Html:
    """LaTeX and a citation to copy; the LaTeX as written only if it differs."""
    found = service.asked(equation)
    clean = found.get("clean_latex") or found["latex"]
    made = [copied("LaTeX", clean)]
    if " ".join(found["latex"].split()) != clean:
        made.append(copied("LaTeX as written", found["latex"]))
    if "reference" in found:
        made += [copied("Citation", found["citation"]), copied("BibTeX", found["reference"])]
    if found.get("url"):
        out = h("a", found["url"], href=found["url"], rel="noopener noreferrer")
        made.append(h("p", out, class_="out"))
    return join(made)


def copied(label: str, content: str) -> Html:
    """Text with a button that copies it; the script shows the button."""
    return h(
        "figure",
        h("figcaption", label, h("button", "Copy", type="button", class_="copy", hidden=True)),
        h("pre", h("code", content), tabindex="0"),
        class_="copied",
    )


#: The panels by their names in addresses; `hits.PANEL_LINKS` has the links that open them.
PANELS: Mapping[str, EquationPanel] = {
    "describe": EquationPanel("Description", describe, lead=symbols),
    "similar": EquationPanel("Similar equations", similar),
    "why": EquationPanel("Why it matches", why, on_page=False),
    "source": EquationPanel("Source", source),
}


def show_panel(service: Service, kind: str, equation: str, query: str | None) -> Html:
    """One panel as HTML."""
    if kind not in PANELS:
        raise UsageError(f"no panel {quoted(kind)}: choose one of {', '.join(PANELS)}")
    panel = PANELS[kind]
    content = join(panel.lead(service, equation), panel.show(service, equation, query))
    return h("div", content, class_="panel", data_kind=kind, role="region",
             aria_label=panel.title)  # fmt: skip


def open_panels(
    service: Service,
    opened: Iterable[str],
    path: str,
    values: Mapping[str, Any],
    shown: Mapping[str, str],
    query: str | None = None,
) -> OpenPanels:
    """The open panels of a page with this address.

    `opened` are the values of `open`. `shown` are the equations of the page: names or `ASKED`, and
    what each stands for. Values for other equations are dropped, and all but the last of one
    equation, and panels that cannot be shown.
    """
    wanted: dict[str, str] = {}
    for value in [*opened][:MAX_PANELS]:
        kind, _, name = value.partition(":")
        if name in shown and kind in PANELS and (query or kind != "why"):
            wanted[name] = kind
    made = {}
    for name, kind in wanted.items():
        with suppress(UsageError):  # the page is worth showing without it
            made[name] = (kind, show_panel(service, kind, shown[name], query))
    return OpenPanels(path, dict(values), made)


def names_of(equations: Iterable[Json]) -> dict[str, str]:
    """The names of equations, each standing for itself."""
    return {found["id"]: found["id"] for found in equations}
