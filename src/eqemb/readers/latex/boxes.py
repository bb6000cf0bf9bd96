r"""Actions of packages that define framed and repeated statements: tcolorbox, mdframed, thmtools.

A box may itself be a display (`ams equation`), or count a statement with equations.
"""

import re

from eqemb.formula.latex_pieces import join_latex
from eqemb.readers.latex.frames import Action
from eqemb.readers.latex.gullet import Gullet
from eqemb.readers.latex.macros import MANDATORY, Slot, make, newcommand_slots, xparse_slots

_AMS_DISPLAY = re.compile(r"(?:^|,)\s*ams (equation|align|gather)(\*?)\s*(?=$|,)")
_BOX_TITLE = re.compile(r"(?:^|,)\s*title\s*=\s*(\{(?:[^{}]|\{[^{}]*\})*\}|[^,{}]*)")
_STATEMENT_LABEL = re.compile(r"\\label\s*\{[^{}]*\}")
_BOX_COUNTER = re.compile(r"use counter\s*+=\s*+(?:\{\s*+)?(\w+)")


def _begin_box(gullet: Gullet, _: str) -> None:
    r"""\tcbbegin{options}: its title is text, its content may be a display."""
    options = gullet.expand_string(gullet.argument())
    display, title = _AMS_DISPLAY.search(options), _BOX_TITLE.search(options)
    name = display[1] + display[2] if display else ""
    gullet.boxes.append(name)
    gullet.write(f"{title[1]}\\par " if title else " ")
    gullet.write(f"\\begin{{{name}}}" if name else "")


def _end_box(gullet: Gullet, _: str) -> None:
    name = gullet.boxes.pop() if gullet.boxes else ""
    gullet.write(f"\\end{{{name}}}" if name else " ")


def _box(gullet: Gullet, token: str) -> None:
    r"""\newtcolorbox[init]{name}[count][default]{options}, \newmdenv[options]{name}."""
    steps = _steps(gullet.optional())
    name = gullet.argument().strip()
    options, slots = "", newcommand_slots(0, None)
    if token.endswith("TColorBox"):
        slots = xparse_slots(gullet.argument())
        options = gullet.argument()
    elif token != r"\newmdenv":
        count = (gullet.optional() or "").strip()
        default = gullet.optional() if count else None
        slots = newcommand_slots(int(count) if count in set("123456789") else 0, default)
        options = gullet.argument()
    begin = make(name, slots, rf"{steps}\tcbbegin{{{options}}}")
    gullet.environments[name] = (begin, make(name, slots, r"\tcbend "))


def _box_theorem(gullet: Gullet, _: str) -> None:
    r"""\newtcbtheorem[init]{name}{title}{options}{prefix}; \begin{name}[options]{title}{label}."""
    steps = _steps(gullet.optional())
    name = gullet.argument().strip()
    gullet.arguments((MANDATORY,) * 3)
    slots = (Slot("o", default=""), MANDATORY, MANDATORY)
    for star in ("", "*"):
        begin = make(name + star, slots, rf"{'' if star else steps}\par #2\par ")
        gullet.environments[name + star] = (begin, make(name + star, slots, r"\par "))


def _keep_statement(gullet: Gullet, _: str) -> None:
    r"""\begin{restatable}{theorem}{name}: \name* prints the statement again, with its numbers."""
    name, environment = gullet.argument().strip(), gullet.argument()
    gullet.write(rf"\keepcounters{{{name}}}")
    # the frame below this definition is the text in which the environment was opened
    frame = gullet.frames[-2] if len(gullet.frames) > 1 else gullet.frames[-1]
    end = frame.text.find(r"\end{restatable", frame.pos)
    statement = frame.text[frame.pos : max(frame.pos, end)]
    if not gullet.charge(len(statement), name):
        return
    body = join_latex(_STATEMENT_LABEL.split(statement)).replace("#", "##")
    again = rf"\begin{{{environment}}}{body}\end{{{environment}}}"
    again = rf"\restorecounters{{{name}}}{again}\resumecounters{{{name}}}"
    macro = make("\\" + name, (Slot("s"),), again)
    gullet.define(macro.name, macro, everywhere=True)


def _steps(options: str | None) -> str:
    """What counts a box that shares its counter with others."""
    counter = _BOX_COUNTER.search(options or "")
    return rf"\refstepcounter{{{counter[1]}}}" if counter else ""


def _framed_theorem(gullet: Gullet, _: str) -> None:
    r"""\newmdtheoremenv[options]{name}[counter]{Title}[within]."""
    gullet.optional()
    gullet.push(r"\newtheorem")


BOXES: dict[str, Action] = {
    r"\tcbbegin": _begin_box,
    r"\tcbend": _end_box,
    r"\keepstatement": _keep_statement,
    **dict.fromkeys(
        (r"\newtcolorbox", r"\renewtcolorbox", r"\NewTColorBox", r"\DeclareTColorBox",
         r"\RenewTColorBox", r"\ProvideTColorBox", r"\newmdenv"),
        _box,
    ),
    **dict.fromkeys((r"\newtcbtheorem", r"\renewtcbtheorem"), _box_theorem),
    **dict.fromkeys((r"\newmdtheoremenv", r"\newframedtheorem", r"\newshadedtheorem"),
                    _framed_theorem),
}  # fmt: skip
