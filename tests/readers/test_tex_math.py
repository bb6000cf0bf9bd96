"""Macros of formulas in other formats: which definitions hold, at which cost."""

import pytest

from eqemb.readers import tex_math
from eqemb.readers.latex.files import Files
from eqemb.readers.tex_math import TexMath


@pytest.mark.parametrize(
    ("formulas", "last"),
    [
        ([r"\newcommand\b{1}\renewcommand\b{2}", r"\b"], "2"),
        ([r"\def\x#1{#1+\y}\def\y{z}", r"\def\y{w}", r"\x{a}"], "a+w"),
        ([r"\newcommand\b{1}\let\a\b\renewcommand\b{\a+2}", r"\b"], "1+2"),
        ([r"\newcommand\b{1}\providecommand\b{2}\providecommand\cc{3}", r"\b\cc"], "13"),
        ([r"\let\e\varepsilon", r"\let\e\varepsilon", r"\e"], r"\varepsilon"),
        ([r"\def\a{1}", r"\\a"], r"\\a"),
    ],
)
def test_the_last_definition_holds(formulas: list[str], last: str) -> None:
    """Except that a copy keeps the one of its moment, and `provide` is for new names."""
    math = TexMath()
    assert [math.inline(latex) for latex in formulas][-1] == last


@pytest.mark.parametrize(
    ("written", "latex"),
    [
        (r"\alpha\label{q}b", r"\alpha b"),
        (r"\alpha\tag{1}\notag b", r"\alpha b"),
        (r"\alpha\def\x{1}b", r"\alpha b"),
        ("\\alpha% c\nb", r"\alpha b"),
        (r"\alpha\label{q}_b", r"\alpha_b"),
        (r"a\label{q}b", "ab"),
        ("x\\ \n", "x\\ "),
    ],
)
def test_a_command_ends_where_a_mark_is_cut_out(written: str, latex: str) -> None:
    """It does not become one word with what follows the mark."""
    assert [row.latex for row in TexMath().display(written).rows] == [latex]


def test_only_the_needed_definitions_are_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once each, however often they are repeated."""
    sizes: list[int] = []

    def files(data: dict[str, bytes]) -> Files:
        sizes.append(len(data["formula.tex"]))
        return Files(data)

    monkeypatch.setattr(tex_math, "Files", files)
    math = TexMath()
    preamble = "".join(rf"\newcommand{{\m{a}{b}}}{{x}}" for a in "abcdef" for b in "abcdef")
    for _ in range(50):
        assert math.inline(preamble + r"\maa") == "x"
    assert max(sizes) < 100
