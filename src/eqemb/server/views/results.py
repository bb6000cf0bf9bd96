"""The results of a query, and what to try if there are none."""

from eqemb.server.service import Json
from eqemb.server.views.facets import ranking_switch, results_bar, without_state
from eqemb.server.views.hits import OpenPanels, card, formula, panel_link
from eqemb.server.views.layout import link, page, page_turn, sentence
from eqemb.server.views.markup import Html, h, join
from eqemb.server.views.panels import ASKED
from eqemb.server.views.query_box import search_form


def results(stats: Json, answer: Json, limits: Json, at: OpenPanels) -> bytes:
    """The results of a query; `at` are the open panels."""
    query = answer["query"]
    first = (answer["page"] - 1) * answer["size"] + 1
    ranked = list(enumerate(answer["hits"], first))
    good = [card(hit, rank, at, query) for rank, hit in ranked if hit["level"] != "weak"]
    weak = [card(hit, rank, at, query) for rank, hit in ranked if hit["level"] == "weak"]
    return page(
        query,
        search_form(stats, query, limits),
        h("h1", "Results", class_="hidden"),
        _notes(answer),
        _related_words(answer, stats),
        _query_formula(answer, at) if answer["kind"] == "equation" else None,
        results_bar(answer, at),
        h("ol", good, class_="hits") if good else None,
        None if answer["match"] == "good" else _nothing(answer, limits),
        h("h2", "Weak matches") if weak else None,
        h("ol", weak, class_="hits") if weak else None,
        page_turn(answer, "/", without_state(at)),
        stats=stats,
    )


def invalid_query(stats: Json, query: str, limits: Json, message: str, by: str = "all") -> bytes:
    """The page for a query that is not valid, or that a ranking cannot use."""
    at = OpenPanels("/", {"q": query, **limits, "by": None if by == "all" else by})
    return page(
        query,
        search_form(stats, query, limits),
        h("h1", "Invalid query", class_="hidden"),
        ranking_switch(at) if by != "all" else None,
        h("p", sentence(message), class_="lead", role="alert"),
        h("p", h("a", "Search without filters", href=link("/", q=query)))
        if any(limits.values())
        else None,
        stats=stats,
    )


def _query_formula(answer: Json, at: OpenPanels) -> Html:
    """The formula of the query, with a link to its description."""
    found = answer["asked"]
    return h(
        "section",
        formula(found),
        h("div", panel_link(at, "describe", ASKED, "asked"), class_="actions"),
        at.html(ASKED),
        class_="card asked",
        id="asked",
        data_id=ASKED,
        data_latex=found["latex"],
        aria_label="The equation of the query",
    )  # fmt: skip


def _notes(answer: Json) -> list[Html]:
    """Unknown words with suggestions, and notes on the results."""
    reading = answer["reading"]
    notes = []
    if reading and not reading["repairs"]:  # a repair has a note that says the same
        notes.append(h("p", f"Read as {reading['line']}.", class_="note"))
    for word in answer["unknown"]:
        near = [h("a", other, href=link("/", q=answer["query"].replace(word, other)))
                for other in answer["near"].get(word, ())]  # fmt: skip
        hint = join(" Did you mean ", *_listed(near), "?") if near else ""
        notes.append(h("p", f"“{word}” does not appear near any equation.", hint, class_="note"))
    return notes + [h("p", sentence(note), class_="note") for note in answer["notes"]]


def _related_words(answer: Json, stats: Json) -> Html | None:
    """Links from the words of a query to the words nearest to them."""
    reading = answer["reading"]
    words = reading["words"] if reading else answer["words"]  # a repaired word is not as typed
    known = [word for word in words if word not in answer["unknown"]]
    if not known or not stats["model"]:
        return None
    links = [h("a", word, href=link("/words", word=word)) for word in known]
    return h("p", "Show words related to ", *_listed(links), class_="note")


def _listed(items: list[Html]) -> list[Html]:
    return [join(", " if at else "", item) for at, item in enumerate(items)]


def _hints(*, is_formula: bool) -> list[Html]:
    """What else to try for a formula, or for words."""
    if is_formula:
        return [
            h("li", "Try a smaller part of the formula; ", h("code", "?x"),
              " stands for anything: ", h("code", r"\frac{?x}{\sqrt{d}}")),
            h("li", "Add words: ", h("code", r"attention $\frac{a}{\sqrt{d}}$")),
        ]  # fmt: skip
    return [
        h("li", "Try other words, or fewer. Words are matched near equations, in any"
          " grammatical form."),
        h("li", "Put a formula that was read as words between dollar signs: ",
          h("code", r"entropy $\sum p \log p$")),
    ]  # fmt: skip


def _nothing(answer: Json, limits: Json) -> Html:
    """Hints for a query without results."""
    query = answer["query"]
    is_limited = any(limits.values())
    without = query.replace('"', "")
    return h(
        "section",
        h("h2", "No good match" if answer["hits"] else "No matches"),
        h(
            "ul",
            h("li", h("a", "Search without filters", href=link("/", q=query)))
            if is_limited
            else None,
            h("li", h("a", "Search without quotation marks", href=link("/", q=without)))
            if without != query
            else None,
            *_hints(is_formula=answer["kind"] == "equation"),
            h("li", "Find an equation by its name: ", h("code", "ARTICLE#4")),
            class_="hints",
        ),
        class_="empty",
    )  # fmt: skip
