"""What commands do in running text: headings, notes, references, counters, environments.

Each function takes the walk and the match of a command, and returns where to continue. `COMMANDS`
maps commands to functions.
"""

import re

from eqemb.readers.latex.commands import (
    ASIDES,
    CITATIONS,
    DISPLAYS,
    DROP_ARGUMENTS,
    ENVIRONMENT_ARGUMENTS,
    HEADINGS,
    KNOWN,
    LENGTH_COMMANDS,
    NAMED_CHARACTERS,
    OPTIONAL_IS_TEXT,
    REFERENCES,
    REFERENCES_IN_PARENTHESES,
    SEPARATE,
    SIZED,
    TEXT_ACCENTS,
    TEXT_ENVIRONMENTS,
    TITLE_COMMANDS,
    TITLED,
)
from eqemb.readers.latex.display_walk import DisplayWalk
from eqemb.readers.latex.expand import Expanded
from eqemb.readers.latex.notation_tables import TABULARS, add_notation, read_table
from eqemb.readers.latex.text_walk import SPACE, Command
from eqemb.readers.prose import BREAK, HOLE

_ARGUMENT_NAME = re.compile(r"\s*\{([^{}\\$]*)\}")
_STYLE_SIGN = re.compile(r"\s*\+?=\s*(?=\[)")
_LENGTH_UNIT = "pt|em|ex|cm|mm|in|bp|pc|mu|fil+|sp|dd|cc"
_LENGTH = rf"(?:-?[\d.,]*\s*(?:\\[A-Za-z]+|true)?\s*(?:{_LENGTH_UNIT})?)"
_TEXT_LENGTH = re.compile(
    rf"\s*=?\s*{_LENGTH}"
    rf"(?:\s*(?:plus|minus)\s*-?[\d.]*\s*(?:\\[A-Za-z]+|{_LENGTH_UNIT})?){{0,2}}"
)
_SIZE = re.compile(rf"(?:\s*(?:to|spread|height|width|depth)\s*(?=[-.\d\\]){_LENGTH})*")


def _begin(walk: DisplayWalk, match: re.Match[str], end: int) -> int:
    text = walk.text
    named = _ARGUMENT_NAME.match(text, match.end(), end)
    if named is None:
        return match.end()
    name, pos = named[1], named.end()
    if name in DISPLAYS or name == "empheq":
        return walk.environment(name, match.start(), pos, end)
    if name == "math":
        close = walk.search.find("\\end{math}", pos, end)
        if close >= 0:
            walk.math(pos, close)
            return close + len("\\end{math}")
    if name not in TEXT_ENVIRONMENTS and name not in walk.numbering.theorems and name not in KNOWN:
        after = walk.unknown_environment(name, match.start(), pos, end)
        if after > pos:
            return after
    walk.enter(name)
    walk.add_text(BREAK if name in SEPARATE or name in walk.numbering.theorems else " ")
    if name in OPTIONAL_IS_TEXT or name in walk.numbering.theorems:
        return pos
    if name in TITLED:
        pos = walk.optional(pos, end)[2]
        start, stop, after = walk.argument(pos, end)
        walk.walk(start, stop)
        walk.add_text(BREAK)
        return after
    if name == "multicols":  # \begin{multicols}{2}[text above the columns]
        pos = walk.argument(pos, end)[2]
        start, stop, pos = walk.optional(pos, end)
        walk.walk(start, stop)
        walk.add_text(" ")
        return pos
    if name in ENVIRONMENT_ARGUMENTS or text.startswith("[", pos):
        pos = walk.drop(pos, end, ENVIRONMENT_ARGUMENTS.get(name, 0), "begin")
    if name in TABULARS:
        read_table(walk, name, pos, end)
    return pos


def _end(walk: DisplayWalk, match: re.Match[str], end: int) -> int:
    named = _ARGUMENT_NAME.match(walk.text, match.end(), end)
    if named is None:
        return match.end()
    if named[1] in DISPLAYS:
        walk.problem("\\end without \\begin", match.start(), named[1])
    walk.leave(named[1])
    walk.add_text(BREAK if named[1] in SEPARATE or named[1] in walk.numbering.theorems else " ")
    return named.end()


def _heading(walk: DisplayWalk, match: re.Match[str], end: int) -> int:
    name, pos = match[1], match.end()
    starred = walk.text.startswith("*", pos)
    if walk.in_preamble:
        pass  # an argument of a command that is not known
    elif name in ("addchap", "addsec"):
        if not starred:
            walk.numbering.unnumbered({"addchap": "chapter", "addsec": "section"}[name])
    elif not starred:
        walk.numbering.heading({"chap": "chapter"}.get(name, name))
    pos = walk.optional(pos + starred, end)[2]
    start, stop, after = walk.argument(pos, end)
    if HEADINGS[name] <= 4:
        walk.close_floats(match.start())
        walk.paragraph()
        walk.heading(walk.plain(start, stop))
    else:  # \paragraph{Name.} continues in its text
        walk.paragraph()
        walk.walk(start, stop)
        walk.add_text(BREAK)
    return after


