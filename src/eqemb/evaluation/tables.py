"""Tables of a contest's results for people: Markdown, LaTeX and HTML from one set of rows.

`results` is what `contest.summary` makes and `results.json` holds; nothing here computes a score.
"""

import html
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from math import inf, sqrt
from typing import Any, NamedTuple

from eqemb.evaluation.grid import POOL
from eqemb.evaluation.metrics import LEAST

Results = dict[str, Any]
Entry = dict[str, Any]
Figure = dict[str, float | None]
"""A mean and its standard error, if it has one."""

MEASURES = {
    "raw": "pseudo log-likelihood, raw",
    "tempered": "pseudo log-likelihood with one temperature fitted on validation words",
    "predictive": "predictive log-likelihood, raw",
    "accuracy": "accuracy of the held-out word against its negatives",
}
CHANCE = {"zero": "zero vectors", "unigram": "unigram"}


class Table(NamedTuple):
    """Cells as text; the best of each column are marked."""

    caption: str
    head: list[str]
    rows: list[list[str]]
    best: set[tuple[int, int]] = set()  # noqa: RUF012  (never changed)
    """Row and column of what is set in bold."""


def readings(results: Results) -> list[str]:
    """The readings that were run."""
    return [name for name in ("softmax", "logistic") if name in results["results"][0]]


def measure_of(entry: Entry, reading: str, measure: str, part: str = "test") -> Figure:
    """The mean and error of an entry."""
    found: Entry = entry[reading] if measure == "raw" else entry[reading][measure]
    figure: Figure = found[part]
    return figure


def chance_of(entry: Entry, line: str, reading: str, measure: str) -> float:
    """What a chance line scores; it has no temperature."""
    name = measure if measure in ("accuracy", "predictive") else reading
    return float(entry["chance"][line][name])


def statistics(results: Results) -> Table:
    """What the collections are."""
    keys = ("articles", "left_out", "words", "vocabulary", "equations", "types", "singletons",
            "units", "validation", "test", "negatives", "skipped")  # fmt: skip
    rows = [
        [name, *(f"{facts[key]:,}" for key in keys), facts["split"][:12]]
        for name, facts in results["collections"].items()
    ]
    head = ["collection", *(key.replace("_", " ") for key in keys), "split"]
    return Table("Collections", head, rows)


def scores_of(
    results: Results,
    reading: str,
    measure: str,
    part: str = "test",
    beside: Results | None = None,
) -> Iterator[Table]:
    """Means and standard errors over seeds: for each collection models by dimension.

    A contest of one dimension is one table, models by collection; as `beside` it is one column.
    """
    entries = results["results"]
    dims = sorted({entry["dim"] for entry in entries})
    title = f"{MEASURES[measure]}, {reading} reading, {part} words"
    if len(dims) == 1:
        names = list(results["collections"])
        columns = [_by_model(entries, name, dims[0]) for name in names]
        caption = f"{title[0].upper()}{title[1:]}, K={dims[0]}"
        yield _table(caption, names, columns, (reading, measure, part))
        return
    for collection, facts in results["collections"].items():
        note = f"{collection}: {title} (n = {facts[part]:,}, split {facts['split'][:12]})"
        columns, head = (
            [_by_model(entries, collection, dim) for dim in dims],
            [f"K={d}" for d in dims],
        )
        if beside is not None and reading in readings(beside):
            others = beside["results"]
            columns.append(_by_model(others, collection, others[0]["dim"]))
            head.append(f"product, K={others[0]['dim']}")
        yield _table(note, head, columns, (reading, measure, part))


def _by_model(entries: list[Entry], collection: str, dim: int) -> dict[str, Entry]:
    chosen = (e for e in entries if (e["collection"], e["dim"]) == (collection, dim))
    return {entry["model"]: entry for entry in chosen}


def _table(
    caption: str, head: list[str], columns: list[dict[str, Entry]], what: tuple[str, str, str]
) -> Table:
    """Models by columns, each a column's entries by model."""
    reading, measure, part = what
    rows = []
    if part == "test":
        for line, name in CHANCE.items():
            found = [chance_of(next(iter(c.values())), line, reading, measure) for c in columns]
            rows.append([name, *(f"{value:.3f}" for value in found)])
    chance, names = len(rows), list(columns[0])
    rows += [[name, *(_cell(column[name], *what) for column in columns)] for name in names]
    means = [[measure_of(column[name], *what)["mean"] for column in columns] for name in names]
    return Table(caption, ["model", *head], rows, _best(means, chance))


def _best(means: list[list[float | None]], above: int = 0) -> set[tuple[int, int]]:
    """The highest of each column of figures, as places in a table with so many rows above them."""
    found = set()
    for column, values in enumerate(zip(*means, strict=True), 1):
        known = [-inf if value is None else value for value in values]
        found.add((above + known.index(max(known)), column))
    return found


