"""Pages about symbols: the list under an equation, glossaries, notation, what the script loads."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from server.clients import Elements, make_client
from symbol_papers import make_symbol_library

ETA = "/notation?q=%24%5Ceta%24"


@pytest.fixture(scope="module")
def defined(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of papers that define their symbols."""
    with make_symbol_library(tmp_path_factory.mktemp("defined")) as made:
        return made.folder


@pytest.fixture(scope="module")
def client(defined: Path) -> Iterator[TestClient]:
    """A client of this library."""
    with make_client(defined) as made:
        yield made


def words(html: str) -> str:
    """The text of HTML, without elements."""
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def shown(client: TestClient, url: str) -> str:
    """A page that is well formed."""
    response = client.get(url)
    assert response.status_code == 200, response.text
    assert not Elements(response.text).open
    return response.text


def test_the_page_of_an_equation_lists_its_symbols(client: TestClient) -> None:
    """Under the formula, whose elements have the numbers of the entries."""
    page = shown(client, "/equation?name=descent%231")
    made = Elements(page).found
    entries = {found["data-entry"] for tag, found in made if "data-entry" in found}
    marks = {found["data-symbol"] for tag, found in made if "data-symbol" in found}
    assert entries == marks
    assert len(entries) == 2
    (listed,) = re.findall(r'<section class="where-list".*?</section>', page, re.DOTALL)
    said = words(listed)
    assert "learning rate (elsewhere in this article: noise level of a measurement)" in said
    assert "No definition found:" in said
    assert f'href="{ETA}"' in listed
    assert 'href="/glossary?article=descent"' in listed


def test_the_panel_of_a_description_has_the_list(client: TestClient) -> None:
    """First; the page of an equation has it once, under the formula."""
    panel = client.get("/v1/panel?kind=describe&equation=descent%231").json()["html"]
    assert panel.index("where-list") < panel.index('class="said"')
    assert "learning rate" in words(panel)
    assert shown(client, "/equation?name=descent%231").count('class="where-list"') == 1
    typed = client.get("/v1/panel?kind=describe&equation=%24w+%3D+%5Ceta%24").json()["html"]
    assert "where-list" not in typed
    opened = shown(client, "/?q=loss&open=describe:descent%231")
    assert opened.count('class="where-list"') == 1


def test_types_have_the_right_sign(client: TestClient) -> None:
    """An element of a set, not a function."""
    page = shown(client, "/equation?name=descent%232")
    assert re.search(r'clean input<span class="type"> ∈ <math', page)


def test_an_equation_without_definitions_has_no_list(client: TestClient) -> None:
    """Neither has one that is given as LaTeX."""
    for url in ("/equation?name=plain%231", "/equation?latex=w+%3D+%5Ceta"):
        page = shown(client, url)
        assert "where-list" not in page
        assert "data-symbol" not in page


def test_an_article_links_to_its_glossary(client: TestClient) -> None:
    """And its paragraphs have the numbers that the script asks for."""
    page = shown(client, "/articles/descent")
    assert 'href="/glossary?article=descent"' in page
    assert 'data-article="descent"' in page
    numbers = [found.get("data-paragraph") for tag, found in Elements(page).found if tag == "p"]
    assert [number for number in numbers if number] == ["2", "2", "3", "5", "5"]


def test_the_script_loads_marked_formulas(client: TestClient) -> None:
    """Of an equation, and of a paragraph in the order of its formulas."""
    page = shown(client, "/symbols?equation=descent%231")
    assert page.count("<math") > page.count("<mi data-symbol=") >= 2
    paragraph = shown(client, "/symbols?article=descent&paragraph=3")
    (marked,) = re.findall(r'<div class="marked".*?</div>', paragraph)
    assert marked.count("<math") == 3
    assert "learning rate" in words(paragraph)
    assert "noise level" in words(shown(client, "/symbols?article=descent&paragraph=5"))


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("/symbols", 404),
        ("/symbols?article=descent", 404),
        ("/symbols?article=descent&paragraph=-1", 404),
        ("/symbols?article=descent&paragraph=x", 422),
        ("/symbols?equation=nowhere%231", 404),
        ("/glossary?article=nowhere", 404),
        ("/glossary", 422),
        ("/notation?q=%24a%2Bb%24", 400),
    ],
)
def test_mistakes(client: TestClient, url: str, status: int) -> None:
    """A page that says what is wrong."""
    response = client.get(url, headers={"accept": "text/html"})
    assert response.status_code == status
    assert not Elements(response.text).open


