"""LaTeX to copy."""

import pytest

from eqemb.formula.clean_latex import clean_latex
from timing import assert_linear


@pytest.mark.parametrize(
    ("written", "clean"),
    [
        (r"\label{eq:a} x = y", "x = y"),
        (r"{\footnotesize x = y}", "{ x = y}"),
        (r"\Large x \\[1ex] \tiny y \notag", r"x \\[1ex] y"),
        (r"\fontsize{9}{11}\selectfont x", "x"),
        (r"\resizebox{\hsize}{!}{$x_{\small i}$} = y", "x_{ i} = y"),
        (r"\scalebox{.9}{\scalebox{.9}{$x$}}", "x"),
        (r"x \tag*{(\theequation{a})} y", "x y"),
        (r"\smallint \largeop \labelled{x}", r"\smallint \largeop \labelled{x}"),
        (r"\left\{ a \label{\{} \right\}", r"\left\{ a \right\}"),
        (r"\label{never closed", r"\label{never closed"),
        (r"\label", r"\label"),
        ("a\n  b", "a b"),
        ("", ""),
        (r"\alpha\label{a}b", r"\alpha b"),
        (r"\alpha\label{a}\notag{}b", r"\alpha{}b"),
        (r"\alpha\label{a}\tag{1}b", r"\alpha b"),
        (r"\alpha\scalebox{.8}{b}", r"\alpha b"),
        (r"\scalebox{.8}{$\alpha$}b", r"\alpha b"),
        (r"\scalebox{.8}{$x$ and $y$}", r"\scalebox{.8}{$x$ and $y$}"),
        (r"\scalebox{.8}{\label{a}$x$ and $y$} + z", r"\scalebox{.8}{$x$ and $y$} + z"),
        (r"\scalebox{.8}{$x = 2\$$}", r"x = 2\$"),
        (r"\scalebox{.8}{$x = 2\$}", r"\scalebox{.8}{$x = 2\$}"),
        (r"\scalebox{.8}{x\ }y", r"x\ y"),
        ("x\\ ", "x\\ "),
        ("x \\\\ ", "x \\\\"),
        ("x % c\n+ y", "x + y"),
        ("\\alpha%\nb", r"\alpha b"),
        ("50\\% x\n+ y", r"50\% x + y"),
        ("\\\\% c }\n+ \\label{a % }\n} y", r"\\+ y"),
    ],
)
def test_only_labels_and_sizes_are_removed(written: str, clean: str) -> None:
    """The rest is as written, except for white space."""
    assert clean_latex(written) == clean


def test_deep_boxes_end() -> None:
    """Hostile nesting is left as it is."""
    assert "x" in clean_latex(r"\scalebox{1}{" * 500 + "x" + "}" * 500)


@pytest.mark.parametrize("part", [r"\label{", r"\fontsize{", r"\fontsize{1}{", r"\scalebox{", "{"])
def test_unclosed_braces_take_linear_time(part: str) -> None:
    """Each brace is looked at once, and nothing is removed."""
    assert_linear(part.__mul__, clean_latex, (5_000, 20_000))
    assert clean_latex(part * 5_000) == part * 5_000
