r"""Recognise the elements that hold one formula, and get its TeX.

Pages name the same formula in several ways. TeX that a page gives (an annotation, `alttext`, the
source for a script) is preferred; MathML alone is converted; pictures made of `span` are lost.
"""

import re
from typing import NamedTuple

from eqemb.formula import mathml_to_latex
from eqemb.readers.html.tree import (
    MATH,
    Element,
    Text,
    as_xml,
    decode_entities,
    descendants,
    text_content,
)

NO_KATEX = "KaTeX output without TeX or MathML"
NO_MATHJAX = "MathJax output without TeX or MathML"
NO_TEX = "formula without TeX or MathML"
UNREADABLE = "MathML that cannot be read"


class Formula(NamedTuple):
    """A formula as an element gives it."""

    tex: str
    is_display: bool
    number: str = ""
    """As the page prints it, without parentheses."""
    lost: str = ""
    """Why there is no TeX."""
    opening: str = "$$"


_ANNOTATION = re.compile(r"<(?:\w{1,9}:)?annotation\s([^<>]*)>")
_TEX_ENCODING = re.compile(
    r"encoding\s*=\s*[\"']?(?:application/x-(?:la)?tex|(?:la)?tex)\b", re.IGNORECASE
)
_CDATA = re.compile(r"(?:%|(?<!\s))\s*+(?:<!\[CDATA\[|\]\]>)")
_LINE_BREAK = re.compile(r"(?<!\\)((?:\\\\)*)%[^\n]*+(\n\s*)?")
_MATH_STYLE = re.compile(r"\s*\\(?:displaystyle|textstyle)(?![A-Za-z])\s*")
_SPOKEN = re.compile(r"[^\W\d_]{3} [^\W\d_]{2}")
_DELIMITED = re.compile(r"\s*(\$\$?|\\\[|\\\()(.*)(\$\$?|\\\]|\\\))\s*", re.DOTALL)
_PARENTHESES = " \t\n\u00a0()[]"
#: Images whose text is TeX.
_TEX_IMAGES = frozenset(
    "tex latex mwe-math-fallback-image-inline mwe-math-fallback-image-display".split()
)
#: What MathJax 2 makes; the TeX is in a script beside it.
MATHJAX_2 = frozenset("MathJax_Display MathJax MathJax_SVG MathJax_CHTML mjx-chtml".split())
#: Elements in which markup stands for a formula.
_MARKUP_FORMULA = frozenset("em i sub sup b strong".split())


def recognise(element: Element, source: str) -> Formula | None:
    """The formula that an element holds, or None if it is something else."""
    name, classes = element.name, element.classes
    if name in MATH:
        return _from_math(element, source)
    if name == "script":
        return _from_script(element)
    if name in ("d-math", "dt-math"):
        return Formula(clean_tex(text_content(element)), "block" in element.attributes)
    if name == "img":
        is_formula = not classes.isdisjoint(_TEX_IMAGES) and bool(element.get("alt"))
        return Formula(clean_tex(element.get("alt")), _is_block(element)) if is_formula else None
    if name == "mjx-container":
        is_display = element.get("display") == "true"
        return _rendered(element, source, is_display=is_display, cause=NO_MATHJAX)
    if "data-math-style" in element.attributes:
        is_display = element.get("data-math-style") == "display"
        return Formula(clean_tex(text_content(element)), is_display)
    return _by_class(element, source) if classes else None


def _by_class(element: Element, source: str) -> Formula | None:
    classes = element.classes
    if "katex-display" in classes:
        return _rendered(element, source, is_display=True, cause=NO_KATEX)
    if "katex" in classes:
        return _rendered(element, source, is_display=False, cause=NO_KATEX)
    if "katex-error" in classes:
        return Formula(clean_tex(text_content(element)), is_display=False)
    if "mwe-math-element" in classes:
        is_display = "mwe-math-element-block" in classes
        return _rendered(element, source, is_display=is_display, cause=NO_TEX)
    if not classes.isdisjoint(MATHJAX_2):
        return _mathjax_2(element, source)
    if "math" in classes and element.name in ("span", "div", "p"):
        return _marked(element)
    return None


def _without_comment(found: re.Match[str]) -> str:
    """A comment that a line end follows is dropped; in the last line, `%` may be a percent sign."""
    return found[0] if found[2] is None else found[1]


def clean_tex(tex: str) -> str:
    r"""TeX without what pages put around it: CDATA marks, line ends, `{\displaystyle ...}`."""
    tex = _CDATA.sub(" ", tex) if "]>" in tex else tex
    tex = _LINE_BREAK.sub(_without_comment, tex) if "%" in tex else tex
    tex = tex.strip()
    if tex.startswith("{\\displaystyle") and tex.endswith("}") and _is_one_group(tex):
        tex = tex[1:-1]
    style = _MATH_STYLE.match(tex)
    return tex[style.end() :] if style else tex


