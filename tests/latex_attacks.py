r"""Hostile LaTeX: sources whose reading must cost no more than their size deserves.

`GROWING` has sources of any size by name: a count and a function from a count to the files of a
source. `BOMBS` has small sources that expand to very much, and the causes that must stop them.
`commands` and `pieces` are for sources that repeat any command that the reader knows.
"""

from collections.abc import Callable
from itertools import pairwise, product

from eqemb.readers.latex.expand import ACTIONS
from eqemb.readers.latex.structure import COMMANDS
from latex_paper import document

Files = dict[str, str]
Make = Callable[[int], Files]


def _files(body: str, preamble: str = "", document_class: str = "article") -> Files:
    return {"main.tex": document(body, preamble, document_class)}


def repeat(piece: str, preamble: str = "", end: str = "") -> Make:
    """A body that repeats a piece."""
    return lambda count: _files(piece * count + end, preamble)


def in_preamble(start: str, piece: str, end: str = "") -> Make:
    """A preamble that repeats a piece."""
    return lambda count: _files("x", start + piece * count + end)


def within(start: str, piece: str, end: str, preamble: str = "") -> Make:
    """A body that repeats a piece between two others."""
    return lambda count: _files(start + piece * count + end, preamble)


def numbered(piece: str, preamble: str = "", start: str = "", end: str = "") -> Make:
    """A body that repeats a piece with a number for each `@`."""
    return lambda count: _files(start + _numbered(piece, count) + end, preamble)


def _numbered(piece: str, count: int) -> str:
    return "".join(piece.replace("@", str(number)) for number in range(count))


def _references(count: int) -> Files:
    equations = _numbered(r"\begin{equation}x\label{e@}\end{equation}", count)
    group = rf"\begin{{subequations}}\label{{g}}{equations}\end{{subequations}}"
    return _files(group + _numbered(r"By \eqref{g} we see @. ", count))


def _labels(count: int) -> Files:
    labels = _numbered(r"\label{e@}", count)
    equation = rf"\begin{{equation}}x{labels}\end{{equation}}"
    return _files(equation + _numbered(r"By \ref{e@}. ", count))


def _counters(count: int) -> Files:
    return _files(r"\section{a}" * count, _numbered(r"\newcounter{c@}[section]", count))


def _counter_chain(count: int) -> Files:
    chain = "".join(rf"\newcounter{{c{n + 1}}}[c{n}]" for n in range(count))
    return _files(r"\section{a}" * count, chain + r"\numberwithin{c0}{section}")


def _forms(count: int) -> Files:
    forms = r"\renewcommand\theequation{\arabic{equation}}" * count
    return _files("x", _numbered(r"\newcounter{c@}", count) + forms)


def _nested_tables(count: int) -> Files:
    return _files(r"\begin{tabular}{ll}$x$&size\\" * count + r"\end{tabular}" * count)


def _tables_in_groups(count: int) -> Files:
    return _files(r"\begin{center}" * count + r"\begin{tabular}{l}a\end{tabular}" * count)


def _long_titles(count: int) -> Files:
    return _files(rf"\section{{{'title ' * count}}}" + r"\[x\]" * count)


def _long_name(count: int) -> Files:
    name = "a" * count
    return _files(r"\x" * count, rf"\def\x{{\{name}{{}}\def\{name}##1{{}}}}")


def _unread_files(count: int) -> Files:
    return _files("x") | {f"part{number}.tex": r"\[x\]" for number in range(count)}


def _nested_folders(count: int) -> Files:
    deep = {
        f"f{n}/p{n}.tex": rf"\input{{f{n + 1}/p{n + 1}}}\input{{missing}}" for n in range(count)
    }
    return _files(r"\input{f0/p0}") | deep


def _chosen_authors(count: int) -> Files:
    return _files("x", r"\Author{Ada Lovelace}" * count)


