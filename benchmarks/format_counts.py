r"""Count the display equations of a document by simple rules, one for each kind of file.

The rules know nothing of the readers: they look for delimiters in the text, from left to right, and
continue after the closing one. They are rough on purpose. A reader that finds fewer displays than
they do has lost some, or they were fooled by code; `formats.py` lists the documents to look at.

    .tex           \begin{equation} and similar, \[ and $$, without comments
    .md and alike  the same and \\[, outside code and inline formulas; math fences; fences with
                   prose are prose; escaped brackets only with a sign of TeX between them.
                   In Jekyll's pages, $$ is a display only if it is alone on its lines
    .ipynb         the same, in the cells of Markdown
    .rst           lines that begin with `.. math::`
    .do.txt        the rule of .tex, between !bt and !et
    .html          display maths of MathML, KaTeX, Sphinx, pandoc and MathJax's scripts by their
                   markup; without any of them, the rule of .md in what is left of the text
    .xml           <disp-formula>
    .json          {{formula:x}} between line ends of a string (unarXive's records of 2022)
"""

import html
import json
import re
from collections.abc import Callable
from typing import Any

_NAMES = (
    "equation|align|alignat|flalign|xalignat|gather|multline|eqnarray|displaymath|dmath|math\\*"
    "|IEEEeqnarray|empheq"
)
_OPENING = re.compile(rf"\\begin\{{((?:{_NAMES})\*?)\}}|(?<!\\)(\\)?\\\[|(?<!\\)\$\$")
_TEX_REMARK = re.compile(r"(?<!\\)%.*")
_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,}|:{3,})[ \t]*(.*?)[ \t]*")
_DIRECTIVE_NAME = re.compile(r"\{[ ]*([\w:.-]+)")
_CODE_DIRECTIVES = re.compile(
    r"code.*|.*cell|raw|eval-rst|mermaid|plot|.*table|toctree|literal.*|figure|image|bibliography"
    r"|include|r|python|julia|stan|bash|sh|ojs|dot|graphviz|tikz|iframe|video|embed|tableofcontents"
)
_INLINE = re.compile(r"(?<!\\)(?<!\$)(?:\$(?![\s$])[^$\n]*(?<![\s$\\])\$(?!\d))+")
_FORMULA_SIGN = re.compile(r"[\\^_={}<>+]|^\s*\n")
_REMARK = re.compile(r"<!--.*?-->", re.DOTALL)
_JEKYLL = re.compile(r"---\s*\n(?:.*\n)*?layout\s*:")
_RST = re.compile(r"(?m)^[ \t|*+-]*(?:\w{1,3}\.[ \t]+)?\.\.[ \t]+math[ ]?::")
_DOCONCE = re.compile(r"(?ms)^!bt\b(.*?)^!et\b")
_MARKED = (
    re.compile(r"<math\b[^>]*\bdisplay\s*=\s*[\"']block", re.IGNORECASE),
    re.compile(r"<script\b[^>]*math/tex;\s*mode=display", re.IGNORECASE),
    re.compile(r"<d-math\b[^>]*\bblock\b", re.IGNORECASE),
)
_CLASSES = re.compile(
    r"<(?:div|span|p)\b[^>]*\bclass\s*=\s*[\"'](?:math notranslate|math display|katex-display"
    r"|MathJax_Display|displaymath)",
    re.IGNORECASE,
)
_SPHINX_INLINE = re.compile(r"<span\b[^>]*\bclass\s*=\s*[\"']math notranslate", re.IGNORECASE)
_FORMULA = re.compile(r"\\n(?:[ ]|\\u00a0)*\{\{formula:[^{}]*\}\}[ .,;]*(?=\\n|\")")
_NO_TEXT = re.compile(r"(?is)<(script|style|pre|code|head)\b.*?</\1\s*>|<!--.*?-->")


def count_displays(name: str, text: str) -> int | None:
    """The number of displays in a document, or None if there is no rule for its name."""
    suffix = (
        ".do.txt" if name.lower().endswith(".do.txt") else f".{name.lower().rpartition('.')[2]}"
    )
    rule = _RULES.get(suffix)
    return None if rule is None else rule(text)


def _tex(text: str) -> int:
    return _delimited(_TEX_REMARK.sub("", text))


