"""Draw how the cost of each stage grows, for docs/scale.md.

    python benchmarks/growth_plot.py

Reads results/growth_stages.json, which `plan_measurements.py` writes, and draws CPU seconds of each
stage by number of papers into docs/pictures/growth.svg. Both axes are logarithmic, so that linear
growth is a line of the slope that is dashed.
"""

import json
import math
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
STAGES = HERE / "results" / "growth_stages.json"
PICTURE = HERE.parent / "docs" / "pictures" / "growth.svg"
WIDTH, HEIGHT = 720, 430
LEFT, RIGHT, TOP, BOTTOM = 70, 150, 30, 50
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555", "#aa3377",
           "#117733", "#882255")  # fmt: skip
_LABEL_HEIGHT = 14


def ticks(low: float, high: float) -> list[float]:
    """Return powers of ten that cover a range."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [10.0**power for power in range(first, last + 1)]


def picture(found: dict[str, Any]) -> str:
    """Return the drawing."""
    sizes = found["sizes"]
    papers = [size["papers"] for size in sizes]
    names = [name for name in sizes[-1]["cpu_seconds"] if sizes[-1]["cpu_seconds"][name] > 0]
    lines = {
        name: [(size["papers"], size["cpu_seconds"][name]) for size in sizes
               if size["cpu_seconds"].get(name, 0) > 0]
        for name in names
    }  # fmt: skip
    values = [value for points in lines.values() for _, value in points]
    rows = ticks(min(values), max(values))

    def x(count: float) -> float:
        share = math.log(count / papers[0]) / math.log(papers[-1] / papers[0])
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(seconds: float) -> float:
        share = math.log(seconds / rows[0]) / math.log(rows[-1] / rows[0])
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
            ' font-family="sans-serif" font-size="12">'
        ),
        "<title>CPU seconds of each stage by number of papers</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="18">CPU seconds ({found["machine"]}, {found["made"]})</text>',
    ]
    for value in rows:
        parts += [
            f'<path d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}" stroke="#dddddd"/>',
            f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g}</text>',
        ]
    for count in papers:
        at = f'x="{x(count):.1f}" y="{HEIGHT - BOTTOM + 18}"'
        parts += [
            f'<path d="M{x(count):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#eeeeee"/>',
            f'<text {at} text-anchor="middle">{count:,}</text>',
        ]
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 10}" text-anchor="middle">papers'
        "</text>"
    )
    parts += _linear(papers, rows, x, y)
    parts += _curves(lines, x, y)
    return "\n".join([*parts, "</svg>\n"])


def _linear(papers: list[int], rows: list[float], x: Any, y: Any) -> list[str]:
    """Draw the slope of linear growth."""
    start = rows[0] * 1.3
    end = start * papers[-1] / papers[0]
    return [
        (
            f'<path d="M{x(papers[0]):.1f} {y(start):.1f}L{x(papers[-1]):.1f} {y(end):.1f}"'
            ' stroke="#999999" stroke-dasharray="5 4" fill="none"/>'
        ),
    ]


def _curves(lines: dict[str, list[tuple[int, float]]], x: Any, y: Any) -> list[str]:
    """Draw each stage, and its name at its end, moved apart from the others."""
    parts, last = [], -math.inf
    order = sorted(lines, key=lambda name: -lines[name][-1][1])
    for name, colour in zip(order, COLOURS, strict=False):
        points = [(x(count), y(value)) for count, value in lines[name]]
        path = "L".join(f"{across:.1f} {down:.1f}" for across, down in points)
        parts.append(f'<path d="M{path}" stroke="{colour}" stroke-width="2" fill="none"/>')
        parts += [
            f'<circle cx="{across:.1f}" cy="{down:.1f}" r="3" fill="{colour}"/>'
            for across, down in points
        ]
        last = max(points[-1][1] + 4, last + _LABEL_HEIGHT)
        parts.append(
            f'<text x="{points[-1][0] + 8:.1f}" y="{last:.1f}" fill="{colour}">{name}</text>'
        )
    return parts


def main() -> None:
    """Write the drawing."""
    PICTURE.write_text(picture(json.loads(STAGES.read_text("utf-8"))), "utf-8")
    print(PICTURE)


if __name__ == "__main__":
    main()
