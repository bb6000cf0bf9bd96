"""Rankers: baselines and models, on libraries and corpora with known answers."""

import string
import sys
from collections import Counter
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from eqemb.corpus.corpus import Corpus
from eqemb.corpus.split import training_stream
from eqemb.errors import UsageError
from eqemb.evaluation import rankers
from eqemb.evaluation.encoder_rankers import LibraryEncoder, SentenceEncoder
from eqemb.evaluation.rankers import (
    EQUATION_QUERY,
    WORD_QUERY,
    ArticleRanker,
    Bm25,
    Combination,
    ContextMeans,
    ModelRanker,
    Query,
    Ranker,
    UnitMatrix,
    UnitOverlap,
    equation_query,
    search_rankers,
    word_query,
    z_scores,
)
from eqemb.evaluation.retrieval import EVERY_WORD
from eqemb.facade.library import Library
from eqemb.index import text as wording
from eqemb.index.text import CONTEXT_REACH
from eqemb.models import BernoulliEmbeddings, EqEmb, EqEmbH, EqEmbU
from eqemb.models.embeddings import Embeddings
from eqemb.models.workspace import CorpusChoice
from eqemb.models.workspace import corpus as corpus_of
from planted import TOPICS, form, planted, topic_of, word
from synthetic import papers

SMALL: dict[str, Any] = {"dim": 10, "batch": 1024, "iterations": 8, "negatives": 5}
MODELS = {
    "b-emb": BernoulliEmbeddings(equations="tokens", window=8, **SMALL),
    "eqemb": EqEmb(equation_window=8, **SMALL),
    "eqemb-u": EqEmbU(equation_window=8, **SMALL),
    "eqemb-h": EqEmbH(equation_window=8, **SMALL),
}


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """Make a corpus of topics with their own words, equations and units."""
    return planted()


@pytest.fixture(scope="module")
def models(corpus: Corpus) -> dict[str, Embeddings]:
    """Train a model of each kind."""
    return {name: model.fit(corpus, seed=0).embeddings_ for name, model in MODELS.items()}


def asked(topic: int) -> Query:
    """Make a query of four words of a topic."""
    return word_query(" ".join(word(topic, index) for index in range(4)))


def first(corpus: Corpus, ranker: Ranker, query: Query) -> int:
    """Return the topic of the best equation."""
    best = int(ranker.scores(query).argmax())
    return topic_of(corpus.forms[corpus.equation_types[best]])


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Build a library of three papers."""
    folder = papers(
        tmp_path_factory.mktemp("rank") / "papers",
        angles=r"The cosine of two vectors is \[ \cos(x, y) = \frac{x \cdot y}{|x||y|} \] a measure"
        r" of the angle. The norm is \begin{equation} |x| = \sqrt{x \cdot x} \end{equation} again.",
        means=r"The harmonic mean of precision and recall is \[ F = \frac{2PR}{P+R} \] it.",
        other=r"A mean of measures is, once more, \[ F = \frac{2PR}{P+R}. \] The angle.",
    )
    return Library.read([folder], folder.with_name("library"), jobs=1, index=True)


def test_bm25_matches_the_formula(library: Library) -> None:
    """Weights depend on distance; lengths are relative to the mean of all equations."""
    every = corpus_of(library, CorpusChoice(rules=EVERY_WORD))
    stream = training_stream(every)
    found = Bm25(every.words, stream).scores(word_query("cosine of"))
    weights: list[Counter[str]] = []
    for at, article in zip(stream.equation_positions, stream.equation_articles, strict=True):
        start, end = stream.starts[article : article + 2]
        weights.append(Counter())
        for place in range(start, end):
            away = at - place if place < at else place - at + 1
            if away <= CONTEXT_REACH:
                weights[-1][every.words[stream.tokens[place]]] += 1 / away**0.5
    lengths = np.array([each.total() for each in weights])
    norm = rankers.PLAIN_K1 * (1 - rankers.PLAIN_B + rankers.PLAIN_B * lengths / lengths.mean())
    for at, each in enumerate(weights):
        expected = 0.0
        for asked in ("cosine", "of"):
            having = sum(asked in other for other in weights)
            idf = np.log1p((len(weights) - having + 0.5) / (having + 0.5))
            expected += idf * each[asked] * (rankers.PLAIN_K1 + 1) / (each[asked] + norm[at])
        assert found[at] == pytest.approx(expected)


def test_unit_overlap_is_dice(library: Library) -> None:
    """It is twice the shared units over all units, as multisets."""
    corpus = corpus_of(library)
    asked = equation_query(r"G = \frac{2PR}{P+R}")
    scores = UnitOverlap(corpus).scores(asked)
    wanted = Counter(asked.units)
    for at, kind in enumerate(corpus.equation_types):
        own = corpus.unit_ids[corpus.unit_starts[kind] : corpus.unit_starts[kind + 1]]
        units = Counter(corpus.units[unit] for unit in own)
        shared = (wanted & units).total()
        assert scores[at] == pytest.approx(2 * shared / (wanted.total() + units.total()))


def test_search_ranker_scores_match_the_library(library: Library) -> None:
    """All equations get the scores of the library's search."""
    corpus = corpus_of(library)
    product = search_rankers(library.engine, corpus)[0]
    for query, hits in (
        (word_query("cosine of the angle"), library.search("cosine of the angle")),
        (equation_query(r"G = \frac{2PR}{P+R}"), library.similar(r"G = \frac{2PR}{P+R}")),
    ):
        scores = dict(zip(corpus.equation_names, product.scores(query), strict=True))
        assert len(hits)
        for hit in hits:
            assert scores[hit.equation.id] == pytest.approx(hit.score, rel=1e-5)


