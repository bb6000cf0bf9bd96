"""Odd, broken and unfair requests to a running server: none fails with 5xx, and others are served.

The server is the one of `eqemb serve`, with two worker processes, on a socket of this machine.
"""

import contextlib
import http.client
import json
import re
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from axes import make_library
from campaigns import sample
from eqemb.errors import UsageError
from eqemb.server import processes
from eqemb.server.app import make_app
from eqemb.server.clients import GUESS_SECONDS, MAX_GUESSES, GuessLimiter, client_name, networks
from eqemb.server.run import serve
from server.clients import ENDPOINTS, PAGES, make_client
from server.test_processes import worker_that
from server.test_run import running, send
from synthetic import read_inline, wait_for

Address = tuple[str, int]
END = b"\r\nHost: localhost\r\nConnection: close\r\n\r\n"
TOKEN = "a long enough token"
#: What a stand-in for a worker does to answer.
ANSWER = "send(target, eqemb.server.processes.WorkerResponse(200, [], b'x'))"
CROSS = {"Sec-Fetch-Site": "cross-site"}


def get(target: str) -> bytes:
    """A GET request, as it is sent."""
    return f"GET {target} HTTP/1.1".encode("utf-8", "surrogateescape") + END


def with_header(header: bytes, target: bytes = b"/v1/stats", method: bytes = b"GET") -> bytes:
    """A request with another header."""
    return method + b" " + target + b" HTTP/1.1\r\n" + header + END


def call(body: bytes, more: bytes = b"") -> bytes:
    """A request to the MCP server."""
    kind = b"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
    return with_header(kind + more + b"Content-Length: %d" % len(body), b"/mcp", b"POST") + body


def tool(name: str, **arguments: object) -> bytes:
    """A call of a tool of the MCP server."""
    params = {"name": name, "arguments": arguments}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return call(json.dumps(asked).encode())


