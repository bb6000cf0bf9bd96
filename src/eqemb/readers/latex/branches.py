r"""Actions of conditionals with braced branches: ifthen, etoolbox, xparse, \@ifnextchar.

If a test cannot be decided here, the first branch is read and the document's report says so.
"""

import re
from collections.abc import Callable

from eqemb.readers.latex.conditionals import new_flag
from eqemb.readers.latex.definitions import is_defined, mangle
from eqemb.readers.latex.frames import Action
from eqemb.readers.latex.gullet import Gullet
from eqemb.readers.latex.macros import FALSE, NO_VALUE, Macro

_RELATION = re.compile(r"\s*(-?\d{1,9})\s*([<>=])\s*(-?\d{1,9})\s*")
#: The tokens of ifthen's and etoolbox's expressions.
_EXPRESSION = re.compile(
    r"\s*(?:\\(?P<tex>and|or|not|AND|OR|NOT)(?![A-Za-z])|(?P<word>and|or|not)(?![A-Za-z])"
    r"|(?P<open>\\?\()|(?P<close>\\?\))"
    r"|(?P<test>\\[A-Za-z@]+|bool|togl|test)\s*(?=\{|\\)|(?P<text>[^\\()\s]+|\\[A-Za-z@]+|\\.))",
    re.DOTALL,
)


def _choose(gullet: Gullet, truth: bool | None, token: str = "") -> None:  # noqa: FBT001
    """Read the first of the next two arguments, or the second."""
    then, otherwise = gullet.argument(), gullet.argument()
    if truth is None and gullet.in_body and token:
        gullet.problem("undecided conditional", detail=token)
    gullet.push(otherwise if truth is False else then)


# ---------------------------------------------------------------- expressions


def _ifthenelse(gullet: Gullet, token: str) -> None:
    _choose(gullet, _Expression(gullet, gullet.argument()).truth(), token)


class _Expression:
    r"""A test of \ifthenelse or \ifboolexpr: relations and tests joined by and, or, not.

    Both packages evaluate from left to right, without precedence.
    """

    def __init__(self, gullet: Gullet, text: str) -> None:
        self._gullet = gullet
        self._text = text
        self._pos = 0

    def truth(self) -> bool | None:
        """The value of the expression, or of the part up to a closing parenthesis."""
        value = self._operand()
        while (match := _EXPRESSION.match(self._text, self._pos)) is not None:
            if match["close"]:
                break
            operator = (match["tex"] or match["word"] or "").lower()
            if operator not in ("and", "or"):
                return None
            self._pos = match.end()
            other = self._operand()
            if operator == "and":
                value = (
                    False if False in (value, other) else None if None in (value, other) else True
                )
            else:
                value = (
                    True if True in (value, other) else None if None in (value, other) else False
                )
        return value

    def _operand(self) -> bool | None:
        match = _EXPRESSION.match(self._text, self._pos)
        if match is None:
            return None
        if (match["tex"] or match["word"] or "").lower() == "not":
            self._pos = match.end()
            value = self._operand()
            return None if value is None else not value
        if match["open"]:
            self._pos = match.end()
            value = self.truth()
            closing = _EXPRESSION.match(self._text, self._pos)
            self._pos = closing.end() if closing and closing["close"] else self._pos
            return value
        test = _TESTS.get(match["test"] or "")
        if test is not None:
            self._pos = match.end()
            count, decide = test
            return decide(self._gullet, *(self._argument() for _ in range(count)))
        return self._relation()

    def _argument(self) -> str:
        text = self._text
        while text[self._pos : self._pos + 1].isspace():
            self._pos += 1
        if not text.startswith("{", self._pos):
            match = _EXPRESSION.match(text, self._pos)
            self._pos = match.end() if match else len(text)
            return match[0].strip() if match else ""
        depth, start = 0, self._pos + 1
        for at in range(self._pos, len(text)):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            if depth == 0:
                self._pos = at + 1
                return text[start:at]
        self._pos = len(text)
        return text[start:]

    def _relation(self) -> bool | None:
        """A relation of two numbers, up to the next operator."""
        operator = re.compile(r"\\(?:and|or|AND|OR)(?![A-Za-z])|\\\)").search(self._text, self._pos)
        end = operator.start() if operator else len(self._text)
        text = self._gullet.expand_string(self._text[self._pos : end])
        self._pos = end
        match = _RELATION.fullmatch(text.replace(r"\relax", " "))
        return _relation(int(match[1]), match[2], int(match[3])) if match else None


