"""Expand LaTeX source: a stack of texts, a table of actions, and one output string.

The name is TeX's own: in The TeXbook, the gullet is the part of TeX that expands macros. This
one copies text and stops only at control sequences that have an action: the author's macros, and
the commands handled in definitions.py, conditionals.py and inputs.py. The output is LaTeX without
any of those, and a map from every output position back to its file.

Budgets are in budget.py. A paper that exceeds one is read on without what the budget is for.
"""

import re
from collections import Counter

from eqemb.article import Problem
from eqemb.readers.latex.budget import MAX_DETAIL, Work
from eqemb.readers.latex.files import Files
from eqemb.readers.latex.frames import (
    CONTROL_SEQUENCE_AT,
    Action,
    Frame,
    Runaway,
    Stop,
    closing_brace,
)
from eqemb.readers.latex.macros import Macro, ends_in_word, fill
from eqemb.readers.latex.open_formula import OpenFormula
from eqemb.readers.latex.scanner import AFTER_WORD, Scanner
from eqemb.readers.latex.sourcemap import SourceMap

_COMMENT_LINES = re.compile(r"(?:%[^\n]*(?:\n[ \t]*|\Z))+(\n)?")

#: Prefix of the names under which printed forms of counters (\theequation) are defined: they are
#: not expanded where they occur but passed on, and restored at the end of their group.
PRINTED_FORM = "printed form of "
_COUNTERS = ("equation", "parentequation", "part", "chapter", "section", "subsection",
             "subsubsection", "paragraph", "appendix", "IEEEsubequation")  # fmt: skip


