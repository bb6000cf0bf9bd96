"""Segments are merged without computing anything again, into large ones, and after a build."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqemb.facade.library import Library
from eqemb.facade.merging import merged_parts
from eqemb.facade.update import add_papers, compact_library, remove_articles
from eqemb.facade.use import use_model
from eqemb.index import build as index_build
from eqemb.index.build import build_vectors
from eqemb.index.merge import merge_indexes
from eqemb.index.merge_arrays import CannotMergeError
from eqemb.index.segments import open_index
from eqemb.index.text import index_text
from eqemb.index.vectors import _UnitVectors, _WordVectors
from eqemb.library import segments
from eqemb.library.database import Records
from eqemb.library.generations import OpenLibrary
from eqemb.library.segments import SegmentWriter
from eqemb.models.embeddings import Embeddings
from synthetic import forget_checksums, paper, read_inline

FORMULAS = (r"F = \frac{2 P R}{P + R}", "x = y", "x_i + y_i^2", r"\cos(x, y) = z", "a = b + c")

_TIMED = ("records.sqlite", "checksums.json")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Papers are read into segments of one, and these are merged into segments of six."""
    read_inline(monkeypatch)
    monkeypatch.setattr(os, "fsync", lambda _: None)  # waiting for the disk takes most of the time
    monkeypatch.setattr(segments, "SEGMENT_DOCUMENTS", 1)
    monkeypatch.setattr(segments, "LARGE_SEGMENT_DOCUMENTS", 6)


def write(folder: Path, count: int) -> Path:
    """Write papers whose equations and words overlap."""
    folder.mkdir(exist_ok=True)
    for number in range(count):
        body = (
            f"the angle of vector {'abcdefghij'[number]} word. \\[ {FORMULAS[number % 5]} \\]"
            f" where $x$ is the mean. \\[ {FORMULAS[number * 2 % 5]} \\]"
        )
        (folder / f"p{number}.tex").write_text(paper(body, f"On p{number}"), "utf-8")
    return folder


def sizes(folder: Path) -> list[int]:
    """Return the numbers of documents of the segments of a library."""
    with Library.open(folder) as library:
        return [part.live for part in library.manifest.segments]


