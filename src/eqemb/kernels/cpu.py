"""The same steps as `reference`, fast: serial numba kernels in plain Python threads.

A batch is processed in two phases. *Forward*: a batch has up to eight independent shares; each
sums its windows, computes three small matrix products per block (scores, gradients of contexts,
gradients of negatives) and accumulates its gradients in a sheet of its own, one row for each word
that it meets. *Apply*: the rows of the sheets are grouped by word, and for each word one thread
sums them in a fixed order and takes the Adagrad step. Neither phase depends on the number of
threads, so neither do the bytes.

Gradients are stored by word, not by position, because that is fewer bytes: with 25,000 words a
step waits for memory about a third of its time.
Windows are summed by doubling (sums of 2, 4, 8 rows). That takes log W additions and, unlike
adding one row and subtracting another, leaves no rounding error in an empty context: the first
step of Adagrad turns any residue, however small, into a full step.
The loops are in `loops`, `word_loops`, `bag_loops` and `pair_loops`; this module distributes the
work.

GloVe has no batches: its pairs are in cells, many of which share no row (`Pairs`). Those are
learned in parallel, one pair after another within a cell, for any number of threads.
"""

import functools
import importlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from eqemb.kernels import bag_loops, barrier, draws, loops, pair_loops, word_loops
from eqemb.kernels.arrays import (
    GRID,
    Biased,
    Contexts,
    Counts,
    Ids,
    Near,
    PairRule,
    Pairs,
    Positions,
    Rows,
    Rule,
    TextArrays,
    Vectors,
)
from eqemb.kernels.barrier import Meeting
from eqemb.kernels.reference import CHUNKS, ORDER, chunk_number, distance_shares, strata

Span = tuple[int, int]
SHARES = 8  # of a batch, at most: more threads do not help
LEAST_SHARE = 512  # words
AT_ONCE = 32  # batches that the loops process before Python sees an interruption: up to 0.3 s
CPU_PART = 256  # positions whose windows are summed at a time: their data stays in the L2 cache


