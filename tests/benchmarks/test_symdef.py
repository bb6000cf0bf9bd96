"""The benchmark of definitions scores spans, halves papers by hash, and lists only one half."""

import gzip
import json
import math
from pathlib import Path

import pytest
import symdef

SENTENCE = "where </s> SYMBOL </s> is the width of SYMBOL .".split()
LABELS = "O O B-TERM O O O B-DEF I-DEF I-DEF O".split()


def line(paper: str, tokens: list[str], labels: list[str]) -> dict[str, object]:
    """One line of the data."""
    return {
        "id": paper, "arxiv_id": paper, "tokens": tokens, "labels": labels,
        "symbols": ["[[ w ]]", "[[ B ]]"],
    }  # fmt: skip


def papers(half: str, count: int) -> list[str]:
    """Names of papers that fall in a half."""
    names = (f"9999.{number:05}" for number in range(1000))
    return [name for name in names if symdef.half_of(name) == half][:count]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two papers of each half: one with a definition, one without."""
    (tmp_path / "symdef").mkdir()
    plain = "We wait for </s> SYMBOL </s> .".split()
    with gzip.open(tmp_path / "symdef" / "dev.jsonl.gz", "wt", encoding="utf-8") as file:
        for half in ("tune", "test"):
            first, second = papers(half, 2)
            file.write(json.dumps(line(first, SENTENCE, LABELS)) + "\n")
            file.write(json.dumps(line(second, plain, ["O"] * len(plain))) + "\n")
    monkeypatch.setenv("EQEMB_BENCH", str(tmp_path))
    return tmp_path


def test_marks_are_left_out() -> None:
    """Positions count tokens without the marks; the asked formula is the one between them."""
    item = symdef.read_item(line("p", SENTENCE, LABELS))
    assert item.words[:3] == ["where", "SYMBOL", "is"]
    assert item.asked == 1
    assert item.definition == {4, 5, 6}
    assert item.tokens.latex[1] == "w"


def test_measures() -> None:
    """Two of three found tokens are right, of four that are marked; one span of two is exact."""
    counts = symdef.Outcome(
        found=2, marked=2, exact=1, touching=1, found_tokens=3, marked_tokens=4, shared_tokens=2,
        found_terms=2, marked_terms=2, shared_terms=1,
    )  # fmt: skip
    table = symdef.measures(counts)
    assert table["exact F1"] == pytest.approx(0.5)
    assert table["overlap P"] == pytest.approx(2 / 3)
    assert table["overlap R"] == pytest.approx(1 / 2)
    assert table["published"] == pytest.approx(50 * (0.5 + 4 / 7))
    assert symdef.measures([0] * 10)["overlap F1"] == 0


def test_a_half_is_scored(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The whole run prints counts, measures and intervals, the same each time."""
    assert bench.exists()
    symdef.main(["--json"])
    table = json.loads(capsys.readouterr().out)
    assert (table["items"], table["papers"], table["definitions"]) == (2, 2, 1)
    assert table["overlap F1"]["value"] > 0.6
    low, high = table["overlap F1"]["interval"]
    assert low <= table["overlap F1"]["value"] <= high
    symdef.main([])
    assert "half test: 2 items of 2 papers, 1 definitions" in capsys.readouterr().out


def test_errors_of_the_test_half_are_not_listed(bench: Path) -> None:
    """Nobody tunes on it by accident."""
    assert bench.exists()
    with pytest.raises(SystemExit, match="--half tune"):
        symdef.main(["--errors"])


def test_bins_say_how_often_a_confidence_is_right(
    bench: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One answer, which is right; its confidence differs from 1 by the error."""
    assert bench.exists()
    symdef.main(["--bins", "--json"])
    (row,) = json.loads(capsys.readouterr().out)["bins"]
    assert (row["answers"], row["right"], row["share"]) == (1, 1, 1.0)
    assert row["from"] <= row["mean confidence"] < row["to"]
    error = symdef.calibration_error([row])
    assert error == pytest.approx(1 - row["mean confidence"])
    symdef.main(["--bins"])
    assert f"expected calibration error {error:.3f}" in capsys.readouterr().out


def test_intervals_of_shares() -> None:
    """Wilson's: inside 0 and 1, around the share, narrower with more answers."""
    low, high = symdef.wilson(8, 10)
    assert low == pytest.approx(0.490, abs=0.001)
    assert high == pytest.approx(0.943, abs=0.001)
    assert symdef.wilson(10, 10)[1] == pytest.approx(1)
    few, many = symdef.wilson(8, 10), symdef.wilson(80, 100)
    assert few[0] < many[0] < 0.8 < many[1] < few[1]
    assert symdef.calibration_error([]) == 0


def test_the_fit_follows_the_marks(tmp_path: Path) -> None:
    """Higher scores that are right more often give a rising line; the test half is refused."""
    rows = [(0.2, 0), (0.2, 0), (0.2, 1), (0.8, 1), (0.8, 1), (0.8, 0)]
    marks = tmp_path / "marks.tsv"
    lines = ["equation\tsymbol\tscore\tright", *(f"a#1\tx\t{one}\t{two}" for one, two in rows)]
    marks.write_text("\n".join(lines) + "\n", "utf-8")
    start, slope, examples = symdef.fit([], marks)
    assert examples == 6
    for score, share in ((0.2, 1 / 3), (0.8, 2 / 3)):
        assert 1 / (1 + math.exp(-(start + slope * score))) == pytest.approx(share)


def test_confidences_are_not_fitted_on_the_test_half(bench: Path, tmp_path: Path) -> None:
    """Nobody tunes on it by accident."""
    assert bench.exists()
    with pytest.raises(SystemExit, match="--half tune"):
        symdef.main(["--fit", str(tmp_path / "marks.tsv")])
