"""Mutated documents of any format: each is read in a worker process, under a time limit.

A mutant is determined by its number. `campaign` reads mutants and returns what is wrong: an
exception other than SourceError, more seconds than allowed, equations that are not where the text
has their marks, displays that are neither read nor reported (silent), and those that were reported
only because an independent count has them (not accounted for).
"""

import json
import multiprocessing
import random
import re
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import NamedTuple

from eqemb.article import EQUATION_MARK, Article
from eqemb.errors import SourceError
from eqemb.readers.draft import NOT_ACCOUNTED
from eqemb.readers.registry import read_source
from eqemb.sources import Source

_TOKENS = re.compile(rb"\\[A-Za-z]+|\$\$?|<[^<>\s]{0,40}|\w+|\s+|.", re.DOTALL)
_DELIMITERS = r"""
    $ $$ \[ \] \\[ \( \) \begin{equation} \end{equation} \begin{align*} \end{align*} \\ & % { }
    \label{a} \tag{1} \ref{a} \eqref{a} \newcommand{\a}{b} \def\a{\a} ``` ~~~ ```{math} ```math
    ::: :::{note} {#eq-a} (\#eq:a) ` `` * ** _ # ## > - 1. | || --- === !bt !et !bc
    !ec label{a} ref{a} .. :: .. math:: :label: a :math:`x` :eq:`a` <!-- --> <math> </math>
    <script> </script> <pre> </pre> <code> </code> <table> </table> <disp-formula> </disp-formula>
    <mml:math> </mml:math> <tex-math> <![CDATA[ ]]> &lt; &amp; &#0; < > </ /> {{formula:a}}
    [[a|b]] [a](b) ![a](b)
""".split()
_PIECES = [
    *_DELIMITERS,
    *(".. math:: x", "\n.. math::\n\n   x\n", "\n$$\nx\n$$\n", "\n\n", "\n", "\t", "    "),
    *("\x00", "\x1e", EQUATION_MARK, "\U00100000", "\ue100"),
]
_WITH_ESCAPES = (".ipynb", ".json", ".jsonl")


class Finding(NamedTuple):
    """What is wrong with one mutant."""

    number: int
    kind: str
    detail: str


def mutant(source: Source, number: int) -> Source:
    """A source with a few edits in its main file.

    Spans are deleted, doubled or swapped, bits flipped, delimiters inserted, or the end cut off.
    """
    rng = random.Random(number)
    main = source.main or next(iter(source.files))
    tokens = _TOKENS.findall(source.files[main])
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(tokens) + 1)
        until = min(len(tokens), at + rng.choice((1, 2, 5, 20, 200)))
        kind = rng.random()
        if kind < 0.2:
            del tokens[at:until]
        elif kind < 0.35:
            tokens[at:at] = tokens[at:until]
        elif kind < 0.5:
            other = rng.randrange(len(tokens) + 1)
            span = tokens[other : other + until - at]
            tokens[at:until], tokens[other : other + len(span)] = span, tokens[at:until]
        elif kind < 0.8:
            tokens.insert(at, _piece(rng, main))
        elif kind < 0.97 and at < len(tokens):
            token = bytearray(tokens[at])
            token[rng.randrange(len(token))] ^= 1 << rng.randrange(8)
            tokens[at] = bytes(token)
        elif rng.random() < 0.5:
            del tokens[at:]
    files = source.files | {main: b"".join(tokens)}
    return Source(source.name, source.origin, source.collection, source.form, files, source.main)


def _piece(rng: random.Random, main: str) -> bytes:
    piece = rng.choice(_PIECES)
    if main.lower().endswith(_WITH_ESCAPES):
        piece = json.dumps(piece)[1:-1]  # so that it stays valid JSON
    return piece.encode()


def fault(source: Source) -> tuple[str, str]:
    """What is wrong with the reading of a source: a kind and details, or two empty strings."""
    try:
        article = read_source(source)
    except SourceError:
        return "", ""
    except Exception as error:  # noqa: BLE001 - any other is the finding
        return "raised", repr(error)[:300]
    return account(article)


def account(article: Article) -> tuple[str, str]:
    """What is wrong with an article: its equations are in its text, its displays are counted."""
    try:
        stream = [part for part in article.stream() if not isinstance(part, str)]
    except ValueError:  # more marks than equations, or fewer
        stream = []
    if stream != article.equations:
        return "misplaced", "the equations are not those of the text"
    for number, equation in enumerate(article.equations, start=1):
        if equation.ordinal != number or not 0 <= equation.line <= equation.end_line:
            return "misplaced", f"{equation.id}, lines {equation.line} to {equation.end_line}"
    displays = len({equation.display for equation in article.equations})
    missing = article.displays_opened - displays - article.displays_lost
    what = f"{article.displays_opened} opened, {displays} read, {article.displays_lost} lost"
    if missing:
        return ("silent" if missing > 0 else "surplus"), what
    if any(problem.cause == NOT_ACCOUNTED for problem in article.problems):
        return "not accounted for", what
    return "", ""


def campaign(sources: Sequence[Source], count: int, seconds: float) -> list[Finding]:
    """Read that many mutants of the sources; a worker that takes too long is replaced."""
    context = multiprocessing.get_context("spawn")
    findings: list[Finding] = []
    start = 0
    while start < count:
        ours, theirs = context.Pipe(duplex=False)
        worker = context.Process(target=_work, args=(theirs, sources, start, count), daemon=True)
        worker.start()
        theirs.close()
        is_started = False
        while start < count:
            if not ours.poll(seconds if is_started else 60):
                findings.append(Finding(start, "hang", f"over {seconds} s"))
                break
            try:
                kind, detail = ours.recv()
            except EOFError:
                findings.append(Finding(start, "died", f"exit code {worker.exitcode}"))
                break
            is_started = True
            if kind:
                findings.append(Finding(start, kind, detail))
            start += 1
        else:
            worker.join()
            break
        worker.kill()
        worker.join()
        start += 1
    return findings


def _work(results: Connection, sources: Sequence[Source], start: int, count: int) -> None:
    for number in range(start, count):
        results.send(fault(mutant(sources[number % len(sources)], number)))
