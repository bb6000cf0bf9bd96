"""Find sentences that use a word near an equation or near similar equations.

A sentence that was found for one word is not found again for another while a new one is as good,
and headings are no sentences.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from eqemb.article import EQUATION_MARK, Equation, equation_positions, read_tokens
from eqemb.index.stemming import stem, stem_start
from eqemb.search.engine import Search

#: Sentences on each side of an equation in which words are searched, and letters they are in.
_SENTENCES, _MAX_LETTERS = 8, 20_000
#: Words from which a line is a sentence: a heading is worse evidence.
_MIN_SENTENCE = 5
_LONG_WORD = 3  # letters; longer words have large initials in title case


class SupportingSentence(NamedTuple):
    """A sentence that uses a word."""

    word: str
    """In the form that the sentence has."""
    sentence: str
    article: str


class _Line:
    """A line of text; its words are read when they are needed."""

    __slots__ = ("_known", "_words", "article", "lowered", "sentence")

    def __init__(self, sentence: str, article: str) -> None:
        self.sentence, self.article, self.lowered = sentence, article, sentence.lower()
        self._known, self._words = False, frozenset[str]()

    @property
    def words(self) -> frozenset[str]:
        """The words of a sentence in lower case; none of a line that is not a sentence."""
        if not self._known:
            words = read_tokens(self.sentence.replace("[equation]", " "))[0]
            if _is_sentence(self.sentence, words):
                self._words = frozenset(map(str.lower, words))
            self._known = True
        return self._words


class SentenceFinder:
    """Sentences near an equation and near similar ones.

    The equation itself comes before similar ones. For each, the sentences around it and those that
    refer to it come before sentences further away.
    """

    def __init__(self, search: Search, rows: Sequence[int], *, own: bool) -> None:
        """`rows` are equations, the most trusted first; with `own` the first is the query."""
        self._search, self._rows, self._own = search, rows, own
        self._texts: dict[str, tuple[str, list[int]]] = {}
        self._used: dict[str, str] = {}  # the sentences found so far, by their texts without marks

    def find(
        self, root: str, form: str | None, *, exact: bool = False
    ) -> SupportingSentence | None:
        """Return the first sentence with a stem, in this form of it if there is one."""
        found = self._find(root, form, exact=exact)
        if found is None:
            return None
        return found._replace(sentence=self._used.setdefault(_bare(found.sentence), found.sentence))

    def _find(self, root: str, form: str | None, *, exact: bool) -> SupportingSentence | None:
        fallback: SupportingSentence | None = None
        start, has_form = stem_start(root), form is not None and stem(form) == root
        for lines in self._groups:
            # of the lines with the form, one that was not found before, else the first; likewise
            # of those with another form
            first: dict[tuple[bool, bool], SupportingSentence] = {}
            for line in lines:
                if start not in line.lowered:
                    continue
                words = [
                    word for word in line.words if word.startswith(start) and stem(word) == root
                ]
                if not words:
                    continue
                is_used, is_form = _bare(line.sentence) in self._used, has_form and form in words
                found = SupportingSentence(min(words), line.sentence, line.article)
                first.setdefault((is_used, False), found)
                if is_form:
                    first.setdefault((is_used, True), found._replace(word=form or ""))
                    if not is_used:
                        break
            for is_used in (False, True):
                if (is_used, True) in first:
                    return first[is_used, True]
            if first and fallback is None:
                fallback = first.get((False, False)) or first[True, False]
        return None if exact else fallback

    @cached_property
    def _groups(self) -> list[list[_Line]]:
        """The lines in groups of equal trust, the most trusted first."""
        groups: list[list[_Line]] = [[], [], [], []]
        known: dict[tuple[str, str], _Line] = {}  # equations of one article share lines
        for at, row in enumerate(self._rows):
            equation, title = self._search.equation(row)
            around, further = self._lines(equation)
            headings = {title, equation.section}
            first = 0 if at == 0 and self._own else 2
            for group, texts in ((first, [*around, *equation.references]), (first + 1, further)):
                for text in texts:
                    if text not in headings:
                        key = text, equation.article
                        line = known.get(key)
                        if line is None:
                            line = known[key] = _Line(*key)
                        groups[group].append(line)
        return groups

    def _lines(self, equation: Equation) -> tuple[list[str], list[str]]:
        """Return the lines around an equation, the nearest first, and those further away."""
        text, marks = self._text(equation.article)
        at, end = marks[equation.ordinal - 1], marks[equation.ordinal - 1] + len(EQUATION_MARK)
        here_left, left = lines_before(text, at)
        here_right, right = lines_after(text, end)
        here = [f"{here_left}[equation]{here_right}"] if here_left + here_right else []
        around = here + left[:1] + right[:1]
        steps = range(1, _SENTENCES)
        further = [side[at] for at in steps for side in (left, right) if at < len(side)]
        return [line.replace(EQUATION_MARK, "[…]") for line in around], [
            line.replace(EQUATION_MARK, "[…]") for line in further
        ]

    def _text(self, article: str) -> tuple[str, list[int]]:
        """Return an article's text and the positions of its equations; cached."""
        if article not in self._texts:
            key = self._search.records.key(article)
            text = "" if key is None else self._search.records.article_text(key)
            self._texts[article] = text, equation_positions(text)
        return self._texts[article]


def _bare(sentence: str) -> str:
    """Return a sentence as it is for each of the equations in it."""
    return sentence.replace("[equation]", "[…]")


def _is_sentence(line: str, words: Sequence[str]) -> bool:
    """Whether a line is a sentence: not short, and neither without an end nor in title case."""
    if len(words) < _MIN_SENTENCE:
        return False
    is_ended = line.rstrip(" )\"'\u201d").endswith((".", "!", "?", ":", ";", ",", "]"))
    large = sum(word[0].isupper() for word in words if len(word) > _LONG_WORD)
    return is_ended or 2 * large < sum(len(word) > _LONG_WORD for word in words)


def lines_before(text: str, end: int) -> tuple[str, list[str]]:
    """Return the part of a position's line before it, and the lines before that, the last first."""
    low, found, own = max(0, end - _MAX_LETTERS), list[str](), None
    while len(found) < _SENTENCES and end >= low:
        start = text.rfind("\n", low, end)
        line = text[max(start + 1, low) : end]
        if own is None:
            own = line
        elif line := line.strip():
            found.append(line)
        end = start
    return own or "", found


def lines_after(text: str, start: int) -> tuple[str, list[str]]:
    """Return the part of a position's line after it, and the lines after that."""
    high, found, own = min(len(text), start + _MAX_LETTERS), list[str](), None
    while len(found) < _SENTENCES and start <= high:
        end = text.find("\n", start, high)
        line = text[start : end if end >= 0 else high]
        if own is None:
            own = line
        elif line := line.strip():
            found.append(line)
        start = end + 1 if end >= 0 else high + 1
    return own or "", found
