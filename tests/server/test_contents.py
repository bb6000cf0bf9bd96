"""The contents of an article, error pages, and wide formulas."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from eqemb.facade.library import Library
from server.browsers import IN_BROWSER, Open, served
from server.clients import make_client
from synthetic import papers

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
#: Six sections with ten wide equations each: more than one part.
BODY = r"Before it all \[ a = 1 \]." + "".join(
    rf"\section{{Section {name}}} " + " ".join(
        rf"The sum {name} is \begin{{equation}} s_{{{at}}} = "
        + " + ".join(f"x_{{{at}{term}}}" for term in range(30)) + r" \end{equation}"
        for at in range(10))
    for name in ("one", "two", "three", "four", "five", "six $y$")
)  # fmt: skip


@pytest.fixture(scope="module")
def long_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with a long article and one without sections."""
    place = tmp_path_factory.mktemp("contents")
    folder = papers(
        place / "papers",
        long=BODY,
        short=r"\author{Emmy Noether \and Kurt G\"odel}Only words and \[ b \].",
    )
    Library.read([folder], place / "library", jobs=1, index=True).close()
    return place / "library"


@pytest.fixture(scope="module")
def reader(long_folder: Path) -> Iterator[TestClient]:
    """A client of this library."""
    with make_client(long_folder) as made:
        yield made


@pytest.fixture(scope="module")
def long_article(long_folder: Path) -> Iterator[str]:
    """The URL of a server with this library."""
    yield from served(long_folder)


def test_contents_list_sections_and_equations_of_every_part(reader: TestClient) -> None:
    """Whatever part is shown."""
    found = reader.get("/v1/articles/long").json()
    assert found["parts"] > 1
    sections = found["contents"]
    assert [len(each["equations"]) for each in sections] == [1, 10, 10, 10, 10, 10, 10]
    assert sections[0]["title"] == []
    assert sections[1]["title"] == [{"kind": "text", "text": "Section one"}]
    assert [piece["kind"] for piece in sections[6]["title"]] == ["text", "math"]
    assert sections[0]["equations"] == [{"ordinal": 1, "number": None, "text": "a = 1"}]
    assert sections[6]["equations"][-1]["number"] == "60"
    assert {each["part"] for each in sections} == set(range(1, found["parts"] + 1))
    assert reader.get("/v1/articles/long?part=2").json()["contents"] == sections


def test_an_article_names_its_authors(reader: TestClient) -> None:
    """If they are known."""
    shown = '<p class="by">Emmy Noether, Kurt Gödel</p>'
    assert shown in reader.get("/articles/short").text
    assert reader.get("/v1/articles/short").json()["authors"] == ["Emmy Noether", "Kurt Gödel"]
    assert 'class="by"' not in reader.get("/articles/long").text
    assert "Emmy Noether and Kurt Gödel. " in reader.get("/equation?name=short%231").text


def test_parts_have_names_of_their_own(reader: TestClient) -> None:
    """There are links to them above and below the text."""
    text = reader.get("/articles/long").text
    assert text.count('aria-label="Parts of the article"') == 1
    assert text.count('aria-label="Parts of the article, below the text"') == 1


def test_every_link_of_the_contents_has_a_target(reader: TestClient) -> None:
    """The headings of each part have the ids that the contents name."""
    found = reader.get("/v1/articles/long").json()
    for at, section in enumerate(found["contents"], 1):
        page = reader.get(f"/articles/long?part={section['part']}").text
        assert (f'<h2 id="s{at}">' in page) == bool(section["title"])
    assert "Contents</summary>" in reader.get("/articles/long").text
    assert "Contents</summary>" not in reader.get("/articles/short").text


@pytest.mark.parametrize("url", ["/nothing", "/articles/nothing", "/equation?name=long%2399"])
def test_error_pages_keep_the_navigation(reader: TestClient, url: str) -> None:
    """And have the search box."""
    answer = reader.get(url)
    assert answer.status_code == 404
    for part in ('href="/articles"', 'href="/report"', 'id="q"', "62 equations"):
        assert part in answer.text
    assert reader.get("/v1/nothing").json() == {"error": "there is no page at this address"}


def open_lists(page: Any) -> Any:
    """The contents of the page, opened by keyboard."""
    for name in ("Contents", "Equations"):
        page.locator(".contents summary", has_text=name).press("Enter")
    return page.locator(".contents")


class TestInBrowser:
    """Reading an article."""

    pytestmark = IN_BROWSER

    def test_the_contents_lead_to_a_section(self, open_page: Open, long_article: str) -> None:
        """By keyboard, on another part of the article."""
        page = open_page(f"{long_article}/articles/long")
        assert page.locator(".contents a").first.is_hidden()
        open_lists(page).get_by_role("link", name="Section five").press("Enter")
        page.wait_for_url("**/articles/long?part=2#s6")
        assert page.locator("#s6").inner_text() == "Section five"
        box = page.locator("#s6").bounding_box()
        assert box is not None
        assert 0 <= box["y"] < 400

    def test_the_list_leads_to_an_equation(self, open_page: Open, long_article: str) -> None:
        """And highlights its window."""
        page = open_page(f"{long_article}/articles/long")
        open_lists(page).get_by_role("link", name="(57)").click()
        page.wait_for_url("**/articles/long?equation=58#e58")
        assert page.locator("#e58.chosen").is_visible()

    def test_contents_fit_a_phone(self, open_page: Open, long_article: str) -> None:
        """Long lines are cut, not the page."""
        page = open_page(f"{long_article}/articles/long", **PHONE)
        open_lists(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.locator(".contents .line").nth(3).evaluate("e => e.scrollWidth > e.clientWidth")

    def test_wide_formulas_show_where_they_go_on(self, open_page: Open, long_article: str) -> None:
        """A shadow on the right at first, on both sides in the middle, on the left at the end."""
        page = open_page(f"{long_article}/articles/long", **PHONE)
        frame = page.locator("#e2 .sheet")
        page.locator("#e2 .sheet.more-right:not(.more-left)").wait_for()
        assert "gradient" in frame.evaluate("e => getComputedStyle(e).backgroundImage")
        frame.evaluate("e => { e.scrollLeft = 60; }")
        page.locator("#e2 .sheet.more-right.more-left").wait_for()
        frame.evaluate("e => { e.scrollLeft = 1e6; }")
        page.locator("#e2 .sheet.more-left:not(.more-right)").wait_for()
        assert page.locator("#e1 .sheet").get_attribute("class") == "sheet"

    def test_no_label_of_the_map_is_clipped(self, open_page: Open, learned: str) -> None:
        """Each is inside the canvas, away from the zoom buttons, at any place of the view."""
        page = open_page(f"{learned}/map", **PHONE)
        page.locator("#map[data-ready]").wait_for()
        seen = 0
        for place in ("0.5,0.5,1", "0.1,0.5,2", "0.9,0.2,3"):
            page.evaluate(f"location.hash = '#{place}'")
            page.wait_for_timeout(300)
            labels, width, height = page.evaluate(
                """() => { const map = document.getElementById("map");
                const canvas = map.querySelector("canvas");
                return [map.labelled, canvas.offsetWidth, canvas.offsetHeight]; }"""
            )
            seen += len(labels)
            for label in labels:
                left, top, right, bottom = label["box"]
                assert left >= 0, label
                assert top >= 0, label
                assert right <= width, label
                assert bottom <= height, label
                assert right <= width - 52 or top >= 130, label
        assert seen
