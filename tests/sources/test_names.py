"""An article is named by its arXiv identifier or by its path, and names are unique."""

import os
from pathlib import Path

import pytest

from eqemb.sources import discover, load
from eqemb.sources.names import is_archive, is_text_name, looks_like_paper, strip_suffixes
from packing import PAPER, PDF, RECORD, entry, gz, lines, names, put, tar, tar_of
from synthetic import KnownArticles


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


@pytest.mark.parametrize(
    "expected",
    [
        {"1803.09123v1.gz": "1803.09123", "1803.09123v3.gz": "1803.09123v3"},
        {"ir/1803.09123.gz": "1803.09123", "nlp/1803.09123.gz": "nlp/1803.09123.gz"},
        {"a.gz": "a", "a.tar": "a.tar", "a.zip": "a.zip"},
        {"a.gz": "a.gz", "a.tex": "a", "b/a.tex": "b/a"},
        {"p/main.tex": "p/main.tex", "p/paper.tex": "p/paper.tex", "p.tex": "p"},
        {"p/main.tex": "p", "p/paper.tex": "p/paper.tex", "p/main.zip": "p/main"},
        {"a#.gz": "a_", "a(.gz": "a_.gz", "a_.gz": "a_.gz~2"},
    ],
)
def test_equal_names_are_told_apart(tmp_path: Path, expected: dict[str, str]) -> None:
    """Another version keeps its number; other papers are named by their whole path.

    Loose files, short paths and generic names come first.
    """
    put(tmp_path, {path: PAPER if path.endswith(".tex") else gz(PAPER) for path in expected})
    assert {found.origin: found.name for found in discover([tmp_path])} == expected


def test_skipped_source_never_has_the_name_of_an_article(tmp_path: Path) -> None:
    """It is named by its path, marked as such: another paper may have a file name as its name."""
    put(tmp_path, {"foo.pdf": PDF, "foo.tar.gz": gz(tar({"a.tex": PAPER})), "foo.zip": b""})
    put(tmp_path, {"0704.0001": PDF, "0704.0001.gz": gz(PAPER)})
    articles = {"foo": "", "0704.0001": ""}
    sources = {"./foo.pdf": "pdf only", "./foo.zip": "empty", "./0704.0001": "pdf only"}
    assert {found.name: found.cause for found in discover([tmp_path])} == articles | sources


def test_known_origin_keeps_its_name_and_no_other_takes_it(tmp_path: Path) -> None:
    """As `add` needs it: the same paper has the same name, another paper another one."""
    put(tmp_path, {"a.tex": PAPER, "a.zip": gz(PAPER), "1803.09123v2.gz": gz(PAPER)})
    put(tmp_path, {"r.jsonl": lines(RECORD, RECORD)})
    whole = {found.origin: found.name for found in discover([tmp_path])}
    assert whole["a.zip"] == "a.zip"
    known = {"a": "a.zip", "1803.09123": "1803.09123v1.gz"}
    again = {
        found.origin: found.name
        for found in discover([tmp_path], known=KnownArticles(known.items()))
    }
    assert again == whole | {"a.zip": "a", "a.tex": "a.tex", "1803.09123v2.gz": "1803.09123v2"}
    known = {name: origin for origin, name in whole.items()}
    (tmp_path / "a.tex").unlink()
    again = {
        found.origin: found.name
        for found in discover([tmp_path], known=KnownArticles(known.items()))
    }
    assert again == {origin: name for origin, name in whole.items() if origin != "a.tex"}


def test_equal_members_of_an_archive_keep_their_names(tmp_path: Path) -> None:
    """A tar may hold two files of one path."""
    twice = [entry("x/b.gz", data=gz(PAPER)), entry("x/b.gz", data=gz(PAPER))]
    put(tmp_path, {"a.tar": tar_of([*twice, entry("c.gz", data=gz(PAPER))])})
    found = list(discover([tmp_path]))
    assert [one.name for one in found] == ["a/x/b", "a.tar/x/b.gz", "a/c"]
    known = {one.name: one.origin for one in found}
    assert [one.name for one in discover([tmp_path], known=KnownArticles(known.items()))] == list(
        known
    )


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
