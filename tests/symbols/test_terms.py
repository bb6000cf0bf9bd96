"""What a formula is about: the fast reading gives the same as the whole layout."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqemb.symbols.terms import read_term, read_whole
from timing import assert_linear

FORMULAS = [
    r"x", r"x_i", r"\alpha_{ij}", r"f(x)", r"p(A=a)", r"p(A = a) = q", r"x \in X", r"x, y \in X",
    r"x \in \mathbb{R}^{n \times d}", r"f: X \to Y", r"f \colon X \to Y", r"f : 3", r"a + b",
    r"A \to B", r"f(x) = \sum_i x_i", r"\theta := (a, b)", r"x \subset y", r"x \subseteq y",
    r"x \in_{w} X", r"x \not= y", r"x \notin X", r"5 = x", r"x =", r"x \in", r"= x",
    r"\mathbf{W}_{hh} = \begin{pmatrix} a & b \\ c & d \end{pmatrix}", r"a = b \over c",
    r"x & = y", r"x = y & z", r"x' \in X'", r"x^2 = 1", r"x^{(i)} \in A = B", r"(a, b) \in C",
    r"x:=1", r"x :\ y", r"x == y", r"f(g(x)) = h", r"f(x)(y) = h", r"\hat{x}_{t} \in A, b",
    r"\ell(y) = \brack{0 & 1}", r"{x \in X}", r"x_{i \in I} = 1", r"x \in \{1, \dots, n\}",
    r"f: X \to Y'", r"f: X_i \longrightarrow \mathcal{Y}^n", r"g : A\rightarrow B ", r"e_i", r"e^x",
    r"\mathcal{K}_3'", r"\hat{x}_{ij}^{(t)}", r"x_i^2", r"\mathbb{R}_+", r"\sum_i x", r"\sum",
    r"\partial x = 1", r"U \times_S V", r"x_{train}", r"\mathrm{max}_x", r"x ", r"x\ ", r"x^\top_i",
    r"x \circ y", r"x - y = z", r"f(x", r"x) = y", r"x_{a", r"x}_i \in X", r"\left(x = y\right)",
]  # fmt: skip


@pytest.mark.parametrize("latex", FORMULAS)
def test_sides_are_read_apart(latex: str) -> None:
    """Reading a side alone gives what it is in the whole formula."""
    assert read_term(latex) == read_whole(latex)


PARTS = (
    r"x f y_i \alpha \mathbf{W} \hat{x} ( ) _i _{jk} ^2 ^{(t)} ' , = := : \colon \in \subset \to +"
    r" - \circ | & \\ \over { } \left( \right) \mathbb{R}^d \not _ ^ 3 . \ldots \{ \} \, \text{if}"
    r" X \mathcal{Y} \longrightarrow \sum \partial \times_S \mathrm{max} e"
).split()


@settings(max_examples=1000)
@given(st.lists(st.sampled_from(PARTS), max_size=9).map(" ".join))
def test_any_formula_is_read_as_a_whole(latex: str) -> None:
    """Whatever the formula is, also one that is broken."""
    assert read_term(latex) == read_whole(latex)


def test_an_equals_sign_in_arguments_is_not_the_relation() -> None:
    """`p(A=a)` is about p."""
    assert [one.latex for one in read_term("p(A=a)").symbols] == ["p"]
    assert read_term("p(A=a)").relation == ""


@pytest.mark.parametrize(
    "piece",
    ["x", "x,", r"\alpha", r"\alpha ", "x_i", "(a", "(a)", "x_{a", "x_{a}", r"\mathbf{x}", "x'",
     "_", r"\foo", "((", "{{", r"f(\foo", "a+"],
)  # fmt: skip
def test_time_is_linear(piece: str) -> None:
    """Nothing is tried twice: a formula four times as long takes about four times as long."""
    assert_linear(piece.__mul__, read_term, (500, 2_000))