def _title(walk: DisplayWalk, match: re.Match[str], end: int) -> int:
    pos = walk.optional(match.end(), end)[2]
    start, stop, after = walk.argument(pos, end)
    if walk.found.title:
        walk.skip(start, stop, match[1])
    else:
        walk.found.title = walk.plain(start, stop)
    return after


_TITLE_INSIDE = re.compile(rf"\\({'|'.join(sorted(TITLE_COMMANDS))})(?![A-Za-z@])")


def _two_columns(walk: DisplayWalk, match: re.Match[str], end: int) -> int:
    r"""\twocolumn[...]: of what is printed above both columns, the title is read."""
    start, stop, after = walk.optional(match.end(), end)
    if (title := _TITLE_INSIDE.search(walk.text, start, stop)) is not None:
        _title(walk, title, stop)
    return after


def _aside(walk: DisplayWalk, match: re.Match[str], end: int) -> int:
    name, pos = match[1], match.end()
    pos += walk.text.startswith("*", pos)
    count = ASIDES[name]
    for index in range(count):
        pos = walk.optional(pos, end)[2]
        start, stop, after = walk.argument(pos, end)
        if index == count - 1 and after > pos:
            if name == "endnote":
                walk.endnotes.append((start, stop))
            else:
                walk.aside(start, stop)
        pos = after
    return pos


def _the_endnotes(walk: DisplayWalk, match: re.Match[str], _: int) -> int:
    walk.read_endnotes()
    return match.end()


def _reference(walk: DisplayWalk, match: re.Match[str], end: int) -> int:
    name, pos = match[1], match.end()
    pos += walk.text.startswith("*", pos)
    start, stop, after = walk.optional(pos, end)
    if name == "hyperref":
        walk.add_reference(walk.text[start:stop])
        return after
    labels, after = walk.value(after, end)
    if name.endswith("range"):
        other, after = walk.value(after, end)
        labels += "," + other
    is_enclosed = name in REFERENCES_IN_PARENTHESES
    for index, label in enumerate(labels.split(",")):
        walk.add_text(", " if index else "")
        walk.add_text("(" if is_enclosed else "")
        walk.add_reference(" ".join(label.split()))
        walk.add_text(")" if is_enclosed else "")
    return after


def _label(walk: DisplayWalk, match: re.Match[str], end: int) -> int:
    label, after = walk.value(match.end(), end)
    walk.label(" ".join(label.split()))
    return after


def _drop(walk: DisplayWalk, match: re.Match[str], end: int) -> int:
    name = match[1]
    return walk.drop(match.end(), end, DROP_ARGUMENTS[name], name)


def _cite(walk: DisplayWalk, match: re.Match[str], end: int) -> int:
    walk.add_text(HOLE)
    return walk.drop(match.end(), end, 1, match[1])


def _style(walk: DisplayWalk, match: re.Match[str], end: int) -> int:
    r"""\tikzstyle{name}=[options]."""
    pos = walk.argument(match.end(), end)[2]
    sign = _STYLE_SIGN.match(walk.text, pos, end)
    return walk.optional(sign.end(), end)[2] if sign else pos


def _length(walk: DisplayWalk, match: re.Match[str], end: int) -> int:
    found = _TEXT_LENGTH.match(walk.text, match.end(), end)
    walk.add_text(" ")
    return found.end() if found else match.end()


def _sized(walk: DisplayWalk, match: re.Match[str], end: int) -> int:
    found = _SIZE.match(walk.text, match.end(), end)
    return found.end() if found else match.end()


def _character(walk: DisplayWalk, match: re.Match[str], end: int) -> int:
    name, pos = match[1], match.end()
    if name == "par":
        walk.paragraph()
    else:
        walk.add_text(NAMED_CHARACTERS[name])
    if walk.text.startswith(" ", pos):
        pos = SPACE.match(walk.text, pos, end).end()  # type: ignore[union-attr]
        if NAMED_CHARACTERS[name].isspace():
            return pos
    return pos


def _accent(walk: DisplayWalk, match: re.Match[str], end: int) -> int:
    return walk.accent(TEXT_ACCENTS[match[1]], match.end(), end)


def _item(walk: DisplayWalk, match: re.Match[str], _: int) -> int:
    walk.add_text(BREAK)
    return match.end()


def _ensure_math(walk: DisplayWalk, match: re.Match[str], end: int) -> int:
    start, stop, after = walk.argument(match.end(), end)
    walk.math(start, stop)
    return after


