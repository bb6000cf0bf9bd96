"""Authors' macros: how they are defined, how arguments are read, their scope and limits."""

import pytest

from campaigns import FULL
from eqemb.readers.latex.budget import Budget, Work
from eqemb.readers.latex.expand import expand
from eqemb.readers.latex.files import Files
from eqemb.readers.latex.macros import Slot, def_slots, newcommand_slots, xparse_slots
from latex_paper import causes, document, expanded, numbers, read, text


@pytest.mark.parametrize(
    ("preamble", "formula", "becomes"),
    [
        (r"\newcommand{\vect}[1]{\mathbf{#1}}", r"\vect{x}", r"\mathbf{x}"),
        (r"\newcommand\vect[1]{\mathbf{#1}}", r"\vect x", r"\mathbf{x}"),
        (r"\newcommand*{\vect} [1] {\mathbf{#1}}", r"\vect {x}", r"\mathbf{x}"),
        ("\\newcommand{\\vect}% a comment\n[1]%\n{\\mathbf{#1}}", r"\vect x", r"\mathbf{x}"),
        (r"\newcommand{\p}[2][x]{p(#2|#1)}", r"\p{y}+\p[z]{y}", "p(y|x)+p(y|z)"),
        (r"\newcommand{\p}[1][x]{p(#1)}", r"\p+\p[z]", "p(x)+p(z)"),
        (r"\newcommand{\p}[1][]{p_{#1}}", r"\p+\p[{[z]}]", "p_{}+p_{{[z]}}"),
        (r"\renewcommand{\vec}[1]{\mathbf{#1}}", r"\vec{x}", r"\mathbf{x}"),
        (r"\providecommand{\vec}[1]{\mathbf{#1}}", r"\vec{x}", r"\vec{x}"),
        (r"\providecommand{\vect}[1]{\mathbf{#1}}", r"\vect{x}", r"\mathbf{x}"),
        (r"\DeclareRobustCommand{\vect}[1]{\mathbf{#1}}", r"\vect{x}", r"\mathbf{x}"),
        (r"\newcommandx{\p}[3][1=a,3=c]{#1#2#3}", r"\p{b}+\p[x]{b}[z]", "abc+xbz"),
        (r"\newcommand{\one}[1]{\two{#1}}\newcommand{\two}[1]{[#1]}", r"\one{\one{x}}", "[[x]]"),
        (r"\newcommand{\make}[1]{\newcommand{#1}[1]{(##1)}}\make{\z}", r"\z{q}", "(q)"),
    ],
)
def test_newcommand(preamble: str, formula: str, becomes: str) -> None:
    r"""The \newcommand family, with and without arguments, defaults, stars and comments."""
    assert expanded(formula, preamble) == becomes


@pytest.mark.parametrize(
    ("preamble", "formula", "becomes"),
    [
        (r"\def\x{\alpha}", r"\x b", r"\alpha b"),
        (r"\def\x{\alpha}", r"\x{}b", r"\alpha{}b"),
        (r"\def\x#1#2{#2#1}", r"\x ab", "ba"),
        (r"\def\x#1{\bar#1}", r"\x a", r"\bar a"),
        (r"\long\def\x#1{(#1)}", r"\x{a}", "(a)"),
        (r"\global\def\x#1{(#1)}", r"\x{a}", "(a)"),
        (r"\def\pair(#1,#2){\langle #1|#2\rangle}", r"\pair(a,b)", r"\langle a|b\rangle"),
        (r"\def\pair(#1,#2){#1|#2}", r"\pair(f(x),{b,c})", "f(x)|b,c"),
        (r"\def\upto#1.{[#1]}", r"\upto a\.b. d", r"[a\.b] d"),
        (r"\def\power#1to#2\stop{#1^{#2}}", r"\power atob\stopped\stop", r"a^{b\stopped}"),
        (r"\def\1{\mathbf 1}", r"\1_A", r"\mathbf 1_A"),
        (r"\def\*#1{\mathbf{#1}}", r"\*x+\*{y}", r"\mathbf{x}+\mathbf{y}"),
        (r"\def\x{a}\edef\y{\x b}\def\x{c}", r"\y", "ab"),
        (r"\def\x{a}\def\y{\x b}\def\x{c}", r"\y", "cb"),
        (r"\def\x{a}\edef\y{\noexpand\x b}\def\x{c}", r"\y", "cb"),
    ],
)
def test_def(preamble: str, formula: str, becomes: str) -> None:
    """Definitions of plain TeX; a delimiter must be a separate token, outside braces."""
    assert expanded(formula, preamble) == becomes


