"""Format the numbers of `gpu.py` as Markdown: tables, and sentences that summarise them.

Nothing is measured here and nothing is written by hand: every sentence is generated from gpu.json,
so a new run cannot leave an outdated claim behind. Needs neither torch nor NumPy.
"""

import math
from collections.abc import Callable
from typing import Any

Report = dict[str, Any]
TEN_BILLION = 10_000  # million words
ITERATIONS = 5  # of a pass over so large a text


def markdown(report: Report) -> str:
    """Return the report: for each part sentences, tables of uniform rows, and other values."""
    lines = ["# Training on a GPU", ""]
    for name, found in report.items():
        lines += [f"## {name}", ""]
        sentences = SENTENCES[name](report) if name in SENTENCES else []
        lines += [line for sentence in sentences for line in (sentence, "")]
        tables = {}
        for key, value in rounded(found).items():
            if isinstance(value, list) and value and isinstance(value[0], dict):
                tables[key] = value
            elif isinstance(value, dict):
                lines.append(f"- {key}: " + ", ".join(f"{k} {v}" for k, v in value.items()))
            else:
                lines.append(f"- {key}: {value}")
        lines.append("")
        for key, rows in tables.items():
            lines += [f"{key}:", "", *table(rows), ""]
    return "\n".join(lines).rstrip()


def table(rows: list[Report]) -> list[str]:
    """Return a Markdown table of the scalar values of some rows."""
    names = list(dict.fromkeys(
        name for row in rows for name, value in row.items() if not isinstance(value, dict)
    ))  # fmt: skip
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    return lines + ["| " + " | ".join(_cell(row.get(name, "")) for name in names) + " |"
                    for row in rows]  # fmt: skip


