"""The training steps: the reference against finite differences, the CPU against the reference.

`BACK_ENDS` is the table of implementations; what every one must do is tested on each.
"""

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

from eqemb.kernels import cpu, draws, loops, reference
from eqemb.kernels.arrays import Contexts, Near, Noise, Offsets, Rows, Rule, TextArrays, Vectors

BACK_ENDS = [reference, cpu]
each = pytest.mark.parametrize("back_end", BACK_ENDS, ids=["reference", "cpu"])
RULE = Rule(
    window=4,
    negatives=5,
    block=8,
    batch=64,
    zero_weight=0.5,
    rate=0.1,
    key=draws.key(3, 1, 1),
)
V, K = 23, 7


def make_text(lengths: list[int], size: int = V, seed: int = 0) -> TextArrays:
    """A random text in articles of the given lengths, every word seen."""
    tokens = np.random.default_rng(seed).integers(0, size, sum(lengths)).astype(np.int32)
    starts = np.cumsum([0, *lengths])
    return TextArrays(tokens, starts, draws.noise_table(np.bincount(tokens, minlength=size) + 1))


def make_vectors(size: int = V, dim: int = K, dtype: Any = np.float32) -> Vectors:
    """Random vectors, large enough for scores on both sides; no history."""
    random = np.random.default_rng(1)
    rho, alpha = (random.normal(0, 0.5, (size, dim)).astype(dtype) for _ in range(2))
    return Vectors(rho, alpha, np.zeros_like(rho), np.zeros_like(rho))


class Second(NamedTuple):
    """What a second pass reads and changes."""

    rows: Rows
    words: Vectors
    text: TextArrays
    near: Near


def make_second(pooling: str = "mean", dtype: Any = np.float32) -> Second:
    """Forty words, five equations of three types around which words are near."""
    text = make_text([25, 1, 14])
    bags = [[0, 1, 1], [2], [3, 1]]  # units of the types; the first has one twice
    sizes = np.array([len(bag) for bag in bags])
    scale = {"sum": sizes**0.0, "mean": 1.0 / sizes, "root": sizes**-0.5}[pooling]
    found: dict[int, list[int]] = {}
    for position, type_, low, high in [(5, 0, 0, 25), (7, 1, 0, 25), (7, 1, 0, 25), (24, 2, 0, 25),
                                       (30, 0, 26, 40)]:  # fmt: skip
        for word in range(max(low, position - 4), min(high, position + 4)):
            found.setdefault(word, []).append(type_)
    positions = np.array(sorted(found))
    near = Near(
        positions,
        np.cumsum([0, *(len(found[place]) for place in positions)]),
        np.concatenate([found[place] for place in positions]).astype(np.int32),
        np.cumsum([0, *sizes]),
        np.concatenate(bags).astype(np.int32),
        scale.astype(np.float32),
    )
    random = np.random.default_rng(2)
    vectors = random.normal(size=(4, K)).astype(dtype)
    return Second(Rows(vectors, np.zeros_like(vectors)), make_vectors(), text, near)


def make_contexts(dtype: Any = np.float32) -> tuple[Rows, Contexts]:
    """Five occurrences of three types, with two zeros each."""
    random = np.random.default_rng(3)
    sums = random.normal(size=(5, K)).astype(dtype)
    zeros = np.array([[1, 2], [0, 3], [4, 0], [1, 2], [2, 2]])
    contexts = Contexts(sums, np.array([0, 2, 3, 5]), np.array([0, 3, 1, 2, 4]), zeros)
    return Rows(random.normal(size=(3, K)).astype(dtype), np.zeros((3, K), dtype)), contexts


def assert_close(one: tuple[np.ndarray, ...], other: tuple[np.ndarray, ...]) -> None:
    """Equal to 1e-5 of the largest number."""
    for left, right in zip(one, other, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-5 * float(np.abs(left).max()))


# Draws


def test_numba_draws_what_numpy_draws() -> None:
    """The same (seed, pass, iteration, block, slot) gives the same row everywhere."""
    noise = draws.noise_table(np.array([5, 0, 1, 90, 3, 3, 17]))
    key, out = draws.key(2**63 + 5, 2, 7), np.empty((1000, 9), np.int32)
    loops.draw(np.uint64(key), 123, noise, out)
    np.testing.assert_array_equal(out, draws.zeros(key, np.arange(123, 1123), 9, noise))


