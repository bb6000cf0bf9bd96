"""The GPU benchmark runs with small sizes, and its report follows from its numbers."""

import argparse
import importlib
import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gpu_report
import numpy as np
import pytest

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")
if find_spec("triton") and not importlib.import_module("torch").cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when kernels are first imported

CEILINGS = {
    "windows_25000_W8_Grows_per_s": 20.0, "windows_along_W8_Grows_per_s": 10.0,
    "additions_25000_text_Grows_per_s": 1.0, "additions_25000_zeros_Grows_per_s": 2.5,
    "copy_TB_per_s": 4.0, "matmul_float32_TFLOP_per_s": 50.0,
}  # fmt: skip
ROW = {
    "words": 25_000, "window": 8, "text": 64_000_000, "Mwords_per_s": 250.0,
    "memory_bytes_per_word": 1200.0, "step_bytes_per_word": 400.0, "with_transfers": 200.0,
    "kernels_us_per_batch": {"_forward": 600.0, "_spread": 200.0, "_step": 100.0},
    **gpu_report.counted(8, 10, 8),
}  # fmt: skip
WORDS = {"n": 10, "batch": 250_000, "rows_of_a_program": 8, "rates": [ROW]}


def test_stored_report_matches_stored_numbers() -> None:
    """gpu.md is generated from gpu.json."""
    report = json.loads((RESULTS / "gpu.json").read_text("utf-8"))
    assert (RESULTS / "gpu.md").read_text("utf-8") == gpu_report.markdown(report) + "\n"
    assert not [name for name, found in report.items() if "failed" in found]


def test_rows_of_a_word_are_counted() -> None:
    """Eight words of a program share ten negatives: each loads and adds 1.25 of them."""
    found = gpu_report.counted(8, 10, 8, dim=100)
    assert found["rows_added"] == pytest.approx(2 + 1.25)
    assert found["rows_loaded"] == pytest.approx(16 + 1 + 11 / 8)
    assert found["cache_bytes_per_word"] == pytest.approx(400 * (18.375 + 1 + 6.5))


def test_the_bounding_resource_is_reported() -> None:
    """The report names the slowest resource and its distance from the ceiling."""
    least = gpu_report.floors(ROW, WORDS, CEILINGS)
    assert least["row additions"] == pytest.approx(2 / 1.0 + 1.25 / 2.5)
    assert least["row loads"] == pytest.approx((18.375 - 8) / 20 + 8 / 10)
    assert least["memory"] == pytest.approx(0.3)
    assert least["arithmetic"] == pytest.approx(0.2)
    text = gpu_report.markdown({"ceilings": CEILINGS, "words": WORDS})
    assert "250 M words/s, 4.00 ns per word" in text
    assert "The bound is row additions, at 62 % of that ceiling" in text  # 2.5 of 4 ns
    assert "`_step` moves 1.00 TB/s, 25 % of a copy" in text
    assert "250 become 200 M words/s for a text of 64 million words" in text
    slow = CEILINGS | {"copy_TB_per_s": 0.3}
    assert "The bound is memory" in gpu_report.markdown({"ceilings": slow, "words": WORDS})


def scored(batch: int, gpu: list[float], **more: Any) -> dict[str, Any]:
    """Make a row of scores."""
    mean = float(np.mean(gpu))
    return {"model": "words", "batch": batch, "seeds": len(gpu), "gpu": mean, "gpu_se": 0.0,
            "gpu_by_seed": gpu, **more}  # fmt: skip


def test_batch_sizes_that_lower_scores_are_reported() -> None:
    """Scores are compared with the default by seed; differences within noise are ignored."""
    rows = [
        scored(1024, [-2.0, -2.1, -2.2], default=True),
        scored(4096, [-2.1, -2.0, -2.2]),
        scored(16_384, [-2.1, -2.2, -2.31]),
        scored(65_536, [-2.5, -2.6, -2.7]),
    ]
    report = {"scores": {"collection": "ml", "words": 1000, "rows": rows}}
    text = gpu_report.markdown(report)
    assert "the default batch is 1,024" in text
    assert "16,384: -0.103 ± 0.003" in text
    assert "more than two standard errors from 16,384 on" in text
    report["scores"]["rows"] = rows[:2]
    assert "more than two standard errors at no size tested" in gpu_report.markdown(report)


def test_the_estimate_adds_up_both_passes() -> None:
    """It includes host work, words at the slower rate, transfers, checkpoints and equations."""
    host = {
        "hash_GB_per_s": 2.0, "counted_Mwords_per_s": 500.0, "written_Mwords_per_s": 100.0,
        "transfers_s": 1.0, "checkpoint_s": 2.0,
    }  # fmt: skip
    streamed = {"vocabulary": 250_000, "streamed": 200.0, "streamed_cold": 100.0, "host": host}
    units = {"model": "eqemb-u", "equations": 1_000_000, "iterations": 10,
             "second_pass_s": 20.0, "host_s": 3.0}  # fmt: skip
    scores = {"collection": "ml", "words": 1000, "equations": 10, "rows": []}
    report = {"stream": streamed, "scores": scores, "fits": {"rows": [units]}}
    paper = list(gpu_report.ten_billion(report).values())
    assert paper == pytest.approx([20, 20, 100, 500, 5, 10, 300, 1000])
    assert "100 million equations" in gpu_report.markdown(report)
    assert "In total 0.5 hours" in gpu_report.markdown(report)


@needs_torch
def test_every_part_runs_small(tmp_path: Path) -> None:
    """All parts run on torch's CPU device; the grid needs packed data."""
    benchmark = importlib.import_module("gpu")
    given = argparse.Namespace(device="cpu", smoke=True, data=None, jobs=1, out=tmp_path)
    bench = benchmark.Bench(given)
    bench.has_triton = False  # its interpreter is slow: another test runs these kernels
    bench.report["machine"] = benchmark.machine(bench)
    for name in benchmark.PARTS:
        if name != "grid":
            bench.report[name] = benchmark.run_part(bench, name, 300)
            assert "failed" not in bench.report[name], name
    assert bench.report["stream"]["chunks"] > 1
    assert all(row["deterministic_same"] for row in bench.report["exact"]["rows"])
    assert {row["model"] for row in bench.report["fits"]["rows"]} == {"eqemb", "eqemb-u"}
    benchmark.write(bench)
    text = (tmp_path / "gpu.md").read_text("utf-8")
    assert "10 billion words" in text
    assert "million equations" in text
    assert json.loads((tmp_path / "gpu.json").read_text("utf-8")) == bench.report


@needs_torch
@needs_triton
def test_ceiling_kernels_match_numpy() -> None:
    """The kernels sum rows of windows, and add rows, like NumPy."""
    torch, own = importlib.import_module("torch"), importlib.import_module("gpu_ceilings")
    random = np.random.default_rng(0)
    table = random.standard_normal((20, 10), np.float32)
    ids = random.integers(0, 20, 44).astype(np.int32)
    wanted = sum(table[ids[at - 2 : at + 3]].sum() - table[ids[at]].sum() for at in range(2, 42))
    for way in own.window_sums(torch.from_numpy(table), torch.from_numpy(ids), 4):
        way()
        assert float(way.args[2].sum()) == pytest.approx(float(wanted), rel=1e-4)
    for way in own.additions(torch.zeros(20, 10), torch.from_numpy(ids)):
        way.args[0].zero_()
        way()
        added = np.repeat(np.bincount(ids, minlength=20)[:, None], 10, axis=1)
        np.testing.assert_array_equal(way.args[0].numpy(), added)
