"""Retrieval tasks with known answers: labels, references and own contexts, without leaks."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqemb.corpus.corpus import Corpus
from eqemb.corpus.split import Split, SplitSettings, training_stream
from eqemb.corpus.vocabulary import Rules
from eqemb.evaluation import retrieval, tasks
from eqemb.evaluation.rankers import EQUATION_QUERY, WORD_QUERY, Bm25, Query, word_query
from eqemb.evaluation.tasks import Displays, Item
from eqemb.facade.library import Library
from eqemb.index.text import CONTEXT_REACH
from eqemb.models.workspace import CorpusChoice
from eqemb.models.workspace import corpus as corpus_of
from planted import planted
from synthetic import papers, text

EVERY = CorpusChoice(rules=Rules(min_count=1, top=0))
FAR = text(CONTEXT_REACH + 20, "far").capitalize()
SENTENCE = "Our bound on the spectral radius, Equation~\\eqref{eq:spectral-radius}, is sharp."
NEARBY = "The norm of Equation~\\eqref{eq:norm} is convex and positive."


def read(folder: Path, **bodies: str) -> Library:
    """Build a library of the given papers."""
    return Library.read([papers(folder / "papers", **bodies)], folder / "library", jobs=1)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Build a library with shared and unshared labels, and with far and near sentences."""
    return read(
        tmp_path_factory.mktemp("finding"),
        one=r"The spectral radius is \begin{equation}\label{eq:spectral-radius} r = 1"
        rf"\end{{equation}} here. {FAR}. {SENTENCE} {FAR}. The norm is"
        rf"\begin{{align}}\label{{eq:norm}} a &= 1 \\ \label{{eq:zipfile}} b &= 2 \end{{align}}"
        rf"always. {NEARBY}",
        two=r"A spectral theorem on the radius: \begin{equation}\label{spectralRadius} R = 2"
        r"\end{equation} is short. Another is \begin{equation}\label{eq:zipfile} c = 3"
        r"\end{equation} with a radius.",
        three=r"Nothing is said: \begin{equation}\label{eq:radius:2} q = 7 \end{equation} at all.",
    )


def test_rows_of_a_display_are_ranked_together(library: Library) -> None:
    """A display has the score of its best row."""
    corpus = corpus_of(library, EVERY)
    displays = Displays.read(library, corpus)
    assert displays.of.tolist() == [0, 1, 1, 2, 3, 4]
    assert displays.articles.tolist() == [0, 0, 1, 2, 2]
    names = corpus.equation_names
    assert names[:3] == ["one#1", "one#2", "one#3"]
    assert displays.scores(np.array([0.0, 1.0, 5.0, 2.0, 3.0, 4.0])).tolist() == [0, 5, 2, 3, 4]


def test_labels_search_other_articles(library: Library) -> None:
    """All words of the label must match; words that are not in the text are ignored."""
    corpus = corpus_of(library, EVERY)
    found = {
        (corpus.articles[item.article], item.query.text): [
            corpus.equation_names[at] for at in item.targets
        ]
        for item in tasks.labels(library, corpus)
    }
    assert found == {
        ("one", "radius spectral"): ["two#1"],
        ("two", "radius spectral"): ["one#1"],
    }
    assert all(item.elsewhere for item in tasks.labels(library, corpus))


def test_references_are_far_from_every_equation(library: Library) -> None:
    """A sentence that may be in an equation's document is not a query."""
    corpus = corpus_of(library, EVERY)
    (item,) = tasks.references(library, corpus)
    assert "sharp" in item.query.words
    assert [corpus.equation_names[at] for at in item.targets] == ["one#1"]
    every = corpus_of(library, CorpusChoice(rules=retrieval.EVERY_WORD))
    ranker = Bm25(every.words, training_stream(every))
    assert not ranker.scores(word_query("sharp bound")).any()
    assert ranker.scores(word_query("convex positive")).any()


