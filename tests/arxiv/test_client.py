"""The courier keeps arXiv's manners: one call at a time, pauses, waits where it is asked to."""

import email.utils
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise

import pytest

from eqemb.arxiv.client import Courier, NoAnswer, Unavailable, duration
from eqemb.errors import UsageError
from fake_arxiv import Answer, Clock, FakeArxiv, serving


@pytest.fixture
def arxiv() -> Iterator[FakeArxiv]:
    """A server with one paper."""
    with serving(Clock()) as server:
        server.add("1501.00001", b"source")
        yield server


@pytest.fixture
def courier(arxiv: FakeArxiv) -> Iterator[Courier]:
    """A courier on the server's clock."""
    with closing(arxiv.clock.courier()) as made:
        yield made


def pauses(arxiv: FakeArxiv) -> list[float]:
    """The seconds between two calls."""
    return [later.time - earlier.time for earlier, later in pairwise(arxiv.calls)]


def test_calls_share_a_connection_and_keep_a_distance(arxiv: FakeArxiv, courier: Courier) -> None:
    """Three seconds apart, under our name."""
    for _ in range(4):
        assert courier.get(arxiv.site.source + "1501.00001v1").body == b"source"
    assert pauses(arxiv) == [3, 3, 3]
    assert {call.connection for call in arxiv.calls} == {1}
    assert all(call.agent.startswith("eqemb/") for call in arxiv.calls)


def test_the_distance_can_only_grow(arxiv: FakeArxiv) -> None:
    """A shorter one is refused."""
    with closing(arxiv.clock.courier(10)) as slow:
        slow.get(arxiv.base)
        slow.get(arxiv.base)
    assert pauses(arxiv) == [10]
    for delay in (2.9, -1, float("nan")):
        with pytest.raises(UsageError, match="arXiv asks for 3 s"):
            Courier(delay)


def test_a_busy_server_is_asked_later_and_later(arxiv: FakeArxiv, courier: Courier) -> None:
    """Until it answers."""
    arxiv.refuse("src", *[Answer(status) for status in (503, 429, 500)])
    assert courier.get(arxiv.site.source + "1501.00001v1").status == 200
    assert pauses(arxiv) == [6, 12, 24]


@pytest.mark.parametrize("name", ["Retry-After", "retry-after"])
def test_the_server_says_how_long(arxiv: FakeArxiv, courier: Courier, name: str) -> None:
    """In seconds or as a date; never shorter than our own wait."""
    date = email.utils.formatdate(time.time() + 200, usegmt=True)
    for text in ("60", "1", date, "soon"):
        arxiv.refuse("src", Answer(429, headers=((name, text),)))
    courier.get(arxiv.site.source + "1501.00001v1")
    first, second, third, fourth = pauses(arxiv)
    assert (first, second, fourth) == (60, 12, 48)
    assert 190 < third <= 200


def test_a_server_that_stays_busy_is_left_alone(arxiv: FakeArxiv, courier: Courier) -> None:
    """After six tries, or at once where it asks for a long pause or refuses."""
    arxiv.refuse("src", *[Answer(503)] * 6)
    with pytest.raises(Unavailable, match=r"did not answer 6 times \(HTTP 503\)") as stopped:
        courier.get(arxiv.site.source)
    assert not isinstance(stopped.value, NoAnswer)
    assert len(arxiv.calls) == 6
    arxiv.refuse("src", Answer(429, headers=(("Retry-After", "7200"),)), Answer(403))
    with pytest.raises(Unavailable, match=r"pause of 2\.0 h: the same command goes on later"):
        courier.get(arxiv.site.source)
    with pytest.raises(Unavailable, match="refuses to answer us"):
        courier.get(arxiv.site.source)
    assert len(arxiv.calls) == 8


@pytest.mark.parametrize("answer", [Answer(500), Answer(502), Answer(504), Answer(cut=3)])
def test_a_question_that_always_fails_is_given_up(
    arxiv: FakeArxiv, courier: Courier, answer: Answer
) -> None:
    """The next one is asked at the common pace."""
    arxiv.refuse("src", *[answer] * 6)
    with pytest.raises(NoAnswer, match="did not answer 6 times"):
        courier.get(arxiv.site.source + "1501.00001v1")
    assert courier.get(arxiv.site.source + "1501.00001v1").body == b"source"
    assert pauses(arxiv) == [6, 12, 24, 48, 96, 3]


def test_an_answer_that_breaks_off_is_asked_for_again(arxiv: FakeArxiv, courier: Courier) -> None:
    """Over a new connection."""
    courier.get(arxiv.base)
    arxiv.refuse("src", Answer(body=b"sou", cut=3))
    assert courier.get(arxiv.site.source + "1501.00001v1").body == b"source"
    assert [call.connection for call in arxiv.calls] == [1, 1, 2]
    assert pauses(arxiv) == [3, 6]


def test_a_connection_that_was_closed_meanwhile_is_made_anew(
    arxiv: FakeArxiv, courier: Courier
) -> None:
    """Without counting as a failure."""
    courier.get(arxiv.base)
    assert courier._connection is not None
    courier._connection.sock.shutdown(socket.SHUT_RDWR)
    assert courier.get(arxiv.base).status == 404
    assert [call.connection for call in arxiv.calls] == [1, 2]
    assert pauses(arxiv) == [3]


@pytest.mark.parametrize("name", ["Location", "location"])
def test_moved_things_are_followed(arxiv: FakeArxiv, courier: Courier, name: str) -> None:
    """At the pace of any call, and not in circles."""
    moved = ((name, "/src/1501.00001v1"),)
    arxiv.refuse("src", Answer(301, headers=moved))
    assert courier.get(f"{arxiv.site.source}old").body == b"source"
    assert pauses(arxiv) == [3]
    arxiv.refuse("src", *[Answer(302, headers=moved)] * 30)
    with pytest.raises(Unavailable, match="leads in a circle"):
        courier.get(f"{arxiv.site.source}old")


def test_no_network_is_said_at_once() -> None:
    """Nobody waits minutes to hear it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]  # nobody listens
        clock = Clock()
        with pytest.raises(Unavailable, match=rf"127.0.0.1:{port} cannot be reached"):
            clock.courier().get(f"http://127.0.0.1:{port}/")
    assert clock.now == 1003


def test_the_first_call_waits_too(arxiv: FakeArxiv, courier: Courier) -> None:
    """A run before this one may have asked just now."""
    courier.get(arxiv.base)
    assert [call.time for call in arxiv.calls] == [1003]


@pytest.mark.parametrize(
    ("url", "target"), [("", "/"), ("?a=b&c", "/?a=b&c"), ("/src/cs/1", "/src/cs/1")]
)
def test_what_is_asked_for(arxiv: FakeArxiv, courier: Courier, url: str, target: str) -> None:
    """Is the path with its question."""
    courier.get(arxiv.base + url)
    assert [call.target for call in arxiv.calls] == [target]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "1 s"), (89, "89 s"), (90, "2 min"), (5399, "90 min"), (9000, "2.5 h")],
)
def test_durations(seconds: float, text: str) -> None:
    """As people say them."""
    assert duration(seconds) == text
