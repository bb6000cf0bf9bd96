"""Tables of the results of a grid search, as Markdown, LaTeX and HTML.

`results` is the output of `grid.summary`, stored as `results.json`; no scores are computed here.
"""

import html
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from math import inf, sqrt
from typing import Any, NamedTuple

from eqemb.evaluation.grid import POOL
from eqemb.evaluation.heldout import DRAWS, bootstrap_p
from eqemb.evaluation.metrics import ALPHA, MIN_CLUSTERS, holm
from eqemb.storage.marks import HTML_MARK

Results = dict[str, Any]
Entry = dict[str, Any]
Figure = dict[str, float | None]
"""A mean and its standard error, which may be None."""

MEASURES = {
    "raw": "pseudo log-likelihood, raw",
    "tempered": "pseudo log-likelihood with one temperature fitted on validation words",
    "predictive": "predictive log-likelihood, raw",
    "accuracy": "accuracy of the held-out word against its negatives",
}
CHANCE = {"zero": "zero vectors", "unigram": "unigram"}


class Table(NamedTuple):
    """A table of text; the best cell of each column is highlighted."""

    caption: str
    head: list[str]
    rows: list[list[str]]
    best: set[tuple[int, int]] = set()  # noqa: RUF012  (never changed)
    """Row and column of the cells in bold."""


def readings(results: Results) -> list[str]:
    """Return the readings that were run."""
    return [name for name in ("softmax", "logistic") if name in results["results"][0]]


def measure_of(entry: Entry, reading: str, measure: str, part: str = "test") -> Figure:
    """Return the mean and error of an entry."""
    found: Entry = entry[reading] if measure == "raw" else entry[reading][measure]
    figure: Figure = found[part]
    return figure


def chance_of(entry: Entry, line: str, reading: str, measure: str) -> float:
    """Return the score of a chance baseline, which has no temperature."""
    name = measure if measure in ("accuracy", "predictive") else reading
    return float(entry["chance"][line][name])