def test_draws_follow_the_powered_counts() -> None:
    """A row is drawn in proportion to count ** 0.75, one never seen not at all."""
    counts = np.array([1, 0, 10, 100, 1000])
    drawn = draws.zeros(draws.key(0, 0, 0), np.arange(20_000), 10, draws.noise_table(counts))
    share = np.bincount(drawn.ravel(), minlength=5) / drawn.size
    np.testing.assert_allclose(share, counts**0.75 / (counts**0.75).sum(), atol=0.004)
    assert share[1] == 0


@pytest.mark.parametrize("counts", [[7], [1, 1, 1], [0, 0, 4]])
def test_small_noise_tables(counts: list[int]) -> None:
    """One word, equal words, and words never seen are drawn rightly."""
    drawn = draws.zeros(1, np.arange(300), 3, draws.noise_table(np.array(counts)))
    assert set(drawn.ravel()) == {row for row, count in enumerate(counts) if count}


@pytest.mark.parametrize("changed", [(1, 0, 0), (0, 1, 0), (0, 0, 1)])
def test_every_part_of_the_key_matters(changed: tuple[int, int, int]) -> None:
    """Another seed, pass or iteration draws other zeros."""
    assert draws.key(*changed) != draws.key(0, 0, 0)
    assert len({draws.key(*np.roll((5, 0, 0), turn).tolist()) for turn in range(3)}) == 3


def test_draws_below_a_bound_reach_all_of_it() -> None:
    """Whole numbers below a bound take every value, and no other."""
    drawn = draws.below(draws.bits(4, np.arange(500), 1)[:, 0], np.full(500, 7))
    assert set(drawn) == set(range(7))


# The reference is right


def test_word_gradients_by_finite_differences() -> None:
    """Gradients of rho and alpha are what moving each number a little says."""
    text, vectors = make_text([9, 1, 12]), make_vectors(dtype=np.float64)
    _, rho, alpha = reference.words_gradient(vectors, text, RULE, (0, 22))
    for matrix, gradient in ((vectors.rho, rho), (vectors.alpha, alpha)):
        for at in np.ndindex(*matrix.shape):
            before = matrix[at]
            matrix[at] = before + 1e-5
            up = reference.words_gradient(vectors, text, RULE, (0, 22))[0]
            matrix[at] = before - 1e-5
            down = reference.words_gradient(vectors, text, RULE, (0, 22))[0]
            matrix[at] = before
            assert (up - down) / 2e-5 == pytest.approx(-gradient[at], abs=1e-6)


@pytest.mark.parametrize("pooling", ["sum", "mean", "root"])
def test_bag_gradients_by_finite_differences(pooling: str) -> None:
    """The gradient of equations' rows, whatever the pooling."""
    made = make_second(pooling, np.float64)
    span = (0, len(made.near.positions))
    _, gradient = reference.bags_gradient(*made, RULE, span)
    for at in np.ndindex(*gradient.shape):
        before = made.rows.vectors[at]
        made.rows.vectors[at] = before + 1e-5
        up = reference.bags_gradient(*made, RULE, span)[0]
        made.rows.vectors[at] = before - 1e-5
        down = reference.bags_gradient(*made, RULE, span)[0]
        made.rows.vectors[at] = before
        assert (up - down) / 2e-5 == pytest.approx(-gradient[at], abs=1e-6)


def test_context_gradients_by_finite_differences() -> None:
    """The gradient of equations' rho."""
    rows, contexts = make_contexts(np.float64)
    _, gradient = reference.contexts_gradient(rows, contexts, RULE)
    for at in np.ndindex(*gradient.shape):
        before = rows.vectors[at]
        rows.vectors[at] = before + 1e-5
        up = reference.contexts_gradient(rows, contexts, RULE)[0]
        rows.vectors[at] = before - 1e-5
        down = reference.contexts_gradient(rows, contexts, RULE)[0]
        rows.vectors[at] = before
        assert (up - down) / 2e-5 == pytest.approx(-gradient[at], abs=1e-6)