CHUNKED = b"Transfer-Encoding: chunked"
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
#: Requests that no browser sends.
ODD = {
    "NUL in a name": get("/articles/%00"),
    "NUL": b"GET /a\x00b HTTP/1.1" + END,
    "raw UTF-8": get("/articles/é"),
    "raw Latin-1": b"GET /articles/\xe9?q=\xff HTTP/1.1" + END,
    "bad percent signs": get("/articles/%zz%%%1"),
    "a surrogate": get("/articles/%ED%A0%80"),
    "a line end": get("/articles/%0d%0aX-Injected:%201"),
    "a whole URL": get("http://localhost/v1/stats"),
    "the URL of another server": get("http://evil.example/v1/stats"),
    "parent folders": get("/static/../../../../etc/passwd"),
    "encoded parent folders": get("/static/%2e%2e%2f%2e%2e%2fetc%2fpasswd"),
    "slashes": get("////v1//search?q=x"),
    "a deep path": get("/" + "a/" * 16_000),
    "a long method": b"X" * 500 + b" / HTTP/1.1" + END,
    "a method in lower case": b"get / HTTP/1.1" + END,
    "CONNECT": b"CONNECT localhost:80 HTTP/1.1" + END,
    "TRACE": b"TRACE / HTTP/1.1" + END,
    "no host": b"GET /v1/stats HTTP/1.1\r\nConnection: close\r\n\r\n",
    "two hosts": with_header(b"Host: evil.example"),
    "HTTP/0.9": b"GET /\r\n\r\n",
    "HTTP/1.0": b"GET /v1/stats HTTP/1.0" + END,
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "half an address": b"GET /v1/stats HTTP/1.1\r\nHost: [::1\r\nConnection: close\r\n\r\n",
    "another host": b"GET /v1/stats HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
    "a host in Latin-1": b"GET / HTTP/1.1\r\nHost: \xe9\r\nConnection: close\r\n\r\n",
    "a large header": with_header(b"X: " + b"x" * 100_000),
    "a huge header": with_header(b"X: " + b"x" * 1_000_000),
    "many headers": with_header(b"\r\n".join(b"X%d: 1" % n for n in range(5_000))),
    "a broken cookie": with_header(b'Cookie: \xff=;;;eqemb=\x80;="'),
    "many cookies": with_header(b"Cookie: " + b"a=b;" * 20_000),
    "a token in Latin-1": with_header(b"Authorization: Bearer \xff\xfe"),
    "many tags": with_header(b"If-None-Match: " + b'"x",' * 20_000),
    "a negative length": with_header(b"Content-Length: -1"),
    "a huge length": with_header(b"Content-Length: " + b"9" * 30),
    "two lengths": with_header(b"Content-Length: 1\r\nContent-Length: 2", method=b"POST") + b"x",
    "a length and chunks": with_header(b"Content-Length: 1\r\nTransfer-Encoding: chunked"),
    "an unknown encoding": with_header(b"Transfer-Encoding: gzip"),
    "a body to come": with_header(b"Expect: 100-continue\r\nContent-Length: 5", method=b"POST"),
    "a proxy's header": with_header(b"X-Forwarded-For: \xff, 1.2.3.4, zz\r\nX-Forwarded-Proto: j"),
    "a folded header": with_header(b"X: a\r\n b"),
    "no carriage returns": b"GET / HTTP/1.1\nHost: localhost\nConnection: close\n\n",
    "an origin that is no URL": with_header(b"Origin: http://[", b"/mcp", b"POST"),
    "nothing": b"\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 600,
    "every byte": bytes(range(256)) * 10,
    "pipelined requests": get("/v1/healthz").replace(b"Connection: close\r\n", b"") * 99
    + get("/v1/stats"),
    "many values": get("/v1/search?" + "q=x&" * 8_000),
    "many parameters": get("/v1/search?q=x&" + "&".join(f"p{n}" for n in range(4_000))),
    "many filters": get("/v1/search?q=x&" + "has=x&" * 5_000),
    "many articles": get("/v1/search?q=x&" + "&".join(f"without={n}" for n in range(2_000))),
    "many panels": get("/?q=cosine&" + "open=why:angles%231&" * 1_500),
    "many names": get("/saved?" + "&".join(f"id=x%23{n}" for n in range(2_500))),
    "many exported": get("/v1/export.csv?" + "&".join(f"id=x%23{n}" for n in range(2_500))),
    "no call": call(b""),
    "a deep call": call(b"[" * 60_000),
    "half a call": call(b"{"),
    "NULs in a call": call(b"\x00" * 10),
    "bad UTF-8 in a call": call(b"\xff\xfe"),
    "many calls": call(b"[" + b",".join([PING] * 1_000) + b"]"),
    "a call with a long number": call(PING.replace(b"1,", b"9" * 5_000 + b",")),
    "a call with nan": call(PING.replace(b"1,", b"NaN,")),
    "an unknown version": call(PING, b"mcp-protocol-version: \xff\r\n"),
    "half a character": tool("search_equations", query="\ud800\0", k=1),
    "a tool with wrong arguments": tool("search_equations", query=["x"], k=-1, more="x"),
    "an unknown tool": tool("x" * 50_000),
    "a body in bad chunks": with_header(CHUNKED, b"/mcp", b"POST") + b"zz\r\n",
    "a body in many chunks": with_header(CHUNKED, b"/mcp", b"POST")
    + (b"4000\r\n" + b"[" * 0x4000 + b"\r\n") * 6 + b"0\r\n\r\n",
}  # fmt: skip
#: Values that parameters are not made for.
VALUES = [
    "", "%00", "a%00b", "%ff%fe", "%C3%28", "%", "%zz", "%u1234", "%ED%A0%80", "%F4%90%80%80",
    "9" * 5_000, "-1", "0", "-99999999999999999999", "99999999999999999999", "9223372036854775808",
    "nan", "inf", "1e999", "0x10", "true", "%F0%9D%9F%98", "%EF%BB%BF", "%E2%80%AE", "1_000",
    "..%2f..%2fetc%2fpasswd", "%0d%0aX-Injected:%201", "%22%3E%3Cscript%3E", "x" * 1_999,
    "x" * 2_001, "$" * 1_000, "%5C" * 1_000, "%7B" * 500, "%2B1", "%201", "-0", "1.0", "%D9%A3",
]  # fmt: skip
PARAMETERS = (
    "q equation query name latex word words start article collection year section has without kind"
    " by count page size part numbered open id paragraph"
).split()
#: All paths, each with parameters that are right.
TARGETS = sorted({*ENDPOINTS, *PAGES, "/v1/export.csv?q=cosine", "/v1/map", "/v1/map/hits?q=cosine",
                  "/map", "/saved", "/static/page.js", "/openapi.json",
                  "/v1/panel?kind=similar&equation=angles%231"})  # fmt: skip
METHODS = ("POST", "PUT", "DELETE", "PATCH", "TRACE", "X")

