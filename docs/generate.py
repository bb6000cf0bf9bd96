"""Write the parts of the documentation that the code decides; tests fail where they are stale.

    python docs/generate.py            write them
    python docs/generate.py --check    say which are stale, and exit with 1

`reference/cli.md` is what `--help` says of every command, made of the same declarations, so that it
does not depend on how a version of typer lays it out. `pictures/layout-*.svg` are layout trees as
`eqemb units` prints them.
"""

import inspect
import sys
import typing
from collections.abc import Callable, Container, Iterator
from html import escape
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple

import typer
from typer.models import ArgumentInfo

import eqemb.cli  # every command is declared when its module is imported
from eqemb.cli.app import COMMAND_GROUPS, app
from eqemb.formula.tree import Node, baseline, children

DOCS = Path(__file__).parent

# ---------------------------------------------------------------- commands


def cli_page() -> str:
    """Every command with its arguments and options."""
    commands = declared()
    width = max(map(len, commands))
    listed = [
        "\n".join([group, *(f"  {n:{width}}  {summary(commands[n])[0]}" for n in names)])
        for group, names in grouped(commands).items()
    ]
    head = (
        "# Commands\n\n<!-- made by docs/generate.py: change the commands, not this page -->\n\n"
        f"```text\n{(chr(10) * 2).join(listed)}\n```\n\n"
        "Data goes to stdout and messages to stderr, so that output can be piped.\n"
        "Exit codes: 0 success, 1 failure or no matches, 2 wrong usage, 3 a requested threshold\n"
        "was missed, 130 interrupted. `eqemb version` prints the version; `eqemb help COMMAND` or\n"
        "`eqemb COMMAND --help` explains a command.\n"
    )
    return "\n".join([head, *(section(name, call) for name, call in commands.items())])


def declared() -> dict[str, Callable[..., Any]]:
    """The commands by name, in the order of `--help`."""
    found = {}
    for info in app.registered_commands:
        assert info.callback is not None  # noqa: S101 - for mypy
        if not info.hidden:
            found[info.name or info.callback.__name__] = info.callback
    return {name: found[name] for names in grouped(found).values() for name in names}


def grouped(commands: Container[str]) -> dict[str, list[str]]:
    """The names of the commands by group, as `--help` lists them."""
    return {
        group: [name for name in names if name in commands]
        for group, names in COMMAND_GROUPS.items()
    }


def section(name: str, command: Callable[..., Any]) -> str:
    """One command."""
    arguments, options = [], []
    for key, kind, about, default in parameters(command):
        if about.hidden:  # from `--help`, too
            continue
        if isinstance(about, ArgumentInfo):
            metavar = (about.metavar or key.upper()) + "..." * kind_of_value(kind)[1]
            needed = default is inspect.Parameter.empty
            arguments.append((metavar if needed else f"[{metavar}]", about.help or ""))
        else:
            options.append(option(key, about, kind, default))
    first, *rest = summary(command)
    usage = " ".join(["eqemb", name, *(shown for shown, _ in arguments)])
    parts = [f"## {name}", f"```text\n{usage}{' [OPTIONS]' if options else ''}\n```", first, *rest]
    parts += ["\n".join(f"* `{shown}`: {said}" for shown, said in arguments)] if arguments else []
    rows = ["| option | what it does | default |", "|---|---|---|"]
    rows += [f"| {shown} | {said} | {default} |" for shown, said, default in options]
    return "\n\n".join([*parts, "\n".join(rows)]) + "\n"


def parameters(command: Callable[..., Any]) -> Iterator[tuple[str, Any, Any, Any]]:
    """Name, type, declaration and default of everything that a command takes."""
    hints = typing.get_type_hints(command, include_extras=True)
    for key, parameter in inspect.signature(command).parameters.items():
        if hints[key] is typer.Context:  # not given by users
            continue
        kind, about = typing.get_args(hints[key])[:2]
        yield key, kind, about, parameter.default


