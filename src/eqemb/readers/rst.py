r"""Read reStructuredText as docutils and Sphinx know it.

The scanner goes once over the lines. The body of a directive with prose (a note, a theorem, an
unknown directive) is read like any other text, so only code, comments and formulas are blocks, by
their indentation. Nothing is executed and no other file is opened.

Sphinx numbers the equations with a label, from 1 in each document; so do we.
"""

import re

from eqemb.article import Article
from eqemb.readers.draft import Draft, decode, plain
from eqemb.readers.rst_inline import RstPiece, read_inline
from eqemb.sources import Source

_RST_DIRECTIVE = re.compile(
    r"\.\.[ ]+(?:\|([^|]{1,200})\|[ ]*)?([A-Za-z0-9][\w:+.-]{0,60}?)[ ]?::(?:[ ]+(.*))?$"
)
_TARGET_LINE = re.compile(r"\.\. _(.*?)(?<!\\):(?:[ ]+(.*))?$")
_NOTE_LINE = re.compile(r"\.\. \[([^\]]{1,100})\](?:[ ]+(.*))?$")
_BULLET = re.compile(r"(?:[*+•‣⁃-]|\(?(?:\d{1,4}|#|[a-z]|[ivx]{1,5})[.)])[ ]+(?=\S)")
_FIELD_LINE = re.compile(r":(?![:\s])([^:`]{1,80}):(?:[ ]+(.*))?$")
_ADORNMENT = re.compile(r"([!-/:-@[-`{-~])\1*")
_GRID_BORDER = re.compile(r"\+[-=+]{2,}\+")
_SIMPLE_BORDER = re.compile(r"=+(?: +=+)+")
_MATH_OPTION = re.compile(r"\s*:(label|name|nowrap|no-wrap|class|number|enumerated):(?:\s+(.*))?")
_LABEL_LINE = re.compile(r"(?m)^[ ]+:label:[ ]+(\S.*)$")
_REPLACEMENT = re.compile(r"(?m)^[ \t]*\.\. \|([^|\n]{1,200})\|[ ]+replace::[ ]+(.{1,200})$")
#: For the independent count: directives by their name only, also in lists and tables.
_MATH_LINE = re.compile(
    r"(?im)^(?:[ ]|[|*+•-](?=[ ]))*(?:\(?[\w#]{1,4}[.)][ ]+)?"
    r"\.\.[ ]+(?:math:)?math[ ]?::(?=[ ]|$)"
)
#: Formulas as interpreted text without a role, which some projects configure.
_PLAIN_FORMULA = re.compile(r"(?<![`:\w\\])`[^`\n\\]*\\[A-Za-z][^`\n]*`(?![`_])")
_RST_QUOTES = (">", "|", "$", "#", "%")

_WITHOUT_TEXT = set(
    "code code-block code-cell sourcecode literalinclude plot ipython doctest testcode testoutput"
    " testsetup testcleanup parsed-literal prompt productionlist graphviz digraph graph uml mermaid"
    " inheritance-diagram tikz jupyter-execute jupyter-input jupyter-output bokeh-plot altair-plot"
    " pyplot execute_code exec command-output program-output runblock highlight csv-table"
    " toctree contents index bibliography footbibliography meta sectionauthor codeauthor image"
    " video youtube disqus tags tabularcolumns role autosummary minigallery title target-notes date"
    " unicode replace todolist include sectnum header footer iframe datatemplate".split()
)
#: Directives with a body of text whose argument is no text.
_NAME_ARGUMENT = set(
    "figure container only ifconfig tab-set grid glossary hlist function method attribute data"
    " exception class rst-class cssclass module currentmodule classmethod staticmethod property"
    " decorator describe object option confval compound list-item grid-item tabs card-carousel"
    " versionadded versionchanged deprecated".split()
)


def read_rst(source: Source) -> Article:
    """Read one file of reStructuredText, the only file of the source."""
    draft = Draft(source)
    text = decode(source.files[draft.article.main_file]).expandtabs(8)
    text = text.replace("\v", " ").replace("\f", " ")
    scanner = _RstScanner(draft, text)
    scanner.scan()
    return draft.finish(opened=len(_MATH_LINE.findall(text)) - scanner.hidden + scanner.raw)


