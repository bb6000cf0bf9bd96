"""The second pass's arrays, made by hand and checked by hand; watching and interleaving."""

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from eqemb.corpus.corpus import Corpus, EquationToken
from eqemb.corpus.split import TrainingStream, training_stream
from eqemb.corpus.vocabulary import Rules
from eqemb.errors import EqembError
from eqemb.models import features
from eqemb.models.checkpoint import EarlyStopping, TrainingRun
from eqemb.models.eqemb_u import interleaved
from eqemb.models.pooling import pool_bags, singleton_bags, unit_bags

ALL = Rules(min_count=1, top=0, min_length=1, stop_words=False)
A, B = EquationToken("a", ["x", "y"]), EquationToken("b", ["y"])


def make() -> tuple[Corpus, TrainingStream]:
    """w0 w1 [a] w2 [b] w3 w4 | [a] | w5 [b][b]."""
    articles: list[list[str | EquationToken]] = [
        ["w0", "w1", A, "w2", B, "w3", "w4"],
        [A],
        ["w5", B, B],
    ]
    corpus = Corpus.build([(str(i), "", items) for i, items in enumerate(articles)], ALL)
    return corpus, training_stream(corpus)


def single(corpus: Corpus) -> features.Members:
    """Every type has a row of its own."""
    return features.Members(singleton_bags(2), corpus.equation_types[:, None])


def test_words_near_equations() -> None:
    """E = 2: one word on each side; equations side by side both count."""
    corpus, stream = make()
    near = features.near(stream, single(corpus), 2)
    assert near.positions.tolist() == [1, 2, 3, 5]
    assert near.starts.tolist() == [0, 1, 3, 4, 6]
    assert near.types.tolist() == [0, 0, 1, 1, 1, 1]


def test_wider_windows_end_with_the_article() -> None:
    """E = 8 reaches all of the first article and nothing beyond."""
    corpus, stream = make()
    near = features.near(stream, single(corpus), 8)
    assert near.positions.tolist() == [0, 1, 2, 3, 4, 5]
    assert np.diff(near.starts).tolist() == [2, 2, 2, 2, 2, 2]


def test_context_sums_add_the_words_around() -> None:
    """An equation's context is its E words, none in an article without words."""
    _, stream = make()
    alpha = np.eye(6, dtype=np.float32)
    sums = features.context_sums(alpha, stream, 4)
    words = [np.flatnonzero(row).tolist() for row in sums]
    assert words == [[0, 1, 2, 3], [1, 2, 3, 4], [], [5], [5]]


def test_zeros_are_of_other_types() -> None:
    """Drawn from all other occurrences, and only from them."""
    ids = np.array([0, 1, 0, 1, 1, 2], np.int32)
    zeros = features.context_zeros(ids, 200, seed=1)
    for own, row in zip(ids, zeros, strict=True):
        assert set(row.tolist()) == set(np.flatnonzero(ids != own).tolist())


@pytest.mark.parametrize("ids", [[], [4, 4, 4]])
def test_one_type_alone_has_no_zeros(ids: list[int]) -> None:
    """No other context, no zero."""
    assert features.context_zeros(np.array(ids, np.int32), 5, seed=0).shape == (len(ids), 0)


def test_occurrences_are_sorted_by_type() -> None:
    """Each type finds its own occurrences; a type without any has none."""
    made = features.contexts(np.zeros((3, 2), np.float32), np.array([2, 0, 2], np.int32), 3,
                             np.zeros((3, 0), np.int64))  # fmt: skip
    assert made.starts.tolist() == [0, 1, 1, 3]
    assert made.occurrences.tolist() == [1, 0, 2]


@pytest.mark.parametrize(("pooling", "first"), [("sum", 3), ("mean", 1.5), ("root", 3 / 2**0.5)])
def test_pooling(pooling: str, first: float) -> None:
    """The sum of two units, their mean, their sum over the root of two; no units, no vector."""
    bags = unit_bags(np.array([0, 2, 2]), np.array([0, 1], np.int32), 2, pooling)
    found = pool_bags(np.array([[1], [2]], np.float32), bags)
    np.testing.assert_allclose(found[:, 0], [first, 0], rtol=1e-6)


def test_shuffled_units_are_the_same_bags_elsewhere() -> None:
    """A permutation of whole bags."""
    starts, ids = np.cumsum([0, 1, 2, 3, 4, 5]), np.arange(15, dtype=np.int32)
    moved = features.shuffled(starts, ids, seed=0)
    before, after = (
        [tuple(flat[low:high]) for low, high in pairwise(at)] for at, flat in ((starts, ids), moved)
    )
    assert sorted(before) == sorted(after)
    assert before != after


def test_units_as_a_text() -> None:
    """Every occurrence is an article of units."""
    corpus, stream = make()
    bags = unit_bags(corpus.unit_starts, corpus.unit_ids, 2, "mean")
    text, held = features.unit_texts(stream, bags, 0, hold_out=False)
    assert [corpus.units[unit] for unit in text.tokens] == ["x", "y", "y", "x", "y", "y", "y"]
    assert text.starts.tolist() == [0, 2, 3, 5, 6, 7]
    assert not len(held.tokens)


