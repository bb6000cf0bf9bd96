r"""Write single symbols as LaTeX: the tables of `commands`, inverted.

Of several commands for one symbol, the one that LaTeX and amsmath define is used.
"""

import re

from eqemb.formula.alphabets import styled
from eqemb.formula.commands import (
    ACCENTS,
    ARROWS,
    LIMITS,
    SYMBOLS,
    VARIANTS,
    character,
    escape,
    unescape,
)
from eqemb.formula.tree import Node

#: Names for which LaTeX has no command; they are written with `\operatorname`.
_NO_COMMANDS = frozenset(
    rf"\{name}"
    for name in "sgn arccot arcsec arccsc sech csch arcsinh arccosh arctanh tr Tr rank argmax"
    " argmin".split()
)
_PREFERRED = {
    "V!…": r"\dots", "V!⋯": r"\cdots", "′′": "″", "′′′": "‴", ":=": ":=", "{": r"\{", "}": r"\}",
    "V!𝕜": r"\mathbb{k}", "V!°": r"\degree", "‖": r"\|", "−": "-", "*": "*", "V!△": r"\triangle",
    "^": r"\^", "~": r"\~", "'": r"\'",
}  # fmt: skip
_PLAIN_WORD = re.compile(r"[a-zA-Z][a-zA-Z0-9]*\Z")
_ONE_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?\Z|\.[0-9]+\Z")
_TEXT_SPECIAL = re.compile(r"[\\{}$&#%_^~]|''|``")
_TEXT_ESCAPES = {
    "\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}", "''": "'{}'", "``": "`{}`",
}  # fmt: skip
_STYLE_COMMANDS = {
    "bf": r"\mathbf", "bi": r"\boldsymbol", "bb": r"\mathbb", "cal": r"\mathcal",
    "bcal": r"\mathbfcal", "frak": r"\mathfrak", "sf": r"\mathsf", "tt": r"\mathtt",
}  # fmt: skip
_STRUCK = "\u0338"


def _tokens() -> dict[str, str]:
    """Tag -> the token that makes it."""
    made: dict[str, str] = {}
    for token, tag in SYMBOLS.items():
        if token.isascii() and token not in _NO_COMMANDS:
            made.setdefault(tag, token)
    return made | _PREFERRED


def _letters() -> dict[str, tuple[str, str]]:
    """A letter or digit of another alphabet -> the command of the alphabet, and the plain one."""
    made: dict[str, tuple[str, str]] = {}
    plain = [tag for tag in SYMBOLS.values() if tag[:2] in ("V!", "N!") and len(tag) == 3]
    for style, command in _STYLE_COMMANDS.items():
        for tag in plain:
            letter = styled(tag, style)[2:]
            if letter != tag[2:]:
                made.setdefault(letter, (command, tag))
    return made


def _accents() -> dict[tuple[str, str], tuple[str, str]]:
    """Edge and sign of an accent -> its narrow and its wide command, '' if there is none."""
    made: dict[tuple[str, str], tuple[str, str]] = {}
    for command, (edge, sign, wide) in ACCENTS.items():
        narrow, broad = made.get((edge, sign), ("", ""))
        made[edge, sign] = (narrow, broad or command) if wide else (narrow or command, broad)
    del made["o", "○"]  # \textcircled is for text
    return made


_TOKEN_OF = _tokens()
_LETTERS = _letters()
_VARIANTS = {
    styled(shown, style)[2:]: (_STYLE_COMMANDS.get(style, ""), command)
    for command, (_, shown) in VARIANTS.items()
    for style in ("", "bi")
}
ACCENT_COMMANDS = _accents()
ARROW_COMMANDS = {char: command for command, char in reversed(ARROWS.items())}


def symbol(node: Node, *, takes_limits: bool = False) -> str:
    """A symbol that is no group, without its scripts."""
    tag, look = node.tag, node.look or {}
    kind = tag[:2]
    if kind == "V!":
        return _identifier(node, takes_limits=takes_limits)
    if kind == "N!":
        return _number(tag)
    if kind == "T!":
        shown = str(look.get("text", ""))
        text = unescape(tag[2:])
        return rf"\text{{{_escaped(shown if shown.strip() == text else text)}}}"
    if kind == "E!":
        return rf"\text{{[{_escaped(unescape(tag[2:]))}]}}"
    if kind == "W!":
        return "{}" if node.kids and node.kids.keys() - {"e"} else ""
    if tag[:1] == "?" and len(tag) > 1:
        return rf"\qvar{{{unescape(tag[1:])}}}"
    return operator(tag)


def operator(tag: str) -> str:
    """An operator or a fence."""
    known = _TOKEN_OF.get(tag)
    if known is not None:
        return known
    if len(tag) > 1 and tag[-1] == _STRUCK:
        return r"\not" + operator(tag[:-1])
    return unescape(tag)


def _identifier(node: Node, *, takes_limits: bool) -> str:
    tag, look = node.tag, node.look or {}
    known = _TOKEN_OF.get(tag)
    name = unescape(tag[2:])
    variant = _VARIANTS.get(str(look.get("glyph", ""))) if len(name) == 1 else None
    if variant is not None:
        made = f"{variant[0]}{{{variant[1]}}}" if variant[0] else variant[1]
    elif known is not None and len(name) == 1 and "upright" in look and name.isascii():
        made = rf"\mathrm{{{known}}}"
    elif known is not None:
        made = known
    elif _PLAIN_WORD.match(name):
        made = rf"\mathrm{{{name}}}"
    else:
        made = _styled(name)
    if takes_limits and tag not in LIMITS and ("limits" in look or len(name) > 1):
        return rf"\operatorname*{{{name if _PLAIN_WORD.match(name) else made}}}"
    if known is None and "name" in look and _PLAIN_WORD.match(name):
        return rf"\operatorname{{{name}}}"
    return made


def _styled(name: str) -> str:
    """A letter or word of another alphabet, or of any characters."""
    if len(name) == 1:
        made = _character(name)
        return rf"\operatorname{{{made}}}" if escape(name) in _TOKEN_OF else made
    commands = {_LETTERS.get(char, ("", ""))[0] for char in name}
    if len(commands) == 1 and (command := commands.pop()) in (r"\mathbf", r"\mathsf", r"\mathtt"):
        plain = "".join(_LETTERS[char][1][2:] for char in name)
        if _PLAIN_WORD.match(plain):
            return f"{command}{{{plain}}}"
    if name[-1:] == _STRUCK and len(name) == 2:
        return r"\not " + _character(name[0])
    return rf"\operatorname{{{' '.join(map(_character, name))}}}"


def _character(char: str) -> str:
    for tag in ("V!" + char, "N!" + char, escape(char)):
        if tag in _TOKEN_OF:
            return _TOKEN_OF[tag]
    if char in _LETTERS:
        command, tag = _LETTERS[char]
        return f"{command}{{{_TOKEN_OF.get(tag, tag[2:])}}}"
    return char


def _number(tag: str) -> str:
    text = unescape(tag[2:])
    if _ONE_NUMBER.match(text) or character(text[:1] or "0") == tag:
        return text
    commands = {_LETTERS.get(char, ("", ""))[0] for char in text if char != "."}
    if len(commands) == 1 and (command := commands.pop()):
        plain = (char if char == "." else _LETTERS[char][1][2:] for char in text)
        return f"{command}{{{''.join(plain)}}}"
    return "".join(map(_character, text)).replace(",", "{,}")


def _escaped(text: str) -> str:
    r"""Text within `\text`."""
    return _TEXT_SPECIAL.sub(lambda found: _TEXT_ESCAPES.get(found[0], "\\" + found[0]), text)
