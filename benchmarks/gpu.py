"""Training on a GPU: speed and its bounds, agreement with the reference, scores, grid, streaming.

    PYTHONPATH=src python benchmarks/gpu.py --out FOLDER --data gpu-data     all, in some minutes
    PYTHONPATH=src python benchmarks/gpu.py --out FOLDER --parts words tune  some parts
    ... --keep                      and keep the other parts of FOLDER/gpu.json
    ... --smoke                     small sizes, a minute
    ... --device cpu --smoke        without a GPU
    python benchmarks/gpu.py --out FOLDER --keep --parts   run nothing, write gpu.md from gpu.json

Needs torch, NumPy, SciPy and safetensors, but not numba. Parts are independent: each has a time
limit, and if one fails, the error is recorded with the results so far and the next part runs.
`FOLDER/gpu.json` holds all numbers, `FOLDER/gpu.md` tables and sentences generated from them
(`gpu_report.py`). `gpu_bring.py` packs the data of the parts `scores`, `exact` and `grid`.

    ceilings   limits of the chip: copies, matrix products, rows loaded and rows added
    equal      difference from the reference after ten steps, next to that of the reference itself
    words      M words/s by window and vocabulary; kernels, bytes and operations; deterministic
    tune       the same step with other program shapes, parts and batches
    second     a million equations with 16 words each: alpha and rho, all iterations
    stream     a text larger than its share of memory; host work; estimate for 10 billion words
    exact      whole fits of the ml collection, twice: whether bytes are equal, and what that costs
    scores     final validation scores of the ml collection by batch size, next to the CPU's
    grid       the paper's grid: four collections, K, W, E; b-emb, EqEmb, EqEmb-U
    fits       whole fits of EqEmb and EqEmb-U on a million equations, including host work
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
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import gpu_bring
import numpy as np
import torch
from gpu_report import Report, counted, markdown, rounded

from eqemb.corpus import split as splits
from eqemb.corpus.corpus import Corpus
from eqemb.corpus.split import Split
from eqemb.kernels import draws, gpu, gpu_memory, reference
from eqemb.kernels.arrays import Contexts, Near, Rows, Rule, TextArrays, Vectors
from eqemb.models import BernoulliEmbeddings, EqEmb, EqEmbH, EqEmbU
from eqemb.storage import array_file

K, N, BLOCK, ARTICLE = 100, 10, 64, 5_000
WINDOWS, SIZES = (4, 8, 16), (25_000, 250_000)
LIMITS = {  # seconds
    "ceilings": 60, "equal": 90, "words": 100, "tune": 60, "second": 60, "stream": 70,
    "exact": 110, "scores": 75, "grid": 120, "fits": 180,
}  # fmt: skip
TOTAL = 530


class Bench:
    """State shared by all parts."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given, self.smoke = given, given.smoke
        self.device = torch.device(given.device)
        self.on_gpu = self.device.type == "cuda"
        self.has_triton = find_spec("triton") is not None and (
            self.on_gpu or os.environ.get("TRITON_INTERPRET") == "1"
        )
        self.report: Report = {}
        self.found: Report = {}
        """Results of the current part so far, kept if it exceeds its time limit."""

    def kernels(self, **settings: Any) -> gpu.Kernels:
        """Return the back end; without a GPU it uses plain torch operations."""
        return gpu.Kernels(self.given.device, **settings)

    def wait(self) -> None:
        """Wait until all work is done."""
        if self.on_gpu:
            torch.cuda.synchronize()

    def clocked(self, work: Callable[[], Any], rounds: int = 3) -> list[float]:
        """Return the seconds of each round; the caller has to warm up."""
        found = []
        for _ in range(rounds):
            self.wait()
            start = time.perf_counter()
            work()
            self.wait()
            found.append(time.perf_counter() - start)
        return found

    def size(self, whole: int, small: int) -> int:
        """Return a size, or a small one with --smoke."""
        return small if self.smoke else whole

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the sizes of vocabularies."""
        return tuple(self.size(size, size // 100) for size in SIZES)

    def peak(self) -> float:
        """Return the peak memory of the device in GB since the last call."""
        if not self.on_gpu:
            return 0.0
        found = 1e-9 * torch.cuda.max_memory_allocated(self.device)
        torch.cuda.reset_peak_memory_stats(self.device)
        return found

    def text(self, words: int, size: int) -> TextArrays:
        """Make a text with word frequency 1 / rank, in articles of 5,000 words."""
        share = 1 / torch.arange(1, size + 1, device=self.device, dtype=torch.float64)
        edges = torch.cumsum(share / share.sum(), 0).to(torch.float32)
        made = torch.Generator(self.device).manual_seed(0)
        tokens = np.empty(words, np.int32)
        for low in range(0, words, 1 << 26):
            drawn = torch.rand(min(1 << 26, words - low), generator=made, device=self.device)
            found = torch.searchsorted(edges, drawn).clamp_(max=size - 1).to(torch.int32)
            tokens[low : low + len(found)] = found.cpu().numpy()
        starts = np.minimum(np.arange(0, words + ARTICLE, ARTICLE), words)
        return TextArrays(
            tokens, starts, draws.noise_table(np.bincount(tokens, minlength=size) + 1)
        )


def vectors(size: int, seed: int = 1, sums: float = 0.0) -> Vectors:
    """Return initial vectors and Adagrad sums."""
    random = np.random.default_rng(seed)
    rho, alpha = (random.standard_normal((size, K), np.float32) / K for _ in range(2))
    return Vectors(rho, alpha, np.full_like(rho, sums), np.full_like(rho, sums))


def rule(window: int, batch: int, **more: Any) -> Rule:
    """Return the settings of the measured step."""
    made = Rule(window, N, BLOCK, batch, 0.3, 0.05, draws.key(0, 1, 1))
    return made._replace(**more)


# Limits of the chip


def ceilings(bench: Bench) -> Report:
    """Measure the rates of single, large operations."""
    size, device, found = bench.size(1 << 30, 1 << 22), bench.device, bench.found
    found["copy_TB_per_s"] = 8e-12 * size / copied(bench, size)
    side = bench.size(8192, 256)
    a, b = (torch.randn(side, side, device=device) for _ in range(2))
    for name, allowed in (("float32", False), ("tf32", True)):
        torch.backends.cuda.matmul.allow_tf32 = allowed
        seconds = best(bench, lambda: a @ b)
        found[f"matmul_{name}_TFLOP_per_s"] = 2e-12 * side**3 / seconds
    torch.backends.cuda.matmul.allow_tf32 = False
    rows = bench.size(1 << 21, 1 << 8)
    for words in bench.sizes:
        table = torch.randn(words, K, device=device)
        ids = torch.from_numpy(bench.text(rows, words).tokens).to(device)
        values = torch.randn(rows, K, device=device)
        seconds = best(bench, partial(torch.index_select, table, 0, ids))
        found[f"gather_{words}_Grows_per_s"] = 1e-9 * rows / seconds
        seconds = best(bench, partial(table.index_add_, 0, ids, values))
        found[f"index_add_{words}_Grows_per_s"] = 1e-9 * rows / seconds
    if bench.has_triton:
        cached(bench, bench.size(rows, 1 << 5))
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


def cached(bench: Bench, rows: int) -> None:
    """Measure rows loaded and rows added through the caches, without other work.

    Rows are chosen as in the step: words in text order and negatives as drawn; "along"
    are the gradients of contexts, which are in order; "evenly" is a small table in which all rows
    are equally likely: nearly all of them come from the L2 cache.
    """
    own, found, device = import_module("gpu_ceilings"), bench.found, bench.device

    def rate(ways: Any, each: int) -> float:
        return 1e-9 * rows * each / min(best(bench, way) for way in ways)

    even = torch.randint(bench.sizes[0], (rows + 8,), device=device, dtype=torch.int32)
    table = torch.randn(bench.sizes[0], K, device=device)
    found["windows_evenly_W8_Grows_per_s"] = rate(own.window_sums(table, even, 8), 8)
    found["windows_evenly_W8_TB_per_s"] = 4e-3 * K * found["windows_evenly_W8_Grows_per_s"]
    found["additions_evenly_Grows_per_s"] = rate(own.additions(table, even[:rows]), 1)
    part = bench.size(gpu_memory.GPU_PART, 1 << 7)
    table = torch.randn(part, K, device=device)
    for window in WINDOWS:
        tokens = (torch.arange(rows + window, device=device) % part).to(torch.int32)
        name = f"windows_along_W{window}_Grows_per_s"
        found[name] = rate(own.window_sums(table, tokens, window), window)
    for size in bench.sizes:
        text, table = bench.text(rows + WINDOWS[-1], size), torch.randn(size, K, device=device)
        tokens = torch.from_numpy(text.tokens).to(device)
        for window in WINDOWS:
            name = f"windows_{size}_W{window}_Grows_per_s"
            found[name] = rate(own.window_sums(table, tokens[: rows + window], window), window)
        drawn = draws.zeros(draws.key(0, 1, 1), np.arange(-(-rows // N)), N, text.noise)
        zeros = torch.from_numpy(drawn.reshape(-1)[:rows].astype(np.int32)).to(device)
        for name, ids in (("text", tokens[:rows]), ("zeros", zeros)):
            found[f"additions_{size}_{name}_Grows_per_s"] = rate(own.additions(table, ids), 1)


def copied(bench: Bench, size: int) -> float:
    """Return the seconds of copying this many floats."""
    one, other = (torch.empty(size, device=bench.device).uniform_() for _ in range(2))
    return best(bench, lambda: other.copy_(one))


def best(bench: Bench, work: Callable[[], Any]) -> float:
    """Return the seconds of one call: the best of several rounds of several calls."""
    times = bench.size(5, 1)
    work()

    def several() -> None:
        for _ in range(times):
            work()

    return min(bench.clocked(several, bench.size(3, 1))) / times


# Agreement with the reference


WAYS: dict[str, Report] = {
    "default": {},
    "plain torch": {"fused": False},
    "deterministic": {"deterministic": True},
}


def equal(bench: Bench) -> Report:
    """Compare ten steps of each conditional with the float64 reference, from several starts.

    Adagrad's first step has the size of the rate, however small the gradient: if one nearly
    cancels, rounding decides its sign. As a control, the reference is compared with itself, started
    one unit in the last place away. In runs whose sums start at 1e-3, no sign flips.
    """
    size, seeds = bench.size(2048, 384), range(bench.size(3, 1))
    text = bench.text(10 * size, 1000)
    found = bench.found
    found |= {"steps": 10, "batch": size, "seeds": len(seeds), "rows": []}
    cases = [(window, sums, seed) for window in WINDOWS for sums in (0.0, 1e-3) for seed in seeds]
    tasks = [(text, rule(window, size), sums, seed, ulp)
             for window, sums, seed in cases for ulp in (False, True)]  # fmt: skip
    if bench.smoke:
        made = list(map(reference_run, tasks))
    else:  # the reference is slow, and its runs are independent
        with processes(min(len(tasks), bench.given.jobs)) as pool:
            made = pool.map(reference_run, tasks, chunksize=1)
    apart_by: dict[tuple[str, str, float], list[Report]] = {}
    for (window, sums, seed), one, control in zip(cases, made[0::2], made[1::2], strict=True):
        name = f"words W={window}"
        apart_by.setdefault((name, "control", sums), []).append(apart(one, control))
        for way, settings in WAYS.items():
            other = vectors(1000, seed, sums)
            loss = bench.kernels(**settings).words_update(other, text, rule(window, size))
            apart_by.setdefault((name, way, sums), []).append(apart(one, (loss, *other)))
    for seed in seeds:
        one = second_run(reference, text, seed)
        for way, settings in WAYS.items():
            other = second_run(bench.kernels(**settings), text, seed)
            apart_by.setdefault(("second pass", way, 0.0), []).append(apart(one, other))
    for (name, way, sums), gaps in sorted(apart_by.items()):
        row: Report = {"what": name, "way": way, "sums_start_at": sums}
        row |= {key: max(gap[key] for gap in gaps) for key in ("by_norm", "worst_number")}
        row |= {key: sum(gap[key] for gap in gaps) for key in ("beyond_1e-4", "numbers")}
        found["rows"].append(row)
    found["within_1e-4_by_norm"] = {
        f"sums from {start:g}": all(
            row["by_norm"] < 1e-4
            for row in found["rows"]
            if row["way"] != "control" and row["sums_start_at"] == start
        )
        for start in (0.0, 1e-3)
    }
    return found


def processes(count: int) -> Any:
    """Return a pool of processes with one thread each."""
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return get_context("spawn").Pool(count)


def reference_run(task: tuple[TextArrays, Rule, float, int, bool]) -> tuple[Any, ...]:
    """Return loss and vectors of the reference; `ulp` starts one unit in the last place away."""
    text, made, sums, seed, ulp = task
    start = vectors(1000, seed, sums)
    if ulp:
        up = np.float32(np.inf)
        start = start._replace(rho=np.nextafter(start.rho, up), alpha=np.nextafter(start.alpha, up))
    return reference.words_update(start, text, made), *start


def second_run(back: Any, text: TextArrays, seed: int) -> tuple[Any, ...]:
    """Return losses and vectors of equations after ten steps of alpha and of rho."""
    near, contexts = made_near(400, 8), made_contexts(400)
    alpha, rho = (Rows(*(np.zeros((400, K), np.float32) for _ in range(2))) for _ in range(2))
    fixed = Vectors(*vectors(1000, seed)[:2], *(np.empty((0, K), np.float32) for _ in range(2)))
    losses = []
    for _ in range(10):
        made = rule(8, 512, rate=0.2)
        losses.append(back.bags_update(alpha, fixed, text, near, made))
        losses.append(back.contexts_update(rho, contexts, made))
    return np.array(losses), *alpha, *rho


def apart(one: tuple[Any, ...], other: tuple[Any, ...]) -> Report:
    """Return the difference of arrays: by norm, and the largest of a single number."""
    pairs = [(np.atleast_1d(np.asarray(a, np.float64)), b) for a, b in zip(one, other, strict=True)]
    gaps = [(np.abs(a - b), np.abs(a).max()) for a, b in pairs]
    return {
        "by_norm": max(float(np.linalg.norm(a - b) / np.linalg.norm(a)) for a, b in pairs),
        "worst_number": max(float(gap.max() / most) for gap, most in gaps),
        "beyond_1e-4": sum(int((gap > 1e-4 * most).sum()) for gap, most in gaps),
        "numbers": sum(gap.size for gap, _ in gaps),
    }


def made_near(types: int, each: int) -> Near:
    """Make equations that occur once, with `each` words around, spread evenly over a text."""
    return Near(
        np.arange(types * each), np.arange(types * each + 1),
        np.repeat(np.arange(types, dtype=np.int32), each),
        np.arange(types + 1), np.arange(types, dtype=np.int32), np.ones(types, np.float32),
    )  # fmt: skip


def made_contexts(types: int, sums: Any = None) -> Contexts:
    """Make one occurrence of each type, and contexts of N others as negatives."""
    random = np.random.default_rng(2)
    if sums is None:
        sums = random.standard_normal((types, K), np.float32)
    zeros = random.integers(1, types, (types, N)) + np.arange(types)[:, None]
    return Contexts(sums, np.arange(types + 1), np.arange(types), zeros % types)


# Words per second


def speed(
    bench: Bench, back_end: gpu.Kernels, text: TextArrays, made: Rule, rounds: int = 3,
    *, learn: bool = True,
) -> list[float]:  # fmt: skip
    """Return M words/s of each round, with vectors on the device, as within a pass."""
    work = back_end.words_update if learn else back_end.words_loss
    with back_end.holding(vectors(len(text.noise.alias))) as (held,), torch.no_grad():
        work(held, text, made, (0, min(len(text.tokens), 4 * made.batch)))
        seconds = bench.clocked(lambda: work(held, text, made), rounds)
    return [1e-6 * len(text.tokens) / one for one in seconds]


def words(bench: Bench) -> Report:
    """Measure rates at the given sizes."""
    batch, rows = bench.size(262_144, 1024), 8
    shape = bench.kernels().shape
    if shape is not None:
        rows = shape.rows
    found = bench.found = {
        "K": K, "n": N, "block": BLOCK, "batch": batch, "rows_of_a_program": rows, "rates": [],
    }  # fmt: skip
    for size in bench.sizes:
        text = bench.text(bench.size(1 << 26, 1 << 13), size)
        for window in WINDOWS:
            made = rule(window, batch)
            row: Report = {"words": size, "window": window, "text": len(text.tokens)}
            row["rounds"] = speed(bench, bench.kernels(), text, made)
            row["Mwords_per_s"] = max(row["rounds"])
            row |= counted(window, N, rows) | from_memory(bench, text, made)
            rate = 1e-6 * row["Mwords_per_s"]
            row["cache_TB_per_s"] = rate * row["cache_bytes_per_word"]
            row["memory_TB_per_s"] = rate * row["memory_bytes_per_word"]
            row["TFLOP_per_s"] = rate * row["flops_per_word"]
            row["row_additions_G_per_s"] = 1e3 * rate * row["rows_added"]
            row["without_learning"] = max(speed(bench, bench.kernels(), text, made, 2, learn=False))
            if window == 8:
                row |= beside(bench, text, made)
            found["rates"].append(row)
            show(row)
    return found


def beside(bench: Bench, text: TextArrays, made: Rule) -> Report:
    """Measure variants of the step, its transfers, and the time of its kernels."""
    some = text.tokens[: bench.size(1 << 23, 1 << 12)]
    some = TextArrays(some, np.minimum(text.starts, len(some)), text.noise)
    exact, plain = bench.kernels(deterministic=True), bench.kernels(fused=False)
    return {
        "deterministic": max(speed(bench, exact, text, made)),
        "plain_torch": max(speed(bench, plain, some, made, 2)),
        **transferred(bench, text, made),
        "kernels_us_per_batch": profile(bench, text, made),
        "same_bytes": same_bytes(bench, text, made),
    }


def transferred(bench: Bench, text: TextArrays, made: Rule) -> Report:
    """Measure iterations that transfer vectors from and to the host, and the text to the device."""
    back_end, learned = bench.kernels(), vectors(len(text.noise.alias))
    start = time.perf_counter()
    back_end.words_update(learned, text, made, (0, made.batch))
    bench.wait()
    first = time.perf_counter() - start
    again = min(bench.clocked(lambda: back_end.words_update(learned, text, made, (0, made.batch))))
    seconds = min(bench.clocked(lambda: back_end.words_update(learned, text, made), 2))
    return {"with_transfers": 1e-6 * len(text.tokens) / seconds, "text_sent_in_s": first - again}


def from_memory(bench: Bench, text: TextArrays, made: Rule) -> Report:
    """Return the minimum bytes per word from memory, and the part of them that the step moves.

    Tokens and articles; the rows that a batch touches, of two matrices, their sums and their
    sheets read and written; gradients of contexts, written and read, where they exceed the cache.
    """
    seen = len(np.unique(text.tokens[: made.batch]))
    drawn = draws.zeros(made.key, np.arange(made.batch // made.block), made.negatives, text.noise)
    touched = len(np.unique(np.concatenate([text.tokens[: made.batch], drawn.ravel()])))
    stepped = 6 * 4 * K * (seen + touched) / made.batch
    part = 4 * K * min(made.batch, gpu_memory.GPU_PART)
    spilled = 8 * K if part > (bench.report["machine"].get("l2") or 0) else 0
    return {
        "rows_touched_by_a_batch": touched,
        "step_bytes_per_word": stepped,
        "memory_bytes_per_word": 8 + stepped + spilled,
    }


def profile(bench: Bench, text: TextArrays, made: Rule, batches: int = 20) -> dict[str, float]:
    """Return microseconds of each kernel in a batch (torch's profiler); empty without a GPU."""
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


def same_bytes(bench: Bench, text: TextArrays, made: Rule) -> dict[str, bool]:
    """Check if two runs of some batches give the same bytes, with and without `deterministic`."""
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
    """Measure the step at W=8 with other program shapes, parts and batches."""
    text = bench.text(bench.size(1 << 25, 1 << 14), bench.size(25_000, 2500))
    batch = bench.size(262_144, 4096)
    found = bench.found = {"rows_warps": {}, "spread_rows_warps": {}, "part": {}, "batches": []}
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
            rounds = speed(bench, bench.kernels(), text, rule(8, batch), 4)
            spent = profile(bench, text, rule(8, batch))
            row = {"batch": batch, "best": max(rounds), "rounds": rounds}
            found["batches"].append(row | {"kernels_us": sum(spent.values())})
            show(row)
    return found


def show_best(into: Report, name: str, bench: Bench, *what: Any) -> None:
    """Measure and print one variant."""
    into[name] = [round(one, 1) for one in sorted(speed(bench, *what, 3))]
    show({name: into[name]})


# The second pass


def second(bench: Bench) -> Report:
    """Train a million equations that occur once, with 16 words each: alpha and rho."""
    types, each, iterations = bench.size(1_000_000, 400), 16, bench.size(20, 3)
    start = time.perf_counter()
    text = bench.text(types * each, 25_000)
    near = made_near(types, each)
    words_ = Vectors(*vectors(25_000)[:2], *(np.empty((0, K), np.float32) for _ in range(2)))
    rows = each // 2
    sums = np.zeros((types, K), np.float32)
    for slot in range(-rows, rows):
        sums += words_.alpha[text.tokens[np.arange(types) * each + rows + slot]]
    contexts = made_contexts(types, sums)
    prepared = time.perf_counter() - start
    back_end = bench.kernels()
    bench.peak()
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
        "data_made_in_s": prepared, "peak_GB_of_the_device": bench.peak(),
        "seconds": seconds, "within_60_s": total <= 60,
        "Mpositions_per_s": 1e-6 * types * each * iterations / seconds["alpha"],
        "losses": {"b_w": losses[0::2][:: iterations - 1], "b_e": losses[1::2][:: iterations - 1]},
    }  # fmt: skip


