"""Measure query latency: cold and warm, each part of the search alone, next to FAISS's flat index.

    python benchmarks/search.py LIBRARY                      a real library, with a model
    python benchmarks/search.py LIBRARY --sizes 100000 1000000 --keep FOLDER
    python benchmarks/search.py LIBRARY --sizes 100000 --out benchmarks/results/search.md

Larger libraries are made of copies of the real one (`large_library` says what is synthetic); with
`--keep` they are made once. Queries are drawn from the real library with a fixed seed: words (one
to four, frequent and rare ones, one in ten misspelt), LaTeX of equations, and names of equations.
Each query runs once, after a few warm-up queries.

*cold* is the command as users run it, in its own process, with its files in the page cache and its
bytecode compiled, alternating with `python -c "import numpy"`. *warm* is one process with an open
library that returns ten complete hits. Milliseconds: median and 90th percentile of wall-clock time,
and the median CPU time of all threads, which is less sensitive to other work on the machine.
FAISS's flat index (faiss-cpu) and our matrix product find the ten nearest of the same vectors in
the same process, with one thread and with all. All other warm figures use one thread, because
waiting threads give meaningless figures if other work uses the second core.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from large_library import make_large

from eqemb.corpus.vocabulary import STOP_WORDS
from eqemb.facade.library import Library
from eqemb.formula import layout
from eqemb.index.postings import top_k
from eqemb.search.query import check_ranking

NOT_COUNTED = 5
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
Times = list[tuple[float, float]]
Row = tuple[str, Times]


# ------------------------------------------------------------ questions


def questions(library: Library, count: int) -> dict[str, list[str]]:
    """Return queries by words, LaTeX and name, the same for the same library."""
    random = np.random.default_rng(0)
    wording = library.engine.text
    telling = [
        word
        for word, _, near in wording.vocabulary()
        if near and len(word) > 3 and word.isalpha() and word not in STOP_WORDS
    ]
    drawn = random.permutation(telling)[:6000].tolist()
    sizes = {word: wording.has_phrase((word,)).sum() for word in drawn}
    every = len(library.engine.types)
    common = [word for word, size in sizes.items() if size > every // 50]
    rare = [word for word, size in sizes.items() if 2 <= size <= every // 300]
    words = []
    for number in range(count):
        drawn = [str(random.choice(common if random.random() < 0.5 else rare))
                 for _ in range(number % 4 + 1)]  # fmt: skip
        if number % 10 == 9:
            drawn[0] = f"{drawn[0][:-2]}q{drawn[0][-2:]}"
        words.append(" ".join(drawn))
    query = (
        "SELECT name, ordinal, expanded FROM equations e JOIN sources s ON s.id = e.article"
        " JOIN types t ON t.id = e.type WHERE length(t.units) >= 8"
        " AND length(expanded) BETWEEN 12 AND 300 ORDER BY article, ordinal"
    )
    rows = [row for part in library.records.parts for row in part.rows(query)]
    chosen = [rows[at] for at in random.choice(len(rows), 2 * count, replace=False).tolist()]
    return {
        "words": words,
        "latex": [latex for _, _, latex in chosen[:count]],
        "names": [f"{name}#{ordinal}" for name, ordinal, _ in chosen[count:]],
    }


# ------------------------------------------------------------ clocks


def clocked(ask: Callable[[Any], Any], asked: list[Any]) -> Times:
    """Return wall-clock and CPU seconds of each query."""
    for one in asked[:NOT_COUNTED]:
        ask(one)
    found = []
    for one in asked:
        start, cpu = time.perf_counter(), time.process_time()
        ask(one)
        found.append((time.perf_counter() - start, time.process_time() - cpu))
    return found


def run_clocked(command: list[str]) -> tuple[float, float]:
    """Return wall-clock and CPU seconds of a process."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, capture_output=True, check=False, env=environment)
    clock = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):  # 1: nothing found
        raise SystemExit(done.stderr.decode())
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return clock, cpu


