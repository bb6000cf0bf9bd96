"""One writer at a time, with and without `fcntl`."""

import os
from pathlib import Path

import pytest

from eqemb.errors import EqembError
from eqemb.storage import locks
from eqemb.storage.locks import hold, locked, remove_unheld
from synthetic import start


@pytest.fixture(params=["fcntl", "filelock"])
def _either_lock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test with the lock of this system, and as if there were no `fcntl`."""
    if request.param == "filelock":
        monkeypatch.setattr(locks, "fcntl", None)


@pytest.mark.usefixtures("_either_lock")
def test_second_writer_is_refused(tmp_path: Path) -> None:
    """The message says what the first one is doing."""
    with (
        locked(tmp_path / ".lock", "lib is being written"),
        pytest.raises(EqembError, match=r"^lib is being written by another eqemb process; wait"),
        locked(tmp_path / ".lock", "lib is being written"),
    ):
        pytest.fail("both hold the lock")


@pytest.mark.usefixtures("_either_lock")
def test_lock_is_released(tmp_path: Path) -> None:
    """After success and after an error."""
    with locked(tmp_path / ".lock", "first"):
        pass
    with pytest.raises(ZeroDivisionError), locked(tmp_path / ".lock", "second"):
        raise ZeroDivisionError
    with locked(tmp_path / ".lock", "third"):
        pass


@pytest.mark.usefixtures("_either_lock")
@pytest.mark.parametrize("name", ["victim.txt", "nothing"])
def test_link_is_no_lock_file(tmp_path: Path, name: str) -> None:
    """Its target is neither changed nor created."""
    (tmp_path / "victim.txt").write_text("precious")
    (tmp_path / ".lock").symlink_to(tmp_path / name)
    with pytest.raises(EqembError, match="is a link, not a lock"), locked(tmp_path / ".lock", "it"):
        pytest.fail("it was locked")
    assert (tmp_path / "victim.txt").read_text() == "precious"
    assert not (tmp_path / "nothing").exists()


@pytest.mark.skipif(os.name == "nt", reason="filelock truncates its files on Windows")
def test_lock_file_is_not_truncated(tmp_path: Path) -> None:
    """It may be a hard link to another file."""
    (tmp_path / ".lock").write_text("precious")
    with locked(tmp_path / ".lock", "it"):
        pass
    assert (tmp_path / ".lock").read_text() == "precious"


@pytest.mark.usefixtures("_either_lock")
def test_system_errors_name_the_folder(tmp_path: Path) -> None:
    """A full disk is reported without a path by the system."""
    with pytest.raises(OSError, match="full") as caught, locked(tmp_path / ".lock", "it"):
        raise OSError(28, "disk full")
    assert caught.value.filename == str(tmp_path)


PROGRAM = """
import sys, time
from pathlib import Path
from eqemb.storage import locks
if sys.argv[2] == "filelock":
    locks.fcntl = None
with locks.locked(Path(sys.argv[1]), "it"):
    print("locked", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("kind", ["fcntl", "filelock"])
def test_lock_of_a_killed_process_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Another process is kept out while it lives, and no longer."""
    if kind == "filelock":
        monkeypatch.setattr(locks, "fcntl", None)
    with start("-c", PROGRAM, tmp_path / ".lock", kind) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        with pytest.raises(EqembError, match="another eqemb"), locked(tmp_path / ".lock", "it"):
            pass
        process.kill()
        process.communicate()
    with locked(tmp_path / ".lock", "it"):
        pass


def test_held_folder_is_not_removed(tmp_path: Path) -> None:
    """Until it is released."""
    folder = tmp_path / "generation"
    folder.mkdir()
    held = hold(folder)
    if held is None:
        pytest.skip("this file system has no locks")
    remove_unheld(folder)
    assert folder.exists()
    os.close(held)
    remove_unheld(folder)
    assert not folder.exists()


def test_folders_are_held_without_fcntl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows refuses to remove the open file of the folder; other systems do not refuse."""
    monkeypatch.setattr(locks, "fcntl", None)
    folder = tmp_path / "generation"
    folder.mkdir()
    held = hold(folder)
    assert held is not None
    unlink = Path.unlink

    def refuse(path: Path, **_: bool) -> None:
        raise PermissionError(13, "used by another process", str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    remove_unheld(folder)
    assert folder.exists()
    os.close(held)
    monkeypatch.setattr(Path, "unlink", unlink)
    remove_unheld(folder)
    assert not folder.exists()
