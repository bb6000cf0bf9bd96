"""Walk the expanded source: running text, displays, labels and references.

The walk goes once over the text by position and never copies it; arguments (a footnote, a
caption) are walked as ranges of the same text, so that every equation knows its source line.
What single commands do stands in structure.py.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from eqemb.article import DOLLAR, Problem
from eqemb.readers.latex.commands import (
    ACCENTS,
    CHARACTERS,
    DISPLAY_ARGUMENTS,
    EQUATION_REFERENCES,
    GROUP_DISPLAYS,
    MUTED,
    ROW_DISPLAYS,
    SUBEQUATIONS,
    UNNUMBERED_DISPLAYS,
)
from eqemb.readers.latex.displays import (
    EDGE,
    ROW_END,
    Row,
    count_displays,
    group_end,
    is_drawing,
    may_hold_edge,
    read_row,
    split_rows,
)
from eqemb.readers.latex.expand import Expanded
from eqemb.readers.latex.numbering import Numbering
from eqemb.readers.latex.prose import (
    EQUATION_BASE,
    MARK,
    MARKS,
    REFERENCE_BASE,
    accented,
    clean,
    protect,
)

_TOKEN = re.compile(r"\\([A-Za-z@\ue000-\uf8ff]+)|\\(.)|\$\$?|\n[ \t]*\n\s*", re.DOTALL)
SPACE = re.compile(r"[ \t]*\n?[ \t]*")
_INLINE = re.compile(r"(?:[^$\\]|\\.)*?\$", re.DOTALL)
_BRACKET = re.compile(r"\\.|[{}\]]", re.DOTALL)
_CONTROL = re.compile(r"\\(.)", re.DOTALL)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_HEADING_INSIDE = re.compile(r"\\(?:sub)*section\b|\\chapter\b|\\begin\{document\}")
_REFERENCED = re.compile(
    r"\\(" + "|".join(sorted(EQUATION_REFERENCES)) + r")\*?\s*\{([^{}]*)\}(?:\{([^{}]*)\})?"
)
_FENCE = re.compile(r"\\begin\{empheq\}(?:\[[^\]]{0,500}\])?\{(\w+\*?)(?:=[^{}]*)?\}")
_MATH_LABEL = re.compile(r"\\label\s*\{[^{}]*\}|\n\s*|\$")
_ENDS_SENTENCE = re.compile(r"(?<!\\right)(?<!\\left)\.[\s}\\,;:!]*(?:\\end\{\w+\*?\}\s*)*$")
_LABEL_OPTION = re.compile(r"label\s*=\s*\{?([^{},\]]+)")
_MAX_DEPTH = 40  # arguments read within arguments
_MAX_UNCLOSED = 100  # arguments without an end that may be searched for it to the end
_MAX_OPTIONAL = 20_000


def _depth(text: str) -> int:
    """Braces opened and not closed."""
    opened = text.count("{") - text.count("\\{")
    return opened - (text.count("}") - text.count("\\}"))


#: A document with chapters is a book, whatever its class is called.
_CHAPTER = re.compile(r"\\chapter\*?\s*[\[{]")


@dataclass(slots=True)
class Found:
    """An equation as found: rows joined, number decided."""

    start: int
    end: int
    latex: str
    environment: str
    display: int
    labels: list[str]
    numbered: bool
    number: str | None
    group: int
    section: str
    refers: list[str] = field(default_factory=list)
    """Labels that are referred to within it: "by (3)" above an equals sign."""


@dataclass(slots=True)
class Structure:
    """What the walk found."""

    title: str = ""
    paragraphs: list[str] = field(default_factory=list)
    """Clean text with equation and reference marks (see prose.py)."""
    sections: list[str] = field(default_factory=list)
    equations: list[Found] = field(default_factory=list)
    """In source order; the n-th has the n-th equation mark."""
    references: list[str] = field(default_factory=list)
    """The label of the n-th reference mark."""
    group_labels: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Labels of subequations: group and printed number."""
    problems: list[Problem] = field(default_factory=list)
    opened: int = 0
    lost: int = 0
    nested: int = 0


