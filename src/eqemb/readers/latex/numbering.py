"""LaTeX's counters: sections, theorems, equations, and how a number is printed."""

import posixpath
import re
from itertools import pairwise

from eqemb.readers.latex.commands import CHAPTER_CLASSES, ROMAN_CLASSES, SECTION_CLASSES

_LEVELS = {"part": -1, "chapter": 0, "section": 1, "subsection": 2, "subsubsection": 3,
           "paragraph": 4, "subparagraph": 5}  # fmt: skip
_HEADING_ORDER = (
    "part",
    "chapter",
    "section",
    "subsection",
    "subsubsection",
    "paragraph",
    "subparagraph",
)
_RAW_FORMAT = re.compile(r"\\@?(arabic|roman|Roman|alph|Alph)\s*(?:\\c@([A-Za-z]+)|\{([^{}]*)\})")
_THE = re.compile(r"\\the([A-Za-z]+)")
_LEFT_OVER = re.compile(r"\\[A-Za-z@]+\*?|[{}$~\s]")
_VALUE = re.compile(r"\\value\{([^{}]*)\}|\\c@([A-Za-z]+)|-?\d+")
_LARGEST = 2**31 - 1  # as in TeX
#: As book and report print it: no chapter number before the first chapter, unlike \numberwithin.
_IN_CHAPTER = r"\thechapter.{}\arabic{equation}"


