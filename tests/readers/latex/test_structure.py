"""Displays: every environment, rows and their marks, and the count of displays."""

from collections.abc import Iterator

import pytest

from eqemb.article import EQUATION_MARK
from eqemb.readers.latex.displays import count_displays, read_row, split_rows
from eqemb.readers.latex.expand import expand
from eqemb.readers.latex.files import Files
from eqemb.readers.latex.structure import Walker
from latex_paper import causes, document, numbers, read

SECOND = r"\begin{equation}z\end{equation}"


@pytest.mark.parametrize(
    ("display", "found"),
    [
        (r"\begin{equation}a\end{equation}", [("1", "a")]),
        (r"\begin {equation} a \end {equation}", [("1", "a")]),
        (r"\begin{equation}\begin{split}a\\b\end{split}\end{equation}",
         [("1", r"\begin{split}a\\b\end{split}")]),
        (r"\begin{align}a&=b\\c&=d\end{align}", [("1", "a&=b"), ("2", "c&=d")]),
        (r"\begin{eqnarray}a&=&b\\c\end{eqnarray}", [("1", "a&=&b"), ("2", "c")]),
        (r"\begin{eqnarray}a\cr b\end{eqnarray}", [("1", "a"), ("2", "b")]),
        (r"\begin{gather}a\\b\end{gather}", [("1", "a"), ("2", "b")]),
        (r"\begin{multline}a\\b\\c\end{multline}", [("1", r"a\\b\\c")]),
        (r"\begin{flalign}a&&\\b&&\end{flalign}", [("1", "a&&"), ("2", "b&&")]),
        (r"\begin{alignat}{2}a&b\\c&d\end{alignat}", [("1", "a&b"), ("2", "c&d")]),
        (r"\begin{IEEEeqnarray}{rCl}a&=&b\\c\end{IEEEeqnarray}", [("1", "a&=&b"), ("2", "c")]),
        (r"\begin{IEEEeqnarray}[\small]{l's}a\end{IEEEeqnarray}", [("1", "a")]),
        (r"\begin{dmath}a\end{dmath}", [("1", "a")]),
        (r"\begin{dgroup}\begin{dmath}a\end{dmath}\begin{dmath}b\end{dmath}\end{dgroup}",
         [("1a", "a"), ("1b", "b")]),
        (r"\begin{numcases}{f=}a&b\\c&d\end{numcases}", [("1", "{f=}a&b"), ("2", "c&d")]),
        (r"\begin{subeqnarray}a\\b\end{subeqnarray}", [("1a", "a"), ("1b", "b")]),
        (r"\begin{empheq}[box=\fbox]{align}a\\b\end{empheq}", [("1", "a"), ("2", "b")]),
        (r"\begin{empheq}[left={x=\empheqlbrace}]{alignat=2}a\\b\end{empheq}",
         [("1", "a"), ("2", "b")]),
        (r"\begin{empheq}{equation*}a\end{empheq}", [(None, "a")]),
        (r"\begin{equation*}a\end{equation*}", [(None, "a")]),
        (r"\begin{align*}a\\b\end{align*}", [(None, r"a \\ b")]),
        (r"\begin{alignat*}{3}a\end{alignat*}", [(None, "a")]),
        (r"\begin{dmath*}a\end{dmath*}", [(None, "a")]),
        (r"\begin{displaymath}a\end{displaymath}", [(None, "a")]),
        (r"\[a\]", [(None, "a")]),
        (r"\[a\\[2pt]b\]", [(None, r"a\\[2pt]b")]),
        ("$$a$$", [(None, "a")]),
        ("$$a\\text{ for $b$}$$", [(None, r"a\text{ for $b$}")]),
        (r"$$a\eqno(3.1)$$", [("3.1", "a")]),
        (r"$$a\leqno{(4)}$$", [("4", "a")]),
        ("\\begin{equation}\n\na\n\n\\end{equation}", [("1", "a")]),
    ],
)  # fmt: skip
def test_every_kind_of_display(display: str, found: list[tuple[str | None, str]]) -> None:
    """Which environments are displays, their rows, and which rows are numbered."""
    article = read(f"Before {display} after.")
    assert [(equation.number, equation.expanded) for equation in article.equations] == found
    assert all(equation.numbered == (equation.number is not None) for equation in article.equations)
    assert article.displays_lost == 0
    assert causes(article) == []
    assert article.words() == ["Before", "after"]


