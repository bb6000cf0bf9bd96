"""Libraries of several formats: counts by format, and forms that are added later."""

from pathlib import Path

import pytest

from eqemb.article import Article, Equation
from eqemb.facade.build import read_library
from eqemb.facade.library import Library
from eqemb.facade.update import add_papers
from eqemb.readers.registry import READERS, FormatReader
from eqemb.sources import Source, formats
from packing import put
from synthetic import Run, forget_checksums, paper, read_inline

PAGE = b"<html><body>A page.</body></html>"
TEX = paper(r"\begin{equation} x = 1 \end{equation}").encode()


def read_page(source: Source) -> Article:
    """Read a page of a toy format: it always has one equation."""
    main = source.main or ""
    row = Equation(source.name, 1, False, None, [], "$$", 1, "y = 2", "y = 2", main, 1, 1)  # noqa: FBT003
    return Article(
        source.name, source.origin, source.collection, "A page", main, "Words \ufffc\n\n",
        equations=[row], displays_opened=1,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _html(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(READERS, "html", FormatReader(read_page, (".html",)))
    monkeypatch.setitem(formats._FORMATS, ".html", "html")
    read_inline(monkeypatch)


def contents(library: Path) -> dict[str, str]:
    """Return the origin of every article."""
    with Library.open(library) as opened:
        records = opened.records
        return {name: records.origin_of(name) for name in records.names()}


def test_latex_replaces_a_page_of_the_same_paper(tmp_path: Path) -> None:
    """Without --replace, and under the same name; the page is not read again."""
    papers = put(tmp_path / "papers", {"2401.00001.html": PAGE, "b.html": PAGE})
    read_library(papers, tmp_path / "lib")
    put(papers, {"src/2401.00001v2.tex": TEX})
    change = add_papers(tmp_path / "lib", papers / "src")
    assert change.replaced == ["2401.00001"]
    expected = {"b": "b.html", "2401.00001": "src/2401.00001v2.tex"}
    assert contents(tmp_path / "lib") == expected
    change = add_papers(tmp_path / "lib", [papers / "2401.00001.html", papers / "b.html"])
    assert (change.articles, change.known) == (0, ["b"])
    assert contents(tmp_path / "lib") == expected


def test_formats_are_counted(tmp_path: Path, run: Run) -> None:
    """In the report, by `info`, and after reading; a folder of LaTeX alone shows none."""
    papers = put(tmp_path / "papers", {"t/a.tex": TEX, "t/a.html": PAGE, "b.html": PAGE})
    put(papers, {"c.html": b"", "d.pdf": b"%PDF-1.5"})
    done = run("read", papers / "b.html", papers / "t/a.tex", "-o", tmp_path / "both")
    assert "\nhtml                         1           1          0         0\n" in done.out
    done = run("read", papers, "-o", tmp_path / "lib")
    assert "turn other PDFs into Markdown" in done.err
    done = run("info", tmp_path / "lib")
    assert "\nhtml                         1           1          0         2\n" in done.out
    assert "\ntex                          1           1          0         0\n" in done.out
    with Library.open(tmp_path / "lib") as library:
        assert library.report["skipped"]["causes"] == {"empty": 1, "other form": 1, "pdf only": 1}
        assert library.report["coverage"]["papers"] == 0.666666
    done = run("read", papers / "t/a.tex", "-o", tmp_path / "one")
    assert "format" not in done.out


def test_summaries_without_formats_are_made_again(tmp_path: Path) -> None:
    """A library that an earlier version wrote."""
    papers = put(tmp_path / "papers", {"a.html": PAGE})
    read_library(papers, tmp_path / "lib")
    for path in forget_checksums(tmp_path / "lib").glob("segments/*/summary.json"):
        path.write_text("{}", "utf-8")
    put(papers, {"b.tex": TEX})
    add_papers(tmp_path / "lib", papers / "b.tex")
    with Library.open(tmp_path / "lib") as library:
        assert {form: row["articles"] for form, row in library.report["formats"].items()} == {
            "html": 1,
            "tex": 1,
        }