def test_a_query_without_symbols_is_rejected() -> None:
    """The error contains the query."""
    with pytest.raises(UsageError, match="no symbol"):
        equation_query("{}")


def test_context_means_find_the_topic(corpus: Corpus, models: dict[str, Embeddings]) -> None:
    """Queries are words, an equation of the corpus, and units of an unknown equation."""
    overlap = UnitOverlap(corpus)
    stream = training_stream(corpus)
    for idf in (True, False):
        ranker = ContextMeans(models["eqemb"], corpus, stream, overlap, window=8, idf=idf)
        for topic in range(TOPICS):
            unknown = Query(EQUATION_QUERY, "", form="new", units=(f"t{topic}u0", f"t{topic}u1"))
            assert first(corpus, ranker, asked(topic)) == topic
            assert first(corpus, ranker, unknown) == topic
    known = ranker.scores(Query(EQUATION_QUERY, "", occurrence=7))
    assert known.argmax() == 7


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("other", [False, True])
def test_models_find_the_topic(
    corpus: Corpus, models: dict[str, Embeddings], name: str, *, other: bool
) -> None:
    """Queries are words and an equation of the corpus, in both pairings."""
    ranker = ModelRanker(name, models[name], corpus, UnitOverlap(corpus), other=other)
    for topic in range(TOPICS):
        if name != "b-emb" or not other:
            assert first(corpus, ranker, asked(topic)) == topic
        own = Query(EQUATION_QUERY, "", form=form(topic, 0), units=(f"t{topic}u0",))
        assert first(corpus, ranker, own) == topic


@pytest.mark.parametrize("name", MODELS)
def test_an_unknown_equation_is_found_by_its_units(
    corpus: Corpus, models: dict[str, Embeddings], name: str
) -> None:
    """Models with units fold it in; others use the mean of the most similar equations."""
    ranker = ModelRanker(name, models[name], corpus, UnitOverlap(corpus), other=True)
    for topic in range(TOPICS):
        units = (f"t{topic}u0", f"t{topic}u1", f"t{topic}u2", "never-met")
        assert first(corpus, ranker, Query(EQUATION_QUERY, "", form="new", units=units)) == topic


def test_a_model_of_another_corpus_is_rejected(models: dict[str, Embeddings]) -> None:
    """Its rows belong to other equations."""
    strange = planted(seed=5)
    with pytest.raises(UsageError, match="another corpus"):
        ModelRanker("eqemb", models["eqemb"], strange, UnitOverlap(strange))


def test_an_article_has_one_score(corpus: Corpus, models: dict[str, Embeddings]) -> None:
    """The control scores all equations of an article alike; equation vectors separate them."""
    model = models["eqemb-h"]
    alone = ArticleRanker("article vector", model, corpus).scores(asked(0))
    both = ArticleRanker("both", model, corpus, equations=True).scores(asked(0))
    own = corpus.equation_articles == 0
    assert len(np.unique(alone[own])) == 1
    assert len(np.unique(both[own])) > 1
    assert topic_of(corpus.forms[corpus.equation_types[alone.argmax()]]) == 0


def test_an_encoder_encodes_each_text_once() -> None:
    """Texts that repeat are encoded once, and before the first query."""
    calls: list[list[str]] = []

    def encode(texts: list[str]) -> Any:
        calls.append(texts)
        return np.array([[text.count("a"), text.count("b")] for text in texts], np.float32)

    ranker = SentenceEncoder(encode, ["aab", "b", "aab"])
    assert ranker.scores(word_query("aa")).argmax() == 0
    assert ranker.scores(word_query("bb")).argmax() == 1
    assert calls == [["aab", "b"], ["aa"], ["bb"]]


