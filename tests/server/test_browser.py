"""The pages in a browser: clicking, typing, layout and accessibility. Needs Debian's chromium."""

import os
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from server.browsers import IN_BROWSER, Open, cards

pytestmark = IN_BROWSER

# ------------------------------------------------------------ the main tasks


def test_words_find_equations(open_page: Open, demo: str) -> None:
    """Typed words give equations, with the words highlighted."""
    page = open_page(demo)
    page.fill("#q", "cosine similarity")
    page.click("button[type=submit]")
    page.wait_for_url("**/?q=cosine+similarity")
    assert cards(page).first.get_attribute("data-id") == "cosine#1"
    assert "cosine" in cards(page).first.locator("mark").all_inner_texts()
    assert cards(page).first.locator("math mfrac").first.is_visible()


def test_an_equation_finds_similar_ones(open_page: Open, demo: str) -> None:
    """In a panel on its card, and from there on."""
    page = open_page(f"{demo}/?q=harmonic+mean")
    first = cards(page).first
    first.locator(".actions a", has_text="Similar").click()
    panel = first.locator(":scope > .panel")
    panel.locator(".card").first.wait_for()
    assert panel.locator("math").count() >= 2
    asked = page.locator("a[aria-expanded=true]")
    assert asked.inner_text() == "Similar"
    panel.locator(".card").first.locator("a", has_text="Describe").click()
    page.wait_for_url("**/equation?name=*#describe")
    page.go_back()
    first.locator(":scope > .panel").get_by_role("link", name="More similar equations").click()
    page.wait_for_url("**/?q=*%23*")
    assert cards(page).count() > 1


def test_an_equation_is_described(open_page: Open, demo: str) -> None:
    """LaTeX gives words, a word gives its equations, and the back button works."""
    page = open_page(demo)
    page.fill("#q", r"$F = \frac{2 P R}{P + R}$")
    page.keyboard.press("Enter")
    page.locator(".asked math").wait_for()
    assert cards(page).first.get_attribute("data-id") == "f-measure#4"
    page.locator(".asked").get_by_role("link", name="Describe").click()
    said = page.locator(".asked .said .word")
    said.first.wait_for()
    word = said.first.inner_text()
    said.first.click()
    page.wait_for_url(f"**/?q={word}")
    assert cards(page).count()
    page.go_back()
    said.first.wait_for()  # the panel is open again
    page.go_back()
    page.locator(".asked .panel").wait_for(state="detached")
    page.go_back()
    page.locator(".welcome").wait_for()


# ------------------------------------------------------------ other tasks


def test_a_query_is_previewed_while_typing(open_page: Open, demo: str) -> None:
    """LaTeX as mathematics, and suggested words."""
    page = open_page(demo)
    page.locator("#q").press_sequentially(r"loss $\frac{x_1}{2}$ simil")
    page.locator("#preview mfrac").wait_for()
    page.locator("#suggestions li").first.wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.input_value("#q").startswith(r"loss $\frac{x_1}{2}$ similar")
    assert page.locator("#suggestions").is_hidden()


#: Delays every answer, as over a slow connection.
LATE = """(delay) => { const real = window.fetch;
  window.fetch = (...asked) => new Promise((go) => setTimeout(go, delay))
    .then(() => real(...asked)); }"""


@pytest.mark.parametrize("key", ["Escape", "Enter"])
def test_closed_suggestions_do_not_reappear(open_page: Open, demo: str, key: str) -> None:
    """Closed or chosen while the answer to the last letter is pending."""
    page = open_page(demo)
    page.locator("#q").press_sequentially("me")
    page.locator("#suggestions li").first.wait_for()
    page.evaluate(LATE, 300)
    page.keyboard.press("a")  # mean, measure
    page.wait_for_timeout(200)  # the request is sent
    if key == "Enter":
        page.keyboard.press("ArrowDown")
    page.keyboard.press(key)
    page.wait_for_timeout(600)
    assert page.locator("#suggestions").is_hidden()
    assert page.locator("#q").get_attribute("aria-expanded") == "false"


