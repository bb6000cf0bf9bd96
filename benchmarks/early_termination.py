"""Compare our postings with early termination to an exhaustive sum, Seismic and tantivy.

    python benchmarks/early_termination.py INDEX [--count 200] [--repeats 3] [--work FOLDER]
                                           [--others INDEX ...]
                                           [--out benchmarks/results/early_termination.md]

INDEX is the folder of the index of one segment (a part of what `ten_million.py` makes, or
`segments/NAME/index` of a library). A query is two to four words from the context of a random
equation, weighted by idf; the ten best and the 2,000 best equations are asked for.

All engines get the same sparse vectors: for each equation the stems and their impacts. Only stems
that some query asks for are indexed, because others change no sum and no engine looks at them;
with `--all` every stem is, which takes far longer. Sizes and build times are of what is indexed.

- *exhaustive*: the impacts of all postings of a query are added up, then the best are taken. What
  it finds is the truth for recall. Equations with equal sums are equally good.
- *ours*: `WordCandidates`, with windows of several sizes, after the postings are inverted by
  `PostingsWriter`. It returns candidates in the order of the library, not of their sums.
- *Seismic* (pyseismic-lsr): approximate search by clustered posting lists and exact inner products;
  its defaults, and longer lists with fewer clusters, which recall of the 2,000 best needs.
- *tantivy*: documents are the stems of an equation. It ranks by its own BM25 without our impacts,
  so only its speed and size compare; it has no recall here.

With `--others`, the exhaustive sum and ours are also measured on several segments where they are.

Milliseconds are CPU time of the process. Queries are parsed beforehand, and each runs in one
thread; its time is the median of the repeats. Percentiles are over queries.
"""

import argparse
import os
import platform
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np
from early_termination_engines import (
    COUNTS,
    KEPT_POSTINGS,
    Engine,
    ExactSums,
    OurPostings,
    Query,
    Vectors,
    build_seismic,
    build_tantivy,
)

from eqemb.index import windows
from eqemb.index.candidates import WordCandidates
from eqemb.index.postings import Array, Postings, load_array
from eqemb.index.segments import IndexSegments, SegmentSource
from eqemb.index.stemming import STOP_STEMS
from eqemb.index.text_index import TextIndex
from eqemb.storage.atomic import write_atomically

#: Sizes of our windows that are tried besides the usual one, as powers of two.
TRIED_BITS = (8, 9, 11, 12)
#: Sums that differ by less are equal.
TOLERANCE = 1e-5


class Figures(NamedTuple):
    """What was measured of an engine for one count."""

    milliseconds: Array
    recall: float | None
    touched: float | None


# ------------------------------------------------------------ queries and vectors


def draw_queries(text: TextIndex, count: int, seed: int = 0) -> list[Query]:
    """Return queries as stems of the segment with their weights, which sum to 1."""
    random = np.random.default_rng(seed)
    (part,) = text.parts
    drawn: list[Query] = []
    while len(drawn) < count:
        stems, _ = part.forward.of(int(random.integers(len(part.segment))))
        telling = [row for row in stems.tolist() if _is_telling(part.stems[row])]
        size = int(random.integers(2, 5))
        if len(telling) >= size:
            chosen = random.choice(telling, size, replace=False).tolist()
            idfs = [text.idf(part.stems[row]) for row in chosen]
            drawn.append({row: idf / sum(idfs) for row, idf in zip(chosen, idfs, strict=True)})
    return drawn


def _is_telling(stem: str) -> bool:
    return len(stem) > 2 and stem.isalpha() and stem not in STOP_STEMS


def open_text(*folders: Path) -> tuple[IndexSegments, TextIndex]:
    """Open the text of segments without their records."""
    records = cast("Any", SimpleNamespace(documents=0))
    segments = IndexSegments([SegmentSource(folder.name, folder, records) for folder in folders])
    return segments, TextIndex(segments)


def take_vectors(folder: Path, stems: Array, rows: int) -> Vectors:
    """Return the vectors of an index with some of its stems, which are numbered anew."""
    postings = Postings(folder, "terms")
    lists = [postings.of(stem) for stem in stems.tolist()]
    numbers = np.repeat(np.arange(len(lists), dtype=np.int32), [len(found) for found, _ in lists])
    owners = np.concatenate([found for found, _ in lists])
    impacts = np.concatenate([found for _, found in lists]).astype(np.float32)
    order = np.argsort(owners, kind="stable")
    pointers = np.zeros(rows + 1, np.int64)
    np.cumsum(np.bincount(owners, minlength=rows), out=pointers[1:])
    return Vectors(pointers, numbers[order], impacts[order], len(lists))


