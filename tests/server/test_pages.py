"""The pages: valid HTML, links that work, escaped text, error pages."""

from urllib.parse import quote, unquote, urlsplit

import pytest
from fastapi.testclient import TestClient

from eqemb.server.views import manual
from eqemb.server.views.hits import prose
from eqemb.server.views.layout import SCRIPTS, sentence
from eqemb.server.views.markup import Html, h
from server.clients import PAGES, Elements


@pytest.mark.parametrize("url", PAGES)
def test_pages_are_valid(client: TestClient, url: str) -> None:
    """Elements are closed, ids unique, nothing is inline, and every local link works."""
    answer = client.get(url)
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
                assert client.get(href).status_code == 200, href


def test_the_result_page_has_the_hits_of_the_api(client: TestClient) -> None:
    """In the same order."""
    hits = client.get("/v1/search?q=cosine+similarity").json()["hits"]
    page = Elements(client.get("/?q=cosine+similarity").text)
    assert [a["data-id"] for _, a in page.found if "data-query" in a] == [h["id"] for h in hits]


def test_unknown_words_are_reported(client: TestClient) -> None:
    """With known words that are spelt alike."""
    text = client.get("/?q=csne").text
    assert "“csne” does not appear near any equation." in text
    assert "Did you mean" in text


def test_the_page_says_how_a_query_was_read(client: TestClient) -> None:
    """Formulas that are typed without LaTeX, and repairs."""
    assert "Read as formula: x^{2}; words: cosine." in client.get("/?q=cosine+x²").text
    repaired = client.get("/?q=cosne").text
    assert "Showing results for words: cosine (cosine instead of cosne)." in repaired
    assert "/words?word=cosine" in repaired
    assert "/words?word=cosne" not in repaired


def test_what_to_try_depends_on_the_query(client: TestClient) -> None:
    """A formula is not told that it was read as words."""
    words, formula = (client.get("/", params={"q": q}).text for q in ("nothing", r"\aleph"))
    assert "between dollar signs" in words
    assert "between dollar signs" not in formula
    assert "a smaller part of the formula" in formula


@pytest.mark.parametrize(
    ("after", "html"),
    [
        (", so", '<span class="tight"><i>x</i>,</span> so'),
        (").", '<span class="tight"><i>x</i>).</span>'),
        (" and", "<i>x</i> and"),
    ],
)
def test_punctuation_stays_with_its_formula(after: str, html: str) -> None:
    """A line does not begin with a comma."""
    pieces = [{"kind": "math", "text": "x", "mathml": "<i>x</i>"}, {"kind": "text", "text": after}]
    assert prose(pieces) == html


def test_a_message_becomes_one_sentence() -> None:
    """With one full stop."""
    assert sentence("no match") == "No match."
    assert sentence("no match. Try again.") == "No match. Try again."
    assert sentence("which one?") == "Which one?"


def test_an_equation_without_similar_ones_says_so(client: TestClient) -> None:
    """There is no link to more of them."""
    text = client.get("/equation", params={"latex": r"\aleph"}).text
    assert "No similar equations." in text
    assert "More similar equations" not in text


@pytest.mark.parametrize(("fragments", "fields"), [(4, 5), (5, 5)])
def test_there_is_one_empty_field_for_another_fragment(
    client: TestClient, fragments: int, fields: int
) -> None:
    """Unless the limit is reached."""
    page = client.get("/?q=cosine&" + "has=x&" * fragments)
    assert page.text.count('name="has"') == fields


def test_examples_in_the_manual_work(client: TestClient) -> None:
    """Every endpoint has one."""
    page = Elements(client.get("/docs").text)
    examples = [a["href"] or "" for _, a in page.found if (a.get("href") or "").startswith("/v1/")]
    described = client.get("/openapi.json").json()["paths"]
    assert len(examples) == len(described) >= 12
    assert not [a for a in examples if client.get(a).status_code != 200 and a != "/v1/map"]


def test_every_parameter_is_described(client: TestClient) -> None:
    """In the manual and in the OpenAPI description."""
    paths = client.get("/openapi.json").json()["paths"]
    missing = [
        f"{path} {parameter['name']}"
        for path, methods in paths.items()
        for parameter in methods["get"].get("parameters", [])
        if not (parameter.get("description") or parameter["schema"].get("description"))
    ]
    assert not missing


@pytest.mark.parametrize("name", ["50% of a?b", "a#b", "folder/ä"])
def test_examples_are_valid_urls_for_any_article(name: str) -> None:
    """Names may contain any character."""
    found = manual._example("/v1/articles/{name}", [], f"{name}#1")
    assert urlsplit(found)[2:] == (f"/v1/articles/{quote(name)}", "", "")
    found = manual._example("/v1/equations/{name}", [], f"{name}#1")
    assert unquote(urlsplit(found).path) == f"/v1/equations/{name}#1"


def test_errors_are_pages(client: TestClient) -> None:
    """An invalid query keeps the search box and its contents."""
    assert "Back to search" in client.get("/articles/none").text
    refused = client.get("/?q=cosine&year=then")
    assert refused.status_code == 400
    assert 'value="cosine"' in refused.text
    assert "then" in refused.text


def test_an_article_highlights_the_window_of_an_equation(client: TestClient) -> None:
    """By its URL, without JavaScript."""
    page = Elements(client.get("/articles/angles?equation=1").text)
    marked = [a for _, a in page.found if a.get("class") == "w on"]
    assert marked
    assert all("1" in (a["data-near"] or "").split() for a in marked)
    plain = Elements(client.get("/articles/angles").text)
    assert not [a for _, a in plain.found if a.get("class") == "w on"]


# ------------------------------------------------------------ escaping


@pytest.mark.parametrize(
    "url",
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
def test_hostile_text_is_escaped(hostile_client: TestClient, url: str) -> None:
    """Papers and queries add no element, attribute or URL."""
    answer = hostile_client.get(url)
    assert answer.status_code == (404 if url.startswith("/articles/%3C") else 200)
    page = Elements(answer.text)
    assert not page.open
    scripts = [a for tag, a in page.found if tag == "script"]
    assert scripts == [{"src": f"/static/{name}", "defer": None} for name in SCRIPTS]
    names = {tag for tag, _ in page.found}
    assert not names & {"img", "svg", "iframe", "b", "i", "object"}
    for _, attributes in page.found:
        assert not [n for n in attributes if n.startswith("on") or n == "style"]
        assert not (attributes.get("href") or "").startswith("javascript")


def test_markup_escapes_text_and_attributes() -> None:
    """`Html` is not escaped; None and False are left out."""
    made = h("p", "<b>", Html("<i>x</i>"), None, ["&", 3], class_="a\"b'", id=None, hidden=True)
    assert made == ('<p class="a&quot;b&#x27;" hidden>&lt;b&gt;<i>x</i>&amp;3</p>')
    assert h("p", "\x00\x1b") == "<p>  </p>"
