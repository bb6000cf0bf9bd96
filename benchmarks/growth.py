"""Measure how the cost of building, extending and asking a library grows with its size.

    python benchmarks/growth.py CORPORA WORK [--sizes 473 2000 5000 20000] [--adds 5] [--model]
        [--parts stages build add ask] [--jobs N]

CORPORA has a folder of packed papers for each collection. Corpora of any size are made of copies of
them in which words and symbols differ (`large_corpus.py` says how; the first 473 papers are ours,
unchanged). For each size, in processes of their own:

- *stages*: each stage by itself, for the plan: reading, near-duplicates, the report, and the parts
  of the index (text, structure, definitions, renderings), whose segments are indexed in parallel.
  CPU seconds, bytes and peak memory of the largest process; answers to questions.
- *build*: a library built by one call, by stage. "reading" includes finding near-duplicates and
  ends when the first paper is indexed; stages that alternate are summed up.
- *add*: add ten new papers, the same at every size, to the library: it works on a copy made of hard
  links, so that every repetition finds the same library.
- *ask*: open the library and answer a first query, then the 20 queries of `queries.toml` twice, of
  which the second time counts; and `eqemb search` as a command, where typer is installed. Files are
  in the page cache.

Without `build`, the other parts use the library that `stages` made. Only NumPy and snowballstemmer
are needed, and numba with `--model`: `PYTHONPATH=src python benchmarks/growth.py ... --parts stages
ask` runs on a machine without the command line's packages.

Prints tables, and keeps all numbers in WORK/growth.json. What is in that file is not measured
again; remove it to measure another version on the same papers. WORK needs about 30 kB for a paper
and 300 kB for its place in a library. `processes.py` says how memory is measured.
"""

import argparse
import importlib.util
import json
import os
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from large_corpus import LargeCorpus, find_papers
from plan_measurements import PAIR_PAPERS
from processes import memory, run_measured

from eqemb.planning.measure import measure_pairs, measure_size
from eqemb.planning.measurements import Size, describe_machine, describe_versions

ADDED = 10  # papers
QUERIES = Path(__file__).with_name("queries.toml")
RUN, ASK = "--run-step", "--ask"  # how this script starts itself
PARTS = ("stages", "build", "add", "ask")
Row = dict[str, Any]


# ---------------------------------------------------------------- in the measured process


class StageClock:
    """Wall-clock and CPU seconds by stage; the first stage starts with the clock."""

    def __init__(self) -> None:
        self.stages: dict[str, list[float]] = {}
        self._stage, self._since = "reading", self._now()

    def enter(self, stage: str) -> None:
        """Count what passed so far for the stage that ends."""
        total, now = self.stages.setdefault(self._stage, [0.0, 0.0]), self._now()
        for unit, (start, end) in enumerate(zip(self._since, now, strict=True)):
            total[unit] += end - start
        self._stage, self._since = stage, now

    @staticmethod
    def _now() -> tuple[float, float]:
        return time.perf_counter(), sum(os.times()[:4])


def run_step(file: Path, name: str, folder: str, papers: str, model: str) -> None:
    """Build a library or add to it in this process, and write the seconds of its stages."""
    from eqemb.facade.library import Library
    from eqemb.facade.update import add_papers

    clock = StageClock()

    def watch(stage: str, _state: str) -> None:
        clock.enter(stage)

    if name == "build":
        with Library.build(papers, folder, model=model == "model", watch=watch) as library:
            printed = {"articles": library.report["articles"]}
    else:
        printed = {"articles": add_papers(folder, papers, root=papers, watch=watch).articles}
    clock.enter("")
    file.write_text(json.dumps(clock.stages), "utf-8")
    print(json.dumps(printed))


def ask(folder: str) -> None:
    """Open a library, ask it, and print the times."""
    from eqemb.facade.library import Library

    queries = tomllib.loads(QUERIES.read_text("utf-8"))

    def timed(work: Callable[[str], object], query: str) -> float:
        start = time.perf_counter()
        work(query)
        return time.perf_counter() - start

    start = time.perf_counter()
    with Library.open(folder) as library:
        row: Row = {"open_seconds": time.perf_counter() - start}
        row["open_megabytes"] = memory()
        row["first_seconds"] = timed(library.search, queries["words"][0])
        row["first_megabytes"] = memory()
        for _ in range(2):
            for name, method in (("words", library.search), ("equations", library.similar)):
                row[f"{name}_seconds"] = [timed(method, query) for query in queries[name]]
        row["megabytes"] = memory()
    print(json.dumps(row))


# ---------------------------------------------------------------- one size


