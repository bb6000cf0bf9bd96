"""The pages, written from the answers of the API: they are whole without a script."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from eqemb.server.service import Json
from eqemb.server.views.layout import (
    actions,
    article_link,
    ask,
    card,
    formula,
    link,
    one_piece,
    page,
    prose,
    sheet,
    small_card,
    source_line,
)
from eqemb.server.views.markup import Html, h, join
from eqemb.server.views.snippets import Piece

# ------------------------------------------------------------ search


def home(stats: Json, examples: Json, limits: Json | None = None) -> bytes:
    """Where people begin; limits may be there before words are."""
    words = [h("a", word, href=link("/", q=word)) for word in examples["words"]]
    equation = examples["equation"]
    return page(
        "",
        h("h1", "Find equations by what is said of them", class_="welcome"),
        ask(stats, limits=limits, first=True),
        h(
            "section",
            h("h2", "Words of this library"),
            h("p", words, class_="words"),
            aria_label="Words of this library",
        )
        if words
        else None,
        h(
            "section",
            h("h2", "An equation of it"),
            h("ol", small_card(equation), class_="hits"),
            aria_label="An equation of this library",
        )
        if equation
        else None,
        stats=stats,
    )


def results(stats: Json, answer: Json, limits: Json) -> bytes:
    """What a query found."""
    query = answer["query"]
    first = (answer["page"] - 1) * answer["size"] + 1
    cards = [card(hit, first + at, query) for at, hit in enumerate(answer["hits"])]
    found = h("ol", cards, class_="hits", start=first) if cards else _nothing(answer, limits)
    return page(
        query,
        ask(stats, query, limits),
        h("h1", "Results", class_="hidden"),
        _notes(answer),
        _wander(answer, stats),
        _for_formula(answer) if answer["kind"] == "equation" else None,
        found,
        _turn(answer, "/", {"q": query} | limits),
        stats=stats,
    )


def refused(stats: Json, query: str, limits: Json, sentence: str) -> bytes:
    """Why a query cannot be asked so."""
    return page(
        query,
        ask(stats, query, limits),
        h("h1", "Not so", class_="hidden"),
        h("p", _sentence(sentence), class_="lead", role="alert"),
        h("p", h("a", "Ask without limits", href=link("/", q=query)))
        if any(limits.values())
        else None,
        stats=stats,
    )


def _sentence(said: str) -> str:
    """As people write it."""
    return f"{said[:1].upper()}{said[1:]}{'' if said.endswith('?') else '.'}"


def _for_formula(answer: Json) -> Html:
    """The formula that was asked for, and the way to its words."""
    asked = answer["asked"]
    address = link("/equation", latex=asked["latex"])
    return h(
        "section",
        formula(asked),
        h("div", h("a", "In words", href=f"{address}#describe", data_panel="describe"),
          class_="actions"),
        class_="card asked",
        data_latex=asked["latex"],
        aria_label="The equation that was asked for",
    )  # fmt: skip


def _notes(answer: Json) -> list[Html]:
    """What people should know of an answer."""
    said = []
    for word in answer["unknown"]:
        near = [h("a", other, href=link("/", q=answer["query"].replace(word, other)))
                for other in answer["near"].get(word, ())]  # fmt: skip
        other = join("; did you mean ", *_listed(near), "?") if near else ""
        said.append(h("p", h("em", word), " stands near no equation", other, class_="note"))
    return said + [h("p", note, class_="note") for note in answer["notes"]]


def _wander(answer: Json, stats: Json) -> Html | None:
    """From the words of a query to those near them."""
    known = [word for word in answer["words"] if word not in answer["unknown"]]
    if not known or not stats["model"]:
        return None
    links = [h("a", word, href=link("/words", word=word)) for word in known]
    return h("p", "Neighbours of ", *_listed(links), class_="note")


def _listed(items: list[Html]) -> list[Html]:
    return [join(", " if at else "", item) for at, item in enumerate(items)]


def _nothing(answer: Json, limits: Json) -> Html:
    """What to do where nothing was found."""
    query = answer["query"]
    is_limited = any(limits.values())
    without = query.replace('"', "")
    return h(
        "section",
        h("h2", "Nothing found"),
        h(
            "ul",
            h("li", h("a", "Ask without limits", href=link("/", q=query))) if is_limited else None,
            h("li", h("a", "Ask without quotation marks", href=link("/", q=without)))
            if without != query
            else None,
            h("li", "Words are looked for near equations, in any of their forms: try others, or"
              " fewer."),
            h("li", "LaTeX stands between dollars: ", h("code", r"entropy $\sum p \log p$")),
            h("li", "A name finds an equation: ", h("code", "ARTICLE#4")),
            class_="hints",
        ),
        class_="empty",
    )  # fmt: skip


def _turn(answer: Json, path: str, values: Mapping[str, Any]) -> Html | None:
    """The way to the pages before and after."""
    number = answer["page"]
    steps = []
    if number > 1:
        before = number - 1 if number > 2 else None
        steps.append(h("a", "← Before", href=link(path, **values, page=before), rel="prev"))
    if answer["more"]:
        steps.append(h("a", "More →", href=link(path, **values, page=number + 1), rel="next"))
    return h("nav", steps, class_="turn", aria_label="Pages of the answer") if steps else None


# ------------------------------------------------------------ one equation


def equation(stats: Json, asked: Json, described: Json, similar: Json) -> bytes:
    """An equation with its words, its like, its source and its family."""
    is_named = "id" in asked
    name = f"{asked['title'] or asked['article']}, {_number(asked)}" if is_named else "An equation"
    return page(
        name,
        ask(stats),
        h("h1", name, class_="hidden"),
        h("section", formula(asked, large=True),
          source_line(asked) if is_named else None,
          h("p", prose(asked["context"]), class_="context") if asked.get("context") else None,
          _neighbours(asked) if is_named else None,
          class_="one", aria_label="The equation"),
        h("section", h("h2", "In words"), said(described), id="describe"),
        h("section", h("h2", "Similar"),
          h("ol", map(small_card, similar["hits"]), class_="hits small"),
          h("p", h("a", "More like it →", href=link("/", q=_as_query(asked))), class_="turn"),
          id="similar"),
        h("section", h("h2", "Source"), source(asked), id="source"),
        _family(asked),
        _references(asked),
        stats=stats,
    )  # fmt: skip


def _as_query(asked: Json) -> str:
    return str(asked["id"] if "id" in asked else f"${asked['latex']}$")


def _number(asked: Json) -> str:
    return f"({asked['number']})" if asked["number"] else f"no. {asked['ordinal']}"


def _neighbours(asked: Json) -> Html:
    """The equations before and after in the article."""
    ordinal = asked["ordinal"]
    steps = [
        h("a", name, href=link("/equation", name=f"{asked['article']}#{other}"), rel=rel)
        for name, other, rel in (
            ("← the one before", ordinal - 1, "prev"),
            ("the next →", ordinal + 1, "next"),
        )
        if 1 <= other <= asked["of"]
    ]
    return h("nav", steps, class_="turn", aria_label="Equations of the article")


def said(described: Json) -> Html:
    """Words that say what an equation is about, each with a sentence."""
    if not described["words"]:
        return h("p", "No equation here is like this one: nothing is said of it.", class_="note")
    most = described["words"][0]["score"] or 1
    rows = [
        h("li",
          h("a", each["word"], href=link("/", q=each["word"]), class_="word"),
          h("meter", value=f"{each['score'] / most:.3f}", min="0", max="1", aria_hidden="true"),
          h("p", prose(each["sentence"]),
            h("cite", h("a", each["article"], href=article_link(each["article"])))
            if each["article"] else None)
          if each["sentence"] else None)
        for each in described["words"]
    ]  # fmt: skip
    notes = [h("p", note, class_="note") for note in described["notes"]]
    return join(notes, h("ol", rows, class_="said"))


def source(asked: Json) -> Html:
    """LaTeX to copy, and a reference."""
    made = [_copied("LaTeX", asked["latex"])]
    if "reference" in asked:
        made.append(_copied("Reference", asked["reference"]))
    if asked.get("url"):
        out = h("a", asked["url"], href=asked["url"], rel="noopener noreferrer")
        made.append(h("p", out, class_="out"))
    return join(made)


def _copied(label: str, content: str) -> Html:
    return h(
        "figure",
        h("figcaption", label, h("button", "Copy", type="button", class_="copy", hidden=True)),
        h("pre", h("code", content), tabindex="0"),
        class_="copied",
    )


def _family(asked: Json) -> Html | None:
    """Where else it stands."""
    if not asked.get("family"):
        return None
    names = [h("li", h("a", name, href=link("/equation", name=name))) for name in asked["family"]]
    return h("section", h("h2", "Also at"), h("ul", names, class_="names"), id="family")


def _references(asked: Json) -> Html | None:
    """What is said of it elsewhere in its article."""
    if not asked.get("references"):
        return None
    lines = [h("li", prose(pieces)) for pieces in asked["references"]]
    return h("section", h("h2", "Referred to"), h("ul", lines, class_="sentences"))


def why(stats: Json, answer: Json) -> bytes:
    """Why an equation answers."""
    query = answer["query"]["query"]
    return page(
        f"Why: {query}",
        ask(stats, query),
        h("h1", "Why it answers"),
        h("section", reasons(answer), class_="why", aria_label="Reasons"),
        stats=stats,
    )


def reasons(answer: Json) -> Html:
    """The symbols and the words that two have in common."""
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
        ask(stats, word),
        h("h1", "Words near ", h("em", word)),
        h("ol", rows, class_="said short"),
        h("p", h("a", "Equations for it →", href=link("/", q=word)), class_="turn"),
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
          h("label", "Words of the title", for_="words", class_="hidden"),
          h("div", h("input", id="words", name="words", type="search", value=words,
                     placeholder="words of the title"),
            h("button", "Find", type="submit"), class_="box"),
          h("input", type="hidden", name="collection", value=collection) if collection else None,
          action="/articles", method="get", class_="ask"),
        h("p", h("a", "all", href="/articles",
                 aria_current=None if collection else "true"), groups, class_="words")
        if len(groups) > 1 else None,
        h("ol", rows, class_="titles", start=(answer["page"] - 1) * answer["size"] + 1)
        if rows else h("p", "No article has these words in its title.", class_="note"),
        _turn(answer, "/articles", {"words": words, "collection": collection}),
        stats=stats,
        here="/articles",
    )  # fmt: skip


def article(stats: Json, found: Json, chosen: int | None) -> bytes:
    """An article; the words of one equation's window are marked."""
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
          " · ", h("a", "search in it", href=link("/", article=found["name"])),
          class_="about"),
        h("p", f"Choose an equation: its window of {found['window']} words is marked.",
          class_="note") if found["equations"] and stats["snippets"] == "full" else None,
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
          h("a", "Words", href=article_link(equation["article"], ordinal), class_="choose"),
          actions(equation), class_="tools"),
        class_="display chosen" if ordinal == chosen else "display",
        id=f"e{ordinal}",
        data_id=equation["id"],
        data_ordinal=ordinal,
    )  # fmt: skip


def _piece_of_article(piece: Piece) -> Html:
    """A word keeps its equations when it is marked."""
    if "near" not in piece:
        return one_piece(piece)
    near = " ".join(map(str, piece["near"]))
    is_marked = piece["kind"] == "mark"
    return h("span", piece["text"], class_="w on" if is_marked else "w", data_near=near)


# ------------------------------------------------------------ failures


def failure(status: int, sentence: str, address: str = "/") -> bytes:
    """What went wrong, and where to go from here; a token is sent to where one wanted to go."""
    titles = {401: "A token, please", 404: "Not here", 503: "Busy", 500: "Something broke"}
    form = h(
        "form",
        h("div", h("label", "Token", for_="token", class_="hidden"),
          h("input", id="token", name="token", type="password", placeholder="token"),
          h("button", "Enter", type="submit"), class_="box"),
        action=address, method="post", class_="ask",
    )  # fmt: skip
    return page(
        titles.get(status, "Not so"),
        h("h1", titles.get(status, "Not so")),
        h("p", _sentence(sentence), class_="lead"),
        form if status == 401 else h("p", h("a", "Back to the search", href="/")),
    )