def statistics(results: Results) -> Table:
    """Sizes of the collections."""
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
    """Means and standard errors over seeds: a table per collection, models by dimension.

    Results with one dimension give a single table, models by collection. `beside` is such a result
    and is shown as an additional column.
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
    """Make a table with a row per model; each column maps models to entries."""
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
    """Return the cells with the highest mean of each column; `above` rows precede the means."""
    found = set()
    for column, values in enumerate(zip(*means, strict=True), 1):
        known = [-inf if value is None else value for value in values]
        found.add((above + known.index(max(known)), column))
    return found


def _cell(entry: Entry, reading: str, measure: str, part: str) -> str:
    """Format the mean, its error and the windows selected on validation words."""
    found = measure_of(entry, reading, measure, part)
    windows = [entry[reading][name] for name in ("window", "equation_window")]
    return f"{_figure(found)} ({', '.join(str(size) for size in windows if size)})"


def _figure(found: Figure) -> str:
    error = "" if found["se"] is None else f" ± {found['se']:.3f}"
    return f"{found['mean']:.3f}{error}"


def pooled(results: Results, reading: str) -> Table:
    """Mean of every model over all cells, with the error over seeds."""
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
    caption = f"{cells}, {reading} reading, test words: mean ± standard error over seeds"
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
    """Return the mean of independent means, with its error."""
    errors = [found["se"] for found in figures if found["se"] is not None]
    known = len(errors) == len(figures)
    return {
        "mean": _mean([found["mean"] or 0.0 for found in figures]),
        "se": sqrt(sum(error**2 for error in errors)) / len(figures) if known else None,
    }


def by_kind(results: Results, reading: str) -> Table:
    """Scores of words near equations that occur once, and near repeated ones."""
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
    counts = " and ".join(f"{sizes[kind]:,} near {kind}" for kind in kinds)
    caption = f"Test words, {reading} reading: {counts} equations"
    return Table(caption, head, rows, _best(means))


def gains(results: Results, reading: str, measure: str) -> Table:
    """Gain of every model over every row before it, pooled over all cells."""
    found = _corrected(_differences(results, reading=reading, measure=measure, collection=POOL))
    rivals = list(dict.fromkeys(entry["against"] for entry in found))
    rows = []
    for model, group in groupby(found, key=lambda entry: str(entry["model"])):
        entries = {entry["against"]: entry for entry in group}
        cells = (
            f"{entries[rival]['mean']:+.3f} {_OUTCOME_SIGNS[entries[rival]['verdict']]}"
            if rival in entries
            else ""
            for rival in rivals
        )
        rows.append([model, *cells])
    caption = f"Gain of the row over the column, {_SHORT[measure]}, {reading} reading, all cells"
    return Table(f"{caption} ({_legend(results, found)})", ["model", *rivals], rows)


def gains_by_collection(results: Results, model: str, reading: str, measure: str) -> Table:
    """Gain of one model over every row before it, by collection."""
    found = _corrected(_differences(results, reading=reading, measure=measure, model=model))
    where = list(dict.fromkeys(entry["collection"] for entry in found))
    rows = []
    for rival in dict.fromkeys(entry["against"] for entry in found):
        entries = {entry["collection"]: entry for entry in found if entry["against"] == rival}
        rows.append([rival, *(_gain(entries[name]) for name in where)])
    caption = f"Gain of {model}, {_SHORT[measure]}, {reading} reading"
    return Table(f"{caption} ({_legend(results, found)})", ["against", *where], rows)


def _differences(results: Results, **wanted: str) -> list[Entry]:
    """Return the comparisons with the given reading, measure, model or collection."""
    return [
        entry
        for entry in results["differences"]
        if all(entry[key] == value for key, value in wanted.items())
    ]


_OUTCOME_SIGNS = {"better": "▲", "worse": "▼", "tie": "=", "too few": "?"}


def _corrected(entries: list[Entry]) -> list[Entry]:
    """Return comparisons with verdicts by Holm's correction for all rivals of a model."""
    families: dict[tuple[str, ...], list[int]] = {}
    for at, entry in enumerate(entries):
        key = tuple(entry[name] for name in ("reading", "measure", "collection", "model"))
        families.setdefault(key, []).append(at)
    made = list(entries)
    for places in families.values():
        adjusted = holm([bootstrap_p(entries[at]["better"]) for at in places])
        for at, p in zip(places, adjusted, strict=True):
            if p >= ALPHA and entries[at]["verdict"] != "too few":
                made[at] = entries[at] | {"verdict": "tie"}
    return made


def clustered(results: Results) -> str:
    """What bootstraps and errors are clustered by: "articles" or "groups of articles"."""
    by = results.get("clusters", {"by": "article"})["by"]
    return "groups of articles" if by == "group" else "articles"


def _legend(results: Results, entries: list[Entry]) -> str:
    few = any(entry["verdict"] == "too few" for entry in entries)
    what = clustered(results)
    legend = (
        f"▲ better, ▼ worse, = tie, by {DRAWS:,} bootstrap samples of {what} at 5 % with Holm's"
        " correction for all rivals of a model"
    )
    return f"{legend}, ? too few {what}" if few else legend


def _gain(entry: Entry) -> str:
    interval = f"{entry['low']:+.3f} to {entry['high']:+.3f}"
    return f"{entry['mean']:+.3f} {_OUTCOME_SIGNS[entry['verdict']]} ({interval})"


