"""The order of requests of several clients, and the limits on those that wait."""

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from eqemb.server import fair_queue
from eqemb.server.fair_queue import CLIENT_SECONDS, FairQueue
from eqemb.server.workers import BusyError, TooManyRequestsError


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test in an event loop."""

    @functools.wraps(test)
    def run(*arguments: Any, **fixtures: Any) -> None:
        asyncio.run(test(*arguments, **fixtures))

    return run


class Clock:
    """Seconds that only a test moves."""

    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        """The time."""
        return self.time


def order(queue: FairQueue[str], names: dict[str, int], seconds: dict[str, float]) -> str:
    """Serve so many requests of each client with one worker; the order of the clients."""
    waiting = [(name, queue.add(name)) for name, count in names.items() for _ in range(count)]
    found = ""
    while queue.start("worker"):
        (done,) = [each for each in waiting if each[1].done()]
        waiting.remove(done)
        found += done[0]
        queue.finish(done[0], seconds.get(done[0], 1.0))
    assert not waiting
    return found


@in_loop
async def test_clients_take_turns() -> None:
    """However many requests each has, and in whatever order they came."""
    assert order(FairQueue(1), {"a": 4, "b": 2, "c": 1}, {}) == "abcabaa"


@in_loop
async def test_turns_are_counted_in_seconds() -> None:
    """A client with answers of three seconds has one for each three of another."""
    assert order(FairQueue(1), {"a": 3, "b": 6}, {"a": 3.0}) == "abbbabbba"


@in_loop
async def test_a_pause_saves_no_time() -> None:
    """A client that asked for nothing while another was served has no claim to catch up."""
    queue = FairQueue[str](1)
    assert order(queue, {"a": 1, "b": 6}, {}) == "abbbbbb"
    assert order(queue, {"a": 3, "b": 3}, {}) in ("ababab", "aababb", "bababa")


@in_loop
async def test_a_client_among_others_has_half_of_the_workers() -> None:
    """At once; alone it has all of them."""
    clock = Clock()
    queue = FairQueue[int](4, clock)
    assert [queue.add("a") for _ in range(8)]
    assert [queue.start(number) for number in range(3)] == [True] * 3
    queue.add("b")
    assert queue.start(3)  # of b
    assert not queue.start(4)
    queue.finish("a", 1.0)
    assert not queue.start(4)  # a still has two
    queue.finish("a", 1.0)
    assert queue.start(4)
    queue.finish("b", 1.0)
    clock.time += CLIENT_SECONDS + 1
    queue.add("a")  # b is forgotten
    assert [queue.start(number) for number in (5, 6)] == [True] * 2


@in_loop
async def test_one_client_cannot_fill_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told to wait; if the queue is full, the client with most requests loses its newest."""
    monkeypatch.setattr(fair_queue, "MAX_WAITING", 4)
    monkeypatch.setattr(fair_queue, "MAX_WAITING_PER_CLIENT", 3)
    queue = FairQueue[str](1)
    first = [queue.add("a") for _ in range(3)]
    with pytest.raises(TooManyRequestsError, match="3 requests from your address"):
        queue.add("a")
    second = [queue.add("b")]
    assert len(queue) == 4
    second.append(queue.add("b"))
    assert len(queue) == 4
    assert isinstance(first[2].exception(), BusyError)
    assert not any(each.done() for each in (*first[:2], *second))
    with pytest.raises(BusyError):  # each has two
        queue.add("b")


@in_loop
async def test_requests_that_wait_are_refused_at_the_end() -> None:
    """At once, with the reason."""
    queue = FairQueue[str](1)
    waiting = [queue.add(name) for name in "aab"]
    queue.refuse_all("the end")
    assert [str(each.exception()) for each in waiting] == ["the end"] * 3
    assert (len(queue), queue.start("worker")) == (0, False)


@in_loop
async def test_a_request_can_be_taken_back() -> None:
    """So that a client that left is not served; twice does no harm."""
    queue = FairQueue[str](1)
    first, second = queue.add("a"), queue.add("a")
    queue.remove("a", first)
    queue.remove("a", first)
    assert queue.start("worker")
    assert (first.done(), second.result(), len(queue)) == (False, "worker", 0)
    assert not queue.start("worker")


def test_the_decorator_runs_tests() -> None:
    """A coroutine that nobody awaits would pass."""

    async def fails() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        in_loop(fails)()
