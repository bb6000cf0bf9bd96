"""Training on a GPU: words per second, what bounds them, equality, scores, the grid, streaming.

    PYTHONPATH=src python benchmarks/gpu.py --out FOLDER --data gpu-data     all, in some minutes
    PYTHONPATH=src python benchmarks/gpu.py --out FOLDER --parts words tune  some of it
    PYTHONPATH=src python benchmarks/gpu.py --out FOLDER --smoke             small sizes, a minute
    PYTHONPATH=src python benchmarks/gpu.py --out FOLDER --device cpu --smoke   without a GPU

Needs torch, NumPy, SciPy and safetensors, and no numba. Each part stands for itself: it has a time
limit, a failure is written down and the next one begins. `FOLDER/gpu.json` holds all numbers,
`FOLDER/gpu.md` the tables. `gpu_bring.py` makes the data of the parts `scores` and `grid`.

    ceilings   what the chip does at best: copies, gathers, additions, products
    equal      how far from the reference after ten steps: by norm, and the worst single number
    words      M words/s by window and vocabulary; kernels, bytes and operations; deterministic
    tune       the same step shared out in other ways, other parts and batches
    second     a million equations with 16 words each: alpha and rho, all iterations
    stream     a text larger than its share of memory; 10 billion words on paper
    scores     final validation scores of the ml collection by batch, beside the CPU's
    grid       the paper's grid: four collections, K, W, E; b-emb, EqEmb, EqEmb-U
"""

import argparse
import json
import os
import platform
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import gpu_bring
import numpy as np
import torch

from eqemb.corpus import Corpus
from eqemb.kernels import draws, gpu, reference
from eqemb.kernels.arrays import Contexts, Near, Rows, Rule, Text, Vectors
from eqemb.models import BernoulliEmbeddings, EqEmb, EqEmbU
from eqemb.split import Split

Report = dict[str, Any]
K, N, BLOCK, ARTICLE = 100, 10, 64, 5_000
LIMITS = {  # seconds
    "ceilings": 25, "equal": 60, "words": 100, "tune": 75, "second": 75, "stream": 50,
    "scores": 75, "grid": 150,
}  # fmt: skip
TOTAL = 530


