"""The words nearest to a word."""

from eqemb.server.service import Json
from eqemb.server.views.layout import link, page
from eqemb.server.views.markup import h
from eqemb.server.views.query_box import search_form


def words(stats: Json, answer: Json) -> bytes:
    """The words nearest to a word."""
    word = answer["word"]
    rows = [
        h("li", h("a", each["word"], href=link("/words", word=each["word"]), class_="word"),
          h("meter", value=f"{max(0.0, each['score']):.3f}", min="0", max="1", aria_hidden="true"))
        for each in answer["words"]
    ]  # fmt: skip
    return page(
        word,
        search_form(stats, word),
        h("h1", "Words related to ", h("em", word)),
        h("ol", rows, class_="said short"),
        h("p", h("a", "Search for equations →", href=link("/", q=word)), class_="turn"),
        stats=stats,
    )
