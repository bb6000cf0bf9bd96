"""Panels: written by the server from the address, and the same for the script."""

from html import unescape

import pytest
from fastapi.testclient import TestClient

from eqemb.server.views.hits import PANEL_LINKS, OpenPanels
from eqemb.server.views.markup import Html
from eqemb.server.views.panels import MAX_PANELS, PANELS
from server.clients import COSINE, Elements

RESULTS = "/?q=angles%231"


def panels(text: str) -> list[str | None]:
    """The kinds of the open panels on a page."""
    return [a["data-kind"] for _, a in Elements(text).found if a.get("class") == "panel"]


def test_every_panel_has_a_link() -> None:
    """And every link a panel."""
    assert set(PANEL_LINKS) == set(PANELS)


@pytest.mark.parametrize("kind", PANELS)
def test_a_panel_has_an_address(client: TestClient, kind: str) -> None:
    """The link of a hit leads to it, and then closes it; the script gets the same HTML."""
    plain = client.get(RESULTS).text
    link = next(
        a["href"] for _, a in Elements(plain).found if a.get("data-panel") == kind and a["href"]
    )
    opened = client.get(link)
    assert opened.status_code == 200
    assert panels(opened.text) == [kind]
    expanded = [a for _, a in Elements(opened.text).found if a.get("aria-expanded") == "true"]
    assert [a["data-panel"] for a in expanded] == [kind]
    equation = next(a["data-id"] for _, a in Elements(plain).found if a.get("data-id"))
    values = {"kind": kind, "equation": equation, "query": "angles#1"}
    assert client.get("/v1/panel", params=values).json()["html"] in opened.text
    closing = expanded[0]["href"] or ""
    assert closing.startswith(RESULTS + "#")
    assert client.get(closing).text == plain


def test_several_panels_are_open(client: TestClient) -> None:
    """One for each equation, the last one of an equation; others are ignored."""
    hits = client.get("/v1/search?q=angles%231").json()["hits"]
    assert hits[0]["id"] == "angles#1"
    other = hits[1]["id"]
    values = ["similar:angles#1", "source:angles#1", f"why:{other}", "why:none#1", "x:angles#1"]
    text = client.get(RESULTS, params={"q": "angles#1", "open": values}).text
    assert panels(text) == ["source", "why"]
    many = [f"source:angles#{n}" for n in range(MAX_PANELS)] + [f"why:{other}"]
    text = client.get(RESULTS, params={"q": "angles#1", "open": many}).text
    assert panels(text) == ["source"]


def test_addresses_keep_the_state_of_the_page() -> None:
    """Filters, and the other open panels."""
    at = OpenPanels("/", {"q": "x", "numbered": True}, {"a#1": ("why", Html())})
    assert at.toggled("similar", "b#2", "hit-2") == (
        "/?q=x&numbered=True&open=why%3Aa%231&open=similar%3Ab%232#hit-2"
    )
    assert at.toggled("source", "a#1") == "/?q=x&numbered=True&open=source%3Aa%231"
    assert at.toggled("why", "a#1") == "/?q=x&numbered=True"


def test_the_equation_of_a_query_is_described(client: TestClient) -> None:
    """It has no name, so its address says `query`."""
    text = client.get("/", params={"q": f"${COSINE}$", "open": "describe:query"}).text
    assert panels(text) == ["describe"]


@pytest.mark.parametrize("path", ["/articles/angles", "/saved?id=angles%231"])
def test_panels_open_on_other_pages(client: TestClient, path: str) -> None:
    """On an article and on a saved list."""
    link = next(a["href"] for _, a in Elements(client.get(path).text).found if a.get("data-panel"))
    assert len(panels(client.get(link or "").text)) == 1


def test_a_formula_links_to_its_page(client: TestClient) -> None:
    """Which has all panels that need no query as sections."""
    page = Elements(client.get(RESULTS).text)
    links = [a["href"] for _, a in page.found if a.get("class") == "whole"]
    assert "/equation?name=angles%231" in links
    found = Elements(client.get("/equation?name=angles%231").text)
    ids = {a.get("id") for tag, a in found.found if tag == "section"}
    assert {kind for kind, panel in PANELS.items() if panel.on_page} <= ids


@pytest.mark.parametrize(
    ("values", "status"),
    [
        ({"kind": "none", "equation": "angles#1"}, 400),
        ({"kind": "why", "equation": "angles#1"}, 400),
        ({"kind": "source", "equation": "nowhere#1"}, 400),
        ({"kind": "similar", "equation": "{" * 60}, 400),
        ({"kind": "similar"}, 422),
    ],
)
def test_invalid_panels_are_refused(
    client: TestClient, values: dict[str, str], status: int
) -> None:
    """With one sentence."""
    answer = client.get("/v1/panel", params=values)
    assert answer.status_code == status
    assert answer.json()["error"]


def test_hostile_papers_are_escaped_in_panels(hostile_client: TestClient) -> None:
    """In every panel of a page."""
    for kind in PANELS:
        text = hostile_client.get(f"/?q=weight&open={kind}:evil%231").text
        names = {tag for tag, _ in Elements(text).found}
        assert not names & {"img", "svg", "b", "i"}
        assert unescape(text) != text


def test_a_panel_that_fails_leaves_the_page(client: TestClient) -> None:
    """LaTeX that reads as the name of an equation has no panels, but it has answers."""
    page = client.get("/", params={"q": r"$\#1$", "open": "describe:query"})
    assert page.status_code == 200
    assert panels(page.text) == []
