"""The notebooks in `examples` run, and are stored without outputs."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples").glob("*.ipynb"))
LIMIT = 300  # seconds for a cell; kernels may have to be compiled


def notebook_at(path: Path) -> Any:
    """The notebook in a file."""
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def test_notebooks_exist() -> None:
    """The notebooks that the documentation mentions are there."""
    assert [path.stem for path in NOTEBOOKS] == ["first_steps", "train_and_compare"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_have_no_outputs(path: Path) -> None:
    """The output of a cell is not stored."""
    cells = notebook_at(path).cells
    assert not [cell.id for cell in cells if cell.get("outputs") or cell.get("execution_count")]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # warnings of nbclient and its dependencies
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell runs, in a new folder, and answers are displayed."""
    for variable in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):  # leave the home directory alone
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