@pytest.mark.parametrize(
    ("preamble", "formula", "becomes"),
    [
        (r"\let\eps\varepsilon", r"\eps_0", r"\varepsilon_0"),
        (r"\let\phi=\varphi", r"\phi", r"\varphi"),
        (r"\let\old\phi \renewcommand{\phi}{\old_0}", r"\phi", r"\phi_0"),
        (r"\let\old\phi \let\phi\varphi \let\varphi\old", r"\phi\varphi", r"\varphi\phi"),
        (r"\newcommand{\q}{q}\let\r\q \renewcommand{\q}{s}", r"\r\q", "qs"),
        (r"\let\be\begin \let\ee\end", r"\be{cases}a\ee{cases}", r"\begin{cases}a\end{cases}"),
    ],
)
def test_let_keeps_the_meaning_of_that_moment(preamble: str, formula: str, becomes: str) -> None:
    r"""\let copies the current meaning, the author's or LaTeX's."""
    assert expanded(formula, preamble) == becomes


@pytest.mark.parametrize(
    ("spec", "body", "formula", "becomes"),
    [
        ("s m", r"\IfBooleanTF{#1}{S}{N}#2", r"\E{a}\E*{b}", "NaSb"),
        ("o m", r"\IfValueTF{#1}{[#1]}{}#2", r"\E{a}\E[i]{b}", "a[i]b"),
        ("o m", r"\IfNoValueF{#1}{[#1]}#2", r"\E{a}\E[i]{b}", "a[i]b"),
        ("O{x} m", "#1#2", r"\E{a}\E[b]{c}", "xabc"),
        ("m O{#1}", "#1#2", r"\E{a}\E{a}[b]", "aaab"),
        ("d() m", r"\IfNoValueTF{#1}{N}{#1}#2", r"\E{a}\E(b){c}", "Nabc"),
        ("D(){z} m", "#1#2", r"\E{a}\E(b){c}", "zabc"),
        ("r() m", "#1#2", r"\E(b){c}", "bc"),
        ("m e{^_}", r"#1\IfValueT{#2}{U#2}\IfValueT{#3}{D#3}", r"\E{a}_{1}^2\E b^{3}", "aU2D1bU3"),
        ("m g", r"#1\IfValueT{#2}{|#2}", r"\E{a}+\E{a}{b}", "a+a|b"),
        ("m G{z}", "#1|#2", r"\E{a}+\E{a}{b}", "a|z+a|b"),
        ("t+ m", r"\IfBooleanT{#1}{P}#2", r"\E{a}+\E+{a}", "a+Pa"),
        ("+m !o", r"#1\IfNoValueF{#2}{(#2)}", r"\E{a}[b]", "a(b)"),
        (r">{\SplitArgument{1}{,}}m", r"\F#1", r"\E{a , b}+\E{c}", r"a|b+c|\NoValue"),
        ("", "X", r"\E_1", "X_1"),
    ],
)
def test_document_commands(spec: str, body: str, formula: str, becomes: str) -> None:
    r"""\NewDocumentCommand reads every kind of argument that papers use."""
    preamble = rf"\newcommand{{\F}}[2]{{#1|#2}}\NewDocumentCommand{{\E}}{{{spec}}}{{{body}}}"
    assert expanded(formula, preamble) == becomes


