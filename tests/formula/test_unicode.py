"""Equations in a terminal."""

import pytest

from eqemb.formula import Layout, layout, picture


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        ("x^2 + y_1 = 0", "x² + y₁ = 0"),
        (r"\frac{a}{b}", "a/b"),
        (r"\frac{a+b}{c}", "(a + b)/c"),
        (r"\sqrt{x}", "√x"),
        (r"\sqrt{x+1}", "√(x + 1)"),
        (r"\binom{n+1}{k}", "(n + 1 choose k)"),
        (r"{i<n \atop j}", "i < n, j"),
        (r"\sqrt[3]{x}", "∛x"),
        (r"\sqrt[4]{x+1}", "∜(x + 1)"),
        (r"\root n \of x", "ⁿ√x"),
        (r"a\sqrt[n]{x}", "a ⁿ√x"),
        (r"a\sqrt[3]{x}", "a∛x"),
        (r"\log \sqrt[n+\alpha]{x}", "log ^(n + α)√x"),
        (r"\sum_{i=1}^n x_i", "∑ᵢ₌₁ⁿxᵢ"),
        (r"x^{\alpha+1}", "x^(α + 1)"),
        (r"\hat{x}", "x̂"),
        ("f(x, y)", "f(x, y)"),
        (r"\log p", "log p"),
        (r"\log(p)", "log(p)"),
        (r"\text{if } x > 0", "if x > 0"),
        (r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}", "(a, b; c, d)"),
        ("{a+b}^2", "(a + b)²"),
        (r"|x|,", "|x|,"),
        ("-x", "−x"),
        (r"{}_2F", "₂F"),
    ],
)
def test_a_line_of_text(latex: str, text: str) -> None:
    """Scripts in Unicode where they exist, brackets elsewhere."""
    assert layout(latex).to_text() == text


def test_the_picture_goes_down_the_baseline_and_right_for_the_rest() -> None:
    """As `eqemb units` prints it."""
    assert picture(layout(r"\frac{a}{b_1}+c")) == (
        "O!divide\n  ├o─ V!a\n  └u─ V!b\n        └b─ N!1\n+\nV!c"
    )


def test_cells_stand_below_each_other() -> None:
    """A large matrix would be too wide otherwise."""
    lines = picture(layout(r"\begin{matrix} a & b & c & d \end{matrix}")).splitlines()
    assert lines == ["M!1x4", "  └w─ V!a", "      e─ V!b", "      e─ V!c", "      e─ V!d"]


def test_an_empty_tree_has_no_picture() -> None:
    """It is the empty string."""
    assert picture(Layout(None)) == ""


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"a\frac{b+c}{d}", "a((b + c)/d)"),
        (r"\frac12 x", "(1/2)x"),
        (r"\log\frac{p}{1-p}", "log(p/(1 − p))"),
        (r"y = \frac{a}{b} + c", "y = a/b + c"),
    ],
)
def test_fractions_beside_symbols_are_bracketed(latex: str, text: str) -> None:
    """On one line, a fraction must not absorb its neighbours."""
    assert layout(latex).to_text() == text


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"V &= W_v X + b_v \\ K &= W_k X", "V = WᵥX + bᵥ; K = WₖX"),
        (r"a &= b \\ &= c", "a = b = c"),
        (r"a = b + \\ c", "a = b + c"),
        (r"a &= b, \\ c &= d.", "a = b, c = d."),
        (r"a &= b \\ , c &= d.", "a = b, c = d."),
        (r"a &= b. \\ c &= d", "a = b. c = d"),
        (r"a &= b; \\ c &= d", "a = b; c = d"),
        (r"\min_x f(x) \\ \text{subject to } x > 0", "minₓ f(x); subject to x > 0"),
        (r"f = \sum_i x_i \\ \left( y + z \right)", "f = ∑ᵢxᵢ (y + z)"),
        (r"\begin{aligned} a &= b \\ c &= d \end{aligned}", "a = b; c = d"),
        (r"\begin{split} a &= b \\ c &= d \\ \end{split}", "a = b; c = d"),
    ],
)
def test_rows_of_a_display_do_not_run_together(latex: str, text: str) -> None:
    """A row that continues the previous one is not separated from it."""
    assert layout(latex).to_text() == text


def test_marked_symbols_stand_between_signs() -> None:
    """Adjacent marked symbols share one pair of brackets; scripts and accents are unchanged."""
    made = layout(r"\hat x_i^2+\sqrt{a}")
    tags = [node.tag for node in made.nodes()]
    wanted = {tags.index("V!x"), tags.index("V!i"), tags.index("+")}
    assert made.to_text(mark=wanted) == "⟦x̂ᵢ⟧² ⟦+⟧ √a"
    assert made.to_text(mark=wanted, around=("<", ">")) == "<x̂ᵢ>² <+> √a"


@pytest.mark.parametrize(
    "latex", [r"\frac{x \cdot y}{\|x\|}", r"a_{i,j}^{T}", r"\sum_{k=1}^n k", r"a &= b \\ c &= d"]
)
def test_marks_change_nothing_else(latex: str) -> None:
    """Without the brackets the line is the same."""
    made = layout(latex)
    shown = made.to_text(mark=range(len(made.nodes())), around=("⟦", "⟧"))
    assert shown != made.to_text()
    assert shown.replace("⟦", "").replace("⟧", "") == made.to_text()
