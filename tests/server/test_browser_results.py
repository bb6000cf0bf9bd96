"""Panels, facets, rankings, downloads and the saved list in a browser."""

import csv
import os
from pathlib import Path
from typing import Any

import pytest

from server.browsers import IN_BROWSER, Open, cards

pytestmark = IN_BROWSER

QUERY = "/?q=cosine+similarity"
#: Every state of the results, of an equation and of the saved list.
STATES = [
    QUERY,
    f"{QUERY}&open=similar%3Acosine%231#hit-1",
    f"{QUERY}&open=describe%3Acosine%231#hit-1",
    f"{QUERY}&open=why%3Acosine%231#hit-1",
    f"{QUERY}&open=source%3Acosine%231#hit-1",
    f"{QUERY}&by=words&without=cosine&numbered=true",
    f"{QUERY}&by=meaning",
    "/?q=cosine&by=structure",
    "/?q=%24%5Cfrac%7Ba%7D%7Bb%7D%24&open=describe%3Aquery#asked",
    "/equation?name=cosine%231",
    "/saved",
    "/saved?id=cosine%231&id=cosine%232&open=source%3Acosine%232#hit-2",
    "/?q=cosne",
    "/?q=zzzz",
    "/?q=%5Caleph",
    "/?q=cosine+%24x%5E2%24",
    "/articles",
    "/articles?words=zzzz",
    "/articles/cosine?equation=2#e2",
    "/glossary?article=cosine",
    "/notation",
    "/notation?q=%24x%24",
    "/report",
    "/docs",
    "/nowhere",
    "/articles/nothing",
    "/?q=x&page=0",
]
#: Those that are errors; the browser logs them.
ERRORS = ("/nowhere", "/articles/nothing", "/?q=x&page=0", "/?q=cosine&by=structure")


def panels(page: Any) -> list[str]:
    """The open panels: kind and equation."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll(".panel")].map((panel) =>
        `${panel.dataset.kind}:${panel.parentElement.dataset.id}`)"""
    )
    return found


def open_panel(page: Any, at: int, kind: str) -> None:
    """Open a panel of a hit, and wait for its content."""
    card = cards(page).nth(at)
    card.locator(f":scope > .actions a[data-panel={kind}]").click()
    card.locator(f":scope > .panel[data-kind={kind}] > :not(.waiting)").first.wait_for()


# ------------------------------------------------------------ addresses


@pytest.mark.parametrize("kind", ["similar", "describe", "why", "source"])
def test_an_open_panel_survives_a_reload(open_page: Open, demo: str, kind: str) -> None:
    """The server writes what the script made, and the link closes it again."""
    page = open_page(demo + QUERY)
    open_panel(page, 0, kind)
    assert page.url == f"{demo}{QUERY}&open={kind}%3Acosine%231#hit-1"
    made = page.locator(".panel").inner_text()
    page.reload()
    assert panels(page) == [f"{kind}:cosine#1"]
    assert page.locator(".panel").inner_text() == made
    assert page.locator("a[aria-expanded=true]").get_attribute("data-panel") == kind
    page.locator("a[aria-expanded=true]").click()
    assert panels(page) == []
    assert "open=" not in page.url


def test_back_and_forward_open_and_close_panels(open_page: Open, demo: str) -> None:
    """Of several hits, one at a time for each."""
    page = open_page(demo + QUERY)
    open_panel(page, 0, "similar")
    open_panel(page, 1, "source")
    other = cards(page).nth(1).get_attribute("data-id")
    open_panel(page, 0, "describe")
    assert panels(page) == ["describe:cosine#1", f"source:{other}"]
    page.go_back()
    page.locator(".panel[data-kind=similar] .card").first.wait_for()
    assert panels(page) == ["similar:cosine#1", f"source:{other}"]
    page.go_back()
    page.go_back()
    page.locator(".panel").first.wait_for(state="detached")
    assert page.url == demo + QUERY
    page.go_forward()
    page.locator(".panel[data-kind=similar] .card").first.wait_for()
    assert panels(page) == ["similar:cosine#1"]


