"""Greek capitals are sums and products where they have an index and a term."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqemb.formula import layout
from eqemb.formula.greek_sums import read_greek_sums
from eqemb.formula.typed import read_typed


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("Σᵢ xᵢ", r"\sum_i x_i"),
        ("Σ_i x_i", r"\sum_i x_i"),
        ("Σ_{i=1}^n x_i", r"\sum_{i=1}^n x_i"),
        (r"Σ_{i \in S} \alpha_i", r"\sum_{i \in S} \alpha_i"),
        ("Σᵢ₌₁² xᵢ", r"\sum_{i=1}^2 x_i"),
        ("Πᵢ p(xᵢ)", r"\prod_i p(x_i)"),
        ("Σ_i Σ_j a_ij", r"\sum_i \sum_j a_{ij}"),
        ("Σ_i (x_i - y_i)²", r"\sum_i (x_i - y_i)^2"),
        ("Σ_i |x_i|", r"\sum_i |x_i|"),
        ("Σ_i log p_i", r"\sum_i \log p_i"),
        ("exp(eᵢ) / Σⱼ exp(eⱼ)", r"\frac{\exp(e_i)}{\sum_j \exp(e_j)}"),
    ],
)
def test_a_greek_capital_with_an_index_and_a_term_is_an_operator(text: str, latex: str) -> None:
    """In Unicode, ASCII and LaTeX."""
    assert layout(read_typed(text).latex) == layout(latex)


@pytest.mark.parametrize(
    "text",
    [
        "Σ",
        "Σ x",
        "xᵀ Σ⁻¹ x",
        "Σ^{-1} x",
        "Σ^T x",
        "Σ_k^{-1} (x - μ_k)",
        "Σ_k^T x",
        "N(μ_k, Σ_k)",
        "Σ_k = 3",
        "Σ_k + x",
        r"Σ_k \cdot x",
        "|Σ_k|^{1/2}",
        "Σ_xx x",
        "Σ_XY v",
        "Σ_1 x",
        "Σ_θ(x, t)",
        "Σ_k is positive",
        "Σ_k Σ_l",
    ],
)
def test_a_matrix_stays_one(text: str) -> None:
    """It has the scripts of a matrix, or no term follows."""
    assert read_greek_sums(text) == text


@given(st.text("ΣΠ_^{}ᵢ₌₁ⁿ⁻ xT(|\\1=", max_size=60))
def test_only_the_letters_change(text: str) -> None:
    """Whatever is typed."""
    made = read_greek_sums(text)
    assert made.replace("∑", "Σ").replace("∏", "Π") == text
