"""Folders that are made to take long: finding papers takes time in proportion to their files."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from campaigns import FULL
from eqemb.sources import Limits, discover, folders, inclusions
from eqemb.sources.inclusions import Inclusions
from packing import PAPER, put
from timing import assert_linear

SIZE = 4 if FULL else 1
HEAD = b"\\documentclass{article}\\begin{document}"


def included(files: dict[str, list[str]]) -> Inclusions:
    """Files, each with the names that it includes; a document begins in all."""
    made = Inclusions()
    for path in files:
        made.add(path)
    for path, names in files.items():
        made.note(path, tuple(names))
    made.heads = files.keys()
    return made


def chain(count: int) -> dict[str, list[str]]:
    """Each file includes the next."""
    return {f"{at}.tex": [f"{at + 1}"] for at in range(count)}


def ring(count: int) -> dict[str, list[str]]:
    """Each file includes the next, and the last one the first."""
    return {f"{at}.tex": [f"{(at + 1) % count}"] for at in range(count)}


def dense(count: int) -> dict[str, list[str]]:
    """Each of some files includes all of them."""
    some = range(int(count**0.5))
    return {f"{at}.tex": [f"{other}" for other in some] for at in some}


def deep(count: int) -> dict[str, list[str]]:
    """A file in a deep folder asks for files that are elsewhere, also above."""
    files: dict[str, list[str]] = {f"x/{at}.tex": [] for at in range(count)}
    return files | {f"{'a/' * 1000}m.tex": [f"b/{at}" for at in range(count)]}


@pytest.mark.parametrize("make", [chain, ring, dense, deep])
def test_inclusions_take_linear_time(make: Callable[[int], dict[str, list[str]]]) -> None:
    """Whatever includes what."""
    sizes = (500 * SIZE, 2_000 * SIZE)
    assert_linear(make, lambda files: included(files).tops(list(files)), sizes)


@pytest.mark.parametrize(("make", "count"), [(chain, 300), (ring, 300), (dense, 900)])
def test_one_paper_of_files_that_include_each_other(
    make: Callable[[int], dict[str, list[str]]], count: int, tmp_path: Path
) -> None:
    """It has all files."""
    files = make(count)
    put(
        tmp_path,
        {
            path: HEAD + b"".join(b"\\input{%s}" % name.encode() for name in names)
            for path, names in files.items()
        },
    )
    (found,) = discover([tmp_path])
    assert set(found.files) == files.keys()


@pytest.mark.parametrize("length", [9, 11, 199])
def test_deep_folder_is_walked_or_reported(length: int, tmp_path: Path) -> None:
    """As deep as the system can name it."""
    put(tmp_path, {"a.tex": PAPER})
    here = Path.cwd()
    os.chdir(tmp_path)
    try:
        for _ in range(4_500 // length):
            os.mkdir("d" * length)  # noqa: PTH102 - the path is too long for the system
            os.chdir("d" * length)
    finally:
        os.chdir(here)
    causes = [one.cause for one in discover([tmp_path])]
    assert causes == ["", "unreadable"] or (causes == [""] and sys.platform != "linux")


# ---------------------------------------------------------------- papers that share parts


def side_by_side(count: int) -> dict[str, bytes]:
    """Papers in one folder, each with a bibliography."""
    papers = {f"{at}.tex": PAPER for at in range(count)}
    return papers | {f"{at}.bbl": b"\\bibitem{a} Words." for at in range(count)}


def in_folders(count: int) -> dict[str, bytes]:
    """Papers in folders of their own, which all include a file that includes many."""
    papers = {f"{at}/m.tex": HEAD + b"\\input{../all}" for at in range(count)}
    parts = {f"p{at}.tex": b"Words." for at in range(count)}
    return papers | parts | {"all.tex": b"".join(b"\\input{p%d}" % at for at in range(count))}


@pytest.mark.parametrize("make", [side_by_side, in_folders])
def test_parts_that_papers_share_take_linear_time(
    make: Callable[[int], dict[str, bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To find the papers, and to list the files of each."""
    monkeypatch.setattr(folders, "_MOST_SHARED", 1_000)
    monkeypatch.setattr(inclusions, "_STEPS", 1_000)
    monkeypatch.setattr(inclusions, "_STEPS_EACH", 20)
    sizes = (150 * SIZE, 600 * SIZE)
    for size in sizes:
        put(tmp_path / str(size), make(size))
    listed = {size: list(discover([tmp_path / str(size)])) for size in sizes}
    total = {size: sum(len(one.files) for one in listed[size]) for size in sizes}
    assert total[sizes[1]] <= 8 * total[sizes[0]]
    assert_linear(str, lambda name: list(discover([tmp_path / name])), sizes)


def test_papers_beside_those_that_share_too_much_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only those that share many files are skipped, with a cause."""
    monkeypatch.setattr(inclusions, "_STEPS", 1_000)
    monkeypatch.setattr(inclusions, "_STEPS_EACH", 20)
    put(tmp_path, in_folders(100))
    put(tmp_path, {"x/a.tex": HEAD + b"\\input{b}", "x/b.tex": b"Words."})
    found = {one.origin: one for one in discover([tmp_path])}
    assert found["x/a.tex"].cause == ""
    assert set(found["x/a.tex"].files) == {"x/a.tex", "x/b.tex"}
    assert found["7/m.tex"].cause == "too large"
    assert found["7/m.tex"].detail == "papers of this folder share too many or large files"


def test_papers_side_by_side_keep_their_bibliographies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are: each has the file of its name, and the style file that it uses."""
    monkeypatch.setattr(folders, "_MOST_SHARED", 100)
    files = side_by_side(20) | {"own.sty": b"%"}
    put(tmp_path, files | {"3.tex": b"\\documentclass{article}\\usepackage{own}" + PAPER})
    found = {one.origin: one.files for one in discover([tmp_path])}
    assert found["7.tex"] == ("7.bbl", "7.tex")
    assert found["3.tex"] == ("3.bbl", "3.tex", "own.sty")


@pytest.mark.parametrize("given", ["", "0.tex"])
def test_a_large_file_that_many_papers_share_is_read_a_bounded_number_of_times(
    given: str, tmp_path: Path
) -> None:
    """The papers after these are skipped, but not those that share nothing."""
    papers = {f"{at}.tex": HEAD + b"\\input{big}" for at in range(9)}
    put(tmp_path, papers | {"big.tex": b"Words. " * 10_000, "x/own.tex": PAPER})
    limits = Limits(paper_bytes=300_000, ratio=1)
    found = list(discover([tmp_path / name for name in papers] if given else [tmp_path], limits))
    causes = {one.origin.rpartition("/")[2]: one.cause for one in found}
    assert [causes[name] for name in papers] == [""] * 4 + ["too large"] * 5
    assert given or causes["own.tex"] == ""
