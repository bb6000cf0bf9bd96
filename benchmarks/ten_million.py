"""Make an index of ten million equations out of copies of a small one, and measure searches on it.

    python benchmarks/ten_million.py make LIBRARY FOLDER                 10 parts of 65 copies
    python benchmarks/ten_million.py make LIBRARY FOLDER --parts 2 --copies 7
    python benchmarks/ten_million.py index FOLDER
    python benchmarks/ten_million.py measure FOLDER --parts 1 [--exhaustive]    a smaller library
    python benchmarks/ten_million.py measure FOLDER [--out results/ten_million.json]

    python benchmarks/ten_million.py disk FOLDER                         the disk alone

`index` writes what a large library has besides: windows of words, acronyms, and approximate indexes
of vectors. LIBRARY has one segment and a model (`eqemb compact` joins segments). FOLDER is no
library: only `tiled_records.open_tiled` opens it, for `eqemb.search.engine.Search`.

**What is real**: the files of an index and their format; lengths of posting lists and contexts
relative to the number of equations; how words, units, shapes, symbols and definitions occur
together within an equation; the order of equations in articles; every word and formula of the base.

**What is synthetic**

- Every copy has all articles again. The first copy of the first part is the base itself: with one
  part of one copy, the answers are those of the library.
- A row of postings (a stem, a unit, a shape, a symbol, a word of a definition) with at most two
  owners in the base has one of twelve names in each copy, the first of them often and the last ones
  seldom; half of them are used by one part alone. So the vocabulary grows about with the root of
  the number of equations, as in text. Other rows have proportionally more owners.
- Half of the letters of a copy are permuted among four letters of similar frequency: in symbols,
  units and normal forms. The shown LaTeX has the letters of the base. The sixty-five copies of a
  part have different letters, the parts have the same ones.
- Types, forms, families and normal forms of different copies are different by their keys.
- The impact of a stem is multiplied by a factor of the equation and one of the stem, both from 0.8
  to 1.2 and drawn for each copy.
- A vector is mixed with that of another row (a weight up to 0.4) and noise of length 0.3.

**What differs from a real collection**

- It has 473 topics, each many times: a query finds hundreds of nearly equal answers, which differ
  by the factors above. Real ones differ more, so that the first ten are easier to tell from the
  rest. There are no near-duplicates in the sense of the library (no groups, no shared families).
- Rare words, and rare combinations of frequent words, do not become frequent by chance.
- Articles of one topic are not next to each other, beyond those of one copy.

**What is left out or smaller than in an index of today**: records, texts of definitions, meanings
and renderings are not stored (the records of the base answer); counts have 16 bits instead of 32,
impacts and certainties are float16, symbols uint16. The parts share one file (hard links) for text,
positions, rows of profiles and alignments, which would be the same in each: `measure` prints how
many bytes that saves on disk, and in the page cache.

`measure` asks queries one at a time, in a process with one core, then in one with two. Words are
two to four telling words of a real context of the base, formulas are equations of the base with
other letters; both come after those of queries.toml and of the judged topics that are not for
testing. Milliseconds are wall-clock time of the whole answer, ten hits, each query once after
`WARM_UP` others; then all of them again, from memory as far as it has room. Agreement compares the
first ten with those of the exhaustive search.
"""

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from tiled_copies import Base
from tiled_records import open_tiled
from tiling import make_tiled

from eqemb.corpus.vocabulary import STOP_WORDS
from eqemb.facade.library import Library
from eqemb.index.approximate_build import update_approximate
from eqemb.index.build import index_windows
from eqemb.index.text_index import TextIndex
from eqemb.index.vectors import VectorSpace
from eqemb.search.engine import Search
from eqemb.search.results import Answer

HERE = Path(__file__).parent
WARM_UP = 20
REACH = 12  # words on each side of an equation that a query is drawn from
_ONE_LETTER = re.compile(r"(?<![A-Za-z\\])[A-Za-z](?![A-Za-z])")
_IN_BRACES = re.compile(r"\\(?:begin|end|text\w*|mbox|label|operatorname\*?)\s*\{[^{}]*\}")
_FIXED = frozenset("edi")  # letters that are often constants


