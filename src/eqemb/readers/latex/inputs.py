r"""Actions of commands that include or skip text: \input, packages, \begin, \verb."""

import posixpath
import re

from eqemb.readers.latex.budget import INPUT_BUDGET
from eqemb.readers.latex.classes import is_known_class, is_standard_class
from eqemb.readers.latex.commands import DISPLAYS, DRAWINGS, STANDARD_PACKAGES, VERBATIM
from eqemb.readers.latex.definitions import mangle
from eqemb.readers.latex.frames import (
    CONTROL_SEQUENCE,
    CONTROL_SEQUENCE_AT,
    Action,
    Frame,
    Stop,
)
from eqemb.readers.latex.gullet import Gullet
from eqemb.readers.latex.macros import MANDATORY, Macro
from eqemb.readers.latex.packages import DEFINED_BY_PACKAGES

_INPUT_SUFFIXES = ("", ".tex", ".ltx", ".TEX")
#: Inputs that are drawings or bibliographies: if one is missing, no text is missing.
_DRAWING = re.compile(
    r"\.(?:tikz|pgf|pdf_tex|eps_tex|pstex_t|pdf_t|pspdftex|bbl|dot|svg)$|tikz",
    re.IGNORECASE,
)
_INNER = {"align": "aligned", "gather": "gathered", "alignat": "alignedat"}
_LONGEST_URL = 4_000
_BARE_NAME = re.compile(r"[ \t]*([^\s{}\\%]+)")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_BEGIN_DOCUMENT = re.compile(r"\\begin\s*\{document\}")
_INLINE_VERBATIM = re.compile(r"\*?([^A-Za-z*\s])")
#: Characters with a meaning that the reader relies on, and their category codes.
_SPECIAL = {"\\": "0", "{": "1", "}": "2", "$": "3", "&": "4", "#": "6", "^": "7", "_": "8",
            "%": "14"}  # fmt: skip
_CATCODE = re.compile(r"\s*`?\\?(.)\s*=?\s*(\\active|\d+)?")


# ---------------------------------------------------------------- files


def open_file(gullet: Gullet, path: str, *, package: bool = False) -> bool:
    """Read a file next; whether it was opened."""
    if any(f.file >= 0 and gullet.file_names[f.file] == path for f in gullet.frames):
        gullet.problem("recursive input", detail=path)
        return False
    budget, text = gullet.budget, gullet.files.text(path)
    too_many = len(gullet.file_names) >= budget.inputs
    if too_many or len(gullet.folders) >= budget.nested_inputs:
        gullet.exhaust(INPUT_BUDGET, path)
        return False
    if path not in gullet.work.files:
        gullet.reach.extend(2 * len(text))
    if not gullet.work.open(path, len(text)):
        gullet.exhaust(INPUT_BUDGET, path)
        return False
    gullet.file_names.append(path)
    gullet.folders.append(posixpath.dirname(path))
    package = package or (bool(gullet.frames) and gullet.frames[-1].package)
    if not package:
        gullet.text_files.append(path)
    frame = Frame(text, file=len(gullet.file_names) - 1, package=package)
    gullet.frames.append(frame)
    return True


def _find(gullet: Gullet, name: str, suffixes: tuple[str, ...] = _INPUT_SUFFIXES) -> str | None:
    folders = list(dict.fromkeys(["", *reversed(gullet.folders)]))
    return gullet.files.find(name, folders, suffixes)


def _input(gullet: Gullet, token: str) -> None:
    frame = gullet.frames[-1]
    if token in (r"\input", r"\@input", r"\@@input") and gullet.peek() != "{":
        match = _BARE_NAME.match(frame.text, gullet.frames[-1].pos)
        if match is None or frame is not gullet.frames[-1]:
            return
        frame.pos = match.end()
        name = match[1]
    else:
        name = gullet.argument()
    if "\\" in name:
        name = gullet.expand_string(name)
    _read(gullet, name)


