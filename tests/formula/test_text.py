"""Text within mathematics, and mathematics within text."""

import pytest

from eqemb.formula import layout
from eqemb.formula.text import parts


@pytest.mark.parametrize(
    ("latex", "tree"),
    [
        (r"\text{mean of } X", "[T!mean of[V!X]]"),
        (r"\text{if $x>0$ then } y", "[T!if[V!x[>[N!0[T!then[V!y]]]]]]"),
        (r"\mbox{a   b}", "[T!a b]"),
        (r"\sigma_\text{min}", "[V!σ,b[T!min]]"),
        (r"\textbf{x}", "[V!𝐱]"),
        (r"\text x", "[V!x]"),
        (r"x \text{ } y", "[V!x[V!y]]"),
        (r"\text{\textcolor{red}{so}}", "[T!so]"),
        (r"\text{\'etale na\"{\i}ve}", "[T!étale naïve]"),
        (r"\text{\(x\) and $y$}", "[V!x[T!and[V!y]]]"),
        (r"\text{a \textcolor{red}{b $x$ c}}", "[T!a b[V!x[T!c]]]"),
        (r"\text{a $x_{\text{b $y$ c}}$ d}", "[T!a[V!x[T!d],b[T!b[V!y[T!c]]]]]"),
        (r"\text{{{{{{{{a $\vec x$}}}}}}}} b", "[T!a[V!x[V!b],o[→]]]"),
        (r"\text{{{{{{{{{{an $\vec x$}}}}}}}}}} b", "[T!an[V!x[V!b],o[→]]]"),
        (r"\text{by \eqref{eq:1} and \cite[p.~3]{x}}", "[T!by and]"),
        (r"\text{``so'' we~say}", "[T!“so” we say]"),
        (r"\text{a\quad b \alpha}", "[T!a b α]"),
        (r"\text{\textbf{if} \tiny x}", "[T!if x]"),
        (r"x\text.", "[V!x[T!.]]"),
        (r"a \text{\raisebox{0.25ex}{\scalebox{0.8}{$\otimes$}}} b", "[V!a[⊗[V!b]]]"),
        (r"\text{\raisebox{-.5\height}[0pt][0pt]{so}}", "[T!so]"),
        (r"\text{\resizebox*{2ex}{!}{so} \rule{1em}{1pt}\fcolorbox{red}{blue}{it}}", "[T!so it]"),
        (r"\mbox{\rotatebox[origin=c]{90}{$\vdash$}}", "[⊢]"),
        (r"\text{as\hspace{2em}if \kern3pt so\hskip 2em it}", "[T!as if so it]"),
        (r"\text{by \ref{a} [c]}", "[T!by &lsqb;c&rsqb;]"),
        (r"\operatorname{\raisebox{0.25ex}{\scalebox{0.8}{$\otimes$}}}", "[V!⊗]"),
        (r"\resizebox*{2ex}{!}{$x$} + \fbox{$y_1$}", "[V!x[+[V!y,b[N!1]]]]"),
        (r"\text{a\_b, [c]}", "[T!a_b&comma; &lsqb;c&rsqb;]"),
    ],
)
def test_text_is_one_node_and_its_mathematics_is_read(latex: str, tree: str) -> None:
    """Dollars within text delimit mathematics; a single letter is a symbol."""
    assert layout(latex).to_slt() == tree


def test_an_unknown_command_in_text_is_shown_by_its_name_and_reported() -> None:
    """As in mathematics."""
    made = layout(r"\text{a \foo{} b}")
    assert made.to_slt() == "[T!a foo b]"
    assert made.unknown == ["\\foo"]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", [("", False)]),
        ("a $x$ b", [("a ", False), ("x", True), (" b", False)]),
        ("a $x", [("a ", False), ("x", True)]),
        (r"a \$ b", [(r"a \$ b", False)]),
        ("{a $x$} b", [("{a ", False), ("x", True), ("} b", False)]),
        (r"$x_{\text{$y$}}$", [("", False), (r"x_{\text{$y$}}", True), ("", False)]),
        ("}$x$", [("}", False), ("x", True), ("", False)]),
    ],
)
def test_dollars_open_and_close_at_one_level_of_braces(
    text: str, pieces: list[tuple[str, bool]]
) -> None:
    """Deeper ones belong to text within the mathematics."""
    assert list(parts(text)) == pieces


def test_spaces_at_the_ends_of_text_are_kept_for_print_only() -> None:
    """The tree has none."""
    assert layout(r"a\text{ if }b").to_slt() == layout(r"a\text{if}b").to_slt()
    assert "\u00a0if\u00a0" in layout(r"a\text{ if }b").to_mathml()
