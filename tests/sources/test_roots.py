"""Papers are named below one root, whichever way their paths are given."""

import os
from pathlib import Path

import pytest

from eqemb.errors import UsageError
from eqemb.sources import common_root, discover, resolve_root
from packing import PAPER, gz, names, put


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with two collections."""
    return put(tmp_path / "papers", dict.fromkeys(["nlp/x.gz", "ir/y.gz", "z.gz"], gz(PAPER)))


@pytest.mark.parametrize(
    ("given", "root"),
    [
        ([""], ""),
        (["nlp"], "nlp"),
        (["nlp/x.gz"], "nlp"),
        (["nlp", "ir"], ""),
        (["nlp/x.gz", "ir"], ""),
        (["nlp", "nlp/x.gz"], "nlp"),
        (["", "nlp"], ""),
        (["nlp/..", "nlp"], ""),
        (["nlp/", "nlp/."], "nlp"),
    ],
)
def test_root_is_the_given_folder_or_the_one_that_all_share(
    tree: Path, monkeypatch: pytest.MonkeyPatch, given: list[str], root: str
) -> None:
    """Given by absolute or relative paths."""
    assert common_root(f"{tree}/{path}" for path in given) == tree / root
    monkeypatch.chdir(tree)
    assert common_root([path or "." for path in given]) == tree / root


def test_paths_without_a_shared_folder_need_a_root(tree: Path) -> None:
    """The root of the file system is not taken without asking."""
    tops = (path for path in Path(tree.anchor).iterdir() if path.is_dir() and not path.is_symlink())
    other = next(path for path in tops if path not in tree.parents)
    with pytest.raises(UsageError, match=r"share no folder: .* \(--root\)$"):
        common_root([tree, other])
    with pytest.raises(UsageError, match="no papers were given"):
        common_root([])
    assert common_root(["/"]) == Path("/").resolve()


def test_different_drives_need_a_root(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows."""

    def refuse(_paths: object) -> str:
        raise ValueError("Paths don't have the same drive")

    monkeypatch.setattr(os.path, "commonpath", refuse)
    with pytest.raises(UsageError, match="share no folder"):
        common_root([tree / "nlp", tree / "ir"])


def test_root_can_be_chosen(tree: Path) -> None:
    """Names, origins and collections start there."""
    (found,) = discover([tree / "nlp"], root=tree.parent)
    assert (found.name, found.origin, found.collection) == (
        *("papers/nlp/x", "papers/nlp/x.gz", "papers"),
    )


def test_path_outside_the_root_is_refused(tree: Path) -> None:
    """At once, in one sentence; so is a root that is not a folder."""
    with pytest.raises(UsageError, match=r"ir is outside the root .*nlp: move .* \(--root\)$"):
        discover([tree / "nlp", tree / "ir"], root=tree / "nlp")
    for wrong in (tree / "z.gz", tree / "nowhere"):
        with pytest.raises(UsageError, match="is not a folder"):
            discover([tree], root=wrong)
        with pytest.raises(UsageError, match="is not a folder"):
            resolve_root(wrong)


def test_no_paths_give_no_papers() -> None:
    """There is nothing to name."""
    assert list(discover([])) == []


def test_link_to_the_root_changes_no_name(tree: Path, tmp_path: Path) -> None:
    """Neither as the given folder, nor as the root, nor as a part of a path."""
    put(tree, {"main.tex": PAPER})
    (tmp_path / "link").symlink_to(tree)
    expected = ["ir/y", "papers", "nlp/x", "z"]
    assert names(tree) == names(tmp_path / "link") == expected
    assert common_root([tmp_path / "link"]) == tree
    for given, root in ((tmp_path / "link", tree), (tree, tmp_path / "link")):
        assert [found.name for found in discover([given], root=root)] == expected
        (found,) = discover([given / "nlp" / "x.gz"], root=root)
        assert found.name == "nlp/x"


def test_link_within_the_root_names_what_it_leads_to(tree: Path) -> None:
    """A linked folder has the names of a full listing; a linked file is a paper of its own."""
    (tree / "linked").symlink_to(tree / "nlp")
    (tree / "ir" / "also.gz").symlink_to(tree / "z.gz")
    assert names(tree) == ["ir/also", "ir/y", "nlp/x", "z"]
    assert [found.name for found in discover([tree / "linked"], root=tree)] == ["nlp/x"]
    assert [found.name for found in discover([tree / "linked/x.gz"], root=tree)] == ["nlp/x"]
    assert [found.name for found in discover([tree / "ir/also.gz"], root=tree)] == ["ir/also"]


def test_links_beside_the_papers_can_be_given(tree: Path, tmp_path: Path) -> None:
    """The deepest folder counts: here that of the papers, below it that of the links."""
    for name in ("nlp", "ir"):
        (tmp_path / name).symlink_to(tree / name)
    assert names(tmp_path / "nlp", tmp_path / "ir") == ["ir/y", "nlp/x"]
    put(tmp_path / "a" / "b", {"w.gz": gz(PAPER)})
    (tree / "b").symlink_to(tmp_path / "a" / "b")
    assert names(tree / "nlp", tree / "b") == ["b/w", "nlp/x"]


def test_given_link_out_of_the_root_is_named_as_it_is_written(tree: Path, tmp_path: Path) -> None:
    """Papers on another disk can be linked into the root, and given by themselves."""
    put(tmp_path / "disk", {"w.gz": gz(PAPER)})
    (tree / "far").symlink_to(tmp_path / "disk")
    assert names(tree / "far", tree / "nlp") == ["far/w", "nlp/x"]
    assert [found.name for found in discover([tree / "far/w.gz"], root=tree)] == ["far/w"]
    assert names(tree, tree / "far") == ["ir/y", "nlp/x", "z", "far/w"]
