"""Run the server: bind a socket, serve, shut down gracefully."""

import asyncio
import contextlib
import ipaddress
import os
import socket
import threading
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from eqemb.errors import UsageError
from eqemb.server.app import make_app
from eqemb.server.clients import Network, client_name, networks
from eqemb.server.middleware import LOOPBACK
from eqemb.server.processes import default_workers
from eqemb.server.ray_parts import RayParts, check_engine
from eqemb.server.workers import TIME_LIMIT

#: Most connections at once; most bytes of a request's head (a longer one is answered 400).
MAX_CONNECTIONS, MAX_HEAD_BYTES = 512, 128 << 10
#: Most connections of one client, unless it is a reverse proxy.
MAX_CLIENT_CONNECTIONS = 128
#: Seconds until a request must be complete, and without progress in reading a response; seconds for
#: the last responses at shutdown.
CLIENT_TIMEOUT, SHUTDOWN_TIMEOUT = 15.0, 5
#: Bytes of a response that the kernel buffers. It asks for more when a third is free: with a buffer
#: of megabytes, a slow reader could not be distinguished from one that has stopped.
SEND_BUFFER_BYTES = 128 << 10
MIN_TOKEN_LENGTH = 8


class LimitedH11Protocol(H11Protocol):
    """An HTTP connection that is dropped if its client sends no request or stops reading.

    Otherwise idle clients could use up all connections. The connection is aborted: a normal close
    would wait until the buffered bytes are sent.
    """

    timeout: float = CLIENT_TIMEOUT
    max_connections: int = MAX_CONNECTIONS
    max_client_connections: int = MAX_CLIENT_CONNECTIONS
    proxies: tuple[Network, ...] = ()
    _request_timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the request timer, unless there are too many connections."""
        super().connection_made(transport)
        if len(self.connections) > self.max_connections or self._is_one_too_many():
            transport.abort()
            return
        connection = transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        transport.set_write_buffer_limits(high=0)  # pause writing while any byte is buffered
        self._update_request_timer()

    def _is_one_too_many(self) -> bool:
        """Whether this client has too many connections."""
        if self.client is None or any(
            ipaddress.ip_address(self.client[0]) in network for network in self.proxies
        ):
            return False
        clients = [getattr(protocol, "client", None) for protocol in self.connections]
        names = [client_name(client[0]) for client in clients if client is not None]
        return names.count(client_name(self.client[0])) > self.max_client_connections

    def data_received(self, data: bytes) -> None:
        """Handle data; an incomplete request does not extend the timeout."""
        super().data_received(data)
        self._update_request_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop both timers."""
        super().connection_lost(exc)
        self._stop_request_timer()
        self._stop_write_timer()

    def pause_writing(self) -> None:
        """Start the write timer."""
        super().pause_writing()
        self._check_progress()

    def resume_writing(self) -> None:
        """Stop the write timer: everything was sent."""
        super().resume_writing()
        self._stop_write_timer()

    def _check_progress(self, before: int | None = None) -> None:
        """Abort if nothing was sent since the last check, otherwise check again later."""
        pending = self.transport.get_write_buffer_size()
        if before is not None and pending >= before:
            self.transport.abort()
        else:
            self._write_timer = self.loop.call_later(self.timeout, self._check_progress, pending)

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _update_request_timer(self) -> None:
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop_request_timer()
        elif self._request_timer is None:
            self._request_timer = self.loop.call_later(self.timeout, self.transport.abort)

    def _stop_request_timer(self) -> None:
        if self._request_timer is not None:
            self._request_timer.cancel()
            self._request_timer = None