def test_closing_suggestions_keeps_the_preview(open_page: Open, demo: str) -> None:
    """Escape closes the suggestions, not the preview."""
    page = open_page(demo)
    page.locator("#q").press_sequentially("simil")
    page.locator("#suggestions li").first.wait_for()
    page.evaluate(LATE, 100)
    page.keyboard.insert_text(r"ar $\frac{1}{2}$")
    page.keyboard.press("Escape")
    page.locator("#preview mfrac").wait_for()


def test_everything_works_with_the_keyboard(open_page: Open, demo: str) -> None:
    """Search, move, open and close panels, open the article."""
    page = open_page(demo)
    page.keyboard.type("cosine similarity")  # the box has the focus
    page.keyboard.press("Enter")
    page.wait_for_url("**/?q=*")
    page.keyboard.press("j")
    page.keyboard.press("j")
    second = cards(page).nth(1)
    assert second.evaluate("node => node === document.activeElement")
    page.keyboard.press("k")
    for key, kind in (("s", "similar"), ("d", "describe"), ("w", "why"), ("l", "source")):
        page.keyboard.press(key)
        cards(page).first.locator(
            f":scope > .panel[data-kind={kind}] :not(.waiting)"
        ).first.wait_for()
    page.keyboard.press("Escape")
    assert cards(page).first.locator(".panel").count() == 0
    page.keyboard.press("Enter")
    page.wait_for_url("**/articles/cosine?equation=1#e1")
    page.go_back()
    page.keyboard.press("/")
    assert page.locator("#q").evaluate("node => node === document.activeElement")
    page.keyboard.press("Tab")
    page.keyboard.press("?")
    page.locator("dialog[open]").wait_for()
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0


def focused(page: Any) -> str:
    """The text of the focused element."""
    found: str = page.evaluate("document.activeElement.innerText.trim()")
    return found


def test_closing_a_panel_keeps_the_focus(open_page: Open, demo: str) -> None:
    """The focus returns to the link that opened the panel."""
    page = open_page(f"{demo}/?q=cosine+similarity")
    first = cards(page).first
    first.locator(":scope > .actions a", has_text="Similar").click()
    first.locator(".panel .card .source a").first.focus()
    page.keyboard.press("Escape")
    assert first.locator(".panel").count() == 0
    assert focused(page) == "Similar"
    page.keyboard.press("d")
    first.locator(".said .word").first.focus()
    page.keyboard.press("l")  # another panel instead
    assert focused(page) == "LaTeX"
    first.locator(".panel pre").first.focus()
    page.keyboard.press("j")
    assert cards(page).nth(1).evaluate("node => node === document.activeElement")


def test_only_wide_equations_are_focusable(open_page: Open, demo: str) -> None:
    """Tab stops at equations that can be scrolled; each has its own name."""
    address = f"{demo}/articles/cosine"
    ways = """() => [...document.querySelectorAll(".sheet")].map((node) =>
        [node.scrollWidth > node.clientWidth, node.tabIndex === 0])"""
    page = open_page(address)
    wide, narrow = page.evaluate(ways), open_page(address, viewport={"width": 300, "height": 700})
    assert not any(is_stop for _, is_stop in wide)
    assert [is_wide for is_wide, _ in narrow.evaluate(ways)].count(True) >= 1
    assert all(is_wide == is_stop for is_wide, is_stop in narrow.evaluate(ways))
    names = page.locator(".sheet").evaluate_all("all => all.map(n => n.ariaLabel)")
    assert len(set(names)) == len(names) == len(wide)
    assert names[0] == "Equation (1)"


def test_cards_made_by_the_script_name_their_equations(open_page: Open, demo: str) -> None:
    """Like those of the server; wide ones are focusable, too."""
    page = open_page(f"{demo}/?q=cosine+similarity", viewport={"width": 300, "height": 700})
    for link in cards(page).locator(":scope > .actions a[data-panel=similar]").all():
        link.click()
    sheets = page.locator(".panel .sheet")
    page.wait_for_function("document.querySelectorAll('.panel .sheet').length > 9")
    names = set(sheets.evaluate_all("all => all.map(n => n.ariaLabel)"))
    assert all(re.fullmatch(r"Equation (\(.+\)|no\. \d+)", name) for name in names)
    ways = sheets.evaluate_all("all => all.map(n => [n.scrollWidth > n.clientWidth, n.tabIndex])")
    assert {tuple(way) for way in ways} == {(True, 0), (False, -1)}


