"""Find sentences that use a word near an equation or near similar equations.

A sentence that was found for one word is not found again for another while a new one is as good,
and headings are no sentences.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from eqemb.article import EQUATION_MARK, Equation, equation_positions, read_tokens
from eqemb.index.stemming import stem
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


class _Line(NamedTuple):
    """A sentence, and the words in it in lower case."""

    sentence: str
    article: str
    words: frozenset[str]


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
        forms = self._forms.get(root)
        if forms is None:
            return None
        for lines in self._groups:
            holding = [line for line in lines if not forms.isdisjoint(line.words)]
            # stable: keeps the order of trust
            holding.sort(key=lambda line: _bare(line.sentence) in self._used)
            for line in holding:
                if form in forms and form in line.words:
                    return SupportingSentence(form or "", line.sentence, line.article)
            if holding and fallback is None:
                line = holding[0]
                word = min(forms & line.words)
                fallback = SupportingSentence(word, line.sentence, line.article)
        return None if exact else fallback

    @cached_property
    def _forms(self) -> dict[str, set[str]]:
        """The words of all lines by their stems: each is stemmed once, not in every line."""
        found: dict[str, set[str]] = {}
        for word in frozenset().union(*(line.words for lines in self._groups for line in lines)):
            found.setdefault(stem(word), set()).add(word)
        return found

    @cached_property
    def _groups(self) -> list[list[_Line]]:
        """The lines in groups of equal trust, the most trusted first."""
        groups: list[list[_Line]] = [[], [], [], []]
        known: dict[tuple[str, str], _Line | None] = {}  # equations of one article share lines
        for at, row in enumerate(self._rows):
            equation, title = self._search.equation(row)
            around, further = self._lines(equation)
            headings = {title, equation.section}
            first = 0 if at == 0 and self._own else 2
            for group, texts in ((first, [*around, *equation.references]), (first + 1, further)):
                for text in texts:
                    key = text, equation.article
                    if key not in known:
                        known[key] = self._line(*key)
                    line = known[key]
                    if line is not None and line.sentence not in headings:
                        groups[group].append(line)
        return groups

    def _lines(self, equation: Equation) -> tuple[list[str], list[str]]:
        """Return the lines around an equation, the nearest first, and those further away."""
        text, marks = self._text(equation.article)
        at, end = marks[equation.ordinal - 1], marks[equation.ordinal - 1] + len(EQUATION_MARK)
        here_left, left = _nearest(reversed(text[max(0, at - _MAX_LETTERS) : at].split("\n")))
        here_right, right = _nearest(text[end : end + _MAX_LETTERS].split("\n"))
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

    @staticmethod
    def _line(sentence: str, article: str) -> _Line | None:
        """Return a sentence with its words; None for a heading."""
        words = read_tokens(sentence.replace("[equation]", " "))[0]
        if not _is_sentence(sentence, words):
            return None
        return _Line(sentence, article, frozenset(map(str.lower, words)))


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


def _nearest(lines: Iterable[str]) -> tuple[str, list[str]]:
    """Return the part of the equation's own line on this side of it, and the lines nearest to it.

    The given lines start at the equation.
    """
    rest = iter(lines)
    own = next(rest, "")
    return own, list(islice(filter(None, map(str.strip, rest)), _SENTENCES))
