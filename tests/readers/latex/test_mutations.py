"""Mutated papers are read or refused in bounded time, with every display accounted for.

Mutants of our own articles and of small sources, and of the papers in EQEMB_CORPORA. 300 by
default, 20,000 with EQEMB_FULL=1. Every mutant is determined by its number.
"""

import csv
import io
import os
import random
import re
import signal
import tarfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from campaigns import FULL
from eqemb.article import EQUATION_MARK
from eqemb.errors import SourceError
from eqemb.readers.latex import read_latex
from eqemb.readers.latex.displays import count_displays
from eqemb.readers.latex.expand import expand
from eqemb.readers.latex.files import Files
from eqemb.readers.latex.structure import Walker
from few_articles import DEMO
from latex_paper import document, opened

Source = dict[str, bytes]

CORPORA = os.environ.get("EQEMB_CORPORA")
SECONDS = 30  # a backstop: the budgets of the reader count steps
TOKENS = re.compile(rb"\\[A-Za-z]+|\\.|\$\$?|[{}\[\]%&#^_]|\n\n|\w+|\s+|.", re.DOTALL)
NAMES = r"""{ } [ ] $ $$ \[ \] \( \) % & # #1 ^ _ ~ \\ \begin{equation} \end{equation}
    \begin{align} \end{align} \begin{align*} \begin{ \end{ \begin{subequations} \begin{empheq}
    \begin{figure} \begin{tabular}{c} \begin{comment} \begin{verbatim} \end{document} \iffalse \fi
    \else \iftrue \ifx \def \edef \let \newcommand \csname \endcsname \expandafter \input{main}
    \verb| \footnote{ \caption{ \section{ \title{ \cite{ \label{ \ref{ \tag{ \intertext{ \text{
    \nonumber \newif\ifq \foreach \begingroup \endgroup \makeatletter \endinput \url{"""
PIECES = [name.encode() for name in NAMES.split()]
PIECES += [b"\n\n", b"\n", b" ", b"\xff", b"\x00", b"\xef\xbf\xbc"]
SMALL = {
    r"\def\be#1{\begin{equation}\label{#1}}\def\ee{\end{equation}}": r"\be{a}x\ee By \ref{a}.",
    r"\newcommand{\a}[2][x]{#1#2}\def\b(#1){\a{#1}}": r"$\b(y)$ \[\a[z]{w}\] \a{\a{\a{v}}}",
    r"\newif\ifq\qtrue": r"\ifq\begin{align}a\\\else\begin{gather}\fi b\end{align}",
    r"\NewEnviron{e}{\begin{align}\BODY\end{align}}": r"\begin{e}a\tag{1}\\b\end{e} $$c$$",
    r"\def\x{\csname y\endcsname}\edef\y{z}": r"{\def\y{w}\x}\x \footnote{\x\footnote{\[v\]}}",
    r"\mathtoolsset{showonlyrefs}\numberwithin{equation}{section}": r"""\section{A} % $$
        \begin{subequations}\label{g}\begin{align}a\intertext{so $b$}c\label{c}\\d\end{align}
        \end{subequations} By \eqref{g} and \cref{c,g}. \[e\]""",
    r"\foreach \x in {a,...,c}{\expandafter\xdef\csname b\x\endcsname{[\x]}}": r"""\ba\bb
        \begin{table}\begin{tabular}{c}\[a\]\caption{b}\end{tabular}\end{table} c""",
}


# -- what is mutated


@cache
def own_sources() -> list[Source]:
    """The demo's articles and the small sources above."""
    articles = [
        {str(path.relative_to(item)): path.read_bytes() for path in sorted(item.rglob("*.*"))}
        if item.is_dir()
        else {item.name: item.read_bytes()}
        for item in sorted(DEMO.glob("*/*"))
        if item.is_dir() or item.suffix == ".tex"
    ]
    small = [document(body, preamble).encode() for preamble, body in SMALL.items()]
    return [*articles, *({"main.tex": data} for data in small)]


@cache
def corpus_papers() -> list[Path]:
    """The archives of the corpora, in the order of their list."""
    root = Path(CORPORA or "")
    with (root / "MANIFEST.tsv").open(encoding="utf-8") as rows:
        return [root / r["collection"] / r["file"] for r in csv.DictReader(rows, delimiter="\t")]


def corpus_source(rng: random.Random) -> Source:
    """The TeX files of one of those papers; nothing is cached."""
    with tarfile.open(fileobj=io.BytesIO(rng.choice(corpus_papers()).read_bytes())) as archive:
        return {
            member.name.removeprefix("./"): file.read()
            for member in archive
            if member.name.endswith((".tex", ".sty", ".cls"))
            if (file := archive.extractfile(member)) is not None
        }


# -- how


