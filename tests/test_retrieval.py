"""Retrieval: topics, pools and scores by grades, on corpora with known answers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqemb import retrieval
from eqemb.corpus import Corpus
from eqemb.errors import UsageError
from eqemb.rankers import EQUATION, WORDS, Query, in_words
from eqemb.retrieval import Topic
from planted import planted, topic_of, word

TOPICS = """
[[topic]]
id = "W01"
kind = "words"
query = "cosine of two vectors"
want = "the cosine"
[[topic]]
id = "E02"
kind = "equation"
query = 'a = b + c'
"""


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """Topics, each with its words, equations and units."""
    return planted(articles=20, length=60)


def test_topics_are_read(tmp_path: Path) -> None:
    """Words as words, equations as their units; odd numbers are for development."""
    (tmp_path / "topics.toml").write_text(TOPICS)
    one, other = retrieval.read_topics(tmp_path / "topics.toml")
    assert one.query.words == ("cosine", "of", "two", "vectors")
    assert (one.id, one.want, one.is_development) == ("W01", "the cosine", True)
    assert other.query.kind == EQUATION
    assert other.query.units
    assert not other.is_development


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "no topics"),
        ("[[topic", "no topics"),
        ("[[topic]]\nid = 'a'\nkind = 'word'\nquery = 'x'", "needs id, kind"),
        ("[[topic]]\nid = 'a'\nkind = 'words'", "needs id, kind"),
        (TOPICS + TOPICS, "same id"),
    ],
)
def test_bad_topics_get_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    """What is wrong is said, with the file."""
    (tmp_path / "topics.toml").write_text(text)
    with pytest.raises(UsageError, match=said):
        retrieval.read_topics(tmp_path / "topics.toml")


def test_our_own_topics_are_whole() -> None:
    """Thirty in words and thirty equations, half of each for development."""
    found = retrieval.read_topics(Path(__file__).parents[1] / "benchmarks/judged/topics.toml")
    for kind in (WORDS, EQUATION):
        mine = [topic for topic in found if topic.query.kind == kind]
        assert len(mine) == 30
        assert sum(topic.is_development for topic in mine) == 15
        assert all(topic.want and topic.grades for topic in mine)


def test_the_top_has_one_of_each_type(corpus: Corpus) -> None:
    """The best occurrence stands for its type; ties go from Z to A; the query is left out."""
    scores = np.zeros(len(corpus.equation_types))
    same = np.flatnonzero(corpus.equation_types == corpus.equation_types[5])
    assert len(same) > 1
    scores[same] = 2.0
    scores[same[0]] = 3.0
    found = retrieval.top(corpus, scores, 4)
    names = [corpus.equation_names[at] for at in same]
    assert next(iter(found)) == names[0]
    assert not set(found) & set(names[1:])
    assert list(found)[1:] == sorted(list(found)[1:], reverse=True)
    without = retrieval.top(corpus, scores, 4, besides=int(same[0]))
    assert next(iter(without)) == max(names[1:])


class Oracle:
    """Scores the equations of a topic above all others."""

    answers = frozenset({WORDS})

    def __init__(self, corpus: Corpus, topic: int, name: str = "oracle") -> None:
        kinds = np.array([topic_of(form) for form in corpus.forms])[corpus.equation_types]
        self.name, self._scores = name, (kinds == topic) * 1.0

    def scores(self, query: Query) -> Any:
        """The same for all that is asked."""
        del query
        return self._scores


def test_a_run_holds_what_a_ranker_can_answer(corpus: Corpus) -> None:
    """Other kinds of topics are not in it."""
    topics = [Topic("W1", in_words(word(0, 0))), Topic("E1", Query(EQUATION, "x"))]
    found = retrieval.run(corpus, Oracle(corpus, 0), topics, 5)
    assert list(found) == ["W1"]
    assert len(found["W1"]) == 5
