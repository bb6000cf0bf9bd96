"""Text of papers as pieces that can be shown: words, marked words, inline mathematics.

A piece is a dictionary: `kind` is text, mark, math or equation (the place of the equation itself),
`text` what it says; mathematics has its `mathml`. How much text is shown of a paper is the
library's owner's to say: `REACH`.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from eqemb.article import DOLLAR, EQUATION_MARK, tokenize
from eqemb.formula import layout
from eqemb.index.stemming import stem
from eqemb.server.cache import Kept

#: Words shown on each side of an equation.
REACH = {"full": 60, "short": 12, "none": 0}
#: What of a formula within a sentence is set; a longer one stands as its source.
_LONGEST = 1_000

Piece = dict[str, Any]

#: Styles of our MathML as classes: a page under a strict policy takes no style attribute.
_CLASSES = {
    "text-align:left": "left",
    "text-align:right;text-align:-moz-right;text-align:-webkit-right": "right",
}
_STYLE = re.compile(r' style="([^"]*)"')
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")


def classes_for_styles(mathml: str) -> str:
    """MathML with classes in the place of styles and colours; `web/style.css` knows them."""

    def named(found: re.Match[str]) -> str:
        align, _, rest = found[1].partition(";padding:")
        known = _CLASSES.get(align)
        if known is None:
            return ""  # the bars, which have a class already
        line = "" if not rest else " line pair" if rest.endswith("2em") else " line"
        return f' class="{known}{line}"'

    # in text a quotation mark is escaped, so that no text looks like an attribute
    return _STYLE.sub(named, mathml.replace(' mathbackground="#ffe08a"', ""))


#: What papers write, set; a short formula may be MathML of a hundred times its length.
_set: Kept[str] = Kept(48_000_000)


def mathml(latex: str, *, display: bool = False) -> str:
    """LaTeX of a paper as MathML that a page may have."""
    return _kept(f"{display:d} {latex}", lambda: shown(layout(latex).to_mathml(display=display)))


def in_unicode(latex: str) -> str:
    """LaTeX of a paper as one line of text."""
    return _kept(f"text {latex}", lambda: layout(latex).to_text())


def _kept(name: str, make: Callable[[], str]) -> str:
    made = _set.get(name)
    if made is None:
        made = make()
        _set.put(name, made)
    return made


def shown(made: str) -> str:
    """MathML as a page may have it."""
    return _NOT_IN_XML.sub(" ", classes_for_styles(made))


def inline(source: str) -> Piece:
    """Inline mathematics, between its dollars."""
    latex = source.strip("$")
    if len(latex) > _LONGEST:
        return {"kind": "text", "text": source}
    return {"kind": "math", "text": latex, "mathml": mathml(latex)}


def pieces(text: str, is_marked: Callable[[str], bool] = lambda _word: False) -> list[Piece]:
    """A text as pieces; in it `[equation]` is the place of the equation."""
    text = text.replace("[equation]", EQUATION_MARK)
    return list(merged(_pieces(text, is_marked)))


def _pieces(text: str, is_marked: Callable[[str], bool]) -> Iterator[Piece]:
    last = 0
    for token in tokenize(text):
        yield {"kind": "text", "text": text[last : token.start]}
        last = token.end
        if token.kind == "equation":
            yield {"kind": "equation", "text": "[equation]"}
        elif token.kind == "word":
            yield {"kind": "mark" if is_marked(token.text) else "text", "text": token.text}
        else:
            yield inline(token.text)
    yield {"kind": "text", "text": text[last:]}


def merged(made: Iterable[Piece]) -> Iterator[Piece]:
    """Neighbours that are plain text as one; nothing that is empty."""
    waiting = ""
    for piece in made:
        if piece["kind"] == "text":
            waiting += piece["text"].replace(DOLLAR, "$")
            continue
        if waiting:
            yield {"kind": "text", "text": waiting}
            waiting = ""
        yield piece
    if waiting:
        yield {"kind": "text", "text": waiting}


def marker(words: Iterable[str]) -> Callable[[str], bool]:
    """Whether a word is one of these in any form."""
    wanted = {stem(word.lower()) for word in words}
    return lambda word: stem(word.lower()) in wanted


def around(context: str, reach: int) -> str:
    """What stands within so many words of the equation; nothing where none may be shown."""
    if not reach:
        return ""
    before, mark, after = context.partition("[equation]")
    if not mark:
        return _first(context, 2 * reach)
    return _last(before, reach) + mark + _first(after, reach)


def near(sentence: str, word: str, reach: int) -> str:
    """What stands within so many words of a word."""
    tokens = list(tokenize(sentence))
    is_it = marker([word])
    at = next(
        (i for i, token in enumerate(tokens) if token.kind == "word" and is_it(token.text)), 0
    )
    start = tokens[at - reach].start if at > reach else 0
    stop = tokens[at + reach].end if at + reach < len(tokens) else len(sentence)
    return (
        ("… " if start else "")
        + sentence[start:stop]
        + (" …" if sentence[stop:].strip(" .") else "")
    )


def _first(text: str, count: int) -> str:
    tokens = list(tokenize(text))
    return text if len(tokens) <= count else text[: tokens[count - 1].end] + " …"


def _last(text: str, count: int) -> str:
    tokens = list(tokenize(text))
    return text if len(tokens) <= count else "… " + text[tokens[-count].start :]
