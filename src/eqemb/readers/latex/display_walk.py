"""Read displays: where each ends, its rows, which rows are numbered and how."""

import re
from collections.abc import Collection
from itertools import pairwise

from eqemb.readers.latex.commands import (
    DISPLAY_ARGUMENTS,
    EQUATION_REFERENCES,
    GROUP_DISPLAYS,
    NUMBERED_DISPLAYS,
    ROW_DISPLAYS,
)
from eqemb.readers.latex.displays import (
    EDGE,
    ENDS_SENTENCE,
    DisplayRow,
    brace_depth,
    count_displays,
    group_end,
    is_drawing,
    joined,
    read_row,
    split_rows,
)
from eqemb.readers.latex.found import FoundEquation, WalkResult
from eqemb.readers.latex.printing import LONGEST_NUMBER
from eqemb.readers.latex.text_walk import TextWalk
from eqemb.readers.prose import EQUATION_BASE, MARKS

_CELL_END = re.compile(r"(?<!\\)&")
_CONTROL = re.compile(r"\\(.)", re.DOTALL)
_HEADING_INSIDE = re.compile(r"\\(?:sub)*section\b|\\chapter\b|\\begin\{document\}")
_REFERENCED = re.compile(
    r"\\(" + "|".join(sorted(EQUATION_REFERENCES)) + r")\*?\s*\{([^{}]*)\}(?:\{([^{}]*)\})?"
)
_FENCE = re.compile(r"\\begin\{empheq\}(?:\[[^\]]{0,500}\])?\{(\w+\*?)(?:=[^{}]*)?\}")
_LONGEST_UNKNOWN = 20_000
#: In text, TeX stops at these.
_ONLY_IN_MATH = re.compile(r"(?<!\\)[_^]|\\(?:frac|sum|int|left|right)(?![A-Za-z])")
#: What an unknown environment has if it is text or, with a bare hash, program code.
_OWN_MATH = re.compile(
    r"\$|(?<!\\)#|(?<!\\)\\[\[(]|\\begin\{(?!array|cases|\w*matrix|\w*ed\})|\n[ \t]*\n"
)
#: Rows with numbers inside $$: \\eqalignno{..}, and what AMS-TeX writes \\align..\\endalign.
_PLAIN_ROWS = re.compile(
    r"\s*\\(?:(?:l?eqalignno|displaylines)\s*\{|begin\{(?P<aligned>aligned|gathered)\})"
)
#: In \\eqalignno after the second &, in \\displaylines after \\hfill.
_PLAIN_NUMBER = re.compile(
    r"(?:(?<=&)[^&]*&|\\hfill)\s*+(?:(?:\\llap\s*+\{|\{)\s*+)?(\([^&()]*\)|[\w.]++)\s*+(?:\}\s*+)?$"
)
_TAG_REFERENCE = re.compile(r"\\(?:eq)?ref\s*+(?:\*\s*+)?\{([^{}]*)\}")
_LATER = re.compile("\0([^\0]*)\0")
_LABEL_OPTION = re.compile(r"label\s*=\s*\{?([^{},\]]+)")


