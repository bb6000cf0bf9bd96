"""HTTP client that follows arXiv's terms of use: one connection, and a pause before each request.

Failed requests are repeated after a wait that doubles each time, or as long as `Retry-After` says.
A server that stays busy or asks for a long pause ends the run (`UnavailableError`); one that fails
at a single URL may answer others (`RequestFailedError`).
"""

import email.utils
import http.client
import time
from collections.abc import Callable
from email.message import Message
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit, urlunsplit

from eqemb import __version__
from eqemb.arxiv.text import format_duration
from eqemb.errors import EqembError, UsageError

MIN_DELAY = 3.0  # seconds between two requests, by arXiv's terms of use
_MAX_ATTEMPTS = 6
_MAX_RETRY_AFTER = 900.0  # seconds
_TIMEOUT = 90.0  # seconds
_MAX_REDIRECTS = 5
_BUSY = frozenset((429, 503))
_FAILED = frozenset((500, 502, 504))
_MOVED = frozenset((301, 302, 303, 307, 308))


class UnavailableError(EqembError):
    """The server does not answer at present, or refuses to."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason}: run the same command later to continue")


class RequestFailedError(UnavailableError):
    """The server failed at this URL every time; it may answer others."""


class Site(NamedTuple):
    """The addresses of arXiv: its API, its sources, and its OAI records, which have licences."""

    api: str = "https://export.arxiv.org/api/query"
    source: str = "https://export.arxiv.org/src/"
    records: str = "https://oaipmh.arxiv.org/oai"


class Response(NamedTuple):
    """What a server sent."""

    status: int
    headers: Message
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
        self._server: tuple[str, str] | None = None
        self._connection: http.client.HTTPConnection | None = None
        self._answered = False

    def get(self, url: str) -> Response:
        """Request a URL until the server answers, up to six times."""
        host = urlsplit(url).netloc
        for attempt in range(1, _MAX_ATTEMPTS + 1):
            retry_after, is_busy = 0.0, False
            try:
                response = self._follow(url)
            except (OSError, http.client.HTTPException) as error:
                reason = str(error) or type(error).__name__
                if not self._answered:  # most likely no network: waiting would not help
                    raise UnavailableError(f"cannot reach {host} ({reason})") from None
            else:
                if response.status not in _BUSY | _FAILED:
                    return response
                is_busy = response.status in _BUSY
                reason, retry_after = f"HTTP {response.status}", _retry_after(response.headers)
            if retry_after > _MAX_RETRY_AFTER:
                raise UnavailableError(f"arXiv asks for a pause of {format_duration(retry_after)}")
            if attempt < _MAX_ATTEMPTS:
                self.back_off(attempt, retry_after)
        kind = UnavailableError if is_busy else RequestFailedError
        raise kind(f"{host} failed to answer {_MAX_ATTEMPTS} times ({reason})")

    def back_off(self, failures: int, retry_after: float = 0.0) -> None:
        """Delay the next request: longer after each failure, and as long as the server asks."""
        self._earliest = self._clock() + max(retry_after, self.delay * 2**failures)

    def _follow(self, url: str) -> Response:
        """Request a URL and follow redirects, each at the pace of any request."""
        for _ in range(_MAX_REDIRECTS):
            response = self._request(url)
            if response.status == 403:
                raise UnavailableError(f"{urlsplit(url).netloc} denies access (HTTP 403)")
            if response.status not in _MOVED or "Location" not in response.headers:
                return response
            url = urljoin(url, response.headers["Location"])
        raise http.client.HTTPException(f"too many redirects at {url}")

    def _request(self, url: str) -> Response:
        self._sleep(max(0.0, self._earliest - self._clock()))
        try:
            response = self._send(url)
            self._answered = True
            return Response(response.status, response.headers, response.read())
        except BaseException:
            self.close()
            raise
        finally:
            self._earliest = self._clock() + self.delay

    def _send(self, url: str) -> http.client.HTTPResponse:
        parts = urlsplit(url)
        target = urlunsplit(("", "", parts.path or "/", parts.query, ""))
        headers = {"User-Agent": f"eqemb/{__version__} (eqemb fetch; Python)"}
        used = self._connection
        if used is not None and self._server == (parts.scheme, parts.netloc):
            try:
                used.request("GET", target, headers=headers)
                return used.getresponse()
            except ConnectionError:  # the server closed it while we paused
                pass
        self.close()
        secure = parts.scheme == "https"
        make = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        self._connection = make(parts.netloc, timeout=_TIMEOUT)
        self._server = parts.scheme, parts.netloc
        self._connection.request("GET", target, headers=headers)
        return self._connection.getresponse()

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def _retry_after(headers: Message) -> float:
    """The seconds that a server asks us to wait, given as a number or as a date."""
    text = headers.get("Retry-After", "")
    if text.isdecimal():
        return float(text)
    date = email.utils.parsedate_tz(text)
    return max(0.0, email.utils.mktime_tz(date) - time.time()) if date else 0.0