def _delimited(text: str, *, escaped: bool = False, alone: bool = False) -> int:
    r"""Displays by their delimiters.

    Args:
        text: Without comments and code.
        escaped: Whether `\\[` opens a display, and `\[1\]` is text.
        alone: Whether `$$` opens one only if it is alone on its lines.
    """
    count = at = 0
    while opening := _OPENING.search(text, at):
        at = opening.end()
        closing = "$$"
        if opening[1]:
            closing = f"\\end{{{opening[1]}}}"
        elif opening[0] != "$$":
            closing = "\\\\]" if opening[2] else "\\]"
            if opening[2] and not escaped:
                continue
        end = text.find(closing, at)
        if end < 0:
            continue
        content = text[at:end]
        is_display = bool(content.strip())
        if escaped and closing[-1] == "]":  # not \\[1\\], a citation
            is_display = _FORMULA_SIGN.search(content) is not None
        if alone and closing == "$$":
            before = text[text.rfind("\n", 0, opening.start()) + 1 : opening.start()]
            after = text[end + 2 :].partition("\n")[0] if is_display else ""
            is_display = is_display and not before.strip(" \t>") and not after.strip(" \t\r.,;:")
        count += is_display
        at = end + len(closing)
    return count


def _markdown(text: str) -> int:
    count = 0
    kept: list[str] = []
    open_fences: list[tuple[str, str]] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        fence = _FENCE.fullmatch(line)
        marker, info = (fence[1], fence[2]) if fence else ("", "")
        inside, kind = open_fences[-1] if open_fences else ("", "prose")
        if marker and not info and inside and marker.startswith(inside):
            open_fences.pop()
        elif kind == "code":
            continue
        elif marker and not (info and marker[0] == "`" and "`" in info):
            kind = _kind(marker, info)
            count += kind == "math"
            open_fences.append((marker, "prose" if kind == "prose" else "code"))
        else:
            kept.append(line)
    rest = _INLINE.sub("x", _REMARK.sub(" ", "\n".join(kept)))
    return count + _delimited(rest, escaped=True, alone=_JEKYLL.match(text) is not None)


def _kind(marker: str, info: str) -> str:
    """What a fence contains: code, math or prose."""
    directive = _DIRECTIVE_NAME.match(info)
    name = directive[1] if directive else info.partition(" ")[0].lower()
    if name == "math":
        return "math"
    if marker[0] == ":":
        return "prose"
    is_code = directive is None or _CODE_DIRECTIVES.fullmatch(name)
    return "code" if is_code else "prose"


def _notebook(text: str) -> int:
    try:
        notebook: Any = json.loads(text)
        sheets = [notebook, *notebook.get("worksheets", [])]
        cells = [cell for sheet in sheets for cell in sheet.get("cells", [])]
        sources = [cell["source"] for cell in cells if cell.get("cell_type") == "markdown"]
    except (ValueError, AttributeError, KeyError, TypeError):
        return 0
    return sum(_markdown(s if isinstance(s, str) else "".join(s)) for s in sources)


def _page(text: str) -> int:
    marked = sum(len(rule.findall(text)) for rule in _MARKED)
    if not marked:
        marked = len(_CLASSES.findall(text)) - len(_SPHINX_INLINE.findall(text))
    return marked or _markdown(html.unescape(_NO_TEXT.sub(" ", text)))


def _doconce(text: str) -> int:
    return sum(_tex(block) for block in _DOCONCE.findall(text))


def _jats(text: str) -> int:
    return len(re.findall(r"<disp-formula\b(?!-group)", text))


def _record(text: str) -> int:
    return len(_FORMULA.findall(text))


_RULES: dict[str, Callable[[str], int]] = {
    **dict.fromkeys((".tex", ".ltx", ".latex"), _tex),
    **dict.fromkeys((".md", ".mmd", ".rmd", ".qmd", ".markdown", ".myst"), _markdown),
    **dict.fromkeys((".html", ".htm", ".xhtml"), _page),
    **dict.fromkeys((".xml", ".nxml"), _jats),
    **dict.fromkeys((".rst", ".rest"), lambda text: len(_RST.findall(text))),
    ".ipynb": _notebook,
    ".json": _record,
    ".do.txt": _doconce,
}
