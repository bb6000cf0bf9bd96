"""Text of papers as pieces that can be displayed: text, highlighted words, inline mathematics.

A piece is a dictionary. `kind` is "text", "mark" (a highlighted word), "math" or "equation" (where
the equation itself stands); `text` is its content, and mathematics has its `mathml`. The owner of a
library decides how much text of a paper is shown: see `WORDS_SHOWN`.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from eqemb.article import EQUATION_MARK, TOKEN
from eqemb.formula import layout
from eqemb.formula.html import classes_for_styles, without_control_characters
from eqemb.index.stemming import stem
from eqemb.server.cache import LRUCache

#: For each setting of `--snippets`, how many words are shown on each side of an equation.
WORDS_SHOWN = {"full": 60, "short": 12, "none": 0}
#: An inline formula with more characters is shown as its source.
_LONGEST_INLINE = 1_000

Piece = dict[str, Any]

#: MathML and plain text of formulas in papers.
_rendered: LRUCache[str] = LRUCache(48_000_000)


def mathml(latex: str, *, display: bool = False) -> str:
    """LaTeX of a paper as MathML for a page; cached."""
    return _cached(
        f"{display:d} {latex}", lambda: page_mathml(layout(latex).to_mathml(display=display))
    )


def plain_text(latex: str) -> str:
    """LaTeX of a paper as one line of Unicode; cached."""
    return _cached(f"text {latex}", lambda: layout(latex).to_text())


def _cached(key: str, render: Callable[[], str]) -> str:
    found = _rendered.get(key)
    if found is None:
        found = render()
        _rendered.put(key, found)
    return found


def page_mathml(mathml: str) -> str:
    """MathML that our pages accept: no inline styles, no control characters."""
    return without_control_characters(classes_for_styles(mathml))


# ------------------------------------------------------------ pieces


def split_text(text: str) -> Iterator[tuple[str, str]]:
    """The text in order as pairs of kind and source; kinds are text, word, math and equation."""
    end = 0
    for token in TOKEN.finditer(text):
        if token.start() > end:
            yield "text", text[end : token.start()]
        yield "equation" if token[1] else "word" if token[2] else "math", token[0]
        end = token.end()
    if end < len(text):
        yield "text", text[end:]


def pieces(text: str, is_marked: Callable[[str], bool] = lambda _word: False) -> list[Piece]:
    """A text as pieces; `[equation]` stands for the equation, `is_marked` selects words."""
    return list(merge_text(_pieces(text.replace("[equation]", EQUATION_MARK), is_marked)))


def _pieces(text: str, is_marked: Callable[[str], bool]) -> Iterator[Piece]:
    for kind, source in split_text(text):
        if kind == "equation":
            yield {"kind": "equation", "text": "[equation]"}
        elif kind == "math":
            yield inline_math(source)
        else:
            is_mark = kind == "word" and is_marked(source)
            yield {"kind": "mark" if is_mark else "text", "text": source}


def inline_math(source: str) -> Piece:
    """Inline mathematics, given with its dollar signs, as a piece."""
    latex = source.strip("$")
    if len(latex) > _LONGEST_INLINE:
        return {"kind": "text", "text": source}
    return {"kind": "math", "text": latex, "mathml": mathml(latex)}


def merge_text(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces with adjacent text joined and empty text dropped."""
    pending = ""
    for piece in pieces:
        if piece["kind"] == "text":
            pending += piece["text"]
            continue
        if pending:
            yield {"kind": "text", "text": pending}
            pending = ""
        yield piece
    if pending:
        yield {"kind": "text", "text": pending}


def matcher(words: Iterable[str]) -> Callable[[str], bool]:
    """A predicate: whether a word has the stem of one of these words."""
    stems = {stem(word.lower()) for word in words}
    return lambda word: stem(word.lower()) in stems


# ------------------------------------------------------------ shortening


def shorten_context(context: str, reach: int) -> str:
    """At most `reach` words on each side of the equation in a context; nothing if `reach` is 0."""
    if not reach:
        return ""
    before, mark, after = context.partition("[equation]")
    if not mark:
        return _first_words(context, 2 * reach)
    return _last_words(before, reach) + mark + _first_words(after, reach)


def shorten_sentence(sentence: str, word: str, reach: int) -> str:
    """At most `reach` words on each side of a word in a sentence."""
    tokens = list(TOKEN.finditer(sentence))
    is_word = matcher([word])
    at = next((i for i, token in enumerate(tokens) if token[2] and is_word(token[2])), 0)
    start = tokens[at - reach].start() if at > reach else 0
    stop = tokens[at + reach].end() if at + reach < len(tokens) else len(sentence)
    return (
        ("… " if start else "")
        + sentence[start:stop]
        + (" …" if sentence[stop:].strip(" .") else "")
    )


def _first_words(text: str, count: int) -> str:
    tokens = list(TOKEN.finditer(text))
    return text if len(tokens) <= count else text[: tokens[count - 1].end()] + " …"


def _last_words(text: str, count: int) -> str:
    tokens = list(TOKEN.finditer(text))
    return text if len(tokens) <= count else "… " + text[tokens[-count].start() :]
