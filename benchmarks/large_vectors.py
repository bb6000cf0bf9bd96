"""Measure nearest vectors in large libraries: the approximate index beside exact search and others.

    python benchmarks/large_vectors.py LIBRARY WORK [--sizes 100000 1000000 10000000] [--codes]

LIBRARY is a real library with a model. Vectors like its contexts are made (`synthetic_vectors.py`
says how), and compared with the real ones: cosines with the nearest rows, and recall by the number
of lists that are read, for equally many vectors. For each size, in processes of their own:

- *build*: seconds by stage, the largest anonymous memory, and bytes on disk; vectors are in
  segments of 32,000, as in a library;
- *ask*: 300 vectors of rows and 300 of words of the model, one after the other and by two threads
  at once; p50 and p99 of the ten nearest and of a thousand by the clock, and of CPU time (which
  other work on the machine does not change), with all rows and with filters; memory
  (anonymous, and pages of files), and recall against exact search (200 others). *cold* is after
  the system has dropped the pages of the files. Up to a million rows, FAISS's flat and HNSW indexes
  are measured too.

With `--codes`, kinds of codes are compared on the first size that is given: time and recall by the
number of lists and the length of the short list. Needs the extra `ann`. Files in WORK, 440 bytes
for each vector, are removed at the end.
"""

import argparse
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from synthetic_vectors import VectorMaker

from eqemb.index.approximate import ApproximateIndex, Coverage
from eqemb.index.approximate_build import build_approximate, list_count
from eqemb.index.vector_index import Floats, VectorIndex

SEGMENT, EXACT_SIZE, SEED = 32_000, 1_000_000, 7
Nearest = Callable[[Floats, int], object]


