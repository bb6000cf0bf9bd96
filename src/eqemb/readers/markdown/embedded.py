r"""Formulas that Markdown contains as elements of HTML: MathML, and scripts for MathJax.

They are written as LaTeX between delimiters of Markdown, before the document is read.
"""

import re

from eqemb.readers.html.formulas import Formula, recognise
from eqemb.readers.html.tree import Element, parse

_FORMULA_ELEMENT = re.compile(r"<(math|script)\b([^<>]*)>", re.IGNORECASE)
#: The end of an element, or the begin of another one.
_ELEMENT_ENDS = {
    name: re.compile(rf"</{name}\s*>|(<{name}\b)", re.IGNORECASE) for name in ("math", "script")
}
#: A line without visible text, which does not end a paragraph.
_EMPTY = "\n\u200b"


def with_latex(text: str) -> str:
    """A document with its formulas in elements as LaTeX, on as many lines."""
    kept, at = [], 0
    never_closed: set[str] = set()
    for opening in _FORMULA_ELEMENT.finditer(text):
        name = opening[1].lower()
        if opening.start() < at or name in never_closed:
            continue
        if name == "script" and "math/" not in opening[2]:
            continue
        closing = _ELEMENT_ENDS[name].search(text, opening.end())
        if closing is None:
            never_closed.add(name)
            continue
        if closing[1]:  # the first one is part of an example in code
            continue
        element = text[opening.start() : closing.end()]
        if latex := _latex(element):
            kept += [text[at : opening.start()], latex, _EMPTY * element.count("\n")]
            at = closing.end()
    return "".join([*kept, text[at:]])


def _latex(element: str) -> str:
    """The formula of an element between delimiters; '' if it cannot be read."""
    formula = next(
        (
            found
            for node in parse(element).children
            if isinstance(node, Element) and (found := recognise(node, element))
        ),
        Formula("", is_display=False),
    )
    latex = " ".join(formula.tex.split())
    if not latex or "%}" in latex:
        return ""
    return f"{{% math %}}{latex}{{% endmath %}}" if formula.is_display else f"\\({latex}\\)"
