"""The HTML of an equation."""

import re
from pathlib import Path

import eqemb
from eqemb.formula import layout
from eqemb.formula.html import (
    classes_for_styles,
    equation_html,
    math_frame,
    without_control_characters,
)


def test_an_equation_has_a_frame_and_its_number() -> None:
    """The frame is named by the number, or by the ordinal if there is none."""
    made = equation_html("<math></math>", number="2<3", ordinal=4, large=True)
    assert made == (
        '<div class="formula large">'
        '<div class="sheet" role="group" aria-label="Equation (2&lt;3)"><math></math></div>'
        '<span class="number">(2&lt;3)</span></div>'
    )
    assert 'aria-label="Equation no. 4"' in math_frame("<math></math>", ordinal=4)
    assert 'aria-label="Equation"' in math_frame("<math></math>")


def test_control_characters_become_blanks() -> None:
    """Line breaks and tabs stay."""
    assert without_control_characters("a\x00b\x1f\n\tc\uffff") == "a b \n\tc "


def test_styles_become_classes() -> None:
    """A strict Content-Security-Policy forbids styles; the style sheet has the classes."""
    latex = r"a &= \overline{x} \\ b &= \begin{array}{lr} 1 & 2 \end{array} && c"
    made = layout(latex).to_mathml(mark=[0])
    assert "style=" in made
    assert "background" in made
    shown = classes_for_styles(made)
    assert " style=" not in shown
    assert "background" not in shown
    assert {"right line", "left line", "left", "right"} <= set(re.findall('class="(.*?)"', shown))
    style = (Path(eqemb.__file__).parent / "server/web/style.css").read_text("utf-8")
    for name in set(" ".join(re.findall('class="(.*?)"', shown)).split()):
        assert f".{name}" in style, name
