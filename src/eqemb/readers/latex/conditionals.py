r"""Actions of TeX's conditionals: \if... \else ... \fi, \newif, \loop, and integer registers.

If a test cannot be decided here (counters, boxes, unknown registers), the first branch is read and
the document's report says so. Commands with braced branches are in branches.py.
"""

import re

from eqemb.readers.latex.commands import KNOWN, names
from eqemb.readers.latex.definitions import csname, is_defined
from eqemb.readers.latex.frames import Action, Frame
from eqemb.readers.latex.gullet import Gullet
from eqemb.readers.latex.macros import Macro, make
from eqemb.readers.latex.printing import NAMED_INTEGERS

_COMMAND_NAME = re.compile(r"\\([A-Za-z@]+)[ \t]*|\\.|%[^\n]*", re.DOTALL)
#: Conditionals of TeX and LaTeX: they nest, and end with \fi.
_PRIMITIVES = names(
    "if ifcat ifnum ifdim ifodd ifvmode ifhmode ifmmode ifinner ifvoid ifhbox ifvbox ifx ifeof "
    "iftrue iffalse ifcase ifdefined ifcsname iffontchar ifpdf ifxetex ifluatex ifpdftex "
    "ifPDFTeX ifXeTeX ifLuaTeX iftutex ifTUTeX if@twocolumn if@twoside if@compatibility "
    "if@filesw if@tempswa if@mainmatter if@openright if@titlepage"
)
_TRUE = frozenset(("iftrue", "ifpdf", "ifpdftex", "ifPDFTeX"))
_FALSE = names("iffalse ifxetex ifluatex ifXeTeX ifLuaTeX ifeof if@tempswa iftutex")
_INTEGER = r"(\\[A-Za-z@]+|-?\d+)"
_NUMBERS = re.compile(rf"\s*{_INTEGER}\s*([<>=])\s*{_INTEGER}(?:\\relax(?![A-Za-z@])|\s)?")
_ANY_NUMBER = r"(?:\\[A-Za-z@]++\s*+(?:\{[^{}]*+\}\s*+)*+|-?\d++)"
_ANY_NUMBERS = re.compile(rf"\s*+{_ANY_NUMBER}\s*+[<>=]\s*+{_ANY_NUMBER}\s?")
_ODD = re.compile(rf"\s*{_INTEGER}(?:\\relax(?![A-Za-z@])|\s)?")
_ASSIGNED = re.compile(r"\s*+(?:(?:=|by)\s*+)?(-?\d+|\\[A-Za-z@]+)\s?")
_INTEGERS = {r"\pdfoutput": 1, **NAMED_INTEGERS}
_POINTS = {"pt": 1.0, "in": 72.27, "cm": 28.45, "mm": 2.845, "pc": 12.0, "bp": 1.00375,
          "dd": 1.07, "cc": 12.84, "em": 10.0, "ex": 4.3, "sp": 1 / 65536}  # fmt: skip
_DIMENSION = r"(-?(?:\d++\.?\d*+|\.\d*+))\s*+(?:true\s*+)?(" + "|".join(_POINTS) + ")"
_LENGTHS = re.compile(rf"\s*{_DIMENSION}\s*([<>=])\s*{_DIMENSION}(?:\\relax(?![A-Za-z@])|\s)?")
#: Tests of the page that is being made: what they choose is layout, not text.
_LAYOUT = names(
    "ifvmode ifhmode ifinner ifvoid ifhbox ifvbox ifdim iffontchar if@twocolumn "
    "if@twoside if@compatibility if@filesw if@openright if@titlepage if@mainmatter"
)


def is_conditional(gullet: Gullet, name: str) -> bool:
    r"""Whether \name opens a conditional that \fi closes."""
    return name in _PRIMITIVES or name in gullet.flags


# ---------------------------------------------------------------- \if ... \else ... \fi


def _decide(gullet: Gullet, truth: bool | None) -> None:  # noqa: FBT001
    """Continue in the branch that is taken; None (undecidable) takes the first."""
    if gullet.negated:
        gullet.negated, truth = False, None if truth is None else not truth
    gullet.conditionals.append(False)
    if truth is False and skip_branch(gullet, stop_at_else=True) == "fi":
        gullet.conditionals.pop()


def _pass_on(gullet: Gullet, token: str) -> None:
    """Leave a conditional in the printed form of a counter, to be decided by numbering.py."""
    gullet.conditionals.append(True)
    gullet.write(token + " ")