class Bench:
    """What all parts share."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given, self.smoke = given, given.smoke
        self.device = torch.device(given.device)
        self.on_gpu = self.device.type == "cuda"
        self.report: Report = {}

    def kernels(self, **settings: Any) -> gpu.Kernels:
        """The back end; without a GPU by plain operations."""
        return gpu.Kernels(self.given.device, **settings)

    def wait(self) -> None:
        """Until all work is done."""
        if self.on_gpu:
            torch.cuda.synchronize()

    def clocked(self, work: Callable[[], Any], rounds: int = 3) -> list[float]:
        """Seconds of each round; the caller has warmed up."""
        found = []
        for _ in range(rounds):
            self.wait()
            start = time.perf_counter()
            work()
            self.wait()
            found.append(time.perf_counter() - start)
        return found

    def size(self, whole: int, small: int) -> int:
        """A size, or a small one."""
        return small if self.smoke else whole

    def text(self, words: int, size: int) -> Text:
        """Words with frequency 1 / rank, in articles of 5,000."""
        share = 1 / torch.arange(1, size + 1, device=self.device, dtype=torch.float64)
        edges = torch.cumsum(share / share.sum(), 0).to(torch.float32)
        made = torch.Generator(self.device).manual_seed(0)
        tokens = np.empty(words, np.int32)
        for low in range(0, words, 1 << 26):
            drawn = torch.rand(min(1 << 26, words - low), generator=made, device=self.device)
            found = torch.searchsorted(edges, drawn).clamp_(max=size - 1).to(torch.int32)
            tokens[low : low + len(found)] = found.cpu().numpy()
        starts = np.minimum(np.arange(0, words + ARTICLE, ARTICLE), words)
        return Text(tokens, starts, draws.noise_table(np.bincount(tokens, minlength=size) + 1))


def vectors(size: int, dim: int = K) -> Vectors:
    """Where training starts."""
    random = np.random.default_rng(1)
    rho, alpha = (random.standard_normal((size, dim), np.float32) / dim for _ in range(2))
    return Vectors(rho, alpha, np.zeros_like(rho), np.zeros_like(rho))


def rule(window: int, batch: int, **more: Any) -> Rule:
    """The step that is measured."""
    made = Rule(window, N, BLOCK, batch, 0.3, 0.05, draws.key(0, 1, 1))
    return made._replace(**more)


# What the chip does at best


def ceilings(bench: Bench) -> Report:
    """Rates of single operations, large ones."""
    size, device = bench.size(1 << 30, 1 << 22), bench.device
    found = {"copy_TB_per_s": 8e-12 * size / copied(bench, size)}
    side = bench.size(8192, 256)
    a, b = (torch.randn(side, side, device=device) for _ in range(2))
    for name, allowed in (("float32", False), ("tf32", True)):
        torch.backends.cuda.matmul.allow_tf32 = allowed
        seconds = best(bench, lambda: a @ b)
        found[f"matmul_{name}_TFLOP_per_s"] = 2e-12 * side**3 / seconds
    torch.backends.cuda.matmul.allow_tf32 = False
    rows = bench.size(1 << 21, 1 << 12)
    for words in (25_000, 250_000):
        table = torch.randn(words, K, device=device)
        ids = torch.from_numpy(bench.text(rows, words).tokens).to(device)
        values = torch.randn(rows, K, device=device)
        seconds = best(bench, partial(torch.index_select, table, 0, ids))
        found[f"gather_{words}_Grows_per_s"] = 1e-9 * rows / seconds
        seconds = best(bench, partial(table.index_add_, 0, ids, values))
        found[f"index_add_{words}_Grows_per_s"] = 1e-9 * rows / seconds
    blocks = bench.size(8192, 64)
    context = torch.randn(blocks, BLOCK, K, device=device)
    noise = torch.randn(blocks, N, K, device=device)
    for name, allowed in (("float32", False), ("tf32", True)):
        torch.backends.cuda.matmul.allow_tf32 = allowed

        def three() -> None:
            g = torch.bmm(context, noise.transpose(1, 2))
            torch.bmm(g, noise)
            torch.bmm(g.transpose(1, 2), context)

        found[f"three_products_{name}_Mwords_per_s"] = 1e-6 * blocks * BLOCK / best(bench, three)
    torch.backends.cuda.matmul.allow_tf32 = False
    return found


def copied(bench: Bench, size: int) -> float:
    """Seconds of a copy of so many floats."""
    one, other = (torch.empty(size, device=bench.device).uniform_() for _ in range(2))
    return best(bench, lambda: other.copy_(one))


def best(bench: Bench, work: Callable[[], Any], times: int = 5) -> float:
    """Seconds of one call, the best of some rounds of several."""
    work()

    def several() -> None:
        for _ in range(times):
            work()

    return min(bench.clocked(several)) / times


# Equal to the reference


def equal(bench: Bench) -> Report:
    """Ten steps of each conditional beside the reference in float64."""
    size = bench.size(2048, 512)
    text = bench.text(10 * size, 1000)
    found: Report = {"steps": 10, "batch": size}
    ways = {
        "default": {},
        "plain torch": {"fused": False},
        "deterministic": {"deterministic": True},
    }
    for window in (4, 8, 16):
        one = vectors(1000)
        loss = reference.words_update(one, text, rule(window, size))
        for name, settings in ways.items():
            other = vectors(1000)
            there = bench.kernels(**settings).words_update(other, text, rule(window, size))
            found[f"words W={window}, {name}"] = apart((loss, *one), (there, *other))
    near, contexts = made_near(bench, 400, 8), made_contexts(bench, 400)
    for name, settings in ways.items():
        back_end = bench.kernels(**settings)
        pairs = [[Rows(*(np.zeros((400, K), np.float32) for _ in range(2))) for _ in range(2)]
                 for _ in range(2)]  # fmt: skip
        losses: list[list[float]] = [[], []]
        fixed = Vectors(*vectors(1000)[:2], *(np.empty((0, K), np.float32) for _ in range(2)))
        for side, back in enumerate((reference, back_end)):
            for _ in range(10):
                alpha, rho = pairs[side]
                made = rule(8, 512, rate=0.2)
                losses[side].append(back.bags_update(alpha, fixed, text, near, made))
                losses[side].append(back.contexts_update(rho, contexts, made))
        one = (np.array(losses[0]), *pairs[0][0], *pairs[0][1])
        found[f"second pass, {name}"] = apart(
            one, (np.array(losses[1]), *pairs[1][0], *pairs[1][1])
        )
    rows = [value for name, value in found.items() if "," in name]
    for measure in ("by_norm", "worst_number"):
        found[f"largest_{measure}"] = max(row[measure] for row in rows)
    found["within_1e-4_by_norm"] = found["largest_by_norm"] < 1e-4
    return found


def apart(one: tuple[Any, ...], other: tuple[Any, ...]) -> Report:
    """How far arrays are apart: by their norms, and where a single number is farthest.

    Adagrad's first step has the size of the rate however small the gradient: where one nearly
    cancels, rounding decides, in numba as here. Such single numbers are counted beside.
    """
    pairs = [(np.atleast_1d(np.asarray(a, np.float64)), b) for a, b in zip(one, other, strict=True)]
    gaps = [(np.abs(a - b), np.abs(a).max()) for a, b in pairs]
    return {
        "by_norm": max(float(np.linalg.norm(a - b) / np.linalg.norm(a)) for a, b in pairs),
        "worst_number": max(float(gap.max() / most) for gap, most in gaps),
        "numbers_beyond_1e-4": sum(int((gap > 1e-4 * most).sum()) for gap, most in gaps),
        "numbers": sum(gap.size for gap, _ in gaps),
    }


def made_near(bench: Bench, types: int, each: int, stride: int = 0) -> Near:
    """Equations of one occurrence, with `each` words around, evenly over a text."""
    stride = stride or each
    positions = (np.arange(types)[:, None] * stride + np.arange(each)).reshape(-1)
    del bench
    return Near(
        positions, np.arange(types * each + 1), np.repeat(np.arange(types, dtype=np.int32), each),
        np.arange(types + 1), np.arange(types, dtype=np.int32), np.ones(types, np.float32),
    )  # fmt: skip


def made_contexts(bench: Bench, types: int, sums: Any = None) -> Contexts:
    """One occurrence of each type, and N others' contexts as zeros."""
    del bench
    random = np.random.default_rng(2)
    if sums is None:
        sums = random.standard_normal((types, K), np.float32)
    zeros = random.integers(1, types, (types, N)) + np.arange(types)[:, None]
    return Contexts(sums, np.arange(types + 1), np.arange(types), zeros % types)


