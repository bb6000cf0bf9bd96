"""Retrieval tasks whose answers are known without judgements: labels, references and contexts.

*Labels*: the query is the words of an equation's label, and the relevant equations are those of
other articles whose labels have the same words. A word of a label is used only if it occurs in the
text around the equation, which excludes prefixes and file numbers. Labels are not part of the text,
so nothing leaks.
*Equations of labels*: the same with the equation itself as the query.
*References*: the query is a sentence that refers to an equation. Only sentences more than
CONTEXT_REACH words (numbers included) away from every equation are used, so that no equation's
document contains them. BM25 does not count numbers, so its documents may reach slightly
further. Vectors of words and articles were trained on these sentences.
*Own context*: the query is the held-out words of an equation type, and documents come from the
training stream only. This mostly measures how well the article is found, so it is reported in parts
and next to an oracle that knows only the article.

All rows of a display have the same surrounding words, so displays are ranked, each by its best row.
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
from eqemb.evaluation.rankers import (
    BASELINE_RANKERS,
    WORD_QUERY,
    Query,
    Ranker,
    Scores,
    equation_query,
    word_query,
)
from eqemb.facade.library import Library
from eqemb.formula import layout
from eqemb.index.text import CONTEXT_REACH

MAX_QUERIES = 1000
"""Maximum number of queries per task; larger sets are sampled deterministically."""
MIN_QUERY_WORDS = 4
"""Minimum number of vocabulary words in a sentence used as a query."""
_LABEL = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
Measures = dict[str, NDArray[np.float64]]


class Item(NamedTuple):
    """A query and its relevant equations."""

    query: Query
    targets: Pointers
    """Occurrences of the relevant equations."""
    article: int
    """Article of the query; standard errors are clustered by it."""
    elsewhere: bool = False
    """Whether only equations of other articles are ranked."""

    @property
    def is_development(self) -> bool:
        """Whether settings may be chosen on it: true for every second article."""
        return self.article % 2 == 0


class Displays:
    """The displays of a corpus, in order."""

    def __init__(self, corpus: Corpus, display: Sequence[int]) -> None:
        """`display` is the number, within its article, of the display of each occurrence."""
        article, own = corpus.equation_articles, np.asarray(display, np.int64)
        new = np.r_[True, (np.diff(article) != 0) | (np.diff(own) != 0)][: len(own)]
        self.starts = np.flatnonzero(new)
        self.of = np.cumsum(new) - 1
        """Index of the display of each occurrence."""
        self.articles = article[self.starts]

    @classmethod
    def read(cls, library: Library, corpus: Corpus) -> "Displays":
        """Read the displays from the library's records."""
        display = library.records.equation_displays()
        return cls(corpus, [display[name] for name in corpus.equation_names])

    def scores(self, scores: Scores) -> Scores:
        """Return the score of each display: that of its best row."""
        best: Scores = np.maximum.reduceat(scores, self.starts)
        return best

    @cached_property
    def article_starts(self) -> Pointers:
        """Index of the first display of each article that has equations."""
        return np.flatnonzero(np.r_[True, np.diff(self.articles) != 0])


# ------------------------------------------------------------ queries


def labels(library: Library, corpus: Corpus) -> list[Item]:
    """Return a query for each article and set of label words, with equations of other articles."""
    asked, having = _label_words(library, corpus)
    items = []
    for own, words in sorted(asked, key=lambda each: (each[0], sorted(each[1]))):
        targets = _elsewhere(corpus, having, own, words)
        if len(targets):
            items.append(Item(word_query(" ".join(sorted(words))), targets, own, elsewhere=True))
    return _sampled(items)


def label_equations(library: Library, corpus: Corpus) -> list[Item]:
    """Return an equation for each query of `labels`, the first with these words in its label."""
    asked, having = _label_words(library, corpus)
    latex = library.records.equation_latex()
    items = []
    for (own, words), at in sorted(asked.items(), key=lambda each: each[1]):
        targets = _elsewhere(corpus, having, own, words)
        formula = latex[corpus.equation_names[at]]
        if len(targets) and layout(formula).units():
            items.append(Item(equation_query(formula, at), targets, own, elsewhere=True))
    return _sampled(items)


def _elsewhere(
    corpus: Corpus, having: dict[str, set[int]], own: int, words: Iterable[str]
) -> Pointers:
    """Return the equations of other articles that have all these words in their labels."""
    every = sorted(set.intersection(*(having[word] for word in words)))
    return np.array([at for at in every if corpus.equation_articles[at] != own], np.int64)


