"""reStructuredText becomes articles: directives and roles of docutils and Sphinx."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqemb.article import Article
from eqemb.errors import SourceError
from eqemb.readers.rst import read_rst
from eqemb.sources import Source


def read(text: str | bytes) -> Article:
    """The article of a document."""
    data = text.encode() if isinstance(text, str) else text
    return read_rst(Source("doc", "doc.rst", "", "rst", {"doc.rst": data}, "doc.rst"))


def prose(text: str) -> str:
    """The text of a document with a formula at its end, without that formula."""
    return " ".join(read(text + "\n\n:math:`END`\n").text.split()).removesuffix(" $END$")


def formulas(text: str) -> list[str]:
    """The equations of a document."""
    return [equation.expanded for equation in read(text).equations]


def displays(article: Article) -> int:
    """How many displays were read."""
    return len({equation.display for equation in article.equations})


# -- displays


def test_a_label_belongs_to_one_equation() -> None:
    """A target of the same name is that of another object."""
    article = read(".. _e:\n.. _f:\n\n.. math:: a\n\n.. math:: b\n   :label: e\n\nWords.\n")
    assert [equation.labels for equation in article.equations] == [["f"], ["e"]]


@pytest.mark.parametrize(
    "written",
    [
        ".. math:: a = b",
        ".. math::\n\n   a = b",
        ".. math::\n   a = b",
        ".. math::\n    :class: wide\n\n    a = b",
        ".. math ::\n\n\ta = b",
        "- .. math:: a = b",
        "1. .. math:: a = b",
        "* - .. math::\n\n         a = b",
        "Words:\n.. math::\n\n   a = b",
        ".. note::\n\n   .. theorem:: Name\n      :label: x\n\n      .. math:: a = b",
        "+-----------------+\n| .. math:: a = b |\n+-----------------+",
    ],
)
def test_a_directive_is_a_display(written: str) -> None:
    """On its own line or indented, in lists, tables and other directives."""
    article = read(f"Words.\n\n{written}\n\nMore.\n")
    (found,) = article.equations
    assert (found.expanded, found.environment) == ("a = b", ".. math::")
    assert (article.displays_opened, article.displays_lost) == (1, 0)
    assert article.words()[-1] == "More"


def test_lines_are_those_of_the_file() -> None:
    """From the directive to the last line of its body."""
    (found,) = read("Words.\n\n.. math::\n\n   a\n   = b\n\nMore.\n").equations
    assert (found.line, found.end_line, found.latex) == (3, 6, "a\n   = b")


def test_blank_lines_separate_equations_of_one_display() -> None:
    """Each is an equation, and all belong to one display."""
    article = read(".. math:: a = b\n\n   c = d \\\\\n   e = f\n\n   g = h\n")
    assert [e.expanded for e in article.equations] == ["a = b", "c = d \\\\ e = f", "g = h"]
    assert {e.display for e in article.equations} == {1}
    assert article.displays_opened == 1


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("a = b\n\n   = c", "a = b \\\\ = c"),
        ("a &= b\n\n   &\\le c", "a &= b \\\\ &\\le c"),
        ("a = b +\n\n   c", "a = b + \\\\ c"),
        ("\\begin{array}{l}a\n\n   b\\end{array}", "\\begin{array}{l}a b\\end{array}"),
        ("\\frac{a}{\n\n   b}", "\\frac{a}{ b}"),
    ],
)
def test_a_blank_line_within_an_equation_separates_nothing(written: str, expected: str) -> None:
    """Inside braces, or before a relation."""
    assert formulas(f".. math::\n\n   {written}\n") == [expected]


def test_a_label_names_all_equations_of_its_directive() -> None:
    """Sphinx prints one number for them."""
    (found,) = read(".. math::\n   :label: eq:x\n\n   a = b\n\n   c = d\n").equations
    assert (found.labels, found.number) == (["eq:x"], "1")


def test_sphinx_numbers_what_has_a_label() -> None:
    """From 1 in each document; the others have no number."""
    article = read(
        ".. math:: a = 1\n   :label: one\n\n.. math:: b = 2\n\n"
        ".. math::\n   :label: three\n   :nowrap:\n\n   \\begin{equation} c = 3 \\end{equation}\n\n"
        ".. math:: d = 4\n   :name: four\n\n.. math:: e = 5\n   :number: 2.7\n"
    )
    assert [(e.number, e.labels) for e in article.equations] == [
        *(("1", ["one"]), (None, []), ("2", ["three"]), (None, ["four"]), ("2.7", []))
    ]
    assert article.equations[2].environment == "equation"


def test_options_after_the_formula_are_options() -> None:
    """As authors write them."""
    (found,) = read(".. math::\n a = b\n :label: x\n").equations
    assert (found.expanded, found.labels) == ("a = b", ["x"])


def test_a_target_before_a_display_is_its_label() -> None:
    """A target before text is not."""
    article = read(".. _first:\n\n.. math:: a\n\n.. _second:\n\nText.\n\n.. math:: b\n")
    assert [equation.labels for equation in article.equations] == [["first"], []]


@pytest.mark.parametrize("reference", [":eq:`x`", ":math:numref:`x`", ":ref:`x`", ":numref:`x`"])
def test_references_print_the_number(reference: str) -> None:
    """And the equation knows the sentence."""
    article = read(f".. math:: a = b\n   :label: x\n\nFrom {reference} we see it.\n")
    assert article.text.endswith("From $1$ we see it.\n\n")
    assert article.equations[0].references == ["From $1$ we see it."]


def test_a_display_without_a_formula_is_lost() -> None:
    """With its line."""
    article = read("Words.\n\n.. math::\n\nNot indented.\n\n.. math:: a\n")
    assert (article.displays_opened, article.displays_lost, displays(article)) == (2, 1, 1)
    assert [(p.cause, p.line) for p in article.problems] == [("lost: empty equation", 3)]


def test_raw_latex_has_macros_and_displays() -> None:
    """Its text is layout."""
    article = read(
        ".. raw:: latex\n\n   \\newcommand{\\R}{\\mathbb{R}}\n   \\newpage\n"
        "   \\begin{align} x &\\in \\R \\end{align} \\[ y \\]\n\n:math:`\\R` is real.\n"
    )
    assert [e.expanded for e in article.equations] == [r"x &\in \mathbb{R}", "y"]
    assert article.text.endswith("$\\mathbb{R}$ is real.\n\n")
    assert (article.displays_opened, article.words()) == (2, ["is", "real"])


def test_raw_latex_that_is_not_closed_is_lost() -> None:
    """It is counted."""
    article = read(".. raw:: latex\n\n   \\begin{align} x\n\n:math:`y`\n")
    assert (article.displays_opened, article.displays_lost) == (1, 1)


def test_a_display_that_defines_macros_is_none() -> None:
    """Its macros hold below it."""
    article = read(".. math::\n\n   \\newcommand{\\N}{\\mathbb{N}}\n\n.. math:: n \\in \\N\n")
    assert [e.expanded for e in article.equations] == [r"n \in \mathbb{N}"]
    assert article.displays_opened == 1


def test_dollars_are_mathematics_and_money() -> None:
    """An extension of Sphinx reads them; a price has no second dollar near it."""
    article = read("Let $x_1$ cost $5 and\n\n$$ y = 2 $$\n\nThen it costs $6.\n")
    assert [e.expanded for e in article.equations] == ["y = 2"]
    assert "Let $x_1$ cost" in article.text
    assert article.words() == ["Let", "cost", "5", "and", "Then", "it", "costs", "6"]
    assert article.displays_opened == 1


# -- what is not text

HIDDEN = [
    ".. code-block:: rst\n   :linenos:\n\n   .. math:: a\n\n   words",
    ".. plot::\n\n   words\n\n   .. math:: a",
    "::\n\n   words\n\n   .. math:: a",
    ".. a comment\n   words\n\n   .. math:: a",
    "..\n   words\n\n   .. math:: a",
    ".. [Smith2000] Words.\n   .. math:: a",
    ".. raw:: html\n\n   <b>words</b>\n   .. math:: a",
]


@pytest.mark.parametrize("hidden", HIDDEN)
def test_code_and_comments_are_left_out(hidden: str) -> None:
    """A display in them is not typeset and does not count; this is reported."""
    article = read(f"Before.\n\n{hidden}\n\nAfter :math:`x`.\n")
    assert article.words() == ["Before", "After"]
    assert (article.displays_opened, article.displays_lost) == (0, 0)
    assert [problem.cause for problem in article.problems] == ["not typeset"]


@pytest.mark.parametrize(
    "written",
    [
        ">>> f(x)\n12",
        ".. image:: a/b.png\n   :alt: words",
        ".. toctree::\n   :maxdepth: 2\n\n   one\n   two",
        ".. _a link: https://example.org/x",
        ".. __: https://example.org/x",
        "__ https://example.org/x",
        ".. |x| replace:: words",
        ".. index:: words",
        ".. autoclass:: a.b.C\n   :members:",
        "::\n\n> quoted\n> literal",
        "----------",
    ],
)
def test_other_blocks_without_text(written: str) -> None:
    """They give no words, and no problem."""
    article = read(f"Before.\n\n{written}\n\nAfter :math:`x`.\n")
    assert article.words() == ["Before", "After"]
    assert article.problems == []


def test_a_literal_block_ends_where_its_indentation_ends() -> None:
    """Also in a list, and without a blank line before it."""
    assert (
        prose("- One::\n\n    code\n\n  two.\n\nThree::\n   code\n\nFour.")
        == "One: two. Three: Four."
    )


def test_an_empty_comment_hides_nothing_after_a_blank_line() -> None:
    """It separates two blocks."""
    assert prose("One.\n\n..\n\n   Two.") == "One. Two."


def test_an_included_file_is_missing() -> None:
    """It is named with its line."""
    (problem,) = read("One :math:`x`.\n\n.. include:: ../rest.inc\n").problems
    assert (problem.cause, problem.line, problem.detail) == ("missing input", 3, "../rest.inc")


# -- text


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("*a* and **b c** and 2 * 3", "a and b c and 2 * 3"),
        ("call ``f(x)`` now", "call now"),
        (":class:`~a.b.Tree`, :func:`.fit()` and :py:obj:`x <y>`", "Tree, fit and x"),
        (":ref:`see this <label>` or :ref:`label`", "see this or …"),
        ("`a page <https://example.org>`_ and `other`_ and word_", "a page and other and word"),
        ("at https://example.org/a now", "at now"),
        ("as said [1]_, [#note]_ and [Smith2000]_.", "as said, and."),
        ("see :cite:`Smith2000,Doe` or :cite:t:`x`", "see or"),
        (r"two\ words and \*stars\*", "twowords and *stars*"),
        (":math:`a_1`\\ th of :math:`b`", "$a_1$th of $b$"),
        ("H\\ :sub:`2`\\ O", "H2O"),
        ("the |WFS| and |Known|", "the WFS and wave field"),
        ("`x^2` is :emphasis:`y`", "x^2 is y"),
        (r"`\alpha` is a formula", r"$\alpha$ is a formula"),
        ("x^2`:math: is `y`:sub:".replace("x", "`x", 1), "$x^2$ is y"),
    ],
)
def test_inline_markup(written: str, expected: str) -> None:
    """What people read is text; citations, code and targets are left out."""
    definition = ".. |known| replace:: wave *field*"
    assert prose(f"Word {written}\n\n{definition}") == f"Word {expected}"


def test_interpreted_text_may_be_mathematics() -> None:
    """If the document says so, or writes several formulas like that."""
    assert prose(".. default-role:: math\n\nLet `x`.") == "Let $x$."
    assert prose(r"Let `\a`, `\b`, `\c` and `x`.") == r"Let $\a$, $\b$, $\c$ and $x$."


@pytest.mark.parametrize(
    "written",
    [
        ".. note:: One\n   two.\n\n   Three.",
        ".. admonition:: One two.\n   :class: tip\n\n   Three.",
        ".. container:: name\n\n   One two.\n\n   Three.",
        ".. figure:: a.png\n   :alt: words\n\n   One two.\n\n   Three.",
        ".. prf:theorem:: One two.\n   :label: words\n\n   Three.",
        ".. function:: f(x)\n\n   One two. Three.",
        ".. autoclass:: C\n   :members:\n\n   One two. Three.",
        ".. [#] One\n   two. Three.",
        ":orphan:\n:author: Words\n\nOne two.\n\nThree.",
        "| One two.\n| Three.",
    ],
)
def test_directives_with_prose(written: str) -> None:
    """Their bodies and titles are text; options and names are not."""
    assert prose(written) == "One two. Three."


def test_lists_definitions_and_fields_are_sentences() -> None:
    """Each by itself."""
    text = "A list:\n\n* one\n  thing\n* two\n\nterm\n   meaning\n\n:param x: three\n:returns: four"
    lines = [line for line in read(text + " :math:`x`").text.split("\n") if line]
    assert lines == ["A list:", "one thing", "two", "term", "meaning", "three", "four $x$"]


def test_tables_are_read_by_cell() -> None:
    """Grid tables, simple tables and list tables."""
    grid = (
        "+-----+-------+\n| one | two   |\n|     | three |\n+=====+=======+\n"
        "| 4   | five  |\n+-----+-------+"
    )
    simple = "====  =====\none   two\n      three\n----  -----\n4     five\n====  ====="
    listed = (
        ".. list-table::\n   :header-rows: 1\n\n   * - one\n     - two three\n   * - 4\n     - five"
    )
    for table in (grid, simple, listed):
        lines = [line for line in read(f"{table}\n\n:math:`x`").text.split("\n") if line]
        assert lines == ["one", "two three", "4", "five", "$x$"]


def test_a_border_without_a_table_is_harmless() -> None:
    """The text after it is read."""
    assert prose("===  ===\nOne.\n\nTwo.\n\n===  ===\nThree.").split() == ["One.", "Two.", "Three."]


def test_titles_and_sections() -> None:
    """With underlines, overlines, formulas and targets; the first is the title."""
    article = read(
        "====\nName\n====\n\nText.\n\n.. _part:\n\nThe :math:`k`-th *part*\n---------------\n\n"
        ".. math:: a\n\n1. Last\n~~~~~~~~\n\nShort\n==\n\n.. math:: b\n"
    )
    assert article.title == "Name"
    assert article.sections == ["The $k$-th part", "1. Last"]
    assert [e.section for e in article.equations] == ["The $k$-th part", "1. Last"]


def test_a_sentence_goes_on_after_a_display() -> None:
    """If the next paragraph begins with a small letter; otherwise it is another paragraph."""
    text = read("We get\n\n.. math:: a = b,\n\nwhere it holds.\n\n.. math:: c\n\nNext one.\n").text
    assert text == "We get ￼ where it holds.\n￼\n\nNext one.\n\n"


def test_a_document_without_mathematics_is_no_article() -> None:
    """With its cause."""
    with pytest.raises(SourceError, match="no mathematics"):
        read("Title\n=====\n\nText.\n")


def test_line_ends_and_encodings() -> None:
    """CRLF, UTF-8 with a mark, Windows-1252."""
    text = "Caf\u00e9\r\n====\r\n\r\n.. math::\r\n\r\n   a\r\n"
    for data in (text.encode(), text.encode("utf-8-sig"), text.encode("cp1252")):
        article = read(data)
        assert (article.title, [e.expanded for e in article.equations]) == ("Café", ["a"])


pieces = st.sampled_from(
    [".. math::", ".. math:: x", "   ", "\n", "\n\n", "=====", "== ==", "+--+", "| a |", "::", "..",
     ":math:`x`", "`", "``", "*", "|", "$", "$$", ":label: a", ":eq:`a`", ".. note::", "- ", "a",
     ".. raw:: latex", "\\begin{align}", "\\end{align}", "\\[", "\\]", "{", "}", ".. _a:",
     ">>> x", "\\",     ".. code::", "\t", "\x1e", "\ufffc", "\U00100000"],
)  # fmt: skip


@given(st.lists(pieces, max_size=40).map("".join) | st.text(max_size=60) | st.binary(max_size=60))
def test_anything_can_be_read(text: str | bytes) -> None:
    """Every display is read or lost, and every mark in the text has its equation."""
    try:
        article = read(text)
    except SourceError:
        return
    assert len([part for part in article.stream() if not isinstance(part, str)]) == len(
        article.equations
    )
    assert displays(article) + article.displays_lost == article.displays_opened