def files(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder, without the times of reading that records hold.

    Nor the checksums of a segment, which depend on them.
    """
    timed = {path.parent / name for path in folder.rglob("records.sqlite") for name in _TIMED}
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path not in timed
    }


def refuse(*_: object, **_more: object) -> None:
    """Stand for a function that must not be called."""
    raise AssertionError("it was computed again")


def count_indexed(patch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which the number of documents of every segment that is indexed is added."""
    found: list[int] = []

    def index(records: Records, folder: Path) -> None:
        found.append(records.documents)
        index_text(records, folder)

    patch.setitem(index_build.INDEX_PARTS, "text", index)
    return found


def make_older(folder: Path) -> None:
    """Change the indexes of a library, and the names of segments, to those of an older version."""
    forget_checksums(folder)
    manifest = folder / "generations" / "1" / "manifest.json"
    for place in list((folder / "segments").iterdir()):
        path = place / "index" / "index.json"
        header = json.loads(path.read_text("utf-8"))
        version = min(index_build.READABLE_VERSIONS)
        path.write_text(json.dumps(header | {"version": version}), "utf-8")
        old = f"{'1' if place.name[0] == '0' else '0'}{place.name[1:]}"
        manifest.write_text(manifest.read_text("utf-8").replace(place.name, old), "utf-8")
        place.rename(place.with_name(old))


def model_of(folder: Path) -> Path:
    """Save a model of some words and units."""
    dice = np.random.default_rng(0)
    keys = {
        "words": ["angle", "vector", "mean", "word"],
        "units": ["V!x\tO!eq\tn", "O!eq\tV!y\tn"],
        "equations": ["x"],
    }
    arrays = {
        f"{side}_{kind}": dice.standard_normal((len(names), 7)).astype(np.float32)
        for kind, names in keys.items()
        for side in ("alpha", "rho")
        if (side, kind) != ("rho", "units")
    }
    pooling = {"unit_pooling": "mean", "unit_weight": 1.0}
    config = {"model": "eqemb-h", "settings": pooling, "validation": -1.0}
    Embeddings(config, arrays, keys).save(folder)
    return folder


def build(papers: Path, folder: Path, size: int = 1, **options: Any) -> None:
    """Build a library without a model; segments have so many documents when they are read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "SEGMENT_DOCUMENTS", size)
        Library.build(papers, folder, model=False, jobs=1, **options).close()


def test_a_build_ends_with_large_segments(tmp_path: Path) -> None:
    """They are those of papers that are read into large segments; progress is shown."""
    said: list[str] = []
    papers = write(tmp_path / "papers", 9)
    build(papers, tmp_path / "library", watch=lambda _, state: said.append(state))
    assert sizes(tmp_path / "library") == [6, 3]
    assert {"merging segments 1 of 2", "merging segments 2 of 2"} <= {*said}
    build(papers, tmp_path / "whole", 6)
    assert files(tmp_path / "library" / "segments") == files(tmp_path / "whole" / "segments")
    with Library.open(tmp_path / "library") as one, Library.open(tmp_path / "whole") as other:
        assert one.records.sha256() == other.records.sha256()
        assert one.manifest == other.manifest
        assert one.report == other.report


def test_few_segments_of_a_build_are_kept(tmp_path: Path) -> None:
    """Merging them would gain little."""
    build(write(tmp_path / "papers", 4), tmp_path / "library")
    assert sizes(tmp_path / "library") == [1, 1, 1, 1]


@pytest.mark.parametrize("merged", [0, 1])
def test_merging_of_a_build_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, merged: int
) -> None:
    """Segments that were merged before the interruption are not merged again."""
    papers, calls = write(tmp_path / "papers", 9), 0

    def fail_later(*given: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == merged + 1:
            raise KeyboardInterrupt
        merge_indexes(*given)

    monkeypatch.setattr(index_build, "merge_indexes", fail_later)
    with pytest.raises(KeyboardInterrupt):
        build(papers, tmp_path / "library")
    build(papers, tmp_path / "library", resume=True)
    assert calls == 3
    assert sizes(tmp_path / "library") == [6, 3]
    build(papers, tmp_path / "whole", 6)
    assert files(tmp_path / "library" / "segments") == files(tmp_path / "whole" / "segments")
    assert not merged_parts(tmp_path / "library" / "generations" / "1")


def test_compaction_does_not_index_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where papers were removed; the files are those of a new library."""
    folder, papers = tmp_path / "library", write(tmp_path / "papers", 5)
    build(papers, folder)
    build(papers, tmp_path / "halves", 3)
    for place in (folder, tmp_path / "halves"):
        remove_articles(place, ["p0", "p3"])
    for name in ("p0", "p3"):
        (papers / f"{name}.tex").unlink()
    build(papers, tmp_path / "new", 6)
    monkeypatch.setattr(index_build, "index_text", refuse)
    for place in (folder, tmp_path / "halves"):
        assert compact_library(place).after == 1
        assert files(place / "segments") == files(tmp_path / "new" / "segments")


def test_an_addition_does_not_index_others_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When many small segments are merged."""
    folder, papers = tmp_path / "library", write(tmp_path / "papers", 7)
    build(papers, folder)
    assert sizes(folder) == [1] * 7
    indexed = count_indexed(monkeypatch)
    add_papers(folder, write(papers, 8), jobs=1)
    assert sizes(folder) == [6, 1, 1]
    assert indexed == [1]


def test_an_older_index_is_computed_again_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory for indexing is bounded; the pieces are merged, and the files are the same."""
    folder, papers = tmp_path / "library", write(tmp_path / "papers", 9)
    build(papers, folder)
    wanted = files(folder / "segments")
    make_older(folder)
    indexed = count_indexed(monkeypatch)
    assert compact_library(folder).after == 2
    assert indexed == [1] * 9
    assert files(folder / "segments") == wanted


def damage(folder: Path, place: int) -> None:
    """Change a file of the index of a segment of a library."""
    with Library.open(folder) as library:
        name = library.manifest.segments[place].name
    path = folder / "segments" / name / "index" / "terms.weights.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")


