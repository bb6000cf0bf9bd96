"""Plots of training curves, maps and grid searches, with matplotlib (the extra `plot`).

`draw` takes the content of `results.json`; no scores are computed here. The same results give the
same bytes, independent of the user's matplotlib settings.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from eqemb.errors import UsageError
from eqemb.facade.equation_map import SIDE, EquationMap
from eqemb.models.embeddings import Embeddings
from eqemb.models.likelihood import LIKELIHOODS
from eqemb.storage import atomic

Results = dict[str, Any]
Entry = dict[str, Any]
Point = tuple[float, float, float]
"""x, y and the standard error of y."""

FORMATS = (".png", ".svg")

#: Okabe and Ito's colour-blind safe palette, with brown instead of the pale yellow.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#7a5230")
MARKERS = "osD^vPX*"
GREY = "#8a8a8a"
WIDE, LABELS, LINE = 3.6, 1.75, 0.165
"""Inches: width of a panel, width of its labels, and height of a label."""


# ---------------------------------------------------------------- matplotlib


def check(path: Path) -> None:
    """Reject a path that cannot be written, before hours of training."""
    if path.suffix not in (*FORMATS, ".pdf"):
        raise UsageError(f"{path}: the name of a plot must end in .png, .svg or .pdf")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{path}: the folder {path.parent} does not exist")
    check_installed()


def is_installed() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def check_installed() -> None:
    """Raise an error if matplotlib is not installed."""
    if not is_installed():
        raise UsageError("plots need matplotlib: pip install 'eqemb[plot]'")


@contextmanager
def _style() -> Iterator[None]:
    """Use matplotlib's default settings, and reproducible ids in SVG files."""
    from matplotlib import rc_context, style

    with style.context("default", after_reset=True), rc_context({"svg.hashsalt": "eqemb"}):
        yield


def _figure(**settings: Any) -> Any:
    """Make a figure without a window."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = Figure(**settings)
    FigureCanvasAgg(made)
    return made


#: Omit times and versions, so that files are reproducible.
_METADATA = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def _save(figure: Any, path: Path) -> None:
    with atomic.new_file(path, follow_links=True) as new:
        figure.savefig(new, format=path.suffix[1:], dpi=150, metadata=_METADATA[path.suffix])


# ---------------------------------------------------------------- one model


def draw_curve(made: Embeddings, path: Path) -> None:
    """Plot the training curve: loss and validation score by iteration, for every pass."""
    with _style():
        figure = _figure(figsize=(8, 4), layout="constrained")
        for axes, what in zip(figure.subplots(1, 2), ("loss", "validation"), strict=True):
            for stage in dict.fromkeys(row["stage"] for row in made.history):
                rows = [row for row in made.history if row["stage"] == stage]
                for name in rows[0][what]:
                    points = [(row["iteration"], row[what].get(name)) for row in rows]
                    known = [(at, value) for at, value in points if value is not None]
                    if known:
                        axes.plot(*zip(*known, strict=True), marker=".", label=f"{stage}: {name}")
            axes.set_xlabel("iteration")
            axes.set_title("training loss" if what == "loss" else "validation log-likelihood")
            if axes.lines:  # gensim reports no loss
                axes.legend()
        _save(figure, path)


# ---------------------------------------------------------------- a map


def draw_map(made: EquationMap, path: Path) -> None:
    """Plot the map of a library, with the names of its largest regions."""
    with _style():
        figure = _figure(figsize=(10, 10), layout="constrained")
        axes = figure.subplots()
        axes.set(xlim=(0, SIDE), ylim=(SIDE, 0), aspect="equal", xticks=[], yticks=[])
        axes.set_frame_on(False)
        size = min(30.0, max(1.5, 30_000 / max(len(made.x), 1)))
        for row, name in enumerate(made.collections):
            colour = PALETTE[row] if row < len(PALETTE) else GREY
            own = made.collection == row
            title = f"{name or 'all'} ({int(own.sum()):,})"
            axes.scatter(made.x[own], made.y[own], size, colour, alpha=0.55, lw=0, label=title)
        for label in made.labels:
            if label["level"] == 0:
                words = "\n".join(label["words"])
                text = axes.text(label["x"], label["y"], words, ha="center", va="center", size=12)
                text.set_path_effects([_halo()])
        if len(made.collections) > 1:
            axes.legend(loc="lower right", frameon=False, markerscale=3)
        _save(figure, path)


def _halo() -> Any:
    """Return a white outline, so that text is readable over points."""
    from matplotlib.patheffects import withStroke

    return withStroke(linewidth=3, foreground="white")


# ---------------------------------------------------------------- a grid search


class Line(NamedTuple):
    """A line of a panel."""

    name: str
    points: list[Point]


class Panel(NamedTuple):
    """The content of one pair of axes: a collection."""

    name: str
    n: int
    """Number of test words."""
    negatives: int
    lines: list[Line]
    chance: dict[str, float]
    """Scores of the chance baselines."""


class Chart(NamedTuple):
    """A figure with several panels."""

    name: str
    title: str
    note: str
    across: str
    up: str
    panels: list[Panel]
    logarithmic: bool = False
    """Whether the x axis is logarithmic."""
    is_validation: bool = False
    """Whether it shows validation scores. Chance, which is far below, is then in the title only."""

    def title_of(self, panel: Panel) -> str:
        """Return the title of a panel."""
        if self.is_validation:
            return f"{panel.name} (zero vectors: {panel.chance['zero vectors']:.3f})"
        return f"{panel.name} (n = {panel.n:,}, {panel.negatives} negatives)"


class Look(NamedTuple):
    """Style of a model's line, the same in every panel."""

    colour: str
    marker: str
    dashed: bool
    is_grey: bool


