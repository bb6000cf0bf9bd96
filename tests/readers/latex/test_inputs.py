r"""Including and skipping text: \input and similar, packages, comments, verbatim, \endinput."""

import pytest

from latex_paper import causes, document, expanded, numbers, read, read_files, text


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (r"\input{part}", "part.tex"),
        (r"\input{part.tex}", "part.tex"),
        (r"\input part", "part.tex"),
        (r"\input part.tex ", "part.tex"),
        (r"\input {part}", "part.tex"),
        (r'\input{"part"}', "part.tex"),
        (r"\include{part}", "part.tex"),
        (r"\subfile{part}", "part.tex"),
        (r"\input{./sections/part}", "sections/part.tex"),
        (r"\import{sections/}{part}", "sections/part.tex"),
        (r"\subimport*{sections}{part.tex}", "sections/part.tex"),
        (r"\newcommand{\section@}{}\newcommand{\latexfile}[1]{\input{sections/#1}}\latexfile{part}",
         "sections/part.tex"),
        (r"\def\folder{sections}\input{\folder/part}", "sections/part.tex"),
        (r"\InputIfFileExists{part}{}{no}", "part.tex"),
        (r"\IfFileExists{part.tex}{\input{part}}{no}", "part.tex"),
        (r"\IfFileExists{nowhere}{no}{\input{part}}", "part.tex"),
        (r"\makeatletter\@input{part}", "part.tex"),
    ],
)  # fmt: skip
def test_ways_to_input(body: str, path: str) -> None:
    """Every form of input in real papers, with and without braces, folders and macros."""
    article = read(f"before {body} after", files={path: "part \\[x\\] end\n"})
    assert article.words() == ["before", "part", "end", "after"]
    assert [equation.file for equation in article.equations] == [path]
    assert causes(article) == []


def test_inputs_are_found_from_the_folder_of_the_file_that_asks() -> None:
    """A file in a folder may include its neighbours without naming the folder."""
    files = {"sections/one.tex": r"one \input{two}", "sections/two.tex": "two"}
    assert read(r"\input{sections/one}", files=files).words() == ["one", "two"]


def test_a_missing_input_is_reported_with_its_line() -> None:
    """The rest is read."""
    article = read("one\n\\input{nowhere}\ntwo")
    (problem,) = article.problems
    assert (problem.cause, problem.detail) == ("missing input", "nowhere")
    assert (problem.file, problem.line) == ("main.tex", 5)
    assert article.words() == ["one", "two"]


@pytest.mark.parametrize("name", ["/etc/passwd", "../notes", "~/notes", "C:/notes", "a/../../b"])
def test_an_input_outside_the_folder_is_not_read(name: str) -> None:
    """Which the report says, since a file of that name may well exist."""
    (problem,) = read(rf"\input{{{name}}}").problems
    expected = ("missing input", f"{name} (outside the paper's folder)")
    assert (problem.cause, problem.detail) == expected


def test_an_input_above_a_file_in_a_folder_is_inside() -> None:
    """It may be missing, but was not refused."""
    article = read(r"\input{sections/one}", files={"sections/one.tex": r"\input{../two}"})
    assert [problem.detail for problem in article.problems] == ["../two"]


def test_a_file_that_inputs_itself_is_reported() -> None:
    """Directly or through another."""
    files = {"a.tex": r"a \input{b}", "b.tex": r"b \input{a}"}
    article = read(r"\input{a} end", files=files)
    assert causes(article) == ["recursive input"]
    assert article.words() == ["a", "b", "end"]


def test_an_input_may_be_a_document_of_its_own() -> None:
    """Only its preamble's definitions are read, and its end is not the end of the paper."""
    part = document(r"\x{} inner", r"\newcommand{\x}{defined}\usepackage{amsmath}")
    assert read(r"\subfile{part} after", files={"part.tex": part}).words() == [
        "defined",
        "inner",
        "after",
    ]


def test_a_subfile_takes_its_parents_preamble() -> None:
    r"""With \documentclass[main]{subfiles}, the macros are those of the parent."""
    parent = document("parent", r"\newcommand{\x}{defined}")
    part = r"\documentclass[parent.tex]{subfiles}\begin{document}\x\end{document}"
    article = read_files({"part.tex": part, "parent.tex": parent}, main="part.tex")
    assert article.words() == ["defined"]


# -- packages and classes


def test_notation_in_a_local_style_is_taken() -> None:
    """Macros of the paper's own .sty and .cls are used, but not the text they print."""
    files = {
        "notation.sty": r"\ProvidesPackage{notation} stray words \newcommand{\R}{\mathbb{R}}",
        "house.cls": r"\LoadClass{article}\newcommand{\Q}{\mathbb{Q}}",
    }
    article = read(r"\[\R\Q\]", r"\usepackage{notation}", "house", files)
    assert article.equations[0].expanded == r"\mathbb{R}\mathbb{Q}"
    assert article.words() == []


def test_a_copy_of_a_standard_package_is_left_alone() -> None:
    """A copy of amsmath.sty in a paper does not change what we know about amsmath."""
    files = {"amsmath.sty": r"\def\dfrac{broken}"}
    article = read(r"\[\dfrac{a}{b}\]", r"\usepackage{amsmath}", files=files)
    assert article.equations[0].expanded == r"\dfrac{a}{b}"


