"""Open the door: a socket, a server on it, and an end without haste."""

import asyncio
import contextlib
import ipaddress
import socket
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from eqemb.errors import UsageError
from eqemb.server.app import make_app
from eqemb.server.middleware import LOOPBACK

#: Connections at once, bytes of a request's head, seconds in which a request must be there, seconds
#: for the last answers at the end. A longer head is answered 400, a long address in it 414.
CONNECTIONS, HEAD, PATIENCE, LAST = 512, 128 << 10, 15.0, 5
#: Bytes that the system keeps of an answer. It asks for more when a third is taken: where it kept
#: megabytes, who reads slowly would look like who does not read.
UNDERWAY = 128 << 10


class Visitor(H11Protocol):
    """A connection that ends where no whole request comes, or no answer is taken.

    Else who is silent would keep others out. It is cut off, for closing waits for bytes to be sent.
    """

    _timer: asyncio.TimerHandle | None = None
    _taking: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request, if there is room."""
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS:
            transport.abort()
            return
        line = transport.get_extra_info("socket")
        line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, UNDERWAY)
        transport.set_write_buffer_limits(high=0)  # writing is paused while a single byte waits
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Read; half a request is no reason to wait longer."""
        super().data_received(data)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        super().connection_lost(exc)
        self._stop()
        self._stop_taking()

    def pause_writing(self) -> None:
        """Wait until what is written is taken."""
        super().pause_writing()
        self._wait_taking()

    def resume_writing(self) -> None:
        """All is taken."""
        super().resume_writing()
        self._stop_taking()

    def _wait_taking(self, before: int | None = None) -> None:
        left = self.transport.get_write_buffer_size()
        if before is not None and left >= before:
            self.transport.abort()
        else:
            self._taking = self.loop.call_later(PATIENCE, self._wait_taking, left)

    def _stop_taking(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None

    def _wait(self) -> None:
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop()
        elif self._timer is None:
            self._timer = self.loop.call_later(PATIENCE, self.transport.abort)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def serve(
    folder: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    snippets: str = "full",
    token: str | None = None,
    browse: bool = False,
    draws: bool = True,
    say: Callable[[str], object] = print,
) -> None:
    """Serve a library until somebody interrupts; `draws`: with a map, which may be made first."""
    if token is None and not is_loopback(host):
        raise UsageError(f"whoever reaches {host} could read the library: give a --token")
    if token is not None and len(token) < 8:
        raise UsageError(f"a token of {len(token)} letters is soon guessed: give 8 or more")
    hosts = LOOPBACK | {host.lower()}
    app = make_app(folder, snippets=snippets, token=token, hosts=hosts, draws=draws)
    with bound(host, port) as door:
        address = _address(host, door.getsockname()[1], token)
        say(f"{address} (stop with Ctrl-C)")
        if browse:
            threading.Timer(0.5, webbrowser.open, (address,)).start()
        with contextlib.suppress(KeyboardInterrupt):  # it has ended what was under way
            uvicorn.Server(settings(app)).run(sockets=[door])


def settings(app: FastAPI) -> uvicorn.Config:
    """How an application is served, and to how many."""
    return uvicorn.Config(
        app,
        http=Visitor,  # h11 bounds the head of a request, and this its time
        h11_max_incomplete_event_size=HEAD,
        ws="none",
        log_level="warning",
        access_log=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=LAST,
        server_header=False,
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host.lower() in LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bound(host: str, port: int) -> socket.socket:
    """A socket at an address; port 0 takes any that is free."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[
            0
        ]
        # asyncio sends at once (TCP_NODELAY) only where the protocol is named: 40 ms an answer
        door = socket.socket(family, kind, protocol)
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            door.bind(place)
        except OSError:
            door.close()
            raise
    except OSError as error:
        raise UsageError(
            f"cannot listen at {host}, port {port} ({error.strerror}): name another with --port"
        ) from None
    return door


def _address(host: str, port: int, token: str | None) -> str:
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/" + (f"?token={quote(token)}" if token else "")
