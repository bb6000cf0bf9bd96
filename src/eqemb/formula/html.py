"""HTML of an equation: the one place that puts MathML into a page.

`equation_html` writes an equation with its printed number, `math_frame` the MathML alone. A page
with a strict Content-Security-Policy passes its MathML through `classes_for_styles` first.
"""

import re
from html import escape

#: Inline styles of `formula.mathml` and the classes that replace them.
_CLASSES = {
    "text-align:left": "left",
    "text-align:right;text-align:-moz-right;text-align:-webkit-right": "right",
}
_STYLE_ATTRIBUTE = re.compile(r' style="([^"]*)"')
_INVALID = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")


def without_control_characters(text: str) -> str:
    """Text with a blank for each character that neither HTML nor XML allows."""
    return _INVALID.sub(" ", text)


def classes_for_styles(mathml: str) -> str:
    """MathML with classes instead of inline styles and colours.

    A strict Content-Security-Policy forbids style attributes. The server's `web/style.css` defines
    the classes.
    """

    def as_class(found: re.Match[str]) -> str:
        align, _, padding = found[1].partition(";padding:")
        name = _CLASSES.get(align)
        if name is None:
            return ""  # a bar, which has a class already
        line = "" if not padding else " line pair" if padding.endswith("2em") else " line"
        return f' class="{name}{line}"'

    # Quotation marks in text are escaped, so that no text can look like an attribute.
    return _STYLE_ATTRIBUTE.sub(as_class, mathml.replace(' mathbackground="#ffe08a"', ""))


def page_mathml(mathml: str) -> str:
    """MathML that our pages accept: no inline styles, no control characters."""
    return without_control_characters(classes_for_styles(mathml))


def equation_html(
    mathml: str, *, number: str | None = None, ordinal: int | None = None, large: bool = False
) -> str:
    """An equation with its printed number, as HTML; the number and the ordinal name it."""
    printed = f'<span class="number">({_escape(number)})</span>' if number else ""
    size = "formula large" if large else "formula"
    frame = math_frame(mathml, number=number, ordinal=ordinal)
    return f'<div class="{size}">{frame}{printed}</div>'


def math_frame(mathml: str, *, number: str | None = None, ordinal: int | None = None) -> str:
    """MathML in a frame that scrolls sideways, named for screen readers."""
    name = f" ({number})" if number else f" no. {ordinal}" if ordinal is not None else ""
    label = _escape(f"Equation{name}")
    return f'<div class="sheet" role="group" aria-label="{label}">{mathml}</div>'


def _escape(text: str) -> str:
    return escape(without_control_characters(text))
