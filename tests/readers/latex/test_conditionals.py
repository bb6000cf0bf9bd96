"""Conditionals: decidable ones are decided, others take their first branch."""

import pytest

from latex_paper import causes, expanded, numbers, read, text


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (r"\iftrue yes\else no\fi", "yes"),
        (r"\iffalse no\else yes\fi", "yes"),
        (r"a\iffalse no\fi b", "ab"),
        (r"\iffalse\iftrue no\else no\fi no\else yes\fi", "yes"),
        (r"\iftrue a\iffalse b\else c\fi d\else e\fi f", "acdf"),
        (r"\iffalse no \ifx\a\b no\fi\ifnum1<2 no\fi\ifmmode\fi no\fi yes", "yes"),
        ("\\iffalse no % \\fi\nno\\fi yes", "yes"),
        (r"\iffalse no \verb|x| \ifthenelse no\fi yes", "yes"),
        (r"\newif\ifdraft\ifdraft no\else yes\fi", "yes"),
        (r"\newif\ifdraft\drafttrue\ifdraft yes\else no\fi", "yes"),
        (r"\newif\ifdraft\drafttrue\draftfalse\ifdraft no\fi yes", "yes"),
        (r"\newif\ifdraft\iffalse\ifdraft no\else no\fi no\else yes\fi", "yes"),
        (r"\ifx\nowheredefined\relax no\else yes\fi", "yes"),
        (r"\def\a{x}\def\b{x}\ifx\a\b yes\else no\fi", "yes"),
        (r"\def\a{x}\def\b{y}\ifx\a\b no\else yes\fi", "yes"),
        (r"\let\a\alpha\ifx\a\undefined no\else yes\fi", "yes"),
        (r"\ifx\nowheredefined\undefined yes\else no\fi", "yes"),
        (r"\ifdefined\nowheredefined no\else yes\fi", "yes"),
        (r"\ifdefined\alpha yes\else no\fi", "yes"),
        (r"\def\x{}\ifcsname x\endcsname yes\else no\fi", "yes"),
        (r"\ifcsname nowheredefined\endcsname no\else yes\fi", "yes"),
        (r"\ifnum 1<2 yes\else no\fi", "yes"),
        (r"\ifnum2=1\relax no\else yes\fi", "yes"),
        (r"\newcount\n \n=3 \advance\n by 2 \ifnum\n>4 yes\else no\fi", "yes"),
        (r"\newcount\n \n=3 \advance\n by 2 \the\n", "5"),
        (r"\ifcase 1 zero\or one\or two\else more\fi", "one"),
        (r"\ifcase 7 zero\or one\else more\fi", "more"),
        (r"\ifcase 2 zero\or one\fi none", "none"),
        (r"\if aa yes\else no\fi", "yes"),
        (r"\if ab no\else yes\fi", "yes"),
        (r"\ifpdf yes\else no\fi", "yes"),
        (r"\ifxetex no\else yes\fi", "yes"),
    ],
)
def test_tex_conditionals(body: str, said: str) -> None:
    r"""\if... of TeX, of \newif and of e-TeX, nested and skipped."""
    article = read(body)
    assert article.text.strip() == said
    assert causes(article) == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (r"\ifthenelse{\equal{a}{a}}{yes}{no}", "yes"),
        (r"\def\x{a}\ifthenelse{\equal{\x}{a}}{yes}{no}", "yes"),
        (r"\ifthenelse{\not\equal{a}{b}}{yes}{no}", "yes"),
        (r"\ifthenelse{1 < 2}{yes}{no}", "yes"),
        (r"\ifthenelse{\isundefined{\nowheredefined}}{yes}{no}", "yes"),
        (r"\newboolean{long}\setboolean{long}{true}\ifthenelse{\boolean{long}}{yes}{no}", "yes"),
        (r"\newbool{long}\ifbool{long}{no}{yes}", "yes"),
        (r"\newbool{long}\booltrue{long}\ifbool{long}{yes}{no}", "yes"),
        (r"\newtoggle{long}\toggletrue{long}\iftoggle{long}{yes}{no}", "yes"),
        (r"\newtoggle{long}\settoggle{long}{false}\iftoggle{long}{no}{yes}", "yes"),
        (r"\ifstrempty{}{yes}{no}", "yes"),
        (r"\ifblank{ }{yes}{no}", "yes"),
        (r"\ifcsdef{alpha}{yes}{no}", "yes"),
        (r"\ifdef{\nowheredefined}{no}{yes}", "yes"),
        (r"\makeatletter\@ifundefined{nowheredefined}{yes}{no}", "yes"),
        (r"\makeatletter\@ifundefined{alpha}{no}{yes}", "yes"),
        (r"\makeatletter\@ifpackageloaded{hyperref}{no}{yes}", "yes"),
        (r"\makeatletter\@ifclassloaded{article}{yes}{no}", "yes"),
    ],
)
def test_conditionals_with_arguments(body: str, said: str) -> None:
    r"""\ifthenelse, etoolbox and LaTeX: {test}{then}{else}."""
    assert text(body) == said