# ------------------------------------------------------------ queries


def written_queries() -> tuple[list[str], list[str]]:
    """Return written words and formulas: queries.toml, and judged topics not for testing."""
    queries = tomllib.loads((HERE / "queries.toml").read_text("utf-8"))
    topics = tomllib.loads((HERE / "judged" / "topics.toml").read_text("utf-8"))["topic"]
    found: dict[str, list[str]] = {"words": queries["words"], "equation": queries["equations"]}
    for topic in topics:
        if int(topic["id"][1:]) % 2:  # development topics, see `evaluation.judged_topics`
            found[topic["kind"]].append(topic["query"])
    return found["words"], found["equation"]


def word_queries(text: TextIndex, equations: int, random: np.random.Generator) -> Iterator[str]:
    """Yield telling words around equations, two to four of each."""
    while True:
        around = text.words_around(int(random.integers(equations)), REACH)
        telling = [
            word
            for word in dict.fromkeys(word for word, _, _ in around)
            if len(word) > 3 and word.isalpha() and word not in STOP_WORDS
        ]
        count = int(random.integers(2, 5))
        if len(telling) >= count:
            chosen = sorted(random.choice(len(telling), count, replace=False).tolist())
            yield " ".join(telling[at] for at in chosen)


def formula_queries(latex: list[str], random: np.random.Generator) -> Iterator[str]:
    """Yield equations with other letters."""
    likely = [text for text in latex if 12 <= len(text) <= 300 and "&" not in text]
    while True:
        yield rename_letters(likely[int(random.integers(len(likely)))], random)


def rename_letters(latex: str, random: np.random.Generator) -> str:
    """Permute the letters of an equation that stand alone, small and large ones apart."""
    names: dict[str, str] = {}
    for first in "aA":
        every = [chr(ord(first) + at) for at in range(26)]
        every = [letter for letter in every if letter not in _FIXED]
        names |= dict(zip(every, random.permutation(every).tolist(), strict=True))
    fixed = [match.span() for match in _IN_BRACES.finditer(latex)]

    def other(match: re.Match[str]) -> str:
        inside = any(start <= match.start() < end for start, end in fixed)
        return match[0] if inside else names.get(match[0], match[0])

    return _ONE_LETTER.sub(other, latex)


def draw_queries(base: Path, count: int) -> dict[str, list[str]]:
    """Return `count` queries in words and as many formulas, the same for the same library."""
    random = np.random.default_rng(0)
    words, formulas = written_queries()
    with Library.open(base) as library:
        engine = library.engine
        drawn = word_queries(engine.text, engine.segments.equation_count, random)
        while len(words) < count:
            words.append(next(drawn))
        latex = library.records.expanded_latex()
        renamed = formula_queries(latex, random)
        while len(formulas) < count:
            formulas.append(next(renamed))
    return {"search": words[:count], "similar": formulas[:count]}


# ------------------------------------------------------------ measuring, in a process of its own


def set_exhaustive(search: Search, *, exhaustive: bool) -> None:
    """Turn the selection of candidates off or on."""
    search.segments.is_large = not exhaustive


def memory() -> dict[str, float]:
    """Return resident megabytes: anonymous, of mapped files, and the peak of both."""
    text = Path("/proc/self/smaps_rollup").read_text("ascii")
    size = {key: int(value) / 1024 for key, value in re.findall(r"(\w+): +(\d+) kB", text)}
    peak = int(re.findall(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text("utf-8"))[0])
    own = size["Anonymous"]
    return {"anonymous": own, "mapped files": size["Rss"] - own, "peak": peak / 1024}


def ask(search: Search, kind: str, query: str) -> Answer:
    """Answer a query."""
    return search.search_words(query) if kind == "search" else search.search_similar(query)


