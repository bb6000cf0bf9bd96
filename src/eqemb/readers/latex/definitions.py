r"""Actions of commands that define others: \newcommand, \def, \let, \newenvironment and similar."""

import re

from eqemb.readers.latex.commands import (
    DISPLAYS,
    HEADINGS,
    KNOWN,
    MUTED,
    STRUCTURAL,
    UNTOUCHABLE,
    VERBATIM,
)
from eqemb.readers.latex.frames import CONTROL_SEQUENCE_AT, Action, Runaway
from eqemb.readers.latex.gullet import PRINTED_FORM, Gullet
from eqemb.readers.latex.macros import (
    MANDATORY,
    Macro,
    Slot,
    alias,
    def_slots,
    make,
    newcommand_slots,
    xargs_slots,
    xparse_slots,
)

#: Style files program pages, files and boxes with these: not notation, so not expanded.
_PROGRAM = re.compile(
    r"\\(?:@esphack|@bsphack|immediate|write|csname|expandafter|setbox|hb@xt@|vskip|vspace|vbox"
    r"|advance|futurelet|@for|@tempa|@tempb|clearpage|newpage|if@|protected@|@gobble|@secondoftwo"
    r"|@firstoftwo|refstepcounter|addcontentsline|hsize|parbox|setlength|typeout|PackageError"
    r"|@latex|@mkboth|@startsection|@starttoc|thispagestyle|par|noindent|hrule|vrule)(?![A-Za-z])"
)
#: What authors add to headings: \\renewcommand\\section{\\setcounter{equation}{0}\\oldsection}.
_RESTART = re.compile(r"\\setcounter\s*\{equation\}\s*\{\d+\}")
#: Handled by us, but also likely to be an author's own command.
_NOT_OURS = frozenset((r"\xspace", r"\or", r"\path", r"\Verb", r"\advance", r"\number"))
#: An author's eqn may be anything; without a definition, it is a display.
_PROTECTED_ENVIRONMENTS = (
    (DISPLAYS - {"eqn"}) | VERBATIM | MUTED | {"document", "subequations", "abstract"}
)


def is_defined(gullet: Gullet, token: str) -> bool:
    """Whether a control sequence has a meaning: the author's, ours or LaTeX's."""
    return token in gullet.actions or token[1:] in KNOWN or not token[1:2].isalpha()


def _is_ours(gullet: Gullet, name: str) -> bool:
    """Whether the reader knows `name`, so that redefining it only changes its appearance."""
    return name[1:] in STRUCTURAL or (name in gullet.builtins and name not in _NOT_OURS)


def _set(
    gullet: Gullet, name: str, macro: Macro, *, everywhere: bool = False, new: bool = False
) -> None:
    r"""Define `name`, unless the reader knows its meaning.

    `new`: defined by \newcommand, which LaTeX rejects for existing names, so it is the author's.
    """
    if (gullet.is_form(name) or name == r"\appendix") and gullet.in_known_class():
        return
    if gullet.is_form(name):
        gullet.define(PRINTED_FORM + name, macro, everywhere=everywhere)
    elif name == r"\appendix":
        gullet.define(name, _counters_only(macro.body), everywhere=everywhere)
    elif name[1:] in HEADINGS and not gullet.frames[-1].package:
        gullet.heading_hook(name, "".join(_RESTART.findall(macro.body)))
    elif name[1:] in UNTOUCHABLE or (not new and _is_ours(gullet, name)):
        return
    elif gullet.frames[-1].package and (
        name[1:] in KNOWN or not name[1:2].isalpha() or _PROGRAM.search(macro.body)
    ):  # a style's \\[ is a display all the same
        gullet.style_names.add(name[1:])
    else:
        gullet.define(name, macro, everywhere=everywhere)


def _counters_only(body: str) -> Action:
    r"""Commands for counters in an author's \appendix: its effect on numbers."""

    def action(gullet: Gullet, _: str) -> None:
        gullet.write("\n\n")
        gullet.push(body, package=True)

    return action


