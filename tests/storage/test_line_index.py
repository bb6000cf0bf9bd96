"""Lines of a large file are found by key without reading the rest."""

from pathlib import Path

import pytest

from eqemb.storage.line_index import BadLines, LineIndex


def key_of(line: bytes) -> str:
    """What precedes a colon."""
    key, colon, _ = line.decode().partition(":")
    return key if colon else ""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Lines with keys, without, blank, twice, and too long."""
    path = tmp_path / "lines"
    path.write_text(f"a:1\n\nnone\nb:2\nc:{'3' * 50}\na:4\nlast:5")
    return path


def test_lines_are_found(file: Path) -> None:
    """Of two lines with one key, the later comes first; bad lines are counted."""
    index = LineIndex.scan(file, key_of, 20)
    assert len(index) == 4
    assert index.bad == BadLines(2, 3)
    assert list(index.lines("a", 20)) == [b"a:4\n", b"a:1\n"]
    assert list(index.lines("last")) == [b"last:5"]
    assert not list(index.lines("c"))
    assert not list(index.lines("x"))


def test_an_index_is_kept(file: Path, tmp_path: Path) -> None:
    """It is used for as long as the file has not changed."""
    place = tmp_path / "kept.safetensors"
    assert LineIndex.load(file, place) is None
    LineIndex.scan(file, key_of, 20).save(place)
    kept = LineIndex.load(file, place)
    assert kept is not None
    assert kept.bad == BadLines(2, 3)
    assert list(kept.lines("b")) == [b"b:2\n"]
    file.write_text("other: 1\n")
    assert LineIndex.load(file, place) is None
    place.write_bytes(b"damaged")
    assert LineIndex.load(file, place) is None


def test_an_empty_file(tmp_path: Path) -> None:
    """It has no lines."""
    path = tmp_path / "empty"
    path.touch()
    assert len(LineIndex.scan(path, key_of)) == 0
