"""What a kill leaves in a generation that is being made is not there when it is finished."""

from pathlib import Path

import pytest

from eqemb.facade import build
from eqemb.facade.merging import forget_origins
from synthetic import read_inline, topical


def test_temporary_folders_of_a_kill_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill right after a file is written leaves the folder in which it was written."""
    read_inline(monkeypatch)

    def leave_folder(generation: Path) -> None:
        (generation / ".settings.json.abcdefgh").mkdir()
        forget_origins(generation)

    monkeypatch.setattr(build, "forget_origins", leave_folder)
    build.build_library(topical(tmp_path / "papers", 2), tmp_path / "library", model=False, jobs=1)
    found = list((tmp_path / "library" / "generations").rglob(".*"))
    assert not [path for path in found if path.is_dir()]
