"""Patterns: what wildcards match, where they match, and bounded time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqemb.formula import layout
from eqemb.formula.likeness import QUERY, RENAMED, outline
from eqemb.formula.pattern import Match, OutOfStepsError, Pattern, is_pattern, read_pattern
from timing import assert_quick


def match(pattern: str, latex: str) -> Match | None:
    """A pattern and an equation as LaTeX."""
    return Pattern(read_pattern(pattern)).match(outline(layout(latex)))


@pytest.mark.parametrize(
    ("pattern", "latex"),
    [
        ("?x", "?"),  # a question mark alone is a symbol
        ("?a+?b", "x_1+y^2"),
        (r"\frac{?a}{?a+?b}", r"\frac{tp}{tp+fn}"),
        ("?x^2", "(a+b)^2"),
        ("f(?x)", "f(x,y)"),
        (r"\sum ?x", r"\sum_{i=1}^n x_i"),
        (r"\log ?x", r"\log_2 x"),
        (r"e^{?x}", r"1+\frac{1}{e^{-x}}"),
        (r"\sqrt{?name}", r"\sqrt{x^2+y^2}"),
        ("?x_i=?y", "a_i=b+c"),
        ("?x1+?x2", "a+b"),
    ],
)
def test_wildcards_stand_for_any_part(pattern: str, latex: str) -> None:
    """Symbols, runs of symbols and whole arguments, also within a larger equation."""
    if pattern == "?x":
        assert not is_pattern(read_pattern(latex))
        return
    found = match(pattern, latex)
    assert found is not None
    assert found.score > 0.8


@pytest.mark.parametrize(
    ("pattern", "latex"),
    [
        ("?x+?x", "a+b"),  # a repeated name must match the same
        ("?x+?x", "b^2+b_2"),
        (r"\frac{?a}{?a+?b}", r"\frac{t}{p+t}"),
        ("x^?n", "x_1^2"),  # a letter has nothing attached that the pattern does not mention
        ("x^2", "x^{2n}"),  # an attached row is matched completely
        ("?x+1", "1+x"),
        (r"\sin ?x", r"\cos y"),  # functions cannot be renamed
        ("a+?x+a", "b+x+c"),  # one letter stands for one letter
        ("a+?x+b", "c+x+c"),
        ("?a?b?c=", "xy="),  # a wildcard takes at least one symbol
    ],
)
def test_what_does_not_match(pattern: str, latex: str) -> None:
    """Concrete symbols and repeated names must match."""
    assert match(pattern, latex) is None


def test_a_renamed_letter_is_worth_less() -> None:
    """Symbols that the pattern does not mention reduce the score a little."""
    same, renamed, inside = (match("x=?y", latex) for latex in ("x=1", "z=1", "x=1<2"))
    assert same is not None
    assert renamed is not None
    assert same.score == pytest.approx(1.0)
    assert renamed.score == pytest.approx((2 + RENAMED) / 3)
    assert renamed.names == {"V!x": "V!z"}
    assert inside is not None
    assert inside.score == pytest.approx(1.0)  # ?y matches everything that follows
    larger = match("x=1", "x=1+2")
    assert larger is not None
    assert larger.score == pytest.approx(3 / (3 * QUERY + 5 * (1 - QUERY)))


def test_letters_keep_their_names_where_they_can() -> None:
    """The first possible renaming in the equation does not hide an exact match."""
    found = match("x^?n", "y^2+x^2")
    assert found is not None
    assert found.names == {"V!x": "V!x"}


@pytest.mark.parametrize("latex", ["?x", "?x_{?y}", r"\qvar{a}"])
def test_a_pattern_needs_a_symbol(latex: str) -> None:
    """Wildcards alone would match everything."""
    with pytest.raises(ValueError, match="at least one symbol"):
        Pattern(read_pattern(latex))


def test_a_pattern_has_a_maximum_size() -> None:
    """Symbols beyond the limit could not be matched."""
    with pytest.raises(ValueError, match="up to 300 symbols, not 401"):
        Pattern(read_pattern("?x" + "+1" * 200))


def test_time_is_bounded() -> None:
    """There are more ways to split a long row into ten parts than can be tried."""

    def give_up() -> None:
        with pytest.raises(OutOfStepsError):
            match(" ".join(f"?w{n}" for n in range(10)) + "=?w3?w2", "x" * 150 + "=y")

    assert_quick(give_up, 2)


# Part of an equation twice: as it is, and as a pattern in which parts of it are wildcards.
Part = tuple[str, str]
LETTERS = st.sampled_from([*"abcxyz12+-=", r"\alpha ", r"\sum ", r"\log "])


def parts(smaller: st.SearchStrategy[Part]) -> st.SearchStrategy[Part]:
    """Larger parts of smaller ones."""
    two = st.tuples(smaller, smaller)
    return st.one_of(
        two.map(lambda both: (both[0][0] + " " + both[1][0], both[0][1] + " " + both[1][1])),
        two.map(lambda both: _both(r"\frac{%s}{%s}", *both)),
        smaller.map(lambda one: _both("x^{%s}", one)),
        smaller.map(lambda one: _both(r"\left(%s\right)", one)),
        smaller.map(lambda one: _both(r"\sqrt{%s}", one)),
        st.tuples(smaller, st.integers(0, 99)).map(lambda made: (made[0][0], f"?w{made[1]} ")),
    )


def _both(shape: str, *made: Part) -> Part:
    return shape % tuple(one[0] for one in made), shape % tuple(one[1] for one in made)


EXPRESSIONS = st.recursive(LETTERS.map(lambda letter: (letter, letter)), parts, max_leaves=12)


@given(EXPRESSIONS)
def test_an_equation_matches_itself_with_parts_left_out(made: Part) -> None:
    """Whatever parts are wildcards, each with its own name, the whole equation matches."""
    latex, pattern = made
    number = iter(range(100))
    pieces = pattern.split("?w")
    pattern = pieces[0] + "".join(
        f"?v{next(number)} {piece.lstrip('0123456789')}" for piece in pieces[1:]
    )
    read = read_pattern("= " + pattern)
    try:
        found = Pattern(read).match(outline(layout("= " + latex)), 50_000)
    except OutOfStepsError:
        return
    assert found is not None
    assert found.score == pytest.approx(1.0)


PLAIN = st.lists(st.sampled_from(["a", "b", "a^2", "b_1", "+"]), min_size=1, max_size=3)


@given(PLAIN, PLAIN)
def test_the_same_name_is_the_same_thing(one: list[str], two: list[str]) -> None:
    """Above and below a line, the same wildcard matches the same rows only."""
    above, below = " ".join(one), " ".join(two)
    found = match(r"\frac{?x}{?x}", rf"\frac{{{above}}}{{{below}}}")
    assert (found is not None) == (one == two)
    assert match(r"\frac{?x}{?y}", rf"\frac{{{above}}}{{{below}}}") is not None