#: Where a socket that is bound to `::` takes connections by IPv4.
NEEDS_BOTH_FAMILIES = pytest.mark.skipif(
    sys.platform != "linux" or not socket.has_dualstack_ipv6(), reason="no sockets for both IPs"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small library."""
    with pytest.MonkeyPatch.context() as patch:
        read_inline(patch)
        with make_library(tmp_path_factory.mktemp("attacked")) as made:
            return made.folder


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[Address]:
    """A server with two worker processes, all of which are ready."""
    app = make_app(folder, workers=2, seconds=60)
    with running(folder, app) as found:
        assert wait_for(lambda: len(app.state.processes.pids) == 2)
        yield found


def statuses(response: bytes) -> list[int]:
    """The statuses of the responses that a connection received."""
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", response)]


def check(response: bytes, what: str) -> None:
    """Fail for a response that no request may get."""
    found = statuses(response)
    assert found, f"{what}: no answer"
    assert max(found) < 500, f"{what}: {found} {response[-300:]!r}"
    assert b"Traceback" not in response
    assert b"\nX-Injected" not in response


def connected(address: Address) -> AbstractContextManager[http.client.HTTPConnection]:
    """A connection that is closed in the end."""
    return contextlib.closing(http.client.HTTPConnection(*address, timeout=60))


@pytest.mark.parametrize("name", ODD)
def test_odd_requests_get_an_answer(address: Address, name: str) -> None:
    """Whatever it is, its status is below 500."""
    if name.startswith(("no call", "half a", "a call", "many calls")):
        pytest.importorskip("mcp", reason="the MCP SDK is not installed")
    check(send(address, ODD[name]), name)


@pytest.mark.parametrize("name", sample(PARAMETERS, 4))
def test_odd_values_get_an_answer(address: Address, name: str, record_property: object) -> None:
    """Each value for each parameter of each path, besides right ones and instead of them."""
    cases = sample([(path, value) for path in TARGETS for value in VALUES], 30)
    record_property("cases", len(cases))  # type: ignore[operator]
    with connected(address) as line:
        for path, value in cases:
            place, _, query = path.partition("?")
            rest = [part for part in query.split("&") if part and not part.startswith(f"{name}=")]
            target = f"{place}?{'&'.join([*rest, f'{name}={value}'])}"
            line.request("GET", target)
            answer = line.getresponse()
            body = answer.read()
            assert answer.status < 500, (target[:200], body[-300:])
            assert answer.headers["X-Injected"] is None


@pytest.mark.parametrize("target", sample([*TARGETS, "/nowhere", "/mcp"], 12))
def test_wrong_methods_are_refused(address: Address, target: str, record_property: object) -> None:
    """With 405 and the right ones in Allow, which OPTIONS tells, too; HEAD is GET without body."""
    record_property("cases", len(METHODS) + 2)  # type: ignore[operator]
    allowed = "POST, OPTIONS" if target == "/mcp" else "GET, HEAD, OPTIONS"
    for method in (*METHODS, "OPTIONS"):
        if (method, target) == ("POST", "/mcp"):
            continue
        with connected(address) as line:
            line.request(method, target)
            answer = line.getresponse()
            answer.read()
            status = 204 if method == "OPTIONS" else 405
            assert (answer.status, answer.headers["Allow"]) == (status, allowed)
    with connected(address) as line:
        line.request("GET", target)
        expected = line.getresponse()
        expected.read()
        line.request("HEAD", target)
        found = line.getresponse()
        assert (found.status, found.read()) == (expected.status, b"")


def test_a_slow_request_holds_up_nobody(address: Address) -> None:
    """Others are answered while a head and a body come byte by byte."""
    with contextlib.ExitStack() as stack:
        body = with_header(b"Content-Length: 9", b"/mcp", b"POST") + b"{"
        for start in (b"GET /v1/st", body):
            slow = stack.enter_context(socket.create_connection(address, timeout=10))
            slow.sendall(start)
        check(send(address, get("/v1/stats")), "beside slow requests")


# ------------------------------------------------------------ other sites


@pytest.mark.parametrize("mode", ["no-cors", "cors", "websocket", "same-origin", ""])
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_of_other_sites_load_nothing(folder: Path, site: str, mode: str) -> None:
    """Images, scripts, fetch; our own pages do, and programs that say nothing."""
    with make_client(folder) as client:
        for url in ("/v1/search?q=cosine", "/", "/static/page.js", "/v1/healthz"):
            sent = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": "image"}
            assert client.get(url, headers=sent).status_code == 403
            for own in ("same-origin", "none"):
                assert client.get(url, headers=sent | {"Sec-Fetch-Site": own}).status_code == 200
            assert client.get(url).status_code == 200


def test_pages_of_other_sites_may_link_here(folder: Path) -> None:
    """But not show us in a frame."""
    with make_client(folder) as client:
        for target, status in (("document", 200), ("iframe", 403), ("frame", 403),
                               ("object", 403), ("embed", 403)):  # fmt: skip
            sent = CROSS | {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": target}
            assert client.get("/?q=cosine", headers=sent).status_code == status


# ------------------------------------------------------------ tokens


@pytest.mark.parametrize("way", ["header", "cookie", "URL", "form", "agent"])
def test_guessing_a_token_is_limited(folder: Path, way: str) -> None:
    """After some wrong ones, none is tried, not even the right one; other addresses may."""

    def guess(client: object, token: str) -> int:
        bearer = {"Authorization": f"Bearer {token}"}
        cookie = {"Cookie": f"eqemb={quote(token)}"}
        headers = {"header": bearer, "agent": bearer, "cookie": cookie}.get(way, {})
        url = {"URL": f"/?{urlencode({'token': token})}", "agent": "/mcp"}.get(way, "/v1/stats")
        method = "POST" if way in ("form", "agent") else "GET"
        data = {"token": token} if way == "form" else None
        answer = client.request(  # type: ignore[attr-defined]
            method, url, headers=headers, data=data, follow_redirects=False
        )
        if answer.status_code == 429:
            assert 0 < int(answer.headers["Retry-After"]) <= GUESS_SECONDS
            assert "many wrong tokens came from your address" in answer.text
        return int(answer.status_code)

    with make_client(folder, token=TOKEN) as client:
        for number in range(MAX_GUESSES - 1):
            for _ in range(3):  # the same wrong token counts once
                assert guess(client, f"wrong {number}") == 401
        assert guess(client, "wrong") == 401
        assert guess(client, "wrong again") == 429
        assert guess(client, TOKEN) == 429
        assert client.get("/v1/healthz").status_code == 200
        assert client.get("/").status_code == 401  # without a token there is no guess


def test_guesses_are_forgotten() -> None:
    """After a minute; and a client of IPv6 is a whole network."""
    time_ = [0.0]
    limiter = GuessLimiter(lambda: time_[0])
    for number in range(MAX_GUESSES):
        assert limiter.seconds_left("one") == 0
        limiter.add("one", str(number))
    assert limiter.seconds_left("one") == GUESS_SECONDS
    assert limiter.seconds_left("other") == 0
    time_[0] = GUESS_SECONDS - 1
    assert limiter.seconds_left("one") == 1
    time_[0] = GUESS_SECONDS
    assert limiter.seconds_left("one") == 0
    assert client_name("2001:db8:1:2:3::4") == client_name("2001:db8:1:2::5")
    assert client_name("2001:db8:1:3::4") != client_name("2001:db8:1:2::4")
    assert client_name("::ffff:192.0.2.1") == client_name("192.0.2.1")


@pytest.mark.parametrize("host", ["127.0.0.1", pytest.param("::", marks=NEEDS_BOTH_FAMILIES)])
def test_only_a_proxy_names_clients(folder: Path, host: str) -> None:
    """Anybody else could invent addresses, one for each request; `::` maps those of IPv4."""
    with pytest.raises(UsageError, match="not 'my proxy'"):
        serve(folder, port=0, proxies=["my proxy"])
    app = make_app(folder, token=TOKEN)
    for proxies, last in (((), 429), (("127.0.0.1",), 401)):
        with running(folder, app, host, proxies=networks(proxies)) as found:
            for number in range(MAX_GUESSES + 1):
                sent = (
                    f"Authorization: Bearer {proxies} {number}\r\nX-Forwarded-For: 192.0.2.{number}"
                )
                answer = send(found, with_header(sent.encode()))
            assert statuses(answer) == [last]


# ------------------------------------------------------------ many connections


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have one loopback address")
def test_one_address_cannot_take_all_connections(folder: Path) -> None:
    """Another one is answered while the first has as many as it may have."""
    with running(folder, max_client_connections=5) as found, contextlib.ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(socket.create_connection(found, 10, ("127.0.0.2", 0)))
        with socket.create_connection(found, 10, ("127.0.0.3", 0)) as other:
            other.sendall(get("/v1/healthz"))
            assert other.recv(64).startswith(b"HTTP/1.1 200")
        more = stack.enter_context(socket.create_connection(found, 10, ("127.0.0.2", 0)))
        with contextlib.suppress(ConnectionError):
            more.sendall(get("/v1/healthz"))
            assert more.recv(64) == b""


def from_address(found: Address, own: str, target: str) -> tuple[int, float]:
    """The status of a request from an address, and the seconds that it took."""
    start = time.monotonic()
    with socket.create_connection(found, 60, (own, 0)) as line:
        line.sendall(get(target))
        answer = b""
        while part := line.recv(65_536):
            answer += part
    return statuses(answer)[0], time.monotonic() - start


# ------------------------------------------------------------ long answers

#: Paths that the front process answers, as they need no library.
OWN = ("/static/", "/openapi.json", "/v1/healthz")


def test_worker_processes_answer_everything(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: object
) -> None:
    """Whatever needs the library, unknown addresses included: only a process can be stopped."""
    pytest.importorskip("mcp", reason="the MCP SDK is not installed")
    body = f"send(target, 'ready') if isinstance(request, str) else {ANSWER}"
    monkeypatch.setattr(processes, "python_command", worker_that(tmp_path, body))
    targets = [*TARGETS, "/nowhere", "/v1/nowhere", "//", "/static2/x"]
    record_property("cases", len(targets) + 1)  # type: ignore[operator]
    with make_client(folder, workers=1, seconds=60) as client:
        for target in targets:
            is_own = target.startswith(OWN)
            assert (client.get(f"http://localhost{target}").content == b"x") != is_own, target
        assert client.post("/mcp", content=PING).content == b"x"


def test_every_answer_is_stopped_at_the_time_limit(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 504, a sentence that says so, and another worker."""
    pytest.importorskip("mcp", reason="the MCP SDK is not installed")
    body = "send(target, 'ready') if isinstance(request, str) else time.sleep(600)"
    monkeypatch.setattr(processes, "python_command", worker_that(tmp_path, body))
    with make_client(folder, workers=1, seconds=0.2) as client:
        for method, url in (
            ("GET", "/v1/export.csv?q=x"),
            ("GET", "/articles/x"),
            ("POST", "/mcp"),
        ):
            assert wait_for(lambda: len(client.app.state.processes.pids) == 1)  # type: ignore[attr-defined]
            answer = client.request(method, url, content=PING if method == "POST" else None)
            assert answer.status_code == 504
            assert "longer than the time limit of 0.2 seconds" in answer.text
            assert answer.headers["Retry-After"] == "1"
        assert client.get("/v1/healthz").status_code == 200


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have one loopback address")
def test_heavy_clients_do_not_hold_up_others(folder: Path, tmp_path: Path,
                                             monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    """Sixteen connections with answers of half a second; another client waits for none of them."""
    body = f"time.sleep(0.5 if request.path == '/heavy' else 0.0); {ANSWER}"
    monkeypatch.setattr(processes, "python_command", worker_that(tmp_path, body))
    app = make_app(folder, workers=2, seconds=30)
    with running(folder, app) as found:
        assert wait_for(lambda: len(app.state.processes.pids) == 2)
        assert from_address(found, "127.0.0.3", "/light")[0] == 200
        heavy = [
            threading.Thread(target=from_address, args=(found, "127.0.0.2", f"/heavy?{number}"))
            for number in range(16)
        ]
        for thread in heavy:
            thread.start()
        time.sleep(0.3)  # by now the heavy client has its worker
        light = [from_address(found, "127.0.0.3", f"/light?{number}") for number in range(10)]
        assert {status for status, _ in light} == {200}
        assert sorted(seconds for _, seconds in light)[5] < 0.5  # first come, first served: 4 s
        assert any(thread.is_alive() for thread in heavy)
        for thread in heavy:
            thread.join()


def test_a_client_that_leaves_is_not_served(folder: Path, tmp_path: Path,
                                            monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    """Its waiting requests cost nothing."""
    note = tmp_path / "asked"
    body = f"open({str(note)!r}, 'a').write(request.path); time.sleep(0.5); {ANSWER}"
    monkeypatch.setattr(processes, "python_command", worker_that(tmp_path, body))
    app = make_app(folder, workers=1, seconds=30)
    with running(folder, app) as found:
        assert wait_for(lambda: len(app.state.processes.pids) == 1)
        for _ in range(10):
            with socket.create_connection(found, 10) as line:
                line.sendall(get("/left"))
                time.sleep(0.02)
        assert statuses(send(found, get("/stays"))) == [200]
        assert note.read_text().count("/left") <= 2
