r"""Read DocOnce: LaTeX between `!bt` and `!et`, `label{}` and `ref{}` without backslashes.

Of a conditional of Preprocess or Mako, the first branch is read. Included files are not opened.
"""

import re

from eqemb.article import Article
from eqemb.readers.draft import Draft, decode, plain
from eqemb.readers.latex.displays import count_displays
from eqemb.sources import Source

_HEADING_LINE = re.compile(r"(={3,9})(.*)\1")
_CONDITION = re.compile(r"(?:#[ ]+#|%[ ]*)(if|el|endif|for|endfor)")
_INCLUDED = re.compile(r"#[ ]+#include[ ]*\"?([^\"]*)")
_NO_TEXT_LINE = re.compile(
    r"#|%|<%|@@@|\|[-clr]+\||(?:AUTHOR|DATE|TOC|BIBFILE|KEYWORDS):|file[ ]?=|\\[a-z]+$"
)
_FIGURE_LINE = re.compile(r"(?:FIGURE|MOVIE):[ ]*\[[^\]]*\][ ]*")
_LIST_ITEM = re.compile(r"[ ]+(?:[*o]|-(?=[^:]*:))[ ]+(?=\S)")
_BARE_COMMAND = re.compile(r"(?<![\\A-Za-z])(label|ref|eqref)(?=\{)")
_DOCONCE_INLINE = re.compile(
    r"\$(?P<math>[^$]+)\$"
    r"|(?<!\w)(?:(?:eq)?ref)\{(?P<reference>[^{}]*)\}"
    r"|(?<!\w)(?:idx|label|cite|index)(?:\[[^\]]{0,200}\])*\{(?:[^{}]|\{[^{}]*\})*\}"
    r"|\"(?P<linked>[^\"]*)\":[ ]*\"[^\"]*\""
    r"|(?:URL|url):[ ]*\"[^\"]*\"|https?://[^\s\"]+"
    r"|``|`[^`]*`|\$\{[^}]*\}|\[\^[\w-]+\]|<linebreak>"
    r"|\[[a-z]{2,8}(?:[ ]\d+)?:[ ][^\[\]]*\]"
    r"|(?<![\w*])\*(?=[^\s*])|(?<=[^\s*])\*(?![\w*])|(?<!\w)__?(?=[^\W_])|(?<=[^\s_])__?(?!\w)"
)


def read_doconce(source: Source) -> Article:
    """Read one file of DocOnce, the only file of the source."""
    draft = Draft(source)
    scanner = _DoconceScanner(draft, decode(source.files[draft.article.main_file]))
    scanner.scan()
    return draft.finish(opened=scanner.opened)


class _DoconceScanner:
    """One pass over the lines of a document."""

    def __init__(self, draft: Draft, text: str) -> None:
        self.draft = draft
        self.lines = text.split("\n")
        self.opened = 0
        self._paragraph: list[str] = []
        self._ended = False  # by a blank line, unless a display follows
        self._branches: list[bool] = []  # the open conditionals: whether this branch is left out
        self._hidden = 0  # how many of them leave it out

    def scan(self) -> None:
        """Give everything to the draft."""
        at = 0
        while at < len(self.lines):
            line = self.lines[at].rstrip()
            first, at = at, at + 1
            if condition := _CONDITION.match(line):
                self._branch(condition[1], first + 1)
            elif line.startswith(("!bt", "!bc")):
                at = self._block(first, "!e" + line[2], is_hidden=self._hidden > 0)
            elif not self._hidden:
                self._line(line, first + 1)
        self._emit()

    def _branch(self, keyword: str, line: int) -> None:
        """A line of a conditional; its first branch is read."""
        if keyword in {"if", "for"}:
            self._branches.append(False)
            self.draft.problem("undecided conditional", line)
        elif self._branches:
            was_hidden = self._branches.pop()
            if keyword == "el":
                self._branches.append(True)
            self._hidden += (keyword == "el") - was_hidden

    def _line(self, line: str, number: int) -> None:
        """A line outside blocks."""
        if not line.strip():
            self._emit()
            self._ended = True
        elif heading := _HEADING_LINE.fullmatch(line):
            self._emit()
            self.draft.heading(self._titled(heading[2].strip()))
        elif line.startswith("TITLE:"):
            self.draft.title(self._titled(line[6:]))
        elif included := _INCLUDED.match(line):
            self.draft.problem("missing input", number, included[1])
        elif line.startswith("!"):  # !bnotice Title
            self._emit()
            self.draft.break_sentence()
            self._paragraph.append(line.partition(" ")[2])
            self._emit()
            self.draft.break_sentence()
        elif _NO_TEXT_LINE.match(line):
            return
        else:
            figure = _FIGURE_LINE.match(line)
            item = figure or _LIST_ITEM.match(line)
            cells = line.split("|") if line.startswith("|") else [line[item.end() if item else 0 :]]
            for cell in cells:
                if item or len(cells) > 1:
                    self._emit()
                    self.draft.break_sentence()
                self._paragraph.append(cell)

    def _block(self, first: int, closing: str, *, is_hidden: bool) -> int:
        """A block of LaTeX or code; return the line after it."""
        end, is_closed = 0, False
        if closing == "!ec":  # what code contains is not LaTeX
            end, is_closed = self._closed(first, closing, "!bc")
        if not is_closed:
            end, is_closed = self._closed(first, closing, ("!bt", "!bc"))
        latex = _BARE_COMMAND.sub(r"\\\1", "\n".join(self.lines[first + 1 : end]))
        if closing == "!et" and is_hidden:
            detail = f"{count_displays(latex)} displays in a branch that is not read"
            self.draft.problem("not typeset", first + 1, detail)
        elif closing == "!et":
            self._emit()
            self._ended = False
            last = end + is_closed
            if not is_closed:
                self.opened += 1
                self.draft.lost("display not closed", first + 1, "!bt")
            elif opened := self.draft.latex(latex, line=first + 1, end_line=last):
                self.opened += opened
            else:
                self.opened += 1
                self.draft.display(latex, line=first + 1, end_line=last, environment="!bt")
        return end + is_closed

    def _closed(self, first: int, closing: str, others: str | tuple[str, ...]) -> tuple[int, bool]:
        """The line that closes a block, and True; else the next of the others, and False."""
        for number in range(first + 1, len(self.lines)):
            if self.lines[number].startswith(closing):
                return number, True
            if self.lines[number].startswith(others):
                return number, False
        return len(self.lines), False

    # -- text

    def _emit(self) -> None:
        """Give the lines of the paragraph to the draft."""
        text = " ".join(self._paragraph)
        self._paragraph.clear()
        if not text.strip():
            return
        if self._ended:
            self.draft.end_paragraph()
        self._ended = False
        for match, before in _inline(text):
            self.draft.text(before)
            if match and match["math"]:
                self.draft.inline(match["math"])
            elif match and match["reference"]:
                self.draft.reference(match["reference"])
            elif match and match["linked"]:
                self.draft.text(match["linked"].replace("`", ""))

    def _titled(self, text: str) -> str:
        """A title with its formulas."""
        return "".join(
            plain(before)
            + (self.draft.inline_text(match["math"]) if match and match["math"] else "")
            for match, before in _inline(text)
        )


def _inline(text: str) -> list[tuple[re.Match[str] | None, str]]:
    """The markup in a text, each with the text before it; the last is None."""
    at, found = 0, []
    for match in _DOCONCE_INLINE.finditer(text):
        found.append((match, text[at : match.start()]))
        at = match.end()
    return [*found, (None, text[at:])]
