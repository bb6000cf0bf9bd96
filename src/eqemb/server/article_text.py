"""An article for display: headings, paragraphs and equations in reading order.

Each equation has a window: the words around it from which the model learned it. Each word of the
text lists the equations whose windows contain it. A long article is split into parts.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any, NamedTuple

from eqemb.article import DOLLAR, EQUATION_MARK, Article, Equation, read_tokens, tokenize
from eqemb.formula.running_text import plain_text
from eqemb.search.snippets import (
    Piece,
    Renderer,
    around_equation,
    inline_math,
    merge_text,
    pieces,
)

#: Most equations and characters in one part of an article; a single paragraph may exceed them.
_PART_EQUATIONS, _PART_CHARACTERS = 40, 40_000

Json = dict[str, Any]

_MAX_TITLE = 500  # characters; a longer paragraph is not compared with the title


class TextBlock(NamedTuple):
    """A paragraph of an article's text; its mathematics is not rendered yet."""

    number: int
    """Position among the paragraphs of the text, from 0."""
    source: str
    """As written, to recognise headings."""
    parts: list[tuple[str, Any]]
    """Pairs of kind and value: text, a word with equations near it, math, an equation."""


def paragraphs(article: Article, windows: dict[int, list[int]]) -> Iterator[TextBlock]:
    """The paragraphs of an article; `windows` maps word numbers to the equations near them."""
    equations, word = iter(article.equations), 0
    for number, source in enumerate(article.text.split("\n\n")):
        parts: list[tuple[str, Any]] = []
        end = 0
        for kind, text, start, stop in tokenize(source):
            if kind == "word":
                word += 1
                if word - 1 not in windows:
                    continue  # stays part of the text
            parts.append(("text", source[end:start].replace("\n", " ")))
            end = stop
            if kind == "equation":
                parts.append((kind, next(equations)))
            elif kind == "word":
                parts.append((kind, (text, windows[word - 1])))
            else:
                parts.append((kind, text))
        parts.append(("text", source[end:].replace("\n", " ")))
        yield TextBlock(number, " ".join(source.split()), parts)


class Windows(NamedTuple):
    """The words around the equations of an article."""

    near: dict[int, list[int]]
    """Maps the number of a word to the ordinals of the equations near it."""
    words: dict[int, list[str]]
    """Maps the ordinal of an equation to its words, in order."""


def windows(text: str, size: int, is_known: Callable[[str], bool]) -> Windows:
    """For each equation of a text the nearest known words, half of them before it."""
    known: list[tuple[int, str]] = []
    positions: list[int] = []
    count = 0
    for source in text.split("\n\n"):
        found, places = read_tokens(source)
        first = len(known)
        known += [
            (number, word)
            for number, word in enumerate(map(str.lower, found), count)
            if is_known(word)
        ]
        positions += [bisect_left(known, (count + place,), first) for place in places]
        count += len(found)
    near: dict[int, list[int]] = {}
    words: dict[int, list[str]] = {}
    half = size // 2
    for ordinal, position in enumerate(positions, 1):
        inside = known[max(0, position - half) : position + half]
        words[ordinal] = [word for _, word in inside]
        for number, _ in inside:
            near.setdefault(number, []).append(ordinal)
    return Windows(near, words)


def window_of(
    text: str, ordinal: int, size: int, is_known: Callable[[str], bool]
) -> tuple[list[str], int]:
    """The nearest known words of one equation, as `windows` has them, and how many equations.

    Only the paragraphs around the equation are read.
    """
    sources = text.split("\n\n")
    counts = [_count_equations(source) for source in sources]
    before = list(accumulate(counts, initial=0))
    at = bisect_left(before, ordinal) - 1
    if not 0 <= at < len(sources):
        return [], before[-1]
    words, places = read_tokens(sources[at])
    place, half = places[ordinal - 1 - before[at]], size // 2
    left = _known(words[:place], is_known)
    for source in reversed(sources[:at]):
        if len(left) >= half:
            break
        left = _known(read_tokens(source)[0], is_known) + left
    right = _known(words[place:], is_known)
    for source in sources[at + 1 :]:
        if len(right) >= half:
            break
        right += _known(read_tokens(source)[0], is_known)
    return left[max(0, len(left) - half) :] + right[:half], before[-1]


def _known(words: list[str], is_known: Callable[[str], bool]) -> list[str]:
    return [word for word in map(str.lower, words) if is_known(word)]


