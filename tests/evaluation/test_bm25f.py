"""BM25F: the formula, fields that are left out, and settings chosen on development topics."""

import math

import numpy as np
import pytest

from eqemb.evaluation import bm25f
from eqemb.evaluation.bm25f import AROUND, START, Bm25F, FieldCounts
from eqemb.evaluation.judged_topics import JudgedTopics, Topic
from eqemb.evaluation.rankers import word_query
from eqemb.facade.library import Library
from eqemb.index.text import FIELDS
from eqemb.models.workspace import corpus as corpus_of
from synthetic import papers


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Three papers: a word is in the text of one, in the label of another, in none of the third."""
    folder = papers(
        tmp_path_factory.mktemp("fields") / "papers",
        one=r"An entropy is meant. Much more is said of it in other chapters and papers. The number"
        r" of bits is \[ H = -\sum_i p_i \log p_i \] for a source.",
        three=r"A matrix is symmetric: \[ A = A^T \] and real.",
        two=r"The loss is \begin{equation}\label{eq:crossEntropy} L = -\log q \end{equation} here.",
    )
    return Library.read([folder], folder.with_name("library"), jobs=1, index=True)


@pytest.fixture(scope="module")
def counts(library: Library) -> FieldCounts:
    """Count the stems of every field."""
    return FieldCounts(library, corpus_of(library))


def test_scores_match_the_formula(counts: FieldCounts) -> None:
    """Frequencies are normalised by length in each field, weighted, summed and saturated."""
    settings = START | {"k1": 0.7, "b": 0.4, "label": 2.0}
    row = counts.rows(word_query("entropy"))[0]
    total = np.zeros(counts.size)
    for name, matrix in counts.matrices.items():
        dense = matrix.toarray()
        length = dense.sum(axis=1)
        norm = 0.6 + 0.4 * length / max(length.mean(), 1e-12)
        total += settings.get(name, 1.0) * dense[:, row] / norm
    having = int((total > 0).sum())
    assert having == 2
    expected = math.log1p((3 - having + 0.5) / (having + 0.5)) * total / (total + 0.7)
    assert Bm25F(counts, settings).scores(word_query("entropies")) == pytest.approx(expected)


def test_a_field_can_be_left_out(counts: FieldCounts) -> None:
    """By a weight of 0, or because a task has its answers there; unknown words score 0."""
    query = word_query("entropy zebra")
    assert (Bm25F(counts).scores(query) > 0).tolist() == [True, False, True]
    for ranker in (Bm25F(counts, START | {"label": 0.0}), Bm25F(counts, without="label")):
        assert (ranker.scores(query) > 0).tolist() == [True, False, False]
    assert set(counts.matrices) == {AROUND, *FIELDS}


def test_settings_are_chosen_on_development_topics_only(
    library: Library, counts: FieldCounts
) -> None:
    """They follow the grades of odd topics; grades of test topics change nothing."""
    corpus = corpus_of(library)
    topics = [Topic("W1", word_query("entropy")), Topic("W2", word_query("entropy"))]
    grades = {"W1": {"two#1": 3.0, "one#1": 0.0}, "W2": {"two#1": 3.0, "one#1": 0.0}}
    chosen = bm25f.tune(JudgedTopics(corpus, topics, grades), counts)
    best = Bm25F(counts, chosen).scores(topics[0].query)
    assert corpus.equation_names[int(best.argmax())] == "two#1"
    grades["W2"] = {"two#1": 0.0, "one#1": 3.0}
    assert bm25f.tune(JudgedTopics(corpus, topics, grades), counts) == chosen
    assert all(chosen[name] in values for name, values in bm25f.TRIED.items())
    grades["W1"] = {"two#1": 0.0, "one#1": 3.0}
    other = bm25f.tune(JudgedTopics(corpus, topics, grades), counts)
    best = Bm25F(counts, other).scores(topics[0].query)
    assert corpus.equation_names[int(best.argmax())] == "one#1"
