"""Words per second of the first pass beside gensim's CBOW, on a synthetic Zipf text.

    python benchmarks/train.py            20 million words
    python benchmarks/train.py --quick    1 million words, for a look
    python benchmarks/train.py --json     the raw numbers

Both sides in the same run, in turns, the best of `--rounds`, by the clock and by CPU seconds (which
other people's work on the machine disturbs less): same K, window, negatives and
threads; gensim with `window` = W/2 each side, `shrink_windows=False`, `cbow_mean=0`, `sample=0`,
lines under 10,000 words, fed from a file; one pass over the text, vocabulary not counted. Then
a profile of where our time goes (CPU seconds, one thread) and the limit that the three matrix
products of each block would set. Needs the extra `baselines` for gensim; without it only ours
is measured. The text has no meaning: quality is measured elsewhere.
"""

import argparse
import json
import platform
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqemb.kernels import cpu, draws, loops, word_loops
from eqemb.kernels.arrays import Floats, Rule, Text, Vectors

V, LINE = 25_000, 5_000
PHASES = {"words_forward": word_loops, "group": loops, "apply_words": word_loops}


def zipf_text(size: int, seed: int = 0) -> Text:
    """Words with frequency 1 / rank, in articles of 5,000."""
    share = 1 / np.arange(1, V + 1)
    edges = np.cumsum(share / share.sum())
    random = np.random.default_rng(seed)
    tokens = np.minimum(np.searchsorted(edges, random.random(size)), V - 1).astype(np.int32)
    starts = np.minimum(np.arange(0, size + LINE, LINE), size)
    return Text(tokens, starts, draws.noise_table(np.bincount(tokens, minlength=V)))


def first_vectors(dim: int) -> Vectors:
    """Where training starts."""
    random = np.random.default_rng(1)
    rho, alpha = ((random.standard_normal((V, dim)) / dim).astype(np.float32) for _ in range(2))
    return Vectors(rho, alpha, np.zeros_like(rho), np.zeros_like(rho))


def clocked(work: Callable[[], object]) -> NDArray[np.float64]:
    """Seconds by the clock, and of CPU in all threads."""
    start = np.array([time.perf_counter(), time.process_time()])
    work()
    return np.array([time.perf_counter(), time.process_time()]) - start


def ours(text: Text, rule: Rule, dim: int, threads: int) -> NDArray[np.float64]:
    """Seconds of one pass."""
    vectors = first_vectors(dim)
    return clocked(lambda: cpu.words_update(vectors, text, rule, None, threads))


Rival = Callable[[int], NDArray[np.float64]]


def gensim_cbow(text: Text, folder: Path, rule: Rule, dim: int) -> Rival | None:
    """A function of threads: seconds of one pass of gensim's CBOW; None without gensim."""
    try:
        from gensim.models import Word2Vec
    except ImportError:
        return None
    file = folder / "text.txt"
    if not file.exists():
        with file.open("w") as lines:
            for low in range(0, len(text.tokens), LINE):
                lines.write(" ".join(map(str, text.tokens[low : low + LINE].tolist())) + "\n")

    def run(threads: int) -> NDArray[np.float64]:
        model = Word2Vec(
            vector_size=dim, window=rule.window // 2, negative=rule.negatives, sg=0, cbow_mean=0,
            sample=0, min_count=1, shrink_windows=False, workers=threads, seed=1,
        )  # fmt: skip
        model.build_vocab(corpus_file=str(file))
        return clocked(
            lambda: model.train(
                corpus_file=str(file), total_words=model.corpus_total_words,
                total_examples=model.corpus_count, epochs=1,
            )
        )  # fmt: skip

    return run


@loops.kernel
def _products(context: Floats, noise: Floats, scores: Floats, out: Floats, times: int) -> None:
    """The three products of a block, again and again."""
    zeros = np.empty_like(noise)
    for _ in range(times):
        np.dot(context, noise.T, scores)
        np.dot(scores, noise, out)
        np.dot(scores.T, context, zeros)


def product_limit(rule: Rule, dim: int, threads: int) -> float:
    """Words per second if there were nothing but the matrix products."""
    random = np.random.default_rng(0)

    def work(times: int) -> None:
        context = random.standard_normal((rule.block, dim)).astype(np.float32)
        noise = random.standard_normal((rule.negatives, dim)).astype(np.float32) / 100
        scores = np.empty((rule.block, rule.negatives), np.float32)
        _products(context, noise, scores, np.empty_like(context), times)

    with cpu.team(1):
        work(10)
        best = 0.0
        for _ in range(3):
            crew = [threading.Thread(target=work, args=(5000,)) for _ in range(threads)]
            start = time.perf_counter()
            for member in crew:
                member.start()
            for member in crew:
                member.join()
            best = max(best, threads * 5000 * rule.block / (time.perf_counter() - start))
    return best