def test_a_formula_leads_to_its_page_and_back(open_page: Open, demo: str) -> None:
    """With a click, and with Tab and Enter; the panels are still open afterwards."""
    page = open_page(demo + QUERY)
    open_panel(page, 0, "source")
    cards(page).first.locator(":scope > .formula .whole").click()
    page.wait_for_url("**/equation?name=cosine%231")
    assert page.locator(".one .source").inner_text().startswith("Cosine Similarity")
    page.get_by_role("navigation", name="On this page").get_by_text("Source").click()
    page.wait_for_url("**/equation?name=cosine%231#source")
    page.go_back()
    page.go_back()
    page.locator(".panel[data-kind=source] pre").first.wait_for()
    cards(page).first.locator(":scope > .formula .whole").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/equation?name=cosine%231")


def test_choices_above_the_results_are_addresses(open_page: Open, demo: str) -> None:
    """Ranking, a facet, and not from this paper; each can be taken back."""
    page = open_page(demo + QUERY)
    page.locator("summary", has_text="Narrow down").click()
    facet = page.locator(".facet li").first
    number = int(facet.locator(".count").inner_text())
    facet.locator("a").click()
    page.wait_for_url("**/?q=cosine+similarity&section=*")
    assert f"{number} equation" in page.locator(".total").inner_text()
    page.get_by_role("link", name="Remove the filter").click()
    page.wait_for_url(f"**{QUERY}")
    first = cards(page).first.get_attribute("data-id").partition("#")[0]
    cards(page).first.get_by_role("link", name="Not from this paper").click()
    page.wait_for_url(f"**&without={first}")
    page.reload()
    names = cards(page).evaluate_all("all => all.map((card) => card.dataset.id.split('#')[0])")
    assert names
    assert first not in names
    page.get_by_role("navigation", name="Ranking").get_by_text("Words", exact=True).click()
    page.wait_for_url(f"**by=words*without={first}")
    page.go_back()
    page.go_back()
    page.wait_for_url(f"**{QUERY}")


# ------------------------------------------------------------ files and copying


