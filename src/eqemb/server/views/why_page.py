"""Why an equation matches a query."""

from eqemb.server.service import Json
from eqemb.server.views.hits import sheet
from eqemb.server.views.layout import link, page
from eqemb.server.views.markup import Html, h, join
from eqemb.server.views.query_box import search_form


def why(stats: Json, answer: Json) -> bytes:
    """Why an equation matches a query."""
    query = answer["query"]["query"]
    return page(
        f"Why: {query}",
        search_form(stats, query),
        h("h1", "Why it matches"),
        h("section", reasons(answer), class_="why", aria_label="Reasons"),
        stats=stats,
    )


def reasons(answer: Json) -> Html:
    """The symbols and words that a query and an equation share."""
    sides = [
        sheet(side) if side["mathml"] else h("p", side["query"], class_="asked-words")
        for side in (answer["query"], answer["other"])
    ]  # fmt: skip
    letters = [f"{one} → {two}" for one, two in answer["letters"].items()]
    shown = ((part, f"{value:.2f}") for part, value in answer["parts"].items())
    parts = [f"{part} {value}" for part, value in shown if value.strip("-") != "0.00"]
    most = max((each["score"] for each in answer["words"]), default=0) or 1
    words = [
        h("li", h("a", each["word"], href=link("/", q=each["word"]), class_="word"),
          h("meter", value=f"{each['score'] / most:.3f}", min="0", max="1", aria_hidden="true"))
        for each in answer["words"]
    ]  # fmt: skip
    return join(
        h("div", sides, class_="sides"),
        h("p", "Letters: ", ", ".join(letters), class_="note") if letters else None,
        h("p", f"Score {answer['score']:.2f}", f" = {' + '.join(parts)}" if parts else "",
          class_="note"),
        h("ol", words, class_="said short") if words else h("p", "No words in common.",
                                                              class_="note"),
    )  # fmt: skip
