"""Figures in the documents are those that commands printed: blocks between marks are kept files."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
MARK = re.compile(r"<!-- (results/\S+) -->\n(.*?)<!-- /results -->", re.DOTALL)
BLOCKS = [
    (document.name, name, block)
    for document in sorted((ROOT / "docs").glob("*.md"))
    for name, block in MARK.findall(document.read_text("utf-8"))
]


def test_there_are_figures_in_the_documents() -> None:
    """The marks are found at all."""
    assert {name for _, name, _ in BLOCKS} >= {"results/settings.md", "results/train.md"}


@pytest.mark.parametrize(("document", "name", "block"), BLOCKS, ids=lambda value: value[:30])
def test_figures_are_those_that_were_printed(document: str, name: str, block: str) -> None:
    """A block is the file it names, to the letter."""
    del document
    assert block.strip() == (RESULTS.parent / name).read_text("utf-8").strip()


def test_blocks_are_made_of_the_results() -> None:
    """What `publish.py` would write is what is there."""
    spec = importlib.util.spec_from_file_location("publish", RESULTS.parent / "publish.py")
    assert spec is not None
    assert spec.loader is not None
    publish = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(publish)
    assert [path.name for path, _ in publish.outdated()] == []
