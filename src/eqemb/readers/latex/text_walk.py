"""Walk over the expanded source: running text, headings, labels and references.

The walk goes once over the text by position and never copies it. Arguments (a footnote, a
caption) are walked as ranges of the same text, so that every equation knows its source line.
`display_walk` reads displays, and `structure` defines what each command does.
"""

import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from eqemb.article import DOLLAR, Problem
from eqemb.readers.latex.budget import MAX_DETAIL
from eqemb.readers.latex.commands import (
    EQUATION_REFERENCES,
    KNOWN,
    LENGTH_COMMANDS,
    MUTED,
    NAMED_CHARACTERS,
    SUBEQUATIONS,
    TEXT_ACCENTS,
)
from eqemb.readers.latex.displays import (
    EDGE,
    ROW_END,
    brace_depth,
    count_displays,
    may_hold_edge,
)
from eqemb.readers.latex.expand import Expanded
from eqemb.readers.latex.found import WalkResult
from eqemb.readers.latex.numbering import Numbering
from eqemb.readers.latex.search import Overlap, Reach, TextSearch
from eqemb.readers.prose import (
    MARK,
    MARKS,
    REFERENCE_BASE,
    accented,
    clean,
    protect,
)

_WALK_TOKEN = re.compile(r"\\([A-Za-z@\ue000-\uf8ff]+)|\\(.)|\$\$?|\n[ \t]*\n\s*", re.DOTALL)
#: A length as argument; other commands after one that lacks its argument are not.
_COMMAND_ARGUMENT = re.compile(r"\s*\\(?:" + "|".join(sorted(LENGTH_COMMANDS)) + r")(?![A-Za-z])")
SPACE = re.compile(r"[ \t]*\n?[ \t]*")
_INLINE = re.compile(r"(?:[^$\\]|\\.)*?\$", re.DOTALL)
_OPTION_TOKEN = re.compile(r"\\.|[{}\]]", re.DOTALL)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_MATH_LABEL = re.compile(r"\\label\s*\{[^{}]*\}|\n\s*|\$")
#: A document with chapters is a book, whatever its class.
_CHAPTER = re.compile(r"\\chapter\*?\s*[\[{]")
#: Overlays of Beamer: \\item<1->, \\begin{block}<2>{Title}.
_OVERLAY = re.compile(
    r"(\\(?:item|only|uncover|onslide|visible|invisible|alert|alt|temporal|structure|pause|color"
    r"|text(?:bf|it|sl|rm|sf)|emph|includegraphics|frame|begin\{\w+\*?\})(?:\[[^\]\n]{0,60}\])?)"
    r"(<[-\d,+.|:@()a-z ]{0,60}>)"
)
_APPENDICES = ("appendices", "subappendices")
_MAX_DEPTH = 40  # arguments read within arguments
_MAX_TITLE = 500  # characters of the title that each equation has
_MAX_OPTIONAL = 20_000  # characters of an optional argument
_MAX_TABLES_AGAIN = 1_000_000  # characters of tables within tables
_MAX_WASTED = 200_000  # characters read in search of the end of optional arguments

#: What a command does: it takes the walk, the match of its name and the end of the text, and
#: returns where to continue.
Command = Callable[[Any, re.Match[str], int], int]


