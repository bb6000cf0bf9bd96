"""A corpus whose answers are known: words, equations and units of a topic stand together."""

import numpy as np

from eqemb.corpus.corpus import Corpus, EquationToken, TokenStream
from eqemb.corpus.vocabulary import Rules

TOPICS, WORDS, UNITS, TYPES = 4, 12, 6, 8
ALL = Rules(min_count=1, top=0, min_length=1, stop_words=False)


def word(topic: int, index: int) -> str:
    """The index-th word of a topic."""
    return f"t{topic}w{index:02}"


def form(topic: int, index: int) -> str:
    """The index-th equation of a topic."""
    return f"t{topic}e{index}"


def topic_of(key: str) -> int:
    """The topic of a word, equation or unit."""
    return int(key[1])


def planted(seed: int = 0, articles: int = 120, length: int = 120) -> Corpus:
    """Each article is of one topic; two words in five are of any.

    So few words do not settle the topic, and an equation has something to add.
    """
    random = np.random.default_rng(seed)

    def stream(topic: int) -> TokenStream:
        for position in range(length):
            other = int(random.integers(TOPICS)) if random.random() < 0.4 else topic
            yield word(other, int(random.integers(WORDS)))
            if position % 10 == 5:
                yield _formula(topic, int(random.integers(TYPES)))

    return Corpus.build([(f"a{i}", "", stream(i % TOPICS)) for i in range(articles)], ALL)


def _formula(topic: int, index: int) -> EquationToken:
    units = [f"t{topic}u{(index + step) % UNITS}" for step in range(3 + index % 3)]
    return EquationToken(form(topic, index), units)
