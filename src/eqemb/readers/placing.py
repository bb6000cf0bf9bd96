"""Put the equations of a document where its text has their marks.

A reader writes paragraphs with one mark for each equation and each reference (see `prose`). Here
they become the text of the article, the context of each equation, and the sentences that refer to
it.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from eqemb.article import EQUATION_MARK, Article, Equation, Problem
from eqemb.readers.prose import (
    EQUATION_BASE,
    EQUATION_MARKS,
    HOLE,
    REFERENCE_BASE,
    REFERENCE_MARKS,
    close_holes,
    sentences,
    tidy,
    unprotect,
)

_CONTEXT_LENGTH = 4000  # characters of context on both sides of an equation
#: Characters of sentences that refer to equations: a label of many equations, with as many
#: references, would multiply them. A real paper needs less than its own length.
_REFERENCE_BUDGET, _REFERENCES_PER_CHARACTER = 1_000_000, 10
#: Characters of contexts: a sentence with very many equations would be stored with each of them.
#: Beyond that, a context has fewer characters on both sides.
_CONTEXT_BUDGET, _CONTEXTS_PER_CHARACTER = 1_000_000, 20
_SHORT_CONTEXT_LENGTH = 200
#: Words of a paragraph that is too short to be a sentence: a heading in bold, "Case 3:".
_HEADING_WORDS = 3
_NEIGHBOURS = re.compile(rf"{EQUATION_MARKS.pattern}(?:\s*{EQUATION_MARKS.pattern})*")


#: A reference that has a text of its own beside it: \hyperref[label]{text}.
_LINK_MARK = re.compile(rf"(?<=\w){HOLE}|{HOLE}(?=\w)")


def place_equations(
    article: Article,
    paragraphs: Iterable[str],
    equations: Sequence[Equation],
    references: Sequence[str],
    *,
    refers: Sequence[Sequence[str]],
    targets: Mapping[str, Sequence[Equation]],
    printed: Mapping[str, str],
) -> None:
    """Add paragraphs and their equations to an article.

    Args:
        article: Gets the text and, in the order of their marks, the equations.
        paragraphs: Clean text with marks.
        equations: The n-th belongs to the n-th equation mark.
        references: The label of the n-th reference mark.
        refers: For each equation, the labels that it refers to itself.
        targets: Label -> the equations it names.
        printed: Label -> the number that a reference to it prints; '' or missing if unknown.
    """
    lines: list[str] = []
    breaks: set[int] = set()
    titles = {*article.sections, article.title}
    headings: set[int] = set()
    for paragraph in paragraphs:
        if without_marks(paragraph) in titles:
            headings.add(len(lines))
            lines.append(paragraph)
        else:
            lines += sentences(paragraph)
        breaks.add(len(lines))
    # as mathematics, so that a number is not a word
    numbers = [f"${printed[label]}$" if printed.get(label) else HOLE for label in references]
    rendered = [_render(line, numbers) for line in lines]
    length = sum(map(len, rendered))
    citing = _Citing(length)
    room, shortened = _CONTEXT_BUDGET + _CONTEXTS_PER_CHARACTER * length, 0
    for index, line in enumerate(lines):
        labels = [references[ord(mark) - REFERENCE_BASE] for mark in REFERENCE_MARKS.findall(line)]
        if marks := EQUATION_MARKS.findall(line):
            around = " ".join(_around(lines, index, breaks, headings))
        at = 0
        for mark in marks:
            equation = equations[ord(mark) - EQUATION_BASE]
            equation.ordinal = len(article.equations) + 1
            at = around.index(mark, at)
            is_short = room <= 0
            equation.context = _context(
                around, at, numbers, _SHORT_CONTEXT_LENGTH if is_short else _CONTEXT_LENGTH
            )
            room -= len(equation.context)
            shortened += is_short
            article.equations.append(equation)
            labels += refers[ord(mark) - EQUATION_BASE]
        if labels:
            sentence = rendered[index][:_CONTEXT_LENGTH].replace(EQUATION_MARK, "[equation]")
        for label in dict.fromkeys(labels):
            citing.add(sentence, targets.get(label, ()))
    if citing.left_out:
        detail = f"{citing.left_out} references left out"
        article.problems.append(Problem("reference budget", article.main_file, 0, detail))
    if shortened:
        detail = f"{shortened} contexts shortened"
        article.problems.append(Problem("context budget", article.main_file, 0, detail))
    article.text += _joined(rendered, breaks)


class _Citing:
    """Adds sentences to the equations that they refer to, within a budget."""

    def __init__(self, length: int) -> None:
        """Begin with a document of `length` characters."""
        self._left = _REFERENCE_BUDGET + _REFERENCES_PER_CHARACTER * length
        self._told: defaultdict[int, set[str]] = defaultdict(set)
        """The sentences of each equation, by its identity."""
        self.left_out = 0

    def add(self, sentence: str, equations: Sequence[Equation]) -> None:
        """Add a sentence to equations, once to each."""
        cost = (len(sentence) + 20) * len(equations)
        if cost > self._left:
            self.left_out += len(equations)
            return
        self._left -= cost
        for equation in equations:
            told = self._told[id(equation)]
            if sentence not in told:
                told.add(sentence)
                equation.references.append(sentence)


def without_marks(text: str) -> str:
    """A title without the equations in it; references are holes."""
    text = close_holes(REFERENCE_MARKS.sub(HOLE, EQUATION_MARKS.sub("", text)))
    return " ".join(unprotect(text).split())


def _around(lines: list[str], index: int, breaks: set[int], headings: set[int]) -> Iterator[str]:
    """A sentence and its neighbours, without headings: they are glued to a sentence otherwise."""
    for at in (index - 1, index, index + 1):
        if at == index:
            yield lines[at]
        elif 0 <= at < len(lines) and at not in headings:
            is_other_paragraph = max(at, index) in breaks
            if not (is_other_paragraph and len(lines[at].split()) <= _HEADING_WORDS):
                yield lines[at]


def _context(around: str, at: int, numbers: list[str], length: int) -> str:
    """The sentences around one equation: itself as [equation], its neighbours as […]."""
    half = length // 2
    sides = (around[max(0, at - half) : at], around[at + 1 : at + 1 + half])
    left, right = (_render(_NEIGHBOURS.sub("[…]", side), numbers) for side in sides)
    # a side with references is stripped when they are printed
    before = " " if sides[0][-1:] == " " and not left.endswith(" ") else ""
    after = " " if sides[1][:1] == " " and not right.startswith((" ", ".", ",", ";", ":")) else ""
    return f"{left}{before}[equation]{after}{right}"


def _render(line: str, numbers: list[str]) -> str:
    """A sentence with its references printed and its equations as placeholders."""
    line = EQUATION_MARKS.sub(EQUATION_MARK, line)
    if REFERENCE_MARKS.search(line):
        line = REFERENCE_MARKS.sub(lambda mark: numbers[ord(mark[0]) - REFERENCE_BASE], line)
        line = _LINK_MARK.sub("", line)
        line = tidy(close_holes(" ".join(line.split())))
    return unprotect(line)


def _joined(lines: list[str], breaks: set[int]) -> str:
    """One sentence per line, a blank line between paragraphs."""
    return "".join(
        line + ("\n\n" if index + 1 in breaks else "\n") for index, line in enumerate(lines)
    )
