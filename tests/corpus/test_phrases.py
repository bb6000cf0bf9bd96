"""Frequent pairs: which are found, where they are joined, and what a corpus makes of them."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqemb.corpus import phrases, vocabulary
from eqemb.corpus.corpus import Corpus, EquationToken, TokenStream
from eqemb.corpus.phrases import Ids, PhrasePairs, Pointers
from eqemb.corpus.vocabulary import Removed, Rules

ALL = Rules(min_count=1, top=0, min_length=1, stop_words=False, phrases=True, phrase_threshold=1.0)
SUM = EquationToken("x+y", ["x", "+", "y"])


def naive(
    articles: list[tuple[list[int], set[int]]], parts: set[int], least: int, threshold: float
) -> tuple[set[tuple[int, int]], list[list[tuple[int, ...]]]]:
    """The definition, word by word: pairs above the threshold, and the articles joined."""
    pairs: dict[tuple[int, int], int] = {}
    single: dict[int, int] = {}
    for words, breaks in articles:
        for at, word in enumerate(words):
            single[word] = single.get(word, 0) + 1
            if at and at not in breaks and {words[at - 1], word} <= parts:
                pairs[words[at - 1], word] = pairs.get((words[at - 1], word), 0) + 1
    total = sum(single.values())
    good = {
        pair
        for pair, count in pairs.items()
        if (count - least) * total / (single[pair[0]] * single[pair[1]]) > threshold
    }
    made = []
    for words, breaks in articles:
        out: list[tuple[int, ...]] = []
        at = 0
        while at < len(words):
            pair = tuple(words[at : at + 2])
            if pair in good and at + 1 not in breaks:
                out.append(pair)
                at += 2
            else:
                out.append((words[at],))
                at += 1
        made.append(out)
    return good, made


ARTICLE = st.tuples(st.lists(st.integers(0, 4), max_size=30), st.sets(st.integers(0, 30)))


@given(
    st.lists(ARTICLE, max_size=4),
    st.sets(st.integers(0, 4)),
    st.integers(0, 3),
    st.sampled_from([0.1, 1.0, 2.0]),
)
def test_pairs_are_those_of_the_definition(
    articles: list[tuple[list[int], set[int]]], parts: set[int], least: int, threshold: float
) -> None:
    """Counting in buckets and joining by runs give what a loop over words gives."""
    articles = [(words, {at for at in breaks if at <= len(words)}) for words, breaks in articles]

    def texts() -> Iterator[tuple[Ids, Pointers]]:
        for words, breaks in articles:
            yield np.array(words, np.int32), np.array(sorted(breaks), np.int64)

    counts = np.bincount([word for words, _ in articles for word in words], minlength=5)
    mask = np.isin(np.arange(5), list(parts))
    pairs = phrases.find(texts, counts, mask, least, threshold)
    good, made = naive(articles, parts, least, threshold)
    assert set(pairs.words) == good
    for (ids, breaks), expected in zip(texts(), made, strict=True):
        first, which = phrases.joined(ids, breaks, pairs)
        found = {at: pairs.words[pair] for at, pair in zip(first.tolist(), which, strict=True)}
        at, rebuilt = 0, []
        while at < len(ids):
            rebuilt.append(found.get(at, (int(ids[at]),)))
            at += len(rebuilt[-1])
        assert rebuilt == expected


def test_runs_are_joined_from_the_left() -> None:
    """Of a a a a a the first two, the next two, and one is left."""
    pairs = PhrasePairs(np.array([0]), np.array([True]))
    first, which = phrases.joined(np.zeros(5, np.int32), np.array([], np.int64), pairs)
    assert first.tolist() == [0, 2]
    assert which.tolist() == [0, 0]


def test_a_pair_becomes_a_word_of_the_corpus() -> None:
    """Joined in both cases of its letters, but not across an equation; places close up."""
    pair: list[str | EquationToken] = ["Neural", "networks", SUM, "learn", SUM]
    text: TokenStream = [*pair, *pair, "neural", SUM, "networks", "NEURAL", "Networks"]
    corpus = Corpus.build([("a", "", text)], ALL)
    assert set(corpus.words) == {"neural_networks", "learn", "neural", "networks"}
    written = [corpus.words[token] for token in corpus.tokens]
    assert written == [
        "neural_networks", "learn", "neural_networks", "learn", "neural", "networks",
        "neural_networks",
    ]  # fmt: skip
    assert corpus.equation_positions.tolist() == [1, 2, 3, 4, 5]
    assert corpus.table[0] == Removed("pairs joined", 1, 3)
    assert sum(row.occurrences for row in corpus.table) == 10, "of all words that were read"
    assert corpus.counts.sum() == 7


def test_pairs_need_letters_and_no_stop_words() -> None:
    """Neither "the model" nor "model 2018" is a phrase."""
    text: TokenStream = ["the", "model", "2018", "other"] * 9
    rules = Rules(min_count=1, top=0, min_length=1, phrases=True, phrase_threshold=0.5)
    assert set(Corpus.build([("a", "", text)], rules).words) == {"model"}
    own = Rules(
        min_count=1, top=0, min_length=1, phrases=True, phrase_threshold=0.5, stop_words=("other",)
    )
    assert set(Corpus.build([("a", "", text)], own).words) == {"the_model"}


def test_pairs_do_not_reach_into_the_next_article() -> None:
    """The last word of one and the first of the other never met."""
    articles: list[tuple[str, str, TokenStream]] = [
        (str(number), "", ["alpha", "omega"][number % 2 : number % 2 + 1]) for number in range(20)
    ]
    assert Corpus.build(articles, ALL).table[0] == Removed("pairs joined", 0, 0)


def test_a_higher_threshold_joins_less() -> None:
    """Both settings decide, and both are part of the corpus."""
    text: TokenStream = ["sparse", "matrix", "dense", "matrix", "sparse", "vector"] * 5
    low, high = (
        Corpus.build(
            [("a", "", text)],
            Rules(min_count=1, top=0, phrases=True, phrase_threshold=threshold),
        )
        for threshold in (1.0, 2.0)
    )
    assert low.table[0].words > high.table[0].words
    assert low.settings["phrase_threshold"] == 1.0
    assert low.sha256 != high.sha256
    assert "pairs joined" not in {row.rule for row in Corpus.build([("a", "", text)]).table}


def test_pairs_of_the_paper_vocabulary_are_nouns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only nouns and adjectives are joined, and a pair passes the rule of tags."""
    monkeypatch.setattr(vocabulary, "paper_tokenizer", lambda: str.split)
    monkeypatch.setattr(
        vocabulary,
        "paper_tagger",
        lambda _: lambda words: ["VV" if word == "learns" else "NN" for word in words],
    )
    text: TokenStream = ["neural", "network", "learns"] * 9
    rules = Rules("paper", min_count=1, top=0, phrases=True, phrase_threshold=1.0)
    corpus = Corpus.build([("a", "", text)], rules)
    assert corpus.words == ["neural_network"]
    assert corpus.table[2] == Removed("no noun or adjective", 1, 9)


def test_an_empty_corpus_has_no_pairs() -> None:
    """Nothing, and articles without words."""
    assert not Corpus.build([], ALL).words
    assert not Corpus.build([("a", "", [SUM])], ALL).words


def test_other_articles_are_joined_by_the_same_pairs() -> None:
    """What is folded in speaks in the words of the corpus; equations still keep words apart."""
    text: TokenStream = ["sparse", "matrix", "theory", SUM] * 3
    corpus = Corpus.build([("a", "", text)], ALL)
    assert set(corpus.words) == {"sparse_matrix", "theory"}
    other = corpus.encode([("b", "", ["Sparse", "matrix", SUM, "sparse", SUM, "matrix", "theory"])])
    assert [corpus.words[token] for token in other.tokens] == ["sparse_matrix", "theory"]
    assert other.equation_positions.tolist() == [1, 1]