class DisplayWalk(TextWalk):
    """A walk that reads displays into equations."""

    def dollars(self, match: re.Match[str], end: int) -> int:
        """Read a display that opens with two dollars; return where to continue."""
        close = self.search.find("$$", match.end(), end)
        if close < 0 or self.search.search(EDGE, match.end(), close) >= 0:
            self.report_lost("display not closed", match.start(), "$$")
            return match.end()
        if self._muted and self._spans_cells(match.end(), close):
            self.found.empty_formulas += 1
            return match.end()
        self.display("$$", match.end(), close)
        return close + 2

    def _spans_cells(self, start: int, close: int) -> bool:
        """Whether two pairs of dollars are in different cells of a table, each an empty formula."""
        cell = _CELL_END.search(self.text, start, close)
        if cell is None or self.text.find("\\begin", start, cell.start()) >= 0:
            return False
        return brace_depth(self.text[start : cell.start()]) == 0

    def bracket(self, match: re.Match[str], end: int) -> int:
        r"""Read a display that opens with \[; return where to continue."""
        for control in _CONTROL.finditer(self.text, match.end(), end):
            if control[1] == "[":  # another display opens: this one was never closed
                break
            if control[1] == "]":
                if self._contains_heading(match.end(), control.start()):
                    break
                self.display("\\[", match.end(), control.start())
                return control.end()
        self.report_lost("display not closed", match.start(), "\\[")
        return match.end()

    def _contains_heading(self, start: int, close: int) -> bool:
        """Whether a display seems to contain a heading: then its end belongs to another display."""
        return close - start > 400 and _HEADING_INSIDE.search(self.text, start, close) is not None

    def environment(self, name: str, opened: int, body: int, end: int) -> int:
        r"""Read a display environment whose \begin has been read; return where to continue."""
        text, closing = self.text, "\\end{" + name + "}"
        kind = name
        if name == "empheq":
            fence = _FENCE.match(text, opened)
            kind, body = (fence[1], fence.end()) if fence else ("equation", body)
        close = self.search.find(closing, body, end)
        last = close if close >= 0 else end
        again = self.search.find("\\begin{" + name + "}", body, last)
        if close < 0 or again >= 0 or self._contains_heading(body, close):
            resume = self._after_blank(body, again if again >= 0 else end)
            inside = count_displays(text, body, resume)
            self.report_lost("display not closed", opened, name, 1 + inside)
            return resume
        self.display(kind, body, close)
        return close + len(closing)

    def unknown_environment(self, name: str, opened: int, body: int, end: int) -> int:
        r"""Report an environment that is defined nowhere; return where to continue.

        Where its content would be an error in text (an exponent without dollars), it is a display.
        """
        if name not in self._reported:
            self._reported.add(name)
            self.problem("unknown environment", opened, name)
        closing = "\\end{" + name + "}"
        close = self.search.find(closing, body, min(end, body + _LONGEST_UNKNOWN))
        if close < 0 or self.search.search(_ONLY_IN_MATH, body, close) < 0:
            return body
        if self.search.search(_OWN_MATH, body, close) >= 0:
            return body
        self.display(name, self.optional(body, close)[2], close)
        self.found.unnamed += 1
        return close + len(closing)

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
        rows = self._rows(name, start, end)
        rows[0].labels[:0] = labels
        self._report_nested(name, opened, end, rows)
        if name in GROUP_DISPLAYS:
            self.enter(name)
        self._join(name, rows)
        if name in GROUP_DISPLAYS:
            self.leave(name)

    def _rows(self, name: str, start: int, end: int) -> list[DisplayRow]:
        """The rows of a display; one if it has no numbers of rows."""
        text = self.text
        if name.rstrip("*") in ROW_DISPLAYS:
            return [read_row(text, a, b) for a, b in split_rows(text, start, end)]
        plain = _PLAIN_ROWS.match(text, start, end) if name in ("$$", "\\[") else None
        if plain is None or (plain["aligned"] and text.count(r"\tag", start, end) < 2):
            return [read_row(text, start, end)]
        close = group_end(text, plain.end(), end)
        if plain["aligned"]:
            close = text.find(r"\end{" + plain["aligned"], plain.end(), end)
        rows = [read_row(text, a, b) for a, b in split_rows(text, plain.end(), max(close, start))]
        rows = [row for row in rows if row.latex] or rows[:1]
        for row in rows:
            number = _PLAIN_NUMBER.search(row.latex)
            if number is not None and not plain["aligned"]:
                row.latex, row.tag = row.latex[: number.start()], number[1]
        return rows

    def _report_nested(self, name: str, start: int, end: int, rows: list[DisplayRow]) -> None:
        """Report displays that open within this one; they are read as part of it.

        Displays in its prose and footnotes are read separately. A nested display may mean that an
        end is missing and this display contains what follows it.
        """
        inside = count_displays(self.text, start, end)
        if inside:
            apart = [span for row in rows for span in row.prose + row.notes]
            inside -= sum(count_displays(self.text, *span) for span in apart)
        if inside > 0:
            self.found.nested += inside
            self.problem("display within another", start, f"{inside} in {name}")

    def _join(self, name: str, rows: list[DisplayRow]) -> None:
        """Make equations of rows: unnumbered rows join the next numbered one, or the last."""
        display = self._displays
        if name.startswith("IEEE"):
            numbers = self._ieee_numbers(name, rows)
        else:
            numbers = [self._number(name, row, last=row is rows[-1]) for row in rows]
        counts = [i for i, number in enumerate(numbers) if number is not None]
        ends = [*(index + 1 for index in counts[:-1]), len(rows)]
        groups = [rows[a:b] for a, b in pairwise([0, *ends])]
        for group, index in zip(groups, counts or [0], strict=True):
            self._add_equation(name, group, numbers[index], display)
        texts = [text for text in map(joined, groups) if text]
        if not texts:
            self.found.nested += 1
        elif all(map(is_drawing, texts)):
            self.found.drawings += 1
        # a numbered one is reported with its number
        if not counts and not any(row.latex for row in rows):
            self.problem("empty equation", rows[0].start, name)

    def _number(self, name: str, row: DisplayRow, *, last: bool) -> str | None:
        """Count a row, and return its printed number, None if it has none."""
        starred = name not in NUMBERED_DISPLAYS
        numbering, single = self.numbering, name.rstrip("*") not in ROW_DISPLAYS
        numbered = row.tag is None and not row.unnumbered and (row.numbered or not starred)
        if numbered and self.only_referenced:
            numbered = self._is_referenced(row)
        if numbered and single:  # LaTeX steps the counter before an equation, but after a row
            numbering.step("equation")
        for position in row.counters:
            self.command_at(position, row.end)
        if row.tag is not None:
            return self._tag(row.tag)
        if not numbered:
            return None
        if not single:
            numbering.step("equation")
        if last and not single and not row.latex and not row.labels:
            return None  # LaTeX numbers the empty row after a final \\\\
        return numbering.printed("equation")

    def _ieee_numbers(self, name: str, rows: list[DisplayRow]) -> list[str | None]:
        r"""The numbers of an IEEEeqnarray: its marks hold for a row, with a star from there on."""
        default = "nonumber" if name.endswith("*") else "yesnumber"
        numbering, numbers = self.numbering, []
        for row in rows:
            for position in row.counters:
                self.command_at(position, row.end)
            modes = [default, *(mark.rstrip("*") for mark in row.marks)]
            mode = "nonumber" if row.unnumbered else modes[-1]
            default = next((m[:-1] for m in reversed(row.marks) if m.endswith("*")), default)
            number = None
            if "yessubnumber" in mode and row.latex:
                if "yesnumber" in modes[1:]:
                    numbering.step("equation")
                numbering.step("IEEEsubequation")
                number = numbering.print(r"\theequation\alph{IEEEsubequation}")
            elif mode in ("yesnumber", "nosubnumber") and (row.latex or row is not rows[-1]):
                numbering.step("equation")
                number = numbering.printed("equation")
            numbers.append(number if row.tag is None else self._tag(row.tag))
        return numbers

    def _tag(self, source: str) -> str:
        r"""What a \tag or \eqno prints, without parentheses."""
        if "ref" in source:
            source = _TAG_REFERENCE.sub(lambda match: self._printed(match[1].strip()), source)
        return self.numbering.print(source).strip("()")

    def _printed(self, label: str) -> str:
        """What a reference to an equation prints; a mark for one that comes later."""
        if label in self.found.group_labels:
            return self.found.group_labels[label][1]
        return self.found.numbers.get(label, f"\0{label}\0")

    def _resolve_tags(self) -> None:
        """Put numbers in tags that refer to later equations."""
        for equation in self.found.equations:
            if equation.number and "\0" in equation.number:
                number = _LATER.sub(
                    lambda match: self.found.numbers.get(match[1], ""), equation.number
                )
                equation.number = number[:LONGEST_NUMBER]

    def run(self, start: int) -> WalkResult:
        """Walk over the preamble for its declarations, then over the document."""
        found = super().run(start)
        self._resolve_tags()
        return found

    def _is_referenced(self, row: DisplayRow) -> bool:
        if self.referenced is None:
            self.referenced = {
                " ".join(label.split())
                for command, *labels in _REFERENCED.findall(self.text)
                if command in self.references_that_count
                for label in ",".join(labels).split(",")
            }
        return any(label in self.referenced for label in row.labels)

    def _references_in(self, start: int, end: int) -> list[str]:
        """The labels that a range refers to."""
        if self.text.find("ref", start, end) < 0:
            return []
        found = _REFERENCED.findall(self.text, start, end)
        labels = ",".join(labels for _, *pair in found for labels in pair if labels)
        return [" ".join(label.split()) for label in labels.split(",") if label.strip()]

    def _add_equation(
        self, name: str, rows: list[DisplayRow], number: str | None, display: int
    ) -> None:
        """Add the equation made of some rows of a display, and its mark in the text."""
        text = joined(rows)
        for row in rows:
            for start, stop in row.prose:
                self.walk(start, stop)
                self.add_text(" ")
            for start, stop in row.notes:
                self.aside(start, stop)
        if not text:
            if number is not None:
                self.problem("empty equation", rows[0].start, name)
            return
        if is_drawing(text):
            self.problem("drawing in a display", rows[0].start, name)
            return
        labels = [label for row in rows for label in row.labels]
        if number and len(number) >= LONGEST_NUMBER:
            self.problem("number cut off", rows[0].start)
        self.found.numbers |= dict.fromkeys(labels, number or "")
        index = len(self.found.equations)
        if index >= MARKS:
            self.report_lost("too many equations", rows[0].start)
            return
        self.found.equations.append(
            FoundEquation(
                rows[0].start, rows[-1].end, text, name, display,
                labels, number is not None, number,
                self._group, self._section, self._references_in(rows[0].start, rows[-1].end),
            )
        )  # fmt: skip
        muted, self._muted = self._muted, 0
        ends = "." if ENDS_SENTENCE.search(text) else ""
        mark = " " + chr(EQUATION_BASE + index) + ends + " "
        if muted:
            self._asides.append(mark.strip())
        else:
            self.add_text(mark)
        self._muted = muted

    # ------------------------------------------------------------ where the walk is

    def is_under(self, title: re.Pattern[str]) -> bool:
        """Whether the title of the section matches a pattern."""
        return title.search(self._section) is not None

    def innermost(self, names: Collection[str]) -> str:
        """The innermost open environment with one of these names, or ''."""
        opened = [(self._opened[name][-1], name) for name in names if self._opened.get(name)]
        return max(opened)[1] if opened else ""