class TextWalk(ABC):
    """One walk over one expanded source, with a given table of commands."""

    def __init__(self, expanded: Expanded, commands: "dict[str, Command]") -> None:
        self.commands = commands
        self.text = expanded.text
        if "beamer" in expanded.document_class:
            # in the same length, so that every position stays where it is
            self.text = _OVERLAY.sub(lambda match: match[1] + " " * len(match[2]), self.text)
        self.search = TextSearch(self.text)
        self.defined = expanded.defined
        self.source = expanded.source
        self.found = WalkResult()
        chapters = _CHAPTER.search(expanded.text, expanded.body_start) is not None
        self.numbering = Numbering(expanded.document_class, chapters=chapters)
        self.only_referenced = False
        self.references_that_count = EQUATION_REFERENCES
        self.referenced: set[str] | None = None
        self._pieces: list[str] = []
        self._asides: list[str] = []
        self._open: list[str] = []
        self._opened: defaultdict[str, list[int]] = defaultdict(list)
        """By name, the positions in `_open` of the environments that are open."""
        self._muted = 0
        self._section = ""
        self._displays = 0
        self._groups = 0
        self._group = 0
        self._depth = 0
        self._optional_reach = Reach(_MAX_OPTIONAL, 1_000, _MAX_WASTED)
        self._reported: set[str] = set()
        """Unknown environments that were reported."""
        self.endnotes: list[tuple[int, int]] = []
        self.tables = Overlap(_MAX_TABLES_AGAIN)
        self.captioned: dict[tuple[int, int], bool] = {}
        """For floats, by where they start and end, whether a caption is about notation."""

    def run(self, start: int) -> WalkResult:
        """Walk over the preamble for its declarations, then over the document."""
        self._muted = 1
        self.in_preamble = True
        self.walk(0, start)
        self.in_preamble = False
        self._muted, self._open, self._pieces, self._asides = 0, [], [], []
        self._opened = defaultdict(list)
        # a preamble contains no equations, and neither does its title
        self.found = WalkResult(title=MARK.sub("", self.found.title))
        self.walk(start, len(self.text))
        self.read_endnotes()
        self.paragraph()
        if self._muted and self._open:  # the text after it was taken as part of a float
            self.problem("unclosed environment", len(self.text), self._open[0])
        self._check_count(start)
        if self.numbering.has_too_many:
            self.problem("too many counters", start)
        return self.found

    def _check_count(self, start: int) -> None:
        """Check the independent count: every display was read, is part of another, or is lost."""
        found = self.found
        found.opened = count_displays(self.text, start) + found.unnamed - found.drawings
        found.opened -= found.empty_formulas // 2  # the count takes two of them for a display
        displays = len({equation.display for equation in found.equations})
        missing = found.opened - displays - found.nested - found.lost
        if missing > 0:
            self.report_lost("not accounted for", start, count=missing)
        found.opened -= min(0, missing)

    # ------------------------------------------------------------ the walk

    def walk(self, pos: int, end: int) -> None:
        """Read the text between two positions."""
        if self._depth >= _MAX_DEPTH:
            self.report_lost("nested too deeply", pos, count=count_displays(self.text, pos, end))
            return
        self._depth += 1
        self._walk(pos, end)
        self._depth -= 1

    def _walk(self, pos: int, end: int) -> None:
        text, search, commands = self.text, _WALK_TOKEN.search, self.commands
        while True:
            match = search(text, pos, end)
            if match is None:
                if not self._muted:
                    self._pieces.append(text[pos:end])
                return
            start = match.start()
            if start > pos and not self._muted:
                self._pieces.append(text[pos:start])
            name = match[1]
            if name is not None:
                command = commands.get(name)
                pos = (
                    self.formatting_command(match, end)
                    if command is None
                    else command(self, match, end)
                )
            elif match[2] is not None:
                pos = self._symbol(match, end)
            elif match[0] == "$":
                pos = self._inline(match.end(), end)
            elif match[0] == "$$":
                pos = self.dollars(match, end)
            else:
                if not self._open or self._muted == 0:
                    self.paragraph()
                pos = match.end()

    def formatting_command(self, match: re.Match[str], end: int) -> int:
        r"""A formatting command: drop its name and options, keep its arguments.

        An unknown command that ends in "ref" (\figref, \thmref) is an author's reference, and one
        that starts with "cite" (\citeApp of multibib) a citation.
        """
        pos = match.end()
        follower = self.text[pos : pos + 1]
        if follower == "[":
            return self.optional(pos, end)[2]
        if follower == "{" and match[1].endswith("ref"):
            return self.commands["ref"](self, match, end)
        if follower == "{" and match[1].startswith("cite") and match[1] not in self.defined:
            return self.commands["cite"](self, match, end)
        if follower == "{" and match[1] not in KNOWN and match[1] not in self.defined:
            return self._separate_arguments(pos, end)
        return pos

    def _separate_arguments(self, pos: int, end: int) -> int:
        """The arguments of an unknown command are text, but not one word."""
        while self.text.startswith("{", pos):
            start, stop, pos = self.argument(pos, end)
            self.walk(start, stop)
            if self.text.startswith("{", pos):
                self.add_text(" ")
        return pos

    def command_at(self, pos: int, end: int) -> None:
        """Carry out the command at a position, which is not text."""
        match = _WALK_TOKEN.match(self.text, pos, end)
        if match is not None and match[1] in self.commands:
            self.commands[match[1]](self, match, end)

    def add_text(self, text: str) -> None:
        """Add to the running text."""
        if not self._muted:
            self._pieces.append(text)

    def paragraph(self) -> None:
        """End a paragraph; its footnotes and captions follow it."""
        if self._pieces:
            text = clean(self._pieces)
            self._pieces = []
            if text:
                self.found.paragraphs.append(text)
        if self._asides:
            self.found.paragraphs += self._asides
            self._asides = []

    def aside(self, start: int, end: int) -> None:
        """Read a range as separate text, placed after the paragraph."""
        pieces, muted, opened, counts = self._pieces, self._muted, self._open, self._opened
        self._pieces, self._muted, self._open = [], 0, []
        self._opened = defaultdict(list)
        paragraphs = self.found.paragraphs
        self.found.paragraphs, asides = [], self._asides
        self._asides = []
        self.walk(start, end)
        self.paragraph()
        asides += self.found.paragraphs
        self._asides = asides
        self.found.paragraphs = paragraphs
        self._pieces, self._muted, self._open, self._opened = pieces, muted, opened, counts

    def read_endnotes(self) -> None:
        """Read endnotes, and count their equations, where they are printed."""
        notes, self.endnotes = self.endnotes, []
        for start, end in notes:
            self.aside(start, end)

    def plain(self, start: int, end: int) -> str:
        """A range as one line of text, which is not added to the running text (a title)."""
        pieces, muted = self._pieces, self._muted
        self._pieces, self._muted = [], 0
        self.walk(start, end)
        text = clean(self._pieces)
        self._pieces, self._muted = pieces, muted
        return text

    def problem(self, cause: str, pos: int, detail: str = "") -> None:
        """Record what could not be read."""
        file, line = self.source.line(pos)
        self.found.problems.append(Problem(cause, file, line, detail[:MAX_DETAIL]))

    def report_lost(self, cause: str, pos: int, detail: str = "", count: int = 1) -> None:
        """Record displays that were opened and not read; with none, only words are lost."""
        self.found.lost += count
        self.problem(f"lost: {cause}" if count else cause, pos, detail)

    # ------------------------------------------------------------ arguments

    def argument(self, pos: int, end: int) -> tuple[int, int, int]:
        """Start, end and continuation of a mandatory argument; empty if there is none."""
        text = self.text
        pos = SPACE.match(text, pos, end).end()  # type: ignore[union-attr]
        if not text.startswith("{", pos) or pos >= end:
            return pos, pos, pos
        close = self.search.group_end(pos, end)
        if close == end:  # never closed: as in TeX, it ends with the paragraph
            self.problem("unclosed argument", pos)
            edge = self.search.search(EDGE, pos, end)
            close = self._after_blank(pos, edge if edge >= 0 else end)
            return pos + 1, close, close
        return pos + 1, close, close + 1

    def optional(self, pos: int, end: int) -> tuple[int, int, int]:
        """Start, end and continuation of an optional argument; empty if there is none."""
        text = self.text
        if not text.startswith("[", pos):
            spaced = SPACE.match(text, pos, end).end()  # type: ignore[union-attr]
            if not text.startswith("[", spaced):
                return pos, pos, pos
            pos = spaced
        limit = min(end, pos + self._optional_reach.limit)
        if text.find("]", pos, limit) < 0:
            return pos, pos, pos
        depth = 0
        for match in _OPTION_TOKEN.finditer(text, pos + 1, limit):
            if match[0] == "{":
                depth += 1
            elif match[0] == "}":
                depth -= 1
            elif match[0] == "]" and depth <= 0:
                return pos + 1, match.start(), match.end()
        self._optional_reach.fail(limit - pos)
        return pos, pos, pos

    def value(self, pos: int, end: int) -> tuple[str, int]:
        """The text of a mandatory argument, and where to continue."""
        start, stop, after = self.argument(pos, end)
        value = self.text[start:stop]
        if "$" in value or "\\" in value:
            self.skip(start, stop, "label")
        return value, after

    def skip(self, start: int, end: int, command: str) -> None:
        """Skip a range; displays in it are lost."""
        inside = count_displays(self.text, start, end)
        if inside:
            self.report_lost("in an argument that is not text", start, "\\" + command, inside)

    def drop(self, pos: int, end: int, count: int, command: str = "") -> int:
        """Skip optional arguments and `count` mandatory ones; displays in them are lost."""
        text, start = self.text, pos
        if text.startswith("*", pos):
            pos += 1
        while True:
            after = self.optional(pos, end)[2]
            if after == pos:
                if count == 0:
                    break
                count -= 1
                after = self._undelimited(pos, end)
                if after == pos or text[pos:after].isspace():
                    break
            pos = after
        self.skip(start, pos, command)
        return pos

    def _undelimited(self, pos: int, end: int) -> int:
        r"""The end of an argument in braces, or of a command that is one (\setlength\parskip)."""
        command = _COMMAND_ARGUMENT.match(self.text, pos, end)
        return command.end() if command else self.argument(pos, end)[2]

    # ------------------------------------------------------------ environments and headings

    def enter(self, name: str) -> None:
        """An environment opens that is not a display."""
        if name in SUBEQUATIONS:
            self._groups += 1
            self._group = self._groups
            self.numbering.open_group()
        elif name in self.numbering.theorems:
            self.numbering.step(self.numbering.theorems[name])
        elif name == "appendix":
            self.numbering.appendix()
        elif name in _APPENDICES:
            self.numbering.open_appendices(below=name == "subappendices")
        self._opened[name].append(len(self._open))
        self._open.append(name)
        self._muted += self._is_muted(name)

    def _is_muted(self, name: str) -> bool:
        """Whether words in an environment are not running text; those of a theorem always are."""
        return name in MUTED and name not in self.numbering.theorems

    def leave(self, name: str) -> None:
        """An environment closes, and with it those left open inside it."""
        if not self._opened[name]:  # \\begin{figure} ... \\end{figure*}
            name = name[:-1] if name.endswith("*") else name + "*"
            if not self._opened[name]:
                return
        while self._open:
            last = self._open.pop()
            self._opened[last].pop()
            self._muted -= self._is_muted(last)
            if last in SUBEQUATIONS:
                self.numbering.close_group()
                self._group = 0
            elif last in _APPENDICES:
                self.numbering.close_appendices()
            if last == name:
                return

    def close_floats(self, pos: int) -> None:
        """A heading cannot be in a float: a float still open was never closed."""
        if self._muted and self._open:
            self.problem("unclosed environment", pos, self._open[-1])
            self.leave(self._open[0])
            self._muted = 0

    def heading(self, title: str) -> None:
        """Add a heading, which is text and names what follows."""
        if title:
            self.found.paragraphs.append(title)
            self.found.sections.append(title)
            self._section = title[:_MAX_TITLE]

    def add_reference(self, label: str) -> None:
        """Add a reference: a mark in the text, resolved when all numbers are known."""
        index = len(self.found.references)
        if index < MARKS:
            self.found.references.append(label)
            self.add_text(chr(REFERENCE_BASE + index))

    def label(self, label: str) -> None:
        """A label in running text: only those of subequations matter."""
        if self._group and self.numbering.group:
            self.found.group_labels[label] = (self._group, self.numbering.group)

    # ------------------------------------------------------------ symbols and inline mathematics

    def _symbol(self, match: re.Match[str], end: int) -> int:
        symbol, pos = match[2], match.end()
        if symbol == "[":
            return self.bracket(match, end)
        if symbol == "(":
            close = self.search.find("\\)", pos, end)
            if close < 0 or self.search.search(EDGE, pos, close) >= 0:
                self.problem("unclosed inline mathematics", pos)
                return pos
            self.math(pos, close)
            return close + 2
        if symbol in TEXT_ACCENTS:
            return self.accent(TEXT_ACCENTS[symbol], pos, end)
        if symbol == "\\":
            self.add_text(" ")
            after = ROW_END.match(self.text, pos, end).end()  # type: ignore[union-attr]
            has_option = after <= pos + 1 and self.text.startswith("[", after)
            return self.optional(after, end)[2] if has_option else after
        if symbol in "%&#_":
            self.add_text(symbol)
        elif symbol == "$":
            self.add_text(DOLLAR)
        elif symbol in " ,;:\n\t!>":
            self.add_text(" ")
        return pos

    def accent(self, mark: str, pos: int, end: int) -> int:
        r"""\'e, \'{e}, \'\i."""
        text = self.text
        pos = SPACE.match(text, pos, end).end()  # type: ignore[union-attr]
        if text.startswith("{", pos):
            start, stop, after = self.argument(pos, end)
            letter = self._letter(text[start:stop].strip())
        elif text.startswith("\\", pos):
            match = _WALK_TOKEN.match(text, pos, end)
            letter, after = self._letter(match[0]) if match else "", match.end() if match else pos
        else:
            letter, after = text[pos : min(pos + 1, end)], min(pos + 1, end)
        self.add_text(accented(mark, letter) if letter[:1].isalpha() else letter)
        return after

    def _letter(self, text: str) -> str:
        return NAMED_CHARACTERS.get(text[1:], "") if text.startswith("\\") else text

    def _inline(self, pos: int, end: int) -> int:
        r"""Inline mathematics between dollars; dollars in \text{..} do not close it."""
        text, close, depth = self.text, pos, 0
        for _ in range(20):
            match = _INLINE.match(text, close, end)
            if match is None:
                break
            depth += brace_depth(match[0]) if "{" in match[0] or depth else 0
            close = match.end()
            if depth <= 0:
                inside = text[pos : close - 1]
                if "\n" in inside and _BLANK_LINE.search(inside):
                    break
                if may_hold_edge(inside) and EDGE.search(inside):
                    break
                self.math(pos, close - 1)
                return close
        self.problem("unclosed inline mathematics", pos)
        return pos

    def math(self, start: int, end: int) -> None:
        """Inline mathematics between two positions."""
        if not self._muted:
            inside = _MATH_LABEL.sub(" ", self.text[start:end]).strip()
            self._pieces.append(protect(f"${inside}$"))

    def _after_blank(self, pos: int, end: int) -> int:
        at = self.search.search(_BLANK_LINE, pos, end)
        return at if at >= 0 else end

    # ------------------------------------------------------------ displays, left to the subclass

    @abstractmethod
    def dollars(self, match: re.Match[str], end: int) -> int:
        """Read a display that opens with two dollars; return where to continue."""

    @abstractmethod
    def bracket(self, match: re.Match[str], end: int) -> int:
        r"""Read a display that opens with \[; return where to continue."""