@each
def test_one_step_by_hand(back_end: ModuleType) -> None:
    """Two words, one dimension: b = sigma(rho alpha), and Adagrad's first step is the rate."""
    noise = Noise(np.array([2**32, 0], np.uint64), np.array([0, 0], np.int32))  # always word 0
    text = TextArrays(np.array([0, 1], np.int32), np.array([0, 2]), noise)
    vectors = Vectors(*(np.array(x, np.float32)[:, None] for x in ([0.5, -1], [2, 3], [0, 0], [0, 0])))  # noqa: E501  # fmt: skip
    rule = RULE._replace(window=2, negatives=1, batch=8, zero_weight=1.0)
    loss = back_end.words_update(vectors, text, rule)
    # word 0: score 0.5 * 3, its zero is itself; word 1: score -1 * 2, its zero scores 0.5 * 2
    first, second, zero = np.log1p(np.exp(-1.5)), np.log1p(np.exp(2)), np.log1p(np.exp(1))
    assert loss == pytest.approx((first + second + zero) / 2, rel=1e-6)
    by_zero = -1 / (1 + np.exp(-1))
    gradient = [3 / (1 + np.exp(1.5)) + 2 * by_zero, 2 / (1 + np.exp(-2))]
    np.testing.assert_allclose(vectors.rho_sum[:, 0], np.square(gradient), rtol=1e-5)
    np.testing.assert_allclose(vectors.rho[:, 0], [0.5 - 0.1, -1 + 0.1], rtol=1e-5)
    by_alpha = [-1 / (1 + np.exp(-2)) + 0.5 * by_zero, 0.5 / (1 + np.exp(1.5))]
    np.testing.assert_allclose(vectors.alpha_sum[:, 0], np.square(by_alpha), rtol=1e-5)


@each
def test_adagrad_sums_gather_squares(back_end: ModuleType) -> None:
    """After two steps a vector has moved by rate g / sqrt(sum of squares), each time."""
    rows, contexts = make_contexts()
    steps, sums = [rows.vectors.copy()], [rows.sums.copy()]
    for _ in range(2):
        back_end.contexts_update(rows, contexts, RULE)
        steps.append(rows.vectors.copy())
        sums.append(rows.sums.copy())
    moved, squares = np.diff(steps, axis=0), np.diff(sums, axis=0)
    np.testing.assert_allclose(np.abs(moved[0]), 0.1, rtol=1e-4)
    expected = 0.1 * np.sqrt(squares[1] / sums[2])
    np.testing.assert_allclose(np.abs(moved[1]), expected, rtol=1e-3, atol=1e-6)


# The CPU equals the reference


@pytest.mark.parametrize("window", [2, 4, 6, 8, 16])
@pytest.mark.parametrize("block", [1, 8, 64])
def test_ten_steps_of_words_equal_the_reference(window: int, block: int) -> None:
    """Loss, vectors and Adagrad sums after one pass of ten batches, and after one batch."""
    text = make_text([1, 0, 1, 90, 3, 400, 0, 124, 2])
    rule = RULE._replace(window=window, block=block)
    for span in [(0, 64), (0, len(text.tokens))]:
        one, other = make_vectors(), make_vectors()
        losses = [
            back_end.words_update(vectors, text, rule, span)
            for back_end, vectors in ((reference, one), (cpu, other))
        ]
        assert losses[0] == pytest.approx(losses[1], rel=1e-5)
        assert_close(one, other)


def test_equations_in_the_contexts_of_words() -> None:
    """What equations add to contexts is part of every score, and takes no gradient itself."""
    text = make_text([90, 3, 400, 124])
    random = np.random.default_rng(4)
    places = np.sort(random.choice(len(text.tokens), 200, replace=False))
    sums = random.normal(size=(200, K)).astype(np.float32)
    text, kept = text._replace(offsets=Offsets(places, sums)), sums.copy()
    one, other, without = make_vectors(), make_vectors(), make_vectors()
    reference.words_update(one, text, RULE)
    cpu.words_update(other, text, RULE, threads=2)
    assert_close(one, other)
    np.testing.assert_array_equal(sums, kept)
    reference.words_update(without, make_text([90, 3, 400, 124]), RULE)
    assert np.abs(one.rho - without.rho).max() > 0.01


@pytest.mark.parametrize("dim", [1, 16, 33])
def test_every_dimension_equals_the_reference(dim: int) -> None:
    """Dimensions that do not fill vector registers."""
    text, one, other = make_text([100]), make_vectors(dim=dim), make_vectors(dim=dim)
    reference.words_update(one, text, RULE)
    cpu.words_update(other, text, RULE)
    assert_close(one, other)


