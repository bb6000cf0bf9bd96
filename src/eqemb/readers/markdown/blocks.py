r"""The blocks of a Markdown document, line by line.

The text of a paragraph is collected and read by `Spans`. A display that is open at the end of a
line goes on to its closing delimiter, over blank lines, list marks and quotation marks, but never
over a heading or a fence: there, its delimiter was stray.
"""

import re
from dataclasses import dataclass, field

from eqemb.readers.draft import Draft, plain
from eqemb.readers.markdown import maths
from eqemb.readers.markdown.dialect import Dialect
from eqemb.readers.markdown.fences import FENCE, Fence, closes, read_fence, split_options
from eqemb.readers.markdown.pieces import Place
from eqemb.readers.markdown.raw import HIDDEN, RawParts
from eqemb.readers.markdown.spans import Spans

_HEADING = re.compile(r"(#{1,6})(?:[ \t]++(.*))?$")
_TIGHT_HEADING = re.compile(r"(#{2,6})([^\s#!].*)$")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_RULE = re.compile(r"(?:[-*_+=][ \t]*){3,}$")
_ITEM = re.compile(r"(?:[-*+]|\(?\d{1,9}[.)]|#\.)(?:[ \t]+(?:\[[ xX]\][ \t]+)?|$)")
_QUOTE = re.compile(r"[ \t]{0,3}>[ \t]?")
_QUOTES = re.compile(r"(?:[ \t]{0,3}>[ \t]?)*+")
_CALLOUT = re.compile(r"\[!([\w-]+)\][+-]?[ \t]*(.*)")
_ADMONITION = re.compile(r"(?:!!!|\?\?\?\+?)[ \t]++[\w \t-]++(?:(?<=[ \t])\"([^\"]*)\")?$")
_TABLE_RULE = re.compile(r"[ \t]*+\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*+$")
_GRID_RULE = re.compile(r"[ \t]*\+(?:[-=:]+\+)+[ \t]*$")
_LINK_DEFINITION = re.compile(r"\[(?!\^)[^\[\]\n]+\]:[ \t]*\S")
_FOOTNOTE = re.compile(r"\[\^[^\[\]\n]+\]:[ \t]*")
_TARGET = re.compile(r"\(([^()\s]+)\)=[ \t]*$")
_MACRO_LINE = re.compile(
    r"\\(?:(?:re|provide)?newcommand|[gex]?def|let|DeclareMathOperator|DeclarePairedDelimiter)"
    r"\*?(?![A-Za-z])"
)
_LATEX_LINE_COMMAND = re.compile(
    r"\\(title|author|date|(?:sub)*section|chapter|paragraph)\*?[ \t]*\{"
)
_DIRECTIVE_LINE = re.compile(r":(?:begin_tab|end_tab|label|width|height):(?:`[^`]*`)?[ \t]*$")
_SECTION_NUMBER = re.compile(r"^\s*(?:\d+\.)+\d*\s+")
_BLOCK_START = frozenset("#`~:>|-*+_=0123456789([<!?{\\%")


