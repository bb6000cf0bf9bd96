"""Pages about the library itself: what was read, the model's card and how it was learned."""

from collections.abc import Iterable
from pathlib import PurePath
from typing import Any

from eqemb.library.report import percent, place
from eqemb.server.service import Desk, Json
from eqemb.server.views.layout import article_link, page
from eqemb.server.views.markup import Html, h

_WIDTH, _HEIGHT, _EDGE = 640, 260, 44


def table(title: str, heads: list[str], rows: list[list[Any]], note: str = "") -> Html | None:
    """A table, or nothing where it has no rows; a head with # is a column of numbers."""
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
    """Numbers with their names."""
    made = [h("div", h("dt", name), h("dd", value)) for name, value in listed]
    return h("dl", made, class_="figures")


def report(desk: Desk) -> bytes:
    """What was read and what was not."""
    told, stats = desk.library.report, desk.stats
    equations, coverage = told["equations"], told["coverage"]
    silent = coverage["displays_unaccounted"]
    parts = [
        figures((
            ("articles read", f"{told['articles']:,}"),
            ("of them in part", f"{told['partial']:,}"),
            ("sources skipped", f"{told['skipped']['total']:,}"),
            ("equations", f"{stats['equations']:,}"),
            ("displays lost", f"{equations['lost']:,}"),
            *([("displays empty or within another", f"{silent:,}")] if silent else []),
            ("words", f"{told['words']:,}"),
            ("of displays read", percent(coverage["displays"])),
        )),
        table("Collections", ["collection", "#articles", "#words", "#equations", "#numbered"], [
            [name or "(none)", c["articles"], c["words"], c["equations"], c["numbered"]]
            for name, c in told["collections"].items()]),
        table("Skipped, by cause", ["cause", "#sources"], [
            [cause, count] for cause, count in told["skipped"]["causes"].items()]),
        table("Skipped sources", ["source", "cause"], [
            # what a source is called, not where it lies
            [PurePath(s["source"]).name, s["cause"]] for s in told["skipped_sources"]]),
        table("Articles read in part", ["article", "cause", "where"], [
            [h("a", p["article"], href=article_link(p["article"])), p["cause"],
             place(p["file"], p["line"])] for p in told.get("partial_articles", [])]),
        table("What was not read, or not surely", ["cause", "#times", "#articles", "for example"], [
            [p["cause"], p["count"], p["articles"], _examples(p["examples"])]
            for p in told["problems"]]),
        table("Articles with displays that were not read",
              ["article", "#displays", "#not read", "#read"], [
            [h("a", w["article"], href=article_link(w["article"])), w["opened"], w["lost"],
             percent(w["coverage"])] for w in coverage["worst"]]),
        table("Unknown commands", ["command", "#times", "#articles", "most in"], [
            [h("code", u["macro"]), u["count"], u["articles"], u.get("example", "")]
            for u in told["unknown_macros"]]),
        table("Near-duplicates", ["articles"], [[", ".join(names)] for names in told["clusters"]],
              "More than a fifth of their runs of eight words are the same."),
    ]  # fmt: skip
    return page("What was read", h("h1", "What was read, and what was not"), parts, stats=stats,
                here="/report")  # fmt: skip


def _examples(examples: list[Json]) -> list[str]:
    parts = ((e["article"], place(e["file"], e["line"])) for e in examples[:3])
    return [" ".join(part for part in found if part) for found in parts]


# ------------------------------------------------------------ the model


def model(desk: Desk) -> bytes | None:
    """The model's card, with the curve of its training; None where there is no model."""
    made, stats = desk.library.model, desk.stats
    if made is None:
        return None
    told = desk.library.report.get("model") or {}
    settings = made.config.get("settings", {})
    numbers = [(kind, f"{len(keys):,}") for kind, keys in made.keys.items()]
    if told.get("validation") is not None:
        numbers.append(("validation", f"{told['validation']:.3f}"))
        numbers.append(("chance", f"{told['chance']:.3f}"))
    shown = {
        name: value
        for name, value in settings.items()
        if isinstance(value, int | float | str) and value != "" and name != "words"
    }
    lacks = [
        [kind, told["lacks"][kind], told["lacks"].get(f"{kind}_occurrences", 0)]
        for kind in ("words", "units")
        if told.get("lacks", {}).get(kind)
    ]
    return page(
        "Model",
        h("h1", "The model"),
        h("p", f"{made.config['model']}: vectors of words, equations and the units of equations,"
          " learned from the text around equations.", class_="lead"),
        figures(numbers),
        _training(made.history),
        table("Settings", ["setting", "value"], [[k, str(v)] for k, v in shown.items()]),
        table("What it does not know", ["kind", "#of the library", "#occurrences"], lacks),
        h("section", h("h2", "Licence"),
          h("p", "The vectors derive from the papers of the collection, which belong to their"
            " authors. Whoever shares them sees to it that the licences of the papers allow it.")),
        stats=stats, here="/model",
    )  # fmt: skip


def _training(history: list[Json]) -> Html | None:
    """The held-out score after each iteration, a line for each pass."""
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
        h("p", "The log-likelihood of held-out words after each iteration; higher is better.",
          class_="note"),
        curve(lines, len(history)),
        h("details", h("summary", "As numbers"),
          table("Iterations", ["pass", "#iteration", "validation"], rows)),
    )  # fmt: skip


def curve(lines: dict[str, list[tuple[int, float]]], steps: int) -> Html:
    """Lines in one picture, drawn as SVG without a style of its own."""
    values = [value for points in lines.values() for _, value in points]
    low, high = min(values), max(values)
    span = (high - low) or 1.0

    def x(step: float) -> str:
        return f"{_EDGE + (step - 1) / max(1, steps - 1) * (_WIDTH - 2 * _EDGE - 40):.1f}"

    def y(value: float) -> str:
        return f"{_HEIGHT - _EDGE - (value - low) / span * (_HEIGHT - 2 * _EDGE):.1f}"

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
        h("text", f"{value:.2f}", x=str(_EDGE - 8), y=y(value), class_="tick")
        for value in (low, (low + high) / 2, high)
    ]
    rules = [
        h("line", x1=str(_EDGE), x2=str(_WIDTH - _EDGE), y1=y(value), y2=y(value), class_="rule")
        for value in (low, (low + high) / 2, high)
    ]
    said = "; ".join(f"{name} from {p[0][1]:.2f} to {p[-1][1]:.2f}" for name, p in lines.items())
    return h(
        "svg",
        h("title", f"Held-out score over {steps} iterations: {said}"),
        rules,
        ticks,
        drawn,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        class_="curve",
    )