def test_the_environment_is_kept() -> None:
    """An equation records its environment; empheq records the inner one."""
    body = r"\[a\] $$b$$ \begin{align*}c\end{align*} \begin{empheq}{gather}d\end{empheq}"
    kinds = [equation.environment for equation in read(body).equations]
    assert kinds == ["\\[", "$$", "align*", "gather"]


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ("a\\\\ [-8pt] b\\\\*\n[2 em]c", [("1", "a"), ("2", "b"), ("3", "c")]),
        (r"a\nonumber\\b", [("1", r"a \\ b")]),
        (r"a\\b\nonumber", [("1", r"a \\ b")]),
        (r"a\\b\notag\\c\notag\\d", [("1", "a"), ("2", r"b \\ c \\ d")]),
        (r"a\nonumber\\b\nonumber", [(None, r"a \\ b")]),
        (r"a\\b\\", [("1", "a"), ("2", "b")]),
        (r"a\\[1em]b\\*c\\*[2pt]d", [("1", "a"), ("2", "b"), ("3", "c"), ("4", "d")]),
        (r"a\\ [x]+b", [("1", "a"), ("2", "[x]+b")]),
        (r"\begin{pmatrix}a\\b\end{pmatrix}\\{c\\d}",
         [("1", r"\begin{pmatrix}a\\b\end{pmatrix}"), ("2", r"{c\\d}")]),
        (r"\left\{\begin{array}{l}a\\b\end{array}\right.\nonumber\\c",
         [("1", r"\left\{\begin{array}{l}a\\b\end{array}\right. \\ c")]),
        (r"a\tag{7}\\b", [("7", "a"), ("1", "b")]),
        (r"a\tag*{A.1}\\b", [("A.1", "a"), ("1", "b")]),
        (r"a\tag{$\ast$}\\b\tag{$\dagger$}", [("*", "a"), ("†", "b")]),
        (r"\tag{Bayes}a", [("Bayes", "a")]),
        (r"a\tag{by~Bayes' rule}\\b", [("by Bayes' rule", "a"), ("1", "b")]),
        (r"\displaybreak[1]a\raisetag{6pt}\\\allowdisplaybreaks b\qedhere",
         [("1", "a"), ("2", "b")]),
    ],
)  # fmt: skip
def test_rows_of_an_align(rows: str, found: list[tuple[str | None, str]]) -> None:
    """Unnumbered rows join the next numbered row; trailing ones join the previous row."""
    article = read(rf"\begin{{align}}{rows}\end{{align}}")
    assert [(equation.number, equation.expanded) for equation in article.equations] == found
    assert {equation.display for equation in article.equations} == {1}


@pytest.mark.parametrize("name", ["align", "gather", "eqnarray", "flalign"])
def test_a_row_end_before_the_end_is_counted(name: str) -> None:
    r"""After a final \\ LaTeX numbers an empty row: nothing to extract, but it counts."""
    assert numbers(read(rf"\begin{{{name}}}a\\\end{{{name}}}{SECOND}")) == ["1", "3"]


def test_tags_work_in_displays_without_numbers() -> None:
    r"""\tag numbers a starred or bracketed display."""
    body = (
        r"\[a\tag{X}\] \begin{align*}b\\c\tag{Y}\\d\end{align*} \begin{equation*}e\end{equation*}"
    )
    article = read(body)
    assert numbers(article) == ["X", "Y", None]
    assert article.equations[1].expanded == r"b \\ c \\ d"


def test_ieee_marks() -> None:
    r"""\IEEEnonumber and \IEEEyesnumber turn numbers off and on."""
    plain = r"\begin{IEEEeqnarray}{c}a\IEEEnonumber\\b\end{IEEEeqnarray}"
    starred = r"\begin{IEEEeqnarray*}{c}c\\d\IEEEyesnumber\label{d}\end{IEEEeqnarray*}"
    article = read(plain + starred)
    assert numbers(article) == ["1", "2"]
    assert [equation.labels for equation in article.equations] == [[], ["d"]]


