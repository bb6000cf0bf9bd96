"""Words in mathematics are one symbol; products of letters are several."""

import pytest

from eqemb.formula import layout
from eqemb.symbols.identifiers import symbols_of
from eqemb.symbols.terms import read_term


def latex_of(latex: str) -> list[str]:
    """The symbols of a formula as LaTeX, without indices."""
    return [one.latex for one in symbols_of(layout(latex)) if one.role != "index"]


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        ("loss = a + b", ["loss", "a", "b"]),
        ("Precision = TP / (TP + FP)", ["Precision", "TP", "FP"]),
        ("sim(a, b)", ["sim", "a", "b"]),
        ("RANK(a)", ["RANK", "a"]),
        (r"\lambda cost", [r"\lambda", "cost"]),
        ("score_i", [r"\mathrm{score}_i"]),
        ("softmax(a)", ["a"]),
        ("max(a, b)", ["a", "b"]),
        (r"\mathit{cost} + \textit{cost}(a)", [r"\mathrm{cost}", "a"]),
    ],
)
def test_a_word_is_one_symbol(latex: str, expected: list[str]) -> None:
    """Letters of a word are no symbols, and a named function is none at all."""
    assert latex_of(latex) == expected


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        ("xyz", ["x", "y", "z"]),
        ("abcd", ["a", "b", "c", "d"]),
        ("nRT", ["n", "R", "T"]),
        ("UDV", ["U", "D", "V"]),
        ("mv + ab", ["m", "v", "a", "b"]),
        (r"\int a u dv", ["a", "u", "v"]),
        (r"\iint dx dy", ["x", "y"]),
        ("gxg", ["g", "x"]),
    ],
)
def test_a_product_is_not_a_word(latex: str, expected: list[str]) -> None:
    """A row of letters without a vowel, or in the order of the alphabet, is a product."""
    assert latex_of(latex) == expected


def test_places_of_a_word_are_all_its_letters() -> None:
    """So that each letter on a page says what the word means."""
    (found, _) = symbols_of(layout("x + cost"))[::-1]
    assert found.places == (2, 3, 4, 5)


@pytest.mark.parametrize("latex", ["cost", "cost(x)", "cost_i", "cost_i(x)", "TP"])
def test_text_and_equation_have_the_same_word(latex: str) -> None:
    """What a text defines is what an equation has."""
    (named,) = read_term(latex).symbols
    assert named.key in {one.key for one in symbols_of(layout(f"{latex} + 1"))}
