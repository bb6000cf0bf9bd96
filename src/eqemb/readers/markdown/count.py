r"""Count displays in Markdown by another rule than the reader's: delimiters, without blocks.

Code and formulas between single dollars are cut out first. Then every second `$$`, every `\[` that
closes, every environment outside of them, and every fence of mathematics is a display.
"""

import re

from eqemb.readers.latex.commands import DISPLAYS

_FENCE_LINE = re.compile(
    r"[ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t>]*+)?(`{3,}|~{3,}|:{3,})[ \t]*([^\n`]*|\{[^\n]*)$"
)
_COUNTED_FENCE = re.compile(r"\{?math\b")
_PROSE_FENCE = re.compile(
    r"ad-|\{[\s.#]*(?!code|eval|raw|include|mermaid|image|csv|r[\s,}]|python|julia|stan|bash|sh\b|"
    r"html|ojs|dot\b|index|toctree|bib|video|tikz|literal|plot|jl\b|sql|cat\b|shell|c\b|cpp|js\b)"
    r"[a-z]+[\w:-]*",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_UNCOUNTED_LINE = re.compile(r"[ \t]*%(?!%)|#{1,6}[ \t]|#{2,6}[^\s#!]")  # comments and headings
_CODE_LINE = re.compile(r"(?:[ ]{4}|\t)\s*+(?!\$\$|\\|[`~:]{3})\S")
_HEADING_ABOVE = re.compile(r"[ ]{0,3}(?:=+|-{2,})[ \t]*$")
_COUNTED_ITEM = re.compile(r"\s*(?:[-*+]|\(?\w{1,9}[.)]|#\.)\s|\s*[:({<]|[ ]{1,3}\S")
_RAW_OPENING = re.compile(
    r"<(script|style|pre|svg|math|textarea|code|iframe|video|d-code|d-cite)\b|\{%-?\s*(highlight|comment)\b"
)
_COUNTED_ELEMENT = re.compile(
    r"<math\b[^<>]*\bdisplay\s*=\s*[\"']?block\b|<script\b[^<>]*\bmode\s*=\s*display", re.IGNORECASE
)
_CODE_SPANS = re.compile(r"\$`[^`]+`\$|`[^`\n]+`")  # the first is a formula of GitHub
#: In one line; `$a$$b$` are two.
_COUNTED_INLINE = re.compile(r"(?<!\$)(?:\$(?![\s$])[^$\n]*(?<![\s$])\$(?!\d))+")
_NAMES = "|".join(re.escape(name) for name in sorted(DISPLAYS))
_NAMED = re.compile(rf"(?<!\\\[)\\begin\s?\{{(?:{_NAMES})\}}")
_LIQUID = re.compile(r"\{%-?\s*(?:end)?math\s*-?%\}")
_ESCAPED_BRACKET = re.compile(r"(?<!\\)\\{1,2}\[(?!\s*-?[\d.]+\s*(?:pt|em|ex|cm|mm))")
_SYMBOL = re.compile(r"[\\^_={}<>+]")
_MARK = re.compile(r"(?:[ \t]|>|[-*+][ \t]|\d+[.)][ \t])*$")


def count_displays(text: str, *, is_kramdown: bool = False) -> int:
    """The number of displays that open in a Markdown document."""
    end = text.rfind("-->")
    text = _COMMENT.sub("", text[: end + 3]) + text[end + 3 :] if end >= 0 else text
    fences, text = _without_code(text)
    elements = len(_COUNTED_ELEMENT.findall(_CODE_SPANS.sub("", text)))
    text = _without_raw(text)
    text = _COUNTED_INLINE.sub("x", _CODE_SPANS.sub("", text).replace("\\$", ""))
    text = _LIQUID.sub("$$", text)
    parts = text.split("$$")
    named = sum(len(_NAMED.findall(part)) + _count_brackets(part) for part in parts[::2])
    if is_kramdown:
        inner = range(1, len(parts) - 1, 2)
        return elements + fences + named + sum(_is_block(parts[i - 1], parts[i + 1]) for i in inner)
    return elements + fences + named + len(parts) // 2


def _count_brackets(text: str) -> int:
    r"""The number of `\[` that open a formula, and not text in escaped brackets."""
    before, *parts = _ESCAPED_BRACKET.split(_NAMED.sub("", text))
    count = 0
    for part in parts:
        content, closing, rest = part.partition("\\]")
        is_alone = (
            _MARK.match(before[-400:].rpartition("\n")[2]) and not rest.partition("\n")[0].strip()
        )
        count += bool(is_alone or (closing and _SYMBOL.search(content.rstrip("\\"))))
        before = part
    return count


def _is_block(before: str, after: str) -> bool:
    """Whether `$$` stand on lines of their own."""
    indent, rest = before[-400:].rpartition("\n")[2], after[:400].partition("\n")[0]
    return _MARK.match(indent) is not None and not rest.strip(" \t.,;:")


def _without_raw(text: str) -> str:
    """The text without scripts and preformatted text."""
    kept, at = [], 0
    never_closed: set[str] = set()
    for opening in _RAW_OPENING.finditer(text):
        closing = f"</{opening[1]}" if opening[1] else f"end{opening[2]}"
        if opening.start() < at or closing in never_closed:
            continue
        end = text.find(closing, opening.end())
        if end < 0:
            never_closed.add(closing)
        else:
            kept.append(text[at : opening.start()])
            at = end
    return "".join([*kept, text[at:]])


def _without_code(text: str) -> tuple[int, str]:
    """The number of fences of mathematics, and the text outside of them and of code."""
    kept: list[str] = []
    directives: list[str] = []
    marker, count = "", 0
    is_after_blank, is_in_list = True, False
    for line in text.split("\n"):
        match = _FENCE_LINE.match(line)
        if match is None:
            is_code = is_after_blank and not is_in_list and _CODE_LINE.match(line)
            if _HEADING_ABOVE.match(line) and _ends_with_heading(kept):
                kept.pop()
            kept += [] if marker or is_code or _UNCOUNTED_LINE.match(line) else [line]
            if line.strip() and not is_code:
                is_in_list = _COUNTED_ITEM.match(line) is not None or (
                    is_in_list and line[0] in " \t"
                )
                is_after_blank = False
            else:
                is_after_blank = True
            continue
        fence, info = match[1], match[2].strip()
        if marker:
            marker = "" if fence.startswith(marker) and not info else marker
        elif _COUNTED_FENCE.match(info):
            marker, count = fence, count + 1
        elif info and (fence[0] == ":" or _PROSE_FENCE.match(info)):
            directives.append(fence)
        elif not info and directives and fence.startswith(directives[-1]):
            directives.pop()
        elif fence[0] != ":":
            marker = fence
    return count, "\n".join(kept)


def _ends_with_heading(lines: list[str]) -> bool:
    """Whether the last line is a heading if the next one underlines it: a paragraph of one line."""
    *_, before, last = ["", "", *lines[-2:]]
    return last[:1] not in ("", "|", "$", "\\") and not before.strip()
