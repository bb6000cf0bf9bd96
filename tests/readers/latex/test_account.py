"""The account of a paper: what was not typeset, what is unknown, and what could not be decided."""

import pytest

from eqemb.article import Problem
from latex_paper import causes, numbers, read, read_files, text

EQUATION = r"\begin{equation}x\end{equation}"


@pytest.mark.parametrize(
    ("body", "count"),
    [
        (rf"\iffalse {EQUATION}\fi", "1 display"),
        (rf"\hide{{{EQUATION}{EQUATION}}}", "2 displays"),
        (r"\newif\ifa\ifa \[x\] \begin {align}x\end{align}\fi", "2 displays"),
    ],
)
def test_displays_that_are_not_typeset_are_counted(body: str, count: str) -> None:
    """TeX does not print them either; the count is independent of macros."""
    article = read(f"Text {body} end. {EQUATION}", r"\newcommand\hide[1]{}")
    assert article.problems == [Problem("not typeset", "main.tex", 4, count)]
    assert len(article.equations) == 1


@pytest.mark.parametrize(
    "body",
    [
        rf"% \begin{{equation}}{EQUATION}"[:20] + "\n" + EQUATION,
        r"\newcommand\eq[1]{\begin{equation}#1\end{equation}}\eq{x}",
        r"a\\[2pt] b \[x\\[3pt]y\]",
        r"\begin {equation} x \end {equation}",
        rf"\begin{{comment}}{EQUATION}\end{{comment}} {EQUATION}",
        rf"\begin{{verbatim}}{EQUATION}\end{{verbatim}} {EQUATION}",
    ],
)
def test_nothing_is_reported_when_all_is_typeset(body: str) -> None:
    """Comments, code, macros that open displays, and line breaks with a length."""
    article = read(body)
    assert article.problems == []
    assert len(article.equations) == 1


def test_unknown_class() -> None:
    """A class that is neither known nor in the paper may number in another way."""
    assert causes(read(EQUATION, document_class="ourjournal")) == ["class unknown"]
    with_file = read(EQUATION, document_class="ourjournal", files={"ourjournal.cls": ""})
    assert causes(with_file) == []


@pytest.mark.parametrize(
    ("body", "formula"),
    [
        (r"\begin{darray}x^2&=y\\z\end{darray}", r"x^2&=y\\z"),
        (r"\begin{longformula}[t]\frac ab\end{longformula}", r"\frac ab"),
    ],
)
def test_an_unknown_environment_with_bare_mathematics_is_a_display(body: str, formula: str) -> None:
    """In text, TeX stops at an exponent without dollars: it must be a display."""
    article = read(f"Before {body} after.")
    assert [equation.expanded for equation in article.equations] == [formula]
    assert numbers(article) == [None]
    assert causes(article) == ["unknown environment"]
    assert article.displays_opened == 1
    assert article.words() == ["Before", "after"]


def test_an_unknown_environment_with_words_is_text() -> None:
    """It is reported once; displays in it are read."""
    body = rf"\begin{{box}}Words $x_1$ and {EQUATION}\end{{box}}"
    article = read(f"{body} {body}")
    assert causes(article) == ["unknown environment"]
    assert len(article.equations) == 2
    assert article.words() == ["Words", "and", "Words", "and"]


def test_an_unknown_environment_with_code_is_no_display() -> None:
    """A bare hash is an error in mathematics too, so the subscripts are those of a program."""
    article = read(
        "Before \\begin{pythoncode}\n# fit\ny_pred = f(x_test)\n\\end{pythoncode} after."
    )
    assert article.equations == []
    assert causes(article) == ["unknown environment"]


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (r"\ifnum\value{section}>3 Many\else Few\fi", r"\ifnum"),
        (r"\ifthenelse{\lengthtest{\textwidth>3cm}}{Wide}{Narrow}", r"\ifthenelse"),
        (r"\ifnumcomp{\unknown}{<}{3}{Many}{Few}", r"\ifnumcomp"),
    ],
)
def test_undecided_conditionals_are_reported(body: str, detail: str) -> None:
    """The first branch is read, and the report says that it was a guess."""
    article = read(body)
    assert len(article.words()) == 1
    assert article.problems == [Problem("undecided conditional", "main.tex", 4, detail)]


def test_changed_category_codes_are_reported() -> None:
    """A changed category code is the true cause of what follows from it."""
    assert read(r"\catcode`\_=12 a_b").problems == [Problem("catcode change", "main.tex", 4, "_")]
    assert read(r"\catcode`\@=11 \catcode`\_=8 x").problems == []


def test_a_diagram_is_a_drawing_that_takes_its_number() -> None:
    """As in print: pdflatex puts 1 beside the diagram and 2 beside the equation."""
    diagram = r"\begin{tikzcd}A\arrow[r]&B\end{tikzcd}"
    article = read(rf"\begin{{equation}}{diagram}\end{{equation}} {EQUATION}")
    assert numbers(article) == ["2"]
    assert causes(article) == ["drawing in a display"]


def test_styles_do_not_redefine_displays() -> None:
    r"""A paper that carries amsart.cls, which redefines \[ and \], keeps its displays."""
    style = r"\DeclareRobustCommand{\[}{$$}\def\]{$$}\renewcommand{\(}{$}"
    article = read_files({
        "main.tex": r"\documentclass{own}\begin{document}A \[x\] \(y\) b.\end{document}",
        "own.cls": style,
    })  # fmt: skip
    assert [equation.environment for equation in article.equations] == ["\\["]


def test_arguments_of_unknown_commands_are_separate_words() -> None:
    """Their number is unknown, so each argument is text of its own."""
    assert text(r"\unknown{alpha}{beta} gamma") == "alpha beta gamma"
    assert text(r"\IEEEPARstart{T}{his} is") == "This is"


def test_astronomers_and_long_tables_are_not_text() -> None:
    """Only their captions are."""
    table = r"""\begin{deluxetable*}{cc}\tablecaption{Stars.}\tablehead{\colhead{A}&\colhead{B}}
\startdata one & two \enddata \tablecomments{Notes}\end{deluxetable*}"""
    long = r"\begin{longtblr}[caption={Long}]{colspec={ll}}one & two\end{longtblr}"
    assert text(f"Before {table} {long} after.") == "Before after.\n\nStars."


def test_rows_of_a_long_display_have_short_contexts() -> None:
    """Neighbours of a row are one mark, so that memory grows with the number of rows."""
    rows = r"\\".join(rf"a_{{{index}}}" for index in range(500))
    article = read(rf"Before. \begin{{align}}{rows}\end{{align}} After.")
    assert len(article.equations) == 500
    assert max(len(equation.context) for equation in article.equations) < 60
