"""Definitions: how arguments are read, and where they go in the body.

Bodies are strings, not token lists: most are short and are substituted by one join, which makes
expansion fast. The price is that a control word must be kept apart from a letter that follows it
after substitution; `fill` does that.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

#: The value that xparse passes for a missing argument.
NO_VALUE = r"\NoValue "
TRUE, FALSE = r"\BooleanTrue ", r"\BooleanFalse "

_PARAMETER = re.compile(r"#(#|[1-9])")
_ENDS_IN_WORD = re.compile(r"\\[A-Za-z@\ue000-\uf8ff]+$")
_WORD_TAIL = re.compile(r"[A-Za-z@\ue000-\uf8ff]$")


class Slot(NamedTuple):
    """How one argument is read.

    kind: m mandatory, o optional in brackets, s star, t token, d delimited pair, u until a
    delimiter, e embellishments, g optional group, l literal that must be present, b body.
    """

    kind: str
    first: str = ""
    second: str = ""
    default: str | None = None
    split: str = ""
    r"""\SplitArgument: the value is split at this token."""
    parts: int = 0
    """Number of pieces; 0 for any number."""

    def cut(self, value: str) -> str:
        """The pieces of a value that is to be split, each in braces."""
        if not self.split or value == NO_VALUE:
            return value
        pieces = value.split(self.split, self.parts - 1)
        pieces += [NO_VALUE] * (self.parts - len(pieces))
        return "".join(f"{{{piece.strip()}}}" for piece in pieces)


MANDATORY = Slot("m")


@dataclass(slots=True, eq=False)
class Macro:
    """A command or one half of an environment, as its author defined it."""

    name: str
    slots: tuple[Slot, ...]
    body: str
    template: tuple[str | int, ...]
    builtin: str = ""
    r"""Set by \let to a command of LaTeX: its meaning before any redefinition."""
    plain_at: int = -1
    """The version of the macro table in which the body contained nothing to expand."""

    def same(self, other: "Macro") -> bool:
        r"""Equal in the sense of \ifx."""
        mine = (self.slots, self.body, self.builtin)
        return mine == (other.slots, other.body, other.builtin)


def make(name: str, slots: tuple[Slot, ...], body: str) -> Macro:
    """A macro with its body split at its parameters."""
    return Macro(name, slots, body, template(body))


def alias(name: str, target: str) -> Macro:
    """A macro that stands for a command of LaTeX."""
    return Macro(name, (), target, (target,), builtin=target)


def ends_in_word(text: str) -> bool:
    r"""Whether a letter after `text` would change its last command ("\alpha" + "x")."""
    return bool(_WORD_TAIL.search(text[-1:])) and bool(_ENDS_IN_WORD.search(text[-60:]))


def template(body: str) -> tuple[str | int, ...]:
    """Split a body at its parameters."""
    if "#" not in body:
        return (body,)
    parts: list[str | int] = []
    text, last = "", 0
    for match in _PARAMETER.finditer(body):
        text += body[last : match.start()]
        last = match.end()
        if match[1] == "#":
            text += "#"
        else:
            parts += [text, int(match[1])]
            text = ""
    parts.append(text + body[last:])
    return tuple(part for part in parts if part != "")


def fill(parts: tuple[str | int, ...], arguments: list[str]) -> str:
    """The body with its arguments in place."""
    pieces: list[str] = []
    after_word = False
    for part in parts:
        piece = part if isinstance(part, str) else _argument(arguments, part)
        if not piece:
            continue
        if after_word and piece[0].isalpha():
            pieces.append(" ")
        pieces.append(piece)
        after_word = ends_in_word(piece)
    return "".join(pieces)


def _argument(arguments: list[str], number: int) -> str:
    return arguments[number - 1] if number <= len(arguments) else ""


def newcommand_slots(count: int, default: str | None) -> tuple[Slot, ...]:
    r"""Slots of \newcommand{..}[count][default]."""
    if default is None or count == 0:
        return (MANDATORY,) * count
    return (Slot("o", default=default), *(MANDATORY,) * (count - 1))


def xargs_slots(count: int, defaults: str) -> tuple[Slot, ...]:
    r"""Slots of \newcommandx{..}[count][1=x, 3=y]: optional if a default is given."""
    named = {
        int(match[1]): match[2].strip()
        for match in re.finditer(r"([1-9])\s*=((?:[^{},]|\{[^{}]*\})*)", defaults)
    }
    return tuple(
        Slot("o", default=named[n].removeprefix("{").removesuffix("}")) if n in named else MANDATORY
        for n in range(1, count + 1)
    )


def def_slots(parameters: str) -> tuple[Slot, ...]:
    r"""Slots of a \def's parameter text: "#1#2", "(#1,#2)", "#1\end"."""
    pieces = re.split(r"#([1-9])", parameters)
    slots = [Slot("l", pieces[0])] if pieces[0].strip() else []
    for written in pieces[2::2]:
        delimiter = written.removesuffix("#")  # "#1#{": up to the brace, which is not consumed
        kept = delimiter if delimiter.strip() else delimiter[:1] and " "
        slots.append(Slot("u", kept) if kept else MANDATORY)
    return tuple(slots)


_SPEC = re.compile(
    r"(?:[+!\s]|>\s*\{(?P<processor>(?:[^{}]|\{[^{}]*\})*)\})*+"
    r"(?:(?P<simple>[mosvbg])|O\s*\{(?P<O>(?:[^{}]|\{[^{}]*\})*)\}|G\s*\{(?P<G>[^{}]*)\}"
    r"|t\s*+(?P<t>\\[A-Za-z]+|.)|[dr]\s*+(?P<d1>.)\s*+(?P<d2>.)"
    r"|[DR]\s*+(?P<D1>.)\s*+(?P<D2>.)\s*+\{(?P<Dd>(?:[^{}]|\{[^{}]*\})*)\}"
    r"|e\s*\{(?P<e>[^{}]*)\}|E\s*\{(?P<E>[^{}]*)\}\s*\{(?:[^{}]|\{[^{}]*\})*\})"
)


_SPLIT = re.compile(r"\\Split(?:Argument\s*\{\s*(\d)\s*\}|List)\s*\{([^{}]+)\}")


def xparse_slots(spec: str) -> tuple[Slot, ...]:
    r"""Slots of \NewDocumentCommand's argument specification ("s o m e{^_}")."""
    slots: list[Slot] = []
    at = 0
    while match := _SPEC.match(spec, at):
        at = match.end()
        slots += _xparse_slot(match)
        if split := _SPLIT.search(match["processor"] or ""):
            parts = int(split[1]) + 1 if split[1] else 0
            slots[-1] = slots[-1]._replace(split=split[2].strip() or split[2], parts=parts)
    return tuple(slots)


def _xparse_slot(match: re.Match[str]) -> list[Slot]:
    group = match.groupdict()
    if group["simple"]:
        kind = {"v": "m"}.get(group["simple"], group["simple"])
        return [Slot(kind, default=NO_VALUE if kind in "og" else None)]
    if group["O"] is not None or group["G"] is not None:
        kind = "o" if group["O"] is not None else "g"
        return [Slot(kind, default=group["O"] if kind == "o" else group["G"])]
    if group["t"]:
        return [Slot("t", group["t"])]
    if group["d1"]:
        return [Slot("d", group["d1"], group["d2"], NO_VALUE)]
    if group["D1"]:
        return [Slot("d", group["D1"], group["D2"], group["Dd"])]
    marks = (group["e"] or group["E"] or "").replace(" ", "")
    return [Slot("e", marks)]