def bytes_read() -> int:
    """Return how many bytes this process has read from the disk."""
    text = Path("/proc/self/io").read_text("ascii")
    return int(re.findall(r"\bread_bytes: (\d+)", text)[0])


def time_queries(search: Search, kind: str, queries: list[str]) -> dict[str, list[float]]:
    """Return milliseconds of each query, of the clock and of all threads' CPU time, and reads."""
    found: dict[str, list[float]] = {"clock": [], "cpu": [], "major faults": [], "MB read": []}
    for query in queries:
        before = bytes_read()
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
        start, cpu = time.perf_counter(), time.process_time()
        ask(search, kind, query)
        found["clock"].append(1000 * (time.perf_counter() - start))
        found["cpu"].append(1000 * (time.process_time() - cpu))
        now = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
        found["major faults"].append(float(now - faults))
        found["MB read"].append((bytes_read() - before) / 1e6)
    return found


def run_queries(
    folder: Path, asked: dict[str, list[str]], parts: int | None = None, *, exhaustive: bool
) -> dict[str, Any]:
    """Time all queries in this process."""
    start = time.perf_counter()
    search = Search(*open_tiled(folder, parts))
    set_exhaustive(search, exhaustive=exhaustive)
    found: dict[str, Any] = {
        "equations": search.segments.equation_count,
        "open": time.perf_counter() - start,
        "memory": {"opened": memory()},
    }
    for kind, queries in asked.items():
        for query in queries[-WARM_UP:]:
            ask(search, kind, query)
    found["memory"]["warm"] = memory()
    for kind, queries in asked.items():
        found[kind] = time_queries(search, kind, queries[:-WARM_UP])
    found["memory"]["after all queries"] = memory()
    for kind, queries in asked.items():
        found[f"{kind} again"] = time_queries(search, kind, queries[:-WARM_UP])
    found["nearest"] = time_nearest(search, asked["search"][:-WARM_UP])
    return found


def time_nearest(search: Search, queries: list[str]) -> list[float]:
    """Return milliseconds of CPU time of finding the ten nearest contexts, once asked before."""
    found: list[float] = []
    if (vectors := search.vectors) is None:
        return found
    for query in queries:
        vector = vectors.words_vector(query.lower().split())
        vectors.contexts.nearest(vector, 10)
        cpu = time.process_time()
        vectors.contexts.nearest(vector, 10)
        found.append(1000 * (time.process_time() - cpu))
    return found


def compare(folder: Path, asked: dict[str, list[str]], count: int) -> dict[str, Any]:
    """Return how far the first ten agree with those of the exhaustive search."""
    search = Search(*open_tiled(folder))
    found: dict[str, Any] = {}
    for kind, queries in asked.items():
        # some of the written ones and some of the drawn ones
        chosen = [queries[at] for at in np.linspace(0, len(queries) - 1, count).astype(int)]
        rows = []
        for query in chosen:
            lists = []
            for exhaustive in (False, True):
                set_exhaustive(search, exhaustive=exhaustive)
                hits = ask(search, kind, query).hits
                lists.append({hit.equation.id: hit.score for hit in hits})
            ours, wanted = lists
            if wanted:
                share = len(ours.keys() & wanted.keys()) / len(wanted)
                score = sum(ours.values()) / max(sum(wanted.values()), 1e-12)
                rows.append((share, list(ours) == list(wanted), score))
        shares, same, scores = np.array(rows, float).reshape(-1, 3).T
        found[kind] = {
            "queries": len(rows),
            "agreement of the first ten": float(shares.mean()),
            "the same ten in the same order": float(same.mean()),
            "sum of their scores": float(scores.mean()),
            "least agreement": float(shares.min()),
        }
    return found


# ------------------------------------------------------------ report