def skip_branch(gullet: Gullet, *, stop_at_else: bool) -> str:
    r"""Skip text up to and including the matching \fi or \else."""
    depth = 0
    while True:
        frame = gullet.frames[-1]
        for match in _COMMAND_NAME.finditer(frame.text, frame.pos):
            name = match[1]
            if name is None:
                continue
            if name == "fi":
                if depth == 0:
                    frame.pos = match.end()
                    return "fi"
                depth -= 1
            elif name in ("else", "or") and depth == 0 and stop_at_else:
                frame.pos = match.end()
                return name
            elif name.startswith("if") and is_conditional(gullet, name):
                depth += 1
        if not _leave(gullet, frame):
            return "fi"


def _leave(gullet: Gullet, frame: Frame) -> bool:
    """The text ended within a skipped branch: continue in the frame that called it, if any."""
    frame.pos = len(frame.text)
    if frame.file >= 0 or len(gullet.frames) == 1:
        gullet.problem("unclosed conditional")
        return False
    gullet.pop()
    return True


def _else(gullet: Gullet, token: str) -> None:
    if gullet.conditionals and gullet.conditionals[-1]:
        gullet.write(token + " ")
    elif gullet.conditionals:
        gullet.conditionals.pop()
        skip_branch(gullet, stop_at_else=False)


def _fi(gullet: Gullet, token: str) -> None:
    if gullet.conditionals and gullet.conditionals.pop():
        gullet.write(token + " ")


def _known(gullet: Gullet, token: str) -> None:
    name = token[1:]
    if name in _TRUE or name in _FALSE:
        _decide(gullet, name in _TRUE)
    else:
        _undecided(gullet, token)


def _undecided(gullet: Gullet, token: str) -> None:
    """Read the first branch of a test that cannot be decided, and report it."""
    if gullet.in_body and token[1:] not in _LAYOUT:
        gullet.problem("undecided conditional", detail=token)
    _decide(gullet, None)


def _ifmmode(gullet: Gullet, _: str) -> None:
    _decide(gullet, gullet.in_math())


def _unless(gullet: Gullet, _: str) -> None:
    r"""\unless\ifnum ...: the test is negated."""
    gullet.negated = not gullet.negated


def _ifdim(gullet: Gullet, token: str) -> None:
    frame = gullet.skip_space()
    match = _LENGTHS.match(frame.text, frame.pos)
    if match is None:
        _undecided(gullet, token)
        return
    frame.pos = match.end()
    left, right = (float(match[n].strip(".") or 0) * _POINTS[match[n + 1]] for n in (1, 4))
    _decide(gullet, _compare(left, match[3], right))


def _loop(gullet: Gullet, _: str) -> None:
    r"""\loop A \ifnum ... B \repeat."""
    body = gullet.until(r"\repeat")
    gullet.push(rf"{body}\loop {body}\repeat \fi ", macro=r"\loop")


def _ifx(gullet: Gullet, _: str) -> None:
    first, second = gullet.argument_token(), gullet.argument_token()
    _decide(gullet, _same(gullet, first, second))


def _same(gullet: Gullet, first: str, second: str) -> bool:
    if first == second:
        return True
    meanings = [gullet.actions.get(token) for token in (first, second)]
    if isinstance(meanings[0], Macro) and isinstance(meanings[1], Macro):
        return meanings[0].same(meanings[1])
    if first.startswith("\\") and second.startswith("\\"):
        return not is_defined(gullet, first) and not is_defined(gullet, second)
    return False


def _if(gullet: Gullet, _: str) -> None:
    """Compare character codes; to TeX, all commands that do not expand have the same code."""
    first, second = _expanded_token(gullet), _expanded_token(gullet)
    commands = [token.startswith("\\") for token in (first, second)]
    _decide(gullet, all(commands) or first == second)


def _expanded_token(gullet: Gullet) -> str:
    """The next token after the expansion of macros without arguments."""
    for _ in range(20):
        token = gullet.argument_token()
        macro = gullet.actions.get(token)
        if not isinstance(macro, Macro) or macro.slots or macro.builtin:
            break
        gullet.push(macro.body)
    return token


def _ifnum(gullet: Gullet, token: str) -> None:
    frame = gullet.skip_space()
    match_test = _ODD.match if token == r"\ifodd" else _NUMBERS.match
    match = match_test(frame.text, frame.pos)
    values = [_integer(gullet, text) for text in match.groups()[::2]] if match else [None]
    if match is None or None in values:
        if gullet.forming:
            _pass_on(gullet, token)
        else:
            if (operands := _ANY_NUMBERS.match(frame.text, frame.pos)) and token == r"\ifnum":
                frame.pos = operands.end()
            _undecided(gullet, token)
        return
    frame.pos = match.end()
    if token == r"\ifodd":
        _decide(gullet, (values[0] or 0) % 2 == 1)
    else:
        _decide(gullet, _compare(values[0] or 0, match[2], values[1] or 0))


def _compare(left: float, sign: str, right: float) -> bool:
    return {"<": left < right, ">": left > right, "=": left == right}[sign]