def test_a_twentieth_of_types_is_held_out_of_units() -> None:
    """Whole types, none of them in both texts."""
    size = 2000
    types = np.arange(size, dtype=np.int32)
    stream = make()[1]._replace(equation_types=types)
    bags = singleton_bags(size)
    text, held = features.unit_texts(stream, bags, 0, hold_out=True)
    assert 60 < len(held.tokens) < 140
    assert sorted([*text.tokens, *held.tokens]) == types.tolist()


def test_equations_as_tokens() -> None:
    """Each takes a word slot of its own, in reading order."""
    corpus, stream = make()
    joined = features.with_tokens(stream, 6, 2)
    assert joined.tokens.tolist() == [0, 1, 6, 2, 7, 3, 4, 6, 5, 7, 7]
    assert joined.starts.tolist() == [0, 7, 8, 11]
    assert joined.counts.tolist() == [1, 1, 1, 1, 1, 1, 2, 3]
    assert len(corpus.tokens) == 6


def test_a_watch_keeps_the_best_and_has_patience() -> None:
    """It stops after as many worse scores in a row as it has patience."""
    watch = EarlyStopping([], patience=2)
    seen = [watch.see(score, at) for at, score in enumerate([1.0, 0.5, 2.0, 1.9, 2.0, 9.0], 1)]
    assert seen == [True, False, True, False, False, False]
    assert (watch.best, watch.iteration, watch.stopped) == (2.0, 3, True)


def test_a_watch_without_scores_keeps_the_last() -> None:
    """Nothing to compare: every iteration is the best."""
    watch = EarlyStopping([])
    assert all(watch.see(None, iteration) for iteration in (1, 2, 3))
    assert watch.iteration == 3


def test_an_attempt_keeps_best_arrays_apart(tmp_path: Path) -> None:
    """Two arrays with their own best iterations; a checkpoint holds both."""
    file = tmp_path / "deep" / "checkpoint"
    attempt = TrainingRun.start("me", file, resume=True)
    made = {"one": np.zeros(1, np.float32), "two": np.zeros(1, np.float32)}
    attempt.enter("stage", made, {name: EarlyStopping([name]) for name in made})

    def step(iteration: int) -> dict[str, float]:
        for array in attempt.arrays.values():
            array[:] = iteration
        return {"loss": 0.0}

    scores = {"one": iter([1.0, 0.0, 0.0, 0.0]), "two": iter([1.0, 2.0, 3.0, 0.0])}
    judges = {name: values.__next__ for name, values in scores.items()}
    attempt.iterate(9, step, judges, None, 1)
    assert {name: array.item() for name, array in attempt.arrays.items()} == {"one": 1, "two": 3}
    again = TrainingRun.start("me", file, resume=True)
    assert again.done("stage")
    assert again.arrays["two"].item() == 3
    assert len(again.history) == 4
    assert not [path for path in file.parent.iterdir() if path != file]


def test_a_loss_that_is_no_number_ends_the_run() -> None:
    """At once, with the remedy."""
    attempt = TrainingRun("me")
    attempt.enter("units", {}, {"x": EarlyStopping([])})
    with pytest.raises(EqembError, match="smaller equation_rate"):
        attempt.iterate(5, lambda _: {"b": math.nan}, {"x": lambda: None}, None, 1)


@pytest.mark.parametrize(("words", "units"), [(0, 10), (100, 10), (10, 100), (35, 77), (16, 16)])
def test_two_texts_end_together(words: int, units: int) -> None:
    """Spans cover each text once, at multiples of the batch."""
    spans = interleaved(words, units, 8)
    for which, size in enumerate((words, units)):
        edges = [span[which] for span in spans]
        assert edges[0][0] == 0
        assert edges[-1][1] == size
        assert all(one[1] == other[0] for one, other in pairwise(edges))
        assert all(low % 8 == 0 or low == size for low, _ in edges)


def test_first_vectors_depend_on_the_seed() -> None:
    """Normal numbers over K, the same for the same seed."""
    one, again, other = (features.initial(seed, 0, 400, 50, 1.0) for seed in (1, 1, 2))
    assert one.tobytes() == again.tobytes() != other.tobytes()
    assert one.std() == pytest.approx(1 / 50, rel=0.05)


def test_only_what_occurrences_need_is_pooled() -> None:
    """The sums are those of pooling every bag, to the last bit."""
    random = np.random.default_rng(0)
    sizes = random.integers(0, 5, 12)
    starts = np.r_[0, np.cumsum(sizes)].astype(np.int64)
    bags = unit_bags(starts, random.integers(0, 9, starts[-1]).astype(np.int32), 9, "mean")
    ids = random.integers(0, 8, (6, 2)).astype(np.int32)
    articles, owners = np.array([9, 11], np.int32), np.array([0, 0, 0, 1, 1, 1])
    rows = random.standard_normal((9, 4)).astype(np.float32)
    every, asked = pool_bags(rows, bags), np.array([5, 0, 2, 2])
    alone = every[ids[asked]].sum(axis=1)
    of = features.Added(features.Members(bags, ids), asked).of
    assert np.array_equal(of(rows), alone)
    members = features.Members(bags, ids, articles, owners)
    assert np.array_equal(
        features.Added(members, asked).of(rows), alone + every[articles[owners[asked]]]
    )
