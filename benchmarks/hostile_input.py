"""Measure how the cost of hostile input grows with its size, for every pattern and every scanner.

    python benchmarks/hostile_input.py [--inputs 60] [--before TREE [--limit 60]]
        [--markdown FILE]

For each regular expression of the package and each scanner (readers of documents, parsers of
formulas and queries, and what looks for something in text), the slowest of so many inputs, its
CPU seconds at n, 2n and 4n, and the exponent of their growth: 1 is linear, 2 quadratic. Inputs are
those of `make attack` (`tests/pattern_attacks.py`, `tests/scanner_attacks.py`).

With `--before`, a checkout of an older version, known cases are measured in both versions, each in
a process of its own that ends after `--limit` CPU seconds.
"""

import argparse
import importlib
import math
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

#: Characters of the shortest text for a pattern.
CHARACTERS = 10_000
#: Times below say nothing about growth.
MEASURABLE = 0.002
RUN = "--run-case"


class Growth(NamedTuple):
    """The slowest input of a pattern or a scanner."""

    place: str
    text: str
    seconds: tuple[float, float, float]
    """At n, 2n and 4n."""

    @property
    def exponent(self) -> float:
        """Of the time as a power of the size; 1 where the times are too short to tell."""
        first, _, last = self.seconds
        return math.log(last / max(first, 1e-9), 4) if last > MEASURABLE else 1.0


# ---------------------------------------------------------------- known cases


def _latex(body: str, preamble: str = "") -> None:
    from eqemb.readers.latex import read_latex
    from eqemb.sources import Source

    text = f"\\documentclass{{article}}{preamble}\\begin{{document}}{body}\\end{{document}}"
    read_latex(Source("paper", "here", "tests", "tex", {"main.tex": text.encode()}, None))


def _page(body: str) -> None:
    from eqemb.readers.registry import read_source
    from eqemb.sources import Source

    text = f"<html><body><p>$x$</p>{body}</body></html>"
    read_source(Source("paper", "a.html", "tests", "html", {"a.html": text.encode()}, "a.html"))


def _record(text: str) -> None:
    import json

    from eqemb.readers.registry import read_source
    from eqemb.sources import Source

    entries = {"f": {"type": "formula", "latex": "x + " * 5_000 + "y"}}
    record = {
        "paper_id": "1501.00001",
        "metadata": {"title": "", "authors": ""},
        "abstract": {"section": "", "text": ""},
        "body_text": [{"section": "", "sec_number": "1", "text": text}],
        "ref_entries": entries,
    }
    data = json.dumps(record).encode()
    read_source(Source("paper", "a", "tests", "unarxive", {"a.jsonl": data}, "a.jsonl"))


def _formula(latex: str) -> None:
    from eqemb.formula.layout import layout

    layout(latex)


def _text(latex: str) -> None:
    from eqemb.formula.text import shown

    shown(latex, [])


def _head(text: str) -> None:
    from eqemb.sources.content import has_document_head

    has_document_head(text.encode())


def _name(text: str) -> None:
    from eqemb.search.names import looks_like_name

    looks_like_name(text)


def _bibliography(text: str) -> None:
    from eqemb.arxiv.ids import _BIBTEX_ENTRY

    _BIBTEX_ENTRY.search(text)


def _groups(count: int) -> str:
    equations = "".join(rf"\begin{{equation}}x\label{{e{n}}}\end{{equation}}" for n in range(count))
    group = rf"\begin{{subequations}}\label{{g}}{equations}\end{{subequations}}"
    return group + "".join(rf"By \eqref{{g}} we see {n}. " for n in range(count))


CASES: dict[str, Callable[[], None]] = {
    r"2 kB of blanks after `\\[` in a formula": lambda: _formula(r"\\[" + " " * 2_000 + "x"),
    r"2 kB of blanks after `\\ [` in a display": lambda: _latex(
        r"\begin{align}a\\ [" + " " * 2_000 + r"x\end{align}"
    ),
    r"20 kB of blanks after `\documentclass`": lambda: _head(r"\documentclass" + " " * 20_000),
    "1,600 subequations and references": lambda: _latex(_groups(1_600)),
    r"20,000 `\usepackage[`": lambda: _latex("x", r"\usepackage[" * 20_000),
    "12 kB of blanks in an xparse specification": lambda: _latex(
        "x", r"\NewDocumentCommand\x{D" + " " * 12_000 + "}{a}"
    ),
    r"20,000 `\cite[`": lambda: _latex(r"\cite[" * 20_000),
    r"20 kB of blanks after `\footnote`": lambda: _latex(r"\footnote" + " " * 20_000 + "x"),
    r"12,000 `\begin{empheq}[`": lambda: _latex(r"\begin{empheq}[" * 12_000),
    r"20,000 `\begin{equation}`": lambda: _latex(r"\begin{equation}" * 20_000),
    "20 kB of blanks in the name of an equation": lambda: _name("eq" + " " * 20_000 + "x"),
    "80 characters of comments in a page's macros": lambda: _page(
        "<script>MathJax = {macros: {" + "//" * 40 + "\n!}}</script>"
    ),
    "1,000 tables in tables of MathML": lambda: _page(
        "<math>" + "<mtable><mtr><mtd>" * 1_000 + "</mtd></mtr></mtable>" * 1_000 + "</math>"
    ),
    "20,000 uses of one formula of unarXive": lambda: _record("{{formula:f}} " * 20_000),
    r"20,000 digits after `\hskip` in text": lambda: _text(r"\hskip" + "1" * 20_000),
    "20 kB of blanks in an entry of BibTeX": lambda: _bibliography("@a{" + " " * 20_000),
}