def kind_of_value(kind: Any) -> tuple[Any, bool]:
    """The type of one value, and whether there may be many: `list[int] | None` is int, True."""
    given = typing.get_args(kind)
    inner = next((found for found in given if found is not NoneType), kind)
    if typing.get_origin(kind) is list:
        return inner, True
    many = typing.get_origin(inner) is list
    return (typing.get_args(inner)[0], True) if many else (inner, False)


def option_names(key: str, about: Any, value: Any) -> list[str]:
    """The names of an option, negations among them."""
    # in an annotation typer's `default` is the first name
    written = [about.default, *(about.param_decls or ())]
    names = [name for text in written if isinstance(text, str) for name in text.split("/")]
    plain = key.replace("_", "-")
    made = [f"--{plain}", f"--no-{plain}"] if value is bool else [f"--{plain}"]
    return names or made


def summary(command: Callable[..., Any]) -> list[str]:
    """The paragraphs of a command's docstring, a line each."""
    return [" ".join(text.split()) for text in (inspect.getdoc(command) or "").split("\n\n")]


#: What is written for a value that has no name of its own.
_VALUES = {bool: "", int: "N", float: "X", str: "TEXT", Path: "PATH"}


def option(key: str, about: Any, kind: Any, default: Any) -> tuple[str, str, str]:
    """How an option is written, what it does, and what it is without it."""
    value, many = kind_of_value(kind)
    names = option_names(key, about, value)
    metavar = about.metavar or _VALUES[value]
    shown = ", ".join(f"`{name} {metavar}`" if metavar else f"`{name}`" for name in names)
    limits = [f"at least {about.min:g}"] if about.min is not None else []
    limits += [f"at most {about.max:g}"] if about.max is not None else []
    if default is inspect.Parameter.empty:
        said = "required"
    elif default is None or default is False:
        said = ""
    elif default is True:
        said = f"`{names[0]}`"
    else:
        said = f"`{default}`"
    helped = " ".join((about.help or "").split()).replace("|", "\\|")
    told = "epeat" in helped
    more = "; ".join(limits + (["repeatable"] if many and not told else []))
    return shown, f"{helped} ({more})".strip() if more else helped, said


# ---------------------------------------------------------------- layout trees

#: Name -> LaTeX of the equations that are drawn.
TREES = {
    "fraction": r"\frac{a}{b_1}",
    "sum": r"\sum_{i=1}^{n} x_i^2",
    "sigmoid": r"\sigma(x) = \frac{1}{1 + e^{-x}}",
    "root": r"\sqrt{x^2 + y^2}",
}
ACROSS, DOWN, HIGH = 104, 62, 30  # of a place in the grid, and of a symbol
#: Edges that lead upwards; the others, but for `n`, lead downwards.
UPWARDS = "aoc"
COLOURS = {"V": "#dbe9ff", "N": "#ffe9cc", "O": "#e3f4dc", "M": "#f3ddf3", "T": "#eeeeee"}
_STYLE = "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:13px"


class Box(NamedTuple):
    """A part of a tree in places of the grid: how far it reaches, and what lies in it."""

    width: float
    above: float
    below: float
    symbols: list[tuple[float, float, str]]
    edges: list[tuple[float, float, float, float, str]]

    def at(self, x: float, y: float) -> "Box":
        """The same, elsewhere."""
        symbols = [(x + a, y + b, tag) for a, b, tag in self.symbols]
        edges = [(x + a, y + b, x + c, y + d, edge) for a, b, c, d, edge in self.edges]
        return self._replace(symbols=symbols, edges=edges)