def mutated(rng: random.Random, data: bytes) -> bytes:
    """A few edits: delete, double, swap or insert tokens, a stray byte, or cut the end."""
    tokens = TOKENS.findall(data)
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(tokens) + 1)
        until = min(len(tokens), at + rng.randint(1, 12))
        kind = rng.random()
        if kind < 0.25:
            del tokens[at:until]
        elif kind < 0.4:
            tokens[at:at] = tokens[at:until]
        elif kind < 0.55 and at < len(tokens):
            other = rng.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif kind < 0.85:
            tokens.insert(at, rng.choice(PIECES))
        elif kind < 0.97:
            tokens.insert(at, bytes([rng.randrange(256)]))
        elif rng.random() < 0.5:
            del tokens[at:]
    return b"".join(tokens)


def mutant(number: int, *, corpora: bool = False) -> Source:
    """The mutant of that number: one file of one source, changed."""
    rng = random.Random(number)
    source = corpus_source(rng) if corpora else dict(rng.choice(own_sources()))
    name = rng.choice(sorted(source))
    source[name] = mutated(rng, source[name])
    return source


# -- what must hold


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise TimeoutError if it takes longer (if the system has alarms)."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"over {seconds} s")

    if not hasattr(signal, "SIGALRM"):
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def fault(source: Source) -> str | None:
    """What is wrong with the reading of a source, or None."""
    try:
        article = read_latex(opened(source))
    except SourceError:
        return None
    except Exception as error:  # noqa: BLE001 - any other is the finding
        return f"raised {error!r}"
    if article.text.count(EQUATION_MARK) != len(article.equations):
        return "marks in the text are not the equations"
    if [item for item in article.stream() if not isinstance(item, str)] != article.equations:
        return "the stream is not the equations"
    for number, equation in enumerate(article.equations, start=1):
        if equation.ordinal != number or equation.file not in source:
            return f"{equation.id} is misplaced"
        if not 1 <= equation.line <= equation.end_line:
            return f"{equation.id} has lines {equation.line} to {equation.end_line}"
    displays = len({equation.display for equation in article.equations})
    if displays + article.displays_lost > article.displays_opened:
        return "more displays read and lost than opened"
    return None


def unaccounted(source: Source) -> bool:
    """Whether the walk and the independent count disagree about a source's displays."""
    files = Files(source)
    main = files.main()
    if main is None:
        return False
    result = expand(files, main)
    found = Walker(result).run(result.body_start)
    # opened == read + lost + nested holds by construction: what the walk had to force counts here
    forced = [p for p in found.problems if p.cause == "lost: not accounted for"]
    opened = count_displays(result.text, result.body_start)
    return bool(forced) or found.opened + found.drawings != opened


def check(number: int, *, corpora: bool = False) -> tuple[int, str]:
    """The finding for one mutant, empty if there is none."""
    source = mutant(number, corpora=corpora)
    try:
        with limited(SECONDS):
            found = fault(source) or ("unaccounted" if unaccounted(source) else "")
    except TimeoutError as error:
        found = str(error)
    return number, found


def check_in_corpora(number: int) -> tuple[int, str]:
    """The same for a paper of the corpora."""
    return check(number, corpora=True)


def campaign(examine: Callable[[int], tuple[int, str]], count: int) -> dict[int, str]:
    """Findings by the mutant's number; large campaigns use all processors."""
    if count <= 1000:
        results = list(map(examine, range(count)))
    else:
        with ProcessPoolExecutor() as pool:
            results = list(pool.map(examine, range(count), chunksize=50))
    return {number: found for number, found in results if found}


def verdict(findings: dict[int, str], count: int) -> None:
    """There may be no fault; the two counts of displays may disagree for one mutant in 200.

    In such a mutant (a `$$` in a half-open formula, say) the difference is reported as lost.
    """
    disagreements = [number for number, found in findings.items() if found == "unaccounted"]
    wrong = {number: found for number, found in findings.items() if found != "unaccounted"}
    assert not wrong
    assert len(disagreements) <= count / 200, disagreements[:20]


def test_mutants_of_our_own_articles() -> None:
    """Read or refused, in time, with every display accounted for."""
    count = 20_000 if FULL else 300
    verdict(campaign(check, count), count)


@pytest.mark.skipif(not CORPORA, reason="EQEMB_CORPORA is not set")
def test_mutants_of_real_papers() -> None:
    """The same on papers of the corpora."""
    count = 2_000 if FULL else 100
    verdict(campaign(check_in_corpora, count), count)


def test_sources_without_any_mutation_have_no_fault() -> None:
    """The unmutated sources have no fault."""
    assert [fault(source) for source in own_sources()] == [None] * len(own_sources())
    assert not any(map(unaccounted, own_sources()))


EXAMPLES = settings(
    max_examples=2_000 if FULL else 100,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)


@EXAMPLES
@given(st.lists(st.sampled_from([*PIECES, b"x", b"a = b.", b"Words."]), max_size=40))
def test_any_sequence_of_pieces(pieces: list[bytes]) -> None:
    """Commands in any order, not only near-papers."""
    with limited(SECONDS):
        assert fault({"main.tex": document(b" ".join(pieces).decode("latin-1")).encode()}) is None


@EXAMPLES
@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    """A file of arbitrary bytes."""
    with limited(SECONDS):
        assert fault({"main.tex": data}) is None


def test_a_mutant_follows_from_its_number() -> None:
    """So that a finding can be reproduced."""
    assert mutant(7) == mutant(7)