def run_case(name: str, limit: int) -> None:
    """Print the CPU seconds of a case; a process that takes more is ended."""
    import time

    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    except ImportError:
        pass
    for module in ("readers.latex", "readers.registry", "formula.text", "formula.layout"):
        importlib.import_module(f"eqemb.{module}")
    for module in ("search.names", "sources.content", "arxiv.ids"):
        importlib.import_module(f"eqemb.{module}")
    start = time.process_time()
    try:
        CASES[name]()
    except RecursionError:
        print("RecursionError")
    else:
        print(f"{time.process_time() - start:.3f}")


def measure_case(tree: Path, name: str, limit: int) -> str:
    """The CPU seconds of a case with the package of a checkout, or what ended it."""
    run = subprocess.run(
        [sys.executable, __file__, RUN, name, str(limit)],
        env={**os.environ, "PYTHONPATH": str(tree / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode < 0:
        return f"over {limit}"
    return run.stdout.strip() or run.stderr.strip().splitlines()[-1][:60]


def known_cases(before: Path, limit: int) -> list[str]:
    """A table of both versions."""
    lines = ["| input | before (s) | now (s) |", "|---|--:|--:|"]
    for name in CASES:
        seconds = [measure_case(tree, name, limit) for tree in (before, ROOT)]
        lines.append(f"| {name} | {seconds[0]} | {seconds[1]} |")
        print(lines[-1], file=sys.stderr)
    return lines


# ---------------------------------------------------------------- patterns and scanners


def all_patterns(count: int) -> list[Growth]:
    """The slowest input of each pattern."""
    from pattern_attacks import collect_patterns, hostile_inputs, seconds

    found = []
    for one in collect_patterns():
        inputs = _some(hostile_inputs(one.pattern), count)
        _, use, worst = max(
            (seconds(one.pattern, use, hostile.make(CHARACTERS // 4)), use, hostile)
            for hostile in inputs
            for use in one.uses
        )
        times = [
            seconds(one.pattern, use, worst.make(CHARACTERS * factor), 3) for factor in (1, 2, 4)
        ]
        found.append(Growth(f"{one.place} ({use})", str(worst), (times[0], times[1], times[2])))
    return found


def all_scanners(count: int) -> list[Growth]:
    """The slowest input of each scanner."""
    from scanner_attacks import SCANNERS, inputs, seconds

    found = []
    for name, scanner in SCANNERS.items():
        run = partial(seconds, scanner)
        tried = _some(inputs(name, derived=False), count)
        _, worst = max((run(hostile, scanner.count // 4), hostile) for hostile in tried)
        times = [min(run(worst, scanner.count * factor) for _ in range(2)) for factor in (1, 2, 4)]
        found.append(Growth(name, str(worst), (times[0], times[1], times[2])))
    return found


def _some(items: list[Any], count: int) -> list[Any]:
    return items if len(items) <= count else random.Random(count).sample(items, count)


def table(head: str, rows: Iterable[Growth]) -> list[str]:
    """Markdown, the steepest growth first."""
    lines = [
        f"| {head} | worst input | n (ms) | 2n (ms) | 4n (ms) | exponent |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for row in sorted(rows, key=lambda row: -row.exponent):
        text = row.text.replace("|", "\\|").replace("`", "'")[:60]
        times = " | ".join(f"{1000 * second:.2f}" for second in row.seconds)
        lines.append(f"| {row.place} | `{text}` | {times} | {row.exponent:.2f} |")
    return lines


def report(options: argparse.Namespace) -> str:
    """The whole report as Markdown."""
    patterns, scanners = all_patterns(options.inputs), all_scanners(options.inputs)
    steepest = [f"{max(row.exponent for row in rows):.2f}" for rows in (patterns, scanners)]
    lines = [
        "# Hostile input",
        "",
        (
            f"{len(patterns)} patterns, worst exponent {steepest[0]}; {len(scanners)} scanners,"
            f" worst exponent {steepest[1]}. CPU seconds; written by `benchmarks/hostile_input.py`."
        ),
        "",
        (
            "An exponent of 1 means that twice the input takes twice the time. Times under"
            f" {1000 * MEASURABLE:g} ms at 4n count as 1. n is {CHARACTERS:,} characters for"
            " patterns, and 250 to 4,000 pieces for scanners."
        ),
        "",
    ]
    if options.before:
        lines += ["## Known cases", "", *known_cases(options.before, options.limit), ""]
    lines += ["## Scanners", "", *table("scanner", scanners), ""]
    lines += ["## Patterns", "", *table("pattern", patterns), ""]
    return "\n".join(lines)


def main() -> None:
    """Measure and print, or run one known case."""
    if sys.argv[1:2] == [RUN]:
        run_case(sys.argv[2], int(sys.argv[3]))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=60, help="inputs for each of them")
    parser.add_argument("--before", type=Path, help="a checkout of an older version")
    parser.add_argument("--limit", type=int, default=60, help="CPU seconds of a known case")
    parser.add_argument("--markdown", type=Path, help="a file to write")
    options = parser.parse_args()
    text = report(options)
    if options.markdown:
        options.markdown.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
