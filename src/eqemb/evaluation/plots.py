"""Pictures of what was learned and of a contest, with matplotlib (the extra `plot`).

`draw` takes what `results.json` holds; nothing here computes a score. The same results give the
same bytes, whatever the settings of the user's matplotlib.
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
from eqemb.storage import atomic

Results = dict[str, Any]
Entry = dict[str, Any]
Point = tuple[float, float, float]
"""x, y and the error of y."""

FORMATS = (".png", ".svg")
READINGS = ("softmax", "logistic")
#: Okabe and Ito's colours, which most people can tell apart, with brown for their pale yellow.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#7a5230")
MARKERS = "osD^vPX*"
GREY = "#8a8a8a"
WIDE, LABELS, LINE = 3.6, 1.75, 0.165
"""Inches: a panel, the labels beside it, and a line of them."""


# ---------------------------------------------------------------- matplotlib


def check(path: Path) -> None:
    """Refuse a picture that could not be drawn, before hours are spent."""
    if path.suffix not in (*FORMATS, ".pdf"):
        raise UsageError(f"{path}: a picture is drawn as .png, .svg or .pdf")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}")
    check_installed()


def is_installed() -> bool:
    """Whether there is something to draw with."""
    return find_spec("matplotlib") is not None


def check_installed() -> None:
    """Refuse where there is nothing to draw with."""
    if not is_installed():
        raise UsageError("a picture needs matplotlib: pip install 'eqemb[plot]'")


@contextmanager
def _style() -> Iterator[None]:
    """Settings that are not the user's, and names in SVG that are the same every time."""
    from matplotlib import rc_context, style

    with style.context("default", after_reset=True), rc_context({"svg.hashsalt": "eqemb"}):
        yield


def _figure(**settings: Any) -> Any:
    """A figure that no window shows."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = Figure(**settings)
    FigureCanvasAgg(made)
    return made


#: Times and versions are left out of the files.
_METADATA = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def _save(figure: Any, path: Path) -> None:
    with atomic.new_file(path) as new:
        figure.savefig(new, format=path.suffix[1:], dpi=150, metadata=_METADATA[path.suffix])


# ---------------------------------------------------------------- one model


def draw_curve(made: Embeddings, path: Path) -> None:
    """The training curve: the validation score and the loss of every iteration of every pass."""
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
            if axes.lines:  # gensim tells no loss
                axes.legend()
        _save(figure, path)


# ---------------------------------------------------------------- a map


def draw_map(made: EquationMap, path: Path) -> None:
    """The map of a library, with the names of its largest regions."""
    with _style():
        figure = _figure(figsize=(10, 10), layout="constrained")
        axes = figure.subplots()
        axes.set(xlim=(0, SIDE), ylim=(SIDE, 0), aspect="equal", xticks=[], yticks=[])
        axes.set_frame_on(False)
        size = min(30.0, max(1.5, 30_000 / max(len(made.x), 1)))
        for row, name in enumerate(made.collections):
            colour = PALETTE[row] if row < len(PALETTE) else GREY
            own = made.collection == row
            said = f"{name or 'all'} ({int(own.sum()):,})"
            axes.scatter(made.x[own], made.y[own], size, colour, alpha=0.55, lw=0, label=said)
        for label in made.labels:
            if label["level"] == 0:
                words = "\n".join(label["words"])
                text = axes.text(label["x"], label["y"], words, ha="center", va="center", size=12)
                text.set_path_effects([_halo()])
        if len(made.collections) > 1:
            axes.legend(loc="lower right", frameon=False, markerscale=3)
        _save(figure, path)


def _halo() -> Any:
    """White around letters, so that they are read over points."""
    from matplotlib.patheffects import withStroke

    return withStroke(linewidth=3, foreground="white")


# ---------------------------------------------------------------- a contest


class Line(NamedTuple):
    """A line of a panel."""

    name: str
    points: list[Point]


class Panel(NamedTuple):
    """What one pair of axes shows: a collection."""

    name: str
    n: int
    """Test words."""
    negatives: int
    lines: list[Line]
    chance: dict[str, float]
    """What needs no model."""


class Chart(NamedTuple):
    """A picture of several panels."""

    name: str
    title: str
    note: str
    across: str
    up: str
    panels: list[Panel]
    logarithmic: bool = False
    """Whether each doubling of x takes as much room."""
    is_validation: bool = False
    """Of validation words: chance, far below, is told and not drawn, that differences show."""

    def title_of(self, panel: Panel) -> str:
        """What a panel is about, in a line."""
        if self.is_validation:
            return f"{panel.name} (zero vectors: {panel.chance['zero vectors']:.3f})"
        return f"{panel.name} (n = {panel.n:,}, {panel.negatives} negatives)"


class Look(NamedTuple):
    """How a model is drawn, the same in every panel."""

    colour: str
    marker: str
    dashed: bool
    is_grey: bool


def draw(results: Results, folder: Path) -> list[Path]:
    """Write all pictures of a contest as PNG and SVG; the paths of what there was to draw."""
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
    """One look for each model, in all pictures.

    There are colours for the best models and for the best control at least, by validation words;
    the rest is grey, and labels tell.
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
    reading = next((name for name in READINGS if name in entry), None)
    if reading is None:
        return -math.inf
    return float(entry[reading]["tempered"]["validation"]["mean"])


