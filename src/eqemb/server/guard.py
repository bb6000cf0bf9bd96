"""Who may ask, and what a browser may do with the answer.

Without a token only names of this machine are answered, so that no other site can read the library
through a browser that runs here (DNS rebinding). With one it is asked for, in a header
(`Authorization: Bearer`), or once in the address (`?token=`), after which a cookie remembers it.
"""

import hashlib
import hmac
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

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
LONGEST_ADDRESS = 32_768
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
        """`refuse` makes an answer for a path, with a status and a sentence."""
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

        refused = self._refusal(scope)
        if refused is not None:
            await refused(scope, receive, guarded)
            return
        if scope["method"] == "HEAD":  # the server sends the head of what GET gives
            scope = {**scope, "method": "GET"}
        await self._app(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        """Why a request goes no further."""
        headers = Headers(scope=scope)
        if len(scope["path"]) + len(scope["query_string"]) > LONGEST_ADDRESS:
            return self._refuse(scope["path"], 414, "the address is too long")
        if self._token is None:
            host = _host(headers.get("host", ""))
            if host not in self._hosts:
                return self._refuse(scope["path"], 421, f"this server is not called {host!r}")
            return None
        if scope["path"].startswith(_OPEN) or self._knows(headers):
            return None
        given = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in given if name == "token"]
        if tokens and _same(tokens[0], self._token):
            rest = urlencode([(name, value) for name, value in given if name != "token"])
            path = "/" + scope["path"].lstrip("/")  # //other.host is no address of ours
            found = RedirectResponse(path + (f"?{rest}" if rest else ""), 303)
            found.set_cookie(COOKIE, _digest(self._token), httponly=True, samesite="strict")
            return found
        return self._refuse(scope["path"], 401, "this library asks for a token")

    def _knows(self, headers: Headers) -> bool:
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and _same(given.strip(), str(self._token)):
            return True
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        return COOKIE in cookies and _same(cookies[COOKIE].value, _digest(str(self._token)))


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def _digest(token: str) -> str:
    return hashlib.sha256(f"eqemb {token}".encode()).hexdigest()


def _host(header: str) -> str:
    """The name in a Host header, without the port."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0].lower()
