"""The search box in a browser: suggestions, completion of LaTeX, the palette and the preview."""

import os
from pathlib import Path
from typing import Any

import pytest

from server.browsers import IN_BROWSER, Open, cards

pytestmark = IN_BROWSER
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


def state(page: Any) -> tuple[str, int]:
    """The text of the search box, and where its caret is."""
    found = page.evaluate("[document.getElementById('q').value, document.getElementById('q')"
                          ".selectionStart]")  # fmt: skip
    return found[0], found[1]


@pytest.mark.parametrize(
    ("typed", "keys", "text", "rest"),
    [
        (r"$\fr", ["ArrowDown", "Enter"], r"$\frac{}{}", "}{}"),
        (r"norm $\sq", ["Tab"], r"norm $\sqrt{}", "}"),
        (r"\su", ["Tab"], r"\sum_{}^{}", "}^{}"),
        (r"$\Del", ["Tab"], r"$\Delta", ""),
        (r"$\begin", ["ArrowDown", "Enter"], r"$\begin{cases} {} \end{cases}", "} \\end{cases}"),
    ],
)
def test_commands_are_completed(
    open_page: Open, demo: str, typed: str, keys: list[str], text: str, rest: str
) -> None:
    """By arrow keys and Enter, or by Tab; the caret is inside the first braces."""
    page = open_page(demo)
    page.keyboard.type(typed)
    page.locator("#suggestions.latex li").first.wait_for()
    for key in keys:
        page.keyboard.press(key)
    assert state(page) == (text, len(text) - len(rest))
    assert page.locator("#suggestions").is_hidden()
    assert page.evaluate("document.activeElement.id") == "q"


def test_tab_leaves_the_box_if_no_command_is_offered(open_page: Open, demo: str) -> None:
    """Escape closes the suggestions, so that Tab is free again."""
    page = open_page(demo)
    page.keyboard.type(r"$\fr")
    page.locator("#suggestions.latex li").first.wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") != "q"
    assert state(page)[0] == r"$\fr"


def test_completed_text_after_the_caret_stays(open_page: Open, demo: str) -> None:
    """A command is separated from the letter behind it."""
    page = open_page(demo)
    page.keyboard.type("$x$")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.type(r"\alph")
    page.locator("#suggestions.latex li").first.wait_for()
    page.keyboard.press("Tab")
    assert state(page)[0] == r"$\alpha x$"


def test_a_formula_is_previewed_while_its_dollar_is_open(open_page: Open, demo: str) -> None:
    """With its words, and with boxes for what is missing; nothing complains."""
    page = open_page(demo)
    page.keyboard.type(r"cosine $\frac{a}{")
    # Its numerator is awaited too: a preview of what was typed halfway has two boxes.
    page.locator("#preview mfrac", has_text="a").locator(".slot").wait_for()
    assert page.locator("#preview span").inner_text() == "cosine"
    assert page.locator("#preview .note").count() == 0
    page.keyboard.type(r"b}$ and $\fr")
    page.locator("#suggestions.latex li").first.wait_for()
    page.locator("#preview mfrac:not(:has(.slot))").wait_for()
    assert "fr" not in (page.locator("#preview").text_content() or "")


def test_words_alone_are_not_previewed(open_page: Open, demo: str) -> None:
    """The box shows them already."""
    page = open_page(demo)
    page.keyboard.type("cosine")
    page.wait_for_timeout(400)
    assert page.locator("#preview").is_hidden()


def test_the_palette_is_used_by_keyboard(open_page: Open, demo: str) -> None:
    """It is hidden until wanted and one stop for Tab; Escape closes it."""
    page = open_page(demo)
    assert page.locator("#palette button").first.is_hidden()
    page.locator("#palette summary").press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.title") == "Fraction"
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.title") == "Square root"
    page.keyboard.press("Enter")
    assert state(page) == (r"$\sqrt{}$", 7)
    page.keyboard.type("x")
    page.locator("#preview msqrt").wait_for()
    page.locator("#palette button[title='Square root']").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.signs')") is None
    page.locator("#palette button[title='Square root']").press("End")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.title") == "Fraction"
    page.keyboard.press("Escape")
    assert page.locator("#palette button").first.is_hidden()
    assert page.evaluate("document.activeElement.id") == "q"


