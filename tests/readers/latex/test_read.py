"""Whole articles: positions of equations, their context, and references to them."""

import pytest

from campaigns import FULL
from eqemb.article import EQUATION_MARK, Equation, Problem
from eqemb.readers.latex import read_latex
from latex_paper import by_label, causes, document, numbers, opened, read, read_files
from timing import assert_linear


def test_an_article_says_where_it_came_from() -> None:
    """Name, origin and collection are those of the source; its problems come first."""
    source = opened({"a.tex": document("Words.").encode()})
    source.problems.append(Problem("unsafe path", "../x"))
    article = read_latex(source)
    assert (article.name, article.origin, article.collection) == ("paper", "here", "tests")
    assert article.main_file == "a.tex"
    assert article.problems[0].cause == "unsafe path"


def test_equations_have_names() -> None:
    """`ARTICLE#n`, counted over all equations, numbered or not."""
    article = read(r"\[a\]\begin{equation}b\end{equation}")
    assert [equation.id for equation in article.equations] == ["paper#1", "paper#2"]
    assert [equation.numbered for equation in article.equations] == [False, True]


def test_a_command_ends_where_a_label_is_cut_out() -> None:
    """It does not become one word with what follows, also in a statement that is repeated."""
    article = read(
        r"\begin{equation}\displaystyle\label{eq:1}p_k=1\end{equation}"
        r"\begin{restatable}{theorem}{again}\[\alpha\label{eq:2}b\]\end{restatable}\again*",
        r"\usepackage{thm-restate}\newtheorem{theorem}{Theorem}",
    )
    latex = [equation.expanded for equation in article.equations]
    assert latex == [r"\displaystyle p_k=1", r"\alpha b", r"\alpha b"]


# -- where


def span(equation: Equation) -> tuple[str, int, int]:
    """File and lines of an equation."""
    return equation.file, equation.line, equation.end_line


def test_lines_of_an_equation() -> None:
    """From its first symbol to its last; rows have their own."""
    body = "One.\n\\begin{equation}\n  a\n  + b\n\\end{equation}\n"
    first, second, third = read(body + "\\begin{align}\n c\\\\\n d\n\\end{align}").equations
    assert span(first) == ("main.tex", 6, 7)
    assert (second.line, second.end_line) == (10, 10)
    assert (third.line, third.end_line) == (11, 11)


