r"""The authors of a LaTeX document: what `\author` and its relatives say, as plain names.

Classes differ in how authors and affiliations follow each other. What they share: a block starts
with names, affiliations are on later lines or in commands of their own, and the marks that link the
two are superscripts or commands. `readers.people` decides whether the names are names.
"""

import re
import unicodedata

from eqemb.readers.latex.commands import NAMED_CHARACTERS, TEXT_ACCENTS, names
from eqemb.readers.people import names_before_workplace, names_in

_AUTHOR_COMMAND = re.compile(r"\\(?:[aA]uthor|(?:icml|aistats|mlsys)author)(?![A-Za-z@])")
_BLOCK_OF_NAMES = re.compile(r"\\IEEEauthorblockN(?![A-Za-z])")
#: The longest argument of one command, and of all together.
_LONGEST_AUTHORS, _LONGEST_LIST = 40_000, 200_000
_BLANKS_BEFORE = re.compile(r"(?:\s|%[^\n]*\n)*")
_GROUP_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_SOURCE_COMMENT = re.compile(r"(?<!\\)%[^\n]*\n?")
#: What starts another block of authors.
_NEXT_BLOCK = re.compile(
    r"\\(?:and|And|AND|name)(?![A-Za-z])"
    r"|\\begin\s*\{tabular(?:\}|[*xy]\}\s*\{[^{}]*\})(?:\s*\[[^\]]{0,200}\])?"
    r"\s*\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
)
#: A block that is left after the argument: a brace closed too early.
_BLOCK_OUTSIDE = re.compile(
    r"\\(?:And|AND)(?![A-Za-z])|\\(?:maketitle|begin|author|section|aistatsaddress)"
)
#: The end of a line of authors.
_NAME_LINE = re.compile(
    r"\\\\\*?\s*(?:\[[^\]]{0,80}\])?|\\(?:newline|par|tabularnewline|linebreak|addr)(?![A-Za-z])"
    r"|\n\s*\n|\\email(?![A-Za-z])(?!\s*\{)"
)
_TABLE_CELL = re.compile(r"(?<!\\)&")
#: Space that separates two names.
_NAME_GAP = re.compile(r"\\(?:q?quad|hfill|hspace\*?\s*\{[^{}]*\})(?![A-Za-z])|&|\\ (?:\\ )+")
#: Commands that print no part of a name; their argument is dropped.
_NOTE_COMMANDS = names(
    "thanks footnote footnotemark footnotetext inst textsuperscript textsubscript corref fnref "
    "tnoteref orcid orcidID orcidlink ORCID email IEEEmembership IEEEauthorrefmark thanksref "
    "authornote authornotemark affil affiliation institute address institution label "
    "cortext fntext vspace hspace ead url aff affaddr altaffilmark altaffiltext altaffiliation "
    "equalcontrib includegraphics color textcolor fontsize raisebox setcounter addtocounter "
    "dag dagger ddag ddagger ast star"
)
_NOTE_COMMAND = re.compile(
    rf"\\(?:{'|'.join(sorted(_NOTE_COMMANDS))})(?![A-Za-z])\*?\s*(?:\[[^\]]{{0,200}}\]\s*)*"
)
_BARE_EMAIL = re.compile(r"\\email(?![A-Za-z])(?!\s*\{)")
_SUPERSCRIPT = re.compile(
    r"\$[^$]*\$|\\\((?:[^$\\]|\\(?![()]))*+\\\)|\^\s*(?:\{[^{}]*\}|\\?\w+|\*)"
)
_NAME_ACCENT = re.compile(
    r"\\([`'^\"~=.]|[A-Za-z](?![A-Za-z]))\s*"
    r"(?:\{\s*\\?([^\W\d_])\s*\}|\\([^\W\d_])(?![A-Za-z])\s*|([^\W\d_]))"
)
_TABULAR_END = re.compile(r"\\(?:begin|end)\s*\{[^{}]*\}")
_PRINTED_COMMAND = re.compile(r"\\([A-Za-z@]+)\*?\s?")
_ASKS_FOR_MORE = re.compile(r"(,|;|&|\band)\s*$")
#: Stands for a note or a superscript.
_NOTE_MARK = "\uf8ff"
_NOTE_MARKS = re.compile(rf"{_NOTE_MARK}[\s{_NOTE_MARK}]*")


def find_authors(text: str) -> list[str]:
    """Return the authors of a document with expanded macros; none if that is doubtful."""
    found: list[str] = []
    end = length = 0
    outside = _BLOCK_OUTSIDE.search(text)
    for match in _AUTHOR_COMMAND.finditer(text):
        if match.start() < end:
            continue  # inside the one before
        content, end = _argument(text, match.end())
        if outside and outside.start() < end:
            outside = _BLOCK_OUTSIDE.search(text, end)
        is_near = outside is not None and outside.end() <= end + _LONGEST_AUTHORS
        if content is None or (outside and is_near and outside[0] in (r"\And", r"\AND")):
            return []
        length += len(content)
        here = _names(content) if length <= _LONGEST_LIST else None
        if here is None:
            return []
        found += here
    return list(dict.fromkeys(found))


