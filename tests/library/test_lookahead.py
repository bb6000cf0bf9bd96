"""Sources are found ahead of reading, in the same order."""

import threading
from collections.abc import Iterator

import pytest

from eqemb.library import lookahead
from eqemb.library.lookahead import Lookahead
from eqemb.sources import Found


def found(number: int, data: bytes | None = None) -> Found:
    """Return a source."""
    return Found(str(number), str(number), "", "data", "x", data=data)


def test_all_are_found_before_one_is_taken() -> None:
    """In order, and the total is known."""
    ahead = Lookahead(iter([found(number) for number in range(5)]))
    ahead._thread.join()
    assert (ahead.found, ahead.is_complete) == (5, True)
    assert [one.name for one in ahead] == ["0", "1", "2", "3", "4"]


def test_the_last_one_is_known_to_be_the_last() -> None:
    """However fast it is taken."""
    for _ in range(200):
        ahead = Lookahead(iter([found(1)]))
        next(ahead)
        assert ahead.is_complete


def test_members_of_archives_wait_within_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their bytes are in memory."""
    monkeypatch.setattr(lookahead, "_MOST_BYTES", 25)
    made: list[int] = []

    def tasks() -> Iterator[Found]:
        for number in range(50):
            made.append(number)
            yield found(number, b"x" * 10)

    ahead, most = Lookahead(tasks()), 0
    for taken, _ in enumerate(ahead, 1):
        most = max(most, len(made) - taken)
    assert len(made) == 50
    assert most <= 4


def test_an_error_is_raised_where_sources_are_taken() -> None:
    """After the sources before it."""

    def tasks() -> Iterator[Found]:
        yield found(1)
        raise ValueError("broken")

    ahead = Lookahead(tasks())
    assert next(ahead).name == "1"
    with pytest.raises(ValueError, match="broken"):
        next(ahead)


def test_closing_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """No thread is left."""
    monkeypatch.setattr(lookahead, "_MOST_SOURCES", 2)
    before = threading.active_count()
    ahead = Lookahead(iter([found(number) for number in range(50)]))
    next(ahead)
    ahead.close()
    assert threading.active_count() == before
