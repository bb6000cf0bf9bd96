"""The command demo: a library of articles that come with eqemb, and the paper's three questions.

What it prints follows from the articles alone; the README shows it.
"""

import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from eqemb.cli.console import Json, Stages, app, columns, print_json

#: What is asked; of the ten questions of `benchmarks/demo_queries.toml`. They were written before
#: any was asked, but half of them had poor answers then, and articles were mended for them.
_DESCRIBED = r"c_t = f_t \odot c_{t-1} + i_t \odot \tilde{c}_t"
_WORDS = "cosine similarity of two vectors"
_LIKE = r"p_i = \frac{e^{x_i}}{\sum_{j} e^{x_j}}"
_COUNT = 5
#: Short articles about many things say each word a few times: wide windows learn most from them.
_MODEL = {"window": 32, "equation_window": 32}
_WIDTH, _GAP = 100, 3


@app.command()
def demo(
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="LIBRARY", help="Keep it here.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Build a library of articles that come with eqemb, and ask it three questions."""
    from eqemb.facade.library import Library

    papers = Path(__file__).parents[1] / "demo"
    with tempfile.TemporaryDirectory() as scratch:
        folder = output or Path(scratch) / "library"
        with Stages() as stages:
            library = Library.build([papers], folder, model=_MODEL, watch=stages.watch)
        with library:
            report = library.report
            described = library.describe(_DESCRIBED, _COUNT)
            found = library.search(_WORDS, _COUNT)
            alike = library.similar(_LIKE, _COUNT)
    if as_json:
        for asked, answer in ((_DESCRIBED, described), (_WORDS, found), (_LIKE, alike)):
            print_json({"asked": asked, **answer.to_json()})
        return
    equations = report["equations"]
    name = "library" if output is None else str(output)
    print(
        f"{report['articles']} articles on NLP, IR, AI and ML, {report['words']:,} words,"
        f" {equations['numbered'] + equations['unnumbered']} equations"
    )
    _print_question("Words of an equation", f"eqemb describe {name} '{_DESCRIBED}'")
    _print_rows(("", "word", "where it is said", "article"), map(_said, described))
    _print_question("Equations of words", f"eqemb search {name} {_WORDS}")
    _print_rows(("", "equation", "article"), map(_hit, found))
    _print_question("Equations like an equation", f"eqemb similar {name} '{_LIKE}'")
    _print_rows(("", "equation", "article"), map(_hit, alike))
    _print_next(name, kept=output is not None)


def _print_next(name: str, *, kept: bool) -> None:
    steps = [
        (f"eqemb demo -o {name}", "keep this library"),
        (f"eqemb search {name} WORDS", "ask what you like"),
        (f"eqemb why {name} 'cosine similarity' ml/contrastive-learning#1", "why it answers"),
        ("eqemb build PAPERS -o mine", "your own papers"),
    ]
    width = max(len(command) for command, _ in steps)
    print("\nWhat to type next")
    for command, purpose in steps[1 if kept else 0 :]:
        print(f"  $ {command:{width}}   {purpose}")


def _print_question(title: str, command: str) -> None:
    print(f"\n{title}\n  $ {command}")


def _print_rows(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    """A table; the last column but one is cut where there is no room for all of it."""
    from rich.box import SIMPLE_HEAD
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    console.width = min(columns(), _WIDTH)
    shown = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="dim")
    cells = [tuple(map(Text, row)) for row in rows]
    widths = [max(cell_len(cell.plain) for cell in column) for column in zip(*cells, strict=True)]
    widths[-2] = 0
    widths[-2] = min(console.width - sum(widths) - _GAP * (len(head) - 1), _WIDTH)
    for name, width in zip(head, widths, strict=True):
        style = {"word": "bold", "article": "dim"}.get(name, "")
        shown.add_column(name, style=style, max_width=width, no_wrap=True, overflow="ellipsis")
    for row in cells:
        shown.add_row(*row)
    console.print(shown)


def _hit(hit: Any) -> tuple[str, str, str]:
    number = f" ({hit.equation.number})" if hit.equation.number is not None else ""
    return f"{hit.score:.2f}", hit.text.rstrip(" .,;"), f"{hit.article}{number}"


def _said(said: Any) -> tuple[str, str, str, str]:
    from eqemb.search.results import excerpt, readable

    text = re.sub(r" ?\[(?:equation|…)\]", " …", readable(said.sentence or ""))
    return f"{said.score:.2f}", said.word, excerpt(said.word, text, 66), said.article or ""