@pytest.mark.parametrize(
    ("preamble", "formula", "becomes"),
    [
        (r"\DeclareMathOperator{\tr}{tr}", r"\tr(A)", r"\operatorname{tr}(A)"),
        (r"\DeclareMathOperator\tr{tr}", r"\tr A", r"\operatorname{tr}A"),
        (r"\DeclareMathOperator*{\amin}{min}", r"\amin_x", r"\operatorname*{min}_x"),
        (r"\DeclarePairedDelimiter{\n}{\|}{\|}", r"\n{x}", r"\| x\|"),
        (r"\DeclarePairedDelimiter\n\lVert\rVert", r"\n*{x}", r"\left\lVert x\right\rVert"),
        (r"\DeclarePairedDelimiter{\n}{\|}{\|}", r"\n[\big]{x}", r"\big\| x\big\|"),
        (r"\DeclarePairedDelimiterX{\ip}[2]{(}{)}{#1,#2}", r"\ip{x}{y}", "( x,y)"),
        (r"\DeclarePairedDelimiterX\kl[2]{(}{)}{#1\delimsize\|#2}", r"\kl pq", r"( p\|q)"),
        (r"\DeclarePairedDelimiterX\kl[2]{(}{)}{#1\delimsize\|#2}", r"\kl[\Big]pq",
         r"\Big( p\Big\|q\Big)"),
        (r"\DeclarePairedDelimiterX\kl[2]{(}{)}{#1\delimsize\|#2}", r"\kl*pq",
         r"\left( p\middle\|q\right)"),
        (r"\DeclarePairedDelimiterXPP\lp[2]{\log}{(}{)}{_{#2}}{#1}", r"\lp x2", r"\log( x) _{2}"),
        (r"\newcommand\given{|}\DeclarePairedDelimiterX\p[1](){\renewcommand\given{;}#1}",
         r"\p{a\given b}c\given d", "( a;b) c|d"),
    ],
)  # fmt: skip
def test_operators_and_delimiters(preamble: str, formula: str, becomes: str) -> None:
    r"""Operators keep their name; paired delimiters with a star stretch, and so does \delimsize."""
    assert expanded(formula, preamble) == becomes


@pytest.mark.parametrize(
    ("preamble", "formula", "becomes"),
    [
        (r"\expandafter\newcommand\csname bx\endcsname{\mathbf{x}}", r"\bx", r"\mathbf{x}"),
        (r"\expandafter\def\csname b1\endcsname{B}", r"\csname b1\endcsname", "B"),
        (r"\makeatletter\@namedef{b1}#1{B#1}\makeatother", r"\csname b1\endcsname x", "Bx"),
        (r"\csdef{b1}{B}", r"\csuse{b1}", "B"),
        (r"\def\mk#1{\expandafter\def\csname b#1\endcsname{\mathbf{#1}}}\mk{x}\mk{y}", r"\bx\by",
         r"\mathbf{x}\mathbf{y}"),
        (r"\foreach \x in {A,...,Z}{\expandafter\xdef\csname c\x\endcsname{\noexpand\mathcal{\x}}}",
         r"\cA\cZ", r"\mathcal{A}\mathcal{Z}"),
        (r"\foreach\i in{1,2,...,4}{\expandafter\xdef\csname v\i\endcsname{v_\i}}",
         r"\csname v3\endcsname", "v_3"),
        (r"\makeatletter\@for\x:=a,b\do{\expandafter\edef\csname v\x\endcsname{\noexpand\bm{\x}}}",
         r"\va\vb", r"\bm{a}\bm{b}"),
        (r"\makeatletter\@tfor\x:=ab\do{\expandafter\edef\csname v\x\endcsname{\noexpand\bm{\x}}}",
         r"\va\vb", r"\bm{a}\bm{b}"),
        (r"\def\mk#1{\expandafter\def\csname b#1\endcsname{[#1]}}\forcsvlist{\mk}{x, y}", r"\bx\by",
         "[x][y]"),
        (r"\def\do#1{\expandafter\def\csname b#1\endcsname{[#1]}}\docsvlist{x,y}", r"\by", "[y]"),
        (r"\def\l#1{\ifx\l#1\else\expandafter\def\csname b#1\endcsname{#1}\expandafter\l\fi}\l A\l",
         r"\bA", "A"),
    ],
)  # fmt: skip
def test_alphabets_are_defined_by_loops(preamble: str, formula: str, becomes: str) -> None:
    r"""Names made by \csname, alone and in loops that define \bA to \bZ."""
    assert expanded(formula, preamble) == becomes


