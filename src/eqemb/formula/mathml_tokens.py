"""The symbols of MathML's tokens, such as LaTeX has for the same characters."""

import re
import unicodedata

from eqemb.formula.commands import NAMED, SYMBOLS, character, delimiter, escape
from eqemb.formula.rows import script_edge
from eqemb.formula.tree import Node

Items = list[Node]

INVISIBLE = dict.fromkeys(map(ord, "\u2061\u2062\u2063\u2064\u200b\ufe00\ufe01\ufeff"))
BLANKS = re.compile(r"[\s\u00a0\u2002-\u200a\u202f\u205f]+")

#: Italic letters are plain letters.
_ITALIC = re.compile("[\U0001d434-\U0001d467\U0001d6e2-\U0001d71bℎ]+")

#: Letters of any alphabet, which some converters use for the font of a text.
ALPHABET_LETTERS = re.compile("[\U0001d400-\U0001d7ffℎ]+")

#: A character or name in MathML -> its tag, from the LaTeX tables.
TOKEN_TAGS = {(tag[2:] if tag[1:2] == "!" else tag): tag for tag in SYMBOLS.values()}
TOKEN_TAGS.update({"ε": "V!ϵ", "φ": "V!ϕ", "*": "*", "∗": "*", "-": "−", "∥": "‖", "·": "⋅"})
TOKEN_TAGS.update({"'": "′", "’": "′", "𝜺": "V!𝝐", "𝝋": "V!𝝓"})
#: A letter that is a variant of the one in its tag.
_GLYPHS = frozenset("εφ𝜺𝝋")
#: A name that is one symbol: a word, perhaps of another alphabet or language.
SYMBOL_NAME = re.compile(r"[^\W\d_Α-Ωα-ωϕϵϑϰϱϖ][^\W_Α-Ωα-ωϕϵϑϰϱϖ-]*(?:-[a-zA-Z]+)*")
#: What LaTeX reads as one symbol in a number or an operator of several characters.
_PIECE = re.compile(r"[0-9]+(?:\.[0-9]+)?|\.[0-9]+|′+|:=|\|\||[^\W\d_]|\S[\u0300-\u036f]*")
_WIDTH = re.compile(r"\s*(-?(?:[0-9]++(?:\.[0-9]++)?|\.[0-9]++))\s*(em|ex|pt|px|mm|cm|in)\s*\Z")
_EM = {"em": 1.0, "ex": 0.43, "pt": 0.1, "px": 0.0625, "mm": 0.285, "cm": 2.85, "in": 7.2}
_NAMED_WIDTHS = {
    "thinmathspace": 0.167, "mediummathspace": 0.222, "thickmathspace": 0.278,
    "verythickmathspace": 0.333, "veryverythickmathspace": 0.389,
}  # fmt: skip


def shown_text(text: str) -> str:
    """Text without invisible characters, with single blanks."""
    return BLANKS.sub(" ", text.translate(INVISIBLE)).strip()


def space_width(text: str) -> float:
    """The width of a space in em; 0 if it is not known."""
    found = _WIDTH.match(text)
    return float(found[1]) * _EM[found[2]] if found else _NAMED_WIDTHS.get(text.strip(), 0.0)


def delimiter_tag(text: str) -> str:
    """The tag of a delimiter; '' for none, and for what is not a delimiter."""
    return delimiter(text) if len(text) == 1 or text == "||" else ""


def pieces(text: str) -> Items:
    """Characters that LaTeX would read one by one, and the numbers among them."""
    return [Node(_piece_tag(piece)) for piece in _PIECE.findall(text)]


def _piece_tag(piece: str) -> str:
    if piece[-1] in "0123456789":
        return "N!" + piece
    if unicodedata.combining(piece[-1]):
        return unicodedata.normalize("NFC", tag_of(piece[0], "") + piece[1:])
    return tag_of(piece, "")


def with_glyph(text: str, node: Node) -> Node:
    """The node of a letter, which is shown as it was written if it is a variant."""
    return node.hint("glyph", text) if text in _GLYPHS else node


def tag_of(text: str, prefix: str) -> str:
    """The tag of a token: from the table of characters and names, else by its element."""
    if len(text) == 1:
        if _ITALIC.match(text):
            text = unicodedata.normalize("NFKC", text)
        return TOKEN_TAGS.get(text) or character(text)
    if prefix and _ITALIC.fullmatch(text):
        text = unicodedata.normalize("NFKC", text)
    return TOKEN_TAGS.get(text) or prefix + escape(text)


def join_tokens(items: Items) -> Items:
    """Join tokens that converters split: upright words, `||`, three dots, the point of `.5`."""
    out: Items = []
    words: Items = []
    for node in items:
        last = out[-1] if out else None
        if last is not None and _continues_word(last, node):
            last.tag, last.kids = last.tag + node.tag[2:], node.kids
            words.append(last)
            continue
        if last is not None and last.kids is None and not last.n:
            if last.tag == "." and node.tag[:2] == "N!" and node.tag[2:].isdigit():
                last.tag, last.kids = "N!." + node.tag[2:], node.kids
                continue
            if node.tag == "|" and last.tag == "|" and not (node.look or last.look):
                last.tag, last.kids, last.look = "‖", node.kids, {"twin": True}
                continue
            if (
                node.tag in (".", "⋅")
                and last.tag == node.tag
                and len(out) > 1
                and out[-2].tag == node.tag
            ):
                out.pop()
                out[-1].tag, out[-1].kids = "V!…", node.kids
                continue
        out.append(node)
    for word in words:
        word.tag = NAMED.get(word.tag, word.tag)
        if word.kids and script_edge(word, "a") == "o":  # the scripts of `max` are limits
            word.kids = {
                {"a": "o", "b": "u"}.get(edge, edge): kid for edge, kid in word.kids.items()
            }
    return out


def _continues_word(last: Node, node: Node) -> bool:
    """Whether two upright letters are part of one word, as `max` in three elements."""
    look = node.look or {}
    if "upright" not in look or "upright" not in (last.look or {}) or "space" in look:
        return False
    is_letter = len(node.tag) == 3 and node.tag[2:].isalpha()
    return is_letter and node.tag.isascii() and last.tag.isascii() and last.kids is None
