"""The benchmark of base words trains the same papers twice and scores the same words."""

import sys
from pathlib import Path

import basing
import pytest

from synthetic import read_inline, topical


@pytest.mark.slow
def test_own_words_are_compared_with_base_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is a row for each size and one for all papers; a second run gives the same."""
    read_inline(monkeypatch)
    topical(tmp_path / "base", 8)
    topical(tmp_path / "papers", 12, first=8)
    places = [tmp_path / "papers/set1", tmp_path / "base", "-o", tmp_path / "out"]
    options = ["basing.py", *places, "--sizes", "2", "--dim", "8"]
    monkeypatch.setattr(sys, "argv", list(map(str, options)))
    basing.main()
    first = capsys.readouterr().out
    assert first.startswith("Base: 8 papers, ")
    assert "zero vectors score -3.093." in first
    rows = [line.strip("| ").split(" | ") for line in first.splitlines()[-2:]]
    assert [row[0] for row in rows] == ["2", "3"]
    assert all(int(row[2].replace(",", "")) > 0 for row in rows)
    assert len({row[column].split()[0] for row in rows for column in (3, 4)}) == 4
    basing.main()
    assert capsys.readouterr().out == first