class Team:
    """A pool of threads; the calling thread takes the first task."""

    def __init__(self, threads: int) -> None:
        self.threads = max(1, threads)
        self._pool = ThreadPoolExecutor(self.threads - 1) if threads > 1 else None

    def share(self, total: int, work: Callable[[int, int], Any]) -> None:
        """Call `work(low, high)` on equal parts of range(total), one for each thread."""
        self.each(self.parts(total), work)

    def parts(self, total: int) -> list[Span]:
        """Equal parts of range(total), one for each thread."""
        edges = [total * part // self.threads for part in range(self.threads + 1)]
        return list(pairwise(edges))

    def each(self, tasks: list[Any], work: Callable[..., Any]) -> None:
        """Call `work(*task)` for every task."""
        if self._pool is None:
            for task in tasks:
                work(*task)
            return
        waiting = [self._pool.submit(work, *task) for task in tasks[1:]]
        work(*tasks[0])
        for future in waiting:
            future.result()

    def together(self, work: Callable[[int, Meeting], Any]) -> None:
        """Call `work(member, meeting)` in all threads at once; if one fails, none waits for it."""
        meeting = barrier.meeting()

        def guarded(member: int) -> None:
            try:
                work(member, meeting)
            except BaseException:
                barrier.abort(meeting)
                raise

        try:
            self.each([(member,) for member in range(self.threads)], guarded)
        except BaseException:  # such as an interruption before the first task began
            barrier.abort(meeting)
            raise

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()


@contextmanager
def team(threads: int) -> Iterator[Team]:
    """A team of threads, each of which calls a single-threaded BLAS."""
    members = Team(threads)
    try:
        with _blas().limit(limits=1):
            yield members
    finally:
        members.close()


@functools.cache
def _blas() -> ThreadpoolController:
    """The BLAS libraries of this process: numba calls SciPy's, which is loaded first.

    Looking for them takes milliseconds, limiting them 12 microseconds. Products as small as ours
    stay on one thread in any case; this guarantees it.
    """
    importlib.import_module("scipy.linalg.cython_blas")
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def holding(*changed: Any) -> Iterator[tuple[Any, ...]]:
    """The arrays where steps change them: on a CPU they need not be moved."""
    yield changed


def _groups(rows: int, entries: int) -> loops.Groups:
    touched = min(rows, entries)
    return loops.Groups(
        np.zeros(rows, np.int64),
        np.empty(touched, np.int64),
        np.empty(touched + 1, np.int64),
        np.empty(entries, np.int64),
        np.zeros(1, np.int64),
    )


class _WordBatches:
    """Scratch memory for the batches of a text, and the two phases."""

    def __init__(self, vectors: Vectors, text: TextArrays, rule: Rule, members: Team) -> None:
        size, (V, K) = max(1, min(rule.batch, len(text.tokens))), vectors.rho.shape
        self.vectors, self.text, self.rule, self.team = vectors, text, rule, members
        self.settings = loops.settings(rule)
        # The smaller a share, the more words are in several. Equal ones let threads end together.
        shares = min(SHARES, -(-rule.batch // LEAST_SHARE))
        self.share = -(-rule.batch // (shares * rule.block)) * rule.block
        self.part = max(rule.block, CPU_PART // rule.block * rule.block)
        blocks = self.share // rule.block
        shape = -(-size // self.share), min(V, self.share + rule.window + blocks * rule.negatives)
        self.losses = np.empty((AT_ONCE, -(-size // rule.block)))
        self.sheet = word_loops.Sheet(
            words=np.empty(shape, np.int32),
            near=np.empty(shape, np.bool_),
            rho=np.empty((*shape, K), np.float32),
            alpha=np.empty((*shape, K), np.float32),
        )
        self.slots = np.full((members.threads, V), -1, np.int32)
        self.groups = _groups(V, shape[0] * shape[1])

    def run(self, low: int, high: int, *, learn: bool) -> list[float]:
        """The loss of each batch, at most `AT_ONCE`; with `learn`, every batch is a step."""
        size, rate = self.rule.batch, np.float32(self.rule.rate)
        bounds = (low, high, size, self.share, self.part)

        def work(member: int, meeting: Meeting) -> None:
            word_loops.words_batches(
                self.vectors, self.text, self.settings, self.sheet, self.groups, bounds,
                self.slots[member], self.losses, rate, learn, (member, self.team.threads), meeting,
            )  # fmt: skip

        self.team.together(work)
        words = (min(size, high - start) for start in range(low, high, size))
        blocks = (-(-count // self.rule.block) for count in words)
        return [float(row[:count].sum()) for count, row in zip(blocks, self.losses, strict=False)]


def _shares(groups: loops.Groups, touched: int, threads: int) -> list[Span]:
    """Ranges of touched rows of about the same cost."""
    if threads == 1:
        return [(0, touched)]
    return _even(groups.starts[: touched + 1] + 4 * np.arange(touched + 1), threads)


def _even(cost: NDArray[np.int64], threads: int) -> list[Span]:
    """One range for each thread, given cumulative costs."""
    first, last = int(cost[0]), int(cost[-1])
    aims = [first + (last - first) * part // threads for part in range(1, threads)]
    edges = [int(edge) for edge in np.searchsorted(cost, aims)]
    return list(pairwise([0, *edges, len(cost) - 1]))


def _words(
    vectors: Vectors, text: TextArrays, rule: Rule, span: Span | None, threads: int, *, learn: bool
) -> float:
    first, last = span or (0, len(text.tokens))
    total = 0.0
    with team(threads) as members:
        batches = _WordBatches(vectors, text, rule, members)
        for low in range(first, last, AT_ONCE * rule.batch):
            high = min(low + AT_ONCE * rule.batch, last)
            for loss in batches.run(low, high, learn=learn):
                total += loss
    return total / max(1, last - first)


def words_update(
    vectors: Vectors, text: TextArrays, rule: Rule, span: Span | None = None, threads: int = 1
) -> float:
    """Synchronous minibatches over the text (or a span of positions); the mean loss."""
    return _words(vectors, text, rule, span, threads, learn=True)


def words_loss(
    vectors: Vectors, text: TextArrays, rule: Rule, span: Span | None = None, threads: int = 1
) -> float:
    """The mean loss over the text, or over a span of positions."""
    return _words(vectors, text, rule, span, threads, learn=False)


class _BagBatches:
    """Scratch memory for the batches of near positions, and their phases."""

    def __init__(
        self, rows: Rows, words: Vectors, text: TextArrays, near: Near, rule: Rule, members: Team
    ) -> None:
        size = max(1, min(rule.batch, len(near.positions)))
        self.rows, self.words, self.text, self.near = rows, words, text, near
        self.rule, self.team, self.K = rule, members, rows.vectors.shape[1]
        blocks = -(-size // rule.block)
        self.zeros = np.empty((blocks, rule.negatives), np.int32)
        self.losses = np.empty(blocks)
        self.by_context = np.empty((size, self.K), np.float32)
        self.local = np.empty(len(near.scale), np.int64)
        self.tally = np.zeros(max(len(near.scale), len(rows.vectors)), np.int64)
        self.kept = np.zeros((0, self.K), np.float32)
        self.bag_sizes = np.diff(near.bag_starts)

    def _group(self, ids: NDArray[np.int32]) -> tuple[loops.Groups, int]:
        """Entries grouped by row."""
        size = min(len(ids), len(self.tally))
        arrays = np.empty(size, np.int64), np.empty(size + 1, np.int64)
        entries = np.empty(len(ids), np.int64)
        groups = loops.Groups(self.tally, *arrays, entries, np.zeros(1, np.int64))
        return groups, int(loops.group(ids, groups))

    def forward(self, low: int, high: int) -> tuple[float, loops.Groups, int]:
        """The loss and the types of a batch; gradients of its contexts are left in scratch."""
        near, rule = self.near, self.rule
        types, touched = self._group(near.types[near.starts[low] : near.starts[high]])
        pooled = np.empty((touched, self.K), np.float32)

        def pool(first: int, last: int) -> None:
            bag_loops.bag_pool(self.rows.vectors, near, types, (first, last), self.local, pooled)

        self.team.share(touched, pool)
        blocks = -(-(high - low) // rule.block)
        zeros = self.zeros[:blocks]
        loops.draw(np.uint64(rule.key), low // rule.block, self.text.noise, zeros)

        def work(first: int, last: int) -> None:
            bounds = (low, low + first * rule.block, min(low + last * rule.block, high))
            bag_loops.bags_forward(
                self.words, self.text, near, loops.settings(rule), zeros, bounds,
                self.local, pooled, self.by_context, self.losses,
            )  # fmt: skip

        self.team.share(blocks, work)
        return float(self.losses[:blocks].sum()), types, touched

    def apply(self, low: int, high: int, types: loops.Groups, touched: int) -> None:
        """Step the rows of the types of a batch, or add to the gradient of the whole span."""
        near = self.near
        owners = np.empty(near.starts[high] - near.starts[low], np.int64)
        bag_loops.bag_owners(near, low, high, owners)
        by_type = np.empty((touched, self.K), np.float32)

        def gather(first: int, last: int) -> None:
            bag_loops.bag_gradients(near, types, (first, last), owners, self.by_context, by_type)

        self.team.each(_shares(types, touched, self.team.threads), gather)
        sizes = self.bag_sizes[types.rows[:touched]]
        ids, sources = np.empty(sizes.sum(), np.int32), np.empty(sizes.sum(), np.int64)
        bag_loops.bag_entries(near, types, touched, ids, sources)
        groups, count = self._group(ids)
        whole, rate = len(self.kept) > 0, np.float32(self.rule.rate)

        def step(first: int, last: int) -> None:
            bag_loops.apply_bags(
                self.rows, groups, (first, last), sources, by_type, self.kept, rate, whole
            )

        self.team.each(_shares(groups, count, self.team.threads), step)


def bags_update(
    rows: Rows,
    words: Vectors,
    text: TextArrays,
    near: Near,
    rule: Rule,
    span: Span | None = None,
    *,
    whole: bool = False,
    threads: int = 1,
) -> float:
    """Minibatches over near positions; `whole` takes one step on the gradient of the span."""
    first, last = span or (0, len(near.positions))
    total = 0.0
    with team(threads) as members:
        batches = _BagBatches(rows, words, text, near, rule, members)
        if whole:
            batches.kept = np.zeros(rows.vectors.shape, np.float32)
        for low in range(first, last, rule.batch):
            high = min(low + rule.batch, last)
            loss, types, touched = batches.forward(low, high)
            batches.apply(low, high, types, touched)
            total += loss
        if whole:
            kept, rate = batches.kept, np.float32(rule.rate)
            members.share(len(kept), lambda a, b: bag_loops.apply_all(rows, (a, b), kept, rate))
    return total / max(1, last - first)


def bags_loss(
    rows: Rows,
    words: Vectors,
    text: TextArrays,
    near: Near,
    rule: Rule,
    span: Span | None = None,
    *,
    threads: int = 1,
) -> float:
    """The mean loss over near positions."""
    first, last = span or (0, len(near.positions))
    total = 0.0
    with team(threads) as members:
        batches = _BagBatches(rows, words, text, near, rule, members)
        for low in range(first, last, rule.batch):
            total += batches.forward(low, min(low + rule.batch, last))[0]
    return total / max(1, last - first)


def _contexts(rows: Rows, contexts: Contexts, rule: Rule, threads: int, *, learn: bool) -> float:
    losses = np.empty(len(rows.vectors))
    weight, rate = np.float32(rule.zero_weight), np.float32(rule.rate)

    def work(first: int, last: int) -> None:
        bag_loops.contexts_step(rows, contexts, (first, last), weight, rate, losses, learn)

    with team(threads) as members:
        members.share(len(rows.vectors), work)
    return float(losses.sum()) / max(1, len(contexts.occurrences))


def contexts_update(rows: Rows, contexts: Contexts, rule: Rule, threads: int = 1) -> float:
    """One Adagrad step of every type's rho on all its occurrences; the mean loss."""
    return _contexts(rows, contexts, rule, threads, learn=True)


def contexts_loss(rows: Rows, contexts: Contexts, rule: Rule, threads: int = 1) -> float:
    """The mean loss of b_e over all occurrences."""
    return _contexts(rows, contexts, rule, threads, learn=False)


def pairs_count(tokens: Ids, starts: Positions, size: int, window: int, threads: int = 1) -> Counts:
    """Co-occurrences of `size` words within windows; articles begin at `starts`."""
    shares = distance_shares(window)
    first = np.cumsum(np.r_[0, np.bincount(tokens, minlength=size)]).astype(np.int64)
    where = np.empty(len(tokens), np.int64)
    pair_loops.places(tokens, first, where)
    spans = _even(first + np.arange(size + 1), threads)
    sizes = Counts(np.zeros(size + 1, np.int64), np.empty(0, np.int32), np.empty(0))

    def work(out: Counts, span: Span, *, fill: bool) -> None:
        pair_loops.count_rows(tokens, starts, first, where, span, shares, out, fill)

    with team(threads) as members:
        members.each([(sizes, span) for span in spans], partial(work, fill=False))
        ends = np.cumsum(sizes.starts)
        found = Counts(ends, np.empty(ends[-1], np.int32), np.empty(ends[-1]))
        members.each([(found, span) for span in spans], partial(work, fill=True))
    return found


def pairs_order(counts: Counts, rule: PairRule, threads: int = 1) -> Pairs:
    """Assign pairs to chunks and cells at random, and shuffle each cell."""
    total, chunks = len(counts.columns), chunk_number(counts)
    groups, key = strata(counts), np.uint64(draws.key(rule.key, CHUNKS, 0))
    sizes = np.zeros(chunks * GRID * GRID, np.int64)
    pair_loops.cell_sizes(counts, groups, key, chunks, sizes)
    pairs = Pairs(
        rows=np.empty(total, np.int32),
        columns=np.empty(total, np.int32),
        logs=np.empty(total, np.float32),
        weights=np.empty(total, np.float32),
        starts=np.cumsum(np.r_[0, sizes]).astype(np.int64),
    )
    pair_loops.deal(counts, groups, key, rule.x_max, rule.power, pairs)
    key = np.uint64(draws.key(rule.key, ORDER, 0))
    with team(threads) as members:
        spans = _even(pairs.starts, threads)
        members.each(spans, lambda *span: pair_loops.shuffle_cells(pairs, span, key))
    return pairs


def _pairs(vectors: Biased, pairs: Pairs, rate: float, threads: int, *, learn: bool) -> float:
    cells = len(pairs.starts) - 1
    losses = np.empty(cells)

    def work(low: int, high: int) -> None:
        span = (low, high)
        pair_loops.learn_pairs(vectors, pairs, span, np.float32(rate), losses, learn)

    with team(threads) as members:
        if members.threads == 1:
            work(0, cells)
        else:
            for base in range(0, cells, GRID):
                spans = _even(pairs.starts[base : base + GRID + 1], members.threads)
                members.each([(base + low, base + high) for low, high in spans], work)
    return float(losses.sum()) / max(1, len(pairs.rows))


def pairs_update(vectors: Biased, pairs: Pairs, rate: float, threads: int = 1) -> float:
    """Learn every pair once, in order; the mean loss, each taken before its step."""
    return _pairs(vectors, pairs, rate, threads, learn=True)


def pairs_loss(vectors: Biased, pairs: Pairs, threads: int = 1) -> float:
    """The mean loss of all pairs."""
    return _pairs(vectors, pairs, 0.0, threads, learn=False)