@pytest.mark.parametrize(
    ("typed", "text"),
    [("", r"$\sum_{}^{}$"), ("loss", r"loss $\sum_{}^{}$"), ("$x = ", r"$x = \sum_{}^{}"),
     (r"\frac{a}{b} ", r"\frac{a}{b} \sum_{}^{}")],
)  # fmt: skip
def test_the_palette_inserts_between_dollars(
    open_page: Open, demo: str, typed: str, text: str
) -> None:
    """Unless the caret is in a formula already."""
    page = open_page(demo)
    page.keyboard.type(typed)
    if "\\" in typed:  # what is below the preview moves when it appears
        page.locator("#preview mfrac mi", has_text="b").wait_for()
    page.locator("#palette summary").click()
    page.locator("#palette button[title=Sum]").click()
    assert state(page) == (text, text.index("{}", text.index(r"\sum")) + 1)


def test_suggestions_close_after_a_click_below_them(open_page: Open, demo: str) -> None:
    """Not while the button is pressed: what is below would move away from the pointer."""
    page = open_page(demo)
    page.keyboard.type("co")
    page.locator("#suggestions li").first.wait_for()
    page.locator("#palette summary").hover()
    page.mouse.down()
    assert page.locator("#suggestions").is_visible()
    page.mouse.up()
    page.locator("#palette button[title=Sum]").wait_for()
    page.locator("#suggestions").wait_for(state="hidden")


def test_the_palette_takes_the_selection(open_page: Open, demo: str) -> None:
    """As its first argument."""
    page = open_page(demo)
    page.keyboard.type("$x$")
    page.evaluate("document.getElementById('q').setSelectionRange(1, 2)")
    page.locator("#palette summary").click()
    page.locator("#palette button[title=Hat]").click()
    assert state(page) == (r"$\hat{x}$", 8)


def test_suggestions_are_words_not_stems(open_page: Open, demo: str) -> None:
    """The word that is written most, one of its inflected forms, and other words beside it."""
    page = open_page(demo)
    page.keyboard.type("simil")
    page.locator("#suggestions li").first.wait_for()
    words = page.locator("#suggestions li").all_inner_texts()
    assert words[0] == "similarity"
    assert "similar" in words
    assert "similarities" not in words


def test_examples_have_good_answers(open_page: Open, demo: str) -> None:
    """Three questions, the last in LaTeX, all of the library; the same for everyone."""
    page = open_page(demo)
    links = page.locator(".examples a")
    asked = links.all_inner_texts()
    assert len(asked) == len(set(asked)) == 3
    assert asked[2].startswith("$")
    for at, question in enumerate(asked):
        page.goto(demo)
        links.nth(at).click()
        page.locator("main > ol.hits").first.wait_for()
        assert page.locator("#q").input_value() == question
        assert cards(page).count() >= 3
        assert page.locator(".empty").count() == 0


def test_the_box_fits_a_phone(open_page: Open, demo: str) -> None:
    """With the palette open and a wide preview, nothing but the preview scrolls sideways."""
    page = open_page(demo, **PHONE)
    page.locator("#palette summary").tap()
    page.locator("#q").fill(r"$" + " + ".join(rf"\frac{{a_{n}}}{{b_{n}}}" for n in range(20)) + "$")
    page.locator("#preview mfrac").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    sizes = page.eval_on_selector_all(
        "#palette button", "all => all.map((b) => [b.offsetWidth, b.offsetHeight])"
    )
    assert min(min(pair) for pair in sizes) >= 44


@pytest.mark.skipif("EQEMB_AXE" not in os.environ, reason="EQEMB_AXE names no axe.min.js")
@pytest.mark.parametrize("typed", [r"softmax $\fr", r"$\frac{a}{b"])
def test_the_box_is_accessible(open_page: Open, demo: str, typed: str) -> None:
    """With suggestions, preview and palette."""
    page = open_page(demo)
    page.locator("#palette summary").click()
    page.locator("#q").press_sequentially(typed)
    page.locator("#suggestions li, #preview math").first.wait_for()
    page.evaluate(Path(os.environ["EQEMB_AXE"]).read_text("utf-8"))
    found = page.evaluate("axe.run()")["violations"]
    assert not [each["id"] for each in found if each["impact"] in ("serious", "critical")]