@contextmanager
def profiled(spent: dict[str, float]) -> Iterator[None]:
    """Count the CPU seconds of each kernel called meanwhile."""
    before = {name: getattr(module, name) for name, module in PHASES.items()}

    def timed(name: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            start = time.thread_time()
            try:
                return before[name](*arguments)
            finally:
                spent[name] = spent.get(name, 0.0) + time.thread_time() - start

        return call

    try:
        for name, module in PHASES.items():
            setattr(module, name, timed(name))
        yield
    finally:
        for name, kernel in before.items():
            setattr(PHASES[name], name, kernel)


def profile(text: Text, rule: Rule, dim: int) -> dict[str, float]:
    """Nanoseconds of CPU per word in each kernel, on one thread."""
    spent: dict[str, float] = {}
    with profiled(spent):
        spent["everything"] = float(ours(text, rule, dim, 1)[1])
    return {name: 1e9 * seconds / len(text.tokens) for name, seconds in spent.items()}


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--words", type=int, default=20_000_000)
    parser.add_argument("--quick", action="store_true", help="one million words, one round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--negatives", type=int, default=10)
    parser.add_argument("--batch", type=int, default=8192)
    parser.add_argument("--windows", type=int, nargs="+", default=[4, 8, 16])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.quick:
        given.words, given.rounds = 1_000_000, 1
    return given


def compare(text: Text, rule: Rule, given: argparse.Namespace, folder: Path) -> Iterator[Any]:
    """One row for each number of threads."""
    rival = gensim_cbow(text, folder, rule, given.dim)
    for threads in given.threads:
        mine, theirs = [], []
        for _ in range(given.rounds):
            mine.append(len(text.tokens) / ours(text, rule, given.dim, threads) / 1e6)
            if rival is not None:
                theirs.append(len(text.tokens) / rival(threads) / 1e6)
        best = [np.max(rows, axis=0) if rows else np.full(2, np.nan) for rows in (mine, theirs)]
        row: dict[str, Any] = {"window": rule.window, "threads": threads}
        row |= {"eqemb": best[0].tolist(), "gensim": best[1].tolist()}
        yield row | {"rounds": [np.round(rows, 3).tolist() for rows in (mine, theirs)]}


def show(row: dict[str, Any]) -> None:
    """A line of the table."""
    mine, theirs = row["eqemb"], row["gensim"]
    print(
        f"{row['window']:4}  {row['threads']:7}  "
        f"{mine[0]:7.2f} {theirs[0]:7.2f} {mine[0] / theirs[0]:6.1f}   "
        f"{mine[1]:7.2f} {theirs[1]:7.2f} {mine[1] / theirs[1]:6.1f}",
        flush=True,
    )


def main() -> None:
    """Measure and print."""
    given = arguments()
    text = zipf_text(given.words)
    report: dict[str, Any] = {"machine": platform.processor() or platform.machine()}
    report |= {"words": given.words, "batch": given.batch, "rows": [], "profile": {}}
    rule = Rule(4, given.negatives, 64, given.batch, 1 / given.negatives, 0.05, draws.key(0, 1, 1))
    cpu.words_update(first_vectors(given.dim), text, rule, (0, given.batch))  # compile
    if not given.json:
        print(f"{given.words:,} words, K={given.dim}, n={given.negatives}, batch {given.batch}")
        print("              M words per second      M words per CPU second")
        print("   W  threads    eqemb  gensim  ratio     eqemb  gensim  ratio")
    with tempfile.TemporaryDirectory() as folder:
        for window in given.windows:
            for row in compare(text, rule._replace(window=window), given, Path(folder)):
                report["rows"].append(row)
                if not given.json:
                    show(row)
    report["profile"] = profile(text, rule._replace(window=8), given.dim)
    report["products"] = {n: product_limit(rule, given.dim, n) for n in given.threads}
    if given.json:
        print(json.dumps(report, indent=1))
        return
    print("\nns of CPU per word, one thread, W=8:")
    for name, value in sorted(report["profile"].items(), key=lambda item: -item[1]):
        print(f"  {name:14} {value:6.0f}")
    for threads, limit in report["products"].items():
        print(f"matrix products alone, {threads} threads: {limit / 1e6:.1f} M words/s")


if __name__ == "__main__":
    main()
