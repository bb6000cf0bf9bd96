"""Hits as files, and citations that say only what is known."""

import csv
import io
import json
import re
from typing import Any

import pytest

from eqemb.article import Equation
from eqemb.arxiv.papers import PaperMetadata
from eqemb.search.citations import Citation, bibtex_key, bibtex_keys
from eqemb.search.exports import EXPORT_FORMATS, HIT_COLUMNS, to_bibtex, to_csv, to_json, to_latex
from eqemb.search.results import Hit
from eqemb.sources.names import arxiv_year

PAPER = PaperMetadata("1501.00001", "v2", "On Norms", ("Ada Lovelace", "Noël Weiß"), "2015-01-31")


def hit(latex: str = "x = y", article: str = "1501.00001", ordinal: int = 1, **more: Any) -> Any:
    """A hit as JSON."""
    equation = Equation(
        article=article, ordinal=ordinal, numbered=True, number=more.pop("number", None),
        labels=[], environment="equation", display=ordinal, latex=rf"\label{{a}} {latex}",
        expanded=latex, file="a.tex", line=1, end_line=1, context="So [equation] holds.",
    )  # fmt: skip
    return Hit(0.5, equation, more.pop("title", "On Norms"), strength=0.8, **more).to_json()


def rows(text: str) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    return list(csv.DictReader(io.StringIO(text, newline="")))


# ------------------------------------------------------------ citations


@pytest.mark.parametrize(
    ("cited", "line"),
    [
        (Citation("a/b", "On Norms"), "On Norms."),
        (Citation("a/b", ""), "a/b."),
        (Citation("a/b", "Norms", ("Ada Lovelace",), 2015), "Ada Lovelace (2015). Norms."),
        (Citation("a/b", "Norms", ("A", "B"), 2015), "A and B (2015). Norms."),
        (Citation("a/b", "Norms", ("A", "B", "C")), "A, B and C. Norms."),
        (
            Citation("a/b", "Norms?", tuple("ABCD"), None, "1501.1"),
            "A et al. Norms?. arXiv:1501.1.",
        ),
    ],
)
def test_a_citation_says_only_what_is_known(cited: Citation, line: str) -> None:
    """Without a title, the name of the article stands for it."""
    assert cited.line == line


def test_a_citation_takes_what_arxiv_says() -> None:
    """The year of the first version, not that of the id; the id alone gives a year, too."""
    assert Citation.of("x/1501.00001", "", PAPER) == Citation(
        "x/1501.00001", "On Norms", ("Ada Lovelace", "Noël Weiß"), 2015, "1501.00001v2"
    )
    assert Citation.of("x/1412.00001v3", "T", None) == Citation(
        "x/1412.00001v3", "T", (), 2014, "1412.00001v3"
    )
    assert Citation.of("x/thesis", "T", None) == Citation("x/thesis", "T")
    assert Citation.of("1501.00001", "T", PaperMetadata(date="soon")).year == 2015
    assert Citation.of("1501.00001", "T", PaperMetadata(date="\u00b2015-01-31")).year == 2015
    assert [arxiv_year(name) for name in ("9912001", "hep-th/9912001", "0704.0001")] == [
        0, 1999, 2007,
    ]  # fmt: skip


def test_bibtex_is_valid_for_any_text() -> None:
    """Braces and backslashes are removed, special characters escaped, keys plain."""
    made = Citation("a b{#}", r"50% \of {it} & _x_", ("A} B",)).bibtex(
        bibtex_key("a b{#}"), "no. 1"
    )
    assert made == (
        "@misc{a-b---,\n  author = {A B},\n  title = {50\\% of it \\& \\_x\\_},\n"
        "  note = {no. 1}\n}"
    )


def test_bibtex_escapes_what_latex_reads_as_commands() -> None:
    """Accents and ties in text; an id has only the characters of ids."""
    made = Citation("a", "x^2 ~ y", (), None, "1501.1}, x = {v2").bibtex("a")
    assert r"title = {x\textasciicircum{}2 \textasciitilde{} y}" in made
    assert "eprint = {1501.1xv2}" in made
    assert "archivePrefix" not in Citation("a", "T", (), None, "{}").bibtex("a")


