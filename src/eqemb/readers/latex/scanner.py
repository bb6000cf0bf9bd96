"""Read the arguments of commands: braced, optional, delimited, and those of xparse."""

import re
from abc import ABC, abstractmethod

from eqemb.readers.latex.budget import Budget
from eqemb.readers.latex.frames import (
    BRACE,
    CONTROL_SEQUENCE,
    CONTROL_SEQUENCE_AT,
    Frame,
    Runaway,
    outside_braces,
    strip_comments,
)
from eqemb.readers.latex.macros import FALSE, NO_VALUE, TRUE, Slot, fill, template
from eqemb.readers.latex.search import Reach, match_pairs

_SPACE = re.compile(r"(?:[ \t]+|%[^\n]*\n[ \t]*|\n(?![ \t]*\n))*")
#: The blanks that TeX skips after a control word.
AFTER_WORD = re.compile(r"[ \t]*(?:\n(?![ \t]*\n)[ \t]*)?")
_SIMPLE_GROUP = re.compile(r"\{([^{}\\%]*)\}")
_BRACKET = re.compile(r"\\.|[{}\]]|%[^\n]*", re.DOTALL)
_SHORT_REACH = 400  # where to look for an end after too many that do not exist
_ENVIRONMENT_NAME = re.compile(r"\s*\{([^{}]*)\}")


