"""An article with its equations; the window of one equation is highlighted."""

from collections.abc import Iterator
from urllib.parse import quote

from eqemb.search.snippets import Piece
from eqemb.server.service import Json
from eqemb.server.views.article_contents import anchors, contents
from eqemb.server.views.hits import OpenPanels, actions, formula, one_piece, prose
from eqemb.server.views.layout import article_link, link, page
from eqemb.server.views.markup import Html, h, join
from eqemb.server.views.symbols_view import glossary_link

#: So many authors are named.
_AUTHORS_SHOWN = 12


def article(stats: Json, found: Json, chosen: int | None, at: OpenPanels) -> bytes:
    """An article; the window of the chosen equation is highlighted, `at` are open panels."""
    out, ids = found["url"], anchors(found)
    about = [
        found["name"],
        found["collection"],
        f"{found['equations']:,} equations" if found["equations"] != 1 else "1 equation",
    ]
    return page(
        found["title"] or found["name"],
        h("h1", found["title"] or found["name"]),
        _written_by(found),
        h("p", " · ".join(part for part in about if part),
          join(" · ", h("a", "arXiv", href=out, rel="noopener noreferrer")) if out else None,
          " · ", h("a", "Search this article", href=link("/", article=found["name"])),
          " · ", h("a", "Symbols", href=glossary_link(found["name"])),
          class_="about"),
        h("p", f"Select an equation to highlight its window, the {found['window']} words it was"
          " learned from.", class_="note")
        if found["equations"] and stats["snippets"] == "full" else None,
        contents(found),
        _parts(found),
        h("div", (_block(block, chosen, at, ids) for block in found["blocks"]), class_="text",
          data_article=found["name"]),
        _parts(found, "Parts of the article, below the text"),
        stats=stats,
        here="/articles",
    )  # fmt: skip


def _written_by(found: Json) -> Html | None:
    """The authors and the year, as far as they are known."""
    authors, year = found["authors"], found["year"]
    if len(authors) > _AUTHORS_SHOWN:
        authors = [*authors[:_AUTHORS_SHOWN], "and others"]
    known = [", ".join(authors), str(year or "")]
    return h("p", " · ".join(filter(None, known)), class_="by") if any(known) else None


def _parts(found: Json, label: str = "Parts of the article") -> Html | None:
    if found["parts"] == 1:
        return None
    steps = [
        h("a", str(number), href=link(f"/articles/{quote(found['name'])}", part=number),
          aria_current="true" if number == found["part"] else None)
        for number in range(1, found["parts"] + 1)
    ]  # fmt: skip
    return h("nav", "Part ", steps, class_="parts", aria_label=label)


def _block(block: Json, chosen: int | None, at: OpenPanels, ids: Iterator[str]) -> Html:
    """A block of the text; `ids` are those of the headings that are still to come."""
    if block["kind"] == "heading":
        return h("h2", prose(block["pieces"]), id=next(ids))
    if block["kind"] == "paragraph":
        marked = [
            piece | {"kind": "mark"} if chosen in piece.get("near", ()) else piece
            for piece in block["pieces"]
        ]
        return h("p", prose(marked, _piece_of_article), data_paragraph=block.get("paragraph"))
    equation = block["equation"]
    ordinal = equation["ordinal"]
    return h(
        "div",
        formula(equation),
        h("div",
          h("a", "Window", href=article_link(equation["article"], ordinal), class_="choose"),
          actions(equation, at, fragment=f"e{ordinal}"), class_="tools"),
        at.html(equation["id"]),
        class_="display chosen" if ordinal == chosen else "display",
        id=f"e{ordinal}",
        data_id=equation["id"],
        data_ordinal=ordinal,
    )  # fmt: skip


def _piece_of_article(piece: Piece) -> Html:
    """A piece of an article: a highlighted word still lists the equations near it."""
    if "near" not in piece:
        return one_piece(piece)
    near = " ".join(map(str, piece["near"]))
    is_marked = piece["kind"] == "mark"
    return h("span", piece["text"], class_="w on" if is_marked else "w", data_near=near)
