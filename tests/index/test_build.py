"""The index: its version, and its durability on disk."""

import json
import os
from pathlib import Path

import pytest

from axes import make_library
from eqemb.errors import EqembError
from eqemb.facade.library import Library
from eqemb.index.build import INDEX_VERSION, READABLE_VERSIONS, build_index
from synthetic import forget_checksums


@pytest.mark.parametrize(
    ("written", "found"),
    [(None, 0), ('{"version": 6}', 6), ("no JSON", 0), ("[]", 0)],
)
def test_an_index_of_another_version_is_refused(
    tmp_path: Path, written: str | None, found: int
) -> None:
    """Before a missing file fails; the articles can still be read."""
    make_library(tmp_path, model=False).close()
    (place,) = forget_checksums(tmp_path / "library").glob("segments/*/index/index.json")
    if written is None:
        place.unlink()
    else:
        place.write_text(written, "utf-8")
    with Library.open(tmp_path / "library") as library:
        assert library.article("angles").equations
        with pytest.raises(
            EqembError, match=f"index of version {found}, .* reads {INDEX_VERSION}: index it again"
        ):
            library.search("cosine")


@pytest.mark.parametrize("version", sorted(READABLE_VERSIONS))
def test_an_index_that_is_a_little_older_is_searched(tmp_path: Path, version: int) -> None:
    """Its files are the same, and so are the answers."""
    with make_library(tmp_path, model=False) as library:
        before = library.search("cosine").to_json()
    (place,) = forget_checksums(tmp_path / "library").glob("segments/*/index/index.json")
    header = json.loads(place.read_text("utf-8"))
    place.write_text(json.dumps(header | {"version": version}), "utf-8")
    with Library.open(tmp_path / "library") as library:
        assert library.search("cosine").to_json() == before


@pytest.mark.skipif(not hasattr(os, "O_DIRECTORY"), reason="folders cannot be synced here")
def test_files_and_folder_are_made_durable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder last, since it lists the files."""
    synced, fsync = [], os.fsync

    def note(handle: int) -> None:
        synced.append(os.fstat(handle).st_ino)
        fsync(handle)

    with make_library(tmp_path, model=False) as library:
        monkeypatch.setattr(os, "fsync", note)
        folder = tmp_path / "index"
        build_index(library.records.parts[0], folder)
    assert set(synced) - {folder.stat().st_ino} == {path.stat().st_ino for path in folder.iterdir()}
    assert synced[-1] == folder.stat().st_ino
