"""Macros of formulas in other formats: which definitions hold, at which cost."""

from itertools import pairwise

import pytest

from eqemb.readers import tex_math
from eqemb.readers.latex.budget import Work
from eqemb.readers.latex.expand import Expanded, expand
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


@pytest.mark.parametrize(
    ("definitions", "use"),
    [
        (
            r"\def\a{\b\b}\def\b{\c\c}\def\c{\d\d}\def\d{\e\e}\def\e{" + r"\f" * 99 + r"}\def\f{}",
            r"\a",
        ),
        (rf"\newcommand\a[1]{{{'#1' * 40}}}", r"\a{\a{\a{x}}}"),
        (rf"\def\a{{\b}}\def\b{{{'x' * 99_999}}}", r"\a"),
    ],
    ids=["many expansions", "long arguments", "long output"],
)
def test_all_formulas_of_a_document_share_the_cost_of_its_macros(
    definitions: str, use: str
) -> None:
    """A short formula may cost much, but not each of thousands."""
    math = TexMath()
    first = math.inline(definitions + use)
    assert use not in first
    assert not math.leaves_macros
    made = [math.inline(use) for _ in range(1_000)]
    assert math.leaves_macros
    assert made[-1] == use
    assert sum(map(len, made)) < 2_000_000


def test_a_formula_whose_macros_cost_too_much_is_left_as_it_is() -> None:
    """It is not cut off; other formulas are expanded."""
    math = TexMath()
    doubling = "".join(rf"\def\{a}{{\{b}\{b}}}" for a, b in pairwise("abcdefghijklm"))
    assert math.inline(doubling + r"y + \a + z") == r"y + \a + z"
    assert math.leaves_macros
    assert math.inline(r"\l") == r"\m\m"


def test_formulas_that_are_left_as_they_are_count_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was expanded in vain was paid for: only some of a thousand formulas are tried."""
    tried: list[str] = []

    def counted(files: Files, name: str, work: Work) -> Expanded:
        tried.append(name)
        return expand(files, name, work)

    monkeypatch.setattr(tex_math, "expand", counted)
    math = TexMath()
    doubling = "".join(rf"\def\{a}{{\{b}\{b}}}" for a, b in pairwise("abcdefghijklm"))
    formulas = [math.inline(latex) for latex in [doubling, *[r"\a"] * 1_000, r"\l"]]
    assert formulas[1:] == [r"\a"] * 1_000 + [r"\l"]
    assert len(tried) < 50