# ------------------------------------------------------------ what is timed


def cold(folder: Path, asked: dict[str, list[str]]) -> Iterable[Row]:
    """Time the commands, alternating with a bare import of NumPy."""
    python = [sys.executable]
    eqemb = [*python, "-m", "eqemb"]
    kinds = {"search": "words", "similar": "latex"}
    found: dict[str, Times] = {kind: [] for kind in ("import numpy", *kinds)}
    for number in range(-2, len(asked["words"])):
        for kind, what in kinds.items():
            one = asked[what][number].split() if what == "words" else [asked[what][number]]
            found[kind].append(run_clocked([*eqemb, kind, str(folder), "--", *one]))
        found["import numpy"].append(run_clocked([*python, "-c", "import numpy"]))
    found = {kind: times[2:] for kind, times in found.items()}  # the first two warm the page cache
    yield "cold: `python -c 'import numpy'`", found["import numpy"]
    yield "cold: `eqemb search WORDS`", found["search"]
    yield "cold: `eqemb similar LATEX`", found["similar"]


def warm(library: Library, asked: dict[str, list[str]]) -> Iterable[Row]:
    """Time queries of an open library, and of each part of the search."""
    yield "warm: search by words", clocked(library.search, asked["words"])
    yield "warm: similar to LaTeX", clocked(library.similar, asked["latex"])
    yield "warm: similar to a name", clocked(library.similar, asked["names"])
    search = library.engine
    limits: dict[str, dict[str, Any]] = {
        "--has '\\sum'": {"has": "\\sum"},
        "--has 'x_i'": {"has": "x_i"},
        "--section model": {"section": "model"},
    }
    for shown, limit in limits.items():
        yield f"warm: search {shown}", clocked(partial(library.search, **limit), asked["words"])
    phrases = [f'"the model" {words}' for words in asked["words"]]
    yield 'warm: search with the phrase "the model"', clocked(library.search, phrases)
    for part in ("words", "meaning"):
        times = clocked(partial(library.search, by=check_ranking(part)), asked["words"])
        yield f"words, by {part} alone", times
    for part in ("structure", "words", "meaning"):
        times = clocked(partial(library.similar, by=check_ranking(part)), asked["latex"])
        yield f"LaTeX, by {part} alone", times
    meaning = search.vectors
    if meaning is None:
        return

    def fold_in(latex: str) -> Any:
        return meaning.equation_vector(layout(latex))

    yield "fold-in of LaTeX", clocked(fold_in, asked["latex"])


def answers(folder: Path, asked: dict[str, list[str]]) -> Iterable[Row]:
    """Return the warm rows, from a process with one thread."""
    command = [sys.executable, __file__, str(folder), "--warm"]
    done = subprocess.run(
        command,
        input=json.dumps(asked).encode(),
        stdout=subprocess.PIPE,
        check=True,
        env=os.environ | ONE_THREAD,
    )
    yield from json.loads(done.stdout).items()


def vectors(folder: Path, count: int) -> dict[str, Times]:
    """Time the ten nearest equations, by our matrix product and by FAISS; runs in a process."""
    with Library.open(folder) as library:
        meaning = library.engine.vectors
        if meaning is None:
            raise SystemExit(f"{folder} has no vectors")
        index = meaning.contexts
        table = np.concatenate(index.parts)
    random = np.random.default_rng(1)
    asked = [np.array(table[row]) for row in random.integers(0, len(table), count)]

    def product(vector: Any) -> Any:
        return top_k(index.dot(vector), 10)

    found = {"one product, ten best": clocked(product, asked)}
    try:
        import faiss
    except ImportError:
        print("FAISS is not installed: timing only our product", file=sys.stderr)
        return found
    if os.environ.get("OMP_NUM_THREADS") == "1":
        faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatIP(table.shape[1])
    index.add(np.ascontiguousarray(table))
    found["FAISS IndexFlatIP"] = clocked(lambda one: index.search(one[None], 10), asked)
    for one in asked:  # equal scores may be in any order
        if not np.allclose(index.search(one[None], 10)[0][0], table[product(one)] @ one, atol=1e-5):
            raise SystemExit("FAISS and our product find different equations")
    return found