# ------------------------------------------------------------ measuring


def found_rows(answer: Any) -> Array:
    """Return the rows of an answer of ours or of Seismic."""
    if isinstance(answer, np.ndarray):
        return answer
    return np.array([int(name) for _, _, name in answer], np.int64)


def recall(found: Array, best: Array) -> float:
    """Return the share of the best sums that were found; equal sums are equally good."""
    if not len(best):
        return 1.0
    good = int(np.count_nonzero(found >= best[-1] - TOLERANCE))
    return min(good, len(best)) / len(best)


def measure(engine: Engine, truth: ExactSums, queries: int, repeats: int) -> list[Figures]:
    """Ask an engine all queries and return its figures for each count."""
    made = []
    for count in COUNTS:
        times = np.empty((repeats, queries))
        recalls, shares = [], []
        for number in range(queries):  # this pass also reads the files into memory
            answer = engine.ask(number, count)
            if engine.has_recall:
                rows = np.unique(found_rows(answer))
                best = truth.best_sums(number)[:count]
                recalls.append(recall(truth.sums_of(number, rows), best))
            if engine.touched is not None:
                shares.append(engine.touched(number, count))
        for repeat in range(repeats):
            for number in range(queries):
                start = time.process_time()
                engine.ask(number, count)
                times[repeat, number] = time.process_time() - start
        made.append(
            Figures(
                1000 * np.median(times, axis=0),
                float(np.mean(recalls)) if recalls else None,
                float(np.mean(shares)) if shares else None,
            )
        )
    return made


def table_row(engine: Engine, figures: Sequence[Figures]) -> str:
    """Format the figures of an engine as a row of the table."""
    seconds = "-" if np.isnan(engine.seconds) else f"{engine.seconds:.1f}"
    cells = [engine.name, seconds, f"{engine.size / 1e6:,.0f}"]
    for one in figures:
        times = np.percentile(one.milliseconds, (50, 90, 99)).tolist()
        cells.append(" / ".join(f"{value:.2f}" for value in times))
        cells.append("-" if one.recall is None else f"{one.recall:.3f}")
        cells.append("-" if one.touched is None else f"{100 * one.touched:.0f} %")
    return f"| {' | '.join(cells)} |"


def table_head() -> str:
    """Return the head of the table."""
    cells = ["engine", "build, CPU s", "MB"]
    for count in COUNTS:
        cells += [f"{count:,} best: p50 / p90 / p99 ms", "recall", "postings read"]
    return f"| {' | '.join(cells)} |\n|---|{'---:|' * (len(cells) - 1)}"


def measure_stored(
    folders: Sequence[Path], queries: Sequence[Mapping[str, float]], repeats: int
) -> tuple[int, list[str]]:
    """Measure several segments where they are; return their rows and rows of the table.

    Rivals are left out: copies of so many postings do not fit everywhere.
    """
    segments, text = open_text(*folders)
    rows = segments.equation_count
    exact = ExactSums([text.stem_terms(query) for query in queries], rows)
    size, more = (
        sum(path.stat().st_size for folder in folders for path in found(folder))
        for found in (_posting_files, _window_files)
    )
    made = [
        Engine("exhaustive, NumPy", np.nan, size, exact.find_best),
        exact.windowed(
            f"ours, windows of {1 << windows.BITS:,} rows",
            (np.nan, size + more),
            WordCandidates(segments, text),
        ),
    ]
    return rows, [table_row(one, measure(one, exact, len(queries), repeats)) for one in made]


def _posting_files(folder: Path) -> Iterator[Path]:
    return (folder / f"terms.{part}.npy" for part in ("pointers", "owners", "weights"))


def _window_files(folder: Path) -> Iterator[Path]:
    return chain(folder.glob("terms.levels.npy"), folder.glob("terms.windows.*.npy"))


class Setup(NamedTuple):
    """What all engines are made of."""

    ours: OurPostings
    vectors: Vectors
    queries: Sequence[Query]
    work: Path


