"""The tables of commands: consistent with each other, and with an independent converter."""

import unicodedata

import pytest

from eqemb.formula import Layout, commands, layout
from eqemb.formula.alphabets import styled
from eqemb.formula.parse import HANDLERS
from eqemb.formula.tokens import tokens

#: Commands for which math-core has another character or kind; ours follows LaTeXML.
MATH_CORE_DIFFERS = {
    "\\triangle", "\\Box", "\\Diamond", "\\blacktriangle", "\\blacktriangledown", "\\bigcirc",
    "\\Join", "\\models", "\\eqqcolon", "\\equalscolon", "\\Coloneqq", "\\surd", "\\idotsint",
    "\\argmax", "\\argmin", "\\underbar", "\\bmod",
}  # fmt: skip


def math_core(latex: str) -> str | None:
    """The tree of math-core's MathML; None if it does not know the command."""
    module = pytest.importorskip("math_core")
    try:
        made = module.LatexToMathML().convert_with_local_state(latex, displaystyle=True)
    except module.LatexError:
        return None
    return Layout.from_mathml(made).to_slt()


def test_no_command_is_of_two_kinds() -> None:
    """Symbols are looked up first, so a handler of the same name would never run."""
    assert not set(commands.SYMBOLS) & set(HANDLERS)


def test_every_symbol_has_a_tag_that_bracket_strings_can_hold() -> None:
    """No bare comma, bracket or question mark, and nothing empty."""
    for token, tag in commands.SYMBOLS.items():
        assert tag, token
        assert not set(tag) & set("[],?\n"), token
        made = layout(token)
        assert Layout.from_slt(made.to_slt()).to_slt() == made.to_slt()


def test_symbols_are_what_an_independent_converter_shows() -> None:
    """Every command that math-core knows, except the listed ones."""
    known = 0
    for token in commands.SYMBOLS:
        if token[0] != "\\" or token in MATH_CORE_DIFFERS:
            continue
        theirs = math_core(f"x {token} y")
        if theirs is not None:
            known += 1
            assert layout(f"x {token} y").to_slt() == theirs, token
    assert known > 300


def test_accents_are_what_an_independent_converter_shows() -> None:
    """Over and under."""
    for token in commands.ACCENTS:
        theirs = math_core(f"{token}{{x}}")
        if theirs is not None and token not in MATH_CORE_DIFFERS:
            assert layout(f"{token}{{x}}").to_slt() == theirs, token


@pytest.mark.parametrize(
    "command", ["mathbf", "mathbb", "mathcal", "mathfrak", "mathsf", "mathtt", "boldsymbol"]
)
def test_alphabets_are_those_of_unicode(command: str) -> None:
    """The same letters as in math-core, and plain ones when folded."""
    for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz":
        made = layout(rf"\{command}{{{letter}}}").to_slt()
        assert unicodedata.normalize("NFKC", made) == f"[V!{letter}]"
        theirs = math_core(rf"\{command}{{{letter}}}")
        # math-core 0.9 writes a double-struck H for a fraktur I.
        assert theirs in (None, made) or (command, letter) == ("mathfrak", "I")


