"""Tables and lists of notation."""

from pathlib import Path

import pytest

from eqemb import read_articles
from eqemb.symbols import find_definitions
from eqemb.symbols.cells import pair_cells
from eqemb.symbols.places import ArticlePlaces
from symbol_texts import article, defined
from timing import assert_linear

TABLE = "Symbol\nMeaning\n$N$\nnumber of trains\n$r$\nthe arrival rate"


def pairs(text: str) -> list[tuple[str, str]]:
    """Formulas and the cells beside them."""
    lines = ArticlePlaces(text, []).lines
    return [(one.text, other.text) for one, other in pair_cells(lines)]


def test_a_table_of_notation() -> None:
    """A symbol and the cell after it; the sentence is that cell, and offsets are of it."""
    assert defined(TABLE) == {"N": "number of trains", "r": "arrival rate"}
    first = find_definitions(article(TABLE))[0]
    assert (first.kind, first.sentence) == ("list", "number of trains")
    assert TABLE[first.start : first.end] == first.text
    assert TABLE[first.position :].startswith("$N$")


def test_meanings_may_come_first() -> None:
    """A paragraph that ends with a formula has its symbols in the last column."""
    assert pairs("Meaning\nSymbol\nnumber of trains\n$N$\nthe arrival rate\n$r$") == [
        ("$N$", "number of trains"), ("$r$", "the arrival rate"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "It rains.\n$x$\nThe sun shines.",  # a formula among sentences
        "$x$\nSummary.",  # a heading
        "$x$\n$y$\n$z$",
        "$x$\n\nnumber of trains",  # another paragraph
        "$x$ and\nnumber of trains",
        "$x$\n" + "number of trains " * 20,
        "$5$\nnumber of trains",
        "$x$\nis small",
    ],
)
def test_what_is_no_cell(text: str) -> None:
    """Only pairs of a symbol and a noun phrase define something."""
    assert defined(text) == {}


def test_the_name_of_an_item() -> None:
    """A list of descriptions names its items in brackets."""
    text = "[$k$] number of stops\n[$m$] the mass of a wagon"
    assert defined(text) == {"k": "number of stops", "m": "mass of a wagon"}


def test_a_notation_section_counts_everywhere() -> None:
    """As its sentences do."""
    made = article(f"Notation\n\n{TABLE}", sections=("Notation",))
    assert {one.scope for one in find_definitions(made)} == {"article"}


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.md", ("# Trains\n\n| Symbol | Meaning |\n|---|---|\n| $N$ | number of trains |\n"
                 "| $r$ | the arrival rate |\n\n$$N = r$$\n")),
        ("a.html", (r"<html><body><h1>Trains</h1><table><tr><td>\(N\)</td><td>number of trains</td>"
                   r"</tr><tr><td>\(r\)</td><td>the arrival rate</td></tr></table>"
                   r"<p>So \[N = r\]</p></body></html>")),
        ("b.html", (r"<html><body><h1>Trains</h1><dl><dt>\(N\)</dt><dd>number of trains</dd></dl>"
                   r"<p>It</p><dl><dt>\(r\)</dt><dd>the arrival rate</dd></dl>"
                   r"<p>So \[N = r\]</p></body></html>")),
    ],
)  # fmt: skip
def test_tables_of_real_formats(tmp_path: Path, name: str, source: str) -> None:
    """Readers of Markdown and web pages keep the cells of tables and lists."""
    (tmp_path / name).write_text(source, "utf-8")
    (made,) = read_articles(tmp_path / name)
    found = {one.symbol.latex: one.text for one in find_definitions(made)}
    assert found == {"N": "number of trains", "r": "arrival rate"}


def test_time_is_linear() -> None:
    """A table four times as long takes about four times as long."""
    assert_linear(lambda size: article("$x$\nthe age\n" * size), find_definitions, (1_000, 4_000))
    assert len(find_definitions(article("$x$\nthe age\n" * 1_000))) == 1_000
