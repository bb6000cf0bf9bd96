"""ASGI middleware: access control, request limits and security headers.

Without a token, only requests to names of this machine are answered, so that no other site can read
the library through a browser that runs here (DNS rebinding). With a token, a client sends it in the
header `Authorization: Bearer`, or once in a form or in the URL (`?token=`); a cookie remembers it
from then on. Everything else is GET without a body, so that links from elsewhere may carry the
cookie (SameSite=Lax). The one exception is the MCP server, which takes POST requests with JSON: its
token comes in the header, and a page of another site may not send them (Origin).

Pages of other sites may link here, but not load anything in the background (Sec-Fetch-Site): what
they cannot read could still cost work.
"""

import hashlib
import hmac
import logging
from collections.abc import Callable
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from eqemb.server.clients import GuessLimiter, client_of

_log = logging.getLogger("eqemb.server")
#: Content-Security-Policy: only this server's own files, nothing inline.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
LOOPBACK = frozenset(("127.0.0.1", "localhost", "::1"))
COOKIE = "eqemb"
#: Most bytes of a URL, and of the form that submits a token.
MAX_URL_BYTES, MAX_FORM_BYTES = 32_768, 4_096
#: The path of the MCP server, and most bytes of a request to it.
MCP_PATH, MAX_MCP_BYTES = "/mcp", 65_536
#: Paths that need no token: the health check, and the files of the page that asks for the token.
PUBLIC_PATHS = ("/v1/healthz", "/static/")


class AccessMiddleware:
    """Rejects requests that may not be answered, and adds security headers to every response."""

    def __init__(
        self,
        app: ASGIApp,
        token: str | None,
        hosts: frozenset[str],
        refuse: Callable[[str, int, str], Response],
    ) -> None:
        """`refuse(url, status, message)` makes the response to a rejected request."""
        self._app, self._token, self._hosts, self._refuse = app, token, hosts, refuse
        self._guesses = GuessLimiter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(SECURITY_HEADERS)
            await send(message)

        response = self._check_limits(scope) or await self._check_token(scope, receive)
        response = response or _check_method(scope, self._refuse)
        if response is not None:
            await response(scope, receive, send_with_headers)
            return
        if scope["method"] == "HEAD":  # the server sends only the headers of the GET response
            scope = {**scope, "method": "GET"}
        await self._app(scope, receive, send_with_headers)

    def _check_limits(self, scope: Scope) -> Response | None:
        """A response that rejects the request, whoever sent it."""
        headers = Headers(scope=scope)
        path = scope.get("raw_path") or scope["path"]  # as sent: %C3%A9 counts as six bytes
        if len(path) + len(scope["query_string"]) > MAX_URL_BYTES:
            message = f"the URL is too long: at most {MAX_URL_BYTES:,} bytes are allowed"
            return self._refuse(scope["path"], 414, message)
        if self._token is None:
            host = _host(headers.get("host", ""))
            if host not in self._hosts:
                message = f"this server does not answer requests for the host {host!r}"
                return self._refuse(scope["path"], 421, message)
        if _is_background(headers):
            message = "this server does not answer what pages of other sites load: open the link"
            return self._refuse(scope["path"], 403, message)
        if _is_mcp(scope):
            return self._check_mcp(scope, headers)
        allowed = MAX_FORM_BYTES if self._token is not None and scope["method"] == "POST" else 0
        if "transfer-encoding" in headers or int(headers.get("content-length", 0)) > allowed:
            message = "request bodies are not accepted: put the whole query into the URL"
            return self._refuse(scope["path"], 413, message)
        return None

    def _check_mcp(self, scope: Scope, headers: Headers) -> Response | None:
        """A response that rejects a request to the MCP server."""
        origin = headers.get("origin")
        if origin is not None and not self._is_own(origin, headers.get("host", "")):
            message = "this server does not answer pages of other sites"
            return self._refuse(scope["path"], 403, message)
        if int(headers.get("content-length", 0)) > MAX_MCP_BYTES:  # the SDK counts chunked bodies
            message = f"the request is too long: at most {MAX_MCP_BYTES:,} bytes are allowed"
            return self._refuse(scope["path"], 413, message)
        return None

    def _is_own(self, origin: str, host: str) -> bool:
        """Whether an Origin header names this server."""
        try:
            place = urlsplit(origin).netloc
        except ValueError:  # not a URL
            return False
        return bool(place) and (place.lower() == host.lower() or _host(place) in LOOPBACK)

    async def _check_token(self, scope: Scope, receive: Receive) -> Response | None:
        """If a token is set: a 401, or a redirect once the client has sent the token."""
        if self._token is None or scope["path"].startswith(PUBLIC_PATHS):
            return None
        path, query = _local_path(scope), scope["query_string"].decode("latin-1")
        rest = [(name, value) for name, value in _pairs(query) if name != "token"]
        url = path + (f"?{urlencode(rest)}" if rest else "")
        form = ""
        if not _is_mcp(scope):
            form = await _body(receive) if scope["method"] == "POST" else query
        entered = [value for name, value in _pairs(form) if name == "token"][:1]
        sent = _sent_tokens(Headers(scope=scope), with_cookie=not _is_mcp(scope))
        client = client_of(scope)
        if entered or sent:
            seconds = self._guesses.seconds_left(client)
            if seconds:
                return self._refuse_guesses(url, seconds)
        if entered and _equal(entered[0], self._token):
            redirect = RedirectResponse(url, 303)
            # Lax, so that a link in a mail works; requests here only read
            redirect.set_cookie(COOKIE, _digest(self._token), httponly=True, samesite="lax")
            return redirect
        expected = {"bearer": self._token, "cookie": _digest(self._token)}
        if any(_equal(value, expected[kind]) for kind, value in sent):
            return None
        guesses = (*entered, *(value for _, value in sent))
        is_first = [self._guesses.add(client, value) for value in guesses]
        if any(is_first):
            # once a minute and client, so that nobody can fill the disk
            _log.warning("a wrong token came from %s", ascii(client)[1:-1])
        message = "this library requires a token"
        if _is_mcp(scope):
            message += ": send the header Authorization: Bearer TOKEN"
        return self._refuse(url, 401, message)

    def _refuse_guesses(self, url: str, seconds: int) -> Response:
        message = f"too many wrong tokens came from your address: try again in {seconds} seconds"
        response = self._refuse(url, 429, message)
        response.headers["Retry-After"] = str(seconds)
        return response


