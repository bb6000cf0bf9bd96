"""Symbols in a browser: pointing, keys, tapping, glossaries and notation; needs chromium."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest

from server.browsers import IN_BROWSER, Open, served
from symbol_papers import make_symbol_library

pytestmark = IN_BROWSER

PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 800},
    "has_touch": True,
    "is_mobile": True,
}


@pytest.fixture(scope="module")
def defined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server with papers that define their symbols."""
    with make_symbol_library(tmp_path_factory.mktemp("symbols")) as made:
        folder: Path = made.folder
    yield from served(folder)


def eta(page: Any, inside: str) -> Any:
    """The first letter eta of a formula."""
    return page.locator(f"{inside} mi", has_text="η").first


def meaning(page: Any) -> str:
    """The text of the box, once it is shown."""
    box = page.locator("#meaning")
    box.wait_for(state="visible")
    return plain(box)


def plain(element: Any) -> str:
    """What an element shows, with letters that browsers make italic as they were written."""
    return " ".join(normalize("NFKC", element.inner_text()).split())


def test_pointing_at_a_symbol(open_page: Open, defined: str) -> None:
    """Shows the meaning with its sentence; the box may be pointed at; elsewhere it closes."""
    page = open_page(f"{defined}/equation?name=descent%232")
    eta(page, ".one .formula").hover(force=True)
    elsewhere = "(elsewhere in this article: learning rate)"
    assert meaning(page).startswith(f"η noise level of a measurement {elsewhere}")
    assert "Let η be the noise level" in meaning(page)
    assert page.locator(".pointed").count() == 1
    page.locator("#meaning").hover()
    page.wait_for_timeout(400)
    assert page.locator("#meaning").is_visible()
    page.locator("footer").hover()
    page.locator("#meaning").wait_for(state="hidden")
    assert page.locator(".pointed").count() == 0


def test_every_occurrence_is_highlighted(open_page: Open, defined: str) -> None:
    """A symbol that stands twice in a formula is one symbol."""
    page = open_page(f"{defined}/articles/descent")
    paragraph = "p[data-paragraph='3']"
    eta(page, paragraph).hover()
    page.locator(f"{paragraph} .pointed").nth(1).wait_for(state="attached")
    assert page.locator(f"{paragraph} .pointed").all_text_contents() == ["η", "η"]
    assert meaning(page).startswith("η learning rate")


def test_an_article_has_the_meaning_of_the_place(open_page: Open, defined: str) -> None:
    """In running text and in displays; nothing is loaded before somebody looks."""
    asked: list[str] = []
    page = open_page(f"{defined}/articles/descent")
    page.on("request", lambda sent: asked.append(sent.url) if "/symbols?" in sent.url else None)
    page.wait_for_timeout(200)
    assert asked == []
    eta(page, "#e1").hover(force=True)
    assert meaning(page).startswith("η learning rate")
    eta(page, "#e2").hover(force=True)
    page.locator("#meaning", has_text="be the noise level").wait_for()
    eta(page, "p[data-paragraph='5']").hover()
    page.wait_for_timeout(300)
    assert meaning(page).startswith("η noise level")
    assert len(asked) == 3


def test_the_box_leaves_the_links_of_a_display_free(open_page: Open, defined: str) -> None:
    """They are below the formula, so that the box is above it."""
    page = open_page(f"{defined}/articles/descent", viewport={"width": 1280, "height": 900})
    eta(page, "#e2").hover(force=True)
    meaning(page)
    box = page.locator("#meaning").bounding_box()
    formula = page.locator("#e2 math").bounding_box()
    assert box["y"] + box["height"] <= formula["y"] + formula["height"] / 2


def test_hits_have_meanings_too(open_page: Open, defined: str) -> None:
    """In results, and the list in the panel of a description."""
    page = open_page(f"{defined}/?q=noise+level+signal")
    card = page.locator(".card[data-id='descent#2']")
    eta(page, ".card[data-id='descent#2'] > .formula").hover(force=True)
    assert meaning(page).startswith("η noise level of a measurement")
    card.locator("a[data-panel=describe]").click()
    listed = card.locator(".panel .where-list")
    listed.wait_for()
    assert "clean input" in listed.inner_text()


def test_keys_walk_through_a_formula(open_page: Open, defined: str) -> None:
    """Tab reaches the formula, arrows its symbols, Escape goes back to it."""
    page = open_page(f"{defined}/equation?name=descent%231")
    page.locator(".one .formula math").focus()
    page.keyboard.press("ArrowRight")
    assert meaning(page).startswith("η learning rate")
    assert page.evaluate("document.activeElement.textContent") == "η"
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith(
        "η: learning rate"
    )
    page.keyboard.press("ArrowRight")
    page.locator("#meaning .dd", has_text="loss function").first.wait_for()
    assert page.evaluate("document.activeElement.textContent") == "L"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Escape")
    page.locator("#meaning").wait_for(state="hidden")
    assert page.evaluate("document.activeElement.localName") == "math"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.where-list') !== null")