class Scanner(ABC):
    """Reads from the innermost frame; after the end of a macro body, from its caller."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.frames: list[Frame] = []
        self.token = CONTROL_SEQUENCE
        self.reach = Reach(budget.group, _SHORT_REACH, budget.wasted)

    @abstractmethod
    def pop(self) -> None:
        """Leave the innermost frame."""

    @abstractmethod
    def problem(self, cause: str, detail: str = "") -> None:
        """Record what could not be read, at the current position."""

    def token_of(self, frame: Frame) -> re.Pattern[str]:
        """The pattern of control words: in macro bodies and style files, `@` is a letter."""
        return CONTROL_SEQUENCE_AT if frame.package or frame.file < 0 else self.token

    def arguments(self, slots: tuple[Slot, ...]) -> list[str]:
        """Read the arguments that `slots` specify."""
        values: list[str] = []
        for slot in slots:
            if slot.kind == "m":
                values.append(self.argument())
            elif slot.kind == "o":
                given = self.optional()
                values.append((slot.default or "") if given is None else given)
                if given is None and "#" in values[-1]:  # O{#1}: the same value as another argument
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
        r"""Everything up to the \end of the environment just opened."""
        frame = self.frames[-1]
        depth, at = 1, frame.pos
        if f"end of {name}" in frame.unclosed:
            raise Runaway
        has_end = False
        for match in re.compile(r"\\(begin|end)\s*\{" + re.escape(name) + r"\}").finditer(
            frame.text, at, at + self.reach.limit
        ):
            has_end = has_end or match[1] == "end"
            depth += 1 if match[1] == "begin" else -1
            if depth == 0:
                frame.pos = match.start()
                return strip_comments(frame.text[at : match.start()])
        if not has_end:
            frame.unclosed.add(f"end of {name}")
        raise self.runaway(at, len(frame.text))

    def skip_space(self) -> Frame:
        """Skip blanks; when a macro body is used up, continue in its caller."""
        while True:
            frame = self.frames[-1]
            frame.pos = _SPACE.match(frame.text, frame.pos).end()  # type: ignore[union-attr]
            if frame.pos < len(frame.text) or frame.file >= 0 or len(self.frames) == 1:
                return frame
            self.pop()

    def peek(self) -> str:
        """The next character that is not a blank."""
        frame = self.skip_space()
        return frame.text[frame.pos : frame.pos + 1]

    def accept(self, text: str) -> bool:
        """Consume `text` if it comes next."""
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
            end = self._group_end(frame, pos + 1)
            frame.pos = end
            return strip_comments(text[pos + 1 : end - 1])
        return self.argument_token()

    def argument_token(self) -> str:
        """The next token: a control sequence, a brace or a character."""
        frame = self.skip_space()
        text, pos = frame.text, frame.pos
        match = self.token_of(frame).match(text, pos)
        if match is not None:
            frame.pos = match.end()
            if match[0][-1:].isalpha():
                frame.pos = AFTER_WORD.match(text, frame.pos).end()  # type: ignore[union-attr]
            return match[0]
        frame.pos = pos + 1
        return text[pos : pos + 1]

    def optional(self) -> str | None:
        """An optional argument in brackets, or None."""
        frame = self.skip_space()
        text, pos = frame.text, frame.pos
        if not text.startswith("[", pos):
            return None
        if frame.pairs is not None and pos in frame.pairs.options:
            return self._known_optional(frame, frame.pairs.options[pos])
        depth = 0
        for match in _BRACKET.finditer(text, pos + 1, pos + self.reach.limit):
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
        self._close_nowhere(frame, pos)
        return None

    def _known_optional(self, frame: Frame, close: int) -> str | None:
        """The optional argument that closes at a position, unless it is -1 or too far."""
        start = frame.pos + 1
        if not 0 <= close - start < self.reach.limit:
            return None
        frame.pos = close + 1
        return strip_comments(frame.text[start:close])

    def _close_nowhere(self, frame: Frame, pos: int) -> Runaway:
        """Make the error of a group that is not closed; from now on, its text is known."""
        if frame.pairs is None:
            frame.pairs = match_pairs(frame.text)
        return self.runaway(pos, len(frame.text))

    def _check_present(self, frame: Frame, token: str) -> None:
        """Raise an error if a token does not occur in the rest of the text."""
        if token not in frame.unclosed and frame.text.find(token, frame.pos) >= 0:
            return
        frame.unclosed.add(token)
        raise Runaway

    def until(self, delimiter: str) -> str:
        """Everything up to `delimiter` outside braces; the delimiter is consumed."""
        frame = self.frames[-1]
        while frame.pos >= len(frame.text) and frame.file < 0 and len(self.frames) > 1:
            self.pop()
            frame = self.frames[-1]
        text, start = frame.text, frame.pos
        if delimiter != " ":
            self._check_present(frame, delimiter)
        at = outside_braces(text, delimiter, start, start + self.reach.limit)
        if at < 0:
            raise self.runaway(start, len(text))
        frame.pos = at + len(delimiter)
        found = strip_comments(text[start:at])
        whole = _SIMPLE_GROUP.fullmatch(found.strip())
        return whole[1] if whole else found

    def _group_end(self, frame: Frame, pos: int) -> int:
        """The position after the brace that closes the group whose content starts at `pos`."""
        text, depth = frame.text, 1
        if frame.pairs is not None and pos - 1 in frame.pairs.groups:
            close = frame.pairs.groups[pos - 1]
            if not 0 <= close - pos < self.reach.limit:
                raise Runaway
            return close + 1
        for match in BRACE.finditer(text, pos, pos + self.reach.limit):
            token = match[0]
            if token == "{":
                depth += 1
            elif token == "}":
                depth -= 1
                if depth == 0:
                    return match.end()
        raise self._close_nowhere(frame, pos)

    def runaway(self, start: int, end: int) -> Runaway:
        """Make the error of an argument without an end; after too many, search less far."""
        self.waste(end - start)
        return Runaway()

    def waste(self, characters: int) -> None:
        """Count characters read in search of an end that does not exist."""
        if self.reach.fail(characters):
            self.problem("scan budget", detail=f"over {self.budget.wasted:,} characters")

    def control_name(self) -> str:
        r"""The control sequence to be defined: \name or {\name}, with its backslash."""
        given = self.argument().strip()
        match = CONTROL_SEQUENCE_AT.match(given)
        if match is None:
            raise Runaway
        return match[0]

    def environment_name(self) -> str:
        r"""The name in braces after \begin or \end."""
        frame = self.frames[-1]
        match = _ENVIRONMENT_NAME.match(frame.text, frame.pos)
        if match is not None:
            frame.pos = match.end()
            return match[1].strip()
        return self.argument().strip()
