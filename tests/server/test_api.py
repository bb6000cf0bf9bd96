"""The API: answers, pagination, filters, errors and ETags."""

import html
import json
import re
import shutil
from pathlib import Path
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient

from eqemb.facade.library import Library
from eqemb.formula.html import page_mathml
from eqemb.search.results import Json
from server.clients import COSINE, ENDPOINTS, PAGES, Elements, make_client
from synthetic import Run

# ------------------------------------------------------------ answers


@pytest.mark.parametrize("url", ENDPOINTS)
def test_answers_match_their_schema(client: TestClient, url: str) -> None:
    """Exactly the described keys."""
    answer = client.get(url)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    ENDPOINTS[url].model_validate(answer.json(), strict=True)


def test_hits_are_the_json_of_the_library(client: TestClient, folder: Path, run: Run) -> None:
    """The API, Python and the command line agree; only the API has classes for styles."""
    served = client.get("/v1/search", params={"q": "similarity vectors"}).json()
    with Library.open(folder) as library:
        made = library.search("similarity vectors").to_json()
    printed = run("search", folder, "similarity vectors", "--json")
    assert_same(served, made, json.loads(printed.out))
    marks = [p["text"] for hit in made["hits"] for p in hit["context"] if p["kind"] == "mark"]
    assert {"similarity", "vectors"} <= set(marks)

    served = client.get("/v1/similar", params={"equation": COSINE}).json()
    with Library.open(folder) as library:
        made = library.similar(COSINE).to_json()
    printed = run("similar", folder, COSINE, "--json")
    assert_same(served, made, json.loads(printed.out))