@pytest.mark.parametrize(
    ("names", "keys"),
    [
        (["論文一", "論文二"], ["paper", "papera"]),
        (["a_b", "a-b", "a b"], ["a-b", "a-ba", "a-bb"]),
        (["a_b", "a-b", "a-ba"], ["a-b", "a-bb", "a-ba"]),
        (["x", "X"], ["x", "Xa"]),
        (["", "1501.00001v2"], ["paper", "1501.00001v2"]),
    ],
)
def test_every_paper_has_its_own_key(names: list[str], keys: list[str]) -> None:
    """Also where only characters that keys cannot have tell names apart."""
    assert bibtex_keys(names) == keys
    made = to_bibtex([hit(article=name) for name in names])
    assert re.findall(r"@misc{(.*),", made) == keys


def test_keys_do_not_run_out() -> None:
    """After z comes aa."""
    assert bibtex_keys(["é"] * 28)[-2:] == ["paperz", "paperaa"]


def test_the_entry_of_an_equation_has_a_key() -> None:
    """With its position in the article."""
    assert hit(article="論文一", ordinal=3)["reference"].startswith("@misc{paper-3,")


# ------------------------------------------------------------ files


def test_csv_has_a_row_for_each_hit() -> None:
    """With the clean LaTeX and the LaTeX as written."""
    found = rows(to_csv([hit(paper=PAPER, number="3"), hit("a, b\nc", ordinal=2)]))
    assert list(found[0]) == list(HIT_COLUMNS)
    assert [row["rank"] for row in found] == ["1", "2"]
    assert found[0]["latex"] == "x = y"
    assert found[0]["latex_as_written"] == r"\label{a} x = y"
    assert found[0]["authors"] == "Ada Lovelace; Noël Weiß"
    assert (found[0]["year"], found[0]["arxiv"]) == ("2015", "1501.00001v2")
    assert found[0]["context"] == "So [equation] holds."
    assert found[1]["latex"] == "a, b c"
    assert found[1]["authors"] == ""


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "＝"])
def test_csv_runs_nothing_in_a_spreadsheet(start: str) -> None:
    """No cell with text starts with a character that starts a formula."""
    evil = f"{start}cmd|' /C calc'!A1"
    found = rows(to_csv([hit(evil, article=evil, title=evil)]))[0]
    assert found["title"] == f"'{evil}"
    assert not [name for name, cell in found.items() if cell.startswith(start)]
    assert float(rows(to_csv([hit() | {"score": -0.5}]))[0]["score"]) == -0.5


def test_json_has_the_columns_of_the_csv() -> None:
    """Lists stay lists."""
    found = json.loads(to_json([hit(paper=PAPER)]))
    assert list(found[0]) == list(HIT_COLUMNS)
    assert found[0]["authors"] == ["Ada Lovelace", "Noël Weiß"]
    assert json.loads(to_json([])) == []


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("Emmy Noether", "Emmy Noether"),
        ("Hal Daumé III", "Daumé, III, Hal"),
        ("Martin Luther King Jr.", "King, Jr., Martin Luther"),
        ("Ludwig van Beethoven", "Ludwig van Beethoven"),
        ("Smith and Sons", "{Smith and Sons}"),
        ("Ada AND Noël Weiß III", "{Ada AND Noël Weiß III}"),
        ("Anders Sandberg", "Anders Sandberg"),
    ],
)
def test_bibtex_knows_family_names(name: str, written: str) -> None:
    """A suffix is no family name."""
    assert f"author = {{{written}}}" in Citation("a", "On Norms", (name,)).bibtex("a")


def test_bibtex_has_an_entry_for_each_paper() -> None:
    """Its note lists the equations."""
    made = to_bibtex([hit(number="3", paper=PAPER), hit(article="other"), hit(ordinal=7)])
    assert re.findall(r"@misc{(.*),", made) == ["1501.00001", "other"]
    assert "note = {Equations (3), no. 7}" in made
    assert "author = {Ada Lovelace and Noël Weiß}" in made
    assert to_bibtex([]) == ""


def test_latex_keeps_text_in_comments() -> None:
    """A title with a line break does not leave its comment; rows are aligned."""
    made = to_latex([hit(title="a\n\\input{evil}"), hit(r"a &= b \\ c &= d")])
    assert next(line for line in made.splitlines() if "evil" in line).startswith("% ")
    assert made.count(r"\begin{aligned}") == made.count(r"\end{aligned}") == 1
    assert r"\label" not in made


@pytest.mark.parametrize(
    ("ending", "text"),
    [("csv", ",".join(HIT_COLUMNS) + "\r\n"), ("json", "[]\n"), ("bib", ""), ("tex", "")],
)
def test_no_hits_are_a_file_without_rows(ending: str, text: str) -> None:
    """Not an error."""
    assert EXPORT_FORMATS[ending]([]) == text
