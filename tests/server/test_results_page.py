"""The results page: counts, facets, rankings, filters in use, downloads; and the saved list."""

import csv
import io
import json
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from eqemb.server.exports import EXPORT_TYPES, MAX_LISTED
from server.clients import Elements, make_client

WORDS = "/?q=similarity+documents"


def links(text: str, **wanted: str) -> list[str]:
    """The addresses of links with these attributes."""
    return [
        a["href"] or ""
        for tag, a in Elements(text).found
        if tag == "a" and all(a.get(name) == value for name, value in wanted.items())
    ]


def ids(client: TestClient, url: str) -> list[str | None]:
    """The names of the hits on a page."""
    answer = client.get(url)
    assert answer.status_code == 200, answer.text
    return [
        a["data-id"] for tag, a in Elements(answer.text).found if tag == "li" and "data-id" in a
    ]


def test_the_count_is_that_of_the_api(client: TestClient) -> None:
    """Equations that are not weak."""
    number = client.get(f"/v1/search{WORDS[1:]}").json()["matches"]["equations"]
    assert number
    text = client.get(WORDS).text
    assert ("1 equation matches" if number == 1 else f"{number} equations match") in text
    assert "No equation matches" in client.get("/?q=unheardof").text


def test_every_ranking_has_an_address(client: TestClient) -> None:
    """One by structure needs a formula, and the page says so."""
    text = client.get(WORDS).text
    assert "/?q=similarity+documents&amp;by=words" in text
    assert "by=structure" not in text
    assert "Add a formula" in text
    assert "by=structure" in client.get("/?q=%24x%24+cosine").text
    assert 'title="Words, meaning and structure together" aria-current="true"' in text
    meaning = client.get("/?q=cosine&by=meaning").text
    assert "The nearest equations" in meaning
    refused = client.get("/?q=cosine&by=structure")
    assert refused.status_code == 400
    assert "Ranking by structure needs LaTeX" in refused.text
    assert links(refused.text, title="Words, meaning and structure together") == ["/?q=cosine"]


def test_a_paper_can_be_left_out(client: TestClient) -> None:
    """By a link on its hit; the filter is shown with a link that removes it."""
    text = client.get("/?q=cosine").text
    first = ids(client, "/?q=cosine")[0] or ""
    url = links(text, **{"class": "not"})[0]
    name = first.partition("#")[0]
    assert url == f"/?q=cosine&without={name}"
    assert first not in ids(client, url)
    after = client.get(url).text
    assert "/?q=cosine" in links(after, **{"aria-label": f"Remove the filter: not from {name}"})
    assert f'name="without" value="{name}"' in after  # the next search keeps it
    missing = client.get("/?q=cosine&without=none")
    assert missing.status_code == 400
    many = "&".join(f"without=a{n}" for n in range(51))
    assert "at most 50" in client.get(f"/v1/search?q=cosine&{many}").json()["error"]


@pytest.mark.parametrize("ending", EXPORT_TYPES)
def test_results_are_files(client: TestClient, ending: str) -> None:
    """With the filters of the page, and a name for the file."""
    page = client.get(WORDS + "&numbered=true").text
    url = next(each for each in links(page) if each.startswith(f"/v1/export.{ending}"))
    assert "numbered=True" in url
    assert links(page, download=f"equations.{ending}") == [url]
    answer = client.get(url)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == EXPORT_TYPES[ending]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["etag"]
    assert "cos" in answer.text or "misc" in answer.text


def test_a_file_has_the_hits_of_the_page(client: TestClient) -> None:
    """In the same order, without weak ones."""
    hits = client.get(f"/v1/search{WORDS[1:]}").json()["hits"]
    good = [hit["id"] for hit in hits if hit["level"] != "weak"]
    assert good
    listed = csv.DictReader(io.StringIO(client.get(f"/v1/export.csv{WORDS[1:]}").text))
    assert [row["id"] for row in listed] == good
    one = json.loads(client.get(f"/v1/export.json{WORDS[1:]}&count=1").text)
    assert [row["id"] for row in one] == good[:1]
    formula = client.get("/v1/export.json", params={"q": r"$\frac{a}{b}$", "by": "structure"})
    assert formula.json()


def test_files_quote_no_more_than_pages(folder: Path) -> None:
    """`--snippets none` shows no context."""
    with make_client(folder, snippets="none") as client:
        found = client.get("/v1/export.json?q=cosine").json()
        assert found
        assert not any(row["context"] for row in found)
        saved = client.get("/v1/export.json?id=angles%231").json()
        assert saved[0]["context"] == ""


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("/v1/export.csv", 400),
        ("/v1/export.xls?q=cosine", 422),
        ("/v1/export.csv?q=cosine&count=501", 422),
        ("/v1/export.csv?q=cosine&year=then", 400),
        ("/v1/export.csv?q=" + "%7B" * 60, 400),
        ("/v1/export.csv?" + "&".join(f"id=a%23{n}" for n in range(MAX_LISTED + 1)), 400),
        ("/saved?" + "&".join(f"id=a%23{n}" for n in range(MAX_LISTED + 1)), 400),
        ("/?q=cosine&kind=odd", 400),
    ],
)
def test_invalid_requests_are_refused(client: TestClient, url: str, status: int) -> None:
    """With a sentence."""
    answer = client.get(url)
    assert answer.status_code == status
    assert "error" in answer.text or 'class="lead"' in answer.text


# ------------------------------------------------------------ the saved list


def test_a_saved_list_has_an_address(client: TestClient) -> None:
    """In the order of the names; those that are gone are named; it can be downloaded."""
    url = "/saved?id=harmonic%231&id=angles%231&id=gone%231&id=angles%231"
    assert ids(client, url) == ["harmonic#1", "angles#1"]
    text = client.get(url).text
    assert "2 equations." in text
    assert "Not in this library: gone#1" in text
    file = links(text, download="saved.csv")[0]
    listed = csv.DictReader(io.StringIO(client.get(file).text))
    assert [row["id"] for row in listed] == ["harmonic#1", "angles#1"]
    assert "The list is empty" in client.get("/saved").text


# ------------------------------------------------------------ equations and errors


def test_an_equation_page_has_a_citation(client: TestClient) -> None:
    """And links to its sections."""
    text = client.get("/equation?name=documents%231").text
    assert "documents." in text
    page = Elements(text)
    anchors = {url[1:] for url in links(text) if url.startswith("#")}
    assert (
        {"describe", "similar", "source"}
        <= anchors - {"main"}
        <= {a.get("id") for _, a in page.found}
    )


def test_errors_keep_the_navigation(client: TestClient) -> None:
    """A missing page and a method that is not allowed; no token, no navigation."""
    missing = client.get("/nowhere")
    assert missing.status_code == 404
    assert {"/articles", "/saved", "/report", "/docs"} <= set(links(missing.text))
    refused = client.delete("/articles")
    assert refused.status_code == 405
    assert "Not allowed" in refused.text
    assert client.post("/v1/search?q=x").json() == {
        "error": "POST is not possible here, only GET or HEAD"
    }


def test_without_a_token_there_is_no_navigation(folder: Path) -> None:
    """The links would not work."""
    with make_client(folder, token="secret") as client:  # noqa: S106
        answer = client.get("/nowhere")
        assert answer.status_code == 401
        assert "/saved" not in links(answer.text)