@pytest.mark.parametrize("pooling", ["sum", "mean", "root"])
@pytest.mark.parametrize("whole", [False, True])
def test_ten_steps_of_bags_equal_the_reference(pooling: str, whole: bool) -> None:  # noqa: FBT001
    """The second pass, by minibatches and as one step of the whole."""
    one, other = make_second(pooling), make_second(pooling)
    rule = RULE._replace(batch=8)
    for _ in range(3):
        losses = [
            reference.bags_update(*one, rule, whole=whole),
            cpu.bags_update(*other, rule, whole=whole),
        ]
        assert losses[0] == pytest.approx(losses[1], rel=1e-5)
        assert_close(one.rows, other.rows)
    assert_close(one.words, make_vectors())
    assert_close(other.words, make_vectors())


def test_ten_steps_of_contexts_equal_the_reference() -> None:
    """Every rho of an equation."""
    (one, contexts), (other, _) = make_contexts(), make_contexts()
    for _ in range(10):
        losses = [
            reference.contexts_update(one, contexts, RULE),
            cpu.contexts_update(other, contexts, RULE),
        ]
        assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert_close(one, other)


def test_large_scores_neither_overflow_nor_lose_the_loss() -> None:
    """Scores of some hundreds: sigma is 0 or 1, the loss the score itself."""
    text, one, other = make_text([50]), make_vectors(), make_vectors()
    for vectors in (one, other):
        vectors.rho[:] *= 60
    losses = [m.words_loss(v, text, RULE) for m, v in ((reference, one), (cpu, other))]
    assert np.isfinite(losses).all()
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


# What every back end must do


@each
def test_loss_changes_nothing(back_end: ModuleType) -> None:
    """Each `loss` leaves all vectors as they were and says what `update` says first."""
    text, vectors = make_text([60]), make_vectors()
    loss = back_end.words_loss(vectors, text, RULE)
    assert_close(vectors, make_vectors())
    assert loss == pytest.approx(back_end.words_update(vectors, text, RULE), rel=1e-6)
    made, rows = make_second(), make_second().rows
    loss = back_end.bags_loss(*made, RULE)
    assert_close(made.rows, rows)
    assert loss == pytest.approx(back_end.bags_update(*made, RULE), rel=1e-6)
    pair, contexts = make_contexts()
    loss = back_end.contexts_loss(pair, contexts, RULE)
    assert_close(pair, make_contexts()[0])
    assert loss == pytest.approx(back_end.contexts_update(pair, contexts, RULE), rel=1e-6)


@each
def test_a_zero_equal_to_the_word_weighs_nothing(back_end: ModuleType) -> None:
    """Where only the observed word can be drawn, only its one is learned."""
    text = TextArrays(
        np.zeros(20, np.int32), np.array([0, 20]), draws.noise_table(np.array([1, 0]))
    )
    vectors, plain = make_vectors(2), make_vectors(2)
    loss = back_end.words_update(vectors, text, RULE)
    assert loss == pytest.approx(back_end.words_update(plain, text, RULE._replace(zero_weight=0)))
    assert_close(vectors, plain)


@each
def test_an_article_of_one_word_teaches_nothing(back_end: ModuleType) -> None:
    """An empty context scores 0, and no vector moves, not even by rounding."""
    text, vectors = make_text([1] * 30), make_vectors()
    loss = back_end.words_update(vectors, text, RULE._replace(negatives=0))
    assert loss == pytest.approx(np.log(2), rel=1e-6)
    for now, before in zip(vectors, make_vectors(), strict=True):
        np.testing.assert_array_equal(now, before)


@each
def test_windows_end_with_the_article(back_end: ModuleType) -> None:
    """The same two articles apart and together give the same loss."""
    together = make_text([30, 34])
    parts = [
        together._replace(tokens=together.tokens[:30], starts=np.array([0, 30])),
        together._replace(tokens=together.tokens[30:], starts=np.array([0, 34])),
    ]
    rule, vectors = RULE._replace(negatives=0), make_vectors()
    apart = [back_end.words_loss(vectors, text, rule) for text in parts]
    whole = back_end.words_loss(vectors, together, rule)
    assert whole == pytest.approx((30 * apart[0] + 34 * apart[1]) / 64, rel=1e-6)