@pytest.mark.parametrize(
    ("display", "labels"),
    [
        (r"\begin{equation}\label{a}x\end{equation}", [["a"]]),
        (r"\begin{equation}x\label {a} \end{equation}", [["a"]]),
        (r"\begin{equation}\label{ a:b-c_d }x\end{equation}", [["a:b-c_d"]]),
        (r"\begin{equation}\label{a}\label{b}x\end{equation}", [["a", "b"]]),
        (r"\begin{align}x\label{a}\\y\label{b}\end{align}", [["a"], ["b"]]),
        (r"\begin{align}x\label{a}\nonumber\\y\label{b}\end{align}", [["a", "b"]]),
        (r"\begin{equation}\begin{split}\label{a}x\end{split}\end{equation}", [["a"]]),
        (r"\begin{equation}x\mbox{\label{a}}\end{equation}", [["a"]]),
        (r"\begin{dmath}[label={a}]x\end{dmath}", [["a"]]),
        (r"\begin{dmath}[number={7},label=a]x\end{dmath}", [["a"]]),
        (r"$$x\label{a}$$", [["a"]]),
    ],
)
def test_labels(display: str, labels: list[list[str]]) -> None:
    """Each equation has its labels, which are not part of its mathematics."""
    article = read(display)
    assert [equation.labels for equation in article.equations] == labels
    assert not [equation for equation in article.equations if "label" in equation.expanded]


def test_subequations_count_with_letters() -> None:
    """One number for the group; its label names the group, not an equation."""
    group = r"\begin{subequations}\label{g}\begin{align}a\\b\end{align}"
    article = read(rf"{group}\begin{{equation}}c\end{{equation}}\end{{subequations}}{SECOND}")
    assert numbers(article) == ["1a", "1b", "1c", "2"]
    assert [equation.labels for equation in article.equations] == [[], [], [], []]


@pytest.mark.parametrize(
    ("rows", "found", "said"),
    [
        (
            r"a\\\intertext{and then $x$}b",
            ["1", "2"],
            f"{EQUATION_MARK} and then $x$ {EQUATION_MARK}",
        ),
        (r"a\intertext{and}b", ["1", "2"], f"{EQUATION_MARK} and {EQUATION_MARK}"),
        (r"a\\\shortintertext{or}b", ["1", "2"], f"{EQUATION_MARK} or {EQUATION_MARK}"),
        (r"\intertext{First}a", ["1"], f"First {EQUATION_MARK}"),
        (r"a\footnote{Note.}\\b", ["1", "2"], f"{EQUATION_MARK} {EQUATION_MARK}\n\nNote."),
    ],
)
def test_text_within_a_display(rows: str, found: list[str], said: str) -> None:
    r"""\intertext is text between two rows and ends the first; footnotes follow the paragraph."""
    article = read(rf"\begin{{align}}{rows}\end{{align}}")
    assert numbers(article) == found
    assert article.text.strip() == said
    assert not [equation for equation in article.equations if "text" in equation.expanded]


def test_citations_in_a_display_are_no_mathematics() -> None:
    """They are dropped, as in text."""
    article = read(r"\begin{equation}a \quad\text{see \cite[p.~3]{b}}\end{equation}")
    assert article.equations[0].expanded == r"a \quad\text{see }"


SHOWN = r"\begin{equation}a\label{a}\end{equation}\begin{equation}b\label{b}\end{equation}"


@pytest.mark.parametrize(
    ("preamble", "found"),
    [
        (r"\mathtoolsset{showonlyrefs}", [None, "1"]),
        (r"\mathtoolsset{showonlyrefs=true}", [None, "1"]),
        (r"\mathtoolsset{showonlyrefs=false}", ["1", "2"]),
        (r"\usepackage[showonlyrefs]{mathtools}", ["1", "2"]),  # not an option of it
        (r"\usepackage{autonum}", [None, "1"]),
        (r"\usepackage{mathtools}", ["1", "2"]),
    ],
)
def test_only_referenced_equations_are_numbered(preamble: str, found: list[str | None]) -> None:
    """With showonlyrefs and autonum, an equation without references has no number."""
    assert numbers(read(SHOWN + r" See \eqref{b}.", preamble)) == found