def test_an_equation_highlights_its_window(open_page: Open, demo: str) -> None:
    """By a click, which changes the URL, and by that URL."""
    page = open_page(f"{demo}/articles/cosine")
    assert page.locator(".w.on").count() == 0
    page.locator("#e2 .formula").click()
    assert page.locator(".w.on").count() == 16
    assert page.url.endswith("?equation=2#e2")
    assert "square" in page.locator(".w.on").all_inner_texts()
    other = open_page(page.url)
    assert other.locator(".w.on").count() == 16
    page.locator("#e3").get_by_role("link", name="Window", exact=True).click()
    assert "?equation=3" in page.url
    page.locator("#e3 .formula").click()
    assert page.locator(".w.on").count() == 0
    assert page.url.endswith("/articles/cosine")


def test_ctrl_click_opens_a_new_tab(open_page: Open, demo: str) -> None:
    """The script leaves such clicks to the browser."""
    page = open_page(f"{demo}/articles/cosine")
    page.locator("#e2").hover()
    with page.context.expect_page() as opened:
        page.locator("#e2").get_by_role("link", name="Window", exact=True).click(
            modifiers=["Control"]
        )
    opened.value.wait_for_url("**/articles/cosine?equation=2#e2")
    assert page.locator(".w.on").count() == 0


def test_urls_contain_the_state(open_page: Open, demo: str) -> None:
    """Filters, pages and equations."""
    page = open_page(f"{demo}/?q=cosine&article=cosine&numbered=true")
    assert set(cards(page).evaluate_all("all => all.map(c => c.dataset.id.split('#')[0])")) == {
        "cosine"
    }
    assert page.locator("details.limits").get_attribute("open") is not None
    page = open_page(f"{demo}/?q=model&page=2")
    assert cards(page).first.locator(".rank").inner_text() == "11"
    page.get_by_role("link", name="Previous").click()
    page.wait_for_url("**/?q=model")
    page = open_page(f"{demo}/equation?name=cosine%231")
    assert page.locator("#similar .card").count() >= 3
    assert r"\cos" in page.locator("#source code").first.inner_text()


def test_filters_can_be_typed(open_page: Open, demo: str) -> None:
    """Empty fields are left out of the URL."""
    page = open_page(f"{demo}/?q=cosine")
    page.locator("details.limits summary").click()
    page.fill("input[name=section]", "vectors")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?q=cosine&section=vectors")
    assert cards(page).count()


def test_fragments_have_separate_fields(open_page: Open, demo: str) -> None:
    """One for each required fragment, and an empty one."""
    page = open_page(f"{demo}/?q=cosine&has=%5Ccdot&has=%5Cfrac%7Ba%7D%7Bb%7D")
    fields = page.locator("input[name=has]")
    assert fields.evaluate_all("all => all.map(n => n.value)") == [r"\cdot", r"\frac{a}{b}", ""]
    fields.last.fill(r"\cos")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?q=cosine&has=%5Ccdot&has=%5Cfrac%7Ba%7D%7Bb%7D&has=%5Ccos")
    assert fields.count() == 4


def test_fields_stay_enabled_if_a_search_is_cancelled(open_page: Open, demo: str) -> None:
    """Empty fields are disabled only during submission."""
    page = open_page(f"{demo}/?q=cosine")
    page.evaluate("document.addEventListener('submit', (event) => event.preventDefault())")
    page.locator("#q").press("Enter")
    page.wait_for_timeout(100)
    assert page.locator("form :disabled").count() == 0


def test_an_article_can_be_searched(open_page: Open, demo: str) -> None:
    """The link on its page sets the filter."""
    page = open_page(f"{demo}/articles/bm25")
    page.get_by_role("link", name="Search this article").click()
    page.wait_for_url("**/?article=bm25")  # with its scripts
    page.fill("#q", "frequency")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?q=frequency&article=bm25")
    assert cards(page).count()