def _newcommand(gullet: Gullet, token: str) -> None:
    gullet.accept("*")
    name = gullet.control_name()
    count = gullet.optional()
    default = gullet.optional() if count is not None else None
    body = gullet.argument()
    if token == r"\providecommand" and is_defined(gullet, name):
        return
    if token.endswith("x"):
        slots = xargs_slots(_number(count), default or "")
    else:
        slots = newcommand_slots(_number(count), default)
    _set(gullet, name, make(name, slots, body), new=token == r"\newcommand")


def _number(text: str | None) -> int:
    return int(text.strip()) if text is not None and text.strip() in set("123456789") else 0


def _def(gullet: Gullet, token: str) -> None:
    frame = gullet.skip_space()
    match = CONTROL_SEQUENCE_AT.match(frame.text, frame.pos)
    if match is None:
        return
    frame.pos = match.end()
    parameters = _parameter_text(gullet)
    body = gullet.argument()
    if token in (r"\edef", r"\xdef"):
        body = gullet.expand_string(body)
    macro = make(match[0], def_slots(parameters.strip()), body)
    _set(gullet, match[0], macro, everywhere=token in (r"\gdef", r"\xdef"))


def _parameter_text(gullet: Gullet) -> str:
    r"""The text between the name and the body; \expandafter leaves it in an outer frame."""
    text = ""
    while True:
        frame = gullet.frames[-1]
        opening = frame.text.find("{", frame.pos, frame.pos + 200)
        if opening >= 0:
            text += frame.text[frame.pos : opening]
            frame.pos = opening
            return text
        if frame.file >= 0 or len(gullet.frames) == 1:
            raise Runaway
        text += frame.text[frame.pos :]
        gullet.pop()


def _let(gullet: Gullet, _: str) -> None:
    name = gullet.control_name()
    gullet.accept("=")
    target = gullet.argument()
    if name == r"\c@equation" or target == r"\c@equation":
        gullet.declare(rf"\sharecounter{{{name[3:]}}}{{{target[3:]}}}")
        return
    if gullet.is_form(target) or target in gullet.form_copies:
        gullet.copy_form(name, target)
        return
    meaning = gullet.actions.get(target)
    if name[1:] in STRUCTURAL or name in gullet.builtins:
        return
    if isinstance(meaning, Macro):
        copied = make(name, meaning.slots, meaning.body)
        copied.builtin = meaning.builtin
        gullet.define(name, copied)
    elif is_defined(gullet, target) and target != name:
        gullet.define(name, alias(name, target))


def _math_operator(gullet: Gullet, _: str) -> None:
    star = "*" if gullet.accept("*") else ""
    name = gullet.control_name()
    body = gullet.argument()
    gullet.define(name, make(name, (), rf"\operatorname{star}{{{body}}}"))


def _paired_delimiter(gullet: Gullet, token: str) -> None:
    r"""\norm{x}, \norm*{x} with \left \right, \norm[\big]{x} with a size."""
    name = gullet.control_name()
    count = _number(gullet.optional()) if token != r"\DeclarePairedDelimiter" else 1
    before = after = ""
    if token.endswith("XPP"):
        before, left, right, after, body = (gullet.argument() for _ in range(5))
    else:
        left, right = gullet.argument(), gullet.argument()
        body = gullet.argument() if token.endswith("X") else "#1"
    before, after, body = (
        re.sub(r"#(\d)", lambda match: f"#{int(match[1]) + 2}", text)
        for text in (before, after, body)
    )
    # a group keeps definitions in the body (\given) local
    growing = rf"{before}\left{left} {body}\right{right} {after}".replace(r"\delimsize", r"\middle")
    sized = rf"{before}#2{left} {body}#2{right} {after}".replace(r"\delimsize", "#2")
    body = rf"\IfBooleanTF{{#1}}{{{growing}}}{{{sized}}}"
    if "\\def" in body or "command" in body:
        body = rf"\begingroup {body}\endgroup "
    slots = (Slot("s"), Slot("o", default=""), *(MANDATORY,) * count)
    gullet.define(name, make(name, slots, body))