def test_keys_of_the_browser_are_left_alone(open_page: Open, defined: str) -> None:
    """Alt and an arrow go back; no symbol is chosen."""
    page = open_page(f"{defined}/equation?name=descent%231")
    page.locator(".one .formula math").focus()
    page.evaluate("addEventListener('keydown', (e) => { window.taken = e.defaultPrevented; })")
    page.keyboard.press("Alt+ArrowRight")
    assert page.evaluate("window.taken") is False
    assert page.evaluate("document.activeElement.localName") == "math"
    page.keyboard.press("ArrowRight")
    assert page.evaluate("window.taken") is True


def test_keys_walk_through_a_hit(open_page: Open, defined: str) -> None:
    """Its formula is a link: arrows go into it, Escape back to the link."""
    page = open_page(f"{defined}/?q=noise+level+signal")
    page.locator(".card[data-id='descent#2'] a.whole").focus()
    page.keyboard.press("ArrowLeft")
    assert meaning(page).startswith("η noise level of a measurement")
    page.keyboard.press("Escape")
    page.locator("#meaning").wait_for(state="hidden")
    assert page.evaluate("document.activeElement.className") == "whole"
    page.keyboard.press("Enter")
    page.wait_for_url("**/equation?name=descent%232")


def test_tab_reaches_formulas(open_page: Open, defined: str) -> None:
    """Every display is one stop, and all formulas of the running text together are one."""
    page = open_page(f"{defined}/articles/descent")
    stops = page.locator("main math[tabindex='0']")
    assert stops.count() == 3
    page.locator("p[data-paragraph] math[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    assert meaning(page).startswith("η learning rate")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(200)
    assert page.evaluate("document.activeElement.closest('p').dataset.paragraph") == "3"
    assert stops.count() == 3


def test_tapping_a_symbol(open_page: Open, defined: str) -> None:
    """A finger may miss it a little; another tap closes; the window is not chosen."""
    page = open_page(f"{defined}/articles/descent", **PHONE)
    spot = eta(page, "#e1")
    spot.scroll_into_view_if_needed()
    at = spot.bounding_box()
    page.touchscreen.tap(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2)
    assert meaning(page).startswith("η learning rate")
    assert page.locator(".display.chosen").count() == 0
    box = page.locator("#meaning").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("h1").tap()
    page.locator("#meaning").wait_for(state="hidden")
    page.touchscreen.tap(at["x"] + at["width"] / 2, at["y"] - 4)
    assert meaning(page).startswith("η learning rate")


@pytest.mark.parametrize("settings", [{}, PHONE], ids=["wide", "phone"])
def test_glossary_and_notation(open_page: Open, defined: str, settings: dict[str, Any]) -> None:
    """From an article to its glossary, to a symbol, and to an equation; nothing overflows."""
    page = open_page(f"{defined}/articles/descent", **settings)
    page.get_by_role("link", name="Symbols").click()
    page.wait_for_url("**/glossary?article=descent")
    assert page.locator(".glossary dt").count() == 4
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator(".glossary dt a", has_text="η").click()
    page.wait_for_url("**/notation?q=*")
    assert page.locator(".notation > li").first.locator(".what").inner_text() == "learning rate"
    flows = page.locator(".uses li").first.evaluate("node => getComputedStyle(node).display")
    assert flows == "list-item"  # a sentence, not a row of boxes
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.fill("#asked", "learning rate")
    page.get_by_role("button", name="Find").click()
    page.wait_for_url("**/notation?q=learning+rate")
    page.get_by_role("link", name="descent#1").click()
    page.locator(".one .where-list").wait_for()


def test_without_a_script_the_list_is_there(open_page: Open, defined: str) -> None:
    """Nothing needs JavaScript to be read."""
    page = open_page(f"{defined}/equation?name=descent%231", java_script_enabled=False)
    assert "learning rate" in page.locator(".where-list").inner_text()


@pytest.mark.skipif("EQEMB_AXE" not in os.environ, reason="EQEMB_AXE does not name an axe.min.js")
@pytest.mark.parametrize(
    "url",
    [
        "/equation?name=descent%231",
        "/articles/descent",
        "/glossary?article=descent",
        "/notation?q=learning+rate",
        "/notation?q=%24%5Ceta%24",
        "/notation",
    ],
)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_accessible(open_page: Open, defined: str, url: str, scheme: str) -> None:
    """With a meaning shown, where there are formulas."""
    page = open_page(defined + url, color_scheme=scheme, bypass_csp=True)
    symbol = page.locator(".one [data-symbol], p[data-paragraph] mi").first
    if symbol.count():
        symbol.hover(force=True)
        meaning(page)
    page.evaluate(Path(os.environ["EQEMB_AXE"]).read_text("utf-8"))
    found = page.evaluate("axe.run()")["violations"]
    assert not [one for one in found if one["impact"] in ("serious", "critical")]
