"""The tree as LaTeX: it reads back as the same tree, and people can read and paste it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqemb.formula import Layout, layout, mathml_to_latex
from eqemb.formula.write_latex import to_latex


def written(latex: str) -> str:
    """A formula, read and written."""
    return to_latex(layout(latex).root)


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        (r"x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}",) * 2,
        (r"\lvert x\rvert = \begin{cases} x & \text{if }x \ge 0 \\ -x & \text{else} \end{cases}",)
        * 2,
        (r"\underbrace{1 + \cdots + 1}_{n\text{ times}} = n",) * 2,
        (r"p(x|y)", r"p(x \mid y)"),
        (r"\|u+v\|_2", r"\lVert u + v\rVert_2"),
        (r"\left(\frac{a}{b}\right)^n", r"\left(\frac{a}{b}\right)^n"),
        (r"(\frac ab)", r"\left(\frac{a}{b}\right)"),
        (r"\Bigl( x \Bigr)", r"\Bigl(x\Bigr)"),
        (r"\binom nk", r"\binom{n}{k}"),
        (r"{a \atop b}", r"{\genfrac{}{}{0pt}{}{a}{b}}"),
        (r"\overline{x_i}+\bar x_i", r"\overline{x_i} + \bar{x}_i"),
        (r"f''^2_i(x)", r"f''^2_i(x)"),
        (r"{}_2F_1(a,b;c;z)", r"{}_2F_1(a, b ; c ; z)"),
        (r"\operatorname*{softmax}_x \mathrm{foo}_x", r"\operatorname*{softmax}_x\mathrm{foo}_x"),
        (r"\operatorname{tr}(\mathbf{A})", r"\operatorname{tr}(\mathbf{A})"),
        (r"\sum_{i=1}^n\sin x", r"\sum_{i=1}^n\sin x"),
        (r"x &= a \\ &= b", r"\begin{aligned} x & = a \\ & = b \end{aligned}"),
        (r"\begin{pmatrix}a&b\\c&d\end{pmatrix}^T", None),
        (r"\sum_{\substack{i<j\\j<n}} a", r"\sum_{\substack{i<j \\ j<n}}a"),
        (r"\varepsilon \boldsymbol{\varphi}", r"\varepsilon\boldsymbol{\varphi}"),
        (r"\mathrm{d}x\,\mathcal{L}\quad y", r"\mathrm{d}x\,\mathcal{L}\quad y"),
        (r"a \xrightarrow[n]{p} b", r"a \xrightarrow[{n}]{p} b"),
        (r"\text{50\% \& {more} \#1 a\_b}", r"\text{50\% \& more \#1 a\_b}"),
        (r"\sqrt[3]{x}", r"\sqrt[{3}]{x}"),
        (r"\not\in \not a", r"\notin \not a"),
        (r"f|_{x=0}", r"f\left.\right|_{x=0}"),
        (r"]0,1[", r"\left.\right]0, 1\left[\right."),
        (r"f()", "f()"),
    ],
)
def test_people_can_read_it(latex: str, expected: str | None) -> None:
    """The commands that an author would use."""
    if expected is not None:
        assert written(latex) == expected
    assert layout(written(latex)) == layout(latex)


@pytest.mark.parametrize(
    "latex",
    [
        r"{ab}^2",
        r"{x^2}^3_4",
        r"\tilde{{x^2}^3}",
        r"\hat{\vec{V}}^T_i",
        r"\underbrace{\hat{\vec V}^T}_{N}",
        r"\overbrace{a+b}^n_k",
        r"\prescript{a}{b}{(x)}_c",
        r"x_i \prescript{a}{b}{Y}",
        r"\sideset{_a^b}{'}\sum_i^n",
        r"\overset{a}{\underset{b}{=}}",
        r"\overset{!}{x}^2 \overset{a}{bc}",
        r"\langle x | y \rangle \left| \psi \right\rangle \left. a \right\}",
        r"\begin{matrix} [a] & b \\ [2] & *c \end{matrix}",
        r"\begin{array}{c} a \\ b \\ \end{array}",
        r"\left\langle\begin{matrix}a\\b\end{matrix}\right\rangle",
        r"a \\ [b] \\ * c",
        r"1 2.5 .5 . 5 \dots ... 1 . 2",
        r"\mathbf{12ab} \mathbb{1} \mathsf{word} \mathfrak{g} \mathbfcal{A}",
        r"\operatorname{p-value} \mathrm{CO2} \operatorname{\alpha 1}",
        r"\text{a ``quote'' b'' \^{} \~{} \backslash} \text{x}",
        r"\lim_{x\to 0} \limsup_n \underset{x}{\arg\max} \overline{\lim}_n",
        r"\left(\begin{aligned} a &= b \\ c &= d \end{aligned}\right)",
        r"\sqrt[n]{[a]} \frac{}{a} \frac{a}{b}^2_3",
        r"x' '' f'_i \sum'_i {ab}'^2 x^{\prime 2} \prime",
        r"\qvar{a} + \qvar{b}",
        r"A := B =: C ::= D \mod n \pmod n",
        r"( [ a ) ] ( | b \| c",
        r"(a, b,) (,) [0,1) \{ x \mid y, z \}",
    ],
)
def test_what_lies_in_corners_reads_back(latex: str) -> None:
    """Scripts of scripts, fences without partner, cells that look like options."""
    made = layout(written(latex))
    assert made.canonical() == layout(latex).canonical()
    assert made.units() == layout(latex).units()


SYMBOL = st.sampled_from([
    *"abcxyz012+-=<>()[]|,.;:!/", r"\alpha ", r"\sum ", r"\log ", r"\max ", r"\lim ", r"\int ",
    r"\{", r"\}", r"\|", r"\langle ", r"\rangle ", r"\mid ", r"\lvert ", r"\rvert ", r"\nabla ",
    r"\mathbf{x}", r"\mathrm{word}", r"\operatorname*{arg\,max}", r"\text{ if }", "1.5", r"\dots ",
    r"\varepsilon ", r"\quad x", "{}x", r"\prime ", r"\to ",
])  # fmt: skip
PIECES = st.recursive(
    SYMBOL,
    lambda inner: st.builds(
        lambda shape, parts: shape % tuple((parts * 3)[: shape.count("%s")]),
        st.sampled_from([
            r"\frac{%s}{%s}", "x^{%s}", "x_{%s}^{%s}", "{%s}^{%s}", r"\left(%s\right]", r"\hat{%s}",
            r"\sqrt[%s]{%s}", r"\overline{%s}", r"\underbrace{%s}_{%s}", r"\overset{%s}{%s}",
            r"\begin{pmatrix}%s&%s\\%s\end{pmatrix}", r"\begin{cases}%s&%s\\%s\end{cases}", "%s%s",
            r"\binom{%s}{%s}", "{}_{%s}X", "%s'", r"\underset{%s}{%s}", r"\sum_{%s}^{%s}",
            "%s_{%s}", "(%s)",
            r"\prescript{%s}{}{%s}", r"\big|%s\big|", r"\left.%s\right|_{%s}", r"|%s|", r"\|%s\|",
            r"\mathbf{%s}", r"\xrightarrow{%s}", r"\substack{%s\\%s}", r"\not{%s}", "%s %s %s",
        ]),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=12,
)  # fmt: skip
FORMULAS = st.lists(st.tuples(PIECES, st.sampled_from(["", "&", r"\\", r"\\&"])), max_size=3).map(
    lambda cells: "".join(cell + mark for cell, mark in cells)
)


@given(FORMULAS)
def test_any_formula_reads_back(latex: str) -> None:
    """Whatever is nested in what."""
    made = layout(latex)
    # Errors, and scripts of nothing, which belong to whatever comes next.
    if made.problems or any(node.tag[:2] in ("E!", "W!") for node in made.nodes()):
        return
    again = layout(to_latex(made.root))
    assert again.canonical() == made.canonical()
    assert again.units() == made.units()


@given(FORMULAS)
def test_latex_of_mathml_reads_as_the_tree_of_the_mathml(latex: str) -> None:
    """Our own MathML, read, written as LaTeX and read again."""
    made = Layout.from_mathml(layout(latex).to_mathml())
    if any(node.tag[:2] in ("E!", "W!") for node in made.nodes()):
        return
    assert layout(made.latex) == made


def test_mathml_becomes_latex() -> None:
    """With the punctuation at its end."""
    source = "<math><msup><mi>x</mi><mn>2</mn></msup><mo>=</mo><mi>y</mi><mo>.</mo></math>"
    assert mathml_to_latex(source) == "x^2 = y."
    assert Layout.from_mathml(source).latex == "x^2 = y."


@pytest.mark.parametrize("source", ["", "no formula", "<math></math>", "<math><mi>x</math>"])
def test_mathml_without_a_formula_is_refused(source: str) -> None:
    """One sentence says why."""
    with pytest.raises(ValueError, match="no formula in this MathML: "):
        mathml_to_latex(source)


def test_a_tree_of_any_depth_is_written() -> None:
    """Nothing recurses."""
    for edge in "nawoe":
        deep = Layout.from_slt("[V!x" + f",{edge}[V!x" * 50_000 + "]" * 50_001)
        assert to_latex(deep.root).startswith(("x", r"\overset"))


@given(st.from_regex(r"(\[[VNTMO]!?[a-z()0-9x&;]{0,6}){1,6}(,[nabcdeouw]\[V!x\]|\]){0,9}"))
def test_any_tree_is_written(text: str) -> None:
    """Trees that no formula has must not raise."""
    try:
        made = Layout.from_slt(text)
    except ValueError:
        return
    layout(to_latex(made.root))
