"""The stack of texts being read: files and macro bodies, and the braces in them.

A `Frame` is one text with the current position in it. `scanner` reads arguments from the
innermost frames; `gullet` pushes and pops frames. `budget` has the limits for one paper.
"""

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from eqemb.readers.latex.macros import Macro, ends_in_word
from eqemb.readers.latex.search import BracketPairs

# Control words; names made by \csname carry their unusual characters in the private use area.
CONTROL_SEQUENCE = re.compile(r"\\(?:[A-Za-z\ue000-\uf8ff]+|.)|%", re.DOTALL)
#: The same with `@` as a letter: in style files, and after \makeatletter.
CONTROL_SEQUENCE_AT = re.compile(r"\\(?:[A-Za-z@\ue000-\uf8ff]+|.)|%", re.DOTALL)
BRACE = re.compile(r"\\.|[{}]|%[^\n]*", re.DOTALL)
_STRIP_COMMENT = re.compile(r"(\\.)|%[^\n]*(?:\n[ \t]*|\Z)", re.DOTALL)

#: What a control sequence does, given the gullet and its name.
Action = Callable[[Any, str], None]


class Stop(Exception):  # noqa: N818 - not an error: the document ends here
    """Ends the run: end of the document, or budget exhausted."""


class Runaway(Exception):  # noqa: N818
    """An argument that is missing, or never ends."""


@dataclass(slots=True, eq=False)
class Frame:
    """One text being read: a file, or the body of a macro."""

    text: str
    pos: int = 0
    file: int = -1
    """Index of the file; -1 for a macro's body."""
    call: tuple[int, int, int] = (0, 0, 0)
    """Position of the outermost macro call: file, start, end."""
    package: bool = False
    """In a style file: definitions are recorded, nothing is expanded or written."""
    known_class: bool = False
    """In the file of a class whose numbers classes.py knows: it is not asked about them."""
    end: int = -1
    """Reading pauses here, to undo the local definitions of a group that closes here."""
    macro: str = ""
    undo: list[tuple[int, dict[str, "Macro | Action | None"]]] = field(default_factory=list)
    """Groups with local definitions, innermost last: where each closes, and the old meanings."""
    counted: int = 0
    depth: int = 0
    """Approximate number of braces open at `counted`: comments are not considered."""
    unclosed: set[str] = field(default_factory=set)
    """Names of environments and delimiters that do not occur in the rest of the text."""
    pairs: BracketPairs | None = None
    """Its braces and brackets, matched when one of them was not found to close."""
    groups: tuple[list[int], list[int]] | None = None
    """Every brace, and where the innermost group open after it closes (-1 if none is open)."""

    def __post_init__(self) -> None:
        if self.end < 0:
            self.end = len(self.text)


def strip_comments(text: str) -> str:
    """`text` without its comments."""
    if "%" not in text:
        return text
    return _STRIP_COMMENT.sub(lambda match: match[1] or "", text)


def outside_braces(text: str, delimiter: str, start: int, end: int) -> int:
    """The next position of `delimiter` outside braces, as a separate token; -1 if there is none."""
    pattern = re.compile(r"\s" if delimiter == " " else _as_token(delimiter))
    depth, counted = 0, start
    for match in pattern.finditer(text, start, end):
        for brace in BRACE.finditer(text, counted, match.start()):
            if brace[0] == "{":
                depth += 1
            elif brace[0] == "}":
                depth -= 1
                if depth < 0:
                    return -1
        counted = match.start()
        if depth == 0:
            return counted
    return -1


def _as_token(delimiter: str) -> str:
    r"""A pattern that matches "." but not "\.", and "\end" but not "\endgroup"."""
    before = "" if delimiter.startswith("\\") else r"(?<!(?<!\\)\\)"
    return before + re.escape(delimiter) + ("(?![A-Za-z@])" if ends_in_word(delimiter) else "")


def closing_brace(frame: Frame) -> int:
    """Where the innermost brace group open at the current position closes; -1 if none is open.

    The braces of a text are matched once, when first needed: most definitions are in no group.
    """
    text, counted, pos = frame.text, frame.counted, frame.pos
    for brace, sign in (("{", 1), ("}", -1)):
        plain = text.count(brace, counted, pos)
        frame.depth += sign * (plain - text.count("\\" + brace, counted, pos))
    frame.counted = pos
    if frame.depth <= 0:
        return -1
    if frame.groups is None:
        frame.groups = _match_braces(frame.text)
    braces, closings = frame.groups
    index = bisect_left(braces, frame.pos) - 1
    return closings[index] if index >= 0 else -1


def _match_braces(text: str) -> tuple[list[int], list[int]]:
    """Every brace, and where the innermost closed group around the text after it closes."""
    braces: list[int] = []
    around: list[int] = []
    """For each brace, the index of the brace that opens the group around the text after it."""
    closes: dict[int, int] = {}
    opened: list[int] = []
    for match in BRACE.finditer(text):
        if match[0] == "{":
            opened.append(len(braces))
        elif match[0] == "}":
            if opened:
                closes[opened.pop()] = match.start()
        else:
            continue
        braces.append(match.start())
        around.append(opened[-1] if opened else -1)
    return braces, [closes.get(index, -1) for index in around]