def _cell(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def rounded(value: Any) -> Any:
    """Round a number to four digits."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


# Bounds of the step


def counted(window: int, negatives: int, rows: int, dim: int = 100) -> Report:
    """Return the rows and operations of one word in `triton_steps`, with `rows` words per program.

    A program loads and adds the negatives of its block itself, so a word has `negatives / rows` of
    each. Loads: the window's alpha, the word's rho, the negatives (the next one is prefetched),
    and the gradients of the window. Stored: its gradient of the context. Added: the word's
    rows of both sheets, and those of the negatives. In a cache, an addition is a load and a store.
    """
    loads = 2 * window + 1 + (negatives + 1) / rows
    added = 2 + negatives / rows
    return {
        "rows_loaded": loads,
        "rows_added": added,
        "cache_bytes_per_word": 4 * dim * (loads + 1 + 2 * added),
        "flops_per_word": 2 * dim * (3 * negatives + 2 * window + 4),
    }


def floors(row: Report, shape: Report, best: Report) -> Report:
    """Return the nanoseconds that each resource alone would need for a word.

    `row` is a row of the table of rates, `shape` the settings of the part, `best` the ceilings.
    """
    size, window, rows = row["words"], row["window"], shape["rows_of_a_program"]
    known = f"windows_{size}_W{window}_Grows_per_s"
    if known not in best:
        return {}
    gather, along = best[known], best[f"windows_along_W{window}_Grows_per_s"]
    zeros = shape["n"] / rows
    return {
        "row additions": 2 / best[f"additions_{size}_text_Grows_per_s"]
        + zeros / best[f"additions_{size}_zeros_Grows_per_s"],
        "row loads": (row["rows_loaded"] - window) / gather + window / along,
        "memory": 1e-3 * row["memory_bytes_per_word"] / best["copy_TB_per_s"],
        "arithmetic": 1e-3 * row["flops_per_word"] / best["matmul_float32_TFLOP_per_s"],
    }


def _bounds(report: Report) -> list[str]:
    """Say which resource bounds each rate, and how close it is to its ceiling."""
    found, best = report["words"], report.get("ceilings", {})
    sentences = []
    for row in found.get("rates", []):
        least = floors(row, found, best) if "rows_loaded" in row else {}
        if not least:
            continue
        took, bound = 1e3 / row["Mwords_per_s"], max(least, key=lambda name: least[name])
        alone = ", ".join(f"{name} {ns:.2f}" for name, ns in least.items())
        together = sum(least.values())
        text = (
            f"{row['words']:,} words, W={row['window']}: {row['Mwords_per_s']:.0f} M words/s,"
            f" {took:.2f} ns per word. Each resource alone, at its measured ceiling: {alone} ns."
            f" The bound is {bound}, at {100 * least[bound] / took:.0f} % of that ceiling;"
            f" their sum is {together:.2f} ns."
        )
        if row.get("without_learning"):
            text += f" Scoring alone (no additions) takes {1e3 / row['without_learning']:.2f} ns."
        sentences.append(text + _by_kernel(row, found, best))
    if sentences:
        sentences.append(
            "Rates are for batches within a pass: vectors and text are already on the device."
            " `with_transfers` includes the transfer of vectors in each iteration, as in `fit`"
            f" ({', '.join(_transfers(row) for row in found['rates'] if 'with_transfers' in row)});"
            " the text is transferred once."
        )
    return sentences


def _by_kernel(row: Report, found: Report, best: Report) -> str:
    """Say how the time of a batch is spent, and how fast rows are updated."""
    spent = row.get("kernels_us_per_batch")
    if not spent:
        return ""
    ours = {name: spent[name] for name in ("_forward", "_spread", "_step") if name in spent}
    shown = ", ".join(f"`{name}` {us:.0f}" for name, us in ours.items())
    if "_step" not in ours:
        return f" Time per batch: {shown} µs."
    rate = 1e-6 * row["step_bytes_per_word"] * found["batch"] / ours["_step"]
    share = 100 * rate / best["copy_TB_per_s"]
    return f" Time per batch: {shown} µs; `_step` moves {rate:.2f} TB/s, {share:.0f} % of a copy."


def _transfers(row: Report) -> str:
    return (
        f"{row['words']:,} words: {row['Mwords_per_s']:.0f} become {row['with_transfers']:.0f}"
        f" M words/s for a text of {row['text'] / 1e6:.0f} million words"
    )


def _waiting(report: Report) -> list[str]:
    """Explain why small batches are slow, and why their rates vary."""
    rows = [row for row in report["tune"].get("batches", []) if row.get("kernels_us")]
    if not rows:
        return []
    shown = "; ".join(
        f"{row['batch']:,}: {row['kernels_us']:.0f} of {row['batch'] / row['best']:.0f} µs,"
        f" rounds of {min(row['rounds']):.0f} to {max(row['rounds']):.0f} M words/s"
        for row in rows
    )
    return [
        "Time that the GPU is busy in a batch, as seen by the host: " + shown + ". Small batches"
        " wait for the host, which launches their kernels one by one; its speed varies from run to"
        " run, that of the kernels does not."
    ]


# Agreement, scores and the rest


def _equality(report: Report) -> list[str]:
    """Say how far the steps are from the reference, and the reference from itself."""
    rows = report["equal"].get("rows", [])
    sentences = []
    for start in dict.fromkeys(row["sums_start_at"] for row in rows):
        mine = [row for row in rows if row["sums_start_at"] == start and row["way"] != "control"]
        control = [row for row in rows if row["sums_start_at"] == start and row["way"] == "control"]
        far, own = _farthest(mine), _farthest(control)
        beyond = sum(row["beyond_1e-4"] for row in mine)
        text = (
            f"Adagrad's sums start at {start:g}: at most {far['by_norm']:.1e} by norm from the"
            f" reference, the worst single number {far['worst_number']:.1e};"
            f" {beyond:,} of {sum(row['numbers'] for row in mine):,} numbers beyond 1e-4."
        )
        if control:
            text += (
                f" The reference differs by {own['by_norm']:.1e} and {own['worst_number']:.1e} from"
                f" itself when started one unit in the last place away."
            )
        sentences.append(text)
    if sentences:
        sentences.append(
            "From 0, Adagrad's first step has the size of the rate, however small the gradient:"
            " if one nearly cancels, rounding decides its sign, and a single number is far off."
        )
    return sentences


def _farthest(rows: list[Report]) -> dict[str, float]:
    return {
        measure: max((row[measure] for row in rows), default=math.nan)
        for measure in ("by_norm", "worst_number")
    }


def _batches(report: Report) -> list[str]:
    """Say from which batch size on scores are worse than with the default."""
    rows = [row for row in report["scores"].get("rows", []) if row["model"] == "words"]
    usual = next((row for row in rows if row.get("default")), None)
    if usual is None:
        return []
    parts, hurts = [], None
    for row in sorted(rows, key=lambda row: row["batch"]):
        if row is usual:
            continue
        gaps = [a - b for a, b in zip(row["gpu_by_seed"], usual["gpu_by_seed"], strict=True)]
        mean, error = _spread(gaps)
        parts.append(f"{row['batch']:,}: {mean:+.3f} ± {error:.3f}")
        if hurts is None and mean < -2 * error:
            hurts = row["batch"]
    found = report["scores"]
    where = "at no size tested" if hurts is None else f"from {hurts:,} on"
    text = (
        f"{found['collection']}, {found['words']:,} words: the default batch is"
        f" {usual['batch']:,}, {usual['gpu']:.3f} ± {usual['gpu_se']:.3f}. Against it, seed by seed"
        f" ({usual['seeds']}, mean ± standard error): {'; '.join(parts)}. Larger batches cost more"
        f" than two standard errors {where}."
    )
    return [text]


def _spread(values: list[float]) -> tuple[float, float]:
    """Return the mean and its standard error."""
    mean = sum(values) / len(values)
    if len(values) < 2:
        return mean, 0.0
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return mean, math.sqrt(variance / len(values))


def _same_bytes(report: Report) -> list[str]:
    rows = report["exact"].get("rows", [])
    return [
        f"{row['model']}, fitted twice with `deterministic`:"
        f" {'the same bytes' if row['deterministic_same'] else 'DIFFERENT BYTES'},"
        f" {row['deterministic_s']:.1f} s; without: "
        f"{'the same bytes' if row['default_same'] else 'different bytes'},"
        f" {row['default_s']:.1f} s."
        for row in rows
    ]


def _on_paper(report: Report) -> list[str]:
    """Estimate 10 billion words from measured parts: both passes, host and device."""
    paper = ten_billion(report)
    if not paper:
        return []
    rows = "\n".join(f"| {what} | {seconds:,.0f} |" for what, seconds in paper.items())
    total = sum(paper.values()) / 3600
    text = (
        f"10 billion words, {report['stream']['vocabulary']:,} of them different, estimated"
        f" ({ITERATIONS} iterations of each pass; from measured parts, each scaled with the"
        f" text):\n\n| what | seconds |\n|---|---|\n{rows}\n\nIn total {total:.1f} hours."
    )
    return [text]


def ten_billion(report: Report) -> dict[str, float]:
    """Return the seconds of each step of training on 10 billion words, in order."""
    found = report["stream"]
    if "host" not in found:
        return {}
    host, streamed = found["host"], min(found["streamed"], found["streamed_cold"])
    paper = {
        "open the corpus: hash 40 GB": 40 / host["hash_GB_per_s"],
        "count words": TEN_BILLION / host["counted_Mwords_per_s"],
        "write the stream without held-out words": TEN_BILLION / host["written_Mwords_per_s"],
        "first pass, words": ITERATIONS * TEN_BILLION / streamed,
        "first pass, transfers of vectors": ITERATIONS * host["transfers_s"],
        "first pass, checkpoints": ITERATIONS * host["checkpoint_s"],
    }
    units = next((row for row in report.get("fits", {}).get("rows", [])
                  if row["model"] == "eqemb-u"), None)  # fmt: skip
    scored = report.get("scores", {})
    if units and "equations" in scored:
        each = scored["equations"] / scored["words"]
        many = 1e6 * TEN_BILLION * each / units["equations"]  # relative to the measured number
        per = units["second_pass_s"] / units["iterations"]
        share = f"{1e6 * TEN_BILLION * each / 1e6:,.0f} million equations"
        paper |= {
            f"second pass (EqEmb-U, {share}), host work before it": units["host_s"] * many,
            "second pass, iterations": ITERATIONS * per * many,
        }
    return paper


SENTENCES: dict[str, Callable[[Report], list[str]]] = {
    "words": _bounds,
    "tune": _waiting,
    "equal": _equality,
    "scores": _batches,
    "exact": _same_bytes,
    "stream": _on_paper,
}