def _cell(entry: Entry, reading: str, measure: str, part: str) -> str:
    """The mean, its error and the windows that validation chose."""
    found = measure_of(entry, reading, measure, part)
    windows = [entry[reading][name] for name in ("window", "equation_window")]
    return f"{_figure(found)} ({', '.join(str(size) for size in windows if size)})"


def _figure(found: Figure) -> str:
    error = "" if found["se"] is None else f" ± {found['se']:.3f}"
    return f"{found['mean']:.3f}{error}"


def pooled(results: Results, reading: str) -> Table:
    """Every model over all cells: means of cells, and the errors of seeds together."""
    shown = [name for name in MEASURES if name in results["results"][0][reading] or name == "raw"]
    names = list(dict.fromkeys(entry["model"] for entry in results["results"]))
    first = [entry for entry in results["results"] if entry["model"] == names[0]]
    rows = [
        [
            title,
            *(
                f"{_mean([chance_of(entry, line, reading, measure) for entry in first]):.3f}"
                for measure in shown
            ),
            "",
        ]
        for line, title in CHANCE.items()
    ]
    means: list[list[float | None]] = []
    for name in names:
        entries = [entry for entry in results["results"] if entry["model"] == name]
        figures = [_over([measure_of(entry, reading, m) for entry in entries]) for m in shown]
        figures.append(
            _over([measure_of(entry, reading, "tempered", "validation") for entry in entries])
        )
        rows.append([name, *map(_figure, figures)])
        means.append([figure["mean"] for figure in figures])
    head = ["model", *(_SHORT[name] for name in shown), "tempered, validation"]
    cells = f"All {len(first)} cells" if len(first) > 1 else "One cell"
    caption = f"{cells}, {reading} reading, test words: mean ± error of seeds"
    return Table(caption, head, rows, _best(means, len(CHANCE)))


_SHORT = {
    "raw": "raw",
    "tempered": "with temperature",
    "predictive": "predictive",
    "accuracy": "accuracy",
}


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _over(figures: list[Figure]) -> Figure:
    """The mean of independent means."""
    errors = [found["se"] for found in figures if found["se"] is not None]
    known = len(errors) == len(figures)
    return {
        "mean": _mean([found["mean"] or 0.0 for found in figures]),
        "se": sqrt(sum(error**2 for error in errors)) / len(figures) if known else None,
    }


def by_kind(results: Results, reading: str) -> Table:
    """Words beside equations that occur once, and beside others: means of cells."""
    kinds = ("singletons", "repeated")
    names = list(dict.fromkeys(entry["model"] for entry in results["results"]))
    rows, means = [], []
    for name in names:
        entries = [entry[reading] for entry in results["results"] if entry["model"] == name]
        found = [
            [entry[kind][measure]["mean"] for entry in entries if kind in entry]
            for measure in ("tempered", "accuracy")
            for kind in kinds
        ]
        means.append([_mean(values) if values else None for values in found])
        rows.append([name, *("" if mean is None else f"{mean:.3f}" for mean in means[-1])])
    sizes = {
        kind: sum(
            entry[reading].get(kind, {"n": 0})["n"]
            for entry in results["results"]
            if entry["model"] == names[0] and entry["dim"] == results["results"][0]["dim"]
        )
        for kind in kinds
    }
    head = ["model", *(f"{_SHORT[m]}, {k}" for m in ("tempered", "accuracy") for k in kinds)]
    said = " and ".join(f"{sizes[kind]:,} beside {kind}" for kind in kinds)
    caption = f"Test words, {reading} reading: {said} equations' types"
    return Table(caption, head, rows, _best(means))


def gains(results: Results, reading: str, measure: str) -> Table:
    """Every model against every row before it, pooled over all cells: models by rivals."""
    found = _differences(results, reading=reading, measure=measure, collection=POOL)
    rivals = list(dict.fromkeys(entry["against"] for entry in found))
    rows = []
    for model, group in groupby(found, key=lambda entry: str(entry["model"])):
        said = {entry["against"]: entry for entry in group}
        cells = (
            f"{said[rival]['mean']:+.3f} {_SIGNS[said[rival]['verdict']]}" if rival in said else ""
            for rival in rivals
        )
        rows.append([model, *cells])
    caption = f"Gain of the row over the column, {_SHORT[measure]}, {reading} reading, all cells"
    return Table(f"{caption} ({_legend(found)})", ["model", *rivals], rows)


def gains_by_collection(results: Results, model: str, reading: str, measure: str) -> Table:
    """One model against every row before it: rivals by collections."""
    found = _differences(results, reading=reading, measure=measure, model=model)
    where = list(dict.fromkeys(entry["collection"] for entry in found))
    rows = []
    for rival in dict.fromkeys(entry["against"] for entry in found):
        said = {entry["collection"]: entry for entry in found if entry["against"] == rival}
        rows.append([rival, *(_gain(said[name]) for name in where)])
    caption = f"Gain of {model}, {_SHORT[measure]}, {reading} reading"
    return Table(f"{caption} ({_legend(found)})", ["against", *where], rows)


