"""The running server: sockets, timeouts, limits on connections, and the command."""

import contextlib
import http.client
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest
import uvicorn
from fastapi import FastAPI, Response

from eqemb.errors import UsageError
from eqemb.server.app import make_app
from eqemb.server.run import bind, is_loopback, serve, uvicorn_config
from synthetic import Run, start


@contextlib.contextmanager
def running(
    folder: Path, app: FastAPI | None = None, host: str = "127.0.0.1", **limits: Any
) -> Iterator[tuple[str, int]]:
    """A server as `eqemb serve` runs it, in a thread; `limits` are those of `uvicorn_config`."""
    server = uvicorn.Server(uvicorn_config(app or make_app(folder), **limits))
    with bind(host, 0) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield "127.0.0.1", listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


def send(address: tuple[str, int], *requests: bytes) -> bytes:
    """Everything a server sends until it closes; each request follows the previous answer."""
    received = b""
    with (
        socket.create_connection(address, timeout=10) as connection,
        contextlib.suppress(ConnectionError),  # the server may close before reading everything
    ):
        for request in requests[:-1]:
            connection.sendall(request)
            received += connection.recv(65_536)
        with contextlib.suppress(ConnectionError):
            connection.sendall(requests[-1])
        while part := connection.recv(65_536):
            received += part
    return received


def test_idle_clients_are_disconnected(folder: Path) -> None:
    """So are clients with incomplete requests; one that pauses between complete requests stays."""
    head = b"GET /v1/healthz HTTP/1.1\r\nHost: localhost\r\n"
    with running(folder, timeout=0.15) as address:
        assert send(address, b"") == b""
        assert send(address, head) == b""
        assert send(address, head + b"\r\n", head).startswith(b"HTTP/1.1 200")
        patient = http.client.HTTPConnection(*address)
        for _ in range(3):
            patient.request("GET", "/v1/healthz")
            assert patient.getresponse().read() == b'{"status":"ok"}'
            connection = patient.sock
            time.sleep(0.2)
        assert patient.sock is connection
        patient.close()


def test_the_number_of_connections_is_limited(folder: Path) -> None:
    """An additional one is dropped; a closed one makes room."""

    def get(connection: http.client.HTTPConnection) -> bytes:
        connection.request("GET", "/v1/healthz")
        return connection.getresponse().read()

    with running(folder, max_connections=2) as address:
        first, second, third = (http.client.HTTPConnection(*address, timeout=10) for _ in "123")
        assert get(first) == get(second) == b'{"status":"ok"}'
        with pytest.raises(ConnectionError):
            get(third)
        third.close()
        assert get(first) == b'{"status":"ok"}'
        second.close()
        time.sleep(0.2)
        assert get(third) == b'{"status":"ok"}'
        first.close()
        third.close()


@pytest.mark.parametrize("header", [b"", b"Connection: close\r\n"])
def test_clients_that_stop_reading_are_disconnected(folder: Path, header: bytes) -> None:
    """The response is far larger than the kernel's buffers; a slow reader gets all of it."""
    size = 4 << 20
    app = make_app(folder)
    app.add_api_route("/large", lambda: Response(b"x" * size))
    request = b"GET /large HTTP/1.1\r\nHost: localhost\r\n" + header + b"\r\n"
    with running(folder, app, timeout=0.2) as address:
        for pause, is_complete in ((0.02, True), (0.8, False)):
            with socket.socket() as connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
                connection.settimeout(10)
                connection.connect(address)
                connection.sendall(request)
                received = 0
                with contextlib.suppress(ConnectionError):
                    for _ in range(20):  # the slow reader pauses for 0.4 s in total
                        if is_complete or not received:
                            time.sleep(pause)
                        received += len(connection.recv(1 << 16))
                    while received < size and (part := connection.recv(1 << 16)):
                        received += len(part)
                assert (received >= size) == is_complete


def test_large_requests_are_rejected(folder: Path) -> None:
    """A URL or a body of a megabyte."""
    much = b"x" * 1_000_000
    with running(folder) as address:
        for request, status in (
            (b"GET /?q=" + much + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", b"400"),
            (b"GET /?q=" + much[:60_000] + b" HTTP/1.1\r\nHost: localhost\r\n"
             b"Connection: close\r\n\r\n", b"414"),
            (b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n" + much,
             b"413"),
        ):  # fmt: skip
            assert send(address, request).split(b" ", 2)[1] == status


def test_a_public_address_needs_a_token(folder: Path) -> None:
    """Of at least eight characters."""
    with pytest.raises(UsageError, match="--token"):
        serve(folder, host="0.0.0.0", port=0)  # noqa: S104
    with pytest.raises(UsageError, match="guess"):
        serve(folder, port=0, token="let m")  # noqa: S106
    assert is_loopback("127.0.0.2")
    assert not is_loopback("example.org")


def test_a_port_in_use_is_reported() -> None:
    """With the port and the option to change it."""
    with bind("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP  # otherwise asyncio sets no TCP_NODELAY
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port}.*--port"):
            bind("127.0.0.1", port)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_until_a_signal(folder: Path, number: int) -> None:
    """It prints its URL, answers, and ends without a traceback."""
    with start("-m", "eqemb", "serve", folder, "--port", "0", "--no-map") as process:
        assert process.stderr is not None
        url = process.stderr.readline().split()[0]
        assert url.startswith("http://127.0.0.1:")
        for _ in range(100):
            try:
                with urlopen(f"{url}v1/healthz") as answer:  # noqa: S310 - our own server
                    assert answer.status == 200
                break
            except URLError:
                time.sleep(0.1)
        process.send_signal(number)
        _, rest = process.communicate(timeout=30)
    assert (process.returncode, rest) == (0, "")


@pytest.mark.parametrize("is_environment", [True, False])
def test_a_token_of_the_environment_is_not_printed(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, *, is_environment: bool
) -> None:
    """Journals of services keep what a command prints; a token of the command line is known."""
    monkeypatch.setattr(uvicorn.Server, "run", lambda *_, **__: None)
    words = ["serve", folder, "--port", "0", "--no-map", "--workers", "0"]
    if is_environment:
        monkeypatch.setenv("EQEMB_TOKEN", "let-me-in-please")
    else:
        words += ["--token", "let-me-in-please"]
    done = run(*words)
    assert (done.code, "let-me-in-please" in done.err) == (0, not is_environment)
    assert ("EQEMB_TOKEN is not shown" in done.err) == is_environment


def test_the_command_reports_usage_errors(run: Run, folder: Path) -> None:
    """A missing library, or a public address without a token."""
    done = run("serve", folder.parent / "none")
    assert (done.code, "no library" in done.err) == (2, True)
    done = run("serve", folder, "--host", "0.0.0.0")  # noqa: S104
    assert (done.code, "--token" in done.err) == (2, True)
