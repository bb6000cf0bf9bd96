"""The page of one equation: description, similar equations, source and duplicates."""

from eqemb.server.service import Json, Service
from eqemb.server.views.hits import equation_link, formula, prose, save_button, source_line
from eqemb.server.views.layout import page
from eqemb.server.views.markup import Html, h
from eqemb.server.views.panels import PANELS
from eqemb.server.views.query_box import search_form
from eqemb.server.views.symbols_view import where_list


def equation(service: Service, given: str, found: Json) -> bytes:
    """An equation with its panels, duplicates and references; `given` is its name or LaTeX."""
    is_named = "id" in found
    where = service.symbols.where_named(found["id"]) if is_named else None
    if where is not None:
        found = found | {"mathml": where["formulas"][0]}
    name = f"{found['title'] or found['article']}, {_number(found)}" if is_named else "Equation"
    panels = [
        h("section", h("h2", panel.title), panel.show(service, given, None), id=kind)
        for kind, panel in PANELS.items()
        if panel.on_page
    ]
    return page(
        name,
        search_form(service.stats),
        h("h1", name, class_="hidden"),
        h("section", formula(found, large=True),
          where_list(where) if where is not None else None,
          source_line(found) if is_named else None,
          h("p", prose(found["context"]), class_="context") if found.get("context") else None,
          _citation(found) if is_named else None,
          _contents(found),
          _neighbours(found) if is_named else None,
          class_="one", aria_label="The equation"),
        panels,
        _family(found),
        _references(found),
        stats=service.stats,
    )  # fmt: skip


def _citation(found: Json) -> Html | None:
    """The paper, if more than its title is known, which stands above."""
    known = found["authors"] or found["year"] or found["arxiv"]
    return h("p", found["citation"], class_="note cited") if known else None


def _contents(found: Json) -> Html:
    """Links to the sections of the page, and a button to save the equation."""
    links = [
        h("a", panel.title, href=f"#{kind}") for kind, panel in PANELS.items() if panel.on_page
    ]
    if found.get("family"):
        links.append(h("a", "Also in", href="#family"))
    save = save_button(found["id"]) if "id" in found else None
    return h("nav", links, save, class_="actions", aria_label="On this page")


def _number(found: Json) -> str:
    return f"({found['number']})" if found["number"] else f"no. {found['ordinal']}"


def _neighbours(found: Json) -> Html:
    """Links to the previous and the next equation of the article."""
    ordinal = found["ordinal"]
    steps = [
        h("a", name, href=equation_link(f"{found['article']}#{other}"), rel=rel)
        for name, other, rel in (
            ("← Previous equation", ordinal - 1, "prev"),
            ("Next equation →", ordinal + 1, "next"),
        )
        if 1 <= other <= found["of"]
    ]
    return h("nav", steps, class_="turn", aria_label="Equations of the article")


def _family(found: Json) -> Html | None:
    """Other occurrences of the equation."""
    if not found.get("family"):
        return None
    names = [h("li", h("a", name, href=equation_link(name))) for name in found["family"]]
    return h("section", h("h2", "Also in"), h("ul", names, class_="names"), id="family")


def _references(found: Json) -> Html | None:
    """Sentences of the article that refer to the equation."""
    if not found.get("references"):
        return None
    lines = [h("li", prose(pieces)) for pieces in found["references"]]
    return h("section", h("h2", "References to this equation"), h("ul", lines, class_="sentences"))