#: Name -> (count, files for a count); the time may not grow faster than the count.
GROWING: dict[str, tuple[int, Make]] = {
    "references to a group": (150, _references),
    "references to one equation": (
        1000,
        numbered(r"By \eqref{e} we see @. ", start=r"\begin{equation}x\label{e}\end{equation}"),
    ),
    "options of packages": (2000, in_preamble("", r"\usepackage[")),
    "options of citations": (2000, repeat(r"\cite[")),
    "options with braces": (1000, repeat(r"\cite[{", end="]")),
    "blanks in a specification": (150, in_preamble(r"\NewDocumentCommand\x{D", " ", "}{a}")),
    "blanks after a footnote": (5000, within(r"\footnote", " ", "x")),
    "empheq": (1000, repeat(r"\begin{empheq}[")),
    "equations": (1500, repeat(r"\begin{equation}")),
    "equations with one end": (1500, repeat(r"\begin{equation} a ", end=r"\end{equation}")),
    "classes": (1000, repeat(r"\documentclass{ ")),
    "names of environments": (1000, repeat(r"\begin{equation ")),
    "definitions": (1500, in_preamble("", r"\def\x{")),
    "new commands": (1500, in_preamble("", r"\newcommand{")),
    "inline formulas": (2000, repeat(r"\( a ", end=r"\[x\]\)")),
    "braces in dollars": (1000, repeat("$a{ $")),
    "addresses": (1000, repeat(r"\url{")),
    "braces": (1500, repeat(r"\foo{")),
    "headings": (1500, repeat(r"\section{")),
    "nested headings": (800, lambda n: _files(r"\section{" * n + "}" * n)),
    "nested tables": (300, _nested_tables),
    "tables in groups": (800, _tables_in_groups),
    "nested drawings": (1500, repeat(r"\begin{tikzpicture}", end=r"\end{tikzpicture}")),
    "counters": (300, _counters),
    "chain of counters": (300, _counter_chain),
    "printed forms": (400, _forms),
    "long titles": (300, _long_titles),
    "long names": (300, _long_name),
    "conditionals": (3000, repeat(r"\iffalse ")),
    "tests of formulas": (1000, within(r"\[x", r"\ifmmode[", r"\]")),
    "undecided conditionals": (1500, repeat(r"\ifnum\value{x}>0 ")),
    "blanks in a conditional": (1500, within(r"\ifnum\a", " ", "x")),
    "lines in an assignment": (1500, within(r"\c@equation", "\n", "x")),
    "verbatim": (1500, repeat(r"\begin{verbatim}a\end{verbatim}")),
    "inline verbatim": (
        1500,
        lambda n: _files("".join(rf"\verb{chr(0x4E00 + number)} " for number in range(n))),
    ),
    "authors": (1000, _chosen_authors),
    "names without end": (1000, in_preamble(r"\author{", r"\begin{tabular}[", "}")),
    "captions": (1500, repeat(r"\caption{a b. c}")),
    "unread files": (200, _unread_files),
    "nested folders": (100, _nested_folders),
    "missing inputs": (800, numbered(r"\input{p@}")),
    "documents": (1500, repeat(r"\documentclass{a}")),
    "delimited arguments": (1500, repeat(r"\x{.", r"\def\x#1.{#1}")),
    "bodies": (1000, repeat(r"\begin{foo}", r"\NewEnviron{foo}{\BODY}")),
    "unknown environments": (1000, repeat(r"\begin{foo}a ", end=r"\end{foo}")),
    "distinct environments": (800, numbered(r"\begin{e@}a^2")),
    "labels of one equation": (800, _labels),
    "local definitions": (800, lambda n: _files(r"{\def\x{a}" * n + "}" * n)),
    "appended definitions": (
        800,
        lambda n: _files("x", r"\def\x#1{a}" + r"\appto\x{\foo #1}" * n),
    ),
}  # fmt: skip


