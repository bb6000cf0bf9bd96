"""Remove what a copied query brings along: Markdown, HTML, smart quotes, odd blanks and dashes.

MathML becomes LaTeX between dollars. Time is linear in the length.
"""

import html
import re

from eqemb.formula import mathml_to_latex

_QUERY_BLANKS = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\t\v\f\r]")
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\x00-\x08\x0e-\x1f\x7f]")
_QUERY_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_DASHES = re.compile("[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]")
_QUERY_QUOTES = re.compile("[\u201c-\u201f\u00ab\u00bb]")
_MATHML = re.compile(r"<(?:m|mml)?:?math[\s>]")
_QUERY_MATHML_END = re.compile(r"</(?:m|mml)?:?math\s*>")
_TAG = re.compile(
    r"</?(?:a|b|br|blockquote|code|div|em|h[1-6]|hr|i|li|ol|p|pre|span|strong|u|ul)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_SCRIPT_TAG = re.compile(r"<(sub|sup)>([^<>]{1,100})</\1>", re.IGNORECASE)
_CODE_FENCE = re.compile(r"```[ ]*([A-Za-z]*)[^\S\n]*\n?")
_BOLD = re.compile(r"((?<![^\s(\"'])(?:\*\*|__))(?=[^\s*_])([^*_\n]+)(?<=[^\s*_])\1")
_STARRED = re.compile(r"(?<![^\s(\"'])\*(?=[^\s*])([^*\n]+)(?<=[^\s*])\*(?![^\s.,;:!?)\"'])")
_QUOTED = re.compile(r"^[ ]*(?:>[ ]?)+", re.MULTILINE)
_QUERY_LIST_ITEM = re.compile(r"^[ ]*(?:#{1,6}|[*\u2022]|\d{1,3}[.)])[ ]+", re.MULTILINE)
_DASHED = re.compile(r"^[ ]*-[ ]+", re.MULTILINE)
_CODE = re.compile(r"`([^`\n]+)`")
_MATH_LANGUAGES = frozenset({"latex", "tex", "math", "katex", "mathjax", "asciimath"})


def clean_markup(text: str) -> str:
    r"""Return a query without markup.

    >>> clean_markup("> **loss** is\n> ```latex\n> x^2\n> ```")
    'loss is\n $$x^2\n$$ '
    """
    text = _mathml(text)
    text = _QUERY_ENTITY.sub(lambda found: html.unescape(found[0]), text)
    text = _UNSEEN.sub("", _QUERY_BLANKS.sub(" ", text))
    text = _QUERY_QUOTES.sub('"', _DASHES.sub("-", text))
    if "<" in text:
        text = _SCRIPT_TAG.sub(
            lambda found: f"{'_^'[found[1] in ('sup', 'SUP')]}{{{found[2]}}}", text
        )
        text = _TAG.sub(" ", text)
    if text.lstrip().startswith(">"):
        text = _QUOTED.sub("", text)
    if "\n" in text.strip() and "\\\\" not in text:
        text = _QUERY_LIST_ITEM.sub("", text)
        if _DASHED.match(text.lstrip("\n")):  # elsewhere, a dash at the start is a minus sign
            text = _DASHED.sub("", text)
    if "```" in text:
        text = _fences(text)
    text = _CODE.sub(r" \1 ", text)
    if "*" in text or "__" in text:
        text = _STARRED.sub(r"\1", _BOLD.sub(r"\2", text))
    return text


def _mathml(text: str) -> str:
    """Replace MathML by LaTeX between dollars."""
    out, done = list[str](), 0
    while (start := _MATHML.search(text, done)) is not None:
        end = _QUERY_MATHML_END.search(text, start.end())
        stop = len(text) if end is None else end.end()
        element = text[start.start() : stop] + ("</math>" if end is None else "")
        out += [text[done : start.start()], f" ${_latex_of(element)}$ "]
        done = stop
    return "".join([*out, text[done:]]) if out else text


def _fences(text: str) -> str:
    """Replace blocks of code: those in LaTeX become displays."""
    out, done = list[str](), 0
    opened = ""
    for at, found in enumerate(_CODE_FENCE.finditer(text)):
        content = text[done : found.start()]
        is_math = at % 2 == 1 and opened in _MATH_LANGUAGES and "$" not in content
        out.append(f" $${content}$$ " if is_math and content.strip() else content)
        opened = found[1].lower() if at % 2 == 0 else ""
        done = found.end()
    return "".join([*out, text[done:]])


def _latex_of(mathml: str) -> str:
    """The LaTeX of pasted MathML; '' if it holds no formula."""
    try:
        return mathml_to_latex(mathml)
    except ValueError:
        return ""
