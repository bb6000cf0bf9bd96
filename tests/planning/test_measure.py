"""Measuring stages on a few papers."""

from pathlib import Path

import pytest

from eqemb.errors import UsageError
from eqemb.planning.estimate import INDEX_DRIVERS, make_plan
from eqemb.planning.measure import measure, measure_pairs, measure_size, sample_papers
from eqemb.planning.measurements import Measurements
from eqemb.planning.plan import Assumptions
from plan_measurements_by_hand import size
from synthetic import paper, text


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    """Nine papers in files, and one in a folder."""
    folder = tmp_path / "papers"
    for number in range(10):
        body = f"{text(200, number)} \\[x_{{{number}}} = y\\] {text(50, -number)}"
        place = folder / "whole" / "main.tex" if number == 9 else folder / f"{number}.tex"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(paper(body, f"Paper {number}"), "utf-8")
    return folder


@pytest.mark.slow
def test_stages_are_measured(papers: Path, tmp_path: Path) -> None:
    """At three sizes, with progress; a plan can be made of the file."""
    said: list[str] = []
    found = measure([papers], jobs=1, train=False, watch=said.append)
    assert [one.papers for one in found.sizes] == [2, 5, 10]
    for one in found.sizes:
        assert set(one.cpu_seconds) == {"read", "near-duplicates", "report", *INDEX_DRIVERS}
        assert one.cpu_seconds["read"] > 0
        assert set(one.bytes) == {"records", "sketches", *INDEX_DRIVERS}
        assert one.equations == one.papers
        assert one.source_bytes > 1000 * one.papers
        assert one.vocabulary > 100
        assert one.peak_bytes["index"] > 10_000_000
        assert one.ask["equation_seconds"] > 0
    assert said[0] == "2 papers: reading"
    assert "10 papers: asking" in said
    found.save(tmp_path / "m.json")
    plan = make_plan(Assumptions(1_000_000), Measurements.load(tmp_path / "m.json"))
    assert plan.hours(1) > 0


def test_training_is_measured(papers: Path, tmp_path: Path) -> None:
    """The library can be opened and asked after training."""
    pytest.importorskip("numba")
    chosen, root = sample_papers([papers], 8)
    found = measure_size(chosen, root, tmp_path / "work", jobs=1)
    assert found.cpu_seconds["train"] > 0
    assert found.cpu_seconds["vectors"] > 0
    assert "vectors" in found.bytes
    assert found.ask["equation_seconds"] > 0


def test_a_sample_is_the_same_each_time(papers: Path) -> None:
    """Files and folders of papers, chosen at random."""
    chosen, root = sample_papers([papers], 8)
    assert len(set(chosen)) == 8
    assert root == papers
    assert sample_papers([papers], 8)[0] == chosen
    everything, _ = sample_papers([papers], 100)
    assert len(everything) == 10
    assert all(path.exists() for path in everything)


def test_few_papers_are_refused(papers: Path) -> None:
    """Growth cannot be measured on them."""
    with pytest.raises(UsageError, match=r"1 paper in files or folders of their own"):
        sample_papers([papers / "0.tex"], 100)


def test_pairs_of_segments_are_timed(tmp_path: Path) -> None:
    """By the papers of a segment, with as many hashes as the papers have; files are removed."""
    found = measure_pairs(tmp_path, size(100), (50, 200))
    assert [(row["papers"], row["hashes"]) for row in found] == [(50, 250), (200, 250)]
    for row in found:
        assert row["own_seconds"] >= 0
        assert row["pair_seconds"] >= 0
    assert list(tmp_path.iterdir()) == []