def _sent_tokens(headers: Headers, *, with_cookie: bool) -> list[tuple[str, str]]:
    """The tokens in the headers of a request, each with its kind."""
    kind, _, given = headers.get("authorization", "").partition(" ")
    found = [("bearer", given.strip())] if kind.lower() == "bearer" else []
    if with_cookie:
        # not SimpleCookie, whose time before Python 3.11.10 is quadratic in the number of \
        pairs = (pair.strip().partition("=") for pair in headers.get("cookie", "").split(";"))
        found += [("cookie", value) for name, _, value in pairs if name == COOKIE][-1:]
    return found


def _check_method(scope: Scope, refuse: Callable[[str, int, str], Response]) -> Response | None:
    """A response that rejects a method, or answers OPTIONS."""
    allowed = ("POST",) if _is_mcp(scope) else ("GET", "HEAD")
    if scope["method"] in allowed:
        return None
    listed = ", ".join((*allowed, "OPTIONS"))
    if scope["method"] == "OPTIONS":
        return Response(status_code=204, headers={"Allow": listed})
    message = f"{scope['method'][:20]} is not possible here, only {' or '.join(allowed)}"
    response = refuse(scope["path"], 405, message)
    response.headers["Allow"] = listed
    return response


def _is_background(headers: Headers) -> bool:
    """Whether a browser says that a page of another site loads this, as an image or in a frame."""
    if headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
        return False
    mode, target = (headers.get(f"sec-fetch-{name}", "") for name in ("mode", "dest"))
    return mode != "navigate" or target not in ("", "document")


def _is_mcp(scope: Scope) -> bool:
    return bool(scope["path"] == MCP_PATH)


def _local_path(scope: Scope) -> str:
    r"""The requested path; //other.host and /\other.host become paths on this server."""
    raw = scope.get("raw_path") or quote(scope["path"]).encode()
    return "/" + quote(raw.decode("latin-1").lstrip("/"), safe="/%:@!$&'()*+,;=~")


def _pairs(text: str) -> list[tuple[str, str]]:
    return parse_qsl(text, keep_blank_values=True)


async def _body(receive: Receive) -> str:
    """The body of a request; `_check_limits` has bounded its length."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body.decode("latin-1")


def _equal(one: str, other: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def _digest(token: str) -> str:
    return hashlib.sha256(f"eqemb {token}".encode()).hexdigest()


def _host(header: str) -> str:
    """The name in a Host header, without the port."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0].lower()
