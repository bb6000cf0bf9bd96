"""Tables of notation in LaTeX: rows are kept, and their words stay outside the text."""

import pytest

from eqemb.article import Article
from eqemb.symbols import find_definitions
from latex_paper import read
from timing import assert_quick

ROWS = r"$m$ & mass of a ball \\ $v_0$ & its first speed \\"


def table(rows: str, header: str = "", columns: str = "ll") -> str:
    """Return a table of these rows."""
    return rf"\begin{{tabular}}{{{columns}}}\hline {header} \hline {rows} \hline\end{{tabular}}"


def kept(article: Article) -> list[tuple[str, str]]:
    """Return symbols and meanings of the rows that were kept."""
    return [(row.symbol, row.meaning) for row in article.notation]


BALL = [("m", "mass of a ball"), ("v_0", "its first speed")]


@pytest.mark.parametrize(
    "body",
    [
        rf"\section{{Notation}} Words. {table(ROWS)}",
        rf"\section*{{List of Symbols}} {table(ROWS)}",
        table(ROWS, r"\textbf{Symbol} & \textbf{Meaning} \\"),
        table(ROWS, r"Notation & \\"),
        table(ROWS, r"\multicolumn{1}{c}{Variable} & Description \\"),
        rf"\begin{{table}}\caption{{Notation of this paper.}}{table(ROWS)}\end{{table}}",
        rf"\begin{{table*}}{table(ROWS)}\caption[Short]{{Main symbols}}\end{{table*}}",
        rf"\section{{Nomenclature}}\begin{{longtable}}{{ll}} {ROWS} \end{{longtable}}",
        r"\section{Notation}" + table(r"mass of a ball & $m$ \\ its first speed & \(v_0\) \\"),
        r"\section{Notation}" + table(r"$m$ & $\mathbb{R}$ & mass of a ball \\ "
                                      r"$v_0$ & $\mathbb{R}^3$ & its first speed \\", "", "lll"),
        r"\section{Notation}" + table(r"$m$ & mass of a ball & $v_0$ & its first speed"),
        r"\nomenclature[A]{$m$}{mass of a ball} Words. \nomenclature{$v_0$}{its first speed}",
    ],
)  # fmt: skip
def test_rows_are_kept(body: str) -> None:
    """A table is about notation by its section, its caption or its header."""
    assert kept(read(body)) == BALL


@pytest.mark.parametrize(
    "body",
    [
        rf"\section{{Results}} {table(ROWS)}",
        table(ROWS, r"Method & Description \\"),
        rf"\begin{{table}}\caption{{Speeds.}}{table(ROWS)}\end{{table}}",
        r"\section{Notation}" + table(r"$m$ & 3.5 \\ $v$ & \begin{itemize}\item one\end{itemize}"),
        r"\section{Notation} $m$ & mass",
    ],
)
def test_other_tables_are_not(body: str) -> None:
    """Results, numbers and cells with blocks are no rows of notation."""
    assert read(body).notation == []


def test_several_symbols_in_a_cell() -> None:
    """Each symbol has the meaning beside it."""
    article = read(r"\section{Notation}" + table(r"$a$, $b$ & sides \\ {$h$}: & \emph{the} height"))
    assert kept(article) == [("a", "sides"), ("b", "sides"), ("h", "the height")]


def test_the_text_stays_as_it_is() -> None:
    """Words, equations, references and problems do not depend on whether rows are kept."""
    rows = r"$m$ & mass, see \ref{a} \( \\ $v$ & speed \[x\]\label{a} \\"
    body = r"Before. {} After \ref{a}. \section{%s} " + table(rows) + r" Last \eqref{a}."
    one, other = read(body % "Notation"), read(body % "Results")
    assert one.notation
    assert not other.notation
    assert one.text == other.text.replace("Results", "Notation")
    assert one.problems == other.problems
    assert [equation.references for equation in one.equations] == [
        equation.references for equation in other.equations
    ]


def test_a_row_defines_its_symbol_everywhere() -> None:
    """The definition holds in the whole article, and says what the row says."""
    article = read(rf"Words.\section{{Notation}}{table(ROWS)}\section{{End}} We add $m$.")
    found = {one.symbol.latex: one for one in find_definitions(article)}
    assert found["m"].text == "mass of a ball"
    assert found["m"].scope == "article"
    assert found["m"].sentence == "$m$: mass of a ball"
    assert article.text[found["m"].position :].startswith("Notation")
    assert found["v_0"].text == "first speed"


def test_two_meanings_in_one_table_are_none() -> None:
    """A table of examples says nothing about the letter in all of them."""
    rows = r"$x = y$ & couch and sofa \\ $x = z$ & able and unable \\ $k$ & number of words \\"
    article = read(r"\section{Notation}" + table(rows))
    assert [one.symbol.latex for one in find_definitions(article)] == ["k"]


@pytest.mark.parametrize(
    "body",
    [
        r"\section{Notation}" + table(f"$m${' ' * 50_000}x & mass"),
        rf"\begin{{table}}\caption{' ' * 50_000}x{table(ROWS)}\end{{table}}",
    ],
    ids=["symbol", "caption"],
)
def test_long_blanks_are_read_in_linear_time(body: str) -> None:
    """A cell or a caption with many blanks does not stop the reader."""
    assert_quick(lambda: read(body), 3)
