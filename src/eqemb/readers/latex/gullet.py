"""The machine that runs LaTeX source: a stack of texts, a table of actions, one output string.

It copies text through and stops only at control sequences that have an action: the author's
macros, and the commands handled in definitions.py, conditionals.py and inputs.py. What comes
out is LaTeX with none of those left, and a map from every output position back to its file.

Budgets count steps, never seconds, so a paper that hits one stops at the same place anywhere.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from eqemb.article import Problem
from eqemb.readers.latex.files import Files
from eqemb.readers.latex.macros import (
    FALSE,
    NO_VALUE,
    TRUE,
    Macro,
    Slot,
    ends_in_word,
    fill,
    template,
)
from eqemb.readers.latex.sourcemap import SourceMap

# Letters of control words; names made by \csname carry their odd characters in the private area.
TOKEN = re.compile(r"\\(?:[A-Za-z\ue000-\uf8ff]+|.)|%", re.DOTALL)
TOKEN_AT = re.compile(r"\\(?:[A-Za-z@\ue000-\uf8ff]+|.)|%", re.DOTALL)
_COMMENT = re.compile(r"(?:%[^\n]*(?:\n[ \t]*|\Z))+(\n)?")
_SPACE = re.compile(r"(?:[ \t]+|%[^\n]*\n[ \t]*|\n(?![ \t]*\n))*")
_AFTER_WORD = re.compile(r"[ \t]*(?:\n(?![ \t]*\n)[ \t]*)?")
_SIMPLE_GROUP = re.compile(r"\{([^{}\\%]*)\}")
_BRACE = re.compile(r"\\.|[{}]|%[^\n]*", re.DOTALL)
_BRACKET = re.compile(r"\\.|[{}\]]|%[^\n]*", re.DOTALL)
_STRIP_COMMENT = re.compile(r"(\\.)|%[^\n]*(?:\n[ \t]*|\Z)", re.DOTALL)
_NAME = re.compile(r"\s*\{([^{}]*)\}")

#: Printed forms of counters (\\theequation) are defined under this and their name: they are not
#: expanded but handed on, and undone where their group ends.
FORMAT = "printed form of "

Action = Callable[["Gullet", str], None]


@dataclass(frozen=True, slots=True)
class Budget:
    """How much one paper may ask for, several times what any of 562 real papers does."""

    expansions: int = 50_000
    """And one more for every four characters of its files; the densest paper has one for 16."""
    output: int = 24_000_000
    depth: int = 240
    recursion: int = 40
    group: int = 400_000
    inputs: int = 4_000
    pushed: int = 16_000_000
    """Characters of macro bodies with their arguments in place, all together."""
    wasted: int = 4_000_000
    """Characters read in search of an end that is not there."""


class Stop(Exception):  # noqa: N818 - not an error: the document ends here
    """Raised to end the run: the end of the document, or a budget used up."""


class Runaway(Exception):  # noqa: N818
    """An argument that is not there, or never ends."""


@dataclass(slots=True, eq=False)
class Frame:
    """One text being read: a file, or the body of a macro."""

    text: str
    pos: int = 0
    file: int = -1
    """Index of the file, -1 in a macro's body."""
    call: tuple[int, int, int] = (0, 0, 0)
    """Where the outermost macro call stands: file, start, end."""
    package: bool = False
    """In a style file: definitions are taken, nothing is expanded or written."""
    end: int = -1
    """Reading pauses here to undo definitions local to a group that closes here."""
    macro: str = ""
    undo: list[tuple[int, dict[str, "Macro | Action | None"]]] = field(default_factory=list)
    """Groups with local definitions, inner ones last: where each closes, what held before."""
    counted: int = 0
    depth: int = 0
    """Braces open at `counted`, roughly: comments are not looked at."""
    unclosed: set[str] = field(default_factory=set)
    """Verbatim-like environments that are not closed in the rest of the text."""
    groups: tuple[list[int], list[int]] | None = None
    """Every brace, and where the innermost group open behind it closes (-1: none is)."""

    def __post_init__(self) -> None:
        if self.end < 0:
            self.end = len(self.text)


