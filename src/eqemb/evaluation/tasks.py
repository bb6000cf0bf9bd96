"""Equations that are known to be the answer: by labels, by references, by their own context.

*Labels*: the words of an equation's label ask for equations of other articles whose labels have
them too. A word of a label counts where the text around the equation has it: prefixes and numbers
of files do not. Labels are no part of any text, so nothing leaks.
*References*: a sentence that refers to an equation asks for it. Only sentences with more than
CONTEXT_REACH words, numbers among them, between them and every equation are taken, so that no
equation's document holds the words (BM25 counts no numbers, and may look past some). Vectors of
words and of articles have seen them.
*Own context*: the held-out words of a type ask for it, over the training stream alone. It mostly
measures finding the article; hence the parts, and an oracle that knows the article and no more.

Rows of one display have the same words around them: displays are ranked, each by its best row.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.article import EQUATION_MARK, read_tokens
from eqemb.corpus.corpus import Corpus, Pointers
from eqemb.corpus.split import Split
from eqemb.evaluation import heldout, metrics
from eqemb.evaluation.rankers import PLAIN, WORDS, Query, Ranker, Scores, in_words
from eqemb.facade.library import Library
from eqemb.index.text import CONTEXT_REACH

MOST = 1000
"""Queries of one kind; of more, a sample that is the same every time."""
FEWEST = 4
"""Vocabulary words that a sentence must have to be a query."""
_LABEL = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
Measures = dict[str, NDArray[np.float64]]


class Item(NamedTuple):
    """A query and what answers it."""

    query: Query
    targets: Pointers
    """Occurrences."""
    article: int
    """Where the query comes from: its items count together in errors."""
    elsewhere: bool = False
    """Whether answers are looked for in other articles only."""

    @property
    def is_development(self) -> bool:
        """Whether things may be chosen by it: those of every other article are."""
        return self.article % 2 == 0


class Displays:
    """The displays of a corpus, one after the other."""

    def __init__(self, corpus: Corpus, display: Sequence[int]) -> None:
        """`display` says of each occurrence which one of its article it is in."""
        article, own = corpus.equation_articles, np.asarray(display, np.int64)
        new = np.r_[True, (np.diff(article) != 0) | (np.diff(own) != 0)][: len(own)]
        self.starts = np.flatnonzero(new)
        self.of = np.cumsum(new) - 1
        """The display of each occurrence."""
        self.articles = article[self.starts]

    @classmethod
    def read(cls, library: Library, corpus: Corpus) -> "Displays":
        """As the library's records have them."""
        query = "SELECT name, ordinal, display FROM equations e JOIN sources s ON s.id = e.article"
        found = {f"{name}#{n}": display for name, n, display in library.records.rows(query)}
        return cls(corpus, [found[name] for name in corpus.equation_names])

    def scores(self, scores: Scores) -> Scores:
        """Of each display: its best row."""
        best: Scores = np.maximum.reduceat(scores, self.starts)
        return best

    @cached_property
    def article_starts(self) -> Pointers:
        """Where each article with equations begins among displays."""
        return np.flatnonzero(np.r_[True, np.diff(self.articles) != 0])


# ------------------------------------------------------------ queries


def labels(library: Library, corpus: Corpus) -> list[Item]:
    """For each article and set of words its labels have: equations elsewhere that have them."""
    vocabulary, row = set(corpus.words), {n: at for at, n in enumerate(corpus.equation_names)}
    number = {name: at for at, name in enumerate(corpus.articles)}
    asked: set[tuple[int, frozenset[str]]] = set()
    having: dict[str, set[int]] = defaultdict(set)
    for name in corpus.articles:
        article = library.article(name)
        words, places = read_tokens(article.text)
        lower = [word.lower() for word in words]
        for equation, at in zip(article.equations, places, strict=True):
            found = {word.lower() for label in equation.labels for word in _LABEL.findall(label)}
            found &= vocabulary
            if equation.id not in row:
                continue
            for word in found:
                having[word].add(row[equation.id])
            near = found.intersection(lower[max(0, at - CONTEXT_REACH) : at + CONTEXT_REACH])
            if near:
                asked.add((number[name], frozenset(near)))
    home = corpus.equation_articles
    items = []
    for own, words_ in sorted(asked, key=lambda each: (each[0], sorted(each[1]))):
        every = sorted(set.intersection(*(having[word] for word in words_)))
        targets = np.array([at for at in every if home[at] != own], np.int64)
        if len(targets):
            items.append(Item(in_words(" ".join(sorted(words_))), targets, own, elsewhere=True))
    return _sampled(items)


