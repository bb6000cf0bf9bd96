r"""One display: its rows, and for each row the labels, tags and number marks in it.

Works on positions in the expanded text and decides nothing about numbers; structure.py does.
"""

import re
from dataclasses import dataclass, field

_ROW_TOKEN = re.compile(
    r"\\\\|\\cr(?![A-Za-z])|\\begin\s*\{|\\end\s*\{|\\.|[{}]", re.DOTALL
)
_ROW_END = re.compile(r"\*?(?:\[\s*(?:-?[\d.]+\s*[A-Za-z]{2}|-?[\d.]*\\[A-Za-z]+)\s*\])?")
_MARK = re.compile(
    r"\\(?:(label)\s*\{([^{}]*)\}|(tag)(\*?)\s*\{|(nonumber|notag|IEEEnonumber|nn|numberless)"
    r"|(IEEEyesnumber|IEEEyessubnumber|yesnumber)|(intertext|shortintertext)\s*\{|"
    r"(l?eqno)(?![A-Za-z])\s*|(displaybreak|allowdisplaybreaks|raisetag|IEEEeqnarraynumspace"
    r"|qedhere|ltx@label))(?![A-Za-z@])"
    r"(?:(?<=break)\s*\[\d\]|(?<=raisetag)\s*\{[^{}]*\})?"
)
_BRACES = re.compile(r"\\.|[{}]", re.DOTALL)


@dataclass(slots=True)
class Row:
    """A row of a display, or the whole of a display that has one."""

    start: int
    end: int
    labels: list[str] = field(default_factory=list)
    tag: str | None = None
    unnumbered: bool = False
    """It says so itself: \\nonumber or \\notag."""
    numbered: bool = False
    """It says so itself, in a starred display: \\IEEEyesnumber."""
    prose: list[tuple[int, int]] = field(default_factory=list)
    """Where \\intertext stands in it."""
    latex: str = ""


def group_end(text: str, pos: int, limit: int) -> int:
    """The position of the brace that closes the group whose inside starts at `pos`."""
    depth = 1
    for match in _BRACES.finditer(text, pos, limit):
        if match[0] == "{":
            depth += 1
        elif match[0] == "}":
            depth -= 1
            if depth == 0:
                return match.start()
    return limit


def split_rows(text: str, start: int, end: int) -> list[tuple[int, int]]:
    r"""Where the rows of a display stand: cut at \\ outside braces and inner environments."""
    if text.find("\\\\", start, end) < 0 and text.find("\\cr", start, end) < 0:
        return [(start, end)]
    rows = []
    depth, row_start = 0, start
    for match in _ROW_TOKEN.finditer(text, start, end):
        token = match[0]
        if token == "{" or token.startswith("\\begin"):
            depth += 1
        elif token == "}" or token.startswith("\\end"):
            depth -= 1
        elif depth == 0 and token in ("\\\\", "\\cr"):
            rows.append((row_start, match.start()))
            row_start = _ROW_END.match(text, match.end(), end).end()  # type: ignore[union-attr]
        # \begin{x} and its own closing brace: the brace was counted with \begin
        if token.startswith(("\\begin", "\\end")):
            depth += 1
    rows.append((row_start, end))
    return rows


def read_row(text: str, start: int, end: int) -> Row:
    """The row between two positions, its marks taken out."""
    row = Row(start, end)
    pieces: list[str] = []
    at = start
    for match in _MARK.finditer(text, start, end):
        if match.start() < at:
            continue
        pieces.append(text[at : match.start()])
        at = _take_mark(text, match, row, end)
    pieces.append(text[at:end])
    row.latex = " ".join("".join(pieces).split())
    return row


def _take_mark(text: str, match: re.Match[str], row: Row, end: int) -> int:
    """Note one mark in the row; where reading goes on."""
    if match[1]:
        row.labels.append(match[2].strip())
    elif match[3]:
        close = group_end(text, match.end(), end)
        row.tag = _plain(text[match.end() : close])
        return min(close + 1, end)
    elif match[5]:
        row.unnumbered = True
    elif match[6]:
        row.numbered = True
    elif match[7]:
        close = group_end(text, match.end(), end)
        row.prose.append((match.end(), close))
        return min(close + 1, end)
    elif match[8]:
        row.tag = _plain(text[match.end() : end]).strip("()")
        return end
    return match.end()


def _plain(text: str) -> str:
    """A tag as it prints, nearly: without commands, braces and dollar signs."""
    known = {"\\ast": "*", "\\star": "⋆", "\\dagger": "†", "\\ddagger": "‡", "\\prime": "'"}
    text = re.sub(r"\\[A-Za-z]+", lambda match: known.get(match[0], ""), text)
    return re.sub(r"[{}$\s]", "", text).strip()