def test_papers_beside_a_damaged_index_are_indexed_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Memory for indexing is bounded; the pieces are merged, and the files are the same."""
    folder, papers = tmp_path / "library", write(tmp_path / "papers", 5)
    build(papers, folder)
    shutil.copytree(folder, tmp_path / "intact")
    compact_library(tmp_path / "intact")
    damage(folder, 3)
    indexed = count_indexed(monkeypatch)
    assert compact_library(folder).after == 1
    assert indexed == [1]
    assert files(folder / "segments") == files(tmp_path / "intact" / "segments")
    assert "terms.weights.npy is damaged: papers are indexed again, some at a time" in caplog.text


def test_an_addition_beside_a_damaged_index_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if nothing can be merged, whatever the reason."""
    folder, papers = tmp_path / "library", write(tmp_path / "papers", 7)
    build(papers, folder)
    shutil.copytree(folder, tmp_path / "other")
    damage(folder, 3)
    write(papers, 8)
    indexed = count_indexed(monkeypatch)
    add_papers(folder, papers, jobs=1)
    assert sizes(folder) == [6, 1, 1]
    assert indexed == [1, 1]  # the new one, and the one whose index was damaged

    def fail(*_: object) -> None:
        raise CannotMergeError("it does not fit")

    monkeypatch.setattr(index_build, "merge_indexes", fail)
    add_papers(tmp_path / "other", papers, jobs=1)
    assert sizes(tmp_path / "other") == [1] * 8
    assert max(indexed) == 1


@pytest.mark.parametrize("stop", [1, 3, 6])
def test_indexing_in_pieces_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: int
) -> None:
    """No paper is lost: five pieces are written, and the segment that they are merged into."""
    folder, papers = tmp_path / "library", write(tmp_path / "papers", 5)
    build(papers, folder)
    damage(folder, 1)
    left, adopt = stop, SegmentWriter.adopt

    def interrupt(*given: Any) -> None:
        nonlocal left
        left -= 1
        if not left:
            raise KeyboardInterrupt
        adopt(*given)

    with monkeypatch.context() as patch:
        patch.setattr(SegmentWriter, "adopt", interrupt)
        with pytest.raises(KeyboardInterrupt):
            compact_library(folder)
        compact_library(folder, resume=True)
    assert sizes(folder) == [5]
    build(papers, tmp_path / "whole", 6)
    assert files(folder / "segments") == files(tmp_path / "whole" / "segments")


def test_vectors_of_merged_segments_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have the bytes of vectors that are computed for the merged segment."""
    folder = tmp_path / "library"
    build(write(tmp_path / "papers", 5), folder)
    use_model(folder, model_of(tmp_path / "model"))
    remove_articles(folder, ["p1"])
    with monkeypatch.context() as patch:
        patch.setattr(_WordVectors, "contexts", refuse)
        patch.setattr(_UnitVectors, "sum", refuse)
        compact_library(folder)
    with OpenLibrary.open(folder) as library:
        place = folder / "vectors" / library.manifest.vectors
        (part,) = library.manifest.segments
        found = files(place / part.name)
        shutil.rmtree(place / part.name)
        model = Embeddings.load(library.generation / "model")
        build_vectors(place, model, open_index(library))
    assert len(found) == 5
    assert files(place / part.name) == found


def test_vectors_of_new_papers_are_computed(tmp_path: Path) -> None:
    """When they are merged with papers that have vectors, whose vectors are copied."""
    folder, papers = tmp_path / "library", write(tmp_path / "papers", 7)
    build(papers, folder)
    use_model(folder, model_of(tmp_path / "model"))
    add_papers(folder, write(papers, 9), jobs=1)
    assert sizes(folder)[0] == 6
    with OpenLibrary.open(folder) as library:
        place = folder / "vectors" / library.manifest.vectors
        found = {part.name: files(place / part.name) for part in library.manifest.segments}
        for name in found:
            shutil.rmtree(place / name)
        model = Embeddings.load(library.generation / "model")
        build_vectors(place, model, open_index(library))
    assert {name: files(place / name) for name in found} == found