def _document_command(gullet: Gullet, token: str) -> None:
    name = gullet.control_name()
    slots = xparse_slots(gullet.argument())
    body = gullet.argument()
    if token.startswith(r"\Provide") and is_defined(gullet, name):
        return
    _set(gullet, name, make(name, slots, body))


def _environment(gullet: Gullet, token: str) -> None:
    gullet.accept("*")
    name = gullet.argument().strip()
    if "Document" in token:
        slots = xparse_slots(gullet.argument())
        slots = tuple(Slot("b", name) if slot.kind == "b" else slot for slot in slots)
    else:
        count = gullet.optional()
        slots = newcommand_slots(_number(count), gullet.optional() if count else None)
    begin, end = gullet.argument(), gullet.argument()
    _set_environment(gullet, name, make(name, slots, begin), end)


def _set_environment(gullet: Gullet, name: str, begin: Macro, end: str) -> None:
    if name in _PROTECTED_ENVIRONMENTS:
        return
    if gullet.frames[-1].package and (name in KNOWN or _PROGRAM.search(begin.body + end)):
        return
    if re.search(r"\\(?:comment|verbatim|lstlisting)\b", begin.body):
        gullet.verbatim.add(name)
    gullet.environments[name] = (begin, make(name, begin.slots, end))


def _new_environ(gullet: Gullet, _: str) -> None:
    r"""\NewEnviron{name}[n][default]{code with \BODY}[final]."""
    name = gullet.argument().strip()
    count = gullet.optional()
    slots = newcommand_slots(_number(count), gullet.optional() if count else None)
    body = gullet.argument()
    final = gullet.optional() or ""
    with_body = body.replace(r"\BODY", f"#{len(slots) + 1}")
    begin = make(name, (*slots, Slot("b", name)), with_body)
    _set_environment(gullet, name, begin, final)


def _verbatim_environment(gullet: Gullet, token: str) -> None:
    r"""\excludecomment{x}, \lstnewenvironment{x}: the content is not LaTeX."""
    name = gullet.argument().strip()
    if token in (r"\includecomment", r"\includeversion", r"\specialcomment"):
        gullet.verbatim.discard(name)
        special = token == r"\specialcomment"  # has code for its begin and end
        begin, end = (gullet.argument(), gullet.argument()) if special else ("", "")
        gullet.environments[name] = (make(name, (), begin), make(name, (), end))
        return
    gullet.verbatim.add(name)
    if token == r"\lstnewenvironment":
        while gullet.optional() is not None:
            pass
        gullet.argument(), gullet.argument()


def _for_each(gullet: Gullet, token: str) -> None:
    r"""\foreach \x in {a,b,...,z}{body}: authors define alphabets this way."""
    if gullet.in_body:
        gullet.write(token)
        return
    variable = gullet.argument()
    if gullet.accept("in"):
        _repeat(gullet, variable, _items(gullet.argument()), gullet.argument())


def _for(gullet: Gullet, token: str) -> None:
    r"""\@for\x:=a,b\do{body}, and \@tfor over tokens."""
    variable = gullet.argument_token()
    if gullet.in_body or not (gullet.accept(":=") or gullet.accept(":")):
        return
    gullet.accept("=")
    given = gullet.expand_string(gullet.until(r"\do"))
    items = given.split(",") if token == r"\@for" else [c for c in given if not c.isspace()]
    _repeat(gullet, variable, [item.strip() for item in items], gullet.argument())


def _repeat(gullet: Gullet, variable: str, items: list[str], body: str) -> None:
    """Read a body once for each item."""
    pattern = re.compile(re.escape(variable) + r"(?![A-Za-z])\s?")
    items, uses = items[:200], body.count(variable)
    size = sum(len(body) + uses * len(item) for item in items)
    if gullet.afford(len(items), variable) and gullet.charge(size, variable):
        gullet.push("".join(pattern.sub(item.replace("\\", r"\\"), body) for item in items))


