"""Printed numbers of equations, sections and theorems, and their formats, as in LaTeX."""

import pytest

from eqemb.readers.latex.numbering import Numbering
from latex_paper import numbers, read, read_files

EQUATION = r"\begin{equation}x\end{equation}"
RESET = r"\makeatletter\@addtoreset{equation}{section}\makeatother"
LETTERS = r"\renewcommand{\thesection}{\Alph{section}}"
SAVE, BACK = r"\setcounter{s}{\value{equation}}", r"\setcounter{equation}{\value{s}}"


@pytest.mark.parametrize(
    ("preamble", "body", "found"),
    [
        ("", f"{EQUATION}{EQUATION}", "1 2"),
        ("", rf"\section{{A}}{EQUATION}\section{{B}}{EQUATION}", "1 2"),
        (r"\numberwithin{equation}{section}", rf"\section{{A}}{EQUATION}\section{{B}}{EQUATION}",
         "1.1 2.1"),
        (r"\counterwithin{equation}{section}", rf"\section{{A}}{EQUATION}{EQUATION}", "1.1 1.2"),
        (r"\counterwithin*{equation}{section}", rf"\section{{A}}{EQUATION}\section{{B}}{EQUATION}",
         "1 1"),
        (r"\numberwithin{equation}{section}", rf"{EQUATION}\section{{A}}{EQUATION}", "0.1 1.1"),
        (r"\numberwithin{equation}{subsection}",
         rf"\section{{A}}\subsection{{B}}{EQUATION}\subsection{{C}}{EQUATION}\section{{D}}{EQUATION}",
         "1.1.1 1.2.1 2.0.1"),
        (r"\numberwithin{equation}{section}", rf"\section*{{A}}{EQUATION}\section{{B}}{EQUATION}",
         "0.1 1.1"),
        (r"\numberwithin{equation}{section}",
         rf"\section{{A}}{EQUATION}\appendix\section{{B}}{EQUATION}\section{{C}}{EQUATION}",
         "1.1 A.1 B.1"),
        (r"\numberwithin{equation}{section}",
         rf"\section{{A}}\begin{{appendices}}\section{{B}}{EQUATION}\end{{appendices}}", "A.1"),
        (RESET,
         rf"\section{{A}}{EQUATION}\section{{B}}{EQUATION}", "1 1"),
        (RESET + r"\renewcommand{\theequation}{\thesection.\arabic{equation}}",
         rf"\section{{A}}{EQUATION}\section{{B}}{EQUATION}", "1.1 2.1"),
    ],
)  # fmt: skip
def test_within_sections(preamble: str, body: str, found: str) -> None:
    """Equations numbered within sections restart there and print the section's number."""
    assert numbers(read(body, preamble)) == found.split()


@pytest.mark.parametrize(
    ("document_class", "body", "found"),
    [
        ("report", rf"\chapter{{A}}{EQUATION}\chapter{{B}}{EQUATION}", "1.1 2.1"),
        ("book", rf"{EQUATION}\chapter{{A}}{EQUATION}", "1 1.1"),
        (
            "book",
            rf"\frontmatter\chapter{{A}}{EQUATION}\mainmatter\chapter{{B}}{EQUATION}",
            "1 1.1",
        ),
        ("book", rf"\chapter{{A}}\section{{B}}{EQUATION}\section{{C}}{EQUATION}", "1.1 1.2"),
        ("book", rf"\chapter{{A}}{EQUATION}\appendix\chapter{{B}}{EQUATION}", "1.1 A.1"),
        ("book", rf"\chapter*{{A}}{EQUATION}\chapter{{B}}{EQUATION}", "1 1.1"),
        ("article", rf"\section{{A}}{EQUATION}", "1"),
    ],
)
def test_chapters(document_class: str, body: str, found: str) -> None:
    """Books and reports number within chapters."""
    assert numbers(read(body, "", document_class)) == found.split()


def test_counterwithout_undoes_the_class() -> None:
    r"""\counterwithout{equation}{chapter} numbers through."""
    body = rf"\chapter{{A}}{EQUATION}\chapter{{B}}{EQUATION}"
    assert numbers(read(body, r"\counterwithout{equation}{chapter}", "book")) == ["1", "2"]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (rf"\setcounter{{equation}}{{6}}{EQUATION}", "7"),
        (rf"{EQUATION}\addtocounter{{equation}}{{-1}}{EQUATION}", "1 1"),
        (rf"{EQUATION}\addtocounter{{equation}}{{3}}{EQUATION}", "1 5"),
        (rf"\stepcounter{{equation}}{EQUATION}", "2"),
        (rf"{EQUATION}{SAVE}\setcounter{{equation}}{{0}}{EQUATION}{BACK}{EQUATION}", "1 1 2"),
        (rf"\setcounter{{section}}{{3}}\numberwithin{{equation}}{{section}}\section{{A}}{EQUATION}",
         "4.1"),
    ],
)  # fmt: skip
def test_counters_may_be_set(body: str, found: str) -> None:
    r"""\setcounter, \addtocounter and \stepcounter, also with \value."""
    assert numbers(read(body)) == found.split()


