"""The API and the pages as a client meets them: answers, limits, hostile papers, strangers."""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import quote, unquote, urlsplit
from urllib.request import urlopen

import pytest
import uvicorn
from fastapi import FastAPI, Response
from fastapi.testclient import TestClient

from axes import make_library
from eqemb.errors import UsageError
from eqemb.facade.library import Library
from eqemb.formula import layout
from eqemb.formula.html import classes_for_styles
from eqemb.server import schemas, snippets
from eqemb.server.app import make_app
from eqemb.server.cache import LRUCache
from eqemb.server.queries import check_query, single_formula
from eqemb.server.run import bind, is_loopback, serve, uvicorn_config
from eqemb.server.service import Page, Service
from eqemb.server.snippets import mathml, pieces, shorten_context, shorten_sentence
from eqemb.server.views import manual
from eqemb.server.views.markup import Html, h
from eqemb.server.workers import WorkerPool
from synthetic import eqemb, paper, start

COSINE = r"\cos(u, v) = \frac{u \cdot v}{\|u\| \|v\|}"
TOKEN = "let me in, please"
#: What a paper may try: tags and handlers wherever it has text.
HOSTILE = r"""\documentclass{article}
\newcommand{\evil}{\text{<img src=x onerror=alert(1)>}}
\title{<script>alert(1)</script> & "quotes" <b onmouseover='alert(2)'>}
\begin{document}\maketitle
\section{A <svg onload=alert(3)> section}
The </p><script>alert(4)</script> weight $<i>x</i> \text{</math><script>}$ decides
\begin{equation} \label{"><script>alert(5)</script>}
 x = \evil + \text{</mtext></math><script>alert(6)</script>} + \href{javascript:alert(7)}{y}
 + \mbox{ style="position:fixed"} + \onclick + \script{z} \begin{array}{lr} a & b \end{array}
\end{equation}
so that the weight <a href="javascript:alert(8)">stays</a> harmless.
\end{document}
"""