def test_long_contexts_and_styles_in_the_api(tmp_path: Path, run: Run) -> None:
    """The context is whole and all copies are named; a page shows fewer words."""
    words = " ".join(f"word{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(150))
    text = rf"{words} zebra \[ a = \begin{{cases}} b & c \\ d & e \end{{cases}} \]"
    text += r" and again \[ x = \sqrt{y + z} \]" * 120
    document = rf"\documentclass{{article}}\begin{{document}}{text}\end{{document}}"
    (tmp_path / "long.tex").write_text(document)
    Library.read([tmp_path / "long.tex"], tmp_path / "lib", jobs=1, index=True).close()
    with make_client(tmp_path / "lib") as client, Library.open(tmp_path / "lib") as library:
        for command, parameter, query in (
            ("search", "q", "zebra"),
            ("similar", "equation", r"x = \sqrt{y + z}"),
        ):
            served = client.get(f"/v1/{command}", params={parameter: query}).json()
            made = getattr(library, command)(query).to_json()
            printed = run(command, tmp_path / "lib", query, "--json")
            assert_same(served, made, json.loads(printed.out))
            assert made["hits"]
            if command == "search":
                assert "wordaa" in served["hits"][0]["context_text"]
                assert "style=" in made["hits"][0]["mathml"]
                assert "style=" not in served["hits"][0]["mathml"]
                assert "wordaa" not in client.get("/", params={"q": query}).text
            else:
                assert len(served["hits"][0]["family"]) > 100


def assert_same(served: Json, made: Json, printed: Json) -> None:
    """The three answers have the same hits, with classes for styles in the API's MathML."""
    assert printed == made
    assert {name: served[name] for name in made} == made | {
        "hits": [with_classes(hit) for hit in made["hits"]]
    }


def with_classes(hit: Json) -> Json:
    """A hit of Python as the API gives it."""
    context = [
        piece | {"mathml": page_mathml(piece["mathml"])} if "mathml" in piece else piece
        for piece in hit["context"]
    ]
    return hit | {"mathml": page_mathml(hit["mathml"]), "context": context}


def test_search_highlights_words(client: TestClient) -> None:
    """Words of the query are marked in the context in all their forms."""
    found = client.get("/v1/search", params={"q": "similarity"}).json()
    assert found["kind"] == "words"
    first = found["hits"][0]
    assert first["article"] in ("angles", "documents")
    assert "similarity" in [p["text"] for p in first["context"] if p["kind"] == "mark"]


def test_a_single_formula_is_answered_like_similar(client: TestClient) -> None:
    """With or without dollar signs; with words it is a search by words."""
    similar = client.get("/v1/similar", params={"equation": COSINE}).json()["hits"]
    for query in (COSINE, f"${COSINE}$"):
        found = client.get("/v1/search", params={"q": query}).json()
        assert found["kind"] == "equation"
        assert found["hits"] == similar
    assert client.get("/v1/search", params={"q": f"angle ${COSINE}$"}).json()["kind"] == "words"


def test_pages_of_results_are_consecutive(client: TestClient) -> None:
    """Small pages together have the same hits as one large page."""
    query = {"q": "cosine harmonic mean precision documents"}
    whole = client.get("/v1/search", params=query | {"size": 50}).json()
    assert whole["more"] is False
    parts = []
    for number in range(1, 10):
        part = client.get("/v1/search", params=query | {"size": 1, "page": number}).json()
        parts += [hit["id"] for hit in part["hits"]]
        if not part["more"]:
            break
    assert parts == [hit["id"] for hit in whole["hits"]]
    assert len(parts) > 1


def test_filters_restrict_the_results(client: TestClient) -> None:
    """Empty filters are ignored, invalid ones are rejected."""
    hits = client.get("/v1/search?q=cosine&article=documents&year=&section=").json()["hits"]
    assert {hit["article"] for hit in hits} == {"documents"}
    assert client.get("/v1/search?q=cosine&year=then").status_code == 400
    assert client.get("/v1/search?q=cosine&" + "has=x&" * 6).status_code == 400
    assert client.get("/v1/search?q=cosine&collection=none").status_code == 400


def test_an_article_has_its_equations_in_order(client: TestClient) -> None:
    """Words in the text know the equations near them."""
    found = client.get("/v1/articles/again").json()
    ordinals = [b["equation"]["ordinal"] for b in found["blocks"] if b["kind"] == "equation"]
    assert ordinals == [1, 2]
    words = [p for b in found["blocks"] for p in b.get("pieces", []) if p["kind"] == "word"]
    assert {1, 2} == set(next(p["near"] for p in words if p["text"] == "Precision"))
    assert client.get("/v1/articles/again?part=2").status_code == 404
    assert client.get("/v1/articles/again?equation=3").status_code == 404


def test_an_unknown_collection_is_an_error(client: TestClient) -> None:
    """The list of articles says what a search says."""
    listed = client.get("/v1/articles?collection=nope")
    searched = client.get("/v1/search?q=cosine&collection=nope")
    assert listed.status_code == searched.status_code == 400
    assert listed.json() == searched.json()
    assert client.get("/v1/articles?collection=all").json()["total"] == 4
    assert client.get("/articles?collection=nope").status_code == 400
    assert client.get("/articles?collection=all").status_code == 200


def test_suggestions_start_with_the_prefix(client: TestClient) -> None:
    """The prefix is not case-sensitive."""
    words = client.get("/v1/suggest?start=S").json()["words"]
    assert "similarity" in words or "similarities" in words
    assert all(word.startswith("s") for word in words)


def test_incomplete_queries_are_rendered(client: TestClient) -> None:
    """A preview works while a formula is still open."""
    read = client.get("/v1/render", params={"q": r"cosine $\frac{a}{"}).json()
    assert read["open"]
    read = client.get("/v1/render", params={"q": "cosine unheardof $x_1$"}).json()
    assert [each["known"] for each in read["words"]] == [True, False]
    assert "<msub>" in read["formulas"][0]["mathml"]


def test_a_very_long_phrase_has_no_hits(client: TestClient) -> None:
    """It is longer than the indexed text around an equation."""
    found = client.get("/v1/search", params={"q": '"' + "cosine of " * 150 + '"'}).json()
    assert found["hits"] == []


# ------------------------------------------------------------ caching


@pytest.mark.parametrize("url", ["/openapi.json", "/static/page.js", "/v1/stats", "/docs"])
def test_a_known_etag_gets_304(client: TestClient, url: str) -> None:
    """For answers, pages, static files and the OpenAPI description."""
    first = client.get(url)
    again = client.get(url, headers={"If-None-Match": first.headers["etag"]})
    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")


def test_an_etag_depends_on_the_url(client: TestClient) -> None:
    """The tag of one query does not match another query."""
    first = client.get("/v1/search?q=cosine")
    again = client.get("/v1/search?q=cosine", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    other = client.get("/v1/search?q=recall", headers={"If-None-Match": first.headers["etag"]})
    assert other.status_code == 200


# ------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("url", "status"),
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
def test_errors_have_a_status_and_a_message(client: TestClient, url: str, status: int) -> None:
    """The message names neither a path of the server nor a command."""
    answer = client.get(url)
    assert answer.status_code == status
    assert len(answer.json()["error"]) > 5
    assert "/" not in answer.json()["error"]
    assert "eqemb" not in answer.json()["error"]


def test_a_parameter_that_does_not_exist_is_refused(client: TestClient) -> None:
    """With those that do; a page ignores it, and a token is for the middleware."""
    answer = client.get("/v1/search?q=cosine&colection=ir")
    assert answer.status_code == 400
    names = "q, by, page, size, collection, article, year, section, has, numbered, without, kind"
    assert answer.json() == {"error": f"unknown parameter 'colection'; the parameters are: {names}"}
    for url in ("/v1/stats?x=1", "/v1/equations/angles%231?x=1", "/v1/map/hits?q=x&page=1"):
        assert client.get(url).status_code == 400
    assert "the parameters are: none" in client.get("/v1/stats?x").json()["error"]
    assert client.get("/v1/stats?token=x").status_code == 200
    assert client.get("/?q=cosine&x=1").status_code == 200


def test_downloads_of_a_page_of_results_can_be_fetched(client: TestClient) -> None:
    """The parameters of the page that the API does not have are not in the links."""
    page = client.get("/?q=cosine&by=words&numbered=true&page=1&x=1").text
    links = [html.unescape(link) for link in re.findall(r'href="?(/v1/export[^" >]+)', page)]
    assert len(links) == 4
    assert {client.get(link).status_code for link in links} == {200}


def test_no_answer_contains_a_path_of_the_server(client: TestClient, folder: Path) -> None:
    """Neither the path of the library nor those of the papers."""
    for url in (*ENDPOINTS, *PAGES, "/openapi.json", "/articles/nope", "/?q=x&year=1"):
        assert str(folder.parent) not in client.get(url).text, url


@pytest.mark.parametrize("name", ["library", "a"])
def test_messages_do_not_contain_a_relative_path(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A library opened by a relative path is "this library" in messages."""
    shutil.copytree(folder, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    with make_client(Path(name)) as near:
        assert near.get("/v1/map").json()["error"] == "this library has no map"
        missing = near.get("/v1/articles/anglse").json()["error"]
        assert re.fullmatch("no article 'anglse' in this library.* did you mean angles.*", missing)


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
    "url", ["/?q=", "/v1/search?q=", "/v1/similar?equation=", "/v1/render?q=", "/v1/map/hits?q="]
)
def test_deep_nesting_is_rejected(client: TestClient, latex: str, url: str) -> None:
    """With and without brackets."""
    answer = client.get(url + quote(latex))
    assert answer.status_code == 400
    assert "deep" in answer.text


def test_long_rows_and_tables_are_accepted(client: TestClient) -> None:
    """Symbols and cells side by side do not nest; `has` is checked like the query."""
    for latex in ("x_1+" * 400, r"\begin{matrix}" + "a&" * 300 + r"\end{matrix}", "x^" * 900):
        assert client.get("/v1/render?q=" + quote(latex)).status_code == 200
    assert client.get("/v1/search?q=cosine&has=" + "(" * 50).status_code == 400


def test_pages_beyond_the_last_hit_are_rejected_before_searching(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library is not asked."""
    for name in ("search", "similar"):
        monkeypatch.setattr(Library, name, lambda *_all, **_named: 1 / 0)
    for query in ("search?q=cosine", "similar?equation=angles%231"):
        assert client.get(f"/v1/{query}&page=1000&size=50").status_code == 400


def test_an_internal_error_reveals_nothing(folder: Path) -> None:
    """The details go to the log; the response still has the security headers."""
    with make_client(folder) as broken:
        broken.app.state.pool._service = lambda: 1 / 0  # type: ignore[attr-defined]
        answer = broken.get("/v1/stats")
        assert answer.status_code == 500
        assert "log" in answer.json()["error"]
        assert "script-src 'self'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


def test_hostile_mathml_contains_only_mathml(hostile_client: TestClient) -> None:
    """Text of a paper does not become an element."""
    found = hostile_client.get("/v1/equations/evil%231").json()
    tags = {tag for tag, _ in Elements(found["mathml"]).found}
    assert "mtext" in tags
    assert all(re.fullmatch("m[a-z]+", tag) for tag in tags)
    assert "<script>" not in found["mathml"]