def _differences(results: Results, **wanted: str) -> list[Entry]:
    """Those of a reading, a measure, a model or a collection."""
    return [
        entry
        for entry in results["differences"]
        if all(entry[key] == value for key, value in wanted.items())
    ]


_SIGNS = {"better": "▲", "worse": "▼", "tie": "=", "too few": "?"}


def _legend(entries: list[Entry]) -> str:
    few = any(entry["verdict"] == "too few" for entry in entries)
    said = "▲ better, ▼ worse, = tie in 95 % of 2,000 draws of articles"
    return f"{said}, ? too few articles" if few else said


def _gain(entry: Entry) -> str:
    interval = f"{entry['low']:+.3f} to {entry['high']:+.3f}"
    return f"{entry['mean']:+.3f} {_SIGNS[entry['verdict']]} ({interval})"


def verdicts(results: Results, model: str, reading: str) -> Iterator[str]:
    """In words, by measure, where a model beats the controls and where not."""
    controls = {entry["model"] for entry in results["results"] if entry["control"]}
    said = {"better": "beats", "tie": "ties with", "worse": "loses to",
            "too few": "has too few articles beside"}  # fmt: skip
    found = _differences(results, reading=reading, collection=POOL, model=model)
    for measure, group in groupby(found, key=lambda entry: str(entry["measure"])):
        by: dict[str, list[str]] = {verdict: [] for verdict in said}
        for entry in group:
            if entry["against"] in controls:
                by[entry["verdict"]].append(entry["against"])
        parts = [f"{said[verdict]} {_listed(names)}" for verdict, names in by.items() if names]
        yield f"{model}, {reading} reading, {_SHORT[measure]}: {'; '.join(parts)}."


def _listed(names: list[str]) -> str:
    quoted = [f"*{name}*" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def notes(results: Results) -> str:
    """What the tables hold, a line each."""
    plan = results["plan"]
    kinds = {
        "Vocabulary": f"{plan['rules']['kind']}; equations: {plan['numbering']}; K {plan['dims']},"
        f" W {plan['windows']}, E {plan['equation_windows']}; seeds {plan['seeds']}.",
        "Scores": "of words that were held out of training, each against its negatives, given W - 1"
        " words around it and the equation. In brackets the W and E that validation words chose.",
        "Raw and with temperature": "the pseudo log-likelihood as it is, and with one factor on a"
        " model's scores fitted on validation words; predictive is the word's part alone; accuracy"
        " is the share of negatives below the word, and decides.",
        "Controls": "words only leaves the equation out (W: one more word in its place), one vector"
        " is shared by all equations, article vector by those of an article, document vector"
        " stands in the context of all words of an article, shuffled units are other equations'.",
        "Errors": "of seeds; a difference is called one where 95 % of draws of articles agree, and"
        f" where there are {LEAST} articles or more.",
    }
    return "\n".join(f"{name}: {said}" for name, said in kinds.items())


def report(results: Results) -> list[Table]:
    """All tables of a contest."""
    made = [statistics(results)]
    for reading in readings(results):
        made += [pooled(results, reading)]
        made += [gains(results, reading, measure) for measure in ("tempered", "accuracy")]
        for measure in ("raw", "tempered", "accuracy"):
            made += scores_of(results, reading, measure)
        made += scores_of(results, reading, "tempered", "validation")
        made += [by_kind(results, reading)]
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
    "table{display:block;overflow-x:auto}img{max-width:100%}td{white-space:nowrap}"
    "td,th{padding:.2rem .7rem;border-bottom:1px solid #ccc;text-align:right}"
    "td:first-child,th:first-child{text-align:left}"
)


def page(title: str, tables: Iterable[Table], notes: str = "", pictures: Iterable[str] = ()) -> str:
    """An HTML page without scripts; pictures are files beside it."""
    parts = [
        "<!doctype html>", '<html lang="en"><meta charset="utf-8">',
        f"<title>{html.escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        f"<h1>{html.escape(title)}</h1>",
        *(f"<p>{html.escape(note)}</p>" for note in notes.splitlines() if note),
        *(f'<img src="{html.escape(name)}" alt="{html.escape(name)}">' for name in pictures),
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
        bold(text) if text and (index, column) in table.best else text
        for column, text in enumerate(row)
    ]


def _tex(text: str) -> str:
    for sign in "%&_#":
        text = text.replace(sign, f"\\{sign}")
    signs = {"±": r"$\pm$", "▲": r"$\uparrow$", "▼": r"$\downarrow$"}
    for sign, command in signs.items():
        text = text.replace(sign, command)
    return text
