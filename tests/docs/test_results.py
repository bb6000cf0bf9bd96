"""Figures in the documents are those that commands printed: blocks between marks are kept files."""

import json
import re
from pathlib import Path
from typing import Any

import publish
import pytest

from eqemb.evaluation import plots

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
MARK = re.compile(r"<!-- (results/\S+) -->\n(.*?)<!-- /results -->", re.DOTALL)
BLOCKS = [
    (document.name, name, block)
    for document in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    for name, block in MARK.findall(document.read_text("utf-8"))
]


def test_there_are_figures_in_the_documents() -> None:
    """The marks are found at all."""
    names = {name for _, name, _ in BLOCKS}
    assert names >= {"results/settings.md", "results/train.md", "results/standing.md"}


@pytest.mark.parametrize(("document", "name", "block"), BLOCKS, ids=lambda value: value[:30])
def test_figures_are_those_that_were_printed(document: str, name: str, block: str) -> None:
    """A block is the file it names, to the letter."""
    del document
    assert block.strip() == (RESULTS.parent / name).read_text("utf-8").strip()


def test_blocks_are_made_of_the_results() -> None:
    """What `publish.py` would write is what is there, and nothing is kept that it leaves out."""
    assert [path.name for path, _ in publish.outdated()] == []
    results, product = read("contest.json"), read("product.json")
    assert publish.trimmed(results) == results
    assert publish.trimmed(product, is_product=True) == product


def test_every_benchmark_is_listed() -> None:
    """The README beside them names each script."""
    said = (ROOT / "benchmarks" / "README.md").read_text("utf-8")
    scripts = [path.name for path in (ROOT / "benchmarks").glob("*.py")]
    assert scripts
    assert [name for name in scripts if f"`{name}" not in said] == []


def read(name: str) -> Any:
    """Results that are kept."""
    return json.loads((RESULTS / name).read_text("utf-8"))


def in_readings(results: Any, names: tuple[str, ...]) -> Any:
    """The same figures, as if they had been found in these readings."""
    entries, parts = [], plots.READINGS
    for entry in results["results"]:
        own = {key: value for key, value in entry.items() if key not in parts}
        entries.append(own | dict.fromkeys(names, entry["softmax"]))
    softmax = [entry for entry in results["differences"] if entry["reading"] == "softmax"]
    return results | {
        "results": entries,
        "differences": [entry | {"reading": name} for name in names for entry in softmax],
        "process_seconds": dict.fromkeys(names, 6000.0),
        "seconds": 6000.0 * len(names),
    }


def test_both_readings_make_one_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each has its tables, verdicts, seconds and pictures; nothing is said to be missing."""
    monkeypatch.setattr(publish, "DOCS", tmp_path)
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures/score_by_dim-logistic.svg").touch()
    both = in_readings(read("contest.json"), ("softmax", "logistic"))
    product = in_readings(read("product.json"), ("softmax",))
    made = publish.blocks(both, product)
    for name in (*publish.TABLES, "verdicts.md"):
        softmax, logistic = made[name].split("#### Logistic reading")
        assert softmax.startswith("#### Softmax reading")
        assert softmax.count("softmax reading") >= logistic.count("logistic reading") > 0
    assert "results/ --reading both" in made["commands.md"]
    assert "not been run" not in made["commands.md"]
    assert "product's column is of the softmax reading alone" in made["commands.md"]
    assert made["pictures.md"].count("](pictures/") == 1
    assert "grid: 200 minutes by the clock; 100 (softmax), 100 (logistic)" in made["seconds.md"]
    found_again = publish.seconds(both | {"seconds": 60.0}, None)
    assert "clock" not in found_again


def test_one_reading_has_no_headings() -> None:
    """The other is said to be missing."""
    made = publish.blocks(in_readings(read("contest.json"), ("softmax",)), None)
    assert not [name for name, text in made.items() if "####" in text]
    assert "logistic one (`--reading logistic`) has not" in made["commands.md"]