def in_process(arguments: list[str], asked: dict[str, list[str]], cores: int) -> dict[str, Any]:
    """Run a measurement in a process that may use so many cores."""
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    command = [sys.executable, __file__, *arguments]
    if shutil.which("taskset"):
        command = ["taskset", "-c", f"0-{cores - 1}", *command]
    done = subprocess.run(
        command,
        input=json.dumps(asked).encode(),
        stdout=subprocess.PIPE,
        check=True,
        env=os.environ | dict.fromkeys(threads, str(cores)),
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def bytes_by_kind(folder: Path) -> tuple[Counter[str], int]:
    """Return bytes on disk by the first word of file names, and bytes that links save."""
    sizes: Counter[str] = Counter()
    seen, saved = set(), 0
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        state = path.stat()
        if state.st_ino in seen:
            saved += state.st_size
            continue
        seen.add(state.st_ino)
        is_vectors = path.relative_to(folder).parts[0] == "vectors"
        sizes["vectors: " * is_vectors + path.name.split(".")[0]] += state.st_size
    return sizes, saved


def show(report: dict[str, Any]) -> Iterable[str]:
    """Yield the lines of a report."""
    made = report["made"]
    total = sum(report["bytes"].values())
    yield f"{made['equations']:,} equations: {made['parts']} parts of {made['copies']} copies"
    yield f"CPU seconds to make: {sum(made['seconds'].values()):.0f}"
    yield from (f"  {name:20} {value:8.1f}" for name, value in made["seconds"].items())
    yield f"bytes on disk: {total / 1e9:.2f} GB; {report['saved'] / 1e9:.2f} GB saved by links"
    for name, size in sorted(report["bytes"].items(), key=lambda item: -item[1]):
        if size >= total / 200:
            yield f"  {name:20} {size / 1e9:8.2f} GB"
    for name, run in report["runs"].items():
        yield f"{name}, opened in {run['open']:.2f} s"
        for kind in ("search", "similar", "search again", "similar again"):
            clock = np.percentile(run[kind]["clock"], [50, 90, 99])
            cpu, faults = np.median(run[kind]["cpu"]), np.mean(run[kind]["major faults"])
            read = np.mean(run[kind]["MB read"])
            times = ", ".join(f"p{p} {t:.0f}" for p, t in zip((50, 90, 99), clock, strict=True))
            yield (
                f"  {kind}: ms {times} (median CPU {cpu:.0f};"
                f" {faults:.1f} major faults, {read:.1f} MB read a query;"
                f" n = {len(run[kind]['clock'])})"
            )
        nearest = np.percentile(run["nearest"] or [0], [50, 99])
        yield f"  ten nearest contexts: CPU ms p50 {nearest[0]:.1f}, p99 {nearest[1]:.1f}"
        for when, sizes in run["memory"].items():
            parts = ", ".join(f"{name} {size:,.0f} MB" for name, size in sizes.items())
            yield f"  memory {when}: {parts}"
    for kind, found in report.get("agreement", {}).items():
        yield f"agreement with the exhaustive search, {kind}, n = {found['queries']}:"
        yield from (f"  {name}: {value:.3f}" for name, value in found.items() if name != "queries")


def measure(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure an index in processes of their own."""
    made = json.loads((folder / "made.json").read_text("utf-8"))
    base = Path(made["base"])
    made["parts"] = arguments.parts or made["parts"]
    made["equations"] = len(Base(base).equations) * made["parts"] * made["copies"]
    asked = draw_queries(base, arguments.count + WARM_UP)
    sizes, saved = bytes_by_kind(folder)
    report: dict[str, Any] = {"made": made, "bytes": dict(sizes), "saved": saved, "runs": {}}
    options = ["--exhaustive"] * arguments.exhaustive
    if arguments.parts:
        options += ["--parts", str(arguments.parts)]
    for cores in arguments.cores:
        name = "one core" if cores == 1 else f"{cores} cores"
        run = in_process(["run", str(folder), *options], asked, cores)
        report["runs"][name + ", exhaustive" * arguments.exhaustive] = run
    if arguments.agreement:
        count = ["--agreement", str(arguments.agreement)]
        report["agreement"] = in_process(["compare", str(folder), *count], asked, 2)
    return report


def time_reads(path: Path, readers: int, count: int = 1_000) -> list[float]:
    """Return milliseconds of random reads of a page each, by so many threads, not from memory."""
    file, found = os.open(path, os.O_RDONLY), list[float]()
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)

    def read(seed: int) -> None:
        pages = np.random.default_rng((readers, seed)).integers(0, path.stat().st_size >> 12, count)
        for page in pages.tolist():
            start = time.perf_counter()
            os.pread(file, 4096, page << 12)
            found.append(1000 * (time.perf_counter() - start))

    with ThreadPoolExecutor(readers) as pool:
        list(pool.map(read, range(readers)))
    os.close(file)
    return found


def measure_disk(folder: Path) -> None:
    """Print how long random reads take, and how many a second there are."""
    for readers in (1, 2, 4, 8, 16, 32):
        start = time.perf_counter()
        took = time_reads(folder / "vectors" / "0" / "contexts.npy", readers)
        rate = len(took) / (time.perf_counter() - start)
        p50, p99 = np.percentile(took, [50, 99])
        print(f"{readers} readers: {rate:,.0f} reads a second, ms p50 {p50:.3f}, p99 {p99:.2f}")


def add_indexes(folder: Path) -> None:
    """Write what only large libraries have: windows of words, and approximate indexes."""
    made = json.loads((folder / "made.json").read_text("utf-8"))
    stages, start = {}, time.process_time()
    _, segments, vectors = open_tiled(folder)
    for part in segments:
        index_windows(Path(part.folder), part.records)
    stages["windows and acronyms"] = time.process_time() - start
    _, segments, vectors = open_tiled(folder)

    def watch(stage: str, state: str) -> None:
        print(f"{stage}: {state}", file=sys.stderr)

    start = time.process_time()
    update_approximate(VectorSpace(segments, vectors), watch)
    stages["approximate indexes"] = time.process_time() - start
    made["large"] = {"CPU seconds": stages, "peak MB": memory()["peak"]}
    (folder / "made.json").write_text(json.dumps(made, indent=1), "utf-8")
    print(json.dumps(made["large"]))


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    commands = parser.add_subparsers(dest="command", required=True)
    maker = commands.add_parser("make", help="make an index")
    maker.add_argument("library", type=Path)
    maker.add_argument("folder", type=Path)
    maker.add_argument("--parts", type=int, default=10)
    maker.add_argument("--copies", type=int, default=65, help="copies of the library in a part")
    commands.add_parser("index", help="add what large libraries have").add_argument(
        "folder", type=Path
    )
    commands.add_parser("disk", help="time random reads").add_argument("folder", type=Path)
    for name in ("measure", "run", "compare"):
        other = commands.add_parser(name)
        other.add_argument("folder", type=Path)
        other.add_argument("--count", type=int, default=200, help="queries of each kind")
        other.add_argument("--cores", type=int, nargs="*", default=[1, 2])
        other.add_argument("--exhaustive", action="store_true", help="without candidate selection")
        other.add_argument("--agreement", type=int, default=50, help="queries that are compared")
        other.add_argument("--parts", type=int, help="ask the first parts alone")
        other.add_argument("--out", type=Path, help="JSON file for all figures")
    asked = parser.parse_args()
    if asked.command == "make":
        make_tiled(asked.library, asked.folder, asked.parts, asked.copies)
    elif asked.command == "index":
        add_indexes(asked.folder)
    elif asked.command == "disk":
        measure_disk(asked.folder)
    elif asked.command == "run":
        queries = json.load(sys.stdin)
        print(
            json.dumps(run_queries(asked.folder, queries, asked.parts, exhaustive=asked.exhaustive))
        )
    elif asked.command == "compare":
        print(json.dumps(compare(asked.folder, json.load(sys.stdin), asked.agreement)))
    else:
        report = measure(asked.folder, asked)
        print("\n".join(show(report)))
        if asked.out is not None:
            asked.out.write_text(json.dumps(report, indent=1), "utf-8")


if __name__ == "__main__":
    main()
