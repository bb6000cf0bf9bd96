"""The checksums of a library: every change keeps them right, and older libraries get them."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from axes import make_full_library
from campaigns import FULL
from eqemb.errors import DamageError, EqembError
from eqemb.facade import verify as verification
from eqemb.facade.equation_map import map_of
from eqemb.facade.library import Library
from eqemb.facade.retrain import retrain_model
from eqemb.facade.sync import update_library
from eqemb.facade.update import add_papers, compact_library, remove_articles
from eqemb.facade.use import use_model
from eqemb.facade.verify import verify
from eqemb.library import generations
from eqemb.models import workspace
from eqemb.storage import checksums
from eqemb.storage.atomic import new_folder
from eqemb.storage.checksums import Damage
from synthetic import Run, assert_one_sentence, forget_checksums, paper, read_inline

NEW = paper(r"The cosine of a new angle is \[ \cos(u, v) = z + 4 \] as before.", "New")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with a model, a map, a trained model and a corpus."""
    return make_full_library(tmp_path_factory.mktemp("made"))


@pytest.fixture
def library(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy that a test may change."""
    read_inline(monkeypatch)
    shutil.copytree(made.parent / "papers", tmp_path / "papers")
    return Path(shutil.copytree(made, tmp_path / "library"))


def add(library: Path) -> None:
    """Add a paper."""
    (library.parent / "papers" / "new.tex").write_text(NEW, "utf-8")
    add_papers(library, library.parent / "papers", root=library.parent / "papers", jobs=1)


def update(library: Path) -> None:
    """Update a library whose papers have moved here."""
    (library.parent / "papers" / "new.tex").write_text(NEW, "utf-8")
    update_library(library, library.parent / "papers", root=library.parent / "papers", jobs=1)


def add_and_compact(library: Path) -> None:
    """Add a paper, and merge its segment with the other."""
    add(library)
    compact_library(library)


def redraw(library: Path) -> None:
    """Compute the map again."""
    with Library.open(library) as opened:
        map_of(opened, recompute=True)


CHANGES: dict[str, Callable[[Path], Any]] = {
    "add": add,
    "remove": lambda library: remove_articles(library, "again"),
    "update": update,
    "use": lambda library: use_model(library, "m"),
    "map": redraw,
    "add and compact": add_and_compact,
    **({"retrain": retrain_model} if FULL else {}),
}


@pytest.mark.parametrize("change", list(CHANGES))
def test_every_change_keeps_the_checksums_right(library: Path, change: str) -> None:
    """Of all files, and nothing else is read again."""
    before = {path: path.stat().st_mtime_ns for path in library.glob("segments/*/checksums.json")}
    CHANGES[change](library)
    found = verify(library)
    assert (found.damage, found.notes) == ([], [])
    assert all(path.stat().st_mtime_ns == time for path, time in before.items() if path.exists())


def test_a_change_during_verification_is_no_damage(library: Path) -> None:
    """What is read is the state that was current at the start, which its lock keeps."""
    changes: list[int] = []

    def change(_done: int, _all: int) -> None:
        if not changes:
            changes.append(1)
            add(library)

    before = json.loads((library / "library.json").read_text("utf-8"))
    found = verify(library, change)
    assert (found.damage, found.sha256) == ([], before["checksums"])
    assert json.loads((library / "library.json").read_text("utf-8")) != before
    assert verify(library).is_intact


@pytest.mark.parametrize("is_removed", [False, True])
def test_a_map_that_is_replaced_during_verification_is_no_damage(
    library: Path, monkeypatch: pytest.MonkeyPatch, *, is_removed: bool
) -> None:
    """Its checksums were read before, and its files after."""
    replaced: list[Path] = []

    def find(folder: Path, *args: Any, **named: Any) -> Iterator[Damage]:
        if folder.name == "map" and not replaced:
            replaced.append(folder)
            with new_folder(folder, replace=True) as made:
                (made / "map.json").write_text("new", "utf-8")
                checksums.seal(made)
            if is_removed:
                shutil.rmtree(folder)
                raise FileNotFoundError(folder)
            yield Damage(folder / "map.json", "was changed")
        else:
            yield from checksums.find_damage(folder, *args, **named)

    monkeypatch.setattr(verification, "find_damage", find)
    assert verify(library).damage == []
    assert replaced
    if not is_removed:
        (replaced[0] / "map.json").write_text("old", "utf-8")
        assert len(verify(library).damage) == 1


def test_a_kill_before_the_report_is_copied_is_no_damage(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy is that of the state before, which the next change replaces."""
    copy_report, added = generations._copy_report, generations.next_generation(library)

    def stop(folder: Path, generation: Path) -> None:
        """End as a kill does, once the new generation is current."""
        if generation == added:
            raise KeyboardInterrupt
        copy_report(folder, generation)

    with monkeypatch.context() as patch:
        patch.setattr(generations, "_copy_report", stop)
        with pytest.raises(KeyboardInterrupt):
            add(library)
    found = verify(library)
    assert found.damage == []
    assert "report.json is that of an older state" in found.notes[0]
    (library / "report.json").write_bytes(b"{}")
    assert [one.path.name for one in verify(library).damage] == ["report.json"]
    remove_articles(library, "again")
    assert (verify(library).damage, verify(library).notes) == ([], [])


@pytest.mark.parametrize("change", ["add", "remove", "use", "compact"])
def test_an_older_library_gets_checksums_by_its_next_change(library: Path, change: str) -> None:
    """Until then, it is read as before, and verify says what it could not check."""
    forget_checksums(library)
    found = verify(library)
    assert (found.damage, found.sha256) == ([], "")
    assert "an older version of eqemb made this library" in found.notes[0]
    with Library.open(library) as opened:
        assert opened.search("cosine").hits
    (CHANGES | {"compact": compact_library})[change](library)
    found = verify(library)
    assert (found.damage, found.notes) == ([], [])
    assert len(found.sha256) == 64


def test_damage_of_an_older_library_is_found_where_it_has_hashes(library: Path) -> None:
    """In the index, in vectors, in models, and by SQLite."""
    forget_checksums(library)
    for pattern in (
        *("segments/*/index/terms.owners.npy", "segments/*/records.sqlite"),
        *("vectors/*/*/contexts.npy", "models/m/arrays.safetensors"),
    ):
        (path,) = library.glob(pattern)
        whole = path.read_bytes()
        half = len(whole) // 2
        path.write_bytes(whole[:half] + bytes(byte ^ 255 for byte in whole[half:]))
        assert len(verify(library).damage) == 1, pattern
        path.write_bytes(whole)


def test_damaged_records_are_not_copied(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor sealed again as if they were right."""
    monkeypatch.setattr(checksums, "READ_AT_OPENING", 0)
    remove_articles(library, "again")
    (path,) = library.glob("segments/*/records.sqlite")
    path.write_bytes(path.read_bytes().replace(b"harmonic", b"harmonix"))
    with pytest.raises(DamageError, match=r"records\.sqlite was changed"):
        compact_library(library)
    assert not verify(library).is_intact


#: Files with a version, how it is made older, and what is said.
OLDER: dict[str, tuple[str, str]] = {
    "library.json": ("format", r"has library format 0, .* rebuild it, or use that version"),
    "segments/*/index/index.json": ("version", r"index of version 0, .* `eqemb compact`, or use"),
    "models/m/config.json": ("version", r"a model of version 0, .* create it again, or use the"),
    "generations/1/model/config.json": ("version", r"a model of version 0, .* create it again, or"),
    "corpus/*/*/corpus.json": ("version", r"a corpus of version 0, .* create it again, or use the"),
    "checksums.json": ("version", r"has version 0, .* restore it from a copy, or rebuild"),
}


@pytest.mark.parametrize("name", list(OLDER))
def test_older_versions_are_refused_with_a_remedy(run: Run, library: Path, name: str) -> None:
    """In every file that has one."""
    if name == "checksums.json":
        path = library / "generations/1/checksums.json"
    else:
        forget_checksums(library)
        (path,) = library.glob(name)
    key, sentence = OLDER[name]
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {key: 0}), "utf-8")
    with pytest.raises(EqembError, match=sentence):
        open_everything(library)
    if name in ("library.json", "checksums.json"):
        done = run("search", library, "cosine")
        assert done.code in (1, 2)
        assert_one_sentence(done)


def open_everything(library: Path) -> None:
    """Ask a library, and open its models and its corpus."""
    with Library.open(library) as opened:
        opened.search("cosine")
        workspace.find_model(opened, "m")
        type(opened.model).load(library / "models" / "m")  # type: ignore[union-attr]
        workspace.corpus(opened)


@pytest.mark.parametrize("name", ["generations/1/map/map.json", "generations/1/sources.json"])
def test_older_versions_of_what_can_be_computed_are_passed_over(library: Path, name: str) -> None:
    """The map is computed again, and sources are read again."""
    forget_checksums(library)
    path = library / name
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {"format": 0}), "utf-8")
    with Library.open(library) as opened:
        assert opened.search("cosine").hits
        map_of(opened)
    update(library)
    assert verify(library).is_intact