def engines(setup: Setup, bits: Sequence[int], kept: Sequence[int]) -> Iterator[tuple[int, Engine]]:
    """Build one engine after the other; yield each with the number of its table."""
    ours, vectors, queries, work = setup
    yield 0, ours.exhaustive()
    with ours.windowed(windows.BITS) as engine:
        yield 0, engine
    with tempfile.TemporaryDirectory(dir=work) as folder:
        try:
            yield 0, build_tantivy(vectors, queries, Path(folder))
        except ImportError:
            print("tantivy is not installed: left out")
    for one in bits:
        with ours.windowed(one) as engine:
            yield 1, engine
    for number in kept:
        with tempfile.TemporaryDirectory(dir=work) as folder:
            try:
                for engine in build_seismic(vectors, queries, number, Path(folder)):
                    yield 0, engine
            except ImportError:
                print("pyseismic-lsr is not installed: left out")
                break


def renumber(queries: Sequence[Query], stems: Array) -> list[Query]:
    """Return queries with the places of their stems in `stems`, which ascend."""
    return [
        {int(stems.searchsorted(stem)): weight for stem, weight in query.items()}
        for query in queries
    ]


def describe(vectors: Vectors, queries: Sequence[Query], repeats: int) -> str:
    """Say what was measured and with what."""
    lengths = np.bincount(vectors.stems, minlength=vectors.width)
    sizes = [sum(int(lengths[stem]) for stem in query) for query in queries]
    return (
        f"{len(vectors):,} equations, {vectors.width:,} stems, {len(vectors.stems):,} postings;"
        f" {len(queries)} queries of two to four words with {np.median(sizes):,.0f} postings in the"
        f" median, {np.percentile(sizes, 90):,.0f} in the 90th percentile; medians of {repeats}"
        f" repeats; Python {platform.python_version()},"
        f" {', '.join(_versions())}; {os.cpu_count()} cores."
    )


def _versions() -> Iterator[str]:
    for package in ("numpy", "numba", "pyseismic-lsr", "tantivy"):
        try:
            yield f"{package} {version(package)}"
        except PackageNotFoundError:
            yield f"no {package}"


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("index", type=Path)
    parser.add_argument(
        "--others", type=Path, nargs="*", default=[], help="more segments: exhaustive and ours only"
    )
    parser.add_argument("--count", type=int, default=200, help="number of queries")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--bits", type=int, nargs="*", default=TRIED_BITS, help="sizes of windows")
    parser.add_argument(
        "--kept", type=int, nargs="*", default=KEPT_POSTINGS, help="postings of a stem in Seismic"
    )
    parser.add_argument("--all", action="store_true", help="index every stem")
    parser.add_argument("--work", type=Path, help="folder for temporary files")
    parser.add_argument("--out", type=Path, help="Markdown file for the table")
    given = parser.parse_args()
    _, text = open_text(given.index)
    drawn = draw_queries(text, given.count)
    rows = len(text.parts[0].segment)
    every = np.arange(len(load_array(given.index, "terms.pointers")) - 1)
    stems = every if given.all else np.unique([stem for query in drawn for stem in query])
    queries, vectors = renumber(drawn, stems), take_vectors(given.index, stems, rows)
    tables: list[list[str]] = [[table_head()], [table_head()]]
    with tempfile.TemporaryDirectory(dir=given.work) as folder:
        work = Path(folder)
        (work / "ours").mkdir()
        ours = OurPostings(vectors, queries, work / "ours")
        setup = Setup(ours, vectors, queries, work)
        for table, engine in engines(setup, given.bits, given.kept):
            figures = measure(engine, ours.exact, len(queries), given.repeats)
            tables[table].append(table_row(engine, figures))
            print(tables[table][-1], flush=True)
    parts = [describe(vectors, queries, given.repeats), "\n".join(tables[0])]
    if given.bits:
        parts += ["Other sizes of windows:", "\n".join(tables[1])]
    if given.others:
        names = text.parts[0].stems
        asked = [{names[stem]: weight for stem, weight in query.items()} for query in drawn]
        rows, more = measure_stored([given.index, *given.others], asked, given.repeats)
        parts.append(
            f"{rows:,} equations in {len(given.others) + 1} segments, with the same queries. The"
            " postings of all stems are those of the index, with impacts as they are stored:"
        )
        parts.append("\n".join([table_head(), *more]))
    report = "\n\n".join(parts) + "\n"
    print(f"\n{report}")
    if given.out is not None:
        write_atomically(given.out, report)


if __name__ == "__main__":
    main()
