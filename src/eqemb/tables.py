"""Tables of a contest's results for people: Markdown, LaTeX and HTML from one set of rows.

`results` is what `contest.summary` makes and `results.json` holds; nothing here computes a score.
"""

import html
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

Results = dict[str, Any]


class Table(NamedTuple):
    """Cells as text; the best of each column are marked."""

    caption: str
    head: list[str]
    rows: list[list[str]]
    best: set[tuple[int, int]]
    """Row and column of what is set in bold."""


def scores_of(results: Results, reading: str, measure: str) -> Iterator[Table]:
    """For each collection, models by dimension: test mean and standard error over seeds."""
    for collection, facts in results["collections"].items():
        found = [
            entry
            for entry in results["results"]
            if entry["collection"] == collection and entry["reading"] == reading
        ]
        dims = sorted({entry["dim"] for entry in found})
        names = list(dict.fromkeys(entry["model"] for entry in found))
        cells = {(entry["model"], entry["dim"]): entry for entry in found}
        rows, best = [], set()
        for name in names:
            shown = [_cell(cells[name, dim], measure) for dim in dims]
            rows.append([name, *shown])
        for column, dim in enumerate(dims, 1):
            means = [cells[name, dim]["test"][measure]["mean"] for name in names]
            best.add((means.index(max(means)), column))
        caption = (
            f"{collection}: {_MEASURES[measure]}, {reading} reading, test; n = {facts['test']:,}"
            f" words, {facts['negatives']} negatives, split {facts['split'][:12]}"
        )
        yield Table(caption, ["model", *(f"K={dim}" for dim in dims)], rows, best)


_MEASURES = {
    "raw": "pseudo log-likelihood, raw",
    "tempered": "pseudo log-likelihood with one temperature",
    "accuracy": "accuracy against the negatives",
}


def _cell(entry: dict[str, Any], measure: str) -> str:
    found, cell = entry["test"][measure], entry["cell"]
    chosen = f" ({cell['window']}" if cell["window"] else ""
    if chosen:
        chosen += f", {cell['equation_window']})" if cell["equation_window"] else ")"
    return f"{found['mean']:.3f} ± {found['se']:.3f}{chosen}"


def statistics(results: Results) -> Table:
    """What the collections are."""
    keys = ("articles", "left_out", "words", "vocabulary", "equations", "types", "singletons",
            "units", "validation", "test", "skipped")  # fmt: skip
    rows = [
        [name, *(f"{facts[key]:,}" for key in keys), facts["split"][:12]]
        for name, facts in results["collections"].items()
    ]
    head = ["collection", *(key.replace("_", " ") for key in keys), "split"]
    return Table("Collections", head, rows, set())


def differences(results: Results, measure: str) -> Table:
    """Every model against every row before it, pooled over cells."""
    rows = [
        [
            entry["model"],
            entry["against"],
            f"{entry['mean']:+.4f}",
            f"{entry['low']:+.4f} to {entry['high']:+.4f}",
            entry["verdict"],
        ]
        for entry in results["differences"]
        if entry["measure"] == measure
    ]
    head = ["model", "against", "gain", "95 % of draws", ""]
    return Table(
        f"Gains, {measure}, pooled over cells, articles drawn 2,000 times", head, rows, set()
    )


def markdown(table: Table) -> str:
    """A table of GitHub's kind."""
    lines = [f"**{table.caption}**", "", _line(table.head), _line(["---"] * len(table.head))]
    for index, row in enumerate(table.rows):
        lines.append(_line(_marked(table, index, row, lambda text: f"**{text}**")))
    return "\n".join([*lines, ""])


def latex(table: Table) -> str:
    """A tabular in the paper's layout."""
    lines = [
        r"\begin{table}", rf"\caption{{{_tex(table.caption)}}}",
        rf"\begin{{tabular}}{{l{'r' * (len(table.head) - 1)}}}", r"\hline",
        " & ".join(map(_tex, table.head)) + r" \\ \hline",
    ]  # fmt: skip
    for index, row in enumerate(table.rows):
        cells = _marked(table, index, list(map(_tex, row)), lambda text: rf"\textbf{{{text}}}")
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, r"\hline", r"\end{tabular}", r"\end{table}", ""])


_STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;margin:1rem 0}caption{text-align:left;font-weight:bold}"
    "td,th{padding:.2rem .7rem;border-bottom:1px solid #ccc;text-align:right}"
    "td:first-child,th:first-child{text-align:left}"
)


def page(title: str, tables: Iterable[Table]) -> str:
    """An HTML page without scripts."""
    parts = [
        "<!doctype html>", '<html lang="en"><meta charset="utf-8">',
        f"<title>{html.escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        f"<h1>{html.escape(title)}</h1>",
    ]  # fmt: skip
    for table in tables:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in table.head)
        parts.append(f"<table><caption>{html.escape(table.caption)}</caption><tr>{head}</tr>")
        for index, row in enumerate(table.rows):
            cells = _marked(table, index, list(map(html.escape, row)), "<b>{}</b>".format)
            parts.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
        parts.append("</table>")
    return "\n".join([*parts, "</html>", ""])


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _marked(table: Table, index: int, row: list[str], bold: Callable[[str], str]) -> list[str]:
    return [
        bold(text) if (index, column) in table.best else text for column, text in enumerate(row)
    ]


def _tex(text: str) -> str:
    for sign in "%&_#":
        text = text.replace(sign, f"\\{sign}")
    return text.replace("±", r"$\pm$")
