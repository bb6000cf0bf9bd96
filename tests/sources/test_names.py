"""An article is named by its arXiv identifier or by its path, and names are unique."""

import os
from pathlib import Path

import pytest

from eqemb.sources import discover, load
from eqemb.sources.names import is_archive, is_text_name, looks_like_paper, strip_suffixes
from packing import PAPER, PDF, RECORD, gz, lines, names, put, tar


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("1803.09123v2.tar.gz", "1803.09123"),
        ("arXiv-1803.09123v2.tar.gz", "1803.09123"),
        ("0704.0001", "0704.0001"),
        ("ml/1803.09123_attention.zip", "1803.09123"),
        ("hep-th9901001.gz", "hep-th/9901001"),
        ("arXiv-hep-th9901001v1.tar.gz", "hep-th/9901001"),
        ("cs0112017", "cs/0112017"),
        ("math.AG_0112017.gz", "math/0112017"),
        ("hep-th/9901001.gz", "hep-th/9901001"),
        ("hep-th/9901/9901001v3.gz", "hep-th/9901001"),
        ("math-ph0112017.gz", "math-ph/0112017"),
        ("nlp/foo.tar.gz", "nlp/foo"),
        ("nlp/foo.v2.tex.gz", "nlp/foo.v2"),
        ("1913.09123.gz", "1913.09123"),  # there is no thirteenth month: a plain name
        ("a#1(b):c.gz", "a_1_b__c"),
    ],
)
def test_name_is_the_arxiv_id_or_the_path(tmp_path: Path, path: str, name: str) -> None:
    """The identifier if the file name has one, else the path without suffixes."""
    put(tmp_path, {path: gz(PAPER)})
    assert names(tmp_path) == [name]


def test_file_given_directly_is_named_by_itself(tmp_path: Path) -> None:
    """No folder was given, so there is none in the name."""
    put(tmp_path, {"deep/down/foo.tar.gz": gz(PAPER)})
    assert names(tmp_path / "deep/down/foo.tar.gz") == ["foo"]


def test_equal_names_are_told_apart(tmp_path: Path) -> None:
    """A second version keeps its number; other duplicates are numbered."""
    put(
        tmp_path,
        dict.fromkeys(["1803.09123v1.gz", "1803.09123v3.gz", "a.gz", "a.tar", "a.zip"], gz(PAPER)),
    )
    assert names(tmp_path) == ["1803.09123", "1803.09123v3", "a", "a~2", "a~3"]
    assert names(tmp_path / "a.gz", tmp_path) == [
        *("a", "1803.09123", "1803.09123v3", "a~2", "a~3", "a~4")
    ]


def test_skipped_source_does_not_reserve_a_name(tmp_path: Path) -> None:
    """A skipped PDF of the same paper does not take its name."""
    put(tmp_path, {"foo.pdf": PDF, "foo.tar.gz": gz(tar({"a.tex": PAPER}))})
    assert [(found.name, found.cause) for found in discover([tmp_path])] == [
        *(("foo", "pdf only"), ("foo", ""))
    ]


def test_names_are_text_that_can_be_stored(tmp_path: Path) -> None:
    """File names that are not UTF-8, and identifiers with invalid Unicode, become plain text."""
    path = os.fsencode(tmp_path) + b"/caf\xe9.gz"
    with open(path, "wb") as file:  # noqa: PTH123 - a path of bytes
        file.write(gz(PAPER))
    put(tmp_path, {"r.jsonl": lines(RECORD | {"paper_id": "a\ud800\nb"})})
    for found in discover([tmp_path]):
        assert (found.name + found.origin).encode()
        assert "\n" not in found.name
        assert load(found).files


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("a.TEX", (True, False, True)),
        ("sec/my.sty", (True, False, False)),
        ("00README.json", (True, False, False)),
        ("sec.1", (None, False, False)),
        ("fig.png", (False, False, False)),
        ("a.tex.gz", (False, True, True)),
        ("a.eps.gz", (False, False, False)),
        ("a.pdf", (False, False, True)),
    ],
)
def test_kinds_of_file_names(name: str, says: tuple[bool | None, bool, bool]) -> None:
    """Which names are texts, packed papers, or look like papers."""
    assert (is_text_name(name), is_archive(name), looks_like_paper(name)) == says


def test_name_of_a_million_suffixes_takes_no_time() -> None:
    """Names come from archives and records, and may have any length."""
    assert strip_suffixes("a" + ".gz" * 1_000_000).startswith("a.gz")
    assert strip_suffixes("a.tex.tar.gz") == "a"