@pytest.mark.parametrize(
    ("preamble", "formula", "becomes"),
    [
        (r"\newcommand{\pd}[2]{\frac{\partial#1}{\partial#2}}", r"\pd fx",
         r"\frac{\partial f}{\partial x}"),
        (r"\newcommand{\ab}{\alpha}\newcommand{\abc}{y}", r"\ab c\abc", r"\alpha cy"),
        (r"\makeatletter\def\my@x{y}\newcommand{\x}{\my@x z}\makeatother", r"\x@", "yz@"),
        (r"\newcommand{\x}{\ensuremath{x}\xspace}", r"\x\x y", r"\ensuremath{x} \ensuremath{x} y"),
        (r"\newcommand{\pc}{\%}", r"5\pc", r"5\%"),
        ("\\newcommand{\\x}{a%\n  b}", r"\x", "ab"),
    ],
)  # fmt: skip
def test_words_stay_apart(preamble: str, formula: str, becomes: str) -> None:
    """A command and a letter that a macro puts after it are kept apart."""
    assert expanded(formula, preamble) == becomes


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (r"\def\x{a}{\def\x{b}\x}\x", "ba"),
        (r"\def\x{a}{\def\x{b}{\def\x{c}\x}\x}\x", "cba"),
        (r"\def\x{a}{\gdef\x{b}}\x", "b"),
        (r"\def\x{a}{\global\def\x{b}}\x", "b"),
        (r"\def\x{a}\begingroup\def\x{b}\x\endgroup\x", "ba"),
        (r"\def\x{a}\begin{quote}\def\x{b}\x\end{quote}\x", "ba"),
        (
            r"\def\x{a}\begin{quote}\renewcommand{\x}{b}\begin{quote}\x\end{quote}\end{quote}\x",
            "ba",
        ),
        (r"\def\x{a}\newcommand{\f}[1]{{\def\x{b}#1}}\f{\x}\x", "ba"),
        (r"\def\x{a}\newcommand{\f}{\def\x{b}}{\f\x}\x", "ba"),
        (r"\def\x{a}\newcommand{\f}{\def\x{b}}\f\x", "b"),
        (r"\def\x{a}{\def\x{b}\def\x{c}\x}\x", "ca"),
        (r"{\def\x{b}\x}\ifdefined\x yes\else no\fi", "bno"),
        (r"\def\x{a}\textbf{\def\x{b}\x}\x", "ba"),
    ],
)
def test_definitions_end_with_their_group(body: str, said: str) -> None:
    """Braces, groups and environments limit a definition, also through macros."""
    assert text(body).replace(" ", "") == said


def test_a_definition_in_the_text_holds_from_there_on() -> None:
    """A macro may be redefined between two uses."""
    article = read(r"\def\x{a}\[\x\] \def\x{b}\[\x\]")
    assert [equation.expanded for equation in article.equations] == ["a", "b"]


@pytest.mark.parametrize(
    ("preamble", "body", "found"),
    [
        (r"\def\be{\begin{equation}}\def\ee{\end{equation}}", r"\be x\ee", ["1"]),
        (r"\def\be{\equation}\def\ee{\endequation}", r"\be x\ee", ["1"]),
        (r"\newcommand{\beql}[1]{\begin{equation}\label{#1}}\def\ee{\end{equation}}",
         r"\beql{q}x\ee", ["1"]),
        (r"\newcommand{\eqnl}[2]{\begin{equation}\label{#1}#2\end{equation}}", r"\eqnl qx", ["1"]),
        (r"\def\bea#1\eea{\begin{align}#1\end{align}}", r"\bea x\\y\eea", ["1", "2"]),
        (r"\def\bea{\begin{eqnarray*}}\def\eea{\end{eqnarray*}}", r"\bea x\\y\eea", [None]),
        (r"\newenvironment{eqa}{\begin{equation}\begin{array}{rl}}{\end{array}\end{equation}}",
         r"\begin{eqa}x&y\\z\end{eqa}", ["1"]),
        (r"\newenvironment{leq}[1]{\begin{equation}\label{#1}}{\end{equation}}",
         r"\begin{leq}{q}x\end{leq}", ["1"]),
        (r"\newenvironment{leq}[2][t]{\begin{equation}\tag{#1}}{#2\end{equation}}",
         r"\begin{leq}[7]{z}x\end{leq}", ["7"]),
        (r"\NewEnviron{big}{\begin{equation}\scalebox{2}{$\BODY$}\end{equation}}",
         r"\begin{big}x\end{big}", ["1"]),
        (r"\NewDocumentEnvironment{leq}{o}{\equation\IfValueT{#1}{\label{#1}}}{\endequation}",
         r"\begin{leq}[q]x\end{leq}", ["1"]),
        (r"\NewDocumentEnvironment{leq}{+b}{\begin{align}#1\end{align}}{}",
         r"\begin{leq}x\\y\end{leq}", ["1", "2"]),
        (r"\def\eqs{\begin{equation}}\def\endeqs{\end{equation}}", r"\begin{eqs}x\end{eqs}", ["1"]),
        (r"\let\be\begin \newcommand{\e}{equation}", r"\be{equation}x\end{equation}", ["1"]),
    ],
)  # fmt: skip
def test_displays_hidden_in_macros(preamble: str, body: str, found: list[str | None]) -> None:
    """Shorthands and authors' environments open displays with the right numbering."""
    article = read(body, preamble)
    assert numbers(article) == found
    assert article.displays_lost == 0
    assert causes(article) == []
    assert not article.unknown_macros