@pytest.mark.parametrize(
    ("definition", "found"),
    [
        (r"\renewcommand{\theequation}{S\arabic{equation}}", "S1"),
        (r"\renewcommand{\theequation}{\Roman{equation}}", "I"),
        (r"\renewcommand\theequation{\thesection-\alph{equation}}", "1-a"),
        (r"\def\theequation{\thesection.\arabic{equation}}", "1.1"),
        (r"\renewcommand{\theequation}{{\rm A}.\arabic{equation}}", "A.1"),
        (r"\renewcommand{\theequation}{\theequation}", ""),
        (LETTERS + r"\renewcommand{\theequation}{\thesection\arabic{equation}}", "A1"),
        (r"\makeatletter\def\theequation{\@arabic\c@equation}\makeatother", "1"),
    ],
)  # fmt: skip
def test_formats_may_be_redefined(definition: str, found: str) -> None:
    r"""\theequation prints what its author defined."""
    assert numbers(read(rf"{definition}\section{{A}}{EQUATION}")) == [found]
    assert numbers(read(rf"\section{{A}}{EQUATION}", definition)) == [found]


def test_formats_that_mention_each_other_stop() -> None:
    """Two formats that refer to each other print little and take no time."""
    many = r"\thesection" * 20, r"\theequation" * 20
    preamble = (
        rf"\renewcommand{{\theequation}}{{{many[0]}}}\renewcommand{{\thesection}}{{{many[1]}}}"
    )
    assert len(read(EQUATION, preamble).equations) == 1


@pytest.mark.parametrize(
    ("preamble", "found"),
    [
        (r"\newtheorem{thm}{Theorem}", "1 2"),
        (r"\newtheorem{thm}[equation]{Theorem}", "1 3"),
        (r"\newtheorem{thm}[equation]{Theorem}\newtheorem*{lem}[thm]{Lemma}", "1 3"),
        (r"\declaretheorem[name=Theorem, sibling=equation]{thm}", "1 3"),
        (r"\declaretheorem[numberlike=equation]{thm,lem}", "1 3"),
        (r"\declaretheorem[numbered=no, sibling=equation]{thm}", "1 2"),
        (r"\newtheorem{thm}{Theorem}\makeatletter\let\c@equation\c@thm\makeatother", "1 3"),
        (r"\newtheorem{thm}{Theorem}\newtheorem{lem}[thm]{Lemma}", "1 2"),
    ],
)
def test_theorems_may_share_the_counter(preamble: str, found: str) -> None:
    """If theorems share the counter of equations, each theorem takes a number."""
    body = rf"{EQUATION}\begin{{thm}}Words.\end{{thm}}{EQUATION}"
    assert numbers(read(body, preamble)) == found.split()


def test_headings_below_secnumdepth_do_not_count() -> None:
    r"""\setcounter{secnumdepth}{1} leaves subsections unnumbered."""
    body = rf"\section{{A}}\subsection{{B}}{EQUATION}"
    preamble = r"\numberwithin{equation}{subsection}"
    assert numbers(read(body, preamble)) == ["1.1.1"]
    assert numbers(read(body, preamble + r"\setcounter{secnumdepth}{1}")) == ["1.0.1"]


def test_ieee_sections_are_roman() -> None:
    """In IEEEtran, sections and numbers within them print in Roman numerals."""
    body = rf"\section{{A}}{EQUATION}"
    assert numbers(read(body, r"\numberwithin{equation}{section}", "IEEEtran")) == ["I.1"]


def test_siam_classes_number_within_sections() -> None:
    """Without being told."""
    assert numbers(read(rf"\section{{A}}{EQUATION}", "", "siamart")) == ["1.1"]


def test_subequations_use_the_format() -> None:
    """A group within a section prints its section, its number and a letter."""
    body = rf"\section{{A}}\begin{{subequations}}{EQUATION}{EQUATION}\end{{subequations}}{EQUATION}"
    assert numbers(read(body, r"\numberwithin{equation}{section}")) == ["1.1a", "1.1b", "1.2"]