def test_a_style_does_not_redefine_what_we_know() -> None:
    r"""A style's redefinition of \section changes its appearance only."""
    files = {"house.sty": r"\renewcommand{\section}[1]{BROKEN}\renewcommand{\emph}[1]{BROKEN}"}
    article = read(r"\section{One} \emph{two}", r"\usepackage{house}", files=files)
    assert article.words() == ["One", "two"]


# -- the end


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (r"one \end{document} two", "one"),
        ("one\n\\endinput\ntwo", "one"),
        (r"one \input{part} two", "one part two"),
    ],
)
def test_what_follows_the_end_is_not_read(body: str, said: str) -> None:
    r"""\end{document} ends the paper, \endinput its file."""
    files = {"part.tex": "part\n\\endinput\nnever"}
    assert " ".join(read(body, files=files).words()) == said


# -- comments


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("one% two\nthree", "onethree"),
        ("one % two\n  three", "one three"),
        ("one\n% two\nthree", "one three"),
        ("one\n% two\n\nthree", "one\n\nthree"),
        ("one\n\n% two\nthree", "one\n\nthree"),
        ("one % two\n\nthree", "one\n\nthree"),
        ("one\n% two\n% three\n   % four\n\nfive", "one\n\nfive"),
        (r"50\% of", "50% of"),
        ("line\\\\% comment\nnext", "line next"),
        ("\\textbf{one % two}\n} three", "one three"),
        ("one % two", "one"),
    ],
)
def test_comments(body: str, said: str) -> None:
    """A comment includes its newline; a blank line after it still ends the paragraph."""
    assert text(body) == said


def test_comments_in_displays() -> None:
    r"""A commented \end{align} does not end a display, and a commented row does not count."""
    article = read("\\begin{align}a\\\\\n%b\\\\\n%\\end{align}\nc\\end{align}")
    assert [equation.expanded for equation in article.equations] == ["a", "c"]


def test_a_display_whose_opening_is_commented_is_none() -> None:
    """Of two consecutive openings, the commented one does not count."""
    article = read("% \\begin{align}\n\\begin{equation}\na\n\\end{equation}")
    assert (numbers(article), article.displays_opened) == (["1"], 1)


# -- not LaTeX inside


@pytest.mark.parametrize(
    "inside",
    [
        "\\begin{verbatim}\n\\begin{equation} % { $\n\\end{verbatim}",
        "\\begin{lstlisting}[language=C]\nif (x$y) { \\[ \n\\end{lstlisting}",
        "\\begin{minted}{python}\nprint('%$')\n\\end{minted}",
        "\\begin{comment}\n\\begin{align}x\\end{align} { $\n\\end{comment}",
        "\\begin{filecontents}{a.bib}\n{ $ % \\begin{equation}\n\\end{filecontents}",
        "\\begin{tikzpicture}\\node {$x$ words}; \\end{tikzpicture}",
        r"\verb|\begin{equation} $|",
        r"\verb+{+",
        r"\lstinline{$x}",
        r"\lstinline|{|",
        r"\mintinline{c}|{$|",
        r"\url{http://a.b/c%20d_e#f}",
        r"\path{a%b}",
        r"\url|a%b$|",
        "\\ExplSyntaxOn \\tl_new:N \\x $ { \\ExplSyntaxOff",
    ],
)
def test_what_is_not_latex_is_passed_over(inside: str) -> None:
    """Code, drawings and addresses give no words or displays, and do not affect what follows."""
    article = read(f"before {inside} after \\[x\\]")
    assert article.words() == ["before", "after"]
    assert [equation.expanded for equation in article.equations] == ["x"]
    assert article.displays_opened == 1


def test_authors_may_define_verbatim_and_comment_environments() -> None:
    r"""\lstnewenvironment, \excludecomment, \newenvironment{x}{\comment}{\endcomment}."""
    preamble = (
        r"\lstnewenvironment{code}[1][]{\lstset{#1}}{}\excludecomment{hidden}"
        r"\newenvironment{old}{\comment}{\endcomment}\includecomment{shown}"
    )
    body = r"""a \begin{code} $ { \end{code} b \begin{hidden} no $ \end{hidden} c
        \begin{old} no { \end{old} d \begin{shown} e \end{shown}"""
    assert read(body, preamble).words() == list("abcde")


def test_an_unclosed_verbatim_is_reported() -> None:
    """What follows is read, since its end is unknown."""
    article = read(r"before \begin{verbatim} after \[x\]")
    assert causes(article) == ["unclosed environment"]
    assert len(article.equations) == 1


def test_links_keep_their_text() -> None:
    r"""\href shows its second argument."""
    assert text(r"see \href{http://a.b/c%d}{the page} now") == "see the page now"


def test_macros_with_at_signs_between_makeat_commands() -> None:
    r"""\makeatletter makes @ a letter, and so does \catcode."""
    assert expanded(r"\x", r"\makeatletter\def\a@b{y}\def\x{\a@b}\makeatother") == "y"
    assert expanded(r"\x", r"\catcode`\@=11 \def\a@b{y}\def\x{\a@b}\catcode`@=12 ") == "y"


def test_begin_document_hooks_are_read() -> None:
    r"""\AtBeginDocument may contain definitions."""
    assert expanded(r"\x", r"\AtBeginDocument{\def\x{y}}") == "y"
