"""Compare our postings with early termination to an exhaustive sum, Seismic and tantivy.

    python benchmarks/early_termination.py INDEX [--count 200] [--repeats 3] [--work FOLDER]
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
- *Seismic* (pyseismic-lsr): approximate search by clustered posting lists and exact inner products.
- *tantivy*: documents are the stems of an equation. It ranks by its own BM25 without our impacts,
  so only its speed and size compare; it has no recall here.

Milliseconds are CPU time of the process. Queries are parsed beforehand, and each runs in one
thread; its time is the median of the repeats. Percentiles are over queries.
"""

import argparse
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np

from eqemb.index import candidates, windows
from eqemb.index.candidates import WordCandidates
from eqemb.index.postings import Array, Postings, PostingsWriter, load_array, top_k
from eqemb.index.scope import SegmentMatches
from eqemb.index.segments import IndexSegments, SegmentSource
from eqemb.index.stemming import STOP_STEMS
from eqemb.index.text import BM25_K1
from eqemb.index.text_index import Term, TextIndex
from eqemb.kernels.posting_loops import add_windows
from eqemb.storage.atomic import write_atomically

#: How many of the best are asked for.
COUNTS = (10, 2000)
#: Sizes of our windows that are tried, as powers of two.
TRIED_BITS = (8, 9, 10, 11, 12)
#: Settings of Seismic: postings that are kept of a stem on average (3,500 is its default, and a
#: list has at most 1.5 times as many), and heap factors: with smaller ones fewer blocks of a list
#: are skipped, with 0 none.
KEPT_POSTINGS, HEAP_FACTORS = (3_500, 14_000), (0.0, 0.4, 0.7, 0.9)
#: Equations that are added to a rival at a time.
CHUNK = 50_000
#: Sums that differ by less are equal.
TOLERANCE = 1e-5

Query = dict[int, float]
Ask = Callable[[int, int], Any]


class Vectors(NamedTuple):
    """Sparse vectors of equations: stems, ascending, and impacts."""

    pointers: Array
    stems: Array
    impacts: Array
    width: int
    """The number of stems."""

    def __len__(self) -> int:
        return len(self.pointers) - 1

    def chunks(self) -> Iterator[tuple[int, Array, Array, Array]]:
        """Yield the first row, and pointers, stems and impacts of some rows at a time."""
        for first in range(0, len(self), CHUNK):
            ends = self.pointers[first : first + CHUNK + 1]
            part = slice(int(ends[0]), int(ends[-1]))
            yield first, ends - ends[0], self.stems[part], self.impacts[part]


class Engine(NamedTuple):
    """Something that was built and can be asked: number of a query and count -> rows."""

    name: str
    seconds: float
    size: int
    ask: Ask
    has_recall: bool = True
    touched: Callable[[int, int], float] | None = None
    """The share of the postings of a query that is read."""


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


def open_text(folder: Path) -> TextIndex:
    """Open the text of an index without its records."""
    records = cast("Any", SimpleNamespace(documents=0))
    return TextIndex(IndexSegments([SegmentSource("0", folder, records)]))


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


# ------------------------------------------------------------ engines


