"""Text of papers as pieces that a program can show: plain text, marked words, formulas.

A piece is a dictionary. Its `kind` is "text", "mark" (a word of the query), "math" (inline
mathematics, with its `mathml`) or "equation" (the place of the equation itself).
"""

from collections.abc import Iterable, Iterator
from typing import Any

from eqemb.article import DOLLAR, EQUATION_MARK, tokenize
from eqemb.formula import layout
from eqemb.index.renderings import MAX_INLINE
from eqemb.index.stemming import stem

Piece = dict[str, Any]


class Renderer:
    """Renders LaTeX for JSON; a server may override the methods to cache or to restyle."""

    def mathml(self, latex: str, *, display: bool = False) -> str:
        """Return a formula as MathML."""
        return layout(latex).to_mathml(display=display)

    def text(self, latex: str) -> str:
        """Return a formula as one line of Unicode."""
        return layout(latex).to_text()


DEFAULT_RENDERER = Renderer()


class WordMatcher:
    """Whether a word has the stem of one of the given words."""

    def __init__(self, words: Iterable[str] = ()) -> None:
        self._wanted = {stem(word.lower()) for word in words}
        #: What such words start with, since a stem has the first letter of its words; None for any.
        self.initials: frozenset[str] | None = None
        if all(root[:1].isascii() for root in self._wanted):
            self.initials = frozenset("".join(map(_either_case, self._wanted)))

    def __call__(self, word: str) -> bool:
        """Whether a word is one of them."""
        return stem(word.lower()) in self._wanted


def _either_case(root: str) -> str:
    """Return the letters that are the first one of a stem in lower case."""
    first = root[:1]
    return first + first.upper() + {"k": "\N{KELVIN SIGN}", "i": "İ"}.get(first, "")


_NO_WORDS = WordMatcher()


def pieces(
    text: str,
    is_marked: WordMatcher = _NO_WORDS,
    renderer: Renderer = DEFAULT_RENDERER,
) -> list[Piece]:
    """Split a text into pieces; `[equation]` in it is the place of the equation."""
    text = text.replace("[equation]", EQUATION_MARK)
    return list(merge_text(_split(text, is_marked, renderer)))


def _split(text: str, is_marked: WordMatcher, renderer: Renderer) -> Iterator[Piece]:
    last = 0
    for kind, source, start, end in tokenize(text, is_marked.initials):
        if kind == "word" and not is_marked(source):
            continue  # stays part of the text
        yield {"kind": "text", "text": text[last:start]}
        last = end
        if kind == "equation":
            yield {"kind": "equation", "text": "[equation]"}
        elif kind == "word":
            yield {"kind": "mark", "text": source}
        else:
            yield inline_math(source, renderer)
    yield {"kind": "text", "text": text[last:]}


def inline_math(source: str, renderer: Renderer = DEFAULT_RENDERER) -> Piece:
    """Return the piece of inline mathematics, given with its dollars."""
    latex = source.strip("$")
    if len(latex) > MAX_INLINE:
        return {"kind": "text", "text": source}
    return {"kind": "math", "text": latex, "mathml": renderer.mathml(latex)}


def merge_text(parts: Iterable[Piece]) -> Iterator[Piece]:
    """Join neighbouring pieces of plain text, and drop empty ones."""
    waiting = ""
    for piece in parts:
        if piece["kind"] == "text":
            waiting += piece["text"].replace(DOLLAR, "$")
            continue
        if waiting:
            yield {"kind": "text", "text": waiting}
            waiting = ""
        yield piece
    if waiting:
        yield {"kind": "text", "text": waiting}


def around_equation(context: str, reach: int | None) -> str:
    """Cut a context to `reach` words on each side of `[equation]`; None keeps all of it."""
    if reach is None:
        return context
    if not reach:
        return ""
    before, mark, after = context.partition("[equation]")
    if not mark:
        return _first(context, 2 * reach)
    return _last(before, reach) + mark + _first(after, reach)


def around_word(sentence: str, word: str, reach: int | None) -> str:
    """Cut a sentence to `reach` words on each side of a word; None keeps all of it."""
    if reach is None:
        return sentence
    tokens = list(tokenize(sentence))
    is_it = WordMatcher([word])
    places = (at for at, token in enumerate(tokens) if token.kind == "word" and is_it(token.text))
    at = next(places, 0)
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
