r"""Text in mathematics: what `\text{...}` shows, and the mathematics within it."""

import re
import unicodedata
from collections.abc import Iterator

from eqemb.formula import commands
from eqemb.formula.commands import SYMBOLS

#: A token of text with its braces: the command, and its content.
TEXT_TOKEN = re.compile(rf"\\({'|'.join(commands.TEXT)})\s*\{{(.*)\}}\Z", re.DOTALL)

_TEXT_PART = re.compile(r"\\[()]|\\.|[{}$]", re.DOTALL)
_LENGTH_COMMANDS = "|".join(sorted(name[1:] for name in commands.LENGTHS))
_SPACE_COMMANDS = (r"\hspace", r"\hskip")
_UNIT = "(?:pt|em|ex|mu|cm|mm|in|bp)"
_TEXT_OPTIONS = r"(?:\s*\[[^][]*\])*"


def _with_arguments(table: dict[str, int], least: int) -> str:
    """A pattern for commands of a table, with the arguments that they do not show."""
    made = list[str]()
    for count in sorted(each for each in set(table.values()) if each >= least):
        names = "|".join(name[1:] for name, each in table.items() if each == count)
        arguments = (
            rf"(?:{_TEXT_OPTIONS}\s*\{{[^{{}}]*\}}){{{count}}}(?:{_TEXT_OPTIONS}(?=\s*\{{))?"
        )
        made.append(rf"\\(?:{names})(?![a-zA-Z])\*?{arguments}")
    return "|".join(made)


_TEXT_COMMAND = re.compile(
    rf"""
      {_with_arguments(commands.TRANSPARENT, 0)}
    | {_with_arguments(commands.DROPPED, 1)}
    | \\(?:{_LENGTH_COMMANDS})\s*+(?:[-+]\s*+)?(?:\d++\.?\d*+|\.\d++)\s*+{_UNIT}\b
    | \\([a-zA-Z]+)\s*
    | \\(.)
    | [{{}}] | ~ | `` | ''
    """,
    re.DOTALL | re.VERBOSE,
)
_ACCENT = re.compile(r"\\([`'^\"~=.])\s*(?:\{\\?([a-zA-Z])\}|\\?([a-zA-Z]))")
_COMBINING_ACCENTS = dict(
    zip("`'^\"~=.", "\u0300\u0301\u0302\u0308\u0303\u0304\u0307", strict=True)
)
_WHITE_SPACE = re.compile(r"\s+")
_SHOWN_AS = {"~": " ", "``": "\u201c", "''": "\u201d"}


def parts(content: str) -> Iterator[tuple[str, bool]]:
    """The pieces of a text, each with whether it is mathematics (`$x$`)."""
    start = level = 0
    outside = -1
    opened = outside
    for match in _TEXT_PART.finditer(content):
        token = match[0]
        if token in "{}":
            level += 1 if token == "{" else -1
        elif opened == outside and token in ("$", r"\("):
            yield content[start : match.start()], False
            start, opened = match.end(), max(level, 0)
        elif opened != outside and token in ("$", r"\)") and level <= opened:
            # Deeper ones belong to text within that mathematics.
            yield content[start : match.start()], True
            start, opened = match.end(), outside
    yield content[start:], opened != outside


def is_mathematics(content: str) -> bool:
    """Whether a text has no words outside its mathematics."""
    return not any(
        char.isalpha()
        for piece, is_math in parts(content)
        if not is_math
        for char in shown(piece, [])
    )


def shown(text: str, unknown: list[str]) -> str:
    """The printed form of a text; unknown commands become their names."""
    if "\\" not in text:
        return _WHITE_SPACE.sub(
            " ", _TEXT_COMMAND.sub(lambda match: _SHOWN_AS.get(match[0], ""), text)
        )

    def command(match: re.Match[str]) -> str:
        if match[1]:
            return _command(match[1], unknown)
        if match[2]:
            return " " if match[2] in " ,;:\\\n" else match[2]
        return " " if match[0].startswith(_SPACE_COMMANDS) else _SHOWN_AS.get(match[0], "")

    return _WHITE_SPACE.sub(" ", _TEXT_COMMAND.sub(command, _ACCENT.sub(_accented, text)))


def _command(name: str, unknown: list[str]) -> str:
    tag = SYMBOLS.get("\\" + name)
    if tag is not None:
        return tag[2:] if tag[1:2] == "!" else tag
    if "\\" + name in commands.SPACES:
        return " "
    if name in commands.TEXT or "\\" + name in commands.SILENT:
        return ""
    unknown.append("\\" + name)
    return name


def _accented(match: re.Match[str]) -> str:
    r"""`\'e` as one letter."""
    return unicodedata.normalize("NFC", (match[2] or match[3]) + _COMBINING_ACCENTS[match[1]])