def _read(gullet: Gullet, name: str, folder: str = "") -> None:
    path = _find(gullet, posixpath.join(folder, name.strip()))
    if path is None:
        if not gullet.frames[-1].package:
            name = name.strip()
            detail = f"{name} (outside the paper's folder)" if _leads_out(gullet, name) else name
            drawing = _DRAWING.search(name)
            gullet.problem("missing figure" if drawing else "missing input", detail)
        return
    open_file(gullet, path)


def _leads_out(gullet: Gullet, name: str) -> bool:
    """Whether a name leads out of the paper's folder from each folder that it is looked up in."""
    if name.startswith(("/", "~")) or _DRIVE.match(name):
        return True
    places = (posixpath.normpath(posixpath.join(folder, name)) for folder in ("", *gullet.folders))
    return all(place.split("/", 1)[0] == ".." for place in places)


def _import(gullet: Gullet, _: str) -> None:
    gullet.accept("*")
    folder, name = gullet.expand_string(gullet.argument()), gullet.expand_string(gullet.argument())
    _read(gullet, name, folder.strip())


def _if_file_exists(gullet: Gullet, token: str) -> None:
    name = gullet.expand_string(gullet.argument())
    then, otherwise = gullet.argument(), gullet.argument()
    path = _find(gullet, name)
    gullet.push(otherwise if path is None else then)
    if path is not None and token == r"\InputIfFileExists":
        open_file(gullet, path)


def _package(gullet: Gullet, _: str) -> None:
    given = gullet.optional() or ""
    names = gullet.argument()
    gullet.optional()
    for name in map(str.strip, reversed(names.split(","))):
        options = given
        if name in ("classicthesis", "optional"):
            options = f"{gullet.hooks.get('options ' + name, '')},{given}"
        gullet.packages.add(name)
        if name == "classicthesis" and "floatperchapter" not in options:
            gullet.declare(r"\counterwithout{equation}{chapter}")
        if name == "optional":
            gullet.push(rf"\useversions{{{options}}}\let\opt\inversions ")
        if name == "autonum":
            gullet.declare(r"\mathtoolsset{showonlyrefs,autonum}")
        if name in DEFINED_BY_PACKAGES:
            gullet.push(DEFINED_BY_PACKAGES[name])
        path = _find(gullet, name, (".sty",))
        if path is not None and name not in STANDARD_PACKAGES:
            open_file(gullet, path, package=True)


def _pass_options(gullet: Gullet, _: str) -> None:
    options, name = gullet.argument(), gullet.argument().strip()
    gullet.add_hook("options " + name, "," + options)


def _class(gullet: Gullet, token: str) -> None:
    frame = gullet.frames[-1]
    options = gullet.optional() or ""
    name = gullet.argument().strip()
    in_style = any(one.package for one in gullet.frames)
    if in_style and token in (r"\documentclass", r"\documentstyle"):
        return  # a class that speaks of it in a message
    if token in (r"\LoadClass", r"\LoadClassWithOptions"):
        gullet.document_class += " " + name
        gullet.classes.add(name)
        path = _find(gullet, name, (".cls",))
    elif gullet.in_body:
        _nested_preamble(gullet, frame)
        return
    elif name == "subfiles":
        _parent_preamble(gullet, options)
        return
    else:
        gullet.document_class = name
        gullet.classes = set(name.split())
        gullet.packages.update(part.strip() for part in options.split(","))
        path = _find(gullet, name, (".cls",))
        if "," in options and token == r"\documentstyle":
            gullet.packages.update(options.split(","))
        if path is None and not is_known_class(name):
            gullet.problem("class unknown", name)
    if path is not None and open_file(gullet, path, package=True):
        gullet.frames[-1].known_class = is_standard_class(name)


def _nested_preamble(gullet: Gullet, frame: Frame) -> None:
    """An input file that is a complete document: only the definitions of its preamble are read."""
    match = None
    if "document" not in frame.unclosed:  # otherwise there is none later either
        match = _BEGIN_DOCUMENT.search(frame.text, frame.pos)
    if match is None:
        frame.unclosed.add("document")
    else:
        preamble = frame.text[frame.pos : match.start()]
        frame.pos = match.end()
        gullet.frames.append(Frame(preamble, call=(frame.file, 0, 0), package=True))