def _integer(gullet: Gullet, text: str) -> int | None:
    """The value of a literal number, a register, a constant of TeX or a macro, or None."""
    if not text.startswith("\\"):
        return int(text[:9])
    if text in gullet.registers or text in _INTEGERS:
        return gullet.registers.get(text, _INTEGERS.get(text))
    if isinstance(gullet.actions.get(text), Macro):
        value = gullet.expand_string(text).strip()
        return int(value[:9]) if re.fullmatch(r"-?\d+", value) else None
    return None


def _new_register(gullet: Gullet, _: str) -> None:
    r"""\newcount\n: from here on, its name is an assignment."""
    name = gullet.control_name()
    if name[1:] not in KNOWN:
        gullet.registers[name] = 0
        gullet.actions[name] = _assign


def _assign(gullet: Gullet, token: str) -> None:
    """A register's name: assign to it."""
    gullet.registers[token] = _operand(gullet)


def _operand(gullet: Gullet) -> int:
    frame = gullet.skip_space()
    match = _ASSIGNED.match(frame.text, frame.pos)
    if match is None:
        return 0
    frame.pos = match.end()
    return _integer(gullet, match[1]) or 0


def _advance(gullet: Gullet, _: str) -> None:
    name = gullet.argument_token()
    change = _operand(gullet)
    if name.startswith(r"\c@"):
        gullet.declare(rf"\addtocounter{{{name[3:]}}}{{{change}}}")
        return
    total = gullet.registers.get(name, 0) + change
    gullet.registers[name] = max(-(2**31), min(2**31 - 1, total))  # as in TeX


def _show_register(gullet: Gullet, token: str) -> None:
    r"""\the\n, \number\n; \the of anything else is kept."""
    frame = gullet.skip_space()
    match = _ASSIGNED.match(frame.text, frame.pos)
    if match is None or match[1] not in gullet.registers:
        gullet.write(token + " ")
        return
    frame.pos = match.end(1)
    gullet.write(str(gullet.registers[match[1]]))


def _ifcase(gullet: Gullet, token: str) -> None:
    frame = gullet.skip_space()
    match = _ODD.match(frame.text, frame.pos)
    value = _integer(gullet, match[1]) if match else None
    if match is None or value is None:
        _undecided(gullet, token)
        return
    frame.pos = match.end()
    gullet.conditionals.append(False)
    for _case in range(value if value >= 0 else 1_000):
        ended = skip_branch(gullet, stop_at_else=True)
        if ended != "or":
            if ended == "fi":
                gullet.conditionals.pop()
            return


def _ifdefined(gullet: Gullet, token: str) -> None:
    name = csname(gullet) if token == r"\ifcsname" else gullet.argument_token()
    _decide(gullet, is_defined(gullet, name))


def _newif(gullet: Gullet, _: str) -> None:
    name = gullet.control_name()[1:]
    if not name.startswith("if") or name in _PRIMITIVES:
        return
    new_flag(gullet, name, value=False)


def new_flag(gullet: Gullet, name: str, *, value: bool) -> None:
    r"""Define the conditional \name, and the commands that set it."""
    gullet.flags[name] = value
    gullet.actions["\\" + name] = lambda g, token: _decide(g, g.flags.get(token[1:]))
    for word in ("true", "false"):
        gullet.actions[f"\\{name[2:]}{word}"] = _set_flag


def _set_flag(gullet: Gullet, token: str) -> None:
    name = token[1:]
    stem = name.removesuffix("true").removesuffix("false")
    gullet.flags["if" + stem] = name.endswith("true")
    gullet.changed(rf"\if{stem}")


def empty_macros() -> dict[str, Macro]:
    r"""Macros that tests compare with: \@empty, \NoValue."""
    return {
        r"\@empty": make(r"\@empty", (), ""),
        r"\empty": make(r"\empty", (), ""),
    }


CONDITIONALS: dict[str, Action] = {
    **{f"\\{name}": _known for name in _PRIMITIVES},
    r"\ifx": _ifx, r"\if": _if, r"\ifcase": _ifcase, r"\ifmmode": _ifmmode, r"\ifdim": _ifdim,
    **dict.fromkeys((r"\ifnum", r"\ifodd"), _ifnum),
    r"\ifdefined": _ifdefined, r"\ifcsname": _ifdefined, r"\unless": _unless, r"\loop": _loop,
    r"\else": _else, r"\or": _else, r"\fi": _fi, r"\newif": _newif,
    r"\newcount": _new_register, r"\advance": _advance,
    **dict.fromkeys((r"\the", r"\number"), _show_register),
}  # fmt: skip
__all__ = ["CONDITIONALS", "empty_macros", "is_conditional", "new_flag", "skip_branch"]
