"""Features of equations for the base model."""

from eqemb.formula import Layout, layout
from eqemb.formula.features import MAX_FEATURE_SYMBOLS, equation_features
from eqemb.formula.shapes import shapes


def test_symbols_units_chains_and_the_first_symbol_are_features() -> None:
    """Each occurs as often as in the equation."""
    found = equation_features(layout("x^2 + x"))
    assert found["s V!x"] == 2
    assert found["s N!2"] == 1
    assert found["u V!x a N!2"] == found["u V!x n +"] == found["u + n V!x"] == 1
    assert found["t V!x n + n V!x"] == 1
    assert found["e V!x a"] == 1
    assert found["h V!x"] == 1


def test_renamed_equations_share_their_shapes_and_nothing_else_of_letters() -> None:
    """Letters of shapes are numbered."""
    one, other = equation_features(layout("a_i")), equation_features(layout("b_j"))
    assert {name for name in one if name in other} == {name for name in one if name[0] == "r"}


def test_bold_letters_have_the_features_of_plain_ones() -> None:
    """Alphabets are left out."""
    assert equation_features(layout(r"\mathbf{x} = y")) == equation_features(layout("x = y"))


def test_known_shapes_are_not_computed_again() -> None:
    """The result is the same."""
    made = layout(r"\frac{a}{b} + a")
    assert equation_features(made, shapes(made)) == equation_features(made)


def test_an_equation_without_symbols_has_no_features() -> None:
    """Nothing to read."""
    assert not equation_features(Layout(None))


def test_a_long_equation_has_the_features_of_its_first_symbols() -> None:
    """Work is bounded."""
    found = equation_features(layout("+".join(["x"] * 1000)))
    assert sum(n for name, n in found.items() if name[0] == "s") == MAX_FEATURE_SYMBOLS