def test_results_are_downloaded(open_page: Open, demo: str, tmp_path: Path) -> None:
    """As a file with a name, with the hits of the page."""
    page = open_page(demo + QUERY)
    with page.expect_download() as started:
        page.get_by_role("link", name="CSV").click()
    assert started.value.suggested_filename == "equations.csv"
    started.value.save_as(tmp_path / "made.csv")
    with (tmp_path / "made.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    shown = cards(page).evaluate_all("all => all.map((card) => card.dataset.id)")
    assert [row["id"] for row in rows][: len(shown)] == shown


def test_copied_latex_has_no_label(open_page: Open, demo: str) -> None:
    """As written, it has."""
    settings = {"permissions": ["clipboard-read", "clipboard-write"]}
    page = open_page(f"{demo}{QUERY}&open=source%3Acosine%231", **settings)
    for at, has_label in ((0, False), (1, True)):
        page.evaluate("navigator.clipboard.writeText('')")
        page.locator(".panel .copy").nth(at).click()
        page.wait_for_function("async () => (await navigator.clipboard.readText()) !== ''")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert r"\cos(" in copied
        assert (r"\label" in copied) == has_label


# ------------------------------------------------------------ the saved list


def test_equations_are_saved_with_the_keyboard(open_page: Open, demo: str) -> None:
    """The list survives a reload, is on all pages, and can be downloaded and cleared."""
    page = open_page(demo + QUERY)
    assert cards(page).first.locator(".save").get_attribute("aria-pressed") == "false"
    page.keyboard.press("Tab")
    page.locator("#q").blur()
    page.keyboard.press("j")
    page.keyboard.press("b")
    page.keyboard.press("j")
    cards(page).nth(1).locator(".save").focus()
    page.keyboard.press("Enter")
    second = cards(page).nth(1).get_attribute("data-id")
    page.reload()
    assert cards(page).first.locator(".save").get_attribute("aria-pressed") == "true"
    page.goto(f"{demo}/articles")
    link = page.locator(".top nav").get_by_text("Saved (2)")
    link.click()
    page.wait_for_url("**/saved?id=cosine%231&id=*")
    listed = cards(page).evaluate_all("all => all.map((card) => card.dataset.id)")
    assert listed == ["cosine#1", second]
    with page.expect_download() as started:
        page.get_by_role("link", name="BibTeX").click()
    assert started.value.suggested_filename == "saved.bib"
    cards(page).first.locator(".save").click()  # removed, but still shown, to undo it
    page.get_by_role("link", name="Your list has 1 now").click()
    page.wait_for_url("**/saved?id=*")
    assert cards(page).count() == 1
    page.goto(f"{demo}/saved")  # without names, it goes to the list
    page.wait_for_url("**/saved?id=*")
    page.get_by_role("button", name="Clear the list").click()
    page.wait_for_url("**/saved")
    assert "The list is empty" in page.locator("main").inner_text()


def test_a_panel_knows_what_is_saved(open_page: Open, demo: str) -> None:
    """Also one that is loaded after the page."""
    page = open_page(demo + QUERY)
    second = cards(page).nth(1)
    second.locator(":scope > .actions .save").click()
    name = second.get_attribute("data-id")
    cards(page).first.locator(":scope > .actions a[data-panel=similar]").click()
    shown = cards(page).first.locator(f".panel .save[data-save='{name}']")
    shown.wait_for()
    assert shown.inner_text() == "Saved"


def test_tools_of_an_article_are_there_without_pointing(open_page: Open, demo: str) -> None:
    """On a phone, where nobody can point, they are below the formula and not over text."""
    page = open_page(f"{demo}/articles/cosine", viewport={"width": 390, "height": 844})
    tools = page.locator("#e1 .tools")
    style = tools.evaluate("n => [getComputedStyle(n).opacity, getComputedStyle(n).position]")
    assert style == ["1", "static"]
    wide = open_page(f"{demo}/articles/cosine").locator("#e1 .tools")
    assert wide.evaluate("node => getComputedStyle(node).opacity") == "0"


def test_other_tabs_follow_the_saved_list(open_page: Open, demo: str) -> None:
    """Without a reload."""
    page = open_page(demo + QUERY)
    other = page.context.new_page()
    other.goto(f"{demo}/equation?name=cosine%231")
    other.locator(".one .save").click()
    page.locator(".save[aria-pressed=true]").first.wait_for()
    page.evaluate("localStorage.setItem('saved', 'broken')")
    page.reload()
    assert page.locator(".save[aria-pressed=true]").count() == 0


def test_without_javascript_nothing_offers_to_save(open_page: Open, demo: str) -> None:
    """A list in an address still works."""
    page = open_page(demo + QUERY, java_script_enabled=False)
    assert not page.locator(".save").first.is_visible()
    page.goto(f"{demo}/saved?id=cosine%231&open=source%3Acosine%231")
    assert panels(open_page(page.url)) == ["source:cosine#1"]
    assert page.locator(".panel pre").first.is_visible()


# ------------------------------------------------------------ layout and accessibility


@pytest.mark.parametrize("width", [390, 1280])
def test_no_state_scrolls_sideways(open_page: Open, demo: str, width: int) -> None:
    """Wide content scrolls within its own frame; facets open, too."""
    page = open_page(demo, viewport={"width": width, "height": 844})
    for state in STATES:
        if state in ERRORS:
            continue
        page.goto(demo + state)
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, state


@pytest.mark.skipif("EQEMB_AXE" not in os.environ, reason="EQEMB_AXE does not name an axe.min.js")
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_axe_finds_nothing_serious_in_any_state(
    browser: Any, demo: str, scheme: str, width: int
) -> None:
    """With facets and filters open."""
    size = {"width": width, "height": 844}
    context = browser.new_context(bypass_csp=True, color_scheme=scheme, viewport=size)
    page = context.new_page()
    axe = Path(os.environ["EQEMB_AXE"]).read_text("utf-8")
    for state in STATES:
        page.goto(demo + state)
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        page.evaluate(axe)
        found = page.evaluate("axe.run()")["violations"]
        serious = [each["id"] for each in found if each["impact"] in ("serious", "critical")]
        assert not serious, (state, found[0]["nodes"][0]["html"])
    context.close()
