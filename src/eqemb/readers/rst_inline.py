r"""Inline markup of reStructuredText: roles, references, substitutions and emphasis.

`read_inline` splits a paragraph into text, formulas and references to equations. Citations, code,
URLs and targets of links are left out, as in every reader.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

# Each alternative ends at the next character of its kind, so that a paragraph is scanned once.
_INLINE_MARKUP = re.compile(
    r"(?P<code>``(?=\S).+?``)"
    r"|:(?P<role>[A-Za-z][\w:+.-]{0,40}):`(?P<marked>[^`]+)`"
    r"|_?`(?P<plain>[^`]+)`(?::(?P<suffix>[A-Za-z][\w:+.-]{0,40}):(?!`)|__?)?"
    r"|(?<!\w)\|(?P<substitution>[^|\s](?:[^|]{0,80}[^|\s])?)\|_{0,2}"
    r"|(?P<cited>\s?\[(?:#[\w-]*|\*|[\w.:+-]+)\]_(?!\w))"
    r"|(?<![\w.+:-])(?P<link>[^\W_]++(?:[-._+:][^\W_]++)*)__?(?!\w)"
    r"|(?P<url>(?:https?|ftp)://[^\s<>`]+)"
    r"|\$\$(?P<display>.+?)\$\$"
    r"|(?<![\\$\w])\$(?=[^\s$])(?P<dollars>[^$]{1,300})(?<=[^\s\\])\$(?![\d$])"
    r"|(?<![\w*])(?P<star>\*\*?)(?=[^\s*])|(?<=[^\s*])\*\*?(?![\w*])"
    r"|\\(?P<escaped>.)",
    re.DOTALL,
)
_TITLED = re.compile(r"(?s)(?P<text>.*[^\s<])?\s*<(?P<target>[^<>]+)>\s*")
_RST_ESCAPE = re.compile(r"\\(?:\s|(.))")
_COMMAND_IN_IT = re.compile(r"\\[A-Za-z]+")

_RST_EQUATION_ROLES = {"eq", "math:eq", "math:numref"}
_LABEL_ROLES = {"ref", "numref", "any", "std:ref", "std:numref", "prf:ref"}
_CODE_ROLES = set(
    "code literal samp kbd file command program option envvar makevar regexp token raw-html"
    " raw-latex c:expr cpp:expr doc bdg".split()
)
_OBJECT_ROLES = set(
    "class func function meth method attr attribute mod module obj object data exc exception const"
    " property type macro member struct".split()
)


class RstPiece(NamedTuple):
    """A part of a paragraph."""

    kind: Literal["text", "math", "display", "reference"]
    value: str


def read_inline(
    text: str, substitutions: Mapping[str, str], default_role: str = ""
) -> Iterator[RstPiece]:
    """Split a paragraph into pieces, without its markup."""
    at = 0
    for match in _INLINE_MARKUP.finditer(text):
        if match.start() > at:
            yield RstPiece("text", text[at : match.start()])
        at = match.end()
        if role := match["role"] or match["suffix"]:
            yield from _role(role.lower(), match["marked"] or match["plain"])
        elif plain := match["plain"]:
            is_formula = _COMMAND_IN_IT.search(plain) and not _TITLED.fullmatch(plain)
            is_link = match[0].endswith("_")
            yield from _role("math" if is_formula else default_role * (not is_link), plain)
        elif name := match["substitution"]:
            yield RstPiece("text", substitutions.get(" ".join(name.split()).lower(), name))
        elif match["dollars"] or match["display"]:  # an extension of Sphinx
            is_inline = match["display"] is None
            yield RstPiece("math" if is_inline else "display", match["dollars"] or match["display"])
        elif match["link"]:
            yield RstPiece("text", match["link"])
        elif (escaped := match["escaped"]) and not escaped.isspace():
            yield RstPiece("text", escaped)
    if at < len(text):
        yield RstPiece("text", text[at:])


def _role(role: str, marked: str) -> Iterator[RstPiece]:
    """What interpreted text with a role prints."""
    last = role.rpartition(":")[2]
    if role in {"math", "math:math"}:
        yield RstPiece("math", marked)
        return
    if role in _RST_EQUATION_ROLES:
        yield RstPiece("reference", marked)
        return
    if role in _CODE_ROLES or role.startswith(("cite", "footcite", "footnote")):
        return
    marked = _RST_ESCAPE.sub(r"\1", marked)
    if titled := _TITLED.fullmatch(marked):
        yield RstPiece("text", (titled["text"] or "").replace("%s", "").replace("{number}", ""))
    elif role in _LABEL_ROLES:  # empty, unless it is the label of an equation
        yield RstPiece("reference", marked)
    elif last in _OBJECT_ROLES:
        yield RstPiece("text", marked.rstrip("()").rpartition(".")[2].lstrip("~!"))
    elif "://" not in marked:
        yield RstPiece("text", marked)
