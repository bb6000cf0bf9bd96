"""LaTeX becomes the tree that a reader of the formula would draw."""

import pytest

from eqemb.formula import Layout, layout


def slt(latex: str) -> str:
    """The tree as a bracket string."""
    return layout(latex).to_slt()


@pytest.mark.parametrize(
    ("latex", "tree"),
    [
        ("x", "[V!x]"),
        ("3.14", "[N!3.14]"),
        (".5 + 12", "[N!.5[+[N!12]]]"),
        ("a - b", "[V!a[−[V!b]]]"),
        ("a − b", "[V!a[−[V!b]]]"),
        (r"\alpha \le \beta", "[V!α[≤[V!β]]]"),
        ("α ≤ β", "[V!α[≤[V!β]]]"),
        (r"\varepsilon\epsilon", "[V!ϵ[V!ϵ]]"),
        (r"\phi\varphi", "[V!ϕ[V!ϕ]]"),
        (r"a := b", "[V!a[:=[V!b]]]"),
        (r"a \coloneqq b", "[V!a[:=[V!b]]]"),
        (r"a : = b", "[V!a[:=[V!b]]]"),
        (r"a :&= b", "[V!a[:=[V!b]]]"),
        ("1, ..., n", "[N!1[&comma;[V!…[&comma;[V!n]]]]]"),
        (r"1, \ldots, n", "[N!1[&comma;[V!…[&comma;[V!n]]]]]"),
        (r"a \not= b", "[V!a[≠[V!b]]]"),
        (r"a \not\in B", "[V!a[∉[V!B]]]"),
        (r"\not{x_i}", "[V!x̸,b[V!i]]"),
        (r"\not{\max}", "[/[V!max]]"),
        (r"\dd x", "[V!d[V!x]]"),
        (r"\sin x", "[V!sin[V!x]]"),
        (r"a \bmod n", "[V!a[mod[V!n]]]"),
        (r"a \pmod{n}", "[V!a[M!()1x1,w[mod[V!n]]]]"),
        (r"\qvar{a}^2", "[?a,a[N!2]]"),
    ],
)
def test_symbols_carry_what_they_are(latex: str, tree: str) -> None:
    """Letters are identifiers, numbers whole literals, signs operators."""
    assert slt(latex) == tree


@pytest.mark.parametrize(
    ("latex", "tree"),
    [
        ("x^2", "[V!x,a[N!2]]"),
        ("x_i^2", "[V!x,a[N!2],b[V!i]]"),
        ("x^2_i", "[V!x,a[N!2],b[V!i]]"),
        ("x^23", "[V!x[N!3],a[N!2]]"),
        (r"x_\alpha", "[V!x,b[V!α]]"),
        (r"x^\frac12", "[V!x,a[O!divide,o[N!1],u[N!2]]]"),
        ("x^{y^z}", "[V!x,a[V!y,a[V!z]]]"),
        ("{x+y}^2", "[M!1x1,a[N!2],w[V!x[+[V!y]]]]"),
        ("{x_i}^2", "[V!x,a[N!2],b[V!i]]"),
        ("{x_i}_j", "[M!1x1,b[V!j],w[V!x,b[V!i]]]"),
        ("(x)^2", "[M!()1x1,a[N!2],w[V!x]]"),
        ("x^{}", "[V!x]"),
        (r"{}_a^b X_c^d", "[V!X,a[V!d],b[V!c],c[V!b],d[V!a]]"),
        (r"T^i{}_j", "[V!T,a[V!i],b[V!j]]"),
        (r"\ell{}^2(x)", "[V!ℓ[M!()1x1,w[V!x]],a[N!2]]"),
        ("f'", "[V!f,a[′]]"),
        ("f''", "[V!f,a[′′]]"),
        ("f^{\\prime\\prime}", "[V!f,a[′′]]"),
        ("f'^2", "[V!f,a[′[N!2]]]"),
        ("f_i'", "[V!f,a[′],b[V!i]]"),
        ("{f'}^2", "[M!1x1,a[N!2],w[V!f,a[′]]]"),
        (r"{w_i}'^\top", "[V!w,a[′[⊤]],b[V!i]]"),
        (r"\hat{x}'^2", "[V!x,a[′[N!2]],o[^]]"),
        (r"x\sb i\sp 2", "[V!x,a[N!2],b[V!i]]"),
        (r"x^*", "[V!x,a[*]]"),
    ],
)
def test_scripts_come_in_any_order_on_any_base(latex: str, tree: str) -> None:
    """Above and below, primes, scripts before their base, and wrapped bases."""
    assert slt(latex) == tree


