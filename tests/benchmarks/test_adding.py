"""The benchmark of adding papers compares two libraries with the same records."""

import sys
from pathlib import Path

import adding
import pytest

from eqemb.facade import model
from synthetic import read_inline, topical


@pytest.mark.slow
def test_both_libraries_are_made_once_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both models score words of added papers, and both libraries answer the topics."""
    read_inline(monkeypatch)
    monkeypatch.setattr(model, "LEAST_WORDS", 100)
    papers = topical(tmp_path / "papers", 32)
    options = ["adding.py", papers, "-o", tmp_path / "out", "--dim", "8", "--seed", "4"]
    monkeypatch.setattr(sys, "argv", list(map(str, options)))
    adding.main()
    first = capsys.readouterr().out
    assert "added 10 papers in" in first
    assert "held-out words near equations of" in first
    lines = {line[:24].strip(): line[24:].split() for line in first.splitlines()}
    assert float(lines["added, with equations"][0]) > -3.093
    assert float(lines["rebuilt, with articles"][0]) > -3.093
    counts = {line[:48].rstrip(): line[48:52].strip() for line in first.splitlines()}
    for by in ("all", "meaning"):  # every topic counts
        assert counts[f"{by:12}words"] == counts[f"{by:12}equation"] == "60"
    adding.main()
    again = capsys.readouterr().out
    assert "built from" not in again
    assert again in first
