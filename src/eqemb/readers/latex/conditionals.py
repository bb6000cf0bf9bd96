r"""Actions of conditional commands: \if..., \ifthenelse, \@ifnextchar and similar.

If a test cannot be decided here (\ifmmode, \ifdim, unknown tests), the first branch is read. In
mathematics that is the right branch of \ifmmode, the most common of them.
"""

import re

from eqemb.readers.latex.commands import KNOWN, names
from eqemb.readers.latex.definitions import csname, is_defined, mangle
from eqemb.readers.latex.frames import Action, Frame
from eqemb.readers.latex.gullet import Gullet
from eqemb.readers.latex.macros import FALSE, NO_VALUE, TRUE, Macro, make

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
_NUMBERS = re.compile(r"\s*(\\[A-Za-z@]+|-?\d+)\s*([<>=])\s*(\\[A-Za-z@]+|-?\d+)(?:\\relax|\s)?")
_ASSIGNED = re.compile(r"\s*+(?:(?:=|by)\s*+)?(-?\d+|\\[A-Za-z@]+)\s?")
_CONSTANTS = {r"\pdfoutput": 1, r"\z@": 0, r"\@ne": 1, r"\tw@": 2, r"\thr@@": 3, r"\m@ne": -1}
_CASE = re.compile(r"\s*(\d+)\s?")


def is_conditional(gullet: Gullet, name: str) -> bool:
    r"""Whether \name opens a conditional that \fi closes."""
    return name in _PRIMITIVES or name in gullet.flags


# ---------------------------------------------------------------- \if ... \else ... \fi


def _decide(gullet: Gullet, truth: bool | None) -> None:  # noqa: FBT001
    """Continue in the branch that is taken; None (undecidable) takes the first."""
    gullet.conditionals += 1
    if truth is False and skip_branch(gullet, stop_at_else=True) == "fi":
        gullet.conditionals -= 1


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


def _else(gullet: Gullet, _: str) -> None:
    if gullet.conditionals > 0:
        gullet.conditionals -= 1
        skip_branch(gullet, stop_at_else=False)


def _fi(gullet: Gullet, _: str) -> None:
    gullet.conditionals = max(0, gullet.conditionals - 1)


def _known(gullet: Gullet, token: str) -> None:
    name = token[1:]
    _decide(gullet, True if name in _TRUE else False if name in _FALSE else None)


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
    first, second = gullet.argument_token(), gullet.argument_token()
    literal = not (first + second).startswith("\\") and "\\" not in second
    _decide(gullet, first == second if literal else None)


def _ifnum(gullet: Gullet, _: str) -> None:
    frame = gullet.skip_space()
    match = _NUMBERS.match(frame.text, frame.pos)
    left = _integer(gullet, match[1]) if match else None
    right = _integer(gullet, match[3]) if match else None
    if match is None or left is None or right is None:
        _decide(gullet, None)
        return
    frame.pos = match.end()
    _decide(gullet, {"<": left < right, ">": left > right, "=": left == right}[match[2]])


def _integer(gullet: Gullet, text: str) -> int | None:
    """The value of a literal number, a register or a constant of TeX, or None."""
    if text.startswith("\\"):
        return gullet.registers.get(text, _CONSTANTS.get(text))
    return int(text[:9])


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


def _ifcase(gullet: Gullet, _: str) -> None:
    frame = gullet.skip_space()
    match = _CASE.match(frame.text, frame.pos)
    gullet.conditionals += 1
    if match is None:
        return
    frame.pos = match.end()
    for _case in range(int(match[1][:9])):
        ended = skip_branch(gullet, stop_at_else=True)
        if ended != "or":
            gullet.conditionals -= ended == "fi"
            return


def _ifdefined(gullet: Gullet, token: str) -> None:
    name = csname(gullet) if token == r"\ifcsname" else gullet.argument_token()
    _decide(gullet, is_defined(gullet, name))


def _newif(gullet: Gullet, _: str) -> None:
    name = gullet.control_name()[1:]
    if not name.startswith("if") or name in _PRIMITIVES:
        return
    _new_flag(gullet, name, value=False)


def _new_flag(gullet: Gullet, name: str, *, value: bool) -> None:
    gullet.flags[name] = value
    gullet.actions["\\" + name] = lambda g, token: _decide(g, g.flags.get(token[1:]))
    for word in ("true", "false"):
        gullet.actions[f"\\{name[2:]}{word}"] = _set_flag


def _set_flag(gullet: Gullet, token: str) -> None:
    name = token[1:]
    stem = name.removesuffix("true").removesuffix("false")
    gullet.flags["if" + stem] = name.endswith("true")


# ---------------------------------------------------------------- {test}{then}{else}


def _choose(gullet: Gullet, truth: bool | None) -> None:  # noqa: FBT001
    """Read the first of the next two arguments, or the second."""
    then, otherwise = gullet.argument(), gullet.argument()
    gullet.push(otherwise if truth is False else then)


def _ifthenelse(gullet: Gullet, _: str) -> None:
    test = gullet.argument()
    _choose(gullet, _test(gullet, test))