# Words per second


def speed(
    bench: Bench, back_end: gpu.Kernels, text: Text, made: Rule, rounds: int = 3
) -> list[float]:
    """M words/s of each round; vectors are on the device, as between the batches of a pass."""
    with back_end.holding(vectors(len(text.noise.alias))) as (held,), torch.no_grad():
        warm = min(len(text.tokens), 4 * made.batch)
        back_end.words_update(held, text, made, (0, warm))
        seconds = bench.clocked(lambda: back_end.words_update(held, text, made), rounds)
    return [1e-6 * len(text.tokens) / one for one in seconds]


def words(bench: Bench) -> Report:
    """Rates at the sizes that are asked for."""
    batch = bench.size(262_144, 4096)
    found: Report = {"K": K, "n": N, "block": BLOCK, "batch": batch, "rates": []}
    for size in (bench.size(25_000, 2500), bench.size(250_000, 25_000)):
        text = bench.text(bench.size(1 << 26, 1 << 15), size)
        for window in (4, 8, 16):
            made = rule(window, batch)
            row = {
                "words": size,
                "window": window,
                "rounds": speed(bench, bench.kernels(), text, made),
            }
            row |= counted(text, made, max(row["rounds"]))
            if window == 8:
                exact = bench.kernels(deterministic=True)
                row["deterministic"] = max(speed(bench, exact, text, made))
                row["small_batch_16384"] = max(
                    speed(bench, bench.kernels(), text, rule(window, bench.size(16_384, 1024)))
                )
                some = text._replace(tokens=text.tokens[: 1 << 23], starts=text.starts)
                some = Text(some.tokens, np.minimum(text.starts, len(some.tokens)), text.noise)
                plain = bench.kernels(fused=False)
                row["plain_torch"] = max(speed(bench, plain, some, made, 2))
                row["kernels_us_per_batch"] = profile(bench, text, made)
                row["same_bytes"] = same_bytes(bench, text, made)
            found["rates"].append(row)
            show(row)
    return found


