"""An article as it is read on the page: headings, paragraphs and equations, in order.

Each equation has its window, the words around it that the model learned it from; in the text these
words know the equations they belong to. A long article comes in parts.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from eqemb.article import Article, Equation, Token, tokenize
from eqemb.formula.running_text import plain_text
from eqemb.server.views.snippets import Piece, around, inline, merged, pieces

#: What one part of an article holds at most, unless one paragraph holds more.
EQUATIONS, CHARACTERS = 40, 40_000
_LONGEST_TITLE = 500

Block = dict[str, Any]


class Paragraph(NamedTuple):
    """A paragraph as it stands in the text; its mathematics is not set yet."""

    source: str
    """As it was written, to tell headings."""
    parts: list[tuple[str, Any]]
    """Text, words with the equations they are near, mathematics, equations."""


def paragraphs(article: Article, windows: dict[int, list[int]]) -> Iterator[Paragraph]:
    """The paragraphs of an article; `windows` has, for words by number, the equations near."""
    equations, word = iter(article.equations), 0
    for source in article.text.split("\n\n"):
        parts: list[tuple[str, Any]] = []
        last = 0
        for token in tokenize(source):
            parts.append(("text", source[last : token.start].replace("\n", " ")))
            last = token.end
            if token.kind == "equation":
                parts.append(("equation", next(equations)))
            elif token.kind == "word":
                parts.append(("word", (token.text, windows.get(word, []))))
                word += 1
            else:
                parts.append(("math", token.text))
        parts.append(("text", source[last:].replace("\n", " ")))
        yield Paragraph(" ".join(source.split()), parts)


def _tokens(article: Article) -> Iterator[Token]:
    """Words, mathematics and equations, as `paragraphs` takes them."""
    for source in article.text.split("\n\n"):
        yield from tokenize(source)


class Windows(NamedTuple):
    """The words around the equations of an article."""

    near: dict[int, list[int]]
    """For words by their number, the ordinals of the equations near."""
    words: dict[int, list[str]]
    """For each equation its words, in order."""


def windows(article: Article, size: int, is_known: Callable[[str], bool]) -> Windows:
    """The nearest known words of each equation, half of them before and half after it."""
    known: list[tuple[int, str]] = []
    places: list[int] = []
    count = 0
    for token in _tokens(article):
        if token.kind == "equation":
            places.append(len(known))
        elif token.kind == "word":
            if is_known(token.text.lower()):
                known.append((count, token.text.lower()))
            count += 1
    near: dict[int, list[int]] = {}
    words: dict[int, list[str]] = {}
    half = size // 2
    for ordinal, place in enumerate(places, 1):
        inside = known[max(0, place - half) : place + half]
        words[ordinal] = [word for _, word in inside]
        for number, _ in inside:
            near.setdefault(number, []).append(ordinal)
    return Windows(near, words)


def parts_of(found: list[Paragraph]) -> list[list[Paragraph]]:
    """Paragraphs in parts of a bearable size."""
    made: list[list[Paragraph]] = [[]]
    equations = size = 0
    for paragraph in found:
        own = sum(kind == "equation" for kind, _ in paragraph.parts)
        if made[-1] and (equations + own > EQUATIONS or size + len(paragraph.source) > CHARACTERS):
            made.append([])
            equations = size = 0
        made[-1].append(paragraph)
        equations, size = equations + own, size + len(paragraph.source)
    return made


def part_with(parts: list[list[Paragraph]], ordinal: int) -> int:
    """The number of the part, from 1, that an equation stands in."""
    for number, part in enumerate(parts, 1):
        for paragraph in part:
            if any(kind == "equation" and e.ordinal == ordinal for kind, e in paragraph.parts):
                return number
    return 1


def blocks(
    part: list[Paragraph],
    article: Article,
    equation: Callable[[Equation], Block],
    reach: int | None,
) -> Iterator[Block]:
    """A part as headings, paragraphs and equations.

    `reach` is how many words may be shown on each side of an equation; None for all text.
    """
    titles = {" ".join(title.split()) for title in article.sections}
    for paragraph in part:
        if _is_title(paragraph.source, article.title):
            continue
        if paragraph.source in titles:
            yield {"kind": "heading", "pieces": pieces(paragraph.source)}
        elif reach is None:
            yield from _whole(paragraph, equation)
        else:
            for kind, value in paragraph.parts:
                if kind == "equation":
                    if said := around(value.context, reach):
                        yield {"kind": "paragraph", "pieces": pieces(said)}
                    yield equation(value)


def _is_title(source: str, title: str) -> bool:
    """Whether a paragraph is the article's title, which is plain text and stands above it."""
    return source == title or (len(source) <= _LONGEST_TITLE and plain_text(source) == title)


def _whole(paragraph: Paragraph, equation: Callable[[Equation], Block]) -> Iterator[Block]:
    waiting: list[Piece] = []
    is_after = False
    for kind, value in paragraph.parts:
        if kind == "equation":
            yield from _text(waiting, is_after=is_after)
            yield equation(value)
            waiting, is_after = [], True
        elif kind == "word":
            word, near = value
            waiting.append(
                {"kind": "word", "text": word, "near": near}
                if near
                else {"kind": "text", "text": word}
            )
        elif kind == "math":
            waiting.append(inline(value))
        else:
            waiting.append({"kind": "text", "text": value})
    yield from _text(waiting, is_after=is_after)


def _text(waiting: list[Piece], *, is_after: bool) -> Iterator[Block]:
    """A paragraph, or the rest of one after an equation, which took its closing mark along."""
    made = list(merged(waiting))
    if is_after and made and made[0]["kind"] == "text":
        made[0] = made[0] | {"text": made[0]["text"].lstrip(" .,;:")}
    if any(piece["text"].strip() for piece in made):
        yield {"kind": "paragraph", "pieces": [piece for piece in made if piece["text"]]}