@pytest.mark.parametrize(
    ("latex", "tree"),
    [
        (r"\sum_{i=1}^n x", "[∑[V!x],o[V!n],u[V!i[=[N!1]]]]"),
        (r"\sum\limits_{i=1}^n x", "[∑[V!x],o[V!n],u[V!i[=[N!1]]]]"),
        (r"\frac{\sum_i x}{2}", "[O!divide,o[∑[V!x],u[V!i]],u[N!2]]"),
        (r"\int_0^1 f", "[∫[V!f],o[N!1],u[N!0]]"),
        (r"\int\limits_0^1 f", "[∫[V!f],o[N!1],u[N!0]]"),
        (r"\max_x f", "[V!max[V!f],u[V!x]]"),
        (r"\lim_{n\to\infty} a_n", "[lim[V!a,b[V!n]],u[V!n[→[V!∞]]]]"),
        (r"\operatorname*{argmin}_x f", "[V!argmin[V!f],u[V!x]]"),
        (r"\operatorname*{arg\,min}_x f", "[V!arg[V!min[V!f],u[V!x]]]"),
        (r"\operatorname{sim}(x)", "[V!sim[M!()1x1,w[V!x]]]"),
        (r"\operatorname{tf-idf}", "[V!tf-idf]"),
        (r"\mathop{\mathbb{E}}_x f", "[V!𝔼[V!f],u[V!x]]"),
        (r"\mathop{p(y)} f", "[V!p[M!()1x1[V!f],w[V!y]]]"),
        (r"\mathop{p(y)}_x", "[M!1x1,u[V!x],w[V!p[M!()1x1,w[V!y]]]]"),
        (r"\mathop{\rm max}_x f", "[V!max[V!f],u[V!x]]"),
        (r"\mathop{\operator@font argmin}_x f", "[V!argmin[V!f],u[V!x]]"),
        (r"\mathop{\rm Hom}\nolimits_A", "[V!Hom,u[V!A]]"),
        (r"\operatorname{med}\limits_x f", "[V!med[V!f],u[V!x]]"),
        (r"\limits_x", "[W!,b[V!x]]"),
        (r"\nabla_x f", "[∇[V!f],u[V!x]]"),
        (r"\sum_{\substack{i\\j}} x", "[∑[V!x],u[M!2x1,w[V!i,e[V!j]]]]"),
    ],
)
def test_limits_hang_over_and_under_whatever_the_style(latex: str, tree: str) -> None:
    """Limits are on the same edges in any style, in a display or in a fraction."""
    assert slt(latex) == tree


@pytest.mark.parametrize(
    ("latex", "tree"),
    [
        (r"\mathbf{x}", "[V!𝐱]"),
        (r"{\bf x} y", "[V!𝐱[V!y]]"),
        (r"\bm{\theta}", "[V!𝜽]"),
        (r"\mathbb{R}^n", "[V!ℝ,a[V!n]]"),
        (r"\mathcal{AB}", "[V!𝒜[V!ℬ]]"),
        (r"\mathbf{1}", "[N!𝟏]"),
        (r"\mathrm{Precision}", "[V!Precision]"),
        (r"{\rm Recall}_i", "[V!Recall,b[V!i]]"),
        (r"\mathit{loss}", "[V!loss]"),
        (r"\mathrm{d}x", "[V!d[V!x]]"),
        (r"\mathbf{A}\mathbf{B}", "[V!𝐀[V!𝐁]]"),
        (r"\mathrm{max}_i y", "[V!max[V!y],u[V!i]]"),
        (r"\mathrm{sup}_i y", "[sup[V!y],u[V!i]]"),
        (r"{\rm inf}\, y", "[inf[V!y]]"),
        (r"\mathrm{info}", "[V!info]"),
        (r"\mathrm{F1} + \mathit{KS14}", "[V!F1[+[V!KS14]]]"),
        (r"\mathrm{H2O}", "[V!H2O]"),
        (r"\mathrm{10dB}", "[N!10[V!dB]]"),
        (r"\mathfrak{sl}_2", "[V!𝔰[V!𝔩,b[N!2]]]"),
        (r"\bm{Wh}", "[V!𝑾[V!𝒉]]"),
        (r"\bold U", "[V!𝐔]"),
        (r"\bm{\varphi}", "[V!𝝓]"),
        (r"\uptheta\Upgamma", "[V!θ[V!Γ]]"),
    ],
)
def test_alphabets_are_a_mark_on_the_letter(latex: str, tree: str) -> None:
    """Bold and script letters keep their alphabet; an upright word is one symbol."""
    assert slt(latex) == tree


