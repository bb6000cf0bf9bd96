"""Tell whether what was written so far ends within a formula."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqemb.readers.latex.open_formula import FORMULA_EDGE, OpenFormula

PIECES = st.lists(
    st.sampled_from(
        ["$", "$", "\\", "\\[", "\\]", "\\(", "\\)", "\n", " ", "x", "[", "begin{align}",
         "\\begin{equa", "tion}", "\\end{equation}", "words and more words, for a long while " * 2]
    ),
    max_size=40,
)  # fmt: skip


def is_open(text: str) -> bool:
    """Read the whole text: the reference."""
    found = False
    for opening, closing, dollars, _ in FORMULA_EDGE.findall(text):
        found = bool(opening) or (not closing and bool(dollars) and not found)
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a $x", True), ("$x$", False), ("$$x", True), (r"\$", False), (r"\[x", True),
     (r"\\[2pt]", False), ("$x\n \n", False), (r"\begin{align*}", True),
     (r"\begin{align*}\end{align*}", False)],
)  # fmt: skip
def test_formulas_open_and_close(text: str, expected: bool) -> None:  # noqa: FBT001
    """By dollars, brackets and environments; a blank line ends them."""
    assert OpenFormula().is_open_after([text]) is expected


@given(PIECES, st.sets(st.integers(0, 40)))
def test_pieces_are_as_the_whole(pieces: list[str], asked: set[int]) -> None:
    """However the text is cut, and whenever it is asked."""
    formula = OpenFormula()
    for count in sorted(at for at in asked if at <= len(pieces)):
        expected = is_open("".join(pieces[:count]))
        assert formula.is_open_after(pieces[:count]) == expected
    assert formula.is_open_after(pieces) == is_open("".join(pieces))
