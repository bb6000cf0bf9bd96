"""Measure how smoothly the map moves: frame times in headless Chromium while it is dragged.

    python benchmarks/map_frames.py [--points 20000] [--seconds 5]

The points are random, in clusters. Prints the median and the 95th percentile of the time between
frames, and of the part of it that our script takes, for several zoom levels. Needs playwright and a
chromium (EQEMB_CHROMIUM, or the one on PATH).
"""

import argparse
import os
import shutil
import statistics
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

from eqemb.facade.equation_map import SIDE, EquationMap

WEB = Path(__file__).parents[1] / "src" / "eqemb" / "server" / "web"
PAGE = """<!doctype html><html lang=en><link rel=stylesheet href=/static/style.css>
<link rel=stylesheet href=/static/map.css>
<script src=/static/page.js defer></script><main><figure id=map><canvas></canvas>
<div class=shown hidden></div><ul class=legend></ul></figure>
<script src=/static/map.js defer></script></main>"""
#: Drags back and forth in every frame; returns the frame times and the times of our drawing.
DRAG = """async (seconds) => {
  const canvas = document.querySelector("canvas"), box = canvas.getBoundingClientRect();
  const send = (kind, x, y) => canvas.dispatchEvent(new PointerEvent(kind, { pointerId: 1,
    clientX: box.x + x, clientY: box.y + y, bubbles: true, pointerType: "mouse" }));
  canvas.setPointerCapture = () => {};
  const native = window.requestAnimationFrame.bind(window), own = [], frames = [];
  window.requestAnimationFrame = (call) => native((at) => {
    const start = performance.now(); call(at); own.push(performance.now() - start); });
  send("pointerdown", 500, 300);
  const end = performance.now() + 1000 * seconds;
  let before = 0, step = 0;
  await new Promise((done) => {
    const next = (at) => {
      if (before) frames.push(at - before);
      before = at;
      send("pointermove", 500 + 200 * Math.sin(step / 40), 300 + 120 * Math.cos(step / 31));
      step += 1;
      if (performance.now() < end) native(next); else done();
    };
    native(next);
  });
  send("pointercancel", 500, 300);
  window.requestAnimationFrame = native;
  return { frames: frames.slice(5), own: own.slice(5) };
}"""


def random_map(points: int) -> EquationMap:
    """Random points in clusters, with labels on three levels."""
    draw = np.random.default_rng(0)
    centres = draw.uniform(0.1, 0.9, (60, 2))
    places = centres[draw.integers(60, size=points)] + draw.normal(0, 0.04, (points, 2))
    x, y = (np.clip(places, 0, 1) * SIDE).astype(np.uint16).T
    labels = [
        {"words": ["some", "words"], "x": int(x[at]), "y": int(y[at]), "level": level, "points": 9}
        for level, count in enumerate((14, 56, 180))
        for at in range(count)
    ]
    rows = draw.integers(4, size=points)
    names = ["one", "two", "three", "four"]
    return EquationMap("umap", x, y, np.arange(points), rows, names, [("paper", 0)], labels)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    body = random_map(options.points).to_json()

    def answer(route: Any) -> None:
        path = route.request.url.split("localhost", 1)[1].partition("?")[0]
        if path == "/v1/map":
            route.fulfill(body=body, content_type="application/json")
        elif path == "/":
            route.fulfill(body=PAGE, content_type="text/html")
        elif path.startswith("/static/"):
            route.fulfill(path=WEB / Path(path).name)
        else:
            route.fulfill(status=404, body='{"error": "not found"}')

    chromium = os.environ.get("EQEMB_CHROMIUM") or shutil.which("chromium")
    print(f"{options.points:,} points, /v1/map {len(body):,} bytes; milliseconds\n")
    print(
        "| zoom | frames | frame: median | 95 % | ours: median | 95 % |\n|---|---|---|---|---|---|"
    )
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.route("**", answer)
        page.goto("http://localhost/")
        page.locator("#map[data-ready]").wait_for()
        for zoom in (1, 3, 12):
            page.evaluate(f"location.hash = '#0.5,0.5,{zoom}'")
            page.wait_for_timeout(300)
            times = page.evaluate(DRAG, options.seconds)
            parts = [_summary(times[name]) for name in ("frames", "own")]
            print(f"| {zoom} | {len(times['frames'])} | {' | '.join(parts)} |")
        browser.close()


def _summary(values: list[float]) -> str:
    return f"{statistics.median(values):.1f} | {statistics.quantiles(values, n=20)[-1]:.1f}"


if __name__ == "__main__":
    main()