#: The score that training watches, in each reading.
_WATCHED = {"softmax": "log-likelihood of the word", "logistic": "pseudo log-likelihood"}


def charts(results: Results) -> Iterator[Chart]:
    """What there is to draw: a picture for which nothing was kept is left out."""
    entries = results["results"]
    for reading in (name for name in READINGS if any(name in entry for entry in entries)):
        found = [entry for entry in entries if reading in entry]
        yield Chart(
            f"score_by_dim-{reading}",
            f"Held-out words by dimension, {reading} reading",
            _errors(found),
            "K, numbers in a vector",
            "test pseudo log-likelihood, tempered",
            _panels(results, found, partial(_by_dim, reading), partial(_chance, reading)),
            logarithmic=True,
        )
        if len({tried["window"] for entry in found for tried in entry[reading]["tried"]}) > 1:
            dims = ", ".join(map(str, sorted({entry["dim"] for entry in found})))
            yield Chart(
                f"score_by_window-{reading}",
                f"Choice of the window of words, {reading} reading",
                f"best window of equations; mean over K = {dims}",
                "W, context words of a word",
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
                f"K = {dim}, windows as chosen; marks: the last iteration",
                "iteration",
                f"validation {_WATCHED[reading]}",
                _panels(results, cell, partial(_curve, reading), partial(_watched, reading)),
                is_validation=True,
            )
    found = [entry for entry in entries if "accuracy" in entry]
    if found:
        first = next((name for name in READINGS if name in found[0]), "no")  # whose it is
        yield Chart(
            "accuracy_by_dim",
            f"Accuracy of the held-out word against its negatives, {first} reading",
            _errors(found),
            "K, numbers in a vector",
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
    """For each window the best over the windows of equations."""
    best: dict[int, float] = {}
    for tried in entry[reading]["tried"]:
        window = tried["window"]
        best[window] = max(best.get(window, -math.inf), tried["validation"])
    return [(window, score, 0.0) for window, score in best.items()]


def _curve(reading: str, entry: Entry) -> list[Point]:
    scores = entry[reading].get("curve") or []
    return [(at, score, 0.0) for at, score in enumerate(scores, 1) if score is not None]


def _chance(measure: str, entry: Entry) -> dict[str, float]:
    """What needs no model, on test words; zero vectors score the same on any words."""
    found = entry["chance"]
    return {"zero vectors": found["zero"][measure], "unigram": found["unigram"][measure]}


def _watched(reading: str, entry: Entry) -> dict[str, float]:
    """What zero vectors have of the score that training watches."""
    even = -math.log(entry["negatives"] + 1)
    return {"zero vectors": even if reading == "softmax" else entry["chance"]["zero"][reading]}


def _panels(
    results: Results,
    entries: list[Entry],
    points: Callable[[Entry], list[Point]],
    chance: Callable[[Entry], dict[str, float]],
) -> list[Panel]:
    """One for each collection."""
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
    """One point for each x: the mean of those that share it."""
    groups: dict[float, list[Point]] = {}
    for point in points:
        groups.setdefault(point[0], []).append(point)
    return [
        (x, math.fsum(p[1] for p in found) / len(found), max(p[2] for p in found))
        for x, found in sorted(groups.items())
    ]


# ---------------------------------------------------------------- axes


def _drawn(chart: Chart, shown: dict[str, Look]) -> Any:
    """The panels side by side, two in a row."""
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
    """The horizontal axis; few values are all ticks."""
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
    """Names at the right, each led to the end of its line, none upon another."""
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
    """Places between 0 and 1, a gap apart or more, in order, as near to those wanted as can be.

    Those that would touch move together, their mean where it was (isotonic regression).
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