def draw(results: Results, folder: Path) -> list[Path]:
    """Write all plots of a grid search as PNG and SVG; return their paths."""
    check_installed()
    folder.mkdir(parents=True, exist_ok=True)
    shown, made = looks(results["results"]), []
    with _style():
        for chart in charts(results):
            figure = _drawn(chart, shown)
            for suffix in FORMATS:
                made.append(folder / f"{chart.name}{suffix}")
                _save(figure, made[-1])
    return made


def looks(entries: Iterable[Entry]) -> dict[str, Look]:
    """Return a line style for each model, the same in all plots.

    The best models and at least the best control, by validation score, get a colour. The others are
    grey and identified by their labels.
    """
    controls: dict[str, bool] = {}
    scores: dict[str, list[float]] = {}
    for entry in entries:
        controls.setdefault(entry["model"], entry["control"])
        scores.setdefault(entry["model"], []).append(_rank(entry))
    best = sorted(controls, key=lambda name: -_mean(scores[name]))
    models = [name for name in best if not controls[name]]
    others = [name for name in best if controls[name]]
    models = models[: len(PALETTE) - bool(others)]
    chosen = [name for name in controls if name in models + others[: len(PALETTE) - len(models)]]
    found = {}
    for name, control in controls.items():
        at = chosen.index(name) if name in chosen else -1
        colour, marker = (PALETTE[at], MARKERS[at]) if at >= 0 else (GREY, ".")
        found[name] = Look(colour, marker, control, at < 0)
    return found


def _rank(entry: Entry) -> float:
    reading = next((name for name in LIKELIHOODS if name in entry), None)
    if reading is None:
        return -math.inf
    return float(entry[reading]["tempered"]["validation"]["mean"])


#: The score that controls early stopping, in each reading.
_WATCHED = {"softmax": "log-likelihood of the word", "logistic": "pseudo log-likelihood"}


