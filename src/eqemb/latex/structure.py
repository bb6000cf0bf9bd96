"""Walk the expanded source: running text, headings, displays, labels and references.

The walk goes once over the text by position and never copies it; arguments (a footnote, a
caption) are walked as ranges of the same text, so that every equation knows its source line.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from eqemb.article import Problem
from eqemb.latex.commands import (
    ACCENTS,
    ASIDES,
    CHARACTERS,
    DISPLAY_ARGUMENTS,
    DISPLAYS,
    DROP_ARGUMENTS,
    ENVIRONMENT_ARGUMENTS,
    EQUATION_REFERENCES,
    HEADINGS,
    LENGTHS,
    MUTED,
    OPTIONAL_IS_TEXT,
    REFERENCES,
    ROW_DISPLAYS,
    SUBEQUATIONS,
    TITLES,
    UNNUMBERED_DISPLAYS,
)
from eqemb.latex.displays import Row, group_end, read_row, split_rows
from eqemb.latex.expand import Expanded
from eqemb.latex.numbering import Numbering
from eqemb.latex.prose import BREAK, EQUATION_BASE, MARKS, REFERENCE_BASE, accented, clean, protect

_TOKEN = re.compile(
    r"\\([A-Za-z@\ue000-\uf8ff]+)|\\(.)|\$\$?|\n[ \t]*\n\s*", re.DOTALL
)
_NAME = re.compile(r"\s*\{([^{}]*)\}")
_SPACE = re.compile(r"[ \t]*\n?[ \t]*")
_LENGTH = re.compile(
    r"\s*=?\s*(?:-?[\d.,]*\s*(?:\\[A-Za-z]+|true)?\s*(?:pt|em|ex|cm|mm|in|bp|pc|mu|fil+|sp|dd|cc)?)"
    r"(?:\s*(?:plus|minus)\s*-?[\d.]*\s*(?:\\[A-Za-z]+|pt|em|ex|cm|mm|in|bp|pc|mu|fil+)?){0,2}"
)
_INLINE = re.compile(r"(?:[^$\\]|\\.)*?\$", re.DOTALL)
_CONTROL = re.compile(r"\\(.)", re.DOTALL)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_HEADING_INSIDE = re.compile(r"\\(?:sub)*section\b|\\chapter\b|\\begin\{document\}")
_REFERENCED = re.compile(
    r"\\(?:" + "|".join(sorted(EQUATION_REFERENCES)) + r")\*?\s*\{([^{}]*)\}(?:\{([^{}]*)\})?"
)
#: The independent count: openings of displays, by no other rule than their names.
_OPENING = re.compile(
    r"\\begin\{(?:" + "|".join(re.escape(name) for name in sorted(DISPLAYS)) + r"|empheq)\}"
    r"|\\\\|\\\[|\\[$]|\$\$?|\n[ \t]*\n"
)  # fmt: skip
_FENCE = re.compile(r"\\begin\{empheq\}(?:\[[^\]]*\])?\{(\w+\*?)(?:=[^{}]*)?\}")
_MATH_LABEL = re.compile(r"\\label\s*\{[^{}]*\}|\n\s*|\$")
_ENDS_SENTENCE = re.compile(r"(?<!\\right)(?<!\\left)\.[\s}\\,;:!]*(?:\\end\{\w+\*?\}\s*)*$")
_LABEL_OPTION = re.compile(r"label\s*=\s*\{?([^{},\]]+)")


def _depth(text: str) -> int:
    """Braces opened and not closed."""
    opened = text.count("{") - text.count("\\{")
    return opened - (text.count("}") - text.count("\\}"))


def count_displays(text: str, start: int = 0, end: int | None = None) -> int:
    r"""Displays opened in a text, counted by names alone: \begin{..}, \[ and every second $$."""
    displays, inline, dollars = 0, False, False
    for match in _OPENING.finditer(text, start, len(text) if end is None else end):
        token = match[0]
        if token == "$":
            inline = not inline
        elif token == "$$":
            if not inline:  # within $..$ it closes one and opens the next
                displays += not dollars
                dollars = not dollars
        elif token[0] == "\n":
            inline = False  # a blank line: a stray dollar goes no further
        elif token not in ("\\\\", "\\$"):
            displays += 1
    return displays


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


class Walker:
    """One walk over one expanded source."""

    def __init__(self, expanded: Expanded) -> None:
        self.text = expanded.text
        self.source = expanded.source
        self.found = Structure()
        self.numbering = Numbering(expanded.document_class)
        self.only_referenced = False
        self.referenced: set[str] | None = None
        self._pieces: list[str] = []
        self._asides: list[str] = []
        self._open: list[str] = []
        self._muted = 0
        self._section = ""
        self._displays = 0
        self._groups = 0
        self._group = 0

    def run(self, start: int) -> Structure:
        """Walk the preamble for its declarations, then the document."""
        self._muted = 1
        self.walk(0, start)
        self._muted, self._open, self._pieces, self._asides = 0, [], [], []
        self.found = Structure(title=self.found.title)  # a preamble holds no equations
        self.walk(start, len(self.text))
        self.paragraph()
        self.found.opened = count_displays(self.text, start)
        return self.found

    # ------------------------------------------------------------ the walk

    def walk(self, pos: int, end: int) -> None:
        """Read the text between two positions."""
        text, search, commands = self.text, _TOKEN.search, _COMMANDS
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
                pos = match.end() if command is None else command(self, match, end)
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
        pieces, muted, opened = self._pieces, self._muted, self._open
        self._pieces, self._muted, self._open = [], 0, []
        paragraphs = self.found.paragraphs
        self.found.paragraphs, asides = [], self._asides
        self._asides = []
        self.walk(start, end)
        self.paragraph()
        self._asides = asides + self.found.paragraphs
        self.found.paragraphs = paragraphs
        self._pieces, self._muted, self._open = pieces, muted, opened

    def plain(self, start: int, end: int) -> str:
        """A range as one line of text, marks and all dropped from the stream (a title)."""
        pieces, muted = self._pieces, self._muted
        self._pieces, self._muted = [], 0
        self.walk(start, end)
        text = clean(self._pieces)
        self._pieces, self._muted = pieces, muted
        return text

    def problem(self, cause: str, pos: int, detail: str = "") -> None:
        """Note what could not be read."""
        file, line = self.source.line(pos)
        self.found.problems.append(Problem(cause, file, line, detail))

    def lose(self, cause: str, pos: int, detail: str = "", count: int = 1) -> None:
        """A display that was opened and not read."""
        self.found.lost += count
        self.problem("lost: " + cause, pos, detail)

    # ------------------------------------------------------------ arguments

    def argument(self, pos: int, end: int) -> tuple[int, int, int]:
        """Start, end and what follows of a mandatory argument; empty where there is none."""
        text = self.text
        pos = _SPACE.match(text, pos, end).end()  # type: ignore[union-attr]
        if text.startswith("{", pos) and pos < end:
            close = group_end(text, pos + 1, end)
            return pos + 1, close, min(close + 1, end)
        return pos, pos, pos

    def optional(self, pos: int, end: int) -> tuple[int, int, int]:
        """Start, end and what follows of an optional argument; empty where there is none."""
        text = self.text
        if not text.startswith("[", pos):
            spaced = _SPACE.match(text, pos, end).end()  # type: ignore[union-attr]
            if not text.startswith("[", spaced):
                return pos, pos, pos
            pos = spaced
        close = text.find("]", pos + 1, end)
        while close >= 0 and text.count("{", pos, close) > text.count("}", pos, close):
            close = text.find("]", close + 1, end)
        if close < 0:
            return pos, pos, pos
        return pos + 1, close, close + 1

    def value(self, pos: int, end: int) -> tuple[str, int]:
        """The text of a mandatory argument and what follows it."""
        start, stop, after = self.argument(pos, end)
        return self.text[start:stop], after

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
        if text.find("\\begin{", start, pos) >= 0 or text.find("\\[", start, pos) >= 0:
            inside = count_displays(text, start, pos)
            if inside:
                self.lose("in an argument that is not text", start, "\\" + command, inside)
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
        self._muted += name in MUTED

    def leave(self, name: str) -> None:
        """It closes; what was left open inside it closes too."""
        if name not in self._open:
            return
        while self._open:
            last = self._open.pop()
            self._muted -= last in MUTED
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

    def heading(self, title: str, level: int) -> None:
        """A heading is text, and names what follows."""
        if title:
            self.found.paragraphs.append(title)
            self.found.sections.append(title)
            self._section = title
        del level

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
            close = self.text.find("\\)", pos, end)
            if close < 0:
                return pos
            self._math(pos, close)
            return close + 2
        if symbol in ACCENTS:
            return self.accent(ACCENTS[symbol], pos, end)
        if symbol == "\\":
            self.say(" ")
            if self.text.startswith("*", pos):
                pos += 1
            return self.optional(pos, end)[2] if self.text.startswith("[", pos) else pos
        if symbol in "%&#_":
            self.say(symbol)
        elif symbol == "$":
            self.say("＄")
        elif symbol in " ,;:\n\t!>":
            self.say(" ")
        return pos

    def accent(self, mark: str, pos: int, end: int) -> int:
        r"""\'e, \'{e}, \'\i."""
        text = self.text
        pos = _SPACE.match(text, pos, end).end()  # type: ignore[union-attr]
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
                if _BLANK_LINE.search(inside):
                    break
                self._math(pos, close - 1)
                return close
        self.problem("unclosed inline mathematics", pos)
        return pos

    def _math(self, start: int, end: int) -> None:
        if not self._muted:
            inside = _MATH_LABEL.sub(" ", self.text[start:end]).strip()
            self._pieces.append(protect(f"${inside}$"))

    # ------------------------------------------------------------ displays

    def _dollars(self, match: re.Match[str], end: int) -> int:
        close = self.text.find("$$", match.end(), end)
        if close < 0 or self._swallows(match.end(), close):
            self.lose("display not closed", match.start(), "$$")
            return match.end()
        self.display("$$", match.end(), close)
        return close + 2

    def _bracket(self, match: re.Match[str], end: int) -> int:
        for control in _CONTROL.finditer(self.text, match.end(), end):
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
        """A display environment whose \\begin has been read; where reading goes on."""
        text, closing = self.text, "\\end{" + name + "}"
        kind = name
        if name == "empheq":
            fence = _FENCE.match(text, opened)
            kind, body = (fence[1], fence.end()) if fence else ("equation", body)
        close = text.find(closing, body, end)
        again = text.find("\\begin{" + name + "}", body, max(close, body))
        if close < 0 or again >= 0 or self._swallows(body, close):
            self.lose("display not closed", opened, name)
            return again if again >= 0 else self._after_blank(body, end)
        inner = count_displays(text, body, close)
        self.found.nested += inner
        self.display(kind, body, close)
        return close + len(closing)

    def _after_blank(self, pos: int, end: int) -> int:
        match = _BLANK_LINE.search(self.text, pos, end)
        return match.start() if match else end

    def display(self, name: str, start: int, end: int) -> None:
        """Read one display between two positions into equations."""
        self._displays += 1
        labels: list[str] = []
        if DISPLAY_ARGUMENTS.get(name):
            start = self.drop(start, end, 1)
        elif name.startswith("dmath") or name.startswith("IEEE"):
            first, last, start = self.optional(start, end)
            labels += _LABEL_OPTION.findall(self.text, first, last)
        spans = split_rows(self.text, start, end) if name.rstrip("*") in ROW_DISPLAYS else None
        rows = [read_row(self.text, a, b) for a, b in spans or [(start, end)]]
        rows[0].labels[:0] = labels
        self._join(name, rows)

    def _join(self, name: str, rows: list[Row]) -> None:
        """Rows without a number join the numbered row they lead to; trailing ones the last."""
        numbers = [self._number(name, row, last=row is rows[-1]) for row in rows]
        counts = [i for i, number in enumerate(numbers) if number is not None]
        if not counts:
            self._equation(name, rows, None)
            return
        start = 0
        for index in counts:
            stop = len(rows) if index == counts[-1] else index + 1
            self._equation(name, rows[start:stop], numbers[index])
            start = stop

    def _number(self, name: str, row: Row, *, last: bool) -> str | None:
        """The printed number of a row, None where it has none; counts."""
        starred = name in UNNUMBERED_DISPLAYS or name in ("$$", "\\[")
        if row.tag is not None:
            return row.tag
        if row.unnumbered or (starred and not row.numbered):
            return None
        if last and not row.latex and not row.labels and name.rstrip("*") in ROW_DISPLAYS:
            return self._empty_row(name)
        if self.only_referenced and not self._is_referenced(row):
            return None
        return self.numbering.next_equation()

    def _empty_row(self, name: str) -> None:
        r"""A \\ before \end: LaTeX prints a number on an empty row (not in amsmath's align)."""
        if name == "eqnarray":
            self.numbering.next_equation()

    def _is_referenced(self, row: Row) -> bool:
        if self.referenced is None:
            self.referenced = {
                label.strip()
                for pair in _REFERENCED.findall(self.text)
                for labels in pair
                for label in labels.split(",")
            }
        return any(label in self.referenced for label in row.labels)

    def _equation(self, name: str, rows: list[Row], number: str | None) -> None:
        text = " \\\\ ".join(row.latex for row in rows if row.latex)
        for row in rows:
            for start, stop in row.prose:
                self.walk(start, stop)
                self.say(" ")
        if not text:
            if number is not None:
                self.problem("empty equation", rows[0].start, name)
            self.found.nested += self._first_of_display()
            return
        index = len(self.found.equations)
        if index >= MARKS:
            self.lose("too many equations", rows[0].start)
            return
        self.found.equations.append(
            Found(
                rows[0].start, rows[-1].end, text, name, self._displays,
                [label for row in rows for label in row.labels], number is not None, number,
                self._group, self._section,
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

    def _first_of_display(self) -> int:
        """An empty display is accounted for where no row of it became an equation."""
        equations = self.found.equations
        return 0 if equations and equations[-1].display == self._displays else 1


Command = Callable[[Walker, re.Match[str], int], int]


# ---------------------------------------------------------------- commands


def _begin(walker: Walker, match: re.Match[str], end: int) -> int:
    text = walker.text
    named = _NAME.match(text, match.end(), end)
    if named is None:
        return match.end()
    name, pos = named[1], named.end()
    if name in DISPLAYS or name == "empheq":
        return walker.environment(name, match.start(), pos, end)
    if name == "math":
        close = text.find("\\end{math}", pos, end)
        if close >= 0:
            walker._math(pos, close)  # noqa: SLF001 - one machine in two pieces
            return close + len("\\end{math}")
    walker.enter(name)
    if name in OPTIONAL_IS_TEXT or name in walker.numbering.theorems:
        return pos
    if name not in ENVIRONMENT_ARGUMENTS and not text.startswith("[", pos):
        return pos
    return walker.drop(pos, end, ENVIRONMENT_ARGUMENTS.get(name, 0), "begin")


def _end(walker: Walker, match: re.Match[str], end: int) -> int:
    named = _NAME.match(walker.text, match.end(), end)
    if named is None:
        return match.end()
    if named[1] in DISPLAYS:
        walker.problem("\\end without \\begin", match.start(), named[1])
    walker.leave(named[1])
    return named.end()


def _heading(walker: Walker, match: re.Match[str], end: int) -> int:
    name, pos = match[1], match.end()
    starred = walker.text.startswith("*", pos)
    if not starred:
        walker.numbering.heading({"chap": "chapter"}.get(name, name))
    pos = walker.optional(pos + starred, end)[2]
    start, stop, after = walker.argument(pos, end)
    if HEADINGS[name] <= 4:
        walker.close_floats(match.start())
        walker.paragraph()
        walker.heading(walker.plain(start, stop), level=HEADINGS[name])
    else:  # \paragraph{Name.} runs on into its text
        walker.paragraph()
        walker.walk(start, stop)
        walker.say(BREAK)
    return after


def _title(walker: Walker, match: re.Match[str], end: int) -> int:
    pos = walker.optional(match.end(), end)[2]
    start, stop, after = walker.argument(pos, end)
    if not walker.found.title:
        walker.found.title = walker.plain(start, stop)
    return after


def _aside(walker: Walker, match: re.Match[str], end: int) -> int:
    name, pos = match[1], match.end()
    pos += walker.text.startswith("*", pos)
    count = ASIDES[name]
    for index in range(count):
        pos = walker.optional(pos, end)[2]
        start, stop, after = walker.argument(pos, end)
        if index == count - 1 and after > pos:
            walker.aside(start, stop)
        pos = after
    return pos


def _reference(walker: Walker, match: re.Match[str], end: int) -> int:
    name, pos = match[1], match.end()
    pos += walker.text.startswith("*", pos)
    start, stop, after = walker.optional(pos, end)
    if name == "hyperref":
        walker.refer(walker.text[start:stop])
        return after
    labels, after = walker.value(after, end)
    if name.endswith("range"):
        other, after = walker.value(after, end)
        labels += "," + other
    for label in labels.split(","):
        walker.refer(label.strip())
    return after


def _label(walker: Walker, match: re.Match[str], end: int) -> int:
    label, after = walker.value(match.end(), end)
    walker.label(label.strip())
    return after


def _drop(walker: Walker, match: re.Match[str], end: int) -> int:
    name = match[1]
    return walker.drop(match.end(), end, DROP_ARGUMENTS[name], name)


def _length(walker: Walker, match: re.Match[str], end: int) -> int:
    found = _LENGTH.match(walker.text, match.end(), end)
    walker.say(" ")
    return found.end() if found else match.end()


def _character(walker: Walker, match: re.Match[str], end: int) -> int:
    name, pos = match[1], match.end()
    if name == "par":
        walker.paragraph()
    else:
        walker.say(CHARACTERS[name])
    if walker.text.startswith(" ", pos):
        pos = _SPACE.match(walker.text, pos, end).end()  # type: ignore[union-attr]
        if CHARACTERS[name].isspace():
            return pos
    return pos


def _accent(walker: Walker, match: re.Match[str], end: int) -> int:
    return walker.accent(ACCENTS[match[1]], match.end(), end)


def _item(walker: Walker, match: re.Match[str], end: int) -> int:
    del end
    walker.say(BREAK)
    return match.end()


def _ensure_math(walker: Walker, match: re.Match[str], end: int) -> int:
    start, stop, after = walker.argument(match.end(), end)
    walker._math(start, stop)  # noqa: SLF001
    return after


def _counter(walker: Walker, match: re.Match[str], end: int) -> int:
    r"""\setcounter, \numberwithin and the other commands that count."""
    name, pos, numbering = match[1], match.end(), walker.numbering
    pos += walker.text.startswith("*", pos)
    first, pos = walker.value(pos, end)
    if name in ("stepcounter", "refstepcounter"):
        numbering.step(first)
        return pos
    second, pos = walker.value(pos, end)
    if name in ("setcounter", "addtocounter"):
        numbering.set(first, second, add=name == "addtocounter")
    elif name in ("numberwithin", "counterwithin"):
        numbering.within(first, second)
    elif name == "addtoreset":
        numbering.within(first, second, printed=False)
    elif name == "counterwithout":
        numbering.without(first)
    elif name == "sharecounter":
        numbering.share(first, second)
    return pos


def _format(walker: Walker, match: re.Match[str], end: int) -> int:
    r"""\renewcommand{\theequation}{...}, left standing by the expander."""
    name, pos = walker.value(match.end(), end)
    template, pos = walker.value(pos, end)
    walker.numbering.formats[name.removeprefix("\\the")] = template
    return pos


def _new_theorem(walker: Walker, match: re.Match[str], end: int) -> int:
    name, pos = walker.value(match.end(), end)
    shared = walker.optional(pos, end)
    within = walker.optional(shared[2], end)
    text = walker.text
    walker.numbering.theorem(name, text[shared[0] : shared[1]], text[within[0] : within[1]])
    return within[2]


def _tools(walker: Walker, match: re.Match[str], end: int) -> int:
    options, pos = walker.value(match.end(), end)
    if "showonlyrefs" in options:
        walker.only_referenced = not re.search(r"showonlyrefs\s*=\s*false", options)
    return pos


def _appendix(walker: Walker, match: re.Match[str], end: int) -> int:
    del end
    walker.paragraph()
    walker.numbering.appendix()
    return match.end()


def _matter(walker: Walker, match: re.Match[str], end: int) -> int:
    del end
    walker.numbering.in_matter = match[1] != "frontmatter"
    return match.end()


_COMMANDS: dict[str, Command] = {
    **dict.fromkeys(DROP_ARGUMENTS, _drop),
    **dict.fromkeys(LENGTHS, _length),
    **dict.fromkeys(CHARACTERS, _character),
    **{name: _accent for name in ACCENTS if name.isalpha()},
    **dict.fromkeys(ASIDES, _aside),
    **dict.fromkeys(REFERENCES, _reference),
    **dict.fromkeys(HEADINGS, _heading),
    **dict.fromkeys(TITLES, _title),
    "begin": _begin, "end": _end, "item": _item, "label": _label, "ensuremath": _ensure_math,
    **dict.fromkeys(("setcounter", "addtocounter", "stepcounter", "refstepcounter",
                     "numberwithin", "counterwithin", "counterwithout", "addtoreset",
                     "sharecounter"), _counter),
    "renewcommand": _format, "newtheorem": _new_theorem, "mathtoolsset": _tools,
    "appendix": _appendix, "appendices": _appendix,
    **dict.fromkeys(("frontmatter", "mainmatter"), _matter),
}  # fmt: skip