# Streaming


def stream(bench: Bench) -> Report:
    """Train on a memory-mapped text: resident, and with memory for a tenth of it.

    Cold: the file was written to disk and evicted from the page cache, as far as the file system
    supports it. Warm: it was read just before.
    """
    size, batch = bench.size(1 << 28, 1 << 16), bench.size(262_144, 4096)
    vocabulary = bench.sizes[-1]
    text, made = bench.text(size, vocabulary), rule(8, batch)
    found = bench.found
    found |= {"words": size, "vocabulary": vocabulary, "text_bytes": 8 * size}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokens"
        text.tokens.tofile(path)
        mapped = text._replace(tokens=np.memmap(path, np.int32, "r"))
        found["resident"] = max(speed(bench, bench.kernels(), mapped, made, 2))
        show(found)
        found["share_bytes"] = 8 * size // 10
        streamed = bench.kernels(memory=found["share_bytes"])
        found["chunks"] = sum(1 for _ in streamed._chunks(mapped, (0, size), batch))  # noqa: SLF001
        del mapped
        forget(path)
        mapped = text._replace(tokens=np.memmap(path, np.int32, "r"))
        found["streamed_cold"] = speed(bench, streamed, mapped, made, 1)[0]
        found["streamed"] = max(speed(bench, streamed, mapped, made, 2))
        found["streamed_over_resident"] = found["streamed"] / found["resident"]
        found["at_least_60_percent"] = found["streamed_over_resident"] >= 0.6
        found["GB_per_s_of_reading_that_this_needs"] = 4e-3 * found["streamed"]
        found["host"] = host_work(bench, mapped, Path(folder))
        del mapped
    return found


