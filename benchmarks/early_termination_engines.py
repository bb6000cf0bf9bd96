"""Engines that `early_termination.py` compares: an exhaustive sum, ours, Seismic and tantivy.

All are made from the same vectors. An engine is asked by the number of a query.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np

from eqemb.index import candidates, windows
from eqemb.index.candidates import WordCandidates
from eqemb.index.postings import Array, Postings, PostingsWriter, top_k
from eqemb.index.scope import SegmentMatches
from eqemb.index.segments import IndexSegments
from eqemb.index.terms import Term
from eqemb.index.text import BM25_K1
from eqemb.index.text_index import TextIndex
from eqemb.kernels.posting_loops import add_windows

#: How many of the best are asked for.
COUNTS = (10, 2000)
#: Settings of Seismic: postings that are kept of a stem on average (3,500 is its default, and a
#: list has at most 1.5 times as many), and heap factors: with smaller ones fewer blocks of a list
#: are skipped, with 0 none.
KEPT_POSTINGS, HEAP_FACTORS = (3_500, 14_000, 60_000), (0.0, 0.4, 0.7, 0.9)
#: The share of a list's equations that become centres of clusters, Seismic's default; but no more
#: than so many on average, because the time to build grows with the square.
CENTROID_FRACTION, MAX_CENTROIDS = 0.1, 600
#: Equations that are added to a rival at a time.
CHUNK = 50_000

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


class ExactSums:
    """Sums of impacts for queries, which are terms: the truth for recall."""

    def __init__(self, terms: Sequence[Sequence[Term]], rows: int) -> None:
        self.terms, self._rows = terms, rows

    def _lists(self, number: int) -> Iterator[tuple[np.float32, SegmentMatches]]:
        for term in self.terms[number]:
            for part in term.parts:
                if len(part.owners):
                    yield np.float32(term.weight), part

    def postings(self, number: int) -> int:
        """Return the number of postings of a query."""
        return sum(map(len, self.terms[number]))

    def sums(self, number: int) -> Array:
        """Return the sum of impacts of every row for a query."""
        total = np.zeros(self._rows, np.float32)
        for weight, (first, owners, impacts, _) in self._lists(number):
            np.add.at(total[first:], owners, weight * impacts)
        return total

    def sums_of(self, number: int, rows: Array) -> Array:
        """Return the sums of impacts of some rows for a query."""
        total = np.zeros(len(rows), np.float32)
        for weight, (first, owners, impacts, _) in self._lists(number):
            own = (rows - first).astype(owners.dtype)
            at = np.minimum(owners.searchsorted(own), len(owners) - 1)
            there = owners[at] == own
            total[there] += weight * impacts[at[there]]
        return total

    @cache  # noqa: B019 -- lives as long as the benchmark
    def best_sums(self, number: int) -> Array:
        """Return the largest sums of a query, the largest first."""
        sums = self.sums(number)
        found: Array = sums[top_k(sums, max(COUNTS))]
        return found

    def find_best(self, number: int, count: int) -> Array:
        """Return the rows with the largest sums."""
        return top_k(self.sums(number), count)

    def windowed(self, name: str, cost: tuple[float, int], finder: WordCandidates) -> Engine:
        """Return what finds candidates; `cost` is seconds and bytes."""

        def ask(number: int, count: int) -> Array:
            return finder.best(self.terms[number], count)

        def touched(number: int, count: int) -> float:
            return _count_postings(lambda: ask(number, count)) / self.postings(number)

        return Engine(name, *cost, ask, touched=touched)


class OurPostings:
    """The vectors as postings on disk, with windows."""

    def __init__(self, vectors: Vectors, queries: Sequence[Query], folder: Path) -> None:
        self._rows, self._folder = len(vectors), folder
        start = time.process_time()
        writer = PostingsWriter(folder, "terms")
        for first, pointers, stems, impacts in vectors.chunks():
            owners = np.repeat(np.arange(len(pointers) - 1) + first, np.diff(pointers))
            writer.add(stems, owners, impacts)
        writer.write(vectors.width)
        self._seconds, self._size = time.process_time() - start, folder_size(folder)
        postings = Postings(folder, "terms")
        terms = [
            [
                Term("", weight, [[SegmentMatches(0, *postings.of(stem), stem)]])
                for stem, weight in query.items()
            ]
            for query in queries
        ]
        self.exact = ExactSums(terms, self._rows)

    def exhaustive(self) -> Engine:
        """Return what adds up everything."""
        return Engine("exhaustive, NumPy", self._seconds, self._size, self.exact.find_best)

    @contextmanager
    def windowed(self, bits: int) -> Iterator[Engine]:
        """Write windows of a size and return what finds candidates by them."""
        with replaced("BITS", bits, windows, candidates):
            start = time.process_time()
            windows.write_windows(self._folder, "terms", self._rows, BM25_K1 + 1)
            seconds = self._seconds + time.process_time() - start
            segment = SimpleNamespace(number=0, first_equation=0)
            text = SimpleNamespace(folder=self._folder, segment=range(self._rows))
            finder = WordCandidates(
                cast("IndexSegments", [segment]), cast("TextIndex", SimpleNamespace(parts=[text]))
            )
            name = f"ours, windows of {1 << bits:,} rows"
            yield self.exact.windowed(name, (seconds, folder_size(self._folder)), finder)


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
    index = seismic.SeismicIndexLV.build_from_dataset(
        data,
        n_postings=kept,
        centroid_fraction=min(CENTROID_FRACTION, MAX_CENTROIDS / kept),
    )
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