def test_sampling_is_deterministic(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sample is in order, and independent of other items."""
    monkeypatch.setattr(tasks, "MAX_QUERIES", 5)
    items = [Item(word_query(f"word {at}"), np.array([at]), 0) for at in range(20)]
    chosen = tasks._sampled(items)
    assert len(chosen) == 5
    places = [int(item.targets[0]) for item in chosen]
    assert places == sorted(places)
    without = [item for at, item in enumerate(items) if at in places or at % 2]
    assert [item.query for item in tasks._sampled(without)] == [item.query for item in chosen]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """Make a corpus of topics with their own words, equations and units."""
    return planted(articles=40)


def test_own_contexts_are_the_held_out_words(corpus: Corpus) -> None:
    """There are four words per type, and the halves of types are disjoint."""
    split = Split.make(corpus, SplitSettings(negatives=5))
    halves = [tasks.own_contexts(corpus, split, test=test) for test in (False, True)]
    types = [{int(corpus.equation_types[item.targets[0]]) for item in items} for items in halves]
    assert types[0] | types[1] == set(split.types.tolist())
    assert not types[0] & types[1]
    assert all(types)
    for item in halves[1]:
        type_ = corpus.equation_types[item.targets[0]]
        own = split.types == type_
        assert sorted(item.query.words) == sorted(corpus.words[at] for at in split.words[own])
        assert set(item.targets) == set(np.flatnonzero(corpus.equation_types == type_))
        assert item.article in corpus.equation_articles[item.targets]


def test_held_out_words_are_not_indexed(corpus: Corpus) -> None:
    """A word that occurs only at held-out positions is in no document."""
    before = Split.make(corpus, SplitSettings(negatives=5))
    tokens = np.array(corpus.tokens)
    tokens[before.positions[7]] = len(corpus.words)
    marked = replace(corpus, words=[*corpus.words, "planted"], tokens=tokens)
    split = Split.make(marked, SplitSettings(negatives=5))
    assert split.positions.tolist() == before.positions.tolist()
    items = [
        item for test in (False, True) for item in tasks.own_contexts(marked, split, test=test)
    ]
    (item,) = [item for item in items if "planted" in item.query.words]
    asked = word_query("planted")
    whole, stream = training_stream(marked), training_stream(marked, split)
    assert Bm25(marked.words, whole).scores(asked)[item.targets].any()
    assert not Bm25(marked.words, stream).scores(asked).any()
    assert any("planted" in passage for passage in retrieval.stream_passages(marked.words, whole))
    held = retrieval.stream_passages(marked.words, stream)
    assert not any("planted" in passage for passage in held)


def test_passages_end_with_their_article(corpus: Corpus) -> None:
    """Words of the next article are not part of a passage."""
    found = retrieval.stream_passages(corpus.words, training_stream(corpus), half=3)
    tokens, starts = corpus.tokens.tolist(), corpus.starts.tolist()
    last = int(corpus.equation_starts[1]) - 1
    at = int(corpus.equation_positions[last])
    near = tokens[at - 3 : min(at + 3, starts[1])]
    assert found[last] == " ".join(corpus.words[word] for word in near)
    whole = retrieval.stream_passages(corpus.words, training_stream(corpus), half=1000)
    assert len(whole[last].split()) == starts[1]


# ------------------------------------------------------------ measures

SMALL = replace(
    planted(articles=3, length=20),
    equation_starts=np.array([0, 2, 5, 6]),
    equation_names=[f"e{at}" for at in range(6)],
)
DISPLAYS = Displays(SMALL, [1, 2, 1, 1, 2, 1])  # articles of 2, 2 and 1 displays


def test_article_and_within_article_ranks_by_hand() -> None:
    """Check the rank among all displays, of the article, and within the article."""
    assert len(SMALL.equation_types) == 6
    item = Item(word_query("x"), np.array([4]), 1)
    found = tasks.measure(DISPLAYS, item, np.array([9.0, 1.0, 2.0, 8.0, 5.0, 3.0]))
    assert found == {"mrr": 1 / 3, "ten": 1.0, "rank": 3.0, "article": 1 / 2, "within": 1 / 2}


def test_other_articles_only_are_ranked_if_requested() -> None:
    """The query's own article is not ranked."""
    item = Item(word_query("x"), np.array([4]), 0, elsewhere=True)
    found = tasks.measure(DISPLAYS, item, np.array([9.0, 7.0, 2.0, 8.0, 5.0, 3.0]))
    assert found == {"mrr": 1 / 2, "ten": 1.0, "rank": 2.0}


class Fixed:
    """A ranker with fixed scores."""

    def __init__(self, name: str, *scores: float, kind: str = WORD_QUERY) -> None:
        self.name, self._scores, self.answers = name, np.array(scores), frozenset({kind})

    def scores(self, query: Query) -> Any:
        """Return the fixed scores."""
        del query
        return self._scores


def test_rankers_are_reported_with_chance_and_the_oracle() -> None:
    """Chance ties all displays, the oracle those of the article; gains are over the baseline."""
    items = [
        Item(word_query("x"), np.array([at]), article) for at, article in ((0, 0), (2, 1), (5, 2))
    ]
    rankers = [
        Fixed("BM25", 2.0, 0.0, 2.0, 0.0, 0.0, 2.0),
        Fixed("EqEmb", 0.0, 2.0, 0.0, 0.0, 2.0, 0.0),
    ]
    found = tasks.measured(rankers, items, DISPLAYS)
    assert (found["n"], found["articles"], found["displays"]) == (3, 3, 5)
    lines = found["rankers"]
    assert lines["chance"]["mrr"]["mean"] == pytest.approx(np.mean(1 / np.arange(1, 6)))
    assert lines["chance"]["rank"]["mean"] == pytest.approx(3.0)
    assert lines["article oracle"]["mrr"]["mean"] == pytest.approx((3 / 4 + 3 / 4 + 1) / 3)
    assert lines["article oracle"]["article"]["mean"] == 1.0
    assert lines["BM25"]["mrr"]["mean"] == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    assert lines["BM25"]["within"]["mean"] == 1.0
    assert {entry["against"] for entry in found["gains"]} == {"BM25"}
    (worse,) = [entry for entry in found["gains"] if entry["ranker"] == "EqEmb"]
    assert worse["mean"] < 0
    grouped = tasks.measured(rankers, items, DISPLAYS, np.array([4, 4, 7]))
    assert (grouped["articles"], grouped["clusters"]) == (3, 2)
    assert grouped["rankers"]["BM25"]["mrr"]["mean"] == lines["BM25"]["mrr"]["mean"]
    errors = [each["article oracle"]["mrr"]["se"] for each in (lines, grouped["rankers"])]
    assert errors == pytest.approx([1 / 12, 1 / 9])


def test_equations_of_labels_are_their_queries(library: Library) -> None:
    """Each query of labels has an equation: the first with these words in its label."""
    corpus = corpus_of(library, EVERY)
    words, equations = tasks.labels(library, corpus), tasks.label_equations(library, corpus)
    assert len(words) == len(equations)
    for item in equations:
        (same,) = [w for w in words if w.article == item.article
                   and w.targets.tolist() == item.targets.tolist()]  # fmt: skip
        assert same.elsewhere
        assert item.elsewhere
        assert item.query.kind == EQUATION_QUERY
        assert item.query.occurrence is not None
        assert corpus.equation_articles[item.query.occurrence] == item.article
    scored = [
        Fixed("unit overlap", *np.arange(6.0), kind=EQUATION_QUERY),
        Fixed("BM25", *np.ones(6)),
    ]
    found = tasks.measured(scored, equations, Displays.read(library, corpus))
    assert set(found["rankers"]) == {"chance", "unit overlap"}