def test_showonlyrefs_counts_rows() -> None:
    """In an align, only the referenced row has a number, and the others join it."""
    rows = r"\begin{align}a\label{a}\\b\label{b}\\c\label{c}\end{align} See \eqref{b}."
    article = read(rows, r"\mathtoolsset{showonlyrefs}")
    assert [(e.number, e.expanded) for e in article.equations] == [("1", r"a \\ b \\ c")]


def test_mathtools_counts_its_own_references_only() -> None:
    r"""With showonlyrefs, a plain \ref gives no number; with autonum it does."""
    body = r"\begin{equation}a\label{a}\end{equation} See \ref{a}."
    assert numbers(read(body, r"\mathtoolsset{showonlyrefs}")) == [None]
    assert numbers(read(body, r"\usepackage{autonum}")) == ["1"]


# -- where displays stand


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (r"One\footnote{Two \[a\] three.} four.", f"One four.\n\nTwo {EQUATION_MARK} three."),
        (r"One \begin{figure}\caption{Two \[a\]}\end{figure} three.",
         f"One three.\n\nTwo {EQUATION_MARK}"),
        (r"\begin{table}\begin{tabular}{c}no & \[a\]\end{tabular}\end{table} One.",
         f"One.\n\n{EQUATION_MARK}"),
        (r"\section{One \[a\]} two.", f"One {EQUATION_MARK}\n\ntwo."),
        (r"\fbox{\begin{minipage}{2cm}\[a\]\end{minipage}} one.", f"{EQUATION_MARK} one."),
        (r"\parbox{3cm}{\[a\]} one.", f"{EQUATION_MARK} one."),
        (r"\scalebox{0.5}{\[a\]} one.", f"{EQUATION_MARK} one."),
        (r"\begin{itemize}\item One \[a\] \item two\end{itemize}", f"One {EQUATION_MARK}\ntwo"),
        (r"\begin{theorem}[Name] One \[a\]\end{theorem}", f"[Name] One {EQUATION_MARK}"),
        (r"\textbf{One \[a\] two}", f"One {EQUATION_MARK} two"),
    ],
)  # fmt: skip
def test_displays_are_found_wherever_they_stand(body: str, said: str) -> None:
    """In notes, captions, tables, boxes and lists; words in tables are not text."""
    article = read(body)
    assert article.text.strip() == said
    assert len(article.equations) == article.displays_opened == 1


# -- losses


@pytest.mark.parametrize(
    ("body", "lost", "said"),
    [
        ("One\n\n\\begin{equation} a\n\nTwo.\n\n\\begin{equation}b\\end{equation}", "equation",
         ["One", "Two"]),
        ("One\n\n\\begin{equation} a\n\nTwo.\n\n\\begin{align}b\\end{align}", "equation",
         ["One", "Two"]),
        ("One\n\n\\[ a=1\n\nTwo. \\[b\\]", "\\[", ["One", "a", "1", "Two"]),
        ("One\n\n$$ a=1\n\nTwo. \\begin{equation}b\\end{equation}", "$$", ["One", "a", "1", "Two"]),
    ],
)  # fmt: skip
def test_an_unclosed_display_is_lost_with_cause_and_line(
    body: str, lost: str, said: list[str]
) -> None:
    """Neither the text after it nor the next display is lost."""
    article = read(body)
    (problem,) = article.problems
    assert (problem.cause, problem.detail) == ("lost: display not closed", lost)
    assert (problem.file, problem.line) == ("main.tex", 6)
    assert article.words() == said
    assert [equation.expanded for equation in article.equations] == ["b"]
    assert (article.displays_opened, article.displays_lost) == (2, 1)


@pytest.mark.parametrize(
    ("body", "command"),
    [
        (r"\todo{Prove \begin{equation}a\end{equation}}", "\\todo"),
        (r"\thanks{\[a\]}", "\\thanks"),
        ("\\author{$$a$$}", "\\author"),
    ],
)
def test_displays_in_dropped_arguments_are_lost(body: str, command: str) -> None:
    """A dropped argument may contain a display; that is reported."""
    article = read(body)
    (problem,) = article.problems
    assert problem.cause == "lost: in an argument that is not text"
    assert problem.detail == command
    assert (article.displays_opened, article.displays_lost) == (1, 1)