def main() -> None:
    """Run all measurements, or one part in this process."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--codes", action="store_true")
    parser.add_argument("--part", choices=["build", "ask"])
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    if given.part:
        {"build": build, "ask": ask}[given.part](given.work)
        return
    maker = VectorMaker(given.library)
    np.save(given.work / "words.npy", maker.words)
    try:
        compare_real(maker, given.work)
        for size in given.sizes:
            show("rows", f"{size:,}")
            maker.write(given.work / "vectors.npy", size, SEED)
            if given.codes:
                compare_codes(given.work)
                break
            for part in ("build", "ask"):
                command = [sys.executable, __file__, str(given.library), str(given.work)]
                subprocess.run([*command, "--part", part], check=True)
    finally:
        for path in [*given.work.glob("*.npy"), *given.work.glob("ann/*")]:
            path.unlink()


def show(name: str, *values: object) -> None:
    """Print a line at once."""
    print(f"{name:34}", *values, flush=True)


# ------------------------------------------------------------ data


def load(work: Path) -> VectorIndex:
    """Open the vectors as segments."""
    table = np.asarray(np.load(work / "vectors.npy", mmap_mode="r"))
    return VectorIndex([table[at : at + SEGMENT] for at in range(0, len(table), SEGMENT)])


def make_queries(work: Path, rows: int, count: int, seed: int) -> tuple[Floats, NDArray[Any]]:
    """Return vectors of rows and of words, half each; and the row that each is of, or -1."""
    random = np.random.default_rng(seed)
    words, table = np.load(work / "words.npy"), load(work)
    own = np.sort(random.choice(rows, count // 2, replace=False))
    some = words[random.choice(len(words), count - len(own))]
    order = random.permutation(count)
    every = np.concatenate([table.rows(own), some])[order]
    return every, np.concatenate([own, np.full(len(some), -1)])[order]


def exact_nearest(index: VectorIndex, asked: Floats, count: int) -> Floats:
    """Return the cosines of the nearest rows for each query, best first."""
    best = [np.full(count, -1, np.float32) for _ in asked]
    for part in index.parts:
        for number, cosines in enumerate(asked @ part.T):
            more = cosines[cosines > best[number][-1]]
            if len(more):
                best[number] = -np.sort(-np.concatenate([best[number], more]))[:count]
    return np.array(best)


def recall(found: Floats, exact: Floats, count: int, *, has_own: bool) -> float:
    """Return the share of the first rows whose cosine reaches that of the exact last one.

    A query that is a row finds itself first, which does not count.
    """
    first = int(has_own)
    return float((found[first : count + first] >= exact[count - 1 + first] - 1e-6).sum() / count)


# ------------------------------------------------------------ made and real vectors


def compare_real(maker: VectorMaker, work: Path) -> None:
    """Print how made vectors differ from as many real ones."""
    count = len(maker.real)
    maker.write(work / "vectors.npy", count, SEED)
    made = np.array(np.load(work / "vectors.npy"))
    show("real and made vectors", f"{count:,} each; 10th, 50th and 90th percentile of cosines")
    for name, table in (("real", maker.real), ("made", made)):
        some = np.random.default_rng(SEED).choice(count, min(count, 1_500), replace=False)
        cosines = -np.sort(-(table[some] @ table.T), axis=1)
        for rank in (1, 10, 100, 1_000):
            if rank < count:
                low, middle, high = np.quantile(cosines[:, rank], [0.1, 0.5, 0.9])
                show(f"  {name}, neighbour {rank}", f"{low:.3f} {middle:.3f} {high:.3f}")
    for name, table in (("real", maker.real), ("made", made)):
        index = VectorIndex([table])
        build_approximate(work / "ann", index, [Coverage("all", count)], maker.words)
        opened = ApproximateIndex([table], work / "ann", count)
        some = np.sort(np.random.default_rng(SEED).choice(count, min(count, 200), replace=False))
        exact = exact_nearest(index, table[some], 11)
        shares = []
        for probes in (1, 2, 4, 8, 16, 32):
            found = [opened.nearest(vector, 11, probes=probes)[1] for vector in table[some]]
            pairs = zip(found, exact, strict=True)
            share = np.mean([recall(one, all_, 10, has_own=True) for one, all_ in pairs])
            shares.append(f"{probes}: {share:.3f}")
        show(f"  {name}, recall@10 by lists", f"of {opened.header.lists};", ", ".join(shares))


# ------------------------------------------------------------ build


def memory() -> dict[str, float]:
    """Return anonymous memory and mapped pages of files of this process, in MB."""
    status = Path("/proc/self/status").read_text("ascii")
    lines = dict(line.split(":", 1) for line in status.splitlines())
    return {name: int(lines[name].split()[0]) / 1024 for name in ("RssAnon", "RssFile")}


class Stages:
    """Seconds, CPU seconds and the most anonymous memory of each stage."""

    def __init__(self) -> None:
        self.rows: list[list[Any]] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def begin(self, name: str) -> None:
        """Begin a stage, and end the one before."""
        if self.rows:
            self.rows[-1][1:3] = (
                time.perf_counter() - self.rows[-1][1],
                time.process_time() - self.rows[-1][2],
            )
        self.rows.append([name, time.perf_counter(), time.process_time(), memory()["RssAnon"]])

    def end(self) -> None:
        """Print all stages."""
        self.begin("")
        self._done.set()
        for name, seconds, cpu, most in self.rows[:-1]:
            show(f"  build: {name}", f"{seconds:.1f} s, CPU {cpu:.1f} s, {most:,.0f} MB")

    def _watch(self) -> None:
        while not self._done.wait(0.1):
            if self.rows:
                self.rows[-1][3] = max(self.rows[-1][3], memory()["RssAnon"])


def build(work: Path) -> None:
    """Build the approximate index."""
    index, stages = load(work), Stages()
    covered = [Coverage(str(number), len(part)) for number, part in enumerate(index.parts)]
    words = np.load(work / "words.npy")
    header = build_approximate(work / "ann", index, covered, words, report=stages.begin)
    stages.end()
    size = sum(path.stat().st_size for path in (work / "ann").iterdir())
    vectors = (work / "vectors.npy").stat().st_size
    show("  on disk", f"{size / 1e6:,.0f} MB, vectors {vectors / 1e6:,.0f} MB")
    show("  lists read", f"{header.probes} of {header.lists}; at build time {header.recalls}")


# ------------------------------------------------------------ ask


def ask(work: Path) -> None:
    """Measure the approximate index, exact search, and other indexes of FAISS."""
    exact = load(work)
    rows = len(exact)
    show("  memory before", _memory_text())
    index = ApproximateIndex(exact.parts, work / "ann", rows)
    queries, _ = make_queries(work, rows, 600, SEED + 1)
    nearest = index.nearest
    drop_pages(work)
    show("  cold, nearest 10", _times(nearest, queries[:200], 10))
    for count in (10, 1_000):
        _times(nearest, queries[::3], count)
        show(f"  nearest {count:,}", _times(nearest, queries, count))
        show(f"  nearest {count:,}, two threads", _times(nearest, queries, count, threads=2))
    show("  memory after", _memory_text())
    _show_recall(index, exact, work, "", (10, 1_000))
    for share in (0.5, 0.005):
        mask = np.random.default_rng(SEED).random(rows) < share
        some = partial(index.nearest, mask=mask)
        show(f"  nearest 10 of {share:.1%}", _times(some, queries[:200], 10))
        _show_recall(index, exact, work, f"of {share:.1%}", (10,), mask)
    few = 50 if rows <= EXACT_SIZE else 10
    show("  exact, nearest 10", _times(exact.top, queries[:few], 10))
    if rows <= EXACT_SIZE:
        _ask_others(exact, queries, work)


def _ask_others(exact: VectorIndex, queries: Floats, work: Path) -> None:
    import faiss

    table = np.concatenate(exact.parts)
    asked, own = make_queries(work, len(exact), 200, SEED + 2)
    wanted = exact_nearest(exact, asked, 11)
    for name, made in (
        ("FAISS flat", faiss.IndexFlatIP(table.shape[1])),
        ("FAISS HNSW32", faiss.IndexHNSWFlat(table.shape[1], 32, faiss.METRIC_INNER_PRODUCT)),
    ):
        before, started = memory()["RssAnon"], time.process_time()
        made.add(table)
        built = time.process_time() - started
        faiss.omp_set_num_threads(1)
        for reach in (64, 256) if "HNSW" in name else (0,):
            if reach:
                made.hnsw.efSearch = reach
            times = _times(partial(_search_one, made), queries[:100], 10)
            found = made.search(asked, 11)[0]
            share = _mean_recall(found, wanted, own, 10)
            more = f"; CPU {built:.0f} s to build, {memory()['RssAnon'] - before:,.0f} MB"
            show(f"  {name}{f' ef {reach}' if reach else ''}", times, share, more)
        faiss.omp_set_num_threads(os.cpu_count() or 1)
        del made


def _search_one(index: Any, vector: Floats, count: int) -> Any:
    return index.search(vector[None], count)


def _show_recall(
    index: ApproximateIndex,
    exact: VectorIndex,
    work: Path,
    what: str,
    counts: tuple[int, ...],
    mask: NDArray[np.bool_] | None = None,
) -> None:
    asked, own = make_queries(work, len(index), 200, SEED + 2)
    has_own = own >= 0
    if mask is not None:
        has_own &= mask[own]
        starts = np.cumsum([0, *map(len, exact.parts)])
        exact = VectorIndex(
            [part[mask[at : at + len(part)]] for at, part in zip(starts, exact.parts, strict=False)]
        )
    wanted = exact_nearest(exact, asked, max(counts) + 1)
    for count in counts:
        found = [index.nearest(vector, count + 1, mask)[1] for vector in asked]
        show(f"  recall@{count:,} {what}", _mean_recall(found, wanted, own, count, has_own))


def _mean_recall(
    found: Any,
    wanted: Floats,
    own: NDArray[Any],
    count: int,
    has_own: NDArray[np.bool_] | None = None,
) -> str:
    """Return the recall of rows and of words as text; `has_own` says which find themselves."""
    each = zip(found, wanted, own >= 0 if has_own is None else has_own, strict=True)
    shares = np.array([recall(one, every, count, has_own=bool(has)) for one, every, has in each])
    return f"rows {shares[own >= 0].mean():.3f}, words {shares[own < 0].mean():.3f}"


def _times(nearest: Nearest, queries: Floats, count: int, threads: int = 1) -> str:
    """Return p50 and p99 of the milliseconds of queries, which threads answer at the same time."""
    taken: list[tuple[float, float]] = []

    def work(some: Floats) -> None:
        for vector in some:
            started, cpu = time.perf_counter(), time.thread_time()
            nearest(vector, count)
            taken.append((time.perf_counter() - started, time.thread_time() - cpu))

    workers = [
        threading.Thread(target=work, args=(queries[at::threads],)) for at in range(1, threads)
    ]
    for each in workers:
        each.start()
    work(queries[::threads])
    for each in workers:
        each.join()
    (low, low_cpu), (high, high_cpu) = 1_000 * np.quantile(taken, [0.5, 0.99], axis=0)
    return (
        f"p50 {low:.2f} ms, p99 {high:.2f} ms; CPU p50 {low_cpu:.2f} ms, p99 {high_cpu:.2f} ms"
        f" (n={len(queries)})"
    )


def _memory_text() -> str:
    found = memory()
    return f"{found['RssAnon']:,.0f} MB anonymous, {found['RssFile']:,.0f} MB of files"


def drop_pages(work: Path) -> None:
    """Ask the system to drop the pages of all files that nobody maps."""
    for path in [work / "vectors.npy", *(work / "ann").iterdir()]:
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


# ------------------------------------------------------------ kinds of codes


@contextmanager
def _one_thread() -> Iterator[None]:
    import faiss

    faiss.omp_set_num_threads(1)
    yield
    faiss.omp_set_num_threads(os.cpu_count() or 1)


CODES = ("PQ50x4fs", "PQ50x4fsr", "PQ25", "RaBitQ", "RaBitQfs", "RaBitQfs2", "RaBitQfs4", "SQ8")


def compare_codes(work: Path) -> None:
    """Print time and recall of kinds of codes with the same lists; vectors are turned first."""
    import faiss

    exact = load(work)
    table = np.concatenate(exact.parts)
    dim, lists = table.shape[1], list_count(len(table))
    random = np.random.default_rng(SEED)
    turn = np.linalg.qr(random.standard_normal((dim, dim)))[0].astype(np.float32)
    turned = table @ turn
    sample = turned[random.choice(len(table), min(len(table), 50 * lists), replace=False)]
    means = faiss.Kmeans(dim, lists, niter=10, seed=SEED, max_points_per_centroid=50)
    means.train(sample)
    asked, own = make_queries(work, len(table), 600, SEED + 2)
    wanted = exact_nearest(exact, asked, 11)
    for code in CODES:
        index = faiss.index_factory(dim, f"IVF{lists},{code}")
        faiss.downcast_index(index.quantizer).add(means.centroids)
        index.train(sample)
        index.add(turned)
        for probes in (lists // 16, lists // 8):
            index.nprobe = probes
            for length in (100, 400):
                with _one_thread():
                    cpu = time.process_time()
                    found = []
                    for vector in asked:
                        rows = index.search((vector @ turn)[None], length)[1][0]
                        found.append(-np.sort(-(table[rows[rows >= 0]] @ vector)))
                    cpu = 1_000 * (time.process_time() - cpu) / len(asked)
                text = _mean_recall(found, wanted, own, 10)
                size = f"{index.code_size} bytes, {probes} of {lists} lists, short list {length}"
                show(f"  {code}", f"{size}: CPU {cpu:.2f} ms, recall@10 {text}")


if __name__ == "__main__":
    main()