class _RstScanner:
    """One pass over the lines of a document."""

    def __init__(self, draft: Draft, text: str) -> None:
        self.draft = draft
        self.lines = [line.rstrip() for line in text.split("\n")]
        self.at = 0
        self.hidden = 0
        """Displays in code and comments."""
        self.raw = 0
        """Displays in raw LaTeX and between dollars."""
        self._substitutions = {
            " ".join(name.split()).lower(): _flat(value)
            for name, value in _REPLACEMENT.findall(text)
        }
        self._labels = {label.rstrip(" ") for label in _LABEL_LINE.findall(text)}
        self._default_role = "math" if len(_PLAIN_FORMULA.findall(text)) > 2 else ""
        self._block: list[str] = []
        self._column = 0
        self._first = 0  # the first line of the block
        self._targets: list[str] = []
        self._numbers = 0
        self._in_list = self._in_fields = False
        self._began = False  # whether there was a heading or text
        self._ended = False  # whether a blank line ended the paragraph
        self._after_display = False
        self._no_table = False
        self._in_cells = 0  # displays in cells of tables

    def scan(self) -> None:
        """Give everything to the draft."""
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if not line:
                self.at += 1
                self._end_block()
            elif self._block or not (self._title(line) or self._table(line) or self._doctest(line)):
                self._line(line)
        self._emit()

    # -- lines of text

    def _line(self, line: str) -> None:
        """A line of a paragraph or a list, or one that begins with explicit markup."""
        column = _indent(line)
        is_item = False
        while not self._block or is_item or self._in_list:
            if (bullet := _BULLET.match(line, column)) is None:
                break
            if not is_item:
                self._emit()
                self.draft.break_sentence()
            column, is_item, self._in_list = bullet.end(), True, True
        content = line[column:]
        if content.startswith(("..", "__")) and self._explicit(content, column):
            return
        self.at += 1
        if (not self._block or self._in_fields) and (field := _FIELD_LINE.match(content)):
            if not self._began:  # the document's metadata
                self._skip(column)
                return
            self._emit()
            self.draft.break_sentence()
            self._in_fields = True
            content = field[2] or ""
        elif content.startswith("| ") or content == "|":  # a line block
            self._emit()
            self.draft.break_sentence()
            content = content[2:]
        elif len(self._block) == 1 and column > self._column:
            if self._block[-1].endswith("::"):
                self.at -= 1
                self._end_block()
                return
            self._emit()  # the term of a definition
            self.draft.break_sentence()
        if not self._block:
            self._column, self._first = column, self.at
        self._block.append(content)

    def _end_block(self) -> None:
        """A paragraph ends; after `::`, what is indented is a literal block."""
        self._in_list = self._in_fields = False
        if not self._block:
            return
        if is_literal := self._block[-1].endswith("::"):
            last = self._block[-1][:-2]
            self._block[-1] = last + ":" if last[-1:].strip() else last
        self._emit()
        self._ended = True
        if is_literal:
            self._skip(self._column, quoted=True)

    def _emit(self) -> None:
        """Give the lines of the paragraph to the draft."""
        text = " ".join(self._block)
        self._block = []
        if not text.strip():
            return
        first = text.lstrip()[0]
        if self._ended and not (self._after_display and (first.islower() or first in ",;.)")):
            self.draft.end_paragraph()
        self._began, self._ended, self._after_display = True, False, False
        self._targets.clear()
        for kind, value in self._pieces(text):
            if kind == "math":
                self.draft.inline(value)
            elif kind == "reference":
                self.draft.reference(value)
            elif kind == "display":
                self.raw += 1
                self.draft.display(value, line=self._first, end_line=self.at)
            else:
                self.draft.text(value)

    def _pieces(self, text: str) -> list[RstPiece]:
        return list(read_inline(text, self._substitutions, self._default_role))

    # -- titles and tables

    def _title(self, line: str) -> bool:
        """A title with its underline, or between two lines; or a line between paragraphs."""
        after = self.lines[self.at + 1 : self.at + 3]
        if _ADORNMENT.fullmatch(line):
            if len(after) == 2 and after[0] and after[1] == line and len(line) > 1:
                return self._heading(after[0], 3)
            if len(line) >= 4 and not (after and after[0]):
                self.at += 1
                return True
        under = after[0] if after else ""
        if line.startswith((" ", ".. ")) or not _ADORNMENT.fullmatch(under):
            return False
        return len(under) >= min(len(line), 4) and self._heading(line, 2)

    def _heading(self, text: str, lines: int) -> bool:
        title = "".join(
            plain(value) if kind == "text" else self.draft.inline_text(value)
            for kind, value in self._pieces(text)
            if kind != "reference"
        )
        self.at += lines
        if self.draft.article.title:
            self.draft.heading(title)
        else:
            self.draft.end_paragraph()
            self.draft.title(title)
        self._began, self._ended, self._after_display = True, False, False
        self._targets.clear()
        return True

    def _table(self, line: str) -> bool:
        """A table drawn with characters; its cells are read row by row."""
        left = _indent(line)
        is_grid = _GRID_BORDER.fullmatch(line, left) is not None
        if is_grid:
            edges = [match.start() for match in re.finditer(r"\+", line)]
            end = next((n for n in range(self.at, len(self.lines)) if not self.lines[n]), None)
        elif _SIMPLE_BORDER.fullmatch(line, left):
            edges = [match.start() - 1 for match in re.finditer("=+", line)]
            end = self._table_end(left)
        else:
            return False
        first, self.at = self.at, len(self.lines) if end is None else end
        self._ended = True
        before = self._in_cells
        cells: dict[int, list[str]] = {}
        for number in range(first, self.at):
            row = self.lines[number]
            is_border = not row[left:].strip("+-= ")
            if is_border or (not is_grid and row[left : edges[1]].strip()):
                self._cells(cells, number)
                cells = {}
            if is_border:
                continue
            for column, edge in enumerate(edges):
                if edge >= len(row):
                    break
                stop = edges[column + 1] if column + 1 < len(edges) else None
                cells.setdefault(column, []).append(row[edge + 1 : stop].strip(" |"))
        self._cells(cells, self.at)
        self._ended = True
        surplus = self._in_cells - before - self._count_displays(first)
        self.raw += max(surplus, 0)
        for _ in range(-surplus):
            self.draft.lost("display in a table", first + 1)
        return True

    def _table_end(self, left: int) -> int | None:
        """The line after the last border of a simple table."""
        for number in range(self.at + 2, 0 if self._no_table else len(self.lines)):
            if not self.lines[number] and _SIMPLE_BORDER.fullmatch(self.lines[number - 1], left):
                return number
        if not self._no_table and _SIMPLE_BORDER.fullmatch(self.lines[-1], left):
            return None
        self._no_table = True  # none begins after this line
        return self.at + 1

    def _cells(self, cells: dict[int, list[str]], line: int) -> None:
        """One row of a table."""
        for _, cell in sorted(cells.items()):
            text = " ".join(filter(None, cell))
            if formula := _RST_DIRECTIVE.match(text):
                if formula[2] == "math":
                    latex = formula[3] or ""
                    self._in_cells += 1
                    self.draft.display(latex, line=line, environment=".. math::")
                continue
            self._block, self._first = [text], line
            self._emit()
            self.draft.break_sentence()

    def _doctest(self, line: str) -> bool:
        """A session of the interpreter, up to a blank line."""
        if not line.lstrip().startswith(">>> "):
            return False
        start = self.at
        while self.at < len(self.lines) and self.lines[self.at]:
            self.at += 1
        self._hide(start)
        return True

    # -- explicit markup

    def _explicit(self, content: str, column: int) -> bool:
        """A directive, target, footnote or comment; False if it is text."""
        if directive := _RST_DIRECTIVE.match(content):
            self._emit()
            self._ended = True
            self._directive(directive, column)
        elif target := _TARGET_LINE.match(content):
            self.at += 1
            self._targets.append(target[1].strip("`").replace("\\", ""))
            if target[2]:  # a link
                self._skip(column)
        elif content.startswith("__ ") and not self._block:
            self.at += 1
        elif self._block or not (content == ".." or content.startswith(".. ")):
            return False
        elif (note := _NOTE_LINE.match(content)) and note[1][0] in "#*":
            self.at += 1
            self._block, self._column = [note[2] or ""], column
        else:  # a comment, or an entry of the bibliography
            self.at += 1
            if content != ".." or (self.at < len(self.lines) and self.lines[self.at]):
                self._skip(column)
        return True

    def _directive(self, match: re.Match[str], column: int) -> None:
        """Read a directive whose line is the current one."""
        name, argument = match[2].lower(), match[3] or ""
        first = self.at
        self.at += 1
        if name in {"math", "math:math"} and not match[1]:
            self._math(argument, column, first + 1)
        elif name == "raw" and "latex" in argument.lower():
            self.raw += self.draft.latex(
                "\n".join(self._body(column)), line=first + 2, end_line=self.at
            )
        elif name == "default-role":
            self._default_role = argument.strip().lower()
        elif match[1] or name == "raw" or name in _WITHOUT_TEXT:
            if name == "include":
                self.draft.problem("missing input", first + 1, argument)
            self._skip(column)
        else:
            is_name = name in _NAME_ARGUMENT or name.startswith(("py:", "c:", "cpp:", "auto"))
            if argument and not is_name:
                self._block, self._column = [argument], len(self.lines[first])
            while self.at < len(self.lines) and _FIELD_LINE.match(self.lines[self.at].lstrip()):
                if _indent(self.lines[self.at]) <= column:
                    break
                self.at += 1

    def _body(self, column: int) -> list[str]:
        """The lines of a block that is indented more than its first line."""
        start = end = self.at
        for number in range(start, len(self.lines)):
            if not (line := self.lines[number]):
                continue
            if _indent(line) <= column:
                break
            end = number + 1
        self.at = end
        return self.lines[start:end]

    def _skip(self, column: int, *, quoted: bool = False) -> None:
        """Leave out a block; displays in it are not typeset."""
        start = self.at
        if not self._body(column) and quoted:
            while self.at < len(self.lines) and self.lines[self.at][column:].startswith(
                _RST_QUOTES
            ):
                self.at += 1
        self._hide(start)

    def _hide(self, start: int) -> None:
        """Note the displays in lines that were left out, up to the current one."""
        if hidden := self._count_displays(start):
            self.hidden += hidden
            self.draft.problem("not typeset", start + 1, f"{hidden} displays in code or a comment")

    def _count_displays(self, start: int) -> int:
        return len(_MATH_LINE.findall("\n".join(self.lines[start : self.at])))

    # -- displays

    def _math(self, argument: str, column: int, line: int) -> None:
        """The directive `math`: options, and formulas between blank lines."""
        options: dict[str, str] = {}
        formula = [argument]
        start = self.at
        for at, row in enumerate(self._body(column), start):
            if _MATH_LINE.match(row):  # the next one, indented by mistake
                self.at = at
                break
            if option := _MATH_OPTION.fullmatch(row):
                options[option[1]] = option[2] or ""
            else:
                formula.append(row)
        labels = [options[name].strip() for name in ("label", "name") if options.get(name)]
        number = options.get("number") or None
        if "label" in options and number is None:
            self._numbers += 1
            number = str(self._numbers)
        self.draft.display(
            "\n".join(formula).strip(),
            line=line,
            end_line=self.at,
            environment=".. math::",
            # a target may have the name that `:label:` gives to another equation
            labels=(*labels, *(name for name in self._targets if name not in self._labels)),
            number=number,
            parts=not labels,
        )
        self._targets.clear()
        self._began = self._ended = self._after_display = True


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _flat(text: str) -> str:
    """The text of a substitution, without its own markup."""
    return "".join(piece.value for piece in read_inline(text, {}) if piece.kind == "text")
