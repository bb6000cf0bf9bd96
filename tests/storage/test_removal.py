"""Removing folders: again if that fails, and hidden where nothing may be left."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from eqemb.storage import removal
from eqemb.storage.removal import hide_and_remove, remove_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file."""
    made = tmp_path / "folder"
    made.mkdir()
    (made / "file").write_text("x")
    return made


def refuse_removals(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Let so many removals do nothing, as if another process held a file."""
    left, remove = iter(range(times)), shutil.rmtree

    def some(path: Path, *, ignore_errors: bool) -> None:
        if next(left, None) is None:
            remove(path, ignore_errors=ignore_errors)

    monkeypatch.setattr(removal, "_PAUSE", 0)
    monkeypatch.setattr(shutil, "rmtree", some)


def test_removal_is_tried_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is held for a moment does not leave the folder."""
    refuse_removals(monkeypatch, 2)
    remove_folder(folder)
    assert not folder.exists()


def test_folder_that_cannot_be_removed_is_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no error."""
    refuse_removals(monkeypatch, 1_000)
    remove_folder(folder)
    assert (folder / "file").exists()


def test_folder_that_must_not_be_left_is_hidden(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that it does not count as a part of the folder that it is in."""
    refuse_removals(monkeypatch, 1_000)
    hide_and_remove(folder)
    assert [path.name for path in folder.parent.iterdir()] == [".folder"]


def test_nothing_to_remove_is_no_error(tmp_path: Path) -> None:
    """For either function."""
    remove_folder(tmp_path / "none")
    hide_and_remove(tmp_path / "none")


@pytest.mark.parametrize("remove", [remove_folder, hide_and_remove])
def test_of_a_link_only_the_link_is_removed(folder: Path, remove: Callable[[Path], None]) -> None:
    """Whether it leads to a folder or nowhere."""
    for target in (folder, folder / "nothing"):
        link = folder.with_name("link")
        link.symlink_to(target)
        remove(link)
        assert list(folder.parent.iterdir()) == [folder]
    assert (folder / "file").read_text() == "x"


def test_the_hidden_name_is_durable_before_anything_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power loss leaves the whole folder, or none of this name."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "file").touch()
    synced = []

    def look(folder: Path) -> None:
        synced.append((folder, sorted(path.as_posix() for path in folder.rglob("*"))))

    monkeypatch.setattr(removal, "sync_folder", look)
    hide_and_remove(tmp_path / "work")
    hidden = f"{tmp_path.as_posix()}/.work"
    assert synced == [(tmp_path, [hidden, f"{hidden}/file"])]
    assert not any(tmp_path.iterdir())
