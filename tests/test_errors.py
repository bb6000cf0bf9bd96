"""Values in messages."""

import pytest

from eqemb.errors import quoted


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (r"\[ x", r"'\[ x'"),
        ("it's", '"it\'s"'),
        ("a\nb\x1b[1m", r"'a\nb\x1b[1m'"),
        ("ä ∑", "'ä ∑'"),
        (3.5, "3.5"),
        (None, "None"),
        ("x" * 80, "'" + "x" * 80 + "'"),
        ("x" * 2_000, "'" + "x" * 79 + "…'"),
        ([1] * 1_000, "[" + "1, " * 26 + "…"),
    ],
)
def test_values_are_shown_as_typed_in_one_short_line(value: object, shown: str) -> None:
    """Backslashes are not doubled, as LaTeX is full of them."""
    assert quoted(value) == shown