@pytest.mark.parametrize(
    "latex",
    [
        r"x &= y \\ &\quad + z",
        r"\begin{aligned} x &= y \\ & + z \end{aligned}",
        r"\begin{split} x &= y \\[3pt] & + z \end{split}",
        r"x = y + z",
        r"x = y + z \label{eq:one} \nonumber",
        r"x = {y} + \displaystyle z \tag{3}",
        "x = y % a comment\n + z",
        r"\left. x = y + z \right.",
        r"x = y + z.",
        r"x = y + z \, ,",
    ],
)
def test_line_breaks_marks_and_punctuation_do_not_change_an_equation(latex: str) -> None:
    """All of these are the same equation."""
    assert layout(latex).canonical() == "[V!x[=[V!y[+[V!z]]]]]"


def test_an_unknown_command_is_a_symbol_by_its_name() -> None:
    """Its arguments follow it, and it is reported."""
    made = layout(r"\softplus{x} + \foo_i")
    assert made.to_slt() == "[V!softplus[V!x[+[V!foo,b[V!i]]]]]"
    assert made.unknown == ["\\softplus", "\\foo"]
    assert made.problems == []


@pytest.mark.parametrize(
    ("latex", "tree"),
    [
        (r"\gls{gram} x", "[V!gram[V!x]]"),
        (r"\gls+{oV}[^{\pi}](s)", "[V!oV[M!()1x1,w[V!s]],a[V!π]]"),
        (r"\gls[hyper=false]{key}[s]", "[V!key[V!s]]"),
    ],
)
def test_a_glossarys_entry_is_a_symbol_by_its_key(latex: str, tree: str) -> None:
    """The glossary's text is not in the equation, so the entry counts as unknown."""
    assert slt(latex) == tree
    assert layout(latex).unknown == ["\\gls"]


@pytest.mark.parametrize(
    ("latex", "cause", "tree"),
    [
        (r"\frac{a}", "missing argument", "[O!divide,o[V!a],u[E!missing]]"),
        ("a } b", "nothing to close", "[V!a[E!}[V!b]]]"),
        ("{a", "unclosed {", "[V!a]"),
        (r"\left( a", "unclosed \\left", "[([V!a]]"),
        (r"\begin{matrix} a", "unclosed environment", "[M!1x1,w[V!a]]"),
        ("x_a_b", "double script", "[V!x,b[V!a[V!b]]]"),
        (r"a \right) b", "nothing to close", "[V!a[E!\\right[)[V!b]]]]"),
        (r"\sqrt[3", "unclosed [", "[O!root,c[N!3],w[E!missing]]"),
    ],
)
def test_broken_input_gives_the_tree_of_what_was_read(latex: str, cause: str, tree: str) -> None:
    """The cause is recorded, and nothing raises."""
    made = layout(latex)
    assert cause in [problem.cause for problem in made.problems]
    assert made.to_slt() == tree


@pytest.mark.parametrize(
    "latex",
    ["{" * 100_000 + "x" + "}" * 100_000, "x^{" * 60_000, r"\left(" * 30_000, r"\sqrt" * 40_000],
)
def test_nesting_of_any_depth_gives_a_clean_answer(latex: str) -> None:
    """A group that is too deep becomes an error node, with its cause."""
    made = layout(latex)
    assert made.problems
    assert made.units()
    assert made.to_mathml()
    assert made.to_text()


def test_a_long_row_of_parentheses_is_read_in_linear_time() -> None:
    """Bare parentheses need no recursion."""
    made = layout("(" * 20_000 + "x" + ")" * 20_000)
    assert len(made.units()) == 20_000
    assert made.problems == []


def test_deep_formulas_are_read_from_deep_code() -> None:
    """A caller that is itself 350 calls deep still gets a result, and can show it."""

    def deeper(count: int) -> str:
        if count:
            return deeper(count - 1)
        made = layout("x^{" * 500 + "}" * 500)
        Layout.from_mathml("<math>" + "<mrow>" * 500 + "</mrow>" * 500 + "</math>")
        return made.to_mathml() + made.to_text()

    assert deeper(350)


def test_empty_input_is_an_empty_tree() -> None:
    """It has no units, and everything else works."""
    made = layout("  \n ")
    assert (made.units(), made.to_slt(), made.canonical(), made.to_text()) == ([], "", "", "")
    assert made.to_mathml().startswith("<math")


@pytest.mark.parametrize("wrapped", ["$x=1$", "$$x=1$$", r"\[x=1\]", r" \(x=1\) "])
def test_delimiters_around_a_formula_are_no_symbols(wrapped: str) -> None:
    """Users paste formulas with their delimiters."""
    assert layout(wrapped).canonical() == layout("x=1").canonical()


def test_digits_of_other_scripts_are_numbers_each() -> None:
    """Only runs of ASCII digits make one number; a run of other digits raised a TypeError."""
    assert layout("\u0d66" + "0").to_slt() == "[N!\u0d66[N!0]]"
    assert layout("\u0661\u0662").to_slt() == "[N!\u0661[N!\u0662]]"