class Gullet:
    """Runs one paper's source."""

    def __init__(self, files: Files, actions: dict[str, Action], budget: Budget) -> None:
        self.files = files
        self.budget = budget
        self.actions: dict[str, Macro | Action] = dict(actions)
        self.builtins = actions
        self.environments: dict[str, tuple[Macro, Macro]] = {}
        self.env_arguments: dict[str, list[list[str]]] = {}
        self.verbatim: set[str] = set()
        self.flags: dict[str, bool] = {}
        self.registers: dict[str, int] = {}
        self.packages: set[str] = set()
        self.theorems: set[str] = set()
        self.style_names: set[str] = set()
        """Commands that a style file defines and that are not followed."""
        self.document_class = ""
        self.problems: list[Problem] = []
        self.file_names: list[str] = []
        self.frames: list[Frame] = []
        self.conditionals = 0
        self.in_body = False
        self.body_start = 0
        self.token = TOKEN
        self.version = 0
        self.folders: list[str] = []
        self.scopes: list[tuple[str, dict[str, Macro | Action | None]]] = []
        self._scope_names: Counter[str] = Counter()
        """Environments that are open, with what their local definitions replaced."""
        self._out: list[str] = []
        self.length = 0
        self._map: list[tuple[int, int, int, int]] = []
        self.allowance = budget.expansions
        """Expansions that the files read so far allow."""
        self._expansions = 0
        self._pushed = 0
        self._exhausted = False
        self._wasted = 0
        self._reach = budget.group
        self._nesting: dict[str, int] = {}

    # ------------------------------------------------------------ the loop

    def run(self, floor: int = 0) -> None:
        """Read until only `floor` frames are left."""
        frames, actions = self.frames, self.actions
        while len(frames) > floor:
            frame = frames[-1]
            text, start, end = frame.text, frame.pos, frame.end
            search, pos, package = self.token_of(frame).search, start, frame.package
            while True:
                match = search(text, pos, end)
                if match is None:
                    self.emit(frame, start, end)
                    self._pause(frame)
                    break
                token = match[0]
                action = actions.get(token)
                if action is None or (package and action.__class__ is Macro):
                    pos = match.end()
                    continue
                self.emit(frame, start, match.start())
                frame.pos = match.end()
                try:
                    if action.__class__ is Macro:
                        self.call(action, match.start())
                    else:
                        if text[frame.pos : frame.pos + 1].isspace() and token[-1].isalpha():
                            frame.pos = _AFTER_WORD.match(text, frame.pos).end()  # type: ignore[union-attr]
                        action(self, token)  # type: ignore[operator]
                except Runaway:
                    self.problem("runaway argument", detail=token)
                break

    def token_of(self, frame: Frame) -> re.Pattern[str]:
        """How control words are cut: bodies and style files were written with @ as a letter."""
        return TOKEN_AT if frame.package or frame.file < 0 else self.token

    def _pause(self, frame: Frame) -> None:
        """A frame's end, or the end of a group in it that holds local definitions."""
        if frame.end < len(frame.text):
            frame.pos = frame.end
            while frame.undo and frame.undo[-1][0] <= frame.end:
                self._restore(frame.undo.pop()[1])
            frame.end = frame.undo[-1][0] if frame.undo else len(frame.text)
        else:
            frame.pos = frame.end
            self.pop()

    def pop(self) -> None:
        """Leave the innermost frame."""
        frame = self.frames.pop()
        for _, meanings in reversed(frame.undo):
            self._restore(meanings)
        if frame.macro:
            self._nesting[frame.macro] -= 1
        if frame.file >= 0:
            self.folders.pop()

    def expand_string(self, text: str) -> str:
        r"""`text` fully expanded, as \edef and \csname need it."""
        saved = self._out, self.length, self._map
        self._out, self.length, self._map = [], 0, []
        floor = len(self.frames)
        try:
            self.push(text)
            self.run(floor)
            return "".join(self._out)
        finally:
            del self.frames[floor:]
            self._out, self.length, self._map = saved

    # ------------------------------------------------------------ output

    def emit(self, frame: Frame, start: int, end: int) -> None:
        """Copy a piece of a frame to the output."""
        if start >= end or frame.package:
            return
        chunk = frame.text[start:end]
        if self._out and chunk[0].isalpha() and ends_in_word(self._out[-1]):
            self._out.append(" ")  # a control word and what a macro put behind it
            self.length += 1
        if frame.file >= 0:
            self._map.append((self.length, frame.file, start, -1))
        else:
            self._map.append((self.length, *frame.call))
        self._out.append(chunk)
        self.length += len(chunk)
        if self.length > self.budget.output:
            self.problem("output budget", detail=f"over {self.budget.output:,} characters")
            raise Stop

    def write(self, text: str, start: int | None = None) -> None:
        """Put text of our own into the output, for the source from `start` to the present place."""
        frame = self.frames[-1]
        if text and not frame.package:
            file, first, last = self._here(frame)
            if start is not None and frame.file >= 0:
                first = start
            self.emit(Frame(text, call=(file, first, last)), 0, len(text))

    def declare(self, text: str) -> None:
        """Put a declaration into the output even from within a style file."""
        frame = self.frames[-1]
        self.emit(Frame(text, call=self._here(frame)), 0, len(text))

    def output(self) -> str:
        """All that was written."""
        return "".join(self._out)

    def _here(self, frame: Frame) -> tuple[int, int, int]:
        return (frame.file, frame.pos, frame.pos) if frame.file >= 0 else frame.call

    def source_map(self) -> SourceMap:
        """Where each part of the output came from."""
        return SourceMap(self.files, self.file_names, self._map)

    # ------------------------------------------------------------ problems

    def problem(self, cause: str, detail: str = "") -> None:
        """Note what could not be read, at the present place."""
        if not self.in_body and cause == "runaway argument":
            return  # a preamble hands commands about without their arguments
        file, line = "", 0
        for frame in reversed(self.frames):
            if frame.file >= 0:
                file = self.file_names[frame.file]
                line = self.files.line(file, frame.pos)
                break
        self.problems.append(Problem(cause, file, line, detail))

    # ------------------------------------------------------------ macros

    def call(self, macro: Macro, start: int) -> None:
        """Expand one use of a macro whose name has just been read."""
        frame = self.frames[-1]
        if macro.name[-1:].isalpha():
            frame.pos = _AFTER_WORD.match(frame.text, frame.pos).end()  # type: ignore[union-attr]
        if macro.builtin:
            self._call_builtin(macro)
            return
        if not self.afford(1, macro.name):
            self._leave_macros()
            return
        origin = frame if frame.file >= 0 else None
        try:
            arguments = self.arguments(macro.slots) if macro.slots else []
        except Runaway:
            self.problem("runaway argument", detail=macro.name)
            return
        if not self._affordable(macro, arguments):
            self._leave_macros()
            return
        body = fill(macro.template, arguments) if macro.slots else macro.body
        call = (frame.file, start, origin.pos) if origin else frame.call
        if not macro.slots and self._is_plain(macro):
            self.emit(Frame(body, call=call), 0, len(body))
        else:
            self.push(body, call=call, macro=macro.name)

    def afford(self, count: int, what: str) -> bool:
        """Count expansions that are about to be made, and say whether the budget allows them."""
        self._expansions += count
        if self._expansions > self.allowance:
            self._exhaust(what)
        return not self._exhausted

    def _affordable(self, macro: Macro, arguments: list[str]) -> bool:
        """Count the characters that an expansion makes, before it makes them."""
        size = len(macro.body)
        if arguments:
            size += len(macro.template) * max(map(len, arguments))
        self._pushed += size
        if self._pushed > self.budget.pushed:
            self._exhaust(macro.name)
        return not self._exhausted

    def _exhaust(self, what: str) -> None:
        """The budget is used up: said once."""
        if not self._exhausted:
            self._exhausted = True
            self.problem("expansion budget", detail=what)

    def _is_plain(self, macro: Macro) -> bool:
        """Whether a body without parameters holds nothing that acts; found out once."""
        if macro.plain_at != self.version:
            if any(token in self.actions for token in TOKEN_AT.findall(macro.body)):
                return False
            macro.plain_at = self.version
        return True

    def _call_builtin(self, macro: Macro) -> None:
        action = self.builtins.get(macro.builtin)
        if action is not None:
            action(self, macro.builtin)
        else:
            self.write(macro.builtin)

    def _leave_macros(self) -> None:
        """Too many expansions: from here on the author's macros are left as they stand."""
        for name in [n for n, action in self.actions.items() if isinstance(action, Macro)]:
            del self.actions[name]
        for frame in self.frames:
            if frame.file < 0:
                frame.pos = frame.end = len(frame.text)

    def push(self, text: str, call: tuple[int, int, int] | None = None, macro: str = "") -> None:
        """Read `text` next, as if it stood here."""
        frame = self.frames[-1] if self.frames else Frame("")
        if macro not in self.actions:  # what `call` pushes it has counted
            self._pushed += len(text) + 20
            if self._pushed > self.budget.pushed:
                self._exhaust(macro or text[:20])
                return
        if macro:
            nesting = self._nesting.get(macro, 0) + 1
            if nesting > self.budget.recursion or len(self.frames) > self.budget.depth:
                self.problem("macro recursion", detail=macro)
                self.actions.pop(macro, None)
                return
            self._nesting[macro] = nesting
        here = call if call is not None else self._here(frame)
        self.frames.append(Frame(text, call=here, package=frame.package, macro=macro))

    # ------------------------------------------------------------ definitions and scopes

    def define(self, name: str, value: "Macro | Action", *, everywhere: bool = False) -> None:
        """Give a control sequence a meaning, undone where the group around it ends."""
        if self.in_body and not everywhere:
            self._remember(name)
        self._put(name, value)

    def _put(self, name: str, value: "Macro | Action | None") -> None:
        self.version += 1
        if name.startswith(FORMAT) and self.frames:
            body = f"{{{value.body}}}" if isinstance(value, Macro) else ""
            self.declare(rf"\renewcommand{{{name.removeprefix(FORMAT)}}}{body}\relax ")
        if value is None:
            self.actions.pop(name, None)
        else:
            self.actions[name] = value

    def _restore(self, meanings: "dict[str, Macro | Action | None]") -> None:
        """A group closes: what was defined in it means again what it meant before."""
        for name, old in meanings.items():
            self._put(name, old)

    def _remember(self, name: str) -> None:
        """Note what `name` means before it is defined in the innermost group around."""
        old = self.actions.get(name)
        for frame in reversed(self.frames):
            closing = _closing_brace(frame)
            if closing >= 0:
                if not frame.undo or frame.undo[-1][0] > closing:
                    frame.undo.append((closing, {}))
                    frame.end = closing
                frame.undo[-1][1].setdefault(name, old)
                return
        if self.scopes:
            self.scopes[-1][1].setdefault(name, old)

    def open_scope(self, name: str) -> None:
        r"""An environment or \begingroup opens: definitions from here on are local to it."""
        self.scopes.append((name, {}))
        self._scope_names[name] += 1

    def close_scope(self, name: str) -> None:
        """The environment closes; without a matching opening nothing happens."""
        if not self._scope_names[name]:
            return
        while self.scopes:
            opened, meanings = self.scopes.pop()
            self._scope_names[opened] -= 1
            self._restore(meanings)
            if opened == name:
                return

    # ------------------------------------------------------------ reading arguments

    def arguments(self, slots: tuple[Slot, ...]) -> list[str]:
        """Read the arguments that `slots` ask for."""
        values: list[str] = []
        for slot in slots:
            if slot.kind == "m":
                values.append(self.argument())
            elif slot.kind == "o":
                given = self.optional()
                values.append((slot.default or "") if given is None else given)
                if given is None and "#" in values[-1]:  # O{#1}: as another argument
                    values[-1] = fill(template(values[-1]), values)
            elif slot.kind == "e":
                values += self._embellishments(slot.first)
            elif slot.kind == "l":
                self._literal(slot.first)
            else:
                values.append(self._special(slot))
            if slot.split:
                values[-1] = slot.cut(values[-1])
        return values

    def _special(self, slot: Slot) -> str:
        if slot.kind == "u":
            return self.until(slot.first)
        if slot.kind in "st":
            return TRUE if self.accept(slot.first or "*") else FALSE
        if slot.kind == "d":
            if not self.accept(slot.first):
                return slot.default or ""
            return self.until(slot.second)
        if slot.kind == "g":
            return self.argument() if self.peek() == "{" else (slot.default or "")
        return self._body(slot.first)

    def _embellishments(self, marks: str) -> list[str]:
        found = dict.fromkeys(marks, NO_VALUE)
        while (mark := self.peek()) and found.get(mark) == NO_VALUE:
            self.accept(mark)
            found[mark] = self.argument()
        return list(found.values())

    def _literal(self, text: str) -> None:
        frame = self.skip_space() if text.strip() == text else self.frames[-1]
        if frame.text.startswith(text, frame.pos):
            frame.pos += len(text)

    def _body(self, name: str) -> str:
        r"""All up to the \end of the environment just opened."""
        frame = self.frames[-1]
        depth, at = 1, frame.pos
        for match in re.compile(r"\\(begin|end)\s*\{" + re.escape(name) + r"\}").finditer(
            frame.text, at
        ):
            depth += 1 if match[1] == "begin" else -1
            if depth == 0:
                frame.pos = match.start()
                return strip_comments(frame.text[at : match.start()])
        raise self.runaway(at, len(frame.text))

    def skip_space(self) -> Frame:
        """Pass over blanks; a macro body that is used up gives way to what called it."""
        while True:
            frame = self.frames[-1]
            frame.pos = _SPACE.match(frame.text, frame.pos).end()  # type: ignore[union-attr]
            if frame.pos < len(frame.text) or frame.file >= 0 or len(self.frames) == 1:
                return frame
            self.pop()

    def peek(self) -> str:
        """The next character that is not blank."""
        frame = self.skip_space()
        return frame.text[frame.pos : frame.pos + 1]

    def accept(self, text: str) -> bool:
        """Pass over `text` if it comes next."""
        frame = self.skip_space()
        if frame.text.startswith(text, frame.pos):
            frame.pos += len(text)
            return True
        return False

    def argument(self) -> str:
        """One mandatory argument: a group without its braces, or one token."""
        frame = self.skip_space()
        text, pos = frame.text, frame.pos
        if (simple := _SIMPLE_GROUP.match(text, pos)) is not None:
            frame.pos = simple.end()
            return simple[1]
        if pos >= len(text) or text[pos] in "}\n":
            raise Runaway
        if text[pos] == "{":
            end = self._group_end(text, pos + 1)
            frame.pos = end
            return strip_comments(text[pos + 1 : end - 1])
        return self.argument_token()

    def argument_token(self) -> str:
        """The next token, be it a control sequence, a brace or a character."""
        frame = self.skip_space()
        text, pos = frame.text, frame.pos
        match = self.token_of(frame).match(text, pos)
        if match is not None:
            frame.pos = match.end()
            if match[0][-1:].isalpha():
                frame.pos = _AFTER_WORD.match(text, frame.pos).end()  # type: ignore[union-attr]
            return match[0]
        frame.pos = pos + 1
        return text[pos : pos + 1]

    def optional(self) -> str | None:
        """An optional argument in brackets, or None."""
        frame = self.skip_space()
        text, pos = frame.text, frame.pos
        if not text.startswith("[", pos):
            return None
        depth = 0
        for match in _BRACKET.finditer(text, pos + 1, pos + self._reach):
            token = match[0]
            if token == "{":
                depth += 1
            elif token == "}":
                depth -= 1
                if depth < 0:
                    return None
            elif token == "]" and depth == 0:
                frame.pos = match.end()
                return strip_comments(text[pos + 1 : match.start()])
        self.runaway(pos, len(text))
        return None

    def until(self, delimiter: str) -> str:
        """All up to `delimiter` outside braces, which is passed over."""
        frame = self.frames[-1]
        while frame.pos >= len(frame.text) and frame.file < 0 and len(self.frames) > 1:
            self.pop()
            frame = self.frames[-1]
        text, start = frame.text, frame.pos
        at = _outside_braces(text, delimiter, start, start + self._reach)
        if at < 0:
            raise self.runaway(start, len(text))
        frame.pos = at + len(delimiter)
        found = strip_comments(text[start:at])
        whole = _SIMPLE_GROUP.fullmatch(found.strip())
        return whole[1] if whole else found

    def _group_end(self, text: str, pos: int) -> int:
        """The position behind the brace that closes the group whose inside starts at `pos`."""
        depth = 1
        for match in _BRACE.finditer(text, pos, pos + self._reach):
            token = match[0]
            if token == "{":
                depth += 1
            elif token == "}":
                depth -= 1
                if depth == 0:
                    return match.end()
        raise self.runaway(pos, len(text))

    def runaway(self, start: int, end: int) -> Runaway:
        """The error of an argument without an end; who asks too often looks less far."""
        self._wasted += min(end - start, self._reach)
        if self._wasted > self.budget.wasted:
            if self._reach == self.budget.group:
                self.problem("scan budget", detail=f"over {self.budget.wasted:,} characters")
                self._reach = 20_000
            elif self._wasted > 2 * self.budget.wasted:
                raise Stop
        return Runaway()

    def control_name(self) -> str:
        r"""The control sequence to be defined: \name or {\name}, with its backslash."""
        given = self.argument().strip()
        match = TOKEN_AT.match(given)
        if match is None:
            raise Runaway
        return match[0]

    def environment_name(self) -> str:
        r"""The name in braces behind \begin or \end."""
        frame = self.frames[-1]
        match = _NAME.match(frame.text, frame.pos)
        if match is not None:
            frame.pos = match.end()
            return match[1].strip()
        return self.argument().strip()

    def skip_comment(self) -> None:
        """Pass over comment lines; a blank line behind them still ends the paragraph."""
        frame = self.frames[-1]
        match = _COMMENT.match(frame.text, frame.pos - 1)
        if match is not None:
            frame.pos = match.end()
            if match[1]:
                self.write("\n\n")


