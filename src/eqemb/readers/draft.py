r"""Collect the text and the displays of one document, in reading order, into an `Article`.

Every reader but that of LaTeX works with a `Draft`:

    draft = Draft(source, decode(data))
    draft.heading("Method")
    draft.text("We minimise ")
    draft.inline(r"f")
    draft.display(r"f(x) = x^2 \label{eq:f}", line=3)
    draft.text("as in ")
    draft.reference("eq:f")
    draft.end_paragraph()
    return draft.finish()
"""

import posixpath
import re
from collections.abc import Iterable

from eqemb.article import DOLLAR, EQUATION_MARK, Article, Equation, Problem
from eqemb.errors import SourceError
from eqemb.formula.running_text import plain_text
from eqemb.readers.latex.displays import count_displays
from eqemb.readers.latex.files import decode as decode_tex
from eqemb.readers.people import checked_names
from eqemb.readers.placing import place_equations, without_marks
from eqemb.readers.prose import (
    BREAK,
    EQUATION_BASE,
    EQUATION_MARKS,
    HOLE,
    MARKS,
    REFERENCE_BASE,
    protect,
    tidy,
)
from eqemb.readers.tex_math import MathRow, TexMath, split_displays
from eqemb.sources import Source

_OUR_MARKS = re.compile(f"[{EQUATION_MARK}\x00{BREAK}\ue100\ue101{HOLE}\U000f0000-\U0010ffff]")
_SOFT = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u2060\ufeff"))
_DATE = re.compile(r"(?:19|20)\d\d(?:[-/](?:0[1-9]|1[0-2])(?:[-/](?:0[1-9]|[12]\d|3[01]))?)?(?!\d)")
_STOP_IN_FORMULA = re.compile(r"([.!?][\"')\]]*) +")
#: The cause of losses that only the independent count knows.
NOT_ACCOUNTED = "lost: not accounted for"
_TEX_REFERENCE = re.compile(r"\\(?:eq|auto|c|C|page|name)?ref\*?\s*\{([^{}]*)\}")


def decode(data: bytes) -> str:
    """Decode a text file; the characters that mark equations in a draft become blanks."""
    return _OUR_MARKS.sub(" ", decode_tex(data))