class Numbering:
    """The state of a document's counters."""

    def __init__(self, document_class: str, *, chapters: bool = False) -> None:
        # "styles/SVMult" is svmult, in whatever folder the paper keeps it
        classes = {posixpath.basename(name).lower() for name in document_class.split()}
        self.chapters = chapters or bool(classes & CHAPTER_CLASSES)
        self.counters: dict[str, int] = {}
        self.parents: dict[str, str] = {}
        self.shared: dict[str, str] = {}
        self.theorems: dict[str, str] = {}
        self.formats = {"equation": r"\arabic{equation}", "part": r"\Roman{part}"}
        self.depth = 2 if self.chapters else 3
        self.in_matter = True
        self._groups: list[tuple[str, int, str]] = []
        """Open groups (subequations): number, and the counter value and format to restore."""
        self._section_formats(roman=bool(classes & ROMAN_CLASSES))
        if self.chapters:
            self.within("equation", "chapter", printed=False)
            self.formats["equation"] = _IN_CHAPTER
        elif classes & SECTION_CLASSES:
            self.within("equation", "section")
        self._first_formats = dict(self.formats)

    def _section_formats(self, *, roman: bool) -> None:
        style = "Roman" if roman else "arabic"
        top = "chapter" if self.chapters else "section"
        self.formats[top] = rf"\{style}{{{top}}}"
        for upper, lower in pairwise(_HEADING_ORDER[1:]):
            if lower != top and not (upper == "chapter" and not self.chapters):
                self.formats[lower] = rf"\the{upper}.\arabic{{{lower}}}"
                self.parents[lower] = upper

    # ------------------------------------------------------------ counters

    def step(self, name: str) -> None:
        """Increment a counter, and reset the counters within it."""
        name = self.shared.get(name, name)
        self.counters[name] = self.counters.get(name, 0) + 1
        self._reset_below(name)

    def _reset_below(self, name: str) -> None:
        """Reset all counters within a counter, at any depth."""
        names, reset = [name], {name}
        for upper in names:
            for child, parent in self.parents.items():
                if parent == upper and child not in reset:
                    self.counters[child] = 0
                    reset.add(child)
                    names.append(child)

    def value(self, name: str) -> int:
        """The current value of a counter."""
        return self.counters.get(self.shared.get(name, name), 0)

    def set(self, name: str, expression: str, *, add: bool = False) -> None:
        r"""\setcounter and \addtocounter, with an expression of \value and numbers."""
        name = self.shared.get(name, name)
        if name == "secnumdepth":
            self.depth = self._evaluate(expression)
        else:
            base = self.counters.get(name, 0) if add else 0
            total = base + self._evaluate(expression)
            self.counters[name] = max(-_LARGEST, min(_LARGEST, total))

    def _evaluate(self, expression: str) -> int:
        match = _VALUE.search(expression)
        if match is None:
            return 0
        if match[1] or match[2]:
            return self.value(match[1] or match[2])
        return int(match[0][:9])

    def within(self, child: str, parent: str, *, printed: bool = True) -> None:
        r"""\numberwithin and \counterwithin; \@addtoreset does not change what is printed."""
        self.parents[child] = parent
        if printed:
            self.formats[child] = rf"\the{parent}.\arabic{{{child}}}"

    def without(self, child: str) -> None:
        r"""\counterwithout."""
        self.parents.pop(child, None)
        self.formats[child] = rf"\arabic{{{child}}}"

    def format(self, name: str, template: str | None) -> None:
        r"""\renewcommand{\the<name>}; None restores the default at the end of a group."""
        if template is None:
            template = self._first_formats.get(name, rf"\arabic{{{name}}}")
        self.formats[name] = template

    def theorem(self, name: str, shared: str, within: str) -> None:
        r"""\newtheorem{name}[shared]{..}[within]."""
        self.theorems[name] = shared or name
        if within:
            self.parents[name] = within

    def share(self, alias: str, counter: str) -> None:
        r"""\let\c@alias\c@counter."""
        if alias != counter:
            self.shared[alias] = counter

    def heading(self, name: str) -> None:
        """Count a numbered heading."""
        if self.in_matter and _LEVELS.get(name, 9) <= self.depth:
            self.step(name)

    def appendix(self) -> None:
        r"""\appendix: headings restart, as letters."""
        top = "chapter" if self.chapters else "section"
        self.counters[top] = 0
        self.formats[top] = rf"\Alph{{{top}}}"
        self._reset_below(top)

    # ------------------------------------------------------------ printing

    def printed(self, name: str, inside: tuple[str, ...] = ()) -> str:
        r"""What \the<name> prints; nothing where a format refers to itself."""
        if name in inside:
            return ""
        if name == "parentequation":
            return self.group
        template = self.formats.get(name, rf"\arabic{{{name}}}")
        if template == _IN_CHAPTER and self.value("chapter") <= 0:
            template = r"\arabic{equation}"
        text = _RAW_FORMAT.sub(
            lambda match: "{}" + _style(match[1], self.value(match[2] or match[3])), template
        )
        # at most four: formats that refer to each other many times would exhaust the memory
        text = _THE.sub(lambda match: self.printed(match[1], (*inside, name)), text, count=4)
        return _LEFT_OVER.sub("", text)

    def next_equation(self) -> str:
        """Count an equation and return its printed number."""
        self.step("equation")
        return self.printed("equation")

    def open_group(self) -> None:
        """Subequations begin: one number for the group; inside, counting restarts with letters."""
        self.step("equation")
        self._groups.append(
            (self.printed("equation"), self.value("equation"), self.formats["equation"])
        )
        self.set("equation", "0")
        self.formats["equation"] = r"\theparentequation\alph{equation}"

    def close_group(self) -> None:
        """Subequations end."""
        if self._groups:
            _, value, self.formats["equation"] = self._groups.pop()
            self.set("equation", str(value))

    @property
    def group(self) -> str:
        """The number of the open group, or ''."""
        return self._groups[-1][0] if self._groups else ""


def _style(style: str, value: int) -> str:
    if style == "arabic":
        return str(value)
    if style in ("roman", "Roman"):
        text = _roman(value)
        return text if style == "Roman" else text.lower()
    if not 0 < value <= 26:
        return str(value)
    return chr((64 if style == "Alph" else 96) + value)


def _roman(value: int) -> str:
    if not 0 < value < 4000:
        return str(value)
    text = ""
    for number, letters in (
        (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
        (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
    ):  # fmt: skip
        while value >= number:
            text += letters
            value -= number
    return text
