"""The client follows arXiv's terms of use: one connection, pauses, and waits when told to."""

import email.utils
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise

import pytest

from eqemb.arxiv import client as module
from eqemb.arxiv.client import (
    Client,
    RequestFailedError,
    ResponseTooLargeError,
    UnavailableError,
)
from eqemb.arxiv.text import format_duration
from eqemb.errors import UsageError
from fake_arxiv import Answer, Clock, FakeArxiv, serving


@pytest.fixture
def arxiv() -> Iterator[FakeArxiv]:
    """A server with one paper."""
    with serving(Clock()) as server:
        server.add("1501.00001", b"source")
        yield server


@pytest.fixture
def client(arxiv: FakeArxiv) -> Iterator[Client]:
    """A client on the server's clock."""
    with closing(arxiv.clock.client()) as made:
        yield made


def pauses(arxiv: FakeArxiv) -> list[float]:
    """The seconds between successive requests."""
    return [later.time - earlier.time for earlier, later in pairwise(arxiv.calls)]


def test_requests_share_a_connection_and_are_spaced(arxiv: FakeArxiv, client: Client) -> None:
    """Requests are three seconds apart and name eqemb."""
    for _ in range(4):
        assert client.get(arxiv.site.source + "1501.00001v1").body == b"source"
    assert pauses(arxiv) == [3, 3, 3]
    assert {call.connection for call in arxiv.calls} == {1}
    assert all(call.agent.startswith("eqemb/") for call in arxiv.calls)


def test_the_delay_can_only_be_longer(arxiv: FakeArxiv) -> None:
    """A delay of less than three seconds is rejected."""
    with closing(arxiv.clock.client(10)) as slow:
        slow.get(arxiv.base)
        slow.get(arxiv.base)
    assert pauses(arxiv) == [10]
    for delay in (2.9, -1, float("nan")):
        with pytest.raises(UsageError, match="at least 3 s, as arXiv asks"):
            Client(delay)


def test_waits_double_while_the_server_is_busy(arxiv: FakeArxiv, client: Client) -> None:
    """The request is repeated until the server answers."""
    arxiv.refuse("src", *[Answer(status) for status in (503, 429, 500)])
    assert client.get(arxiv.site.source + "1501.00001v1").status == 200
    assert pauses(arxiv) == [6, 12, 24]


@pytest.mark.parametrize("name", ["Retry-After", "retry-after"])
def test_retry_after_is_respected(arxiv: FakeArxiv, client: Client, name: str) -> None:
    """Retry-After is a number or a date, and never shortens our own wait."""
    date = email.utils.formatdate(time.time() + 200, usegmt=True)
    for text in ("60", "1", date, "soon"):
        arxiv.refuse("src", Answer(429, headers=((name, text),)))
    client.get(arxiv.site.source + "1501.00001v1")
    first, second, third, fourth = pauses(arxiv)
    assert (first, second, fourth) == (60, 12, 48)
    assert 190 < third <= 200


def test_a_server_that_stays_busy_is_unavailable(arxiv: FakeArxiv, client: Client) -> None:
    """After six attempts, or at once if it asks for a long pause or denies access."""
    arxiv.refuse("src", *[Answer(503)] * 6)
    with pytest.raises(UnavailableError, match=r"failed to answer 6 times \(HTTP 503\)") as stopped:
        client.get(arxiv.site.source)
    assert not isinstance(stopped.value, RequestFailedError)
    assert len(arxiv.calls) == 6
    arxiv.refuse("src", Answer(429, headers=(("Retry-After", "7200"),)), Answer(403))
    with pytest.raises(
        UnavailableError, match=r"pause of 2\.0 h: run the same command later to continue"
    ):
        client.get(arxiv.site.source)
    with pytest.raises(UnavailableError, match="denies access"):
        client.get(arxiv.site.source)
    assert len(arxiv.calls) == 8


@pytest.mark.parametrize("answer", [Answer(500), Answer(502), Answer(504), Answer(cut=3)])
def test_a_request_that_always_fails_is_given_up(
    arxiv: FakeArxiv, client: Client, answer: Answer
) -> None:
    """The next request is sent at the usual pace."""
    arxiv.refuse("src", *[answer] * 6)
    with pytest.raises(RequestFailedError, match="failed to answer 6 times"):
        client.get(arxiv.site.source + "1501.00001v1")
    assert client.get(arxiv.site.source + "1501.00001v1").body == b"source"
    assert pauses(arxiv) == [6, 12, 24, 48, 96, 3]