def _parent_preamble(gullet: Gullet, parent: str) -> None:
    r"""\documentclass[main.tex]{subfiles}: the preamble is that of the main file."""
    path = _find(gullet, parent)
    if path is None:
        gullet.problem("missing input", detail=parent)
        return
    text = gullet.files.text(path)
    match = _BEGIN_DOCUMENT.search(text)
    if open_file(gullet, path):
        gullet.frames[-1].text = text[: match.start()] if match else ""
        gullet.frames[-1].end = len(gullet.frames[-1].text)


def _end_input(gullet: Gullet, _: str) -> None:
    while gullet.frames[-1].file < 0 and len(gullet.frames) > 1:
        gullet.pop()
    gullet.frames[-1].pos = gullet.frames[-1].end = len(gullet.frames[-1].text)


# ---------------------------------------------------------------- environments


def _name(gullet: Gullet) -> str:
    r"""The name of an environment: \begin{\name} has it in a macro."""
    name = gullet.environment_name()
    return gullet.expand_string(name).strip() if "\\" in name else name


def _run_hook(gullet: Gullet, where: str, name: str) -> None:
    r"""What \AtBeginEnvironment and similar add, as far as it concerns counters."""
    hook = gullet.hooks.get(f"{where} {name}")
    if hook and gullet.in_body:
        gullet.push(hook, package=True)


def _begin(gullet: Gullet, token: str) -> None:
    start = gullet.frames[-1].pos - len(token)
    name = _name(gullet)
    if name == "document":
        _begin_document(gullet)
    elif name in VERBATIM or name in gullet.verbatim:
        _skip_verbatim(gullet, name)
    elif name in gullet.environments:
        gullet.open_scope(name)
        _call_half(gullet, gullet.environments[name][0])
    elif name in DRAWINGS and name not in gullet.theorems:
        _skip_verbatim(gullet, name)
    elif _is_command_pair(gullet, name):
        gullet.open_scope(name)
        gullet.push("\\" + name + " ")
    else:
        if name not in DISPLAYS:
            gullet.open_scope(name)
        gullet.write(f"\\begin{{{name}}}", start)
    _run_hook(gullet, "begin", name)


def _is_command_pair(gullet: Gullet, name: str) -> bool:
    return isinstance(gullet.actions.get("\\" + name), Macro) and (
        isinstance(gullet.actions.get("\\end" + name), Macro)
    )


def _call_half(gullet: Gullet, half: Macro) -> None:
    start = gullet.frames[-1].pos
    frame = gullet.frames[-1]
    arguments = gullet.arguments(half.slots)
    call = (frame.file, start, frame.pos) if frame.file >= 0 else frame.call
    gullet.env_arguments.setdefault(half.name, []).append(arguments)
    if (body := gullet.filled(half, arguments)) is not None:
        gullet.push(body, call=call, macro=half.name)


def _end(gullet: Gullet, token: str) -> None:
    start = gullet.frames[-1].pos - len(token)
    name = _name(gullet)
    if name == "document":
        _end_document(gullet)
    elif name in gullet.environments:
        end = gullet.environments[name][1]
        stack = gullet.env_arguments.get(name) or [[]]
        body = gullet.filled(end, stack.pop()) or ""
        gullet.push(body + rf"\endscope{{{name}}}", macro=name)
    elif _is_command_pair(gullet, name):
        gullet.push(rf"\end{name}\endscope{{{name}}}")
    else:
        gullet.write(f"\\end{{{name}}}", start)
        gullet.close_scope(name)
    _run_hook(gullet, "end", name)


def _end_scope(gullet: Gullet, _: str) -> None:
    gullet.close_scope(gullet.argument())


def _begin_document(gullet: Gullet) -> None:
    if gullet.in_body:
        return  # an input file that is a complete document
    while gullet.frames[-1].file < 0 and len(gullet.frames) > 1:
        gullet.pop()
    gullet.in_body = True
    gullet.conditionals.clear()
    gullet.write("\n\n")
    gullet.body_start = gullet.length