def test_an_end_without_a_begin_is_reported() -> None:
    r"""A stray \end does no harm."""
    article = read(rf"One \end{{equation}} two {SECOND}")
    assert causes(article) == ["\\end without \\begin"]
    assert numbers(article) == ["1"]


def test_an_empty_equation_takes_its_number() -> None:
    """LaTeX numbers it; there is nothing to extract, and that is reported."""
    article = read(rf"\begin{{equation}}\end{{equation}}{SECOND}")
    assert numbers(article) == ["2"]
    assert causes(article) == ["empty equation"]


@pytest.mark.parametrize("body", [r"\[\]", "$$ $$", "\\begin{align*}\n\\end{align*}"])
def test_an_empty_display_without_a_number_is_reported(body: str) -> None:
    """It counts as opened but is no equation, so the report must mention it."""
    article = read(f"One.\n\n{body} {SECOND}")
    assert [(p.cause, p.file) for p in article.problems] == [("empty equation", "main.tex")]
    assert (article.displays_opened, article.displays_lost) == (2, 0)


@pytest.mark.parametrize(
    "inside",
    [
        r"\includegraphics{x}",
        r"\includegraphics[width=2cm, trim={0 1 0 1}]{fig/x.png} \quad \epsfig{file=y.eps}.",
        r"\begin{array}{cc} \includegraphics{a} & \includesvg{b} \\[2pt] \end{array}",
        r"\vcenter{\hbox{\raisebox{-2ex}{\includegraphics*{x}}}} \hspace{1em}",
        r"\resizebox{0.5\textwidth}{!}{\includegraphics{x}}",
        r"\resizebox* {!} {3cm} {\includegraphics{x}}",
        r"\rotatebox{90}{\includegraphics{x}} \rotatebox[origin=c]{-90}{\includegraphics{x}}",
        r"\raisebox{1ex}[0pt][0pt]{\includegraphics{x}} \scalebox{2}[3]{\includegraphics{x}}",
        r"\framebox{\includegraphics{x}} \framebox[3cm][c]{\includegraphics{x}}",
        r"\fbox{\includegraphics{x}} \fcolorbox{red}{white}{\includegraphics{x}}",
        r"\begin{minipage}{3cm} \centering \includegraphics{x} \end{minipage}",
        r"\begin{minipage}[c]{.3\textwidth}\includegraphics{x}\end{minipage}",
    ],
)
def test_a_display_of_drawings_is_no_equation(inside: str) -> None:
    """LaTeX may number it, but there is nothing to extract; the report says so."""
    article = read(
        rf"One \[{inside}\] \begin{{equation}}{inside}\label{{a}}\end{{equation}}{SECOND}"
    )
    assert numbers(article) == ["2"]
    assert causes(article) == ["drawing in a display", "drawing in a display"]
    assert article.problems[0].line == 4
    assert (article.displays_opened, article.displays_lost) == (1, 0)


def test_rows_of_drawings_are_one_display() -> None:
    """Rows without a drawing, which are only spaces, change nothing."""
    rows = r"\includegraphics{x} \\ \quad \\ \includegraphics{y} \\"
    article = read(rf"\begin{{align*}}{rows}\end{{align*}} \[\] {SECOND}")
    assert causes(article) == ["drawing in a display", "empty equation"]
    assert (article.displays_opened, article.displays_lost) == (2, 0)


@pytest.mark.parametrize(
    "inside",
    [
        r"\resizebox{3cm}{!}{x} \includegraphics{x}",
        r"\rotatebox{90}{x} \includegraphics{x}",
        r"\framebox{x} \includegraphics{x}",
        r"\hspace{1em}[x] \includegraphics{x}",
        r"\begin{minipage}{3cm}x\end{minipage} \includegraphics{x}",
    ],
)
def test_boxes_with_a_formula_are_an_equation(inside: str) -> None:
    """Only the arguments before the content of a box are left out of account."""
    article = read(rf"\[{inside}\]")
    assert len(article.equations) == 1
    assert causes(article) == []


