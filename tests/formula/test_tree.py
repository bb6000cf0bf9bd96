"""Units, bracket strings, canonical form and renaming."""

import inspect
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqemb.formula import Layout, layout, picture
from eqemb.formula.layout import Ends
from eqemb.formula.tree import Node, Unit, from_slt, plain_tag, to_slt, type_tag, walk


def test_units_are_the_edges_in_tangents_order() -> None:
    """Above, over, before; then the neighbour; then below, under, cells, within."""
    assert layout("x_i^2+y").units() == [
        ("V!x", "N!2", "a"),
        ("V!x", "+", "n"),
        ("+", "V!y", "n"),
        ("V!x", "V!i", "b"),
    ]


def test_window_one_has_a_unit_less_than_symbols() -> None:
    """Every symbol but the first is on one edge."""
    made = layout(r"\frac{a+b}{c} = \sqrt{(x,y)}")
    assert len(made.units()) == len(made.nodes()) - 1


def test_wider_windows_join_symbols_further_apart() -> None:
    """The unit has the path between them."""
    assert layout("x^2+y").units(window=2) == [
        ("V!x", "N!2", "a"),
        ("V!x", "+", "n"),
        ("V!x", "V!y", "nn"),
        ("+", "V!y", "n"),
    ]


def test_window_zero_reaches_every_descendant_and_shortens_paths() -> None:
    """Paths of more than five edges are run-length encoded."""
    units = layout("abcdefg").units(window=0)
    assert len(units) == 21
    assert ("V!a", "V!f", "nnnnn") in units
    assert ("V!a", "V!g", "6n") in units


@pytest.mark.parametrize(
    ("ends", "units"),
    [
        ("none", []),
        ("needed", [("V!x", "0!", "n")]),
        ("all", [("V!x", "0!", "n")]),
    ],
)
def test_a_single_symbol_has_an_end_of_baseline_where_needed(ends: Ends, units: list[Unit]) -> None:
    """So that no equation is without units."""
    assert layout("x").units(end_of_baseline=ends) == units


def test_ends_of_all_baselines_follow_their_subtrees() -> None:
    """As Tangent emits them."""
    assert layout("x^2y").units(end_of_baseline="all") == [
        ("V!x", "N!2", "a"),
        ("N!2", "0!", "n"),
        ("V!x", "V!y", "n"),
        ("V!y", "0!", "n"),
    ]


def test_ends_are_left_out_where_an_equation_has_units() -> None:
    """The default adds nothing to ordinary equations."""
    assert layout("xy").units() == [("V!x", "V!y", "n")]


def test_type_mode_keeps_only_kinds() -> None:
    """Operators are their own kind."""
    assert layout("x+1").units(mode="type") == [("V!", "+", "n"), ("+", "N!", "n")]


def test_both_modes_together() -> None:
    """Values first, then kinds."""
    made = layout("x+1")
    assert made.units(mode="both") == made.units() + made.units(mode="type")


def test_renaming_makes_the_same_shape_the_same() -> None:
    """Names such as cos are kept; one-letter variables are numbered."""
    first = layout(r"\cos(x,y) = \frac{x \cdot y}{\|x\| \|y\|}")
    second = layout(r"\cos(u,v) = \frac{u \cdot v}{\|u\| \|v\|}")
    other = layout(r"\cos(u,v) = \frac{u \cdot u}{\|u\| \|v\|}")
    assert first.units(rename=True) == second.units(rename=True)
    assert first.units(rename=True) != other.units(rename=True)
    assert first.units() != second.units()
    assert ("V!cos", "M!()1x2", "n") in first.units(rename=True)


def test_renaming_leaves_constants_alone() -> None:
    """Pi and infinity have a fixed meaning."""
    assert layout(r"\pi\infty").units(rename=True) == [("V!π", "V!∞", "n")]


def test_alphabets_can_be_dropped() -> None:
    """Then bold x is x."""
    assert layout(r"\mathbf{x}\mathbb{R}").units(alphabets=False) == [("V!x", "V!R", "n")]
    renamed = layout(r"\mathbf{x}x").units(rename=True, alphabets=False)
    assert renamed == [("V!#1", "V!#1", "n")]


@pytest.mark.parametrize(
    ("tag", "kind"),
    [("V!x", "V!"), ("N!3.14", "N!"), ("M!()1x2", "M!"), ("=", "="), ("?a", "?"), ("lim", "lim")],
)
def test_a_type_is_a_tag_cut_after_its_mark(tag: str, kind: str) -> None:
    """The kind of each sort of tag."""
    assert type_tag(tag) == kind


@pytest.mark.parametrize(
    ("tag", "plain"),
    [("V!𝐄", "V!E"), ("V!ℝ", "V!R"), ("V!𝜽", "V!θ"), ("N!𝟏", "N!1"), ("V!ℓ", "V!ℓ")],
)
def test_a_plain_tag_has_no_alphabet(tag: str, plain: str) -> None:
    """Letters that belong to no alphabet are unchanged."""
    assert plain_tag(tag) == plain


