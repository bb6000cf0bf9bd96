"""A paper is opened in memory, within its limits, and everything missing is noted."""

import csv
import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from eqemb.errors import SourceError, UsageError
from eqemb.sources import Limits, discover, load
from packing import (
    PAPER,
    PART,
    PDF,
    RECORD,
    gz,
    lines,
    lock,
    month,
    only,
    opened,
    problems,
    put,
    refused,
    tar,
    zipped,
)


@pytest.mark.parametrize("name", ["hep-th9901001.gz", "0704.0001", "paper", "paper.tex.gz"])
def test_gzip_of_one_text_is_a_paper(tmp_path: Path, name: str) -> None:
    """One-file papers of arXiv are gzip files, with or without a suffix."""
    put(tmp_path, {name: gz(PAPER)})
    source = load(only(tmp_path))
    assert list(source.files.values()) == [PAPER]
    assert source.main in source.files
    assert source.main.endswith(".tex")


def test_gzip_header_gives_the_file_its_name() -> None:
    """The name in a gzip header is kept for the report."""
    assert opened(gz(PAPER, "ms.tex")).main == "ms.tex"
    assert opened(gz(PAPER, "old_paper")).main == "old_paper.tex"
    assert opened(gz(PAPER)).main == "paper.tex"


def test_archive_without_tex_is_refused() -> None:
    """Figures and a style alone are not a paper."""
    assert (
        refused(gz(tar({"a.pdf": PDF, "x.sty": b"\\def\\x{}", "data": b"1 2 3"}))) == "no document"
    )
    assert refused(zipped({"a.png": b"\x89PNG"})) == "no document"


@pytest.mark.parametrize("pack", [zipped, tar])
def test_members_that_are_refused_are_named(pack: Callable[..., bytes]) -> None:
    """An archive whose TeX may not be opened says which files these are, and why."""
    paths = ["../../evil.tex", "/abs/evil.tex", "a.tex/../../b.tex", "../c.sty", "../plot.png"]
    with pytest.raises(SourceError) as error:
        opened(pack(dict.fromkeys(paths, PAPER)))
    assert error.value.cause == "unsafe member"
    why = "(its path leaves the archive)"
    shown = ", ".join(f"{path} {why}" for path in paths[:3])
    assert error.value.detail == f"not opened: {shown} and 1 more"


def test_binary_content_under_a_tex_name_is_noted() -> None:
    """A `.tex` file that is not text is left out and reported."""
    source = opened(gz(tar({"a.tex": PAPER, "b.tex": bytes(range(32)) * 10})))
    assert problems(source) == [("not text", "b.tex")]
    assert list(source.files) == ["a.tex"]


def test_latin1_utf16_and_bom_pass_as_bytes() -> None:
    """The reader decodes: loading keeps the bytes unchanged."""
    files = {"a.tex": PAPER + b"\xe9\xe8", "b.tex": PAPER.decode().encode("utf-16"), "c.tex": b""}
    assert opened(gz(tar(files))).files == files


def test_hidden_members_are_passed_over() -> None:
    """Files that macOS and git leave in archives are ignored."""
    files = {"./a.tex": PAPER, "__MACOSX/._a.tex": b"\0\5\26", "._a.tex": b"\0", ".git/b.tex": PART}
    source = opened(gz(tar(files)))
    assert list(source.files) == ["a.tex"]
    assert source.problems == []


def test_kept_text_over_the_total_is_too_large() -> None:
    """An uncompressed tar cannot contain more text than the limit allows."""
    data = tar({f"{n}.tex": PAPER + b"x" * 900 for n in range(5)})
    assert refused(data, Limits(paper_bytes=3000)) == "too large"


@pytest.mark.parametrize("pack", [tar, zipped])
def test_file_over_its_limit_is_left_out(pack: Callable[[dict[str, bytes]], bytes]) -> None:
    """One text that is too large is reported, and the rest is read."""
    source = opened(pack({"big.tex": b"x" * 5000, "a.tex": PAPER}), Limits(file_bytes=1000))
    assert problems(source) == [("file too large", "big.tex")]
    assert list(source.files) == ["a.tex"]
    assert refused(pack({"big.tex": b"x" * 5000}), Limits(file_bytes=1000)) == "too large"
    assert refused(gz(PAPER), Limits(file_bytes=10)) == "too large"


def test_file_that_becomes_unreadable_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file may change between discovery and loading."""
    put(tmp_path, {"a.gz": gz(PAPER), "p/m.tex": PAPER, "p/s.tex": PART})
    archive, paper = discover([tmp_path])
    lock(monkeypatch, "s.tex")
    assert problems(load(paper)) == [("unreadable file", "s.tex")]
    lock(monkeypatch, "a.gz", "m.tex")
    for found in (archive, paper):
        with pytest.raises(SourceError, match="unreadable: Permission denied"):
            load(found)


def test_folder_paper_keeps_to_the_limits(tmp_path: Path) -> None:
    """Loose files count like members of an archive."""
    put(tmp_path, {"m.tex": PAPER, "a.tex": b"x" * 900, "b.tex": b"x" * 900})
    found = only(tmp_path)
    with pytest.raises(SourceError, match="too large"):
        load(found, Limits(members=2))
    with pytest.raises(SourceError, match="too large"):
        load(found, Limits(paper_bytes=1000))
    assert problems(load(found, Limits(file_bytes=500))) == [
        *(("file too large", "a.tex"), ("file too large", "b.tex"))
    ]
    with pytest.raises(SourceError, match="too large"):
        load(found, Limits(file_bytes=10))


def test_found_papers_can_be_pickled(tmp_path: Path) -> None:
    """A `Found` is the same after pickling, and loads the same."""
    put(
        tmp_path,
        {"a/m.tex": PAPER, "b.gz": gz(PAPER), "c.tar": tar(month()), "d.jsonl": lines(RECORD)},
    )
    for found in discover([tmp_path]):
        again = pickle.loads(pickle.dumps(found))  # noqa: S301 - our own bytes
        assert again == found
        if not found.cause:
            assert load(again) == load(found)


def test_nothing_is_written_to_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Archives are opened in memory, nested ones too."""
    put(tmp_path, {"a.zip": zipped({"b.tar.gz": gz(tar({"c.tex": PAPER}))})})
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setattr("tempfile.mkstemp", pytest.fail)
    load(only(tmp_path))
    assert sorted(tmp_path.rglob("*")) == before


def test_limits_are_checked_when_given() -> None:
    """A limit below one is an error of the caller."""
    with pytest.raises(UsageError, match="ratio must be an integer of at least 1, not 0"):
        Limits(ratio=0)


CORPORA = os.environ.get("EQEMB_CORPORA", "")


@pytest.mark.skipif(not CORPORA, reason="EQEMB_CORPORA does not name a folder of real papers")
def test_every_paper_of_the_corpora_opens() -> None:
    """All documents of the manifest are found in their collections and contain their main file."""
    manifest = Path(CORPORA, "MANIFEST.tsv").read_text(encoding="utf-8").splitlines()
    rows = list(csv.DictReader(manifest, delimiter="\t", quoting=csv.QUOTE_NONE))
    found = {(item.collection, Path(item.origin).name): item for item in discover([CORPORA])}
    assert len(rows) == len(found)
    for row in rows:
        source = load(found[row["collection"], row["file"]])
        assert row["main"] in source.files
        assert source.problems == []
