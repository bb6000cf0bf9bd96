"""Parse one display: its rows, and the labels, tags and number marks of each row.

Works on positions in the expanded text. `display_walk` decides about numbers.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from eqemb.formula.latex_pieces import join_latex, one_line
from eqemb.readers.latex.commands import DISPLAYS

_ROW_TOKEN = re.compile(
    r"\\\\|\\cr(?![A-Za-z])|\\begin\s*\{|\\end\s*\{|\\(?:short)?intertext\s*(?=\{)|\\.|[{}]",
    re.DOTALL,
)
#: The end of a line break: a star, and a length in brackets. After a blank, only a number with a
#: unit is a length; other brackets start the next row.
ROW_END = re.compile(
    r"\*?(?:\[\s*(?:-?[\d.]+\s*[A-Za-z]{2}|-?[\d.]*\\[A-Za-z]+)\s*\]"
    r"|\s++\[\s*+(?:-\s*+)?[\d.]++\s*+(?:pt|em|ex|cm|mm|in|bp|pc|mu|sp|dd|cc|\\[A-Za-z@]+)\s*\])?"
)
_ROW_MARK = re.compile(
    r"\\(?:(?:ltx@|eq)?label\s*+(?:\[[^\]]{0,200}\]\s*+)?\{(?P<label>[^{}]*)\}"
    r"|(?P<tag>tag\*?\s*\{)"
    r"|tag(?:\s+(?P<plain_tag>[^\s{}\\$\"]+)|\s*\"(?P<quoted_tag>[^\"]*)\")"
    r"|(?P<counter>(?:ref)?stepcounter|addtocounter|setcounter|renewcommand|copyform)\s*(?=\{)"
    r"|(?P<prose>(?:short)?intertext\s*\{)"
    r"|(?P<note>footnote(?:text)?\s*+(?:\[[^\]]{0,2000}\]\s*+)?\{)"
    r"|[cC]ite[A-Za-z]*\*?\s*+(?:\[[^\]]{0,2000}\]\s*+)*\{[^{}]*\}"
    r"|raisetag\s*\{[^{}]*\}"
    r"|displaybreak\s*\[\d\]"
    r"|(?P<ieee>IEEE(?:no|yes)(?:sub)?number)(?![A-Za-z@])(?P<onwards>\*?)"
    r"|(?:(?P<unnumbered>nonumber|notag|nn|numberless)"
    r"|(?P<numbered>yesnumber)"
    r"|(?P<eqno>l?eqno\s*)"
    r"|displaybreak|allowdisplaybreaks|IEEEeqnarraynumspace|qedhere|footnotemark"
    r")(?![A-Za-z@]))"
)
_OPTIONS = r"\s*+(?:\[[^\]]{0,2000}\]\s*+)*"
_GRAPHICS = re.compile(
    rf"\\(?:includegraphics|includesvg|includepdf|epsfig|psfig|epsfbox)\*?{_OPTIONS}\{{[^{{}}]*\}}"
)
_BOX_OPTIONS = r"\s*+(?:\[[^\]]{0,200}\]\s*+)*+"
_BOX_ARGUMENT = r"\s*+\{[^{}]*+\}"
#: What may surround drawings without making them a formula: boxes, tables, spaces. Of a box, only
#: the arguments before its content match.
_FRAME = re.compile(
    rf"\\(?:resizebox\*?|fcolorbox){_BOX_ARGUMENT}{_BOX_ARGUMENT}"
    rf"|\\(?:raisebox|scalebox){_BOX_ARGUMENT}{_BOX_OPTIONS}"
    rf"|\\(?:rotatebox|parbox|colorbox|begin\s*+\{{minipage\}}){_BOX_OPTIONS}{_BOX_ARGUMENT}"
    rf"|\\(?:framebox|makebox)(?![A-Za-z]){_BOX_OPTIONS}"
    rf"|\\[hv]space\*?{_BOX_ARGUMENT}"
    r"|\\(?:begin|end)\s*+\{[a-zA-Z]+\*?\}(?:\{[lcr|@ ]*\})?"
    r"|\\(?:vcenter|hbox|mbox|fbox|centerline|centering|quad|qquad|hfill|displaystyle)(?![A-Za-z])"
    r"|\\\\(?:\[[^\]]{0,100}\])?|\\[,;:! ]|[\s&{}~.,;]"
)
#: An equation that ends its sentence.
ENDS_SENTENCE = re.compile(r"(?<!\\right)(?<!\\left)\.[\s}\\,;:!]*(?:\\end\{\w+\*?\}\s*)*$")
_BRACES = re.compile(r"\\.|[{}]", re.DOTALL)
_DISPLAY = r"\{(?:" + "|".join(re.escape(name) for name in sorted(DISPLAYS)) + r"|empheq)\}"
#: A display opens or closes by name: no formula in running text extends beyond.
EDGE = re.compile(rf"\\(?:begin|end){_DISPLAY}|(?<!\\)\\[\[\]]")
# Every alternative begins with a literal character, which makes the pattern three times as fast.
_NAMED_OPENING = re.compile(rf"\\(?:(begin{_DISPLAY}|\[)|\\)")
#: What comes before a display on its line in the source if it does not open there.
_COMMENT_OR_DEFINITION = re.compile(
    r"\\$|(?<!\\)%[^\n]*$"
    r"|\\(?:(?:re|provide)?(?:new)?command|[gex]?def|(?:re)?newenvironment|NewDocument\w+|let)"
    r"(?![A-Za-z])[^\n]*$"
)
_SOURCE_OPENING = re.compile(rf"\\(?:begin\s*{_DISPLAY}|\[)")
#: For the independent count: openings of displays, by their names only.
_OPENING = re.compile(rf"\\(?:(begin{_DISPLAY}|\[)|end{_DISPLAY}|[\\$\]])|\$\$*|\n[ \t]*\n")


@dataclass(slots=True)
class DisplayRow:
    """A row of a display, or a whole display without rows."""

    start: int
    end: int
    labels: list[str] = field(default_factory=list)
    tag: str | None = None
    r"""The source of its \tag."""
    unnumbered: bool = False
    r"""Marked by \nonumber or \notag."""
    numbered: bool = False
    r"""Marked as numbered in a starred display."""
    marks: list[str] = field(default_factory=list)
    r"""Number marks of IEEEeqnarray: "yesnumber", "yessubnumber*", ..."""
    counters: list[int] = field(default_factory=list)
    r"""Positions of \setcounter and similar."""
    prose: list[tuple[int, int]] = field(default_factory=list)
    r"""Positions of the text of \intertext."""
    notes: list[tuple[int, int]] = field(default_factory=list)
    """Positions of the text of footnotes."""
    latex: str = ""


def joined(rows: list[DisplayRow]) -> str:
    """The LaTeX of the rows of one equation."""
    return " \\\\ ".join(row.latex for row in rows if row.latex)


def is_drawing(latex: str) -> bool:
    """Whether an equation contains nothing but included drawings."""
    without, count = _GRAPHICS.subn("", latex)
    return count > 0 and not _FRAME.sub("", without)


def may_hold_edge(formula: str) -> bool:
    """A cheap test, nearly always false, before searching for an EDGE."""
    return "\\[" in formula or "\\]" in formula or "\\begin" in formula or "\\end" in formula


def count_displays(text: str, start: int = 0, end: int | None = None) -> int:
    r"""Count the displays opened in a text by their names: \begin{..}, \[ and every second $$."""
    displays, inline, dollars = 0, False, False
    end = len(text) if end is None else end
    if text.find("$$", start, end) < 0:  # most ranges have no dollars: only names count
        if text.find("\\begin{", start, end) < 0 and text.find("\\[", start, end) < 0:
            return 0
        return sum(match[1] is not None for match in _NAMED_OPENING.finditer(text, start, end))
    for match in _OPENING.finditer(text, start, end):
        token = match[0]
        if token == "$":
            inline = not inline
        elif token[0] == "$":
            opened, inline, dollars = _count_dollars(len(token), inline=inline, dollars=dollars)
            displays += opened
        elif token[0] == "\n":
            inline = False  # a blank line: a stray dollar has no effect beyond it
        elif token not in ("\\\\", "\\$"):
            displays += match[1] is not None
            inline = dollars = False
    return displays


#: The author left it out, or shows it as code.
_UNREAD_ENVIRONMENT = re.compile(r"\\begin\{(comment|verbatim\*?|lstlisting)\}")


def _unread_spans(text: str, start: int) -> list[tuple[int, int]]:
    """Where such environments are; the end of each name is looked for once if it is missing."""
    spans: list[tuple[int, int]] = []
    unclosed: set[str] = set()
    while match := _UNREAD_ENVIRONMENT.search(text, start):
        start, name = match.end(), match[1]
        end = -1 if name in unclosed else text.find(f"\\end{{{name}}}", start)
        if end < 0:
            unclosed.add(name)
        else:
            start = end + len(f"\\end{{{name}}}")
            spans.append((match.start(), start))
    return spans


def find_openings(text: str, start: int) -> list[int]:
    """Where displays open by name in a source, outside comments: the ends of their names.

    Those in a definition are left out: they are opened where it is used.
    """
    unread = _unread_spans(text, start)
    begins = [low for low, _ in unread]

    def is_read(position: int) -> bool:
        before = bisect_right(begins, position)
        return before == 0 or position >= unread[before - 1][1]

    return [
        match.end() - 1
        for match in _SOURCE_OPENING.finditer(text, start)
        if is_read(match.start())
        and not _COMMENT_OR_DEFINITION.search(text[max(0, match.start() - 200) : match.start()])
    ]


def _count_dollars(count: int, *, inline: bool, dollars: bool) -> tuple[int, bool, bool]:
    """Interpret a run of dollars: in "$a$$b$" it closes and opens, "$$$" may close two."""
    displays = 0
    while count > 0:
        if inline or count == 1:
            inline = not inline
            count -= 1
        else:
            displays += not dollars
            dollars = not dollars
            count -= 2
    return displays, inline, dollars


def group_end(text: str, pos: int, limit: int) -> int:
    """The position of the brace that closes the group whose content starts at `pos`."""
    depth = 1
    for match in _BRACES.finditer(text, pos, limit):
        if match[0] == "{":
            depth += 1
        elif match[0] == "}":
            depth -= 1
            if depth == 0:
                return match.start()
    return limit


def brace_depth(text: str) -> int:
    """The number of braces opened and not closed."""
    opened = text.count("{") - text.count("\\{")
    return opened - (text.count("}") - text.count("\\}"))


def split_rows(text: str, start: int, end: int) -> list[tuple[int, int]]:
    r"""The positions of a display's rows: split at \\ outside braces and inner environments."""
    if all(text.find(mark, start, end) < 0 for mark in ("\\\\", "\\cr", "intertext")):
        return [(start, end)]
    rows = []
    depth, row_start = 0, start
    for match in _ROW_TOKEN.finditer(text, start, end):
        token = match[0]
        if token == "{":
            depth += 1
        elif token == "}":
            depth -= 1
        elif token.startswith("\\begin"):
            depth += 2  # the environment, and the brace of its name
        elif token.startswith("\\end"):
            pass  # the environment closed and the brace of its name opened
        elif depth == 0 and token in ("\\\\", "\\cr"):
            rows.append((row_start, match.start()))
            row_start = ROW_END.match(text, match.end(), end).end()  # type: ignore[union-attr]
        elif depth == 0 and "intertext" in token and text[row_start : match.start()].strip():
            rows.append((row_start, match.start()))  # amsmath ends the preceding row
            row_start = match.start()
    rows.append((row_start, end))
    return rows


def read_row(text: str, start: int, end: int) -> DisplayRow:
    """Parse the row between two positions, and take its marks out."""
    row = DisplayRow(start, end)
    pieces: list[str] = []
    at = start
    for match in _ROW_MARK.finditer(text, start, end):
        if match.start() < at:
            continue
        pieces.append(text[at : match.start()])
        at = _take_mark(text, match, row, end)
    pieces.append(text[at:end])
    row.latex = one_line(join_latex(pieces))
    return row


def _take_mark(text: str, match: re.Match[str], row: DisplayRow, end: int) -> int:
    """Record one mark in the row; return where to continue."""
    if match["label"] is not None:
        row.labels.append(" ".join(match["label"].split()))  # TeX makes one blank of several
    elif match["unnumbered"]:
        row.unnumbered = True
    elif match["numbered"]:
        row.numbered = True
    elif match["ieee"]:
        row.marks.append(match["ieee"].removeprefix("IEEE") + match["onwards"])
    elif match["counter"]:
        row.counters.append(match.start())
        return _after_arguments(text, match.end(), end)
    elif match["plain_tag"] or match["quoted_tag"]:  # AMS-TeX
        row.tag = match["plain_tag"] or match["quoted_tag"]
    elif match["eqno"]:
        row.tag = text[match.end() : end]
        return end
    elif match["tag"] or match["prose"] or match["note"]:
        close = group_end(text, match.end(), end)
        if match["tag"]:
            row.tag = text[match.end() : close]
        else:
            (row.prose if match["prose"] else row.notes).append((match.end(), close))
        return min(close + 1, end)
    return match.end()


def _after_arguments(text: str, pos: int, end: int) -> int:
    """The position after the braced arguments that start here."""
    while text.startswith("{", pos):
        pos = min(group_end(text, pos + 1, end) + 1, end)
    return pos