def serve(  # noqa: PLR0913
    folder: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    snippets: str = "full",
    token: str | None = None,
    browse: bool = False,
    draws: bool = True,
    only_agents: bool = False,
    workers: int | None = None,
    seconds: float = TIME_LIMIT,
    proxies: Sequence[str] = (),
    engine: str = "local",
    parts: int | None = None,
    replicas: int = 1,
    shows_token: bool = True,
    say: Callable[[str], object] = print,
) -> None:
    """Serve a library until interrupted.

    `draws` creates a missing map in the background; `only_agents` serves MCP alone. `workers`
    processes answer requests, by default one for each core; 0 for threads of this one. An answer
    may take so many `seconds`. `proxies` are addresses or networks of reverse proxies, whose header
    X-Forwarded-For names the client. With the engine "ray" or "ray://HOST", `parts` of the library
    are searched by as many `replicas` each. `shows_token` prints the token as part of the URL.
    """
    trusted = networks(proxies)
    if token is None and not is_loopback(host):
        raise UsageError(
            f"anyone who can reach {host} could read the library: set a token with --token"
        )
    if token is not None and len(token) < MIN_TOKEN_LENGTH:
        raise UsageError(
            f"the token has only {len(token)} characters and is easy to guess:"
            f" use {MIN_TOKEN_LENGTH} or more"
        )
    check_engine(engine, parts, replicas)
    hosts = LOOPBACK | {host.lower()}
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(bind(host, port))
        deployed = None
        if engine != "local":
            say("starting the parts of the library")
            deployed = RayParts.deploy(folder, engine, parts, replicas, seconds)
            stack.callback(deployed.close)
        app = make_app(
            folder,
            snippets=snippets,
            token=token,
            hosts=hosts,
            workers=default_workers() if workers is None else workers,
            seconds=seconds,
            draws=draws,
            only_agents=only_agents,
            parts=deployed,
        )
        shown = listener.getsockname()[1]
        url = _url(host, shown, None) + "mcp" if only_agents else _url(host, shown, token)
        is_hidden = token is not None and not shows_token
        say(f"{_url(host, shown, None) if is_hidden else url} (stop with Ctrl-C)")
        if is_hidden and not only_agents:
            say("the token of EQEMB_TOKEN is not shown: enter it on the page, or add ?token=TOKEN")
        if browse:
            threading.Timer(0.5, webbrowser.open, (url,)).start()
        with contextlib.suppress(KeyboardInterrupt):  # uvicorn has shut down by then
            uvicorn.Server(uvicorn_config(app, proxies=trusted)).run(sockets=[listener])


def uvicorn_config(
    app: FastAPI,
    *,
    timeout: float = CLIENT_TIMEOUT,
    max_connections: int = MAX_CONNECTIONS,
    max_client_connections: int = MAX_CLIENT_CONNECTIONS,
    proxies: tuple[Network, ...] = (),
) -> uvicorn.Config:
    """The settings of uvicorn, with limits on clients."""
    limits = {
        "timeout": timeout,
        "max_connections": max_connections,
        "max_client_connections": max_client_connections,
        "proxies": proxies,
    }
    return uvicorn.Config(
        app,
        http=type("LimitedH11Protocol", (LimitedH11Protocol,), limits),
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        ws="none",
        log_level="error",  # a warning for each invalid request would let anybody fill the disk
        access_log=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=SHUTDOWN_TIMEOUT,
        server_header=False,
        # by default, uvicorn would believe the header X-Forwarded-For of all local programs
        proxy_headers=bool(proxies),
        forwarded_allow_ips=[str(network) for network in proxies],
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host.lower() in LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bind(host: str, port: int) -> socket.socket:
    """A socket bound to an address; port 0 selects a free port."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = addresses[0]
        # asyncio sets TCP_NODELAY only if the protocol is given: without it, 40 ms a response
        listener = socket.socket(family, kind, protocol)
        if os.name != "nt":  # on Windows, several programs could use the port at once
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
        except OSError:
            listener.close()
            raise
    except OSError as error:
        raise UsageError(
            f"cannot listen on {host}, port {port} ({error.strerror}):"
            " choose another port with --port"
        ) from None
    return listener


def _url(host: str, port: int, token: str | None) -> str:
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/" + (f"?token={quote(token)}" if token else "")