def row(first: Node) -> Box:
    """A baseline from left to right, each symbol with what hangs on it."""
    found, x = Box(0, 0, 0, [], []), 0.0
    before: float | None = None
    for node in baseline(first):
        hung, reach = [], {True: 0.0, False: 0.0}
        for edge, child in children(node):
            if edge != "n":
                box, up = row(child), edge in UPWARDS
                y = -(1 + box.below) if up else 1 + box.above
                offset = reach[up] + (0.5 if edge in "abcd" else 0.0)  # indices stand to the right
                hung.append((edge, offset, y, box))
                reach[up] = offset + box.width
        symbols, edges = [(x, 0.0, node.tag)], []
        if before is not None:
            edges.append((before, 0.0, x, 0.0, "n"))
        for edge, offset, y, box in hung:
            placed = box.at(x + offset, y)
            symbols += placed.symbols
            edges += [(x, 0.0, x + offset, y, edge), *placed.edges]
        found = Box(
            x + max(1.0, *reach.values()),
            max([found.above, *(-y + box.above for _, _, y, box in hung)]),
            max([found.below, *(y + box.below for _, _, y, box in hung)]),
            found.symbols + symbols,
            found.edges + edges,
        )
        before, x = x, found.width
    return found


def drawing(latex: str) -> str:
    """The layout tree of an equation as SVG."""
    made = eqemb.layout(latex)
    if made.root is None:
        raise ValueError(f"nothing to draw in {latex!r}")
    box = row(made.root)
    wide, high = box.width * ACROSS + 16, (box.above + box.below + 1) * DOWN + 8

    def place(x: float, y: float) -> tuple[float, float]:
        return x * ACROSS + ACROSS / 2 + 8, (y + box.above) * DOWN + DOWN / 2 + 4

    frame = f'viewBox="0 0 {wide:g} {high:g}" width="{wide:g}" height="{high:g}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {frame} role="img">',
        f"<title>{escape(made.to_text())}</title>",
        f'<rect width="{wide:g}" height="{high:g}" fill="#ffffff"/>',
    ]
    for a, b, c, d, edge in box.edges:
        (x, y), (to_x, to_y) = place(a, b), place(c, d)
        middle = (x + to_x) / 2, (y + to_y) / 2
        colour = "#888888" if edge == "n" else "#c0504d"
        lines.append(
            f'<path d="M{x:g} {y:g}L{to_x:g} {to_y:g}" stroke="{colour}" stroke-width="1.5"/>'
            f'<circle cx="{middle[0]:g}" cy="{middle[1]:g}" r="9" fill="#ffffff"/>'
            f'<text x="{middle[0]:g}" y="{middle[1] + 4:g}" text-anchor="middle" fill="{colour}"'
            f' style="{_STYLE}">{edge}</text>'
        )
    for a, b, tag in box.symbols:
        x, y = place(a, b)
        size = max(30.0, 8.2 * len(tag) + 12)
        colour = COLOURS.get(tag[0] if tag[1:2] == "!" else "", "#eeeeee")
        lines.append(
            f'<rect x="{x - size / 2:g}" y="{y - HIGH / 2:g}" width="{size:g}" height="{HIGH}"'
            f' rx="6" fill="{colour}" stroke="#555555"/>'
            f'<text x="{x:g}" y="{y + 4.5:g}" text-anchor="middle" style="{_STYLE}">'
            f"{escape(tag)}</text>"
        )
    return "\n".join([*lines, "</svg>"]) + "\n"


# ---------------------------------------------------------------- all of it


def parts() -> Iterator[tuple[Path, str]]:
    """What is to be there, file by file."""
    yield DOCS / "reference" / "cli.md", cli_page()
    for name, latex in TREES.items():
        yield DOCS / "pictures" / f"layout-{name}.svg", drawing(latex)


def stale() -> list[tuple[Path, str]]:
    """The files that are not what they should be, and what they should be."""
    return [
        (path, text)
        for path, text in parts()
        if not path.exists() or path.read_text("utf-8") != text
    ]


def main() -> None:
    """Write what is stale, or only name it."""
    found = stale()
    for path, text in found:
        print(path.relative_to(DOCS.parent))
        if "--check" not in sys.argv:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
    if found and "--check" in sys.argv:
        sys.exit(1)


if __name__ == "__main__":
    main()
