"""Bounds on time that hold on slow and loaded machines, and fail for code that is quadratic.

What is measured is CPU time of this process, so that other processes do not count. No garbage is
collected meanwhile, since collecting the large heap of a test process can take longer than the code
under test. Memoised results of the package are dropped first: a second try would otherwise measure
the cache. A bound must fail several times before a test does.
"""

import functools
import gc
import sys
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

#: How often a measurement is repeated before a bound counts as exceeded.
ATTEMPTS = 4
#: Between 1 (linear) and 2 (quadratic): a time that grows faster fails.
MAX_EXPONENT = 1.5
#: Below this many seconds, a time says nothing about growth.
NOISE = 0.05
#: CPU seconds of the work in `machine_slowness` where the bounds of the tests were chosen.
REFERENCE_SECONDS = 0.0035


def cpu_seconds(action: Callable[[], object], tries: int = 3) -> float:
    """The least CPU seconds of this process that an action takes in several tries."""
    return min(_measure(action) for _ in range(tries))


def assert_quick(action: Callable[[], object], limit: float, what: str = "action") -> None:
    """Fail if an action takes more than `limit` CPU seconds in every attempt.

    The limit is that of the machine on which it was chosen, and is longer on slower ones: a fixed
    piece of work is timed beside every attempt. Choose inputs so long that a quadratic version
    takes many times the limit.
    """
    for _ in range(ATTEMPTS):
        slowness = machine_slowness()
        seconds = _measure(action)
        if seconds <= limit * slowness:
            return
    message = (
        f"{what}: {seconds:.3f} CPU seconds, over {limit:g} times {slowness:.1f} for this machine"
    )
    raise AssertionError(message)


def assert_linear(
    make_input: Callable[[int], T], action: Callable[[T], object], sizes: Sequence[int]
) -> None:
    """Fail if the time of an action grows faster than its input to the power of 1.5.

    For sizes in a ratio of 4 the time may grow by a factor of 8: linear code needs 4, quadratic 16
    and cubic 64. Only the smallest and the largest size are compared. Inputs are made anew for
    each try, which is not measured. Each attempt can only lower the times measured so far, so that
    a disturbance does not last. `test_timing.py` proves that a quadratic function fails.
    """
    small, large = min(sizes), max(sizes)
    factor = (large / small) ** MAX_EXPONENT
    best = dict.fromkeys((small, large), float("inf"))
    for _ in range(ATTEMPTS):
        slowness = machine_slowness()
        for size in best:
            best[size] = min(best[size], _measure(functools.partial(action, make_input(size))))
        if best[large] <= factor * best[small] + NOISE * slowness:
            return
    grown = best[large] / best[small]
    message = (
        f"an input {large / small:g} times as long takes {grown:.1f} times as long "
        f"({best[small]:.4f} and {best[large]:.4f} CPU seconds), over the factor of {factor:.1f}"
    )
    raise AssertionError(message)


def _measure(action: Callable[[], object]) -> float:
    """CPU seconds of one run."""
    clear_caches()
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        start = time.process_time()
        action()
        return time.process_time() - start
    finally:
        if was_enabled:
            gc.enable()


def clear_caches() -> None:
    """Drop what functions of the package have memoised."""
    for name, module in list(sys.modules.items()):
        if name.startswith("eqemb.") and module is not None:
            for value in list(vars(module).values()):
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()


def machine_slowness() -> float:
    """How much slower this machine is now than that of the limits; 1 if it is faster."""
    tries = []
    for _ in range(3):
        start = time.process_time()
        sum(number % 7 for number in range(100_000))
        tries.append(time.process_time() - start)
    return max(1.0, min(tries) / REFERENCE_SECONDS)