def test_latex_can_be_copied(open_page: Open, demo: str) -> None:
    """To the clipboard."""
    settings = {"permissions": ["clipboard-read", "clipboard-write"]}
    page = open_page(f"{demo}/?q=cosine+similarity", **settings)
    cards(page).first.locator(".actions a", has_text="LaTeX").click()
    cards(page).first.get_by_role("button", name="Copy").first.click()
    cards(page).first.get_by_role("button", name="Copied").wait_for()
    assert r"\cos(\mathbf{x}" in page.evaluate("navigator.clipboard.readText()")
    assert r"\cos(\vect{x}" in cards(page).first.locator(".copied").nth(1).inner_text()
    assert "@misc{cosine-1" in cards(page).first.locator(".copied").last.inner_text()


def test_shared_symbols_are_highlighted(open_page: Open, learned: str) -> None:
    """In the panel that explains a match."""
    page = open_page(f"{learned}/?q=angles%231")
    second = cards(page).nth(1)
    second.locator(".actions a", has_text="Why").click()
    second.locator(".panel .eqemb-mark").first.wait_for()
    assert "x → a" in second.locator(".panel").inner_text()


def test_the_model_has_a_page(open_page: Open, learned: str) -> None:
    """And the results link to related words."""
    page = open_page(learned)
    page.get_by_role("link", name="Model").click()
    page.get_by_role("heading", name="Model", exact=True).wait_for()
    page.goto(f"{learned}/?q=recall")
    page.locator(".note").get_by_role("link", name="recall").click()
    assert "precision" in page.locator(".said").inner_text()


def test_misspelt_words_are_repaired(open_page: Open, demo: str) -> None:
    """And the page says so."""
    page = open_page(f"{demo}/?q=csine")
    assert "howing results for words: cosine" in page.locator("main").inner_text()
    assert cards(page).count()


#: Replacements of fetch: no connection; a proxy without JSON; two errors of the API.
OFFLINE = "async () => { throw new TypeError('Failed to fetch'); }"
PROXY = "async () => new Response('Service Unavailable', { status: 503 })"
MISSING = "async () => new Response(JSON.stringify({ error: 'did you mean x?' }), { status: 404 })"
BUSY = "async () => new Response(JSON.stringify({ error: 'too much at once' }), { status: 503 })"


@pytest.mark.parametrize(
    ("fetch", "message"),
    [(OFFLINE, "The server does not respond."), (PROXY, "The server does not respond."),
     (BUSY, "Too much at once."), (MISSING, "Did you mean x?")],
)  # fmt: skip
def test_failed_requests_are_reported(open_page: Open, demo: str, fetch: str, message: str) -> None:
    """With a sentence of ours, not the message of the browser."""
    page = open_page(f"{demo}/?q=cosine")
    page.evaluate(f"() => {{ window.fetch = {fetch}; }}")
    cards(page).first.locator(".actions a", has_text="Similar").click()
    note = cards(page).first.locator(".panel .note")
    note.wait_for()
    assert note.inner_text() == message


# ------------------------------------------------------------ the map


def test_a_map_without_a_server_reports_it(open_page: Open, learned: str) -> None:
    """Below the canvas; the caption stays last."""
    page = open_page(learned)
    page.add_init_script(f"window.fetch = {OFFLINE}")
    page.goto(f"{learned}/map")
    page.locator("#map [role=alert]").wait_for()
    assert page.locator("#map [role=alert]").inner_text() == "The server does not respond."
    assert page.evaluate("document.querySelector('#map').lastElementChild.tagName") == "FIGCAPTION"


def points_of(page: Any) -> dict[str, tuple[float, float]]:
    """The screen positions of the points by equation, while the whole map is visible."""
    found: dict[str, tuple[float, float]] = page.evaluate(
        """async () => {
        const told = await (await fetch("/v1/map")).json();
        const read = (text, Kind) => new Kind(Uint8Array.from(atob(text),
          (char) => char.charCodeAt(0)).buffer);
        const at = { x: [...read(told.x, Uint16Array)], y: [...read(told.y, Uint16Array)] };
        const box = document.querySelector("#map canvas").getBoundingClientRect();
        const low = (axis) => Math.min(...at[axis]), high = (axis) => Math.max(...at[axis]);
        const scale = 0.92 * Math.min(box.width / (high("x") - low("x")),
          box.height / (high("y") - low("y")));
        return Object.fromEntries([...read(told.equation, Uint32Array)].map((place, point) => {
          const [name, first] = told.articles.findLast(([_, first]) => first <= place);
          return [`${name}#${place - first + 1}`, ["x", "y"].map((axis) =>
            (at[axis][point] - (low(axis) + high(axis)) / 2) * scale +
            (axis === "x" ? box.left + box.width / 2 : box.top + box.height / 2))];
        }));
        }"""
    )
    return found


