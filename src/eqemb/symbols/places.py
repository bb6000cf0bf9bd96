"""Where things stand in an article's text: paragraphs, sections, equations."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from eqemb.article import equation_positions


class TextPlace(NamedTuple):
    """A position of an article's text, and what it is in."""

    position: int
    line: int
    paragraph: int
    section: int
    """Index in the article's `sections`; -1 before the first one."""


class ArticleLine(NamedTuple):
    """A line of an article's text, which is one sentence or a title."""

    start: int
    text: str
    paragraph: int
    section: int


class ArticlePlaces:
    """The lines of an article's text, with paragraphs and sections; made once for an article."""

    def __init__(self, text: str, sections: Sequence[str]) -> None:
        self.text = text
        self.lines = _lines(text, sections)
        self.marks = equation_positions(text)
        """Positions of the equations, by ordinal less 1."""
        self._starts = [line.start for line in self.lines]
        self._mark_paragraphs = [self.at(mark).paragraph for mark in self.marks]

    def at(self, position: int) -> TextPlace:
        """What a position of the text is in."""
        number = max(bisect_right(self._starts, position) - 1, 0)
        if not self.lines:
            return TextPlace(position, 0, 0, -1)
        line = self.lines[number]
        return TextPlace(position, number, line.paragraph, line.section)

    def section_start(self, section: int) -> int:
        """Where a section starts; 0 before the first one."""
        starts = (line.start for line in self.lines if line.section == section)
        return next(starts, 0) if section >= 0 else 0

    def nearest_equation(self, position: int, paragraph: int | None = None) -> int:
        """Ordinal of the nearest equation of the same paragraph; 0 if there is none.

        `paragraph` is that of the position, if it is known.
        """
        marks, paragraphs = self.marks, self._mark_paragraphs
        if paragraph is None:
            paragraph = self.at(position).paragraph
        after = bisect_right(marks, position)
        before_here = after > 0 and paragraphs[after - 1] == paragraph
        after_here = after < len(marks) and paragraphs[after] == paragraph
        if before_here and after_here:
            nearer = position - marks[after - 1] <= marks[after] - position
            return after if nearer else after + 1
        return after if before_here else (after + 1 if after_here else 0)


def _lines(text: str, sections: Sequence[str]) -> list[ArticleLine]:
    """The lines that are not empty. A title is a line of its own between empty ones."""
    titles: dict[str, list[int]] = defaultdict(list)
    for number in range(len(sections) - 1, -1, -1):
        titles[sections[number].strip()].append(number)
    found: list[ArticleLine] = []
    start, paragraph, section = 0, 0, -1
    rows = text.split("\n")
    for number, row in enumerate(rows):
        line = row.strip()
        if not line:
            paragraph += 1
        elif line in titles and _alone(rows, number):
            waiting = titles[line]
            while waiting and waiting[-1] <= section:
                waiting.pop()
            if waiting:
                section = waiting.pop()
        if line:
            found.append(ArticleLine(start, row, paragraph, section))
        start += len(row) + 1
    return found


def _alone(rows: list[str], number: int) -> bool:
    before = number == 0 or not rows[number - 1].strip()
    return before and (number + 1 == len(rows) or not rows[number + 1].strip())
