"""Training speed of the first pass, next to gensim's CBOW: words per second, profile, quality.

    python benchmarks/train.py                    a synthetic Zipf text of 20 million words
    python benchmarks/train.py --corpus FOLDER    and a saved `Corpus`: speed, and scores
    python benchmarks/train.py --memory           and the peak memory of training the text
    python benchmarks/train.py --quick            one million words, one round: takes a minute
    python benchmarks/train.py --json             all raw numbers

Prints, in this order:

- M words per second, by wall-clock time and by CPU time of all threads (which is less sensitive to
  other work on the machine). Both programs alternate, best of `--rounds`, with the same K, window,
  negatives and threads (`train_cbow` describes gensim's settings), one pass, or several over a
  small text;
- the speed-up of a second thread, next to that of bare matrix products in the same rounds;
- the time of each kernel on one thread, next to that of the three matrix products of each block;
- with `--corpus`, seconds to gensim's best validation score, and the cost of negatives shared by 64
  words (`train_quality`);
- with `--memory`, the peak of a process that opens and trains the text, and our estimate.

The Zipf text is random. Needs the extra `baselines` for gensim; without it only eqemb is measured.
"""

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import train_quality
from train_cbow import HAVE_GENSIM, Cbow, Doubles, clocked

from eqemb.corpus.corpus import Corpus
from eqemb.kernels import cpu, draws, loops, word_loops
from eqemb.kernels.arrays import Floats, Rule, TextArrays, Vectors
from eqemb.models.bernoulli import BernoulliEmbeddings

V, ARTICLE = 25_000, 5_000
ENOUGH = 2_000_000  # words in one measurement: a small text is repeated
WINDOW = 8  # for the profile, the scores and memory
PHASES = ("words_forward", "group", "apply_words")
Report = dict[str, Any]


def zipf_corpus(size: int, seed: int = 0) -> Corpus:
    """Make a text with word frequency 1 / rank, in articles of 5,000 words, without equations."""
    share = 1 / np.arange(1, V + 1)
    edges = np.cumsum(share / share.sum())
    random = np.random.default_rng(seed)
    tokens = np.minimum(np.searchsorted(edges, random.random(size)), V - 1).astype(np.int32)
    starts = np.minimum(np.arange(0, size + ARTICLE, ARTICLE), size)
    articles, none = [str(article) for article in range(len(starts) - 1)], np.zeros(1, np.int64)
    return Corpus(
        words=[f"w{word}" for word in range(V)],
        tokens=tokens,
        starts=starts,
        articles=articles,
        collections=["zipf"] * len(articles),
        equation_positions=none[:0],
        equation_types=none[:0].astype(np.int32),
        equation_starts=np.zeros(len(starts), np.int64),
        equation_names=[],
        forms=[],
        units=[],
        unit_ids=none[:0].astype(np.int32),
        unit_starts=none,
    )


def text_of(corpus: Corpus) -> TextArrays:
    """Return all words of a corpus as a text."""
    return TextArrays(corpus.tokens, corpus.starts, draws.noise_table(corpus.counts))


def first_vectors(size: int, dim: int) -> Vectors:
    """Return initial vectors."""
    random = np.random.default_rng(1)
    rho, alpha = ((random.standard_normal((size, dim)) / dim).astype(np.float32) for _ in range(2))
    return Vectors(rho, alpha, np.zeros_like(rho), np.zeros_like(rho))


def speed(text: TextArrays, rule: Rule, dim: int, threads: int, passes: int) -> Doubles:
    """Return words per second, and per CPU second."""
    vectors = first_vectors(len(text.noise.alias), dim)

    def work() -> None:
        for _ in range(passes):
            cpu.words_update(vectors, text, rule, None, threads)

    return passes * len(text.tokens) / clocked(work)


@loops.kernel
def _products(context: Floats, noise: Floats, scores: Floats, out: Floats, times: int) -> None:
    """Run the three matrix products of a block repeatedly."""
    zeros = np.empty_like(noise)
    for _ in range(times):
        np.dot(context, noise.T, scores)
        np.dot(scores, noise, out)
        np.dot(scores.T, context, zeros)


def products(rule: Rule, dim: int, threads: int, times: int = 20_000) -> Doubles:
    """Return words per second, and per CPU second, of the matrix products alone."""
    random = np.random.default_rng(0)

    def work() -> None:
        context = random.standard_normal((rule.block, dim)).astype(np.float32)
        noise = random.standard_normal((rule.negatives, dim)).astype(np.float32) / 100
        scores = np.empty((rule.block, rule.negatives), np.float32)
        _products(context, noise, scores, np.empty_like(context), times)

    def together() -> None:
        crew = [threading.Thread(target=work) for _ in range(threads)]
        for member in crew:
            member.start()
        for member in crew:
            member.join()

    with cpu.team(1):
        return threads * times * rule.block / clocked(together)


