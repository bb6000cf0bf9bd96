"""A list of equations that somebody saved; the address names them."""

from collections.abc import Mapping

from eqemb.server.service import Json
from eqemb.server.views.facets import downloads
from eqemb.server.views.hits import OpenPanels, card
from eqemb.server.views.layout import link, page
from eqemb.server.views.markup import Html, h


def saved(stats: Json, found: Mapping[str, Json | None], at: OpenPanels) -> bytes:
    """The list; `found` has None for names that the library does not have."""
    there = {name: equation for name, equation in found.items() if equation is not None}
    gone = [name for name in found if name not in there]
    cards = [card(equation, rank, at) for rank, equation in enumerate(there.values(), 1)]
    clear = h("button", "Clear the list", type="button", id="clear-saved", class_="plain",
              hidden=True)  # fmt: skip
    return page(
        "Saved equations",
        h("h1", "Saved equations"),
        None if found else _empty(),
        h("p", f"{len(there)} equation{'s' if len(there) != 1 else ''}. The address has the whole"
          " list: bookmark or send it. ", clear, class_="note") if found else None,
        h("p", id="own-list", class_="note", hidden=True),
        h("p", "Not in this library: ", ", ".join(gone), class_="note") if gone else None,
        downloads({"id": list(there)}, "saved") if there else None,
        h("ol", cards, class_="hits") if cards else None,
        stats=stats,
        here="/saved",
    )  # fmt: skip


def _empty() -> Html:
    return h(
        "div",
        h("p", "The list is empty. ", h("a", "Search", href=link("/")),
          ", and choose Save below an equation. The list is kept in this browser alone.",
          class_="lead", id="nothing-saved"),
        h("noscript", h("p", "Saving needs JavaScript. A list in an address does not.",
                        class_="note")),
    )  # fmt: skip