def strip_comments(text: str) -> str:
    """`text` without its comments."""
    if "%" not in text:
        return text
    return _STRIP_COMMENT.sub(lambda match: match[1] or "", text)


def _outside_braces(text: str, delimiter: str, start: int, end: int) -> int:
    """Where `delimiter` stands next outside braces, as a token of its own; -1 if nowhere."""
    pattern = re.compile(r"\s" if delimiter == " " else _as_token(delimiter))
    depth, counted = 0, start
    for match in pattern.finditer(text, start, end):
        for brace in _BRACE.finditer(text, counted, match.start()):
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
    r"""A pattern that finds "." but not "\.", and "\end" but not "\endgroup"."""
    before = "" if delimiter.startswith("\\") else r"(?<!(?<!\\)\\)"
    return before + re.escape(delimiter) + ("(?![A-Za-z@])" if ends_in_word(delimiter) else "")


def _closing_brace(frame: Frame) -> int:
    """Where the innermost brace group open at the present place closes; -1: none is open.

    The braces of a text are matched once, when first needed: most definitions stand in none.
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
    """Every brace, and where the innermost closed group around what follows it closes."""
    braces: list[int] = []
    around: list[int] = []
    """For each brace the index of the brace that opens the group around what follows."""
    closes: dict[int, int] = {}
    opened: list[int] = []
    for match in _BRACE.finditer(text):
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
