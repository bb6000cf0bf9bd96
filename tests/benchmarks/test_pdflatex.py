"""The judge: parsing of what pdflatex writes, the two halves, and the table of answers."""

import json
import tomllib

import pytest

pytest.importorskip("resource")  # not on Windows

import pdflatex
import pdflatex_cases


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
    assert pdflatex.printed(text) == printed


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


def test_answers_are_those_of_the_cases() -> None:
    """The stored answers are for the current documents; otherwise run pdflatex_cases.py."""
    folder = pdflatex_cases.FOLDER
    cases = tomllib.loads((folder / "cases.toml").read_text("utf-8")) | pdflatex_cases.matrix()
    answers = json.loads((folder / "answers.json").read_text("utf-8"))
    assert {name: pdflatex_cases.document(case) for name, case in cases.items()} == {
        name: answer["source"] for name, answer in answers.items()
    }