class Walk:
    """One walk over one expanded source, by the commands it is given."""

    def __init__(self, expanded: Expanded, commands: "dict[str, Command]") -> None:
        self.commands = commands
        self.text = expanded.text
        self.source = expanded.source
        self.found = Structure()
        chapters = _CHAPTER.search(expanded.text, expanded.body_start) is not None
        self.numbering = Numbering(expanded.document_class, chapters=chapters)
        self.only_referenced = False
        self.references_that_count = EQUATION_REFERENCES
        self.referenced: set[str] | None = None
        self._pieces: list[str] = []
        self._asides: list[str] = []
        self._open: list[str] = []
        self._opened: Counter[str] = Counter()
        self._muted = 0
        self._section = ""
        self._displays = 0
        self._groups = 0
        self._group = 0
        self._depth = 0
        self._unclosed = 0
        self._absent: dict[str, tuple[int, int]] = {}
        self.endnotes: list[tuple[int, int]] = []

    def run(self, start: int) -> Structure:
        """Walk the preamble for its declarations, then the document."""
        self._muted = 1
        self.walk(0, start)
        self._muted, self._open, self._pieces, self._asides = 0, [], [], []
        self._opened = Counter()
        # a preamble holds no equations, nor does its title
        self.found = Structure(title=MARK.sub("", self.found.title))
        self.walk(start, len(self.text))
        self.read_endnotes()
        self.paragraph()
        if self._muted and self._open:  # the text after it was taken for a float's
            self.problem("unclosed environment", len(self.text), self._open[0])
        self._account(start)
        return self.found

    def _account(self, start: int) -> None:
        """Every display of the independent count is read, within another, or lost."""
        found = self.found
        found.opened = count_displays(self.text, start)
        displays = len({equation.display for equation in found.equations})
        missing = found.opened - displays - found.nested - found.lost
        if missing > 0:
            self.lose("not accounted for", start, count=missing)
        found.opened -= min(0, missing)

    # ------------------------------------------------------------ the walk

    def walk(self, pos: int, end: int) -> None:
        """Read the text between two positions."""
        if self._depth >= _MAX_DEPTH:
            self.lose("nested too deeply", pos, count=count_displays(self.text, pos, end))
            return
        self._depth += 1
        self._walk(pos, end)
        self._depth -= 1

    def _walk(self, pos: int, end: int) -> None:
        text, search, commands = self.text, _TOKEN.search, self.commands
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
                pos = self._unlisted(match, end) if command is None else command(self, match, end)
            elif match[2] is not None:
                pos = self._symbol(match, end)
            elif match[0] == "$":
                pos = self._inline(match.end(), end)
            elif match[0] == "$$":
                pos = self._dollars(match, end)
            else:
                if not self._open or self._muted == 0:
                    self.paragraph()
                pos = match.end()

    def _unlisted(self, match: re.Match[str], end: int) -> int:
        r"""A command that only looks: its name and options go, its arguments stay.

        One that is not known and ends in "ref" (\\figref, \\thmref) is an author's reference.
        """
        pos = match.end()
        follower = self.text[pos : pos + 1]
        if follower == "[":
            return self.optional(pos, end)[2]
        if follower == "{" and match[1].endswith("ref"):
            return self.commands["ref"](self, match, end)
        return pos

    def say(self, text: str) -> None:
        """Add to the running text."""
        if not self._muted:
            self._pieces.append(text)

    def paragraph(self) -> None:
        """End a paragraph; footnotes and captions met in it follow it."""
        if self._pieces:
            text = clean(self._pieces)
            self._pieces = []
            if text:
                self.found.paragraphs.append(text)
        if self._asides:
            self.found.paragraphs += self._asides
            self._asides = []

    def aside(self, start: int, end: int) -> None:
        """Read a range as text of its own, placed after the paragraph."""
        pieces, muted, opened, counts = self._pieces, self._muted, self._open, self._opened
        self._pieces, self._muted, self._open, self._opened = [], 0, [], Counter()
        paragraphs = self.found.paragraphs
        self.found.paragraphs, asides = [], self._asides
        self._asides = []
        self.walk(start, end)
        self.paragraph()
        self._asides = asides + self.found.paragraphs
        self.found.paragraphs = paragraphs
        self._pieces, self._muted, self._open, self._opened = pieces, muted, opened, counts

    def read_endnotes(self) -> None:
        r"""Endnotes are read, and their equations counted, where they are printed."""
        notes, self.endnotes = self.endnotes, []
        for start, end in notes:
            self.aside(start, end)

    def plain(self, start: int, end: int) -> str:
        """A range as one line of text, marks and all dropped from the stream (a title)."""
        pieces, muted = self._pieces, self._muted
        self._pieces, self._muted = [], 0
        self.walk(start, end)
        text = clean(self._pieces)
        self._pieces, self._muted = pieces, muted
        return text

    def find(self, token: str, pos: int, end: int) -> int:
        """Where a token stands next; that there is none is found out once."""
        first, last = self._absent.get(token, (end + 1, end))
        if first <= pos and end <= last:
            return -1
        at = self.text.find(token, pos, end)
        if at < 0:
            self._absent[token] = (pos, end)
        return at

    def problem(self, cause: str, pos: int, detail: str = "") -> None:
        """Note what could not be read."""
        file, line = self.source.line(pos)
        self.found.problems.append(Problem(cause, file, line, detail))

    def lose(self, cause: str, pos: int, detail: str = "", count: int = 1) -> None:
        """Displays that were opened and not read; without any, what is lost is words."""
        self.found.lost += count
        self.problem(f"lost: {cause}" if count else cause, pos, detail)

    # ------------------------------------------------------------ arguments

    def argument(self, pos: int, end: int) -> tuple[int, int, int]:
        """Start, end and what follows of a mandatory argument; empty where there is none."""
        text = self.text
        pos = SPACE.match(text, pos, end).end()  # type: ignore[union-attr]
        if not text.startswith("{", pos) or pos >= end:
            return pos, pos, pos
        reach = end if self._unclosed < _MAX_UNCLOSED else min(end, pos + 1000)
        close = group_end(text, pos + 1, reach)
        if close == reach:  # never closed: as TeX does, go no further than the paragraph
            self._unclosed += 1
            self.problem("unclosed argument", pos)
            edge = EDGE.search(text, pos, reach)
            close = self._after_blank(pos, edge.start() if edge else reach)
            return pos + 1, close, close
        return pos + 1, close, close + 1

    def optional(self, pos: int, end: int) -> tuple[int, int, int]:
        """Start, end and what follows of an optional argument; empty where there is none."""
        text = self.text
        if not text.startswith("[", pos):
            spaced = SPACE.match(text, pos, end).end()  # type: ignore[union-attr]
            if not text.startswith("[", spaced):
                return pos, pos, pos
            pos = spaced
        limit = min(end, pos + _MAX_OPTIONAL)
        if text.find("]", pos, limit) < 0:
            return pos, pos, pos
        depth = 0
        for match in _BRACKET.finditer(text, pos + 1, limit):
            if match[0] == "{":
                depth += 1
            elif match[0] == "}":
                depth -= 1
            elif match[0] == "]" and depth <= 0:
                return pos + 1, match.start(), match.end()
        return pos, pos, pos

    def value(self, pos: int, end: int) -> tuple[str, int]:
        """The text of a mandatory argument and what follows it."""
        start, stop, after = self.argument(pos, end)
        value = self.text[start:stop]
        if "$" in value or "\\" in value:
            self.skip(start, stop, "label")
        return value, after

    def skip(self, start: int, end: int, command: str) -> None:
        """A range that is not read: displays in it are lost."""
        inside = count_displays(self.text, start, end)
        if inside:
            self.lose("in an argument that is not text", start, "\\" + command, inside)

    def drop(self, pos: int, end: int, count: int, command: str = "") -> int:
        """Pass over optional arguments and `count` mandatory ones; displays in them are lost."""
        text, start = self.text, pos
        if text.startswith("*", pos):
            pos += 1
        while True:
            after = self.optional(pos, end)[2]
            if after == pos:
                if count == 0:
                    break
                count -= 1
                after = self.argument(pos, end)[2]
                if after == pos or text[pos:after].isspace():
                    break
            pos = after
        self.skip(start, pos, command)
        return pos

    # ------------------------------------------------------------ environments and headings

    def enter(self, name: str) -> None:
        """An environment that is no display opens."""
        if name in SUBEQUATIONS:
            self._groups += 1
            self._group = self._groups
            self.numbering.open_group()
        elif name in self.numbering.theorems:
            self.numbering.step(self.numbering.theorems[name])
        elif name in ("appendix", "appendices", "subappendices"):
            self.numbering.appendix()
        self._open.append(name)
        self._opened[name] += 1
        self._muted += self._mutes(name)

    def _mutes(self, name: str) -> bool:
        """Whether words in an environment are no running text; a theorem's always are."""
        return name in MUTED and name not in self.numbering.theorems

    def leave(self, name: str) -> None:
        """It closes; what was left open inside it closes too."""
        if not self._opened[name]:  # \\begin{figure} ... \\end{figure*}
            name = name[:-1] if name.endswith("*") else name + "*"
            if not self._opened[name]:
                return
        while self._open:
            last = self._open.pop()
            self._opened[last] -= 1
            self._muted -= self._mutes(last)
            if last in SUBEQUATIONS:
                self.numbering.close_group()
                self._group = 0
            if last == name:
                return

    def close_floats(self, pos: int) -> None:
        """A heading cannot stand in a float: one that is still open was never closed."""
        if self._muted and self._open:
            self.problem("unclosed environment", pos, self._open[-1])
            self.leave(self._open[0])
            self._muted = 0

    def heading(self, title: str) -> None:
        """A heading is text, and names what follows."""
        if title:
            self.found.paragraphs.append(title)
            self.found.sections.append(title)
            self._section = title

    def refer(self, label: str) -> None:
        """A reference: a mark in the text, resolved when all numbers are known."""
        index = len(self.found.references)
        if index < MARKS:
            self.found.references.append(label)
            self.say(chr(REFERENCE_BASE + index))

    def label(self, label: str) -> None:
        """A label in running text: only that of a group of equations is ours."""
        if self._group and self.numbering.group:
            self.found.group_labels[label] = (self._group, self.numbering.group)

    # ------------------------------------------------------------ symbols and inline mathematics

    def _symbol(self, match: re.Match[str], end: int) -> int:
        symbol, pos = match[2], match.end()
        if symbol == "[":
            return self._bracket(match, end)
        if symbol == "(":
            close = self.find("\\)", pos, end)
            if close < 0 or EDGE.search(self.text, pos, close):
                self.problem("unclosed inline mathematics", pos)
                return pos
            self.math(pos, close)
            return close + 2
        if symbol in ACCENTS:
            return self.accent(ACCENTS[symbol], pos, end)
        if symbol == "\\":
            self.say(" ")
            after = ROW_END.match(self.text, pos, end).end()  # type: ignore[union-attr]
            has_option = after <= pos + 1 and self.text.startswith("[", after)
            return self.optional(after, end)[2] if has_option else after
        if symbol in "%&#_":
            self.say(symbol)
        elif symbol == "$":
            self.say(DOLLAR)
        elif symbol in " ,;:\n\t!>":
            self.say(" ")
        return pos

    def accent(self, mark: str, pos: int, end: int) -> int:
        r"""\'e, \'{e}, \'\i."""
        text = self.text
        pos = SPACE.match(text, pos, end).end()  # type: ignore[union-attr]
        if text.startswith("{", pos):
            start, stop, after = self.argument(pos, end)
            letter = self._letter(text[start:stop].strip())
        elif text.startswith("\\", pos):
            match = _TOKEN.match(text, pos, end)
            letter, after = self._letter(match[0]) if match else "", match.end() if match else pos
        else:
            letter, after = text[pos : min(pos + 1, end)], min(pos + 1, end)
        self.say(accented(mark, letter) if letter[:1].isalpha() else letter)
        return after

    def _letter(self, text: str) -> str:
        return CHARACTERS.get(text[1:], "") if text.startswith("\\") else text

    def _inline(self, pos: int, end: int) -> int:
        r"""Inline mathematics between dollars; \text{..$..$..} inside does not close it."""
        text, close = self.text, pos
        for _ in range(20):
            match = _INLINE.match(text, close, end)
            if match is None:
                break
            close = match.end()
            inside = text[pos : close - 1]
            if "{" not in inside or _depth(inside) <= 0:
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

    # ------------------------------------------------------------ displays

    def _dollars(self, match: re.Match[str], end: int) -> int:
        close = self.find("$$", match.end(), end)
        if close < 0 or EDGE.search(self.text, match.end(), close):
            self.lose("display not closed", match.start(), "$$")
            return match.end()
        self.display("$$", match.end(), close)
        return close + 2

    def _bracket(self, match: re.Match[str], end: int) -> int:
        for control in _CONTROL.finditer(self.text, match.end(), end):
            if control[1] == "[":  # the next one opens: this one was never closed
                break
            if control[1] == "]":
                if self._swallows(match.end(), control.start()):
                    break
                self.display("\\[", match.end(), control.start())
                return control.end()
        self.lose("display not closed", match.start(), "\\[")
        return match.end()

    def _swallows(self, start: int, close: int) -> bool:
        """Whether a display seems to hold a heading: then its end is another one's."""
        return close - start > 400 and _HEADING_INSIDE.search(self.text, start, close) is not None

    def environment(self, name: str, opened: int, body: int, end: int) -> int:
        r"""A display environment whose \begin has been read; where reading goes on."""
        text, closing = self.text, "\\end{" + name + "}"
        kind = name
        if name == "empheq":
            fence = _FENCE.match(text, opened)
            kind, body = (fence[1], fence.end()) if fence else ("equation", body)
        close = self.find(closing, body, end)
        again = self.find("\\begin{" + name + "}", body, close if close >= 0 else end)
        if close < 0 or again >= 0 or self._swallows(body, close):
            resume = self._after_blank(body, again if again >= 0 else end)
            inside = count_displays(text, body, resume)
            self.lose("display not closed", opened, name, 1 + inside)
            return resume
        self.display(kind, body, close)
        return close + len(closing)

    def _after_blank(self, pos: int, end: int) -> int:
        match = _BLANK_LINE.search(self.text, pos, end)
        return match.start() if match else end

    def display(self, name: str, start: int, end: int) -> None:
        """Read one display between two positions into equations."""
        self._displays += 1
        opened = start
        labels: list[str] = []
        if DISPLAY_ARGUMENTS.get(name):
            start = self.drop(start, end, 1)
        elif name.startswith("dmath"):
            first, last, start = self.optional(start, end)
            labels += _LABEL_OPTION.findall(self.text, first, last)
        spans = split_rows(self.text, start, end) if name.rstrip("*") in ROW_DISPLAYS else None
        rows = [read_row(self.text, a, b) for a, b in spans or [(start, end)]]
        rows[0].labels[:0] = labels
        self._note_within(name, opened, end, rows)
        if name in GROUP_DISPLAYS:
            self.enter(name)
        self._join(name, rows)
        if name in GROUP_DISPLAYS:
            self.leave(name)

    def _note_within(self, name: str, start: int, end: int, rows: list[Row]) -> None:
        """Displays that open within this one are read with it; those in its prose, for themselves.

        It may be that an end is missing and this one took in what follows: they are told.
        """
        inside = count_displays(self.text, start, end)
        if inside:
            apart = [span for row in rows for span in row.prose + row.notes]
            inside -= sum(count_displays(self.text, *span) for span in apart)
        if inside > 0:
            self.found.nested += inside
            self.problem("display within another", start, f"{inside} in {name}")

    def _join(self, name: str, rows: list[Row]) -> None:
        """Rows without a number join the numbered row they lead to; trailing ones the last."""
        display = self._displays
        numbers = [self._number(name, row, last=row is rows[-1]) for row in rows]
        counts = [i for i, number in enumerate(numbers) if number is not None]
        start = 0
        for index in counts[:-1]:
            self._equation(name, rows[start : index + 1], numbers[index], display)
            start = index + 1
        self._equation(name, rows[start:], numbers[counts[-1]] if counts else None, display)
        if all(not row.latex or is_drawing(row.latex) for row in rows):
            self.found.nested += 1
        if not counts and not any(row.latex for row in rows):  # else it is told with its number
            self.problem("empty equation", rows[0].start, name)

    def _number(self, name: str, row: Row, *, last: bool) -> str | None:
        """The printed number of a row, None where it has none; counts."""
        starred = name in UNNUMBERED_DISPLAYS or name in ("$$", "\\[")
        if row.tag is not None:
            return row.tag
        if row.unnumbered or (starred and not row.numbered):
            return None
        if last and not row.latex and not row.labels and name.rstrip("*") in ROW_DISPLAYS:
            if not self.only_referenced:  # LaTeX numbers the empty row after a last \\
                self.numbering.next_equation()
            return None
        if self.only_referenced and not self._is_referenced(row):
            return None
        return self.numbering.next_equation()

    def _is_referenced(self, row: Row) -> bool:
        if self.referenced is None:
            self.referenced = {
                label.strip()
                for command, *labels in _REFERENCED.findall(self.text)
                if command in self.references_that_count
                for label in ",".join(labels).split(",")
            }
        return any(label in self.referenced for label in row.labels)

    def _references_in(self, start: int, end: int) -> list[str]:
        """Labels that a range refers to."""
        if self.text.find("ref", start, end) < 0:
            return []
        found = _REFERENCED.findall(self.text, start, end)
        labels = ",".join(labels for _, *pair in found for labels in pair if labels)
        return [label.strip() for label in labels.split(",") if label.strip()]

    def _equation(self, name: str, rows: list[Row], number: str | None, display: int) -> None:
        text = " \\\\ ".join(row.latex for row in rows if row.latex)
        for row in rows:
            for start, stop in row.prose:
                self.walk(start, stop)
                self.say(" ")
            for start, stop in row.notes:
                self.aside(start, stop)
        if not text:
            if number is not None:
                self.problem("empty equation", rows[0].start, name)
            return
        if is_drawing(text):
            self.problem("drawing in a display", rows[0].start, name)
            return
        index = len(self.found.equations)
        if index >= MARKS:
            self.lose("too many equations", rows[0].start)
            return
        self.found.equations.append(
            Found(
                rows[0].start, rows[-1].end, text, name, display,
                [label for row in rows for label in row.labels], number is not None, number,
                self._group, self._section, self._references_in(rows[0].start, rows[-1].end),
            )
        )  # fmt: skip
        muted, self._muted = self._muted, 0
        ends = "." if _ENDS_SENTENCE.search(text) else ""
        mark = " " + chr(EQUATION_BASE + index) + ends + " "
        if muted:
            self._asides.append(mark.strip())
        else:
            self.say(mark)
        self._muted = muted


#: What a command does: given the walk, the match of its name and where the text ends; it says
#: where reading goes on.
Command = Callable[[Walk, re.Match[str], int], int]
