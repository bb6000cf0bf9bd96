"""Measurements made up for tests of the plan: every figure is a round number."""

from dataclasses import replace
from typing import Any

from eqemb.planning.measurements import Measurements, Size

MILLION = 1_000_000
INDEX = ("equations", "text", "structure", "definitions", "renderings")


def size(papers: int, **more: Any) -> Size:
    """A size at which everything is proportional to the papers: 10 equations, 1,000 words each."""
    seconds = {"read": 0.04, "near-duplicates": 0.001, "report": 0.001, "train": 0.1}
    seconds |= {"vectors": 0.01} | dict.fromkeys(INDEX, 0.02)
    disk = {"records": 1000, "sketches": 100, "vectors": 4000} | dict.fromkeys(INDEX, 500)
    made = Size(
        papers=papers,
        words=1_000 * papers,
        equations=10 * papers,
        types=10 * papers,
        vocabulary=round(100 * papers**0.5),
        source_bytes=20_000 * papers,
        cpu_seconds={name: each * papers for name, each in seconds.items()},
        bytes={name: each * papers for name, each in disk.items()},
        peak_bytes={
            "read": 100_000_000,
            "index": 50_000_000 + 100_000 * min(papers, 1_000),
            "train": 300_000_000,
        },
        ask={
            "words_seconds": 0.001 + 1e-8 * 10 * papers,
            "equation_seconds": 0.002 + 2e-8 * 10 * papers,
            "memory_bytes": 2000 * papers,
            "anonymous_bytes": 50_000_000 + 100 * 10 * papers,
        },
    )
    return replace(made, **more)


def measurements(*papers: int, **more: Any) -> Measurements:
    """Measurements at some sizes, as if they came with the package."""
    made = Measurements(
        made="2026-01-02",
        machine="a machine, 2 cores",
        versions={"eqemb": "1", "python": "3", "numpy": "2"},
        command="a test",
        sizes=tuple(map(size, papers or (500, 1_000, 2_000))),
        pairs=(
            {"papers": 1000, "hashes": 250, "own_seconds": 0.5, "pair_seconds": 0.1},
            {"papers": 4000, "hashes": 250, "own_seconds": 2.0, "pair_seconds": 0.4},
        ),
        merging=(
            {"source": "a merge", "papers": 100, "equations": 1000, "records_seconds": 0.2,
             "index_seconds": 0.1, "peak_bytes": 1_000},
            {"source": "a large merge", "papers": 1000, "equations": 10_000, "index_seconds": 1.5,
             "peak_bytes": 2_000},
        ),
        approximate=(
            {"source": "one index", "rows": MILLION, "indexes": 1, "cpu_seconds": 20,
             "bytes": 30 * MILLION, "peak_bytes": 9},
            {"source": "two indexes", "rows": 8 * MILLION, "indexes": 2, "cpu_seconds": 320,
             "bytes": 240 * MILLION, "peak_bytes": 10},
        ),
        answers=(
            {"source": "answers", "equations": MILLION, "words_seconds": 0.01,
             "equation_seconds": 0.02},
            {"source": "answers", "equations": 4 * MILLION, "words_seconds": 0.02,
             "equation_seconds": 0.02},
        ),
        gpu={"name": "a GPU", "source": "a file", "iterations": 5, "words": 1_000_000,
             "seconds_a_word": 1e-6, "seconds_an_equation": 1e-5},
        is_shipped=True,
    )  # fmt: skip
    return replace(made, **more)
