"""The record of the sources of a library: empty where there is none, and never lost in silence."""

from pathlib import Path

import pytest

from eqemb.library.source_record import SOURCES, SourceRecord, is_intact


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A generation with a record."""
    SourceRecord(digests={"a.tex": "1"}).save(tmp_path)
    return tmp_path


def test_a_record_is_read_again(saved: Path) -> None:
    """With its digests."""
    assert SourceRecord.load(saved).digests == {"a.tex": "1"}
    assert is_intact(saved)


def test_a_damaged_record_is_empty(saved: Path) -> None:
    """So is a missing one: sources are then compared with their records."""
    path = saved / SOURCES
    path.write_text(path.read_text("utf-8").replace("1", "2"), "utf-8")
    assert not is_intact(saved)
    assert not SourceRecord.load(saved).digests
    path.unlink()
    assert not SourceRecord.load(saved).digests


def test_a_record_that_cannot_be_read_is_an_error(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that fails for a moment must not make an update forget what it knows."""

    def fail(path: Path, encoding: str) -> str:
        raise OSError(5, "Input/output error", str(path), encoding)

    monkeypatch.setattr(Path, "read_text", fail)
    with pytest.raises(OSError, match="Input/output error"):
        SourceRecord.load(saved)
