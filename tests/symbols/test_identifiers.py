"""Symbols of formulas: what is one, which are the same, and what a formula is about."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqemb.formula import layout
from eqemb.symbols.identifiers import symbols_of
from eqemb.symbols.model import Symbol
from eqemb.symbols.terms import read_term
from timing import assert_linear


def latex_of(latex: str, *roles: str) -> list[str]:
    """The symbols of a formula as LaTeX; only those of some roles."""
    found = symbols_of(layout(latex))
    return [one.latex for one in found if not roles or one.role in roles]


def symbol(latex: str) -> Symbol:
    """The one symbol that a formula is about."""
    (found,) = read_term(latex).symbols
    return found


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        ("x", ["x"]),
        ("x_i", ["x_i"]),
        (r"\mathbf{W}_{hh}", [r"\mathbf{W}_{hh}"]),
        (r"\hat\theta", [r"\hat{\theta}"]),
        (r"f(\cdot)", ["f"]),
        (r"\mathcal{N}(\mu, \sigma^2)", [r"\mathcal{N}", r"\mu", r"\sigma"]),
        (r"\bar{x}_{t-1}", [r"\bar{x}_{t-1}"]),
        (r"x^\top y", ["x", "y"]),
        (r"A^{-1} b", ["A", "b"]),
        ("x' + x^*", ["x'", "x^{*}"]),
        (r"\mathcal{L}_{\text{rec}}", [r"\mathcal{L}_{\text{rec}}"]),
        (r"e^{-\lambda t}", [r"\lambda", "t"]),
        (r"\text{FFN}(x)", [r"\text{FFN}", "x"]),
    ],
)
def test_decorations_belong_to_the_symbol(latex: str, expected: list[str]) -> None:
    """Indices, accents and primes are part of a symbol; powers and transposition are not."""
    assert latex_of(latex, "variable", "function") == expected


@pytest.mark.parametrize(
    "latex",
    [r"\log 2", r"\sin 1 + \operatorname{softmax}(3)", r"2 + 3", r"\mathbb{R}^3", r"1, \dots, 9"],
)
def test_named_functions_numbers_and_sets_are_no_symbols(latex: str) -> None:
    """Everybody knows what they mean."""
    assert latex_of(latex) == []


@pytest.mark.parametrize(
    ("latex", "bound"),
    [
        (r"\sum_{i=1}^n x_i", ["i"]),
        (r"\prod_{k \in K} a_k", ["k"]),
        (r"\int_0^1 g(u)\,du", ["u"]),
        (r"\lim_{n \to \infty} a_n", ["n"]),
        (r"\{x_i\}_{i=1}^N", ["i"]),
        (r"j = 1, \dots, J", ["j"]),
        (r"\forall s \in S", ["s"]),
        (r"\max_w h(w)", []),
    ],
)
def test_bound_letters_are_told_apart(latex: str, bound: list[str]) -> None:
    """Sums, products, integrals, limits and counts bind their letters."""
    assert latex_of(latex, "bound") == bound


def test_a_differential_is_no_symbol() -> None:
    """The d of an integral or a derivative is an operator, and other d are letters."""
    assert latex_of(r"\int g(u)\,du") == ["g", "u"]
    assert latex_of(r"\frac{dy}{dx}") == ["y", "x"]
    assert latex_of("d + x") == ["d", "x"]


def test_roles() -> None:
    """A letter before its arguments is a function; one that occurs only in scripts an index."""
    roles = {one.latex: one.role for one in symbols_of(layout(r"f(x) = a(b + c) + y_j"))}
    assert roles == {
        "f": "function", "x": "variable", "a": "variable", "b": "variable", "c": "variable",
        "y_j": "variable", "j": "index",
    }  # fmt: skip


def test_places_are_nodes_of_the_layout() -> None:
    """Every occurrence can be marked in the equation."""
    made = layout(r"x + \hat{x} = 2x")
    places = {one.latex: one.places for one in symbols_of(made)}
    assert len(places["x"]) == 2
    assert all(made.nodes()[at].tag == "V!x" for at in places["x"] + places[r"\hat{x}"])


@pytest.mark.parametrize(
    ("one", "other"),
    [(r"\mathbf{x}", r"\boldsymbol{x}"), ("x_{i}", "x _i"), (r"\epsilon", r"\epsilon"),
     (r"\boldsymbol\theta_t", r"\bm{\theta}_{t}")],
)  # fmt: skip
def test_spellings_of_one_symbol_have_one_key(one: str, other: str) -> None:
    """How the author wrote it does not matter."""
    assert symbol(one).key == symbol(other).key


def test_keys_tell_symbols_apart() -> None:
    """Every decoration makes another symbol."""
    keys = {symbol(latex).key for latex in ("x", r"\hat x", r"\bar x", "x'", "x_i", r"\mathbf x")}
    assert len(keys) == 6


def test_indices_are_general_and_names_are_not() -> None:
    """`x_i`, `x_j` and `x_1` share a general key; `W_{hh}` and `W_{xh}` do not."""
    assert symbol("x_i").general == symbol("x_j").general == symbol("x_{t-1}").general
    assert symbol("x^{(i)}_1").general == symbol("x^{(k)}_j").general
    assert symbol("W_{hh}").general != symbol("W_{xh}").general
    assert symbol("W_{hh}").base == symbol("W_{xh}").base == "W"


@pytest.mark.parametrize(
    ("latex", "symbols", "type_"),
    [
        (r"x \in \mathbb{R}^d", ["x"], r"\mathbb{R}^d"),
        (r"x, y \in X", ["x", "y"], "X"),
        (r"f: X \to Y", ["f"], r"X \to Y"),
        (r"A = B + C", ["A"], ""),
        (r"t \in T = \{1, 2\}", ["t"], "T"),
        ("a, b, c", ["a", "b", "c"], ""),
        (r"x_1, \dots, x_n", ["x_1", "x_n"], ""),
        ("(u, v)", ["u", "v"], ""),
        (r"\{z_i\}_{i=1}^N", ["z_i"], ""),
        ("p(x | z)", ["p"], ""),
        ("|V|", [r"\lvert V\rvert"], ""),
        ("a + b", [], ""),
        (r"X \to Y", [], ""),
        ("", [], ""),
        ("128", [], ""),
    ],
)
def test_what_a_formula_is_about(latex: str, symbols: list[str], type_: str) -> None:
    """The letters before the first relation; an expression is about none."""
    term = read_term(latex)
    assert [one.latex for one in term.symbols] == symbols
    assert term.type == type_


def test_capitals_at_the_end_of_an_enumeration_are_indices() -> None:
    """`x_1, ..., x_N` says something about every `x_i`."""
    assert {one.general for one in read_term(r"x_1, \dots, x_N").symbols} == {symbol("x_i").general}


@given(st.text(alphabet="xyW_^{}()+=,|\\hatdsum ∈→ij12'", max_size=60))
def test_any_text_is_read(latex: str) -> None:
    """Broken formulas give symbols or none, always the same ones, and places that exist."""
    made = layout(latex)
    found = symbols_of(made)
    assert found == symbols_of(layout(latex))
    assert all(0 <= at < len(made.nodes()) for one in found for at in one.places)
    assert len({one.key for one in found}) == len(found)
    read_term(latex)


@pytest.mark.parametrize(
    ("left", "right"), [("x_{", "}"), (r"\int f(x) dx ", ""), (r"\sum_{i} x_i + ", ""), ("f(", ")")]
)
def test_time_is_linear(left: str, right: str) -> None:
    """A formula four times as long takes about four times as long, however it is nested."""
    assert_linear(lambda size: layout(left * size + "x" + right * size), symbols_of, (500, 2_000))
