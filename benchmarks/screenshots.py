"""Take screenshots of the pages, with the demo articles.

    python benchmarks/screenshots.py docs/pictures

Needs playwright, a chromium (EQEMB_CHROMIUM, or the one on PATH), a font for mathematics such as
Debian's fonts-lmodern, and for the map umap-learn.
"""

import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn
from playwright.sync_api import sync_playwright

from eqemb.facade.equation_map import map_of
from eqemb.facade.library import Library
from eqemb.server.app import make_app
from eqemb.server.run import bind

DEMO = Path(__file__).parents[1] / "src" / "eqemb" / "demo"
WIDE, NARROW = {"width": 1100, "height": 760}, {"width": 390, "height": 760}


class Shot(NamedTuple):
    """A page, what to do on it, and how to show it."""

    name: str
    path: str
    act: Callable[[Any], object] = lambda _page: None
    size: dict[str, int] = WIDE
    scheme: str = "light"


def typed(page: Any) -> None:
    """Type a query, but do not submit it."""
    page.locator("#q").press_sequentially(r"cosine $\frac{x \cdot y}{\|x\| \|y\|}$ simil")
    page.locator("#preview mfrac").wait_for()
    page.locator("#suggestions li").first.wait_for()


def opened(panel: str) -> Callable[[Any], object]:
    """Open a panel of the first card."""

    def act(page: Any) -> None:
        card = page.locator("main > ol.hits > .card").first
        card.locator(f":scope > .actions a[data-panel={panel}]").click()
        card.locator(":scope > .panel > :not(.waiting)").first.wait_for()

    return act


def hovered(page: Any) -> None:
    """Show the equation in the centre of the map."""
    page.locator("#map[data-ready]").wait_for()
    page.locator("#map canvas").focus()
    page.keyboard.press("0")
    page.locator("#map .shown math").wait_for()


SHOTS = (
    Shot("page-home", "/"),
    Shot("page-typing", "/", typed),
    Shot("page-results", "/?q=cosine+similarity"),
    Shot("page-words", "/?q=cosine+similarity", opened("describe")),
    Shot("page-dark", "/?q=cosine+similarity", opened("why"), scheme="dark"),
    Shot("page-article", "/articles/ir/cosine?equation=2#e2"),
    Shot("page-map", "/map?q=cosine+similarity", hovered),
    Shot("page-phone", "/?q=harmonic+mean", size=NARROW),
)


def main(folder: Path) -> None:
    """Serve the demo articles and take all screenshots."""
    chromium = os.environ.get("EQEMB_CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as scratch, bind("127.0.0.1", 0) as listener:
        library = Path(scratch) / "library"
        with Library.read([DEMO], library, jobs=1, index=True) as made:
            map_of(made)
        server = uvicorn.Server(uvicorn.Config(make_app(library), log_level="error", ws="none"))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        while not server.started:
            time.sleep(0.05)
        base = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            for shot in SHOTS:
                page = browser.new_page(viewport=shot.size, color_scheme=shot.scheme)
                answer = page.goto(base + shot.path)
                if not answer.ok:
                    sys.exit(f"{shot.path}: {answer.status}")
                shot.act(page)
                page.screenshot(path=folder / f"{shot.name}.png")
                page.close()
            browser.close()
        server.should_exit = True
        thread.join()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
