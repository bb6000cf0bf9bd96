"""Authors and dates of papers: from metadata.jsonl into the library, and kept there."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from eqemb.arxiv.papers import PaperMetadata
from eqemb.facade.library import Library
from eqemb.facade.update import add_papers, compact_library
from eqemb.library.papers import PaperRecords, write_papers
from eqemb.search.exports import to_bibtex
from synthetic import forget_checksums, read_inline

TEX = (
    r"\documentclass{article}\begin{document}The norm is \begin{equation} x = y \end{equation}"
    r" here.\end{document}"
)
RECORD = {
    "id": "1501.00001", "version": "v1", "title": "On Norms", "authors": ["Ada Lovelace"],
    "categories": ["cs.CL"], "date": "2015-01-02", "licence": None, "file": "1501.00001.tex",
}  # fmt: skip


@pytest.fixture
def papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two papers, one of them with metadata."""
    read_inline(monkeypatch)
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "1501.00001.tex").write_text(TEX)
    (folder / "essay.tex").write_text(TEX.replace("x = y", r"\sqrt{x}"))
    lines = ["no json", "[]", json.dumps(RECORD | {"authors": ["Old"]}), json.dumps(RECORD), "{"]
    (folder / "metadata.jsonl").write_text("\n".join(lines))
    return folder


def test_a_library_keeps_what_arxiv_says(papers: Path, tmp_path: Path) -> None:
    """Also after the folder is gone and papers are added; others have no authors."""
    place = tmp_path / "library"
    with Library.read([papers], place, jobs=1, index=True) as made:
        hits = {hit.article: hit for hit in made.search("norm")}
        assert hits["1501.00001"].citation.authors == ("Ada Lovelace",)
        assert hits["1501.00001"].to_json()["year"] == 2015
        assert hits["essay"].to_json()["authors"] == []
        assert hits["essay"].to_json()["year"] is None
    (papers / "metadata.jsonl").unlink()
    more = papers / "more.tex"
    more.write_text(TEX.replace("x = y", "a = b"))
    add_papers(place, [more])
    with Library.open(place) as opened:
        assert opened.records.names() == ["1501.00001", "essay", "more"]
        found = opened.records.paper("1501.00001")
        assert found is not None
        assert found.authors == ("Ada Lovelace",)


def test_a_title_from_the_metadata_is_shown(papers: Path, tmp_path: Path) -> None:
    """Where the document has none, in every form of an answer."""
    with Library.read([papers], tmp_path / "library", jobs=1, index=True) as made:
        hits = {hit.article: hit for hit in made.search("norm")}
    assert [hits[name].title for name in ("1501.00001", "essay")] == ["On Norms", ""]
    asked = hits["1501.00001"].to_json()
    assert asked["title"] == "On Norms"
    assert "title = {On Norms}" in to_bibtex([asked])


def test_a_document_names_its_authors(papers: Path, tmp_path: Path) -> None:
    """Where no file does; they stay when segments are compacted."""
    named = TEX.replace(r"\begin{doc", r"\author{Emmy Noether \and Kurt G\"odel}\begin{doc")
    for name in ("1501.00001", "essay"):
        (papers / f"{name}.tex").write_text(named.replace("x = y", f"{name[0]} = y"))
    place = tmp_path / "library"
    with Library.read([papers / "essay.tex"], place, jobs=1, index=True) as made:
        assert made.article("essay").authors == ["Emmy Noether", "Kurt Gödel"]
    add_papers(place, [papers / "1501.00001.tex"])
    compact_library(place)
    with Library.open(place) as opened:
        cited = {hit.article: hit.citation for hit in opened.search("norm")}
    assert cited["essay"].line == "Emmy Noether and Kurt Gödel. essay."
    assert cited["1501.00001"].authors == ("Ada Lovelace",)


def test_libraries_without_authors_are_read(papers: Path, tmp_path: Path) -> None:
    """Libraries of older versions have no table for them."""
    place = tmp_path / "library"
    Library.read([papers / "essay.tex"], place, jobs=1, index=True).close()
    (records,) = forget_checksums(place).rglob("records.sqlite")
    with closing(sqlite3.connect(records)) as database:
        database.execute("DROP TABLE publications")
        database.commit()
    with Library.open(place) as opened:
        assert opened.article("essay").authors == []
        assert opened.records.paper("essay") is None


def test_the_nearest_file_counts(tmp_path: Path) -> None:
    """By the name of the file, or by the arXiv id, also of a member of a tar."""
    generation = tmp_path / "generation"
    deep = tmp_path / "a" / "b"
    for folder in (generation, deep):
        folder.mkdir(parents=True)
    tars = RECORD | {"id": "1501.00003", "title": "In a Tar"}
    (tmp_path / "a" / "metadata.jsonl").write_text(f"{json.dumps(RECORD)}\n{json.dumps(tars)}")
    near = RECORD | {"id": "1501.00002", "file": "two.gz", "title": "Near"}
    (deep / "metadata.jsonl").write_text(json.dumps(near))
    origins = [("one", "a/b/1501.00001v1.tar.gz"), ("two", "a/b/two.gz!x.tex"), ("three", "c.tex")]
    origins += [("1501.00003", "a/month.tar!x.gz"), ("four", "a/month.tar!1501/1501.00003v2.gz")]
    origins += [("1501.00004", "a/month.tar!1501/1501.00004.gz")]
    write_papers(generation, tmp_path, origins, None)
    found = {name: PaperRecords(generation).get(name) for name, _ in origins}
    assert {name: paper.title for name, paper in found.items() if paper} == {
        "1501.00003": "In a Tar",
        "four": "In a Tar",
        "one": "On Norms",
        "two": "Near",
    }


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"format": 2, "papers": {}}', '{"format": 1, "papers": {"a": 3}}']
)
def test_a_damaged_file_is_no_metadata(tmp_path: Path, text: str) -> None:
    """Citations then say less."""
    (tmp_path / "papers.json").write_text(text)
    assert PaperRecords(tmp_path).get("a") is None


def test_records_of_other_types_are_refused() -> None:
    """Authors are a list of strings."""
    assert PaperMetadata.from_json({"authors": "Ada"}) is None
    assert PaperMetadata.from_json({"authors": [1]}) is None
    assert PaperMetadata.from_json({"id": 3}) is None
    assert PaperMetadata.from_json({}) == PaperMetadata()
