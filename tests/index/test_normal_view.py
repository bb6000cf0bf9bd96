"""The normal view: types by the keys of their normal forms, in all segments."""

import numpy as np

from eqemb.formula import layout
from eqemb.index.normal_view import read_normal, read_query
from eqemb.search.match_kinds import (
    SAME_EQUATION,
    WRITTEN_DIFFERENTLY,
    equation_kinds,
    raise_equal,
)


def test_two_ways_of_writing_share_key_and_units() -> None:
    """What is compared of them is the same."""
    one, two = read_normal(layout("a / b")), read_normal(layout(r"\frac{a}{b}"))
    assert (one.key, one.form, one.units) == (two.key, two.form, two.units)


def test_a_renaming_shares_the_form_but_not_the_key() -> None:
    """Letters are numbered in the form alone."""
    one, two = read_normal(layout("a / b")), read_normal(layout(r"\frac{x}{y}"))
    assert one.form == two.form
    assert one.key != two.key


def test_a_query_is_read_as_a_type_is() -> None:
    """From its canonical form, which leaves out final punctuation."""
    made = layout(r"\exp(x) = y.")
    assert read_query(made.canonical()) == read_normal(made)


def test_an_equation_written_differently_is_strong() -> None:
    """An equal one has strength 1, one that is equal in normal form at least .95."""
    kinds = equation_kinds(np.array([0]), np.array([0, 1]), 3)
    assert kinds[SAME_EQUATION].tolist() == [True, False, False]
    assert kinds[WRITTEN_DIFFERENTLY].tolist() == [False, True, False]
    strengths = np.array([0.3, 0.3, 0.3], np.float32)
    raise_equal(strengths, kinds)
    np.testing.assert_allclose(strengths, [1, 0.95, 0.3], rtol=1e-6)
