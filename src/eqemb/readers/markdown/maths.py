r"""Delimiters of mathematics in Markdown: what opens a display, and what closes it."""

import re

from eqemb.readers.latex.commands import DISPLAYS, DRAWINGS, VERBATIM

#: Environments that MathJax typesets as a display where they stand by themselves.
INNER = frozenset(
    "aligned alignedat gathered split cases dcases rcases array matrix pmatrix bmatrix Bmatrix "
    "vmatrix Vmatrix smallmatrix subequations CD".split()
)
#: Environments that are not running text.
SKIPPED = (
    VERBATIM
    | DRAWINGS
    | frozenset("tabular tabularx longtable algorithmic thebibliography".split())
)
MATH_ENVIRONMENTS = DISPLAYS | INNER

#: What opens a display, or something else in which one does not open: inline code, escapes.
OPENING = re.compile(
    r"(?<!\\)`+[^`\n]*`+"
    r"|\$\$"
    r"|\\\\?\["
    r"|\\begin\s?\{([A-Za-z]+\*?)\}"
    r"|\{%-?\s*(?:math|katexmm|katex\s+display)\s*-?%\}"
    r"|\\[\\$`]"
)
ESCAPES = ("\\\\", "\\$", "\\`")
_CLOSING = {
    "$$": re.compile(r"(?<!\\)\$\$|(?<=[^\\]\\\\)\$\$"),
    "\\[": re.compile(r"(?<!\\)\\\]|(?<=[^\\]\\\\)\\\]|(?<!\\)(\\\[)"),
    "\\\\[": re.compile(r"(?<!\\)\\\\\]|(?<!\\)(\\\\\[)(?=\s)"),
    "\\(": re.compile(r"(?<!\\)\\\)|(?<!\\)(\\\()"),
    "\\\\(": re.compile(r"(?<!\\)\\\\\)|(?<!\\)(\\\\\()"),
    "{%": re.compile(r"\{%-?\s*end(?:math|katexmm|katex)\s*-?%\}"),
}
_ENVIRONMENTS = {
    name: re.compile(rf"\\(?:(begin)|end)\s?\{{{re.escape(name)}\}}")
    for name in MATH_ENVIRONMENTS | SKIPPED
}
_MATH_CHARACTER = re.compile(r"[\\^_={}<>+∈≤≥→∑∫]|\d")
_SYMBOL = re.compile(r"[\\^_={}<>+]")
_WORDS = re.compile(r"[A-Za-z]{3,}")
_TEXT_GROUP = re.compile(
    r"\\(?:text|mbox|textrm|textbf|textit|mathrm|operatorname)\w*\s*\{[^{}]*\}"
)
_PROSE = re.compile(r"(?<!\\)\b[A-Za-z]+(?: [a-z]{2,},?){3}")
_CONJUNCTION = re.compile(r"^[\d.,]+ (?:[a-z]{2,} )+")
_MARKDOWN_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_HTML_ENTITY = re.compile(r"&(lt|gt|amp);")
_CHARACTERS = {"lt": "<", "gt": ">", "amp": "&"}


def find_closing(opening: str, name: str, text: str, start: int) -> tuple[int, int]:
    """Where the delimiter that closes a display stands; negative if it does not close.

    That is -1 if no later one of its kind closes either, and -2 if the next one opens before.

    Args:
        opening: The opening delimiter.
        name: The environment that it begins, or ''.
        text: Where to look.
        start: After the opening delimiter.
    """
    if not name:
        found = _CLOSING[opening[:2] if opening[0] == "{" else opening].search(text, start)
        if found is None:
            return -1, -1
        return found.span() if not found.lastindex else (-2, -2)
    depth = 1
    for match in _ENVIRONMENTS[name].finditer(text, start):
        depth += 1 if match[1] else -1
        if not depth:
            return match.span()
        if depth > 1 and name in DISPLAYS:
            return -2, -2
    return -1, -1


def environment_pairs(name: str, text: str) -> dict[int, tuple[int, int]]:
    """Where each environment of one name closes, by the position after its begin."""
    found: dict[int, tuple[int, int]] = {}
    opened: list[int] = []
    for match in _ENVIRONMENTS[name].finditer(text):
        if match[1]:
            if name in DISPLAYS:
                opened.clear()  # a display within a display: the first one was not closed
            opened.append(match.end())
        elif opened:
            found[opened.pop()] = match.span()
    return found


def unclosed(line: str) -> tuple[str, str] | None:
    """The delimiter and environment of a display that opens in a line and does not close in it."""
    at = 0
    while match := OPENING.search(line, at):
        at = match.end()
        opening, name = match[0], match[1] or ""
        if opening[0] == "`" or opening in ESCAPES:
            continue
        if name and name not in _ENVIRONMENTS:
            continue
        end = find_closing(opening, name, line, at)[1]
        if end < 0:
            return opening, name
        at = end
    return None


def is_formula(content: str, *, is_inner: bool = False) -> bool:
    r"""Whether what stands in `\[ \]` or `\( \)` is mathematics, and not text in brackets.

    Args:
        content: What stands between them.
        is_inner: Whether they stand amid a line, where `\[3\]` may be a citation.
    """
    if is_inner:
        return _SYMBOL.search(content) is not None
    return _MATH_CHARACTER.search(content) is not None or not _WORDS.search(content)


def is_prose(content: str) -> bool:
    """Whether what stands between two delimiters is running text: one of them is stray."""
    parts = [part for part in content.split("\n\n") if "\\text" not in part]
    return "\n\n" in content and any(
        _PROSE.search(_TEXT_GROUP.sub("", part))
        or (_WORDS.search(part) and not _SYMBOL.search(part))
        for part in parts
    )


def is_money(content: str, after: str) -> bool:
    """Whether two single dollars are signs of money: "from $5 to $10".

    Args:
        content: What stands between them.
        after: The character after the second.
    """
    if content[:1].strip() and content[-1:].strip() and not after.isdigit():  # pandoc's rule
        is_sum = content.count("(") == content.count(")") and not _CONJUNCTION.search(content)
        return content[0].isdigit() and not is_sum
    has_words = _WORDS.search(_TEXT_GROUP.sub("", content)) is not None
    if _SYMBOL.search(content) is None:
        return has_words or after.isdigit()
    return has_words and content[:1].isdigit() and "\\" not in content


def unescape(latex: str) -> str:
    r"""Mathematics between `\\[` and `\\]`, whose author escaped it for Markdown."""
    return _MARKDOWN_ESCAPE.sub(r"\1", latex)


def unescape_entities(latex: str) -> str:
    """Mathematics with the characters that HTML reserves."""
    return _HTML_ENTITY.sub(lambda match: _CHARACTERS[match[1]], latex) if "&" in latex else latex


class Depth:
    """Finds the line in which a display closes that opened in an earlier one."""

    def __init__(self, opening: str, name: str) -> None:
        self._key = opening[:2] if opening[0] == "{" else opening
        self._name = name
        self._depth = 1

    def closes(self, line: str) -> bool:
        """Whether the display closes in the next line."""
        if not self._name:
            return any(not found.lastindex for found in _CLOSING[self._key].finditer(line))
        for match in _ENVIRONMENTS[self._name].finditer(line):
            self._depth += 1 if match[1] else -1
            if not self._depth:
                return True
        return False