def client(folder: Path, **settings: Any) -> TestClient:
    """A client of a server for a library."""
    app = make_app(folder, **settings)
    return TestClient(app, base_url="http://localhost", raise_server_exceptions=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with a model made by hand."""
    with make_library(tmp_path_factory.mktemp("served")) as made:
        return made.folder


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[TestClient]:
    """A client of it."""
    with client(folder) as made:
        yield made


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client of a library of one paper that means no good."""
    place = tmp_path_factory.mktemp("hostile")
    (place / "evil.tex").write_text(HOSTILE, "utf-8")
    Library.read([place / "evil.tex"], place / "library", jobs=1, index=True).close()
    with client(place / "library") as made:
        yield made


# ------------------------------------------------------------ answers

ADDRESSES: dict[str, type[schemas.Schema]] = {
    "/v1/search?q=cosine+unheardof": schemas.SearchSchema,
    "/v1/search?q=%24x%24+cosine&article=angles&numbered=true": schemas.SearchSchema,
    "/v1/search?q=%24%5Cfrac%7Ba%7D%7Bb%7D%24": schemas.SearchSchema,
    "/v1/similar?equation=angles%231": schemas.SearchSchema,
    "/v1/similar?equation=x%3Dy&by=structure": schemas.SearchSchema,
    "/v1/describe?equation=angles%231": schemas.DescriptionSchema,
    "/v1/describe?equation=%5Caleph": schemas.DescriptionSchema,
    "/v1/words?word=recall&count=3": schemas.NeighboursSchema,
    "/v1/suggest?start=co": schemas.SuggestionsSchema,
    "/v1/render?q=cosine+%24x_1%24": schemas.RenderedQuerySchema,
    "/v1/why?query=cosine&equation=angles%231": schemas.ExplanationSchema,
    "/v1/why?query=documents%231&equation=angles%231": schemas.ExplanationSchema,
    "/v1/equations/angles%231": schemas.EquationDetailsSchema,
    "/v1/equations/documents(2.3)": schemas.EquationDetailsSchema,
    "/v1/equations/angles:eq:cos": schemas.EquationDetailsSchema,
    "/v1/articles": schemas.ArticleListSchema,
    "/v1/articles/angles": schemas.ArticleSchema,
    "/v1/stats": schemas.StatsSchema,
    "/v1/healthz": schemas.HealthSchema,
}


@pytest.mark.parametrize("address", ADDRESSES)
def test_answers_have_the_form_that_is_described(served: TestClient, address: str) -> None:
    """No key more, no key less."""
    answer = served.get(address)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    ADDRESSES[address].model_validate(answer.json(), strict=True)


def test_search_finds_and_marks(served: TestClient) -> None:
    """The words of the query are marked in the context, in all their forms."""
    found = served.get("/v1/search", params={"q": "similarity"}).json()
    assert found["kind"] == "words"
    first = found["hits"][0]
    assert first["article"] in ("angles", "documents")
    assert "similarity" in [p["text"] for p in first["context"] if p["kind"] == "mark"]


def test_a_formula_alone_is_answered_as_by_similar(served: TestClient) -> None:
    """With dollars or without; words around it make it a search."""
    asked = served.get("/v1/similar", params={"equation": COSINE}).json()["hits"]
    for query in (COSINE, f"${COSINE}$"):
        found = served.get("/v1/search", params={"q": query}).json()
        assert found["kind"] == "equation"
        assert found["hits"] == asked
    assert served.get("/v1/search", params={"q": f"angle ${COSINE}$"}).json()["kind"] == "words"


@pytest.mark.parametrize(
    ("query", "latex"),
    [
        ("cosine similarity", None),
        ("loss + penalty", None),
        ("angles#1", None),
        ("$x$", "x"),
        (r"\frac{a}{b}", r"\frac{a}{b}"),
        ("a + b = c", "a + b = c"),
        ("$x$ -cosine", None),
        ("$a$ $b$", None),
    ],
)
def test_what_is_a_formula_alone(query: str, latex: str | None) -> None:
    """Words are words, with a plus among them too."""
    assert single_formula(query) == latex


def test_pages_follow_each_other(served: TestClient) -> None:
    """They hold together what one large page holds."""
    query = {"q": "cosine harmonic mean precision documents"}
    whole = served.get("/v1/search", params=query | {"size": 50}).json()
    assert whole["more"] is False
    parts = []
    for number in range(1, 10):
        part = served.get("/v1/search", params=query | {"size": 1, "page": number}).json()
        parts += [hit["id"] for hit in part["hits"]]
        if not part["more"]:
            break
    assert parts == [hit["id"] for hit in whole["hits"]]
    assert len(parts) > 1


def test_limits_limit(served: TestClient) -> None:
    """Empty ones do not, wrong ones are refused."""
    ids = {
        hit["article"]
        for hit in served.get("/v1/search?q=cosine&article=documents&year=&section=").json()["hits"]
    }
    assert ids == {"documents"}
    assert served.get("/v1/search?q=cosine&year=then").status_code == 400
    assert served.get("/v1/search?q=cosine&" + "has=x&" * 6).status_code == 400
    for pieces_asked, fields in ((4, 5), (5, 5)):  # no field for a piece too many
        page = served.get("/?q=cosine&" + "has=x&" * pieces_asked)
        assert page.text.count('name="has"') == fields
    assert served.get("/v1/search?q=cosine&collection=none").status_code == 400


def test_an_article_has_its_equations_in_order_with_their_words(served: TestClient) -> None:
    """A word in the text knows the equations it is near."""
    found = served.get("/v1/articles/again").json()
    ordinals = [b["equation"]["ordinal"] for b in found["blocks"] if b["kind"] == "equation"]
    assert ordinals == [1, 2]
    words = [p for b in found["blocks"] for p in b.get("pieces", []) if p["kind"] == "word"]
    assert {1, 2} == set(next(p["near"] for p in words if p["text"] == "Precision"))
    assert served.get("/v1/articles/again?part=2").status_code == 404
    assert served.get("/v1/articles/again?equation=3").status_code == 404


def test_long_articles_come_in_parts(tmp_path: Path) -> None:
    """Every equation once, and an equation's part is found."""
    body = "\n\n".join(rf"Here is number {n}. \[ x_{{{n}}} = {n} \]" for n in range(90))
    (tmp_path / "long.tex").write_text(
        rf"\documentclass{{article}}\begin{{document}}{body}\end{{document}}"
    )
    with Library.read([tmp_path / "long.tex"], tmp_path / "library", jobs=1, index=True) as made:
        desk = Service(made)
        first = desk.article("long")
        parts = [desk.article("long", number) for number in range(1, first["parts"] + 1)]
        ordinals = [
            b["equation"]["ordinal"] for p in parts for b in p["blocks"] if b["kind"] == "equation"
        ]
        assert first["parts"] > 1
        assert ordinals == list(range(1, 91))
        assert desk.article("long", equation=90)["part"] == first["parts"]


def test_suggestions_are_words_near_equations(served: TestClient) -> None:
    """They begin as was asked, each stem once."""
    words = served.get("/v1/suggest?start=S").json()["words"]
    assert "similarity" in words or "similarities" in words
    assert all(word.startswith("s") for word in words)


def test_a_query_is_set_while_it_is_typed(served: TestClient) -> None:
    """Even where a dollar is open."""
    read = served.get("/v1/render", params={"q": r"cosine $\frac{a}{"}).json()
    assert read["open"]
    read = served.get("/v1/render", params={"q": "cosine unheardof $x_1$"}).json()
    assert [each["known"] for each in read["words"]] == [True, False]
    assert "<msub>" in read["formulas"][0]["mathml"]


# ------------------------------------------------------------ HTTP


@pytest.mark.parametrize("address", ["/openapi.json", "/static/page.js", "/v1/stats", "/docs"])
def test_all_that_stays_has_a_tag(served: TestClient, address: str) -> None:
    """The API's description and the page's files too."""
    first = served.get(address)
    again = served.get(address, headers={"If-None-Match": first.headers["etag"]})
    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")


def test_an_answer_is_not_sent_twice(served: TestClient) -> None:
    """Its tag depends on the address."""
    first = served.get("/v1/search?q=cosine")
    again = served.get("/v1/search?q=cosine", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    other = served.get("/v1/search?q=recall", headers={"If-None-Match": first.headers["etag"]})
    assert other.status_code == 200


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/v1/search", 422),
        ("/v1/search?q=", 400),
        ("/v1/search?q=x&size=51", 422),
        ("/v1/search?q=x&page=1000&size=50", 400),
        ("/v1/search?q=" + "x" * 3000, 422),
        ("/v1/search?q=" + "%7B" * 100 + "x", 400),
        ("/v1/similar?equation=nothing%231", 400),
        ("/v1/equations/nothing%231", 404),
        ("/v1/equations/angles%2399", 404),
        ("/v1/equations/x", 404),
        ("/v1/articles/nothing", 404),
        ("/v1/words?word=unheardof", 404),
        ("/v1/map", 404),
        ("/v1/none", 404),
    ],
)
def test_failures_are_sentences(served: TestClient, address: str, status: int) -> None:
    """With the right status, and no path of the server."""
    answer = served.get(address)
    assert answer.status_code == status
    assert len(answer.json()["error"]) > 5
    assert "/" not in answer.json()["error"]
    assert "eqemb" not in answer.json()["error"]