def open_map(open_page: Open, base: str, query: str = "", **settings: Any) -> Any:
    """The map page, once it is drawn."""
    page = open_page(f"{base}/map{query}", **settings)
    page.locator("#map[data-ready]").wait_for()
    return page


def seen(page: Any) -> list[int]:
    """The map as a small image."""
    page.wait_for_timeout(200)
    small: list[int] = page.evaluate(
        """() => { const small = new OffscreenCanvas(240, 120).getContext("2d");
        small.drawImage(document.querySelector("#map canvas"), 0, 0, 240, 120);
        return [...small.getImageData(0, 0, 240, 120).data]
          .filter((_, at) => at % 4 === 0); }"""
    )
    return small


def test_the_map_shows_the_equation_under_the_pointer(open_page: Open, learned: str) -> None:
    """As mathematics; a click opens it. A position without points shows nothing."""
    page = open_page(learned)
    page.get_by_role("link", name="Map", exact=True).click()
    page.locator("#map[data-ready]").wait_for()
    x, y = points_of(page)["angles#1"]
    page.mouse.move(x, y)
    shown = page.locator("#map .shown")
    shown.locator("mfrac").wait_for()
    assert "alert(1)" in shown.inner_text()  # the title, as text
    page.mouse.move(x - 200, y)
    shown.wait_for(state="hidden")
    page.mouse.click(x, y)
    page.wait_for_url("**/equation?name=angles%231")
    page.go_back()
    page.locator("#map[data-ready]").wait_for()


def test_the_map_can_be_moved(open_page: Open, learned: str) -> None:
    """By dragging, the wheel, buttons and keys; the URL restores the view."""
    page = open_map(open_page, learned)
    box = page.locator("#map canvas").bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*points_of(page)["angles#1"])
    page.mouse.down()
    page.mouse.move(*middle, steps=4)
    page.mouse.up()
    page.wait_for_url(re.compile(r"/map#0\.9\d+,0\.5\d+,1\.0+$"))
    page.mouse.wheel(0, -500)
    page.wait_for_url(re.compile(r",2\.7\d+$"))
    page.get_by_role("button", name="Zoom in").click()
    page.wait_for_url(re.compile(r",4\.0\d+$"))
    other = open_map(open_page, learned, page.url.partition("/map")[2])
    there = seen(page)
    assert max(there) - min(there) > 60
    assert max(abs(one - two) for one, two in zip(there, seen(other), strict=True)) < 60
    page.get_by_role("button", name="Show all").click()
    page.wait_for_url(re.compile(r",1\.0+$"))
    assert max(abs(one - two) for one, two in zip(there, seen(page), strict=True)) > 60


def test_the_map_works_with_the_keyboard(open_page: Open, learned: str) -> None:
    """Move until an equation is in the centre, show it, open it."""
    page = open_map(open_page, learned)
    page.locator("#map canvas").focus()
    page.keyboard.press("+")
    for _ in range(15):
        page.keyboard.press("ArrowLeft")
    page.locator("#map .shown math").wait_for()
    page.keyboard.press("Escape")
    page.locator("#map .shown").wait_for(state="hidden")
    page.keyboard.press("ArrowLeft")
    page.locator("#map .shown math").wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**/equation?name=again%23*")


def test_the_first_tap_shows_and_the_second_opens(open_page: Open, learned: str) -> None:
    """On touch screens, which have no hover."""
    size = {"width": 390, "height": 760}
    page = open_map(open_page, learned, has_touch=True, viewport=size)
    x, y = points_of(page)["angles#1"]
    page.touchscreen.tap(x, y)
    page.locator("#map .shown math").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    page.touchscreen.tap(x, y)
    page.wait_for_url("**/equation?name=angles%231")


