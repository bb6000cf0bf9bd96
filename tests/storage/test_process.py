"""Child processes do not run modules from the current folder."""

import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

import eqemb
from eqemb.storage.process import python_command, python_environment, safe_spawn
from synthetic import hostile_modules

PACKAGE = Path(eqemb.__file__).parent


@pytest.fixture
def hostile_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with modules that leave a mark when they are imported."""
    hostile_modules(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def executed(folder: Path) -> str | None:
    """Return the hostile module that was imported, and by which program."""
    mark = folder / "executed"
    return mark.read_text("utf-8") if mark.exists() else None


def run_child(environment: dict[str, str]) -> None:
    """Run a command that imports pickle and numpy."""
    command = python_command("eqemb.library.near_duplicates")
    subprocess.run(command, env=environment, check=True, timeout=60)


def test_child_ignores_modules_of_the_current_folder(hostile_folder: Path) -> None:
    """A folder of papers may contain a numpy.py."""
    run_child(python_environment())
    assert executed(hostile_folder) is None


@pytest.mark.parametrize("entry", ["", ".", "here"])
def test_child_ignores_the_current_folder_on_our_path(
    hostile_folder: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    """Whether it was started by `python -m` or PYTHONPATH has an empty entry."""
    entry = str(hostile_folder) if entry == "here" else entry
    with monkeypatch.context() as patch:  # short: this process may import something, too
        patch.setattr(sys, "path", [entry, *sys.path])
        patch.setenv("PYTHONPATH", os.pathsep.join([entry, ""]))
        environment = python_environment()
    run_child(environment)
    assert executed(hostile_folder) is None


def test_child_can_import_eqemb_from_the_current_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout may be run from its own folder."""
    monkeypatch.chdir(PACKAGE.parent)
    monkeypatch.setattr(sys, "path", [str(PACKAGE.parent), *sys.path])
    assert str(PACKAGE.parent) in python_environment()["PYTHONPATH"].split(os.pathsep)


def test_search_path_without_a_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A removed current folder is no error."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    monkeypatch.setattr(sys, "path", ["", "lib", "/usr/lib"])
    assert python_environment()["PYTHONPATH"] == "/usr/lib"


def test_spawned_process_ignores_modules_of_the_current_folder(hostile_folder: Path) -> None:
    """Processes of a pool start with `python -c`, which searches the current folder first."""
    with safe_spawn(), ProcessPoolExecutor(1, get_context("spawn")) as pool:
        assert pool.submit(os.getpid).result() != os.getpid()
    assert executed(hostile_folder) is None
    assert "PYTHONSAFEPATH" not in os.environ


def test_grid_search_ignores_modules_of_the_current_folder(
    hostile_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Constructing a pool starts the resource tracker of multiprocessing: safely as well."""
    script = tmp_path_factory.mktemp("script") / "search.py"
    script.write_text(
        "from pathlib import Path\n"
        "from eqemb.evaluation import grid\n"
        "if __name__ == '__main__':\n"
        "    grid.summary = lambda *_: {}\n"  # of no collection there is none
        "    grid.run(Path('lib'), Path('out'), grid.GridPlan(collections=()), jobs=1)\n",
        "utf-8",
    )
    # the tracker holds the pipe of stderr open, so that this waits for its end
    command = [sys.executable, str(script)]
    subprocess.run(command, stderr=subprocess.PIPE, check=True, timeout=120)
    assert executed(hostile_folder) is None


def test_command_line_ignores_modules_of_the_current_folder(hostile_folder: Path) -> None:
    """`python -m eqemb` in a folder of papers runs none of its modules."""
    (hostile_folder / "eqemb.py").unlink()  # `python -m eqemb` would mean this one
    command = [sys.executable, "-m", "eqemb", "info", "nothing"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=False)
    assert "no library at" in done.stderr
    assert executed(hostile_folder) is None


def test_command_line_runs_in_the_folder_that_holds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout that is not installed may be run from its own folder."""
    monkeypatch.chdir(PACKAGE.parent)
    command = [sys.executable, "-i", "-m", "eqemb", "--version"]
    asked = "import sys; print('first:', sys.path[0])"
    done = subprocess.run(
        command, input=asked, capture_output=True, encoding="utf-8", timeout=120, check=False
    )
    assert f"first: {PACKAGE.parent}" in done.stdout


def test_safe_spawn_restores_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that was set before keeps its value."""
    monkeypatch.setenv("PYTHONSAFEPATH", "yes")
    with safe_spawn():
        assert os.environ["PYTHONSAFEPATH"] == "1"
    assert os.environ["PYTHONSAFEPATH"] == "yes"
