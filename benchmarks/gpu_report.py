"""The numbers of `gpu.py` as Markdown: tables, and the sentences that they come to.

Nothing here is measured, and nothing is written by hand: every sentence is made of the numbers in
gpu.json, so that a new run cannot leave an old claim behind. Needs neither torch nor NumPy.
"""

import math
from collections.abc import Callable
from typing import Any

Report = dict[str, Any]
TEN_BILLION = 10_000  # million words
ITERATIONS = 5  # of a pass over so large a text


def markdown(report: Report) -> str:
    """Each part: what it says in sentences, tables where rows are alike, the rest as a list."""
    lines = ["# Training on a GPU", ""]
    for name, found in report.items():
        lines += [f"## {name}", ""]
        said = SENTENCES[name](report) if name in SENTENCES else []
        lines += [line for sentence in said for line in (sentence, "")]
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
    """A Markdown table of the plain values of some rows."""
    names = list(dict.fromkeys(
        name for row in rows for name, value in row.items() if not isinstance(value, dict)
    ))  # fmt: skip
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    return lines + ["| " + " | ".join(_cell(row.get(name, "")) for name in names) + " |"
                    for row in rows]  # fmt: skip


def _cell(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def rounded(value: Any) -> Any:
    """Numbers to four digits, for reading."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


# What bounds the step


def counted(window: int, negatives: int, rows: int, dim: int = 100) -> Report:
    """Rows and operations of one word, as `triton_steps` has them, a program holding `rows` words.

    A program loads and adds the zeros of its block itself, so a word has `negatives / rows` of
    each. Loads: the window's alpha, the word's rho, the zeros (the next one is always asked for),
    and the gradients of the window. Stored: its own gradient of the context. Added: the word's
    rows of both sheets, and the zeros'. In a cache an addition is a load and a store.
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
    """Nanoseconds that each resource would need for a word if it were the only one.

    `row` is of the table of rates, `shape` the settings of the part, `best` the ceilings.
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
    """What bounds each rate, and how far off it is."""
    found, best = report["words"], report.get("ceilings", {})
    said = []
    for row in found.get("rates", []):
        least = floors(row, found, best) if "rows_loaded" in row else {}
        if not least:
            continue
        took, bound = 1e3 / row["Mwords_per_s"], max(least, key=lambda name: least[name])
        alone = ", ".join(f"{name} {ns:.2f}" for name, ns in least.items())
        together = sum(least.values())
        text = (
            f"{row['words']:,} words, W={row['window']}: {row['Mwords_per_s']:.0f} M words/s,"
            f" {took:.2f} ns a word. Each alone would take, at its measured ceiling: {alone} ns."
            f" So {bound} bound it, at {100 * least[bound] / took:.0f} % of that ceiling;"
            f" one after the other all would take {together:.2f} ns."
        )
        if row.get("without_learning"):
            text += f" Scoring alone (no additions) takes {1e3 / row['without_learning']:.2f} ns."
        said.append(text + _by_kernel(row, found, best))
    if said:
        said.append(
            "Rates are of batches within a pass: vectors and text are on the device already."
            " `with_transfers` has the vectors sent and brought back, once an iteration as in `fit`"
            f" ({', '.join(_transfers(row) for row in found['rates'] if 'with_transfers' in row)});"
            " the text is sent once."
        )
    return said


def _by_kernel(row: Report, found: Report, best: Report) -> str:
    """Where a batch's time goes, and how fast the rows are stepped."""
    spent = row.get("kernels_us_per_batch")
    if not spent:
        return ""
    ours = {name: spent[name] for name in ("_forward", "_spread", "_step") if name in spent}
    shown = ", ".join(f"`{name}` {us:.0f}" for name, us in ours.items())
    if "_step" not in ours:
        return f" Of a batch: {shown} µs."
    rate = 1e-6 * row["step_bytes_per_word"] * found["batch"] / ours["_step"]
    share = 100 * rate / best["copy_TB_per_s"]
    return (
        f" Of a batch: {shown} µs; `_step` moves {rate:.2f} TB/s, {share:.0f} % of a copy's rate."
    )


def _transfers(row: Report) -> str:
    return (
        f"{row['words']:,} words: {row['Mwords_per_s']:.0f} become {row['with_transfers']:.0f}"
        f" M words/s for a text of {row['text'] / 1e6:.0f} million words"
    )


def _waiting(report: Report) -> list[str]:
    """Why small batches are slow, and why their rates vary."""
    rows = [row for row in report["tune"].get("batches", []) if row.get("kernels_us")]
    if not rows:
        return []
    shown = "; ".join(
        f"{row['batch']:,}: {row['kernels_us']:.0f} of {row['batch'] / row['best']:.0f} µs,"
        f" rounds of {min(row['rounds']):.0f} to {max(row['rounds']):.0f} M words/s"
        for row in rows
    )
    return [
        "How long the GPU is busy in a batch, as the host sees it: " + shown + ". Small batches"
        " wait for the host, which launches their kernels one by one; its speed varies from run to"
        " run, that of the kernels does not."
    ]


# Equality, scores and the rest


def _equality(report: Report) -> list[str]:
    """How far the steps are apart, beside the reference and itself."""
    rows = report["equal"].get("rows", [])
    said = []
    for start in dict.fromkeys(row["sums_start_at"] for row in rows):
        mine = [row for row in rows if row["sums_start_at"] == start and row["way"] != "control"]
        control = [row for row in rows if row["sums_start_at"] == start and row["way"] == "control"]
        far, own = _farthest(mine), _farthest(control)
        beyond = sum(row["beyond_1e-4"] for row in mine)
        text = (
            f"Adagrad's sums from {start:g}: by norm no farther than {far['by_norm']:.1e} from the"
            f" reference, the worst single number {far['worst_number']:.1e};"
            f" {beyond:,} of {sum(row['numbers'] for row in mine):,} numbers beyond 1e-4."
        )
        if control:
            text += (
                f" The reference is {own['by_norm']:.1e} and {own['worst_number']:.1e} from itself"
                f" started one unit in the last place away."
            )
        said.append(text)
    if said:
        said.append(
            "From 0, Adagrad's first step has the size of the rate however small the gradient:"
            " where one nearly cancels, rounding decides its sign, and a single number is far off."
        )
    return said


def _farthest(rows: list[Report]) -> dict[str, float]:
    return {
        measure: max((row[measure] for row in rows), default=math.nan)
        for measure in ("by_norm", "worst_number")
    }


def _batches(report: Report) -> list[str]:
    """Where a larger batch begins to cost score, against the default."""
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
    where = "nowhere here" if hurts is None else f"from {hurts:,} on"
    text = (
        f"{found['collection']}, {found['words']:,} words: the default batch is"
        f" {usual['batch']:,}, {usual['gpu']:.3f} ± {usual['gpu_se']:.3f}. Against it, seed by seed"
        f" ({usual['seeds']}, mean ± standard error): {'; '.join(parts)}. Larger batches cost more"
        f" than two standard errors {where}."
    )
    return [text]


def _spread(values: list[float]) -> tuple[float, float]:
    """Mean and standard error."""
    mean = sum(values) / len(values)
    if len(values) < 2:
        return mean, 0.0
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return mean, math.sqrt(variance / len(values))


def _same_bytes(report: Report) -> list[str]:
    rows = report["exact"].get("rows", [])
    return [
        f"{row['model']}, fitted twice with `deterministic`:"
        f" {'the same bytes' if row['deterministic_same'] else 'OTHER BYTES'},"
        f" {row['deterministic_s']:.1f} s; without: "
        f"{'the same bytes' if row['default_same'] else 'other bytes'}, {row['default_s']:.1f} s."
        for row in rows
    ]


def _on_paper(report: Report) -> list[str]:
    """10 billion words from measured parts, first pass and second, host and device."""
    paper = ten_billion(report)
    if not paper:
        return []
    rows = "\n".join(f"| {what} | {seconds:,.0f} |" for what, seconds in paper.items())
    total = sum(paper.values()) / 3600
    text = (
        f"10 billion words, {report['stream']['vocabulary']:,} of them different, on paper"
        f" ({ITERATIONS} iterations of each pass; from measured parts, each taken to grow with the"
        f" text):\n\n| what | seconds |\n|---|---|\n{rows}\n\nIn all {total:.1f} hours."
    )
    return [text]


def ten_billion(report: Report) -> dict[str, float]:
    """Seconds of each thing that training on 10 billion words has to do, in order."""
    found = report["stream"]
    if "host" not in found:
        return {}
    host, streamed = found["host"], min(found["streamed"], found["streamed_cold"])
    paper = {
        "open the corpus: hash 40 GB": 40 / host["hash_GB_per_s"],
        "count words": TEN_BILLION / host["counted_Mwords_per_s"],
        "write the stream without held-out words": TEN_BILLION / host["written_Mwords_per_s"],
        "first pass, words": ITERATIONS * TEN_BILLION / streamed,
        "first pass, vectors sent and brought back": ITERATIONS * host["transfers_s"],
        "first pass, checkpoints": ITERATIONS * host["checkpoint_s"],
    }
    units = next((row for row in report.get("fits", {}).get("rows", [])
                  if row["model"] == "eqemb-u"), None)  # fmt: skip
    scored = report.get("scores", {})
    if units and "equations" in scored:
        each = scored["equations"] / scored["words"]
        many = 1e6 * TEN_BILLION * each / units["equations"]  # times those that were measured
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
