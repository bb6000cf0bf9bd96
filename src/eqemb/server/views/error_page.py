"""The page of an error."""

from eqemb.server.service import Json
from eqemb.server.views.layout import page, sentence
from eqemb.server.views.markup import h
from eqemb.server.views.query_box import search_form


def error(status: int, message: str, url: str = "/", stats: Json | None = None) -> bytes:
    """An error page; for a missing token, a form that submits it to the requested URL.

    With the `stats` of the library, the page has the navigation and the search box.
    """
    titles = {
        401: "Token required", 404: "Not found", 405: "Not allowed", 500: "Internal error",
        429: "Too many requests", 503: "Server busy", 504: "Time limit exceeded",
    }  # fmt: skip
    title = titles.get(status, "Invalid request")
    form = h(
        "form",
        h("div", h("label", "Token", for_="token", class_="hidden"),
          h("input", id="token", name="token", type="password", placeholder="token"),
          h("button", "Continue", type="submit"), class_="box"),
        action=url, method="post", class_="ask",
    )  # fmt: skip
    return page(
        title,
        search_form(stats) if stats else None,
        h("h1", title),
        h("p", sentence(message), class_="lead"),
        form if status == 401 else h("p", h("a", "Back to search", href="/")),
        stats=stats,
    )
