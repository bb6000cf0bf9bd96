"""The benchmarks of libraries that grow, on a few papers."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from packing import tar
from synthetic import HAS_PROC

ROOT = Path(__file__).parents[2]
BENCHMARKS, DEMO = ROOT / "benchmarks", ROOT / "src" / "eqemb" / "demo"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not HAS_PROC, reason="measures processes in /proc"),
]


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    """Pack some articles of the demo."""
    for paper in sorted(DEMO.glob("ir/*.tex"))[:12]:
        path = tmp_path / "corpora" / "ir" / f"{paper.stem}.tar.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(tar({"main.tex": paper.read_bytes()})))
    return tmp_path / "corpora"


def run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a benchmark."""
    return subprocess.run(
        [sys.executable, BENCHMARKS / script, *map(str, arguments)],
        capture_output=True,
        check=False,
        text=True,
        timeout=600,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )


def test_growth_is_measured_once(corpora: Path, tmp_path: Path) -> None:
    """There are figures of each size and their ratios; a second run prints them again."""
    options = (corpora, tmp_path / "work", "--sizes", 12, 30, "--adds", 1)
    first = run("growth.py", *options)
    assert first.returncode == 0, first.stderr
    rows = {line.split(" | ")[0].strip("| "): line for line in first.stdout.splitlines()}
    assert rows["articles"] == "| articles | 12 | 30 |"
    for name in ("indexing CPU s/1,000", "build anonymous MB", "add s", "first answer ms"):
        small, large, ratio = map(float, rows[name].replace(",", "").strip("| ").split(" | ")[1:])
        assert small > 0
        assert ratio == pytest.approx(large / small, rel=0.02)
    measured = json.loads((tmp_path / "work" / "growth.json").read_text("utf-8"))["sizes"]
    assert {name: len(row["add"]) for name, row in measured.items()} == {"12": 1, "30": 1}
    again = run("growth.py", *options)
    assert (again.stdout, again.stderr) == (first.stdout, "")


def test_kills_are_counted(corpora: Path, tmp_path: Path) -> None:
    """Each trial is logged with its kills and its completion."""
    done = run("kills.py", corpora, tmp_path / "work", "--papers", 12, "--kills", 5)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "work" / "kills.jsonl").read_text("utf-8").splitlines()
    trials = [json.loads(line) for line in lines]
    kills = [step for trial in trials for step in trial["story"] if step.startswith("killed")]
    assert len(kills) == 5
    assert not any(trial["violations"] for trial in trials)
    assert all("completed" in " ".join(trial["story"]) for trial in trials)
