"""Ask a server by arXiv's manners: one call at a time over one connection, a pause before each.

A server that is busy is asked again after a wait that doubles, or as long as it says; one that
stays busy, or asks for a long pause, is left alone (`Unavailable`). One that fails at a question
each time may answer others (`NoAnswer`). What to ask, and what the answers mean, is left to
`fetching`.
"""

import email.utils
import http.client
import time
from collections.abc import Callable
from email.message import Message
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit, urlunsplit

from eqemb import __version__
from eqemb.errors import EqembError, UsageError

DELAY = 3.0  # seconds between two calls, by arXiv's terms of use
_TRIES = 6
_LONGEST_WAIT = 900.0
_TIMEOUT = 90.0
_BUSY = frozenset((429, 503))
_FAILED = frozenset((500, 502, 504))
_MOVED = frozenset((301, 302, 303, 307, 308))


class Unavailable(EqembError):  # noqa: N818 - a state of arXiv's, and the sentence says so
    """The server does not answer now, or asks us to stay away; the sentence says what to do."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}: the same command goes on later")


class NoAnswer(Unavailable):
    """The server fails at this question, however often it is asked; it may answer others."""


class Reply(NamedTuple):
    """What a server sent."""

    status: int
    headers: Message
    """By name in any case."""
    body: bytes


class Courier:
    """Asks one thing at a time, over one connection, and never before the pause is over."""

    def __init__(
        self,
        delay: float = DELAY,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not delay >= DELAY:
            raise UsageError(f"a delay of {delay:g} s is too short: arXiv asks for {DELAY:g} s")
        self.delay = delay
        self._clock, self._sleep = clock, sleep
        self._earliest = clock() + delay  # another run may have asked just now
        self._server: tuple[str, str] | None = None
        self._connection: http.client.HTTPConnection | None = None
        self._has_answer = False

    def get(self, url: str) -> Reply:
        """Ask until there is an answer; after several failures, `Unavailable` or `NoAnswer`."""
        for failures in range(1, _TRIES + 1):
            asked, is_busy = 0.0, False
            try:
                reply = self._follow(url)
            except (OSError, http.client.HTTPException) as error:
                why = str(error) or type(error).__name__
                if not self._has_answer:  # no network, most likely: waiting would not help
                    raise Unavailable(f"{urlsplit(url).netloc} cannot be reached ({why})") from None
            else:
                if reply.status not in _BUSY | _FAILED:
                    return reply
                is_busy = reply.status in _BUSY
                why, asked = f"HTTP {reply.status}", _retry_after(reply.headers)
            if asked > _LONGEST_WAIT:
                raise Unavailable(f"arXiv asks for a pause of {duration(asked)}")
            if failures < _TRIES:
                self.wait(failures, asked)
        kind = Unavailable if is_busy else NoAnswer
        raise kind(f"{urlsplit(url).netloc} did not answer {_TRIES} times ({why})")

    def wait(self, failures: int, asked: float = 0.0) -> None:
        """Let the next call wait: longer after each failure, and as long as the server asks."""
        self._earliest = self._clock() + max(asked, self.delay * 2**failures)

    def _follow(self, url: str) -> Reply:
        for _ in range(5):
            reply = self._call(url)
            if reply.status == 403:
                raise Unavailable(f"{urlsplit(url).netloc} refuses to answer us (HTTP 403)")
            if reply.status not in _MOVED or "Location" not in reply.headers:
                return reply
            url = urljoin(url, reply.headers["Location"])
        raise http.client.HTTPException(f"{url} leads in a circle")

    def _call(self, url: str) -> Reply:
        self._sleep(max(0.0, self._earliest - self._clock()))
        try:
            response = self._send(url)
            self._has_answer = True
            return Reply(response.status, response.headers, response.read())
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
        """Give the connection back."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def _retry_after(headers: Message) -> float:
    """The seconds that a server asks for, given as such or as a date."""
    text = headers.get("Retry-After", "")
    if text.isdecimal():
        return float(text)
    date = email.utils.parsedate_tz(text)
    return max(0.0, email.utils.mktime_tz(date) - time.time()) if date else 0.0


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