def forget(path: Path) -> None:
    """Evict a file from the page cache."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def host_work(bench: Bench, text: TextArrays, folder: Path) -> Report:
    """Measure the host work of `fit`: rates and seconds of this machine's CPU and disk."""
    size, tokens = len(text.tokens), text.tokens
    words = [""] * len(text.noise.alias)
    corpus = replace(Corpus.build([]), words=words, tokens=tokens)
    out = np.sort(np.random.default_rng(0).choice(size, bench.size(100_000, 100), replace=False))
    learned = vectors(len(words))
    back_end = bench.kernels()
    best_too = {f"best.{name}": getattr(learned, name) for name in ("rho", "alpha")}

    def there_and_back() -> None:
        with back_end.holding(learned):
            pass

    there_and_back()
    forget(folder / "tokens")
    read = seconds_of((folder / "tokens").read_bytes)
    return {
        "read_cold_GB_per_s": 4e-9 * size / read,
        "hash_GB_per_s": 4e-9
        * size
        / seconds_of(lambda: array_file.content_hash({}, {"t": tokens})),
        "counted_Mwords_per_s": 1e-6 * size / seconds_of(lambda: corpus.counts),
        "written_Mwords_per_s":
            1e-6 * size / seconds_of(lambda: splits._without(tokens, out)),  # noqa: SLF001
        "transfers_s": min(bench.clocked(there_and_back)),
        "checkpoint_s": seconds_of(
            lambda: array_file.write_arrays(folder / "checkpoint", learned._asdict() | best_too)
        ),
    }  # fmt: skip


