"""Alignment of two equations: which symbols match, how letters are renamed, and the score."""

from typing import Any

import pytest

from eqemb.formula import Layout, layout
from eqemb.formula.likeness import MAX_SYMBOLS, QUERY, RENAMED, Likeness, likeness, outline
from eqemb.formula.tree import Node
from timing import assert_quick


def compare(query: str, other: str, **how: Any) -> Likeness:
    """Two equations as LaTeX."""
    return likeness(outline(layout(query)), outline(layout(other)), **how)


def met(query: str, other: str) -> list[tuple[str, str]]:
    """The symbols that matched."""
    nodes = layout(query).nodes(), layout(other).nodes()
    return [(nodes[0][one].tag, nodes[1][two].tag) for one, two in compare(query, other).pairs]


EQUATIONS = [
    "x",
    "x^2+y=0",
    r"\frac{a+b}{c}",
    r"\sum_{i=1}^{n} x_i^2",
    r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}",
    r"\hat\theta=\arg\max_\theta \log p(x|\theta)",
    r"\sqrt[3]{f(x,y)}",
]


@pytest.mark.parametrize("latex", EQUATIONS)
def test_an_equation_is_like_itself(latex: str) -> None:
    """Every symbol matches itself, and the score is 1 for any share."""
    places = range(len(layout(latex).nodes()))
    for share in (0.5, QUERY, 1.0):
        found = compare(latex, latex, share=share)
        assert found.score == pytest.approx(1.0)
        assert found.pairs == [(place, place) for place in places]


@pytest.mark.parametrize("query", EQUATIONS)
@pytest.mark.parametrize("other", EQUATIONS)
def test_scores_lie_between_nothing_and_all(query: str, other: str) -> None:
    """And only the same equation scores 1."""
    assert 0.0 <= compare(query, other).score <= 1.0
    assert (compare(query, other).score > 1 - 1e-9) == (query == other)


def test_a_renamed_letter_is_worth_a_little_less() -> None:
    """Two of four symbols are renamed, and all have the same neighbours."""
    found = compare("x^2+y", "a^2+b")
    assert found.names == {"V!x": "V!a", "V!y": "V!b"}
    assert found.score == pytest.approx((2 + 2 * RENAMED) / 4)


def test_a_letter_stands_for_one_letter() -> None:
    """If x would stand for both a and b, it stands for one, and the other does not match."""
    assert compare("x+x", "a+a").score == pytest.approx((1 + 2 * RENAMED) / 3)
    assert compare("x+x", "a+b").score == pytest.approx((1 + RENAMED) / 3)
    assert compare("x+y", "a+a").score == pytest.approx((1 + RENAMED) / 3)


def test_the_commonest_meaning_of_a_letter_wins() -> None:
    """Here x is aligned with itself once and with t twice."""
    assert compare("x+x+x", "t+t+x").names == {"V!x": "V!t"}


def test_names_of_functions_and_constants_are_not_renamed() -> None:
    """A sine is not a cosine, and pi is not a variable."""
    assert met(r"\sin x", r"\cos x") == [("V!x", "V!x")]
    assert met(r"2\pi", "2r") == [("N!2", "N!2")]
    assert compare(r"\sin x", r"\cos x").names == {"V!x": "V!x"}


def test_numbers_and_operators_meet_only_themselves() -> None:
    """They cannot be renamed."""
    assert met("x+1", "x-2") == [("V!x", "V!x")]


def test_what_hangs_on_unlike_symbols_may_meet() -> None:
    """A product instead of a sum, with the same limits."""
    query, other = r"\sum_{i=1}^{n} x_i", r"\prod_{i=1}^{n} x_i"
    assert len(compare(query, other).pairs) == len(layout(query).nodes()) - 1


def test_rows_meet_only_in_the_same_place() -> None:
    """An exponent does not match an index."""
    assert met("x^2", "x_2") == [("V!x", "V!x")]


def test_the_elements_of_a_fence_are_one_row() -> None:
    """A second argument adds to the row and does not change the rest."""
    assert len(met("f(x)", "f(x,y)")) == len(layout("f(x)").nodes())
    assert met("f(1)", "f(x,1)")[-1] == ("N!1", "N!1")


def test_order_matters() -> None:
    """Of a+b and b+a, at most one letter can match itself, though both have the same letters."""
    assert compare("2<x", "x<2").score < compare("2<x", "2<x+1").score


def test_neighbours_count() -> None:
    """The same symbols score more without something between them."""
    whole, apart = compare("abc", "abcdd"), compare("abc", "adbdc")
    assert len(whole.pairs) == len(apart.pairs) == 3
    assert whole.score > apart.score


def test_the_query_should_be_found_whole() -> None:
    """Containing the query and more is better than being only a part of it."""
    part, whole = "a^2+b^2", "a^2+b^2=c^2+d^2"
    assert compare(part, whole).score > compare(whole, part).score
    assert compare(part, whole, share=1.0).score == pytest.approx(1.0)
    assert compare(part, whole, share=0.5).score == pytest.approx(
        compare(whole, part, share=0.5).score
    )


def test_empty_equations_have_a_score() -> None:
    """Empty equations have a score, too."""
    assert compare("", "").score == compare("x", "").score == compare("", "x").score == 0.0


def nested(depth: int) -> Layout:
    """Exponents of exponents."""
    root = node = Node("V!x")
    for _ in range(depth):
        child = Node("V!x")
        node.put("a", child)
        node = child
    return Layout(root)


@pytest.mark.parametrize(
    "made", [layout("x+" * 20_000 + "x"), nested(40_000)], ids=["long", "deep"]
)
def test_untrusted_trees_take_bounded_time(made: Layout) -> None:
    """No recursion, bounded time; symbols beyond the limit do not match."""
    assert_quick(lambda: likeness(outline(made), outline(made)), 5)
    large = outline(made)
    found = likeness(large, large)
    assert large.size > MAX_SYMBOLS
    assert len(found.pairs) == MAX_SYMBOLS
    assert found.score == pytest.approx(MAX_SYMBOLS / large.size)
