"""What symbols mean, on pages: the list under an equation, glossaries and notation.

A list has an entry for each symbol; `symbols.js` shows the entry when its symbol in the formula is
pointed at, focused or tapped. Elements of a formula and entries that belong together have the same
number, in `data-symbol` and `data-entry`.
"""

from typing import Any

from eqemb.server.service import Json
from eqemb.server.views.hits import prose
from eqemb.server.views.layout import article_link, link, page, sentence
from eqemb.server.views.markup import Html, h, join
from eqemb.symbols import SURE_FROM

#: What a page says about where a definition holds.
_SCOPES = {"sentence": "in one sentence", "section": "", "article": "in the whole article"}


def where_list(found: Json, *, title: str = "Symbols") -> Html | None:
    """The symbols of an equation and their meanings; None if the article defines none."""
    if not found["symbols"]:
        return None
    return h(
        "section",
        h("dl", map(_entry, found["symbols"])),
        _undefined(found["undefined"]),
        h("p", h("a", "All symbols of the article", href=glossary_link(found["article"])),
          class_="more"),
        class_="where-list",
        aria_label=title,
    )  # fmt: skip


def _entry(symbol: Json) -> Html:
    others = [join("; " if at else "", prose(other)) for at, other in enumerate(symbol["others"])]
    return h(
        "div",
        h("dt", _symbol_link(symbol["latex"], symbol["mathml"], symbol["text"])),
        h("dd",
          None if symbol["sure"] else h("span", "perhaps ", class_="doubt"),
          prose(symbol["definition"]),
          h("span", symbol["sign"], Html(symbol["type"]), class_="type")
          if symbol["type"] else None,
          h("span", " (elsewhere in this article: ", others, ")", class_="others")
          if others else None,
          h("span", prose(symbol["sentence"]), class_="evidence", hidden=True)
          if symbol["sentence"] else None),
        data_entry=symbol["number"],
    )  # fmt: skip


def _symbol_link(latex: str, mathml: str, text: str) -> Html:
    """A symbol that leads to what articles mean by it."""
    said = f"{text}: what articles mean by it"
    return h("a", Html(mathml), href=link("/notation", q=f"${latex}$"), title=said)


def _undefined(symbols: list[str]) -> Html | None:
    if not symbols:
        return None
    listed = [join(", " if at else "", Html(symbol)) for at, symbol in enumerate(symbols)]
    return h("p", "No definition found: ", listed, class_="note")


def fragment(found: Json) -> bytes:
    """The marked formulas of an equation or of a paragraph and their list, for the script."""
    formulas = h("div", map(Html, found["formulas"]), class_="marked", hidden=True)
    body = h("body", h("h1", "Symbols"), formulas, where_list(found))
    document = f"<!doctype html>\n{h('html', h('title', 'Symbols'), body, lang='en')}\n"
    return document.encode("utf-8", "backslashreplace")


def glossary_link(article: str) -> str:
    """The URL of the glossary of an article."""
    return link("/glossary", article=article)


# ------------------------------------------------------------ pages


def glossary(stats: Json, found: Json) -> bytes:
    """All symbols that an article defines."""
    name = found["title"] or found["article"]
    count = len(found["entries"])
    more = f" The first {count:,} of {found['total']:,}." if found["total"] > count else ""
    return page(
        f"Symbols: {name}",
        h("h1", "Symbols"),
        h("p", h("a", name, href=article_link(found["article"])), class_="about"),
        h("p", f"What the article says that its symbols mean.{more}", class_="note")
        if count
        else h("p", "No definition of a symbol was found in this article.", class_="note"),
        h("dl", map(_glossary_entry, found["entries"]), class_="glossary") if count else None,
        stats=stats,
        here="/articles",
    )


def _glossary_entry(entry: Json) -> Html:
    symbol = _symbol_link(entry["symbol"], entry["mathml"], entry["text"])
    return h("div", h("dt", symbol), [_glossary_meaning(one) for one in entry["meanings"]])


def _glossary_meaning(meaning: Json) -> Html:
    place: Any = meaning["section"]
    if meaning["equation"]:
        article, _, ordinal = meaning["equation"].rpartition("#")
        href = article_link(article, int(ordinal))
        place = h("a", place or "near this equation", href=href)
    scope = _SCOPES[meaning["scope"]]
    told = h("p", prose(meaning["sentence_pieces"]), class_="evidence")
    return h(
        "dd",
        None if meaning["confidence"] >= SURE_FROM else h("span", "perhaps ", class_="doubt"),
        prose(meaning["pieces"]),
        h("span", place, f"{', ' if place else ''}{scope}" if scope else "", class_="place")
        if place or scope
        else None,
        told if meaning["sentence_pieces"] else None,
    )


def notation(stats: Json, query: str, found: Json | None, message: str = "") -> bytes:
    """How articles denote a thing, or what they mean by a symbol; `message` says what is wrong."""
    return page(
        f"Notation: {query}" if query else "Notation",
        h("h1", "Notation"),
        h("form",
          h("label", "Words or one symbol", for_="asked", class_="hidden"),
          h("div", h("input", id="asked", name="q", type="search", value=query, maxlength="2000",
                     placeholder=r"learning rate, or \lambda", autocapitalize="off",
                     autocomplete="off", spellcheck="false"),
            h("button", "Find", type="submit"), class_="box"),
          action="/notation", method="get", class_="ask"),
        h("p", sentence(message), class_="lead", role="alert") if message else None,
        h("p", "Enter words to see which symbols articles use for them, or a symbol to see what"
          " articles mean by it.", class_="note")
        if found is None and not message else None,
        None if found is None else _notation_lines(found),
        stats=stats,
        here="/notation",
    )  # fmt: skip


def _notation_lines(found: Json) -> Html:
    if not found["lines"]:
        what = "No article defines this symbol." if found["is_symbol"] else "No definition has it."
        return h("p", what, " Try another symbol, or other words.", class_="lead")
    notes = [h("p", sentence(note), class_="note") for note in found["notes"]]
    count = found["articles"]
    of = "One article defines it" if count == 1 else f"{count:,} articles define it"
    rows = [_notation_line(line, is_symbol=found["is_symbol"]) for line in found["lines"]]
    return join(
        h("p", f"{of}; shares are of these articles." if count > 1 else f"{of}.", class_="note"),
        *notes,
        h("ol", rows, class_="notation"),
    )


def _notation_line(line: Json, *, is_symbol: bool) -> Html:
    if is_symbol:
        words = "".join(piece["text"] for piece in line["meaning_pieces"] if "mathml" not in piece)
        what = h("a", prose(line["meaning_pieces"]), href=link("/notation", q=words.strip()))
    else:
        what = _symbol_link(line["symbol"], line["mathml"], line["text"])
    count = f"{line['articles']:,} article{'' if line['articles'] == 1 else 's'}"
    return h(
        "li",
        h("div", h("span", what, class_="what"),
          h("meter", value=f"{line['share']:.3f}", min="0", max="1", aria_hidden="true"),
          h("span", f"{line['share']:.0%}", class_="n"),
          h("span", count, class_="section"), class_="line"),
        h("ul", map(_example, line["examples"]), class_="uses"),
    )  # fmt: skip


def _example(example: Json) -> Html:
    if example["equation"]:
        href = link("/equation", name=example["equation"])
    else:
        href = article_link(example["article"])
    shown = example["sentence_pieces"] or example["pieces"]
    name = example["equation"] or example["article"]
    return h("li", prose(shown), h("cite", h("a", name, href=href)))