class Growth:
    """The folder of the measurements."""

    def __init__(self, work: Path, corpus: LargeCorpus, given: argparse.Namespace) -> None:
        self.work, self._corpus, self._given = work, corpus, given
        self._model = model = given.model
        self._file = work / "growth.json"
        self.rows: dict[str, Row] = {}
        self.pairs: tuple[dict[str, float], ...] = ()
        if self._file.exists():
            state = json.loads(self._file.read_text("utf-8"))
            if state["model"] != model:
                raise SystemExit(
                    f"{self._file} has model: {state['model']}, not {model}; remove it"
                )
            self.rows, self.pairs = state["sizes"], tuple(state.get("pairs", ()))

    def measure(self, size: int) -> None:
        """Take the measurements of a size that are missing."""
        row = self.rows.setdefault(str(size), {})
        staged, library = self.work / f"stages-{size}", self.work / f"library-{size}"
        if "build" not in self._given.parts:
            library = staged / "library"
        parts: dict[str, Callable[[], Any]] = {
            "stages": lambda: self._stages(size, staged),
            "build": lambda: self._build(size, library),
            "content": lambda: content(library),
            "add": lambda: [self._add(library) for _ in range(self._given.adds)],
            "ask": lambda: self._ask(library),
        }
        for name, measured in parts.items():
            if name not in row and name in (*self._given.parts, "content"):
                print(f"{time.strftime('%H:%M:%S')} {size:,} papers: {name}", file=sys.stderr)
                row[name] = measured()
                self._save()

    def measure_pairs(self, size: int) -> None:
        """Time near-duplicates of whole segments, with the hashes of papers of a size."""
        if "stages" in self._given.parts and not self.pairs:
            staged = dict(self.rows[str(size)]["stages"])
            del staged["seconds"]
            with tempfile.TemporaryDirectory() as folder:
                self.pairs = measure_pairs(Path(folder), Size(**staged), PAIR_PAPERS)
            self._save()

    def _save(self) -> None:
        state: Row = {"machine": describe_machine(), "versions": describe_versions()}
        state |= {"model": self._model, "pairs": self.pairs, "sizes": self.rows}
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps(state, indent=1), "utf-8")
        new.replace(self._file)

    def _papers(self, size: int) -> Path:
        papers = self.work / f"papers-{size}"
        self._corpus.write(papers, size)
        return papers

    def _stages(self, size: int, folder: Path) -> Row:
        papers = self._papers(size)
        shutil.rmtree(folder, ignore_errors=True)
        start = time.perf_counter()
        found = measure_size(
            sorted(papers.glob("*/*.tar.gz")),
            papers,
            folder,
            jobs=self._given.jobs,
            train=self._model,
            watch=lambda text: print(time.strftime("%H:%M:%S"), text, file=sys.stderr),
        )
        return asdict(found) | {"seconds": time.perf_counter() - start}

    def _build(self, size: int, library: Path) -> Row:
        papers = self._papers(size)
        shutil.rmtree(library, ignore_errors=True)
        return self._step("build", library, papers)

    def _add(self, library: Path) -> Row:
        """Add papers to a copy; the files of a library are never changed, so that links do."""
        papers, copy = self.work / "papers-new", self.work / "library-add"
        self._corpus.write_new(papers, ADDED)
        shutil.rmtree(copy, ignore_errors=True)
        before = _files(library)
        shutil.copytree(
            library, copy, copy_function=os.link, ignore=shutil.ignore_patterns(".lock")
        )
        row = self._step("add", copy, papers)
        if row["printed"]["articles"] != ADDED or _files(library) != before:
            raise SystemExit(f"adding to {copy} failed, or changed files of {library}")
        shutil.rmtree(copy)
        return row

    def _ask(self, library: Path) -> Row:
        words = "precision recall harmonic mean"
        command = [sys.executable, "-m", "eqemb", "search", str(library), words, "--weak", "--json"]
        row: Row = {}
        if importlib.util.find_spec("typer"):
            row["command_seconds"] = [run_measured(command).seconds for _ in range(5)]
        asked = run_measured([sys.executable, __file__, ASK, str(library)])
        row |= json.loads(asked.output)
        return row

    def _step(self, name: str, library: Path, papers: Path) -> Row:
        """Change a library in a process of its own, and return what it needed."""
        file = self.work / "stages.json"
        model = "model" if self._model else "no model"
        command = [sys.executable, __file__, RUN, file, name, library, papers, model]
        row = vars(run_measured(list(map(str, command))))
        row["printed"] = json.loads(row.pop("output"))
        row["stages"] = json.loads(file.read_text("utf-8"))
        file.unlink()
        return row


def _files(folder: Path) -> dict[str, tuple[int, int]]:
    """Return size and time of each file."""
    found = ((path, path.stat()) for path in sorted(folder.rglob("*")) if path.name != ".lock")
    return {str(path): (stat.st_size, stat.st_mtime_ns) for path, stat in found if path.is_file()}


def content(library: Path) -> Row:
    """Return how much is in a library."""
    report = json.loads((library / "report.json").read_text("utf-8"))
    types: set[bytes] = set()
    for path in library.rglob("records.sqlite"):
        with sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True) as records:
            types.update(digest for (digest,) in records.execute("SELECT digest FROM types"))
    return {
        "articles": report["articles"],
        "words": report["words"],
        "equations": report["equations"]["numbered"] + report["equations"]["unnumbered"],
        "types": len(types),
        "near_duplicates": len(report["clusters"]),
        "megabytes": sum(size for size, _ in _files(library).values()) / 1e6,
    }


