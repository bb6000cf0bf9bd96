"""Sentences near equations: which lines are around a position."""

from hypothesis import given
from hypothesis import strategies as st

from eqemb.search.sentences import lines_after, lines_before


@given(st.text("ab \n", max_size=60), st.integers(0, 60))
def test_the_nearest_lines_are_those_of_a_split(text: str, at: int) -> None:
    """Without empty ones, at most eight on each side, the nearest first."""
    at = min(at, len(text))
    own, *before = reversed(text[:at].split("\n"))
    assert lines_before(text, at) == (own, [line.strip() for line in before if line.strip()][:8])
    own, *after = text[at:].split("\n")
    assert lines_after(text, at) == (own, [line.strip() for line in after if line.strip()][:8])


def test_far_letters_are_not_read() -> None:
    """A line may be as long as a book."""
    text = f"far\n{'x' * 30_000}|{'y' * 30_000}\nfar"
    assert lines_before(text, text.index("|")) == ("x" * 20_000, [])
    assert lines_after(text, text.index("|") + 1) == ("y" * 20_000, [])
