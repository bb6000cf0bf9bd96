r"""Find TeX in running text, between the delimiters of MathJax and KaTeX.

These are `$$`, `\[`, `\(`, `$` and display environments. Text without such formulas is text.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from eqemb.readers.latex.commands import DISPLAYS

Kind = Literal["text", "inline", "display", "reference", "unclosed"]


class TextPiece(NamedTuple):
    """Text, a formula, or a reference to a label."""

    kind: Kind
    text: str
    """Without delimiters; of an environment, with `\\begin` and `\\end`."""
    start: int
    end: int
    opening: str = ""


_OPENING_DELIMITER = re.compile(
    r"\\\$|\\\\|\\[\[(]|\$\$|\$|\\begin\s?\{([A-Za-z]+\*?)\}|\\(?:eq)?ref\{([^{}]{1,200})\}"
)
_CLOSING_DELIMITERS = {"$$": "$$", r"\[": r"\]", r"\(": r"\)"}
#: What matters between delimiters: the closing one, escaped characters, braces.
_INSIDE_FORMULA = {
    closing: re.compile(rf"({re.escape(closing)})|\\.|([{{}}])", re.DOTALL)
    for closing in (*_CLOSING_DELIMITERS.values(), "$")
}
#: Maximum length of a formula between single dollars, which may also be money.
_LONGEST_INLINE = 2000
#: What a price or plain words do not contain.
_TEX_SIGN = re.compile(r"[\\^_=<>{}|+*/()\[\]-]|^\s*\w{1,2}\s*$")
_STRONG_SIGN = re.compile(r"[\\^_=]")
_NAME_LETTERS = re.compile(r"[^\W\d_]{3}")


def split_formulas(text: str, *, has_dollars: bool) -> Iterator[TextPiece]:
    r"""The pieces of a text, in order.

    Args:
        text: A text without tags.
        has_dollars: Whether `$x$` is a formula; otherwise it is money.
    """
    return _Splitter(text, has_dollars=has_dollars).split()


class _Splitter:
    def __init__(self, text: str, *, has_dollars: bool) -> None:
        self.text = text
        self.has_dollars = has_dollars
        self.last: dict[str, int] = {}
        self.is_balanced = True

    def split(self) -> Iterator[TextPiece]:
        text, done, at = self.text, 0, 0
        while (match := _OPENING_DELIMITER.search(text, at)) is not None:
            piece = self.formula(match)
            at = match.end()
            if piece is not None:
                if match.start() > done:
                    yield TextPiece("text", text[done : match.start()], done, match.start())
                yield piece
                done = at = piece.end
        if done < len(text):
            yield TextPiece("text", text[done:], done, len(text))

    def formula(self, match: re.Match[str]) -> TextPiece | None:
        """The piece that begins with an opening delimiter; None if it is plain text."""
        opening, start = match[0], match.start()
        if opening == r"\$":
            return TextPiece("text", "$", start, match.end())
        if opening == "$":
            return self.dollars(start)
        if match[2]:
            return TextPiece("reference", match[2], start, match.end())
        if match[1]:
            return self.environment(match)
        if opening not in _CLOSING_DELIMITERS:
            return None
        end = self.end(_CLOSING_DELIMITERS[opening], match.end())
        if end < 0:
            is_display = opening in ("$$", r"\[")
            return (
                TextPiece("unclosed", opening, start, match.end(), opening) if is_display else None
            )
        kind: Kind = "inline" if opening.endswith("(") else "display"
        return TextPiece(kind, self.text[match.end() : end], start, end + 2, opening)

    def dollars(self, start: int) -> TextPiece | None:
        end = self.end("$", start + 1, _LONGEST_INLINE) if self.has_dollars else -1
        if end < 0:
            return None
        tex = self.text[start + 1 : end]
        if not _is_formula(tex, self.text[end + 1 : end + 2]):
            self.is_balanced = self.is_balanced and "$" not in tex
            return None
        return TextPiece("inline", tex, start, end + 1, "$")

    def environment(self, match: re.Match[str]) -> TextPiece | None:
        name, start = match[1], match.start()
        if name not in DISPLAYS:
            return None
        closing = f"\\end{{{name}}}"
        if self.last_of(closing) < match.end():
            return TextPiece("unclosed", match[0], start, match.end(), match[0])
        end = self.text.index(closing, match.end()) + len(closing)
        return TextPiece("display", self.text[start:end], start, end, name)

    def end(self, closing: str, start: int, most: int | None = None) -> int:
        """Where a closing delimiter is outside of braces, or else the next one; or -1."""
        if self.last_of(closing) < start:
            return -1
        first, depth = -1, 0
        limit = len(self.text) if most is None else min(start + most, len(self.text))
        for match in _INSIDE_FORMULA[closing].finditer(self.text, start, limit):
            if match[1]:
                first = match.start() if first < 0 else first
                if depth <= 0 or not self.is_balanced:
                    return match.start()
            elif match[2]:
                depth += 1 if match[2] == "{" else -1
        # Only one search to the end in each text, so that the time stays linear.
        self.is_balanced = False
        if first < 0 and most is None:
            self.last[closing] = -1
        return first

    def last_of(self, closing: str) -> int:
        if closing not in self.last:
            self.last[closing] = self.text.rfind(closing)
        return self.last[closing]


def _is_formula(tex: str, following: str) -> bool:
    """Whether `$tex$` is a formula and not an amount of money up to another one."""
    if "\n\n" in tex or not tex.strip():
        return False
    if following.isdigit():
        return _STRONG_SIGN.search(tex) is not None
    if not tex[0].isspace() and not tex[-1].isspace():
        return not (tex[0].isdigit() and _NAME_LETTERS.search(tex) and not _TEX_SIGN.search(tex))
    return _TEX_SIGN.search(tex) is not None and not _NAME_LETTERS.search(tex.split("\\", 1)[0])