@pytest.mark.parametrize(
    "text",
    [
        "[V!x]",
        "[V!x[+[V!y[=[N!0]]]],a[N!2]]",
        "[O!divide,o[V!a],u[V!b,b[N!1]]]",
        "[V!X,a[V!d],b[V!c],c[V!b],d[V!a]]",
        "[M!()1x2,w[V!x[&comma;],e[V!y]]]",
    ],
)
def test_bracket_strings_are_read_and_written(text: str) -> None:
    """What is read is written back."""
    assert Layout.from_slt(text).to_slt() == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "V!x",
        "[V!x",
        "[V!x]]",
        "[V!x][V!y]",
        "[V!x,a]",
        "[V!x,z[V!y]]",
        "[V!x,a[N!1],a[N!2]]",
        "[a,b]",
    ],
)
def test_malformed_bracket_strings_are_refused_with_the_place(text: str) -> None:
    """The message shows where."""
    with pytest.raises(ValueError, match=r"tree string|two children"):
        Layout.from_slt(text)


def test_a_bracket_string_of_any_depth_is_read() -> None:
    """No recursion in reading, walking or writing."""
    text = "[a" + ",w[a" * 50_000 + "]" * 50_001
    made = Layout.from_slt(text)
    assert made.to_slt() == text
    assert len(made.units()) == 50_000
    assert made.to_mathml()
    assert made.to_text()


@st.composite
def trees(draw: st.DrawFn) -> Node:
    """Any small tree."""
    nodes = [Node(draw(st.sampled_from(["V!x", "N!1", "+", "M!()1x1", "O!divide"])))]
    for _ in range(draw(st.integers(0, 12))):
        parent = draw(st.sampled_from(nodes))
        edge = draw(st.sampled_from("nabouwecd"))
        if parent.get(edge) is None:
            child = Node(draw(st.sampled_from(["V!y", "N!2", "=", "&comma;"])))
            parent.put(edge, child)
            nodes.append(child)
    return nodes[0]


@given(trees())
def test_every_tree_survives_its_bracket_string(root: Node) -> None:
    """Writing and reading is the identity."""
    assert to_slt(from_slt(to_slt(root))) == to_slt(root)


@given(trees())
def test_every_edge_is_a_unit(root: Node) -> None:
    """Both implementations of window 1 agree, and count the edges."""
    made = Layout(root)
    units = made.units(1, "none")
    assert len(units) == sum(1 for _ in walk(root)) - 1
    assert units == made.units(2, "none") or len(units) < len(made.units(2, "none"))


@given(trees())
def test_every_tree_can_be_shown(root: Node) -> None:
    """MathML, text and picture never fail."""
    made = Layout(root)
    assert made.to_mathml()
    assert isinstance(made.to_text(), str)
    assert len(picture(made).splitlines()) == len(made.nodes())


def test_the_canonical_form_drops_closing_punctuation_only() -> None:
    """A comma inside stays."""
    assert layout("a, b,").canonical() == "[V!a[&comma;[V!b]]]"
    exact = layout("a.", tangent_exact=True)
    assert exact.to_slt() == "[V!a[.]]"
    assert exact.canonical() == "[V!a]"
    assert layout("a.").punctuation == "."


def _imports(file: Path) -> list[str]:
    text = file.read_text("utf8")
    return re.findall(r"^from ([\w.]+) import", text, re.MULTILINE) + re.findall(
        r"^import ([\w.]+)", text, re.MULTILINE
    )


def test_nothing_of_ours_is_imported_but_the_package() -> None:
    """Trees need neither NumPy nor, apart from the data model of articles, the rest of eqemb."""
    folder = Path(inspect.getfile(Layout)).parent
    for file in folder.glob("*.py"):
        for name in _imports(file):
            root = name.split(".")[0]
            is_ours = name.startswith(("eqemb.formula", "eqemb.article"))
            assert is_ours or root in sys.stdlib_module_names, (file, name)


def test_equal_equations_are_equal_layouts() -> None:
    """They have the same hash, so that sets hold types."""
    assert layout(r"x^2_i") == layout("x_{i}^{2} .")
    assert len({layout("x"), layout("{x}"), layout("y")}) == 2
    assert layout("x") != "x"


def test_repr_shows_the_equation() -> None:
    """Short, with the number of symbols and of problems."""
    assert repr(layout(r"\frac{a}{b_1}")) == "<Layout a/b₁ (4 symbols)>"
    assert "1 problems" in repr(layout("{a"))
    assert len(repr(layout("abcdef" * 50))) < 90


def test_notebooks_show_mathml_and_latex() -> None:
    """Both representations that Jupyter asks for."""
    made = layout("x")
    assert made._repr_html_().startswith("<math")
    assert made._repr_latex_() == "$\\displaystyle x$"
    assert Layout.from_slt("[V!x]")._repr_latex_() is None
