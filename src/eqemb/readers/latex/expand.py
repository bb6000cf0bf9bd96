"""Expand a paper: from its files to one text, with a map back to the source."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from eqemb.article import Problem
from eqemb.readers.latex.boxes import BOXES
from eqemb.readers.latex.branches import BRANCHES
from eqemb.readers.latex.budget import Budget, Work
from eqemb.readers.latex.conditionals import CONDITIONALS, empty_macros
from eqemb.readers.latex.counters import COUNTERS
from eqemb.readers.latex.definitions import DEFINITIONS
from eqemb.readers.latex.displays import find_openings
from eqemb.readers.latex.files import Files
from eqemb.readers.latex.frames import Stop
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
    exhausted: str = ""
    """The budget that was exceeded, so that text is missing; '' if none was."""
    lost: int = 0
    """Displays in the text that is missing for that reason."""


def expand(files: Files, main: str, work: Work | None = None) -> Expanded:
    """Expand the paper whose main file is `main`; `work` is shared by documents of one paper."""
    work = work or Work(Budget())
    gullet = _run(files, main, work, in_body=False)
    if not gullet.in_body:  # a chapter, or a main file without its preamble: everything is text
        gullet = _run(files, main, work, in_body=True)
        gullet.problem("no document environment")
    text, source = gullet.output(), gullet.source_map()
    work.output += gullet.length
    left_out = list(_not_typeset(gullet, files, text, source))
    cause = f"lost: {gullet.exhausted}" if gullet.exhausted else "not typeset"
    gullet.problems += [
        Problem(cause, path, files.line(path, first), counted_displays(count))
        for path, first, count in left_out
    ]
    return Expanded(
        text=text,
        body_start=gullet.body_start,
        source=source,
        document_class=gullet.document_class,
        problems=gullet.problems,
        defined=gullet.style_names.union(n[1:] for n in gullet.actions if n not in ACTIONS),
        files=list(dict.fromkeys(gullet.file_names)),
        exhausted=gullet.exhausted,
        lost=sum(count for *_, count in left_out) if gullet.exhausted else 0,
    )


def counted_displays(count: int) -> str:
    """A number of displays in words."""
    return f"{count} display{'s' * (count > 1)}"


def _not_typeset(
    gullet: Gullet, files: Files, text: str, source: SourceMap
) -> Iterator[tuple[str, int, int]]:
    """Displays in the files that expansion left out: in branches not taken, arguments not used.

    For each file, its path, where the first of them is, and their number.

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
            yield path, left_out[0], len(left_out)


def _run(files: Files, main: str, work: Work, *, in_body: bool) -> Gullet:
    gullet = Gullet(files, ACTIONS, work)
    gullet.actions.update(empty_macros())
    gullet.in_body = in_body
    open_file(gullet, main)
    try:
        gullet.run()
    except Stop:
        pass
    except RecursionError:
        gullet.exhaust("macro recursion", "nested too deeply")
    return gullet
