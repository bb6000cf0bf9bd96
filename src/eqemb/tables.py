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
    """Test means and standard errors over seeds: for each collection models by dimension.

    A contest of one dimension is one table, models by collection.
    """
    found = [entry for entry in results["results"] if entry["reading"] == reading]
    dims = sorted({entry["dim"] for entry in found})
    title = f"{_MEASURES[measure]}, {reading} reading, test words"
    if len(dims) == 1:
        columns = [(name, dims[0]) for name in results["collections"]]
        yield _table(f"{title}, K={dims[0]}", found, columns, measure, list(results["collections"]))
        return
    for collection, facts in results["collections"].items():
        note = f"{collection}: {title} (n = {facts['test']:,}, split {facts['split'][:12]})"
        columns = [(collection, dim) for dim in dims]
        yield _table(note, found, columns, measure, [f"K={dim}" for dim in dims])


def _table(
    caption: str,
    found: list[dict[str, Any]],
    columns: list[tuple[str, int]],
    measure: str,
    head: list[str],
) -> Table:
    names = list(dict.fromkeys(entry["model"] for entry in found))
    cells = {(entry["model"], entry["collection"], entry["dim"]): entry for entry in found}
    rows = [[name, *(_cell(cells[name, *at], measure) for at in columns)] for name in names]
    best = set()
    for column, at in enumerate(columns, 1):
        means = [cells[name, *at]["test"][measure]["mean"] for name in names]
        best.add((means.index(max(means)), column))
    return Table(caption, ["model", *head], rows, best)


_MEASURES = {
    "raw": "Pseudo log-likelihood, raw",
    "tempered": "Pseudo log-likelihood with one temperature fitted on validation words",
    "accuracy": "Accuracy of the held-out word against its negatives",
}


def _cell(entry: dict[str, Any], measure: str) -> str:
    """The mean, its error and, for a model, the windows that validation chose."""
    found, cell = entry["test"][measure], entry["cell"]
    windows = [str(cell[name]) for name in ("window", "equation_window") if cell[name]]
    chosen = f" ({', '.join(windows)})" if windows else ""
    return f"{found['mean']:.3f} ± {found['se']:.3f}{chosen}"


def statistics(results: Results) -> Table:
    """What the collections are."""
    keys = ("articles", "left_out", "words", "vocabulary", "equations", "types", "singletons",
            "units", "validation", "test", "negatives", "skipped")  # fmt: skip
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


def report(results: Results, readings: Iterable[str]) -> list[Table]:
    """All tables of a contest."""
    made = [statistics(results)]
    for reading in readings:
        for measure in ("raw", "tempered", "accuracy"):
            made += scores_of(results, reading, measure)
        made += [differences(results, f"{reading} {name}") for name in ("tempered", "accuracy")]
    return made


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
