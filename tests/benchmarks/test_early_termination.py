"""The benchmark of early termination runs on a small library."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import early_termination as bench
import early_termination_engines as engines
import numpy as np
import pytest

from axes import make_library
from eqemb.index import candidates, windows
from eqemb.index.text import BM25_K1
from eqemb.index.text_index import TextIndex


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Make a library and return the index of its only segment."""
    with make_library(tmp_path_factory.mktemp("benchmarks")) as made:
        (part,) = made.engine.text.parts
        yield part.folder


@pytest.fixture(scope="module")
def text(index: Path) -> TextIndex:
    """Open the text of the index."""
    return bench.open_text(index)[1]


def make_ours(text: TextIndex, index: Path, folder: Path) -> tuple[engines.OurPostings, int]:
    """Return postings of some queries, and how many queries there are."""
    drawn = bench.draw_queries(text, 5)
    stems = np.unique([stem for query in drawn for stem in query])
    vectors = bench.take_vectors(index, stems, len(text.parts[0].segment))
    return engines.OurPostings(vectors, bench.renumber(drawn, stems), folder), len(drawn)


def test_queries_are_the_same_each_time(text: TextIndex) -> None:
    """Two to four stems with weights that sum to 1, drawn with a seed."""
    drawn = bench.draw_queries(text, 5)
    assert drawn == bench.draw_queries(text, 5)
    assert drawn != bench.draw_queries(text, 5, seed=1)
    assert all(2 <= len(query) <= 4 for query in drawn)
    assert [sum(query.values()) for query in drawn] == pytest.approx([1] * 5)


def test_vectors_have_the_impacts_of_the_index(index: Path, text: TextIndex) -> None:
    """The vector of an equation is its part of the forward index."""
    (part,) = text.parts
    rows = len(part.segment)
    vectors = bench.take_vectors(index, np.arange(len(part.stem_keys)), rows)
    for row in range(rows):
        stems, impacts = part.forward.of(row)
        own = slice(vectors.pointers[row], vectors.pointers[row + 1])
        order = np.argsort(stems)
        assert vectors.stems[own].tolist() == stems[order].tolist()
        assert vectors.impacts[own].tolist() == impacts[order].tolist()


def test_sums_are_those_of_the_text_index(index: Path, text: TextIndex, tmp_path: Path) -> None:
    """What recall is measured against are the scores that the search computes from the words."""
    ours, count = make_ours(text, index, tmp_path)
    stems = text.parts[0].stems
    for number, query in enumerate(bench.draw_queries(text, count)):
        weights = {stems[stem]: weight for stem, weight in query.items()}
        scores = text.score_stems(weights)
        sums = ours.exact.sums(number)
        assert sums / (BM25_K1 + 1) == pytest.approx(scores, abs=1e-6)
        every = np.arange(len(sums))
        assert ours.exact.sums_of(number, every).tolist() == sums.tolist()


def test_ours_finds_the_best_with_windows_of_any_size(
    index: Path, text: TextIndex, tmp_path: Path
) -> None:
    """Windows of a tried size are used and counted, and the usual size is restored."""
    ours, count = make_ours(text, index, tmp_path)
    before = windows.BITS
    with ours.windowed(2) as engine:
        assert vars(candidates)["BITS"] == windows.BITS == 2
        ten, many = bench.measure(engine, ours.exact, count, repeats=1)
    assert vars(candidates)["BITS"] == windows.BITS == before
    assert ten.recall == pytest.approx(1, abs=0.1)  # levels are rounded
    assert many.recall == 1
    assert many.touched == 1


@pytest.mark.parametrize(("found", "expected"), [([3, 2, 2], 1), ([3, 1], 0.5), ([], 0)])
def test_recall_counts_equal_sums_as_found(found: list[float], expected: float) -> None:
    """Of the two best sums, 3 and 2, it does not matter which row with 2 was found."""
    sums = np.array(found, np.float32)
    assert bench.recall(sums, np.array([3, 2], np.float32)) == expected


@pytest.mark.parametrize("module", ["seismic", "tantivy"])
def test_rivals_are_measured(module: str, index: Path, text: TextIndex, tmp_path: Path) -> None:
    """Each rival is built from the same vectors and answers."""
    pytest.importorskip(module)
    drawn = bench.draw_queries(text, 5)
    stems = np.unique([stem for query in drawn for stem in query])
    vectors = bench.take_vectors(index, stems, len(text.parts[0].segment))
    queries = bench.renumber(drawn, stems)
    for name in ("ours", "rival"):
        (tmp_path / name).mkdir()
    ours = engines.OurPostings(vectors, queries, tmp_path / "ours")
    if module == "tantivy":
        engine = engines.build_tantivy(vectors, queries, tmp_path / "rival")
        found = [len(engine.ask(number, 2000)) for number in range(5)]
        assert found == [np.count_nonzero(ours.exact.sums(number)) for number in range(5)]
    else:
        engine, *_ = engines.build_seismic(vectors, queries, 3500, tmp_path / "rival")
        assert bench.measure(engine, ours.exact, 5, repeats=1)[1].recall == pytest.approx(
            1, abs=0.05
        )
    assert engine.size > 0


def test_report_is_written(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table has a row for each engine; what is not installed is said."""
    out = tmp_path / "table.md"
    options = ["--count", "3", "--repeats", "1", "--bits", "3", "--kept", "3500", "--all"]
    options += ["--others", str(index)]
    command = ["early_termination.py", str(index), *options, "--out", str(out)]
    monkeypatch.setattr(sys, "argv", [*command, "--work", str(tmp_path)])
    bench.main()
    written, printed = out.read_text("utf-8"), capsys.readouterr().out
    assert "| exhaustive, NumPy |" in written
    assert "| ours, windows of 8 rows |" in written
    assert "equations in 2 segments" in written
    for module, name, package in (
        ("seismic", "Seismic", "pyseismic-lsr"),
        ("tantivy", "tantivy", "tantivy"),
    ):
        if importlib.util.find_spec(module):
            assert f"| {name}, " in written
        else:
            assert f"{package} is not installed" in printed
    assert list(tmp_path.iterdir()) == [out]
