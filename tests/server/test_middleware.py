"""Access control, request limits and security headers."""

import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from eqemb.server.app import make_app
from server.clients import Elements, make_client
from timing import assert_quick

TOKEN = "let me in, please"


def test_only_get_and_head_are_allowed(client: TestClient) -> None:
    """HEAD is answered like GET, without a body."""
    assert client.post("/v1/search?q=x").status_code == 405
    assert client.head("/v1/search?q=cosine").status_code == 200


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_request_bodies_are_rejected(client: TestClient, method: str) -> None:
    """With or without a length; the body is not read and the connection is closed."""
    for body in (b"x" * 1_000_000, iter([b"x"])):
        answer = client.request(method, "/v1/search?q=x", content=body)
        assert answer.status_code == 413
        assert answer.headers["connection"] == "close"


def test_long_urls_are_rejected(client: TestClient) -> None:
    """The limit counts the bytes of the encoded URL."""
    assert client.get("/v1/search?q=" + "x" * 60_000).status_code == 414
    assert client.get("/?q=" + "x" * 60_000).status_code == 414
    assert client.get("/v1/articles/" + "%C3%A9" * 6_000).status_code == 414


def test_every_response_has_security_headers(client: TestClient) -> None:
    """Errors, too."""
    for url in ("/", "/v1/stats", "/v1/none", "/static/page.js", "/none"):
        headers = client.get(url).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


def test_other_hosts_are_rejected(folder: Path) -> None:
    """Another site cannot read the library through a local browser (DNS rebinding)."""
    with TestClient(make_app(folder), base_url="http://evil.example") as other:
        assert other.get("/v1/stats").status_code == 421
        assert other.get("/").status_code == 421


def test_a_token_is_required(folder: Path) -> None:
    """It is sent in a header, or once in the URL, after which a cookie is set."""
    with make_client(folder, token=TOKEN) as locked:
        assert locked.get("/v1/stats").status_code == 401
        assert locked.get("/?token=wrong").status_code == 401
        assert "token" in locked.get("/").text
        assert locked.get("/v1/healthz").status_code == 200
        right = {"Authorization": "Bearer let me in, please"}
        assert locked.get("/v1/stats", headers=right).status_code == 200
        assert locked.get("/v1/stats").status_code == 401
        entered = locked.get("/?q=cosine&token=let+me+in,+please", follow_redirects=False)
        assert (entered.status_code, entered.headers["location"]) == (303, "/?q=cosine")
        assert "HttpOnly" in entered.headers["set-cookie"]
        assert "let me in" not in entered.headers["set-cookie"]
        assert locked.get("/v1/stats").status_code == 200


def test_wrong_tokens_are_logged_once_a_minute(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """With the address of the client, and without the token."""
    with make_client(folder, token=TOKEN) as locked:
        assert locked.get("/v1/stats").status_code == 401
        assert not caplog.records
        for number in range(5):
            wrong = {"Authorization": f"Bearer guess{number}"}
            assert locked.get(f"/v1/stats?token=secret{number}", headers=wrong).status_code == 401
        assert [record.getMessage() for record in caplog.records] == [
            "a wrong token came from testclient"
        ]


def test_a_long_cookie_takes_little_time(folder: Path) -> None:
    """The server parses it before it knows who sent it."""
    with make_client(folder, token=TOKEN) as locked:
        header = {"Cookie": 'eqemb="' + "\\" * 60_000 + '"'}
        assert_quick(lambda: locked.get("/v1/stats", headers=header), 0.2, "a long cookie")


def test_the_cookie_is_found_among_others(folder: Path) -> None:
    """In a header with cookies of other programs on the same host, broken ones included."""
    with make_client(folder, token=TOKEN) as locked:
        entered = locked.get("/?token=let+me+in,+please", follow_redirects=False)
        own = entered.headers["set-cookie"].partition(";")[0]
        locked.cookies.clear()
        for header in (f"a=b; {own}", f'{own};c="d', f";;=; e f=g;{own} ;"):
            assert locked.get("/v1/stats", headers={"Cookie": header}).status_code == 200
        assert locked.get("/v1/stats", headers={"Cookie": f"x{own}"}).status_code == 401


def test_no_error_page_tells_of_the_library_without_a_token(folder: Path) -> None:
    """The files of the token page are public, and a wrong name among them is an error page."""
    with make_client(folder, token=TOKEN) as locked:
        for path in ("/static/none", "/v1/healthz/none", "/none"):
            found = locked.get(path)
            assert found.status_code in (401, 404)
            assert "equations from" not in found.text


@pytest.mark.parametrize("workers", [0, 1])
def test_a_slash_at_the_end_leads_to_no_other_server(folder: Path, workers: int) -> None:
    """A redirect to a whole URL would need the host and the port, which workers are not told."""
    with make_client(folder, workers=workers) as client:
        found = client.get("http://localhost:8000/v1/stats/", follow_redirects=False)
        assert found.status_code == 404
        assert "location" not in found.headers


def test_a_redirect_stays_on_this_server(folder: Path) -> None:
    """//host is not followed to another host."""
    with make_client(folder, token=TOKEN) as locked:
        found = locked.get(
            "http://localhost//evil.example/?token=let+me+in,+please", follow_redirects=False
        )
        assert found.headers["location"].startswith("/evil.example")


@pytest.mark.parametrize(
    "url", ["/v1/equations/angles%231", "/?q=%24a%26b%24", "/articles/angles?equation=1"]
)
def test_a_link_works_after_the_token_is_given(folder: Path, url: str) -> None:
    """By the form, which keeps the token out of URLs, or by the URL itself."""
    with make_client(folder, token=TOKEN) as locked:
        refused = locked.get(url)
        assert refused.status_code == 401
        if not url.startswith("/v1/"):
            form = next(a for tag, a in Elements(refused.text).found if tag == "form")
            assert (form["action"], form["method"]) == (url, "post")
        assert locked.post(url, data={"token": "wrong"}).status_code == 401
        entered = locked.post(url, data={"token": TOKEN}, follow_redirects=False)
        assert (entered.status_code, entered.headers["location"]) == (303, url)
        assert "samesite=lax" in entered.headers["set-cookie"].lower()
        assert locked.get(url).status_code == 200
    with make_client(folder, token=TOKEN) as locked:
        given = f"{url}{'&' if '?' in url else '?'}token=let+me+in,+please"
        entered = locked.get(given, follow_redirects=False)
        assert (entered.status_code, entered.headers["location"]) == (303, url)


def test_the_token_form_submits_to_this_server(folder: Path) -> None:
    """Whatever the requested path; a long form is rejected."""
    with make_client(folder, token=TOKEN) as locked:
        for path in ("//evil.example/", "/\\evil.example/", "/%5Cevil.example/"):
            refused = locked.get(f"http://localhost{path}?q=1")
            form = next(a for tag, a in Elements(refused.text).found if tag == "form")
            assert re.fullmatch(r"/(%5C)?evil.example/\?q=1", form["action"] or "")
        assert locked.post("/", data={"token": TOKEN, "more": "x" * 5000}).status_code == 413
