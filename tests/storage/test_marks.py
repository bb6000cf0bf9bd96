"""What eqemb writes is recognised among papers, and counted instead of read."""

import json
from pathlib import Path

import pytest

from eqemb.evaluation import tables
from eqemb.facade.export import COLUMNS, _jsonl
from eqemb.library.report import merge_summaries, render_report
from eqemb.models.vector_io import export
from eqemb.search.exports import EXPORT_FORMATS
from eqemb.server.views.layout import page
from eqemb.storage.marks import MARKDOWN_MARK, is_own_export
from packing import PAPER, put, skipped

HIT = {
    "id": "a#1", "number": "1", "ordinal": 1, "clean_latex": r"\begin{split} a \end{split}",
    "latex": "a", "citation": "A, 2020", "article": "a", "title": "T", "authors": [], "year": 0,
    "arxiv": "",
}  # fmt: skip


def exports(folder: Path) -> dict[str, bytes]:
    """A file of every kind that a command or the server writes, and that papers may resemble."""
    np = pytest.importorskip("numpy")
    rows = [dict.fromkeys(COLUMNS, r"\begin{split} \label{x} $$a$$")]
    _jsonl(folder / "equations", iter(rows), 0)
    export(folder / "vectors", [r"\begin{array}", "b"], np.zeros((2, 3), np.float32))
    report = merge_summaries([], {"version": "1", "sha256": "0" * 16}, [])
    return {
        "equations.jsonl": (folder / "equations").read_bytes(),
        "vectors": (folder / "vectors").read_bytes(),
        "hits.tex": EXPORT_FORMATS["tex"]([HIT]).encode(),
        "hits.json": EXPORT_FORMATS["json"]([HIT]).encode(),
        "report.html": render_report(report).encode(),
        "saved.html": page("Saved", "$$a = b$$"),
        "results.html": tables.page("Results", []).encode(),
        "results.md": f"{MARKDOWN_MARK}$$a$$".encode(),
        "papers.jsonl": json.dumps({"article": "a", "id": "1", "title": r"\title $$"}).encode(),
    }


def test_exports_among_papers_are_not_papers(tmp_path: Path) -> None:
    """By their content, whatever their names are."""
    made = exports(tmp_path)
    for name, data in made.items():
        assert is_own_export(data), name
    folder = put(tmp_path / "papers", made | {"a.tex": PAPER})
    causes = skipped(folder)
    assert set(causes.values()) == {"written by eqemb"}
    assert set(causes) >= made.keys() - {"hits.json", "vectors"}


@pytest.mark.parametrize("name", ['the "lazy" paper', "a\\b", "a\nb"])
def test_exports_of_any_article_are_recognised(name: str, tmp_path: Path) -> None:
    """JSON escapes quotes, which a file may have in its name."""
    row = dict.fromkeys(COLUMNS, r"\begin{split} a \end{split}") | {"name": name, "article": name}
    _jsonl(tmp_path / "equations.jsonl", iter([row]), 0)
    record = json.dumps({"article": name, "id": "1", "title": r"\title $$"})
    folder = put(tmp_path, {"a.tex": PAPER, "papers.jsonl": record.encode()})
    assert skipped(folder) == dict.fromkeys(("equations.jsonl", "papers.jsonl"), "written by eqemb")


@pytest.mark.parametrize(
    "text",
    [
        PAPER,
        b"% Written by the authors, with eqemb.\n" + PAPER,
        b'{"name": "a", "title": "b"}',
        b"12 5\nThe text of a paper.",
        b"<!doctype html><html><meta charset=utf-8><title>eqemb</title>",
    ],
)
def test_other_files_are_not_ours(text: bytes) -> None:
    """Not even if they resemble an export."""
    assert not is_own_export(text)