@pytest.mark.parametrize(
    ("preamble", "formula", "becomes"),
    [
        (r"\makeatletter\def\p{\@ifstar\ps\pn}\def\ps#1{S#1}\def\pn#1{N#1}\makeatother",
         r"\p{a}\p*{b}", "NaSb"),
        (r"\makeatletter\def\p{\@ifnextchar[{\po}{\pn}}\def\po[#1]#2{#1#2}\def\pn#1{N#1}\makeatother",
         r"\p{a}\p[o]{b}", "Naob"),
        (r"\newcommand{\p}[1]{\ifx\empty#1\empty e\else(#1)\fi}", r"\p{}\p{ab}", "e(ab)"),
        (r"\newcommand{\p}[1]{\ifx#1a A\else B\fi}", r"\p ab\p c", "AbB"),
        (r"\newcommand{\p}[1][]{p\ifthenelse{\equal{#1}{}}{}{_{#1}}}", r"\p+\p[x]", "p+p_{x}"),
        (r"\newcommand{\p}{\ifmmode x\else $x$\fi}", r"\p", "x"),
    ],
)  # fmt: skip
def test_macros_that_look_ahead(preamble: str, formula: str, becomes: str) -> None:
    """Stars, brackets and empty arguments are recognised."""
    assert expanded(formula, preamble) == becomes


def test_what_cannot_be_decided_takes_its_first_branch() -> None:
    r"""\ifdim, \ifmmode and unknown tests: the first branch is read, the second is not."""
    assert text(r"\ifdim\wd0>1pt first\else second\fi").endswith("first")
    assert text(r"\ifthenelse{\lengthtest{1pt>2pt}}{first}{second}") == "first"


def test_displays_in_dropped_branches_are_not_displays() -> None:
    """A skipped branch has nothing to read, to number or to lose."""
    article = read(r"\iffalse\begin{equation}a\end{equation}\fi\begin{equation}b\end{equation}")
    assert numbers(article) == ["1"]
    assert article.displays_opened == 1


def test_a_branch_may_hold_half_a_display() -> None:
    """A switch between two environments around one body."""
    preamble = r"\newif\iftwo\twotrue"
    body = (
        r"\iftwo\begin{align}\else\begin{equation}\fi a\iftwo\\ b\end{align}\else\end{equation}\fi"
    )
    assert numbers(read(body, preamble)) == ["1", "2"]


def test_flags_set_in_the_preamble_hold_in_the_text() -> None:
    """A switch for the long version, as papers use it."""
    preamble = r"\newif\iflong \longtrue" + "\n" + r"\newcommand{\detail}[1]{\iflong #1\fi}"
    assert text(r"short \detail{long}", preamble) == "short long"


def test_an_unclosed_conditional_is_reported() -> None:
    r"""Without \fi, a skipped branch ends with its file, and that is reported."""
    article = read(r"before \iffalse never")
    assert causes(article) == ["unclosed conditional"]
    assert article.words() == ["before"]


@pytest.mark.parametrize("body", [r"a\fi b", r"a\else b", r"a\or b\fi"])
def test_stray_ends_do_no_harm(body: str) -> None:
    r"""A \fi or \else without an opening is ignored."""
    assert "".join(read(body).words()) == "ab"