def comparisons(results: Results, model: str, reading: str) -> Iterator[str]:
    """Say for each measure which controls a model beats, ties with or loses to."""
    controls = {entry["model"] for entry in results["results"] if entry["control"]}
    verbs = {"better": "beats", "tie": "ties with", "worse": "loses to",
             "too few": "has too few articles to compare with"}  # fmt: skip
    found = _corrected(_differences(results, reading=reading, collection=POOL, model=model))
    for measure, group in groupby(found, key=lambda entry: str(entry["measure"])):
        by: dict[str, list[str]] = {verdict: [] for verdict in verbs}
        for entry in group:
            if entry["against"] in controls:
                by[entry["verdict"]].append(entry["against"])
        parts = [f"{verbs[verdict]} {_listed(names)}" for verdict, names in by.items() if names]
        yield f"{model}, {reading} reading, {_SHORT[measure]}: {'; '.join(parts)}."


def _listed(names: list[str]) -> str:
    quoted = [f"*{name}*" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def notes(results: Results) -> str:
    """Explain the tables, one line per term."""
    plan = results["plan"]
    terms = {
        "Vocabulary": f"{plan['rules']['kind']}; equations: {plan['numbering']}; K {plan['dims']},"
        f" W {plan['windows']}, E {plan['equation_windows']}; seeds {plan['seeds']}.",
        "Scores": "held-out words, each scored against its negatives, given W - 1 surrounding words"
        " and the equation. In parentheses: W and E, selected on validation words.",
        "Raw and with temperature": "the pseudo log-likelihood, unchanged and with one scale factor"
        " per model fitted on validation words. Predictive is the term of the word alone. Accuracy"
        " is the share of negatives that score below the word; it does not depend on the scale, so"
        " it decides which model is best.",
        "Controls": "words only omits the equation (W: one more word instead); one vector is shared"
        " by all equations, article vector by all equations of an article; document vector is in"
        " the context of all words of an article; shuffled units assigns the units of other"
        " equations. Document + one vector and document + shuffled units are the same with the"
        " document vector, as EqEmb-H has it; EqEmb-U, joint learns words and units together, as"
        " EqEmb-H does.",
        "Errors": "standard errors over seeds. A difference is significant at 5 %, by a bootstrap"
        f" over {clustered(results)} with Holm's correction for all rivals of a model, if there are"
        f" at least {MIN_CLUSTERS} of them. Intervals of 95 % are not corrected.",
    }
    return "\n".join(f"{term}: {text}" for term, text in terms.items())


def report(results: Results) -> list[Table]:
    """Return all tables of a grid search."""
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
    """Format a table as GitHub Markdown."""
    lines = [f"**{table.caption}**", "", _line(table.head), _line(["---"] * len(table.head))]
    for index, row in enumerate(table.rows):
        lines.append(_line(_marked(table, index, row, lambda text: f"**{text}**")))
    return "\n".join([*lines, ""])


def latex(table: Table) -> str:
    """Format a table as a LaTeX tabular, in the paper's layout."""
    lines = [
        r"\begin{table}", rf"\caption{{{_tex(table.caption)}}}",
        rf"\begin{{tabular}}{{l{'r' * (len(table.head) - 1)}}}", r"\hline",
        " & ".join(map(_tex, table.head)) + r" \\ \hline",
    ]  # fmt: skip
    for index, row in enumerate(table.rows):
        cells = _marked(table, index, list(map(_tex, row)), lambda text: rf"\textbf{{{text}}}")
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, r"\hline", r"\end{tabular}", r"\end{table}", ""])


_HTML_STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;margin:1rem 0}caption{text-align:left;font-weight:bold}"
    "table{display:block;overflow-x:auto}img{max-width:100%}td{white-space:nowrap}"
    "td,th{padding:.2rem .7rem;border-bottom:1px solid #ccc;text-align:right}"
    "td:first-child,th:first-child{text-align:left}"
)


def page(title: str, tables: Iterable[Table], notes: str = "", pictures: Iterable[str] = ()) -> str:
    """Format tables as an HTML page without scripts; pictures are files next to it."""
    parts = [
        "<!doctype html>", f'<html lang="en"><meta charset="utf-8">{HTML_MARK}',
        f"<title>{html.escape(title)}</title>",
        f"<style>{_HTML_STYLE}</style>",
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
