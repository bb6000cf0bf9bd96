"""Pages about the library itself: the reading report and the model card."""

from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

from eqemb.library.report import displays_read, percent, place
from eqemb.server.service import Json, Service
from eqemb.server.views.layout import article_link, page
from eqemb.server.views.markup import Html, h

#: Size of the training curve, and its margin.
_CURVE_WIDTH, _CURVE_HEIGHT, _MARGIN = 640, 260, 44


def table(title: str, heads: list[str], rows: list[list[Any]], note: str = "") -> Html | None:
    """A table, or None if it has no rows; a head that starts with # marks a numeric column."""
    if not rows:
        return None
    numeric = [head.startswith("#") for head in heads]
    shown = [
        h("tr", (_cell(value, is_number) for value, is_number in zip(row, numeric, strict=True)))
        for row in rows
    ]
    top = [
        h("th", head.lstrip("#"), scope="col", class_="n" if is_number else None)
        for head, is_number in zip(heads, numeric, strict=True)
    ]
    return h(
        "section",
        h("h2", title),
        h("p", note, class_="note") if note else None,
        h("div", h("table", h("thead", h("tr", top)), h("tbody", shown)), class_="wide",
          tabindex="0", role="group", aria_label=title),
    )  # fmt: skip


def _cell(value: Any, is_number: bool) -> Html:  # noqa: FBT001
    if isinstance(value, list):
        return h("td", [h("div", line) for line in value], class_="where")
    return h("td", f"{value:,}" if isinstance(value, int) else value, class_="n" * is_number)


def figures(listed: Iterable[tuple[str, str]]) -> Html:
    """Numbers with their labels."""
    made = [h("div", h("dt", name), h("dd", value)) for name, value in listed]
    return h("dl", made, class_="figures")


def report(service: Service) -> bytes:
    """The reading report: what was read, what was not, and why."""
    counts, stats = service.library.report, service.stats
    equations, coverage = counts["equations"], counts["coverage"]
    nested, cut_off = coverage["displays_unaccounted"], counts.get("cut_off", 0)
    parts = [
        figures((
            ("articles read", f"{counts['articles']:,}"),
            ("read in part", f"{counts['partial']:,}"),
            *([("cut off by a limit", f"{cut_off:,}")] if cut_off else []),
            ("read with doubts", f"{counts.get('doubtful', 0):,}"),
            ("sources skipped", f"{counts['skipped']['total']:,}"),
            ("equations", f"{stats['equations']:,}"),
            ("displays lost", f"{equations['lost']:,}"),
            *([("displays empty or nested", f"{nested:,}")] if nested else []),
            ("words", f"{counts['words']:,}"),
            ("displays read", displays_read(coverage)),
        )),
        table("Collections", ["collection", "#articles", "#words", "#equations", "#numbered"], [
            [name or "(none)", c["articles"], c["words"], c["equations"], c["numbered"]]
            for name, c in counts["collections"].items()]),
        table("Skipped sources by cause", ["cause", "#sources"], [
            [cause, count] for cause, count in counts["skipped"]["causes"].items()]),
        table("Skipped sources", ["source", "cause"], [
            # its name, not its path on the server
            [PurePath(s["source"]).name, s["cause"]] for s in counts["skipped_sources"]]),
        table("Articles read in part", ["article", "cause", "where"], [
            [h("a", p["article"], href=article_link(p["article"])), p["cause"],
             place(p["file"], p["line"])] for p in counts.get("partial_articles", [])]),
        table("Problems", ["cause", "#occurrences", "#articles", "examples"], [
            [p["cause"], p["count"], p["articles"], _examples(p["examples"])]
            for p in counts["problems"]]),
        table("Articles with unread displays",
              ["article", "#displays", "#not read", "#read"], [
            [h("a", w["article"], href=article_link(w["article"])), w["opened"], w["lost"],
             percent(w["coverage"])] for w in coverage["worst"]]),
        table("Unknown commands", ["command", "#occurrences", "#articles", "most frequent in"], [
            [h("code", u["macro"]), u["count"], u["articles"], u.get("example", "")]
            for u in counts["unknown_macros"]]),
        table("Near-duplicates", ["articles"], [[", ".join(names)] for names in counts["clusters"]],
              "Articles that share more than a fifth of their eight-word sequences."),
    ]  # fmt: skip
    return page("Reading report", h("h1", "Reading report"), parts, stats=stats,
                here="/report")  # fmt: skip


def _examples(examples: list[Json]) -> list[str]:
    parts = ((e["article"], place(e["file"], e["line"])) for e in examples[:3])
    return [" ".join(part for part in found if part) for found in parts]