def _label_words(
    library: Library, corpus: Corpus
) -> tuple[dict[tuple[int, frozenset[str]], int], dict[str, set[int]]]:
    """Return (article, words of a label) -> its first equation, and word -> equations."""
    vocabulary, row = set(corpus.words), {n: at for at, n in enumerate(corpus.equation_names)}
    number = {name: at for at, name in enumerate(corpus.articles)}
    asked: dict[tuple[int, frozenset[str]], int] = {}
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
                asked.setdefault((number[name], frozenset(near)), row[equation.id])
    return asked, having


def references(library: Library, corpus: Corpus) -> list[Item]:
    """Return the sentences far from every equation, with the equations that they refer to."""
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
            query = word_query(sentence)
            known = sum(word in vocabulary for word in query.words)
            if away.min() > CONTEXT_REACH and known >= MIN_QUERY_WORDS:
                items.append(Item(query, np.array(wanted.pop(sentence), np.int64), own))
    return _sampled(items)


def _sentences(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield each line of a text with the indices of its first word and of the word after it."""
    at = 0
    for line in text.split("\n"):
        count = len(read_tokens(line)[0])
        yield line.strip(), at, at + count
        at += count


def own_contexts(corpus: Corpus, split: Split, *, test: bool) -> list[Item]:
    """Return a query for each evaluated type of one half: its held-out words."""
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
        query = Query(WORD_QUERY, " ".join(words), words=tuple(words))
        targets = order[edges[type_] : edges[type_ + 1]]
        items.append(Item(query, targets, int(articles[often.argmax()])))
    return items


def is_test(form: str) -> bool:
    """Whether a type belongs to the test half; the halves are determined by a hash."""
    return _hash(form) % 2 == 1


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])


def _sampled(items: list[Item]) -> list[Item]:
    """Return all items or, if there are too many, those with the smallest hashes."""
    if len(items) <= MAX_QUERIES:
        return items
    order = sorted(
        range(len(items)), key=lambda at: _hash(f"{items[at].article} {items[at].query.text}")
    )
    return [items[at] for at in sorted(order[:MAX_QUERIES])]


# ------------------------------------------------------------ measures


def measure(displays: Displays, item: Item, scores: Scores) -> dict[str, float]:
    """Return the rank of the answer among all displays, and the two parts of finding it.

    "article" ranks articles, each by its best display. "within" ranks the displays of the query's
    article. Neither applies to queries for equations of other articles.
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


def measured(
    rankers: Iterable[Ranker],
    items: list[Item],
    displays: Displays,
    homes: NDArray[np.int64] | None = None,
) -> dict[str, Any]:
    """Evaluate every ranker, chance and the oracle on the same items.

    Errors are by article or, if `homes` has the group of each article, by group.
    """
    clusters = np.array([item.article for item in items], np.int64)
    articles = len(np.unique(clusters))
    if homes is not None:
        clusters = homes[clusters]
    lines = {"chance": _gathered(displays, items, (np.zeros(len(displays.of)) for _ in items))}
    if not items[0].elsewhere:
        knows = ((displays.articles[displays.of] == item.article) * 1.0 for item in items)
        lines["article oracle"] = _gathered(displays, items, knows)
    for ranker in rankers:
        if items[0].query.kind in ranker.answers:
            asked = (ranker.scores(item.query) for item in items)
            lines[ranker.name] = _gathered(displays, items, asked)
    return {
        "n": len(items),
        "articles": articles,
        "clusters": len(np.unique(clusters)),
        "displays": len(displays.starts),
        "rankers": {
            name: {key: metrics.mean_and_error(values, clusters) for key, values in line.items()}
            | {"median_rank": float(np.median(line["rank"]))}
            for name, line in lines.items()
        },
        "gains": _gains(lines, clusters),
    }


def _gathered(displays: Displays, items: list[Item], asked: Iterable[Scores]) -> Measures:
    found = [measure(displays, item, scores) for item, scores in zip(items, asked, strict=True)]
    return {name: np.array([each[name] for each in found]) for name in found[0]}


def _gains(lines: dict[str, Measures], clusters: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Compare every ranker with the best baseline on the same items: a bootstrap over articles."""
    rivals = [name for name in BASELINE_RANKERS if name in lines]
    best = max(rivals, key=lambda name: float(lines[name]["mrr"].mean()))
    made = []
    for name, line in lines.items():
        if name != best:
            gain = heldout.difference([(line["mrr"], lines[best]["mrr"], clusters)])
            made.append({"ranker": name, "against": best} | gain._asdict())
    return made
