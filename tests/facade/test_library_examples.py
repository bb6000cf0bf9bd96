"""The examples in the docstrings of the public `Library` run, on the demo library."""

import doctest
import shutil
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from eqemb.facade import indexed
from eqemb.facade import library as module
from eqemb.facade.library import Library
from eqemb.search import results
from few_articles import DEMO, copy_articles

SOURCES = [module, indexed, results]
if find_spec("sklearn") is not None:
    SOURCES.append(import_module("eqemb.sklearn.vectorizer"))
EXAMPLES = [
    example
    for source in SOURCES
    for example in doctest.DocTestFinder().find(source, globs=dict(vars(source)))
    if example.examples
]


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Provide the names that the examples use: the demo library, two papers, a folder."""
    folder = tmp_path_factory.mktemp("examples")
    papers = copy_articles(folder / "papers", ["ir/bm25.tex", "ir/f-measure.tex"])
    settings = {"window": 32, "equation_window": 32}
    with Library.build(DEMO, folder / "demo", model=settings) as library:
        yield {"library": library, "papers": papers, "folder": folder / "small"}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_examples_give_what_they_show(example: doctest.DocTest, names: dict[str, Any]) -> None:
    """Each in a folder of its own."""
    if example.name.endswith("to_frame"):
        pytest.importorskip("pandas")
    folder: Path = names["folder"]
    shutil.rmtree(folder, ignore_errors=True)
    example.globs.update(names)
    found = doctest.DocTestRunner(verbose=False).run(example, clear_globs=False)
    assert found.attempted
    assert not found.failed


def test_every_public_method_has_an_example() -> None:
    """What the front door offers is shown by example."""
    shown = {example.name.rpartition(".")[2] for example in EXAMPLES}
    offered = {"build", "read", "search", "similar", "describe", "words", "query", "why"}
    offered |= {"vector", "encode", "__getitem__", "to_frame"}
    assert offered <= shown