def test_a_formula_with_a_drawing_is_an_equation() -> None:
    """A drawing may be the argument of a function, or one of several rows."""
    article = read(
        r"\[f(\includegraphics{x}) = 1\] \begin{align*}\includegraphics{x}\\a\end{align*}"
    )
    assert len(article.equations) == 2
    assert causes(article) == []


def test_displays_within_another_are_reported() -> None:
    """They are read as part of it; those in notes or between rows are read separately."""
    article = read(r"\begin{align}\begin{equation}a\end{equation}\[b\]\end{align}")
    assert [(p.cause, p.detail) for p in article.problems] == [
        ("display within another", "2 in align")
    ]
    assert len(article.equations) == 1
    assert not causes(read(r"\begin{align}a\intertext{As \[b\] shows.}c\end{align}"))
    assert not causes(read(r"\begin{equation}a\footnote{As \[b\] shows.}\end{equation}"))


@pytest.mark.parametrize(
    "body",
    [
        r"One \cite{key two\n\nthree.",
        r"One \label{key two\n\nthree.",
        r"One \footnote{key two\n\nthree.",
        r"One \section{key two\n\nthree.",
    ],
)
def test_an_unclosed_argument_ends_with_its_paragraph(body: str) -> None:
    """A missing brace does not affect the rest of the paper."""
    article = read(body.replace("\\n", "\n"))
    assert article.words()[-1] == "three"
    assert "unclosed argument" in causes(article)


def test_nested_notes_are_bounded() -> None:
    """A thousand nested footnotes are cut without a crash; displays in them are lost."""
    article = read(r"\footnote{" * 1000 + r"\[x\]" + "}" * 1000 + " after")
    assert causes(article) == ["lost: nested too deeply"]
    assert article.displays_lost == 1
    assert "after" in article.words()


@pytest.mark.parametrize(
    "piece", [r"\begin{equation}", r"\[", r"\(", "$$", "${", r"\cite[", r"\cite{", r"\footnote{"]
)
def test_openings_without_end_are_read_in_linear_time(piece: str) -> None:
    """Thousands of openings that are never closed."""
    article = read(f"{piece} " * 4000)
    assert article.equations == []


# -- the account


def account(body: str) -> Iterator[int]:
    """Displays read, lost and nested, and displays opened."""
    source = expand(Files({"main.tex": document(body).encode()}), "main.tex")
    found = Walker(source).run(source.body_start)
    yield len({equation.display for equation in found.equations}) + found.lost + found.nested
    yield count_displays(source.text, source.body_start)


@pytest.mark.parametrize(
    "body",
    [
        r"\begin{equation}a\end{equation}\[b\]$$c$$",
        r"\begin{align}\begin{equation}a\end{equation}\end{align}",
        r"\begin{equation}a\footnote{As \[b\] shows.}\end{equation}",
        r"\begin{align}a\intertext{As \[b\] shows.}c\end{align}",
        r"\begin{equation}\end{equation}\[\]$$$$",
        r"\begin{align}\label{a}\\b\end{align}",
        r"\begin{equation}a \[ b\end{equation}",
        r"\begin{equation}a $$ b\end{equation} $$c$$",
        "$a$$b$ $$c$$ $d$$$e$$",
        "a $ b \\begin{equation}c\\end{equation} d $ e",
        "a \\( b \\begin{equation}c\\end{equation} d \\) e",
        "$$a \\begin{equation}b\\end{equation} $$c$$",
        r"\label{\[a\]}\ref{$$b$$}\section{$$c$$}",
        r"\begin{equation}a\begin{equation}b\end{equation}",
        r"\begin{a$$}b $$c$$",
        r"\todo{\[a\]}\footnote{\[b\]}\caption{\[c\]}",
    ],
)
def test_every_display_opened_is_accounted_for(body: str) -> None:
    """Every display is read, lost, or part of another."""
    accounted, opened = account(body)
    assert accounted == opened


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (r"\begin{equation}\begin{align*}\begin{empheq}\[", 4),
        ("$$a$$ $$b$$", 2),
        ("$a$ $b$$c$", 0),
        ("$a$$$b$$ $$c$$$d$", 2),
        (r"\\[2pt] \$\$ \\\[", 1),
        ("$a\n\n$$b$$", 1),
        (r"\begin{split}\begin{array}", 0),
    ],
)
def test_the_independent_count(text: str, count: int) -> None:
    """Openings by name; $$ in pairs, unless it closes and opens inline formulas."""
    assert count_displays(text) == count