class Gullet(Scanner):
    """Expands one paper's source."""

    def __init__(self, files: Files, actions: dict[str, Action], work: Work) -> None:
        super().__init__(work.budget)
        self.files = files
        self.work = work
        self.actions: dict[str, Macro | Action] = dict(actions)
        self.builtins = actions
        self.environments: dict[str, tuple[Macro, Macro]] = {}
        self.env_arguments: dict[str, list[list[str]]] = {}
        self.verbatim: set[str] = set()
        self.hooks: dict[str, str] = {}
        """Code added to environments, by "begin name" and "end name", and "options package"."""
        self.boxes: list[str] = []
        """Open boxes of tcolorbox: the display that each one is, or ''."""
        self.display_commands: list[str] = []
        r"""Displays that \align and similar opened."""
        self.flags: dict[str, bool] = {}
        self.registers: dict[str, int] = {}
        self.packages: set[str] = set()
        self.theorems: set[str] = set()
        self.style_names: set[str] = set()
        """Commands that a style file defines and that are not expanded."""
        self.document_class = ""
        self.classes: set[str] = set()
        self.problems: list[Problem] = []
        self.file_names: list[str] = []
        self.text_files: list[str] = []
        """Those that are not style files."""
        self.conditionals: list[bool] = []
        r"""Open conditionals; True for one that is passed on, because it depends on counters."""
        self.negated = False
        r"""Whether \unless precedes the next conditional."""
        self.in_body = False
        self.body_start = 0
        self.version = 0
        self.folders: list[str] = []
        self.scopes: list[tuple[str, dict[str, Macro | Action | None]]] = []
        self._scope_names: Counter[str] = Counter()
        """Open environments, with the meanings that their local definitions replaced."""
        self._out: list[str] = []
        self._formulas = OpenFormula()
        self.length = 0
        self._map: list[tuple[int, int, int, int]] = []
        self.exhausted = ""
        """The first budget that was exceeded, so that text is missing from the output."""
        self._exceeded: set[str] = set()
        self._expands = True
        """Whether the author's macros are expanded, which ends with a budget."""
        self._nesting: dict[str, int] = {}
        self._forms = {rf"\the{name}": "" for name in _COUNTERS}
        """Printed forms, as they were last passed on."""
        self._places = {name: place for place, name in enumerate(self._forms)}
        self._changed_forms: set[str] = set()
        """Those that differ, or did, from what the class says."""
        self._form_tokens: set[str] = set()
        """What the printed forms depend on."""
        self.form_copies: set[str] = set()
        self.forming = False
        """Whether a printed form is being expanded: counters are left in it."""

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
                            frame.pos = AFTER_WORD.match(text, frame.pos).end()  # type: ignore[union-attr]
                        action(self, token)  # type: ignore[operator]
                except Runaway:
                    self.problem("runaway argument", detail=token)
                break

    def _pause(self, frame: Frame) -> None:
        """Handle the end of a frame, or of a group in it that has local definitions."""
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
        r"""Expand `text` fully, as \edef and \csname need it."""
        saved = self._out, self._formulas, self.length, self._map
        self._out, self._formulas, self.length, self._map = [], OpenFormula(), 0, []
        floor = len(self.frames)
        try:
            self.push(text)
            for frame in self.frames[floor:]:
                frame.package = False  # the result is wanted, also in a style file
            self.run(floor)
            return "".join(self._out)
        finally:
            del self.frames[floor:]
            self._out, self._formulas, self.length, self._map = saved

    # ------------------------------------------------------------ output

    def emit(self, frame: Frame, start: int, end: int) -> None:
        """Copy a piece of a frame to the output."""
        if start >= end or frame.package:
            return
        chunk = frame.text[start:end]
        if self._out and chunk[0].isalpha() and ends_in_word(self._out[-1]):
            self._out.append(" ")  # keep a control word apart from what a macro put after it
            self.length += 1
        if frame.file >= 0:
            self._map.append((self.length, frame.file, start, -1))
        else:
            self._map.append((self.length, *frame.call))
        self._out.append(chunk)
        self.length += len(chunk)
        if self.length > self.work.most_output - self.work.output:
            self.exhaust("output budget", f"over {self.work.most_output:,} characters")
            raise Stop

    def write(self, text: str, start: int | None = None) -> None:
        """Write text of our own, which stands for the source from `start` to the position."""
        frame = self.frames[-1]
        if text and not frame.package:
            file, first, last = self._here(frame)
            if start is not None and frame.file >= 0:
                first = start
            self.emit(Frame(text, call=(file, first, last)), 0, len(text))

    def declare(self, text: str) -> None:
        """Write a declaration to the output, even from within a style file."""
        if self.in_known_class():
            return
        frame = self.frames[-1]
        self.emit(Frame(text, call=self._here(frame)), 0, len(text))

    def in_known_class(self) -> bool:
        """Whether the file of a class is read whose numbers are known."""
        return any(frame.known_class for frame in self.frames)

    def output(self) -> str:
        """Everything written so far."""
        return "".join(self._out)

    def in_math(self) -> bool:
        """Whether the output ends within a formula."""
        return self._formulas.is_open_after(self._out)

    def _here(self, frame: Frame) -> tuple[int, int, int]:
        return (frame.file, frame.pos, frame.pos) if frame.file >= 0 else frame.call

    def source_map(self) -> SourceMap:
        """The origin of each part of the output."""
        return SourceMap(self.files, self.file_names, self._map)

    # ------------------------------------------------------------ problems

    def problem(self, cause: str, detail: str = "") -> None:
        """Record what could not be read, at the current position."""
        if not self.in_body and cause == "runaway argument":
            return  # preambles pass commands around without their arguments
        file, line = "", 0
        for frame in reversed(self.frames):
            if frame.file >= 0:
                file = self.file_names[frame.file]
                line = self.files.line(file, frame.pos)
                break
        self.problems.append(Problem(cause, file, line, detail[:MAX_DETAIL]))

    # ------------------------------------------------------------ macros

    def call(self, macro: Macro, start: int) -> None:
        """Expand one use of a macro whose name has just been read."""
        frame = self.frames[-1]
        if macro.name[-1:].isalpha():
            frame.pos = AFTER_WORD.match(frame.text, frame.pos).end()  # type: ignore[union-attr]
        if macro.builtin:
            self._call_builtin(macro)
            return
        if not self.afford(1, macro.name):
            self._stop_expanding()
            return
        origin = frame if frame.file >= 0 else None
        try:
            arguments = self.arguments(macro.slots) if macro.slots else []
        except Runaway:
            self.problem("runaway argument", detail=macro.name)
            return
        body = self.filled(macro, arguments)
        if body is None:
            return
        call = (frame.file, start, origin.pos) if origin else frame.call
        if not macro.slots and self._is_plain(macro):
            self.emit(Frame(body, call=call), 0, len(body))
        else:
            self.push(body, call=call, macro=macro.name)

    def afford(self, count: int, what: str) -> bool:
        """Count expansions before they are made; whether the budget allows them."""
        if not (is_allowed := self.work.expand(count)):
            self.exhaust("expansion budget", what)
        return is_allowed

    def charge(self, characters: int, what: str) -> bool:
        """Count characters before they are made; whether the budget allows them."""
        if not (is_allowed := self.work.push(characters)):
            self.exhaust("expansion budget", what)
        return is_allowed

    def filled(self, macro: Macro, arguments: list[str]) -> str | None:
        """The body of a macro with its arguments; None if the budget does not allow it."""
        size = len(macro.body)
        if arguments:
            size += len(macro.template) * max(map(len, arguments))
        if not self.charge(size, macro.name):
            self._stop_expanding()
            return None
        return fill(macro.template, arguments) if macro.slots else macro.body

    def exhaust(self, cause: str, detail: str) -> None:
        """Report, once for each budget, that it is exceeded."""
        if cause not in self._exceeded:
            self._exceeded.add(cause)
            self.problem(cause, detail)
        self.exhausted = self.exhausted or cause

    def _is_plain(self, macro: Macro) -> bool:
        """Whether a body without parameters contains no action; cached until a definition."""
        if macro.plain_at != self.version:
            if any(token in self.actions for token in CONTROL_SEQUENCE_AT.findall(macro.body)):
                return False
            macro.plain_at = self.version
        return True

    def _call_builtin(self, macro: Macro) -> None:
        action = self.builtins.get(macro.builtin)
        if action is not None:
            action(self, macro.builtin)
        else:
            self.write(macro.builtin)

    def _stop_expanding(self) -> None:
        """Too many expansions: from here on, leave the author's macros unexpanded."""
        if not self._expands:
            return
        self._expands = False
        for name in [n for n, action in self.actions.items() if isinstance(action, Macro)]:
            del self.actions[name]
        for frame in self.frames:
            if frame.file < 0:
                frame.pos = frame.end = len(frame.text)

    def push(
        self,
        text: str,
        call: tuple[int, int, int] | None = None,
        macro: str = "",
        *,
        package: bool = False,
    ) -> None:
        """Read `text` next, as if it were at the current position."""
        frame = self.frames[-1] if self.frames else Frame("")
        is_counted = macro in self.actions  # by `call`
        if not is_counted and not self.charge(len(text) + 20, macro or text[:20]):
            return
        if macro:
            nesting = self._nesting.get(macro, 0) + 1
            if nesting > self.budget.recursion or len(self.frames) > self.budget.depth:
                self.problem("macro recursion", detail=macro)
                self.actions.pop(macro, None)
                return
            self._nesting[macro] = nesting
        here = call if call is not None else self._here(frame)
        package = package or frame.package
        self.frames.append(Frame(text, call=here, package=package, macro=macro))

    # ------------------------------------------------------------ definitions and scopes

    def define(self, name: str, value: "Macro | Action", *, everywhere: bool = False) -> None:
        """Define a control sequence, until the end of the surrounding group."""
        if self.in_body and not everywhere:
            self._remember(name)
        self._put(name, value)

    def _put(self, name: str, value: "Macro | Action | None") -> None:
        self.version += 1
        is_form = name.startswith(PRINTED_FORM)
        is_unused = not (self._expands or is_form) and isinstance(value, Macro)
        if value is None or is_unused:
            self.actions.pop(name, None)
        else:
            self.actions[name] = value
        if is_form:
            self._changed_forms.add(name.removeprefix(PRINTED_FORM))
        if is_form or name in self._form_tokens:
            self._pass_forms_on()

    def _restore(self, meanings: "dict[str, Macro | Action | None]") -> None:
        """A group closes: restore the meanings from before it."""
        for name, old in meanings.items():
            self._put(name, old)

    def _remember(self, name: str) -> None:
        """Save the meaning of `name` before it is defined in the innermost open group."""
        old = self.actions.get(name)
        for frame in reversed(self.frames):
            closing = closing_brace(frame)
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
        """Close the environment; does nothing if it was never opened."""
        if not self._scope_names[name]:
            return
        while self.scopes:
            opened, meanings = self.scopes.pop()
            self._scope_names[opened] -= 1
            self._restore(meanings)
            if opened == name:
                return

    def heading_hook(self, name: str, text: str) -> None:
        """From here on, a heading comes with commands for counters; '' for none."""
        if not text:
            self.actions.pop(name, None)
            return
        self.define(name, lambda gullet, token: gullet.write(text + token))

    def add_hook(self, key: str, code: str) -> None:
        """Add code to what `hooks` has for a key."""
        hook = self.hooks.get(key, "") + code
        if self.charge(len(hook) // 16, key):
            self.hooks[key] = hook

    # ------------------------------------------------------------ printed forms of counters

    def is_form(self, name: str) -> bool:
        r"""Whether a command is the printed form of a counter (\theequation)."""
        return name in self._forms

    def new_counter(self, name: str) -> None:
        r"""\newcounter: \thename is a printed form."""
        self._forms.setdefault(rf"\the{name}", "")
        self._places.setdefault(rf"\the{name}", len(self._places))

    def drop_form(self, name: str) -> None:
        """The counter gets another form, which numbering.py knows."""
        self._forms[name] = ""
        self._places.setdefault(name, len(self._places))
        self.actions.pop(PRINTED_FORM + name, None)

    def copy_form(self, name: str, target: str) -> None:
        r"""\let\old\theequation, and back."""
        self.declare(rf"\copyform{{{name[1:]}}}{{{target[1:]}}}")
        self.form_copies.add(name)
        self.actions.pop(name, None)
        if name in self._forms:
            self.drop_form(name)

    def changed(self, name: str) -> None:
        """A flag has changed: printed forms may depend on it."""
        if name in self._form_tokens:
            self._pass_forms_on()

    def _pass_forms_on(self) -> None:
        """Expand the printed forms again, as TeX does when it prints a number."""
        if self.forming or not self.frames:
            return
        tokens: set[str] = set()
        for name in sorted(self._changed_forms, key=self._places.__getitem__):
            macro, last = self.actions.get(PRINTED_FORM + name), self._forms[name]
            form = ""
            if isinstance(macro, Macro):
                tokens |= self._reachable(macro.body)
                self.forming = True
                form = f"{{{self.expand_string(macro.body)}}}"
                self.forming = False
            if form != last:
                self._forms[name] = form
                self.declare(rf"\renewcommand{{{name}}}{form}\relax ")
        self._form_tokens = tokens

    def _reachable(self, body: str) -> set[str]:
        """The control sequences in a body, and in the macros that it uses."""
        found: set[str] = set()
        bodies = [body]
        for text in bodies:
            for token in CONTROL_SEQUENCE_AT.findall(text):
                macro = self.actions.get(token)
                if token not in found and isinstance(macro, Macro):
                    bodies.append(macro.body)
                found.add(token)
        return found

    def skip_comment(self) -> None:
        """Skip comment lines; a blank line after them still ends the paragraph."""
        frame = self.frames[-1]
        match = _COMMENT_LINES.match(frame.text, frame.pos - 1)
        if match is not None:
            frame.pos = match.end()
            if match[1]:
                self.write("\n\n")
