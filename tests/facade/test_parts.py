"""Dividing a library into parts."""

from hypothesis import given
from hypothesis import strategies as st

from eqemb.facade.parts import deal
from eqemb.library.manifest import Segment


@given(st.lists(st.integers(1, 1000), max_size=40), st.integers(1, 50))
def test_every_segment_is_in_one_part(sizes: list[int], count: int) -> None:
    """Parts are neighbours, in order, none is empty, and there are as many as possible."""
    segments = [Segment(str(at), size) for at, size in enumerate(sizes)]
    groups = deal(segments, count)
    assert [at for group in groups for at in group] == list(range(len(sizes)))
    assert len(groups) == min(count, len(sizes))
    assert all(len(group) for group in groups)


def test_parts_have_about_as_many_documents() -> None:
    """A large segment is a part of its own."""
    segments = [Segment("a", 900), *(Segment(str(at), 100) for at in range(9))]
    assert deal(segments, 2) == [range(1), range(1, 10)]
