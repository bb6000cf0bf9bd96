"""Expand a paper: from its files to one text, with a map back to the source."""

from dataclasses import dataclass

from eqemb.article import Problem
from eqemb.readers.latex.branches import BRANCHES
from eqemb.readers.latex.conditionals import CONDITIONALS, empty_macros
from eqemb.readers.latex.counters import COUNTERS
from eqemb.readers.latex.definitions import DEFINITIONS
from eqemb.readers.latex.files import Files
from eqemb.readers.latex.frames import Budget, Stop
from eqemb.readers.latex.gullet import Gullet
from eqemb.readers.latex.inputs import INPUTS, open_file
from eqemb.readers.latex.sourcemap import SourceMap

ACTIONS = DEFINITIONS | COUNTERS | CONDITIONALS | BRANCHES | INPUTS


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
    return Expanded(
        text=gullet.output(),
        body_start=gullet.body_start,
        source=gullet.source_map(),
        document_class=gullet.document_class,
        problems=gullet.problems,
        defined=gullet.style_names.union(n[1:] for n in gullet.actions if n not in ACTIONS),
        files=list(dict.fromkeys(gullet.file_names)),
    )


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
