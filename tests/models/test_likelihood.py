"""Scores of held-out words: chance lines, both readings, temperature and ties."""

import numpy as np
import pytest

from eqemb.models import likelihood
from eqemb.models.likelihood import HeldOutScores

RANDOM = np.random.default_rng(0)
NOISY = HeldOutScores(RANDOM.normal(1.0, 2.0, 400), RANDOM.normal(0.0, 2.0, (400, 5)))


@pytest.mark.parametrize(("n", "expected"), [(3, -1.67), (5, -1.97), (10, -2.49), (20, -3.09)])
def test_the_zero_line(n: int, expected: float) -> None:
    """Vectors of zeros score what the specification says, for each number of negatives."""
    line = likelihood.means(likelihood.zero(7, n))
    assert line.softmax == pytest.approx(expected, abs=0.005)
    assert line.logistic == pytest.approx(-2 * np.log(2))
    assert line.predictive == pytest.approx(-np.log(n + 1))
    assert line.accuracy == 0.5


def test_softmax_by_hand() -> None:
    """One word, two negatives: p = 2/4, 1/4, 1/4."""
    scored = HeldOutScores(np.log([2.0]), np.log([[1.0, 1.0]]))
    assert likelihood.predictive(scored)[0] == pytest.approx(np.log(0.5))
    assert likelihood.softmax(scored)[0] == pytest.approx(np.log(0.5) + np.log(0.75))


def test_logistic_by_hand() -> None:
    """A word adds log sigma(s), negatives the mean of log(1 - sigma)."""
    scored = HeldOutScores(np.array([1.0]), np.array([[0.0, 2.0]]))
    expected = -np.log1p(np.exp(-1)) - (np.log(2) + np.log1p(np.exp(2))) / 2
    assert likelihood.logistic(scored)[0] == pytest.approx(expected)


def test_scores_are_products_of_rho_and_context() -> None:
    """Each word's and each negative's rho with the row's own context."""
    rho = np.array([[1.0, 0.0], [0.0, 2.0]], np.float32)
    context = np.array([[3.0, 5.0], [1.0, 1.0]], np.float32)
    words = np.array([0, 1], np.int32)
    found = likelihood.score(rho, words, np.array([[1], [0]], np.int32), context)
    assert found.word.tolist() == [3.0, 2.0]
    assert found.negatives.tolist() == [[10.0], [1.0]]


def test_huge_scores_stay_finite() -> None:
    """Certain and wrong costs much, not everything."""
    line = likelihood.means(HeldOutScores(np.array([-1e4]), np.array([[1e4, 0.0]])))
    assert np.isfinite(line).all()


def test_ties_count_half() -> None:
    """Accuracy of equal scores is chance."""
    scored = HeldOutScores(np.array([1.0]), np.array([[1.0, 0.0, 2.0, 0.5]]))
    assert likelihood.accuracy(scored)[0] == pytest.approx(0.625)


def test_temperature_can_only_help() -> None:
    """The fitted factor scores at least as well as none, and undoes a scale."""
    plain = likelihood.fit_temperature(NOISY)
    assert likelihood.softmax(NOISY.scaled(plain)).mean() >= likelihood.softmax(NOISY).mean()
    assert likelihood.fit_temperature(NOISY.scaled(10.0)) == pytest.approx(plain / 10, rel=1e-3)


def test_a_constant_lifts_the_logistic_reading() -> None:
    """Scores known up to a constant get the best one."""
    shift = likelihood.fit_constant(NOISY)
    assert likelihood.fit_constant(NOISY.scaled(1.0, 3.0)) == pytest.approx(shift - 3, abs=1e-3)


def test_unigram_beats_zero_on_its_own_negatives() -> None:
    """Words drawn by frequency, negatives by frequency^0.75."""
    counts = np.array([1000, 300, 100, 30, 10, 3])
    share = counts / counts.sum()
    damped = counts**0.75 / (counts**0.75).sum()
    words = RANDOM.choice(6, 20_000, p=share).astype(np.int32)
    negatives = RANDOM.choice(6, (20_000, 5), p=damped).astype(np.int32)
    line = likelihood.means(likelihood.unigram(counts, words, negatives))
    assert line.predictive > likelihood.means(likelihood.zero(1, 5)).predictive
    other = likelihood.unigram(counts, words, negatives).scaled(2.0)
    assert line.predictive > likelihood.means(other).predictive


def test_a_sure_negative_loses_no_digits() -> None:
    """log(1 - p) of a negative that takes nearly all: the sum of the others, not a difference."""
    found = likelihood.softmax(likelihood.HeldOutScores(np.array([0.0]), np.array([[60.0, 1.0]])))
    rest = np.log1p(np.e) - 60.0  # of the first negative; the second has next to nothing
    assert found[0] == pytest.approx(-60.0 + (rest + np.log1p(-np.exp(-59.0))) / 2, abs=1e-9)