def folder_size(folder: Path) -> int:
    """Return the bytes of the files of a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@contextmanager
def replaced(name: str, value: Any, *modules: ModuleType) -> Iterator[None]:
    """Give a name of some modules another value for a while."""
    before = [getattr(module, name) for module in modules]
    for module in modules:
        setattr(module, name, value)
    try:
        yield
    finally:
        for module, old in zip(modules, before, strict=True):
            setattr(module, name, old)


class OurPostings:
    """The vectors as postings on disk, with windows."""

    def __init__(self, vectors: Vectors, queries: Sequence[Query], folder: Path) -> None:
        self._vectors, self._folder = vectors, folder
        start = time.process_time()
        writer = PostingsWriter(folder, "terms")
        for first, pointers, stems, impacts in vectors.chunks():
            owners = np.repeat(np.arange(len(pointers) - 1) + first, np.diff(pointers))
            writer.add(stems, owners, impacts)
        writer.write(vectors.width)
        self._seconds, self._size = time.process_time() - start, folder_size(folder)
        self._postings = Postings(folder, "terms")
        self._terms = [self._make_terms(query) for query in queries]

    def _make_terms(self, query: Query) -> list[Term]:
        return [
            Term("", weight, [[SegmentMatches(0, *self._postings.of(stem), stem)]])
            for stem, weight in query.items()
        ]

    def sums(self, number: int) -> Array:
        """Return the sum of impacts of every row for a query."""
        total = np.zeros(len(self._vectors), np.float32)
        for term in self._terms[number]:
            for owners, impacts in ((part.owners, part.impacts) for part in term.parts):
                np.add.at(total, owners, np.float32(term.weight) * impacts)
        return total

    def sums_of(self, number: int, rows: Array) -> Array:
        """Return the sums of impacts of some rows for a query."""
        total = np.zeros(len(rows), np.float32)
        for term in self._terms[number]:
            for owners, impacts in ((part.owners, part.impacts) for part in term.parts):
                at = np.minimum(owners.searchsorted(rows.astype(owners.dtype)), len(owners) - 1)
                there = owners[at] == rows
                total[there] += np.float32(term.weight) * impacts[at[there]]
        return total

    @cache  # noqa: B019 -- lives as long as the benchmark
    def best_sums(self, number: int) -> Array:
        """Return the largest sums of a query, the largest first."""
        sums = self.sums(number)
        found: Array = sums[top_k(sums, max(COUNTS))]
        return found

    def exhaustive(self) -> Engine:
        """Return what adds up everything."""

        def ask(number: int, count: int) -> Array:
            return top_k(self.sums(number), count)

        return Engine("exhaustive, NumPy", self._seconds, self._size, ask)

    @contextmanager
    def windowed(self, bits: int) -> Iterator[Engine]:
        """Write windows of a size and return what finds candidates by them."""
        with replaced("BITS", bits, windows, candidates):
            start = time.process_time()
            windows.write_windows(self._folder, "terms", len(self._vectors), BM25_K1 + 1)
            seconds = self._seconds + time.process_time() - start
            segment = SimpleNamespace(number=0, first_equation=0)
            text = SimpleNamespace(folder=self._folder, segment=range(len(self._vectors)))
            finder = WordCandidates(
                cast("IndexSegments", [segment]), cast("TextIndex", SimpleNamespace(parts=[text]))
            )

            def ask(number: int, count: int) -> Array:
                return finder.best(self._terms[number], count)

            def touched(number: int, count: int) -> float:
                every = sum(map(len, self._terms[number]))
                return _count_postings(lambda: ask(number, count)) / every

            name = f"ours, windows of {1 << bits:,} rows"
            yield Engine(name, seconds, folder_size(self._folder), ask, touched=touched)


def _count_postings(act: Callable[[], Any]) -> int:
    """Return how many postings `candidates` adds up meanwhile."""
    read = 0

    def count(owners: Array, levels: Array, starts: Array, *rest: Any) -> None:
        nonlocal read
        chosen = rest[2]
        read += int((starts[chosen + 1] - starts[chosen]).sum())
        add_windows(owners, levels, starts, *rest)

    with replaced("add_windows", count, candidates):
        act()
    return read


def build_seismic(
    vectors: Vectors, queries: Sequence[Query], kept: int, folder: Path
) -> Iterator[Engine]:
    """Yield one engine for each heap factor."""
    import seismic

    start = time.process_time()
    data = seismic.SeismicDatasetLV(dim=vectors.width)
    for first, pointers, stems, impacts in vectors.chunks():
        names = [str(first + row) for row in range(len(pointers) - 1)]
        data.add_documents_by_id(names, stems.astype(np.int64), impacts, pointers)
    index = seismic.SeismicIndexLV.build_from_dataset(data, n_postings=kept)
    seconds = time.process_time() - start
    index.save(str(folder / "seismic"))
    size = folder_size(folder)
    for path in folder.glob("seismic*"):
        path.unlink()
    dtype = seismic.get_seismic_string()
    asked = [
        (np.array([str(stem) for stem in query], dtype), np.array([*query.values()], np.float32))
        for query in queries
    ]
    for factor in HEAP_FACTORS:

        def ask(number: int, count: int, factor: float = factor) -> Any:
            return index.search("", *asked[number], count, 8, factor)

        name = f"Seismic, {kept:,} postings, heap factor {factor}"
        yield Engine(name, seconds, size, ask)


def build_tantivy(vectors: Vectors, queries: Sequence[Query], folder: Path) -> Engine:
    """Index the stems of each equation as a document."""
    import tantivy

    start = time.process_time()
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("stems", tokenizer_name="whitespace", index_option="freq")
    schema = builder.build()
    index = tantivy.Index(schema, path=str(folder))
    writer = index.writer(heap_size=256 << 20, num_threads=1)
    for _, pointers, stems, _ in vectors.chunks():
        words = [str(stem) for stem in stems.tolist()]
        ends = pointers.tolist()
        for low, high in pairwise(ends):
            writer.add_document(tantivy.Document(stems=" ".join(words[low:high])))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    seconds = time.process_time() - start
    searcher = index.searcher()
    asked = [
        tantivy.Query.boolean_query(
            [
                (tantivy.Occur.Should, tantivy.Query.term_query(schema, "stems", str(stem)))
                for stem in query
            ]
        )
        for query in queries
    ]

    def ask(number: int, count: int) -> Any:
        return searcher.search(asked[number], count, count=False).hits

    return Engine("tantivy, own BM25", seconds, folder_size(folder), ask, has_recall=False)


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


def measure(engine: Engine, truth: OurPostings, queries: int, repeats: int) -> list[Figures]:
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
    cells = [engine.name, f"{engine.seconds:.1f}", f"{engine.size / 1e6:,.0f}"]
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
    packages = ["numpy", "numba"]
    return (
        f"{len(vectors):,} equations, {vectors.width:,} stems, {len(vectors.stems):,} postings;"
        f" {len(queries)} queries of two to four words with {np.median(sizes):,.0f} postings in the"
        f" median, {np.percentile(sizes, 90):,.0f} in the 90th percentile; medians of {repeats}"
        f" repeats; Python {platform.python_version()},"
        f" {', '.join(f'{name} {version(name)}' for name in packages)}; {os.cpu_count()} cores."
    )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("index", type=Path)
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
    text = open_text(given.index)
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
            figures = measure(engine, ours, len(queries), given.repeats)
            tables[table].append(table_row(engine, figures))
            print(tables[table][-1], flush=True)
    parts = [describe(vectors, queries, given.repeats), "\n".join(tables[0])]
    if given.bits:
        parts += ["Other sizes of windows:", "\n".join(tables[1])]
    report = "\n\n".join(parts) + "\n"
    print(f"\n{report}")
    if given.out is not None:
        write_atomically(given.out, report)


if __name__ == "__main__":
    main()