class _Title:
    """Collects a heading; a display in it is read as inline mathematics."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.pieces: list[str] = []

    def text(self, piece: str) -> None:
        self.pieces.append(plain(piece))

    def inline(self, latex: str) -> None:
        self.pieces.append(self.draft.inline_text(latex))

    def display(self, latex: str, **_options: object) -> None:
        self.inline(latex)

    def reference(self, label: str) -> None:
        """A heading has no use for it."""

    def break_sentence(self) -> None:
        self.pieces.append(" ")

    def lost(self, cause: str, line: int, detail: str = "") -> None:
        self.draft.lost(cause, line, detail)


@dataclass(slots=True)
class Blocks:
    """Reads the lines of one document, or of one cell of a notebook, into a draft."""

    draft: Draft
    dialect: Dialect
    lines: list[str]
    cell: int = 0
    """The number of the notebook's cell, or 0."""
    first: int = 0
    """The first line to read."""
    _at: int = 0
    _raw: RawParts = field(init=False)
    _buffer: list[str] = field(default_factory=list)
    _start: int = 0
    _fences: list[Fence] = field(default_factory=list)
    _targets: list[str] = field(default_factory=list)
    _unclosed: dict[tuple[str, str], int] = field(default_factory=dict)
    _in_list: bool = False
    _after_blank: bool = True
    _goes_on: bool = False
    _after_display: bool = False

    def __post_init__(self) -> None:
        self._raw = RawParts(self.lines)

    def read(self) -> None:
        """Read all lines."""
        self._at = self.first
        while self._at < len(self.lines):
            self._read_line(self.lines[self._at])
        self._end_paragraph()

    def title(self, text: str) -> None:
        """Take a title that stands outside of the text."""
        self.draft.title(self._line_of(text))

    # -- lines

    def _read_line(self, line: str) -> None:
        stripped = line.strip()
        if not stripped:
            self._flush()
            self._after_blank = True
            self._at += 1
            return
        quotes = 0
        if stripped[0] == ">":
            if match := _QUOTES.match(line):
                quotes = min(match[0].count(">"), _OPEN_FENCES)
                line = line[match.end() :]
            stripped = line.strip()
            if not stripped:
                self._flush()
                self._at += 1
                return
        indent = len(line) - len(line.lstrip())
        if self._is_code(line, stripped, indent):
            self._at += 1
            return
        if "<" in stripped or "{%" in stripped:
            stripped = self._raw.cut(stripped, self._at).strip() or HIDDEN
        if stripped == HIDDEN:
            self._buffer += [""] * bool(self._buffer)
            self._at += 1
            return
        if indent == 0 and self._after_blank and not _ITEM.match(stripped):
            self._in_list = False
        if stripped[0] not in _BLOCK_START or not self._read_special(stripped, quotes):
            self._read_text(stripped, quotes)
        self._after_blank = False

    def _is_code(self, line: str, stripped: str, indent: int) -> bool:
        """Whether a line is code because it is indented."""
        is_indented = indent >= 4 or line[:1] == "\t"
        if not is_indented or self._in_list or not self._after_blank or self._buffer:
            return False
        return not maths.OPENING.match(stripped) and not FENCE.match(stripped)

    def _read_special(self, stripped: str, quotes: int) -> bool:
        """Read a line whose first character may begin a block; False if it is text."""
        first = stripped[0]
        if first in "`~:" and self._read_fence(stripped):
            return True
        if first == "#":
            if match := _HEADING.match(stripped):
                self._heading(_without_closing(match[2] or ""), len(match[1]))
            elif match := _TIGHT_HEADING.match(stripped):
                self._heading(match[2].rstrip("#"), len(match[1]))
            if match:
                self._at += 1
                return True
        if (first in "-*_+=" and _RULE.match(stripped)) or _is_silent(stripped, first):
            self._end_paragraph()
            self._at += 1
            return True
        if first == "\\" and self._read_command(stripped):
            return True
        if match := _TARGET.match(stripped):
            self._end_paragraph()
            self._targets.append(match[1])
            self._at += 1
            return True
        return self._read_container(stripped, quotes)

    def _read_container(self, stripped: str, quotes: int) -> bool:
        """Read the line that begins a list item, a callout, an admonition or a footnote."""
        if match := _ITEM.match(stripped):
            self._in_list = True
            self._end_paragraph()
            rest = stripped[match.end() :]
            if FENCE.match(rest) and self._read_fence(rest):
                return True
            self._read_text(rest, quotes)
            return True
        if quotes and (match := _CALLOUT.match(stripped)):
            self._end_paragraph()
            self._sentence(match[2])
            self._at += 1
            return True
        if match := _ADMONITION.match(stripped):
            self._end_paragraph()
            self._sentence(match[1] or "")
            self._in_list = True  # its body is indented
            self._at += 1
            return True
        if match := _FOOTNOTE.match(stripped):
            self._end_paragraph()
            self._in_list = True
            self._read_text(stripped[match.end() :], quotes)
            return True
        return False

    # -- text

    def _read_text(self, text: str, quotes: int) -> None:
        """Read a line of a paragraph, a table or a heading that the next line underlines."""
        following = self.lines[self._at + 1] if self._at + 1 < len(self.lines) else ""
        if not quotes and not self._buffer and _UNDERLINE.match(following) and text[:1] not in "|$":
            self._heading(text, 1 if "=" in following else 2)
            self._at += 2
            return
        is_row = text[0] == text[-1] == "|" and text.count("|") > 2 if text else False
        if is_row or ("|" in text and "|" in following and _TABLE_RULE.match(following)):
            self._read_table()
            return
        if _GRID_RULE.match(text):
            self._end_paragraph()
            self._at += 1
            return
        self._add(text)
        if opened := maths.unclosed(text):
            self._read_display(opened, quotes)

    def _add(self, text: str) -> None:
        if not self._buffer:
            self._start = self._at
            if self._goes_on and not self._continues(text):
                self._end_paragraph()
            self._goes_on = False
        self._buffer.append(text)
        self._at += 1

    def _continues(self, text: str) -> bool:
        """Whether text after a blank line belongs to the sentence before it."""
        if self._after_display and text[:1].islower():
            return True
        opening = maths.OPENING.match(text)
        return opening is not None and opening[0][0] != "`" and opening[0] not in maths.ESCAPES

    def _read_display(self, opened: tuple[str, str], quotes: int) -> None:
        """Add the lines of a display that is open at the end of a line."""
        while self._at >= self._unclosed.get(opened, 0):
            end = self._closing_line(opened, quotes)
            if end < 0:
                return
            while self._at <= end:
                self._add(self._unquoted(self._at, quotes))
            rest = self._buffer[-1]
            close = maths.find_closing(*opened, rest, 0)[1]
            following = maths.unclosed(rest[close:]) if close >= 0 else None
            if following is None:
                return
            opened = following

    def _closing_line(self, opened: tuple[str, str], quotes: int) -> int:
        """The line in which a display closes, or -1."""
        depth_of = maths.Depth(*opened)
        for number in range(self._at, len(self.lines)):
            line = self._unquoted(number, quotes)
            if depth_of.closes(line):
                return number
            stripped = line.lstrip()
            if stripped[:1] in "#`~:" and self._is_boundary(stripped):
                break
        else:
            number = len(self.lines)
        self._unclosed[opened] = number
        return -1

    def _is_boundary(self, stripped: str) -> bool:
        match = FENCE.match(stripped)
        if match:
            return match[1][0] != ":" or bool(self._fences)
        return _HEADING.match(stripped) is not None

    def _unquoted(self, number: int, quotes: int) -> str:
        line = self.lines[number]
        for _ in range(quotes):
            if match := _QUOTE.match(line):
                line = line[match.end() :]
        return line.strip()

    def _flush(self) -> None:
        """Read the text so far. The paragraph goes on if a display follows after a blank line."""
        if self._buffer:
            self._spans("\n".join(self._buffer), self._start)
            self._buffer.clear()
            self._goes_on = True

    def _end_paragraph(self) -> None:
        self._flush()
        self.draft.end_paragraph()
        self._goes_on = self._after_display = False

    def _spans(self, text: str, line: int, *, in_table: bool = False) -> None:
        place = Place(self.cell or line + 1, bool(self.cell))
        labels = tuple(self._targets)
        self._targets.clear()
        self._after_display = Spans(text, place, self.dialect, in_table, labels).read(self.draft)

    def _sentence(self, text: str) -> None:
        """Add a title of an admonition or a theorem: a sentence of its own."""
        if text:
            self._spans(text, self._at)
            self.draft.break_sentence()

    def _heading(self, text: str, level: int) -> None:
        self._end_paragraph()
        self._targets.clear()
        heading = _SECTION_NUMBER.sub("", self._line_of(text), count=1)
        article = self.draft.article
        if level == 1 and not article.title and not article.sections:
            self.draft.title(heading)
        elif " ".join(heading.split()) != article.title:
            self.draft.heading(heading)

    def _line_of(self, text: str) -> str:
        """A heading or title for a draft."""
        title = _Title(self.draft)
        place = Place(self.cell or self._at + 1, bool(self.cell))
        Spans(text, place, self.dialect).read(title)
        return "".join(title.pieces)

    def _read_table(self) -> None:
        """Read the cells of a table as sentences, without its rule."""
        self._end_paragraph()
        at = self._at
        while at < len(self.lines) and "|" in self.lines[at]:
            row = self._unquoted(at, 1)
            if not _TABLE_RULE.match(row):
                self._spans(row, at, in_table=True)
                self.draft.break_sentence()
            at += 1
        self.draft.end_paragraph()
        self._at = at

    # -- fences

    def _read_fence(self, stripped: str) -> bool:
        match = FENCE.match(stripped)
        if match is None:
            return False
        for depth in range(len(self._fences) - 1, -1, -1):
            if closes(stripped, self._fences[depth].marker):
                self._end_paragraph()
                del self._fences[depth:]
                self._at += 1
                return True
        fence = read_fence(match[1], match[2])
        if fence is None:
            return False
        if fence.marker[0] == ":" and not match[2].strip():
            self._end_paragraph()  # closes a fence that is not open
            self._at += 1
        elif fence.kind == "text":
            self._open(fence)
        else:
            self._read_body(fence)
        return True

    def _open(self, fence: Fence) -> None:
        """Begin a directive whose body is text."""
        self._end_paragraph()
        self._sentence(fence.title)
        if len(self._fences) < _OPEN_FENCES:
            self._fences.append(fence)
        self._at += 1
        _, count = split_options(self.lines[self._at : self._at + _OPTION_LINES])
        self._at += count
        self._after_blank, self._in_list = False, False

    def _read_body(self, fence: Fence) -> None:
        """Read mathematics in a fence, or leave out code."""
        start = self._at + 1
        end = start
        while end < len(self.lines) and not closes(self._bare(end), fence.marker):
            end += 1
        if end == len(self.lines):
            detail = f"cell {self.cell}: {fence.marker}" if self.cell else fence.marker
            self.draft.problem("fence not closed", self.cell or start, detail + fence.name)
        if fence.kind == "math":
            self._math(start, end)
        else:
            self._end_paragraph()
        self._at = end + 1

    def _bare(self, number: int) -> str:
        """A line without indentation and quotation marks."""
        return self.lines[number].lstrip(" \t>").rstrip()

    def _math(self, start: int, end: int) -> None:
        """Read the display in a fence, with the options before it."""
        self._flush()  # the display belongs to the paragraph before it
        lines = [self._bare(number) for number in range(start, end)]
        options, count = split_options(lines)
        labels = [options[key] for key in ("label", "name") if options.get(key)]
        latex = "\n".join(line for line in lines[count:] if line)
        first, last = (
            (self.cell, self.cell) if self.cell else (start, min(end + 1, len(self.lines)))
        )
        self.draft.display(
            maths.unescape_entities(latex), line=first, end_line=last, environment="math",
            labels=(*self._targets, *labels), written=latex,
        )  # fmt: skip
        self._targets.clear()
        self._after_display = self._goes_on = True

    # -- commands of LaTeX

    def _read_command(self, stripped: str) -> bool:
        r"""Read definitions of macros, and `\section{...}` as Mathpix writes it."""
        if not _MACRO_LINE.match(stripped) and not (match := _LATEX_LINE_COMMAND.match(stripped)):
            return False
        lines = [stripped]
        depth = _braces(stripped)
        while depth > 0 and len(lines) < _OPTION_LINES and self._at + len(lines) < len(self.lines):
            lines.append(self.lines[self._at + len(lines)].strip())
            depth += _braces(lines[-1])
        text = " ".join(lines)
        self._end_paragraph()
        if _MACRO_LINE.match(stripped):
            self.draft.math.define(text)
        elif match:
            content = text[match.end() :].rstrip().removesuffix("}")
            if match[1] == "title":
                self._heading(content, 1)
            elif match[1] not in ("author", "date"):
                self._heading(content, 2)
        self._at += len(lines)
        return True


_OPEN_FENCES = 50  # fences within fences
_OPTION_LINES = 60  # lines, at most, of a directive's options or of a definition


def _without_closing(heading: str) -> str:
    """A heading without the number signs that close it; those of "C#" do not."""
    bare = heading.rstrip("#")
    return bare if not bare[-1:].strip() else heading


def _braces(text: str) -> int:
    return text.count("{") - text.count("\\{") - text.count("}") + text.count("\\}")


def _is_silent(stripped: str, first: str) -> bool:
    """Whether a line is a link's definition, a comment of MyST or a mark of d2lbook."""
    if first == "[":
        return _LINK_DEFINITION.match(stripped) is not None
    if first == "%":
        return not stripped.startswith("%%")
    if first == ":":
        return _DIRECTIVE_LINE.match(stripped) is not None
    return first == "{" and stripped.startswith("{:") and stripped.endswith("}")