def _csv_list(gullet: Gullet, token: str) -> None:
    r"""\forcsvlist{\command}{a,b}; \docsvlist{a,b} calls \do (etoolbox)."""
    command = r"\do" if token == r"\docsvlist" else gullet.argument()
    items = gullet.argument().split(",")[:200]
    if gullet.charge(len(items) * len(command), command):
        gullet.push("".join(f"{command}{{{item.strip()}}}" for item in items))


def _items(text: str) -> list[str]:
    r"""The list of a \foreach, with "A,...,Z" written out."""
    items = [item.strip() for item in text.split(",")]
    if "..." in items and (at := items.index("...")) > 0 and at + 1 < len(items):
        first, last = items[at - 1], items[at + 1]
        if len(first) == len(last) == 1 and first < last and ord(last) - ord(first) < 100:
            middle = [chr(code) for code in range(ord(first) + 1, ord(last))]
            return items[:at] + middle + items[at + 1 :]
        if first.isdecimal() and last.isdecimal() and int(last) - int(first) < 100:
            middle = [str(number) for number in range(int(first) + 1, int(last))]
            return items[:at] + middle + items[at + 1 :]
    return items


def mangle(name: str) -> str:
    r"""A control sequence for any name that \csname can form."""
    letters = (c if c.isascii() and (c.isalpha() or c == "@") else _private(c) for c in name)
    return "\\" + "".join(letters)


def _private(character: str) -> str:
    return chr(0xE000 + ord(character) % 0x1800)


def _csname(gullet: Gullet, _: str) -> None:
    gullet.push(csname(gullet) + " ")


def csname(gullet: Gullet) -> str:
    r"""Read up to \endcsname, and return the control sequence of that name."""
    return mangle(gullet.expand_string(gullet.until(r"\endcsname")).strip())


def _named_definition(gullet: Gullet, token: str) -> None:
    r"""\@namedef{name}{body} and etoolbox's \csdef."""
    name = mangle(gullet.expand_string(gullet.argument()).strip())
    parameters = _parameter_text(gullet)
    body = gullet.argument()
    _set(gullet, name, make(name, def_slots(parameters), body), everywhere=token == r"\csgdef")


def _use_name(gullet: Gullet, _: str) -> None:
    r"""\@nameuse{name} and etoolbox's \csuse."""
    gullet.push(mangle(gullet.expand_string(gullet.argument()).strip()) + " ")


def _expandafter(gullet: Gullet, _: str) -> None:
    """Expand the token after the next one first."""
    first = gullet.argument_token()
    while first == r"\expandafter":
        first = gullet.argument_token()
    second = gullet.argument_token()
    if second == r"\csname":
        second = csname(gullet) + " "
        gullet.push(first + " " + second if first[-1:].isalpha() else first + second)
        return
    meaning = gullet.actions.get(second)
    if isinstance(meaning, Macro) and not meaning.builtin:
        gullet.call(meaning, gullet.frames[-1].pos)
    elif meaning is not None and second in (r"\fi", r"\else"):
        meaning(gullet, second)  # type: ignore[operator]
    else:
        gullet.push(second)
    gullet.push(first + (" " if first[-1:].isalpha() else ""))


def _add_to_command(gullet: Gullet, token: str) -> None:
    r"""\pretocmd{\name}{code}{}{} and \apptocmd, \preto and \appto (etoolbox)."""
    name, code = gullet.control_name(), gullet.argument()
    if token.endswith("cmd"):
        gullet.arguments((MANDATORY, MANDATORY))
    macro = gullet.actions.get(name)
    if name[1:] in HEADINGS:
        gullet.heading_hook(name, "".join(_RESTART.findall(code)))
    elif isinstance(macro, Macro):
        body = code + macro.body if "pre" in token else macro.body + code
        if gullet.charge(len(body), name):
            gullet.define(name, make(name, macro.slots, body))


def _add_to_environment(gullet: Gullet, token: str) -> None:
    r"""\AtBeginEnvironment{name}{code} and similar (etoolbox)."""
    where = "begin" if "Begin" in token else "end"
    key = f"{where} {gullet.argument().strip()}"
    gullet.add_hook(key, gullet.argument())