def _end_document(gullet: Gullet) -> None:
    """The end of the paper, or of an input file that is a complete document."""
    outer = sum(frame.file >= 0 for frame in gullet.frames) > 1
    frame = next(frame for frame in reversed(gullet.frames) if frame.file >= 0)
    if outer and "\\begin" in frame.text and _BEGIN_DOCUMENT.search(frame.text):
        _end_input(gullet, "")
        return
    raise Stop


def _skip_verbatim(gullet: Gullet, name: str) -> None:
    frame = gullet.frames[-1]
    closing = re.compile(r"\\end\s*\{" + re.escape(name) + r"\}")
    match = None if name in frame.unclosed else closing.search(frame.text, frame.pos)
    if match is None:
        if name not in frame.unclosed:  # it is not closed later either
            gullet.problem("unclosed environment", detail=name)
            frame.unclosed.add(name)
        return
    inside = frame.text.count("\\begin{" + name + "}", frame.pos, match.start())
    for _ in range(inside if name in DRAWINGS else 0):
        if (later := closing.search(frame.text, match.end())) is None:
            break
        match = later
    frame.pos = match.end()
    gullet.write(rf"\includegraphics{{{name}}}" if name in DRAWINGS else " ")


def _display_command(name: str, *, closing: bool) -> Action:
    r"""\equation ... \endequation, as in \def\be{\equation}."""
    command = "end" if closing else "begin"

    def action(gullet: Gullet, _: str) -> None:
        # AMS-TeX has \align ... \endalign within $$
        opened = gullet.display_commands
        if not closing:
            opened.append(_INNER.get(name, name) if gullet.in_math() else name)
        known = opened and opened[-1] in (name, _INNER.get(name))
        gullet.write(f"\\{command}{{{opened[-1] if known else name}}}")
        if closing and known:
            opened.pop()

    return action


# ---------------------------------------------------------------- pieces that are not LaTeX


def _comment(gullet: Gullet, _: str) -> None:
    gullet.skip_comment()


def _verb(gullet: Gullet, token: str) -> None:
    frame = gullet.frames[-1]
    if token != r"\verb":
        gullet.optional()
        if token == r"\mintinline":
            gullet.argument()
        if gullet.peek() == "{":
            gullet.argument()
            gullet.write(" ")
            return
    match = _INLINE_VERBATIM.match(frame.text, frame.pos)
    if match is None or frame is not gullet.frames[-1]:
        return
    line_end = frame.text.find("\n", match.end())
    close = frame.text.find(match[1], match.end(), line_end if line_end >= 0 else None)
    if close >= 0:
        frame.pos = close + 1
        gullet.write(" ")


def _url(gullet: Gullet, token: str) -> None:
    r"""\url{..%20..}: a percent sign in it does not start a comment."""
    frame = gullet.skip_space()
    text, depth = frame.text, 0
    if not text.startswith("{", frame.pos):
        _verb(gullet, r"\verb")
        return
    reach = min(_LONGEST_URL, gullet.reach.limit)
    for match in re.compile(r"[{}\n]").finditer(text, frame.pos, frame.pos + reach):
        if match[0] == "\n" and text.startswith("\n", match.end()):
            break
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0 and match[0] == "}":
            frame.pos = match.end()
            break
    else:
        gullet.waste(reach)
    if token != r"\href":
        gullet.write(" ")


def _catcode(gullet: Gullet, _: str) -> None:
    frame = gullet.frames[-1]
    match = _CATCODE.match(frame.text, frame.pos)
    if match is not None:
        frame.pos = match.end()
        if match[1] == "@" and match[2] in ("11", "12"):
            gullet.token = CONTROL_SEQUENCE_AT if match[2] == "11" else CONTROL_SEQUENCE
        elif not frame.package and match[1] in _SPECIAL and match[2] != _SPECIAL[match[1]]:
            gullet.problem("catcode change", match[1])