def charts(results: Results) -> Iterator[Chart]:
    """Yield all figures for which there are results."""
    entries = results["results"]
    for reading in (name for name in LIKELIHOODS if any(name in entry for entry in entries)):
        found = [entry for entry in entries if reading in entry]
        yield Chart(
            f"score_by_dim-{reading}",
            f"Held-out words by dimension, {reading} reading",
            _errors(found),
            "K, dimension of the vectors",
            "test pseudo log-likelihood, tempered",
            _panels(results, found, partial(_by_dim, reading), partial(_chance, reading)),
            logarithmic=True,
        )
        if len({tried["window"] for entry in found for tried in entry[reading]["tried"]}) > 1:
            dims = ", ".join(map(str, sorted({entry["dim"] for entry in found})))
            yield Chart(
                f"score_by_window-{reading}",
                f"Selection of the word window, {reading} reading",
                f"best equation window; mean over K = {dims}",
                "W, number of context words",
                "validation pseudo log-likelihood, tempered",
                _panels(results, found, partial(_by_window, reading), partial(_chance, reading)),
                logarithmic=True,
                is_validation=True,
            )
        if any(entry[reading].get("curve") for entry in found):
            dim = max(entry["dim"] for entry in found)
            cell = [entry for entry in found if entry["dim"] == dim]
            yield Chart(
                f"training-{reading}",
                f"Training, {reading} reading",
                f"K = {dim}, selected windows; markers: the last iteration",
                "iteration",
                f"validation {_WATCHED[reading]}",
                _panels(results, cell, partial(_curve, reading), partial(_watched, reading)),
                is_validation=True,
            )
    found = [entry for entry in entries if "accuracy" in entry]
    if found:
        first = next((name for name in LIKELIHOODS if name in found[0]), "no")
        yield Chart(
            "accuracy_by_dim",
            f"Accuracy of the held-out word against its negatives, {first} reading",
            _errors(found),
            "K, dimension of the vectors",
            "test accuracy",
            _panels(results, found, _accuracy, partial(_chance, "accuracy")),
            logarithmic=True,
        )


def _errors(entries: list[Entry]) -> str:
    seeds = max(len(entry["seeds"]) for entry in entries)
    return f"bars: standard error over {seeds} seeds" if seeds > 1 else "one seed"


def _by_dim(reading: str, entry: Entry) -> list[Point]:
    found = entry[reading]["tempered"]["test"]
    return [(entry["dim"], found["mean"], found["se"])]


def _accuracy(entry: Entry) -> list[Point]:
    found = entry["accuracy"]["test"]
    return [(entry["dim"], found["mean"], found["se"])]


def _by_window(reading: str, entry: Entry) -> list[Point]:
    """Return the best score over equation windows, for each word window."""
    best: dict[int, float] = {}
    for tried in entry[reading]["tried"]:
        window = tried["window"]
        best[window] = max(best.get(window, -math.inf), tried["validation"])
    return [(window, score, 0.0) for window, score in best.items()]


def _curve(reading: str, entry: Entry) -> list[Point]:
    scores = entry[reading].get("curve") or []
    return [(at, score, 0.0) for at, score in enumerate(scores, 1) if score is not None]


def _chance(measure: str, entry: Entry) -> dict[str, float]:
    """Scores of the chance baselines on test words; zero vectors score the same on all words."""
    found = entry["chance"]
    return {"zero vectors": found["zero"][measure], "unigram": found["unigram"][measure]}


def _watched(reading: str, entry: Entry) -> dict[str, float]:
    """Score of zero vectors in the measure that controls early stopping."""
    even = -math.log(entry["negatives"] + 1)
    return {"zero vectors": even if reading == "softmax" else entry["chance"]["zero"][reading]}


def _panels(
    results: Results,
    entries: list[Entry],
    points: Callable[[Entry], list[Point]],
    chance: Callable[[Entry], dict[str, float]],
) -> list[Panel]:
    """Return a panel for each collection."""
    made = []
    for collection in results["collections"]:
        found = [entry for entry in entries if entry["collection"] == collection]
        lines = []
        for name in dict.fromkeys(entry["model"] for entry in found):
            own = [point for entry in found if entry["model"] == name for point in points(entry)]
            if own:
                lines.append(Line(name, _averaged(own)))
        if lines:
            facts = found[0]
            made.append(Panel(collection, facts["n"], facts["negatives"], lines, chance(facts)))
    return made


def _averaged(points: list[Point]) -> list[Point]:
    """Average the points with the same x."""
    groups: dict[float, list[Point]] = {}
    for point in points:
        groups.setdefault(point[0], []).append(point)
    return [
        (x, math.fsum(p[1] for p in found) / len(found), max(p[2] for p in found))
        for x, found in sorted(groups.items())
    ]


# ---------------------------------------------------------------- axes


