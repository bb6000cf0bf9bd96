# ruff: noqa: ANN001, ANN202, PLR0913, PLR0917  (Triton reads annotations, and takes arrays one by one)
"""Measure how fast a GPU's caches load and add rows like those of the training step.

torch's `index_select` and `index_add_` also transfer their values from and to memory. These two
kernels do not: one sums the rows of windows and writes one number per program, the other adds ones.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import triton
import triton.language as tl

_SHAPES = ((8, 2), (32, 4))  # rows and warps of a program: the best is reported


@triton.jit
def _sum_windows(
    table, tokens, out, count,
    K: tl.constexpr, WIDE: tl.constexpr, HALF: tl.constexpr, ROWS: tl.constexpr,
    UNROLL: tl.constexpr,
):  # fmt: skip
    """Modify `out`, one number per program; `tokens` is padded by HALF at each end."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    k = tl.arange(0, WIDE)
    inside = row < count
    both = inside[:, None] & (k < K)[None, :]
    total = tl.zeros((ROWS, WIDE), tl.float32)
    for d in tl.range(1, HALF + 1, loop_unroll_factor=UNROLL):
        word = tl.load(tokens + row + HALF - d, mask=inside, other=0).to(tl.int64)
        total += tl.load(table + word[:, None] * K + k[None, :], mask=both, other=0.0)
        word = tl.load(tokens + row + HALF + d, mask=inside, other=0).to(tl.int64)
        total += tl.load(table + word[:, None] * K + k[None, :], mask=both, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(tl.sum(total, axis=1), axis=0))


@triton.jit
def _add_ones(
    sheet, ids, count, K: tl.constexpr, WIDE: tl.constexpr, ROWS: tl.constexpr
):  # fmt: skip
    """Modify `sheet`: add one to every number of the given rows."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    k = tl.arange(0, WIDE)
    both = (row < count)[:, None] & (k < K)[None, :]
    word = tl.load(ids + row, mask=row < count, other=0).to(tl.int64)
    ones = tl.full((ROWS, WIDE), 1.0, tl.float32)
    tl.atomic_add(sheet + word[:, None] * K + k[None, :], ones, mask=both, sem="relaxed")


def window_sums(table: Any, tokens: Any, window: int) -> Iterator[Callable[[], Any]]:
    """Return kernels that sum the window of every token except at the ends: `window` rows each."""
    K, half = table.shape[1], window // 2
    count = len(tokens) - window
    for rows, warps in _SHAPES:
        programs = triton.cdiv(count, rows)
        yield partial(
            _sum_windows[(programs,)], table, tokens, table.new_empty(programs), count,
            K=K, WIDE=max(16, triton.next_power_of_2(K)), HALF=half, ROWS=rows,
            UNROLL=min(4, half), num_warps=warps,
        )  # fmt: skip


def additions(sheet: Any, ids: Any) -> Iterator[Callable[[], Any]]:
    """Return kernels that add a row for each id."""
    K = sheet.shape[1]
    for rows, warps in _SHAPES:
        yield partial(
            _add_ones[(triton.cdiv(len(ids), rows),)], sheet, ids, len(ids),
            K=K, WIDE=max(16, triton.next_power_of_2(K)), ROWS=rows, num_warps=warps,
        )  # fmt: skip