def test_the_label_of_a_shorthand_is_the_equations() -> None:
    r"""The label in \beql{q} is visible only after expansion."""
    preamble = r"\newcommand{\beql}[1]{\begin{equation}\label{#1}}\def\ee{\end{equation}}"
    assert read(r"\beql{q}x\ee", preamble).equations[0].labels == ["q"]


def test_macros_of_one_paper_mean_nothing_in_the_next() -> None:
    r"""The same \al opens an align in one paper and is a letter in another."""
    assert numbers(read(r"\al x\ale", r"\def\al{\begin{align}}\def\ale{\end{align}}")) == ["1"]
    assert expanded(r"\al", r"\def\al{\alpha}") == r"\alpha"
    assert read(r"\[\al\]").unknown_macros == {"al": 1}


# -- budgets


@pytest.mark.parametrize(
    "preamble",
    [
        r"\def\a{\a\a}",
        r"\def\a{x\a}",
        r"\def\a#1{\a{#1#1}}",
        r"\def\a{\b}\def\b{\a}",
        r"\def\a{\begin{loop}}\newenvironment{loop}{\begin{loop}}{}",
        r"\def\a{\csname a\endcsname}",
        r"\def\a{\expandafter\a\a}",
        r"\def\a{\edef\b{\a}}",
    ],
)
def test_endless_macros_stop(preamble: str) -> None:
    """A macro that never ends is reported, and the text after it is still read."""
    article = read(r"\a{} after \[x\]", preamble)
    assert set(causes(article)) & {"macro recursion", "expansion budget"}
    assert [equation.expanded for equation in article.equations] == ["x"]
    assert article.words()[-1] == "after"


def doubling(argument: str, last: str) -> str:
    """Twenty-six macros, each of which calls the next twice or with a doubled argument."""
    letters = [chr(code) for code in range(ord("a"), ord("z"))]
    lines = [
        rf"\def\{this}{argument}{{\{chr(ord(this) + 1)}"
        + (r"{#1#1}}" if argument else rf"\{chr(ord(this) + 1)}}}")
        for this in letters
    ]
    return "\n".join([*lines, rf"\def\z{argument}{{{last}}}"])


@pytest.mark.parametrize(
    "preamble", [doubling("", "xyz"), doubling("#1", "#1")], ids=["calls", "arguments"]
)
def test_exponential_macros_stop(preamble: str) -> None:
    """2^25 expansions exceed the budget; the rest is read."""
    small = Budget(expansions=20_000, pushed=1_000_000)
    source = document(r"\a{q} after", preamble)
    result = expand(Files({"main.tex": source.encode()}), "main.tex", Work(small))
    assert "expansion budget" in [problem.cause for problem in result.problems]
    assert len(result.text) < 1_000_000
    assert "after" in result.text