def _relation(left: int, sign: str, right: int) -> bool:
    return {"<": left < right, ">": left > right, "=": left == right}[sign]


def _expands_to(gullet: Gullet, text: str) -> str:
    return gullet.expand_string(text).strip()


def _equal(gullet: Gullet, left: str, right: str) -> bool:
    return _expands_to(gullet, left) == _expands_to(gullet, right)


def _flag(gullet: Gullet, name: str) -> bool | None:
    return gullet.flags.get("if" + name.strip())


def _number(gullet: Gullet, text: str) -> int | None:
    value = _expands_to(gullet, text)
    if value in gullet.registers:
        return gullet.registers[value]
    return int(value[:9]) if re.fullmatch(r"-?\d+", value) else None


def _compare(gullet: Gullet, left: str, sign: str, right: str) -> bool | None:
    first, second = _number(gullet, left), _number(gullet, right)
    if first is None or second is None or sign.strip() not in ("<", ">", "="):
        return None
    return _relation(first, sign.strip(), second)


def _test(gullet: Gullet, text: str) -> bool | None:
    r"""The test \ifstrequal{a}{b}: run the command with two branches of our own."""
    return {"1": True, "0": False}.get(_expands_to(gullet, text + "{1}{0}"))


def _body(gullet: Gullet, name: str) -> str | None:
    """The body of a macro without arguments, or None."""
    name = name.strip()
    macro = gullet.actions.get(name if name.startswith("\\") else mangle(name))
    return macro.body if isinstance(macro, Macro) and not macro.slots else None


def _defined(gullet: Gullet, name: str) -> bool:
    name = name.strip()
    return is_defined(gullet, name if name.startswith("\\") else mangle(name))


def _is_empty(gullet: Gullet, name: str) -> bool:
    return _body(gullet, name) == ""


def _same_body(gullet: Gullet, left: str, right: str) -> bool:
    return _body(gullet, left) == _body(gullet, right) and _defined(gullet, left) == _defined(
        gullet, right
    )


def _is_odd(gullet: Gullet, text: str) -> bool | None:
    number = _number(gullet, text)
    return None if number is None else number % 2 == 1


Test = Callable[..., bool | None]
#: Tests inside expressions: number of arguments, function.
_TESTS: dict[str, tuple[int, Test]] = {
    r"\equal": (2, _equal), r"\boolean": (1, _flag), r"\isodd": (1, _is_odd),
    r"\isundefined": (1, lambda gullet, name: not _defined(gullet, name)),
    "bool": (1, _flag), "togl": (1, _flag), "test": (1, _test),
}  # fmt: skip
#: Commands that take a test and two branches (etoolbox).
_COMMANDS: dict[str, tuple[int, Test]] = {
    "ifbool": (1, _flag), "iftoggle": (1, _flag),
    "notbool": (1, lambda gullet, name: _negated(_flag(gullet, name))),
    "nottoggle": (1, lambda gullet, name: _negated(_flag(gullet, name))),
    "ifdef": (1, _defined), "ifcsdef": (1, _defined), "ifdefmacro": (1, _defined),
    "ifundef": (1, lambda gullet, name: not _defined(gullet, name)),
    "ifcsundef": (1, lambda gullet, name: not _defined(gullet, name)),
    "@ifundefined": (1, lambda gullet, name: not _defined(gullet, name)),
    "ifdefempty": (1, _is_empty), "ifcsempty": (1, _is_empty),
    "ifdefvoid": (1, lambda gullet, name: _is_empty(gullet, name) or not _defined(gullet, name)),
    "ifcsvoid": (1, lambda gullet, name: _is_empty(gullet, name) or not _defined(gullet, name)),
    "ifdefstring": (2, lambda gullet, name, text: _body(gullet, name) == text),
    "ifcsstring": (2, lambda gullet, name, text: _body(gullet, name) == text),
    "ifdefstrequal": (2, _same_body), "ifcsstrequal": (2, _same_body),
    "ifdefequal": (2, _same_body), "ifcsequal": (2, _same_body),
    "ifstrequal": (2, lambda _, left, right: left == right),
    "ifstrempty": (1, lambda _, text: not text), "ifblank": (1, lambda _, text: not text.strip()),
    "notblank": (1, lambda _, text: bool(text.strip())),
    "ifnumcomp": (3, _compare),
    "ifnumequal": (2, lambda gullet, left, right: _compare(gullet, left, "=", right)),
    "ifnumgreater": (2, lambda gullet, left, right: _compare(gullet, left, ">", right)),
    "ifnumless": (2, lambda gullet, left, right: _compare(gullet, left, "<", right)),
    "ifnumodd": (1, _is_odd),
    "@ifpackageloaded": (1, lambda gullet, name: name.strip() in gullet.packages),
    "@ifclassloaded": (1, lambda gullet, name: name.strip() in gullet.classes),
}  # fmt: skip