@pytest.mark.parametrize(
    ("tag", "style", "expected"),
    [
        ("V!x", "bf", "V!𝐱"),
        ("V!h", "cal", "V!𝒽"),
        ("V!B", "cal", "V!ℬ"),
        ("N!12", "bf", "N!𝟏𝟐"),
        ("V!Γ", "bf", "V!𝚪"),
        ("V!θ", "bf", "V!θ"),
        ("V!θ", "bi", "V!𝜽"),
        ("V!x", "rm", "V!x"),
        ("+", "bf", "+"),
        ("V!∞", "bf", "V!∞"),
    ],
)
def test_styles_change_letters_and_nothing_else(tag: str, style: str, expected: str) -> None:
    """Symbols without a bold form in TeX are unchanged."""
    assert styled(tag, style) == expected


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        ("x+1", ["x", "+", "1"]),
        ("3.14", ["3.14"]),
        ("1.", ["1", "."]),
        (r"\alpha\beta", ["\\alpha", "\\beta"]),
        (r"\alpha x", ["\\alpha", "x"]),
        (r"\{x\}", ["\\{", "x", "\\}"]),
        (r"a\\b", ["a", "\\\\", "b"]),
        (r"a\\[2pt] b", ["a", "\\\\[2pt]", "b"]),
        (r"a\\[- 3mm] b", ["a", "\\\\[- 3mm]", "b"]),
        (r"a\\[x] b", ["a", "\\\\", "[", "x", "]", "b"]),
        (r"\text{a b}", [r"\text{a b}"]),
        (r"\text{a {b {c}} d}x", [r"\text{a {b {c}} d}", "x"]),
        (r"\textstyle x", ["\\textstyle", "x"]),
        (r"\begin{matrix}", [r"\begin{matrix}"]),
        (r"\begin {matrix} \end  {matrix}", [r"\begin{matrix}", r"\end{matrix}"]),
        (r"\xymatrix@C=1pc", ["\\xymatrix", "@", "C", "=", "1", "p", "c"]),
        (r"\ar@{=}\m@th", ["\\ar", "@", "{", "=", "}", "\\m@th"]),
        ("a % b\nc", ["a", "c"]),
        (r"a \% b", ["a", "\\%", "b"]),
        ("f''", ["f", "''"]),
        ("||x||", ["||", "x", "||"]),
        ("...", ["..."]),
        ("\x00a\ud800", ["a"]),
        ("\\", ["\\"]),
        ("", []),
    ],
)
def test_tokens(latex: str, expected: list[str]) -> None:
    """Words of text and names of environments are single tokens; space and comments are dropped."""
    assert tokens(latex) == expected


@pytest.mark.parametrize(
    ("latex", "tree"),
    [
        (r"\color{red} x", "[V!x]"),
        (r"\textcolor{red}{x}", "[V!x]"),
        (r"\phantom{abc} x", "[V!x]"),
        (r"x \hspace*{1em} y", "[V!x[V!y]]"),
        (r"x \kern-3pt y", "[V!x[V!y]]"),
        (r"x \mkern-\thickmuskip y", "[V!x[V!y]]"),
        (r"\boxed{x}", "[V!x]"),
        (r"x\xspace\IEEEeqnarraynumspace", "[V!x]"),
        (r"x \nonscript\: y", "[V!x[V!y]]"),
        (r"\settoheight{\h}{x} y", "[V!y]"),
        (r"\smashoperator[r]{\sum_i} x", "[∑[V!x],u[V!i]]"),
        (r"\mathchoice{x}{x}{x}{x}", "[V!x]"),
        (r"\resizebox{1cm}{!}{x}", "[V!x]"),
        (r"a\mathbin*b", "[V!a[*[V!b]]]"),
        (r"a \mathrel{\rm is} b", "[V!a[V!is[V!b]]]"),
        (r"x \displaybreak[0] y", "[V!x[V!y]]"),
        (r"x \label[type]{name}", "[V!x]"),
        (r"\cfrac[l]{a}{b}", "[O!divide,o[V!a],u[V!b]]"),
        (r"\frac [a] b", "[O!divide[&rsqb;[V!b]],o[&lsqb;],u[V!a]]"),
    ],
)
def test_what_shows_nothing_leaves_nothing(latex: str, tree: str) -> None:
    """Commands are dropped with their arguments, and only with those."""
    assert layout(latex).to_slt() == tree


@pytest.mark.parametrize("name", sorted(commands.ENVIRONMENTS))
def test_every_environment_is_read(name: str) -> None:
    """With its arguments, and without a problem."""
    arguments = "{ll}" * commands.ENVIRONMENTS[name][2]
    made = layout(rf"\begin{{{name}}}{arguments} a & b \\ c & d \end{{{name}}}")
    assert made.problems == []
    assert made.unknown == []
    assert {node.tag for node in made.nodes()} >= {"V!a", "V!b", "V!c", "V!d"}


@pytest.mark.parametrize("token", sorted(HANDLERS))
def test_every_command_may_lack_its_arguments(token: str) -> None:
    """At the end of input, before a brace, and with too few arguments."""
    for latex in (
        token,
        token + "}",
        "x" + token + "x",
        token + "{a}",
        token + "{a}{b}{c}",
        token + "&",
    ):
        made = layout(latex)
        made.units()
        Layout.from_mathml(made.to_mathml())
