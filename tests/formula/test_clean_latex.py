"""LaTeX to copy."""

import pytest

from eqemb.formula.clean_latex import clean_latex


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
    ],
)
def test_only_labels_and_sizes_are_removed(written: str, clean: str) -> None:
    """The rest is as written, except for white space."""
    assert clean_latex(written) == clean


def test_deep_boxes_end() -> None:
    """Hostile nesting is left as it is."""
    assert "x" in clean_latex(r"\scalebox{1}{" * 500 + "x" + "}" * 500)
