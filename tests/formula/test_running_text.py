"""Running text for people contains none of our placeholders."""

import pytest

from eqemb.article import DOLLAR
from eqemb.formula.running_text import plain_text, printed_text


@pytest.mark.parametrize(
    ("text", "plain", "printed"),
    [
        (f"It costs {DOLLAR}5 or 6{DOLLAR}.", "It costs $5 or 6$.", "It costs $5 or 6$."),
        ("By Eq. $2.3$ and ($7$)", "By Eq. (2.3) and (7)", "By Eq. (2.3) and (7)"),
        ("In $1$ we", "In (1) we", "In (1) we"),
        ("so by $A.2b$", "so by A.2b", "so by A.2b"),
        ("where $x_1$ is $0.5$", "where x₁ is 0.5", "where $x_1$ is 0.5"),
        ("no mathematics", "no mathematics", "no mathematics"),
    ],
)
def test_references_and_dollar_signs_are_printed(text: str, plain: str, printed: str) -> None:
    """Formulas become Unicode in plain text and stay LaTeX in printed text."""
    assert plain_text(text) == plain
    assert printed_text(text) == printed