# ---------------------------------------------------------------- tables


def figures(row: Row) -> dict[str, float]:
    """Return the figures of a size by name; seconds of a build are those of 1,000 papers."""
    thousands = row["content"]["articles"] / 1000
    found: dict[str, float] = {}
    if staged := row.get("stages"):
        for stage, cpu in staged["cpu_seconds"].items():
            found[f"stage {stage} CPU s/1,000"] = cpu / thousands
        for stage, peak in staged["peak_bytes"].items():
            found[f"stage {stage} MB of a process"] = peak / 1e6
    if made := row.get("build"):
        found["build s/1,000"] = made["seconds"] / thousands
        for stage, (seconds, cpu) in made["stages"].items():
            found[f"{stage} s/1,000"] = seconds / thousands
            found[f"{stage} CPU s/1,000"] = cpu / thousands
        found["build MB"] = made["peak_megabytes"]
        found["build anonymous MB"] = made["peak_anonymous_megabytes"]
    found["library MB"] = row["content"]["megabytes"]
    if row.get("add"):
        found |= {
            "add s": _median(row["add"], "seconds"),
            "add CPU s": _median(row["add"], "cpu_seconds"),
            "add MB": _median(row["add"], "peak_megabytes"),
            "add anonymous MB": _median(row["add"], "peak_anonymous_megabytes"),
        }
    if asked := row.get("ask"):
        found |= {
            "open ms": asked["open_seconds"] * 1e3,
            "first answer ms": asked["first_seconds"] * 1e3,
            "words ms": statistics.median(asked["words_seconds"]) * 1e3,
            "equation ms": statistics.median(asked["equations_seconds"]) * 1e3,
            "ask MB": asked["megabytes"][0],
            "ask anonymous MB": asked["megabytes"][1],
        }
        if "command_seconds" in asked:
            found["command s"] = statistics.median(asked["command_seconds"])
    return found


def _median(rows: list[Row], name: str) -> float:
    return float(statistics.median(row[name] for row in rows))


def table(heads: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table whose first column is text."""
    heads = list(heads)
    rows = [heads, ["---", *["---:"] * (len(heads) - 1)], *map(list, lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def _ratio(large: float, small: float) -> str:
    return f"{large / small:.2f}" if small else "-"


def shown(value: float) -> str:
    """Format a figure with three significant digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def tables(rows: dict[str, Row]) -> str:
    """Return what was measured: content, figures by size, ranges and ratios."""
    sizes = sorted(rows, key=int)
    heads = [f"{int(size):,}" for size in sizes]
    counts = {size: rows[size]["content"] for size in sizes}
    parts = [
        table(
            ("papers", *heads),
            ((name, *(shown(counts[s][name]) for s in sizes)) for name in counts[sizes[0]]),
        )
    ]
    every = {size: figures(rows[size]) for size in sizes}
    last = every[sizes[-1]]
    ratios = [f"{heads[-1]} / {head}" for head in heads[:-1]]
    parts.append(
        table(
            ("papers", *heads, *ratios),
            (
                (
                    name,
                    *(shown(every[s][name]) for s in sizes),
                    *(_ratio(last[name], every[s][name]) for s in sizes[:-1]),
                )
                for name in last
                if all(name in every[size] for size in sizes)
            ),
        )
    )
    for head, size in zip(heads, sizes, strict=True):
        if span := sorted(add["seconds"] for add in rows[size].get("add", ())):
            parts.append(
                f"Adding {ADDED} papers to {head}: {shown(span[0])} to {shown(span[-1])} s"
                f" in {len(span)} repetitions.\n"
            )
    return "\n".join(parts)


def main() -> None:
    """Measure each size, and print the tables."""
    if sys.argv[1:2] == [RUN]:
        run_step(Path(sys.argv[2]), *sys.argv[3:])
        return
    if sys.argv[1:2] == [ASK]:
        ask(sys.argv[2])
        return
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("corpora", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[473, 2000, 5000, 20000])
    parser.add_argument("--adds", type=int, default=5, help="repetitions of adding")
    parser.add_argument("--model", action="store_true", help="train a model, too")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--jobs", type=int, help="processes; default: one for each core")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    corpus = LargeCorpus(find_papers(given.corpora), given.jobs or os.cpu_count() or 1)
    if not {"stages", "build"} & set(given.parts):
        parser.error("--parts must have stages or build: the others need a library")
    growth = Growth(given.work, corpus, given)
    for size in sorted(given.sizes):
        growth.measure(size)
    growth.measure_pairs(max(given.sizes))
    print(f"{describe_machine()}.\n")
    print(tables({str(size): growth.rows[str(size)] for size in given.sizes}))


if __name__ == "__main__":
    main()
