"""The list of articles."""

from eqemb.server.service import Json
from eqemb.server.views.layout import article_link, link, page, page_turn
from eqemb.server.views.markup import h


def articles(stats: Json, answer: Json, words: str, collection: str) -> bytes:
    """The articles of the library."""
    rows = [
        h("li",
          h("a", each["title"] or each["name"], href=article_link(each["name"])),
          h("span", each["name"], class_="section"),
          h("span", f"{each['equations']:,}", class_="count",
            title=f"{each['equations']} equations"))
        for each in answer["articles"]
    ]  # fmt: skip
    groups = [
        h("a", name, href=link("/articles", collection=name),
          aria_current="true" if name == collection else None)
        for name in stats["collections"] if name
    ]  # fmt: skip
    return page(
        "Articles",
        h("h1", "Articles"),
        h("form",
          h("label", "Words in the title", for_="words", class_="hidden"),
          h("div", h("input", id="words", name="words", type="search", value=words,
                     placeholder="words in the title"),
            h("button", "Find", type="submit"), class_="box"),
          h("input", type="hidden", name="collection", value=collection) if collection else None,
          action="/articles", method="get", class_="ask"),
        h("p", h("a", "All", href="/articles",
                 aria_current=None if collection else "true"), groups, class_="words")
        if len(groups) > 1 else None,
        h("ol", rows, class_="titles", start=(answer["page"] - 1) * answer["size"] + 1)
        if rows else h("p", "No article has these words in its title.", class_="note"),
        page_turn(answer, "/articles", {"words": words, "collection": collection}),
        stats=stats,
        here="/articles",
    )  # fmt: skip