def _drawn(chart: Chart, shown: dict[str, Look]) -> Any:
    """Draw the panels, two per row."""
    columns = min(2, len(chart.panels))
    rows = math.ceil(len(chart.panels) / columns)
    tall = max(2.8, LINE * max(len(panel.lines) + len(panel.chance) for panel in chart.panels))
    left, above, below, between = 0.75, 0.95, 0.6, 0.85  # inches
    width = columns * (left + WIDE + LABELS)
    height = above + rows * tall + (rows - 1) * between + below
    figure = _figure(figsize=(width, height), facecolor="white")
    figure.text(0.15 / width, 1 - 0.3 / height, chart.title, fontsize=11, weight="bold")
    figure.text(0.15 / width, 1 - 0.52 / height, chart.note, fontsize=9)
    for index, panel in enumerate(chart.panels):
        row, column = divmod(index, columns)
        x = left + column * (left + WIDE + LABELS)
        y = height - above - (row + 1) * tall - row * between
        axes = figure.add_axes((x / width, y / height, WIDE / width, tall / height))
        _draw_panel(axes, panel, chart, shown, tall)
        if index + columns >= len(chart.panels):
            axes.set_xlabel(chart.across, fontsize=9)
        if not column:
            axes.set_ylabel(chart.up, fontsize=9)
    return figure


def _draw_panel(axes: Any, panel: Panel, chart: Chart, shown: dict[str, Look], tall: float) -> None:
    axes.set_title(chart.title_of(panel), fontsize=9.5, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)
    _across(axes, panel, logarithmic=chart.logarithmic)
    labels = []
    for name, y in panel.chance.items() if not chart.is_validation else ():
        axes.axhline(y, color="#555555", linewidth=0.9, linestyle=":")
        labels.append((axes.get_xlim()[1], y, name, "#555555"))
    for line in sorted(panel.lines, key=lambda line: not shown[line.name].is_grey):
        look = shown[line.name]
        xs, ys, errors = zip(*line.points, strict=True)
        axes.errorbar(
            xs, ys, yerr=errors if any(errors) else None, color=look.colour, marker=look.marker,
            linestyle=(0, (4, 2)) if look.dashed else "-", linewidth=0.9 if look.is_grey else 1.5,
            markersize=5, markeredgewidth=0, markevery=None if chart.logarithmic else [-1],
            elinewidth=0.8, capsize=2,
        )  # fmt: skip
        labels.append((xs[-1], ys[-1], line.name, look.colour))
    _label(axes, labels, tall)


def _across(axes: Any, panel: Panel, *, logarithmic: bool) -> None:
    """Set up the x axis; on a logarithmic axis every value gets a tick."""
    values = sorted({point[0] for line in panel.lines for point in line.points})
    low, high = (values[0], values[-1]) if values else (0, 1)
    if logarithmic:
        axes.set_xscale("log", base=2)
        room = (high / low) ** 0.06 if high > low else 1.5
        axes.set_xlim(low / room, high * room)
        axes.set_xticks(values, [f"{value:g}" for value in values])
        axes.minorticks_off()
    else:
        room = 0.04 * (high - low) or 0.5
        axes.set_xlim(low - room, high + room)
        axes.xaxis.get_major_locator().set_params(integer=True)


def _label(axes: Any, labels: list[tuple[float, float, str, str]], tall: float) -> None:
    """Write labels at the right without overlaps, each connected to the end of its line."""
    labels = sorted(labels, key=lambda label: label[1])
    low, high = axes.get_ylim()
    wanted = [(y - low) / (high - low) for _, y, _, _ in labels]
    for (x, y, name, colour), place in zip(labels, spaced(wanted, LINE / tall), strict=True):
        axes.annotate(
            name, (x, y), (1.07, place), textcoords="axes fraction", color=colour, fontsize=8,
            va="center", annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "alpha": 0.5,
                        "linewidth": 0.5, "relpos": (0, 0.5), "shrinkA": 1, "shrinkB": 3},
        )  # fmt: skip
    axes.set_ylim(low, high)


def spaced(wanted: list[float], gap: float) -> list[float]:
    """Return ordered positions in [0, 1] at least `gap` apart, as close to `wanted` as possible.

    Labels that would overlap move as a group and keep their mean position (isotonic regression).
    """
    groups: list[list[float]] = []
    for index, place in enumerate(wanted):
        groups.append([place - index * gap])
        while len(groups) > 1 and _mean(groups[-2]) >= _mean(groups[-1]):
            last = groups.pop()
            groups[-1] += last
    room = max(0.0, 1 - (len(wanted) - 1) * gap)
    flat = [min(max(_mean(group), 0.0), room) for group in groups for _ in group]
    return [place + index * gap for index, place in enumerate(flat)]


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)