def _doubling(define: Callable[[str, str], str], levels: int = 30) -> str:
    """Definitions in which each name uses the next one twice."""
    names = [f"q{letter}" for letter in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ"[: levels + 1]]
    return "".join(define(this, after) for this, after in pairwise(names))


_LOOP = r"\foreach \x in {1,...,99}{" * 3
_ITEM, _USES = "a" * 20_000, r"\x " * 5_000
#: Name -> (files, causes of which one must be reported).
BOMBS: dict[str, tuple[Files, frozenset[str]]] = {
    "macros": (
        _files(r"\qa", _doubling(lambda this, after: rf"\def\{this}{{\{after}\{after}}}")),
        frozenset(("expansion budget",)),
    ),
    "arguments": (
        _files(
            r"\qa{xyz}",
            _doubling(lambda this, after: rf"\def\{this}#1{{\{after}{{#1#1}}}}"),
        ),
        frozenset(("expansion budget",)),
    ),
    "expanded definitions": (
        _files("x", r"\def\a{xxxxxxxx}" + r"\edef\a{\a\a}" * 40),
        frozenset(("expansion budget", "output budget")),
    ),
    "recursion": (_files(r"\x", r"\def\x{\x\x a}"), frozenset(("macro recursion",))),
    "environments": (
        _files(
            r"\begin{qa}",
            _doubling(
                lambda this, after: (
                    rf"\newenvironment{{{this}}}{{\begin{{{after}}}\begin{{{after}}}}}{{}}"
                )
            ),
        ),
        frozenset(("expansion budget", "macro recursion")),
    ),
    "arguments of environments": (
        _files(
            rf"\begin{{foo}}{{{'a' * 20_000}}}\end{{foo}}",
            rf"\newenvironment{{foo}}[1]{{{'#1' * 20_000}}}{{}}",
        ),
        frozenset(("expansion budget",)),
    ),
    "loops": (_files("x", _LOOP + r"\def\q{\x}" + "}" * 3), frozenset(("expansion budget",))),
    "items of a loop": (
        _files("x", rf"\foreach \x in {{{_ITEM}}}{{{_USES}}}"),
        frozenset(("expansion budget",)),
    ),
    "hooks": (
        _files(
            r"\begin{center}x\end{center}" * 500,
            r"\AtBeginEnvironment{center}{\setcounter{a}{1}}" * 500,
        ),
        frozenset(("expansion budget", "output budget")),
    ),
    "inputs": (
        _files(r"\input{p0}")
        | {f"p{n}.tex": rf"\[x\]\input{{p{n + 1}}}\input{{p{n + 1}}}" for n in range(16)},
        frozenset(("input budget", "output budget")),
    ),
    "inputs of a large file": (
        _files(r"\input{p}\input{p}" * 500) | {"p.tex": r"\[x\] words " * 5_000},
        frozenset(("input budget", "output budget")),
    ),
    "style files": (
        _files("x", r"\usepackage{p}" * 3_000) | {"p.sty": r"\relax " * 5_000},
        frozenset(("input budget",)),
    ),
    "supplements": (
        _files(r"\input{big}")
        | {"big.tex": r"\[x\] words " * 5_000}
        | {f"supp{n}.tex": document(r"\input{big}") for n in range(40)},
        frozenset(("input budget", "output budget")),
    ),
    "chain of tags": (
        _files(
            "".join(
                rf"\begin{{equation}}x\label{{l{n + 1}}}\tag{{\ref{{l{n}}}'\ref{{l{n}}}}}"
                r"\end{equation}"
                for n in range(60)
            )
        ),
        frozenset(("number cut off",)),
    ),
    "references": (_references(1_500), frozenset(("reference budget",))),
    "one sentence": (_files(r"\[x\] words " * 2_000), frozenset(("context budget",))),
    "counters": (
        _files("x", _numbered(r"\newcounter{c@}[section]", 2_000)),
        frozenset(("too many counters",)),
    ),
}

#: What may follow a command; repeated with it.
TAILS = ("", "[", "{", " ", "{a}{b}{c}{d}", "[a]{b}{c}", "(", "$", "{a}[", "[{", "\n\n", "{a}.")
#: A body in which pieces are repeated, and what follows them.
PLACES: dict[str, Callable[[str], Files]] = {
    "body": _files,
    "preamble": lambda text: _files("x", text),
    "display": lambda text: _files(rf"\begin{{align}}{text}\end{{align}}"),
    "before ends": lambda text: _files(text + r"]}]}\fi\end{equation}\]$"),
}


def commands() -> list[str]:
    """One command for each function of the reader that handles commands."""
    found: dict[object, str] = {}
    for name, action in sorted((ACTIONS | {f"\\{key}": COMMANDS[key] for key in COMMANDS}).items()):
        found.setdefault(getattr(action, "__code__", action), name)
    return sorted(found.values())


def pieces(command: str) -> list[tuple[str, str]]:
    """Pairs of a piece to repeat and a place for it, for a command."""
    return [(command + tail, place) for tail, place in product(TAILS, PLACES)]
