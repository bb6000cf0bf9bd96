"""One thing over another, or beside it."""

import pytest

from eqemb.formula import Layout, layout


@pytest.mark.parametrize(
    ("latex", "tree"),
    [
        (r"\frac{a}{b}", "[O!divide,o[V!a],u[V!b]]"),
        (r"\frac12", "[O!divide,o[N!1],u[N!2]]"),
        (r"\dfrac a b", "[O!divide,o[V!a],u[V!b]]"),
        (r"{a+b \over c}", "[O!divide,o[V!a[+[V!b]]],u[V!c]]"),
        (r"{n \choose k}", "[M!()1x1,w[O!atop,o[V!n],u[V!k]]]"),
        (r"\binom{n}{k}", "[M!()1x1,w[O!atop,o[V!n],u[V!k]]]"),
        (r"{a \atop b}", "[O!atop,o[V!a],u[V!b]]"),
        (r"\genfrac{[}{]}{0pt}{}{n}{k}", "[M!&lsqb;&rsqb;1x1,w[O!atop,o[V!n],u[V!k]]]"),
        (r"{\rm d y \over \rm d x}", "[O!divide,o[V!dy],u[V!dx]]"),
        (r"\sqrt{x}", "[O!root,w[V!x]]"),
        (r"\sqrt x y", "[O!root[V!y],w[V!x]]"),
        (r"\sqrt[3]{x}", "[O!root,c[N!3],w[V!x]]"),
        (r"\root 3 \of x", "[O!root,c[N!3],w[V!x]]"),
        (r"\genfrac{}{}{1pt}{}{a}{b}", "[O!divide,o[V!a],u[V!b]]"),
        (r"{a \brack b}", "[M!&lsqb;&rsqb;1x1,w[O!atop,o[V!a],u[V!b]]]"),
        (r"\left(\frac nk\right)", "[M!()1x1,w[O!divide,o[V!n],u[V!k]]]"),
        (r"\pdv{f}{x}", "[O!divide,o[∂[V!f]],u[∂[V!x]]]"),
        (r"\pdv[2]{f}{x}", "[O!divide,o[∂[V!f],o[N!2]],u[∂[V!x,a[N!2]]]]"),
        (r"\dv{x}", "[O!divide,o[V!d],u[V!d[V!x]]]"),
    ],
)
def test_fractions_and_roots(latex: str, tree: str) -> None:
    """Every way to write a fraction gives one node."""
    assert layout(latex).to_slt() == tree


def test_a_binomial_is_no_fraction_in_parentheses() -> None:
    """They are two types with different units; however it is written, a binomial is one type."""
    binomial, fraction = layout(r"\binom nk"), layout(r"\left(\frac nk\right)")
    assert binomial.canonical() != fraction.canonical()
    assert binomial == layout(r"{n \choose k}") == layout(r"\left({n \atop k}\right)")
    assert ("O!atop", "V!n", "o") in binomial.units()
    assert binomial == Layout.from_mathml(binomial.to_mathml())


@pytest.mark.parametrize(
    ("latex", "tree"),
    [
        (r"\hat x", "[V!x,o[^]]"),
        (r"\hat{x}_i", "[V!x,b[V!i],o[^]]"),
        (r"\overline{a+b}", "[M!1x1,o[¯],w[V!a[+[V!b]]]]"),
        (r"\bar{\hat x}", "[M!1x1,o[¯],w[V!x,o[^]]]"),
        (r"\underbrace{a+b}_{c}", "[M!1x1,u[V!c],w[M!1x1,u[⏟],w[V!a[+[V!b]]]]]"),
        (r"\underbrace{a}", "[V!a,u[⏟]]"),
        (r"\overset{a}{=}", "[=,o[V!a]]"),
        (r"\stackrel{a}{=}", "[=,o[V!a]]"),
        (r"\underset{x}{y}", "[V!y,u[V!x]]"),
        (r"\underset{x}{\arg\min}", "[V!arg[V!min,u[V!x]]]"),
        (r"a \xrightarrow[n]{p} b", "[V!a[→[V!b],o[V!p],u[V!n]]]"),
        (r"\overbracket[1pt]{x}", "[V!x,o[⎴]]"),
        (r"\buildrel a \over =", "[=,o[V!a]]"),
        (r"\stackon[1pt]{=}{\Delta}", "[=,o[V!Δ]]"),
        (r"\accentset{\circ}{x}", "[V!x,o[∘]]"),
        (r"\overunderset{a}{b}{=}", "[=,o[V!a],u[V!b]]"),
        (r"\underoverset{a}{b}{=}", "[=,o[V!b],u[V!a]]"),
        (r"\sideset{_a^b}{'}\sum_i", "[∑,a[′],c[V!b],d[V!a],u[V!i]]"),
        (r"\prescript{a}{b}{X}", "[V!X,c[V!a],d[V!b]]"),
        (r"\overbrace{a+b}^{c}", "[M!1x1,o[V!c],w[M!1x1,o[⏞],w[V!a[+[V!b]]]]]"),
        (r"\Tilde{x}", "[V!x,o[~]]"),
        (r"\xleftrightarrow{a}", "[↔,o[V!a]]"),
        (r"\vec{x}\cdot\dot{y}", "[V!x[⋅[V!y,o[˙]]],o[→]]"),
    ],
)
def test_accents_and_stacks(latex: str, tree: str) -> None:
    """Accents and stacked rows are attached; a base whose edge is taken is wrapped."""
    assert layout(latex).to_slt() == tree