def _argument(text: str, pos: int) -> tuple[str | None, int]:
    """Return the mandatory argument after optional ones, and where it ends; None without one."""
    pos = _after_space(text, pos)
    while text.startswith("[", pos):
        close = text.find("]", pos)
        if close < 0:
            return None, pos
        pos = _after_space(text, close + 1)
    stop = _closing(text, pos)
    return (None, pos) if stop < 0 else (text[pos + 1 : stop], stop + 1)


def _after_space(text: str, pos: int) -> int:
    match = _BLANKS_BEFORE.match(text, pos)
    return match.end() if match else pos


def _closing(text: str, pos: int) -> int:
    """Return where the group at a position closes; -1 if there is none."""
    if not text.startswith("{", pos):
        return -1
    level = 0
    for match in _GROUP_BRACE.finditer(text, pos, pos + _LONGEST_AUTHORS):
        level += {"{": 1, "}": -1}.get(match[0], 0)
        if not level:
            return match.start()
    return -1


def _names(content: str) -> list[str] | None:
    """Return the names in the argument of a command; None if they are doubtful."""
    content = _SOURCE_COMMENT.sub("", content)
    of_names: list[str] = []
    end = 0
    for match in _BLOCK_OF_NAMES.finditer(content):
        if match.start() >= end:
            names_of_block, end = _argument(content, match.end())
            of_names.append(names_of_block or "")
    found: list[str] = []
    for part in of_names or [content]:
        for block in _NEXT_BLOCK.split(_with_marks(part)):
            here = _names_of_block(block, only_people=bool(of_names))
            if here is None:
                return None
            found += here
    return found


def _names_of_block(block: str, *, only_people: bool) -> list[str] | None:
    """Return the names at the start of a block; None if they are doubtful.

    A later line has names if the one before asks for more, or if all its names have marks, or if
    each line ends with where its people work. Another line that looks like names is doubtful: it
    may be more of them, or a place. So is a later row of a table.
    """
    found: list[str] = []
    asks, marks, has_workplaces, is_over = "and", 0, False, False
    for line in _NAME_LINE.split(block):
        shown = _printed(line)
        if not shown:
            continue
        marks_here = line.count(_NOTE_MARK)
        here = names_in(shown, only_people=only_people or bool(found) or marks_here > 1)
        if has_workplaces or not (found or here):
            working = names_before_workplace(shown)
            if here or not (found or working):
                return None
            found += working
            has_workplaces = True
            continue
        starts_with_mark = line.strip().startswith(_NOTE_MARK)
        is_marked = not starts_with_mark and marks_here >= max(1, len(here))
        if here and not is_over and (asks or is_marked):
            found += here
            marks += marks_here
            if asks == "," and len(found) == 2 and marks < 2 and not only_people:
                return None  # the second one may be a place
            more = _ASKS_FOR_MORE.search(line.replace(_NOTE_MARK, " "))
            asks = more[1] if more else ""
            continue
        may_be_more = not (is_over or starts_with_mark) and (marks < 2 or marks_here > 0)
        if here and (may_be_more or _TABLE_CELL.search(line)):
            return None
        is_over = True
    return found


def _with_marks(text: str) -> str:
    """Return text with marks in place of notes and superscripts."""
    text = _BARE_EMAIL.sub(r"\\newline ", text)
    made, pos = [], 0
    while match := _NOTE_COMMAND.search(text, pos):
        made.append(text[pos : match.start()] + _NOTE_MARK)
        stop = _closing(text, match.end())
        pos = match.end() if stop < 0 else stop + 1
    made.append(text[pos:])
    return _SUPERSCRIPT.sub(_NOTE_MARK, "".join(made))


def _printed(text: str) -> str:
    """Return what a line prints, with commas for marks and semicolons for gaps between names."""
    text = _NAME_ACCENT.sub(_accented, _TABULAR_END.sub(" ", text)).replace("~", " ")
    text = _NAME_GAP.sub("; ", text.replace(r"\&", " and "))
    text = _PRINTED_COMMAND.sub(lambda match: NAMED_CHARACTERS.get(match[1], " "), text)
    text = re.sub(r"\\.", " ", text).translate(_NO_BRACES)
    return " ".join(_NOTE_MARKS.sub(" , ", text).split()).strip(" ,;")


_NO_BRACES = str.maketrans("", "", "{}")


def _accented(match: re.Match[str]) -> str:
    r"""Return `\'e` as one letter."""
    accent = TEXT_ACCENTS.get(match[1])
    if accent is None:
        return match[0]
    return unicodedata.normalize("NFC", (match[2] or match[3] or match[4]) + accent)
