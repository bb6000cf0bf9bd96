"""Unicode and ASCII mathematics are read as LaTeX, and what is printed can be pasted back."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqemb.formula import layout
from eqemb.formula.read_unicode import read_unicode
from eqemb.formula.typed import nearest_command, read_typed


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("∑ᵢ₌₁ⁿ xᵢ²", r"\sum_{i=1}^{n} x_{i}^{2}"),
        ("√(a+b)", r"\sqrt{a+b}"),
        ("∛x + ⁿ√y", r"\sqrt[3]{x} + \sqrt[n]{y}"),
        ("√dₖ", r"\sqrt{d_{k}}"),
        ("∂L/∂w", r"\frac{\partial L}{\partial w}"),
        ("∂²f/∂x∂y", r"\frac{\partial^{2}f}{\partial x\partial y}"),
        ("ŷ", r"\hat{y}"),
        ("𝐱ᵀ𝐲", r"\mathbf{x}^{T}\mathbf{y}"),
        ("x ≤ y", r"x \le y"),
        ("x <= y", r"x \leq y"),
        ("F = 2PR/(P+R)", r"F = \frac{2PR}{P+R}"),
        ("p(x)/q(x)", r"\frac{p(x)}{q(x)}"),
        ("|x|/‖y‖² + 1", r"\frac{|x|}{\|y\|^{2}} + 1"),
        ("log(a/b)", r"\log\frac{a}{b}"),
        ("x^(i+1)", "x^{i+1}"),
        ("x**2", "x^{2}"),
        ("x_ij + w_out", r"x_{ij} + w_{\text{out}}"),
        ("sqrt(x) * alpha", r"\sqrt{x} * \alpha"),
        ("softmax(Wx)", r"\mathrm{softmax}(Wx)"),
        ("(n choose k)", r"{n \choose k}"),
        ("w* + x′", "w^{*} + x'"),
        ("{[a, if x; b, otherwise]", r"\begin{cases}a & \text{if} x \\ b & \text{otherwise}\end{cases}"),  # noqa: E501
        ("[a, b; c, d]", r"\begin{bmatrix}a & b \\ c & d\end{bmatrix}"),
        ("p(x, y; θ)", r"p(x, y; \theta)"),
        ("exp(eᵢ) / ∑ⱼ exp(eⱼ)", r"\frac{\exp(e_{i})}{\sum_{j}\exp(e_{j})}"),
        ("a / ∑ⱼ bⱼ² + 1", r"\frac{a}{\sum_{j}b_{j}^{2}} + 1"),
        ("1/∑ᵢ∏ⱼ√aᵢⱼ b", r"\frac{1}{\sum_{i}\prod_{j}\sqrt{a_{ij}}} b"),
        ("1/∑ⱼ |xⱼ| = y", r"\frac{1}{\sum_{j}|x_{j}|} = y"),
        ("1/∫₀¹ f(x) dx − 2", r"\frac{1}{\int_{0}^{1}f(x) dx} − 2"),
        ("1/-x", "1/-x"),
        ("e^xᵢ + e^-yⱼ²", "e^{x_{i}} + e^{-y_{j}^{2}}"),
        ("e^x_i + x^Tᵢ + x^2ᵢ", "e^{x}_{i} + x^{T}_{i} + x^{2}_{i}"),
        ("D_KL(P‖Q)", r"D_{KL}(P\|Q)"),
        ("A_HZ_k + B_HZₖ", "A_{H}Z_{k} + B_{H}Z_{k}"),
        ("L_CE + x^AB", "L_{CE} + x^{A}B"),
        ("((x", "((x"),
        (")", ")"),
    ],
)  # fmt: skip
def test_unicode_becomes_latex(text: str, latex: str) -> None:
    """Scripts, roots, fractions, accents, alphabets, words and tables."""
    made = read_unicode(text)
    assert layout(made) == layout(latex)
    assert made.replace(" ", "") == latex.replace(" ", "")


LETTERS = [
    *"abcnpqxyzABFKPRX",
    r"\alpha",
    r"\theta",
    r"\mathbf{x}",
    r"\mathcal{L}",
    r"\hat{y}",
    "2",
]


def formulas() -> st.SearchStrategy[str]:
    """Formulas whose printed form has one reading."""
    letter = st.sampled_from(LETTERS)

    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        pair = st.tuples(inner, inner)
        return st.one_of(
            pair.map(lambda two: f"{two[0]} + {two[1]}"),
            pair.map(lambda two: f"{two[0]} = {two[1]}"),
            st.tuples(letter, inner).map(lambda two: f"{two[0]}_{{{two[1]}}}"),
            st.tuples(st.sampled_from("xyz"), inner).map(lambda two: f"{two[0]}^{{{two[1]}}}"),
            pair.map(lambda two: rf"1 + \frac{{{two[0]} + a}}{{b + {two[1]}}}"),
            inner.map(lambda one: rf"\sqrt{{{one} + a}}"),
            inner.map(lambda one: rf"\sum_{{i=1}}^n {one}"),
            inner.map(lambda one: rf"\log \left( {one} + a \right)"),
            inner.map(lambda one: rf"\| {one} + a \|^2"),
            pair.map(lambda two: rf"p({two[0]}, {two[1]})"),
        )

    return st.recursive(letter, larger, max_leaves=8)


@given(formulas())
def test_what_is_printed_can_be_pasted_back(latex: str) -> None:
    """The printed form has (nearly) the units of the equation."""
    asked = layout(latex)
    pasted = layout(read_unicode(asked.to_text()))
    units, others = Counter(asked.units()), Counter(pasted.units())
    shared = 2 * (units & others).total() / (units.total() + others.total())
    assert shared >= 0.8, (asked.to_text(), read_unicode(asked.to_text()))


def test_most_pasted_formulas_have_the_same_units() -> None:
    """Exactly the same, for the formulas above."""
    draw = random.Random(1)
    same = total = 0
    for _ in range(300):
        a, b, c = (draw.choice(LETTERS) for _ in range(3))
        for latex in (
            rf"{a}_{{i}}^2 = \frac{{{b} + 1}}{{{c} - 1}}",
            rf"\sum_{{i=1}}^n {a}_i \log {b}_i",
            rf"\sqrt{{{a} + {b}}} \leq \| {c} \|",
            rf"\max_{{x}} p({a} | {b}) - e^{{-{c}}}",
        ):
            made = layout(latex)
            same += layout(read_unicode(made.to_text())).units() == made.units()
            total += 1
    assert same / total > 0.9


SIGNS = "ab1 ^_(){}[]/√∑²ᵢ*+-=|,;'\u0302\\$&#%~?.′∂ if log"


@given(st.one_of(st.text(SIGNS, max_size=60), st.text(max_size=60)))
def test_nothing_raises(text: str) -> None:
    """Whatever is typed becomes LaTeX that has a layout."""
    layout(read_typed(text).latex)


@pytest.mark.parametrize(
    "sign", ["^", "√", "(", "{", "_", "/", "^-", "∂/", "[", "\u0302", "x^(", "a/|", "∂"]
)
def test_long_input_takes_linear_time(sign: str) -> None:
    """Nesting is limited, so that Python's stack is enough."""
    assert layout(read_typed(sign * 20_000).latex) is not None