def test_an_incomplete_response_is_requested_again(arxiv: FakeArxiv, client: Client) -> None:
    """A new connection is used."""
    client.get(arxiv.base)
    arxiv.refuse("src", Answer(body=b"sou", cut=3))
    assert client.get(arxiv.site.source + "1501.00001v1").body == b"source"
    assert [call.connection for call in arxiv.calls] == [1, 1, 2]
    assert pauses(arxiv) == [3, 6]


def test_a_connection_closed_while_idle_is_replaced(arxiv: FakeArxiv, client: Client) -> None:
    """This does not count as a failure."""
    client.get(arxiv.base)
    assert client._manager is not None
    pool = client._manager.connection_from_url(arxiv.base).pool
    assert pool is not None
    [connection] = pool.queue
    connection.sock.shutdown(socket.SHUT_RDWR)
    assert client.get(arxiv.base).status == 404
    assert [call.connection for call in arxiv.calls] == [1, 2]
    assert pauses(arxiv) == [3]


@pytest.mark.parametrize("name", ["Location", "location"])
def test_redirects_are_followed(arxiv: FakeArxiv, client: Client, name: str) -> None:
    """Each keeps the usual pace, and there is a limit."""
    moved = ((name, "/src/1501.00001v1"),)
    arxiv.refuse("src", Answer(301, headers=moved))
    assert client.get(f"{arxiv.site.source}old").body == b"source"
    assert pauses(arxiv) == [3]
    arxiv.refuse("src", *[Answer(302, headers=moved)] * 30)
    with pytest.raises(UnavailableError, match="too many redirects"):
        client.get(f"{arxiv.site.source}old")


def test_no_network_is_reported_at_once() -> None:
    """The client does not retry for minutes if it never got an answer."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]  # nobody listens
        clock = Clock()
        with pytest.raises(UnavailableError, match=rf"cannot reach 127.0.0.1:{port} \(\[Errno"):
            clock.client().get(f"http://127.0.0.1:{port}/")
    assert clock.now == 1003


def test_the_first_request_waits_too(arxiv: FakeArxiv, client: Client) -> None:
    """An earlier run may have just ended."""
    client.get(arxiv.base)
    assert [call.time for call in arxiv.calls] == [1003]


@pytest.mark.parametrize(
    ("url", "target"), [("", "/"), ("?a=b&c", "/?a=b&c"), ("/src/cs/1", "/src/cs/1")]
)
def test_the_request_target(arxiv: FakeArxiv, client: Client, url: str, target: str) -> None:
    """It is the path with its query."""
    client.get(arxiv.base + url)
    assert [call.target for call in arxiv.calls] == [target]


def test_a_proxy_of_the_environment_is_used(
    arxiv: FakeArxiv, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Except for hosts that NO_PROXY lists."""
    monkeypatch.setenv("http_proxy", arxiv.base)
    assert client.get("http://export.example/src/1501.00001v1").body == b"source"
    assert [call.host for call in arxiv.calls] == ["export.example"]
    monkeypatch.setenv("http_proxy", "http://user:secret@127.0.0.1:9")
    assert client.get(f"{arxiv.site.source}1501.00001v1").body == b"source"
    monkeypatch.setenv("http_proxy", "socks9://user:secret@127.0.0.1:9")
    with pytest.raises(UsageError, match=r"proxy socks9://127.0.0.1:9 is not supported: use"):
        client.get("http://export.example/")


def test_a_large_response_is_not_read_to_its_end(
    arxiv: FakeArxiv, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It raises an error, and the next request uses a new connection."""
    monkeypatch.setattr(module, "MAX_BYTES", 3)
    with pytest.raises(ResponseTooLargeError, match=r"1501.00001v1 is larger than"):
        client.get(f"{arxiv.site.source}1501.00001v1")
    arxiv.refuse("src", Answer(body=b"abc"))
    assert client.get(f"{arxiv.site.source}1501.00001v1").body == b"abc"
    assert [call.connection for call in arxiv.calls] == [1, 2]


def test_compressed_bodies_stay_compressed(arxiv: FakeArxiv, client: Client) -> None:
    """Sources may come with a content encoding; they are saved as they are."""
    arxiv.refuse("src", Answer(body=b"packed", headers=(("Content-Encoding", "gzip"),)))
    assert client.get(f"{arxiv.site.source}1501.00001v1").body == b"packed"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "1 s"), (89, "89 s"), (90, "2 min"), (5399, "90 min"), (9000, "2.5 h")],
)
def test_durations(seconds: float, text: str) -> None:
    """In seconds, minutes or hours."""
    assert format_duration(seconds) == text