@contextmanager
def profiled(spent: dict[str, float]) -> Iterator[None]:
    """Count the CPU seconds of each kernel that the loop over batches calls, run as Python."""
    names = *PHASES, "words_batches"
    before = {name: getattr(word_loops, name) for name in names}

    def timed(name: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            start = time.thread_time()
            try:
                return before[name](*arguments)
            finally:
                spent[name] = spent.get(name, 0.0) + time.thread_time() - start

        return call

    try:
        for name in PHASES:
            setattr(word_loops, name, timed(name))
        word_loops.words_batches = before["words_batches"].py_func
        yield
    finally:
        for name, kernel in before.items():
            setattr(word_loops, name, kernel)


def profile(text: TextArrays, rule: Rule, dim: int, passes: int) -> dict[str, float]:
    """Return the CPU nanoseconds per word of each kernel, on one thread."""
    spent: dict[str, float] = {}
    with profiled(spent):
        total = 1e9 / float(speed(text, rule, dim, 1, passes)[1])
    found = {name: 1e9 * spent[name] / (passes * len(text.tokens)) for name in PHASES}
    return found | {"the rest": total - sum(found.values()), "total": total}


class Side:
    """The measurements of one text."""

    def __init__(self, name: str, corpus: Corpus, given: argparse.Namespace, folder: Path) -> None:
        self.name, self.text, self.given = name, text_of(corpus), given
        self.size, self.dim = len(corpus.tokens), given.dim
        self.passes = max(1, (ENOUGH // 10 if given.quick else ENOUGH) // self.size)
        self.rival = Cbow(corpus.tokens, folder / f"{name}.txt") if HAVE_GENSIM else None

    def rule(self, window: int) -> Rule:
        """Return our default step, with the window and n that both programs use."""
        made = model(self.given, window).rule(draws.key(0, 1, 1), 0.05, self.size)
        return made._replace(batch=self.given.batch or made.batch)

    def rows(self, window: int) -> Report:
        """Return the best M words per second by program and threads, and of the products."""
        rule, found = self.rule(window), {}
        cpu.words_update(  # compile
            first_vectors(len(self.text.noise.alias), self.dim), self.text, rule, (0, rule.batch)
        )
        products(rule, self.dim, 1, 10)
        for _ in range(self.given.rounds):
            for threads in self.given.threads:
                at = rule, self.dim, threads
                measured = {"eqemb": speed(self.text, *at, self.passes)}
                if self.rival is not None:
                    measured["gensim"] = self.rival.speed(*at, self.passes)
                measured["products"] = products(*at)
                for name, value in measured.items():
                    found.setdefault((name, threads), []).append(value / 1e6)
        report: Report = {"text": self.name, "window": window, "batch": rule.batch, "threads": {}}
        for (name, threads), values in found.items():
            row = report["threads"].setdefault(str(threads), {})
            clock, processor = np.max(values, axis=0).tolist()
            row[name] = {"mwords_per_second": clock, "mwords_per_cpu_second": processor}
            row[name]["rounds"] = np.round(values, 3).tolist()
        return report


def model(given: argparse.Namespace, window: int) -> BernoulliEmbeddings:
    """Return our defaults, with positives and negatives balanced for another n."""
    usual = BernoulliEmbeddings()
    weight = usual.negative_weight * usual.negatives / given.negatives
    return BernoulliEmbeddings(
        dim=given.dim, window=window, negatives=given.negatives, zero_weight=weight
    )


def memory(corpus: Corpus, given: argparse.Namespace, folder: Path) -> Report:
    """Return the peak memory of a process that opens the text and makes one iteration.

    A process on a small text runs first, to exclude the memory of compilation.
    """
    for name, text in (("little", zipf_corpus(10_000)), ("whole", corpus)):
        text.save(folder / name)
        command = [sys.executable, __file__, "--child", str(folder / name), "--dim", str(given.dim)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    estimate = model(given, WINDOW).estimate(corpus, probe=False)
    return {"peak_bytes": int(done.stdout), "estimate_bytes": estimate.memory}


def child(given: argparse.Namespace) -> None:
    """Run the child process of `memory`."""
    made = model(given, WINDOW).set_params(iterations=1)
    made.fit(Corpus.load(given.child), threads=max(given.threads))
    status = Path("/proc/self/status").read_text()
    print(1024 * int(status.split("VmHWM:")[1].split()[0]))


def show_speed(row: Report) -> None:
    """Print rows of the table of speeds."""
    for threads, sides in row["threads"].items():
        figures = ""
        for unit in ("mwords_per_second", "mwords_per_cpu_second"):
            mine, theirs = (sides.get(side, {}).get(unit, np.nan) for side in ("eqemb", "gensim"))
            figures += f"   {mine:7.2f} {theirs:7.2f} {mine / theirs:6.1f}"
        print(f"{row['text']:8} {row['window']:3} {threads:>8}{figures}", flush=True)


def show_gains(rows: list[Report]) -> None:
    """Print the speed-up of the last number of threads over the first."""
    print("\nspeed-up by threads, wall-clock:")
    for row in rows:
        first, *_, last = row["threads"].items()
        gains = {
            name: last[1][name]["mwords_per_second"] / first[1][name]["mwords_per_second"]
            for name in first[1]
        }
        told = ", ".join(f"{name} {gain:.2f}" for name, gain in gains.items())
        print(f"{row['text']:8} W={row['window']:<2} {first[0]} to {last[0]}: {told}")


def show_profile(report: Report) -> None:
    """Print the profile, and the limit by matrix products."""
    for name, parts in report["profile_ns_per_word"].items():
        told = ", ".join(f"{part} {value:.0f}" for part, value in parts.items())
        print(f"\nns of CPU per word, {name}, one thread, W={WINDOW}: {told}")
    limits = [row["threads"]["1"]["products"]["mwords_per_cpu_second"] for row in report["speed"]
              if "1" in row["threads"]]  # fmt: skip
    if limits:
        limit = 1e3 / max(limits)
        share = limit / report["profile_ns_per_word"]["zipf"]["total"]
        print(f"matrix products alone: {limit:.0f} ns, {share:.0%} of the total on zipf")


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--words", type=int, default=20_000_000)
    parser.add_argument("--corpus", type=Path, help="a folder saved by Corpus.save")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--quick", action="store_true", help="one million words, one round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--negatives", type=int, default=10)
    parser.add_argument(
        "--batch", type=int, help="batch size of the measured speed; default: our model's"
    )
    parser.add_argument("--windows", type=int, nargs="+", default=[4, 8, 16])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.quick:
        given.words, given.rounds = min(given.words, 1_000_000), 1
    return given


def measured(given: argparse.Namespace, folder: Path) -> Report:
    """Run all measurements; speeds are printed as they are measured."""
    corpora = {"zipf": zipf_corpus(given.words)}
    if given.corpus:
        corpora["corpus"] = Corpus.load(given.corpus)
    report: Report = {"machine": platform.processor() or platform.machine(), "speed": []}
    report |= {"words": {name: len(corpus.tokens) for name, corpus in corpora.items()}}
    report |= {"dim": given.dim, "negatives": given.negatives, "profile_ns_per_word": {}}
    if not given.json:
        print(f"K={given.dim}, n={given.negatives}, words: {report['words']}")
        print("                        M words per second       M words per CPU second")
        print("text       W  threads     eqemb  gensim  ratio     eqemb  gensim  ratio")
    for name, corpus in corpora.items():
        side = Side(name, corpus, given, folder)
        for window in given.windows:
            report["speed"].append(side.rows(window))
            if not given.json:
                show_speed(report["speed"][-1])
        spent = profile(side.text, side.rule(WINDOW), given.dim, side.passes)
        report["profile_ns_per_word"][name] = spent
    if given.memory:
        report["memory"] = memory(corpora["zipf"], given, folder)
    if given.corpus:
        ours, threads = model(given, WINDOW), max(given.threads)
        report["quality"] = train_quality.measure(
            corpora["corpus"], ours, threads, folder, quick=given.quick
        )
    return report


def main() -> None:
    """Measure and print the results."""
    given = arguments()
    if given.child:
        child(given)
        return
    with tempfile.TemporaryDirectory() as folder:
        report = measured(given, Path(folder))
    if given.json:
        print(json.dumps(report, indent=1))
        return
    if len(given.threads) > 1:
        show_gains(report["speed"])
    show_profile(report)
    if "quality" in report:
        train_quality.show(report["quality"])
    if "memory" in report:
        peak, estimate = (report["memory"][f"{name}_bytes"] / 1e6 for name in ("peak", "estimate"))
        print(f"\npeak memory of training zipf: {peak:.0f} MB, estimated {estimate:.0f} MB")


if __name__ == "__main__":
    main()
