"""Normal form: what is written in different ways is the same, and what differs stays different."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqemb.formula import Layout, layout
from eqemb.formula.normal_form import MAX_NORMAL_SYMBOLS, normal_form

PAIRS = tomllib.loads(
    (Path(__file__).parents[2] / "benchmarks" / "written_pairs.toml").read_text("utf-8")
)

_ATOMS = (
    "a b c d e i n t x y A B T X \\alpha \\pi 1 2 .5 \\mathbf{x} \\vec{y} \\dot{q} \\partial"
    " \\nabla \\log \\exp \\sin \\max \\arg \\sum \\int \\text{tf} \\text{if} \\mathrm{PMI} \\prime"
    " \\ldots \\cdots \\mathbb{R} \\top !"
).split()
_SIGNS = "+ - = < > \\geq \\cdot \\times * / , ; | : \\mid \\in := \\pm \\cup \\to \\approx".split()


def _formulas() -> st.SearchStrategy[str]:
    """LaTeX of any shape: sums, products, scripts, fractions, roots, fences of every kind."""
    atoms = st.sampled_from(_ATOMS)

    def larger(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        parts = st.lists(st.one_of(part, st.sampled_from(_SIGNS)), min_size=1, max_size=6)
        row = parts.map(" ".join)
        return st.one_of(
            row,
            st.builds("{{{}}}_{{{}}}".format, part, row),
            st.builds("{{{}}}^{{{}}}".format, part, row),
            st.builds("\\frac{{{}}}{{{}}}".format, row, row),
            st.builds("\\sqrt{{{}}}".format, row),
            st.builds("({})".format, row),
            st.builds("[{}]".format, row),
            st.builds("\\{{{}\\}}".format, row),
            st.builds("\\|{}\\|".format, row),
            st.builds("{}({})".format, part, row),
        )

    return st.recursive(atoms, larger, max_leaves=14)


def _trees() -> st.SearchStrategy[str]:
    """Bracket strings of any tree, also of those that no formula has."""
    tags = st.sampled_from(
        "V!x V!d V!T V!log V!exp V!𝐱 N!1 N!2 O!divide O!root M!()1x1 M!{}1x2 M!2x2 + −"
        " M!&lsqb;&rsqb;1x1 = > / ⋅ * ∂ ∇ ∑ ′ → ˙ ! T!tf T!if W! | &comma; V!arg V!max V!e".split()
    )

    def larger(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        edges = st.dictionaries(st.sampled_from("abcdeouw"), part, max_size=3)
        return st.builds(
            lambda tag, after, kids: (
                f"[{tag}{after}" + "".join(f",{edge}{kid}" for edge, kid in kids.items()) + "]"
            ),
            tags,
            st.one_of(st.just(""), part),
            edges,
        )

    return st.recursive(tags.map("[{}]".format), larger, max_leaves=12)


@pytest.mark.parametrize(("one", "two"), PAIRS["same"])
def test_two_ways_of_writing_have_one_normal_form(one: str, two: str) -> None:
    """Each pair of equations that are the same has one normal form."""
    assert normal_form(layout(one)) == normal_form(layout(two))


@pytest.mark.parametrize(("one", "two"), PAIRS["different"])
def test_different_equations_stay_different(one: str, two: str) -> None:
    """Equations that only look alike keep two normal forms."""
    assert normal_form(layout(one)) != normal_form(layout(two))


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        ("c - a + b", "b + c − a"),
        ("b / a", "b/a"),
        ("\\exp(2 x)", "e²ˣ"),
        ("softmax(x)", "softmax(x)"),
        ("\\log(p q)", "log pq"),
        ("\\frac{1}{2} x", "x/2"),
        ("D_{KL}", "D_(KL)"),
        ("\\int f \\mathrm{dx}", "∫fdx"),
    ],
)
def test_a_normal_form_reads_as_mathematics(latex: str, expected: str) -> None:
    """The normal form is an equation that can be printed."""
    assert normal_form(layout(latex)).to_text() == expected


@given(_formulas())
def test_the_normal_form_of_a_normal_form_is_the_same(latex: str) -> None:
    """Normalising twice is normalising once."""
    once = normal_form(layout(latex))
    assert normal_form(once).to_slt() == once.to_slt()


@given(_trees())
def test_every_tree_has_a_normal_form(slt: str) -> None:
    """No tree makes it fail, and a second time changes nothing."""
    once = normal_form(Layout.from_slt(slt))
    assert normal_form(once).to_slt() == once.to_slt()


@given(st.permutations(["a", "b_i", "\\frac{c}{2}", "x y", "\\log p", "f(t)"]))
def test_the_order_of_a_sum_has_no_effect(terms: list[str]) -> None:
    """Terms may come in any order."""
    expected = normal_form(layout("a + b_i + \\frac{c}{2} + x y + \\log p + f(t)"))
    assert normal_form(layout(" + ".join(terms))) == expected


@given(st.permutations(["a", "b_i", "(c + 1)", "3", "g(t)", "x^2"]))
def test_the_order_of_a_product_has_no_effect(factors: list[str]) -> None:
    """Factors may come in any order, if signs tell them apart."""
    expected = normal_form(layout("(c + 1) \\cdot 3 \\cdot a \\cdot b_i \\cdot g(t) \\cdot x^2"))
    made = normal_form(layout(" \\cdot ".join(sorted(factors, key=lambda one: one[0] != "("))))
    assert made == expected


@pytest.mark.parametrize("depth", [1_900, 50_000])
def test_a_deep_tree_has_a_normal_form(depth: int) -> None:
    """Depth does not matter: nothing recurses, whether the tree is normalised or too large."""
    assert 1_900 < MAX_NORMAL_SYMBOLS < 50_000
    slt = "[V!x,a" * depth + "[V!y]" + "]" * depth
    assert len(normal_form(Layout.from_slt(slt)).nodes()) == depth + 1


def test_a_tree_that_no_formula_has_is_its_own_normal_form() -> None:
    """Only the first symbol of a cell leads to the next cell."""
    slt = "[V!log[V!exp[V!x],e[V!x]]]"
    assert normal_form(Layout.from_slt(slt)).to_slt() == slt


def test_an_empty_equation_is_its_own_normal_form() -> None:
    """Nothing stays nothing."""
    assert normal_form(Layout(None)).root is None


def test_normal_forms_do_not_depend_on_equations_before() -> None:
    """A script of a script is not taken for a second script that was read before."""
    for latex, normal in (
        ("y x^a_b", "[V!y[V!x,a[V!a],b[V!b]]]"),
        ("y x^{a_b}", "[V!y[V!x,a[V!a,b[V!b]]]]"),
    ):
        assert normal_form(layout(latex)).to_slt() == normal