def test_a_query_highlights_its_points(open_page: Open, learned: str) -> None:
    """In the accent colour, only the points of its hits; the hits are listed, too."""
    page = open_map(open_page, learned)
    page.fill("#q", "cosine")
    page.keyboard.press("Enter")
    page.wait_for_url("**/map?q=cosine")
    page.locator("#map[data-ready]").wait_for()
    page.wait_for_timeout(200)
    assert "highlighted for cosine" in page.locator("#map canvas").get_attribute("aria-label")
    reds = page.evaluate(
        """(places) => { const canvas = document.querySelector("#map canvas");
        const box = canvas.getBoundingClientRect(), pen = canvas.getContext("2d");
        return Object.fromEntries(Object.entries(places).map(([name, [x, y]]) => {
          const [red, green] = pen.getImageData(x - box.left, y - box.top, 1, 1).data;
          return [name, red - green]; })); }""",
        points_of(page),
    )
    assert reds["angles#1"] > 40 or reds["documents#1"] > 40
    assert reds["again#2"] < 20
    assert page.locator("section .card").count() >= 1


def test_the_map_is_also_a_list(open_page: Open, learned: str) -> None:
    """For screen readers, and without JavaScript."""
    page = open_page(f"{learned}/map", java_script_enabled=False)
    page.locator("summary", has_text="list").click()
    page.locator(".regions a").first.click()
    page.wait_for_url("**/?q=*")
    assert cards(page).count()


# ------------------------------------------------------------ layout, accessibility and size


@pytest.mark.parametrize("path", ["/", "/?q=cosine+similarity", "/articles/cosine", "/docs",
                                  "/equation?name=cosine%231", "/report", "/articles",
                                  "/map"])  # fmt: skip
def test_narrow_screens_do_not_scroll_sideways(open_page: Open, demo: str, path: str) -> None:
    """Wide content scrolls within its own frame."""
    page = open_page(demo + path, viewport={"width": 340, "height": 700})
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/?q=cosine+similarity", "/articles/cosine?equation=2",
                                  "/equation?name=cosine%231", "/report", "/docs",
                                  "/map?q=cosine"])  # fmt: skip
def test_text_has_enough_contrast(open_page: Open, demo: str, path: str, scheme: str) -> None:
    """At least 4.5 between text and background."""
    page = open_page(demo + path, color_scheme=scheme)
    if cards(page).count():
        cards(page).first.locator(".actions a", has_text="Describe").click()
        page.locator(".panel .said li").first.wait_for()
    pairs = page.evaluate(
        """() => [...document.querySelectorAll("main *, header *, footer *")]
        .filter((node) => [...node.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
        .filter((node) => node.checkVisibility())
        .map((node) => {
          let back = node;
          while (getComputedStyle(back).backgroundColor === "rgba(0, 0, 0, 0)" &&
            back.parentElement) back = back.parentElement;
          const style = getComputedStyle(back);
          return [getComputedStyle(node).color, style.backgroundColor, node.className.toString()];
        })"""
    )
    assert len(pairs) > 30
    low = {pair[2] for pair in pairs if _contrast(pair[0], pair[1]) < 4.5}
    assert not low


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_form_fields_have_enough_contrast(open_page: Open, demo: str, scheme: str) -> None:
    """At least 3 between a border and both of its sides."""
    page = open_page(f"{demo}/?q=cosine&article=cosine", color_scheme=scheme)
    edges = page.evaluate(
        """() => [...document.querySelectorAll(".box, .fields input, .fields select")]
        .filter((node) => node.type !== "checkbox")
        .map((node) => { const style = getComputedStyle(node);
          return [style.borderBottomColor, style.backgroundColor,
            getComputedStyle(document.documentElement).backgroundColor]; })"""
    )
    assert len(edges) > 4
    for edge, inside, outside in edges:
        assert _contrast(edge, outside) >= 3
        assert inside == "rgba(0, 0, 0, 0)" or _contrast(edge, inside) >= 3


@pytest.mark.parametrize("path", ["/articles/cosine", "/equation?name=cosine%231", "/?q=cosne",
                                  "/articles"])  # fmt: skip
def test_links_in_text_are_underlined(open_page: Open, demo: str, path: str) -> None:
    """Colour alone does not distinguish them from text."""
    page = open_page(demo + path)
    links = page.locator(".about a, .said cite a, .note a, .lead a, .source a, .titles a")
    lines = links.evaluate_all("all => all.map(n => getComputedStyle(n).textDecorationLine)")
    assert set(lines) == {"underline"}