def test_no_answer_holds_a_path(served: TestClient, folder: Path) -> None:
    """Neither the library's nor the papers'."""
    for address in (*ADDRESSES, *PAGES, "/openapi.json", "/articles/nope", "/?q=x&year=1"):
        text = served.get(address).text
        assert str(folder.parent) not in text, address
        assert ".tex" not in text, address


def test_only_get_is_answered(served: TestClient) -> None:
    """And HEAD, which is GET without the answer."""
    assert served.post("/v1/search?q=x").status_code == 405
    assert served.head("/v1/search?q=cosine").status_code == 200


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_nothing_may_be_sent_along(served: TestClient, method: str) -> None:
    """Not with a length, not without: it is not read, and the connection ends."""
    for body in (b"x" * 1_000_000, iter([b"x"])):
        answer = served.request(method, "/v1/search?q=x", content=body)
        assert answer.status_code == 413
        assert answer.headers["connection"] == "close"


@pytest.mark.parametrize(
    "latex",
    [
        ")" * 700 + "{" * 640,
        r"\sqrt" * 380,
        r"a % $" + r"\sqrt" * 300 + "$",
        r"\left<" * 300,
        r"x\over " * 240,
        r"\begin{array}{c}" * 100,
        r"\frac" * 300 + "1",
    ],
)
@pytest.mark.parametrize(
    "address",
    ["/?q=", "/v1/search?q=", "/v1/similar?equation=", "/v1/render?q=", "/v1/map/hits?q="],
)
def test_what_nests_too_deep_is_refused(served: TestClient, latex: str, address: str) -> None:
    """With brackets or without."""
    answer = served.get(address + quote(latex))
    assert answer.status_code == 400
    assert "deep" in answer.text


def test_long_rows_and_tables_do_not_nest(served: TestClient) -> None:
    """Many symbols and cells beside each other are fine, and so is what equations have."""
    for latex in ("x_1+" * 400, r"\begin{matrix}" + "a&" * 300 + r"\end{matrix}", "x^" * 900):
        assert served.get("/v1/render?q=" + quote(latex)).status_code == 200
    assert served.get("/v1/search?q=cosine&has=" + "(" * 50).status_code == 400


