r"""Count the displays of a page by a rule of its own, to check the reading.

It looks at tags and delimiters in the source, not at a tree: each construct is cut out where it is
counted, so that a formula that a page gives twice counts once.
"""

import re

from eqemb.readers.latex.commands import DISPLAYS

_HTML_COMMENT = (re.compile(r"<!--(?!\[CDATA)"), re.compile("-->"))
_NO_TEXT = [
    (re.compile(rf"<{name}(?=[\s>])", re.IGNORECASE), re.compile(rf"</{name}\s*>", re.IGNORECASE))
    for name in ("style", "pre", "code", "textarea", "head", "title", "nav")
]
_SCRIPT_END = re.compile(r"</script\s*>", re.IGNORECASE)
_MATH_SCRIPT = re.compile(r"<script[^<>]*math/tex\s*;\s*mode\s*=\s*display", re.IGNORECASE)
_ANY_SCRIPT = (re.compile(r"<script(?=[\s>])", re.IGNORECASE), _SCRIPT_END)
_MATHML_END = re.compile(r"</(?:m:|mml:)?math\s*>", re.IGNORECASE)
_EQUATION_TABLE = re.compile(r"class\s*=\s*[\"'][^\"'<>]*\bltx_eqn_table\b")
_KATEX = re.compile(r"class\s*=\s*[\"'][^\"'<>]*\bkatex-display\b")
_KATEX_MATH = (re.compile(r"katex-mathml[\"']>\s*<math"), _MATHML_END)
_CONTAINERS = [
    (re.compile(r"<mjx-container[^<>]*display=[\"']?true"), re.compile("</mjx-container>")),
    (re.compile(r"<dt?-math\s[^<>]*\bblock\b"), re.compile("</dt?-math>")),
    (
        re.compile(r"<(?:m:|mml:)?math\s[^<>]*(?:display|mode)\s*=\s*[\"']?(?:block|display)\b"),
        _MATHML_END,
    ),
]
_MATH_CLASSES = [
    (re.compile(r"<div[^<>]*class=[\"']math\b"), re.compile("</div>")),
    (re.compile(r"<span[^<>]*class=[\"']math display\b"), re.compile("</span>")),
]
_WIKIPEDIA = re.compile(r"<dd>\s*<span class=\"mwe-math-element(?! mwe-math-element-block)")
_ANY_TAG = re.compile(r"<[A-Za-z/!][^<>]*>")
_DISPLAY_DELIMITER = re.compile(
    r"\\\\|\\\$|\$\$|\\\[|\\\]|\\(begin|end)\s?\{(" + "|".join(map(re.escape, DISPLAYS)) + r")\}"
)


def count_displays(source: str) -> int:
    """The number of displays in a page."""
    source, _ = _cut(source, *_HTML_COMMENT)
    source, total = _cut(source, _MATH_SCRIPT, _SCRIPT_END)
    for pair in [_ANY_SCRIPT, *_NO_TEXT, _KATEX_MATH]:
        source, _ = _cut(source, *pair)
    if tables := len(_EQUATION_TABLE.findall(source)):
        return total + tables
    total += len(_KATEX.findall(source))
    total += sum(map(_is_only_formula, _WIKIPEDIA.split(source)[1:]))
    for pair in _CONTAINERS + _MATH_CLASSES:
        source, count = _cut(source, *pair)
        total += count
    return total + _count_delimiters(_ANY_TAG.sub(" ", source))


def _cut(source: str, opening: re.Pattern[str], closing: re.Pattern[str]) -> tuple[str, int]:
    """A page without some elements, and how many there were."""
    kept, count, at = [], 0, 0
    while (match := opening.search(source, at)) is not None:
        kept.append(source[at : match.start()])
        end = closing.search(source, match.end())
        at = end.end() if end else len(source)
        count += 1
    return "".join([*kept, source[at:]]), count


def _is_only_formula(indented: str) -> bool:
    """Whether an indented line of Wikipedia, without its begin, holds nothing but a formula."""
    line, end, _ = indented.partition("</dd>")
    rest, _ = _cut(line, re.compile("<math"), _MATHML_END)
    return bool(end) and not any(map(str.isalpha, _ANY_TAG.sub("", rest.partition(">")[2])))


def _count_delimiters(text: str) -> int:
    """Pairs of delimiters of displays; those inside of a pair do not count."""
    total, closing = 0, ""
    for match in _DISPLAY_DELIMITER.finditer(text):
        token = match[0]
        if closing:
            if token == closing:
                total, closing = total + 1, ""
        elif token in ("$$", r"\[") or match[1] == "begin":
            closing = {"$$": "$$", r"\[": r"\]"}.get(token) or f"\\end{{{match[2]}}}"
    return total