def _at_letter(gullet: Gullet, token: str) -> None:
    gullet.token = CONTROL_SEQUENCE_AT if token == r"\makeatletter" else CONTROL_SEQUENCE


def _expl(gullet: Gullet, _: str) -> None:
    frame = gullet.frames[-1]
    at = frame.text.find(r"\ExplSyntaxOff", frame.pos)
    if not frame.package:
        gullet.problem("expl3 code")
    frame.pos = at if at >= 0 else len(frame.text)


def _xspace(gullet: Gullet, _: str) -> None:
    for frame in reversed(gullet.frames):
        if frame.pos < len(frame.text):
            if frame.text[frame.pos] not in ".,:;!?)]}/-'~ \n":
                gullet.write(" ")
            return


def _drop(count: int) -> Action:
    """Skip a command and its arguments."""

    def action(gullet: Gullet, _: str) -> None:
        gullet.accept("*")
        gullet.optional()
        gullet.arguments((MANDATORY,) * count)

    return action


def _inline(gullet: Gullet, _: str) -> None:
    r"""\AtBeginDocument{..} and similar: read the argument here."""
    gullet.push(gullet.argument())


def _group(gullet: Gullet, token: str) -> None:
    if token in (r"\begingroup", r"\bgroup"):
        gullet.open_scope("{")
    else:
        gullet.close_scope("{")


def _nothing(_gullet: Gullet, _token: str) -> None:
    r"""\relax and similar: do nothing."""


def _noexpand(gullet: Gullet, _: str) -> None:
    gullet.write(gullet.argument_token())


def _roman(gullet: Gullet, _: str) -> None:
    gullet.write("\\rm ")


INPUTS: dict[str, Action] = {
    **dict.fromkeys((r"\input", r"\include", r"\@input", r"\@@input", r"\subfile",
                     r"\subfileinclude", r"\includestandalone"), _input),
    **dict.fromkeys((r"\import", r"\subimport", r"\includefrom", r"\inputfrom",
                     r"\subinputfrom", r"\subincludefrom"), _import),
    **dict.fromkeys((r"\IfFileExists", r"\InputIfFileExists"), _if_file_exists),
    **dict.fromkeys((r"\usepackage", r"\RequirePackage", r"\RequirePackageWithOptions"), _package),
    **dict.fromkeys((r"\documentclass", r"\documentstyle", r"\LoadClass",
                     r"\LoadClassWithOptions"), _class),
    r"\PassOptionsToPackage": _pass_options,
    r"\endinput": _end_input, r"\begin": _begin, r"\end": _end, r"\endscope": _end_scope,
    **dict.fromkeys((r"\enddocument", r"\bye"), lambda gullet, _: _end_document(gullet)),
    **{mangle(name): _display_command(name, closing=False)
       for name in DISPLAYS - {"eqn", "eqalign"}},
    **{mangle("end" + name): _display_command(name, closing=True) for name in DISPLAYS},
    "%": _comment,
    **dict.fromkeys((r"\verb", r"\lstinline", r"\mintinline", r"\Verb"), _verb),
    **dict.fromkeys((r"\url", r"\path", r"\href", r"\nolinkurl"), _url),
    r"\catcode": _catcode,
    **dict.fromkeys((r"\makeatletter", r"\makeatother"), _at_letter),
    r"\ExplSyntaxOn": _expl, r"\xspace": _xspace,
    **dict.fromkeys((r"\DeclareOption",), _drop(2)),
    **dict.fromkeys((r"\AtBeginDocument", r"\AtEndOfPackage", r"\AtEndOfClass"), _inline),
    **dict.fromkeys((r"\begingroup", r"\endgroup", r"\bgroup", r"\egroup"), _group),
    **dict.fromkeys((r"\relax", r"\protect", r"\leavevmode", r"\ignorespaces", r"\unskip",
                     r"\ignorespacesafterend", r"\nobreak"), _nothing),
    r"\noexpand": _noexpand, r"\operator@font": _roman,
}  # fmt: skip
