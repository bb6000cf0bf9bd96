"""The pages, written from the answers of the API; they work without JavaScript."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from eqemb.search.snippets import Piece
from eqemb.server.service import Json
from eqemb.server.views.layout import (
    actions,
    article_link,
    card,
    formula,
    link,
    one_piece,
    page,
    prose,
    search_form,
    sheet,
    small_card,
    source_line,
)
from eqemb.server.views.markup import Html, h, join

# ------------------------------------------------------------ search


def home(stats: Json, examples: Json, limits: Json | None = None) -> bytes:
    """The home page; filters may be set before a query is entered."""
    words = [h("a", word, href=link("/", q=word)) for word in examples["words"]]
    equation = examples["equation"]
    return page(
        "",
        h("h1", "Find equations by the words around them", class_="welcome"),
        search_form(stats, limits=limits, first=True),
        h(
            "section",
            h("h2", "Example words"),
            h("p", words, class_="words"),
            aria_label="Example words",
        )
        if words
        else None,
        h(
            "section",
            h("h2", "Example equation"),
            h("ol", small_card(equation), class_="hits"),
            aria_label="Example equation",
        )
        if equation
        else None,
        stats=stats,
    )


def results(stats: Json, answer: Json, limits: Json) -> bytes:
    """The results of a query."""
    query = answer["query"]
    first = (answer["page"] - 1) * answer["size"] + 1
    ranked = list(enumerate(answer["hits"], first))
    good = [card(hit, rank, query) for rank, hit in ranked if hit["level"] != "weak"]
    weak = [card(hit, rank, query) for rank, hit in ranked if hit["level"] == "weak"]
    return page(
        query,
        search_form(stats, query, limits),
        h("h1", "Results", class_="hidden"),
        _notes(answer),
        _related_words(answer, stats),
        _query_formula(answer) if answer["kind"] == "equation" else None,
        h("ol", good, class_="hits") if good else None,
        None if answer["match"] == "good" else _nothing(answer, limits),
        h("h2", "Weak matches") if weak else None,
        h("ol", weak, class_="hits") if weak else None,
        _turn(answer, "/", {"q": query} | limits),
        stats=stats,
    )


def invalid_query(stats: Json, query: str, limits: Json, message: str) -> bytes:
    """The page for a query that is not valid."""
    return page(
        query,
        search_form(stats, query, limits),
        h("h1", "Invalid query", class_="hidden"),
        h("p", _sentence(message), class_="lead", role="alert"),
        h("p", h("a", "Search without filters", href=link("/", q=query)))
        if any(limits.values())
        else None,
        stats=stats,
    )


def _sentence(message: str) -> str:
    """A message with a capital and a full stop."""
    return f"{message[:1].upper()}{message[1:]}{'' if message.endswith('?') else '.'}"


def _query_formula(answer: Json) -> Html:
    """The formula of the query, with a link to its description."""
    found = answer["asked"]
    url = link("/equation", latex=found["latex"])
    return h(
        "section",
        formula(found),
        h("div", h("a", "Describe", href=f"{url}#describe", data_panel="describe"),
          class_="actions"),
        class_="card asked",
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
    return notes + [h("p", note, class_="note") for note in answer["notes"]]


def _related_words(answer: Json, stats: Json) -> Html | None:
    """Links from the words of a query to the words nearest to them."""
    known = [word for word in answer["words"] if word not in answer["unknown"]]
    if not known or not stats["model"]:
        return None
    links = [h("a", word, href=link("/words", word=word)) for word in known]
    return h("p", "Show words related to ", *_listed(links), class_="note")


def _listed(items: list[Html]) -> list[Html]:
    return [join(", " if at else "", item) for at, item in enumerate(items)]


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
            h("li", "Try other words, or fewer. Words are matched near equations, in any"
              " grammatical form."),
            h("li", "Put a formula that was read as words between dollar signs: ",
              h("code", r"entropy $\sum p \log p$")),
            h("li", "Find an equation by its name: ", h("code", "ARTICLE#4")),
            class_="hints",
        ),
        class_="empty",
    )  # fmt: skip


def _turn(answer: Json, path: str, values: Mapping[str, Any]) -> Html | None:
    """Links to the previous and the next page."""
    number = answer["page"]
    steps = []
    if number > 1:
        before = number - 1 if number > 2 else None
        steps.append(h("a", "← Previous", href=link(path, **values, page=before), rel="prev"))
    if answer["more"]:
        steps.append(h("a", "Next →", href=link(path, **values, page=number + 1), rel="next"))
    return h("nav", steps, class_="turn", aria_label="Pages of results") if steps else None


# ------------------------------------------------------------ one equation


def equation(stats: Json, found: Json, described: Json, similar: Json) -> bytes:
    """An equation with its description, similar equations, source and duplicates."""
    is_named = "id" in found
    name = f"{found['title'] or found['article']}, {_number(found)}" if is_named else "Equation"
    return page(
        name,
        search_form(stats),
        h("h1", name, class_="hidden"),
        h("section", formula(found, large=True),
          source_line(found) if is_named else None,
          h("p", prose(found["context"]), class_="context") if found.get("context") else None,
          _neighbours(found) if is_named else None,
          class_="one", aria_label="The equation"),
        h("section", h("h2", "Description"), description(described), id="describe"),
        h("section", h("h2", "Similar equations"),
          _similar(found, similar["hits"]), id="similar"),
        h("section", h("h2", "Source"), source(found), id="source"),
        _family(found),
        _references(found),
        stats=stats,
    )  # fmt: skip


def _similar(found: Json, hits: list[Json]) -> Html:
    """The first similar equations, with a link to all of them."""
    if not hits:
        return h("p", "No similar equations.", class_="note")
    more = h("a", "More similar equations →", href=link("/", q=_as_query(found)))
    return join(h("ol", map(small_card, hits), class_="hits small"), h("p", more, class_="turn"))


def _as_query(found: Json) -> str:
    return str(found["id"] if "id" in found else f"${found['latex']}$")


def _number(found: Json) -> str:
    return f"({found['number']})" if found["number"] else f"no. {found['ordinal']}"


def _neighbours(found: Json) -> Html:
    """Links to the previous and the next equation of the article."""
    ordinal = found["ordinal"]
    steps = [
        h("a", name, href=link("/equation", name=f"{found['article']}#{other}"), rel=rel)
        for name, other, rel in (
            ("← Previous equation", ordinal - 1, "prev"),
            ("Next equation →", ordinal + 1, "next"),
        )
        if 1 <= other <= found["of"]
    ]
    return h("nav", steps, class_="turn", aria_label="Equations of the article")


def description(described: Json) -> Html:
    """The name of an equation, and words that describe it; a sentence is shown once."""
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
    notes = [h("p", note, class_="note") for note in described["notes"]]
    return join(_phrase(described["phrase"]), notes, h("ol", rows, class_="said"))


def _phrase(phrase: Json | None) -> Html | None:
    """A line with the name of an equation, which is a link to a search for it."""
    if phrase is None:
        return None
    name = h("a", phrase["text"], href=link("/", q=phrase["text"]), class_="word")
    cite = h("cite", h("a", phrase["article"], href=article_link(phrase["article"])))
    return h("p", name, " ", cite, class_="phrase")


def source(found: Json) -> Html:
    """LaTeX and a BibTeX entry to copy."""
    made = [_copied("LaTeX", found["latex"])]
    if "reference" in found:
        made.append(_copied("BibTeX", found["reference"]))
    if found.get("url"):
        out = h("a", found["url"], href=found["url"], rel="noopener noreferrer")
        made.append(h("p", out, class_="out"))
    return join(made)


def _copied(label: str, content: str) -> Html:
    return h(
        "figure",
        h("figcaption", label, h("button", "Copy", type="button", class_="copy", hidden=True)),
        h("pre", h("code", content), tabindex="0"),
        class_="copied",
    )


def _family(found: Json) -> Html | None:
    """Other occurrences of the equation."""
    if not found.get("family"):
        return None
    names = [h("li", h("a", name, href=link("/equation", name=name))) for name in found["family"]]
    return h("section", h("h2", "Also in"), h("ul", names, class_="names"), id="family")


def _references(found: Json) -> Html | None:
    """Sentences of the article that refer to the equation."""
    if not found.get("references"):
        return None
    lines = [h("li", prose(pieces)) for pieces in found["references"]]
    return h("section", h("h2", "References to this equation"), h("ul", lines, class_="sentences"))


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
    parts = [f"{part} {value:.2f}" for part, value in answer["parts"].items()]
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


# ------------------------------------------------------------ articles


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
        _turn(answer, "/articles", {"words": words, "collection": collection}),
        stats=stats,
        here="/articles",
    )  # fmt: skip


def article(stats: Json, found: Json, chosen: int | None) -> bytes:
    """An article; the window of the chosen equation is highlighted."""
    out = found["url"]
    about = [
        found["name"],
        found["collection"],
        f"{found['equations']:,} equations" if found["equations"] != 1 else "1 equation",
    ]
    return page(
        found["title"] or found["name"],
        h("h1", found["title"] or found["name"]),
        h("p", " · ".join(part for part in about if part),
          join(" · ", h("a", "arXiv", href=out, rel="noopener noreferrer")) if out else None,
          " · ", h("a", "Search this article", href=link("/", article=found["name"])),
          class_="about"),
        h("p", f"Select an equation to highlight its window, the {found['window']} words it was"
          " learned from.", class_="note")
        if found["equations"] and stats["snippets"] == "full" else None,
        _parts(found),
        h("div", (_block(block, chosen) for block in found["blocks"]), class_="text"),
        _parts(found),
        stats=stats,
        here="/articles",
    )  # fmt: skip


def _parts(found: Json) -> Html | None:
    if found["parts"] == 1:
        return None
    steps = [
        h("a", str(number), href=link(f"/articles/{quote(found['name'])}", part=number),
          aria_current="true" if number == found["part"] else None)
        for number in range(1, found["parts"] + 1)
    ]  # fmt: skip
    return h("nav", "Part ", steps, class_="parts", aria_label="Parts of the article")


def _block(block: Json, chosen: int | None) -> Html:
    if block["kind"] == "heading":
        return h("h2", prose(block["pieces"]))
    if block["kind"] == "paragraph":
        marked = [
            piece | {"kind": "mark"} if chosen in piece.get("near", ()) else piece
            for piece in block["pieces"]
        ]
        return h("p", map(_piece_of_article, marked))
    equation = block["equation"]
    ordinal = equation["ordinal"]
    return h(
        "div",
        formula(equation),
        h("div",
          h("a", "Window", href=article_link(equation["article"], ordinal), class_="choose"),
          actions(equation), class_="tools"),
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


# ------------------------------------------------------------ errors


def error(status: int, message: str, url: str = "/") -> bytes:
    """An error page; for a missing token, a form that submits it to the requested URL."""
    titles = {
        401: "Token required", 404: "Not found", 500: "Internal error", 503: "Server busy",
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
        h("h1", title),
        h("p", _sentence(message), class_="lead"),
        form if status == 401 else h("p", h("a", "Back to search", href="/")),
    )
