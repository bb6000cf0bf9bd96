"""Read and index the same papers with the local engine and on a Ray cluster, and compare.

    python benchmarks/cluster.py PAPERS WORK [--papers 20000] [--engine local ray killed]
        [--no-index] [-o results/cluster.md]

PAPERS has a folder of packed papers (.tar.gz) for each collection; `large_corpus.py` makes as many
of them as asked for, in WORK/papers. With `--papers 0`, PAPERS itself is read. Each library is that
of `Library.read(..., index=True)`: records and index, no model; with `--no-index`, records only.

- `local`: processes on this machine
- `ray`: a Ray cluster that is started on this machine, with --jobs workers
- `killed`: the same, and the worker that is furthest is killed once half of the papers are read
- `ray://HOST:PORT`: a cluster that is running

The digest covers the manifest, the report, and every file of every segment except the records'
SQLite files, which contain times; the report contains the digest of the records. Seconds are those
of the whole call: starting Ray, reading, indexing, near-duplicates, the report. CPU seconds are
those of this machine meanwhile, whoever used them (Linux): Ray's workers are not our children.
Exits with 1 if the digests differ.
"""

import argparse
import hashlib
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import NamedTuple

from large_corpus import LargeCorpus, find_papers

from eqemb.facade.library import Library
from eqemb.library import segments
from eqemb.library.progress import Progress
from eqemb.storage.checksums import CHECKSUMS

KILLED = "killed"


class Row(NamedTuple):
    """One library: how it was made, and what it is."""

    engine: str
    digest: str
    papers: int
    equations: int
    segments: int
    seconds: float
    cpu: float
    note: str


def digest(library: Path) -> str:
    """Return a digest of what a library contains."""
    generation = max((library / "generations").iterdir(), key=lambda path: int(path.name))
    listed = json.loads((generation / "manifest.json").read_text("utf-8"))["segments"]
    total = hashlib.sha256()
    found = [generation / "manifest.json", generation / "report.json"]
    for part in listed:
        found += sorted((library / "segments" / part["name"]).rglob("*"))
    for path in found:
        if path.is_file() and path.name not in ("records.sqlite", CHECKSUMS):  # these have times
            total.update(f"{path.name} {path.stat().st_size}\n".encode() + path.read_bytes())
    return total.hexdigest()


def busy_seconds() -> float:
    """Return the CPU seconds that this machine has been busy since it was started."""
    try:
        fields = [int(field) for field in Path("/proc/stat").read_text("utf-8").split()[1:9]]
    except OSError:
        return float("nan")
    user, nice, system, _idle, _wait, irq, softirq, _steal = fields
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


class Killer:
    """A progress callback that kills the worker that is furthest, once half is read."""

    def __init__(self, library: Path) -> None:
        self._library = library
        self.note = "no worker was killed: too few papers"
        self._is_done = False

    def __call__(self, state: Progress) -> None:
        """Kill a worker, once."""
        if self._is_done or not state.is_complete or state.done < state.found // 2:
            return
        notes = [
            json.loads(path.read_text("utf-8"))
            for path in self._library.glob("generations/*/read-parts/*.json")
            if path.with_suffix("").is_dir()
        ]
        for worker in sorted(notes, key=lambda note: -note["counts"][0])[:1]:
            os.kill(worker["pid"], signal.SIGKILL)
            self._is_done = True
            self.note = (
                f"killed at {state.done:,} of {state.found:,} papers,"
                f" {worker['counts'][0]:,} papers into a segment"
            )


def ignore(_state: Progress) -> None:
    """Do nothing."""


def measure(papers: Path, library: Path, engine: str, jobs: int, *, index: bool) -> Row:
    """Make a library and describe it."""
    shutil.rmtree(library, ignore_errors=True)
    killer = Killer(library) if engine == KILLED else None
    started, busy = time.perf_counter(), busy_seconds()
    with Library.read(
        papers,
        library,
        engine="ray" if engine == KILLED else engine,
        jobs=jobs,
        index=index,
        progress=killer or ignore,
    ) as made:
        seconds, cpu = time.perf_counter() - started, busy_seconds() - busy
        report, parts = made.report, len(made.manifest.segments)
    equations = report["equations"]["numbered"] + report["equations"]["unnumbered"]
    note = "" if killer is None else killer.note
    counts = (report["articles"], equations, parts)
    return Row(engine, digest(library), *counts, seconds, cpu, note)


def table(rows: list[Row], jobs: int, *, index: bool) -> str:
    """Return the rows as a Markdown table, with the load of the machine at the end."""
    what = "records and index" if index else "records, no index"
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    lines = [
        f"Each library: {what}; {jobs} workers; {os.cpu_count()} cores, load {load} at the end.",
        "CPU seconds are those of the whole machine, other work included.",
        "",
        "| engine | papers | equations | segments | seconds | CPU s | digest | note |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.engine} | {row.papers:,} | {row.equations:,} | {row.segments:,} |"
        f" {row.seconds:,.0f} | {row.cpu:,.0f} | `{row.digest[:16]}` | {row.note} |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure each engine and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("papers", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--papers", dest="count", type=int, default=20_000)
    parser.add_argument("--engine", nargs="+", default=["local", "ray", KILLED])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--segment", type=int, help="papers in a segment; default: 1,000")
    parser.add_argument("--keep", action="store_true", help="keep the libraries")
    parser.add_argument("--no-index", dest="index", action="store_false", help="read only")
    parser.add_argument("-o", "--output", type=Path, help="write the table as Markdown")
    given = parser.parse_args()
    if given.segment:
        segments.SEGMENT_DOCUMENTS = given.segment
    os.environ.setdefault("RAY_ADDRESS", "local")  # not a cluster that others use
    papers = given.papers
    if given.count:
        papers = given.work / "papers"
        LargeCorpus(find_papers(given.papers)).write(papers, given.count)
    rows = []
    print(f"{'engine':24}{'papers':>8}{'equations':>11}{'segments':>10}{'seconds':>9}{'CPU':>8}"
          "  digest")  # fmt: skip
    for number, engine in enumerate(given.engine):
        library = given.work / f"library-{number}"
        row = measure(papers, library, engine, given.jobs, index=given.index)
        rows.append(row)
        print(
            f"{row.engine:24}{row.papers:8,}{row.equations:11,}{row.segments:10,}"
            f"{row.seconds:9.1f}{row.cpu:8.1f}  {row.digest[:16]}  {row.note}",
            flush=True,
        )
        if not given.keep:
            shutil.rmtree(library)
    if given.output:
        given.output.write_text(table(rows, given.jobs, index=given.index), "utf-8")
    if len({row.digest for row in rows}) > 1:
        sys.exit("the digests differ")
    print("all digests are equal")


if __name__ == "__main__":
    main()