def latex_of_mathml(mathml: str) -> str:
    """LaTeX of MathML, also if it is not well-formed XML; '' if it holds no formula."""
    for read in (str, as_xml):
        try:
            return mathml_to_latex(read(mathml))
        except ValueError:
            continue
    return ""


def number_of(text: str) -> str:
    """A printed number without its parentheses."""
    return " ".join(text.strip(_PARENTHESES).split())[:40]


def _is_one_group(tex: str) -> bool:
    """Whether the first brace is closed by the last one."""
    depth = 0
    for match in re.finditer(r"\\.|[{}]", tex, re.DOTALL):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0 and match[0] == "}":
            return match.end() == len(tex)
    return False


def _from_math(element: Element, source: str) -> Formula:
    is_display = element.get("display") == "block" or element.get("mode") == "display"
    tex, cause = _tex_of_math(element, source)
    return Formula(tex, is_display, lost=cause, opening="math")


def _tex_of_math(element: Element, source: str) -> tuple[str, str]:
    """TeX of a `math` element, or why there is none."""
    mathml = source[element.start : element.end]
    for match in _ANNOTATION.finditer(mathml):
        end = mathml.find("<", match.end())
        if _TEX_ENCODING.search(match[1]) and end >= 0:
            return clean_tex(decode_entities(mathml[match.end() : end])), ""
    for attribute in ("alttext", "data-latex"):
        tex = element.get(attribute).strip()
        if tex and ("\\" in tex or not _SPOKEN.search(tex)):
            return clean_tex(_without_delimiters(tex)), ""
    tex = latex_of_mathml(mathml)
    return tex, "" if tex else UNREADABLE


def _from_script(element: Element) -> Formula | None:
    kind, _, mode = element.get("type").lower().partition(";")
    if kind.strip() not in ("math/tex", "math/latex", "math/asciimath", "math/mml"):
        return None
    is_display = "mode=display" in mode.replace(" ", "")
    content = text_content(element)
    if kind.strip() == "math/mml":
        tex = latex_of_mathml(content)
        return Formula(tex, is_display, lost="" if tex else UNREADABLE)
    if kind.strip() == "math/asciimath":
        return Formula("", is_display, lost="AsciiMath is not read")
    content = decode_entities(content) if "&lt;" in content or "&amp;" in content else content
    return Formula(clean_tex(content), is_display)


def _rendered(element: Element, source: str, *, is_display: bool, cause: str) -> Formula:
    """A formula that a script has typeset: from the MathML in it, or a fallback image."""
    for node in descendants(element):
        if isinstance(node, Text):
            continue
        if node.name in MATH:
            tex, lost = _tex_of_math(node, source)
            is_display = is_display or node.get("display") == "block"
            return Formula(tex, is_display, lost=lost)
        if node.name == "img" and not node.classes.isdisjoint(_TEX_IMAGES):
            return Formula(clean_tex(node.get("alt")), is_display or _is_block(node))
        if node.get("data-latex"):
            return Formula(clean_tex(node.get("data-latex")), is_display)
    return Formula("", is_display, lost=cause)


def _mathjax_2(element: Element, source: str) -> Formula:
    """The output of MathJax 2 on a page that does not keep the TeX in scripts."""
    is_display = "MathJax_Display" in element.classes
    for node in (element, *descendants(element, 40)):
        if isinstance(node, Element) and (mathml := node.get("data-mathml")):
            root = Element("math", {}, 0, len(mathml))
            tex, cause = _tex_of_math(root, mathml)
            return Formula(tex, is_display, lost=cause)
    return _rendered(element, source, is_display=is_display, cause=NO_MATHJAX)


def _marked(element: Element) -> Formula | None:
    """`<span class="math display">`, `<div class="math notranslate">` and similar."""
    number, pieces = "", []
    for node in element.children:
        if isinstance(node, Text):
            pieces.append(node.data)
        elif "eqno" in node.classes:
            number = number_of(_own_text(node))
        elif node.name == "img" and node.get("alt"):
            pieces.append(node.get("alt"))
        elif node.name in _MARKUP_FORMULA:
            is_display = "display" in element.classes
            return Formula("", is_display, lost=NO_TEX) if is_display else None
        elif node.name not in ("br", "wbr"):
            return None
    match = _DELIMITED.fullmatch(text := "".join(pieces))
    is_display = "display" in element.classes or element.name != "span"
    if match is None:
        return Formula(clean_tex(text), is_display, number)
    is_display = match[1] in ("$$", r"\[")
    return Formula(clean_tex(match[2]), is_display, number, opening=match[1])


def _own_text(element: Element) -> str:
    return "".join(node.data for node in element.children if isinstance(node, Text))


def _is_block(image: Element) -> bool:
    return "mwe-math-fallback-image-display" in image.classes


def _without_delimiters(tex: str) -> str:
    match = _DELIMITED.fullmatch(tex)
    return match[2] if match else tex
