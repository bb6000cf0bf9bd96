"""The judge: parsing of what pdflatex writes, the two halves, and the table of answers."""

import json
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("resource")  # not on Windows

import pdflatex
import pdflatex_cases
import pdflatex_run


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        (r"(\ignorespaces 1.2\unskip \@@italiccorr )", "1.2"),
        (r"{$\ast $}", "*"),
        (r"[Q]", "Q"),
        (r"2$^\prime $", "2'"),
        (r"\color {blue}(A1)", "A1"),
    ],
)
def test_printed_numbers(text: str, printed: str) -> None:
    """Formatting and parentheses are not part of a number."""
    assert pdflatex_run.printed(text) == printed


def test_words_have_four_letters_and_are_the_authors() -> None:
    """LaTeX's own words are left out."""
    assert pdflatex.words("Theorem 1. The energy is eﬃcient energy.") == {
        "energy": 2,
        "efficient": 1,
    }


def test_every_paper_belongs_to_one_half() -> None:
    """The halves depend on names only, and have about the same size."""
    halves = [pdflatex.half_of(f"paper-{index}") for index in range(400)]
    assert halves == [pdflatex.half_of(f"paper-{index}") for index in range(400)]
    assert 160 < halves.count("held-out") < 240


def test_chapters_get_a_class_and_their_environments(tmp_path: Path) -> None:
    """A chapter without a preamble is input by a document that defines its environments."""
    chapter = tmp_path / "one.tex"
    chapter.write_text(r"\chapter{One}\begin{claim}[x]\begin{equation}a\end{equation}\end{claim}")
    judgement = pdflatex_run.Judgement("", "done")
    driver = pdflatex_run._driver(chapter, judgement).read_text()
    assert judgement.stand_in == "preamble"
    assert r"\documentclass{book}" in driver
    assert r"\newenvironment{claim}" in driver
    assert driver.endswith(r"\input{one.tex}\end{document}")


def test_only_missing_text_is_recorded_as_missing(tmp_path: Path) -> None:
    """A preamble and a class have a stand-in; what stands in the document is missing."""
    main = tmp_path / "main.tex"
    main.write_text(r"\documentclass{own}\input{../preamble}\begin{document}\input{two}")
    judgement = pdflatex_run.Judgement("", "done")
    stub = pdflatex_run._stub(tmp_path / "own.cls", main, judgement, "own.cls")
    assert r"\LoadClass{article}" in stub
    preamble = pdflatex_run._stub(tmp_path / "preamble.tex", main, judgement, "../preamble.tex")
    assert "amsmath" in preamble
    assert judgement.stubs == []
    assert pdflatex_run._stub(tmp_path / "two.tex", main, judgement, "two.tex") == ""
    assert judgement.stubs == ["two.tex"]


def test_answers_are_those_of_the_cases() -> None:
    """The stored answers are for the current documents; otherwise run pdflatex_cases.py."""
    folder = pdflatex_cases.FOLDER
    cases = tomllib.loads((folder / "cases.toml").read_text("utf-8")) | pdflatex_cases.matrix()
    answers = json.loads((folder / "answers.json").read_text("utf-8"))
    assert {name: pdflatex_cases.document(case) for name, case in cases.items()} == {
        name: answer["source"] for name, answer in answers.items()
    }
