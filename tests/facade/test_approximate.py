"""Large libraries have approximate indexes, which every change keeps, extends or builds again."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from eqemb.facade import model
from eqemb.facade.library import Library
from eqemb.facade.reproduce import rebuild
from eqemb.facade.update import add_papers, compact_library, remove_articles
from eqemb.index import approximate
from eqemb.index.approximate import ApproximateIndex
from eqemb.index.vector_index import VectorIndex
from eqemb.index.vectors import VectorSpace
from eqemb.storage.array_file import file_hash
from synthetic import read_inline, topical

pytest.importorskip("faiss", reason="needs faiss, the extra `ann`")


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a small library be a large one; read in this process, and train on little text."""
    read_inline(monkeypatch)
    monkeypatch.setattr(model, "LEAST_WORDS", 100)
    monkeypatch.setattr(approximate, "LEAST_ROWS", 10)
    monkeypatch.setattr(approximate, "FEW_ROWS", 0)


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with a model and no approximate index."""
    folder = tmp_path_factory.mktemp("approximate")
    topical(folder / "papers", 12)
    with pytest.MonkeyPatch.context() as patch:
        read_inline(patch)
        patch.setattr(model, "LEAST_WORDS", 100)
        settings = {"dim": 8, "iterations": 2, "batch": 256}
        Library.build(folder / "papers", folder / "lib", model=settings).close()
    return folder / "lib"


@pytest.fixture
def large(exact: Path, tmp_path: Path) -> Path:
    """A copy of the library, with the approximate index that `compact` builds."""
    shutil.copytree(exact, tmp_path / "lib")
    compact_library(tmp_path / "lib")
    return tmp_path / "lib"


def space_of(library: Library) -> VectorSpace:
    """Return the vectors of a library."""
    assert library.engine.vectors is not None
    return library.engine.vectors


def index_files(folder: Path) -> dict[str, str]:
    """Return the hashes of the files of approximate indexes."""
    found = folder.glob("vectors/*/ann/*/*")
    return {"/".join(path.parts[-2:]): file_hash(path) for path in found}


def test_compaction_builds_what_a_large_library_lacks(exact: Path, tmp_path: Path) -> None:
    """A note tells to run it; a second run has nothing to do."""
    shutil.copytree(exact, tmp_path / "lib")
    with Library.open(tmp_path / "lib") as library:
        assert type(space_of(library).contexts) is VectorIndex
        note = space_of(library).contexts.note
        assert "`eqemb compact` builds it" in note
        assert library.search(a_word(library), by="meaning").notes == [note]
        assert str(tmp_path) not in note
    told: list[tuple[str, str]] = []
    compact_library(tmp_path / "lib", watch=lambda *state: told.append(state))
    last = [
        next(s for stage, s in reversed(told) if stage == f"nearest {n}")
        for n in ("contexts", "types")
    ]
    assert all("rows" in state and "MB" in state and "recall@10" in state for state in last)
    with Library.open(tmp_path / "lib") as library:
        space = space_of(library)
        for index in (space.contexts, space.types):
            assert isinstance(index, ApproximateIndex)
            assert index.covered == len(index)
            vector = index.rows([3])[0]
            assert index.nearest(vector, 5)[1].tolist() == index.top(vector, 5)[1].tolist()
        generation = library.generation
    compact_library(tmp_path / "lib")
    with Library.open(tmp_path / "lib") as library:
        assert library.generation == generation


def a_word(library: Library) -> str:
    """Return a word of the library."""
    return next(library.engine.text.vocabulary())[0]


def test_a_search_by_meaning_uses_the_index(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not compare all vectors, and has no note."""
    with Library.open(large) as library:
        word = a_word(library)
        expected = space_of(library).contexts.top(space_of(library).words_vector([word]), 1)[1]
        monkeypatch.delattr(VectorIndex, "top")
        found = library.search(word, 3, by="meaning")
    assert found.hits[0].score == pytest.approx(float(expected[0]))
    assert found.notes == []


def test_added_papers_are_found_and_removed_ones_are_not(large: Path, tmp_path: Path) -> None:
    """The files of the index stay as they are."""
    before = index_files(large)
    assert {name.split("/")[0] for name in before} == {"contexts", "types"}
    with Library.open(large) as library:
        count = len(space_of(library).contexts)
        article = library.records.names()[0]
        gone = library.engine.segments.articles == library.engine.segments.articles[0]
    topical(tmp_path / "more", 2, first=30)
    add_papers(large, tmp_path / "more", root=tmp_path / "more")
    remove_articles(large, [article])
    with Library.open(large) as library:
        space = space_of(library)
        contexts, types = space.contexts, space.types
        assert isinstance(contexts, ApproximateIndex)
        assert contexts.covered == count < len(contexts)
        found = contexts.nearest(contexts.rows([count])[0], len(contexts))[0]
        assert found.max() >= count
        assert not gone[found[found < count]].any()
        assert types is not None
        used = np.unique(library.engine.types[library.engine.segments.live])
        assert set(types.nearest(types.rows([0])[0], len(types))[0]) <= set(used.tolist())
    assert index_files(large) == before


def test_many_added_papers_rebuild_the_index(
    large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the rest is never slow."""
    monkeypatch.setattr(approximate, "MOST_UNCOVERED", 1)
    topical(tmp_path / "more", 2, first=30)
    add_papers(large, tmp_path / "more", root=tmp_path / "more")
    with Library.open(large) as library:
        contexts = space_of(library).contexts
        assert isinstance(contexts, ApproximateIndex)
        assert contexts.covered == contexts.header.rows == len(contexts)


def test_an_index_does_not_change_what_repro_compares(large: Path) -> None:
    """It depends on what is installed where the library is rebuilt."""
    shutil.rmtree(next(large.glob("vectors/*/ann/types")))
    assert all(rebuild(large).parts.values())