def test_nothing_is_looked_for_beyond_the_last_hit(
    served: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused first."""
    for name in ("search", "similar"):
        monkeypatch.setattr(Library, name, lambda *_all, **_named: 1 / 0)
    for question in ("search?q=cosine", "similar?equation=angles%231"):
        assert served.get(f"/v1/{question}&page=1000&size=50").status_code == 400


@pytest.mark.parametrize("name", ["library", "a"])
def test_sentences_are_whole_wherever_the_library_lies(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A folder named from where one stands is no part of them."""
    shutil.copytree(folder, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    with client(Path(name)) as near:
        assert near.get("/v1/map").json()["error"] == "this library has no map"
        missing = near.get("/v1/articles/anglse").json()["error"]
        assert missing == "no article 'anglse' in this library: did you mean angles?"


def test_commands_are_left_out_of_long_sentences_in_time(folder: Path) -> None:
    """In one look at each letter."""
    pool = WorkerPool(folder)
    for sentence, shown in (
        ("no map: `eqemb map` makes one", "no map"),
        ("no `x`, or say `eqemb y`; else", "no `x`; else"),
        ("say `eqemb y`", ""),
        ("nothing to type", "nothing to type"),
        ("x" * 200_000, "x" * 200_000),
        ("x" * 200_000 + "`eqemb ", "x" * 200_000 + "`eqemb "),
    ):
        began = time.perf_counter()
        assert pool.public_message(sentence) == shown
        assert time.perf_counter() - began < 1


def test_an_address_may_be_only_so_long(served: TestClient) -> None:
    """Whatever it asks for, and whoever asks."""
    assert served.get("/v1/search?q=" + "x" * 60_000).status_code == 414
    assert served.get("/?q=" + "x" * 60_000).status_code == 414
    assert served.get("/v1/articles/" + "%C3%A9" * 6_000).status_code == 414


def test_a_very_long_phrase_is_in_no_text(served: TestClient) -> None:
    """It is longer than what is kept around an equation."""
    found = served.get("/v1/search", params={"q": '"' + "cosine of " * 150 + '"'}).json()
    assert found["hits"] == []


def test_a_broken_answer_tells_strangers_nothing(folder: Path) -> None:
    """The log says why."""
    with client(folder) as broken:
        broken.app.state.pool._service = lambda: 1 / 0  # type: ignore[attr-defined]
        answer = broken.get("/v1/stats")
        assert answer.status_code == 500
        assert "log" in answer.json()["error"]
        assert "script-src 'self'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


def test_every_answer_has_the_strict_headers(served: TestClient) -> None:
    """Errors too."""
    for address in ("/", "/v1/stats", "/v1/none", "/static/page.js", "/none"):
        headers = served.get(address).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


# ------------------------------------------------------------ who may ask


def test_other_names_are_not_answered(folder: Path) -> None:
    """A site elsewhere cannot make a browser here read the library."""
    with TestClient(make_app(folder), base_url="http://evil.example") as other:
        assert other.get("/v1/stats").status_code == 421
        assert other.get("/").status_code == 421


def test_a_token_is_asked_for(folder: Path) -> None:
    """In a header, or once in the address; then a cookie knows."""
    with client(folder, token=TOKEN) as locked:
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


def test_a_redirect_stays_here(folder: Path) -> None:
    """//elsewhere is no address of ours."""
    with client(folder, token=TOKEN) as locked:
        found = locked.get(
            "http://localhost//evil.example/?token=let+me+in,+please", follow_redirects=False
        )
        assert found.headers["location"].startswith("/evil.example")


@pytest.mark.parametrize(
    "address", ["/v1/equations/angles%231", "/?q=%24a%26b%24", "/articles/angles?equation=1"]
)
def test_a_link_leads_where_it_says_once_the_token_is_given(folder: Path, address: str) -> None:
    """By the form, whose token is in no address, or by the address itself."""
    with client(folder, token=TOKEN) as locked:
        asked = locked.get(address)
        assert asked.status_code == 401
        if not address.startswith("/v1/"):
            form = next(a for tag, a in Elements(asked.text).found if tag == "form")
            assert (form["action"], form["method"]) == (address, "post")
        assert locked.post(address, data={"token": "wrong"}).status_code == 401
        entered = locked.post(address, data={"token": TOKEN}, follow_redirects=False)
        assert (entered.status_code, entered.headers["location"]) == (303, address)
        assert "samesite=lax" in entered.headers["set-cookie"].lower()
        assert locked.get(address).status_code == 200
    with client(folder, token=TOKEN) as locked:
        given = f"{address}{'&' if '?' in address else '?'}token=let+me+in,+please"
        entered = locked.get(given, follow_redirects=False)
        assert (entered.status_code, entered.headers["location"]) == (303, address)


def test_a_token_is_sent_nowhere_else(folder: Path) -> None:
    """And in a short form only."""
    with client(folder, token=TOKEN) as locked:
        for path in ("//evil.example/", "/\\evil.example/", "/%5Cevil.example/"):
            asked = locked.get(f"http://localhost{path}?q=1")
            form = next(a for tag, a in Elements(asked.text).found if tag == "form")
            assert re.fullmatch(r"/(%5C)?evil.example/\?q=1", form["action"] or "")
        assert locked.post("/", data={"token": TOKEN, "more": "x" * 5000}).status_code == 413


def test_beyond_this_machine_a_token_is_needed(folder: Path) -> None:
    """And not a short one."""
    with pytest.raises(UsageError, match="--token"):
        serve(folder, host="0.0.0.0", port=0)  # noqa: S104
    with pytest.raises(UsageError, match="guess"):
        serve(folder, port=0, token=TOKEN[:5])
    assert is_loopback("127.0.0.2")
    assert not is_loopback("example.org")


def test_a_port_that_is_taken_is_said_so() -> None:
    """In one sentence."""
    with bind("127.0.0.1", 0) as door:
        assert door.proto == socket.IPPROTO_TCP  # else answers wait for the other side
        door.listen()
        port = door.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port}"):
            bind("127.0.0.1", port)


# ------------------------------------------------------------ how much is shown


def test_short_snippets_show_few_words(folder: Path) -> None:
    """And no text of the article but them."""
    with client(folder, snippets="short") as short:
        hit = short.get("/v1/search?q=cosine").json()["hits"][0]
        said = " ".join(p["text"] for p in hit["context"] if p["kind"] in ("text", "mark"))
        assert 0 < len(said.split()) <= 26
        found = short.get("/v1/articles/angles").json()
        assert [block["kind"] for block in found["blocks"]] == ["paragraph", "equation"]
        assert sum(len(p["text"].split()) for p in found["blocks"][0]["pieces"]) <= 28


def test_short_snippets_show_no_sentence_elsewhere(tmp_path: Path) -> None:
    """What stands further than twelve words from an equation is at no address."""
    far = "and so on " * 10
    (tmp_path / "long.tex").write_text(
        paper(
            rf"Secrets of entropy stand here. {far} The entropy of a source is"
            rf"\begin{{equation}}\label{{h}} H = -p \log p \end{{equation}} which is finite. {far}"
            r"Whoever compares entropy by \eqref{h} hides something."
        )
    )
    Library.read([tmp_path / "long.tex"], tmp_path / "library", jobs=1, index=True).close()
    addresses = [
        "/v1/search?q=entropy",
        "/v1/similar?equation=long%231",
        "/v1/describe?equation=long%231",
        "/v1/why?query=entropy&equation=long%231",
        "/v1/equations/long%231",
        "/v1/articles/long",
        "/equation?name=long%231",
        "/articles/long?equation=1",
        "/?q=entropy",
        "/report",
    ]

    def seen(shown: str) -> list[str]:
        with client(tmp_path / "library", snippets=shown) as asked:
            texts = {address: asked.get(address).text for address in addresses}
        return [a for a, text in texts.items() if "Secrets of" in text or "hides some" in text]

    assert set(addresses[2:8:2]) <= set(seen("full"))
    assert seen("short") == []


def test_no_snippets_show_no_words(folder: Path) -> None:
    """Only equations, titles and sections."""
    with client(folder, snippets="none") as none:
        for address in (*ADDRESSES, *PAGES):
            assert "measures their" not in none.get(address).text, address
        assert none.get("/v1/search?q=cosine").json()["hits"][0]["context"] == []
        assert none.get("/v1/describe?equation=angles%231").json()["words"][0]["sentence"] == []
        assert none.get("/v1/equations/angles%231").json()["references"] == []


def test_unknown_amounts_of_text_are_refused(folder: Path) -> None:
    """There are three."""
    with pytest.raises(UsageError, match="full, short, none"):
        make_app(folder, snippets="some")


# ------------------------------------------------------------ pages

PAGES = [
    "/",
    "/?q=cosine+similarity",
    "/?q=%24%5Cfrac%7Ba%7D%7Bb%7D%24",
    "/?q=unheardof",
    "/equation?name=angles%231",
    "/equation?latex=x%3Dy",
    "/why?query=cosine&equation=angles%231",
    "/why?query=documents%231&equation=angles%231",
    "/words?word=cosine",
    "/articles",
    "/articles/angles?equation=1",
    "/report",
    "/model",
    "/docs",
]


class Elements(HTMLParser):
    """The elements of a page with their attributes; what is not closed in order is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note it."""
        self.found.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "input", "br", "hr"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note it."""
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """It must be the last one."""
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag


@pytest.mark.parametrize("address", PAGES)
def test_pages_are_whole(served: TestClient, address: str) -> None:
    """All is closed; ids are unique; nothing is inline; every link of ours leads somewhere."""
    answer = served.get(address)
    assert answer.status_code == 200, answer.text
    page = Elements(answer.text)
    assert not page.open
    ids = [a["id"] for _, a in page.found if "id" in a]
    assert len(ids) == len(set(ids))
    assert not [a for _, a in page.found if "style" in a or any(n.startswith("on") for n in a)]
    assert [t for t, _ in page.found].count("h1") == 1
    for tag, attributes in page.found:
        if tag == "a":
            href = attributes["href"] or ""
            assert href.startswith(("/", "#", "https://arxiv.org/"))
            if href.startswith("/") and "/v1/" not in href:
                assert served.get(href).status_code == 200, href


def test_the_first_page_is_what_the_api_says(served: TestClient) -> None:
    """The same hits in the same order."""
    hits = served.get("/v1/search?q=cosine+similarity").json()["hits"]
    page = Elements(served.get("/?q=cosine+similarity").text)
    assert [a["data-id"] for _, a in page.found if "data-query" in a] == [h["id"] for h in hits]


def test_examples_in_the_manual_work(served: TestClient) -> None:
    """Every address of the API has one, and it answers."""
    page = Elements(served.get("/docs").text)
    tried = [a["href"] or "" for _, a in page.found if (a.get("href") or "").startswith("/v1/")]
    described = served.get("/openapi.json").json()["paths"]
    assert len(tried) == len(described) >= 12
    failed = [a for a in tried if served.get(a).status_code != 200 and a != "/v1/map"]
    assert not failed


def test_examples_work_whatever_an_article_is_called() -> None:
    """A name may hold any letter."""
    for name in ("50% of a?b", "a#b", "folder/ä"):
        found = manual._example("/v1/articles/{name}", [], f"{name}#1")
        assert urlsplit(found)[2:] == (f"/v1/articles/{quote(name)}", "", "")
        found = manual._example("/v1/equations/{name}", [], f"{name}#1")
        assert unquote(urlsplit(found).path) == f"/v1/equations/{name}#1"


def test_failures_are_pages_for_people(served: TestClient) -> None:
    """A query that cannot be asked keeps its box."""
    assert "Back to search" in served.get("/articles/none").text
    refused = served.get("/?q=cosine&year=then")
    assert refused.status_code == 400
    assert 'value="cosine"' in refused.text
    assert "then" in refused.text


def test_an_article_marks_the_words_of_an_equation(served: TestClient) -> None:
    """Without a script, by its address."""
    page = Elements(served.get("/articles/angles?equation=1").text)
    marked = [a for _, a in page.found if a.get("class") == "w on"]
    assert marked
    assert all("1" in (a["data-near"] or "").split() for a in marked)
    plain = Elements(served.get("/articles/angles").text)
    assert not [a for _, a in plain.found if a.get("class") == "w on"]


# ------------------------------------------------------------ hostile papers


@pytest.mark.parametrize(
    "address",
    [
        "/",
        "/?q=weight",
        "/?q=%3Cscript%3Ealert(1)%3C/script%3E",
        "/?q=%24%5Ctext%7B%3Cscript%3E%7D%24",
        "/equation?name=evil%231",
        "/equation?latex=%5Ctext%7B%3C/math%3E%3Cscript%3E%7D",
        "/articles",
        "/articles/evil?equation=1",
        "/why?query=weight+%3Cb%3E&equation=evil%231",
        "/report",
        "/articles/%3Cscript%3E",
        "/?q=weight&section=%22%3E%3Cscript%3E",
    ],
)
def test_hostile_text_is_text(hostile: TestClient, address: str) -> None:
    """No element, attribute or address that is not ours."""
    answer = hostile.get(address)
    assert answer.status_code == (404 if address.startswith("/articles/%3C") else 200)
    page = Elements(answer.text)
    assert not page.open
    scripts = [a for tag, a in page.found if tag == "script"]
    assert scripts == [{"src": "/static/page.js", "defer": None}]
    names = {tag for tag, _ in page.found}
    assert not names & {"img", "svg", "iframe", "b", "i", "object"}
    for _, attributes in page.found:
        assert not [n for n in attributes if n.startswith("on") or n == "style"]
        assert not (attributes.get("href") or "").startswith("javascript")


def test_hostile_mathml_is_whole(hostile: TestClient) -> None:
    """What the API sends as MathML holds MathML alone."""
    found = hostile.get("/v1/equations/evil%231").json()
    tags = {tag for tag, _ in Elements(found["mathml"]).found}
    assert "mtext" in tags
    assert all(re.fullmatch("m[a-z]+", tag) for tag in tags)
    assert "<script>" not in found["mathml"]


# ------------------------------------------------------------ time and threads


def test_a_slow_question_does_not_stop_others(folder: Path) -> None:
    """And it is given up in time, but the thread that is at it is not counted on."""
    with client(folder, threads=2, seconds=0.6) as busy:
        pool: WorkerPool = busy.app.state.pool  # type: ignore[attr-defined]
        started, answers = threading.Event(), list[int]()
        original = pool._answer

        def slow(question: Callable[[Service], Any]) -> Any:
            if not started.is_set():
                started.set()
                time.sleep(1.2)
            return original(question)

        pool._answer = slow  # type: ignore[method-assign]
        thread = threading.Thread(
            target=lambda: answers.append(busy.get("/v1/search?q=cosine").status_code)
        )
        thread.start()
        assert started.wait(5)
        began = time.perf_counter()
        assert busy.get("/v1/search?q=recall").status_code == 200
        assert time.perf_counter() - began < 0.6
        thread.join()
        assert answers == [503]


def test_answers_are_kept_until_there_are_too_many() -> None:
    """What was asked for last goes last; what counts is bytes."""
    kept = LRUCache[bytes](16_000)
    for tag in "abc":
        kept.put(tag, b"x" * 900)
    kept.put("large", b"x" * 1000)
    assert kept.get("large") is None
    assert kept.get("a") == b"x" * 900
    for number in range(15):
        kept.put(str(number), b"y" * 900)
    assert kept.get("b") is None
    assert kept.get("c") is None
    assert kept.get("a") is not None


def test_what_people_ask_is_not_kept_set(served: TestClient) -> None:
    """A short query can be long MathML; what papers write is kept, by bytes."""
    asked = r"\mathbf{q}" + "|x" * 900  # one letter beyond the basic plane, and four bytes each
    assert sys.getsizeof(mathml(asked)) > 250_000
    before = snippets._rendered._size
    for number in range(3):
        assert served.get(f"/v1/render?q=${asked}{number}$").status_code == 200
        assert served.get(f"/v1/search?q=${asked}{number}$").status_code == 200
    assert snippets._rendered._size - before < 100_000
    small = LRUCache[str](16_000)
    for number in range(100):
        small.put(str(number), "𝐪" * 100)  # four bytes each
    assert small._size <= 16_000
    assert len(small._entries) < 40


def test_too_many_questions_are_sent_away(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, with a sentence."""
    monkeypatch.setattr("eqemb.server.workers.QUEUE_PER_THREAD", -1)
    with client(folder, threads=1) as full:
        answer = full.get("/v1/stats")
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
        assert full.get("/v1/healthz").status_code == 200


def test_a_library_that_changes_is_opened_anew(tmp_path: Path) -> None:
    """New papers are found, and tags of old answers no longer count."""
    from eqemb.facade.update import add_papers

    with make_library(tmp_path, model=False) as made:
        place = made.folder
    with client(place) as living:
        before = living.get("/v1/stats")
        (tmp_path / "more").mkdir()
        (tmp_path / "more" / "new.tex").write_text(
            r"\documentclass{article}\begin{document}An eigenvalue \[ Ax = \lambda x \]"
            r"\end{document}"
        )
        add_papers(place, [tmp_path / "more"], jobs=1)
        tag = {"If-None-Match": before.headers["etag"]}
        after = living.get("/v1/stats", headers=tag)
        assert after.status_code == 200
        assert after.json()["articles"] == before.json()["articles"] + 1
        assert living.get("/v1/search?q=eigenvalue").json()["hits"][0]["article"] == "more"


def test_a_library_that_was_gone_is_opened_again(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Meanwhile it is said so, and nobody but the log is told where it lies, once."""
    place = tmp_path / "library"
    shutil.copytree(folder, place)
    with client(place, threads=1) as living:
        assert living.get("/v1/search?q=cosine").status_code == 200
        place.rename(tmp_path / "away")
        gone = living.get("/v1/search?q=angle")
        assert gone.status_code == 503
        assert str(tmp_path) not in gone.text
        assert living.get("/v1/search?q=lengths").status_code == 503
        assert [str(place) in record.message for record in caplog.records] == [True]
        (tmp_path / "away").rename(place)
        assert living.get("/v1/search?q=angle").status_code == 200
        assert living.get("/v1/search?q=recall").status_code == 200


def test_a_library_made_anew_is_another_one(tmp_path: Path) -> None:
    """It has the number of the old one, but neither its answers nor its tags."""
    source, place = tmp_path / "one.tex", tmp_path / "library"
    source.write_text(paper(r"The entropy of a source \[ H = -p \log p \] is finite."))
    Library.read([source], place, jobs=1, index=True).close()
    with client(place, threads=1) as living:
        before = living.get("/v1/suggest?start=e")
        assert before.json()["words"] == ["entropy"]
        shutil.rmtree(place)
        source.write_text(paper(r"The eigenvalue of a matrix \[ Ax = \lambda x \] is real."))
        Library.read([source], place, jobs=1, index=True).close()
        tag = {"If-None-Match": before.headers["etag"]}
        after = living.get("/v1/suggest?start=e", headers=tag)
        assert (after.status_code, after.json()["words"]) == (200, ["eigenvalue"])
        assert living.get("/v1/search?q=entropy").json()["unknown"] == ["entropy"]


def test_a_tag_says_how_much_is_shown(folder: Path, tmp_path: Path) -> None:
    """Of a generation that nobody has asked yet too."""
    place = tmp_path / "library"
    shutil.copytree(folder, place)
    full, again, short = (WorkerPool(place, snippets=shown) for shown in ("full", "full", "short"))
    before = full.version
    shutil.copytree(place / "generations" / "1", place / "generations" / "2")
    state = json.loads((place / "library.json").read_text())
    (place / "library.json").write_text(json.dumps(state | {"generation": 2}))
    assert before != full.version == again.version != short.version


def test_threads_have_their_own_library(served: TestClient) -> None:
    """Many at once are all answered, and alike."""
    answers: list[bytes] = []

    def ask() -> None:
        answers.extend(served.get("/v1/search?q=cosine").content for _ in range(5))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 40
    assert len(set(answers)) == 1


def test_a_library_without_an_index_is_refused(tmp_path: Path) -> None:
    """Before anything is served."""
    (tmp_path / "a.tex").write_text(r"\documentclass{article}\begin{document}x\end{document}")
    Library.read([tmp_path / "a.tex"], tmp_path / "library", jobs=1).close()
    with pytest.raises(UsageError, match="no index"):
        make_app(tmp_path / "library")


@contextlib.contextmanager
def listening(folder: Path, app: FastAPI | None = None, **limits: Any) -> Iterator[tuple[str, int]]:
    """A server as `eqemb serve` runs it, in a thread; `limits` as `uvicorn_config` takes them."""
    server = uvicorn.Server(uvicorn_config(app or make_app(folder), **limits))
    with bind("127.0.0.1", 0) as door:
        thread = threading.Thread(target=server.run, args=([door],))
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield door.getsockname()
        finally:
            server.should_exit = True
            thread.join()


def told(place: tuple[str, int], *requests: bytes) -> bytes:
    """All that a server says, each request after the last answer, until it ends the connection."""
    said = b""
    with (
        socket.create_connection(place, timeout=10) as line,
        contextlib.suppress(ConnectionError),  # it need not listen to the end
    ):
        for request in requests[:-1]:
            line.sendall(request)
            said += line.recv(65_536)
        with contextlib.suppress(ConnectionError):
            line.sendall(requests[-1])
        while part := line.recv(65_536):
            said += part
    return said


def test_who_keeps_silent_is_sent_away(folder: Path) -> None:
    """So is who asks by halves, at once or after an answer; who asks well stays."""
    asked = b"GET /v1/healthz HTTP/1.1\r\nHost: localhost\r\n"
    with listening(folder, timeout=0.15) as place:
        assert told(place, b"") == b""
        assert told(place, asked) == b""
        assert told(place, asked + b"\r\n", asked).startswith(b"HTTP/1.1 200")
        patient = http.client.HTTPConnection(*place)
        for _ in range(3):
            patient.request("GET", "/v1/healthz")
            assert patient.getresponse().read() == b'{"status":"ok"}'
            line = patient.sock
            time.sleep(0.2)
        assert patient.sock is line
        patient.close()


def test_there_are_only_so_many_connections(folder: Path) -> None:
    """One more is cut off; those that were there are answered, and who leaves makes room."""

    def answered(line: http.client.HTTPConnection) -> bytes:
        line.request("GET", "/v1/healthz")
        return line.getresponse().read()

    with listening(folder, max_connections=2) as place:
        first, second, third = (http.client.HTTPConnection(*place, timeout=10) for _ in range(3))
        assert answered(first) == answered(second) == b'{"status":"ok"}'
        with pytest.raises(ConnectionError):
            answered(third)
        third.close()
        assert answered(first) == b'{"status":"ok"}'
        second.close()
        time.sleep(0.2)
        assert answered(third) == b'{"status":"ok"}'
        first.close()
        third.close()


@pytest.mark.parametrize("after", [b"", b"Connection: close\r\n"])
def test_who_reads_no_answer_is_sent_away(folder: Path, after: bytes) -> None:
    """One that is far larger than what the system keeps for them; who reads slowly stays."""
    size = 8 << 20
    app = make_app(folder)
    app.add_api_route("/much", lambda: Response(b"x" * size))
    asked = b"GET /much HTTP/1.1\r\nHost: localhost\r\n" + after + b"\r\n"
    with listening(folder, app, timeout=0.2) as place:
        for pause, is_whole in ((0.02, True), (0.8, False)):
            with socket.socket() as line:
                line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
                line.settimeout(10)
                line.connect(place)
                line.sendall(asked)
                got = 0
                with contextlib.suppress(ConnectionError):
                    for _ in range(20):  # a second of those that are slow
                        if is_whole or not got:
                            time.sleep(pause)
                        got += len(line.recv(1 << 16))
                    while got < size and (part := line.recv(1 << 16)):
                        got += len(part)
                assert (got >= size) == is_whole


def test_too_much_is_refused_over_the_wire(folder: Path) -> None:
    """An address or a body of a megabyte."""
    much = b"x" * 1_000_000
    with listening(folder) as place:
        for request, status in (
            (b"GET /?q=" + much + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", b"400"),
            (b"GET /?q=" + much[:60_000] + b" HTTP/1.1\r\nHost: localhost\r\n"
             b"Connection: close\r\n\r\n", b"414"),
            (b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n" + much,
             b"413"),
        ):  # fmt: skip
            assert told(place, request).split(b" ", 2)[1] == status


@pytest.mark.skipif(os.name == "nt", reason="there are no such signals")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_until_it_is_stopped(folder: Path, sent: int) -> None:
    """It says where, answers, and ends without a traceback."""
    with start("-m", "eqemb", "serve", folder, "--port", "0", "--no-map") as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        address = said.split()[0]
        assert address.startswith("http://127.0.0.1:")
        for _ in range(100):
            try:
                with urlopen(f"{address}v1/healthz") as answer:  # noqa: S310 - ours
                    assert answer.status == 200
                break
            except URLError:
                time.sleep(0.1)
        process.send_signal(sent)
        _, rest = process.communicate(timeout=30)
    assert (process.returncode, rest) == (0, "")


def test_the_command_fails_in_sentences(folder: Path) -> None:
    """No library, or nobody asked for a token."""
    done = eqemb("serve", folder.parent / "none")
    assert (done.returncode, "no library" in done.stderr) == (2, True)
    done = eqemb("serve", folder, "--host", "0.0.0.0")  # noqa: S104
    assert (done.returncode, "--token" in done.stderr) == (2, True)


# ------------------------------------------------------------ parts


def test_queries_are_bounded() -> None:
    """In length and depth."""
    assert check_query("{[(x)]}") == "{[(x)]}"
    for query in (" ", "x" * 2001, "(" * 41):
        with pytest.raises(UsageError):
            check_query(query)
    assert Page(3, 10).last == 30


def test_markup_escapes_what_is_not_ours() -> None:
    """Text and attributes; None and False are left out."""
    made = h("p", "<b>", Html("<i>x</i>"), None, ["&", 3], class_="a\"b'", id=None, hidden=True)
    assert made == ('<p class="a&quot;b&#x27;" hidden>&lt;b&gt;<i>x</i>&amp;3</p>')
    assert h("p", "\x00\x1b") == "<p>  </p>"


def test_styles_become_classes() -> None:
    """A strict policy takes no style attribute."""
    latex = r"a &= \overline{x} \\ b &= \begin{array}{lr} 1 & 2 \end{array} && c"
    made = layout(latex).to_mathml(mark=[0])
    assert "style=" in made
    assert "background" in made
    shown = classes_for_styles(made)
    assert " style=" not in shown
    assert "background" not in shown
    assert {"right line", "left line", "left", "right"} <= set(re.findall('class="(.*?)"', shown))
    style = (Path(make_app.__code__.co_filename).parent / "web/style.css").read_text("utf-8")
    for name in set(" ".join(re.findall('class="(.*?)"', shown)).split()):
        assert f".{name}" in style, name


def test_text_in_pieces() -> None:
    """Words, mathematics and the place of the equation."""
    made = pieces("The norm $x$ of [equation] is", lambda word: word == "norm")
    assert [piece["kind"] for piece in made] == [
        *("text", "mark", "text", "math", "text", "equation", "text")
    ]
    assert "".join(piece["text"] for piece in made) == "The norm x of [equation] is"


def test_text_is_cut_around_the_equation_and_the_word() -> None:
    """Whole words, with a sign where something is left out."""
    assert shorten_context("a b c [equation] d e f", 2) == "… b c [equation] d e …"
    assert shorten_context("a b [equation]", 0) == ""
    assert shorten_sentence("one two three four five six", "fours", 1) == "… three four five …"


def test_an_answer_is_json_whatever_a_paper_holds() -> None:
    """Half a character too."""
    from eqemb.server.service import encode_json

    assert json.loads(encode_json({"a": "é\ud800"})) == {"a": "é\ud800"}
