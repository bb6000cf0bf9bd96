"""The benchmark of what definitions of symbols cost measures papers and names what it found."""

import json
from pathlib import Path

import pytest
import symbols_cost

from latex_paper import document


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    """Four papers, each with one definition."""
    for name in "abcd":
        body = rf"Let ${name}$ be the age of a tree. So \[ {name} = 1 \] holds."
        (tmp_path / f"{name}.tex").write_text(document(body), "utf-8")
    return tmp_path


def test_papers_are_spread_over_their_names(papers: Path) -> None:
    """A sample has papers from the whole folder, the same each time."""
    names = [Path(one.origin).stem for one in symbols_cost.sample(papers, 2)]
    assert names == ["a", "c"]
    assert len(symbols_cost.sample(papers, 100)) == 4


def test_the_ratio_is_printed(papers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Seconds, ratio, and a hash that changes with what is found."""
    symbols_cost.main(["--corpora", str(papers), "--rounds", "2", "--json"])
    figures = json.loads(capsys.readouterr().out)
    assert (figures["papers"], figures["definitions"]) == (4, 4)
    assert figures["ratio"] > 0
    symbols_cost.main(["--corpora", str(papers), "--rounds", "1"])
    assert figures["digest"] in capsys.readouterr().out
    (papers / "a.tex").write_text(document(r"Let $a$ be a bush. So \[ a = 1 \]"), "utf-8")
    symbols_cost.main(["--corpora", str(papers), "--rounds", "1", "--json"])
    assert json.loads(capsys.readouterr().out)["digest"] != figures["digest"]


def test_an_empty_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With one sentence."""
    with pytest.raises(SystemExit):
        symbols_cost.main(["--corpora", str(tmp_path)])
    assert "no LaTeX paper" in capsys.readouterr().err