def test_the_glossary_page(client: TestClient) -> None:
    """Symbols, meanings, sections that lead to the nearest equation, and sentences."""
    page = shown(client, "/glossary?article=descent")
    said = words(page)
    assert said.index("loss function") < said.index("clean input") < said.index("noise level")
    assert '<a href="/articles/descent?equation=2#e2">Noise</a>' in page
    assert "Let η be the noise level of a measurement." in said
    empty = words(shown(client, "/glossary?article=plain"))
    assert "No definition of a symbol was found in this article." in empty


def test_the_notation_page_by_words(client: TestClient) -> None:
    """Symbols with shares; examples lead to equations."""
    page = shown(client, "/notation?q=learning+rate")
    assert "2 articles define it; shares are of these articles." in words(page)
    assert "100% 2 articles" in words(page)
    assert 'href="/equation?name=descent%231"' in page
    assert f'href="{ETA}"' in page
    assert 'value="learning rate"' in page


def test_the_notation_page_by_symbol(client: TestClient) -> None:
    """Meanings with shares, each a link to how it is denoted."""
    page = shown(client, ETA)
    said = words(page)
    assert said.index("learning rate") < said.index("noise level")
    assert 'href="/notation?q=learning+rate"' in page
    assert "100 %, because an article may mean several things by it." in said


def test_notation_without_an_answer(client: TestClient) -> None:
    """Says what to do; without a query, what it is for."""
    assert "No definition has it." in words(shown(client, "/notation?q=unheardof"))
    assert "No article defines this symbol." in words(shown(client, "/notation?q=%24%5Caleph%24"))
    assert "Enter words to see" in words(shown(client, "/notation"))
    response = client.get("/notation?q=%24a%2Bb%24")
    assert "takes words or one symbol" in words(response.text)
    assert 'aria-current="page">Notation' in response.text.replace('href="/notation" ', "")


@pytest.mark.parametrize("snippets", ["short", "none"])
def test_pages_show_no_more_text_than_allowed(defined: Path, snippets: str) -> None:
    """`short` has no sentences, `none` no definitions."""
    with make_client(defined, snippets=snippets) as client:
        pages = [
            shown(client, url)
            for url in (
                "/equation?name=descent%231",
                "/symbols?equation=descent%231",
                "/symbols?article=descent&paragraph=2",
                "/glossary?article=descent",
                "/notation?q=learning+rate",
            )
        ]
    for page in pages[1:]:
        assert "denotes the loss" not in page
        assert bool(re.search(r">learning rate<", page)) is (snippets == "short")
    assert ("where-list" in pages[0]) is (snippets == "short")


def test_hostile_papers_stay_text(hostile_client: TestClient) -> None:
    """Names, sections and formulas are escaped in fragments and glossaries, too."""
    urls = ["/symbols?equation=evil%231", "/glossary?article=evil", "/notation?q=weight"]
    urls += [f"/symbols?article=evil&paragraph={number}" for number in (1, 2)]
    for url in urls:
        made = Elements(shown(hostile_client, url)).found
        scripts = [found for tag, found in made if tag == "script"]
        assert all(found.get("src", "").startswith("/static/") for found in scripts)  # type: ignore[union-attr]
        assert not [found for _, found in made if any(name.startswith("on") for name in found)]
        assert not [found for _, found in made if "style" in found]
