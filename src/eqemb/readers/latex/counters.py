r"""Actions of commands for counters: \newcounter, \setcounter, \numberwithin, \newtheorem.

Numbers are counted later, on the walk (numbering.py). Expansion passes the commands on, also from
style files, with their arguments expanded.
"""

import re

from eqemb.readers.latex.frames import Action
from eqemb.readers.latex.gullet import Gullet

_ASSIGNMENT = re.compile(r"\s*+(?:=\s*+)?(-?\d+|\\[A-Za-z@]+)\s?")


def _theorem(gullet: Gullet, _: str) -> None:
    r"""\newtheorem{name}[counter]{Title}[within]: kept for its counters."""
    star = gullet.accept("*")
    name = gullet.argument()
    shared = gullet.optional()
    gullet.argument()
    within = gullet.optional()
    gullet.theorems.add(name.strip())
    if not star:
        gullet.declare(rf"\newtheorem{{{name}}}[{shared or ''}][{within or ''}]")


def _declare_theorem(gullet: Gullet, _: str) -> None:
    r"""\declaretheorem[sibling=counter, numberwithin=counter]{name,name} of thmtools."""
    options = gullet.optional() or ""
    names = gullet.argument()
    options += "," + (gullet.optional() or "")
    if re.search(r"numbered\s*=\s*(?:no|false|unless)", options):
        return
    shared = re.search(r"(?:sibling|numberlike|sharenumber)\s*=\s*(\w+)", options)
    within = re.search(r"(?:parent|(?:number)?within)\s*=\s*(\w+)", options)
    for name in names.split(","):
        counters = f"[{shared[1] if shared else ''}][{within[1] if within else ''}]"
        gullet.declare(rf"\newtheorem{{{name.strip()}}}{counters}")


def _declaration(count: int) -> Action:
    """Keep a counter command with its arguments, also in style files."""

    def action(gullet: Gullet, token: str) -> None:
        star = "*" if gullet.accept("*") else ""
        style = gullet.optional()
        values = [gullet.expand_string(gullet.argument()) for _ in range(count)]
        if not star and token in (r"\numberwithin", r"\counterwithin", r"\counterwithout"):
            gullet.drop_form(rf"\the{values[0].strip()}")
        option = f"[{style}]" if style else ""
        arguments = "".join(f"{{{value}}}" for value in values)
        gullet.declare(token.replace("@", "") + star + option + arguments)

    return action


def _new_counter(gullet: Gullet, _: str) -> None:
    r"""\newcounter{name}[within]: from here on, \thename is a printed form."""
    name = gullet.argument().strip()
    within = gullet.optional() or ""
    gullet.new_counter(name)
    gullet.actions[rf"\c@{name}"] = assign
    gullet.declare(rf"\newcounter{{{name}}}[{within}]")


def assign(gullet: Gullet, token: str) -> None:
    r"""\c@equation=3, as macros of style files write it."""
    if gullet.forming:
        gullet.write(token + " ")
        return
    frame = gullet.skip_space()
    match = _ASSIGNMENT.match(frame.text, frame.pos)
    if match is None:
        return
    frame.pos = match.end()
    gullet.declare(rf"\setcounter{{{token[3:]}}}{{{match[1]}}}")


COUNTERS: dict[str, Action] = {
    **dict.fromkeys((r"\newtheorem", r"\spnewtheorem"), _theorem),
    r"\declaretheorem": _declare_theorem,
    **dict.fromkeys((r"\numberwithin", r"\counterwithin", r"\counterwithout"), _declaration(2)),
    **dict.fromkeys((r"\setcounter", r"\addtocounter", r"\@addtoreset", r"\@removefromreset"),
                    _declaration(2)),
    **dict.fromkeys((r"\stepcounter", r"\refstepcounter", r"\mathtoolsset"), _declaration(1)),
    r"\newcounter": _new_counter,
    **{rf"\c@{name}": assign for name in ("equation", "chapter", "section", "subsection")},
}  # fmt: skip