def test_an_exploding_edef_stops() -> None:
    r"""Forty doublings with \edef stay within the budget."""
    preamble = r"\def\a{xxxxxxxx}" + r"\edef\a{\a\a}" * 40
    article = read(r"after \[x\]", preamble)
    assert {"expansion budget", "output budget"} & set(causes(article))
    assert len(article.equations) == 1


def test_loops_count_against_the_budget() -> None:
    """Nested loops of a hundred steps each do not run a million times."""
    loop = r"\foreach \x in {1,...,99}{"
    source = document("after", loop * 4 + r"\def\q{\x}" + "}" * 4)
    work = Work(Budget(expansions=20_000))
    result = expand(Files({"main.tex": source.encode()}), "main.tex", work)
    assert "after" in result.text


@pytest.mark.parametrize(
    ("preamble", "piece"),
    [
        (r"\newcommand{\a}[1]{(#1)}", r"\a{"),
        (r"\newcommand{\a}[1][x]{(#1)}", r"\a["),
        (r"\def\a#1.{(#1)}", r"\a x"),
        (r"\def\a#1.{(#1)}", r"\a{."),
        (r"\NewEnviron{q}{\BODY}", r"\begin{q}"),
        ("", "{\\def\\a{b}"),
        ("", r"\csname a"),
    ],
)
def test_arguments_without_end_cost_no_more_than_their_budget(preamble: str, piece: str) -> None:
    """Thousands of openings that never close are not searched for their end each time."""
    article = read(piece * (3000 if FULL else 1000), preamble)
    assert article.equations == []


@pytest.mark.parametrize(
    ("parameters", "slots"),
    [
        ("#1#2", ("m", "m")),
        ("(#1,#2)", ("l", "u", "u")),
        (r"#1\end", ("u",)),
        ("", ()),
    ],
)
def test_parameter_texts(parameters: str, slots: tuple[str, ...]) -> None:
    r"""The text between a \def's name and its body becomes slots."""
    assert tuple(slot.kind for slot in def_slots(parameters)) == slots


def test_slots_of_newcommand_and_xparse() -> None:
    """A default makes the first argument optional; a specification is parsed to its end."""
    assert newcommand_slots(2, "x") == (Slot("o", default="x"), Slot("m"))
    assert newcommand_slots(0, "x") == ()
    assert [slot.kind for slot in xparse_slots("s o +m !O{x} e{^_} t/ d<> v b")] == list(
        "somoetdmb"
    )


@pytest.mark.parametrize(
    ("definition", "use", "found"),
    [
        (r"\newcommand{\path}{\text{Path}}", r"\path(x)", r"\text{Path}(x)"),
        (r"\renewcommand{\or}{\vee}", r"a \or b", r"a \vee b"),
        (r"\def\SS{\mathcal S}", r"\SS", r"\mathcal S"),
        (r"\newcommand{\volume}{V}", r"\volume", "V"),
    ],
)
def test_an_author_may_take_any_free_name(definition: str, use: str, found: str) -> None:
    """A command known elsewhere is notation if the author defines it."""
    assert read(rf"\[{use}\]", definition).equations[0].expanded == found


def test_a_macro_that_runs_away_costs_itself_only() -> None:
    r"""A command copied by \let may lack its arguments."""
    article = read(r"\let\x\newcommand {\x} \[a\]")
    assert len(article.equations) == 1


@pytest.mark.parametrize("count", ["9" * 9, "9" * 5_000])
def test_a_box_has_at_most_nine_arguments(count: str) -> None:
    """A larger number took gigabytes of memory, and one of 5,000 digits ended the reading."""
    article = read(r"\[a=b\]", rf"\newtcolorbox{{note}}[{count}]{{title=#1}}")
    assert [equation.expanded for equation in article.equations] == ["a=b"]


def test_chains_of_environments_stop_at_a_budget() -> None:
    """Environments that open two others each would double for ever."""
    chain = "".join(
        rf"\newenvironment{{q{a}}}{{\begin{{q{b}}}\begin{{q{b}}}}}{{}}"
        for a, b in zip("abcdefghijklmnopqrstuvwxy", "bcdefghijklmnopqrstuvwxyz", strict=True)
    )
    article = read(r"\begin{qa} \[a\]", chain)
    assert {"expansion budget", "macro recursion"} & {p.cause for p in article.problems}
