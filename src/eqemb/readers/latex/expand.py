"""Expand a paper: from its files to one text, with a map back to the source."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from eqemb.article import Problem
from eqemb.readers.latex.boxes import BOXES
from eqemb.readers.latex.branches import BRANCHES
from eqemb.readers.latex.conditionals import CONDITIONALS, empty_macros
from eqemb.readers.latex.counters import COUNTERS
from eqemb.readers.latex.definitions import DEFINITIONS
from eqemb.readers.latex.displays import find_openings
from eqemb.readers.latex.files import Files
from eqemb.readers.latex.frames import Budget, Stop
from eqemb.readers.latex.gullet import Gullet
from eqemb.readers.latex.inputs import INPUTS, open_file
from eqemb.readers.latex.sourcemap import SourceMap

ACTIONS = DEFINITIONS | COUNTERS | BOXES | CONDITIONALS | BRANCHES | INPUTS


@dataclass(slots=True)
class Expanded:
    """The expanded source of a paper."""

    text: str
    """LaTeX with inputs joined, the author's macros expanded and conditionals decided."""
    body_start: int
    """Where the document begins in `text`; the preamble's declarations precede it."""
    source: SourceMap
    document_class: str
    problems: list[Problem]
    defined: set[str]
    """Names defined by the author, so that remaining uses are not reported as unknown."""
    files: list[str]


def expand(files: Files, main: str, budget: Budget | None = None) -> Expanded:
    """Expand the paper whose main file is `main`."""
    gullet = _run(files, main, budget or Budget(), in_body=False)
    if not gullet.in_body:  # a chapter, or a main file without its preamble: everything is text
        gullet = _run(files, main, budget or Budget(), in_body=True)
        gullet.problem("no document environment")
    text, source = gullet.output(), gullet.source_map()
    gullet.problems += _not_typeset(gullet, files, text, source)
    return Expanded(
        text=text,
        body_start=gullet.body_start,
        source=source,
        document_class=gullet.document_class,
        problems=gullet.problems,
        defined=gullet.style_names.union(n[1:] for n in gullet.actions if n not in ACTIONS),
        files=list(dict.fromkeys(gullet.file_names)),
    )


def _not_typeset(gullet: Gullet, files: Files, text: str, source: SourceMap) -> Iterator[Problem]:
    """Displays in the files that expansion left out: in branches not taken, arguments not used.

    This account is independent of macros: displays are counted by name in the files themselves.
    """
    main, body = source.place(gullet.body_start)
    openings = {
        path: find_openings(files.text(path), body if path == main else 0)
        for path in dict.fromkeys(gullet.text_files)
    }
    if sum(map(len, openings.values())) <= len(find_openings(text, gullet.body_start)):
        return  # nearly always: no display is missing
    covered = source.covered(gullet.length)
    for path, found in openings.items():
        spans = covered.get(path, [])
        starts = [start for start, _ in spans]
        reach = list(accumulate((end for _, end in spans), max))
        left_out = [
            at for at in found if (index := bisect_right(starts, at)) == 0 or reach[index - 1] <= at
        ]
        if left_out:
            held = f"{len(left_out)} display{'s' * (len(left_out) > 1)}"
            yield Problem("not typeset", path, files.line(path, left_out[0]), held)


def _run(files: Files, main: str, budget: Budget, *, in_body: bool) -> Gullet:
    gullet = Gullet(files, ACTIONS, budget)
    gullet.actions.update(empty_macros())
    gullet.in_body = in_body
    open_file(gullet, main)
    try:
        gullet.run()
    except Stop:
        pass
    except RecursionError:
        gullet.problem("macro recursion", detail="nested too deeply")
    return gullet
