"""Figures in the documents come from files that commands printed."""

import json
import re
from pathlib import Path
from typing import Any

import publish
import pytest

from eqemb.models.likelihood import LIKELIHOODS

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
MARK = re.compile(r"<!-- (results/\S+) -->\n(.*?)<!-- /results -->", re.DOTALL)
BLOCKS = [
    (document.name, name, block)
    for document in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    for name, block in MARK.findall(document.read_text("utf-8"))
]


def test_documents_have_generated_blocks() -> None:
    """The marks are found."""
    names = {name for _, name, _ in BLOCKS}
    assert names >= {"results/conclusions.md", "results/train.md", "results/standing.md"}


def test_results_page_is_short_and_starts_with_its_conclusions() -> None:
    """At most 200 lines; long tables are data files that the page links to."""
    lines = (ROOT / "docs" / "results.md").read_text("utf-8").splitlines()
    assert len(lines) <= 200
    assert lines[2] == "<!-- results/conclusions.md -->"
    assert lines[3].startswith("**Conclusions.** ")


@pytest.mark.parametrize(("document", "name", "block"), BLOCKS, ids=lambda value: value[:30])
def test_blocks_match_their_files(document: str, name: str, block: str) -> None:
    """A block has exactly the text of the file it names."""
    del document
    assert block.strip() == (RESULTS.parent / name).read_text("utf-8").strip()


def test_blocks_are_up_to_date() -> None:
    """`publish.py` would change nothing, and the stored results are trimmed."""
    assert [path.name for path, _ in publish.outdated()] == []
    results, product = read("grid.json"), read("product.json")
    assert publish.trimmed(results) == results
    assert publish.trimmed(product, is_product=True) == product


def test_every_benchmark_is_listed() -> None:
    """The README of the folder names each script."""
    readme = (ROOT / "benchmarks" / "README.md").read_text("utf-8")
    scripts = [path.name for path in (ROOT / "benchmarks").glob("*.py")]
    assert scripts
    assert [name for name in scripts if f"`{name}" not in readme] == []


def read(name: str) -> Any:
    """Read stored results."""
    return json.loads((RESULTS / name).read_text("utf-8"))


def in_readings(results: Any, names: tuple[str, ...]) -> Any:
    """Return the results with the softmax figures copied to the given readings."""
    entries, parts = [], LIKELIHOODS
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


def test_both_readings_are_rendered() -> None:
    """Each reading has its tables, comparisons and times."""
    both = in_readings(read("grid.json"), ("softmax", "logistic"))
    product = in_readings(read("product.json"), ("softmax",))
    made = publish.blocks(both, product)
    for name in (*publish.TABLES, "comparisons.md"):
        softmax, logistic = made[name].split("#### Logistic reading")
        assert softmax.startswith("#### Softmax reading")
        assert softmax.count("softmax reading") >= logistic.count("logistic reading") > 0
    assert "results/ --reading both" in made["commands.md"]
    assert "not been run" not in made["commands.md"]
    assert "product's column shows the softmax reading only" in made["commands.md"]
    assert "grid: 200 minutes wall-clock; 100 (softmax), 100 (logistic)" in made["seconds.md"]
    resumed = publish.seconds(both | {"seconds": 60.0}, None)
    assert "wall-clock" not in resumed


def test_one_reading_has_no_headings() -> None:
    """The commands say that the other reading has not been run."""
    made = publish.blocks(in_readings(read("grid.json"), ("softmax",)), None)
    assert not [name for name, text in made.items() if "####" in text]
    assert "The logistic reading (`--reading logistic`) has not" in made["commands.md"]