def _contrast(one: str, other: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("path", ["/", "/?q=cosine", "/articles/cosine", "/docs", "/articles",
                                  "/map?q=cosine"])  # fmt: skip
def test_controls_have_names(open_page: Open, demo: str, path: str) -> None:
    """Links, buttons and fields; Tab moves the focus; heading levels have no gaps."""
    page = open_page(demo + path)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("a, button, input, select, summary, [role=group]")]
        .filter((node) => node.checkVisibility() && !(node.textContent.trim() ||
          node.getAttribute("aria-label") || (node.labels && node.labels.length)))
        .map((node) => node.outerHTML)"""
    )
    assert not nameless
    levels = page.evaluate(
        """() => [...document.querySelectorAll("h1,h2,h3")].map((n) => Number(n.tagName[1]))"""
    )
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert page.evaluate("document.documentElement.lang") == "en"
    page.locator("body").press("Tab")
    assert page.evaluate("document.activeElement !== document.body")


@pytest.mark.skipif("EQEMB_AXE" not in os.environ, reason="EQEMB_AXE does not name an axe.min.js")
@pytest.mark.parametrize(("scheme", "width"), [("light", 1100), ("dark", 340)])
@pytest.mark.parametrize("path", ["/", "/?q=cosine+similarity", "/?q=zzyzx", "/articles/cosine",
                                  "/equation?name=cosine%231", "/report", "/docs", "/map?q=cosine",
                                  "/articles", "/why?query=cosine&equation=cosine%231",
                                  "/?q=cosine&has=%5Ccdot"])  # fmt: skip
def test_axe_finds_no_serious_violations(
    open_page: Open, demo: str, path: str, scheme: str, width: int
) -> None:
    """With the panels of the cards open."""
    size = {"width": width, "height": 760}
    page = open_page(demo + path, bypass_csp=True, color_scheme=scheme, viewport=size)
    for at, kind in enumerate(("similar", "describe", "why", "source")):
        link = cards(page).nth(at).locator(f":scope > .actions a[data-panel={kind}]")
        if link.count():
            link.click()
            cards(page).nth(at).locator(":scope > .panel > :not(.waiting)").first.wait_for()
    page.evaluate(Path(os.environ["EQEMB_AXE"]).read_text("utf-8"))
    found = page.evaluate("axe.run()")["violations"]
    assert not [each["id"] for each in found if each["impact"] in ("serious", "critical")]


def test_pages_work_without_javascript(open_page: Open, demo: str) -> None:
    """Results and links; controls that need the script are hidden."""
    page = open_page(f"{demo}/?q=cosine+similarity", java_script_enabled=False)
    assert cards(page).count() == 10
    assert page.locator("#keys").is_hidden()
    cards(page).first.locator(".actions a", has_text="Describe").click()
    page.wait_for_url("**/?q=cosine+similarity&open=describe%3Acosine%231#hit-1")
    assert cards(page).first.locator(".panel .said li").count() == 8
    cards(page).first.locator(".whole").click()
    page.wait_for_url("**/equation?name=cosine%231")
    assert page.locator("#describe .said li").count() == 8


def test_the_home_page_is_small(open_page: Open, demo: str) -> None:
    """Less than 200 kB with everything it loads."""
    page = open_page(demo)
    loaded = page.evaluate(
        """() => ["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind))
        .map((entry) => [new URL(entry.name).pathname, entry.decodedBodySize])"""
    )
    assert {"/", "/static/style.css", "/static/page.js"} <= {name for name, _ in loaded}
    assert all(size for _, size in loaded)
    assert sum(size for _, size in loaded) < 200_000


def test_hostile_papers_run_no_scripts(open_page: Open, hostile: str) -> None:
    """Their tags are shown as text, also in panels made by the script."""
    page = open_page(f"{hostile}/?q=weight")
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    assert "<script>alert(1)</script>" in cards(page).first.inner_text()
    for name in ("Similar", "Describe", "Why", "LaTeX"):
        cards(page).first.locator(":scope > .actions a", has_text=name).click()
        page.locator(".panel > :not(.waiting)").first.wait_for()
    page.goto(f"{hostile}/articles/evil?equation=1")
    assert "</p><script>alert(4)</script>" in page.locator(".text").inner_text()
    assert page.locator("main img, main script, main svg").count() == 0