def counted(text: Text, made: Rule, rate: float) -> Report:
    """Bytes and operations of a word, and what they come to at a rate of M words/s.

    Through the caches: the rows of a window twice (contexts, and their gradients), the word's own
    rho, the gradient of the context once each way, both additions (read and written), and a
    block's zeros. Through memory at least: tokens and articles, and the rows that a batch
    touches, each of two matrices, their sums and their sheets read and written.
    """
    row = 4 * K
    zeros = made.negatives / made.block
    cached = row * (2 * made.window + 1 + 2 + 4 + 3 * zeros)
    seen = len(np.unique(text.tokens[: made.batch]))
    drawn = draws.zeros(made.key, np.arange(made.batch // made.block), made.negatives, text.noise)
    touched = len(np.unique(np.concatenate([text.tokens[: made.batch], drawn.ravel()])))
    least = 8 + 6 * row * (seen + touched) / made.batch
    flops = 2 * K * (3 * made.negatives + 2 * made.window + 4)
    return {
        "Mwords_per_s": rate,
        "rows_touched_by_a_batch": touched,
        "cache_bytes_per_word": cached,
        "memory_bytes_per_word": least,
        "flops_per_word": flops,
        "cache_TB_per_s": 1e-6 * rate * cached,
        "memory_TB_per_s": 1e-6 * rate * least,
        "TFLOP_per_s": 1e-6 * rate * flops,
        "row_additions_G_per_s": 1e-3 * rate * (2 + zeros),
    }


def profile(bench: Bench, text: Text, made: Rule, batches: int = 20) -> dict[str, float]:
    """Microseconds of each kernel in a batch, by torch's profiler; nothing without a GPU."""
    if not bench.on_gpu:
        return {}
    back_end, end = bench.kernels(), batches * made.batch
    kinds = [torch.profiler.ProfilerActivity.CUDA, torch.profiler.ProfilerActivity.CPU]
    with back_end.holding(vectors(len(text.noise.alias))) as (held,), torch.no_grad():
        back_end.words_update(held, text, made, (0, end))
        bench.wait()
        with torch.profiler.profile(activities=kinds) as watched:
            back_end.words_update(held, text, made, (0, end))
            bench.wait()
    spent = {
        event.key[:40]: event.device_time_total / batches
        for event in watched.key_averages()
        if event.device_time_total > 0 and not event.key.startswith(("cuda", "aten", "cu"))
    }
    return dict(sorted(spent.items(), key=lambda pair: -pair[1])[:8])


def same_bytes(bench: Bench, text: Text, made: Rule) -> dict[str, bool]:
    """Whether two runs of some batches give the same bytes, with and without `deterministic`."""
    found = {}
    for exact in (True, False):
        runs = []
        for _ in range(2):
            learned = vectors(len(text.noise.alias))
            end = min(len(text.tokens), 20 * made.batch)
            bench.kernels(deterministic=exact).words_update(learned, text, made, (0, end))
            runs.append(b"".join(array.tobytes() for array in learned))
        found["deterministic" if exact else "default"] = runs[0] == runs[1]
    return found


def tune(bench: Bench) -> Report:
    """The step at W=8 shared out in other ways: programs, parts, batches."""
    text = bench.text(bench.size(1 << 25, 1 << 14), bench.size(25_000, 2500))
    batch = bench.size(262_144, 4096)
    found: Report = {"rows_warps": {}, "spread_rows_warps": {}, "part": {}, "batch": {}}
    back_end = bench.kernels()
    if back_end.shape is not None:
        for rows, warps in ((8, 1), (8, 2), (16, 2), (16, 4), (32, 8), (64, 8)):
            back_end.shape = back_end.shape._replace(rows=rows, warps=warps)
            show_best(found["rows_warps"], f"{rows}x{warps}", bench, back_end, text, rule(8, batch))
        back_end = bench.kernels()
        for rows, warps in ((8, 2), (16, 4), (32, 4), (32, 8), (64, 8)):
            back_end.shape = back_end.shape._replace(spread_rows=rows, spread_warps=warps)
            key = f"{rows}x{warps}"
            show_best(found["spread_rows_warps"], key, bench, back_end, text, rule(8, batch))
    for part in (16_384, 32_768, 65_536, 131_072, 262_144):
        back_end = bench.kernels()
        back_end.part = part
        show_best(
            found["part"], str(part), bench, back_end, text, rule(8, bench.size(262_144, 4096))
        )
    for batch in (4096, 16_384, 65_536, 131_072, 262_144, 524_288):
        if not bench.smoke or batch < 10_000:
            show_best(found["batch"], str(batch), bench, bench.kernels(), text, rule(8, batch))
    return found


def show_best(into: Report, name: str, bench: Bench, *what: Any) -> None:
    """Measure and show one variant."""
    into[name] = round(max(speed(bench, *what, 2)), 1)
    show({name: into[name]})


# The second pass


def second(bench: Bench) -> Report:
    """A million equations of one occurrence and 16 words: alpha by words near, rho by contexts."""
    types, each, iterations = bench.size(1_000_000, 2000), 16, 20
    start = time.perf_counter()
    text = bench.text(types * each, 25_000)
    near = made_near(bench, types, each)
    words_ = Vectors(*vectors(25_000)[:2], *(np.empty((0, K), np.float32) for _ in range(2)))
    rows = each // 2
    sums = np.zeros((types, K), np.float32)
    for slot in range(-rows, rows):
        sums += words_.alpha[text.tokens[np.arange(types) * each + rows + slot]]
    contexts = made_contexts(bench, types, sums)
    prepared = time.perf_counter() - start
    back_end = bench.kernels()
    alpha, rho = (Rows(*(np.zeros((types, K), np.float32) for _ in range(2))) for _ in range(2))
    losses, seconds = [], {"alpha": 0.0, "rho": 0.0, "transfers": 0.0}
    bench.wait()
    start = time.perf_counter()
    with back_end.holding(alpha, rho) as (held, other):
        seconds["transfers"] = time.perf_counter() - start
        for iteration in range(1, iterations + 1):
            made = rule(8, 131_072, rate=0.2, key=draws.key(0, 2, iteration))
            begun = time.perf_counter()
            losses.append(back_end.bags_update(held, words_, text, near, made, whole=True))
            bench.wait()
            seconds["alpha"] += time.perf_counter() - begun
            begun = time.perf_counter()
            losses.append(back_end.contexts_update(other, contexts, made))
            bench.wait()
            seconds["rho"] += time.perf_counter() - begun
    total = time.perf_counter() - start
    return {
        "equations": types, "words_each": each, "iterations": iterations, "solved_in_s": total,
        "data_made_in_s": prepared, "seconds": seconds, "within_60_s": total <= 60,
        "Mpositions_per_s": 1e-6 * types * each * iterations / seconds["alpha"],
        "losses": {"b_w": losses[0::2][:: iterations - 1], "b_e": losses[1::2][:: iterations - 1]},
    }  # fmt: skip


# Streaming


def stream(bench: Bench) -> Report:
    """A text in a mapped file, resident and then with a share of memory that holds a tenth."""
    size, batch = bench.size(1 << 28, 1 << 16), bench.size(262_144, 4096)
    text, made = bench.text(size, bench.size(25_000, 2500)), rule(8, batch)
    found: Report = {"words": size, "text_bytes": 8 * size}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokens"
        text.tokens.tofile(path)
        mapped = text._replace(tokens=np.memmap(path, np.int32, "r"))
        found["resident"] = max(speed(bench, bench.kernels(), mapped, made, 2))
        show(found)
        found["share_bytes"] = 8 * size // 10
        streamed = bench.kernels(memory=found["share_bytes"])
        found["chunks"] = sum(1 for _ in streamed._chunks(mapped, (0, size), batch))  # noqa: SLF001
        found["streamed"] = max(speed(bench, streamed, mapped, made, 2))
        del mapped
    found["streamed_over_resident"] = found["streamed"] / found["resident"]
    found["at_least_60_percent"] = found["streamed_over_resident"] >= 0.6
    epoch = 1e4 / found["streamed"]
    found["ten_billion_words_on_paper"] = {
        "seconds_of_an_iteration": epoch,
        "minutes_of_five": 5 * epoch / 60,
        "bytes_read_an_iteration": 4e10,
        "GB_per_s_of_reading_that_this_needs": 4e-3 * found["streamed"],
    }
    return found


# Real collections


def brought(folder: Path | None, name: str) -> tuple[Corpus, Split]:
    """A collection that was taken along."""
    if folder is None or not (folder / name).is_dir():
        raise FileNotFoundError(f"no collection {name} in --data {folder}: see gpu_bring.py")
    return Corpus.load(folder / name / "corpus"), Split.load(folder / name / "split")


def place(bench: Bench) -> str:
    """The device as models name it."""
    return "cuda" if bench.on_gpu else "torch"


def scores(bench: Bench) -> Report:
    """Final validation scores of ml by batch: mean over seeds, beside the CPU's."""
    corpus, split = brought(bench.given.data, gpu_bring.JUDGED)
    known = bench.given.data / "cpu.json"
    cpu = json.loads(known.read_text("utf-8")) if known.exists() else {}
    seeds = range(bench.size(5, 1))
    settings: Report = {"device": place(bench)} | ({"iterations": 1} if bench.smoke else {})
    found: Report = {"collection": gpu_bring.JUDGED, "words": len(corpus.tokens), "rows": []}
    for name, batches in (
        ("words", (*gpu_bring.BATCHES, *gpu_bring.LARGER)),
        ("eqemb-u", gpu_bring.BATCHES[:1]),
    ):
        for batch in batches[: bench.size(99, 1)]:
            start, values = time.perf_counter(), []
            for seed in seeds:
                made = gpu_bring.model(name, batch, **settings).fit(corpus, split, seed=seed)
                values.append(made.embeddings_.config["validation"])
            row = {"model": name, "batch": batch, "seeds": len(seeds)} | spread("gpu", values)
            row["seconds"] = (time.perf_counter() - start) / len(seeds)
            theirs = [cpu.get(f"{name} {batch} {seed}") for seed in seeds]
            if not bench.smoke and all(value is not None for value in theirs):
                row |= spread("cpu", theirs)
                row["apart"] = row["gpu"] - row["cpu"]
                row["within_one_error"] = abs(row["apart"]) <= max(row["gpu_se"], row["cpu_se"])
            found["rows"].append(row)
            show(row)
    return found


def spread(name: str, values: list[float]) -> Report:
    """Mean and standard error over seeds."""
    error = float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else 0.0
    return {name: float(np.mean(values)), f"{name}_se": error}


def grid(bench: Bench) -> Report:
    """Every model of the paper's grid, in some processes that share the GPU."""
    names, dims = ("ml", "nlp", "ir", "ai"), (100, 75, 50, 25)
    if bench.smoke:
        names, dims = names[-1:], dims[-1:]
    data = bench.given.data
    brought(data, names[0])
    tasks = [(str(data), name, dim, place(bench), bench.smoke) for dim in dims for name in names]
    start, rows = time.perf_counter(), list[Report]()
    jobs = min(len(tasks), bench.given.jobs)
    with get_context("spawn").Pool(jobs) as pool:
        for done in pool.imap_unordered(grid_task, tasks):
            rows += done
            show({"models": len(rows), "seconds": time.perf_counter() - start})
    total = time.perf_counter() - start
    best: Report = {}
    for row in rows:
        key = f"{row['collection']} {row['model']}"
        if key not in best or row["validation"] > best[key]["validation"]:
            best[key] = row
    return {
        "models": len(rows), "processes": jobs, "seconds_in_total": total,
        "seconds_of_training": sum(row["seconds"] for row in rows),
        "iterations": sum(row["iterations"] for row in rows),
        "best": [best[key] for key in sorted(best)],
    }  # fmt: skip


def grid_task(task: tuple[str, str, int, str, bool]) -> list[Report]:
    """The models of a collection and a K; equations build on the words of their W."""
    folder, name, dim, device, small = task
    torch.set_num_threads(1)
    corpus, split = brought(Path(folder), name)
    shared: Report = {"dim": dim, "device": device} | ({"iterations": 1} if small else {})
    rows = []

    def fit(model: Any, around: int | None = None) -> Any:
        start = time.perf_counter()
        made = model.fit(corpus, split)
        rows.append({
            "collection": name, "model": model.title, "K": dim, "W": model.window, "E": around,
            "validation": made.embeddings_.config["validation"],
            "iterations": len(made.history_), "seconds": time.perf_counter() - start,
        })  # fmt: skip
        return made.embeddings_

    for window in (4,) if small else (4, 8, 16):
        words = fit(BernoulliEmbeddings(window=window, **shared))
        fit(BernoulliEmbeddings(window=window, equations="tokens", **shared))
        for around in (8,) if small else (8, 16):
            for kind in (EqEmb, EqEmbU):
                fit(kind(window=window, equation_window=around, words=words, **shared), around)
    return rows


PARTS: dict[str, Callable[[Bench], Report]] = {
    "ceilings": ceilings,
    "equal": equal,
    "words": words,
    "tune": tune,
    "second": second,
    "stream": stream,
    "scores": scores,
    "grid": grid,
}


# Running and writing


def show(row: Report) -> None:
    """One line while it runs."""
    print("   ", json.dumps(rounded(row)), flush=True)


def rounded(value: Any) -> Any:
    """Numbers to four digits, for reading."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise TimeoutError when time is up."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"stopped after {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def machine(bench: Bench) -> Report:
    """What it runs on."""
    found: Report = {"torch": torch.__version__, "python": platform.python_version()}
    if bench.on_gpu:
        made = torch.cuda.get_device_properties(bench.device)
        found |= {
            "gpu": made.name,
            "memory": made.total_memory,
            "multiprocessors": made.multi_processor_count,
        }
        found["l2"] = getattr(made, "L2_cache_size", None)
    return found


def write(bench: Bench) -> None:
    """Everything so far, whole or not at all."""
    out = Path(bench.given.out)
    out.mkdir(parents=True, exist_ok=True)
    for name, content in (
        ("gpu.json", json.dumps(bench.report, indent=1)),
        ("gpu.md", markdown(bench.report)),
    ):
        new = out / f".{name}"
        new.write_text(content + "\n", "utf-8")
        new.replace(out / name)


def markdown(report: Report) -> str:
    """Each part as a list of what it found; tables where rows are alike."""
    lines = ["# Training on a GPU", ""]
    for name, found in report.items():
        lines += [f"## {name}", ""]
        for key, value in rounded(found).items():
            if isinstance(value, list) and value and isinstance(value[0], dict):
                lines += [f"{key}:", "", *table(value), ""]
            elif isinstance(value, dict):
                lines.append(f"- {key}: " + ", ".join(f"{k} {v}" for k, v in value.items()))
            else:
                lines.append(f"- {key}: {value}")
        lines.append("")
    return "\n".join(lines)


def table(rows: list[Report]) -> list[str]:
    """A Markdown table of the plain values of some rows."""
    names = list(dict.fromkeys(
        name for row in rows for name, value in row.items() if not isinstance(value, dict | list)
    ))  # fmt: skip
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    return lines + [
        "| " + " | ".join(str(row.get(name, "")) for name in names) + " |" for row in rows
    ]


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data", type=Path, help="a folder made by gpu_bring.py")
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--jobs", type=int, default=8, help="processes of the grid")
    parser.add_argument("--smoke", action="store_true", help="small sizes: does it run at all")
    parser.add_argument("--begun", type=float, default=0.0, help=argparse.SUPPRESS)
    return parser.parse_args()


def run_part(bench: Bench, name: str, seconds: float) -> Report:
    """What a part found, or how it failed."""
    print(f"== {name}", flush=True)
    start = time.perf_counter()
    try:
        with within(seconds):
            found = PARTS[name](bench)
    except Exception as error:  # noqa: BLE001  (the next part may well run)
        traceback.print_exc()
        found = {"failed": f"{type(error).__name__}: {error}"[:300]}
    return found | {"part_took_s": time.perf_counter() - start}


def is_broken(bench: Bench) -> bool:
    """Whether this process has lost its GPU: an illegal access ends all that comes after it."""
    if not bench.on_gpu:
        return False
    try:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
    except RuntimeError:
        return True
    return False


def main() -> None:
    """Run the parts, one after the other, whatever becomes of each."""
    given = arguments()
    bench, begun = Bench(given), given.begun or time.time()
    kept = given.out / "gpu.json"
    if given.begun and kept.exists():
        bench.report = json.loads(kept.read_text("utf-8"))
    else:
        bench.report["machine"] = machine(bench)
        print(json.dumps(bench.report["machine"]), flush=True)
    for at, name in enumerate(given.parts):
        left = TOTAL - (time.time() - begun)
        found = {"failed": "no time was left"}
        if left > 5:
            found = run_part(bench, name, min(LIMITS[name], left))
        bench.report[name] = found
        show(found)
        write(bench)
        rest = given.parts[at + 1 :]
        if "failed" in found and rest and is_broken(bench):
            same = [option for option in sys.argv[1:] if option not in PARTS]
            same = [option for option in same if option != "--parts"]
            again = [sys.executable, __file__, *same, "--begun", str(begun), "--parts", *rest]
            os.execv(sys.executable, again)  # noqa: S606
    failed = [name for name, found in bench.report.items() if "failed" in found]
    print(f"{time.time() - begun:.0f} s; failed: {', '.join(failed) or 'none'}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
