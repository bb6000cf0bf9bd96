"""The notebooks in `examples` run from the first cell to the last, and are kept without outputs."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples").glob("*.ipynb"))
LIMIT = 300  # seconds for a cell; a whole notebook takes some, where loops are compiled already


def notebook_at(path: Path) -> Any:
    """A notebook as it lies there."""
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def test_there_are_notebooks() -> None:
    """Those that the documents speak of."""
    assert [path.stem for path in NOTEBOOKS] == ["first_steps", "train_and_compare"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_clean(path: Path) -> None:
    """What a cell printed on some machine is no part of it."""
    cells = notebook_at(path).cells
    assert not [cell.id for cell in cells if cell.get("outputs") or cell.get("execution_count")]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the packages that run it, in this process
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell, in order, in a folder of its own; every answer has something to show."""
    for variable in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):  # nothing is left at home
        monkeypatch.setenv(variable, str(tmp_path / variable))
    notebook = notebook_at(path)
    NotebookClient(
        notebook, timeout=LIMIT, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    shown = [cell for cell in notebook.cells if cell.get("outputs")]
    assert len(shown) > 5
    if path.stem == "first_steps":
        data = [output.data for cell in shown for output in cell.outputs if "data" in output]
        assert sum("<math" in str(found.get("text/html", "")) for found in data) >= 5