def _counter(walk: DisplayWalk, match: re.Match[str], end: int) -> int:
    r"""\setcounter, \numberwithin and other commands for counters."""
    name, pos, numbering = match[1], match.end(), walk.numbering
    starred = walk.text.startswith("*", pos)
    pos += starred
    style_start, style_end, pos = walk.optional(pos, end)
    style = walk.text[style_start:style_end].strip().lstrip("\\") or "arabic"
    first, pos = walk.value(pos, end)
    if name in ("stepcounter", "refstepcounter"):
        numbering.step(first)
        return pos
    if name == "keepcounters":
        numbering.keep(first)
        return pos
    if name in ("restorecounters", "resumecounters"):
        numbering.restore(first)
        return pos
    second, pos = walk.value(pos, end)
    if name in ("setcounter", "addtocounter"):
        numbering.set(first, second, add=name == "addtocounter")
    elif name in ("numberwithin", "counterwithin"):
        numbering.within(first, second, printed=not starred, style=style)
    elif name == "addtoreset":
        numbering.within(first, second, printed=False)
    elif name == "counterwithout":
        numbering.without(first, second, printed=not starred)
    elif name == "removefromreset":
        numbering.without(first, second, printed=False)
    elif name == "sharecounter":
        numbering.share(first, second)
    elif name == "copyform":
        numbering.copy_form(first, second)
    return pos


def _format(walk: DisplayWalk, match: re.Match[str], end: int) -> int:
    r"""\renewcommand{\theequation}{...}, which expansion passes on."""
    name, pos = walk.value(match.end(), end)
    template, after = walk.value(pos, end)
    walk.numbering.form(name.removeprefix("\\"), template if after > pos else None)
    return after


def _new_theorem(walk: DisplayWalk, match: re.Match[str], end: int) -> int:
    name, pos = walk.value(match.end(), end)
    shared = walk.optional(pos, end)
    within = walk.optional(shared[2], end)
    text = walk.text
    walk.numbering.theorem(name, text[shared[0] : shared[1]], text[within[0] : within[1]])
    return within[2]


def _new_counter(walk: DisplayWalk, match: re.Match[str], end: int) -> int:
    name, pos = walk.value(match.end(), end)
    start, stop, after = walk.optional(pos, end)
    walk.numbering.new_counter(name.strip(), walk.text[start:stop].strip())
    return after


def _tools(walk: DisplayWalk, match: re.Match[str], end: int) -> int:
    options, pos = walk.value(match.end(), end)
    if "showonlyrefs" in options:
        walk.only_referenced = not re.search(r"showonlyrefs\s*=\s*false", options)
        if "autonum" not in options:  # mathtools considers only its own references
            walk.references_that_count = frozenset(("eqref", "refeq"))
    return pos


def _appendix(walk: DisplayWalk, match: re.Match[str], _: int) -> int:
    walk.paragraph()
    starred = walk.text.startswith("*", match.end())
    walk.numbering.appendix(starred=starred)
    return match.end() + starred


def _nomenclature(walk: DisplayWalk, match: re.Match[str], end: int) -> int:
    r"""\nomenclature[order]{symbol}{meaning}: an entry of the list of symbols."""
    pos = walk.optional(match.end(), end)[2]
    symbol = walk.argument(pos, end)
    meaning = walk.argument(symbol[2], end)
    if not walk.in_preamble:
        add_notation(walk, symbol[:2], meaning[:2])
    return walk.formatting_command(match, end)


def _matter(walk: DisplayWalk, match: re.Match[str], _: int) -> int:
    walk.numbering.matter(main=match[1] == "mainmatter")
    return match.end()


COMMANDS: dict[str, Command] = {
    **dict.fromkeys(DROP_ARGUMENTS, _drop),
    **dict.fromkeys(CITATIONS - {"nocite"}, _cite),
    **dict.fromkeys(LENGTH_COMMANDS, _length),
    **dict.fromkeys(SIZED, _sized),
    **dict.fromkeys(NAMED_CHARACTERS, _character),
    **{name: _accent for name in TEXT_ACCENTS if name.isalpha()},
    **dict.fromkeys(ASIDES, _aside),
    **dict.fromkeys(REFERENCES, _reference),
    **dict.fromkeys(HEADINGS, _heading),
    **dict.fromkeys(TITLE_COMMANDS, _title),
    "tikzstyle": _style, "twocolumn": _two_columns,
    "begin": _begin, "end": _end, "item": _item, "label": _label, "ensuremath": _ensure_math,
    **dict.fromkeys(("setcounter", "addtocounter", "stepcounter", "refstepcounter",
                     "numberwithin", "counterwithin", "counterwithout", "addtoreset",
                     "removefromreset", "sharecounter", "copyform", "keepcounters",
                     "restorecounters", "resumecounters"), _counter),
    "renewcommand": _format, "newtheorem": _new_theorem, "mathtoolsset": _tools,
    "appendix": _appendix, "appendices": _appendix, "theendnotes": _the_endnotes,
    **dict.fromkeys(("frontmatter", "mainmatter", "backmatter"), _matter),
    "newcounter": _new_counter, "nomenclature": _nomenclature,
}  # fmt: skip


class Walker(DisplayWalk):
    """A walk over an expanded source that knows LaTeX's commands."""

    def __init__(self, expanded: Expanded) -> None:
        super().__init__(expanded, COMMANDS)