@pytest.mark.parametrize(
    ("text", "latex", "repairs"),
    [
        (r"\fraq{a}{b}", r"\frac{a}{b}", [r"\frac instead of \fraq"]),
        (r"\frac{a}{b", r"\frac{a}{b}", ["closed {"]),
        (r"\frac{a}{b}}", r"\frac{a}{b}", ["dropped }"]),
        (r"\left( \frac{a}{b}", r"( \frac{a}{b})", [r"closed \left"]),
        (r"frac{a}{b}", r"\frac{a}{b}", []),
        (r"\sum xᵢ²", r"\sum x_{i}^{2}", []),
        (r"\sum p log p", r"\sum p \log p", []),
        (r"\alpha e^xᵢ", r"\alpha e^{x_{i}}", []),
        (r"\left( a \right)", r"\left( a \right)", []),
        (r"\Var(x)", r"\Var(x)", []),
    ],
)
def test_slips_are_repaired(text: str, latex: str, repairs: list[str]) -> None:
    """And said; macros of papers are not slips."""
    made = read_typed(text)
    assert layout(made.latex) == layout(latex)
    assert list(made.repairs) == repairs


def test_a_command_is_repaired_if_one_is_meant() -> None:
    """One letter away from one well-known command."""
    assert nearest_command("lamda") == "lambda"
    assert nearest_command("alhpa") == "alpha"
    assert nearest_command("foo") is None
    assert nearest_command("qqqqq") is None
