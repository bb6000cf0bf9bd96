"""Bounds on time: they hold for linear code and fail for quadratic code."""

import functools
import gc
import sys
import time
import types

import pytest

import timing
from timing import assert_linear, assert_quick, cpu_seconds


def linear(text: str) -> int:
    """Look at each letter once."""
    return sum(letter == "x" for letter in text)


class Clock:
    """CPU time that only the functions under test use: a step takes a microsecond."""

    def __init__(self, exponent: float) -> None:
        self.exponent = exponent
        self.seconds = 0.0

    def process_time(self) -> float:
        """Return the time used so far."""
        return self.seconds

    def run(self, text: str) -> None:
        """Take as many steps as the length of a text to the power of the exponent."""
        self.seconds += 1e-6 * len(text) ** self.exponent


def test_linear_code_passes() -> None:
    """Also where it is too fast to measure."""
    assert_linear("ab".__mul__, linear, (100, 400))
    assert_linear("ab".__mul__, linear, (100_000, 400_000))


@pytest.mark.parametrize("exponent", [1.7, 2, 3])
def test_other_growth_fails(exponent: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quadratic and a cubic function exceed the factor that is allowed."""
    clock = Clock(exponent)
    monkeypatch.setattr(timing, "time", clock)
    with pytest.raises(AssertionError, match="4 times as long takes"):
        assert_linear("a".__mul__, clock.run, (1_000, 4_000))


@pytest.mark.parametrize("exponent", [1, 1.3])
def test_growth_that_is_nearly_linear_passes(
    exponent: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A logarithm or a small power beside the length is allowed."""
    clock = Clock(exponent)
    monkeypatch.setattr(timing, "time", clock)
    assert_linear("a".__mul__, clock.run, (1_000_000, 4_000_000))


def test_a_disturbance_does_not_fail() -> None:
    """A run that takes far longer, once, is repeated."""
    slow = iter([0.3])

    def disturbed(text: str) -> None:
        linear(text)
        if len(text) == 400:
            burn(next(slow, 0))

    assert_linear("a".__mul__, disturbed, (100, 400))
    slow = iter([0.3])
    assert_quick(lambda: burn(next(slow, 0)), 0.05)


def test_a_limit_is_kept() -> None:
    """What exceeds it each time fails."""
    with pytest.raises(AssertionError, match=r"CPU seconds, over 0\.001 times"):
        assert_quick(lambda: burn(0.1), 0.001)


def test_a_slow_machine_has_longer_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine a thousand times slower than that of the limits has a thousand times the time."""
    monkeypatch.setattr(timing, "REFERENCE_SECONDS", timing.REFERENCE_SECONDS / 1000)
    assert_quick(lambda: burn(0.1), 0.001)


def test_garbage_is_not_collected_while_time_runs() -> None:
    """Collection is on again afterwards."""
    seen = []
    cpu_seconds(lambda: seen.append(gc.isenabled()), tries=2)
    assert (seen, gc.isenabled()) == ([False, False], True)


def test_waiting_takes_no_time() -> None:
    """Only the processor counts."""
    assert cpu_seconds(lambda: time.sleep(0.2), tries=1) < 0.1


def test_memoised_results_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each try does the work again."""
    calls = []
    module = types.ModuleType("eqemb.memoised")
    module.work = functools.lru_cache(lambda: calls.append(1))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "eqemb.memoised", module)
    cpu_seconds(module.work, tries=3)
    assert len(calls) == 3


def burn(seconds: float) -> None:
    """Use the processor for some seconds."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