# ------------------------------------------------------------ the model


def model(service: Service) -> bytes | None:
    """The model card, with the training curve; None if the library has no model."""
    made, stats = service.library.model, service.stats
    if made is None:
        return None
    measured = service.library.report.get("model") or {}
    settings = made.config.get("settings", {})
    numbers = [(kind, f"{len(keys):,}") for kind, keys in made.keys.items()]
    if measured.get("validation") is not None:
        numbers.append(("validation", f"{measured['validation']:.3f}"))
        numbers.append(("chance", f"{measured['chance']:.3f}"))
    shown = {
        name: value
        for name, value in settings.items()
        if isinstance(value, int | float | str) and value != "" and name != "words"
    }
    lacks = [
        [kind, measured["lacks"][kind], measured["lacks"].get(f"{kind}_occurrences", 0)]
        for kind in ("words", "units")
        if measured.get("lacks", {}).get(kind)
    ]
    return page(
        "Model",
        h("h1", "Model"),
        h("p", f"{made.config['model']}: vectors of words, of equations and of their units,"
          " learned from the text around the equations.", class_="lead"),
        figures(numbers),
        _training(made.history),
        table("Settings", ["setting", "value"], [[k, str(v)] for k, v in shown.items()]),
        table("Words and units without a vector", ["kind", "#distinct", "#occurrences"], lacks),
        h("section", h("h2", "Licence"),
          h("p", "The vectors are derived from the papers of the collection, which belong to"
            " their authors. Share them only if the licences of the papers allow it.")),
        stats=stats, here="/model",
    )  # fmt: skip


def _training(history: list[Json]) -> Html | None:
    """The validation score after each iteration, one line for each pass."""
    lines: dict[str, list[tuple[int, float]]] = {}
    for at, step in enumerate(history):
        for name, value in (step.get("validation") or {}).items():
            if isinstance(value, int | float):
                lines.setdefault(name, []).append((at + 1, float(value)))
    if not lines:
        return None
    rows = [
        [step["stage"], step["iteration"],
         ", ".join(f"{name} {value:.4f}" for name, value in (step.get("validation") or {}).items())]
        for step in history
    ]  # fmt: skip
    return h(
        "section",
        h("h2", "Training"),
        h("p", "Log-likelihood of held-out words after each iteration; higher is better.",
          class_="note"),
        curve(lines, len(history)),
        h("details", h("summary", "Show the numbers"),
          table("Iterations", ["pass", "#iteration", "validation"], rows)),
    )  # fmt: skip


def curve(lines: dict[str, list[tuple[int, float]]], steps: int) -> Html:
    """A line chart as SVG; the style sheet sets its colours."""
    values = [value for points in lines.values() for _, value in points]
    low, high = min(values), max(values)
    span = (high - low) or 1.0

    def x(step: float) -> str:
        return f"{_MARGIN + (step - 1) / max(1, steps - 1) * (_CURVE_WIDTH - 2 * _MARGIN - 40):.1f}"

    def y(value: float) -> str:
        return (
            f"{_CURVE_HEIGHT - _MARGIN - (value - low) / span * (_CURVE_HEIGHT - 2 * _MARGIN):.1f}"
        )

    drawn = []
    for rank, (name, points) in enumerate(lines.items()):
        path = " ".join(f"{x(step)},{y(value)}" for step, value in points)
        last_step, last = points[-1]
        drawn.append(h("polyline", points=path, class_=f"line-{rank % 3}"))
        drawn.append(
            h(
                "text",
                name,
                x=f"{float(x(last_step)) + 6:.1f}",
                y=f"{float(y(last)) - 9:.1f}",
                class_="tag",
            )
        )
    ticks = [
        h("text", f"{value:.2f}", x=str(_MARGIN - 8), y=y(value), class_="tick")
        for value in (low, (low + high) / 2, high)
    ]
    rules = [
        h(
            "line",
            x1=str(_MARGIN),
            x2=str(_CURVE_WIDTH - _MARGIN),
            y1=y(value),
            y2=y(value),
            class_="rule",
        )
        for value in (low, (low + high) / 2, high)
    ]
    summary = "; ".join(f"{name} from {p[0][1]:.2f} to {p[-1][1]:.2f}" for name, p in lines.items())
    return h(
        "svg",
        h("title", f"Validation score over {steps} iterations: {summary}"),
        rules,
        ticks,
        drawn,
        viewBox=f"0 0 {_CURVE_WIDTH} {_CURVE_HEIGHT}",
        role="img",
        class_="curve",
    )
