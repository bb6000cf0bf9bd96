"""Folders that are made to take long: finding papers takes time in proportion to their files."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from campaigns import FULL
from eqemb.sources import discover
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
