"""Who may ask, and what a browser may do with the answer.

Without a token only names of this machine are answered, so that no other site can read the library
through a browser that runs here (DNS rebinding). With one it is asked for: in a header
(`Authorization: Bearer`), or once by a form or in the address (`?token=`), after which a cookie
remembers it. All else is GET without a body, so that links from elsewhere may bring the cookie.
"""

import hashlib
import hmac
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Nothing but what this server sends, and nothing inline.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
LOOPBACK = frozenset(("127.0.0.1", "localhost", "::1"))
COOKIE = "eqemb"
#: Bytes of an address, and of the form that sends a token.
LONGEST_ADDRESS, LONGEST_FORM = 32_768, 4_096
#: What anybody may have: whether we live, and how the page looks that asks for the token.
_OPEN = ("/v1/healthz", "/static/")


class Guard:
    """Lets requests through, or does not, and adds the headers of every answer."""

    def __init__(
        self,
        app: ASGIApp,
        token: str | None,
        hosts: frozenset[str],
        refuse: Callable[[str, int, str], Response],
    ) -> None:
        """`refuse` makes an answer for an address, with a status and a sentence."""
        self._app, self._token, self._hosts, self._refuse = app, token, hosts, refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or hand on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refused = self._refusal(scope) or await self._entrance(scope, receive)
        if refused is not None:
            await refused(scope, receive, guarded)
            return
        if scope["method"] == "HEAD":  # the server sends the head of what GET gives
            scope = {**scope, "method": "GET"}
        await self._app(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        """Why a request goes no further, whoever asks."""
        headers = Headers(scope=scope)
        path = scope.get("raw_path") or scope["path"]  # as it was sent: %C3%A9 is one letter
        if len(path) + len(scope["query_string"]) > LONGEST_ADDRESS:
            return self._refuse(scope["path"], 414, "the address is too long")
        if self._token is None:
            host = _host(headers.get("host", ""))
            if host not in self._hosts:
                return self._refuse(scope["path"], 421, f"this server is not called {host!r}")
        most = LONGEST_FORM if self._token is not None and scope["method"] == "POST" else 0
        if "transfer-encoding" in headers or int(headers.get("content-length", 0)) > most:
            return self._refuse(scope["path"], 413, "a question is its address: send nothing more")
        return None

    async def _entrance(self, scope: Scope, receive: Receive) -> Response | None:
        """Where there is a token: the question for it, or the way on once it is given."""
        if self._token is None:
            return None
        path, query = _address(scope), scope["query_string"].decode("latin-1")
        rest = [(name, value) for name, value in _pairs(query) if name != "token"]
        address = path + (f"?{urlencode(rest)}" if rest else "")
        form = await _body(receive) if scope["method"] == "POST" else query
        given = [value for name, value in _pairs(form) if name == "token"]
        if given and _same(given[0], self._token):
            found = RedirectResponse(address, 303)
            # lax: a link in a mail leads in, and nothing here does more than answer
            found.set_cookie(COOKIE, _digest(self._token), httponly=True, samesite="lax")
            return found
        if scope["path"].startswith(_OPEN) or self._knows(Headers(scope=scope)):
            return None
        return self._refuse(address, 401, "this library asks for a token")

    def _knows(self, headers: Headers) -> bool:
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and _same(given.strip(), str(self._token)):
            return True
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        return COOKIE in cookies and _same(cookies[COOKIE].value, _digest(str(self._token)))


def _address(scope: Scope) -> str:
    r"""The path as it was asked for; neither //other.host nor /\other.host is one of ours."""
    raw = scope.get("raw_path") or quote(scope["path"]).encode()
    return "/" + quote(raw.decode("latin-1").lstrip("/"), safe="/%:@!$&'()*+,;=~")


def _pairs(text: str) -> list[tuple[str, str]]:
    return parse_qsl(text, keep_blank_values=True)


async def _body(receive: Receive) -> str:
    """What was sent along; the guard has looked how long it is."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body.decode("latin-1")


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def _digest(token: str) -> str:
    return hashlib.sha256(f"eqemb {token}".encode()).hexdigest()


def _host(header: str) -> str:
    """The name in a Host header, without the port."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0].lower()