def _count_equations(source: str) -> int:
    """The number of equations of a paragraph; a mark within inline mathematics is none."""
    if EQUATION_MARK not in source:
        return 0
    pieces = source.split("$")
    inside = pieces[1 : len(pieces) - 1 : 2]
    return source.count(EQUATION_MARK) - sum(piece.count(EQUATION_MARK) for piece in inside)


def split_into_parts(blocks: list[TextBlock]) -> list[list[TextBlock]]:
    """Paragraphs grouped into parts small enough for one page."""
    parts: list[list[TextBlock]] = [[]]
    equations = size = 0
    for block in blocks:
        own = sum(kind == "equation" for kind, _ in block.parts)
        if parts[-1] and (
            equations + own > _PART_EQUATIONS or size + len(block.source) > _PART_CHARACTERS
        ):
            parts.append([])
            equations = size = 0
        parts[-1].append(block)
        equations, size = equations + own, size + len(block.source)
    return parts


def part_of_equation(parts: list[list[TextBlock]], ordinal: int) -> int:
    """The number, from 1, of the part that contains an equation."""
    for number, part in enumerate(parts, 1):
        for block in part:
            if any(kind == "equation" and e.ordinal == ordinal for kind, e in block.parts):
                return number
    return 1


def display_blocks(
    part: list[TextBlock],
    article: Article,
    show_equation: Callable[[Equation], Json],
    reach: int | None,
    renderer: Renderer,
) -> Iterator[Json]:
    """A part as headings, paragraphs and equations.

    `reach` is how many words are shown on each side of an equation; None shows the whole text.
    """
    titles = {" ".join(title.split()) for title in article.sections}
    for block in part:
        if _is_title(block.source, article.title):
            continue
        if block.source in titles:
            yield {"kind": "heading", "pieces": pieces(block.source, renderer=renderer)}
        elif reach is None:
            for shown in _full_text(block, show_equation, renderer):
                is_text = shown["kind"] == "paragraph"
                yield shown | {"paragraph": block.number} if is_text else shown
        else:
            for kind, value in block.parts:
                if kind == "equation":
                    if context := around_equation(value.context, reach):
                        yield {"kind": "paragraph", "pieces": pieces(context, renderer=renderer)}
                    yield show_equation(value)


def contents(parts: list[list[TextBlock]], article: Article, renderer: Renderer) -> list[Json]:
    """The sections of an article in order, each with its part and its equations.

    Equations before the first heading are in a section without a title.
    """
    titles = {" ".join(title.split()) for title in article.sections}
    found: list[Json] = []
    for number, part in enumerate(parts, 1):
        for block in part:
            if block.source in titles and not _is_title(block.source, article.title):
                title = pieces(block.source, renderer=renderer)
                found.append({"title": title, "part": number, "equations": []})
            for kind, value in block.parts:
                if kind != "equation":
                    continue
                if not found:
                    found.append({"title": [], "part": number, "equations": []})
                about = {"ordinal": value.ordinal, "number": value.number}
                found[-1]["equations"].append(about | {"text": renderer.text(value.expanded)})
    return found


def _full_text(
    block: TextBlock, show_equation: Callable[[Equation], Json], renderer: Renderer
) -> Iterator[Json]:
    pending: list[Piece] = []
    follows_equation = False
    for kind, value in block.parts:
        if kind == "equation":
            yield from _paragraph(pending, follows_equation=follows_equation)
            yield show_equation(value)
            pending, follows_equation = [], True
        elif kind == "word":
            word, near = value
            pending.append({"kind": "word", "text": word, "near": near})
        elif kind == "math":
            pending.append(inline_math(value, renderer))
        else:
            pending.append({"kind": "text", "text": value})
    yield from _paragraph(pending, follows_equation=follows_equation)


def _paragraph(pending: list[Piece], *, follows_equation: bool) -> Iterator[Json]:
    """A paragraph; after an equation, without the punctuation that the equation already shows."""
    made = list(merge_text(pending))
    if follows_equation and made and made[0]["kind"] == "text":
        made[0] = made[0] | {"text": made[0]["text"].lstrip(" .,;:")}
    if any(piece["text"].strip() for piece in made):
        yield {"kind": "paragraph", "pieces": [piece for piece in made if piece["text"]]}


def _is_title(source: str, title: str) -> bool:
    """Whether a paragraph is the title of the article, which the page shows above the text."""
    start = source.partition("$")[0].replace(DOLLAR, "$")  # the same in plain text
    if source == title or len(source) > _MAX_TITLE or not title.startswith(start):
        return source == title
    return plain_text(source) == title
