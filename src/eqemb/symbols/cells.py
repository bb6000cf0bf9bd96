"""Tables and lists of notation, whose cells are lines of their own in an article's text.

Readers of Markdown and HTML keep a table as one paragraph with a line for each cell. A line that is
one formula is paired with the line beside it: the next one, or the one before where the paragraph
ends with a formula ("meaning | symbol").
"""

from collections.abc import Iterator, Sequence

from eqemb.symbols.phrases import Phrase, Sentence
from eqemb.symbols.places import ArticleLine

#: A longer line is a sentence, not a cell.
_MAX_CELL_LETTERS = 200
_ENDS = frozenset({"", ".", ",", ";", "("})


def is_formula_cell(line: ArticleLine) -> bool:
    """Whether a line is one formula and nothing else."""
    text = line.text.strip()
    return text[:1] == "$" == text[-1:] and len(text) > 2 and text.count("$") == 2


def pair_cells(lines: Sequence[ArticleLine]) -> Iterator[tuple[ArticleLine, ArticleLine]]:
    """Formulas and the cells beside them, in the order of the text."""
    start = 0
    for end in range(1, len(lines) + 1):
        if end == len(lines) or lines[end].paragraph != lines[start].paragraph:
            if end - start > 1:
                yield from _pairs(lines[start:end])
            start = end


def _pairs(cells: Sequence[ArticleLine]) -> Iterator[tuple[ArticleLine, ArticleLine]]:
    formulas = [at for at, line in enumerate(cells) if is_formula_cell(line)]
    if not formulas:
        return
    if len(formulas) == 1 and len(cells) > 2:
        return  # a lone formula among sentences
    step = -1 if formulas[-1] == len(cells) - 1 else 1
    for at in formulas:
        beside = at + step
        if 0 <= beside < len(cells) and _is_phrase_cell(cells[beside]):
            yield cells[at], cells[beside]


def _is_phrase_cell(line: ArticleLine) -> bool:
    """Whether a line may be the meaning of a formula; "Summary." is a heading."""
    text = line.text.strip()
    if len(text) > _MAX_CELL_LETTERS or is_formula_cell(line):
        return False
    return " " in text or text[-1:] != "."


def cell_phrase(sentence: Sentence) -> Phrase | None:
    """The noun phrase that a cell is, if it is one."""
    phrase = sentence.after(0)
    if phrase is None or sentence.kinds[phrase.end] not in _ENDS:
        return None
    return phrase