def references(library: Library, corpus: Corpus) -> list[Item]:
    """Sentences far from every equation, each with the equations that it refers to."""
    vocabulary, row = set(corpus.words), {n: at for at, n in enumerate(corpus.equation_names)}
    items = []
    for own, name in enumerate(corpus.articles):
        article = library.article(name)
        wanted: dict[str, list[int]] = defaultdict(list)
        for equation in article.equations:
            for sentence in equation.references:
                if equation.id in row:
                    wanted[sentence.replace("[equation]", EQUATION_MARK)].append(row[equation.id])
        places = np.array(read_tokens(article.text)[1], np.int64)
        for sentence, start, end in _sentences(article.text):
            if sentence not in wanted:
                continue
            away = np.maximum(start - places, places - end)
            query = in_words(sentence)
            known = sum(word in vocabulary for word in query.words)
            if away.min() > CONTEXT_REACH and known >= FEWEST:
                items.append(Item(query, np.array(wanted.pop(sentence), np.int64), own))
    return _sampled(items)


def _sentences(text: str) -> Iterator[tuple[str, int, int]]:
    """Each line of a text, with the words before it and up to its end."""
    at = 0
    for line in text.split("\n"):
        count = len(read_tokens(line)[0])
        yield line.strip(), at, at + count
        at += count


def own_contexts(corpus: Corpus, split: Split, *, test: bool) -> list[Item]:
    """For each evaluated type its held-out words; types halved by hash, one half of them."""
    home = corpus.equation_articles
    order = np.argsort(corpus.equation_types, kind="stable")
    edges = np.searchsorted(corpus.equation_types[order], np.arange(len(corpus.forms) + 1))
    items = []
    for type_ in np.unique(split.types).tolist():
        if is_test(corpus.forms[type_]) is not test:
            continue
        own = split.types == type_
        words = [corpus.words[word] for word in split.words[own]]
        articles, often = np.unique(home[split.occurrences[own]], return_counts=True)
        query = Query(WORDS, " ".join(words), words=tuple(words))
        targets = order[edges[type_] : edges[type_ + 1]]
        items.append(Item(query, targets, int(articles[often.argmax()])))
    return items


def is_test(form: str) -> bool:
    """Whether a type is of the half that is reported."""
    return _hash(form) % 2 == 1


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])


def _sampled(items: list[Item]) -> list[Item]:
    """All of them or, of many, those with the smallest hash."""
    if len(items) <= MOST:
        return items
    order = sorted(
        range(len(items)), key=lambda at: _hash(f"{items[at].article} {items[at].query.text}")
    )
    return [items[at] for at in sorted(order[:MOST])]


# ------------------------------------------------------------ measures


def measure(displays: Displays, item: Item, scores: Scores) -> dict[str, float]:
    """Where the answer stands among all displays, and the two parts of finding it.

    "article": among articles, each by its best display; "within": among displays of the article
    that the query comes from. Neither is asked for answers elsewhere.
    """
    best = displays.scores(scores)
    targets = np.zeros(len(best), bool)
    targets[displays.of[item.targets]] = True
    if item.elsewhere:
        others = displays.articles != item.article
        hit = metrics.first_hit(best[others], targets[others])
        return {"mrr": hit.reciprocal, "ten": hit.within, "rank": hit.rank}
    hit = metrics.first_hit(best, targets)
    found = {"mrr": hit.reciprocal, "ten": hit.within, "rank": hit.rank}
    starts = displays.article_starts
    holding = np.logical_or.reduceat(targets, starts)
    found["article"] = metrics.first_hit(np.maximum.reduceat(best, starts), holding).reciprocal
    own = displays.articles == item.article
    found["within"] = metrics.first_hit(best[own], targets[own]).reciprocal
    return found


def measured(rankers: Iterable[Ranker], items: list[Item], displays: Displays) -> dict[str, Any]:
    """Every ranker on the same items, beside chance and the oracle; errors are of articles."""
    clusters = np.array([item.article for item in items], np.int64)
    lines = {"chance": _gathered(displays, items, (np.zeros(len(displays.of)) for _ in items))}
    if not items[0].elsewhere:
        knows = ((displays.articles[displays.of] == item.article) * 1.0 for item in items)
        lines["article oracle"] = _gathered(displays, items, knows)
    for ranker in rankers:
        if WORDS in ranker.answers:
            asked = (ranker.scores(item.query) for item in items)
            lines[ranker.name] = _gathered(displays, items, asked)
    return {
        "n": len(items),
        "articles": len(np.unique(clusters)),
        "displays": len(displays.starts),
        "rankers": {
            name: {key: metrics.spread(values, clusters) for key, values in line.items()}
            | {"median_rank": float(np.median(line["rank"]))}
            for name, line in lines.items()
        },
        "gains": _gains(lines, clusters),
    }


def _gathered(displays: Displays, items: list[Item], asked: Iterable[Scores]) -> Measures:
    found = [measure(displays, item, scores) for item, scores in zip(items, asked, strict=True)]
    return {name: np.array([each[name] for each in found]) for name in found[0]}


def _gains(lines: dict[str, Measures], clusters: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Every ranker against the best plain rival on the same items: articles drawn anew."""
    rivals = [name for name in PLAIN if name in lines]
    best = max(rivals, key=lambda name: float(lines[name]["mrr"].mean()))
    made = []
    for name, line in lines.items():
        if name != best:
            gain = heldout.difference([(line["mrr"], lines[best]["mrr"], clusters)])
            made.append({"ranker": name, "against": best} | gain._asdict())
    return made