@each
def test_alpha_can_be_held_fixed(back_end: ModuleType) -> None:
    """Then rho steps as ever in the first batch, and alpha and its sums stay."""
    text, free, held = make_text([60]), make_vectors(), make_vectors()
    back_end.words_update(free, text, RULE)
    back_end.words_update(held, text, RULE._replace(learn_alpha=False))
    assert_close((free.rho, free.rho_sum), (held.rho, held.rho_sum))
    np.testing.assert_array_equal(held.alpha, make_vectors().alpha)
    assert not held.alpha_sum.any()


@each
def test_a_span_is_a_part_of_the_pass(back_end: ModuleType) -> None:
    """Two spans, one after the other, are the whole pass."""
    text, one, two = make_text([200]), make_vectors(), make_vectors()
    back_end.words_update(one, text, RULE)
    back_end.words_update(two, text, RULE, (0, 128))
    back_end.words_update(two, text, RULE, (128, 200))
    assert_close(one, two)


@each
def test_a_word_sees_every_equation_near_it(back_end: ModuleType) -> None:
    """Two equations in one window, one of them twice, add up in the context."""
    made = make_second("sum")
    place = next(
        place for place in range(len(made.near.positions))
        if made.near.starts[place + 1] - made.near.starts[place] == 3
    )  # fmt: skip
    rule = RULE._replace(negatives=0, batch=8)
    block = place // 8 * 8
    losses = [back_end.bags_loss(*made, rule, (block, end)) * (end - block)
              for end in (place, place + 1) if end > block]  # fmt: skip
    position = made.near.positions[place : place + 1]
    context = reference.window_sums(made.words.alpha, made.text, position, 4)[0]
    context += made.rows.vectors[[0, 1, 1, 2, 2]].sum(0)
    score = made.words.rho[made.text.tokens[position[0]]] @ context
    before = losses[-2] if len(losses) > 1 else 0.0
    assert losses[-1] - before == pytest.approx(np.log1p(np.exp(-score)), rel=1e-4)


@each
def test_whole_steps_do_not_depend_on_batches(back_end: ModuleType) -> None:
    """An equation steps on all its words together, wherever batches end."""
    small, large = make_second(), make_second()
    back_end.bags_update(*small, RULE._replace(batch=8), whole=True)
    back_end.bags_update(*large, RULE._replace(batch=64), whole=True)
    assert_close(small.rows, large.rows)


@each
def test_without_equations_nothing_happens(back_end: ModuleType) -> None:
    """No near position, no step."""
    made = make_second()
    empty = np.empty(0, np.int64)
    near = made.near._replace(positions=empty, starts=np.zeros(1, np.int64), types=empty[:0].astype(np.int32))  # noqa: E501  # fmt: skip
    assert back_end.bags_update(made.rows, made.words, made.text, near, RULE) == 0.0
    assert_close(made.rows, make_second().rows)


# Threads


@pytest.mark.parametrize("threads", [2, 3, 4, 9])
def test_threads_leave_the_same_bytes(threads: int) -> None:
    """Every number of threads gives the bytes of one, in all three conditionals."""
    text = make_text([700, 1, 300, 1500, 0, 77])
    rule = RULE._replace(batch=2048, block=64)
    one, other = make_vectors(), make_vectors()
    seconds, contexts = [make_second(), make_second()], [make_contexts(), make_contexts()]
    for vectors, made, (rows, read), count in zip(
        (one, other), seconds, contexts, (1, threads), strict=True
    ):
        cpu.words_update(vectors, text, rule, None, count)
        cpu.bags_update(*made, RULE._replace(batch=16), threads=count)
        cpu.bags_update(*made, RULE, whole=True, threads=count)
        cpu.contexts_update(rows, read, RULE, count)
    for left, right in zip(
        (*one, *seconds[0].rows, *contexts[0][0]),
        (*other, *seconds[1].rows, *contexts[1][0]),
        strict=True,
    ):
        assert left.tobytes() == right.tobytes()


def test_blas_keeps_its_threads_outside_training() -> None:
    """While a team works BLAS has one thread; afterwards as many as before."""

    def counts() -> list[int]:
        return [library["num_threads"] for library in cpu._blas().info()]

    before = counts()
    assert before
    with cpu.team(2):
        assert set(counts()) == {1}
    assert counts() == before
