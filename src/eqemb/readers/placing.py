"""Put the equations of a document where its text has their marks.

A reader writes paragraphs with one mark for each equation and each reference (see `prose`). Here
they become the text of the article, the context of each equation, and the sentences that refer to
it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from eqemb.article import EQUATION_MARK, Article, Equation
from eqemb.readers.prose import (
    EQUATION_BASE,
    EQUATION_MARKS,
    REFERENCE_BASE,
    REFERENCE_MARKS,
    sentences,
    tidy,
    unprotect,
)

_CONTEXT_LENGTH = 4000  # characters of context on both sides of an equation
_NEIGHBOURS = re.compile(rf"{EQUATION_MARKS.pattern}(?:\s*{EQUATION_MARKS.pattern})*")


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
    for paragraph in paragraphs:
        lines += sentences(paragraph)
        breaks.add(len(lines))
    # as mathematics, so that a number is not a word
    numbers = [f"${printed[label]}$" if printed.get(label) else "" for label in references]
    rendered = [_render(line, numbers) for line in lines]
    for index, line in enumerate(lines):
        labels = [references[ord(mark) - REFERENCE_BASE] for mark in REFERENCE_MARKS.findall(line)]
        if marks := EQUATION_MARKS.findall(line):
            around = " ".join(lines[max(0, index - 1) : index + 2])
        at = 0
        for mark in marks:
            equation = equations[ord(mark) - EQUATION_BASE]
            equation.ordinal = len(article.equations) + 1
            at = around.index(mark, at)
            equation.context = _context(around, at, numbers)
            article.equations.append(equation)
            labels += refers[ord(mark) - EQUATION_BASE]
        if labels:
            sentence = rendered[index][:_CONTEXT_LENGTH].replace(EQUATION_MARK, "[equation]")
        for label in labels:
            for equation in targets.get(label, ()):
                if sentence not in equation.references:
                    equation.references.append(sentence)
    article.text += _joined(rendered, breaks)


def without_marks(text: str) -> str:
    """A title without the equations and references in it."""
    text = REFERENCE_MARKS.sub("", EQUATION_MARKS.sub("", text))
    return " ".join(unprotect(text).split())


def _context(around: str, at: int, numbers: list[str]) -> str:
    """The sentences around one equation: itself as [equation], its neighbours as […]."""
    half = _CONTEXT_LENGTH // 2
    sides = (around[max(0, at - half) : at], around[at + 1 : at + 1 + half])
    left, right = (_render(_NEIGHBOURS.sub("[…]", side), numbers) for side in sides)
    before = " " if sides[0][-1:] == " " and not left.endswith(" ") else ""
    after = " " if sides[1][:1] == " " and not right.startswith((" ", ",", ".", ";")) else ""
    return f"{left}{before}[equation]{after}{right}"


def _render(line: str, numbers: list[str]) -> str:
    """A sentence with its references printed and its equations as placeholders."""
    line = EQUATION_MARKS.sub(EQUATION_MARK, line)
    if REFERENCE_MARKS.search(line):
        line = REFERENCE_MARKS.sub(lambda mark: numbers[ord(mark[0]) - REFERENCE_BASE], line)
        line = tidy(" ".join(line.split()))
    return unprotect(line)


def _joined(lines: list[str], breaks: set[int]) -> str:
    """One sentence per line, a blank line between paragraphs."""
    return "".join(
        line + ("\n\n" if index + 1 in breaks else "\n") for index, line in enumerate(lines)
    )