@pytest.mark.parametrize(
    ("style", "value", "printed"),
    [
        ("arabic", 12, "12"),
        ("roman", 14, "xiv"),
        ("Roman", 1999, "MCMXCIX"),
        ("alph", 3, "c"),
        ("Alph", 26, "Z"),
        ("alph", 27, "27"),
        ("Roman", 0, ""),
    ],
)
def test_styles(style: str, value: int, printed: str) -> None:
    """Digits, letters and Roman numerals; digits beyond their range."""
    numbering = Numbering("article")
    numbering.forms["theequation"] = rf"\{style}{{equation}}"
    numbering.set("equation", str(value))
    assert numbering.printed("equation") == printed


def test_explicit_numbering_within_chapters_prints_chapter_zero() -> None:
    r"""Book prints no chapter number before the first chapter; \numberwithin prints 0."""
    body = r"\begin{document}\begin{equation}a\end{equation}\end{document}"
    plain = read_files({"m.tex": r"\documentclass{book}" + body})
    within = read_files({"m.tex": r"\documentclass{book}\numberwithin{equation}{chapter}" + body})
    assert [article.equations[0].number for article in (plain, within)] == ["1", "0.1"]


def test_a_section_restarts_what_is_counted_within_its_subsections() -> None:
    """Counters are reset through a level that has not been counted yet."""
    source = r"""\documentclass{article}\numberwithin{equation}{subsection}\begin{document}
\section{A}\begin{equation}a\end{equation}\section{B}\begin{equation}b\end{equation}
\end{document}"""
    article = read_files({"m.tex": source})
    assert [equation.number for equation in article.equations] == ["1.0.1", "2.0.1"]


def test_counters_within_each_other_end() -> None:
    """A cycle of counters is reset once."""
    source = r"""\documentclass{article}\numberwithin{equation}{section}
\numberwithin{section}{equation}\begin{document}\section{A}\begin{equation}a\end{equation}
\end{document}"""
    assert len(read_files({"m.tex": source}).equations) == 1


def test_a_class_is_known_by_its_last_name() -> None:
    """A copy of a known class in a folder counts as that class."""
    source = r"""\documentclass{styles/SVMult}\begin{document}\chapter{A}
\begin{equation}a\end{equation}\end{document}"""
    assert read_files({"m.tex": source}).equations[0].number == "1.1"


def test_a_document_with_chapters_is_a_book() -> None:
    """With an unknown class, a chapter makes it a book."""
    source = r"""\documentclass{unheardof}\begin{document}\chapter{A}
\begin{equation}a\end{equation}\end{document}"""
    assert read_files({"m.tex": source}).equations[0].number == "1.1"


def test_a_printed_form_ends_with_its_group() -> None:
    r"""\theequation redefined within braces holds only there."""
    equation = r"\begin{equation}a\end{equation}"
    body = rf"{equation}{{\renewcommand{{\theequation}}{{*}}{equation}}}{equation}"
    assert numbers(read(body)) == ["1", "*", "3"]


def test_subequations_count_as_latex_counts() -> None:
    """Inside, counting restarts and the format may change; afterwards both are restored."""
    equation = r"\begin{equation}a\end{equation}"
    form = r"\renewcommand{\theequation}{\theparentequation.\roman{equation}}"
    body = rf"{equation}\begin{{subequations}}{form}{equation}{equation}\end{{subequations}}"
    jump = rf"\begin{{subequations}}\setcounter{{equation}}{{5}}{equation}\end{{subequations}}"
    assert numbers(read(body + equation + jump)) == ["1", "2.i", "2.ii", "3", "4f"]


@pytest.mark.parametrize("carried", [True, False])
def test_a_copy_of_a_standard_class_does_not_change_numbers(carried: bool) -> None:  # noqa: FBT001
    r"""As pdflatex prints them with revtex4-2; its file is a program that only TeX can run."""
    code = r"""\edef\message{\string\documentclass\space} \def\appendix{\gdef\theequation{\wrong}}
\renewcommand\theequation{\also@wrong} \newcommand\ours{notation}"""
    files = {"revtex4-2.cls": code} if carried else {}
    body = rf"\section{{A}}{EQUATION}\appendix\section{{B}}{EQUATION}{EQUATION}"
    assert numbers(read(body, document_class="revtex4-2", files=files)) == ["1", "A1", "A2"]


def test_a_class_of_the_authors_is_read_for_its_numbers() -> None:
    r"""Printed forms, and what its \appendix does with counters."""
    code = r"""\LoadClass{article}\renewcommand \theequation {\@arabic\c@equation}
\def\appendix{\par\c@section\z@ \c@equation\z@ \gdef\thesection{\@Alph\c@section}%
\gdef\theequation{\thesection-\@arabic\c@equation}}"""
    body = rf"\section{{A}}{EQUATION}\appendix\section{{B}}{EQUATION}"
    article = read(body, document_class="own", files={"own.cls": code})
    assert numbers(article) == ["1", "A-1"]