def _patch(gullet: Gullet, _: str) -> None:
    r"""\patchcmd{\name}{search}{replacement}{}{}."""
    name, old, new = gullet.control_name(), gullet.argument(), gullet.argument()
    gullet.arguments((MANDATORY, MANDATORY))
    macro = gullet.actions.get(name)
    if isinstance(macro, Macro) and not macro.builtin and gullet.charge(len(macro.body), name):
        gullet.define(name, make(name, macro.slots, macro.body.replace(old, new, 1)))


def _skip_prefix(_gullet: Gullet, _token: str) -> None:
    r"""\long, \global, \protected: handle the definition that follows."""


def _global(gullet: Gullet, _: str) -> None:
    frame = gullet.skip_space()
    for local, everywhere in ((r"\def", r"\gdef"), (r"\edef", r"\xdef")):
        if re.compile(re.escape(local) + r"(?![A-Za-z])").match(frame.text, frame.pos):
            frame.pos += len(local)
            _def(gullet, everywhere)
            return


DEFINITIONS: dict[str, Action] = {
    **dict.fromkeys(
        (
            r"\newcommand", r"\renewcommand", r"\providecommand", r"\DeclareRobustCommand",
            r"\newrobustcmd", r"\renewrobustcmd", r"\providerobustcmd", r"\DeclareTextFontCommand",
            r"\declarecommand", r"\newcommandx", r"\renewcommandx", r"\providecommandx",
        ),
        _newcommand,
    ),
    **dict.fromkeys((r"\def", r"\gdef", r"\edef", r"\xdef"), _def),
    **dict.fromkeys((r"\long", r"\protected", r"\outer"), _skip_prefix),
    r"\global": _global,
    r"\let": _let,
    **dict.fromkeys(
        (r"\DeclareMathOperator", r"\DeclareMathOperators", r"\newmathop"), _math_operator
    ),
    **dict.fromkeys(
        (r"\DeclarePairedDelimiter", r"\DeclarePairedDelimiterX", r"\DeclarePairedDelimiterXPP"),
        _paired_delimiter,
    ),
    **dict.fromkeys(
        (
            r"\NewDocumentCommand", r"\RenewDocumentCommand", r"\DeclareDocumentCommand",
            r"\ProvideDocumentCommand", r"\NewExpandableDocumentCommand",
        ),
        _document_command,
    ),
    **dict.fromkeys(
        (
            r"\newenvironment", r"\renewenvironment", r"\provideenvironment",
            r"\NewDocumentEnvironment", r"\RenewDocumentEnvironment",
            r"\DeclareDocumentEnvironment", r"\ProvideDocumentEnvironment",
        ),
        _environment,
    ),
    **dict.fromkeys((r"\NewEnviron", r"\RenewEnviron"), _new_environ),
    **dict.fromkeys(
        (
            r"\excludecomment", r"\includecomment", r"\lstnewenvironment",
            r"\DefineVerbatimEnvironment", r"\specialcomment", r"\excludeversion",
            r"\includeversion",
        ),
        _verbatim_environment,
    ),
    r"\foreach": _for_each,
    **dict.fromkeys((r"\@for", r"\@tfor"), _for),
    **dict.fromkeys((r"\forcsvlist", r"\docsvlist"), _csv_list),
    **dict.fromkeys((r"\@namedef", r"\csdef", r"\csgdef"), _named_definition),
    **dict.fromkeys((r"\@nameuse", r"\csuse"), _use_name),
    **dict.fromkeys(
        (r"\pretocmd", r"\apptocmd", r"\xpretocmd", r"\xapptocmd", r"\preto", r"\appto"),
        _add_to_command,
    ),
    **dict.fromkeys((r"\patchcmd", r"\xpatchcmd"), _patch),
    **dict.fromkeys(
        (
            r"\AtBeginEnvironment", r"\AtEndEnvironment", r"\BeforeBeginEnvironment",
            r"\AfterEndEnvironment",
        ),
        _add_to_environment,
    ),
    r"\csname": _csname,
    r"\expandafter": _expandafter,
}  # fmt: skip