def test_rows_and_marks_of_one_display() -> None:
    """What displays.py finds, by position."""
    display = r"a &= b \label{x} \\ c \nonumber"
    spans = split_rows(display, 0, len(display))
    assert [display[start:end].strip() for start, end in spans] == [
        r"a &= b \label{x}",
        r"c \nonumber",
    ]
    first, second = (read_row(display, start, end) for start, end in spans)
    assert (first.labels, first.unnumbered, first.latex) == (["x"], False, "a &= b")
    assert (second.labels, second.unnumbered, second.latex) == ([], True, "c")


@pytest.mark.parametrize("command", ["icmltitle", "aistatstitle", "papertitle", "Title", "title"])
def test_a_title_above_two_columns(command: str) -> None:
    r"""Classes of conferences print it in the argument of \twocolumn."""
    article = read(f"\\twocolumn[\n\\{command}{{On [open] Things}}\\vskip 1em\n]\nSome words.", "")
    assert article.title == "On [open] Things"
    assert article.text.split("\n\n")[1:] == ["Some words.", ""]


def test_a_title_in_the_preamble_may_hold_mathematics() -> None:
    """A display or a reference in a title is not an equation of the document."""
    for title in (r"\title{On $$x$$ things}", r"\title{After \ref{q}}"):
        article = read(r"\begin{equation}a\end{equation}", title)
        assert [equation.expanded for equation in article.equations] == ["a"]


def test_a_float_that_is_never_closed_is_reported() -> None:
    """The text after it is taken as part of the float, and the report says so."""
    article = read(r"One. \begin{table} cells and words for ever")
    assert "unclosed environment" in [problem.cause for problem in article.problems]


def test_a_float_may_be_closed_by_its_starred_name() -> None:
    """A common slip in papers does not mute the rest."""
    assert read(r"\begin{figure}a\end{figure*} Many words.").words() == ["Many", "words"]


@pytest.mark.parametrize("name", ["procedure", "algorithm", "scope"])
def test_theorems_may_have_any_name(name: str) -> None:
    """A theorem is text, even if its name is elsewhere that of a float or a drawing."""
    body = rf"\begin{{{name}}}Take \[x\] twice.\end{{{name}}}"
    article = read(body, rf"\newtheorem{{{name}}}{{Name}}")
    assert article.words()[-2:] == ["Take", "twice"]
    assert len(article.equations) == 1


def test_endnotes_are_counted_where_they_are_printed() -> None:
    """An equation in an endnote follows those of the text, in number and in position."""
    note = r"\endnote{Note \begin{equation}n\end{equation}}"
    body = rf"One.{note} \begin{{equation}}a\end{{equation}} Two. \theendnotes End."
    article = read(body)
    assert [(e.number, e.expanded) for e in article.equations] == [("1", "a"), ("2", "n")]


@pytest.mark.parametrize(
    ("display", "found"),
    [
        (r"\eqalignno{a&=b&(1)\cr c&=d\cr e&=f&(2b)\cr}", ["1", "2b"]),
        (r"\leqalignno{a&=b&{(3)}\cr}", ["3"]),
        (r"\displaylines{a=b\hfill(1)\cr c=d\hfill\llap{(2)}\cr}", ["1", "2"]),
        (r"\displaylines{a=b\cr c=d\cr}", [None]),
        (r"\eqalign{a&=b\cr c&=d}\eqno(4)", ["4"]),
        (r"\align a&=b\tag 1.1\\c&=d\tag 1.2\endalign", ["1.1", "1.2"]),
        (r"\gather a\\b\endgather\tag 1.3 ", ["1.3"]),
        (r'a=b\tag"(5)"', ["5"]),
    ],
)
def test_displays_of_plain_tex_and_amstex(display: str, found: list[str | None]) -> None:
    """Numbers that authors write into the rows, by the rules of plain TeX and AMS-TeX."""
    article = read(f"Before $${display}$$ after.")
    assert numbers(article) == found
    assert article.words() == ["Before", "after"]
    assert article.displays_opened == 1