def test_lines_count_in_the_file_that_was_input() -> None:
    """An equation of an input is located in that file."""
    files = {"sections/part.tex": "\n\n\\begin{equation}a\\end{equation}\n"}
    article = read("Words.\n\\input{sections/part}\n\\[b\\]", files=files)
    assert [span(equation) for equation in article.equations] == [
        ("sections/part.tex", 3, 3),
        ("main.tex", 6, 6),
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_lines_do_not_depend_on_the_encoding(end: str, encoding: str) -> None:
    """Whatever the line endings and the encoding."""
    source = document("Naïve words.\n\n\\[\na\n\\]").replace("\n", end)
    article = read_files({"main.tex": source.encode(encoding)})
    assert article.words() == ["Naïve", "words"]
    assert span(article.equations[0]) == ("main.tex", 7, 7)


def test_a_display_made_by_a_macro_stands_where_the_macro_is_called() -> None:
    """Not where it was defined."""
    preamble = r"\newcommand{\eqnl}[2]{\begin{equation}\label{#1}#2\end{equation}}"
    article = read("Words.\n\n\\eqnl{q}{a=\n b}\n", preamble)
    assert span(article.equations[0]) == ("main.tex", 6, 7)


def test_a_shorthand_keeps_the_authors_lines() -> None:
    r"""With \be ... \ee, the body is the author's text."""
    article = read("\\be\n a\n\\ee", r"\def\be{\begin{equation}}\def\ee{\end{equation}}")
    equation = article.equations[0]
    assert (equation.line, equation.end_line) == (5, 5)
    assert equation.latex == "a"


# -- what


def test_latex_as_written_and_expanded() -> None:
    """The author's text is kept beside the expansion; only the latter has its marks removed."""
    preamble = r"\newcommand{\R}{\mathbb{R}}\newcommand{\n}[1]{\|#1\|}"
    body = "\\begin{equation}\n  \\n{x} % so\n  \\in \\R \\label{q}\n\\end{equation}"
    (equation,) = read(body, preamble).equations
    assert equation.latex == "\\n{x} % so\n  \\in \\R \\label{q}"
    assert equation.expanded == r"\|x\| \in \mathbb{R}"


def test_rows_as_written() -> None:
    """Each row of an align has its own text."""
    article = read(r"\begin{align}\x&=1\label{a}\\ \x&=2\end{align}", r"\def\x{y}")
    assert [equation.latex for equation in article.equations] == [r"\x&=1\label{a}", r"\x&=2"]
    assert [equation.expanded for equation in article.equations] == ["y&=1", "y&=2"]


def test_what_a_macro_wrote_is_shown_by_its_call() -> None:
    """For a display made entirely by a macro, the source is the call."""
    article = read(r"\eql{a+b}", r"\newcommand{\eql}[1]{\begin{equation}#1\end{equation}}")
    assert article.equations[0].expanded == "a+b"
    assert "a+b" in article.equations[0].latex


# -- around


def test_the_section_an_equation_stands_in() -> None:
    """The last heading before it, with its mathematics."""
    body = r"\[a\]\section{One}\[b\]\subsection{Two $x$}\[c\]\section*{Three}\[d\]"
    article = read(body)
    assert [equation.section for equation in article.equations] == ["", "One", "Two $x$", "Three"]
    assert article.sections == ["One", "Two $x$", "Three"]


def test_context_is_the_sentence_and_its_neighbours() -> None:
    """One sentence before, its own, one after; equations are marked."""
    body = r"Zero. One. Two \[a\] goes on. Three. Four."
    (equation,) = read(body).equations
    assert equation.context == "One. Two [equation] goes on. Three."


def test_a_context_has_no_headings() -> None:
    """A heading is not part of a sentence, nor is a short paragraph such as a heading in bold."""
    body = (
        r"\section{The first part} One. Two \[a\] goes on. \section{The second part} Three \[b\]."
        "\n\n\\textbf{Case 2:}\n\nAt last \\[c\\]."
    )
    first, second, third = read(body).equations
    assert first.context == "One. Two [equation] goes on."
    assert second.context == "Three [equation]."
    assert third.context == "At last [equation]."
    assert second.section == "The second part"


def test_a_display_of_many_rows_has_a_bounded_context() -> None:
    """Of a thousand rows, none repeats all the others."""
    rows = r"a\\" * 1000
    article = read(rf"One \begin{{align}}{rows}b\end{{align}} two.")
    assert len(article.equations) == 1001
    assert sum({len(equation.context) for equation in article.equations}) < 40_000


def test_the_stream_is_in_reading_order() -> None:
    """Words and equations in order; notes after their paragraph."""
    article = read("One\\footnote{Note \\[b\\]} \\[a\\] two.\n\nThree \\[c\\]")
    stream = [item if isinstance(item, str) else item.expanded for item in article.stream()]
    assert stream == ["One", "a", "two", "Note", "b", "Three", "c"]
    assert [equation.ordinal for equation in article.equations] == [1, 2, 3]


# -- references

TWO = r"\begin{equation}a\label{a}\end{equation} and \begin{equation}b\label{b}\end{equation}. "


@pytest.mark.parametrize(
    ("sentence", "shown", "labels"),
    [
        (r"By \eqref{a} it holds.", "By ($1$) it holds.", "a"),
        (r"By (\ref{a}) it holds.", "By ($1$) it holds.", "a"),
        (r"By Eq.~(\ref{a}), it holds.", "By Eq. ($1$), it holds.", "a"),
        (r"By \cref{a} it holds.", "By $1$ it holds.", "a"),
        (r"By \Cref{a,b} it holds.", "By $1$, $2$ it holds.", "ab"),
        (r"By \crefrange{a}{b} it holds.", "By $1$, $2$ it holds.", "ab"),
        (r"By \autoref{b} it holds.", "By $2$ it holds.", "b"),
        (r"By \hyperref[b]{this} it holds.", "By $2$this it holds.", "b"),
        (r"By \eqref{a}\footnote{Or \eqref{b}.} it holds.", "By ($1$) it holds.", "a"),
        (r"By \ref{nowhere} it holds.", "By … it holds.", ""),
        (r"By \verb|\eqref{a}| it holds.", "By it holds.", ""),
    ],
)
def test_sentences_that_refer(sentence: str, shown: str, labels: str) -> None:
    """Every form of reference leads to its equations and prints their numbers."""
    article = read(TWO + "Then. " + sentence)
    assert shown in article.text.split("\n")
    for label, equation in by_label(article).items():
        assert (shown in equation.references) == (label in labels)


def test_references_reach_back_and_forth() -> None:
    """References may precede the equation, and may be in notes, captions and headings."""
    body = (
        r"As \eqref{a} will show. \section{On \eqref{a}}"
        r"\begin{equation}x\label{a}\end{equation} Text\footnote{See \eqref{a}.}."
        r"\begin{figure}\caption{Plot of \eqref{a}.}\end{figure}"
    )
    (equation,) = read(body).equations
    assert equation.references == [
        "As ($1$) will show.",
        "On ($1$)",
        "See ($1$).",
        "Plot of ($1$).",
    ]


def test_a_reference_to_a_group_is_one_to_each_of_its_equations() -> None:
    """The label of subequations refers to all of them, and prints the group's number."""
    rows = r"\begin{align}a\label{a}\\b\label{b}\end{align}"
    group = rf"\begin{{subequations}}\label{{g}}{rows}\end{{subequations}}"
    article = read(group + ". By \\eqref{g} so. By \\eqref{b} too.")
    assert by_label(article)["a"].references == ["By ($1$) so."]
    assert by_label(article)["b"].references == ["By ($1$) so.", "By ($1b$) too."]


def test_a_display_may_refer() -> None:
    """As in "= by (1)": the sentence around the display refers."""
    article = read(TWO + r"Then \[c \overset{\eqref{a}}{=} d\tag{by \cref{b}}\] so.")
    for equation in article.equations[:2]:
        assert equation.references == ["Then [equation] so."]


def test_a_sentence_is_given_once() -> None:
    """Two references to one equation in one sentence are one."""
    (equation,) = read(
        r"\begin{equation}x\label{a}\end{equation}. By \eqref{a} and \eqref{a} so."
    ).equations
    assert equation.references == ["By ($1$) and ($1$) so."]


def test_labels_of_other_things_are_not_equations() -> None:
    """A section's label does not refer to an equation."""
    article = read(r"\section{One}\label{s}\begin{equation}x\label{a}\end{equation} See \ref{s}.")
    assert article.equations[0].references == []


# -- what is not read


def test_unknown_macros_are_counted() -> None:
    """By name, without those that the author defined or we know."""
    article = read(r"\[\foo\foo\baz\alpha\mine\] line\\foo", r"\def\mine{x}")
    assert article.unknown_macros == {"foo": 2, "baz": 1}


def test_problems_have_a_place() -> None:
    """File and line of what could not be read, also within an input."""
    files = {"part.tex": "\n\n\\input{nowhere}\n"}
    (problem,) = read("\\input{part}", files=files).problems
    assert (problem.cause, problem.file, problem.line) == ("missing input", "part.tex", 3)


def test_an_empty_document_is_an_article() -> None:
    """It has no content and no problems."""
    article = read("")
    assert (article.text.strip(), numbers(article), causes(article)) == ("", [], [])


def test_marks_of_our_own_cannot_be_forged() -> None:
    """U+FFFC and private-use characters of authors become blanks."""
    article = read(f"One {EQUATION_MARK} two \U00100000 three \U000f0000 four \\[x\\]")
    assert article.words() == ["One", "two", "three", "four"]
    assert article.text.count(EQUATION_MARK) == len(article.equations) == 1


def test_reading_twice_gives_the_same() -> None:
    """No state is left from one paper to the next."""
    body = TWO + r"By \eqref{b}\footnote{Note \[c\]} so. \section{Next} \def\x{y} $\x$"
    assert read(body) == read(body)


def test_inner_environments_stay_as_written() -> None:
    r"""An inner \begin on the line of the outer one belongs to the equation."""
    body = r"\begin{equation}\begin{split} a &= b \\ &= c \end{split}\end{equation}"
    assert read(body).equations[0].latex == r"\begin{split} a &= b \\ &= c \end{split}"


def test_a_context_tells_the_equation_from_its_neighbours() -> None:
    """The equation itself is marked; others around it are dots."""
    first, second = read(r"One \[a\] two \[b\] three.").equations
    assert first.context == "One [equation] two […] three."
    assert second.context == "One […] two [equation] three."


@pytest.mark.parametrize(
    "piece",
    [r"\begin{equation} ", r"\url{ a ", r"\( a ", r"\begin{math} a ", r"\begin{verbatim} a "],
)
def test_what_is_never_closed_is_looked_for_once(piece: str) -> None:
    """Thousands of openings are read in time: none causes another search to the end."""
    count = 20_000 if FULL else 4_000
    assert_linear(piece.__mul__, read, (count // 4, count))


def test_many_listings_and_displays_cost_linear_time() -> None:
    """Whether a display is in a listing is looked up, not searched."""
    piece = r"\begin{verbatim}\[x\]\end{verbatim}\[y\] "
    assert_linear(piece.__mul__, read, (1_000, 4_000))
    assert [one.expanded for one in read(piece * 2).equations] == ["y", "y"]