def _negated(truth: bool | None) -> bool | None:  # noqa: FBT001
    return None if truth is None else not truth


def _tested(gullet: Gullet, token: str) -> None:
    count, test = _COMMANDS[token[1:]]
    _choose(gullet, test(gullet, *(gullet.argument() for _ in range(count))), token)


# ---------------------------------------------------------------- flags


def _new_named_flag(gullet: Gullet, _: str) -> None:
    new_flag(gullet, "if" + gullet.argument().strip(), value=False)


def _set_named_flag(gullet: Gullet, token: str) -> None:
    name = gullet.argument().strip()
    if token in (r"\setbool", r"\setboolean", r"\settoggle"):
        value = gullet.argument().strip().lower() == "true"
    else:
        value = token.endswith("true")
    gullet.flags["if" + name] = value
    gullet.changed(rf"\if{name}")


# ---------------------------------------------------------------- versions of a document


# Names of our own; packages.py gives them those of the packages tagging and optional.


def _use_versions(gullet: Gullet, token: str) -> None:
    r"""\useversions{a,b}: these are typeset from here on."""
    for name in gullet.argument().split(","):
        gullet.flags["version " + name.strip()] = token == r"\useversions"


def _in_versions(gullet: Gullet, token: str) -> None:
    r"""\inversions{a,b}{text}, \notinversions, and \ifversions{a,b}{then}{else}."""
    names = [name.strip() for name in gullet.argument().split(",")]
    truth = any(gullet.flags.get("version " + name) for name in names)
    if token == r"\ifversions":
        _choose(gullet, truth)
    else:
        text = gullet.argument()
        gullet.push(text if truth == (token == r"\inversions") else "")


# ---------------------------------------------------------------- what comes next, and xparse


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
    elif "Blank" in token:
        truth = not value.strip()
    else:
        truth = value.strip() != FALSE.strip()
    if token.endswith("TF"):
        _choose(gullet, truth)
    else:
        branch = gullet.argument()
        gullet.push(branch if truth == token.endswith("T") else "")


BRANCHES: dict[str, Action] = {
    **{f"\\{name}": _tested for name in _COMMANDS},
    **dict.fromkeys((r"\ifthenelse", r"\ifboolexpr", r"\ifboolexpe"), _ifthenelse),
    **dict.fromkeys((r"\newbool", r"\newtoggle", r"\newboolean", r"\providebool",
                     r"\providetoggle"), _new_named_flag),
    **dict.fromkeys((r"\booltrue", r"\boolfalse", r"\toggletrue", r"\togglefalse", r"\setbool",
                     r"\setboolean", r"\settoggle"), _set_named_flag),
    r"\@ifstar": _ifstar,
    **dict.fromkeys((r"\useversions", r"\dropversions"), _use_versions),
    **dict.fromkeys((r"\inversions", r"\notinversions", r"\ifversions"), _in_versions),
    **dict.fromkeys((r"\@ifnextchar", r"\kernel@ifnextchar"), _ifnextchar),
    **dict.fromkeys((r"\IfNoValueTF", r"\IfNoValueT", r"\IfNoValueF", r"\IfValueTF",
                     r"\IfValueT", r"\IfValueF", r"\IfBooleanTF", r"\IfBooleanT",
                     r"\IfBooleanF", r"\IfBlankTF", r"\IfBlankT", r"\IfBlankF"), _test_value),
}  # fmt: skip
