"""DocOnce becomes articles: LaTeX between !bt and !et, markup without backslashes."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqemb.article import Article
from eqemb.errors import SourceError
from eqemb.library.ingest import read_articles
from eqemb.readers.doconce import read_doconce
from eqemb.sources import Source
from packing import put
from timing import assert_linear


def read(text: str | bytes) -> Article:
    """The article of a document."""
    data = text.encode() if isinstance(text, str) else text
    return read_doconce(Source("a", "a.do.txt", "", "doconce", {"a.do.txt": data}, "a.do.txt"))


def prose(text: str) -> list[str]:
    """The lines of a document that ends with a formula, without that formula."""
    return [line for line in read(text + "\n\n$END$\n").text.split("\n") if line][:-1]


def test_blocks_of_latex_are_displays() -> None:
    """Each environment in a block is one; labels have no backslash."""
    article = read(
        "We get\n\n!bt\n\\begin{equation}\na = b, label{eq:a}\n\\end{equation}\n!et\nwhere\n!bt\n"
        "\\[ c \\]\n\\begin{align*} d &= e\\\\ &= f \\end{align*}\n!et\n\nBy (ref{eq:a}) so.\n"
    )
    assert [(e.expanded, e.environment, e.labels) for e in article.equations] == [
        ("a = b,", "equation", ["eq:a"]),
        ("c", "\\[", []),
        ("d &= e \\\\ &= f", "align*", []),
    ]
    assert (article.equations[0].line, article.equations[0].end_line) == (3, 7)
    assert article.text == "We get \ufffc where \ufffc \ufffc\n\nBy (…) so.\n\n"
    assert article.equations[0].references == ["By (…) so."]
    assert article.displays_opened == 3


def test_a_block_without_an_environment_is_a_display() -> None:
    """As it stands."""
    article = read("!bt\nx = 1\n!et\n")
    assert [(e.expanded, e.environment) for e in article.equations] == [("x = 1", "!bt")]
    assert article.displays_opened == 1


@pytest.mark.parametrize("text", ["!bt\n\\[ a \\]\n", "!bt\n\\[ a \\]\n!bc\nx\n!ec\n"])
def test_a_block_that_is_not_closed_is_lost(text: str) -> None:
    """With its line."""
    article = read(f"$x$\n\n{text}")
    assert [(p.cause, p.line) for p in article.problems] == [("lost: display not closed", 3)]
    assert (article.displays_opened, article.displays_lost, article.equations) == (1, 1, [])


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("A *b* and _c d_ and `code` $x_1$.", ["A b and c d and $x_1$."]),
        ("As ref{sec} says cite{doe,roe}, idx{word!other}now.", ["As … says, now."]),
        ('A "page": "https://example.org" and "`f.py`": "${src}/f.py".', ["A page and f.py."]),
        ("Text [hpl: remove this] here [^note].", ["Text here."]),
        ("``Quoted'' words", ["Quoted'' words"]),
        ("__Remark.__ Words.", ["Remark.", "Words."]),
        (" * one\n   more\n * two\n o three", ["one more", "two", "three"]),
        ("FIGURE: [a/b, width=4] A caption. label{fig}", ["A caption."]),
        ("|---c---|\n| a | b c |\n|---|", ["a", "b c"]),
        ("!bnotice A title\nBody.\n!enotice", ["A title", "Body."]),
        ("!bc pycod\nx = 1\n!bsol\n!ec\nWords.", ["Words."]),
        ("# comment\n@@@CODE a.py\nDATE: today\nfile=a_b\n\\clearpage\nWords.", ["Words."]),
    ],
)
def test_text(written: str, expected: list[str]) -> None:
    """What people read; code, citations, keys and targets are left out."""
    assert prose(written) == expected


def test_titles_and_sections() -> None:
    """With formulas."""
    article = read(
        "TITLE: On $x$\n\n======= One =======\nlabel{one}\n\n!bt\n\\[ a \\]\n!et\n\n=== $b$ ===\n"
    )
    assert (article.title, article.sections) == ("On x", ["One", "$b$"])
    assert (article.equations[0].section, article.words()) == ("One", ["On", "One"])


@pytest.mark.parametrize(
    "marks", [("# #if X", "# #else", "# #endif"), ("% if X:", "% else:", "% endif")]
)
def test_the_first_branch_of_a_conditional_is_read(marks: tuple[str, str, str]) -> None:
    """It is reported, and so are displays in the other one."""
    start, middle, end = marks
    article = read(f"{start}\nOne $x$.\n{middle}\nTwo.\n!bt\n\\[ a \\]\n!et\n{end}\nThree.\n")
    assert article.words() == ["One", "Three"]
    assert [problem.cause for problem in article.problems] == [
        "undecided conditional",
        "not typeset",
    ]
    assert (article.displays_opened, article.displays_lost) == (0, 0)


def test_included_files_are_missing() -> None:
    """Each is named."""
    (problem,) = read('$x$\n# #include "other.do.txt"\n').problems
    assert (problem.cause, problem.line, problem.detail) == ("missing input", 2, "other.do.txt")


def test_documents_are_found_by_both_parts_of_their_suffix(tmp_path: Path) -> None:
    """Other .txt files are no papers."""
    put(tmp_path, {"nlp/a.do.txt": b"$x$ words", "nlp/b.txt": b"$x$ words"})
    assert [article.name for article in read_articles(tmp_path)] == ["nlp/a"]


def test_latex_in_code_is_code() -> None:
    """Unless the end of the code is missing."""
    assert read("$x$\n!bc pycod\n!bt\nx = 1\n!et\n!ec\nText.\n").equations == []
    for end in ("", "!bc\ny\n!ec\n"):
        (found,) = read("!bc pycod\ny\n!bt\nx = 1\n!et\nText.\n" + end).equations
        assert found.expanded == "x = 1"


def test_long_lines_cost_linear_time() -> None:
    """A heading that is not closed, with many spaces."""
    assert_linear(lambda size: "===== a" + " " * size + "b\n\n$x$\n", read, (5_000, 20_000))


pieces = st.sampled_from(
    ["!bt\n", "!et\n", "!bc\n", "!ec\n", "\n", "\n\n", "\\[", "\\]", "\\begin{align}",
     "\\end{align}", "label{a}", "ref{a}", "$", "x", "=== a ===\n", "# #if\n", "# #else\n",
     "# #endif\n", "{", "}", "| a |", " * a", '"a": "b"', "\\newcommand{\\a}{\\a}", "\\a",
     "\ufffc", "\x1e", "\U00100000"],
)  # fmt: skip


@given(st.lists(pieces, max_size=40).map("".join) | st.text(max_size=60) | st.binary(max_size=60))
def test_anything_can_be_read(text: str | bytes) -> None:
    """Every display is read or lost, and every mark in the text has its equation."""
    try:
        article = read(text)
    except SourceError:
        return
    equations = [part for part in article.stream() if not isinstance(part, str)]
    assert equations == article.equations
    displays = len({equation.display for equation in equations})
    assert displays + article.displays_lost == article.displays_opened