def _test(gullet: Gullet, test: str) -> bool | None:
    test = test.strip()
    if match := re.fullmatch(r"\\(?:not|NOT)\s*(.*)", test, re.DOTALL):
        inner = _test(gullet, match[1].strip("()\\ "))
        return None if inner is None else not inner
    if match := re.fullmatch(r"\\equal\s*\{(.*?)\}\s*\{(.*)\}", test, re.DOTALL):
        left, right = (gullet.expand_string(match[n]).strip() for n in (1, 2))
        return left == right
    if match := re.fullmatch(r"\\boolean\s*\{(\w+)\}", test):
        return gullet.flags.get("if" + match[1])
    if match := re.fullmatch(r"\\isundefined\s*\{?(\\[A-Za-z@]+)\s*\}?", test):
        return not is_defined(gullet, match[1])
    if match := re.fullmatch(
        r"(-?\d{1,9})\s*([<>=])\s*(-?\d{1,9})", gullet.expand_string(test).strip()
    ):
        left_number, right_number = int(match[1]), int(match[3])
        return {
            "<": left_number < right_number,
            ">": left_number > right_number,
            "=": left_number == right_number,
        }[match[2]]
    return None


def _named_flag(gullet: Gullet, _: str) -> None:
    r"""\ifbool{x}, \iftoggle{x} with two branches."""
    _choose(gullet, gullet.flags.get("if" + gullet.argument().strip()))


def _new_named_flag(gullet: Gullet, _: str) -> None:
    _new_flag(gullet, "if" + gullet.argument().strip(), value=False)


def _set_named_flag(gullet: Gullet, token: str) -> None:
    name = gullet.argument().strip()
    if token in (r"\setbool", r"\setboolean", r"\settoggle"):
        value = gullet.argument().strip().lower() == "true"
    else:
        value = token.endswith("true")
    gullet.flags["if" + name] = value


def _ifundefined(gullet: Gullet, token: str) -> None:
    r"""\@ifundefined{name}{..}{..} and \ifcsdef, \ifcsundef."""
    name = gullet.argument().strip()
    control = name if name.startswith("\\") else mangle(name)
    defined = is_defined(gullet, control)
    _choose(gullet, defined if token in (r"\ifcsdef", r"\ifdef") else not defined)


def _ifloaded(gullet: Gullet, token: str) -> None:
    name = gullet.argument().strip()
    loaded = gullet.document_class if "class" in token else gullet.packages
    _choose(gullet, name in loaded)


def _ifstar(gullet: Gullet, _: str) -> None:
    then, otherwise = gullet.argument(), gullet.argument()
    gullet.push(then if gullet.accept("*") else otherwise)


def _ifnextchar(gullet: Gullet, _: str) -> None:
    wanted, then, otherwise = gullet.argument_token(), gullet.argument(), gullet.argument()
    frame = gullet.skip_space()
    gullet.push(then if frame.text.startswith(wanted, frame.pos) else otherwise)


def _test_value(gullet: Gullet, token: str) -> None:
    r"""\IfNoValueTF{#1}{..}{..}, \IfBooleanTF and their one-branch forms."""
    value = gullet.argument()
    if "NoValue" in token:
        truth = value.strip() == NO_VALUE.strip()
    elif "Value" in token:
        truth = value.strip() != NO_VALUE.strip()
    elif "Blank" in token or "empty" in token or "blank" in token:
        truth = not value.strip()
    else:
        truth = value.strip() != FALSE.strip()
    if token.endswith("TF") or not token.endswith(("T", "F")):
        _choose(gullet, truth)
    else:
        branch = gullet.argument()
        gullet.push(branch if truth == token.endswith("T") else "")


def empty_macros() -> dict[str, Macro]:
    r"""Macros that tests compare with: \@empty, \NoValue."""
    return {
        r"\@empty": make(r"\@empty", (), ""),
        r"\empty": make(r"\empty", (), ""),
    }


CONDITIONALS: dict[str, Action] = {
    **{f"\\{name}": _known for name in _PRIMITIVES},
    r"\ifx": _ifx, r"\if": _if, r"\ifnum": _ifnum, r"\ifcase": _ifcase,
    r"\ifdefined": _ifdefined, r"\ifcsname": _ifdefined,
    r"\else": _else, r"\or": _else, r"\fi": _fi, r"\newif": _newif,
    r"\ifthenelse": _ifthenelse,
    r"\newcount": _new_register, r"\advance": _advance,
    **dict.fromkeys((r"\the", r"\number"), _show_register),
    **dict.fromkeys((r"\ifbool", r"\iftoggle"), _named_flag),
    **dict.fromkeys((r"\newbool", r"\newtoggle", r"\newboolean", r"\providebool"),
                    _new_named_flag),
    **dict.fromkeys((r"\booltrue", r"\boolfalse", r"\toggletrue", r"\togglefalse", r"\setbool",
                     r"\setboolean", r"\settoggle"), _set_named_flag),
    **dict.fromkeys((r"\@ifundefined", r"\ifcsundef", r"\ifcsdef", r"\ifdef", r"\ifundef"),
                    _ifundefined),
    **dict.fromkeys((r"\@ifpackageloaded", r"\@ifclassloaded"), _ifloaded),
    r"\@ifstar": _ifstar,
    **dict.fromkeys((r"\@ifnextchar", r"\kernel@ifnextchar"), _ifnextchar),
    **dict.fromkeys((r"\IfNoValueTF", r"\IfNoValueT", r"\IfNoValueF", r"\IfValueTF",
                     r"\IfValueT", r"\IfValueF", r"\IfBooleanTF", r"\IfBooleanT",
                     r"\IfBooleanF", r"\ifstrempty", r"\ifblank", r"\IfBlankTF"), _test_value),
}  # fmt: skip
__all__ = ["CONDITIONALS", "TRUE", "empty_macros", "is_conditional", "skip_branch"]
