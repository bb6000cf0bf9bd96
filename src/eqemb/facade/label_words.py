"""The words from which labels of map regions are chosen, and how well each suits a region.

Words that name what a text is about stand in titles; words such as "consider" or "possible" do not.
So labels are words of the titles of sections and articles, without those that only name a part of a
paper ("Related work"), and pairs of words that stand together there ("language model"). A word, or
a pair, suits a region if many of its equations, and many of its articles, have it near them.
"""

from collections import Counter
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from eqemb.article import read_tokens
from eqemb.corpus.vocabulary import PAPER_WORDS, STOP_WORDS
from eqemb.index.stemming import STOP_STEMS, stem
from eqemb.index.text_index import TextIndex
from eqemb.search.engine import Search

#: Most words that are tried, fewest titles and occurrences of one, and fewest letters.
_MAX_LABEL_WORDS, _LEAST_TITLES, _LEAST_OCCURRENCES, _LEAST_LETTERS = 800, 2, 20, 4
#: Fewest titles with a word for each of its occurrences: "regret" has 0.011, "consider" 0.002.
_LEAST_TITLE_SHARE = 0.00625
#: With fewer words from titles, every word of the text is tried.
_FEW_TITLE_WORDS = 30

#: Most pairs of words that are tried, and fewest papers or titles with one.
_MAX_LABEL_PHRASES, _LEAST_PHRASE_TITLES = 400, 3

_PAPER_STEMS = STOP_STEMS | frozenset(map(stem, PAPER_WORDS))

Array = NDArray[np.int64]


class LabelWords:
    """The words for labels of some equations, which are the points of a map."""

    def __init__(self, questions: Search, equations: Array) -> None:
        self.spelling = _candidates(questions)
        segments = questions.segments
        self._articles: Array = np.unique(segments.articles[equations], return_inverse=True)[1]
        self._article_count = int(self._articles.max(initial=-1)) + 1
        self._points = {
            root: np.flatnonzero(questions.text.has_phrase(tuple(word.split()))[equations])
            for root, word in self.spelling.items()
        }

    def weights(self, region_of: Array) -> list[dict[str, float]]:
        """Return for each region the weight of every word that it has, by stems.

        The weight is the geometric mean of the share of the region's points and of the share of
        its articles, so that neither one author nor one large paper decides.
        """
        count = int(region_of.max(initial=-1)) + 1
        points = np.bincount(region_of, minlength=count)
        articles = self._articles_with(region_of, np.arange(len(region_of)), count)
        least = np.minimum(2, articles)  # a word of one article alone is a habit of its author
        found: list[dict[str, float]] = [{} for _ in range(count)]
        for root, having in self._points.items():
            of_points = np.bincount(region_of[having], minlength=count)
            of_articles = self._articles_with(region_of, having, count)
            for region in np.flatnonzero((of_points > 0) & (of_articles >= least)).tolist():
                shares = of_points[region] / points[region], of_articles[region] / articles[region]
                found[region][root] = float(np.sqrt(shares[0] * shares[1]))
        return found

    def _articles_with(self, region_of: Array, points: Array, count: int) -> Array:
        """Return the number of articles of some points in each region."""
        codes = np.unique(region_of[points] * self._article_count + self._articles[points])
        return np.bincount(codes // self._article_count, minlength=count)


def _candidates(questions: Search) -> dict[str, str]:
    """Return the most frequent spelling of every stem that may label a region."""
    totals, spelling = _spellings(questions.text, questions.segments.live_count)
    titles = Counter[str]()
    for each in questions.records.section_titles():
        titles.update(_stems(each))
    for title in questions.records.titles():
        titles.update(_stems([title]))
    often = sorted((root for root in titles if root in spelling), key=lambda r: (-titles[r], r))
    named = [
        root
        for root in often
        if titles[root] >= max(_LEAST_TITLES, _LEAST_TITLE_SHARE * totals[root])
    ]
    if len(named) < _FEW_TITLE_WORDS:
        named = [root for root, word in spelling.items() if _is_usable(word)]
    found = {root: spelling[root] for root in named[:_MAX_LABEL_WORDS]}
    return found | _phrases(questions)


def _phrases(questions: Search) -> dict[str, str]:
    """Return pairs of words that stand together in titles, by their stems.

    "language model" says more than either of its words.
    """
    counts = Counter[tuple[str, str]]()
    spelled = Counter[tuple[str, str, str]]()
    titles = ([title] for title in questions.records.titles())
    for listed in chain(questions.records.section_titles(), titles):
        pairs = {pair for title in listed for pair in pairwise(_words(title)) if all(pair)}
        counts.update({(stem(one), stem(other)) for one, other in pairs})
        spelled.update((f"{stem(one)} {stem(other)}", one, other) for one, other in pairs)
    best: dict[str, tuple[int, str]] = {}
    for (key, one, other), count in spelled.items():
        best[key] = min(best.get(key, (0, "")), (-count, f"{one} {other}"))
    often = sorted((-count, f"{one} {other}") for (one, other), count in counts.items())
    enough = [key for count, key in often if -count >= _LEAST_PHRASE_TITLES]
    return {key: best[key][1] for key in enough[:_MAX_LABEL_PHRASES]}


def _words(title: str) -> list[str]:
    """Return the words of a title; one that is no part of a label is empty."""
    words = (word.lower() for word in read_tokens(title)[0])
    return [word if _is_usable(word) and stem(word) not in _PAPER_STEMS else "" for word in words]


def _stems(titles: list[str]) -> set[str]:
    words = (word.lower() for title in titles for word in read_tokens(title)[0])
    return {stem(word) for word in words if _is_usable(word)} - _PAPER_STEMS


def _is_usable(word: str) -> bool:
    return (
        len(word) >= _LEAST_LETTERS
        and word.isalpha()
        and word not in STOP_WORDS
        and word not in PAPER_WORDS
    )


def _spellings(text: TextIndex, equations: int) -> tuple[Counter[str], dict[str, str]]:
    """Return how often each stem occurs, and its most frequent word unless it is rare."""
    counts = Counter[tuple[str, str]]()
    for word, root, count in text.word_counts():
        counts[root, word] += count
    totals = Counter[str]()
    best: dict[str, tuple[int, str]] = {}
    for (root, word), count in counts.items():
        totals[root] += count
        best[root] = min(best.get(root, (0, "")), (-count, word))
    least = min(_LEAST_OCCURRENCES, equations // 50)  # fewer in a small library
    words = {root: word for root, (_, word) in sorted(best.items()) if totals[root] >= least}
    return totals, words
