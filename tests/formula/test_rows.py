"""Fences: a fenced group is one node, and separators stay on the baseline."""

import pytest

from eqemb.formula import layout


@pytest.mark.parametrize(
    ("latex", "tree"),
    [
        ("f(x)", "[V!f[M!()1x1,w[V!x]]]"),
        ("f(x,y)", "[V!f[M!()1x2,w[V!x[&comma;],e[V!y]]]]"),
        (r"f\left(x\right)", "[V!f[M!()1x1,w[V!x]]]"),
        (r"f\bigl(x\bigr)", "[V!f[M!()1x1,w[V!x]]]"),
        (r"f\Big(x\Big)", "[V!f[M!()1x1,w[V!x]]]"),
        ("[0,1)", "[M!&lsqb;)1x2,w[N!0[&comma;],e[N!1]]]"),
        ("(a(b)c)", "[M!()1x1,w[V!a[M!()1x1[V!c],w[V!b]]]]"),
        (r"\{x\}", "[M!{}1x1,w[V!x]]"),
        (r"\lfloor x \rfloor", "[M!⌊⌋1x1,w[V!x]]"),
        (r"\lceil x \rceil", "[M!⌈⌉1x1,w[V!x]]"),
        (r"\langle x, y \rangle", "[M!⟨⟩1x2,w[V!x[&comma;],e[V!y]]]"),
        (r"\left] a \right[", "[M!&rsqb;&lsqb;1x1,w[V!a]]"),
        ("f()", "[V!f[([)]]]"),
        ("(a", "[([V!a]]"),
        ("a)", "[V!a[)]]"),
        ("(a]", "[M!(&rsqb;1x1,w[V!a]]"),
        (r"(\{a)", "[M!()1x1,w[{[V!a]]]"),
        (r"\left\{ a \right.", "[{[V!a]]"),
        (r"\left. a \right|_0", "[V!a[|,u[N!0]]]"),
        (r"\left.5a\right)", "[N!5[V!a[)]]]"),
        (r"\left.\frac{a}{b}\right|", "[O!divide[|],o[V!a],u[V!b]]"),
        (r"\left< a \right>", "[M!⟨⟩1x1,w[V!a]]"),
        (r"\left( a \middle| b \right)", "[M!()1x1,w[V!a[|[V!b]]]]"),
        (r"\llbracket a \rrbracket", "[M!⟦⟧1x1,w[V!a]]"),
        (r"]a,b[", "[&rsqb;[V!a[&comma;[V!b[&lsqb;]]]]]"),
        (r"\bra{x}\ket{y}", "[M!⟨|1x1[M!|⟩1x1,w[V!y]],w[V!x]]"),
        (r"\norm{x}", "[M!‖‖1x1,w[V!x]]"),
    ],
)
def test_brackets_group_what_they_hold(latex: str, tree: str) -> None:
    """However written, matched or half open; unmatched brackets are operators."""
    assert layout(latex).to_slt() == tree


@pytest.mark.parametrize(
    ("latex", "tree"),
    [
        ("|x|", "[M!||1x1,w[V!x]]"),
        ("|x|^2", "[M!||1x1,a[N!2],w[V!x]]"),
        ("2|x|", "[N!2[M!||1x1,w[V!x]]]"),
        (r"\lambda|x|y", "[V!λ[M!||1x1[V!y],w[V!x]]]"),
        ("|a||b|", "[M!||1x1[M!||1x1,w[V!b]],w[V!a]]"),
        (r"\log|x|", "[V!log[M!||1x1,w[V!x]]]"),
        (r"\frac{1}{|\mathrm{set}|}", "[O!divide,o[N!1],u[M!||1x1,w[V!set]]]"),
        (r"\lvert x \rvert", "[M!||1x1,w[V!x]]"),
        (r"\|x\|_2", "[M!‖‖1x1,b[N!2],w[V!x]]"),
        (r"\lVert x \rVert", "[M!‖‖1x1,w[V!x]]"),
        (r"a\lvert\lvert x\rvert\rvert", "[V!a[M!||1x1,w[M!||1x1,w[V!x]]]]"),
        (r"\|\cdot\|_2", "[M!‖‖1x1,b[N!2],w[⋅]]"),
        (r"|\nabla|", "[M!||1x1,w[∇]]"),
        (r"3\|a-b\|^2", "[N!3[M!‖‖1x1,a[N!2],w[V!a[−[V!b]]]]]"),
        (r"\lvert -\rvert", "[M!||1x1,w[−]]"),
        (r"\left\lVert x \right\rVert", "[M!‖‖1x1,w[V!x]]"),
        ("||x||", "[M!‖‖1x1,w[V!x]]"),
        (r"|\!|x|\!|", "[M!‖‖1x1,w[V!x]]"),
        (r"\big|\big|x\big|\big|", "[M!‖‖1x1,w[V!x]]"),
        (r"\lambda\|x\|", "[V!λ[M!‖‖1x1,w[V!x]]]"),
    ],
)
def test_bars_that_embrace_are_fences(latex: str, tree: str) -> None:
    """Absolute values and norms, however the bars are written."""
    assert layout(latex).to_slt() == tree


@pytest.mark.parametrize(
    ("latex", "tree"),
    [
        ("p(x|y)", "[V!p[M!()1x1,w[V!x[|[V!y]]]]]"),
        (r"p(x\mid y)", "[V!p[M!()1x1,w[V!x[|[V!y]]]]]"),
        ("p(x|y)p(z|w)", "[V!p[M!()1x1[V!p[M!()1x1,w[V!z[|[V!w]]]]],w[V!x[|[V!y]]]]]"),
        (r"\{x : |x|<1\}", "[M!{}1x1,w[V!x[:[M!||1x1[<[N!1]],w[V!x]]]]]"),
        ("D(p||q)", "[V!D[M!()1x1,w[V!p[‖[V!q]]]]]"),
        (r"D(p\|q)", "[V!D[M!()1x1,w[V!p[‖[V!q]]]]]"),
        (r"a \parallel b", "[V!a[‖[V!b]]]"),
        (r"\langle a|H|b\rangle", "[M!⟨⟩1x1,w[V!a[|[V!H[|[V!b]]]]]]"),
        ("a|b=c|d", "[V!a[|[V!b[=[V!c[|[V!d]]]]]]]"),
    ],
)
def test_bars_that_separate_stay_on_the_baseline(latex: str, tree: str) -> None:
    """Conditional probabilities, divergences and bra-kets."""
    assert layout(latex).to_slt() == tree


def test_a_script_on_a_closing_fence_belongs_to_the_group() -> None:
    """TeX sets it on the fence, but it applies to the group."""
    assert layout("(a+b)_i^2").to_slt() == "[M!()1x1,a[N!2],b[V!i],w[V!a[+[V!b]]]]"


def test_an_accent_on_an_opening_fence_is_not_lost() -> None:
    """An author's operator written as an accent on a bracket."""
    assert layout(r"\vec(M)").to_slt() == "[M!()1x1,o[→],w[V!M]]"


def test_many_bars_are_paired_in_linear_time() -> None:
    """Thousands of unmatched bars on one level."""
    assert len(layout("a|b" * 5000).units()) > 9000
