"""Files are recognised by their content, whatever their name."""

from pathlib import Path

import pytest

from eqemb.sources import discover, load
from eqemb.sources.content import has_document_head
from packing import (
    PAPER,
    PART,
    PDF,
    POSTSCRIPT,
    gz,
    lines,
    opened,
    put,
    refused,
    skipped,
    tar,
    zipped,
)
from timing import assert_quick


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (PDF, "pdf only"),
        (POSTSCRIPT, "postscript only"),
        (b"\xf7\x02\x01\x83\x92", "dvi only"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "word processor file"),
        (b"{\\rtf1\\ansi", "word processor file"),
        (
            zipped({"[Content_Types].xml": b"<x/>", "word/document.xml": b"x"}),
            "word processor file",
        ),
        (b"<!DOCTYPE html><html>Rate exceeded", "html only"),
        (b"%auto-ignore\nThis paper has been withdrawn by the author.\n", "withdrawn"),
        (b"Only words, no TeX.\n", "no document"),
        (b"\x1f\x9d\x90\x00", "unsupported archive"),
        (b"Rar!\x1a\x07\x00", "unsupported archive"),
        (b"", "empty"),
    ],
)
def test_content_that_is_no_tex_has_its_cause(tmp_path: Path, data: bytes, cause: str) -> None:
    """A file that is not TeX has its cause, plain or in gzip, in discovery and in loading."""
    put(tmp_path, {"a/plain.gz": data, "b/packed.gz": gz(data)})
    assert skipped(tmp_path) == {"a/plain.gz": cause, "b/packed.gz": cause}
    assert refused(gz(data)) == cause


def test_magic_comment_is_not_postscript() -> None:
    """A text that starts with `%!TEX` is TeX."""
    assert opened(gz(b"%!TEX root = main.tex\n" + PAPER)).files


def test_texts_with_odd_names_are_known_by_their_content() -> None:
    """A member without suffix is kept if it looks like TeX; READMEs of arXiv are always kept."""
    files = {"paper": PAPER, "sec.1": PART, "notes.txt": b"to do", "Makefile": b"all:\n\tmake\n"}
    readme = {"00README.XXX": b"nohypertex", "data.bin": bytes(range(256))}
    assert set(opened(gz(tar(files | readme))).files) == {"paper", "sec.1", "00README.XXX"}


def test_archives_with_wrong_names_are_known_by_content(tmp_path: Path) -> None:
    """A `.tex` that is a gzip file is opened as one."""
    put(tmp_path, {"a.tex": gz(tar({"m.tex": PAPER})), "b.gz": PAPER, "c.pdf": gz(PAPER)})
    assert [set(load(found).files) for found in discover([tmp_path])] == [
        {"m.tex"},
        {"b.tex"},
        {"c.tex"},
    ]


def test_other_json_is_no_paper(tmp_path: Path) -> None:
    """JSON without a body is not an unarXive record, even with an identifier."""
    put(tmp_path, {"meta.json": lines({"paper_id": "1", "title": "T"}), "a.jsonl": lines({"a": 1})})
    assert skipped(tmp_path) == {"a.jsonl": "no document"}


def test_blanks_after_documentclass_cost_linear_time() -> None:
    """A file of 16,000 blanks is judged at once; a quadratic pattern took seconds."""
    head = b"\\documentclass" + b" " * 16_000
    assert_quick(lambda: has_document_head(head), 0.2)
    assert has_document_head(head)