def seconds_of(work: Callable[[], Any]) -> float:
    """Return the seconds of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


# Real collections


def brought(folder: Path | None, name: str) -> tuple[Corpus, Split]:
    """Load a packed collection."""
    if folder is None or not (folder / name).is_dir():
        raise FileNotFoundError(f"no collection {name} in --data {folder}: see gpu_bring.py")
    return Corpus.load(folder / name / "corpus"), Split.load(folder / name / "split")


def judged(bench: Bench) -> tuple[Corpus, Split]:
    """Return the collection that is scored, or a small one with --smoke."""
    if bench.smoke:
        corpus = made_corpus(bench)
        return corpus, Split.make(corpus, splits.SplitSettings(singletons=50))
    return brought(bench.given.data, gpu_bring.JUDGED)


def place(bench: Bench) -> str:
    """Return the name of the device for models."""
    return "cuda" if bench.on_gpu else "torch"


def scores(bench: Bench) -> Report:
    """Measure final validation scores of ml by batch size: mean over seeds, next to the CPU's."""
    corpus, split = judged(bench)
    known = None if bench.smoke else bench.given.data / "cpu.json"
    cpu = json.loads(known.read_text("utf-8")) if known and known.exists() else {}
    seeds = range(bench.size(5, 2))
    settings: Report = {"device": place(bench)} | ({"iterations": 1} if bench.smoke else {})
    found = bench.found
    found |= {
        "collection": gpu_bring.JUDGED, "words": len(corpus.tokens),
        "equations": len(corpus.equation_types), "rows": [],
    }  # fmt: skip
    for name, batches in (
        ("words", (*gpu_bring.BATCHES, *gpu_bring.LARGER)),
        ("eqemb-u", gpu_bring.BATCHES[:2]),
    ):
        for batch in batches[: bench.size(99, 2)]:
            start, values = time.perf_counter(), []
            model = gpu_bring.model(name, batch, **settings)
            size = len(corpus.tokens) - len(split.positions)
            for seed in seeds:
                made = model.fit(corpus, split, seed=seed)
                values.append(made.embeddings_.config["validation"])
            row: Report = {
                "model": name, "batch": model.rule(0, 1.0, size).batch, "default": batch == "auto",
                "seeds": len(seeds),
            }  # fmt: skip
            row["steps"] = -(-size // row["batch"])
            row |= spread("gpu", values) | {"gpu_by_seed": values}
            row["seconds"] = (time.perf_counter() - start) / len(seeds)
            theirs = [cpu.get(f"{name} {batch} {seed}") for seed in seeds]
            if all(value is not None for value in theirs):
                row |= spread("cpu", theirs)
                row["apart"] = row["gpu"] - row["cpu"]
                row["within_one_error"] = abs(row["apart"]) <= max(row["gpu_se"], row["cpu_se"])
            found["rows"].append(row)
            show(row)
    return found


def exact(bench: Bench) -> Report:
    """Fit each model twice with `deterministic` and twice without; compare hashes and seconds.

    EqEmb-H, here with vectors of equations besides those of units, runs a few iterations only.
    """
    corpus, split = judged(bench)
    small: Report = {"iterations": 1, "dim": 8} if bench.smoke else {"dim": 50}
    found = bench.found
    found |= {"collection": gpu_bring.JUDGED, "rows": []}
    for kind in (EqEmbU, EqEmb, BernoulliEmbeddings, EqEmbH):
        if kind is EqEmbH and not bench.smoke:
            small = small | {"iterations": 2}
        row: Report = {"model": kind(**small).registry_name, "iterations": kind(**small).iterations}
        for name, settings in (("deterministic", {"deterministic": True}), ("default", {})):
            start, hashes = time.perf_counter(), set()
            for _ in range(2):
                model = kind(device=place(bench), **small, **settings)
                hashes.add(model.fit(corpus, split).embeddings_.sha256)
            row[f"{name}_same"] = len(hashes) == 1
            row[f"{name}_s"] = (time.perf_counter() - start) / 2
        found["rows"].append(row)
        show(row)
    return found


def spread(name: str, values: list[float]) -> Report:
    """Return the mean and its standard error over seeds."""
    error = float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else 0.0
    return {name: float(np.mean(values)), f"{name}_se": error}


def grid(bench: Bench) -> Report:
    """Train every model of the paper's grid, in processes that share the GPU."""
    names, dims = ("ml", "nlp", "ir", "ai"), (100, 75, 50, 25)
    if bench.smoke:
        names, dims = names[-1:], dims[-1:]
    data = bench.given.data
    brought(data, names[0])
    tasks = [(str(data), name, dim, place(bench), bench.smoke) for dim in dims for name in names]
    start, rows = time.perf_counter(), list[Report]()
    jobs = min(len(tasks), bench.given.jobs)
    with processes(jobs) as pool:
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
    """Train the models of a collection and K; equations use the words of their W."""
    folder, name, dim, device, small = task
    torch.set_num_threads(1)
    corpus, split = brought(Path(folder), name)
    shared: Report = {"dim": dim, "device": device} | ({"iterations": 1} if small else {})
    rows = []

    def fit(model: Any, around: int | None = None) -> Any:
        start = time.perf_counter()
        made = model.fit(corpus, split)
        rows.append({
            "collection": name, "model": model.registry_name, "K": dim, "W": model.window,
            "E": around,
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


# Whole fits


def fits(bench: Bench) -> Report:
    """Time `fit` of EqEmb and EqEmb-U: everything a user waits for, except reading files.

    Equations are at random positions, so windows overlap; units are as skewed as words. No words
    are held out, so there is no early stopping.
    """
    corpus = made_corpus(bench)
    tenth = 8 * len(corpus.tokens) // 10
    found = bench.found
    found |= {"words": len(corpus.tokens), "equations": len(corpus.equation_types), "rows": []}
    for kind, iterations, more in (
        (EqEmb, 20, {}), (EqEmbU, 10, {}), (EqEmb, 5, {"memory": tenth}),
        (EqEmbU, 5, {"memory": tenth}),
    ):  # fmt: skip
        rounds = bench.size(iterations, 1)
        model = kind(dim=K, window=8, equation_window=16, negatives=N, iterations=rounds,
                     device=place(bench), **more)  # fmt: skip
        bench.peak()
        took = seconds_of(partial(model.fit, corpus))
        by_stage: dict[str, float] = {}
        for done in model.history_:
            by_stage[done["stage"]] = by_stage.get(done["stage"], 0.0) + done["seconds"]
        first = by_stage.pop("words")
        row: Report = {
            "model": model.registry_name, "memory_of_the_text": more.get("memory"),
            "equations": len(corpus.equation_types), "iterations": rounds, "seconds": took,
            "first_pass_s": first, "second_pass_s": sum(by_stage.values()),
        }  # fmt: skip
        row["host_s"] = took - first - row["second_pass_s"]
        row["peak_GB_of_the_device"] = bench.peak()
        found["rows"].append(row)
        show(row)
    return found


def made_corpus(bench: Bench) -> Corpus:
    """Make a million distinct equations among 16 million words, with a dozen units each."""
    types, units = bench.size(1_000_000, 500), bench.size(50_000, 100)
    text = bench.text(16 * types, bench.size(25_000, 200))
    positions = np.sort(np.random.default_rng(3).integers(0, len(text.tokens), types))
    articles = len(text.starts) - 1
    made = Corpus(
        words=[f"w{index}" for index in range(len(text.noise.alias))],
        tokens=text.tokens, starts=text.starts,
        articles=[f"a{index}" for index in range(articles)], collections=[""] * articles,
        equation_positions=positions, equation_types=np.arange(types, dtype=np.int32),
        equation_starts=np.searchsorted(positions, text.starts).astype(np.int64),
        equation_names=[""] * types, forms=[f"f{index}" for index in range(types)],
        units=[f"u{index}" for index in range(units)],
        unit_ids=bench.text(12 * types, units).tokens, unit_starts=np.arange(types + 1) * 12,
    )  # fmt: skip
    made.__dict__["_verified"] = made.sha256  # as if it had been opened, to hash it once
    return made


PARTS: dict[str, Callable[[Bench], Report]] = {
    "ceilings": ceilings,
    "equal": equal,
    "words": words,
    "tune": tune,
    "second": second,
    "stream": stream,
    "exact": exact,
    "scores": scores,
    "grid": grid,
    "fits": fits,
}


# Running and writing


def show(row: Report) -> None:
    """Print a line of progress."""
    print("   ", json.dumps(rounded(row)), flush=True)


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
    """Describe the machine."""
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
    """Write all results atomically; numbers are kept even if the report fails."""
    out = Path(bench.given.out)
    out.mkdir(parents=True, exist_ok=True)
    keep(out / "gpu.json", json.dumps(bench.report, indent=1))
    try:
        keep(out / "gpu.md", markdown(bench.report))
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        traceback.print_exc()


def keep(path: Path, content: str) -> None:
    """Write a file atomically."""
    new = path.with_name(f".{path.name}")
    new.write_text(content + "\n", "utf-8")
    new.replace(path)


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data", type=Path, help="a folder made by gpu_bring.py")
    parser.add_argument("--parts", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--keep", action="store_true", help="keep other parts of OUT/gpu.json")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--jobs", type=int, default=8, help="processes of the grid")
    parser.add_argument(
        "--smoke", action="store_true", help="small sizes, to check that everything runs"
    )
    parser.add_argument("--begun", type=float, default=0.0, help=argparse.SUPPRESS)
    return parser.parse_args()


def run_part(bench: Bench, name: str, seconds: float) -> Report:
    """Return the results of a part, or its error."""
    print(f"== {name}", flush=True)
    start = time.perf_counter()
    bench.found = {}
    try:
        with within(seconds):
            found = PARTS[name](bench)
    except Exception as error:  # noqa: BLE001  (the next part may well run)
        traceback.print_exc()
        found = bench.found | {"failed": f"{type(error).__name__}: {error}"[:300]}
    return found | {"part_took_s": time.perf_counter() - start}


def is_broken(bench: Bench) -> bool:
    """Whether the GPU is unusable: after an illegal access, nothing else runs in this process."""
    if not bench.on_gpu:
        return False
    try:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
    except RuntimeError:
        return True
    return False


def main() -> None:
    """Run the parts one after the other; a failing part does not stop the others."""
    given = arguments()
    bench, begun = Bench(given), given.begun or time.time()
    kept, here = given.out / "gpu.json", machine(bench)
    if (given.begun or given.keep) and kept.exists():
        bench.report = json.loads(kept.read_text("utf-8"))
        known = bench.report.setdefault("machine", here)
        if given.parts and known != here:
            sys.exit(f"{kept} is from another machine, {known}: omit --keep")
    else:
        bench.report["machine"] = here
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
    order = ["machine", *PARTS]
    bench.report = {name: bench.report[name] for name in order if name in bench.report}
    write(bench)
    failed = [name for name, found in bench.report.items() if "failed" in found]
    print(f"{time.time() - begun:.0f} s; failed: {', '.join(failed) or 'none'}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