def test_a_library_encoder_scores_the_equations_of_the_corpus(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words are compared with the text or with the LaTeX, equations with the LaTeX."""
    module = ModuleType("letters")
    vars(module)["encode"] = lambda texts: np.array(
        [[text.count(letter) for letter in string.ascii_letters] for text in texts], float
    )
    monkeypatch.setitem(sys.modules, "letters", module)
    corpus, encoder = corpus_of(library), library.encoder("letters:encode")
    rows = rankers.corpus_rows(library.engine, corpus)
    around, latex = (LibraryEncoder(encoder, rows, latex=side) for side in (False, True))
    assert around.answers == {WORD_QUERY}
    names = list(corpus.equation_names)
    formula = r"F = \frac{2PR}{P+R}"
    for query in (word_query(formula), Query(EQUATION_QUERY, formula)):
        found = dict(zip(names, latex.scores(query), strict=True))
        assert found["means#1"] == pytest.approx(1.0, abs=1e-3)
        assert found["angles#1"] < 0.9
    hits = library.search("angle", by="encoder", encoder="letters:encode")
    found = dict(zip(names, around.scores(word_query("angle")), strict=True))
    assert {hit.equation.id: pytest.approx(hit.score) for hit in hits}.items() <= found.items()
    whole = {each.name: each for each in search_rankers(library.engine, corpus, encoder)}
    for query, hits in (
        (word_query("cosine"), library.search("cosine", encoder="letters:encode")),
        (equation_query(formula), library.similar(formula, encoder="letters:encode")),
    ):
        scores = dict(zip(names, whole["eqemb search + encoder"].scores(query), strict=True))
        assert len(hits)
        for hit in hits:
            assert scores[hit.equation.id] == pytest.approx(hit.score, rel=1e-5)


def test_equations_without_a_vector_rank_last() -> None:
    """A cosine of 0 would rank them in the middle."""
    vectors = np.array([[1.0, 0.0], [0.0, 0.0], [-1.0, 0.0]], np.float32)
    assert np.argsort(-UnitMatrix(vectors).cosines(np.array([1.0, 0.0]))).tolist() == [0, 2, 1]


class Fixed:
    """A ranker with fixed scores."""

    name = "fixed"

    def __init__(self, *scores: float, kind: str = WORD_QUERY) -> None:
        self._scores, self.answers = np.array(scores), frozenset({kind})

    def scores(self, query: Query) -> Any:
        """Return the fixed scores."""
        del query
        return self._scores


def test_a_combination_weighs_z_scores() -> None:
    """Weights matter, scales do not; rankers that do not support the query are left out."""
    one, other = Fixed(0.0, 1.0, 2.0), Fixed(300.0, 200.0, 100.0)
    query = word_query("a")
    assert Combination({one: 1.0, other: 1.0}).scores(query) == pytest.approx([0, 0, 0])
    assert Combination({one: 2.0, other: 1.0}).scores(query).argmax() == 2
    both = Combination({one: 1.0, Fixed(9.0, 0.0, 0.0, kind=EQUATION_QUERY): 5.0})
    assert both.scores(query).argmax() == 2
    assert both.answers == {WORD_QUERY, EQUATION_QUERY}
    assert z_scores(np.ones(3)).tolist() == [0, 0, 0]


def test_contexts_weigh_words_by_distance() -> None:
    """The words next to an equation have distance 1; repeated words add up."""
    words = np.array([0, 1, 2, 1])
    rows, owners, weights, lengths = rankers.contexts(words, [1])
    found = dict(zip(rows.tolist(), weights.tolist(), strict=True))
    assert found == pytest.approx({0: 1.0, 1: 1.0 + 3**-0.5, 2: 2**-0.5})
    assert owners.tolist() == [0, 0, 0]
    assert lengths.tolist() == pytest.approx([sum(found.values())])


def test_contexts_end_at_the_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words further away than the reach are ignored."""
    monkeypatch.setattr(wording, "CONTEXT_REACH", 1)
    rows, _, _, _ = rankers.contexts(np.arange(6), [3])
    assert rows.tolist() == [2, 3]


def test_an_equation_alone_has_no_context() -> None:
    """Without words there are no postings."""
    rows, owners, _, lengths = rankers.contexts(np.empty(0, np.int64), [0, 0])
    assert len(rows) == len(owners) == 0
    assert lengths.tolist() == [0, 0]
