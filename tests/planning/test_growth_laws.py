"""Laws of growth, on points whose law is known."""

import pytest

from eqemb.planning.growth_laws import PowerLaw, StraightLine, interpolate


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
def test_a_power_law_is_found(exponent: float) -> None:
    """The exponent, and the value beyond the sizes."""
    law = PowerLaw.fit([10, 20, 40], [3 * size**exponent for size in (10, 20, 40)])
    assert law.exponent == pytest.approx(exponent)
    assert law.at(4000) == pytest.approx(3 * 4000**exponent)


def test_a_given_exponent_is_used_and_the_fitted_one_kept() -> None:
    """Through the value at the largest size."""
    law = PowerLaw.fit([10, 100], [1, 20], exponent=1.0)
    assert law.at(1000) == 200
    assert law.fitted == pytest.approx(1.301, abs=0.001)
    assert law.if_fitted(1000) == pytest.approx(400, rel=0.01)


def test_zeros_have_no_exponent() -> None:
    """A stage that takes no measurable time takes none later."""
    assert PowerLaw.fit([10, 100], [0, 0]).at(1000) == 0
    assert PowerLaw.fit([10, 100, 200], [0, 5, 10]).exponent == pytest.approx(1)


def test_a_line_is_found() -> None:
    """Start and slope."""
    line = StraightLine.fit([10, 100, 1000], [7, 25, 205])
    assert [line.start, line.slope] == pytest.approx([5, 0.2])
    assert line.at(10_000) == pytest.approx(2005)


def test_between_sizes_a_power_law_of_neighbours() -> None:
    """Through each value that was measured."""
    sizes, values = [1, 4, 16], [1, 2, 32]
    assert [interpolate(sizes, values, size) for size in sizes] == pytest.approx(values)
    assert interpolate(sizes, values, 8) == pytest.approx(8)


@pytest.mark.parametrize(
    ("values", "at"), [([5, 4, 3], 5), ([1, 100, 10_000], 6_200), ([0, 0, 0], 0)]
)
def test_a_line_is_never_negative(values: list[float], at: float) -> None:
    """Neither its start nor its slope."""
    line = StraightLine.fit([10, 100, 1000], values)
    assert line.start >= 0
    assert line.slope >= 0
    assert line.at(10_000) >= at * 0.5
