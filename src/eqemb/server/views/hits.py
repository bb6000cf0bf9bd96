"""How equations and hits are shown on all pages."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from eqemb.formula.html import equation_html, math_frame
from eqemb.search.snippets import Piece
from eqemb.server.service import Json
from eqemb.server.views.layout import article_link, link
from eqemb.server.views.markup import Html, h, join, text

#: The links below an equation: the panel that each opens (see `panels`), and its text.
PANEL_LINKS = {"similar": "Similar", "describe": "Describe", "why": "Why", "source": "LaTeX"}

_AFTER_FORMULA = re.compile(r"[,.;:!?)\]’”]+")


class OpenPanels(NamedTuple):
    """The address of a page, and its open panels."""

    path: str = "/"
    values: Mapping[str, Any] = {}
    """The parameters of the address, without `open`."""
    panels: Mapping[str, tuple[str, Html]] = {}
    """For each equation with an open panel its kind and its HTML."""

    def toggled(self, kind: str, name: str, fragment: str = "") -> str:
        """The address of the page after a click on the link of a panel."""
        opened = {other: panel for other, (panel, _) in self.panels.items() if other != name}
        if self.kind(name) != kind:
            opened[name] = kind
        values = [f"{panel}:{other}" for other, panel in opened.items()]
        url = link(self.path, **self.values, open=values or None)
        return f"{url}#{fragment}" if fragment else url

    def kind(self, name: str) -> str | None:
        """The kind of the open panel of an equation."""
        return self.panels[name][0] if name in self.panels else None

    def html(self, name: str) -> Html | None:
        """The open panel of an equation."""
        return self.panels[name][1] if name in self.panels else None


def prose(pieces: Iterable[Piece], show: Callable[[Piece], Html] | None = None) -> Html:
    """Pieces of text as HTML; `show` makes that of one piece.

    A formula and the punctuation after it stay on one line.
    """
    show = show or one_piece
    made: list[Html] = []
    was_formula = False
    for piece in pieces:
        html, kind = show(piece), piece["kind"]
        found = _AFTER_FORMULA.match(piece["text"]) if was_formula and kind == "text" else None
        if found:
            made[-1] = h("span", made[-1], found[0], class_="tight")
            html = text(piece["text"][found.end() :])
        made.append(html)
        was_formula = kind in ("math", "equation")
    return join(*made)


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


def formula(equation: Json, *, large: bool = False, is_link: bool = False) -> Html:
    """An equation with its number; a link to its page, if wanted."""
    made = equation["mathml"]
    if is_link:
        made = h("a", Html(made), href=equation_link(equation["id"]), class_="whole",
                 title="Page of this equation")  # fmt: skip
    return Html(equation_html(made, **_names(equation), large=large))


def equation_link(name: str) -> str:
    """The URL of the page of an equation."""
    return link("/equation", name=name)


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
    return h("span", h("meter", value=f"{strength:.2f}", min="0", max="1", aria_hidden="true"),
             f"{equation['level']} {percent}%", class_=f"strength {equation['level']}",
             title=f"About {percent} of 100 such answers are good")  # fmt: skip


def actions(
    equation: Json, at: OpenPanels | None = None, query: str | None = None, fragment: str = ""
) -> Html:
    """Links to the panels of an equation.

    They open on this page, whose address and open panels are `at`, or else on the equation's page.
    `fragment` is the id of the element that shows the equation.
    """
    name, own = equation["id"], equation_link(equation["id"])
    kinds = [kind for kind in PANEL_LINKS if kind != "why" or query]
    links = [
        h("a", PANEL_LINKS[kind], href=f"{own}#{kind}")
        if at is None
        else panel_link(at, kind, name, fragment)
        for kind in kinds
    ]
    papers = equation.get("papers", 1)
    family = h("a", f"in {papers} papers", href=f"{own}#family", class_="papers")
    return h(
        "div",
        links,
        save_button(name),
        _not_from(equation["article"], at) if at is not None and query else None,
        family if papers > 1 else None,
        class_="actions",
    )


def save_button(name: str) -> Html:
    """A button that adds an equation to the saved list; the script shows it."""
    return h("button", "Save", type="button", class_="save plain", data_save=name,
             aria_pressed="false", hidden=True)  # fmt: skip


def _not_from(article: str, at: OpenPanels) -> Html:
    """A link to the same results without those of an article."""
    values = {name: value for name, value in at.values.items() if name != "page"}
    others = [*(values.get("without") or ()), article]
    url = link(at.path, **values | {"without": others, "article": None})
    return h("a", "Not from this paper", href=url, class_="not", rel="nofollow")


def panel_link(at: OpenPanels, kind: str, name: str, fragment: str = "") -> Html:
    """A link that opens a panel, or closes it."""
    return h("a", PANEL_LINKS[kind], href=at.toggled(kind, name, fragment), data_panel=kind,
             aria_expanded="true" if at.kind(name) == kind else "false")  # fmt: skip


def card(hit: Json, rank: int, at: OpenPanels, query: str | None = None) -> Html:
    """A hit in a list of results."""
    place = f"hit-{rank}"
    return h(
        "li",
        h("span", str(rank), class_="rank", aria_hidden="true"),
        formula(hit, is_link=True),
        source_line(hit),
        h("p", prose(hit["context"]), class_="context") if hit.get("context") else None,
        actions(hit, at, query, place),
        at.html(hit["id"]),
        class_="card",
        id=place,
        tabindex="-1",
        data_id=hit["id"],
        data_query=query,
    )


def small_card(hit: Json) -> Html:
    """A hit on the page of another equation: without rank and context."""
    return h("li", formula(hit, is_link=True), source_line(hit), actions(hit), class_="card")