def beside_faiss(folder: Path, count: int) -> Iterable[Row]:
    """Time the vector search with one thread and with all."""
    for threads in ("one thread", "all threads"):
        environment = os.environ | (ONE_THREAD if threads == "one thread" else {})
        command = [sys.executable, __file__, str(folder), "--vectors", str(count)]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment)
        for name, times in json.loads(done.stdout).items():
            yield f"vectors, {threads}: {name}", times


# ------------------------------------------------------------ the table


def measured(folder: Path, asked: dict[str, list[str]]) -> tuple[int, dict[str, Times]]:
    """Return the number of equations of a library and all times."""
    with Library.open(folder) as library:
        count = len(library.engine.types)
    rows = dict(cold(folder, asked)) | dict(answers(folder, asked))
    return count, rows | dict(beside_faiss(folder, len(asked["words"])))


def table(columns: list[tuple[int, dict[str, Times]]]) -> str:
    """Format milliseconds as Markdown: median / 90th percentile, and CPU."""
    heads = [f"{count:,} equations" for count, _ in columns]
    lines = [
        f"| ms: median / p90 wall-clock (median CPU) | {' | '.join(heads)} |",
        "|---|" + "---:|" * len(heads),
    ]
    for name in columns[0][1]:
        cells = []
        for _, rows in columns:
            clock, cpu = (1000 * np.array(rows[name])).T
            three = np.median(clock), np.percentile(clock, 90), np.median(cpu)
            shown = [f"{value:.{0 if value >= 100 else 1}f}" for value in three]
            cells.append(f"{shown[0]} / {shown[1]} ({shown[2]})")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    for name in ("search WORDS", "similar LATEX"):
        cells = []
        for _, rows in columns:
            bare = np.median(np.array(rows["cold: `python -c 'import numpy'`"]), axis=0)
            ratio = np.median(np.array(rows[f"cold: `eqemb {name}`"]), axis=0) / bare
            cells.append(f"{ratio[0]:.1f} ({ratio[1]:.1f})")
        lines.append(f"| cold `eqemb {name}` / import of NumPy | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("library", type=Path)
    parser.add_argument(
        "--sizes", type=int, nargs="*", default=[], help="sizes of larger libraries"
    )
    parser.add_argument("--keep", type=Path, help="folder for larger libraries")
    parser.add_argument("--count", type=int, default=60, help="number of queries of each kind")
    parser.add_argument("--out", type=Path, help="Markdown file for the table")
    parser.add_argument("--warm", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--vectors", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.warm:
        with Library.open(asked.library) as library:
            print(json.dumps(dict(warm(library, json.load(sys.stdin)))))
        return
    if asked.vectors is not None:
        print(json.dumps(vectors(asked.library, asked.vectors)))
        return
    with Library.open(asked.library) as library:
        drawn = questions(library, asked.count)
    with tempfile.TemporaryDirectory() as scratch:
        folders = [asked.library]
        for size in asked.sizes:
            folder = (asked.keep or Path(scratch)) / str(size)
            if not (folder / "library.json").exists():
                make_large(asked.library, folder, size)
            folders.append(folder)
        columns = [measured(folder, drawn) for folder in folders]
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    text = (
        f"{asked.count} queries of each kind; Python {platform.python_version()},"
        f" NumPy {np.__version__}, {os.cpu_count()} cores, load {load:.1f} per core"
        f" at the end.\n\n{table(columns)}\n"
    )
    print(text)
    if asked.out is not None:
        asked.out.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
