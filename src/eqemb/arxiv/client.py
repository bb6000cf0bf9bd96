"""HTTP client that follows arXiv's terms of use: one connection, and a pause before each request.

urllib3 does the transport: TLS, proxies of the environment (`HTTPS_PROXY`, `NO_PROXY`), timeouts
and reuse of the connection. Its own retries and redirects are off, since each of them needs the
pause too: failed requests are repeated here, after a wait that doubles each time, or as long as
`Retry-After` says. A server that stays busy or asks for a long pause ends the run
(`UnavailableError`); one that fails at a single URL may answer others (`RequestFailedError`).
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3.exceptions import HTTPError, InvalidHeader, ProxySchemeUnknown
from urllib3.util import Retry, make_headers, parse_url

from eqemb import __version__
from eqemb.arxiv.text import format_duration
from eqemb.errors import EqembError, UsageError
from eqemb.sources import Limits

MIN_DELAY = 3.0  # seconds between two requests, by arXiv's terms of use
MAX_BYTES = Limits().paper_bytes  # of a response: a larger paper could not be read
_MAX_ATTEMPTS = 6
_MAX_RETRY_AFTER = 900.0  # seconds
_MAX_REDIRECTS = 5
_TIMEOUT = 90.0  # seconds, to connect and for each read
_READ_BYTES = 1 << 16
_BUSY = frozenset((429, 503))
_FAILED = frozenset((500, 502, 504))
_MOVED = frozenset((301, 302, 303, 307, 308))


class UnavailableError(EqembError):
    """The server does not answer at present, or refuses to."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason}: run the same command later to continue")


class RequestFailedError(UnavailableError):
    """The server failed at this URL every time; it may answer others."""


class ResponseTooLargeError(EqembError):
    """The response has more than `MAX_BYTES` bytes."""


class Site(NamedTuple):
    """The addresses of arXiv: its API, its sources, and its OAI records, which have licences."""

    api: str = "https://export.arxiv.org/api/query"
    source: str = "https://export.arxiv.org/src/"
    records: str = "https://oaipmh.arxiv.org/oai"


class Response(NamedTuple):
    """What a server sent."""

    status: int
    headers: Mapping[str, str]
    """Names in any case."""
    body: bytes


class Client:
    """Sends one request at a time over one connection, at least `delay` seconds apart."""

    def __init__(
        self,
        delay: float = MIN_DELAY,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not delay >= MIN_DELAY:
            raise UsageError(
                f"delay must be at least {MIN_DELAY:g} s, as arXiv asks, not {delay:g} s"
            )
        self.delay = delay
        self._clock, self._sleep = clock, sleep
        self._earliest = clock() + delay  # another run may have just ended
        self._manager: urllib3.PoolManager | None = None
        self._proxy: str | None = None
        self._answered = False

    def get(self, url: str) -> Response:
        """Request a URL until the server answers, up to six times."""
        host = urlsplit(url).netloc
        for attempt in range(1, _MAX_ATTEMPTS + 1):
            retry_after, is_busy = 0.0, False
            try:
                response = self._follow(url)
            except (HTTPError, OSError) as error:
                reason = _reason(error)
                if not self._answered:  # most likely no network: waiting would not help
                    raise UnavailableError(f"cannot reach {host} ({reason})") from None
            else:
                if response.status not in _BUSY | _FAILED:
                    return response
                is_busy = response.status in _BUSY
                reason, retry_after = f"HTTP {response.status}", _retry_after(response)
            if retry_after > _MAX_RETRY_AFTER:
                raise UnavailableError(f"arXiv asks for a pause of {format_duration(retry_after)}")
            if attempt < _MAX_ATTEMPTS:
                self.back_off(attempt, retry_after)
        kind = UnavailableError if is_busy else RequestFailedError
        raise kind(f"{host} failed to answer {_MAX_ATTEMPTS} times ({reason})")

    def back_off(self, failures: int, retry_after: float = 0.0) -> None:
        """Delay the next request: longer after each failure, and as long as the server asks."""
        self._earliest = self._clock() + max(retry_after, self.delay * 2**failures)

    def close(self) -> None:
        """Close the connection."""
        if self._manager is not None:
            self._manager.clear()
        self._manager = None

    def _follow(self, url: str) -> Response:
        """Request a URL and follow redirects, each at the pace of any request."""
        for _ in range(_MAX_REDIRECTS):
            response = self._request(url)
            if response.status == 403:
                raise UnavailableError(f"{urlsplit(url).netloc} denies access (HTTP 403)")
            if response.status not in _MOVED or "Location" not in response.headers:
                return response
            url = urljoin(url, response.headers["Location"])
        raise RequestFailedError(f"too many redirects to {url}")

    def _request(self, url: str) -> Response:
        self._sleep(max(0.0, self._earliest - self._clock()))
        try:
            return self._send(url)
        except BaseException:
            self.close()
            raise
        finally:
            self._earliest = self._clock() + self.delay

    def _send(self, url: str) -> Response:
        """Send a request, and read the body as it is: sources stay compressed."""
        response = self._connected(url).request(
            "GET", url, redirect=False, retries=False, preload_content=False, decode_content=False
        )
        self._answered = True
        body = bytearray()
        for chunk in response.stream(_READ_BYTES, decode_content=False):
            body += chunk
            if len(body) > MAX_BYTES:
                raise ResponseTooLargeError(f"{url} is larger than {MAX_BYTES / 1e6:.0f} MB")
        response.release_conn()
        return Response(response.status, response.headers, bytes(body))

    def _connected(self, url: str) -> urllib3.PoolManager:
        """The connection pool for a URL, through the proxy that the environment names for it."""
        parts = urlsplit(url)
        proxies = getproxies()
        proxy = proxies.get(parts.scheme) or proxies.get("all")
        if proxy_bypass(parts.netloc):
            proxy = None
        if self._manager is None or self._proxy != proxy:
            self.close()
            self._manager, self._proxy = _new_manager(proxy), proxy
        return self._manager


def _new_manager(proxy: str | None) -> urllib3.PoolManager:
    """A pool of one connection; certificates are verified."""
    options: dict[str, Any] = {
        "num_pools": 1,
        "maxsize": 1,
        "timeout": _TIMEOUT,
        "headers": {"User-Agent": f"eqemb/{__version__} (eqemb fetch; Python)"},
    }
    if proxy is None:
        return urllib3.PoolManager(**options)
    address = parse_url(proxy if "://" in proxy else f"http://{proxy}")
    login = make_headers(proxy_basic_auth=unquote(address.auth)) if address.auth else None
    address = address._replace(auth=None)
    try:
        return urllib3.ProxyManager(address.url, proxy_headers=login, **options)
    except ProxySchemeUnknown:
        raise UsageError(
            f"proxy {address.url} is not supported: use an http:// or https:// proxy, or list"
            " arxiv.org in NO_PROXY"
        ) from None


def _reason(error: Exception) -> str:
    """What went wrong, without the connection objects that urllib3 puts before it."""
    inner: Any = error
    while isinstance(inner, HTTPError):
        cause = inner.__cause__ or (inner.args[-1] if inner.args else None)
        if not isinstance(cause, Exception):
            break
        inner = cause
    return str(inner) or type(inner).__name__


def _retry_after(response: Response) -> float:
    """The seconds that a server asks us to wait, given as a number or as a date."""
    try:
        return Retry().parse_retry_after(response.headers["Retry-After"])
    except (KeyError, InvalidHeader):
        return 0.0