class Draft:
    """An article under construction: paragraphs, headings and displays in reading order."""

    def __init__(self, source: Source, main: str = "", *, size: int = 0) -> None:
        """Begin the article of a source; `main` is its file, `size` that file's bytes."""
        main = main or source.main or next(iter(source.files), "")
        self.article = Article(source.name, source.origin, source.collection, main_file=main)
        self.article.problems += source.problems
        self.article.source_bytes = size or len(source.files.get(main, b""))
        self.math = TexMath()
        """The document's macros."""
        self.has_math = False
        """Whether there was any formula, inline or displayed."""
        self._pieces: list[str] = []
        self._paragraphs: list[str] = []
        self._equations: list[Equation] = []
        self._refers: list[list[str]] = []
        self._references: list[str] = []
        self._printed: dict[str, str] = {}
        self._section = ""
        self._displays = 0
        self._definitions = 0  # displays that only define macros

    # -- text

    def title(self, text: str) -> None:
        """The title of the document, plain text or with `inline_text`; the first one counts."""
        if not self.article.title and (title := _line(text)):
            self.article.title = plain_text(without_marks(title))
            self._paragraphs.insert(0, title)

    def authors(self, entries: Iterable[str], date: str = "") -> None:
        """Authors as metadata lists them, one each, and the date; the first list counts."""
        article = self.article
        article.authors = article.authors or checked_names(entries)
        if not article.date and (match := _DATE.match(date.strip())):
            article.date = match[0].replace("/", "-")

    def heading(self, text: str) -> None:
        """Begin a section; `text` is plain, or made with `inline_text`."""
        self.end_paragraph()
        if title := _line(text):
            self._section = without_marks(title)
            self.article.sections.append(self._section)
            self._paragraphs.append(title)

    def text(self, piece: str) -> None:
        """Add running text to the current paragraph; dollars in it are money."""
        self._pieces.append(plain(piece))

    def inline(self, latex: str) -> None:
        """Add a formula within the running text."""
        self._pieces.append(self.inline_text(latex))

    def inline_text(self, latex: str) -> str:
        """A formula as part of a title or heading."""
        formula = self.math.inline(_OUR_MARKS.sub(" ", latex))
        if not formula:
            return " "
        self.has_math = True
        references = [ref.strip() for ref in _TEX_REFERENCE.findall(formula)]
        if references and not _TEX_REFERENCE.sub("", formula).strip(" ()"):  # $\eqref{x}$
            return "".join(map(self._mark, references))
        formula = _STOP_IN_FORMULA.sub(r"\1", formula)  # before a blank it would end a sentence
        return f"${protect(formula)}$"

    def reference(self, label: str) -> None:
        """Add a reference to an equation; its number is printed if it is known."""
        self._pieces.append(self._mark(label.strip()))

    def break_sentence(self) -> None:
        """End the sentence here, whatever its punctuation: list items, cells, captions."""
        self._pieces.append(BREAK)

    def end_paragraph(self) -> None:
        """End the current paragraph, if it has any text."""
        if paragraph := _line("".join(self._pieces)):
            self._paragraphs.append(paragraph)
        self._pieces.clear()

    # -- displays

    def display(  # noqa: PLR0913 - formats record different things
        self,
        latex: str,
        *,
        line: int,
        end_line: int = 0,
        environment: str = "$$",
        labels: tuple[str, ...] = (),
        number: str | None = None,
        numbered: bool | None = None,
        written: str | None = None,
        parts: bool = False,
    ) -> None:
        r"""Add a display at this point of the text.

        Args:
            latex: What stands between its delimiters; it may be a whole environment.
            line: Its first line in the file.
            end_line: Its last line, if that is another one.
            environment: The delimiters, if there is no LaTeX environment in them.
            labels: Labels that the format gives it, besides `\label`.
            number: The number that the format prints, without parentheses.
            numbered: Whether the format numbers it, if a label alone does not say so.
            written: The source as its author wrote it, if that is not `latex`.
            parts: Whether blank lines in it separate equations.
        """
        self.has_math = True
        self.article.displays_opened += 1
        found = self.math.display(_OUR_MARKS.sub(" ", latex), parts=parts)
        if not found.rows:
            cause = "drawing in a display" if found.is_drawing else "empty equation"
            if not found.is_drawing and latex.strip():
                self.article.displays_opened -= 1
                self._definitions += 1
                return
            self.lost(cause, line, environment, is_opened=True)
            return
        self._displays += 1
        found.rows[0].labels[:0] = labels
        if number and not any(row.tag for row in found.rows):
            found.rows[-1].tag = number
        first = len(self._equations)
        for row in found.rows:
            self._add_equation(row, found.environment or environment, (line, end_line or line))
        if numbered is not None:
            for equation in self._equations[first:]:
                equation.numbered = numbered
        if len(found.rows) == 1 and self._equations:
            self._equations[-1].latex = (latex if written is None else written).strip()

    def latex(self, latex: str, *, line: int, end_line: int = 0) -> int:
        """Add the displays of a piece of LaTeX and keep its macros; its text is left out.

        Returns:
            How many displays it opens. Those that are not closed are lost.
        """
        latex = self.math.define(latex)
        found = split_displays(latex)
        for display, environment in found:
            self.display(display, line=line, end_line=end_line, environment=environment)
        opened = max(count_displays(latex), len(found))
        for _ in range(opened - len(found)):
            self.lost("display not closed", line)
        return opened

    def lost(self, cause: str, line: int, detail: str = "", *, is_opened: bool = False) -> None:
        """Count a display that could not be read, with its cause."""
        self.article.displays_opened += not is_opened
        self.article.displays_lost += 1
        self.problem(f"lost: {cause}", line, detail)

    def problem(self, cause: str, line: int = 0, detail: str = "") -> None:
        """Note something that may be wrong."""
        self.article.problems.append(Problem(cause, self.article.main_file, line, detail[:200]))

    def missing(self, opened: int) -> int:
        """How many displays of an independent count are neither read nor lost, up to here."""
        return opened - self._definitions - self._known()

    def finish(self, opened: int | None = None) -> Article:
        """The article; raises `SourceError` if the document has no mathematics at all.

        Args:
            opened: The number of displays by a count that is independent of the reading. What it
                has and we have not is lost, and reported.
        """
        self.end_paragraph()
        article = self.article
        if not self.has_math:
            raise SourceError("no mathematics", "no formula in it")
        if self.math.leaves_macros:
            self.problem("expansion budget", 0, "macros are left in formulas")
        missing = 0 if opened is None else self.missing(opened)
        if missing > 0:
            self.problem(NOT_ACCOUNTED, 0, f"{missing} displays")
            article.displays_lost += missing
        article.displays_opened = self._known()
        targets: dict[str, list[Equation]] = {}
        for equation in self._equations:
            for label in equation.labels:
                targets.setdefault(label, []).append(equation)
                if equation.number is not None:
                    self._printed.setdefault(label, equation.number)
        place_equations(
            article,
            self._paragraphs,
            self._equations,
            self._references,
            refers=self._refers,
            targets=targets,
            printed=self._printed,
        )
        if not article.title:
            name = posixpath.basename(article.main_file)
            article.title = article.sections[0] if article.sections else posixpath.splitext(name)[0]
        return article

    def _known(self) -> int:
        """Displays that were read or lost."""
        read = {equation.display for equation in self._equations}
        return len(read) + self.article.displays_lost

    def _mark(self, label: str) -> str:
        if len(self._references) >= MARKS:
            return ""
        self._references.append(label)
        return chr(REFERENCE_BASE + len(self._references) - 1)

    def _add_equation(self, row: MathRow, environment: str, lines: tuple[int, int]) -> None:
        if len(self._equations) >= MARKS:
            self.lost("too many equations", lines[0], environment, is_opened=True)
            return
        self._equations.append(Equation(
            self.article.name, 0, bool(row.tag or row.labels), row.tag,
            list(dict.fromkeys(row.labels)), environment, self._displays, row.latex, row.latex,
            self.article.main_file, *lines, self._section,
        ))  # fmt: skip
        self._refers.append([ref.strip() for ref in _TEX_REFERENCE.findall(row.latex)])
        mark = chr(EQUATION_BASE + len(self._equations) - 1)
        self._pieces.append(f" {mark}{'.' * row.ends_sentence} ")


def plain(text: str) -> str:
    """Running text without formulas, as a draft keeps it: dollars are money."""
    return _OUR_MARKS.sub(" ", text).replace("$", DOLLAR).translate(_SOFT)


def _line(text: str) -> str:
    """A paragraph on one line, without what citations leave behind."""
    parts = [" ".join(part.split()) for part in text.split(BREAK)]
    line = tidy(BREAK.join(part for part in parts if part))
    return line if line.strip() and (EQUATION_MARKS.search(line) or line.strip(" .,;:-")) else ""
